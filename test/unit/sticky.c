/*
 * sticky.c
 *	  Operations by sticky queues: all outstanding ones at one worker, and only there.
 *
 * Order and mutual exclusion are shown in lane.c, for both serializers.  Here:
 * operations note the session, hence the worker, that runs them, while some
 * worker is occupied by a task that waits for the test.
 */
#include "runtime/sched/sticky.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/worker.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

#define WORKERS 3
#define OPERATIONS 20
#define WATCHER_INTERVAL_US 1000

typedef struct noted
{
	tg_operation operation;
	tg_session *by; /* the worker that ran it */
	uint32_t *total;
} noted;

typedef struct scene
{
	tg_lane lane;
	noted operations[OPERATIONS];
	uint32_t total;
	tg_task blocker;
	uint32_t blocking;
	uint32_t go;
} scene;

static void
run_noted(tg_operation *operation, tg_session *session)
{
	noted *noted = (struct noted *) operation;

	noted->by = session;
	tg_fetch_add_acq_rel(noted->total, 1);
}

static scene *
scene_new(void)
{
	scene *scene = take_zeroed(self, sizeof(struct scene));

	tg_lane_init(&scene->lane);
	for (unsigned i = 0; i < OPERATIONS; i++)
	{
		scene->operations[i].operation.run = run_noted;
		scene->operations[i].total = &scene->total;
	}
	return scene;
}

static bool
submit(scene *scene, unsigned number)
{
	return tg_lane_submit(self, &scene->lane, &scene->operations[number].operation) == TG_OK;
}

static void
sticky_pool_start(unsigned watcher_interval_us)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(WORKERS);

	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	settings.hang_ms = 0;
	settings.serializer = TG_SERIALIZER_STICKY;
	settings.watcher_interval_us = watcher_interval_us;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
}

static tg_turn
run_blocker(tg_task *task, tg_worker *worker)
{
	scene *scene = (struct scene *) ((char *) task - offsetof(struct scene, blocker));

	tg_store_release(&scene->blocking, 1);
	tg_check(comes_true(&scene->go, 1));
	return TG_TURN_DONE;
}

/* A task on this worker, until go. */
static void
occupy(scene *scene, uint32_t worker)
{
	tg_task_init(&scene->blocker, run_blocker, NULL);
	tg_check(tg_task_submit_sticky(self, worker, &scene->blocker) == TG_OK);
	tg_check(comes_true(&scene->blocking, 1));
}

static bool
lane_becomes_free(const tg_lane *lane)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (!tg_lane_is_free(lane))
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

static void
test_one_worker(void)
{
	scene *scene = scene_new();
	uint32_t chosen;
	bool same = true;

	/* However slowly this gets on, the worker is not taken for one in a long task. */
	sticky_pool_start(SUSPEND_LONG_MS * 1000);
	chosen = tg_worker_choose(self);
	occupy(scene, chosen);
	for (unsigned i = 0; i < OPERATIONS; i++)
		tg_check(submit(scene, i));
	unit_equal(tg_lane_worker(tg_load_acquire(&scene->lane.word)), chosen,
			   "the worker is chosen as for any submission");
	usleep(2000); /* the others would have time to take some, if they wrongly could */
	unit_equal(tg_load_acquire(&scene->total), 0, "no other worker takes its operations while it is occupied");
	unit_ok(!tg_lane_enter(self, &scene->lane), "nor can the lane be entered");
	tg_store_release(&scene->go, 1);
	unit_ok(comes_true(&scene->total, OPERATIONS) && lane_becomes_free(&scene->lane), "they run when it is free");
	for (unsigned i = 0; i < OPERATIONS; i++)
		same = same && scene->operations[i].by == tg_scheduler_shared->workers[chosen].session;
	unit_ok(same, "all at that worker");
	unit_ok(tg_lane_enter(self, &scene->lane), "then the lane can be entered");

	/* Beside an operation in place everything goes to the lane's own queue. */
	tg_check(submit(scene, 0));
	unit_ok(tg_lane_worker(tg_load_acquire(&scene->lane.word)) == TG_LANE_NO_WORKER && scene->total == OPERATIONS,
			"what is submitted beside an operation in place waits for that");
	tg_lane_leave(self, &scene->lane);
	unit_ok(comes_true(&scene->total, OPERATIONS + 1) && lane_becomes_free(&scene->lane), "and runs after it");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, scene, TG_USE_JOB);
}

static void
test_choice(void)
{
	scene *scene = scene_new();
	uint64_t end = tg_clock_us() + SOON_US;
	uint32_t first;

	sticky_pool_start(WATCHER_INTERVAL_US);
	first = tg_worker_choose(self);
	occupy(scene, first);
	/*
	 * Another task waits for it, and its task lasts for a tick: then a submission goes elsewhere.
	 */
	while (tg_worker_choose(self) == first && tg_clock_us() < end)
		usleep(100);
	unit_ok(submit(scene, 0) && comes_true(&scene->total, 1),
			"a first operation does not go to a worker in a long task");
	unit_ok(scene->operations[0].by != tg_scheduler_shared->workers[first].session, "but to another one");
	tg_store_release(&scene->go, 1);
	unit_ok(lane_becomes_free(&scene->lane), "the lane is free");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, scene, TG_USE_JOB);
}

static void
test_wakes(void)
{
	scene *scene = scene_new();
	uint32_t chosen;
	bool only = true;

	/* However slowly this gets on, the worker is not taken for one in a long task. */
	sticky_pool_start(SUSPEND_LONG_MS * 1000);
	chosen = tg_worker_choose(self);
	for (unsigned i = 0; i < OPERATIONS; i++)
	{
		tg_worker_report before[WORKERS];

		tg_check(pool_sleeps_soon());
		for (unsigned w = 0; w < WORKERS; w++)
			tg_worker_report_get(w, &before[w]);
		tg_check(submit(scene, i) && comes_true(&scene->total, i + 1) && pool_sleeps_soon());
		for (unsigned w = 0; w < WORKERS; w++)
		{
			tg_worker_report after;

			tg_worker_report_get(w, &after);
			only = only && after.wakeups - before[w].wakeups == (w == chosen) &&
				   after.sticky_run - before[w].sticky_run == (w == chosen);
		}
	}
	unit_ok(only, "an operation wakes the worker that may run it, and no other");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, scene, TG_USE_JOB);
}

/* The pool stops when the operation is counted, and not queued. */
static bool
stop_at_count(const char *name)
{
	if (strcmp(name, "sticky_counted") == 0)
	{
		tg_failpoint_set(NULL);
		tg_check(pool_stop());
	}
	return false;
}

static void
test_refused(void)
{
	scene *scene = scene_new();

	sticky_pool_start(WATCHER_INTERVAL_US);
	tg_failpoint_set(stop_at_count);
	unit_ok(!submit(scene, 0) && !tg_scheduler_is_running(), "an operation that the stopping pool refuses");
	unit_ok(tg_lane_is_free(&scene->lane) && scene->total == 0, "is not counted");
	unit_ok(tg_lane_enter(self, &scene->lane), "and the lane can be entered");
	tg_lane_leave(self, &scene->lane);
	tg_free(self, scene, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	test_one_worker();
	test_choice();
	test_wakes();
	test_refused();
	server_end();
	return unit_done();
}
