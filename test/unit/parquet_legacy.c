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
	uint8_t metadata[1000];
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
	unit_ok(tg_parquet_column(parquet, 2)->type == TG_FILE_UNREADABLE, "a nested column cannot be read");
	unit_ok(values[3].words[0] == 5 && values[3].words[1] == 6 && values[3].words[2] == -1,
			"the column behind it is found");
	tg_parquet_close(parquet);
	unit_equal(used, 0, "no memory is left behind");
	free(file.data);
}

int
main(void)
{
	test_lists();
	test_values();
	return unit_done();
}
