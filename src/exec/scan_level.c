/*
 * scan_level.c
 *	  What levels with one snapshot ask of a scan, and what it notes as read at SERIALIZABLE.
 *
 * A source is asked for before it is read: whether the transaction may read there, and as of which snapshot, which may have
 * been extended since the scan began.  What is read is noted before anybody is told of it (isolation.c, 4): ranges and tables when they are
 * opened, single rows and keys that are not there as they are looked up.
 */
#include "postgres.h"

#include "src/exec/scan_internal.h"

#include "src/exec/or_scan.h"
#include "src/exec/scan_key.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"

void
tsurugi_scan_begin_at_level(tsurugi_scan *scan)
{
	if (tsurugi_minds_areas)
	{
		tg_area area = tsurugi_scan_area(scan);

		tsurugi_check_read(scan->node->ss.ss_currentRelation, &area);
	}
	/* The transaction's snapshot may have been renewed. */
	tsurugi_snapshot_of(scan->node->ss.ps.state, scan->node->ss.ss_currentRelation, scan->described->table,
						&scan->snapshot);
	scan->row_expected = false;
	/* A direct modification may start over until it has written, another one until it has locked a row. */
	if (scan->whole->direct == CMD_UNKNOWN && (!scan->whole->locks || scan->whole->has_handed_up))
		tsurugi_snapshot_is_used();
}

/* S2. */
void
tsurugi_scan_note_source(tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;

	if (scan->shape.way == TSURUGI_WAY_RANGE)
		scan->noted_range =
			tg_reads_add_range(scan->session, tsurugi_reads(), table, scan->stored, &scan->range->cursor);
	else if (scan->shape.way == TSURUGI_WAY_TABLE)
	{
		scan->noted_table = scan->direct != CMD_UNKNOWN || (scan->locks && !scan->has_handed_up);
		tg_reads_add_table(scan->session, tsurugi_reads(), table, scan->noted_table);
	}
}

void
tsurugi_scan_note_gap(tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;
	tg_btree_cursor cursor;

	tg_btree_cursor_init(&cursor, tg_index_tree(table, scan->stored), scan->gap[0].key, scan->gap[0].bytes,
						 scan->gap[0].inclusive, scan->gap[1].key, scan->gap[1].bytes, scan->gap[1].inclusive, false);
	(void) tg_reads_add_range(scan->session, tsurugi_reads(), table, scan->stored, &cursor);
}

/* S1. */
void
tsurugi_scan_note_row(tsurugi_scan *scan, tg_status status, tg_version version)
{
	if (status == TG_NOT_FOUND)
		tg_reads_add_key(scan->session, tsurugi_reads(), scan->described->table, NULL, scan->key, scan->key_bytes);
	else if (status == TG_OK && tg_reads_add_version(scan->session, tsurugi_reads(), version))
		scan->noted_version = version;
}

void
tsurugi_scan_end_notes(tsurugi_scan *scan)
{
	if (scan->noted_range != NULL && tsurugi_tracks)
		tg_reads_end_range(tsurugi_reads(), scan->described->table, scan->noted_range, &scan->range->cursor);
	scan->noted_range = NULL;
	tsurugi_scan_keep(scan);
}

void
tsurugi_scan_forget(tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;

	if (!tsurugi_tracks)
		return;
	if (scan->arms != NULL)
		tsurugi_arms_forget(scan);
	if (scan->noted_range != NULL)
		tg_reads_forget_range(tsurugi_reads(), table, scan->noted_range);
	if (scan->noted_table)
		tg_reads_forget_table(tsurugi_reads(), table);
	if (scan->noted_version != TG_VERSION_NONE)
		tg_reads_forget_version(tsurugi_reads(), scan->noted_version);
	scan->noted_range = NULL;
	scan->noted_table = false;
	scan->noted_version = TG_VERSION_NONE;
}

void
tsurugi_scan_keep(tsurugi_scan *scan)
{
	if (scan->noted_table && tsurugi_tracks)
	{
		tg_reads_add_table(scan->session, tsurugi_reads(), scan->described->table, false);
		tg_reads_forget_table(tsurugi_reads(), scan->described->table);
	}
	scan->noted_table = false;
}
