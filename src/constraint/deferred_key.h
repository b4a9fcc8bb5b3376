/*
 * deferred_key.h
 *	  PRIMARY KEY, UNIQUE and EXCLUDE that are DEFERRABLE.
 */
#ifndef TSURUGI_DEFERRED_KEY_H
#define TSURUGI_DEFERRED_KEY_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/*
 * Which properties of a column's constraint have been given; each may be given once
 * (transformConstraintAttrs).
 */
typedef struct tsurugi_attributes
{
	bool deferrable; /* DEFERRABLE or NOT DEFERRABLE */
	bool initially;	 /* INITIALLY DEFERRED or IMMEDIATE */
} tsurugi_attributes;

/*
 * Takes a clause that follows a column's constraint and says when it is checked, and notes that in
 * the constraint.  False: it is another clause.  said: zero for the first clause; raises 42601 for
 * contradictions.
 */
extern bool tsurugi_take_attribute(Constraint *constraint, const Constraint *attribute, tsurugi_attributes *said);

/* Makes the constraint of an index, which index_create has just made, deferrable. */
extern void tsurugi_key_set_deferrable(Relation relation, Oid index, bool initially_deferred);

/*
 * Verifies the existing rows, as of now, for all such keys and all EXCLUDE constraints of a table
 * that has been altered, except for the indexes that existed before: raises 23505 and 23P01.
 */
extern void tsurugi_deferrable_keys_verify(Oid relation, const List *before);

#endif /* TSURUGI_DEFERRED_KEY_H */
