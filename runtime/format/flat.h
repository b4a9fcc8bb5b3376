/*
 * flat.h
 *	  Flatbuffers, as far as the metadata of Arrow need them.
 *
 * (FlatBuffers Internals.)  A table begins with the distance to its vtable, which has the place of
 * each field in it, or 0.  Tables, vectors and strings are referred to by their distance.
 *
 *	vtable	| bytes of it, 2 | bytes of the table, 2 | place of field 0, 2 | of field 1 ...
 *	table	| distance back to its vtable, 4 | fields ...
 *	vector	| number of elements, 4 | elements ...
 *
 * A reader compares each place with the bytes that there are before it reads there, at any
 * alignment.  After a fault every call returns nothing, so that callers look at `failed` once, at
 * the end.  Places only lead on, never back; but two may lead to the same table, so who follows
 * them recursively limits how many it visits.
 */
#ifndef TG_FLAT_H
#define TG_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tg_flat
{
	const uint8_t *data;
	uint32_t bytes;
	bool failed;
} tg_flat;

/* The place of a table; 0: there is none, and all of its fields are absent. */
typedef uint32_t tg_flat_table;

/* A vector of a table; count 0: absent, or empty. */
typedef struct tg_flat_vector
{
	uint32_t at; /* of its first element */
	uint32_t count;
} tg_flat_vector;

extern tg_flat_table tg_flat_root(tg_flat *flat);

/* A field that is an integer of 1, 2, 4 or 8 bytes, with its sign; `otherwise` if it is absent. */
extern int64_t tg_flat_integer(tg_flat *flat, tg_flat_table table, unsigned field, unsigned bytes, int64_t otherwise);

extern tg_flat_table tg_flat_inner(tg_flat *flat, tg_flat_table table, unsigned field);

/* A field that is a vector of elements of so many bytes. */
extern tg_flat_vector tg_flat_list(tg_flat *flat, tg_flat_table table, unsigned field, unsigned element_bytes);

/* An element of a vector of tables. */
extern tg_flat_table tg_flat_element(tg_flat *flat, const tg_flat_vector *vector, uint32_t i);

/* A string: its bytes, which have no end of their own; NULL: it is absent. */
extern const uint8_t *tg_flat_string(tg_flat *flat, tg_flat_table table, unsigned field, uint32_t *bytes_out);

/* Whether it is there and is this one. */
extern bool tg_flat_string_is(tg_flat *flat, tg_flat_table table, unsigned field, const char *text);

#endif /* TG_FLAT_H */
