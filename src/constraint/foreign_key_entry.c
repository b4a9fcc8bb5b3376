/*
 * foreign_key_entry.c
 *	  Foreign keys as entries in PostgreSQL's catalogs.
 *
 * A foreign key is an entry in pg_constraint and four triggers: two for its actions on the
 * referenced table, two for its checks on the referencing one.  If one of the tables is
 * partitioned, there are more, as in PostgreSQL (tablecmds.c):
 *
 *	referencing, for each partition		an entry (partition → referenced table) and its checks
 *	referenced, for each partition		an entry (referencing table → partition) and its actions
 *
 * Each is a child of the entry, or the trigger, of the table above.  The triggers on partitioned
 * tables fire for rows that PostgreSQL itself moves from partition to partition, and PostgreSQL
 * clones them when an ordinary partition is added; so they are PostgreSQL's own, as on ordinary
 * tables.
 */
#include "postgres.h"

#include "src/constraint/foreign_key_entry.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/comment.h"
#include "commands/tablecmds.h"
#include "commands/trigger.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "src/constraint/own_trigger.h"
#include "src/table/relation.h"
#include "src/txn/deferred.h"

/*
 * The triggers of one constraint on one of its tables; InvalidOid twice: there are none, or none
 * above.
 */
typedef struct Pair
{
	Oid first; /* ON DELETE, or INSERT */
	Oid update;
} Pair;

static const Pair none;

bool
tsurugi_holds_our_table(Oid relation)
{
	ListCell *cell;

	if (!OidIsValid(relation))
		return false;
	if (get_rel_relkind(relation) != RELKIND_PARTITIONED_TABLE)
		return tsurugi_is_our_table(relation);
	foreach (cell, find_all_inheritors(relation, NoLock, NULL))
		if (tsurugi_is_our_table(lfirst_oid(cell)))
			return true;
	return false;
}

Oid
tsurugi_constraint_parent(Oid constraint)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Oid parent;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	parent = ((Form_pg_constraint) GETSTRUCT(tuple))->conparentid;
	ReleaseSysCache(tuple);
	return parent;
}

static bool
is_partitioned(Relation relation)
{
	return relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

/* --- one entry --------------------------------------------------------------------------- */

static void
depend(Oid constraint, Oid class_id, Oid object_id, DependencyType type)
{
	ObjectAddress depender;
	ObjectAddress referenced;

	ObjectAddressSet(depender, ConstraintRelationId, constraint);
	ObjectAddressSet(referenced, class_id, object_id);
	recordDependencyOn(&depender, &referenced, type);
}

/* above: the constraint of the table above, or InvalidOid. */
static Oid
create_constraint(const tsurugi_foreign_key *key, Relation child, Relation parent, Oid above)
{
	bool is_local = !OidIsValid(above);
	Oid constraint = CreateConstraintEntry(
		key->name, RelationGetNamespace(child), CONSTRAINT_FOREIGN, key->deferrable, key->deferred, key->valid, above,
		RelationGetRelid(child), key->child_columns, key->count, key->count, InvalidOid, key->index,
		RelationGetRelid(parent), key->parent_columns, key->parent_child, key->parent_parent, key->child_child,
		key->count, key->on_update, key->on_delete, key->set_columns, key->set_count, key->match, NULL, NULL, NULL,
		is_local, is_local ? 0 : 1, is_local && !is_partitioned(child), !is_local);

	return constraint;
}

/* The key's own name, or "table_columns_fkey" if that is taken: names are unique for a table. */
static char *
choose_name(const tsurugi_foreign_key *key, Relation child)
{
	StringInfoData columns;

	if (!ConstraintNameIsUsed(CONSTRAINT_RELATION, RelationGetRelid(child), key->name))
		return key->name;
	initStringInfo(&columns);
	for (int i = 0; i < key->count && columns.len < NAMEDATALEN; i++)
		appendStringInfo(&columns, "%s%s", i > 0 ? "_" : "",
						 get_attname(RelationGetRelid(child), key->child_columns[i], false));
	return ChooseConstraintName(RelationGetRelationName(child), columns.data, "fkey", RelationGetNamespace(child), NIL);
}

/* --- triggers ------------------------------------------------------------------------------ */

/* A trigger of a foreign table is not made for a constraint; its constraint is set afterwards. */
static void
set_referenced_table(Oid trigger, Oid other)
{
	Relation catalog = table_open(TriggerRelationId, RowExclusiveLock);
	SysScanDesc scan;
	ScanKeyData by_oid;
	HeapTuple tuple;

	ScanKeyInit(&by_oid, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger));
	scan = systable_beginscan(catalog, TriggerOidIndexId, true, NULL, 1, &by_oid);
	tuple = heap_copytuple(systable_getnext(scan));
	systable_endscan(scan);
	((Form_pg_trigger) GETSTRUCT(tuple))->tgconstrrelid = other;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);
}

/* The properties of one trigger of a constraint. */
typedef struct Wanted
{
	Relation relation;
	Relation other;
	Oid constraint;
	Oid index;
	char *name;
	Oid function;
	int16 event;
	Oid above; /* the trigger of the table above, or InvalidOid */
	bool deferrable;
	bool deferred;
} Wanted;

static Oid
create_trigger(const Wanted *wanted)
{
	bool is_foreign = wanted->relation->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
	CreateTrigStmt *trigger = makeNode(CreateTrigStmt);
	ObjectAddress made;

	trigger->isconstraint = !is_foreign;
	trigger->deferrable = !is_foreign && wanted->deferrable;
	trigger->initdeferred = !is_foreign && wanted->deferred;
	trigger->trigname = wanted->name;
	trigger->row = true;
	trigger->timing = TRIGGER_TYPE_AFTER;
	trigger->events = wanted->event;
	made = CreateTrigger(trigger, NULL, RelationGetRelid(wanted->relation), RelationGetRelid(wanted->other),
						 wanted->constraint, wanted->index, wanted->function, wanted->above, NULL, true, false);
	CommandCounterIncrement();
	if (is_foreign)
	{
		set_referenced_table(made.objectId, RelationGetRelid(wanted->other));
		CacheInvalidateRelcache(wanted->relation);
		CommandCounterIncrement();
	}
	return made.objectId;
}

Oid
tsurugi_foreign_key_action(char action, bool is_delete)
{
	switch (action)
	{
		case FKCONSTR_ACTION_NOACTION:
			return is_delete ? F_RI_FKEY_NOACTION_DEL : F_RI_FKEY_NOACTION_UPD;
		case FKCONSTR_ACTION_RESTRICT:
			return is_delete ? F_RI_FKEY_RESTRICT_DEL : F_RI_FKEY_RESTRICT_UPD;
		case FKCONSTR_ACTION_CASCADE:
			return is_delete ? F_RI_FKEY_CASCADE_DEL : F_RI_FKEY_CASCADE_UPD;
		case FKCONSTR_ACTION_SETNULL:
			return is_delete ? F_RI_FKEY_SETNULL_DEL : F_RI_FKEY_SETNULL_UPD;
		case FKCONSTR_ACTION_SETDEFAULT:
			return is_delete ? F_RI_FKEY_SETDEFAULT_DEL : F_RI_FKEY_SETDEFAULT_UPD;
		default:
			elog(ERROR, "unrecognized action %d of a foreign key", (int) action);
	}
}

/* Makes the triggers on the referenced table. */
static Pair
create_action_triggers(const tsurugi_foreign_key *key, Relation child, Relation parent, Oid constraint, Pair above)
{
	bool ours = parent->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
	Oid own = ours ? tsurugi_own_function("tsurugi_fdw_foreign_key_action") : InvalidOid;
	Wanted wanted = {.relation = parent,
					 .other = child,
					 .constraint = constraint,
					 .index = key->index,
					 .name = "RI_ConstraintTrigger_a"};
	Pair made;

	wanted.function = ours ? own : tsurugi_foreign_key_action(key->on_delete, true);
	wanted.event = TRIGGER_TYPE_DELETE;
	wanted.above = above.first;
	wanted.deferrable = key->deferrable && key->on_delete == FKCONSTR_ACTION_NOACTION;
	wanted.deferred = wanted.deferrable && key->deferred;
	made.first = create_trigger(&wanted);
	wanted.function = ours ? own : tsurugi_foreign_key_action(key->on_update, false);
	wanted.event = TRIGGER_TYPE_UPDATE;
	wanted.above = above.update;
	wanted.deferrable = key->deferrable && key->on_update == FKCONSTR_ACTION_NOACTION;
	wanted.deferred = wanted.deferrable && key->deferred;
	made.update = create_trigger(&wanted);
	return made;
}

/* Makes the triggers on the referencing table. */
static Pair
create_check_triggers(const tsurugi_foreign_key *key, Relation child, Relation parent, Oid constraint, Pair above)
{
	bool ours = child->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
	Oid own = ours ? tsurugi_own_function("tsurugi_fdw_foreign_key_check") : InvalidOid;
	Wanted wanted = {.relation = child,
					 .other = parent,
					 .constraint = constraint,
					 .index = key->index,
					 .name = "RI_ConstraintTrigger_c",
					 .deferrable = key->deferrable,
					 .deferred = key->deferrable && key->deferred};
	Pair made;

	wanted.function = ours ? own : F_RI_FKEY_CHECK_INS;
	wanted.event = TRIGGER_TYPE_INSERT;
	wanted.above = above.first;
	made.first = create_trigger(&wanted);
	wanted.function = ours ? own : F_RI_FKEY_CHECK_UPD;
	wanted.event = TRIGGER_TYPE_UPDATE;
	wanted.above = above.update;
	made.update = create_trigger(&wanted);
	return made;
}

/* Finds the triggers of a constraint on one of its tables. */
static Pair
find_triggers(Oid constraint, Oid relation, bool checks)
{
	Relation catalog = table_open(TriggerRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData by_constraint;
	HeapTuple tuple;
	Pair found = none;

	ScanKeyInit(&by_constraint, Anum_pg_trigger_tgconstraint, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(constraint));
	scan = systable_beginscan(catalog, TriggerConstraintIndexId, true, NULL, 1, &by_constraint);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		const FormData_pg_trigger *form = (Form_pg_trigger) GETSTRUCT(tuple);

		/* A table that refers to itself has both kinds; PostgreSQL gives them these names. */
		if (form->tgrelid != relation ||
			strncmp(NameStr(form->tgname), checks ? "RI_ConstraintTrigger_c" : "RI_ConstraintTrigger_a", 22) != 0)
			continue;
		if (TRIGGER_FOR_UPDATE(form->tgtype))
			found.update = form->oid;
		else
			found.first = form->oid;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	if (!OidIsValid(found.first) || !OidIsValid(found.update))
		elog(ERROR, "could not find the triggers of foreign key constraint %u", constraint);
	return found;
}

/* --- partitions ---------------------------------------------------------------------------- */

static void
map_columns(const AttrMap *map, int16 *columns, int count)
{
	for (int i = 0; map != NULL && i < count; i++)
		columns[i] = map->attnums[columns[i] - 1];
}

/*
 * Converts the key of the table above to that of the partition, which may have its columns in other
 * places.
 */
static tsurugi_foreign_key
key_of_child(const tsurugi_foreign_key *key, Relation above, Relation partition)
{
	AttrMap *map = build_attrmap_by_name_if_req(RelationGetDescr(partition), RelationGetDescr(above));
	tsurugi_foreign_key mapped = *key;

	map_columns(map, mapped.child_columns, key->count);
	map_columns(map, mapped.set_columns, key->set_count);
	return mapped;
}

static tsurugi_foreign_key
key_of_parent(const tsurugi_foreign_key *key, Relation above, Relation partition)
{
	AttrMap *map = build_attrmap_by_name_if_req(RelationGetDescr(partition), RelationGetDescr(above));
	tsurugi_foreign_key mapped = *key;

	map_columns(map, mapped.parent_columns, key->count);
	mapped.index = index_get_partition(partition, key->index);
	if (!OidIsValid(mapped.index))
		elog(ERROR, "index for %u not found in partition %s", key->index, RelationGetRelationName(partition));
	return mapped;
}

static void
read_key(Oid constraint, tsurugi_foreign_key *key, Oid *child_out, Oid *parent_out)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	const FormData_pg_constraint *form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	*key = (tsurugi_foreign_key){.name = pstrdup(NameStr(form->conname)),
								 .deferrable = form->condeferrable,
								 .deferred = form->condeferred,
								 .valid = form->convalidated,
								 .on_update = form->confupdtype,
								 .on_delete = form->confdeltype,
								 .match = form->confmatchtype,
								 .index = form->conindid};
	*child_out = form->conrelid;
	*parent_out = form->confrelid;
	DeconstructFkConstraintRow(tuple, &key->count, key->child_columns, key->parent_columns, key->parent_child,
							   key->parent_parent, key->child_child, &key->set_count, key->set_columns);
	ReleaseSysCache(tuple);
}

/* --- referenced tables ------------------------------------------------------------------------ */

static void add_referenced(const tsurugi_foreign_key *key, Relation child, Relation above, Relation partition,
						   Oid constraint, Pair triggers);

/* leaving: a partition that is about to be detached, or InvalidOid. */
static void
add_actions(const tsurugi_foreign_key *key, Relation child, Relation parent, Oid constraint, Pair above, Oid leaving)
{
	Pair triggers = create_action_triggers(key, child, parent, constraint, above);
	PartitionDesc partitions;

	if (!is_partitioned(parent))
		return;
	partitions = RelationGetPartitionDesc(parent, true);
	for (int i = 0; i < partitions->nparts; i++)
	{
		Relation partition;

		if (partitions->oids[i] == leaving)
			continue;
		partition = table_open(partitions->oids[i], ShareRowExclusiveLock);
		add_referenced(key, child, parent, partition, constraint, triggers);
		table_close(partition, NoLock);
	}
}

/*
 * Adds the entries for a partition of the referenced table above, whose constraint and triggers are
 * given.
 */
static void
add_referenced(const tsurugi_foreign_key *key, Relation child, Relation above, Relation partition, Oid constraint,
			   Pair triggers)
{
	tsurugi_foreign_key mapped = key_of_parent(key, above, partition);
	Oid made;

	mapped.name = choose_name(key, child);
	made = create_constraint(&mapped, child, partition, constraint);
	/* It is dropped with the constraint above, and not without it. */
	depend(made, ConstraintRelationId, constraint, DEPENDENCY_INTERNAL);
	CommandCounterIncrement();
	add_actions(&mapped, child, partition, made, triggers, InvalidOid);
}

/* --- referencing tables --------------------------------------------------------- */

/* Whether a constraint of the partition's own equals the one that it would get. */
static bool
is_same(const ForeignKeyCacheInfo *own, const tsurugi_foreign_key *key, Oid parent)
{
	tsurugi_foreign_key other;
	Oid child;
	Oid referenced;

	if (own->confrelid != parent || own->nkeys != key->count || OidIsValid(tsurugi_constraint_parent(own->conoid)))
		return false;
	read_key(own->conoid, &other, &child, &referenced);
	for (int i = 0; i < key->count; i++)
		if (other.child_columns[i] != key->child_columns[i] || other.parent_columns[i] != key->parent_columns[i] ||
			other.parent_child[i] != key->parent_child[i])
			return false;
	return other.valid && other.deferrable == key->deferrable && other.deferred == key->deferred &&
		   other.on_update == key->on_update && other.on_delete == key->on_delete && other.match == key->match;
}

/*
 * Drops the partition's own equal constraint, if there is one: the new one gets its name and
 * comment.  PostgreSQL instead makes it a child of the parent's constraint, and drops its
 * additional entries.
 */
static bool
replace_same(tsurugi_foreign_key *key, Relation partition, Oid parent, char **comment_out)
{
	List *own = copyObject(RelationGetFKeyList(partition));
	ListCell *cell;

	foreach (cell, own)
	{
		const ForeignKeyCacheInfo *info = lfirst_node(ForeignKeyCacheInfo, cell);
		ObjectAddress object;

		if (!is_same(info, key, parent))
			continue;
		key->name = get_constraint_name(info->conoid);
		*comment_out = GetComment(info->conoid, ConstraintRelationId, 0);
		ObjectAddressSet(object, ConstraintRelationId, info->conoid);
		performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
		CommandCounterIncrement();
		return true;
	}
	return false;
}

static void add_referencing(const tsurugi_foreign_key *key, Relation above, Relation partition, Relation parent,
							Oid constraint, Pair triggers, List **leaves);

/* leaves: receives the constraints of tables that are not partitioned. */
static void
add_checks(const tsurugi_foreign_key *key, Relation child, Relation parent, Oid constraint, Pair above, List **leaves)
{
	Pair triggers = create_check_triggers(key, child, parent, constraint, above);
	PartitionDesc partitions;

	if (!is_partitioned(child))
	{
		*leaves = lappend_oid(*leaves, constraint);
		return;
	}
	partitions = RelationGetPartitionDesc(child, true);
	for (int i = 0; i < partitions->nparts; i++)
	{
		Relation partition = table_open(partitions->oids[i], ShareRowExclusiveLock);

		CheckTableNotInUse(partition, "ALTER TABLE");
		tsurugi_deferred_check_none(RelationGetRelid(partition), "ALTER TABLE");
		add_referencing(key, child, partition, parent, constraint, triggers, leaves);
		table_close(partition, NoLock);
	}
}

/*
 * Adds the entries for a partition of the referencing table above, whose constraint and triggers
 * are given.
 */
static void
add_referencing(const tsurugi_foreign_key *key, Relation above, Relation partition, Relation parent, Oid constraint,
				Pair triggers, List **leaves)
{
	tsurugi_foreign_key mapped = key_of_child(key, above, partition);
	char *comment = NULL;
	List *fresh = NIL;
	bool had = replace_same(&mapped, partition, RelationGetRelid(parent), &comment);
	Oid made;

	mapped.name = choose_name(&mapped, partition);
	made = create_constraint(&mapped, partition, parent, constraint);
	/* It is dropped with the constraint above, or with the partition. */
	depend(made, ConstraintRelationId, constraint, DEPENDENCY_PARTITION_PRI);
	depend(made, RelationRelationId, RelationGetRelid(partition), DEPENDENCY_PARTITION_SEC);
	CommandCounterIncrement();
	if (comment != NULL)
		CreateComments(made, ConstraintRelationId, 0, comment);
	add_checks(&mapped, partition, parent, made, triggers, &fresh);
	if (!had)
		*leaves = list_concat(*leaves, fresh);
}

/* --- a whole key ---------------------------------------------------------------- */

void
tsurugi_foreign_key_enter(const tsurugi_foreign_key *key, Relation child, Relation parent, List **leaves)
{
	Oid constraint;

	tg_assert(key->count > 0 && key->count <= INDEX_MAX_KEYS);
	tg_assert(CheckRelationLockedByMe(child, ShareRowExclusiveLock, true));
	tg_assert(CheckRelationLockedByMe(parent, ShareRowExclusiveLock, true));
	constraint = create_constraint(key, child, parent, InvalidOid);
	CommandCounterIncrement();
	add_actions(key, child, parent, constraint, none, InvalidOid);
	add_checks(key, child, parent, constraint, none, leaves);
}

/* --- partitions that are attached or detached ------------------------------------------------ */

/*
 * The constraints that have a table at one of their ends, except those that are parts of others in
 * the list.  Only the referencing table has an index.
 */
static List *
find_constraints(Oid relation, AttrNumber column)
{
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	List *found = NIL;
	List *topmost = NIL;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;
	ListCell *cell;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, column == Anum_pg_constraint_conrelid, NULL, 1,
							  &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		const FormData_pg_constraint *form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (form->contype == CONSTRAINT_FOREIGN)
			found = lappend_oid(found, form->oid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	foreach (cell, found)
		if (!list_member_oid(found, tsurugi_constraint_parent(lfirst_oid(cell))))
			topmost = lappend_oid(topmost, lfirst_oid(cell));
	list_sort(topmost, list_oid_cmp); /* in the order in which they were made */
	return topmost;
}

void
tsurugi_foreign_keys_join(Relation above, Relation partition, List **leaves)
{
	ListCell *cell;

	tg_assert(CheckRelationLockedByMe(above, ShareUpdateExclusiveLock, true));
	tg_assert(CheckRelationLockedByMe(partition, AccessExclusiveLock, true));
	foreach (cell, find_constraints(RelationGetRelid(above), Anum_pg_constraint_conrelid))
	{
		tsurugi_foreign_key key;
		Oid child;
		Oid referenced;
		Relation parent;

		read_key(lfirst_oid(cell), &key, &child, &referenced);
		if (referenced == RelationGetRelid(partition))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot attach table \"%s\" as a partition because it is referenced by foreign key \"%s\"",
							RelationGetRelationName(partition), key.name)));
		parent = table_open(referenced, ShareRowExclusiveLock);
		/*
		 * Rows of its partitions may be about to be deleted without a check against the rows here.
		 */
		find_all_inheritors(referenced, ShareRowExclusiveLock, NULL);
		add_referencing(&key, above, partition, parent, lfirst_oid(cell), find_triggers(lfirst_oid(cell), child, true),
						leaves);
		table_close(parent, NoLock);
	}
	foreach (cell, find_constraints(RelationGetRelid(above), Anum_pg_constraint_confrelid))
	{
		tsurugi_foreign_key key;
		Oid referencing;
		Oid parent;
		Relation child;

		read_key(lfirst_oid(cell), &key, &referencing, &parent);
		child = table_open(referencing, ShareRowExclusiveLock);
		add_referenced(&key, child, above, partition, lfirst_oid(cell), find_triggers(lfirst_oid(cell), parent, false));
		table_close(child, NoLock);
	}
}

void
tsurugi_foreign_keys_leave(Relation partition)
{
	Oid child = RelationGetRelid(partition);
	bool ours = tsurugi_holds_our_table(child);
	ListCell *cell;

	tg_assert(CheckRelationLockedByMe(partition, ShareUpdateExclusiveLock, true));
	foreach (cell, find_constraints(child, Anum_pg_constraint_conrelid))
	{
		Oid constraint = lfirst_oid(cell);
		tsurugi_foreign_key key;
		Oid referenced;
		Relation parent;
		Relation catalog;
		Pair triggers;

		read_key(constraint, &key, &child, &referenced);
		if (!OidIsValid(tsurugi_constraint_parent(constraint)) || !(ours || tsurugi_holds_our_table(referenced)))
			continue;
		/* REINDEX CONCURRENTLY of the referenced table changes the key, too, and its index. */
		parent = table_open(referenced, ShareRowExclusiveLock);
		read_key(constraint, &key, &child, &referenced);
		ConstraintSetParentConstraint(constraint, InvalidOid, InvalidOid);
		triggers = find_triggers(constraint, child, true);
		catalog = table_open(TriggerRelationId, RowExclusiveLock);
		TriggerSetParentTrigger(catalog, triggers.first, InvalidOid, child);
		TriggerSetParentTrigger(catalog, triggers.update, InvalidOid, child);
		table_close(catalog, RowExclusiveLock);
		CommandCounterIncrement();
		/* The key above already has triggers on the table, but they check all of its partitions. */
		add_actions(&key, partition, parent, constraint, none, child);
		table_close(parent, NoLock);
	}
}
