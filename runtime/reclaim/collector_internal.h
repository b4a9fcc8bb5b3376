/*
 * collector_internal.h
 *	  Shared by collector*.c, prune.c and sweep.c.  For these, and their test.
 */
#ifndef TG_COLLECTOR_INTERNAL_H
#define TG_COLLECTOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "runtime/base/budget.h"
#include "runtime/sched/scheduler.h"
#include "runtime/reclaim/compact.h"
#include "runtime/reclaim/cycle.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/reclaim/rank_sweep.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/table/write_log.h"

/* --- prune.c ------------------------------------------------------------------ */

/*
 * The kinds that pruning gives an entry; an UPDATE or DELETE that keeps its kind is kept for a
 * reader.
 */
typedef enum tg_garbage
{
	TG_GARBAGE_NONE = 16,
	TG_GARBAGE_RUN,	 /* the entry's version leads a run that was cut out */
	TG_GARBAGE_DEAD, /* a dead version was cut off */
	TG_GARBAGE_ROW,	 /* as DEAD, and its row */
	TG_GARBAGE_OPEN	 /* a dead version waits for a transaction, or for the version below it */
} tg_garbage;

#define TG_ROW_COST 4 /* of the budget, in entries, for closing or freeing a row */

/* Since start; atomic. */
typedef struct tg_prune_counts
{
	uint64_t versions_removed;
	uint64_t rows_closed;
} tg_prune_counts;

/*
 * Prunes the row of an entry of a committed log (an UPDATE, a DELETE or an open one), and rewrites
 * the entry's kind.  Inside an epoch; no other participant may prune the row meanwhile.
 */
extern void tg_prune_entry(tg_session *session, tg_log_entry *entry, const tg_readings *readings,
						   tg_prune_counts *counts);

/*
 * The lowest point that a kept entry is kept for, or else the lowest point of all; 0 if there is
 * none.
 */
extern tg_time tg_prune_keeper(const tg_log_entry *entry, const tg_readings *readings);

#define TG_ENTRIES_AHEAD 16

/*
 * Prefetch the memory that pruning these entries, or freeing their versions, reads.  Inside an
 * epoch.
 */
extern void tg_prune_expect(tg_log_entry *const *entries, unsigned count);
extern void tg_free_expect(tg_log_entry *const *entries, unsigned count);

/*
 * Free what an entry owns, an epoch later: of an undone log; of a pruned log, first the runs
 * (runs), then the dead versions.  They return the cost.
 */
extern unsigned tg_free_undone(tg_session *session, const tg_log_entry *entry, tg_prune_counts *counts);
extern unsigned tg_free_pruned(tg_session *session, tg_log_entry *entry, bool runs, tg_prune_counts *counts);

/* --- sweep.c ------------------------------------------------------------------ */

#define TG_SWEEP_INTERVAL_MS 1000
#define TG_SWEEP_FOLLOW_MS 50 /* between the sweep that marks headers and the one that frees them */

/* A walk over all chunks, by one session at a time.  Fields that other sessions read say atomic. */
typedef struct tg_sweep
{
	bool active;	/* one is under way: the fields down to limit are its position */
	bool marked;	/* headers were marked, or a sparse chunk was put off: another step is due */
	bool headers;	/* some of the marked things were headers */
	bool follows;	/* it only frees what the sweep before has marked, or the next one will */
	bool waiting;	/* a chunk was left alone: changed after limit, or not all of it is settled */
	uint64_t table; /* position in the catalog */
	tg_table *at;	/* retained; NULL: the next one */
	uint32_t chunk; /* of it */
	tg_compaction compaction;
	tg_time horizon;
	tg_time limit;			 /* chunks touched later are not quiet */
	uint64_t next_ms;		 /* when the next one that does not follow may begin */
	uint64_t clock;			 /* atomic (runner writes, watcher reads): when the last such began */
	uint64_t at_ms;			 /* atomic, likewise: when the next one may begin */
	uint64_t chunks_settled; /* atomic, likewise */
	uint64_t chunks_freed;	 /* atomic, likewise */
	uint64_t versions_moved; /* atomic, likewise */
	bool dirty;				 /* atomic: garbage was freed since the last one began */
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

/* Whether a sweep is under way, or it is time for one and something has changed. */
extern bool tg_sweep_is_due(tg_sweep *sweep);

/* Whether a later sweep has work even if nothing changes any more. */
extern bool tg_sweep_is_unfinished(const tg_sweep *sweep);

/* Continues a sweep, or begins one.  True if it is not at its end. */
extern bool tg_sweep_run(tg_session *session, tg_sweep *sweep, unsigned budget);

/* --- collector.c ------------------------------------------------------------------ */

#define TG_COLLECTOR_TASKS 8 /* tasks of the pool that may collect at a time */
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

	/* changed by each committer, and therefore by nothing else except GATHER */
	tg_write_log *inbox TG_CACHE_ALIGNED; /* atomic: a stack; all sessions push, GATHER takes */
	uint64_t given;						  /* atomic: pieces, since start */

	uint64_t given_before TG_CACHE_ALIGNED; /* atomic: given when a cycle last looked, about */
	uint64_t freed_pieces;					/* atomic: of those given, less those made for filing */
	tg_write_log *kept;						/* atomic: a stack; of FREE and CLOSE for TIDY */
	bool helped;							/* atomic: something may have helped open entries */
	int64_t worked;							/* atomic: other entries worked on since then */
	uint64_t cycle_worked;					/* atomic: in this cycle */
	bool progress;							/* atomic: this cycle has had an effect */
	bool freed;								/* atomic: in this cycle slots were given back */

	/* of the only participant of GATHER, PRUNED and TIDY; readings is constant in between */
	tg_readings readings TG_CACHE_ALIGNED;
	bool gathering;			/* the readings are this cycle's */
	tg_write_log *incoming; /* taken from the inbox, oldest first */
	tg_write_log *waiting;	/* committed, ascending by ended */
	tg_write_log *waiting_last;
	uint64_t held_back; /* atomic: entries of those that were beyond the bound when they came */
	bool has_due;
	tg_write_log *due; /* the last of those taken out for this cycle, linked by previous */
	tg_write_log *strays;
	tg_write_log *open;	  /* a stack of pieces with filed entries */
	uint64_t open_count;  /* entries of these */
	uint64_t helped_ms;	  /* time since which helped is set; 0: it is not */
	tg_write_log *filing; /* the pieces that TIDY has still to file */
	tg_keeper keepers[TG_KEEPERS_MAX];
	unsigned keeper_count; /* atomic */
	uint64_t epoch;		   /* atomic: the epoch in which the cycle's garbage was unlinked */
	uint64_t epoch_ms;	   /* atomic: the time of that */
	unsigned wait_ms;
	uint64_t wake_ms; /* atomic: when to run although nothing was given; NEVER_MS */
	tg_time horizon;  /* atomic, for views */
	tg_time bound;	  /* likewise */

	uint32_t sweeping TG_CACHE_ALIGNED; /* atomic: a session runs one of the sweeps */
	tg_sweep sweep;
	tg_rank_sweep rank_sweep;

	uint32_t visits_due TG_CACHE_ALIGNED; /* atomic: sessions are away for long; by the watcher */

	tg_prune_counts counts TG_CACHE_ALIGNED;
	uint32_t row_guards[TG_ROW_GUARDS] TG_CACHE_ALIGNED; /* atomic: by hash of table and row */

	/* the first is the watcher's, each other one belongs to the task before */
	tg_task tasks[TG_COLLECTOR_TASKS] TG_CACHE_ALIGNED;
	bool submitted[TG_COLLECTOR_TASKS];
} tg_collector;

extern tg_collector *tg_collector_shared; /* set by tg_collector_create, inherited */

/*
 * Milliseconds after which open entries are tried again if something may have helped; a test sets
 * it to 0.
 */
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

/* Frees a piece that needs no more work. */
static inline void
tg_piece_destroy(tg_session *session, tg_write_log *piece)
{
	piece->below = NULL;
	tg_write_log_destroy(session, piece);
	tg_fetch_add_acq_rel(&tg_collector_shared->freed_pieces, 1);
}

/* Makes a piece work of the cycle.  By the only participant of GATHER or TIDY. */
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

/* False: another participant prunes the next row, and may be suspended. */
extern bool tg_pieces_prune(tg_session *session, unsigned *budget);

/* runs: in FREE; otherwise in CLOSE, for dead versions and rows. */
extern void tg_pieces_free(tg_session *session, bool runs, unsigned *budget);

/* --- collector_file.c: by the only participant of GATHER, and of TIDY ---------------- */

/* Makes the filed entries that may go now work of the cycle. */
extern void tg_filed_call(void);

/* Files the entries of the cycle's pieces that have to stay.  True once all are filed. */
extern bool tg_filed_tidy(tg_session *session, unsigned *budget);

#endif /* TG_COLLECTOR_INTERNAL_H */
