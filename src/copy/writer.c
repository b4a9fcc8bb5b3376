/*
 * writer.c
 *	  Rows of PostgreSQL into a file in Parquet, Arrow or CSV.
 *
 * Rows come in a slot, or many at once as they are stored (src/exec/taker.h); both may come for one
 * file, which is the same either way.  Of stored rows datums are made only of values that have no
 * form of their own (runtime/batch/cell_out.h).  For CSV, whose text is made of stored values, rows
 * of slots become such: some of them are gathered, and then taken at once.
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
#define VECTORS_ALIGNMENT 64
#define GATHERED_ROWS 256
#define GATHERED_BYTES (1024 * 1024) /* of strings */

/* CSV: rows of slots, as they would be stored. */
typedef struct Gathered
{
	tsurugi_codec *codecs;
	tsurugi_taken *columns;
	tg_vectors *rows;
	MemoryContext strings; /* of these */
	size_t string_bytes;
} Gathered;

struct tsurugi_writer
{
	MemoryContext memory; /* of the file: it has this, too */
	MemoryContext row_memory;
	tsurugi_target *target;
	tg_encoder *encoder;
	tsurugi_format format;
	int column_count;
	tsurugi_written_column *columns;
	const tsurugi_taken *taken; /* the columns of the rows that were taken last, */
	tg_cells_out cells;			/* and how they become the file's */
	tg_cell_out *cell_of_column;
	Gathered gathered;
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

/* For rows of slots, as values of these types are stored. */
static void
begin_gathering(Gathered *gathered, TupleDesc descriptor)
{
	int count = descriptor->natts;
	uint16 *numbers = palloc(count * sizeof(uint16));
	uint8 *kinds = palloc(count);
	void *memory;

	gathered->codecs = palloc0(count * sizeof(tsurugi_codec));
	gathered->columns = palloc(count * sizeof(tsurugi_taken));
	for (int i = 0; i < count; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		tsurugi_codec_init_type(&gathered->codecs[i], attribute->atttypid, attribute->atttypmod,
								attribute->attcollation);
		gathered->columns[i] = (tsurugi_taken){.vector = i, .codec = &gathered->codecs[i]};
		numbers[i] = (uint16) i;
		kinds[i] = gathered->codecs[i].kind;
	}
	memory = palloc(tg_vectors_bytes(kinds, (unsigned) count, GATHERED_ROWS) + VECTORS_ALIGNMENT);
	gathered->rows =
		tg_vectors_init((void *) TYPEALIGN(VECTORS_ALIGNMENT, memory), numbers, kinds, (unsigned) count, GATHERED_ROWS);
	gathered->rows->count = 0;
	gathered->strings = AllocSetContextCreate(CurrentMemoryContext, "COPY rows", ALLOCSET_DEFAULT_SIZES);
}

/* The file's columns. */
static tg_file_column *
describe_columns(tsurugi_writer *writer, TupleDesc descriptor)
{
	tg_file_column *columns = palloc0(sizeof(*columns) * descriptor->natts);

	writer->columns = palloc0(sizeof(*writer->columns) * descriptor->natts);
	writer->column_count = descriptor->natts;
	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		columns[i].name =
			pg_server_to_any(NameStr(attribute->attname), (int) strlen(NameStr(attribute->attname)), PG_UTF8);
		if (writer->format == TSURUGI_FORMAT_CSV)
			tsurugi_csv_out_column(&writer->gathered.codecs[i], attribute->atttypid, &writer->columns[i], &columns[i]);
		else
			tsurugi_written_column_init(&writer->columns[i], attribute->atttypid, attribute->atttypmod,
										writer->format == TSURUGI_FORMAT_ARROW, &columns[i]);
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
					 const tsurugi_copy_options *written)
{
	MemoryContext memory = AllocSetContextCreate(parent, "columnar file", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);
	tsurugi_writer *writer = palloc0(sizeof(*writer));
	tg_csv_written csv = {0};

	writer->memory = memory;
	writer->row_memory = AllocSetContextCreate(memory, "COPY row", ALLOCSET_DEFAULT_SIZES);
	writer->target = target;
	writer->format = written->format;
	writer->cell_of_column = palloc0(sizeof(tg_cell_out) * descriptor->natts);
	writer->cells = (tg_cells_out){
		.cells = writer->cell_of_column, .count = (unsigned) descriptor->natts, .host = put_datums, .argument = writer};
	if (written->format == TSURUGI_FORMAT_CSV)
	{
		tsurugi_csv_out_describe(tsurugi_csv_out_begin(memory, descriptor, target, written->csv), &csv);
		begin_gathering(&writer->gathered, descriptor);
	}
	begin_encoder(writer, written, describe_columns(writer, descriptor), &csv);
	MemoryContextSwitchTo(before);
	return writer;
}

/* --- rows as they are stored -------------------------------------------------------------- */

/* Rows of another node come: how they become the file's. */
static void
choose_cells(tsurugi_writer *writer, const tsurugi_taken *taken)
{
	for (int i = 0; i < writer->column_count; i++)
		if (writer->format == TSURUGI_FORMAT_CSV)
			tsurugi_csv_out_cell(&taken[i], &writer->columns[i], &writer->cell_of_column[i]);
		else
			tsurugi_written_cell_init(&writer->columns[i], taken[i].codec, taken[i].vector, &writer->cell_of_column[i]);
	writer->taken = taken;
}

static void
put_stored(tsurugi_writer *writer, const tsurugi_taken *taken, const tg_vectors *vectors, uint32 first, uint32 count)
{
	if (writer->taken != taken)
		choose_cells(writer, taken);
	check_status(writer, tg_encoder_put_rows(writer->encoder, &writer->cells, vectors, first, count));
}

/* The rows of slots that are gathered. */
static void
put_gathered(tsurugi_writer *writer)
{
	Gathered *gathered = &writer->gathered;

	if (gathered->rows == NULL || gathered->rows->count == 0)
		return;
	put_stored(writer, gathered->columns, gathered->rows, 0, gathered->rows->count);
	gathered->rows->count = 0;
	gathered->string_bytes = 0;
	MemoryContextReset(gathered->strings);
}

void
tsurugi_writer_take(tsurugi_writer *writer, const tsurugi_taken *columns, const tg_vectors *vectors, uint32 first,
					uint32 count)
{
	put_gathered(writer);
	put_stored(writer, columns, vectors, first, count);
}

/* --- rows of slots ------------------------------------------------------------------------ */

/* A value as it would be stored, behind those that are gathered. */
static void
gather_value(Gathered *gathered, int column, Datum datum)
{
	const tsurugi_codec *codec = &gathered->codecs[column];
	uint32 row = gathered->rows->count;
	tg_value value = {.bytes = {0}};

	tsurugi_value(codec, datum, &value);
	if (codec->kind < TG_KIND_16)
	{
		((uint64_t *) gathered->rows->data[column])[row] = value.word;
		return;
	}
	if (codec->kind == TG_KIND_STRING && tg_string_is_out(&value.string))
	{
		uint32_t bytes = tg_string_blob_bytes(&value.string);
		void *kept = MemoryContextAlloc(gathered->strings, bytes);

		memcpy(kept, value.string.blob, bytes);
		value.string.blob = kept;
		gathered->string_bytes += bytes;
	}
	((tg_value *) gathered->rows->data[column])[row] = value;
}

static void
gather_row(tsurugi_writer *writer, const TupleTableSlot *slot)
{
	Gathered *gathered = &writer->gathered;

	for (int i = 0; i < writer->column_count; i++)
	{
		gathered->rows->nulls[i][gathered->rows->count] = slot->tts_isnull[i];
		if (!slot->tts_isnull[i])
			gather_value(gathered, i, slot->tts_values[i]);
	}
	gathered->rows->count++;
}

static void
put_row(tsurugi_writer *writer, const TupleTableSlot *slot)
{
	tg_columnar_out *file = tg_encoder_file(writer->encoder);

	for (int i = 0; i < writer->column_count; i++)
		if (slot->tts_isnull[i])
			check_status(writer, tg_columnar_put_null(file, (unsigned) i));
		else
			check_status(writer, tsurugi_write_datum(file, (unsigned) i, &writer->columns[i], slot->tts_values[i]));
	check_status(writer, tg_encoder_put_row(writer->encoder));
}

void
tsurugi_writer_put(tsurugi_writer *writer, TupleTableSlot *slot)
{
	MemoryContext before = MemoryContextSwitchTo(writer->row_memory);
	const Gathered *gathered = &writer->gathered;

	slot_getallattrs(slot);
	if (gathered->rows != NULL)
		gather_row(writer, slot);
	else
		put_row(writer, slot);
	MemoryContextSwitchTo(before);
	MemoryContextReset(writer->row_memory);
	if (gathered->rows != NULL && (gathered->rows->count == GATHERED_ROWS || gathered->string_bytes >= GATHERED_BYTES))
		put_gathered(writer);
}

uint64
tsurugi_writer_finish(tsurugi_writer *writer)
{
	uint64_t bytes;

	put_gathered(writer);
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
