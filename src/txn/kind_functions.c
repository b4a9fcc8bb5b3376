/*
 * kind_functions.c
 *	  The functions that choose Tsurugi's kinds of transactions.
 *
 * Names and JSON are those of Tsurugi's own tsurugi_fdw.  The functions only set the settings of
 * kinds.c, as SET does.  So the values apply to the running transaction if it has not accessed a
 * table yet, and to the following ones of the session, and are undone if the transaction is rolled
 * back.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/varlena.h"

#include "src/base/sql_function.h"
#include "src/txn/area_settings.h"
#include "src/txn/areas.h"
#include "src/txn/kinds.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_set_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_set_write_preserve);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_set_inclusive_read_areas);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_set_exclusive_read_areas);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_show_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_write_preserve_range);

static void
set(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SET, true, 0, false);
}

/* --- the settings as JSON ------------------------------------------------------------------ */

static void
show_areas(StringInfo json, const char *key, const char *setting)
{
	List *areas = tsurugi_areas_parse(setting);
	ListCell *cell;

	appendStringInfo(json, ", \"%s\": ", key);
	if (areas == NIL)
	{
		appendStringInfoString(json, "\"\"");
		return;
	}
	foreach (cell, areas)
	{
		const tsurugi_area_name *area = lfirst(cell);

		appendStringInfoString(json, foreach_current_index(cell) == 0 ? "[{\"tableName\": " : ", {\"tableName\": ");
		escape_json(json, NameListToString(area->name));
		if (area->low != NULL)
		{
			appendStringInfoString(json, area->low_inclusive ? ", \"from\": " : ", \"after\": ");
			escape_json(json, area->low);
		}
		if (area->high != NULL)
		{
			appendStringInfoString(json, area->high_inclusive ? ", \"to\": " : ", \"before\": ");
			escape_json(json, area->high);
		}
		appendStringInfoChar(json, '}');
	}
	appendStringInfoChar(json, ']');
}

/* Numbers are text, and no areas are "", as in Tsurugi's own extension. */
static Datum
show(void)
{
	static const char *const types[] = {
		[TG_TXN_ORDINARY] = "0", [TG_TXN_SHORT] = "1", [TG_TXN_LONG] = "2", [TG_TXN_READ_ONLY] = "3"};
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"transactionType\": \"%s\", \"transactionPriority\": \"%d\", \"transactionLabel\": ",
					 types[tsurugi_transaction_type], tsurugi_transaction_priority);
	escape_json(&json, tsurugi_transaction_label);
	show_areas(&json, "writePreserve", tsurugi_write_preserve.areas);
	show_areas(&json, "inclusiveReadArea", tsurugi_inclusive_read_areas.areas);
	show_areas(&json, "exclusiveReadArea", tsurugi_exclusive_read_areas.areas);
	appendStringInfoChar(&json, '}');
	return PointerGetDatum(cstring_to_text_with_len(json.data, json.len));
}

Datum
tsurugi_fdw_show_transaction(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(show());
}

/* --- setting --------------------------------------------------------------------------------- */

/*
 * Refuses Tsurugi's priorities, which stop other transactions or lock them out: here a priority has
 * another meaning.
 */
static void
set_priority(const char *priority)
{
	static const char *const tsurugis[] = {"interrupt", "wait", "interrupt_exclude", "wait_exclude"};

	for (int i = 0; i < (int) lengthof(tsurugis); i++)
		if (pg_strcasecmp(priority, tsurugis[i]) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("transaction priority \"%s\" is not supported", priority),
					 errhint("Priorities are \"default\", or integers that order long transactions waiting for their "
							 "start: the higher one goes first.")));
	set("tsurugi_fdw.transaction_priority", pg_strcasecmp(priority, "default") == 0 ? "0" : priority);
}

/* type [, priority [, label]]: settings that are not given are reset, including the areas. */
Datum
tsurugi_fdw_set_transaction(PG_FUNCTION_ARGS)
{
	char *type = text_to_cstring(PG_GETARG_TEXT_PP(0));

	set("tsurugi_fdw.transaction_type", type);
	if (PG_NARGS() > 1)
		set_priority(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	else
		set("tsurugi_fdw.transaction_priority", NULL);
	if (PG_NARGS() > 2)
	{
		char *label = text_to_cstring(PG_GETARG_TEXT_PP(2));

		if (label[0] == '\0')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the label of a transaction must not be empty")));
		set("tsurugi_fdw.transaction_label", label);
	}
	else
		set("tsurugi_fdw.transaction_label", NULL);
	if (tsurugi_transaction_priority != 0 && tsurugi_transaction_type != TG_TXN_LONG)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("only long transactions have priorities")));
	set("tsurugi_fdw.write_preserve", "");
	set("tsurugi_fdw.inclusive_read_areas", "");
	set("tsurugi_fdw.exclusive_read_areas", "");
	PG_RETURN_DATUM(show());
}

/*
 * Finds the tables and checks rights at once; the value then does not depend on search_path any
 * more.
 */
static void
set_areas(const char *setting, List *areas, tsurugi_area_use use)
{
	set(setting, tsurugi_areas_qualify(areas, use, GetUserId()));
}

/* Sets the tables that are named, one in each argument. */
static Datum
set_tables(FunctionCallInfo fcinfo, const char *setting, tsurugi_area_use use)
{
	List *areas = NIL;
	Datum *names;
	bool *nulls;
	int count;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		tsurugi_area_name *area = palloc0(sizeof(*area));

		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("names of tables must not be null")));
		area->name = textToQualifiedNameList(DatumGetTextPP(names[i]));
		areas = lappend(areas, area);
	}
	set_areas(setting, areas, use);
	return show();
}

Datum
tsurugi_fdw_set_write_preserve(PG_FUNCTION_ARGS)
{
	return set_tables(fcinfo, "tsurugi_fdw.write_preserve", TSURUGI_AREA_TO_PRESERVE);
}

Datum
tsurugi_fdw_set_inclusive_read_areas(PG_FUNCTION_ARGS)
{
	return set_tables(fcinfo, "tsurugi_fdw.inclusive_read_areas", TSURUGI_AREA_TO_READ);
}

Datum
tsurugi_fdw_set_exclusive_read_areas(PG_FUNCTION_ARGS)
{
	return set_tables(fcinfo, "tsurugi_fdw.exclusive_read_areas", TSURUGI_AREA_TO_READ);
}

static const char *
bound_of(FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument))
		return NULL;
	return OidOutputFunctionCall(F_ARRAY_OUT, PG_GETARG_DATUM(argument));
}

/*
 * For areas that another role has set, that role's rights are checked first: from now on the areas
 * count as set by the current role.
 */
static List *
areas_set_before(void)
{
	Oid role = tsurugi_area_setting_role(&tsurugi_write_preserve);
	List *areas = tsurugi_areas_parse(tsurugi_write_preserve.areas);

	return role == GetUserId() ? areas
							   : tsurugi_areas_parse(tsurugi_areas_qualify(areas, TSURUGI_AREA_TO_PRESERVE, role));
}

/*
 * Adds a range of keys to the write preserve: table, low, high (NULL: open), and which bounds are
 * included.
 */
Datum
tsurugi_fdw_write_preserve_range(PG_FUNCTION_ARGS)
{
	tsurugi_area_name *area = palloc0(sizeof(*area));
	const char *bounds;
	Oid relation;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(3))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("table and bounds must not be null")));
	relation = PG_GETARG_OID(0);
	bounds = text_to_cstring(PG_GETARG_TEXT_PP(3));
	if (strlen(bounds) != 2 || strchr("[(", bounds[0]) == NULL || strchr("])", bounds[1]) == NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid bounds: \"%s\"", bounds),
						errhint("Bounds are [], [), (] or ().")));
	if (get_rel_name(relation) == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relation)));
	area->name =
		list_make2(makeString(get_namespace_name(get_rel_namespace(relation))), makeString(get_rel_name(relation)));
	area->is_range = true;
	area->low = bound_of(fcinfo, 1);
	area->high = bound_of(fcinfo, 2);
	area->low_inclusive = bounds[0] == '[';
	area->high_inclusive = bounds[1] == ']';
	set_areas("tsurugi_fdw.write_preserve", lappend(areas_set_before(), area), TSURUGI_AREA_TO_PRESERVE);
	PG_RETURN_DATUM(show());
}
