/*
 * commands.c
 *	  Statements that PostgreSQL has for its own tables only.
 *
 * For foreign tables PostgreSQL refuses, or ignores, COPY t TO, COPY ... FREEZE, LOCK TABLE,
 * VACUUM, CLUSTER, REINDEX, DROP TABLE, COMMENT and SECURITY LABEL ON TABLE, and ALTER EXTENSION
 * ... ADD TABLE.  Here each is executed in a form that works: as another statement of PostgreSQL's
 * where there is one, so that rights, options and messages stay PostgreSQL's.
 *
 * VACUUM, CLUSTER and REINDEX have files of their own.
 */
#include "postgres.h"

#include "src/ddl/commands.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/copy.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "src/copy/copy.h"
#include "src/ddl/cluster.h"
#include "src/ddl/create.h"
#include "src/ddl/index_command.h"
#include "src/ddl/reindex.h"
#include "src/ddl/vacuum.h"
#include "src/table/storage.h"

static bool
names_our_table(const RangeVar *name)
{
	return tsurugi_is_our_table(RangeVarGetRelid(name, NoLock, true));
}

static bool
names_view(const RangeVar *name)
{
	Oid relation = RangeVarGetRelid(name, NoLock, true);

	return OidIsValid(relation) && get_rel_relkind(relation) == RELKIND_VIEW;
}

/* --- COPY t TO -------------------------------------------------------------------------- */

static ResTarget *
make_target(const char *column)
{
	ResTarget *target = makeNode(ResTarget);
	ColumnRef *reference = makeNode(ColumnRef);

	reference->fields = list_make1(makeString(pstrdup(column)));
	reference->location = -1;
	target->val = (Node *) reference;
	target->location = -1;
	return target;
}

/* The columns that COPY writes when it names none: all but generated ones. */
static List *
copied_columns(Oid relation_id)
{
	Relation relation = table_open(relation_id, AccessShareLock);
	TupleDesc attributes = RelationGetDescr(relation);
	List *names = NIL;

	for (int i = 0; i < attributes->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(attributes, i);

		if (!attribute->attisdropped && attribute->attgenerated == '\0')
			names = lappend(names, makeString(pstrdup(NameStr(attribute->attname))));
	}
	table_close(relation, NoLock);
	return names;
}

/* PostgreSQL's checks of a column list; a query would raise other messages. */
static void
check_copied_columns(Oid relation, List *columns)
{
	ListCell *cell;

	foreach (cell, columns)
	{
		const char *name = strVal(lfirst(cell));
		AttrNumber attnum = get_attnum(relation, name);

		if (attnum <= 0)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" of relation \"%s\" does not exist", name, get_rel_name(relation))));
		if (get_attgenerated(relation, attnum) != '\0')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE), errmsg("column \"%s\" is a generated column", name),
					 errdetail("Generated columns cannot be used in COPY.")));
		for (ListCell *other = list_head(columns); other != cell; other = lnext(columns, other))
		{
			if (strcmp(strVal(lfirst(other)), name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN), errmsg("column \"%s\" specified more than once", name)));
		}
	}
}

static bool
names_column(const List *columns, const char *name)
{
	ListCell *cell;

	foreach (cell, columns)
		if (strcmp(strVal(lfirst(cell)), name) == 0)
			return true;
	return false;
}

/* As in BeginCopyTo, after the options. */
static void
check_quoted_columns(const tsurugi_utility *utility, Oid relation, List *options, const List *copied)
{
	ParseState *parse = make_parsestate(NULL);
	CopyFormatOptions read = {0};
	ListCell *cell;

	parse->p_sourcetext = utility->text;
	ProcessCopyOptions(parse, &read, false, options);
	free_parsestate(parse);
	check_copied_columns(relation, read.force_quote);
	foreach (cell, read.force_quote)
		if (!names_column(copied, strVal(lfirst(cell))))
			ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
							errmsg("FORCE_QUOTE column \"%s\" not referenced by COPY", strVal(lfirst(cell)))));
}

static void
copy_table_to(const tsurugi_utility *utility, CopyStmt *written)
{
	CopyStmt *copy = copyObject(written);
	Oid relation = RangeVarGetRelid(copy->relation, AccessShareLock, false);
	List *columns = copy->attlist != NIL ? copy->attlist : copied_columns(relation);
	SelectStmt *query = makeNode(SelectStmt);
	ListCell *cell;

	check_copied_columns(relation, copy->attlist);
	if (!tsurugi_copy_is_ours((Node *) written))
		check_quoted_columns(utility, relation, copy->options, columns);
	foreach (cell, columns)
		query->targetList = lappend(query->targetList, make_target(strVal(lfirst(cell))));
	copy->relation->inh = false;
	query->fromClause = list_make1(copy->relation);
	copy->query = (Node *) query;
	copy->relation = NULL;
	copy->attlist = NIL;
	tsurugi_utility_run_instead(utility, (Node *) copy);
}

/*
 * pg_dump reads the rows of a foreign table by COPY (SELECT ... FROM t) and means those of the
 * table alone: rows of inheriting tables would be in the dump twice.  pg_dump is recognized by its
 * setting that restricts views.
 */
static bool
copy_for_dump(const tsurugi_utility *utility, const CopyStmt *written)
{
	const SelectStmt *select = (const SelectStmt *) written->query;
	CopyStmt *copy;

	if ((restrict_nonsystem_relation_kind & RESTRICT_RELKIND_VIEW) == 0 || !IsA(select, SelectStmt) ||
		list_length(select->fromClause) != 1 || !IsA(linitial(select->fromClause), RangeVar) ||
		!names_our_table(linitial(select->fromClause)))
		return false;
	copy = copyObject((CopyStmt *) written);
	linitial_node(RangeVar, castNode(SelectStmt, copy->query)->fromClause)->inh = false;
	tsurugi_utility_run_instead(utility, (Node *) copy);
	return true;
}

/* --- COPY t FROM ------------------------------------------------------------------------ */

static bool
is_freeze(const DefElem *option)
{
	return strcmp(option->defname, "freeze") == 0 && defGetBoolean((DefElem *) option);
}

static bool
has_freeze(const CopyStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->options)
		if (is_freeze(lfirst_node(DefElem, cell)))
			return true;
	return false;
}

/*
 * Frozen rows concern PostgreSQL's tables only, but where PostgreSQL refuses FREEZE, the user is
 * told so here, too.  PostgreSQL allows it for tables that were created in the subtransaction.  For
 * a table that was emptied, or stored anew, in it the option is turned off.
 */
static bool
copy_without_freeze(const tsurugi_utility *utility, CopyStmt *written)
{
	CopyStmt *copy;
	ListCell *cell;

	if (!tsurugi_storage_is_fresh(RangeVarGetRelid(written->relation, NoLock, false)) || !has_freeze(written))
		return false;
	/*
	 * As in CopyFrom, which makes the same tests and reports the failure.  The second one leaves a
	 * scan of a hash table open when it fails, so nothing else than an error may follow.
	 */
	InvalidateCatalogSnapshot();
	if (!ThereAreNoPriorRegisteredSnapshots() || !ThereAreNoReadyPortals())
		return false;
	copy = copyObject(written);
	foreach (cell, copy->options)
		if (is_freeze(lfirst_node(DefElem, cell)))
			lfirst_node(DefElem, cell)->arg = (Node *) makeBoolean(false);
	tsurugi_utility_run_instead(utility, (Node *) copy);
	return true;
}

/* --- LOCK TABLE ------------------------------------------------------------------------------ */

/* The rights that PostgreSQL requires for this mode (LockTableAclCheck). */
static void
check_lock_right(Oid relation, LOCKMODE mode, Oid user)
{
	AclMode rights = mode == AccessShareLock	? ACL_SELECT
					 : mode == RowExclusiveLock ? ACL_INSERT | ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE
												: ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE;

	if (pg_class_aclcheck(relation, user, rights) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relation)), get_rel_name(relation));
}

static void
check_before_lock(const RangeVar *name, Oid relation, Oid previous, void *mode)
{
	if (OidIsValid(relation))
		check_lock_right(relation, *(LOCKMODE *) mode, GetUserId());
}

static void
lock_child(Oid relation, LOCKMODE mode, bool nowait)
{
	if (!nowait)
		LockRelationOid(relation, mode);
	else if (!ConditionalLockRelationOid(relation, mode))
		ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
						errmsg("could not obtain lock on relation \"%s\"", get_rel_name(relation))));
}

static void
lock_children(Oid relation, LOCKMODE mode, bool nowait)
{
	List *tables;
	ListCell *cell;

	if (!has_subclass(relation))
		return;
	tables = find_all_inheritors(relation, NoLock, NULL);
	foreach (cell, tables)
	{
		if (lfirst_oid(cell) != relation)
			lock_child(lfirst_oid(cell), mode, nowait);
	}
}

static void
lock_our_table(const RangeVar *name, LOCKMODE mode, bool nowait)
{
	Oid relation = RangeVarGetRelidExtended(name, mode, nowait ? RVR_NOWAIT : 0, check_before_lock, &mode);

	if (name->inh)
		lock_children(relation, mode, nowait);
}

/*
 * A view that has been locked: PostgreSQL locks the relations below it, but not tables in memory
 * (LockViewRecurse).
 */
typedef struct LockedView
{
	Oid user; /* whose rights count */
	LOCKMODE mode;
	bool nowait;
	List *above;
} LockedView;

static void lock_below_view(Oid view_id, LOCKMODE mode, bool nowait, List *above);

static bool
lock_below(Node *node, LockedView *locked)
{
	ListCell *cell;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, lock_below, locked);
	foreach (cell, ((Query *) node)->rtable)
	{
		const RangeTblEntry *entry = lfirst(cell);

		if (entry->rtekind != RTE_RELATION || list_member_oid(locked->above, entry->relid))
			continue;
		if (entry->relkind == RELKIND_VIEW)
			lock_below_view(entry->relid, locked->mode, locked->nowait, locked->above);
		else if (tsurugi_is_our_table(entry->relid))
		{
			check_lock_right(entry->relid, locked->mode, locked->user);
			lock_child(entry->relid, locked->mode, locked->nowait);
			if (entry->inh)
				lock_children(entry->relid, locked->mode, locked->nowait);
		}
	}
	return query_tree_walker((Query *) node, lock_below, locked, QTW_IGNORE_JOINALIASES);
}

static void
lock_below_view(Oid view_id, LOCKMODE mode, bool nowait, List *above)
{
	Relation view = table_open(view_id, NoLock);
	LockedView locked = {.user = RelationHasSecurityInvoker(view) ? GetUserId() : view->rd_rel->relowner,
						 .mode = mode,
						 .nowait = nowait,
						 .above = lappend_oid(list_copy(above), view_id)};

	(void) lock_below((Node *) get_view_query(view), &locked);
	table_close(view, NoLock);
}

/* One after the other, in the order in which they are written, as PostgreSQL promises. */
static void
lock_tables(const tsurugi_utility *utility, LockStmt *written)
{
	ListCell *cell;

	RequireTransactionBlock(utility->context == PROCESS_UTILITY_TOPLEVEL, "LOCK TABLE");
	foreach (cell, written->relations)
	{
		RangeVar *name = lfirst(cell);

		if (names_our_table(name))
			lock_our_table(name, written->mode, written->nowait);
		else
		{
			LockStmt *lock = copyObject(written);

			lock->relations = list_make1(copyObject(name));
			tsurugi_utility_run_instead(utility, (Node *) lock);
			if (names_view(name))
				lock_below_view(RangeVarGetRelid(name, NoLock, false), written->mode, written->nowait, NIL);
		}
	}
}

/* --- rights ---------------------------------------------------------------------------------- */

void
tsurugi_check_owner(const RangeVar *name, Oid relation, Oid previous, void *argument)
{
	if (OidIsValid(relation) && !pg_class_ownercheck(relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)), name->relname);
}

bool
tsurugi_lock_our_table(const RangeVar *name, LOCKMODE mode, RangeVarGetRelidCallback check)
{
	return names_our_table(name) &&
		   tsurugi_is_our_table(RangeVarGetRelidExtended(name, mode, RVR_MISSING_OK, check, NULL));
}

/* --- DROP TABLE, COMMENT ON TABLE ----------------------------------------------- */

/* As DropErrorMsgWrongType. */
static void
error_is_no_table(const char *name, char kind)
{
	static const struct
	{
		char kind;
		const char *hint;
	} others[] = {{RELKIND_SEQUENCE, "Use DROP SEQUENCE to remove a sequence."},
				  {RELKIND_VIEW, "Use DROP VIEW to remove a view."},
				  {RELKIND_MATVIEW, "Use DROP MATERIALIZED VIEW to remove a materialized view."},
				  {RELKIND_INDEX, "Use DROP INDEX to remove an index."},
				  {RELKIND_PARTITIONED_INDEX, "Use DROP INDEX to remove an index."},
				  {RELKIND_COMPOSITE_TYPE, "Use DROP TYPE to remove a type."},
				  {RELKIND_FOREIGN_TABLE, "Use DROP FOREIGN TABLE to remove a foreign table."}};
	const char *hint = NULL;

	for (unsigned i = 0; i < lengthof(others); i++)
		if (others[i].kind == kind)
			hint = others[i].hint;
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a table", name),
					hint != NULL ? errhint("%s", hint) : 0));
}

/*
 * The checks of DROP TABLE before it locks a relation (RangeVarCallbackForDropRelation).  For a
 * partition the parent is locked first; argument: the Oid of the parent that the previous call
 * locked.
 */
static void
check_before_drop(const RangeVar *name, Oid relation, Oid previous, void *argument)
{
	Oid *above = argument;
	char kind;

	if (relation != previous && OidIsValid(*above))
	{
		UnlockRelationOid(*above, AccessExclusiveLock);
		*above = InvalidOid;
	}
	if (!OidIsValid(relation))
		return;
	kind = get_rel_relkind(relation);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE && !tsurugi_is_our_table(relation))
		error_is_no_table(name->relname, kind);
	if (!pg_class_ownercheck(relation, GetUserId()) &&
		!pg_namespace_ownercheck(get_rel_namespace(relation), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(kind), name->relname);
	if (relation != previous && get_rel_relispartition(relation))
	{
		*above = get_partition_parent(relation, true);
		if (OidIsValid(*above))
			LockRelationOid(*above, AccessExclusiveLock);
	}
}

/* Raises the messages of DropErrorMsgNonExistent. */
static void
tell_of_missing(const RangeVar *name, bool missing_ok)
{
	if (name->schemaname != NULL && !OidIsValid(LookupNamespaceNoError(name->schemaname)))
		ereport(missing_ok ? NOTICE : ERROR,
				(errcode(missing_ok ? ERRCODE_SUCCESSFUL_COMPLETION : ERRCODE_UNDEFINED_SCHEMA),
				 missing_ok ? errmsg("schema \"%s\" does not exist, skipping", name->schemaname)
							: errmsg("schema \"%s\" does not exist", name->schemaname)));
	else
		ereport(missing_ok ? NOTICE : ERROR,
				(errcode(missing_ok ? ERRCODE_SUCCESSFUL_COMPLETION : ERRCODE_UNDEFINED_TABLE),
				 missing_ok ? errmsg("table \"%s\" does not exist, skipping", name->relname)
							: errmsg("table \"%s\" does not exist", name->relname)));
}

/* Drops ordinary tables and those in memory together, because they may depend on each other. */
static void
drop_between(const tsurugi_utility *utility, void *written)
{
	const DropStmt *drop = written;
	ObjectAddresses *objects = new_object_addresses();
	ListCell *cell;

	foreach (cell, drop->objects)
	{
		RangeVar *name = makeRangeVarFromNameList(lfirst(cell));
		ObjectAddress object = {.classId = RelationRelationId};
		Oid above = InvalidOid;

		AcceptInvalidationMessages();
		object.objectId =
			RangeVarGetRelidExtended(name, AccessExclusiveLock, RVR_MISSING_OK, check_before_drop, &above);
		if (OidIsValid(object.objectId))
			add_exact_object_address(&object, objects);
		else
			tell_of_missing(name, drop->missing_ok);
	}
	performMultipleDeletions(objects, drop->behavior, 0);
	free_object_addresses(objects);
}

static bool
drop_tables(const tsurugi_utility *utility, DropStmt *written)
{
	bool any_ours = false;
	ListCell *cell;

	foreach (cell, written->objects)
		any_ours |= names_our_table(makeRangeVarFromNameList(lfirst(cell)));
	if (any_ours)
		tsurugi_utility_with_events(utility, (Node *) written, drop_between, written);
	return any_ours;
}

static bool
comment_on_table(const tsurugi_utility *utility, CommentStmt *written)
{
	CommentStmt *comment;

	if (!tsurugi_lock_our_table(makeRangeVarFromNameList(castNode(List, written->object)), ShareUpdateExclusiveLock,
								NULL))
		return false;
	comment = copyObject(written);
	comment->objtype = OBJECT_FOREIGN_TABLE;
	tsurugi_utility_run_instead(utility, (Node *) comment);
	return true;
}

/* ALTER EXTENSION ... ADD or DROP TABLE. */
static bool
add_to_extension(const tsurugi_utility *utility, AlterExtensionContentsStmt *written)
{
	AlterExtensionContentsStmt *member;

	if (written->objtype != OBJECT_TABLE || !names_our_table(makeRangeVarFromNameList(castNode(List, written->object))))
		return false;
	member = copyObject(written);
	member->objtype = OBJECT_FOREIGN_TABLE;
	tsurugi_utility_run_instead(utility, (Node *) member);
	return true;
}

static bool
label_table(const tsurugi_utility *utility, SecLabelStmt *written)
{
	SecLabelStmt *label;

	if (written->objtype != OBJECT_TABLE || !names_our_table(makeRangeVarFromNameList(castNode(List, written->object))))
		return false;
	label = copyObject(written);
	label->objtype = OBJECT_FOREIGN_TABLE;
	tsurugi_utility_run_instead(utility, (Node *) label);
	return true;
}

/* --- entry point ----------------------------------------------------------------------------- */

static bool
locks_our_table_or_view(const LockStmt *lock)
{
	ListCell *cell;

	foreach (cell, lock->relations)
	{
		if (names_our_table(lfirst(cell)) || names_view(lfirst(cell)))
			return true;
	}
	return false;
}

bool
tsurugi_command_run(const tsurugi_utility *utility)
{
	Node *tree = utility->statement->utilityStmt;

	if (IsA(tree, CopyStmt))
	{
		CopyStmt *copy = (CopyStmt *) tree;

		if (copy->relation == NULL)
			return copy_for_dump(utility, copy);
		if (!names_our_table(copy->relation))
			return false;
		if (copy->is_from)
			return copy_without_freeze(utility, copy);
		copy_table_to(utility, copy);
		return true;
	}
	if (IsA(tree, LockStmt) && locks_our_table_or_view((LockStmt *) tree))
	{
		lock_tables(utility, (LockStmt *) tree);
		return true;
	}
	if (IsA(tree, ExplainStmt))
		return tsurugi_create_explain(utility, (ExplainStmt *) tree);
	if (IsA(tree, VacuumStmt))
		return tsurugi_vacuum_run(utility, (VacuumStmt *) tree);
	if (IsA(tree, ClusterStmt))
		return tsurugi_cluster_run(utility, (ClusterStmt *) tree);
	if (IsA(tree, ReindexStmt))
		return tsurugi_reindex_run(utility, (ReindexStmt *) tree);
	if (IsA(tree, DropStmt) && ((DropStmt *) tree)->removeType == OBJECT_INDEX)
		return tsurugi_index_command_drop(utility, (DropStmt *) tree);
	if (IsA(tree, DropStmt) && ((DropStmt *) tree)->removeType == OBJECT_TABLE)
		return drop_tables(utility, (DropStmt *) tree);
	if (IsA(tree, CommentStmt) && ((CommentStmt *) tree)->objtype == OBJECT_TABLE)
		return comment_on_table(utility, (CommentStmt *) tree);
	if (IsA(tree, AlterExtensionContentsStmt))
		return add_to_extension(utility, (AlterExtensionContentsStmt *) tree);
	if (IsA(tree, SecLabelStmt))
		return label_table(utility, (SecLabelStmt *) tree);
	return false;
}
