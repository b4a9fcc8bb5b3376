/*
 * taker.h
 *	  Rows of a plan for code that takes them as they are stored, many at once and column by column,
 *	  instead of one by one in a slot.
 *
 * The plan's uppermost node, or a child of an Append that is the uppermost one, gives the rows
 * while the executor runs the plan, and then says that it has none.  Whether a node does may not be
 * known before its first row: until then, and from other children, rows come in slots.
 */
#ifndef TSURUGI_TAKER_H
#define TSURUGI_TAKER_H

#include "nodes/execnodes.h"

typedef struct tg_vectors tg_vectors;		/* vectors.h */
typedef struct tsurugi_codec tsurugi_codec; /* src/value/codec.h */

/* A column of the rows: which of the vectors it is, and how that is stored. */
typedef struct tsurugi_taken
{
	int vector;
	const tsurugi_codec *codec;
} tsurugi_taken;

typedef struct tsurugi_taker
{
	/*
	 * Takes the rows [first, first + count) of vectors, which stay as they are until it returns.
	 * columns: one for each of the result; a node passes the same array with all of its rows.
	 */
	void (*take)(void *argument, const tsurugi_taken *columns, const tg_vectors *vectors, uint32 first, uint32 count);
	void *argument;
	int column_count; /* of the result */
} tsurugi_taker;

/*
 * The attributes of the tuple that a node of a scan projects, from 0, one for each column of its
 * result but for junk; in the current memory context.  NULL: it computes something else, or has
 * another number of columns.
 */
extern int *tsurugi_taken_attributes(const PlanState *node, int column_count);

/* Has a scan of a table give its rows, after the executor's start, if it can. */
extern void tsurugi_scan_give(PlanState *node, const tsurugi_taker *taker);

#endif /* TSURUGI_TAKER_H */
