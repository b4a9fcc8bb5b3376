/*
 * program.c
 *	  Running programs: the registers, and one kernel after the other.
 *
 * The memory of a task's registers, in one piece: the vectors, then for each register that is no
 * constant TG_VECTOR_ROWS values and as many bytes of NULLs.  A constant's vector points to the
 * program's.
 *
 * 1. An instruction reads registers below the one that it writes, and each register is written
 *    once.  So NULLs may be shared: the bytes that a result points to, an operand's, do not change
 *    until the next run.
 */
#include "runtime/vector/program.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/order/value.h"
#include "runtime/vector/kernel.h"

static tg_kernel *const kernels[] = {
	[TG_OP_ADD] = tg_kernel_add,
	[TG_OP_SUBTRACT] = tg_kernel_subtract,
	[TG_OP_MULTIPLY] = tg_kernel_multiply,
	[TG_OP_DIVIDE] = tg_kernel_divide,
	[TG_OP_REMAINDER] = tg_kernel_remainder,
	[TG_OP_NEGATE] = tg_kernel_negate,
	[TG_OP_ABSOLUTE] = tg_kernel_absolute,
	[TG_OP_ROUND] = tg_kernel_round,
	[TG_OP_RANGE] = tg_kernel_range,
	[TG_OP_FLOOR_DIVIDE] = tg_kernel_floor_divide,
	[TG_OP_MODULO] = tg_kernel_modulo,
	[TG_OP_TRUNC_MONTHS] = tg_kernel_trunc_months,
	[TG_OP_ADD_MONTHS] = tg_kernel_add_months,
	[TG_OP_YEAR] = tg_kernel_year,
	[TG_OP_MONTH] = tg_kernel_month,
	[TG_OP_DAY] = tg_kernel_day,
	[TG_OP_EQ] = tg_kernel_compare,
	[TG_OP_NE] = tg_kernel_compare,
	[TG_OP_LT] = tg_kernel_compare,
	[TG_OP_LE] = tg_kernel_compare,
	[TG_OP_GT] = tg_kernel_compare,
	[TG_OP_GE] = tg_kernel_compare,
	[TG_OP_FLOAT_ADD] = tg_kernel_float_add,
	[TG_OP_FLOAT_SUBTRACT] = tg_kernel_float_subtract,
	[TG_OP_FLOAT_MULTIPLY] = tg_kernel_float_multiply,
	[TG_OP_FLOAT_DIVIDE] = tg_kernel_float_divide,
	[TG_OP_FLOAT_NEGATE] = tg_kernel_float_negate,
	[TG_OP_FLOAT_ABSOLUTE] = tg_kernel_float_absolute,
	[TG_OP_FLOAT_SQRT] = tg_kernel_float_sqrt,
	[TG_OP_TO_FLOAT] = tg_kernel_to_float,
	[TG_OP_FLOAT_EQ] = tg_kernel_float_compare,
	[TG_OP_FLOAT_NE] = tg_kernel_float_compare,
	[TG_OP_FLOAT_LT] = tg_kernel_float_compare,
	[TG_OP_FLOAT_LE] = tg_kernel_float_compare,
	[TG_OP_FLOAT_GT] = tg_kernel_float_compare,
	[TG_OP_FLOAT_GE] = tg_kernel_float_compare,
	[TG_OP_TO_DECIMAL] = tg_kernel_to_decimal,
	[TG_OP_DECIMAL_ADD] = tg_kernel_decimal_add,
	[TG_OP_DECIMAL_SUBTRACT] = tg_kernel_decimal_subtract,
	[TG_OP_DECIMAL_MULTIPLY] = tg_kernel_decimal_multiply,
	[TG_OP_DECIMAL_DIVIDE] = tg_kernel_decimal_divide,
	[TG_OP_DECIMAL_REMAINDER] = tg_kernel_decimal_remainder,
	[TG_OP_DECIMAL_NEGATE] = tg_kernel_decimal_negate,
	[TG_OP_DECIMAL_ABSOLUTE] = tg_kernel_decimal_absolute,
	[TG_OP_DECIMAL_TO_INT] = tg_kernel_decimal_to_int,
	[TG_OP_DECIMAL_TO_FLOAT] = tg_kernel_decimal_to_float,
	[TG_OP_DECIMAL_EQ] = tg_kernel_decimal_compare,
	[TG_OP_DECIMAL_NE] = tg_kernel_decimal_compare,
	[TG_OP_DECIMAL_LT] = tg_kernel_decimal_compare,
	[TG_OP_DECIMAL_LE] = tg_kernel_decimal_compare,
	[TG_OP_DECIMAL_GT] = tg_kernel_decimal_compare,
	[TG_OP_DECIMAL_GE] = tg_kernel_decimal_compare,
	[TG_OP_TEXT_EQ] = tg_kernel_text_compare,
	[TG_OP_TEXT_NE] = tg_kernel_text_compare,
	[TG_OP_TEXT_LT] = tg_kernel_text_compare,
	[TG_OP_TEXT_LE] = tg_kernel_text_compare,
	[TG_OP_TEXT_GT] = tg_kernel_text_compare,
	[TG_OP_TEXT_GE] = tg_kernel_text_compare,
	[TG_OP_LIKE] = tg_kernel_like,
	[TG_OP_SUBSTRING] = tg_kernel_substring,
	[TG_OP_SUBSTRING_TRIMMED] = tg_kernel_substring,
	[TG_OP_LENGTH] = tg_kernel_length,
	[TG_OP_IN] = tg_kernel_in,
	[TG_OP_TEXT_IN] = tg_kernel_text_in,
	[TG_OP_AND] = tg_kernel_and,
	[TG_OP_OR] = tg_kernel_or,
	[TG_OP_NOT] = tg_kernel_not,
	[TG_OP_IS_NULL] = tg_kernel_is_null,
	[TG_OP_IS_TRUE] = tg_kernel_is_true,
	[TG_OP_CHOOSE] = tg_kernel_choose,
};

_Static_assert(sizeof(kernels) / sizeof(kernels[0]) == TG_OP_CHOOSE + 1, "each operation has its kernel");

/* --- registers ------------------------------------------------------------------------ */

static size_t
line_up(size_t bytes)
{
	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

static bool
is_constant(const tg_program *program, unsigned index)
{
	return index >= program->input_count && index < (unsigned) program->input_count + program->constant_count;
}

static size_t
register_bytes(const tg_program *program, unsigned index)
{
	return is_constant(program, index) ? 0 : TG_VECTOR_ROWS * (tg_vector_width(program->types[index]) + 1);
}

size_t
tg_registers_bytes(const tg_program *program)
{
	size_t bytes = line_up(program->register_count * sizeof(tg_vector));

	for (unsigned i = 0; i < program->register_count; i++)
		bytes += register_bytes(program, i);
	return line_up(bytes);
}

void
tg_registers_init(tg_registers *registers, const tg_program *program, void *memory)
{
	unsigned char *next = (unsigned char *) memory + line_up(program->register_count * sizeof(tg_vector));

	registers->vectors = memory;
	for (unsigned i = 0; i < program->register_count; i++)
	{
		tg_vector *vector = &registers->vectors[i];

		if (is_constant(program, i))
		{
			*vector = program->constants[i - program->input_count];
			vector->bytes = (uint8_t) tg_vector_width((tg_vector_type) vector->type);
		}
		else
		{
			*vector = (tg_vector){.own = next, .type = program->types[i]};
			tg_vector_renew(vector);
			next += register_bytes(program, i);
		}
	}
}

/* The register's own bytes of NULLs, where tg_vector_renew puts them. */
static uint8_t *
own_nulls(const tg_vector *vector)
{
	return (uint8_t *) vector->own + TG_VECTOR_ROWS * tg_vector_width((tg_vector_type) vector->type);
}

/* --- NULLs, bits ------------------------------------------------------------------------ */

/* The bytes of a constant stand for all rows; as many as needed, of NULL. */
static bool
has_nulls(const tg_vector *vector)
{
	return vector != NULL && vector->nulls != NULL && (!vector->constant || vector->nulls[0] != 0);
}

void
tg_nulls_of(tg_operands *operands)
{
	tg_vector *to = operands->to;
	bool in_a = has_nulls(operands->a);
	bool in_b = has_nulls(operands->b);

	if ((in_a && operands->a->constant) || (in_b && operands->b->constant))
		memset(to->nulls, 1, operands->count);
	else if (in_a && in_b)
		for (unsigned i = 0; i < operands->count; i++)
			to->nulls[i] = operands->a->nulls[i] | operands->b->nulls[i];
	else if (in_a || in_b)
		to->nulls = in_a ? operands->a->nulls : operands->b->nulls;
	else
		to->nulls = NULL;
}

unsigned
tg_int_bits(int64_t value)
{
	uint64_t magnitude = (uint64_t) (value < 0 ? ~value : value);

	return magnitude == 0 ? 1 : 65 - (unsigned) __builtin_clzll(magnitude);
}

unsigned
tg_vector_measure(tg_vector *vector, unsigned count)
{
	const int64_t *values = vector->data;
	uint64_t all = 0;

	if (tg_failpoint_refuses("vector_bits"))
		return TG_BITS_UNKNOWN; /* as of values for which 64 bits do not suffice */
	if (vector->bits != TG_BITS_UNKNOWN)
		return vector->bits;
	if (vector->constant)
		count = 1;
	for (unsigned i = 0; i < count; i++)
		all |= (uint64_t) values[i];
	/* most columns have no negative values, and the loop above is the faster one */
	if ((int64_t) all < 0)
	{
		all = 0;
		for (unsigned i = 0; i < count; i++)
			all |= (uint64_t) (values[i] < 0 ? ~values[i] : values[i]);
	}
	/* |v| ≤ all + 1, so it is below 2 to the power of one bit more */
	vector->bits = (uint8_t) tg_int_bits((int64_t) all);
	return vector->bits;
}

static bool
may_fail(tg_op op)
{
	switch (op)
	{
		case TG_OP_ROUND:
		case TG_OP_FLOOR_DIVIDE:
		case TG_OP_MODULO:
		case TG_OP_EQ:
		case TG_OP_NE:
		case TG_OP_LT:
		case TG_OP_LE:
		case TG_OP_GT:
		case TG_OP_GE:
		case TG_OP_FLOAT_NEGATE:
		case TG_OP_FLOAT_ABSOLUTE:
		case TG_OP_FLOAT_EQ:
		case TG_OP_FLOAT_NE:
		case TG_OP_FLOAT_LT:
		case TG_OP_FLOAT_LE:
		case TG_OP_FLOAT_GT:
		case TG_OP_FLOAT_GE:
		case TG_OP_TO_DECIMAL:
		case TG_OP_DECIMAL_NEGATE:
		case TG_OP_DECIMAL_ABSOLUTE:
		case TG_OP_DECIMAL_TO_FLOAT:
		case TG_OP_DECIMAL_EQ:
		case TG_OP_DECIMAL_NE:
		case TG_OP_DECIMAL_LT:
		case TG_OP_DECIMAL_LE:
		case TG_OP_DECIMAL_GT:
		case TG_OP_DECIMAL_GE:
		case TG_OP_TEXT_EQ:
		case TG_OP_TEXT_NE:
		case TG_OP_TEXT_LT:
		case TG_OP_TEXT_LE:
		case TG_OP_TEXT_GT:
		case TG_OP_TEXT_GE:
		case TG_OP_LIKE:
		case TG_OP_LENGTH:
		case TG_OP_IN:
		case TG_OP_TEXT_IN:
		case TG_OP_AND:
		case TG_OP_OR:
		case TG_OP_NOT:
		case TG_OP_IS_NULL:
		case TG_OP_IS_TRUE:
		case TG_OP_CHOOSE:
			return false;
		default:
			return true;
	}
}

bool
tg_program_may_fail(const tg_program *program)
{
	for (unsigned i = 0; i < program->instruction_count; i++)
		if (may_fail((tg_op) program->instructions[i].op))
			return true;
	return false;
}

static bool
is_constant_or(const tg_program *program, uint16_t index, uint16_t input)
{
	return index == TG_REGISTER_NONE || index == input || is_constant(program, index);
}

bool
tg_program_reads_alone(const tg_program *program, uint16_t input)
{
	for (unsigned i = 0; i < program->instruction_count; i++)
	{
		const tg_instruction *at = &program->instructions[i];

		if ((at->a == input || at->b == input || at->c == input) &&
			(may_fail((tg_op) at->op) || !is_constant_or(program, at->a, input) ||
			 !is_constant_or(program, at->b, input) || !is_constant_or(program, at->c, input)))
			return false;
	}
	return true;
}

/* --- runs -------------------------------------------------------------------------------- */

static tg_vector *
operand(const tg_registers *registers, uint16_t index)
{
	return index == TG_REGISTER_NONE ? NULL : &registers->vectors[index];
}

#define WIDEN(stored)                                                                                                  \
	for (unsigned i = 0; i < count; i++)                                                                               \
	((int64_t *) vector->own)[i] = ((const stored *) vector->data)[i]

/* An input whose values are stored in fewer bytes; they are not in its own memory. */
static void
widen(tg_vector *vector, unsigned count)
{
	if (vector == NULL || vector->type != TG_V_INT || vector->bytes == sizeof(int64_t))
		return;
	if (vector->bytes == sizeof(int8_t))
		WIDEN(int8_t);
	else if (vector->bytes == sizeof(int16_t))
		WIDEN(int16_t);
	else
		WIDEN(int32_t);
	vector->data = vector->own;
	vector->bytes = sizeof(int64_t);
}

/* Whether the instruction's kernel takes operands of fewer bytes. */
static bool
takes_narrow(const tg_operands *operands)
{
	tg_op op = operands->instruction->op;

	return op >= TG_OP_EQ && op <= TG_OP_GE && tg_is_narrow_pair(operands->a, operands->b);
}

/* --- codes ------------------------------------------------------------------------------- */

#define EXPAND(type, from, to)                                                                                         \
	do                                                                                                                 \
	{                                                                                                                  \
		type values[TG_VECTOR_CODES_MAX];                                                                              \
                                                                                                                       \
		memcpy(values, (from), vector->code_count * sizeof(type));                                                     \
		if (at == NULL)                                                                                                \
			for (unsigned i = 0; i < count; i++)                                                                       \
				((type *) (to))[i] = values[codes[i]];                                                                 \
		else                                                                                                           \
			for (unsigned i = 0; i < count; i++)                                                                       \
				((type *) (to))[at[i]] = values[codes[at[i]]];                                                         \
	} while (0)

void
tg_vector_expand(tg_vector *vector, const uint16_t *at, unsigned count)
{
	const uint8_t *codes = vector->codes;
	const uint8_t *nulls = vector->nulls;
	size_t width = tg_vector_width((tg_vector_type) vector->type);

	if (codes == NULL)
		return;
	tg_assert(vector->code_count <= TG_VECTOR_CODES_MAX);
	if (width == sizeof(uint8_t))
		EXPAND(uint8_t, vector->data, vector->own);
	else if (width == sizeof(uint64_t))
		EXPAND(uint64_t, vector->data, vector->own);
	else
		EXPAND(tg_string, vector->data, vector->own);
	vector->data = vector->own;
	vector->codes = NULL;
	if (nulls == NULL)
		return;
	vector->nulls = own_nulls(vector);
	EXPAND(uint8_t, nulls, vector->nulls);
}

/*
 * Whether an operand has no other codes than those found in the operands before, or is constant.
 */
static bool
fits_codes(const tg_vector *operand, const tg_vector **coded_inout)
{
	if (operand == NULL || operand->constant)
		return true;
	if (operand->codes == NULL || (*coded_inout != NULL && (*coded_inout)->codes != operand->codes))
		return false;
	*coded_inout = operand;
	return true;
}

/* An operand by whose values alone an instruction can be computed; NULL: there is none. */
static const tg_vector *
find_codes(const tg_operands *operands)
{
	const tg_vector *coded = NULL;

	if (!fits_codes(operands->a, &coded) || !fits_codes(operands->b, &coded) || !fits_codes(operands->c, &coded) ||
		may_fail((tg_op) operands->instruction->op))
		return NULL;
	return coded;
}

/*
 * The result's NULLs are its own, even where they are those of an operand: as long as there are
 * codes, 1 does not hold, because an operand may be expanded later.
 */
static tg_status
run_by_codes(tg_operands *operands, const tg_vector *coded)
{
	tg_vector *to = operands->to;
	tg_status status;

	operands->count = coded->code_count;
	status = kernels[operands->instruction->op](operands);
	to->code_count = coded->code_count;
	to->codes = coded->codes;
	if (to->nulls != NULL && to->nulls != own_nulls(to))
		to->nulls = memcpy(own_nulls(to), to->nulls, to->code_count);
	return status;
}

static void
expand(tg_vector *operand, unsigned count)
{
	if (operand != NULL)
		tg_vector_expand(operand, NULL, count);
}

tg_status
tg_program_run(const tg_program *program, tg_registers *registers, unsigned count)
{
	tg_assert(count <= TG_VECTOR_ROWS);
	for (unsigned i = 0; i < program->instruction_count; i++)
	{
		const tg_instruction *instruction = &program->instructions[i];
		tg_operands operands = {.instruction = instruction,
								.to = operand(registers, instruction->to),
								.a = operand(registers, instruction->a),
								.b = operand(registers, instruction->b),
								.c = operand(registers, instruction->c),
								.only = operand(registers, instruction->only),
								.count = count};
		const tg_vector *coded = find_codes(&operands);
		tg_status status;

		tg_vector_renew(operands.to);
		if (coded != NULL)
			status = run_by_codes(&operands, coded);
		else
		{
			expand(operands.a, count);
			expand(operands.b, count);
			expand(operands.c, count);
			expand(operands.only, count);
			if (!takes_narrow(&operands))
			{
				widen(operands.a, count);
				widen(operands.b, count);
			}
			status = kernels[instruction->op](&operands);
		}
		if (tg_unlikely(status != TG_OK))
			return status;
	}
	return TG_OK;
}
