/*
 * encoder.c
 *	  Files of columns whose blocks the pool encodes: random tables, with any number of blocks in
 *	  hand, of any memory.  The bytes are the same as without the pool, whether that runs or not,
 *	  and whether the arena has memory or not.  A requester that leaves by a jump, at any moment,
 *	  and one whose tasks are cancelled, leave nothing behind.  All blocks together never have more
 *	  memory than they may.
 */
#include "runtime/runtime.h"

#include <sched.h>
#include <setjmp.h>
#include <string.h>

#include "test/unit/columnar_table.h"

#define WORKERS 3
#define FILES UNIT_ROUNDS(100)

static tg_session *session;
static bool has_session = true;
static jmp_buf jump;
static unsigned steps_left; /* writes and waits before a jump; 0: none is to come */
static unsigned waits;
static size_t most; /* bytes of the arena's jobs, at any wait or write */

static void
wake(void *waiter)
{
}

static size_t
memory_of_jobs(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB];
}

static void
step(void)
{
	size_t bytes = memory_of_jobs() + used;

	most = bytes > most ? bytes : most;
	if (steps_left > 0 && --steps_left == 0)
		longjmp(jump, 1);
}

static void
wait_for_tasks(void *argument)
{
	waits++;
	step();
	sched_yield();
}

static bool
append_step(void *argument, const void *data, size_t bytes)
{
	step();
	return append(argument, data, bytes);
}

/* --- one file --------------------------------------------------------------------------------- */

typedef struct counts
{
	uint64_t pool;
	uint64_t requester;
} counts;

static tg_status
write_rows(tg_encoder *encoder, uint64_t *bytes_out)
{
	tg_status status = TG_OK;

	for (unsigned row = 0; row < world.rows && status == TG_OK; row++)
	{
		status = tg_encoder_status(encoder, put_cells(tg_encoder_file(encoder), row));
		if (status == TG_OK)
			status = tg_encoder_put_row(encoder);
	}
	return status == TG_OK ? tg_encoder_finish(encoder, bytes_out) : status;
}

/* *left_out: by a jump. */
static tg_status
encode_table(tg_file_format format, const tg_columnar_options *options, unsigned blocks, size_t memory_max,
			 contents *file, counts *counts, bool *left_out)
{
	const tg_file_target target = {
		.write = append_step, .resize = resize, .free = release, .argument = file, .memory_max = memory_max};
	const tg_encoder_config config = {.format = format,
									  .options = *options,
									  .target = &target,
									  .columns = world.description,
									  .column_count = world.columns,
									  .blocks_max = blocks,
									  .wait = wait_for_tasks};
	tg_encoder *volatile encoder = NULL;
	volatile tg_status status = TG_OK;
	tg_encoder *created;
	uint64_t bytes = 0;

	*left_out = true;
	if (setjmp(jump) == 0)
	{
		unsigned steps = steps_left;

		steps_left = 0; /* what begins a file is the caller's to clean up, when it has it */
		status = tg_encoder_create(has_session ? session : NULL, &config, &created);
		if (status != TG_OK)
			return status;
		encoder = created;
		steps_left = steps;
		status = write_rows(created, &bytes);
		*left_out = false;
	}
	steps_left = 0;
	tg_encoder_counts(encoder, &counts->pool, &counts->requester);
	tg_encoder_free(encoder);
	return status;
}

/* --- files that are the same ------------------------------------------------------------------ */

static bool
is_same(const contents *a, const contents *b)
{
	return a->count == b->count && memcmp(a->data, b->data, a->count) == 0;
}

typedef struct result
{
	unsigned different;
	unsigned refused; /* for want of memory */
	counts counts;
} result;

static void
try_file(size_t memory_max, result *result)
{
	tg_file_format format = dice(2) == 0 ? TG_FORMAT_PARQUET : TG_FORMAT_ARROW;
	contents plain = {0};
	contents file = {0};
	tg_columnar_options options;
	counts counts;
	bool left;
	tg_status status;

	choose_table(format);
	options = choose_options(format);
	options.block_rows = 1 + dice(300);
	write_table(format, &options, &plain);
	status = encode_table(format, &options, 1 + dice(6), memory_max, &file, &counts, &left);
	if (status == TG_NO_MEMORY)
		result->refused++;
	else if (status != TG_OK || !is_same(&plain, &file))
		result->different++;
	result->counts.pool += counts.pool;
	result->counts.requester += counts.requester;
	free(plain.data);
	free(file.data);
}

static result
try_files(size_t memory_max, unsigned count)
{
	result result = {0};

	for (unsigned i = 0; i < count; i++)
		try_file(memory_max, &result);
	return result;
}

static void
test_same(void)
{
	result result;

	most = 0;
	result = try_files(MEMORY_MAX, FILES);
	printf("# %u KiB at most\n", (unsigned) (most >> 10));
	unit_ok(result.different == 0 && result.refused == 0, "%u files are the same as without the pool", FILES);
	unit_ok(result.counts.pool > FILES, "the pool has encoded blocks (%u, the requester %u)",
			(unsigned) result.counts.pool, (unsigned) result.counts.requester);
}

static void
test_small_memory(void)
{
	result result;

	most = 0;
	result = try_files(2 << 20, FILES);
	unit_ok(result.different == 0, "so are those with memory for a block or two");
	unit_equal(result.refused, 0, "all of which can be written");
	unit_ok(result.counts.pool > 0, "also by the pool");
	/* an allocation comes before the one that it replaces is freed; and the rest of the file */
	unit_ok(most < 2 * (2 << 20), "they have no more than that (%u KiB)", (unsigned) (most >> 10));
	result = try_files(200 << 10, FILES);
	unit_ok(result.different == 0 && result.refused > 0 && result.refused < FILES,
			"with less memory some files cannot be written (%u)", result.refused);
}

/* --- without the arena, and without the pool -------------------------------------------------- */

static void
test_full_arena(void)
{
	size_t limit = tg_arena_limit();
	result result;

	tg_arena_limit_set(0);
	tg_alloc_flush(session);
	tg_arena_trim();
	result = try_files(MEMORY_MAX, FILES / 5);
	unit_ok(result.different == 0 && result.refused == 0, "so are those for which the arena has no memory");
	unit_equal(result.counts.pool, 0, "which the pool cannot encode");
	tg_arena_limit_set(tg_arena_committed() + (3 << 19));
	result = try_files(MEMORY_MAX, FILES);
	tg_arena_limit_set(limit);
	unit_ok(result.different == 0 && result.refused == 0, "so are those for which it has not enough");
	unit_ok(result.counts.pool > 0 && result.counts.requester > FILES, "which both encode (%u, %u)",
			(unsigned) result.counts.pool, (unsigned) result.counts.requester);
}

static void
test_no_session(void)
{
	size_t before = memory_of_jobs();
	result result;

	has_session = false;
	most = 0;
	result = try_files(2 << 20, FILES / 5);
	has_session = true;
	unit_ok(result.different == 0 && result.refused == 0, "so are those of a requester without a session");
	unit_ok(result.counts.pool == 0 && most < before + 2 * (2 << 20), "which uses its own memory");
}

static void
test_stopped_pool(void)
{
	result result = try_files(MEMORY_MAX, FILES / 5);

	unit_ok(result.different == 0 && result.refused == 0, "so are those without a pool");
	unit_equal(result.counts.pool, 0, "which has none of their blocks");
}

/* --- that are given up ------------------------------------------------------------------------ */

static void
wait_for_memory(size_t bytes)
{
	while (memory_of_jobs() > bytes)
		sched_yield();
}

static void
test_jumps(void)
{
	size_t before = memory_of_jobs();
	unsigned jumps = 0;

	for (unsigned i = 0; i < FILES; i++)
	{
		tg_file_format format = dice(2) == 0 ? TG_FORMAT_PARQUET : TG_FORMAT_ARROW;
		contents file = {0};
		tg_columnar_options options;
		counts counts;
		bool left;

		choose_table(format);
		options = choose_options(format);
		options.block_rows = 1 + dice(300);
		steps_left = 1 + dice(30);
		(void) !encode_table(format, &options, 2 + dice(4), dice(2) == 0 ? 2 << 20 : MEMORY_MAX, &file, &counts, &left);
		jumps += left;
		free(file.data);
	}
	unit_ok(jumps > FILES / 4, "%u requesters leave by a jump", jumps);
	wait_for_memory(before);
	unit_equal(used, 0, "nothing stays of their memory, or the arena's");
}

/* A job that is cancelled by its number, as by an administrator. */
static void *
cancel_all(void *argument)
{
	tg_session *own;

	tg_check(tg_session_open(&own) == TG_OK);
	while (!tg_load_acquire((uint32_t *) argument))
	{
		for (unsigned i = 0; i < TG_JOB_MAX; i++)
		{
			tg_job_report report;

			if (tg_job_report_get(i, &report) && strcmp(report.kind, "encode") == 0)
				(void) tg_job_cancel_id(own, report.id);
		}
		sched_yield();
	}
	tg_session_close(own);
	return NULL;
}

static void
test_cancels(void)
{
	unsigned cancelled = 0;
	unsigned others = 0;
	uint32_t ends = 0;
	pthread_t thread;

	tg_check(pthread_create(&thread, NULL, cancel_all, &ends) == 0);
	for (unsigned i = 0; i < FILES || cancelled == 0; i++)
	{
		contents file = {0};
		tg_columnar_options options;
		counts counts;
		bool left;
		tg_status status;

		choose_table(TG_FORMAT_PARQUET);
		options = choose_options(TG_FORMAT_PARQUET);
		options.block_rows = 1 + dice(300);
		status = encode_table(TG_FORMAT_PARQUET, &options, 2 + dice(4), MEMORY_MAX, &file, &counts, &left);
		cancelled += status == TG_CANCELLED;
		others += status != TG_CANCELLED && status != TG_OK;
		free(file.data);
	}
	tg_store_release(&ends, 1);
	pthread_join(thread, NULL);
	unit_equal(others, 0, "a file of which a job is cancelled ends so");
	wait_for_memory(0);
}

int
main(void)
{
	state = 20;
	world.cells = calloc((size_t) ROWS_MAX * COLUMNS_MAX, sizeof(cell));
	tg_check(tg_runtime_open(WORKERS, &session) == TG_OK);
	tg_host_wake = wake;
	wait_for_memory(0);
	test_same();
	test_small_memory();
	test_full_arena();
	test_no_session();
	test_jumps();
	test_cancels();
	unit_ok(tg_scheduler_stop(10000), "the pool is stopped");
	test_stopped_pool();
	unit_equal(memory_of_jobs(), 0, "all memory has been given back");
	free(world.cells);
	return unit_done();
}
