/*
 * dictionary.c
 *	  Ranks are in the order of the values, and equal for equal values, in whatever order the values
 *	  come, also from several threads.  Ranks of sorted and of random values are short.  If memory
 *	  is refused, nothing changes.
 */
#include "runtime/index/dictionary.h"

#include <string.h>

#include "runtime/reclaim/horizon.h"
#include "runtime/table/lease.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define VALUES 4000
#define THREADS 4
#define THREAD_ADDS 3000

static tg_session *main_session;

/* Values are numbers; those with the same half are equal. */
static int
compare_numbers(void *argument, const void *value, size_t value_bytes)
{
	int32_t sought = *(int32_t *) argument / 2;
	int32_t other;

	memcpy(&other, value, sizeof(other));
	other /= 2;
	return value_bytes == sizeof(other) ? (sought > other) - (sought < other) : 0;
}

static int
compare_ranks(const tg_ranked *a, const tg_ranked *b)
{
	uint32_t common = a->rank_bytes < b->rank_bytes ? a->rank_bytes : b->rank_bytes;
	int order = common > 0 ? memcmp(a->rank, b->rank, common) : 0;

	return order != 0 ? order : (a->rank_bytes > b->rank_bytes) - (a->rank_bytes < b->rank_bytes);
}

static tg_table *
make_table(void)
{
	static const uint8_t kinds[] = {TG_KIND_4};
	tg_table *table;

	if (tg_table_create(main_session, 1, 1, kinds, 1, NULL, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	return table;
}

static tg_dictionary *
open_dictionary(tg_session *session, tg_table *table)
{
	tg_dictionary *dictionary;

	if (tg_dictionary_get(session, table, (tg_ranking){.compare = 1, .collation = 2, .type = 3}, &dictionary) != TG_OK)
		unit_bail("no dictionary");
	return dictionary;
}

static tg_status
add(tg_session *session, tg_dictionary *dictionary, int32_t number, tg_ranked *ranked)
{
	return tg_dictionary_add(session, dictionary, compare_numbers, &number, &number, sizeof(number), ranked);
}

/* Each pair of neighbours from low to high, and each value by a look of its own. */
static bool
is_in_order(const tg_dictionary *dictionary, int32_t low, int32_t high, uint32_t *rank_bytes_max)
{
	tg_ranked before = {.rank_bytes = 0};

	for (int32_t number = low; number < high; number += 2)
	{
		tg_ranked ranked;
		int32_t equal = number + 1;
		tg_ranked again;

		if (!tg_dictionary_look(dictionary, compare_numbers, &number, &ranked, NULL) ||
			!tg_dictionary_look(dictionary, compare_numbers, &equal, &again, NULL) || ranked.rank != again.rank ||
			compare_ranks(&before, &ranked) >= 0)
			return false;
		if (ranked.rank_bytes > *rank_bytes_max)
			*rank_bytes_max = ranked.rank_bytes;
		before = ranked;
	}
	return true;
}

/* The i-th of VALUES numbers of 2 .. 2 * VALUES, in an order of that name. */
static int32_t
number_at(const char *order, uint32_t i)
{
	if (strcmp(order, "ascending") == 0)
		return 2 * (int32_t) i + 2;
	if (strcmp(order, "descending") == 0)
		return 2 * (int32_t) (VALUES - i);
	if (strcmp(order, "ascending before others") == 0)
		return i == 0 ? 2 * VALUES : 2 * (int32_t) i;
	if (strcmp(order, "descending behind others") == 0)
		return i == 0 ? 2 : 2 * (int32_t) (VALUES - i + 1);
	if (strcmp(order, "to the middle") == 0)
		return i % 2 == 0 ? (int32_t) i + 2 : 2 * VALUES - (int32_t) i + 1;
	if (strcmp(order, "two up, one down") == 0)
		return i % 3 < 2 ? 2 * (int32_t) (i - i / 3) + 2 : 2 * VALUES - 2 * (int32_t) (i / 3);
	return 2 * (int32_t) ((uint64_t) i * 2654435761u % VALUES) + 2; /* in disorder */
}

static void
check_order(const char *order, uint32_t bytes_max)
{
	tg_table *table = make_table();
	tg_dictionary *dictionary = open_dictionary(main_session, table);
	uint32_t rank_bytes = 0;
	unsigned failed = 0;
	int32_t low = 0;
	int32_t high = 2 * VALUES + 2;
	tg_ranked ranked;

	for (uint32_t i = 0; i < VALUES; i++)
		failed += add(main_session, dictionary, number_at(order, i), &ranked) != TG_OK;
	unit_equal(failed, 0, "%s: all are added", order);
	unit_ok(is_in_order(dictionary, 2, high, &rank_bytes), "%s: ranks are in order", order);
	unit_ok(rank_bytes <= bytes_max, "%s: ranks have at most %u bytes, not %u", order, bytes_max, rank_bytes);
	unit_ok(!tg_dictionary_look(dictionary, compare_numbers, &low, &ranked, NULL) && ranked.rank_bytes == 0,
			"%s: nothing is below the first", order);
	unit_ok(!tg_dictionary_look(dictionary, compare_numbers, &high, &ranked, NULL) && ranked.value_bytes == 4 &&
				*(const int32_t *) ranked.value / 2 == VALUES,
			"%s: the last is below what is beyond all", order);
	tg_table_release(main_session, table);
}

/*
 * Each value lies between the last two, on a random side: one bit each, until a rank is too long.
 */
static void
check_too_many(void)
{
	tg_table *table = make_table();
	tg_dictionary *dictionary = open_dictionary(main_session, table);
	uint32_t rank_bytes = 0;
	int32_t low = 0;
	int32_t high = 1 << 20;
	uint32_t count = 0;
	uint64_t random = 0;
	tg_status status = TG_OK;
	tg_ranked ranked;

	while (status == TG_OK && low < high)
	{
		count++;
		status = add(main_session, dictionary, unit_below(&random, 2) == 0 ? (low += 2) : (high -= 2), &ranked);
		if (status == TG_OK && ranked.rank_bytes > rank_bytes)
			rank_bytes = ranked.rank_bytes;
	}
	unit_ok(status == TG_TOO_LARGE && count > 4000 && rank_bytes == TG_RANK_BYTES_MAX,
			"values between the last two end with TG_TOO_LARGE, after %u", count);
	tg_table_release(main_session, table);
}

/* --- threads ---------------------------------------------------------------------- */

static void
add_some(unsigned number, void *argument)
{
	tg_table *table = argument;
	tg_session *session;
	tg_dictionary *dictionary;
	uint32_t state = number + 1;
	unsigned failed = 0;

	if (tg_session_open(&session) != TG_OK)
		unit_bail("no session");
	dictionary = open_dictionary(session, table);
	for (unsigned i = 0; i < THREAD_ADDS; i++)
	{
		tg_ranked ranked;
		int32_t value;

		state = state * 1664525 + 1013904223;
		value = (int32_t) ((state >> 8) % (2 * VALUES)) + 2;
		failed += add(session, dictionary, value, &ranked) != TG_OK || *(const int32_t *) ranked.value / 2 != value / 2;
	}
	/* and then all */
	for (int32_t value = 2; value < 2 * VALUES; value += 2)
	{
		tg_ranked ranked;

		failed += add(session, dictionary, number % 2 == 0 ? value : 2 * VALUES - value, &ranked) != TG_OK;
	}
	unit_equal(failed, 0, "thread %u: each value is added or found", number);
	tg_session_close(session);
}

static void
check_threads(void)
{
	tg_table *table = make_table();
	uint32_t rank_bytes = 0;

	unit_threads(THREADS, add_some, table);
	unit_ok(is_in_order(open_dictionary(main_session, table), 2, 2 * VALUES, &rank_bytes),
			"several threads: ranks are in order, each value is there once");
	tg_table_release(main_session, table);
}

static void
check_refused(void)
{
	tg_table *table = make_table();
	tg_dictionary *dictionary = open_dictionary(main_session, table);
	tg_arena_report report;
	tg_ranked ranked;
	int32_t number = 4;

	if (add(main_session, dictionary, 2, &ranked) != TG_OK)
		unit_bail("no entry");
	tg_arena_limit_set(1);
	while (add(main_session, dictionary, number, &ranked) == TG_OK)
		number += 2;
	unit_ok(!tg_dictionary_look(dictionary, compare_numbers, &number, &ranked, NULL) &&
				*(const int32_t *) ranked.value == number - 2,
			"a value without memory is not there");
	tg_arena_limit_set((size_t) 1 << 30);
	unit_equal(add(main_session, dictionary, number, &ranked), TG_OK, "and comes with it");
	tg_table_release(main_session, table);
	tg_arena_report_get(&report);
	unit_equal(report.used_by[TG_USE_INDEX], 0, "all memory is given back with the table");
}

int
main(void)
{
	const tg_arena_config config = {
		.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 1 << 30, .session_max = 8};

	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_session_open(&main_session) != TG_OK)
		unit_bail("no arena");
	check_order("ascending", 8);
	check_order("descending", 8);
	check_order("ascending before others", 16);
	check_order("descending behind others", 16);
	check_order("in disorder", 16);
	check_order("to the middle", 24);
	check_order("two up, one down", 24);
	check_too_many();
	check_threads();
	check_refused();
	return unit_done();
}
