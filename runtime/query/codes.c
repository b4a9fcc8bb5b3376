/*
 * codes.c
 *	  Texts by the codes of their chunk (summary.h): filters, arguments of aggregates and keys of
 *	  groups that are computed once for each of a chunk's few values, and not for each row.
 *
 *		  mode IN ('AIR', 'MAIL')
 *
 *		  values of the chunk   AIR MAIL RAIL SHIP    the condition is computed for these four
 *		  the condition           1    1    0    0
 *		  codes of the rows     2 0 3 1 1 0 ...       and looked up for each row: 0 1 0 1 1 1 ...
 *
 * 1. An input has codes only if each instruction that reads it cannot fail, and depends on nothing
 *	  else.  So it does no harm that it is computed for values of rows that an earlier operator has
 *	  dropped.  Values are told apart by their bytes alone: what the program finds equal, as it may
 *	  bpchars that differ in their blanks, has the same result.
 * 2. Keys of groups have codes if all of them can.  Rows with the same codes are a class, whose
 *	  group is looked up once.  Two classes may be of one group: keys are compared as ever.
 * 3. Codes are made when a batch with half of the slots of its chunk meets a column without them.
 *	  They are used for batches with several rows for each value.
 * 4. A batch is evaluated in one epoch, in which the chunk is found settled.  The batch may be
 *	  older, of a period before the present one.  But its rows are versions that the snapshot sees,
 *	  so their slots were taken when the present period began, and the codes know them (summary.c,
 *	  3).  When the epoch is left codes may be gone, so what has some is expanded before.
 */
#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/query/query_internal.h"
#include "runtime/table/table.h"

#define ROWS_PER_VALUE 4 /* of a batch that is computed by codes, at least */
#define CLASSES_MAX 1024 /* combinations of codes */
#define CLASS_NONE UINT16_MAX

_Static_assert(TG_CODES_MAX <= TG_VECTOR_CODES_MAX, "codes of a chunk are those of a vector");

/* --- inputs --------------------------------------------------------------------------------- */

/* Whether it is a column of texts whose instructions can be computed by codes. */
static bool
may_have_codes(const tg_expressions *expressions, uint16_t number)
{
	return number < expressions->program.input_count && number < 64 && expressions->inputs[number].source == 0 &&
		   expressions->inputs[number].load == TG_LOAD_TEXT && tg_program_reads_alone(&expressions->program, number);
}

uint64_t
tg_codes_of_filter(const tg_expressions *expressions)
{
	uint64_t inputs = 0;

	for (uint16_t i = 0; i < expressions->program.input_count; i++)
		if (may_have_codes(expressions, i))
			inputs |= (uint64_t) 1 << i;
	return inputs;
}

/* Without an input, if the register is one. */
static uint64_t
without(uint64_t inputs, uint16_t index)
{
	return index < 64 ? inputs & ~((uint64_t) 1 << index) : inputs;
}

static bool
is_constant(const tg_program *program, uint16_t index)
{
	return index >= program->input_count && index < program->input_count + program->constant_count;
}

uint64_t
tg_codes_of_groups(const tg_sink *sink)
{
	uint64_t inputs = tg_codes_of_filter(sink->expressions);
	bool are_all = true;

	for (unsigned i = 0; i < sink->aggregate_count; i++)
	{
		inputs = without(inputs, sink->aggregates[i].argument);
		inputs = without(inputs, sink->aggregates[i].filter);
	}
	for (unsigned i = 0; i < sink->key_count; i++)
		are_all = are_all && (is_constant(&sink->expressions->program, sink->fields[i]) ||
							  (sink->fields[i] < 64 && (inputs >> sink->fields[i] & 1) != 0));
	for (unsigned i = 0; !are_all && i < sink->key_count; i++)
		inputs = without(inputs, sink->fields[i]);
	return inputs;
}

static unsigned
column_of(const tg_evaluation *evaluation, unsigned number, const tg_batch *batch)
{
	unsigned field = evaluation->expressions->inputs[number].field;

	return batch->columns != NULL ? batch->columns[field] : field;
}

void
tg_codes_want(tg_session *session, const tg_evaluation *evaluation, const tg_batch *batch)
{
	tg_chunk *own;

	if (evaluation->coded_inputs == 0 || batch->chunk == NULL ||
		(batch->count < batch->chunk->capacity / 2 && !tg_failpoint_refuses("summary_any_chunk")))
		return;
	own = tg_table_chunk(batch->chunk->table, batch->chunk->index); /* the same, to be written to */
	for (uint64_t inputs = evaluation->coded_inputs; inputs != 0; inputs &= inputs - 1)
	{
		unsigned column = column_of(evaluation, (unsigned) __builtin_ctzll(inputs), batch);

		if (tg_chunk_has_column(own, column))
			tg_codes_make(session, own, column);
	}
}

bool
tg_codes_load(tg_evaluation *evaluation, unsigned number, const tg_batch *batch)
{
	tg_vector *vector = tg_evaluated(evaluation, number);
	const tg_codes *codes;
	uint8_t *room;

	if (number >= 64 || (evaluation->coded_inputs >> number & 1) == 0 || batch->chunk == NULL)
		return false;
	codes = tg_codes_get(batch->chunk, column_of(evaluation, number, batch));
	if (codes == NULL || (batch->count < codes->count * ROWS_PER_VALUE && !tg_failpoint_refuses("summary_any_chunk")))
		return false;
	evaluation->had_codes = true;
	vector->data = (void *) codes->values;
	vector->nulls = codes->has_null ? (uint8_t *) codes->nulls : NULL;
	vector->code_count = (uint8_t) codes->count;
	vector->codes = codes->slots;
	if (batch->dense)
		return true;
	room = evaluation->code_room +
		   (size_t) __builtin_popcountll(evaluation->coded_inputs & (((uint64_t) 1 << number) - 1)) * TG_VECTOR_ROWS;
	for (unsigned i = 0; i < batch->count; i++)
		room[i] = codes->slots[batch->slots[i]];
	vector->codes = room;
	return true;
}

/* --- groups --------------------------------------------------------------------------------- */

static void
expand(const tg_evaluation *evaluation, uint16_t index, unsigned count)
{
	if (index != TG_REGISTER_NONE)
		tg_vector_expand(tg_evaluated(evaluation, index), NULL, count);
}

void
tg_codes_expand_aggregates(const tg_evaluation *evaluation, const tg_sink *sink, unsigned count)
{
	if (!evaluation->had_codes)
		return;
	for (unsigned i = 0; i < sink->aggregate_count; i++)
	{
		expand(evaluation, sink->aggregates[i].argument, count);
		expand(evaluation, sink->aggregates[i].filter, count);
	}
}

void
tg_codes_expand_all(const tg_evaluation *evaluation, unsigned count)
{
	if (evaluation->had_codes)
		for (uint16_t i = 0; i < evaluation->expressions->program.register_count; i++)
			expand(evaluation, i, count);
}

/* The combination of codes that each row has; returns how many there may be, 0: not by codes. */
static unsigned
combine(const tg_keys *keys, unsigned count, uint16_t *combined)
{
	unsigned most = 1;
	bool is_first = true;

	for (unsigned j = 0; j < keys->count; j++)
	{
		const tg_vector *key = tg_evaluated(keys->evaluation, keys->fields[j]);

		if (key->constant)
			continue;
		if (key->codes == NULL || most * key->code_count > CLASSES_MAX)
			return 0;
		if (is_first)
			for (unsigned i = 0; i < count; i++)
				combined[i] = key->codes[i];
		else
			for (unsigned i = 0; i < count; i++)
				combined[i] = (uint16_t) (combined[i] * key->code_count + key->codes[i]);
		most *= key->code_count;
		is_first = false;
	}
	return is_first ? 0 : most;
}

bool
tg_codes_classes(const tg_keys *keys, unsigned count, tg_runs *classes)
{
	const tg_evaluation *evaluation = keys->evaluation;
	uint16_t combined[TG_VECTOR_ROWS];
	uint16_t class_of[CLASSES_MAX];
	unsigned most = evaluation->had_codes ? combine(keys, count, combined) : 0;

	if (most == 0)
	{
		for (unsigned j = 0; evaluation->had_codes && j < keys->count; j++)
			expand(evaluation, keys->fields[j], count);
		return false;
	}
	memset(class_of, 0xff, most * sizeof(class_of[0]));
	classes->count = 0;
	for (unsigned i = 0; i < count; i++)
	{
		uint16_t *class = &class_of[combined[i]];

		if (*class == CLASS_NONE)
		{
			classes->begins[classes->count] = (uint16_t) i;
			*class = (uint16_t) classes->count++;
		}
		classes->numbers[i] = *class;
	}
	for (unsigned j = 0; j < keys->count; j++)
		tg_vector_expand(tg_evaluated(evaluation, keys->fields[j]), classes->begins, classes->count);
	return true;
}
