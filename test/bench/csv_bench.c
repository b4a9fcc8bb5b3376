/*
 * csv_bench.c
 *	  Bytes of CSV that one thread makes into typed vectors, and finds the records of.
 *
 *	csv_bench FILE [rounds]		default: 5 rounds; FILE: rows of TPC-H's lineitem (tpch/rows.c)
 *
 * Prints what the best round reached, in GB/s of the thread's own processor time, so that a busy
 * machine disturbs less (its caches still do):
 *
 *	cut		where blocks of the file begin (csv.h): what a session does before a load
 *	read	values of all 16 columns, texts checked and left where they are (csv_read.h): wanted 0.8
 *	cells	these as values of a table, texts copied (batch/cell.h)
 *
 * Built from this file, the readers of runtime/format/csv*.c, text_column.c, source.c, runtime/batch/cell.c and runtime/base/check.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/batch/cell.h"
#include "runtime/format/csv_read.h"

#define BLOCK_BYTES (8u << 20)
#define BLOCKS_MAX 4096
#define STRINGS_BYTES (1u << 20)
#define COLUMNS 16
#define ROWS_AT_ONCE 64

static const tg_csv_column columns[COLUMNS] = {
	{.type = TG_FILE_INT, .bits = 32},
	{.type = TG_FILE_INT, .bits = 32},
	{.type = TG_FILE_INT, .bits = 32},
	{.type = TG_FILE_INT, .bits = 32},
	{.type = TG_FILE_DECIMAL, .precision = 15, .scale = 2},
	{.type = TG_FILE_DECIMAL, .precision = 15, .scale = 2},
	{.type = TG_FILE_DECIMAL, .precision = 15, .scale = 2},
	{.type = TG_FILE_DECIMAL, .precision = 15, .scale = 2},
	{.type = TG_FILE_STRING},
	{.type = TG_FILE_STRING},
	{.type = TG_FILE_DATE},
	{.type = TG_FILE_DATE},
	{.type = TG_FILE_DATE},
	{.type = TG_FILE_STRING},
	{.type = TG_FILE_STRING},
	{.type = TG_FILE_STRING},
};

static tg_cell cells[COLUMNS];
static uint8_t *contents;
static size_t contents_bytes;
static tg_csv_block blocks[BLOCKS_MAX];
static unsigned block_count;
static tg_csv_dialect dialect = {.delimiter = '|', .quote = '"', .escape = '"'};
static uint64_t row_count;
static unsigned char strings[STRINGS_BYTES];

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

static void *
resize(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	return realloc(memory, bytes);
}

static void
give(void *argument, void *memory)
{
	free(memory);
}

static void
cut(void)
{
	tg_csv_cutter cutter = {.dialect = {.delimiter = '|', .quote = '"', .escape = '"'}};
	size_t at = 0;

	block_count = 0;
	while (at < contents_bytes && block_count < BLOCKS_MAX)
	{
		size_t bytes = tg_csv_cut(&cutter, contents + at, contents_bytes - at, true, at + BLOCK_BYTES);

		blocks[block_count++] = (tg_csv_block){.offset = at, .bytes = (uint32_t) bytes};
		at += bytes;
	}
	dialect = cutter.dialect;
	row_count = cutter.rows;
}

static void
take_cells(const tg_file_values *values, unsigned count)
{
	static tg_value taken[ROWS_AT_ONCE * COLUMNS];
	static bool nulls[ROWS_AT_ONCE * COLUMNS];
	static uint8_t faults[ROWS_AT_ONCE];
	static uint16_t faulty[ROWS_AT_ONCE];
	const tg_cell_rows rows = {.values = taken, .nulls = nulls, .pitch = ROWS_AT_ONCE, .faults = faults, .columns = faulty};

	for (unsigned row = 0; row < count; row += ROWS_AT_ONCE)
	{
		tg_cell_memory memory = {.data = strings, .bytes = sizeof(strings)};
		unsigned left = count - row < ROWS_AT_ONCE ? count - row : ROWS_AT_ONCE;

		for (unsigned i = 0; i < COLUMNS; i++)
			tg_cell_take(&cells[i], &values[i], row, left, &memory, &rows);
		for (unsigned i = 0; i < left; i++)
			if (faults[i] != TG_CELL_FITS)
				abort();
	}
}

static void
read_all(bool as_cells)
{
	const tg_csv_format format = {.dialect = dialect, .null_text = "", .columns = columns, .column_count = COLUMNS};
	const tg_file_source source = {.resize = resize, .free = give, .memory_max = SIZE_MAX};
	tg_csv_reader *reader;
	uint64_t rows = 0;

	if (tg_csv_reader_create(&source, &format, &reader) != TG_OK)
		abort();
	for (unsigned i = 0; i < block_count; i++)
	{
		tg_file_values values[COLUMNS];
		unsigned count;

		/* nothing of lineitem is quoted, so the reader changes nothing */
		tg_csv_begin(reader, contents + blocks[i].offset, blocks[i].bytes, 0, false);
		while (tg_csv_read(reader, values, &count) == TG_OK && count > 0)
		{
			for (unsigned row = 0; row < count; row++)
				if (tg_csv_records(reader)[row].is_odd)
					abort();
			if (as_cells)
				take_cells(values, count);
			rows += count;
		}
	}
	tg_csv_reader_free(reader);
	if (rows != row_count)
		abort();
}

static void
read_values(void)
{
	read_all(false);
}

static void
read_cells(void)
{
	read_all(true);
}

static void
make_cells(void)
{
	for (unsigned i = 0; i < COLUMNS; i++)
	{
		bool is_decimal = columns[i].type == TG_FILE_DECIMAL;

		cells[i] = (tg_cell){.source = (uint16_t) i,
							 .column = (uint16_t) i,
							 .form = is_decimal							 ? TG_CELL_DECIMAL
									 : columns[i].type == TG_FILE_STRING ? TG_CELL_TEXT
																		 : TG_CELL_WORD,
							 .is_checked = true,
							 .multiply = 1,
							 .divide = 1,
							 .low = INT32_MIN,
							 .high = INT32_MAX,
							 .limit_low = UINT64_C(1000000000000000),
							 .bytes_max = UINT32_MAX};
	}
}

static void
load_file(const char *name)
{
	FILE *file = fopen(name, "rb");

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		abort();
	contents_bytes = (size_t) ftell(file);
	contents = malloc(contents_bytes + TG_CSV_SLACK);
	rewind(file);
	if (contents == NULL || fread(contents, 1, contents_bytes, file) != contents_bytes)
		abort();
	memset(contents + contents_bytes, 0, TG_CSV_SLACK);
	fclose(file);
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		void (*work)(void);
	} works[] = {{"cut", cut}, {"read", read_values}, {"cells", read_cells}};
	int rounds = argc > 2 ? atoi(argv[2]) : 5;
	double best[3] = {0};

	if (argc < 2)
		return 2;
	load_file(argv[1]);
	make_cells();
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 3; i++)
		{
			double begin = now();
			double speed;

			works[i].work();
			speed = (double) contents_bytes / 1e9 / (now() - begin);
			best[i] = speed > best[i] ? speed : best[i];
		}
	for (int i = 0; i < 3; i++)
		printf("%-6s %6.2f GB/s  %6.2f M rows/s\n", works[i].name, best[i],
			   best[i] * 1e3 * (double) row_count / (double) contents_bytes);
	return 0;
}
