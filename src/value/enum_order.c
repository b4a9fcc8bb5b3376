/*
 * enum_order.c
 *	  Whether an enum's labels are in the order of the numbers by which they are stored.
 *
 * A label is stored as the OID of its row in pg_enum, and keys have the same.  CREATE TYPE and ADD
 * VALUE assign ascending OIDs, so usually the order of keys is that of the type; enum_cmp relies on
 * the same.  A label that is added before others has a greater OID than they.  From then on,
 * ordered keys and indexes have ranks of such an enum's labels, and of values that contain some, as
 * for types that only their own function can compare (ranking.h).  Labels never change places, and
 * a label that is later added between two others gets a rank between theirs.  Their position in
 * pg_enum (enumsortorder) would not do for keys, because any ADD VALUE may renumber it.  Indexes
 * that serve equality alone (USING hash, EXCLUDE) continue to use OIDs.
 *
 * An ADD VALUE that ends the order (ddl/type_users.c) locks the tables that have such columns
 * exclusively, as ALTER TABLE would.  Statements that were planned with the old order have ended by
 * then, before a row with the new label can exist.  Tables whose keys now need ranks are stored
 * anew; unless that is the primary key, older snapshots see the same rows as before.  A session
 * that gets a lock on a table afterwards is told to discard its plans and its cached descriptions
 * of tables, for all relations.  Tables that other transactions create meanwhile are waited for
 * (ddl/type_order.h).
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
