/*
 * scan_job.c
 *	  Scan jobs that do not run smoothly: consumers that leave at any moment, starts that fail at
 *	  any step, a pool that stops; tables whose chunks have different layouts.  In every case a job
 *	  has given its memory back in the end.  (scan.c tests which rows jobs see.)
 *
 * With arguments it measures instead: scan_job ROWS TASKS.
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/table/lease.h"
#include "test/unit/unit.h"
#include "test/unit/waiter.h"

#define WORKERS 3
#define ROWS 20000

static tg_session *session; /* the consumer's: this thread's */

static double
now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

/* --- a table of numbers ------------------------------------------------------------------ */

static const uint8_t kinds[] = {TG_KIND_8, TG_KIND_4};
static const uint16_t columns[] = {0, 1};
static const tg_key_spec no_key = {.part_count = 0};

static tg_table *table;

/* Rows [first, end): the number, and its double if the newest layout has two columns. */
static void
insert_rows(uint64_t first, uint64_t end)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(session, &entry);
	tg_txn *txn = tg_txn_begin(session, 1);
	const tg_writer writer = {.session = session, .txn = txn, .command = 1, .claim = TG_DATA};

	(void) time;
	for (uint64_t number = first; number < end; number++)
	{
		const tg_value values[] = {{.word = number}, {.word = (uint64_t) (int64_t) (int32_t) (2 * number)}};
		const bool nulls[] = {false, false};
		uint32_t row;
		tg_wait wait;

		tg_check(tg_txn_insert(&writer, table, NULL, 0, values, nulls, &row, &wait) == TG_OK);
	}
	tg_txn_commit(session, txn);
	tg_snapshot_withdraw(session, entry);
}

static void
make_table(unsigned column_count)
{
	tg_table *old;

	tg_check(tg_table_create(session, 1, 2, kinds, column_count, &no_key, TG_DATA, &table) == TG_OK);
	tg_check(tg_catalog_put(session, 1, 2, table, &old) == TG_OK && old == NULL);
}

static bool
no_headers(void)
{
	bool none = true;

	tg_epoch_enter(session);
	for (uint32_t i = 0; i < tg_table_chunk_count(table); i++)
		none = none && tg_chunk_headers(tg_table_chunk(table, i)) == NULL;
	tg_epoch_leave(session);
	return none;
}

static bool
garbage_is_gone(void)
{
	tg_collector_report report;

	tg_collector_report_get(&report);
	return report.logs_waiting == 0;
}

static void
drop_table(void)
{
	tg_leases_end(session);
	tg_check(holds_in_time(session, garbage_is_gone));
	tg_check(tg_catalog_take(session, 1, 2) == table);
	tg_table_release(session, table);
}

/* --- jobs -------------------------------------------------------------------------------- */

static tg_arena_report bytes_before;

static bool
job_bytes_are_back(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB] == bytes_before.used_by[TG_USE_JOB];
}

static bool
bytes_are_back(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	report.used_by[TG_USE_RUNTIME] = bytes_before.used_by[TG_USE_RUNTIME]; /* what sessions keep */
	return memcmp(report.used_by, bytes_before.used_by, sizeof(report.used_by)) == 0;
}

/* No job is left that runs, and the entries of the horizon are free again. */
static bool
horizon_is_free(void)
{
	return tg_horizon_compute() == tg_load_acquire(tg_clock);
}

static tg_status
start(tg_time time, unsigned tasks, unsigned buffer_rows, unsigned column_count, tg_scan_job **scan_out)
{
	const tg_scan_job_config config = {.table = table,
									   .snapshot = {.time = time, .txn = session->id, .command = 1},
									   .columns = columns,
									   .kinds = kinds,
									   .column_count = column_count,
									   .tasks = tasks,
									   .buffer_rows = buffer_rows,
									   .waiter = &waiter};

	return tg_scan_job_start(session, &config, scan_out);
}

typedef struct result
{
	uint64_t count;
	uint64_t sum;	  /* of the numbers */
	uint64_t doubles; /* rows with a second column, with the right value */
	uint64_t absent;  /* rows with NULL in the second column */
	tg_status status;
} result;

static void
add_rows(result *sum, const tg_vectors *vectors)
{
	const uint64_t *numbers = vectors->column_count > 0 ? vectors->data[0] : NULL;

	sum->count += vectors->count;
	for (unsigned i = 0; numbers != NULL && i < vectors->count; i++)
		sum->sum += numbers[i];
	for (unsigned i = 0; vectors->column_count > 1 && i < vectors->count; i++)
	{
		sum->absent += vectors->nulls[1][i];
		sum->doubles += !vectors->nulls[1][i] && ((uint64_t *) vectors->data[1])[i] == 2 * numbers[i];
	}
}

/* Takes up to so many buffers (0: all). */
static result
take_rows(tg_scan_job *scan, unsigned buffers)
{
	const tg_vectors *vectors;
	result sum = {0};

	for (unsigned taken = 0; buffers == 0 || taken < buffers;)
	{
		sum.status = tg_scan_job_next(session, scan, &vectors);
		if (sum.status == TG_BUSY && wait_for_wake())
			continue;
		if (sum.status != TG_OK)
			break;
		add_rows(&sum, vectors);
		taken++;
	}
	return sum;
}

static result
scan_all(unsigned tasks, unsigned buffer_rows, unsigned column_count)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(session, &entry);
	tg_scan_job *scan;
	result sum = {0};

	sum.status = start(time, tasks, buffer_rows, column_count, &scan);
	if (sum.status == TG_OK)
	{
		sum = take_rows(scan, 0);
		tg_scan_job_end(session, scan);
	}
	tg_snapshot_withdraw(session, entry);
	return sum;
}

/* --- checks --------------------------------------------------------------------------- */

static void
check_small_tables(void)
{
	const uint64_t counts[] = {0, 1, 17, 100, 1000};

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
	{
		result sum;

		make_table(1);
		insert_rows(0, counts[i]);
		sum = scan_all(4, 0, 1);
		unit_ok(sum.status == TG_NOT_FOUND && sum.count == counts[i] &&
					sum.sum == counts[i] * (counts[i] > 0 ? counts[i] - 1 : 0) / 2,
				"a table of %" PRIu64 " rows", counts[i]);
		sum = scan_all(2, 10, 0);
		unit_ok(sum.status == TG_NOT_FOUND && sum.count == counts[i], "%" PRIu64 " rows, no column", counts[i]);
		drop_table();
		unit_ok(holds_in_time(session, bytes_are_back), "%" PRIu64 " rows: nothing is left", counts[i]);
	}
}

/* Rows stored before a column was added read as NULL there. */
static void
check_added_column(void)
{
	tg_vectors *vectors;
	tg_chunk_scan in_place;
	tg_snapshot snapshot = {.txn = session->id, .command = 1};
	unsigned entry;
	result sum;

	make_table(1);
	insert_rows(0, 3000);
	tg_check(tg_table_layout_add(session, table, kinds, 2) == TG_OK);
	insert_rows(3000, 5000);
	sum = scan_all(2, 0, 2);
	unit_ok(sum.status == TG_NOT_FOUND && sum.count == 5000 && sum.absent == 3000 && sum.doubles == 2000,
			"an added column: NULL in older rows, by a job");

	sum = (result){0};
	snapshot.time = tg_snapshot_publish(session, &entry);
	vectors = tg_vectors_init(aligned_alloc(64, (tg_vectors_bytes(kinds, 2, 700) + 63) & ~(size_t) 63), columns, kinds,
							  2, 700);
	tg_chunk_scan_init(&in_place, table, &snapshot, 0, UINT32_MAX);
	while (tg_chunk_scan_next(session, &in_place, vectors) > 0)
		add_rows(&sum, vectors);
	tg_snapshot_withdraw(session, entry);
	free(vectors);
	unit_ok(sum.count == 5000 && sum.absent == 3000 && sum.doubles == 2000, "the same in place");
	drop_table();
	unit_ok(holds_in_time(session, bytes_are_back), "an added column: nothing is left");
}

/* The consumer leaves after any number of buffers, at once for one, or pausing until tasks park. */
static void
check_early_end(void)
{
	bool clean = true;
	bool right = true;

	for (unsigned round = 0; round < 400 && clean; round++)
	{
		unsigned entry;
		tg_time time = tg_snapshot_publish(session, &entry);
		tg_scan_job *scan;

		tg_check(start(time, 1 + round % 4, 64, 1, &scan) == TG_OK);
		if (round % 3 == 0)
			usleep(round);
		if (round % 8 != 0)
			right = take_rows(scan, round % 30 + 1).count == (round % 30 + 1) * 64 && right;
		if (round % 5 == 0)
			usleep(round);
		tg_scan_job_end(session, scan);
		tg_snapshot_withdraw(session, entry);
		clean = holds_in_time(session, job_bytes_are_back) && holds_in_time(session, horizon_is_free);
	}
	unit_ok(right, "ended early: the rows before it are there");
	unit_ok(clean, "ended early: nothing is left");
}

/* The table is dropped while its scan goes on. */
static void
check_drop(void)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(session, &entry);
	tg_scan_job *scan;
	result sum;

	tg_check(start(time, 2, 64, 1, &scan) == TG_OK);
	drop_table();
	sum = take_rows(scan, 0);
	unit_ok(sum.status == TG_NOT_FOUND && sum.count == ROWS, "a dropped table can be read to the end");
	tg_scan_job_end(session, scan);
	tg_snapshot_withdraw(session, entry);
	unit_ok(holds_in_time(session, bytes_are_back), "and goes with its last reader");
}

static bool
has_catalog_reference_alone(void)
{
	return tg_load_acquire(&table->references) == 1;
}

static void
check_failed_starts(void)
{
	unsigned snapshots[TG_SNAPSHOTS_OF_JOBS];
	tg_job *jobs[TG_JOB_MAX];
	const tg_job_config idle = {.kind = "idle"};
	unsigned snapshot_count = 0;
	unsigned job_count = 0;
	unsigned entry;
	tg_time time;
	tg_arena_report report;
	tg_scan_job *scan;

	tg_check(holds_in_time(session, garbage_is_gone));
	time = tg_snapshot_publish(session, &entry);
	while (snapshot_count < TG_SNAPSHOTS_OF_JOBS &&
		   tg_snapshot_publish_job(time, false, &snapshots[snapshot_count]) == TG_OK)
		snapshot_count++;
	unit_ok(start(time, 2, 0, 1, &scan) == TG_FULL && job_bytes_are_back(), "no entry in the horizon: TG_FULL");
	while (snapshot_count > 0)
		tg_snapshot_withdraw_job(snapshots[--snapshot_count]);

	while (job_count < TG_JOB_MAX && tg_job_create(session, &idle, &jobs[job_count]) == TG_OK)
		job_count++;
	unit_ok(start(time, 2, 0, 1, &scan) == TG_FULL && job_bytes_are_back(), "no place in the registry: TG_FULL");
	while (job_count > 0)
		tg_job_release(session, jobs[--job_count]);

	tg_arena_report_get(&report);
	tg_arena_limit_set(TG_PAGE_BYTES);
	tg_alloc_flush(session);
	unit_ok(start(time, 2, 0, 1, &scan) == TG_NO_MEMORY && job_bytes_are_back(), "no memory: TG_NO_MEMORY");
	tg_arena_limit_set(report.limit);

	unit_ok(holds_in_time(session, has_catalog_reference_alone), "failed starts hold no table");
	tg_snapshot_withdraw(session, entry);
	insert_rows(ROWS, ROWS + 1); /* the clock goes on: what was left behind would show */
	unit_ok(horizon_is_free(), "nor a snapshot");
	unit_ok(scan_all(2, 0, 1).count == ROWS + 1, "and the next one starts");
}

static bool stopped_well; /* by stop_pool, read after it was joined */

static void *
stop_pool(void *argument)
{
	usleep(*(const unsigned *) argument);
	stopped_well = tg_scheduler_stop(10000);
	return NULL;
}

/* The pool stops, and so cancels the job, at any moment while the consumer takes and waits. */
static void
check_cancel(void)
{
	bool ended = true;
	bool stopped = true;
	bool clean = true;

	for (unsigned round = 0; round < 60 && clean; round++)
	{
		unsigned pause_us = round * 20;
		unsigned entry;
		tg_time time = tg_snapshot_publish(session, &entry);
		pthread_t thread;
		tg_scan_job *scan;
		tg_status status;

		tg_check(start(time, 4, round % 2 == 0 ? 1 : 64, 1, &scan) == TG_OK);
		tg_check(pthread_create(&thread, NULL, stop_pool, &pause_us) == 0);
		status = take_rows(scan, 0).status;
		ended = ended && (status == TG_CANCELLED || status == TG_STOPPED || status == TG_NOT_FOUND);
		tg_scan_job_end(session, scan);
		pthread_join(thread, NULL);
		stopped = stopped && stopped_well;
		tg_snapshot_withdraw(session, entry);
		clean = holds_in_time(session, job_bytes_are_back);
		tg_check(tg_scheduler_start() == TG_OK);
	}
	unit_ok(ended && stopped, "cancelled at any moment: consumer and pool come to an end");
	unit_ok(clean, "cancelled at any moment: nothing is left");
}

static bool
all_workers_sleep(void)
{
	for (unsigned i = 0; i < tg_worker_count(); i++)
	{
		tg_worker_report report;

		tg_worker_report_get(i, &report);
		if (report.state != TG_WORKER_SUSPENDED)
			return false;
	}
	return true;
}

/* A cursor is half read, so all tasks are parked; only the stop of the pool can let them go. */
static void
check_stop(void)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(session, &entry);
	tg_scan_job *scan;
	tg_scan_job *late;
	tg_status status;
	double took;

	tg_check(start(time, 2, 64, 1, &scan) == TG_OK);
	tg_check(take_rows(scan, 3).count == 3 * 64 && holds_in_time(session, all_workers_sleep));
	took = now(CLOCK_MONOTONIC);
	unit_ok(tg_runtime_stop(2 * WAIT_SECONDS * 1000), "the pool stops with all tasks of a scan parked");
	took = now(CLOCK_MONOTONIC) - took;
	unit_ok(took < WAIT_SECONDS, "at once: %.3f s", took);
	status = take_rows(scan, 0).status;
	unit_ok(status == TG_CANCELLED, "the consumer learns it (%d)", (int) status);
	tg_scan_job_end(session, scan);
	unit_ok(start(time, 2, 64, 1, &late) == TG_STOPPED, "no start without a pool");
	tg_snapshot_withdraw(session, entry);
}

/* --- figures --------------------------------------------------------------------------- */

static void
measure_in_place(uint64_t rows, const char *what)
{
	tg_snapshot snapshot = {.txn = session->id, .command = 1};
	tg_vectors *vectors;
	tg_chunk_scan scan;
	unsigned entry;
	result sum;
	double took;

	vectors = tg_vectors_init(aligned_alloc(64, (tg_vectors_bytes(kinds, 1, 1024) + 63) & ~(size_t) 63), columns, kinds,
							  1, 1024);
	for (unsigned i = 0; i < 3; i++)
	{
		sum = (result){0};
		snapshot.time = tg_snapshot_publish(session, &entry);
		took = now(CLOCK_THREAD_CPUTIME_ID);
		tg_chunk_scan_init(&scan, table, &snapshot, 0, UINT32_MAX);
		while (tg_chunk_scan_next(session, &scan, vectors) > 0)
			add_rows(&sum, vectors);
		took = now(CLOCK_THREAD_CPUTIME_ID) - took;
		tg_snapshot_withdraw(session, entry);
		printf("# %s, in place: %.2f ns of CPU time a row\n", what, took * 1e9 / (double) rows);
	}
	free(vectors);
}

static void
measure_job(unsigned tasks, const char *what)
{
	for (unsigned i = 0; i < 3; i++)
	{
		double took = now(CLOCK_MONOTONIC);
		result sum = scan_all(tasks, 0, 1);

		took = now(CLOCK_MONOTONIC) - took;
		printf("# %s, %u tasks: %.1f M rows/s\n", what, tasks, (double) sum.count / took / 1e6);
	}
}

static int
measure(uint64_t rows, unsigned tasks)
{
	make_table(1);
	insert_rows(0, rows);
	measure_in_place(rows, "headers");
	measure_job(tasks, "headers");
	tg_leases_end(session);
	tg_check(holds_in_time(session, no_headers));
	measure_in_place(rows, "settled");
	measure_job(tasks, "settled");
	return 0;
}

int
main(int argument_count, char **arguments)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 4 << 30, .limit_bytes = (size_t) 3 << 30, .session_max = 16},
		.worker_max = WORKERS};
	const tg_scheduler_settings settings = {.workers = argument_count > 2 ? (unsigned) atoi(arguments[2]) : WORKERS,
											.stealing = true,
											.worker_suspend_ms = 1000,
											.watcher_interval_us = 1000,
											.hang_ms = 5000};

	tg_host_wake = wake_waiter;
	tg_check(tg_runtime_map(&config.arena) == TG_OK);
	tg_check(tg_runtime_create(&config) == TG_OK);
	tg_check(tg_runtime_start(&settings) == TG_OK);
	tg_check(tg_session_open(&session) == TG_OK);
	if (argument_count > 2)
		return measure((uint64_t) atoll(arguments[1]), (unsigned) atoi(arguments[2]));

	tg_arena_report_get(&bytes_before);
	check_small_tables();
	check_added_column();
	make_table(1);
	insert_rows(0, ROWS);
	check_drop();
	make_table(1);
	insert_rows(0, ROWS);
	tg_check(holds_in_time(session, garbage_is_gone));
	tg_arena_report_get(&bytes_before);
	check_early_end();
	check_cancel();
	check_failed_starts();
	check_stop();
	return unit_done();
}
