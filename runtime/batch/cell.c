/*
 * cell.c
 *	  From values of a file to values as a table stores them.
 */
#include "runtime/batch/cell.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/csv_value.h"

#define HEADER_BYTES 4 /* of a string outside its value (value.h) */
#define ALIGNMENT 8
#define BITS_IN_BYTE 8
#define BYTES_WIDE 16

/* --- numbers ---------------------------------------------------------------------------------- */

/* Rounded down, so that a time before the epoch keeps its order. */
static int64_t
divide_down(int64_t value, int64_t divisor)
{
	int64_t quotient = value / divisor;

	return value % divisor < 0 ? quotient - 1 : quotient;
}

static tg_cell_fault
take_word(const tg_cell *cell, int64_t word, tg_value *value_out)
{
	int64_t value = word;

	if (cell->is_endless && (word == cell->lowest || word == cell->highest))
	{
		value_out->word = (uint64_t) (word == cell->lowest ? cell->endless_low : cell->endless_high);
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

static void
take_float4(int64_t word, tg_value *value_out)
{
	double wide;
	float value;
	int32_t bits;

	memcpy(&wide, &word, sizeof(wide));
	value = (float) wide;
	memcpy(&bits, &value, sizeof(bits));
	value_out->word = (uint64_t) (int64_t) bits;
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

static tg_cell_fault
take_decimal(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_value *value_out)
{
	__int128 limit = (__int128) ((unsigned __int128) cell->limit_high << 64 | cell->limit_low);
	__int128 value;

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

static tg_cell_fault
take_string(const tg_cell *cell, const tg_file_bytes *bytes, tg_cell_memory *memory, tg_value *value_out)
{
	uint32_t header = (uint32_t) (bytes->count + HEADER_BYTES) << 2;
	unsigned char *datum;
	size_t room;

	if (bytes->count > cell->bytes_max)
		return TG_CELL_TOO_LONG;
	if (cell->form == TG_CELL_TEXT && !tg_text_is_utf8(bytes->data, bytes->count))
		return TG_CELL_NOT_UTF8;
	if (bytes->count <= TG_STRING_INLINE_MAX)
	{
		tg_string_make_inline(&value_out->string, bytes->count > 0 ? bytes->data : (const uint8_t *) "",
							  (unsigned) bytes->count);
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

/* --- cells ------------------------------------------------------------------------------------ */

static bool
is_null(const tg_file_values *values, uint32_t row)
{
	return (values->nulls != NULL && values->nulls[row] != 0) || (values->words == NULL && values->bytes == NULL);
}

size_t
tg_cell_bytes(const tg_cell *cell, const tg_file_values *values, uint32_t row)
{
	if ((cell->form != TG_CELL_TEXT && cell->form != TG_CELL_BYTES) || is_null(values, row) ||
		values->bytes[row].count > cell->bytes_max)
		return 0;
	return values->bytes[row].count + HEADER_BYTES + ALIGNMENT;
}

tg_cell_fault
tg_cell_take(const tg_cell *cell, const tg_file_values *values, uint32_t row, tg_cell_memory *memory,
			 tg_value *value_out, bool *null_out)
{
	*null_out = is_null(values, row);
	if (*null_out)
		return cell->not_null ? TG_CELL_IS_NULL : TG_CELL_FITS;
	switch ((tg_cell_form) cell->form)
	{
		case TG_CELL_WORD:
			return take_word(cell, values->words[row], value_out);
		case TG_CELL_FLOAT4:
			take_float4(values->words[row], value_out);
			return TG_CELL_FITS;
		case TG_CELL_FLOAT8:
			value_out->word = (uint64_t) values->words[row];
			return TG_CELL_FITS;
		case TG_CELL_DECIMAL:
			return take_decimal(cell, values, row, value_out);
		case TG_CELL_TEXT:
		case TG_CELL_BYTES:
			return take_string(cell, &values->bytes[row], memory, value_out);
		case TG_CELL_16:
			memcpy(value_out->bytes, values->bytes[row].data, BYTES_WIDE);
			return TG_CELL_FITS;
	}
	tg_check(false);
	return TG_CELL_OUT;
}
