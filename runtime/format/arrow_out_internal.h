/*
 * arrow_out_internal.h
 *	  What the files of an Arrow writer share.
 */
#ifndef TG_ARROW_OUT_INTERNAL_H
#define TG_ARROW_OUT_INTERNAL_H

#include "runtime/format/arrow_format.h"
#include "runtime/format/columnar_out_internal.h"
#include "runtime/format/flat_out.h"

/* Where a record batch is: an element of the writer's places. */
typedef struct tg_arrow_place
{
	uint64_t offset;
	uint64_t body_bytes;
	uint32_t metadata_bytes; /* before the body */
} tg_arrow_place;

/* --- arrow_out.c --- */

/* Begins the metadata of a message; its place.  Its header is to be linked. */
extern size_t tg_arrow_begin_message(tg_flat_out *out, tg_arrow_header kind, size_t body_bytes);

/* Writes a message without its body. */
extern tg_status tg_arrow_write_message(tg_columnar_out *file, const void *metadata, size_t bytes) TG_MUST_USE;

/* --- arrow_out_schema.c --- */

/* The beginning and the end of a file or a stream. */
extern tg_status tg_arrow_begin(tg_columnar_out *file) TG_MUST_USE;
extern tg_status tg_arrow_finish(tg_columnar_out *file) TG_MUST_USE;

#endif /* TG_ARROW_OUT_INTERNAL_H */
