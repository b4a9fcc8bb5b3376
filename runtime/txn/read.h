/*
 * read.h
 *	  Which version of a row a snapshot sees.
 *
 * Inside an epoch, by any thread that works for the snapshot's owner, except where it says
 * otherwise.  Nothing waits: TG_BUSY names the transaction to wait for, outside the epoch.
 */
#ifndef TG_READ_H
#define TG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/unflushed.h"

/* Sets flushed and reader, of a snapshot whose time was loaded from the clock, at whatever time. */
static inline void
tg_snapshot_set_reader(tg_snapshot *snapshot, unsigned reader)
{
	snapshot->flushed = tg_unflushed_before(snapshot->time);
	snapshot->reader = reader;
}

/* V2, M2: whether the snapshot sees a commit at this time. */
static inline bool
tg_snapshot_covers(const tg_snapshot *snapshot, tg_time time)
{
	return time <= snapshot->time && tg_likely(!tg_is_excluded(snapshot->excluded, time));
}

/*
 * Whether the snapshot sees a version, by its times alone, and needs no flush for it; false decides
 * nothing.
 */
static inline bool
tg_header_is_seen(const tg_snapshot *snapshot, const tg_header *header)
{
	tg_time begin = tg_load_acquire(&header->begin);
	tg_time end = tg_load_acquire(&header->end);

	/* A reference compares greater than any time. */
	return begin <= snapshot->flushed && end > snapshot->time && !tg_time_is_reference(end) &&
		   snapshot->excluded == NULL;
}

/* tg_txn_read_head for rows that are not settled. */
extern tg_status tg_txn_read_chain(const tg_snapshot *snapshot, tg_version head, tg_version *version_out,
								   tg_wait *wait_out) TG_MUST_USE;

/*
 * The version of a row that the snapshot sees, given a head of the row that was loaded after the
 * snapshot's time: the version is at that head or below.  TG_OK or TG_NOT_FOUND; TG_BUSY: the
 * result depends on the outcome of a commit, to be waited for outside the epoch.
 */
static inline tg_status TG_MUST_USE
tg_txn_read_head(const tg_snapshot *snapshot, tg_version head, tg_version *version_out, tg_wait *wait_out)
{
	if (tg_likely(!tg_head_is_closed(head) && head != TG_VERSION_NONE))
	{
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(head));

		/* Common cases: every snapshot sees a settled version; or its times decide. */
		if (headers == NULL || tg_likely(tg_header_is_seen(snapshot, &headers[tg_version_slot(head)])))
		{
			*version_out = head;
			return TG_OK;
		}
	}
	return tg_txn_read_chain(snapshot, head, version_out, wait_out);
}

/* Likewise, by the row. */
static inline tg_status TG_MUST_USE
tg_txn_read(const tg_snapshot *snapshot, tg_table *table, uint32_t row, tg_version *version_out, tg_wait *wait_out)
{
	return tg_txn_read_head(snapshot, tg_load_acquire(tg_row_head(table, row)), version_out, wait_out);
}

/* Likewise, by the key; sets *row_out as well. */
extern tg_status tg_txn_find(const tg_snapshot *snapshot, tg_table *table, const void *key, size_t key_bytes,
							 uint32_t *row_out, tg_version *version_out, tg_wait *wait_out) TG_MUST_USE;

/*
 * For a row of which the snapshot sees no version any more: the row that an UPDATE of the key has
 * made of it, if the snapshot sees that UPDATE.  TG_NOT_FOUND: it was deleted, or continues in
 * another table.  Inside an epoch.
 */
extern tg_status tg_txn_follow(const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout) TG_MUST_USE;

typedef enum tg_sight
{
	TG_UNSEEN,
	TG_SEEN,
	TG_UNDECIDED /* wait for the outcome of a commit, as with TG_BUSY */
} tg_sight;

/* Whether the snapshot sees a version of a chunk; the header is in the chunk's array as loaded. */
extern tg_sight tg_txn_sees(const tg_snapshot *snapshot, const tg_header *header, tg_wait *wait_out);

/*
 * For a version that the snapshot sees by its times: whether it has a copy that began after the
 * snapshot, and that the snapshot's own transaction has replaced or deleted.  Then the version has
 * ended for the snapshot (relocate.c, 8).  The header is in the chunk's array as loaded.  Inside an
 * epoch.
 */
extern bool tg_version_has_ended_as_copy(const tg_snapshot *snapshot, const tg_header *header, tg_version version);

/*
 * Whether a row's present version is a copy (relocate.c): then every snapshot sees its values, even
 * one from before it began.  Inside an epoch.
 */
extern bool tg_version_is_copy(tg_version version);

/*
 * Whether another transaction's commit has ended a version that the snapshot sees.  A transaction
 * that has read it, and writes, cannot be serialized (S1), unless it extends its snapshot and reads
 * again (W5).  Inside an epoch.
 */
extern bool tg_version_is_overtaken(const tg_snapshot *snapshot, tg_version version);

/*
 * Whether two versions of a row agree in all keys that a foreign key could refer to.  Inside an
 * epoch.
 */
extern bool tg_version_keeps_keys(const tg_table *table, tg_version version, tg_version old);

#endif /* TG_READ_H */
