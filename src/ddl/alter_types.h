/*
 * alter_types.h
 *	  ALTER TABLE: what stands in the way of columns that change their types.
 */
#ifndef TSURUGI_ALTER_TYPES_H
#define TSURUGI_ALTER_TYPES_H

#include "nodes/parsenodes.h"

#include "src/ddl/utility.h"

/* What is taken down, to be made again. */
typedef struct tsurugi_taken_down
{
	List *indexes; /* rebuild.h */
	List *keys;	   /* of tsurugi_dropped_key: foreign keys */
} tsurugi_taken_down;

/* The tables that the statement reaches. */
extern List *tsurugi_alter_reaches(Oid relation, const AlterTableStmt *statement);

/* Whether some of them are in memory. */
extern bool tsurugi_alter_reaches_ours(Oid relation, const AlterTableStmt *statement);

/*
 * Whether types change of what has to be taken down, and the statement drops something, which tsurugi_alter_types_begin runs
 * before.
 */
extern bool tsurugi_alter_types_drop_first(Oid relation, const AlterTableStmt *written);

/* Notes how rows are to be converted.  changed: what is left for PostgreSQL of the statement. */
extern tsurugi_taken_down tsurugi_alter_types_begin(const tsurugi_utility *utility, Oid relation,
													const AlterTableStmt *written, AlterTableStmt *changed);

#endif /* TSURUGI_ALTER_TYPES_H */
