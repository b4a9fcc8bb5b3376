/*
 * isolation.h
 *	  The additions of REPEATABLE READ and SERIALIZABLE to a snapshot for each statement.
 *
 * Everything here is for transactions at these levels; callers test IsolationUsesXactSnapshot() or
 * tsurugi_tracks first, so READ COMMITTED pays for one comparison.
 */
#ifndef TSURUGI_ISOLATION_H
#define TSURUGI_ISOLATION_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "runtime/base/names.h"
#include "runtime/txn/conflict.h"

typedef struct tg_area tg_area;	  /* preserve.h */
typedef struct tg_reads tg_reads; /* shared.h */

/* The treatment of a SERIALIZABLE transaction that wrote foreign and ordinary tables: a setting. */
typedef enum tsurugi_mixed
{
	TSURUGI_MIXED_STRICT, /* refuse it */
	TSURUGI_MIXED_RELAXED /* each half is serializable by itself */
} tsurugi_mixed;

extern int tsurugi_serializable_mixed;

/* Registers the executor's hook; called once, when the library is loaded. */
extern void tsurugi_isolation_init(void);

/* PostgreSQL's name of a level (XACT_...); READ UNCOMMITTED is READ COMMITTED. */
extern const char *tsurugi_isolation_name(int isolation);

/* Whether the database may have foreign tables of this wrapper. */
extern bool tsurugi_isolation_has_tables(void);

/* A utility statement is about to be executed. */
extern void tsurugi_isolation_begin_statement(void);

/* --- reading ----------------------------------------------------------------------- */

/*
 * The transaction is SERIALIZABLE and may write, so its reads are noted.  Only isolation.c writes
 * it.
 */
extern bool tsurugi_tracks;

/* The current transaction's read set, if tsurugi_tracks; for runs that have a snapshot. */
extern tg_reads *tsurugi_reads(void);

/*
 * A run gets a snapshot: makes the read set, which may fail for lack of memory.  Later this cannot
 * fail.
 */
extern void tsurugi_isolation_prepare_notes(void);

/*
 * Reads between the two are not noted, because nothing of them is returned to the transaction: a
 * definition reads the rows as they are now, under locks.  Calls nest; for PG_FINALLY.
 */
extern void tsurugi_isolation_suspend_notes(void);
extern void tsurugi_isolation_resume_notes(void);

/*
 * A scan is about to return rows to the executor: from here on a REPEATABLE READ transaction's
 * snapshot does not change.
 */
extern void tsurugi_snapshot_is_used(void);

/* --- conflicts --------------------------------------------------------------------- */

/*
 * A row to be written was changed or deleted after the snapshot (W5).  Takes a later snapshot if
 * that is possible: at REPEATABLE READ, if nothing that was read at the first one has been
 * returned; at SERIALIZABLE, if everything noted as read is unchanged.  The caller has removed its
 * own note of the row; it then starts over and asks for the snapshot again.  Otherwise, or if
 * may_start_over is false, raises 40001.
 */
extern void tsurugi_renew_snapshot(Relation relation, tg_conflict_kind kind, uint32_t row, bool may_start_over);

/*
 * The same for a row that is only read, at SERIALIZABLE, after the caller has forgotten what it
 * noted of it.  False: the snapshot stays as it is.
 */
extern bool tsurugi_extend_snapshot(void);

/* --- for kinds.c -------------------------------------------------------------------- */

/* Draws the snapshot of a SHORT. */
extern void tsurugi_isolation_draw_short(void);

/* The transaction is of one of Tsurugi's kinds, whose snapshot has been drawn. */
extern void tsurugi_isolation_enter_kind(void);

/* --- for ladder.c --------------------------------------------------------------------- */

/* As tg_reads_row_count, of the transaction's reads. */
extern uint32_t tsurugi_isolation_row_count(void);

/* --- for moment.c --------------------------------------------------------------------- */

/*
 * Nothing was read at PostgreSQL's snapshot that the next run would not read anyway, and conflict
 * detection does not use it.
 */
extern bool tsurugi_isolation_may_change_host_snapshot(void);

/*
 * For a SERIALIZABLE transaction or SHORT that several sessions work in: extends its time to a
 * later one (W5) that PostgreSQL's snapshot fits; raises 40001 if rows that were read have changed.
 * False: there is none.
 */
extern bool tsurugi_isolation_make_fit(Snapshot host);

/* L2, for SERIALIZABLE and SHORT. */
extern void tsurugi_isolation_check_read(const tg_area *area);

/* --- for shared_transaction.c ------------------------------------------------------- */

/*
 * The transaction has joined a shared one above READ COMMITTED, whose snapshot has been adopted.
 * shared: its read set, or NULL.
 */
extern void tsurugi_isolation_join(tg_reads *shared);

/*
 * Whether the transaction wrote rows of ordinary tables; noted at SERIALIZABLE, and by sessions
 * that take part in a shared one.
 */
extern bool tsurugi_isolation_wrote_ordinary(void);

/* M3: raises 0A000 if so, unless tsurugi_fdw.serializable_mixed allows it. */
extern void tsurugi_isolation_check_mixed(void);

/* --- for parallel.c ------------------------------------------------------------------- */

/* In a worker above READ COMMITTED, whose snapshot is its leader's: whether its reads are noted. */
extern void tsurugi_isolation_follow(bool tracks);

/*
 * The first returns the notes, which then belong to the caller; NULL: there are none.  The second
 * adds such notes to the transaction's.
 */
extern tg_reads *tsurugi_isolation_give_reads(void);
extern void tsurugi_isolation_take_reads(tg_reads *taken);

/* --- for transaction.c -------------------------------------------------------------- */

/* The engine's transaction has begun. */
extern void tsurugi_isolation_begin(tg_txn *txn);

/* PRE_COMMIT: everything that can fail (M1).  txn NULL: nothing was written. */
extern void tsurugi_isolation_prepare(tg_txn *txn);

/*
 * PRE_PREPARE: likewise; what has been read is held from then on (H1).  The second one: the notes,
 * or NULL; tsurugi_isolation_give_reads gives them to a transaction that has been prepared.
 */
extern void tsurugi_isolation_hold(tg_txn *txn);
extern const tg_reads *tsurugi_isolation_held(void);

/* For participants.c: whether anything is noted; the transaction has ended. */
extern bool tsurugi_isolation_has_notes(void);
extern void tsurugi_isolation_end(bool committed);

/* COPY into a relation has begun. */
extern void tsurugi_isolation_note_copy(Oid relation);

#endif /* TSURUGI_ISOLATION_H */
