/*
 * describe.c
 *	  tsurugi.describe_file(): the columns of a file, as CREATE TABLE needs them.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"

#include "src/base/sql_function.h"
#include "src/base/view_row.h"
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
	add_text(&row, pg_any_to_server(column->name, (int) strlen(column->name), PG_UTF8));
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

Datum
tsurugi_fdw_describe_file(PG_FUNCTION_ARGS)
{
	char *pattern;
	List *names;
	tsurugi_file *file;

	pattern = text_to_cstring(PG_GETARG_TEXT_PP(0));
	tsurugi_file_check(pattern, TSURUGI_FILE_READ, "describe a file", NULL);
	InitMaterializedSRF(fcinfo, 0);
	names = tsurugi_file_names(pattern);
	file = tsurugi_file_open(linitial(names), TSURUGI_FORMAT_COUNT, 0);
	for (unsigned i = 0; i < tg_columnar_column_count(&file->reader); i++)
		put_column(fcinfo, file, i);
	tsurugi_file_close(file);
	return (Datum) 0;
}
