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

static void
refuse(Relation relation, const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION), errmsg(message, RelationGetRelationName(relation)), errtable(relation)));
}

/*
 * Looks at our tables among the partition and those below it, for the bounds
 * of the partition.  What those below remember of their own may be out of date:
 * PostgreSQL invalidates only the partition itself.  The error names the table
 * that has the row, or the partition.
 */
static void
verify(Oid partition, const char *message, bool names_table)
{
	List *tables = find_all_inheritors(partition, AccessExclusiveLock, NULL);
	Relation top = table_open(partition, NoLock);
	List *bounds = RelationGetPartitionQual(top);
	ListCell *cell;

	foreach (cell, tables)
	{
		Relation relation;

		if (!tsurugi_is_our_table(lfirst_oid(cell)))
			continue;
		relation = table_open(lfirst_oid(cell), NoLock);
		if (!tsurugi_table_satisfies(relation, map_partition_varattnos(bounds, 1, relation, top)))
			refuse(names_table ? relation : top, message);
		table_close(relation, NoLock);
	}
	table_close(top, NoLock);
}

void
tsurugi_partition_verify(Oid table)
{
	verify(table, "partition constraint of relation \"%s\" is violated by some row", true);
}

void
tsurugi_partition_verify_default(Oid parent, bool attached)
{
	Oid other = get_default_partition_oid(parent);

	if (OidIsValid(other))
		verify(other, "updated partition constraint for default partition \"%s\" would be violated by some row",
			   attached);
}
