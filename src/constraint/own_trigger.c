/*
 * own_trigger.c
 *	  Functions that only triggers of the extension's own constraints may call.
 *
 * Like PostgreSQL's functions for foreign keys (ri_CheckTrigger, ri_triggers.c), they check how
 * they were called.  Only superusers may execute them, but a mistake must not create a storage for
 * an ordinary table.  An internal trigger is never one that CREATE TRIGGER has made.
 */
#include "postgres.h"

#include "src/constraint/own_trigger.h"

#include "catalog/pg_class.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/rel.h"

#include "runtime/app/process.h"
#include "src/base/library.h"

Oid
tsurugi_own_function(const char *name)
{
	Oid function = LookupFuncName(list_make2(makeString("tsurugi"), makeString(pstrdup(name))), 0, NULL, false);

	/* The schema may have been renamed, and another one may have its name. */
	if (!tsurugi_is_of_library(function, "$libdir/tsurugi_fdw", name))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
						errmsg("function %s() of schema \"%s\" is not tsurugi_fdw's", name, "tsurugi")));
	return function;
}

void
tsurugi_error_own_trigger(const char *function)
{
	ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
					errmsg("function \"%s\" was not called by a trigger of a constraint of its own", function),
					errdetail("Its triggers are made with constraints of tables in memory, by tsurugi_fdw itself.")));
	pg_unreachable();
}

const TriggerData *
tsurugi_own_trigger(FunctionCallInfo fcinfo, const char *function)
{
	const TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("function \"%s\" was not called by trigger manager", function)));
	if (!TRIGGER_FIRED_AFTER(data->tg_event) || !TRIGGER_FIRED_FOR_ROW(data->tg_event))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("function \"%s\" must be fired AFTER ROW", function)));
	if (!data->tg_trigger->tgisinternal || !OidIsValid(data->tg_trigger->tgconstraint) ||
		data->tg_relation->rd_rel->relkind != RELKIND_FOREIGN_TABLE)
		tsurugi_error_own_trigger(function);
	return data;
}
