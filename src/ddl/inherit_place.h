/*
 * inherit_place.h
 *	  The place of a table among those that inherit, for another relation that comes instead of it.
 */
#ifndef TSURUGI_INHERIT_PLACE_H
#define TSURUGI_INHERIT_PLACE_H

#include "postgres.h"

/*
 * Takes AccessExclusiveLock on the table and what is directly above it; what is directly below cannot be dropped.  The table may
 * be gone then.
 */
extern void tsurugi_lock_with_kin(Oid relation);

/* The second one has the columns and constraints of the first one, takes its place as a child and as a parent. */
extern void tsurugi_take_places(Oid from, Oid to);

#endif /* TSURUGI_INHERIT_PLACE_H */
