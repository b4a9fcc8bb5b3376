/*
 * nested.c
 *	  Values of nested columns as JSON.
 *
 * A struct is an object, a map one of which the keys are texts, a list an array.  Values in it are
 * as to_json() makes them of what tsurugi_type_of_column() names, moments in UTC; intervals as in
 * ISO 8601, as they are written.  Bytes are UTF-8, as the whole line is.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "catalog/pg_type.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonfuncs.h"
#include "utils/timestamp.h"

#include "src/copy/datum.h"

/* As escape_json() of text that may have zeros, which the type refuses (22P05). */
static void
append_string(StringInfo text, const char *data, int count)
{
	appendStringInfoCharMacro(text, '"');
	for (int i = 0; i < count; i++)
		if (data[i] == '"' || data[i] == '\\')
		{
			appendStringInfoCharMacro(text, '\\');
			appendStringInfoCharMacro(text, data[i]);
		}
		else if ((unsigned char) data[i] < ' ')
			appendStringInfo(text, "\\u%04x", (unsigned char) data[i]);
		else
			appendStringInfoCharMacro(text, data[i]);
	appendStringInfoCharMacro(text, '"');
}

/* Without zeros at the end of a fraction, and with a T between date and time. */
static void
shorten_time(StringInfo text)
{
	char *blank = strchr(text->data, ' ');
	char *point = strchr(text->data, '.');
	char *end;
	char *kept;

	if (blank != NULL && point != NULL && blank < point)
		*blank = 'T';
	if (point == NULL)
		return;
	end = point + 1 + strspn(point + 1, "0123456789");
	kept = end;
	while (kept[-1] == '0')
		kept--;
	if (kept == point + 1)
		kept = point;
	memmove(kept, end, strlen(end) + 1);
	text->len -= (int) (end - kept);
}

/* The offset of a moment, which is +00, as to_json() has it. */
static void
lengthen_offset(StringInfo text)
{
	char *offset = strstr(text->data, "+00");
	char *rest;

	if (offset == NULL)
		return;
	rest = pstrdup(offset + strlen("+00"));
	text->len = (int) (offset - text->data);
	appendStringInfo(text, "+00:00%s", rest);
	pfree(rest);
}

static void
replace_interval(StringInfo text)
{
	Datum interval =
		DirectFunctionCall3(interval_in, CStringGetDatum(text->data), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	char *written = tsurugi_text_of_interval(DatumGetIntervalP(interval));

	resetStringInfo(text);
	appendStringInfoString(text, written);
}

/* What is said to be JSON is looked at, so that it does not become part of what is around it. */
static void
check_json(StringInfo text)
{
	pg_parse_json_or_ereport(makeJsonLexContextCstringLen(text->data, text->len, PG_UTF8, false), &nullSemAction);
}

static bool
is_number(const tg_file_column *column, const char *text)
{
	return column->type == TG_FILE_INT || column->type == TG_FILE_UINT || column->type == TG_FILE_DECIMAL ||
		   (column->type == TG_FILE_FLOAT && (text[0] == '-' ? text[1] : text[0]) <= '9'); /* not NaN, Infinity */
}

/* A value as text, without quotes. */
static void
write_value(StringInfo into, const tg_file_column *column, const tg_file_values *values, uint32 i)
{
	resetStringInfo(into);
	tsurugi_append_plain(into, column, values, i, column->type == TG_FILE_BINARY ? BYTEAOID : TEXTOID);
	if (column->type == TG_FILE_TIME || column->type == TG_FILE_TIMESTAMP)
		shorten_time(into);
	if (column->type == TG_FILE_TIMESTAMP && column->utc)
		lengthen_offset(into);
	if (column->type == TG_FILE_INTERVAL)
		replace_interval(into);
}

static bool
is_null(const tg_file_column *column, const tg_file_values *values, uint32 i)
{
	return column->type == TG_FILE_NULL || (values->nulls != NULL && values->nulls[i] != 0);
}

static void
append_value(StringInfo text, const tg_file_column *column, const tg_file_values *values, uint32 i)
{
	StringInfoData value;

	if (is_null(column, values, i))
	{
		appendStringInfoString(text, "null");
		return;
	}
	initStringInfo(&value);
	write_value(&value, column, values, i);
	if (column->type == TG_FILE_JSON)
	{
		check_json(&value);
		appendBinaryStringInfo(text, value.data, value.len);
	}
	else if (column->type == TG_FILE_BOOL)
		appendStringInfoString(text, value.data[0] == 't' ? "true" : "false");
	else if (is_number(column, value.data))
		appendBinaryStringInfo(text, value.data, value.len);
	else
		append_string(text, value.data, value.len);
	pfree(value.data);
}

/* --- nodes ------------------------------------------------------------------------------ */

/* The node of that number of a column, and its value `i`. */
static void append_node(StringInfo text, const tg_file_column *column, const tg_file_values *values, unsigned number,
						uint32 i);

static void
append_struct(StringInfo text, const tg_file_column *column, const tg_file_values *values, unsigned number, uint32 i)
{
	const tg_file_node *nodes = column->nodes;
	char separator = '{';

	for (unsigned child = number + 1; child < nodes[number].end; child = nodes[child].end)
	{
		appendStringInfoCharMacro(text, separator);
		append_string(text, nodes[child].column.name, (int) strlen(nodes[child].column.name));
		appendStringInfoCharMacro(text, ':');
		append_node(text, column, values, child, i);
		separator = ',';
	}
	appendStringInfoString(text, separator == '{' ? "{}" : "}");
}

/* A map's entry: its name, which is a text whatever the type is, and its value. */
static void
append_entry(StringInfo text, const tg_file_column *column, const tg_file_values *values, unsigned entry, uint32 i)
{
	const tg_file_column *key = &column->nodes[entry + 1].column;
	StringInfoData name;

	if ((values[entry].nulls != NULL && values[entry].nulls[i] != 0) || is_null(key, &values[entry + 1], i))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("key of a map is null")));
	initStringInfo(&name);
	write_value(&name, key, &values[entry + 1], i);
	append_string(text, name.data, name.len);
	pfree(name.data);
	appendStringInfoCharMacro(text, ':');
	append_node(text, column, values, column->nodes[entry + 1].end, i);
}

/* The elements of a list, or the entries of a map. */
static void
append_elements(StringInfo text, const tg_file_column *column, const tg_file_values *values, unsigned number, uint32 i)
{
	bool is_map = column->nodes[number].kind == TG_NESTED_MAP;
	uint32 first = i == 0 ? 0 : values[number].ends[i - 1];

	appendStringInfoCharMacro(text, is_map ? '{' : '[');
	for (uint32 element = first; element < values[number].ends[i]; element++)
	{
		CHECK_FOR_INTERRUPTS();
		if (element > first)
			appendStringInfoCharMacro(text, ',');
		if (is_map)
			append_entry(text, column, values, number + 1, element);
		else
			append_node(text, column, values, number + 1, element);
	}
	appendStringInfoCharMacro(text, is_map ? '}' : ']');
}

/* Recursive: readers let nodes be nested at most TG_FILE_NESTING_MAX deep. */
static void
append_node(StringInfo text, const tg_file_column *column, const tg_file_values *values, unsigned number, uint32 i)
{
	const tg_file_node *node = &column->nodes[number];

	if (node->kind == TG_NESTED_VALUE)
		append_value(text, &node->column, &values[number], i);
	else if (values[number].nulls != NULL && values[number].nulls[i] != 0)
		appendStringInfoString(text, "null");
	else if (node->kind == TG_NESTED_STRUCT)
		append_struct(text, column, values, number, i);
	else
		append_elements(text, column, values, number, i);
}

void
tsurugi_append_nested(StringInfo text, const tg_file_column *column, const tg_file_values *values, uint32 row)
{
	append_node(text, column, values->nodes, 0, row);
}

bool
tsurugi_nested_is_null(const tg_file_values *values, uint32 row)
{
	return values->nodes[0].nulls != NULL && values->nodes[0].nulls[row] != 0;
}

void
tsurugi_append_json_list(StringInfo text, const tg_file_column *column, const tg_file_values *values, uint32 row)
{
	tg_file_values elements = {.nulls = values->element_nulls, .words = values->words, .bytes = values->bytes};
	uint32 first = row == 0 ? 0 : values->ends[row - 1];

	appendStringInfoCharMacro(text, '[');
	for (uint32 i = first; i < values->ends[row]; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > first)
			appendStringInfoCharMacro(text, ',');
		append_value(text, column, &elements, i);
	}
	appendStringInfoCharMacro(text, ']');
}
