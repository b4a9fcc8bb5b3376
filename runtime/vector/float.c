/*
 * float.c
 *	  Kernels of double precision.
 *
 * As PostgreSQL's float8: an infinity that comes of finite operands, a zero that comes of others,
 * and a division by zero are errors, hence unfit here.  NaN is equal to itself, and above all
 * others.  (PostgreSQL: src/include/utils/float.h.)
 */
#include <math.h>

#include "runtime/base/check.h"
#include "runtime/vector/kernel.h"

/* A row of which the flag is set must not count. */
#define CHECK_ROWS(condition)                                                                                          \
	for (unsigned i = 0; i < operands->count; i++)                                                                     \
	{                                                                                                                  \
		double x = ((const double *) operands->a->data)[operands->a->constant ? 0 : i];                                \
		double y = ((const double *) operands->b->data)[operands->b->constant ? 0 : i];                                \
                                                                                                                       \
		if ((condition) && tg_row_counts(operands, i))                                                                 \
			return TG_UNFIT;                                                                                           \
	}

tg_status
tg_kernel_float_add(tg_operands *operands)
{
	double *to = operands->to->data;
	unsigned infinite = 0;

	tg_nulls_of(operands);
	TG_FOR_EACH_PAIR(operands, double, to[i] = x + y; infinite |= isinf(to[i]) != 0);
	if (tg_unlikely(infinite != 0))
		CHECK_ROWS(isinf(x + y) && !isinf(x) && !isinf(y));
	return TG_OK;
}

tg_status
tg_kernel_float_subtract(tg_operands *operands)
{
	double *to = operands->to->data;
	unsigned infinite = 0;

	tg_nulls_of(operands);
	TG_FOR_EACH_PAIR(operands, double, to[i] = x - y; infinite |= isinf(to[i]) != 0);
	if (tg_unlikely(infinite != 0))
		CHECK_ROWS(isinf(x - y) && !isinf(x) && !isinf(y));
	return TG_OK;
}

tg_status
tg_kernel_float_multiply(tg_operands *operands)
{
	double *to = operands->to->data;
	unsigned special = 0;

	tg_nulls_of(operands);
	TG_FOR_EACH_PAIR(operands, double, to[i] = x * y; special |= isinf(to[i]) || to[i] == 0.0);
	if (tg_unlikely(special != 0))
		CHECK_ROWS((isinf(x * y) && !isinf(x) && !isinf(y)) || (x * y == 0.0 && x != 0.0 && y != 0.0));
	return TG_OK;
}

tg_status
tg_kernel_float_divide(tg_operands *operands)
{
	double *to = operands->to->data;
	unsigned special = 0;

	tg_nulls_of(operands);
	TG_FOR_EACH_PAIR(operands, double, to[i] = x / y; special |= isinf(to[i]) || to[i] == 0.0 || y == 0.0);
	if (tg_unlikely(special != 0))
		CHECK_ROWS((y == 0.0 && !isnan(x)) || (isinf(x / y) && !isinf(x)) || (x / y == 0.0 && x != 0.0 && !isinf(y)));
	return TG_OK;
}

tg_status
tg_kernel_float_negate(tg_operands *operands)
{
	double *to = operands->to->data;

	tg_nulls_of(operands);
	TG_FOR_EACH(operands, double, to[i] = -x);
	return TG_OK;
}

tg_status
tg_kernel_float_absolute(tg_operands *operands)
{
	double *to = operands->to->data;

	tg_nulls_of(operands);
	TG_FOR_EACH(operands, double, to[i] = fabs(x));
	return TG_OK;
}

tg_status
tg_kernel_float_sqrt(tg_operands *operands)
{
	double *to = operands->to->data;
	unsigned negative = 0;

	tg_nulls_of(operands);
	TG_FOR_EACH(operands, double, to[i] = __builtin_sqrt(x); negative |= x < 0);
	for (unsigned i = 0; negative != 0 && i < operands->count; i++)
		if (((const double *) operands->a->data)[operands->a->constant ? 0 : i] < 0 && tg_row_counts(operands, i))
			return TG_UNFIT;
	return TG_OK;
}

#define EXACT_MAX ((int64_t) 1 << 53) /* integers up to it are exact; so are powers of ten to 10^22 */

/*
 * The quotient of two exact numbers is rounded once: it is the double nearest to the decimal
 * number, which is what the host gets by reading it.
 */
tg_status
tg_kernel_to_float(tg_operands *operands)
{
	const int64_t *values = operands->a->data;
	double *to = operands->to->data;
	double power = (double) operands->instruction->low;

	tg_nulls_of(operands);
	if (operands->instruction->low != 1 && tg_vector_measure(operands->a, operands->count) > 53)
		for (unsigned i = 0; i < operands->count; i++)
		{
			int64_t value = values[operands->a->constant ? 0 : i];

			if ((value > EXACT_MAX || value < -EXACT_MAX) && tg_row_counts(operands, i))
				return TG_UNFIT;
		}
	TG_FOR_EACH(operands, int64_t, to[i] = (double) x / power);
	return TG_OK;
}

static inline bool
is_below(double x, double y)
{
	return !isnan(x) && (isnan(y) || x < y);
}

static inline bool
is_equal(double x, double y)
{
	return x == y || (isnan(x) && isnan(y));
}

tg_status
tg_kernel_float_compare(tg_operands *operands)
{
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	switch (operands->instruction->op)
	{
		case TG_OP_FLOAT_EQ:
			TG_FOR_EACH_PAIR(operands, double, to[i] = is_equal(x, y));
			break;
		case TG_OP_FLOAT_NE:
			TG_FOR_EACH_PAIR(operands, double, to[i] = !is_equal(x, y));
			break;
		case TG_OP_FLOAT_LT:
			TG_FOR_EACH_PAIR(operands, double, to[i] = is_below(x, y));
			break;
		case TG_OP_FLOAT_LE:
			TG_FOR_EACH_PAIR(operands, double, to[i] = !is_below(y, x));
			break;
		case TG_OP_FLOAT_GT:
			TG_FOR_EACH_PAIR(operands, double, to[i] = is_below(y, x));
			break;
		default:
			tg_assert(operands->instruction->op == TG_OP_FLOAT_GE);
			TG_FOR_EACH_PAIR(operands, double, to[i] = !is_below(x, y));
			break;
	}
	return TG_OK;
}
