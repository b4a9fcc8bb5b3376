/*
 * parquet_element.c
 *	  Elements of the schema of a Parquet file: their fields, and the types of values.
 */
#include "runtime/format/parquet_element.h"

#define INTERVAL_BYTES 12
#define UUID_BYTES 16
#define DECIMAL_DIGITS_MAX 76

/* parquet.thrift, ConvertedType */
typedef enum converted
{
	CONVERTED_UTF8 = 0,
	CONVERTED_MAP = 1,
	CONVERTED_MAP_KEY_VALUE = 2, /* old writers' for MAP */
	CONVERTED_LIST = 3,
	CONVERTED_ENUM = 4,
	CONVERTED_DECIMAL = 5,
	CONVERTED_DATE = 6,
	CONVERTED_TIME_MILLIS = 7,
	CONVERTED_TIME_MICROS = 8,
	CONVERTED_TIMESTAMP_MILLIS = 9,
	CONVERTED_TIMESTAMP_MICROS = 10,
	CONVERTED_UINT_8 = 11,
	CONVERTED_UINT_64 = 14,
	CONVERTED_INT_8 = 15,
	CONVERTED_INT_64 = 18,
	CONVERTED_JSON = 19,
	CONVERTED_INTERVAL = 21
} converted;

/* --- elements --------------------------------------------------------------------------- */

/* A union of empty structs: which one. */
static int
read_unit(tg_thrift *thrift, const tg_thrift_field *field)
{
	tg_thrift_field unit = {0};
	int digits = 0;

	if (!tg_thrift_struct(thrift, field))
		return 0;
	while (tg_thrift_next(thrift, &unit))
	{
		digits = unit.id >= 1 && unit.id <= 3 ? 3 * unit.id : 0;
		tg_thrift_skip(thrift, &unit);
	}
	return digits;
}

static void
read_logical_fields(tg_thrift *thrift, tg_element *element)
{
	tg_thrift_field field = {0};

	while (tg_thrift_next(thrift, &field))
	{
		if (element->logical == TG_LOGICAL_DECIMAL && field.id == 1)
			element->scale = tg_thrift_integer(thrift, &field);
		else if (element->logical == TG_LOGICAL_DECIMAL && field.id == 2)
			element->precision = tg_thrift_integer(thrift, &field);
		else if (element->logical == TG_LOGICAL_INTEGER && field.id == 1)
			element->bits = tg_thrift_integer(thrift, &field);
		else if (element->logical == TG_LOGICAL_INTEGER && field.id == 2)
			element->is_signed = tg_thrift_bool(thrift, &field);
		else if ((element->logical == TG_LOGICAL_TIME || element->logical == TG_LOGICAL_TIMESTAMP) && field.id == 1)
			element->utc = tg_thrift_bool(thrift, &field);
		else if ((element->logical == TG_LOGICAL_TIME || element->logical == TG_LOGICAL_TIMESTAMP) && field.id == 2)
			element->digits = read_unit(thrift, &field);
		else
			tg_thrift_skip(thrift, &field);
	}
}

static void
read_logical(tg_thrift *thrift, const tg_thrift_field *union_field, tg_element *element)
{
	tg_thrift_field field = {0};

	if (!tg_thrift_struct(thrift, union_field))
		return;
	while (tg_thrift_next(thrift, &field))
	{
		element->logical = field.id;
		if (tg_thrift_struct(thrift, &field))
			read_logical_fields(thrift, element);
	}
}

/* The logical type of an element that has only the older kind of annotation. */
static void
take_converted(tg_element *element)
{
	int converted = element->converted;

	if (element->logical != TG_LOGICAL_NONE || converted < 0)
		return;
	switch (converted)
	{
		case CONVERTED_UTF8:
			element->logical = TG_LOGICAL_STRING;
			break;
		case CONVERTED_ENUM:
			element->logical = TG_LOGICAL_ENUM;
			break;
		case CONVERTED_DECIMAL:
			element->logical = TG_LOGICAL_DECIMAL;
			break;
		case CONVERTED_DATE:
			element->logical = TG_LOGICAL_DATE;
			break;
		case CONVERTED_TIME_MILLIS:
		case CONVERTED_TIME_MICROS:
			element->logical = TG_LOGICAL_TIME;
			element->digits = converted == CONVERTED_TIME_MILLIS ? 3 : 6;
			break;
		case CONVERTED_TIMESTAMP_MILLIS:
		case CONVERTED_TIMESTAMP_MICROS:
			element->logical = TG_LOGICAL_TIMESTAMP;
			element->digits = converted == CONVERTED_TIMESTAMP_MILLIS ? 3 : 6;
			element->utc = true; /* LogicalTypes.md: they are normalized to UTC */
			break;
		case CONVERTED_JSON:
			element->logical = TG_LOGICAL_JSON;
			break;
		case CONVERTED_MAP:
		case CONVERTED_MAP_KEY_VALUE:
			element->logical = TG_LOGICAL_MAP;
			break;
		case CONVERTED_LIST:
			element->logical = TG_LOGICAL_LIST;
			break;
		default:
			if (converted >= CONVERTED_UINT_8 && converted <= CONVERTED_INT_64)
			{
				element->logical = TG_LOGICAL_INTEGER;
				element->is_signed = converted >= CONVERTED_INT_8;
				element->bits = 8 << (converted - (element->is_signed ? CONVERTED_INT_8 : CONVERTED_UINT_8));
			}
	}
}

tg_element
tg_element_read(tg_thrift *thrift, const tg_thrift_field *list_element)
{
	tg_element element = {.physical = -1, .converted = -1, .repetition = TG_REPETITION_REQUIRED};
	tg_thrift_field field = {0};

	if (!tg_thrift_struct(thrift, list_element))
		return element;
	while (tg_thrift_next(thrift, &field))
		switch (field.id)
		{
			case 1:
				element.physical = (int) tg_thrift_integer(thrift, &field);
				break;
			case 2:
				element.width = tg_thrift_integer(thrift, &field);
				break;
			case 3:
				element.repetition = (int) tg_thrift_integer(thrift, &field);
				break;
			case 4:
				element.name = tg_thrift_bytes(thrift, &field, &element.name_bytes);
				break;
			case 5:
				element.children = tg_thrift_integer(thrift, &field);
				break;
			case 6:
				element.converted = (int) tg_thrift_integer(thrift, &field);
				break;
			case 7:
				element.scale = tg_thrift_integer(thrift, &field);
				break;
			case 8:
				element.precision = tg_thrift_integer(thrift, &field);
				break;
			case 10:
				read_logical(thrift, &field, &element);
				break;
			default:
				tg_thrift_skip(thrift, &field);
		}
	take_converted(&element);
	return element;
}

/* --- types ------------------------------------------------------------------------------ */

static bool
take_decimal(const tg_element *element, tg_file_column *column)
{
	if (element->precision < 1 || element->precision > DECIMAL_DIGITS_MAX || element->scale < 0 ||
		element->scale > element->precision)
		return false;
	column->type = TG_FILE_DECIMAL;
	column->precision = (int32_t) element->precision;
	column->scale = (int32_t) element->scale;
	return true;
}

static bool
take_integer(const tg_element *element, tg_file_column *column, unsigned bits)
{
	column->type = TG_FILE_INT;
	column->bits = (uint8_t) bits;
	if (element->logical != TG_LOGICAL_INTEGER)
		return true;
	if (!element->is_signed)
		column->type = TG_FILE_UINT;
	column->bits = (uint8_t) element->bits;
	return element->bits == 64 ? bits == 64 : element->bits == 8 || element->bits == 16 || element->bits == 32;
}

static bool
take_time(const tg_element *element, tg_file_column *column, unsigned bits)
{
	column->type = element->logical == TG_LOGICAL_TIME ? TG_FILE_TIME : TG_FILE_TIMESTAMP;
	column->digits = (uint8_t) element->digits;
	column->utc = element->utc;
	if (column->type == TG_FILE_TIME && (element->digits == 3) != (bits == 32))
		return false;
	return element->digits != 0 && (column->type == TG_FILE_TIME || bits == 64);
}

static bool
take_int(const tg_element *element, tg_file_column *column)
{
	unsigned bits = element->physical == TG_PHYSICAL_INT32 ? 32 : 64;

	switch (element->logical)
	{
		case TG_LOGICAL_DECIMAL:
			return take_decimal(element, column);
		case TG_LOGICAL_DATE:
			column->type = TG_FILE_DATE;
			return bits == 32;
		case TG_LOGICAL_TIME:
		case TG_LOGICAL_TIMESTAMP:
			return take_time(element, column, bits);
		case TG_LOGICAL_NULL:
			column->type = TG_FILE_NULL;
			return true;
		default:
			return take_integer(element, column, bits);
	}
}

static bool
take_bytes(const tg_element *element, tg_file_column *column)
{
	bool fixed = element->physical == TG_PHYSICAL_FIXED;

	column->is_bytes = true;
	column->type = TG_FILE_BINARY;
	if (element->logical == TG_LOGICAL_DECIMAL)
		return take_decimal(element, column);
	if (element->logical == TG_LOGICAL_UUID)
	{
		column->type = TG_FILE_UUID;
		return fixed && element->width == UUID_BYTES;
	}
	if (element->logical == TG_LOGICAL_FLOAT16)
	{
		column->type = TG_FILE_FLOAT;
		column->bits = 16;
		column->is_bytes = false;
		return fixed && element->width == 2;
	}
	if (element->converted == CONVERTED_INTERVAL)
	{
		column->type = TG_FILE_INTERVAL;
		column->digits = 3;
		return fixed && element->width == INTERVAL_BYTES;
	}
	if (element->logical == TG_LOGICAL_STRING || element->logical == TG_LOGICAL_ENUM)
		column->type = TG_FILE_STRING;
	else if (element->logical == TG_LOGICAL_JSON)
		column->type = TG_FILE_JSON;
	else if (element->logical == TG_LOGICAL_NULL)
		column->type = TG_FILE_NULL;
	if (column->type == TG_FILE_BINARY && fixed)
		column->width = (uint32_t) element->width;
	return true;
}

bool
tg_element_describe(const tg_element *element, tg_file_column *column)
{
	static const char *const names[TG_PHYSICAL_COUNT] = {"BOOLEAN", "INT32",  "INT64",		"INT96",
														 "FLOAT",	"DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};

	column->stored = names[element->physical];
	switch (element->physical)
	{
		case TG_PHYSICAL_BOOLEAN:
			column->type = TG_FILE_BOOL;
			return true;
		case TG_PHYSICAL_INT32:
		case TG_PHYSICAL_INT64:
			return take_int(element, column);
		case TG_PHYSICAL_INT96: /* {nanoseconds of the day, Julian day} */
			column->type = TG_FILE_TIMESTAMP;
			column->digits = 6;
			return true;
		case TG_PHYSICAL_FLOAT:
		case TG_PHYSICAL_DOUBLE:
			column->type = TG_FILE_FLOAT;
			column->bits = element->physical == TG_PHYSICAL_FLOAT ? 32 : 64;
			return true;
		default:
			return take_bytes(element, column);
	}
}
