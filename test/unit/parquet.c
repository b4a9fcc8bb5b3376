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

#include "test/unit/columnar_table.h"

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
		refused += read_table(TG_FORMAT_PARQUET, &copy, &different, &fault) != TG_OK;
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
	tg_columnar_options options;
	tg_file_fault fault;

	state = seed;
	choose_table(TG_FORMAT_PARQUET);
	options = choose_options(TG_FORMAT_PARQUET);
	write_table(TG_FORMAT_PARQUET, &options, &file);
	if (read_table(TG_FORMAT_PARQUET, &file, &different, &fault) != TG_OK || different)
	{
		printf("# file %u: %s\n", seed, fault.text);
		wrong++;
	}
	read_damaged(&file, damages);
	free(file.data);
}

static void
read_contents(const char *name, contents *file)
{
	char path[300];
	char part[4096];
	size_t bytes;
	FILE *stream;

	snprintf(path, sizeof(path), "test/files/%s", name);
	stream = fopen(path, "rb");
	if (stream == NULL)
		unit_bail(path);
	while ((bytes = fread(part, 1, sizeof(part), stream)) > 0)
		append(file, part, bytes);
	fclose(stream);
	world.rows = world.columns = 0;
}

static void
try_file(const char *name, unsigned damages)
{
	contents file = {0};
	bool different;
	tg_file_fault fault;

	read_contents(name, &file);
	if (read_table(TG_FORMAT_PARQUET, &file, &different, &fault) != TG_OK)
	{
		printf("# %s: %s\n", name, fault.text);
		wrong++;
	}
	read_damaged(&file, damages);
	free(file.data);
}

static uint64_t
sum_of_file(const char *name, tg_file_format format)
{
	contents file = {0};
	bool different;
	tg_file_fault fault;

	read_contents(name, &file);
	if (read_table(format, &file, &different, &fault) != TG_OK)
		unit_bail(fault.text);
	free(file.data);
	return table_sum;
}

/* The same rows in both formats, of which each has its own way of nesting. */
static void
check_nested(void)
{
	uint64_t sum = sum_of_file("nested_rs.parquet", TG_FORMAT_PARQUET);

	unit_ok(sum != 0 && sum == sum_of_file("nested_js.arrow", TG_FORMAT_ARROW),
			"nested columns have the values that they have in Arrow");
}

/* --- a large page ------------------------------------------------------------------------ */

#define LARGE_ROWS 100000
#define LARGE_MEMORY (700 << 10) /* less than the places of that many strings */

static const char *const texts[] = {"", "a", "text", "another one"};

/* A text, if it is not NULL, from a dictionary; a number. */
static void
write_large(contents *file)
{
	static const tg_file_column columns[] = {
		{.name = "text", .type = TG_FILE_STRING, .is_bytes = true, .nullable = true},
		{.name = "number", .type = TG_FILE_INT, .bits = 64}};
	const tg_columnar_options options = {.block_rows = LARGE_ROWS, .block_bytes = 64 << 20, .created_by = "a test"};
	const tg_file_target target = {
		.write = append, .resize = resize, .free = release, .argument = file, .memory_max = MEMORY_MAX};
	const tg_file_source memory = source_of(file);
	tg_columnar_out *out;
	tg_columnar_block *block;
	tg_status status = tg_columnar_create(TG_FORMAT_PARQUET, &target, &options, columns, 2, &out);
	uint64_t bytes;
	bool is_full = false;

	if (status != TG_OK || tg_columnar_block_create(out, &memory, &block) != TG_OK)
		unit_bail("no file");
	tg_columnar_fill(out, block);
	for (unsigned i = 0; i < LARGE_ROWS && status == TG_OK; i++)
	{
		const char *text = texts[i % 7 % 4];

		status = i % 11 == 0 ? tg_columnar_put_null(out, 0) : tg_columnar_put_bytes(out, 0, text, strlen(text));
		if (status == TG_OK)
			status = tg_columnar_put_word(out, 1, i % 1013);
		is_full = tg_columnar_put_row(out);
	}
	if (status != TG_OK || !is_full || tg_columnar_write(out, block) != TG_OK ||
		tg_columnar_finish(out, &bytes) != TG_OK)
		unit_bail("the file was not written");
	tg_columnar_block_free(block);
	tg_columnar_out_free(out);
}

static bool
is_large_row(const tg_file_values *values, unsigned row, unsigned at)
{
	const char *text = texts[row % 7 % 4];
	bool null = values[0].nulls[at];

	if (null != (row % 11 == 0) || values[1].words[at] != row % 1013)
		return false;
	return null ||
		   (values[0].bytes[at].count == strlen(text) && memcmp(values[0].bytes[at].data, text, strlen(text)) == 0);
}

/* A page whose values take more memory than the reader may have is read a batch at a time. */
static void
check_large_page(void)
{
	contents file = {0};
	tg_file_source source;
	tg_file_values values[2];
	tg_columnar reader;
	tg_file_fault fault;
	unsigned row = 0;
	unsigned faults = 0;
	unsigned count;

	write_large(&file);
	source = source_of(&file);
	source.memory_max = LARGE_MEMORY;
	if (tg_columnar_open(&reader, TG_FORMAT_PARQUET, &source, &fault) != TG_OK)
		unit_bail(fault.text);
	tg_columnar_want(&reader, 0);
	tg_columnar_want(&reader, 1);
	do
	{
		faults += tg_columnar_read(&reader, values, &count, &fault) != TG_OK;
		for (unsigned i = 0; i < count && faults == 0; i++)
			faults += !is_large_row(values, row++, i);
	} while (count > 0 && faults == 0);
	unit_ok(row == LARGE_ROWS && faults == 0 && tg_columnar_block_count(&reader) == 1,
			"a page of %d rows is read in %d bytes", LARGE_ROWS, LARGE_MEMORY);
	tg_columnar_close(&reader);
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
	check_nested();
	check_large_page();
	others = try_files(5 * damages);
	unit_ok(wrong == 0, "%u random files are read as they were written, and %u of other programs", files, others);
	unit_ok(others > 5, "there are files of other programs");
	unit_ok(leaks == 0, "no memory is left behind, after errors, too");
	unit_ok(refused > files * damages / 2, "most damaged files are refused (%u)", refused);
	free(world.cells);
	return unit_done();
}
