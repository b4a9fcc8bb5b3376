/*
 * int.c
 *	  Kernels of integers, which are also numerics of known scale, dates and times.
 *
 * 1. Bits: each INT vector has, or gets, a bound of its values (tg_vector_measure).  While the
 *    bounds of the operands show that no result can leave 64 bits, the loops test nothing.  The
 *    result's bound follows from theirs; it is measured only when the next instruction would have
 *    to test.  So prices times discounts times taxes, of 45 digits by their types, are computed
 *    unchecked, and data that do not fit are met by the slower loops, which end with TG_UNFIT.
 * 2. The values of rows that are NULL, or that `only` excludes, may be anything: the fast loops
 *    compute with them (wrapping), the slow ones skip them.
 */
#include <stdlib.h>

#include "runtime/base/check.h"
#include "runtime/vector/kernel.h"

#define BITS_MAX 63

/* Computes one pair; false: it cannot be. */
typedef bool compute_pair(int64_t x, int64_t y, int64_t *result);

static void
set_bits(tg_operands *operands, unsigned bits)
{
	operands->to->bits = (uint8_t) (bits < TG_BITS_UNKNOWN ? bits : TG_BITS_UNKNOWN);
}

static inline int64_t
value_at(const tg_vector *vector, unsigned row)
{
	return ((const int64_t *) vector->data)[vector->constant ? 0 : row];
}

/* The result must be within the instruction's bounds. */
static tg_status
check_range(tg_operands *operands)
{
	const tg_instruction *instruction = operands->instruction;
	const int64_t *values = operands->to->data;
	int64_t low = instruction->low;
	int64_t high = instruction->high;
	uint64_t beyond = 0;

	if (low == INT64_MIN && high == INT64_MAX)
		return TG_OK;
	for (unsigned i = 0; i < operands->count; i++)
		beyond |= (uint64_t) (values[i] < low) | (uint64_t) (values[i] > high);
	if (tg_likely(beyond == 0))
		return TG_OK;
	for (unsigned i = 0; i < operands->count; i++)
		if ((values[i] < low || values[i] > high) && tg_row_counts(operands, i))
			return TG_UNFIT;
	/* what is out of bounds does not count: any value will do */
	for (unsigned i = 0; i < operands->count; i++)
		if (values[i] < low || values[i] > high)
			((int64_t *) operands->to->data)[i] = 0;
	return TG_OK;
}

/* Row by row, where the bounds of the operands do not suffice. */
static tg_status
compute_checked(tg_operands *operands, compute_pair *compute)
{
	int64_t *to = operands->to->data;

	for (unsigned i = 0; i < operands->count; i++)
		if (tg_unlikely(!compute(value_at(operands->a, i), value_at(operands->b, i), &to[i])))
		{
			if (tg_row_counts(operands, i))
				return TG_UNFIT;
			to[i] = 0;
		}
	return check_range(operands);
}

static bool
add_pair(int64_t x, int64_t y, int64_t *result)
{
	return !__builtin_add_overflow(x, y, result);
}

static bool
subtract_pair(int64_t x, int64_t y, int64_t *result)
{
	return !__builtin_sub_overflow(x, y, result);
}

static bool
multiply_pair(int64_t x, int64_t y, int64_t *result)
{
	return !__builtin_mul_overflow(x, y, result);
}

static bool
divide_pair(int64_t x, int64_t y, int64_t *result)
{
	if (y == 0 || (y == -1 && x == INT64_MIN))
		return false;
	*result = x / y;
	return true;
}

static bool
remainder_pair(int64_t x, int64_t y, int64_t *result)
{
	if (y == 0)
		return false;
	*result = y == -1 ? 0 : x % y;
	return true;
}

/* Bounds of both operands, measured. */
static unsigned
larger_bits(tg_operands *operands)
{
	unsigned a = tg_vector_measure(operands->a, operands->count);
	unsigned b = tg_vector_measure(operands->b, operands->count);

	return a > b ? a : b;
}

tg_status
tg_kernel_add(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	unsigned bits = larger_bits(operands);

	tg_nulls_of(operands);
	if (tg_unlikely(bits >= BITS_MAX))
		return compute_checked(operands, add_pair);
	TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x + y);
	set_bits(operands, bits + 1);
	return check_range(operands);
}

tg_status
tg_kernel_subtract(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	unsigned bits = larger_bits(operands);

	tg_nulls_of(operands);
	if (tg_unlikely(bits >= BITS_MAX))
		return compute_checked(operands, subtract_pair);
	TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x - y);
	set_bits(operands, bits + 1);
	return check_range(operands);
}

/* The bound of a result may be far from its values; measured anew, it may do. */
static unsigned
product_bits(tg_operands *operands)
{
	unsigned bits = tg_vector_measure(operands->a, operands->count) + tg_vector_measure(operands->b, operands->count);

	if (tg_likely(bits <= BITS_MAX))
		return bits;
	operands->a->bits = TG_BITS_UNKNOWN;
	operands->b->bits = TG_BITS_UNKNOWN;
	return tg_vector_measure(operands->a, operands->count) + tg_vector_measure(operands->b, operands->count);
}

tg_status
tg_kernel_multiply(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	unsigned bits = product_bits(operands);

	tg_nulls_of(operands);
	if (tg_unlikely(bits > BITS_MAX))
		return compute_checked(operands, multiply_pair);
	TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x * y);
	set_bits(operands, bits);
	return check_range(operands);
}

tg_status
tg_kernel_divide(tg_operands *operands)
{
	tg_nulls_of(operands);
	return compute_checked(operands, divide_pair);
}

tg_status
tg_kernel_remainder(tg_operands *operands)
{
	tg_nulls_of(operands);
	return compute_checked(operands, remainder_pair);
}

tg_status
tg_kernel_negate(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	unsigned bits = tg_vector_measure(operands->a, operands->count);

	tg_nulls_of(operands);
	if (tg_unlikely(bits > BITS_MAX))
		for (unsigned i = 0; i < operands->count; i++)
			if (value_at(operands->a, i) == INT64_MIN && tg_row_counts(operands, i))
				return TG_UNFIT;
	TG_FOR_EACH(operands, int64_t, to[i] = (int64_t) (0 - (uint64_t) x));
	set_bits(operands, bits);
	return check_range(operands);
}

tg_status
tg_kernel_absolute(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	unsigned bits = tg_vector_measure(operands->a, operands->count);

	tg_nulls_of(operands);
	if (tg_unlikely(bits > BITS_MAX))
		for (unsigned i = 0; i < operands->count; i++)
			if (value_at(operands->a, i) == INT64_MIN && tg_row_counts(operands, i))
				return TG_UNFIT;
	TG_FOR_EACH(operands, int64_t, to[i] = (int64_t) (x < 0 ? 0 - (uint64_t) x : (uint64_t) x));
	set_bits(operands, bits);
	return check_range(operands);
}

/* Half away from zero, as numeric rounds. */
static inline int64_t
round_one(int64_t value, int64_t power)
{
	int64_t quotient = value / power;
	int64_t rest = value % power;

	return quotient + (2 * rest >= power) - (2 * rest <= -power);
}

tg_status
tg_kernel_round(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	int64_t power = operands->instruction->low;

	tg_assert(power > 1 && power <= (int64_t) 1000000000000000000);
	tg_nulls_of(operands);
	TG_FOR_EACH(operands, int64_t, to[i] = round_one(x, power));
	return TG_OK;
}

static inline int64_t
floor_divide(int64_t value, int64_t divisor)
{
	int64_t quotient = value / divisor;

	return quotient - (value % divisor < 0);
}

static inline int64_t
modulo(int64_t value, int64_t divisor)
{
	int64_t rest = value % divisor;

	return rest < 0 ? rest + divisor : rest;
}

tg_status
tg_kernel_floor_divide(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	int64_t divisor = operands->instruction->low;

	tg_assert(divisor > 0);
	tg_nulls_of(operands);
	TG_FOR_EACH(operands, int64_t, to[i] = floor_divide(x, divisor));
	return TG_OK;
}

tg_status
tg_kernel_modulo(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	int64_t divisor = operands->instruction->low;

	tg_assert(divisor > 0);
	tg_nulls_of(operands);
	TG_FOR_EACH(operands, int64_t, to[i] = modulo(x, divisor));
	set_bits(operands, tg_int_bits(divisor));
	return TG_OK;
}

tg_status
tg_kernel_range(tg_operands *operands)
{
	int64_t *to = operands->to->data;

	tg_nulls_of(operands);
	TG_FOR_EACH(operands, int64_t, to[i] = x);
	set_bits(operands, operands->a->bits);
	return check_range(operands);
}

/* --- dates ----------------------------------------------------------------------------- */

#define DAYS_TO_2000 730425 /* from 0000-03-01, in the Gregorian calendar */
#define DAYS_PER_ERA 146097 /* 400 years */

typedef struct civil_date
{
	int64_t year; /* 0 is 1 BC */
	unsigned month;
	unsigned day;
} civil_date;

/*
 * Days since 2000-01-01 to a date.  The year begins with March here, so that the day that is
 * sometimes missing is its last one.  After H. Hinnant, chrono-compatible low-level date
 * algorithms.
 */
static inline civil_date
civil_of(int64_t days)
{
	int64_t since = days + DAYS_TO_2000;
	int64_t era = (since >= 0 ? since : since - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
	uint32_t of_era = (uint32_t) (since - era * DAYS_PER_ERA);
	uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint32_t month = (5 * of_year + 2) / 153; /* 0: March */
	civil_date date = {.year = (int64_t) year + era * 400, .day = of_year - (153 * month + 2) / 5 + 1};

	date.month = month < 10 ? month + 3 : month - 9;
	date.year += date.month <= 2;
	return date;
}

static inline unsigned
days_of_month(int64_t year, unsigned month)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* The days since 2000-01-01 of the first day of a month: civil_of turned round. */
static inline int64_t
days_of_first(int64_t year, unsigned month)
{
	int64_t since = year - (month <= 2);
	int64_t era = floor_divide(since, 400);
	uint32_t of_era = (uint32_t) (since - era * 400);
	uint32_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5;

	return era * DAYS_PER_ERA + 365 * of_era + of_era / 4 - of_era / 100 + of_year - DAYS_TO_2000;
}

static inline int64_t
trunc_months(int64_t days, int64_t months)
{
	civil_date date = civil_of(days);

	return days_of_first(date.year, date.month - (date.month - 1) % (unsigned) months);
}

static inline int64_t
add_months(int64_t days, int64_t months)
{
	civil_date date = civil_of(days);
	int64_t month = date.year * 12 + date.month - 1 + months; /* since the year 0 */
	int64_t year = floor_divide(month, 12);
	unsigned of_year = (unsigned) modulo(month, 12) + 1;
	unsigned last = days_of_month(year, of_year);

	return days_of_first(year, of_year) + (date.day < last ? date.day : last) - 1;
}

/* Whether no date is infinite; then their parts, whose bound is known, can be computed. */
static tg_status
check_dates(tg_operands *operands, unsigned bits)
{
	uint64_t infinite = 0;

	tg_nulls_of(operands);
	set_bits(operands, bits);
	TG_FOR_EACH(operands, int64_t, infinite |= (uint64_t) (x == INT32_MIN) | (uint64_t) (x == INT32_MAX));
	if (tg_likely(infinite == 0))
		return TG_OK;
	for (unsigned i = 0; i < operands->count; i++)
	{
		int64_t days = value_at(operands->a, i);

		if ((days == INT32_MIN || days == INT32_MAX) && tg_row_counts(operands, i))
			return TG_UNFIT;
	}
	return TG_OK;
}

tg_status
tg_kernel_trunc_months(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	int64_t months = operands->instruction->low;

	tg_assert(months > 0 && 12 % months == 0);
	TG_FOR_EACH(operands, int64_t, to[i] = trunc_months((int32_t) x, months));
	return check_dates(operands, 33);
}

tg_status
tg_kernel_add_months(tg_operands *operands)
{
	int64_t *to = operands->to->data;
	int64_t months = operands->instruction->low;

	tg_assert(months >= INT32_MIN && months <= INT32_MAX);
	TG_FOR_EACH(operands, int64_t, to[i] = add_months((int32_t) x, months));
	return check_dates(operands, 38);
}

/* There is no year 0. */
static inline int64_t
year_of(int64_t days)
{
	int64_t year = civil_of(days).year;

	return year - (year <= 0);
}

tg_status
tg_kernel_year(tg_operands *operands)
{
	int64_t *to = operands->to->data;

	TG_FOR_EACH(operands, int64_t, to[i] = year_of(x));
	return check_dates(operands, 33);
}

tg_status
tg_kernel_month(tg_operands *operands)
{
	int64_t *to = operands->to->data;

	TG_FOR_EACH(operands, int64_t, to[i] = civil_of(x).month);
	return check_dates(operands, 4);
}

tg_status
tg_kernel_day(tg_operands *operands)
{
	int64_t *to = operands->to->data;

	TG_FOR_EACH(operands, int64_t, to[i] = civil_of(x).day);
	return check_dates(operands, 5);
}

/* --- comparisons ------------------------------------------------------------------------- */

static bool
fits(const tg_vector *constant, unsigned bytes)
{
	int64_t bound = (int64_t) 1 << (8 * bytes - 1);
	int64_t value = *(const int64_t *) constant->data;

	return constant->constant && value >= -bound && value < bound;
}

bool
tg_is_narrow_pair(const tg_vector *a, const tg_vector *b)
{
	if (a->bytes == sizeof(int64_t) && b->bytes == sizeof(int64_t))
		return false;
	return a->bytes == b->bytes || (a->bytes < b->bytes ? fits(b, a->bytes) : fits(a, b->bytes));
}

tg_op
tg_op_mirrored(tg_op op)
{
	switch (op)
	{
		case TG_OP_LT:
			return TG_OP_GT;
		case TG_OP_LE:
			return TG_OP_GE;
		case TG_OP_GT:
			return TG_OP_LT;
		case TG_OP_GE:
			return TG_OP_LE;
		default:
			return op;
	}
}

#define COMPARE_ALL(condition)                                                                                         \
	if (constant)                                                                                                      \
		for (unsigned i = 0; i < count; i++)                                                                           \
			to[i] = xs[i] condition y;                                                                                 \
	else                                                                                                               \
		for (unsigned i = 0; i < count; i++)                                                                           \
			to[i] = xs[i] condition ys[i];                                                                             \
	break

/* Values of fewer bytes with as many others, or with a constant of 8. */
#define DEFINE_COMPARE(type, name)                                                                                     \
	static void name(tg_op op, const tg_vector *a, const tg_vector *b, unsigned count, uint8_t *to)                    \
	{                                                                                                                  \
		const type *xs = a->data;                                                                                      \
		const type *ys = b->data;                                                                                      \
		bool constant = b->constant;                                                                                   \
		type y = constant ? (type) * (const int64_t *) b->data : 0;                                                    \
                                                                                                                       \
		switch (op)                                                                                                    \
		{                                                                                                              \
			case TG_OP_EQ:                                                                                             \
				COMPARE_ALL(==);                                                                                       \
			case TG_OP_NE:                                                                                             \
				COMPARE_ALL(!=);                                                                                       \
			case TG_OP_LT:                                                                                             \
				COMPARE_ALL(<);                                                                                        \
			case TG_OP_LE:                                                                                             \
				COMPARE_ALL(<=);                                                                                       \
			case TG_OP_GT:                                                                                             \
				COMPARE_ALL(>);                                                                                        \
			default:                                                                                                   \
				COMPARE_ALL(>=);                                                                                       \
		}                                                                                                              \
	}

DEFINE_COMPARE(int8_t, compare_1)
DEFINE_COMPARE(int16_t, compare_2)
DEFINE_COMPARE(int32_t, compare_4)

static void
compare_narrow(tg_operands *operands)
{
	bool swapped = operands->a->constant;
	tg_op op = operands->instruction->op;
	const tg_vector *a = swapped ? operands->b : operands->a;
	const tg_vector *b = swapped ? operands->a : operands->b;

	if (swapped)
		op = tg_op_mirrored(op);
	if (a->bytes == sizeof(int8_t))
		compare_1(op, a, b, operands->count, operands->to->data);
	else if (a->bytes == sizeof(int16_t))
		compare_2(op, a, b, operands->count, operands->to->data);
	else
		compare_4(op, a, b, operands->count, operands->to->data);
}

tg_status
tg_kernel_compare(tg_operands *operands)
{
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	if (operands->a->bytes != sizeof(int64_t) || operands->b->bytes != sizeof(int64_t))
	{
		compare_narrow(operands);
		return TG_OK;
	}
	switch (operands->instruction->op)
	{
		case TG_OP_EQ:
			TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x == y);
			break;
		case TG_OP_NE:
			TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x != y);
			break;
		case TG_OP_LT:
			TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x < y);
			break;
		case TG_OP_LE:
			TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x <= y);
			break;
		case TG_OP_GT:
			TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x > y);
			break;
		default:
			tg_assert(operands->instruction->op == TG_OP_GE);
			TG_FOR_EACH_PAIR(operands, int64_t, to[i] = x >= y);
			break;
	}
	return TG_OK;
}

#define SCANNED_MAX 8 /* elements of a set that are compared one by one */

static bool
has_int(const tg_set *set, int64_t value)
{
	unsigned low = 0;
	unsigned high = set->count;

	while (low < high)
	{
		unsigned middle = (low + high) / 2;

		if (set->ints[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->count && set->ints[low] == value;
}

tg_status
tg_kernel_in(tg_operands *operands)
{
	const tg_set *set = operands->instruction->more;
	uint8_t *to = operands->to->data;

	tg_nulls_of(operands);
	if (set->count <= SCANNED_MAX)
	{
		TG_FOR_EACH(operands, int64_t, to[i] = set->count > 0 && x == set->ints[0]);
		for (unsigned j = 1; j < set->count; j++)
		{
			const int64_t element = set->ints[j];

			TG_FOR_EACH(operands, int64_t, to[i] |= x == element);
		}
	}
	else
		TG_FOR_EACH(operands, int64_t, to[i] = has_int(set, x));
	tg_set_nulls(operands, set);
	return TG_OK;
}
