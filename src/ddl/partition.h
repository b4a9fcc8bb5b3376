/*
 * partition.h
 *	  Rows that are there when a partition comes to be one.
 */
#ifndef TSURUGI_PARTITION_H
#define TSURUGI_PARTITION_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * ATTACH PARTITION of one of our tables: raises what PostgreSQL does for its own only, before its part.  Others may
 * not inherit from a partition.
 */
extern void tsurugi_partition_check_attached(const AlterTableStmt *statement);

/*
 * After it: raises 23514 if a row of the table that has been attached, or of those below it, does not belong there; or
 * one of the default partition.
 */
extern void tsurugi_partition_verify_attached(Oid parent, const AlterTableStmt *statement);

/*
 * The parent has one more partition: raises 23514 if a row of its default
 * partition belongs to that one.  attached: it was a table before, so the error
 * is PostgreSQL's for ATTACH.
 */
extern void tsurugi_partition_verify_default(Oid parent, bool attached);

/*
 * Around a statement that may give a table one more partition: PostgreSQL does not tell that
 * it has not looked at the default one, if what it has passed over is ours.  The first returns what the
 * second is to be told; it is also called after an error.
 */
extern int tsurugi_partition_hold_back(const Node *tree);
extern void tsurugi_partition_let_through(int before);

/* Once, where the library is loaded. */
extern void tsurugi_partition_init(void);

#endif /* TSURUGI_PARTITION_H */
