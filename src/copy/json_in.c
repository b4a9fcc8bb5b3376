/*
 * json_in.c
 *	  Files in NDJSON: their lines, and their columns.
 *
 * Which columns a file has is only known at its end, and COPY has to know before its first row
 * which columns get defaults.  So a file is read twice: first for its keys.
 */
#include "postgres.h"

#include "src/copy/json_in.h"

#include <unistd.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "runtime/format/columns.h"
#include "runtime/format/json_scan.h"
#include "src/base/settings.h"
#include "src/copy/copy.h"
#include "src/copy/packed_file.h"

#define LINE_BYTES_MAX ((int64) (MaxAllocSize / 2)) /* whatever batch_memory is */

struct tsurugi_json
{
	const char *name;
	tsurugi_contents contents;
	tsurugi_packed_file *packed; /* NULL: the client has sent it */
	uint64 spool_left;			 /* then: bytes */
	int64 line_max;				 /* bytes */
	int64 position;				 /* of the next byte */
	int64 rows;
	bool is_over;			 /* by a line `\.` of the client's */
	tg_json_member *members; /* of a line, while keys are looked for */
	int at;					 /* in the buffer: [at, count) is read, and not yet passed over */
	int count;
	char buffer[TSURUGI_COPY_BUFFER];
};

/* --- bytes ------------------------------------------------------------------------------- */

/* At the beginning of the file. */
static void
begin(tsurugi_json *json)
{
	json->position = json->rows = 0;
	json->at = json->count = 0;
	json->is_over = false;
	json->spool_left = json->contents.bytes;
	if (json->contents.descriptor < 0)
	{
		if (BufFileSeek(json->contents.spool, 0, 0, SEEK_SET) != 0)
			ereport(ERROR, (errcode_for_file_access(), errmsg("could not seek in temporary file: %m")));
		return;
	}
	if (lseek(json->contents.descriptor, 0, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not seek in file \"%s\": %m", json->name)));
	json->packed = tsurugi_packed_file_begin(json->name, json->contents.descriptor);
}

static void
end(tsurugi_json *json)
{
	if (json->packed != NULL)
		tsurugi_packed_file_end(json->packed);
	json->packed = NULL;
}

static void
read_more(tsurugi_json *json)
{
	json->at = 0;
	if (json->packed != NULL)
	{
		json->count = (int) tsurugi_packed_file_read(json->packed, json->buffer, TSURUGI_COPY_BUFFER);
		return;
	}
	CHECK_FOR_INTERRUPTS();
	json->count = (int) Min(json->spool_left, TSURUGI_COPY_BUFFER);
	if (BufFileRead(json->contents.spool, json->buffer, json->count) != (size_t) json->count)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read from temporary file: %m")));
	json->spool_left -= (uint64) json->count;
}

tsurugi_json *
tsurugi_json_open(const char *name, int column_count)
{
	tsurugi_json *json = palloc0(sizeof(*json));

	json->name = name != NULL ? name : "stdin";
	json->line_max = Min((int64) tsurugi_batch_memory_kb * 1024, LINE_BYTES_MAX);
	tsurugi_contents_open(&json->contents, name, TSURUGI_FORMAT_NDJSON, column_count);
	begin(json);
	return json;
}

void
tsurugi_json_close(tsurugi_json *json)
{
	end(json);
	tsurugi_contents_close(&json->contents);
	pfree(json);
}

/* --- lines ------------------------------------------------------------------------------- */

static void
check_length(const tsurugi_json *json, int64 bytes)
{
	if (bytes <= json->line_max)
		return;
	if (json->line_max == LINE_BYTES_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("row " INT64_FORMAT " of NDJSON file \"%s\" is too long", json->rows + 1, json->name)));
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
					errdetail("Row " INT64_FORMAT " of NDJSON file \"%s\" has more than " INT64_FORMAT " bytes.",
							  json->rows + 1, json->name, json->line_max),
					errhint("Increase tsurugi_fdw.batch_memory.")));
}

/* Appends the next line.  False: there is none. */
static bool
append_line(tsurugi_json *json, StringInfo text)
{
	int from = text->len;
	bool has_ended = false;
	bool is_any = false;

	while (!has_ended)
	{
		const char *end;
		int bytes;

		if (json->at == json->count)
			read_more(json);
		if (json->count == 0)
			break;
		is_any = true;
		end = memchr(json->buffer + json->at, '\n', json->count - json->at);
		has_ended = end != NULL;
		bytes = has_ended ? (int) (end - (json->buffer + json->at)) : json->count - json->at;
		check_length(json, (int64) text->len - from + bytes);
		appendBinaryStringInfo(text, json->buffer + json->at, bytes);
		json->at += bytes + has_ended;
		json->position += bytes + has_ended;
	}
	if (text->len > from && text->data[text->len - 1] == '\r')
		text->data[--text->len] = '\0';
	return is_any;
}

static bool
is_blank(const char *line, int bytes)
{
	while (bytes > 0 && (line[bytes - 1] == ' ' || line[bytes - 1] == '\t' || line[bytes - 1] == '\r'))
		bytes--;
	return bytes == 0;
}

bool
tsurugi_json_next(tsurugi_json *json, StringInfo text, tsurugi_json_record *record_out)
{
	int begin = record_out->begin = text->len;

	do
	{
		text->len = begin;
		record_out->byte = json->position;
		if (json->is_over || !append_line(json, text))
			return false;
		json->is_over = json->packed == NULL && strcmp(text->data + begin, "\\.") == 0;
	} while (json->is_over || is_blank(text->data + begin, text->len - begin));
	record_out->row = ++json->rows;
	return true;
}

/* --- keys -------------------------------------------------------------------------------- */

static bool
is_named(const tsurugi_json_key *key, const char *name, size_t bytes)
{
	return strncmp(key->name, name, bytes) == 0 && key->name[bytes] == '\0';
}

static tsurugi_json_key *
key_named(List **keys, int expected, const char *name, size_t bytes, const char *file_name)
{
	tsurugi_json_key *key;
	ListCell *cell;

	/* most lines have the same keys, in the same order */
	if (expected < list_length(*keys) && is_named(list_nth(*keys, expected), name, bytes))
		return list_nth(*keys, expected);
	foreach (cell, *keys)
		if (is_named(lfirst(cell), name, bytes))
			return lfirst(cell);
	if (list_length(*keys) == TG_FILE_COLUMNS_MAX)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
						errmsg("file \"%s\" has more than %d columns", file_name, TG_FILE_COLUMNS_MAX)));
	key = palloc0(sizeof(*key));
	key->name = pnstrdup(name, bytes);
	*keys = lappend(*keys, key);
	return key;
}

static unsigned
kind_of(const tsurugi_json_part *part)
{
	char *end;

	switch (part->kind)
	{
		case JSON_TOKEN_STRING:
			return TSURUGI_JSON_STRING;
		case JSON_TOKEN_TRUE:
		case JSON_TOKEN_FALSE:
			return TSURUGI_JSON_BOOLEAN;
		case JSON_TOKEN_NULL:
			return TSURUGI_JSON_NULL;
		case JSON_TOKEN_OBJECT_START:
			return TSURUGI_JSON_OBJECT;
		case JSON_TOKEN_ARRAY_START:
			return TSURUGI_JSON_ARRAY;
		default:
			errno = 0;
			(void) strtoll(part->text, &end, 10);
			return *end == '\0' && errno == 0 ? TSURUGI_JSON_INTEGER : TSURUGI_JSON_NUMBER;
	}
}

/* An integer of so many bytes has 64 bits. */
#define INTEGER_BYTES 18

static unsigned
kind_of_number(const char *text, size_t bytes)
{
	tsurugi_json_part part = {.kind = JSON_TOKEN_NUMBER};
	size_t at = 0;

	while (at < bytes && ((text[at] >= '0' && text[at] <= '9') || text[at] == '-'))
		at++;
	if (at < bytes || bytes <= INTEGER_BYTES)
		return at < bytes ? TSURUGI_JSON_NUMBER : TSURUGI_JSON_INTEGER;
	part.text = pnstrdup(text, bytes);
	return kind_of(&part);
}

static unsigned
kind_of_member(const char *line, const tg_json_member *member)
{
	static const unsigned kinds[] = {[TG_JSON_STRING] = TSURUGI_JSON_STRING, [TG_JSON_TRUE] = TSURUGI_JSON_BOOLEAN,
									 [TG_JSON_FALSE] = TSURUGI_JSON_BOOLEAN, [TG_JSON_NULL] = TSURUGI_JSON_NULL,
									 [TG_JSON_OBJECT] = TSURUGI_JSON_OBJECT, [TG_JSON_ARRAY] = TSURUGI_JSON_ARRAY};

	return member->kind == TG_JSON_NUMBER ? kind_of_number(line + member->begin, member->bytes) : kinds[member->kind];
}

static void
add_key(const tsurugi_json *json, List **keys, int expected, const char *name, size_t bytes, unsigned kind)
{
	tsurugi_json_key *key = key_named(keys, expected, name, bytes, json->name);

	key->kinds |= kind;
	key->count += key->row != json->rows;
	key->row = json->rows;
}

/* Those of a line that the scanner takes, which is most of them; false: it does not. */
static bool
add_scanned_keys(const tsurugi_json *json, const StringInfoData *line, List **keys, MemoryContext memory)
{
	int count = tg_json_scan((const uint8 *) line->data, (uint32) line->len, json->members, TG_FILE_COLUMNS_MAX);
	MemoryContext before;

	if (count < 0 || GetDatabaseEncoding() != PG_UTF8)
		return false;
	before = MemoryContextSwitchTo(memory);
	for (int i = 0; i < count; i++)
	{
		const tg_json_member *member = &json->members[i];

		add_key(json, keys, i, line->data + member->name, member->name_bytes, kind_of_member(line->data, member));
	}
	MemoryContextSwitchTo(before);
	return true;
}

/* Those of a line; keys are kept in the memory of their list. */
static void
add_keys(const tsurugi_json *json, const StringInfoData *line, List **keys, MemoryContext memory)
{
	tsurugi_json_parts parts;
	JsonLexContext *lex;
	MemoryContext before;
	char *text;

	if (pg_encoding_verifymbstr(PG_UTF8, line->data, line->len) != line->len)
		return;
	if (add_scanned_keys(json, line, keys, memory))
		return;
	text = pg_any_to_server(line->data, line->len, PG_UTF8);
	if (tsurugi_json_parse(text, (int) strlen(text), &parts, &lex) != JSON_SUCCESS ||
		!tsurugi_json_is_object(text, (int) strlen(text)))
		return;
	before = MemoryContextSwitchTo(memory);
	for (int i = 0; i < parts.count; i++)
		add_key(json, keys, i, parts.parts[i].name, strlen(parts.parts[i].name), kind_of(&parts.parts[i]));
	MemoryContextSwitchTo(before);
}

List *
tsurugi_json_keys(tsurugi_json *json, List *keys, int64 *rows_io)
{
	MemoryContext memory = CurrentMemoryContext;
	MemoryContext line_memory = AllocSetContextCreate(memory, "NDJSON line", ALLOCSET_DEFAULT_SIZES);
	tsurugi_json_record record;
	StringInfoData line;

	initStringInfo(&line);
	json->members = palloc(sizeof(*json->members) * TG_FILE_COLUMNS_MAX);
	while (tsurugi_json_next(json, &line, &record))
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(line_memory);
		add_keys(json, &line, &keys, memory);
		MemoryContextSwitchTo(memory);
		MemoryContextReset(line_memory);
		resetStringInfo(&line);
	}
	*rows_io += json->rows;
	pfree(line.data);
	pfree(json->members);
	MemoryContextDelete(line_memory);
	end(json);
	begin(json);
	return keys;
}

/* --- columns ----------------------------------------------------------------------------- */

static bool
has_column(Relation relation, const char *name)
{
	TupleDesc descriptor = RelationGetDescr(relation);

	for (int i = 0; i < descriptor->natts; i++)
		if (!TupleDescAttr(descriptor, i)->attisdropped &&
			strcmp(NameStr(TupleDescAttr(descriptor, i)->attname), name) == 0)
			return true;
	return false;
}

List *
tsurugi_json_columns(Relation relation, const char *name, const List *keys, List *columns)
{
	List *named = NIL;
	ListCell *cell;

	foreach (cell, keys)
	{
		const tsurugi_json_key *key = lfirst(cell);

		if (!has_column(relation, key->name))
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" of file \"%s\" does not exist in relation \"%s\"", key->name, name,
								   RelationGetRelationName(relation))));
		if (columns != NIL && !list_member(columns, makeString(key->name)))
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" of file \"%s\" is not in the list of columns", key->name, name)));
		named = lappend(named, makeString(key->name));
	}
	return columns != NIL ? columns : named;
}
