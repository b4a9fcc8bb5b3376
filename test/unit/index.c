/*
 * index.c
 *	  Secondary indexes: what they show, unique keys, what is left of them.
 *
 * Several clients work in turns, in one thread, so each case is made as it is
 * named; then turns at random, after each of which every client's snapshot must
 * see the same by each index as by the table.  When all have ended the collector
 * runs, and each index must have exactly one entry per row.
 *
 * Races are in index_race.c.
 */
#include "runtime/index/index.h"

#include "test/unit/indexed.h"

static client a;
static client b;

static void
insert_committed(client *c, int64_t id, int number, int text, bool flag)
{
	begin(c);
	if (put(c, id, number, text, flag) != TG_OK)
		unit_bail("a row that must be there is not");
	end(c, true);
}

static void
drop_all(client *c)
{
	begin(c);
	for (int64_t id = 0; id < IDS; id++)
		(void) !drop(c, id);
	end(c, true);
}

static void
empty(client *c)
{
	drop_all(c);
	check_exact(c, "emptied");
}

static bool
all_are_right(client *c)
{
	return index_is_right(c, BY_NUMBER) && index_is_right(c, BY_TEXT) && index_is_right(c, BY_FLAGGED);
}

/* --- reading ------------------------------------------------------------------------ */

static void
test_order(void)
{
	seen_rows *seen = malloc(sizeof(*seen));

	begin(&a);
	for (int i = 0; i < 40; i++)
		(void) !put(&a, i, i % 5 == 0 ? NOTHING : i * 7 % 40, i % 6 == 0 ? NOTHING : i, i % 2 == 0);
	next_command(&a);
	unit_ok(all_are_right(&a), "a transaction sees its own rows by each index");
	begin(&b);
	read_index(&b, indexes[BY_NUMBER], false, 7, seen);
	unit_equal(seen->count, 0, "others see none");
	end(&a, true);
	next_statement(&b);
	unit_ok(all_are_right(&b), "after the commit they do");

	for (unsigned limit = 1; limit < 50; limit += 12)
	{
		read_index(&b, indexes[BY_TEXT], false, limit, seen);
		unit_equal(seen->count, 40, "all rows, %u at a time", limit);
	}
	end(&b, false);
	free(seen);
}

static size_t
number_key(const tg_key_part *part, int number, unsigned char *key)
{
	const tg_value value = {.word = (uint64_t) (int64_t) number};

	return number == NOTHING ? tg_key_append_null(key, 0, part) : tg_key_append(key, 0, part, TG_KIND_4, &value);
}

static void
test_bounds(void)
{
	static const struct
	{
		int low;
		bool low_inclusive;
		int high;
		bool high_inclusive;
		unsigned expected;
	} cases[] = {{10, true, 20, true, 5}, {10, false, 20, false, 3}, {11, true, 11, true, 1}, {20, true, 10, true, 0}};
	seen_rows *seen = malloc(sizeof(*seen));
	unsigned char low[16];
	unsigned char high[16];
	size_t low_bytes;

	empty(&a);
	begin(&a);
	for (int i = 0; i < 30; i++)
		(void) !put(&a, i, i < 24 ? i / 3 * 3 + (i == 11 ? 2 : 1) : NOTHING, NOTHING, false);
	next_command(&a);
	/* 1 1 1 4 4 4 7 7 7 10 10 11 13 13 13 16 … 22, and six NULLs */
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		for (unsigned backward = 0; backward < 2; backward++)
		{
			unsigned expected = 0;

			for (int n = 0; n < 24; n++)
			{
				int number = n / 3 * 3 + (n == 11 ? 2 : 1);

				expected += (cases[i].low_inclusive ? number >= cases[i].low : number > cases[i].low) &&
							(cases[i].high_inclusive ? number <= cases[i].high : number < cases[i].high);
			}
			read_between(&a, indexes[BY_NUMBER], low, number_key(&number_part, cases[i].low, low),
						 cases[i].low_inclusive, high, number_key(&number_part, cases[i].high, high),
						 cases[i].high_inclusive, backward != 0, 2, seen);
			unit_equal(seen->count, expected, "from %d to %d, %s", cases[i].low, cases[i].high,
					   backward ? "backward" : "forward");
		}
	}
	low_bytes = number_key(&number_part, 15, low);
	read_between(&a, indexes[BY_NUMBER], low, low_bytes, true, high, tg_key_append_not_null(high, 0, &number_part),
				 true, false, 3, seen);
	unit_equal(seen->count, 9, "from 15 up, without the NULLs");
	low_bytes = number_key(&number_part, NOTHING, low);
	read_between(&a, indexes[BY_NUMBER], low, low_bytes, true, low, low_bytes, true, false, 4, seen);
	unit_equal(seen->count, 6, "the NULLs");
	end(&a, false);
	check_exact(&a, "rolled back");
	free(seen);
}

/* A row whose key has changed and changed back is met at each of its keys, and returned once. */
static void
test_stale(void)
{
	seen_rows *seen = malloc(sizeof(*seen));

	insert_committed(&a, 1, 10, 1, true);
	begin(&b);
	for (int i = 1; i <= 6; i++)
	{
		begin(&a);
		unit_equal(change(&a, 1, 1, i % 2 == 0 ? 10 : 10 + i, SAME, SAME), TG_OK, "change %d", i);
		end(&a, true);
		read_index(&b, indexes[BY_NUMBER], false, 1, seen);
		unit_ok(seen->count == 1 && seen->rows[0].number == 10, "an old snapshot sees the row as it was, once");
		begin(&a);
		read_index(&a, indexes[BY_NUMBER], true, 1, seen);
		unit_ok(seen->count == 1 && seen->rows[0].number == (i % 2 == 0 ? 10 : 10 + i), "a new one as it is");
		end(&a, false);
	}
	end(&b, false);
	check_exact(&a, "changed and changed back");
	/* A change that is undone leaves the entry that is still needed. */
	begin(&a);
	(void) !change(&a, 1, 1, 11, 2, 0);
	next_command(&a);
	(void) !change(&a, 1, 1, 10, 1, 1);
	next_command(&a);
	(void) !change(&a, 1, 1, NOTHING, NOTHING, 0);
	end(&a, false);
	check_exact(&a, "undone");
	free(seen);
}

/* --- unique keys -------------------------------------------------------------------- */

static void
test_unique(void)
{
	empty(&a);
	insert_committed(&a, 1, 1, 1, true);
	begin(&a);
	unit_equal(put(&a, 2, 2, 1, false), TG_EXISTS, "a key that is taken");
	unit_ok(a.wait.index == indexes[BY_TEXT], "the index is told");
	unit_equal(put(&a, 1, 2, 2, false), TG_EXISTS, "the primary key");
	unit_ok(a.wait.index == NULL, "as such");
	unit_equal(put(&a, 2, 1, 2, true), TG_EXISTS, "a key of a partial index");
	unit_ok(a.wait.index == indexes[BY_FLAGGED], "that one");
	unit_equal(put(&a, 2, 1, NOTHING, false), TG_OK, "a row that is not part of it");
	unit_equal(put(&a, 3, NOTHING, NOTHING, true), TG_OK, "a NULL");
	unit_equal(put(&a, 4, NOTHING, NOTHING, true), TG_OK, "and another one");
	next_command(&a);
	unit_equal(change(&a, 2, 2, SAME, SAME, 1), TG_EXISTS, "it becomes part of it");
	unit_equal(change(&a, 2, 2, SAME, 1, SAME), TG_EXISTS, "gets the other's text");
	unit_equal(change(&a, 2, 2, 3, 7, 1), TG_OK, "gets keys of its own");
	next_command(&a);
	unit_equal(change(&a, 2, 5, SAME, SAME, SAME), TG_OK, "moves and takes them along");
	next_command(&a);
	unit_equal(change(&a, 5, 6, SAME, 1, SAME), TG_EXISTS, "does not move to a key that is taken");
	unit_ok(all_are_right(&a), "nothing of what was refused is left");
	end(&a, true);
	check_exact(&a, "unique keys");

	begin(&a);
	(void) !drop(&a, 1);
	unit_equal(put(&a, 9, 1, 1, true), TG_OK, "a key that the transaction itself has given up");
	begin(&b);
	unit_equal(put(&b, 10, 99, 1, false), TG_BUSY, "another waits for it");
	unit_ok(b.wait.index == indexes[BY_TEXT] && b.wait.host == (uint64_t) a.session->id + 1, "for the right one");
	end(&a, false);
	unit_equal(put(&b, 10, 99, 1, false), TG_EXISTS, "the abort has given the key back to its row");
	unit_equal(put(&b, 10, 99, 10, false), TG_OK, "and goes on");
	end(&b, true);

	begin(&a);
	(void) !change(&a, 1, 1, SAME, 33, SAME);
	begin(&b);
	unit_equal(put(&b, 11, 98, 1, false), TG_BUSY, "the key of an open change's old version");
	unit_equal(put(&b, 11, 98, 33, false), TG_BUSY, "that of its new one");
	end(&a, true);
	unit_equal(put(&b, 11, 98, 33, false), TG_EXISTS, "the new one is taken");
	unit_equal(put(&b, 11, 98, 1, false), TG_OK, "the old one is free");
	end(&b, true);
	check_exact(&a, "given up and taken");
}

static void
test_probe(void)
{
	const row_values taken = {50, 1, 33, true};
	const row_values own = {50, 1000, 1000, true};
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	text_memory memory;
	unsigned char key[16];

	begin(&a);
	make_values(&taken, values, nulls, &memory);
	unit_equal(tg_txn_probe(&a.writer, table, key, id_key(50, key), NULL, values, nulls, &a.wait), TG_EXISTS,
			   "some key is taken");
	unit_ok(a.wait.index == indexes[BY_TEXT], "it is told which");
	unit_equal(tg_txn_probe(&a.writer, table, NULL, 0, indexes[BY_FLAGGED], values, nulls, &a.wait), TG_EXISTS,
			   "of one index");
	unit_equal(tg_txn_probe(&a.writer, table, key, id_key(1, key), indexes[BY_FLAGGED], values, nulls, &a.wait),
			   TG_EXISTS, "of the primary key and one index");
	unit_ok(a.wait.index == NULL, "the primary key comes first");
	make_values(&own, values, nulls, &memory);
	unit_equal(tg_txn_probe(&a.writer, table, key, id_key(50, key), NULL, values, nulls, &a.wait), TG_OK, "none is");
	(void) !drop(&a, 1);
	begin(&b);
	unit_equal(tg_txn_probe(&b.writer, table, key, id_key(1, key), NULL, values, nulls, &b.wait), TG_BUSY,
			   "the primary key may come back");
	end(&b, false);
	end(&a, false);
}

/* Writers that check afterwards whether they are the only ones. */
static void
test_recheck(void)
{
	begin(&a);
	begin(&b);
	(void) !put(&a, 70, 77, NOTHING, false);
	unit_equal(recheck(&a, 77, true), TG_OK, "the only one");
	(void) !put(&b, 71, 77, NOTHING, false);
	unit_equal(recheck(&b, 77, true), TG_BUSY, "another one has it and is open");
	unit_equal(recheck(&a, 77, true), TG_BUSY, "now for the first one, too");
	unit_equal(recheck(&a, NOTHING, true), TG_OK, "a NULL is never taken");
	end(&a, true);
	unit_equal(recheck(&b, 77, true), TG_EXISTS, "the other one has committed");
	next_command(&b);
	(void) !drop(&b, 71);
	unit_equal(recheck(&b, 77, true), TG_OK, "one of the two is gone");
	begin(&a);
	(void) !drop(&a, 70);
	unit_equal(recheck(&b, 77, true), TG_OK, "a transaction without a row of that key does not wait");
	end(&a, true);
	end(&b, false);
}

/* A row whose primary key is inserted again goes on with the same entries or others. */
static void
test_revive(void)
{
	begin(&b);
	begin(&a);
	(void) !drop(&a, 1);
	end(&a, true);
	insert_committed(&a, 2, 5, 33, false);
	begin(&a);
	unit_equal(put(&a, 1, 1, 33, true), TG_EXISTS, "a dead row's key has gone to another row");
	unit_equal(put(&a, 1, 1, 34, true), TG_OK, "the row lives again with a new one");
	next_command(&a);
	unit_ok(all_are_right(&a), "and is found by it");
	unit_ok(all_are_right(&b), "the old snapshot finds it by the old one");
	end(&a, false);
	begin(&a);
	unit_equal(put(&a, 1, 1, 35, true), TG_OK, "again, after a rollback");
	end(&a, true);
	unit_ok(all_are_right(&b), "the old snapshot sees what it saw");
	end(&b, false);
	check_exact(&a, "revived");
}

static void
test_savepoint(void)
{
	tg_txn_mark mark;
	unsigned number;

	begin(&a);
	unit_equal(put(&a, 20, 20, 20, true), TG_OK, "before a savepoint");
	tg_txn_savepoint(a.session, a.txn, &mark, &number);
	a.writer.subtxn = number;
	next_command(&a);
	unit_equal(change(&a, 20, 20, 21, 21, 0), TG_OK, "changed after it");
	unit_equal(put(&a, 21, 20, 20, true), TG_OK, "and the key given to another");
	unit_equal(put(&a, 22, 20, 20, true), TG_EXISTS, "once");
	tg_txn_rollback_to(a.session, a.txn, mark);
	a.writer.subtxn = 0;
	next_command(&a);
	unit_ok(all_are_right(&a), "rolled back to it");
	unit_equal(put(&a, 21, 20, 21, true), TG_EXISTS, "the key is the first one's again");
	unit_equal(put(&a, 21, 21, 21, true), TG_OK, "that of the change is free");
	end(&a, true);
	check_exact(&a, "savepoints");
}

/* A refused write leaves versions for the collector, also if one log entry stands for many. */
static void
test_refused(void)
{
	begin(&a);
	for (int i = 0; i < 20; i++)
	{
		unit_equal(put(&a, 40 + i % 10, 100 + i, i < 10 ? 400 + i : 400, false), i < 10 ? TG_OK : TG_EXISTS, "row %d",
				   i);
		if (i >= 8)
			(void) !put(&a, 60, 100, 20, false);
	}
	next_command(&a);
	unit_ok(all_are_right(&a), "others are refused beside them");
	end(&a, true);
	check_exact(&a, "refused");
	begin(&a);
	(void) !put(&a, 60, 100, 20, false);
	end(&a, true);
	check_exact(&a, "nothing but refused");
	begin(&a);
	(void) !put(&a, 60, 100, 20, false);
	(void) !put(&a, 60, 100, 500, false);
	(void) !put(&a, 61, 100, 500, false);
	end(&a, false);
	check_exact(&a, "rolled back");
}

/* A writer that probes before it writes leaves nothing for the end of the transaction. */
static void
test_probing(void)
{
	tg_arena_report before;
	tg_arena_report after;

	begin(&a);
	(void) !put(&a, 60, 60, 60, true);
	a.writer.probes = true;
	tg_arena_report_get(&before);
	for (int i = 0; i < 2000; i++)
		(void) !put(&a, 61, 61, 60, false);
	unit_equal(put(&a, 61, 60, 61, true), TG_EXISTS, "refused as well");
	unit_ok(a.wait.index == indexes[BY_FLAGGED], "by the right one");
	tg_arena_report_get(&after);
	unit_ok(after.used == before.used, "and nothing is left of it in the transaction");
	unit_equal(put(&a, 61, 61, 61, true), TG_OK, "a free key is inserted");
	end(&a, true);
	check_exact(&a, "looked before");
}

static void
test_large(void)
{
	static char memory[TG_KEY_BYTES_MAX];
	tg_value values[COLUMNS] = {{.word = 70}, {.word = 1}, {.word = 0}, {.word = 0}};
	bool nulls[COLUMNS] = {false};
	unsigned char key[16];
	uint32_t row;

	memset(memory, 'x', sizeof(memory));
	begin(&a);
	/* a byte for NULL or not, one to end the text */
	tg_string_make_host(&values[2].string, memory, TG_INDEX_KEY_BYTES_MAX - 1, 0);
	unit_equal(tg_txn_insert(&a.writer, table, key, id_key(70, key), values, nulls, &row, &a.wait), TG_TOO_LARGE,
			   "a key too long for an index");
	tg_string_make_host(&values[2].string, memory, TG_INDEX_KEY_BYTES_MAX - 2, 0);
	unit_equal(tg_txn_insert(&a.writer, table, key, id_key(70, key), values, nulls, &row, &a.wait), TG_OK,
			   "the longest one");
	end(&a, false);
	check_exact(&a, "long keys");
}

/* Memory that is refused at any place leaves nothing behind. */
static void
test_memory(void)
{
	tg_arena_report arena;
	unsigned stored = 0;
	unsigned refused = 0;

	empty(&a);
	begin(&a);
	tg_alloc_flush(a.session);
	tg_arena_trim();
	tg_arena_report_get(&arena);
	tg_arena_limit_set(arena.committed + 4 * MIB);
	for (int64_t id = 1000; id < 30000; id++)
	{
		tg_status status = put(&a, id, (int) id, (int) (id * 7919 % 100000), id % 3 == 0);

		stored += status == TG_OK;
		refused += status == TG_NO_MEMORY;
		if (refused > 50)
			break;
	}
	tg_arena_limit_set(512 * MIB);
	unit_ok(stored > 100 && refused > 50, "%u rows stored, then memory is refused", stored);
	end(&a, false);
	check_exact(&a, "without memory");
}

/* --- at random ---------------------------------------------------------------------- */

static void
test_random(uint64_t seed)
{
	turns result;

	take_turns(&a, seed, 1200, &result);
	unit_equal(result.wrong, 0, "seed %" PRIu64 ": every index shows each snapshot what the table does", seed);
	unit_ok(result.results[TG_OK] > 0 && result.results[TG_EXISTS] > 0 && result.results[TG_BUSY] > 0,
			"%u written, %u taken, %u busy", result.results[TG_OK], result.results[TG_EXISTS], result.results[TG_BUSY]);
	check_exact(&a, "at random");
}

/* --- life --------------------------------------------------------------------------- */

static void
test_drop(void)
{
	tg_arena_report before;
	tg_arena_report after;
	tg_index *index;

	unit_ok(tg_index_find(table, 101) == indexes[BY_TEXT] && tg_index_find(table, 7) == NULL, "found by its number");
	empty(&a);
	for (int64_t id = 0; id < IDS; id++)
		insert_committed(&a, id, (int) id, (int) id, true);
	collect_all(a.session);
	tg_arena_report_get(&before);
	index = indexes[BY_NUMBER];
	tg_index_drop(a.session, index);
	unit_ok(tg_index_find(table, 100) == NULL && table->dropped == NULL, "dropped, and freed at once");
	tg_arena_report_get(&after);
	unit_ok(after.used_by[TG_USE_INDEX] < before.used_by[TG_USE_INDEX], "its memory is back");
	unit_ok(tg_index_next(tg_index_first(table)) == indexes[BY_FLAGGED], "the others are there");
	/* A session is inside, so the index has to wait. */
	tg_epoch_enter(b.session);
	index = make_index(a.session, BY_NUMBER);
	tg_index_drop(a.session, index);
	unit_ok(table->dropped == index, "a dropped index stays while a session may stand on it");
	tg_epoch_leave(b.session);
	tg_epoch_advance();
	tg_indexes_reap(a.session, table);
	unit_ok(table->dropped == NULL, "and is freed when that session has left");
	drop_all(&a);
	collect_all(a.session);
	(void) make_index(a.session, BY_NUMBER);
	insert_committed(&a, 1, 1, 1, true);
	check_exact(&a, "a new one");
}

int
main(void)
{
	start(true);
	client_open(&a, 1);
	client_open(&b, 2);
	test_order();
	test_bounds();
	test_stale();
	test_unique();
	test_probe();
	test_recheck();
	test_revive();
	test_savepoint();
	test_refused();
	test_probing();
	test_large();
	test_memory();
	for (uint64_t seed = 1; seed <= 6; seed++)
		test_random(seed);
#ifdef TG_FAILPOINTS
	test_planted(&a, "unique_unjudged"); /* keys are given without a check for a holder */
	test_planted(&a, "index_unasked");	 /* entries go without a look at the chain */
	test_planted(&a, "index_kept");		 /* entries stay */
#endif
	test_drop();
	client_close(&b);
	client_close(&a);
	return unit_done();
}
