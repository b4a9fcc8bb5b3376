/*
 * alter_types.h
 *	  ALTER TABLE: objects that depend on columns which change their types.
 */
#ifndef TSURUGI_ALTER_TYPES_H
#define TSURUGI_ALTER_TYPES_H

#include "nodes/parsenodes.h"

#include "src/ddl/utility.h"

/* The objects that were dropped and will be created again. */
typedef struct tsurugi_taken_down
{
	List *indexes; /* rebuild.h */
	List *keys;	   /* of tsurugi_dropped_key: foreign keys */
} tsurugi_taken_down;

/* The tables that the statement reaches. */
extern List *tsurugi_alter_reaches(Oid relation, const AlterTableStmt *statement);

/* Whether any of them is in memory. */
extern bool tsurugi_alter_reaches_ours(Oid relation, const AlterTableStmt *statement);

/*
 * Whether the statement changes types that such objects depend on, and also drops something;
 * tsurugi_alter_types_begin then executes the drops first.
 */
extern bool tsurugi_alter_types_drop_first(Oid relation, const AlterTableStmt *written);

/*
 * Notes how rows are to be converted, and drops the dependent objects.  changed: the part of the
 * statement that is left for PostgreSQL.
 */
extern tsurugi_taken_down tsurugi_alter_types_begin(const tsurugi_utility *utility, Oid relation,
													const AlterTableStmt *written, AlterTableStmt *changed);

#endif /* TSURUGI_ALTER_TYPES_H */
