/*
 * query.c
 *	  SQL that the extension runs for itself.
 */
#include "postgres.h"

#include "src/base/query.h"

#include "catalog/namespace.h"
#include "catalog/pg_authid_d.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/plancache.h"

int
tsurugi_names_begin(void)
{
	int level = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
	return level;
}

void
tsurugi_names_end(int level)
{
	AtEOXact_GUC(false, level);
}

void
tsurugi_query_catalogs(const char *text, int count, Oid *types, Datum *values)
{
	int level = tsurugi_names_begin();

	if (SPI_execute_with_args(text, count, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the catalogs by \"%s\"", text);
	tsurugi_names_end(level);
}

int
tsurugi_query_run(const char *text, int count, Oid *types, Datum *values, const char *nulls, long rows)
{
	int result = SPI_execute_with_args(text, count, types, values, nulls, false, rows);

	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", text, SPI_result_code_string(result));
	return result;
}

SPIPlanPtr
tsurugi_query_prepare(const char *text, int count, Oid *types)
{
	SPIPlanPtr plan = SPI_prepare(text, count, types);

	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", text, SPI_result_code_string(SPI_result));
	return plan;
}

/* Analyzes as the superuser, who may use every schema.  Analysis runs no code of users. */
static SPIPlanPtr
prepare_as_superuser(const char *text, int count, Oid *types)
{
	SPIPlanPtr plan;
	Oid user;
	int context;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, context | SECURITY_LOCAL_USERID_CHANGE);
	plan = tsurugi_query_prepare(text, count, types);
	SetUserIdAndSecContext(user, context);
	return plan;
}

/*
 * Also prevents a repeated analysis, which would check rights again, because the current role finds
 * other schemas in search_path than the superuser: the text names its schemas itself.
 */
static void
ask_for_no_rights(SPIPlanPtr plan)
{
	ListCell *cell;
	ListCell *query;
	ListCell *entry;

	foreach (cell, SPI_plan_get_plan_sources(plan))
	{
		CachedPlanSource *source = lfirst(cell);

		source->search_path = GetOverrideSearchPath(source->query_context);
		foreach (query, source->query_list)
			foreach (entry, lfirst_node(Query, query)->rtable)
				lfirst_node(RangeTblEntry, entry)->requiredPerms = 0;
	}
}

Portal
tsurugi_query_open_own(const char *text, int count, Oid *types, Datum *values, const char *nulls)
{
	SPIPlanPtr plan = prepare_as_superuser(text, count, types);

	ask_for_no_rights(plan);
	return SPI_cursor_open(NULL, plan, values, nulls, false);
}
