/*
 * explore_wake.c
 *	  No wake-up is lost: every schedule of sleepers and of threads that bring work.
 *
 * runtime/sched/wake.c, queue.c, deque.c and the inline functions of worker.h and
 * park.h are compiled as they are.  In their places stand: for a latch a mutex of
 * the explorer, for the futex a wait on the park word, for membarrier a fence in
 * every thread, and for the loop of worker.c and search.c a short one: look at the
 * global queue and at the other deques once, then sleep, without a time-out.
 * There is no distributor; pushes rely on the alarm.
 *
 * Shown, for every schedule of the scenarios below: when nobody can go on any
 * more, all tasks have run, and the counts and the alarm of wake.c are what its
 * invariants 1, 2 and 4 say.  Tasks that wait for each other make it count that
 * somebody else comes, not that work is done some time.
 *
 * Then fences are taken away, each of which has to strand a task.
 */
#include <stdlib.h>
#include <string.h>

#include "test/explore/evidence.h"

#include "runtime/sched/queue.c"
#include "runtime/sched/wake.c"

/* Slots are written by the deque's owner, worker 0, 1, ...: set before its ring is made. */
static int ring_owner;

static void *
ring_allocate(size_t bytes)
{
	tg_ring *ring = explore_allocate(bytes);

	for (size_t i = 0; i < (bytes - sizeof(tg_ring)) / sizeof(void *); i++)
		EXPLORE_FIELD(&ring->slots[i], ring_owner);
	return ring;
}

#define malloc ring_allocate
#define free explore_free
#include "runtime/sched/deque.c"
#undef malloc
#undef free

#define TASKS_MAX 3

tg_scheduler *tg_scheduler_shared;
bool tg_fence_light_is_free = true;

typedef struct scenario
{
	const char *name;
	unsigned workers;
	unsigned submissions; /* tasks that a thread after the workers submits */
	bool pushes;		  /* worker 0 begins with a task that pushes one */
	bool wait;			  /* no task ends before all have begun */
	bool is_sticky;		  /* submissions are worker 0's */
} scenario;

typedef struct shared
{
	tg_task tasks[TASKS_MAX];
	uint32_t begun[TASKS_MAX]; /* atomic */
} shared;

static shared *world;

/* --- what stands for the rest of the runtime ------------------------------------------ */

bool
tg_failpoint_refuses(const char *name)
{
	(void) name;
	return false;
}

void
tg_latch_init(tg_latch *latch, tg_rank rank)
{
	latch->word = 0;
	latch->rank = rank;
}

void
tg_latch_acquire(tg_latch *latch)
{
	explore_lock(&latch->word);
}

bool
tg_latch_try(tg_latch *latch)
{
	uint32_t expected = 0;

	return tg_cas_acq_rel(&latch->word, &expected, 1);
}

void
tg_latch_release(tg_latch *latch)
{
	explore_unlock(&latch->word);
}

bool
tg_park_sleep(uint32_t *word, uint64_t timeout_us)
{
	(void) timeout_us;
	explore_wait_while(word, TG_PARK_PARKED);
	tg_park_consume(word);
	return true;
}

void
tg_park_wake(uint32_t *word)
{
	(void) word;
}

void
tg_fence_heavy(void)
{
	explore_fence_everywhere();
}

void
tg_worker_push_home(tg_task *task)
{
	explore_violation("task %d has no home", (int) (task - world->tasks));
}

void
tg_worker_push_full(tg_worker *worker, tg_task *task)
{
	(void) worker;
	explore_violation("there is no room for task %d", (int) (task - world->tasks));
}

void
tg_worker_push_waking(const tg_worker *worker)
{
	tg_wake_for_push(tg_scheduler_shared, worker);
}

/* --- the program -------------------------------------------------------------------------- */

static void
declare_queue(tg_queue *queue, bool is_used)
{
	tg_queue_init(queue);
	queue->open = true;
	EXPLORE_FIELD(&queue->count, is_used ? EXPLORE_SHARED : EXPLORE_CONSTANT);
	if (is_used)
		EXPLORE_FIELD(&queue->latch.word, EXPLORE_SHARED);
	explore_unwatched(&queue->accepted);
	explore_unwatched(&queue->urgent);
	explore_unwatched(&queue->taken);
	explore_unwatched(&queue->takes);
}

static void
declare_worker(tg_worker *worker, unsigned number, const scenario *scenario)
{
	bool has_pushes = scenario->pushes && number == 0;
	int owner = has_pushes ? (int) number : EXPLORE_CONSTANT;

	worker->id = number;
	declare_queue(&worker->inbox, false);
	declare_queue(&worker->sticky, scenario->is_sticky && number == 0);
	EXPLORE_FIELD(&worker->park, EXPLORE_SHARED);
	EXPLORE_FIELD(&worker->deque.top, has_pushes ? EXPLORE_SHARED : EXPLORE_CONSTANT);
	EXPLORE_FIELD(&worker->deque.bottom, owner);
	EXPLORE_FIELD(&worker->deque.ring, owner);
	ring_owner = owner;
	if (tg_deque_init(&worker->deque, 1, 0) != TG_OK)
		explore_violation("no deque");
}

static void
setup(const void *pointer)
{
	const scenario *scenario = pointer;
	tg_scheduler *scheduler = explore_allocate(sizeof(tg_scheduler) + scenario->workers * sizeof(tg_worker));

	world = explore_allocate(sizeof(shared));
	memset(world, 0, sizeof(*world));
	memset(scheduler, 0, sizeof(tg_scheduler) + scenario->workers * sizeof(tg_worker));
	tg_scheduler_shared = scheduler;
	scheduler->phase = TG_PHASE_RUNNING;
	scheduler->worker_count = scenario->workers;
	scheduler->distribution = TG_DISTRIBUTOR_OFF;
	scheduler->stealing = true;
	EXPLORE_FIELD(&scheduler->phase, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&scheduler->worker_count, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&scheduler->distribution, EXPLORE_CONSTANT);
	explore_unwatched(&scheduler->stealing);
	EXPLORE_FIELD(&scheduler->distributor, EXPLORE_CONSTANT);
	EXPLORE_FIELD(&scheduler->searching, EXPLORE_SHARED);
	EXPLORE_FIELD(&scheduler->sleeping, EXPLORE_SHARED);
	EXPLORE_FIELD(&scheduler->alarm, EXPLORE_SHARED);
	EXPLORE_FIELD(&scheduler->latch.word, EXPLORE_SHARED);
	declare_queue(&scheduler->global, scenario->submissions > 0 && !scenario->is_sticky);
	for (unsigned i = 0; i < TASKS_MAX; i++)
		EXPLORE_FIELD(&world->begun[i], EXPLORE_SHARED);
	for (unsigned i = 0; i < scenario->workers; i++)
		declare_worker(&scheduler->workers[i], i, scenario);
}

/* A number of tasks, whichever thread brings them. */
static unsigned
task_count(const scenario *scenario)
{
	return scenario->submissions + (scenario->pushes ? 2 : 0);
}

static void
run(const scenario *scenario, tg_worker *worker, tg_task *task)
{
	unsigned number = (unsigned) (task - world->tasks);

	explore_note("runs task", number);
	if (tg_exchange_acq_rel(&world->begun[number], 1) != 0)
		explore_violation("task %u runs twice", number);
	if (scenario->pushes && number == 0)
		tg_worker_push(worker, &world->tasks[1]);
	for (unsigned i = 0; scenario->wait && i < task_count(scenario); i++)
		explore_wait_while(&world->begun[i], 0);
}

/* One look at everything, with nothing in the own deque. */
static tg_task *
look(tg_scheduler *scheduler, tg_worker *worker)
{
	tg_task *task = NULL;

	if (tg_queue_count(&worker->sticky) > 0)
		task = tg_queue_take(&worker->sticky, 1);
	if (!task && tg_queue_count(&scheduler->global) > 0)
		task = tg_queue_take(&scheduler->global, 1);
	for (unsigned i = 0; !task && i < tg_load_relaxed(&scheduler->worker_count); i++)
	{
		void *item;

		if (&scheduler->workers[i] != worker && tg_deque_steal(&scheduler->workers[i].deque, &item, 1) == 1)
			task = item;
	}
	return task;
}

static void
work(const scenario *scenario, tg_worker *worker)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	tg_task *task = scenario->pushes && worker->id == 0 ? &world->tasks[0] : NULL;

	for (;;)
	{
		for (; task; task = tg_deque_pop(&worker->deque))
			run(scenario, worker, task);
		explore_checkpoint(0, &worker->deque.b, sizeof(tg_deque) - offsetof(tg_deque, b));
		tg_search_enter(scheduler);
		for (;;)
		{
			explore_checkpoint(1, &worker->deque.b, sizeof(tg_deque) - offsetof(tg_deque, b));
			task = look(scheduler, worker);
			if (task)
				break;
			(void) tg_worker_suspend(scheduler, worker, 0);
		}
		tg_search_leave(scheduler, worker);
	}
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;
	tg_scheduler *scheduler = tg_scheduler_shared;

	if (number < scenario->workers)
		work(scenario, &scheduler->workers[number]);
	for (unsigned i = 0; i < scenario->submissions; i++)
	{
		tg_task *task = &world->tasks[i + (scenario->pushes ? 2 : 0)];

		explore_checkpoint(i, NULL, 0);
		if (scenario->is_sticky)
		{
			tg_queue_put_always(&scheduler->workers[0].sticky, task);
			(void) tg_worker_wake(scheduler, &scheduler->workers[0]);
		}
		else
		{
			tg_queue_put_always(&scheduler->global, task);
			tg_worker_notify(scheduler, 0);
		}
	}
}

/* Nobody can go on. */
static void
finish(const void *pointer)
{
	const scenario *scenario = pointer;
	tg_scheduler *scheduler = tg_scheduler_shared;
	unsigned suspended = 0;

	for (unsigned i = 0; i < task_count(scenario); i++)
	{
		if (!tg_load_relaxed(&world->begun[i]))
			explore_violation("task %u waits, and nobody comes", i);
	}
	for (unsigned i = 0; i < scenario->workers; i++)
	{
		suspended += scheduler->workers[i].is_suspended;
		if (tg_load_relaxed(&scheduler->workers[i].park) != TG_PARK_PARKED)
			explore_violation("worker %u does not sleep", i);
	}
	if (tg_load_relaxed(&scheduler->searching) != 0)
		explore_violation("asleep, and searching is not 0");
	if (tg_load_relaxed(&scheduler->sleeping) != suspended || suspended != scenario->workers)
		explore_violation("asleep, and not counted in sleeping");
	if (!tg_load_relaxed(&scheduler->alarm))
		explore_violation("asleep without the alarm");
}

static explore_program
program_of(const void *pointer)
{
	const scenario *scenario = pointer;

	return (explore_program){.thread_count = scenario->workers + (scenario->submissions > 0),
							 .alike_from = EXPLORE_THREADS,
							 .has_everywhere = scenario->pushes,
							 .may_wait = true,
							 .config = scenario,
							 .setup = setup,
							 .thread = thread,
							 .finish = finish};
}

/* --- as it is ----------------------------------------------------------------------------- */

static const scenario one_for_one = {.name = "a submission, 1 worker", .workers = 1, .submissions = 1};
static const scenario two_for_one = {.name = "2 submissions, 1 worker", .workers = 1, .submissions = 2};
static const scenario sticky = {
	.name = "2 sticky submissions, 1 worker", .workers = 1, .submissions = 2, .is_sticky = true};
static const scenario one_for_two = {.name = "a submission, 2 workers", .workers = 2, .submissions = 1};
static const scenario two_for_two = {
	.name = "2 submissions that wait for each other, 2 workers", .workers = 2, .submissions = 2, .wait = true};
static const scenario push = {
	.name = "a push that is waited for, 2 workers", .workers = 2, .pushes = true, .wait = true};
static const scenario push_beside_two = {
	.name = "a push that is waited for, 3 workers", .workers = 3, .pushes = true, .wait = true};
static const scenario push_and_submission = {
	.name = "a push and a submission, 2 workers", .workers = 2, .pushes = true, .submissions = 1};

/* Three threads are too many for C11's memory. */
static const struct
{
	const scenario *scenario;
	explore_memory memory_last;
	explore_memory memory_last_short; /* EXPLORE_MEMORIES: a long search only */
} searches[] = {
	{&one_for_one, EXPLORE_C11, EXPLORE_C11},
	{&two_for_one, EXPLORE_C11, EXPLORE_C11},
	{&sticky, EXPLORE_C11, EXPLORE_C11},
	{&push, EXPLORE_C11, EXPLORE_C11},
	{&one_for_two, EXPLORE_TSO, EXPLORE_SC},
	{&two_for_two, EXPLORE_TSO, EXPLORE_MEMORIES},
	{&push_beside_two, EXPLORE_TSO, EXPLORE_MEMORIES},
	{&push_and_submission, EXPLORE_TSO, EXPLORE_MEMORIES},
};

static void
test_as_it_is(bool is_long)
{
	for (unsigned i = 0; i < EXPLORE_COUNT(searches); i++)
		explore_as_it_is(program_of, searches[i].scenario, searches[i].scenario->name, EXPLORE_SC,
						 is_long ? searches[i].memory_last : searches[i].memory_last_short, NULL);
}

/* --- with something planted ------------------------------------------------------------- */

static const explore_weakness weaknesses[] = {
	{"a submitter's fence is missing",
	 &one_for_one,
	 EXPLORE_C11,
	 {"tg_worker_notify", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"a sleeper's fence is missing",
	 &one_for_one,
	 EXPLORE_C11,
	 {"explore_fence_everywhere", "fence everywhere", EXPLORE_OMIT}},
	{"the fence for a sticky task is missing",
	 &sticky,
	 EXPLORE_C11,
	 {"tg_worker_wake", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"the fence of who raises the alarm is missing",
	 &push,
	 EXPLORE_TSO,
	 {"explore_fence_everywhere", "fence everywhere", EXPLORE_OMIT}},
	{"a push does not look at the alarm",
	 &push,
	 EXPLORE_SC,
	 {"tg_worker_push", "tg_load_relaxed(&tg_scheduler_shared->alarm)", EXPLORE_OMIT}},
	{"who leaves the search wakes nobody",
	 &two_for_two,
	 EXPLORE_SC,
	 {"tg_search_leave", "tg_load_relaxed(&scheduler->sleeping)", EXPLORE_OMIT}},
	{"sleepers are counted without the latch", &one_for_two, EXPLORE_SC, {"explore_lock", "lock", EXPLORE_OMIT}},
};

int
main(int argument_count, char **arguments)
{
	test_as_it_is(argument_count > 1 && strcmp(arguments[1], "long") == 0);
	explore_planted(program_of, weaknesses, EXPLORE_COUNT(weaknesses));
	return unit_done();
}
