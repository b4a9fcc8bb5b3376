/*
 * retype.h
 *	  Conversion of rows when columns change their types.
 */
#ifndef TSURUGI_RETYPE_H
#define TSURUGI_RETYPE_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "src/table/relation.h"

/* The old form of a table's rows, and the expressions that convert their columns. */
typedef struct tsurugi_retype
{
	TupleDesc before;
	const tsurugi_relation *described;
	Expr **expressions; /* by column; NULL: the value does not change */
} tsurugi_retype;

/*
 * Reads an ALTER COLUMN TYPE of the open relation, which has not been altered yet, into *retype;
 * the first call makes that, in the current context.  Raises the errors that PostgreSQL would for a
 * table of its own.  A column that does not exist is left to PostgreSQL.
 */
extern void tsurugi_retype_add(tsurugi_retype **retype, Relation relation, const AlterTableCmd *command,
							   const char *text);

/*
 * Raises PostgreSQL's error for an invalid USING; has_heirs: other tables inherit from the table.
 */
extern void tsurugi_retype_check_using(Relation relation, const AlterTableCmd *command, bool has_heirs,
									   const char *text);

#endif /* TSURUGI_RETYPE_H */
