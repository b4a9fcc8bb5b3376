/*
 * partition.h
 *	  Existing rows of tables that become partitions.
 */
#ifndef TSURUGI_PARTITION_H
#define TSURUGI_PARTITION_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * ATTACH PARTITION of a table in memory, before PostgreSQL's part: raises an error that PostgreSQL
 * has for its own tables only.  No table may inherit from a partition.
 */
extern void tsurugi_partition_check_attached(const AlterTableStmt *statement);

/*
 * After PostgreSQL's part: raises 23514 if a row of the attached table, or of those below it, does
 * not belong there; or a row of the default partition.
 */
extern void tsurugi_partition_verify_attached(Oid parent, const AlterTableStmt *statement);

/*
 * The parent has one more partition: raises 23514 if a row of its default partition belongs to that
 * one.  attached: the partition was a table before, so the error is PostgreSQL's for ATTACH.
 */
extern void tsurugi_partition_verify_default(Oid parent, bool attached);

/*
 * Called around a statement that may add a partition to a table: PostgreSQL's warning that it has
 * not verified the default partition is suppressed if the unverified tables are in memory.  The
 * first returns the value that the second takes; the second is also called after an error.
 */
extern int tsurugi_partition_hold_back(const Node *tree);
extern void tsurugi_partition_let_through(int before);

/* Called once, when the library is loaded. */
extern void tsurugi_partition_init(void);

#endif /* TSURUGI_PARTITION_H */
