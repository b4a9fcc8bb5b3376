/*
 * rewrite.c
 *	  Storage that follows an ALTER, and rows that must be verified for one.
 *
 * A rewrite replaces the old storage by a fresh one and copies the rows into it (store_anew.h).  An
 * error or a rollback undoes it, and memory can run out as for any insert.  If the rows are
 * unchanged, they keep their past versions.  If they are changed, or are found by another key, only
 * the visible rows are inserted.  A snapshot taken before would not find the old rows in the new
 * storage, so its reads fail (storage.c).
 */
#include "postgres.h"

#include "src/ddl/rewrite.h"

#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "commands/event_trigger.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "runtime/base/check.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "src/base/owner.h"
#include "src/value/codec.h"
#include "src/value/key_column.h"
#include "src/ddl/index_build.h"
#include "src/ddl/row_walk.h"
#include "src/ddl/store_anew.h"
#include "src/ddl/type_users.h"
#include "src/table/building.h"
#include "src/table/keys.h"
#include "src/table/relation.h"
#include "src/table/storage.h"
#include "src/table/stored_types.h"
#include "src/txn/kinds.h"

/* --- verifying rows -------------------------------------------------------------------------- */

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

/*
 * The states of the valid CHECK constraints that are not known to be satisfied; NULL for the
 * others.
 */
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
verify_row(Relation relation, const tsurugi_row_walk *rows, const Bitmapset *not_null, ExprState **checks,
		   ExprContext *context)
{
	int attnum = -1;

	while ((attnum = bms_next_member(not_null, attnum)) >= 0)
	{
		if (tsurugi_row_walk_is_null(rows, attnum - 1))
			tsurugi_error_null_found(relation, attnum);
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
	tsurugi_row_walk *rows;
	tsurugi_caller caller;

	checks = checks && RelationGetDescr(relation)->constr != NULL;
	if (table == NULL || (bms_is_empty(not_null) && !checks))
		return;
	described = tsurugi_relation_describe(relation);
	tsurugi_stored_types_check(table, described, described->attribute_count);
	estate = CreateExecutorState();
	context = GetPerTupleExprContext(estate);
	slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	context->ecxt_scantuple = slot;
	tsurugi_owner_begin(relation, &caller);
	if (checks)
		states = prepare_checks(relation, met, estate);
	rows = tsurugi_row_walk_open(table, described->attribute_count);
	while (tsurugi_row_walk_next(rows))
	{
		if (checks)
		{
			MemoryContext memory;

			ResetPerTupleExprContext(estate);
			memory = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
			tsurugi_row_walk_to_slot(rows, described, slot);
			MemoryContextSwitchTo(memory);
		}
		verify_row(relation, rows, not_null, states, context);
	}
	tsurugi_row_walk_close(rows);
	tsurugi_owner_end(&caller);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
}

bool
tsurugi_table_satisfies(Relation relation, List *conditions, Oid author)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described;
	EState *estate;
	ExprContext *context;
	ExprState *check;
	tsurugi_row_walk *rows;
	tsurugi_caller caller;
	bool satisfied = true;

	if (table == NULL || conditions == NIL)
		return true;
	described = tsurugi_relation_describe(relation);
	tsurugi_stored_types_check(table, described, described->attribute_count);
	estate = CreateExecutorState();
	context = GetPerTupleExprContext(estate);
	context->ecxt_scantuple = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	tsurugi_author_begin(author, &caller);
	check = ExecPrepareCheck(conditions, estate);
	rows = tsurugi_row_walk_open(table, described->attribute_count);
	while (satisfied && tsurugi_row_walk_next(rows))
	{
		MemoryContext memory;

		ResetPerTupleExprContext(estate);
		memory = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		tsurugi_row_walk_to_slot(rows, described, context->ecxt_scantuple);
		MemoryContextSwitchTo(memory);
		satisfied = ExecCheck(check, context);
	}
	tsurugi_row_walk_close(rows);
	tsurugi_owner_end(&caller);
	ExecDropSingleTupleTableSlot(context->ecxt_scantuple);
	FreeExecutorState(estate);
	return satisfied;
}

/* --- decisions ------------------------------------------------------------------------------- */

/*
 * Whether a column's kind or type in the storage is not the one that it needs, or columns are in
 * other places.
 */
static bool
kinds_differ(const tsurugi_relation *described, const tg_table *table)
{
	const tg_columns stored = tg_table_columns(table);

	if (table->hidden != (uint32_t) described->hidden_count ||
		!tsurugi_stored_types_fit(table, described, described->attribute_count))
		return true;
	for (int i = 0; i < described->column_count && i < (int) stored.count; i++)
	{
		if (described->codecs[i].form != TSURUGI_NOTHING && described->kinds[i] != stored.kinds[i])
			return true;
	}
	return false;
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

/*
 * The argument from which an expression makes its value without changing it
 * (ATColumnChangeRequiresRewrite).
 */
static const Expr *
unchanged_argument(const Expr *expression)
{
	for (;;)
	{
		if (IsA(expression, RelabelType))
			expression = ((const RelabelType *) expression)->arg;
		else if (IsA(expression, CoerceToDomain) &&
				 !DomainHasConstraints(((const CoerceToDomain *) expression)->resulttype))
			expression = ((const CoerceToDomain *) expression)->arg;
		else
			return expression;
	}
}

/* Whether the column is stored in the same bytes under both types. */
static bool
is_stored_alike(const Expr *expression, AttrNumber attnum, const tsurugi_codec *before, const tsurugi_codec *after)
{
	expression = unchanged_argument(expression);
	return IsA(expression, Var) && ((const Var *) expression)->varattno == attnum && tsurugi_codec_alike(before, after);
}

/*
 * Whether values have to be converted; or read as they are, after several changes of the type, but
 * not as of the type with which they were stored (stored_types.h).
 */
static bool
must_convert(const tg_table *table, const tsurugi_retype *retype, const tsurugi_relation *described)
{
	for (int i = 0; retype != NULL && i < retype->before->natts && i < described->attribute_count; i++)
	{
		if (retype->expressions[i] != NULL &&
			!(is_stored_alike(retype->expressions[i], i + 1,
							  &retype->described->codecs[tsurugi_column_of(retype->described, i)],
							  &described->codecs[tsurugi_column_of(described, i)]) &&
			  (table == NULL || tsurugi_stored_type_fits(table, described, i))))
			return true;
	}
	return false;
}

/* --- following --------------------------------------------------------------------------- */

/* Whether rows are stored under the same keys, in columns of the same kinds. */
static bool
is_stored_alike_all(const tsurugi_relation *described, const tg_table *table)
{
	return !kinds_differ(described, table) && tsurugi_key_is_same(table->key, described->key_spec);
}

/*
 * Whether rows must be stored anew, because of other columns, other kinds, another primary key,
 * another persistence, or changed index definitions.
 */
static bool
must_rewrite(const tsurugi_relation *described, const tg_table *table)
{
	if (!is_stored_alike_all(described, table) || table->unlogged != described->unlogged)
		return true;
	for (int i = 0; i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];
		const tg_index *there;

		if (index->primary || !index->valid)
			continue;
		there = tg_index_find(table, index->oid);
		if (there != NULL && !tsurugi_index_is_same(&there->spec, index->spec))
			return true;
	}
	return false;
}

/*
 * Makes and fills the indexes that the table lacks, and drops those that the catalogs do not have.
 * The storage may be a new one.
 */
static void
follow_indexes(Relation relation, tg_table *table, const tg_table *before, const tsurugi_relation *described)
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
		{
			bool replaces = tg_index_find(before, index->oid) != NULL;

			tsurugi_index_build(relation, tsurugi_storage_make_index(relation, table, described, index, replaces),
								true);
		}
	}
}

/*
 * Replaces the relation's storage by one with the rows and without secondary indexes.  The end of
 * the transaction decides between the two.
 */
static tg_table *
store_anew(tsurugi_anew *anew, EState *estate)
{
	tsurugi_building building;

	tsurugi_check_may_replace(anew->relation);
	anew->fresh = tsurugi_storage_replace(anew->relation, anew->described, false, anew->keeps_past);
	tsurugi_building_begin(anew->relation, &building);
	PG_TRY();
	{
		tsurugi_store_anew(anew, estate);
	}
	PG_FINALLY();
	{
		tsurugi_building_end(&building);
	}
	PG_END_TRY();
	return anew->fresh;
}

int
tsurugi_table_rewrite_reason(Relation relation, const Bitmapset *added, const tsurugi_retype *retype)
{
	const tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	int reason = 0;
	int attnum = -1;

	if (table != NULL && table->unlogged != tsurugi_relation_describe(relation)->unlogged)
		reason |= AT_REWRITE_ALTER_PERSISTENCE;
	if (retype != NULL && must_convert(table, retype, tsurugi_relation_describe(relation)))
		reason |= AT_REWRITE_COLUMN_REWRITE;
	while ((attnum = bms_next_member(added, attnum)) >= 0)
	{
		const FormData_pg_attribute *attribute;
		Node *value;

		if (attnum > RelationGetNumberOfAttributes(relation))
			continue;
		attribute = TupleDescAttr(RelationGetDescr(relation), attnum - 1);
		value = attribute->attisdropped ? NULL : build_column_default(relation, attnum);
		/* Planned, because a function's default argument may be volatile, too. */
		if (value != NULL && (attribute->attgenerated != '\0' ||
							  contain_volatile_functions((Node *) expression_planner((Expr *) value))))
			reason |= AT_REWRITE_DEFAULT_VAL;
	}
	return reason;
}

/*
 * Whether the primary key contains canonical bytes, ranks or hashes, which are computed from
 * values.
 */
static bool
has_made_key(const tsurugi_relation *described)
{
	bool is_made = false;

	for (int i = 0; i < described->key_count; i++)
		is_made |= described->key[i].canonical;
	return is_made;
}

/* Whether the condition depends on a column that ALTER COLUMN TYPE has changed. */
static bool
is_about_retyped(const char *condition, TupleDesc now, const tsurugi_retype *retype)
{
	Bitmapset *columns = NULL;
	int member = -1;

	pull_varattnos(stringToNode(condition), 1, &columns);
	while ((member = bms_next_member(columns, member)) >= 0)
	{
		AttrNumber attnum = member + FirstLowInvalidHeapAttributeNumber;
		const FormData_pg_attribute *before;
		const FormData_pg_attribute *after;

		if (attnum == InvalidAttrNumber || attnum > retype->before->natts)
			return true;
		if (attnum < 0)
			continue;
		before = TupleDescAttr(retype->before, attnum - 1);
		after = TupleDescAttr(now, attnum - 1);
		if (retype->expressions[attnum - 1] != NULL || before->atttypid != after->atttypid ||
			before->atttypmod != after->atttypmod || before->attcollation != after->attcollation)
			return true;
	}
	return false;
}

/*
 * Verifies the CHECK constraints that PostgreSQL makes again, and no others, so that it does not
 * run code of other roles.
 */
static void
verify_retyped(Relation relation, const tsurugi_retype *retype)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;
	List *met = NIL;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
		if (!is_about_retyped(constraints->check[i].ccbin, RelationGetDescr(relation), retype))
			met = lappend_oid(
				met, get_relation_constraint_oid(RelationGetRelid(relation), constraints->check[i].ccname, false));
	tsurugi_table_verify(relation, NULL, true, met);
}

void
tsurugi_table_follow(Relation relation, const Bitmapset *added, const tsurugi_retype *retype, bool remake_keys)
{
	tg_table *before = tsurugi_storage_find(RelationGetRelid(relation));
	tg_table *table = before;
	const tsurugi_relation *described;
	EState *estate;
	ExprState **defaults;
	bool fill;
	bool converts;

	if (table == NULL)
		return;
	described = tsurugi_relation_describe(relation);
	estate = CreateExecutorState();
	defaults = tsurugi_anew_defaults(relation, added, estate, &fill);
	if (fill)
		tsurugi_check_row_type_filled(relation);
	converts = must_convert(table, retype, described) || fill;
	if (converts || remake_keys || must_rewrite(described, table))
	{
		tsurugi_anew anew = {.relation = relation,
							 .described = described,
							 .old = table,
							 .added = added,
							 .defaults = defaults,
							 .retype = retype,
							 .keeps_past = !converts && retype == NULL && is_stored_alike_all(described, table) &&
										   !(remake_keys && has_made_key(described))};

		table = store_anew(&anew, estate);
	}
	else
		tsurugi_table_verify(relation, not_null_of(relation, added), false, NIL);
	FreeExecutorState(estate);
	follow_indexes(relation, table, before, described);
	/* The layout follows, too. */
	(void) tsurugi_relation_get(relation);
	CommandCounterIncrement();
	if (retype != NULL)
		verify_retyped(relation, retype);
}

void
tsurugi_table_compact(Relation relation, Oid order)
{
	tsurugi_anew anew = {.relation = relation, .old = tsurugi_storage_find(RelationGetRelid(relation)), .order = order};
	EState *estate;
	tg_table *fresh;
	bool any;

	if (anew.old == NULL)
		return;
	anew.described = tsurugi_relation_describe(relation);
	anew.keeps_past = is_stored_alike_all(anew.described, anew.old);
	estate = CreateExecutorState();
	anew.defaults = tsurugi_anew_defaults(relation, NULL, estate, &any);
	fresh = store_anew(&anew, estate);
	FreeExecutorState(estate);
	follow_indexes(relation, fresh, anew.old, anew.described);
	(void) tsurugi_relation_get(relation);
}

void
tsurugi_table_add_index(Relation relation, Oid index)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	const tsurugi_relation *described = tsurugi_relation_describe(relation);

	tg_assert(table != NULL && CheckRelationLockedByMe(relation, ShareLock, true));
	/*
	 * Nothing is dropped: storage that the catalogs do not show may be another session's new index.
	 */
	for (int i = 0; i < described->index_count; i++)
	{
		if (described->indexes[i].oid == index)
			tsurugi_index_build(
				relation, tsurugi_storage_make_index(relation, table, described, &described->indexes[i], false), true);
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
		/* The old index is read, and maintained, until the transaction ends. */
		if (old != NULL)
			tsurugi_storage_drop_index(table, old);
		tsurugi_index_build(
			relation, tsurugi_storage_make_index(relation, table, described, &described->indexes[i], false), true);
	}
}
