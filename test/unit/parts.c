/*
 * parts.c
 *	  What a large transaction writes, written by tasks and replayed part by part, gives the same
 *	  rows: in parts of any size; when tasks have no memory; when their job is cancelled, or the
 *	  pool stopped, at any moment.  One that is given up leaves no task that looks at its rows.
 */
#include "runtime/durable/parts.h"

#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/job.h"
#include "test/unit/random_writers.h"

#define WORKERS 3
#ifdef __SANITIZE_THREAD__
#define MOMENTS 1
#else
#define MOMENTS 3
#endif
#define ROWS 17000 /* two units, and a part of a third */
#define SOON_MS 30000

static tg_replay *replay;
static uint32_t wakes;	   /* atomic */
static uint32_t no_memory; /* atomic: tasks are refused it at times */
static uint32_t tries;	   /* atomic */

static void
wake(void *waiter)
{
	tg_fetch_add_acq_rel((uint32_t *) waiter, 1);
}

static bool
refuse_memory(const char *name)
{
	return strcmp(name, "parts_no_memory") == 0 && tg_load_relaxed(&no_memory) != 0 &&
		   tg_fetch_add_relaxed(&tries, 1) % 3 == 1;
}

/* --- the pool --------------------------------------------------------------------------------- */

static void
start_pool(void)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(WORKERS);

	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		unit_bail("no pool");
}

static void
stop_pool(void)
{
	if (!tg_scheduler_stop(SOON_MS))
		unit_bail("the pool does not stop");
}

static void
cancel_job(void)
{
	tg_job_report report;

	for (unsigned i = 0; i < TG_JOB_MAX; i++)
		if (tg_job_report_get(i, &report) && strcmp(report.kind, "log") == 0)
			(void) tg_job_cancel_id(clients[0].session, report.id);
}

static void
restart_pool(void)
{
	stop_pool();
	start_pool();
}

/* --- a transaction ---------------------------------------------------------------------------- */

/* New rows, and changes of them and of others, with some savepoints. */
static void
write_much(client *client)
{
	insert_run(client, ROWS + roll(client, 5000));
	for (unsigned i = 0; i < 300; i++)
		step(client);
	insert_run(client, roll(client, 3000));
}

/* Takes the parts, and replays each; after so many it does something else.  Their number. */
static unsigned
take_parts(client *client, size_t bytes_max, unsigned before, void (*act)(void))
{
	const tg_parts_config config = {.bytes_max = bytes_max, .waiter = &wakes};
	tg_parts *parts;
	unsigned count = 0;
	uint32_t seen = 0;
	tg_status status;

	if (tg_parts_begin(client->session, client->txn->log, &config, &parts) != TG_OK)
		unit_bail("tasks do not write it");
	do
	{
		const tg_bytes *part;

		if (act != NULL && count == before)
		{
			act();
			act = NULL;
		}
		seen = tg_load_acquire(&wakes);
		status = tg_parts_next(client->session, parts, &part);
		while (status == TG_BUSY && tg_load_acquire(&wakes) == seen)
			(void) sched_yield();
		if (status == TG_OK && (tg_replay_record(replay, part->data, part->count, true) != TG_OK || misfits > 0))
			unit_bail("a part was not applied");
		count += status == TG_OK;
	} while (status == TG_OK || status == TG_BUSY);
	if (status != TG_NOT_FOUND)
		unit_bail("parts were not written");
	tg_parts_end(client->session, parts);
	return count;
}

static void
check(const char *name, size_t bytes_max, unsigned before, void (*act)(void))
{
	client *client = &clients[1];
	unsigned count;

	write_much(client);
	count = take_parts(client, bytes_max, before, act);
	tg_txn_commit(client->session, client->txn);
	client->txn = NULL;
	unit_ok(count > before, "%s: there are enough parts, %u", name, count);
	check_same(name);
}

static void
test_parts(void)
{
	check("in parts of a record's size", MIB, 0, NULL);
	check("in short parts", 20000, 0, NULL);
	tg_store_relaxed(&no_memory, 1);
	check("when tasks have no memory at times", 100000, 0, NULL);
	tg_store_relaxed(&no_memory, 0);
	for (unsigned i = 0; i < MOMENTS; i++)
	{
		check("when the job is cancelled", 100000, i * i, cancel_job);
		check("when the pool is stopped, and starts again", 100000, i * i, restart_pool);
	}
	check("when the pool is stopped", 100000, 1, stop_pool);
	start_pool();
}

/* --- others ----------------------------------------------------------------------------------- */

/* The rows are undone as soon as it has ended: a task that still read them would be seen. */
static void
test_given_up(void)
{
	client *client = &clients[1];
	const tg_parts_config config = {.bytes_max = 10000, .waiter = &wakes};

	for (unsigned i = 0; i < 5; i++)
	{
		const tg_bytes *part;
		tg_parts *parts;

		write_much(client);
		if (tg_parts_begin(client->session, client->txn->log, &config, &parts) != TG_OK)
			unit_bail("tasks do not write it");
		for (unsigned taken = 0; taken < i;)
			taken += tg_parts_next(client->session, parts, &part) == TG_OK;
		tg_parts_end(client->session, parts);
		roll_back(client);
	}
	check_same("transactions that were given up");
}

static void
test_not_worth_it(void)
{
	client *client = &clients[1];
	const tg_parts_config config = {.bytes_max = 10000, .waiter = &wakes};
	tg_parts *parts;

	insert_run(client, 1000);
	unit_equal(tg_parts_begin(client->session, client->txn->log, &config, &parts), TG_NOT_FOUND,
			   "a small transaction is its session's");
	roll_back(client);
	stop_pool();
	write_much(client);
	unit_equal(tg_parts_begin(client->session, client->txn->log, &config, &parts), TG_NOT_FOUND,
			   "and so is any without a pool");
	roll_back(client);
}

int
main(void)
{
	tg_host_wake = wake;
	start_writers();
	tg_failpoint_set(refuse_memory);
	make_target(clients[0].session);
	if (tg_replay_begin(clients[0].session, &replay_calls, &replay) != TG_OK)
		unit_bail("no memory");
	start_pool();
	test_parts();
	test_given_up();
	test_not_worth_it();
	tg_replay_end(replay);
	drop_table(clients[0].session, target);
	return end_writers();
}
