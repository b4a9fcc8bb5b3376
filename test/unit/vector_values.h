/*
 * vector_values.h
 *	  Random values of the types of vectors, as the oracle has them and as vectors do.
 */
#ifndef TG_UNIT_VECTOR_VALUES_H
#define TG_UNIT_VECTOR_VALUES_H

#include <math.h>
#include <string.h>

#include "test/unit/random.h"
#include "test/unit/vector_oracle.h"

static uint64_t seed = 20261124;

static const int64_t int_edges[] = {0,
									1,
									-1,
									2,
									-2,
									7,
									-7,
									100,
									INT32_MAX,
									INT32_MIN,
									(int64_t) 1 << 32,
									3037000499, /* its square is the last one that fits */
									3037000500,
									-3037000500,
									(int64_t) 1 << 53,
									((int64_t) 1 << 53) + 1,
									-((int64_t) 1 << 53) - 1,
									1000000000000000000,
									-1000000000000000000,
									((int64_t) 1 << 62) - 1,
									(int64_t) 1 << 62,
									-((int64_t) 1 << 62),
									-((int64_t) 1 << 62) - 1,
									INT64_MAX,
									INT64_MAX - 1,
									INT64_MIN,
									INT64_MIN + 1};
static const double float_edges[] = {0.0,	 -0.0,	1.0,	-1.0, 1e308,	-1e308,	   1e-308, -1e-308,
									 5e-324, 1e200, 1e-200, 1.5,  INFINITY, -INFINITY, NAN,	   0.1};
static const int64_t date_edges[] = {-2451545, 2145031948, INT32_MIN, INT32_MAX, 0, -1, 59, 60, 366, -730425, -730426};

#define COUNT_OF(array) ((unsigned) (sizeof(array) / sizeof((array)[0])))

/* How the values of a vector are distributed. */
typedef struct style
{
	unsigned bits;	   /* random numbers are below 2^bits, of both signs */
	unsigned edge_one; /* one of so many is an edge; 0: none */
	bool dates;
} style;

static int64_t
random_int(const style *style)
{
	int64_t value = (int64_t) (unit_random(&seed) >> (64 - style->bits));

	if (style->dates)
		return style->edge_one != 0 && unit_below(&seed, style->edge_one) == 0
				   ? date_edges[unit_below(&seed, COUNT_OF(date_edges))]
				   : (int64_t) (unit_random(&seed) % 2147483000) - 2451545;
	if (style->edge_one != 0 && unit_below(&seed, style->edge_one) == 0)
		return int_edges[unit_below(&seed, COUNT_OF(int_edges))];
	return unit_below(&seed, 2) == 0 ? value : -value;
}

static double
random_float(const style *style)
{
	if (style->edge_one != 0 && unit_below(&seed, style->edge_one) == 0)
		return float_edges[unit_below(&seed, COUNT_OF(float_edges))];
	return ((double) unit_below(&seed, 2000) - 1000) / 8;
}

static void
random_text(cell *to)
{
	static const char *const characters[] = {"a", "b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x01", " "};
	unsigned kinds = unit_below(&seed, 4) == 0 ? 7 : 2;
	unsigned count = unit_below(&seed, unit_below(&seed, 2) == 0 ? 5 : 18);
	char *text = take(4 * count + 1);

	to->text = text;
	to->bytes = 0;
	for (unsigned i = 0; i < count; i++)
	{
		const char *character = characters[unit_below(&seed, kinds)];

		memcpy(text + to->bytes, character, strlen(character));
		to->bytes += (uint32_t) strlen(character);
	}
}

static void
random_cell(tg_vector_type type, const style *style, unsigned null_one, cell *to)
{
	*to = (cell){.null = null_one != 0 && unit_below(&seed, null_one) == 0};
	switch (type)
	{
		case TG_V_BOOL:
			to->i = unit_below(&seed, 2);
			break;
		case TG_V_INT:
			to->i = random_int(style);
			break;
		case TG_V_FLOAT:
			to->f = random_float(style);
			break;
		case TG_V_TEXT:
			random_text(to);
			break;
		case TG_V_DECIMAL: /* in decimal.c */
			break;
	}
}

/* A string as it is stored; of a NULL one the blob cannot be read. */
static tg_string
string_of(const cell *from)
{
	tg_string string;
	char *blob;

	if (from->null)
	{
		string = (tg_string){.word = TG_STRING_OUT | 100};
		string.blob = (const void *) 8;
		return string;
	}
	if (from->bytes <= TG_STRING_INLINE_MAX)
	{
		tg_string_make_inline(&string, from->text, from->bytes);
		return string;
	}
	blob = take(from->bytes + TG_STRING_HEADER_BYTES);
	memset(blob, 0x5a, TG_STRING_HEADER_BYTES);
	memcpy(blob + TG_STRING_HEADER_BYTES, from->text, from->bytes);
	tg_string_make_host(&string, blob, from->bytes + TG_STRING_HEADER_BYTES, TG_STRING_HEADER_BYTES);
	return string;
}

static void
put_value(tg_vector_type type, const cell *from, void *data, unsigned row)
{
	switch (type)
	{
		case TG_V_BOOL:
			((uint8_t *) data)[row] = (uint8_t) from->i;
			break;
		case TG_V_INT:
			((int64_t *) data)[row] = from->i;
			break;
		case TG_V_FLOAT:
			((double *) data)[row] = from->f;
			break;
		case TG_V_TEXT:
			((tg_string *) data)[row] = string_of(from);
			break;
		case TG_V_DECIMAL: /* in decimal.c */
			break;
	}
}

#endif /* TG_UNIT_VECTOR_VALUES_H */
