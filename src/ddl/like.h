/*
 * like.h
 *	  The parts that a table takes from its model (LIKE), with the rights of the model's owner.
 */
#ifndef TSURUGI_LIKE_H
#define TSURUGI_LIKE_H

#include "nodes/primnodes.h"

/*
 * Sets the owner in the catalog, and nothing else: temporarily, or before anything depends on it.
 */
extern void tsurugi_set_owner(Oid relation, Oid owner);

/* Restores the owner, also of the indexes that were made meanwhile.  The relation is locked. */
extern void tsurugi_give_back(Oid relation, Oid owner);

/*
 * Does the part INCLUDING INDEXES of LIKE for an existing table.  Making an index computes its
 * expressions as the present owner of the new table.
 */
extern void tsurugi_indexes_like(Oid model, RangeVar *table);

#endif /* TSURUGI_LIKE_H */
