/*
 * access_method.c
 *	  ALTER TABLE ... SET ACCESS METHOD: a table moves into memory, or back (table_move.c).
 *
 * Other changes in the same statement become another ALTER TABLE, before the move or after it.  If
 * they make PostgreSQL rewrite the table, it is written twice, and event triggers see it twice.
 */
#include "postgres.h"

#include "src/ddl/access_method.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/ddl/create.h"
#include "src/ddl/inherit_place.h"
#include "src/ddl/table_move.h"
#include "src/table/relation.h"

/* A table to be moved, as PostgreSQL's users know it, and the changes to make. */
typedef struct Moving
{
	Oid relation;
	const char *method;
	AlterTableStmt *written;
	List *before; /* the commands beside SET ACCESS METHOD */
	List *after;
} Moving;

/*
 * To PostgreSQL the order of the commands has no meaning, and the access method changes after
 * everything else.  So a table that moves into memory is first altered as the ordinary table that
 * it still is; only a change of its owner comes later, because the move requires the present
 * owner's rights.  A table that moves out of memory is altered as the ordinary table that it has
 * become, because some of the changes are impossible for tables in memory.
 */
static void
divide(Moving *moving)
{
	bool into_memory = strcmp(moving->method, TSURUGI_METHOD) == 0;
	ListCell *cell;

	foreach (cell, moving->written->cmds)
	{
		AlterTableCmd *command = lfirst(cell);

		if (command->subtype == AT_SetAccessMethod)
			continue;
		if (into_memory && command->subtype != AT_ChangeOwner)
			moving->before = lappend(moving->before, command);
		else
			moving->after = lappend(moving->after, command);
	}
}

static void
run_commands(const tsurugi_utility *utility, const AlterTableStmt *written, List *commands)
{
	AlterTableStmt *part;

	if (commands == NIL)
		return;
	part = makeNode(AlterTableStmt);
	part->relation = copyObject(written->relation);
	part->cmds = copyObject(commands);
	part->objtype = OBJECT_TABLE;
	tsurugi_utility_run_part(utility, (Node *) part);
	CommandCounterIncrement();
}

/*
 * Event triggers see a table rewrite, as in PostgreSQL.  They do not see the objects that are
 * created and dropped for it.
 */
static ObjectAddress
move_hidden(const Moving *moving)
{
	ObjectAddress address = {.classId = RelationRelationId};
	bool hides;

	EventTriggerTableRewrite((Node *) moving->written, moving->relation, AT_REWRITE_ACCESS_METHOD);
	hides = EventTriggerBeginCompleteQuery();
	PG_TRY();
	{
		address.objectId = tsurugi_move_table(moving->relation, moving->method);
	}
	PG_FINALLY();
	{
		if (hides)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
	return address;
}

static void
move_between(const tsurugi_utility *utility, void *argument)
{
	const Moving *moving = argument;
	ObjectAddress address;

	run_commands(utility, moving->written, moving->before);
	if (moving->before != NIL)
		tsurugi_lock_with_kin(moving->relation); /* it may have more kin now */
	address = move_hidden(moving);
	if (moving->after == NIL)
		EventTriggerCollectSimpleCommand(address, InvalidObjectAddress, (Node *) moving->written);
	run_commands(utility, moving->written, moving->after);
}

static bool
is_ordinary(Oid relation)
{
	return get_rel_relkind(relation) == RELKIND_RELATION;
}

/* The name of the table's access method. */
static char *
method_of(Oid relation)
{
	HeapTuple tuple;
	char *method;

	if (tsurugi_is_our_table(relation))
		return TSURUGI_METHOD;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	method = get_am_name(((Form_pg_class) GETSTRUCT(tuple))->relam);
	ReleaseSysCache(tuple);
	return method;
}

/* The method that moves a table into or out of memory, or NULL. */
static const char *
wanted_method(Oid relation, const AlterTableStmt *statement)
{
	bool ours = tsurugi_is_our_table(relation);
	ListCell *cell;

	if (!ours && !is_ordinary(relation))
		return NULL;
	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);

		if (command->subtype == AT_SetAccessMethod && ours != (strcmp(command->name, TSURUGI_METHOD) == 0))
			return command->name;
	}
	return NULL;
}

/*
 * As in PostgreSQL: no SET ACCESS METHOD may follow one that names another method than the table's.
 */
static void
check_methods(Oid relation, const AlterTableStmt *statement)
{
	const char *method = method_of(relation);
	bool changes = false;
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);

		if (command->subtype != AT_SetAccessMethod)
			continue;
		if (changes)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot have multiple SET ACCESS METHOD subcommands")));
		if (strcmp(command->name, TSURUGI_METHOD) != 0)
			(void) get_table_am_oid(command->name, false);
		changes = strcmp(command->name, method) != 0;
	}
}

Oid
tsurugi_access_method_lock(const AlterTableStmt *statement)
{
	Oid relation = RangeVarGetRelid(statement->relation, NoLock, true);

	while (OidIsValid(relation) && pg_class_ownercheck(relation, GetUserId()) &&
		   wanted_method(relation, statement) != NULL)
	{
		Oid found = relation;

		tsurugi_lock_with_kin(found);
		relation = RangeVarGetRelid(statement->relation, NoLock, true);
		if (relation == found)
			break;
	}
	return relation;
}

bool
tsurugi_access_method_run(const tsurugi_utility *utility, Oid relation, AlterTableStmt *statement)
{
	Moving moving = {.relation = relation, .method = wanted_method(relation, statement), .written = statement};

	if (moving.method == NULL)
		return false;
	check_methods(relation, statement);
	divide(&moving);
	tsurugi_utility_with_events(utility, (Node *) statement, move_between, &moving);
	return true;
}
