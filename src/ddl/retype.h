/*
 * retype.h
 *	  How rows become those of columns with other types.
 */
#ifndef TSURUGI_RETYPE_H
#define TSURUGI_RETYPE_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "src/table/relation.h"

/* What a table's rows were before an ALTER, and what becomes of their columns. */
typedef struct tsurugi_retype
{
	TupleDesc before;
	const tsurugi_relation *described;
	Expr **expressions; /* by column; NULL: the value stays as it is */
} tsurugi_retype;

/*
 * Reads an ALTER COLUMN TYPE of the open relation, which has not been altered
 * yet, into *retype, which is made by the first one, in the current context.
 * Raises PostgreSQL's errors where it would for a table of its own.  A column
 * that does not exist is left to PostgreSQL.
 */
extern void tsurugi_retype_add(tsurugi_retype **retype, Relation relation, const AlterTableCmd *command,
							   const char *text);

/* Raises PostgreSQL's error if there is something wrong with USING; has_heirs: others inherit from the table. */
extern void tsurugi_retype_check_using(Relation relation, const AlterTableCmd *command, bool has_heirs,
									   const char *text);

#endif /* TSURUGI_RETYPE_H */
