/*
 * rewrite.h
 *	  Storage that follows an ALTER, and rows that must be verified for one.
 *
 * The caller has locked the relation exclusively, except where noted.
 */
#ifndef TSURUGI_REWRITE_H
#define TSURUGI_REWRITE_H

#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "src/ddl/retype.h"

/*
 * Makes the storage agree with the catalogs: key, indexes, added columns (attribute numbers) with
 * their defaults.  If necessary, copies the rows into a fresh storage; the end of the transaction
 * decides between the two.  retype: how columns whose type has changed are converted; NULL if there
 * are none.  remake_keys: rows are copied in any case, because a change of the values' types
 * changes the keys that are computed from them.  Rows that older snapshots see may then have equal
 * primary keys, although they never had before; so these snapshots find nothing any more in tables
 * with such a key.
 */
extern void tsurugi_table_follow(Relation relation, const Bitmapset *added, const tsurugi_retype *retype,
								 bool remake_keys);

/*
 * Why PostgreSQL would rewrite a table of its own for that, as event triggers are told it
 * (AT_REWRITE_...); 0 if it would not.
 */
extern int tsurugi_table_rewrite_reason(Relation relation, const Bitmapset *added, const tsurugi_retype *retype);

/*
 * Copies the rows into a fresh storage, with all that older snapshots see: chunks are full, and
 * indexes have no gaps.  The rows are in the order of an index that has all rows, or as they are
 * stored (InvalidOid).
 */
extern void tsurugi_table_compact(Relation relation, Oid order);

/* Makes and fills the storage of a new index, while other sessions may read (ShareLock). */
extern void tsurugi_table_add_index(Relation relation, Oid index);

/* Rebuilds one of its indexes; for the primary key's by storing the rows anew. */
extern void tsurugi_table_rebuild_index(Relation relation, Oid index);

/*
 * Raises 23502 if one of the columns (attribute numbers) has a NULL; with checks, also 23514 if a
 * row violates a valid CHECK constraint that is not in met (OIDs of those known to be satisfied).
 */
extern void tsurugi_table_verify(Relation relation, const Bitmapset *not_null, bool checks, const List *met);

/*
 * Whether all rows satisfy the conditions (implicitly ANDed; NULL counts as satisfied), on columns
 * of the relation.  They are evaluated with the rights of author, the role that has written them.
 */
extern bool tsurugi_table_satisfies(Relation relation, List *conditions, Oid author);

#endif /* TSURUGI_REWRITE_H */
