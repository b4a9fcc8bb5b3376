/*
 * collector_internal.h
 *	  What collector.c, prune.c and sweep.c share.  For these, and their test.
 */
#ifndef TG_COLLECTOR_INTERNAL_H
#define TG_COLLECTOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "runtime/mem/session.h"
#include "runtime/storage/horizon.h"
#include "runtime/storage/table.h"
#include "runtime/storage/version.h"
#include "runtime/storage/write_log.h"

/* --- prune.c ------------------------------------------------------------------ */

/* What pruning makes of an entry's kind; an UPDATE or DELETE that stays one is kept for somebody who reads. */
typedef enum tg_garbage
{
	TG_GARBAGE_NONE = 16,
	TG_GARBAGE_RUN,	 /* the entry's version leads a run that was cut out */
	TG_GARBAGE_DEAD, /* a dead version was cut off */
	TG_GARBAGE_ROW,	 /* the same, and its row */
	TG_GARBAGE_OPEN	 /* a dead version that waits for what another transaction becomes, or for what is below it */
} tg_garbage;

#define TG_ROW_COST 4 /* of closing or freeing a row, in entries of the budget */

/* Since start; atomic. */
typedef struct tg_prune_counts
{
	uint64_t versions_removed;
	uint64_t rows_closed;
} tg_prune_counts;

/*
 * Prunes the row of an entry of a committed log, an UPDATE, a DELETE or an open one, and
 * rewrites the entry's kind.  Inside an epoch; nobody else prunes the row now.
 */
extern void tg_prune_entry(tg_session *session, tg_log_entry *entry, const tg_readings *readings,
						   tg_prune_counts *counts);

/* Of an entry that was kept: the lowest point that it is kept for, or else the lowest of all; 0 if there is none. */
extern tg_time tg_prune_keeper(const tg_log_entry *entry, const tg_readings *readings);

/* Frees what an entry owns, an epoch later: of an undone log; of a pruned one, first runs, then dead versions.  The cost. */
extern unsigned tg_free_undone(tg_session *session, const tg_log_entry *entry, tg_prune_counts *counts);
extern unsigned tg_free_pruned(tg_session *session, tg_log_entry *entry, bool runs, tg_prune_counts *counts);

/* --- sweep.c ------------------------------------------------------------------ */

#define TG_SWEEP_INTERVAL_MS 1000

/* A walk over all chunks; one sweeps at a time.  What others look at says atomic. */
typedef struct tg_sweep
{
	bool active;	/* one is under way: the fields to limit hold where it is */
	bool marked;	/* a chunk's headers were marked: another step is due */
	bool waiting;	/* a chunk was left alone, because it was changed after limit */
	uint64_t table; /* position in the catalog */
	tg_table *at;	/* retained; NULL: the next one */
	uint32_t chunk; /* of it */
	tg_time horizon;
	tg_time limit;			 /* chunks touched later are not quiet */
	uint64_t clock;			 /* atomic (written by the runner, read by the watcher): when the last sweep began */
	uint64_t at_ms;			 /* atomic, likewise: when the next one may begin */
	uint64_t chunks_settled; /* atomic, likewise */
	uint64_t chunks_freed;	 /* atomic, likewise */
	bool dirty;				 /* atomic: since the last one began, garbage was freed somewhere */
	bool unfinished;		 /* atomic: tg_sweep_is_unfinished, for the watcher */
} tg_sweep;

extern unsigned tg_sweep_interval_ms; /* TG_SWEEP_INTERVAL_MS; a test sets it to 0 */

/* Milliseconds of a clock that is cheap to read. */
static inline uint64_t
tg_now_ms(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

/* True if a sweep is under way, or it is time for one and something has changed. */
extern bool tg_sweep_is_due(tg_sweep *sweep);

/* True if a later sweep has something to do even if nothing changes any more. */
extern bool tg_sweep_is_unfinished(const tg_sweep *sweep);

/* Goes on with a sweep, or begins one.  True if it is not at its end. */
extern bool tg_sweep_run(tg_session *session, tg_sweep *sweep, unsigned budget);

#endif /* TG_COLLECTOR_INTERNAL_H */
