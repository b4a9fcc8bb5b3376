/*
 * deferred_key.c
 *	  PRIMARY KEY, UNIQUE and EXCLUDE that are DEFERRABLE.
 *
 * They are checked at the end of each statement, or of the transaction, and may be violated
 * meanwhile.  So in the storage their index is an ordinary one, which accepts every entry, and
 * afterwards a trigger checks whether another row has the key (tg_txn_recheck; unique.c argues that
 * none is missed).  As in PostgreSQL (unique_key_recheck):
 *
 *	at once		waits for transactions that may have the key; two rows with the key are an error
 *	deferred	does not wait; a row that may not be the only one is checked later (deferred.h)
 *
 * EXCLUDE constraints are checked in the same way, by exclusion.c.
 *
 * Rows cannot be found by such a key for their whole life.  So a table with one has no key in the
 * storage, ON CONFLICT cannot name it, and no foreign key can refer to it.
 */
#include "postgres.h"

#include "src/constraint/deferred_key.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/table/limits.h"
#include "runtime/index/find.h"
#include "runtime/index/index_spec.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "runtime/app/process.h"
#include "src/base/catalog_row.h"
#include "src/base/query.h"
#include "src/base/sql_function.h"
#include "src/base/status_error.h"
#include "src/value/key_column.h"
#include "src/constraint/exclusion.h"
#include "src/constraint/own_trigger.h"
#include "src/table/row.h"
#include "src/txn/deferred.h"
#include "src/txn/errors.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

static void
say_once(bool *said, const char *clauses)
{
	if (*said)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("multiple %s clauses not allowed", clauses)));
	*said = true;
}

bool
tsurugi_take_attribute(Constraint *constraint, const Constraint *attribute, tsurugi_attributes *said)
{
	switch (attribute->contype)
	{
		case CONSTR_ATTR_DEFERRABLE:
		case CONSTR_ATTR_NOT_DEFERRABLE:
			say_once(&said->deferrable, "DEFERRABLE/NOT DEFERRABLE");
			constraint->deferrable = attribute->contype == CONSTR_ATTR_DEFERRABLE;
			break;
		case CONSTR_ATTR_DEFERRED:
		case CONSTR_ATTR_IMMEDIATE:
			say_once(&said->initially, "INITIALLY IMMEDIATE/DEFERRED");
			constraint->initdeferred = attribute->contype == CONSTR_ATTR_DEFERRED;
			if (!said->deferrable)
				constraint->deferrable = constraint->initdeferred;
			break;
		default:
			return false;
	}
	if (constraint->initdeferred && !constraint->deferrable)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR), errmsg("constraint declared INITIALLY DEFERRED must be DEFERRABLE")));
	return true;
}

/* --- the constraint ------------------------------------------------------------------------ */

static void
mark_index(Oid index)
{
	tsurugi_catalog_row row;

	tsurugi_index_row_open(index, &row)->indimmediate = false;
	tsurugi_catalog_row_write(&row);
}

static bool
mark_constraint(Oid constraint, bool initially_deferred)
{
	tsurugi_catalog_row row;
	Form_pg_constraint form = tsurugi_constraint_row_open(constraint, &row);
	bool primary = form->contype == CONSTRAINT_PRIMARY;

	form->condeferrable = true;
	form->condeferred = initially_deferred;
	tsurugi_catalog_row_write(&row);
	return primary;
}

/* index_constraint_create would require a constraint trigger, which foreign tables cannot have. */
void
tsurugi_key_set_deferrable(Relation relation, Oid index, bool initially_deferred)
{
	CreateTrigStmt *trigger = makeNode(CreateTrigStmt);
	Oid constraint;

	CommandCounterIncrement();
	constraint = get_index_constraint(index);
	tg_assert(OidIsValid(constraint));
	mark_index(index);
	trigger->trigname =
		mark_constraint(constraint, initially_deferred) ? "PK_ConstraintTrigger" : "Unique_ConstraintTrigger";
	trigger->row = true;
	trigger->timing = TRIGGER_TYPE_AFTER;
	trigger->events = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE;
	CommandCounterIncrement();
	(void) CreateTrigger(trigger, NULL, RelationGetRelid(relation), InvalidOid, constraint, index,
						 tsurugi_own_function("tsurugi_fdw_unique_check"), InvalidOid, NULL, true, false);
	CacheInvalidateRelcache(relation);
	CommandCounterIncrement();
}

/* --- one row ---------------------------------------------------------------------------------- */

static const tsurugi_index *
find_index(const tsurugi_relation *described, Oid constraint)
{
	for (int i = 0; i < described->index_count; i++)
		if (described->indexes[i].constraint == constraint)
			return &described->indexes[i];
	elog(ERROR, "constraint %u has no index", constraint);
}

/* Whether the key contains canonical bytes of columns, which must be computed. */
static bool
is_canonical(const tsurugi_index *index)
{
	for (int i = 0; i < index->key_count; i++)
		if (index->key[i].canonical)
			return true;
	return false;
}

static tg_status
recheck_key(const tsurugi_relation *described, const tsurugi_index *index, tsurugi_row *row, bool waits, tg_wait *wait)
{
	tg_index *stored = tg_index_find(described->table, index->oid);
	tg_writer writer;

	if (stored == NULL)
		elog(ERROR, "index %u is not stored", index->oid);
	tsurugi_writer(NULL, TG_DATA, &writer);
	writer.hidden = tsurugi_row_hidden(row);
	return tg_txn_recheck(&writer, stored, row->values, row->nulls, waits, wait);
}

/* Repeats the check until there is no transaction to wait for, if the caller wants to wait. */
static tg_status
look_again(Relation relation, const tsurugi_index *index, tsurugi_row *row, tsurugi_exclusions *one,
		   TupleTableSlot *slot, bool waits)
{
	tg_assert((one == NULL) != (row == NULL));
	for (;;)
	{
		tg_wait wait;
		tg_status status = one != NULL ? tsurugi_exclusion_recheck(one, slot, waits, &wait)
									   : recheck_key(row->described, index, row, waits, &wait);

		if (status != TG_BUSY || !waits)
			return status;
		tsurugi_wait(&wait, relation, TSURUGI_TO_INSERT, TG_ROW_MAX);
	}
}

/*
 * Whether another row has the key, too.  waits: if it is undecided whether one has it, wait for the
 * decision.
 */
static tg_status
judge(Relation relation, const tsurugi_relation *described, const tsurugi_index *index, TupleTableSlot *slot,
	  bool waits)
{
	EState *estate = NULL;
	tsurugi_row row;
	tg_status status;

	tg_assert(index->exclusion != NULL || index->deferrable);
	if (index->exclusion != NULL)
	{
		tsurugi_exclusions *one = tsurugi_exclusion_prepare_one(relation, described, index);

		status = look_again(relation, index, NULL, one, slot, waits);
		if (status == TG_EXISTS && waits)
			tsurugi_exclusion_fail(one, slot);
		tsurugi_exclusions_free(one);
	}
	else
	{
		tsurugi_row_init(&row, described);
		if (is_canonical(index))
		{
			estate = CreateExecutorState();
			row.hidden = tsurugi_hidden_prepare(described, described->table, estate);
		}
		tsurugi_row_from_slot(&row, slot, NULL);
		status = look_again(relation, index, &row, NULL, slot, waits);
		if (status == TG_EXISTS && waits)
			tsurugi_error_duplicate(relation, index->oid, slot);
		if (estate != NULL)
			FreeExecutorState(estate);
	}
	if (status != TG_OK && status != TG_BUSY && status != TG_EXISTS)
		tsurugi_error(status, relation);
	return status;
}

static void
check_now(Relation relation, Oid constraint, TupleTableSlot *slot)
{
	const tsurugi_relation *described = tsurugi_relation_get(relation);

	(void) judge(relation, described, find_index(described, constraint), slot, true);
}

static void
check_later(Oid constraint, Relation relation, MinimalTuple row)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsMinimalTuple);

	ExecStoreMinimalTuple(row, slot, false);
	check_now(relation, constraint, slot);
	ExecDropSingleTupleTableSlot(slot);
}

static void
put_aside(Relation relation, Oid constraint, bool initially, TupleTableSlot *slot)
{
	const tsurugi_relation *described = tsurugi_relation_get(relation);

	if (judge(relation, described, find_index(described, constraint), slot, false) != TG_OK)
		tsurugi_deferred_add(constraint, initially, relation, check_later, ExecCopySlotMinimalTuple(slot));
}

/*
 * Whether an UPDATE has left the key unchanged, byte by byte.  A transaction that has since written
 * a row with that key makes its own check.
 */
static bool
is_unchanged(Relation relation, Oid constraint, TupleTableSlot *old, TupleTableSlot *new)
{
	const tsurugi_index *index = find_index(tsurugi_relation_get(relation), constraint);

	/* An EXCLUDE constraint may depend on more than its columns. */
	if (index->exclusion != NULL)
		return false;
	for (int i = 0; i < index->key_count; i++)
	{
		AttrNumber column = index->key[i].attnum;
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
		bool old_null;
		bool new_null;
		Datum old_value = slot_getattr(old, column, &old_null);
		Datum new_value = slot_getattr(new, column, &new_null);

		if (old_null != new_null ||
			(!old_null && !datum_image_eq(old_value, new_value, attribute->attbyval, attribute->attlen)))
			return false;
	}
	return true;
}

static bool
is_deferred(Oid constraint, bool *initially_out)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	*initially_out = ((Form_pg_constraint) GETSTRUCT(tuple))->condeferred;
	ReleaseSysCache(tuple);
	return tsurugi_is_deferred(constraint, *initially_out);
}

TSURUGI_SQL_FUNCTION(tsurugi_fdw_unique_check);

Datum
tsurugi_fdw_unique_check(PG_FUNCTION_ARGS)
{
	const TriggerData *data = tsurugi_own_trigger(fcinfo, "tsurugi_fdw_unique_check");
	TupleTableSlot *slot;
	Oid constraint;
	bool initially;

	if (TRIGGER_FIRED_BY_DELETE(data->tg_event))
		tsurugi_error_own_trigger("tsurugi_fdw_unique_check");
	constraint = data->tg_trigger->tgconstraint;
	slot = data->tg_trigslot;
	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
	{
		slot = data->tg_newslot;
		if (is_unchanged(data->tg_relation, constraint, data->tg_trigslot, slot))
			return PointerGetDatum(NULL);
	}
	if (is_deferred(constraint, &initially))
		put_aside(data->tg_relation, constraint, initially, slot);
	else
		check_now(data->tg_relation, constraint, slot);
	return PointerGetDatum(NULL);
}

/* --- all rows ------------------------------------------------------------------- */

/*
 * Finds a key that more than one row has, into a slot of the table's shape.  Connected to SPI.
 * False: there is none.
 */
static bool
find_duplicate(Relation relation, const tsurugi_index *index, TupleTableSlot *slot)
{
	StringInfoData columns;
	StringInfoData query;
	Portal rows;

	initStringInfo(&columns);
	initStringInfo(&query);
	for (int i = 0; i < index->key_count; i++)
		appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "",
						 quote_identifier(get_attname(RelationGetRelid(relation), index->key[i].attnum, false)));
	appendStringInfo(&query, "SELECT %s FROM ONLY %s", columns.data,
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
												RelationGetRelationName(relation)));
	for (int i = 0; i < index->key_count && !index->spec->nulls_not_distinct; i++)
		appendStringInfo(&query, " %s %s IS NOT NULL", i > 0 ? "AND" : "WHERE",
						 quote_identifier(get_attname(RelationGetRelid(relation), index->key[i].attnum, false)));
	appendStringInfo(&query, " GROUP BY %s HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1", columns.data);
	rows = tsurugi_query_open_own(query.data, 0, NULL, NULL, NULL);
	SPI_cursor_fetch(rows, true, 1);
	SPI_cursor_close(rows);
	if (SPI_processed == 0)
		return false;
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = 0; i < index->key_count; i++)
		slot->tts_values[index->key[i].attnum - 1] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1,
																   &slot->tts_isnull[index->key[i].attnum - 1]);
	ExecStoreVirtualTuple(slot);
	return true;
}

static void
verify_key(Relation relation, const tsurugi_index *index)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);

	tg_assert(index->deferrable && index->exclusion == NULL);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (find_duplicate(relation, index, slot))
		tsurugi_error_not_unique(relation, index->oid, slot);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	ExecDropSingleTupleTableSlot(slot);
}

void
tsurugi_deferrable_keys_verify(Oid relation_id, const List *before)
{
	Relation relation = table_open(relation_id, AccessExclusiveLock);
	const tsurugi_relation *described = tsurugi_relation_get(relation);
	bool outer = tsurugi_snapshot_begin_fresh();

	PG_TRY();
	{
		for (int i = 0; i < described->index_count; i++)
		{
			const tsurugi_index *index = &described->indexes[i];

			if (list_member_oid(before, index->oid))
				continue;
			if (index->exclusion != NULL)
				tsurugi_exclusion_verify(relation, described, index);
			else if (index->deferrable)
				verify_key(relation, index);
		}
	}
	PG_FINALLY();
	{
		tsurugi_snapshot_end_fresh(outer);
	}
	PG_END_TRY();
	table_close(relation, NoLock);
}
