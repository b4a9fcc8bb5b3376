/*
 * fdw_analyze.c
 *	  ANALYZE: a random sample of the rows that a fresh snapshot sees.
 *
 * One pass over the chunks counts the rows and picks row ids by reservoir
 * sampling (Vitter's algorithm, PostgreSQL's utils/sampling.h); no column is
 * read in it.  The rows picked are then read one by one, as of the same
 * snapshot, in the order in which they were made: what ANALYZE calls the correlation
 * of a column is that of its values with their places in the sample.
 */
#include "postgres.h"

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"
#include "runtime/txn/read.h"
#include "runtime/exec/scan.h"
#include "runtime/exec/vectors.h"
#include "src/exec/fdw.h"

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "executor/tuptable.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "src/base/owner.h"
#include "src/base/session.h"
#include "src/exec/table_scan.h"
#include "src/table/row.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

/* A sample of row ids, drawn while rows go by. */
typedef struct reservoir
{
	ReservoirStateData state;
	uint32_t *picked;
	int picked_max;
	int picked_count;
	double seen;	/* rows that went by */
	double to_skip; /* rows to let pass before the next is taken; below 0: not drawn yet */
} reservoir;

static void
offer_row(reservoir *reservoir, uint32_t row)
{
	if (reservoir->picked_count < reservoir->picked_max)
		reservoir->picked[reservoir->picked_count++] = row;
	else
	{
		if (reservoir->to_skip < 0)
			reservoir->to_skip = reservoir_get_next_S(&reservoir->state, reservoir->seen, reservoir->picked_max);
		if (reservoir->to_skip <= 0)
		{
			int at = (int) (reservoir->picked_max * sampler_random_fract(&reservoir->state.randstate));

			reservoir->picked[at] = row;
		}
		reservoir->to_skip -= 1;
	}
	reservoir->seen += 1;
}

static void
pick_rows(reservoir *reservoir, tg_table *table, const tg_snapshot *snapshot, int row_max)
{
	char *memory = palloc(tg_vectors_bytes(NULL, 0, TG_SLOT_MAX) + TG_CACHE_LINE);
	tg_vectors *vectors = tg_vectors_init((void *) TYPEALIGN(TG_CACHE_LINE, memory), NULL, NULL, 0, TG_SLOT_MAX);
	tg_chunk_scan scan;

	reservoir_init_selection_state(&reservoir->state, row_max);
	reservoir->picked = palloc(row_max * sizeof(uint32_t));
	reservoir->picked_max = row_max;
	reservoir->picked_count = 0;
	reservoir->seen = 0;
	reservoir->to_skip = -1;
	tg_chunk_scan_init(&scan, table, snapshot, 0, PG_UINT32_MAX);
	while (tsurugi_read_chunks(&scan, vectors) > 0)
	{
		vacuum_delay_point();
		for (uint32_t i = 0; i < vectors->count; i++)
			offer_row(reservoir, vectors->rows[i]);
	}
}

static int
compare_rows(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *) left;
	uint32_t b = *(const uint32_t *) right;

	return (a > b) - (a < b);
}

/*
 * ANALYZE of this table, and not of one that it inherits from: PostgreSQL tells the world, not the
 * wrapper.
 */
static bool
is_analyzed_itself(Relation relation)
{
	return MyBEEntry != NULL && MyBEEntry->st_progress_command == PROGRESS_COMMAND_ANALYZE &&
		   MyBEEntry->st_progress_command_target == RelationGetRelid(relation);
}

/* AcquireSampleRowsFunc: tuples in the caller's memory context. */
static int
acquire_sample(Relation relation, int elevel, HeapTuple *tuples, int row_max, double *total_rows,
			   double *total_dead_rows)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw ANALYZE", ALLOCSET_DEFAULT_SIZES);
	MemoryContext callers = MemoryContextSwitchTo(work);
	const tsurugi_relation *described = tsurugi_relation_get(relation);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	tg_session *session = tsurugi_session();
	tg_snapshot snapshot;
	reservoir reservoir;
	tsurugi_row row;
	int count = 0;

	tsurugi_snapshot_take(work, &snapshot);
	if (is_analyzed_itself(relation))
		tg_table_analyzed(described->table, tsurugi_row_count(described->table));
	pick_rows(&reservoir, described->table, &snapshot, row_max);
	qsort(reservoir.picked, reservoir.picked_count, sizeof(uint32_t), compare_rows);
	tsurugi_row_init(&row, described);
	for (int i = 0; i < reservoir.picked_count; i++)
	{
		tg_version version;
		tg_status status;
		tg_wait wait; /* the scan before has waited for everybody */

		vacuum_delay_point();
		tg_epoch_enter(session);
		status = tg_txn_read(&snapshot, described->table, reservoir.picked[i], &version, &wait);
		if (status == TG_OK)
			tsurugi_row_read(&row, version);
		tg_epoch_leave(session);
		if (status != TG_OK)
			continue;
		tsurugi_row_to_slot(&row, reservoir.picked[i], slot);
		MemoryContextSwitchTo(callers);
		tuples[count++] = ExecCopySlotHeapTuple(slot);
		MemoryContextSwitchTo(work);
	}
	*total_rows = reservoir.seen;
	*total_dead_rows = 0;
	ereport(elevel, (errmsg("\"%s\": table contains %.0f rows; %d rows in sample", RelationGetRelationName(relation),
							reservoir.seen, count)));
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(callers);
	MemoryContextDelete(work);
	return count;
}

bool
tsurugiAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages)
{
	tsurugi_caller caller;
	tg_table *table;
	int64 bytes;

	/*
	 * a description computes constants in the owner's expressions, as the sampling computes the
	 * rest
	 */
	tsurugi_owner_begin(relation, &caller);
	table = tsurugi_relation_get(relation)->table;
	tsurugi_owner_end(&caller);
	bytes = tg_load_relaxed(&table->chunk_bytes) + tg_load_relaxed(&table->blob_bytes);
	*func = acquire_sample;
	*totalpages = (BlockNumber) Max(bytes / BLCKSZ, 1);
	return true;
}
