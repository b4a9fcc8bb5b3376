/*
 * cover.h
 *	  Covers: values with an extent, such as ranges or boxes, as short keys in an ordered tree.
 *
 * A value is stored as one key.  An operator with its other operand becomes a few ranges of keys;
 * every value for which it may hold lies in one of them.  Other values lie there, too, so the
 * operator is always evaluated as well.
 */
#ifndef TSURUGI_COVER_H
#define TSURUGI_COVER_H

#include "postgres.h"

#define TSURUGI_COVER_BYTES_MAX 12
#define TSURUGI_COVER_RANGES_MAX 256

/*
 * The first byte of a cover: the size of a value.  Keys have this byte unchanged, because only
 * lower ones are escaped (key.h).
 */
#define TSURUGI_COVER_LEVEL_FIRST 2
#define TSURUGI_COVER_LEVEL_MAX 39
#define TSURUGI_COVER_LEVEL(level) ((unsigned char) (TSURUGI_COVER_LEVEL_FIRST + (level)))

/* Both ends are included. */
typedef struct tsurugi_cover_range
{
	unsigned char low[TSURUGI_COVER_BYTES_MAX]; /* tsurugi_cover_bytes of them, then zeros */
	unsigned char high[TSURUGI_COVER_BYTES_MAX];
} tsurugi_cover_range;

/*
 * Which covers exist, as far as is known: a bit for each level; for figures also the first and the
 * last cover of each level.
 */
typedef struct tsurugi_cover_levels
{
	uint64 present;
	unsigned char first[TSURUGI_COVER_LEVEL_MAX + 1][TSURUGI_COVER_BYTES_MAX];
	unsigned char last[TSURUGI_COVER_LEVEL_MAX + 1][TSURUGI_COVER_BYTES_MAX];
} tsurugi_cover_levels;

/* Whether values of this base type have covers. */
extern bool tsurugi_cover_is_possible(Oid type);

/* The number of bytes of a cover; and the cover of a value that is not NULL, a bytea. */
extern int tsurugi_cover_bytes(Oid type);
extern Datum tsurugi_cover(Oid type, Datum value);

/* Whether an operator's function allows to compute ranges for "column operator value". */
extern bool tsurugi_cover_answers(Oid function);

/*
 * Computes the ranges, sorted and disjoint; at most TSURUGI_COVER_RANGES_MAX.  type: the column's;
 * the value, of its own type, is not NULL.  Levels without covers are in the ranges, too, but
 * coarsely.  Returns the number of ranges; 0: the operator holds for no value.
 */
extern int tsurugi_cover_query(Oid function, Oid type, Oid value_type, Datum value, const tsurugi_cover_levels *levels,
							   tsurugi_cover_range *ranges);

/*
 * The intersection of two sets of ranges: at most as many as both have together, less one; returns
 * their number.
 */
extern int tsurugi_cover_intersect(const tsurugi_cover_range *a, int a_count, const tsurugi_cover_range *b, int b_count,
								   tsurugi_cover_range *ranges);

#endif /* TSURUGI_COVER_H */
