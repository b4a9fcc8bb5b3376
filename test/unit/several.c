/*
 * several.c
 *	  Indexes with several entries for a version: lists of keys; entries that come, stay and go with
 *	  an UPDATE, a rollback, a savepoint, the collector; builds; versions with very many keys;
 *	  searches for several ranges.
 *
 * Races are those of all indexes: index_race.c and index_build.c have such an index among theirs.
 */
#include "runtime/order/key_list.h"

#include "runtime/base/failpoint.h"
#include "runtime/reclaim/cycle.h"
#include "runtime/exec/range_scan.h"
#include "runtime/exec/sought.h"
#include "test/unit/indexed.h"

static client a;
static client b;

static uint64_t
entries(void)
{
	tg_btree_report report;

	tg_epoch_enter(a.session);
	tg_btree_report_get(indexes[BY_NUMBER]->tree, &report);
	tg_epoch_leave(a.session);
	return report.entries;
}

static void
collect(void)
{
	collect_all(a.session);
	tg_leases_forget(table);
}

/* --- lists ------------------------------------------------------------------------------ */

static void
check_list(const char *const *words, unsigned count, unsigned expected)
{
	tg_key_ref keys[64];
	tg_key_list list;
	tg_value value = {.word = 0};
	size_t bytes;
	char *memory;
	unsigned kept;
	bool in_order = true;

	for (unsigned i = 0; i < count; i++)
		keys[i] = (tg_key_ref){.key = (const unsigned char *) words[i], .bytes = (uint32_t) strlen(words[i])};
	kept = tg_key_refs_sort(keys, count);
	unit_equal(kept, expected, "%u keys are left of %u", expected, count);
	bytes = tg_key_list_bytes(keys, kept);
	memory = malloc(bytes + 3);
	tg_key_list_write(memory + 3, keys, kept);
	if (bytes <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&value.string, memory + 3, (unsigned) bytes);
	else
		tg_string_make_host(&value.string, memory, (uint32_t) bytes + 3, 3);
	tg_key_list_open(&list, &value.string, 3);
	unit_equal(list.count, kept, "a list of %u", kept);
	for (unsigned i = 0; i < list.count; i++)
	{
		tg_key_ref at = tg_key_list_get(&list, i);

		in_order = in_order && at.bytes == keys[i].bytes && memcmp(at.key, keys[i].key, at.bytes) == 0 &&
				   tg_key_list_has(&list, at.key, at.bytes) && tg_key_list_find(&list, at.key, at.bytes) == i;
	}
	unit_ok(in_order, "it has its keys, in order");
	for (unsigned i = 0; i < count; i++)
		in_order = in_order && tg_key_list_has(&list, words[i], strlen(words[i]));
	unit_ok(in_order && !tg_key_list_has(&list, "nothing", 7) && !tg_key_list_has(&list, "", 0), "and nothing else");
	unit_equal(tg_key_list_find(&list, "", 0), 0, "before all");
	unit_equal(tg_key_list_find(&list, "~", 1), kept, "behind all");
	free(memory);
}

static void
test_lists(void)
{
	static const char *const words[] = {"one", "two", "three", "four", "one", "five", "six", "two", "one"};
	static const char *const short_words[] = {"b", "a", "b"};

	check_list(words, 0, 0);
	check_list(short_words, 3, 2);
	check_list(words, 1, 1);
	check_list(words, 9, 6);
}

/* --- what an UPDATE keeps ------------------------------------------------------------------ */

static unsigned
rows_with(client *c, unsigned bit)
{
	static seen_rows some;
	unsigned char memory[BIT_BYTES_MAX];
	tg_key_ref key = bit_key(bit, memory);

	read_between(c, indexes[BY_NUMBER], key.key, key.bytes, true, key.key, key.bytes, true, false, 10, &some);
	return some.count;
}

static void
test_update(void)
{
	fresh_table(a.session, true);
	begin(&a);
	(void) !put(&a, 1, 7, 1, false); /* bits 0, 1, 2 */
	(void) !put(&a, 2, 0, 2, false);
	(void) !put(&a, 3, NOTHING, 3, false);
	end(&a, true);
	unit_equal(entries(), 3, "an entry for each bit, none for none");
	begin(&b);
	begin(&a);
	(void) !change(&a, 1, 1, 14, SAME, SAME); /* 1, 2, 3 */
	unit_equal(entries(), 4, "one has come, the others stay");
	next_command(&a);
	unit_ok(rows_with(&a, 0) == 0 && rows_with(&a, 1) == 1 && rows_with(&a, 3) == 1, "the writer finds the new keys");
	unit_ok(rows_with(&b, 0) == 1 && rows_with(&b, 1) == 1 && rows_with(&b, 3) == 0, "others the old ones");
	end(&a, false);
	unit_equal(entries(), 3, "rolled back, it goes again");
	begin(&a);
	(void) !change(&a, 1, 1, 14, SAME, SAME);
	end(&a, true);
	collect();
	unit_equal(entries(), 4, "committed, and the old one is seen");
	unit_ok(rows_with(&b, 0) == 1 && rows_with(&b, 3) == 0, "by the older snapshot");
	end(&b, false);
	collect();
	unit_equal(entries(), 3, "no snapshot sees the old one any more");
	begin(&a);
	unit_ok(rows_with(&a, 0) == 0 && rows_with(&a, 1) == 1 && rows_with(&a, 3) == 1, "the new keys are there");
	(void) !change(&a, 1, 1, SAME, 77, SAME);
	end(&a, true);
	collect();
	unit_equal(entries(), 3, "an UPDATE of something else changes nothing");
	begin(&a);
	(void) !change(&a, 1, 1, 0, SAME, SAME);
	(void) !change(&a, 2, 2, 31, SAME, SAME);
	(void) !change(&a, 3, 3, 1, SAME, SAME);
	end(&a, true);
	collect();
	unit_equal(entries(), 6, "all go, or all come");
	begin(&a);
	for (int64_t id = 1; id <= 3; id++)
		(void) !drop(&a, id);
	end(&a, true);
	collect();
	unit_equal(entries(), 0, "and go with their rows");
	check_exact(&a, "updated");
}

static void
test_savepoint(void)
{
	tg_txn_mark mark;

	fresh_table(a.session, true);
	begin(&a);
	(void) !put(&a, 1, 3, 1, true);
	tg_txn_savepoint(a.session, a.txn, &mark, &a.writer.subtxn);
	next_command(&a);
	(void) !change(&a, 1, 1, 6, SAME, SAME);
	next_command(&a);
	(void) !change(&a, 1, 1, 12, SAME, SAME);
	(void) !put(&a, 2, 31, 2, true);
	unit_equal(entries(), 4 + 5, "each version's keys");
	tg_txn_rollback_to(a.session, a.txn, mark);
	unit_equal(entries(), 2, "back at the savepoint");
	end(&a, true);
	check_exact(&a, "savepoint");
}

static void
test_random(uint64_t seed)
{
	turns result;

	fresh_table(a.session, true);
	take_turns(&a, seed, 600, &result);
	unit_equal(result.wrong, 0, "seed %" PRIu64 ": every index shows each snapshot what the table does", seed);
	check_exact(&a, "at random");
}

/* --- by several ranges ---------------------------------------------------------------------- */

#define RANGES 6 /* those of the bits, and from the second to the fourth one */

static bool
number_has(int number, unsigned range)
{
	return number != NOTHING && ((unsigned) number & (range < BITS ? 1u << range : 14u)) != 0;
}

/*
 * Whether a scan returns each row once that has some of the ranges that are read, and all that are
 * needed, with the ranges that it has.
 */
static bool
finds_what_is_sought(unsigned reads, uint64_t needed)
{
	static unsigned char memory[BITS][BIT_BYTES_MAX];
	static tg_range_scan scan;
	static seen_rows all;
	static unsigned seen[SEEN_MAX];
	tg_key_range ranges[RANGES];
	uint64_t found[1024];
	tg_sought sought = {.count = RANGES, .ranges = ranges, .needed = needed != 0 ? &needed : NULL, .found = found};
	bool right = true;

	/* the range of several bits is the first one */
	for (unsigned i = 0; i < BITS; i++)
	{
		tg_key_ref key = bit_key(i, memory[i]);

		ranges[RANGES - 1 - i] = (tg_key_range){key.key, key.key, key.bytes, key.bytes};
	}
	ranges[0] = (tg_key_range){memory[1], memory[3], 1, 1};
	memset(seen, 0, sizeof(seen));
	read_table(&a, &all);
	for (unsigned i = 0; i < reads; i++)
	{
		const tg_key_range *range = &ranges[i];
		unsigned count;

		sought.reading = i;
		tg_range_scan_init(&scan, table, indexes[BY_NUMBER], &a.snapshot, range->low, range->low_bytes, true,
						   range->high, range->high_bytes, true, false);
		scan.sought = &sought;
		while ((count = tg_range_scan_next(a.session, &scan, a.vectors, 7)) > 0)
		{
			seen_rows some = {.count = 0};

			take_vectors(a.vectors, &some);
			for (unsigned row = 0; row < count; row++)
			{
				seen[some.rows[row].id]++;
				for (unsigned k = 0; k < RANGES; k++)
					right = right && (found[row] >> k & 1) == number_has(some.rows[row].number, RANGES - 1 - k);
			}
		}
	}
	for (unsigned i = 0; i < all.count; i++)
	{
		bool some = false;
		bool wanted = true;

		for (unsigned k = 0; k < RANGES; k++)
		{
			bool has = number_has(all.rows[i].number, RANGES - 1 - k);

			some |= k < reads && has;
			wanted &= has || (needed >> k & 1) == 0;
		}
		right = right && seen[all.rows[i].id] == (some && wanted);
	}
	return right;
}

static void
test_sought(void)
{
	unsigned wrong = 0;

	fresh_table(a.session, true);
	begin(&a);
	for (int id = 0; id < 200; id++)
		(void) !put(&a, id, id % 40 == 0 ? NOTHING : id * 7 % 64, id, false);
	end(&a, true);
	begin(&b);
	begin(&a);
	for (int id = 0; id < 200; id += 3)
		(void) !change(&a, id, id, id % 32, SAME, SAME);
	next_command(&a);
	for (unsigned reads = 1; reads <= RANGES; reads += 2)
		for (uint64_t needed = 0; needed < 1 << RANGES; needed += 7)
			wrong += !finds_what_is_sought(reads, needed);
	unit_equal(wrong, 0, "rows of several ranges are found, once");
	end(&a, false);
	end(&b, false);
}

/* A call looks at a limited number of entries, so that its caller can be interrupted. */
static void
test_steps(void)
{
	static tg_range_scan scan;
	static unsigned char memory[2][BIT_BYTES_MAX];
	const uint64_t needed = 2;
	tg_key_range ranges[2];
	tg_sought sought = {.count = 2, .ranges = ranges, .needed = &needed};
	unsigned found = 0;
	unsigned steps = 0;
	bool more;

	fresh_table(a.session, true);
	begin(&a);
	for (int id = 0; id < 5000; id++)
		(void) !put(&a, id, 1, id, false);
	next_command(&a);
	for (unsigned i = 0; i < 2; i++)
	{
		tg_key_ref key = bit_key(i, memory[i]);

		ranges[i] = (tg_key_range){key.key, key.key, key.bytes, key.bytes};
	}
	tg_range_scan_init(&scan, table, indexes[BY_NUMBER], &a.snapshot, ranges[0].low, ranges[0].low_bytes, true,
					   ranges[0].high, ranges[0].high_bytes, true, false);
	scan.sought = &sought;
	do
	{
		found += tg_range_scan_step(a.session, &scan, a.vectors, 7, &more);
		steps++;
	} while (more);
	unit_ok(found == 0 && steps >= 5, "entries of rows that are not wanted are passed over in %u steps", steps);
	end(&a, false);
}

/* --- very many ------------------------------------------------------------------------------ */

#define HUGE_KEYS 1200
#define HUGE_BYTES 300

/* A row's list of that many keys; some of them, so many apart, have another beginning. */
static char *
make_huge(tg_value *value, unsigned count, unsigned bytes, unsigned apart)
{
	unsigned char *keys = calloc(count, bytes);
	tg_key_ref *refs = malloc(count * sizeof(*refs));
	char *list;

	for (unsigned i = 0; i < count; i++)
	{
		unsigned char *key = keys + (size_t) i * bytes;

		memcpy(
			key,
			(unsigned char[]){i % apart == 0, (unsigned char) (i >> 16), (unsigned char) (i >> 8), (unsigned char) i},
			4);
		refs[i] = (tg_key_ref){.key = key, .bytes = bytes};
	}
	count = tg_key_refs_sort(refs, count);
	list = malloc(tg_key_list_bytes(refs, count));
	tg_key_list_write(list, refs, count);
	tg_string_make_host(&value->string, list, (uint32_t) tg_key_list_bytes(refs, count), 0);
	free(refs);
	free(keys);
	return list;
}

static tg_status
write_huge(tg_value *list, int64_t id, bool update)
{
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	text_memory memory;
	hidden_memory hidden;
	const row_values row_of = {id, NOTHING, (int) id, false};
	unsigned char key[16];
	uint32_t row;

	make_values(&row_of, values, nulls, &memory);
	a.writer.hidden = hide(values, nulls, &hidden);
	hidden.values[BY_NUMBER][0] = *list;
	hidden.nulls[BY_NUMBER][0] = false;
	if (update)
	{
		tg_value old[COLUMNS];
		bool old_nulls[COLUMNS];
		tg_version version;

		if (newest(&a, id, &row, &version, old, old_nulls) != TG_OK)
			return TG_NOT_FOUND;
		return tg_txn_update(&a.writer, table, row, version, values, nulls, &a.wait);
	}
	return tg_txn_insert(&a.writer, table, key, id_key(id, key), values, nulls, &row, &a.wait);
}

/* More keys than a run of a build can hold.  The versions have lists; the index is made again. */
static void
test_huge(void)
{
	static const unsigned counts[] = {HUGE_KEYS, 10, 2 * HUGE_KEYS, 1};
	uint64_t expected = 0;
	tg_value list;
	char *memory;

	fresh_table(a.session, true);
	begin(&a);
	for (unsigned i = 0; i < 4; i++)
	{
		memory = make_huge(&list, counts[i], i == 1 ? 2700 : HUGE_BYTES, 2);
		unit_equal(write_huge(&list, i, false), TG_OK, "a row with %u keys", counts[i]);
		free(memory);
		expected += counts[i];
	}
	end(&a, true);
	unit_equal(entries(), expected, "all have entries");
	begin(&a);
	memory = make_huge(&list, HUGE_KEYS, HUGE_BYTES, 3); /* some change their beginning */
	unit_equal(write_huge(&list, 0, true), TG_OK, "it gets others");
	free(memory);
	end(&a, true);
	unit_ok(entries() > expected && entries() < expected + HUGE_KEYS, "but not all are new");
	collect();
	unit_equal(entries(), expected, "and the others go");
	begin(&a);
	for (int64_t id = 0; id < 4; id++)
		(void) !drop(&a, id);
	end(&a, true);
	collect();
	unit_equal(entries(), 0, "all go");
}

static unsigned looks_left;

static bool
is_interrupted(void)
{
	return looks_left-- == 0;
}

/* A writer of very many entries can be stopped, and its writes go. */
static void
test_interrupted(void)
{
	tg_value list;
	char *memory = make_huge(&list, 3, HUGE_BYTES, 3);

	fresh_table(a.session, true);
	begin(&a);
	(void) !write_huge(&list, 1, false);
	next_command(&a);
	free(memory);
	memory = make_huge(&list, HUGE_KEYS, HUGE_BYTES, 2);
	tg_txn_is_interrupted = is_interrupted;
	looks_left = 2;
	unit_equal(write_huge(&list, 2, false), TG_CANCELLED, "an insertion is stopped");
	looks_left = 1;
	unit_equal(write_huge(&list, 1, true), TG_CANCELLED, "an UPDATE too");
	tg_txn_is_interrupted = NULL;
	end(&a, true);
	collect();
	unit_equal(entries(), 3, "their writes are gone");
	begin(&a);
	unit_equal(write_huge(&list, 1, true), TG_OK, "not stopped it is written");
	end(&a, true);
	collect();
	unit_equal(entries(), HUGE_KEYS, "as a whole");
	free(memory);
}

/* The same by a build: the host hands the lists along. */
static void
test_huge_build(bool exclusive)
{
	static const unsigned counts[] = {3, HUGE_KEYS, 10, 2 * HUGE_KEYS, 1};
	tg_index_build_config built = {.exclusive = exclusive};
	tg_index_build_report report;
	tg_index_build *running;
	tg_index_fill fill;
	uint64_t expected = 0;
	unsigned at = 0;
	tg_status status;

	fresh_table(a.session, false);
	begin(&a);
	for (unsigned i = 0; i < 5; i++)
		(void) !put(&a, i, NOTHING, (int) i, false);
	end(&a, true);
	built.index = make_index(a.session, BY_NUMBER);
	tg_index_fill_begin(a.session, &fill, built.index, exclusive);
	tg_epoch_enter(a.session);
	while (!tg_index_fill_is_over(&fill))
	{
		tg_value list;
		bool null = false;
		char *memory;

		if (tg_index_fill_next(&fill) == TG_VERSION_NONE)
			continue;
		memory = make_huge(&list, counts[at], at == 2 ? 2700 : HUGE_BYTES, 2);
		if (tg_index_fill_put(a.session, &fill, &list, &null) != TG_OK)
			unit_bail("no values");
		expected += counts[at++];
		free(memory);
	}
	tg_epoch_leave(a.session);
	status = tg_index_build_begin(a.session, &built, &running);
	do
		status = tg_index_build_step(a.session, running, &report);
	while (status == TG_AGAIN);
	tg_index_build_end(a.session, running);
	unit_equal(status, TG_OK, "built, with very many entries of a version");
	unit_equal(entries(), expected, "it has all of them");
	tg_btree_check(indexes[BY_NUMBER]->tree);
	begin(&a);
	for (int64_t id = 0; id < 5; id++)
		(void) !drop(&a, id);
	end(&a, true);
	collect();
	unit_equal(entries(), 0, "and they go");
}

/* --- what is moved, and what there is no memory for ------------------------------------------- */

static void
test_moved(void)
{
	fresh_table(a.session, true);
	begin(&a);
	for (int id = 0; id < 6000; id++)
		(void) !put(&a, id, id, id, false);
	end(&a, true);
	begin(&a);
	for (int id = 0; id < 6000; id++)
		if (id % 20 != 0)
			(void) !drop(&a, id);
	end(&a, true);
	tg_leases_forget(table);
	check_exact(&a, "moved");
	begin(&a);
	for (int id = 0; id < 6000; id += 20)
		(void) !change(&a, id, id, id + 1, SAME, SAME);
	end(&a, true);
	check_exact(&a, "changed after that");
}

static void
test_memory(void)
{
	unsigned refused = 0;

	fresh_table(a.session, true);
	for (size_t room = 0; room < 60; room++)
	{
		tg_value list;
		char *memory = make_huge(&list, HUGE_KEYS, HUGE_BYTES, 2);
		tg_status status;

		tg_alloc_flush(a.session);
		tg_arena_trim();
		begin(&a);
		tg_arena_limit_set(tg_arena_committed() + room * 16384);
		status = write_huge(&list, 1, false);
		tg_arena_limit_set(512 * MIB);
		unit_ok(status == TG_OK ? entries() == HUGE_KEYS : entries() == 0, "all entries or none");
		refused += status == TG_NO_MEMORY;
		end(&a, false);
		free(memory);
		collect();
		if (status == TG_OK)
			break;
	}
	unit_ok(refused > 1, "memory is refused %u times", refused);
	unit_equal(entries(), 0, "nothing is left");
}

int
main(void)
{
	tg_sweep_interval_ms = 0;
	hides = several = true;
	start(true);
	client_open(&a, 1);
	client_open(&b, 2);
	test_lists();
	test_update();
	test_savepoint();
	for (uint64_t seed = 1; seed <= 2; seed++)
		test_random(seed);
#ifdef TG_FAILPOINTS
	test_planted(&a, "index_unasked"); /* entries go without a look at the chain */
	test_planted(&a, "index_kept");	   /* entries stay */
#endif
	test_sought();
	test_steps();
	test_huge();
	test_interrupted();
	test_huge_build(true);
	test_huge_build(false);
	test_moved();
	test_memory();
	client_close(&b);
	client_close(&a);
	return unit_done();
}
