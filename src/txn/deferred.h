/*
 * deferred.h
 *	  Constraints of tables in memory that are checked when their transaction commits.
 */
#ifndef TSURUGI_DEFERRED_H
#define TSURUGI_DEFERRED_H

#include "access/htup.h"
#include "access/xact.h"
#include "nodes/parsenodes.h"
#include "utils/rel.h"

/*
 * Checks the values of a row, and raises the constraint's error.  The row is as it was added, in
 * the form that ExecStoreMinimalTuple takes.
 */
typedef void (*tsurugi_deferred_check)(Oid constraint, Relation relation, MinimalTuple row);

/*
 * Whether a DEFERRABLE constraint currently waits for the end of the transaction: as SET
 * CONSTRAINTS has set it, otherwise as it is declared.
 */
extern bool tsurugi_is_deferred(Oid constraint, bool initially);

/* Notes a check for later.  The row is copied. */
extern void tsurugi_deferred_add(Oid constraint, bool initially, Relation relation, tsurugi_deferred_check check,
								 MinimalTuple row);

/* PostgreSQL has executed this statement; does the same for the constraints of foreign tables. */
extern void tsurugi_deferred_set(const ConstraintsSetStmt *statement);

/*
 * Raises 55006 if a check of this table has been deferred: its definition and its contents must not
 * change.
 */
extern void tsurugi_deferred_check_none(Oid relation, const char *command);

/* Whether any check of any table has been deferred.  Cheaper than tsurugi_deferred_check_none. */
extern bool tsurugi_deferred_any(void);

/*
 * DECLARE CURSOR is about to be executed.  The other one is for COMMIT, which has been executed: an
 * error from now on ends the transaction.
 */
extern void tsurugi_deferred_note_cursor(const DeclareCursorStmt *statement);
extern void tsurugi_deferred_begin_commit(void);

/* For participants.c: before the commit; at the end; where a subtransaction begins and ends. */
extern void tsurugi_deferred_run_all(void);
extern void tsurugi_deferred_end(bool committed);
extern void tsurugi_deferred_begin_part(void);
extern void tsurugi_deferred_end_part(SubTransactionId id, SubTransactionId parent, bool committed);

#endif /* TSURUGI_DEFERRED_H */
