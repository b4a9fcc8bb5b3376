/*
 * vector_oracle.h
 *	  For the test of programs over vectors: what each register must have in each row, computed one
 *	  row at a time, with 128 bits, naive calendars and naive matchers.
 *
 * A row that `only` excludes may have any value; `any` of its cell says so, and is inherited.
 */
#ifndef TG_UNIT_VECTOR_ORACLE_H
#define TG_UNIT_VECTOR_ORACLE_H

#include <math.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/order/value.h"
#include "runtime/vector/program.h"
#include "runtime/vector/text.h"

#define REGISTERS 40
#define POOL_BYTES ((size_t) 4 << 20)

/* --- cells ---------------------------------------------------------------------------- */

typedef struct cell
{
	bool null;
	bool any;  /* the value does not matter */
	int64_t i; /* BOOL, INT */
	double f;
	const char *text;
	uint32_t bytes;
} cell;

static struct trial
{
	tg_program program;
	uint8_t types[REGISTERS];
	tg_vector constants[REGISTERS];
	tg_instruction instructions[REGISTERS];
	cell cells[REGISTERS][TG_VECTOR_ROWS];
	bool unfit;
	bool utf8; /* the encoding of all texts; else each byte is a character */
	unsigned count;
	char pool[POOL_BYTES]; /* of texts, constants and sets */
	size_t pool_used;
} trial;

static void *
take(size_t bytes)
{
	void *memory = trial.pool + trial.pool_used;

	trial.pool_used += (bytes + 15) & ~(size_t) 15;
	tg_check(trial.pool_used <= POOL_BYTES);
	return memory;
}

/* --- the oracle ------------------------------------------------------------------------- */

static bool
is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Counts years, then months, from 2000-01-01 on; 400 years have always the same number of days. */
static void
find_date(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	*year = 2000;
	for (; days < 0; days += 146097)
		*year -= 400;
	*year += days / 146097 * 400;
	days %= 146097;
	for (; days >= 365 + is_leap(*year); (*year)++)
		days -= 365 + is_leap(*year);
	for (*month = 0; days >= lengths[*month] + (*month == 1 && is_leap(*year)); (*month)++)
		days -= lengths[*month] + (*month == 1 && is_leap(*year));
	(*month)++;
	*day = days + 1;
	if (*year <= 0)
		(*year)--;
}

static int64_t
length_of(int64_t year, int64_t month)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	if (year < 0)
		year++;
	return lengths[month - 1] + (month == 2 && is_leap(year));
}

/* From month to month. */
static int64_t
move_months(unsigned op, int64_t days, int64_t months)
{
	int64_t year;
	int64_t month;
	int64_t day;
	int64_t last;

	find_date(days, &year, &month, &day);
	days -= day - 1;
	if (op == TG_OP_TRUNC_MONTHS)
	{
		while ((month - 1) % months != 0)
			days -= length_of(year, --month);
		return days;
	}
	for (; months > 0; months--)
	{
		days += length_of(year, month);
		if (++month > 12)
		{
			month = 1;
			year += year == -1 ? 2 : 1;
		}
	}
	for (; months < 0; months++)
	{
		if (--month < 1)
		{
			month = 12;
			year -= year == 1 ? 2 : 1;
		}
		days -= length_of(year, month);
	}
	last = length_of(year, month);
	return days + (day < last ? day : last) - 1;
}

/* False: cannot be computed. */
static bool
compute_int(const tg_instruction *instruction, int64_t a, int64_t b, int64_t *result)
{
	int64_t low = instruction->low;
	int64_t high = instruction->high;
	__int128 x = a;
	__int128 y = b;
	__int128 z = 0;
	int64_t parts[3];

	switch (instruction->op)
	{
		case TG_OP_ADD:
			z = x + y;
			break;
		case TG_OP_SUBTRACT:
			z = x - y;
			break;
		case TG_OP_MULTIPLY:
			z = x * y;
			break;
		case TG_OP_DIVIDE:
		case TG_OP_REMAINDER:
			if (b == 0)
				return false;
			z = instruction->op == TG_OP_DIVIDE ? x / y : x % y;
			break;
		case TG_OP_NEGATE:
			z = -x;
			break;
		case TG_OP_ABSOLUTE:
			z = x < 0 ? -x : x;
			break;
		case TG_OP_RANGE:
			z = x;
			break;
		case TG_OP_ROUND:
			z = ((x < 0 ? -x : x) * 2 + low) / (2 * (__int128) low);
			*result = (int64_t) (x < 0 ? -z : z);
			return true;
		case TG_OP_FLOOR_DIVIDE:
		case TG_OP_MODULO:
			for (z = x % low; z < 0;)
				z += low;
			*result = (int64_t) (instruction->op == TG_OP_MODULO ? z : (x - z) / low);
			return true;
		default:
			if (a == INT32_MIN || a == INT32_MAX)
				return false;
			if (instruction->op <= TG_OP_ADD_MONTHS)
			{
				*result = move_months(instruction->op, a, low);
				return true;
			}
			find_date(a, &parts[0], &parts[1], &parts[2]);
			*result = parts[instruction->op - TG_OP_YEAR];
			return true;
	}
	*result = (int64_t) z;
	return z >= low && z <= high;
}

/* PostgreSQL's float.h; false: an error. */
static bool
compute_float(unsigned op, double x, double y, double *result)
{
	switch (op)
	{
		case TG_OP_FLOAT_ADD:
		case TG_OP_FLOAT_SUBTRACT:
			*result = op == TG_OP_FLOAT_ADD ? x + y : x - y;
			return !(isinf(*result) && !isinf(x) && !isinf(y));
		case TG_OP_FLOAT_MULTIPLY:
			*result = x * y;
			if (isinf(*result) && !isinf(x) && !isinf(y))
				return false;
			return !(*result == 0.0 && x != 0.0 && y != 0.0);
		case TG_OP_FLOAT_DIVIDE:
			if (y == 0.0 && !isnan(x))
				return false;
			*result = x / y;
			if (isinf(*result) && !isinf(x))
				return false;
			return !(*result == 0.0 && x != 0.0 && !isinf(y));
		case TG_OP_FLOAT_ABSOLUTE:
			*result = fabs(x);
			return true;
		case TG_OP_FLOAT_SQRT:
			*result = sqrt(x);
			return !(x < 0);
		default:
			*result = -x;
			return true;
	}
}

static int
order_floats(double x, double y)
{
	if (isnan(x))
		return isnan(y) ? 0 : 1;
	if (isnan(y))
		return -1;
	return x < y ? -1 : x > y ? 1 : 0;
}

static int
order_texts(const cell *a, const cell *b)
{
	for (uint32_t i = 0; i < a->bytes && i < b->bytes; i++)
		if (a->text[i] != b->text[i])
			return (unsigned char) a->text[i] < (unsigned char) b->text[i] ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes ? 1 : 0;
}

/* By the place in EQ, NE, LT, LE, GT, GE. */
static bool
holds(unsigned comparison, int order)
{
	const bool answers[] = {order == 0, order != 0, order<0, order <= 0, order> 0, order >= 0};

	return answers[comparison];
}

/* The pattern as it was written, of letters, «%» and «_». */
static bool
is_like(const char *pattern, const char *text, uint32_t bytes)
{
	if (*pattern == 0)
		return bytes == 0;
	if (*pattern == '%')
		return is_like(pattern + 1, text, bytes) || (bytes > 0 && is_like(pattern, text + 1, bytes - 1));
	if (*pattern == '_' && bytes > 0)
	{
		for (text++, bytes--; trial.utf8 && bytes > 0 && ((unsigned char) *text & 0xc0) == 0x80; text++)
			bytes--;
		return is_like(pattern + 1, text, bytes);
	}
	return bytes > 0 && *pattern == *text && is_like(pattern + 1, text + 1, bytes - 1);
}

static const char *pattern_text; /* of the trial's LIKE */

static bool
cut_text(const tg_instruction *instruction, const cell *a, cell *to)
{
	int64_t character = 0;

	to->text = a->text;
	to->bytes = 0;
	for (uint32_t i = 0; i < a->bytes; i++)
	{
		if (instruction->more == NULL || ((unsigned char) a->text[i] & 0xc0) != 0x80)
			character++;
		if (character < instruction->low)
			to->text = a->text + i + 1;
		else if (character < instruction->low + instruction->high)
			to->bytes++;
	}
	return to->bytes <= TG_STRING_INLINE_MAX;
}

static void
measure_text(const tg_instruction *instruction, const cell *a, cell *to)
{
	uint32_t bytes = a->bytes;

	while (instruction->low != 0 && bytes > 0 && a->text[bytes - 1] == ' ')
		bytes--;
	to->i = 0;
	for (uint32_t i = 0; i < bytes; i++)
		to->i += instruction->more == NULL || ((unsigned char) a->text[i] & 0xc0) != 0x80;
}

static void
find_in(const tg_instruction *instruction, const cell *a, cell *to)
{
	const tg_set *set = instruction->more;

	to->i = 0;
	for (unsigned j = 0; j < set->count; j++)
		if (instruction->op == TG_OP_IN)
			to->i |= set->ints[j] == a->i;
		else
		{
			cell element = {0};

			element.text = tg_string_bytes(&set->texts[j], &element.bytes);
			to->i |= order_texts(&element, a) == 0;
		}
	to->null = to->i == 0 && set->has_null;
}

/* AND, OR, NOT, IS_NULL, IS_TRUE; 2 stands for NULL. */
static void
compute_logic(unsigned op, const cell *a, const cell *b, cell *to)
{
	static const uint8_t and[3][3] = {{0, 0, 0}, {0, 1, 2}, {0, 2, 2}};
	static const uint8_t or [3][3] = {{0, 1, 2}, {1, 1, 1}, {2, 1, 2}};
	static const uint8_t not [] = {1, 0, 2};
	unsigned x = a->null ? 2 : (unsigned) a->i;
	unsigned y = b == NULL || b->null ? 2 : (unsigned) b->i;
	unsigned z;

	switch (op)
	{
		case TG_OP_AND:
			z = and[x][y];
			break;
		case TG_OP_OR:
			z = or [x][y];
			break;
		case TG_OP_NOT:
			z = not [x];
			break;
		case TG_OP_IS_NULL:
			z = a->null;
			break;
		default:
			z = x == 1;
			break;
	}
	to->null = z == 2;
	to->i = z == 1;
}

/* What takes no NULL; false: cannot be computed. */
static bool
compute_strict(const tg_instruction *instruction, const cell *a, const cell *b, cell *to)
{
	unsigned op = instruction->op;

	if (op <= TG_OP_DAY)
		return compute_int(instruction, a->i, b == NULL ? 0 : b->i, &to->i);
	if (op <= TG_OP_GE)
		to->i = holds(op - TG_OP_EQ, a->i < b->i ? -1 : a->i > b->i ? 1 : 0);
	else if (op <= TG_OP_FLOAT_SQRT)
		return compute_float(op, a->f, b == NULL ? 0 : b->f, &to->f);
	else if (op == TG_OP_TO_FLOAT)
	{
		to->f = (double) a->i / (double) instruction->low;
		return instruction->low == 1 || (a->i <= (int64_t) 1 << 53 && a->i >= -((int64_t) 1 << 53));
	}
	else if (op <= TG_OP_FLOAT_GE)
		to->i = holds(op - TG_OP_FLOAT_EQ, order_floats(a->f, b->f));
	else if (op <= TG_OP_TEXT_GE)
		to->i = holds(op - TG_OP_TEXT_EQ, order_texts(a, b));
	else if (op == TG_OP_LIKE)
		to->i = is_like(pattern_text, a->text, a->bytes);
	else if (op == TG_OP_SUBSTRING)
		return cut_text(instruction, a, to);
	else if (op == TG_OP_LENGTH)
		measure_text(instruction, a, to);
	else
		find_in(instruction, a, to);
	return true;
}

static void
compute_row(const tg_instruction *instruction, unsigned row)
{
	const cell *a = &trial.cells[instruction->a][row];
	const cell *b = instruction->b == TG_REGISTER_NONE ? NULL : &trial.cells[instruction->b][row];
	const cell *c = instruction->c == TG_REGISTER_NONE ? NULL : &trial.cells[instruction->c][row];
	const cell *only = instruction->only == TG_REGISTER_NONE ? NULL : &trial.cells[instruction->only][row];
	cell *to = &trial.cells[instruction->to][row];

	*to = (cell){0};
	if (instruction->op == TG_OP_CHOOSE)
	{
		*to = !c->null && c->i != 0 ? *a : *b;
		return;
	}
	if (a->any || (b != NULL && b->any))
	{
		to->any = true;
		return;
	}
	if (instruction->op >= TG_OP_AND)
	{
		compute_logic(instruction->op, a, b, to);
		return;
	}
	to->null = a->null || (b != NULL && b->null);
	if (to->null || compute_strict(instruction, a, b, to))
		return;
	if (only == NULL || (!only->null && only->i != 0))
		trial.unfit = true;
	to->any = true;
}

#endif /* TG_UNIT_VECTOR_ORACLE_H */
