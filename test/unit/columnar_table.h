/*
 * columnar_table.h
 *	  For tests of files of columns: random tables, which are written and compared.
 */
#ifndef TG_COLUMNAR_TABLE_H
#define TG_COLUMNAR_TABLE_H

#include <string.h>

#include "runtime/format/codec.h"
#include "test/unit/columnar_file.h"
#include "test/unit/columnar_sum.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define COLUMNS_MAX 8
#define ROWS_MAX 3000
#define BYTES_MAX 40
#define ELEMENTS_MAX 4

static uint64_t state;

static inline unsigned
dice(unsigned sides)
{
	return unit_below(&state, sides);
}

/* --- random tables ----------------------------------------------------------------------- */

typedef struct value
{
	bool null;
	int64_t word;
	uint8_t bytes[BYTES_MAX];
	unsigned count;
} value;

typedef struct cell
{
	bool null;
	unsigned count; /* of a list; else 1 */
	value values[ELEMENTS_MAX];
} cell;

typedef struct table
{
	unsigned columns;
	unsigned rows;
	tg_file_column description[COLUMNS_MAX];
	char names[COLUMNS_MAX][12];
	unsigned variety[COLUMNS_MAX]; /* how many values a column may have; 0: any number */
	cell *cells;
} table;

static table world;

static inline cell *
cell_at(unsigned row, unsigned column)
{
	return &world.cells[row * COLUMNS_MAX + column];
}

static inline void
choose_column(tg_file_format format, unsigned i)
{
	static const tg_file_column kinds[] = {{.type = TG_FILE_BOOL},
										   {.type = TG_FILE_INT, .bits = 8},
										   {.type = TG_FILE_INT, .bits = 16},
										   {.type = TG_FILE_INT, .bits = 32},
										   {.type = TG_FILE_INT, .bits = 64},
										   {.type = TG_FILE_UINT, .bits = 8},
										   {.type = TG_FILE_UINT, .bits = 32},
										   {.type = TG_FILE_UINT, .bits = 64},
										   {.type = TG_FILE_FLOAT, .bits = 32},
										   {.type = TG_FILE_FLOAT, .bits = 64},
										   {.type = TG_FILE_DECIMAL, .precision = 7, .scale = 2},
										   {.type = TG_FILE_DECIMAL, .precision = 18, .scale = 18},
										   {.type = TG_FILE_DECIMAL, .precision = 38, .scale = 0},
										   {.type = TG_FILE_DATE},
										   {.type = TG_FILE_TIME, .digits = 6},
										   {.type = TG_FILE_TIME, .digits = 3, .utc = true},
										   {.type = TG_FILE_TIMESTAMP, .digits = 3},
										   {.type = TG_FILE_TIMESTAMP, .digits = 6, .utc = true},
										   {.type = TG_FILE_TIMESTAMP, .digits = 9},
										   {.type = TG_FILE_STRING},
										   {.type = TG_FILE_JSON},
										   {.type = TG_FILE_BINARY},
										   {.type = TG_FILE_UUID},
										   {.type = TG_FILE_INTERVAL, .digits = 9}};
	tg_file_column *column = &world.description[i];

	/* the last one is Arrow's */
	*column = kinds[dice(sizeof(kinds) / sizeof(*kinds) - (format != TG_FORMAT_ARROW))];
	if (format == TG_FORMAT_ARROW && column->type == TG_FILE_TIME)
		column->utc = false; /* which it does not have */
	snprintf(world.names[i], sizeof(world.names[i]), "c%u", i);
	column->name = world.names[i];
	column->nullable = dice(3) > 0;
	column->list = dice(4) == 0;
	column->element_nullable = column->list && dice(2) == 0;
	world.variety[i] = dice(2) == 0 ? 0 : 1 + dice(20);
}

/* The bits that a word of the column may have. */
static inline unsigned
bits_of(const tg_file_column *column)
{
	switch (column->type)
	{
		case TG_FILE_BOOL:
			return 1;
		case TG_FILE_INT:
		case TG_FILE_UINT:
			return column->bits;
		case TG_FILE_DATE:
			return 32;
		case TG_FILE_TIME:
			return column->digits == 3 ? 32 : 64;
		case TG_FILE_DECIMAL:
			return column->precision <= 9 ? 32 : 64;
		default:
			return 64;
	}
}

static inline bool
has_bytes(const tg_file_column *column)
{
	return column->type == TG_FILE_STRING || column->type == TG_FILE_JSON || column->type == TG_FILE_BINARY ||
		   column->type == TG_FILE_UUID || column->type == TG_FILE_INTERVAL ||
		   (column->type == TG_FILE_DECIMAL && column->precision > 18);
}

static inline void
choose_value(unsigned i, value *value)
{
	const tg_file_column *column = &world.description[i];
	uint64_t seed = world.variety[i] > 0 ? dice(world.variety[i]) : unit_random(&state);
	uint64_t word = unit_random(&seed);
	unsigned bits = bits_of(column);
	float narrow;
	double real;

	if (has_bytes(column))
	{
		value->count = column->type == TG_FILE_STRING || column->type == TG_FILE_JSON || column->type == TG_FILE_BINARY
						   ? word % BYTES_MAX
						   : 16;
		for (unsigned b = 0; b < value->count; b++)
			value->bytes[b] = (uint8_t) unit_random(&seed);
		return;
	}
	if (column->type == TG_FILE_BOOL)
		value->word = (int64_t) (word & 1);
	else if (column->type == TG_FILE_FLOAT)
	{
		narrow = (float) (int64_t) word / 1024;
		real = column->bits == 32 ? (double) narrow : (double) (int64_t) word / 1000;
		memcpy(&value->word, &real, sizeof(real));
	}
	else if (column->type == TG_FILE_UINT)
		value->word = (int64_t) (word >> (64 - bits));
	else
		value->word = (int64_t) word >> (64 - bits);
}

static inline void
choose_table(tg_file_format format)
{
	world.columns = 1 + dice(COLUMNS_MAX);
	world.rows = dice(4) == 0 ? dice(5) : dice(ROWS_MAX);
	for (unsigned i = 0; i < world.columns; i++)
		choose_column(format, i);
	for (unsigned row = 0; row < world.rows; row++)
		for (unsigned i = 0; i < world.columns; i++)
		{
			const tg_file_column *column = &world.description[i];
			cell *cell = cell_at(row, i);

			cell->null = column->nullable && dice(5) == 0;
			cell->count = cell->null ? 0 : column->list ? dice(ELEMENTS_MAX + 1) : 1;
			for (unsigned e = 0; e < cell->count; e++)
			{
				cell->values[e].null = column->element_nullable && dice(4) == 0;
				if (!cell->values[e].null)
					choose_value(i, &cell->values[e]);
			}
		}
}

/* --- writing and reading ----------------------------------------------------------------- */

static inline tg_status
put_value(tg_columnar_out *out, unsigned i, const value *value)
{
	if (value->null)
		return tg_columnar_put_null_element(out, i);
	if (has_bytes(&world.description[i]))
		return tg_columnar_put_bytes(out, i, value->bytes, value->count);
	return tg_columnar_put_word(out, i, value->word);
}

static inline tg_status
put_cell(tg_columnar_out *out, unsigned i, const cell *cell)
{
	tg_status status = TG_OK;

	if (cell->null)
		return tg_columnar_put_null(out, i);
	for (unsigned e = 0; e < cell->count && status == TG_OK; e++)
		status = put_value(out, i, &cell->values[e]);
	return status == TG_OK && world.description[i].list ? tg_columnar_put_list_end(out, i) : status;
}

static inline tg_columnar_options
choose_options(tg_file_format format)
{
	static const uint8_t codecs[] = {TG_CODEC_NONE, TG_CODEC_SNAPPY, TG_CODEC_GZIP, TG_CODEC_ZSTD, TG_CODEC_LZ4_RAW};
	static const uint8_t arrow_codecs[] = {TG_CODEC_NONE, TG_CODEC_ZSTD, TG_CODEC_LZ4_FRAME};

	return (tg_columnar_options){.codec = format == TG_FORMAT_ARROW ? arrow_codecs[dice(sizeof(arrow_codecs))]
																	: codecs[dice(sizeof(codecs))],
								 .stream = format == TG_FORMAT_ARROW && dice(2) == 0,
								 .block_rows = 1 + dice(ROWS_MAX),
								 .block_bytes = 1000 + dice(1 << 20),
								 .created_by = "a test"};
}

static inline tg_status
put_cells(tg_columnar_out *out, unsigned row)
{
	tg_status status = TG_OK;

	for (unsigned i = 0; i < world.columns && status == TG_OK; i++)
		status = put_cell(out, i, cell_at(row, i));
	return status;
}

static inline void
write_table(tg_file_format format, const tg_columnar_options *options, contents *file)
{
	tg_file_target target = {
		.write = append, .resize = resize, .free = release, .argument = file, .memory_max = MEMORY_MAX};
	tg_file_source memory = source_of(file);
	tg_columnar_out *out;
	tg_columnar_block *blocks[2]; /* one is filled, and then the other one is written */
	unsigned filled = 0;
	uint64_t bytes;
	tg_status status = tg_columnar_create(format, &target, options, world.description, world.columns, &out);

	if (status != TG_OK || tg_columnar_block_create(out, &memory, &blocks[0]) != TG_OK ||
		tg_columnar_block_create(out, &memory, &blocks[1]) != TG_OK)
		unit_bail("no file");
	tg_columnar_fill(out, blocks[0]);
	for (unsigned row = 0; row < world.rows && status == TG_OK; row++)
	{
		status = put_cells(out, row);
		if (status != TG_OK || !tg_columnar_put_row(out))
			continue;
		filled = !filled;
		status = tg_columnar_write(out, blocks[filled]);
		tg_columnar_fill(out, blocks[filled]);
		if (status == TG_OK && dice(4) == 0 && tg_columnar_encode(blocks[!filled]) <= TG_AGAIN)
			tg_columnar_encode_anew(blocks[!filled]);
	}
	if (status == TG_OK)
		status = tg_columnar_write(out, blocks[!filled]);
	if (status == TG_OK)
		status = tg_columnar_write(out, blocks[filled]);
	if (status == TG_OK)
		status = tg_columnar_finish(out, &bytes);
	tg_columnar_block_free(blocks[0]);
	tg_columnar_block_free(blocks[1]);
	tg_columnar_out_free(out);
	if (status != TG_OK || bytes != file->count)
		unit_bail("the file was not written");
}

static inline bool
same_value(const tg_file_column *column, const value *value, const tg_file_values *values, uint32_t at)
{
	bool null = column->list && values->element_nulls != NULL && values->element_nulls[at];

	if (value->null || null)
		return value->null == null;
	if (column->is_bytes)
		return values->bytes[at].count == value->count &&
			   (value->count == 0 || memcmp(values->bytes[at].data, value->bytes, value->count) == 0);
	return values->words[at] == value->word;
}

static inline bool
same_cell(const tg_file_column *column, const cell *cell, const tg_file_values *values, unsigned row)
{
	bool null = values->nulls != NULL && values->nulls[row];
	uint32_t first = !column->list ? row : row == 0 ? 0 : values->ends[row - 1];
	uint32_t count = column->list ? values->ends[row] - first : !null;

	if (null != cell->null || count != cell->count)
		return false;
	for (unsigned e = 0; e < cell->count; e++)
		if (!same_value(column, &cell->values[e], values, first + e))
			return false;
	return true;
}

static inline bool
same_column(const tg_file_column *read, const tg_file_column *written)
{
	return strcmp(read->name, written->name) == 0 && read->type == written->type && read->digits == written->digits &&
		   read->utc == written->utc && read->nullable == written->nullable && read->list == written->list &&
		   read->element_nullable == written->element_nullable && read->precision == written->precision &&
		   read->scale == written->scale && read->bits == written->bits;
}

static uint64_t table_sum; /* over the columns of the last file that was read, or damaged */

/* Opens a file and reads all of it; *different_out: it is not as it was written. */
static inline tg_status
read_table(tg_file_format format, contents *file, bool *different_out, tg_file_fault *fault)
{
	tg_file_source source = source_of(file);
	static tg_file_values values[TG_FILE_COLUMNS_MAX];
	tg_columnar reader;
	unsigned count;
	unsigned done = 0;
	tg_status status = tg_columnar_open(&reader, format, &source, fault);

	if (status != TG_OK)
		return status;
	*different_out = tg_columnar_column_count(&reader) != world.columns || tg_columnar_row_count(&reader) != world.rows;
	for (unsigned i = 0; i < tg_columnar_column_count(&reader); i++)
	{
		const tg_file_column *column = tg_columnar_column(&reader, i);

		*different_out = *different_out || !same_column(column, &world.description[i]);
		if (column->type != TG_FILE_UNREADABLE)
			tg_columnar_want(&reader, i);
	}
	table_sum = 0;
	do
	{
		status = tg_columnar_read(&reader, values, &count, fault);
		for (unsigned row = 0; row < count && status == TG_OK; row++)
			for (unsigned i = 0; i < tg_columnar_column_count(&reader); i++)
				if (tg_columnar_column(&reader, i)->type != TG_FILE_UNREADABLE)
					sum_row(&table_sum, tg_columnar_column(&reader, i), &values[i], row);
		for (unsigned row = 0; row < count && status == TG_OK && !*different_out; row++)
			for (unsigned i = 0; i < world.columns && !*different_out; i++)
				*different_out = done + row >= world.rows ||
								 !same_cell(tg_columnar_column(&reader, i), cell_at(done + row, i), &values[i], row);
		done += count;
	} while (status == TG_OK && count > 0);
	*different_out = *different_out || done != world.rows;
	tg_columnar_close(&reader);
	return status;
}

static inline unsigned
count_of(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? (unsigned) atoi(text) : otherwise;
}

#endif /* TG_COLUMNAR_TABLE_H */
