/*
 * parquet_schema.c
 *	  From the schema of a Parquet file to columns.
 *
 * The schema is a tree, written as a list, each element followed by its children.  The root's
 * children are the columns.  One of them is a value, or a list of values; lists are written in one
 * of these ways (LogicalTypes.md, Lists, with its rules of backward compatibility):
 *
 *	optional group a (LIST) { repeated group list { optional int32 element; } }		three levels
 *	optional group a (LIST) { repeated int32 element; }								two
 *	repeated int32 a;																one
 */
#include "runtime/format/parquet_internal.h"

#include <string.h>

#define NESTING_MAX 8
#define INTERVAL_BYTES 12
#define UUID_BYTES 16
#define DECIMAL_DIGITS_MAX 76

typedef enum repetition
{
	REQUIRED = 0,
	OPTIONAL = 1,
	REPEATED = 2
} repetition;

/* parquet.thrift, ConvertedType */
typedef enum converted
{
	CONVERTED_UTF8 = 0,
	CONVERTED_MAP = 1,
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

/* parquet.thrift, LogicalType: the field that is set */
typedef enum logical
{
	LOGICAL_NONE = 0,
	LOGICAL_STRING = 1,
	LOGICAL_MAP = 2,
	LOGICAL_LIST = 3,
	LOGICAL_ENUM = 4,
	LOGICAL_DECIMAL = 5,
	LOGICAL_DATE = 6,
	LOGICAL_TIME = 7,
	LOGICAL_TIMESTAMP = 8,
	LOGICAL_INTEGER = 10,
	LOGICAL_NULL = 11,
	LOGICAL_JSON = 12,
	LOGICAL_UUID = 14,
	LOGICAL_FLOAT16 = 15
} logical;

typedef struct element
{
	int physical; /* -1: a group */
	int64_t width;
	int repetition;
	const uint8_t *name;
	size_t name_bytes;
	int64_t children;
	int converted; /* -1: none */
	int logical;
	int64_t scale;
	int64_t precision;
	bool utc;
	int digits; /* of TIME and TIMESTAMP */
	int64_t bits;
	bool is_signed;
} element;

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
read_logical_fields(tg_thrift *thrift, element *element)
{
	tg_thrift_field field = {0};

	while (tg_thrift_next(thrift, &field))
	{
		if (element->logical == LOGICAL_DECIMAL && field.id == 1)
			element->scale = tg_thrift_integer(thrift, &field);
		else if (element->logical == LOGICAL_DECIMAL && field.id == 2)
			element->precision = tg_thrift_integer(thrift, &field);
		else if (element->logical == LOGICAL_INTEGER && field.id == 1)
			element->bits = tg_thrift_integer(thrift, &field);
		else if (element->logical == LOGICAL_INTEGER && field.id == 2)
			element->is_signed = tg_thrift_bool(thrift, &field);
		else if ((element->logical == LOGICAL_TIME || element->logical == LOGICAL_TIMESTAMP) && field.id == 1)
			element->utc = tg_thrift_bool(thrift, &field);
		else if ((element->logical == LOGICAL_TIME || element->logical == LOGICAL_TIMESTAMP) && field.id == 2)
			element->digits = read_unit(thrift, &field);
		else
			tg_thrift_skip(thrift, &field);
	}
}

static void
read_logical(tg_thrift *thrift, const tg_thrift_field *union_field, element *element)
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

static element
read_element(tg_thrift *thrift, const tg_thrift_field *list_element)
{
	element element = {.physical = -1, .converted = -1, .repetition = REQUIRED};
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
	return element;
}

/* --- types ------------------------------------------------------------------------------ */

/* The logical type of an element that has only the older kind of annotation. */
static void
take_converted(element *element)
{
	int converted = element->converted;

	if (element->logical != LOGICAL_NONE || converted < 0)
		return;
	switch (converted)
	{
		case CONVERTED_UTF8:
			element->logical = LOGICAL_STRING;
			break;
		case CONVERTED_ENUM:
			element->logical = LOGICAL_ENUM;
			break;
		case CONVERTED_DECIMAL:
			element->logical = LOGICAL_DECIMAL;
			break;
		case CONVERTED_DATE:
			element->logical = LOGICAL_DATE;
			break;
		case CONVERTED_TIME_MILLIS:
		case CONVERTED_TIME_MICROS:
			element->logical = LOGICAL_TIME;
			element->digits = converted == CONVERTED_TIME_MILLIS ? 3 : 6;
			break;
		case CONVERTED_TIMESTAMP_MILLIS:
		case CONVERTED_TIMESTAMP_MICROS:
			element->logical = LOGICAL_TIMESTAMP;
			element->digits = converted == CONVERTED_TIMESTAMP_MILLIS ? 3 : 6;
			element->utc = true; /* LogicalTypes.md: they are normalized to UTC */
			break;
		case CONVERTED_JSON:
			element->logical = LOGICAL_JSON;
			break;
		case CONVERTED_MAP:
			element->logical = LOGICAL_MAP;
			break;
		case CONVERTED_LIST:
			element->logical = LOGICAL_LIST;
			break;
		default:
			if (converted >= CONVERTED_UINT_8 && converted <= CONVERTED_INT_64)
			{
				element->logical = LOGICAL_INTEGER;
				element->is_signed = converted >= CONVERTED_INT_8;
				element->bits = 8 << (converted - (element->is_signed ? CONVERTED_INT_8 : CONVERTED_UINT_8));
			}
	}
}

static bool
take_decimal(const element *element, tg_file_column *column)
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
take_integer(const element *element, tg_file_column *column, unsigned bits)
{
	column->type = TG_FILE_INT;
	column->bits = (uint8_t) bits;
	if (element->logical != LOGICAL_INTEGER)
		return true;
	if (!element->is_signed)
		column->type = TG_FILE_UINT;
	column->bits = (uint8_t) element->bits;
	return element->bits == 64 ? bits == 64 : element->bits == 8 || element->bits == 16 || element->bits == 32;
}

static bool
take_time(const element *element, tg_file_column *column, unsigned bits)
{
	column->type = element->logical == LOGICAL_TIME ? TG_FILE_TIME : TG_FILE_TIMESTAMP;
	column->digits = (uint8_t) element->digits;
	column->utc = element->utc;
	if (column->type == TG_FILE_TIME && (element->digits == 3) != (bits == 32))
		return false;
	return element->digits != 0 && (column->type == TG_FILE_TIME || bits == 64);
}

static bool
take_int(const element *element, tg_file_column *column)
{
	unsigned bits = element->physical == TG_PHYSICAL_INT32 ? 32 : 64;

	switch (element->logical)
	{
		case LOGICAL_DECIMAL:
			return take_decimal(element, column);
		case LOGICAL_DATE:
			column->type = TG_FILE_DATE;
			return bits == 32;
		case LOGICAL_TIME:
		case LOGICAL_TIMESTAMP:
			return take_time(element, column, bits);
		case LOGICAL_NULL:
			column->type = TG_FILE_NULL;
			return true;
		default:
			return take_integer(element, column, bits);
	}
}

static bool
take_bytes(const element *element, tg_file_column *column)
{
	bool fixed = element->physical == TG_PHYSICAL_FIXED;

	column->is_bytes = true;
	column->type = TG_FILE_BINARY;
	if (element->logical == LOGICAL_DECIMAL)
		return take_decimal(element, column);
	if (element->logical == LOGICAL_UUID)
	{
		column->type = TG_FILE_UUID;
		return fixed && element->width == UUID_BYTES;
	}
	if (element->logical == LOGICAL_FLOAT16)
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
	if (element->logical == LOGICAL_STRING || element->logical == LOGICAL_ENUM)
		column->type = TG_FILE_STRING;
	else if (element->logical == LOGICAL_JSON)
		column->type = TG_FILE_JSON;
	else if (element->logical == LOGICAL_NULL)
		column->type = TG_FILE_NULL;
	if (column->type == TG_FILE_BINARY && fixed)
		column->width = (uint32_t) element->width;
	return true;
}

/* What a value is; false: its annotation does not fit. */
static bool
take_type(const element *element, tg_file_column *column)
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

/* --- the tree --------------------------------------------------------------------------- */

typedef struct walk
{
	tg_parquet *file;
	tg_thrift *thrift;
	const tg_thrift_field *list_element;
	uint32_t elements_left;
	unsigned chunks; /* values passed */
} walk;

static tg_status
damaged(const walk *walk, const char *what)
{
	return tg_file_fault_note(&walk->file->fault, TG_DAMAGED, 0, "%s", what);
}

/* The next element of the list. */
static tg_status
next_element(walk *walk, element *element_out)
{
	if (walk->elements_left == 0)
		return damaged(walk, "the schema has fewer elements than it names");
	walk->elements_left--;
	*element_out = read_element(walk->thrift, walk->list_element);
	take_converted(element_out);
	if (walk->thrift->failed || element_out->name == NULL || element_out->children < 0 ||
		element_out->repetition < REQUIRED || element_out->repetition > REPEATED ||
		element_out->physical >= TG_PHYSICAL_COUNT || element_out->physical < -1 ||
		(element_out->physical < 0) != (element_out->children > 0))
		return damaged(walk, "an element of the schema is malformed");
	if (element_out->physical == TG_PHYSICAL_FIXED && (element_out->width < 1 || element_out->width > INT32_MAX))
		return damaged(walk, "a type of fixed width has none");
	return TG_OK;
}

/* Passes over an element's children. */
static tg_status
skip_children(walk *walk, const element *of, unsigned depth)
{
	element child;
	tg_status status = TG_OK;

	if (of->physical >= 0)
		walk->chunks++;
	if (depth > NESTING_MAX)
		return tg_file_fault_note(&walk->file->fault, TG_UNFIT, 0,
								  "columns that are nested deeper than %d are not supported", NESTING_MAX);
	for (int64_t i = 0; i < of->children && status == TG_OK; i++)
	{
		status = next_element(walk, &child);
		if (status == TG_OK)
			status = skip_children(walk, &child, depth + 1);
	}
	return status;
}

static tg_status
take_value(walk *walk, const element *element, tg_file_column *column, tg_leaf *leaf)
{
	leaf->physical = (uint8_t) element->physical;
	leaf->width = (uint32_t) element->width;
	leaf->chunk = walk->chunks++;
	if (!take_type(element, column))
		return tg_file_fault_note(&walk->file->fault, TG_UNFIT, 0,
								  "the logical type of column \"%s\" does not fit its physical type", column->name);
	return TG_OK;
}

static tg_status
unreadable(walk *walk, const element *element, tg_file_column *column, const char *why)
{
	column->type = TG_FILE_UNREADABLE;
	column->stored = why;
	return skip_children(walk, element, 1);
}

/* A group with the annotation LIST. */
static tg_status
take_list(walk *walk, const element *group, tg_file_column *column, tg_leaf *leaf)
{
	element repeated;
	element value;
	tg_status status = next_element(walk, &repeated);

	if (status != TG_OK)
		return status;
	leaf->list_level = (uint8_t) (group->repetition == OPTIONAL) + 1;
	leaf->level_max = leaf->list_level;
	column->list = true;
	if (repeated.repetition == REPEATED && repeated.physical >= 0)
		return take_value(walk, &repeated, column, leaf);
	if (repeated.repetition == REPEATED && repeated.children == 1)
	{
		status = next_element(walk, &value);
		if (status != TG_OK)
			return status;
		if (value.physical >= 0 && value.repetition != REPEATED)
		{
			column->element_nullable = value.repetition == OPTIONAL;
			leaf->level_max += column->element_nullable;
			return take_value(walk, &value, column, leaf);
		}
		return unreadable(walk, &value, column, "LIST of groups");
	}
	return unreadable(walk, &repeated, column, "LIST of groups");
}

static tg_status
take_column(walk *walk, const element *element, tg_file_column *column, tg_leaf *leaf)
{
	column->nullable = element->repetition == OPTIONAL;
	if (element->physical >= 0)
	{
		column->list = element->repetition == REPEATED;
		leaf->list_level = column->list;
		leaf->level_max = column->list || column->nullable;
		return take_value(walk, element, column, leaf);
	}
	if (element->repetition == REPEATED)
		return unreadable(walk, element, column, "repeated group");
	if (element->logical == LOGICAL_LIST && element->children == 1)
		return take_list(walk, element, column, leaf);
	return unreadable(walk, element, column, element->logical == LOGICAL_MAP ? "MAP" : "group");
}

/* A copy of the name, with a zero behind it. */
static tg_status
take_name(walk *walk, const element *element, char **next, tg_file_column *column)
{
	if (memchr(element->name, 0, element->name_bytes) != NULL)
		return damaged(walk, "the name of a column has a zero byte");
	memcpy(*next, element->name, element->name_bytes);
	(*next)[element->name_bytes] = 0;
	column->name = *next;
	*next += element->name_bytes + 1;
	return TG_OK;
}

static tg_status
take_columns(walk *walk, int64_t count)
{
	tg_parquet *file = walk->file;
	char *next;
	tg_status status = TG_OK;

	if (count == 0)
		return damaged(walk, "the file has no columns");
	if (count > TG_FILE_COLUMNS_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, 0, "the file has %lld columns, more than %d",
								  (long long) count, TG_FILE_COLUMNS_MAX);
	/* names lie in the metadata, each once, with at least a byte beside */
	if (!tg_buffer_reserve(&file->memory, &file->columns, count * sizeof(tg_file_column)) ||
		!tg_buffer_reserve(&file->memory, &file->leaves, count * sizeof(tg_leaf)) ||
		!tg_buffer_reserve(&file->memory, &file->wanted, count * sizeof(bool)) ||
		!tg_buffer_reserve(&file->memory, &file->readers, count * sizeof(tg_chunk_reader)) ||
		!tg_buffer_reserve(&file->memory, &file->names, file->footer.room + count))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "no memory for the columns of a file");
	memset(file->columns.data, 0, count * sizeof(tg_file_column));
	memset(file->leaves.data, 0, count * sizeof(tg_leaf));
	memset(file->wanted.data, 0, count * sizeof(bool));
	memset(file->readers.data, 0, count * sizeof(tg_chunk_reader));
	file->column_count = (unsigned) count;
	next = file->names.data;
	for (int64_t i = 0; i < count && status == TG_OK; i++)
	{
		element element;

		status = next_element(walk, &element);
		if (status == TG_OK)
			status = take_name(walk, &element, &next, &tg_columns(file)[i]);
		if (status == TG_OK)
			status = take_column(walk, &element, &tg_columns(file)[i], &tg_leaves(file)[i]);
	}
	return status;
}

tg_status
tg_schema_read(tg_parquet *file, tg_thrift *thrift, const tg_thrift_field *field)
{
	tg_thrift_field list_element;
	walk walk = {.file = file, .thrift = thrift, .list_element = &list_element};
	element root;
	tg_status status;

	if (file->column_count > 0)
		return damaged(&walk, "the file has two schemas");
	walk.elements_left = tg_thrift_list(thrift, field, &list_element);
	if (walk.elements_left == 0)
		return damaged(&walk, "the file has no schema");
	walk.elements_left--;
	root = read_element(thrift, &list_element);
	if (thrift->failed || root.children < 0)
		return damaged(&walk, "the schema is malformed");
	status = take_columns(&walk, root.children);
	if (status == TG_OK && walk.elements_left > 0)
		status = damaged(&walk, "the schema has more elements than it names");
	file->chunk_count = walk.chunks;
	return status;
}
