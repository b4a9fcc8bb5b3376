/*
 * row_set.c
 *	  The rows of a range of one index, as a filter for a reader of another index: no row that a
 *	  snapshot sees is missing, for every size of the set; rows that belonged to the range before,
 *	  or are going to, may be there.
 */
#include "runtime/exec/row_set.h"

#include "test/unit/indexed.h"

#include "runtime/exec/range_scan.h"

#define ROWS 600
#define WORDS_MAX 64

static client a;
static client b;

static size_t
number_key(int number, unsigned char *key)
{
	const tg_value value = {.word = (uint64_t) (int64_t) number};

	return tg_key_append(key, 0, &number_part, TG_KIND_4, &value);
}

/* The rows of two numbers and of those in between. */
static void
read_set(client *c, int first, int last, const tg_row_set *within, size_t word_count, uint64_t *words, tg_row_set *set)
{
	static tg_btree_cursor cursor;
	unsigned char low[16];
	unsigned char high[16];
	size_t low_bytes = number_key(first, low);
	size_t high_bytes = number_key(last, high);
	uint64_t entries = 0;

	tg_row_set_init(set, words, word_count);
	tg_btree_cursor_init(&cursor, tg_index_tree(table, indexes[BY_NUMBER]), low, low_bytes, true, high, high_bytes,
						 true, false);
	while (tg_row_set_read(c->session, set, within, &cursor, &entries))
		;
	unit_ok(entries > 0 && cursor.done, "numbers %d to %d are read", first, last);
}

/* All rows that are in the set, by an index (NULL: the primary key). */
static void
read_within(client *c, tg_index *index, const tg_row_set *set, bool backward, unsigned limit, seen_rows *seen,
			uint64_t *passed_over_out)
{
	static tg_range_scan scan;

	seen->count = 0;
	tg_range_scan_init(&scan, table, index, &c->snapshot, NULL, 0, true, NULL, 0, true, backward);
	scan.within = set;
	while (tg_range_scan_next(c->session, &scan, c->vectors, limit) > 0)
		take_vectors(c->vectors, seen);
	*passed_over_out = scan.passed_over;
}

/* Each row with such a number once, none twice; how many others. */
static unsigned
check_within(client *c, int first, int last, const seen_rows *seen, const char *what)
{
	static seen_rows all;
	static unsigned times[ROWS + 1];
	unsigned wrong = 0;
	unsigned others = 0;

	memset(times, 0, sizeof(times));
	for (unsigned i = 0; i < seen->count; i++)
		times[seen->rows[i].id]++;
	read_table(c, &all);
	for (unsigned i = 0; i < all.count; i++)
	{
		bool wanted = all.rows[i].number >= first && all.rows[i].number <= last;

		wrong += times[all.rows[i].id] > 1 || (wanted && times[all.rows[i].id] == 0);
		others += !wanted && times[all.rows[i].id] > 0;
	}
	unit_equal(wrong, 0, "%s: all rows that are wanted, once", what);
	return others;
}

static void
check_ranges(client *c, size_t word_count, bool exact)
{
	static uint64_t words[2][WORDS_MAX];
	static seen_rows seen;
	uint64_t passed_over;
	tg_row_set set;
	tg_row_set inner;

	read_set(c, 10, 30, NULL, word_count, words[0], &set);
	for (unsigned limit = 1; limit <= 100; limit += 33)
		for (int backward = 0; backward <= 1; backward++)
			for (int by_key = 0; by_key <= 1; by_key++)
			{
				unsigned others;

				read_within(c, by_key ? NULL : indexes[BY_TEXT], &set, backward, limit, &seen, &passed_over);
				others = check_within(c, 10, 30, &seen, by_key ? "by key" : "by another index");
				if (exact)
					unit_ok(others <= ROWS / 10 && passed_over > ROWS / 2, "others are skipped, except %u", others);
			}
	read_set(c, 20, 40, &set, word_count, words[1], &inner);
	read_within(c, indexes[BY_TEXT], &inner, false, 50, &seen, &passed_over);
	(void) check_within(c, 20, 30, &seen, "in both");
}

int
main(void)
{
	tg_sweep_interval_ms = 0;
	start(true);
	client_open(&a, 1);
	client_open(&b, 2);
	begin(&a);
	for (int id = 0; id < ROWS; id++)
		(void) !put(&a, id, id % 20 == 0 ? NOTHING : id * 7 % 100, id, false);
	end(&a, true);
	begin(&b);
	begin(&a);
	for (int id = 0; id < ROWS; id += 10)
		(void) !change(&a, id, id, id % 60, SAME, SAME);
	next_command(&a);
	check_ranges(&a, WORDS_MAX, true);
	check_ranges(&b, WORDS_MAX, true);
	check_ranges(&b, 1, false);
	end(&a, true);
	check_ranges(&b, WORDS_MAX, true);
	end(&b, false);
	client_close(&b);
	client_close(&a);
	return unit_done();
}
