/*
 * kinds.h
 *	  Tsurugi's kinds of transactions: SHORT, LONG and READ ONLY.
 *
 * SHORT		SERIALIZABLE that does not wait for rows or preserved areas (TG_CONFLICT).
 * LONG		reads at R_L, drawn at its start; writes only what it has preserved, and meets no other
 *			writer there; validates nothing, and only another LONG can make it abort.
 * READ ONLY	reads at a safe snapshot: no validation, no abort, no transaction waits for it.
 *
 * The rules W0, S3, S4, L1 to L7 are in runtime/README.md, section «Transactions».  As everywhere
 * in this room, nothing waits in here: TG_BUSY names the transaction to wait for; then the call is
 * made again.
 *
 * The host's calls, by kind:
 *
 *	SHORT		tg_txn_begin, tg_txn_describe, tg_txn_track; else as SERIALIZABLE
 *	LONG		before its first read: tg_txn_begin, tg_txn_describe, tg_long_publish, and
 *				tg_long_start until that returns TG_OK and hands out the snapshot;
 *				tg_long_check_read before it reads an area; writes as usual; tg_txn_commit or
 *				tg_txn_abort.  A lock of the host's on each preserved table keeps the table from
 *				being replaced or dropped meanwhile.
 *	READ ONLY	tg_snapshot_publish_safe instead of tg_snapshot_publish; the snapshot is withdrawn
 *				like any other.  (A tg_txn is needed only to be seen in reports.)
 *	SERIALIZABLE, SHORT
 *				tg_preserve_check_read before it reads an area (L2; saves work); S3 is a part of
 *				tg_validation_step; tg_reads_check_snapshot at the end of a transaction that wrote
 *				nothing (S4).
 *	any writer	nothing: each first write to a table registers.
 */
#ifndef TG_KINDS_H
#define TG_KINDS_H

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/preserve.h"

typedef struct tg_reads tg_reads; /* reads.h */

/* --- LONG -------------------------------------------------------------------------- */

typedef struct tg_long_config
{
	const tg_area *preserve; /* what it may write */
	unsigned preserve_count;
	/*
	 * Areas that it declares to read, and not to read: reading any other area is TG_FORBIDDEN.
	 * None: it may read every area.
	 */
	const tg_area *include;
	unsigned include_count;
	const tg_area *exclude;
	unsigned exclude_count;
	unsigned promoted_after; /* for reports: failures until it was made a LONG; 0: asked for */
	int priority;			 /* L7: of overlapping LONGs that wait, the highest starts first */
	void *waiter;			 /* for tg_host_wake while it waits to start; NULL: tg_condition_poke */
} tg_long_config;

/* L1 (a): takes the areas.  TG_FULL, TG_NO_MEMORY, TG_TOO_LARGE: the transaction is unchanged. */
extern tg_status tg_long_publish(tg_session *session, tg_txn *txn, const tg_long_config *config) TG_MUST_USE;

/*
 * L1 (b) and (c).  TG_OK: started; the snapshot stays published until the transaction ends.
 * TG_BUSY: *wait_out is in the way.  The waiter is woken whenever that may have changed; then the
 * call is made again.  (The host must not wait for the end of that transaction: it may get out of
 * the way without ending.)  tg_txn_abort gives the start up.
 */
extern tg_status tg_long_start(tg_session *session, tg_txn *txn, tg_time *snapshot_out, tg_wait *wait_out) TG_MUST_USE;

/*
 * Whether tg_long_start is worth calling, without calling it; false: *wait_out is in the way.  Any
 * thread.
 */
extern bool tg_long_may_start(const tg_txn *txn, tg_wait *wait_out);

/*
 * L3, and the declared areas.  Called before an area is read: a table, a key, or the range of
 * primary keys that the read is restricted to; the area of any other read is the whole table.
 * TG_CONFLICT; TG_FORBIDDEN: not declared; TG_STOPPED: for a shared transaction.
 */
extern tg_status tg_long_check_read(tg_session *session, tg_txn *txn, const tg_area *area) TG_MUST_USE;

/* --- READ ONLY ---------------------------------------------------------------------- */

/*
 * L6.  Publishes a safe snapshot.  deferrable: a fresh one; TG_BUSY if a LONG prevents that, and
 * nothing is published.  include and exclude are as for a LONG: if no LONG in question preserves
 * any of these areas, the fresh snapshot is safe, and the host ensures that nothing else is read
 * (tg_areas_cover_area ...).
 */
extern tg_status tg_snapshot_publish_safe(tg_session *session, bool deferrable, const tg_areas *include,
										  const tg_areas *exclude, tg_time *snapshot_out, unsigned *entry_out,
										  tg_wait *wait_out) TG_MUST_USE;

/* --- SERIALIZABLE and SHORT ------------------------------------------------------------ */

extern tg_status tg_preserve_look_at_read(const tg_area *area, tg_time snapshot, bool may_wait, tg_wait *wait_out,
										  tg_conflict *conflict_out) TG_MUST_USE;

/*
 * L2: called before an area is read at a snapshot.  may_wait: a SERIALIZABLE transaction that has
 * read nothing from the snapshot; then TG_BUSY tells it to give the snapshot back, wait, and take
 * another.  TG_CONFLICT: reading the area is in vain, *conflict_out.
 */
static inline tg_status TG_MUST_USE
tg_preserve_check_read(const tg_area *area, tg_time snapshot, bool may_wait, tg_wait *wait_out,
					   tg_conflict *conflict_out)
{
	if (tg_likely(tg_preserve_is_empty()))
		return TG_OK;
	return tg_preserve_look_at_read(area, snapshot, may_wait, wait_out, conflict_out);
}

/*
 * S4, at the end of a transaction that wrote nothing: checks that no LONG which its (last) snapshot
 * lies within preserves anything that it read at that snapshot.  TG_OK or TG_CONFLICT.
 */
extern tg_status tg_reads_check_snapshot(tg_session *session, tg_reads *reads, tg_time snapshot,
										 tg_conflict *conflict_out) TG_MUST_USE;

/* --- waiting --------------------------------------------------------------------------- */

/*
 * The next three are for a transaction that is not the session's own, given by its descriptor's
 * number.
 */
extern void tg_wait_begin_of(unsigned number, const tg_wait *wait);
extern void tg_wait_end_of(unsigned number);
extern bool tg_wait_closes_circle_of(unsigned number, const tg_wait *wait);

/*
 * From now on the transaction has a place in the queue of a row (row_lock.h, 7).  The host calls
 * the queue by this number; 0: no queue.  As long as the transaction is not the first, its wait is
 * announced as TG_WAIT_TURN, and is a wait for whichever transaction is the first.
 */
extern void tg_wait_queue_of(unsigned number, uint64_t queue);

/*
 * Around a wait that a TG_BUSY asked for, so that others see the edge (W6, and reports).  The edge
 * is published first, and other edges are looked at afterwards.  An error of the host's that ends
 * the wait has to be followed by tg_wait_end, too: an edge that is left makes others see cycles.
 */
static inline void
tg_wait_begin(tg_session *session, const tg_wait *wait)
{
	tg_wait_begin_of(session->id, wait);
}

static inline void
tg_wait_end(tg_session *session)
{
	tg_wait_end_of(session->id);
}

/*
 * Whether the wait that was begun closes a cycle of waits that all still hold.  Then a transaction
 * in the cycle has to give up (40P01), and this one does, unless it is a LONG.  For waits that the
 * host's own detector does not see.  May be called any number of times.
 */
static inline bool
tg_wait_closes_circle(tg_session *session, const tg_wait *wait)
{
	return tg_wait_closes_circle_of(session->id, wait);
}

/* --- figures ----------------------------------------------------------------------------- */

/* An area of a listed LONG, for views. */
typedef struct tg_preserve_report
{
	uint32_t txn; /* the LONG's descriptor */
	uint64_t host;
	bool ended;
	tg_time start; /* R_L, or 0 */
	tg_time base;
	tg_time end; /* C_L or A, or 0 */
	int priority;
	uint32_t database;
	uint32_t relation;
	bool is_range;
} tg_preserve_report;

/* Returns the first max areas, oldest LONG first, and the number of them that were returned. */
extern unsigned tg_preserve_report_get(tg_preserve_report *reports, unsigned max);

#endif /* TG_KINDS_H */
