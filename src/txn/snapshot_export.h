/*
 * snapshot_export.h
 *	  Snapshots that one session hands to another: pg_export_snapshot(), SET TRANSACTION SNAPSHOT.
 */
#ifndef TSURUGI_SNAPSHOT_EXPORT_H
#define TSURUGI_SNAPSHOT_EXPORT_H

#include "nodes/parsenodes.h"

/* An expression that calls this function is about to be executed. */
extern void tsurugi_export_note_function(Oid function);

/*
 * Adds the snapshots of foreign tables to what the transaction has exported since the last call.
 * It is needed only if a function was noted.  May wait, as the first access does; raises errors.
 */
extern bool tsurugi_export_is_noted;
extern void tsurugi_export_look(void);

/*
 * PostgreSQL has executed the statement.  If it imports a snapshot, the snapshot of foreign tables
 * is imported with it.
 */
extern void tsurugi_export_import(const VariableSetStmt *statement);

/*
 * A transaction with an imported snapshot is about to become one of the kind that the settings say.
 * The first raises 0A000 if the snapshot is not suitable for that kind; the second returns whether
 * it is.
 */
extern void tsurugi_export_check_kind(void);
extern bool tsurugi_export_may_be_used(void);

/* The transaction has ended. */
extern void tsurugi_export_end(bool committed);

#endif /* TSURUGI_SNAPSHOT_EXPORT_H */
