/*
 * piece.c
 *	  Tasks that insert at once for one transaction, beside another one.  Each key is inserted once,
 *	  by whichever comes first.  Before the commit no snapshot has any of the rows.  After it every
 *	  one has all of them, if the pieces were taken; after an undo of the pieces, a rollback to a
 *	  mark or an abort, none.  Nothing is left of what was undone.
 */
#include "test/unit/writers.h"

#include "runtime/base/atomic.h"
#include "runtime/txn/piece.h"

#define TASKS 3
#define OWNER (&clients[TASKS])
#define OTHER (&clients[TASKS + 1])
#define KEYS 60
#define ROUNDS 400

typedef enum outcome
{
	TAKEN,		 /* and committed */
	TAKEN_TWICE, /* by two steps of tasks */
	UNDONE,		 /* then others inserted by the owner, and committed */
	ROLLED_BACK, /* to a mark before the tasks, then committed */
	ABORTED,
	OUTCOMES
} outcome;

typedef struct task
{
	client *client; /* whose session it has; its own randomness */
	const tg_writer *owner;
	tg_piece piece;
	bool inserted[KEYS];
	bool refused[KEYS]; /* TG_BUSY: the other transaction's */
	unsigned faults;
} task;

static task tasks[TASKS];
static bool before[KEYS]; /* the rows that are there */
static uint32_t running;  /* atomic */

static tg_status
insert_apart(const tg_writer *writer, client *client, uint64_t key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	tg_value values[COLUMNS] = {{.word = key}};
	bool nulls[COLUMNS] = {false, false, dice(client, 5) == 0};
	text texts[2];
	tg_status status;
	tg_wait wait;

	text_make(client, key, &values[1], &texts[0]);
	text_make(client, key, &values[2], &texts[1]);
	tg_epoch_enter(writer->session);
	do
		status = tg_txn_insert_apart(writer, table, bytes, key_bytes, values, nulls, &wait);
	while (status == TG_AGAIN);
	tg_epoch_leave(writer->session);
	return status;
}

static void *
run_task(void *argument)
{
	task *task = argument;
	tg_writer writer = *task->owner;
	unsigned first = dice(task->client, KEYS);

	writer.session = task->client->session;
	writer.piece = &task->piece;
	for (unsigned i = 0; i < KEYS; i++)
	{
		unsigned key = (first + i) % KEYS;
		tg_status status = dice(task->client, 3) == 0 ? TG_EXISTS : insert_apart(&writer, task->client, key);

		task->inserted[key] = status == TG_OK;
		task->refused[key] = status == TG_BUSY;
		task->faults += status != TG_OK && status != TG_EXISTS && status != TG_BUSY;
	}
	return NULL;
}

/* Another transaction writes the same keys meanwhile, and ends while tasks run, or later. */
static void *
run_other(void *argument)
{
	while (tg_load_acquire(&running) != 0)
	{
		uint64_t key = dice(OTHER, KEYS);

		if (dice(OTHER, 2) == 0)
			(void) insert(OTHER, key);
		else
			(void) change_row(OTHER, key, CHANGE_DELETE, 0);
		if (dice(OTHER, 4) == 0)
			roll_back(OTHER);
	}
	roll_back(OTHER);
	return NULL;
}

/* No snapshot has a row that was not there before: none of these transactions commits. */
static void *
run_reader(void *argument)
{
	unsigned *faults = argument;

	while (tg_load_acquire(&running) != 0)
		for (unsigned key = 0; key < KEYS; key++)
		{
			unsigned entry;
			tg_time time = tg_snapshot_publish(session, &entry);

			*faults += look(session, time, key) != (before[key] ? 1 : -1);
			tg_snapshot_withdraw(session, entry);
		}
	return NULL;
}

/* One step of tasks: from their start until all have ended. */
static unsigned
run_step(const tg_writer *owner)
{
	pthread_t threads[TASKS], other, reader;
	unsigned faults = 0;
	unsigned seen_faults = 0;

	tg_store_release(&running, 1);
	for (unsigned i = 0; i < TASKS; i++)
	{
		tasks[i] = (task){.client = &clients[i], .owner = owner};
		if (pthread_create(&threads[i], NULL, run_task, &tasks[i]) != 0)
			abort();
	}
	if (pthread_create(&other, NULL, run_other, NULL) != 0 ||
		pthread_create(&reader, NULL, run_reader, &seen_faults) != 0)
		abort();
	for (unsigned i = 0; i < TASKS; i++)
	{
		pthread_join(threads[i], NULL);
		faults += tasks[i].faults;
	}
	tg_store_release(&running, 0);
	pthread_join(other, NULL);
	pthread_join(reader, NULL);
	return faults + seen_faults;
}

/* Adds what the tasks have inserted to the rows that are expected; counts keys inserted twice. */
static unsigned
add_inserted(bool *expected)
{
	unsigned faults = 0;

	for (unsigned key = 0; key < KEYS; key++)
		for (unsigned i = 0; i < TASKS; i++)
		{
			faults += tasks[i].inserted[key] && expected[key];
			expected[key] |= tasks[i].inserted[key];
		}
	return faults;
}

static void
pieces_of(tg_piece *pieces[TASKS])
{
	for (unsigned i = 0; i < TASKS; i++)
		pieces[i] = &tasks[i].piece;
}

static unsigned
check_rows(const bool *expected)
{
	unsigned faults = 0;
	unsigned entry;
	tg_time time = tg_snapshot_publish(session, &entry);

	for (unsigned key = 0; key < KEYS; key++)
		faults += look(session, time, key) != (expected[key] ? 1 : -1);
	tg_snapshot_withdraw(session, entry);
	return faults;
}

/* The owner deletes some of the rows that are there: tasks may revive them. */
static void
delete_some(bool *expected)
{
	for (unsigned key = 0; key < KEYS; key++)
		if (before[key] && dice(OWNER, 2) == 0 && change_row(OWNER, key, CHANGE_DELETE, 0) == TG_OK)
			expected[key] = false;
}

static unsigned
run_round(outcome outcome)
{
	bool expected[KEYS];
	tg_piece *pieces[TASKS];
	tg_txn_mark mark;
	tg_writer writer;
	unsigned faults = 0;
	unsigned number;

	memcpy(expected, before, sizeof(expected));
	delete_some(expected);
	writer = writer_of(OWNER);
	if (!tg_txn_may_lend(&writer, table))
		return 1;
	tg_txn_savepoint(OWNER->session, OWNER->txn, &mark, &number);
	for (unsigned step = 0; step < 1u + (outcome == TAKEN_TWICE); step++)
	{
		faults += run_step(&writer);
		pieces_of(pieces);
		if (outcome == UNDONE)
			tg_txn_undo_pieces(OWNER->session, OWNER->txn, pieces, TASKS);
		else
		{
			tg_txn_take_pieces(OWNER->session, OWNER->txn, pieces, TASKS);
			if (outcome != ROLLED_BACK)
				faults += add_inserted(expected);
		}
	}
	if (outcome == ROLLED_BACK)
		tg_txn_rollback_to(OWNER->session, OWNER->txn, mark);
	for (unsigned key = 0; outcome == UNDONE && key < KEYS; key += 7)
		expected[key] |= insert(OWNER, key) == TG_OK;
	if (outcome == ABORTED)
		roll_back(OWNER);
	else
	{
		commit(OWNER);
		memcpy(before, expected, sizeof(expected));
	}
	return faults + check_rows(before);
}

static void
test_rounds(void)
{
	unsigned faults = 0;

	for (unsigned round = 0; round < ROUNDS; round++)
		faults += run_round((outcome) (round % OUTCOMES));
	unit_equal(faults, 0, "each key is inserted once, and rows are seen as the transaction ends");
	check_exact(1000, "after all rounds");
}

/* A transaction of another kind, or one that a LONG minds, does not lend. */
static void
test_lending(void)
{
	tg_writer writer;

	OWNER->txn = tg_txn_begin_as(OWNER->session, 1, TG_TXN_SHORT, TG_SERIALIZABLE, NULL);
	writer = (tg_writer){.session = OWNER->session, .txn = OWNER->txn, .command = 1, .claim = TG_DATA};
	unit_ok(!tg_txn_may_lend(&writer, table), "a SHORT does not lend");
	roll_back(OWNER);
	writer = writer_of(OWNER);
	unit_ok(tg_txn_may_lend(&writer, table), "an ordinary one does");
	roll_back(OWNER);
}

int
main(void)
{
	begin();
	test_lending();
	test_rounds();
	empty();
	end();
	return unit_done();
}
