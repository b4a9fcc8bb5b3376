/*
 * type_users.c
 *	  ALTER DOMAIN and ALTER TYPE, for types of columns of tables in memory.
 *
 * PostgreSQL looks for the columns that have a type, or contain it, among its own tables only.  So
 * a domain could get a condition that rows in memory violate, and a composite type could get
 * another layout than that of the stored values.  Here the same checks are made for tables in
 * memory, with the messages of get_rels_with_domain and find_composite_type_dependencies:
 *
 * - columns of the domain, or of a domain over it, are verified, after PostgreSQL has done its part
 *	 and with writers kept out;
 * - a domain that is part of a column's type (array, range, composite) cannot get a new condition;
 *	 a composite type that is part of one cannot change the types of its columns.
 *
 * If a composite type loses a column, tables whose keys are made of its columns (canonical.h) are
 * stored anew, whatever removes the column: a DROP of its type, or a change of the parent of the
 * table whose row type it is.  (PostgreSQL leaves indexes as they are.)  The same happens if the
 * type gets a column whose values have no canonical bytes.  If the canonical bytes of a new column
 * are not in the order of its values, the keys are no longer ordered either: as with enums
 * (enum_order.h), statements that rely on the old order have ended before such a value can exist.
 *
 * Parts of values are compared by the default operator class of their types.  In PostgreSQL an
 * index on such values is silently out of order once there is a new one; here tables whose keys are
 * made of them are stored anew.  So are tables whose keys would now be made in another form for
 * other reasons: because they depend on operator classes of other methods, which rely on the
 * default order of their types, or are judged by their operators (served.c).  If a default class is
 * dropped without a replacement, PostgreSQL's index raises errors only; here the DROP is refused.
 * A transaction that makes such a table, or index, meanwhile waits, and is waited for
 * (type_order.h).
 */
#include "postgres.h"

#include "src/ddl/type_users.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_type.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "src/ddl/altered.h"
#include "src/ddl/rewrite.h"
#include "src/ddl/type_order.h"
#include "src/table/relation.h"
#include "src/table/storage.h"
#include "src/txn/deferred.h"
#include "src/value/canonical.h"
#include "src/value/enum_order.h"
#include "src/value/gin.h"
#include "src/value/key_column.h"
#include "src/value/key_order.h"
#include "src/value/type_parts.h"
#include "src/table/hidden.h"

/* A column of a table in memory. */
typedef struct type_user
{
	Oid table;
	AttrNumber attnum;
	bool contains; /* the type is a part of the column's */
} type_user;

/* --- users of a type ------------------------------------------------------------------------- */

static List *find_users(Oid type, bool contains, List *users);

static List *
note_user(const FormData_pg_depend *depend, bool contains, List *users)
{
	type_user *user;
	Oid row_type;

	if (tsurugi_is_our_table(depend->objid))
	{
		user = palloc(sizeof(*user));
		*user = (type_user){.table = depend->objid, .attnum = depend->objsubid, .contains = contains};
		users = lappend(users, user);
	}
	row_type = get_rel_type_id(depend->objid);
	return OidIsValid(row_type) ? find_users(row_type, true, users) : users;
}

/* Adds the columns of tables in memory that have the type, or a type that it is a part of. */
static List *
find_users(Oid type, bool contains, List *users)
{
	Relation depends = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple tuple;

	check_stack_depth();
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(TypeRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan(depends, DependReferenceIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		const FormData_pg_depend *depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->classid == RelationRelationId && depend->objsubid > 0)
			users = note_user(depend, contains, users);
		else if (depend->classid == TypeRelationId)
			users = find_users(depend->objid, contains || get_typtype(depend->objid) != TYPTYPE_DOMAIN, users);
	}
	systable_endscan(scan);
	table_close(depends, AccessShareLock);
	return users;
}

/* Orders by table and column. */
static int
compare_users(const ListCell *a, const ListCell *b)
{
	const type_user *left = lfirst(a);
	const type_user *right = lfirst(b);

	if (left->table != right->table)
		return left->table < right->table ? -1 : 1;
	return left->attnum - right->attnum;
}

static List *
sorted_users(Oid type, bool contains)
{
	List *users = find_users(type, contains, NIL);

	list_sort(users, compare_users);
	return users;
}

static void
refuse(Oid type, const type_user *user)
{
	Oid row_of = get_typ_typrelid(type);
	const char *column = get_attname(user->table, user->attnum, false);

	if (OidIsValid(row_of) && get_rel_relkind(row_of) != RELKIND_COMPOSITE_TYPE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot alter table \"%s\" because column \"%s.%s\" uses its row type",
							   get_rel_name(row_of), get_rel_name(user->table), column)));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("cannot alter type \"%s\" because column \"%s.%s\" uses it",
															format_type_be(type), get_rel_name(user->table), column)));
}

/* The traces of values that a key may contain. */
typedef enum Trace
{
	TRACE_BYTES,
	/* Ranks, or hashes by a function that knows no canonical bytes. */
	TRACE_RANKS,
	TRACE_ANY
} Trace;

static bool
has_trace(const tsurugi_hidden *hidden, Trace trace)
{
	if (trace == TRACE_ANY)
		return hidden->canonical || hidden->gin != NULL || OidIsValid(hidden->hash);
	if (OidIsValid(hidden->hash))
		return trace == TRACE_RANKS;
	for (int i = 0; hidden->gin != NULL && i < hidden->gin->column_count; i++)
	{
		if (hidden->gin->keys[i].canonical && OidIsValid(hidden->gin->keys[i].comparison) == (trace == TRACE_RANKS))
			return true;
	}
	return hidden->canonical && OidIsValid(hidden->comparison) == (trace == TRACE_RANKS);
}

/* Whether a key of the table contains such traces of the column's values, and so of their parts. */
static bool
is_in_key(const type_user *user, Trace trace)
{
	Relation table = table_open(user->table, AccessShareLock);
	const tsurugi_relation *described = tsurugi_relation_describe(table);
	Bitmapset *columns = NULL;

	for (int i = 0; i < described->source_count; i++)
	{
		const tsurugi_hidden *hidden = &described->hidden[i];

		if (has_trace(hidden, trace))
			pull_varattnos((Node *) hidden->source, 1, &columns);
	}
	table_close(table, AccessShareLock);
	return bms_is_member(user->attnum - FirstLowInvalidHeapAttributeNumber, columns);
}

void
tsurugi_check_row_type(Oid relation, const AlterTableStmt *statement)
{
	Oid type = get_rel_type_id(relation);
	bool changes = false;
	List *users;
	ListCell *cell;

	foreach (cell, statement->cmds)
		changes |= lfirst_node(AlterTableCmd, cell)->subtype == AT_AlterColumnType;
	if (changes)
		tsurugi_altered_retypes();
	users = changes && OidIsValid(type) ? sorted_users(type, true) : NIL;
	if (users != NIL)
		refuse(type, linitial(users));
}

void
tsurugi_check_row_type_filled(Relation relation)
{
	List *users = sorted_users(relation->rd_rel->reltype, true);

	find_composite_type_dependencies(relation->rd_rel->reltype, relation, NULL);
	if (users != NIL)
		refuse(relation->rd_rel->reltype, linitial(users));
}

static void
store_anew(Oid table)
{
	LockRelationOid(table, AccessExclusiveLock);
	CacheInvalidateRelcacheByRelid(table);
	tsurugi_altered_store_anew(table);
}

/* Stores tables anew whose keys contain such traces of the values. */
static void
store_keys_anew(const List *users, Trace trace)
{
	ListCell *cell;

	foreach (cell, users)
		if (is_in_key(lfirst(cell), trace))
			store_anew(((type_user *) lfirst(cell))->table);
}

void
tsurugi_follow_lost_columns(Oid relation)
{
	Oid type = get_rel_type_id(relation);

	if (OidIsValid(type))
		store_keys_anew(sorted_users(type, true), TRACE_ANY);
}

/* The column in its new form, which is not visible yet. */
static FormData_pg_attribute
column_to_be(Oid relation, AttrNumber attnum)
{
	Relation attributes = table_open(AttributeRelationId, AccessShareLock);
	FormData_pg_attribute column = {0};
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	ScanKeyInit(&key[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(attnum));
	scan = systable_beginscan(attributes, AttributeRelidNumIndexId, true, SnapshotSelf, 2, key);
	tuple = systable_getnext(scan);
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "could not find new column %d of relation %u", attnum, relation);
	memcpy(&column, GETSTRUCT(tuple), ATTRIBUTE_FIXED_PART_SIZE);
	systable_endscan(scan);
	table_close(attributes, AccessShareLock);
	return column;
}

void
tsurugi_check_altered_column(Oid relation, AttrNumber attnum)
{
	Oid type = get_rel_type_id(relation);
	List *users = OidIsValid(type) ? sorted_users(type, true) : NIL;
	FormData_pg_attribute column;
	Oid old_type;
	int32 old_typmod;
	Oid old_collation;

	if (users == NIL)
		return;
	column = column_to_be(relation, attnum);
	get_atttypetypmodcoll(relation, attnum, &old_type, &old_typmod, &old_collation);
	if (column.atttypid != old_type || column.atttypmod != old_typmod || column.attcollation != old_collation)
		refuse(type, linitial(users));
}

/*
 * Ranked values are kept in the form in which they got their ranks (ranking.h), also those of a
 * transaction that is rolled back.  In such a value the new column may have a type that the column
 * does not have in the end.  So tables with such keys are stored anew, and the ranked values are
 * replaced with the storage.
 */
void
tsurugi_follow_new_column(Oid relation, AttrNumber attnum)
{
	Oid type = get_rel_type_id(relation);
	List *users = OidIsValid(type) ? sorted_users(type, true) : NIL;
	bool ordered = true;
	bool sorted = true;
	FormData_pg_attribute column;
	ListCell *cell;

	store_keys_anew(users, TRACE_RANKS);
	foreach (cell, users)
	{
		if (!is_in_key(lfirst(cell), TRACE_BYTES))
			users = foreach_delete_current (users, cell);
	}
	if (users == NIL)
		return;
	column = column_to_be(relation, attnum);
	if (!tsurugi_canonical_part_is_possible(column.atttypid, column.attcollation, false, &ordered) ||
		!tsurugi_canonical_part_is_possible(column.atttypid, column.attcollation, true, &sorted) ||
		tsurugi_type_has_version(column.atttypid, column.attcollation))
		store_keys_anew(users, TRACE_BYTES);
	else if (!ordered)
	{
		foreach (cell, users)
			LockRelationOid(((type_user *) lfirst(cell))->table, AccessExclusiveLock);
		CacheInvalidateRelcacheAll();
	}
}

/* --- operator classes ------------------------------------------------------------------------- */

Oid
tsurugi_default_class_type(Oid class)
{
	Relation classes = table_open(OperatorClassRelationId, AccessShareLock);
	Oid input = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_opclass_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(class));
	scan = systable_beginscan(classes, OpclassOidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		const FormData_pg_opclass *form = (Form_pg_opclass) GETSTRUCT(tuple);

		if (form->opcdefault && (form->opcmethod == BTREE_AM_OID || form->opcmethod == HASH_AM_OID))
			input = form->opcintype;
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return input;
}

/*
 * Whether the type has one of these parts, which are compared by their present default operator
 * class.
 */
static bool
has_parts(Oid type, const List *parts)
{
	ListCell *cell;

	foreach (cell, parts)
		if (tsurugi_type_has_part(type, lfirst_oid(cell)))
			return true;
	return false;
}

/*
 * Whether a key contains something that depends on how such values are compared.  *possible: they
 * can still be compared.
 */
static bool
depends_on_parts(const tsurugi_hidden *hidden, const List *parts, bool *possible)
{
	List *values = hidden->gin != NULL ? (List *) hidden->source : list_make1(hidden->source);
	bool depends = false;
	ListCell *cell;

	if (!has_trace(hidden, TRACE_ANY))
		return false;
	foreach (cell, values)
	{
		Oid type = exprType(lfirst(cell));
		const TypeCacheEntry *entry;

		if (!has_parts(type, parts))
			continue;
		depends = true;
		entry = lookup_type_cache(getBaseType(type), TYPECACHE_CMP_PROC | TYPECACHE_HASH_PROC);
		*possible &= OidIsValid(OidIsValid(hidden->hash) ? entry->hash_proc : entry->cmp_proc);
	}
	return depends;
}

/* Without the class, an index of the table could neither be searched nor filled. */
static void
refuse_class(Relation table)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot take away the default operator class that keys of table \"%s\" are made by",
						   RelationGetRelationName(table)),
					errhint("Drop its indexes first, and make them again when there is another one.")));
}

static void
follow_classes(Oid table, const List *types)
{
	Relation relation = tsurugi_is_our_table(table) ? try_table_open(table, AccessShareLock) : NULL;
	const tsurugi_relation *described;
	const tg_table *stored;
	bool depends = false;
	bool possible = true;

	if (relation == NULL)
		return;
	described = tsurugi_relation_describe(relation);
	for (int i = 0; i < described->source_count; i++)
		depends |= depends_on_parts(&described->hidden[i], types, &possible);
	stored = tsurugi_storage_find(table);
	if (!possible)
		refuse_class(relation);
	if (depends || (stored != NULL && !tsurugi_storage_has_keys(stored, described)))
		store_anew(table);
	table_close(relation, AccessShareLock);
}

/* Sorted, as all lockers lock them. */
static List *
foreign_tables(void)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	List *tables = NIL;
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		tables = lappend_oid(tables, ((Form_pg_foreign_table) GETSTRUCT(tuple))->ftrelid);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	list_sort(tables, list_oid_cmp);
	return tables;
}

void
tsurugi_follow_classes(const List *types)
{
	List *known;
	ListCell *cell;

	tsurugi_type_order_settle(types);
	known = foreign_tables();
	foreach (cell, known)
		follow_classes(lfirst_oid(cell), types);
	tsurugi_type_order_change(types);
	foreach (cell, list_difference_oid(foreign_tables(), known))
		follow_classes(lfirst_oid(cell), types);
}

/* --- ALTER TYPE ... ADD VALUE ----------------------------------------------------------------- */

/*
 * The order of a type's values has ended: keys that rely on it are made in another way, from the
 * present rows.
 */
static void
follow_order(Oid table)
{
	Relation relation = table_open(table, AccessExclusiveLock);
	const tg_table *stored = tsurugi_storage_find(table);

	if (stored != NULL && !tsurugi_storage_has_keys(stored, tsurugi_relation_describe(relation)))
	{
		CheckTableNotInUse(relation, "ALTER TYPE");
		tsurugi_deferred_check_none(table, "ALTER TYPE");
		tsurugi_altered_note(table);
	}
	table_close(relation, NoLock);
}

/* Whether an expression of the index has values of the type, or values that contain it. */
static bool
computes(HeapTuple index, TupleDesc columns, Oid type)
{
	bool null;
	Datum expressions = heap_getattr(index, Anum_pg_index_indexprs, columns, &null);
	ListCell *cell;

	if (null)
		return false;
	foreach (cell, castNode(List, stringToNode(TextDatumGetCString(expressions))))
		if (list_member_oid(tsurugi_type_and_parts(exprType(lfirst(cell))), type))
			return true;
	return false;
}

/*
 * The tables in memory with columns that have or contain the type, or with indexes on such
 * expressions.  Sorted, as all lockers lock them.
 */
static List *
tables_with(Oid type)
{
	Relation indexes = table_open(IndexRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(indexes, InvalidOid, false, NULL, 0, NULL);
	List *tables = NIL;
	HeapTuple tuple;
	ListCell *cell;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid table = ((Form_pg_index) GETSTRUCT(tuple))->indrelid;

		if (tsurugi_is_our_table(table) && computes(tuple, RelationGetDescr(indexes), type))
			tables = list_append_unique_oid(tables, table);
	}
	systable_endscan(scan);
	table_close(indexes, AccessShareLock);
	foreach (cell, sorted_users(type, false))
		tables = list_append_unique_oid(tables, ((type_user *) lfirst(cell))->table);
	list_sort(tables, list_oid_cmp);
	return tables;
}

void
tsurugi_alter_enum(const tsurugi_utility *utility, const AlterEnumStmt *statement)
{
	Oid type = typenameTypeId(NULL, makeTypeNameFromNameList(copyObject(statement->typeName)));
	bool was_in_order = tsurugi_enum_is_in_order(type);
	List *known;
	ListCell *cell;

	tsurugi_utility_run(utility);
	CommandCounterIncrement();
	if (!was_in_order || tsurugi_enum_is_in_order(type))
		return;
	tsurugi_type_order_settle(list_make1_oid(type));
	known = tables_with(type);
	foreach (cell, known)
		follow_order(lfirst_oid(cell));
	tsurugi_type_order_change(list_make1_oid(type));
	foreach (cell, list_difference_oid(tables_with(type), known))
		follow_order(lfirst_oid(cell));
	CacheInvalidateRelcacheAll();
}

/* --- ALTER DOMAIN ----------------------------------------------------------------------------- */

/* Replaces the domain's value by the column, as a value of the domain's base type. */
static Node *
put_column(Node *node, void *column)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, CoerceToDomainValue))
	{
		const CoerceToDomainValue *value = (CoerceToDomainValue *) node;

		return (Node *) makeRelabelType(copyObject(column), value->typeId, value->typeMod, value->collation,
										COERCE_IMPLICIT_CAST);
	}
	return expression_tree_mutator(node, put_column, column);
}

static bool
is_checked(const FormData_pg_constraint *constraint)
{
	return constraint->contype == CONSTRAINT_CHECK && constraint->convalidated;
}

/* The validated CHECK constraints of the domain, as conditions on a column. */
static List *
conditions_of(Oid domain, Var *column)
{
	Relation constraints = table_open(ConstraintRelationId, AccessShareLock);
	List *conditions = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_constraint_contypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(domain));
	scan = systable_beginscan(constraints, ConstraintTypidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool null;
		Datum expression;

		if (!is_checked((Form_pg_constraint) GETSTRUCT(tuple)))
			continue;
		expression = heap_getattr(tuple, Anum_pg_constraint_conbin, RelationGetDescr(constraints), &null);
		if (!null)
			conditions = lappend(conditions, put_column(stringToNode(TextDatumGetCString(expression)), column));
	}
	systable_endscan(scan);
	table_close(constraints, AccessShareLock);
	return conditions;
}

static List *
not_null_condition(Var *column)
{
	NullTest *test = makeNode(NullTest);

	test->arg = (Expr *) column;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return list_make1(test);
}

static Oid
owner_of(Oid type)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	owner = ((Form_pg_type) GETSTRUCT(tuple))->typowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* Verifies the rows of one column. */
static void
verify_column(Oid domain, const type_user *user, bool not_null)
{
	Relation table = table_open(user->table, ShareLock);
	const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(table), user->attnum - 1);
	Var *column = makeVar(1, user->attnum, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
	List *conditions = not_null ? not_null_condition(column) : conditions_of(domain, column);
	bool met = tsurugi_table_satisfies(table, conditions, owner_of(domain));

	if (!met && not_null)
		ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
						errmsg("column \"%s\" of table \"%s\" contains null values", NameStr(attribute->attname),
							   RelationGetRelationName(table)),
						errtablecol(table, user->attnum)));
	if (!met)
		ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION),
						errmsg("column \"%s\" of table \"%s\" contains values that violate the new constraint",
							   NameStr(attribute->attname), RelationGetRelationName(table)),
						errtablecol(table, user->attnum)));
	table_close(table, NoLock);
}

/* Whether the statement adds a condition that values must satisfy. */
static bool
adds_condition(const AlterDomainStmt *statement)
{
	switch (statement->subtype)
	{
		case 'O': /* SET NOT NULL */
		case 'V': /* VALIDATE CONSTRAINT */
			return true;
		case 'C': /* ADD CONSTRAINT */
			return !castNode(Constraint, statement->def)->skip_validation;
		default:
			return false;
	}
}

void
tsurugi_alter_domain(const tsurugi_utility *utility, const AlterDomainStmt *statement)
{
	Oid domain;
	ListCell *cell;

	tsurugi_utility_run(utility);
	if (!adds_condition(statement))
		return;
	CommandCounterIncrement();
	domain = typenameTypeId(NULL, makeTypeNameFromNameList(copyObject(statement->typeName)));
	foreach (cell, sorted_users(domain, false))
	{
		const type_user *user = lfirst(cell);

		if (user->contains)
			refuse(domain, user);
		verify_column(domain, user, statement->subtype == 'O');
	}
}
