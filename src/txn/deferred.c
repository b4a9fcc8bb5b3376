/*
 * deferred.c
 *	  Constraints of tables in memory that are checked when their transaction commits.
 *
 * PostgreSQL has a queue for deferred triggers, but its events name a row by its place in a heap;
 * it keeps those of foreign tables for the length of a statement only.  So the triggers of these
 * constraints are ordinary ones, which fire at the end of each statement.  A check that must wait
 * longer is put into the queue of this file, with the values that it concerns.
 *
 *	SET CONSTRAINTS		PostgreSQL checks the names and sets its own triggers (those on ordinary
 *						tables at the other end of a foreign key); then the same is noted here
 *	COMMIT				PostgreSQL's queue is run first, then this one, before any foreign table
 *						is validated or committed; then PostgreSQL's again, until both are
 *						empty.  Between the two PostgreSQL keeps the results of cursors WITH HOLD,
 *						which must not outlive a commit that fails here: if there is such a
 *						cursor, COMMIT runs this queue ahead of everything
 *	subtransactions		a mark at the start of each; ROLLBACK TO removes the events added since,
 *						marks those checked since as unchecked, and restores the settings
 *
 * Settings are never changed in place, so a mark can point to them.
 */
#include "postgres.h"

#include "src/txn/deferred.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "src/txn/moment.h"

typedef struct Setting
{
	Oid constraint;
	bool deferred;
} Setting;

/* The effect of SET CONSTRAINTS so far. */
typedef struct Settings
{
	bool all_is_set;
	bool all;
	int count; /* of the constraints named since ALL was set */
	Setting named[FLEXIBLE_ARRAY_MEMBER];
} Settings;

typedef struct Event
{
	Oid constraint;
	Oid relation;
	tsurugi_deferred_check check;
	MinimalTuple row;
	uint64 turn; /* in which it was checked; 0: not yet */
	bool initially;
} Event;

/* The state when a subtransaction began. */
typedef struct Mark
{
	const Settings *settings;
	uint64 turn;
	size_t count;
} Mark;

/* State of the running transaction. */
static MemoryContext context; /* of all that follows; NULL: nothing yet */
static const Settings *settings;
static Event *events;
static size_t event_count;
static size_t event_room;
static uint64 turn; /* of the last event that was checked */
static Mark *marks; /* by nesting level */
static int mark_room;
static bool holds; /* a cursor WITH HOLD has been declared */

static MemoryContext
own_context(void)
{
	if (context == NULL)
		context = AllocSetContextCreate(TopTransactionContext, "tsurugi_fdw deferred checks", ALLOCSET_DEFAULT_SIZES);
	return context;
}

/* --- settings ------------------------------------------------------------------------- */

bool
tsurugi_is_deferred(Oid constraint, bool initially)
{
	if (settings == NULL)
		return initially;
	for (int i = 0; i < settings->count; i++)
		if (settings->named[i].constraint == constraint)
			return settings->named[i].deferred;
	return settings->all_is_set ? settings->all : initially;
}

static void
set_all(bool deferred)
{
	Settings *fresh = MemoryContextAllocZero(own_context(), sizeof(*fresh));

	fresh->all_is_set = true;
	fresh->all = deferred;
	settings = fresh;
}

static void
set_named(const List *constraints, bool deferred)
{
	int before = settings != NULL ? settings->count : 0;
	size_t bytes = offsetof(Settings, named) + (before + list_length(constraints)) * sizeof(Setting);
	Settings *fresh = MemoryContextAllocZero(own_context(), bytes);
	ListCell *cell;

	if (settings != NULL)
		memcpy(fresh, settings, offsetof(Settings, named) + before * sizeof(Setting));
	foreach (cell, constraints)
	{
		int at = 0;

		while (at < fresh->count && fresh->named[at].constraint != lfirst_oid(cell))
			at++;
		fresh->named[at] = (Setting){.constraint = lfirst_oid(cell), .deferred = deferred};
		fresh->count = Max(fresh->count, at + 1);
	}
	settings = fresh;
}

/* Adds the constraints that a scan of pg_constraint finds.  Returns whether there was one. */
static bool
add_found(Relation catalog, Oid index, ScanKey keys, int key_count, bool deferrable_only, List **found)
{
	SysScanDesc scan = systable_beginscan(catalog, index, true, NULL, key_count, keys);
	bool any = false;
	HeapTuple tuple;

	while ((tuple = systable_getnext(scan)) != NULL)
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		any = true;
		if (form->condeferrable || !deferrable_only)
			*found = list_append_unique_oid(*found, form->oid);
	}
	systable_endscan(scan);
	return any;
}

/* The constraints of this name in the first schema that has any. */
static void
add_constraints_of_name(Relation catalog, const RangeVar *name, List **found)
{
	List *schemas = name->schemaname != NULL ? list_make1_oid(LookupExplicitNamespace(name->schemaname, false))
											 : fetch_search_path(true);
	ListCell *cell;

	foreach (cell, schemas)
	{
		ScanKeyData keys[2];

		ScanKeyInit(&keys[0], Anum_pg_constraint_conname, BTEqualStrategyNumber, F_NAMEEQ,
					CStringGetDatum(name->relname));
		ScanKeyInit(&keys[1], Anum_pg_constraint_connamespace, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(lfirst_oid(cell)));
		if (add_found(catalog, ConstraintNameNspIndexId, keys, 2, true, found))
			break;
	}
	list_free(schemas);
}

/* Finds the constraints as AfterTriggerSetState does, and those of partitions. */
static List *
find_constraints(const List *names)
{
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	List *found = NIL;
	ListCell *cell;

	foreach (cell, names)
		add_constraints_of_name(catalog, lfirst(cell), &found);
	foreach (cell, found)
	{
		ScanKeyData key;

		ScanKeyInit(&key, Anum_pg_constraint_conparentid, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(lfirst_oid(cell)));
		(void) add_found(catalog, ConstraintParentIndexId, &key, 1, false, &found);
	}
	table_close(catalog, AccessShareLock);
	return found;
}

/* --- events ------------------------------------------------------------------------------ */

void
tsurugi_deferred_add(Oid constraint, bool initially, Relation relation, tsurugi_deferred_check check, MinimalTuple row)
{
	MemoryContext caller;

	/* As PostgreSQL has it: at the end of the transaction the check would run as another role. */
	if (InSecurityRestrictedOperation())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("cannot fire deferred trigger within security-restricted operation")));
	caller = MemoryContextSwitchTo(own_context());
	if (event_count == event_room)
	{
		size_t room = Max(2 * event_room, 64);

		events = events == NULL ? MemoryContextAllocHuge(context, room * sizeof(Event))
								: repalloc_huge(events, room * sizeof(Event));
		event_room = room;
	}
	events[event_count] = (Event){.constraint = constraint,
								  .relation = RelationGetRelid(relation),
								  .check = check,
								  .row = heap_copy_minimal_tuple(row),
								  .initially = initially};
	event_count++;
	MemoryContextSwitchTo(caller);
}

static void
run_event(const Event *event)
{
	Relation relation = try_relation_open(event->relation, AccessShareLock);
	bool outer;

	if (relation == NULL)
		return; /* the table and its constraints have been dropped since */
	outer = tsurugi_moment_suspend(true);
	PG_TRY();
	{
		if (SearchSysCacheExists1(CONSTROID, ObjectIdGetDatum(event->constraint)))
			event->check(event->constraint, relation, event->row);
	}
	PG_FINALLY();
	{
		(void) tsurugi_moment_suspend(outer);
	}
	PG_END_TRY();
	relation_close(relation, NoLock);
}

/*
 * Runs the checks that are due: all, or those that are not deferred any more.  A check may add
 * others.
 */
static bool
run_events(bool all)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext memory = NULL;

	for (size_t i = 0; i < event_count; i++)
	{
		Event event = events[i];

		if (event.turn != 0 || (!all && tsurugi_is_deferred(event.constraint, event.initially)))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (memory == NULL)
		{
			memory = AllocSetContextCreate(caller, "tsurugi_fdw deferred check", ALLOCSET_DEFAULT_SIZES);
			PushActiveSnapshot(GetTransactionSnapshot());
		}
		events[i].turn = ++turn;
		MemoryContextSwitchTo(memory);
		run_event(&event);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(memory);
	}
	if (memory == NULL)
		return false;
	PopActiveSnapshot();
	MemoryContextDelete(memory);
	return true;
}

void
tsurugi_deferred_set(const ConstraintsSetStmt *statement)
{
	if (statement->constraints == NIL)
		set_all(statement->deferred);
	else
		set_named(find_constraints(statement->constraints), statement->deferred);
	if (!statement->deferred)
		(void) run_events(false);
}

void
tsurugi_deferred_check_none(Oid relation, const char *command)
{
	for (size_t i = 0; i < event_count; i++)
		if (events[i].turn == 0 && events[i].relation == relation)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE), errmsg("cannot %s \"%s\" because it has pending trigger events",
															command, get_rel_name(relation))));
}

bool
tsurugi_deferred_any(void)
{
	return event_count > 0;
}

/* --- ends ----------------------------------------------------------------------------------- */

void
tsurugi_deferred_run_all(void)
{
	while (event_count > 0 && run_events(true))
		AfterTriggerFireDeferred(); /* the checks may have added to PostgreSQL's queue */
}

void
tsurugi_deferred_note_cursor(const DeclareCursorStmt *statement)
{
	holds = holds || (statement->options & CURSOR_OPT_HOLD) != 0;
}

void
tsurugi_deferred_begin_commit(void)
{
	if (holds && IsTransactionState())
		(void) run_events(true);
}

void
tsurugi_deferred_end(bool committed)
{
	holds = false;
	/* The memory is released with the transaction's. */
	context = NULL;
	settings = NULL;
	events = NULL;
	marks = NULL;
	event_count = event_room = 0;
	turn = 0;
	mark_room = 0;
}

static void
set_mark(int level)
{
	if (level >= mark_room)
	{
		int room = Max(2 * mark_room, level + 8);
		Mark *larger;

		if (settings == NULL && event_count == 0)
			return; /* a missing mark means the very beginning */
		larger = MemoryContextAllocZero(own_context(), room * sizeof(Mark));
		if (marks != NULL)
			memcpy(larger, marks, mark_room * sizeof(Mark));
		marks = larger;
		mark_room = room;
	}
	marks[level] = (Mark){.settings = settings, .turn = turn, .count = event_count};
}

static void
return_to_mark(int level)
{
	Mark mark = {0};

	if (level < mark_room)
		mark = marks[level];
	settings = mark.settings;
	for (size_t i = mark.count; i < event_count; i++)
		pfree(events[i].row);
	event_count = mark.count;
	for (size_t i = 0; i < event_count; i++)
		if (events[i].turn > mark.turn)
			events[i].turn = 0;
}

void
tsurugi_deferred_begin_part(void)
{
	set_mark(GetCurrentTransactionNestLevel());
}

void
tsurugi_deferred_end_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	if (!committed)
		return_to_mark(GetCurrentTransactionNestLevel());
}
