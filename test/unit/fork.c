/*
 * fork.c
 *	  Fork and join: every frame goes on once, after all of its children, on whichever workers they
 *	  ran.
 *
 * Trees of random shape compute the same sum as a plain recursion over the same shape: a frame that
 * went on early, twice or never would show in the sum, or as a job that does not end.  Thefts are
 * made certain where they matter: a step goes on only when another worker has begun its sibling.
 * Covered are: one child of a fork returned or all of them forked, several phases of a frame, jobs
 * that begin in place, more children than a deque holds, frames larger than those that workers
 * keep, refused memory, cancellation, and which tasks get a turn beside a tree that never ends, and
 * how soon.
 */
#include "runtime/sched/fork.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/job_internal.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

/* --- jobs ------------------------------------------------------------------------- */

static uint32_t teardowns;

static void
count_teardown(tg_job *job, tg_session *session)
{
	tg_fetch_add_relaxed(&teardowns, 1);
}

#define LEVEL_POOL 60
#define LEVEL_IN_PLACE 10

static uint8_t level = LEVEL_POOL; /* of the next jobs */

static tg_job *
job_new(void)
{
	tg_job_config config = {.kind = "fork", .level = level, .teardown = count_teardown};
	tg_job *job;

	if (tg_job_create(self, &config, &job) != TG_OK)
		unit_bail("no job");
	return job;
}

static bool
job_ends_soon(tg_job *job)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (tg_job_state_get(job) != TG_JOB_DONE && tg_clock_us() < end)
		usleep(50);
	return tg_job_state_get(job) == TG_JOB_DONE;
}

/* Runs the root as a job of its own; true if that ended, with one teardown. */
static bool
job_runs(tg_job *job, tg_frame *root)
{
	bool ended;

	tg_store_relaxed(&teardowns, 0);
	if (!root || tg_job_start(self, job, &root->task) != TG_OK)
		unit_bail("the job does not start");
	ended = job_ends_soon(job);
	tg_job_release(self, job);
	return ended && tg_load_relaxed(&teardowns) == 1;
}

static size_t
job_bytes(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB];
}

/* --- trees of random shape ----------------------------------------------------------- */

#define CHILDREN_MAX 12

typedef struct tree
{
	tg_frame frame;
	uint64_t seed;
	unsigned depth;
	unsigned phases; /* still to come */
	uint64_t *result;
	uint64_t sum;
	uint64_t parts[CHILDREN_MAX];
} tree;

typedef struct large_tree
{
	tree tree;
	char more[2000];
} large_tree;

static uint64_t
mix(uint64_t seed)
{
	seed = (seed ^ (seed >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
	return seed ^ (seed >> 29);
}

static unsigned
children_of(uint64_t seed, unsigned depth)
{
	return depth == 0 ? 0 : (unsigned) (mix(seed + 1) % CHILDREN_MAX);
}

static unsigned
phases_of(uint64_t seed)
{
	return 1 + (unsigned) (mix(seed + 2) % 3);
}

static uint64_t
child_seed(uint64_t seed, unsigned phase, unsigned child)
{
	return mix(seed + 100 * phase + child + 3);
}

static uint64_t
tree_sum(uint64_t seed, unsigned depth)
{
	uint64_t sum = seed;

	for (unsigned phase = phases_of(seed); phase > 0; phase--)
	{
		sum = mix(sum);
		for (unsigned i = 0; i < children_of(seed + phase, depth); i++)
			sum += tree_sum(child_seed(seed, phase, i), depth - 1);
	}
	return sum;
}

static tg_step tree_begin;

/* NULL, and the job has failed, if there is no memory. */
static tg_frame *
tree_child(tg_worker *worker, tree *parent, unsigned phase, unsigned number)
{
	uint64_t seed = child_seed(parent->seed, phase, number);
	tree *child = tg_frame_child(worker, &parent->frame, seed % 16 ? sizeof(tree) : sizeof(large_tree), tree_begin);

	if (!child)
	{
		tg_job_fail(tg_frame_job(&parent->frame), TG_NO_MEMORY);
		return NULL;
	}
	child->seed = seed;
	child->depth = parent->depth - 1;
	child->result = &parent->parts[number];
	return &child->frame;
}

/* Adds up the last phase's results, and makes the next children: all forked, or one returned. */
static tg_frame *
tree_phase(tg_frame *frame, tg_worker *worker)
{
	tree *tree = (struct tree *) frame;
	unsigned phase = tree->phases;
	unsigned count = children_of(tree->seed + phase, tree->depth);
	tg_frame *child = NULL;

	for (unsigned i = 0; i < CHILDREN_MAX; i++)
		tree->sum += tree->parts[i];
	if (phase == 0)
	{
		*tree->result = tree->sum;
		return NULL;
	}
	memset(tree->parts, 0, sizeof(tree->parts));
	tree->sum = mix(tree->sum);
	tree->phases--;
	tg_frame_then(frame, tree_phase);
	for (unsigned i = 0; i < count; i++)
	{
		child = tree_child(worker, tree, phase, i);
		if (child && (i < count - 1 || mix(tree->seed + phase) % 3 == 0))
		{
			tg_frame_fork(worker, child);
			child = NULL;
		}
	}
	return child;
}

static tg_frame *
tree_begin(tg_frame *frame, tg_worker *worker)
{
	tree *tree = (struct tree *) frame;

	tree->phases = phases_of(tree->seed);
	tree->sum = tree->seed;
	memset(tree->parts, 0, sizeof(tree->parts));
	return tree_phase(frame, worker);
}

static bool
tree_job_runs(tg_job *job, uint64_t seed, unsigned depth, uint64_t *result)
{
	tree *root = tg_frame_root(self, job, sizeof(tree), tree_begin);

	if (!root)
		unit_bail("no memory for a root");
	root->seed = seed;
	root->depth = depth;
	root->result = result;
	return job_runs(job, &root->frame);
}

#define TREES 5
#define TREE_DEPTH 4

static void
test_trees(unsigned workers)
{
	unsigned ended = 0;
	unsigned right = 0;

	pool_start(workers);
	for (unsigned i = 0; i < TREES; i++)
	{
		uint64_t result = 0;

		ended += tree_job_runs(job_new(), mix(i), TREE_DEPTH, &result);
		right += result == tree_sum(mix(i), TREE_DEPTH);
	}
	unit_equal(ended, TREES, "%u workers: trees end, each with one teardown", workers);
	unit_equal(right, TREES, "%u workers: every frame went on once, after its children", workers);
	unit_ok(pool_stop(), "%u workers: the pool stops", workers);
}

/* Small trees end on the thread that starts them; large ones move to the pool on the way. */
static void
test_in_place(void)
{
	unsigned right = 0;
	uint64_t pool_steps = 0;
	size_t before = job_bytes();

	level = LEVEL_IN_PLACE;
	pool_start(2);
	for (unsigned i = 0; i < 2 * TREES; i++)
	{
		unsigned depth = i % 2 ? TREE_DEPTH : 1;
		uint64_t result = 0;
		bool ended = tree_job_runs(job_new(), mix(i), depth, &result);

		right += ended && result == tree_sum(mix(i), depth);
	}
	for (unsigned i = 0; i < tg_worker_count(); i++)
	{
		tg_worker_report report;

		tg_worker_report_get(i, &report);
		pool_steps += report.tasks_run;
	}
	unit_equal(right, 2 * TREES, "in place: every frame went on once, after its children");
	unit_ok(pool_steps > 0, "in place: large trees went on in the pool");
	unit_ok(pool_stop(), "in place: the pool stops");
	unit_equal(job_bytes(), before, "in place: no frame is lost");
	level = LEVEL_POOL;
}

/* --- thefts that must happen ---------------------------------------------------------- */

typedef struct pair
{
	tg_frame frame;
	uint32_t *begun; /* the sibling has */
	uint32_t *ended;
	bool waits; /* for the sibling to be about to end */
} pair;

typedef struct pair_root
{
	tg_frame frame;
	uint32_t begun[2];
	uint32_t ended[2];
	uint32_t stuck;
	uint32_t joins;
	bool late[2];
} pair_root;

static tg_frame *
pair_run(tg_frame *frame, tg_worker *worker)
{
	pair *pair = (struct pair *) frame;
	pair_root *root = (pair_root *) frame->parent;
	unsigned number = pair->begun == &root->begun[1] ? 0 : 1;
	bool fine;

	tg_store_release(&root->begun[number], 1);
	fine = comes_true(pair->begun, 1) && (!pair->waits || comes_true(pair->ended, 1));
	if (!fine)
		tg_store_relaxed(&root->stuck, 1);
	tg_store_release(&root->ended[number], 1);
	return NULL;
}

static uint32_t pair_stuck;
static uint32_t pair_joins;

static tg_frame *
pair_join(tg_frame *frame, tg_worker *worker)
{
	pair_root *root = (pair_root *) frame;

	tg_fetch_add_relaxed(&pair_stuck, root->stuck + !root->ended[0] + !root->ended[1]);
	tg_fetch_add_relaxed(&pair_joins, 1);
	return NULL;
}

static pair *
pair_child(tg_worker *worker, pair_root *root, unsigned number)
{
	pair *child = tg_frame_child(worker, &root->frame, sizeof(pair), pair_run);

	if (!child)
		unit_bail("no memory for a frame");
	child->begun = &root->begun[!number];
	child->ended = &root->ended[!number];
	child->waits = root->late[number];
	return child;
}

static tg_frame *
pair_begin(tg_frame *frame, tg_worker *worker)
{
	pair_root *root = (pair_root *) frame;
	pair *other = pair_child(worker, root, 1);

	tg_frame_then(frame, pair_join);
	tg_frame_fork(worker, &other->frame);
	return &pair_child(worker, root, 0)->frame;
}

#define PAIRS 2000

/* Two siblings wait for each other, so that one must be stolen; they take turns in ending last. */
static void
test_thefts(void)
{
	unsigned ended = 0;

	pair_stuck = 0;
	pair_joins = 0;
	pool_start(2);
	for (unsigned i = 0; i < PAIRS && pair_stuck == 0; i++)
	{
		tg_job *job = job_new();
		pair_root *root = tg_frame_root(self, job, sizeof(pair_root), pair_begin);

		if (!root)
			unit_bail("no memory for a root");
		memset((char *) root + sizeof(tg_frame), 0, sizeof(*root) - sizeof(tg_frame));
		if (i % 3 < 2)
			root->late[i % 3] = true;
		ended += job_runs(job, &root->frame);
	}
	unit_equal(ended, PAIRS, "stolen siblings: all jobs end");
	unit_equal(pair_stuck, 0, "stolen siblings: each began while the other one ran, both ended before the join");
	unit_equal(pair_joins, PAIRS, "stolen siblings: one join each");
	unit_ok(pool_stop(), "stolen siblings: the pool stops");
}

/* --- one frame's many children ----------------------------------------------------------- */

typedef struct crowd
{
	tg_frame frame;
	unsigned children;
	bool waits; /* its last child does, until the others have ended, elsewhere */
	uint32_t runs;
	uint64_t *result;
} crowd;

static tg_frame *
crowd_child_run(tg_frame *frame, tg_worker *worker)
{
	tg_fetch_add_relaxed(&((crowd *) frame->parent)->runs, 1);
	return NULL;
}

static tg_frame *
crowd_last_run(tg_frame *frame, tg_worker *worker)
{
	crowd *crowd = (struct crowd *) frame->parent;

	(void) comes_true(&crowd->runs, crowd->children);
	return NULL;
}

static tg_frame *
crowd_join(tg_frame *frame, tg_worker *worker)
{
	crowd *crowd = (struct crowd *) frame;

	*crowd->result = crowd->runs;
	return NULL;
}

static tg_frame *
crowd_begin(tg_frame *frame, tg_worker *worker)
{
	crowd *crowd = (struct crowd *) frame;

	tg_frame_then(frame, crowd_join);
	for (unsigned i = 0; i < crowd->children; i++)
	{
		tg_frame *child = tg_frame_child(worker, frame, sizeof(tg_frame), crowd_child_run);

		if (!child)
			unit_bail("no memory for a frame");
		tg_frame_fork(worker, child);
	}
	return crowd->waits ? tg_frame_child(worker, frame, sizeof(tg_frame), crowd_last_run) : NULL;
}

static uint64_t
crowd_job(unsigned children, bool waits)
{
	uint64_t result = 0;
	tg_job *job = job_new();
	crowd *root = tg_frame_root(self, job, sizeof(crowd), crowd_begin);

	if (!root)
		unit_bail("no memory for a root");
	root->children = children;
	root->waits = waits;
	root->runs = 0;
	root->result = &result;
	return job_runs(job, &root->frame) ? result : 0;
}

static void
test_many_children(void)
{
	pool_start(2);
	unit_equal(crowd_job(0, false), 0, "a frame that forks nothing goes on at once");
	unit_equal(crowd_job(100000, false), 100000, "more children than a deque holds");
	unit_ok(pool_stop(), "many children: the pool stops");
}

#define BALANCE_ROUNDS 200
#define BALANCE_CHILDREN 50

/* Frames made here end there: they must come back. */
static void
test_balance(void)
{
	size_t before;
	unsigned right = 0;

	pool_start(2);
	before = job_bytes();
	for (unsigned i = 0; i < BALANCE_ROUNDS; i++)
		right += crowd_job(BALANCE_CHILDREN, true) == BALANCE_CHILDREN;
	unit_equal(right, BALANCE_ROUNDS, "children that another worker ran: all");
	unit_ok(job_bytes() - before < 16 * sizeof(tg_frame), "frames that ended on another worker do not pile up");
	unit_ok(pool_stop(), "balance: the pool stops");
	unit_equal(job_bytes(), before, "workers that end keep no frames");
}

/* --- jobs side by side ---------------------------------------------------------------------- */

#define SIDES 256
#define SIDE_DEPTH 9

typedef struct side
{
	tg_frame frame;
	unsigned depth;
} side;

static uint32_t misjudged; /* steps with another job's privilege */

static tg_frame *
side_run(tg_frame *frame, tg_worker *worker)
{
	unsigned depth = ((side *) frame)->depth;
	side *children[2];

	if (worker->session->privileged != tg_job_is_privileged(tg_frame_job(frame)))
		tg_fetch_add_relaxed(&misjudged, 1);
	if (depth == 0)
		return NULL;
	for (unsigned i = 0; i < 2; i++)
	{
		children[i] = tg_frame_child(worker, frame, sizeof(side), side_run);
		if (!children[i])
			unit_bail("no memory for a frame");
		children[i]->depth = depth - 1;
	}
	tg_frame_fork(worker, &children[0]->frame);
	return &children[1]->frame;
}

/* A worker that has passed on the last frame of a job that it can goes on with another job's. */
static void
test_privileges(void)
{
	tg_job *jobs[SIDES];
	unsigned ended = 0;

	pool_start(2);
	for (unsigned i = 0; i < SIDES; i++)
	{
		side *root;

		tg_claims_privilege(self, i % 2 == 0);
		jobs[i] = job_new();
		root = tg_frame_root(self, jobs[i], sizeof(side), side_run);
		if (!root)
			unit_bail("no memory for a frame");
		root->depth = SIDE_DEPTH;
		if (tg_job_start(self, jobs[i], &root->frame.task) != TG_OK)
			unit_bail("the job does not start");
	}
	tg_claims_privilege(self, false);
	for (unsigned i = 0; i < SIDES; i++)
	{
		ended += job_ends_soon(jobs[i]);
		tg_job_release(self, jobs[i]);
	}
	unit_equal(ended, SIDES, "jobs side by side end");
	unit_equal(misjudged, 0, "a frame runs with the privilege of its own job");
	unit_ok(pool_stop(), "side by side: the pool stops");
}

/* --- trees that do not end by themselves ---------------------------------------------------- */

static tg_step forest_run;

static tg_frame *
forest_leaf(tg_frame *frame, tg_worker *worker)
{
	return NULL;
}

/* Forks for ever, until its job is cancelled. */
static tg_frame *
forest_run(tg_frame *frame, tg_worker *worker)
{
	tg_frame *children[3];

	if (tg_job_is_cancelled(tg_frame_job(frame)))
		return NULL;
	for (unsigned i = 0; i < 3; i++)
	{
		children[i] = tg_frame_child(worker, frame, sizeof(tg_frame), forest_leaf);
		if (!children[i])
			unit_bail("no memory for a frame");
	}
	tg_frame_then(frame, forest_run);
	tg_frame_fork(worker, children[0]);
	tg_frame_fork(worker, children[1]);
	return children[2];
}

/* Goes on for ever without forking. */
static tg_frame *
treadmill_run(tg_frame *frame, tg_worker *worker)
{
	if (!tg_job_is_cancelled(tg_frame_job(frame)))
		tg_frame_then(frame, treadmill_run);
	return NULL;
}

static void
test_endless(tg_step *step, const char *what)
{
	counting beside[10];
	uint32_t total = 0;
	tg_job *job = job_new();
	tg_frame *root = tg_frame_root(self, job, sizeof(tg_frame), step);

	pool_start(1);
	if (!root || tg_job_start(self, job, &root->task) != TG_OK)
		unit_bail("the job does not start");
	for (unsigned i = 0; i < 10; i++)
	{
		counting_init(&beside[i], &total);
		if (tg_task_submit(self, NULL, &beside[i].task) != TG_OK)
			unit_bail("a task is refused");
	}
	unit_ok(comes_true(&total, 10), "%s: others get their turns on the same worker", what);
	unit_ok(tg_job_state_get(job) == TG_JOB_RUNNING, "%s: it goes on meanwhile", what);
	tg_job_cancel(self, job);
	unit_ok(job_ends_soon(job), "%s: it sees the cancellation", what);
	tg_job_release(self, job);
	unit_ok(pool_stop(), "%s: the pool stops", what);
}

/* --- what comes before the deque ---------------------------------------------------- */

#define STEPS_BEFORE 1000
#define STEPS_BESIDE_MAX 2

typedef struct errand
{
	tg_task task;
	uint32_t steps; /* of the forest, when it ran */
	uint32_t done;
} errand;

static errand *errand_sent;
static uint32_t forest_steps; /* one worker's */

static tg_turn
errand_run(tg_task *task, tg_worker *worker)
{
	errand *errand = (struct errand *) task;

	errand->steps = forest_steps;
	tg_store_release(&errand->done, 1);
	return TG_TURN_DONE;
}

/* As forest_run, and after some steps sends the errand to its own worker's sticky queue. */
static tg_frame *
sender_run(tg_frame *frame, tg_worker *worker)
{
	tg_frame *next = forest_run(frame, worker);

	if (next)
		tg_frame_then(frame, sender_run);
	if (++forest_steps == STEPS_BEFORE &&
		tg_task_submit_sticky(tg_worker_session(worker), 0, &errand_sent->task) != TG_OK)
		unit_bail("an errand is refused");
	return next;
}

static void
test_sticky_beside(void)
{
	tg_job *job = job_new();
	tg_frame *root = tg_frame_root(self, job, sizeof(tg_frame), sender_run);

	errand_sent = take_zeroed(self, sizeof(errand));
	tg_task_init(&errand_sent->task, errand_run, NULL);
	forest_steps = 0;
	pool_start(1);
	if (!root || tg_job_start(self, job, &root->task) != TG_OK)
		unit_bail("the job does not start");
	unit_ok(comes_true(&errand_sent->done, 1) && errand_sent->steps - STEPS_BEFORE <= STEPS_BESIDE_MAX,
			"a sticky task need not wait for a turn of many steps to end");
	tg_job_cancel(self, job);
	unit_ok(job_ends_soon(job), "sticky task: the job ends");
	tg_job_release(self, job);
	unit_ok(pool_stop(), "sticky task: the pool stops");
	tg_free(self, errand_sent, TG_USE_JOB);
}

/* --- refused memory --------------------------------------------------------------------------- */

static uint32_t claims;
static uint32_t refusals;

static bool
refuse_some(const char *name)
{
	if (strcmp(name, "alloc") != 0 || tg_fetch_add_relaxed(&claims, 1) % 97 != 96)
		return false;
	tg_fetch_add_relaxed(&refusals, 1);
	return true;
}

static void
test_refusals(void)
{
	size_t before = job_bytes();
	unsigned ended = 0;
	unsigned consistent = 0;

	pool_start(2);
	tg_failpoint_set(refuse_some);
	for (unsigned i = 0; i < TREES; i++)
	{
		uint64_t result = 0;
		uint32_t refusals_before = tg_load_relaxed(&refusals);
		tg_job *job = job_new();
		tg_status status;

		tg_store_relaxed(&claims, 0);
		tg_job_retain(job);
		ended += tree_job_runs(job, mix(i), TREE_DEPTH, &result);
		status = tg_job_status(job);
		tg_job_release(self, job);
		if (tg_load_relaxed(&refusals) == refusals_before)
			consistent += status == TG_OK && result == tree_sum(mix(i), TREE_DEPTH);
		else
			consistent += status == TG_NO_MEMORY;
	}
	tg_failpoint_set(NULL);
	unit_ok(tg_load_relaxed(&refusals) > 0, "memory was refused");
	unit_equal(ended, TREES, "refused memory: all jobs end");
	unit_equal(consistent, TREES, "refused memory: it fails the job that it concerns");
	unit_ok(pool_stop(), "refused memory: the pool stops");
	unit_equal(job_bytes(), before, "refused memory: no frame is lost");
}

static void
test_drop(void)
{
	size_t before = job_bytes();
	tg_job *job = job_new();
	tg_frame *root = tg_frame_root(self, job, sizeof(large_tree), treadmill_run);

	unit_ok(root && tg_job_start(self, job, &root->task) == TG_STOPPED, "without a pool a job does not start");
	tg_frame_drop(self, root);
	tg_job_release(self, job);
	unit_equal(job_bytes(), before, "its root can be given back");
}

int
main(void)
{
	server_start();
	test_trees(1);
	test_trees(2);
	test_trees(5);
	test_in_place();
	test_thefts();
	test_many_children();
	test_balance();
	test_privileges();
	test_endless(forest_run, "a frame that forks for ever");
	test_endless(treadmill_run, "a frame that never ends");
	test_sticky_beside();
	test_refusals();
	test_drop();
	server_end();
	return unit_done();
}
