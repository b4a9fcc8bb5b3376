/*
 * scan_level.c
 *	  The duties of a source at levels with one snapshot, and the notes that a scan may take back at
 *	  SERIALIZABLE.
 *
 * Before a source reads, it tests whether the transaction may read there, and gets the snapshot,
 * which may have been extended since the scan began.  Reads are noted before their results are used
 * (isolation.c, 4): ranges and tables when they are opened, single rows and missing keys when they
 * are looked up.  Each source notes its own reads.
 */
#include "postgres.h"

#include "runtime/base/atomic.h"
#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/reads.h"
#include "src/exec/scan_internal.h"
#include "src/exec/scan_retry.h"

#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"

void
tsurugi_source_begin_at_level(tsurugi_source *source)
{
	tsurugi_scan *scan = source->scan;

	if (tsurugi_minds_areas)
	{
		tg_area area = source->methods->area(source);

		tsurugi_check_read(scan->node->ss.ss_currentRelation, &area);
		if (unlikely(tsurugi_ladder_has_rows) && tsurugi_scan_retries_by_area(scan))
			tsurugi_retry_lock_rows(scan->node->ss.ps.state, scan->node->ss.ss_currentRelation, &area);
	}
	/* The transaction's snapshot may have been renewed. */
	tsurugi_snapshot_of(scan->node->ss.ps.state, scan->node->ss.ss_currentRelation, scan->described->table,
						&scan->snapshot);
	/*
	 * A direct modification may start again until it has written; another one, until it has locked
	 * a row.
	 */
	if (scan->direct == CMD_UNKNOWN && (!scan->locks || scan->has_handed_up))
		tsurugi_snapshot_is_used();
}

/* An index may have gone since the plan was made, or be younger than the snapshot. */
void
tsurugi_keys_check_index(const tsurugi_keys *keys, const tg_snapshot *snapshot)
{
	if (keys->index->primary || (keys->stored != NULL && snapshot->time >= tg_load_acquire(&keys->stored->since)))
		return;
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("could not serialize access due to concurrent change of definition"),
					errdetail("An index was made or dropped on the primary meanwhile.")));
}

/* Notes, permanently, the keys that a value without a rank may get; no row has them yet. */
static void
note_gap(const tsurugi_keys *keys, tg_session *session)
{
	tg_table *table = keys->described->table;
	tg_btree_cursor cursor;

	tg_btree_cursor_init(&cursor, tg_index_tree(table, keys->stored), keys->gap[0].key, keys->gap[0].bytes,
						 keys->gap[0].inclusive, keys->gap[1].key, keys->gap[1].bytes, keys->gap[1].inclusive, false);
	(void) tg_reads_add_range(session, tsurugi_reads(), table, keys->stored, &cursor);
}

bool
tsurugi_source_make_ranked(tsurugi_source *source, tsurugi_keys *keys, bool (*make)(tsurugi_source *source))
{
	bool fresh = keys->elements == NULL;
	bool made = make(source);

	if (likely(!keys->unranked) || (!made && !keys->has_gap))
		return made;
	/*
	 * A value that had no rank is in no row that an older snapshot sees; here the snapshot may be
	 * renewed until it is used.
	 */
	if (tsurugi_has_one_snapshot())
	{
		tsurugi_source_begin_at_level(source);
		if (fresh)
			tsurugi_keys_forget_arrays(keys);
		made = make(source);
	}
	if (keys->has_gap && tsurugi_tracks)
		note_gap(keys, source->scan->session);
	return made;
}

tg_area
tsurugi_keys_area(const tsurugi_keys *keys)
{
	tg_area area = {.table = keys->described->table};

	if (keys->has_gap)
	{
		area.low = keys->gap[0].key;
		area.low_bytes = (uint32_t) keys->gap[0].bytes;
		area.low_inclusive = keys->gap[0].inclusive;
		area.high = keys->gap[1].key;
		area.high_bytes = (uint32_t) keys->gap[1].bytes;
		area.high_inclusive = keys->gap[1].inclusive;
	}
	else
	{
		area.low = area.high = keys->key;
		area.low_bytes = area.high_bytes = (uint32_t) keys->key_bytes;
		area.low_inclusive = area.high_inclusive = true;
	}
	return area;
}

void
tsurugi_scan_forget(tsurugi_scan *scan)
{
	if (tsurugi_tracks && scan->source->methods->forget_reads != NULL)
		scan->source->methods->forget_reads(scan->source);
}

void
tsurugi_scan_keep(tsurugi_scan *scan)
{
	if (scan->source->methods->keep_reads != NULL)
		scan->source->methods->keep_reads(scan->source);
}
