/*
 * foreign_key.c
 *	  Foreign keys to and from tables in memory: their clauses, and their creation.
 *
 * PostgreSQL refuses foreign keys by the kind of the tables, in the parser and in ALTER TABLE.  But
 * a foreign key consists of an entry in pg_constraint and four triggers.  If they are made here,
 * PostgreSQL treats them like its own: in \d, pg_dump, dependencies, DROP and RENAME, TRUNCATE's
 * refusal, the planner's estimates.
 *
 *	on an ordinary table	PostgreSQL's own trigger functions
 *	on a table in memory	referencing: the check of foreign_key_check.c; referenced: PostgreSQL's
 *							actions, called by the function of foreign_key_action.c
 *
 * PostgreSQL's functions access the other table by SQL.  The row locks (fdw_lock.c) and snapshots
 * (snapshot.c) of that SQL guarantee that no orphan can exist:
 *
 * 1. A transaction that inserts a referencing row holds a KEY SHARE lock on the referenced row
 *	  until it ends.  A transaction that deletes the referenced row, or changes its key, waits for
 *	  that, and then looks for referencing rows with a snapshot taken after the wait: it finds the
 *	  row.
 * 2. If the deletion comes first, the inserting transaction waits for it, and then finds no row to
 *	  lock.
 * 3. The snapshot of 2 is fresh also at REPEATABLE READ and above: PostgreSQL's triggers request
 *	  that by also passing a snapshot, the transaction's own, to cross-check with.  So does the
 *	  check here of a row that refers to a partitioned table.
 * 4. When a transaction that wrote both kinds of tables commits, its changes of ordinary tables
 *	  become visible some instructions before those of tables in memory.  A transaction that meets
 *	  such a row in memory waits for them (mixed.c, 1).
 * 5. A statement by which a key begins to hold for existing rows locks both tables against writers,
 *	  and the partitions at both ends, before it reads the rows.  A key that is only validated
 *	  already has its triggers.
 *
 * Constraint triggers are not possible on foreign tables, because their rows cannot be kept for
 * later.  So the triggers there fire at the end of each statement, and if the constraint is
 * deferred they put the row into the queue of deferred.h; the triggers of ordinary tables are
 * deferred by PostgreSQL.
 *
 * foreign_key_entry.c makes the entries, also for partitioned tables; partition_join.c gives them
 * to new partitions; foreign_key_alter.c changes them.
 */
#include "postgres.h"

#include "src/constraint/foreign_key.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "parser/parse_relation.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/constraint/deferred_key.h"
#include "src/constraint/foreign_key_entry.h"
#include "src/table/relation.h"

/* A foreign key about to be made. */
typedef struct new_key
{
	const Constraint *clause;
	Relation child;
	Relation parent;
	int parent_count; /* equal to made.count once that has been checked */
	Oid classes[INDEX_MAX_KEYS];
	tsurugi_foreign_key made;
} new_key;

/* --- clauses --------------------------------------------------------------------------- */

static bool
is_taken(Node *node, bool is_ours)
{
	Constraint *clause = (Constraint *) node;

	return IsA(node, Constraint) && clause->contype == CONSTR_FOREIGN &&
		   (is_ours || tsurugi_holds_our_table(RangeVarGetRelid(clause->pktable, NoLock, true)));
}

/* Takes the foreign keys of a column, with the clauses behind each that say when it is checked. */
static void
take_of_column(ColumnDef *column, bool is_ours, List **keys)
{
	Constraint *taken = NULL;
	tsurugi_attributes said = {false, false};
	ListCell *cell;

	foreach (cell, column->constraints)
	{
		Constraint *constraint = lfirst_node(Constraint, cell);

		if (is_taken((Node *) constraint, is_ours))
		{
			taken = constraint;
			said = (tsurugi_attributes){false, false};
			taken->fk_attrs = list_make1(makeString(pstrdup(column->colname)));
			taken->initially_valid = true;
			*keys = lappend(*keys, taken);
			column->constraints = foreach_delete_current (column->constraints, cell);
			continue;
		}
		if (taken == NULL || !tsurugi_take_attribute(taken, constraint, &said))
			taken = NULL;
		else
			column->constraints = foreach_delete_current (column->constraints, cell);
	}
}

List *
tsurugi_foreign_keys_take(CreateStmt *statement, bool is_ours)
{
	List *keys = NIL;
	ListCell *cell;

	foreach (cell, statement->tableElts)
	{
		Node *element = lfirst(cell);

		if (IsA(element, ColumnDef))
			take_of_column((ColumnDef *) element, is_ours, &keys);
		else if (is_taken(element, is_ours))
		{
			/* The table has no rows yet (transformFKConstraints). */
			castNode(Constraint, element)->initially_valid = true;
			keys = lappend(keys, element);
			statement->tableElts = foreach_delete_current (statement->tableElts, cell);
		}
	}
	return keys;
}

bool
tsurugi_foreign_keys_take_command(AlterTableCmd *command, bool is_ours, List **keys)
{
	if (command->subtype == AT_AddColumn)
		take_of_column(castNode(ColumnDef, command->def), is_ours, keys);
	else if (command->subtype == AT_AddConstraint && is_taken(command->def, is_ours))
	{
		*keys = lappend(*keys, command->def);
		return true;
	}
	return false;
}

/* --- the referenced table and columns -------------------------------------------------------- */

/* A partitioned table's foreign key belongs to its partitions, too, and holds for their rows. */
static void
check_whole(const new_key *key, bool only)
{
	if (only)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot use ONLY for foreign key on partitioned table \"%s\" referencing relation \"%s\"",
						RelationGetRelationName(key->child), RelationGetRelationName(key->parent))));
	if (key->clause->skip_validation && !key->clause->initially_valid)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot add NOT VALID foreign key on partitioned table \"%s\" referencing relation \"%s\"",
						RelationGetRelationName(key->child), RelationGetRelationName(key->parent)),
				 errdetail("This feature is not yet supported on partitioned tables.")));
}

static void
check_tables(const new_key *key, bool only)
{
	char kind = key->parent->rd_rel->relkind;
	char persistence = tsurugi_persistence(RelationGetRelid(key->child));
	char referenced = tsurugi_persistence(RelationGetRelid(key->parent));

	if (key->child->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		check_whole(key, only);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE &&
		!tsurugi_is_our_table(RelationGetRelid(key->parent)))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("referenced relation \"%s\" is not a table", RelationGetRelationName(key->parent))));
	if (IsSystemRelation(key->parent) && !allowSystemTableMods)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied: \"%s\" is a system catalog", RelationGetRelationName(key->parent))));
	if (persistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
						errmsg("constraints on temporary tables may reference only temporary tables")));
	if (persistence == RELPERSISTENCE_PERMANENT && referenced != RELPERSISTENCE_PERMANENT)
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
						errmsg("constraints on permanent tables may reference only permanent tables")));
	if (referenced == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
						errmsg("constraints on unlogged tables may reference only permanent or unlogged tables")));
}

static int
find_columns(Relation relation, const List *names, int16 *columns)
{
	int count = 0;
	ListCell *cell;

	if (list_length(names) > INDEX_MAX_KEYS)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
						errmsg("cannot have more than %d keys in a foreign key", INDEX_MAX_KEYS)));
	foreach (cell, names)
	{
		const char *name = strVal(lfirst(cell));
		AttrNumber attnum = attnameAttNum(relation, name, true);

		if (attnum == InvalidAttrNumber)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" referenced in foreign key constraint does not exist", name)));
		if (attnum < 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("system columns cannot be used in foreign keys")));
		columns[count++] = attnum;
	}
	return count;
}

/* The columns of ON DELETE SET, without duplicates. */
static void
find_set_columns(new_key *key)
{
	const List *names = key->clause->fk_del_set_cols;
	int named = find_columns(key->child, names, key->made.set_columns);

	for (int i = 0; i < named; i++)
	{
		int16 column = key->made.set_columns[i];
		int at = 0;

		while (at < key->made.count && key->made.child_columns[at] != column)
			at++;
		if (at == key->made.count)
			ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
							errmsg("column \"%s\" referenced in ON DELETE SET action must be part of foreign key",
								   strVal(list_nth(names, i)))));
		at = 0;
		while (at < key->made.set_count && key->made.set_columns[at] != column)
			at++;
		if (at == key->made.set_count)
			key->made.set_columns[key->made.set_count++] = column;
	}
}

/*
 * Whether the index is on exactly these columns, in any order; if so, sets the operator class of
 * each.
 */
static bool
index_fits(HeapTuple tuple, new_key *key)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);
	oidvector *classes;
	bool null;

	if (index->indnkeyatts != key->parent_count || !index->indisunique || !index->indisvalid ||
		!heap_attisnull(tuple, Anum_pg_index_indpred, NULL) || !heap_attisnull(tuple, Anum_pg_index_indexprs, NULL))
		return false;
	classes = (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indclass, &null));
	for (int i = 0; i < key->parent_count; i++)
	{
		int at = 0;

		while (at < key->parent_count && index->indkey.values[at] != key->made.parent_columns[i])
			at++;
		if (at == key->parent_count)
			return false;
		key->classes[i] = classes->values[at];
	}
	return true;
}

static void
find_index(new_key *key)
{
	bool deferrable = false;
	ListCell *cell;

	for (int i = 0; i < key->parent_count; i++)
		for (int j = 0; j < i; j++)
			if (key->made.parent_columns[i] == key->made.parent_columns[j])
				ereport(ERROR, (errcode(ERRCODE_INVALID_FOREIGN_KEY),
								errmsg("foreign key referenced-columns list must not contain duplicates")));
	foreach (cell, RelationGetIndexList(key->parent))
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
		bool fits;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for index %u", lfirst_oid(cell));
		fits = index_fits(tuple, key);
		if (fits && !((Form_pg_index) GETSTRUCT(tuple))->indimmediate)
		{
			deferrable = true;
			fits = false;
		}
		ReleaseSysCache(tuple);
		if (fits)
		{
			key->made.index = lfirst_oid(cell);
			return;
		}
	}
	if (deferrable)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("cannot use a deferrable unique constraint for referenced table \"%s\"",
							   RelationGetRelationName(key->parent))));
	ereport(ERROR, (errcode(ERRCODE_INVALID_FOREIGN_KEY),
					errmsg("there is no unique constraint matching given keys for referenced table \"%s\"",
						   RelationGetRelationName(key->parent))));
}

/* The columns of the primary key, which are meant if none are named. */
static int
find_primary_key(const new_key *key, int16 *columns)
{
	Oid index = RelationGetPrimaryKeyIndex(key->parent);
	Oid deferrable;
	HeapTuple tuple;
	int count;

	if (!OidIsValid(index) && get_primary_key_attnos(RelationGetRelid(key->parent), true, &deferrable) != NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("cannot use a deferrable primary key for referenced table \"%s\"",
							   RelationGetRelationName(key->parent))));
	if (!OidIsValid(index))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no primary key for referenced table \"%s\"",
																  RelationGetRelationName(key->parent))));
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	count = ((Form_pg_index) GETSTRUCT(tuple))->indnkeyatts;
	memcpy(columns, ((Form_pg_index) GETSTRUCT(tuple))->indkey.values, count * sizeof(int16));
	ReleaseSysCache(tuple);
	return count;
}

static void
find_all_columns(new_key *key)
{
	const Constraint *clause = key->clause;

	key->made.count = find_columns(key->child, clause->fk_attrs, key->made.child_columns);
	find_set_columns(key);
	key->parent_count = clause->pk_attrs == NIL ? find_primary_key(key, key->made.parent_columns)
												: find_columns(key->parent, clause->pk_attrs, key->made.parent_columns);
	find_index(key);
	if (key->made.count != key->parent_count)
		ereport(ERROR, (errcode(ERRCODE_INVALID_FOREIGN_KEY),
						errmsg("number of referencing and referenced columns for foreign key disagree")));
}

/* Requires the right REFERENCES on the table, or on each of the columns. */
static void
check_rights(const new_key *key)
{
	Oid parent = RelationGetRelid(key->parent);

	if (pg_class_aclcheck(parent, GetUserId(), ACL_REFERENCES) == ACLCHECK_OK)
		return;
	for (int i = 0; i < key->made.count; i++)
	{
		AclResult result = pg_attribute_aclcheck(parent, key->made.parent_columns[i], GetUserId(), ACL_REFERENCES);

		if (result != ACLCHECK_OK)
			aclcheck_error(result, get_relkind_objtype(key->parent->rd_rel->relkind),
						   RelationGetRelationName(key->parent));
	}
}

static void
check_generated(const new_key *key)
{
	char update = key->clause->fk_upd_action;
	char delete = key->clause->fk_del_action;

	for (int i = 0; i < key->made.count; i++)
	{
		if (!TupleDescAttr(RelationGetDescr(key->child), key->made.child_columns[i] - 1)->attgenerated)
			continue;
		if (update == FKCONSTR_ACTION_SETNULL || update == FKCONSTR_ACTION_SETDEFAULT ||
			update == FKCONSTR_ACTION_CASCADE)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("invalid %s action for foreign key constraint containing generated column", "ON UPDATE")));
		if (delete == FKCONSTR_ACTION_SETNULL || delete == FKCONSTR_ACTION_SETDEFAULT)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("invalid %s action for foreign key constraint containing generated column", "ON DELETE")));
	}
}

/*
 * Finds the operators that compare the i-th columns: of the index's family, for the types as they
 * are or, if both can be cast to the index's type, for that one.
 */
static void
find_operators(new_key *key, int i)
{
	Oid family = get_opclass_family(key->classes[i]);
	Oid type = get_opclass_input_type(key->classes[i]);
	Oid parent_type = TupleDescAttr(RelationGetDescr(key->parent), key->made.parent_columns[i] - 1)->atttypid;
	Oid child_type = TupleDescAttr(RelationGetDescr(key->child), key->made.child_columns[i] - 1)->atttypid;
	Oid base = getBaseType(child_type);
	Oid both[2] = {parent_type, child_type};
	Oid wanted[2] = {type, type};

	key->made.parent_parent[i] = get_opfamily_member(family, type, type, BTEqualStrategyNumber);
	if (!OidIsValid(key->made.parent_parent[i]))
		elog(ERROR, "missing equality operator for type %u in operator family %u", type, family);
	key->made.parent_child[i] = get_opfamily_member(family, type, base, BTEqualStrategyNumber);
	key->made.child_child[i] = get_opfamily_member(family, base, base, BTEqualStrategyNumber);
	if (OidIsValid(key->made.parent_child[i]) && OidIsValid(key->made.child_child[i]))
		return;
	if (!can_coerce_type(2, both, wanted, COERCION_IMPLICIT))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("foreign key constraint \"%s\" cannot be implemented", key->made.name),
						errdetail("Key columns \"%s\" and \"%s\" are of incompatible types: %s and %s.",
								  get_attname(RelationGetRelid(key->child), key->made.child_columns[i], false),
								  get_attname(RelationGetRelid(key->parent), key->made.parent_columns[i], false),
								  format_type_be(child_type), format_type_be(parent_type))));
	key->made.parent_child[i] = key->made.child_child[i] = key->made.parent_parent[i];
}

/* The columns' names, as far as a name has room for them. */
static char *
name_addition(const List *columns)
{
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach (cell, columns)
	{
		appendStringInfo(&text, "%s%s", text.len > 0 ? "_" : "", strVal(lfirst(cell)));
		if (text.len >= NAMEDATALEN)
			break;
	}
	return text.data;
}

static void
choose_name(new_key *key)
{
	if (key->clause->conname == NULL)
		key->made.name = ChooseConstraintName(RelationGetRelationName(key->child), name_addition(key->clause->fk_attrs),
											  "fkey", RelationGetNamespace(key->child), NIL);
	else if (ConstraintNameIsUsed(CONSTRAINT_RELATION, RelationGetRelid(key->child), key->clause->conname))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("constraint \"%s\" for relation \"%s\" already exists",
														   key->clause->conname, RelationGetRelationName(key->child))));
	else
		key->made.name = key->clause->conname;
}

/* --- making one ------------------------------------------------------------------------------ */

static void
create_key(Oid relation, const Constraint *clause, bool only)
{
	new_key key = {.clause = clause,
				   .made = {.deferrable = clause->deferrable,
							.deferred = clause->initdeferred,
							.valid = clause->initially_valid,
							.on_update = clause->fk_upd_action,
							.on_delete = clause->fk_del_action,
							.match = clause->fk_matchtype}};
	List *leaves = NIL;

	key.child = table_open(relation, ShareRowExclusiveLock);
	/* First, because a name that is taken is no reason to wait for the other table. */
	choose_name(&key);
	key.parent = table_openrv(clause->pktable, ShareRowExclusiveLock);
	check_tables(&key, only);
	find_all_columns(&key);
	check_rights(&key);
	check_generated(&key);
	for (int i = 0; i < key.made.count; i++)
		find_operators(&key, i);
	tsurugi_foreign_key_enter(&key.made, key.child, key.parent, &leaves);
	if (!clause->skip_validation)
		tsurugi_foreign_key_check_leaves(leaves);
	table_close(key.parent, NoLock);
	table_close(key.child, NoLock);
}

void
tsurugi_foreign_keys_create(Oid relation, List *keys, bool only)
{
	ListCell *cell;

	foreach (cell, keys)
	{
		CommandCounterIncrement();
		create_key(relation, lfirst_node(Constraint, cell), only);
	}
}
