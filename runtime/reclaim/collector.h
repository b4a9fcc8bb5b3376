/*
 * collector.h
 *	  Takes away what no snapshot can see any more.
 *
 * Works on the write logs of transactions that have ended, in cycles that
 * any number of sessions may take part in.  Replaced versions that nobody reads, between
 * snapshots too, are cut out of their chains, rows that were deleted are closed and
 * their index entries removed; an epoch later slots, blobs and row ids are free
 * for use.  A rolled-back log only has the second half to do.  Besides it
 * sweeps over chunks that have been quiet and takes their headers away.
 */
#ifndef TG_COLLECTOR_H
#define TG_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/table/catalog.h"
#include "runtime/table/write_log.h"

/* With what tax.h needs. */
extern tg_status tg_collector_create(void) TG_MUST_USE;

/*
 * Hands over a log, all its pieces; NULL is allowed.  Either committed: every
 * version is stamped and ended = C is set in the newest piece; the committer
 * has had a snapshot published that stands for later times, too, without a gap, since before it drew C, and
 * withdraws it only after this call (so readings are bounded by C only when the
 * collector has the log: collector.c, 1).  Or undone: ended = 0, all entries
 * unlinked.  Any session; cannot fail.
 */
extern void tg_collector_give(tg_write_log *log);

/*
 * Does up to budget entries' worth of work; true if there is more that could
 * be done at once.  Any number of sessions at a time.
 */
extern bool tg_collector_run(tg_session *session, unsigned budget);

/*
 * The same for who pays for it (tax.h): returns what was done of the budget.
 * may_open: it may open a cycle, too.  *more_out: there is more to be done at once, but that somebody else may be at it
 * (nothing was done then).
 */
extern unsigned tg_collector_quantum(tg_session *session, unsigned budget, bool may_open, bool *more_out);

/* Whether a cycle is open. */
extern bool tg_collector_is_open(void);

/*
 * Whether a cycle is open that one more could work on.  If much has been given
 * that nobody looks at, it opens one, so it goes on without the pool's threads; and says so of one, too, that waits
 * for an epoch.
 */
extern bool tg_collector_has_work(void);

/* Pieces of logs given since a cycle last took what had been; about. */
extern uint64_t tg_collector_given(void);

/*
 * Versions that are kept for who reads at this time (NEVER: for all), and would else be gone; about.  If it stands
 * for every later time, too, all that have ended since.
 */
extern uint64_t tg_collector_held_for(tg_time time);

/*
 * Before a session is refused memory: goes through one cycle and a sweep, or as
 * far as others let it; no longer than a fraction of a millisecond at a time, so it is
 * to be called again.  False if there is nothing more to be hoped for.
 */
extern bool tg_collector_make_room(tg_session *session);

/* Makes the collector a watcher check and a task of the pool.  In the worker process, before the scheduler starts. */
extern void tg_collector_attach(void);

typedef struct tg_collector_report
{
	uint64_t logs_waiting;	   /* handed over and not yet done with */
	uint64_t versions_held;	   /* kept for who still reads them */
	uint64_t versions_removed; /* since start */
	uint64_t rows_closed;
	uint64_t chunks_settled; /* header arrays taken away */
	uint64_t chunks_freed;
	uint64_t versions_moved; /* out of sparse chunks */
	uint64_t cycles;		 /* begun since start */
	const char *stage;
	uint64_t epoch_waits_ms; /* how long the present cycle has been waiting for an epoch */
	tg_time horizon;		 /* as last computed */
} tg_collector_report;

extern void tg_collector_report_get(tg_collector_report *report);

#endif /* TG_COLLECTOR_H */
