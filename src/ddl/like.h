/*
 * like.h
 *	  What a table takes from one that it is made like, with the rights of that one's owner.
 */
#ifndef TSURUGI_LIKE_H
#define TSURUGI_LIKE_H

#include "nodes/primnodes.h"

/*
 * Sets the owner in the catalog, and nothing else: for a while, or before anything depends on it.
 */
extern void tsurugi_set_owner(Oid relation, Oid owner);

/* Back, with the indexes that were made meanwhile.  The relation is locked. */
extern void tsurugi_give_back(Oid relation, Oid owner);

/*
 * The part INCLUDING INDEXES of LIKE, for a table that is there.  Making an index computes what its
 * expressions say, as the owner that the new table has by now.
 */
extern void tsurugi_indexes_like(Oid model, RangeVar *table);

#endif /* TSURUGI_LIKE_H */
