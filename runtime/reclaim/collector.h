/*
 * collector.h
 *	  Removes the versions that no snapshot can see any more.
 *
 * The collector works on the write logs of transactions that have ended, in cycles that any number
 * of sessions may take part in.  Replaced versions that no reader can see, also between snapshots,
 * are cut out of their chains; deleted rows are closed and their index entries removed.  An epoch
 * later, slots, blobs and row ids are free for use.  A rolled-back log needs only the second half.
 * Besides, the collector sweeps over chunks that have been quiet and frees their headers.
 */
#ifndef TG_COLLECTOR_H
#define TG_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

typedef struct tg_write_log tg_write_log; /* write_log.h */

/* Creates the collector and the state of tax.h. */
extern tg_status tg_collector_create(void) TG_MUST_USE;

/*
 * Hands over a log, all its pieces; NULL is allowed.  A committed log: every version is stamped,
 * and ended = C is set in the newest piece.  From before it drew C until after this call, without a
 * gap, the committer has a snapshot published that stands for later times, too; so the collector
 * has the log before readings are bounded by C (collector.c, 1).  An undone log: ended = 0, all
 * entries are unlinked.  Any session; cannot fail.
 */
extern void tg_collector_give(tg_write_log *log);

/*
 * Does up to budget entries' worth of work; true if there is more to do at once.  Any number of
 * sessions at a time.
 */
extern bool tg_collector_run(tg_session *session, unsigned budget);

/*
 * As tg_collector_run, for a session that pays for the work (tax.h); returns the part of the budget
 * that was used.  may_open: it may also open a cycle.  *more_out: there is more to do at once, or
 * another session has the work (then nothing was done).
 */
extern unsigned tg_collector_quantum(tg_session *session, unsigned budget, bool may_open, bool *more_out);

/* Whether a cycle is open. */
extern bool tg_collector_is_open(void);

/*
 * Whether a cycle is open that one more session could work on.  If much has been given and no cycle
 * has looked at it, this opens one, so that collection goes on without the pool's threads; it then
 * also returns true for a cycle that waits for an epoch.
 */
extern bool tg_collector_has_work(void);

/* About how many pieces of logs have been given since a cycle last took the inbox. */
extern uint64_t tg_collector_given(void);

/*
 * About how many versions are kept only for readers at this time (NEVER: for any).  If the time is
 * a lower bound, that includes all versions that have ended since.
 */
extern uint64_t tg_collector_held_for(tg_time time);

/* Rows have come that no transaction inserted: a sweep looks at them although the clock stands. */
extern void tg_collector_rows_came(void);

/*
 * For a session that would otherwise be refused memory: goes through one cycle and a sweep, as far
 * as other sessions permit.  A call takes no longer than a fraction of a millisecond, so it is to
 * be repeated.  False if there is no prospect of more memory.
 */
extern bool tg_collector_make_room(tg_session *session);

/*
 * Whether a sweep of dictionaries is wanted, or goes on and could go on now, while memory is short
 * (tax.c, 8).
 */
extern bool tg_collector_ranks_are_due(void);

/*
 * If so, by a session that holds no ranks: collects, and continues that sweep, no longer at a time
 * than tg_collector_make_room.  False: the sweep has ended or waits for sessions that hold ranks,
 * or memory is not short any more.
 */
extern bool tg_collector_sweep_ranks(tg_session *session);

/*
 * Makes the collector a watcher check and a task of the pool.  In the worker process, before the
 * scheduler starts.
 */
extern void tg_collector_attach(void);

typedef struct tg_collector_report
{
	uint64_t logs_waiting;	   /* given and not yet finished */
	uint64_t versions_held;	   /* kept for readers */
	uint64_t versions_removed; /* since start */
	uint64_t rows_closed;
	uint64_t chunks_settled; /* header arrays freed */
	uint64_t chunks_freed;
	uint64_t versions_moved; /* out of sparse chunks */
	uint64_t cycles;		 /* begun since start */
	const char *stage;
	uint64_t epoch_waits_ms; /* how long the present cycle has been waiting for an epoch */
	tg_time horizon;		 /* as last computed */
} tg_collector_report;

extern void tg_collector_report_get(tg_collector_report *report);

#endif /* TG_COLLECTOR_H */
