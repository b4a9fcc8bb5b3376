/*
 * collector_internal.h
 *	  What collector*.c, prune.c and sweep.c share.  For these, and their test.
 */
#ifndef TG_COLLECTOR_INTERNAL_H
#define TG_COLLECTOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "runtime/base/budget.h"
#include "runtime/mem/session.h"
#include "runtime/sched/scheduler.h"
#include "runtime/reclaim/compact.h"
#include "runtime/reclaim/cycle.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/reclaim/rank_sweep.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/table/write_log.h"

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

#define TG_ENTRIES_AHEAD 16

/* Ask for what pruning these entries, or freeing what they own, will look at.  Inside an epoch. */
extern void tg_prune_expect(tg_log_entry *const *entries, unsigned count);
extern void tg_free_expect(tg_log_entry *const *entries, unsigned count);

/* Frees what an entry owns, an epoch later: of an undone log; of a pruned one, first runs, then dead versions.  The cost. */
extern unsigned tg_free_undone(tg_session *session, const tg_log_entry *entry, tg_prune_counts *counts);
extern unsigned tg_free_pruned(tg_session *session, tg_log_entry *entry, bool runs, tg_prune_counts *counts);

/* --- sweep.c ------------------------------------------------------------------ */

#define TG_SWEEP_INTERVAL_MS 1000
#define TG_SWEEP_FOLLOW_MS 50 /* from the end of one that has marked headers to the one that takes them away */

/* A walk over all chunks; one sweeps at a time.  What others look at says atomic. */
typedef struct tg_sweep
{
	bool active;	/* one is under way: the fields to limit hold where it is */
	bool marked;	/* a chunk's headers were marked, or a sparse chunk has to come later: another step is due */
	bool headers;	/* of what was marked, some were headers */
	bool follows;	/* it only takes away what the one before has marked, or the next one will */
	bool waiting;	/* a chunk was left alone, because it was changed after limit, or has what is not settled */
	uint64_t table; /* position in the catalog */
	tg_table *at;	/* retained; NULL: the next one */
	uint32_t chunk; /* of it */
	tg_compaction compaction;
	tg_time horizon;
	tg_time limit;			 /* chunks touched later are not quiet */
	uint64_t next_ms;		 /* when the next one that does not follow may begin */
	uint64_t clock;			 /* atomic (written by the runner, read by the watcher): when the last such one began */
	uint64_t at_ms;			 /* atomic, likewise: when the next one may begin */
	uint64_t chunks_settled; /* atomic, likewise */
	uint64_t chunks_freed;	 /* atomic, likewise */
	uint64_t versions_moved; /* atomic, likewise */
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

/* --- collector.c ------------------------------------------------------------------ */

#define TG_COLLECTOR_TASKS 8 /* that may be at it in the pool */
#define TG_KEEPERS_MAX 64
#define TG_ROW_GUARDS 1024

typedef struct tg_keeper
{
	tg_time point;		 /* atomic */
	uint64_t count;		 /* atomic: entries */
	tg_write_log *filed; /* a stack of pieces */
} tg_keeper;

/* In the arena. */
typedef struct tg_collector
{
	tg_cycle cycle;

	/* what each committer changes, and therefore nobody else but for GATHER */
	tg_write_log *inbox TG_CACHE_ALIGNED; /* atomic: a stack; any session pushes, GATHER takes all */
	uint64_t given;						  /* atomic: pieces, since start */

	uint64_t given_before TG_CACHE_ALIGNED; /* atomic: when a cycle last looked, about */
	uint64_t freed_pieces;					/* atomic: of those given, less those made for what is filed */
	tg_write_log *kept;						/* atomic: a stack; of FREE and CLOSE for TIDY */
	bool helped;							/* atomic: something has happened that may help open entries */
	int64_t worked;							/* atomic: entries worked on since these were tried, without themselves */
	uint64_t cycle_worked;					/* atomic: in this cycle */
	bool progress;							/* atomic: in this cycle something was not there for nothing */
	bool freed;								/* atomic: in this cycle slots were given back */

	/* of the only one in GATHER, PRUNED and TIDY; readings is constant in between */
	tg_readings readings TG_CACHE_ALIGNED;
	bool gathering;			/* the readings are this cycle's */
	tg_write_log *incoming; /* taken from the inbox, oldest first */
	tg_write_log *waiting;	/* committed, ascending by ended */
	tg_write_log *waiting_last;
	uint64_t held_back; /* atomic: entries of those that were beyond the bound when they came */
	bool has_due;
	tg_write_log *due; /* taken out of these for this cycle: the last one, then by previous */
	tg_write_log *strays;
	tg_write_log *open;	  /* a stack of pieces with filed entries */
	uint64_t open_count;  /* entries of these */
	uint64_t helped_ms;	  /* since when; 0: not */
	tg_write_log *filing; /* TIDY has got so far */
	tg_keeper keepers[TG_KEEPERS_MAX];
	unsigned keeper_count; /* atomic */
	uint64_t epoch;		   /* atomic: in which the cycle's garbage was unlinked */
	uint64_t epoch_ms;	   /* atomic: when */
	unsigned wait_ms;
	uint64_t wake_ms; /* atomic: when to run though nothing was given; NEVER_MS */
	tg_time horizon;  /* atomic, for views */
	tg_time bound;	  /* likewise */

	uint32_t sweeping TG_CACHE_ALIGNED; /* atomic: somebody sweeps, one or the other */
	tg_sweep sweep;
	tg_rank_sweep rank_sweep;

	uint32_t visits_due TG_CACHE_ALIGNED; /* atomic: sessions have been away for long; the watcher sets it */

	tg_prune_counts counts TG_CACHE_ALIGNED;
	uint32_t row_guards[TG_ROW_GUARDS] TG_CACHE_ALIGNED; /* atomic: by hash of table and row */

	/* the first's are the watcher's, each other one's those of the task before */
	tg_task tasks[TG_COLLECTOR_TASKS] TG_CACHE_ALIGNED;
	bool submitted[TG_COLLECTOR_TASKS];
} tg_collector;

extern tg_collector *tg_collector_shared; /* set by tg_collector_create, inherited */

/* Milliseconds after which open entries are tried again that something may have helped; a test sets it to 0. */
extern unsigned tg_open_ms_max;

static inline void
tg_piece_rewind(tg_write_log *piece)
{
	piece->at_block = &piece->first;
	piece->at_entry = 0;
}

static inline tg_log_entry *
tg_piece_next(tg_write_log *piece)
{
	while (piece->at_entry == piece->at_block->count)
	{
		if (piece->at_block->next == NULL)
			return NULL;
		piece->at_block = piece->at_block->next;
		piece->at_entry = 0;
	}
	return &piece->at_block->entry[piece->at_entry++];
}

/* The piece is done with. */
static inline void
tg_piece_destroy(tg_session *session, tg_write_log *piece)
{
	piece->below = NULL;
	tg_write_log_destroy(session, piece);
	tg_fetch_add_acq_rel(&tg_collector_shared->freed_pieces, 1);
}

/* The only one in GATHER or TIDY makes it work of the cycle. */
static inline void
tg_put_to_work(tg_write_log *piece)
{
	piece->below = NULL;
	piece->garbage = 0;
	piece->rows = 0;
	piece->kept = 0;
	tg_piece_rewind(piece);
	tg_cycle_put(&tg_collector_shared->cycle, piece);
}

/* --- collector_pieces.c: by each participant of a stage for many ---------------------- */

/* False: somebody else is at the row that is next, and perhaps sleeps. */
extern bool tg_pieces_prune(tg_session *session, unsigned *budget);

/* runs: in FREE; else in CLOSE, dead versions and rows. */
extern void tg_pieces_free(tg_session *session, bool runs, unsigned *budget);

/* --- collector_file.c: by the only one in GATHER, and in TIDY ------------------------ */

/* What has been filed and may go now becomes work. */
extern void tg_filed_call(void);

/* Files the entries of the cycle's pieces that have to stay.  True when done. */
extern bool tg_filed_tidy(tg_session *session, unsigned *budget);

#endif /* TG_COLLECTOR_INTERNAL_H */
