/*
 * horizon.h
 *	  The commit clock, published snapshots, and what nobody needs any more.
 *
 * Publishing a snapshot: store a lower bound, fence, load the clock, publish
 * (transactions.md, «Garbage»).  A session has a bounded array of entries; when
 * it is full, further snapshots share one entry that keeps the smallest as a
 * lower bound.  A job owns entries of its own.
 */
#ifndef TG_HORIZON_H
#define TG_HORIZON_H

#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/storage/version.h"

#define TG_SNAPSHOTS_PER_SESSION 16
#define TG_SNAPSHOTS_OF_JOBS 256

extern uint64_t *tg_clock; /* the commit clock; set by tg_horizon_create and inherited by children */

extern tg_status tg_horizon_create(void) TG_MUST_USE;

/* Publishes and returns a fresh snapshot time; *entry_out names it for the release.  Owner of the session. */
extern tg_time tg_snapshot_publish(tg_session *session, unsigned *entry_out);
extern void tg_snapshot_withdraw(tg_session *session, unsigned entry);

/*
 * Replaces a published time by a later one, loaded from the clock, in one store:
 * for a reader whose next reads are all at the later one.  Owner of the session.
 */
extern void tg_snapshot_raise(tg_session *session, unsigned entry, tg_time time);

/*
 * Publishes a time that is published already, by the caller's session, for a
 * job that may outlive it.  TG_FULL.
 */
extern tg_status tg_snapshot_publish_job(tg_time time, unsigned *entry_out) TG_MUST_USE;
extern void tg_snapshot_withdraw_job(unsigned entry);

/* G1: every published snapshot and lower bound is at least this, and always will be. */
extern tg_time tg_horizon_compute(void);

/* A session that has gone: withdraws all it had. */
extern void tg_snapshot_withdraw_all(tg_session *session);

/* The i-th session's oldest published snapshot, or 0: for views. */
extern tg_time tg_snapshot_oldest(unsigned session_id);

#endif /* TG_HORIZON_H */
