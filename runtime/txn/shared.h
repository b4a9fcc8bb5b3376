/*
 * shared.h
 *	  Transactions that several sessions work in, owned by a lease or by one of them.
 *
 * Owned by a lease: such a transaction is begun for a request from outside.  Any session that has
 * its handle may work in it, one operation at a time (its lane), and may end it; the watcher ends
 * it when no session has worked in it for the length of its lease.  Its outcome can be asked for by
 * handle for the length of one more lease.
 *
 *	tg_shared_begin(…, &handle)								a session, a process' Step
 *	tg_shared_open(handle) -> tg_shared						each participant
 *		tg_shared_enter -> writer, snapshot					an operation (shared_operation.h):
 *		tg_txn_* with these, in an epoch where they
 *		require it; tg_shared_leave
 *		tg_shared_commit or tg_shared_abort
 *	tg_shared_close											each that has opened it
 *
 * An operation runs in place, or in the lane (tg_lane_submit on tg_shared_lane, TG_COMMAND_LANE);
 * enter notices if it is called inside the lane's operation.  An operation that is told to wait
 * (TG_BUSY of a write) leaves, and is repeated later.
 *
 * All kinds of transactions can be shared.  LONG and READ ONLY ones draw their snapshot, and a LONG
 * publishes its preserve, before everything else: no session works in them until tg_shared_start
 * returns TG_OK.
 *
 * Owned by a session of the host, which exports its transaction: that session alone ends it, by
 * tg_shared_prepare, tg_shared_validate and tg_shared_finish; the lease can only end it sooner.
 *
 * Sessions of the host take turns by themselves, whoever owns the transaction: one works at a time,
 * has it open, and holds it meanwhile.  So they need no enter and leave: they draw the snapshot
 * (tg_shared_draw) and call tg_txn_*, savepoints included.  Each call takes the lane, and finds out
 * there whether the transaction has ended (TG_STOPPED), or may not write the table (TG_FORBIDDEN).
 */
#ifndef TG_SHARED_H
#define TG_SHARED_H

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/txn/conflict.h"
#include "runtime/txn/level.h"

typedef struct tg_areas tg_areas;			  /* preserve.h */
typedef struct tg_lane tg_lane;				  /* lane.h */
typedef struct tg_long_config tg_long_config; /* kinds.h */
typedef struct tg_reads tg_reads;			  /* reads.h */

#define TG_SHARED_MAX 64 /* at a time, including ended ones whose outcome is kept */
#define TG_SHARED_TABLES_MAX 64

typedef struct tg_shared tg_shared; /* opaque: shared.c */

/*
 * A session that has it may work in the transaction if it also has the role.  The host makes it, at
 * random.
 */
typedef struct tg_handle
{
	uint64_t secret[2];
} tg_handle;

typedef struct tg_shared_config
{
	tg_handle handle;
	/* the host's word: its low half is the role, its high half says where the handle works */
	uint64_t role;
	uint64_t owner; /* the host's word for the session that owns it; 0: a lease does */
	const char *label;
	const uint32_t *tables; /* that it may write, by the host's numbers; a count of 0: all tables */
	uint16_t table_count;
	uint16_t place_max; /* of the role, wherever its handles are valid; 0: no limit of its own */
	uint32_t lease_ms;
	tg_txn_kind kind;
	tg_isolation isolation;
} tg_shared_config;

/*
 * Takes a place.  If none is free, or the role has as many as it may, the role's ended transaction
 * with the oldest outcome gives up its place.  TG_FULL: there is none; TG_TOO_LARGE: the role has
 * as many running transactions as it may; TG_NO_MEMORY; TG_EXISTS: the handle is taken.
 */
extern tg_status tg_shared_begin(tg_session *session, const tg_shared_config *config) TG_MUST_USE;

/*
 * Starts a LONG as tg_long_publish and tg_long_start do, a READ ONLY transaction as
 * tg_snapshot_publish_safe, with the config's include and exclude.  The session need not outlive
 * it.  TG_BUSY: it has to wait for *wait_out; the waiter is woken, and the call is repeated with
 * the same arguments.  Its lease does not expire meanwhile.  TG_STOPPED: it has ended.  After
 * TG_FULL, TG_NO_MEMORY, TG_TOO_LARGE the caller has to abort it.
 */
extern tg_status tg_shared_start(tg_session *session, tg_shared *shared, const tg_long_config *config, bool deferrable,
								 tg_wait *wait_out) TG_MUST_USE;

/* TG_NOT_FOUND: there is no such transaction of this role, or its outcome has been forgotten. */
extern tg_status tg_shared_open(const tg_handle *handle, uint64_t role, tg_shared **shared_out) TG_MUST_USE;
extern void tg_shared_close(tg_shared *shared);

/*
 * As tg_shared_open, by the number in a report; for sessions that may see the transaction without
 * its handle.
 */
extern tg_status tg_shared_open_number(uint64_t number, tg_shared **shared_out) TG_MUST_USE;

extern tg_lane *tg_shared_lane(tg_shared *shared);

/*
 * For a task that is going to run operations in it, or reads in it without them: until let_go it is
 * not committed, an abort is deferred, and its lease does not expire.  TG_STOPPED: it is going to
 * end, or has ended.
 */
extern tg_status tg_shared_hold(tg_shared *shared) TG_MUST_USE;
extern void tg_shared_let_go(tg_session *session, tg_shared *shared);

/*
 * Commits it.  TG_OK; TG_CONFLICT: it could not be serialized, and is aborted; TG_STOPPED: it had
 * ended, or another session holds it, and it is aborted therefore; TG_BUSY as tg_shared_enter.
 * From inside an operation of the lane, or from outside; not between enter and leave.  It polls
 * for the outcome of other transactions: a session of the host makes the steps itself.
 */
extern tg_status tg_shared_commit(tg_session *session, tg_shared *shared) TG_MUST_USE;

/*
 * A commit in steps, for an owner that can fail between them.  After TG_OK of the first one, the
 * same session validates the transaction and finishes it; TG_STOPPED, TG_BUSY as tg_shared_commit.
 */
extern tg_status tg_shared_prepare(tg_session *session, tg_shared *shared) TG_MUST_USE;

/*
 * TG_OK: it may be committed.  TG_CONFLICT: it is aborted, and must not be finished.  TG_AGAIN: to
 * be called again; TG_BUSY: likewise, when the outcome of *wait_out is known.
 */
extern tg_status tg_shared_validate(tg_session *session, tg_shared *shared, tg_wait *wait_out) TG_MUST_USE;

/* commits: only after TG_OK of the validation. */
extern void tg_shared_finish(tg_session *session, tg_shared *shared, bool commits);

/*
 * Before tg_shared_finish: where the host's record of the commit ends.  By the session that called
 * tg_shared_prepare.
 */
extern void tg_shared_note_logged(tg_shared *shared, uint64_t position);

/* The reason why it has been aborted, or is going to be: the first one given. */
typedef enum tg_shared_reason
{
	TG_SHARED_NOT_ABORTED,
	TG_SHARED_EXPIRED,	  /* its lease has expired */
	TG_SHARED_GIVEN_UP,	  /* its owner rolled it back, or went */
	TG_SHARED_ASKED,	  /* a session asked for it, by the handle */
	TG_SHARED_TERMINATED, /* a session asked for it, by its number */
	TG_SHARED_DROPPED,	  /* its role or database was dropped, or the role's objects were */
	TG_SHARED_FAILED,	  /* a session that worked in it failed, or went */
	TG_SHARED_REFUSED,	  /* it was to be committed while other sessions were at work in it */
	TG_SHARED_CONFLICTED, /* it could not be serialized */
	TG_SHARED_STOPPED	  /* the worker, which keeps leases, was stopped */
} tg_shared_reason;

#define TG_SHARED_TEXT_BYTES 256

/*
 * Aborts it, now or when its last user leaves.  Any number of times; the reason and text (NULL:
 * none; cut if too long) are kept, unless it is going to end already.
 */
extern void tg_shared_abort(tg_session *session, tg_shared *shared, tg_shared_reason reason, const char *text);

/*
 * Aborts it at once, unless it has ended: its owner goes, or an administrator ends it.  A session
 * that holds it gets TG_STOPPED from its next call; its descriptor is not reused as long as that
 * session has it open.  False: it is being committed, and that goes on.
 */
extern bool tg_shared_abandon(tg_session *session, tg_shared *shared, tg_shared_reason reason);

/* Likewise for transactions owned by leases: all, or those of the roles (host words) concerned. */
extern bool tg_shared_abandon_leased(tg_session *session, tg_shared_reason reason,
									 bool (*is_concerned)(uint64_t role, uint64_t argument), uint64_t argument);

/*
 * Its outcome need not be kept any longer: it is forgotten when no session has it open.  No effect
 * if it has not ended.
 */
extern void tg_shared_forget(tg_shared *shared);

/* --- for turns of the host's sessions ------------------------------------------------- */

extern tg_txn *tg_shared_txn(tg_shared *shared);

/* The first command number of the present turn; setting it is for the next one. */
extern uint32_t tg_shared_command(const tg_shared *shared);
extern void tg_shared_set_command(tg_shared *shared, uint32_t command);

/*
 * Above READ COMMITTED: the transaction's snapshot, drawn now if it has none yet.  *entry_out is an
 * entry that the session publishes besides (shared.c, 2), and that the caller withdraws.
 * TG_STOPPED; TG_FULL.
 */
extern tg_status tg_shared_draw(tg_session *session, tg_shared *shared, tg_time *time_out,
								unsigned *entry_out) TG_MUST_USE;

/*
 * Makes this time, which the session has published, the transaction's snapshot, unless it has one.
 * from: the entry stands for all later times, too, as it must at SERIALIZABLE and SHORT.
 * TG_STOPPED; TG_FULL.
 */
extern tg_status tg_shared_draw_at(tg_session *session, tg_shared *shared, tg_time time, bool from) TG_MUST_USE;

/* The age of the transaction's snapshot. */
extern uint64_t tg_shared_snapshot_age_us(const tg_shared *shared);

/* W5: replaces the snapshot by a later one, as of which all reads have been validated. */
extern void tg_shared_set_snapshot(tg_shared *shared, tg_time time);

/* Restarts the lease. */
extern void tg_shared_renew(tg_shared *shared);

/*
 * The areas that a READ ONLY transaction has declared to read, and not to read; while it is held.
 */
extern const tg_areas *tg_shared_include(const tg_shared *shared);
extern const tg_areas *tg_shared_exclude(const tg_shared *shared);

/* Whether the table is one of those that it may write. */
extern bool tg_shared_may_write(const tg_shared *shared, uint32_t relation);

/* Tsurugi's names for the states of a transaction. */
typedef enum tg_shared_state
{
	TG_SHARED_WAITING, /* for its start: LONG, READ ONLY */
	TG_SHARED_RUNNING,
	TG_SHARED_COMMITTING, /* going to commit */
	TG_SHARED_AVAILABLE,  /* committed: visible to all */
	TG_SHARED_STORED,	  /* and durable once the host has flushed its log up to the report's logged */
	TG_SHARED_ABORTING,
	TG_SHARED_ABORTED
} tg_shared_state;

typedef struct tg_shared_report
{
	tg_shared_state state;
	tg_shared_reason reason;
	char text[TG_SHARED_TEXT_BYTES]; /* given with the reason */
	tg_conflict conflict;			 /* for TG_SHARED_CONFLICTED, once it is aborted */
	uint64_t users;
	uint64_t lease_left_us; /* or until its outcome is forgotten */
	uint64_t role;
	uint64_t owner;
	tg_txn_kind kind;
	tg_isolation isolation;
	unsigned txn;	 /* its descriptor's number */
	uint64_t host;	 /* its host word */
	uint64_t number; /* its own number, which is never used again */
	uint64_t logged; /* STORED: where the host's record of its commit ends; 0: there is none */
} tg_shared_report;

extern void tg_shared_report_get(const tg_shared *shared, tg_shared_report *report);

/* A report on the i-th place, for views; false: the place is not in use, or there is none. */
extern bool tg_shared_report_at(unsigned i, tg_shared_report *report);

/* Whether a wait is for a shared transaction: then no lock of the host represents it. */
extern bool tg_wait_is_for_shared(const tg_wait *wait);

/*
 * From begin to end, the end of the transaction wakes the waiter (tg_host_wake): so a session that
 * finds in between that it has not ended may sleep.  One wait of a session at a time.
 */
extern void tg_shared_wait_begin(tg_session *session, const tg_wait *wait, void *waiter);
extern void tg_shared_wait_end(tg_session *session);

/* --- for this room ------------------------------------------------------------------- */

/*
 * At server start; shared transactions have the descriptors from first_txn on, after the sessions'.
 */
extern tg_status tg_shared_create(tg_session *session, unsigned first_txn) TG_MUST_USE;

/*
 * Whether the session may work in it, and write this table (NULL: only read): TG_OK, TG_STOPPED,
 * TG_FORBIDDEN.  In its lane.
 */
extern tg_status tg_shared_judge(const tg_shared *shared, const tg_table *table) TG_MUST_USE;

/* A check of the watcher: ends transactions whose lease has expired. */
extern void tg_shared_look_at_leases(tg_session *session);

#endif /* TG_SHARED_H */
