/*
 * btree_race.c
 *	  The B+tree under threads, and disturbed at its failpoints.
 *
 * Under threads every key that comes and goes has one owner, which knows whether it is there; a
 * third of the keys is there all the time, and each scan must return exactly those of its range,
 * among others, in order.
 *
 * Threads rarely meet in a window of nanoseconds.  So the same checks are made with a failpoint in
 * each window, whose hook changes the tree.
 */
#include "runtime/btree/btree.h"

#include "runtime/base/failpoint.h"
#include "runtime/btree/btree_node.h"
#include "test/unit/btree_universe.h"
#include "test/unit/unit.h"

#define THREADS 4
#define RUN 50 /* keys */

/* --- threads ------------------------------------------------------------------------- */

typedef struct contest
{
	tg_btree *tree;
	universe world;
	unsigned operations;
	unsigned failures; /* atomic */
	unsigned won;	   /* atomic: inserts that found nothing */
	uint64_t seed;
} contest;

static unsigned stable_step = 3;

static bool
is_stable(unsigned rank)
{
	return rank % stable_step == 0;
}

static void
count_failure(contest *run, bool condition)
{
	if (!condition)
		(void) tg_fetch_add_relaxed(&run->failures, 1);
}

/* A scan of a random range: rows in order, none twice, and every stable one. */
static bool
scan_once(tg_session *session, contest *run, uint64_t *state)
{
	const universe *world = &run->world;
	unsigned low = unit_below(state, world->count);
	unsigned high = low + unit_below(state, world->count - low);
	range bounds = {&world->keys[low], &world->keys[high], true, false, unit_below(state, 2) != 0};
	unsigned batch = 1 + unit_below(state, unit_below(state, 2) != 0 ? 400 : 10);
	unsigned steps = 0;
	unsigned expected = bounds.backward ? high : low; /* ranks up to here are accounted for */
	uint32_t rows[401];
	tg_btree_cursor cursor;

	open_cursor(&cursor, run->tree, &bounds);
	for (;;)
	{
		unsigned got;

		tg_epoch_enter(session);
		got = tg_btree_cursor_next(&cursor, rows, batch);
		tg_epoch_leave(session);
		if (got > batch)
			return false;
		for (unsigned i = 0; i < got; i++)
		{
			if (bounds.backward ? rows[i] >= expected || rows[i] < low : rows[i] < expected || rows[i] >= high)
				return false;
			if (bounds.backward)
			{
				while (--expected > rows[i])
				{
					if (is_stable(expected))
						return false;
				}
			}
			else
			{
				for (; expected < rows[i]; expected++)
				{
					if (is_stable(expected))
						return false;
				}
				expected++;
			}
		}
		if (got == 0 || (steps++ > 20 && batch <= 10))
			break;
	}
	if (!cursor.done)
		return true;
	if (bounds.backward)
	{
		while (expected-- > low)
		{
			if (is_stable(expected))
				return false;
		}
	}
	else
	{
		for (; expected < high; expected++)
		{
			if (is_stable(expected))
				return false;
		}
	}
	return true;
}

static void
run_owner(unsigned number, void *argument)
{
	contest *run = argument;
	universe *world = &run->world;
	uint64_t state = run->seed + number;
	tg_session *session;

	if (tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned i = 0; i < run->operations; i++)
	{
		unsigned rank = unit_below(&state, world->count);
		uint32_t row;

		if (is_stable(rank))
			count_failure(run, find_key(session, run->tree, world, rank) == TG_OK);
		else if (rank % THREADS != number)
			count_failure(run, find_key(session, run->tree, world, rank) != TG_CHANGED);
		else if (world->present[rank] && unit_below(&state, 2) == 0)
		{
			count_failure(run, find_key(session, run->tree, world, rank) == TG_OK);
			count_failure(run, remove_key(session, run->tree, world, rank, rank) == TG_OK);
			count_failure(run, remove_key(session, run->tree, world, rank, rank) == TG_NOT_FOUND);
			world->present[rank] = false;
		}
		else
		{
			count_failure(run, insert_key(session, run->tree, world, rank, &row, TG_DATA) ==
								   (world->present[rank] ? TG_EXISTS : TG_OK));
			count_failure(run, row == rank);
			world->present[rank] = true;
		}
		if (i % 64 == number)
			count_failure(run, scan_once(session, run, &state));
		if (i % 1024 == 0)
		{
			tg_epoch_advance();
			tg_retire_poll(session);
		}
	}
	tg_session_close(session);
}

static void
test_owners(shape kind, unsigned size, unsigned rounds)
{
	unsigned failures = 0;
	bool agrees = true;

	for (unsigned round = 0; round < rounds; round++)
	{
		contest run = {.tree = make_tree(), .world = make_universe(kind, size, round + 1000), .seed = round * 100};
		uint32_t row;

		run.operations = size * 2;
		for (unsigned rank = 0; rank < run.world.count; rank += 3)
		{
			run.world.present[rank] = true;
			(void) insert_key(main_session, run.tree, &run.world, rank, &row, TG_DATA);
		}
		unit_threads(THREADS, run_owner, &run);
		failures += run.failures;
		tg_btree_check(run.tree);
		agrees = agrees && finds_agree(run.tree, &run.world);
		tg_btree_destroy(main_session, run.tree);
		free_universe(&run.world);
	}
	unit_equal(failures, 0, "%s: owners, finders and scanners agree", shape_names[kind]);
	unit_ok(agrees, "%s: the remaining keys are those that the owners left", shape_names[kind]);
}

/* Inserts all keys of the owner by runs. */
static bool
enter_runs(tg_session *session, contest *run, unsigned number)
{
	const universe *world = &run->world;
	tg_btree_entry entries[RUN];
	unsigned count = 0;
	bool agrees = true;

	for (unsigned rank = number; rank < world->count + THREADS; rank += THREADS)
	{
		bool is_over = rank >= world->count;
		unsigned done;

		if (!is_over && !is_stable(rank))
			entries[count++] =
				(tg_btree_entry){.key = world->keys[rank].bytes, .key_bytes = world->keys[rank].length, .row = rank};
		if (count < RUN && !is_over)
			continue;
		tg_epoch_enter(session);
		agrees = agrees && tg_btree_insert_run(session, run->tree, entries, count, TG_DATA, &done) == TG_OK;
		tg_epoch_leave(session);
		while (count > 0)
			agrees = agrees && !entries[--count].found;
	}
	return agrees;
}

/* The tree grows to its full size and shrinks to its stable keys, again and again. */
static void
run_wave(unsigned number, void *argument)
{
	contest *run = argument;
	universe *world = &run->world;
	uint64_t state = run->seed + number;
	tg_session *session;
	uint32_t row;

	if (tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned wave = 0; wave < run->operations; wave++)
	{
		if (wave % 4 == 2)
			count_failure(run, enter_runs(session, run, number));
		for (unsigned rank = number; rank < world->count; rank += THREADS)
		{
			if (is_stable(rank))
				count_failure(run, find_key(session, run->tree, world, rank) == TG_OK);
			else if (wave % 2 == 0)
				count_failure(run, insert_key(session, run->tree, world, rank, &row, TG_DATA) ==
									   (wave % 4 == 2 ? TG_EXISTS : TG_OK));
			else
				count_failure(run, remove_key(session, run->tree, world, rank, rank) == TG_OK);
			if (rank / THREADS % 64 == 0)
				count_failure(run, scan_once(session, run, &state));
		}
		tg_epoch_advance();
		tg_retire_poll(session);
	}
	tg_session_close(session);
}

static void
test_waves(shape kind, unsigned size)
{
	contest run = {.tree = make_tree(), .world = make_universe(kind, size, 9), .operations = 8, .seed = 3};
	tg_btree_report report;
	uint32_t row;

	stable_step = 60;
	for (unsigned rank = 0; rank < run.world.count; rank += stable_step)
	{
		run.world.present[rank] = true;
		(void) insert_key(main_session, run.tree, &run.world, rank, &row, TG_DATA);
	}
	unit_threads(THREADS, run_wave, &run);
	tg_btree_check(run.tree);
	tg_btree_report_get(run.tree, &report);
	unit_equal(run.failures, 0, "%s: waves of inserts and removals", shape_names[kind]);
	unit_ok(finds_agree(run.tree, &run.world), "%s: the stable keys are left", shape_names[kind]);
	unit_ok(report.nodes <= size / 200, "%s: in %" PRIu64 " nodes", shape_names[kind], report.nodes);
	stable_step = 3;
	tg_btree_destroy(main_session, run.tree);
	free_universe(&run.world);
}

/* All insert all keys, each its own row, most at about the same time. */
static void
run_rival(unsigned number, void *argument)
{
	contest *run = argument;
	tg_session *session;

	if (tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned rank = 0; rank < run->world.count; rank++)
	{
		const key *own = &run->world.keys[rank];
		uint32_t row = rank * THREADS + number;
		uint32_t found;
		tg_status status;

		tg_epoch_enter(session);
		status = tg_btree_insert(session, run->tree, own->bytes, own->length, &row, TG_DATA);
		if (status == TG_OK)
			(void) tg_fetch_add_relaxed(&run->won, 1);
		else
			count_failure(run, status == TG_EXISTS && row / THREADS == rank && row % THREADS != number);
		tg_btree_expect(run->tree, own->bytes, own->length);
		count_failure(run, tg_btree_find(run->tree, own->bytes, own->length, &found) == TG_OK && found == row);
		tg_epoch_leave(session);
	}
	tg_session_close(session);
}

static void
test_rivals(shape kind, unsigned size)
{
	contest run = {.tree = make_tree(), .world = make_universe(kind, size, 5)};

	unit_threads(THREADS, run_rival, &run);
	tg_btree_check(run.tree);
	unit_equal(run.won, run.world.count, "%s: one inserter wins each key", shape_names[kind]);
	unit_equal(run.failures, 0, "%s: the others get its row", shape_names[kind]);
	tg_btree_destroy(main_session, run.tree);
	free_universe(&run.world);
}

/* --- races, made by failpoints ------------------------------------------------------- */

#ifdef TG_FAILPOINTS

/*
 * While one operation stands at a failpoint, having locked nothing, the hook
 * changes the tree under it, in the same thread but by another session.
 */
typedef enum disturbance
{
	INSERT_OTHERS, /* many around the key, so that nodes split and grow */
	REMOVE_OTHERS,
	CHANGE_SAME, /* the operation's own key appears or disappears, and others appear */
	DISTURBANCE_COUNT
} disturbance;

typedef enum operation
{
	OPERATION_FIND,
	OPERATION_INSERT,
	OPERATION_REMOVE,
	OPERATION_SCAN,
	OPERATION_COUNT
} operation;

static struct
{
	contest run;
	tg_session *session;
	const char *point;
	unsigned passes; /* until the disturbance */
	disturbance kind;
	unsigned rank;
	bool happened;
} race;

static bool
disturb(const char *name)
{
	universe *world = &race.run.world;
	unsigned first = race.rank > 300 ? race.rank - 300 : 0;
	uint32_t row;

	if (race.happened || strcmp(name, race.point) != 0 || race.passes-- != 0)
		return false;
	race.happened = true;
	for (unsigned i = 0; i < 600; i++)
	{
		unsigned rank = first + i * 7 % 600;

		if (rank >= world->count || is_stable(rank) || rank == race.rank)
			continue;
		if (race.kind == REMOVE_OTHERS)
			(void) remove_key(race.session, race.run.tree, world, rank, rank);
		else
			(void) insert_key(race.session, race.run.tree, world, rank, &row, TG_DATA);
		world->present[rank] = race.kind != REMOVE_OTHERS;
	}
	if (race.kind == CHANGE_SAME && !is_stable(race.rank))
	{
		if (world->present[race.rank])
			(void) remove_key(race.session, race.run.tree, world, race.rank, race.rank);
		else
			(void) insert_key(race.session, race.run.tree, world, race.rank, &row, TG_DATA);
		world->present[race.rank] = !world->present[race.rank];
	}
	return false;
}

/* The operation, disturbed; does it say what it must? */
static bool
operate_disturbed(operation what, uint64_t *state)
{
	contest *run = &race.run;
	bool same = race.kind == CHANGE_SAME;
	tg_status status;
	uint32_t row;
	bool agrees = false;

	tg_failpoint_set(disturb);
	switch (what)
	{
		case OPERATION_FIND:
			agrees = find_key(main_session, run->tree, &run->world, race.rank) == TG_OK;
			break;
		case OPERATION_INSERT:
			status = insert_key(main_session, run->tree, &run->world, race.rank, &row, TG_DATA);
			agrees = status == (same && race.happened ? TG_EXISTS : TG_OK) && row == race.rank;
			run->world.present[race.rank] = true;
			break;
		case OPERATION_REMOVE:
			status = remove_key(main_session, run->tree, &run->world, race.rank, race.rank);
			agrees = status == (same && race.happened ? TG_NOT_FOUND : TG_OK);
			run->world.present[race.rank] = false;
			break;
		case OPERATION_SCAN:
		case OPERATION_COUNT:
			agrees = scan_once(main_session, run, state);
			break;
	}
	tg_failpoint_set(NULL);
	return agrees;
}

static bool
race_agrees(shape kind, operation what, uint64_t *state)
{
	contest *run = &race.run;
	bool agrees;
	uint32_t row;

	run->tree = make_tree();
	run->world = make_universe(kind, kind == SHAPE_LONG ? 300 : 1500, unit_random(state));
	race.rank = unit_below(state, run->world.count / 3 - 1) * 3 + (what == OPERATION_FIND ? 0 : 1);
	race.happened = false;
	for (unsigned rank = 0; rank < run->world.count; rank++)
	{
		run->world.present[rank] = is_stable(rank) || race.kind == REMOVE_OTHERS;
		if (rank == race.rank && what != OPERATION_FIND)
			run->world.present[rank] = what == OPERATION_REMOVE;
		if (run->world.present[rank])
			(void) insert_key(main_session, run->tree, &run->world, rank, &row, TG_DATA);
	}
	agrees = operate_disturbed(what, state);
	tg_btree_check(run->tree);
	agrees = agrees && finds_agree(run->tree, &run->world);
	tg_btree_destroy(main_session, run->tree);
	free_universe(&run->world);
	return agrees;
}

static void
test_races(void)
{
	static const char *const points[] = {"btree_step", "btree_node", "btree_read", "btree_lock"};
	static const char *const operations[] = {"find", "insert", "remove", "scan"};
	static const shape shapes[] = {SHAPE_SPARSE, SHAPE_MIXED, SHAPE_LONG};
	uint64_t state = 77;

	if (tg_session_open(&race.session) != TG_OK)
		abort();
	for (operation what = 0; what < OPERATION_COUNT; what++)
	{
		for (unsigned point = 0; point < 4; point++)
		{
			unsigned happened = 0;
			bool agrees = true;

			/* finds and scans lock nothing */
			if (point == 3 && what != OPERATION_INSERT && what != OPERATION_REMOVE)
				continue;
			race.point = points[point];
			for (unsigned i = 0; i < 3 * 3 * DISTURBANCE_COUNT * EFFORT; i++)
			{
				unsigned passes = i % 3;

				race.passes = passes;
				race.kind = (disturbance) (i / 3 % DISTURBANCE_COUNT);
				agrees = race_agrees(shapes[i / 9 % 3], what, &state) && agrees;
				happened += race.happened;
			}
			unit_ok(agrees && happened > 0, "%s disturbed at %s: %u times", operations[what], points[point], happened);
		}
	}
	tg_session_close(race.session);
}

#endif

int
main(void)
{
	if (!open_arena())
		return 1;
	test_owners(SHAPE_SPARSE, 5000 * EFFORT, EFFORT * 3);
	test_owners(SHAPE_DENSE, 3000, EFFORT * 5);
	test_owners(SHAPE_LONG, 500, EFFORT * 5);
	test_owners(SHAPE_MIXED, 3000, EFFORT * 5);
	test_waves(SHAPE_DENSE, 8000);
	test_waves(SHAPE_MIXED, 6000);
	test_rivals(SHAPE_DENSE, 30000 * EFFORT);
	test_rivals(SHAPE_MIXED, 1000 * EFFORT);
#ifdef TG_FAILPOINTS
	if (UNIT_ONE_THREAD)
		test_races();
#endif
	close_arena();
	return unit_done();
}
