/*
 * clients.c
 *	  Clients that run random transactions, and note what they see.
 *
 * The client's seed decides what a transaction does.  The mode decides when it does it:
 *
 *	at once		all clients send their next statement as soon as the last one is answered.
 *				Statements meet inside the server, as its processes are scheduled.
 *	in turns	the next statement is that of a client chosen at random, and the program waits for
 *				its answer, unless the server says that the statement itself waits for another
 *				client.  So transactions are interleaved statement by statement on every
 *				machine, whatever its speed, and the scheduling of its processes has no part
 *				in it.
 *
 * There is one thread, for all statements are sent without waiting.
 */
#include "test/history/history.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#define STATEMENT_MAX 1024
#define PATIENCE_MS 1  /* before the server is asked whether a statement waits */
#define ATTEMPT_MS 100 /* between attempts to connect, while the server is away */
#define ATTEMPTS_MAX 1800
#define STYLES 8
#define KEYS_BEYOND 4 /* that a range reaches over the last one */
#define TAGGED 3	  /* keys with the same tag */

/* The style of a transaction.  It is chosen at random from those that a level's clients run. */
typedef enum style
{
	PLAIN,
	SHORT,
	LONG,
	READ_ONLY
} style;

/*
 * Where clients meet, and in which styles.  In turns, few clients do much with few keys: then a
 * LONG is there when others pass by, and one client writes the keys that another reads.
 */
typedef struct world
{
	int keys;			/* clients work on so many keys, and move on */
	int uses;			/* transactions of each client before they do */
	int operations_min; /* of a transaction */
	int preserved_max;	/* keys that a LONG preserves */
	style styles[STYLES];
} world;

static const world worlds[] = {
	{10, 40, 1, 10, {PLAIN, PLAIN, PLAIN, SHORT, SHORT, LONG, LONG, READ_ONLY}}, /* at once */
	{4, 15, 3, 1, {PLAIN, PLAIN, SHORT, LONG, LONG, LONG, READ_ONLY, READ_ONLY}} /* in turns */
};

/* Some of the keys that clients work on. */
typedef struct range
{
	int low;
	int high;
} range;

/*
 * The step that the next statement makes, or the one whose answer is awaited.
 *
 *	BEGIN -> [DECLARE] -> (WORK | MARK -> WORK -> RELEASE or TAKE_BACK)... -> [FETCH] ->
 *	COMMIT or ROLLBACK -> [FETCH_HELD, CLOSE]
 *
 * Work that fails after MARK is taken back, and the transaction goes on.
 */
typedef enum stage
{
	BEGIN,
	DECLARE,
	MARK,
	WORK,
	RELEASE,
	TAKE_BACK,
	FETCH,
	COMMIT,
	FETCH_HELD,
	CLOSE,
	ROLLBACK
} stage;

/* How rows are looked for. */
typedef enum way
{
	BY_KEY,
	BY_CODE, /* another unique index, whose values stay */
	BY_SIDE, /* an index whose values change with each append */
	BY_TAG,	 /* an index with several entries */
	BY_SPAN, /* an index of what overlaps */
	BY_SCAN,
	WAYS
} way;

typedef enum cursor
{
	NONE,
	WITHIN,
	HELD
} cursor;

typedef struct client
{
	PGconn *connection; /* NULL: it is to connect */
	PGresult *answer;	/* the last one to the statement that is under way */
	bool is_busy;
	unsigned seed;
	int number;
	int ended; /* of its transactions */

	/* the present transaction */
	transaction *transaction;
	style style;
	range preserve;
	int operations; /* it is to do */
	int done;
	stage stage;

	/* its present operation */
	kind kind;
	range keys; /* from low to before high */
	int item;
	bool skips;			/* rows that are locked: not all are shown */
	bool marked;		/* a savepoint is before it */
	bool is_taken_back; /* and it will be rolled back to that */

	cursor cursor;
	range cursor_keys;
} client;

static plan *plan_of_all;
static const world *here;
static client *clients;
static PGconn *observer;
static unsigned turn_seed;
static const char *address;

/* --- what is noted ------------------------------------------------------------------- */

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

/* In the order of keys, each with its list; and that of the other table. */
static void
note_rows(const client *c, kind kind, range keys)
{
	const PGresult *answer = c->answer;
	int row = 0;

	for (int key = keys.low; key < keys.high; key++)
	{
		if (row < PQntuples(answer) && atoi(PQgetvalue(answer, row, 0)) == key)
		{
			if (PQnfields(answer) > 2 && strcmp(PQgetvalue(answer, row, 1), PQgetvalue(answer, row, 2)) != 0)
				plan_of_all->wrong_rows++;
			if (PQgetisnull(answer, row, 1) == 0)
				note(c->transaction, kind, key, 0, PQgetvalue(answer, row, 1));
			row++;
		}
		else if (!c->skips && (plan_of_all->setting != MOVES || key % 2 == 0))
			note(c->transaction, READ, key, 0, NULL);
	}
	plan_of_all->wrong_rows += PQntuples(answer) - row;
}

static void
note_cursor(client *c)
{
	c->skips = false;
	note_rows(c, READ, c->cursor_keys);
}

static void
note_operation(const client *c)
{
	if (c->kind != APPEND && c->kind != DELETE)
		note_rows(c, c->is_taken_back ? READ : c->kind, c->keys);
	else if (PQntuples(c->answer) == 0)
		note(c->transaction, READ, c->keys.low, 0, NULL);
	else if (c->is_taken_back && c->kind == APPEND)
	{
		/* items that it has seen stay seen: all before its own */
		char *list = PQgetvalue(c->answer, 0, 0);

		*strrchr(list, ',') = '\0';
		note(c->transaction, READ, c->keys.low, 0, list);
	}
	else
		note(c->transaction, c->is_taken_back ? READ : c->kind, c->keys.low, c->item, PQgetvalue(c->answer, 0, 0));
}

/* --- statements ------------------------------------------------------------------------ */

static int
random_below(unsigned *seed, int limit)
{
	return (int) ((unsigned) rand_r(seed) % (unsigned) limit);
}

static int
first_key(const client *c)
{
	return c->ended / here->uses * here->keys;
}

static void
write_begin(client *c, char *statement)
{
	static const char *const types[] = {
		[PLAIN] = "default", [SHORT] = "short", [LONG] = "long", [READ_ONLY] = "read_only"};
	int number = 1 + c->ended * plan_of_all->client_count + c->number;
	level level;
	int room;
	int length;

	c->transaction = &plan_of_all->transactions[number];
	c->transaction->number = number;
	c->operations = here->operations_min + random_below(&c->seed, OPERATIONS_MAX + 1 - here->operations_min);
	c->done = 0;
	c->style = plan_of_all->level == KINDS ? here->styles[random_below(&c->seed, STYLES)] : PLAIN;
	c->preserve.low = first_key(c) + random_below(&c->seed, here->keys);
	room = first_key(c) + here->keys - c->preserve.low;
	c->preserve.high =
		c->preserve.low + random_below(&c->seed, room < here->preserved_max ? room : here->preserved_max);
	/* Tsurugi's kinds read ordinary tables as of their own moment at READ COMMITTED */
	level = c->style != PLAIN && plan_of_all->setting == MIXED ? READ_COMMITTED : plan_of_all->level;
	length = snprintf(statement, STATEMENT_MAX, "BEGIN ISOLATION LEVEL %s", level_names[level]);
	if (c->style != PLAIN)
		snprintf(statement + length, STATEMENT_MAX - length,
				 "; SET LOCAL tsurugi_fdw.transaction_type = %s; "
				 "SET LOCAL tsurugi_fdw.write_preserve = 'history [{%d},{%d}]'",
				 types[c->style], c->preserve.low, c->preserve.high);
}

static bool
one_in(client *c, int count)
{
	return random_below(&c->seed, count) == 0;
}

static void
write_change(client *c, char *statement)
{
	int key = c->keys.low;
	bool is_mixed = plan_of_all->setting == MIXED;
	char where[64];
	char shadow[STATEMENT_MAX / 2] = "";

	c->kind = key % 2 == 0 && one_in(c, 8) ? DELETE : APPEND;
	c->item = c->transaction->number * OPERATIONS_MAX + c->done;
	snprintf(where, sizeof(where), one_in(c, 2) ? "id = %d" : "code = -%d", key);
	if (c->kind == DELETE)
	{
		if (is_mixed)
			snprintf(shadow, sizeof(shadow), "WITH s AS (DELETE FROM shadow WHERE id = %d) ", key);
		snprintf(statement, STATEMENT_MAX, "%sDELETE FROM history WHERE %s RETURNING items", shadow, where);
	}
	else if (key % 2 == 0)
	{
		if (is_mixed)
			snprintf(shadow, sizeof(shadow), "WITH s AS (UPDATE shadow SET items = items || ',%d' WHERE id = %d) ",
					 c->item, key);
		snprintf(statement, STATEMENT_MAX,
				 "%sUPDATE history SET items = items || ',%d', side = 1 - side WHERE %s RETURNING items", shadow,
				 c->item, where);
	}
	else
	{
		if (is_mixed)
			snprintf(
				shadow, sizeof(shadow),
				"WITH s AS (INSERT INTO shadow AS h VALUES (%d, ',%d') ON CONFLICT (id) DO UPDATE SET items = h.items || "
				"',%d') ",
				key, c->item, c->item);
		snprintf(statement, STATEMENT_MAX,
				 "%sINSERT INTO history AS h VALUES (%d, ',%d', -%d, 1, '{%d,-1}') ON CONFLICT (%s) DO UPDATE "
				 "SET items = h.items || ',%d', side = 1 - h.side RETURNING items",
				 shadow, key, c->item, key, key / TAGGED, one_in(c, 2) ? "id" : "code", c->item);
	}
}

/*
 * The condition that selects the rows of the keys.  A scan: a condition that no key could answer.
 */
static void
write_condition(char *condition, size_t size, way way, range keys)
{
	switch (way)
	{
		case BY_CODE:
			snprintf(condition, size, "code > -%d AND code <= -%d", keys.high, keys.low);
			break;
		case BY_TAG:
			snprintf(condition, size, "tags @> '{%d}'", keys.low / TAGGED);
			break;
		case BY_SPAN:
			snprintf(condition, size, "int4range(code, code, '[]') && int4range(-%d, -%d, '(]')", keys.high, keys.low);
			break;
		case BY_SCAN:
			snprintf(condition, size, "id + 0 >= %d AND id + 0 < %d", keys.low, keys.high);
			break;
		default:
			if (keys.high == keys.low + 1)
				snprintf(condition, size, "id = %d", keys.low);
			else
				snprintf(condition, size, "id >= %d AND id < %d", keys.low, keys.high);
	}
}

static void
write_select(char *statement, way way, range keys)
{
	char condition[128];
	char shown[STATEMENT_MAX / 2];
	int length;

	write_condition(condition, sizeof(condition), way, keys);
	if (way == BY_SIDE)
		length = snprintf(shown, sizeof(shown),
						  "SELECT id, items FROM history WHERE side = 0 AND id + 0 >= %d AND id + 0 < %d UNION ALL "
						  "SELECT id, items FROM history WHERE side = 1 AND id + 0 >= %d AND id + 0 < %d",
						  keys.low, keys.high, keys.low, keys.high);
	else
		length = snprintf(shown, sizeof(shown), "SELECT id, items FROM history WHERE %s", condition);
	if (length >= (int) sizeof(shown))
		give_up("a statement is too long");
	write_condition(condition, sizeof(condition), BY_KEY, keys);
	if (plan_of_all->setting == MIXED)
		snprintf(statement, STATEMENT_MAX,
				 "SELECT id, h.items, s.items FROM (%s OFFSET 0) h FULL JOIN "
				 "(SELECT id, items FROM shadow WHERE %s OFFSET 0) s USING (id) ORDER BY id",
				 shown, condition);
	else
		snprintf(statement, STATEMENT_MAX, "SELECT * FROM (%s OFFSET 0) h ORDER BY id", shown);
}

/* One row by one of its keys, or some. */
static void
write_locking(client *c, char *statement)
{
	static const char *const modes[] = {"UPDATE", "UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"};
	static const char *const policies[] = {"", "", " SKIP LOCKED", " NOWAIT"};
	const char *mode = modes[random_below(&c->seed, 5)];
	const char *policy = policies[random_below(&c->seed, 4)];
	char condition[128];

	write_condition(condition, sizeof(condition), one_in(c, 2) ? BY_KEY : BY_CODE, c->keys);
	c->kind = strcmp(mode, "KEY SHARE") == 0 ? GUARD : HOLD;
	c->skips = policy[0] == ' ' && policy[1] == 'S';
	snprintf(statement, STATEMENT_MAX, "SELECT id, items FROM history WHERE %s ORDER BY id FOR %s%s", condition, mode,
			 policy);
}

/* Some keys, or one; by tag all that have it. */
static range
choose_keys(client *c, way way)
{
	int key = first_key(c) + random_below(&c->seed, here->keys);

	if (way == BY_TAG)
		return (range){key / TAGGED * TAGGED, key / TAGGED * TAGGED + TAGGED};
	return (range){key, key + (one_in(c, 2) ? 1 : 2 + random_below(&c->seed, KEYS_BEYOND))};
}

static void
write_operation(client *c, char *statement)
{
	int what = random_below(&c->seed, 8);
	int key = first_key(c) + random_below(&c->seed, here->keys);
	way way;

	c->skips = false;
	if (what < 4 && c->style == LONG)
		key = c->preserve.low + random_below(&c->seed, c->preserve.high - c->preserve.low + 1);
	if (plan_of_all->setting == MOVES)
		key = key / 2 * 2;
	c->keys = (range){key, key + 1};
	if (what < 3 && c->style != READ_ONLY)
	{
		write_change(c, statement);
		return;
	}
	if (what == 3 && c->style != READ_ONLY)
	{
		write_locking(c, statement);
		return;
	}
	c->kind = READ;
	way = random_below(&c->seed, WAYS);
	c->keys = choose_keys(c, way);
	write_select(statement, way, c->keys);
}

static void
write_cursor(client *c, char *statement)
{
	way way = random_below(&c->seed, WAYS);
	int length = snprintf(statement, STATEMENT_MAX, "DECLARE c %sCURSOR %sFOR ", one_in(c, 2) ? "SCROLL " : "",
						  c->cursor == HELD ? "WITH HOLD " : "");

	c->cursor_keys = choose_keys(c, way);
	write_select(statement + length, way, c->cursor_keys);
}

static stage
end_transaction(client *c)
{
	c->ended++;
	return BEGIN;
}

/* The server has gone. */
static void
lose(client *c)
{
	if (!plan_of_all->crashes)
		give_up("%s", PQerrorMessage(c->connection));
	if (c->stage <= COMMIT || c->stage == ROLLBACK)
		c->transaction->ending = c->stage == COMMIT ? UNANSWERED : LOST;
	PQclear(c->answer);
	PQfinish(c->connection);
	c->answer = NULL;
	c->connection = NULL;
	c->is_busy = false;
	c->stage = end_transaction(c);
}

static void
send_statement(client *c)
{
	char statement[STATEMENT_MAX];

	static const char *const fixed[] = {
		[MARK] = "SAVEPOINT s",	 [RELEASE] = "RELEASE s", [TAKE_BACK] = "ROLLBACK TO s; RELEASE s",
		[FETCH] = "FETCH ALL c", [COMMIT] = "COMMIT",	  [FETCH_HELD] = "FETCH ALL c",
		[CLOSE] = "CLOSE ALL",	 [ROLLBACK] = "ROLLBACK"};

	switch (c->stage)
	{
		case BEGIN:
			write_begin(c, statement);
			break;
		case DECLARE:
			write_cursor(c, statement);
			break;
		case WORK:
			write_operation(c, statement);
			break;
		default:
			strcpy(statement, fixed[c->stage]);
			break;
	}
	c->is_busy = true;
	if (PQsendQuery(c->connection, statement) == 0)
		lose(c);
}

/* --- answers ---------------------------------------------------------------------------- */

/* False if a statement has failed in a way that levels provide for. */
static bool
is_good(PGconn *connection, const PGresult *answer)
{
	/*
	 * NOWAIT, and a key inserted between another client's look by one index and its write of the
	 * other
	 */
	static const char *const provided[] = {"40001", "40P01", "55P03", "23505"};
	ExecStatusType status = PQresultStatus(answer);
	const char *code;

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return true;
	code = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
	for (int i = 0; code != NULL && i < (int) (sizeof(provided) / sizeof(*provided)); i++)
		if (strcmp(code, provided[i]) == 0)
			return false;
	give_up("%s", PQerrorMessage(connection));
}

/* After an operation, or before the first one. */
static stage
next_operation(client *c)
{
	if (c->done < c->operations)
	{
		c->marked = one_in(c, 4);
		c->is_taken_back = c->marked && one_in(c, 2);
		return c->marked ? MARK : WORK;
	}
	if (one_in(c, 16))
		return ROLLBACK; /* on purpose */
	return c->cursor == WITHIN ? FETCH : COMMIT;
}

static stage
next_stage(client *c, bool good)
{
	switch (c->stage)
	{
		case BEGIN:
			c->cursor = one_in(c, 4) ? WITHIN + random_below(&c->seed, 2) : NONE;
			return !good ? ROLLBACK : c->cursor != NONE ? DECLARE : next_operation(c);
		case MARK:
			return good ? WORK : ROLLBACK;
		case WORK:
			if (good)
				note_operation(c);
			c->done++;
			if (c->marked)
				return good && !c->is_taken_back ? RELEASE : TAKE_BACK;
			return good ? next_operation(c) : ROLLBACK;
		case DECLARE:
		case RELEASE:
		case TAKE_BACK:
			return good ? next_operation(c) : ROLLBACK;
		case FETCH:
			if (good)
				note_cursor(c);
			return good ? COMMIT : ROLLBACK;
		case COMMIT:
			c->transaction->committed = good;
			/* a computed one may still be there though the commit failed, as in PostgreSQL */
			return c->cursor != HELD ? end_transaction(c) : good ? FETCH_HELD : CLOSE;
		case FETCH_HELD:
			note_cursor(c);
			return CLOSE;
		case CLOSE:
		case ROLLBACK:
			break;
	}
	return end_transaction(c);
}

/* Whether the server has gone, or has said that it goes. */
static bool
has_lost(PGconn *connection, const PGresult *answer)
{
	const char *code = answer == NULL ? NULL : PQresultErrorField(answer, PG_DIAG_SQLSTATE);

	return PQstatus(connection) == CONNECTION_BAD || answer == NULL || (code != NULL && strncmp(code, "57P0", 4) == 0);
}

/* The statement has been answered: what comes next? */
static void
go_on(client *c)
{
	if (has_lost(c->connection, c->answer))
	{
		lose(c);
		return;
	}
	c->is_busy = false;
	c->stage = next_stage(c, is_good(c->connection, c->answer));
	PQclear(c->answer);
	c->answer = NULL;
}

/* Takes the answers that have arrived. */
static void
hear(client *c)
{
	if (PQconsumeInput(c->connection) == 0)
		lose(c);
	while (c->is_busy && PQisBusy(c->connection) == 0)
	{
		PGresult *result = PQgetResult(c->connection);

		if (result == NULL)
			go_on(c);
		else
		{
			PQclear(c->answer);
			c->answer = result;
		}
	}
}

/* Waits until an answer arrives for any client; false if that takes too long. */
static bool
listen_to_all(int wait_ms)
{
	struct pollfd sockets[plan_of_all->client_count];
	int arrived;

	for (int i = 0; i < plan_of_all->client_count; i++)
		sockets[i] = (struct pollfd){.fd = clients[i].is_busy ? PQsocket(clients[i].connection) : -1, .events = POLLIN};
	arrived = poll(sockets, plan_of_all->client_count, wait_ms);
	if (arrived < 0)
		give_up("poll failed");
	for (int i = 0; i < plan_of_all->client_count; i++)
		if (sockets[i].revents != 0)
			hear(&clients[i]);
	return arrived > 0;
}

/* --- who is next -------------------------------------------------------------------------- */

static bool
is_idle(const client *c)
{
	return !c->is_busy && c->ended < plan_of_all->transaction_count;
}

static PGresult *
ask(PGconn *connection, const char *statement)
{
	PGresult *result = PQexec(connection, statement);

	if (!is_good(connection, result))
		give_up("%s: %s", statement, PQerrorMessage(connection));
	return result;
}

static bool
waits_for_somebody(const client *c)
{
	char statement[STATEMENT_MAX];
	PGresult *result;
	bool waits;

	snprintf(statement, STATEMENT_MAX,
			 "SELECT FROM pg_stat_activity WHERE pid = %d AND wait_event_type IN ('Lock', 'Extension')",
			 PQbackendPID(c->connection));
	result = ask(observer, statement);
	waits = PQntuples(result) > 0;
	PQclear(result);
	return waits;
}

static void
take_turn(client *c)
{
	send_statement(c);
	while (c->is_busy)
		if (!listen_to_all(PATIENCE_MS) && waits_for_somebody(c))
			return;
}

static bool
is_connected(PGconn *connection)
{
	PGresult *result;
	bool is_set;

	if (PQstatus(connection) != CONNECTION_OK)
		return false;
	result = PQexec(connection, "SET tsurugi_fdw.serializable_mixed = relaxed");
	is_set = PQresultStatus(result) == PGRES_COMMAND_OK;
	PQclear(result);
	return is_set;
}

static PGconn *
connect_to(const char *conninfo)
{
	PGconn *connection = PQconnectdb(conninfo);

	for (int i = 0; !is_connected(connection); i++)
	{
		if (!plan_of_all->crashes || i == ATTEMPTS_MAX)
			give_up("%s", PQerrorMessage(connection));
		PQfinish(connection);
		(void) poll(NULL, 0, ATTEMPT_MS);
		connection = PQconnectdb(conninfo);
	}
	return connection;
}

/* False when all is done. */
static bool
run_on(void)
{
	client *idle[plan_of_all->client_count];
	int idle_count = 0;
	int busy_count = 0;

	for (int i = 0; i < plan_of_all->client_count; i++)
	{
		busy_count += clients[i].is_busy;
		if (is_idle(&clients[i]))
			idle[idle_count++] = &clients[i];
	}
	if (plan_of_all->in_turns && idle_count > 0)
	{
		take_turn(idle[random_below(&turn_seed, idle_count)]);
		return true;
	}
	for (int i = 0; i < idle_count; i++)
	{
		if (idle[i]->connection == NULL)
			idle[i]->connection = connect_to(address);
		send_statement(idle[i]);
	}
	return busy_count + idle_count > 0 && listen_to_all(-1);
}

/* By a connection of its own, when the clients have ended. */
static void
read_all(plan *plan)
{
	client last = {.transaction = &plan->last};
	range keys = {0, plan->key_count};
	char statement[STATEMENT_MAX];

	write_select(statement, BY_SCAN, keys);
	last.connection = connect_to(address);
	last.answer = ask(last.connection, statement);
	note_rows(&last, READ, keys);
	PQclear(last.answer);
	PQfinish(last.connection);
}

int
clients_key_count(const plan *plan)
{
	const world *there = &worlds[plan->in_turns];

	return plan->transaction_count / there->uses * there->keys + there->keys + KEYS_BEYOND;
}

int
clients_run(plan *plan, const char *conninfo)
{
	char statement[STATEMENT_MAX];
	int failures = 0;

	plan_of_all = plan;
	here = &worlds[plan->in_turns];
	turn_seed = plan->seed;
	address = conninfo;
	clients = get_memory(plan->client_count * sizeof(client));
	observer = connect_to(conninfo);
	snprintf(statement, STATEMENT_MAX,
			 "DELETE FROM history; INSERT INTO history SELECT i, '', -i, i %% 2, ARRAY[i / %d, -1] FROM "
			 "generate_series(0, %d, 2) i; DELETE FROM shadow; INSERT INTO shadow SELECT id, items FROM history",
			 TAGGED, plan->key_count - 1);
	PQclear(ask(observer, statement));
	for (int i = 0; i < plan->client_count; i++)
		clients[i] = (client){
			.connection = connect_to(conninfo), .number = i, .seed = plan->seed * 1000 + (unsigned) i, .stage = BEGIN};

	while (run_on())
		;

	if (plan->crashes)
		read_all(plan);
	for (int i = 0; i < plan->client_count; i++)
		PQfinish(clients[i].connection);
	PQfinish(observer);
	for (int i = 1; i <= plan->client_count * plan->transaction_count; i++)
		failures += !plan->transactions[i].committed;
	return failures;
}
