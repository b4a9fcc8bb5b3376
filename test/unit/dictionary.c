/*
 * dictionary.c
 *	  Ranks are in the order of the values, and equal for equal values, in whatever order the values
 *	  come, also from several threads.  Ranks of sorted and of random values are short.  If memory
 *	  is refused, nothing changes.  A walk meets all values; where they are restored in any order,
 *	  the dictionary is as it was, and new values come between them.
 */
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"
#include "runtime/index/dictionary.h"

#include <string.h>

#include "runtime/reclaim/horizon.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
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

/* --- durability ---------------------------------------------------------------------- */

static int
order_numbers(const tg_ranked *a, const tg_ranked *b)
{
	return compare_numbers((void *) a->value, b->value, b->value_bytes);
}

static void
check_marks(void)
{
	tg_table *table = make_table();
	tg_dictionary *dictionary = open_dictionary(main_session, table);
	int32_t number = 10;
	tg_ranked first;
	tg_ranked again;
	tg_ranked other;

	if (add(main_session, dictionary, 10, &first) != TG_OK || add(main_session, dictionary, 10, &again) != TG_OK)
		unit_bail("no entry");
	unit_ok(!first.is_logged && !again.is_logged, "a new value is not logged");
	tg_rank_mark_logged(&first);
	unit_ok(add(main_session, dictionary, 11, &again) == TG_OK && again.is_logged, "it is once it is marked");
	unit_ok(tg_dictionary_look(dictionary, compare_numbers, &number, &again, NULL) && again.is_logged,
			"also for a session that looks");
	unit_ok(add(main_session, dictionary, 20, &other) == TG_OK && !other.is_logged, "another one is not");
	tg_table_release(main_session, table);
}

typedef struct kept
{
	int32_t number;
	uint32_t rank_bytes;
	unsigned char rank[TG_RANK_BYTES_MAX];
} kept;

/* All that a walk meets, with a pause behind each so many; returns their number. */
static unsigned
walk(const tg_table *table, unsigned pause, kept *met, unsigned count_max)
{
	tg_rank_walk position;
	unsigned count = 0;
	tg_ranking way;
	tg_ranked ranked;

	tg_rank_walk_begin(&position, table);
	tg_rank_walk_resume(main_session, &position);
	while (tg_rank_walk_next(&position, &way, &ranked) && count < count_max)
	{
		if (way.compare != 1 || way.collation != 2 || way.type != 3)
			unit_bail("a value of another dictionary");
		met[count].rank_bytes = ranked.rank_bytes;
		memcpy(&met[count].number, ranked.value, sizeof(int32_t));
		memcpy(met[count].rank, ranked.rank, ranked.rank_bytes);
		if (++count % pause == 0)
		{
			tg_rank_walk_pause(main_session, &position);
			tg_rank_walk_resume(main_session, &position);
		}
	}
	tg_rank_walk_pause(main_session, &position);
	return count;
}

static tg_status
restore(tg_table *table, const kept *of)
{
	return tg_dictionary_restore(main_session, table, (tg_ranking){.compare = 1, .collation = 2, .type = 3},
								 &of->number, sizeof(of->number), of->rank, of->rank_bytes);
}

/* A table with every other value, and a long string, whose rank no walk meets. */
static tg_table *
make_source(void)
{
	tg_table *table = make_table();
	tg_dictionary *strings;
	tg_ranked ranked;
	int32_t number = 5;

	for (uint32_t i = 0; i < VALUES; i += 2)
		if (add(main_session, open_dictionary(main_session, table), number_at("in disorder", i), &ranked) != TG_OK)
			unit_bail("no entry");
	if (tg_dictionary_get(main_session, table, (tg_ranking){0}, &strings) != TG_OK ||
		add(main_session, strings, number, &ranked) != TG_OK)
		unit_bail("no entry");
	return table;
}

static void
check_restore(void)
{
	static kept met[VALUES];
	tg_table *source = make_source();
	tg_table *table = make_table();
	unsigned count = walk(source, 1, met, VALUES);
	uint32_t rank_bytes = 0;
	unsigned wrong = 0;
	uint64_t random = 1;
	tg_ranked ranked;

	unit_equal(count, VALUES / 2, "a walk meets each value of the host's, and no long string");
	unit_equal(walk(source, 7, met, VALUES), count, "and so does one with fewer pauses");
	for (unsigned i = 1; i < count; i++)
		wrong += met[i].number <= met[i - 1].number;
	unit_equal(wrong, 0, "in order");
	for (unsigned i = count; i > 1; i--)
	{
		unsigned other = (unsigned) unit_below(&random, i);
		kept moved = met[i - 1];

		met[i - 1] = met[other];
		met[other] = moved;
	}
	for (unsigned i = 0; i < count; i++)
		wrong += restore(table, &met[i]) != TG_OK;
	unit_equal(wrong, 0, "all are restored");
	unit_ok(tg_dictionary_check(open_dictionary(main_session, table), order_numbers), "in their order");
	for (unsigned i = 0; i < count; i++)
		wrong += add(main_session, open_dictionary(main_session, table), met[i].number, &ranked) != TG_OK ||
				 !ranked.is_logged || ranked.rank_bytes != met[i].rank_bytes ||
				 memcmp(ranked.rank, met[i].rank, ranked.rank_bytes) != 0;
	unit_equal(wrong, 0, "with their ranks, as logged");
	for (uint32_t i = 0; i < VALUES; i++)
		wrong += add(main_session, open_dictionary(main_session, table), number_at("ascending", i), &ranked) != TG_OK;
	unit_ok(wrong == 0 && tg_dictionary_check(open_dictionary(main_session, table), order_numbers) &&
				is_in_order(open_dictionary(main_session, table), 2, 2 * VALUES, &rank_bytes),
			"new values come between them");
	tg_table_release(main_session, source);
	tg_table_release(main_session, table);
}

static void
check_restored_twice(void)
{
	tg_table *table = make_table();
	kept former[2] = {{.number = 100, .rank_bytes = 8, .rank = {0, 0, 0, 1, 0, 0, 0, 1}},
					  {.number = 50, .rank_bytes = 16, .rank = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}}};
	kept later = former[0];
	kept wrong = former[0];
	kept met[3];
	tg_arena_report report;

	later.number = 30;
	unit_ok(restore(table, &former[0]) == TG_OK && restore(table, &former[1]) == TG_OK, "values in the wrong order");
	unit_ok(restore(table, &later) == TG_OK && walk(table, 1, met, 3) == 2 && met[0].number == 30 &&
				met[1].number == 50,
			"the later value of a rank replaces the former one");
	unit_ok(tg_dictionary_check(open_dictionary(main_session, table), order_numbers), "and all are in order");
	wrong.rank_bytes = 7;
	unit_equal(restore(table, &wrong), TG_DAMAGED, "a part of a digit is no rank");
	wrong.rank_bytes = 0;
	unit_equal(restore(table, &wrong), TG_DAMAGED, "nor is nothing");
	wrong.rank_bytes = 16;
	unit_equal(restore(table, &wrong), TG_DAMAGED, "nor one that ends in 0");
	memset(wrong.rank, 255, 8);
	wrong.rank_bytes = 8;
	unit_equal(restore(table, &wrong), TG_DAMAGED, "nor one above all");
	tg_table_release(main_session, table);
	tg_arena_report_get(&report);
	unit_equal(report.used_by[TG_USE_INDEX], 0, "all memory is given back");
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
	check_marks();
	check_restore();
	check_restored_twice();
	return unit_done();
}
