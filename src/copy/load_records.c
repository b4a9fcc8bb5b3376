/*
 * load_records.c
 *	  Files of a load or a batch, read by groups of records.
 */
#include "postgres.h"

#include "src/copy/load_records.h"

#include "commands/copyfrom_internal.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"

#include "runtime/base/atomic.h"
#include "src/copy/copy.h"
#include "src/copy/json_in.h"
#include "src/copy/load_csv.h"
#include "src/copy/load_options.h"
#include "src/copy/progress.h"

struct tsurugi_records
{
	tsurugi_csv *csv; /* the file is one of the three */
	tsurugi_rows *columnar;
	tsurugi_json *json;
	List *columns;
	List *options;
	int64 rows; /* that have been read, of a columnar one */
};

static List *
encoding_option(const char *encoding)
{
	return list_make1(makeDefElem("encoding", (Node *) makeString(pstrdup(encoding)), -1));
}

tsurugi_records *
tsurugi_records_open(const tsurugi_load *load, const tsurugi_load_file *file)
{
	tsurugi_records *records = palloc0(sizeof(*records));

	records->columns = file->columns;
	switch (file->format)
	{
		case TSURUGI_FORMAT_CSV:
			records->csv = tsurugi_csv_open(load, file);
			records->options = tsurugi_load_csv_options(load);
			break;
		case TSURUGI_FORMAT_NDJSON:
			records->json = tsurugi_json_open(file->name, 0);
			records->options = encoding_option(GetDatabaseEncodingName());
			break;
		default:
			records->columnar = tsurugi_rows_open(tsurugi_load_relation(load, file), file->name, file->format,
												  file->columns, file->sources);
			records->columns = tsurugi_rows_columns(records->columnar);
			records->options = encoding_option("UTF8");
	}
	return records;
}

List *
tsurugi_records_columns(const tsurugi_records *records)
{
	return records->columns;
}

List *
tsurugi_records_options(const tsurugi_records *records)
{
	return records->options;
}

void
tsurugi_records_close(tsurugi_records *records)
{
	if (records->csv != NULL)
		tsurugi_csv_close(records->csv);
	if (records->columnar != NULL)
		tsurugi_rows_close(records->columnar);
	if (records->json != NULL)
		tsurugi_json_close(records->json);
	pfree(records);
}

/* --- records ---------------------------------------------------------------------------------- */

static bool
next_of_csv(tsurugi_records *records, StringInfo text, tsurugi_record *record)
{
	tsurugi_csv_record found;

	if (!tsurugi_csv_next(records->csv, text, &found))
		return false;
	*record = (tsurugi_record){.begin = found.begin,
							   .block = 1,
							   .row = found.row,
							   .byte = found.byte,
							   .lines = found.lines,
							   .end_before = tsurugi_csv_line_end(found.end_before)};
	return true;
}

static bool
next_of_json(tsurugi_records *records, StringInfo text, tsurugi_record *record)
{
	tsurugi_json_record found;

	if (!tsurugi_json_next(records->json, text, &found))
		return false;
	*record = (tsurugi_record){.begin = found.begin,
							   .block = 1,
							   .row = found.row,
							   .byte = found.byte,
							   .lines = (uint64) found.row - 1,
							   .end_before = EOL_NL};
	return true;
}

static bool
next_of_columnar(tsurugi_records *records, StringInfo text, tsurugi_record *record)
{
	*record = (tsurugi_record){.begin = text->len,
							   .row = records->rows + 1,
							   .byte = -1,
							   .lines = (uint64) records->rows,
							   .end_before = EOL_NL};
	records->rows++;
	return tsurugi_rows_append(records->columnar, text, &record->block);
}

static bool
next_record(tsurugi_records *records, StringInfo text, tsurugi_record *record)
{
	if (records->csv != NULL)
		return next_of_csv(records, text, record);
	return records->json != NULL ? next_of_json(records, text, record) : next_of_columnar(records, text, record);
}

bool
tsurugi_records_read(tsurugi_records *records, tsurugi_group *group, int most)
{
	int count = 0;

	resetStringInfo(&group->text);
	while (count < Min(most, TSURUGI_GROUP_ROWS) && group->text.len < TSURUGI_GROUP_BYTES &&
		   next_record(records, &group->text, &group->records[count]))
		group->records[count++].end = group->text.len;
	group->count = count;
	return count > 0;
}

/* --- how far it is ---------------------------------------------------------------------------- */

tsurugi_records_place
tsurugi_records_place_behind(const tsurugi_load_file *file, const tsurugi_group *group)
{
	const tsurugi_record *last = group != NULL ? &group->records[group->count - 1] : NULL;
	int64 bytes;

	if (last == NULL)
		return (tsurugi_records_place){file->bytes, file->blocks, 1};
	bytes = last->byte;
	if (bytes < 0)
		bytes = (int64) ((double) file->bytes * (double) last->row / (double) Max(file->rows, 1));
	return (tsurugi_records_place){Min(bytes, file->bytes), last->block - 1, 0};
}

tsurugi_records_place
tsurugi_records_move(tsurugi_records_place *place, tsurugi_records_place to)
{
	tsurugi_records_place from = *place;

	*place = to;
	return (tsurugi_records_place){to.bytes - from.bytes, to.blocks - from.blocks, to.files - from.files};
}

void
tsurugi_records_note(const tsurugi_records_place *more)
{
	tg_batch_progress *progress = tsurugi_batch_progress();

	tg_fetch_add_relaxed(&progress->bytes, (uint64) more->bytes);
	tg_fetch_add_relaxed(&progress->blocks, (uint64) more->blocks);
	tg_fetch_add_relaxed(&progress->files, (uint64) more->files);
}
