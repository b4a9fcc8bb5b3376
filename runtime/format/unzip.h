/*
 * unzip.h
 *	  Files that are compressed as a whole, decompressed as they are read.
 *
 * Memory is bounded by the formats: gzip has a window of 32 kB, and zstd one of at most 128 MB
 * here, which is its library's default; a file that wants more is refused.
 */
#ifndef TG_UNZIP_H
#define TG_UNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

typedef enum tg_packing
{
	TG_PACKING_NONE,
	TG_PACKING_GZIP,
	TG_PACKING_ZSTD
} tg_packing;

typedef struct tg_unzip
{
	tg_packing packing;
	void *state;   /* the library's; NULL: nothing is open */
	bool is_whole; /* what has been read ends where a member or a frame does */
} tg_unzip;

/* TG_NO_MEMORY. */
extern tg_status tg_unzip_begin(tg_unzip *unzip, tg_packing packing) TG_MUST_USE;

/*
 * Decompresses from `in` into `out`, as far as either reaches; both are moved behind what has been
 * used.  Members and frames may follow each other.  TG_DAMAGED: it is not compressed so, or wants
 * too large a window.
 */
extern tg_status tg_unzip_step(tg_unzip *unzip, const uint8_t **in, size_t *in_bytes, uint8_t **out,
							   size_t *out_bytes) TG_MUST_USE;

extern void tg_unzip_end(tg_unzip *unzip);

#endif /* TG_UNZIP_H */
