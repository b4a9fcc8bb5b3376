/*
 * relocate_race.c
 *	  Rows change their places all the time, beside all other work on them.
 *
 * Writers pass amounts from row to row, at SERIALIZABLE, and now and then delete a row and insert
 * it again; readers add all amounts up, by chunks, by the key's range and row by row; two movers
 * take turns at copying settled versions to other slots; a collector takes the old versions away;
 * an index comes and goes.  The sum never changes, each row is met once, and no transaction is
 * refused because of a copy: one that only touches a row of its own, which is copied again and
 * again, never fails.
 */
#include "test/unit/random.h"
#include "test/unit/serializable.h"

#include "test/unit/gate.h"

#include "runtime/reclaim/compact.h"

#define ROWS KEYS
#define AMOUNT 1000
#define WRITERS 2

static uint32_t stop;
static uint32_t copying; /* one at a time */
static uint64_t copied, passed, looked, own_failed, wrong;
static unsigned rounds = 1500;

static bool
stumble(const char *name)
{
	gate_stumble();
	return false;
}

/* --- copying ------------------------------------------------------------------------ */

/* A settled version, of the row or of none. */
static tg_version
settled_version(tg_session *session, int64_t id, tg_time horizon)
{
	unsigned char key[16];
	uint32_t row;
	tg_version version;
	tg_header *headers;

	if (tg_btree_find(table->index, key, key_of(id, key), &row) != TG_OK)
		return TG_VERSION_NONE;
	version = tg_load_acquire(tg_row_head(table, row));
	if (tg_head_is_closed(version) || version == TG_VERSION_NONE ||
		tg_chunk_headers_write(session, tg_version_chunk(version), TG_DATA, &headers) != TG_OK)
		return TG_VERSION_NONE;
	headers += tg_version_slot(version);
	return tg_load_acquire(&headers->begin) <= horizon && tg_load_acquire(&headers->end) == TG_TIME_NEVER &&
				   tg_load_acquire(&headers->older) == TG_VERSION_NONE
			   ? version
			   : TG_VERSION_NONE;
}

static void
copy_some(tg_session *session, uint64_t *random)
{
	tg_time horizon = tg_horizon_compute();
	tg_copy copies[4];
	unsigned count = 0;

	if (tg_exchange_acq_rel(&copying, 1) != 0)
		return;
	tg_epoch_enter(session);
	for (int64_t id = unit_below(random, ROWS); id < ROWS && count < 4; id += 1 + unit_below(random, 5))
	{
		copies[count].from = settled_version(session, id, horizon);
		if (copies[count].from == TG_VERSION_NONE)
			continue;
		if (tg_slot_take(session, table, TG_DATA, &copies[count].to) != TG_OK)
			break;
		tg_version_copy(session, copies[count].to, copies[count].from);
		count++;
	}
	if (count > 0)
		tg_fetch_add_relaxed(&copied, tg_relocate(session, table, copies, count));
	tg_epoch_leave(session);
	tg_store_release(&copying, 0);
}

static void *
mover(void *argument)
{
	uint64_t random = (uint64_t) (uintptr_t) argument;
	client c;

	client_open(&c);
	while (!tg_load_acquire(&stop))
	{
		copy_some(c.session, &random);
		sched_yield();
	}
	client_close(&c);
	return NULL;
}

static void *
collector(void *argument)
{
	client c;

	client_open(&c);
	while (!tg_load_acquire(&stop))
	{
		tg_epoch_advance();
		(void) tg_collector_run(c.session, 100);
		sched_yield();
	}
	client_close(&c);
	return NULL;
}

/* --- writing -------------------------------------------------------------------------- */

/* From one row to another; ABSENT counts as none. */
static bool
pass(client *c, uint64_t *random)
{
	int64_t from = 1 + unit_below(random, ROWS - 1);
	int64_t to = 1 + (from + unit_below(random, ROWS - 2)) % (ROWS - 1);
	int64_t had = get(c, from);
	int64_t has = get(c, to);
	int64_t old;
	tg_status status;

	if (from == to || had <= 0)
		return true;
	if (unit_below(random, 4) == 0) /* all of it: the row goes */
	{
		if (set(c, from, ABSENT, &old) != TG_OK)
			return false;
		next_command(c);
		status = has == ABSENT ? put(c, to, had) : set(c, to, has + had, &old);
	}
	else
	{
		if (set(c, from, had - 1, &old) != TG_OK)
			return false;
		next_command(c);
		status = has == ABSENT ? put(c, to, 1) : set(c, to, has + 1, &old);
	}
	return status == TG_OK;
}

static void *
writer(void *argument)
{
	uint64_t random = (uint64_t) (uintptr_t) argument;
	client c;

	client_open(&c);
	for (unsigned i = 0; i < rounds; i++)
	{
		bool good;

		begin(&c);
		good = pass(&c, &random);
		if (good && tg_txn_has_writes(c.txn))
			good = prepare(&c) != 0;
		end(&c, good);
		if (good)
			tg_fetch_add_relaxed(&passed, 1);
	}
	client_close(&c);
	return NULL;
}

/*
 * No other session uses row 0.  A transaction that reads and writes only this row is never refused.
 */
static void *
owner(void *argument)
{
	client c;

	client_open(&c);
	for (unsigned i = 0; i < rounds; i++)
	{
		int64_t old;
		bool good;

		begin(&c);
		(void) get(&c, 0);
		sched_yield();
		good = i % 3 == 0 ? set(&c, 0, AMOUNT, &old) == TG_OK && old == AMOUNT : get(&c, 0) == AMOUNT;
		if (tg_txn_has_writes(c.txn))
			good = prepare(&c) != 0 && good;
		end(&c, good);
		if (!good)
			tg_fetch_add_relaxed(&own_failed, 1);
	}
	client_close(&c);
	return NULL;
}

/* --- reading ------------------------------------------------------------------------------ */

static int64_t
sum_of(const int64_t *amounts)
{
	int64_t sum = 0;

	for (int64_t id = 0; id < ROWS; id++)
		sum += amounts[id] == ABSENT ? 0 : amounts[id];
	return sum;
}

static int64_t
sum_by_chunks(client *c)
{
	tg_chunk_scan scan;
	int64_t sum = 0;
	unsigned count;

	tg_chunk_scan_init(&scan, table, &c->snapshot, 0, UINT32_MAX);
	while ((count = tg_chunk_scan_next(c->session, &scan, c->vectors)) > 0 || scan.busy)
	{
		for (unsigned i = 0; i < count; i++)
			sum += ((int64_t *) c->vectors->data[1])[i];
		if (scan.busy)
			sched_yield();
	}
	return sum;
}

static void *
reader(void *argument)
{
	client c;

	client_open(&c);
	while (!tg_load_acquire(&stop))
	{
		int64_t amounts[KEYS];
		int64_t sums[3];

		begin(&c);
		sums[0] = sum_by_chunks(&c);
		for (int64_t id = 0; id < ROWS; id++)
			amounts[id] = get(&c, id);
		sums[1] = sum_of(amounts);
		(void) get_range(&c, 0, ROWS, 100, amounts);
		sums[2] = sum_of(amounts);
		end(&c, false);
		for (unsigned i = 0; i < 3; i++)
			if (sums[i] != ROWS * AMOUNT)
				tg_fetch_add_relaxed(&wrong, 1);
		tg_fetch_add_relaxed(&looked, 1);
	}
	client_close(&c);
	return NULL;
}

/* --- indexes ---------------------------------------------------------------------------------- */

/* An index on the amounts comes and goes: what is copied meanwhile, is not. */
static void *
indexer(void *argument)
{
	const tg_index_spec spec = {.host = 9, .key = {.part_count = 1, .part = {{.column = 1, .code = TG_KEY_SIGNED}}}};
	client c;

	client_open(&c);
	while (!tg_load_acquire(&stop))
	{
		tg_index *index;

		if (tg_index_create(c.session, table, &spec, TG_DATA, &index) != TG_OK)
			unit_bail("no index");
		tg_index_drop(c.session, index);
		usleep(2000);
	}
	client_close(&c);
	return NULL;
}

int
main(void)
{
	pthread_t threads[WRITERS + 7];
	unsigned count = 0;
	client c;
	int64_t amounts[KEYS];

	start();
	client_open(&c);
	begin(&c);
	for (int64_t id = 0; id < ROWS; id++)
		(void) !put(&c, id, AMOUNT);
	end(&c, true);
	collect_all(c.session);
	tg_failpoint_set(stumble);
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[count++], NULL, writer, (void *) (i + 1));
	pthread_create(&threads[count++], NULL, owner, NULL);
	pthread_create(&threads[count++], NULL, mover, (void *) 11);
	pthread_create(&threads[count++], NULL, mover, (void *) 12);
	pthread_create(&threads[count++], NULL, collector, NULL);
	pthread_create(&threads[count++], NULL, reader, NULL);
	pthread_create(&threads[count++], NULL, reader, NULL);
	pthread_create(&threads[count++], NULL, indexer, NULL);
	for (unsigned i = 0; i <= WRITERS; i++)
		pthread_join(threads[i], NULL);
	tg_store_release(&stop, 1);
	for (unsigned i = WRITERS + 1; i < count; i++)
		pthread_join(threads[i], NULL);
	tg_failpoint_set(NULL);
	unit_equal(wrong, 0, "%" PRIu64 " times all amounts were added up, in three ways: the sum is the same", looked);
	unit_equal(own_failed, 0, "a transaction that reads and writes a row of its own is never refused");
	unit_ok(passed > 0 && copied > 0, "%" PRIu64 " amounts passed on, %" PRIu64 " versions copied", passed, copied);
	collect_all(c.session);
	begin(&c);
	get_all(&c, amounts);
	unit_equal((uint64_t) sum_of(amounts), ROWS * AMOUNT, "nothing is lost");
	end(&c, false);
	empty(&c);
	{
		tg_arena_report report;

		tg_arena_report_get(&report);
		unit_equal(report.used_by[TG_USE_LOG], 0, "and no log is left");
	}
	client_close(&c);
	return unit_done();
}
