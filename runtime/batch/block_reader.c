/*
 * block_reader.c
 *	  The rows of a block of a file, as a seat of a loader reads them.
 *
 * A file is opened by its name again, because the requester's descriptor is of another process.  It
 * has to be the file that the requester has looked at, in all that a new version would change.  Its
 * owner may deceive that, so the types of its columns are compared, too: memory is read by them.
 * It is read, never mapped, so a file that is cut short meanwhile is an error and not a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/batch/loader_internal.h"

#define NS_PER_S 1000000000
#define STRINGS_LEAST 4096

/* --- the source ------------------------------------------------------------------------------- */

static bool
read_file(void *argument, uint64_t offset, void *into, size_t bytes)
{
	const tg_loader_seat *seat = argument;
	const tg_loader_file *file = &seat->loader->files[seat->reader.file];
	char *at = into;

	if (file->contents != NULL)
	{
		tg_assert(offset <= file->bytes && bytes <= file->bytes - offset);
		memcpy(into, (const char *) file->contents + offset, bytes);
		return true;
	}

	while (bytes > 0)
	{
		ssize_t count;

		if (!tg_batch_is_running(&seat->loader->tree))
			return false; /* a file may have very many parts, and nobody looks at the result */
		count = pread(seat->reader.descriptor, at, bytes, (off_t) offset);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		at += count;
		offset += (uint64_t) count;
		bytes -= (size_t) count;
	}
	return true;
}

static void *
resize_memory(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	return realloc(memory, bytes);
}

static void
free_memory(void *argument, void *memory)
{
	free(memory);
}

/* --- files ------------------------------------------------------------------------------------ */

void
tg_block_reader_close(tg_block_reader *reader)
{
	tg_columnar_close(&reader->columnar);
	if (reader->csv != NULL)
		tg_csv_reader_free(reader->csv);
	if (reader->json != NULL)
		tg_json_reader_free(reader->json);
	free(reader->data);
	if (reader->descriptor >= 0)
		(void) close(reader->descriptor);
	free(reader->values);
	free(reader->strings.data);
	*reader = (tg_block_reader){.descriptor = -1};
}

static bool
is_as_seen(const tg_loader_file *file, const struct stat *status)
{
	return S_ISREG(status->st_mode) && (uint64_t) status->st_size == file->bytes &&
		   (uint64_t) status->st_dev == file->device && (uint64_t) status->st_ino == file->inode &&
		   status->st_mtim.tv_sec * (int64_t) NS_PER_S + status->st_mtim.tv_nsec == file->changed_ns;
}

static tg_status
no_memory(tg_loader_report *report)
{
	report->status = TG_NO_MEMORY;
	return tg_loader_fail(report, TG_LOADER_STATUS);
}

static tg_status
open_texts(tg_block_reader *reader, const tg_loader_file *file, tg_loader_report *report)
{
	const tg_csv_format *format = &file->csv->format;
	const tg_json_format json = {
		.columns = format->columns, .names = file->csv->names, .column_count = format->column_count};
	tg_status status;

	reader->values = calloc(file->cell_count, sizeof(tg_file_values));
	if (reader->values == NULL)
		return no_memory(report);
	if (json.names != NULL)
		status = tg_json_reader_create(&reader->source, &json, &reader->json);
	else
		status = tg_csv_reader_create(&reader->source, format, &reader->csv);
	return status == TG_OK ? TG_OK : no_memory(report);
}

static bool
has_texts(const tg_block_reader *reader)
{
	return reader->csv != NULL || reader->json != NULL;
}

/* Whether values of a cell's column are what the cell was made for. */
static bool
is_cell_as_seen(const tg_columnar *columnar, const tg_cell *cell)
{
	tg_file_shape shape;

	if (cell->source >= tg_columnar_column_count(columnar))
		return false;
	shape = tg_file_shape_of(tg_columnar_column(columnar, cell->source));
	return memcmp(&shape, &cell->seen, sizeof(shape)) == 0;
}

static tg_status
open_columnar(tg_block_reader *reader, const tg_loader_file *file, tg_loader_report *report)
{
	if (tg_columnar_open(&reader->columnar, file->format, &reader->source, &report->fault) != TG_OK)
		return tg_loader_fail(report, TG_LOADER_FILE);
	reader->values = calloc(tg_columnar_column_count(&reader->columnar), sizeof(tg_file_values));
	if (reader->values == NULL)
		return no_memory(report);
	for (unsigned i = 0; i < file->cell_count; i++)
	{
		if (!is_cell_as_seen(&reader->columnar, &file->cells[i]))
			return tg_loader_fail(report, TG_LOADER_CHANGED);
		tg_columnar_want(&reader->columnar, file->cells[i].source);
	}
	return tg_columnar_block_count(&reader->columnar) == file->block_count ? TG_OK
																		   : tg_loader_fail(report, TG_LOADER_CHANGED);
}

static tg_status
open_descriptor(tg_block_reader *reader, const tg_loader_file *file, tg_loader_report *report)
{
	struct stat status;

	reader->descriptor = open(file->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (reader->descriptor < 0 || fstat(reader->descriptor, &status) != 0)
	{
		report->error_number = errno;
		return tg_loader_fail(report, TG_LOADER_OPEN);
	}
	return is_as_seen(file, &status) ? TG_OK : tg_loader_fail(report, TG_LOADER_CHANGED);
}

static tg_status
open_file(tg_loader_seat *seat, tg_loader_report *report)
{
	const tg_loader *loader = seat->loader;
	const tg_loader_file *file = &loader->files[seat->seat->file];
	tg_block_reader *reader = &seat->reader;
	tg_status status = TG_OK;

	reader->file = seat->seat->file;
	reader->is_open = true;
	if (file->contents == NULL)
		status = open_descriptor(reader, file, report);
	if (status != TG_OK)
		return status;
	reader->source = (tg_file_source){.bytes = file->bytes,
									  .read = read_file,
									  .resize = resize_memory,
									  .free = free_memory,
									  .argument = seat,
									  .memory_max = loader->config.memory_max / loader->seat_count};
	return file->csv != NULL ? open_texts(reader, file, report) : open_columnar(reader, file, report);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* All of it is read. */
static tg_status
begin_texts(tg_loader_seat *seat, tg_loader_report *report)
{
	const tg_loader_file *file = &seat->loader->files[seat->seat->file];
	const tg_csv_block *block = &file->csv->blocks[seat->seat->block];
	tg_block_reader *reader = &seat->reader;

	if (block->bytes > reader->source.memory_max)
		return no_memory(report);
	if (block->bytes > reader->room)
	{
		free(reader->data);
		reader->room = 0;
		reader->data = malloc(block->bytes + (size_t) TG_CSV_SLACK);
		if (reader->data == NULL)
			return no_memory(report);
		reader->room = block->bytes;
	}
	memset(reader->data + block->bytes, 0, TG_CSV_SLACK);
	if (!read_file(seat, block->offset, reader->data, block->bytes))
	{
		(void) tg_file_fault_note(&report->fault, TG_IO, block->offset, "it could not be read");
		return tg_loader_fail(report, TG_LOADER_FILE);
	}
	if (reader->json != NULL)
		tg_json_begin(reader->json, reader->data, block->bytes, block->lines);
	else
		tg_csv_begin(reader->csv, reader->data, block->bytes, block->lines,
					 seat->seat->block == 0 && !file->csv->has_header);
	reader->rows_before = block->rows;
	return TG_OK;
}

static void
begin_columnar(tg_loader_seat *seat)
{
	tg_block_reader *reader = &seat->reader;

	tg_assert(reader->counted <= seat->seat->block); /* a seat's blocks of a file ascend */
	for (; reader->counted < seat->seat->block; reader->counted++)
		reader->counted_rows += tg_columnar_block_rows(&reader->columnar, reader->counted);
	reader->rows_before = reader->counted_rows;
	tg_columnar_seek(&reader->columnar, seat->seat->block);
}

static tg_status
begin_block(tg_loader_seat *seat, tg_loader_report *report)
{
	tg_block_reader *reader = &seat->reader;
	tg_status status = TG_OK;

	reader->count = 0;
	if (has_texts(reader))
		status = begin_texts(seat, report);
	else
		begin_columnar(seat);
	reader->block_rows_before = reader->rows_before;
	reader->in_block = status == TG_OK;
	return status;
}

static tg_status
read_values(tg_block_reader *reader, tg_loader_report *report)
{
	if (reader->csv != NULL)
		return tg_csv_read(reader->csv, reader->values, &reader->count);
	if (reader->json != NULL)
	{
		reader->count = tg_json_read(reader->json, reader->values);
		return TG_OK;
	}
	if (tg_columnar_read(&reader->columnar, reader->values, &reader->count, &report->fault) != TG_OK)
		return tg_loader_fail(report, TG_LOADER_FILE);
	return TG_OK;
}

tg_status
tg_block_read(tg_loader_seat *seat, tg_loader_report *report)
{
	tg_block_reader *reader = &seat->reader;
	tg_status status = TG_OK;

	if (reader->is_open && reader->file != seat->seat->file)
		tg_block_reader_close(reader);
	if (!reader->is_open)
		status = open_file(seat, report);
	if (status == TG_OK && !reader->in_block)
		status = begin_block(seat, report);
	if (status != TG_OK)
		return status;
	reader->rows_before += reader->count;
	tg_store_relaxed(&seat->shown_rows, reader->rows_before - reader->block_rows_before);
	status = read_values(reader, report);
	if (status != TG_OK)
		return status;
	reader->in_block = reader->count > 0;
	return reader->in_block ? TG_OK : TG_NOT_FOUND;
}

/* --- records of texts ------------------------------------------------------------------------- */

static const tg_csv_record *
records_of(const tg_block_reader *reader)
{
	return reader->csv != NULL ? tg_csv_records(reader->csv) : tg_json_records(reader->json);
}

void
tg_block_locate(const tg_loader_seat *seat, unsigned number, tg_loader_row *row)
{
	const tg_block_reader *reader = &seat->reader;
	const tg_loader_csv *csv = seat->loader->files[seat->seat->file].csv;
	const tg_csv_record *record;

	if (csv == NULL)
		return;
	record = &records_of(reader)[number];
	row->offset = csv->blocks[seat->seat->block].offset + record->begin;
	row->bytes = record->end - record->begin;
	row->lines = record->lines;
	row->is_first = row->row == 1 && !csv->has_header;
}

void
tg_block_note_odd(tg_loader_seat *seat)
{
	const tg_block_reader *reader = &seat->reader;

	seat->odd_count = 0;
	if (!has_texts(reader))
		return;
	for (unsigned i = 0; i < reader->count; i++)
		if (records_of(reader)[i].is_odd)
		{
			tg_loader_row *row = &seat->odd[seat->odd_count++];

			*row = (tg_loader_row){.row = reader->rows_before + i + 1, .failure = TG_LOADER_ODD};
			tg_block_locate(seat, i, row);
		}
}

bool
tg_block_reader_reserve(tg_loader_seat *seat, size_t bytes)
{
	tg_cell_memory *strings = &seat->reader.strings;
	size_t room = bytes > STRINGS_LEAST ? bytes + bytes / 2 : STRINGS_LEAST;
	unsigned char *larger;

	strings->used = 0;
	if (bytes <= strings->bytes)
		return true;
	if (bytes > seat->loader->config.memory_max / seat->loader->seat_count)
		return false;
	larger = realloc(strings->data, room);
	if (larger == NULL)
		return false;
	strings->data = larger;
	strings->bytes = room;
	return true;
}
