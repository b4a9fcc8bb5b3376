/*
 * altered.c
 *	  Changes of tables while a DDL statement runs.
 *
 * The object access hook sees each actual change of a relation, whichever statement causes it
 * (CASCADE, DROP OWNED, a parent's ALTER).  Dropped tables, databases and roles are noted for the
 * commit.  Added columns, dropped indexes and changed owners are noted in the list of the innermost
 * DDL statement; at its end the storages follow.  Relations that have lost a column are examined
 * then, too, because a table whose keys were built from the column may be dropped later in the same
 * statement.  Objects dropped outside of statements go as a whole, with the session's temporary
 * schema.
 */
#include "postgres.h"

#include "src/ddl/altered.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_opclass.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "commands/tablecmds.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/rewrite.h"
#include "src/ddl/type_users.h"
#include "src/table/storage.h"
#include "src/txn/deferred.h"
#include "src/txn/lease_owners.h"
#include "src/txn/snapshot_export.h"

static object_access_hook_type previous_object_access_hook;

/* A table whose storage, or the owner of whose indexes, must follow the catalogs. */
struct tsurugi_altered
{
	tsurugi_altered *next;
	Oid relation;
	/* Compare the storage with the catalogs; otherwise only the owner changes. */
	bool stored;
	bool anew;		  /* replace the storage in any case */
	Bitmapset *added; /* attribute numbers */
	/* How columns get another type, or NULL. */
	tsurugi_retype *retype;
};

static tsurugi_ddl_statement *innermost;

static MemoryContext
statement_context(void)
{
	if (innermost->context == NULL)
		innermost->context = AllocSetContextCreate(TopMemoryContext, "tsurugi_fdw DDL", ALLOCSET_SMALL_SIZES);
	return innermost->context;
}

static tsurugi_altered *
find_altered(Oid relation)
{
	tsurugi_altered **link;
	tsurugi_altered *altered;

	for (link = &innermost->altered; *link != NULL; link = &(*link)->next)
	{
		if ((*link)->relation == relation)
			return *link;
	}
	altered = MemoryContextAllocZero(statement_context(), sizeof(*altered));
	altered->relation = relation;
	*link = altered; /* in the order in which PostgreSQL comes to them */
	return altered;
}

static tsurugi_altered *
note_altered(Oid relation)
{
	tsurugi_altered *altered = find_altered(relation);

	altered->stored = true;
	return altered;
}

static void
note_added_column(Oid relation, AttrNumber attnum)
{
	tsurugi_altered *altered = note_altered(relation);
	MemoryContext caller = MemoryContextSwitchTo(innermost->context);

	altered->added = bms_add_member(altered->added, attnum);
	MemoryContextSwitchTo(caller);
}

static void
note_lost_column(Oid relation)
{
	MemoryContext caller = MemoryContextSwitchTo(statement_context());

	innermost->shrunk = list_append_unique_oid(innermost->shrunk, relation);
	MemoryContextSwitchTo(caller);
}

/*
 * Noted at once: an operator class that is being created is not visible yet, and one that is being
 * dropped will not be any more.
 */
static void
note_operator_class(Oid class)
{
	Oid type = tsurugi_default_class_type(class);
	MemoryContext caller = MemoryContextSwitchTo(statement_context());

	if (OidIsValid(type))
		innermost->compared = list_append_unique_oid(innermost->compared, type);
	MemoryContextSwitchTo(caller);
}

static void
relation_is_dropped(Oid relation)
{
	if (tsurugi_is_our_table(relation))
	{
		tsurugi_deferred_check_none(relation, "DROP TABLE");
		tsurugi_storage_drop(relation);
	}
	else if (get_rel_relkind(relation) == RELKIND_PARTITIONED_INDEX && innermost != NULL)
	{
		Oid table = IndexGetRelation(relation, true);

		if (OidIsValid(table) && tsurugi_is_our_table(table))
			(void) note_altered(table);
	}
}

static void
object_is_accessed(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *argument)
{
	if (previous_object_access_hook != NULL)
		previous_object_access_hook(access, class_id, object_id, sub_id, argument);
	if (access == OAT_FUNCTION_EXECUTE)
		tsurugi_export_note_function(object_id);
	else if (class_id == RelationRelationId && access == OAT_DROP && sub_id == 0)
		relation_is_dropped(object_id);
	else if (class_id == RelationRelationId && access == OAT_DROP && innermost != NULL)
		note_lost_column(object_id);
	else if (class_id == RelationRelationId && access == OAT_TRUNCATE)
		tsurugi_deferred_check_none(object_id, "TRUNCATE");
	else if (class_id == RelationRelationId && access == OAT_POST_CREATE && sub_id > 0 && innermost != NULL)
	{
		tsurugi_follow_new_column(object_id, (AttrNumber) sub_id);
		if (tsurugi_is_our_table(object_id))
			note_added_column(object_id, sub_id);
	}
	else if (class_id == RelationRelationId && access == OAT_POST_ALTER && sub_id > 0 && innermost != NULL &&
			 innermost->retypes)
		tsurugi_check_altered_column(object_id, (AttrNumber) sub_id);
	else if (class_id == RelationRelationId && access == OAT_POST_ALTER && sub_id == 0 && innermost != NULL &&
			 tsurugi_is_our_table(object_id))
		(void) find_altered(object_id);
	else if (class_id == OperatorClassRelationId && (access == OAT_POST_CREATE || access == OAT_DROP) &&
			 innermost != NULL)
		note_operator_class(object_id);
	else if (class_id == AccessMethodOperatorRelationId && access == OAT_DROP && innermost != NULL)
		tsurugi_altered_regroups();
	else if (class_id == DatabaseRelationId && access == OAT_DROP)
	{
		tsurugi_lease_check_database(object_id);
		tsurugi_storage_drop_database(object_id);
	}
	else if (class_id == AuthIdRelationId && access == OAT_DROP)
		tsurugi_lease_drop_role(object_id);
}

/*
 * Unless the storage changes, the statement may hold a weaker lock on the table than
 * AccessExclusiveLock.
 */
static void
follow(const tsurugi_altered *altered)
{
	Relation relation;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(altered->relation)))
		return;
	relation = table_open(altered->relation, altered->stored ? AccessExclusiveLock : AccessShareLock);
	tsurugi_index_entries_own(relation);
	tsurugi_storage_follow_owner(relation);
	if (altered->stored && innermost->announced != NULL)
	{
		int reason = tsurugi_table_rewrite_reason(relation, altered->added, altered->retype);

		if (reason != 0)
			EventTriggerTableRewrite(innermost->announced, altered->relation, reason);
	}
	if (altered->anew)
	{
		CheckTableNotInUse(relation, CreateCommandName(innermost->tree));
		tsurugi_deferred_check_none(altered->relation, CreateCommandName(innermost->tree));
	}
	if (altered->stored)
		tsurugi_table_follow(relation, altered->added, altered->retype, altered->anew);
	table_close(relation, NoLock);
}

/*
 * For a script that creates or drops many classes, such as an extension's: tables are examined
 * once, at the end of the statement that runs the script.  Until then the script itself finds the
 * keys of such a table in another form (keys_same.c).
 */
static void
leave_classes_to_outer(void)
{
	tsurugi_ddl_statement *inner = innermost;
	MemoryContext caller;

	innermost = inner->outer;
	caller = MemoryContextSwitchTo(statement_context());
	innermost->compared = list_concat_unique_oid(innermost->compared, inner->compared);
	innermost->regroups |= inner->regroups;
	MemoryContextSwitchTo(caller);
	innermost = inner;
}

void
tsurugi_altered_follow(void)
{
	bool changes_classes = innermost->compared != NIL || innermost->regroups;
	ListCell *cell;

	if (innermost->altered == NULL && innermost->shrunk == NIL && !changes_classes)
		return;
	CommandCounterIncrement();
	foreach (cell, innermost->shrunk)
		tsurugi_follow_lost_columns(lfirst_oid(cell));
	innermost->shrunk = NIL;
	if (changes_classes && creating_extension && innermost->outer != NULL)
		leave_classes_to_outer();
	else if (changes_classes)
	{
		tsurugi_follow_classes(innermost->compared);
		CommandCounterIncrement();
	}
	innermost->compared = NIL;
	innermost->regroups = false;
	for (tsurugi_altered *altered = innermost->altered; altered != NULL; altered = altered->next)
		follow(altered);
	innermost->altered = NULL;
}

void
tsurugi_altered_announce(Node *tree)
{
	innermost->announced = tree;
}

void
tsurugi_altered_note(Oid relation)
{
	(void) note_altered(relation);
}

void
tsurugi_altered_store_anew(Oid relation)
{
	note_altered(relation)->anew = true;
}

void
tsurugi_altered_retypes(void)
{
	tg_assert(innermost != NULL);
	innermost->retypes = true;
}

void
tsurugi_altered_regroups(void)
{
	innermost->regroups = true;
}

void
tsurugi_altered_forget(Oid relation)
{
	for (tsurugi_altered **link = &innermost->altered; *link != NULL;)
	{
		if ((*link)->relation == relation)
			*link = (*link)->next;
		else
			link = &(*link)->next;
	}
}

tsurugi_retype **
tsurugi_altered_retype(Oid relation, MemoryContext *caller_out)
{
	tsurugi_altered *altered = note_altered(relation);

	*caller_out = MemoryContextSwitchTo(innermost->context);
	return &altered->retype;
}

void
tsurugi_altered_begin(tsurugi_ddl_statement *statement, Node *tree)
{
	*statement = (tsurugi_ddl_statement){.outer = innermost, .tree = tree};
	innermost = statement;
}

void
tsurugi_altered_end(tsurugi_ddl_statement *statement)
{
	tg_assert(innermost == statement);
	innermost = statement->outer;
	if (statement->context != NULL)
		MemoryContextDelete(statement->context);
}

void
tsurugi_altered_init(void)
{
	previous_object_access_hook = object_access_hook;
	object_access_hook = object_is_accessed;
}
