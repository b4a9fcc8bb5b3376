/*
 * enum_order.c
 *	  Whether an enum's labels are in the order of the numbers that they are stored by.
 *
 * A label is stored as the OID of its row in pg_enum, and so it is in keys.  CREATE TYPE and ADD VALUE
 * give ascending OIDs, so that as a rule the order of keys is that of the type: enum_cmp lives on the same.  A label
 * that is added before others has a greater OID than they.  From then on keys and indexes that have an order have ranks of such an enum's
 * labels, and of what contains some, as of types that only their own function can compare (ranking.h).  Labels never change places, and
 * one that comes between two later gets a rank between theirs; where pg_enum says they are (enumsortorder) may
 * be numbered anew by any ADD VALUE, so it would not do in keys.  What is there for equality alone (USING hash, EXCLUDE) goes on by OIDs.
 *
 * ADD VALUE that ends the order (ddl/type_users.c) locks the tables that have such columns, exclusively as ALTER TABLE would: who has planned by
 * the old order has ended by then, before there can be a row with the new label.  Tables whose keys would have ranks by now are stored anew; where it is not the primary key's, older snapshots see what they saw.
 * Who gets his lock afterwards is told that his plans and what is
 * remembered of tables are to be made anew, of all relations.  Tables that somebody makes meanwhile are waited for (ddl/type_order.h).
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
