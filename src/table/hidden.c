/*
 * hidden.c
 *	  Stored values that users do not see.
 *
 * They are computed at each write, as PostgreSQL computes the columns of an index (FormIndexDatum)
 * and its predicate: the predicate first, and the others only if it holds.  The expressions are
 * immutable, so a row's hidden values follow from its other values, whenever they are computed.
 * Values that two indexes have in common are computed once for each row.
 */
#include "postgres.h"

#include "src/table/hidden.h"

#include "executor/executor.h"

#include "runtime/base/check.h"
#include "runtime/order/value.h"
#include "runtime/index/index_spec.h"
#include "src/value/cover.h"
#include "src/value/datum.h"
#include "src/value/gin.h"
#include "src/value/hashed.h"
#include "src/value/ranking.h"

/* The value of one source, computed for the current row or not yet. */
typedef struct Source
{
	ExprState *state;
	tsurugi_gin_maker *maker; /* instead of state, for lists of keys */
	FmgrInfo hash;			  /* for a hash that a function computes */
	bool is_known;
	bool null;
	tg_value value;
} Source;

struct tsurugi_hidden_states
{
	const tsurugi_relation *described;
	tg_table *table;
	EState *estate;
	Source *sources;
	/* One for each index of the relation; values is NULL if the index has none. */
	tg_hidden_values *of_index;
	tg_hidden_values *packed; /* of the indexes that have some */
	tg_hidden_row row;
};

/* Cells are 16 bytes wide and must be aligned. */
static void *
allocate_aligned(size_t bytes)
{
	return (void *) TYPEALIGN(sizeof(tg_value), palloc0(bytes + sizeof(tg_value)));
}

static void
make_place(tsurugi_hidden_states *states, int at)
{
	const tsurugi_index *index = &states->described->indexes[at];
	tg_hidden_values *of = &states->of_index[at];

	if (index->spec->hidden_count == 0)
		return;
	of->host = index->oid;
	of->values = allocate_aligned(index->spec->hidden_count * sizeof(tg_value));
	of->nulls = palloc0(index->spec->hidden_count * sizeof(bool));
	states->packed[states->row.count++] = *of;
}

tsurugi_hidden_states *
tsurugi_hidden_prepare(const tsurugi_relation *described, tg_table *table, EState *estate)
{
	tsurugi_hidden_states *states;

	if (described->source_count == 0)
		return NULL;
	states = palloc0(sizeof(*states));
	states->described = described;
	states->table = table;
	states->estate = estate;
	states->sources = allocate_aligned(described->source_count * sizeof(Source));
	for (int i = 0; i < described->source_count; i++)
	{
		const tsurugi_hidden *hidden = &described->hidden[i];

		if (hidden->gin != NULL)
			states->sources[i].maker = tsurugi_gin_prepare(hidden->gin, (List *) hidden->source, estate);
		else
			states->sources[i].state = ExecPrepareExpr((Expr *) copyObject(hidden->source), estate);
		if (OidIsValid(hidden->hash))
			fmgr_info(hidden->hash, &states->sources[i].hash);
	}
	states->of_index = palloc0(described->index_count * sizeof(tg_hidden_values));
	states->packed = palloc0(described->index_count * sizeof(tg_hidden_values));
	for (int i = 0; i < described->index_count; i++)
		make_place(states, i);
	states->row.of = states->packed;
	return states;
}

const tg_hidden_row *
tsurugi_hidden_row(const tsurugi_hidden_states *states)
{
	return states != NULL && states->row.count > 0 ? &states->row : NULL;
}

/* Called when the row is another one. */
static void
forget_sources(tsurugi_hidden_states *states)
{
	for (int i = 0; i < states->described->source_count; i++)
		states->sources[i].is_known = false;
}

static const Source *
compute_source(tsurugi_hidden_states *states, TupleTableSlot *slot, int number)
{
	const tsurugi_hidden *hidden = &states->described->hidden[number];
	Source *source = &states->sources[number];
	ExprContext *context = GetPerTupleExprContext(states->estate);
	TupleTableSlot *outer = context->ecxt_scantuple;
	MemoryContext caller;
	Datum value;

	if (source->is_known)
		return source;
	caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	context->ecxt_scantuple = slot;
	value = source->maker != NULL ? tsurugi_gin_make_list(source->maker, context, &source->null)
								  : ExecEvalExpr(source->state, context, &source->null);
	if (!source->null)
	{
		if (hidden->hashed)
			value = OidIsValid(hidden->hash)
						? tsurugi_hash(&source->hash, hidden->origin.collation, value)
						: tsurugi_hash_canonical(hidden->origin.type, hidden->origin.collation, value);
		else if (hidden->canonical)
			value = tsurugi_key_bytes(states->table, &hidden->origin, hidden->comparison, value);
		else if (hidden->cover)
			value = tsurugi_cover(hidden->origin.type, value);
		tsurugi_value(&hidden->stored, value, &source->value);
	}
	MemoryContextSwitchTo(caller);
	context->ecxt_scantuple = outer;
	source->is_known = true;
	return source;
}

static void
compute_columns(tsurugi_hidden_states *states, TupleTableSlot *slot, tg_value *values, bool *nulls)
{
	for (int i = 0; i < states->described->hidden_count; i++)
	{
		const Source *source = compute_source(states, slot, i);

		nulls[i] = source->null;
		values[i] = source->value;
	}
}

static bool
holds(const Source *predicate)
{
	return !predicate->null && predicate->value.word != 0;
}

static void
compute_index(tsurugi_hidden_states *states, TupleTableSlot *slot, int at)
{
	const tsurugi_index *index = &states->described->indexes[at];
	const tg_hidden_values *of = &states->of_index[at];
	int predicate = index->spec->partial ? index->spec->predicate & ~TG_KEY_HIDDEN : -1;
	bool present = predicate < 0 || holds(compute_source(states, slot, index->sources[predicate]));

	for (int i = 0; i < index->spec->hidden_count; i++)
	{
		const Source *source;

		((bool *) of->nulls)[i] = true;
		if (!present && i != predicate)
			continue;
		source = compute_source(states, slot, index->sources[i]);
		((bool *) of->nulls)[i] = source->null;
		((tg_value *) of->values)[i] = source->value;
	}
}

void
tsurugi_hidden_compute_columns(tsurugi_hidden_states *states, TupleTableSlot *slot, tg_value *values, bool *nulls)
{
	forget_sources(states);
	compute_columns(states, slot, values, nulls);
}

const tg_hidden_values *
tsurugi_hidden_compute_index(tsurugi_hidden_states *states, TupleTableSlot *slot, int index)
{
	tg_assert(index >= 0 && index < states->described->index_count);
	forget_sources(states);
	compute_index(states, slot, index);
	return &states->of_index[index];
}

void
tsurugi_hidden_compute(tsurugi_hidden_states *states, TupleTableSlot *slot, tg_value *values, bool *nulls)
{
	forget_sources(states);
	compute_columns(states, slot, values, nulls);
	for (int i = 0; i < states->described->index_count; i++)
		if (states->described->indexes[i].spec->hidden_count > 0)
			compute_index(states, slot, i);
}
