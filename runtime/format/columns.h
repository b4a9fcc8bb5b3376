/*
 * columns.h
 *	  Columns of files and their values, the same for all formats.
 *
 * Readers give values in this form, and writers take them, so what becomes of them is the same
 * whatever the format.
 */
#ifndef TG_COLUMNS_H
#define TG_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_FILE_COLUMNS_MAX 1600
#define TG_FILE_BATCH 1024			  /* rows, at most */
#define TG_FILE_FOOTER_MAX (16 << 20) /* bytes of the metadata */
#define TG_FILE_NESTING_MAX 32		  /* nodes that are within each other */
#define TG_FILE_NODES_MAX 16384		  /* of all nested columns of a file */

typedef enum tg_file_type
{
	TG_FILE_UNREADABLE, /* of a kind that is not supported */
	TG_FILE_BOOL,
	TG_FILE_INT,	   /* of `bits` bits */
	TG_FILE_UINT,	   /* the same without a sign */
	TG_FILE_FLOAT,	   /* of 16, 32 or 64 bits; the word has the bits of a double */
	TG_FILE_DECIMAL,   /* integer times 10^-scale; `bytes`: big-endian two's complement */
	TG_FILE_DATE,	   /* days since 1970-01-01 */
	TG_FILE_TIME,	   /* of the day, in units of 10^-digits s */
	TG_FILE_TIMESTAMP, /* since 1970-01-01 00:00, likewise */
	TG_FILE_INTERVAL,  /* little-endian numbers; digits 3: months, days, ms, 4 bytes each and unsigned;
						* 9: months and days of 4 bytes, ns of 8 */
	TG_FILE_STRING,
	TG_FILE_JSON,
	TG_FILE_BINARY,
	TG_FILE_UUID,  /* 16 bytes */
	TG_FILE_NULL,  /* has NULLs only */
	TG_FILE_NESTED /* structs, maps, lists of such: a tree of nodes */
} tg_file_type;

typedef struct tg_file_column
{
	const char *name; /* as in the file: in UTF-8, unchecked */
	uint8_t type;	  /* tg_file_type; of a list: of its elements */
	uint8_t bits;	  /* INT, UINT, FLOAT */
	uint8_t digits;	  /* TIME, TIMESTAMP: 0, 3, 6 or 9; INTERVAL: 3 or 9 */
	bool utc;		  /* TIME, TIMESTAMP: a moment; else what a clock on some wall shows */
	bool nullable;
	bool list;			   /* of such values */
	bool element_nullable; /* of a list */
	bool is_bytes;		   /* values are tg_file_bytes; else words */
	int32_t precision;	   /* DECIMAL */
	int32_t scale;
	uint32_t width;					  /* BINARY: of each value; 0: they differ */
	const char *stored;				  /* the physical type, or why it is UNREADABLE */
	const struct tg_file_node *nodes; /* NESTED: node_count of them, of which the first is the column */
	unsigned node_count;
} tg_file_column;

typedef enum tg_file_node_kind
{
	TG_NESTED_VALUE,
	TG_NESTED_STRUCT,
	TG_NESTED_LIST,
	TG_NESTED_MAP
} tg_file_node_kind;

/*
 * A part of a nested column.  Nodes are a list, in which each is followed by what is in it: a
 * STRUCT by its fields, which may be none; a LIST by its element; a MAP by its entry, a STRUCT of
 * two fields, of which the first, the key, is a VALUE.
 */
typedef struct tg_file_node
{
	tg_file_column column; /* its name as a field, and what a VALUE is, which is no list */
	uint8_t kind;		   /* tg_file_node_kind */
	unsigned end;		   /* the node behind the last that is in it */
} tg_file_node;

/* What the code that takes values of a column rests on. */
typedef struct tg_file_shape
{
	uint8_t type;
	uint8_t bits;
	uint8_t digits;
	bool list;
	bool utc;
	bool is_bytes;
	uint16_t none; /* 0: shapes are compared byte by byte */
	int32_t precision;
	int32_t scale;
	uint32_t width;
} tg_file_shape;

static inline tg_file_shape
tg_file_shape_of(const tg_file_column *column)
{
	return (tg_file_shape){.type = column->type,
						   .bits = column->bits,
						   .digits = column->digits,
						   .list = column->list,
						   .utc = column->utc,
						   .is_bytes = column->is_bytes,
						   .precision = column->precision,
						   .scale = column->scale,
						   .width = column->width};
}

typedef struct tg_file_bytes
{
	const uint8_t *data;
	size_t count;
} tg_file_bytes;

/*
 * Values of a column: `count` rows; a list's are those of all of its rows, one after the other.
 *
 * A nested column has some for each node.  Fields of a STRUCT have as many as it has itself, and
 * what they are where it is NULL is of no meaning; a LIST's element has as many as its ends say.
 */
typedef struct tg_file_values
{
	const uint8_t *nulls; /* 1: NULL; of rows; NULL: none is */
	const uint32_t *ends; /* of a list: where each row's elements end; a NULL has none */
	const uint8_t *element_nulls;
	const int64_t *words;
	const tg_file_bytes *bytes;
	const struct tg_file_values *nodes; /* NESTED: of each node */
} tg_file_values;

#endif /* TG_COLUMNS_H */
