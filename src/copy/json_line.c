/*
 * json_line.c
 *	  Lines of NDJSON into lines of COPY's text format.
 *
 * PostgreSQL's parser takes a line apart.  A value becomes the text that its type's input function
 * reads, as by json_populate_record() (jsonfuncs.c): of a string what it stands for, otherwise what
 * is written; of an array, for an array, and of an object, for a composite type, the same of each
 * of its values.  COPY then reads it, and says of which column it is.
 */
#include "postgres.h"

#include "src/copy/json_in.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/jsonfuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "src/copy/copy.h"

struct tsurugi_json_lines
{
	const char *file_name;
	Relation relation;
	const List *attributes;
	const List *names;
	bool is_selective;
	const tsurugi_json_part **chosen; /* by attributes: the line's value; NULL: it has none */
	MemoryContext memory;			  /* of a line */
};

/* --- parts ------------------------------------------------------------------------------- */

typedef struct Parsing
{
	JsonLexContext *lex;
	tsurugi_json_parts *into;
} Parsing;

/* The value of the outermost object or array that is being read; NULL: another one is. */
static tsurugi_json_part *
part_at_hand(Parsing *parsing)
{
	return parsing->lex->lex_level == 1 ? &parsing->into->parts[parsing->into->count - 1] : NULL;
}

static void
begin_part(Parsing *parsing, char *name)
{
	tsurugi_json_parts *into = parsing->into;

	if (parsing->lex->lex_level != 1)
		return;
	if (into->count == into->room)
	{
		into->room = Max(into->room * 2, 16);
		into->parts = into->parts == NULL ? palloc(sizeof(*into->parts) * into->room)
										  : repalloc_huge(into->parts, sizeof(*into->parts) * (Size) into->room);
	}
	into->parts[into->count++] =
		(tsurugi_json_part){.name = name, .kind = parsing->lex->token_type, .begin = parsing->lex->token_start};
}

static void
end_part(Parsing *parsing)
{
	tsurugi_json_part *part = part_at_hand(parsing);

	if (part != NULL)
		part->bytes = (int) (parsing->lex->prev_token_terminator - part->begin);
}

static void
begin_field(void *parsing, char *name, bool is_null)
{
	begin_part(parsing, name);
}

static void
end_field(void *parsing, char *name, bool is_null)
{
	end_part(parsing);
}

static void
begin_element(void *parsing, bool is_null)
{
	begin_part(parsing, NULL);
}

static void
end_element(void *parsing, bool is_null)
{
	end_part(parsing);
}

static void
take_scalar(void *parsing, char *token, JsonTokenType kind)
{
	tsurugi_json_part *part = part_at_hand(parsing);

	if (part != NULL)
		part->text = token;
}

JsonParseErrorType
tsurugi_json_parse(const char *json, int bytes, tsurugi_json_parts *parts_out, JsonLexContext **lex_out)
{
	Parsing parsing = {.into = parts_out};
	JsonSemAction actions = {.semstate = &parsing,
							 .object_field_start = begin_field,
							 .object_field_end = end_field,
							 .array_element_start = begin_element,
							 .array_element_end = end_element,
							 .scalar = take_scalar};

	*parts_out = (tsurugi_json_parts){0};
	parsing.lex = *lex_out = makeJsonLexContextCstringLen(unconstify(char *, json), bytes, GetDatabaseEncoding(), true);
	return pg_parse_json(parsing.lex, &actions);
}

bool
tsurugi_json_is_object(const char *line, int bytes)
{
	int at = 0;

	while (at < bytes && strchr(" \t\r", line[at]) != NULL)
		at++;
	return at < bytes && line[at] == '{';
}

/* --- values ------------------------------------------------------------------------------ */

static bool append_value(StringInfo text, const tsurugi_json_part *part, Oid type);

/* Of a value that is well-formed as part of its line. */
static void
take_apart(const tsurugi_json_part *part, tsurugi_json_parts *parts)
{
	JsonLexContext *lex;
	JsonParseErrorType result = tsurugi_json_parse(part->begin, part->bytes, parts, &lex);

	if (result != JSON_SUCCESS)
		json_ereport_error(result, lex);
}

static void
append_quoted(StringInfo text, const char *value)
{
	appendStringInfoCharMacro(text, '"');
	for (; *value != '\0'; value++)
	{
		if (*value == '"' || *value == '\\')
			appendStringInfoCharMacro(text, '\\');
		appendStringInfoCharMacro(text, *value);
	}
	appendStringInfoCharMacro(text, '"');
}

/* As of populate_array_dim_jsonb: arrays in it are further dimensions, unless elements are JSON. */
static void
append_array(StringInfo text, const tsurugi_json_part *part, Oid element, char delimiter)
{
	bool is_json = getBaseType(element) == JSONOID || getBaseType(element) == JSONBOID;
	tsurugi_json_parts parts;
	StringInfoData value;

	take_apart(part, &parts);
	initStringInfo(&value);
	appendStringInfoCharMacro(text, '{');
	for (int i = 0; i < parts.count; i++)
	{
		if (i > 0)
			appendStringInfoCharMacro(text, delimiter);
		resetStringInfo(&value);
		if (parts.parts[i].kind == JSON_TOKEN_ARRAY_START && !is_json)
			append_array(text, &parts.parts[i], element, delimiter);
		else if (append_value(&value, &parts.parts[i], element))
			append_quoted(text, value.data);
		else
			appendStringInfoString(text, "NULL");
	}
	appendStringInfoCharMacro(text, '}');
}

static const tsurugi_json_part *
part_named(const tsurugi_json_parts *parts, const char *name)
{
	for (int i = parts->count - 1; i >= 0; i--)
		if (strcmp(parts->parts[i].name, name) == 0)
			return &parts->parts[i];
	return NULL;
}

/* As a record is written (record_out); keys that it does not have are passed over. */
static void
append_record(StringInfo text, const tsurugi_json_part *part, Oid type)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc_copy(type, -1);
	const char *separator = "(";
	tsurugi_json_parts parts;
	StringInfoData value;

	take_apart(part, &parts);
	initStringInfo(&value);
	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);
		const tsurugi_json_part *field;

		if (attribute->attisdropped)
			continue;
		appendStringInfoString(text, separator);
		separator = ",";
		resetStringInfo(&value);
		field = part_named(&parts, NameStr(attribute->attname));
		if (field != NULL && append_value(&value, field, attribute->atttypid))
			append_quoted(text, value.data);
	}
	appendStringInfoString(text, separator[0] == '(' ? "()" : ")");
	FreeTupleDesc(descriptor);
}

static void
check_kind(const tsurugi_json_part *part, JsonTokenType kind, const char *expected)
{
	if (part->kind != kind && (part->kind == JSON_TOKEN_OBJECT_START || part->kind == JSON_TOKEN_ARRAY_START))
		ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("expected JSON %s", expected)));
}

/* The text of a value for its type's input function.  False: it is NULL. */
static bool
append_value(StringInfo text, const tsurugi_json_part *part, Oid type)
{
	Oid base = getBaseType(type);
	Oid element;

	if (part->kind == JSON_TOKEN_NULL)
		return false;
	if (base == JSONOID || base == JSONBOID)
	{
		appendBinaryStringInfo(text, part->begin, part->bytes);
		return true;
	}
	if (part->kind == JSON_TOKEN_STRING)
	{
		appendStringInfoString(text, part->text);
		return true;
	}
	element = get_element_type(base);
	if (OidIsValid(element))
	{
		check_kind(part, JSON_TOKEN_ARRAY_START, "array");
		if (part->kind == JSON_TOKEN_ARRAY_START)
		{
			append_array(text, part, element, tsurugi_array_delimiter(element));
			return true;
		}
	}
	else if (get_typtype(base) == TYPTYPE_COMPOSITE)
	{
		check_kind(part, JSON_TOKEN_OBJECT_START, "object");
		if (part->kind == JSON_TOKEN_OBJECT_START)
		{
			append_record(text, part, base);
			return true;
		}
	}
	appendBinaryStringInfo(text, part->begin, part->bytes);
	return true;
}

/* --- lines ------------------------------------------------------------------------------- */

tsurugi_json_lines *
tsurugi_json_lines_begin(const char *file_name, Relation relation, const List *attributes, const List *names,
						 bool is_selective)
{
	tsurugi_json_lines *lines = palloc0(sizeof(*lines));

	lines->file_name = file_name;
	lines->relation = relation;
	lines->attributes = attributes;
	lines->names = names;
	lines->is_selective = is_selective;
	lines->chosen = palloc0(sizeof(*lines->chosen) * Max(list_length(attributes), 1));
	lines->memory = AllocSetContextCreate(CurrentMemoryContext, "NDJSON line", ALLOCSET_DEFAULT_SIZES);
	return lines;
}

void
tsurugi_json_lines_end(tsurugi_json_lines *lines)
{
	MemoryContextDelete(lines->memory);
	pfree(lines->chosen);
	pfree(lines);
}

static const FormData_pg_attribute *
attribute_at(const tsurugi_json_lines *lines, int i)
{
	return TupleDescAttr(RelationGetDescr(lines->relation), list_nth_int(lines->attributes, i) - 1);
}

/* The key of its values. */
static const char *
key_at(const tsurugi_json_lines *lines, int i)
{
	if (lines->names != NIL)
		return strVal(list_nth(lines->names, list_nth_int(lines->attributes, i) - 1));
	return NameStr(attribute_at(lines, i)->attname);
}

/* The place of the attribute with that name; expected: where it may be.  -1: there is none. */
static int
place_of(const tsurugi_json_lines *lines, int expected, const char *name)
{
	int count = list_length(lines->attributes);

	if (expected < count && strcmp(key_at(lines, expected), name) == 0)
		return expected;
	for (int i = 0; i < count; i++)
		if (strcmp(key_at(lines, i), name) == 0)
			return i;
	return -1;
}

static void
fail_line(const tsurugi_json_lines *lines, const tsurugi_json_record *record, const char *line, const char *text,
		  JsonParseErrorType result, JsonLexContext *lex)
{
	bool is_character = result == JSON_UNICODE_CODE_POINT_ZERO || result == JSON_UNICODE_HIGH_ESCAPE;
	/* of a line in another encoding its beginning is known alone */
	const char *at = lex->token_start != NULL ? lex->token_start : lex->input + lex->input_length;
	int64 byte = record->byte + (text == line ? at - text : 0);

	ereport(ERROR, (errcode(is_character ? ERRCODE_UNTRANSLATABLE_CHARACTER : ERRCODE_BAD_COPY_FILE_FORMAT),
					errmsg("row " INT64_FORMAT " of NDJSON file \"%s\" is malformed", record->row, lines->file_name),
					errdetail("%s At byte " INT64_FORMAT ".", json_errdetail(result, lex), byte)));
}

/* Which value each of the columns gets: of a key that is there more than once the last one. */
static void
choose(tsurugi_json_lines *lines, const tsurugi_json_parts *parts)
{
	memset(lines->chosen, 0, sizeof(*lines->chosen) * list_length(lines->attributes));
	for (int i = 0; i < parts->count; i++)
	{
		int place = place_of(lines, i, parts->parts[i].name);

		if (place >= 0)
			lines->chosen[place] = &parts->parts[i];
		else if (!lines->is_selective)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" of file \"%s\" is none of those that are read", parts->parts[i].name,
								   lines->file_name)));
	}
}

/* Where an error is that COPY does not raise. */
typedef struct Place
{
	const tsurugi_json_lines *lines;
	const tsurugi_json_record *record;
	const char *column;
} Place;

static void
describe_place(void *argument)
{
	const Place *place = argument;

	if (place->column == NULL)
		return;
	(void) err_generic_string(PG_DIAG_COLUMN_NAME, place->column);
	errcontext("file \"%s\", row " INT64_FORMAT ", column %s", place->lines->file_name, place->record->row,
			   place->column);
}

static void
append_columns(const tsurugi_json_lines *lines, Place *place, StringInfo text)
{
	StringInfoData value;

	initStringInfo(&value);
	for (int i = 0; i < list_length(lines->attributes); i++)
	{
		const FormData_pg_attribute *attribute = attribute_at(lines, i);

		place->column = NameStr(attribute->attname);
		if (i > 0)
			appendStringInfoCharMacro(text, '\t');
		resetStringInfo(&value);
		if (lines->chosen[i] != NULL && append_value(&value, lines->chosen[i], attribute->atttypid))
			tsurugi_append_escaped(text, value.data, value.len);
		else
			appendStringInfoString(text, "\\N");
	}
	appendStringInfoCharMacro(text, '\n');
}

void
tsurugi_json_line(tsurugi_json_lines *lines, const char *line, int bytes, const tsurugi_json_record *record,
				  StringInfo text)
{
	MemoryContext before = MemoryContextSwitchTo(lines->memory);
	Place place = {.lines = lines, .record = record};
	ErrorContextCallback context = {.callback = describe_place, .arg = &place, .previous = error_context_stack};
	tsurugi_json_parts parts;
	JsonParseErrorType result;
	JsonLexContext *lex;
	const char *own;

	MemoryContextReset(lines->memory);
	own = pg_any_to_server(line, bytes, PG_UTF8);
	bytes = own != line ? (int) strlen(own) : bytes;
	result = tsurugi_json_parse(own, bytes, &parts, &lex);
	if (result != JSON_SUCCESS)
		fail_line(lines, record, line, own, result, lex);
	if (!tsurugi_json_is_object(own, bytes))
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("row " INT64_FORMAT " of NDJSON file \"%s\" is malformed", record->row, lines->file_name),
				 errdetail("It is not an object. At byte " INT64_FORMAT ".", record->byte)));
	choose(lines, &parts);
	error_context_stack = &context;
	append_columns(lines, &place, text);
	error_context_stack = context.previous;
	MemoryContextSwitchTo(before);
}
