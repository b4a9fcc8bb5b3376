/*
 * type_order.c
 *	  Mutual exclusion of transactions that make keys of values and those that change how values are
 *	  ordered.
 *
 * A new table, or index, has keys in the form that follows from the catalogs as its maker sees
 * them.  If another transaction executes an ALTER TYPE ... ADD VALUE that ends an enum's order, or
 * a CREATE OPERATOR CLASS, the maker does not see that before it is committed, and that transaction
 * does not see the new table either.  When both had ended, nobody could read the keys in the
 * storage.  In PostgreSQL neither waits, because its indexes consult the catalogs with each
 * comparison.
 *
 * So there is a lock for the order of each type, beside PostgreSQL's on the type itself, which any
 * ADD VALUE takes:
 *
 *	makers		ShareLock on the types of the key's columns and all their parts, before the entry is
 *				made
 *	changers	AccessExclusiveLock when it is known that the order changes, until the end
 *
 * A changer locks the existing tables, too.  A transaction that makes a key of an existing table
 * holds the table's lock first.  So the changer locks the types last, and then looks for tables
 * again.  Before that, while it holds no table, it waits once for the makers that exist then,
 * because a maker may read the tables.  The remaining case is a maker that begins after that and
 * reads a table later.
 */
#include "postgres.h"

#include "src/ddl/type_order.h"

#include "catalog/pg_type.h"
#include "storage/lmgr.h"

#include "src/value/type_parts.h"

/* Stands for the type's order, in the place of a column's number in the lock tag. */
#define ORDER_OF_TYPE 1

void
tsurugi_type_order_hold(Oid type)
{
	List *types = tsurugi_type_and_parts(type);
	ListCell *cell;

	list_sort(types, list_oid_cmp);
	foreach (cell, types)
		LockDatabaseObject(TypeRelationId, lfirst_oid(cell), ORDER_OF_TYPE, ShareLock);
}

void
tsurugi_type_order_settle(const List *types)
{
	ListCell *cell;

	foreach (cell, types)
	{
		LockDatabaseObject(TypeRelationId, lfirst_oid(cell), ORDER_OF_TYPE, AccessExclusiveLock);
		UnlockDatabaseObject(TypeRelationId, lfirst_oid(cell), ORDER_OF_TYPE, AccessExclusiveLock);
	}
}

void
tsurugi_type_order_change(const List *types)
{
	List *sorted = list_copy(types);
	ListCell *cell;

	list_sort(sorted, list_oid_cmp);
	foreach (cell, sorted)
		LockDatabaseObject(TypeRelationId, lfirst_oid(cell), ORDER_OF_TYPE, AccessExclusiveLock);
}
