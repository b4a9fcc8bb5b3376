/*
 * fdw_or.c
 *	  Planning a scan by several indexes, for a condition that is an OR.
 *
 *	(a = 1 OR (b = 2 AND (c = 3 OR d = 4))) AND e = 5
 *	 └ a, e    └───────── c; d                           three arms, if b has no index
 *
 * Every arm must be served by an index.  The cheapest index is chosen among those that can answer
 * some of the arm's conditions, or whose predicate follows from them.  Conditions beside the OR
 * help.  An arm that no index serves is served nevertheless if one of its own conditions is an OR
 * whose arms are all served.  Arms that one index finds by values of the same columns are joined
 * into one if that is not more expensive.
 *
 * For each arm the plan has the conditions that say which rows its index has
 * (tsurugi_arm.answered); they follow from the arm's own conditions and those beside the OR.  They
 * tell the executor which arm is the first one with a row (or_scan.c).
 */
#include "postgres.h"

#include "src/exec/fdw_plan.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#define ARMS_FOUND_MAX 1000 /* for each of them, choosing an index takes some time */
#define ARMS_MAX 100		/* arms of a plan; a row may be tested for each */

/*
 * The cost of setting up one more scan, in PostgreSQL's units.  It equals half a dozen descents of
 * an index: so few combinations of values are looked for by one arm.
 */
#define COST_OF_ARM (60 * cpu_operator_cost)

/* An OR for which arms are looked for. */
typedef struct Search
{
	PlannerInfo *root;
	RelOptInfo *baserel;
	const tsurugi_plan_notes *notes;
	List *others; /* RestrictInfo: conditions beside the OR */
	List *arms;	  /* tsurugi_arm */
} Search;

/* --- one arm -------------------------------------------------------------------------------- */

/* Whether the index has all rows that meet an arm's conditions. */
static bool
has_all(const Search *search, const tsurugi_candidate *candidate, List *own)
{
	return candidate->applies ||
		   predicate_implied_by(candidate->info->indpred, list_concat_copy(own, search->others), false);
}

/*
 * Adds the parts of the index's predicate that the conditions do not imply, if the index can be
 * used because of the arm only.
 */
static void
add_predicate(const tsurugi_candidate *candidate, tsurugi_choice *choice)
{
	List *known = list_concat_copy(choice->conditions, choice->filtered);
	ListCell *cell;

	foreach (cell, candidate->applies ? NIL : candidate->info->indpred)
		if (!predicate_implied_by(list_make1(lfirst(cell)), known, false))
			choice->conditions = lappend(choice->conditions, lfirst(cell));
}

/*
 * The conditions that the index answers or that its predicate implies, without those beside the OR.
 */
static List *
answered_of(const Search *search, const tsurugi_choice *choice)
{
	List *answered = NIL;
	ListCell *cell;

	foreach (cell, list_concat_copy(choice->conditions, choice->filtered))
	{
		if (!list_member_ptr(search->others, lfirst(cell)))
			answered = lappend(answered, IsA(lfirst(cell), RestrictInfo) ? lfirst_node(RestrictInfo, cell)->clause
																		 : lfirst(cell));
	}
	return answered;
}

/* Makes an arm by this index; NULL if the index does not serve it. */
static tsurugi_arm *
serve(const Search *search, const tsurugi_candidate *candidate, List *own)
{
	tsurugi_candidate here = *candidate;
	tsurugi_choice *choice;
	tsurugi_arm *arm;

	if (!has_all(search, candidate, own))
		return NULL;
	here.implied = tsurugi_implied_conditions(candidate->info, own);
	choice = tsurugi_choose(search->root, search->baserel, &here, list_concat_copy(own, search->others));
	add_predicate(candidate, choice);
	if (choice->shape.way == TSURUGI_WAY_TABLE)
	{
		if (candidate->applies || candidate->index->gin != NULL)
			return NULL;
		choice->shape.way = TSURUGI_WAY_RANGE; /* all rows that meet the predicate */
	}
	arm = palloc(sizeof(*arm));
	*arm = (tsurugi_arm){.candidate = candidate,
						 .choice = choice,
						 .own = own,
						 .answered = answered_of(search, choice),
						 .rows = tsurugi_rows_by_index(search->root, search->baserel, choice),
						 .cost = tsurugi_cost_of_index(search->root, search->baserel, candidate, choice)};
	/* a comparison of rows may have more columns than the index is asked for */
	return arm->answered == NIL || contain_volatile_functions((Node *) arm->answered) ? NULL : arm;
}

static tsurugi_arm *
serve_best(const Search *search, List *own)
{
	tsurugi_arm *best = NULL;

	for (int i = 0; i < search->notes->candidate_count; i++)
	{
		tsurugi_arm *arm = serve(search, &search->notes->candidates[i], own);

		if (arm != NULL && (best == NULL || arm->cost < best->cost))
			best = arm;
	}
	return best;
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool add_arms_of(Search *search, const RestrictInfo * or, List *beside);

/*
 * Adds an arm for all of these conditions and those beside them; or, if one of the conditions is an
 * OR, the arms of that OR.  ORs among the conditions beside are not taken apart, because there
 * would be too many ways to do so.
 */
static bool
add_arm(Search *search, List *conditions, List *beside)
{
	tsurugi_arm *arm = serve_best(search, list_concat_copy(conditions, beside));
	int count = list_length(search->arms);
	ListCell *cell;

	if (arm != NULL)
	{
		search->arms = lappend(search->arms, arm);
		return count < ARMS_FOUND_MAX;
	}
	foreach (cell, conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		List *rest = list_delete_nth_cell(list_copy(conditions), foreach_current_index(cell));

		if (restriction_is_or_clause(rinfo) && add_arms_of(search, rinfo, list_concat(rest, beside)))
			return true;
		search->arms = list_truncate(search->arms, count);
	}
	return false;
}

static bool
add_arms_of(Search *search, const RestrictInfo * or, List *beside)
{
	ListCell *cell;

	check_stack_depth();
	foreach (cell, castNode(BoolExpr, or->orclause)->args)
	{
		Node *arm = lfirst(cell);

		if (!add_arm(search, is_andclause(arm) ? castNode(BoolExpr, arm)->args : list_make1(arm), beside))
			return false;
	}
	return true;
}

/* --- arms of one index ------------------------------------------------------------------------ */

static bool
is_by_values(const tsurugi_arm *arm)
{
	const tsurugi_shape *shape = &arm->choice->shape;

	return arm->candidate->index->gin == NULL && shape->fixed_count > 0 && shape->arrays == 0 && shape->nulls == 0;
}

/* The arms by values of the first one's index.  Arms before the first have been looked at. */
static List *
fellows_of(const List *arms, int first)
{
	const tsurugi_arm *arm = list_nth(arms, first);
	List *fellows = NIL;

	for (int i = is_by_values(arm) ? first : list_length(arms); i < list_length(arms); i++)
	{
		tsurugi_arm *other = list_nth(arms, i);

		if (other->candidate == arm->candidate && is_by_values(other))
			fellows = lappend(fellows, other);
	}
	return fellows;
}

/* Joins several arms into one; NULL if that is impossible or more expensive. */
static tsurugi_arm *
join_arms(const Search *search, const List *fellows)
{
	const tsurugi_arm *first = linitial(fellows);
	List *alternatives = NIL;
	Cost cost = 0;
	tsurugi_arm *joined;
	ListCell *cell;

	foreach (cell, fellows)
	{
		const tsurugi_arm *arm = lfirst(cell);

		alternatives = lappend(alternatives, make_ands_explicit(get_actual_clauses(arm->own)));
		cost += arm->cost;
	}
	joined = serve(search, first->candidate,
				   list_make1(make_simple_restrictinfo(search->root, make_orclause(alternatives))));
	return joined != NULL && joined->cost <= cost ? joined : NULL;
}

static void
join_fellows(Search *search)
{
	for (int i = 0; i < list_length(search->arms); i++)
	{
		List *fellows = fellows_of(search->arms, i);
		tsurugi_arm *joined = list_length(fellows) < 2 ? NULL : join_arms(search, fellows);

		if (joined == NULL)
			continue;
		list_nth_cell(search->arms, i)->ptr_value = joined;
		search->arms = list_difference_ptr(search->arms, fellows);
	}
}

/* --- paths ------------------------------------------------------------------------------------ */

/*
 * Whether all rows that the arms return meet the OR: its conditions are all answered by the
 * indexes.
 */
static bool
is_answered(const Search *search)
{
	ListCell *cell;

	foreach (cell, search->arms)
	{
		const tsurugi_arm *arm = lfirst(cell);

		if (list_difference_ptr(arm->own, list_concat_copy(arm->choice->conditions, arm->choice->filtered)) != NIL)
			return false;
	}
	return true;
}

/*
 * A row is tested for its own arm if the index returns other rows, too, and for the arms before.
 * These tests need the row's columns.
 */
static Cost
cost_of(const Search *search)
{
	Cost cost = (list_length(search->arms) - 1) * COST_OF_ARM;
	Cost before = 0;
	ListCell *cell;

	foreach (cell, search->arms)
	{
		const tsurugi_arm *arm = lfirst(cell);
		QualCost own;

		cost_qual_eval(&own, arm->answered, search->root);
		cost += arm->cost + arm->rows * before;
		if (arm->choice->filtered != NIL)
			cost += arm->rows * own.per_tuple;
		if (foreach_current_index(cell) == 0)
			before = cpu_operator_cost;
		before += own.per_tuple;
	}
	return cost;
}

/* The conditions that may help the arms of the OR. */
static List *
others_of(List *rinfos, const RestrictInfo * or)
{
	List *others = NIL;
	ListCell *cell;

	foreach (cell, rinfos)
		if (lfirst(cell) != or &&!restriction_is_or_clause(lfirst_node(RestrictInfo, cell)))
			others = lappend(others, lfirst(cell));
	return others;
}

static bool
may_have_arms(RelOptInfo *baserel, RestrictInfo *rinfo)
{
	return restriction_is_or_clause(rinfo) && !rinfo->pseudoconstant &&
		   restriction_is_securely_promotable(rinfo, baserel);
}

/* Adds a path by the arms of an OR, which is among the conditions, if every arm is served. */
static void
add_path_by_arms(PlannerInfo *root, RelOptInfo *baserel, RestrictInfo * or, List *rinfos, Relids required_outer,
				 double rows)
{
	Search search = {.root = root, .baserel = baserel, .notes = baserel->fdw_private, .others = others_of(rinfos, or)};
	tsurugi_choice *choice;

	if (!add_arms_of(&search, or, NIL))
		return;
	join_fellows(&search);
	if (list_length(search.arms) < 2 || list_length(search.arms) > ARMS_MAX)
		return;
	choice = palloc0(sizeof(*choice));
	choice->shape.way = TSURUGI_WAY_ARMS;
	choice->arms = search.arms;
	if (is_answered(&search))
		choice->conditions = list_make1(or);
	tsurugi_add_index_path(root, baserel, choice, cost_of(&search), NIL, required_outer, rows);
}

/* Adds a path for the inner side of a nested loop: other tables have the values for some arms. */
static void
add_parameterized_path(PlannerInfo *root, RelOptInfo *baserel, RestrictInfo * or)
{
	List *outers = tsurugi_add_outer(NIL, baserel, or->clause_relids);
	Relids outer = outers == NIL ? NULL : linitial(outers);
	ParamPathInfo *param;

	if (outer == NULL)
		return;
	param = get_baserel_parampathinfo(root, baserel, outer);
	add_path_by_arms(root, baserel, or, list_concat_copy(param->ppi_clauses, baserel->baserestrictinfo), outer,
					 param->ppi_rows);
}

void
tsurugi_or_add_paths(PlannerInfo *root, RelOptInfo *baserel)
{
	ListCell *cell;

	foreach (cell, baserel->baserestrictinfo)
		if (may_have_arms(baserel, lfirst(cell)))
			add_path_by_arms(root, baserel, lfirst(cell), baserel->baserestrictinfo, baserel->lateral_relids,
							 baserel->rows);
	foreach (cell, baserel->joininfo)
		if (may_have_arms(baserel, lfirst(cell)) && join_clause_is_movable_to(lfirst(cell), baserel))
			add_parameterized_path(root, baserel, lfirst(cell));
}
