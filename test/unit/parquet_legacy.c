/*
 * parquet_legacy.c
 *	  Parquet files as old programs wrote them: made by hand here, from metadata and pages.
 */
#include "runtime/format/parquet.h"

#include <string.h>

#include "runtime/format/pack.h"
#include "runtime/format/parquet_internal.h"
#include "test/unit/columnar_file.h"

#define ROWS 3

/* An element of a schema; -1: it has no such field. */
typedef struct element
{
	const char *name;
	int physical;
	int width;
	int repetition;
	int children;
	int converted;
} element;

#define ROOT(count)                                                                                                    \
	{                                                                                                                  \
		"root", -1, -1, -1, count, -1                                                                                  \
	}

/* A chunk of one page, without compression. */
typedef struct chunk
{
	int physical;
	uint32_t value_count;
	const uint8_t *page;
	uint32_t bytes;
	uint64_t offset;
} chunk;

static void
put_element(tg_thrift_out *out, const element *element)
{
	tg_thrift_begin(out, 0);
	if (element->physical >= 0)
		tg_thrift_put_integer(out, 1, TG_THRIFT_I32, element->physical);
	if (element->width >= 0)
		tg_thrift_put_integer(out, 2, TG_THRIFT_I32, element->width);
	if (element->repetition >= 0)
		tg_thrift_put_integer(out, 3, TG_THRIFT_I32, element->repetition);
	tg_thrift_put_bytes(out, 4, element->name, strlen(element->name));
	if (element->children >= 0)
		tg_thrift_put_integer(out, 5, TG_THRIFT_I32, element->children);
	if (element->converted >= 0)
		tg_thrift_put_integer(out, 6, TG_THRIFT_I32, element->converted);
	tg_thrift_end(out);
}

static void
put_page(contents *file, chunk *chunk)
{
	uint8_t header[100];
	tg_thrift_out out = {.at = header, .end = header + sizeof(header)};

	chunk->offset = file->count;
	tg_thrift_put_integer(&out, 1, TG_THRIFT_I32, TG_PAGE_DATA);
	tg_thrift_put_integer(&out, 2, TG_THRIFT_I32, chunk->bytes);
	tg_thrift_put_integer(&out, 3, TG_THRIFT_I32, chunk->bytes);
	tg_thrift_begin(&out, 5);
	tg_thrift_put_integer(&out, 1, TG_THRIFT_I32, chunk->value_count);
	tg_thrift_put_integer(&out, 2, TG_THRIFT_I32, TG_ENCODING_PLAIN);
	tg_thrift_put_integer(&out, 3, TG_THRIFT_I32, TG_ENCODING_RLE);
	tg_thrift_put_integer(&out, 4, TG_THRIFT_I32, TG_ENCODING_RLE);
	tg_thrift_end(&out);
	tg_thrift_end(&out);
	append(file, header, (size_t) (out.at - header));
	append(file, chunk->page, chunk->bytes);
}

static void
put_chunk(tg_thrift_out *out, const chunk *chunk, uint64_t end)
{
	tg_thrift_begin(out, 0);
	tg_thrift_begin(out, 3);
	tg_thrift_put_integer(out, 1, TG_THRIFT_I32, chunk->physical);
	tg_thrift_put_integer(out, 4, TG_THRIFT_I32, 0);
	tg_thrift_put_integer(out, 5, TG_THRIFT_I64, chunk->value_count);
	tg_thrift_put_integer(out, 7, TG_THRIFT_I64, (int64_t) (end - chunk->offset));
	tg_thrift_put_integer(out, 9, TG_THRIFT_I64, (int64_t) chunk->offset);
	tg_thrift_end(out);
	tg_thrift_end(out);
}

/* A file of one row group. */
static void
make_file(contents *file, const element *elements, unsigned element_count, chunk *chunks, unsigned chunk_count)
{
	uint8_t metadata[2000];
	uint8_t tail[8];
	tg_thrift_out out = {.at = metadata, .end = metadata + sizeof(metadata)};

	append(file, "PAR1", 4);
	for (unsigned i = 0; i < chunk_count; i++)
		put_page(file, &chunks[i]);
	tg_thrift_put_integer(&out, 1, TG_THRIFT_I32, 1);
	tg_thrift_put_list(&out, 2, TG_THRIFT_STRUCT, element_count);
	for (unsigned i = 0; i < element_count; i++)
		put_element(&out, &elements[i]);
	tg_thrift_put_integer(&out, 3, TG_THRIFT_I64, ROWS);
	tg_thrift_put_list(&out, 4, TG_THRIFT_STRUCT, 1);
	tg_thrift_begin(&out, 0);
	tg_thrift_put_list(&out, 1, TG_THRIFT_STRUCT, chunk_count);
	for (unsigned i = 0; i < chunk_count; i++)
		put_chunk(&out, &chunks[i], i + 1 < chunk_count ? chunks[i + 1].offset : file->count);
	tg_thrift_put_integer(&out, 3, TG_THRIFT_I64, ROWS);
	tg_thrift_end(&out);
	tg_thrift_end(&out);
	append(file, metadata, (size_t) (out.at - metadata));
	tg_write_u32(tail, (uint32_t) (out.at - metadata));
	memcpy(tail + 4, "PAR1", 4);
	append(file, tail, sizeof(tail));
}

/* Opens the file and reads its only batch. */
static tg_parquet *
read_file(contents *file, tg_file_source *source, tg_file_values *values)
{
	tg_parquet *parquet;
	tg_file_fault fault;
	unsigned count;

	*source = source_of(file);
	if (tg_parquet_open(source, &parquet, &fault) != TG_OK)
		unit_bail(fault.text);
	for (unsigned i = 0; i < tg_parquet_column_count(parquet); i++)
		if (tg_parquet_column(parquet, i)->type != TG_FILE_UNREADABLE)
			tg_parquet_want(parquet, i);
	if (tg_parquet_read(parquet, values, &count, &fault) != TG_OK)
		unit_bail(fault.text);
	unit_equal(count, ROWS, "all rows are read");
	return parquet;
}

/* --- lists ------------------------------------------------------------------------------- */

/* [1, 2], [], [3]: repetition levels 0 1 0 0, definition levels as given, then the values. */
static void
test_lists(void)
{
	static const element elements[] = {ROOT(2),
									   {"one", TG_PHYSICAL_INT32, -1, 2, -1, -1},
									   {"two", -1, -1, 1, 1, 3},
									   {"array", TG_PHYSICAL_INT32, -1, 2, -1, -1}};
	static const uint8_t one[] = {2, 0, 0, 0, 3, 0x02, 2, 0, 0, 0, 3, 0x0B, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
	static const uint8_t two[] = {2, 0, 0, 0, 3, 0x02, 3, 0, 0, 0, 3, 0x9A, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
	chunk chunks[] = {{TG_PHYSICAL_INT32, 4, one, sizeof(one), 0}, {TG_PHYSICAL_INT32, 4, two, sizeof(two), 0}};
	static const uint32_t ends[ROWS] = {2, 2, 3};
	static const int64_t words[] = {1, 2, 3};
	tg_file_values values[2];
	contents file = {0};
	tg_file_source source;
	tg_parquet *parquet;

	make_file(&file, elements, 4, chunks, 2);
	parquet = read_file(&file, &source, values);
	for (unsigned i = 0; i < 2; i++)
	{
		const tg_file_column *column = tg_parquet_column(parquet, i);

		unit_ok(column->list && !column->element_nullable && column->nullable == (i == 1), "column %s is a list",
				column->name);
		unit_ok(memcmp(values[i].ends, ends, sizeof(ends)) == 0 && memcmp(values[i].words, words, sizeof(words)) == 0 &&
					values[i].element_nulls == NULL,
				"its elements are those of each row");
	}
	tg_parquet_close(parquet);
	free(file.data);
}

/* --- values ------------------------------------------------------------------------------ */

/* INT96, a decimal of few bytes, a column that is nested, and one behind it. */
static void
test_values(void)
{
	static const element elements[] = {ROOT(4),
									   {"moment", TG_PHYSICAL_INT96, -1, 0, -1, -1},
									   {"amount", TG_PHYSICAL_FIXED, 2, 0, -1, -1},
									   {"nested", -1, -1, 0, 2, -1},
									   {"a", TG_PHYSICAL_INT32, -1, 0, -1, -1},
									   {"b", TG_PHYSICAL_INT64, -1, 0, -1, -1},
									   {"last", TG_PHYSICAL_INT32, -1, 0, -1, -1}};
	uint8_t moments[12 * ROWS] = {0};
	static const uint8_t amounts[2 * ROWS] = {0xFF, 0xFE, 0, 7, 1, 0};
	static const uint8_t words[8 * ROWS] = {5, 0, 0, 0, 6, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
	chunk chunks[] = {{TG_PHYSICAL_INT96, ROWS, moments, sizeof(moments), 0},
					  {TG_PHYSICAL_FIXED, ROWS, amounts, sizeof(amounts), 0},
					  {TG_PHYSICAL_INT32, ROWS, words, 4 * ROWS, 0},
					  {TG_PHYSICAL_INT64, ROWS, words, 8 * ROWS, 0},
					  {TG_PHYSICAL_INT32, ROWS, words, 4 * ROWS, 0}};
	tg_file_values values[4];
	contents file = {0};
	tg_file_source source;
	tg_parquet *parquet;

	tg_write_u64(moments, 1500); /* nanoseconds of 1970-01-01 */
	tg_write_u32(moments + 8, 2440588);
	tg_write_u32(moments + 12 + 8, 2440588 + 20000);
	tg_write_u32(moments + 24 + 8, 0);
	make_file(&file, elements, 7, chunks, 5);
	parquet = read_file(&file, &source, values);
	unit_ok(tg_parquet_column(parquet, 0)->type == TG_FILE_TIMESTAMP && tg_parquet_column(parquet, 0)->digits == 6,
			"INT96 is a timestamp");
	unit_ok(values[0].words[0] == 1 && values[0].words[1] == INT64_C(20000) * 86400000000 &&
				values[0].words[2] == INT64_C(-2440588) * 86400000000,
			"it has microseconds since 1970");
	unit_ok(values[1].bytes[0].count == 2 && values[1].bytes[0].data[0] == 0xFF, "fixed bytes are as in the file");
	unit_ok(tg_parquet_column(parquet, 2)->type == TG_FILE_NESTED && tg_parquet_column(parquet, 2)->node_count == 3 &&
				values[2].nodes[1].words[1] == 6 && values[2].nodes[2].words[0] == INT64_C(0x600000005),
			"a group is a struct");
	unit_ok(values[3].words[0] == 5 && values[3].words[1] == 6 && values[3].words[2] == -1,
			"the column behind it is found");
	tg_parquet_close(parquet);
	unit_equal(used, 0, "no memory is left behind");
	free(file.data);
}

/* --- nested columns ---------------------------------------------------------------------- */

/* The two values of a struct, of a nullable list of such, are NULL or there. */
static const element pairs[] = {ROOT(1),
								{"a", -1, -1, 1, 1, 3},
								{"list", -1, -1, 2, 1, -1},
								{"element", -1, -1, 1, 2, -1},
								{"x", TG_PHYSICAL_INT32, -1, 1, -1, -1},
								{"y", TG_PHYSICAL_INT32, -1, 1, -1, -1}};

/* Each level as a run of its own: (count << 1), level. */
static uint32_t
put_levels(uint8_t *into, const char *levels)
{
	uint32_t count = (uint32_t) strlen(levels);

	tg_write_u32(into, 2 * count);
	for (uint32_t i = 0; i < count; i++)
	{
		into[4 + 2 * i] = 1 << 1;
		into[5 + 2 * i] = (uint8_t) (levels[i] - '0');
	}
	return 4 + 2 * count;
}

/* A page of these levels, with values 7, 8, ... */
static chunk
make_levels(uint8_t *page, const char *repetitions, const char *definitions)
{
	uint32_t at = put_levels(page, repetitions);

	at += put_levels(page + at, definitions);
	for (uint32_t i = 0; i < strlen(definitions); i++, at += 4)
		tg_write_u32(page + at, 7 + i);
	return (chunk){TG_PHYSICAL_INT32, (uint32_t) strlen(definitions), page, at, 0};
}

/* Reads a column of pairs by the levels of x and y. */
static tg_status
read_pairs(const char *const levels[4], tg_file_fault *fault, uint32_t *elements_out)
{
	uint8_t pages[2][200];
	chunk chunks[] = {make_levels(pages[0], levels[0], levels[1]), make_levels(pages[1], levels[2], levels[3])};
	tg_file_values values;
	contents file = {0};
	tg_file_source source;
	tg_parquet *parquet;
	unsigned count;
	tg_status status;

	make_file(&file, pairs, 6, chunks, 2);
	source = source_of(&file);
	if (tg_parquet_open(&source, &parquet, fault) != TG_OK)
		unit_bail(fault->text);
	tg_parquet_want(parquet, 0);
	status = tg_parquet_read(parquet, &values, &count, fault);
	if (status == TG_OK)
		*elements_out = values.nodes[0].ends[ROWS - 1];
	tg_parquet_close(parquet);
	free(file.data);
	return status;
}

/*
 * Levels of NULL, [NULL, {x, NULL}], []; then some that no writer makes.  Values are used by what
 * lists and structs say; so it has to be right, whatever the leaves say.
 */
static void
test_levels(void)
{
	static const char *const right[] = {"0010", "0241", "0010", "0231"};
	static const struct
	{
		const char *name;
		const char *levels[4];
	} wrong[] = {{"an element that follows a list that is NULL", {"0100", "0222", "0100", "0222"}},
				 {"an element that follows an empty list", {"0010", "0141", "0010", "0141"}},
				 {"an element that is none", {"0010", "0211", "0010", "0211"}},
				 {"rows that begin within a list", {"1000", "2222", "1000", "2222"}},
				 {"fewer elements in the second value", {"0010", "0241", "000", "021"}},
				 {"more elements in the second value", {"000", "021", "0010", "0241"}},
				 {"fewer rows in the second value", {"0010", "0241", "00", "02"}},
				 {"a level that is too high", {"0020", "0241", "0010", "0241"}}};
	tg_file_fault fault;
	uint32_t elements = 0;

	unit_ok(read_pairs(right, &fault, &elements) == TG_OK && elements == 2, "a list of structs has its elements");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		unit_ok(read_pairs(wrong[i].levels, &fault, &elements) == TG_DAMAGED, "%s: %s", wrong[i].name, fault.text);
	unit_equal(used, 0, "no memory is left behind");
}

/* So many groups within each other, and a value. */
static tg_status
open_nested(unsigned depth, tg_file_fault *fault, bool *readable_out)
{
	static uint8_t word[4 * ROWS];
	element elements[100] = {ROOT(1)};
	chunk chunk = {TG_PHYSICAL_INT32, ROWS, word, sizeof(word), 0};
	contents file = {0};
	tg_file_source source;
	tg_parquet *parquet;
	tg_status status;

	for (unsigned i = 1; i <= depth; i++)
		elements[i] = (element){"g", -1, -1, 0, 1, -1};
	elements[depth + 1] = (element){"v", TG_PHYSICAL_INT32, -1, 0, -1, -1};
	make_file(&file, elements, depth + 2, &chunk, 1);
	source = source_of(&file);
	status = tg_parquet_open(&source, &parquet, fault);
	if (status == TG_OK)
	{
		*readable_out = tg_parquet_column(parquet, 0)->type == TG_FILE_NESTED;
		tg_parquet_close(parquet);
	}
	free(file.data);
	return status;
}

static void
test_depth(void)
{
	tg_file_fault fault;
	bool readable = false;

	unit_ok(open_nested(TG_FILE_NESTING_MAX - 1, &fault, &readable) == TG_OK && readable, "a column may be nested");
	unit_ok(open_nested(TG_FILE_NESTING_MAX, &fault, &readable) == TG_OK && !readable,
			"one that is nested too deeply cannot be read");
	unit_ok(open_nested(2 * TG_FILE_NESTING_MAX + 1, &fault, &readable) == TG_UNFIT, "nor a file, finally: %s",
			fault.text);
}

int
main(void)
{
	test_lists();
	test_values();
	test_levels();
	test_depth();
	return unit_done();
}
