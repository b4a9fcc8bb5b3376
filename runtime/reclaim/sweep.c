/*
 * sweep.c
 *	  Looks at every chunk once in a while: frees empty chunks, settles quiet ones.
 *
 * A sweep walks the catalog's tables and their chunks, a few at a time.
 * - It gives back segments of heads whose rows are all free (table.c, 4), and chunks whose slots
 *	 are all free.
 * - It empties sparse chunks (compact.c), so that a later sweep can give them back.
 * - It offers quiet chunks with headers to settle.c, which frees the headers in two steps, an epoch
 *	 apart.  So that takes two sweeps; the second follows soon, and moves no limit.
 * - It drops the summaries of chunks when memory is short (summary.c).
 *
 * 1. A chunk is quiet if none of its headers has changed since the sweep before this one began, nor
 *	  after the horizon (touched <= limit).  A chunk that is being written to would need its headers
 *	  again at once.
 * 2. There is at most one sweep per interval, and only if the last one left something to do or
 *	  something has changed since: a commit (the clock has moved), garbage was freed, or tables were
 *	  loaded.  When nothing changes any more, sweeps cease after a few.
 * 3. limit depends only on the horizon and on the times when sweeps began, so it stops growing when
 *	  the clock does.  Therefore «waiting» alone does not start a sweep: limit must have grown, too.
 */
#include "runtime/reclaim/collector_internal.h"

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/table/catalog.h"
#include "runtime/table/store.h"
#include "runtime/table/summary.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/index/index.h"

#define CHUNK_COST 1
#define SETTLE_COST 16 /* it looks at every header */

unsigned tg_sweep_interval_ms = TG_SWEEP_INTERVAL_MS;

static inline tg_time
limit_of(const tg_sweep *sweep, tg_time horizon)
{
	tg_time clock = tg_load_relaxed(&sweep->clock);

	return clock < horizon ? clock : horizon;
}

bool
tg_sweep_is_due(tg_sweep *sweep)
{
	if (sweep->active)
		return true;
	if (tg_now_ms() < tg_load_relaxed(&sweep->at_ms))
		return false;
	if (tg_load_acquire(&sweep->dirty) || sweep->marked || tg_load_relaxed(tg_clock) != tg_load_relaxed(&sweep->clock))
		return true;
	return sweep->waiting && limit_of(sweep, tg_horizon_compute()) > sweep->limit;
}

bool
tg_sweep_is_unfinished(const tg_sweep *sweep)
{
	return sweep->active || tg_load_relaxed(&sweep->dirty) || sweep->marked || sweep->waiting;
}

static void
begin(tg_sweep *sweep)
{
	sweep->horizon = tg_horizon_compute();
	if (!sweep->follows)
	{
		sweep->limit = limit_of(sweep, sweep->horizon);
		tg_store_relaxed(&sweep->clock, tg_load_relaxed(tg_clock));
		sweep->next_ms = tg_now_ms() + tg_sweep_interval_ms;
	}
	tg_store_relaxed(&sweep->at_ms, sweep->next_ms);
	sweep->active = true;
	tg_store_relaxed(&sweep->dirty, false);
	sweep->marked = false;
	sweep->headers = false;
	sweep->waiting = false;
	sweep->table = 0;
	sweep->at = NULL;
}

static void
end(tg_sweep *sweep)
{
	uint64_t follow_ms = tg_now_ms() + TG_SWEEP_FOLLOW_MS;

	sweep->active = false;
	if (sweep->marked)
		tg_epoch_advance(); /* otherwise the next sweep might come too early */
	sweep->follows = sweep->headers && !sweep->follows;
	if (sweep->follows && follow_ms < sweep->next_ms)
		tg_store_relaxed(&sweep->at_ms, follow_ms);
}

/* Handles one chunk; returns the cost.  Inside an epoch. */
static unsigned
look_at_chunk(tg_session *session, tg_sweep *sweep, tg_chunk *chunk)
{
	if (tg_load_relaxed(&chunk->leased) != 0)
	{
		return CHUNK_COST; /* its holder is about to write; a sweep comes after that */
	}
	if (tg_load_relaxed(&chunk->free_count) == chunk->capacity)
	{
		if (tg_chunk_reclaim(session, chunk))
			tg_store_relaxed(&sweep->chunks_freed, sweep->chunks_freed + 1);
		return SETTLE_COST;
	}
	if (tg_load_relaxed(&chunk->summary) != NULL && tg_summaries_are_to_go() &&
		tg_retire_reserve(session, TG_SUMMARY_RETIREMENTS) == TG_OK)
		tg_summary_drop(session, chunk);
	if (tg_load_relaxed(&chunk->headers) == NULL)
		return CHUNK_COST;
	if (tg_load_relaxed(&chunk->touched) > sweep->limit)
	{
		sweep->waiting = true;
		return CHUNK_COST;
	}
	if (tg_chunk_settle(session, chunk, sweep->horizon))
		tg_store_relaxed(&sweep->chunks_settled, sweep->chunks_settled + 1);
	else if (((uintptr_t) tg_load_relaxed(&chunk->headers) & TG_HEADERS_MARK) != 0)
		sweep->marked = sweep->headers = true;
	return SETTLE_COST;
}

/* Empties the chunk if it is sparse, or continues to.  False: it is not at the end. */
static bool
empty_sparse(tg_session *session, tg_sweep *sweep, tg_chunk *chunk, unsigned *budget)
{
	uint64_t moved = sweep->versions_moved;
	tg_emptying emptying = tg_compact_chunk(session, &sweep->compaction, chunk, sweep->horizon, budget, &moved);

	tg_store_relaxed(&sweep->versions_moved, moved);
	if (emptying == TG_EMPTYING_LATER)
		sweep->marked = true;
	if (emptying == TG_EMPTYING_WAITS)
		sweep->waiting = true;
	return emptying != TG_EMPTYING_MORE;
}

/*
 * Handles the table's chunks from the sweep's position on; returns the rest of the budget, 0 if it
 * did not reach the end.
 */
static unsigned
look_at_table(tg_session *session, tg_sweep *sweep, unsigned budget)
{
	uint32_t count = tg_table_chunk_count(sweep->at);

	tg_epoch_enter(session);
	tg_failpoint("collector_sweep");
	while (budget > 0 && sweep->chunk < count)
	{
		tg_chunk *chunk = tg_table_chunk(sweep->at, sweep->chunk);

		if (chunk != NULL && !empty_sparse(session, sweep, chunk, &budget))
			break;
		tg_spend(&budget, chunk != NULL ? look_at_chunk(session, sweep, chunk) : CHUNK_COST);
		sweep->chunk++;
	}
	tg_epoch_leave(session);
	return budget;
}

bool
tg_sweep_run(tg_session *session, tg_sweep *sweep, unsigned budget)
{
	if (!sweep->active)
		begin(sweep);
	while (budget > 0)
	{
		if (sweep->at == NULL)
		{
			sweep->at = tg_catalog_next(&sweep->table);
			sweep->chunk = 0;
			sweep->compaction = (tg_compaction){0};
			if (sweep->at == NULL)
			{
				end(sweep);
				return false;
			}
		}
		tg_indexes_reap(session, sweep->at);
		tg_rank_sweep_look(session, sweep->at);
		if (tg_rows_trim(session, sweep->at, &budget))
			budget = look_at_table(session, sweep, budget);
		if (budget > 0)
		{
			tg_compaction_end(&sweep->compaction);
			tg_table_release(session, sweep->at);
			sweep->at = NULL;
			budget--;
		}
	}
	return true;
}
