/*
 * index.c
 *	  Secondary indexes: entries, and when they come and go.
 *
 * Let the chain of a row be the versions that its head leads to, one older than the other; none if
 * the head is closed.  The rule is
 *
 *	  I.  For every key that a version of the chain has, the row has an entry of that key; except
 *		  for versions that only their own writer sees and is still writing.
 *
 * An entry may be stale, that is, no version of the chain may have its key; the session that makes
 * it stale removes it.  Entries are not counted: a row has one per key, however many of its
 * versions have it.  So adding is idempotent, and a removal has to examine the chain.
 *
 * 1. Writing a version: head (or, for a fresh row, head before anything leads to it); full fence;
 *	  then for each index in which its key is new: the entry is found or added.  If a version's
 *	  neighbour in the chain has the same columns, its entry is there, by I, and is not looked for.
 * 2. Removing a version: it is cut out of the chain (prune.c, undoing); full fence; then its entry
 *	  is looked for.  If it is found, the leaf is locked; full fence; the chain is walked from its
 *	  head.  If no version has the key, the entry is removed; otherwise it stays.  Then the leaf is
 *	  unlocked.
 *
 *	  Writer and remover of the same entry.  If the writer added the entry, it locked the leaf to do
 *	  so; a remover that finds the entry has locked the leaf later, and sees the head that was
 *	  stored before.  If the writer found the entry, it read the leaf at a version that was not
 *	  locked.  Either that was before the remover's lock:
 *
 *		  writer                                remover
 *		  head = version                        lock the leaf (swap of its version)
 *		  --- full fence ---                    --- full fence ---
 *		  read the leaf's version: unlocked     walk the chain from the head
 *
 *	  One of the two fences comes first.  If that were the remover's, the writer's read would see
 *	  the lock or a later state.  It did not, so the writer's fence is first, and the walk sees the
 *	  writer's version: the entry stays.  Or it was after the unlocking: then the writer finds no
 *	  entry and adds it.
 *
 *	  Two removers of one key (an undoing writer for the newest version, the collector for the
 *	  oldest): each has cut its version before it looks at the chain under the lock.  If the first
 *	  one found the entry and kept it, the second one sees both cuts, by the lock; so the last one
 *	  to cut the key removes it.
 * 3. The walk.  Changes of a chain's edges only ever leave out versions that are cut, so a version
 *	  that is not cut is reached from the head as long as it is there.  Walkers are inside an epoch:
 *	  slots and blobs of versions that are cut meanwhile stay, and so do their values (prune.c, 10).
 * 4. The list of a table.  A new index is published at the end of the list.  A dropped one is
 *	  unlinked, and keeps its own link for sessions that stand on it.  The list's reference goes
 *	  when the epoch of the unlinking is over.  A session that uses an index beyond an epoch has a
 *	  reference of its own, or the host's lock.
 *
 * A version whose hidden values are unknown (hidden.c) has no key, like one that a predicate
 * excludes.
 *
 * An index with several entries for a version (index.h) needs no rule of its own: I, 1 and 2 are
 * about one key at a time.  Rule 1 says «the same columns»; here, moreover, a key that the
 * neighbour has is not looked for, also when the version goes and the neighbour stays.
 *
 * exec/index_build.c describes the additional work of a build.  Both are explored by
 * test/explore/explore_index.c.
 *
 * Left out: recognizing by an entry alone that only one version has it, so that readers need not
 * compare keys; a bound on the walk, which passes all versions that the readings keep of one row.
 */
#include "runtime/index/index.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/btree/btree.h"
#include "runtime/table/cell.h"
#include "runtime/index/hidden.h"
#include "runtime/index/long_key.h"
#include "runtime/table/registry.h"
#include "runtime/table/version.h"
#include "runtime/index/entry.h"

#define DROP_LOOKS 1000 /* polls of the epoch before the memory is left to a later call */

/* --- life --------------------------------------------------------------------------- */

static void
destroy(tg_session *session, tg_index *index)
{
	if (index->tree != NULL)
		tg_btree_destroy(session, index->tree);
	if (index->link.hidden != NULL)
		tg_table_release(session, index->link.hidden);
	if (index->stripes != NULL)
		tg_free(session, index->stripes, TG_USE_INDEX);
	tg_free(session, index, TG_USE_INDEX);
}

/*
 * Waits for a session that copies versions and has not seen the new index.  The other half is in
 * txn/relocate.c, 7.
 */
static void
wait_for_relocation(const tg_table *table)
{
	unsigned round = 0;

	tg_fence_seq_cst();
	while (tg_load_acquire(&table->relocating) != 0 && !tg_failpoint_refuses("index_relocating"))
		tg_spin(&round);
}

/* The table goes, and no session uses it. */
static void
destroy_all(tg_session *session, tg_table *table)
{
	tg_index *index;

	while ((index = tg_index_first(table)) != NULL)
	{
		table->indexes = index->link.next;
		tg_index_release(session, index);
	}
	while ((index = table->dropped) != NULL)
	{
		table->dropped = index->next_dropped;
		tg_index_release(session, index);
	}
}

tg_status
tg_index_create(tg_session *session, tg_table *table, const tg_index_spec *spec, tg_claim claim, tg_index **index_out)
{
	return tg_index_create_as(session, tg_incarnation_next(), table, spec, claim, index_out);
}

tg_status
tg_index_create_as(tg_session *session, uint64_t id, tg_table *table, const tg_index_spec *spec, tg_claim claim,
				   tg_index **index_out)
{
	tg_index *index = tg_alloc_zeroed(session, sizeof(*index), TG_USE_INDEX, claim);
	tg_status status = TG_NO_MEMORY;
	tg_index_link **link;

	if (index == NULL)
		return TG_NO_MEMORY;
	tg_assert(spec->key.part_count > 0 && spec->key.part_count <= TG_KEY_COLUMN_MAX);
	tg_assert(!spec->several || (spec->key.part_count == 1 && !spec->unique));
	index->filling = tg_load_acquire(&table->row_next) > 0;
	index->table = table;
	index->id = id;
	tg_incarnation_start(id);
	index->spec = *spec;
	index->references = 1;
	if (spec->unique)
	{
		index->stripes = tg_alloc_zeroed(session, TG_INDEX_STRIPES * sizeof(tg_index_stripe), TG_USE_INDEX, claim);
		if (index->stripes == NULL)
			goto fail;
		for (unsigned i = 0; i < TG_INDEX_STRIPES; i++)
			tg_latch_init(&index->stripes[i].latch, TG_RANK_INDEX);
	}
	status = tg_btree_create(session, table->book, claim, &index->tree);
	if (status == TG_OK && spec->hidden_count > 0)
		status = tg_hidden_create(session, index, claim);
	if (status != TG_OK)
		goto fail;
	tg_indexes_reap(session, table);
	tg_latch_acquire(&table->latch);
	for (link = &table->indexes; *link != NULL; link = &(*link)->next)
		;
	table->indexes_destroy = destroy_all;
	tg_store_release(link, &index->link);
	tg_latch_release(&table->latch);
	wait_for_relocation(table);
	*index_out = index;
	return TG_OK;

fail:
	destroy(session, index);
	return status;
}

void
tg_index_retain(tg_index *index)
{
	uint32_t references = tg_fetch_add_acq_rel(&index->references, 1);

	tg_check(references > 0 && references < UINT32_MAX);
}

void
tg_index_release(tg_session *session, tg_index *index)
{
	uint32_t references = tg_fetch_add_acq_rel(&index->references, -1);

	tg_check(references > 0);
	if (references == 1)
		destroy(session, index);
}

/* True if no dropped index is left. */
static bool
reap(tg_session *session, tg_table *table)
{
	uint64_t confirmed = tg_epoch_confirmed();
	tg_index *gone = NULL;
	bool none_left;

	tg_latch_acquire(&table->latch);
	for (tg_index **link = &table->dropped; *link != NULL;)
	{
		tg_index *index = *link;

		if (index->epoch >= confirmed)
		{
			link = &index->next_dropped;
			continue;
		}
		tg_store_relaxed(link, index->next_dropped);
		index->next_dropped = gone;
		gone = index;
	}
	none_left = table->dropped == NULL;
	tg_latch_release(&table->latch);
	while (gone != NULL)
	{
		tg_index *next = gone->next_dropped;

		tg_index_release(session, gone);
		gone = next;
	}
	return none_left;
}

void
tg_indexes_reap(tg_session *session, tg_table *table)
{
	if (tg_unlikely(tg_load_relaxed(&table->dropped) != NULL))
		(void) reap(session, table);
}

void
tg_index_drop(tg_session *session, tg_index *index)
{
	tg_table *table = index->table;
	tg_index_link **link;
	unsigned round = 0;

	tg_assert(!tg_epoch_inside(session));
	tg_latch_acquire(&table->latch);
	for (link = &table->indexes; *link != &index->link; link = &(*link)->next)
		;
	tg_store_release(&index->unlinked, true);
	tg_store_release(link, index->link.next);
	index->epoch = tg_epoch_now();
	index->next_dropped = table->dropped;
	tg_store_relaxed(&table->dropped, index);
	tg_latch_release(&table->latch);

	tg_epoch_advance();
	while (!reap(session, table) && round < DROP_LOOKS)
		tg_spin(&round);
}

tg_index *
tg_index_find(const tg_table *table, uint32_t host)
{
	tg_index *found = NULL;

	for (tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
	{
		if (index->spec.host != host || (found != NULL && !tg_index_is_retired(found)))
			continue;
		found = index;
	}
	return found;
}

/* --- keys --------------------------------------------------------------------------- */

/*
 * Loads a value of a version that may be in the middle of being cut out: tg_version_strip changes a
 * bit of a string's first word, which has no meaning here.
 */
static inline void
load_value(const tg_chunk *chunk, unsigned column, unsigned slot, tg_value *value)
{
	const uint64_t *cell;

	if (chunk->layout->kinds[column] <= TG_KIND_8)
	{
		tg_chunk_value(chunk, column, slot, value);
		return;
	}
	cell = (const uint64_t *) tg_chunk_column(chunk, column) + (size_t) slot * 2;
	value->word = tg_load_relaxed(&cell[0]);
	memcpy(value->bytes + 8, &(uint64_t){tg_load_relaxed(&cell[1])}, 8);
}

static size_t
append_part(const tg_index *index, const tg_key_part *part, tg_kind kind, const tg_value *value, bool null, size_t at,
			tg_index_key *key)
{
	if (tg_likely(!null))
		return tg_key_append_of(index->table, key->entry, at, part, kind, value);
	key->distinct |= !index->spec.nulls_not_distinct;
	return tg_key_append_null(key->entry, at, part);
}

static tg_status
end_key(size_t at, tg_index_key *key)
{
	if (at == TG_KEY_UNRANKED)
		return TG_NOT_FOUND;
	if (at > TG_INDEX_KEY_BYTES_MAX)
		return TG_TOO_LARGE;
	key->bytes = (uint32_t) at;
	return TG_OK;
}

/* Values that are not stored yet, by column, hidden or not. */
typedef struct at_hand
{
	const uint8_t *kinds;
	const tg_value *values;
	const bool *nulls;
	const tg_hidden_values *hidden;
} at_hand;

static inline bool
is_hidden(unsigned column)
{
	return (column & TG_KEY_HIDDEN) != 0;
}

static inline bool
is_null_at_hand(const at_hand *row, unsigned column)
{
	return is_hidden(column) ? row->hidden->nulls[column & ~TG_KEY_HIDDEN] : row->nulls[column];
}

static inline const tg_value *
value_at_hand(const at_hand *row, unsigned column)
{
	return is_hidden(column) ? &row->hidden->values[column & ~TG_KEY_HIDDEN] : &row->values[column];
}

tg_status
tg_index_key_of_values(const tg_index *index, const tg_value *values, const bool *nulls, const tg_hidden_row *hidden,
					   tg_index_key *key_out)
{
	const tg_index_spec *spec = &index->spec;
	const at_hand row = {.kinds = tg_load_acquire(&index->table->layout)->kinds,
						 .values = values,
						 .nulls = nulls,
						 .hidden = spec->hidden_count > 0 ? tg_hidden_of(hidden, index) : NULL};
	size_t at = 0;

	key_out->distinct = false;
	key_out->present = spec->hidden_count == 0 || row.hidden != NULL;
	if (key_out->present && spec->partial)
		key_out->present = !is_null_at_hand(&row, spec->predicate) && value_at_hand(&row, spec->predicate)->word != 0;
	if (!key_out->present)
		return TG_OK;
	for (unsigned i = 0; i < spec->key.part_count && at <= TG_KEY_BYTES_MAX; i++)
	{
		const tg_key_part *part = &spec->key.part[i];
		uint8_t kind =
			is_hidden(part->column) ? spec->hidden_kinds[part->column & ~TG_KEY_HIDDEN] : row.kinds[part->column];

		at = append_part(index, part, (tg_kind) kind, value_at_hand(&row, part->column),
						 is_null_at_hand(&row, part->column), at, key_out);
	}
	return end_key(at, key_out);
}

/* The place of a version's columns, as an index sees it. */
typedef struct cells
{
	const tg_chunk *chunk;
	const tg_chunk *companion;
	unsigned slot;
} cells;

/* False: the index's data about the version are unknown. */
static inline bool
find_cells(const tg_index *index, tg_version version, cells *out)
{
	out->chunk = tg_version_chunk(version);
	out->slot = tg_version_slot(version);
	out->companion = NULL;
	if (tg_likely(index->link.hidden == NULL))
		return true;
	out->companion = tg_companion_of(&index->link, out->chunk);
	return tg_companion_is_known(out->companion, out->slot);
}

/* The chunk that a column lies in, and its number there. */
static inline const tg_chunk *
chunk_of(const cells *of, unsigned *column_inout)
{
	if (tg_likely(!is_hidden(*column_inout)))
		return of->chunk;
	*column_inout &= ~TG_KEY_HIDDEN;
	return of->companion;
}

/* Whether the index's predicate includes the version. */
static bool
is_present(const tg_index *index, const cells *of)
{
	unsigned column = index->spec.predicate;
	const tg_chunk *chunk;
	tg_value value;

	if (!index->spec.partial)
		return true;
	chunk = chunk_of(of, &column);
	if (tg_chunk_is_null(chunk, column, of->slot))
		return false;
	tg_chunk_value(chunk, column, of->slot, &value);
	return value.word != 0;
}

tg_status
tg_index_key_of_version(const tg_index *index, tg_version version, tg_index_key *key_out)
{
	size_t at = 0;
	cells of;

	key_out->distinct = false;
	key_out->present = find_cells(index, version, &of) && is_present(index, &of);
	if (!key_out->present)
		return TG_OK;
	for (unsigned i = 0; i < index->spec.key.part_count && at <= TG_KEY_BYTES_MAX; i++)
	{
		const tg_key_part *part = &index->spec.key.part[i];
		unsigned column = part->column;
		const tg_chunk *chunk = chunk_of(&of, &column);
		bool null = tg_chunk_is_null(chunk, column, of.slot);
		tg_value value;

		/* a column that was added later has no kind in the chunk, and is NULL */
		if (!null)
			load_value(chunk, column, of.slot, &value);
		at = append_part(index, part, null ? TG_KIND_1 : (tg_kind) chunk->layout->kinds[column], &value, null, at,
						 key_out);
	}
	return end_key(at, key_out);
}

void
tg_index_list_of_version(const tg_index *index, tg_version version, tg_key_list *list_out)
{
	const tg_key_part *part = &index->spec.key.part[0];
	unsigned column = part->column;
	const tg_chunk *chunk;
	tg_value value;
	cells of;

	tg_key_list_open_empty(list_out);
	if (!find_cells(index, version, &of) || !is_present(index, &of))
		return;
	chunk = chunk_of(&of, &column);
	if (tg_chunk_is_null(chunk, column, of.slot))
		return;
	load_value(chunk, column, of.slot, &value);
	tg_key_list_open(list_out, &value.string, part->header_bytes);
}

/* TG_NOT_FOUND: a long string has no rank. */
static tg_status
open_keys(const tg_index *index, tg_version version, tg_index_keys *keys_out)
{
	tg_status status;

	keys_out->next = 0;
	keys_out->several = index->spec.several;
	if (tg_unlikely(keys_out->several))
	{
		tg_index_list_of_version(index, version, &keys_out->list);
		keys_out->count = keys_out->list.count;
		keys_out->key.present = true;
		keys_out->key.distinct = false;
		return TG_OK;
	}
	status = tg_index_key_of_version(index, version, &keys_out->key);
	keys_out->count = keys_out->key.present;
	return status;
}

/* Gives a version's long strings their ranks. */
static tg_status
rank_strings(tg_session *session, const tg_index *index, tg_version version)
{
	tg_status status = TG_OK;
	cells of;

	if (!find_cells(index, version, &of))
		return TG_OK;
	for (unsigned i = 0; i < index->spec.key.part_count && status == TG_OK; i++)
	{
		const tg_key_part *part = &index->spec.key.part[i];
		unsigned column = part->column;
		const tg_chunk *chunk = chunk_of(&of, &column);
		tg_value value;

		if (tg_chunk_is_null(chunk, column, of.slot))
			continue;
		load_value(chunk, column, of.slot, &value);
		status = tg_key_rank(session, index->table, part, (tg_kind) chunk->layout->kinds[column], &value);
	}
	return status;
}

tg_status
tg_index_keys_open_anew(tg_session *session, const tg_index *index, tg_version version, tg_index_keys *keys_out)
{
	tg_status status = open_keys(index, version, keys_out);

	if (tg_likely(status != TG_NOT_FOUND))
		return status;
	status = rank_strings(session, index, version);
	return status == TG_OK ? open_keys(index, version, keys_out) : status;
}

/* Apart from the function that calls it: the key of its own takes much of the stack. */
static bool __attribute__((noinline))
makes_key(const tg_index *index, tg_version version, const unsigned char *key, size_t key_bytes)
{
	tg_index_key own;

	if (tg_unlikely(index->spec.several))
	{
		tg_key_list list;

		tg_index_list_of_version(index, version, &list);
		return tg_key_list_has(&list, key, key_bytes);
	}
	return tg_index_key_of_version(index, version, &own) == TG_OK && own.present && own.bytes == key_bytes &&
		   memcmp(own.entry, key, key_bytes) == 0;
}

/*
 * How many bytes of a key, at its beginning, are the part of a version that is in this slot; 0:
 * unknown.  The comparison is one for each width.
 */
static inline size_t
integer_bytes(const tg_key_part *part, const tg_chunk *chunk, unsigned slot, const unsigned char *key, size_t key_bytes)
{
	const void *cells;

	if (tg_chunk_is_null(chunk, part->column, slot))
		return 0;
	cells = tg_chunk_column(chunk, part->column);
	switch ((tg_kind) chunk->layout->kinds[part->column])
	{
		case TG_KIND_1:
			return tg_key_integer_bytes(part, TG_KIND_1, ((const uint8_t *) cells)[slot], key, key_bytes);
		case TG_KIND_2:
			return tg_key_integer_bytes(part, TG_KIND_2, ((const uint16_t *) cells)[slot], key, key_bytes);
		case TG_KIND_4:
			return tg_key_integer_bytes(part, TG_KIND_4, ((const uint32_t *) cells)[slot], key, key_bytes);
		case TG_KIND_8:
			return tg_key_integer_bytes(part, TG_KIND_8, ((const uint64_t *) cells)[slot], key, key_bytes);
		default:
			return 0;
	}
}

/*
 * Whether a version certainly has the key, all of whose parts are integers.  False: unknown.  Most
 * entries that a scan meets are those of the versions that it sees; for them this costs a tenth of
 * making the key.
 */
static inline bool
has_integers(const tg_index *index, tg_version version, const unsigned char *key, size_t key_bytes)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);
	size_t at = 0;

	if (index->link.hidden != NULL || index->spec.partial || index->spec.several)
		return false;
	for (unsigned i = 0; i < index->spec.key.part_count; i++)
	{
		size_t bytes = integer_bytes(&index->spec.key.part[i], chunk, slot, key + at, key_bytes - at);

		if (bytes == 0)
			return false;
		at += bytes;
	}
	return at == key_bytes;
}

bool
tg_index_has_key(const tg_index *index, tg_version version, const unsigned char *key, size_t key_bytes)
{
	return tg_likely(has_integers(index, version, key, key_bytes)) || makes_key(index, version, key, key_bytes);
}

size_t
tg_index_entry_make(tg_index_key *key, uint32_t row)
{
	unsigned char *end = key->entry + key->bytes;

	end[0] = (unsigned char) (row >> 24);
	end[1] = (unsigned char) (row >> 16);
	end[2] = (unsigned char) (row >> 8);
	end[3] = (unsigned char) row;
	return key->bytes + TG_INDEX_ROW_BYTES;
}

static bool
is_same_string(const tg_string *a, const tg_string *b)
{
	uint32_t word = a->word & ~TG_STRING_LENT;

	if (word != (b->word & ~TG_STRING_LENT))
		return false;
	if (!tg_string_is_out(a))
		return memcmp(a->bytes, b->bytes, TG_STRING_INLINE_MAX) == 0;
	return a->blob == b->blob || memcmp(a->blob, b->blob, tg_string_blob_bytes(a)) == 0;
}

static bool
is_same_column(unsigned column, const cells *a, const cells *b)
{
	unsigned column_b = column;
	const tg_chunk *chunk_a = chunk_of(a, &column);
	const tg_chunk *chunk_b = chunk_of(b, &column_b);
	bool null = tg_chunk_is_null(chunk_a, column, a->slot);
	tg_value value_a;
	tg_value value_b;

	if (null || tg_chunk_is_null(chunk_b, column, b->slot))
		return null && tg_chunk_is_null(chunk_b, column, b->slot);
	load_value(chunk_a, column, a->slot, &value_a);
	load_value(chunk_b, column, b->slot, &value_b);
	switch ((tg_kind) chunk_a->layout->kinds[column])
	{
		case TG_KIND_16:
			return memcmp(value_a.bytes, value_b.bytes, sizeof(value_a.bytes)) == 0;
		case TG_KIND_STRING:
			return is_same_string(&value_a.string, &value_b.string);
		default:
			return value_a.word == value_b.word;
	}
}

bool
tg_index_is_same(const tg_index *index, tg_version a, tg_version b)
{
	cells cells_a;
	cells cells_b;

	if (!find_cells(index, a, &cells_a) || !find_cells(index, b, &cells_b))
		return false;
	for (unsigned i = 0; i < index->spec.key.part_count; i++)
		if (!is_same_column(index->spec.key.part[i].column, &cells_a, &cells_b))
			return false;
	return !index->spec.partial || is_same_column(index->spec.predicate, &cells_a, &cells_b);
}

/* --- entries ------------------------------------------------------------------------ */

tg_status
tg_index_entry_add(tg_session *session, tg_index *index, tg_index_key *key, uint32_t row, tg_claim claim)
{
	size_t bytes = tg_index_entry_make(key, row);
	uint32_t found = row;
	tg_status status = tg_btree_insert(session, index->tree, key->entry, bytes, &found, claim);

	tg_assert(status != TG_EXISTS || found == row);
	return status == TG_EXISTS ? TG_OK : status;
}

typedef struct holder_search
{
	const tg_index *index;
	const tg_index_key *key;
	tg_version gone;
	uint32_t row;
} holder_search;

/* Whether no version in the row's chain has the key.  Under the leaf's lock, behind a fence. */
static bool
is_without_holder(const void *argument)
{
	const holder_search *search = argument;
	tg_version version = tg_load_acquire(tg_row_head(search->index->table, search->row));

	if (tg_head_is_closed(version) || tg_failpoint_refuses("index_unasked"))
		return true;
	while (version != TG_VERSION_NONE)
	{
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

		if ((search->gone != TG_VERSION_NONE && tg_index_is_same(search->index, version, search->gone)) ||
			tg_index_has_key(search->index, version, search->key->entry, search->key->bytes))
			return false;
		if (headers == NULL)
			return true; /* settled: nothing older */
		version = tg_load_acquire(&headers[tg_version_slot(version)].older);
	}
	return true;
}

static void
forget_entry(tg_session *session, tg_index *index, tg_version gone, tg_version neighbour)
{
	tg_index_keys keys;
	holder_search search = {.index = index, .key = &keys.key, .gone = gone, .row = tg_version_row(gone)};

	if (neighbour != TG_VERSION_NONE && tg_index_is_same(index, gone, neighbour))
		return;
	/* a key that is too large, or without rank, never had an entry */
	if (tg_failpoint_refuses("index_kept"))
		return;
	if (open_keys(index, gone, &keys) != TG_OK)
		return;
	while (tg_index_keys_next(&keys))
	{
		if (keys.several && neighbour != TG_VERSION_NONE &&
			tg_index_has_key(index, neighbour, keys.key.entry, keys.key.bytes))
			continue;
		(void) tg_btree_remove_if(session, index->tree, keys.key.entry, tg_index_entry_make(&keys.key, search.row),
								  search.row, is_without_holder, &search);
	}
}

void
tg_indexes_forget(tg_session *session, tg_version gone, tg_version neighbour)
{
	tg_index *index = tg_index_first(tg_version_chunk(gone)->table);

	if (tg_likely(index == NULL))
		return;
	tg_fence_seq_cst();
	for (; index != NULL; index = tg_index_next(index))
		forget_entry(session, index, gone, neighbour);
}

void
tg_index_entry_recheck(tg_session *session, tg_index *index, tg_index_key *key, uint32_t row)
{
	const holder_search search = {.index = index, .key = key, .gone = TG_VERSION_NONE, .row = row};

	tg_fence_seq_cst(); /* the entry is added before the chain is looked at */
	if (is_without_holder(&search))
		(void) tg_btree_remove_if(session, index->tree, key->entry, tg_index_entry_make(key, row), row,
								  is_without_holder, &search);
}
