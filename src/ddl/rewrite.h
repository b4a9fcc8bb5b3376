/*
 * rewrite.h
 *	  Storage that follows an ALTER, and rows that have to be looked at for one.
 *
 * All for a relation that the caller has locked exclusively, where nothing else is said.
 */
#ifndef TSURUGI_REWRITE_H
#define TSURUGI_REWRITE_H

#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "src/ddl/retype.h"

/*
 * Makes the storage agree with the catalogs: key, indexes, added columns (attribute
 * numbers) with their defaults.  If need be by copying the rows into a fresh
 * storage, which the end of the transaction decides on.  retype: what becomes
 * of columns whose type has changed, NULL if none has.  remake_keys: rows are copied in any case, because the types of values
 * have changed so that other keys are made of them.  Rows that older snapshots see may have equal
 * primary keys then, though they never had: so these snapshots find nothing any more in tables with such a key.
 */
extern void tsurugi_table_follow(Relation relation, const Bitmapset *added, const tsurugi_retype *retype,
								 bool remake_keys);

/*
 * Why PostgreSQL would write a table of its own anew for that, for its event triggers
 * (AT_REWRITE_...); 0 if it would not.
 */
extern int tsurugi_table_rewrite_reason(Relation relation, const Bitmapset *added, const tsurugi_retype *retype);

/*
 * Writes the rows into a fresh storage: chunks full, indexes without gaps; with what older snapshots see.  In
 * the order of an index that has all rows, or as they are stored (InvalidOid).
 */
extern void tsurugi_table_compact(Relation relation, Oid order);

/* Makes and fills the storage of a new index, while others may read (ShareLock). */
extern void tsurugi_table_add_index(Relation relation, Oid index);

/* Makes one of its indexes anew; the primary key's by storing the rows anew. */
extern void tsurugi_table_rebuild_index(Relation relation, Oid index);

/*
 * Raises 23502 if one of the columns (attribute numbers) has a NULL; with checks, 23514 if a row violates a valid CHECK
 * constraint that is not among those known to be met (OIDs).
 */
extern void tsurugi_table_verify(Relation relation, const Bitmapset *not_null, bool checks, const List *met);

/*
 * Whether all rows meet the conditions (implicitly ANDed; NULL counts as met), on columns of the
 * relation.  They are evaluated with the rights of the role that has written them.
 */
extern bool tsurugi_table_satisfies(Relation relation, List *conditions, Oid author);

#endif /* TSURUGI_REWRITE_H */
