/*
 * process_stop.c
 *	  Processes that are cancelled, and the end of the pool.
 *
 * The pool stops with processes in all states: those that obey their cancel, those that ignore it,
 * one whose Step does not return.  Each part ends with a look at the memory in use.  Races with a
 * stop are in process_race.c.
 */
#include "runtime/app/process.h"

#include "test/unit/process_unit.h"

/* --- cancel ------------------------------------------------------------------------------ */

static void
test_cancel(void)
{
	size_t bytes = job_bytes();
	puppet *idle = puppet_new();
	puppet *blocked = puppet_new();
	tg_job *job;
	tg_pid one;
	tg_pid other;

	pool_start(2);
	blocked->ignores_cancel = true;
	one = puppet_start(idle);
	if (puppet_try("puppet", blocked, &other, &job) != TG_OK || tell(other, DO_HOLD) != TG_OK ||
		!comes_to(self, one, TG_PROCESS_IDLE) || !comes_to(self, other, TG_PROCESS_BLOCKED))
		abort();
	unit_ok(tg_process_cancel(self, one) == TG_OK && noted(idle, 0, TG_EVENT_CANCEL, 0) &&
				comes_true(&idle->close_count, 1),
			"a cancel reaches an Idle process, and ends it");
	tg_job_cancel(self, job);
	unit_ok(noted(blocked, 1, TG_EVENT_CANCEL, 0) && comes_to(self, other, TG_PROCESS_BLOCKED),
			"a cancel of its job reaches a Blocked process, and it may go on");
	tg_job_cancel(self, job);
	unit_ok(tg_process_cancel(self, other) == TG_OK && tell(other, DO_NOTHING) == TG_OK &&
				tg_process_complete(self, blocked->holds[0], TG_OK, NULL, NULL) == TG_OK &&
				comes_to(self, other, TG_PROCESS_IDLE) && blocked->note_count == 4,
			"once, however often it is cancelled");
	unit_ok(tell(other, DO_COMPLETE) == TG_OK && job_ends(job, TG_OK) && all_end(), "it ends when it likes");
	unit_ok(tg_process_cancel(self, other) == TG_NOT_FOUND, "then there is no process to cancel");
	tg_free(self, idle, TG_USE_JOB);
	tg_free(self, blocked, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "cancel: nothing is left");
}

/* --- the pool stops ---------------------------------------------------------------------- */

#define CROWD 60

static void
test_shutdown(void)
{
	size_t bytes = job_bytes();
	puppet *crowd[CROWD];
	tg_pid pids[CROWD];
	unsigned wrong = 0;

	pool_start(3);
	for (unsigned i = 0; i < CROWD; i++)
	{
		crowd[i] = puppet_new();
		pids[i] = puppet_start(crowd[i]);
		/* Blocked, with room for messages that come too late */
		if (i % 3 == 1 && tell(pids[i], DO_HOLD) != TG_OK)
			abort();
	}
	for (unsigned i = 0; i < CROWD; i++)
	{
		if (!comes_to(self, pids[i], i % 3 == 1 ? TG_PROCESS_BLOCKED : TG_PROCESS_IDLE))
			abort();
		if (i % 3 == 2 && tell(pids[i], DO_NOTHING) != TG_OK) /* Ready or Running now */
			abort();
	}
	unit_ok(pool_stop(), "the pool stops with %u processes, Idle, Blocked and Ready", CROWD);
	for (unsigned i = 0; i < CROWD; i++)
	{
		puppet *puppet = crowd[i];
		unsigned last = puppet->note_count - 1;

		wrong += puppet->close_count != 1 || puppet->notes[last].type != TG_EVENT_CANCEL;
		wrong += puppet->notes[last].error != TG_CANCELLED || puppet->cancel_count != (i % 3 == 1);
		wrong += i % 3 == 1 && tg_process_complete(self, puppet->holds[0], TG_OK, NULL, NULL) != TG_NOT_FOUND;
		tg_free(self, puppet, TG_USE_JOB);
	}
	unit_equal(wrong, 0, "each has had its cancel, has been closed, and its command cancelled, once");
	unit_ok(tg_process_count() == 0 && job_bytes() == bytes, "shutdown: nothing is left");
}

static void
test_ignored(void)
{
	size_t bytes = job_bytes();
	puppet *stubborn[3];
	tg_job *job;
	tg_pid pids[3];
	uint64_t begin;
	uint64_t took;
	bool stopped;

	pool_start(2);
	for (unsigned i = 0; i < 3; i++)
	{
		stubborn[i] = puppet_new();
		stubborn[i]->ignores_cancel = true;
		if (puppet_try("puppet", stubborn[i], &pids[i], i == 1 ? &job : NULL) != TG_OK)
			abort();
	}
	if (tell(pids[1], DO_HOLD) != TG_OK || !comes_to(self, pids[1], TG_PROCESS_BLOCKED))
		abort();
	begin = tg_clock_us();
	stopped = tg_scheduler_stop(100);
	took = tg_clock_us() - begin;
	unit_ok(stopped && took >= 100000,
			"processes that ignore their cancel are waited for, for the limit (%" PRIu64 " us)", took);
	unit_ok(job_ends(job, TG_CANCELLED), "then their job ends, cancelled");
	for (unsigned i = 0; i < 3; i++)
	{
		puppet *puppet = stubborn[i];

		unit_ok(puppet->close_count == 1 && puppet->steps_after_close == 0 && puppet->cancel_count == (i == 1) &&
					puppet->notes[puppet->note_count - 1].type == TG_EVENT_CANCEL,
				"number %u has been told, and closed", i + 1);
		tg_free(self, puppet, TG_USE_JOB);
	}
	unit_ok(tg_process_count() == 0 && job_bytes() == bytes, "ignored: nothing is left");
}

static uint32_t endless_is_inside;
static uint32_t endless_may_end;
static uint32_t endless_closed;

static tg_status
endless_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	return TG_OK;
}

static void
endless_step(void *state, tg_process_step *step)
{
	tg_store_release(&endless_is_inside, 1);
	while (!tg_load_acquire(&endless_may_end))
		usleep(100);
}

static void
endless_close(tg_session *session, void *state)
{
	tg_fetch_add_acq_rel(&endless_closed, 1);
}

static const tg_entry endless_entries[] = {
	{.method = "endless", .init = endless_init, .step = endless_step, .close = endless_close}};
static const tg_application endless = {.name = "endless", .entries = endless_entries, .entry_count = 1};

static void
test_endless(void)
{
	size_t bytes = job_bytes();
	tg_process_config config = {.application = "endless", .method = "endless"};
	tg_pid pid;

	pool_start(2);
	if (tg_process_start(self, &config, &pid, NULL) != TG_OK || !comes_true(&endless_is_inside, 1))
		abort();
	unit_ok(!tg_scheduler_stop(10), "a Step that does not return makes the stop fail");
	unit_ok(endless_closed == 0, "its state is not closed under it");
	tg_store_release(&endless_may_end, 1);
	unit_ok(pool_stop() && endless_closed == 1 && tg_process_count() == 0, "once it returns, the pool can be stopped");
	unit_ok(job_bytes() == bytes, "endless: nothing is left");
}

int
main(void)
{
	server_start();
	tg_processes_register();
	puppets_register();
	if (tg_application_register(&endless) != TG_OK)
		abort();
	test_cancel();
	test_shutdown();
	test_ignored();
	test_endless();
	server_end();
	return unit_done();
}
