/*
 * submit.c
 *	  Submissions: their destination, the worker that they wake, and their order.
 *
 * Sticky tasks write down which worker runs them, in which order, and whether two of one worker
 * ever run at once; others are hungry meanwhile, and the tasks yield and park.  Urgent ones meet a
 * pool asleep, where exactly one worker may wake, and a busy worker with a full inbox and deque,
 * where they must be next.  Inboxes report the tasks that came to them, with and without a
 * preferred worker.
 */
#include "runtime/sched/wake.h"

#include "runtime/base/check.h"
#include "test/unit/gate.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

/* --- a task that keeps its worker busy -------------------------------------------- */

typedef struct holding
{
	tg_task task;
	uint32_t started;
	uint32_t may_end;
	uint32_t ended;
} holding;

static tg_turn
run_holding(tg_task *task, tg_worker *worker)
{
	holding *holding = (struct holding *) task;

	tg_store_release(&holding->started, 1);
	(void) comes_true(&holding->may_end, 1);
	tg_store_release(&holding->ended, 1);
	return TG_TURN_DONE;
}

/* Keeps this worker busy until hold_end. */
static holding *
hold(unsigned worker)
{
	holding *holding = take_zeroed(self, sizeof(struct holding));

	tg_task_init(&holding->task, run_holding, NULL);
	if (tg_task_submit_sticky(self, worker, &holding->task) != TG_OK || !comes_true(&holding->started, 1))
		abort();
	return holding;
}

static void
hold_end(holding *holding)
{
	tg_store_release(&holding->may_end, 1);
	if (!comes_true(&holding->ended, 1))
		abort();
	tg_free(self, holding, TG_USE_JOB);
}

/* --- sticky ------------------------------------------------------------------------- */

#define STICKIES 3000
#define HOMES 2

typedef struct home
{
	uint32_t running;
	uint32_t overlaps;
	uint32_t strangers;
	uint32_t disorder;
	uint32_t next;
	uint32_t *total;
} home;

typedef struct sticky
{
	tg_task task;
	home *home;
	uint32_t worker;
	uint32_t number;
	uint32_t turns;
} sticky;

/* Of three, one yields once, and one parks once. */
static tg_turn
run_sticky(tg_task *task, tg_worker *worker)
{
	sticky *sticky = (struct sticky *) task;
	home *home = sticky->home;
	bool first = sticky->turns++ == 0;
	bool stays = first && sticky->number % 3 != 0;

	if (tg_fetch_add_acq_rel(&home->running, 1) != 0)
		home->overlaps++;
	if (worker->id != sticky->worker)
		home->strangers++;
	if (first && sticky->number != home->next++)
		home->disorder++;
	if (tg_fetch_add_acq_rel(&home->running, (uint32_t) -1) != 1)
		home->overlaps++;
	if (stays)
		return sticky->number % 3 == 1 ? TG_TURN_AGAIN : TG_TURN_PARK;
	tg_fetch_add_acq_rel(home->total, 1);
	return TG_TURN_DONE;
}

typedef struct stickies
{
	home homes[HOMES];
	uint32_t total;
	sticky tasks[HOMES][STICKIES];
} stickies;

static void
submit_stickies(unsigned number, void *argument)
{
	stickies *stickies = argument;
	tg_session *session = session_open();

	for (uint32_t i = 0; i < STICKIES; i++)
	{
		sticky *sticky = &stickies->tasks[number][i];

		*sticky = (struct sticky){.home = &stickies->homes[number], .worker = number, .number = i};
		tg_task_init(&sticky->task, run_sticky, NULL);
		tg_check(tg_task_submit_sticky(session, number, &sticky->task) == TG_OK);
		if (i % 100 == 0)
			usleep(100);
	}
	for (uint32_t i = 2; i < STICKIES; i += 3)
	{
		if (!comes_true(&stickies->tasks[number][i].task.state, TG_PARK_PARKED))
			break;
		tg_task_unpark(session, &stickies->tasks[number][i].task);
	}
	tg_session_close(session);
}

static void
test_sticky(bool stealing)
{
	stickies *stickies = take_zeroed(self, sizeof(struct stickies));
	tg_scheduler_settings settings = tg_scheduler_settings_default(4);
	tg_worker_report before[4];
	tg_worker_report after[4];
	uint64_t run = 0;

	pool_start(4);
	settings.stealing = stealing;
	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	tg_scheduler_settings_set(&settings);
	for (unsigned i = 0; i < HOMES; i++)
		stickies->homes[i].total = &stickies->total;
	for (unsigned i = 0; i < 4; i++)
		tg_worker_report_get(i, &before[i]);
	unit_threads(HOMES, submit_stickies, stickies);
	unit_ok(comes_true(&stickies->total, HOMES * STICKIES), "sticky tasks all run, stealing %s",
			stealing ? "on" : "off");
	for (unsigned i = 0; i < HOMES; i++)
	{
		const home *home = &stickies->homes[i];

		unit_ok(home->strangers == 0 && home->overlaps == 0, "those of worker %u on that one only, after a yield too",
				i);
		unit_ok(home->disorder == 0 && home->next == STICKIES, "in order");
	}
	unit_ok(pool_sleeps_soon(), "the pool sleeps");
	for (unsigned i = 0; i < 4; i++)
	{
		tg_worker_report_get(i, &after[i]);
		run += after[i].sticky_run - before[i].sticky_run;
	}
	unit_equal(run, HOMES * STICKIES * 5 / 3, "each turn is counted");
	unit_ok(after[2].sticky_run == before[2].sticky_run && after[3].sticky_run == before[3].sticky_run,
			"and none is another worker's");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, stickies, TG_USE_JOB);
}

/* A worker in a long task keeps its sticky tasks, and only those. */
static void
test_long_task(void)
{
	counting *tasks = take_zeroed(self, sizeof(counting) * 3);
	uint32_t sticky_total = 0;
	uint32_t total = 0;
	holding *holding;

	pool_start(3);
	counting_init(&tasks[0], &sticky_total);
	counting_init(&tasks[1], &total);
	counting_init(&tasks[2], &total);
	holding = hold(self->id % 3);
	if (tg_task_submit_sticky(self, self->id % 3, &tasks[0].task) != TG_OK ||
		tg_task_submit(self, NULL, &tasks[1].task) != TG_OK || tg_task_submit(self, NULL, &tasks[2].task) != TG_OK)
		abort();
	unit_ok(comes_true(&total, 2), "others take what is in the inbox of a worker inside a long task");
	unit_ok(tg_load_acquire(&sticky_total) == 0, "but not what is in its sticky queue");
	hold_end(holding);
	unit_ok(comes_true(&sticky_total, 1), "the sticky task runs after it");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, tasks, TG_USE_JOB);
}

/* A task whose home is missing because the next pool is smaller. */
static void
test_smaller_pool(void)
{
	stickies *stickies = take_zeroed(self, sizeof(struct stickies));
	sticky *sticky = &stickies->tasks[0][0];

	stickies->homes[0].total = &stickies->total;
	*sticky = (struct sticky){.home = &stickies->homes[0], .worker = 3, .number = 2};
	stickies->homes[0].next = 2;
	tg_task_init(&sticky->task, run_sticky, NULL);
	unit_ok(tg_task_submit_sticky(self, 3, &sticky->task) == TG_STOPPED, "a stopped pool takes no sticky task");
	pool_start(4);
	if (tg_task_submit_sticky(self, 3, &sticky->task) != TG_OK)
		abort();
	unit_ok(comes_true(&sticky->task.state, TG_PARK_PARKED), "a sticky task parks");
	unit_ok(pool_stop(), "the pool stops");
	tg_task_unpark(self, &sticky->task);
	sticky->worker = 1;
	pool_start(2);
	unit_ok(comes_true(&stickies->total, 1) && stickies->homes[0].strangers == 0,
			"unparked without a pool, it runs on another worker of a smaller one");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, stickies, TG_USE_JOB);
}

/* --- urgent ------------------------------------------------------------------------------ */

typedef struct witness
{
	tg_task task;
	uint32_t *clock; /* counts tasks */
	uint32_t when;
	uint32_t who;
} witness;

static tg_turn
run_witness(tg_task *task, tg_worker *worker)
{
	witness *witness = (struct witness *) task;

	witness->who = worker->id;
	witness->when = tg_fetch_add_acq_rel(witness->clock, 1) + 1;
	return TG_TURN_DONE;
}

static uint64_t
suspensions(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < tg_worker_count(); i++)
	{
		tg_worker_report report;

		tg_worker_report_get(i, &report);
		sum += report.suspensions;
	}
	return sum;
}

static void
test_urgent_asleep(void)
{
	witness *witness = take_zeroed(self, sizeof(struct witness));
	uint32_t clock = 0;
	unsigned woken = 0;
	bool good = true;
	tg_scheduler_report before;
	tg_scheduler_report after;

	pool_start(4);
	tg_scheduler_report_get(&before);
	for (unsigned i = 0; good && i < 100; i++)
	{
		uint64_t count;

		good = pool_sleeps_soon();
		count = suspensions();
		witness->clock = &clock;
		tg_task_init(&witness->task, run_witness, NULL);
		good = tg_task_submit_urgent(self, &witness->task) == TG_OK && comes_true(&clock, i + 1) && good;
		good = pool_sleeps_soon() && good;
		woken += (unsigned) (suspensions() - count);
	}
	tg_scheduler_report_get(&after);
	unit_ok(good, "urgent tasks to a sleeping pool run");
	/* one that is about to sleep may see the task on its last look, and sleep once more */
	unit_ok(woken >= 100 && woken < 120, "and wake one worker each (%u)", woken);
	unit_equal(after.submitted_urgent - before.submitted_urgent, 100, "they are counted");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, witness, TG_USE_JOB);
}

#define CROWD 200

typedef struct spawning
{
	tg_task task;
	witness *children;
	uint32_t started;
	uint32_t may_end;
} spawning;

static tg_turn
run_spawning(tg_task *task, tg_worker *worker)
{
	spawning *spawning = (struct spawning *) task;

	for (unsigned i = 0; i < CROWD; i++)
		tg_check(tg_task_submit(tg_worker_session(worker), worker, &spawning->children[i].task) == TG_OK);
	tg_store_release(&spawning->started, 1);
	(void) comes_true(&spawning->may_end, 1);
	return TG_TURN_DONE;
}

static void
test_urgent_busy(void)
{
	spawning *spawning = take_zeroed(self, sizeof(struct spawning));
	witness *witnesses = take_zeroed(self, sizeof(witness) * (2 * CROWD + 1));
	witness *urgent = &witnesses[2 * CROWD];
	uint32_t clock = 0;

	pool_start(1);
	for (unsigned i = 0; i <= 2 * CROWD; i++)
	{
		witnesses[i].clock = &clock;
		tg_task_init(&witnesses[i].task, run_witness, NULL);
	}
	spawning->children = witnesses;
	tg_task_init(&spawning->task, run_spawning, NULL);
	if (tg_task_submit(self, NULL, &spawning->task) != TG_OK || !comes_true(&spawning->started, 1))
		abort();
	for (unsigned i = CROWD; i < 2 * CROWD; i++)
	{
		if (tg_task_submit(self, NULL, &witnesses[i].task) != TG_OK)
			abort();
	}
	if (tg_task_submit_urgent(self, &urgent->task) != TG_OK)
		abort();
	tg_store_release(&spawning->may_end, 1);
	unit_ok(comes_true(&clock, 2 * CROWD + 1), "a busy worker runs all");
	unit_ok(urgent->when <= 2, "an urgent task is next, before its deque and its inbox (number %u)", urgent->when);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, spawning, TG_USE_JOB);
	tg_free(self, witnesses, TG_USE_JOB);
}

/* --- preferred worker --------------------------------------------------------------- */

static void
test_preferred(bool preferred)
{
	counting *tasks = take_zeroed(self, sizeof(counting) * 30);
	tg_scheduler_settings settings = tg_scheduler_settings_default(3);
	uint64_t before[3];
	unsigned inboxes = 0;
	uint64_t most = 0;
	uint32_t total = 0;

	pool_start(3);
	settings.preferred_worker = preferred;
	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	tg_scheduler_settings_set(&settings);
	for (unsigned i = 0; i < 3; i++)
		before[i] = tg_load_relaxed(&tg_scheduler_shared->workers[i].inbox.accepted);
	for (unsigned i = 0; i < 30; i++)
	{
		counting_init(&tasks[i], &total);
		if (tg_task_submit(self, NULL, &tasks[i].task) != TG_OK)
			abort();
	}
	unit_ok(comes_true(&total, 30), "tasks of one session run");
	for (unsigned i = 0; i < 3; i++)
	{
		uint64_t count = tg_load_relaxed(&tg_scheduler_shared->workers[i].inbox.accepted) - before[i];

		inboxes += count > 0;
		most = count > most ? count : most;
	}
	if (preferred)
		unit_ok(inboxes == 1 && most == 30, "with a preferred worker they go to one inbox");
	else
		unit_ok(inboxes == 3 && most == 10, "without one to each in turn");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, tasks, TG_USE_JOB);
}

/* --- from any mix of threads -------------------------------------------------------- */

#define SUBMITTERS 3
#define SUBMISSIONS 4000

typedef struct mixed
{
	tg_task task;
	struct mix *mix;
	uint32_t number;
	uint32_t turns;
	uint32_t done;
} mixed;

typedef struct mix
{
	uint32_t total;
	mixed tasks[SUBMITTERS][SUBMISSIONS];
	mixed children[SUBMITTERS * SUBMISSIONS];
} mix;

static tg_turn
run_mixed_child(tg_task *task, tg_worker *worker)
{
	mixed *mixed = (struct mixed *) task;

	tg_fetch_add_relaxed(&mixed->done, 1);
	tg_fetch_add_acq_rel(&mixed->mix->total, 1);
	return TG_TURN_DONE;
}

/* Spawns a child, yields, parks, or just ends. */
static tg_turn
run_mixed(tg_task *task, tg_worker *worker)
{
	mixed *mixed = (struct mixed *) task;
	mix *mix = mixed->mix;
	struct mixed *child = &mix->children[mixed->number];
	uint32_t turn = tg_fetch_add_relaxed(&mixed->turns, 1);

	if (turn == 0)
	{
		child->mix = mix;
		tg_task_init(&child->task, run_mixed_child, NULL);
		tg_check(tg_task_submit(tg_worker_session(worker), worker, &child->task) == TG_OK);
		if (mixed->number % 4 == 1)
			return TG_TURN_AGAIN;
		if (mixed->number % 4 == 2)
			return TG_TURN_PARK;
	}
	tg_fetch_add_relaxed(&mixed->done, 1);
	tg_fetch_add_acq_rel(&mix->total, 1);
	return TG_TURN_DONE;
}

static void
submit_mix(unsigned number, void *argument)
{
	mix *mix = argument;
	tg_session *session = session_open();

	for (unsigned i = 0; i < SUBMISSIONS; i++)
	{
		mixed *mixed = &mix->tasks[number][i];
		tg_status status;

		mixed->mix = mix;
		mixed->number = number * SUBMISSIONS + i;
		tg_task_init(&mixed->task, run_mixed, NULL);
		if (i % 5 == 0)
			status = tg_task_submit_sticky(session, i % 3, &mixed->task);
		else if (i % 5 == 1)
			status = tg_task_submit_urgent(session, &mixed->task);
		else
			status = tg_task_submit(session, NULL, &mixed->task);
		tg_check(status == TG_OK);
		if (mixed->number % 4 == 2) /* races with its first turn */
		{
			while (tg_load_relaxed(&mixed->turns) == 0)
				gate_stumble();
			tg_task_unpark(session, &mixed->task);
		}
	}
	tg_session_close(session);
}

static bool
stumble_hook(const char *name)
{
	gate_stumble();
	return false;
}

static void
test_mix(tg_distributor mode, bool stealing)
{
	mix *mix = take_zeroed(self, sizeof(struct mix));
	tg_scheduler_settings settings = tg_scheduler_settings_default(3);
	unsigned wrong = 0;

	settings.stealing = stealing;
	settings.distributor = mode;
	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
	tg_failpoint_set(stumble_hook);
	unit_threads(SUBMITTERS, submit_mix, mix);
	unit_ok(comes_true(&mix->total, 2 * SUBMITTERS * SUBMISSIONS),
			"mode %d, stealing %s: tasks of every kind, and their children, all run", (int) mode,
			stealing ? "on" : "off");
	for (unsigned i = 0; i < SUBMITTERS * SUBMISSIONS; i++)
		wrong += mix->tasks[i / SUBMISSIONS][i % SUBMISSIONS].done != 1 || mix->children[i].done != 1;
	unit_equal(wrong, 0, "each of them once");
	tg_failpoint_set(NULL);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, mix, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	test_sticky(true);
	test_sticky(false);
	test_long_task();
	test_smaller_pool();
	test_urgent_asleep();
	test_urgent_busy();
	test_preferred(true);
	test_preferred(false);
	for (tg_distributor mode = TG_DISTRIBUTOR_OFF; mode <= TG_DISTRIBUTOR_THREAD; mode++)
		test_mix(mode, true);
	test_mix(TG_DISTRIBUTOR_WORKER, false);
	server_end();
	return unit_done();
}
