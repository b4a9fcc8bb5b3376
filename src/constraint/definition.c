/*
 * definition.c
 *	  Constraints as the statements that make them.
 *
 * PostgreSQL writes a constraint as the transaction's snapshot shows it, and raises an internal
 * error if the snapshot does not show it.  Above READ COMMITTED the snapshot may be older than the
 * constraint, or than a change of it, although the table has been locked since.  So this is tested
 * first.
 */
#include "postgres.h"

#include "src/constraint/definition.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

bool
tsurugi_constraint_has_column(HeapTuple tuple, Relation catalog, AttrNumber field, AttrNumber column)
{
	bool null;
	Datum array = heap_getattr(tuple, field, RelationGetDescr(catalog), &null);
	ArrayType *columns;

	if (null)
		return false;
	columns = DatumGetArrayTypeP(array);
	for (int i = 0; i < ARR_DIMS(columns)[0]; i++)
		if (((int16 *) ARR_DATA_PTR(columns))[i] == column)
			return true;
	return false;
}

/* Whether the transaction's snapshot shows the present version of the entry. */
static bool
is_seen(Relation catalog, HeapTuple entry)
{
	Snapshot snapshot = RegisterSnapshot(GetTransactionSnapshot());
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;
	bool seen;

	ScanKeyInit(&key, Anum_pg_constraint_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(((Form_pg_constraint) GETSTRUCT(entry))->oid));
	scan = systable_beginscan(catalog, ConstraintOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	seen = HeapTupleIsValid(tuple) && ItemPointerEquals(&tuple->t_self, &entry->t_self);
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	return seen;
}

static void
check_seen(Relation catalog, HeapTuple entry)
{
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(entry);

	if (is_seen(catalog, entry))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("could not serialize access due to concurrent update"),
			 errdetail("Constraint \"%s\" of table \"%s\" was made or changed after the transaction's snapshot.",
					   NameStr(form->conname), get_rel_name(form->conrelid)),
			 errhint("The transaction might succeed if retried.")));
}

static void
check_is_seen(Oid constraint)
{
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	HeapTuple entry = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(entry))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	check_seen(catalog, entry);
	ReleaseSysCache(entry);
	table_close(catalog, AccessShareLock);
}

char *
tsurugi_constraint_definition(Oid constraint)
{
	if (IsolationUsesXactSnapshot())
		check_is_seen(constraint);
	return pg_get_constraintdef_command(constraint);
}

void
tsurugi_checks_have_to_be_seen(Oid relation, const char *column)
{
	AttrNumber attnum = get_attnum(relation, column);
	Relation catalog;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple entry;

	if (!IsolationUsesXactSnapshot())
		return;
	catalog = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while ((entry = systable_getnext(scan)) != NULL)
	{
		if (((Form_pg_constraint) GETSTRUCT(entry))->contype == CONSTRAINT_CHECK &&
			tsurugi_constraint_has_column(entry, catalog, Anum_pg_constraint_conkey, attnum))
			check_seen(catalog, entry);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}
