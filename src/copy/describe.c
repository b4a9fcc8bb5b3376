/*
 * describe.c
 *	  tsurugi.describe_file(): the columns of a file, as CREATE TABLE needs them.
 */
#include "postgres.h"

#include "src/copy/describe.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"

#include "src/base/sql_function.h"
#include "src/base/view_row.h"
#include "src/copy/arguments.h"
#include "src/copy/copy.h"
#include "src/copy/json_in.h"
#include "src/copy/load_options.h"
#include "src/copy/server_file.h"

#define WORDS_MAX 200

TSURUGI_SQL_FUNCTION(tsurugi_fdw_describe_file);

static void
put_column(FunctionCallInfo fcinfo, tsurugi_file *file, unsigned i)
{
	const tg_file_column *column = tg_columnar_column(&file->reader, i);
	bool readable = column->type != TG_FILE_UNREADABLE;
	char codec[WORDS_MAX];
	char encodings[WORDS_MAX];
	bool described = tg_columnar_describe(&file->reader, i, codec, sizeof(codec), encodings, sizeof(encodings));
	Row row = {0};

	add_datum(&row, Int32GetDatum((int) i + 1));
	add_text(&row, tsurugi_file_column_name(file, i));
	if (readable)
		add_text(&row, tsurugi_type_of_column(column));
	else
		add_null(&row);
	add_datum(&row, BoolGetDatum(column->nullable));
	add_text(&row, column->stored);
	if (described)
	{
		add_text(&row, encodings);
		add_text(&row, codec);
	}
	else
	{
		add_null(&row);
		add_null(&row);
	}
	put_row(fcinfo, &row);
}

/* --- texts ------------------------------------------------------------------------------- */

static void
put_text_column(void *fcinfo, int number, const char *name, const char *type, bool nullable, const char *stored)
{
	Row row = {0};

	add_datum(&row, Int32GetDatum(number));
	add_text(&row, name);
	add_text(&row, type);
	add_datum(&row, BoolGetDatum(nullable));
	add_text(&row, stored);
	add_null(&row);
	add_null(&row);
	put_row(fcinfo, &row);
}

/* --- NDJSON ------------------------------------------------------------------------------ */

static const char *
type_of_kinds(unsigned kinds)
{
	switch (kinds & ~TSURUGI_JSON_NULL)
	{
		case 0:
		case TSURUGI_JSON_STRING:
			return "text";
		case TSURUGI_JSON_BOOLEAN:
			return "boolean";
		case TSURUGI_JSON_INTEGER:
			return "bigint";
		case TSURUGI_JSON_NUMBER:
		case TSURUGI_JSON_NUMBER | TSURUGI_JSON_INTEGER:
			return "numeric";
		default:
			return "json";
	}
}

/* Words for the kinds, separated by commas. */
static char *
words_of_kinds(unsigned kinds)
{
	static const struct
	{
		unsigned kinds;
		const char *word;
	} known[] = {{TSURUGI_JSON_STRING, "string"},	{TSURUGI_JSON_INTEGER | TSURUGI_JSON_NUMBER, "number"},
				 {TSURUGI_JSON_BOOLEAN, "boolean"}, {TSURUGI_JSON_OBJECT, "object"},
				 {TSURUGI_JSON_ARRAY, "array"},		{TSURUGI_JSON_NULL, "null"}};
	StringInfoData words;

	initStringInfo(&words);
	for (int i = 0; i < lengthof(known); i++)
		if ((kinds & known[i].kinds) != 0)
			appendStringInfo(&words, "%s%s", words.len > 0 ? ", " : "", known[i].word);
	return words.data;
}

static void
describe_json(FunctionCallInfo fcinfo, const char *name)
{
	tsurugi_json *json = tsurugi_json_open(name, 0);
	int64 rows = 0;
	List *keys = tsurugi_json_keys(json, NIL, &rows);
	ListCell *cell;

	tsurugi_json_close(json);
	foreach (cell, keys)
	{
		const tsurugi_json_key *key = lfirst(cell);

		put_text_column(fcinfo, foreach_current_index(cell) + 1, key->name, type_of_kinds(key->kinds),
						(key->kinds & TSURUGI_JSON_NULL) != 0 || key->count < rows, words_of_kinds(key->kinds));
	}
}

/* --- the function ------------------------------------------------------------------------ */

/* Arguments of the function, in their order. */
enum
{
	ARGUMENT_FILE,
	ARGUMENT_FORMAT,
	ARGUMENT_OPTIONS
};

static tsurugi_format
format_given(FunctionCallInfo fcinfo, const char *name)
{
	if (PG_ARGISNULL(ARGUMENT_FORMAT))
		return tsurugi_format_of_file(name);
	return tsurugi_load_format_named(text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_FORMAT)));
}

/* Of CSV alone. */
static void
check_no_options(FunctionCallInfo fcinfo, const char *name, tsurugi_format format)
{
	const tsurugi_load_file file = {.name = name, .format = format};
	tsurugi_load load = {0};

	tsurugi_load_options_of_csv(PG_GETARG_JSONB_P(ARGUMENT_OPTIONS), &load);
	tsurugi_load_no_options(&load, &file);
}

static void
describe_columnar(FunctionCallInfo fcinfo, const char *name, tsurugi_format format)
{
	tsurugi_file *file = tsurugi_file_open(name, format, 0);

	check_no_options(fcinfo, name, file->format);
	for (unsigned i = 0; i < tg_columnar_column_count(&file->reader); i++)
		put_column(fcinfo, file, i);
	tsurugi_file_close(file);
}

Datum
tsurugi_fdw_describe_file(PG_FUNCTION_ARGS)
{
	static const int needed[] = {ARGUMENT_FILE, ARGUMENT_OPTIONS};
	int names_left = TSURUGI_FILE_NAMES_MAX;
	tsurugi_format format;
	const char *name;
	char *pattern;

	tsurugi_arguments_not_null(fcinfo, "description", needed, lengthof(needed));
	pattern = text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_FILE));
	tsurugi_file_check(pattern, TSURUGI_FILE_READ, "describe a file", NULL);
	InitMaterializedSRF(fcinfo, 0);
	name = linitial(tsurugi_file_names(pattern, &names_left));
	format = format_given(fcinfo, name);
	if (format == TSURUGI_FORMAT_CSV)
		tsurugi_describe_csv(name, PG_GETARG_JSONB_P(ARGUMENT_OPTIONS), put_text_column, fcinfo);
	else if (format != TSURUGI_FORMAT_NDJSON)
		describe_columnar(fcinfo, name, format);
	else
	{
		check_no_options(fcinfo, name, format);
		describe_json(fcinfo, name);
	}
	return (Datum) 0;
}
