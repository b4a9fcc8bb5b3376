/*
 * load_csv.c
 *	  Files in CSV, record by record.
 */
#include "postgres.h"

#include "src/copy/load_csv.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "commands/copyfrom_internal.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "src/copy/copy.h"
#include "src/copy/load_options.h"
#include "src/copy/packed_file.h"
#include "src/copy/server_file.h"
#include "src/copy/unpacked.h"

struct tsurugi_csv
{
	const char *name;
	int descriptor;
	tsurugi_packed_file *contents;
	tg_csv_cutter cutter;
	uint8 *data; /* read, and not yet passed over: [at, count) */
	size_t at;
	size_t count;
	bool is_at_end; /* of the file */
	bool has_header;
};

/* --- dialects -------------------------------------------------------------------------------- */

EolType
tsurugi_csv_line_end(tg_csv_end end)
{
	static const EolType ends[] = {[TG_CSV_END_UNKNOWN] = EOL_UNKNOWN,
								   [TG_CSV_END_NL] = EOL_NL,
								   [TG_CSV_END_CR] = EOL_CR,
								   [TG_CSV_END_CRNL] = EOL_CRNL};

	return ends[end];
}

tg_csv_dialect
tsurugi_csv_dialect(const CopyFormatOptions *options)
{
	int encoding = tsurugi_copy_encoding(options);

	/* a part of a character may look like any byte of ASCII there */
	if (PG_ENCODING_IS_CLIENT_ONLY(encoding))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a load that examines single rows is not supported for CSV in encoding \"%s\"",
							   pg_encoding_to_char(encoding))));
	if (!options->csv_mode)
		return (tg_csv_dialect){.delimiter = (uint8) options->delim[0], .quote = '\\', .escape = '\\', .is_text = true};
	return (tg_csv_dialect){.delimiter = (uint8) options->delim[0],
							.quote = (uint8) options->quote[0],
							.escape = (uint8) options->escape[0]};
}

/* --- reading --------------------------------------------------------------------------------- */

/* More of the file behind what is at hand. */
static void
read_more(tsurugi_csv *csv)
{
	size_t count;

	memmove(csv->data, csv->data + csv->at, csv->count - csv->at);
	csv->count -= csv->at;
	csv->at = 0;
	count = tsurugi_packed_file_read(csv->contents, csv->data + csv->count, TSURUGI_COPY_BUFFER - csv->count);
	csv->is_at_end = count == 0;
	csv->count += count;
}

/* Passes over a record, or the rest of one.  False: there is none. */
static bool
pass_record(tsurugi_csv *csv, StringInfo text)
{
	uint64 rows = csv->cutter.rows;

	while (csv->cutter.rows == rows)
	{
		/* stops at the next record that begins behind this place */
		size_t count = tg_csv_cut(&csv->cutter, csv->data + csv->at, csv->count - csv->at, csv->is_at_end,
								  csv->cutter.position + 1);

		appendBinaryStringInfo(text, (const char *) csv->data + csv->at, (int) count);
		csv->at += count;
		if (csv->cutter.is_over || (csv->is_at_end && csv->at == csv->count))
			return csv->cutter.rows > rows;
		if (csv->cutter.rows == rows)
			read_more(csv);
	}
	return true;
}

bool
tsurugi_csv_next(tsurugi_csv *csv, StringInfo text, tsurugi_csv_record *record_out)
{
	record_out->begin = text->len;
	record_out->byte = (int64) csv->cutter.position;
	record_out->row = (int64) csv->cutter.rows + 1 - csv->has_header;
	record_out->lines = csv->cutter.lines;
	record_out->end_before = (tg_csv_end) csv->cutter.dialect.end;
	return pass_record(csv, text);
}

/* --- whole files ------------------------------------------------------------------------------ */

/* A file that COPY reads by a callback, of a statement, or of one in a trigger of it. */
typedef struct Given
{
	struct Given *outer;
	tsurugi_packed_file *contents;
} Given;

static Given *given;

static int
give_file(void *into, int least, int most)
{
	int bytes = 0;

	while (bytes < least)
	{
		size_t count = tsurugi_packed_file_read(given->contents, (char *) into + bytes, most - bytes);

		if (count == 0)
			break;
		bytes += (int) count;
	}
	return bytes;
}

/* The names in a file's first line. */
typedef struct Header
{
	const tsurugi_load_file *file;
	List *names;
} Header;

/* What COPY is asked for while it reads a file. */
typedef uint64 use_of_copy(CopyFromState state, void *argument);

static uint64
read_whole(const tsurugi_load *load, const tsurugi_load_file *file, ParseState *parse, List *columns, List *options,
		   use_of_copy *use, void *argument)
{
	int descriptor = tsurugi_load_reopen(file);
	Given reading = {.outer = given, .contents = tsurugi_packed_file_begin(file->name, descriptor)};
	volatile uint64 result = 0;

	given = &reading;
	PG_TRY();
	{
		CopyFromState state =
			BeginCopyFrom(parse, tsurugi_load_relation(load, file), NULL, NULL, false, give_file, columns, options);

		result = use(state, argument);
		EndCopyFrom(state);
	}
	PG_FINALLY();
	{
		given = reading.outer;
	}
	PG_END_TRY();
	tsurugi_packed_file_end(reading.contents);
	CloseTransientFile(descriptor);
	return result;
}

static uint64
take_header(CopyFromState state, void *argument)
{
	const tsurugi_load_file *file = ((Header *) argument)->file;
	char **fields;
	int count = 0;

	if (!NextCopyFromRawFields(state, &fields, &count))
		count = 0;
	for (int i = 0; i < count; i++)
	{
		if (fields[i] == NULL)
			ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
							errmsg("column %d of file \"%s\" has no name", i + 1, file->name)));
		((Header *) argument)->names = lappend(((Header *) argument)->names, makeString(pstrdup(fields[i])));
	}
	return 0;
}

List *
tsurugi_csv_header(const tsurugi_load *load, const tsurugi_load_file *file)
{
	Header header = {.file = file};
	struct stat status;

	if (tsurugi_file_stat(file->name, &status) == 0 && !S_ISREG(status.st_mode))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a regular file", file->name),
						errdetail("A file whose header has the names of its columns is read twice.")));
	(void) read_whole(load, file, NULL, NIL, tsurugi_load_csv_options(load), take_header, &header);
	return header.names;
}

static void
describe_sample(void *file)
{
	errcontext("description of file \"%s\"", ((const tsurugi_load_file *) file)->name);
}

typedef struct Sampling
{
	tsurugi_csv_take *take;
	void *argument;
} Sampling;

/* Whether the file has ended. */
static uint64
take_records(CopyFromState state, void *argument)
{
	const Sampling *sampling = argument;
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "CSV record", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);
	bool has = true;
	bool wants = true;

	while (has && wants)
	{
		char **fields;
		int count;

		has = NextCopyFromRawFields(state, &fields, &count);
		wants = !has || sampling->take(sampling->argument, fields, count);
		MemoryContextReset(memory);
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(memory);
	return !has;
}

bool
tsurugi_csv_sample(const tsurugi_load *load, const tsurugi_load_file *file, tsurugi_csv_take *take, void *argument)
{
	ErrorContextCallback context = {.callback = describe_sample, .arg = (void *) file, .previous = error_context_stack};
	Sampling sampling = {take, argument};
	List *options = NIL;
	bool is_whole;
	ListCell *cell;

	foreach (cell, tsurugi_load_csv_options(load)) /* without those that name columns */
		if (strncmp(lfirst_node(DefElem, cell)->defname, "force", strlen("force")) != 0)
			options = lappend(options, lfirst(cell));
	error_context_stack = &context;
	is_whole = read_whole(load, file, NULL, NIL, options, take_records, &sampling) != 0;
	error_context_stack = context.previous;
	return is_whole;
}

static uint64
store_rows(CopyFromState state, void *argument)
{
	return CopyFrom(state);
}

static void
describe_file(void *file)
{
	errcontext("load of file \"%s\"", ((const tsurugi_load_file *) file)->name);
}

uint64
tsurugi_load_copy_csv(const tsurugi_load *load, const tsurugi_load_file *file)
{
	ErrorContextCallback context = {.callback = describe_file, .arg = (void *) file, .previous = error_context_stack};
	List *options = lcons(tsurugi_load_text_format(load), list_copy(load->options));
	ParseState *parse;
	uint64 rows;

	if (!load->relation->rd_islocaltemp)
		PreventCommandIfReadOnly("COPY FROM");
	PreventCommandIfParallelMode("COPY FROM");
	parse = tsurugi_copy_parse_state(load->relation,
									 CopyGetAttnums(RelationGetDescr(load->relation), load->relation, file->columns));
	error_context_stack = &context;
	rows = read_whole(load, file, parse, file->columns, options, store_rows, NULL);
	error_context_stack = context.previous;
	free_parsestate(parse);
	return rows;
}

/* --- files ------------------------------------------------------------------------------------ */

static StringInfo given_header;

static int
give_header(void *into, int least, int most)
{
	int bytes = Min(most, given_header->len - given_header->cursor);

	memcpy(into, given_header->data + given_header->cursor, bytes);
	given_header->cursor += bytes;
	return bytes;
}

void
tsurugi_csv_check_header(const tsurugi_load *load, const tsurugi_load_file *file, StringInfo header)
{
	List *options = lcons(tsurugi_load_text_format(load), list_copy(load->options));
	CopyFromState state;
	char **fields;
	int count;

	given_header = header;
	state =
		BeginCopyFrom(NULL, tsurugi_load_relation(load, file), NULL, NULL, false, give_header, file->columns, options);
	(void) NextCopyFromRawFields(state, &fields, &count);
	EndCopyFrom(state);
}

tsurugi_csv *
tsurugi_csv_open(const tsurugi_load *load, const tsurugi_load_file *file)
{
	tsurugi_csv *csv = palloc0(sizeof(*csv));
	List *options = lcons(tsurugi_load_text_format(load), list_copy(load->options));
	CopyFormatOptions read = {0};
	struct stat status;

	ProcessCopyOptions(NULL, &read, true, options);
	csv->name = file->name;
	csv->cutter.dialect = tsurugi_csv_dialect(&read);
	csv->data = palloc(TSURUGI_COPY_BUFFER);
	if (file->unpacked == NULL && tsurugi_file_names_any(TSURUGI_FILE_READ))
		csv->descriptor = OpenTransientFile(file->name, O_RDONLY | PG_BINARY);
	else
		csv->descriptor = tsurugi_load_open_contents(file);
	if (csv->descriptor < 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\" for reading: %m", file->name)));
	if (fstat(csv->descriptor, &status) == 0 && S_ISDIR(status.st_mode))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is a directory", file->name)));
	csv->contents =
		tsurugi_packed_file_begin(file->unpacked != NULL ? file->unpacked->name : file->name, csv->descriptor);
	if (read.header_line != COPY_HEADER_FALSE)
	{
		StringInfoData header;

		initStringInfo(&header);
		csv->has_header = pass_record(csv, &header);
		tsurugi_csv_check_header(load, file, &header);
		pfree(header.data);
	}
	return csv;
}

uint64
tsurugi_csv_lines(const tsurugi_csv *csv)
{
	return csv->cutter.lines;
}

bool
tsurugi_csv_has_header(const tsurugi_csv *csv)
{
	return csv->has_header;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void
put_block(const tsurugi_csv *csv, const tg_csv_block *begin, tg_csv_block **blocks, uint32 *count)
{
	uint64 bytes = csv->cutter.position - begin->offset;

	if (bytes == 0)
		return;
	if (bytes > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("a record of file \"%s\" is too long", csv->name),
				 errdetail("It begins before byte " UINT64_FORMAT ".", csv->cutter.position)));
	if ((*count & (*count - 1)) == 0) /* a power of two is full */
	{
		Size room = sizeof(**blocks) * Max(*count * (Size) 2, 1);

		*blocks = *blocks == NULL ? palloc(room) : repalloc_huge(*blocks, room);
	}
	(*blocks)[*count] = *begin;
	(*blocks)[(*count)++].bytes = (uint32) bytes;
}

static tg_csv_block
begin_block(const tsurugi_csv *csv)
{
	return (tg_csv_block){
		.offset = csv->cutter.position, .rows = csv->cutter.rows - csv->has_header, .lines = csv->cutter.lines};
}

uint32
tsurugi_csv_blocks(tsurugi_csv *csv, uint64 bytes, tg_csv_block **blocks_out, tg_csv_dialect *dialect_out,
				   int64 *rows_out)
{
	tg_csv_block begin = begin_block(csv);
	uint32 count = 0;
	bool is_over = false;

	*blocks_out = NULL;
	while (!is_over)
	{
		uint64 stop = begin.offset + bytes;

		csv->at += tg_csv_cut(&csv->cutter, csv->data + csv->at, csv->count - csv->at, csv->is_at_end, stop);
		is_over = csv->cutter.is_over || (csv->is_at_end && csv->at == csv->count);
		if (is_over || (!csv->cutter.in_record && csv->cutter.position >= stop))
		{
			put_block(csv, &begin, blocks_out, &count);
			begin = begin_block(csv);
		}
		else
			read_more(csv);
	}
	if (csv->cutter.is_unfit)
		ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT), errmsg("end-of-copy marker corrupt")));
	*dialect_out = csv->cutter.dialect;
	*rows_out = (int64) (csv->cutter.rows - csv->has_header);
	return count;
}

void
tsurugi_csv_close(tsurugi_csv *csv)
{
	tsurugi_packed_file_end(csv->contents);
	CloseTransientFile(csv->descriptor);
	pfree(csv->data);
	pfree(csv);
}
