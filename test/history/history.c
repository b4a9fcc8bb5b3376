/*
 * history.c
 *	  A randomized checker of histories: clients run transactions that append to
 *	  lists, read them by key and by range, and delete them; what they have seen
 *	  tells who depends on whom, and the level tells which cycles must not be.
 *
 *	history CONNINFO LEVEL [EXPECT [CLIENTS TRANSACTIONS [SEED]]]
 *
 * LEVEL is what the clients run at: rc, rr, ser, or kinds: each transaction of one of
 * Tsurugi's kinds (a LONG preserves a range of the keys) or SERIALIZABLE.  EXPECT, the level whose promises are checked,
 * is the same if not given; ser for kinds.  Uses (and empties) a table history (id int primary
 * key, items text).  Exit status 0: nothing found; 1: prints the smallest
 * cycle found, or the reading that should not be; 2: could not be run.
 *
 * Every appended item is unique, so a list tells the order of its versions
 * (Kingsbury, Alvaro: Elle, 2020).  A key lives once: keys with even numbers are
 * there from the start and may be deleted, the others begin with the first append
 * and stay.  So «not there» is the last version of an even key and the first of
 * an odd one, and a range that is read tells of keys that are not in it.
 *
 *	ww	appended next		wr	read what it appended		rw	read what was there before its append
 *
 * Forbidden: at READ COMMITTED cycles of ww and wr; at REPEATABLE READ also those with
 * one rw; at SERIALIZABLE all.  At every level: reading an item of a transaction
 * that was rolled back, or a list that is not part of the final one, or that
 * ends between two appends of another transaction; and losing an append.
 *
 * Client threads share nothing but the table; all is analysed afterwards.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#define CLIENTS_MAX 32
#define OPERATIONS_MAX 6
#define KEYS_AT_A_TIME 10 /* clients work on so many keys, and move on */
#define USES_OF_KEYS 40	  /* transactions of each client before they do */
#define ITEMS_MAX 4096	  /* of a list */
#define ABSENT (-1)		  /* length of a list that is not there */

typedef enum kind
{
	READ,
	APPEND, /* item; the list it was appended to has been read */
	DELETE	/* the list has been read */
} kind;

/* What a transaction has seen or done, one entry per key. */
typedef struct operation
{
	kind kind;
	int key;
	int item;	/* APPEND: what was appended */
	int length; /* of the list seen, before an append; ABSENT */
	int *items; /* the list seen */
} operation;

typedef struct transaction
{
	int number;
	bool committed;
	int count;
	int capacity;
	operation *operations;
} transaction;

typedef struct client
{
	pthread_t thread;
	PGconn *connection;
	unsigned seed;
	int number;
	int failures;
	transaction *transactions;
} client;

/* What a transaction is.  Of those that a level's clients run, one is chosen at random. */
typedef enum style
{
	PLAIN,
	SHORT,
	LONG,
	READ_ONLY
} style;

#define LEVELS 4
#define KINDS 3 /* a level, of all styles */

static const char *const levels[] = {"rc", "rr", "ser", "kinds"};
static const char *const level_names[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SERIALIZABLE"};
static int level;
static int expected;
static int client_count = 6;
static int transaction_count = 1500; /* of each client */
static client clients[CLIENTS_MAX];

static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

static void *
get_memory(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (memory == NULL)
		give_up("out of memory");
	return memory;
}

/* --- clients -------------------------------------------------------------------------- */

static int
items_of(const char *text, int *items)
{
	int count = 0;

	while (*text == ',' && count < ITEMS_MAX)
		items[count++] = (int) strtol(text + 1, (char **) &text, 10);
	return count;
}

static void
note(transaction *t, kind kind, int key, int item, const char *text)
{
	int items[ITEMS_MAX];
	operation *operation;

	if (t->count == t->capacity)
	{
		t->capacity = t->capacity * 2 + 8;
		t->operations = realloc(t->operations, t->capacity * sizeof(*t->operations));
		if (t->operations == NULL)
			give_up("out of memory");
	}
	operation = &t->operations[t->count++];
	operation->kind = kind;
	operation->key = key;
	operation->item = item;
	operation->length = text == NULL ? ABSENT : items_of(text, items);
	if (kind == APPEND)
		operation->length--; /* what RETURNING shows has it */
	operation->items = operation->length <= 0 ? NULL : get_memory(operation->length * sizeof(int));
	if (operation->items != NULL)
		memcpy(operation->items, items, operation->length * sizeof(int));
}

/* Runs a statement; NULL if it failed in a way that levels provide for. */
static PGresult *
run(client *c, const char *statement)
{
	PGresult *result = PQexec(c->connection, statement);
	ExecStatusType status = PQresultStatus(result);
	const char *code;

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	if (code == NULL || (strcmp(code, "40001") != 0 && strcmp(code, "40P01") != 0))
		give_up("%s: %s", statement, PQerrorMessage(c->connection));
	PQclear(result);
	return NULL;
}

static int
random_below(client *c, int limit)
{
	return (int) ((unsigned) rand_r(&c->seed) % (unsigned) limit);
}

static bool
append_or_delete(client *c, transaction *t, int key, int item)
{
	bool deletes = key % 2 == 0 && random_below(c, 8) == 0;
	char statement[256];
	PGresult *result;

	if (deletes)
		snprintf(statement, sizeof(statement), "DELETE FROM history WHERE id = %d RETURNING items", key);
	else if (key % 2 == 0)
		snprintf(statement, sizeof(statement),
				 "UPDATE history SET items = items || ',%d' WHERE id = %d RETURNING items", item, key);
	else
		snprintf(statement, sizeof(statement),
				 "INSERT INTO history AS h VALUES (%d, ',%d') ON CONFLICT (id) DO UPDATE SET items = h.items || ',%d' "
				 "RETURNING items",
				 key, item, item);
	result = run(c, statement);
	if (result == NULL)
		return false;
	if (PQntuples(result) == 0)
		note(t, READ, key, 0, NULL);
	else
		note(t, deletes ? DELETE : APPEND, key, item, PQgetvalue(result, 0, 0));
	PQclear(result);
	return true;
}

/* by_scan: the whole table, in no order, with a condition that no key could answer. */
static bool
read_lists(client *c, transaction *t, int low, int high, bool by_scan)
{
	char statement[256];
	PGresult *result;
	int row = 0;

	if (by_scan)
		snprintf(
			statement, sizeof(statement),
			"SELECT * FROM (SELECT id, items FROM history WHERE id + 0 >= %d AND id + 0 < %d OFFSET 0) s ORDER BY id",
			low, high);
	else
		snprintf(statement, sizeof(statement), "SELECT id, items FROM history WHERE id >= %d AND id < %d ORDER BY id",
				 low, high);
	if (high == low + 1)
		snprintf(statement, sizeof(statement), "SELECT id, items FROM history WHERE id = %d", low);
	result = run(c, statement);
	if (result == NULL)
		return false;
	for (int key = low; key < high; key++)
	{
		if (row < PQntuples(result) && atoi(PQgetvalue(result, row, 0)) == key)
			note(t, READ, key, 0, PQgetvalue(result, row++, 1));
		else
			note(t, READ, key, 0, NULL);
	}
	PQclear(result);
	return true;
}

/* Some of the keys that clients work on, which a LONG preserves. */
typedef struct range
{
	int low;
	int high;
} range;

static bool
run_operation(client *c, transaction *t, style style, const range *preserve, int first_key, int item)
{
	int key = first_key + random_below(c, KEYS_AT_A_TIME);
	int width = 2 + random_below(c, 4);

	switch (random_below(c, 8))
	{
		case 0:
		case 1:
		case 2:
			if (style == LONG)
				key = preserve->low + random_below(c, preserve->high - preserve->low + 1);
			if (style != READ_ONLY)
				return append_or_delete(c, t, key, item);
			return read_lists(c, t, key, key + 1, false);
		case 3:
			return read_lists(c, t, key, key + width, false);
		case 4:
			return read_lists(c, t, key, key + width, true);
		default:
			return read_lists(c, t, key, key + 1, false);
	}
}

static void
begin(client *c, style style, const range *preserve)
{
	static const char *const types[] = {
		[PLAIN] = "default", [SHORT] = "short", [LONG] = "long", [READ_ONLY] = "read_only"};
	char statement[256];

	snprintf(statement, sizeof(statement), "BEGIN ISOLATION LEVEL %s", level_names[level]);
	PQclear(run(c, statement));
	if (style == PLAIN)
		return;
	snprintf(
		statement, sizeof(statement),
		"SET LOCAL tsurugi_fdw.transaction_type = %s; SET LOCAL tsurugi_fdw.write_preserve = 'history [{%d},{%d}]'",
		types[style], preserve->low, preserve->high);
	PQclear(run(c, statement));
}

static void
run_transaction(client *c, transaction *t, int first_key)
{
	static const style styles[] = {PLAIN, PLAIN, PLAIN, SHORT, SHORT, LONG, LONG, READ_ONLY};
	int operations = 1 + random_below(c, OPERATIONS_MAX);
	style style = level == KINDS ? styles[random_below(c, 8)] : PLAIN;
	range preserve = {.low = first_key + random_below(c, KEYS_AT_A_TIME)};
	bool goes_on = true;

	preserve.high = preserve.low + random_below(c, first_key + KEYS_AT_A_TIME - preserve.low);
	begin(c, style, &preserve);
	for (int i = 0; goes_on && i < operations; i++)
		goes_on = run_operation(c, t, style, &preserve, first_key, t->number * OPERATIONS_MAX + i);
	if (goes_on && random_below(c, 16) == 0)
		goes_on = false; /* on purpose */
	if (goes_on)
	{
		PGresult *result = run(c, "COMMIT");

		t->committed = result != NULL;
		PQclear(result);
	}
	else
		PQclear(run(c, "ROLLBACK"));
	c->failures += !t->committed;
}

static void *
run_client(void *argument)
{
	client *c = argument;

	for (int i = 0; i < transaction_count; i++)
	{
		transaction *t = &c->transactions[i];

		t->number = 1 + i * client_count + c->number;
		run_transaction(c, t, i / USES_OF_KEYS * KEYS_AT_A_TIME);
	}
	return NULL;
}

static int
key_count(void)
{
	return (transaction_count / USES_OF_KEYS + 2) * KEYS_AT_A_TIME;
}

static void
connect_all(const char *conninfo)
{
	char statement[128];

	for (int i = 0; i < client_count; i++)
	{
		client *c = &clients[i];

		c->number = i;
		c->connection = PQconnectdb(conninfo);
		if (PQstatus(c->connection) != CONNECTION_OK)
			give_up("%s", PQerrorMessage(c->connection));
		c->transactions = get_memory(transaction_count * sizeof(transaction));
	}
	PQclear(run(&clients[0], "DELETE FROM history"));
	snprintf(statement, sizeof(statement), "INSERT INTO history SELECT i, '' FROM generate_series(0, %d, 2) i",
			 key_count() - 1);
	PQclear(run(&clients[0], statement));
}

/* --- the graph ---------------------------------------------------------------------------- */

typedef struct edge
{
	struct edge *next;
	int to;
	int key;
	const char *type; /* "ww", "wr", "rw" */
} edge;

typedef struct node
{
	const transaction *transaction;
	edge *edges;
	int component; /* strongly connected one; 0: not known yet */
	int order;	   /* Tarjan's numbers */
	int low;
	bool on_stack;
	int distance; /* of a search */
	int via;
	const edge *by;
} node;

/* Of a key: its final list, who ended it. */
typedef struct history
{
	int length;
	int *items;
	int deleter; /* transaction, or 0 */
} history;

static node *nodes; /* by number; 0 is nobody: what was there from the start */
static int node_count;
static history *histories;

static int
writer_of(int item)
{
	return item / OPERATIONS_MAX;
}

static void
add_edge(int from, int to, const char *type, int key)
{
	edge *e;

	if (from == to || from == 0 || to == 0)
		return;
	for (e = nodes[from].edges; e != NULL; e = e->next)
		if (e->to == to && e->type == type)
			return;
	e = get_memory(sizeof(*e));
	*e = (edge){.next = nodes[from].edges, .to = to, .key = key, .type = type};
	nodes[from].edges = e;
}

static int found; /* readings that should not be */

static void __attribute__((format(printf, 3, 4))) complain(const transaction *t, int key, const char *format, ...)
{
	va_list arguments;

	if (found++ >= 5)
		return;
	printf("transaction %d, key %d: ", t->number, key);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

/* Makes the longest list that somebody committed has seen the key's history. */
static void
learn(const operation *o)
{
	history *h = &histories[o->key];
	int length = o->length < 0 ? 0 : o->length;
	int with = length + (o->kind == APPEND);

	if (with <= h->length)
		return;
	h->items = realloc(h->items, with * sizeof(int));
	if (h->items == NULL)
		give_up("out of memory");
	if (length > 0)
		memcpy(h->items, o->items, length * sizeof(int));
	if (o->kind == APPEND)
		h->items[length] = o->item;
	h->length = with;
}

static void
check_list(const transaction *t, const operation *o)
{
	const history *h = &histories[o->key];

	for (int i = 0; i < o->length; i++)
	{
		const transaction *writer = nodes[writer_of(o->items[i])].transaction;

		if (i >= h->length || o->items[i] != h->items[i])
		{
			complain(t, o->key, "its list is not part of the final one, from place %d on: a lost or a reordered append",
					 i);
			return;
		}
		if (writer != NULL && !writer->committed)
			complain(t, o->key, "has read an item of transaction %d, which was rolled back", writer->number);
	}
	if (o->length > 0 && o->length < h->length)
	{
		int last = writer_of(o->items[o->length - 1]);

		if (last != t->number && last == writer_of(h->items[o->length]))
			complain(t, o->key, "has read what transaction %d had not finished", last);
	}
}

/* The edges of one operation.  The own appends at the end of the list are no news. */
static void
add_edges(const transaction *t, const operation *o)
{
	const history *h = &histories[o->key];
	int length = o->length;
	int next;

	if (length == ABSENT)
	{
		if (o->key % 2 == 0)
		{
			add_edge(h->deleter, t->number, "wr", o->key);
			return;
		}
		length = 0;
	}
	while (length > 0 && writer_of(o->items[length - 1]) == t->number)
		length--;
	if (length > 0)
		add_edge(writer_of(o->items[length - 1]), t->number, "wr", o->key);
	if (o->kind != READ && length > 0)
		add_edge(writer_of(o->items[length - 1]), t->number, "ww", o->key);
	for (next = length; next < h->length && writer_of(h->items[next]) == t->number; next++)
		;
	if (next > length)
		return; /* the own append is what comes next: whoever follows, follows that */
	if (length < h->length)
		add_edge(t->number, writer_of(h->items[length]), "rw", o->key);
	else
		add_edge(t->number, h->deleter, "rw", o->key);
}

static void
for_each(void (*visit)(const transaction *t, const operation *o))
{
	for (int number = 1; number < node_count; number++)
	{
		const transaction *t = nodes[number].transaction;

		if (t->committed)
			for (int i = 0; i < t->count; i++)
				visit(t, &t->operations[i]);
	}
}

static void
learn_of(const transaction *t, const operation *o)
{
	learn(o);
	if (o->kind == DELETE)
	{
		if (histories[o->key].deleter != 0)
			complain(t, o->key, "deleted it after transaction %d", histories[o->key].deleter);
		histories[o->key].deleter = t->number;
	}
}

/* Every committed append must be in its key's history. */
static void
check_append(const transaction *t, const operation *o)
{
	const history *h = &histories[o->key];

	if (o->kind != APPEND)
		return;
	for (int i = 0; i < h->length; i++)
		if (h->items[i] == o->item)
			return;
	complain(t, o->key, "its append is lost");
}

/* Edges of ww from what a transaction appended to what comes next. */
static void
add_successions(void)
{
	for (int key = 0; key < key_count(); key++)
	{
		const history *h = &histories[key];

		for (int i = 0; i + 1 < h->length; i++)
			add_edge(writer_of(h->items[i]), writer_of(h->items[i + 1]), "ww", key);
		if (h->length > 0)
			add_edge(writer_of(h->items[h->length - 1]), h->deleter, "ww", key);
	}
}

/* --- cycles --------------------------------------------------------------------------------- */

static bool
is_allowed(const edge *e, bool rw)
{
	return rw || strcmp(e->type, "rw") != 0;
}

/* A shortest path from one node to another; its length, or -1. */
static int
search(int from, int to, bool rw)
{
	int *queue = get_memory(node_count * sizeof(int));
	int head = 0;
	int tail = 0;
	int result = -1;

	for (int i = 0; i < node_count; i++)
		nodes[i].distance = -1;
	nodes[from].distance = 0;
	queue[tail++] = from;
	while (head < tail && result < 0)
	{
		int at = queue[head++];

		for (const edge *e = nodes[at].edges; e != NULL && result < 0; e = e->next)
		{
			if (!is_allowed(e, rw) || nodes[e->to].component != nodes[from].component || nodes[e->to].distance >= 0)
				continue;
			nodes[e->to].distance = nodes[at].distance + 1;
			nodes[e->to].via = at;
			nodes[e->to].by = e;
			queue[tail++] = e->to;
			if (e->to == to)
				result = nodes[e->to].distance;
		}
	}
	free(queue);
	return result;
}

static int tarjan_order;
static int tarjan_components;
static int *tarjan_stack;
static int tarjan_depth;

static void
find_components(int number)
{
	node *n = &nodes[number];

	n->order = n->low = ++tarjan_order;
	tarjan_stack[tarjan_depth++] = number;
	n->on_stack = true;
	for (const edge *e = n->edges; e != NULL; e = e->next)
	{
		node *other = &nodes[e->to];

		if (other->order == 0)
		{
			find_components(e->to);
			n->low = other->low < n->low ? other->low : n->low;
		}
		else if (other->on_stack && other->order < n->low)
			n->low = other->order;
	}
	if (n->low != n->order)
		return;
	tarjan_components++;
	do
	{
		node *member = &nodes[tarjan_stack[--tarjan_depth]];

		member->on_stack = false;
		member->component = tarjan_components;
	} while (&nodes[tarjan_stack[tarjan_depth]] != n);
}

static void
print_cycle(int from, int to, const edge *last)
{
	if (from != to)
		print_cycle(from, nodes[to].via, nodes[to].by);
	printf("  transaction %d --%s on key %d--> transaction %d\n", to, last->type, last->key, last->to);
}

/*
 * Looks for a smallest forbidden cycle: one that begins with an edge e and
 * comes back over edges that the level lets count.  True if there was one.
 */
static bool
find_cycle(void)
{
	int best = 0;
	int best_from = 0;
	const edge *best_edge = NULL;

	for (int from = 1; from < node_count; from++)
		for (const edge *e = nodes[from].edges; e != NULL; e = e->next)
		{
			int length;

			if (nodes[e->to].component != nodes[from].component || (expected == 0 && strcmp(e->type, "rw") == 0))
				continue;
			length = search(e->to, from, expected == 2) + 1;
			if (length > 0 && (best_edge == NULL || length < best))
			{
				best = length;
				best_from = from;
				best_edge = e;
				if (best == 2)
					goto done;
			}
		}
done:
	if (best_edge == NULL)
		return false;
	printf("a cycle of %d transactions that %s forbids:\n", best, level_names[expected]);
	(void) search(best_edge->to, best_from, expected == 2);
	print_cycle(best_edge->to, best_from, best_edge);
	return true;
}

static void
build(void)
{
	node_count = 1 + client_count * transaction_count;
	nodes = get_memory(node_count * sizeof(node));
	histories = get_memory(key_count() * sizeof(history));
	tarjan_stack = get_memory(node_count * sizeof(int));
	for (int i = 0; i < client_count; i++)
		for (int j = 0; j < transaction_count; j++)
			nodes[clients[i].transactions[j].number].transaction = &clients[i].transactions[j];
	for_each(learn_of);
	for_each(check_append);
	for_each(check_list);
	add_successions();
	for_each(add_edges);
	for (int i = 1; i < node_count; i++)
		if (nodes[i].order == 0)
			find_components(i);
}

static int
number_of_level(const char *name)
{
	for (int i = 0; i < LEVELS; i++)
		if (strcmp(name, levels[i]) == 0)
			return i;
	give_up("there is no level %s", name);
}

int
main(int argc, char **argv)
{
	int failures = 0;
	unsigned seed;
	bool wrong;

	if (argc < 3)
		give_up("usage: history CONNINFO rc|rr|ser|kinds [EXPECT [CLIENTS TRANSACTIONS [SEED]]]");
	level = expected = number_of_level(argv[2]);
	if (argc > 3)
		expected = number_of_level(argv[3]);
	if (expected == KINDS)
		expected--;
	if (argc > 5)
	{
		client_count = atoi(argv[4]);
		transaction_count = atoi(argv[5]);
	}
	seed = argc > 6 ? (unsigned) atoi(argv[6]) : 1;
	if (client_count < 1 || client_count > CLIENTS_MAX || transaction_count < 1)
		give_up("not so many clients or transactions");

	connect_all(argv[1]);
	for (int i = 0; i < client_count; i++)
	{
		clients[i].seed = seed * 1000 + (unsigned) i;
		if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0)
			give_up("no thread");
	}
	for (int i = 0; i < client_count; i++)
	{
		pthread_join(clients[i].thread, NULL);
		failures += clients[i].failures;
		PQfinish(clients[i].connection);
	}
	build();
	wrong = found > 0;
	wrong = find_cycle() || wrong;
	printf("%d transactions of %s, %d of them not committed: %s\n", client_count * transaction_count, levels[level],
		   failures, wrong ? "wrong" : "nothing found");
	return wrong ? 1 : 0;
}
