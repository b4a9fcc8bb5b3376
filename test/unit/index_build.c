/*
 * index_build.c
 *	  Indexes built on tables with rows: all at once, one by one, by the pool.
 *
 * Tables of many sizes, with versions that only old snapshots see; afterwards
 * each index must show every snapshot what the table does.  Twins are found,
 * where they are live.  Also while others write, roll back and collect.
 */
#include "runtime/exec/index_build.h"

#include <time.h>

#include "test/unit/indexed.h"

#include "runtime/exec/range_scan.h"

static client a;
static client b;

static void
nap(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	nanosleep(&pause, NULL);
}

static uint64_t job_memory; /* of jobs of builds, at most */
static bool goes_on;		/* builds do, although each job is cancelled */
static unsigned cancelled;

static void
look_at_jobs(void)
{
	for (unsigned i = 0; i < TG_JOB_MAX; i++)
	{
		tg_job_report report;

		if (tg_job_report_get(i, &report) && strcmp(report.kind, "index") == 0 && report.memory > job_memory)
			job_memory = report.memory;
		if (goes_on && tg_job_report_get(i, &report) && report.state == TG_JOB_RUNNING &&
			strcmp(report.kind, "index") == 0)
			cancelled += tg_job_cancel_id(a.session, report.id);
	}
}

/* Runs a build to its end; waits by looking again. */
static tg_status
build(client *c, tg_index *index, bool exclusive, tg_index_build_report *report)
{
	const tg_index_build_config config = {.index = index, .exclusive = exclusive, .goes_on = goes_on};
	tg_index_build *running;
	tg_status status = fill_index(c, index, exclusive);

	if (status != TG_OK)
		return status;
	status = tg_index_build_begin(c->session, &config, &running);
	while (status == TG_OK || status == TG_AGAIN || status == TG_BUSY)
	{
		status = tg_index_build_step(c->session, running, report);
		look_at_jobs();
		if (status == TG_OK)
			break;
		if (status == TG_BUSY)
			nap();
	}
	tg_index_build_end(c->session, running);
	return status;
}

static tg_status
make_and_build(client *c, unsigned which, bool exclusive)
{
	tg_index_build_report report;
	tg_status status = build(c, make_index(c->session, which), exclusive, &report);

	if (status != TG_OK)
		tg_index_drop(c->session, indexes[which]);
	return status;
}

static void
build_all(client *c, bool exclusive, const char *name)
{
	for (unsigned which = 0; which < INDEXES; which++)
		unit_equal(make_and_build(c, which, exclusive), TG_OK, "%s: index %u is built", name, which);
}

static bool
all_are_right(client *c)
{
	return index_is_right(c, BY_NUMBER) && index_is_right(c, BY_TEXT) && index_is_right(c, BY_FLAGGED);
}

/* --- rows --------------------------------------------------------------------------- */

static void
fill(client *c, unsigned rows)
{
	begin(c);
	for (unsigned i = 0; i < rows; i++)
	{
		if (put(c, i, i % 11 == 0 ? NOTHING : (int) (i * 7919 % 100003), i % 13 == 0 ? NOTHING : (int) i, i % 3 == 0) !=
			TG_OK)
			unit_bail("no row");
	}
	end(c, true);
}

static void
test_sizes(bool exclusive)
{
	static const unsigned sizes[] = {0, 1, 15, 17, 700};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		char name[40];

		snprintf(name, sizeof(name), "%s, %u rows", exclusive ? "at once" : "one by one", sizes[i]);
		fresh_table(a.session, false);
		fill(&a, sizes[i]);
		build_all(&a, exclusive, name);
		check_exact(&a, name);
	}
}

/*
 * Entries of equal length, many of one key, in their rows' order or not: runs are sorted by these.
 */
static void
test_orders(void)
{
	fresh_table(a.session, false);
	begin(&a);
	for (int id = 0; id < 700; id++)
		(void) !put(&a, id, id * 7919 % 40, 10000 + id, false);
	end(&a, true);
	build_all(&a, true, "in the rows' order");
	check_exact(&a, "in the rows' order");
	for (unsigned which = 0; which < INDEXES; which++)
		tg_index_drop(a.session, indexes[which]);
	begin(&a);
	for (int id = 600; id > 0; id -= 3)
		(void) !change(&a, id, id, id % 40, 10000 + id, 0);
	end(&a, true);
	build_all(&a, true, "in another one");
	check_exact(&a, "in another one");
}

/* Versions that only b sees, dead rows, own ones. */
static void
test_versions(bool exclusive)
{
	fresh_table(a.session, false);
	fill(&a, 300);
	begin(&b);
	begin(&a);
	for (int64_t id = 0; id < 300; id++)
	{
		if (id % 3 == 0)
			(void) !drop(&a, id);
		else if (id % 3 == 1)
			(void) !change(&a, id, id, (int) id + 1000000, (int) id + 1000, 0);
	}
	end(&a, true);
	begin(&a);
	if (exclusive)
	{
		for (int64_t id = 1000; id < 1050; id++)
			(void) !put(&a, id, (int) id, (int) id + 5000, true);
		for (int64_t id = 1; id < 50; id += 3)
			(void) !drop(&a, id);
		next_command(&a);
	}
	build_all(&a, exclusive, "old versions");
	unit_ok(all_are_right(&a), "the builder sees what is there");
	unit_ok(all_are_right(&b), "an old snapshot what was");
	end(&a, false);
	unit_ok(all_are_right(&b), "also after a rollback");
	end(&b, false);
	check_exact(&a, "old versions");
}

static void
test_twins(bool exclusive)
{
	tg_index_build_report report;

	fresh_table(a.session, false);
	fill(&a, 100);
	begin(&a);
	(void) !put(&a, 500, 3, 77, false);
	end(&a, true);
	unit_equal(build(&a, make_index(a.session, BY_TEXT), exclusive, &report), TG_EXISTS, "twins are found");
	unit_ok(report.rows[0] != report.rows[1], "two rows are named");
	tg_epoch_enter(a.session);
	unit_equal(tg_version_row(report.twin), report.rows[1], "and a version of one");
	tg_epoch_leave(a.session);
	tg_index_drop(a.session, indexes[BY_TEXT]);
	begin(&b);
	begin(&a);
	(void) !change(&a, 77, 77, SAME, 12345, SAME);
	end(&a, true);
	build_all(&a, exclusive, "twins no more");
	unit_ok(all_are_right(&b), "a snapshot that sees both finds both");
	end(&b, false);
	check_exact(&a, "twins no more");
}

/* Keys that are too long for an entry, and builds that do not get their memory. */
static void
test_limits(void)
{
	static char memory[TG_KEY_BYTES_MAX];
	tg_value values[COLUMNS] = {{.word = 700}, {.word = 1}, {.word = 0}, {.word = 0}};
	bool nulls[COLUMNS] = {false};
	unsigned char key[16];
	unsigned refused = 0;
	uint32_t row;

	fresh_table(a.session, false);
	fill(&a, 900);
	for (size_t room = 0; room < 100; room++)
	{
		tg_index_build_report report;
		tg_index *index = make_index(a.session, BY_TEXT);
		tg_status status;

		tg_alloc_flush(a.session);
		tg_arena_trim();
		tg_arena_limit_set(tg_arena_committed() + room * 8192);
		status = build(&a, index, true, &report);
		tg_arena_limit_set(512 * MIB);
		tg_index_drop(a.session, index);
		if (status == TG_OK && room > 60)
			break;
		refused += status == TG_NO_MEMORY;
	}
	unit_ok(refused > 1, "memory is refused %u times", refused);
	tg_arena_limit_set(512 * MIB);
	build_all(&a, true, "after that");
	check_exact(&a, "after that");
	for (unsigned which = 0; which < INDEXES; which++)
		tg_index_drop(a.session, indexes[which]);

	begin(&a);
	memset(memory, 'x', sizeof(memory));
	tg_string_make_host(&values[2].string, memory, sizeof(memory), 0);
	(void) !tg_txn_insert(&a.writer, table, key, id_key(700000, key), values, nulls, &row, &a.wait);
	end(&a, true);
	unit_equal(make_and_build(&a, BY_TEXT, true), TG_TOO_LARGE, "a key too long, at once");
	unit_equal(make_and_build(&a, BY_TEXT, false), TG_TOO_LARGE, "and one by one");
	begin(&a);
	(void) !drop(&a, 700);
	end(&a, true);
}

/* --- by the pool ------------------------------------------------------------------------ */

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY 20000
#else
#define MANY 150000
#endif

/* Entries of an index, in its order, are those of the rows. */
static bool
is_complete(client *c, unsigned which, unsigned rows)
{
	tg_btree_report report;
	tg_range_scan *scan = malloc(sizeof(*scan));
	unsigned expected = 0;
	unsigned seen = 0;
	bool in_order = true;
	row_values last = {.number = 0, .text = 0};
	unsigned count;

	for (unsigned i = 0; i < rows; i++)
		expected += which != BY_FLAGGED || i % 3 == 0;
	tg_btree_check(indexes[which]->tree);
	tg_epoch_enter(c->session);
	tg_btree_report_get(indexes[which]->tree, &report);
	tg_epoch_leave(c->session);
	begin(c);
	tg_range_scan_init(scan, table, indexes[which], &c->snapshot, NULL, 0, true, NULL, 0, true, false);
	while ((count = tg_range_scan_next(c->session, scan, c->vectors, 1000)) > 0)
	{
		seen_rows some = {.count = 0};

		take_vectors(c->vectors, &some);
		for (unsigned i = 0; i < count; i++)
		{
			in_order = in_order && (seen == 0 || is_in_order(which, &last, &some.rows[i]));
			last = some.rows[i];
			seen++;
		}
	}
	end(c, false);
	free(scan);
	return in_order && seen == expected && report.entries == expected;
}

static void
test_pool(unsigned workers)
{
	tg_index_build_report report;

	if (workers > 0)
	{
		const tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

		if (tg_runtime_start(&settings) != TG_OK)
			unit_bail("no pool");
	}
	job_memory = 0;
	for (unsigned which = 0; which < INDEXES; which++)
	{
		unit_equal(make_and_build(&a, which, true), TG_OK, "%u rows, %u workers: index %u", MANY, workers, which);
		unit_ok(is_complete(&a, which, MANY), "it is complete");
		tg_index_drop(a.session, indexes[which]);
	}
	unit_ok(workers == 0 ? job_memory == 0 : job_memory > 1000, "their jobs account for %" PRIu64 " bytes", job_memory);
	if (workers > 0)
	{
		const tg_index_build_config config = {.index = make_index(a.session, BY_NUMBER), .exclusive = true};
		tg_index_build *running;

		goes_on = true;
		unit_equal(make_and_build(&a, BY_TEXT, true), TG_OK, "one that users cannot cancel goes on");
		goes_on = false;
		unit_ok(is_complete(&a, BY_TEXT, MANY) && cancelled > 0, "and is complete");
		tg_index_drop(a.session, indexes[BY_TEXT]);

		/* Ended in the middle. */
		(void) !tg_index_build_begin(a.session, &config, &running);
		(void) !tg_index_build_step(a.session, running, &report);
		(void) !tg_index_build_step(a.session, running, &report);
		tg_index_build_end(a.session, running);
		tg_index_drop(a.session, indexes[BY_NUMBER]);
		unit_ok(tg_runtime_stop(10000), "the pool ends");
	}
}

/* --- while others work ------------------------------------------------------------------ */

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 10
#elif defined(__SANITIZE_ADDRESS__)
#define ROUNDS 25
#else
#define ROUNDS 100
#endif

#define WRITERS 2

typedef struct race
{
	unsigned building;	   /* atomic */
	pthread_rwlock_t lock; /* as the host's: shared by transactions that write, and collection */
} race;

static void
run_writer(race *run, unsigned number)
{
	client c;

	client_open(&c, number + 30);
	while (tg_load_acquire(&run->building) != 0)
	{
		pthread_rwlock_rdlock(&run->lock);
		begin(&c);
		for (unsigned i = dice(&c, 4) + 1; i > 0; i--)
		{
			next_statement(&c);
			(void) !write_something(&c, 40);
		}
		end(&c, dice(&c, 3) != 0);
		pthread_rwlock_unlock(&run->lock);
		sched_yield();
	}
	client_close(&c);
}

static void
run_collector(race *run)
{
	client c;

	client_open(&c, 300);
	while (tg_load_acquire(&run->building) != 0)
	{
		pthread_rwlock_rdlock(&run->lock); /* a thread that has it alone collects alone */
		(void) tg_collector_run(c.session, 100);
		pthread_rwlock_unlock(&run->lock);
		tg_epoch_advance();
	}
	client_close(&c);
}

static void
run_builder(race *run)
{
	client c;
	unsigned wrong = 0;
	unsigned failed = 0;
	unsigned twins = 0;
	unsigned left = 0;

	client_open(&c, 400);
	for (unsigned round = 0; round < ROUNDS; round++)
	{
		unsigned which = round % INDEXES;
		tg_index_build_report report;
		tg_status status;

		pthread_rwlock_wrlock(&run->lock);
		(void) make_index(c.session, which);
		pthread_rwlock_unlock(&run->lock);
		status = build(&c, indexes[which], false, &report);
		failed += status != TG_OK && status != TG_EXISTS;
		twins += status == TG_EXISTS;
		for (unsigned i = 0; i < 5 && status == TG_OK; i++)
		{
			begin(&c);
			wrong += !index_is_right(&c, which);
			end(&c, false);
		}
		pthread_rwlock_wrlock(&run->lock);
		if (status == TG_OK)
		{
			static __thread seen_rows all;

			collect_all(c.session);
			begin(&c);
			read_table(&c, &all);
			left += count_faults(&c, which, &all);
			end(&c, false);
		}
		tg_index_drop(c.session, indexes[which]);
		pthread_rwlock_unlock(&run->lock);
	}
	unit_equal(failed, 0, "all builds came to an end, %u found twins", twins);
	unit_equal(wrong, 0, "and the indexes that they made are right");
	unit_equal(left, 0, "and leaves nothing that does not belong there");
	client_close(&c);
	tg_store_release(&run->building, 0);
}

static void
run_thread(unsigned number, void *argument)
{
	if (number == 0)
		run_builder(argument);
	else if (number == 1)
		run_collector(argument);
	else
		run_writer(argument, number);
}

static void
test_race(void)
{
	race run = {.building = 1};

	pthread_rwlock_init(&run.lock, NULL);
	fresh_table(a.session, false);
	unit_threads(WRITERS + 2, run_thread, &run);
	pthread_rwlock_destroy(&run.lock);
}

/* The collector takes a version away that the build has read and not yet added. */

#ifdef TG_FAILPOINTS

static bool has_collected;

static bool
collect_before_adding(const char *name)
{
	if (strcmp(name, "index_build_found") == 0 && !has_collected)
	{
		has_collected = true;
		/* The builder is in an epoch, so pruning is all that can be done. */
		for (int i = 0; i < 10; i++)
			(void) tg_collector_run(b.session, 1000);
	}
	return false;
}

static void
test_meet(void)
{
	fresh_table(a.session, false);
	begin(&a);
	(void) !put(&a, 1, 10, 10, true);
	end(&a, true);
	begin(&a);
	(void) !change(&a, 1, 1, 11, 11, 0);
	end(&a, true);
	for (unsigned which = 0; which < INDEXES; which++)
	{
		has_collected = false;
		if (which == 0)
			tg_failpoint_set(collect_before_adding);
		unit_equal(make_and_build(&a, which, false), TG_OK, "index %u, built while a version goes", which);
		tg_failpoint_set(NULL);
	}
	check_exact(&a, "versions that went");
}

#endif

/*
 * A row keeps its key while a build passes.  Its old version lies ahead of the build and is removed
 * before the build reaches it; the new version lies where the build has passed already, and is a
 * reference then.
 */
#define PASSED_ROWS 6000

static void
test_passed_by(void)
{
	tg_index_build_report report;
	tg_status status;

	fresh_table(a.session, false);
	begin(&a);
	(void) !put(&a, 0, 0, 0, true);
	end(&a, true);
	begin(&b);
	for (int64_t id = 1; id < PASSED_ROWS; id++)
		(void) !put(&b, id, (int) id, (int) id, true);
	end(&b, true);
	for (unsigned which = 0; which < INDEXES; which++)
	{
		const tg_index_build_config config = {.index = make_index(a.session, which)};
		int64_t id = PASSED_ROWS - 10 + which;
		tg_index_build *running;
		tg_btree_report entries;
		tg_version before;
		tg_version after;
		tg_value values[COLUMNS];
		bool nulls[COLUMNS];
		uint32_t row;

		begin(&a);
		(void) !newest(&a, id, &row, &before, values, nulls);
		status = which == BY_TEXT ? change(&a, id, id, 100000, SAME, SAME)
								  : change(&a, id, id, SAME, 100000 + (int) which, SAME);
		unit_equal(status, TG_OK, "a row is changed beside key %u", which);
		(void) !newest(&a, id, &row, &after, values, nulls);
		(void) !tg_index_build_begin(b.session, &config, &running);
		status = tg_index_build_step(b.session, running, &report);
		unit_ok(status == TG_AGAIN && tg_version_chunk(after)->index < report.done &&
					report.done <= tg_version_chunk(before)->index,
				"the build is between its versions");
		end(&a, true);
		collect_all(a.session);
		while (status == TG_AGAIN)
			status = tg_index_build_step(b.session, running, &report);
		unit_equal(status, TG_OK, "it comes to its end");
		tg_index_build_end(b.session, running);
		tg_epoch_enter(a.session);
		tg_btree_report_get(indexes[which]->tree, &entries);
		tg_epoch_leave(a.session);
		unit_equal(entries.entries, PASSED_ROWS, "every row is in it");
	}
}

int
main(void)
{
	start(false);
	client_open(&a, 1);
	client_open(&b, 2);
	for (unsigned way = 0; way < 4; way++)
	{
		hides = several = way >= 2;
		test_sizes(way % 2 != 0);
		test_versions(way % 2 != 0);
		test_twins(way % 2 != 0);
	}
	for (unsigned way = 0; way < 2; way++)
	{
		hides = several = way != 0;
		test_limits();
		test_orders();
		test_race();
#ifdef TG_FAILPOINTS
		test_meet();
#endif
	}
	hides = several = false;
	test_passed_by();
	fresh_table(a.session, false);
	fill(&a, MANY);
	test_pool(0);
	test_pool(2);
	client_close(&b);
	client_close(&a);
	return unit_done();
}
