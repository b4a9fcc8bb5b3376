/*
 * fdw_truncate.c
 *	  TRUNCATE: fresh, empty storages.
 */
#include "postgres.h"

#include "src/exec/fdw.h"

#include "src/table/storage.h"
#include "src/txn/kinds.h"

/*
 * A table without a storage, because it could not be loaded, gets one in place of its lost
 * contents; tsurugi_relation_get would refuse it.
 */
static const tsurugi_relation *
describe(Relation relation)
{
	return tsurugi_storage_find(RelationGetRelid(relation)) != NULL ? tsurugi_relation_get(relation)
																	: tsurugi_relation_describe(relation);
}

void
tsurugiExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell *cell;

	foreach (cell, relations)
	{
		Relation relation = lfirst(cell);

		tsurugi_check_may_replace(relation);
		(void) tsurugi_storage_replace(relation, describe(relation), true, false);
	}
}
