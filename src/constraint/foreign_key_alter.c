/*
 * foreign_key_alter.c
 *	  Changes of existing foreign keys to and from tables in memory: VALIDATE and ALTER CONSTRAINT,
 *	  new types of columns, and another persistence of a table.
 */
#include "postgres.h"

#include "src/constraint/foreign_key.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "commands/comment.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/constraint/definition.h"
#include "src/constraint/foreign_key_entry.h"
#include "src/table/relation.h"

/* --- the constraint ------------------------------------------------------------- */

/*
 * Finds the table's foreign key of this name if the table or the referenced one is in memory;
 * otherwise InvalidOid.
 */
static Oid
find_key(Oid relation, const char *name, Oid *parent_out)
{
	Oid constraint = get_relation_constraint_oid(relation, name, true);
	HeapTuple tuple;
	Form_pg_constraint form;

	if (!OidIsValid(constraint))
		return InvalidOid;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	*parent_out = form->confrelid;
	if (form->contype != CONSTRAINT_FOREIGN ||
		!(tsurugi_holds_our_table(relation) || tsurugi_holds_our_table(form->confrelid)))
		constraint = InvalidOid;
	ReleaseSysCache(tuple);
	return constraint;
}

Oid
tsurugi_foreign_key_parent(Oid relation, const char *name)
{
	Oid parent = InvalidOid;

	return OidIsValid(find_key(relation, name, &parent)) ? parent : InvalidOid;
}

void
tsurugi_foreign_key_validate(Oid relation, const char *name)
{
	Oid parent;
	Oid constraint = find_key(relation, name, &parent);
	Relation child;
	Relation referenced;

	if (!OidIsValid(constraint))
		return;
	child = table_open(relation, ShareUpdateExclusiveLock);
	referenced = table_open(parent, RowShareLock);
	tsurugi_foreign_key_check_leaves(list_make1_oid(constraint));
	table_close(referenced, NoLock);
	table_close(child, NoLock);
}

/*
 * Alters the constraint's triggers on an ordinary table, which PostgreSQL defers itself
 * (ATExecAlterConstrRecurse).
 */
static void
alter_triggers(Oid constraint, const Constraint *clause)
{
	Relation catalog = table_open(TriggerRelationId, RowExclusiveLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_trigger_tgconstraint, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(constraint));
	scan = systable_beginscan(catalog, TriggerConstraintIndexId, true, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		CacheInvalidateRelcacheByRelid(form->tgrelid);
		if (form->tgfoid != F_RI_FKEY_NOACTION_DEL && form->tgfoid != F_RI_FKEY_NOACTION_UPD)
			continue;
		tuple = heap_copytuple(tuple);
		form = (Form_pg_trigger) GETSTRUCT(tuple);
		form->tgdeferrable = clause->deferrable;
		form->tginitdeferred = clause->initdeferred;
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
		heap_freetuple(tuple);
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

/* Alters a constraint, and those for the partitions of the table that it refers to. */
static void
alter_constraint(Relation catalog, Oid constraint, const Constraint *clause)
{
	HeapTuple tuple = SearchSysCacheCopy1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
	SysScanDesc scan;
	ScanKeyData key;

	form->condeferrable = clause->deferrable;
	form->condeferred = clause->initdeferred;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	alter_triggers(constraint, clause);
	ScanKeyInit(&key, Anum_pg_constraint_conparentid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(constraint));
	scan = systable_beginscan(catalog, ConstraintParentIndexId, true, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
		alter_constraint(catalog, ((Form_pg_constraint) GETSTRUCT(tuple))->oid, clause);
	systable_endscan(scan);
}

static char *
table_of(Oid constraint)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	char *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	name = get_rel_name(((Form_pg_constraint) GETSTRUCT(tuple))->conrelid);
	ReleaseSysCache(tuple);
	return name;
}

/* A part of a partitioned table's foreign key is altered only with the whole. */
static void
check_topmost(Oid relation, Oid constraint)
{
	Oid topmost = constraint;
	Oid parent;

	while (OidIsValid(parent = tsurugi_constraint_parent(topmost)))
		topmost = parent;
	if (topmost != constraint)
		ereport(ERROR, (errmsg("cannot alter constraint \"%s\" on relation \"%s\"", get_constraint_name(constraint),
							   get_rel_name(relation)),
						errdetail("Constraint \"%s\" is derived from constraint \"%s\" of relation \"%s\".",
								  get_constraint_name(constraint), get_constraint_name(topmost), table_of(topmost)),
						errhint("You may alter the constraint it derives from, instead.")));
}

void
tsurugi_foreign_key_alter(Oid relation, const AlterTableCmd *command)
{
	const Constraint *clause = (Constraint *) command->def;
	Relation catalog;
	Oid constraint;
	Oid parent;

	LockRelationOid(relation, ShareRowExclusiveLock);
	if (!OidIsValid(get_relation_constraint_oid(relation, clause->conname, true)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("constraint \"%s\" of relation \"%s\" does not exist",
																  clause->conname, get_rel_name(relation))));
	constraint = find_key(relation, clause->conname, &parent);
	if (!OidIsValid(constraint))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("constraint \"%s\" of relation \"%s\" is not a foreign key constraint", clause->conname,
							   get_rel_name(relation))));
	check_topmost(relation, constraint);
	catalog = table_open(ConstraintRelationId, RowExclusiveLock);
	alter_constraint(catalog, constraint, clause);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}

/* --- a column's type ------------------------------------------------------------ */

struct tsurugi_dropped_key
{
	Oid child;
	char *name;
	char *definition; /* the ALTER TABLE that makes it */
	char *comment;	  /* or NULL */
};

List *
tsurugi_foreign_keys_of_column(Oid relation, const char *column)
{
	AttrNumber attnum = get_attnum(relation, column);
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	List *found = NIL;
	SysScanDesc scan;
	ScanKeyData by_type;
	HeapTuple tuple;

	ScanKeyInit(&by_type, Anum_pg_constraint_contype, BTEqualStrategyNumber, F_CHAREQ,
				CharGetDatum(CONSTRAINT_FOREIGN));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &by_type);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (((form->conrelid == relation &&
			  tsurugi_constraint_has_column(tuple, catalog, Anum_pg_constraint_conkey, attnum)) ||
			 (form->confrelid == relation &&
			  tsurugi_constraint_has_column(tuple, catalog, Anum_pg_constraint_confkey, attnum))) &&
			!OidIsValid(form->conparentid) &&
			(tsurugi_holds_our_table(form->conrelid) || tsurugi_holds_our_table(form->confrelid)))
			found = lappend_oid(found, form->oid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	list_sort(found, list_oid_cmp); /* in the order in which they were made */
	return found;
}

tsurugi_dropped_key *
tsurugi_foreign_key_drop(Oid constraint)
{
	tsurugi_dropped_key *key = palloc(sizeof(*key));
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	ObjectAddress object;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	key->child = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;
	ReleaseSysCache(tuple);
	key->name = get_constraint_name(constraint);
	key->definition = tsurugi_constraint_definition(constraint);
	key->comment = GetComment(constraint, ConstraintRelationId, 0);
	ObjectAddressSet(object, ConstraintRelationId, constraint);
	performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
	return key;
}

bool
tsurugi_foreign_key_is(const tsurugi_dropped_key *key, Oid relation, const char *name)
{
	return key->child == relation && strcmp(key->name, name) == 0;
}

void
tsurugi_foreign_key_restore(const tsurugi_dropped_key *key, bool validate)
{
	Node *statement = linitial_node(RawStmt, raw_parser(key->definition, RAW_PARSE_DEFAULT))->stmt;
	const AlterTableCmd *command = linitial_node(AlterTableCmd, castNode(AlterTableStmt, statement)->cmds);
	Constraint *clause = castNode(Constraint, command->def);

	clause->skip_validation &= !validate;
	clause->initially_valid |= validate;
	tsurugi_foreign_keys_create(key->child, list_make1(command->def), false);
	if (key->comment != NULL)
		CreateComments(get_relation_constraint_oid(key->child, key->name, false), ConstraintRelationId, 0,
					   key->comment);
}

/* --- persistence ---------------------------------------------------------------- */

/* Raises 42P16 unless both tables of the key are logged, or neither is. */
static void
check_persistence(Relation relation, bool logged, const FormData_pg_constraint *key)
{
	Oid other = logged ? key->confrelid : key->conrelid;

	LockRelationOid(other, AccessShareLock);
	if ((tsurugi_persistence(other) == RELPERSISTENCE_PERMANENT) == logged)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 logged ? errmsg("could not change table \"%s\" to logged because it references unlogged table \"%s\"",
							 RelationGetRelationName(relation), get_rel_name(other))
					: errmsg("could not change table \"%s\" to unlogged because it references logged table \"%s\"",
							 RelationGetRelationName(relation), get_rel_name(other)),
			 errtableconstraint(relation, NameStr(key->conname))));
}

/* Follows ATPrepChangePersistence. */
void
tsurugi_foreign_keys_check_persistence(Oid relation_id)
{
	bool logged = tsurugi_persistence(relation_id) == RELPERSISTENCE_PERMANENT;
	Relation relation = table_open(relation_id, NoLock);
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, logged ? Anum_pg_constraint_conrelid : Anum_pg_constraint_confrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relation_id));
	scan = systable_beginscan(catalog, logged ? ConstraintRelidTypidNameIndexId : InvalidOid, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (form->contype == CONSTRAINT_FOREIGN)
			check_persistence(relation, logged, form);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	table_close(relation, NoLock);
}
