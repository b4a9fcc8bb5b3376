/*
 * piece.c
 *	  Tasks that insert at once for one transaction, row by row or many rows by one call
 *	  (insert_batch.c), beside another one that does the same.  Each key is inserted once,
 *	  by whichever comes first.  Before the commit no snapshot has any of the rows.  After it every
 *	  one has all of them, if the pieces were taken; after an undo of the pieces, a rollback to a
 *	  mark or an abort, none.  Nothing is left of what was undone.  All that once more with an index
 *	  beside the primary key.
 */
#include "test/unit/apart.h"
#include "test/unit/writers.h"

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/index/index.h"
#include "runtime/txn/piece.h"

#define TASKS 3
#define OWNER (&clients[TASKS])
#define OTHER (&clients[TASKS + 1])
#define KEYS 60
#define ROUNDS UNIT_ROUNDS(400)

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

/*
 * Many keys at once, some of them twice, of which the second is left; then those that are left, one
 * by one.
 */
static void
insert_together(const tg_writer *writer, task *task, unsigned first)
{
	unsigned keys[TG_INSERT_BATCH];
	unsigned count = 0;
	uint64_t left;
	tg_status status;

	for (unsigned i = 0; i < KEYS && count < TG_INSERT_BATCH; i++)
	{
		if (dice(task->client, 3) != 0)
			keys[count++] = (first + i * 7) % KEYS;
		if (dice(task->client, 10) == 0 && count > 0 && count < TG_INSERT_BATCH)
		{
			keys[count] = keys[count - 1];
			count++;
		}
	}
	if (count == 0)
		return;
	tg_epoch_enter(writer->session);
	status = insert_batch(writer, task->client, keys, count, &left);
	tg_epoch_leave(writer->session);
	task->faults += status != TG_OK;
	for (unsigned i = 0; i < count; i++)
	{
		if ((left >> i & 1) == 0)
		{
			task->faults += task->inserted[keys[i]];
			task->inserted[keys[i]] = true;
			continue;
		}
		status = insert_apart(writer, task->client, keys[i]);
		task->faults += status == TG_OK ? task->inserted[keys[i]] : status != TG_EXISTS && status != TG_BUSY;
		task->inserted[keys[i]] |= status == TG_OK;
		task->refused[keys[i]] |= status == TG_BUSY;
	}
}

static void *
run_task(void *argument)
{
	task *task = argument;
	tg_writer writer = *task->owner;
	unsigned first = dice(task->client, KEYS);

	writer.session = task->client->session;
	writer.piece = &task->piece;
	if (dice(task->client, 2) == 0)
	{
		insert_together(&writer, task, first);
		return NULL;
	}
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

/* Some of its keys at once, by the other transaction. */
static void
insert_others(void)
{
	unsigned first = dice(OTHER, KEYS);
	unsigned keys[TG_INSERT_BATCH];
	unsigned count = 1 + dice(OTHER, KEYS / 2);
	tg_writer writer = writer_of(OTHER);
	uint64_t left;

	for (unsigned i = 0; i < count; i++)
		keys[i] = (first + i) % KEYS;
	if (insert_batch(&writer, OTHER, keys, count, &left) != TG_OK)
		abort();
}

/* Another transaction writes the same keys meanwhile, and ends while tasks run, or later. */
static void *
run_other(void *argument)
{
	while (tg_load_acquire(&running) != 0)
	{
		uint64_t key = dice(OTHER, KEYS);

		if (dice(OTHER, 8) == 0)
			insert_others();
		else if (dice(OTHER, 2) == 0)
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

/* Empty, on a text; the table has no rows. */
static void
add_index(void)
{
	const tg_index_spec spec = {
		.host = 5, .key = {.part_count = 1, .part = {{.column = 1, .code = TG_KEY_STRING, .order = TG_KEY_NULLABLE}}}};
	tg_index *index;

	empty();
	memset(before, false, sizeof(before));
	if (tg_index_create(session, table, &spec, TG_DATA, &index) != TG_OK)
		abort();
}

static void
test_rounds(const char *how)
{
	unsigned faults = 0;

	for (unsigned round = 0; round < ROUNDS; round++)
		faults += run_round((outcome) (round % OUTCOMES));
	unit_equal(faults, 0, "%seach key is inserted once, and rows are seen as the transaction ends", how);
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

#ifdef TG_FAILPOINTS

static unsigned claims_left; /* until one is refused */

static bool
refuse_claim(const char *name)
{
	return strcmp(name, "alloc") == 0 && claims_left-- == 0;
}

/* A batch that is refused memory at some step leaves nothing that a rollback does not take back. */
static void
test_refusal(void)
{
	unsigned keys[TG_INSERT_BATCH];
	unsigned refused = 0;
	unsigned faults = 0;
	tg_status status = TG_NO_MEMORY;

	for (unsigned i = 0; i < TG_INSERT_BATCH; i++)
		keys[i] = (i * 11) % TG_INSERT_BATCH; /* some of them are there */
	for (unsigned claims = 0; status != TG_OK && claims < 10000; claims++)
	{
		tg_writer writer = writer_of(OWNER);
		uint64_t left;

		claims_left = claims;
		tg_failpoint_set(refuse_claim);
		status = insert_batch(&writer, OWNER, keys, TG_INSERT_BATCH, &left);
		tg_failpoint_set(NULL);
		faults += status != TG_OK && status != TG_NO_MEMORY;
		refused += status == TG_NO_MEMORY;
		roll_back(OWNER);
		faults += check_rows(before);
	}
	unit_ok(refused > 10, "a batch was refused memory %u times", refused);
	unit_equal(faults, 0, "and the rows were as before");
	check_exact(1000, "after refusals");
}

#endif

int
main(void)
{
	begin();
	test_lending();
#ifdef TG_FAILPOINTS
	test_refusal();
#endif
	test_rounds("");
	add_index();
	test_rounds("with another index, ");
	empty();
	end();
	return unit_done();
}
