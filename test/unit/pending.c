/*
 * pending.c
 *	  Pending lists: bounded rounds, sixteen misses, and nothing lost when the
 *	  worker sleeps, ends, or stays in one task.
 *
 * The list by itself is checked on a worker that has no thread, where each check
 * can be counted.  Live, the watcher's tick is longer than any test may take: a
 * condition that got lost shows as a test that does not end in time.
 */
#include "runtime/sched/pending.h"

#include "runtime/sched/worker.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

#ifdef __SANITIZE_THREAD__
#define ROUNDS 5000
#else
#define ROUNDS 10000
#endif

typedef struct event
{
	tg_condition condition; /* first */
	uint32_t holds;
	uint32_t runs;
	uint32_t checks;
	bool by_worker; /* the last check was on a worker's thread */
	pthread_t worker;
} event;

static bool
check_event(tg_condition *condition, tg_session *session)
{
	event *event = (struct event *) condition;

	tg_store_relaxed(&event->by_worker, pthread_equal(pthread_self(), event->worker));
	tg_fetch_add_relaxed(&event->checks, 1);
	return tg_load_relaxed(&event->holds) != 0;
}

static tg_turn
run_event(tg_task *task, tg_worker *worker)
{
	tg_fetch_add_acq_rel(&((event *) task)->runs, 1);
	return TG_TURN_DONE;
}

static event *
events_new(unsigned count)
{
	event *events = take_zeroed(self, count * sizeof(event));

	for (unsigned i = 0; i < count; i++)
		tg_condition_init(&events[i].condition, run_event, check_event, 0, NULL);
	return events;
}

static uint64_t
waiting_count(void)
{
	tg_scheduler_report report;

	tg_scheduler_report_get(&report);
	return report.conditions_waiting;
}

/* Its workers look for tasks so many rounds before they sleep. */
static void
pool_start_trying(unsigned workers, unsigned try_count)
{
	tg_scheduler_settings settings = settings_quiet(workers);

	settings.worker_try_count = try_count;
	pool_start_as(&settings);
}

/* --- the list ---------------------------------------------------------------------------- */

#define MANY 20

static uint32_t
checks_sum(const event *events)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < MANY; i++)
		sum += events[i].checks;
	return sum;
}

static void
test_rounds(tg_worker *worker)
{
	event *events = events_new(MANY);
	uint32_t last = 0;
	unsigned rounds = 0;
	bool bounded = true;
	bool fair = true;

	unit_ok(tg_pending_is_empty(&worker->pending) && !tg_pending_scan(worker), "nothing is pending");
	for (unsigned i = 0; i < MANY; i++)
	{
		if (tg_condition_submit(self, worker, &events[i].condition) != TG_OK)
			abort();
	}
	unit_ok(worker->pending.count == MANY && checks_sum(events) == 0, "a submission checks nothing by itself");
	for (; !tg_pending_is_empty(&worker->pending) && rounds < 1000; rounds++)
	{
		uint32_t sum;

		if (tg_pending_scan(worker))
			abort();
		sum = checks_sum(events);
		bounded = bounded && sum - last <= 8;
		last = sum;
		for (unsigned i = 0; i < MANY; i++)
			fair = fair && events[i].checks <= events[0].checks && events[i].checks + 1 >= events[0].checks;
	}
	unit_ok(bounded, "a round runs 8 checks at most");
	unit_ok(fair, "in turns");
	unit_ok(last == 16 * MANY && rounds == 16 * MANY / 8, "after 16 misses each has left");
	unit_equal(waiting_count(), MANY, "for the watcher");
	pool_start_trying(1, 1000); /* takes them */
	for (unsigned i = 0; i < MANY; i++)
		tg_store_relaxed(&events[i].holds, 1);
	tg_condition_poke();
	for (unsigned i = 0; i < MANY; i++)
		(void) comes_true(&events[i].runs, 1);
	unit_ok(pool_stop(), "the pool stops");
	for (unsigned i = 0; i < MANY; i++)
		last += events[i].runs;
	unit_equal(last, 17 * MANY, "and each body runs once");
	tg_free(self, events, TG_USE_JOB);
}

static void
test_ready(tg_worker *worker)
{
	event *events = events_new(3);

	for (unsigned i = 0; i < 3; i++)
	{
		if (tg_condition_submit(self, worker, &events[i].condition) != TG_OK)
			abort();
	}
	events[1].holds = 1;
	unit_ok(tg_pending_scan(worker) == &events[1].condition.task, "a round hands out the first body that is ready");
	unit_ok(events[2].checks == 0 && worker->pending.count == 2, "and leaves the rest for the next one");
	if (tg_condition_submit(self, worker, &events[1].condition) != TG_OK)
		abort();
	unit_ok(tg_pending_scan(worker) == &events[1].condition.task, "it can be submitted again then");
	tg_pending_flush(worker);
	unit_ok(tg_pending_is_empty(&worker->pending) && waiting_count() == 2,
			"a flush gives all that are left to the watcher");
	events[0].holds = events[2].holds = 1;
	pool_start_trying(1, 1000);
	unit_ok(comes_true(&events[0].runs, 1) && comes_true(&events[2].runs, 1) && pool_stop(),
			"and the watcher finds them ready");
	tg_free(self, events, TG_USE_JOB);
}

/* --- live ---------------------------------------------------------------------------------- */

/* A task that submits conditions. */
typedef struct parent
{
	tg_task task;
	event *events;
	unsigned count;
	bool stays; /* in its task, politely, until the body has run */
	uint32_t may_end;
	uint32_t ended;
} parent;

static tg_turn
run_parent(tg_task *task, tg_worker *worker)
{
	parent *parent = (struct parent *) task;
	uint64_t end = tg_clock_us() + 2 * SOON_US;

	for (unsigned i = 0; i < parent->count; i++)
	{
		parent->events[i].worker = pthread_self();
		if (tg_condition_submit(tg_worker_session(worker), worker, &parent->events[i].condition) != TG_OK)
			abort();
	}
	if (parent->stays)
	{
		while (tg_load_acquire(&parent->events[0].runs) == 0 && tg_clock_us() < end)
			(void) tg_should_yield(worker);
	}
	tg_store_release(&parent->ended, 1);
	return TG_TURN_DONE;
}

static void
submit_parent(parent *parent, event *events, unsigned count)
{
	parent->events = events;
	parent->count = count;
	parent->ended = 0;
	tg_task_init(&parent->task, run_parent, NULL);
	if (tg_task_submit(self, NULL, &parent->task) != TG_OK)
		abort();
}

static void
test_by_worker(void)
{
	parent *parent = take_zeroed(self, sizeof(struct parent));
	event *events = events_new(1);

	pool_start_trying(1, 1000);
	events->holds = 1;
	submit_parent(parent, events, 1);
	unit_ok(comes_true(&events->runs, 1), "a condition that a task submits, and that holds, runs");
	unit_ok(events->by_worker && events->checks == 1, "without the watcher");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, events, TG_USE_JOB);
	tg_free(self, parent, TG_USE_JOB);
}

/* It comes true while the worker looks, moves it, goes to sleep or sleeps. */
static void
test_suspend(unsigned workers, unsigned try_count)
{
	parent *parent = take_zeroed(self, sizeof(struct parent));
	event *events = events_new(3);
	unsigned by_worker = 0;
	bool answered = true;

	pool_start_trying(workers, try_count);
	for (unsigned i = 0; answered && i < ROUNDS; i++)
	{
		for (unsigned j = 0; j < 3; j++)
			events[j].holds = j == 0 && i % 4 == 1;
		submit_parent(parent, events, 3);
		answered = comes_true(&parent->ended, 1);
		if (i % 256 == 0)
			(void) pool_sleeps_soon();
		for (unsigned pause = i * 37 % 1499; pause > 0; pause--)
			tg_pause();
		for (unsigned j = 0; j < 3; j++)
			tg_store_relaxed(&events[j].holds, 1);
		tg_condition_poke();
		for (unsigned j = 0; j < 3; j++)
			answered = answered && comes_true(&events[j].runs, i + 1);
		by_worker += tg_load_relaxed(&events[0].by_worker);
	}
	unit_ok(answered, "%u workers: %d times three conditions, none lost when the worker suspends itself", workers,
			ROUNDS);
	unit_ok(by_worker > 0 && by_worker < ROUNDS, "%u workers: %u of the first ones ran from its list", workers,
			by_worker);
	unit_ok(events[0].runs + events[1].runs + events[2].runs == 3 * ROUNDS, "%u workers: each once", workers);
	unit_ok(pool_stop() && waiting_count() == 0, "%u workers: the pool stops", workers);
	tg_free(self, events, TG_USE_JOB);
	tg_free(self, parent, TG_USE_JOB);
}

/* The worker that has them stays in a task: told to yield, it lets them go. */
static void
test_long_task(void)
{
	parent *parent = take_zeroed(self, sizeof(struct parent));
	event *events = events_new(1);

	pool_start(2);
	parent->stays = true;
	submit_parent(parent, events, 1);
	usleep(20000);
	unit_ok(tg_load_relaxed(&events->checks) == 0 || !tg_load_relaxed(&events->by_worker),
			"a worker inside a task does not look at its list");
	tg_store_relaxed(&events->holds, 1);
	tg_condition_poke();
	unit_ok(comes_true(&events->runs, 1) && comes_true(&parent->ended, 1), "but a long polite task gives it away");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, events, TG_USE_JOB);
	tg_free(self, parent, TG_USE_JOB);
}

/* The pool stops with conditions pending: the next one has them. */
static void
test_end(void)
{
	parent *parent = take_zeroed(self, sizeof(struct parent));
	event *events = events_new(5);
	bool all = true;

	pool_start_trying(2, 1000);
	submit_parent(parent, events, 5);
	unit_ok(pool_stop() && parent->ended == 1, "the pool stops just after a task has submitted conditions");
	unit_equal(waiting_count(), 5, "they wait at the watcher");
	for (unsigned i = 0; i < 5; i++)
		tg_store_relaxed(&events[i].holds, 1);
	tg_condition_poke();
	pool_start_trying(2, 1000);
	for (unsigned i = 0; i < 5; i++)
		all = all && comes_true(&events[i].runs, 1);
	unit_ok(all && pool_stop(), "and run with the next one");
	tg_free(self, events, TG_USE_JOB);
	tg_free(self, parent, TG_USE_JOB);
}

int
main(void)
{
	tg_worker *worker;

	server_start();
	worker = take_zeroed(self, sizeof(tg_worker));
	worker->session = self;
	test_rounds(worker);
	test_ready(worker);
	tg_free(self, worker, TG_USE_JOB);
	test_by_worker();
	test_suspend(1, 1000); /* the last miss comes first */
	test_suspend(2, 4);	   /* the end of the search comes first */
	test_long_task();
	test_end();
	server_end();
	return unit_done();
}
