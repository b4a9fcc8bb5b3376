/*
 * fdw_plan.c
 *	  Planning a foreign scan: which indexes can be used and how (fdw_match.c),
 *	  in which order the rows come, what it costs.
 *
 * There are these paths: the whole table; for each index the part that the conditions leave, in its
 * order both ways, or the nearest rows first; the same part without the rows that other indexes do
 * not have (fdw_and.c); inner sides of nested loops; and the rows that several indexes find for an
 * OR (fdw_or.c).  Conditions that an index answers stay among the recheck conditions, for rows that
 * another transaction has changed.  PostgreSQL evaluates all other conditions on each row.
 */
#include "postgres.h"

#include "src/exec/fdw_plan.h"

#include "access/sysattr.h"
#include "catalog/pg_am_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "runtime/base/atomic.h"
#include "runtime/table/table.h"
#include "src/value/codec.h"
#include "src/value/key_column.h"
#include "src/exec/fdw.h"
#include "src/exec/scan.h"
#include "src/table/system_columns.h"
#include "src/txn/transaction.h"

/*
 * Costs, in PostgreSQL's units: a row found by key and a row of a scan, as
 * shares of cpu_tuple_cost; a descent of the index; making room for the
 * batches of a scan, which also keeps small tables from being scanned where a
 * key would do; the executor's part in beginning a plan again, for each row of a query around it.
 * The heap pays pages on top; here all is in memory.
 */
#define COST_OF_DESCENT (8 * cpu_operator_cost)
#define COST_OF_AGAIN (60 * cpu_operator_cost)
#define COST_OF_BATCHES (100 * cpu_operator_cost)
#define COST_OF_ROW_BY_KEY (0.5 * cpu_tuple_cost)
#define COST_OF_ROW_BY_INDEX (0.6 * cpu_tuple_cost) /* its key must be checked again */
#define COST_OF_ROW_BY_KEYS (1.5 * cpu_tuple_cost)	/* by several keys; not all are found */
#define COST_OF_ROW_BY_SCAN (0.3 * cpu_tuple_cost)

/*
 * For nearest rows: the number of rows read before the first one is known, and for each one after.
 */
#define ROWS_OF_NEAREST_FIRST 32
#define ROWS_OF_NEAREST 12

/* --- the plan's notes to the executor --------------------------------------------- */

uint32_t
tsurugi_plan_number_next(void)
{
	static uint32_t last;

	if (++last == 0)
		last = 1;
	return last;
}

/* A sub-select's plan is not looked into. */
bool
tsurugi_conflict_set_is_volatile(const ModifyTable *plan)
{
	return contain_volatile_functions((Node *) plan->onConflictSet) || contain_subplans((Node *) plan->onConflictSet);
}

/* --- size --------------------------------------------------------------------------------- */

static void
note_candidates(RelOptInfo *baserel, tsurugi_plan_notes *notes)
{
	ListCell *cell;

	notes->candidates = palloc(Max(list_length(baserel->indexlist), 1) * sizeof(tsurugi_candidate));
	foreach (cell, baserel->indexlist)
	{
		IndexOptInfo *info = lfirst(cell);

		for (int i = 0; i < notes->described->index_count; i++)
			if (notes->described->indexes[i].oid == info->indexoid)
				notes->candidates[notes->candidate_count++] =
					(tsurugi_candidate){.info = info,
										.index = &notes->described->indexes[i],
										.applies = info->indpred == NIL || info->predOK,
										.implied = tsurugi_implied_conditions(info, baserel->baserestrictinfo)};
	}
}

static bool
is_one_row(const tsurugi_choice *choice)
{
	return choice->one_row && choice->shape.arrays == 0;
}

static bool
is_parameter_of_plan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	return expression_tree_walker(node, is_parameter_of_plan, context);
}

/* Whether a condition has a value of a query around this one. */
static bool
has_parameter_of_plan(const RelOptInfo *baserel)
{
	ListCell *cell;

	foreach (cell, baserel->baserestrictinfo)
		if (is_parameter_of_plan((Node *) lfirst_node(RestrictInfo, cell)->clause, NULL))
			return true;
	return false;
}

void
tsurugiGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid)
{
	tsurugi_plan_notes *notes = palloc0(sizeof(tsurugi_plan_notes));
	Relation relation = RelationIdGetRelation(foreigntableid);
	tg_table *table;
	QualCost cost;

	notes->described = tsurugi_relation_get(relation);
	table = notes->described->table;
	baserel->fdw_private = notes;

	/* The number of rows is live; it does not depend on ANALYZE. */
	baserel->tuples = (double) tsurugi_row_count(table);
	baserel->pages =
		(BlockNumber) ((tg_load_relaxed(&table->chunk_bytes) + tg_load_relaxed(&table->blob_bytes)) / BLCKSZ);
	tsurugi_type_whole_rows(root, baserel, relation->rd_rel->reltype);
	RelationClose(relation);
	check_index_predicates(root, baserel);
	note_candidates(baserel, notes);
	set_baserel_size_estimates(root, baserel);
	for (int i = 0; i < notes->candidate_count; i++)
		if (notes->candidates[i].applies &&
			is_one_row(tsurugi_choose(root, baserel, &notes->candidates[i], baserel->baserestrictinfo)))
			baserel->rows = 1;

	cost_qual_eval(&cost, baserel->baserestrictinfo, root);
	notes->qual_cost = cost.per_tuple;
	notes->again_cost = has_parameter_of_plan(baserel) ? COST_OF_AGAIN : 0;
}

/* --- paths ---------------------------------------------------------------------------------- */

double
tsurugi_rows_by_index(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_choice *choice)
{
	double rows;

	if (is_one_row(choice))
		return 1;
	rows = clamp_row_est(baserel->tuples *
						 clauselist_selectivity(root, list_concat_copy(choice->conditions, choice->filtered),
												baserel->relid, JOIN_INNER, NULL));
	return choice->one_row ? Min(rows, choice->turns) : rows;
}

Cost
tsurugi_cost_of_descents(const tsurugi_choice *choice)
{
	return choice->turns * COST_OF_DESCENT;
}

Cost
tsurugi_cost_of_rows(const RelOptInfo *baserel, const tsurugi_candidate *candidate, double rows)
{
	const tsurugi_plan_notes *notes = baserel->fdw_private;
	Cost row = candidate->index->primary	   ? COST_OF_ROW_BY_KEY
			   : candidate->index->gin == NULL ? COST_OF_ROW_BY_INDEX
											   : COST_OF_ROW_BY_KEYS;

	return rows * (row + notes->qual_cost);
}

Cost
tsurugi_cost_of_index(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
					  const tsurugi_choice *choice)
{
	double read = choice->whole ? baserel->tuples : tsurugi_rows_by_index(root, baserel, choice);

	return tsurugi_cost_of_descents(choice) + tsurugi_cost_of_rows(baserel, candidate, read);
}

static void
add_scan_path(PlannerInfo *root, RelOptInfo *baserel, tsurugi_choice *choice, Cost first, Cost rest, List *pathkeys,
			  Relids required_outer, double rows)
{
	const tsurugi_plan_notes *notes = baserel->fdw_private;
	Cost startup = baserel->reltarget->cost.startup + notes->again_cost + first;
	Cost run = rest + rows * baserel->reltarget->cost.per_tuple;

	add_path(baserel, (Path *) create_foreignscan_path(root, baserel, NULL, rows, startup, startup + run, pathkeys,
													   required_outer, NULL, list_make1(choice)));
}

void
tsurugi_add_index_path(PlannerInfo *root, RelOptInfo *baserel, tsurugi_choice *choice, Cost cost, List *pathkeys,
					   Relids required_outer, double rows)
{
	Cost first = COST_OF_DESCENT + choice->before;

	add_scan_path(root, baserel, choice, first, cost - first, pathkeys, required_outer, rows);
}

static void
add_table_path(PlannerInfo *root, RelOptInfo *baserel)
{
	const tsurugi_plan_notes *notes = baserel->fdw_private;

	add_scan_path(root, baserel, tsurugi_choose(root, baserel, NULL, NIL), COST_OF_BATCHES,
				  baserel->tuples * (COST_OF_ROW_BY_SCAN + notes->qual_cost), NIL, baserel->lateral_relids,
				  baserel->rows);
}

/*
 * The order in which a range comes, as far as it is useful to the query, and as far as the index's
 * columns have the order of their types.
 */
static List *
range_pathkeys(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate, bool backward)
{
	IndexOptInfo ordered = *candidate->info;

	ordered.nkeycolumns = 0;
	while (ordered.nkeycolumns < candidate->index->key_count && candidate->index->key[ordered.nkeycolumns].ordered)
		ordered.nkeycolumns++;
	return truncate_useless_pathkeys(
		root, baserel, build_index_pathkeys(root, &ordered, backward ? BackwardScanDirection : ForwardScanDirection));
}

static void
add_range_paths(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
				const tsurugi_choice *choice, Cost cost)
{
	/* it leaves rows out, so reading it is useful whatever the order */
	bool leaves_out =
		choice->shape.way != TSURUGI_WAY_TABLE || (candidate->info->indpred != NIL && candidate->index->gin == NULL);

	for (int backward = 0; backward <= 1; backward++)
	{
		List *pathkeys = range_pathkeys(root, baserel, candidate, backward);
		tsurugi_choice *ordered;

		if (pathkeys == NIL && (backward || !leaves_out))
			continue;
		ordered = palloc(sizeof(tsurugi_choice));
		*ordered = *choice;
		if (choice->shape.way == TSURUGI_WAY_TABLE)
			ordered->shape.way = TSURUGI_WAY_RANGE;
		ordered->shape.backward = backward;
		tsurugi_add_index_path(root, baserel, ordered, cost, pathkeys, baserel->lateral_relids, baserel->rows);
	}
}

/*
 * Adds a path with the nearest rows first, if the query wants that order.  Further sort keys are
 * sorted above it, a few rows at a time.
 */
static void
add_nearest_path(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate)
{
	PathKey *pathkey = root->query_pathkeys == NIL ? NULL : linitial(root->query_pathkeys);
	tsurugi_choice *choice = pathkey == NULL ? NULL : tsurugi_choose_nearest(root, baserel, candidate, pathkey);

	QualCost distance;
	Cost each;
	Cost first;
	Cost rest;

	if (choice == NULL)
		return;
	cost_qual_eval_node(&distance, (Node *) choice->distance, root);
	each = COST_OF_ROW_BY_INDEX + distance.per_tuple;
	first = ROWS_OF_NEAREST_FIRST * each + (1 + choice->turns) * COST_OF_DESCENT;
	rest = tsurugi_cost_of_index(root, baserel, candidate, choice) - COST_OF_DESCENT +
		   tsurugi_rows_by_index(root, baserel, choice) * ROWS_OF_NEAREST * each;
	add_scan_path(root, baserel, choice, first, rest, list_make1(pathkey), baserel->lateral_relids, baserel->rows);
}

/* A column of an index that is looked for among the members of equivalence classes. */
typedef struct sought_column
{
	const tsurugi_candidate *candidate;
	int column;
} sought_column;

static bool
is_sought(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em, void *arg)
{
	const sought_column *sought = arg;
	const IndexOptInfo *info = sought->candidate->info;
	Oid collation = info->indexcollations[sought->column];

	/* classes have B-tree families; for other access methods, match() tests their members */
	return (info->relam != BTREE_AM_OID || list_member_oid(ec->ec_opfamilies, info->opfamily[sought->column])) &&
		   (!OidIsValid(collation) || collation == ec->ec_collation) &&
		   match_index_to_operand((Node *) em->em_expr, sought->column, sought->candidate->info);
}

List *
tsurugi_add_outer(List *outers, RelOptInfo *baserel, Relids clause_relids)
{
	Relids outer = bms_difference(clause_relids, baserel->relids);
	ListCell *cell;

	outer = bms_add_members(outer, baserel->lateral_relids);
	if (bms_is_empty(outer))
		return outers;
	foreach (cell, outers)
		if (bms_equal(lfirst(cell), outer))
			return outers;
	return lappend(outers, outer);
}

/* The sets of other relations that supply values for columns of an index. */
static List *
find_outers(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate)
{
	List *outers = NIL;
	ListCell *cell;

	foreach (cell, baserel->joininfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		if (join_clause_is_movable_to(rinfo, baserel) && tsurugi_condition_matches(root, baserel, candidate, rinfo))
			outers = tsurugi_add_outer(outers, baserel, rinfo->clause_relids);
	}
	for (int i = 0; baserel->has_eclass_joins && i < candidate->index->key_count; i++)
	{
		sought_column sought = {candidate, i};

		foreach (cell, generate_implied_equalities_for_column(root, baserel, is_sought, &sought,
															  baserel->lateral_referencers))
			outers = tsurugi_add_outer(outers, baserel, lfirst_node(RestrictInfo, cell)->clause_relids);
	}
	return outers;
}

/* The cost of the conditions with values of other relations that the index does not answer. */
static Cost
cost_of_joined(PlannerInfo *root, const ParamPathInfo *param, const tsurugi_choice *choice, double rows)
{
	QualCost cost;

	cost_qual_eval(&cost, list_difference_ptr(param->ppi_clauses, choice->conditions), root);
	return cost.startup + cost.per_tuple * rows;
}

/*
 * Inner sides of nested loops: for each set of other relations that supplies
 * values for an index's columns, and for all of them together.
 */
static void
add_parameterized_paths(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate)
{
	List *outers = find_outers(root, baserel, candidate);
	Relids all = NULL;
	ListCell *cell;

	foreach (cell, outers)
		all = bms_union(all, lfirst(cell));
	if (list_length(outers) > 1)
		outers = tsurugi_add_outer(outers, baserel, all);

	foreach (cell, outers)
	{
		Relids outer = lfirst(cell);
		ParamPathInfo *param = get_baserel_parampathinfo(root, baserel, outer);
		List *rinfos = list_concat_copy(param->ppi_clauses, baserel->baserestrictinfo);
		tsurugi_choice *choice = tsurugi_choose(root, baserel, candidate, rinfos);
		Cost cost;
		Cost joined;

		if (choice->shape.way == TSURUGI_WAY_TABLE)
			continue;
		cost = tsurugi_cost_of_index(root, baserel, candidate, choice);
		joined = cost_of_joined(root, param, choice, tsurugi_rows_by_index(root, baserel, choice));
		tsurugi_add_index_path(root, baserel, choice, cost + joined, NIL, outer,
							   is_one_row(choice) ? 1 : param->ppi_rows);
		choice = tsurugi_and_choose(root, baserel, candidate, choice, rinfos, &cost);
		if (choice == NULL)
			continue;
		/* other indexes leave hardly more rows than all conditions do */
		joined = cost_of_joined(root, param, choice, param->ppi_rows);
		tsurugi_add_index_path(root, baserel, choice, cost + joined, NIL, outer, param->ppi_rows);
	}
}

void
tsurugiGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid)
{
	const tsurugi_plan_notes *notes = baserel->fdw_private;

	if (tsurugi_tid_add_path(root, baserel))
		return;
	add_table_path(root, baserel);
	for (int i = 0; i < notes->candidate_count; i++)
	{
		const tsurugi_candidate *candidate = &notes->candidates[i];
		tsurugi_choice *choice;
		Cost cost;

		if (!candidate->applies)
			continue;
		choice = tsurugi_choose(root, baserel, candidate, baserel->baserestrictinfo);
		cost = tsurugi_cost_of_index(root, baserel, candidate, choice);
		if (choice->shape.way == TSURUGI_WAY_KEY && choice->shape.arrays == 0)
			tsurugi_add_index_path(root, baserel, choice, cost, NIL, baserel->lateral_relids, 1);
		else
			add_range_paths(root, baserel, candidate, choice, cost);
		choice = tsurugi_and_choose(root, baserel, candidate, choice, baserel->baserestrictinfo, &cost);
		if (choice != NULL)
			add_range_paths(root, baserel, candidate, choice, cost);
		add_nearest_path(root, baserel, candidate);
		add_parameterized_paths(root, baserel, candidate);
	}
	tsurugi_or_add_paths(root, baserel);
}

/* Translates expressions of a child's parent for the child. */
static List *
for_child(PlannerInfo *root, List *expressions, RelOptInfo *child_rel)
{
	return (List *) adjust_appendrel_attrs_multilevel(root, (Node *) expressions, child_rel->relids,
													  child_rel->top_parent_relids);
}

static tsurugi_choice *
choice_for_child(PlannerInfo *root, const tsurugi_choice *parent, RelOptInfo *child_rel)
{
	tsurugi_choice *choice = palloc(sizeof(tsurugi_choice));
	ListCell *cell;

	*choice = *parent;
	choice->values = for_child(root, choice->values, child_rel);
	choice->conditions = for_child(root, choice->conditions, child_rel);
	choice->distance = (Expr *) adjust_appendrel_attrs_multilevel(root, (Node *) choice->distance, child_rel->relids,
																  child_rel->top_parent_relids);
	choice->arms = NIL;
	foreach (cell, parent->arms)
	{
		tsurugi_arm *arm = palloc(sizeof(tsurugi_arm));

		*arm = *(const tsurugi_arm *) lfirst(cell);
		arm->choice = choice_for_child(root, arm->choice, child_rel);
		arm->answered = for_child(root, arm->answered, child_rel);
		choice->arms = lappend(choice->arms, arm);
	}
	choice->others = NIL;
	foreach (cell, parent->others)
	{
		tsurugi_other *other = palloc(sizeof(tsurugi_other));

		*other = *(const tsurugi_other *) lfirst(cell);
		other->choice = choice_for_child(root, other->choice, child_rel);
		choice->others = lappend(choice->others, other);
	}
	return choice;
}

/*
 * Joins of partitioned tables are taken apart into joins of partitions; then the inner
 * side of a nested loop gets its values from a partition instead of its parent.
 */
List *
tsurugiReparameterizeForeignPathByChild(PlannerInfo *root, List *fdw_private, RelOptInfo *child_rel)
{
	if (tsurugi_is_tid_private(fdw_private))
		return fdw_private; /* its places depend on no other table */
	return list_make1(choice_for_child(root, linitial(fdw_private), child_rel));
}

/* --- plan ------------------------------------------------------------------------------------- */

List *
tsurugi_columns_of(const tsurugi_relation *described, Bitmapset *attributes)
{
	bool all = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, attributes);
	List *columns = NIL;

	for (int attnum = 1; attnum <= described->attribute_count; attnum++)
		if (described->codecs[tsurugi_column_of(described, attnum - 1)].form != TSURUGI_NOTHING &&
			(all || bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, attributes)))
			columns = lappend_int(columns, attnum);
	return columns;
}

/*
 * A target list that the scan can hand out as it is, so that the executor
 * needs no projection: distinct plain columns, and the conditions look at no
 * others.  For plans that never recheck rows (EvalPlanQual wants whole ones).
 */
static List *
direct_tlist(PlannerInfo *root, RelOptInfo *baserel, List *tlist, List *conditions)
{
	Bitmapset *given = NULL;
	Bitmapset *wanted = NULL;
	ListCell *cell;

	if (root->query_level > 1 || baserel->reloptkind != RELOPT_BASEREL || tlist == NIL)
		return NIL;
	foreach (cell, tlist)
	{
		Var *var = (Var *) lfirst_node(TargetEntry, cell)->expr;
		int member;

		if (!IsA(var, Var) || var->varno != baserel->relid || var->varattno <= 0)
			return NIL;
		member = var->varattno - FirstLowInvalidHeapAttributeNumber;
		if (bms_is_member(member, given))
			return NIL;
		given = bms_add_member(given, member);
	}
	pull_varattnos((Node *) conditions, baserel->relid, &wanted);
	return bms_is_subset(wanted, given) ? copyObject(tlist) : NIL;
}

/*
 * A number for a plan whose executor state may be kept from one execution to
 * the next (prepared.c): a place by key, and nothing to be computed.  0 for others.
 */
static uint32_t
plan_number(const tsurugi_choice *choice, List *output, List *conditions)
{
	ListCell *cell;

	if (choice->shape.way == TSURUGI_WAY_TABLE || choice->shape.way == TSURUGI_WAY_ARMS || choice->shape.arrays != 0 ||
		choice->sought_columns != NIL || choice->distance != NULL || output == NIL || conditions != NIL)
		return 0;
	foreach (cell, choice->values)
		if (!tsurugi_is_plain_value(lfirst(cell)))
			return 0;
	return tsurugi_plan_number_next();
}

static tsurugi_scan_access *
access_of(const tsurugi_choice *choice)
{
	tsurugi_scan_access *access = tsurugi_scan_access_make(&choice->shape);

	access->sought_columns = choice->sought_columns;
	access->sought_operators = choice->sought_operators;
	return access;
}

static void
plan_part(tsurugi_scan_plan *plan, tsurugi_scan_access *access, const tsurugi_part_exprs *own,
		  tsurugi_scan_exprs *exprs)
{
	plan->parts = lappend(plan->parts, access);
	exprs->parts = lappend(exprs->parts, tsurugi_part_exprs_to_list(own));
}

static void
plan_arms(const tsurugi_choice *choice, tsurugi_scan_plan *plan, tsurugi_scan_exprs *exprs)
{
	ListCell *cell;

	foreach (cell, choice->arms)
	{
		const tsurugi_arm *arm = lfirst(cell);
		tsurugi_scan_access *access = access_of(arm->choice);
		tsurugi_part_exprs own = {.answered = arm->answered, .values = list_copy(arm->choice->values)};

		access->exact = arm->choice->filtered == NIL;
		plan_part(plan, access, &own, exprs);
	}
}

static void
plan_others(const tsurugi_choice *choice, tsurugi_scan_plan *plan, tsurugi_scan_exprs *exprs)
{
	ListCell *cell;

	foreach (cell, choice->others)
	{
		const tsurugi_other *other = lfirst(cell);
		tsurugi_scan_access *access = access_of(other->choice);
		tsurugi_part_exprs own = {.values = list_copy(other->choice->values)};

		access->rows = (int) Min(other->rows, INT_MAX);
		plan_part(plan, access, &own, exprs);
	}
}

ForeignScan *
tsurugiGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid, ForeignPath *best_path, List *tlist,
					  List *scan_clauses, Plan *outer_plan)
{
	const tsurugi_plan_notes *notes = baserel->fdw_private;
	const tsurugi_choice *choice;
	Bitmapset *attributes = NULL;
	tsurugi_scan_plan *plan;
	tsurugi_scan_exprs exprs;
	List *conditions = NIL;
	List *by_key = NIL;
	List *expressions;
	List *output = NIL;
	bool never_rechecked;
	ListCell *cell;

	if (tsurugi_is_tid_private(best_path->fdw_private))
		return tsurugi_tid_plan(baserel, best_path, tlist, scan_clauses);
	choice = linitial(best_path->fdw_private);
	plan = tsurugi_scan_plan_make(access_of(choice));
	exprs = (tsurugi_scan_exprs){.values = choice->values, .distance = choice->distance};
	plan_arms(choice, plan, &exprs);
	plan_others(choice, plan, &exprs);
	foreach (cell, scan_clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		if (rinfo->pseudoconstant)
			continue;
		if (list_member(choice->conditions, rinfo)) /* equal, for those of a child are copies */
			by_key = lappend(by_key, rinfo->clause);
		else
			conditions = lappend(conditions, rinfo->clause);
	}
	expressions = tsurugi_scan_exprs_to_list(&exprs);
	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &attributes);
	pull_varattnos((Node *) conditions, baserel->relid, &attributes);
	pull_varattnos((Node *) expressions, baserel->relid, &attributes);
	if (tsurugi_system_columns_are_in(attributes))
		attributes = bms_add_member(attributes, InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber);

	never_rechecked = root->parse->commandType == CMD_SELECT && root->rowMarks == NIL;
	if (never_rechecked)
		output = direct_tlist(root, baserel, tlist, list_concat_copy(conditions, expressions));
	plan->number = plan_number(choice, output, conditions);
	plan->columns = tsurugi_columns_of(notes->described, attributes);
	/* Conditions that the key answers are evaluated for rechecks only. */
	return make_foreignscan(tlist, conditions, baserel->relid, expressions, list_make1(plan), output,
							never_rechecked ? NIL : by_key, outer_plan);
}

List *
tsurugiPlanForeignModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index)
{
	tsurugi_insert_plan *said;

	(void) tsurugi_system_columns_are_named(
		(Node *) list_make3(plan->returningLists, plan->onConflictSet, plan->onConflictWhere), resultRelation);
	tsurugi_plan_early_locks(plan, resultRelation);
	if (plan->operation != CMD_INSERT)
		return NIL;
	said = tsurugi_insert_plan_make();
	if (plan->onConflictAction == ONCONFLICT_UPDATE)
		said->set_is_volatile = tsurugi_conflict_set_is_volatile(plan);
	else if (IsA(outerPlan(plan), Result))
		said->number = tsurugi_plan_number_next();
	return list_make1(said);
}
