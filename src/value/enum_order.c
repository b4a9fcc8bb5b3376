/*
 * enum_order.c
 *	  Whether an enum's labels are in the order of the numbers that they are stored by.
 *
 * A label is stored as the OID of its row in pg_enum, and so it is in keys.  CREATE TYPE and ADD VALUE
 * give ascending OIDs, so that as a rule the order of keys is that of the type: enum_cmp lives on the same.  A label
 * that is added before others has a greater OID than they.  From then on indexes serve the
 * type by equality only, and ranges and ORDER BY are PostgreSQL's.
 *
 * Who plans and runs by the old order must not see a row with the new label.  It cannot be stored before ADD VALUE
 * is committed.  So ADD VALUE that ends the order (ddl/type_users.c) locks the tables that have such columns, exclusively as ALTER TABLE would:
 * who has planned before has ended by then, and who gets his lock afterwards is told that his plans and what is
 * remembered of tables are to be made anew.  That is said of all relations: a table that somebody makes meanwhile
 * is not seen here.
 *
 * Left out: sort keys of their own for labels out of order, which would take a hidden value in each row.
 */
#include "postgres.h"

#include "src/value/enum_order.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_enum.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

bool
tsurugi_enum_is_in_order(Oid type)
{
	Relation labels = table_open(EnumRelationId, AccessShareLock);
	Relation by_order = index_open(EnumTypIdSortOrderIndexId, AccessShareLock);
	bool in_order = true;
	Oid last = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan_ordered(labels, by_order, NULL, 1, &key);
	while (in_order && HeapTupleIsValid(tuple = systable_getnext_ordered(scan, ForwardScanDirection)))
	{
		Oid label = ((Form_pg_enum) GETSTRUCT(tuple))->oid;

		in_order = label > last;
		last = label;
	}
	systable_endscan_ordered(scan);
	index_close(by_order, AccessShareLock);
	table_close(labels, AccessShareLock);
	return in_order;
}
