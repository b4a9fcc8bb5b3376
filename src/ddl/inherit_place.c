/*
 * inherit_place.c
 *	  Puts a relation into another one's place among inheriting tables.
 *
 * Statements (NO INHERIT and INHERIT) would lose whether a column is a table's own, and the order
 * of the parents.
 */
#include "postgres.h"

#include "src/ddl/inherit_place.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* --- locks ---------------------------------------------------------------------- */

/*
 * The tables that it inherits from, or is a partition of, and that the user may lock.  The owner of
 * a table need not own its parents, but may not lock others out of these.  So a partition is not
 * detached from such a parent, as DETACH will report, and an inheriting table must stay as it is.
 */
static List *
direct_parents(Oid relation_id)
{
	bool partition = get_rel_relispartition(relation_id);
	Relation catalog = table_open(InheritsRelationId, AccessShareLock);
	List *parents = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation_id));
	scan = systable_beginscan(catalog, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		Oid parent = ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent;

		if (pg_class_ownercheck(parent, GetUserId()))
			parents = lappend_oid(parents, parent);
		else if (!partition)
			aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(parent)), get_rel_name(parent));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return parents;
}

/*
 * Parents are locked first, in the same order as by all statements: a reader waits at the parent
 * before it looks for children.  Otherwise it would wait for a child that is dropped then, and skip
 * it.  Children are locked last, so that they are not dropped meanwhile.
 */
void
tsurugi_lock_with_kin(Oid relation_id)
{
	for (;;)
	{
		List *parents = direct_parents(relation_id);
		ListCell *cell;

		foreach (cell, parents)
			LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		LockRelationOid(relation_id, AccessExclusiveLock);
		if (list_difference_oid(direct_parents(relation_id), parents) == NIL)
			break;
		UnlockRelationOid(relation_id, AccessExclusiveLock);
	}
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation_id)))
		(void) find_inheritance_children(relation_id, ShareUpdateExclusiveLock);
}

/* --- places --------------------------------------------------------------------- */

/*
 * For columns and constraints: whether each is the table's own, and how many of its parents have
 * it.
 */
static void
copy_column_origins(Oid from, Oid to)
{
	Relation catalog = table_open(AttributeRelationId, RowExclusiveLock);
	Relation relation = table_open(from, NoLock);

	for (AttrNumber attnum = 1; attnum <= RelationGetNumberOfAttributes(relation); attnum++)
	{
		HeapTuple old = SearchSysCache2(ATTNUM, ObjectIdGetDatum(from), Int16GetDatum(attnum));
		const FormData_pg_attribute *column = (Form_pg_attribute) GETSTRUCT(old);

		if (!column->attisdropped)
		{
			HeapTuple fresh = SearchSysCacheCopyAttName(to, NameStr(column->attname));

			((Form_pg_attribute) GETSTRUCT(fresh))->attislocal = column->attislocal;
			((Form_pg_attribute) GETSTRUCT(fresh))->attinhcount = column->attinhcount;
			CatalogTupleUpdate(catalog, &fresh->t_self, fresh);
			heap_freetuple(fresh);
		}
		ReleaseSysCache(old);
	}
	table_close(relation, NoLock);
	table_close(catalog, RowExclusiveLock);
}

static void
copy_check_origins(Oid from, Oid to)
{
	Relation catalog = table_open(ConstraintRelationId, RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple old;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(from));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while ((old = systable_getnext(scan)) != NULL)
	{
		const FormData_pg_constraint *check = (Form_pg_constraint) GETSTRUCT(old);
		HeapTuple fresh;

		if (check->contype != CONSTRAINT_CHECK)
			continue;
		fresh = SearchSysCacheCopy1(CONSTROID,
									ObjectIdGetDatum(get_relation_constraint_oid(to, NameStr(check->conname), false)));
		((Form_pg_constraint) GETSTRUCT(fresh))->conislocal = check->conislocal;
		((Form_pg_constraint) GETSTRUCT(fresh))->coninhcount = check->coninhcount;
		CatalogTupleUpdate(catalog, &fresh->t_self, fresh);
		heap_freetuple(fresh);
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

/*
 * Puts the new relation into the place of the old one: as a child or, column InhParent, as a
 * parent.  Returns whether there is such a place.
 */
static bool
take_place(Oid from, Oid to, AttrNumber column)
{
	Relation catalog = table_open(InheritsRelationId, RowExclusiveLock);
	bool is_child = column == Anum_pg_inherits_inhrelid;
	bool taken = false;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(from));
	scan =
		systable_beginscan(catalog, is_child ? InheritsRelidSeqnoIndexId : InheritsParentIndexId, true, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		HeapTuple changed = heap_copytuple(tuple);
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(changed);

		if (is_child)
		{
			ObjectAddress child;
			ObjectAddress parent;

			form->inhrelid = to;
			ObjectAddressSet(child, RelationRelationId, to);
			ObjectAddressSet(parent, RelationRelationId, form->inhparent);
			recordDependencyOn(&child, &parent, DEPENDENCY_NORMAL);
		}
		else
		{
			form->inhparent = to;
			if (changeDependencyFor(RelationRelationId, form->inhrelid, RelationRelationId, from, to) != 1)
				elog(ERROR, "relation %u does not depend on its parent", form->inhrelid);
		}
		CatalogTupleUpdate(catalog, &changed->t_self, changed);
		CacheInvalidateRelcacheByRelid(is_child ? form->inhparent : form->inhrelid);
		heap_freetuple(changed);
		taken = true;
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
	return taken;
}

void
tsurugi_take_places(Oid from, Oid to)
{
	if (take_place(from, to, Anum_pg_inherits_inhrelid))
	{
		copy_column_origins(from, to);
		copy_check_origins(from, to);
	}
	if (take_place(from, to, Anum_pg_inherits_inhparent))
		SetRelationHasSubclass(to, true);
	CommandCounterIncrement();
}
