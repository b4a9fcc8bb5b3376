/*
 * clients.c
 *	  Clients that run random transactions, and note what they see.
 *
 * What a transaction does comes from the client's seed.  When it does it:
 *
 *	at once		all clients send their next statement as soon as the last one is answered.  Statements meet inside
 *				the server, as its processes are scheduled.
 *	in turns	the next statement is that of a client chosen at random, and it is waited for, unless it waits for
 *				somebody itself, which the server is asked.  So transactions are interleaved statement by
 *				statement on every machine, whatever its speed, and how its processes are scheduled
 *				has no part in it.
 *
 * One thread, for all statements are sent without waiting.
 */
#include "test/history/history.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#define STATEMENT_MAX 384
#define PATIENCE_MS 1 /* before the server is asked whether a statement waits */
#define STYLES 8
#define KEYS_BEYOND 4 /* that a range reaches over the last one */

/* What a transaction is.  Of those that a level's clients run, one is chosen at random. */
typedef enum style
{
	PLAIN,
	SHORT,
	LONG,
	READ_ONLY
} style;

/*
 * Where clients meet, and as what.  In turns few do much with few keys: then a LONG is there when others pass by, and
 * what one reads another one writes.
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

/* What the next statement does, or the one that is being waited for. */
typedef enum stage
{
	BEGIN,
	WORK,
	COMMIT,
	ROLLBACK
} stage;

typedef struct client
{
	PGconn *connection;
	PGresult *answer; /* the last one to the statement that is under way */
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
} client;

static const plan *plan_of_all;
static const world *here;
static client *clients;
static PGconn *observer;
static unsigned turn_seed;

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

static void
note_operation(const client *c)
{
	const PGresult *answer = c->answer;
	int row = 0;

	if (c->kind != READ)
	{
		if (PQntuples(answer) == 0)
			note(c->transaction, READ, c->keys.low, 0, NULL);
		else
			note(c->transaction, c->kind, c->keys.low, c->item, PQgetvalue(answer, 0, 0));
		return;
	}
	for (int key = c->keys.low; key < c->keys.high; key++)
	{
		if (row < PQntuples(answer) && atoi(PQgetvalue(answer, row, 0)) == key)
			note(c->transaction, READ, key, 0, PQgetvalue(answer, row++, 1));
		else
			note(c->transaction, READ, key, 0, NULL);
	}
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
	length = snprintf(statement, STATEMENT_MAX, "BEGIN ISOLATION LEVEL %s", level_names[plan_of_all->level]);
	if (c->style != PLAIN)
		snprintf(statement + length, STATEMENT_MAX - length,
				 "; SET LOCAL tsurugi_fdw.transaction_type = %s; "
				 "SET LOCAL tsurugi_fdw.write_preserve = 'history [{%d},{%d}]'",
				 types[c->style], c->preserve.low, c->preserve.high);
}

static void
write_change(client *c, char *statement)
{
	int key = c->keys.low;

	c->kind = key % 2 == 0 && random_below(&c->seed, 8) == 0 ? DELETE : APPEND;
	c->item = c->transaction->number * OPERATIONS_MAX + c->done;
	if (c->kind == DELETE)
		snprintf(statement, STATEMENT_MAX, "DELETE FROM history WHERE id = %d RETURNING items", key);
	else if (key % 2 == 0)
		snprintf(statement, STATEMENT_MAX, "UPDATE history SET items = items || ',%d' WHERE id = %d RETURNING items",
				 c->item, key);
	else
		snprintf(statement, STATEMENT_MAX,
				 "INSERT INTO history AS h VALUES (%d, ',%d') ON CONFLICT (id) DO UPDATE SET items = h.items || ',%d' "
				 "RETURNING items",
				 key, c->item, c->item);
}

/* By scan: the whole table, in no order, with a condition that no key could answer. */
static void
write_read(client *c, char *statement, bool by_scan)
{
	c->kind = READ;
	if (by_scan)
		snprintf(
			statement, STATEMENT_MAX,
			"SELECT * FROM (SELECT id, items FROM history WHERE id + 0 >= %d AND id + 0 < %d OFFSET 0) s ORDER BY id",
			c->keys.low, c->keys.high);
	else if (c->keys.high > c->keys.low + 1)
		snprintf(statement, STATEMENT_MAX, "SELECT id, items FROM history WHERE id >= %d AND id < %d ORDER BY id",
				 c->keys.low, c->keys.high);
	else
		snprintf(statement, STATEMENT_MAX, "SELECT id, items FROM history WHERE id = %d", c->keys.low);
}

static void
write_operation(client *c, char *statement)
{
	int what = random_below(&c->seed, 8);
	int key = first_key(c) + random_below(&c->seed, here->keys);

	if (what < 3 && c->style == LONG)
		key = c->preserve.low + random_below(&c->seed, c->preserve.high - c->preserve.low + 1);
	c->keys = (range){key, key + 1};
	if (what < 3 && c->style != READ_ONLY)
	{
		write_change(c, statement);
		return;
	}
	if (what == 3 || what == 4)
		c->keys.high += 1 + random_below(&c->seed, KEYS_BEYOND);
	write_read(c, statement, what == 4);
}

static void
send_statement(client *c)
{
	char statement[STATEMENT_MAX];

	switch (c->stage)
	{
		case BEGIN:
			write_begin(c, statement);
			break;
		case WORK:
			write_operation(c, statement);
			break;
		case COMMIT:
			strcpy(statement, "COMMIT");
			break;
		case ROLLBACK:
			strcpy(statement, "ROLLBACK");
			break;
	}
	if (PQsendQuery(c->connection, statement) == 0)
		give_up("%s: %s", statement, PQerrorMessage(c->connection));
	c->is_busy = true;
}

/* --- answers ---------------------------------------------------------------------------- */

/* False if a statement has failed in a way that levels provide for. */
static bool
is_good(PGconn *connection, const PGresult *answer)
{
	ExecStatusType status = PQresultStatus(answer);
	const char *code;

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return true;
	code = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
	if (code == NULL || (strcmp(code, "40001") != 0 && strcmp(code, "40P01") != 0))
		give_up("%s", PQerrorMessage(connection));
	return false;
}

/* The statement has been answered: what comes next? */
static void
go_on(client *c)
{
	bool good = is_good(c->connection, c->answer);

	switch (c->stage)
	{
		case WORK:
			if (good)
			{
				note_operation(c);
				c->done++;
			}
			/* FALLTHROUGH */
		case BEGIN:
			c->stage = WORK;
			if (!good)
				c->stage = ROLLBACK;
			else if (c->done == c->operations)
				c->stage = random_below(&c->seed, 16) == 0 ? ROLLBACK : COMMIT; /* on purpose */
			break;
		case COMMIT:
			c->transaction->committed = good;
			/* FALLTHROUGH */
		case ROLLBACK:
			c->ended++;
			c->stage = BEGIN;
			break;
	}
	PQclear(c->answer);
	c->answer = NULL;
	c->is_busy = false;
}

/* Takes what has arrived. */
static void
hear(client *c)
{
	if (PQconsumeInput(c->connection) == 0)
		give_up("%s", PQerrorMessage(c->connection));
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

/* Waits until something arrives for anybody; false if that takes too long. */
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
		send_statement(idle[i]);
	return busy_count + idle_count > 0 && listen_to_all(-1);
}

static PGconn *
connect_to(const char *conninfo)
{
	PGconn *connection = PQconnectdb(conninfo);

	if (PQstatus(connection) != CONNECTION_OK)
		give_up("%s", PQerrorMessage(connection));
	return connection;
}

int
clients_key_count(const plan *plan)
{
	const world *there = &worlds[plan->in_turns];

	return plan->transaction_count / there->uses * there->keys + there->keys + KEYS_BEYOND;
}

int
clients_run(const plan *plan, const char *conninfo)
{
	char statement[STATEMENT_MAX];
	int failures = 0;

	plan_of_all = plan;
	here = &worlds[plan->in_turns];
	turn_seed = plan->seed;
	clients = get_memory(plan->client_count * sizeof(client));
	observer = connect_to(conninfo);
	PQclear(ask(observer, "DELETE FROM history"));
	snprintf(statement, STATEMENT_MAX, "INSERT INTO history SELECT i, '' FROM generate_series(0, %d, 2) i",
			 plan->key_count - 1);
	PQclear(ask(observer, statement));
	for (int i = 0; i < plan->client_count; i++)
		clients[i] = (client){
			.connection = connect_to(conninfo), .number = i, .seed = plan->seed * 1000 + (unsigned) i, .stage = BEGIN};

	while (run_on())
		;

	for (int i = 0; i < plan->client_count; i++)
		PQfinish(clients[i].connection);
	PQfinish(observer);
	for (int i = 1; i <= plan->client_count * plan->transaction_count; i++)
		failures += !plan->transactions[i].committed;
	return failures;
}
