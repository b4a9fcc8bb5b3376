/*
 * summary.c
 *	  The bounds and codes of a settled chunk's columns, step by step: what they say of values of
 *	  each kind, and that they are gone when the chunk has been written to, or memory is short.
 *
 * Two rules are taken out by failpoints: that headers are looked at first, and that the summary is
 * dropped before headers go again.  Then a reader is told of bounds outside of which rows lie.
 * Scans beside writers are in settle.c.
 */
#include "runtime/table/summary.h"

#include <math.h>

#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/reclaim/collector_internal.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/catalog.h"
#include "runtime/table/table_internal.h"
#include "runtime/vector/text.h"
#include "test/unit/storage_unit.h"

#define ROWS 1000 /* in chunks of 16, 64 and 256 slots, and a large one */
#define SMALL 336 /* in the former */

enum
{
	WORD,
	HALF,
	SHORT,
	BYTE,
	WIDE,
	FLOAT,
	TEXT,
	COLUMNS
};

static const uint8_t kinds[COLUMNS] = {TG_KIND_8,  TG_KIND_4, TG_KIND_2,	 TG_KIND_1,
									   TG_KIND_16, TG_KIND_8, TG_KIND_STRING};
static const tg_key_spec no_key = {.part_count = 0};

/* Row n has n in all columns; of some rows a column is NULL, or has something else. */
static void
make_row(int64_t number, tg_value values[COLUMNS], bool nulls[COLUMNS])
{
	__int128 wide = number;
	double real = (double) number;

	memset(values, 0, COLUMNS * sizeof(*values));
	memset(nulls, 0, COLUMNS * sizeof(*nulls));
	values[WORD].word = values[HALF].word = values[SHORT].word = (uint64_t) number;
	values[BYTE].word = (uint64_t) (number % 100);
	memcpy(values[WIDE].bytes, &wide, sizeof(wide));
	memcpy(&values[FLOAT].word, &real, sizeof(real));
	tg_string_make_inline(&values[TEXT].string, "text", 4);
}

static tg_version
add_row(tg_table *table, uint32_t row, const tg_value values[COLUMNS], const bool nulls[COLUMNS])
{
	tg_version version;

	tg_epoch_enter(session);
	if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK ||
		tg_version_store(session, version, row, values, nulls, TG_DATA) != TG_OK)
		abort();
	header_of(version)->begin = 1;
	tg_epoch_leave(session);
	return version;
}

/* The last chunk, a large one, of a table with rows from a number on, which change may change. */
static tg_chunk *
make_chunk(tg_table **table_out, int64_t first,
		   void (*change)(int64_t number, tg_value values[COLUMNS], bool nulls[COLUMNS]))
{
	tg_version version = TG_VERSION_NONE;

	if (tg_table_create(session, 1, 2, kinds, COLUMNS, &no_key, TG_DATA, table_out) != TG_OK)
		abort();
	for (uint32_t i = 0; i < ROWS; i++)
	{
		tg_value values[COLUMNS];
		bool nulls[COLUMNS];

		make_row(first + i, values, nulls);
		if (change != NULL)
			change(first + i, values, nulls);
		version = add_row(*table_out, i, values, nulls);
	}
	tg_leases_end(session);
	(void) settle_all(*table_out, 1);
	return tg_version_chunk(version);
}

static bool
get(const tg_chunk *chunk, unsigned column, tg_bounds_order order, tg_bounds *bounds)
{
	bool known;

	tg_epoch_enter(session);
	known = tg_summary_get(chunk, column, order, bounds);
	tg_epoch_leave(session);
	return known;
}

static void
make(tg_chunk *chunk, unsigned column, tg_bounds_order order)
{
	tg_epoch_enter(session);
	tg_summary_make(session, chunk, column, order);
	tg_epoch_leave(session);
}

/* Makes a column's bounds known, and compares them. */
static bool
is_bounded(tg_chunk *chunk, unsigned column, int64_t low, int64_t high, bool has_null)
{
	tg_bounds_order order = column == FLOAT ? TG_BOUNDS_FLOAT : TG_BOUNDS_INT;
	tg_bounds bounds;

	make(chunk, column, order);
	return get(chunk, column, order, &bounds) && bounds.low == low && bounds.high == high &&
		   bounds.has_null == has_null;
}

/* --- values ----------------------------------------------------------------------------- */

static void
test_kinds(void)
{
	size_t before = used_bytes();
	tg_table *table;
	tg_chunk *chunk = make_chunk(&table, -400, NULL);
	int64_t bytes = table->chunk_bytes;
	int64_t low = -400 + SMALL;
	int64_t high = -400 + ROWS - 1;
	tg_bounds bounds;

	unit_ok(chunk->headers == NULL && chunk->capacity > 256, "a large chunk is settled");
	unit_ok(!get(chunk, WORD, TG_BOUNDS_INT, &bounds), "nothing is known at first");
	unit_ok(is_bounded(chunk, WORD, low, high, false), "8 bytes");
	unit_ok(!get(chunk, HALF, TG_BOUNDS_INT, &bounds), "of one column alone");
	unit_ok(is_bounded(chunk, HALF, low, high, false) && is_bounded(chunk, SHORT, low, high, false), "4 and 2 bytes");
	unit_ok(is_bounded(chunk, BYTE, -64, 99, false), "1 byte");
	unit_ok(is_bounded(chunk, WIDE, low, high, false), "16 bytes");
	unit_ok(is_bounded(chunk, FLOAT, tg_float_rank((double) low), tg_float_rank((double) high), false), "floats");
	unit_ok(!get(chunk, FLOAT, TG_BOUNDS_INT, &bounds), "not as integers");
	unit_ok(!get(chunk, COLUMNS, TG_BOUNDS_INT, &bounds), "nothing of a column that the chunk has not got");
	unit_ok(table->chunk_bytes > bytes && (table->chunk_bytes - bytes) * 25 <= (int64_t) tg_alloc_bytes(chunk),
			"it is on the account, and small");
	make(tg_table_chunk(table, 0), WORD, TG_BOUNDS_INT);
	unit_ok(tg_table_chunk(table, 0)->summary == NULL, "a small chunk has none");
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left");
}

static void
change_some(int64_t number, tg_value values[COLUMNS], bool nulls[COLUMNS])
{
	static const double reals[] = {NAN, -INFINITY, INFINITY, -0.0};
	__int128 wide = (__int128) INT64_MAX + 1;

	nulls[WORD] = number >= SMALL;
	nulls[HALF] = number == SMALL;
	if (number == 500)
		memcpy(values[WIDE].bytes, &wide, sizeof(wide));
	if (number % 2 == 0)
		memcpy(&values[FLOAT].word, &reals[number / 2 % 4], sizeof(double));
}

static void
test_special(void)
{
	tg_table *table;
	tg_chunk *chunk = make_chunk(&table, 0, change_some);

	unit_ok(is_bounded(chunk, HALF, SMALL + 1, ROWS - 1, true), "a NULL has no value");
	unit_ok(is_bounded(chunk, WIDE, INT64_MIN, INT64_MAX, false), "what needs more than 8 bytes is in no bounds");
	unit_ok(is_bounded(chunk, FLOAT, tg_float_rank(-INFINITY), tg_float_rank(NAN), false), "NaN is above all");
	unit_ok(is_bounded(chunk, WORD, INT64_MAX, INT64_MIN, true), "only NULLs");
	unit_ok(tg_float_rank(INFINITY) < tg_float_rank(NAN) && tg_float_rank(-NAN) == tg_float_rank(NAN) &&
				tg_float_rank(1.5) < tg_float_rank(1.75) && tg_float_rank(-1.5) > tg_float_rank(-1.75) &&
				tg_float_rank(-0.0) == tg_float_rank(0.0) && tg_float_rank(-1e-300) < tg_float_rank(0) &&
				tg_float_rank(-INFINITY) < tg_float_rank(-1e300),
			"ranks of floats");
	end_table(table);
}

/* --- periods ---------------------------------------------------------------------------- */

static const char *taken_out; /* a rule */

static bool
take_out(const char *place)
{
	return taken_out != NULL && strcmp(place, taken_out) == 0;
}

/* A row with a value beyond all others comes into the chunk, and it settles again, or not. */
static void
add_beyond(tg_table *table, tg_chunk *chunk, bool settles)
{
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];

	make_row(1000000, values, nulls);
	unit_ok(tg_version_chunk(add_row(table, ROWS, values, nulls)) == chunk, "a row comes into the chunk");
	tg_leases_end(session);
	if (settles)
		unit_ok(settle_all(table, 1) > 0 && chunk->headers == NULL, "which settles again");
}

static void
test_periods(void)
{
	size_t before = used_bytes();

	for (unsigned rule = 0; rule < 3; rule++)
	{
		static const char *const rules[] = {NULL, "summary_of_unsettled", "settle_drop_summary"};
		tg_table *table;
		tg_chunk *chunk = make_chunk(&table, 0, NULL);
		bool told_of_unsettled;
		bool told_of_former;
		tg_bounds bounds;

		taken_out = rules[rule];
		make(chunk, WORD, TG_BOUNDS_INT);
		unit_ok(get(chunk, WORD, TG_BOUNDS_INT, &bounds) && bounds.high == ROWS - 1, "bounds are known");
		add_beyond(table, chunk, false);
		told_of_unsettled = get(chunk, WORD, TG_BOUNDS_INT, &bounds) && bounds.high < 1000000;
		make(chunk, HALF, TG_BOUNDS_INT);
		unit_ok(rule == 1 || !get(chunk, HALF, TG_BOUNDS_INT, &bounds), "nothing is learnt of a chunk with headers");
		unit_ok(settle_all(table, 1) > 0 && chunk->headers == NULL, "it settles again");
		told_of_former = get(chunk, WORD, TG_BOUNDS_INT, &bounds) && bounds.high < 1000000;
		unit_equal(told_of_unsettled, rule == 1, "told of a row beyond the bounds, while there are headers");
		unit_equal(told_of_former, rule == 2, "likewise, when they have gone again");
		taken_out = NULL;
		make(chunk, WORD, TG_BOUNDS_INT);
		unit_ok(rule == 2 || (get(chunk, WORD, TG_BOUNDS_INT, &bounds) && bounds.high == 1000000),
				"the new period's bounds");
		end_table(table);
	}
	unit_equal(used_bytes(), before, "nothing is left of the periods");
}

/* Bounds that are written down when headers have come are not those of the next period. */
static tg_table *late_table;
static tg_chunk *late_chunk;

static bool
write_late(const char *place)
{
	tg_header *headers;

	if (strcmp(place, "summary_make") == 0 && tg_chunk_headers_write(session, late_chunk, TG_DATA, &headers) != TG_OK)
		abort();
	return false;
}

static void
test_late(void)
{
	tg_bounds bounds;

	late_chunk = make_chunk(&late_table, 0, NULL);
	tg_failpoint_set(write_late);
	make(late_chunk, WORD, TG_BOUNDS_INT);
	tg_failpoint_set(take_out);
	unit_ok(late_chunk->summary != NULL && !get(late_chunk, WORD, TG_BOUNDS_INT, &bounds),
			"headers come while a column is measured");
	add_beyond(late_table, late_chunk, true);
	unit_ok(!get(late_chunk, WORD, TG_BOUNDS_INT, &bounds), "and what was measured is gone");
	end_table(late_table);
}

/* --- codes ------------------------------------------------------------------------------ */

static const tg_codes *
get_codes(const tg_chunk *chunk, unsigned column)
{
	const tg_codes *codes;

	tg_epoch_enter(session);
	codes = tg_codes_get(chunk, column);
	tg_epoch_leave(session);
	return codes; /* nobody else is there to drop them */
}

static const tg_codes *
make_codes(tg_chunk *chunk, unsigned column)
{
	tg_epoch_enter(session);
	tg_codes_make(session, chunk, column);
	tg_epoch_leave(session);
	return get_codes(chunk, column);
}

#define HEADER 4
#define BYTES_MAX 400

static unsigned kind_count; /* of texts, */
static unsigned bytes_min;	/* of so many bytes at least */
static unsigned null_every; /* 0: none is NULL */

/* Kinds are short, or differ in the middle, with the same beginning and end. */
static void
change_text(int64_t number, tg_value values[COLUMNS], bool nulls[COLUMNS])
{
	static char datum[HEADER + BYTES_MAX + 16];
	uint32_t bytes;

	memset(datum, 'x', sizeof(datum));
	datum[HEADER + bytes_min / 2] = (char) ('0' + number % kind_count);
	bytes = bytes_min > 0 ? bytes_min : (uint32_t) sprintf(datum + HEADER, "%u", (unsigned) (number % kind_count));
	if (bytes <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&values[TEXT].string, datum + HEADER, bytes);
	else
		tg_string_make_host(&values[TEXT].string, datum, bytes + HEADER, HEADER);
	nulls[TEXT] = null_every > 0 && number % null_every == 0;
}

/* Whether the codes are those of the rows from SMALL on, in the order of the slots. */
static bool
are_codes(const tg_chunk *chunk, const tg_codes *codes)
{
	const tg_string *cells = tg_chunk_column(chunk, TEXT);
	bool right = codes != NULL && codes->count == kind_count + (null_every > 0) && codes->has_null == (null_every > 0);

	for (unsigned slot = 0; right && slot < ROWS - SMALL; slot++)
	{
		unsigned number = SMALL + slot;
		unsigned code = codes->slots[slot];
		bool is_null = null_every > 0 && number % null_every == 0;

		right = code < codes->count && (codes->nulls[code] != 0) == is_null &&
				(is_null ? code == codes->count - 1u : tg_text_is_equal(&codes->values[code], &cells[slot]));
		/* the same value has one code: that of an earlier row */
		if (right && !is_null && slot >= kind_count * 2 && (null_every == 0 || (number - kind_count) % null_every != 0))
			right = codes->slots[slot - kind_count] == code;
	}
	return right;
}

static tg_chunk *
make_texts(tg_table **table_out, unsigned kinds_of_text, unsigned bytes, unsigned nulls)
{
	kind_count = kinds_of_text;
	bytes_min = bytes;
	null_every = nulls;
	return make_chunk(table_out, 0, change_text);
}

static void
test_codes(void)
{
	static const struct
	{
		unsigned kinds, bytes, nulls;
		bool any; /* however large they are beside the chunk */
		bool expected;
	} cases[] = {{1, 0, 0, false, true},	{5, 0, 0, false, true},	  {5, 0, 11, false, true},
				 {5, 25, 0, false, true},	{7, 25, 13, false, true}, {64, 0, 0, false, false},
				 {64, 0, 0, true, true},	{65, 0, 0, true, false},  {63, 0, 101, true, true},
				 {64, 0, 101, true, false}, {60, 100, 0, true, true}, {300, 0, 0, true, false},
				 {5, 252, 0, false, true},	{5, 253, 0, false, false}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		size_t before = used_bytes();
		tg_table *table;
		tg_chunk *chunk = make_texts(&table, cases[i].kinds, cases[i].bytes, cases[i].nulls);
		int64_t bytes = table->chunk_bytes;
		const tg_codes *codes;

		unit_ok(get_codes(chunk, TEXT) == NULL, "no codes are known at first");
		taken_out = cases[i].any ? "summary_any_chunk" : NULL;
		codes = make_codes(chunk, TEXT);
		unit_ok(cases[i].expected ? are_codes(chunk, codes) : codes == NULL, "%u texts of %u bytes, NULLs: %u",
				cases[i].kinds, cases[i].bytes, cases[i].nulls);
		unit_ok(cases[i].any || (table->chunk_bytes - bytes) * 25 <= (int64_t) tg_alloc_bytes(chunk), "are small");
		unit_ok(!cases[i].expected || table->chunk_bytes - bytes > chunk->capacity, "and on the account");
		unit_ok(make_codes(chunk, TEXT) == codes, "they are not made again");
		taken_out = NULL;
		make(chunk, WORD, TG_BOUNDS_INT);
		end_table(table);
		unit_equal(used_bytes(), before, "nothing is left of them");
	}
}

static unsigned made_count; /* so often a column's codes were being made */

static bool
count_made(const char *place)
{
	made_count += strcmp(place, "summary_make") == 0;
	return false;
}

/* What has been found is remembered, until the chunk is written to. */
static void
test_codes_refused(void)
{
	tg_table *table;
	tg_chunk *chunk = make_texts(&table, 300, 0, 0);

	tg_failpoint_set(count_made);
	for (unsigned i = 0; i < 3; i++)
		unit_ok(make_codes(chunk, TEXT) == NULL, "too many texts");
	unit_equal(made_count, 1, "they are looked at once");
	add_beyond(table, chunk, true);
	(void) make_codes(chunk, TEXT);
	unit_equal(made_count, 2, "and once more in another period");
	tg_failpoint_set(take_out);
	end_table(table);
}

/* --- memory ----------------------------------------------------------------------------- */

static void
sweep_all(void)
{
	static tg_sweep sweep;

	while (tg_sweep_run(session, &sweep, 1000))
		continue;
}

static void
test_memory(void)
{
	size_t limit = tg_arena_limit();
	size_t before = used_bytes();
	tg_table *table;
	tg_table *old;
	tg_chunk *chunk = make_chunk(&table, 0, NULL);
	tg_bounds bounds;

	if (tg_catalog_put(session, 1, 2, table, &old) != TG_OK)
		abort();
	make(chunk, WORD, TG_BOUNDS_INT);
	sweep_all();
	unit_ok(get(chunk, WORD, TG_BOUNDS_INT, &bounds), "a sweep leaves it alone");
	tg_arena_limit_set(tg_arena_committed() + tg_arena_committed() / 32);
	sweep_all();
	unit_ok(!get(chunk, WORD, TG_BOUNDS_INT, &bounds) && chunk->summary == NULL, "but not when memory is short");
	make(chunk, WORD, TG_BOUNDS_INT);
	unit_ok(chunk->summary == NULL, "nor is another one made");
	tg_arena_limit_set(limit);
	make(chunk, WORD, TG_BOUNDS_INT);
	unit_ok(get(chunk, WORD, TG_BOUNDS_INT, &bounds), "it is when there is memory");
	end_table(tg_catalog_take(session, 1, 2));
	unit_equal(used_bytes(), before, "nothing is left of it");
}

/* Codes go with the summary, are not made where memory is short, and not lost beside its end. */
static bool
drop_meanwhile(const char *place)
{
	if (strcmp(place, "summary_make") == 0 && tg_retire_reserve(session, TG_SUMMARY_RETIREMENTS) == TG_OK)
		tg_summary_drop(session, late_chunk);
	return false;
}

static void
test_codes_memory(void)
{
	size_t limit = tg_arena_limit();
	size_t before = used_bytes();
	int64_t bytes;
	tg_table *old;

	late_chunk = make_texts(&late_table, 5, 25, 0);
	bytes = late_table->chunk_bytes;
	if (tg_catalog_put(session, 1, 2, late_table, &old) != TG_OK)
		abort();
	tg_failpoint_set(drop_meanwhile);
	unit_ok(make_codes(late_chunk, TEXT) == NULL && late_chunk->summary == NULL,
			"the summary goes while they are made");
	tg_failpoint_set(take_out);
	unit_equal(late_table->chunk_bytes, bytes, "none are on the account then");
	unit_ok(make_codes(late_chunk, TEXT) != NULL, "they are made");
	tg_arena_limit_set(tg_arena_committed() + tg_arena_committed() / 32);
	sweep_all();
	unit_ok(get_codes(late_chunk, TEXT) == NULL && late_chunk->summary == NULL, "they go when memory is short");
	unit_equal(late_table->chunk_bytes, bytes, "the account knows it");
	unit_ok(make_codes(late_chunk, TEXT) == NULL, "none are made then");
	tg_arena_limit_set(limit);
	make(late_chunk, WORD, TG_BOUNDS_INT);
	tg_arena_limit_set(tg_arena_committed() + tg_arena_committed() / 32);
	made_count = 0;
	tg_failpoint_set(count_made);
	unit_ok(make_codes(late_chunk, TEXT) == NULL && made_count == 0, "nor looked for, where there is a summary");
	tg_failpoint_set(take_out);
	tg_arena_limit_set(limit);
	unit_ok(make_codes(late_chunk, TEXT) != NULL, "they are when there is memory");
	end_table(tg_catalog_take(session, 1, 2));
	unit_equal(used_bytes(), before, "nothing is left of them");
}

/* Rules as of bounds: codes of a former period are not found. */
static void
test_codes_periods(void)
{
	size_t before = used_bytes();

	for (unsigned rule = 0; rule < 3; rule++)
	{
		static const char *const rules[] = {NULL, "summary_of_unsettled", "settle_drop_summary"};
		tg_table *table;
		tg_chunk *chunk = make_texts(&table, 3, 0, 0);

		taken_out = rules[rule];
		unit_ok(make_codes(chunk, TEXT) != NULL, "codes are known");
		add_beyond(table, chunk, false);
		unit_equal(get_codes(chunk, TEXT) != NULL, rule == 1, "while there are headers");
		unit_ok(settle_all(table, 1) > 0 && chunk->headers == NULL, "it settles again");
		unit_equal(get_codes(chunk, TEXT) != NULL, rule == 2, "those of the former period");
		taken_out = NULL;
		unit_ok(rule == 2 || (make_codes(chunk, TEXT) != NULL && get_codes(chunk, TEXT)->count == 4),
				"the new period's codes have one more");
		end_table(table);
	}
	unit_equal(used_bytes(), before, "nothing is left of the periods");
}

int
main(void)
{
	start_storage();
	if (tg_horizon_create() != TG_OK || tg_catalog_create() != TG_OK)
		abort();
	tg_failpoint_set(take_out);
	test_kinds();
	test_special();
	test_periods();
	test_late();
	test_memory();
	test_codes();
	test_codes_refused();
	test_codes_memory();
	test_codes_periods();
	return end_storage();
}
