/*
 * partition.c
 *	  Rows that are there when a partition comes to be one.
 *
 * PostgreSQL takes the rows of foreign tables on trust: those of a table that
 * is attached, and those of a default partition beside which another one is
 * made (it warns that it has not looked).  Here they are looked at.
 */
#include "src/partition.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "partitioning/partdesc.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "src/rewrite.h"
#include "src/utility.h"

static bool
belongs(Relation relation)
{
	return tsurugi_table_satisfies(relation, RelationGetPartitionQual(relation));
}

/* Looks at our tables among the table and those below it. */
static void
verify(Oid table, const char *message)
{
	List *tables = find_all_inheritors(table, AccessExclusiveLock, NULL);
	ListCell *cell;

	foreach (cell, tables)
	{
		Relation relation;

		if (!tsurugi_is_our_table(lfirst_oid(cell)))
			continue;
		relation = table_open(lfirst_oid(cell), NoLock);
		if (!belongs(relation))
			ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION), errmsg(message, RelationGetRelationName(relation)),
							errtable(relation)));
		table_close(relation, NoLock);
	}
}

void
tsurugi_partition_verify(Oid table)
{
	verify(table, "partition constraint of relation \"%s\" is violated by some row");
}

void
tsurugi_partition_verify_default(Oid parent)
{
	Oid other = get_default_partition_oid(parent);

	if (OidIsValid(other))
		verify(other, "updated partition constraint for default partition \"%s\" would be violated by some row");
}
