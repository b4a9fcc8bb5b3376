/*
 * order.c
 *	  The order of rows that are sorted: their heads, comparing them, sorting entries.
 *
 * Entries are sorted by their heads first, digit by digit from the lowest one, without the digits
 * that all have in common; then each stretch of equal heads by all keys, by merging.
 */
#include "runtime/query/order.h"

#include <math.h>
#include <string.h>

#include "runtime/order/key.h"
#include "runtime/vector/decimal.h"
#include "runtime/vector/text.h"

#define INSERTED_MAX 24 /* so many entries are sorted by insertion */

/* --- comparisons ---------------------------------------------------------------------------- */

/* The string's bytes without the blanks at its end. */
static const char *
trimmed_bytes(const tg_string *string, uint32_t *bytes_out)
{
	const char *data = tg_string_bytes(string, bytes_out);

	while (*bytes_out > 0 && data[*bytes_out - 1] == ' ')
		--*bytes_out;
	return data;
}

static int
compare_trimmed(const tg_string *a, const tg_string *b)
{
	uint32_t a_bytes;
	uint32_t b_bytes;
	const char *a_data = trimmed_bytes(a, &a_bytes);
	const char *b_data = trimmed_bytes(b, &b_bytes);

	return tg_key_compare(a_data, a_bytes, b_data, b_bytes);
}

#define COMPARED(a, b) (((a) > (b)) - ((a) < (b)))

/* NaN is equal to itself and above all others. */
static int
compare_floats(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return COMPARED(a, b);
}

static __int128
wide_of(const void *cell)
{
	__int128 value;

	memcpy(&value, cell, sizeof(value));
	return value;
}

static double
float4_of(int64_t stored)
{
	uint32_t word = (uint32_t) stored;
	float value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

static int
compare_cells(tg_order order, const void *a, const void *b)
{
	switch (order)
	{
		case TG_ORDER_WIDE:
			return COMPARED(wide_of(a), wide_of(b));
		case TG_ORDER_BYTES:
			return memcmp(a, b, sizeof(tg_string));
		case TG_ORDER_INTERVAL:
			return COMPARED(tg_interval_span(a), tg_interval_span(b));
		case TG_ORDER_TRIMMED:
			return compare_trimmed(a, b);
		default:
			return tg_text_compare(a, b);
	}
}

static int
compare_ints(tg_order order, int64_t a, int64_t b)
{
	switch (order)
	{
		case TG_ORDER_UNSIGNED:
			return COMPARED((uint32_t) a, (uint32_t) b);
		case TG_ORDER_FLOAT4:
			return compare_floats(float4_of(a), float4_of(b));
		default:
			return COMPARED(a, b);
	}
}

static int
compare_values(tg_vector_type type, tg_order order, const void *a, const void *b)
{
	switch (type)
	{
		case TG_V_FLOAT:
			return compare_floats(*(const double *) a, *(const double *) b);
		case TG_V_TEXT:
			return compare_cells(order, a, b);
		case TG_V_DECIMAL:
			return tg_decimal_compare(a, b);
		default:
			return compare_ints(order, *(const int64_t *) a, *(const int64_t *) b);
	}
}

int
tg_order_compare(const tg_ordering *by, tg_row *a, tg_row *b)
{
	for (unsigned i = 0; i < by->sink->sort_key_count; i++)
	{
		const tg_sort_key *key = &by->sink->sort_keys[i];
		bool a_null = tg_row_nulls(a)[i] != 0;
		bool b_null = tg_row_nulls(b)[i] != 0;
		int order;

		if (a_null != b_null)
			return a_null == key->nulls_first ? -1 : 1;
		if (a_null)
			continue;
		order = compare_values((tg_vector_type) by->layout->types[i], (tg_order) key->order,
							   tg_row_field(by->layout, a, i), tg_row_field(by->layout, b, i));
		if (order != 0)
			return key->descending ? -order : order;
	}
	return 0;
}

/* --- heads ---------------------------------------------------------------------------------- */

#define SIGN ((uint64_t) 1 << 63)

static inline uint64_t
head_of_int(int64_t value)
{
	return (uint64_t) value ^ SIGN;
}

static inline uint64_t
head_of_float(double value)
{
	uint64_t word;

	if (isnan(value))
		return UINT64_MAX;
	value += 0.0; /* zeros of both signs are equal */
	memcpy(&word, &value, sizeof(word));
	return (word & SIGN) != 0 ? ~word : word | SIGN;
}

/* The first bytes. */
static inline uint64_t
head_of_text(const tg_string *string, bool trimmed)
{
	uint32_t bytes;
	const char *data = trimmed ? trimmed_bytes(string, &bytes) : tg_string_bytes(string, &bytes);
	uint64_t word = 0;

	memcpy(&word, data, bytes < sizeof(word) ? bytes : sizeof(word));
	return __builtin_bswap64(word);
}

/* As of 64 bits: what lies beyond counts as the next that does not. */
static inline uint64_t
head_of_wide(__int128 value)
{
	return head_of_int(value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t) value);
}

static inline uint64_t
head_of_bytes(const void *cell)
{
	uint64_t word;

	memcpy(&word, cell, sizeof(word));
	return __builtin_bswap64(word);
}

static uint64_t
head_of_cell(tg_order order, const void *cell)
{
	switch (order)
	{
		case TG_ORDER_WIDE:
			return head_of_wide(wide_of(cell));
		case TG_ORDER_BYTES:
			return head_of_bytes(cell);
		case TG_ORDER_INTERVAL:
			return head_of_wide(tg_interval_span(cell));
		default:
			return head_of_text(cell, order == TG_ORDER_TRIMMED);
	}
}

#define HEADS(type, expression)                                                                                        \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *values = key->data;                                                                                \
                                                                                                                       \
		for (unsigned i = 0; i < count; i++)                                                                           \
		{                                                                                                              \
			const type *value = &values[i * step];                                                                     \
                                                                                                                       \
			heads[i] = (expression) ^ flip;                                                                            \
		}                                                                                                              \
	} while (0)

/* Of values that are not NULL. */
static void
find_heads(const tg_sort_key *by, const tg_vector *key, unsigned count, uint64_t *heads)
{
	unsigned step = key->constant ? 0 : 1;
	uint64_t flip = by->descending ? UINT64_MAX : 0;

	switch ((tg_vector_type) key->type)
	{
		case TG_V_BOOL:
			HEADS(uint8_t, *value);
			break;
		case TG_V_INT:
			if (by->order == TG_ORDER_UNSIGNED)
				HEADS(int64_t, (uint32_t) *value);
			else if (by->order == TG_ORDER_FLOAT4)
				HEADS(int64_t, head_of_float(float4_of(*value)));
			else
				HEADS(int64_t, head_of_int(*value));
			break;
		case TG_V_FLOAT:
			HEADS(double, head_of_float(*value));
			break;
		case TG_V_DECIMAL:
			HEADS(tg_decimal, tg_decimal_head(value));
			break;
		case TG_V_TEXT:
			/* what lies beside a NULL may point to anything */
			for (unsigned i = 0; i < count; i++)
			{
				const tg_string *value = &((const tg_string *) key->data)[i * step];

				if (key->nulls == NULL || key->nulls[i * step] == 0)
					heads[i] = flip ^ head_of_cell((tg_order) by->order, value);
			}
			break;
	}
}

void
tg_order_heads(const tg_sort_key *by, const tg_vector *key, unsigned count, uint64_t *heads)
{
	find_heads(by, key, count, heads);
	if (key->nulls == NULL)
		return;
	for (unsigned i = 0; i < count; i++)
		if (key->nulls[key->constant ? 0 : i] != 0)
			heads[i] = by->nulls_first ? 0 : UINT64_MAX;
}

/* --- sorting a run ---------------------------------------------------------------------------- */

static void
sort_by_insertion(const tg_ordering *by, tg_entry *entries, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
	{
		tg_entry moved = entries[i];
		unsigned at = i;

		for (; at > 0 && tg_order_is_before(by, &moved, &entries[at - 1]); at--)
			entries[at] = entries[at - 1];
		entries[at] = moved;
	}
}

static bool
is_in_order(const tg_ordering *by, const tg_entry *entries, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		if (tg_order_is_before(by, &entries[i], &entries[i - 1]))
			return false;
	return true;
}

/* By merging halves.  spare has room for half of the entries. */
static void
sort_by_keys(const tg_ordering *by, tg_entry *entries, tg_entry *spare, unsigned count)
{
	unsigned half = count / 2;
	unsigned left = 0;
	unsigned right = half;
	unsigned to = 0;

	if (count <= INSERTED_MAX)
	{
		sort_by_insertion(by, entries, count);
		return;
	}
	sort_by_keys(by, entries, spare, half);
	sort_by_keys(by, entries + half, spare, count - half);
	memcpy(spare, entries, half * sizeof(tg_entry));
	while (left < half && right < count)
		entries[to++] = tg_order_is_before(by, &entries[right], &spare[left]) ? entries[right++] : spare[left++];
	memcpy(&entries[to], &spare[left], (half - left) * sizeof(tg_entry));
}

#define DIGITS sizeof(uint64_t)
#define DIGIT_VALUES 256

static inline unsigned
digit_of(uint64_t head, unsigned digit)
{
	return head >> (8 * digit) & (DIGIT_VALUES - 1);
}

/* Returns the one of the two arrays that has the entries then. */
static tg_entry *
sort_by_heads(tg_entry *entries, tg_entry *spare, unsigned count)
{
	uint32_t places[DIGITS][DIGIT_VALUES] = {{0}};

	for (unsigned i = 0; i < count; i++)
		for (unsigned digit = 0; digit < DIGITS; digit++)
			places[digit][digit_of(entries[i].head, digit)]++;
	for (unsigned digit = 0; digit < DIGITS; digit++)
	{
		tg_entry *from = entries;
		uint32_t place = 0;

		if (places[digit][digit_of(entries[0].head, digit)] == count)
			continue; /* all have the same */
		for (unsigned i = 0; i < DIGIT_VALUES; i++)
		{
			uint32_t next = place + places[digit][i];

			places[digit][i] = place;
			place = next;
		}
		for (unsigned i = 0; i < count; i++)
			spare[places[digit][digit_of(from[i].head, digit)]++] = from[i];
		entries = spare;
		spare = from;
	}
	return entries;
}

void
tg_order_sort(const tg_ordering *by, tg_entry *entries, tg_entry *spare, unsigned count)
{
	unsigned end;
	const tg_entry *sorted;

	if (count <= INSERTED_MAX)
	{
		sort_by_insertion(by, entries, count);
		return;
	}
	sorted = sort_by_heads(entries, spare, count);
	if (sorted != entries)
		memcpy(entries, sorted, count * sizeof(tg_entry));
	for (unsigned at = 0; at < count; at = end)
	{
		for (end = at + 1; end < count && entries[end].head == entries[at].head;)
			end++;
		if (!is_in_order(by, entries + at, end - at))
			sort_by_keys(by, entries + at, spare, end - at);
	}
	tg_assert(is_in_order(by, entries, count));
}
