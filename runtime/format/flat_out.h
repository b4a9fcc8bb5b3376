/*
 * flat_out.h
 *	  Flatbuffers that are written, as far as flat.h reads them.
 *
 * What refers to something is put before it: references lead on.  So a table is put with its fields
 * zero, then what the fields refer to, and then they are linked.  All places are those of the
 * buffer's bytes, and aligned as the format wants it, if the buffer is at a multiple of 8.  After a
 * failure, for lack of memory, nothing more is put, and callers look at `failed` once, at the end.
 */
#ifndef TG_FLAT_OUT_H
#define TG_FLAT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/format/source.h"

#define TG_FLAT_FIELDS_MAX 8

typedef struct tg_flat_out
{
	tg_file_memory *memory;
	tg_buffer *buffer; /* is made larger */
	size_t bytes;	   /* in it */
	bool failed;
} tg_flat_out;

/* Begins with a table, whose fields have so many bytes each; 0: the field is absent. */
extern size_t tg_flat_begin(tg_flat_out *out, const uint8_t *field_bytes, unsigned count);

/* Any other table; its place. */
extern size_t tg_flat_put_table(tg_flat_out *out, const uint8_t *field_bytes, unsigned count);

/* A vector of zeros, which begin at a multiple of 8; its place. */
extern size_t tg_flat_put_vector(tg_flat_out *out, size_t count, unsigned element_bytes);
extern size_t tg_flat_put_string(tg_flat_out *out, const char *text);

/* Sets a field that is there, of so many bytes; lets it refer to a place. */
extern void tg_flat_set(tg_flat_out *out, size_t table, unsigned field, unsigned bytes, int64_t value);
extern void tg_flat_link(tg_flat_out *out, size_t table, unsigned field, size_t to);

/* Lets an element of a vector refer to a table; where its elements begin. */
extern void tg_flat_link_element(tg_flat_out *out, size_t vector, size_t i, size_t to);
extern uint8_t *tg_flat_elements(tg_flat_out *out, size_t vector);

/* Ends at a multiple of 8. */
extern void tg_flat_finish(tg_flat_out *out);

#endif /* TG_FLAT_OUT_H */
