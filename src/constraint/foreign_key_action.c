/*
 * foreign_key_action.c
 *	  The trigger of foreign keys on the tables in memory that they refer to.
 *
 * It calls PostgreSQL's functions, which do the work.  If these were the triggers themselves,
 * PostgreSQL would recognize them and not queue events for which it sees beforehand that nothing
 * must be done.  But the first trigger of a row of a foreign table must be queued, because it
 * fetches the row for the others (AfterTriggerSaveEvent, trigger.c).
 */
#include "postgres.h"

#include "runtime/app/process.h"
#include "src/constraint/foreign_key_known.h"

#include "access/attmap.h"
#include "access/table.h"
#include "access/tupconvert.h"
#include "executor/executor.h"
#include "utils/partcache.h"

#include "src/base/sql_function.h"
#include "src/constraint/foreign_key_entry.h"
#include "src/constraint/own_trigger.h"
#include "src/txn/deferred.h"

/*
 * Calls PostgreSQL's trigger function for an action, for a table and a constraint that need not be
 * those of the event.  new: NULL for a DELETE.
 */
static void
call_action(char action, tsurugi_known_key *key, Relation parent, TupleTableSlot *old, TupleTableSlot *new)
{
	Trigger trigger = {.tgname = NameStr(key->name),
					   .tgenabled = TRIGGER_FIRES_ON_ORIGIN,
					   .tgisinternal = true,
					   .tgconstrrelid = key->child,
					   .tgconstraint = key->constraint};
	TriggerData data = {.type = T_TriggerData,
						.tg_event = (new == NULL ? TRIGGER_EVENT_DELETE : TRIGGER_EVENT_UPDATE) | TRIGGER_EVENT_ROW |
									TRIGGER_EVENT_AFTER,
						.tg_relation = parent,
						.tg_trigger = &trigger,
						.tg_trigslot = old,
						.tg_newslot = new};
	LOCAL_FCINFO(fcinfo, 0);
	FmgrInfo function;

	fmgr_info(tsurugi_foreign_key_action(action, new == NULL), &function);
	InitFunctionCallInfoData(*fcinfo, &function, 0, InvalidOid, (Node *) &data, NULL);
	(void) FunctionCallInvoke(fcinfo);
}

/* NO ACTION for a row that was deleted, or whose key was changed: it does not read the new row. */
static void
act_later(Oid constraint, Relation parent, MinimalTuple row, bool is_delete)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(parent), &TTSOpsMinimalTuple);

	ExecStoreMinimalTuple(row, slot, false);
	call_action(FKCONSTR_ACTION_NOACTION, tsurugi_known_key_find(constraint), parent, slot, is_delete ? NULL : slot);
	ExecDropSingleTupleTableSlot(slot);
}

static void
delete_later(Oid constraint, Relation parent, MinimalTuple row)
{
	act_later(constraint, parent, row, true);
}

static void
update_later(Oid constraint, Relation parent, MinimalTuple row)
{
	act_later(constraint, parent, row, false);
}

/* new: NULL for a DELETE */
static void
act(tsurugi_known_key *key, Relation parent, TupleTableSlot *old, TupleTableSlot *new)
{
	char action = new == NULL ? key->on_delete : key->on_update;

	/* Only this action can be deferred. */
	if (action == FKCONSTR_ACTION_NOACTION && tsurugi_known_key_waits(key))
		tsurugi_deferred_add(
			key->constraint, key->initially_deferred, parent, new == NULL ? delete_later : update_later,
			tsurugi_part_of_row(parent, old, tsurugi_add_columns(NULL, key->parent_columns, key->count)));
	else
		call_action(action, key, parent, old, new);
}

/*
 * Whether an UPDATE has moved a row out of this partition: the new row has not been stored there.
 */
static bool
has_moved(Relation partition, TupleTableSlot *new)
{
	List *bounds = RelationGetPartitionQual(partition);
	EState *estate;
	ExprContext *context;
	bool stays;

	if (bounds == NIL)
		return false;
	estate = CreateExecutorState();
	context = GetPerTupleExprContext(estate);
	context->ecxt_scantuple = new;
	stays = ExecCheck(ExecPrepareCheck(bounds, estate), context);
	FreeExecutorState(estate);
	return !stays;
}

/* Converts the row to the shape of the table above. */
static TupleTableSlot *
convert(Relation above, Relation partition, TupleTableSlot *row)
{
	AttrMap *map = build_attrmap_by_name(RelationGetDescr(partition), RelationGetDescr(above));

	return execute_attr_map_slot(map, row, MakeSingleTupleTableSlot(RelationGetDescr(above), &TTSOpsVirtual));
}

/*
 * A row has been moved to another partition: the action is that of the whole table, in which the
 * row was changed.
 */
static void
act_above(tsurugi_known_key *key, Relation partition, TupleTableSlot *old, TupleTableSlot *new)
{
	Oid topmost = key->constraint;
	Relation above;
	Oid next;

	while (OidIsValid(next = tsurugi_constraint_parent(topmost)))
		topmost = next;
	key = tsurugi_known_key_find(topmost);
	above = table_open(key->parent, AccessShareLock);
	old = convert(above, partition, old);
	new = convert(above, partition, new);
	act(key, above, old, new);
	ExecDropSingleTupleTableSlot(old);
	ExecDropSingleTupleTableSlot(new);
	table_close(above, NoLock);
}

TSURUGI_SQL_FUNCTION(tsurugi_fdw_foreign_key_action);

Datum
tsurugi_fdw_foreign_key_action(PG_FUNCTION_ARGS)
{
	const TriggerData *data = tsurugi_own_trigger(fcinfo, "tsurugi_fdw_foreign_key_action");
	tsurugi_known_key *key = tsurugi_known_key_find(data->tg_trigger->tgconstraint);
	TupleTableSlot *new = TRIGGER_FIRED_BY_DELETE(data->tg_event) ? NULL : data->tg_newslot;

	if (key->parent != RelationGetRelid(data->tg_relation) || TRIGGER_FIRED_BY_INSERT(data->tg_event))
		tsurugi_error_own_trigger("tsurugi_fdw_foreign_key_action");
	if (!RI_FKey_pk_upd_check_required(data->tg_trigger, data->tg_relation, data->tg_trigslot, new))
		return PointerGetDatum(NULL);
	if (new != NULL && data->tg_trigger->tgisclone &&has_moved(data->tg_relation, new))
		act_above(key, data->tg_relation, data->tg_trigslot, new);
	else
		act(key, data->tg_relation, data->tg_trigslot, new);
	return PointerGetDatum(NULL);
}
