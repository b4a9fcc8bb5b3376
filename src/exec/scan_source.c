/*
 * scan_source.c
 *	  Opens what a scan's rows come from: a key, a range of an index, a table.
 *
 * Where there are lists of values, or several ranges that rows may be in, each has its turn, one after the other.
 */
#include "postgres.h"

#include "src/exec/scan_internal.h"

#include "miscadmin.h"

#include "src/base/settings.h"
#include "src/exec/and_scan.h"
#include "src/exec/cover_scan.h"
#include "src/exec/gin_scan.h"
#include "src/exec/scan_key.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/participants.h"
#include "src/txn/transaction.h"

/* --- ranges ------------------------------------------------------------------------------ */

/* The range whose turn it is. */
static bool
make_range(tsurugi_scan *scan, tsurugi_range_end *first, tsurugi_range_end *last)
{
	if (scan->sought != NULL)
		return tsurugi_sought_make_range(scan, first, last);
	if (scan->covers != NULL)
		return tsurugi_covers_make_range(scan, first, last);
	return tsurugi_scan_make_range(scan, first, last);
}

bool
tsurugi_scan_open_range(tsurugi_scan *scan)
{
	tsurugi_range_end first;
	tsurugi_range_end last;

	if (!make_range(scan, &first, &last))
		return false;
	if (scan->range == NULL)
		scan->range = MemoryContextAlloc(scan->memory, sizeof(tg_range_scan));
	tg_range_scan_init(scan->range, scan->described->table, scan->stored, &scan->snapshot,
					   first.bytes > 0 ? first.key : NULL, first.bytes, first.inclusive,
					   last.bytes > 0 ? last.key : NULL, last.bytes, last.inclusive, scan->shape.backward);
	if (scan->sought != NULL)
		scan->range->sought = tsurugi_sought_of(scan);
	if (scan->covers != NULL)
		scan->range->cursor.sieve = tsurugi_covers_sieve(scan);
	if (scan->learns && !scan->one_row)
		tsurugi_scan_expect_range(scan);
	scan->looked_up = false;
	return true;
}

bool
tsurugi_scan_next_source(tsurugi_scan *scan)
{
	if (scan->sought != NULL)
		return tsurugi_sought_next_turn(scan);
	if (scan->covers != NULL)
		return tsurugi_covers_next_turn(scan);
	return tsurugi_scan_next_turn(scan);
}

/* --- whole tables ------------------------------------------------------------------------ */

/* Scans of this process that the pool has part in. */
static dlist_head scans_by_pool = DLIST_STATIC_INIT(scans_by_pool);

void
tsurugi_scan_end_job(tsurugi_scan *scan)
{
	if (scan->job == NULL)
		return;
	tg_scan_job_end(scan->session, scan->job);
	scan->job = NULL;
	dlist_delete(&scan->by_pool);
}

/* However the statement ends: its memory goes, and with it the consumer's side of the job. */
static void
end_job(void *scan)
{
	tsurugi_scan_end_job(scan);
}

/*
 * What a function ran when it failed has its memory in that of the transaction, which goes after the session has turned
 * to its client, and not before the client says ROLLBACK.
 */
static void
end_jobs(bool committed)
{
	while (!committed && !dlist_is_empty(&scans_by_pool))
		tsurugi_scan_end_job(dlist_head_element(tsurugi_scan, by_pool, &scans_by_pool));
}

static bool
has_jobs(void)
{
	return !dlist_is_empty(&scans_by_pool);
}

void
tsurugi_scan_init(void)
{
	static const tsurugi_participant jobs = {.name = "scan jobs", .end = end_jobs, .has_state = has_jobs};

	tsurugi_participant_register(&jobs);
}

/* Gives the scan to the pool if it is worth it and the pool is there. */
static bool
open_job(tsurugi_scan *scan)
{
	EState *estate = scan->node->ss.ps.state;
	tg_scan_job_config config = {
		.table = scan->described->table,
		.snapshot = scan->snapshot,
		.columns = scan->columns,
		.kinds = scan->kinds,
		.column_count = scan->column_count,
		.waiter = MyLatch,
		.owner = MyProcPid,
		.object = scan->described->oid,
		.memory_max = (uint64_t) tsurugi_job_memory_kb * 1024,
	};

	tsurugi_settings_follow();

	/* Exclusions are in this process's memory. */
	if (scan->snapshot.excluded != NULL || tsurugi_scan_pool_rows < 0 ||
		tsurugi_row_count(scan->described->table) < tsurugi_scan_pool_rows || !tg_scheduler_is_running() ||
		tg_scan_job_start(scan->session, &config, &scan->job) != TG_OK)
		return false;
	dlist_push_head(&scans_by_pool, &scan->by_pool);
	if (scan->job_end.func == NULL)
	{
		scan->job_end.func = end_job;
		scan->job_end.arg = scan;
		MemoryContextRegisterResetCallback(estate->es_query_cxt, &scan->job_end);
	}
	scan->figures.by_pool = true;
	return true;
}

/* --- any of them ------------------------------------------------------------------------- */

static void
make_vectors(tsurugi_scan *scan, unsigned rows)
{
	MemoryContext context = scan->one_row ? scan->memory : scan->node->ss.ps.state->es_query_cxt;
	size_t bytes;
	char *memory;

	if (scan->own != NULL)
		return;
	bytes = tg_vectors_bytes(scan->kinds, scan->column_count, rows);
	memory = MemoryContextAllocHuge(context, bytes + TG_CACHE_LINE);
	scan->own = tg_vectors_init((void *) TYPEALIGN(TG_CACHE_LINE, memory), scan->columns, scan->kinds,
								scan->column_count, rows);
}

bool
tsurugi_scan_make_source(tsurugi_scan *scan)
{
	bool is_key = scan->shape.way == TSURUGI_WAY_KEY;
	bool fresh = scan->elements == NULL;
	bool made = is_key ? tsurugi_scan_make_key(scan) : tsurugi_scan_open_range(scan);

	if (likely(!scan->unranked) || (!made && !scan->has_gap))
		return made;
	/* What had no rank is in no row that the snapshot sees, if that is older; here it may be renewed until it is used. */
	if (tsurugi_has_one_snapshot())
	{
		tsurugi_scan_begin_at_level(scan);
		if (fresh)
			tsurugi_scan_forget_arrays(scan);
		made = is_key ? tsurugi_scan_make_key(scan) : tsurugi_scan_open_range(scan);
	}
	if (scan->has_gap && tsurugi_tracks)
		tsurugi_scan_note_gap(scan);
	return made;
}

bool
tsurugi_scan_open_source(tsurugi_scan *scan)
{
	bool one_snapshot = tsurugi_has_one_snapshot();

	scan->ready = true;
	scan->figures.started = true;
	switch ((tsurugi_way) scan->shape.way)
	{
		case TSURUGI_WAY_KEY:
			return true;
		case TSURUGI_WAY_RANGE:
			if (!tsurugi_scan_make_source(scan))
				return false;
			if (one_snapshot)
			{
				tsurugi_scan_begin_at_level(scan);
				scan->range->snapshot = scan->snapshot;
			}
			if (tsurugi_tracks)
				tsurugi_scan_note_source(scan);
			if (scan->others != NULL)
				scan->range->within = tsurugi_others_rows(scan);
			make_vectors(scan, scan->one_row ? 1 : TSURUGI_RANGE_ROWS);
			return true;
		case TSURUGI_WAY_TABLE:
			if (one_snapshot)
				tsurugi_scan_begin_at_level(scan);
			if (tsurugi_tracks)
				tsurugi_scan_note_source(scan);
			if (open_job(scan))
				return true;
			make_vectors(scan, TG_SLOT_MAX);
			tg_chunk_scan_init(&scan->chunks, scan->described->table, &scan->snapshot, 0, PG_UINT32_MAX);
			return true;
		case TSURUGI_WAY_ARMS: /* each opens its own */
		case TSURUGI_WAY_PLACE:
			break;
	}
	pg_unreachable();
}
