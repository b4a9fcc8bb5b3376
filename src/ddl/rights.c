/*
 * rights.c
 *	  Copies rights, comments and security labels of a table to a relation that replaces it.
 */
#include "postgres.h"

#include "src/ddl/rights.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_seclabel.h"
#include "commands/comment.h"
#include "commands/seclabel.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * Writes an access control list, or none, into a row of pg_class or pg_attribute, with its
 * dependencies.
 */
static void
write_acl(Relation catalog, HeapTuple tuple, AttrNumber acl_column, NullableDatum acl, const ObjectAddress *of,
		  Oid owner)
{
	Datum values[Max(Natts_pg_class, Natts_pg_attribute)] = {0};
	bool nulls[lengthof(values)] = {0};
	bool replaces[lengthof(values)] = {0};
	Oid *members_before = NULL;
	Oid *members = NULL;
	int member_count_before = 0;
	int member_count = 0;
	Datum before;
	bool none_before;
	HeapTuple changed;

	before = heap_getattr(tuple, acl_column, RelationGetDescr(catalog), &none_before);
	if (!none_before)
		member_count_before = aclmembers(DatumGetAclP(before), &members_before);
	if (!acl.isnull)
		member_count = aclmembers(DatumGetAclP(acl.value), &members);
	values[acl_column - 1] = acl.value;
	nulls[acl_column - 1] = acl.isnull;
	replaces[acl_column - 1] = true;
	changed = heap_modify_tuple(tuple, RelationGetDescr(catalog), values, nulls, replaces);
	CatalogTupleUpdate(catalog, &changed->t_self, changed);
	updateAclDependencies(of->classId, of->objectId, of->objectSubId, owner, member_count_before, members_before,
						  member_count, members);
	heap_freetuple(changed);
}

/*
 * Copies even an empty list, because the new relation may have got rights from ALTER DEFAULT
 * PRIVILEGES.
 */
static void
copy_relation_rights(Oid from, Oid to, Oid owner)
{
	Relation catalog = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple old = SearchSysCache1(RELOID, ObjectIdGetDatum(from));
	HeapTuple fresh = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(to));
	const ObjectAddress of = {.classId = RelationRelationId, .objectId = to};
	NullableDatum acl;

	acl.value = SysCacheGetAttr(RELOID, old, Anum_pg_class_relacl, &acl.isnull);
	write_acl(catalog, fresh, Anum_pg_class_relacl, acl, &of, owner);
	heap_freetuple(fresh);
	ReleaseSysCache(old);
	table_close(catalog, RowExclusiveLock);
}

static void
copy_column_rights(Relation from, Oid to)
{
	Relation catalog = table_open(AttributeRelationId, RowExclusiveLock);

	for (AttrNumber attnum = 1; attnum <= RelationGetNumberOfAttributes(from); attnum++)
	{
		HeapTuple old = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(from)), Int16GetDatum(attnum));
		Form_pg_attribute attribute = (Form_pg_attribute) GETSTRUCT(old);
		NullableDatum acl;

		acl.value = SysCacheGetAttr(ATTNUM, old, Anum_pg_attribute_attacl, &acl.isnull);
		if (!acl.isnull && !attribute->attisdropped)
		{
			HeapTuple fresh = SearchSysCacheCopyAttName(to, NameStr(attribute->attname));
			const ObjectAddress of = {.classId = RelationRelationId,
									  .objectId = to,
									  .objectSubId = ((Form_pg_attribute) GETSTRUCT(fresh))->attnum};

			write_acl(catalog, fresh, Anum_pg_attribute_attacl, acl, &of, from->rd_rel->relowner);
			heap_freetuple(fresh);
		}
		ReleaseSysCache(old);
	}
	table_close(catalog, RowExclusiveLock);
}

static void
copy_comment(Oid from, Oid to)
{
	char *comment = GetComment(from, RelationRelationId, 0);

	if (comment != NULL)
		CreateComments(to, RelationRelationId, 0, comment);
}

/* A column's number in the new relation; 0 stands for the relation itself. */
static int32
number_in(Oid from, Oid to, int32 number)
{
	return number == 0 ? 0 : get_attnum(to, get_attname(from, (AttrNumber) number, false));
}

static void
copy_labels(Oid from, Oid to)
{
	Relation catalog = table_open(SecLabelRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&keys[0], Anum_pg_seclabel_objoid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(from));
	ScanKeyInit(&keys[1], Anum_pg_seclabel_classoid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	scan = systable_beginscan(catalog, SecLabelObjectIndexId, true, NULL, lengthof(keys), keys);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		TupleDesc columns = RelationGetDescr(catalog);
		bool null; /* no column is NULL */
		int32 number = DatumGetInt32(heap_getattr(tuple, Anum_pg_seclabel_objsubid, columns, &null));
		char *provider = TextDatumGetCString(heap_getattr(tuple, Anum_pg_seclabel_provider, columns, &null));
		char *label = TextDatumGetCString(heap_getattr(tuple, Anum_pg_seclabel_label, columns, &null));
		ObjectAddress labelled;

		ObjectAddressSubSet(labelled, RelationRelationId, to, number_in(from, to, number));
		SetSecurityLabel(&labelled, provider, label);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

void
tsurugi_copy_rights_and_labels(Oid from, Oid to)
{
	Relation relation = table_open(from, NoLock);
	Oid owner = relation->rd_rel->relowner;

	copy_relation_rights(from, to, owner);
	copy_column_rights(relation, to);
	copy_comment(from, to);
	copy_labels(from, to);
	for (AttrNumber attnum = 1; attnum <= RelationGetNumberOfAttributes(relation); attnum++)
	{
		Oid old = getIdentitySequence(from, attnum, true);

		if (OidIsValid(old))
		{
			Oid fresh = getIdentitySequence(to, get_attnum(to, get_attname(from, attnum, false)), false);

			copy_relation_rights(old, fresh, owner);
			copy_comment(old, fresh);
			copy_labels(old, fresh);
		}
	}
	table_close(relation, NoLock);
}
