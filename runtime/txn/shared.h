/*
 * shared.h
 *	  Transactions that several sessions work in, owned by a lease or by one of them.
 *
 * Owned by a lease: begun for a request from outside, worked in by whoever has its handle, one operation at a time (its
 * lane), and ended by any of them, or by the watcher when nobody has done
 * anything in it for its lease.  Its outcome can be asked for by handle for one lease more.
 *
 *	tg_shared_begin(…, &handle)								a session, a process' Step
 *	tg_shared_open(handle) -> tg_shared						each that takes part
 *		tg_shared_enter -> writer, snapshot					an operation: tg_txn_* with these, inside an epoch
 *		tg_shared_leave										where they ask for that, as ever
 *		tg_shared_commit or tg_shared_abort
 *	tg_shared_close											each that has opened it
 *
 * An operation is run in place, or by the lane (tg_lane_submit on tg_shared_lane, TG_COMMAND_LANE); inside the
 * lane's operation, enter finds it entered.  An operation that is told to wait (TG_BUSY of a write) leaves, and is repeated later.
 *
 * Kinds: all of them.  LONG and READ ONLY have their snapshot, and a LONG its preserve, ahead of everything else: until
 * tg_shared_start is TG_OK nobody works in them.
 *
 * Owned by a session of the host, which exports its transaction: that one alone ends it, by tg_shared_prepare
 * and tg_shared_finish; the lease only ends it sooner.
 *
 * Sessions of the host take turns of its own, whoever owns the transaction: one works at a time, has it open, and holds it
 * meanwhile.  So they need no enter and leave: they draw the snapshot (tg_shared_draw) and call tg_txn_*, savepoints
 * included.  Each call has the lane, and finds out in it whether the transaction has ended (TG_STOPPED), or may not write
 * the table (TG_FORBIDDEN).
 */
#ifndef TG_SHARED_H
#define TG_SHARED_H

#include "runtime/sched/lane.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/txn.h"

#define TG_SHARED_MAX 64 /* at a time, those ended whose outcome can still be asked for included */
#define TG_SHARED_TABLES_MAX 64

typedef struct tg_shared tg_shared; /* opaque: shared.c */

/* Whoever has it may work in the transaction, if the role is the same too.  The host makes it, at random. */
typedef struct tg_handle
{
	uint64_t secret[2];
} tg_handle;

typedef struct tg_shared_config
{
	tg_handle handle;
	/* the host's word: its low half is the role, its high half says where the handle works */
	uint64_t role;
	uint64_t owner; /* the host's word for the session that owns it; 0: its lease does */
	const char *label;
	const uint32_t *tables; /* what it may write, by the host's names of the tables; a count of 0: everything */
	uint16_t table_count;
	uint16_t place_max; /* for the role, wherever its handles work; 0: as many as there are */
	uint32_t lease_ms;
	tg_txn_kind kind;
	tg_isolation isolation;
} tg_shared_config;

/*
 * Takes a place.  If there is none, or the role has as many as it may, the role's ended transaction
 * whose outcome would be forgotten first gives its place.  TG_FULL: there is none; TG_TOO_LARGE: as
 * many transactions of the role run as it may have; TG_NO_MEMORY; TG_EXISTS: the handle is taken.
 */
extern tg_status tg_shared_begin(tg_session *session, const tg_shared_config *config) TG_MUST_USE;

/*
 * Starts a LONG as tg_long_publish and tg_long_start do; a READ ONLY one as tg_snapshot_publish_safe, with the
 * config's include and exclude.  The session needs not outlive it.  TG_BUSY: *wait_out is in the way; the
 * waiter is woken, and the call is made again, with the same arguments.  Its lease does not end meanwhile.  TG_STOPPED: it has
 * ended.  After TG_FULL, TG_NO_MEMORY, TG_TOO_LARGE it is to be aborted.
 */
extern tg_status tg_shared_start(tg_session *session, tg_shared *shared, const tg_long_config *config, bool deferrable,
								 tg_wait *wait_out) TG_MUST_USE;

/* TG_NOT_FOUND: there is no such transaction of this role, or its outcome has been forgotten. */
extern tg_status tg_shared_open(const tg_handle *handle, uint64_t role, tg_shared **shared_out) TG_MUST_USE;
extern void tg_shared_close(tg_shared *shared);

/*
 * The same by the number that a report has; for those who may see the transaction without having
 * its handle.
 */
extern tg_status tg_shared_open_number(uint64_t number, tg_shared **shared_out) TG_MUST_USE;

extern tg_lane *tg_shared_lane(tg_shared *shared);

/*
 * An operation begins: a command of the transaction, with the snapshot it reads at.  TG_STOPPED: the transaction is going to end,
 * or has ended; TG_BUSY: somebody else's operation is running, try again or let the lane run it; or it has not started.
 */
extern tg_status tg_shared_enter(tg_session *session, tg_shared *shared, tg_claim claim, tg_writer *writer_out,
								 tg_snapshot *snapshot_out) TG_MUST_USE;

/* What it reads at SERIALIZABLE and SHORT is noted here; NULL at other levels.  Inside an operation. */
extern tg_reads *tg_shared_reads(tg_shared *shared);

/* W5, inside an operation: extends the snapshot; TG_OK and the new one, or TG_CONFLICT. */
extern tg_status tg_shared_extend(tg_session *session, tg_shared *shared, tg_snapshot *snapshot_out) TG_MUST_USE;

/* The operation ends; renews the lease. */
extern void tg_shared_leave(tg_session *session, tg_shared *shared);

/*
 * For a task that is going to make operations, or reads in it without: meanwhile it is not committed, an abort is put off, and its
 * lease does not end.  TG_STOPPED: it is going to end, or has ended.
 */
extern tg_status tg_shared_hold(tg_shared *shared) TG_MUST_USE;
extern void tg_shared_let_go(tg_session *session, tg_shared *shared);

/*
 * Commits it.  TG_OK; TG_CONFLICT: it could not be serialized, and is aborted; TG_STOPPED: it had ended, or somebody holds
 * it, and it is aborted therefore; TG_BUSY as enter.  From inside an operation of the lane, or from outside; not between enter and leave.
 */
extern tg_status tg_shared_commit(tg_session *session, tg_shared *shared) TG_MUST_USE;

/*
 * The same in two steps, for an owner who can still fail between them: after TG_OK it is finished, one way or the other,
 * by the same session.
 */
extern tg_status tg_shared_prepare(tg_session *session, tg_shared *shared) TG_MUST_USE;
extern void tg_shared_finish(tg_session *session, tg_shared *shared, bool commits);

/* Why it has been aborted, or is going to be: the first reason that was given. */
typedef enum tg_shared_reason
{
	TG_SHARED_NOT_ABORTED,
	TG_SHARED_EXPIRED,	  /* nobody did anything in it for its lease */
	TG_SHARED_GIVEN_UP,	  /* its owner rolled it back, or went */
	TG_SHARED_ASKED,	  /* somebody asked for it, by the handle */
	TG_SHARED_TERMINATED, /* somebody asked for it, by its number */
	TG_SHARED_DROPPED,	  /* its role or database was dropped, or what the role owned */
	TG_SHARED_FAILED,	  /* somebody who worked in it failed, or went */
	TG_SHARED_REFUSED,	  /* it was to be committed while others were at work in it */
	TG_SHARED_CONFLICTED, /* it could not be serialized */
	TG_SHARED_STOPPED	  /* what its owner, a lease, lives in was stopped */
} tg_shared_reason;

#define TG_SHARED_TEXT_BYTES 256

/*
 * Aborts it, now or when who is at work in it leaves.  Any number of times; unless it is going to end already, reason and text
 * (NULL: none; cut if it is long) are kept.
 */
extern void tg_shared_abort(tg_session *session, tg_shared *shared, tg_shared_reason reason, const char *text);

/*
 * Aborts it at once, unless it has ended: its owner goes, or an administrator ends it.  A session
 * that holds it is told TG_STOPPED by what it tries next; its descriptor is nobody else's as long
 * as that session has it open.  False: it is just being committed, and that goes on.
 */
extern bool tg_shared_abandon(tg_session *session, tg_shared *shared, tg_shared_reason reason);

/* The same of what leases own: all of it, or of roles (the host's words) that are concerned. */
extern bool tg_shared_abandon_leased(tg_session *session, tg_shared_reason reason,
									 bool (*is_concerned)(uint64_t role, uint64_t argument), uint64_t argument);

/* Its outcome need not be kept any longer for whoever may ask: forgotten when nobody has it open.  Nothing if it has not ended. */
extern void tg_shared_forget(tg_shared *shared);

/* --- for the host's turns ------------------------------------------------------------ */

extern tg_txn *tg_shared_txn(tg_shared *shared);

/* The first command number of the turn at hand, of the next one. */
extern uint32_t tg_shared_command(const tg_shared *shared);
extern void tg_shared_set_command(tg_shared *shared, uint32_t command);

/*
 * Above READ COMMITTED: the transaction's snapshot, drawn now if nobody has drawn it yet.  *entry_out is published by the session
 * besides (rule 2 in shared.c) and is the caller's to withdraw.  TG_STOPPED; TG_FULL.
 */
extern tg_status tg_shared_draw(tg_session *session, tg_shared *shared, tg_time *time_out,
								unsigned *entry_out) TG_MUST_USE;

/*
 * Unless somebody has drawn it: it is this one, which the session has published, from: standing for all later times too, as it
 * must at SERIALIZABLE and SHORT.  TG_STOPPED; TG_FULL.
 */
extern tg_status tg_shared_draw_at(tg_session *session, tg_shared *shared, tg_time time, bool from) TG_MUST_USE;

/* How long ago it was drawn. */
extern uint64_t tg_shared_snapshot_age_us(const tg_shared *shared);

/* W5: from now on it is this one, as of which what was read has been validated. */
extern void tg_shared_set_snapshot(tg_shared *shared, tg_time time);

/* The lease begins anew. */
extern void tg_shared_renew(tg_shared *shared);

/* What a READ ONLY one has declared to read, and not to read; for as long as the caller holds it. */
extern const tg_areas *tg_shared_include(const tg_shared *shared);
extern const tg_areas *tg_shared_exclude(const tg_shared *shared);

/* Whether the table is one of those that it may write. */
extern bool tg_shared_may_write(const tg_shared *shared, uint32_t relation);

/* Tsurugi's names of where a transaction is. */
typedef enum tg_shared_state
{
	TG_SHARED_WAITING, /* for its start: LONG, READ ONLY */
	TG_SHARED_RUNNING,
	TG_SHARED_COMMITTING, /* going to commit */
	TG_SHARED_AVAILABLE,  /* committed: seen by everybody */
	TG_SHARED_STORED,	  /* and as durable as it gets */
	TG_SHARED_ABORTING,
	TG_SHARED_ABORTED
} tg_shared_state;

typedef struct tg_shared_report
{
	tg_shared_state state;
	tg_shared_reason reason;
	char text[TG_SHARED_TEXT_BYTES]; /* what came with it */
	tg_conflict conflict;			 /* TG_SHARED_CONFLICTED, once it is aborted */
	uint64_t users;
	uint64_t lease_left_us; /* or until its outcome is forgotten */
	uint64_t role;
	uint64_t owner;
	tg_txn_kind kind;
	tg_isolation isolation;
	unsigned txn;	 /* its descriptor's number */
	uint64_t host;	 /* and word */
	uint64_t number; /* its own, which is never used again */
} tg_shared_report;

extern void tg_shared_report_get(const tg_shared *shared, tg_shared_report *report);

/* Of the i-th that there is room for, for views; false: none. */
extern bool tg_shared_report_at(unsigned i, tg_shared_report *report);

/* Whether a wait is for one of these: no lock of the host's stands for it then. */
extern bool tg_wait_is_for_shared(const tg_wait *wait);

/*
 * Its end wakes the waiter (tg_host_wake), from here on until the second call: so whoever looks in between whether it has ended may sleep
 * if it has not.  One wait of a session at a time.
 */
extern void tg_shared_wait_begin(tg_session *session, const tg_wait *wait, void *waiter);
extern void tg_shared_wait_end(tg_session *session);

/* --- for this room ------------------------------------------------------------------- */

/* At server start; descriptors of shared transactions are behind those of sessions, from first_txn on. */
extern tg_status tg_shared_create(tg_session *session, unsigned first_txn) TG_MUST_USE;

/* Whether it may be worked in, and write this table (NULL: read): TG_OK, TG_STOPPED, TG_FORBIDDEN.  In its lane. */
extern tg_status tg_shared_judge(const tg_shared *shared, const tg_table *table) TG_MUST_USE;

/* A check of the watcher: leases. */
extern void tg_shared_look_at_leases(tg_session *session);

#endif /* TG_SHARED_H */
