/*
 * foreign_key_check.c
 *	  The triggers of foreign keys on tables of ours, and the look at all rows.
 *
 * On referenced tables PostgreSQL's functions do what is to be done, called
 * from here.  If they were the triggers themselves, PostgreSQL would know them
 * and not queue events for which it sees beforehand that there is nothing to
 * do; but on a foreign table the first trigger of a row has to be queued,
 * because it fetches the row for the others (AfterTriggerSaveEvent, trigger.c).
 *
 * The trigger on referencing tables is in the place of PostgreSQL's
 * RI_FKey_check_ins and _upd, which ask the table's access method whether the
 * row is still there.  It asks as they do:
 *
 *	SELECT 1 FROM ONLY referenced x WHERE key = $1 [AND ...] FOR KEY SHARE OF x
 *
 * as the owner of the referenced table, with a prepared statement for each
 * constraint.  For foreign tables the executor does not say which row it was; but another trigger may have
 * changed it again since, or, if the constraint is deferred and the row was put aside (deferred.h), another
 * statement.  So one without a referenced row is looked for once more, by its primary key, or, without one, by all of its
 * values.  Who changes it beside its key, in the transaction that has written it, has it checked again, as in PostgreSQL.
 * Rows without a primary key that are the same in all columns are not told apart: if another trigger takes some of them away, by
 * their ctids, the others stand for them, and the statement is refused though those were going to be taken away, too.
 *
 * At SERIALIZABLE the question is no read that has to be validated: the lock
 * keeps the answer what it is until the end, and an update of the referenced
 * row beside its key is no conflict.
 */
#include "postgres.h"

#include "src/constraint/foreign_key.h"

#include "access/attmap.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_constraint.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "src/base/sql_function.h"
#include "src/constraint/foreign_key_entry.h"
#include "src/txn/deferred.h"
#include "src/txn/isolation.h"
#include "src/txn/snapshot.h"

#define FETCH_ROWS 1000

/* What is known of a constraint, in this backend. */
typedef struct known_key
{
	Oid constraint; /* hash key */
	bool valid;		/* pg_constraint has not changed since */
	NameData name;
	Oid child;
	Oid parent;
	bool full; /* MATCH FULL */
	bool deferrable;
	bool initially_deferred;
	char on_update;
	char on_delete;
	int count;
	AttrNumber child_columns[INDEX_MAX_KEYS];
	AttrNumber parent_columns[INDEX_MAX_KEYS];
	Oid operators[INDEX_MAX_KEYS];		 /* referenced = referencing */
	Oid child_operators[INDEX_MAX_KEYS]; /* referencing = referencing */
	SPIPlanPtr plan;					 /* NULL: none yet */
} known_key;

static HTAB *known_keys;

/* --- constraints ------------------------------------------------------------------------- */

static void
forget_keys(Datum argument, int cache, uint32 hash)
{
	HASH_SEQ_STATUS status;
	known_key *key;

	hash_seq_init(&status, known_keys);
	while ((key = hash_seq_search(&status)) != NULL)
		key->valid = false;
}

static void
read_constraint(known_key *key)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(key->constraint));
	Form_pg_constraint form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", key->constraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	if (form->contype != CONSTRAINT_FOREIGN)
		elog(ERROR, "constraint %u is not a foreign key constraint", key->constraint);
	key->name = form->conname;
	key->child = form->conrelid;
	key->parent = form->confrelid;
	key->full = form->confmatchtype == FKCONSTR_MATCH_FULL;
	key->on_update = form->confupdtype;
	key->on_delete = form->confdeltype;
	key->deferrable = form->condeferrable;
	key->initially_deferred = form->condeferred;
	DeconstructFkConstraintRow(tuple, &key->count, key->child_columns, key->parent_columns, key->operators, NULL,
							   key->child_operators, NULL, NULL);
	ReleaseSysCache(tuple);
	key->valid = true;
}

static known_key *
find_key(Oid constraint)
{
	known_key *key;
	bool found;

	if (known_keys == NULL)
	{
		HASHCTL config = {.keysize = sizeof(Oid), .entrysize = sizeof(known_key)};

		known_keys = hash_create("foreign keys of tsurugi_fdw", 16, &config, HASH_ELEM | HASH_BLOBS);
		CacheRegisterSyscacheCallback(CONSTROID, forget_keys, (Datum) 0);
	}
	key = hash_search(known_keys, &constraint, HASH_ENTER, &found);
	if (!found)
	{
		key->valid = false;
		key->plan = NULL;
	}
	if (key->plan != NULL && (!key->valid || !SPI_plan_is_valid(key->plan)))
	{
		/* A name in it may have changed. */
		SPI_freeplan(key->plan);
		key->plan = NULL;
	}
	if (!key->valid)
		read_constraint(key);
	return key;
}

bool
tsurugi_foreign_key_cascades(Oid constraint)
{
	return find_key(constraint)->on_update == FKCONSTR_ACTION_CASCADE;
}

static Oid
type_of(Relation relation, AttrNumber column)
{
	return TupleDescAttr(RelationGetDescr(relation), column - 1)->atttypid;
}

static void
make_plan(known_key *key, Relation child, Relation parent)
{
	Oid types[INDEX_MAX_KEYS];
	StringInfoData query;
	SPIPlanPtr plan;

	initStringInfo(&query);
	appendStringInfo(
		&query, "SELECT 1 FROM %s%s x WHERE ", parent->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ",
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(parent)), RelationGetRelationName(parent)));
	for (int i = 0; i < key->count; i++)
	{
		char parameter[16];

		types[i] = type_of(child, key->child_columns[i]);
		snprintf(parameter, sizeof(parameter), "$%d", i + 1);
		if (i > 0)
			appendStringInfoString(&query, " AND ");
		generate_operator_clause(&query, quote_identifier(get_attname(key->parent, key->parent_columns[i], false)),
								 type_of(parent, key->parent_columns[i]), key->operators[i], parameter, types[i]);
	}
	appendStringInfoString(&query, " FOR KEY SHARE OF x");
	plan = SPI_prepare(query.data, key->count, types);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare returned %s for %s", SPI_result_code_string(SPI_result), query.data);
	SPI_keepplan(plan);
	key->plan = plan;
}

/* --- one row -------------------------------------------------------------------------------- */

static bool
may_see_key(const known_key *key)
{
	if (check_enable_rls(key->child, InvalidOid, true) == RLS_ENABLED)
		return false;
	if (pg_class_aclcheck(key->child, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < key->count; i++)
		if (pg_attribute_aclcheck(key->child, key->child_columns[i], GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			return false;
	return true;
}

/* "(a, b)=(1, 2)" */
static char *
describe_key(const known_key *key, Relation child, const Datum *values)
{
	StringInfoData names;
	StringInfoData texts;

	initStringInfo(&names);
	initStringInfo(&texts);
	for (int i = 0; i < key->count; i++)
	{
		Oid output;
		bool varlena;

		getTypeOutputInfo(type_of(child, key->child_columns[i]), &output, &varlena);
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", get_attname(key->child, key->child_columns[i], false));
		appendStringInfo(&texts, "%s%s", i > 0 ? ", " : "", OidOutputFunctionCall(output, values[i]));
	}
	return psprintf("(%s)=(%s)", names.data, texts.data);
}

static void
error_missing(const known_key *key, Relation child, Relation parent, const Datum *values)
{
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"",
					RelationGetRelationName(child), NameStr(key->name)),
			 may_see_key(key) ? errdetail("Key %s is not present in table \"%s\".", describe_key(key, child, values),
										  RelationGetRelationName(parent))
							  : errdetail("Key is not present in table \"%s\".", RelationGetRelationName(parent)),
			 errtableconstraint(child, NameStr(key->name))));
}

/* Whether there is something to look for: not if a column is NULL. */
static bool
refers(const known_key *key, Relation child, const bool *nulls)
{
	int null_count = 0;

	for (int i = 0; i < key->count; i++)
		null_count += nulls[i];
	if (key->full && null_count > 0 && null_count < key->count)
		ereport(ERROR, (errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
						errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"",
							   RelationGetRelationName(child), NameStr(key->name)),
						errdetail("MATCH FULL does not allow mixing of null and nonnull key values."),
						errtableconstraint(child, NameStr(key->name))));
	return null_count == 0;
}

/* Locks the referenced row.  False: there is none.  Connected to SPI. */
static bool
lock_referenced(known_key *key, Relation child, Relation parent, Datum *values)
{
	bool tracks = tsurugi_tracks;
	Oid user;
	int context;
	int result;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(parent->rd_rel->relowner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	if (key->plan == NULL)
		make_plan(key, child, parent);
	PG_TRY();
	{
		tsurugi_tracks = false;
		result = SPI_execute_snapshot(key->plan, values, NULL, InvalidSnapshot, InvalidSnapshot, false, false, 1);
	}
	PG_FINALLY();
	{
		tsurugi_tracks = tracks;
	}
	PG_END_TRY();
	SetUserIdAndSecContext(user, context);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_snapshot returned %s", SPI_result_code_string(result));
	return SPI_processed > 0;
}

/* By the constraint's operator, where it takes the column's values as they are; else byte by byte. */
static bool
are_equal(const known_key *key, int at, const FormData_pg_attribute *column, Datum left, Datum right)
{
	Oid input;
	Oid other;

	if (datum_image_eq(left, right, column->attbyval, column->attlen))
		return true;
	op_input_types(key->child_operators[at], &input, &other);
	return IsBinaryCoercible(column->atttypid, input) &&
		   DatumGetBool(OidFunctionCall2Coll(get_opcode(key->child_operators[at]), DEFAULT_COLLATION_OID, left, right));
}

/* Whether an UPDATE has left the columns, which are all there now, as they were (ri_KeysEqual). */
static bool
is_unchanged(const known_key *key, Relation child, TupleTableSlot *old, const Datum *values)
{
	for (int i = 0; i < key->count; i++)
	{
		bool null;
		Datum value = slot_getattr(old, key->child_columns[i], &null);

		if (null ||
			!are_equal(key, i, TupleDescAttr(RelationGetDescr(child), key->child_columns[i] - 1), value, values[i]))
			return false;
	}
	return true;
}

/* --- later ---------------------------------------------------------------------------------- */

/* A row with nothing but these columns, numbered as in RelationGetIndexAttrBitmap; the others NULL. */
static MinimalTuple
part_of_row(Relation relation, TupleTableSlot *row, const Bitmapset *columns)
{
	int natts = RelationGetDescr(relation)->natts;
	Datum *values = palloc0(natts * sizeof(Datum));
	bool *nulls = palloc(natts * sizeof(bool));
	int member = -1;

	memset(nulls, true, natts * sizeof(bool));
	while ((member = bms_next_member(columns, member)) >= 0)
	{
		int column = member + FirstLowInvalidHeapAttributeNumber;

		values[column - 1] = slot_getattr(row, column, &nulls[column - 1]);
	}
	return heap_form_minimal_tuple(RelationGetDescr(relation), values, nulls);
}

static Bitmapset *
add_columns(Bitmapset *columns, const AttrNumber *more, int count)
{
	for (int i = 0; i < count; i++)
		columns = bms_add_member(columns, more[i] - FirstLowInvalidHeapAttributeNumber);
	return columns;
}

/* What is_there has to know of a row. */
static MinimalTuple
referencing_row(const known_key *key, Relation child, TupleTableSlot *row)
{
	Bitmapset *primary = RelationGetIndexAttrBitmap(child, INDEX_ATTR_BITMAP_PRIMARY_KEY);

	return primary == NULL ? ExecCopySlotMinimalTuple(row)
						   : part_of_row(child, row, add_columns(primary, key->child_columns, key->count));
}

static bool
waits(const known_key *key)
{
	return key->deferrable && tsurugi_is_deferred(key->constraint, key->initially_deferred);
}

/*
 * Whether the row is still there: a check that was deferred is about rows that are there when it is made, and it may be gone, or
 * have been changed, by then.  Others with these columns may have been let be, below a key that is not valid, or are
 * going to be looked at themselves, after other triggers: so it is this row, by its primary key; or, if it has none, by all of it.
 */
static bool
is_there(const known_key *key, Relation child, const Datum *columns, const bool *nulls, TupleTableSlot *row)
{
	Oid types[2 * INDEX_MAX_KEYS];
	Datum values[2 * INDEX_MAX_KEYS];
	char spaces[2 * INDEX_MAX_KEYS + 1] = "";
	int count = key->count;
	Bitmapset *primary = RelationGetIndexAttrBitmap(child, INDEX_ATTR_BITMAP_PRIMARY_KEY);
	int member = -1;
	StringInfoData query;
	Oid user;
	int context;
	bool found;

	initStringInfo(&query);
	appendStringInfo(
		&query, "SELECT 1 FROM ONLY %s x WHERE ",
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(child)), RelationGetRelationName(child)));
	for (int i = 0; i < key->count; i++)
	{
		const char *column = quote_identifier(get_attname(key->child, key->child_columns[i], false));
		char parameter[16];

		types[i] = type_of(child, key->child_columns[i]);
		values[i] = columns[i];
		spaces[i] = nulls[i] ? 'n' : ' ';
		snprintf(parameter, sizeof(parameter), "$%d", i + 1);
		if (i > 0)
			appendStringInfoString(&query, " AND ");
		if (nulls[i])
			appendStringInfo(&query, "%s IS NULL", column);
		else
			generate_operator_clause(&query, column, types[i], key->child_operators[i], parameter, types[i]);
	}
	while ((member = bms_next_member(primary, member)) >= 0)
	{
		AttrNumber column = member + FirstLowInvalidHeapAttributeNumber;
		char parameter[16];
		bool null;

		types[count] = type_of(child, column);
		values[count] = slot_getattr(row, column, &null);
		spaces[count] = null ? 'n' : ' ';
		snprintf(parameter, sizeof(parameter), "$%d", count + 1);
		appendStringInfoString(&query, " AND ");
		generate_operator_clause(&query, quote_identifier(get_attname(key->child, column, false)), types[count],
								 lookup_type_cache(types[count], TYPECACHE_EQ_OPR)->eq_opr, parameter, types[count]);
		count++;
	}
	if (primary == NULL)
	{
		appendStringInfo(&query, " AND x.* OPERATOR(pg_catalog.*=) $%d", count + 1);
		types[count] = child->rd_rel->reltype;
		values[count] = ExecFetchSlotHeapTupleDatum(row);
		spaces[count++] = ' ';
	}
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(child->rd_rel->relowner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	if (SPI_execute_with_args(query.data, count, types, values, spaces, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_with_args failed for %s", query.data);
	found = SPI_processed > 0;
	SetUserIdAndSecContext(user, context);
	return found;
}

/* The columns of a row.  False: none of them says anything that could be wrong. */
static bool
read_row(const known_key *key, TupleTableSlot *row, Datum *values, bool *nulls)
{
	int null_count = 0;

	for (int i = 0; i < key->count; i++)
	{
		values[i] = slot_getattr(row, key->child_columns[i], &nulls[i]);
		null_count += nulls[i];
	}
	return null_count == 0 || (key->full && null_count < key->count);
}

/* Whether none of the columns is NULL. */
static bool
is_whole(const known_key *key, const bool *nulls)
{
	for (int i = 0; i < key->count; i++)
		if (nulls[i])
			return false;
	return true;
}

/* Whether the transaction may have written the row that an UPDATE has replaced (tsurugi_change_mark_old). */
static bool
is_own(HeapTuple old)
{
	return (old->t_data->t_infomask & HEAP_XMIN_COMMITTED) == 0;
}

/* A row that another trigger has changed since, or deleted, refers to nothing any more. */
static void
check_row(known_key *key, Relation child, Datum *values, const bool *nulls, TupleTableSlot *row)
{
	Relation parent = table_open(key->parent, RowShareLock);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (!(is_whole(key, nulls) && lock_referenced(key, child, parent, values)) &&
		is_there(key, child, values, nulls, row) && refers(key, child, nulls))
		error_missing(key, child, parent, values);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	table_close(parent, NoLock);
}

static void
check_later(Oid constraint, Relation child, MinimalTuple row)
{
	known_key *key = find_key(constraint);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(child), &TTSOpsMinimalTuple);
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];

	ExecStoreMinimalTuple(row, slot, false);
	if (read_row(key, slot, values, nulls))
		check_row(key, child, values, nulls, slot);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Calls one of PostgreSQL's triggers of actions, for a table and a constraint that need not be those of the event.
 * new: NULL for a DELETE.
 */
static void
call_action(PGFunction function, known_key *key, Relation parent, TupleTableSlot *old, TupleTableSlot *new)
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

	InitFunctionCallInfoData(*fcinfo, NULL, 0, InvalidOid, (Node *) &data, NULL);
	(void) function(fcinfo);
}

/* The trigger of NO ACTION, for a row that was deleted, or its key changed: it does not look at the new row. */
static void
fire_later(PGFunction function, bool is_delete, Oid constraint, Relation parent, MinimalTuple row)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(parent), &TTSOpsMinimalTuple);

	ExecStoreMinimalTuple(row, slot, false);
	call_action(function, find_key(constraint), parent, slot, is_delete ? NULL : slot);
	ExecDropSingleTupleTableSlot(slot);
}

static void
delete_later(Oid constraint, Relation parent, MinimalTuple row)
{
	fire_later(RI_FKey_noaction_del, true, constraint, parent, row);
}

static void
update_later(Oid constraint, Relation parent, MinimalTuple row)
{
	fire_later(RI_FKey_noaction_upd, false, constraint, parent, row);
}

/* --- triggers ------------------------------------------------------------------------------- */

static const TriggerData *
trigger_data(FunctionCallInfo fcinfo, const char *function)
{
	const TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(data->tg_event) || !TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		!OidIsValid(data->tg_trigger->tgconstraint))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("function \"%s\" can only be the trigger of a foreign key", function)));
	return data;
}

static PGFunction
action_function(char action, bool is_delete)
{
	switch (action)
	{
		case FKCONSTR_ACTION_RESTRICT:
			return is_delete ? RI_FKey_restrict_del : RI_FKey_restrict_upd;
		case FKCONSTR_ACTION_CASCADE:
			return is_delete ? RI_FKey_cascade_del : RI_FKey_cascade_upd;
		case FKCONSTR_ACTION_SETNULL:
			return is_delete ? RI_FKey_setnull_del : RI_FKey_setnull_upd;
		case FKCONSTR_ACTION_SETDEFAULT:
			return is_delete ? RI_FKey_setdefault_del : RI_FKey_setdefault_upd;
		default:
			return is_delete ? RI_FKey_noaction_del : RI_FKey_noaction_upd;
	}
}

/* new: NULL for a DELETE */
static void
act(known_key *key, Relation parent, TupleTableSlot *old, TupleTableSlot *new)
{
	char action = new == NULL ? key->on_delete : key->on_update;

	/* of the actions, only this one can be deferred */
	if (action == FKCONSTR_ACTION_NOACTION && waits(key))
		tsurugi_deferred_add(key->constraint, key->initially_deferred, parent,
							 new == NULL ? delete_later : update_later,
							 part_of_row(parent, old, add_columns(NULL, key->parent_columns, key->count)));
	else
		call_action(action_function(action, new == NULL), key, parent, old, new);
}

/* Whether an UPDATE has taken a row out of this partition: the new row has not been stored there. */
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

/* The row as the table above has it. */
static TupleTableSlot *
convert(Relation above, Relation partition, TupleTableSlot *row)
{
	AttrMap *map = build_attrmap_by_name(RelationGetDescr(partition), RelationGetDescr(above));

	return execute_attr_map_slot(map, row, MakeSingleTupleTableSlot(RelationGetDescr(above), &TTSOpsVirtual));
}

/* A row has been moved to another partition: it is the whole table that it has been changed in. */
static void
act_above(known_key *key, Relation partition, TupleTableSlot *old, TupleTableSlot *new)
{
	Oid topmost = key->constraint;
	Relation above;
	Oid next;

	while (OidIsValid(next = tsurugi_constraint_parent(topmost)))
		topmost = next;
	key = find_key(topmost);
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
	const TriggerData *data = trigger_data(fcinfo, "tsurugi_fdw_foreign_key_action");
	known_key *key = find_key(data->tg_trigger->tgconstraint);
	TupleTableSlot *new = TRIGGER_FIRED_BY_DELETE(data->tg_event) ? NULL : data->tg_newslot;

	if (!RI_FKey_pk_upd_check_required(data->tg_trigger, data->tg_relation, data->tg_trigslot, new))
		return PointerGetDatum(NULL);
	if (new != NULL && data->tg_trigger->tgisclone &&has_moved(data->tg_relation, new))
		act_above(key, data->tg_relation, data->tg_trigslot, new);
	else
		act(key, data->tg_relation, data->tg_trigslot, new);
	return PointerGetDatum(NULL);
}

TSURUGI_SQL_FUNCTION(tsurugi_fdw_foreign_key_check);

Datum
tsurugi_fdw_foreign_key_check(PG_FUNCTION_ARGS)
{
	const TriggerData *data = trigger_data(fcinfo, "tsurugi_fdw_foreign_key_check");
	known_key *key = find_key(data->tg_trigger->tgconstraint);
	bool is_update = TRIGGER_FIRED_BY_UPDATE(data->tg_event);
	TupleTableSlot *row = is_update ? data->tg_newslot : data->tg_trigslot;
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];
	bool refers_to_one;

	if (key->child != RelationGetRelid(data->tg_relation))
		elog(ERROR, "wrong table for the trigger of constraint %u", key->constraint);
	refers_to_one = read_row(key, row, values, nulls);
	if (is_update && is_whole(key, nulls) && !is_own(data->tg_trigtuple) &&
		is_unchanged(key, data->tg_relation, data->tg_trigslot, values))
		return PointerGetDatum(NULL);
	/* As with PostgreSQL, an inserted row is pending though it refers to nothing. */
	if ((refers_to_one || !is_update) && waits(key))
		tsurugi_deferred_add(key->constraint, key->initially_deferred, data->tg_relation, check_later,
							 referencing_row(key, data->tg_relation, row));
	else if (refers_to_one)
		check_row(key, data->tg_relation, values, nulls, row);
	return PointerGetDatum(NULL);
}

/* --- all rows --------------------------------------------------------------------------------- */

/* Row by row, for one who may not read the referenced table. */
static void
check_each_row(Relation child, Relation parent, Oid constraint)
{
	known_key *key = find_key(constraint);
	StringInfoData query;
	Portal rows;

	initStringInfo(&query);
	for (int i = 0; i < key->count; i++)
		appendStringInfo(&query, "%s %s", i == 0 ? "SELECT" : ",",
						 quote_identifier(get_attname(key->child, key->child_columns[i], false)));
	appendStringInfo(
		&query, " FROM ONLY %s",
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(child)), RelationGetRelationName(child)));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = SPI_cursor_open_with_args(NULL, query.data, 0, NULL, NULL, NULL, false, CURSOR_OPT_NO_SCROLL);
	for (;;)
	{
		SPITupleTable *fetched;

		SPI_cursor_fetch(rows, true, FETCH_ROWS);
		fetched = SPI_tuptable;
		if (SPI_processed == 0)
			break;
		for (uint64 at = 0; at < fetched->numvals; at++)
		{
			Datum values[INDEX_MAX_KEYS];
			bool nulls[INDEX_MAX_KEYS];

			for (int i = 0; i < key->count; i++)
				values[i] = SPI_getbinval(fetched->vals[at], fetched->tupdesc, i + 1, &nulls[i]);
			if (refers(key, child, nulls) && !lock_referenced(key, child, parent, values))
				error_missing(key, child, parent, values);
		}
		SPI_freetuptable(fetched);
	}
	SPI_cursor_close(rows);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
}

static void
check_table(Oid constraint)
{
	known_key *key = find_key(constraint);
	/* whoever has made or found the constraint has locked them */
	Relation child = table_open(key->child, NoLock);
	Relation parent = table_open(key->parent, NoLock);
	Trigger trigger = {.tgname = NameStr(key->name),
					   .tgenabled = TRIGGER_FIRES_ON_ORIGIN,
					   .tgisinternal = true,
					   .tgconstrrelid = key->parent,
					   .tgconstraint = constraint};

	PushActiveSnapshot(GetTransactionSnapshot());
	if (!RI_Initial_Check(&trigger, child, parent))
		check_each_row(child, parent, constraint);
	PopActiveSnapshot();
	table_close(parent, NoLock);
	table_close(child, NoLock);
}

void
tsurugi_foreign_key_check_leaves(List *constraints)
{
	bool outer = tsurugi_snapshot_begin_fresh();
	ListCell *cell;

	PG_TRY();
	{
		foreach (cell, constraints)
			check_table(lfirst_oid(cell));
	}
	PG_FINALLY();
	{
		tsurugi_snapshot_end_fresh(outer);
	}
	PG_END_TRY();
}
