/*
 * decimal.c
 *	  Decimals (runtime/vector/decimal.h) against numbers of 200 digits, computed as by hand; then
 *	  the kernels, of vectors and constants, with NULLs and rows that do not count, against decimals
 *	  one by one.
 *
 * The digits of a quotient are PostgreSQL's select_div_scale, written here once more, on groups of
 * four digits as they are cut from the number's text.
 */
#include "runtime/vector/decimal.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/vector/program.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define DIGITS 200
#define PAIRS 5000

static uint64_t seed = 20261128;

/* --- numbers as by hand ----------------------------------------------------------------- */

typedef struct number
{
	bool negative;
	uint8_t digits[DIGITS]; /* the lowest first */
} number;

static int
length_of(const number *n)
{
	int length = DIGITS;

	while (length > 0 && n->digits[length - 1] == 0)
		length--;
	return length;
}

static int
compare_magnitudes(const number *a, const number *b)
{
	for (int i = DIGITS - 1; i >= 0; i--)
		if (a->digits[i] != b->digits[i])
			return a->digits[i] < b->digits[i] ? -1 : 1;
	return 0;
}

static number
number_of(__int128 value)
{
	number n = {.negative = value < 0};

	for (int i = 0; value != 0; i++, value /= 10)
		n.digits[i] = (uint8_t) (value < 0 ? -(value % 10) : value % 10);
	return n;
}

static number
shifted(const number *n, unsigned digits)
{
	number to = {.negative = n->negative};

	memcpy(to.digits + digits, n->digits, DIGITS - digits);
	return to;
}

static void
add_magnitude(number *to, const number *n)
{
	int carry = 0;

	for (int i = 0; i < DIGITS; i++)
	{
		int digit = to->digits[i] + n->digits[i] + carry;

		to->digits[i] = (uint8_t) (digit % 10);
		carry = digit / 10;
	}
}

/* to is not smaller. */
static void
subtract_magnitude(number *to, const number *n)
{
	int borrowed = 0;

	for (int i = 0; i < DIGITS; i++)
	{
		int digit = to->digits[i] - n->digits[i] - borrowed;

		borrowed = digit < 0;
		to->digits[i] = (uint8_t) (digit + 10 * borrowed);
	}
}

static number
sum_of(const number *a, const number *b)
{
	number to = *a;

	if (a->negative == b->negative)
	{
		add_magnitude(&to, b);
		return to;
	}
	if (compare_magnitudes(a, b) >= 0)
	{
		subtract_magnitude(&to, b);
		return to;
	}
	to = *b;
	subtract_magnitude(&to, a);
	return to;
}

static number
product_of(const number *a, const number *b)
{
	number to = {.negative = a->negative != b->negative};
	int length = length_of(b);

	for (int i = 0; i < length; i++)
	{
		number part = shifted(a, (unsigned) i);

		for (int j = 0; j < b->digits[i]; j++)
			add_magnitude(&to, &part);
	}
	return to;
}

/* Digit by digit, by subtraction; cut towards zero. */
static number
quotient_of(const number *a, const number *b, number *rest)
{
	number to = {.negative = a->negative != b->negative};
	int places = length_of(a) - length_of(b);

	*rest = *a;
	for (int i = places; i >= 0; i--)
	{
		number part = shifted(b, (unsigned) i);

		for (; compare_magnitudes(rest, &part) >= 0; to.digits[i]++)
			subtract_magnitude(rest, &part);
	}
	return to;
}

static bool
is_zero(const number *n)
{
	return length_of(n) == 0;
}

static int
order_of(const number *a, const number *b)
{
	number negated = *b;
	number difference;

	negated.negative = !b->negative;
	difference = sum_of(a, &negated);
	return is_zero(&difference) ? 0 : difference.negative ? -1 : 1;
}

/* Whether a result is right: a decimal if there is one, and then this one. */
static bool
is_right(bool done, const tg_decimal *got, const number *expected, unsigned scale)
{
	number bound = number_of((__int128) 1 << TG_DECIMAL_BITS);
	number value;

	if (compare_magnitudes(expected, &bound) >= 0 || scale > TG_DECIMAL_SCALE_MAX)
		return !done;
	if (!done || tg_decimal_scale(got) != scale)
		return false;
	value = number_of(tg_decimal_value(got));
	return order_of(&value, expected) == 0;
}

/* --- PostgreSQL's scale of a quotient ------------------------------------------------------ */

/* The first group of four digits that is not 0, and how many groups it is left of the point. */
static void
find_group(const number *n, unsigned scale, int *weight, int *group)
{
	number aligned = shifted(n, (4 - scale % 4) % 4);
	int behind = (int) ((scale + 3) / 4); /* groups behind the point */

	*weight = *group = 0;
	for (int i = DIGITS / 4 - 1; i >= 0; i--)
	{
		const uint8_t *digits = &aligned.digits[4 * i];

		*group = digits[3] * 1000 + digits[2] * 100 + digits[1] * 10 + digits[0];
		*weight = i - behind;
		if (*group != 0)
			return;
	}
	*weight = 0;
}

static unsigned
scale_of_quotient(const number *a, unsigned a_scale, const number *b, unsigned b_scale)
{
	int weights[2];
	int groups[2];
	int scale;

	find_group(a, a_scale, &weights[0], &groups[0]);
	find_group(b, b_scale, &weights[1], &groups[1]);
	scale = 16 - 4 * (weights[0] - weights[1] - (groups[0] <= groups[1] ? 1 : 0));
	scale = scale < (int) a_scale ? (int) a_scale : scale;
	return (unsigned) (scale < (int) b_scale ? (int) b_scale : scale);
}

/* --- pairs --------------------------------------------------------------------------------- */

static tg_decimal
random_decimal(void)
{
	static const int64_t edges[] = {0,	  1,	-1,	   5,	   -5,		  9999,		 10000,		 -10000,
									9999, 4999, 50000, 100000, INT64_MAX, INT64_MIN, 1000000000, 10001};
	unsigned digits = unit_below(&seed, 37);
	__int128 value = 0;
	tg_decimal decimal;

	if (unit_below(&seed, 4) == 0)
		value = edges[unit_below(&seed, sizeof(edges) / sizeof(edges[0]))];
	else if (unit_below(&seed, 40) == 0)
		value = ((__int128) 1 << TG_DECIMAL_BITS) - 1 - unit_below(&seed, 2);
	else
	{
		unsigned zeros = unit_below(&seed, 3) == 0 ? unit_below(&seed, digits + 1) : 0;

		for (unsigned i = 0; i < digits && value < ((__int128) 1 << 115); i++)
			value = value * 10 + (i < digits - zeros ? unit_below(&seed, 10) : 0);
	}
	if (unit_below(&seed, 3) == 0)
		value = -value;
	tg_check(
		tg_decimal_make(value, unit_below(&seed, 2) == 0 ? unit_below(&seed, 12) : unit_below(&seed, 64), &decimal));
	return decimal;
}

static unsigned failures[16];

static void
expect(unsigned what, bool right)
{
	failures[what] += !right;
}

static void
try_quotient(const tg_decimal *a, const tg_decimal *b, const number *x, const number *y)
{
	unsigned a_scale = tg_decimal_scale(a);
	unsigned b_scale = tg_decimal_scale(b);
	tg_decimal got;
	unsigned scale;
	number dividend;
	number quotient;
	number rest;
	number twice;

	if (is_zero(y))
	{
		expect(3, !tg_decimal_divide(a, b, &got));
		expect(4, !tg_decimal_remainder(a, b, &got));
		return;
	}
	scale = scale_of_quotient(x, a_scale, y, b_scale);
	dividend = shifted(x, scale + b_scale - a_scale);
	quotient = quotient_of(&dividend, y, &rest);
	twice = rest;
	add_magnitude(&twice, &rest);
	if (compare_magnitudes(&twice, y) >= 0)
		add_magnitude(&quotient, &(number){.digits = {1}});
	expect(3, is_right(tg_decimal_divide(a, b, &got), &got, &quotient, scale));
}

static void
try_pair(const tg_decimal *a, const tg_decimal *b)
{
	unsigned a_scale = tg_decimal_scale(a);
	unsigned b_scale = tg_decimal_scale(b);
	unsigned scale = a_scale > b_scale ? a_scale : b_scale;
	number x = number_of(tg_decimal_value(a));
	number y = number_of(tg_decimal_value(b));
	number x_there = shifted(&x, scale - a_scale);
	number y_there = shifted(&y, scale - b_scale);
	number result = sum_of(&x_there, &y_there);
	tg_decimal got;
	tg_decimal normal[2] = {tg_decimal_normal(a), tg_decimal_normal(b)};
	int order = order_of(&x_there, &y_there);

	expect(0, is_right(tg_decimal_add(a, b, &got), &got, &result, scale));
	y_there.negative = !y_there.negative;
	result = sum_of(&x_there, &y_there);
	expect(1, is_right(tg_decimal_subtract(a, b, &got), &got, &result, scale));
	result = product_of(&x, &y);
	expect(2, is_right(tg_decimal_multiply(a, b, &got), &got, &result, a_scale + b_scale));
	try_quotient(a, b, &x, &y);
	if (!is_zero(&y) && tg_decimal_remainder(a, b, &got))
	{
		(void) quotient_of(&x_there, &y_there, &result);
		result.negative = x.negative;
		expect(4, is_right(true, &got, &result, scale));
	}
	else
		expect(4, is_zero(&y) || length_of(&x_there) > 38 || length_of(&y_there) > 38);
	expect(5, tg_decimal_compare(a, b) == order);
	expect(6, tg_decimal_compare(a, &normal[0]) == 0);
	expect(6, (memcmp(&normal[0], &normal[1], sizeof(tg_decimal)) == 0) == (order == 0));
	expect(7, order < 0	  ? tg_decimal_head(a) <= tg_decimal_head(b)
			  : order > 0 ? tg_decimal_head(a) >= tg_decimal_head(b)
						  : tg_decimal_head(a) == tg_decimal_head(b));
}

/* --- one operand ----------------------------------------------------------------------------- */

static void
try_rounding(const tg_decimal *decimal)
{
	unsigned scale = unit_below(&seed, 2) == 0 ? unit_below(&seed, 5) : unit_below(&seed, 64);
	unsigned own = tg_decimal_scale(decimal);
	number x = number_of(tg_decimal_value(decimal));
	number least = number_of(INT64_MIN);
	number most = number_of(INT64_MAX);
	number one = {.digits = {1}};

	for (unsigned rounding = TG_ROUND_HALF; rounding <= TG_ROUND_UP; rounding++)
	{
		number result = shifted(&x, scale > own ? scale - own : 0);
		number rest = {0};
		number power = shifted(&one, own > scale ? own - scale : 0);
		bool away;
		int64_t got;
		bool done = tg_decimal_to_int(decimal, scale, (tg_rounding) rounding, &got);

		result = quotient_of(&result, &power, &rest);
		result.negative = x.negative;
		away = rounding == TG_ROUND_DOWN ? x.negative : rounding == TG_ROUND_UP && !x.negative;
		away = away && !is_zero(&rest);
		if (rounding == TG_ROUND_HALF)
		{
			number twice = rest;

			add_magnitude(&twice, &rest);
			away = compare_magnitudes(&twice, &power) >= 0;
		}
		if (away)
			add_magnitude(&result, &one);
		if (order_of(&result, &least) < 0 || order_of(&result, &most) > 0)
			expect(8, !done);
		else
		{
			number value = number_of(got);

			expect(8, done && order_of(&value, &result) == 0);
		}
	}
}

/* As text with a point. */
static void
try_double(const tg_decimal *decimal)
{
	number x = number_of(tg_decimal_value(decimal));
	char text[DIGITS];
	char *to = text;

	if (x.negative)
		*to++ = '-';
	for (int i = TG_DECIMAL_SCALE_MAX + 40; i >= 0; i--)
	{
		*to++ = (char) ('0' + x.digits[i]);
		if (i == (int) tg_decimal_scale(decimal))
			*to++ = '.';
	}
	*to = 0;
	expect(9, tg_decimal_to_double(decimal) == strtod(text, NULL));
}

/* As PostgreSQL stores it, without trailing groups of 0. */
static void
try_host(const tg_decimal *decimal)
{
	number x = number_of(tg_decimal_value(decimal));
	unsigned scale = tg_decimal_scale(decimal);
	number aligned = shifted(&x, (4 - scale % 4) % 4);
	int behind = (int) ((scale + 3) / 4);
	int first = (length_of(&aligned) + 3) / 4 - 1;
	int weight = first < 0 ? 0 : first - behind;
	bool is_long = unit_below(&seed, 2) == 0;
	uint16_t words[DIGITS / 4];
	unsigned count = 0;
	tg_decimal got;

	words[count++] = (uint16_t) (is_long ? (x.negative ? 0x4000 : 0) | scale
										 : 0x8000 | (x.negative ? 0x2000 : 0) | scale << 7 | (weight & 0x7f));
	if (is_long)
		words[count++] = (uint16_t) weight;
	for (int i = first; i >= 0; i--)
		words[count++] = (uint16_t) (aligned.digits[4 * i + 3] * 1000 + aligned.digits[4 * i + 2] * 100 +
									 aligned.digits[4 * i + 1] * 10 + aligned.digits[4 * i]);
	while (count > 1u + is_long && words[count - 1] == 0)
		count--;
	expect(10, is_right(tg_decimal_of_host((const char *) words, count * 2, &got), &got, &x, scale));
	if (!is_long)
	{
		char host[TG_DECIMAL_HOST_BYTES];

		expect(10, tg_decimal_to_host(tg_decimal_value(decimal), tg_decimal_scale(decimal), host) == count * 2 &&
					   memcmp(host, words, count * 2) == 0);
	}
}

static void
check_numbers(void)
{
	static const char *const names[] = {"sums",		  "differences",	 "products",	   "quotients",
										"remainders", "comparisons",	 "normal forms",   "heads",
										"roundings",  "nearest float8s", "the host's form"};

	for (unsigned i = 0; i < PAIRS; i++)
	{
		tg_decimal a = random_decimal();
		tg_decimal b = unit_below(&seed, 8) == 0 ? a : random_decimal();

		try_pair(&a, &b);
		try_rounding(&a);
		try_double(&a);
		try_host(&a);
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unit_equal(failures[i], 0, "%s", names[i]);
}

/* --- sums ------------------------------------------------------------------------------------ */

static void
check_sums(void)
{
	bool right = true;
	tg_decimal_sum sum = {0};
	tg_decimal_sum before;

	for (unsigned i = 0; i < 2000; i++)
	{
		number expected = {0};
		unsigned scale = 0;

		sum = (tg_decimal_sum){0};
		for (unsigned j = 0; j < 20; j++)
		{
			tg_decimal next =
				tg_decimal_of((int64_t) unit_random(&seed) / (1 + unit_below(&seed, 1000)), unit_below(&seed, 15));
			number value = number_of(tg_decimal_value(&next));
			unsigned common = scale > tg_decimal_scale(&next) ? scale : tg_decimal_scale(&next);

			expected = shifted(&expected, common - scale);
			value = shifted(&value, common - tg_decimal_scale(&next));
			expected = sum_of(&expected, &value);
			scale = common;
			right = right && tg_decimal_sum_add(&sum, tg_decimal_value(&next), tg_decimal_scale(&next), 1);
		}
		right = right && sum.count == 20 && sum.scale == scale;
		expected.negative = !expected.negative;
		{
			number value = number_of(tg_decimal_sum_value(&sum));
			number difference = sum_of(&value, &expected);

			right = right && is_zero(&difference);
		}
	}
	unit_ok(right, "sums have the largest scale");
	before = sum;
	unit_ok(!tg_decimal_sum_add(&sum, 1, TG_DECIMAL_SCALE_MAX, 1) && memcmp(&before, &sum, sizeof(sum)) == 0,
			"one that has no room stays");
}

/* --- kernels ------------------------------------------------------------------------------ */

#define ROUNDS 300

static const struct kernel
{
	const char *name;
	tg_op op;
	bool two;
	uint8_t to;
	bool may_fail;
} kernels[] = {
	{"ADD", TG_OP_DECIMAL_ADD, true, TG_V_DECIMAL, true},
	{"SUBTRACT", TG_OP_DECIMAL_SUBTRACT, true, TG_V_DECIMAL, true},
	{"MULTIPLY", TG_OP_DECIMAL_MULTIPLY, true, TG_V_DECIMAL, true},
	{"DIVIDE", TG_OP_DECIMAL_DIVIDE, true, TG_V_DECIMAL, true},
	{"REMAINDER", TG_OP_DECIMAL_REMAINDER, true, TG_V_DECIMAL, true},
	{"NEGATE", TG_OP_DECIMAL_NEGATE, false, TG_V_DECIMAL, false},
	{"ABSOLUTE", TG_OP_DECIMAL_ABSOLUTE, false, TG_V_DECIMAL, false},
	{"TO_INT", TG_OP_DECIMAL_TO_INT, false, TG_V_INT, true},
	{"TO_FLOAT", TG_OP_DECIMAL_TO_FLOAT, false, TG_V_FLOAT, false},
	{"EQ", TG_OP_DECIMAL_EQ, true, TG_V_BOOL, false},
	{"NE", TG_OP_DECIMAL_NE, true, TG_V_BOOL, false},
	{"LT", TG_OP_DECIMAL_LT, true, TG_V_BOOL, false},
	{"LE", TG_OP_DECIMAL_LE, true, TG_V_BOOL, false},
	{"GT", TG_OP_DECIMAL_GT, true, TG_V_BOOL, false},
	{"GE", TG_OP_DECIMAL_GE, true, TG_V_BOOL, false},
	{"TO_DECIMAL", TG_OP_TO_DECIMAL, false, TG_V_DECIMAL, false},
	{"CHOOSE", TG_OP_CHOOSE, true, TG_V_DECIMAL, false},
};

/* A value of each kind that a result may have. */
typedef union result
{
	tg_decimal decimal;
	int64_t integer;
	double real;
	bool truth;
} result;

/* False: cannot be computed. */
static bool
compute(const struct kernel *kernel, const tg_decimal *a, const tg_decimal *b, result *to)
{
	int order;
	__int128 value = tg_decimal_value(a);

	switch (kernel->op)
	{
		case TG_OP_DECIMAL_ADD:
			return tg_decimal_add(a, b, &to->decimal);
		case TG_OP_DECIMAL_SUBTRACT:
			return tg_decimal_subtract(a, b, &to->decimal);
		case TG_OP_DECIMAL_MULTIPLY:
			return tg_decimal_multiply(a, b, &to->decimal);
		case TG_OP_DECIMAL_DIVIDE:
			return tg_decimal_divide(a, b, &to->decimal);
		case TG_OP_DECIMAL_REMAINDER:
			return tg_decimal_remainder(a, b, &to->decimal);
		case TG_OP_DECIMAL_NEGATE:
			to->decimal = tg_decimal_of(-value, tg_decimal_scale(a));
			return true;
		case TG_OP_DECIMAL_ABSOLUTE:
			to->decimal = tg_decimal_of(value < 0 ? -value : value, tg_decimal_scale(a));
			return true;
		case TG_OP_DECIMAL_TO_INT:
			return tg_decimal_to_int(a, 3, TG_ROUND_DOWN, &to->integer);
		case TG_OP_DECIMAL_TO_FLOAT:
			to->real = tg_decimal_to_double(a);
			return true;
		default:
			order = tg_decimal_compare(a, b);
			to->truth = (const bool[]){order == 0, order != 0, order<0, order <= 0, order> 0,
									   order >= 0}[kernel->op - TG_OP_DECIMAL_EQ];
			return true;
	}
}

static bool
is_same(tg_vector_type type, const void *data, unsigned row, const result *expected)
{
	switch (type)
	{
		case TG_V_DECIMAL:
			return memcmp((const tg_decimal *) data + row, &expected->decimal, sizeof(tg_decimal)) == 0;
		case TG_V_INT:
			return ((const int64_t *) data)[row] == expected->integer;
		case TG_V_FLOAT:
			return ((const double *) data)[row] == expected->real;
		default:
			return ((const uint8_t *) data)[row] == expected->truth;
	}
}

/* Inputs: a, b, and a BOOL: `only`, what chooses, or what is scaled. */
static bool
run_kernel(const struct kernel *kernel, unsigned count, unsigned *unfit)
{
	bool from_int = kernel->op == TG_OP_TO_DECIMAL;
	bool chooses = kernel->op == TG_OP_CHOOSE;
	bool guarded = kernel->may_fail && unit_below(&seed, 2) == 0;
	uint8_t types[] = {from_int ? TG_V_INT : TG_V_DECIMAL, TG_V_DECIMAL, TG_V_BOOL, kernel->to};
	tg_instruction instruction = {.op = (uint8_t) kernel->op,
								  .to = 3,
								  .a = 0,
								  .b = kernel->two ? 1
									   : from_int  ? 2
												   : TG_REGISTER_NONE,
								  .c = chooses ? 2 : TG_REGISTER_NONE,
								  .only = guarded ? 2 : TG_REGISTER_NONE,
								  .low = 3,
								  .high = TG_ROUND_DOWN};
	tg_program program = {
		.input_count = 3, .register_count = 4, .instruction_count = 1, .types = types, .instructions = &instruction};
	size_t bytes = tg_registers_bytes(&program);
	void *memory = aligned_alloc(TG_CACHE_LINE, bytes);
	tg_registers registers;
	bool is_unfit = false;
	bool right = true;
	tg_status status;

	memset(memory, 0xa5, bytes);
	tg_registers_init(&registers, &program, memory);
	for (unsigned input = 0; input < 3; input++)
		for (unsigned row = 0; row < count; row++)
		{
			tg_vector *vector = &registers.vectors[input];

			vector->nulls[row] = unit_below(&seed, 5) == 0;
			if (types[input] == TG_V_BOOL)
				((uint8_t *) vector->data)[row] = (uint8_t) unit_below(&seed, 2);
			else if (types[input] == TG_V_INT)
				((int64_t *) vector->data)[row] = (int64_t) unit_random(&seed);
			else if (vector->nulls[row] != 0)
				((tg_decimal *) vector->data)[row] = (tg_decimal){unit_random(&seed), (int64_t) unit_random(&seed)};
			else if (unit_below(&seed, 400) == 0)
				((tg_decimal *) vector->data)[row] = tg_decimal_of((__int128) 1 << 100, 2);
			else
				((tg_decimal *) vector->data)[row] =
					tg_decimal_of((__int128) unit_below(&seed, 1000000) - 3000,
								  unit_below(&seed, 6) == 0 ? 60 : unit_below(&seed, 5));
			vector->constant = count == 7 && input < 2;
		}
	status = tg_program_run(&program, &registers, count);
	for (unsigned row = 0; row < count; row++)
	{
		const tg_vector *vectors = registers.vectors;
		unsigned at = vectors[0].constant ? 0 : row;
		bool truth = ((const uint8_t *) vectors[2].data)[row] != 0 && vectors[2].nulls[row] == 0;
		bool null = vectors[0].nulls[at] != 0 || (kernel->two && vectors[1].nulls[at] != 0);
		const tg_decimal *a = (const tg_decimal *) vectors[0].data + at;
		const tg_decimal *b = (const tg_decimal *) vectors[1].data + at;
		bool done = true;
		result expected;

		if (chooses)
		{
			null = vectors[truth ? 0 : 1].nulls[at] != 0;
			expected.decimal = truth ? *a : *b;
		}
		else if (from_int)
			expected.decimal = truth ? tg_decimal_of(((const int64_t *) vectors[0].data)[at], 3) : tg_decimal_of(0, 0);
		else if (!null)
			done = compute(kernel, a, b, &expected);
		is_unfit = is_unfit || (!done && (!guarded || truth));
		if (status != TG_OK)
			continue;
		right = right && null == (vectors[3].nulls != NULL && vectors[3].nulls[row] != 0);
		right = right && (null || !done || is_same((tg_vector_type) kernel->to, vectors[3].data, row, &expected));
	}
	free(memory);
	*unfit += is_unfit;
	return right && status == (is_unfit ? TG_UNFIT : TG_OK) && (!is_unfit || tg_program_may_fail(&program));
}

static void
check_kernels(void)
{
	static const unsigned counts[] = {0, 1, 7, 40};

	for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
	{
		bool right = true;
		unsigned unfit = 0;

		for (unsigned round = 0; round < ROUNDS; round++)
			right = run_kernel(&kernels[i], counts[round % 4], &unfit) && right;
		unit_ok(right, "%s of vectors", kernels[i].name);
		unit_ok((unfit > 0) == kernels[i].may_fail, "%s: %u of %u unfit", kernels[i].name, unfit, ROUNDS);
	}
}

int
main(void)
{
	printf("# seed %" PRIu64 "\n", seed);
	check_numbers();
	check_sums();
	check_kernels();
	return unit_done();
}
