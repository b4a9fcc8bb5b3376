/*
 * condition.c
 *	  Conditions: each submission runs its body once, and no poke is lost.
 *
 * The watcher's tick is made longer than any test may take, so a poke or a
 * submission that got lost shows as a test that does not end in time.  Races
 * are made by failpoints: what another party does just then is done by the hook.
 * That the watcher does nothing is seen in its own counts.
 */
#include "runtime/sched/condition.h"

#include <string.h>
#include <sys/wait.h>

#include "runtime/base/failpoint.h"
#include "runtime/sched/job.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

#ifdef __SANITIZE_THREAD__
#define ROUNDS 5000
#else
#define ROUNDS 30000
#endif

/* A condition on a word. */
typedef struct event
{
	tg_condition condition; /* first */
	uint32_t holds;
	uint32_t runs;
	uint32_t checks;
	uint32_t slow_us; /* how long a check takes */
} event;

static bool
check_event(tg_condition *condition, tg_session *session)
{
	event *event = (struct event *) condition;
	bool holds;

	if (event->slow_us > 0)
	{
		uint64_t end = tg_clock_us() + event->slow_us;

		while (tg_clock_us() < end)
			tg_pause();
	}
	holds = tg_load_relaxed(&event->holds) != 0;
	/* a thread that sees the count comes after the reading */
	tg_fetch_add_acq_rel(&event->checks, 1);
	return holds;
}

static tg_turn
run_event(tg_task *task, tg_worker *worker)
{
	tg_fetch_add_acq_rel(&((event *) task)->runs, 1);
	return TG_TURN_DONE;
}

static event *
events_new(unsigned count, uint32_t interval_us)
{
	event *events = take_zeroed(self, count * sizeof(event));

	for (unsigned i = 0; i < count; i++)
		tg_condition_init(&events[i].condition, run_event, check_event, interval_us, NULL);
	return events;
}

static void
submit(tg_session *session, event *event)
{
	if (tg_condition_submit(session, NULL, &event->condition) != TG_OK)
		abort();
}

static void
come_true(event *event)
{
	tg_store_relaxed(&event->holds, 1);
	tg_condition_poke();
}

static tg_scheduler_report
look(void)
{
	tg_scheduler_report report;

	tg_scheduler_report_get(&report);
	return report;
}

static bool
comes_to_wait(uint64_t count)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (look().conditions_waiting != count)
	{
		if (tg_clock_us() > end)
			return false;
		usleep(100);
	}
	return true;
}

/* --- no poke is lost ------------------------------------------------------------------- */

static void
wait_somewhat(unsigned round)
{
	if (round % 512 == 0)
		usleep(2000);
	for (unsigned pause = round * 37 % 997; pause > 0; pause--)
		tg_pause();
}

/* Meets the watcher at each phase of its look and of going to sleep. */
static void
test_ping_pong(unsigned workers)
{
	event *event = events_new(1, 0);
	uint64_t us = 0;
	bool answered = true;

	pool_start_quiet(workers);
	for (unsigned i = 0; answered && i < ROUNDS; i++)
	{
		event->holds = 0;
		if (i % 4 == 3)
			tg_store_relaxed(&event->holds, 1); /* no poke: it holds when it arrives */
		submit(self, event);
		wait_somewhat(i);
		us -= tg_clock_us();
		if (i % 4 != 3)
			come_true(event);
		answered = comes_true(&event->runs, i + 1);
		us += tg_clock_us();
	}
	unit_ok(answered, "ping-pong with %u workers: %u conditions, each runs soon", workers, ROUNDS);
	unit_equal(event->runs, ROUNDS, "ping-pong with %u workers: and once", workers);
	printf("# %.2f us from the poke to the run\n", (double) us / ROUNDS);
	unit_ok(pool_stop(), "ping-pong with %u workers: the pool stops", workers);
	tg_free(self, event, TG_USE_JOB);
}

/* The hook does this once, at the place, in the thread that passes it. */
static const char *hook_place;
static event *hook_event;
static uint32_t hook_done;

static bool
come_true_at(const char *name)
{
	uint32_t zero = 0;

	if (strcmp(name, hook_place) == 0 && tg_cas_acq_rel(&hook_done, &zero, 1))
		come_true(hook_event);
	return false;
}

/* Whether checks end.  Those of the last poke may be under way. */
static bool
has_come_to_rest(void)
{
	for (unsigned i = 0; i < 1000; i++)
	{
		uint64_t checks = look().condition_checks;

		usleep(20000);
		if (look().condition_checks == checks)
			return true;
	}
	return false;
}

/* The poke comes when the condition is counted but not yet to be found. */
static void
test_poke_at_arrival(void)
{
	event *event = events_new(2, 0);

	pool_start_quiet(1);
	submit(self, &event[1]);
	hook_place = "condition_arrive";
	hook_event = &event[0];
	hook_done = 0;
	tg_failpoint_set(come_true_at);
	submit(self, &event[0]);
	tg_failpoint_set(NULL);
	unit_ok(comes_true(&event[0].runs, 1), "a poke between being counted and arriving is not lost");
	unit_ok(event[1].runs == 0, "nor does it let another one run");
	unit_ok(has_come_to_rest(), "without a poke there is no check");
	come_true(&event[1]);
	unit_ok(comes_true(&event[1].runs, 1), "it runs when its own time comes");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, event, TG_USE_JOB);
}

/* Has it looked at by the watcher, and then come true; by the thread that has just pushed it. */
static bool
come_true_when_looked_at(const char *name)
{
	uint32_t zero = 0;

	if (strcmp(name, "condition_arrived") != 0 || !tg_cas_acq_rel(&hook_done, &zero, 1))
		return false;
	tg_watcher_poke();
	(void) comes_true(&hook_event->checks, 1);
	come_true(hook_event);
	return false;
}

/* The poke comes after the watcher's look at the condition and before the submitter's return. */
static void
test_poke_after_arrival(void)
{
	event *event = events_new(1, 0);

	pool_start_quiet(1);
	hook_event = event;
	hook_done = 0;
	tg_failpoint_set(come_true_when_looked_at);
	submit(self, event);
	tg_failpoint_set(NULL);
	unit_ok(comes_true(&event->runs, 1) && event->checks == 2, "a poke just after the first look is not lost");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, event, TG_USE_JOB);
}

/* The poke comes when the watcher has looked and is about to sleep. */
static void
test_poke_at_sleep(void)
{
	event *event = events_new(1, 0);

	for (unsigned round = 0; round < 20; round++)
	{
		pool_start_quiet(1);
		event->runs = event->holds = 0;
		submit(self, event);
		if (!comes_to_wait(1))
			abort();
		usleep(1000);
		hook_place = "watcher_sleep";
		hook_event = event;
		hook_done = 0;
		tg_failpoint_set(come_true_at);
		tg_watcher_poke(); /* it goes round once */
		if (!comes_true(&event->runs, 1) || !pool_stop())
			break;
		tg_failpoint_set(NULL);
	}
	tg_failpoint_set(NULL);
	unit_ok(event->runs == 1 && !tg_scheduler_is_running(), "a poke just before the watcher's sleep is not lost");
	tg_free(self, event, TG_USE_JOB);
}

/* --- exactly once ------------------------------------------------------------------------ */

#define THREADS 4
#define EACH 16
#define SUBMISSIONS 400

typedef struct crowd
{
	event events[(THREADS - 1) * EACH];
	uint32_t working;
	uint32_t late;
	uint32_t doubled;
} crowd;

/* Submits it again, if it has run; its interval or a poke finds it, whichever is first. */
static bool
drive(tg_session *session, event *event, unsigned *submitted, unsigned seed)
{
	uint32_t runs = tg_load_acquire(&event->runs);

	if (runs < *submitted)
		return false;
	if (*submitted == SUBMISSIONS)
		return true;
	tg_store_relaxed(&event->holds, seed % 3 == 0);
	++*submitted;
	submit(session, event);
	tg_store_relaxed(&event->holds, 1);
	if (event->condition.interval_us == 0 || seed % 2 == 0)
		tg_condition_poke();
	return false;
}

static void
drive_or_poke(unsigned number, void *argument)
{
	crowd *crowd = argument;
	tg_session *session = session_open();
	unsigned submitted[EACH] = {0};
	uint64_t end = tg_clock_us() + 3 * SOON_US;
	unsigned done = 0;

	if (number == THREADS - 1)
	{
		while (tg_load_acquire(&crowd->working) > 0)
		{
			tg_condition_poke();
			sched_yield();
		}
	}
	else
	{
		for (unsigned round = 0; done < EACH && tg_clock_us() < end; round++)
		{
			done = 0;
			for (unsigned i = 0; i < EACH; i++)
				done += drive(session, &crowd->events[number * EACH + i], &submitted[i], round + i);
			sched_yield();
		}
		tg_fetch_add_relaxed(&crowd->late, EACH - done);
		tg_fetch_add_acq_rel(&crowd->working, (uint32_t) -1);
	}
	tg_session_close(session);
}

static void
test_once(void)
{
	crowd *crowd = take_zeroed(self, sizeof(struct crowd));

	crowd->working = THREADS - 1;
	for (unsigned i = 0; i < (THREADS - 1) * EACH; i++)
		tg_condition_init(&crowd->events[i].condition, run_event, check_event, i % 2 == 0 ? 0 : 50 + i, NULL);
	pool_start(2);
	unit_threads(THREADS, drive_or_poke, crowd);
	unit_equal(crowd->late, 0, "submitters, pokes and intervals at once: all bodies run");
	for (unsigned i = 0; i < (THREADS - 1) * EACH; i++)
		crowd->doubled += crowd->events[i].runs != SUBMISSIONS;
	unit_equal(crowd->doubled, 0, "each once per submission");
	unit_equal(look().conditions_waiting, 0, "and none waits");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, crowd, TG_USE_JOB);
}

#define MANY 1000

static void
test_thousand(void)
{
	event *events = events_new(MANY, 0);
	uint64_t begin;
	unsigned wrong = 0;
	bool all = true;

	pool_start_quiet(2);
	for (unsigned i = 0; i < MANY; i++)
		submit(self, &events[i]);
	for (unsigned i = 0; i < MANY; i++)
		all = all && comes_true(&events[i].checks, 1);
	unit_ok(all && look().conditions_waiting == MANY, "%d conditions wait, each looked at once", MANY);
	begin = tg_clock_us();
	for (unsigned i = 0; i < MANY; i++)
		tg_store_relaxed(&events[i].holds, 1);
	tg_condition_poke();
	for (unsigned i = 0; i < MANY; i++)
		all = all && comes_true(&events[i].runs, 1);
	unit_ok(all, "one poke, and all run");
	printf("# within %" PRIu64 " us\n", tg_clock_us() - begin);
	unit_ok(pool_stop(), "the pool stops");
	for (unsigned i = 0; i < MANY; i++)
		wrong += events[i].runs != 1;
	unit_equal(wrong, 0, "once");
	tg_free(self, events, TG_USE_JOB);
}

/* Pokes without end, and nearly all of them in vain. */
static void
poke_on(unsigned number, void *argument)
{
	event *events = argument;
	unsigned late = 0;

	if (number > 0)
	{
		while (tg_load_acquire(&events[MANY].holds) == 0)
			tg_condition_poke();
		return;
	}
	for (unsigned i = 0; i < MANY && late == 0; i += 10)
	{
		come_true(&events[i]);
		late += !comes_true(&events[i].runs, 1);
	}
	unit_equal(late, 0, "among pokes without end each that counts is seen");
	for (unsigned i = 0; i < MANY; i++)
		tg_store_relaxed(&events[i].holds, 1);
	tg_store_release(&events[MANY].holds, 1);
	tg_condition_poke();
}

static void
test_storm(void)
{
	event *events = events_new(MANY + 1, 0);
	unsigned wrong = 0;

	pool_start_quiet(1);
	for (unsigned i = 0; i < MANY; i++)
		submit(self, &events[i]);
	unit_threads(2, poke_on, events);
	for (unsigned i = 0; i < MANY; i++)
		wrong += !comes_true(&events[i].runs, 1);
	unit_equal(wrong, 0, "and all run in the end");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, events, TG_USE_JOB);
}

/* --- other processes ------------------------------------------------------------------------- */

typedef struct shared_event
{
	event event;
	uint32_t pool_is_up;
	uint32_t submitted;
} shared_event;

/* One child submits, another one pokes; both forked before the pool has threads. */
static void
test_processes(void)
{
	shared_event *shared = take_zeroed(self, sizeof(shared_event));
	pid_t children[2];
	bool ended = true;

	tg_condition_init(&shared->event.condition, run_event, check_event, 0, NULL);
	for (unsigned i = 0; i < 2; i++)
	{
		children[i] = fork();
		if (children[i] != 0)
			continue;
		if (i == 0 && comes_true(&shared->pool_is_up, 1))
		{
			submit(session_open(), &shared->event);
			tg_store_release(&shared->submitted, 1);
		}
		else if (i == 1 && comes_true(&shared->submitted, 1))
		{
			usleep(1000);
			come_true(&shared->event);
		}
		_exit(0);
	}
	pool_start_quiet(1);
	tg_store_release(&shared->pool_is_up, 1);
	unit_ok(comes_true(&shared->event.runs, 1), "submitted by one process, poked by another, run by a third");
	for (unsigned i = 0; i < 2; i++)
	{
		int status;

		ended = ended && waitpid(children[i], &status, 0) == children[i] && status == 0;
	}
	unit_ok(ended && pool_stop(), "all end");
	tg_free(self, shared, TG_USE_JOB);
}

/* --- jobs, stop and start ----------------------------------------------------------- */

typedef struct waiting_job
{
	tg_task first;
	event events[8];
	uint32_t torn_down;
	uint32_t runs_seen; /* by the teardown */
} waiting_job;

/* Its worker looks at them for a while, then the watcher. */
static tg_turn
run_submitting(tg_task *task, tg_worker *worker)
{
	waiting_job *job = (waiting_job *) task;

	for (unsigned i = 0; i < 8; i++)
	{
		if (tg_condition_submit(tg_worker_session(worker), worker, &job->events[i].condition) != TG_OK)
			abort();
	}
	return TG_TURN_DONE;
}

static void
tear_down(tg_job *job, tg_session *session)
{
	waiting_job *argument = tg_job_argument(job);

	for (unsigned i = 0; i < 8; i++)
		argument->runs_seen += argument->events[i].runs;
	tg_store_release(&argument->torn_down, 1);
}

static tg_job *
job_start(waiting_job *argument, const char *kind, uint32_t interval_us)
{
	tg_job_config config = {.kind = kind, .level = 60, .argument = argument, .teardown = tear_down};
	tg_job *job;

	if (tg_job_create(self, &config, &job) != TG_OK)
		abort();
	tg_task_init(&argument->first, run_submitting, job);
	for (unsigned i = 0; i < 8; i++)
		tg_condition_init(&argument->events[i].condition, run_event, check_event, interval_us, job);
	if (tg_job_start(self, job, &argument->first) != TG_OK)
		abort();
	return job;
}

static void
test_job(void)
{
	waiting_job *argument = take_zeroed(self, sizeof(waiting_job));
	tg_job *job;

	pool_start_quiet(2);
	job = job_start(argument, "waits", 0);
	unit_ok(comes_to_wait(8) && tg_job_state_get(job) == TG_JOB_RUNNING, "a job goes on while conditions of it wait");
	for (unsigned i = 0; i < 8; i++)
		tg_store_relaxed(&argument->events[i].holds, 1);
	tg_condition_poke();
	unit_ok(comes_true(&argument->torn_down, 1) && argument->runs_seen == 8, "and ends after the last body");
	tg_job_release(self, job);

	memset(argument, 0, sizeof(*argument));
	job = job_start(argument, "is cancelled", 0);
	unit_ok(comes_to_wait(8), "conditions of a job wait");
	tg_job_cancel(self, job);
	unit_ok(comes_true(&argument->torn_down, 1) && argument->runs_seen == 8, "cancelled, each body runs, and it ends");
	tg_job_release(self, job);

	memset(argument, 0, sizeof(*argument));
	job = job_start(argument, "is stopped", 0);
	unit_ok(comes_to_wait(8), "conditions of a job wait");
	unit_ok(pool_stop() && argument->torn_down == 1 && argument->runs_seen == 8, "when the pool stops, too");
	tg_job_release(self, job);
	tg_free(self, argument, TG_USE_JOB);
}

static void
test_stop_and_start(void)
{
	event *events = events_new(2, 0);

	unit_ok(tg_condition_submit(self, NULL, &events[0].condition) == TG_STOPPED, "refused without a pool");
	pool_start_quiet(1);
	submit(self, &events[0]);
	submit(self, &events[1]);
	unit_ok(comes_to_wait(2) && pool_stop(), "the pool stops while conditions without a job wait");
	come_true(&events[0]);
	unit_ok(events[0].runs == 0 && look().conditions_waiting == 2, "they go on waiting, even if they come true");
	pool_start_quiet(1);
	unit_ok(comes_true(&events[0].runs, 1) && events[1].runs == 0, "when it starts again what has come true runs");
	come_true(&events[1]);
	unit_ok(comes_true(&events[1].runs, 1) && pool_stop(), "and the other one in its time");
	tg_free(self, events, TG_USE_JOB);
}

/* --- slow checks -------------------------------------------------------------------- */

static unsigned
messages_that_say(const char *what)
{
	char text[256];
	unsigned count = 0;

	while (tg_host_message_next(text, sizeof(text)))
	{
		count += strstr(text, what) != NULL;
		printf("# %s\n", text);
	}
	return count;
}

static bool
slow_checks_come_to(uint64_t count)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (look().conditions_slow < count && tg_clock_us() < end)
		usleep(1000);
	return look().conditions_slow >= count;
}

static void
test_slow(void)
{
	waiting_job *argument = take_zeroed(self, sizeof(waiting_job));
	tg_job *job;
	uint64_t slow;

	argument->events[3].slow_us = 300;
	pool_start(1);
	slow = look().conditions_slow;
	job = job_start(argument, "is slow", 1000);
	unit_ok(slow_checks_come_to(slow + 10), "checks beyond their budget are counted");
	unit_equal(messages_that_say("a condition of job"), 1, "and reported once, with their job");
	unit_ok(slow_checks_come_to(slow + 20), "they go on");
	unit_equal(messages_that_say("(is slow)"), 0, "but not the report");
	tg_job_cancel(self, job);
	unit_ok(comes_true(&argument->torn_down, 1) && pool_stop(), "the pool stops");
	tg_job_release(self, job);
	tg_free(self, argument, TG_USE_JOB);
}

/* --- the watcher's rest ------------------------------------------------------------- */

/* What a window of half a second or more has of the watcher. */
typedef struct rest
{
	uint64_t half_seconds; /* rounded up */
	uint64_t ticks;
	uint64_t checks;
} rest;

static rest
watch_rest(void)
{
	tg_scheduler_report before = look();
	uint64_t began = tg_clock_us();
	tg_scheduler_report after;

	usleep(500000);
	after = look();
	return (rest){(tg_clock_us() - began) / 500000 + 1, after.ticks - before.ticks,
				  after.condition_checks - before.condition_checks};
}

/* Whether the watcher comes to rest, and then looks at conditions between least and most times. */
static bool
comes_to_rest(uint64_t least, uint64_t most)
{
	for (uint64_t end = tg_clock_us() + SOON_US; tg_clock_us() < end;)
	{
		rest seen = watch_rest();

		if (seen.ticks <= 10 * seen.half_seconds && seen.checks >= least && seen.checks <= most * seen.half_seconds)
			return true;
	}
	return false;
}

static void
test_rest(void)
{
	event *events = events_new(2, 0);

	pool_start(2);
	tg_condition_init(&events[1].condition, run_event, check_event, 20000, NULL);
	submit(self, &events[0]);
	unit_ok(comes_to_wait(1) && pool_sleeps_soon(), "one condition waits for a poke, in an idle pool");
	unit_ok(comes_to_rest(0, 0), "the watcher sleeps deep, and does not look");
	submit(self, &events[1]);
	unit_ok(comes_to_wait(2), "another one has an interval of 20 ms");
	unit_ok(comes_to_rest(5, 26), "at which it is looked, not at the other one, and without more ticks");
	tg_store_relaxed(&events[1].holds, 1);
	unit_ok(comes_true(&events[1].runs, 1), "it runs without a poke");
	come_true(&events[0]);
	unit_ok(comes_true(&events[0].runs, 1) && pool_stop(), "the other one with one");
	tg_free(self, events, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	test_ping_pong(1);
	test_ping_pong(2);
	test_poke_at_arrival();
	test_poke_after_arrival();
	test_poke_at_sleep();
	test_once();
	test_thousand();
	test_storm();
	test_processes();
	test_job();
	test_stop_and_start();
	test_slow();
	test_rest();
	server_end();
	return unit_done();
}
