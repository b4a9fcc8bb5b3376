/*
 * prune.c
 *	  What one log entry's garbage is: unlinking it, and freeing it later.
 *
 * Pruning unlinks: afterwards neither head nor chain nor index leads to a
 * garbage version.  Freeing follows when an epoch has passed: blobs and slot in
 * one step, then the row id of a closed row.  collector.c sees to the order:
 * the entries of committed logs are pruned in the order of C, those of one
 * transaction in the order of its writes.
 *
 * Who owns what (each version is freed by exactly one entry):
 *
 * 1. A version that a commit has ended belongs to the entry that ended it: that
 *	  of the UPDATE which replaced it (pruning puts the old version's word in place
 *	  of the new one's), or that of the DELETE.  REVIVE and INSERT own nothing.  By
 *	  W1 a version is ended by one commit at most.  Of an undone log INSERT owns its
 *	  versions and their rows, UPDATE and REVIVE their new version, DELETE nothing.
 * 2. A row belongs to the entry whose compare-and-swap closed it, together with
 *	  the version that was its head.
 *
 * Pruning:
 *
 * 3. Edges of a chain (new.older = old) are cut from the oldest up: whoever cuts
 *	  an edge finds old.older NONE, and a version is unlinked when the one edge, or
 *	  the head, that leads to it is gone.  An UPDATE's edge is cut by its own entry,
 *	  after the entry of the one who wrote what it replaced.
 * 4. The edge v.older = d of a REVIVE is cut by d's owner, a DELETE, or, if that
 *	  one could not, by the REVIVE's own entry.  When the DELETE is pruned,
 *	  - head = d: the row is closed by compare-and-swap, then its index entry is
 *		removed (W3);
 *	  - head = v, v.older = d, v committed and stamped: the edge is cut;
 *	  - else (v is not stamped, or there are versions above v) the DELETE stays open
 *		and is tried again later.  v may be undone: then the head is d again.  Or v
 *		commits: then its own pruning cuts the edge and tells d's entry so, by 5.
 *	  An edge is never cut while v may be undone, because undoing needs it.  Waiting
 *	  costs no order: below d nothing is left, and what is above d does not need
 *	  it.  Meanwhile d, its row and the word d keep their meaning: d is not freed.
 * 5. Unlinked versions have begin = NEVER, from after the unlinking on: no scan
 *	  sees the slot's next tenant by this one's begin (table.h, tg_slot_give), and
 *	  an open DELETE sees that its version has been unlinked.
 *
 * Blobs:
 *
 * 6. A version may share blobs, column by column, with the version that it
 *	  replaced and no other; so a blob's holders follow each other in a chain, and
 *	  it belongs to the newest.  Pruning an UPDATE strips the old version of the
 *	  blobs that the new one shares (tg_version_strip), while both are there;
 *	  undoing strips the new one of those that the old one shares.  From then on a
 *	  version's blobs are its own, and freeing asks no neighbour, who may be gone.
 * 7. Stripping changes values, which are else immutable.  It may, because values
 *	  are only read of versions that the reader's snapshot sees, with the snapshot
 *	  published.  A garbage version has end <= horizon: no snapshot that is or can
 *	  be published sees it.  A version being undone is seen by its own transaction's
 *	  later commands only, and those have ended: a subtransaction's cursors are gone
 *	  before it is undone.  The values that index entries are found by (d in 4, an
 *	  undone INSERT) are of versions that were not stripped.  The blobs themselves
 *	  are not touched.
 *
 * An undone version needs no horizon: it was unlinked before its log was given,
 * and no snapshot but its own transaction's ever saw it.
 */
#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/storage/btree.h"
#include "runtime/storage/collector_internal.h"
#include "runtime/storage/key.h"

/* --- pruning -------------------------------------------------------------- */

/* The header of a version that is not settled. */
static inline tg_header *
header_of(tg_version version)
{
	tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

	tg_assert(headers != NULL);
	return headers + tg_version_slot(version);
}

/* Nothing leads to the version any more: 5. */
static void
mark_unlinked(tg_version version)
{
	tg_store_release(&header_of(version)->begin, TG_TIME_NEVER);
}

static bool
is_unlinked(tg_version version)
{
	return tg_load_relaxed(&header_of(version)->begin) == TG_TIME_NEVER;
}

static void
prune_update(tg_log_entry *entry)
{
	tg_header *header = header_of(entry->version);
	tg_version old = tg_load_relaxed(&header->older);

	tg_assert(old != TG_VERSION_NONE && tg_load_relaxed(&header_of(old)->older) == TG_VERSION_NONE);
	tg_store_release(&header->older, TG_VERSION_NONE);
	tg_version_strip(old, entry->version);
	mark_unlinked(old);
	entry->version = old;
	entry->kind = TG_GARBAGE_VERSION;
}

/* True if there was an edge left to cut. */
static bool
prune_revive(tg_log_entry *entry)
{
	tg_header *header = header_of(entry->version);
	tg_version dead = tg_load_relaxed(&header->older);

	if (dead != TG_VERSION_NONE)
	{
		/* The entry of its DELETE has been pruned, being earlier, and was left open. */
		tg_assert(tg_load_relaxed(&header_of(dead)->older) == TG_VERSION_NONE);
		tg_store_release(&header->older, TG_VERSION_NONE);
		mark_unlinked(dead);
	}
	entry->kind = TG_GARBAGE_NONE;
	return dead != TG_VERSION_NONE;
}

/* Closes the row if the dead version is its head. */
static bool
close_row(tg_session *session, tg_version dead)
{
	tg_table *table = tg_version_chunk(dead)->table;
	uint32_t row = tg_version_row(dead);
	tg_btree *index = tg_load_acquire(&table->index);
	tg_version expected = dead;

	if (tg_load_acquire(tg_row_head(table, row)) != dead ||
		!tg_cas_acq_rel(tg_row_head(table, row), &expected, TG_HEAD_CLOSED))
		return false;
	if (index != NULL)
	{
		unsigned char key[TG_KEY_BYTES_MAX];
		size_t key_bytes = tg_key_of_version(&table->key, dead, key);

		/* Not found: an inserter that met the closed row has helped. */
		(void) tg_btree_remove(session, index, key, key_bytes, row);
	}
	return true;
}

/* Cuts the dead version off a reviving one that is the head and has committed. */
static bool
cut_revived(tg_version dead)
{
	tg_version head = tg_load_acquire(tg_row_head(tg_version_chunk(dead)->table, tg_version_row(dead)));
	tg_header *header;
	tg_time begin;

	if (tg_head_is_closed(head) || head == dead)
		return false;
	header = tg_chunk_headers(tg_version_chunk(head));
	if (header == NULL)
		return false;
	header += tg_version_slot(head);
	if (tg_load_acquire(&header->older) != dead)
		return false;
	begin = tg_load_acquire(&header->begin);
	if (tg_time_is_reference(begin) || begin == TG_TIME_NEVER)
		return false;
	tg_store_release(&header->older, TG_VERSION_NONE);
	return true;
}

static void
prune_delete(tg_session *session, tg_log_entry *entry, tg_prune_counts *counts)
{
	tg_version dead = entry->version;

	tg_assert(tg_load_relaxed(&header_of(dead)->older) == TG_VERSION_NONE);
	if (is_unlinked(dead))
		entry->kind = TG_GARBAGE_VERSION;
	else if (close_row(session, dead))
	{
		mark_unlinked(dead);
		entry->kind = TG_GARBAGE_ROW;
		tg_store_relaxed(&counts->rows_closed, counts->rows_closed + 1);
	}
	else if (cut_revived(dead))
	{
		mark_unlinked(dead);
		entry->kind = TG_GARBAGE_VERSION;
	}
}

bool
tg_prune_entry(tg_session *session, tg_log_entry *entry, tg_prune_counts *counts)
{
	switch (entry->kind)
	{
		case TG_WRITE_INSERT:
			entry->kind = TG_GARBAGE_NONE;
			return false;
		case TG_WRITE_REVIVE:
			return prune_revive(entry);
		case TG_WRITE_UPDATE:
			prune_update(entry);
			return false;
		default:
			tg_assert(entry->kind == TG_WRITE_DELETE);
			prune_delete(session, entry, counts);
			return false;
	}
}

/* --- freeing -------------------------------------------------------------- */

static void
free_version(tg_session *session, tg_version version, tg_prune_counts *counts)
{
	tg_version_blobs_free(session, version, TG_VERSION_NONE, TG_VERSION_NONE);
	tg_slot_give(session, version);
	tg_store_relaxed(&counts->versions_removed, counts->versions_removed + 1);
}

static void
free_row(tg_session *session, tg_version version, tg_prune_counts *counts)
{
	tg_table *table = tg_version_chunk(version)->table;
	uint32_t row = tg_version_row(version);

	free_version(session, version, counts);
	tg_row_give(session, table, row);
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
		case TG_WRITE_REVIVE:
		case TG_WRITE_UPDATE:
			free_version(session, entry->version, counts);
			return 1;
		default:
			return 1;
	}
}

unsigned
tg_free_pruned(tg_session *session, const tg_log_entry *entry, tg_prune_counts *counts)
{
	if (entry->kind == TG_GARBAGE_ROW)
	{
		free_row(session, entry->version, counts);
		return TG_ROW_COST;
	}
	if (entry->kind == TG_GARBAGE_VERSION)
		free_version(session, entry->version, counts);
	return 1;
}
