/*
 * load_convert.c
 *	  Records of texts that tasks of the pool could not convert: COPY reads them, and types' input
 *	  functions convert their values, in the requester.
 *
 * So what such a record becomes, and what errors say of it, are those of any COPY.  The values are
 * put into memory that the tasks reach.  Rows that may be rejected are converted in a part of the
 * transaction, which is rolled back at an error; no rows are stored here.
 */
#include "postgres.h"

#include "runtime/batch/loader.h"
#include "runtime/order/kind.h"
#include "src/copy/load_pool.h"

#include <unistd.h>

#include "access/xact.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "src/base/status_error.h"
#include "src/base/subtransaction.h"
#include "src/value/datum.h"
#include "src/copy/copy.h"
#include "src/copy/json_in.h"
#include "src/copy/load_csv.h"

typedef struct Converting
{
	const tsurugi_load *load;
	const tsurugi_load_file *file;
	const tsurugi_relation *described;
	tg_loader_row *rows;
	int count;
	int at;							/* the row in hand */
	StringInfoData text;			/* the records, one after the other, from its cursor on not given */
	int *begins;					/* of each in it */
	tsurugi_json_lines *json_lines; /* NDJSON; NULL: CSV */
	StringInfoData json_line;		/* COPY's text, made of the record */
	int json_next;					/* before this one */
	tg_value *values;				/* by row and cell */
	bool *nulls;
	MemoryContext memory; /* of the values */
	MemoryContext copy_memory;
	Datum *datums; /* of a row, by attribute */
	bool *absent;
} Converting;

static Converting *running; /* for COPY's callback */

/* --- records ---------------------------------------------------------------------------------- */

static void
append_record(StringInfo text, const tsurugi_load_file *file, int descriptor, const tg_loader_row *row)
{
	size_t done = 0;

	enlargeStringInfo(text, (int) row->bytes);
	while (done < row->bytes)
	{
		ssize_t count = pread(descriptor, text->data + text->len, row->bytes - done, (off_t) (row->offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			ereport(ERROR, (errcode_for_file_access(), errmsg("could not read from file \"%s\": %m", file->name)));
		if (count == 0)
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
							errmsg("file \"%s\" has been changed since the load began", file->name)));
		text->len += (int) count;
		done += (size_t) count;
	}
	text->data[text->len] = '\0';
}

char *
tsurugi_load_record(const tsurugi_load_file *file, int descriptor, const tg_loader_row *row)
{
	StringInfoData text;

	initStringInfo(&text);
	append_record(&text, file, descriptor, row);
	return tsurugi_reject_line(text.data, text.len, PG_UTF8);
}

static void
read_records(Converting *converting)
{
	const char *contents = converting->file->contents;
	int descriptor = contents == NULL ? tsurugi_load_open_contents(converting->file) : -1;

	initStringInfo(&converting->text);
	converting->begins = palloc(sizeof(int) * (converting->count + 1));
	for (int i = 0; i < converting->count; i++)
	{
		converting->begins[i] = converting->text.len;
		if (contents != NULL)
			appendBinaryStringInfo(&converting->text, contents + converting->rows[i].offset,
								   (int) converting->rows[i].bytes);
		else
			append_record(&converting->text, converting->file, descriptor, &converting->rows[i]);
	}
	converting->begins[converting->count] = converting->text.len;
	if (contents == NULL)
		CloseTransientFile(descriptor);
}

/* Makes a line of the next record, once COPY has got all of the former one: as in load_rows.c. */
static int
give_json(void *into, int most)
{
	StringInfo line = &running->json_line;

	if (line->cursor == line->len && running->json_next < running->count)
	{
		int i = running->json_next++;
		const tsurugi_json_record place = {.row = (int64) running->rows[i].row,
										   .byte = (int64) running->rows[i].offset};

		resetStringInfo(line);
		tsurugi_json_line(running->json_lines, running->text.data + running->begins[i], (int) running->rows[i].bytes,
						  &place, line);
	}
	return tsurugi_text_give(line, into, most);
}

static int
give_records(void *into, int least, int most)
{
	if (running->json_lines != NULL)
		return give_json(into, most);
	return tsurugi_text_give(&running->text, into, most);
}

/* --- values ----------------------------------------------------------------------------------- */

/* Without the host's header. */
static Size
string_bytes(const tsurugi_relation *described, int column, const tg_string *string)
{
	if (!tg_string_is_out(string))
		return tg_string_inline_bytes(string);
	return tg_string_blob_bytes(string) - described->codecs[column].header_bytes;
}

/* The row in hand, of COPY's datums.  The task refuses a string that it cannot store. */
static void
take_row(Converting *converting)
{
	const tsurugi_load_file *file = converting->file;
	Size first = (Size) converting->at * file->cell_count;
	ListCell *cell;

	foreach (cell, file->attributes)
	{
		int i = foreach_current_index(cell);
		int attribute = lfirst_int(cell) - 1;
		const tg_cell *target = &file->cells[i];
		tg_value *value = &converting->values[first + i];

		converting->nulls[first + i] = converting->absent[attribute];
		if (converting->absent[attribute])
			continue;
		tsurugi_value(&converting->described->codecs[target->column], converting->datums[attribute], value);
		if (converting->described->kinds[target->column] == TG_KIND_STRING &&
			string_bytes(converting->described, target->column, &value->string) > target->bytes_max)
		{
			converting->rows[converting->at].cell = TG_CELL_TOO_LONG;
			converting->rows[converting->at].column = target->column;
		}
	}
}

/* Converts rows from the one in hand on, until one fails. */
static void
convert_rows(Converting *converting, CopyFromState volatile *state_out)
{
	ErrorContextCallback context = {.callback = CopyFromErrorCallback, .previous = error_context_stack};
	CopyFromState state;

	MemoryContextReset(converting->copy_memory);
	MemoryContextSwitchTo(converting->copy_memory);
	converting->text.cursor = converting->begins[converting->at];
	converting->json_next = converting->at;
	if (converting->json_lines != NULL)
		resetStringInfo(&converting->json_line);
	state = BeginCopyFrom(NULL, converting->load->relation, NULL, NULL, false, give_records, converting->file->columns,
						  converting->file->csv_options);
	*state_out = state;
	state->num_defaults = 0; /* columns without values are NULL */
	if (converting->json_lines != NULL)
		state->eol_type = EOL_NL;
	else if (!converting->rows[converting->at].is_first)
		state->eol_type = tsurugi_csv_line_end(converting->file->csv->format.dialect.end);
	context.arg = state;
	error_context_stack = &context;
	for (; converting->at < converting->count; converting->at++)
	{
		CHECK_FOR_INTERRUPTS();
		state->cur_lineno = converting->rows[converting->at].lines;
		MemoryContextSwitchTo(converting->memory);
		if (!NextCopyFrom(state, NULL, converting->datums, converting->absent))
			elog(ERROR, "COPY has not found a record at byte " UINT64_FORMAT, converting->rows[converting->at].offset);
		take_row(converting);
	}
	error_context_stack = context.previous;
	EndCopyFrom(state);
}

/* --- rejects ---------------------------------------------------------------------------------- */

static void
reject_row(Converting *converting, tsurugi_rejects *rejects, int block, const ErrorData *error, const char *column)
{
	tg_loader_row *row = &converting->rows[converting->at];
	const char *record = converting->text.data + converting->begins[converting->at];
	const tsurugi_reject rejected = {.file = converting->file->name,
									 .block = block,
									 .row = (int64) row->row,
									 .byte = (int64) row->offset,
									 .column = error->column_name != NULL ? error->column_name : column,
									 .code = error->sqlerrcode,
									 .message = error->message,
									 .record = tsurugi_reject_line(record, (int) row->bytes, PG_UTF8)};

	row->is_rejected = true;
	tsurugi_rejects_add(rejects, &rejected);
}

/* Converts rows up to the first that does not fit, which is rejected. */
static void
convert_some(Converting *converting, tsurugi_rejects *rejects, int block)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	CopyFromState volatile state = NULL;
	ErrorData *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		convert_rows(converting, &state);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		if (!tsurugi_rejects_code(geterrcode()))
			tsurugi_subtransaction_raise();
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error == NULL)
		return;
	reject_row(converting, rejects, block, error, state != NULL ? state->cur_attname : NULL);
	converting->at++;
}

/* --- memory of the tasks ---------------------------------------------------------------------- */

/* Bytes of a value outside of it, as they are stored. */
static Size
outside_bytes(const Converting *converting, Size i)
{
	int column = converting->file->cells[i % converting->file->cell_count].column;

	if (converting->nulls[i] || converting->described->kinds[column] != TG_KIND_STRING ||
		!tg_string_is_out(&converting->values[i].string))
		return 0;
	return MAXALIGN(tg_string_blob_bytes(&converting->values[i].string));
}

/* Hands all values over. */
static void
give_values(Converting *converting, const tg_loader_need *need)
{
	Size cells = (Size) converting->count * converting->file->cell_count;
	Size bytes = cells * sizeof(tg_value) + MAXALIGN(cells);
	tg_value *values;
	bool *nulls;
	char *at;

	for (Size i = 0; i < cells; i++)
		bytes += outside_bytes(converting, i);
	values = tsurugi_load_pool_room(need, bytes, converting->load->relation);
	nulls = (bool *) (values + cells);
	at = (char *) nulls + MAXALIGN(cells);
	memcpy(values, converting->values, cells * sizeof(tg_value));
	memcpy(nulls, converting->nulls, cells);
	for (Size i = 0; i < cells; i++)
	{
		Size outside = outside_bytes(converting, i);
		tg_string *string = &values[i].string;
		int column = converting->file->cells[i % converting->file->cell_count].column;

		if (outside == 0)
			continue;
		memcpy(at, string->blob, tg_string_blob_bytes(string));
		tg_string_make_host(string, at, tg_string_blob_bytes(string),
							converting->described->codecs[column].header_bytes);
		at += outside;
	}
	for (int i = 0; i < converting->count; i++)
	{
		converting->rows[i].values = values + (Size) i * converting->file->cell_count;
		converting->rows[i].nulls = nulls + (Size) i * converting->file->cell_count;
	}
}

/* --- rows of a need --------------------------------------------------------------------------- */

static void
convert(Converting *converting, tsurugi_rejects *rejects, const tg_loader_need *need)
{
	CopyFromState volatile state;
	int natts = RelationGetDescr(converting->load->relation)->natts;
	Size cells;

	read_records(converting);
	if (converting->file->format == TSURUGI_FORMAT_NDJSON)
	{
		initStringInfo(&converting->json_line);
		converting->json_lines = tsurugi_json_lines_begin(converting->file->name, converting->load->relation,
														  converting->file->attributes, NIL, false);
	}
	cells = (Size) converting->count * converting->file->cell_count;
	converting->values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(tg_value) * cells);
	converting->nulls = palloc(cells);
	memset(converting->nulls, true, cells);
	converting->datums = palloc0(sizeof(Datum) * natts);
	converting->absent = palloc0(natts);
	while (converting->at < converting->count)
		if (converting->load->skips)
			convert_some(converting, rejects, (int) need->block + 1);
		else
			convert_rows(converting, &state);
	MemoryContextSwitchTo(converting->memory);
	give_values(converting, need);
}

void
tsurugi_load_convert_rows(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need)
{
	MemoryContext before = CurrentMemoryContext;
	Converting converting = {.load = load,
							 .file = list_nth(load->files, (int) need->file),
							 .described = tsurugi_relation_get(load->relation),
							 .rows = need->rows,
							 .count = (int) need->row_count};
	Converting *outer = running;

	converting.memory = AllocSetContextCreate(CurrentMemoryContext, "odd rows", ALLOCSET_DEFAULT_SIZES);
	converting.copy_memory = AllocSetContextCreate(converting.memory, "COPY of odd rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(converting.memory);
	running = &converting;
	PG_TRY();
	{
		convert(&converting, rejects, need);
	}
	PG_FINALLY();
	{
		running = outer;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(before);
	MemoryContextDelete(converting.memory);
}
