/*
 * arrow.c
 *	  Files and streams of Arrow that other programs have written (test/files) are read, with the
 *	  same values however they are stored; a damaged one gives an error or rows, and no more memory
 *	  than allowed.
 *
 * Random tables are read as they were written.
 *
 * ARROW_FILES: how many random files (100); FUZZ: how many damages of all files together (1000).
 */
#include "runtime/format/arrow.h"

#include <dirent.h>
#include <string.h>

#define MEMORY_MAX (8 << 20)
#include "test/unit/columnar_sum.h"
#include "test/unit/columnar_table.h"

#define FILES_MAX 32
#define SUMS_MAX 64

static unsigned leaks;

/* --- what is read ----------------------------------------------------------------------- */

/* What a reader has given: of each column a sum over its values, in their order. */
typedef struct reading
{
	tg_status status;
	tg_file_fault fault;
	unsigned columns;
	uint64_t rows;
	uint64_t sums[SUMS_MAX];
} reading;

/* Reads the blocks from one on, or all of them; at most so many rows. */
static void
read_blocks(tg_arrow *file, reading *reading, uint64_t rows_max)
{
	static tg_file_values values[TG_FILE_COLUMNS_MAX];
	unsigned count = 0;

	do
	{
		reading->status = tg_arrow_read(file, values, &count, &reading->fault);
		for (unsigned i = 0; i < reading->columns && reading->status == TG_OK; i++)
			for (unsigned row = 0; row < count && tg_arrow_column(file, i)->type != TG_FILE_UNREADABLE; row++)
				sum_row(&reading->sums[i % SUMS_MAX], tg_arrow_column(file, i), &values[i], row);
		reading->rows += count;
	} while (reading->status == TG_OK && count > 0 && reading->rows < rows_max);
}

static reading
read_file(contents *contents, uint64_t rows_max)
{
	tg_file_source source = source_of(contents);
	reading reading = {0};
	char words[2][40];
	tg_arrow *file;

	reading.status = tg_arrow_open(&source, &file, &reading.fault);
	if (reading.status == TG_OK)
	{
		reading.columns = tg_arrow_column_count(file);
		for (unsigned i = 0; i < reading.columns; i++)
		{
			(void) tg_arrow_describe(file, i, words[0], sizeof(words[0]), words[1], sizeof(words[1]));
			if (tg_arrow_column(file, i)->type != TG_FILE_UNREADABLE)
				tg_arrow_want(file, i);
		}
		read_blocks(file, &reading, rows_max);
		tg_arrow_close(file);
	}
	leaks += used != 0;
	used = 0;
	return reading;
}

/* --- files ------------------------------------------------------------------------------ */

static contents files[FILES_MAX];
static char names[FILES_MAX][40];
static unsigned file_count;

static void
read_all_files(void)
{
	DIR *directory = opendir("test/files");
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL && file_count < FILES_MAX)
	{
		char path[300];
		char part[4096];
		size_t bytes;
		FILE *stream;

		if (strstr(entry->d_name, ".arrow") == NULL)
			continue;
		snprintf(path, sizeof(path), "test/files/%s", entry->d_name);
		snprintf(names[file_count], sizeof(names[0]), "%.39s", entry->d_name);
		stream = fopen(path, "rb");
		if (stream == NULL)
			unit_bail(path);
		while ((bytes = fread(part, 1, sizeof(part), stream)) > 0)
			append(&files[file_count], part, bytes);
		fclose(stream);
		file_count++;
	}
	if (directory != NULL)
		closedir(directory);
}

static contents *
file_named(const char *name)
{
	for (unsigned i = 0; i < file_count; i++)
		if (strcmp(names[i], name) == 0)
			return &files[i];
	unit_bail(name);
	return NULL;
}

static void
check_same(const char *a, const char *b)
{
	reading first = read_file(file_named(a), UINT64_MAX);
	reading second = read_file(file_named(b), UINT64_MAX);
	unsigned different = 0;

	for (unsigned i = 0; i < first.columns; i++)
		different += first.sums[i] != second.sums[i];
	unit_ok(first.status == TG_OK && second.status == TG_OK && first.columns == second.columns &&
				first.rows == second.rows && different == 0,
			"%s has the values of %s", a, b);
}

/* A block alone has the rows that it has among the others. */
static void
check_seek(void)
{
	contents *contents = file_named("js_dictionary.arrows");
	tg_file_source source = source_of(contents);
	static const char *const words[] = {"abb", "dca", "yxy"};
	static const unsigned order[] = {2, 0, 1, 2, 1, 0};
	tg_file_values values;
	tg_file_fault fault;
	tg_arrow *file;
	unsigned count;
	unsigned wrong = 0;

	if (tg_arrow_open(&source, &file, &fault) != TG_OK)
		unit_bail(fault.text);
	tg_arrow_want(file, 0);
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++)
	{
		tg_arrow_seek(file, order[i]);
		if (tg_arrow_read(file, &values, &count, &fault) != TG_OK || count != 3)
			unit_bail("no rows");
		for (unsigned row = 0; row < count; row++)
			wrong += values.bytes[row].count != 1 || values.bytes[row].data[0] != words[order[i]][row];
		wrong += tg_arrow_read(file, &values, &count, &fault) != TG_OK || count != 0;
	}
	tg_arrow_close(file);
	unit_ok(wrong == 0, "each block has its own dictionary: one that grows, and one that replaces it");
}

/* What is nowhere is not read. */
static void
check_no_footer(void)
{
	contents *file = file_named("js_views.arrow");
	contents copy = {0};
	reading reading;

	append(&copy, file->data, file->count);
	memset(copy.data + copy.count - 10, 0, 4);
	reading = read_file(&copy, UINT64_MAX);
	free(copy.data);
	unit_ok(reading.status != TG_OK, "a file whose footer has no bytes is refused: %s", reading.fault.text);
}

/* --- damage ----------------------------------------------------------------------------- */

static const uint32_t odd[] = {0, 1, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF8, 0x10000};

/* Places of integers are multiples of 4. */
static void
damage(contents *file)
{
	unsigned changes = 1 + unit_below(&state, 4);

	if (unit_below(&state, 20) == 0)
		file->count = unit_below(&state, (unsigned) file->count + 1);
	for (unsigned i = 0; i < changes && file->count >= 8; i++)
	{
		size_t at = unit_below(&state, (unsigned) file->count - 4);
		uint32_t word = odd[unit_below(&state, sizeof(odd) / sizeof(*odd))];

		switch (unit_below(&state, 4))
		{
			case 0:
				memcpy(file->data + (at & ~(size_t) 3), &word, sizeof(word));
				break;
			case 1:
				file->data[at & ~(size_t) 3] += (uint8_t) (unit_below(&state, 2) == 0 ? 1 : -1);
				break;
			default:
				file->data[at] = (uint8_t) (file->data[at] ^ 1u << unit_below(&state, 8));
		}
	}
}

static void
check_damage(unsigned count)
{
	contents copy = {0};
	unsigned refused = 0;

	for (unsigned i = 0; i < count; i++)
	{
		const contents *file = &files[i % file_count];

		copy.count = 0;
		append(&copy, file->data, file->count);
		damage(&copy);
		refused += read_file(&copy, 1 << 16).status != TG_OK;
	}
	free(copy.data);
	unit_ok(leaks == 0, "no memory is left behind, after errors, too");
	unit_ok(refused > count / 10, "of %u damaged files %u are refused", count, refused);
}

/* A file or stream that ends anywhere. */
static void
check_truncated(const char *name)
{
	const contents *file = file_named(name);
	contents copy = {0};
	unsigned whole = 0;
	uint64_t rows = read_file(file_named(name), UINT64_MAX).rows;

	append(&copy, file->data, file->count);
	for (size_t bytes = 0; bytes < file->count; bytes += bytes < 600 ? 1 : 61)
	{
		reading reading;

		copy.count = bytes;
		reading = read_file(&copy, UINT64_MAX);
		whole += reading.status == TG_OK && reading.rows == rows;
	}
	free(copy.data);
	/* the end of a stream need not be marked */
	unit_ok(whole <= 8, "%s is refused, or has fewer rows, wherever it ends", name);
}

/* --- files of ours ---------------------------------------------------------------------- */

static void
check_random(unsigned count)
{
	contents file = {0};
	tg_file_fault fault;
	unsigned wrong = 0;

	world.cells = calloc(ROWS_MAX * COLUMNS_MAX, sizeof(cell));
	for (unsigned seed = 0; seed < count; seed++)
	{
		bool different = false;
		tg_columnar_options options;

		state = seed;
		file.count = 0;
		choose_table(TG_FORMAT_ARROW);
		options = choose_options(TG_FORMAT_ARROW);
		write_table(TG_FORMAT_ARROW, &options, &file);
		if (read_table(TG_FORMAT_ARROW, &file, &different, &fault) == TG_OK && !different)
			continue;
		printf("# file %u: %s\n", seed, fault.text);
		wrong++;
	}
	free(world.cells);
	free(file.data);
	unit_ok(wrong == 0, "%u random files and streams are read as they were written", count);
}

/* NULLs take as much of a record batch as values do, and so end it, too. */
static void
check_sparse(void)
{
	enum
	{
		COLUMNS = 64,
		ROWS = 2 * MEMORY_MAX / COLUMNS / sizeof(int64_t)
	};
	contents file = {0};
	tg_file_target target = {
		.write = append, .resize = resize, .free = release, .argument = &file, .memory_max = MEMORY_MAX};
	tg_columnar_options options = {
		.codec = TG_CODEC_NONE, .block_rows = ROWS, .block_bytes = MEMORY_MAX / 16, .created_by = "a test"};
	tg_file_source memory = source_of(&file);
	tg_file_column columns[COLUMNS];
	tg_columnar_out *out;
	tg_columnar_block *block;
	uint64_t bytes;
	tg_status status;

	for (unsigned i = 0; i < COLUMNS; i++)
		columns[i] = (tg_file_column){.name = "c", .type = TG_FILE_INT, .bits = 64, .nullable = true};
	status = tg_columnar_create(TG_FORMAT_ARROW, &target, &options, columns, COLUMNS, &out);
	if (status != TG_OK || tg_columnar_block_create(out, &memory, &block) != TG_OK)
		unit_bail("no file");
	tg_columnar_fill(out, block);
	for (unsigned row = 0; row < ROWS && status == TG_OK; row++)
	{
		for (unsigned i = 0; i < COLUMNS && status == TG_OK; i++)
			status = tg_columnar_put_null(out, i);
		if (status == TG_OK && tg_columnar_put_row(out))
			status = tg_columnar_write(out, block);
	}
	if (status == TG_OK)
		status = tg_columnar_write(out, block);
	if (status == TG_OK)
		status = tg_columnar_finish(out, &bytes);
	tg_columnar_block_free(block);
	tg_columnar_out_free(out);
	free(file.data);
	unit_ok(status == TG_OK, "more NULLs than there is memory for are written");
}

int
main(void)
{
	unsigned wrong = 0;

	read_all_files();
	for (unsigned i = 0; i < file_count; i++)
	{
		reading reading = read_file(&files[i], UINT64_MAX);

		if (reading.status != TG_OK || reading.rows == 0)
		{
			printf("# %s: %s\n", names[i], reading.fault.text);
			wrong++;
		}
	}
	unit_ok(file_count >= 10 && wrong == 0, "%u files of other programs are read", file_count);
	check_same("js_file.arrow", "js_batches.arrows");
	check_same("js_file.arrow", "js_zstd.arrow");
	check_same("js_file.arrow", "js_lz4.arrows");
	check_same("js_views.arrow", "js_views.arrows");
	check_seek();
	check_no_footer();
	check_truncated("js_views.arrows");
	check_truncated("js_views.arrow");
	check_truncated("js_dictionary.arrows");
	check_random(count_of("ARROW_FILES", 100));
	check_sparse();
	check_damage(count_of("FUZZ", 1000));
	for (unsigned i = 0; i < file_count; i++)
		free(files[i].data);
	return unit_done();
}
