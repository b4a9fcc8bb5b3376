/*
 * decimal_kernel.c
 *	  Kernels of decimals: a row at a time, by decimal.c.
 */
#include "runtime/base/check.h"
#include "runtime/vector/decimal.h"
#include "runtime/vector/kernel.h"

static inline const tg_decimal *
decimal_at(const tg_vector *vector, unsigned row)
{
	return (const tg_decimal *) vector->data + (vector->constant ? 0 : row);
}

/* --- from integers ----------------------------------------------------------------------- */

tg_status
tg_kernel_to_decimal(tg_operands *operands)
{
	const tg_vector *scaled = operands->b;
	unsigned scale = (unsigned) operands->instruction->low;
	tg_decimal *to = operands->to->data;

	tg_assert(scale <= TG_DECIMAL_SCALE_MAX);
	operands->b = NULL; /* whose NULLs are not the result's */
	tg_nulls_of(operands);
	TG_FOR_EACH(operands, int64_t, to[i] = tg_decimal_of(x, scale));
	if (scaled == NULL)
		return TG_OK;
	for (unsigned i = 0; i < operands->count; i++)
	{
		unsigned at = scaled->constant ? 0 : i;

		if (((const uint8_t *) scaled->data)[at] == 0 || (scaled->nulls != NULL && scaled->nulls[at] != 0))
			to[i] = tg_decimal_of(0, 0);
	}
	return TG_OK;
}

/* --- arithmetic ---------------------------------------------------------------------------- */

typedef bool compute_pair(const tg_decimal *a, const tg_decimal *b, tg_decimal *out);

static tg_status
compute(tg_operands *operands, compute_pair *pair)
{
	tg_decimal *to = operands->to->data;

	tg_nulls_of(operands);
	for (unsigned i = 0; i < operands->count; i++)
		if (tg_unlikely(!pair(decimal_at(operands->a, i), decimal_at(operands->b, i), &to[i])))
		{
			if (tg_row_counts(operands, i))
				return TG_UNFIT;
			to[i] = tg_decimal_of(0, 0);
		}
	return TG_OK;
}

tg_status
tg_kernel_decimal_add(tg_operands *operands)
{
	return compute(operands, tg_decimal_add);
}

tg_status
tg_kernel_decimal_subtract(tg_operands *operands)
{
	return compute(operands, tg_decimal_subtract);
}

tg_status
tg_kernel_decimal_multiply(tg_operands *operands)
{
	return compute(operands, tg_decimal_multiply);
}

tg_status
tg_kernel_decimal_divide(tg_operands *operands)
{
	return compute(operands, tg_decimal_divide);
}

tg_status
tg_kernel_decimal_remainder(tg_operands *operands)
{
	return compute(operands, tg_decimal_remainder);
}

tg_status
tg_kernel_decimal_absolute(tg_operands *operands)
{
	tg_decimal *to = operands->to->data;

	tg_nulls_of(operands);
	for (unsigned i = 0; i < operands->count; i++)
	{
		const tg_decimal *from = decimal_at(operands->a, i);
		__int128 value = tg_decimal_value(from);

		to[i] = tg_decimal_of(value < 0 ? -value : value, tg_decimal_scale(from));
	}
	return TG_OK;
}

tg_status
tg_kernel_decimal_negate(tg_operands *operands)
{
	tg_decimal *to = operands->to->data;

	tg_nulls_of(operands);
	for (unsigned i = 0; i < operands->count; i++)
	{
		const tg_decimal *from = decimal_at(operands->a, i);

		to[i] = tg_decimal_of(-tg_decimal_value(from), tg_decimal_scale(from));
	}
	return TG_OK;
}

/* --- conversions --------------------------------------------------------------------------- */

tg_status
tg_kernel_decimal_to_int(tg_operands *operands)
{
	unsigned scale = (unsigned) operands->instruction->low;
	tg_rounding rounding = (tg_rounding) operands->instruction->high;
	int64_t *to = operands->to->data;

	tg_nulls_of(operands);
	for (unsigned i = 0; i < operands->count; i++)
		if (tg_unlikely(!tg_decimal_to_int(decimal_at(operands->a, i), scale, rounding, &to[i])))
		{
			if (tg_row_counts(operands, i))
				return TG_UNFIT;
			to[i] = 0;
		}
	return TG_OK;
}

tg_status
tg_kernel_decimal_to_float(tg_operands *operands)
{
	double *to = operands->to->data;

	tg_nulls_of(operands);
	for (unsigned i = 0; i < operands->count; i++)
		to[i] = tg_decimal_to_double(decimal_at(operands->a, i));
	return TG_OK;
}

/* --- comparisons --------------------------------------------------------------------------- */

#define COMPARE_ALL(condition)                                                                                         \
	for (unsigned i = 0; i < operands->count; i++)                                                                     \
		to[i] = tg_decimal_compare(decimal_at(operands->a, i), decimal_at(operands->b, i)) condition 0;                \
	break

tg_status
tg_kernel_decimal_compare(tg_operands *operands)
{
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	switch (operands->instruction->op)
	{
		case TG_OP_DECIMAL_EQ:
			COMPARE_ALL(==);
		case TG_OP_DECIMAL_NE:
			COMPARE_ALL(!=);
		case TG_OP_DECIMAL_LT:
			COMPARE_ALL(<);
		case TG_OP_DECIMAL_LE:
			COMPARE_ALL(<=);
		case TG_OP_DECIMAL_GT:
			COMPARE_ALL(>);
		default:
			tg_assert(operands->instruction->op == TG_OP_DECIMAL_GE);
			COMPARE_ALL(>=);
	}
	return TG_OK;
}
