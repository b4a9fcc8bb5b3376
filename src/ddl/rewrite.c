/*
 * rewrite.c
 *	  Storage that follows an ALTER, and rows that have to be looked at for one.
 *
 * A rewrite puts a fresh storage in the place of the old one and copies the
 * visible rows into it, as inserts of the current transaction: so an error or
 * a rollback takes it back, and memory runs out as it does for any insert.
 * A snapshot taken before would not find the old rows in the new storage, and
 * fails (storage.c).
 */
#include "postgres.h"

#include "src/ddl/rewrite.h"

#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "commands/event_trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "src/base/owner.h"
#include "src/base/session.h"
#include "src/exec/scan.h"
#include "src/table/hidden.h"
#include "src/table/index_build.h"
#include "src/table/keys.h"
#include "src/table/relation.h"
#include "src/table/storage.h"
#include "src/txn/errors.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

/* --- reading rows --------------------------------------------------------------------- */

/* A walk over the visible rows; what it hands out stays until the next batch of rows. */
typedef struct Rows
{
	MemoryContext context;
	tg_chunk_scan scan;
	tg_range_scan *range; /* in the order of an index; NULL: as they are stored */
	tg_vectors *vectors;
	int column_count; /* that are read: those of the layout that the catalogs know, too */
	unsigned at;
} Rows;

static Rows *
open_rows(tg_table *table, int attribute_count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	const tg_layout *layout = tg_load_acquire(&table->layout);
	Rows *rows = palloc0(sizeof(*rows));
	uint16_t *columns;
	tg_snapshot snapshot;
	char *memory;

	rows->context = context;
	rows->column_count = Min(layout->column_count, attribute_count);
	columns = palloc(Max(rows->column_count, 1) * sizeof(*columns));
	for (int i = 0; i < rows->column_count; i++)
		columns[i] = i;
	memory = palloc(tg_vectors_bytes(layout->kinds, rows->column_count, TG_SLOT_MAX) + TG_CACHE_LINE);
	rows->vectors = tg_vectors_init((void *) TYPEALIGN(TG_CACHE_LINE, memory), columns, layout->kinds,
									rows->column_count, TG_SLOT_MAX);
	tsurugi_snapshot_take(context, &snapshot);
	tg_chunk_scan_init(&rows->scan, table, &snapshot, 0, tg_table_chunk_count(table));
	MemoryContextSwitchTo(caller);
	return rows;
}

/*
 * Puts the rows in the order of an index, NULL: the primary key's; before the first.  One that has several entries for a row, or
 * none, has no order of rows: they stay in theirs.
 */
static void
order_by(Rows *rows, tg_index *index)
{
	if (index != NULL && index->spec.several)
		return;
	rows->range = MemoryContextAlloc(rows->context, sizeof(*rows->range));
	tg_range_scan_init(rows->range, rows->scan.table, index, &rows->scan.snapshot, NULL, 0, true, NULL, 0, true, false);
}

/* Goes to the next row.  False: there is none. */
static bool
next_row(Rows *rows)
{
	if (++rows->at < rows->vectors->count)
		return true;
	rows->at = 0;
	if (rows->range != NULL)
		return tsurugi_read_range(rows->range, rows->vectors, TG_SLOT_MAX) > 0;
	return tsurugi_read_chunks(&rows->scan, rows->vectors) > 0;
}

static void
close_rows(Rows *rows)
{
	MemoryContextDelete(rows->context);
}

static bool
is_null(const Rows *rows, int column)
{
	return column >= rows->column_count || rows->vectors->nulls[column][rows->at] != 0;
}

static const void *
cell_at(const Rows *rows, int column)
{
	if (rows->vectors->kinds[column] <= TG_KIND_8)
		return &((const uint64_t *) rows->vectors->data[column])[rows->at];
	return &((const tg_value *) rows->vectors->data[column])[rows->at];
}

/* The row in a virtual slot; datums of numeric in the current context. */
static void
fill_slot(const Rows *rows, const tsurugi_relation *described, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		const tsurugi_codec *codec = &described->codecs[i];

		slot->tts_isnull[i] = codec->form == TSURUGI_NOTHING || is_null(rows, i);
		slot->tts_values[i] = slot->tts_isnull[i]
								  ? (Datum) 0
								  : tsurugi_datum(codec, cell_at(rows, i),
												  codec->scratch_bytes > 0 ? palloc(codec->scratch_bytes) : NULL);
	}
	ExecStoreVirtualTuple(slot);
}

/* --- looking at rows ------------------------------------------------------------------ */

static void
null_found(Relation relation, AttrNumber attnum)
{
	const char *name = NameStr(TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attname);

	ereport(ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("column \"%s\" of relation \"%s\" contains null values", name, RelationGetRelationName(relation)),
			 errtablecol(relation, attnum)));
}

static void
check_violated(Relation relation, const char *name)
{
	ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION),
					errmsg("check constraint \"%s\" of relation \"%s\" is violated by some row", name,
						   RelationGetRelationName(relation)),
					errtableconstraint(relation, name)));
}

static bool
is_met(Relation relation, const char *constraint, const List *met)
{
	return met != NIL &&
		   list_member_oid(met, get_relation_constraint_oid(RelationGetRelid(relation), constraint, false));
}

/* The states of the valid CHECK constraints that are not known to be met, NULL for others. */
static ExprState **
prepare_checks(Relation relation, const List *met, EState *estate)
{
	TupleConstr *constraints = RelationGetDescr(relation)->constr;
	ExprState **checks = palloc0(Max(constraints->num_check, 1) * sizeof(ExprState *));

	for (int i = 0; i < constraints->num_check; i++)
	{
		if (constraints->check[i].ccvalid && !is_met(relation, constraints->check[i].ccname, met))
			checks[i] = ExecPrepareExpr(stringToNode(constraints->check[i].ccbin), estate);
	}
	return checks;
}

static void
verify_row(Relation relation, const Rows *rows, const Bitmapset *not_null, ExprState **checks, ExprContext *context)
{
	int attnum = -1;

	while ((attnum = bms_next_member(not_null, attnum)) >= 0)
	{
		if (is_null(rows, attnum - 1))
			null_found(relation, attnum);
	}
	for (int i = 0; checks != NULL && i < RelationGetDescr(relation)->constr->num_check; i++)
	{
		if (checks[i] != NULL && !ExecCheck(checks[i], context))
			check_violated(relation, RelationGetDescr(relation)->constr->check[i].ccname);
	}
}

void
tsurugi_table_verify(Relation relation, const Bitmapset *not_null, bool checks, const List *met)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described;
	EState *estate;
	ExprContext *context;
	ExprState **states = NULL;
	TupleTableSlot *slot;
	Rows *rows;

	checks = checks && RelationGetDescr(relation)->constr != NULL;
	if (table == NULL || (bms_is_empty(not_null) && !checks))
		return;
	described = tsurugi_relation_describe(relation);
	estate = CreateExecutorState();
	context = GetPerTupleExprContext(estate);
	slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	context->ecxt_scantuple = slot;
	if (checks)
		states = prepare_checks(relation, met, estate);
	rows = open_rows(table, described->attribute_count);
	while (next_row(rows))
	{
		if (checks)
		{
			MemoryContext caller;

			ResetPerTupleExprContext(estate);
			caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
			fill_slot(rows, described, slot);
			MemoryContextSwitchTo(caller);
		}
		verify_row(relation, rows, not_null, states, context);
	}
	close_rows(rows);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
}

bool
tsurugi_table_satisfies(Relation relation, List *conditions)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described;
	EState *estate;
	ExprContext *context;
	ExprState *check;
	Rows *rows;
	bool satisfied = true;

	if (table == NULL || conditions == NIL)
		return true;
	described = tsurugi_relation_describe(relation);
	estate = CreateExecutorState();
	context = GetPerTupleExprContext(estate);
	context->ecxt_scantuple = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	check = ExecPrepareCheck(conditions, estate);
	rows = open_rows(table, described->attribute_count);
	while (satisfied && next_row(rows))
	{
		MemoryContext caller;

		ResetPerTupleExprContext(estate);
		caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		fill_slot(rows, described, context->ecxt_scantuple);
		MemoryContextSwitchTo(caller);
		satisfied = ExecCheck(check, context);
	}
	close_rows(rows);
	ExecDropSingleTupleTableSlot(context->ecxt_scantuple);
	FreeExecutorState(estate);
	return satisfied;
}

/* --- copying rows ----------------------------------------------------------------------- */

typedef struct Copy
{
	Relation relation;
	const tsurugi_relation *described; /* as the catalogs are now */
	tg_table *fresh;
	ExprState **defaults; /* by column; NULL: none, or not added */
	EState *estate;
	TupleTableSlot *slot;
	const tsurugi_retype *retype;  /* or NULL, as are the next two */
	ExprState **conversions;	   /* by column; NULL: stays as it is */
	TupleTableSlot *before;		   /* the row as it was */
	tsurugi_hidden_states *hidden; /* of the key, or NULL; the indexes are filled afterwards */
	tg_value *values;
	bool *nulls;
} Copy;

/* A stored value as one to be stored in another table: its blob is copied. */
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

/* In the per-tuple memory context, with the row in the slot. */
static void
fill_defaults(Copy *copy)
{
	ExprContext *context = GetPerTupleExprContext(copy->estate);

	context->ecxt_scantuple = copy->slot;
	for (int i = 0; i < copy->described->attribute_count; i++)
	{
		if (copy->defaults[i] == NULL)
			continue;
		copy->slot->tts_values[i] = ExecEvalExpr(copy->defaults[i], context, &copy->slot->tts_isnull[i]);
		copy->nulls[i] = copy->slot->tts_isnull[i];
		if (!copy->nulls[i])
			tsurugi_value(&copy->described->codecs[i], copy->slot->tts_values[i], &copy->values[i]);
	}
}

static void
insert_row(Copy *copy)
{
	const tsurugi_relation *described = copy->described;
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = 0;
	tg_writer writer;
	tg_wait wait;
	uint32_t row;
	tg_status status;

	for (int i = 0; i < described->attribute_count; i++)
	{
		if (copy->nulls[i] && TupleDescAttr(RelationGetDescr(copy->relation), i)->attnotnull)
			null_found(copy->relation, i + 1);
	}
	if (described->key_count > 0)
		tsurugi_check(tg_key_encode(tsurugi_session(), copy->fresh, described->kinds, copy->values, key, &key_bytes),
					  copy->relation);
	tsurugi_writer(NULL, TG_DATA, &writer);
	status = tg_txn_insert(&writer, copy->fresh, described->key_count > 0 ? key : NULL, key_bytes, copy->values,
						   copy->nulls, &row, &wait);
	if (status == TG_EXISTS)
		tsurugi_error_not_unique(copy->relation, described->key_index, copy->slot);
	tsurugi_check(status, copy->relation);
}

/* The row with its columns' new types; both rows are in their slots then. */
static void
convert_row(Copy *copy, const Rows *rows)
{
	const tsurugi_relation *described = copy->described;
	ExprContext *context = GetPerTupleExprContext(copy->estate);
	int before_count = copy->before->tts_tupleDescriptor->natts;

	fill_slot(rows, copy->retype->described, copy->before);
	context->ecxt_scantuple = copy->before;
	ExecClearTuple(copy->slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		copy->slot->tts_isnull[i] = true;
		copy->slot->tts_values[i] = (Datum) 0;
		if (described->codecs[i].form == TSURUGI_NOTHING || i >= before_count)
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
	for (int i = 0; i < described->attribute_count; i++)
	{
		copy->nulls[i] = copy->slot->tts_isnull[i];
		if (!copy->nulls[i])
			tsurugi_value(&described->codecs[i], copy->slot->tts_values[i], &copy->values[i]);
	}
}

static void
take_row(Copy *copy, const Rows *rows)
{
	const tsurugi_relation *described = copy->described;

	fill_slot(rows, described, copy->slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		copy->nulls[i] = copy->slot->tts_isnull[i];
		if (!copy->nulls[i])
			take_cell(&described->codecs[i], cell_at(rows, i), &copy->values[i]);
	}
}

static void
copy_row(Copy *copy, const Rows *rows)
{
	MemoryContext caller;

	ResetPerTupleExprContext(copy->estate);
	caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(copy->estate));
	if (copy->retype != NULL)
		convert_row(copy, rows);
	else
		take_row(copy, rows);
	fill_defaults(copy);
	if (copy->described->hidden_count > 0)
	{
		tsurugi_caller caller_role;

		tsurugi_owner_begin(copy->relation, &caller_role);
		tsurugi_hidden_compute_columns(copy->hidden, copy->slot, copy->values, copy->nulls);
		tsurugi_owner_end(&caller_role);
	}
	insert_row(copy);
	MemoryContextSwitchTo(caller);
}

/* NULL as a value of the column's type, if that is a domain which may refuse it (ATExecAddColumn); else NULL. */
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

/* The defaults of added columns that have one other than NULL. */
static ExprState **
prepare_defaults(Relation relation, const Bitmapset *added, EState *estate, bool *any_out)
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

/* Columns whose kind in the layout is not what they need. */
static bool
kinds_differ(const tsurugi_relation *described, const tg_layout *layout)
{
	for (int i = 0; i < described->attribute_count && i < layout->column_count; i++)
	{
		if (described->codecs[i].form != TSURUGI_NOTHING && described->kinds[i] != layout->kinds[i])
			return true;
	}
	return false;
}

/* Columns left behind by an ALTER that was rolled back are no rows' columns: they read as NULL. */
static int
readable_columns(const tsurugi_relation *described, const Bitmapset *added)
{
	int first_added = bms_next_member(added, -1);

	return first_added < 0 ? described->attribute_count : first_added - 1;
}

/* The expressions that make the new columns, and the slot that they read. */
static void
prepare_conversions(Copy *copy, const tsurugi_retype *retype)
{
	int count = copy->described->attribute_count;

	if (retype == NULL)
		return;
	copy->retype = retype;
	copy->before = MakeSingleTupleTableSlot(retype->before, &TTSOpsVirtual);
	copy->conversions = palloc0(Max(count, 1) * sizeof(ExprState *));
	for (int i = 0; i < retype->before->natts && i < count; i++)
	{
		if (retype->expressions[i] != NULL)
			copy->conversions[i] = ExecInitExpr(retype->expressions[i], NULL);
	}
}

static void
copy_rows(Relation relation, Rows *rows, tg_table *fresh, const tsurugi_relation *described,
		  const tsurugi_retype *retype, ExprState **defaults, EState *estate)
{
	int count = described->column_count;
	Copy copy = {.relation = relation,
				 .described = described,
				 .fresh = fresh,
				 .defaults = defaults,
				 .estate = estate,
				 .slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual),
				 .values = (tg_value *) TYPEALIGN(sizeof(tg_value), palloc0((count + 1) * sizeof(tg_value))),
				 .nulls = palloc0((count + 1) * sizeof(bool))};
	tsurugi_caller caller;

	tsurugi_owner_begin(relation, &caller);
	copy.hidden = tsurugi_hidden_prepare(described, fresh, estate);
	tsurugi_owner_end(&caller);
	prepare_conversions(&copy, retype);
	while (next_row(rows))
		copy_row(&copy, rows);
	close_rows(rows);
	ExecDropSingleTupleTableSlot(copy.slot);
	if (copy.before != NULL)
		ExecDropSingleTupleTableSlot(copy.before);
}

/* Those of the columns that are NOT NULL. */
static Bitmapset *
not_null_of(Relation relation, const Bitmapset *columns)
{
	Bitmapset *not_null = NULL;
	int attnum = -1;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
	{
		if (attnum <= RelationGetNumberOfAttributes(relation) &&
			TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attnotnull)
			not_null = bms_add_member(not_null, attnum);
	}
	return not_null;
}

/* What an expression makes its value of without changing it (ATColumnChangeRequiresRewrite). */
static const Expr *
unchanged_argument(const Expr *expression)
{
	for (;;)
	{
		const FuncExpr *function = (const FuncExpr *) expression;

		if (IsA(expression, RelabelType))
			expression = ((const RelabelType *) expression)->arg;
		else if (IsA(expression, CoerceToDomain) &&
				 !DomainHasConstraints(((const CoerceToDomain *) expression)->resulttype))
			expression = ((const CoerceToDomain *) expression)->arg;
		else if (IsA(expression, FuncExpr) &&
				 (function->funcid == F_TIMESTAMPTZ_TIMESTAMP || function->funcid == F_TIMESTAMP_TIMESTAMPTZ) &&
				 !TimestampTimestampTzRequiresRewrite())
			expression = linitial(function->args);
		else
			return expression;
	}
}

/* The column is stored in the same bytes under both types. */
static bool
is_stored_alike(const Expr *expression, AttrNumber attnum, const tsurugi_codec *before, const tsurugi_codec *after)
{
	expression = unchanged_argument(expression);
	return IsA(expression, Var) && ((const Var *) expression)->varattno == attnum && before->form == after->form &&
		   before->kind == after->kind && before->typlen == after->typlen && before->scale == after->scale &&
		   before->header_bytes == after->header_bytes && before->inline_allowed == after->inline_allowed;
}

static bool
must_convert(const tsurugi_retype *retype, const tsurugi_relation *described)
{
	for (int i = 0; retype != NULL && i < retype->before->natts && i < described->attribute_count; i++)
	{
		if (retype->expressions[i] != NULL &&
			!is_stored_alike(retype->expressions[i], i + 1, &retype->described->codecs[i], &described->codecs[i]))
			return true;
	}
	return false;
}

/* --- following --------------------------------------------------------------------------- */

/* The rows have to be stored anew: other columns, other kinds, another primary key, or columns that it alone has. */
static bool
must_rewrite(const tsurugi_relation *described, const tg_table *table)
{
	/* the key's hidden columns lie behind the attributes */
	if (table->hidden != 0 && table->hidden < described->attribute_count)
		return true;
	if (kinds_differ(described, tg_load_acquire(&table->layout)) ||
		!tsurugi_key_is_same(&table->key, &described->key_spec))
		return true;
	for (int i = 0; i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];
		const tg_index *there;

		if (index->primary || !index->valid)
			continue;
		there = tg_index_find(table, index->oid);
		if (there != NULL && !tsurugi_index_is_same(&there->spec, &index->spec))
			return true;
	}
	return false;
}

/* Makes and fills the indexes that the table does not have, and lets go of those that the catalogs do not have. */
static void
follow_indexes(Relation relation, tg_table *table, const tsurugi_relation *described)
{
	tg_index *next;

	for (tg_index *index = tg_index_first(table); index != NULL; index = next)
	{
		bool wanted = false;

		next = tg_index_next(index);
		for (int i = 0; i < described->index_count; i++)
			wanted |= described->indexes[i].oid == index->spec.host && tg_index_find(table, index->spec.host) == index;
		if (!wanted)
			tsurugi_storage_drop_index(table, index);
	}
	for (int i = 0; i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];

		if (!index->primary && index->valid && tg_index_find(table, index->oid) == NULL)
			tsurugi_index_build(relation, tsurugi_storage_make_index(relation, table, index), true);
	}
}

/* Puts an empty storage without secondary indexes in the place of the relation's: the end of the transaction knows both. */
static tg_table *
replace_storage(Relation relation, const tsurugi_relation *described)
{
	tg_table *fresh = tsurugi_storage_make(relation, described, false);

	tsurugi_storage_replace(relation, fresh);
	return fresh;
}

int
tsurugi_table_rewrite_reason(Relation relation, const Bitmapset *added, const tsurugi_retype *retype)
{
	int reason = 0;
	int attnum = -1;

	if (retype != NULL && must_convert(retype, tsurugi_relation_describe(relation)))
		reason |= AT_REWRITE_COLUMN_REWRITE;
	while ((attnum = bms_next_member(added, attnum)) >= 0)
	{
		const FormData_pg_attribute *attribute;
		Node *value;

		if (attnum > RelationGetNumberOfAttributes(relation))
			continue;
		attribute = TupleDescAttr(RelationGetDescr(relation), attnum - 1);
		value = attribute->attisdropped ? NULL : build_column_default(relation, attnum);
		/* planned: a function's default argument may be volatile, too */
		if (value != NULL && (attribute->attgenerated != '\0' ||
							  contain_volatile_functions((Node *) expression_planner((Expr *) value))))
			reason |= AT_REWRITE_DEFAULT_VAL;
	}
	return reason;
}

void
tsurugi_table_follow(Relation relation, const Bitmapset *added, const tsurugi_retype *retype)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described;
	EState *estate;
	ExprState **defaults;
	bool fill;

	if (table == NULL)
		return;
	described = tsurugi_relation_describe(relation);
	estate = CreateExecutorState();
	defaults = prepare_defaults(relation, added, estate, &fill);
	if (must_convert(retype, described) || fill || must_rewrite(described, table))
	{
		tg_table *old = table;

		table = replace_storage(relation, described);
		copy_rows(relation, open_rows(old, readable_columns(described, added)), table, described, retype, defaults,
				  estate);
	}
	else
		tsurugi_table_verify(relation, not_null_of(relation, added), false, NIL);
	FreeExecutorState(estate);
	follow_indexes(relation, table, described);
	/* the layout follows, too */
	(void) tsurugi_relation_get(relation);
	CommandCounterIncrement();
	if (retype != NULL)
		tsurugi_table_verify(relation, NULL, true, NIL);
}

void
tsurugi_table_compact(Relation relation, Oid order)
{
	tg_table *old = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described;
	tg_table *fresh;
	EState *estate;
	bool any;
	Rows *rows;

	if (old == NULL)
		return;
	described = tsurugi_relation_describe(relation);
	estate = CreateExecutorState();
	fresh = replace_storage(relation, described);
	rows = open_rows(old, described->attribute_count);
	if (OidIsValid(order))
		order_by(rows, order == described->key_index ? NULL : tg_index_find(old, order));
	copy_rows(relation, rows, fresh, described, NULL, prepare_defaults(relation, NULL, estate, &any), estate);
	FreeExecutorState(estate);
	follow_indexes(relation, fresh, described);
	(void) tsurugi_relation_get(relation);
}

void
tsurugi_table_add_index(Relation relation, Oid index)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described = tsurugi_relation_describe(relation);

	/* nothing is dropped: what the catalogs do not show may be others' new indexes */
	for (int i = 0; i < described->index_count; i++)
	{
		if (described->indexes[i].oid == index)
			tsurugi_index_build(relation, tsurugi_storage_make_index(relation, table, &described->indexes[i]), true);
	}
}

void
tsurugi_table_rebuild_index(Relation relation, Oid index_id)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described = tsurugi_relation_describe(relation);

	for (int i = 0; table != NULL && i < described->index_count; i++)
	{
		tg_index *old = tg_index_find(table, index_id);

		if (described->indexes[i].oid != index_id)
			continue;
		if (described->indexes[i].primary)
		{
			tsurugi_table_compact(relation, InvalidOid);
			return;
		}
		/* the old one is read by, and kept up to date, until the transaction ends */
		if (old != NULL)
			tsurugi_storage_drop_index(table, old);
		tsurugi_index_build(relation, tsurugi_storage_make_index(relation, table, &described->indexes[i]), true);
	}
}
