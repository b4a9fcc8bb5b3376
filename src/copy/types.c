/*
 * types.c
 *	  Which type of PostgreSQL a column of a file has, and the other way round.
 *
 * A column of texts fits every type, as in COPY of other formats: the type's input function judges
 * each value.  One that is nested, or has lists, becomes JSON.  Otherwise the kinds have to be the
 * same, so that a file for another table is refused before a row is stored.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/uuid.h"

#define DIGITS_MAX 38 /* of a DECIMAL that is written */
#define BIGGEST_UNSIGNED_DIGITS 20

/* --- read ----------------------------------------------------------------------------- */

static bool
is_integer(const tg_file_column *column)
{
	return column->type == TG_FILE_INT || column->type == TG_FILE_UINT ||
		   (column->type == TG_FILE_DECIMAL && column->scale == 0);
}

static bool
is_text_type(Oid type)
{
	char category;
	bool preferred;

	get_type_category_preferred(type, &category, &preferred);
	return category == TYPCATEGORY_STRING;
}

static bool
value_fits(const tg_file_column *column, Oid type)
{
	bool number = is_integer(column) || column->type == TG_FILE_FLOAT || column->type == TG_FILE_DECIMAL;

	switch (type)
	{
		case BOOLOID:
			return column->type == TG_FILE_BOOL;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
			return is_integer(column);
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return number;
		case DATEOID:
			return column->type == TG_FILE_DATE;
		case TIMEOID:
			return column->type == TG_FILE_TIME && !column->utc;
		case TIMETZOID:
			return column->type == TG_FILE_TIME && column->utc;
		case TIMESTAMPOID:
			return column->type == TG_FILE_DATE || (column->type == TG_FILE_TIMESTAMP && !column->utc);
		case TIMESTAMPTZOID:
			return column->type == TG_FILE_TIMESTAMP && column->utc;
		case INTERVALOID:
			return column->type == TG_FILE_INTERVAL;
		case BYTEAOID:
			return column->type == TG_FILE_BINARY;
		case UUIDOID:
			return column->type == TG_FILE_UUID || (column->type == TG_FILE_BINARY && column->width == UUID_LEN);
		case JSONOID:
		case JSONBOID:
			return column->type == TG_FILE_NESTED;
		default:
			return is_text_type(type);
	}
}

bool
tsurugi_column_fits(const tg_file_column *column, Oid type)
{
	Oid base = getBaseType(type);

	if (column->type == TG_FILE_NULL && !column->list)
		return true;
	if (column->list && (base == JSONOID || base == JSONBOID))
		return true;
	if (column->list)
	{
		base = get_element_type(base);
		if (!OidIsValid(base))
			return false;
		base = getBaseType(base);
	}
	return column->type == TG_FILE_STRING || column->type == TG_FILE_JSON || column->type == TG_FILE_NULL ||
		   value_fits(column, base);
}

static char *
type_of_value(const tg_file_column *column)
{
	switch ((tg_file_type) column->type)
	{
		case TG_FILE_BOOL:
			return pstrdup("boolean");
		case TG_FILE_INT:
			return pstrdup(column->bits <= 16 ? "smallint" : column->bits == 32 ? "integer" : "bigint");
		case TG_FILE_UINT:
			if (column->bits == 64)
				return psprintf("numeric(%d,0)", BIGGEST_UNSIGNED_DIGITS);
			return pstrdup(column->bits == 8 ? "smallint" : column->bits == 16 ? "integer" : "bigint");
		case TG_FILE_FLOAT:
			return pstrdup(column->bits <= 32 ? "real" : "double precision");
		case TG_FILE_DECIMAL:
			return psprintf("numeric(%d,%d)", column->precision, column->scale);
		case TG_FILE_DATE:
			return pstrdup("date");
		case TG_FILE_TIME:
			return pstrdup(column->utc ? "time with time zone" : "time without time zone");
		case TG_FILE_TIMESTAMP:
			return pstrdup(column->utc ? "timestamp with time zone" : "timestamp without time zone");
		case TG_FILE_INTERVAL:
			return pstrdup("interval");
		case TG_FILE_JSON:
			return pstrdup("json");
		case TG_FILE_BINARY:
			return pstrdup("bytea");
		case TG_FILE_UUID:
			return pstrdup("uuid");
		case TG_FILE_NESTED:
			return pstrdup("jsonb");
		case TG_FILE_STRING:
		case TG_FILE_NULL:
		case TG_FILE_UNREADABLE:
			break;
	}
	return pstrdup("text");
}

char *
tsurugi_type_of_column(const tg_file_column *column)
{
	char *type = type_of_value(column);

	return column->list ? psprintf("%s[]", type) : type;
}

/* --- written --------------------------------------------------------------------------- */

/* numeric(p,s) is a DECIMAL if that has the digits; other numerics are texts. */
static void
take_numeric(int32 typmod, tg_file_column *column)
{
	int precision = (typmod - VARHDRSZ) >> 16 & 0xFFFF;
	int scale = (((typmod - VARHDRSZ) & 0x7FF) ^ 1024) - 1024; /* as in numeric.c */

	if (typmod < (int32) VARHDRSZ || precision > DIGITS_MAX || scale < 0 || scale > precision)
		return;
	column->type = TG_FILE_DECIMAL;
	column->precision = precision;
	column->scale = scale;
}

static void
take_type(Oid type, int32 typmod, tg_file_column *column)
{
	static const struct
	{
		Oid type;
		tg_file_type file;
		int bits;
		int digits;
		bool utc;
	} known[] = {{BOOLOID, TG_FILE_BOOL, 0, 0, false},
				 {INT2OID, TG_FILE_INT, 16, 0, false},
				 {INT4OID, TG_FILE_INT, 32, 0, false},
				 {INT8OID, TG_FILE_INT, 64, 0, false},
				 {OIDOID, TG_FILE_UINT, 32, 0, false},
				 {FLOAT4OID, TG_FILE_FLOAT, 32, 0, false},
				 {FLOAT8OID, TG_FILE_FLOAT, 64, 0, false},
				 {DATEOID, TG_FILE_DATE, 0, 0, false},
				 {TIMEOID, TG_FILE_TIME, 0, 6, false},
				 {TIMESTAMPOID, TG_FILE_TIMESTAMP, 0, 6, false},
				 {TIMESTAMPTZOID, TG_FILE_TIMESTAMP, 0, 6, true},
				 {JSONOID, TG_FILE_JSON, 0, 0, false},
				 {JSONBOID, TG_FILE_JSON, 0, 0, false},
				 {BYTEAOID, TG_FILE_BINARY, 0, 0, false},
				 {UUIDOID, TG_FILE_UUID, 0, 0, false}};

	column->type = TG_FILE_STRING;
	if (type == NUMERICOID)
		take_numeric(typmod, column);
	for (int i = 0; i < lengthof(known); i++)
		if (known[i].type == type)
		{
			column->type = known[i].file;
			column->bits = (uint8) known[i].bits;
			column->digits = (uint8) known[i].digits;
			column->utc = known[i].utc;
		}
}

bool
tsurugi_column_of_type(Oid type, int32 typmod, tg_file_column *column)
{
	Oid base = getBaseTypeAndTypmod(type, &typmod);
	Oid element = get_element_type(base);

	column->nullable = true;
	if (OidIsValid(element) && get_array_type(element) == base)
	{
		column->list = true;
		column->element_nullable = true;
		base = getBaseTypeAndTypmod(element, &typmod);
	}
	take_type(base, typmod, column);
	return column->type == TG_FILE_STRING;
}
