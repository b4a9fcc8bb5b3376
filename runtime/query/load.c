/*
 * load.c
 *	  From rows on their way to vectors: loading the inputs of expressions.
 *
 * A column of booleans, of 8 bytes or of texts is used where it lies while the batch is all of its
 * chunk from the first slot on, and so are integers of fewer bytes that are only computed with;
 * otherwise values are gathered, by slots, and widened.  Loops are one for each width.  The columns
 * of a range's rows are vectors, whose values are widened already.  Texts may be loaded as codes
 * instead (codes.c).
 */
#include <string.h>

#include "runtime/order/kind.h"
#include "runtime/table/table.h"
#include "runtime/exec/vectors.h"
#include "runtime/query/query_internal.h"
#include "runtime/vector/decimal.h"
#include "runtime/vector/text.h"

size_t
tg_evaluation_bytes(const tg_expressions *expressions)
{
	return tg_registers_bytes(&expressions->program);
}

void
tg_evaluation_init(tg_evaluation *evaluation, const tg_expressions *expressions, unsigned step, bool inputs_as_stored,
				   void *memory)
{
	evaluation->step = step;
	evaluation->expressions = expressions;
	evaluation->inputs_as_stored = inputs_as_stored;
	evaluation->had_codes = false;
	evaluation->coded_inputs = 0;
	tg_registers_init(&evaluation->registers, &expressions->program, memory);
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

/* The host's numerics, of a batch's rows. */
static tg_status
load_decimals(const tg_batch *batch, const tg_string *values, tg_vector *vector)
{
	tg_decimal *to = vector->data;

	for (unsigned i = 0; i < batch->count; i++)
	{
		uint32_t bytes;
		const char *numeric;

		to[i] = tg_decimal_of(0, 0);
		if (vector->nulls != NULL && vector->nulls[i] != 0)
			continue;
		numeric = tg_string_bytes(&values[batch->slots[i]], &bytes);
		if (!tg_decimal_of_host(numeric, bytes, &to[i]))
			return TG_UNFIT;
	}
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
load_words(const tg_batch *batch, unsigned column, bool as_stored, tg_vector *vector)
{
	const void *values = tg_chunk_column(batch->chunk, column);
	int64_t *to = vector->data;

	if (batch->chunk->layout->kinds[column] < TG_KIND_8)
		vector->bits = (uint8_t) (8u << batch->chunk->layout->kinds[column]);
	if (batch->dense && as_stored)
	{
		vector->data = (void *) values;
		vector->bytes = (uint8_t) (1u << batch->chunk->layout->kinds[column]);
		return;
	}
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
load_column(const tg_batch *batch, const tg_input *input, bool as_stored, tg_vector *vector)
{
	unsigned column = batch->columns != NULL ? batch->columns[input->field] : input->field;
	uint8_t *bools = vector->data;
	tg_string *cells = vector->data;
	const void *values;

	if (batch->chunk == NULL || !tg_chunk_has_column(batch->chunk, column))
	{
		/* a row of a build without a match; or the column was added later */
		memset(vector->data, 0, batch->count * tg_vector_width(vector->type));
		memset(vector->nulls, 1, batch->count);
		return TG_OK;
	}
	vector->nulls = load_nulls(batch, column, vector->nulls);
	values = tg_chunk_column(batch->chunk, column);
	switch ((tg_input_form) input->load)
	{
		case TG_LOAD_BOOL:
			if (batch->dense)
				vector->data = (void *) values;
			else
				GATHER(uint8_t, bools, values);
			return TG_OK;
		case TG_LOAD_TEXT:
			if (batch->dense)
				vector->data = (void *) values;
			else
				GATHER(tg_string, cells, values);
			return TG_OK;
		case TG_LOAD_CELL:
			tg_assert(batch->chunk->layout->kinds[column] >= TG_KIND_16);
			GATHER(tg_string, cells, tg_chunk_column(batch->chunk, column));
			return TG_OK;
		case TG_LOAD_NUMERIC:
			if (batch->chunk->layout->kinds[column] == TG_KIND_16)
				return narrow(batch, tg_chunk_column(batch->chunk, column), vector);
			load_words(batch, column, false, vector);
			return check_numeric(vector, batch->count);
		case TG_LOAD_DECIMAL:
			return load_decimals(batch, values, vector);
		case TG_LOAD_FLOAT:
			load_floats(batch, column, vector);
			return TG_OK;
		default:
			load_words(batch, column, as_stored, vector);
			return TG_OK;
	}
}

/* --- from vectors ---------------------------------------------------------------------------- */

static uint8_t *
load_vector_nulls(const tg_batch *batch, const uint8_t *from, uint8_t *nulls)
{
	uint8_t any = 0;

	if (batch->dense)
	{
		memcpy(nulls, from, batch->count);
		return memchr(nulls, 1, batch->count) != NULL ? nulls : NULL;
	}
	for (unsigned i = 0; i < batch->count; i++)
	{
		nulls[i] = from[batch->slots[i]];
		any |= nulls[i];
	}
	return any != 0 ? nulls : NULL;
}

/* Words are of 8 bytes, cells of 16: as in a vector, but for booleans. */
static tg_status
load_from_vectors(const tg_batch *batch, const tg_input *input, tg_vector *vector)
{
	unsigned number = batch->vector_of[input->field];
	tg_kind kind = (tg_kind) batch->vectors->kinds[number];
	const void *values = batch->vectors->data[number];
	uint8_t *bools = vector->data;
	int64_t *words = vector->data;
	tg_string *cells = vector->data;

	vector->nulls = load_vector_nulls(batch, batch->vectors->nulls[number], vector->nulls);
	if (input->load == TG_LOAD_NUMERIC && kind == TG_KIND_16)
		return narrow(batch, values, vector);
	if (input->load == TG_LOAD_DECIMAL)
		return load_decimals(batch, values, vector);
	if (kind < TG_KIND_8)
		vector->bits = (uint8_t) (8u << kind);
	if (input->load == TG_LOAD_BOOL)
		GATHER(uint64_t, bools, values);
	else if (batch->dense)
		vector->data = (void *) values;
	else if (kind >= TG_KIND_16)
		GATHER(tg_string, cells, values);
	else
		GATHER(int64_t, words, values);
	return input->load == TG_LOAD_NUMERIC ? check_numeric(vector, batch->count) : TG_OK;
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
		case TG_V_DECIMAL:
			GATHER_FIELDS(tg_decimal);
			break;
	}
	if (any == 0)
		vector->nulls = NULL;
}

/* --- both ------------------------------------------------------------------------------------- */

static void
load_presence(tg_row *const *rows, unsigned count, tg_vector *vector)
{
	for (unsigned i = 0; i < count; i++)
		((uint8_t *) vector->data)[i] = rows[i] != NULL;
	vector->nulls = NULL;
}

/* A field of the rows of a match of a step, or an aggregate, if they are groups. */
static tg_status
load_match(const tg_query *query, unsigned of, const tg_batch *batch, const tg_input *input, tg_vector *vector)
{
	unsigned match = input->source - 1u;
	unsigned step = tg_step_of_match(query, of, match);
	const tg_row_layout *layout = &query->tables[step].layout;

	if (input->field == TG_FIELD_PRESENCE)
	{
		load_presence(batch->matches[match], batch->count, vector);
		return TG_OK;
	}
	if (input->field >= layout->field_count)
		return tg_group_load(query, step, input->field - layout->field_count, batch->matches[match], batch->count,
							 vector);
	load_field(layout, input->field, batch->matches[match], batch->count, vector);
	return TG_OK;
}

#define COST_OF_CODES 4

unsigned
tg_evaluation_cost(const tg_evaluation *evaluation)
{
	static const uint8_t costs[] = {[TG_LOAD_BOOL] = 1,		[TG_LOAD_INT] = 4,	 [TG_LOAD_NUMERIC] = 8,
									[TG_LOAD_DECIMAL] = 40, [TG_LOAD_FLOAT] = 8, [TG_LOAD_TEXT] = 30};
	const tg_expressions *expressions = evaluation->expressions;
	unsigned cost = expressions->program.instruction_count;

	for (unsigned i = 0; i < expressions->program.input_count; i++)
	{
		const tg_input *input = &expressions->inputs[i];

		if (evaluation->had_codes && input->load == TG_LOAD_TEXT)
			cost += COST_OF_CODES;
		else
			cost += input->source == 0 ? costs[input->load] : 16u;
	}
	return cost;
}

tg_status
tg_evaluate(const tg_query *query, tg_evaluation *evaluation, const tg_batch *batch)
{
	const tg_expressions *expressions = evaluation->expressions;

	evaluation->had_codes = false;
	for (unsigned i = 0; i < expressions->program.input_count; i++)
	{
		const tg_input *input = &expressions->inputs[i];
		tg_vector *vector = &evaluation->registers.vectors[i];
		tg_status status = TG_OK;

		tg_vector_renew(vector);
		if (evaluation->coded_inputs != 0 && tg_codes_load(evaluation, i, batch))
			continue;
		if (input->source == 0 && batch->vectors != NULL)
			status = load_from_vectors(batch, input, vector);
		else if (input->source == 0)
			status = load_column(batch, input, evaluation->inputs_as_stored, vector);
		else
			status = load_match(query, evaluation->step, batch, input, vector);
		if (tg_unlikely(status != TG_OK))
			return status;
	}
	return tg_program_run(&expressions->program, &evaluation->registers, batch->count);
}

/* --- selection ---------------------------------------------------------------------------- */

#define ROW(row) (row), (row) + 1, (row) + 2, (row) + 3
#define ROWS_16(row) ROW(row), ROW((row) + 4), ROW((row) + 8), ROW((row) + 12)
#define ROWS_128(row)                                                                                                  \
	ROWS_16(row), ROWS_16((row) + 16), ROWS_16((row) + 32), ROWS_16((row) + 48), ROWS_16((row) + 64),                  \
		ROWS_16((row) + 80), ROWS_16((row) + 96), ROWS_16((row) + 112)

const uint16_t tg_dense_slots[TG_VECTOR_ROWS] = {ROWS_128(0),	ROWS_128(128), ROWS_128(256), ROWS_128(384),
												 ROWS_128(512), ROWS_128(640), ROWS_128(768), ROWS_128(896)};

/* By four bits: the places of those that are set, first to last, and their number. */
static const uint16_t places_of[16][4] = {{0}, {0},	   {1},	   {0, 1},	  {2},	  {0, 2},	 {1, 2},	{0, 1, 2},
										  {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
static const uint8_t counts_of[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

/*
 * Selects of four rows from one on.  All four places are written, and as many count as there are
 * bits: no branch, as which rows are selected is hard to foretell.
 */
static inline unsigned
select_four(unsigned bits, unsigned from, uint16_t *selected)
{
	for (unsigned i = 0; i < 4; i++)
		selected[i] = (uint16_t) (places_of[bits][i] + from);
	return counts_of[bits];
}

#define BYTES_TRUE UINT64_C(0x0101010101010101)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte of a word is its lowest");

/* Of eight bytes, each 0 or 1, the bits: the first byte's is the lowest. */
static inline unsigned
bits_of(uint64_t bytes)
{
	return (unsigned) ((bytes * UINT64_C(0x0102040810204080)) >> 56);
}

/* By value, whether it is true; returns how many are. */
static unsigned
true_values(const tg_vector *condition, uint8_t *are_true)
{
	unsigned count = 0;

	for (unsigned i = 0; i < condition->code_count; i++)
	{
		are_true[i] =
			((const uint8_t *) condition->data)[i] != 0 && (condition->nulls == NULL || condition->nulls[i] == 0);
		count += are_true[i];
	}
	return count;
}

#define CODES_COMPARED 4 /* so many are faster compared with all codes than looked up */

/* Whether each row has a code of those for which are_true is as wanted, of which there are some. */
static void
compare_codes(const uint8_t *codes, const uint8_t *are_true, unsigned code_count, bool wanted, unsigned count,
			  uint8_t *rows)
{
	memset(rows, !wanted, count);
	for (unsigned code = 0; code < code_count; code++)
		if ((are_true[code] != 0) == wanted)
			for (unsigned i = 0; i < count; i++)
				rows[i] ^= codes[i] == code;
}

/* As tg_select_true, of a condition with codes. */
static unsigned
select_by_codes(const tg_vector *condition, unsigned count, uint16_t *selected)
{
	const uint8_t *codes = condition->codes;
	uint8_t are_true[TG_VECTOR_CODES_MAX];
	uint8_t rows[TG_VECTOR_ROWS];
	unsigned true_count = true_values(condition, are_true);
	unsigned false_count = condition->code_count - true_count;
	tg_vector by_row = {.data = rows, .type = TG_V_BOOL};

	if (true_count == 0)
		return 0;
	if (false_count == 0)
	{
		memcpy(selected, tg_dense_slots, count * sizeof(uint16_t));
		return count;
	}
	if (true_count <= CODES_COMPARED || false_count <= CODES_COMPARED)
		compare_codes(codes, are_true, condition->code_count, true_count <= false_count, count, rows);
	else
		for (unsigned i = 0; i < count; i++)
			rows[i] = are_true[codes[i]];
	return tg_select_true(&by_row, count, selected);
}

unsigned
tg_select_true(const tg_vector *condition, unsigned count, uint16_t *selected)
{
	const uint8_t *values = condition->data;
	const uint8_t *nulls = condition->nulls;
	unsigned selected_count = 0;
	unsigned row = 0;

	if (condition->codes != NULL)
		return select_by_codes(condition, count, selected);

	if (condition->constant)
	{
		if (values[0] == 0 || (nulls != NULL && nulls[0] != 0))
			return 0;
		memcpy(selected, tg_dense_slots, count * sizeof(uint16_t));
		return count;
	}
	for (; row + 8 <= count; row += 8)
	{
		uint64_t bytes;
		uint64_t null_bytes = 0;
		unsigned bits;

		memcpy(&bytes, values + row, 8);
		if (nulls != NULL)
			memcpy(&null_bytes, nulls + row, 8);
		bytes &= BYTES_TRUE & ~null_bytes; /* beside a NULL is anything */
		if (bytes == 0)
			continue;
		bits = bits_of(bytes);
		selected_count += select_four(bits & 15, row, selected + selected_count);
		selected_count += select_four(bits >> 4, row + 4, selected + selected_count);
	}
	for (; row < count; row++)
	{
		selected[selected_count] = (uint16_t) row;
		selected_count += nulls == NULL ? values[row] : values[row] & (nulls[row] == 0);
	}
	return selected_count;
}

void
tg_batch_keep(tg_batch *batch, const uint16_t *kept, unsigned kept_count, unsigned match_count)
{
	if (kept_count == batch->count)
		return;
	if (batch->dense)
		memcpy(batch->own_slots, kept, kept_count * sizeof(uint16_t));
	else
		for (unsigned i = 0; i < kept_count; i++)
			batch->own_slots[i] = batch->slots[kept[i]];
	batch->slots = batch->own_slots;
	for (unsigned match = 0; match < match_count; match++)
		for (unsigned i = 0; i < kept_count; i++)
			batch->matches[match][i] = batch->matches[match][kept[i]];
	batch->count = kept_count;
	batch->dense = false;
}
