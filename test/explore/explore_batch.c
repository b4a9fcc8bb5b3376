/*
 * explore_batch.c
 *	  The tree of a batch: every schedule of runtime/batch/tree.c.
 *
 * A thread starts the tree; each seat has a thread, which runs its statements; another one may
 * cancel.  Any statement may fail.  A seat's thread sleeps until it is told that there is a
 * statement, or that the tree has drained; it may also find the statement before it is told.
 *
 * Shown, for every schedule: complete and drained are called once each, in this order, with one
 * outcome; if that is success, each statement has been run exactly once, and otherwise at most
 * once, and there was an error or a cancel; no statement runs after drained; a seat has one thread
 * at a time, which sees what the one before has done; in the end each node is disposed.  Then the
 * orders that tree.c's argument names are planted away.
 */
#include <string.h>

#include "test/explore/explore.h"

#include "runtime/batch/tree.c"

#include "test/unit/unit.h"

#define STATES_MAX 60000000
#define FILES_MAX 2
#define BLOCKS_MAX 3
#define STATEMENTS_MAX 2
#define SEATS_MAX 3

typedef struct scenario
{
	const char *name;
	uint32_t files;
	uint32_t blocks[FILES_MAX];
	uint32_t statements; /* of a block */
	uint32_t files_at_once;
	uint32_t blocks_at_once;
	bool fails;	  /* each statement may */
	bool cancels; /* a thread does, at any time */
} scenario;

typedef struct shared_world
{
	tg_batch_tree tree;
	tg_batch_place places[FILES_MAX];
	tg_batch_seat seats[SEATS_MAX];
	uint32_t told[SEATS_MAX]; /* atomic: the seat is to look */
	uint32_t is_drained;	  /* atomic */
	explore_plain file[FILES_MAX];
	explore_plain seat[SEATS_MAX];
	explore_plain all;	   /* written by drained, read by statements */
	uint8_t at[SEATS_MAX]; /* the statement of its block that comes next */
	uint8_t runs[FILES_MAX][BLOCKS_MAX][STATEMENTS_MAX];
	uint8_t completes;
	uint8_t drains;
	uint8_t failures;
	uint8_t outcome;
} shared_world;

static shared_world *world;
static unsigned well; /* in all schedules */
static unsigned aborted;

static unsigned
seat_count(const scenario *scenario)
{
	return scenario->files_at_once * scenario->blocks_at_once;
}

/* --- what the tree calls ---------------------------------------------------------------------- */

static uint32_t
count_blocks(void *argument, uint32_t file)
{
	const scenario *scenario = argument;

	explore_plain_write(&world->file[file]);
	/* all seats of the place have left the file before */
	for (unsigned i = 0; i < seat_count(scenario) && scenario->files_at_once == 1; i++)
		explore_plain_read(&world->seat[i]);
	return scenario->blocks[file];
}

static void
schedule(void *argument, tg_batch_seat *seat, void *context)
{
	(void) argument;
	(void) context;
	tg_store_release(&world->told[seat->number], 1);
}

static void
complete(void *argument, tg_batch_outcome outcome, void *context)
{
	(void) argument;
	(void) context;
	explore_effect();
	if (world->completes++ > 0 || world->drains > 0)
		explore_violation("complete is called again, or after drained");
	world->outcome = (uint8_t) outcome;
}

static void
drained(void *argument, tg_batch_outcome outcome, void *context)
{
	const scenario *scenario = argument;

	(void) context;
	explore_effect();
	if (world->drains++ > 0 || world->completes != 1 || world->outcome != outcome)
		explore_violation("drained is called again, before complete, or with another outcome");
	explore_plain_write(&world->all);
	for (unsigned i = 0; i < seat_count(scenario); i++)
		explore_plain_write(&world->seat[i]);
	tg_store_release(&world->is_drained, 1);
	for (unsigned i = 0; i < seat_count(scenario); i++)
		tg_store_release(&world->told[i], 1);
}

static const tg_batch_ops tree_ops = {
	.count_blocks = count_blocks, .schedule = schedule, .complete = complete, .drained = drained};

/* --- the program ------------------------------------------------------------------------------ */

static void
setup(const void *pointer)
{
	const scenario *scenario = pointer;

	world = explore_allocate(sizeof(*world));
	memset(world, 0, sizeof(*world));
	EXPLORE_FIELD(&world->tree.word, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->tree.next_file, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->tree.references, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->tree.outcome, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->is_drained, EXPLORE_SHARED);
	for (unsigned i = 0; i < scenario->files_at_once; i++)
	{
		EXPLORE_FIELD(&world->places[i].word, EXPLORE_SHARED);
		EXPLORE_FIELD(&world->places[i].next_block, EXPLORE_SHARED);
		explore_unwatched(&world->places[i].shown);
	}
	for (unsigned i = 0; i < seat_count(scenario); i++)
	{
		EXPLORE_FIELD(&world->seats[i].block_word, EXPLORE_SHARED);
		EXPLORE_FIELD(&world->seats[i].statement_word, EXPLORE_SHARED);
		EXPLORE_FIELD(&world->told[i], EXPLORE_SHARED);
		explore_unwatched(&world->seats[i].shown);
	}
	world->tree.file_count = scenario->files;
	world->tree.files_at_once = scenario->files_at_once;
	world->tree.blocks_at_once = scenario->blocks_at_once;
	tg_batch_tree_init(&world->tree, &tree_ops, (void *) scenario, world->places, world->seats);
}

static void
note(void *argument)
{
	(void) argument;
	explore_effect();
	world->failures++;
}

static void
run_statement(const scenario *scenario, tg_batch_seat *seat)
{
	unsigned number = seat->number;
	uint8_t at = world->at[number];
	bool more = at + 1u < scenario->statements;

	if (!tg_batch_is_running(&world->tree))
	{
		tg_batch_statement_ended(seat, NULL);
		return;
	}
	explore_plain_write(&world->seat[number]);
	explore_plain_read(&world->file[seat->file]);
	explore_plain_read(&world->all);
	explore_effect();
	if (world->drains > 0)
		explore_violation("a statement runs after drained");
	if (world->runs[seat->file][seat->block][at]++ > 0)
		explore_violation("a statement runs again");
	world->at[number] = more ? at + 1 : 0;
	if (scenario->fails && explore_choose(2) == 1)
	{
		(void) tg_batch_fail(&world->tree, note, NULL, NULL);
		tg_batch_statement_ended(seat, NULL);
	}
	else
		(void) tg_batch_statement_done(seat, more, NULL);
}

static void
run_seat(const scenario *scenario, unsigned number)
{
	for (;;)
	{
		explore_checkpoint(0, NULL, 0);
		explore_wait_while(&world->told[number], 0);
		(void) tg_exchange_acq_rel(&world->told[number], 0u);
		for (;;)
		{
			explore_checkpoint(1, NULL, 0);
			if (!tg_batch_seat_is_active(&world->seats[number]))
				break;
			run_statement(scenario, &world->seats[number]);
		}
		if (tg_load_acquire(&world->is_drained) != 0)
			return;
	}
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;

	if (number == 0)
		tg_batch_tree_start(&world->tree, NULL);
	else if (number <= seat_count(scenario))
		run_seat(scenario, number - 1);
	else
		(void) tg_batch_fail(&world->tree, note, NULL, NULL);
}

static void
finish(const void *pointer)
{
	const scenario *scenario = pointer;
	bool succeeded = world->outcome == TG_BATCH_SUCCEEDED;

	if (world->completes != 1 || world->drains != 1 || (world->failures > 0) == succeeded || world->failures > 1)
		explore_violation("%u completes, %u drains, outcome %u, %u failures", world->completes, world->drains,
						  world->outcome, world->failures);
	for (uint32_t i = 0; i < scenario->files && succeeded; i++)
		for (uint32_t j = 0; j < scenario->blocks[i]; j++)
			for (uint32_t k = 0; k < scenario->statements; k++)
				if (world->runs[i][j][k] != 1)
					explore_violation("statement %u of block %u of file %u was not run", k, j, i);
	for (unsigned i = 0; i < scenario->files_at_once; i++)
		if (state_of(tg_load_relaxed(&world->places[i].word)) != TG_NODE_DISPOSED &&
			tg_load_relaxed(&world->places[i].word) != 0)
			explore_violation("a file is not disposed");
	if (tg_load_relaxed(&world->tree.word) != TG_NODE_DISPOSED)
		explore_violation("the batch is not disposed");
	well += succeeded;
	aborted += !succeeded;
}

static explore_result
explore_scenario(const scenario *scenario, explore_memory memory, const explore_plant *plant)
{
	explore_program program = {.thread_count = 1 + seat_count(scenario) + scenario->cancels,
							   .alike_from = EXPLORE_THREADS,
							   .config = scenario,
							   .setup = setup,
							   .thread = thread,
							   .finish = finish};

	well = 0;
	aborted = 0;
	return explore(&program, memory, plant, STATES_MAX);
}

/* --- as it is, and with something planted ----------------------------------------------------- */

static const scenario two_files = {.name = "2 files at once, of 2, each of a block",
								   .files = 2,
								   .blocks = {1, 1},
								   .statements = 1,
								   .files_at_once = 2,
								   .blocks_at_once = 1};
static const scenario cancelled_files = {.name = "2 files at once, of 2, each a block of 2 statements, a cancel",
										 .files = 2,
										 .blocks = {1, 1},
										 .statements = 2,
										 .files_at_once = 2,
										 .blocks_at_once = 1,
										 .cancels = true};
static const scenario two_blocks = {.name = "2 blocks at once, a file of 3, and one of 1",
									.files = 2,
									.blocks = {3, 1},
									.statements = 1,
									.files_at_once = 1,
									.blocks_at_once = 2};
static const scenario errors = {.name = "2 blocks at once, 2 files, the first of 2 blocks, errors",
								.files = 2,
								.blocks = {2, 1},
								.statements = 1,
								.files_at_once = 1,
								.blocks_at_once = 2,
								.fails = true};
static const scenario empty = {.name = "2 blocks at once, a file without any, and one of 1, a cancel",
							   .files = 2,
							   .blocks = {0, 1},
							   .statements = 1,
							   .files_at_once = 1,
							   .blocks_at_once = 2,
							   .cancels = true};
static const scenario whole_files = {.name = "2 files at once, each 2 blocks of 2 statements, errors",
									 .files = 2,
									 .blocks = {2, 2},
									 .statements = 2,
									 .files_at_once = 2,
									 .blocks_at_once = 1,
									 .fails = true};
static const scenario whole_blocks = {.name = "2 blocks at once, 2 files of 2 blocks of 2 statements, errors",
									  .files = 2,
									  .blocks = {2, 2},
									  .statements = 2,
									  .files_at_once = 1,
									  .blocks_at_once = 2,
									  .fails = true};
static const scenario cancelled_blocks = {.name = "2 blocks at once, a file of 3, a cancel",
										  .files = 1,
										  .blocks = {3},
										  .statements = 1,
										  .files_at_once = 1,
										  .blocks_at_once = 2,
										  .cancels = true};

static void
test_as_it_is(const scenario *scenario)
{
	for (explore_memory memory = EXPLORE_SC; memory < EXPLORE_MEMORIES; memory++)
	{
		explore_result result = explore_scenario(scenario, memory, NULL);

		unit_ok(!result.violated && result.complete && well > 0 &&
					(aborted > 0) == (scenario->fails || scenario->cancels),
				"%s, %s: %llu states, %.2g schedules%s", scenario->name, explore_memory_names[memory],
				(unsigned long long) result.states, result.schedules, result.reason);
		if (result.violated)
			explore_print_schedule();
	}
}

static const struct
{
	const char *name;
	const scenario *scenario;
	explore_memory memory; /* that shows it */
	explore_plant plant;
} weaknesses[] = {
	{"the outcome is no one step", &errors, EXPLORE_SC, {"decide", "tg_cas_acq_rel(&tree->outcome)", EXPLORE_SPLIT}},
	{"a child leaves in two steps",
	 &two_blocks,
	 EXPLORE_SC,
	 {"leave_node", "tg_fetch_add_acq_rel(word)", EXPLORE_SPLIT}},
	{"a reference is released in two steps",
	 &two_files,
	 EXPLORE_SC,
	 {"release_tree", "tg_fetch_add_acq_rel(&tree->references)", EXPLORE_SPLIT}},
	{"a block is taken in two steps",
	 &two_blocks,
	 EXPLORE_SC,
	 {"next_block", "tg_fetch_add_relaxed(&place->next_block)", EXPLORE_SPLIT}},
	{"a file is taken in two steps",
	 &two_files,
	 EXPLORE_SC,
	 {"next_file", "tg_fetch_add_relaxed(&tree->next_file)", EXPLORE_SPLIT}},
	{"a child leaves relaxed", &two_blocks, EXPLORE_C11, {"leave_node", "tg_fetch_add_acq_rel(word)", EXPLORE_RELAX}},
	{"the last reference is released relaxed",
	 &two_files,
	 EXPLORE_C11,
	 {"release_tree", "tg_fetch_add_acq_rel(&tree->references)", EXPLORE_RELAX}},
};

static void
test_planted(void)
{
	for (unsigned i = 0; i < sizeof(weaknesses) / sizeof(weaknesses[0]); i++)
	{
		explore_result result = explore_scenario(weaknesses[i].scenario, weaknesses[i].memory, &weaknesses[i].plant);

		unit_ok(result.violated && result.planted, "%s: caught on %s, after %llu states: %s", weaknesses[i].name,
				explore_memory_names[weaknesses[i].memory], (unsigned long long) result.states, result.reason);
	}
}

int
main(int argument_count, char **arguments)
{
	test_as_it_is(&two_files);
	test_as_it_is(&two_blocks);
	test_as_it_is(&errors);
	test_as_it_is(&empty);
	if (argument_count > 1 && strcmp(arguments[1], "long") == 0)
	{
		test_as_it_is(&cancelled_files);
		test_as_it_is(&whole_files);
		test_as_it_is(&whole_blocks);
		test_as_it_is(&cancelled_blocks);
	}
	test_planted();
	return unit_done();
}
