/*
 * compact.c
 *	  Which chunks are emptied, and where their versions go.
 *
 * A chunk is sparse if more than half of its slots are free.  When the sweep meets a sparse chunk,
 * it takes the chunk off the list that slots are taken from (chunk.c: EMPTYING) and copies its live
 * versions, batch by batch, into the free slots of chunks on that list.  The originals are garbage
 * for the collector from then on, with a log of their own (txn/relocate.c); once their slots are
 * free, too, the sweep gives the chunk back as it does any other.
 *
 *	   sparse      LISTED, leased for the copies
 *	  [x.....x.]     [xxxx....]		 ->	   [........]	[xxxxxx..]
 *
 * 1. No chunk is made for the copies (except by 6), so each emptied chunk is one less.  A sparse
 *	  chunk has at most half of a chunk's versions, and in any other sparse chunk half is free; so
 *	  of two sparse chunks one goes, or the other is no longer sparse (slots left to the chunk's own
 *	  rows stay: chunk.c, 6).  If the available slots run out first, the chunk becomes an ordinary
 *	  one again and its free slots are available; it is not tried again while it is the only one
 *	  with free slots.  So the process ends: a table at rest has at most one sparse chunk, apart
 *	  from those that sessions have leased.
 * 2. Only settled versions are copied: begin at or below the horizon, not ended, not locked, with
 *	  nothing older.  The others have to wait, and the chunk with them; but a writer that changes
 *	  one of them puts its next version elsewhere, so the chunk gets emptier in any case.
 * 3. A chunk need not be quiet to be emptied: only the state of each version matters.  Otherwise a
 *	  table whose few rows are written all the time would stay spread over many chunks.
 * 4. A chunk that is being emptied needs its headers back, 32 bytes a slot, until it is given back:
 *	  so at most a share of a table's chunks is begun in one sweep.  The headers take memory up to
 *	  the limit, never the reserve above it; without that memory, the chunk is left for later.
 * 5. Strings out of line move only if their slabs are sparse as well, as are those of rows that
 *	  came and went together with the chunk's rows: otherwise the old slabs would keep most of the
 *	  memory.
 *
 * 6. Versions in a chunk of an older layout go to a chunk of the newest one; the columns that they
 *	  do not have are NULL there, as they were.  No session takes slots from a chunk of an older
 *	  layout.  So even if a new chunk has to be made for them, and nothing else is sparse, slots
 *	  that no session could use become slots that any session can use.  This happens once, because
 *	  the new chunk has the newest layout.  (Not if the table has only one chunk.)
 *
 * Left out: the heads of dead rows between live ones, 8 bytes each, whose numbers later rows use
 * again.  A row's number cannot change, because indexes and the host's statements refer to rows by
 * it.  (Segments without a live row are given back: table.c, 4.)
 */
#include "runtime/reclaim/compact.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/table/store.h"
#include "runtime/index/index.h"
#include "runtime/table/table_internal.h"

#define COPY_COST 4	  /* in entries of the collector's budget */
#define BEGUN_MIN 64  /* chunks of a table that may be begun in one sweep, */
#define BEGUN_SHARE 4 /* or one in so many of them */

tg_relocator tg_relocate;

static inline bool
is_sparse(const tg_chunk *chunk)
{
	uint32_t free = tg_load_relaxed(&chunk->free_count);

	return free > chunk->capacity / 2u && free < chunk->capacity;
}

static bool
may_begin(const tg_compaction *compaction, const tg_table *table)
{
	return compaction->begun < BEGUN_MIN || compaction->begun < tg_table_chunk_count(table) / BEGUN_SHARE;
}

/* 2. */
static inline bool
is_settled(const tg_header *header, tg_time horizon)
{
	return tg_load_acquire(&header->begin) <= horizon && tg_load_acquire(&header->end) == TG_TIME_NEVER &&
		   tg_load_acquire(&header->older) == TG_VERSION_NONE;
}

/*
 * Leases a chunk of the newest layout with free slots, a new one if the source's layout is older:
 * 1,
 * 6.  False: there is none.
 */
static bool
lease_target(tg_session *session, tg_compaction *compaction, const tg_chunk *source)
{
	tg_table *table = source->table;

	compaction->cursor = 0;
	compaction->target = tg_chunk_lease_listed(table);
	return compaction->target != NULL || (source->layout != tg_load_acquire(&table->layout) &&
										  tg_chunk_lease(session, table, TG_MAINTENANCE, &compaction->target) == TG_OK);
}

/* Takes a slot of a chunk of the newest layout; false if there is none. */
static bool
take_target(tg_session *session, tg_compaction *compaction, const tg_chunk *source, tg_version *version_out)
{
	for (;;)
	{
		unsigned slot;

		if (compaction->target != NULL && compaction->target->layout != tg_load_acquire(&source->table->layout))
			tg_compaction_end(compaction); /* a column has been added meanwhile */
		if (compaction->target == NULL && !lease_target(session, compaction, source))
			return false;
		if (tg_chunk_find_slot(compaction->target, compaction->cursor, &slot))
		{
			compaction->cursor = slot + 1;
			if (tg_chunk_take_slot(session, compaction->target, slot, TG_MAINTENANCE, version_out) != TG_OK)
				return false;
			if (*version_out != TG_VERSION_NONE)
				return true;
		}
		else
			tg_compaction_end(compaction);
	}
}

/* Makes the next copies of a chunk; fewer than the maximum only at its end, or if *is_full_out. */
static unsigned
make_copies(tg_session *session, tg_compaction *compaction, tg_chunk *chunk, const tg_header *headers, tg_time horizon,
			tg_copy copies[TG_COPIES_MAX], bool *is_full_out)
{
	unsigned count = 0;

	*is_full_out = false;
	for (; compaction->slot < chunk->capacity && count < TG_COPIES_MAX; compaction->slot++)
	{
		tg_copy *copy = &copies[count];

		/* The begin of a free slot is NEVER. */
		if (!is_settled(&headers[compaction->slot], horizon))
			continue;
		if (!take_target(session, compaction, chunk, &copy->to))
		{
			*is_full_out = true;
			break;
		}
		copy->from = tg_version_make(chunk, compaction->slot);
		tg_version_copy(session, copy->to, copy->from);
		count++;
	}
	return count;
}

/* Whether a slot has a version that has not ended. */
static bool
is_inhabited(const tg_chunk *chunk, const tg_header *headers)
{
	for (unsigned slot = 0; slot < chunk->capacity; slot++)
	{
		tg_time begin = tg_load_acquire(&headers[slot].begin);
		tg_time end = tg_load_acquire(&headers[slot].end);

		if ((tg_time_is_reference(begin) || begin < TG_TIME_UNLINKED) &&
			(tg_time_is_open(end) || tg_time_is_reference(end)))
			return true;
	}
	return false;
}

static tg_emptying
empty_chunk(tg_session *session, tg_compaction *compaction, tg_chunk *chunk, tg_time horizon, unsigned *budget,
			uint64_t *moved_inout)
{
	tg_header *headers;

	if (tg_indexes_are_filling(chunk->table))
		return TG_EMPTYING_LATER;
	if (tg_chunk_headers_write(session, chunk, TG_MAINTENANCE, &headers) != TG_OK)
	{
		tg_chunk_emptying_end(chunk);
		return TG_EMPTYING_NOT;
	}
	tg_alloc_flush(session); /* its free objects lie anywhere, also in sparse slabs: 5 */
	while (compaction->slot < chunk->capacity)
	{
		tg_copy copies[TG_COPIES_MAX];
		bool is_full;
		unsigned count;

		if (*budget == 0)
			return TG_EMPTYING_MORE;
		count = make_copies(session, compaction, chunk, headers, horizon, copies, &is_full);
		if (count > 0)
			*moved_inout += tg_relocate(session, chunk->table, copies, count);
		*budget -= COPY_COST * count + 1 < *budget ? COPY_COST * count + 1 : *budget;
		if (is_full)
		{
			tg_chunk_emptying_end(chunk);
			return TG_EMPTYING_NOT;
		}
	}
	return is_inhabited(chunk, headers) ? TG_EMPTYING_WAITS : TG_EMPTYING_DONE;
}

tg_emptying
tg_compact_chunk(tg_session *session, tg_compaction *compaction, tg_chunk *chunk, tg_time horizon, unsigned *budget,
				 uint64_t *moved_inout)
{
	tg_emptying result;

	tg_assert(tg_epoch_inside(session));
	if (tg_relocate == NULL || tg_load_relaxed(&chunk->free_count) == chunk->capacity)
		return TG_EMPTYING_NOT;
	if (tg_load_relaxed(&chunk->listed) != TG_EMPTYING)
	{
		if (!is_sparse(chunk) || tg_load_relaxed(&chunk->leased))
			return TG_EMPTYING_NOT;
		if (!may_begin(compaction, chunk->table))
			return TG_EMPTYING_LATER;
		if (!tg_chunk_emptying_begin(chunk))
			return TG_EMPTYING_NOT;
		compaction->begun++;
	}
	result = empty_chunk(session, compaction, chunk, horizon, budget, moved_inout);
	if (result != TG_EMPTYING_MORE)
		compaction->slot = 0;
	return result;
}

void
tg_compaction_end(tg_compaction *compaction)
{
	if (compaction->target != NULL)
		tg_chunk_lease_end(compaction->target);
	compaction->target = NULL;
}
