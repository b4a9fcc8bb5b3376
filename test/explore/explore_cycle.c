/*
 * explore_cycle.c
 *	  Last one out: every schedule of a collection cycle's stages.
 *
 * runtime/reclaim/cycle.c is compiled as it is.  Some pieces are the work of PRUNE; participants
 * join, take a piece, work on it, put it back half done or aside, and leave.  The last one holds
 * PRUNED, and turns the pieces that were put aside over to FREE, where the same goes on.  Each
 * participant joins so many times; pieces that all of them leave undone stay.
 *
 * Then the stages from IDLE to IDLE, for participants that find that the epoch of the first cycle
 * is over, and that of the second one is not.
 *
 * Shown, for every schedule: one participant at a time works on a piece; work on a piece in FREE
 * happens after all work in PRUNE, on any piece; no piece is lost or done twice; the stage is moved
 * on by one participant, with no other one in it; a stage with nothing left and no participant in
 * it is moved on by the participant that joins next; and FREE begins after the epoch of its own
 * cycle.  Then the orders that cycle.c's argument names are planted away.
 */
#include <string.h>

#include "test/explore/evidence.h"

#include "runtime/reclaim/cycle.c"

#define PIECES_MAX 2

typedef struct scenario
{
	const char *name;
	unsigned participants;
	unsigned joins;		/* of each */
	unsigned pieces;	/* of work */
	unsigned puts_back; /* times that a piece may be put back */
	unsigned takes;		/* how many at once; 0: one */
	bool whole;			/* the stages of whole cycles, without pieces */
	bool looks_again;	/* planted: at the word, once the epoch has been found to be over */
} scenario;

typedef struct piece
{
	tg_write_log log; /* the lists use its next */
	explore_plain contents;
	uint8_t put_back;
	uint8_t pruned;
	uint8_t freed;
} piece;

typedef struct shared_world
{
	tg_cycle cycle;
	piece pieces[PIECES_MAX];
	explore_plain stage_contents; /* written by a stage's only participant, read by all others */
	uint8_t inside[16];			  /* participants by stage */
	uint8_t moves[16];			  /* to a stage */
	uint32_t unlinked;			  /* atomic: the cycle that is in EPOCH, or was there last */
} shared_world;

static shared_world *world;
static unsigned ends; /* of the whole, in all schedules */

bool
tg_failpoint_refuses(const char *name)
{
	(void) name;
	return false;
}

/* --- the program -------------------------------------------------------------------------- */

static void
setup(const void *pointer)
{
	const scenario *scenario = pointer;

	world = explore_allocate(sizeof(*world));
	memset(world, 0, sizeof(*world));
	EXPLORE_FIELD(&world->cycle.word, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->cycle.work, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->cycle.taking, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->cycle.done, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->unlinked, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->cycle.number, EXPLORE_SHARED);
	for (unsigned i = 0; i < scenario->pieces; i++)
		EXPLORE_FIELD(&world->pieces[i].log.next, EXPLORE_SHARED);
	tg_store_relaxed(&world->cycle.word, scenario->whole ? TG_STAGE_IDLE : TG_STAGE_PRUNE);
	for (unsigned i = 0; i < scenario->pieces; i++)
		tg_cycle_put(&world->cycle, &world->pieces[i].log);
}

/* A piece is worked on; false: it is to be put back. */
static bool
work_on(const scenario *scenario, tg_stage stage, piece *piece)
{
	explore_plain_read(&world->stage_contents);
	explore_plain_write(&piece->contents);
	if (stage == TG_STAGE_PRUNE)
	{
		if (piece->pruned > 0 || piece->freed > 0)
			explore_violation("pruned after it was");
		if (piece->put_back < scenario->puts_back)
		{
			piece->put_back++;
			return false;
		}
		piece->pruned++;
		tg_cycle_put_done(&world->cycle, &piece->log);
		return true;
	}
	if (piece->freed > 0)
		explore_violation("freed twice");
	for (unsigned i = 0; i < scenario->pieces; i++)
	{
		if (world->pieces[i].pruned != 1)
			explore_violation("freed before all were pruned");
	}
	piece->freed++;
	return true;
}

/* The caller holds the stage. */
static void
move_on(const scenario *scenario, tg_stage stage)
{
	explore_plain_write(&world->stage_contents);
	if (++world->moves[stage] > 1)
		explore_violation("a stage was entered twice");
	for (unsigned i = 0; i < scenario->pieces; i++)
	{
		if (world->pieces[i].pruned != 1 || (stage == TG_STAGE_FREED && world->pieces[i].freed != 1))
			explore_violation("moved on with something undone");
		explore_plain_write(&world->pieces[i].contents);
	}
	if (stage == TG_STAGE_PRUNED)
	{
		tg_cycle_turn_over(&world->cycle);
		tg_cycle_move(&world->cycle, TG_STAGE_FREE);
		return;
	}
	ends++;
	tg_cycle_move(&world->cycle, TG_STAGE_IDLE);
}

/* The stage that the caller holds, of a whole cycle. */
static void
move_whole(tg_stage stage)
{
	switch (stage)
	{
		case TG_STAGE_GATHER:
			tg_cycle_move(&world->cycle, TG_STAGE_PRUNE);
			break;
		case TG_STAGE_PRUNED:
			tg_store_relaxed(&world->unlinked, tg_load_relaxed(&world->unlinked) + 1);
			tg_cycle_move(&world->cycle, TG_STAGE_EPOCH);
			break;
		case TG_STAGE_FREED:
			tg_cycle_move(&world->cycle, TG_STAGE_IDLE);
			ends++;
			break;
		default:
			break;
	}
}

/* The word as it is by now, if its stage is EPOCH, too. */
static uint64_t
word_of_epoch(uint64_t before)
{
	uint64_t word = tg_cycle_look(&world->cycle);

	return tg_stage_of(word) == TG_STAGE_EPOCH ? word : before;
}

/* As run() in collector.c.  The epoch of the first cycle is over, that of the second one is not. */
static void
whole_step(const scenario *scenario)
{
	tg_stage stage = tg_cycle_join(&world->cycle);
	uint64_t word;

	if (stage == TG_STAGE_GATHER)
		move_whole(stage);
	else if (stage != TG_STAGE_NONE)
		move_whole(tg_cycle_leave(&world->cycle));
	else
	{
		word = tg_cycle_look(&world->cycle);
		stage = tg_stage_of(word);
		if (stage == TG_STAGE_IDLE)
			(void) tg_cycle_start(&world->cycle, word);
		else if (stage == TG_STAGE_EPOCH && tg_load_relaxed(&world->unlinked) == 1 &&
				 tg_cycle_start(&world->cycle, scenario->looks_again ? word_of_epoch(word) : word) &&
				 ++world->moves[TG_STAGE_FREE] > 1)
			explore_violation("freed before its epoch was over");
	}
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;

	(void) number;
	for (unsigned i = 0; i < scenario->joins; i++)
	{
		tg_stage stage;
		tg_stage held;
		tg_write_log *log;

		explore_checkpoint(i, NULL, 0);
		if (scenario->whole)
		{
			whole_step(scenario);
			continue;
		}
		stage = tg_cycle_join(&world->cycle);
		if (stage == TG_STAGE_NONE)
			continue;
		log = tg_cycle_take(&world->cycle, scenario->takes);
		while (log != NULL)
		{
			tg_write_log *next = tg_load_relaxed(&log->next);

			if (!work_on(scenario, stage, (piece *) log))
			{
				tg_cycle_put_back(&world->cycle, log);
				break;
			}
			log = next;
		}
		held = tg_cycle_leave(&world->cycle);
		if (held != TG_STAGE_NONE)
			move_on(scenario, held);
	}
}

static void
finish(const void *pointer)
{
	const scenario *scenario = pointer;
	uint64_t word = tg_load_relaxed(&world->cycle.word);
	tg_stage stage = tg_stage_of(word);
	unsigned listed = 0;
	unsigned due = 0;

	if ((word & PARTICIPANTS) != 0)
		explore_violation("somebody is still in");
	for (const tg_write_log *log = tg_load_relaxed(&world->cycle.work); log != NULL; log = tg_load_relaxed(&log->next))
		listed++;
	if (is_for_many(stage) && listed == 0 &&
		(tg_cycle_join(&world->cycle) != stage || tg_cycle_leave(&world->cycle) != stage + 1))
		explore_violation("nothing is left, and nobody can move on");
	for (const tg_write_log *log = tg_load_relaxed(&world->cycle.done); log != NULL; log = tg_load_relaxed(&log->next))
		listed++;
	for (unsigned i = 0; i < scenario->pieces; i++)
		due += world->pieces[i].freed == 0;
	if (listed != due)
		explore_violation("%u pieces are listed, %u are due", listed, due);
}

static explore_program
program_of(const void *pointer)
{
	const scenario *scenario = pointer;

	return (explore_program){.thread_count = scenario->participants,
							 .alike_from = EXPLORE_THREADS,
							 .stores_come_first = true,
							 .config = scenario,
							 .setup = setup,
							 .thread = thread,
							 .finish = finish};
}

/* --- as it is, and with something planted --------------------------------------------------- */

static const scenario two = {.name = "2 participants x 2, 1 piece", .participants = 2, .joins = 2, .pieces = 1};
static const scenario back = {
	.name = "2 participants x 3, 1 piece, put back twice", .participants = 2, .joins = 3, .pieces = 1, .puts_back = 2};
static const scenario three = {.name = "3 participants x 1, 1 piece", .participants = 3, .joins = 1, .pieces = 1};
static const scenario more = {
	.name = "2 participants x 4, 2 pieces, put back", .participants = 2, .joins = 4, .pieces = 2, .puts_back = 1};

static const scenario both = {.name = "2 participants x 2, 2 pieces, both at once, put back",
							  .participants = 2,
							  .joins = 2,
							  .pieces = 2,
							  .puts_back = 1,
							  .takes = 2};

static const scenario cycles = {
	.name = "2 participants, a whole cycle and half of the next", .participants = 2, .joins = 8, .whole = true};

static const scenario late = {.participants = 2, .joins = 8, .whole = true, .looks_again = true};

static explore_memory first = EXPLORE_C11; /* a long search takes all */

static void
test_as_it_is(const scenario *scenario)
{
	explore_as_it_is(program_of, scenario, scenario->name, first, EXPLORE_C11, &ends);
}

static void
test_late(void)
{
	const explore_program program = program_of(&late);

	unit_ok(explore(&program, EXPLORE_SC, NULL, EXPLORE_STATES_MAX).violated,
			"the word is looked at after the epoch: caught");
}

static const explore_weakness weaknesses[] = {
	{"joining is no one step", &two, EXPLORE_SC, {"tg_cycle_join", "tg_cas_acq_rel(&cycle->word)", EXPLORE_SPLIT}},
	{"leaving is no one step", &two, EXPLORE_SC, {"tg_cycle_leave", "tg_cas_acq_rel(&cycle->word)", EXPLORE_SPLIT}},
	{"starting is no one step", &cycles, EXPLORE_SC, {"tg_cycle_start", "tg_cas_acq_rel(&cycle->word)", EXPLORE_SPLIT}},
	{"leaving is relaxed", &two, EXPLORE_C11, {"tg_cycle_leave", "tg_cas_acq_rel(&cycle->word)", EXPLORE_RELAX}},
	{"putting aside is relaxed", &back, EXPLORE_C11, {"push", "tg_cas_acq_rel(stack)", EXPLORE_RELAX}},
};

int
main(int argument_count, char **arguments)
{
	bool is_long = argument_count > 1 && strcmp(arguments[1], "long") == 0;

	if (is_long)
		first = EXPLORE_SC;
	test_as_it_is(&two);
	test_as_it_is(&back);
	test_as_it_is(&both);
	test_as_it_is(&cycles);
	if (is_long)
	{
		test_as_it_is(&three);
		test_as_it_is(&more);
	}
	explore_planted(program_of, weaknesses, EXPLORE_COUNT(weaknesses));
	test_late();
	return unit_done();
}
