/*
 * explore_epoch.c
 *	  Nothing is reused while a session can meet it: every schedule of epochs.
 *
 * runtime/mem/session.c and the inline functions of session.h are compiled as they
 * are; for its latch stands a mutex of the explorer, and nothing for caches and
 * retirements.  Readers enter, follow a link to an object and leave, some times.
 * A thread takes the object off the link and asks for the epoch; it, or another
 * one that it tells, reuses the object when the confirmed epoch is above.  New
 * epochs are started by the one that reuses, or by a thread apart.
 *
 * Shown, for every schedule: a reader that met the object finds it unchanged, and
 * its reading happened before the reuse; and the reuse is reached at all.  Then
 * each fence and each order that session.c's argument names is planted away.
 */
#include <stdlib.h>
#include <string.h>

#include "test/explore/evidence.h"

#include "runtime/mem/session.c"

#define READERS_MAX 2

#define WHOLE 1
#define REUSED 2

typedef struct scenario
{
	const char *name;
	unsigned readers;
	unsigned rounds;   /* of each reader */
	unsigned epochs;   /* new ones, each with an attempt to reuse */
	bool is_told;	   /* another thread reuses than unlinked */
	bool is_apart;	   /* another thread starts the epochs than unlinked and reuses */
	bool is_impatient; /* planted: an epoch too early */
} scenario;

typedef struct object
{
	uint32_t value;
	explore_plain contents;
} object;

typedef struct shared
{
	object object;
	object *link;
	uint32_t told; /* the epoch of the unlinking + 1 */
	tg_session *sessions[READERS_MAX];
} shared;

static shared *world;
static unsigned reuses; /* in all schedules */

/* --- what stands for the rest of the runtime ------------------------------------------ */

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

void
tg_latch_release(tg_latch *latch)
{
	explore_unlock(&latch->word);
}

bool
tg_failpoint_refuses(const char *name)
{
	(void) name;
	return false;
}

void
tg_retirement_depart(tg_session *session)
{
	(void) session;
}

void
tg_alloc_flush(tg_session *session)
{
	(void) session;
}

void
tg_claims_end(tg_session *session)
{
	(void) session;
}

void
tg_cache_sum(const tg_cache *cache, int64_t used_sums[TG_USE_COUNT])
{
	(void) cache;
	(void) used_sums;
}

/* --- the program -------------------------------------------------------------------------- */

static void
setup(const void *pointer)
{
	const scenario *scenario = pointer;
	void *memory = explore_allocate(tg_sessions_state_bytes(scenario->readers));

	world = explore_allocate(sizeof(shared));
	memset(world, 0, sizeof(*world));
	tg_sessions_setup(memory, scenario->readers, NULL, NULL);
	EXPLORE_FIELD(&state->epoch, EXPLORE_SHARED);
	EXPLORE_FIELD(&state->latch.word, EXPLORE_SHARED);
	EXPLORE_FIELD(&state->top, EXPLORE_CONSTANT);
	world->object.value = WHOLE;
	world->link = &world->object;
	EXPLORE_FIELD(&world->object.value, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->link, (int) scenario->readers);
	EXPLORE_FIELD(&world->told, EXPLORE_SHARED);
	for (unsigned i = 0; i < scenario->readers; i++)
	{
		EXPLORE_FIELD(&state->sessions[i].epoch, (int) i);
		explore_unwatched(&state->sessions[i].open);
		explore_unwatched(&state->sessions[i].presence);
		if (tg_session_open(&world->sessions[i]) != TG_OK)
			explore_violation("no session");
	}
}

static void
read_rounds(const scenario *scenario, unsigned number)
{
	tg_session *session = world->sessions[number];

	for (unsigned i = 0; i < scenario->rounds; i++)
	{
		object *object;

		explore_checkpoint(i, NULL, 0);
		tg_epoch_enter(session);
		object = tg_load_acquire(&world->link);
		if (object)
		{
			if (tg_load_relaxed(&object->value) != WHOLE)
				explore_violation("reader %u met what was reused", number);
			explore_plain_read(&object->contents);
		}
		tg_epoch_leave(session);
	}
}

/* New epochs, until the object may be reused or there were enough. */
static void
reuse(const scenario *scenario, uint64_t epoch)
{
	for (unsigned i = 0; i < scenario->epochs; i++)
	{
		if (!scenario->is_apart)
			tg_epoch_advance();
		if (tg_epoch_confirmed() + scenario->is_impatient > epoch)
		{
			explore_plain_write(&world->object.contents);
			tg_store_relaxed(&world->object.value, REUSED);
			reuses++;
			return;
		}
	}
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;

	if (number < scenario->readers)
		read_rounds(scenario, number);
	else if (number == scenario->readers)
	{
		uint64_t epoch;

		tg_store_relaxed(&world->link, NULL);
		epoch = tg_epoch_now();
		if (scenario->is_told)
			tg_store_release(&world->told, (uint32_t) epoch + 1);
		else
			reuse(scenario, epoch);
	}
	else if (scenario->is_apart)
	{
		for (unsigned i = 0; i < scenario->epochs; i++)
			tg_epoch_advance();
	}
	else
	{
		explore_wait_while(&world->told, 0);
		reuse(scenario, tg_load_acquire(&world->told) - UINT64_C(1));
	}
}

static void
finish(const void *pointer)
{
	const scenario *scenario = pointer;

	for (unsigned i = 0; i < scenario->readers; i++)
	{
		if (tg_load_relaxed(&world->sessions[i]->epoch) != 0)
			explore_violation("reader %u is still inside", i);
	}
	if (tg_epoch_confirmed() != tg_load_relaxed(&state->epoch))
		explore_violation("nobody is inside, and the present epoch is not confirmed");
}

static explore_program
program_of(const void *pointer)
{
	const scenario *scenario = pointer;

	return (explore_program){.thread_count = scenario->readers + 1 + (scenario->is_told || scenario->is_apart),
							 .alike_from = EXPLORE_THREADS,
							 .config = scenario,
							 .setup = setup,
							 .thread = thread,
							 .finish = finish};
}

/* --- as it is, and with something planted --------------------------------------------------- */

static const scenario one = {.name = "1 reader x 2, 2 epochs", .readers = 1, .rounds = 2, .epochs = 2};
static const scenario told = {
	.name = "1 reader x 2, 2 epochs, by another thread", .readers = 1, .rounds = 2, .epochs = 2, .is_told = true};
static const scenario apart = {
	.name = "1 reader x 1, 2 epochs of another thread", .readers = 1, .rounds = 1, .epochs = 2, .is_apart = true};
static const scenario two = {.name = "2 readers x 1, 2 epochs", .readers = 2, .rounds = 1, .epochs = 2};
static const scenario more = {.name = "1 reader x 3, 3 epochs", .readers = 1, .rounds = 3, .epochs = 3};
static const scenario two_told = {
	.name = "2 readers x 1, 2 epochs, by another thread", .readers = 2, .rounds = 1, .epochs = 2, .is_told = true};
static const scenario impatient = {
	.name = "reuse in the epoch of the unlinking", .readers = 1, .rounds = 1, .epochs = 2, .is_impatient = true};

static void
test_as_it_is(const scenario *scenario)
{
	explore_as_it_is(program_of, scenario, scenario->name, EXPLORE_SC, EXPLORE_C11, &reuses);
}

static const explore_weakness weaknesses[] = {
	{"the fence of enter is missing",
	 &one,
	 EXPLORE_TSO,
	 {"tg_epoch_enter", "fence of tg_store_then_fence(&session->epoch)", EXPLORE_OMIT}},
	{"the fence after the unlinking is missing",
	 &apart,
	 EXPLORE_TSO,
	 {"tg_epoch_now", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"enter stores relaxed",
	 &one,
	 EXPLORE_C11,
	 {"tg_epoch_enter", "store of tg_store_then_fence(&session->epoch)", EXPLORE_RELAX}},
	{"leave stores relaxed", &one, EXPLORE_C11, {"tg_epoch_leave", "tg_store_release(&session->epoch)", EXPLORE_RELAX}},
	{"epochs are read relaxed",
	 &one,
	 EXPLORE_C11,
	 {"tg_epoch_confirmed", "tg_load_acquire(&state->sessions[id].epoch)", EXPLORE_RELAX}},
};

static void
test_planted(void)
{
	const explore_program program = program_of(&impatient);
	explore_result result = explore(&program, EXPLORE_SC, NULL, EXPLORE_STATES_MAX);

	unit_ok(result.violated, "%s: caught on sc: %s", impatient.name, result.reason);
	explore_planted(program_of, weaknesses, EXPLORE_COUNT(weaknesses));
}

int
main(int argument_count, char **arguments)
{
	test_as_it_is(&one);
	test_as_it_is(&told);
	test_as_it_is(&apart);
	test_as_it_is(&two);
	if (argument_count > 1 && strcmp(arguments[1], "long") == 0)
	{
		test_as_it_is(&more);
		test_as_it_is(&two_told);
	}
	test_planted();
	return unit_done();
}
