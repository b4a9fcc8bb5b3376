/*
 * vectors.c
 *	  Values come out of chunks as they went in: every kind, NULLs, columns
 *	  that a chunk of an older layout does not have.
 *
 * The chunks are made by hand here; what a slot holds follows from its chunk,
 * column and number, so each value that comes out can be told by itself.
 */
#include "runtime/order/value.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/exec/vectors.h"

#include <string.h>
#include <time.h>

#include "runtime/base/atomic.h"
#include "runtime/order/kind.h"
#include "test/unit/unit.h"

#define KINDS 6

static const uint8_t all_kinds[KINDS] = {TG_KIND_1, TG_KIND_2, TG_KIND_4, TG_KIND_8, TG_KIND_16, TG_KIND_STRING};

typedef enum null_pattern
{
	NULLS_NONE,
	NULLS_SOME,
	NULLS_ALL,
	NULLS_PATTERNS
} null_pattern;

typedef struct test_chunk
{
	tg_chunk *chunk;
	tg_layout layout;
	uint32_t offsets[KINDS];
	null_pattern nulls;
	unsigned seed;
} test_chunk;

static uint64_t
hash(uint64_t number)
{
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

static bool
expected_null(const test_chunk *test, unsigned column, unsigned slot)
{
	return column >= test->layout.column_count || test->nulls == NULLS_ALL ||
		   (test->nulls == NULLS_SOME && hash(test->seed + column * 4099 + slot) % 3 == 0);
}

static tg_value
expected_value(const test_chunk *test, unsigned column, unsigned slot)
{
	uint64_t word = hash(test->seed * 31 + column * 65537 + slot);
	tg_value value;

	memset(&value, 0, sizeof(value));
	switch (test->layout.kinds[column])
	{
		case TG_KIND_1:
			value.word = (uint64_t) (int64_t) (int8_t) word;
			break;
		case TG_KIND_2:
			value.word = (uint64_t) (int64_t) (int16_t) word;
			break;
		case TG_KIND_4:
			value.word = (uint64_t) (int64_t) (int32_t) word;
			break;
		case TG_KIND_8:
			value.word = word;
			break;
		default:
			memcpy(value.bytes, &word, 8);
			word = hash(word);
			memcpy(value.bytes + 8, &word, 8);
			break;
	}
	return value;
}

/*
 * A chunk with the first column_count of all kinds; widest columns first, as storage lays them out.
 */
static void
make_chunk(test_chunk *test, unsigned capacity, unsigned column_count, null_pattern nulls, unsigned seed)
{
	unsigned words = (capacity + 63) / 64;
	size_t bytes = sizeof(tg_chunk);
	uint32_t offset = 0;
	unsigned char *at;

	*test = (test_chunk){.nulls = nulls, .seed = seed};
	for (unsigned width = 16; width > 0; width /= 2)
		for (unsigned i = 0; i < column_count; i++)
		{
			unsigned own = all_kinds[i] <= TG_KIND_8 ? 1u << all_kinds[i] : 16;

			if (own == width)
			{
				test->offsets[i] = offset;
				offset += width;
			}
		}
	test->layout = (tg_layout){
		.column_count = (uint16_t) column_count, .slot_bytes = offset, .kinds = all_kinds, .offsets = test->offsets};

	bytes += (size_t) capacity * (offset + sizeof(uint32_t)) + (column_count + 1) * words * sizeof(uint64_t);
	bytes = (bytes + 63) & ~(size_t) 63;
	test->chunk = aligned_alloc(64, bytes);
	memset(test->chunk, 0, bytes);
	at = (unsigned char *) (test->chunk + 1);
	test->chunk->layout = &test->layout;
	test->chunk->capacity = (uint16_t) capacity;
	test->chunk->values = at;
	at += (size_t) offset * capacity;
	test->chunk->rows = (uint32_t *) at;
	at += capacity * sizeof(uint32_t);
	test->chunk->nulls = (uint64_t *) at;
	test->chunk->free = test->chunk->nulls + column_count * words;

	for (unsigned slot = 0; slot < capacity; slot++)
	{
		test->chunk->rows[slot] = (uint32_t) hash(seed + slot);
		for (unsigned i = 0; i < column_count; i++)
		{
			unsigned char *base = test->chunk->values + (size_t) test->offsets[i] * capacity;
			unsigned width = all_kinds[i] <= TG_KIND_8 ? 1u << all_kinds[i] : 16;
			tg_value value = expected_value(test, i, slot);

			/* little-endian: the low bytes of word */
			memcpy(base + (size_t) slot * width, &value, width);
			if (expected_null(test, i, slot))
			{
				test->chunk->nulls[i * words + slot / 64] |= (uint64_t) 1 << slot % 64;
				test->chunk->null_columns |= (uint64_t) 1 << i;
			}
		}
	}
}

static bool
row_is_right(const tg_vectors *vectors, unsigned at, const test_chunk *test, unsigned slot)
{
	if (vectors->rows[at] != (uint32_t) hash(test->seed + slot))
		return false;
	for (unsigned i = 0; i < vectors->column_count; i++)
	{
		unsigned column = vectors->columns[i];
		tg_value expected;

		if (vectors->nulls[i][at] != expected_null(test, column, slot))
			return false;
		if (vectors->nulls[i][at])
			continue;
		expected = expected_value(test, column, slot);
		if (vectors->kinds[i] >= TG_KIND_16)
		{
			if (memcmp((tg_value *) vectors->data[i] + at, &expected, sizeof(expected)) != 0)
				return false;
		}
		else if (((uint64_t *) vectors->data[i])[at] != expected.word)
			return false;
	}
	return true;
}

/* Vectors in memory of exactly their size. */
static tg_vectors *
make_vectors(const uint16_t *columns, unsigned column_count, unsigned capacity)
{
	uint8_t kinds[KINDS];
	size_t bytes;
	void *memory;

	for (unsigned i = 0; i < column_count; i++)
		kinds[i] = all_kinds[columns[i]];
	bytes = tg_vectors_bytes(kinds, column_count, capacity);
	memory = aligned_alloc(64, (bytes + 63) & ~(size_t) 63);
	return tg_vectors_init(memory, columns, kinds, column_count, capacity);
}

/*
 * Each array on its own cache line, none over another: writing one leaves all others as they are.
 */
static void
check_layout(unsigned capacity)
{
	const uint16_t columns[] = {5, 0, 3, 2, 4, 1, 5};
	unsigned count = sizeof(columns) / sizeof(columns[0]);
	uint8_t kinds[7];
	size_t bytes;
	unsigned char *memory;
	tg_vectors *vectors;
	bool aligned = true;
	bool apart = true;
	bool inside = true;

	for (unsigned i = 0; i < count; i++)
		kinds[i] = all_kinds[columns[i]];
	bytes = tg_vectors_bytes(kinds, count, capacity);
	memory = aligned_alloc(64, (bytes + 63) & ~(size_t) 63);
	vectors = tg_vectors_init(memory, columns, kinds, count, capacity);
	memset(vectors->rows, 1, capacity * sizeof(uint32_t));
	for (unsigned i = 0; i < count; i++)
	{
		memset(vectors->data[i], (int) (2 + i), capacity * (kinds[i] >= TG_KIND_16 ? 16 : 8));
		memset(vectors->nulls[i], (int) (100 + i), capacity);
		aligned = aligned && (uintptr_t) vectors->data[i] % 64 == 0 && (uintptr_t) vectors->nulls[i] % 64 == 0;
		inside = inside && vectors->nulls[i] + capacity <= memory + bytes;
	}
	for (unsigned i = 0; i < count; i++)
	{
		size_t data_bytes = capacity * (size_t) (kinds[i] >= TG_KIND_16 ? 16 : 8);

		for (size_t byte = 0; byte < data_bytes; byte++)
			apart = apart && ((unsigned char *) vectors->data[i])[byte] == 2 + i;
		for (size_t byte = 0; byte < capacity; byte++)
			apart = apart && vectors->nulls[i][byte] == 100 + i;
		apart = apart && vectors->columns[i] == columns[i] && vectors->kinds[i] == kinds[i];
	}
	for (size_t byte = 0; byte < capacity * sizeof(uint32_t); byte++)
		apart = apart && ((unsigned char *) vectors->rows)[byte] == 1;
	unit_ok(aligned, "capacity %u: arrays are aligned to a cache line", capacity);
	unit_ok(apart, "capacity %u: arrays do not overlap", capacity);
	unit_ok(inside && vectors->capacity == capacity && vectors->count == 0 && vectors->column_count == count,
			"capacity %u: they lie in the memory asked for", capacity);
	free(memory);
}

/* Random ascending selections, neighbours among them, until the vectors are full. */
static void
check_gather(unsigned capacity, unsigned column_count, null_pattern nulls)
{
	const uint16_t columns[] = {3, 5, 0, 1, 4, 2};
	tg_vectors *vectors = make_vectors(columns, KINDS, 1024);
	unsigned short source[1024]; /* slot by row */
	uint16_t slots[1024];
	test_chunk test;
	bool right = true;
	unsigned seed = 17 * capacity + column_count;

	make_chunk(&test, capacity, column_count, nulls, seed);
	for (unsigned round = 0; round < 200 && right; round++)
	{
		vectors->count = 0;
		for (;;)
		{
			unsigned first = (unsigned) hash(seed++) % capacity;
			unsigned end = first + (unsigned) hash(seed++) % (capacity - first) + 1;
			unsigned density = (unsigned) hash(seed++) % 4; /* 0: neighbours */
			unsigned room = 1024 - vectors->count;
			unsigned count = 0;

			for (unsigned slot = first; slot < end && count < room; slot++)
				if (density == 0 || hash(seed++) % (density + 1) == 0)
					slots[count++] = (uint16_t) slot;
			for (unsigned i = 0; i < count; i++)
				source[vectors->count + i] = slots[i];
			tg_vectors_gather(vectors, test.chunk, slots, NULL, count);
			if (count == room)
				break;
		}
		right = vectors->count == 1024;
		for (unsigned i = 0; i < 1024 && right; i++)
			right = row_is_right(vectors, i, &test, source[i]);
	}
	unit_ok(right, "gather: %u slots, %u of 6 columns there, null pattern %d", capacity, column_count, (int) nulls);

	free(test.chunk);
	free(vectors);
}

/* Versions of two chunks in any order, portion by portion, until the vectors are full. */
static void
check_collect(unsigned capacity, unsigned column_count, null_pattern nulls, null_pattern other_nulls)
{
	const uint16_t columns[] = {3, 5, 0, 1, 4, 2};
	tg_vectors *vectors = make_vectors(columns, KINDS, 1024);
	test_chunk tests[2];
	unsigned seed = 23 * capacity + column_count;
	bool right = true;

	make_chunk(&tests[0], capacity, column_count, nulls, seed);
	make_chunk(&tests[1], 1024, KINDS, other_nulls, seed + 1);
	while (vectors->count < 1024)
	{
		unsigned before = vectors->count;
		unsigned count = (unsigned) hash(seed++) % (1025 - before);
		unsigned sources[1024]; /* slot * 2, and which chunk */
		tg_version versions[1024];
		uint32_t rows[1024];

		for (unsigned i = 0; i < count; i++)
		{
			unsigned which = (unsigned) hash(seed++) % 4 == 0;
			unsigned slot = (unsigned) hash(seed++) % tests[which].chunk->capacity;

			sources[i] = slot * 2 + which;
			versions[i] = tg_version_make(tests[which].chunk, slot);
			rows[i] = tests[which].chunk->rows[slot];
		}
		tg_vectors_collect(vectors, versions, rows, count);
		right = right && vectors->count == before + count;
		for (unsigned i = 0; i < count && right; i++)
			right = row_is_right(vectors, before + i, &tests[sources[i] % 2], sources[i] / 2);
	}
	unit_ok(right, "collect: %u slots, %u of 6 columns there, null patterns %d, %d", capacity, column_count,
			(int) nulls, (int) other_nulls);
	free(tests[0].chunk);
	free(tests[1].chunk);
	free(vectors);
}

static void
check_no_columns(void)
{
	tg_vectors *vectors = make_vectors(NULL, 0, 64);
	const uint16_t slots[] = {0, 2, 63};
	const uint32_t given[] = {70, 50, 60};
	tg_version version;
	test_chunk test;

	make_chunk(&test, 64, KINDS, NULLS_NONE, 5);
	tg_vectors_gather(vectors, test.chunk, slots, NULL, 3);
	tg_vectors_gather(vectors, test.chunk, slots, NULL, 0);
	version = tg_version_make(test.chunk, 1);
	tg_vectors_collect(vectors, &version, &test.chunk->rows[1], 1);
	unit_ok(vectors->count == 4 && row_is_right(vectors, 1, &test, 2) && row_is_right(vectors, 3, &test, 1),
			"without columns there are row ids and a count");
	tg_vectors_gather(vectors, test.chunk, slots, given, 3);
	unit_ok(vectors->count == 7 && memcmp(vectors->rows + 4, given, sizeof(given)) == 0,
			"row ids that are known are taken");
	free(test.chunk);
	free(vectors);
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

/* Figures, not checks: one column at a time, row ids included. */
static void
report_speed(void)
{
	static const char *const names[] = {"1", "2", "4", "8", "16", "string"};
	test_chunk test;
	uint16_t all[1024];
	uint16_t half[1024];
	unsigned half_count = 0;

	make_chunk(&test, 1024, KINDS, NULLS_NONE, 9);
	for (unsigned i = 0; i < 1024; i++)
		all[i] = (uint16_t) i;
	for (unsigned i = 0; i < 1024; i++)
		if (hash(i) % 2 == 0)
			half[half_count++] = (uint16_t) i;
	for (uint16_t column = 0; column < KINDS; column++)
	{
		tg_vectors *vectors = make_vectors(&column, 1, 1024);
		const int rounds = 2000;
		double start = now();
		double middle;

		for (int i = 0; i < rounds; i++)
		{
			vectors->count = 0;
			tg_vectors_gather(vectors, test.chunk, all, NULL, 1024);
		}
		middle = now();
		for (int i = 0; i < rounds; i++)
		{
			vectors->count = 0;
			tg_vectors_gather(vectors, test.chunk, half, NULL, half_count);
		}
		printf("# kind %s: %.2f ns a row for neighbours, %.2f for a selection\n", names[column],
			   (middle - start) * 1e9 / rounds / 1024, (now() - middle) * 1e9 / rounds / half_count);
		free(vectors);
	}
	free(test.chunk);
}

int
main(void)
{
	check_layout(1);
	check_layout(100);
	check_layout(1024);
	for (null_pattern nulls = 0; nulls < NULLS_PATTERNS; nulls++)
	{
		check_gather(1024, KINDS, nulls);
		check_gather(1024, 3, nulls);
		check_gather(48, KINDS, nulls);
		check_gather(16, 1, nulls);
		for (null_pattern other_nulls = 0; other_nulls < NULLS_PATTERNS; other_nulls++)
			check_collect(48, 3, nulls, other_nulls);
	}
	check_no_columns();
	report_speed();
	return unit_done();
}
