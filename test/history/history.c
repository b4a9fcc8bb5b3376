/*
 * history.c
 *	  A randomized checker of histories: clients run transactions that append to lists, read them by
 *	  key and by range, and delete them.  What they have seen shows the dependencies between them,
 *	  and the level says which cycles of dependencies are forbidden.
 *
 *	history CONNINFO LEVEL [EXPECT [CLIENTS TRANSACTIONS [SEED [at-once|in-turns
 *			[plain|mixed|moves [crashes]]]]]]
 *
 * LEVEL is what the clients run at: rc, rr, ser, or kinds: each transaction is of one of Tsurugi's
 * kinds (a LONG preserves a range of the keys) or SERIALIZABLE.  EXPECT is the level whose promises
 * are checked; by default it is LEVEL, and ser for kinds.  clients.c says whether all clients run
 * at once or take turns.  The program uses (and empties) a table history (id int primary key, items
 * text, code int unique, side int, tags int[]), with whatever indexes, and shadow (id int primary
 * key, items text), an ordinary one.  moves: history is partitioned by list (side), and its keys
 * are (id, side) and (code, side).  crashes: the server may go and come back, or another one take
 * its place, whose address CONNINFO has, too; endings.c says what is expected then.
 *
 * Exit status 0: nothing found; 1: prints the smallest cycle found, or the forbidden read; 2: could
 * not be run.
 *
 * Every appended item is unique, so a list tells the order of its versions (Kingsbury, Alvaro:
 * Elle, 2020).  A key lives once: keys with even numbers are there from the start and may be
 * deleted, the others begin with the first append and stay.  So «not there» is the last version of
 * an even key and the first of an odd one, and a range that is read also tells of keys that are not
 * in it.
 *
 * Clients share nothing but the table; all is analysed afterwards.
 */
#include "test/history/history.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 32

const char *const level_names[LEVELS] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SERIALIZABLE"};

void
give_up(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

void *
get_memory(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (memory == NULL)
		give_up("out of memory");
	return memory;
}

/* Which of the words it is. */
static int
choice(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	give_up("what is %s?", word);
}

int
main(int argc, char **argv)
{
	static const char *const levels[LEVELS] = {"rc", "rr", "ser", "kinds"};
	static const char *const ways[] = {"at-once", "in-turns"};
	static const char *const settings[] = {"plain", "mixed", "moves"};
	plan plan = {.client_count = 6, .transaction_count = 1500, .seed = 1};
	level expected;
	int failures;
	bool wrong;

	if (argc < 3)
		give_up("usage: history CONNINFO rc|rr|ser|kinds [EXPECT [CLIENTS TRANSACTIONS [SEED [at-once|in-turns "
				"[plain|mixed|moves [crashes]]]]]]");
	plan.level = (level) choice(argv[2], levels, LEVELS);
	expected = argc > 3 ? (level) choice(argv[3], levels, LEVELS) : plan.level;
	if (expected == KINDS)
		expected = SERIALIZABLE;
	if (argc > 5)
	{
		plan.client_count = atoi(argv[4]);
		plan.transaction_count = atoi(argv[5]);
	}
	if (argc > 6)
		plan.seed = (unsigned) atoi(argv[6]);
	if (argc > 7)
		plan.in_turns = choice(argv[7], ways, 2) == 1;
	if (argc > 8)
		plan.setting = (setting) choice(argv[8], settings, 3);
	plan.crashes = argc > 9 && strcmp(argv[9], "crashes") == 0;
	if (plan.client_count < 1 || plan.client_count > CLIENTS_MAX || plan.transaction_count < 1)
		give_up("not so many clients or transactions");
	plan.key_count = clients_key_count(&plan);
	plan.transactions = get_memory((1 + plan.client_count * plan.transaction_count) * sizeof(transaction));

	failures = clients_run(&plan, argv[1]);
	if (plan.wrong_rows > 0)
		printf("%d rows seen that should not be: twice, or one half of a commit\n", plan.wrong_rows);
	if (plan.crashes)
		printf("%d transactions lost their server\n", endings_settle(&plan));
	wrong = cycles_find(&plan, expected) || plan.wrong_rows > 0;
	wrong = (plan.crashes && endings_judge(&plan)) || wrong;
	printf("%d transactions of %s, %d of them not committed: %s\n", plan.client_count * plan.transaction_count, argv[2],
		   failures, wrong ? "wrong" : "nothing found");
	return wrong ? 1 : 0;
}
