/*
 * kept.c
 *	  Jobs of cached plans, which are translated once.
 *
 * A short job is translated in the time that it takes to read a hundred rows.  A plan that is
 * executed again is the same, so its job is kept with its programs: made of a copy of the plan, in
 * memory of its own.  An execution adds what is its own: snapshot, ranges, the memory of the query.
 *
 *	            second sighting of the number                 first translation
 *	(nothing) ────────────────────────────────> kept, in use ──────────────────> with programs
 *	    ^                                             │                               │
 *	    └── no programs when it is given back, stale, or place taken by another <─────┘
 *
 * 1. A plan is known by a number that the planner has drawn for it, and that its copies have, too.
 *    It has one place, by the remainder, and gets it at its second sighting, so that plans for one
 *    execution leave nothing behind.
 * 2. Programs are kept if no value goes into them but the plan's constants: no parameter, and
 *    nothing else that is evaluated when the job starts.  So the job is translated as the planner
 *    does it, who knows no other value.  The bounds of ranges are made for each execution in any
 *    case (reads.c).
 * 3. They belong to one revision of each table's description; any invalidation of the table makes
 *    another one.  They depend on nothing else that can change: on types and operators that belong
 *    to PostgreSQL, and on an enum's being one, but not on the order of its labels.  So jobs that
 *    sort are not kept, nor are those that store, which depend on constraints.
 * 4. One node uses it at a time, from its begin to its end, as ranges are noted in the job.  A
 *    second one (a cursor left open, recursion) makes its own.
 */
#include "postgres.h"

#include "src/job/kept.h"

#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "src/job/code.h"
#include "src/table/relation.h"

#define PLACE_COUNT 64
#define SIGHTED_COUNT 512 /* plannings between a plan's first two executions */

struct tsurugi_job_kept
{
	uint32_t number;
	bool in_use;
	MemoryContext memory; /* has all of this */
	tsurugi_job *job;
	const tsurugi_job_code *code; /* NULL: not translated yet */
	int table_count;
	uint64_t *revisions; /* of the tables' descriptions, in their order */
};

typedef struct Sighting
{
	uint32_t number;
	bool refused; /* the job is not to be kept */
} Sighting;

static tsurugi_job_kept *places[PLACE_COUNT];
static Sighting sighted[SIGHTED_COUNT]; /* by the remainder of the number */

static void
sight(uint32_t number, bool refused)
{
	sighted[number % SIGHTED_COUNT] = (Sighting){.number = number, .refused = refused};
}

/* --- tables ----------------------------------------------------------------------------- */

static int
count_tables(const tsurugi_job *job)
{
	int count = 0;
	ListCell *cell;

	foreach (cell, job->steps)
		count += list_length(((const tsurugi_job_step *) lfirst(cell))->tables);
	return count;
}

static void
note_revisions(tsurugi_job_kept *kept)
{
	int at = 0;
	ListCell *cell;
	ListCell *inner;

	kept->table_count = count_tables(kept->job);
	kept->revisions = palloc(Max(kept->table_count, 1) * sizeof(uint64_t));
	foreach (cell, kept->job->steps)
		foreach (inner, ((const tsurugi_job_step *) lfirst(cell))->tables)
		{
			tsurugi_job_table *table = lfirst(inner);

			table->oid = table->described->oid;
			kept->revisions[at++] = table->described->revision;
		}
	tg_assert(at == kept->table_count);
}

/* 3. */
static bool
is_current(const tsurugi_job_kept *kept)
{
	int at = 0;
	ListCell *cell;
	ListCell *inner;

	foreach (cell, kept->job->steps)
		foreach (inner, ((const tsurugi_job_step *) lfirst(cell))->tables)
		{
			const tsurugi_job_table *table = lfirst(inner);

			if (!tsurugi_relation_is_as_described(table->oid, table->described, kept->revisions[at++]))
				return false;
		}
	return true;
}

/* --- life --------------------------------------------------------------------------------- */

static void
discard(tsurugi_job_kept *kept)
{
	tg_assert(!kept->in_use && places[kept->number % PLACE_COUNT] == kept);
	places[kept->number % PLACE_COUNT] = NULL;
	MemoryContextDelete(kept->memory);
}

static bool
may_be_kept(const tsurugi_job *job)
{
	return tsurugi_job_last(job)->sink == TG_GROUP && !tsurugi_job_stores(job);
}

static tsurugi_job_kept *
make(uint32_t number, const CustomScan *plan)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "job kept by tsurugi_fdw", ALLOCSET_SMALL_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);
	tsurugi_job_kept *kept = palloc0(sizeof(*kept));

	kept->number = number;
	kept->memory = memory;
	kept->job = tsurugi_job_from_plan(copyObject(plan));
	MemoryContextSwitchTo(before);
	if (!may_be_kept(kept->job))
	{
		MemoryContextDelete(memory);
		sight(number, true);
		return NULL;
	}
	MemoryContextSetParent(memory, CacheMemoryContext);
	return kept;
}

/* The plan's place; one that is stale is made anew, so that translations do not add up in it. */
static tsurugi_job_kept *
find(uint32_t number, const CustomScan *plan)
{
	tsurugi_job_kept *kept = places[number % PLACE_COUNT];

	if (kept == NULL || kept->number != number || kept->in_use || kept->code == NULL || is_current(kept))
		return kept;
	discard(kept);
	return places[number % PLACE_COUNT] = make(number, plan);
}

tsurugi_job_kept *
tsurugi_job_kept_take(const CustomScan *plan)
{
	uint32_t number = tsurugi_job_plan_number(plan);
	tsurugi_job_kept *kept = find(number, plan);

	if (kept == NULL || kept->number != number)
	{
		const Sighting *before = &sighted[number % SIGHTED_COUNT];

		if (before->number != number)
			sight(number, false);
		else if (!before->refused && (kept == NULL || !kept->in_use))
		{
			if (kept != NULL)
				discard(kept);
			kept = places[number % PLACE_COUNT] = make(number, plan);
		}
		if (kept == NULL || kept->number != number)
			return NULL;
	}
	if (kept->in_use)
		return NULL;
	kept->in_use = true;
	return kept;
}

tsurugi_job *
tsurugi_job_kept_job(const tsurugi_job_kept *kept)
{
	return kept->job;
}

void
tsurugi_job_kept_give_back(tsurugi_job_kept *kept)
{
	tg_assert(kept->in_use);
	kept->in_use = false;
	if (kept->code != NULL)
		return;
	sight(kept->number, true); /* a node that does not run would have it made each time */
	discard(kept);
}

/* --- translations ------------------------------------------------------------------------- */

const tsurugi_job_code *
tsurugi_job_kept_code(const tsurugi_job_kept *kept)
{
	return kept->code != NULL && is_current(kept) ? kept->code : NULL;
}

MemoryContext
tsurugi_job_kept_memory(tsurugi_job_kept *kept)
{
	tg_assert(kept->in_use); /* 4 */
	kept->code = NULL;
	return kept->memory;
}

const tsurugi_job_code *
tsurugi_job_kept_translate(tsurugi_job_kept *kept)
{
	MemoryContext before = MemoryContextSwitchTo(kept->memory);
	const tsurugi_job_code *code = tsurugi_job_translate(kept->job, NULL);

	tg_assert(kept->in_use && kept->code == NULL);
	if (code != NULL && tsurugi_job_is_constant(code)) /* 2 */
	{
		note_revisions(kept);
		kept->code = code;
	}
	MemoryContextSwitchTo(before);
	return kept->code;
}
