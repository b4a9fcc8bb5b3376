/*
 * moment.h
 *	  LONG, READ ONLY, DEFERRABLE and SHORT among ordinary tables: one moment for both.
 */
#ifndef TSURUGI_MOMENT_H
#define TSURUGI_MOMENT_H

#include "executor/execdesc.h"

#include "src/kinds.h"

/* PostgreSQL's DEFERRABLE has a snapshot of ordinary tables that is not PostgreSQL's own. */
extern bool tsurugi_moment_is_deferrable;

/* That, or the transaction is of Tsurugi's kinds that have one, or is about to be. */
static inline bool
tsurugi_moment_matters(void)
{
	int kind = tsurugi_kind_is_known ? (int) tsurugi_kind : tsurugi_transaction_type;

	return kind != TG_TXN_ORDINARY || tsurugi_moment_is_deferrable;
}

/*
 * An executor run is about to start, or COPY from an ordinary table: it gets the transaction's snapshot of ordinary tables, if
 * it reads such and there is one; else its own has to fit the time that foreign tables are read at: 40001.  May wait, as the
 * first access does.
 */
extern void tsurugi_moment_start_run(QueryDesc *query);
extern bool tsurugi_moment_start_copy(Oid relation); /* true: the snapshot is active, to be popped */

/*
 * Around the taking of R_L, or S: PostgreSQL's snapshot is taken first, and no mixed commit is under way.  Where that is not to be,
 * begin does nothing and is false.  The second one keeps it, or not.
 */
extern bool tsurugi_moment_begin(void);
extern void tsurugi_moment_taken(bool keep);

/*
 * Draws the transaction's snapshot for PostgreSQL's SERIALIZABLE READ ONLY DEFERRABLE, in the first statement: of the moment of
 * PostgreSQL's own one, or both anew.  May wait for long.
 */
extern void tsurugi_moment_draw_deferrable(void);

/* PostgreSQL's snapshot that a SHORT's time is to fit at READ COMMITTED; the active one, unless it has relied on another one. */
extern Snapshot tsurugi_moment_of_short(void);

/* ALTER TABLE and deferred checks look at rows as of now.  Returns what is to be restored, also after an error. */
extern bool tsurugi_moment_suspend(bool suspend);

/* PRE_COMMIT, or the kind is given up; then the end. */
extern void tsurugi_moment_drop(void);
extern void tsurugi_moment_end(void);

#endif /* TSURUGI_MOMENT_H */
