/*
 * writer.c
 *	  Rows of PostgreSQL into a file in Parquet or Arrow; rows as they are stored into one in CSV,
 *	  too.
 *
 * Rows come in a slot, or many at once as they are stored (src/exec/taker.h); then datums are made
 * only of values that have no form of their own (runtime/batch/cell_out.h).
 *
 * While this process fetches rows, and makes them values of the file, tasks of the pool encode the
 * blocks before (runtime/batch/encoder.h).  Where tables in memory cannot be reached, or the pool
 * does not run, this process encodes them.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "runtime/batch/encoder.h"
#include "runtime/exec/vectors.h"
#include "runtime/format/codec.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/sched/scheduler.h"
#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/base/status_error.h"
#include "src/copy/datum.h"
#include "src/value/datum.h"

#define BLOCK_BYTES (64 * 1024 * 1024)
#define PARQUET_ROWS 131072 /* of a block, unless the user says how many */
#define ARROW_ROWS 65536
#define CSV_ROWS 16384
#define CSV_BYTES (4 * 1024 * 1024) /* of values: a task writes a block without a pause */

struct tsurugi_writer
{
	MemoryContext memory; /* of the file: it has this, too */
	MemoryContext row_memory;
	tsurugi_target *target;
	tg_encoder *encoder;
	int column_count;
	tsurugi_written_column *columns;
	/* of rows that are taken as they are stored: */
	const tsurugi_taken *taken;
	tg_cells_out cells;
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

/* Until a block has been encoded, or anything else has happened. */
static void
wait_for_block(void *writer)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* --- errors ------------------------------------------------------------------------------- */

static void
fail_writing(tg_status status)
{
	if (status == TG_TOO_LARGE)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("a block of the file would be too long"),
						errhint("Set option row_group_rows to a smaller number.")));
	if (status != TG_NO_MEMORY)
		tsurugi_error(status, NULL);
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
					errdetail("A block of the file needs more than tsurugi_fdw.batch_memory."),
					errhint("Set option row_group_rows to a smaller number, or increase tsurugi_fdw.batch_memory.")));
}

/* Of a value that is put, or of the encoder. */
static void
check_status(const tsurugi_writer *writer, tg_status status)
{
	if (status != TG_OK)
		fail_writing(writer->encoder != NULL ? tg_encoder_status(writer->encoder, status) : status);
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

/* Values of a column that have no form, or that a file cannot have, which is an error. */
static tg_status
put_datums(void *argument, unsigned at, const tg_vectors *vectors, uint32_t first, uint32_t count)
{
	tsurugi_writer *writer = argument;
	tg_columnar_out *file = tg_encoder_file(writer->encoder);
	const tsurugi_taken *taken = &writer->taken[at];
	const char *data = vectors->data[taken->vector];
	size_t width = vectors->kinds[taken->vector] >= TG_KIND_16 ? sizeof(tg_value) : sizeof(uint64_t);
	char scratch[TSURUGI_SCRATCH_BYTES] __attribute__((aligned(8)));
	MemoryContext before = MemoryContextSwitchTo(writer->row_memory);
	tg_status status = TG_OK;

	for (uint32_t i = first; i < first + count && status == TG_OK; i++)
		if (vectors->nulls[taken->vector][i])
			status = tg_columnar_put_null(file, at);
		else
			status = tsurugi_write_datum(file, at, &writer->columns[at],
										 tsurugi_datum(taken->codec, data + i * width, scratch));
	MemoryContextSwitchTo(before);
	MemoryContextReset(writer->row_memory);
	return status;
}

/* --- files -------------------------------------------------------------------------------- */

/* One is filled, while each of the workers encodes one. */
static unsigned
blocks_at_once(void)
{
	unsigned workers = tg_worker_count();

	return Min(workers + 1, TG_ENCODER_BLOCKS_MAX);
}

/* The file's columns, and how values become theirs.  cells: of stored values; NULL: of datums. */
static tg_file_column *
describe_columns(tsurugi_writer *writer, TupleDesc descriptor, tsurugi_format format, tg_cell_out *cells)
{
	tg_file_column *columns = palloc0(sizeof(*columns) * descriptor->natts);

	writer->columns = palloc0(sizeof(*writer->columns) * descriptor->natts);
	writer->column_count = descriptor->natts;
	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		columns[i].name =
			pg_server_to_any(NameStr(attribute->attname), (int) strlen(NameStr(attribute->attname)), PG_UTF8);
		if (format == TSURUGI_FORMAT_CSV)
		{
			tsurugi_csv_out_column(&writer->taken[i], attribute->atttypid, &writer->columns[i], &columns[i], &cells[i]);
			continue;
		}
		tsurugi_written_column_init(&writer->columns[i], attribute->atttypid, attribute->atttypmod,
									format == TSURUGI_FORMAT_ARROW, &columns[i]);
		if (writer->taken != NULL)
			tsurugi_written_cell_init(&writer->columns[i], writer->taken[i].codec, writer->taken[i].vector, &cells[i]);
	}
	return columns;
}

/* What a format's files are like, unless the user says otherwise. */
typedef struct Defaults
{
	tg_file_format format;
	int codec;
	int block_rows;
	size_t block_bytes;
} Defaults;

static Defaults
defaults_of(tsurugi_format format)
{
	static const Defaults all[] = {
		[TSURUGI_FORMAT_CSV] = {TG_FORMAT_CSV, TG_CODEC_NONE, CSV_ROWS, CSV_BYTES},
		[TSURUGI_FORMAT_PARQUET] = {TG_FORMAT_PARQUET, TG_CODEC_SNAPPY, PARQUET_ROWS, BLOCK_BYTES},
		[TSURUGI_FORMAT_ARROW] = {TG_FORMAT_ARROW, TG_CODEC_NONE, ARROW_ROWS, BLOCK_BYTES}};

	return all[format];
}

static void
begin_encoder(tsurugi_writer *writer, const tsurugi_copy_options *written, const tg_file_column *columns,
			  const tg_csv_written *csv)
{
	const Defaults defaults = defaults_of(written->format);
	const tg_file_target target = {.write = append,
								   .resize = resize,
								   .free = tsurugi_format_free,
								   .argument = writer,
								   .memory_max = (size_t) tsurugi_batch_memory_kb * 1024};
	const tg_encoder_config config = {
		.format = defaults.format,
		.options = {.codec = (uint8) (written->codec >= 0 ? written->codec : defaults.codec),
					.level = (uint8) written->level,
					.stream = written->stream,
					.plain = written->plain,
					.block_rows = (uint32) (written->group_rows > 0 ? written->group_rows : defaults.block_rows),
					.block_bytes = written->group_bytes > 0 ? (size_t) written->group_bytes : defaults.block_bytes,
					.created_by = "tsurugi_fdw version 1.0",
					.csv = *csv},
		.target = &target,
		.columns = columns,
		.column_count = (unsigned) writer->column_count,
		.blocks_max = blocks_at_once(),
		.waiter = MyLatch,
		.owner = MyProcPid,
		.wait = wait_for_block};

	tsurugi_settings_follow();
	check_status(writer, tg_encoder_create(tsurugi_session_if_served(), &config, &writer->encoder));
}

tsurugi_writer *
tsurugi_writer_begin(MemoryContext parent, TupleDesc descriptor, tsurugi_target *target,
					 const tsurugi_copy_options *written, const tsurugi_taken *taken)
{
	MemoryContext memory = AllocSetContextCreate(parent, "columnar file", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);
	tsurugi_writer *writer = palloc0(sizeof(*writer));
	tg_cell_out *cells = taken != NULL ? palloc0(sizeof(*cells) * descriptor->natts) : NULL;
	tg_csv_written csv = {0};

	writer->memory = memory;
	writer->row_memory = AllocSetContextCreate(memory, "COPY row", ALLOCSET_DEFAULT_SIZES);
	writer->target = target;
	writer->taken = taken;
	writer->cells =
		(tg_cells_out){.cells = cells, .count = (unsigned) descriptor->natts, .host = put_datums, .argument = writer};
	if (written->format == TSURUGI_FORMAT_CSV)
		tsurugi_csv_out_describe(tsurugi_csv_out_begin(memory, descriptor, target, written->csv), &csv);
	begin_encoder(writer, written, describe_columns(writer, descriptor, written->format, cells), &csv);
	MemoryContextSwitchTo(before);
	return writer;
}

void
tsurugi_writer_put(tsurugi_writer *writer, TupleTableSlot *slot)
{
	MemoryContext before = MemoryContextSwitchTo(writer->row_memory);
	tg_columnar_out *file = tg_encoder_file(writer->encoder);

	slot_getallattrs(slot);
	for (int i = 0; i < writer->column_count; i++)
		if (slot->tts_isnull[i])
			check_status(writer, tg_columnar_put_null(file, (unsigned) i));
		else
			check_status(writer, tsurugi_write_datum(file, (unsigned) i, &writer->columns[i], slot->tts_values[i]));
	check_status(writer, tg_encoder_put_row(writer->encoder));
	MemoryContextSwitchTo(before);
	MemoryContextReset(writer->row_memory);
}

void
tsurugi_writer_take(tsurugi_writer *writer, const tg_vectors *vectors, uint32 first, uint32 count)
{
	check_status(writer, tg_encoder_put_rows(writer->encoder, &writer->cells, vectors, first, count));
}

uint64
tsurugi_writer_finish(tsurugi_writer *writer)
{
	uint64_t bytes;

	check_status(writer, tg_encoder_finish(writer->encoder, &bytes));
	tsurugi_writer_abandon(writer);
	MemoryContextDelete(writer->memory);
	return bytes;
}

void
tsurugi_writer_abandon(tsurugi_writer *writer)
{
	tg_encoder *encoder = writer->encoder;

	writer->encoder = NULL;
	if (encoder != NULL)
		tg_encoder_free(encoder);
}
