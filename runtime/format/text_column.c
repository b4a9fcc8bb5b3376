/*
 * text_column.c
 *	  From texts of rows to a column's values, for the readers of formats that are texts.
 */
#include "runtime/format/text_column.h"

#include <string.h>

#include "runtime/format/csv_value.h"

#define UTF8_MAX 4 /* bytes of a character */
#define DIGITS_OF_WORD 18

/* --- values ----------------------------------------------------------------------------------- */

static bool
take_string(const tg_csv_column *column, tg_text_values *values, unsigned row, uint8_t *text, uint32_t bytes)
{
	uint32_t characters;
	uint8_t *room = values->room + (size_t) row * values->room_of_row;

	if (!tg_text_is_utf8(text, bytes))
		return false;
	values->bytes[row] = (tg_file_bytes){text, bytes};
	if (column->characters_max == 0 || (bytes <= column->characters_max && !column->is_padded))
		return true;
	characters = (uint32_t) tg_text_characters(text, bytes);
	if (!column->is_padded || characters >= column->characters_max)
		return characters <= column->characters_max;
	if (column->characters_max > TG_TEXT_PAD_MAX)
		return false;
	memcpy(room, text, bytes);
	memset(room + bytes, ' ', column->characters_max - characters);
	values->bytes[row] = (tg_file_bytes){room, bytes + column->characters_max - characters};
	return true;
}

static bool
take_decimal(const tg_csv_column *column, tg_text_values *values, unsigned row, const uint8_t *text, uint32_t bytes)
{
	uint8_t *room = values->room + (size_t) row * values->room_of_row;
	unsigned __int128 value;
	__int128 number;

	if (!tg_text_decimal(text, bytes, column->precision, column->scale, &number))
		return false;
	if (values->bytes == NULL)
	{
		values->words[row] = (int64_t) number;
		return true;
	}
	value = (unsigned __int128) number;
	for (unsigned i = TG_DECIMAL_BYTES; i-- > 0; value >>= 8)
		room[i] = (uint8_t) value;
	values->bytes[row] = (tg_file_bytes){room, TG_DECIMAL_BYTES};
	return true;
}

static tg_text_offset
offset_of(const tg_csv_column *column)
{
	if (!column->utc)
		return TG_TEXT_NO_OFFSET;
	return column->has_zulu ? TG_TEXT_OFFSET_OR_Z : TG_TEXT_OFFSET;
}

bool
tg_text_take(const tg_csv_column *column, tg_text_values *values, unsigned row, uint8_t *text, uint32_t bytes)
{
	switch ((tg_file_type) column->type)
	{
		case TG_FILE_BOOL:
			return tg_text_bool(text, bytes, &values->words[row]);
		case TG_FILE_INT:
			return tg_text_int(text, bytes, column->bits, &values->words[row]);
		case TG_FILE_FLOAT:
			return tg_text_float(text, bytes, column->bits, &values->words[row]);
		case TG_FILE_DECIMAL:
			return take_decimal(column, values, row, text, bytes);
		case TG_FILE_DATE:
			return tg_text_date(text, bytes, &values->words[row]);
		case TG_FILE_TIME:
			return tg_text_time(text, bytes, &values->words[row]);
		case TG_FILE_TIMESTAMP:
			return tg_text_timestamp(text, bytes, offset_of(column), &values->words[row]);
		case TG_FILE_STRING:
		case TG_FILE_JSON:
			return take_string(column, values, row, text, bytes);
		case TG_FILE_BINARY:
			values->bytes[row].data = text;
			return tg_text_bytea(text, bytes, text, &values->bytes[row].count);
		case TG_FILE_UUID:
			values->bytes[row] = (tg_file_bytes){text, TG_UUID_BYTES};
			return tg_text_uuid(text, bytes, text);
		default:
			return false;
	}
}

/* --- memory ----------------------------------------------------------------------------------- */

static bool
has_bytes(const tg_csv_column *column)
{
	return column->type == TG_FILE_STRING || column->type == TG_FILE_BINARY || column->type == TG_FILE_UUID ||
		   column->type == TG_FILE_JSON || (column->type == TG_FILE_DECIMAL && column->precision > DIGITS_OF_WORD);
}

/* Bytes that a value may need beyond those in the block. */
static uint32_t
room_of(const tg_csv_column *column)
{
	if (column->type == TG_FILE_DECIMAL && has_bytes(column))
		return TG_DECIMAL_BYTES;
	if (column->type == TG_FILE_STRING && column->is_padded && column->characters_max <= TG_TEXT_PAD_MAX)
		return column->characters_max * UTF8_MAX;
	return 0;
}

/* Without what a value needs beside. */
static size_t
each_bytes(size_t rows)
{
	return rows * (sizeof(tg_file_bytes) + 1);
}

size_t
tg_text_values_bytes(const tg_csv_column *columns, unsigned count, size_t rows)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < count; i++)
		bytes += each_bytes(rows) + rows * room_of(&columns[i]);
	return bytes;
}

void
tg_text_values_place(const tg_csv_column *columns, unsigned count, size_t rows, void *memory, tg_text_values *values)
{
	uint8_t *at = memory;

	for (unsigned i = 0; i < count; i++)
	{
		values[i] = (tg_text_values){.room_of_row = room_of(&columns[i])};
		if (has_bytes(&columns[i]))
			values[i].bytes = (tg_file_bytes *) at;
		else
			values[i].words = (int64_t *) at;
		at += rows * sizeof(tg_file_bytes);
		values[i].nulls = at;
		at += rows;
		values[i].room = at;
		at += rows * values[i].room_of_row;
	}
}
