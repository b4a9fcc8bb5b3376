/*
 * snapshot_export.h
 *	  Snapshots that are handed from session to session: pg_export_snapshot(), SET TRANSACTION SNAPSHOT.
 */
#ifndef TSURUGI_SNAPSHOT_EXPORT_H
#define TSURUGI_SNAPSHOT_EXPORT_H

#include "nodes/parsenodes.h"

/* An expression that calls this function is about to be run. */
extern void tsurugi_export_note_function(Oid function);

/*
 * Gives what the transaction has exported since the last time its snapshots of foreign tables.  Where that may be: a
 * function was noted.  May wait, as the first access does; raises errors.
 */
extern bool tsurugi_export_is_noted;
extern void tsurugi_export_look(void);

/* The statement has been run by PostgreSQL: if it imports a snapshot, ours comes with it. */
extern void tsurugi_export_import(const VariableSetStmt *statement);

/*
 * Ahead of what a transaction with an imported snapshot is going to be: raises 0A000 if that snapshot does not do for it;
 * whether it does.
 */
extern void tsurugi_export_check_kind(void);
extern bool tsurugi_export_may_be_used(void);

/* The transaction has ended. */
extern void tsurugi_export_end(bool committed);

#endif /* TSURUGI_SNAPSHOT_EXPORT_H */
