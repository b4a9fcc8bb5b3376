/*
 * cell_out.c
 *	  Rows of vectors into files: random tables, as tables in memory store them, some columns of
 *	  which are the host's.  The bytes are the same as if each value had been put by itself,
 *	  wherever blocks end.  Of rows with a value that a file cannot have nothing is put.
 */
#include "runtime/runtime.h"

#include <string.h>

#include "runtime/batch/cell_out.h"
#include "runtime/batch/encoder.h"
#include "test/unit/columnar_table.h"

#define FILES UNIT_ROUNDS(300)
#define EPOCH 10957
#define HEADER_BYTES 4

static tg_vectors *vectors;
static tg_value blobs[ROWS_MAX * COLUMNS_MAX][4]; /* room for a header and BYTES_MAX bytes */
static tg_cell_out cells[COLUMNS_MAX];
static unsigned unfit_row; /* the first with a value that the file cannot have */

/* --- tables as they are stored ---------------------------------------------------------------- */

static tg_cell_out_form
form_of(const tg_file_column *column)
{
	if (column->list || dice(10) == 0)
		return TG_OUT_HOST;
	switch (column->type)
	{
		case TG_FILE_STRING:
		case TG_FILE_JSON:
		case TG_FILE_BINARY:
			return TG_OUT_TEXT;
		case TG_FILE_UUID:
			return TG_OUT_16;
		case TG_FILE_INTERVAL:
			return TG_OUT_SPAN;
		case TG_FILE_DECIMAL:
			return column->precision > 18 ? TG_OUT_WIDE : TG_OUT_DECIMAL;
		case TG_FILE_UINT:
			return column->bits == 32 ? TG_OUT_UINT4 : TG_OUT_WORD;
		case TG_FILE_FLOAT:
			return column->bits == 32 ? TG_OUT_FLOAT4 : TG_OUT_WORD;
		case TG_FILE_DATE:
		case TG_FILE_TIMESTAMP:
			return TG_OUT_SINCE;
		default:
			return TG_OUT_WORD;
	}
}

static void
store_string(tg_value *stored, const value *value, tg_value *blob)
{
	if (value->count <= TG_STRING_INLINE_MAX && dice(2) == 0)
	{
		tg_string_make_inline(&stored->string, value->bytes, value->count);
		return;
	}
	memcpy(blob->bytes + HEADER_BYTES, value->bytes, value->count);
	tg_string_make_host(&stored->string, blob, value->count + HEADER_BYTES, HEADER_BYTES);
	stored->string.word &= ~TG_STRING_HOST;
}

/* A value whose nanoseconds are whole microseconds. */
static void
store_span(tg_value *stored, value *value)
{
	int64_t ns;
	int64_t us;

	memcpy(&ns, value->bytes + 8, sizeof(ns));
	us = ns / 1000;
	ns = us * 1000;
	memcpy(value->bytes + 8, &ns, sizeof(ns));
	memcpy(stored->bytes, &us, sizeof(us));
	memcpy(stored->bytes + 8, value->bytes + 4, 4);
	memcpy(stored->bytes + 12, value->bytes, 4);
}

/* A word that is counted from another epoch; of dates and times some are infinite. */
static int64_t
store_since(const tg_cell_out *cell, value *value)
{
	unsigned number = dice(20);

	if (number < 2)
		value->word = number == 0 ? cell->endless_low : cell->endless_high;
	if (value->word == cell->endless_low || value->word == cell->endless_high)
		return value->word == cell->endless_low ? cell->lowest : cell->highest;
	if (value->word < INT64_MIN / 2)
		value->word /= 2;
	return value->word - cell->offset;
}

static void
store(unsigned row, unsigned i, value *value)
{
	const tg_cell_out *cell = &cells[i];
	uint64_t *word = (uint64_t *) vectors->data[i] + row;
	tg_value *wide = (tg_value *) vectors->data[i] + row;
	float narrow;
	double real;
	int32_t bits;

	switch ((tg_cell_out_form) cell->form)
	{
		case TG_OUT_HOST:
			break;
		case TG_OUT_WORD:
			*word = (uint64_t) value->word;
			break;
		case TG_OUT_DECIMAL:
			/* 63 bits of them are equal to a NaN only where the test makes one */
			*word = (uint64_t) (value->word /= 2);
			break;
		case TG_OUT_UINT4:
			*word = (uint64_t) (int64_t) (int32_t) value->word;
			break;
		case TG_OUT_SINCE:
			*word = (uint64_t) store_since(cell, value);
			break;
		case TG_OUT_FLOAT4:
			memcpy(&real, &value->word, sizeof(real));
			narrow = (float) real;
			memcpy(&bits, &narrow, sizeof(bits));
			*word = (uint64_t) (int64_t) bits;
			break;
		case TG_OUT_WIDE:
			value->bytes[0] &= 0xBF;
			for (unsigned b = 0; b < 16; b++)
				wide->bytes[b] = value->bytes[15 - b];
			break;
		case TG_OUT_TEXT:
			store_string(wide, value, blobs[row * COLUMNS_MAX + i]);
			break;
		case TG_OUT_16:
			memcpy(wide->bytes, value->bytes, 16);
			break;
		case TG_OUT_SPAN:
			store_span(wide, value);
			break;
	}
}

static void
choose_cell(unsigned i)
{
	bool is_date = world.description[i].type == TG_FILE_DATE;

	cells[i] = (tg_cell_out){.form = (uint8_t) form_of(&world.description[i]),
							 .header_bytes = HEADER_BYTES,
							 .vector = (uint16_t) i,
							 .offset = is_date ? EPOCH : EPOCH * INT64_C(86400000000),
							 .lowest = is_date ? INT32_MIN : INT64_MIN,
							 .highest = is_date ? INT32_MAX : INT64_MAX,
							 .endless_low = is_date ? INT32_MIN : INT64_MIN,
							 .endless_high = is_date ? INT32_MAX : INT64_MAX};
}

static void
store_table(void)
{
	static const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8,  TG_KIND_4,	   TG_KIND_4,  TG_KIND_4,
									TG_KIND_8, TG_KIND_16, TG_KIND_STRING, TG_KIND_16, TG_KIND_16};
	uint16_t columns[COLUMNS_MAX];
	uint8_t chosen[COLUMNS_MAX];

	for (unsigned i = 0; i < world.columns; i++)
	{
		choose_cell(i);
		columns[i] = (uint16_t) i;
		chosen[i] = cells[i].form == TG_OUT_SINCE ? TG_KIND_8 : kinds[cells[i].form];
	}
	vectors = aligned_alloc(TG_CACHE_LINE, (tg_vectors_bytes(chosen, world.columns, ROWS_MAX) | 63) + 1);
	vectors = tg_vectors_init(vectors, columns, chosen, world.columns, ROWS_MAX);
	vectors->count = world.rows;
	for (unsigned row = 0; row < world.rows; row++)
		for (unsigned i = 0; i < world.columns; i++)
		{
			cell *cell = cell_at(row, i);

			vectors->nulls[i][row] = cell->null;
			if (cell->null) /* whatever lies there */
				memset((uint8_t *) vectors->data[i] + row * (chosen[i] >= TG_KIND_16 ? 16 : 8), 0xFF,
					   chosen[i] >= TG_KIND_16 ? 16 : 8);
			else if (cell->count > 0)
				store(row, i, &cell->values[0]);
		}
}

/* --- files ------------------------------------------------------------------------------------ */

static tg_status
put_by_host(void *argument, unsigned column, const tg_vectors *rows, uint32_t first, uint32_t count)
{
	tg_columnar_out *out = tg_encoder_file(argument);
	tg_status status = TG_OK;

	if (cells[column].form != TG_OUT_HOST)
		return TG_UNFIT;
	for (uint32_t row = first; row < first + count && status == TG_OK; row++)
		status = put_cell(out, column, cell_at(row, column));
	return status;
}

static void
wait_for_nothing(void *argument)
{
}

/* The first `rows` of the vectors; some at a time. */
static tg_status
write_vectors(tg_file_format format, const tg_columnar_options *options, unsigned rows, contents *file)
{
	const tg_file_target target = {
		.write = append, .resize = resize, .free = release, .argument = file, .memory_max = MEMORY_MAX};
	const tg_encoder_config config = {.format = format,
									  .options = *options,
									  .target = &target,
									  .columns = world.description,
									  .column_count = world.columns,
									  .blocks_max = 1 + dice(3),
									  .wait = wait_for_nothing};
	tg_cells_out all = {.cells = cells, .count = world.columns, .host = put_by_host};
	tg_encoder *encoder;
	uint64_t bytes;
	tg_status status = tg_encoder_create(NULL, &config, &encoder);
	uint32_t count;

	if (status != TG_OK)
		return status;
	all.argument = encoder;
	for (uint32_t first = 0; first < rows && status == TG_OK; first += count)
	{
		count = 1 + dice(rows - first);
		status = tg_encoder_put_rows(encoder, &all, vectors, first, count);
	}
	if (status == TG_OK)
		status = tg_encoder_finish(encoder, &bytes);
	tg_encoder_free(encoder);
	return status;
}

static bool
is_same(const contents *a, const contents *b)
{
	return a->count == b->count && memcmp(a->data, b->data, a->count) == 0;
}

static bool
try_table(void)
{
	tg_file_format format = dice(2) == 0 ? TG_FORMAT_PARQUET : TG_FORMAT_ARROW;
	tg_columnar_options options = choose_options(format);
	contents plain = {0};
	contents file = {0};
	bool is_right;

	choose_table(format);
	options.block_bytes = 64 << 20; /* at which rows end that are put together */
	store_table();
	write_table(format, &options, &plain);
	is_right = write_vectors(format, &options, world.rows, &file) == TG_OK && is_same(&plain, &file);
	free(plain.data);
	free(file.data);
	free(vectors);
	return is_right;
}

static void
test_tables(void)
{
	unsigned different = 0;

	for (unsigned i = 0; i < FILES; i++)
		different += !try_table();
	unit_equal(different, 0, "%u files are the same as if each value was put by itself", FILES);
}

/* --- what files cannot have ------------------------------------------------------------------- */

/* A table of one column, whose row unfit_row has no value of the file. */
static void
store_unfit(tg_file_type type)
{
	tg_value *wide;
	int64_t *word;

	unfit_row = dice(ROWS_MAX);
	choose_table(TG_FORMAT_ARROW);
	world.columns = 1;
	world.rows = ROWS_MAX;
	world.description[0] = (tg_file_column){.name = "c",
											.type = type,
											.nullable = true,
											.digits = type == TG_FILE_INTERVAL ? 9 : 6,
											.precision = dice(2) == 0 ? 10 : 30};
	world.variety[0] = 0;
	for (unsigned row = 0; row < ROWS_MAX; row++)
	{
		*cell_at(row, 0) = (cell){.null = dice(5) == 0, .count = 1};
		choose_value(0, &cell_at(row, 0)->values[0]);
	}
	cell_at(unfit_row, 0)->null = false;
	for (store_table(); cells[0].form == TG_OUT_HOST; store_table())
		free(vectors);
	wide = (tg_value *) vectors->data[0] + unfit_row;
	word = (int64_t *) vectors->data[0] + unfit_row;
	if (cells[0].form == TG_OUT_DECIMAL)
		*word = INT64_MAX;
	else if (cells[0].form == TG_OUT_SINCE)
		*word = INT64_MAX - 1;
	else
	{
		memset(wide->bytes, 0xFF, 16);
		wide->bytes[cells[0].form == TG_OUT_WIDE ? 15 : 7] = 0x7F;
	}
}

/* Until the value, and then as many rows as went before it by themselves. */
static bool
try_unfit(void)
{
	static const uint8_t types[] = {TG_FILE_DECIMAL, TG_FILE_TIMESTAMP, TG_FILE_INTERVAL};
	contents file = {0};
	contents source = {0};
	const tg_file_target target = {
		.write = append, .resize = resize, .free = release, .argument = &file, .memory_max = MEMORY_MAX};
	const tg_columnar_options options = {.block_rows = ROWS_MAX + 1, .block_bytes = 1 << 30, .created_by = "a test"};
	const tg_cells_out all = {.cells = cells, .count = 1};
	tg_file_source memory = source_of(&source);
	tg_columnar_block *block;
	tg_columnar_out *out;
	uint32_t put = 0;
	uint32_t more;
	bool is_right;

	store_unfit((tg_file_type) types[dice(3)]);
	tg_check(tg_columnar_create(TG_FORMAT_ARROW, &target, &options, world.description, 1, &out) == TG_OK);
	tg_check(tg_columnar_block_create(out, &memory, &block) == TG_OK);
	is_right = tg_cells_put(&all, block, vectors, &put, ROWS_MAX) == TG_UNFIT && put <= unfit_row &&
			   tg_columnar_room(block) == ROWS_MAX + 1 - put;
	/* nothing of the rows that failed stays: those before the value can be put */
	more = put;
	is_right = is_right && tg_cells_put(&all, block, vectors, &more, unfit_row) == TG_OK && more == unfit_row &&
			   tg_columnar_room(block) == ROWS_MAX + 1 - unfit_row && tg_columnar_write(out, block) == TG_OK;
	tg_columnar_block_free(block);
	tg_columnar_out_free(out);
	free(file.data);
	free(vectors);
	return is_right;
}

static void
test_unfit(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < FILES; i++)
		wrong += !try_unfit();
	unit_equal(wrong, 0, "rows with a value that no file has are not put, nor a part of them");
}

int
main(void)
{
	state = 31;
	world.cells = calloc((size_t) ROWS_MAX * COLUMNS_MAX, sizeof(cell));
	test_tables();
	test_unfit();
	unit_equal(used, 0, "all memory has been given back");
	free(world.cells);
	return unit_done();
}
