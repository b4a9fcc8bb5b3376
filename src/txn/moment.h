/*
 * moment.h
 *	  LONG, READ ONLY, DEFERRABLE, SHORT and shared transactions among ordinary tables: one moment
 *	  for both kinds of tables.
 */
#ifndef TSURUGI_MOMENT_H
#define TSURUGI_MOMENT_H

#include "executor/execdesc.h"

#include "src/txn/kinds.h"
#include "src/txn/shared_transaction.h"

typedef struct tg_shared_report tg_shared_report; /* shared.h */

/*
 * In PostgreSQL's DEFERRABLE transaction: it reads ordinary tables at a snapshot that was taken
 * here, not at the one that PostgreSQL took.
 */
extern bool tsurugi_moment_is_deferrable;

/*
 * This file may choose the snapshot at which the transaction reads ordinary tables: it is such a
 * DEFERRABLE transaction, it is or will be one of Tsurugi's kinds, which may read at several
 * snapshots of PostgreSQL's, or several sessions work in it.
 */
static inline bool
tsurugi_moment_matters(void)
{
	int kind = tsurugi_kind_is_known ? (int) tsurugi_kind : tsurugi_transaction_type;

	return kind != TG_TXN_ORDINARY || tsurugi_moment_is_deferrable || tsurugi_shared_is_open;
}

/*
 * Called before an executor run, or a COPY from an ordinary table, starts.  If it reads ordinary
 * tables, it is given the transaction's snapshot of them, where there is one.  Otherwise its own
 * snapshot must fit the time at which the transaction reads foreign tables; raises 40001 if it does
 * not.  May wait, as the first access does.
 */
extern void tsurugi_moment_start_run(QueryDesc *query);
extern void tsurugi_moment_run_started(QueryDesc *query); /* after its start */
extern bool tsurugi_moment_start_copy(Oid relation);	  /* true: pop the active snapshot */

/*
 * Notes that a run above READ COMMITTED reads ordinary tables, while tsurugi_moment_matters() is
 * still false. tsurugi_moment_start_copy() does so for COPY.
 */
extern void tsurugi_moment_note_run(const QueryDesc *query);

/*
 * Called before and after R_L or S is drawn.  The first function takes PostgreSQL's snapshot and
 * sees to it that no mixed commit is under way; it returns false, and has done nothing, where the
 * transaction needs no such snapshot.  The second one keeps the snapshot or gives it up.
 */
extern bool tsurugi_moment_begin(void);
extern void tsurugi_moment_taken(bool keep);

/*
 * Called when the transaction's time has been drawn inside a run.  The snapshot at which that run
 * has read ordinary tables must fit the time; raises 40001 if it does not.
 */
extern void tsurugi_moment_check_enclosing(void);

/*
 * Draws the time of PostgreSQL's SERIALIZABLE READ ONLY DEFERRABLE, in the first statement: either
 * as of PostgreSQL's own safe snapshot or together with a new one.  May wait for a long time.
 */
extern void tsurugi_moment_draw_deferrable(void);

/*
 * The snapshot of PostgreSQL's that a SHORT's time must fit at READ COMMITTED: the active one,
 * unless a run has already read ordinary tables at an earlier one.
 */
extern Snapshot tsurugi_moment_of_short(void);

/*
 * ALTER TABLE and deferred checks read rows as of now: while suspended, no run is given the
 * transaction's snapshot.  Returns the previous state, which the caller restores, also after an
 * error.
 */
extern bool tsurugi_moment_suspend(bool suspend);

/* --- of transactions that several sessions work in ---------------------------------------- */

/*
 * The session that exports a transaction has taken this snapshot together with R.  From now on it
 * reads ordinary tables at it, too, if it may change its snapshot.
 */
extern void tsurugi_moment_hold(Snapshot taken);

/*
 * PostgreSQL's snapshot of the transaction is known to show the mixed commits up to this time and
 * no others.
 */
extern void tsurugi_moment_note_fit(tg_time time);

/*
 * The session has adopted R. anothers: this session does not own the transaction.  False: the owner
 * has gone.
 */
extern bool tsurugi_moment_join(const tg_shared_report *report, bool anothers);

/* The transaction has read ordinary tables, at any snapshot. */
extern bool tsurugi_moment_has_read_ordinary(void);

/* --- ends ------------------------------------------------------------------------------------ */

/*
 * Gives the snapshot up: in PRE_COMMIT, or with the kind.  The other one is for the transaction's
 * end.
 */
extern void tsurugi_moment_drop(void);
extern void tsurugi_moment_end(bool committed);

#endif /* TSURUGI_MOMENT_H */
