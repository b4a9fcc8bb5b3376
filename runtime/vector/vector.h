/*
 * vector.h
 *	  A vector: the values of one expression for up to TG_VECTOR_ROWS rows.
 *
 * Values lie densely, row after row, in one of five types.  A numeric of known scale is an INT, the
 * value times 10 to the power of the scale; so are integers, dates, times and timestamps.  One
 * whose scale depends on the row, as a quotient's does, is a DECIMAL.  What does not fit into 64 or
 * 120 bits is not computed here: the kernel that meets it answers TG_UNFIT, and the host computes
 * the whole query in its own way, with its own errors (program.h).
 *
 * The value beside a NULL means nothing, but it is one that kernels can compute with.
 *
 * A vector with codes has each of a few values once, in data, and for each row the number of its
 * value.  Only programs make and read such ones, and who asks for them (program.h).
 */
#ifndef TG_VECTOR_H
#define TG_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"

#define TG_VECTOR_ROWS 1024

typedef enum tg_vector_type
{
	TG_V_BOOL,	 /* uint8_t: 0 or 1 */
	TG_V_INT,	 /* int64_t */
	TG_V_FLOAT,	 /* double */
	TG_V_TEXT,	 /* tg_string: a string under a collation that compares bytes */
	TG_V_DECIMAL /* tg_decimal */
} tg_vector_type;

#define TG_BITS_UNKNOWN 64

typedef struct tg_vector
{
	void *data;		/* as many values as there are rows; one, if it is constant */
	uint8_t *nulls; /* a byte a row, 1: NULL; or NULL: no row is NULL */
	uint8_t type;	/* tg_vector_type */
	uint8_t bits;	/* INT: |value| < 2^bits for each row; TG_BITS_UNKNOWN: not measured */
	bool constant;	/* the first value, and the first byte of nulls, stand for all rows */
	/* INT: bytes of a value in data, 8; of a program's input also 4, 2 or 1 (program.h) */
	uint8_t bytes;
	uint8_t code_count;	  /* with codes: of the values in data, and of the bytes of nulls */
	const uint8_t *codes; /* by row; NULL: none, values and nulls are by row */
	void *own;			  /* the register's memory, where it has some */
} tg_vector;

#define TG_VECTOR_CODES_MAX 64

static inline size_t
tg_vector_width(tg_vector_type type)
{
	static const uint8_t widths[] = {
		[TG_V_BOOL] = 1, [TG_V_INT] = 8, [TG_V_FLOAT] = 8, [TG_V_TEXT] = 16, [TG_V_DECIMAL] = 16};

	return widths[type];
}

#endif /* TG_VECTOR_H */
