/*
 * rank_sweep.c
 *	  Values that no key has any more leave their dictionaries, and all others stay: values that are
 *	  held, looked at, or added again at any moment.  Keys are in order all the time, and the memory
 *	  is given back.  A walk beside all that meets what stays.
 *
 * A table's keys are of two parts, a rank of the host's and a long string, and lie in its tree
 * alone, without rows: number n has the key of row n.  Each thread has numbers of its own, which it
 * inserts and removes, and knows their state.
 */
#include "runtime/mem/arena.h"
#include "runtime/reclaim/rank_sweep.h"

#include <sched.h>
#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/order/value.h"
#include "runtime/table/catalog.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/collector_internal.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "runtime/index/long_key.h"
#include "runtime/index/rank_holders.h"
#include "test/unit/unit.h"

#define LONG_ABOVE 40
#define STRING_BYTES 120
#define NUMBERS 3000
#define WRITERS 3
#define READERS 2
#define SWEEPERS 1
#define WALKERS 1
#define STAYS 150	/* numbers that it divides are in all the time */
#define HEIR 15		/* a holder that is no session's number */
#define ROUNDS 4000 /* of a writer, at least, */
#define SWEEPS 10	/* and so many sweeps */

static const uint8_t kinds[] = {TG_KIND_STRING, TG_KIND_STRING};
static const tg_ranking way = {.compare = 1, .collation = 2, .type = 3};

static tg_session *session; /* the main thread's */
static tg_table *table;
static uint32_t over;  /* atomic: writers that have ended */
static uint64_t swept; /* atomic: sweeps while they write */

/* --- keys ---------------------------------------------------------------------------- */

static int
compare_numbers(void *argument, const void *value, size_t value_bytes)
{
	uint32_t sought = *(uint32_t *) argument;
	uint32_t other;

	memcpy(&other, value, sizeof(other));
	return value_bytes == sizeof(other) ? (sought > other) - (sought < other) : 0;
}

static tg_dictionary *
numbers(void)
{
	tg_dictionary *dictionary;

	if (tg_dictionary_get(session, table, way, &dictionary) != TG_OK)
		unit_bail("no dictionary");
	return dictionary;
}

static void
make_string(uint32_t number, unsigned char bytes[STRING_BYTES], tg_value *value)
{
	memset(bytes, 'x', STRING_BYTES);
	bytes[STRING_BYTES - 3] = (unsigned char) ('a' + number / 400);
	bytes[STRING_BYTES - 2] = (unsigned char) ('a' + number / 20 % 20);
	bytes[STRING_BYTES - 1] = (unsigned char) ('a' + number % 20);
	tg_string_make_host(&value->string, bytes, STRING_BYTES, 0);
}

static void
make_rank(const tg_ranked *ranked, tg_value *value)
{
	if (ranked->rank_bytes <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&value->string, ranked->rank, ranked->rank_bytes);
	else
		tg_string_make_host(&value->string, ranked->rank, ranked->rank_bytes, 0);
}

/* The key of a number, of which all have their ranks from now on.  The caller holds. */
static size_t
make_key(tg_session *mine, uint32_t number, unsigned char *key)
{
	unsigned char bytes[STRING_BYTES];
	tg_value values[2];
	tg_ranked ranked;
	size_t key_bytes;

	if (tg_dictionary_add(mine, numbers(), compare_numbers, &number, &number, sizeof(number), &ranked) != TG_OK)
		unit_bail("no rank");
	make_rank(&ranked, &values[0]);
	make_string(number, bytes, &values[1]);
	if (tg_key_encode(mine, table, kinds, values, key, &key_bytes) != TG_OK)
		unit_bail("no key");
	return key_bytes;
}

/* The same if it has them all; else 0. */
static size_t
find_key(uint32_t number, unsigned char *key)
{
	unsigned char bytes[STRING_BYTES];
	tg_value value;
	tg_ranked ranked;
	size_t at;

	if (!tg_dictionary_look(numbers(), compare_numbers, &number, &ranked, NULL))
		return 0;
	make_rank(&ranked, &value);
	at = tg_key_append_of(table, key, 0, &table->key->part[0], TG_KIND_STRING, &value);
	make_string(number, bytes, &value);
	at = tg_key_append_of(table, key, at, &table->key->part[1], TG_KIND_STRING, &value);
	return at == TG_KEY_UNRANKED ? 0 : at;
}

static bool
put_in(tg_session *mine, uint32_t number)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = make_key(mine, number, key);
	uint32_t row = number;
	tg_status status;

	tg_epoch_enter(mine);
	status = tg_btree_insert(mine, table->index, key, key_bytes, &row, TG_DATA);
	tg_epoch_leave(mine);
	return status == TG_OK;
}

static bool
take_out(tg_session *mine, uint32_t number)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = find_key(number, key);
	tg_status status;

	if (key_bytes == 0)
		return false;
	tg_epoch_enter(mine);
	status = tg_btree_remove(mine, table->index, key, key_bytes, number);
	tg_epoch_leave(mine);
	return status == TG_OK;
}

static bool
has(tg_session *mine, uint32_t number)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = find_key(number, key);
	uint32_t row;
	bool found;

	if (key_bytes == 0)
		return false;
	tg_epoch_enter(mine);
	found = tg_btree_find(table->index, key, key_bytes, &row) == TG_OK && row == number;
	tg_epoch_leave(mine);
	return found;
}

/* --- the sweep -------------------------------------------------------------------------- */

/* Goes on with a sweep, or begins one, though nothing asks for it.  Returns how many have ended. */
static uint64_t
sweep(tg_session *mine, unsigned budget)
{
	tg_rank_sweep *all = &tg_collector_shared->rank_sweep;

	if (tg_load_relaxed(&tg_collector_shared->sweeping) == 0 &&
		tg_exchange_acq_rel(&tg_collector_shared->sweeping, 1) == 0)
	{
		tg_store_relaxed(&table->rank_bytes_kept, INT32_MIN);
		tg_rank_sweep_want();
		(void) tg_rank_sweep_run(mine, all, budget);
		tg_store_release(&tg_collector_shared->sweeping, 0);
	}
	return tg_load_relaxed(&all->sweeps);
}

/* A whole one, or as far as it comes. */
static void
sweep_all(void)
{
	uint64_t before = sweep(session, 1);

	for (unsigned i = 0; i < 100 && sweep(session, 1000) < before + 2; i++)
		tg_epoch_advance();
}

/* Entries but for the heads of lists. */
static uint64_t
entries(void)
{
	return (uint64_t) tg_load_relaxed(&table->rank_count) - 2;
}

static void
make_table(void)
{
	tg_key_spec key = {.part_count = 2};
	tg_table *old;

	key.part[0] = (tg_key_part){.column = 0, .code = TG_KEY_STRING, .ranking = way, .long_above = LONG_ABOVE};
	key.part[1] = (tg_key_part){.column = 1, .code = TG_KEY_STRING, .long_above = LONG_ABOVE};
	if (tg_table_create(session, 1, 1, kinds, 2, &key, TG_DATA, &table) != TG_OK ||
		tg_catalog_put(session, 1, 1, table, &old) != TG_OK)
		unit_bail("no table");
}

/* A sweep that is at it notices. */
static void
drop_table(void)
{
	tg_rank_sweep *all = &tg_collector_shared->rank_sweep;

	tg_table_release(session, tg_catalog_take(session, 1, 1));
	for (unsigned i = 0; i < 100 && all->stage != TG_RANK_REST; i++)
	{
		tg_epoch_advance();
		(void) tg_rank_sweep_run(session, all, 1000);
	}
}

/* --- one at a time ------------------------------------------------------------------------ */

static void
check_life(void)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	unsigned char again[TG_KEY_BYTES_MAX];
	tg_ranked below;
	tg_ranked above;
	uint32_t number = 50;
	size_t key_bytes;

	make_table();
	tg_rank_hold(session->id);
	for (uint32_t i = 0; i < 100; i += 2)
		(void) put_in(session, i);
	tg_rank_let_go(session->id);
	sweep_all();
	unit_equal(entries(), 100, "values in keys stay");
	unit_ok(tg_ranks_check(session, table), "as they are");

	tg_rank_hold(session->id);
	key_bytes = make_key(session, 51, key);
	sweep_all();
	unit_ok(find_key(51, again) == key_bytes && memcmp(key, again, key_bytes) == 0, "a held rank stays");
	tg_rank_let_go(session->id);
	sweep_all();
	unit_equal(entries(), 100, "no longer than that");
	unit_equal(find_key(51, again), 0, "it has no rank any more");

	tg_rank_hold(session->id);
	key_bytes = make_key(session, 51, key);
	(void) sweep(session, 1); /* it has begun */
	tg_rank_hold_with(HEIR, session->id);
	tg_rank_let_go(session->id);
	sweep_all();
	unit_ok(find_key(51, again) == key_bytes && memcmp(key, again, key_bytes) == 0,
			"a held rank stays for a second holder that holds with the first");
	tg_rank_let_go(HEIR);
	sweep_all();
	unit_equal(entries(), 100, "no longer than for that one");

	for (uint32_t i = 48; i <= 52; i += 2)
		(void) take_out(session, i);
	tg_rank_hold(session->id);
	unit_ok(tg_dictionary_look(numbers(), compare_numbers, &number, &below, &above), "a value without key is there");
	tg_rank_let_go(session->id);
	(void) sweep(session, 1); /* it has begun */
	number = 49;
	tg_rank_hold(session->id);
	unit_ok(!tg_dictionary_look(numbers(), compare_numbers, &number, &below, &above) &&
				*(const uint32_t *) below.value == 48 && *(const uint32_t *) above.value == 50,
			"and a neighbour of one that is not");
	sweep_all();
	unit_equal(find_key(52, again), 0, "others go");
	unit_ok(tg_dictionary_look(numbers(), compare_numbers, &(uint32_t){48}, &above, NULL) &&
				tg_dictionary_look(numbers(), compare_numbers, &(uint32_t){50}, &above, NULL),
			"a neighbour stays while a session knows it as one");
	unit_equal(entries(), 100, "an unlinked entry is not freed before that session lets go");
	tg_rank_let_go(session->id);
	sweep_all();
	unit_equal(entries(), 94, "then all go");

	for (uint32_t i = 0; i < 100; i += 2)
		(void) take_out(session, i);
	sweep_all();
	unit_equal(entries(), 0, "nothing is left of an empty table's");
	drop_table();
}

/* --- after a load ---------------------------------------------------------------------------- */

static const tg_ranking other_way = {.compare = 4};

/* Restores a number with the rank that another one has in the table. */
static void
restore_as(tg_ranking of, uint32_t number, uint32_t like)
{
	tg_ranked ranked;

	if (!tg_dictionary_look(numbers(), compare_numbers, &like, &ranked, NULL) ||
		tg_dictionary_restore(session, table, of, &number, sizeof(number), ranked.rank, ranked.rank_bytes) != TG_OK)
		unit_bail("nothing restored");
}

/* A key with a rank that no number has. */
static void
make_unknown(unsigned char *key, size_t *key_bytes_out)
{
	const tg_ranked unknown = {.rank = "unknown", .rank_bytes = TG_RANK_DIGIT_BYTES};
	unsigned char bytes[STRING_BYTES];
	tg_value values[2];

	make_rank(&unknown, &values[0]);
	make_string(1, bytes, &values[1]);
	if (tg_key_encode(session, table, kinds, values, key, key_bytes_out) != TG_OK)
		unit_bail("no key");
}

/*
 * Numbers 0 to 9 are in keys, 10 to 19 are not.  In another dictionary, of which nothing is in a
 * key, other numbers have the same ranks.
 */
static void
check_load(void)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes;
	uint32_t row = 1;
	int64_t freed;

	make_table();
	tg_rank_hold(session->id);
	for (uint32_t i = 0; i < 20; i++)
		(void) (i < 10 ? put_in(session, i) : make_key(session, i, key) > 0);
	tg_rank_let_go(session->id);
	for (uint32_t i = 0; i < 20; i++)
		restore_as(other_way, 100 - i, i);
	freed = tg_load_relaxed(&table->rank_count);
	unit_equal(tg_ranks_drop_unused(session, table), TG_OK, "what no key has goes");
	freed -= tg_load_relaxed(&table->rank_count);
	unit_equal((uint64_t) freed, 40, "from each dictionary");
	unit_ok(tg_ranks_check(session, table), "what keys have stays");
	unit_ok(find_key(9, key) > 0 && find_key(10, key) == 0, "each as it should");
	for (uint32_t i = 0; i < 10; i++)
		(void) take_out(session, i);
	unit_ok(tg_ranks_drop_unused(session, table) == TG_OK && tg_load_relaxed(&table->rank_count) == 3,
			"nothing is left of an empty table's");

	make_unknown(key, &key_bytes);
	tg_epoch_enter(session);
	unit_equal(tg_btree_insert(session, table->index, key, key_bytes, &row, TG_DATA), TG_OK, "a key is put in");
	tg_epoch_leave(session);
	unit_equal(tg_ranks_drop_unused(session, table), TG_DAMAGED, "whose rank is in no dictionary");
	tg_epoch_enter(session);
	(void) tg_btree_remove(session, table->index, key, key_bytes, row);
	tg_epoch_leave(session);
	drop_table();
}

/* --- added again while it goes ------------------------------------------------------------ */

static const char *stopped_at;

static bool
add_again(const char *name)
{
	const char *place = stopped_at;
	unsigned char key[TG_KEY_BYTES_MAX];
	tg_session *other;

	if (place == NULL || strcmp(name, place) != 0)
		return false;
	stopped_at = NULL;
	if (tg_session_open(&other) != TG_OK)
		unit_bail("no session");
	tg_rank_hold(other->id);
	unit_equal(find_key(7, key), 0, "%s: it is not there", name);
	unit_ok(put_in(other, 7) && has(other, 7), "%s: it is added again", name);
	tg_rank_let_go(other->id);
	tg_session_close(other);
	return false;
}

static void
check_again(const char *place)
{
	make_table();
	tg_rank_hold(session->id);
	for (uint32_t i = 0; i < 20; i++)
		(void) put_in(session, i);
	(void) take_out(session, 7);
	tg_rank_let_go(session->id);
	stopped_at = place;
	tg_failpoint_set(add_again);
	sweep_all();
	tg_failpoint_set(NULL);
	unit_ok(has(session, 7) && tg_ranks_check(session, table), "%s: and stays", place);
	unit_equal(entries(), 40, "%s: once", place);
	drop_table();
}

/* --- looked up and put in within one epoch -------------------------------------------------- */

static void
check_epoch(void)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	tg_session *other;
	uint32_t row = 5;
	size_t key_bytes;

	make_table();
	if (tg_session_open(&other) != TG_OK)
		unit_bail("no session");
	tg_epoch_enter(session);
	key_bytes = make_key(session, row, key);
	for (unsigned i = 0; i < 100; i++)
	{
		(void) sweep(other, 1000);
		tg_epoch_advance();
	}
	unit_equal(tg_btree_insert(session, table->index, key, key_bytes, &row, TG_DATA), TG_OK, "put in within the epoch");
	unit_ok(has(session, row), "its rank has stayed");
	tg_epoch_leave(session);
	tg_session_close(other);
	sweep_all();
	unit_ok(has(session, row) && tg_ranks_check(session, table), "and stays");
	drop_table();
}

/* --- races, if the sweep does not wait for holders ------------------------------------ */

static bool
refuse_held(const char *name)
{
	return strcmp(name, "rank_held") == 0;
}

static void
check_unheld(void)
{
	unsigned char key[TG_KEY_BYTES_MAX];

	make_table();
	tg_rank_hold(session->id);
	(void) make_key(session, 1, key);
	(void) numbers();
	tg_failpoint_set(refuse_held);
	sweep_all();
	tg_failpoint_set(NULL);
	unit_equal(find_key(1, key), 0, "without waiting for holders, a held rank would go");
	tg_rank_let_go(session->id);
	drop_table();
}

/* --- all at once ------------------------------------------------------------------------------ */

static uint32_t
draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void
write_some(tg_session *mine, unsigned number)
{
	static bool is_in[NUMBERS];
	uint32_t state = number + 1;
	unsigned wrong = 0;

	for (unsigned round = 0; round < ROUNDS || tg_load_acquire(&swept) < SWEEPS; round++)
	{
		tg_rank_hold(mine->id);
		for (unsigned i = draw(&state) % 8; i > 0; i--)
		{
			uint32_t chosen = draw(&state) % (NUMBERS / WRITERS) * WRITERS + number;

			if (chosen % STAYS == 0)
				continue;
			wrong += has(mine, chosen) != is_in[chosen];
			/* few are in at a time */
			if (!is_in[chosen] && draw(&state) % 8 == 0)
				wrong += !put_in(mine, chosen);
			else if (is_in[chosen])
				wrong += !take_out(mine, chosen);
			else
				continue;
			is_in[chosen] = !is_in[chosen];
			wrong += has(mine, chosen) != is_in[chosen];
		}
		tg_rank_let_go(mine->id);
	}
	unit_equal(wrong, 0, "writer %u finds what it has put in, and nothing else", number);
	tg_fetch_add_acq_rel(&over, 1);
}

/* False: not in order. */
static bool
read_in_order(tg_session *mine)
{
	tg_btree_cursor cursor;
	uint32_t rows[32];
	int64_t before = -1;
	bool right = true;
	unsigned count;

	tg_btree_cursor_init(&cursor, table->index, NULL, 0, true, NULL, 0, true, false);
	do
	{
		tg_epoch_enter(mine);
		count = tg_btree_cursor_next(&cursor, rows, 32);
		tg_epoch_leave(mine);
		for (unsigned i = 0; i < count; i++)
		{
			right &= rows[i] > before;
			before = rows[i];
		}
	} while (count > 0);
	return right;
}

/* Of a value without rank: if it gets one it is between what were its neighbours. */
static bool
watch_gap(uint32_t number)
{
	unsigned char bytes[STRING_BYTES];
	unsigned char low[TG_KEY_BYTES_MAX];
	unsigned char high[TG_KEY_BYTES_MAX];
	unsigned char key[TG_KEY_BYTES_MAX];
	const tg_key_part *part = &table->key->part[1];
	size_t low_bytes;
	size_t high_bytes;
	size_t key_bytes;
	tg_value value;
	bool is_there;

	make_string(number, bytes, &value);
	low_bytes = tg_key_append_near(table, low, 0, part, TG_KIND_STRING, &value, TG_KEY_BELOW, &is_there);
	if (is_there)
		return true;
	high_bytes = tg_key_append_near(table, high, 0, part, TG_KIND_STRING, &value, TG_KEY_ABOVE, &is_there);
	if (is_there)
		return true;
	for (unsigned i = 0; i < 20; i++)
	{
		key_bytes = tg_key_append_of(table, key, 0, part, TG_KIND_STRING, &value);
		if (key_bytes != TG_KEY_UNRANKED && (memcmp(low, key, low_bytes < key_bytes ? low_bytes : key_bytes) > 0 ||
											 memcmp(key, high, high_bytes < key_bytes ? high_bytes : key_bytes) > 0))
			return false;
		sched_yield();
	}
	return true;
}

static void
read_some(tg_session *mine, unsigned number)
{
	uint32_t state = number + 100;
	unsigned wrong_order = 0;
	unsigned wrong_gap = 0;

	while (tg_load_acquire(&over) < WRITERS)
	{
		tg_rank_hold(mine->id);
		wrong_order += !read_in_order(mine);
		wrong_gap += !watch_gap(draw(&state) % NUMBERS);
		tg_rank_let_go(mine->id);
	}
	unit_equal(wrong_order, 0, "reader %u finds all in order", number);
	unit_equal(wrong_gap, 0, "and new keys of a gap between its neighbours");
}

static void
sweep_some(tg_session *mine)
{
	uint64_t before = tg_load_relaxed(&tg_collector_shared->rank_sweep.sweeps);

	while (tg_load_acquire(&over) < WRITERS)
	{
		tg_store_release(&swept, sweep(mine, 50) - before);
		tg_store_relaxed(&tg_collector_shared->rank_sweep.at_ms, 0);
		tg_epoch_advance();
	}
}

/*
 * One walk over the numbers; false: those that stay are not met once each, in order.  Another one
 * may go while the walk pauses, and come again with a rank behind that place: it is met twice.
 */
static bool
walk_once(tg_session *mine)
{
	tg_rank_walk walk;
	tg_ranking of;
	tg_ranked ranked;
	int64_t before = -1;
	unsigned stay = 0;
	bool right = true;

	tg_rank_walk_begin(&walk, table);
	tg_rank_walk_resume(mine, &walk);
	for (unsigned met = 1; tg_rank_walk_next(&walk, &of, &ranked); met++)
	{
		uint32_t number = *(const uint32_t *) ranked.value;

		right &= of.compare == way.compare;
		if (number % STAYS == 0)
		{
			right &= number > before;
			before = number;
			stay++;
		}
		if (met % 5 == 0)
		{
			tg_rank_walk_pause(mine, &walk);
			sched_yield();
			tg_rank_walk_resume(mine, &walk);
		}
	}
	tg_rank_walk_pause(mine, &walk);
	return right && stay == NUMBERS / STAYS;
}

static void
walk_some(tg_session *mine)
{
	unsigned wrong = 0;

	while (tg_load_acquire(&over) < WRITERS)
		wrong += !walk_once(mine);
	unit_equal(wrong, 0, "a walk meets what stays, once and in order");
}

static void
work(unsigned number, void *argument)
{
	tg_session *mine;

	if (tg_session_open(&mine) != TG_OK)
		unit_bail("no session");
	if (number < WRITERS)
		write_some(mine, number);
	else if (number < WRITERS + READERS)
		read_some(mine, number);
	else if (number < WRITERS + READERS + SWEEPERS)
		sweep_some(mine);
	else
		walk_some(mine);
	tg_session_close(mine);
}

static void
check_threads(void)
{
	uint64_t left = 0;

	make_table();
	tg_rank_hold(session->id);
	for (uint32_t i = 0; i < NUMBERS; i += STAYS)
		(void) put_in(session, i);
	tg_rank_let_go(session->id);
	unit_threads(WRITERS + READERS + SWEEPERS + WALKERS, work, NULL);
	for (uint32_t i = 0; i < NUMBERS; i++)
		left += has(session, i);
	sweep_all();
	unit_ok(tg_ranks_check(session, table), "all keys have their entries, in order");
	unit_equal(entries(), 2 * left, "and there are no others");
	drop_table();
}

int
main(void)
{
	const tg_arena_config config = {
		.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 1 << 30, .session_max = 16};
	tg_arena_report report;

	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_catalog_create() != TG_OK || tg_collector_create() != TG_OK || tg_session_open(&session) != TG_OK ||
		tg_rank_holders_create(session, 16) != TG_OK)
		unit_bail("no arena");
	check_life();
	check_load();
	check_again("rank_gone");
	check_again("rank_marked");
	check_epoch();
	check_unheld();
	check_threads();
	tg_epoch_advance();
	tg_retire_poll(session);
	tg_arena_report_get(&report);
	unit_equal(report.used_by[TG_USE_INDEX], 0, "all memory is given back");
	return unit_done();
}
