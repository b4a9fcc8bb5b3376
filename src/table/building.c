/*
 * building.c
 *	  Tables that this session is storing or indexing anew.
 */
#include "postgres.h"

#include "src/table/building.h"

#include "runtime/base/check.h"

const tsurugi_building *tsurugi_building_innermost;

void
tsurugi_building_begin(Relation relation, tsurugi_building *building_out)
{
	building_out->relation = RelationGetRelid(relation);
	building_out->outer = tsurugi_building_innermost;
	tsurugi_building_innermost = building_out;
}

void
tsurugi_building_end(const tsurugi_building *building)
{
	tg_assert(tsurugi_building_innermost == building);
	tsurugi_building_innermost = building->outer;
}

void
tsurugi_building_refuse(Relation relation)
{
	for (const tsurugi_building *building = tsurugi_building_innermost; building != NULL; building = building->outer)
		if (building->relation == RelationGetRelid(relation))
			ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
							errmsg("cannot write to table \"%s\" while it or one of its indexes is being built",
								   RelationGetRelationName(relation))));
}
