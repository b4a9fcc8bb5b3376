/*
 * kernel.h
 *	  What the files with kernels share: program.h's own.
 *
 * A kernel computes one instruction for count rows.  It has set everything of the result when it
 * returns TG_OK.  Its loops are plain ones over dense arrays, which compilers turn into vector
 * instructions; an operand that is constant has a loop of its own.
 */
#ifndef TG_KERNEL_H
#define TG_KERNEL_H

#include "runtime/vector/program.h"

/* The operands of an instruction; those that it does not have are NULL. */
typedef struct tg_operands
{
	const tg_instruction *instruction;
	tg_vector *to; /* data is the register's own memory, and so is nulls */
	tg_vector *a;
	tg_vector *b;
	tg_vector *c;
	tg_vector *only;
	unsigned count;
} tg_operands;

typedef tg_status tg_kernel(tg_operands *operands);

extern tg_kernel tg_kernel_add, tg_kernel_subtract, tg_kernel_multiply, tg_kernel_divide, tg_kernel_remainder;
extern tg_kernel tg_kernel_negate, tg_kernel_absolute, tg_kernel_round, tg_kernel_range;
extern tg_kernel tg_kernel_floor_divide, tg_kernel_modulo, tg_kernel_trunc_months, tg_kernel_add_months;
extern tg_kernel tg_kernel_float_absolute, tg_kernel_float_sqrt, tg_kernel_length;
extern tg_kernel tg_kernel_year, tg_kernel_month, tg_kernel_day;
extern tg_kernel tg_kernel_compare, tg_kernel_in;
extern tg_kernel tg_kernel_float_add, tg_kernel_float_subtract, tg_kernel_float_multiply, tg_kernel_float_divide;
extern tg_kernel tg_kernel_float_negate, tg_kernel_to_float, tg_kernel_float_compare;
extern tg_kernel tg_kernel_to_decimal, tg_kernel_decimal_add, tg_kernel_decimal_subtract, tg_kernel_decimal_multiply;
extern tg_kernel tg_kernel_decimal_divide, tg_kernel_decimal_remainder, tg_kernel_decimal_negate;
extern tg_kernel tg_kernel_decimal_absolute, tg_kernel_decimal_to_int, tg_kernel_decimal_to_float;
extern tg_kernel tg_kernel_decimal_compare;
extern tg_kernel tg_kernel_text_compare, tg_kernel_like, tg_kernel_substring, tg_kernel_text_in;
extern tg_kernel tg_kernel_and, tg_kernel_or, tg_kernel_not, tg_kernel_is_null, tg_kernel_is_true, tg_kernel_choose;

/*
 * Sets the NULLs of the result: the rows where an operand is NULL.  b may be NULL.  An operand's
 * own bytes are shared where they do.
 */
extern void tg_nulls_of(tg_operands *operands);

/* A set with a NULL: the result is NULL where no element was found.  After the values are set. */
extern void tg_set_nulls(tg_operands *operands, const tg_set *set);

/* Whether two INTs can be compared as values of fewer bytes. */
extern bool tg_is_narrow_pair(const tg_vector *a, const tg_vector *b);

/* Whether a failure in this row counts: it is not NULL, and no CASE has excluded it. */
static inline bool
tg_row_counts(const tg_operands *operands, unsigned row)
{
	const tg_vector *only = operands->only;
	unsigned at;

	if (operands->to->nulls != NULL && operands->to->nulls[row] != 0)
		return false;
	if (only == NULL)
		return true;
	at = only->constant ? 0 : row;
	return ((const uint8_t *) only->data)[at] != 0 && (only->nulls == NULL || only->nulls[at] == 0);
}

/*
 * A loop over two operands, one of which may be constant: for each row i, with x and y of the two,
 * the statement.
 */
#define TG_FOR_EACH_PAIR(operands, type, statement)                                                                    \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *xs = (operands)->a->data;                                                                          \
		const type *ys = (operands)->b->data;                                                                          \
		unsigned rows = (operands)->count;                                                                             \
                                                                                                                       \
		if ((operands)->a->constant && !(operands)->b->constant)                                                       \
		{                                                                                                              \
			const type x = xs[0];                                                                                      \
                                                                                                                       \
			for (unsigned i = 0; i < rows; i++)                                                                        \
			{                                                                                                          \
				const type y = ys[i];                                                                                  \
                                                                                                                       \
				statement;                                                                                             \
			}                                                                                                          \
		}                                                                                                              \
		else if ((operands)->b->constant)                                                                              \
		{                                                                                                              \
			const type y = ys[0];                                                                                      \
			unsigned step = (operands)->a->constant ? 0 : 1;                                                           \
                                                                                                                       \
			if (step == 0)                                                                                             \
				for (unsigned i = 0; i < rows; i++)                                                                    \
				{                                                                                                      \
					const type x = xs[0];                                                                              \
                                                                                                                       \
					statement;                                                                                         \
				}                                                                                                      \
			else                                                                                                       \
				for (unsigned i = 0; i < rows; i++)                                                                    \
				{                                                                                                      \
					const type x = xs[i];                                                                              \
                                                                                                                       \
					statement;                                                                                         \
				}                                                                                                      \
		}                                                                                                              \
		else                                                                                                           \
			for (unsigned i = 0; i < rows; i++)                                                                        \
			{                                                                                                          \
				const type x = xs[i];                                                                                  \
				const type y = ys[i];                                                                                  \
                                                                                                                       \
				statement;                                                                                             \
			}                                                                                                          \
	} while (0)

/* Likewise over the one operand a. */
#define TG_FOR_EACH(operands, type, statement)                                                                         \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *xs = (operands)->a->data;                                                                          \
		unsigned step = (operands)->a->constant ? 0 : 1;                                                               \
                                                                                                                       \
		if (step == 0)                                                                                                 \
			for (unsigned i = 0; i < (operands)->count; i++)                                                           \
			{                                                                                                          \
				const type x = xs[0];                                                                                  \
                                                                                                                       \
				statement;                                                                                             \
			}                                                                                                          \
		else                                                                                                           \
			for (unsigned i = 0; i < (operands)->count; i++)                                                           \
			{                                                                                                          \
				const type x = xs[i];                                                                                  \
                                                                                                                       \
				statement;                                                                                             \
			}                                                                                                          \
	} while (0)

#endif /* TG_KERNEL_H */
