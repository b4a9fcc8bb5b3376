/*
 * shared.c
 *	  Transactions that a lease owns: several sessions in one, its ends, its
 *	  lease; operations by the pool; a process that begins and ends one; all of it at once.
 */
#include "test/unit/integer_key.h"
#include "test/unit/unit.h"
#include "test/unit/waiter.h"

#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/failpoint.h"
#include "runtime/runtime.h"
#include "runtime/index/rank_holders.h"
#include "runtime/txn/txn_internal.h"

#define SESSIONS 4
#define ROLE 10
#define LEASE_MS 60000
#define WAIT_MS 10000

static tg_session *sessions[SESSIONS];
static tg_table *table;
static uint64_t handles;

/* --- working in one ------------------------------------------------------------------------- */

static tg_shared_config
make_config(tg_isolation isolation)
{
	return (tg_shared_config){
		.handle = {{++handles, 7}}, .role = ROLE, .isolation = isolation, .label = "shared", .lease_ms = LEASE_MS};
}

static tg_shared *
begin(const tg_shared_config *config)
{
	tg_shared *shared;

	tg_status status;

	while ((status = tg_shared_begin(sessions[0], config)) == TG_FULL)
		usleep(1000); /* outcomes of others are kept for a while */
	if (status != TG_OK || tg_shared_open(&config->handle, ROLE, &shared) != TG_OK)
		unit_bail("no transaction");
	return shared;
}

static tg_status
insert(const tg_writer *writer, int64_t id)
{
	const tg_value values[2] = {{.word = (uint64_t) id}, {.word = 1}};
	const bool nulls[2] = {false, false};
	unsigned char key[16];
	uint32_t row;
	tg_wait wait;

	return tg_txn_insert(writer, table, key, key_of(id, key), values, nulls, &row, &wait);
}

/* An operation that inserts a row. */
static tg_status
put(tg_session *session, tg_shared *shared, int64_t id)
{
	tg_snapshot snapshot;
	tg_writer writer;
	tg_status status = tg_shared_enter(session, shared, TG_DATA, &writer, &snapshot);

	if (status != TG_OK)
		return status;
	status = insert(&writer, id);
	tg_shared_leave(session, shared);
	return status;
}

static tg_status
find(tg_session *session, const tg_snapshot *snapshot, tg_reads *reads, int64_t id)
{
	unsigned char key[16];
	size_t key_bytes = key_of(id, key);
	tg_version version;
	tg_status status;
	uint32_t row;
	tg_wait wait;

	tg_epoch_enter(session);
	status = tg_txn_find(snapshot, table, key, key_bytes, &row, &version, &wait);
	if (reads != NULL && status == TG_OK)
		(void) tg_reads_add_version(session, reads, version);
	else if (reads != NULL)
		tg_reads_add_key(session, reads, table, NULL, key, key_bytes);
	tg_epoch_leave(session);
	return status;
}

/* Whether the transaction sees a row. */
static bool
sees(tg_session *session, tg_shared *shared, int64_t id)
{
	tg_snapshot snapshot;
	tg_writer writer;
	tg_status status;

	if (tg_shared_enter(session, shared, TG_DATA, &writer, &snapshot) != TG_OK)
		return false;
	status = find(session, &snapshot, tg_shared_reads(shared), id);
	tg_shared_leave(session, shared);
	return status == TG_OK;
}

/* Whether every session sees it. */
static bool
is_there(int64_t id)
{
	unsigned entry;
	tg_snapshot snapshot = {.time = tg_snapshot_publish(sessions[0], &entry), .txn = sessions[0]->id, .command = 1};
	bool found = find(sessions[0], &snapshot, NULL, id) == TG_OK;

	tg_snapshot_withdraw(sessions[0], entry);
	return found;
}

static tg_shared_state
state_of(const tg_shared *shared)
{
	tg_shared_report report;

	tg_shared_report_get(shared, &report);
	return report.state;
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* The transaction gets the ranks that the session holds when it begins. */
static void
test_ranks(void)
{
	tg_shared_config config = make_config(TG_READ_COMMITTED);
	tg_shared *shared;
	uint64_t generation;

	tg_rank_hold(sessions[0]->id);
	generation = tg_rank_generation_begin();
	shared = begin(&config);
	tg_rank_let_go(sessions[0]->id);
	unit_ok(!tg_rank_generation_has_come(generation), "ranks are held from when the session held them that began it");
	tg_shared_abort(sessions[0], shared, TG_SHARED_ASKED, NULL);
	unit_ok(tg_rank_generation_has_come(generation), "until it has ended");
	tg_shared_close(shared);
}

/* --- one by one --------------------------------------------------------------------- */

static void
test_several(void)
{
	tg_shared_config config = make_config(TG_READ_COMMITTED);
	tg_shared *shared = begin(&config);
	tg_shared *other;
	tg_txn_report report;
	tg_shared_report seen;

	unit_equal(tg_shared_begin(sessions[1], &config), TG_EXISTS, "a handle is unique");
	unit_ok(tg_shared_open(&config.handle, ROLE + 1, &other) == TG_NOT_FOUND &&
				tg_shared_open(&(tg_handle){{999, 7}}, ROLE, &other) == TG_NOT_FOUND,
			"only the role may use it, and only with the handle");
	unit_ok(tg_shared_open(&config.handle, ROLE, &other) == TG_OK && other == shared, "another session opens it");
	unit_ok(put(sessions[0], shared, 1) == TG_OK && put(sessions[1], other, 2) == TG_OK, "both write");
	unit_ok(sees(sessions[0], shared, 2) && sees(sessions[1], shared, 1) && !is_there(1),
			"each sees the other's writes, and no other transaction does");
	tg_shared_report_get(shared, &seen);
	unit_ok(seen.state == TG_SHARED_RUNNING && tg_txn_report_get(seen.txn, &report) && report.writes == 2 &&
				strcmp(report.label, "shared") == 0,
			"it is seen");
	unit_equal(tg_shared_commit(sessions[1], other), TG_OK, "either commits it");
	unit_ok(is_there(1) && is_there(2) && state_of(shared) == TG_SHARED_STORED, "then all of it is there");
	unit_ok(put(sessions[0], shared, 3) == TG_STOPPED && tg_shared_commit(sessions[0], shared) == TG_STOPPED,
			"and nothing is added");
	tg_shared_abort(sessions[0], shared, TG_SHARED_ASKED, NULL);
	unit_equal(state_of(shared), TG_SHARED_STORED, "an abort comes too late");
	tg_shared_close(other);
	tg_shared_close(shared);
	unit_equal(tg_shared_open(&config.handle, ROLE, &other), TG_OK, "its outcome can be asked for");
	unit_equal(state_of(other), TG_SHARED_STORED, "for a while");
	tg_shared_close(other);
}

static void
test_ends(void)
{
	tg_shared_config config = make_config(TG_READ_COMMITTED);
	tg_shared *shared = begin(&config);
	tg_snapshot snapshot;
	tg_writer writer;

	unit_equal(tg_shared_enter(sessions[0], shared, TG_DATA, &writer, &snapshot), TG_OK, "an operation");
	unit_ok(put(sessions[1], shared, 11) == TG_BUSY && tg_shared_commit(sessions[1], shared) == TG_BUSY,
			"there is one at a time");
	unit_equal(insert(&writer, 10), TG_OK, "it works");
	tg_shared_abort(sessions[1], shared, TG_SHARED_ASKED, NULL);
	unit_ok(state_of(shared) == TG_SHARED_ABORTING && insert(&writer, 12) == TG_OK, "an abort is put off");
	tg_shared_leave(sessions[0], shared);
	unit_ok(state_of(shared) == TG_SHARED_ABORTED && !is_there(10), "until that is done");
	tg_shared_abort(sessions[1], shared, TG_SHARED_ASKED, NULL);
	unit_equal(put(sessions[0], shared, 13), TG_STOPPED, "that was it");
	tg_shared_close(shared);

	config = make_config(TG_READ_COMMITTED);
	shared = begin(&config);
	unit_ok(put(sessions[0], shared, 10) == TG_OK && tg_shared_hold(shared) == TG_OK, "a task means to do more");
	unit_equal(tg_shared_commit(sessions[1], shared), TG_STOPPED, "a commit beside it is refused");
	unit_ok(put(sessions[0], shared, 11) == TG_STOPPED && state_of(shared) == TG_SHARED_ABORTING,
			"and becomes an abort");
	tg_shared_let_go(sessions[0], shared);
	unit_ok(state_of(shared) == TG_SHARED_ABORTED && !is_there(10), "when the task has let go");
	unit_equal(tg_shared_hold(shared), TG_STOPPED, "no session can hold it any more");
	tg_shared_close(shared);
}

/* An owned transaction: others' calls without enter, a commit in two steps, an end without wait. */
static void
test_owned(void)
{
	const uint32_t elsewhere[] = {7};
	const uint32_t tables[] = {7, table->relation};
	tg_shared_config config = make_config(TG_READ_COMMITTED);
	tg_writer writer = {.session = sessions[1]};
	tg_shared *shared;
	tg_wait wait;

	config.tables = elsewhere;
	config.table_count = 1;
	shared = begin(&config);
	writer.txn = tg_shared_txn(shared);
	unit_equal(insert(&writer, 13), TG_FORBIDDEN, "a table that it may not write");
	tg_shared_abandon(sessions[0], shared, TG_SHARED_GIVEN_UP);
	tg_shared_close(shared);

	config = make_config(TG_READ_COMMITTED);
	config.tables = tables;
	config.table_count = 2;
	shared = begin(&config);
	writer.txn = tg_shared_txn(shared);
	unit_ok(tg_shared_hold(shared) == TG_OK && insert(&writer, 13) == TG_OK, "one that it may");
	tg_shared_abandon(sessions[0], shared, TG_SHARED_GIVEN_UP);
	unit_ok(state_of(shared) == TG_SHARED_ABORTED && !is_there(13), "its owner's abort does not wait");
	unit_equal(insert(&writer, 14), TG_STOPPED, "a session that holds it is told");
	tg_shared_let_go(sessions[1], shared);
	unit_ok(state_of(shared) == TG_SHARED_ABORTED && !is_there(14), "and has nothing to do at the end");
	tg_shared_close(shared);

	config = make_config(TG_READ_COMMITTED);
	for (int commits = 0; commits <= 1; commits++)
	{
		config.handle.secret[0] = ++handles;
		shared = begin(&config);
		writer.txn = tg_shared_txn(shared);
		unit_ok(insert(&writer, 15) == TG_OK && tg_shared_prepare(sessions[0], shared) == TG_OK, "going to commit");
		unit_ok(state_of(shared) == TG_SHARED_COMMITTING && tg_shared_hold(shared) == TG_STOPPED,
				"no session joins it");
		unit_equal(tg_shared_validate(sessions[0], shared, &wait), TG_OK, "it may be committed");
		tg_shared_finish(sessions[0], shared, commits != 0);
		unit_ok(is_there(15) == (commits != 0), commits != 0 ? "committed" : "the owner failed");
		tg_shared_close(shared);
	}
}

static tg_status
validate(tg_shared *shared, tg_wait *wait_out)
{
	tg_status status;

	while ((status = tg_shared_validate(sessions[0], shared, wait_out)) == TG_AGAIN)
		;
	return status;
}

/* S1: a commit waits for an outcome outside the lane, and can be given up meanwhile. */
static void
test_wait(void)
{
	enum
	{
		COMMITTED,
		UNDONE,
		GIVEN_UP
	};

	for (int way = COMMITTED; way <= GIVEN_UP; way++)
	{
		tg_shared_config config = make_config(TG_SERIALIZABLE);
		tg_writer writer = {.session = sessions[2], .command = 1, .claim = TG_DATA};
		tg_shared *shared = begin(&config);
		int64_t absent = 500 + way;
		int64_t id = 600 + way;
		tg_wait wait = {0};

		unit_ok(!sees(sessions[0], shared, absent) && put(sessions[0], shared, id) == TG_OK, "one reads and writes");
		writer.txn = tg_txn_begin(sessions[2], 77);
		unit_equal(insert(&writer, absent), TG_OK, "another transaction inserts the absent key");
		(void) tg_txn_prepare(sessions[2], writer.txn, 0);
		unit_equal(tg_shared_prepare(sessions[0], shared), TG_OK, "and is going to commit earlier");
		unit_ok(validate(shared, &wait) == TG_BUSY && wait.host == 77, "its outcome is waited for");
		unit_ok(tg_lane_is_free(tg_shared_lane(shared)) && tg_shared_hold(shared) == TG_STOPPED,
				"outside the lane, and no session joins");
		if (way == GIVEN_UP)
			tg_shared_finish(sessions[0], shared, false);
		if (way == COMMITTED)
			tg_txn_commit(sessions[2], writer.txn);
		else
			tg_txn_abort(sessions[2], writer.txn);
		if (way != GIVEN_UP)
			unit_equal(validate(shared, &wait), way == UNDONE ? TG_OK : TG_CONFLICT, "then it is known");
		if (way == UNDONE)
			tg_shared_finish(sessions[0], shared, true);
		unit_ok(state_of(shared) == (way == UNDONE ? TG_SHARED_STORED : TG_SHARED_ABORTED) &&
					tg_shared_reads(shared) == NULL && is_there(id) == (way == UNDONE),
				"and the commit ends");
		tg_shared_close(shared);
	}
}

static void
test_serializable(void)
{
	tg_shared_config config = make_config(TG_SERIALIZABLE);
	tg_shared *shared = begin(&config);
	tg_shared_report report;
	tg_writer writer;
	tg_txn *txn;

	unit_ok(!sees(sessions[0], shared, 20) && put(sessions[1], shared, 21) == TG_OK, "one reads, another writes");
	unit_ok(sees(sessions[0], shared, 21), "its own is no conflict");
	txn = tg_txn_begin(sessions[2], 1);
	writer = (tg_writer){.session = sessions[2], .txn = txn, .command = 1, .claim = TG_DATA};
	unit_equal(insert(&writer, 20), TG_OK, "another transaction inserts an absent key");
	tg_txn_commit(sessions[2], txn);
	unit_ok(!sees(sessions[1], shared, 20), "the snapshot is the transaction's, in every session");
	unit_equal(tg_shared_commit(sessions[1], shared), TG_CONFLICT, "it cannot be committed");
	tg_shared_report_get(shared, &report);
	unit_ok(report.state == TG_SHARED_ABORTED && report.reason == TG_SHARED_CONFLICTED &&
				report.conflict.kind == TG_CONFLICT_KEY,
			"and it is known why");
	unit_ok(!is_there(21), "nothing of it is left");
	tg_shared_close(shared);

	config = make_config(TG_SERIALIZABLE);
	shared = begin(&config);
	unit_ok(sees(sessions[0], shared, 1), "a snapshot");
	txn = tg_txn_begin(sessions[2], 1);
	writer = (tg_writer){.session = sessions[2], .txn = txn, .command = 1, .claim = TG_DATA};
	unit_equal(insert(&writer, 22), TG_OK, "and a commit after it");
	tg_txn_commit(sessions[2], txn);
	unit_equal(tg_shared_commit(sessions[0], shared), TG_OK, "a transaction that has only read commits");
	tg_shared_close(shared);
}

static void
test_lease(void)
{
	tg_shared_config config = make_config(TG_READ_COMMITTED);
	tg_shared_report report;
	uint64_t begin_us;
	tg_shared *shared;
	tg_shared *other;

	config.lease_ms = 30;
	shared = begin(&config);
	unit_ok(put(sessions[0], shared, 30) == TG_OK && tg_shared_hold(shared) == TG_OK, "a task holds it");
	usleep(40000);
	tg_shared_look_at_leases(sessions[3]);
	unit_equal(state_of(shared), TG_SHARED_RUNNING, "beyond its lease");
	begin_us = tg_clock_us();
	tg_shared_let_go(sessions[0], shared);
	tg_shared_look_at_leases(sessions[3]);
	/* a thread that gets no CPU for so long comes too late */
	unit_ok(state_of(shared) == TG_SHARED_RUNNING || tg_clock_us() - begin_us >= config.lease_ms * 1000,
			"the lease begins anew then");
	usleep(40000);
	tg_shared_look_at_leases(sessions[3]);
	tg_shared_report_get(shared, &report);
	unit_ok(report.state == TG_SHARED_ABORTED && report.reason == TG_SHARED_EXPIRED && !is_there(30),
			"it is over some time");
	tg_shared_close(shared);
	unit_equal(tg_shared_open(&config.handle, ROLE, &other), TG_OK, "the outcome stays for another");
	usleep(40000);
	tg_shared_look_at_leases(sessions[3]);
	tg_shared_close(other);
	unit_equal(tg_shared_open(&config.handle, ROLE, &other), TG_NOT_FOUND, "then it is forgotten");
}

static void
test_many(void)
{
	tg_shared_config configs[TG_SHARED_MAX + 1];
	tg_shared *shared[TG_SHARED_MAX];
	tg_shared_report report;
	unsigned count = 0;
	tg_status status = TG_OK;

	while (status == TG_OK && count <= TG_SHARED_MAX)
	{
		configs[count] = make_config(TG_REPEATABLE_READ);
		configs[count].lease_ms = 0;
		status = tg_shared_begin(sessions[0], &configs[count]);
		if (status == TG_OK && tg_shared_open(&configs[count].handle, ROLE, &shared[count]) == TG_OK)
			count++;
	}
	unit_ok(status == TG_FULL && count > TG_SHARED_MAX / 2, "there is room for %u beside those before", count);
	unit_ok(tg_shared_report_at(0, &report) && !tg_shared_report_at(TG_SHARED_MAX, &report), "views see them");
	for (unsigned i = 0; i < count; i++)
	{
		tg_shared_abort(sessions[1], shared[i], TG_SHARED_ASKED, NULL);
		tg_shared_close(shared[i]);
	}
	unit_equal(tg_shared_begin(sessions[0], &configs[count]), TG_OK, "and again for others, once they have ended");
	unit_equal(tg_shared_open(&configs[count].handle, ROLE, &shared[0]), TG_OK, "one of them");
	tg_shared_abort(sessions[0], shared[0], TG_SHARED_ASKED, NULL);
	tg_shared_close(shared[0]);
}

/* --- by the pool -------------------------------------------------------------------- */

typedef struct load
{
	tg_operation operation;
	tg_shared *shared;
	int64_t id;
} load;

static uint32_t loaded;
static uint32_t refused;

static void
run_load(tg_operation *operation, tg_session *session)
{
	load *one = (load *) operation;
	tg_status status = put(session, one->shared, one->id);

	tg_fetch_add_acq_rel(status == TG_OK ? &loaded : &refused, 1);
}

static bool
comes_to(const uint32_t *a, const uint32_t *b, uint32_t count)
{
	for (int i = 0; i < WAIT_MS; i++)
	{
		if (tg_load_acquire(a) + tg_load_acquire(b) == count)
			return true;
		usleep(1000);
	}
	return false;
}

#define LOADS 200

static load loads[LOADS];

static void
submit_loads(tg_shared *shared, int64_t first)
{
	loaded = refused = 0;
	for (int i = 0; i < LOADS; i++)
	{
		loads[i] = (load){.operation = {.run = run_load}, .shared = shared, .id = first + i};
		if (tg_lane_submit(sessions[0], tg_shared_lane(shared), &loads[i].operation) != TG_OK)
			unit_bail("no lane");
	}
}

static void
test_lane(void)
{
	tg_shared_config config = make_config(TG_READ_COMMITTED);
	tg_shared *shared = begin(&config);
	bool all = true;

	submit_loads(shared, 1000);
	unit_ok(comes_to(&loaded, &refused, LOADS) && refused == 0, "the pool runs operations, one by one");
	while (tg_shared_commit(sessions[1], shared) == TG_BUSY)
		usleep(100);
	for (int i = 0; i < LOADS; i++)
		all &= is_there(1000 + i);
	unit_ok(all, "one transaction");
	tg_shared_close(shared);

	config = make_config(TG_READ_COMMITTED);
	shared = begin(&config);
	submit_loads(shared, 2000);
	tg_shared_abort(sessions[1], shared, TG_SHARED_ASKED, NULL);
	unit_ok(comes_to(&loaded, &refused, LOADS), "an abort beside them: loads that have not begun do nothing");
	for (int i = 0; i < WAIT_MS && state_of(shared) != TG_SHARED_ABORTED; i++)
		usleep(1000);
	unit_equal(state_of(shared), TG_SHARED_ABORTED, "it is aborted");
	all = false;
	for (int i = 0; i < LOADS; i++)
		all |= is_there(2000 + i);
	unit_ok(!all, "nothing is left");
	tg_shared_close(shared);
}

/* --- a process ---------------------------------------------------------------------- */

enum
{
	TAG_BEGIN,
	TAG_PUT,
	TAG_END
};

typedef struct clerk
{
	tg_shared_config config;
	tg_shared *shared;
	bool commits;
	int64_t id;
	sem_t *over;
	tg_status status;
} clerk;

static tg_status
clerk_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	(void) session;
	(void) input_bytes;
	*state_out = *(void *const *) input;
	return TG_OK;
}

static tg_status
clerk_put(tg_session *session, void *data)
{
	clerk *c = data;

	return put(session, c->shared, c->id);
}

static void
clerk_step(void *state, tg_process_step *step)
{
	clerk *c = state;
	tg_status status = TG_OK;

	if (step->event_count == 0)
		status = tg_process_yield(step, TG_COMMAND_TRANSACTION_BEGIN, TAG_BEGIN, &c->config, sizeof(c->config));
	for (unsigned i = 0; i < step->event_count; i++)
	{
		tg_event *event = &step->events[i];

		if (event->error != TG_OK || event->type != TG_EVENT_COMPLETION)
			c->status = event->error;
		if (event->tag == TAG_BEGIN && event->error == TG_OK)
		{
			c->shared = event->data;
			event->data = NULL;
			status =
				tg_process_yield(step, TG_COMMAND_LANE, TAG_PUT,
								 &(tg_lane_command){.lane = tg_shared_lane(c->shared), .run = clerk_put, .data = c},
								 sizeof(tg_lane_command));
			if (status == TG_OK)
				status = tg_process_yield(
					step, c->commits ? TG_COMMAND_TRANSACTION_COMMIT : TG_COMMAND_TRANSACTION_ABORT, TAG_END,
					&(tg_transaction_command){.transaction = c->shared}, sizeof(tg_transaction_command));
		}
		if (event->tag == TAG_END || event->error != TG_OK)
			step->status = TG_STEP_COMPLETE;
	}
	if (status != TG_OK)
		step->status = TG_STEP_COMPLETE;
}

static void
clerk_close(tg_session *session, void *state)
{
	clerk *c = state;

	(void) session;
	if (c->shared != NULL)
		tg_shared_close(c->shared);
	sem_post(c->over);
}

static void
test_process(void)
{
	static const tg_entry entries[] = {
		{.method = "write", .init = clerk_init, .step = clerk_step, .close = clerk_close}};
	static const tg_application application = {.name = "clerk", .entries = entries, .entry_count = 1};
	sem_t over;

	sem_init(&over, 0, 0);
	if (tg_application_register(&application) != TG_OK)
		unit_bail("no application");
	for (int commits = 1; commits >= 0; commits--)
	{
		clerk c = {.config = make_config(TG_READ_COMMITTED), .commits = commits, .id = 3000 + commits, .over = &over};
		void *state = &c;
		tg_process_config config = {
			.application = "clerk", .method = "write", .input = &state, .input_bytes = sizeof(state)};
		tg_pid pid;

		unit_equal(tg_process_start(sessions[0], &config, &pid, NULL), TG_OK, "a process");
		sem_wait(&over);
		unit_ok(c.status == TG_OK && is_there(3000 + commits) == (commits != 0), "begins, writes, and %s",
				commits ? "commits" : "aborts");
	}
	sem_destroy(&over);
}

/* --- all at once -------------------------------------------------------------------- */

#define ROUNDS 400

static tg_shared *arena;
static pthread_barrier_t barrier;
static uint32_t commits;
static uint32_t written;

static void
race(unsigned number, void *argument)
{
	tg_session *session = sessions[number];

	(void) argument;
	for (int round = 0; round < ROUNDS; round++)
	{
		tg_shared_config config;

		if (number == 0)
		{
			config = make_config(round % 2 == 0 ? TG_READ_COMMITTED : TG_SERIALIZABLE);
			config.lease_ms = 50;
			arena = begin(&config);
			commits = written = 0;
		}
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < 3; i++)
		{
			tg_status status;

			while ((status = put(session, arena, 10000 + (round * SESSIONS + number) * 3 + i)) == TG_BUSY)
				sched_yield();
			if (status == TG_OK)
				tg_fetch_add_acq_rel(&written, 1);
		}
		if (number == 3 && round % 3 == 0)
			tg_shared_abort(session, arena, TG_SHARED_ASKED, NULL);
		if (number >= 2)
		{
			tg_status status;

			while ((status = tg_shared_commit(session, arena)) == TG_BUSY)
				sched_yield();
			if (status == TG_OK)
				tg_fetch_add_acq_rel(&commits, 1);
		}
		pthread_barrier_wait(&barrier);
		if (number == 0)
		{
			bool committed = state_of(arena) == TG_SHARED_STORED;
			uint32_t there = 0;

			for (int i = 0; i < SESSIONS * 3; i++)
				there += is_there(10000 + round * SESSIONS * 3 + i);
			if (commits > 1 || (commits == 1) != committed || there != (committed ? written : 0))
				unit_ok(false, "round %d: %u commits, %u of %u rows", round, commits, there, written);
			tg_shared_close(arena);
			if (!committed && state_of(arena) != TG_SHARED_ABORTED)
				unit_ok(false, "round %d: it has not ended", round);
			tg_shared_look_at_leases(session);
		}
		pthread_barrier_wait(&barrier);
	}
}

/* Now and then a thread loses its turn. */
static bool
stumble(const char *name)
{
	static __thread uint32_t random;

	random = random * 1664525 + 1013904223 + (uint32_t) (uintptr_t) &random;
	if (name[0] == 's' && random >> 28 == 0)
		sched_yield();
	return false;
}

/* --- waiting for the end ------------------------------------------------------------ */

#define WAKE_ROUNDS 300

static tg_wait awaited; /* of the round */
static uint32_t round_begun;
static uint32_t round_done;
static uint32_t wakes_lost;

/* One ends a transaction while the other is about to wait for that. */
static void
wait_and_end(unsigned number, void *argument)
{
	for (uint32_t round = 1; round <= WAKE_ROUNDS; round++)
	{
		tg_txn_report report;

		if (number == 0)
		{
			tg_shared_config config = make_config(TG_READ_COMMITTED);
			tg_shared_report of_it;
			tg_shared *shared;

			config.lease_ms = 20; /* so that places come back */
			shared = begin(&config);

			tg_shared_report_get(shared, &of_it);
			awaited = (tg_wait){.host = of_it.host, .txn = of_it.txn, .kind = TG_WAIT_OUTCOME};
			tg_store_release(&round_begun, round);
			if (round % 2 == 0 || tg_shared_commit(sessions[0], shared) != TG_OK)
				tg_shared_abort(sessions[0], shared, TG_SHARED_ASKED, NULL);
			tg_shared_close(shared);
			while (tg_load_acquire(&round_done) < round)
				usleep(1);
			continue;
		}
		while (tg_load_acquire(&round_begun) < round)
			;
		waiter.woken = false;
		tg_shared_wait_begin(sessions[1], &awaited, &waiter);
		while (tg_txn_report_get(awaited.txn, &report) && report.host == awaited.host)
			if (!wait_for_wake())
				tg_fetch_add_relaxed(&wakes_lost, 1);
		tg_shared_wait_end(sessions[1]);
		tg_store_release(&round_done, round);
	}
}

static void
test_waiting(void)
{
	tg_host_wake = wake_waiter;
	unit_threads(2, wait_and_end, NULL);
	unit_equal(wakes_lost, 0, "no end is slept through");
}

int
main(void)
{
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

	if (tg_runtime_open(2, &sessions[0]) != TG_OK)
		unit_bail("no runtime");
	for (int i = 1; i < SESSIONS; i++)
		if (tg_session_open(&sessions[i]) != TG_OK)
			unit_bail("no session");
	if (tg_table_create(sessions[0], 1, 2, kinds, 2, &key, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	test_ranks();
	test_several();
	test_ends();
	test_owned();
	test_wait();
	test_serializable();
	test_lease();
	test_many();
	test_lane();
	test_process();
	test_waiting();
	pthread_barrier_init(&barrier, NULL, SESSIONS);
	tg_failpoint_set(stumble);
	unit_threads(SESSIONS, race, NULL);
	tg_failpoint_set(NULL);
	unit_ok(true, "all at once");
	for (int i = 1; i < SESSIONS; i++)
		tg_runtime_session_end(sessions[i]);
	unit_ok(tg_runtime_close(sessions[0]), "the pool stops");
	return unit_done();
}
