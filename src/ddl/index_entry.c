/*
 * index_entry.c
 *	  Indexes of foreign tables as entries in PostgreSQL's catalogs.
 *
 * PostgreSQL refuses indexes and keys on foreign tables in its parser and in DefineIndex, not in
 * its catalogs: index_create() with SKIP_BUILD and PARTITIONED makes an entry of relkind 'I', which
 * has no storage.  PostgreSQL then knows the index (\d, ON CONFLICT, GROUP BY, names, dependencies,
 * DROP, pg_dump) and plans no path over it, because it plans none over a partitioned index.  A
 * plain 'i' would be opened by the planner, and crash it.
 *
 * The checks of DefineIndex are made here, with its messages; those of the access method in
 * index_method.c.
 *
 * This relies on exported functions, but on nothing that PostgreSQL promises: the regression tests
 * ddl, key and index cover each use.
 */
#include "postgres.h"

#include "src/ddl/index_entry.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "commands/comment.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_node.h"
#include "parser/parse_oper.h"
#include "parser/parse_utilcmd.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "src/base/catalog_row.h"
#include "src/base/owner.h"
#include "src/constraint/deferred_key.h"
#include "src/ddl/index_method.h"
#include "src/ddl/storage_parameters.h"
#include "src/ddl/type_order.h"
#include "src/table/keys.h"
#include "src/value/gin.h"
#include "src/value/served.h"

/* The arguments of index_create, collected column by column. */
typedef struct Definition
{
	Relation relation;
	const IndexStmt *statement;
	IndexInfo *info;
	Oid method;
	bool sorts; /* its columns may have directions */
	Datum parameters;
	List *names; /* of the columns */
	Oid collations[INDEX_MAX_KEYS];
	Oid types[INDEX_MAX_KEYS];
	Oid classes[INDEX_MAX_KEYS];
	int16 options[INDEX_MAX_KEYS];
} Definition;

/* --- statements for constraints -------------------------------------------------------------- */

static IndexElem *
make_element(const char *column)
{
	IndexElem *element = makeNode(IndexElem);

	element->name = pstrdup(column);
	element->ordering = SORTBY_DEFAULT;
	element->nulls_ordering = SORTBY_NULLS_DEFAULT;
	return element;
}

IndexStmt *
tsurugi_index_of_constraint(const Constraint *constraint)
{
	IndexStmt *index = makeNode(IndexStmt);
	ListCell *cell;

	index->unique = constraint->contype != CONSTR_EXCLUSION;
	index->primary = constraint->contype == CONSTR_PRIMARY;
	index->isconstraint = true;
	index->nulls_not_distinct = constraint->nulls_not_distinct;
	index->deferrable = constraint->deferrable;
	index->initdeferred = constraint->initdeferred;
	index->idxname = constraint->conname;
	index->accessMethod = constraint->access_method != NULL ? constraint->access_method : DEFAULT_INDEX_TYPE;
	index->options = constraint->options;
	index->tableSpace = constraint->indexspace;
	index->whereClause = constraint->where_clause;
	foreach (cell, constraint->exclusions)
	{
		index->indexParams = lappend(index->indexParams, linitial(lfirst(cell)));
		index->excludeOpNames = lappend(index->excludeOpNames, lsecond(lfirst(cell)));
	}
	foreach (cell, constraint->keys)
	{
		const char *column = strVal(lfirst(cell));
		ListCell *other;

		foreach (other, index->indexParams)
		{
			if (strcmp(lfirst_node(IndexElem, other)->name, column) == 0)
				ereport(ERROR, (errcode(ERRCODE_DUPLICATE_COLUMN),
								index->primary ? errmsg("column \"%s\" appears twice in primary key constraint", column)
											   : errmsg("column \"%s\" appears twice in unique constraint", column)));
		}
		index->indexParams = lappend(index->indexParams, make_element(column));
	}
	foreach (cell, constraint->including)
		index->indexIncludingParams = lappend(index->indexIncludingParams, make_element(strVal(lfirst(cell))));
	return index;
}

/* --- names, as DefineIndex chooses them -------------------------------------------------- */

/*
 * A name for a column of the index that no earlier column has; an expression has no name of its
 * own.
 */
static char *
choose_column_name(const IndexElem *element, List *before)
{
	const char *origin = element->indexcolname != NULL ? element->indexcolname
						 : element->name != NULL	   ? element->name
													   : "expr";
	char name[NAMEDATALEN];
	bool taken = true;

	strlcpy(name, origin, NAMEDATALEN);
	for (int number = 1; taken; number++)
	{
		ListCell *cell;

		taken = false;
		foreach (cell, before)
			taken |= strcmp(name, lfirst(cell)) == 0;
		if (taken)
		{
			char digits[16];
			int length;

			snprintf(digits, sizeof(digits), "%d", number);
			length = pg_mbcliplen(origin, strlen(origin), NAMEDATALEN - 1 - strlen(digits));
			memcpy(name, origin, length);
			strcpy(name + length, digits);
		}
	}
	return pstrdup(name);
}

/* For example "a_b_expr"; at most as long as a name may be. */
static char *
join_names(List *names)
{
	StringInfoData joined;
	ListCell *cell;

	initStringInfo(&joined);
	foreach (cell, names)
	{
		if (joined.len > 0)
			appendStringInfoChar(&joined, '_');
		appendStringInfoString(&joined, lfirst(cell));
		if (joined.len >= NAMEDATALEN)
			break;
	}
	if (joined.len >= NAMEDATALEN)
		joined.data[pg_mbcliplen(joined.data, joined.len, NAMEDATALEN - 1)] = '\0';
	return joined.data;
}

static char *
choose_name(const Definition *definition)
{
	const char *table = RelationGetRelationName(definition->relation);
	Oid namespace = RelationGetNamespace(definition->relation);

	if (definition->statement->primary)
		return ChooseRelationName(table, NULL, "pkey", namespace, true);
	if (definition->statement->excludeOpNames != NIL)
		return ChooseRelationName(table, join_names(definition->names), "excl", namespace, true);
	return ChooseRelationName(table, join_names(definition->names), definition->statement->isconstraint ? "key" : "idx",
							  namespace, definition->statement->isconstraint);
}

/* --- columns ------------------------------------------------------------------------------ */

/* Runs as the table's owner, because planning may call functions. */
static bool
is_mutable(Relation relation, Node *expression)
{
	tsurugi_caller caller;
	bool is;

	tsurugi_owner_begin(relation, &caller);
	is = contain_mutable_functions((Node *) expression_planner(copyObject((Expr *) expression)));
	tsurugi_owner_end(&caller);
	return is;
}

/* A column by its name. */
static void
set_attribute(Definition *definition, const char *name, int at, Oid *type_out, int32 *typmod_out, Oid *collation_out)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(definition->relation), name);
	const FormData_pg_attribute *attribute;

	if (attnum == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						definition->statement->isconstraint ? errmsg("column \"%s\" named in key does not exist", name)
															: errmsg("column \"%s\" does not exist", name)));
	attribute = attnum < 0 ? SystemAttributeDefinition(attnum)
						   : TupleDescAttr(RelationGetDescr(definition->relation), attnum - 1);
	definition->info->ii_IndexAttrNumbers[at] = attnum;
	*type_out = attribute->atttypid;
	*typmod_out = attribute->atttypmod;
	*collation_out = attribute->attcollation;
}

/* An expression, which may be nothing but a column in parentheses. */
static void
set_expression(Definition *definition, Node *expression, int at, Oid *type_out, int32 *typmod_out, Oid *collation_out)
{
	*type_out = exprType(expression);
	*typmod_out = exprTypmod(expression);
	*collation_out = exprCollation(expression);
	/* COLLATE has set the collation. */
	while (IsA(expression, CollateExpr))
		expression = (Node *) ((CollateExpr *) expression)->arg;
	if (IsA(expression, Var) && ((Var *) expression)->varattno != InvalidAttrNumber)
	{
		definition->info->ii_IndexAttrNumbers[at] = ((Var *) expression)->varattno;
		return;
	}
	if (is_mutable(definition->relation, expression))
		ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
						errmsg("functions in index expression must be marked IMMUTABLE")));
	definition->info->ii_IndexAttrNumbers[at] = 0;
	definition->info->ii_Expressions = lappend(definition->info->ii_Expressions, expression);
}

static Oid
choose_collation(const IndexElem *element, Oid type, Oid collation)
{
	if (element->collation != NIL)
		collation = get_collation_oid(element->collation, false);
	if (!type_is_collatable(type))
	{
		if (OidIsValid(collation))
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("collations are not supported by type %s", format_type_be(type))));
		return InvalidOid;
	}
	if (!OidIsValid(collation))
		ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_COLLATION),
						errmsg("could not determine which collation to use for index expression"),
						errhint("Use the COLLATE clause to set the collation explicitly.")));
	return collation;
}

static int16
sort_options(const Definition *definition, const IndexElem *element)
{
	bool descending = element->ordering == SORTBY_DESC;
	bool nulls_first = element->nulls_ordering == SORTBY_NULLS_FIRST ||
					   (element->nulls_ordering == SORTBY_NULLS_DEFAULT && descending);

	if (element->ordering == SORTBY_USING)
		elog(ERROR, "USING is not allowed in CREATE INDEX");
	if (!definition->sorts)
	{
		if (element->ordering != SORTBY_DEFAULT)
			tsurugi_index_method_refuse(definition->method, "ASC/DESC options");
		if (element->nulls_ordering != SORTBY_NULLS_DEFAULT)
			tsurugi_index_method_refuse(definition->method, "NULLS FIRST/LAST options");
		return 0;
	}
	return (descending ? INDOPTION_DESC : 0) | (nulls_first ? INDOPTION_NULLS_FIRST : 0);
}

static char *
name_of_family(Oid family)
{
	HeapTuple tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	char *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for opfamily %u", family);
	name = pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);
	return name;
}

static void
make_exclusion(IndexInfo *info, int column_count)
{
	info->ii_ExclusionOps = palloc(column_count * sizeof(Oid));
	info->ii_ExclusionProcs = palloc(column_count * sizeof(Oid));
	info->ii_ExclusionStrats = palloc(column_count * sizeof(uint16));
}

/* The checks that ComputeIndexAttrs makes of the operator that a column is excluded WITH. */
static void
set_exclusion(Definition *definition, int at, Oid type)
{
	IndexInfo *info = definition->info;
	List *name = list_nth(definition->statement->excludeOpNames, at);
	Oid operator= compatible_oper_opid(name, type, type, false);
	Oid family = get_opclass_family(definition->classes[at]);
	int strategy;

	if (get_commutator(operator) != operator)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("operator %s is not commutative", format_operator(operator)),
						errdetail("Only commutative operators can be used in exclusion constraints.")));
	strategy = get_op_opfamily_strategy(operator, family);
	if (strategy == 0)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("operator %s is not a member of operator family \"%s\"", format_operator(operator),
							   name_of_family(family)),
						errdetail("The exclusion operator must be related to the index operator class for the "
								  "constraint.")));
	info->ii_ExclusionOps[at] = operator;
	info->ii_ExclusionProcs[at] = get_opcode(operator);
	info->ii_ExclusionStrats[at] = (uint16) strategy;
}

static void
set_key_column(Definition *definition, const IndexElem *element, int at)
{
	Oid type;
	int32 typmod;
	Oid collation;

	if (element->name != NULL)
		set_attribute(definition, element->name, at, &type, &typmod, &collation);
	else
		set_expression(definition, element->expr, at, &type, &typmod, &collation);
	tsurugi_type_order_hold(type);
	definition->info->ii_OpclassOptions[at] =
		transformRelOptions((Datum) 0, element->opclassopts, NULL, NULL, false, false);
	definition->collations[at] = choose_collation(element, type, collation);
	definition->classes[at] =
		ResolveOpClass(element->opclass, type, definition->statement->accessMethod, definition->method);
	definition->types[at] = type;
	definition->options[at] = sort_options(definition, element);
	if (definition->info->ii_ExclusionOps != NULL)
		set_exclusion(definition, at, type);
	else
		tsurugi_served_tell(definition->method, definition->classes[at], type, definition->collations[at]);
}

static void
refuse_of_included(const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION), errmsg("including column does not support %s", what)));
}

/* A column that is only stored beside the key. */
static void
set_included_column(Definition *definition, const IndexElem *element, int at)
{
	Oid type;
	int32 typmod;
	Oid collation;

	if (element->collation != NIL)
		refuse_of_included("a collation");
	if (element->opclass != NIL)
		refuse_of_included("an operator class");
	if (element->ordering != SORTBY_DEFAULT)
		refuse_of_included("ASC/DESC options");
	if (element->nulls_ordering != SORTBY_NULLS_DEFAULT)
		refuse_of_included("NULLS FIRST/LAST options");
	if (element->name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("expressions are not supported in included columns")));
	set_attribute(definition, element->name, at, &type, &typmod, &collation);
}

static void
set_columns(Definition *definition)
{
	List *elements = list_concat_copy(definition->statement->indexParams, definition->statement->indexIncludingParams);
	int key_count = list_length(definition->statement->indexParams);
	ListCell *cell;

	foreach (cell, elements)
		definition->names = lappend(definition->names, choose_column_name(lfirst(cell), definition->names));
	foreach (cell, elements)
	{
		int at = foreach_current_index(cell);

		if (at < key_count)
			set_key_column(definition, lfirst(cell), at);
		else
			set_included_column(definition, lfirst(cell), at);
	}
}

/* --- the entry --------------------------------------------------------------------------- */

static void
check_options(const IndexStmt *statement)
{
	if (list_length(statement->indexParams) + list_length(statement->indexIncludingParams) > INDEX_MAX_KEYS)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
						errmsg("cannot use more than %d columns in an index", INDEX_MAX_KEYS)));
}

/* The tablespace only says where the index will be when the table becomes an ordinary one. */
static Oid
tablespace_of(const IndexStmt *statement)
{
	return statement->tableSpace != NULL ? get_tablespace_oid(statement->tableSpace, false)
										 : GetDefaultTablespace(RELPERSISTENCE_PERMANENT, false);
}

static void
check_right_to_create(Relation relation)
{
	Oid namespace = RelationGetNamespace(relation);
	AclResult result = pg_namespace_aclcheck(namespace, GetUserId(), ACL_CREATE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SCHEMA, get_namespace_name(namespace));
}

/*
 * Checks the rights to types that expressions name; those of columns were checked when the table
 * was made.
 */
static void
check_right_to_types(const Definition *definition)
{
#if PG_VERSION_NUM >= 150019
	List *stored = list_concat_copy(definition->info->ii_Expressions, definition->info->ii_Predicate);
	ListCell *cell;

	foreach (cell, stored)
		CheckUsageOnTypesInSingleRelExpr(lfirst(cell), RelationGetRelid(definition->relation), GetUserId());
#endif
}

static void
set_predicate(Definition *definition)
{
	Node *predicate = definition->statement->whereClause;

	if (predicate == NULL)
		return;
	if (is_mutable(definition->relation, predicate))
		ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
						errmsg("functions in index predicate must be marked IMMUTABLE")));
	definition->info->ii_Predicate = make_ands_implicit((Expr *) predicate);
}

/* Neither columns, nor expressions or the condition may be about system columns. */
static void
check_no_system_columns(const Definition *definition)
{
	const IndexInfo *info = definition->info;
	Bitmapset *attributes = NULL;

	pull_varattnos((Node *) info->ii_Expressions, 1, &attributes);
	pull_varattnos((Node *) info->ii_Predicate, 1, &attributes);
	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		attributes = bms_add_member(attributes, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	for (int attnum = FirstLowInvalidHeapAttributeNumber + 1; attnum < 0; attnum++)
	{
		if (bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, attributes))
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("index creation on system columns is not supported")));
	}
}

Oid
tsurugi_index_entry_create(Relation relation, IndexStmt *statement, const char *text, bool check_rights)
{
	Definition definition = {.relation = relation, .statement = statement};
	bits16 flags = INDEX_CREATE_SKIP_BUILD | INDEX_CREATE_PARTITIONED;
	int key_count = list_length(statement->indexParams);
	char *name;
	Oid index;

	tg_assert(CheckRelationLockedByMe(relation, statement->concurrent ? ShareUpdateExclusiveLock : ShareLock, true));
	definition.method = tsurugi_index_method_choose(statement);
	definition.parameters = transformRelOptions((Datum) 0, statement->options, NULL, NULL, false, false);
	if (check_rights)
		tsurugi_check_tablespace(statement->tableSpace);
	check_options(statement);
	definition.sorts = tsurugi_index_method_check(definition.method, statement, definition.parameters);
	if (check_rights)
		check_right_to_create(relation);
	if (!statement->transformed)
		definition.statement = statement = transformIndexStmt(RelationGetRelid(relation), statement, text);
	definition.info =
		makeIndexInfo(key_count + list_length(statement->indexIncludingParams), key_count, definition.method, NIL, NIL,
					  statement->unique, statement->nulls_not_distinct, true, false);
	definition.info->ii_OpclassOptions = palloc0(definition.info->ii_NumIndexAttrs * sizeof(Datum));
	if (statement->excludeOpNames != NIL)
		make_exclusion(definition.info, key_count);
	set_columns(&definition);
	set_predicate(&definition);
	if (check_rights)
		check_right_to_types(&definition);
	if (statement->primary)
	{
		index_check_primary_key(relation, definition.info, true, statement);
		flags |= INDEX_CREATE_IS_PRIMARY;
	}
	check_no_system_columns(&definition);
	if (statement->isconstraint)
		flags |= INDEX_CREATE_ADD_CONSTRAINT;
	if (statement->if_not_exists)
		flags |= INDEX_CREATE_IF_NOT_EXISTS;
	if (statement->concurrent)
		flags |= INDEX_CREATE_INVALID; /* until it is filled */
	name = statement->idxname != NULL ? statement->idxname : choose_name(&definition);
	index = index_create(relation, name, InvalidOid, InvalidOid, InvalidOid, InvalidOid, definition.info,
						 definition.names, definition.method, tablespace_of(statement), definition.collations,
						 definition.classes, definition.options, definition.parameters, flags, 0, false, false, NULL);
	if (!OidIsValid(index))
		return InvalidOid;
	if (statement->excludeOpNames == NIL)
		tsurugi_served_record(index, definition.method, definition.classes, definition.types, definition.collations,
							  key_count);
	if (statement->deferrable)
		tsurugi_key_set_deferrable(relation, index, statement->initdeferred);
	if (statement->idxcomment != NULL)
		CreateComments(index, RelationRelationId, 0, statement->idxcomment);
	CommandCounterIncrement();
	return index;
}

/* --- constraints of existing indexes --------------------------------------------------------- */

static void
refuse_index(const char *problem, Relation index, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg(problem, RelationGetRelationName(index)),
					detail != NULL ? errdetail("%s", detail) : 0));
}

static void
check_adoptable(Relation relation, Relation index, bool primary)
{
	static const char *const detail = "Cannot create a primary key or unique constraint using such an index.";
	const oidvector *classes;
	bool null;

	if (OidIsValid(get_index_constraint(RelationGetRelid(index))))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is already associated with a constraint", RelationGetRelationName(index))));
	if (index->rd_index->indrelid != RelationGetRelid(relation))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("index \"%s\" does not belong to table \"%s\"", RelationGetRelationName(index),
							   RelationGetRelationName(relation))));
	if (!index->rd_index->indisvalid)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("index \"%s\" is not valid", RelationGetRelationName(index))));
	if (!index->rd_index->indisunique)
		refuse_index("\"%s\" is not a unique index", index, detail);
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL))
		refuse_index("index \"%s\" contains expressions", index, detail);
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		refuse_index("\"%s\" is a partial index", index, detail);
	classes = (const oidvector *) DatumGetPointer(
		SysCacheGetAttr(INDEXRELID, index->rd_indextuple, Anum_pg_index_indclass, &null));
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		const FormData_pg_attribute *attribute =
			TupleDescAttr(RelationGetDescr(relation), index->rd_index->indkey.values[i] - 1);

		if (index->rd_indoption[i] != 0 || index->rd_indcollation[i] != attribute->attcollation ||
			classes->values[i] != GetDefaultOpClass(attribute->atttypid, BTREE_AM_OID))
			ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
							errmsg("index \"%s\" column number %d does not have default sorting behavior",
								   RelationGetRelationName(index), i + 1),
							errdetail("%s", detail)));
	}
	if (primary && index->rd_index->indnullsnotdistinct)
		refuse_index("primary keys cannot use NULLS NOT DISTINCT indexes: \"%s\"", index, NULL);
}

void
tsurugi_index_entry_adopt(Relation relation, const Constraint *constraint, const char *text)
{
	Oid namespace = RelationGetNamespace(relation);
	Oid oid = get_relname_relid(constraint->indexname, namespace);
	bool primary = constraint->contype == CONSTR_PRIMARY;
	char *name = constraint->conname;
	ParseState *parse = make_parsestate(NULL);
	ParseCallbackState position;
	IndexInfo *info;
	Relation index;

	parse->p_sourcetext = text;
	setup_parser_errposition_callback(&position, parse, constraint->location);
	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("index \"%s\" does not exist", constraint->indexname)));
	index = index_open(oid, AccessShareLock);
	check_adoptable(relation, index, primary);
	cancel_parser_errposition_callback(&position);
	free_parsestate(parse);
	info = BuildDummyIndexInfo(index); /* there are no expressions */
	if (primary)
		index_check_primary_key(relation, info, true, NULL);
	if (name == NULL)
		name = pstrdup(constraint->indexname);
	index_close(index, NoLock);
	if (strcmp(name, constraint->indexname) != 0)
	{
		ereport(NOTICE, (errmsg("ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"%s\" to \"%s\"",
								constraint->indexname, name)));
		RenameRelationInternal(oid, name, false, true);
		CommandCounterIncrement();
	}
	(void) index_constraint_create(relation, oid, InvalidOid, info, name,
								   primary ? CONSTRAINT_PRIMARY : CONSTRAINT_UNIQUE,
								   INDEX_CONSTR_CREATE_UPDATE_INDEX | INDEX_CONSTR_CREATE_REMOVE_OLD_DEPS |
									   (primary ? INDEX_CONSTR_CREATE_MARK_AS_PRIMARY : 0),
								   false, false);
	if (constraint->deferrable)
		tsurugi_key_set_deferrable(relation, oid, constraint->initdeferred);
	CommandCounterIncrement();
}

/* --- validity ------------------------------------------------------------------- */

void
tsurugi_index_entry_set_ready(Relation relation, Oid index, bool ready)
{
	tsurugi_catalog_row row;
	Form_pg_index form = tsurugi_index_row_open(index, &row);

	if (form->indislive && form->indisready == ready)
	{
		tsurugi_catalog_row_close(&row);
		return;
	}
	form->indislive = true;
	form->indisready = ready;
	tsurugi_catalog_row_write(&row);
	CacheInvalidateRelcache(relation);
	CommandCounterIncrement();
}

void
tsurugi_index_entry_validate(Relation relation, Oid index)
{
	if (get_index_isvalid(index))
		return;
	index_set_state_flags(index, INDEX_CREATE_SET_VALID);
	CacheInvalidateRelcache(relation); /* plans, too */
	CommandCounterIncrement();
}

/* --- owners ---------------------------------------------------------------------------------- */

void
tsurugi_index_entries_own(Relation relation)
{
	List *indexes = RelationGetIndexList(relation);
	ListCell *cell;

	foreach (cell, indexes)
	{
		if (tsurugi_owner_of(lfirst_oid(cell)) != relation->rd_rel->relowner)
			ATExecChangeOwner(lfirst_oid(cell), relation->rd_rel->relowner, true, AccessExclusiveLock);
	}
	list_free(indexes);
}
