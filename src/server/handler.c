/*
 * handler.c
 *	  The handler: the table of the foreign data wrapper's callbacks.
 *
 * PostgreSQL asks for it whenever it plans a modification, so it is a copy of a constant.  Some
 * callbacks are left out because they would have nothing to do: EndForeignModify and
 * EndForeignInsert (a modification has nothing but memory of the statement), the batch callbacks
 * (single rows are faster, because nothing is sent anywhere), the parallel and asynchronous ones
 * (the pool does the parallel work).
 */
#include "postgres.h"

#include "fmgr.h"

#include "src/base/sql_function.h"
#include "src/ddl/import.h"
#include "src/exec/fdw.h"

static const FdwRoutine routine = {
	.type = T_FdwRoutine,

	.GetForeignRelSize = tsurugiGetForeignRelSize,
	.GetForeignPaths = tsurugiGetForeignPaths,
	.ReparameterizeForeignPathByChild = tsurugiReparameterizeForeignPathByChild,
	.GetForeignPlan = tsurugiGetForeignPlan,
	.BeginForeignScan = tsurugiBeginForeignScan,
	.IterateForeignScan = tsurugiIterateForeignScan,
	.ReScanForeignScan = tsurugiReScanForeignScan,
	.EndForeignScan = tsurugiEndForeignScan,

	.AddForeignUpdateTargets = tsurugiAddForeignUpdateTargets,
	.PlanForeignModify = tsurugiPlanForeignModify,
	.BeginForeignModify = tsurugiBeginForeignModify,
	.ExecForeignInsert = tsurugiExecForeignInsert,
	.ExecForeignUpdate = tsurugiExecForeignUpdate,
	.ExecForeignDelete = tsurugiExecForeignDelete,
	.BeginForeignInsert = tsurugiBeginForeignInsert,
	.IsForeignRelUpdatable = tsurugiIsForeignRelUpdatable,
	.PlanDirectModify = tsurugiPlanDirectModify,
	.BeginDirectModify = tsurugiBeginDirectModify,
	.IterateDirectModify = tsurugiIterateDirectModify,
	.EndDirectModify = tsurugiEndDirectModify,

	.GetForeignRowMarkType = tsurugiGetForeignRowMarkType,
	.RefetchForeignRow = tsurugiRefetchForeignRow,
	.RecheckForeignScan = tsurugiRecheckForeignScan,

	.ExplainForeignScan = tsurugiExplainForeignScan,
	.ExplainForeignModify = tsurugiExplainForeignModify,
	.ExplainDirectModify = tsurugiExplainDirectModify,
	.AnalyzeForeignTable = tsurugiAnalyzeForeignTable,
	.ExecForeignTruncate = tsurugiExecForeignTruncate,
	.ImportForeignSchema = tsurugiImportForeignSchema,
};

TSURUGI_SQL_FUNCTION(tsurugi_fdw_handler);

Datum
tsurugi_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *copy = palloc(sizeof(FdwRoutine));

	*copy = routine;
	PG_RETURN_POINTER(copy);
}
