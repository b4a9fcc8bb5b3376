/*
 * load.c
 *	  From rows on their way to vectors: loading the inputs of expressions.
 *
 * A column of 8 bytes is used where it lies while the batch is all of its chunk from the first slot
 * on; otherwise values are gathered, by slots, and widened.  Loops are one for each width.
 */
#include <string.h>

#include "runtime/table/table.h"
#include "runtime/query/query_internal.h"

static size_t
line_up(size_t bytes)
{
	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

size_t
tg_evaluation_bytes(const tg_expressions *expressions)
{
	return line_up(expressions->program.input_count * sizeof(void *)) + tg_registers_bytes(&expressions->program);
}

void
tg_evaluation_init(tg_evaluation *evaluation, const tg_expressions *expressions, void *memory)
{
	unsigned count = expressions->program.input_count;

	evaluation->expressions = expressions;
	evaluation->own = memory;
	tg_registers_init(&evaluation->registers, &expressions->program,
					  (unsigned char *) memory + line_up(count * sizeof(void *)));
	for (unsigned i = 0; i < count; i++)
		evaluation->own[i] = evaluation->registers.vectors[i].data;
}

/* --- from chunks ------------------------------------------------------------------------- */

#define GATHER(type, to, from)                                                                                         \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *read = (from);                                                                                     \
                                                                                                                       \
		if (batch->dense)                                                                                              \
			for (unsigned i = 0; i < batch->count; i++)                                                                \
				(to)[i] = read[i];                                                                                     \
		else                                                                                                           \
			for (unsigned i = 0; i < batch->count; i++)                                                                \
				(to)[i] = read[batch->slots[i]];                                                                       \
	} while (0)

/* The bytes of NULLs of a column; NULL: no row of the batch has one. */
static uint8_t *
load_nulls(const tg_batch *batch, unsigned column, uint8_t *nulls)
{
	const uint64_t *words = batch->chunk->nulls + (size_t) column * tg_chunk_bitmap_words(batch->chunk);
	uint8_t any = 0;

	if (!tg_chunk_may_be_null(batch->chunk, column))
		return NULL;
	for (unsigned i = 0; i < batch->count; i++)
	{
		unsigned slot = batch->slots[i];

		nulls[i] = tg_load_relaxed(&words[slot / 64]) >> (slot % 64) & 1;
		any |= nulls[i];
	}
	return any != 0 ? nulls : NULL;
}

/* NaN is the largest value. */
static tg_status
check_numeric(tg_vector *vector, unsigned count)
{
	const int64_t *values = vector->data;

	if (tg_likely(tg_vector_measure(vector, count) != TG_BITS_UNKNOWN))
		return TG_OK;
	for (unsigned i = 0; i < count; i++)
		if (values[i] == INT64_MAX && (vector->nulls == NULL || vector->nulls[i] == 0))
			return TG_UNFIT;
	return TG_OK;
}

static tg_status
narrow(const tg_batch *batch, const __int128 *values, tg_vector *vector)
{
	int64_t *to = vector->data;

	for (unsigned i = 0; i < batch->count; i++)
	{
		__int128 value = values[batch->slots[i]];

		to[i] = (int64_t) value;
		if (to[i] != value)
		{
			if (vector->nulls == NULL || vector->nulls[i] == 0)
				return TG_UNFIT;
			to[i] = 0;
		}
	}
	return TG_OK;
}

static void
load_words(const tg_batch *batch, unsigned column, tg_vector *vector)
{
	const void *values = tg_chunk_column(batch->chunk, column);
	int64_t *to = vector->data;

	switch ((tg_kind) batch->chunk->layout->kinds[column])
	{
		case TG_KIND_1:
			GATHER(int8_t, to, values);
			break;
		case TG_KIND_2:
			GATHER(int16_t, to, values);
			break;
		case TG_KIND_4:
			GATHER(int32_t, to, values);
			break;
		default:
			tg_assert(batch->chunk->layout->kinds[column] == TG_KIND_8);
			if (batch->dense)
				vector->data = (void *) values;
			else
				GATHER(int64_t, to, values);
			break;
	}
}

static void
load_floats(const tg_batch *batch, unsigned column, tg_vector *vector)
{
	const void *values = tg_chunk_column(batch->chunk, column);
	double *to = vector->data;

	if (batch->dense)
		vector->data = (void *) values;
	else
		GATHER(double, to, values);
}

static tg_status
load_column(const tg_batch *batch, const tg_input *input, tg_vector *vector)
{
	unsigned column = batch->columns != NULL ? batch->columns[input->field] : input->field;
	uint8_t *bools = vector->data;
	tg_string *cells = vector->data;

	if (!tg_chunk_has_column(batch->chunk, column))
	{
		/* it was added later */
		memset(vector->data, 0, batch->count * tg_vector_width(vector->type));
		memset(vector->nulls, 1, batch->count);
		return TG_OK;
	}
	vector->nulls = load_nulls(batch, column, vector->nulls);
	switch ((tg_input_form) input->load)
	{
		case TG_LOAD_BOOL:
			GATHER(uint8_t, bools, tg_chunk_column(batch->chunk, column));
			return TG_OK;
		case TG_LOAD_TEXT:
			GATHER(tg_string, cells, tg_chunk_column(batch->chunk, column));
			return TG_OK;
		case TG_LOAD_NUMERIC:
			if (batch->chunk->layout->kinds[column] == TG_KIND_16)
				return narrow(batch, tg_chunk_column(batch->chunk, column), vector);
			load_words(batch, column, vector);
			return check_numeric(vector, batch->count);
		case TG_LOAD_FLOAT:
			load_floats(batch, column, vector);
			return TG_OK;
		default:
			load_words(batch, column, vector);
			return TG_OK;
	}
}

/* --- from rows ------------------------------------------------------------------------------ */

#define GATHER_FIELDS(type)                                                                                            \
	for (unsigned i = 0; i < count; i++)                                                                               \
		if (rows[i] != NULL)                                                                                           \
	((type *) vector->data)[i] = *(const type *) tg_row_field(layout, rows[i], field)

static void
load_field(const tg_row_layout *layout, unsigned field, tg_row *const *rows, unsigned count, tg_vector *vector)
{
	uint8_t any = 0;

	for (unsigned i = 0; i < count; i++)
	{
		vector->nulls[i] = rows[i] == NULL || tg_row_nulls(rows[i])[field] != 0;
		any |= vector->nulls[i];
	}
	if (any != 0)
		memset(vector->data, 0, count * tg_vector_width(vector->type));
	switch ((tg_vector_type) vector->type)
	{
		case TG_V_BOOL:
			GATHER_FIELDS(uint8_t);
			break;
		case TG_V_INT:
			GATHER_FIELDS(int64_t);
			break;
		case TG_V_FLOAT:
			GATHER_FIELDS(double);
			break;
		case TG_V_TEXT:
			GATHER_FIELDS(tg_string);
			break;
	}
	if (any == 0)
		vector->nulls = NULL;
}

/* --- both ------------------------------------------------------------------------------------- */

/* A field of the rows of a match, or an aggregate, if they are groups. */
static tg_status
load_match(const tg_query *query, const tg_batch *batch, const tg_input *input, tg_vector *vector)
{
	unsigned match = input->source - 1u;
	unsigned step = tg_step_of_match(query, match);
	const tg_row_layout *layout = &query->tables[step].layout;

	if (input->field >= layout->field_count)
		return tg_group_load(query, step, input->field - layout->field_count, batch->matches[match], batch->count,
							 vector);
	load_field(layout, input->field, batch->matches[match], batch->count, vector);
	return TG_OK;
}

tg_status
tg_evaluate(const tg_query *query, tg_evaluation *evaluation, const tg_batch *batch)
{
	const tg_expressions *expressions = evaluation->expressions;

	for (unsigned i = 0; i < expressions->program.input_count; i++)
	{
		const tg_input *input = &expressions->inputs[i];
		tg_vector *vector = &evaluation->registers.vectors[i];
		tg_status status = TG_OK;

		vector->data = evaluation->own[i];
		vector->nulls = (uint8_t *) vector->data + TG_VECTOR_ROWS * tg_vector_width(vector->type);
		vector->bits = TG_BITS_UNKNOWN;
		if (input->source == 0)
			status = load_column(batch, input, vector);
		else
			status = load_match(query, batch, input, vector);
		if (tg_unlikely(status != TG_OK))
			return status;
	}
	return tg_program_run(&expressions->program, &evaluation->registers, batch->count);
}

unsigned
tg_select_true(const tg_vector *condition, unsigned count, uint16_t *selected)
{
	const uint8_t *values = condition->data;
	const uint8_t *nulls = condition->nulls;
	unsigned selected_count = 0;

	if (condition->constant)
	{
		if (values[0] == 0 || (nulls != NULL && nulls[0] != 0))
			return 0;
		for (unsigned i = 0; i < count; i++)
			selected[i] = (uint16_t) i;
		return count;
	}
	/* no branches: which rows are selected is hard to foretell */
	for (unsigned i = 0; i < count; i++)
	{
		selected[selected_count] = (uint16_t) i;
		selected_count += nulls == NULL ? values[i] : values[i] & (nulls[i] == 0);
	}
	return selected_count;
}

void
tg_batch_keep(tg_batch *batch, const uint16_t *kept, unsigned kept_count, unsigned match_count)
{
	if (kept_count == batch->count)
		return;
	for (unsigned i = 0; i < kept_count; i++)
		batch->slots[i] = batch->slots[kept[i]];
	for (unsigned match = 0; match < match_count; match++)
		for (unsigned i = 0; i < kept_count; i++)
			batch->matches[match][i] = batch->matches[match][kept[i]];
	batch->count = kept_count;
	batch->dense = false;
}
