/*
 * wake.c
 *	  Sleep and waking, with and without a distributor: no wake-up is lost.
 *
 * A suspension lasts longer than any test may take, so a task that is left lying
 * shows as one that does not run in time.
 *	- A worker is stopped by a failpoint at each place on its way to sleep and
 *	  back, and work of each kind comes meanwhile: from outside, urgent, sticky,
 *	  unparked, and pushed by another worker.
 *	- Likewise the distributor, at each place of its work.
 *	- A task pushes children that must all run at once, so that every worker is
 *	  needed, while its own worker is busy: from any state of the others, and
 *	  with threads that stumble at random failpoints.
 *	- The distributor is counted where it begins and ends: there are never two.
 */
#include "runtime/sched/wake.h"

#include "runtime/base/check.h"
#include "test/unit/gate.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

#define WORKERS_MAX 4

static const char *const mode_names[] = {
	[TG_DISTRIBUTOR_OFF] = "no distributor",
	[TG_DISTRIBUTOR_WORKER] = "a worker as distributor",
	[TG_DISTRIBUTOR_THREAD] = "a distributing thread",
};

static void
mode_start(unsigned workers, tg_distributor mode)
{
	settings_set(workers, SUSPEND_LONG_MS, SOON_US / 1000);
	tg_settings_live.distributor = mode;
	if (tg_scheduler_start() != TG_OK)
		abort();
}

/* --- failpoints: a gate, stumbling, and counting distributors -------------------- */

static bool stumbling;
static uint32_t distributing;
static uint32_t distributing_max;

static bool
hook(const char *name)
{
	if (strcmp(name, "distribute.begin") == 0)
	{
		uint32_t now = tg_fetch_add_acq_rel(&distributing, 1) + 1;

		if (now > tg_load_relaxed(&distributing_max))
			tg_store_relaxed(&distributing_max, now);
	}
	else if (strcmp(name, "distribute.end") == 0)
		tg_fetch_add_acq_rel(&distributing, (uint32_t) -1);
	gate_wait(name);
	if (tg_load_relaxed(&stumbling))
		gate_stumble();
	return false;
}

/* --- one worker, on its way to sleep and back --------------------------------------- */

typedef enum source
{
	OUTSIDE,
	URGENT,
	STICKY,
	UNPARKED,
	SOURCES
} source;

static const char *const source_names[] = {"from outside", "urgent", "sticky", "unparked"};
static const char *const way_to_sleep[] = {"suspend.begin", "suspend.look", "suspend.sleep", "suspend.rise"};

typedef struct parking
{
	tg_task task;
	uint32_t turns;
	uint32_t *total;
} parking;

static tg_turn
run_parking(tg_task *task, tg_worker *worker)
{
	parking *parking = (struct parking *) task;

	if (tg_fetch_add_acq_rel(&parking->turns, 1) == 0)
		return TG_TURN_PARK;
	tg_fetch_add_acq_rel(parking->total, 1);
	return TG_TURN_DONE;
}

/* Runs once, and parks; what follows unparks it. */
static bool
park_one(parking *parked, uint32_t *total)
{
	*parked = (parking){.total = total};
	tg_task_init(&parked->task, run_parking, NULL);
	return tg_task_submit(self, NULL, &parked->task) == TG_OK && comes_true(&parked->turns, 1);
}

static void
submit_from(source source, counting *task, parking *parked)
{
	tg_status status = TG_OK;

	switch (source)
	{
		case OUTSIDE:
			status = tg_task_submit(self, NULL, &task->task);
			break;
		case URGENT:
			status = tg_task_submit_urgent(self, &task->task);
			break;
		case STICKY:
			status = tg_task_submit_sticky(self, 0, &task->task);
			break;
		default:
			tg_task_unpark(self, &parked->task);
			break;
	}
	if (status != TG_OK)
		abort();
}

static bool
one_on_the_way(const char *place, source source)
{
	counting *tasks = take_zeroed(self, sizeof(counting) * 2);
	parking *parked = take_zeroed(self, sizeof(parking));
	uint32_t total = 0;
	bool good;

	counting_init(&tasks[0], &total);
	counting_init(&tasks[1], &total);
	good = source != UNPARKED || park_one(parked, &total);
	good = pool_sleeps_soon() && good;
	gate_arm(place);
	if (tg_task_submit(self, NULL, &tasks[0].task) != TG_OK)
		abort();
	good = gate_is_reached() && good;
	submit_from(source, &tasks[1], parked);
	gate_release();
	good = comes_true(&total, 2) && good;
	good = pool_sleeps_soon() && good;
	tg_free(self, tasks, TG_USE_JOB);
	tg_free(self, parked, TG_USE_JOB);
	return good;
}

static void
test_way_to_sleep(bool stealing)
{
	tg_scheduler_settings settings;

	mode_start(1, TG_DISTRIBUTOR_WORKER);
	settings = tg_settings_live;
	settings.stealing = stealing;
	tg_scheduler_settings_set(&settings);
	for (unsigned place = 0; place < sizeof(way_to_sleep) / sizeof(*way_to_sleep); place++)
	{
		for (source source = 0; source < SOURCES; source++)
			unit_ok(one_on_the_way(way_to_sleep[place], source), "a worker at %s gets a task %s, stealing %s",
					way_to_sleep[place], source_names[source], stealing ? "on" : "off");
	}
	unit_ok(pool_stop(), "the pool stops");
}

/* --- pushes to others on their way ------------------------------------------------------ */

#define DECOYS_MAX 50

typedef struct pusher
{
	tg_task task;
	uint32_t started;
	counting *decoys;		/* pushed at once, one after the other, and run by other workers */
	uint32_t decoys_max;	/* until the gate is reached, at most */
	uint32_t decoys_pushed; /* at least one of them, before started */
	uint32_t may_push;
	uint32_t pushed;
	uint32_t children; /* that must run at once, each on a worker of its own, beside the parent */
	uint32_t arrived;
	bool met;
	uint32_t ended;
	struct child
	{
		tg_task task;
		struct pusher *pusher;
	} child[WORKERS_MAX];
} pusher;

static tg_turn
run_child(tg_task *task, tg_worker *worker)
{
	pusher *pusher = ((struct child *) task)->pusher;

	tg_fetch_add_acq_rel(&pusher->arrived, 1);
	(void) comes_true(&pusher->arrived, pusher->children);
	tg_fetch_add_acq_rel(&pusher->ended, 1);
	return TG_TURN_DONE;
}

/* A worker that is about to sleep may be faster than the distributor, which is then not needed. */
static void
push_decoys(pusher *pusher, tg_worker *worker)
{
	while (pusher->decoys_pushed < pusher->decoys_max)
	{
		counting *decoy = &pusher->decoys[pusher->decoys_pushed++];

		tg_check(tg_task_submit(tg_worker_session(worker), worker, &decoy->task) == TG_OK);
		/* The gate may be before the distributor's look at the decoy: that runs later then. */
		for (unsigned i = 0; tg_load_acquire(decoy->total) < pusher->decoys_pushed || i < 100; i++)
		{
			if (tg_load_acquire(&gate_reached) != 0 || i * 20 > SOON_US)
				return;
			usleep(20);
		}
	}
}

static tg_turn
run_pusher(tg_task *task, tg_worker *worker)
{
	pusher *pusher = (struct pusher *) task;

	push_decoys(pusher, worker);
	tg_store_release(&pusher->started, 1);
	if (!comes_true(&pusher->may_push, 1))
		return TG_TURN_DONE;
	for (uint32_t i = 0; i < pusher->children; i++)
		tg_check(tg_task_submit(tg_worker_session(worker), worker, &pusher->child[i].task) == TG_OK);
	tg_store_release(&pusher->pushed, 1);
	pusher->met = comes_true(&pusher->arrived, pusher->children);
	tg_fetch_add_acq_rel(&pusher->ended, 1);
	return TG_TURN_DONE;
}

static void
pusher_init(pusher *pusher, uint32_t children)
{
	memset(pusher, 0, sizeof(*pusher));
	pusher->children = children;
	tg_task_init(&pusher->task, run_pusher, NULL);
	for (uint32_t i = 0; i < children; i++)
	{
		pusher->child[i].pusher = pusher;
		tg_task_init(&pusher->child[i].task, run_child, NULL);
	}
}

/* Waits until the workers from this one on sleep, and no worker distributes. */
static bool
sleep_soon(unsigned first)
{
	uint64_t end = tg_clock_us() + SOON_US;
	const tg_scheduler *scheduler = tg_scheduler_shared;

	for (unsigned i = first; i < tg_worker_count();)
	{
		if (tg_load_relaxed(&scheduler->workers[i].park) == TG_PARK_PARKED &&
			tg_load_relaxed(&scheduler->distributor) == TG_DISTRIBUTOR_NONE)
			i++;
		else if (tg_clock_us() > end)
			return false;
		else
			usleep(20);
	}
	return true;
}

/*
 * Worker 0 is in a long task.  Worker 1 is woken, in vain where that makes it the
 * distributor, or the thread that distributes, and stopped at the place; then
 * come the children.
 */
static bool
push_to_one_on_the_way(tg_distributor mode, const char *place, unsigned children)
{
	pusher *parent = take_zeroed(self, sizeof(pusher));
	counting *errands = take_zeroed(self, sizeof(counting) * DECOYS_MAX);
	uint32_t errand_count = 1;
	uint32_t total = 0;
	bool good = sleep_soon(0);

	pusher_init(parent, children);
	for (unsigned i = 0; i < DECOYS_MAX; i++)
		counting_init(&errands[i], &total);
	if (mode == TG_DISTRIBUTOR_THREAD)
	{
		parent->decoys = errands;
		parent->decoys_max = DECOYS_MAX;
		gate_arm(place);
	}
	if (tg_task_submit_sticky(self, 0, &parent->task) != TG_OK)
		abort();
	good = comes_true(&parent->started, 1) && good;
	if (mode != TG_DISTRIBUTOR_THREAD)
	{
		good = sleep_soon(1) && good;
		gate_arm(place);
		if (mode == TG_DISTRIBUTOR_WORKER)
			/* in vain */
			(void) tg_worker_wake(tg_scheduler_shared, &tg_scheduler_shared->workers[1]);
		if (tg_task_submit_sticky(self, mode == TG_DISTRIBUTOR_WORKER ? 0 : 1, &errands->task) != TG_OK)
			abort();
	}
	else
		errand_count = parent->decoys_pushed;
	good = gate_is_reached() && good;
	tg_store_release(&parent->may_push, 1);
	good = comes_true(&parent->pushed, 1) && good;
	gate_release();
	good = comes_true(&parent->ended, children + 1) && parent->met && comes_true(&total, errand_count) && good;
	good = pool_sleeps_soon() && good;
	tg_free(self, parent, TG_USE_JOB);
	tg_free(self, errands, TG_USE_JOB);
	return good;
}

/*
 * Worker 0 is in a long task.  Worker 1 or the thread distributes and has ceased
 * to; in the case of the worker because it has got another long task.  Then comes
 * a child, for which worker 2 must be woken.
 */
static bool
push_after_distribution(tg_distributor mode)
{
	pusher *parents = take_zeroed(self, sizeof(pusher) * 2);
	counting *decoy = take_zeroed(self, sizeof(counting));
	uint32_t total = 0;
	bool good = sleep_soon(0);

	pusher_init(&parents[0], 1);
	pusher_init(&parents[1], 0);
	counting_init(decoy, &total);
	if (mode == TG_DISTRIBUTOR_THREAD)
	{
		parents[0].decoys = decoy;
		parents[0].decoys_max = 1;
	}
	if (tg_task_submit_sticky(self, 0, &parents[0].task) != TG_OK)
		abort();
	good = comes_true(&parents[0].started, 1) && good;
	if (mode == TG_DISTRIBUTOR_WORKER)
	{
		good = sleep_soon(1) && good;
		gate_arm("distribute.look");
		(void) tg_worker_wake(tg_scheduler_shared, &tg_scheduler_shared->workers[1]);
		good = gate_is_reached() && good;
		if (tg_task_submit_sticky(self, 1, &parents[1].task) != TG_OK)
			abort();
		gate_release();
		good = comes_true(&parents[1].started, 1) && good;
	}
	else
		good = comes_true(&total, 1) && sleep_soon(1) && good;
	tg_store_release(&parents[0].may_push, 1);
	good = comes_true(&parents[0].ended, 2) && parents[0].met && good;
	tg_store_release(&parents[1].may_push, 1);
	good = (mode == TG_DISTRIBUTOR_THREAD || comes_true(&parents[1].ended, 1)) && good;
	good = pool_sleeps_soon() && good;
	tg_free(self, parents, TG_USE_JOB);
	tg_free(self, decoy, TG_USE_JOB);
	return good;
}

static void
test_after_distribution(tg_distributor mode)
{
	mode_start(3, mode);
	unit_ok(push_after_distribution(mode), "%s: after it has ceased to be that a push wakes others", mode_names[mode]);
	unit_ok(pool_stop(), "the pool stops");
}

static void
test_push(tg_distributor mode, unsigned workers, const char *const *places, unsigned count)
{
	mode_start(workers, mode);
	for (unsigned i = 0; i < count; i++)
		unit_ok(push_to_one_on_the_way(mode, places[i], workers - 1),
				"%s: with %u workers one at %s, %u children pushed beside it", mode_names[mode], workers, places[i],
				workers - 1);
	unit_ok(pool_stop(), "the pool stops");
}

/* --- every worker is needed ------------------------------------------------------------------ */

#define EXTRA_ROUNDS 50 /* times the number of rounds */

static bool
has_distributed(const tg_scheduler_report *before)
{
	tg_scheduler_report now;

	tg_scheduler_report_get(&now);
	return now.distributed > before->distributed;
}

/*
 * A round rarely needs a distributor, because workers that search find the children themselves.  So
 * there are more than so many rounds, until a task has been distributed.
 */
static void
test_all_needed(tg_distributor mode, unsigned rounds, bool stumble)
{
	pusher *parent = take_zeroed(self, sizeof(pusher));
	tg_scheduler_report before;
	tg_scheduler_report after;
	bool good = true;

	mode_start(WORKERS_MAX, mode);
	tg_store_relaxed(&distributing_max, 0);
	tg_store_relaxed(&stumbling, stumble);
	tg_scheduler_report_get(&before);
	for (unsigned i = 0; good && i < EXTRA_ROUNDS * rounds; i++)
	{
		if (i >= rounds && (mode == TG_DISTRIBUTOR_OFF || has_distributed(&before)))
			break;
		pusher_init(parent, WORKERS_MAX - 1);
		/* else the others are woken in vain, and search, distribute and nap meanwhile */
		parent->may_push = i % 4 != 0;
		if (i % 16 == 0)
			good = pool_sleeps_soon();
		if (tg_task_submit(self, NULL, &parent->task) != TG_OK)
			abort();
		if (!parent->may_push)
		{
			for (unsigned j = 0; j < WORKERS_MAX; j++)
				(void) tg_worker_wake(tg_scheduler_shared, &tg_scheduler_shared->workers[j]);
			usleep(i * 37 % 2000);
			tg_store_release(&parent->may_push, 1);
		}
		good = comes_true(&parent->ended, WORKERS_MAX) && parent->met && good;
	}
	tg_scheduler_report_get(&after);
	unit_ok(good, "%s: a busy worker's %u children all run at once, %u times%s", mode_names[mode], WORKERS_MAX - 1,
			rounds, stumble ? ", stumbling" : "");
	printf("# %" PRIu64 " times a worker distributed, %" PRIu64 " tasks, with %" PRIu64 " naps\n",
		   after.distributions - before.distributions, after.distributed - before.distributed,
		   after.distribution_naps - before.distribution_naps);
	if (mode == TG_DISTRIBUTOR_OFF)
		unit_ok(after.distributions == before.distributions, "no worker distributed");
	else
		unit_ok(after.distributed > before.distributed && distributing_max == 1, "there never were two distributors");
	unit_ok(pool_stop(), "the pool stops");
	unit_ok(tg_load_relaxed(&distributing) == 0, "the distributor has ended");
	tg_store_relaxed(&stumbling, false);
	tg_free(self, parent, TG_USE_JOB);
}

/* --- many rounds -------------------------------------------------------------------- */

/* One task at a time to a pool that is busy, about to sleep, or asleep; threads may stumble. */
static void
test_stumbling(tg_distributor mode, bool stealing, unsigned rounds)
{
	counting *tasks = take_zeroed(self, sizeof(counting));
	parking *parked = take_zeroed(self, sizeof(parking));
	tg_scheduler_settings settings;
	uint32_t total = 0;
	bool good = true;

	mode_start(3, mode);
	settings = tg_settings_live;
	settings.stealing = stealing;
	tg_scheduler_settings_set(&settings);
	tg_store_relaxed(&stumbling, true);
	for (unsigned i = 0; good && i < rounds; i++)
	{
		source source = i % SOURCES;

		counting_init(tasks, &total);
		good = source != UNPARKED || park_one(parked, &total);
		submit_from(source, tasks, parked);
		good = comes_true(&total, i + 1) && good;
		for (unsigned pause = i * 37 % 1499; pause > 0; pause--)
			tg_pause();
	}
	tg_store_relaxed(&stumbling, false);
	unit_ok(good, "%s, stealing %s: %u tasks, one by one, all run", mode_names[mode], stealing ? "on" : "off", rounds);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, tasks, TG_USE_JOB);
	tg_free(self, parked, TG_USE_JOB);
}

int
main(int argc, char **argv)
{
	static const char *const distributor_places[] = {"distribute.begin", "distribute.look", "distribute.nap",
													 "suspend.begin",	 "suspend.look",	"suspend.sleep",
													 "suspend.rise",	 "distribute.end"};
	unsigned factor = argc > 1 ? (unsigned) atoi(argv[1]) : 1;

	server_start();
	tg_failpoint_set(hook);
	test_way_to_sleep(true);
	test_way_to_sleep(false);
	test_push(TG_DISTRIBUTOR_OFF, 2, way_to_sleep, 4);
	test_push(TG_DISTRIBUTOR_OFF, 3, way_to_sleep, 4);
	test_push(TG_DISTRIBUTOR_WORKER, 2, distributor_places, 8);
	test_push(TG_DISTRIBUTOR_WORKER, 3, distributor_places, 8);
	test_push(TG_DISTRIBUTOR_WORKER, 4, distributor_places, 8);
	test_push(TG_DISTRIBUTOR_THREAD, 2, distributor_places, 2);
	test_push(TG_DISTRIBUTOR_THREAD, 3, distributor_places, 3);
	test_after_distribution(TG_DISTRIBUTOR_WORKER);
	test_after_distribution(TG_DISTRIBUTOR_THREAD);
	for (tg_distributor mode = TG_DISTRIBUTOR_OFF; mode <= TG_DISTRIBUTOR_THREAD; mode++)
	{
		test_all_needed(mode, 300 * factor, false);
		test_all_needed(mode, 100 * factor, true);
		test_stumbling(mode, true, 5000 * factor);
	}
	test_stumbling(TG_DISTRIBUTOR_WORKER, false, 5000 * factor);
	tg_failpoint_set(NULL);
	server_end();
	return unit_done();
}
