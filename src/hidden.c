/*
 * hidden.c
 *	  The values of columns that users do not see.
 *
 * They are computed at each write, as PostgreSQL computes the columns of an
 * index (FormIndexDatum) and its predicate.  Immutable expressions: so a row's
 * hidden values follow from its others, whenever they were computed.
 */
#include "postgres.h"

#include "src/hidden.h"

#include "executor/executor.h"

#include "src/canonical.h"

struct tsurugi_hidden_states
{
	const tsurugi_relation *described;
	EState *estate;
	ExprState *states[];
};

tsurugi_hidden_states *
tsurugi_hidden_prepare(const tsurugi_relation *described, EState *estate)
{
	tsurugi_hidden_states *states;

	if (described->hidden_count == 0)
		return NULL;
	states = palloc(offsetof(tsurugi_hidden_states, states) + described->hidden_count * sizeof(ExprState *));
	states->described = described;
	states->estate = estate;
	for (int i = 0; i < described->hidden_count; i++)
		states->states[i] = ExecPrepareExpr(copyObject(described->hidden[i].source), estate);
	return states;
}

void
tsurugi_hidden_compute(tsurugi_hidden_states *states, TupleTableSlot *slot, tg_value *values, bool *nulls)
{
	const tsurugi_relation *described = states->described;
	ExprContext *context = GetPerTupleExprContext(states->estate);
	TupleTableSlot *outer = context->ecxt_scantuple;
	MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);

	context->ecxt_scantuple = slot;
	for (int i = 0; i < described->hidden_count; i++)
	{
		const tsurugi_hidden *hidden = &described->hidden[i];
		int column = described->attribute_count + i;
		Datum value = ExecEvalExpr(states->states[i], context, &nulls[column]);

		if (nulls[column])
			continue;
		if (hidden->canonical)
			value = tsurugi_canonical(hidden->origin.type, hidden->origin.collation, value);
		tsurugi_value(&described->codecs[column], value, &values[column]);
	}
	MemoryContextSwitchTo(caller);
	context->ecxt_scantuple = outer;
}
