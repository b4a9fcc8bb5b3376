/*
 * rank_sweep.c
 *	  Removes values from a table's dictionaries that no key contains any more.
 *
 * Mark and sweep, a table at a time:
 *
 *	HELD	begins a round: a value that is taken out of a dictionary from now on is used in this
 *			round (dictionary.c, 6).  Waits until all sessions that hold from before have let go,
 *			and left their epochs
 *	USE		walks the keys of all trees that have ranks; the entries of these keys are used
 *	TAKE	unlinks the entries that are not used
 *	STAND	waits until all sessions that hold from before have let go, and left their epochs
 *	FREE	frees the unlinked entries
 *
 * An entry may be referred to, by its rank or otherwise, in the following ways.  Each implies that
 * the entry is used:
 *
 * 1. By a key in a tree that was there when USE began, and still is: the cursor returns every key
 *	  that is there all the time (btree.h).
 * 2. By a key that was inserted since.  First case: the inserting session has computed the key
 *	  since, from a rank that it took out while it held, or in the same epoch.  If it took the rank
 *	  out before the round, USE has not begun; otherwise it has used the entry in this round.
 *	  Second case: the key belongs to a version that has the values of an older one in the same
 *	  row's chain.  Then the entry (key, row) is there all the time (index.c, I), except in an index
 *	  that is being filled.
 * 3. By an index that is being filled, whose keys are only in its build and in companions.  HELD
 *	  lasts as long as there is one.  An index that is created later takes its ranks out in this
 *	  round, and the next round waits for it.
 * 4. By a transaction's read set, by a bound of a scan, by a rank in a row that is about to be
 *	  written: the session holds.
 * 5. By an area of a LONG, which is compared with other transactions' reads as long as it is
 *	  listed, also after the LONG's end.  HELD lasts as long as an area with a range of the table's
 *	  keys is listed.  An area that is listed later was made in this round, or by a session that
 *	  held, and that HELD waited for.
 * 6. By hidden values of a version that has no entry any more, or never had one: no key is made of
 *	  them.  The key of a version that is unlinked, or whose row is closed, is made once more to
 *	  remove its entry; if its long string has no rank any more, the entry has gone already.
 * 7. By the place, between two neighbours, that a value without rank would have: a session that
 *	  looks for the place uses both neighbours.  So they stay as long as it holds, and the value
 *	  comes between them.
 *
 * 8. An index that is dropped meanwhile takes its keys with it.  A walk that stands on it starts
 *	  again with the first index; marking an entry twice does no harm.
 * 9. A rank part may be longer than its place in a key, and then have a rank itself among the long
 *	  strings: of the rank in the key, the value is the other rank.
 *
 * A table is swept when its dictionaries have twice the bytes that the last sweep has left, so that
 * inserting pays a constant share; when memory is short, a quarter more suffices.  It is also swept
 * when they have twice the entries that the number of rows permits, and half as many versions have
 * been removed since, in any table.  Waiting means a look from time to time.  A long transaction
 * that has looked into any dictionary keeps the values that go out of use meanwhile, as a snapshot
 * keeps versions.
 *
 * After a load, dictionaries have what was ever logged, as far as no later value has the same rank
 * (dictionary_log.c, 2), and no other session uses the table: one round, without waiting, leaves
 * the values that keys have.  It must come before the first look, because values that no key has
 * need not be in order with the others.  Each key says which dictionary each of its ranks belongs
 * to: different dictionaries often have the same ranks.
 *
 * Left out: following the bounds of LONGs' areas (5), and the keys of indexes that are being filled
 * (3), instead of waiting for them; sweeping several tables in one round.
 */
#include "runtime/reclaim/rank_sweep.h"

#include <limits.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/table/catalog.h"
#include "runtime/index/index.h"
#include "runtime/reclaim/collector_internal.h"
#include "runtime/index/long_key.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/index/rank_holders.h"

#define POLL_MS 5 /* between two looks at the sessions that are waited for */
#define KEYS_AT_ONCE 64
#define KEYS_BYTES (8 << 10)
#define KEY_COST 4

_Static_assert(KEYS_BYTES >= TG_KEY_BYTES_MAX + sizeof(uint16_t), "the cursor wants so much");

/* --- when --------------------------------------------------------------------------- */

static inline bool
has_rank(const tg_key_part *part, tg_kind kind)
{
	return kind == TG_KIND_STRING && (part->ranking.compare != 0 || part->long_above > 0);
}

static inline tg_kind
kind_of(const tg_table *table, const tg_index *index, const tg_key_part *part)
{
	if ((part->column & TG_KEY_HIDDEN) != 0)
		return (tg_kind) index->spec.hidden_kinds[part->column & ~TG_KEY_HIDDEN];
	return (tg_kind) tg_load_acquire(&table->layout)->kinds[part->column];
}

/* The spec of an index, or of the primary key if index is NULL. */
static const tg_key_spec *
spec_of(const tg_table *table, const tg_index *index)
{
	return index == NULL ? table->key : &index->spec.key;
}

/* The number of parts of a key that may be ranks, or contain some. */
static unsigned
count_ranks(const tg_table *table, const tg_index *index)
{
	const tg_key_spec *spec = spec_of(table, index);
	unsigned count = 0;

	if (tg_index_tree(table, index) == NULL || (index != NULL && index->spec.several))
		return 0;
	for (unsigned i = 0; i < spec->part_count; i++)
		count += has_rank(&spec->part[i], kind_of(table, index, &spec->part[i]));
	return count;
}

/* Whether there are twice the entries that the number of rows permits.  Inside an epoch. */
static bool
has_too_many(const tg_table *table)
{
	int64_t rows = tg_load_relaxed(&table->row_count);
	unsigned ranks = count_ranks(table, NULL);

	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		ranks += count_ranks(table, index);
	return tg_load_relaxed(&table->rank_count) > 2 * (rows > 0 ? rows : 0) * (int64_t) ranks;
}

static uint64_t
versions_removed(void)
{
	return tg_load_relaxed(&tg_collector_shared->counts.versions_removed);
}

/* 3, 5.  Outside an epoch. */
static bool
is_hindered(tg_session *session, const tg_table *table)
{
	bool filling;

	tg_epoch_enter(session);
	filling = tg_indexes_are_filling(table);
	tg_epoch_leave(session);
	return filling || tg_preserve_has_range(table);
}

/* Outside an epoch. */
static bool
is_worth_it(tg_session *session, const tg_table *table)
{
	bool many;

	/* Its ranks of the host's values come later (durable/follow.h), without a sweep at it. */
	if (table->follows || tg_dictionary_next(table, NULL) == NULL)
		return false;
	if (tg_dictionaries_have_grown(table))
		return true;
	if (tg_load_relaxed(&table->dictionary_bytes) < TG_RANK_SWEEP_BYTES_MIN ||
		(versions_removed() - tg_load_relaxed(&table->rank_removed)) * 2 <
			(uint64_t) tg_load_relaxed(&table->rank_count))
		return false;
	tg_epoch_enter(session);
	many = has_too_many(table);
	tg_epoch_leave(session);
	return many;
}

void
tg_rank_sweep_look(tg_session *session, const tg_table *table)
{
	if (tg_unlikely(is_worth_it(session, table)))
		tg_rank_sweep_want();
}

/* --- keys ----------------------------------------------------------------------------- */

/* Uses the entry of this rank.  False: it is missing. */
static bool
use_rank(tg_dictionary *dictionary, const void *rank, size_t rank_bytes, tg_ranked *ranked_out)
{
	return dictionary != NULL && tg_dictionary_use_rank(dictionary, rank, rank_bytes, ranked_out);
}

/* Uses the entries of a key's ranks.  False: an entry is missing. */
static bool
use_key(tg_table *table, const tg_index *index, const unsigned char *key, size_t key_bytes)
{
	const tg_key_spec *spec = spec_of(table, index);
	size_t at = 0;

	for (unsigned i = 0; i < spec->part_count; i++)
	{
		const tg_key_part *part = &spec->part[i];
		unsigned char bytes[TG_KEY_BYTES_MAX];
		tg_ranked whole = {.value = bytes};
		size_t count;

		at = tg_key_take(key, at, part, kind_of(table, index, part), bytes, &count);
		if (count == SIZE_MAX || !has_rank(part, TG_KIND_STRING))
			continue;
		whole.value_bytes = (uint32_t) count;
		if (part->long_above > 0 && count > part->long_above &&
			!use_rank(tg_key_dictionary(table), bytes + part->long_above, count - part->long_above, &whole))
			return false;
		if (part->ranking.compare != 0 &&
			!use_rank(tg_dictionary_find(table, part->ranking), whole.value, whole.value_bytes, &whole))
			return false;
	}
	tg_assert(at == key_bytes);
	return true;
}

/* The index behind the current one; 8. */
static tg_index *
index_behind(const tg_rank_sweep *sweep, tg_index *index)
{
	return index == NULL || tg_load_acquire(&index->unlinked) ? tg_index_first(sweep->table) : tg_index_next(index);
}

/*
 * Moves to the first or next tree that has ranks; false: there are no more.  *passed_out: an index
 * to be released.  Inside an epoch.
 */
static bool
open_tree(tg_rank_sweep *sweep, tg_index **passed_out)
{
	tg_index *index = sweep->index;
	bool is_first = !sweep->has_begun;

	*passed_out = index;
	sweep->has_begun = true;
	sweep->index = NULL;
	while (!is_first || count_ranks(sweep->table, NULL) == 0)
	{
		is_first = false;
		index = index_behind(sweep, index);
		if (index == NULL)
			return false;
		if (count_ranks(sweep->table, index) == 0)
			continue;
		tg_index_retain(index); /* it was in the list in this epoch */
		sweep->index = index;
		break;
	}
	tg_btree_cursor_init(&sweep->cursor, tg_index_tree(sweep->table, sweep->index), NULL, 0, true, NULL, 0, true,
						 false);
	sweep->walks = true;
	return true;
}

/* Uses the ranks in the keys of the current tree, from the cursor on.  Inside an epoch. */
static bool
walk_tree(tg_rank_sweep *sweep, unsigned *budget)
{
	unsigned char bytes[KEYS_BYTES];
	uint32_t rows[KEYS_AT_ONCE];
	bool found = true;

	while (*budget > 0 && sweep->walks)
	{
		tg_btree_keys keys = {.bytes = bytes, .capacity = sizeof(bytes)};
		unsigned count = tg_btree_cursor_next_keys(&sweep->cursor, rows, KEYS_AT_ONCE, &keys);
		const unsigned char *at = bytes;

		sweep->walks = count > 0;
		for (unsigned i = 0; i < count; i++)
		{
			uint16_t key_bytes;

			memcpy(&key_bytes, at, sizeof(key_bytes));
			found &= use_key(sweep->table, sweep->index, at + sizeof(key_bytes),
							 key_bytes - (sweep->index != NULL ? TG_INDEX_ROW_BYTES : 0));
			at += sizeof(key_bytes) + key_bytes;
		}
		tg_spend(budget, KEY_COST * count + 1);
	}
	return found;
}

/* Walks all trees.  True at the end. */
static bool
walk(tg_session *session, tg_rank_sweep *sweep, unsigned *budget, bool *found_inout)
{
	bool more = true;

	while (*budget > 0 && more)
	{
		tg_index *passed = NULL;

		tg_epoch_enter(session);
		if (!sweep->walks)
			more = open_tree(sweep, &passed);
		if (more)
			*found_inout &= walk_tree(sweep, budget);
		tg_epoch_leave(session);
		if (passed != NULL)
			tg_index_release(session, passed);
	}
	return !more;
}

static void
begin_walk(tg_rank_sweep *sweep)
{
	sweep->walks = false;
	sweep->has_begun = false;
	sweep->index = NULL;
}

/* --- stages ---------------------------------------------------------------------------- */

static void
set_stage(tg_rank_sweep *sweep, tg_rank_stage stage)
{
	tg_store_relaxed(&sweep->stage, stage);
	tg_store_relaxed(&sweep->at_ms, 0);
}

/* Chooses the next table that is worth a sweep.  False: there is none, or the budget is used up. */
static bool
begin_table(tg_session *session, tg_rank_sweep *sweep, unsigned *budget)
{
	if (sweep->position == 0)
		tg_rank_sweep_heed(); /* before the look */
	while (*budget > 0)
	{
		tg_table *table = tg_catalog_next(&sweep->position);

		if (table == NULL)
		{
			sweep->position = 0;
			return false;
		}
		tg_spend(budget, 1);
		if (is_worth_it(session, table) && !is_hindered(session, table))
		{
			sweep->table = table;
			return true;
		}
		tg_table_release(session, table);
	}
	tg_rank_sweep_want();
	return false;
}

/*
 * Starts to wait for all sessions that may have seen the present state: they hold, or are in an
 * epoch.
 */
static void
begin_waiting(tg_rank_sweep *sweep)
{
	tg_store_relaxed(&sweep->generation, tg_rank_generation_begin());
	sweep->epoch = tg_epoch_now();
	tg_epoch_advance();
}

static bool
all_have_left(const tg_rank_sweep *sweep)
{
	return tg_rank_generation_has_come(sweep->generation) && tg_epoch_confirmed() > sweep->epoch;
}

static void
begin_round(tg_rank_sweep *sweep)
{
	tg_store_relaxed(&sweep->table->rank_removed, versions_removed());
	tg_dictionaries_begin_round(sweep->table);
	begin_waiting(sweep);
	begin_walk(sweep);
	tg_store_relaxed(&sweep->hindered, false);
	set_stage(sweep, TG_RANK_HELD);
}

static bool
has_come(tg_session *session, tg_rank_sweep *sweep)
{
	bool hindered;

	if (!all_have_left(sweep) && !tg_failpoint_refuses("rank_held"))
		return false;
	hindered = is_hindered(session, sweep->table);
	tg_store_relaxed(&sweep->hindered, hindered);
	return !hindered;
}

static void
begin_taking(tg_rank_sweep *sweep)
{
	sweep->dictionary = tg_dictionary_next(sweep->table, NULL);
	for (tg_dictionary *at = sweep->dictionary; at != NULL; at = tg_dictionary_next(sweep->table, at))
		tg_dictionary_rewind(at);
	set_stage(sweep, TG_RANK_TAKE);
}

static void
begin_standing(tg_rank_sweep *sweep)
{
	begin_waiting(sweep);
	sweep->dictionary = tg_dictionary_next(sweep->table, NULL);
	set_stage(sweep, TG_RANK_STAND);
}

/*
 * Takes from the dictionaries that existed when this began, one after the other.  True at the end.
 */
static bool
take(tg_rank_sweep *sweep, unsigned *budget)
{
	while (sweep->dictionary != NULL && tg_dictionary_take(sweep->dictionary, budget))
		sweep->dictionary = tg_dictionary_next(sweep->table, sweep->dictionary);
	return sweep->dictionary == NULL;
}

static bool
free_taken(tg_session *session, tg_rank_sweep *sweep, unsigned *budget)
{
	uint64_t freed = sweep->freed;

	while (sweep->dictionary != NULL && tg_dictionary_free_taken(session, sweep->dictionary, budget, &freed))
		sweep->dictionary = tg_dictionary_next(sweep->table, sweep->dictionary);
	tg_store_relaxed(&sweep->freed, freed);
	return sweep->dictionary == NULL;
}

static void
end_table(tg_session *session, tg_rank_sweep *sweep)
{
	tg_table *table = sweep->table;

	tg_store_relaxed(&table->rank_bytes_kept, tg_load_relaxed(&table->dictionary_bytes));
	tg_store_relaxed(&sweep->sweeps, sweep->sweeps + 1);
	sweep->table = NULL;
	set_stage(sweep, TG_RANK_REST);
	tg_rank_sweep_want(); /* there may be other tables */
	tg_table_release(session, table);
}

/* Whether only the sweep still refers to the table. */
static bool
is_alone(const tg_rank_sweep *sweep)
{
	return tg_load_acquire(&sweep->table->references) == 1;
}

/* Continues a wait: the next look is later. */
static bool
wait(tg_rank_sweep *sweep)
{
	tg_store_relaxed(&sweep->at_ms, tg_now_ms() + POLL_MS);
	return false;
}

/* One step; false: there is nothing to do now. */
static bool
step(tg_session *session, tg_rank_sweep *sweep, unsigned *budget)
{
	bool found = true;

	switch (sweep->stage)
	{
		case TG_RANK_REST:
			if (!begin_table(session, sweep, budget))
				return *budget == 0;
			begin_round(sweep);
			break;
		case TG_RANK_HELD:
			if (is_alone(sweep))
				end_table(session, sweep);
			else if (!has_come(session, sweep))
				return wait(sweep);
			else
				set_stage(sweep, TG_RANK_USE);
			break;
		case TG_RANK_USE:
			if (!walk(session, sweep, budget, &found))
				break;
			tg_failpoint("rank_used");
			begin_taking(sweep);
			break;
		case TG_RANK_TAKE:
			tg_epoch_enter(session);
			if (take(sweep, budget))
			{
				begin_walk(sweep);
				set_stage(sweep, TG_RANK_CHECK);
			}
			tg_epoch_leave(session);
			break;
		case TG_RANK_CHECK:
#ifdef TG_DEBUG
			if (!walk(session, sweep, budget, &found))
				break;
#endif
			begin_standing(sweep);
			break;
		case TG_RANK_STAND:
			if (is_alone(sweep))
				end_table(session, sweep);
			else if (!all_have_left(sweep))
				return wait(sweep);
			else
				set_stage(sweep, TG_RANK_FREE);
			break;
		case TG_RANK_FREE:
			if (free_taken(session, sweep, budget))
				end_table(session, sweep);
			break;
	}
	tg_assert(found || tg_failpoint_refuses("rank_held"));
	tg_spend(budget, 1);
	return true;
}

bool
tg_rank_sweep_is_due(const tg_rank_sweep *sweep)
{
	if (tg_load_relaxed(&sweep->stage) == TG_RANK_REST)
		return tg_rank_sweep_is_wanted();
	return tg_now_ms() >= tg_load_relaxed(&sweep->at_ms);
}

bool
tg_rank_sweep_can_go_on(const tg_rank_sweep *sweep)
{
	switch ((tg_rank_stage) tg_load_relaxed(&sweep->stage))
	{
		case TG_RANK_REST:
			return tg_rank_sweep_is_wanted();
		case TG_RANK_HELD:
		case TG_RANK_STAND:
			return tg_rank_generation_has_come(tg_load_relaxed(&sweep->generation)) &&
				   !tg_load_relaxed(&sweep->hindered);
		default:
			return true;
	}
}

bool
tg_rank_sweep_run(tg_session *session, tg_rank_sweep *sweep, unsigned budget)
{
	bool more = true;

	while (budget > 0 && more)
		more = step(session, sweep, &budget);
	return more;
}

/* --- after a load ------------------------------------------------------------------------ */

tg_status
tg_ranks_drop_unused(tg_session *session, tg_table *table)
{
	tg_rank_sweep sweep = {.table = table};
	unsigned budget = UINT_MAX;
	bool found = true;

	tg_dictionaries_begin_round(table);
	begin_walk(&sweep);
	while (!walk(session, &sweep, &budget, &found))
		budget = UINT_MAX;
	if (!found)
		return TG_DAMAGED;
	for (tg_dictionary *at = tg_dictionary_next(table, NULL); at != NULL; at = tg_dictionary_next(table, at))
	{
		if (table->follows && at == tg_key_dictionary(table))
			continue; /* readers may be in it */
		tg_dictionary_rewind(at);
		while (!tg_dictionary_take(at, &budget))
			budget = UINT_MAX;
		while (!tg_dictionary_free_taken(session, at, &budget, &sweep.freed))
			budget = UINT_MAX;
	}
	tg_store_relaxed(&table->rank_bytes_kept, tg_load_relaxed(&table->dictionary_bytes));
	return TG_OK;
}

/* --- checking --------------------------------------------------------------------------- */

static int
order_strings(const tg_ranked *a, const tg_ranked *b)
{
	return tg_key_compare(a->value, a->value_bytes, b->value, b->value_bytes);
}

bool
tg_ranks_check(tg_session *session, tg_table *table)
{
	tg_rank_sweep walker = {.table = table};
	unsigned budget = UINT_MAX;
	bool right = true;

	for (tg_dictionary *at = tg_dictionary_next(table, NULL); at != NULL; at = tg_dictionary_next(table, at))
	{
		right &= tg_dictionary_check(at, at == tg_key_dictionary(table) ? order_strings : NULL);
		tg_dictionary_rewind(at);
	}
	return walk(session, &walker, &budget, &right) && right;
}
