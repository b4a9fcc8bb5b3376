/*
 * building.h
 *	  Tables that this session is storing or indexing anew.
 *
 * Locks keep other sessions from writing to such a table.  The session itself may try to: an
 * expression of the table may call a function that does.  The build relies on being alone with the
 * storage, so that write is refused.
 */
#ifndef TSURUGI_BUILDING_H
#define TSURUGI_BUILDING_H

#include "utils/rel.h"

#include "runtime/base/check.h"

/* It lies in the frame of the function that builds. */
typedef struct tsurugi_building
{
	Oid relation;
	const struct tsurugi_building *outer;
} tsurugi_building;

/* The innermost one; NULL: there is none. */
extern const tsurugi_building *tsurugi_building_innermost;

/* The table is being built from begin to end; after an error, end must be called, too. */
extern void tsurugi_building_begin(Relation relation, tsurugi_building *building_out);
extern void tsurugi_building_end(const tsurugi_building *building);

extern void tsurugi_building_refuse(Relation relation);

/* Called for each statement that writes to the table: raises 55006 if it is being built. */
static inline void
tsurugi_building_check(Relation relation)
{
	if (tg_unlikely(tsurugi_building_innermost != NULL))
		tsurugi_building_refuse(relation);
}

#endif /* TSURUGI_BUILDING_H */
