/*
 * thrift.h
 *	  Thrift's compact protocol, as far as the metadata of Parquet need it.
 *
 * (Apache Thrift, thrift-compact-protocol.md.)  A reader goes through a struct's fields; those that
 * it does not know it skips.  After a fault every call returns nothing, so that callers look at
 * `failed` once, at the end.  A nesting deeper than TG_THRIFT_DEPTH is a fault.
 */
#ifndef TG_THRIFT_H
#define TG_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_THRIFT_DEPTH 16

typedef enum tg_thrift_type
{
	TG_THRIFT_TRUE = 1, /* of a field: its value; of a list's elements: any boolean */
	TG_THRIFT_FALSE = 2,
	TG_THRIFT_BYTE = 3,
	TG_THRIFT_I16 = 4,
	TG_THRIFT_I32 = 5,
	TG_THRIFT_I64 = 6,
	TG_THRIFT_DOUBLE = 7,
	TG_THRIFT_BINARY = 8,
	TG_THRIFT_LIST = 9,
	TG_THRIFT_SET = 10,
	TG_THRIFT_MAP = 11,
	TG_THRIFT_STRUCT = 12
} tg_thrift_type;

typedef struct tg_thrift
{
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
} tg_thrift;

/* A field of the struct that is being read. */
typedef struct tg_thrift_field
{
	int16_t id; /* 0 before the first one */
	uint8_t type;
} tg_thrift_field;

/* The next field of a struct; false: it has ended, or there was a fault. */
extern bool tg_thrift_next(tg_thrift *thrift, tg_thrift_field *field);

/*
 * The field's value, which must be of that type; else there is a fault.  The integers may have any
 * width; bytes are in the memory that is read.
 */
extern bool tg_thrift_bool(tg_thrift *thrift, const tg_thrift_field *field);
extern int64_t tg_thrift_integer(tg_thrift *thrift, const tg_thrift_field *field);
extern const uint8_t *tg_thrift_bytes(tg_thrift *thrift, const tg_thrift_field *field, size_t *bytes_out);

/*
 * The number of a list's elements, which have this type; then each element is read by the functions
 * of its type, with this field.  No list has more elements than there are bytes left.
 */
extern uint32_t tg_thrift_list(tg_thrift *thrift, const tg_thrift_field *field, tg_thrift_field *element_out);

/* Whether it is a struct; if not, there is a fault.  Then its fields are read. */
extern bool tg_thrift_struct(tg_thrift *thrift, const tg_thrift_field *field);

/* Passes over the field's value. */
extern void tg_thrift_skip(tg_thrift *thrift, const tg_thrift_field *field);

/* --- writing: into memory with room enough ----------------------------------------------- */

typedef struct tg_thrift_out
{
	uint8_t *at;
	uint8_t *end;
	bool full; /* there was no room, and it is not whole */
	int16_t ids[TG_THRIFT_DEPTH];
	unsigned depth; /* of structs */
} tg_thrift_out;

extern void tg_thrift_put_integer(tg_thrift_out *out, int16_t id, tg_thrift_type type, int64_t value);
extern void tg_thrift_put_bool(tg_thrift_out *out, int16_t id, bool value);
extern void tg_thrift_put_bytes(tg_thrift_out *out, int16_t id, const void *data, size_t bytes);
extern void tg_thrift_put_list(tg_thrift_out *out, int16_t id, tg_thrift_type element, uint32_t count);
/* Elements of a list have no id. */
extern void tg_thrift_put_element(tg_thrift_out *out, int64_t value);
extern void tg_thrift_put_element_bytes(tg_thrift_out *out, const void *data, size_t bytes);
/* id 0: an element of a list. */
extern void tg_thrift_begin(tg_thrift_out *out, int16_t id);
extern void tg_thrift_end(tg_thrift_out *out);

#endif /* TG_THRIFT_H */
