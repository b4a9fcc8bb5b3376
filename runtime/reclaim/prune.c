/*
 * prune.c
 *	  Unlinking the garbage versions of a row, and freeing them later.
 *
 * Pruning unlinks a garbage version: afterwards neither head nor chain nor index leads to it.
 * Freeing follows once an epoch has passed: it frees the blobs and the slot, and the row id of a
 * closed row.  In one cycle of the collector all pruning is done before any freeing, and all
 * pruning uses the same readings (cycle.h, collector.c).  Entries may be pruned in any order and by
 * several participants; one row is pruned by one participant at a time.
 *
 * Ownership (each version is freed by exactly one entry):
 *
 * 1. A version that a commit has ended belongs to the entry that ended it, an UPDATE or a DELETE;
 *	  by W1 there is only one.  REVIVE and INSERT own nothing.  In an undone log INSERT owns its
 *	  versions and their rows, UPDATE and REVIVE own their new version, DELETE owns nothing.  UNDONE
 *	  entries, in any log, own what their names say.
 * 2. A row belongs to the DELETE whose compare-and-swap closed it, together with the version that
 *	  was its head.
 *
 * Garbage, given the readings (G2, G3):
 *
 * 3. A replaced version, [begin, end) both stamped, is garbage if the readings miss that interval.
 *	  It follows that its log has been given, and that the version above it is committed and
 *	  stamped and will never be undone.
 * 4. Exception: a version that begins a life, or that an UPDATE of the key has made (both are
 *	  LIFE_NEW), is garbage only if its end is at or below the horizon.  For W5 starts at the
 *	  version that its snapshot sees and looks for the end of that life, or for the marked version;
 *	  the transaction that does so has a snapshot from before that version, which keeps it.  When
 *	  such a version goes and another life is below it, the version above takes the flag over.  So
 *	  LIFE_NEW on a version tells that the version below it, if any, is dead.
 * 5. A dead version (ended by a DELETE) follows the same rule, except that one which names a
 *	  successor is garbage only at or below the horizon, by 4; and it goes as the last of its life,
 *	  when nothing is below it.  Then
 *	  - head = d: the row is closed by compare-and-swap, then its index entry is removed (W3);
 *	  - the version above it is committed and stamped: it is cut off there;
 *	  - otherwise the entry stays open and is tried again later.  An edge is never cut while the
 *		version above it may be undone, because undoing needs the edge.
 *	  An open entry's version may not be garbage by later readings, because a lower bound may be
 *	  published late (horizon.c).  Then the entry waits for the reader that it is kept for, and no
 *	  longer for another log.
 *
 * Unlinking:
 *
 * 6. Pruning any entry of a row walks the row's chain from the head and cuts out every run of
 *	  replaced versions that is garbage:
 *
 *		above -> g1 -> g2 -> ... -> gk -> below		becomes		above -> below
 *
 *	  A reader that stands on a version of the run continues along it: the edges inside stay.  So a
 *	  hot row's chain is walked once a cycle, not once for each of its entries: the other entries
 *	  find their version unlinked.  The walk is skipped if the version that has replaced the entry's
 *	  is still directly above it and is not garbage itself: then a run begins right below it.  The
 *	  entry knows that version if both are in one chunk.  The rest of the chain belongs to other
 *	  entries.  The slot of the version above may have had other tenants since; but only the version
 *	  above leads to the entry's version and has been neither unlinked nor undone, and the chunk has
 *	  headers as long as the version is in it.  Right after an edge has been cut, those entries of
 *	  secondary indexes are removed that only the versions cut out needed (index.c).
 * 7. Afterwards g1's begin says that it leads a run, and which version is above it; the begins of
 *	  the others say that they belong to a run.  All of these words are later than any time
 *	  (version.h).  A dead version that was unlinked has begin NEVER.  No scan sees the slot's next
 *	  tenant by this one's begin (table.h, tg_slot_give).
 * 8. The versions that are garbage by the readings are exactly those that the entries at hand own:
 *	  readings are gathered before logs are taken, and a kept entry is at hand again as soon as its
 *	  reason is gone (collector.c).  So each unlinked version's own entry is handled in the same
 *	  cycle: the leader's entry frees the run, the other entries free nothing.
 *
 * Blobs:
 *
 * 9. A version may share blobs, column by column, only with the version that it replaced; so a
 *	  blob's holders follow each other in a chain.  A blob of a run is freed with its lowest holder
 *	  in the run, unless the version above the run or the version below it has the blob, too.  Both
 *	  neighbours exist while the run is freed: they are not garbage by these readings, unless they
 *	  are dead; and dead versions are freed after all runs.  A version that begins a life shares
 *	  nothing with the version below it.
 * 10. Nothing of a version changes before an epoch has passed since it was unlinked, so a reader
 *	  that met it inside an epoch may read it.  But an undone version is stripped of the blobs that
 *	  it shares while both versions are there (tg_version_strip): this sets a bit of a cell, which
 *	  changes nothing for a reader of the value at that moment.
 *
 * An undone version needs no readings: it was unlinked before its log was given, and only its own
 * transaction ever saw it.
 */
#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/btree/btree.h"
#include "runtime/reclaim/collector_internal.h"
#include "runtime/index/index.h"
#include "runtime/order/key.h"
#include "runtime/table/cell.h"
#include "runtime/table/store.h"
#include "runtime/index/entry.h"
#include "runtime/index/long_key.h"

/*
 * The begin of an unlinked version is TG_TIME_UNLINKED with one of these: IN_RUN alone, for one in
 * a run that is not its leader; or, for a leader, the version above: the slot in the lowest bits,
 * then the chunk's address in units of 64 bytes.
 */
#define IN_RUN ((tg_time) 1 << 61)
#define STRINGS_AHEAD 4 /* columns whose cells are prefetched */
#define SLOT_BITS 10

_Static_assert(1 << SLOT_BITS == TG_SLOT_MAX, "a slot fits");

/* --- words ---------------------------------------------------------------- */

/* The header of a version that is not settled. */
static inline tg_header *
header_of(tg_version version)
{
	tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

	tg_assert(headers != NULL);
	return headers + tg_version_slot(version);
}

static inline bool
is_stamped(tg_time time)
{
	return time < TG_TIME_UNLINKED;
}

static inline bool
is_unlinked(tg_time begin)
{
	return !tg_time_is_reference(begin) && begin >= TG_TIME_UNLINKED;
}

static inline tg_time
leader_word(tg_version above)
{
	return TG_TIME_UNLINKED | above >> 22 << SLOT_BITS | tg_version_slot(above);
}

static inline tg_version
leader_above(tg_time begin)
{
	tg_time word = begin & ~TG_TIME_UNLINKED;

	return word >> SLOT_BITS << 22 | (word & (TG_SLOT_MAX - 1));
}

static inline bool
is_in_run(tg_time begin)
{
	return begin == (TG_TIME_UNLINKED | IN_RUN);
}

/* --- pruning -------------------------------------------------------------- */

/* G2, G3: rules 3, 4 and 5, without their conditions on the versions above and below. */
static bool
is_garbage(const tg_header *header, const tg_readings *readings)
{
	tg_time begin = tg_load_acquire(&header->begin);
	tg_time end = tg_load_acquire(&header->end);

	if (!is_stamped(begin) || !is_stamped(end) || tg_failpoint_refuses("skip_g2"))
		return false;
	if ((tg_load_relaxed(&header->life) & TG_LIFE_NEW) != 0 || tg_load_relaxed(&header->successor) != 0)
		return end <= readings->horizon;
	return tg_readings_miss(readings, begin, end);
}

/*
 * Cuts out the run of garbage below a version, if there is one; returns the version below it now.
 */
static tg_version
cut_run(tg_session *session, tg_version above, const tg_readings *readings)
{
	tg_header *header = header_of(above);
	tg_version first = tg_load_acquire(&header->older);
	tg_version below = first;
	uint32_t life = tg_load_relaxed(&header->life);

	while (below != TG_VERSION_NONE && (life & TG_LIFE_NEW) == 0 && is_garbage(header_of(below), readings))
	{
		life = tg_load_relaxed(&header_of(below)->life);
		below = tg_load_acquire(&header_of(below)->older);
	}
	if (below == first)
		return below;
	if ((life & TG_LIFE_NEW) != 0 && below != TG_VERSION_NONE)
		(void) tg_fetch_or_acq_rel(&header->life, TG_LIFE_NEW);
	tg_store_release(&header->older, below);
	for (tg_version version = first; version != below;)
	{
		tg_header *cut = header_of(version);

		tg_indexes_forget(session, version, above);
		tg_store_release(&cut->begin, version == first ? leader_word(above) : TG_TIME_UNLINKED | IN_RUN);
		version = tg_load_relaxed(&cut->older);
	}
	return below;
}

/* Prunes the chain of a row; returns the version above the wanted one, or NONE. */
static tg_version
prune_chain(tg_session *session, tg_version head, const tg_readings *readings, tg_version wanted)
{
	tg_version above = head;
	tg_version found = TG_VERSION_NONE;

	while (tg_chunk_headers(tg_version_chunk(above)) != NULL) /* without: settled, nothing below */
	{
		tg_version below = cut_run(session, above, readings);

		if (below == TG_VERSION_NONE)
			break;
		if (below == wanted)
			found = above;
		above = below;
	}
	return found;
}

/* The version that has replaced an UPDATE's own, or the present tenant of that version's slot. */
static inline tg_version
above_of(const tg_log_entry *entry)
{
	return tg_version_make(tg_version_chunk(entry->version), entry->above - 1u);
}

/*
 * Cuts out the version of an UPDATE, and the run below it, without a walk from the head: 6.  False:
 * the walk is needed.
 */
static bool
cut_directly(tg_session *session, const tg_log_entry *entry, const tg_readings *readings)
{
	const tg_header *header;
	tg_version above;

	if (entry->kind != TG_WRITE_UPDATE || entry->above == 0)
		return false;
	above = above_of(entry);
	header = header_of(above);
	if (is_unlinked(tg_load_acquire(&header->begin)) || tg_load_acquire(&header->older) != entry->version ||
		is_garbage(header, readings))
		return false;
	(void) cut_run(session, above, readings);
	return true;
}

/* Closes the row if the dead version is its head. */
static bool
close_row(tg_session *session, tg_table *table, uint32_t row, tg_version dead)
{
	tg_btree *index = tg_load_acquire(&table->index);
	tg_version expected = dead;

	if (!tg_failpoint_refuses("skip_w3_close") && !tg_cas_acq_rel(tg_row_head(table, row), &expected, TG_HEAD_CLOSED))
		return false; /* W3: closed first, the entry removed afterwards */
	if (index != NULL)
	{
		unsigned char key[TG_KEY_BYTES_MAX];
		size_t key_bytes = tg_key_of_version(table->key, dead, key);

		/* A missing or unranked key means that an inserter that met the closed row has helped. */
		if (key_bytes != TG_KEY_UNRANKED)
			(void) tg_btree_remove(session, index, key, key_bytes, row);
	}
	tg_indexes_forget(session, dead, TG_VERSION_NONE);
	return true;
}

/* Prunes a dead version; does nothing unless it is the last of its life. */
static void
prune_dead(tg_session *session, tg_log_entry *entry, tg_version above, const tg_readings *readings,
		   tg_prune_counts *counts)
{
	tg_version dead = entry->version;
	tg_header *header = header_of(dead);
	tg_version below;

	if (!is_garbage(header, readings))
	{
		entry->kind = TG_WRITE_DELETE; /* a reader needs it, though it may have been open: 5 */
		return;
	}
	entry->kind = TG_GARBAGE_OPEN;
	below = tg_load_acquire(&header->older);
	if (below != TG_VERSION_NONE)
	{
		if (is_stamped(tg_load_acquire(&header_of(below)->begin)) && !is_garbage(header_of(below), readings))
			entry->kind = TG_WRITE_DELETE; /* a reader still needs the version below */
		return;
	}
	if (above == TG_VERSION_NONE)
	{
		if (!close_row(session, tg_version_chunk(dead)->table, entry->count, dead))
			return; /* a transaction is reviving it */
		entry->kind = TG_GARBAGE_ROW;
		tg_fetch_add_relaxed(&counts->rows_closed, 1);
	}
	else
	{
		if (!is_stamped(tg_load_acquire(&header_of(above)->begin)))
			return;
		tg_store_release(&header_of(above)->older, TG_VERSION_NONE);
		tg_indexes_forget(session, dead, above);
		entry->kind = TG_GARBAGE_DEAD;
	}
	tg_store_release(&header->begin, TG_TIME_NEVER);
}

void
tg_prune_entry(tg_session *session, tg_log_entry *entry, const tg_readings *readings, tg_prune_counts *counts)
{
	tg_table *table = tg_version_chunk(entry->version)->table;
	tg_header *header = header_of(entry->version);
	tg_version above;

	tg_assert(entry->kind == TG_WRITE_UPDATE || entry->kind == TG_WRITE_DELETE || entry->kind == TG_GARBAGE_OPEN);
	if (!is_unlinked(tg_load_acquire(&header->begin)) && !cut_directly(session, entry, readings))
	{
		tg_version head = tg_load_acquire(tg_row_head(table, entry->count));

		tg_assert(!tg_head_is_closed(head) && head != TG_VERSION_NONE);
		above = prune_chain(session, head, readings, entry->version);
		if (entry->kind != TG_WRITE_UPDATE)
		{
			prune_dead(session, entry, above, readings, counts);
			return;
		}
	}
	if (!is_unlinked(tg_load_relaxed(&header->begin)))
		return;
	tg_assert(entry->kind == TG_WRITE_UPDATE);
	entry->kind = is_in_run(tg_load_relaxed(&header->begin)) ? TG_GARBAGE_NONE : TG_GARBAGE_RUN;
}

/* The lowest point within a version's lifetime, or 0. */
static tg_time
point_within(const tg_header *header, const tg_readings *readings)
{
	unsigned place = tg_readings_from(readings, tg_load_relaxed(&header->begin));

	if (place == readings->count || readings->point[place] >= tg_load_relaxed(&header->end))
		return 0;
	return readings->point[place];
}

tg_time
tg_prune_keeper(const tg_log_entry *entry, const tg_readings *readings)
{
	const tg_header *header = header_of(entry->version);
	tg_version below = tg_load_relaxed(&header->older);
	tg_time keeper;

	if (tg_load_relaxed(&header->end) > readings->bound)
		return 0;
	keeper = point_within(header, readings);
	if (keeper == 0 && entry->kind == TG_WRITE_DELETE && below != TG_VERSION_NONE)
		keeper = point_within(header_of(below), readings);
	if (keeper != 0)
		return keeper;
	/* Otherwise it waits for the horizon, which is the lowest point. */
	return readings->count > 0 ? readings->point[0] : 0;
}

/* --- prefetching ---------------------------------------------------------- */

/*
 * The rows of the entries lie anywhere, and each entry is followed through several pointers.  Each
 * step is made for all these entries before the next step, so that their cache misses overlap.
 * Inside an epoch.
 */
static inline bool
is_to_prune(const tg_log_entry *entry)
{
	return entry->kind == TG_WRITE_UPDATE || entry->kind == TG_WRITE_DELETE || entry->kind == TG_GARBAGE_OPEN;
}

/* The head of the entry's row; NONE if the row is closed. */
static inline tg_version
head_of(const tg_log_entry *entry)
{
	tg_version head = tg_load_acquire(tg_row_head(tg_version_chunk(entry->version)->table, entry->count));

	return tg_head_is_closed(head) ? TG_VERSION_NONE : head;
}

void
tg_prune_expect(tg_log_entry *const *entries, unsigned count)
{
	tg_version heads[TG_ENTRIES_AHEAD];

	for (unsigned i = 0; i < count; i++)
		if (is_to_prune(entries[i]))
			__builtin_prefetch(tg_version_chunk(entries[i]->version));
	for (unsigned i = 0; i < count; i++)
	{
		if (!is_to_prune(entries[i]))
			continue;
		__builtin_prefetch(header_of(entries[i]->version), 1);
		if (entries[i]->above != 0)
			__builtin_prefetch(header_of(above_of(entries[i])), 1);
		else
			__builtin_prefetch(tg_row_head(tg_version_chunk(entries[i]->version)->table, entries[i]->count));
	}
	for (unsigned i = 0; i < count; i++)
	{
		heads[i] = is_to_prune(entries[i]) && entries[i]->above == 0 ? head_of(entries[i]) : TG_VERSION_NONE;
		if (heads[i] != TG_VERSION_NONE)
			__builtin_prefetch(tg_version_chunk(heads[i]));
	}
	for (unsigned i = 0; i < count; i++)
	{
		const tg_header *headers = heads[i] != TG_VERSION_NONE ? tg_chunk_headers(tg_version_chunk(heads[i])) : NULL;

		if (headers != NULL)
			__builtin_prefetch(&headers[tg_version_slot(heads[i])], 1);
	}
}

/* Prefetches the cells of a version's strings. */
static void
expect_strings(tg_version version)
{
	const tg_chunk *chunk = tg_version_chunk(version);

	for (unsigned i = 0; i < chunk->layout->string_count && i < STRINGS_AHEAD; i++)
		__builtin_prefetch(tg_chunk_cell(chunk, chunk->layout->strings[i], tg_version_slot(version)), 1);
}

/*
 * Whether freeing it reads cells: for a replaced version only if some are shared (chunk_values.c,
 * 2).
 */
static inline bool
has_strings_to_look_at(const tg_log_entry *entry)
{
	return entry->kind != TG_GARBAGE_RUN || tg_load_relaxed(&tg_version_chunk(entry->version)->mixed);
}

void
tg_free_expect(tg_log_entry *const *entries, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (entries[i]->kind >= TG_GARBAGE_RUN && entries[i]->kind <= TG_GARBAGE_ROW)
		{
			__builtin_prefetch(tg_version_chunk(entries[i]->version), 1);
			__builtin_prefetch((const char *) tg_version_chunk(entries[i]->version) + TG_CACHE_LINE, 1);
		}
	for (unsigned i = 0; i < count; i++)
		if (entries[i]->kind >= TG_GARBAGE_RUN && entries[i]->kind <= TG_GARBAGE_ROW)
		{
			const tg_chunk *chunk = tg_version_chunk(entries[i]->version);

			__builtin_prefetch(header_of(entries[i]->version), 1);
			__builtin_prefetch(&chunk->free[tg_version_slot(entries[i]->version) / 64], 1);
			if (has_strings_to_look_at(entries[i]))
				expect_strings(entries[i]->version);
		}
	for (unsigned i = 0; i < count; i++)
		if (entries[i]->kind == TG_GARBAGE_RUN && has_strings_to_look_at(entries[i]))
			expect_strings(leader_above(tg_load_acquire(&header_of(entries[i]->version)->begin)));
}

/* --- freeing -------------------------------------------------------------- */

static inline void
give_slot(tg_session *session, tg_version version)
{
	tg_store_release(&header_of(version)->begin, TG_TIME_NEVER);
	tg_slot_give(session, version);
}

/* Frees a version that shares no blob with any existing one. */
static void
free_version(tg_session *session, tg_version version, tg_prune_counts *counts)
{
	tg_version_blobs_free(session, version, TG_VERSION_NONE, TG_VERSION_NONE);
	give_slot(session, version);
	tg_fetch_add_relaxed(&counts->versions_removed, 1);
}

static void
free_row(tg_session *session, tg_version version, tg_prune_counts *counts)
{
	tg_table *table = tg_version_chunk(version)->table;
	uint32_t row = tg_version_row(version);

	free_version(session, version, counts);
	tg_row_give(session, table, row);
}

/* Frees the leader of a run and all versions behind it; returns the cost. */
static unsigned
free_run(tg_session *session, tg_version version, tg_prune_counts *counts)
{
	tg_version above = leader_above(tg_load_acquire(&header_of(version)->begin));
	unsigned cost = 0;

	for (bool is_last = false; !is_last; cost++)
	{
		const tg_header *header = header_of(version);
		tg_version below = tg_load_acquire(&header->older);

		/* Below the beginning of a life is another entry's version, which may be free by now. */
		if ((tg_load_relaxed(&header->life) & TG_LIFE_NEW) != 0)
			below = TG_VERSION_NONE;
		is_last = below == TG_VERSION_NONE || !is_in_run(tg_load_acquire(&header_of(below)->begin));
		tg_version_blobs_leave(session, version, above, below);
		give_slot(session, version);
		version = below;
	}
	tg_fetch_add_relaxed(&counts->versions_removed, cost);
	return cost;
}

unsigned
tg_free_undone(tg_session *session, const tg_log_entry *entry, tg_prune_counts *counts)
{
	switch (entry->kind)
	{
		case TG_WRITE_INSERT:
			for (uint32_t i = 0; i < entry->count; i++)
				free_row(session, entry->version + i, counts);
			return entry->count * TG_ROW_COST;
		case TG_WRITE_UNDONE_ROW:
			free_row(session, entry->version, counts);
			return TG_ROW_COST;
		case TG_WRITE_REVIVE:
		case TG_WRITE_UPDATE:
		case TG_WRITE_UNDONE_VERSION:
			free_version(session, entry->version, counts);
			return 1;
		default:
			return 1;
	}
}

unsigned
tg_free_pruned(tg_session *session, tg_log_entry *entry, bool runs, tg_prune_counts *counts)
{
	bool is_run = entry->kind == TG_GARBAGE_RUN;
	bool is_row = entry->kind == TG_GARBAGE_ROW;
	tg_table *table;
	unsigned versions = 1;

	if (runs != is_run || (!is_run && !is_row && entry->kind != TG_GARBAGE_DEAD))
		return 1;
	table = tg_version_chunk(entry->version)->table;
	if (is_run)
		versions = free_run(session, entry->version, counts);
	else if (is_row)
		free_row(session, entry->version, counts);
	else
		free_version(session, entry->version, counts);
	(void) tg_fetch_add_relaxed(&table->replaced_count, versions);
	entry->kind = TG_GARBAGE_NONE;
	return is_row ? TG_ROW_COST : versions;
}
