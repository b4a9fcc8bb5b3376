/*
 * find.h
 *	  Where a text has another one.
 */
#ifndef TG_FIND_H
#define TG_FIND_H

#include <stdint.h>

/* The first place of piece, of one byte or more, in text; NULL: it has none. */
extern const char *tg_text_find(const char *text, uint32_t bytes, const char *piece, uint32_t piece_bytes);

#endif /* TG_FIND_H */
