/*
 * fdw_truncate.c
 *	  TRUNCATE: fresh, empty storages.
 */
#include "postgres.h"

#include "src/exec/fdw.h"

#include "src/table/storage.h"
#include "src/txn/kinds.h"

/*
 * A table that could not be loaded, or whose stored values cannot be read, gets an empty storage in
 * place of them; tsurugi_relation_get would refuse it.
 */
void
tsurugiExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell *cell;

	foreach (cell, relations)
	{
		Relation relation = lfirst(cell);

		tsurugi_check_may_replace(relation);
		(void) tsurugi_storage_replace(relation, tsurugi_relation_describe(relation), true, false);
	}
}
