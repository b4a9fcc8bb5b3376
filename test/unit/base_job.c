/*
 * base_job.c
 *	  Bases whose steps a task of the pool does, beside clients that write.
 *
 * A base has what base.c asks of it, whoever does the steps; one that is given up in the middle
 * leaves nothing behind; and without a pool the caller does the steps.  A base rests where others
 * want the CPUs, and there alone.
 */
#include "test/unit/base_unit.h"

#include "runtime/durable/base_job.h"

static tg_base *
begin_new(void)
{
	tg_roster *roster = make_roster(column_count, INDEXES);
	tg_base *base = begin_base(finished + 1, finished, UINT64_MAX, roster);

	tg_roster_free(roster);
	return base;
}

static tg_base_job *
make_job(tg_base *base)
{
	tg_base_job *job;

	if (tg_base_job_create(base, clients[0].session, NULL, &job) != TG_OK)
		unit_bail("no job");
	return job;
}

static void
write_one(const char *when)
{
	uint64_t bytes_max = roll(&clients[0], 2) == 0 ? UINT64_MAX : roll(&clients[0], 1000);
	tg_base *base = begin_new();
	tg_base_job *job = make_job(base);
	tg_status status;

	do
	{
		change_source(1 + roll(&clients[0], 3));
		status = tg_base_job_step(job, clients[0].session, bytes_max, roll(&clients[0], 2) == 0, &error);
	} while (status == TG_AGAIN || status == TG_BUSY);
	tg_base_job_end(job, clients[0].session);
	if (status != TG_OK || tg_base_finish(base, position_now(), &error) != TG_OK)
		unit_bail("a base was not written");
	tg_base_end(base, clients[0].session);
	finished++;
	change_source(100);
	for (unsigned i = 0; i < CLIENTS; i++)
		roll_back(&clients[i]);
	check_base(when, finished, UINT32_MAX);
}

static unsigned
count_files(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < FILES_MAX; i++)
		count += files[i].path[0] != '\0' && !files[i].is_removed;
	return count;
}

static void
test_given_up(void)
{
	unsigned left = 0;
	unsigned early = 0;

	for (unsigned i = 0; i < 20; i++)
	{
		unsigned before = count_files();
		tg_base *base = begin_new();
		tg_base_job *job = make_job(base);
		tg_status status = TG_AGAIN;

		for (unsigned steps = 1 + roll(&clients[0], 20); steps > 0 && status != TG_OK; steps--)
		{
			change_source(1);
			status = tg_base_job_step(job, clients[0].session, 1 + roll(&clients[0], 1000), true, &error);
		}
		tg_base_job_end(job, clients[0].session);
		tg_base_end(base, clients[0].session);
		early += status != TG_OK;
		left += count_files() != before;
	}
	unit_ok(left == 0 && early > 0, "%u bases that were given up left no files", early);
}

/* A call on a file that a task makes fails. */
static void
test_failures(void)
{
	unsigned failed = 0;
	unsigned told = 0;

	for (unsigned i = 0; i < 20; i++)
	{
		tg_base *base = begin_new();
		tg_base_job *job = make_job(base);
		tg_status status;

		error.what = NULL;
		calls_until_error = 1 + roll(&clients[0], 30);
		do
			status = tg_base_job_step(job, clients[0].session, UINT64_MAX, true, &error);
		while (status == TG_AGAIN || status == TG_BUSY);
		calls_until_error = 0;
		failed += status == TG_IO;
		told += status == TG_IO && error.error != 0 && error.what != NULL;
		tg_base_job_end(job, clients[0].session);
		tg_base_end(base, clients[0].session);
	}
	unit_ok(failed > 0 && told == failed, "%u calls that failed were told", told);
}

/* In a stint with so many losses, from its beginning on. */
static uint64_t
end_of(uint64_t cpu_us, uint64_t losses, unsigned cpus)
{
	const tg_stint_cost cost = {.cpu_us = cpu_us, .losses = losses};

	return tg_stint_end_us(&cost, cpus);
}

static void
test_pace(void)
{
	unsigned more = 0;

	unit_ok(end_of(50000, 0, 2) == 0 && end_of(0, 0, 2) == 0, "a base that has lost no CPU does not rest");
	unit_ok(end_of(50000, 4, 2) == 0, "nor does one that has lost it seldom");
	unit_ok(end_of(50000, 5, 2) == 400000 && end_of(0, 5, 2) == 0, "other bases have a sixteenth of the CPUs");
	unit_ok(end_of(50000, 50, 1) == 800000 && end_of(50000, 50, 16) == 50000, "of all of them, few or many");
	for (unsigned cpus = 1; cpus <= 256; cpus++)
		for (uint64_t cpu_us = 0; cpu_us <= 50000; cpu_us += 1000)
			more += end_of(cpu_us, 1000, cpus) > 16 * cpu_us;
	unit_ok(more == 0, "a stint and its rest end in time");
}

static unsigned rests; /* atomic: the pool's threads pass failpoints, too */

static bool
lose_cpu(const char *name)
{
	if (strcmp(name, "base_rests") == 0)
		tg_fetch_add_relaxed(&rests, 1);
	return strcmp(name, "base_loses_cpu") == 0;
}

/* Until a stint has ended, or all is written. */
static tg_status
do_stint(tg_base_job *job, bool hurries)
{
	tg_status status;

	while ((status = tg_base_job_step(job, clients[0].session, 1, hurries, &error)) == TG_BUSY &&
		   tg_load_relaxed(&rests) == 0)
		;
	return status;
}

/* A stint whose thread has lost its CPU is followed by a rest of hours, except where it hurries. */
static void
test_rest(void)
{
	tg_base *base = begin_new();
	tg_base_job *job = make_job(base);
	unsigned stints = 0;
	tg_status status;

	tg_failpoint_set(lose_cpu);
	unit_equal(do_stint(job, false), TG_AGAIN, "a stint is done before any rest");
	unit_equal(do_stint(job, false), TG_BUSY, "then the base rests");
	unit_equal(rests, 1, "at once");
	while ((status = tg_base_job_step(job, clients[0].session, 1, true, &error)) == TG_AGAIN || status == TG_BUSY)
		stints += status == TG_AGAIN;
	unit_ok(status == TG_OK && stints > 0 && rests == 1, "where it hurries, it does not: %u more stints", stints);
	tg_failpoint_set(NULL);
	tg_base_job_end(job, clients[0].session);
	tg_base_end(base, clients[0].session);
}

int
main(void)
{
	const tg_scheduler_settings settings = tg_scheduler_settings_default(2);

	test_pace();
	start_bases();
	computes_all = true;
	write_one("without a pool");
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		unit_bail("no pool");
	for (unsigned round = 0; round < 3; round++)
		write_one("by tasks");
	test_given_up();
	test_failures();
	test_rest();
	write_one("after failures");
	if (!tg_scheduler_stop(10000))
		unit_bail("the pool does not stop");
	return end_bases();
}
