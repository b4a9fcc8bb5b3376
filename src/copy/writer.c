/*
 * writer.c
 *	  Rows of PostgreSQL into a file in Parquet or Arrow.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "runtime/format/codec.h"
#include "src/base/settings.h"
#include "src/copy/datum.h"

#define BLOCK_BYTES (64 * 1024 * 1024)
#define PARQUET_ROWS 131072 /* of a block, unless the user says how many */
#define ARROW_ROWS 65536

struct tsurugi_writer
{
	MemoryContext memory; /* of the file: it has this, too */
	MemoryContext row_memory;
	tsurugi_target *target;
	tg_file_target sink;
	tg_columnar_out *file;
	tg_columnar_block *block;
	int column_count;
	tsurugi_written_column *columns;
};

/* --- what the engine's writer calls: errors go past it, which holds nothing -------------- */

static bool
append(void *writer, const void *data, size_t bytes)
{
	tsurugi_target_write(((tsurugi_writer *) writer)->target, data, bytes);
	return true;
}

static void *
resize(void *writer, void *memory, size_t old_bytes, size_t bytes)
{
	return tsurugi_format_resize(((tsurugi_writer *) writer)->memory, memory, old_bytes, bytes);
}

/* --- errors ------------------------------------------------------------------------------- */

static void
fail_writing(tg_status status)
{
	if (status == TG_TOO_LARGE)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("a block of the file would be too long"),
						errhint("Set option row_group_rows to a smaller number.")));
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
					errdetail("A block of the file needs more than tsurugi_fdw.batch_memory."),
					errhint("Set option row_group_rows to a smaller number, or increase tsurugi_fdw.batch_memory.")));
}

static void
check_status(tg_status status)
{
	if (status != TG_OK)
		fail_writing(status);
}

void
tsurugi_writer_check(TupleDesc descriptor, tsurugi_format format)
{
	if (descriptor->natts == 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a file in %s has at least one column", tsurugi_format_name(format))));
	for (int i = 0; i < descriptor->natts; i++)
		for (int j = 0; j < i; j++)
			if (strcmp(NameStr(TupleDescAttr(descriptor, i)->attname),
					   NameStr(TupleDescAttr(descriptor, j)->attname)) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column name \"%s\" is not unique", NameStr(TupleDescAttr(descriptor, i)->attname)),
						 errhint("Columns of a file in %s are found by their names; use AS.",
								 tsurugi_format_name(format))));
}

/* --- files -------------------------------------------------------------------------------- */

tsurugi_writer *
tsurugi_writer_begin(MemoryContext parent, TupleDesc descriptor, tsurugi_target *target,
					 const tsurugi_copy_options *written)
{
	MemoryContext memory = AllocSetContextCreate(parent, "columnar file", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);
	tsurugi_writer *writer = palloc0(sizeof(*writer));
	tg_file_column *columns = palloc0(sizeof(*columns) * descriptor->natts);
	bool is_arrow = written->format == TSURUGI_FORMAT_ARROW;
	int block_rows = is_arrow ? ARROW_ROWS : PARQUET_ROWS;
	tg_file_source block_memory;
	int codec = is_arrow ? TG_CODEC_NONE : TG_CODEC_SNAPPY;
	const tg_columnar_options options = {.codec = (uint8) (written->codec >= 0 ? written->codec : codec),
										 .stream = written->stream,
										 .block_rows =
											 (uint32) (written->group_rows > 0 ? written->group_rows : block_rows),
										 .block_bytes = BLOCK_BYTES,
										 .created_by = "tsurugi_fdw version 1.0"};

	writer->memory = memory;
	writer->row_memory = AllocSetContextCreate(memory, "COPY row", ALLOCSET_DEFAULT_SIZES);
	writer->target = target;
	writer->columns = palloc0(sizeof(*writer->columns) * descriptor->natts);
	writer->column_count = descriptor->natts;
	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		columns[i].name =
			pg_server_to_any(NameStr(attribute->attname), (int) strlen(NameStr(attribute->attname)), PG_UTF8);
		tsurugi_written_column_init(&writer->columns[i], attribute->atttypid, attribute->atttypmod, is_arrow,
									&columns[i]);
	}
	writer->sink = (tg_file_target){.write = append,
									.resize = resize,
									.free = tsurugi_format_free,
									.argument = writer,
									.memory_max = (size_t) tsurugi_batch_memory_kb * 1024};
	block_memory = (tg_file_source){
		.resize = resize, .free = tsurugi_format_free, .argument = writer, .memory_max = writer->sink.memory_max};
	check_status(tg_columnar_create(is_arrow ? TG_FORMAT_ARROW : TG_FORMAT_PARQUET, &writer->sink, &options, columns,
									(unsigned) descriptor->natts, &writer->file));
	check_status(tg_columnar_block_create(writer->file, &block_memory, &writer->block));
	tg_columnar_fill(writer->file, writer->block);
	MemoryContextSwitchTo(before);
	return writer;
}

void
tsurugi_writer_put(tsurugi_writer *writer, TupleTableSlot *slot)
{
	MemoryContext before = MemoryContextSwitchTo(writer->row_memory);

	slot_getallattrs(slot);
	for (int i = 0; i < writer->column_count; i++)
		if (slot->tts_isnull[i])
			check_status(tg_columnar_put_null(writer->file, (unsigned) i));
		else
			check_status(tsurugi_write_datum(writer->file, (unsigned) i, &writer->columns[i], slot->tts_values[i]));
	if (tg_columnar_put_row(writer->file))
		check_status(tg_columnar_write(writer->file, writer->block));
	MemoryContextSwitchTo(before);
	MemoryContextReset(writer->row_memory);
}

uint64
tsurugi_writer_finish(tsurugi_writer *writer)
{
	uint64_t bytes;

	check_status(tg_columnar_write(writer->file, writer->block));
	check_status(tg_columnar_finish(writer->file, &bytes));
	tg_columnar_out_free(writer->file);
	MemoryContextDelete(writer->memory);
	return bytes;
}
