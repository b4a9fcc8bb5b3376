/*
 * fdw_truncate.c
 *	  TRUNCATE: fresh, empty storages.
 */
#include "postgres.h"

#include "src/exec/fdw.h"

#include "src/table/storage.h"
#include "src/txn/kinds.h"

void
tsurugiExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell *cell;

	foreach (cell, relations)
	{
		Relation relation = lfirst(cell);
		const tsurugi_relation *described = tsurugi_relation_get(relation);

		tsurugi_check_may_replace(relation);
		(void) tsurugi_storage_replace(relation, described, true, false);
	}
}
