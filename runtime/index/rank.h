/*
 * rank.h
 *	  Byte strings between two others.
 */
#ifndef TG_RANK_H
#define TG_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_RANK_DIGIT_BYTES 8

/* Longest rank.  8 bytes unless many values came in between two others. */
#define TG_RANK_BYTES_MAX 1024

/* Is above all ranks; one digit. */
extern const unsigned char tg_rank_above_all[TG_RANK_DIGIT_BYTES];

/*
 * On which side of each new value of a gap the next one came: the newest in the lowest bit, 1 =
 * above, and a 1 before the oldest.  No turns have the bit TG_RANK_TURNS_NEVER.
 */
#define TG_RANK_NO_TURNS UINT64_C(1)
#define TG_RANK_TURNS_NEVER (UINT64_C(1) << 63)
extern uint64_t tg_rank_turns_add(uint64_t turns, bool is_above);

/*
 * Makes a rank above low (no bytes: there is none below) and below high (NULL: there is none
 * above), where the gap between them has had these turns.  Returns its bytes; 0: it would be too
 * long.
 */
extern size_t tg_rank_make(const unsigned char *low, size_t low_bytes, const unsigned char *high, size_t high_bytes,
						   uint64_t turns, unsigned char rank[TG_RANK_BYTES_MAX]);

/* Whether these bytes, aligned or not, may be the result of tg_rank_make. */
extern bool tg_rank_is_right(const unsigned char *rank, size_t rank_bytes);

#endif /* TG_RANK_H */
