/*
 * reads.c
 *	  What a job is going to read: ranges of indexes, and what the transaction's level asks before.
 *
 * A job reads what it has to read as a scan does (scan_level.c): areas of LONG transactions are
 * respected, and at SERIALIZABLE the reads are noted, tables and ranges, before the job starts.
 * The keys of ranges are computed here, by the session; where there are lists of values, all ranges
 * at once.
 *
 * A value may have no rank in its table (scan_key.h).  No row has it that an earlier snapshot sees;
 * so where the snapshot may be renewed, the ranges are made once more, and the gap is noted.
 */
#include "postgres.h"

#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/reads.h"
#include "src/job/job.h"

#include "executor/executor.h"

#include "src/base/session.h"
#include "src/exec/scan_key.h"
#include "src/exec/scan_retry.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"

/* A table under way. */
typedef struct Reading
{
	tsurugi_job_table *table;
	Relation relation;
	tsurugi_keys *keys; /* NULL: all rows are read */
} Reading;

/* --- ranges ----------------------------------------------------------------------------- */

static void
add_span(tsurugi_job_table *table, tg_index *stored, const tsurugi_range_end *first, const tsurugi_range_end *last,
		 bool is_gap)
{
	tsurugi_job_span *span = palloc0(sizeof(*span));

	span->is_gap = is_gap;
	span->range = (tg_plan_range){.index = stored,
								  .low_bytes = (uint32_t) first->bytes,
								  .high_bytes = (uint32_t) last->bytes,
								  .low_inclusive = first->inclusive,
								  .high_inclusive = last->inclusive};
	if (first->bytes > 0)
		span->range.low = memcpy(palloc(first->bytes), first->key, first->bytes);
	if (last->bytes > 0)
		span->range.high = memcpy(palloc(last->bytes), last->key, last->bytes);
	table->spans = lappend(table->spans, span);
}

/* Makes the ranges of a table.  Whether a value had no rank. */
static bool
make_spans(const Reading *reading)
{
	tsurugi_keys *keys = reading->keys;
	bool unranked = false;

	reading->table->spans = NIL;
	keys->key_bytes = 0;
	do
	{
		tsurugi_range_end first;
		tsurugi_range_end last;

		if (tsurugi_keys_make_range(keys, &first, &last))
			add_span(reading->table, keys->stored, &first, &last, false);
		else if (keys->has_gap)
			add_span(reading->table, keys->stored, &keys->gap[0], &keys->gap[1], true);
		unranked |= keys->unranked;
	} while (tsurugi_keys_next_turn(keys));
	tsurugi_keys_forget_arrays(keys);
	return unranked;
}

static bool
make_all_spans(const Reading *readings, int count)
{
	bool unranked = false;

	for (int i = 0; i < count; i++)
		if (readings[i].keys != NULL)
			unranked |= make_spans(&readings[i]);
	return unranked;
}

/* --- levels ----------------------------------------------------------------------------- */

static void
check_area(EState *estate, const Reading *reading, const tg_area *area)
{
	tsurugi_check_read(reading->relation, area);
	if (unlikely(tsurugi_ladder_has_rows))
		tsurugi_retry_lock_rows(estate, reading->relation, area);
}

/* By another index than the primary key's all of the table. */
static void
check_span(EState *estate, const Reading *reading, const tsurugi_job_span *span)
{
	tg_area area = {.table = reading->table->described->table};

	if (span->range.index == NULL)
	{
		area.low = span->range.low;
		area.low_bytes = span->range.low_bytes;
		area.low_inclusive = span->range.low_inclusive;
		area.high = span->range.high;
		area.high_bytes = span->range.high_bytes;
		area.high_inclusive = span->range.high_inclusive;
	}
	check_area(estate, reading, &area);
}

static void
check_areas(EState *estate, const Reading *readings, int count)
{
	for (int i = 0; i < count; i++)
	{
		tg_area whole = {.table = readings[i].table->described->table};
		ListCell *cell;

		if (readings[i].keys == NULL)
			check_area(estate, &readings[i], &whole);
		foreach (cell, readings[i].table->spans)
			check_span(estate, &readings[i], lfirst(cell));
	}
}

/* The run's snapshot, which may have been renewed by the checks of a table. */
static void
get_snapshot(const Reading *readings, int count, EState *estate, tg_snapshot *snapshot_out)
{
	for (int i = 0; i < count; i++)
		tsurugi_snapshot_of(estate, readings[i].relation, readings[i].table->described->table, snapshot_out);
}

/* S2 */
static void
note_span(const Reading *reading, const tsurugi_job_span *span, tg_session *session)
{
	const tg_plan_range *range = &span->range;
	tg_table *table = reading->table->described->table;
	tg_btree_cursor cursor;

	tg_btree_cursor_init(&cursor, tg_index_tree(table, range->index), range->low, range->low_bytes,
						 range->low_inclusive, range->high, range->high_bytes, range->high_inclusive, false);
	(void) tg_reads_add_range(session, tsurugi_reads(), table, range->index, &cursor);
}

static void
note_reads(const Reading *readings, int count, tg_session *session)
{
	for (int i = 0; i < count; i++)
	{
		ListCell *cell;

		if (readings[i].keys == NULL)
			tg_reads_add_table(session, tsurugi_reads(), readings[i].table->described->table, false);
		foreach (cell, readings[i].table->spans)
			note_span(&readings[i], lfirst(cell), session);
	}
}

/* --- the whole -------------------------------------------------------------------------- */

static void
init_reading(tsurugi_job_table *table, PlanState *node, Reading *reading)
{
	*reading = (Reading){.table = table, .relation = ExecGetRangeTableRelation(node->state, table->relation)};
	if (table->access == NULL)
		return;
	reading->keys = palloc0(sizeof(tsurugi_keys));
	tsurugi_keys_init(reading->keys, table->described, node, &table->access->shape, table->values);
	reading->keys->stored = tsurugi_keys_stored(reading->keys);
}

static Reading *
init_readings(const tsurugi_job *job, PlanState *node, int *count_out)
{
	Reading *readings = NULL;
	int count = 0;
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
		count += list_length(((const tsurugi_job_step *) lfirst(cell))->tables);
	readings = palloc(Max(count, 1) * sizeof(Reading));
	*count_out = count;
	count = 0;
	foreach (cell, job->steps)
		foreach (inner, ((const tsurugi_job_step *) lfirst(cell))->tables)
			init_reading(lfirst(inner), node, &readings[count++]);
	return readings;
}

static void
check_indexes(const Reading *readings, int count, const tg_snapshot *snapshot)
{
	for (int i = 0; i < count; i++)
		if (readings[i].keys != NULL)
			tsurugi_keys_check_index(readings[i].keys, snapshot);
}

void
tsurugi_job_begin_reads(const tsurugi_job *job, PlanState *node, tg_session *session, tg_snapshot *snapshot_out)
{
	int count;
	Reading *readings = init_readings(job, node, &count);
	bool again = make_all_spans(readings, count);

	get_snapshot(readings, count, node->state, snapshot_out);
	if (tsurugi_has_one_snapshot())
	{
		for (;;)
		{
			if (tsurugi_minds_areas)
				check_areas(node->state, readings, count);
			get_snapshot(readings, count, node->state, snapshot_out);
			if (!again)
				break;
			(void) make_all_spans(readings, count);
			again = false;
		}
		tsurugi_snapshot_is_used();
	}
	if (tsurugi_follows)
		check_indexes(readings, count, snapshot_out);
	if (tsurugi_tracks)
		note_reads(readings, count, session);
}
