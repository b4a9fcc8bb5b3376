/*
 * gin_match.c
 *	  Which conditions an index USING gin can answer.
 *
 * Those whose operator belongs to the column's operator family, unless a security barrier has to be
 * evaluated first.  They stay among the conditions of the scan: by the index rows are found that
 * may meet them (gin_scan.c).
 *
 * A condition that is compared with a constant is asked for its keys now, as PostgreSQL's
 * gincostestimate does: one that wants none makes the scan go through the whole index, which is
 * more than going through the table.
 */
#include "postgres.h"

#include "src/exec/gin_match.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "src/value/gin.h"

typedef struct Condition
{
	RestrictInfo *rinfo;
	int column;	  /* of the index */
	Oid operator; /* column operator value */
	Expr *value;
} Condition;

/* column operator value, in this order */
static bool
match_sides(const tsurugi_candidate *candidate, Oid operator, Oid collation, Node *left, Node *right,
			Condition *condition)
{
	const tsurugi_index *index = candidate->index;

	for (int i = 0; i < index->key_count && OidIsValid(operator); i++)
	{
		if (!match_index_to_operand(left, i, candidate->info) || !op_in_opfamily(operator, index->key[i].family) ||
			(OidIsValid(index->key[i].collation) && index->key[i].collation != collation))
			continue;
		condition->column = i;
		condition->operator= operator;
		condition->value = (Expr *) right;
		return true;
	}
	return false;
}

static bool
match(RelOptInfo *baserel, const tsurugi_candidate *candidate, RestrictInfo *rinfo, Condition *condition)
{
	const OpExpr *clause = (const OpExpr *) rinfo->clause;

	condition->rinfo = rinfo;
	if (rinfo->pseudoconstant || !IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
		!restriction_is_securely_promotable(rinfo, baserel))
		return false;
	if (!match_sides(candidate, clause->opno, clause->inputcollid, linitial(clause->args), lsecond(clause->args),
					 condition) &&
		!match_sides(candidate, get_commutator(clause->opno), clause->inputcollid, lsecond(clause->args),
					 linitial(clause->args), condition))
		return false;
	return !bms_is_member(baserel->relid, pull_varnos(NULL, (Node *) condition->value)) &&
		   !contain_volatile_functions((Node *) condition->value);
}

bool
tsurugi_gin_condition_matches(RelOptInfo *baserel, const tsurugi_candidate *candidate, RestrictInfo *rinfo)
{
	Condition condition;

	return match(baserel, candidate, rinfo, &condition);
}

/*
 * The number of keys that a condition wants; 0: any row may be wanted.  A value that is not known
 * yet is assumed to want one key.
 */
static int
count_keys(PlannerInfo *root, const tsurugi_candidate *candidate, const Condition *condition)
{
	const tsurugi_gin_column *column = &candidate->index->gin->columns[condition->column];
	const Const *value = (const Const *) estimate_expression_value(root, (Node *) condition->value);
	StrategyNumber strategy =
		get_op_opfamily_strategy(condition->operator, candidate->index->key[condition->column].family);
	int32 count = 0;
	int32 mode = GIN_SEARCH_MODE_DEFAULT;
	bool *partial = NULL;
	bool *nulls = NULL;
	Pointer *extra = NULL;
	FmgrInfo function;

	if (!IsA(value, Const) || value->constisnull)
		return 1;
	tsurugi_gin_function(column, GIN_EXTRACTQUERY_PROC, &function);
	(void) FunctionCall7Coll(&function, column->collation, value->constvalue, PointerGetDatum(&count),
							 UInt16GetDatum(strategy), PointerGetDatum(&partial), PointerGetDatum(&extra),
							 PointerGetDatum(&nulls), PointerGetDatum(&mode));
	if (mode == GIN_SEARCH_MODE_ALL && count <= 0)
		return 0;
	return Max(count, 1);
}

void
tsurugi_gin_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate, List *rinfos,
				   tsurugi_choice *choice)
{
	ListCell *cell;

	choice->whole = true;
	foreach (cell, rinfos)
	{
		Condition condition;
		int keys;

		if (!match(baserel, candidate, lfirst_node(RestrictInfo, cell), &condition))
			continue;
		keys = count_keys(root, candidate, &condition);
		choice->whole &= keys == 0;
		choice->turns += keys;
		choice->values = lappend(choice->values, condition.value);
		choice->sought_columns = lappend_int(choice->sought_columns, condition.column);
		choice->sought_operators = lappend_oid(choice->sought_operators, condition.operator);
		choice->filtered = lappend(choice->filtered, condition.rinfo);
		choice->shape.fixed_count++;
	}
	if (choice->sought_columns != NIL)
		choice->shape.way = TSURUGI_WAY_RANGE;
}
