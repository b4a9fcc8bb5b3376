/*
 * probe_cost.c
 *	  What it costs to look rows up in a build where that is not its hash table alone, and what
 *	  files cost that hold what has no room in memory.
 *
 * The engine decides when the build is there, by its rows (look_up.c and join_files.c there); these
 * are the same decisions, for the rows that PostgreSQL expects.
 */
#include "postgres.h"

#include "src/job/probe_cost.h"

#include <math.h>

#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

#include "runtime/query/plan.h"
#include "runtime/vector/vector.h"
#include "src/base/settings.h"
#include "src/job/translate.h"

/* Nanoseconds of one core. */
#define NS_BYTE 1 /* written, or read */

#define ROW_BYTES 64	/* of a build's row, */
#define COLUMN_BYTES 12 /* and of each of its columns */

/* --- look-ups --------------------------------------------------------------------------- */

/* Whether keys of the type are integers for the engine. */
static bool
is_integer(const Var *var)
{
	uint8_t vector;

	return var->vartype < FirstUnpinnedObjectId && tsurugi_vector_of_type(var->vartype, &vector) &&
		   vector == TG_V_INT && (var->vartype != NUMERICOID || var->vartypmod >= 0);
}

static bool
is_column_of(const Node *expr, const RelOptInfo *table, int attribute)
{
	return IsA(expr, Var) && ((const Var *) expr)->varno == table->relid &&
		   ((const Var *) expr)->varattno == attribute && is_integer((const Var *) expr);
}

/* Whether one of the clauses is an equality of the column. */
static bool
is_compared(const List *clauses, const RelOptInfo *table, int attribute)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		const OpExpr *op = lfirst(cell);

		if (IsA(op, OpExpr) && list_length(op->args) == 2 && op_hashjoinable(op->opno, exprType(linitial(op->args))) &&
			(is_column_of(linitial(op->args), table, attribute) || is_column_of(lsecond(op->args), table, attribute)))
			return true;
	}
	return false;
}

double
tsurugi_job_cost_of_look_ups(const RelOptInfo *table, const List *clauses, double keys, double found)
{
	ListCell *cell;

	foreach (cell, table->indexlist)
	{
		const IndexOptInfo *index = lfirst(cell);

		if (keys <= TG_LOOK_UPS_MAX && index->relam == BTREE_AM_OID && index->indpred == NIL &&
			index->indexkeys[0] > 0 && is_compared(clauses, table, index->indexkeys[0]))
			return keys * TG_LOOK_UP_NS + found * TG_LOOK_UP_NS_ROW;
	}
	return get_float8_infinity();
}

/* --- files -------------------------------------------------------------------------------- */

static double
bytes_of(double rows, int columns)
{
	return rows * (ROW_BYTES + columns * COLUMN_BYTES);
}

/* For rows that may spill. */
static double
memory_of_job(void)
{
	return tsurugi_job_memory_kb == 0 ? get_float8_infinity() : (double) tsurugi_job_memory_kb * 1024 / 2;
}

double
tsurugi_job_cost_of_sorted(double rows, int columns)
{
	double bytes = bytes_of(rows, columns);

	return bytes <= memory_of_job() ? 0 : 2 * bytes * NS_BYTE;
}

double
tsurugi_job_cost_of_grouped(double rows, double groups, int columns)
{
	double bytes = bytes_of(groups, columns);
	double memory = memory_of_job();
	double part = memory / Max(bytes, 1); /* of the rows that find their group in memory */
	double bytes_of_rows = bytes_of(rows, columns);

	if (part >= 1)
		return 0;
	return 2 * NS_BYTE * Max(bytes_of_rows * (1 - part), bytes);
}

double
tsurugi_job_cost_of_passes(double rows, int columns, double step_cost)
{
	double bytes = bytes_of(rows, columns);
	double memory = memory_of_job();

	if (bytes <= memory)
		return 0;
	return 2 * bytes * NS_BYTE + (ceil(bytes / memory) - 1) * step_cost;
}
