/*
 * cell.h
 *	  From values of a file to values as a table stores them.
 *
 * A cell says how values of one column of a file become those of one column of a table.  The host
 * makes it, because it knows its types: their ranges, their epoch, the headers of their strings.
 */
#ifndef TG_BATCH_CELL_H
#define TG_BATCH_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/format/columns.h"
#include "runtime/order/value.h"

typedef enum tg_cell_form
{
	TG_CELL_WORD,	 /* integers, and what is counted from an epoch: (value * multiply / divide) + offset */
	TG_CELL_FLOAT4,	 /* from the bits of a double */
	TG_CELL_FLOAT8,	 /* likewise */
	TG_CELL_DECIMAL, /* an integer times multiply, of 8 or 16 bytes */
	TG_CELL_TEXT,	 /* a string that has to be UTF-8, without zeros */
	TG_CELL_BYTES,	 /* any string */
	TG_CELL_16		 /* 16 bytes as they are */
} tg_cell_form;

typedef struct tg_cell
{
	uint16_t source; /* column of the file, */
	uint16_t column; /* and of the table */
	uint8_t form;	 /* tg_cell_form */
	bool not_null;
	bool is_checked;  /* TEXT: the reader of the file has made sure of it */
	bool is_unsigned; /* WORD: in the file */
	bool is_endless;  /* WORD: the file has numbers that are smaller and larger than any */
	bool is_wide;	  /* DECIMAL: of 16 bytes */
	int64_t multiply; /* WORD, DECIMAL */
	int64_t divide;	  /* WORD; rounded down */
	int64_t offset;
	int64_t low; /* WORD: the smallest and the largest that the host has, */
	int64_t high;
	int64_t lowest; /* and, if endless, what is smaller (also the number after it) and larger than any: in the file, */
	int64_t highest;
	int64_t endless_low; /* and in the host */
	int64_t endless_high;
	uint64_t limit_low; /* DECIMAL: any value is smaller, whatever its sign: an integer of 128 bits */
	uint64_t limit_high;
	uint32_t bytes_max; /* TEXT, BYTES: longer ones are refused */
	tg_file_shape seen; /* of the file's column, when the cell was made; of CSV all zeros */
} tg_cell;

/* What is wrong with a value. */
typedef enum tg_cell_fault
{
	TG_CELL_FITS,
	TG_CELL_IS_NULL,   /* and must not be */
	TG_CELL_OUT,	   /* out of range */
	TG_CELL_NOT_UTF8,  /* or has a zero */
	TG_CELL_TOO_LONG,  /* longer than bytes_max */
	TG_CELL_NO_MEMORY, /* for its bytes */
} tg_cell_fault;

/* Memory for the strings of some rows: given from a block, which is the caller's. */
typedef struct tg_cell_memory
{
	unsigned char *data;
	size_t bytes;
	size_t used;
} tg_cell_memory;

/*
 * Where values of rows go, column by column: those of row i in column c of the table are at
 * [c * pitch + i].  Each row has the first fault of its cells, and the column that has it.
 */
typedef struct tg_cell_rows
{
	tg_value *values;
	bool *nulls;
	unsigned pitch;
	uint8_t *faults; /* tg_cell_fault */
	uint16_t *columns;
} tg_cell_rows;

/*
 * Adds to the sums the bytes of memory that values of the rows [first, first + count) need at most:
 * one sum a row.
 */
extern void tg_cell_add_bytes(const tg_cell *cell, const tg_file_values *values, uint32_t first, unsigned count,
							  uint64_t *sums);

/*
 * The values of the rows [first, first + count), of a column without lists; of rows that have no
 * fault yet.  A string that does not lie in the value lies in memory, as the host's datum with a
 * header of 4 bytes.
 */
extern void tg_cell_take(const tg_cell *cell, const tg_file_values *values, uint32_t first, unsigned count,
						 tg_cell_memory *memory, const tg_cell_rows *rows);

#endif /* TG_BATCH_CELL_H */
