/*
 * cover.h
 *	  Covers: what extends, a range or a box, as a short key in an ordered tree.
 *
 * A value is kept as one key, and an operator with its other side becomes a few ranges of keys, in which
 * every value lies that it may hold for.  Others lie there, too: so the operator is always asked as well.
 */
#ifndef TSURUGI_COVER_H
#define TSURUGI_COVER_H

#include "postgres.h"

#define TSURUGI_COVER_BYTES_MAX 12
#define TSURUGI_COVER_RANGES_MAX 256

/* The first byte: how large a value is.  In keys it is this byte, too, for those below are escaped (key.h). */
#define TSURUGI_COVER_LEVEL_FIRST 2
#define TSURUGI_COVER_LEVEL_MAX 39
#define TSURUGI_COVER_LEVEL(level) ((unsigned char) (TSURUGI_COVER_LEVEL_FIRST + (level)))

/* Both ends belong to it. */
typedef struct tsurugi_cover_range
{
	unsigned char low[TSURUGI_COVER_BYTES_MAX]; /* tsurugi_cover_bytes of them, and zeros */
	unsigned char high[TSURUGI_COVER_BYTES_MAX];
} tsurugi_cover_range;

/* What covers there are, as far as it is known: a bit for each level; of figures the first and the last cover of each, too. */
typedef struct tsurugi_cover_levels
{
	uint64 present;
	unsigned char first[TSURUGI_COVER_LEVEL_MAX + 1][TSURUGI_COVER_BYTES_MAX];
	unsigned char last[TSURUGI_COVER_LEVEL_MAX + 1][TSURUGI_COVER_BYTES_MAX];
} tsurugi_cover_levels;

/* Whether values of this base type have covers. */
extern bool tsurugi_cover_is_possible(Oid type);

/* The cover of a value that is not NULL, a bytea, of so many bytes. */
extern int tsurugi_cover_bytes(Oid type);
extern Datum tsurugi_cover(Oid type, Datum value);

/* Whether ranges can be told for "column operator value" by the operator's function. */
extern bool tsurugi_cover_answers(Oid function);

/*
 * The ranges, in order and apart from each other; at most TSURUGI_COVER_RANGES_MAX.  type: of the column; the value,
 * of its own type, is not NULL.  What there is not, by levels, is among the ranges, too, but not finely.  Returns their number; 0: the operator holds for none.
 */
extern int tsurugi_cover_query(Oid function, Oid type, Oid value_type, Datum value, const tsurugi_cover_levels *levels,
							   tsurugi_cover_range *ranges);

/* What lies in both: at most as many as both have together, less one; their number. */
extern int tsurugi_cover_intersect(const tsurugi_cover_range *a, int a_count, const tsurugi_cover_range *b, int b_count,
								   tsurugi_cover_range *ranges);

#endif /* TSURUGI_COVER_H */
