/*
 * moment.h
 *	  LONG, READ ONLY, DEFERRABLE, SHORT and shared transactions among ordinary tables: one moment for both.
 */
#ifndef TSURUGI_MOMENT_H
#define TSURUGI_MOMENT_H

#include "executor/execdesc.h"

#include "src/txn/kinds.h"
#include "src/txn/shared_transaction.h"

/* PostgreSQL's DEFERRABLE has a snapshot of ordinary tables that is not PostgreSQL's own. */
extern bool tsurugi_moment_is_deferrable;

/*
 * That, or the transaction is of Tsurugi's kinds, or is about to be, which may read at several snapshots of PostgreSQL's, or is
 * one that several sessions work in.
 */
static inline bool
tsurugi_moment_matters(void)
{
	int kind = tsurugi_kind_is_known ? (int) tsurugi_kind : tsurugi_transaction_type;

	return kind != TG_TXN_ORDINARY || tsurugi_moment_is_deferrable || tsurugi_shared_is_open;
}

/*
 * An executor run is about to start, or COPY from an ordinary table: it gets the transaction's snapshot of ordinary tables, if
 * it reads such and there is one; else its own has to fit the time that foreign tables are read at: 40001.  May wait, as the
 * first access does.
 */
extern void tsurugi_moment_start_run(QueryDesc *query);
extern void tsurugi_moment_run_started(QueryDesc *query); /* it has */
extern bool tsurugi_moment_start_copy(Oid relation);	  /* true: the snapshot is active, to be popped */

/* The same above READ COMMITTED where none of that matters yet; of COPY the one above is told. */
extern void tsurugi_moment_note_run(const QueryDesc *query);

/*
 * Around the taking of R_L, or S: PostgreSQL's snapshot is taken first, and no mixed commit is under way.  Where that is not to be,
 * begin does nothing and is false.  The second one keeps it, or not.
 */
extern bool tsurugi_moment_begin(void);
extern void tsurugi_moment_taken(bool keep);

/* The transaction's time has been drawn in a run: what that has read of ordinary tables, at the same snapshot, has to fit: 40001. */
extern void tsurugi_moment_check_enclosing(void);

/*
 * Draws the transaction's snapshot for PostgreSQL's SERIALIZABLE READ ONLY DEFERRABLE, in the first statement: of the moment of
 * PostgreSQL's own one, or both anew.  May wait for long.
 */
extern void tsurugi_moment_draw_deferrable(void);

/* PostgreSQL's snapshot that a SHORT's time is to fit at READ COMMITTED; the active one, unless it has relied on another one. */
extern Snapshot tsurugi_moment_of_short(void);

/* ALTER TABLE and deferred checks look at rows as of now.  Returns what is to be restored, also after an error. */
extern bool tsurugi_moment_suspend(bool suspend);

/* --- of transactions that several sessions work in ---------------------------------------- */

/* The one who exports it has taken this snapshot with R: reads at it, too, if that may be. */
extern void tsurugi_moment_hold(Snapshot taken);

/* PostgreSQL's snapshot of the transaction shows the mixed commits up to this time, and no others. */
extern void tsurugi_moment_note_fit(tg_time time);

/* R has been adopted; anothers: this session does not own it.  False: the owner has gone. */
extern bool tsurugi_moment_join(const tg_shared_report *report, bool anothers);

/* The transaction has read ordinary tables, at whatever PostgreSQL's snapshot is. */
extern bool tsurugi_moment_has_read_ordinary(void);

/* --- ends ------------------------------------------------------------------------------------ */

/* PRE_COMMIT, or the kind is given up; then the end. */
extern void tsurugi_moment_drop(void);
extern void tsurugi_moment_end(bool committed);

#endif /* TSURUGI_MOMENT_H */
