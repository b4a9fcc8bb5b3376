/*
 * fdw_and.c
 *	  Planning a scan by one index, of rows that other indexes must have, too.
 *
 *	a = 1 AND b BETWEEN 2 AND 5 AND c = 6
 *	└ range    └── set                 on each row
 *
 * The cost of a scan by an index is mostly that of its rows, which lie anywhere in memory, and of
 * the conditions on them.  An entry of an index costs a small part of that.  So other indexes are
 * added to a use of an index, the one that helps most first, as long as reading their entries costs
 * less than the rows that they leave out.  Conditions of the others remain among those that are
 * evaluated on each row (and_scan.c).
 */
#include "postgres.h"

#include "src/exec/fdw_plan.h"

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#define OTHERS_MAX 3 /* in addition to the one by which rows are read */

/*
 * Costs in PostgreSQL's units: of looking for an entry in a set, of adding one to a set, and of
 * setting up another index.
 */
#define COST_OF_ENTRY (0.3 * cpu_tuple_cost)
#define COST_OF_ENTRY_OF_OTHER (0.06 * cpu_tuple_cost)
#define COST_OF_OTHER (200 * cpu_operator_cost)

#define ENTRIES_OF_KEYS 3 /* entries read for each row found, if a row has several keys */

/* A use of an index for which others are looked for. */
typedef struct Search
{
	PlannerInfo *root;
	RelOptInfo *baserel;
	const tsurugi_candidate *candidate;
	const tsurugi_choice *choice;
	double entries;	  /* of the index's own range */
	List *others;	  /* tsurugi_other */
	List *conditions; /* of all of them */
	Cost before;	  /* the cost of reading them */
	Cost cost;		  /* of everything */
} Search;

static double
entries_of(const Search *search, const tsurugi_choice *choice)
{
	return choice->whole ? search->baserel->tuples : tsurugi_rows_by_index(search->root, search->baserel, choice);
}

static Cost
cost_of_entries(const tsurugi_candidate *candidate, const tsurugi_choice *choice, double entries, Cost entry)
{
	return tsurugi_cost_of_descents(choice) + entries * (candidate->index->gin == NULL ? 1 : ENTRIES_OF_KEYS) * entry;
}

static List *
conditions_of(const tsurugi_choice *choice)
{
	return list_concat_copy(choice->conditions, choice->filtered);
}

/* The share of rows that a set lets through by mistake for lack of memory. */
static double
share_of_mistakes(double rows)
{
	return Min(1, rows / ((double) work_mem * 1024 * BITS_PER_BYTE));
}

/* Adds one more index to the search; false: that would not cost less. */
static bool
improve(const Search *search, const tsurugi_candidate *candidate, List *rinfos, Search *better_out)
{
	tsurugi_choice *choice = tsurugi_choose(search->root, search->baserel, candidate, rinfos);
	Search better = *search;
	tsurugi_other *other;
	double entries;
	double rows;

	if (choice->shape.way != TSURUGI_WAY_RANGE)
		return false;
	entries = entries_of(search, choice);
	better.before += COST_OF_OTHER + cost_of_entries(candidate, choice, entries, COST_OF_ENTRY_OF_OTHER);
	better.cost = better.before + cost_of_entries(search->candidate, search->choice, search->entries, COST_OF_ENTRY);
	if (better.cost >= search->cost)
		return false;
	better.conditions = list_concat_unique(list_copy(search->conditions), conditions_of(choice));
	rows = clamp_row_est(search->baserel->tuples * clauselist_selectivity(search->root, better.conditions,
																		  search->baserel->relid, JOIN_INNER, NULL));
	rows += search->entries * share_of_mistakes(entries);
	better.cost += tsurugi_cost_of_rows(search->baserel, search->candidate, rows);
	if (better.cost >= search->cost)
		return false;
	other = palloc(sizeof(*other));
	*other = (tsurugi_other){.candidate = candidate, .choice = choice, .rows = entries};
	better.others = lappend(list_copy(search->others), other);
	*better_out = better;
	return true;
}

/* Adds the index that helps most. */
static bool
add_best(Search *search, List *rinfos)
{
	const tsurugi_plan_notes *notes = search->baserel->fdw_private;
	Search best = *search;

	for (int i = 0; i < notes->candidate_count; i++)
	{
		const tsurugi_candidate *candidate = &notes->candidates[i];
		Search better;

		if (candidate != search->candidate && candidate->applies && improve(search, candidate, rinfos, &better) &&
			better.cost < best.cost)
			best = better;
	}
	if (best.others == search->others)
		return false;
	*search = best;
	return true;
}

tsurugi_choice *
tsurugi_and_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
				   const tsurugi_choice *choice, List *rinfos, Cost *cost_inout)
{
	Search search = {.root = root, .baserel = baserel, .candidate = candidate, .choice = choice, .cost = *cost_inout};
	tsurugi_choice *narrowed;

	/* most are look-ups, which need no other indexes */
	if (choice->shape.way != TSURUGI_WAY_RANGE || *cost_inout <= COST_OF_OTHER)
		return NULL;
	search.entries = entries_of(&search, choice);
	search.conditions = conditions_of(choice);
	while (list_length(search.others) < OTHERS_MAX && add_best(&search, rinfos))
		;
	if (search.others == NIL)
		return NULL;
	narrowed = palloc(sizeof(*narrowed));
	*narrowed = *choice;
	narrowed->others = search.others;
	narrowed->before = search.before;
	*cost_inout = search.cost;
	return narrowed;
}
