/*
 * store_anew.h
 *	  The rows of a table, copied into a fresh storage.
 */
#ifndef TSURUGI_STORE_ANEW_H
#define TSURUGI_STORE_ANEW_H

#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "src/ddl/retype.h"
#include "src/ddl/row_walk.h"
#include "src/table/relation.h"

typedef struct tsurugi_anew
{
	Relation relation;
	const tsurugi_relation *described; /* as the catalogs are now */
	tg_table *old;
	tg_table *fresh;
	Oid order;					  /* an index; InvalidOid: as the rows are stored */
	const Bitmapset *added;		  /* columns (attribute numbers) that the rows do not have yet, */
	ExprState **defaults;		  /* by column; NULL: none, or not added */
	const tsurugi_retype *retype; /* what becomes of columns whose type has changed, or NULL */
	bool keeps_past;			  /* who has an older snapshot sees in the fresh one what he saw; no retype */
} tsurugi_anew;

/*
 * The defaults of added columns that have one other than NULL; *any_out: there are some.  In the estate's memory.
 */
extern ExprState **tsurugi_anew_defaults(Relation relation, const Bitmapset *added, EState *estate, bool *any_out);

/* Copies them; raises 23502 and 23505.  The fresh storage has no secondary index yet. */
extern void tsurugi_store_anew(const tsurugi_anew *anew, EState *estate);

/* Raises 23502: a row has a NULL in that column. */
extern void tsurugi_error_null_found(Relation relation, AttrNumber attnum) pg_attribute_noreturn();

#endif /* TSURUGI_STORE_ANEW_H */
