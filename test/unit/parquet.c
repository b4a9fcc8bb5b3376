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
	others = try_files(5 * damages);
	unit_ok(wrong == 0, "%u random files are read as they were written, and %u of other programs", files, others);
	unit_ok(others > 5, "there are files of other programs");
	unit_ok(leaks == 0, "no memory is left behind, after errors, too");
	unit_ok(refused > files * damages / 2, "most damaged files are refused (%u)", refused);
	free(world.cells);
	return unit_done();
}
