/*
 * store_anew.h
 *	  Copies the rows of a table into a fresh storage.
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
	const tsurugi_relation *described; /* as in the catalogs now */
	tg_table *old;
	tg_table *fresh;
	Oid order; /* an index; InvalidOid: as they are stored */
	/* Columns (attribute numbers) that the rows do not have yet. */
	const Bitmapset *added;
	/* The defaults of the added columns, by column; NULL: it has none, or is not added. */
	ExprState **defaults;
	/* How columns with another type are converted, or NULL. */
	const tsurugi_retype *retype;
	/* Older snapshots see in the fresh storage what they saw in the old one; not with retype. */
	bool keeps_past;
} tsurugi_anew;

/*
 * The defaults of added columns whose default is not NULL, in the estate's memory; *any_out: there
 * are some.
 */
extern ExprState **tsurugi_anew_defaults(Relation relation, const Bitmapset *added, EState *estate, bool *any_out);

/* Copies the rows; raises 23502 and 23505.  The fresh storage has no secondary index yet. */
extern void tsurugi_store_anew(const tsurugi_anew *anew, EState *estate);

/* Raises 23502: a row has a NULL in that column. */
extern void tsurugi_error_null_found(Relation relation, AttrNumber attnum) pg_attribute_noreturn();

#endif /* TSURUGI_STORE_ANEW_H */
