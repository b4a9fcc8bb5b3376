/*
 * explore_lane.c
 *	  A lane runs its operations one at a time, in order, all of them: every schedule.
 *
 * runtime/sched/lane.c and the inline functions of lane.h are compiled as they are.
 * For the pool stand threads that take the lane task when it is submitted, run one
 * turn, and submit it again if it says so; for a turn's waits for a link, one round
 * in place of many.  Sticky queues are out of this.
 *
 * Submitters submit some operations each, or, if they find the lane free, run them
 * in place.  Shown, for every schedule: no operation begins before the one before
 * has ended and all that it did is seen; each submitter's operations run in its
 * order, each once; the lane task is submitted only while it is with nobody; when
 * nobody can go on all have run, and the lane is free.
 *
 * A turn that finds nothing may be followed by others for as long as a submitter
 * stands between counting and linking, so turns are bounded (turns_max): when
 * there were enough and all submitters are done, the end does the rest, alone.
 *
 * Then orders are planted away, each of which has to be noticed.  Of those that
 * lane.c names only the one of submit's count is not needed: a turn acquires the
 * word itself, and read-modify-writes in between carry on what was released.
 */
#include <stdlib.h>
#include <string.h>

#include "test/explore/evidence.h"

/* The settings are in the world, as all that is shared. */
#define tg_settings_live (*explored_settings)
#include "runtime/base/spin.h"
#undef TG_SPIN_PAUSES
#define TG_SPIN_PAUSES (-3) /* lane.c adds 4 */

#include "runtime/sched/lane.c"

#define SUBMITTERS_MAX 2
#define OPERATIONS_MAX 3 /* of one submitter */

tg_scheduler_settings *explored_settings;

typedef struct scenario
{
	const char *name;
	unsigned submitters;
	unsigned operations; /* of each */
	unsigned workers;
	unsigned lane_turn;
	unsigned turns_max;
	bool in_place; /* submitters enter if they can */
} scenario;

typedef struct explored_operation
{
	tg_operation operation;
	explore_plain contents;
	uint8_t submitter;
	uint8_t number;
} explored_operation;

typedef struct shared
{
	tg_scheduler_settings settings;
	tg_lane lane;
	uint32_t scheduled;		   /* the lane task waits for a worker: 1 */
	explore_plain transaction; /* what operations work on */
	uint8_t ran[SUBMITTERS_MAX];
	uint8_t turns;	/* begun by workers */
	uint8_t done;	/* submitters */
	uint32_t never; /* 0 */
	tg_session sessions[EXPLORE_THREADS];
	explored_operation operations[SUBMITTERS_MAX][OPERATIONS_MAX];
} shared;

static shared *world;

/* --- what stands for the rest of the runtime ------------------------------------------ */

bool
tg_failpoint_refuses(const char *name)
{
	(void) name;
	return false;
}

bool
tg_scheduler_is_running(void)
{
	return true;
}

void
tg_task_init(tg_task *task, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job)
{
	*task = (tg_task){.run = run, .job = job};
}

tg_status
tg_task_submit(tg_session *session, tg_worker *worker, tg_task *task)
{
	(void) session;
	(void) worker;
	(void) task;
	if (tg_exchange_acq_rel(&world->scheduled, 1) != 0)
		explore_violation("the lane task is submitted twice");
	return TG_OK;
}

/* A worker of the explorer's is its session. */
tg_session *
tg_worker_session(tg_worker *worker)
{
	return (tg_session *) worker;
}

uint64_t
tg_sticky_count(tg_session *session, tg_lane *lane)
{
	(void) session;
	(void) lane;
	explore_violation("a sticky operation");
}

tg_status
tg_sticky_submit(tg_session *session, tg_operation *operation, uint32_t worker)
{
	(void) session;
	(void) operation;
	explore_violation("a sticky operation of worker %u", worker);
}

/* --- the program -------------------------------------------------------------------------- */

static void
run(tg_operation *operation, tg_session *session)
{
	explored_operation *explored = (explored_operation *) operation;

	(void) session;
	explore_effect();
	explore_note("runs an operation of submitter", explored->submitter);
	explore_plain_read(&explored->contents);
	explore_plain_write(&world->transaction);
	if (world->ran[explored->submitter] != explored->number)
		explore_violation("operation %u of submitter %u runs as number %u", explored->number, explored->submitter,
						  world->ran[explored->submitter]);
	world->ran[explored->submitter]++;
}

static void
setup(const void *pointer)
{
	const scenario *scenario = pointer;

	world = explore_allocate(sizeof(shared));
	memset(world, 0, sizeof(*world));
	explored_settings = &world->settings;
	world->settings.lane_turn = scenario->lane_turn;
	world->settings.serializer = TG_SERIALIZER_LANE;
	explore_unwatched(&world->settings.lane_turn);
	explore_unwatched(&world->settings.serializer);
	tg_lane_init(&world->lane);
	EXPLORE_FIELD(&world->lane.word, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->lane.tail, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->lane.stub.next, EXPLORE_SHARED);
	explore_unwatched(&world->lane.begun);
	EXPLORE_FIELD(&world->scheduled, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->never, EXPLORE_CONSTANT);
	for (unsigned i = 0; i < scenario->submitters; i++)
	{
		for (unsigned j = 0; j < scenario->operations; j++)
		{
			explored_operation *explored = &world->operations[i][j];

			*explored = (explored_operation){.operation.run = run, .submitter = (uint8_t) i, .number = (uint8_t) j};
			EXPLORE_FIELD(&explored->operation.next, EXPLORE_SHARED);
		}
	}
}

/*
 * Enough turns.  If a submitter is still on its way, turns may go on for nothing as long as it
 * stands still; else finish does the rest.
 */
static void
turns_end(const scenario *scenario)
{
	if (world->done < scenario->submitters)
		explore_abandon();
	tg_store_release(&world->scheduled, 1);
	for (;;)
		explore_wait_while(&world->never, 0);
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;
	tg_session *session = &world->sessions[number];

	for (unsigned i = 0; number < scenario->submitters && i < scenario->operations; i++)
	{
		tg_operation *operation = &world->operations[number][i].operation;

		explore_checkpoint(i, NULL, 0);
		explore_plain_write(&world->operations[number][i].contents);
		if (scenario->in_place && explore_choose(2) == 0 && tg_lane_enter(session, &world->lane))
		{
			operation->run(operation, session);
			tg_lane_leave(session, &world->lane);
		}
		else if (tg_lane_submit(session, &world->lane, operation) != TG_OK)
			explore_violation("refused");
	}
	if (number < scenario->submitters)
	{
		explore_effect();
		world->done++;
	}
	while (number >= scenario->submitters)
	{
		uint32_t one = 1;

		explore_checkpoint(0, NULL, 0);
		explore_wait_while(&world->scheduled, 0);
		if (!tg_cas_acq_rel(&world->scheduled, &one, 0))
			continue;
		explore_effect();
		if (++world->turns > scenario->turns_max)
			turns_end(scenario);
		if (world->lane.task.run(&world->lane.task, (tg_worker *) session) == TG_TURN_AGAIN &&
			tg_task_submit(session, NULL, &world->lane.task) != TG_OK)
			explore_violation("refused");
	}
}

/* Nobody can go on. */
static void
finish(const void *pointer)
{
	const scenario *scenario = pointer;
	unsigned turns = 0;

	while (tg_exchange_acq_rel(&world->scheduled, 0) != 0)
	{
		if (++turns > scenario->submitters * scenario->operations)
			explore_violation("turns find nothing, and the lane is not free");
		if (world->lane.task.run(&world->lane.task, (tg_worker *) &world->sessions[0]) == TG_TURN_AGAIN)
			tg_store_relaxed(&world->scheduled, 1);
	}
	for (unsigned i = 0; i < scenario->submitters; i++)
	{
		if (world->ran[i] != scenario->operations)
			explore_violation("submitter %u: only %u operations have run", i, world->ran[i]);
	}
	if (!tg_lane_is_free(&world->lane))
		explore_violation("all have run, and the lane is not free");
}

static explore_program
program_of(const void *pointer)
{
	const scenario *scenario = pointer;

	return (explore_program){.thread_count = scenario->submitters + scenario->workers,
							 .alike_from = EXPLORE_THREADS,
							 .may_wait = true,
							 .config = scenario,
							 .setup = setup,
							 .thread = thread,
							 .finish = finish};
}

/* --- as it is, and with something planted --------------------------------------------------- */

static const scenario one = {.name = "1 submitter x 2, 1 worker, turns of 1",
							 .submitters = 1,
							 .operations = 2,
							 .workers = 1,
							 .lane_turn = 1,
							 .turns_max = 3,
							 .in_place = true};
static const scenario three = {.name = "1 submitter x 3, 1 worker, turns of 2",
							   .submitters = 1,
							   .operations = 3,
							   .workers = 1,
							   .lane_turn = 2,
							   .turns_max = 4,
							   .in_place = true};
static const scenario two_workers = {.name = "1 submitter x 2, 2 workers, turns of 1",
									 .submitters = 1,
									 .operations = 2,
									 .workers = 2,
									 .lane_turn = 1,
									 .turns_max = 3};
static const scenario two_submitters = {.name = "2 submitters x 1, 1 worker, turns of 2",
										.submitters = 2,
										.operations = 1,
										.workers = 1,
										.lane_turn = 2,
										.turns_max = 3,
										.in_place = true};
static const scenario three_two_workers = {.name = "1 submitter x 3, 2 workers, turns of 2",
										   .submitters = 1,
										   .operations = 3,
										   .workers = 2,
										   .lane_turn = 2,
										   .turns_max = 4,
										   .in_place = true};
static const scenario two_by_two = {.name = "2 submitters x 2, 1 worker, turns of 2",
									.submitters = 2,
									.operations = 2,
									.workers = 1,
									.lane_turn = 2,
									.turns_max = 4};

static void
test_as_it_is(const scenario *scenario)
{
	explore_as_it_is(program_of, scenario, scenario->name, EXPLORE_SC, EXPLORE_C11, NULL);
}

#define WORD "(&lane->word)"

static const explore_weakness weaknesses[] = {
	{"a link is stored relaxed",
	 &two_by_two,
	 EXPLORE_C11,
	 {"push", "tg_store_release(&previous->next)", EXPLORE_RELAX}},
	{"a link is read relaxed", &two_by_two, EXPLORE_C11, {"pop", "tg_load_acquire(&head->next)", EXPLORE_RELAX}},
	{"tail is exchanged relaxed",
	 &two_submitters,
	 EXPLORE_C11,
	 {"push", "tg_exchange_acq_rel(&lane->tail)", EXPLORE_RELAX}},
	{"a turn ends relaxed", &three, EXPLORE_C11, {"turn_end", "tg_fetch_add_acq_rel" WORD, EXPLORE_RELAX}},
	{"a turn ends by a load and a store", &three, EXPLORE_SC, {"turn_end", "tg_fetch_add_acq_rel" WORD, EXPLORE_SPLIT}},
	{"enter is relaxed", &three, EXPLORE_C11, {"tg_lane_enter", "tg_cas_acq_rel" WORD, EXPLORE_RELAX}},
	{"enter is a load and a store",
	 &two_submitters,
	 EXPLORE_SC,
	 {"tg_lane_enter", "tg_cas_acq_rel" WORD, EXPLORE_SPLIT}},
	{"leave is relaxed", &two_submitters, EXPLORE_C11, {"tg_lane_leave", "tg_fetch_add_acq_rel" WORD, EXPLORE_RELAX}},
	{"leave is a load and a store",
	 &two_submitters,
	 EXPLORE_SC,
	 {"tg_lane_leave", "tg_fetch_add_acq_rel" WORD, EXPLORE_SPLIT}},
	{"submit counts by a load and a store",
	 &two_submitters,
	 EXPLORE_SC,
	 {"tg_lane_submit", "tg_fetch_add_acq_rel" WORD, EXPLORE_SPLIT}},
};

int
main(int argument_count, char **arguments)
{
	test_as_it_is(&one);
	test_as_it_is(&three);
	test_as_it_is(&two_workers);
	test_as_it_is(&two_submitters);
	if (argument_count > 1 && strcmp(arguments[1], "long") == 0)
	{
		test_as_it_is(&three_two_workers);
		test_as_it_is(&two_by_two);
	}
	explore_planted(program_of, weaknesses, EXPLORE_COUNT(weaknesses));
	return unit_done();
}
