/*
 * store_anew.c
 *	  Copies the rows of a table into a fresh storage.
 *
 * Rows are copied as inserts of the current transaction.  If only their places change (VACUUM FULL,
 * CLUSTER, REINDEX, columns with a default), they are copied with the times of their versions, and
 * with the versions that older snapshots see (txn/carry.h).  Then
 *
 * 1. rows that a present snapshot sees come first, in the requested order; most have no past, and
 *	  cost as much as an insert without its log entry;
 * 2. rows that it does not see come afterwards, if some snapshot may see them;
 * 3. changes that this transaction has made to a row are repeated on the old version of it.  So
 *	  they remain the transaction's own, and nobody else sees them before the commit, or ever.
 *
 * Past versions lie in memory that only an epoch protects, and nothing may fail inside an epoch.
 * So the versions of a row are copied there, all at once, and are stored outside of it.
 */
#include "postgres.h"

#include "src/ddl/store_anew.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/index/find.h"
#include "runtime/index/long_key.h"
#include "runtime/txn/carry.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/owner.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/value/datum.h"
#include "src/table/hidden.h"
#include "src/table/row_copy.h"
#include "src/table/storage.h"
#include "src/table/stored_types.h"
#include "src/txn/errors.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

void
tsurugi_error_null_found(Relation relation, AttrNumber attnum)
{
	const char *name = NameStr(TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attname);

	ereport(ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("column \"%s\" of relation \"%s\" contains null values", name, RelationGetRelationName(relation)),
			 errtablecol(relation, attnum)));
}

/* Versions of a row, newest first, as many as there is room for. */
typedef struct Past
{
	unsigned capacity;
	tg_past *times;
	tsurugi_row_copy *versions;
} Past;

typedef struct Copy
{
	const tsurugi_anew *anew;
	const tsurugi_relation *described;
	EState *estate;
	TupleTableSlot *slot;
	ExprState **conversions; /* by column; NULL: no conversion */
	/* The old row; NULL: no types have changed. */
	TupleTableSlot *before;
	/* Those of the primary key, or NULL; the indexes are filled afterwards. */
	tsurugi_hidden_states *hidden;
	tg_value *values;
	bool *nulls;
	/* NULL: rows are inserted, without their past. */
	tg_carrier *carrier;
	Past past;
	bool has_past[TG_SLOT_MAX]; /* for the rows of the walk's batch */
} Copy;

/* --- values ------------------------------------------------------------------------------ */

/* Makes a stored value suitable for another table: its blob is copied. */
static void
take_cell(const tsurugi_codec *codec, const void *cell, tg_value *value_out)
{
	if (codec->kind <= TG_KIND_8)
		value_out->word = *(const uint64_t *) cell;
	else
		*value_out = *(const tg_value *) cell;
	if (codec->kind == TG_KIND_STRING && tg_string_is_out(&value_out->string))
		tg_string_make_host(&value_out->string, value_out->string.blob, tg_string_blob_bytes(&value_out->string),
							codec->header_bytes);
}

/* Takes the slot's value of an attribute. */
static void
take_datum(Copy *copy, int attribute)
{
	int column = tsurugi_column_of(copy->described, attribute);

	copy->nulls[column] = copy->slot->tts_isnull[attribute];
	if (!copy->nulls[column])
		tsurugi_value(&copy->described->codecs[column], copy->slot->tts_values[attribute], &copy->values[column]);
}

/* Runs in the per-tuple memory context, with the row in the slot. */
static void
fill_defaults(Copy *copy)
{
	ExprContext *context = GetPerTupleExprContext(copy->estate);

	context->ecxt_scantuple = copy->slot;
	for (int i = 0; i < copy->described->attribute_count; i++)
	{
		if (copy->anew->defaults[i] == NULL)
			continue;
		copy->slot->tts_values[i] = ExecEvalExpr(copy->anew->defaults[i], context, &copy->slot->tts_isnull[i]);
		take_datum(copy, i);
	}
}

/* Converts the row to its columns' new types; afterwards both rows are in their slots. */
static void
convert_row(Copy *copy, const tsurugi_row_walk *walk)
{
	const tsurugi_relation *described = copy->described;
	ExprContext *context = GetPerTupleExprContext(copy->estate);
	int before_count = copy->before->tts_tupleDescriptor->natts;

	tsurugi_row_walk_to_slot(walk, copy->anew->retype->described, copy->before);
	context->ecxt_scantuple = copy->before;
	ExecClearTuple(copy->slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		copy->slot->tts_isnull[i] = true;
		copy->slot->tts_values[i] = (Datum) 0;
		if (described->codecs[tsurugi_column_of(described, i)].form == TSURUGI_NOTHING || i >= before_count)
			continue;
		if (copy->conversions[i] != NULL)
			copy->slot->tts_values[i] = ExecEvalExpr(copy->conversions[i], context, &copy->slot->tts_isnull[i]);
		else
		{
			copy->slot->tts_values[i] = copy->before->tts_values[i];
			copy->slot->tts_isnull[i] = copy->before->tts_isnull[i];
		}
	}
	ExecStoreVirtualTuple(copy->slot);
	copy->slot->tts_tableOid = described->oid;
	for (int i = 0; i < described->attribute_count; i++)
		take_datum(copy, i);
}

static void
take_row(Copy *copy, const tsurugi_row_walk *walk)
{
	const tsurugi_relation *described = copy->described;

	tsurugi_row_walk_to_slot(walk, described, copy->slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		int column = tsurugi_column_of(described, i);

		copy->nulls[column] = copy->slot->tts_isnull[i];
		if (!copy->nulls[column])
			take_cell(&described->codecs[column], tsurugi_row_walk_cell(walk, i), &copy->values[column]);
	}
}

static void
take_version(Copy *copy, const tsurugi_row *row)
{
	const tsurugi_relation *described = copy->described;

	tsurugi_row_to_slot(row, 0, copy->slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		int column = tsurugi_column_of(described, i);

		copy->nulls[column] = row->nulls[column];
		if (!copy->nulls[column])
			take_cell(&described->codecs[column], &row->values[column], &copy->values[column]);
	}
}

/*
 * Makes all values to be stored, from the row of the walk or from a version.  Runs in the per-tuple
 * memory context.
 */
static void
make_values(Copy *copy, const tsurugi_row_walk *walk, const tsurugi_row *version)
{
	if (version != NULL)
		take_version(copy, version);
	else if (copy->before != NULL)
		convert_row(copy, walk);
	else
		take_row(copy, walk);
	fill_defaults(copy);
	if (copy->described->hidden_count > 0)
	{
		tsurugi_caller caller;

		tsurugi_owner_begin(copy->anew->relation, &caller);
		tsurugi_hidden_compute_columns(copy->hidden, copy->slot, copy->values, copy->nulls);
		tsurugi_owner_end(&caller);
	}
}

static void
check_not_null(const Copy *copy)
{
	Relation relation = copy->anew->relation;

	for (int i = 0; i < copy->described->attribute_count; i++)
	{
		if (copy->nulls[tsurugi_column_of(copy->described, i)] &&
			TupleDescAttr(RelationGetDescr(relation), i)->attnotnull)
			tsurugi_error_null_found(relation, i + 1);
	}
}

/* Encodes the key of the values, in a buffer of TG_KEY_BYTES_MAX; NULL: there is no key. */
static const void *
make_key(const Copy *copy, unsigned char *key, size_t *bytes_out)
{
	*bytes_out = 0;
	if (copy->described->key_count == 0)
		return NULL;
	tsurugi_check(
		tg_key_encode(tsurugi_session(), copy->anew->fresh, copy->described->kinds, copy->values, key, bytes_out),
		copy->anew->relation);
	return key;
}

static void
check_stored(const Copy *copy, tg_status status)
{
	if (status == TG_EXISTS)
		tsurugi_error_not_unique(copy->anew->relation, copy->described->key_index, copy->slot);
	tsurugi_check(status, copy->anew->relation);
}

/* --- storing as writes ----------------------------------------------------------------------- */

static void
insert_row(Copy *copy)
{
	unsigned char buffer[TG_KEY_BYTES_MAX];
	size_t key_bytes;
	const void *key = make_key(copy, buffer, &key_bytes);
	tg_writer writer;
	tg_wait wait;
	uint32_t row;

	tsurugi_writer(NULL, TG_DATA, &writer);
	check_stored(copy,
				 tg_txn_insert(&writer, copy->anew->fresh, key, key_bytes, copy->values, copy->nulls, &row, &wait));
}

/*
 * Replaces a row of the fresh storage by the values, or deletes it.  Only the sweep can interfere,
 * because it moves rows.
 */
static void
change_row(Copy *copy, uint32_t row, bool deletes)
{
	tg_table *fresh = copy->anew->fresh;
	tg_session *session = tsurugi_session();
	tg_writer writer;
	tg_status status;
	tg_wait wait;

	tsurugi_writer(NULL, deletes ? TG_ESSENTIAL : TG_DATA, &writer);
	do
	{
		tg_version version;

		tg_epoch_enter(session);
		status = tg_txn_newest(&writer, NULL, fresh, &row, &version, &wait);
		if (status == TG_CHANGED)
			status = deletes ? tg_txn_delete(&writer, fresh, row, version, &wait)
							 : tg_txn_update(&writer, fresh, row, version, copy->values, copy->nulls, &wait);
		tg_epoch_leave(session);
	} while (status == TG_AGAIN);
	check_stored(copy, status);
}

/* --- storing with the past ------------------------------------------------------------------- */

static void
make_room(Copy *copy, unsigned count)
{
	Past *past = &copy->past;
	Bitmapset *whole = bms_make_singleton(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber);
	MemoryContext caller = MemoryContextSwitchTo(copy->estate->es_query_cxt);

	if (count > past->capacity)
	{
		unsigned capacity = Max(count, 2 * past->capacity + 2);

		past->times = past->times == NULL ? palloc(capacity * sizeof(*past->times))
										  : repalloc_huge(past->times, capacity * sizeof(*past->times));
		past->versions = past->versions == NULL ? palloc(capacity * sizeof(*past->versions))
												: repalloc_huge(past->versions, capacity * sizeof(*past->versions));
		while (past->capacity < capacity)
			tsurugi_row_copy_init(&past->versions[past->capacity++], copy->described, whole);
	}
	for (unsigned i = 0; i < count; i++)
		tsurugi_row_copy_make_room(&past->versions[i]);
	MemoryContextSwitchTo(caller);
}

/*
 * Reads the versions of a row that must be carried over.  alone: for a single version its times are
 * enough.
 */
static unsigned
read_past(Copy *copy, uint32_t row, bool alone, bool *own_out)
{
	Past *past = &copy->past;
	unsigned count;
	bool fits;

	do
	{
		tg_epoch_enter(tsurugi_session());
		count = tg_carrier_past(copy->carrier, row, past->times, past->capacity, own_out);
		fits = count <= past->capacity;
		for (unsigned i = 0; fits && i < count && !(alone && count == 1 && !*own_out); i++)
			fits = tsurugi_row_copy_take(&past->versions[i], past->times[i].version);
		tg_epoch_leave(tsurugi_session());
		if (!fits)
			make_room(copy, count);
	} while (!fits);
	return count;
}

/*
 * Memory is claimed as for writes, so whatever is due between two writes is due here
 * (transaction.c).
 */
static void
pass_as_writer(void)
{
	tg_writer writer;

	tsurugi_writer(NULL, TG_DATA, &writer);
}

static void
store_version(Copy *copy, const tg_past *times, uint32_t *row_inout)
{
	unsigned char buffer[TG_KEY_BYTES_MAX];
	size_t key_bytes = 0;
	const void *key = *row_inout == TG_ROW_MAX ? make_key(copy, buffer, &key_bytes) : NULL;

	check_stored(copy, tg_carrier_store(copy->carrier, times, key, key_bytes, copy->values, copy->nulls, row_inout));
}

/*
 * Carries over a row that has a past.  walk: the row is the walk's current one, and its values have
 * been made; NULL: a present snapshot does not see it.
 */
static void
carry_row(Copy *copy, uint32_t row, const tsurugi_row_walk *walk)
{
	Past *past = &copy->past;
	uint32_t stored = TG_ROW_MAX;
	bool own;
	unsigned count = read_past(copy, row, walk != NULL, &own);
	bool is_live = count > 0 && past->times[0].end == TG_TIME_NEVER;

	if (walk != NULL && count == 1 && !own)
	{
		store_version(copy, past->times, &stored);
		return;
	}
	for (unsigned i = count; i-- > 0;)
	{
		ResetPerTupleExprContext(copy->estate);
		make_values(copy, NULL, &past->versions[i].row);
		store_version(copy, &past->times[i], &stored);
	}
	if (own && walk != NULL)
		make_values(copy, walk, NULL);
	if (own && walk != NULL && !is_live)
		insert_row(copy);
	else if (own && (walk != NULL || is_live))
		change_row(copy, stored, walk == NULL);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void
copy_row(Copy *copy, const tsurugi_row_walk *walk)
{
	MemoryContext caller;

	if (copy->carrier != NULL && walk->at == 0)
	{
		pass_as_writer();
		tg_carrier_look(copy->carrier, walk->vectors->rows, walk->vectors->count, copy->has_past);
	}
	ResetPerTupleExprContext(copy->estate);
	caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(copy->estate));
	make_values(copy, walk, NULL);
	check_not_null(copy);
	if (copy->carrier == NULL)
		insert_row(copy);
	else if (copy->has_past[walk->at])
		carry_row(copy, walk->vectors->rows[walk->at], walk);
	else
	{
		uint32_t stored = TG_ROW_MAX;

		store_version(copy, &tg_past_settled, &stored);
	}
	MemoryContextSwitchTo(caller);
}

static void
carry_ended(Copy *copy, const tg_snapshot *snapshot)
{
	MemoryContext caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(copy->estate));

	for (uint32_t row = 0; row != TG_ROW_MAX;)
	{
		CHECK_FOR_INTERRUPTS();
		pass_as_writer();
		if (tg_carrier_find_ended(copy->carrier, snapshot, &row))
			carry_row(copy, row++, NULL);
	}
	MemoryContextSwitchTo(caller);
}

/* --- preparing ---------------------------------------------------------------------------- */

/*
 * NULL as a value of the column's type, if that is a domain which may reject it (ATExecAddColumn);
 * otherwise NULL.
 */
static Node *
domain_null(const FormData_pg_attribute *attribute)
{
	int32 typmod = attribute->atttypmod;
	Oid base;

	if (!DomainHasConstraints(attribute->atttypid))
		return NULL;
	base = getBaseTypeAndTypmod(attribute->atttypid, &typmod);
	return coerce_to_target_type(NULL, (Node *) makeNullConst(base, typmod, get_typcollation(base)), base,
								 attribute->atttypid, attribute->atttypmod, COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST,
								 -1);
}

ExprState **
tsurugi_anew_defaults(Relation relation, const Bitmapset *added, EState *estate, bool *any_out)
{
	ExprState **defaults = palloc0(Max(RelationGetNumberOfAttributes(relation), 1) * sizeof(ExprState *));
	int attnum = -1;

	*any_out = false;
	while ((attnum = bms_next_member(added, attnum)) >= 0)
	{
		Node *expression;

		if (attnum > RelationGetNumberOfAttributes(relation) ||
			TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attisdropped)
			continue;
		expression = build_column_default(relation, attnum);
		if (expression == NULL)
			expression = domain_null(TupleDescAttr(RelationGetDescr(relation), attnum - 1));
		if (expression == NULL || (IsA(expression, Const) && ((Const *) expression)->constisnull))
			continue;
		defaults[attnum - 1] = ExecPrepareExpr((Expr *) expression, estate);
		*any_out = true;
	}
	return defaults;
}

/* Prepares the expressions that compute the new columns, and the slot that they read. */
static void
prepare_conversions(Copy *copy, const tsurugi_retype *retype)
{
	int count = copy->described->attribute_count;

	copy->before = MakeSingleTupleTableSlot(retype->before, &TTSOpsVirtual);
	copy->conversions = palloc0(Max(count, 1) * sizeof(ExprState *));
	for (int i = 0; i < retype->before->natts && i < count; i++)
	{
		if (retype->expressions[i] != NULL)
			copy->conversions[i] = ExecInitExpr(retype->expressions[i], NULL);
	}
}

/* Columns that a rolled-back ALTER has left behind have no values: they read as NULL. */
static int
readable_columns(const tsurugi_anew *anew)
{
	int first_added = bms_next_member(anew->added, -1);

	return first_added < 0 ? anew->described->attribute_count : first_added - 1;
}

static tsurugi_row_walk *
open_walk(const tsurugi_anew *anew)
{
	const tsurugi_relation *before = anew->retype != NULL ? anew->retype->described : anew->described;
	int count = readable_columns(anew);
	tsurugi_row_walk *walk;

	tsurugi_stored_types_check(anew->old, before, Min(count, before->attribute_count));
	walk = tsurugi_row_walk_open(anew->old, count);
	if (OidIsValid(anew->order))
		tsurugi_row_walk_order(walk, anew->order == anew->described->key_index ? NULL
																			   : tg_index_find(anew->old, anew->order));
	return walk;
}

void
tsurugi_store_anew(const tsurugi_anew *anew, EState *estate)
{
	int count = anew->described->column_count;
	Copy copy = {.anew = anew,
				 .described = anew->described,
				 .estate = estate,
				 .slot = MakeSingleTupleTableSlot(RelationGetDescr(anew->relation), &TTSOpsVirtual),
				 .values = (tg_value *) TYPEALIGN(sizeof(tg_value), palloc0((count + 1) * sizeof(tg_value))),
				 .nulls = palloc0((count + 1) * sizeof(bool))};
	tsurugi_row_walk *walk = open_walk(anew);
	tsurugi_caller caller;

	tsurugi_transaction_before_storing();
	tsurugi_owner_begin(anew->relation, &caller);
	copy.hidden = tsurugi_hidden_prepare(anew->described, anew->fresh, estate);
	tsurugi_owner_end(&caller);
	if (anew->retype != NULL)
		prepare_conversions(&copy, anew->retype);
	if (anew->keeps_past)
	{
		copy.carrier = palloc(sizeof(*copy.carrier));
		tg_carrier_init(copy.carrier, tsurugi_session(), anew->old, anew->fresh, tsurugi_transaction_number(),
						tsurugi_storage_garbage(anew->relation));
	}
	while (tsurugi_row_walk_next(walk))
		copy_row(&copy, walk);
	if (anew->keeps_past)
		carry_ended(&copy, &walk->scan.snapshot);
	tsurugi_row_walk_close(walk);
	ExecDropSingleTupleTableSlot(copy.slot);
	if (copy.before != NULL)
		ExecDropSingleTupleTableSlot(copy.before);
}
