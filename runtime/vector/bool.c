/*
 * bool.c
 *	  Kernels of three-valued logic, of NULL, and of choice.
 */
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/order/value.h"
#include "runtime/vector/decimal.h"
#include "runtime/vector/kernel.h"

static inline unsigned
row_of(const tg_vector *vector, unsigned row)
{
	return vector->constant ? 0 : row;
}

static inline bool
is_null_at(const tg_vector *vector, unsigned row)
{
	return vector->nulls != NULL && vector->nulls[row_of(vector, row)] != 0;
}

static inline bool
value_at(const tg_vector *vector, unsigned row)
{
	return ((const uint8_t *) vector->data)[row_of(vector, row)] != 0;
}

/* AND, and OR by turning all around; neither operand is constant, as a rule. */
static tg_status
compute_logic(tg_operands *operands, bool is_or)
{
	const tg_vector *a = operands->a;
	const tg_vector *b = operands->b;
	uint8_t *to = operands->to->data;
	uint8_t *nulls = operands->to->nulls;

	if (a->nulls == NULL && b->nulls == NULL)
	{
		operands->to->nulls = NULL;
		if (is_or)
			TG_FOR_EACH_PAIR(operands, uint8_t, to[i] = x | y);
		else
			TG_FOR_EACH_PAIR(operands, uint8_t, to[i] = x & y);
		return TG_OK;
	}
	for (unsigned i = 0; i < operands->count; i++)
	{
		bool a_null = is_null_at(a, i);
		bool b_null = is_null_at(b, i);
		bool decides = (!a_null && value_at(a, i) == is_or) || (!b_null && value_at(b, i) == is_or);

		to[i] = decides ? is_or : !is_or;
		nulls[i] = !decides && (a_null || b_null);
	}
	return TG_OK;
}

tg_status
tg_kernel_and(tg_operands *operands)
{
	return compute_logic(operands, false);
}

tg_status
tg_kernel_or(tg_operands *operands)
{
	return compute_logic(operands, true);
}

tg_status
tg_kernel_not(tg_operands *operands)
{
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	TG_FOR_EACH(operands, uint8_t, to[i] = !x);
	return TG_OK;
}

tg_status
tg_kernel_is_null(tg_operands *operands)
{
	uint8_t *to = operands->to->data;

	for (unsigned i = 0; i < operands->count; i++)
		to[i] = is_null_at(operands->a, i);
	operands->to->nulls = NULL;
	return TG_OK;
}

tg_status
tg_kernel_is_true(tg_operands *operands)
{
	uint8_t *to = operands->to->data;

	for (unsigned i = 0; i < operands->count; i++)
		to[i] = !is_null_at(operands->a, i) && value_at(operands->a, i);
	operands->to->nulls = NULL;
	return TG_OK;
}

/* --- choice -------------------------------------------------------------------------- */

#define CHOOSE(type)                                                                                                   \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *xs = a->data;                                                                                      \
		const type *ys = b->data;                                                                                      \
		type *to = operands->to->data;                                                                                 \
		unsigned x_step = a->constant ? 0 : 1;                                                                         \
		unsigned y_step = b->constant ? 0 : 1;                                                                         \
                                                                                                                       \
		for (unsigned i = 0; i < count; i++)                                                                           \
			to[i] = chosen[i] ? xs[i * x_step] : ys[i * y_step];                                                       \
	} while (0)

tg_status
tg_kernel_choose(tg_operands *operands)
{
	const tg_vector *a = operands->a;
	const tg_vector *b = operands->b;
	unsigned count = operands->count;
	uint8_t chosen[TG_VECTOR_ROWS];

	for (unsigned i = 0; i < count; i++)
		chosen[i] = !is_null_at(operands->c, i) && value_at(operands->c, i);
	switch ((tg_vector_type) operands->to->type)
	{
		case TG_V_BOOL:
			CHOOSE(uint8_t);
			break;
		case TG_V_INT:
			CHOOSE(int64_t);
			operands->to->bits = a->bits > b->bits ? a->bits : b->bits;
			break;
		case TG_V_FLOAT:
			CHOOSE(double);
			break;
		case TG_V_TEXT:
			CHOOSE(tg_string);
			break;
		case TG_V_DECIMAL:
			CHOOSE(tg_decimal);
			break;
	}
	if (a->nulls == NULL && b->nulls == NULL)
		operands->to->nulls = NULL;
	else
		for (unsigned i = 0; i < count; i++)
			operands->to->nulls[i] = is_null_at(chosen[i] ? a : b, i);
	return TG_OK;
}
