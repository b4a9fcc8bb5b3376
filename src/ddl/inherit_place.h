/*
 * inherit_place.h
 *	  Puts a relation into another one's place among inheriting tables.
 */
#ifndef TSURUGI_INHERIT_PLACE_H
#define TSURUGI_INHERIT_PLACE_H

#include "postgres.h"

/*
 * Takes AccessExclusiveLock on the table and its direct parents; its direct children cannot be
 * dropped.  The table may have been dropped by then.
 */
extern void tsurugi_lock_with_kin(Oid relation);

/*
 * The second relation has the columns and constraints of the first one, and takes its place as a
 * child and as a parent.
 */
extern void tsurugi_take_places(Oid from, Oid to);

#endif /* TSURUGI_INHERIT_PLACE_H */
