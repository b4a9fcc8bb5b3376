/*
 * program.c
 *	  Programs over vectors against an oracle that computes one row at a time (runtime/vector).
 *
 * A trial is a program with inputs, constants and what each register must have in each row.  First
 * each operation is tried alone: with operands that are vectors or constants, with and without
 * NULLs, with and without `only`, for edge values and random ones.  Then random programs of up to
 * twenty instructions.  A run must end with TG_UNFIT exactly if a row that counts cannot be
 * computed; otherwise all values and NULLs must be right, and all bounds of bits true.
 *
 * Inputs that have few values may come with codes, one run with them and one without; then results
 * with codes are compared before and after they are expanded, for all rows or for some.
 *
 * Beside a NULL there is garbage: a number of any size, a text whose blob cannot be read.
 */
#include "runtime/vector/program.h"

#include <math.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"
#include "test/unit/vector_values.h"

#define ROUNDS 400	  /* of each operation */
#define PROGRAMS 3000 /* random ones */
#define INPUTS_MAX 8

/* --- trials ----------------------------------------------------------------------------- */

static void
begin_trial(unsigned count)
{
	trial.program =
		(tg_program){.types = trial.types, .constants = trial.constants, .instructions = trial.instructions};
	trial.count = count;
	trial.unfit = false;
	trial.utf8 = unit_below(&seed, 2) == 0;
	trial.pool_used = 0;
}

/* Of an input whose rows have few values: these, and which of them each row has. */
static struct coding
{
	unsigned count; /* 0: rows have any values */
	cell values[TG_VECTOR_CODES_MAX];
	uint8_t rows[TG_VECTOR_ROWS];
} codings[INPUTS_MAX];

static uint16_t
add_input(tg_vector_type type, const style *style, unsigned null_one)
{
	uint16_t index = trial.program.register_count++;
	struct coding *coding = &codings[index];

	tg_assert(index < INPUTS_MAX);
	trial.program.input_count++;
	trial.types[index] = (uint8_t) type;
	coding->count = unit_below(&seed, 2) == 0 ? 0 : 1 + unit_below(&seed, TG_VECTOR_CODES_MAX);
	for (unsigned i = 0; i < coding->count; i++)
		random_cell(type, style, null_one, &coding->values[i]);
	for (unsigned i = 0; i < trial.count; i++)
		if (coding->count > 0)
		{
			coding->rows[i] = (uint8_t) unit_below(&seed, coding->count);
			trial.cells[index][i] = coding->values[coding->rows[i]];
		}
		else
			random_cell(type, style, null_one, &trial.cells[index][i]);
	return index;
}

/* After all inputs. */
static uint16_t
add_constant(tg_vector_type type, const style *style, unsigned null_one)
{
	uint16_t index = trial.program.register_count++;
	tg_vector *vector = &trial.constants[trial.program.constant_count++];
	cell value;

	trial.types[index] = (uint8_t) type;
	random_cell(type, style, null_one, &value);
	for (unsigned i = 0; i < trial.count; i++)
		trial.cells[index][i] = value;
	*vector = (tg_vector){.data = take(16), .type = (uint8_t) type, .constant = true, .bits = TG_BITS_UNKNOWN};
	put_value(type, &value, vector->data, 0);
	if (type == TG_V_INT)
		vector->bits = (uint8_t) tg_int_bits(value.i);
	if (value.null || unit_below(&seed, 2) == 0)
		*(vector->nulls = take(1)) = value.null;
	return index;
}

/* After all constants. */
static void
add_instruction(tg_instruction instruction, tg_vector_type type)
{
	instruction.to = trial.program.register_count++;
	trial.types[instruction.to] = (uint8_t) type;
	trial.instructions[trial.program.instruction_count++] = instruction;
	for (unsigned i = 0; i < trial.count; i++)
		compute_row(&instruction, i);
}

/* The bytes that all values of an input fit into. */
static unsigned
narrowest(unsigned index)
{
	unsigned bytes = 1;

	for (unsigned i = 0; i < trial.count; i++)
		while (bytes < 8 && (trial.cells[index][i].i < -((int64_t) 1 << (8 * bytes - 1)) ||
							 trial.cells[index][i].i >= (int64_t) 1 << (8 * bytes - 1)))
			bytes *= 2;
	return bytes;
}

/* An INT as it may be stored. */
static void
narrow_input(tg_vector *vector, unsigned index)
{
	unsigned bytes = narrowest(index);

	if (bytes < 4 && unit_below(&seed, 3) == 0)
		bytes *= 2;
	if (vector->type != TG_V_INT || bytes == 8)
		return;
	vector->data = take(bytes * TG_VECTOR_ROWS);
	vector->bytes = (uint8_t) bytes;
	for (unsigned i = 0; i < trial.count; i++)
		memcpy((char *) vector->data + i * bytes, &trial.cells[index][i].i, bytes);
}

/* As codes; nothing that is given is the register's own. */
static void
fill_codes(tg_vector *vector, struct coding *coding)
{
	bool has_null = false;

	vector->data = take(tg_vector_width(vector->type) * coding->count);
	vector->nulls = take(coding->count);
	vector->code_count = (uint8_t) coding->count;
	vector->codes = coding->rows;
	for (unsigned i = 0; i < coding->count; i++)
	{
		put_value(vector->type, &coding->values[i], vector->data, i);
		vector->nulls[i] = coding->values[i].null;
		has_null = has_null || vector->nulls[i] != 0;
	}
	if (!has_null && unit_below(&seed, 2) == 0)
		vector->nulls = NULL;
}

static void
fill_input(tg_registers *registers, unsigned index)
{
	tg_vector *vector = &registers->vectors[index];
	bool has_null = false;

	tg_vector_renew(vector);
	if (codings[index].count > 0 && unit_below(&seed, 4) != 0)
	{
		fill_codes(vector, &codings[index]);
		return;
	}
	if (unit_below(&seed, 2) == 0)
		vector->data = take(tg_vector_width(vector->type) * TG_VECTOR_ROWS);
	for (unsigned i = 0; i < trial.count; i++)
	{
		put_value(vector->type, &trial.cells[index][i], vector->data, i);
		vector->nulls[i] = trial.cells[index][i].null;
		has_null = has_null || vector->nulls[i] != 0;
	}
	if (!has_null && unit_below(&seed, 2) == 0)
		vector->nulls = NULL;
	if (unit_below(&seed, 2) == 0)
		narrow_input(vector, index);
}

static unsigned coded_count; /* results with codes, that were expanded */

static bool
is_right(const tg_vector *vector, unsigned index, unsigned row)
{
	const cell *expected = &trial.cells[index][row];
	unsigned at = vector->constant ? 0 : vector->codes != NULL ? vector->codes[row] : row;
	cell got = {.null = vector->nulls != NULL && vector->nulls[at] != 0};

	if (vector->bytes < tg_vector_width(vector->type))
		return true; /* an input that no instruction has widened */
	if (vector->type == TG_V_INT && vector->bits < TG_BITS_UNKNOWN)
	{
		__int128 value = ((const int64_t *) vector->data)[at];

		if ((value < 0 ? -value : value) >= (__int128) 1 << vector->bits)
			return false;
	}
	if (expected->any)
		return true;
	if (got.null != expected->null || got.null)
		return got.null == expected->null;
	switch ((tg_vector_type) vector->type)
	{
		case TG_V_BOOL:
			return ((const uint8_t *) vector->data)[at] == expected->i;
		case TG_V_INT:
			return ((const int64_t *) vector->data)[at] == expected->i;
		case TG_V_FLOAT:
			got.f = ((const double *) vector->data)[at];
			return (isnan(got.f) && isnan(expected->f)) ||
				   (got.f == expected->f && signbit(got.f) == signbit(expected->f));
		case TG_V_TEXT:
			got.text = tg_string_bytes((const tg_string *) vector->data + at, &got.bytes);
			return order_texts(&got, expected) == 0;
		case TG_V_DECIMAL: /* in decimal.c */
			break;
	}
	return false;
}

/* Registers have what they must have; of every so manieth row, if they are expanded for these. */
static bool
are_right(const tg_registers *registers, unsigned step)
{
	bool right = true;

	for (unsigned i = 0; i < trial.program.register_count; i++)
		for (unsigned row = 0; row < trial.count; row += step)
			right = right && is_right(&registers->vectors[i], i, row);
	return right;
}

/* Registers with codes are expanded, for every so manieth row. */
static bool
are_expanded(tg_registers *registers, unsigned step)
{
	uint16_t at[TG_VECTOR_ROWS];
	unsigned count = 0;
	bool expanded = true;

	for (unsigned row = 0; row < trial.count; row += step)
		at[count++] = (uint16_t) row;
	for (unsigned i = 0; i < trial.program.register_count; i++)
	{
		coded_count += registers->vectors[i].codes != NULL && i >= trial.program.input_count;
		tg_vector_expand(&registers->vectors[i], step > 1 ? at : NULL, count);
		expanded = expanded && registers->vectors[i].codes == NULL;
	}
	return expanded;
}

/* Runs it twice: registers keep nothing. */
static bool
run_trial(void)
{
	size_t bytes = tg_registers_bytes(&trial.program);
	void *memory = aligned_alloc(TG_CACHE_LINE, bytes);
	bool right = true;

	memset(memory, 0xa5, bytes);
	for (unsigned run = 0; run < 2 && right; run++)
	{
		tg_registers registers;
		tg_status status;

		if (run == 0)
			tg_registers_init(&registers, &trial.program, memory);
		registers.vectors = memory;
		for (unsigned i = 0; i < trial.program.input_count; i++)
			fill_input(&registers, i);
		status = tg_program_run(&trial.program, &registers, trial.count);
		right = status == (trial.unfit ? TG_UNFIT : TG_OK);
		if (status == TG_OK)
			right = right && are_right(&registers, 1) && are_expanded(&registers, 1 + run * 2) &&
					are_right(&registers, 1 + run * 2);
	}
	free(memory);
	return right;
}

/* --- each operation alone ------------------------------------------------------------------ */

#define NONE (-1)

static const struct operation
{
	const char *name;
	uint8_t op;
	int8_t a; /* tg_vector_type; CHOOSE: of a, b and the result; or NONE */
	int8_t b;
	int8_t to;
	bool may_fail;
} operations[] = {
	{"ADD", TG_OP_ADD, TG_V_INT, TG_V_INT, TG_V_INT, true},
	{"SUBTRACT", TG_OP_SUBTRACT, TG_V_INT, TG_V_INT, TG_V_INT, true},
	{"MULTIPLY", TG_OP_MULTIPLY, TG_V_INT, TG_V_INT, TG_V_INT, true},
	{"DIVIDE", TG_OP_DIVIDE, TG_V_INT, TG_V_INT, TG_V_INT, true},
	{"REMAINDER", TG_OP_REMAINDER, TG_V_INT, TG_V_INT, TG_V_INT, true},
	{"NEGATE", TG_OP_NEGATE, TG_V_INT, NONE, TG_V_INT, true},
	{"ABSOLUTE", TG_OP_ABSOLUTE, TG_V_INT, NONE, TG_V_INT, true},
	{"ROUND", TG_OP_ROUND, TG_V_INT, NONE, TG_V_INT, false},
	{"RANGE", TG_OP_RANGE, TG_V_INT, NONE, TG_V_INT, true},
	{"FLOOR_DIVIDE", TG_OP_FLOOR_DIVIDE, TG_V_INT, NONE, TG_V_INT, false},
	{"MODULO", TG_OP_MODULO, TG_V_INT, NONE, TG_V_INT, false},
	{"TRUNC_MONTHS", TG_OP_TRUNC_MONTHS, TG_V_INT, NONE, TG_V_INT, true},
	{"ADD_MONTHS", TG_OP_ADD_MONTHS, TG_V_INT, NONE, TG_V_INT, true},
	{"YEAR", TG_OP_YEAR, TG_V_INT, NONE, TG_V_INT, true},
	{"MONTH", TG_OP_MONTH, TG_V_INT, NONE, TG_V_INT, true},
	{"DAY", TG_OP_DAY, TG_V_INT, NONE, TG_V_INT, true},
	{"EQ", TG_OP_EQ, TG_V_INT, TG_V_INT, TG_V_BOOL, false},
	{"NE", TG_OP_NE, TG_V_INT, TG_V_INT, TG_V_BOOL, false},
	{"LT", TG_OP_LT, TG_V_INT, TG_V_INT, TG_V_BOOL, false},
	{"LE", TG_OP_LE, TG_V_INT, TG_V_INT, TG_V_BOOL, false},
	{"GT", TG_OP_GT, TG_V_INT, TG_V_INT, TG_V_BOOL, false},
	{"GE", TG_OP_GE, TG_V_INT, TG_V_INT, TG_V_BOOL, false},
	{"FLOAT_ADD", TG_OP_FLOAT_ADD, TG_V_FLOAT, TG_V_FLOAT, TG_V_FLOAT, true},
	{"FLOAT_SUBTRACT", TG_OP_FLOAT_SUBTRACT, TG_V_FLOAT, TG_V_FLOAT, TG_V_FLOAT, true},
	{"FLOAT_MULTIPLY", TG_OP_FLOAT_MULTIPLY, TG_V_FLOAT, TG_V_FLOAT, TG_V_FLOAT, true},
	{"FLOAT_DIVIDE", TG_OP_FLOAT_DIVIDE, TG_V_FLOAT, TG_V_FLOAT, TG_V_FLOAT, true},
	{"FLOAT_NEGATE", TG_OP_FLOAT_NEGATE, TG_V_FLOAT, NONE, TG_V_FLOAT, false},
	{"FLOAT_ABSOLUTE", TG_OP_FLOAT_ABSOLUTE, TG_V_FLOAT, NONE, TG_V_FLOAT, false},
	{"FLOAT_SQRT", TG_OP_FLOAT_SQRT, TG_V_FLOAT, NONE, TG_V_FLOAT, true},
	{"TO_FLOAT", TG_OP_TO_FLOAT, TG_V_INT, NONE, TG_V_FLOAT, true},
	{"FLOAT_EQ", TG_OP_FLOAT_EQ, TG_V_FLOAT, TG_V_FLOAT, TG_V_BOOL, false},
	{"FLOAT_NE", TG_OP_FLOAT_NE, TG_V_FLOAT, TG_V_FLOAT, TG_V_BOOL, false},
	{"FLOAT_LT", TG_OP_FLOAT_LT, TG_V_FLOAT, TG_V_FLOAT, TG_V_BOOL, false},
	{"FLOAT_LE", TG_OP_FLOAT_LE, TG_V_FLOAT, TG_V_FLOAT, TG_V_BOOL, false},
	{"FLOAT_GT", TG_OP_FLOAT_GT, TG_V_FLOAT, TG_V_FLOAT, TG_V_BOOL, false},
	{"FLOAT_GE", TG_OP_FLOAT_GE, TG_V_FLOAT, TG_V_FLOAT, TG_V_BOOL, false},
	{"TEXT_EQ", TG_OP_TEXT_EQ, TG_V_TEXT, TG_V_TEXT, TG_V_BOOL, false},
	{"TEXT_NE", TG_OP_TEXT_NE, TG_V_TEXT, TG_V_TEXT, TG_V_BOOL, false},
	{"TEXT_LT", TG_OP_TEXT_LT, TG_V_TEXT, TG_V_TEXT, TG_V_BOOL, false},
	{"TEXT_LE", TG_OP_TEXT_LE, TG_V_TEXT, TG_V_TEXT, TG_V_BOOL, false},
	{"TEXT_GT", TG_OP_TEXT_GT, TG_V_TEXT, TG_V_TEXT, TG_V_BOOL, false},
	{"TEXT_GE", TG_OP_TEXT_GE, TG_V_TEXT, TG_V_TEXT, TG_V_BOOL, false},
	{"LIKE", TG_OP_LIKE, TG_V_TEXT, NONE, TG_V_BOOL, false},
	{"SUBSTRING", TG_OP_SUBSTRING, TG_V_TEXT, NONE, TG_V_TEXT, true},
	{"LENGTH", TG_OP_LENGTH, TG_V_TEXT, NONE, TG_V_INT, false},
	{"IN", TG_OP_IN, TG_V_INT, NONE, TG_V_BOOL, false},
	{"TEXT_IN", TG_OP_TEXT_IN, TG_V_TEXT, NONE, TG_V_BOOL, false},
	{"AND", TG_OP_AND, TG_V_BOOL, TG_V_BOOL, TG_V_BOOL, false},
	{"OR", TG_OP_OR, TG_V_BOOL, TG_V_BOOL, TG_V_BOOL, false},
	{"NOT", TG_OP_NOT, TG_V_BOOL, NONE, TG_V_BOOL, false},
	{"IS_NULL of BOOL", TG_OP_IS_NULL, TG_V_BOOL, NONE, TG_V_BOOL, false},
	{"IS_NULL of TEXT", TG_OP_IS_NULL, TG_V_TEXT, NONE, TG_V_BOOL, false},
	{"IS_TRUE", TG_OP_IS_TRUE, TG_V_BOOL, NONE, TG_V_BOOL, false},
	{"CHOOSE of BOOL", TG_OP_CHOOSE, TG_V_BOOL, TG_V_BOOL, TG_V_BOOL, false},
	{"CHOOSE of INT", TG_OP_CHOOSE, TG_V_INT, TG_V_INT, TG_V_INT, false},
	{"CHOOSE of FLOAT", TG_OP_CHOOSE, TG_V_FLOAT, TG_V_FLOAT, TG_V_FLOAT, false},
	{"CHOOSE of TEXT", TG_OP_CHOOSE, TG_V_TEXT, TG_V_TEXT, TG_V_TEXT, false},
};

static const unsigned counts[] = {0, 1, 7, TG_VECTOR_ROWS};

/* A pattern as it is written, and its pieces. */
static const tg_pattern *
random_pattern(void)
{
	tg_pattern *pattern = take(sizeof(*pattern));
	const char **pieces = take(16 * sizeof(*pieces));
	uint32_t *bytes = take(16 * sizeof(*bytes));
	unsigned length = unit_below(&seed, 9);
	char *text = take(length + 1);
	uint16_t *tokens = take((length + 1) * sizeof(*tokens));
	bool wild = unit_below(&seed, 2) == 0;
	unsigned begin = 0;

	for (unsigned i = 0; i < length; i++)
		text[i] = "ab%_"[unit_below(&seed, wild ? 4 : 3)];
	text[length] = 0;
	*pattern = (tg_pattern){.anchored_left = text[0] != '%',
							.anchored_right = length == 0 || text[length - 1] != '%',
							.tokens = wild ? tokens : NULL,
							.token_count = length,
							.utf8 = trial.utf8,
							.pieces = pieces,
							.piece_bytes = bytes};
	for (unsigned i = 0; i < length; i++)
		tokens[i] = text[i] == '%' ? TG_ANY_TEXT : text[i] == '_' ? TG_ANY_CHARACTER : (unsigned char) text[i];
	for (unsigned i = 0; i <= length; i++)
		if (i == length || text[i] == '%')
		{
			if (i > begin || length == 0)
			{
				pieces[pattern->piece_count] = text + begin;
				bytes[pattern->piece_count++] = i - begin;
			}
			begin = i + 1;
		}
	pattern_text = text;
	return pattern;
}

static int
order_ints(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a;
	int64_t y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

static const tg_set *
random_set(bool texts)
{
	const style style = {.bits = 1 + unit_below(&seed, 6), .edge_one = 4};
	tg_set *set = take(sizeof(*set));
	unsigned count = unit_below(&seed, 2) == 0 ? unit_below(&seed, 10) : unit_below(&seed, 60);
	int64_t *ints = take(count * sizeof(*ints));
	tg_string *strings = take(count * sizeof(*strings));

	for (unsigned i = 0; i < count; i++)
	{
		cell value;

		random_cell(texts ? TG_V_TEXT : TG_V_INT, &style, 0, &value);
		if (texts)
			strings[i] = string_of(&value);
		else
			ints[i] = value.i;
	}
	qsort(ints, texts ? 0 : count, sizeof(*ints), order_ints);
	*set = (tg_set){.count = count, .has_null = unit_below(&seed, 3) == 0, .ints = ints, .texts = strings};
	return set;
}

/* low, high and more of an instruction. */
static void
random_details(tg_instruction *instruction)
{
	static const int64_t bounds[][2] = {{INT64_MIN, INT64_MAX},
										{INT64_MIN, INT64_MAX},
										{INT32_MIN, INT32_MAX},
										{INT16_MIN, INT16_MAX},
										{-5, INT64_MAX}};
	const int64_t *bound = bounds[unit_below(&seed, COUNT_OF(bounds))];
	static const int64_t powers[] = {10, 100, 100000, 1000000000000000000};

	instruction->low = bound[0];
	instruction->high = bound[1];
	if (instruction->op == TG_OP_ROUND)
		instruction->low = powers[unit_below(&seed, COUNT_OF(powers))];
	else if (instruction->op == TG_OP_FLOOR_DIVIDE || instruction->op == TG_OP_MODULO)
		instruction->low = 1 + (int64_t) (unit_random(&seed) >> (1 + unit_below(&seed, 63)));
	else if (instruction->op == TG_OP_TRUNC_MONTHS)
		instruction->low = (const int64_t[]){1, 3, 12}[unit_below(&seed, 3)];
	else if (instruction->op == TG_OP_ADD_MONTHS)
		instruction->low = (int64_t) unit_below(&seed, 100) - 50;
	else if (instruction->op == TG_OP_LENGTH)
	{
		instruction->low = unit_below(&seed, 2);
		instruction->more = trial.utf8 ? instruction : NULL;
	}
	else if (instruction->op == TG_OP_TO_FLOAT)
		instruction->low = unit_below(&seed, 2) == 0 ? 1 : powers[unit_below(&seed, COUNT_OF(powers))];
	else if (instruction->op == TG_OP_SUBSTRING)
	{
		instruction->low = 1 + unit_below(&seed, 6);
		instruction->high = unit_below(&seed, 8);
		instruction->more = trial.utf8 ? instruction : NULL;
	}
	else if (instruction->op == TG_OP_LIKE)
		instruction->more = random_pattern();
	else if (instruction->op == TG_OP_IN || instruction->op == TG_OP_TEXT_IN)
		instruction->more = random_set(instruction->op == TG_OP_TEXT_IN);
}

static style
random_style(const struct operation *operation)
{
	static const unsigned edges[] = {0, 0, 3, 200, 1000};

	return (style){.bits = 1 + unit_below(&seed, unit_below(&seed, 2) == 0 ? 31 : 64),
				   .edge_one = edges[unit_below(&seed, COUNT_OF(edges))],
				   .dates = operation->op >= TG_OP_TRUNC_MONTHS && operation->op <= TG_OP_DAY};
}

/* The operands in order: a, b, c, only; inputs are made before constants. */
static void
try_operation(const struct operation *operation, unsigned count)
{
	tg_instruction instruction = {.op = operation->op};
	bool has_only = operation->may_fail && unit_below(&seed, 3) == 0;
	const int types[] = {operation->a, operation->b, operation->op == TG_OP_CHOOSE ? TG_V_BOOL : NONE,
						 has_only ? TG_V_BOOL : NONE};
	uint16_t *const operands[] = {&instruction.a, &instruction.b, &instruction.c, &instruction.only};
	const style style = random_style(operation);
	bool constant[4];

	begin_trial(count);
	for (unsigned i = 0; i < 4; i++)
		constant[i] = unit_below(&seed, 3) == 0;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < 4; i++)
		{
			static const unsigned null_ones[] = {0, 0, 2, 50};
			unsigned null_one = null_ones[unit_below(&seed, 4)];

			if (types[i] == NONE)
				*operands[i] = TG_REGISTER_NONE;
			else if (constant[i] == (pass == 1))
				*operands[i] = pass == 1 ? add_constant((tg_vector_type) types[i], &style, null_one)
										 : add_input((tg_vector_type) types[i], &style, null_one);
		}
	random_details(&instruction);
	add_instruction(instruction, (tg_vector_type) operation->to);
}

static void
check_operations(void)
{
	for (unsigned i = 0; i < COUNT_OF(operations); i++)
	{
		const struct operation *operation = &operations[i];
		unsigned unfit = 0;
		unsigned round;

		for (round = 0; round < ROUNDS; round++)
		{
			try_operation(operation, counts[round % COUNT_OF(counts)]);
			unfit += trial.unfit;
			if (!run_trial())
				break;
		}
		unit_ok(round == ROUNDS, "%s (round %u)", operation->name, round);
		if (operation->may_fail)
			unit_ok(unfit > 0 && unfit < ROUNDS, "%s: %u of %u unfit", operation->name, unfit, round);
		else
			tg_check(unfit == 0);
	}
}

/* Each pair of edges, by itself. */
static void
check_edges(void)
{
	for (unsigned i = 0; i < COUNT_OF(operations); i++)
	{
		const struct operation *operation = &operations[i];
		bool ints = operation->a == TG_V_INT && operation->op != TG_OP_CHOOSE && operation->op != TG_OP_IN;
		bool dates = operation->op >= TG_OP_TRUNC_MONTHS && operation->op <= TG_OP_DAY;
		unsigned count = dates ? COUNT_OF(date_edges) : ints ? COUNT_OF(int_edges) : COUNT_OF(float_edges);
		bool right = true;

		if (!ints && operation->a != TG_V_FLOAT)
			continue;
		for (unsigned j = 0; j < count * count && right; j++)
		{
			tg_instruction instruction = {
				.op = operation->op, .a = 0, .b = 1, .c = TG_REGISTER_NONE, .only = TG_REGISTER_NONE};
			const int64_t *edges = dates ? date_edges : int_edges;

			begin_trial(1);
			add_input((tg_vector_type) operation->a, &(style){.bits = 1}, 0);
			add_input((tg_vector_type) operation->a, &(style){.bits = 1}, 0);
			codings[0].count = codings[1].count = 0;
			for (unsigned k = 0; k < 2; k++)
				if (ints)
					trial.cells[k][0].i = edges[k == 0 ? j / count : j % count];
				else
					trial.cells[k][0].f = float_edges[k == 0 ? j / count : j % count];
			if (operation->b == NONE)
				instruction.b = TG_REGISTER_NONE;
			random_details(&instruction);
			if (operation->op == TG_OP_CHOOSE)
				continue;
			add_instruction(instruction, (tg_vector_type) operation->to);
			right = run_trial();
		}
		unit_ok(right, "%s of edges", operation->name);
	}
}

/* The oracle's calendar itself, by what is known. */
static void
check_calendar(void)
{
	static const int64_t known[][4] = {{-2451545, -4714, 11, 24}, {2145031948, 5874897, 12, 31},
									   {0, 2000, 1, 1},			  {-10957, 1970, 1, 1},
									   {59, 2000, 2, 29},		  {-730119, 1, 1, 1},
									   {-730120, -1, 12, 31},	  {8824, 2024, 2, 28}};

	for (unsigned i = 0; i < COUNT_OF(known); i++)
	{
		int64_t parts[3];

		find_date(known[i][0], &parts[0], &parts[1], &parts[2]);
		unit_ok(memcmp(parts, &known[i][1], sizeof(parts)) == 0, "day %" PRId64, known[i][0]);
	}
}

/* --- random programs ------------------------------------------------------------------------ */

#define INPUTS_PER_TYPE 2

/* A register of this type; what is computed under `only` is used under it alone. */
static uint16_t
random_operand(int type, const bool *guarded, bool guard)
{
	unsigned index = unit_below(&seed, trial.program.register_count);

	if (type == NONE)
		return TG_REGISTER_NONE;
	while (trial.types[index] != type || (guarded[index] && !guard))
		index = (index + 1) % trial.program.register_count;
	return (uint16_t) index;
}

/*
 * Instructions under `only` imitate the branch of a CASE: the register, input 0, guards them, and
 * CHOOSE by it takes their results out of the branch.
 */
static void
make_program(void)
{
	const style small = {.bits = 1 + unit_below(&seed, 24), .edge_one = unit_below(&seed, 4) == 0 ? 2000 : 0};
	unsigned length = 5 + unit_below(&seed, 16);
	bool guarded[REGISTERS] = {false};

	begin_trial(counts[unit_below(&seed, COUNT_OF(counts))]);
	for (unsigned i = 0; i < INPUTS_PER_TYPE * 4; i++)
		add_input((tg_vector_type) (i % 4), &small, i < 4 ? 5 : 0);
	for (unsigned i = 0; i < 8; i++)
		add_constant((tg_vector_type) (i % 4), &small, 10);
	while (length > 0)
	{
		const struct operation *operation = &operations[unit_below(&seed, COUNT_OF(operations))];
		bool guard = operation->op != TG_OP_CHOOSE && unit_below(&seed, 3) == 0;
		bool leave = operation->op == TG_OP_CHOOSE && unit_below(&seed, 2) == 0;
		tg_instruction instruction = {.op = operation->op, .only = guard ? 0 : TG_REGISTER_NONE};

		/* dates are for themselves; a power of ten that is too large makes all unfit */
		if (operation->op >= TG_OP_TRUNC_MONTHS && operation->op <= TG_OP_DAY)
			continue;
		instruction.a = random_operand(operation->a, guarded, guard || leave);
		instruction.b = random_operand(operation->b, guarded, guard);
		instruction.c = operation->op != TG_OP_CHOOSE ? TG_REGISTER_NONE
						: leave						  ? 0
													  : random_operand(TG_V_BOOL, guarded, false);
		random_details(&instruction);
		if (operation->op == TG_OP_LIKE) /* one pattern a program */
			continue;
		guarded[trial.program.register_count] = guard;
		add_instruction(instruction, (tg_vector_type) operation->to);
		length--;
	}
}

static void
check_programs(void)
{
	unsigned unfit = 0;
	unsigned number;

	for (number = 0; number < PROGRAMS; number++)
	{
		uint64_t before = seed;

		make_program();
		unfit += trial.unfit;
		if (!run_trial())
		{
			printf("# the program of seed %" PRIu64 "\n", before);
			break;
		}
	}
	unit_ok(number == PROGRAMS, "random programs");
	unit_ok(unfit > PROGRAMS / 10 && unfit < PROGRAMS * 9 / 10, "of these, %u of %u unfit", unfit, number);
	unit_ok(coded_count > PROGRAMS / 2, "results with codes: %u", coded_count);
}

int
main(void)
{
	printf("# seed %" PRIu64 "\n", seed);
	check_calendar();
	check_edges();
	check_operations();
	check_programs();
	return unit_done();
}
