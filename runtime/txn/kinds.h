/*
 * kinds.h
 *	  Tsurugi's kinds of transactions: SHORT, LONG and READ ONLY.
 *
 * SHORT	 SERIALIZABLE that does not wait for rows or preserved areas (TG_CONFLICT).
 * LONG		 reads at R_L, drawn at its start; writes only what it has preserved, and meets no
 *			 other writer there; validates nothing, and nobody but another LONG can make it abort.
 * READ ONLY reads at a safe snapshot: no validation, no abort, nobody waits for it.
 *
 * The rules W0, S3, S4, L1 to L7 are in runtime/README.md, section «Transactions».  As everywhere in this room
 * nothing waits in here: TG_BUSY comes with whom to wait for; then the call is made again.
 *
 * What a host does, by kind
 *
 *	SHORT		tg_txn_begin, tg_txn_describe, tg_txn_track; else as SERIALIZABLE
 *	LONG		tg_txn_begin, tg_txn_describe, tg_long_publish; tg_long_start until it is TG_OK, which
 *				hands out the snapshot; tg_long_check_read before it reads an area; writes as ever;
 *				tg_txn_commit or tg_txn_abort.  All that before its first read.  A lock of the host's on each
 *				preserved table keeps it from being replaced or dropped meanwhile.
 *	READ ONLY	tg_snapshot_publish_safe instead of tg_snapshot_publish; withdrawn as any other.
 *				(A tg_txn is needed only for being seen in reports.)
 *	SERIALIZABLE, SHORT
 *				tg_preserve_check_read before it reads an area (L2; saves work); S3 is a part of
 *				tg_validation_step; tg_reads_check_snapshot at the end of one that wrote nothing (S4).
 *	any writer	nothing: each first write to a table registers.
 */
#ifndef TG_KINDS_H
#define TG_KINDS_H

#include "runtime/reclaim/preserve.h"
#include "runtime/txn/txn.h"

/* --- LONG -------------------------------------------------------------------------- */

typedef struct tg_long_config
{
	const tg_area *preserve; /* what it may write */
	unsigned preserve_count;
	/* Areas that it declares to read, and not to read: reading anything else is TG_FORBIDDEN.  None: anything. */
	const tg_area *include;
	unsigned include_count;
	const tg_area *exclude;
	unsigned exclude_count;
	unsigned promoted_after; /* for reports: the host has made it a LONG after so many failures; 0: it was asked for */
	int priority;			 /* L7: the higher one starts first, of those that overlap and wait */
	void *waiter;			 /* for tg_host_wake while it waits for its start; NULL: tg_condition_poke */
} tg_long_config;

/* L1 (a): takes the areas.  TG_FULL, TG_NO_MEMORY, TG_TOO_LARGE: the transaction is as it was. */
extern tg_status tg_long_publish(tg_session *session, tg_txn *txn, const tg_long_config *config) TG_MUST_USE;

/*
 * L1 (b) and (c).  TG_OK: started; the snapshot stays published until the transaction ends.  TG_BUSY:
 * *wait_out is in the way.  The waiter is woken whenever that may have changed; then the call is
 * made again.  (Not a host's wait for that one's end: it may get out of the way without ending.)
 * May be given up: tg_txn_abort.
 */
extern tg_status tg_long_start(tg_session *session, tg_txn *txn, tg_time *snapshot_out, tg_wait *wait_out) TG_MUST_USE;

/* The same without doing it: whether tg_long_start is worth calling; false: *wait_out is in the way.  Any thread. */
extern bool tg_long_may_start(const tg_txn *txn, tg_wait *wait_out);

/*
 * L3, and the declared areas.  Before an area is read: a table, a key, or the range of primary keys that the read is restricted
 * to; any other read has the whole table.  TG_CONFLICT; TG_FORBIDDEN: not declared; TG_STOPPED of
 * a shared one.
 */
extern tg_status tg_long_check_read(tg_session *session, tg_txn *txn, const tg_area *area) TG_MUST_USE;

/* --- READ ONLY ---------------------------------------------------------------------- */

/*
 * L6.  Publishes a safe snapshot.  deferrable: a fresh one; TG_BUSY if a LONG stands in the way of that, and nothing is
 * published.  include and exclude as a LONG's: if no LONG in question preserves any of that, the
 * fresh snapshot is safe, and the host sees to it that nothing else is read (tg_areas_cover_area …).
 */
extern tg_status tg_snapshot_publish_safe(tg_session *session, bool deferrable, const tg_areas *include,
										  const tg_areas *exclude, tg_time *snapshot_out, unsigned *entry_out,
										  tg_wait *wait_out) TG_MUST_USE;

/* --- SERIALIZABLE and SHORT ------------------------------------------------------------ */

extern tg_status tg_preserve_look_at_read(const tg_area *area, tg_time snapshot, bool may_wait, tg_wait *wait_out,
										  tg_conflict *conflict_out) TG_MUST_USE;

/*
 * L2: before an area is read at a snapshot.  may_wait: SERIALIZABLE that has been told nothing from it; TG_BUSY then: it
 * gives the snapshot back, waits, and takes another.  TG_CONFLICT: reading it is in vain, *conflict_out.
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
 * S4, at the end of one that wrote nothing: whether what it read at its (last) snapshot is preserved by no LONG that the
 * snapshot lies within.  TG_OK or TG_CONFLICT.
 */
extern tg_status tg_reads_check_snapshot(tg_session *session, tg_reads *reads, tg_time snapshot,
										 tg_conflict *conflict_out) TG_MUST_USE;

/* --- waiting --------------------------------------------------------------------------- */

/* The next three for a transaction that is not the session's own: by its descriptor's number. */
extern void tg_wait_begin_of(unsigned number, const tg_wait *wait);
extern void tg_wait_end_of(unsigned number);
extern bool tg_wait_closes_circle_of(unsigned number, const tg_wait *wait);

/*
 * The transaction has a place in the queue of a row (row_lock.h, 7), which the host calls by this number, from now
 * on; 0: in none.  As long as it is not the first its wait is announced as TG_WAIT_TURN, and is one for the first, whoever that is.
 */
extern void tg_wait_queue_of(unsigned number, uint64_t queue);

/*
 * Around a wait that a TG_BUSY asked for, so that others see the edge (W6, and reports).  Published first, looked at
 * afterwards.  An error of the host's that ends the wait has to be followed by tg_wait_end, too: an edge that
 * stands makes others see circles.
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
 * Whether the wait that was begun closes a circle of waits that all still hold: then somebody in it has to give up (40P01), and
 * this one does, unless it is a LONG.  For waits that the host's own detector does not see.  Any number of times.
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

/* The first max areas there are, oldest LONG first; their number. */
extern unsigned tg_preserve_report_get(tg_preserve_report *reports, unsigned max);

#endif /* TG_KINDS_H */
