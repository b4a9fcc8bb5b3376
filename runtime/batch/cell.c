/*
 * cell.c
 *	  From values of a file to values as a table stores them: some rows of a column at a time, by a
 *	  loop for each form.
 *
 * Of numbers, the smallest and the largest are looked at first.  If these fit, all do, and the rest
 * is a loop without a branch.
 */
#include "runtime/batch/cell.h"

#include <string.h>

#include "runtime/format/csv_value.h"

#define HEADER_BYTES 4 /* of a string outside its value (value.h) */
#define ALIGNMENT 8
#define BITS_IN_BYTE 8
#define BYTES_WIDE 16

/* Of which each loop has its own. */
#define INLINE static inline __attribute__((always_inline))

/* --- numbers ---------------------------------------------------------------------------------- */

/* Rounded down, so that a time before the epoch keeps its order. */
static int64_t
divide_down(int64_t value, int64_t divisor)
{
	int64_t quotient = value / divisor;

	return value % divisor < 0 ? quotient - 1 : quotient;
}

/* Some writers have the smallest number, some the next, which is as far from 0 as the largest. */
INLINE bool
is_lowest(const tg_cell *cell, int64_t word)
{
	return word == cell->lowest || word == cell->lowest + 1;
}

INLINE tg_cell_fault
take_word(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_cell_memory *memory, tg_value *value_out)
{
	int64_t word = values->words[row];
	int64_t value = word;

	if (cell->is_endless && (is_lowest(cell, word) || word == cell->highest))
	{
		value_out->word = (uint64_t) (is_lowest(cell, word) ? cell->endless_low : cell->endless_high);
		return TG_CELL_FITS;
	}
	if (cell->is_unsigned && word < 0)
		return TG_CELL_OUT;
	if (cell->divide > 1)
		value = divide_down(value, cell->divide);
	if (__builtin_mul_overflow(value, cell->multiply, &value) || __builtin_add_overflow(value, cell->offset, &value) ||
		value < cell->low || value > cell->high)
		return TG_CELL_OUT;
	value_out->word = (uint64_t) value;
	return TG_CELL_FITS;
}

INLINE tg_cell_fault
take_float4(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_cell_memory *memory,
			tg_value *value_out)
{
	double wide;
	float value;
	int32_t bits;

	memcpy(&wide, &values->words[row], sizeof(wide));
	value = (float) wide;
	memcpy(&bits, &value, sizeof(bits));
	value_out->word = (uint64_t) (int64_t) bits;
	return TG_CELL_FITS;
}

INLINE tg_cell_fault
take_float8(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_cell_memory *memory,
			tg_value *value_out)
{
	value_out->word = (uint64_t) values->words[row];
	return TG_CELL_FITS;
}

/* Big-endian, of two's complement.  False: it needs more than 16 bytes. */
static bool
integer_of_bytes(const tg_file_bytes *bytes, __int128 *value_out)
{
	unsigned __int128 value;
	size_t more = bytes->count > BYTES_WIDE ? bytes->count - BYTES_WIDE : 0;
	uint8_t sign;

	if (bytes->count == 0)
	{
		*value_out = 0;
		return true;
	}
	sign = bytes->data[0] >= 0x80 ? UINT8_MAX : 0;
	for (size_t i = 0; i < more; i++)
		if (bytes->data[i] != sign)
			return false;
	value = sign != 0 ? ~(unsigned __int128) 0 : 0;
	for (size_t i = more; i < bytes->count; i++)
		value = value << BITS_IN_BYTE | bytes->data[i];
	*value_out = (__int128) value;
	return more == 0 || ((*value_out < 0) == (sign != 0));
}

/* Of which the product with `multiply` has 64 bits, which most are. */
INLINE bool
take_small_decimal(const tg_cell *cell, int64_t word, tg_value *value_out)
{
	int64_t value;

	if (cell->is_wide || cell->limit_high != 0 || cell->limit_low > INT64_MAX ||
		__builtin_mul_overflow(word, cell->multiply, &value) || value >= (int64_t) cell->limit_low ||
		value <= -(int64_t) cell->limit_low)
		return false;
	value_out->word = (uint64_t) value;
	return true;
}

INLINE tg_cell_fault
take_decimal(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_cell_memory *memory,
			 tg_value *value_out)
{
	__int128 limit = (__int128) ((unsigned __int128) cell->limit_high << 64 | cell->limit_low);
	__int128 value;

	if (values->bytes == NULL && take_small_decimal(cell, values->words[row], value_out))
		return TG_CELL_FITS;
	if (values->bytes == NULL)
		value = values->words[row];
	else if (!integer_of_bytes(&values->bytes[row], &value))
		return TG_CELL_OUT;
	if (__builtin_mul_overflow(value, (__int128) cell->multiply, &value) || value >= limit || value <= -limit)
		return TG_CELL_OUT;
	if (cell->is_wide)
		memcpy(value_out->bytes, &value, sizeof(value));
	else
		value_out->word = (uint64_t) (int64_t) value;
	return TG_CELL_FITS;
}

/* --- strings ---------------------------------------------------------------------------------- */

static inline uint64_t
word_at(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint64_t
half_at(const uint8_t *at)
{
	uint32_t half;

	memcpy(&half, at, sizeof(half));
	return half;
}

#define HIGH_BITS UINT64_C(0x8080808080808080)
#define LOW_BITS UINT64_C(0x0101010101010101)

/* Whether one of the bytes is zero, or above 127. */
static inline bool
has_odd_byte(uint64_t word)
{
	return ((word | ((word - LOW_BITS) & ~word)) & HIGH_BITS) != 0;
}

/*
 * Whether it is ASCII without zeros, as most text is: by words, of which the last two may overlap.
 */
static inline bool
is_plain(const uint8_t *at, size_t bytes)
{
	bool odd = false;

	if (bytes < 4)
	{
		for (size_t i = 0; i < bytes; i++)
			odd |= at[i] == 0 || at[i] > INT8_MAX;
		return !odd;
	}
	if (bytes < 8)
		return !has_odd_byte(half_at(at) | half_at(at + bytes - 4) << 32);
	for (size_t i = 0; i + 8 < bytes; i += 8)
		odd |= has_odd_byte(word_at(at + i));
	return !(odd | has_odd_byte(word_at(at + bytes - 8)));
}

/* As tg_string_make_inline, by registers: halves of a string may be the same bytes. */
static inline void
make_inline(tg_string *string, const uint8_t *at, unsigned bytes)
{
	uint64_t first = 0;
	uint32_t rest = 0;

	if (bytes > 8)
	{
		first = word_at(at);
		rest = (uint32_t) (half_at(at + bytes - 4) >> 8 * (TG_STRING_INLINE_MAX - bytes));
	}
	else if (bytes >= 4)
		first = half_at(at) | half_at(at + bytes - 4) << 8 * (bytes - 4);
	else
		for (unsigned i = bytes; i-- > 0;)
			first = first << BITS_IN_BYTE | at[i];
	string->word = ((bytes + 1) << 1 | 1) << 24;
	memcpy(string->bytes, &first, sizeof(first));
	memcpy(string->bytes + sizeof(first), &rest, sizeof(rest));
}

INLINE tg_cell_fault
take_string(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_cell_memory *memory,
			tg_value *value_out)
{
	const tg_file_bytes *bytes = &values->bytes[row];
	uint32_t header = (uint32_t) (bytes->count + HEADER_BYTES) << 2;
	unsigned char *datum;
	size_t room;

	if (bytes->count > cell->bytes_max)
		return TG_CELL_TOO_LONG;
	if (cell->form == TG_CELL_TEXT && !cell->is_checked && !is_plain(bytes->data, bytes->count) &&
		!tg_text_is_utf8(bytes->data, bytes->count))
		return TG_CELL_NOT_UTF8;
	if (bytes->count <= TG_STRING_INLINE_MAX)
	{
		make_inline(&value_out->string, bytes->data, (unsigned) bytes->count);
		return TG_CELL_FITS;
	}
	room = (bytes->count + HEADER_BYTES + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
	if (room > memory->bytes - memory->used)
		return TG_CELL_NO_MEMORY;
	datum = memory->data + memory->used;
	memory->used += room;
	memcpy(datum, &header, sizeof(header));
	memcpy(datum + HEADER_BYTES, bytes->data, bytes->count);
	tg_string_make_host(&value_out->string, datum, (uint32_t) (bytes->count + HEADER_BYTES), HEADER_BYTES);
	return TG_CELL_FITS;
}

INLINE tg_cell_fault
take_16(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_cell_memory *memory, tg_value *value_out)
{
	memcpy(value_out->bytes, values->bytes[row].data, BYTES_WIDE);
	return TG_CELL_FITS;
}

/* --- rows ------------------------------------------------------------------------------------- */

INLINE bool
is_null(const tg_file_values *values, uint32_t row)
{
	return (values->nulls != NULL && values->nulls[row] != 0) || (values->words == NULL && values->bytes == NULL);
}

void
tg_cell_add_bytes(const tg_cell *cell, const tg_file_values *values, uint32_t first, unsigned count, uint64_t *sums)
{
	if (cell->form != TG_CELL_TEXT && cell->form != TG_CELL_BYTES)
		return;
	for (unsigned i = 0; i < count; i++)
		if (!is_null(values, first + i) && values->bytes[first + i].count > TG_STRING_INLINE_MAX &&
			values->bytes[first + i].count <= cell->bytes_max)
			sums[i] += values->bytes[first + i].count + HEADER_BYTES + ALIGNMENT;
}

typedef tg_cell_fault take_value(const tg_cell *cell, const tg_file_values *values, uint32_t row,
								 tg_cell_memory *memory, tg_value *value_out);

/* What does not change is in variables: a store of a byte might otherwise be one to it. */
INLINE void
take_rows(const tg_cell *given, const tg_file_values *given_values, uint32_t first, unsigned count,
		  tg_cell_memory *memory, const tg_cell_rows *given_rows, take_value *take)
{
	const tg_cell cell = *given;
	const tg_file_values values = *given_values;
	const tg_cell_rows rows = *given_rows;
	tg_value *value = rows.values + (size_t) cell.column * rows.pitch;
	bool *null = rows.nulls + (size_t) cell.column * rows.pitch;

	for (unsigned i = 0; i < count; i++, value++, null++)
	{
		tg_cell_fault fault;

		if (rows.faults[i] != TG_CELL_FITS)
			continue;
		*null = is_null(&values, first + i);
		if (*null)
			fault = cell.not_null ? TG_CELL_IS_NULL : TG_CELL_FITS;
		else
			fault = take(&cell, &values, first + i, memory, value);
		if (fault != TG_CELL_FITS)
		{
			rows.faults[i] = (uint8_t) fault;
			rows.columns[i] = cell.column;
		}
	}
}

/* The smallest and the largest of some words. */
static inline void
find_bounds(const int64_t *words, unsigned count, int64_t *least_out, int64_t *most_out)
{
	int64_t least = words[0];
	int64_t most = words[0];

	for (unsigned i = 1; i < count; i++)
	{
		least = words[i] < least ? words[i] : least;
		most = words[i] > most ? words[i] : most;
	}
	*least_out = least;
	*most_out = most;
}

static bool
has_nulls(const tg_file_values *values, uint32_t first, unsigned count)
{
	uint8_t any = 0;

	for (unsigned i = 0; values->nulls != NULL && i < count; i++)
		any |= values->nulls[first + i];
	return any != 0;
}

/* Whether all words between two are what the cell makes of them by a product and a sum. */
static bool
is_linear(const tg_cell *cell, int64_t least, int64_t most)
{
	int64_t low, high;

	if (cell->multiply <= 0 || __builtin_mul_overflow(least, cell->multiply, &low) ||
		__builtin_mul_overflow(most, cell->multiply, &high))
		return false;
	if (cell->form == TG_CELL_DECIMAL)
		return !cell->is_wide && cell->limit_high == 0 && cell->limit_low <= INT64_MAX &&
			   high < (int64_t) cell->limit_low && low > -(int64_t) cell->limit_low;
	return cell->form == TG_CELL_WORD && cell->divide <= 1 && !(cell->is_unsigned && least < 0) &&
		   !(cell->is_endless && (least <= cell->lowest + 1 || most >= cell->highest)) &&
		   !__builtin_add_overflow(low, cell->offset, &low) && !__builtin_add_overflow(high, cell->offset, &high) &&
		   low >= cell->low && high <= cell->high;
}

/*
 * Words without NULLs, all of which fit, as those of most columns do: without a look at each, and
 * also in rows that have a fault, which have no use for them.  False: nothing is done.
 */
static bool
take_linear(const tg_cell *cell, const tg_file_values *values, uint32_t first, unsigned count, const tg_cell_rows *rows)
{
	const int64_t *words;
	const uint64_t multiply = (uint64_t) cell->multiply;
	const uint64_t offset = cell->form == TG_CELL_WORD ? (uint64_t) cell->offset : 0;
	tg_value *value = rows->values + (size_t) cell->column * rows->pitch;
	int64_t least, most;

	if (count == 0 || values->words == NULL || values->bytes != NULL || has_nulls(values, first, count))
		return false;
	words = values->words + first;
	find_bounds(words, count, &least, &most);
	if (!is_linear(cell, least, most))
		return false;
	for (unsigned i = 0; i < count; i++)
		value[i].word = (uint64_t) words[i] * multiply + offset;
	memset(rows->nulls + (size_t) cell->column * rows->pitch, false, count);
	return true;
}

void
tg_cell_take(const tg_cell *cell, const tg_file_values *values, uint32_t first, unsigned count, tg_cell_memory *memory,
			 const tg_cell_rows *rows)
{
	switch ((tg_cell_form) cell->form)
	{
		case TG_CELL_WORD:
			if (!take_linear(cell, values, first, count, rows))
				take_rows(cell, values, first, count, memory, rows, take_word);
			break;
		case TG_CELL_FLOAT4:
			take_rows(cell, values, first, count, memory, rows, take_float4);
			break;
		case TG_CELL_FLOAT8:
			take_rows(cell, values, first, count, memory, rows, take_float8);
			break;
		case TG_CELL_DECIMAL:
			if (!take_linear(cell, values, first, count, rows))
				take_rows(cell, values, first, count, memory, rows, take_decimal);
			break;
		case TG_CELL_TEXT:
		case TG_CELL_BYTES:
			take_rows(cell, values, first, count, memory, rows, take_string);
			break;
		case TG_CELL_16:
			take_rows(cell, values, first, count, memory, rows, take_16);
			break;
	}
}
