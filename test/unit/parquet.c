/*
 * parquet.c
 *	  Parquet files: random tables are read as they were written; a damaged file gives an error or
 *	  rows, and no more memory than allowed.
 *
 * PARQUET_FILES: how many random files (100); PARQUET_DAMAGES: how many damages of each (50), and
 * five times as many of each of the files that other programs have written (test/files).
 */
#include "runtime/format/parquet.h"

#include <dirent.h>
#include <string.h>

#include "runtime/format/codec.h"
#include "test/unit/parquet_file.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define COLUMNS_MAX 8
#define ROWS_MAX 3000
#define BYTES_MAX 40
#define ELEMENTS_MAX 4

static uint64_t state;

static unsigned
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

static cell *
cell_at(unsigned row, unsigned column)
{
	return &world.cells[row * COLUMNS_MAX + column];
}

static void
choose_column(unsigned i)
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
										   {.type = TG_FILE_UUID}};
	tg_file_column *column = &world.description[i];

	*column = kinds[dice(sizeof(kinds) / sizeof(*kinds))];
	snprintf(world.names[i], sizeof(world.names[i]), "c%u", i);
	column->name = world.names[i];
	column->nullable = dice(3) > 0;
	column->list = dice(4) == 0;
	column->element_nullable = column->list && dice(2) == 0;
	world.variety[i] = dice(2) == 0 ? 0 : 1 + dice(20);
}

/* The bits that a word of the column may have. */
static unsigned
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

static bool
has_bytes(const tg_file_column *column)
{
	return column->type == TG_FILE_STRING || column->type == TG_FILE_JSON || column->type == TG_FILE_BINARY ||
		   column->type == TG_FILE_UUID || (column->type == TG_FILE_DECIMAL && column->precision > 18);
}

static void
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
		value->count = column->type == TG_FILE_UUID || column->type == TG_FILE_DECIMAL ? 16 : word % BYTES_MAX;
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

static void
choose_table(void)
{
	world.columns = 1 + dice(COLUMNS_MAX);
	world.rows = dice(4) == 0 ? dice(5) : dice(ROWS_MAX);
	for (unsigned i = 0; i < world.columns; i++)
		choose_column(i);
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

static tg_status
put_value(tg_parquet_out *out, unsigned i, const value *value)
{
	if (value->null)
		return tg_parquet_put_null_element(out, i);
	if (has_bytes(&world.description[i]))
		return tg_parquet_put_bytes(out, i, value->bytes, value->count);
	return tg_parquet_put_word(out, i, value->word);
}

static tg_status
put_cell(tg_parquet_out *out, unsigned i, const cell *cell)
{
	tg_status status = TG_OK;

	if (cell->null)
		return tg_parquet_put_null(out, i);
	for (unsigned e = 0; e < cell->count && status == TG_OK; e++)
		status = put_value(out, i, &cell->values[e]);
	return status == TG_OK && world.description[i].list ? tg_parquet_put_list_end(out, i) : status;
}

static void
write_table(contents *file)
{
	static const uint8_t codecs[] = {TG_CODEC_NONE, TG_CODEC_SNAPPY, TG_CODEC_GZIP, TG_CODEC_ZSTD, TG_CODEC_LZ4_RAW};
	tg_file_target target = {
		.write = append, .resize = resize, .free = release, .argument = file, .memory_max = MEMORY_MAX};
	tg_parquet_options options = {.codec = codecs[dice(sizeof(codecs))],
								  .group_rows = 1 + dice(ROWS_MAX),
								  .group_bytes = 1000 + dice(1 << 20),
								  .created_by = "a test"};
	tg_parquet_out *out;
	uint64_t bytes;
	tg_status status = tg_parquet_create(&target, &options, world.description, world.columns, &out);

	if (status != TG_OK)
		unit_bail("no file");
	for (unsigned row = 0; row < world.rows && status == TG_OK; row++)
	{
		for (unsigned i = 0; i < world.columns && status == TG_OK; i++)
			status = put_cell(out, i, cell_at(row, i));
		if (status == TG_OK)
			status = tg_parquet_put_row(out);
	}
	if (status == TG_OK)
		status = tg_parquet_finish(out, &bytes);
	tg_parquet_out_free(out);
	if (status != TG_OK || bytes != file->count)
		unit_bail("the file was not written");
}

static bool
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

static bool
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

static bool
same_column(const tg_file_column *read, const tg_file_column *written)
{
	return strcmp(read->name, written->name) == 0 && read->type == written->type && read->digits == written->digits &&
		   read->utc == written->utc && read->nullable == written->nullable && read->list == written->list &&
		   read->element_nullable == written->element_nullable && read->precision == written->precision &&
		   read->scale == written->scale && read->bits == written->bits;
}

/* Opens a file and reads all of it; *different_out: it is not as it was written. */
static tg_status
read_table(contents *file, bool *different_out, tg_file_fault *fault)
{
	tg_file_source source = source_of(file);
	static tg_file_values values[TG_FILE_COLUMNS_MAX];
	tg_parquet *parquet;
	unsigned count;
	unsigned done = 0;
	tg_status status = tg_parquet_open(&source, &parquet, fault);

	if (status != TG_OK)
		return status;
	*different_out = tg_parquet_column_count(parquet) != world.columns || tg_parquet_row_count(parquet) != world.rows;
	for (unsigned i = 0; i < tg_parquet_column_count(parquet); i++)
	{
		const tg_file_column *column = tg_parquet_column(parquet, i);

		*different_out = *different_out || !same_column(column, &world.description[i]);
		if (column->type != TG_FILE_UNREADABLE)
			tg_parquet_want(parquet, i);
	}
	do
	{
		status = tg_parquet_read(parquet, values, &count, fault);
		for (unsigned row = 0; row < count && status == TG_OK && !*different_out; row++)
			for (unsigned i = 0; i < world.columns && !*different_out; i++)
				*different_out = done + row >= world.rows ||
								 !same_cell(tg_parquet_column(parquet, i), cell_at(done + row, i), &values[i], row);
		done += count;
	} while (status == TG_OK && count > 0);
	*different_out = *different_out || done != world.rows;
	tg_parquet_close(parquet);
	return status;
}

/* --- damage ------------------------------------------------------------------------------ */

static void
damage(contents *file)
{
	unsigned changes = 1 + dice(4);

	if (dice(10) == 0)
		file->count = dice((unsigned) file->count + 1);
	for (unsigned c = 0; c < changes && file->count > 0; c++)
	{
		/* the metadata are at the end, and shorter than the pages */
		unsigned within = dice(2) == 0 && file->count > 2000 ? 2000 : (unsigned) file->count;
		size_t at = file->count - 1 - dice(within);

		file->data[at] = dice(2) == 0 ? (uint8_t) (file->data[at] ^ 1u << dice(8)) : (uint8_t) dice(256);
	}
}

static unsigned
count_of(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? (unsigned) atoi(text) : otherwise;
}

static unsigned wrong; /* files that are not read as they were written */
static unsigned leaks;
static unsigned refused; /* damaged files */

/* Damages copies of a file, and reads them. */
static void
read_damaged(const contents *file, unsigned damages)
{
	contents copy = {0};
	bool different;
	tg_file_fault fault;

	for (unsigned d = 0; d < damages; d++)
	{
		copy.count = 0;
		append(&copy, file->data, file->count);
		damage(&copy);
		refused += read_table(&copy, &different, &fault) != TG_OK;
		leaks += used != 0;
		used = 0;
	}
	free(copy.data);
}

static void
try_random(unsigned seed, unsigned damages)
{
	contents file = {0};
	bool different = false;
	tg_file_fault fault;

	state = seed;
	choose_table();
	write_table(&file);
	if (read_table(&file, &different, &fault) != TG_OK || different)
	{
		printf("# file %u: %s\n", seed, fault.text);
		wrong++;
	}
	read_damaged(&file, damages);
	free(file.data);
}

static void
try_file(const char *name, unsigned damages)
{
	contents file = {0};
	char path[300];
	char part[4096];
	size_t bytes;
	bool different;
	tg_file_fault fault;
	FILE *stream;

	snprintf(path, sizeof(path), "test/files/%s", name);
	stream = fopen(path, "rb");
	if (stream == NULL)
		unit_bail(path);
	while ((bytes = fread(part, 1, sizeof(part), stream)) > 0)
		append(&file, part, bytes);
	fclose(stream);
	world.rows = world.columns = 0;
	if (read_table(&file, &different, &fault) != TG_OK)
	{
		printf("# %s: %s\n", name, fault.text);
		wrong++;
	}
	read_damaged(&file, damages);
	free(file.data);
}

/* Files that other programs have written, which use what ours does not. */
static unsigned
try_files(unsigned damages)
{
	DIR *directory = opendir("test/files");
	struct dirent *entry;
	unsigned count = 0;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		if (strstr(entry->d_name, ".parquet") != NULL)
		{
			try_file(entry->d_name, damages);
			count++;
		}
	if (directory != NULL)
		closedir(directory);
	return count;
}

int
main(void)
{
	unsigned files = count_of("PARQUET_FILES", 100);
	unsigned damages = count_of("PARQUET_DAMAGES", 50);
	unsigned others;

	world.cells = calloc(ROWS_MAX * COLUMNS_MAX, sizeof(cell));
	for (unsigned f = 0; f < files; f++)
		try_random(f, damages);
	others = try_files(5 * damages);
	unit_ok(wrong == 0, "%u random files are read as they were written, and %u of other programs", files, others);
	unit_ok(others > 5, "there are files of other programs");
	unit_ok(leaks == 0, "no memory is left behind, after errors, too");
	unit_ok(refused > files * damages / 2, "most damaged files are refused (%u)", refused);
	free(world.cells);
	return unit_done();
}
