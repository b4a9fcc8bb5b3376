/*
 * deferred_key.h
 *	  PRIMARY KEY, UNIQUE and EXCLUDE that are DEFERRABLE.
 */
#ifndef TSURUGI_DEFERRED_KEY_H
#define TSURUGI_DEFERRED_KEY_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/* What a column's constraint has been said to be: once each (transformConstraintAttrs). */
typedef struct tsurugi_attributes
{
	bool deferrable; /* or not */
	bool initially;	 /* deferred, or immediate */
} tsurugi_attributes;

/*
 * What follows a column's constraint and says when it is checked: notes that in the constraint.
 * False: it says something else.  said: zero for the first one; raises 42601 for contradictions.
 */
extern bool tsurugi_take_attribute(Constraint *constraint, const Constraint *attribute, tsurugi_attributes *said);

/* Makes the constraint of an index so, which index_create has just made. */
extern void tsurugi_key_set_deferrable(Relation relation, Oid index, bool initially_deferred);

/*
 * The rows that are there as of now, for all such keys of a table that has been altered, and all its EXCLUDE constraints, but
 * for the indexes that were there before: raises 23505, 23P01.
 */
extern void tsurugi_deferrable_keys_verify(Oid relation, const List *before);

#endif /* TSURUGI_DEFERRED_KEY_H */
