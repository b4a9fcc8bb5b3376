/*
 * scan.c
 *	  A running scan: opens the source, steps from row to row.
 *
 * One row by key and ranges of an index are read in place, by the backend itself;
 * several, where there are lists of values, one after the other (scan_key.c).
 * A whole table is read in place too, or, from tsurugi_fdw.scan_pool_rows rows
 * on, by tasks of the pool that fill buffers of an output channel.  Between two
 * rows the session is quiescent: blobs that a slot points to stay, because the
 * snapshot is published; everything else was copied.
 */
#include "postgres.h"

#include "src/exec/scan.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "tcop/pquery.h"
#include "utils/wait_event.h"

#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/exec/cover_scan.h"
#include "src/exec/gin_scan.h"
#include "src/exec/nearest.h"
#include "src/exec/or_scan.h"
#include "src/exec/scan_key.h"
#include "src/table/row.h"
#include "src/table/system_columns.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_watch.h"
#include "src/txn/transaction.h"

#define RANGE_ROWS_FIRST 16 /* rows of a range's first batch: LIMIT 1 is common */
#define RANGE_ROWS 128		/* of the later ones */

_Static_assert(RANGE_ROWS <= TG_RANGE_ROWS_AHEAD, "a batch is one that can be filtered");

/* --- setting up ---------------------------------------------------------------------- */

static void
init_columns(tsurugi_scan *scan, ForeignScan *plan, List *attnums)
{
	int count = list_length(attnums);
	ListCell *cell;
	char *memory;

	/* One piece: cells first, they want the widest alignment. */
	memory = palloc(
		count * (sizeof(tg_value) + TSURUGI_SCRATCH_BYTES + 2 * sizeof(uint16_t) + sizeof(uint8_t) + 2 * sizeof(bool)) +
		sizeof(tg_value));
	scan->cells = (tg_value *) TYPEALIGN(sizeof(tg_value), memory);
	scan->scratch = (char *) (scan->cells + count);
	scan->columns = (uint16_t *) (scan->scratch + (size_t) count * TSURUGI_SCRATCH_BYTES);
	scan->positions = scan->columns + count;
	scan->kinds = (uint8_t *) (scan->positions + count);
	scan->cell_nulls = (bool *) (scan->kinds + count);
	scan->words = scan->cell_nulls + count;

	foreach (cell, attnums)
	{
		int column = lfirst_int(cell) - 1;

		scan->columns[scan->column_count] = column;
		scan->positions[scan->column_count] = column;
		scan->kinds[scan->column_count] = scan->described->kinds[column];
		scan->words[scan->column_count] = scan->described->codecs[column].form == TSURUGI_WORD;
		scan->column_count++;
	}
	/* The plan may ask for the columns in the order of its output. */
	foreach (cell, plan->fdw_scan_tlist)
	{
		Var *var = (Var *) lfirst_node(TargetEntry, cell)->expr;

		for (int i = 0; i < scan->column_count; i++)
			if (scan->columns[i] == var->varattno - 1)
				scan->positions[i] = foreach_current_index(cell);
	}
}

static bool
names_system_columns(const Scan *plan)
{
	return tsurugi_system_columns_are_named((Node *) list_make2(plan->plan.targetlist, plan->plan.qual),
											plan->scanrelid);
}

void
tsurugi_scan_init_index(tsurugi_scan *scan, const List *values, const List *sought)
{
	tsurugi_scan_key_init(scan, values);
	if (scan->index->gin != NULL)
		tsurugi_sought_init(scan, sought);
	else if (scan->shape.covers > 0 || scan->shape.nearest)
		tsurugi_covers_init(scan, sought);
}

tsurugi_scan *
tsurugi_scan_make(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	tsurugi_scan *scan = palloc0(sizeof(tsurugi_scan));

	scan->node = node;
	scan->whole = scan;
	scan->memory = CurrentMemoryContext;
	scan->session = tsurugi_session();
	scan->described = tsurugi_relation_get(node->ss.ss_currentRelation);
	tsurugi_shape_from_list(list_nth(plan->fdw_private, TSURUGI_PRIVATE_SHAPE), &scan->shape);
	init_columns(scan, plan, list_nth(plan->fdw_private, TSURUGI_PRIVATE_COLUMNS));
	scan->slot_natts = node->ss.ss_ScanTupleSlot->tts_tupleDescriptor->natts;
	/* A cursor is asked for the place of its row by WHERE CURRENT OF. */
	scan->wants_ctid =
		plan->fsSystemCol || scan->shape.way != TSURUGI_WAY_TABLE || (ActivePortal != NULL && *ActivePortal->name);
	scan->wants_system_columns = tsurugi_system_columns_named && plan->fsSystemCol && names_system_columns(&plan->scan);
	scan->plain = node->ss.ps.qual == NULL && node->ss.ps.ps_ProjInfo == NULL;
	/* Columns that are not read stay NULL; and as ForeignNext (nodeForeignscan.c) does for each row: */
	memset(node->ss.ss_ScanTupleSlot->tts_isnull, true, scan->slot_natts * sizeof(bool));
	node->ss.ss_ScanTupleSlot->tts_tableOid = RelationGetRelid(node->ss.ss_currentRelation);
	if (scan->shape.way == TSURUGI_WAY_ARMS)
		tsurugi_arms_init(scan, plan);
	else if (scan->shape.way != TSURUGI_WAY_TABLE)
		tsurugi_scan_init_index(scan, plan->fdw_exprs, list_nth(plan->fdw_private, TSURUGI_PRIVATE_SOUGHT));
	if (scan->shape.nearest)
		tsurugi_nearest_init(scan, plan);
	return scan;
}

void
tsurugi_scan_start(tsurugi_scan *scan)
{
	tsurugi_snapshot_of(scan->node->ss.ps.state, scan->node->ss.ss_currentRelation, scan->described->table,
						&scan->snapshot);
	if (scan->arms != NULL)
		tsurugi_arms_start(scan);
	else
		scan->stored = tsurugi_scan_stored(scan);
}

/* --- ranges ------------------------------------------------------------------------------------ */

/* Of a range that begins at a key: in tables that were filled in the order of the index its rows need not wait for the leaf. */
static void
expect_range(tsurugi_scan *scan)
{
	const tg_btree_cursor *cursor = &scan->range->cursor;
	uint32_t row;

	if (cursor->low != NULL && !cursor->backward &&
		tg_row_guess_get(&scan->row_guess, scan->described->table, cursor->low, cursor->low_bytes, &row))
		tg_range_scan_guess(scan->range, row);
}

/* Of one row, whose newest version was most likely what has been read. */
static void
learn_one(tsurugi_scan *scan)
{
	tg_version head;

	scan->row = scan->own->rows[0];
	tg_epoch_enter(scan->session);
	head = tg_load_acquire(tg_row_head(scan->described->table, scan->row));
	if (!tg_head_is_closed(head) && head != TG_VERSION_NONE)
		tsurugi_scan_learn(scan, tg_version_chunk(head), tg_version_slot(head));
	tg_epoch_leave(scan->session);
}

/* After its first batch. */
static void
learn_range(tsurugi_scan *scan)
{
	const tg_btree_cursor *cursor = &scan->range->cursor;

	if (scan->own->count == 0)
		return;
	if (scan->one_row)
		learn_one(scan);
	else if (cursor->low != NULL && !cursor->backward)
		tg_row_guess_learn(&scan->row_guess, cursor->low, cursor->low_bytes, scan->own->rows[0]);
}

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

static bool
next_turn(tsurugi_scan *scan)
{
	if (scan->sought != NULL)
		return tsurugi_sought_next_turn(scan);
	if (scan->covers != NULL)
		return tsurugi_covers_next_turn(scan);
	return tsurugi_scan_next_turn(scan);
}

static bool
open_range(tsurugi_scan *scan)
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
		expect_range(scan);
	scan->limit = scan->one_row ? 1 : RANGE_ROWS_FIRST;
	return true;
}

/* --- whole tables ----------------------------------------------------------------------------- */

static void
end_job(void *argument)
{
	tsurugi_scan *scan = argument;

	if (scan->job != NULL)
		tg_scan_job_end(scan->session, scan->job);
	scan->job = NULL;
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
	};

	/* Exclusions are in this process's memory. */
	if (scan->snapshot.excluded != NULL || tsurugi_scan_pool_rows < 0 ||
		tsurugi_row_count(scan->described->table) < tsurugi_scan_pool_rows || !tg_scheduler_is_running() ||
		tg_scan_job_start(scan->session, &config, &scan->job) != TG_OK)
		return false;
	if (scan->job_end.func == NULL)
	{
		/* However the statement ends: its memory goes, and with it the consumer's side of the job. */
		scan->job_end.func = end_job;
		scan->job_end.arg = scan;
		MemoryContextRegisterResetCallback(estate->es_query_cxt, &scan->job_end);
	}
	scan->figures.by_pool = true;
	return true;
}

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

/* --- stepping ---------------------------------------------------------------------------------- */

/* Where the transaction has one snapshot; key and range are known. */
static void
begin_at_level(tsurugi_scan *scan)
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
	if (scan->whole->shape.direct == CMD_UNKNOWN && (!scan->whole->locks || scan->whole->has_handed_up))
		tsurugi_snapshot_is_used();
}

/* Notes, for SERIALIZABLE, what is about to be read: S2.  Single rows are noted as they are found. */
static void
note_source(tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;

	if (scan->shape.way == TSURUGI_WAY_RANGE)
		scan->noted_range =
			tg_reads_add_range(scan->session, tsurugi_reads(), table, scan->stored, &scan->range->cursor);
	else if (scan->shape.way == TSURUGI_WAY_TABLE)
	{
		scan->noted_table = scan->shape.direct != CMD_UNKNOWN || (scan->locks && !scan->has_handed_up);
		tg_reads_add_table(scan->session, tsurugi_reads(), table, scan->noted_table);
	}
}

/* The same of a key that no row has, because a value in it has no rank: of all keys that it may get.  For good. */
static void
note_gap(tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;
	tg_btree_cursor cursor;

	tg_btree_cursor_init(&cursor, tg_index_tree(table, scan->stored), scan->gap[0].key, scan->gap[0].bytes,
						 scan->gap[0].inclusive, scan->gap[1].key, scan->gap[1].bytes, scan->gap[1].inclusive, false);
	(void) tg_reads_add_range(scan->session, tsurugi_reads(), table, scan->stored, &cursor);
}

/* Key or range of the turn.  False if no row has it. */
static bool
make_source(tsurugi_scan *scan)
{
	bool is_key = scan->shape.way == TSURUGI_WAY_KEY;
	bool fresh = scan->elements == NULL;
	bool made = is_key ? tsurugi_scan_make_key(scan) : open_range(scan);

	if (likely(!scan->unranked) || (!made && !scan->has_gap))
		return made;
	/* What had no rank is in no row that the snapshot sees, if that is older; here it may be renewed until it is used. */
	if (tsurugi_has_one_snapshot())
	{
		begin_at_level(scan);
		if (fresh)
			tsurugi_scan_forget_arrays(scan);
		made = is_key ? tsurugi_scan_make_key(scan) : open_range(scan);
	}
	if (scan->has_gap && tsurugi_tracks)
		note_gap(scan);
	return made;
}

static bool
open_source(tsurugi_scan *scan)
{
	bool one_snapshot = tsurugi_has_one_snapshot();

	scan->ready = true;
	scan->figures.started = true;
	switch ((tsurugi_way) scan->shape.way)
	{
		case TSURUGI_WAY_KEY:
			return true;
		case TSURUGI_WAY_RANGE:
			if (!make_source(scan))
				return false;
			if (one_snapshot)
			{
				begin_at_level(scan);
				scan->range->snapshot = scan->snapshot;
			}
			if (tsurugi_tracks)
				note_source(scan);
			make_vectors(scan, scan->one_row ? 1 : RANGE_ROWS);
			return true;
		case TSURUGI_WAY_TABLE:
			if (one_snapshot)
				begin_at_level(scan);
			if (tsurugi_tracks)
				note_source(scan);
			if (open_job(scan))
				return true;
			make_vectors(scan, TG_SLOT_MAX);
			tg_chunk_scan_init(&scan->chunks, scan->described->table, &scan->snapshot, 0, PG_UINT32_MAX);
			return true;
		case TSURUGI_WAY_ARMS: /* each opens its own */
			break;
	}
	pg_unreachable();
}

/* S1.  Inside an epoch. */
static void
note_row(tsurugi_scan *scan, tg_status status, size_t key_bytes, tg_version version)
{
	if (status == TG_NOT_FOUND)
		tg_reads_add_key(scan->session, tsurugi_reads(), scan->described->table, NULL, scan->key, key_bytes);
	else if (status == TG_OK)
	{
		if (tg_reads_add_version(scan->session, tsurugi_reads(), version))
			scan->noted_version = version;
	}
}

/* Inside an epoch. */
static void
read_cells(tsurugi_scan *scan, tg_version version)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);

	for (int i = 0; i < scan->column_count; i++)
	{
		scan->cell_nulls[i] = tg_chunk_is_null(chunk, scan->columns[i], slot);
		if (!scan->cell_nulls[i])
			tg_chunk_value(chunk, scan->columns[i], slot, &scan->cells[i]);
	}
}

static bool
find_by_key(tsurugi_scan *scan)
{
	tg_version version;
	tg_status status;
	tg_wait wait;

	if (scan->looked_up || (scan->key_bytes == 0 && !make_source(scan)))
		return false;
	scan->looked_up = true;
	if (unlikely(tsurugi_snapshot_age_limit_ms > 0))
		tsurugi_snapshot_check();
	if (tsurugi_has_one_snapshot())
		begin_at_level(scan);
again:
	tg_epoch_enter(scan->session);
	if (scan->row_expected)
		status = tg_txn_read(&scan->snapshot, scan->described->table, scan->row, &version, &wait);
	else
		status = tg_txn_find(&scan->snapshot, scan->described->table, scan->key, scan->key_bytes, &scan->row, &version,
							 &wait);
	if (tsurugi_tracks)
		note_row(scan, status, scan->key_bytes, version);
	if (status == TG_OK)
	{
		read_cells(scan, version);
		if (scan->learns)
			tsurugi_scan_learn(scan, tg_version_chunk(version), tg_version_slot(version));
	}
	tg_epoch_leave(scan->session);
	if (unlikely(status == TG_BUSY))
	{
		tsurugi_wait_for_outcome(&wait);
		goto again;
	}
	return status == TG_OK;
}

bool
tsurugi_scan_read_row(tsurugi_scan *scan)
{
	scan->vectors = NULL;
	for (;;)
	{
		tg_version version;
		tg_status status;
		tg_wait wait;

		tg_epoch_enter(scan->session);
		status = tg_txn_read(&scan->snapshot, scan->described->table, scan->row, &version, &wait);
		if (status == TG_OK)
			read_cells(scan, version);
		tg_epoch_leave(scan->session);
		if (status != TG_BUSY)
			return status == TG_OK;
		tsurugi_wait_for_outcome(&wait);
	}
}

/* The job's next buffer; sleeps while there is none, and can be interrupted. */
static bool
next_buffer(tsurugi_scan *scan)
{
	tsurugi_snapshot_check();
	for (;;)
	{
		tg_status status = tg_scan_job_next(scan->session, scan->job, &scan->vectors);

		if (status == TG_OK)
			return true;
		if (status == TG_NOT_FOUND)
			return false;
		if (status != TG_BUSY)
			tsurugi_error(status, scan->node->ss.ss_currentRelation);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

unsigned
tsurugi_read_chunks(tg_chunk_scan *scan, tg_vectors *vectors)
{
	for (;;)
	{
		unsigned count;

		CHECK_FOR_INTERRUPTS();
		tsurugi_snapshot_check();
		count = tg_chunk_scan_next(tsurugi_session(), scan, vectors);
		if (likely(count > 0 || !scan->busy))
			return count;
		tsurugi_wait_for_outcome(&scan->wait);
	}
}

unsigned
tsurugi_read_range(tg_range_scan *scan, tg_vectors *vectors, unsigned limit)
{
	for (;;)
	{
		unsigned count;
		bool more;

		CHECK_FOR_INTERRUPTS();
		tsurugi_snapshot_check();
		count = tg_range_scan_step(tsurugi_session(), scan, vectors, limit, &more);
		if (likely(count > 0 || (!scan->busy && !more)))
			return count;
		if (scan->busy)
			tsurugi_wait_for_outcome(&scan->wait);
	}
}

/* The next batch of a range; after a first one that is small. */
static unsigned
read_range(tsurugi_scan *scan)
{
	unsigned limit = scan->limit;
	bool is_first = !scan->looked_up;
	unsigned count;

	if (scan->one_row && scan->looked_up)
		return 0;
	scan->looked_up = true;
	scan->limit = RANGE_ROWS;
	do
		count = tsurugi_read_range(scan->range, scan->own, limit);
	while (scan->sought != NULL && count > 0 && tsurugi_sought_filter(scan, count) == 0);
	if (scan->learns && is_first)
		learn_range(scan);
	return count;
}

/* The next batch that is not empty. */
static bool
next_vectors(tsurugi_scan *scan)
{
	scan->figures.batches++;
	if (scan->job != NULL)
	{
		do
			if (!next_buffer(scan))
				return false;
		while (scan->vectors->count == 0);
		return true;
	}
	scan->vectors = scan->own;
	return (scan->shape.way == TSURUGI_WAY_RANGE ? read_range(scan) : tsurugi_read_chunks(&scan->chunks, scan->own)) >
		   0;
}

/* One combination of values. */
static bool
next_of_turn(tsurugi_scan *scan)
{
	return (scan->ready || open_source(scan)) &&
		   (scan->shape.way == TSURUGI_WAY_KEY ? find_by_key(scan) : next_vectors(scan));
}

bool
tsurugi_scan_read_batch(tsurugi_scan *scan)
{
	bool found = false;

	if (scan->arms != NULL)
		return tsurugi_arms_next_batch(scan);
	while (!scan->done && !found)
	{
		CHECK_FOR_INTERRUPTS();
		found = next_of_turn(scan);
		scan->done = !found && !next_turn(scan);
	}
	scan->position = 0;
	scan->count = !found ? 0 : scan->vectors != NULL ? scan->vectors->count : 1;
	return found;
}

bool
tsurugi_scan_next_batch(tsurugi_scan *scan)
{
	return scan->nearest != NULL ? tsurugi_nearest_next(scan) : tsurugi_scan_read_batch(scan);
}

/* A row found by key, or read by its number. */
static inline void
fill_from_cells(tsurugi_scan *scan, TupleTableSlot *slot)
{
	for (int i = 0; i < scan->column_count; i++)
	{
		int position = scan->positions[i];

		slot->tts_isnull[position] = scan->cell_nulls[i];
		if (!scan->cell_nulls[i])
			slot->tts_values[position] = tsurugi_datum(&scan->described->codecs[scan->columns[i]], &scan->cells[i],
													   scan->scratch + (size_t) i * TSURUGI_SCRATCH_BYTES);
	}
}

static pg_noinline Datum
datum_from_vector(tsurugi_scan *scan, int i, uint32_t at)
{
	const void *data = scan->vectors->data[i];

	return tsurugi_datum(&scan->described->codecs[scan->columns[i]],
						 scan->kinds[i] <= TG_KIND_8 ? (const void *) ((const uint64_t *) data + at)
													 : (const void *) ((const tg_value *) data + at),
						 scan->scratch + (size_t) i * TSURUGI_SCRATCH_BYTES);
}

static inline void
fill_from_vectors(tsurugi_scan *scan, TupleTableSlot *slot)
{
	const tg_vectors *vectors = scan->vectors;
	Datum *values = slot->tts_values;
	bool *isnull = slot->tts_isnull;
	uint32_t at = scan->position - 1;
	int count = scan->column_count;

	for (int i = 0; i < count; i++)
	{
		int position = scan->positions[i];
		bool null = vectors->nulls[i][at];

		isnull[position] = null;
		if (!null)
			values[position] =
				scan->words[i] ? ((const uint64_t *) vectors->data[i])[at] : datum_from_vector(scan, i, at);
	}
}

/*
 * The slot is left as ExecClearTuple and ExecStoreVirtualTuple leave it, but
 * without their calls: it owns memory only if somebody above has materialized it.
 */
static pg_attribute_always_inline void
fill(tsurugi_scan *scan, TupleTableSlot *slot)
{
	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);
	if (scan->vectors != NULL)
		fill_from_vectors(scan, slot);
	else
		fill_from_cells(scan, slot);
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = scan->slot_natts;
	if (scan->wants_ctid)
		tsurugi_row_id_to_tid(scan->row, &slot->tts_tid);
	if (unlikely(scan->wants_system_columns))
		tsurugi_system_columns_add(slot, scan->described->oid);
}

void
tsurugi_scan_fill(tsurugi_scan *scan, TupleTableSlot *slot)
{
	fill(scan, slot);
}

/*
 * ExecScan (execScan.c) for this node: without EvalPlanQual, which has its own
 * executor state, and without the calls and the memory context reset per row
 * that a scan which forms nothing does not need.
 */
TupleTableSlot *
tsurugi_scan_run(PlanState *pstate)
{
	ForeignScanState *node = castNode(ForeignScanState, pstate);
	tsurugi_scan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *context;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!tsurugi_scan_next(scan))
			return tsurugi_scan_no_row(pstate);
		fill(scan, slot);
		if (scan->plain)
			return slot;
		context = pstate->ps_ExprContext;
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (pstate->qual == NULL || ExecQual(pstate->qual, context))
			return pstate->ps_ProjInfo != NULL ? ExecProject(pstate->ps_ProjInfo) : slot;
		InstrCountFiltered1(node, 1);
	}
}

void
tsurugi_scan_restart(tsurugi_scan *scan)
{
	tsurugi_scan_end(scan);
	if (scan->arms != NULL)
		tsurugi_arms_restart(scan);
	tsurugi_scan_forget_arrays(scan);
	if (scan->sought != NULL)
		tsurugi_sought_forget(scan);
	if (scan->covers != NULL)
		tsurugi_covers_forget(scan);
	if (scan->nearest != NULL)
		tsurugi_nearest_forget(scan);
	tsurugi_scan_again(scan);
}

void
tsurugi_scan_again(tsurugi_scan *scan)
{
	scan->ready = false;
	scan->done = false;
	scan->looked_up = false;
	scan->row_expected = false;
	scan->key_bytes = 0;
	scan->vectors = NULL;
	scan->count = 0;
	scan->position = 0;
}

void
tsurugi_scan_end(tsurugi_scan *scan)
{
	end_job(scan);
	if (scan->arms != NULL)
		tsurugi_arms_end(scan);
	/* A range that was not read to its end counts as far as it was read. */
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

void
tsurugi_scan_detach(tsurugi_scan *scan)
{
	tsurugi_scan_restart(scan);
	scan->noted_version = TG_VERSION_NONE;
	if (!scan->one_row)
		scan->own = NULL;
	scan->job_end.func = NULL;
	scan->figures = (tsurugi_scan_figures){0};
}
