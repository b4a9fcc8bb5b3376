/*
 * sections_internal.h
 *	  Of sections.c, which writes sections, and sections_read.c: details of the format.
 */
#ifndef TG_SECTIONS_INTERNAL_H
#define TG_SECTIONS_INTERNAL_H

#include "runtime/durable/sections.h"

/* Of which rows something is true. */
#define TG_WAYS_NONE 0
#define TG_WAYS_ALL 1
#define TG_WAYS_SOME 2 /* a bitmap says it */
#define TG_WAYS_END 3

#define TG_BITMAP_BYTES(count) (((count) + 7) / 8)

static inline bool
tg_section_bit(const unsigned char *bits, unsigned at)
{
	return (bits[at / 8] >> at % 8 & 1) != 0;
}

#endif /* TG_SECTIONS_INTERNAL_H */
