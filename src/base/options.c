/*
 * options.c
 *	  The validator of OPTIONS: none are known yet.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "src/base/sql_function.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_validator);

Datum
tsurugi_fdw_validator(PG_FUNCTION_ARGS)
{
	List *options = untransformRelOptions(PG_GETARG_DATUM(0));

	if (options != NIL)
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
						errmsg("invalid option \"%s\"", linitial_node(DefElem, options)->defname),
						errhint("There are no valid options in this context.")));
	PG_RETURN_VOID();
}
