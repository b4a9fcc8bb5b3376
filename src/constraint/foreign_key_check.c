/*
 * foreign_key_check.c
 *	  The trigger of foreign keys on tables in memory that refer to others, and the verification of
 *	  all rows.
 *
 * The trigger replaces PostgreSQL's RI_FKey_check_ins and _upd, which ask the table's access method
 * whether the row still exists.  It runs the same query as they do:
 *
 *	SELECT 1 FROM ONLY referenced x WHERE key = $1 [AND ...] FOR KEY SHARE OF x
 *
 * as the owner of the referenced table, with a prepared statement for each constraint.  For foreign
 * tables the executor does not say which row fired the trigger.  Another trigger may have changed
 * the row again since or, if the constraint is deferred and the row was put into the queue
 * (deferred.h), another statement.  So a row without a referenced row is looked for once more, by
 * its primary key or, without one, by all of its values.  As in PostgreSQL, a row that was written
 * in this transaction is checked again when an UPDATE changes other columns.  Rows without a
 * primary key that are equal in all columns are not told apart: if another trigger deletes some of
 * them, by their ctids, and others remain, the statement is refused, even if those were about to be
 * deleted, too.
 *
 * At SERIALIZABLE this query is not a read that must be validated if it finds the row: the lock
 * preserves the result until the end, and an update of other columns of the referenced row is no
 * conflict.
 */
#include "postgres.h"

#include "runtime/app/process.h"
#include "src/constraint/foreign_key.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation_d.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "src/base/query.h"
#include "src/base/shown_text.h"
#include "src/base/sql_function.h"
#include "src/constraint/foreign_key_known.h"
#include "src/constraint/own_trigger.h"
#include "src/txn/deferred.h"
#include "src/txn/isolation.h"
#include "src/txn/snapshot.h"

#define FETCH_ROWS 1000

static Oid
type_of(Relation relation, AttrNumber column)
{
	return TupleDescAttr(RelationGetDescr(relation), column - 1)->atttypid;
}

static void
make_plan(tsurugi_known_key *key, Relation child, Relation parent)
{
	Oid types[INDEX_MAX_KEYS];
	StringInfoData query;

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
	key->plan = tsurugi_query_prepare(query.data, key->count, types);
	SPI_keepplan(key->plan);
}

/* --- one row -------------------------------------------------------------------------------- */

static bool
may_see_key(const tsurugi_known_key *key)
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

/* For example "(a, b)=(1, 2)". */
static char *
describe_key(const tsurugi_known_key *key, Relation child, const Datum *values)
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
	return tsurugi_shown_key(psprintf("(%s)=(%s)", names.data, texts.data));
}

static void
error_missing(const tsurugi_known_key *key, Relation child, Relation parent, const Datum *values)
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

/* Whether there is a key to look for: not if a column is NULL. */
static bool
refers(const tsurugi_known_key *key, Relation child, const bool *nulls)
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

/*
 * That there is no such row is noted, by a second execution: the statement fails, but the
 * transaction may catch the error.
 *
 * At REPEATABLE READ and above, a referenced row of a partitioned table is looked for with a fresh
 * snapshot, as in PostgreSQL (RI_FKey_check): the transaction's snapshot does not show which
 * partitions are being detached.
 */
static int
run_plan(SPIPlanPtr plan, Datum *values, bool fresh)
{
	const Snapshot now = fresh ? GetLatestSnapshot() : InvalidSnapshot;
	const Snapshot own = fresh ? GetTransactionSnapshot() : InvalidSnapshot;
	volatile int result = 0;

	PG_TRY();
	{
		tsurugi_isolation_suspend_notes();
		result = SPI_execute_snapshot(plan, values, NULL, now, own, false, false, 1);
	}
	PG_FINALLY();
	{
		tsurugi_isolation_resume_notes();
	}
	PG_END_TRY();
	if (result == SPI_OK_SELECT && SPI_processed == 0 && tsurugi_tracks)
		result = SPI_execute_snapshot(plan, values, NULL, now, own, false, false, 1);
	return result;
}

/* Locks the referenced row.  False: it does not exist.  Connected to SPI. */
static bool
lock_referenced(tsurugi_known_key *key, Relation child, Relation parent, Datum *values)
{
	bool fresh = parent->rd_rel->relkind == RELKIND_PARTITIONED_TABLE && IsolationUsesXactSnapshot();
	Oid user;
	int context;
	int result;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(parent->rd_rel->relowner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	if (key->plan == NULL)
		make_plan(key, child, parent);
	if (fresh)
		CommandCounterIncrement();
	result = run_plan(key->plan, values, fresh);
	SetUserIdAndSecContext(user, context);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_snapshot returned %s", SPI_result_code_string(result));
	return SPI_processed > 0;
}

/*
 * Compares by the constraint's operator, if it accepts the column's type unchanged; otherwise byte
 * by byte.
 */
static bool
are_equal(const tsurugi_known_key *key, int at, const FormData_pg_attribute *column, Datum left, Datum right)
{
	Oid input;
	Oid other;

	if (datum_image_eq(left, right, column->attbyval, column->attlen))
		return true;
	op_input_types(key->child_operators[at], &input, &other);
	return IsBinaryCoercible(column->atttypid, input) &&
		   DatumGetBool(OidFunctionCall2Coll(get_opcode(key->child_operators[at]), DEFAULT_COLLATION_OID, left, right));
}

/* Whether an UPDATE has left the columns, none of which is NULL now, unchanged (ri_KeysEqual). */
static bool
is_unchanged(const tsurugi_known_key *key, Relation child, TupleTableSlot *old, const Datum *values)
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

/* The columns of a row that is_there needs. */
static MinimalTuple
referencing_row(const tsurugi_known_key *key, Relation child, TupleTableSlot *row)
{
	Bitmapset *primary = RelationGetIndexAttrBitmap(child, INDEX_ATTR_BITMAP_PRIMARY_KEY);

	return primary == NULL
			   ? ExecCopySlotMinimalTuple(row)
			   : tsurugi_part_of_row(child, row, tsurugi_add_columns(primary, key->child_columns, key->count));
}

/*
 * Whether the row still exists: a deferred check concerns existing rows only, and the row may have
 * been deleted or changed by then.  Other rows with the same key columns may be permitted, because
 * the key is not valid, or will be checked themselves, after other triggers.  So this very row is
 * looked for, by its primary key or, if it has none, by all of its columns.
 */
static bool
is_there(const tsurugi_known_key *key, Relation child, const Datum *columns, const bool *nulls, TupleTableSlot *row)
{
	Oid types[2 * INDEX_MAX_KEYS];
	Datum values[2 * INDEX_MAX_KEYS];
	char spaces[2 * INDEX_MAX_KEYS + 1] = "";
	int count = key->count;
	Bitmapset *primary = RelationGetIndexAttrBitmap(child, INDEX_ATTR_BITMAP_PRIMARY_KEY);
	int member = -1;
	StringInfoData query;
	Portal rows;
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
	rows = tsurugi_query_open_own(query.data, count, types, values, spaces);
	SPI_cursor_fetch(rows, true, 1);
	found = SPI_processed > 0;
	SPI_cursor_close(rows);
	SetUserIdAndSecContext(user, context);
	return found;
}

/* Reads the key columns of a row.  False: they cannot violate the constraint. */
static bool
read_row(const tsurugi_known_key *key, TupleTableSlot *row, Datum *values, bool *nulls)
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
is_whole(const tsurugi_known_key *key, const bool *nulls)
{
	for (int i = 0; i < key->count; i++)
		if (nulls[i])
			return false;
	return true;
}

/*
 * Whether this transaction may have written the row that an UPDATE has replaced
 * (tsurugi_change_mark_old).
 */
static bool
is_own(HeapTuple old)
{
	return (old->t_data->t_infomask & HEAP_XMIN_COMMITTED) == 0;
}

/* A row that another trigger has changed or deleted since is not an error. */
static void
check_row(tsurugi_known_key *key, Relation child, Datum *values, const bool *nulls, TupleTableSlot *row)
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
	tsurugi_known_key *key = tsurugi_known_key_find(constraint);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(child), &TTSOpsMinimalTuple);
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];

	ExecStoreMinimalTuple(row, slot, false);
	if (read_row(key, slot, values, nulls))
		check_row(key, child, values, nulls, slot);
	ExecDropSingleTupleTableSlot(slot);
}

/* --- triggers ------------------------------------------------------------------------------- */

TSURUGI_SQL_FUNCTION(tsurugi_fdw_foreign_key_check);

Datum
tsurugi_fdw_foreign_key_check(PG_FUNCTION_ARGS)
{
	const TriggerData *data = tsurugi_own_trigger(fcinfo, "tsurugi_fdw_foreign_key_check");
	tsurugi_known_key *key = tsurugi_known_key_find(data->tg_trigger->tgconstraint);
	bool is_update = TRIGGER_FIRED_BY_UPDATE(data->tg_event);
	TupleTableSlot *row = is_update ? data->tg_newslot : data->tg_trigslot;
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];
	bool refers_to_one;

	if (key->child != RelationGetRelid(data->tg_relation) || TRIGGER_FIRED_BY_DELETE(data->tg_event))
		tsurugi_error_own_trigger("tsurugi_fdw_foreign_key_check");
	refers_to_one = read_row(key, row, values, nulls);
	if (is_update && is_whole(key, nulls) && !is_own(data->tg_trigtuple) &&
		is_unchanged(key, data->tg_relation, data->tg_trigslot, values))
		return PointerGetDatum(NULL);
	/* As in PostgreSQL, a check is pending even for an inserted row that refers to nothing. */
	if ((refers_to_one || !is_update) && tsurugi_known_key_waits(key))
		tsurugi_deferred_add(key->constraint, key->initially_deferred, data->tg_relation, check_later,
							 referencing_row(key, data->tg_relation, row));
	else if (refers_to_one)
		check_row(key, data->tg_relation, values, nulls, row);
	return PointerGetDatum(NULL);
}

/* --- all rows --------------------------------------------------------------------------------- */

/* Checks row by row, for a role that may not read one of the tables. */
static void
check_each_row(Relation child, Relation parent, Oid constraint)
{
	tsurugi_known_key *key = tsurugi_known_key_find(constraint);
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
	rows = tsurugi_query_open_own(query.data, 0, NULL, NULL, NULL);
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
	tsurugi_known_key *key = tsurugi_known_key_find(constraint);
	/* Locked when the constraint was made or found. */
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
