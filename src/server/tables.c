/*
 * tables.c
 *	  tg_show_tables and tg_verify_tables, for users of Tsurugi.
 *
 * Names, arguments and the shape of the JSON are those of Tsurugi's own foreign data wrapper
 * (project-tsurugi/tsurugi_fdw, docs/udf_reference).  There the tables are in another process.
 * Here a definition and its storage are one thing, so the functions show the tables of the server
 * in this database.  Tsurugi has no schemas and accepts any name for one: if a schema of that name
 * exists, its tables are meant, otherwise the server's tables in all schemas.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "runtime/base/check.h"
#include "src/base/query.h"
#include "src/base/sql_function.h"
#include "src/table/relation.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_show_tables);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_verify_tables);

/* --- arguments ---------------------------------------------------------------------------- */

typedef struct Request
{
	char *remote_schema;
	char *server_name;
	char *local_schema; /* NULL: not requested */
	char *mode;
	bool detail;
	bool pretty;
	Oid server;
} Request;

static char *
required(FunctionCallInfo fcinfo, int argument, const char *name)
{
	char *value = PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));

	if (value == NULL || *value == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE), errmsg("missing required argument \"%s\"", name)));
	return value;
}

/* The last two arguments, and the server. */
static void
take_rest(FunctionCallInfo fcinfo, int argument, Request *request)
{
	request->mode = PG_ARGISNULL(argument) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(argument));
	request->detail = pg_strcasecmp(request->mode, "detail") == 0;
	if (!request->detail && pg_strcasecmp(request->mode, "summary") != 0)
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
						errmsg("invalid value (\"%s\") for parameter \"%s\"", request->mode, "mode"),
						errdetail("expected 'summary' or 'detail'")));
	if (PG_ARGISNULL(argument + 1))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid value (NULL) for parameter \"%s\"", "pretty"), errdetail("expected true or false")));
	request->pretty = PG_GETARG_BOOL(argument + 1);
	request->server = GetForeignServerByName(request->server_name, false)->serverid;
	if (!tsurugi_is_our_server(request->server))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("server \"%s\" is not one of tsurugi_fdw", request->server_name)));
}

/* --- JSON ------------------------------------------------------------------------------------- */

typedef struct Json
{
	StringInfoData text;
	bool pretty;
	bool empty; /* nothing is in the innermost braces yet */
	int depth;
} Json;

static void
begin_line(Json *json)
{
	if (!json->empty)
		appendStringInfoChar(&json->text, ',');
	if (json->pretty && json->depth > 0)
		appendStringInfo(&json->text, "\n%*s", json->depth * 4, "");
	json->empty = false;
}

static void
add_key(Json *json, const char *key)
{
	begin_line(json);
	if (key != NULL)
		appendStringInfo(&json->text, json->pretty ? "\"%s\": " : "\"%s\":", key);
}

static void
open_braces(Json *json, const char *key, char brace)
{
	add_key(json, key);
	appendStringInfoChar(&json->text, brace);
	json->depth++;
	json->empty = true;
}

static void
close_braces(Json *json, char brace)
{
	tg_assert(json->depth > 0);
	json->depth--;
	if (json->pretty && !json->empty)
		appendStringInfo(&json->text, "\n%*s", json->depth * 4, "");
	appendStringInfoChar(&json->text, brace);
	json->empty = false;
}

static void
add_text(Json *json, const char *key, const char *value)
{
	add_key(json, key);
	escape_json(&json->text, value);
}

/* "key": {"count": n, "list": [...]}, with the names of the tables in this state. */
static void
add_tables(Json *json, const Request *request, const char *key, const char *state)
{
	uint64 count = 0;

	for (uint64 i = 0; i < SPI_processed; i++)
		count += strcmp(SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2), state) == 0;
	open_braces(json, key, '{');
	add_key(json, "count");
	appendStringInfo(&json->text, UINT64_FORMAT, count);
	if (request->detail)
	{
		open_braces(json, "list", '[');
		for (uint64 i = 0; i < SPI_processed; i++)
			if (strcmp(SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2), state) == 0)
				add_text(json, NULL, SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1));
		close_braces(json, ']');
	}
	close_braces(json, '}');
}

/* --- the catalogs --------------------------------------------------------------- */

/* The tables of the server (a parameter) with their columns' names, types and order. */
#define TABLES_OF_SERVER                                                                                               \
	"SELECT c.relname::text AS name, n.nspname AS schema, "                                                            \
	"(SELECT pg_catalog.array_agg(ROW(a.attname, a.atttypid, a.atttypmod)::text ORDER BY a.attnum) "                   \
	"FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns "     \
	"FROM pg_catalog.pg_foreign_table f JOIN pg_catalog.pg_class c ON c.oid = f.ftrelid "                              \
	"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE f.ftserver = $1"

#define IN_REMOTE_SCHEMA "(schema = $2 OR NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $2))"

/* Leaves names and states in SPI_tuptable. */
static void
ask(const Request *request, const char *query)
{
	Oid types[] = {OIDOID, TEXTOID, TEXTOID};
	const char *local = request->local_schema == NULL ? "" : request->local_schema;
	Datum values[] = {ObjectIdGetDatum(request->server), CStringGetTextDatum(request->remote_schema),
					  CStringGetTextDatum(local)};

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	tsurugi_query_catalogs(query, 3, types, values);
}

/* --- the functions -------------------------------------------------------------- */

/* Tables in one state, and their key in the report. */
typedef struct Part
{
	const char *key;
	const char *state;
} Part;

/* Runs the query and makes the report: the request, then the parts. */
static Datum
report(const Request *request, const char *query, const char *key, const Part *parts, int part_count)
{
	Json json = {.pretty = request->pretty, .empty = true};
	MemoryContext caller = CurrentMemoryContext;

	ask(request, query);
	MemoryContextSwitchTo(caller);
	initStringInfo(&json.text);
	open_braces(&json, NULL, '{');
	open_braces(&json, key, '{');
	add_text(&json, "remote_schema", request->remote_schema);
	add_text(&json, "server_name", request->server_name);
	if (request->local_schema != NULL)
		add_text(&json, "local_schema", request->local_schema);
	add_text(&json, "mode", request->mode);
	for (int i = 0; i < part_count; i++)
		add_tables(&json, request, parts[i].key, parts[i].state);
	close_braces(&json, '}');
	close_braces(&json, '}');
	tg_assert(json.depth == 0);
	SPI_finish();
	return CStringGetTextDatum(json.text.data);
}

Datum
tsurugi_fdw_show_tables(PG_FUNCTION_ARGS)
{
	static const Part parts[] = {{"tables_on_remote_schema", "remote"}};
	Request request = {0};

	request.remote_schema = required(fcinfo, 0, "remote_schema");
	request.server_name = required(fcinfo, 1, "server_name");
	take_rest(fcinfo, 2, &request);
	return report(&request,
				  "SELECT DISTINCT name, 'remote', $3 FROM (" TABLES_OF_SERVER ") t WHERE " IN_REMOTE_SCHEMA
				  " ORDER BY name",
				  "remote_schema", parts, lengthof(parts));
}

Datum
tsurugi_fdw_verify_tables(PG_FUNCTION_ARGS)
{
	static const Part parts[] = {{"tables_on_only_remote_schema", "remote"},
								 {"foreign_tables_on_only_local_schema", "local"},
								 {"tables_that_need_to_be_altered", "altered"},
								 {"available_foreign_table", "same"}};
	Request request = {0};

	request.remote_schema = required(fcinfo, 0, "remote_schema");
	request.server_name = required(fcinfo, 1, "server_name");
	request.local_schema = required(fcinfo, 2, "local_schema");
	take_rest(fcinfo, 3, &request);
	if (!OidIsValid(get_namespace_oid(request.local_schema, true)))
		ereport(ERROR, (errcode(ERRCODE_FDW_SCHEMA_NOT_FOUND),
						errmsg("local schema \"%s\" does not exist", request.local_schema)));
	return report(&request,
				  "WITH t AS (" TABLES_OF_SERVER
				  "), remote AS (SELECT DISTINCT ON (name) * FROM t WHERE " IN_REMOTE_SCHEMA
				  " ORDER BY name, schema <> $3), local AS (SELECT * FROM t WHERE schema = $3) "
				  "SELECT name, CASE WHEN l.schema IS NULL THEN 'remote' WHEN r.schema IS NULL THEN 'local' "
				  "WHEN l.columns IS NOT DISTINCT FROM r.columns THEN 'same' ELSE 'altered' END "
				  "FROM remote r FULL JOIN local l USING (name) ORDER BY name",
				  "verification", parts, lengthof(parts));
}
