/*
 * summary.h
 *	  What is known of all values of a column in a settled chunk: the least, the greatest, NULLs; of
 *	  strings that are few, which they are, and where each is.
 *
 * Scans pass a chunk over if no value in it can be one that they look for.  What a query computes
 * from a string alone it computes once for each of few strings, and looks it up for each row.  A
 * summary is made column by column, when a scan has found that it would have helped, or to group
 * the rows of a table that seems to be in the order of the column.  It is gone when the chunk has
 * been written to, and may be missing at any moment.
 */
#ifndef TG_SUMMARY_H
#define TG_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/names.h"
#include "runtime/order/value.h"

/* How the values of a column are ordered.  A column has the same order at all times. */
typedef enum tg_bounds_order
{
	TG_BOUNDS_INT,	/* signed integers: KIND_1 to KIND_8, and KIND_16, where they fit into 8 bytes */
	TG_BOUNDS_FLOAT /* KIND_8: floats, by their ranks */
} tg_bounds_order;

/* Of the values that are not NULL; low is above high if there are none. */
typedef struct tg_bounds
{
	int64_t low;
	int64_t high;
	bool has_null;
} tg_bounds;

#define TG_CODES_MAX 64 /* different values of a column, NULL among them */

/*
 * The different values of a column of strings, and which of them each slot has.  Two are the same
 * if their bytes are: blanks count, and collations do not matter.
 */
typedef struct tg_codes
{
	uint16_t count;		  /* of values */
	bool has_null;		  /* the last one is NULL; its cell is an empty string */
	const uint8_t *nulls; /* by value: 1, if it is NULL; */
	const uint8_t *slots; /* by slot: its value's number; of a slot that is free, any */
	tg_string values[];	  /* cells as in the chunk, which their blobs belong to */
} tg_codes;

/*
 * The place of a float among all: NaN is equal to itself and above all others, zeros of both signs
 * are equal.  Ranks are ordered as the floats are.
 */
static inline int64_t
tg_float_rank(double value)
{
	int64_t bits;

	if (value != value)
		return INT64_MAX;
	if (value == 0)
		return 0;
	memcpy(&bits, &value, sizeof(bits));
	return bits < 0 ? (int64_t) ((uint64_t) bits ^ INT64_MAX) : bits;
}

/*
 * The bounds of a column in all rows of the chunk that a snapshot sees which was published before.
 * False: they are not known, or the chunk is not settled.  Inside an epoch.
 */
extern bool tg_summary_get(const tg_chunk *chunk, unsigned column, tg_bounds_order order, tg_bounds *bounds_out);

/*
 * Makes them known, if the chunk is settled and there is memory to spare.  Inside an epoch.
 */
extern void tg_summary_make(tg_session *session, tg_chunk *chunk, unsigned column, tg_bounds_order order);

/*
 * The codes of a column of strings, as of tg_summary_get; NULL: they are not known.  They, and the
 * blobs of their values, stay until the epoch is left.  The blobs stay for longer, as long as those
 * of any row of the chunk that the snapshot sees.
 */
extern const tg_codes *tg_codes_get(const tg_chunk *chunk, unsigned column);

/*
 * Makes them known, if the chunk is settled, there is memory to spare, and the column has no more
 * than TG_CODES_MAX values, all of them short.  Where it has more, that is remembered.  The chunk
 * has the column.  Inside an epoch, for a snapshot that has been published.
 */
extern void tg_codes_make(tg_session *session, tg_chunk *chunk, unsigned column);

/* Whether memory is so short that summaries are to go. */
extern bool tg_summaries_are_to_go(void);

#define TG_SUMMARY_CODED_MAX 15 /* columns of a chunk that have codes */
#define TG_SUMMARY_RETIREMENTS (1 + TG_SUMMARY_CODED_MAX)

/*
 * Drops a chunk's summary, if it has one.  The caller has reserved so many retirements for it.
 * Inside an epoch.
 */
extern void tg_summary_drop(tg_session *session, tg_chunk *chunk);

/* Frees the summary of a chunk that no session reads. */
extern void tg_summary_free(tg_session *session, tg_chunk *chunk);

#endif /* TG_SUMMARY_H */
