/*
 * fdw_plan.c
 *	  Planning a foreign scan: which conditions become a key look-up or a key
 *	  range, in which order the rows come, what it costs.
 *
 * A condition on a key column is taken over if its operator belongs to the
 * btree family of the key column's type and its other side does not depend on
 * the table; it is then evaluated by the key alone and leaves the scan's
 * conditions (it stays among the recheck conditions, for rows that somebody
 * else has changed).  Everything else is evaluated by PostgreSQL on each row.
 */
#include "postgres.h"

#include "src/fdw.h"

#include "access/stratnum.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "src/scan.h"

/*
 * Costs, in PostgreSQL's units: a row found by key and a row of a scan, as
 * shares of cpu_tuple_cost; a descent of the index; making room for the
 * batches of a scan, which also keeps small tables from being scanned where a
 * key would do.  The heap pays pages on top; here all is in memory.
 */
#define COST_OF_DESCENT (8 * cpu_operator_cost)
#define COST_OF_BATCHES (100 * cpu_operator_cost)
#define COST_OF_ROW_BY_KEY (0.5 * cpu_tuple_cost)
#define COST_OF_ROW_BY_SCAN (0.3 * cpu_tuple_cost)

/* Planner's notes on a base relation (fdw_private of its RelOptInfo). */
typedef struct plan_notes
{
	tsurugi_relation described; /* a copy: the cache may be reset while planning goes on */
	Cost qual_cost;				/* of all conditions, per row */
} plan_notes;

/* One condition that the key can take. */
typedef struct key_condition
{
	RestrictInfo *rinfo;
	int column; /* of the key */
	StrategyNumber strategy;
	Expr *value;
} key_condition;

/* How a path reads: kept in its fdw_private. */
typedef struct path_choice
{
	tsurugi_shape shape;
	List *values;	  /* Expr, as in fdw_exprs */
	List *conditions; /* RestrictInfo that the key answers */
} path_choice;

/* --- the plan's notes to the executor --------------------------------------------- */

List *
tsurugi_shape_to_list(const tsurugi_shape *shape)
{
	List *list = list_make5_int(shape->way, shape->fixed_count, shape->low, shape->high, shape->backward);

	list = lappend_int(list, shape->condition);
	list = lappend_int(list, shape->direct);
	list = lappend_int(list, shape->recheck);
	list = lappend_int(list, shape->counts);
	return lappend_int(list, shape->number);
}

void
tsurugi_shape_from_list(List *list, tsurugi_shape *shape)
{
	Assert(list_length(list) == TSURUGI_SHAPE_COUNT);
	shape->way = list_nth_int(list, 0);
	shape->fixed_count = list_nth_int(list, 1);
	shape->low = list_nth_int(list, 2);
	shape->high = list_nth_int(list, 3);
	shape->backward = list_nth_int(list, 4);
	shape->condition = list_nth_int(list, 5);
	shape->direct = list_nth_int(list, 6);
	shape->recheck = list_nth_int(list, 7);
	shape->counts = list_nth_int(list, 8);
	shape->number = list_nth_int(list, 9);
}

uint32_t
tsurugi_plan_number(const ForeignScan *plan)
{
	const List *private = plan->fdw_private;
	const List *shape;

	if (private == NIL || !IsA(private, List))
		return 0;
	shape = linitial(private);
	if (shape == NIL || !IsA(shape, IntList) || list_length(shape) != TSURUGI_SHAPE_COUNT)
		return 0;
	return (uint32_t) list_nth_int(shape, TSURUGI_SHAPE_COUNT - 1);
}

/* --- conditions on key columns ------------------------------------------------------- */

static Expr *
strip_relabel(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return expr;
}

/* The key column that an expression is, or -1. */
static int
key_column_of(const tsurugi_relation *described, Index relid, Expr *expr)
{
	Var *var = (Var *) strip_relabel(expr);

	if (!IsA(var, Var) || var->varno != relid || var->varlevelsup != 0)
		return -1;
	for (int i = 0; i < described->key_count; i++)
		if (described->key[i].attnum == var->varattno)
			return i;
	return -1;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
match_condition(const tsurugi_relation *described, RelOptInfo *baserel, RestrictInfo *rinfo, key_condition *condition)
{
	OpExpr *clause = (OpExpr *) rinfo->clause;
	const tsurugi_key_column *key;
	Oid opno;
	int strategy;
	Oid left_type;
	Oid right_type;

	if (rinfo->pseudoconstant || !IsA(clause, OpExpr) || list_length(clause->args) != 2)
		return false;
	opno = clause->opno;
	condition->rinfo = rinfo;
	condition->value = lsecond(clause->args);
	condition->column = key_column_of(described, baserel->relid, linitial(clause->args));
	if (condition->column < 0)
	{
		opno = get_commutator(opno);
		condition->value = linitial(clause->args);
		condition->column = key_column_of(described, baserel->relid, lsecond(clause->args));
		if (condition->column < 0 || !OidIsValid(opno))
			return false;
	}
	key = &described->key[condition->column];
	if (!op_in_opfamily(opno, key->family))
		return false;
	get_op_opfamily_properties(opno, key->family, false, &strategy, &left_type, &right_type);
	condition->strategy = strategy;
	if (left_type != right_type && !(is_integer(left_type) && is_integer(right_type)))
		return false;
	if (OidIsValid(key->collation) && clause->inputcollid != key->collation)
		return false;
	if (condition->strategy != BTEqualStrategyNumber)
	{
		/* A bound has to be representable as a stored value: a numeric one need not be. */
		if (!key->ordered || key->type == NUMERICOID)
			return false;
	}
	return !bms_is_member(baserel->relid, pull_varnos(NULL, (Node *) condition->value)) &&
		   !contain_volatile_functions((Node *) condition->value);
}

/* The first condition on a key column with one of two strategies, or NULL. */
static key_condition *
find_condition(List *conditions, int column, StrategyNumber strategy, StrategyNumber other)
{
	ListCell *cell;

	foreach (cell, conditions)
	{
		key_condition *condition = lfirst(cell);

		if (condition->column == column && (condition->strategy == strategy || condition->strategy == other))
			return condition;
	}
	return NULL;
}

static void
take_condition(path_choice *choice, key_condition *condition)
{
	choice->values = lappend(choice->values, condition->value);
	choice->conditions = lappend(choice->conditions, condition->rinfo);
}

/* The best use of the key for these RestrictInfos; way TABLE if there is none. */
static path_choice *
choose(const tsurugi_relation *described, RelOptInfo *baserel, List *rinfos)
{
	path_choice *choice = palloc0(sizeof(path_choice));
	tsurugi_shape *shape = &choice->shape;
	List *conditions = NIL;
	key_condition *low;
	key_condition *high;
	ListCell *cell;

	foreach (cell, rinfos)
	{
		key_condition condition;

		if (match_condition(described, baserel, lfirst_node(RestrictInfo, cell), &condition))
		{
			key_condition *kept = palloc(sizeof(key_condition));

			*kept = condition;
			conditions = lappend(conditions, kept);
		}
	}

	shape->way = TSURUGI_WAY_TABLE;
	shape->direct = CMD_UNKNOWN;
	while (shape->fixed_count < described->key_count)
	{
		key_condition *equal =
			find_condition(conditions, shape->fixed_count, BTEqualStrategyNumber, BTEqualStrategyNumber);

		if (equal == NULL)
			break;
		take_condition(choice, equal);
		shape->fixed_count++;
	}
	if (described->key_count > 0 && shape->fixed_count == described->key_count)
	{
		shape->way = TSURUGI_WAY_KEY;
		return choice;
	}

	low = find_condition(conditions, shape->fixed_count, BTGreaterStrategyNumber, BTGreaterEqualStrategyNumber);
	high = find_condition(conditions, shape->fixed_count, BTLessStrategyNumber, BTLessEqualStrategyNumber);
	if (low != NULL)
	{
		take_condition(choice, low);
		shape->low = low->strategy == BTGreaterStrategyNumber ? TSURUGI_BOUND_EXCLUSIVE : TSURUGI_BOUND_INCLUSIVE;
	}
	if (high != NULL)
	{
		take_condition(choice, high);
		shape->high = high->strategy == BTLessStrategyNumber ? TSURUGI_BOUND_EXCLUSIVE : TSURUGI_BOUND_INCLUSIVE;
	}
	if (shape->fixed_count > 0 || low != NULL || high != NULL)
		shape->way = TSURUGI_WAY_RANGE;
	return choice;
}

/* --- size --------------------------------------------------------------------------------- */

void
tsurugiGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid)
{
	plan_notes *notes = palloc0(sizeof(plan_notes));
	Relation relation = RelationIdGetRelation(foreigntableid);
	const tsurugi_relation *described = tsurugi_relation_get(relation);
	tg_table *table = described->table;
	QualCost cost;

	notes->described = *described;
	notes->described.key = memcpy(palloc(sizeof(tsurugi_key_column) * Max(described->key_count, 1)), described->key,
								  sizeof(tsurugi_key_column) * described->key_count);
	baserel->fdw_private = notes;

	/* Live figures: nobody has to ANALYZE for the number of rows. */
	baserel->tuples = Max((double) tg_load_relaxed(&table->row_count), 0);
	baserel->pages =
		(BlockNumber) ((tg_load_relaxed(&table->chunk_bytes) + tg_load_relaxed(&table->blob_bytes)) / BLCKSZ);
	RelationClose(relation);
	set_baserel_size_estimates(root, baserel);
	if (choose(&notes->described, baserel, baserel->baserestrictinfo)->shape.way == TSURUGI_WAY_KEY)
		baserel->rows = 1;

	cost_qual_eval(&cost, baserel->baserestrictinfo, root);
	notes->qual_cost = cost.per_tuple;
}

/* --- paths ---------------------------------------------------------------------------------- */

/* Rows that the key's conditions leave. */
static double
rows_by_key(PlannerInfo *root, RelOptInfo *baserel, const path_choice *choice)
{
	if (choice->shape.way == TSURUGI_WAY_KEY)
		return 1;
	return clamp_row_est(baserel->tuples * clauselist_selectivity(root, choice->conditions, 0, JOIN_INNER, NULL));
}

static void
add_scan_path(PlannerInfo *root, RelOptInfo *baserel, const path_choice *choice, List *pathkeys, Relids required_outer,
			  double rows)
{
	const plan_notes *notes = baserel->fdw_private;
	Cost startup = baserel->reltarget->cost.startup;
	Cost run;

	if (choice->shape.way == TSURUGI_WAY_TABLE)
	{
		startup += COST_OF_BATCHES;
		run = baserel->tuples * (COST_OF_ROW_BY_SCAN + notes->qual_cost);
	}
	else
	{
		double read = rows_by_key(root, baserel, choice);

		startup += COST_OF_DESCENT;
		run = read * (COST_OF_ROW_BY_KEY + notes->qual_cost);
	}
	run += rows * baserel->reltarget->cost.per_tuple;
	add_path(baserel,
			 (Path *) create_foreignscan_path(root, baserel, NULL, rows, startup, startup + run, pathkeys,
											  required_outer, NULL, list_make1(unconstify(path_choice *, choice))));
}

/*
 * The order in which a range comes, as far as somebody wants it: the pathkeys
 * of the key's columns.  Columns fixed by the query are passed over.
 */
static List *
range_pathkeys(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_relation *described, bool backward)
{
	List *pathkeys = NIL;

	for (int i = 0; i < described->key_count; i++)
	{
		const tsurugi_key_column *key = &described->key[i];
		const FormData_pg_attribute *attribute;
		Relation relation;
		PathKey *pathkey;
		List *made;
		Var *var;
		Oid opno;
		Expr *expr;

		if (!key->ordered)
			break;
		relation = RelationIdGetRelation(described->oid);
		attribute = TupleDescAttr(RelationGetDescr(relation), key->attnum - 1);
		var =
			makeVar(baserel->relid, key->attnum, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
		RelationClose(relation);
		expr = (Expr *) var;
		/* varchar and the like are compared as the type of the operator class. */
		if (var->vartype != key->opcintype && IsBinaryCoercible(var->vartype, key->opcintype))
			expr = (Expr *) makeRelabelType(expr, key->opcintype, -1, var->varcollid, COERCE_IMPLICIT_CAST);
		opno = get_opfamily_member(key->family, key->opcintype, key->opcintype,
								   backward ? BTGreaterStrategyNumber : BTLessStrategyNumber);
		if (!OidIsValid(opno))
			break;
		made = build_expression_pathkey(root, expr, NULL, opno, baserel->relids, false);
		if (made == NIL)
			break;
		pathkey = linitial(made);
		if (!EC_MUST_BE_REDUNDANT(pathkey->pk_eclass) && !list_member_ptr(pathkeys, pathkey))
			pathkeys = lappend(pathkeys, pathkey);
	}
	return pathkeys;
}

static void
add_ordered_paths(PlannerInfo *root, RelOptInfo *baserel, const path_choice *choice)
{
	const plan_notes *notes = baserel->fdw_private;

	for (int backward = 0; backward <= 1; backward++)
	{
		List *pathkeys = range_pathkeys(root, baserel, &notes->described, backward);
		path_choice *ordered;

		if (pathkeys == NIL && (backward || choice->shape.way == TSURUGI_WAY_TABLE))
			continue;
		ordered = palloc(sizeof(path_choice));
		*ordered = *choice;
		ordered->shape.way = TSURUGI_WAY_RANGE;
		ordered->shape.backward = backward;
		add_scan_path(root, baserel, ordered, pathkeys, baserel->lateral_relids, baserel->rows);
	}
}

/* Finds the members of equivalence classes that are a column of the key. */
static bool
is_key_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em, void *arg)
{
	const plan_notes *notes = rel->fdw_private;

	return key_column_of(&notes->described, rel->relid, em->em_expr) == *(int *) arg;
}

static List *
add_outer(List *outers, RelOptInfo *baserel, Relids clause_relids)
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

/*
 * Inner sides of nested loops: for each set of other relations that supplies
 * values for key columns, and for all of them together.
 */
static void
add_parameterized_paths(PlannerInfo *root, RelOptInfo *baserel)
{
	const plan_notes *notes = baserel->fdw_private;
	List *outers = NIL;
	Relids all = NULL;
	ListCell *cell;

	foreach (cell, baserel->joininfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		key_condition condition;

		if (join_clause_is_movable_to(rinfo, baserel) && match_condition(&notes->described, baserel, rinfo, &condition))
			outers = add_outer(outers, baserel, rinfo->clause_relids);
	}
	if (baserel->has_eclass_joins)
		for (int i = 0; i < notes->described.key_count; i++)
			foreach (cell, generate_implied_equalities_for_column(root, baserel, is_key_member, &i,
																  baserel->lateral_referencers))
				outers = add_outer(outers, baserel, lfirst_node(RestrictInfo, cell)->clause_relids);

	foreach (cell, outers)
		all = bms_union(all, lfirst(cell));
	if (list_length(outers) > 1)
		outers = add_outer(outers, baserel, all);

	foreach (cell, outers)
	{
		Relids outer = lfirst(cell);
		ParamPathInfo *param = get_baserel_parampathinfo(root, baserel, outer);
		path_choice *choice =
			choose(&notes->described, baserel, list_concat_copy(param->ppi_clauses, baserel->baserestrictinfo));

		if (choice->shape.way != TSURUGI_WAY_TABLE)
			add_scan_path(root, baserel, choice, NIL, outer,
						  choice->shape.way == TSURUGI_WAY_KEY ? 1 : param->ppi_rows);
	}
}

void
tsurugiGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid)
{
	const plan_notes *notes = baserel->fdw_private;
	path_choice *table = choose(&notes->described, baserel, NIL);
	path_choice *choice = choose(&notes->described, baserel, baserel->baserestrictinfo);

	if (tsurugi_tid_add_path(root, baserel))
		return;
	add_scan_path(root, baserel, table, NIL, baserel->lateral_relids, baserel->rows);
	if (choice->shape.way == TSURUGI_WAY_KEY)
		add_scan_path(root, baserel, choice, NIL, baserel->lateral_relids, 1);
	else if (notes->described.key_count > 0)
		add_ordered_paths(root, baserel, choice);
	if (notes->described.key_count > 0)
		add_parameterized_paths(root, baserel);
}

/* --- plan ------------------------------------------------------------------------------------- */

List *
tsurugi_columns_of(const tsurugi_relation *described, Bitmapset *attributes)
{
	bool all = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, attributes);
	List *columns = NIL;

	for (int attnum = 1; attnum <= described->attribute_count; attnum++)
		if (described->codecs[attnum - 1].form != TSURUGI_NOTHING &&
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
static int
plan_number(const path_choice *choice, List *output, List *conditions)
{
	static uint32_t last_number;
	ListCell *cell;

	if (choice->shape.way == TSURUGI_WAY_TABLE || output == NIL || conditions != NIL)
		return 0;
	foreach (cell, choice->values)
		if (!tsurugi_is_plain_value(lfirst(cell)))
			return 0;
	if (++last_number == 0)
		last_number = 1;
	return (int) last_number;
}

ForeignScan *
tsurugiGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid, ForeignPath *best_path, List *tlist,
					  List *scan_clauses, Plan *outer_plan)
{
	const plan_notes *notes = baserel->fdw_private;
	const path_choice *choice;
	Bitmapset *attributes = NULL;
	tsurugi_shape shape;
	List *conditions = NIL;
	List *by_key = NIL;
	List *private;
	List *output = NIL;
	bool never_rechecked;
	ListCell *cell;

	if (tsurugi_is_tid_path(best_path))
		return tsurugi_tid_plan(baserel, best_path, tlist, scan_clauses);
	choice = linitial(best_path->fdw_private);
	shape = choice->shape;
	foreach (cell, scan_clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		if (rinfo->pseudoconstant)
			continue;
		if (list_member_ptr(choice->conditions, rinfo))
			by_key = lappend(by_key, rinfo->clause);
		else
			conditions = lappend(conditions, rinfo->clause);
	}
	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &attributes);
	pull_varattnos((Node *) conditions, baserel->relid, &attributes);

	never_rechecked = root->parse->commandType == CMD_SELECT && root->rowMarks == NIL;
	if (never_rechecked)
		output = direct_tlist(root, baserel, tlist, conditions);
	shape.number = plan_number(choice, output, conditions);
	private = list_make3(tsurugi_shape_to_list(&shape), tsurugi_columns_of(&notes->described, attributes), NIL);
	/* Conditions that the key answers are evaluated for rechecks only. */
	return make_foreignscan(tlist, conditions, baserel->relid, choice->values, private, output,
							never_rechecked ? NIL : by_key, outer_plan);
}
