/*
 * views_quota.c
 *	  The function behind the view tsurugi.memory_quotas.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"

#include "runtime/mem/quota.h"
#include "src/base/sql_function.h"
#include "src/base/view_rights.h"
#include "src/base/view_row.h"
#include "src/table/quota.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_memory_quotas);

static void
add_oid(Row *row, Oid oid)
{
	if (OidIsValid(oid))
		add_datum(row, ObjectIdGetDatum(oid));
	else
		add_null(row);
}

static void
put_quota(FunctionCallInfo fcinfo, const tg_quota_report *report)
{
	Row row = {0};

	add_oid(&row, report->key.database);
	add_oid(&row, report->key.owner);
	add_bigint(&row, report->bytes);
	if (report->limit != TG_QUOTA_NONE)
		add_bigint(&row, report->limit);
	else
		add_null(&row);
	add_bigint(&row, report->refused);
	put_row(fcinfo, &row);
}

/* The accounts of the user's own roles; with pg_read_all_stats all. */
Datum
tsurugi_fdw_memory_quotas(PG_FUNCTION_ARGS)
{
	unsigned count;
	tg_quota_report *reports = tsurugi_quota_reports(&count);

	InitMaterializedSRF(fcinfo, 0);
	for (unsigned i = 0; i < count; i++)
		if (tsurugi_sees_role(reports[i].key.owner))
			put_quota(fcinfo, &reports[i]);
	return (Datum) 0;
}
