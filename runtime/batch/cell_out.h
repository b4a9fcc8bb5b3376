/*
 * cell_out.h
 *	  From values as a table stores them to values of a file: rows of vectors into a block.
 *
 * A cell_out says how the values of one vector become those of one column of a file.  The host
 * makes it, because it knows its types: their epoch, the headers of their strings.  Values of types
 * for which there is no form are put by a function of the host's, a column at a time.
 */
#ifndef TG_BATCH_CELL_OUT_H
#define TG_BATCH_CELL_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/format/columnar_out.h"

typedef struct tg_vectors tg_vectors; /* vectors.h */

typedef enum tg_cell_out_form
{
	TG_OUT_HOST,	/* by the host's function */
	TG_OUT_WORD,	/* as they are */
	TG_OUT_UINT4,	/* the lower 4 bytes, without a sign */
	TG_OUT_SINCE,	/* counted from an epoch: plus offset, with two values that are smaller and larger than any */
	TG_OUT_FLOAT4,	/* the bits of a float */
	TG_OUT_DECIMAL, /* an integer of 8 bytes, */
	TG_OUT_WIDE,	/* and of 16; but for its largest value, which the file does not have */
	TG_OUT_TEXT,	/* a string, behind its header */
	TG_OUT_16,		/* 16 bytes */
	TG_OUT_SPAN		/* us of 8 bytes, days of 4, months of 4: become months, days, ns */
} tg_cell_out_form;

typedef struct tg_cell_out
{
	uint8_t form;		  /* tg_cell_out_form */
	uint8_t header_bytes; /* TEXT: of a string outside its value */
	bool takes_largest;	  /* DECIMAL, WIDE: the file has the largest value, too */
	uint16_t vector;	  /* which of the vectors */
	int64_t offset;		  /* SINCE */
	int64_t lowest;		  /* SINCE: what is smaller and larger than any value: in the table, */
	int64_t highest;
	int64_t endless_low; /* and in the file */
	int64_t endless_high;
} tg_cell_out;

typedef struct tg_cells_out
{
	const tg_cell_out *cells; /* one for each column of the file */
	unsigned count;
	/*
	 * Puts the values of the rows [first, first + count) into a column whose form is HOST, or of
	 * which the file cannot have one of them.  It may leave by a jump.  NULL: TG_UNFIT is returned.
	 */
	tg_status (*host)(void *argument, unsigned column, const tg_vectors *vectors, uint32_t first, uint32_t count);
	void *argument;
} tg_cells_out;

/*
 * Puts rows from *first_inout on, up to an end, into a block that has room for one, until it is
 * full; *first_inout counts them.  The strings of a vector are read.  TG_AGAIN: the block is full.
 * Otherwise nothing more has been put than *first_inout says.  TG_UNFIT; TG_NO_MEMORY and
 * TG_TOO_LARGE: of the block.
 */
extern tg_status tg_cells_put(const tg_cells_out *cells, tg_columnar_block *block, const tg_vectors *vectors,
							  uint32_t *first_inout, uint32_t end) TG_MUST_USE;

#endif /* TG_BATCH_CELL_OUT_H */
