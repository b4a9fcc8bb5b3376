/*
 * type_order.c
 *	  Who makes keys of values, and who changes how values are ordered, wait for each other.
 *
 * A new table, or index, has keys in the form that follows from the catalogs as its maker sees them.  An open ALTER TYPE ... ADD VALUE
 * that ends an enum's order, or CREATE OPERATOR CLASS, is not among that, and does not see the new table either: once both had ended, the
 * storage would have keys that nobody knows how to read.  With PostgreSQL neither waits: its indexes ask the catalogs with each
 * comparison.
 *
 * So there is a lock for the order of each type, beside PostgreSQL's on the type itself, which any ADD VALUE takes:
 *
 *	makers		ShareLock, on the types of the key's columns and all that these are made of, before the entry is made
 *	changers	AccessExclusiveLock, when it has turned out that the order changes, and until the end
 *
 * A changer locks the tables that are there, too.  Who makes a key of one of these holds the table's lock first, so the changer comes to
 * the types last, and then looks for tables again.  He waits for the makers that are there once before, as long as he holds no table: a
 * maker may read them.  What is left is a maker who begins after that, and reads a table later.
 */
#include "postgres.h"

#include "src/ddl/type_order.h"

#include "catalog/pg_type.h"
#include "storage/lmgr.h"

#include "src/value/type_parts.h"

/* What is locked of a type, in the place of a column's number. */
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
