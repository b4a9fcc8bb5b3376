/*
 * parquet_element.h
 *	  Elements of the schema of a Parquet file.
 */
#ifndef TG_PARQUET_ELEMENT_H
#define TG_PARQUET_ELEMENT_H

#include "runtime/format/parquet_internal.h"

/* parquet.thrift, FieldRepetitionType */
typedef enum tg_repetition
{
	TG_REPETITION_REQUIRED = 0,
	TG_REPETITION_OPTIONAL = 1,
	TG_REPETITION_REPEATED = 2
} tg_repetition;

/* parquet.thrift, LogicalType: the field that is set */
typedef enum tg_logical
{
	TG_LOGICAL_NONE = 0,
	TG_LOGICAL_STRING = 1,
	TG_LOGICAL_MAP = 2,
	TG_LOGICAL_LIST = 3,
	TG_LOGICAL_ENUM = 4,
	TG_LOGICAL_DECIMAL = 5,
	TG_LOGICAL_DATE = 6,
	TG_LOGICAL_TIME = 7,
	TG_LOGICAL_TIMESTAMP = 8,
	TG_LOGICAL_INTEGER = 10,
	TG_LOGICAL_NULL = 11,
	TG_LOGICAL_JSON = 12,
	TG_LOGICAL_UUID = 14,
	TG_LOGICAL_FLOAT16 = 15
} tg_logical;

/* Bytes lie in the metadata. */
typedef struct tg_element
{
	int physical; /* -1: a group */
	int64_t width;
	int repetition; /* tg_repetition */
	const uint8_t *name;
	size_t name_bytes;
	int64_t children;
	int converted; /* -1: none */
	int logical;   /* tg_logical: of the newer kind of annotation, or what the older one says */
	int64_t scale;
	int64_t precision;
	bool utc;
	int digits; /* of TIME and TIMESTAMP */
	int64_t bits;
	bool is_signed;
} tg_element;

/* The next one of the list; what its fields are is not checked. */
extern tg_element tg_element_read(tg_thrift *thrift, const tg_thrift_field *list_element);

/* What a value is; false: its annotation does not fit. */
extern bool tg_element_describe(const tg_element *element, tg_file_column *column) TG_MUST_USE;

#endif /* TG_PARQUET_ELEMENT_H */
