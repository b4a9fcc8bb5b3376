/*
 * program.h
 *	  Expressions over vectors: straight-line programs.
 *
 * A program computes expressions for all rows of a batch, one instruction after the other, each for
 * all rows.  There are no jumps: both branches of a CASE are computed, and one is chosen.  Its
 * registers are numbered: first the inputs, which the caller loads; then the constants; then the
 * results of instructions, each of which writes a register of its own.
 *
 * Where the host would raise an error (an overflow, a division by zero), or a value needs more than
 * 64 bits (DECIMAL: 120), the run ends with TG_UNFIT.  The host then computes the query itself, and
 * raises the error in its own words if there is one.  So a program need not know which of several
 * errors comes first.  A row whose value cannot matter, because a CASE has chosen another branch,
 * does not count: the instruction's register `only` tells.
 *
 * The result of an instruction is NULL where an operand is NULL, unless its comment says otherwise.
 *
 * A program is constant once it has been made, and is shared by tasks.  Each has registers of its
 * own (tg_registers), which keep nothing from one run to the next.
 */
#ifndef TG_PROGRAM_H
#define TG_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/vector/vector.h"

#define TG_REGISTER_MAX 1024 /* registers of a program */
#define TG_REGISTER_NONE UINT16_MAX

typedef enum tg_op
{
	/* INT, INT → INT; the result must fit into 64 bits, and into [low, high] */
	TG_OP_ADD,
	TG_OP_SUBTRACT,
	TG_OP_MULTIPLY,
	TG_OP_DIVIDE,	 /* integers: cut towards zero; b is not 0 */
	TG_OP_REMAINDER, /* with the sign of a */
	/* INT → INT */
	TG_OP_NEGATE,
	TG_OP_ABSOLUTE,
	TG_OP_ROUND,		/* divided by low, a power of ten, rounded half away from zero */
	TG_OP_RANGE,		/* a itself; must be in [low, high] */
	TG_OP_FLOOR_DIVIDE, /* divided by low, which is positive, cut towards minus infinity */
	TG_OP_MODULO,		/* what that leaves: 0 to low - 1 */
	/* of a date, days since 2000-01-01, not infinite, a date */
	TG_OP_TRUNC_MONTHS, /* the first day of the low months, counted from January, that it is in */
	TG_OP_ADD_MONTHS,	/* low months later; the last day of a month that is too short */
	TG_OP_YEAR,			/* of a date: days since 2000-01-01; not infinite */
	TG_OP_MONTH,
	TG_OP_DAY,
	/* INT, INT → BOOL */
	TG_OP_EQ,
	TG_OP_NE,
	TG_OP_LT,
	TG_OP_LE,
	TG_OP_GT,
	TG_OP_GE,
	/* FLOAT, FLOAT → FLOAT, as PostgreSQL's float8: no overflow, no underflow, no division by 0 */
	TG_OP_FLOAT_ADD,
	TG_OP_FLOAT_SUBTRACT,
	TG_OP_FLOAT_MULTIPLY,
	TG_OP_FLOAT_DIVIDE,
	TG_OP_FLOAT_NEGATE,
	TG_OP_FLOAT_ABSOLUTE,
	TG_OP_FLOAT_SQRT, /* of a value that is not negative */
	TG_OP_TO_FLOAT,	  /* INT → FLOAT: divided by low, a power of ten up to 10^22 */
	/* FLOAT, FLOAT → BOOL; NaN is equal to itself and above all others */
	TG_OP_FLOAT_EQ,
	TG_OP_FLOAT_NE,
	TG_OP_FLOAT_LT,
	TG_OP_FLOAT_LE,
	TG_OP_FLOAT_GT,
	TG_OP_FLOAT_GE,
	/* INT → DECIMAL, of scale low; b: none, or a BOOL: where it is not true, 0 of scale 0 */
	TG_OP_TO_DECIMAL,
	/* DECIMAL, DECIMAL → DECIMAL (decimal.h) */
	TG_OP_DECIMAL_ADD,
	TG_OP_DECIMAL_SUBTRACT,
	TG_OP_DECIMAL_MULTIPLY,
	TG_OP_DECIMAL_DIVIDE,	 /* b is not 0 */
	TG_OP_DECIMAL_REMAINDER, /* b is not 0 */
	TG_OP_DECIMAL_NEGATE,	 /* DECIMAL → DECIMAL */
	TG_OP_DECIMAL_ABSOLUTE,
	TG_OP_DECIMAL_TO_INT,	/* DECIMAL → INT, with low digits behind the point; high: tg_rounding */
	TG_OP_DECIMAL_TO_FLOAT, /* DECIMAL → FLOAT */
	/* DECIMAL, DECIMAL → BOOL, by value */
	TG_OP_DECIMAL_EQ,
	TG_OP_DECIMAL_NE,
	TG_OP_DECIMAL_LT,
	TG_OP_DECIMAL_LE,
	TG_OP_DECIMAL_GT,
	TG_OP_DECIMAL_GE,
	/* TEXT, TEXT → BOOL, byte by byte */
	TG_OP_TEXT_EQ,
	TG_OP_TEXT_NE,
	TG_OP_TEXT_LT,
	TG_OP_TEXT_LE,
	TG_OP_TEXT_GT,
	TG_OP_TEXT_GE,
	TG_OP_LIKE, /* TEXT → BOOL; more: tg_pattern */
	/* TEXT → TEXT: characters from low on, high of them; the encoding is UTF-8 or has single bytes;
	 * the result has at most TG_STRING_INLINE_MAX bytes; b: not used; more: not NULL if UTF-8 */
	TG_OP_SUBSTRING,
	TG_OP_SUBSTRING_TRIMMED, /* the same of a without the blanks at its end */
	/* TEXT → INT: characters, or bytes; more: as above; low is not 0: without blanks at the end */
	TG_OP_LENGTH,
	/* INT or TEXT → BOOL: one of the elements of the set; more: tg_set */
	TG_OP_IN,
	TG_OP_TEXT_IN,
	/* BOOL → BOOL, by three-valued logic: NULL and false is false */
	TG_OP_AND,
	TG_OP_OR,
	TG_OP_NOT,
	/* any → BOOL, never NULL */
	TG_OP_IS_NULL,
	TG_OP_IS_TRUE, /* BOOL alone */
	TG_OP_CHOOSE   /* any, of one type: a where the BOOL c is true, else b; NULL if the chosen one is */
} tg_op;

typedef struct tg_instruction
{
	uint8_t op;	 /* tg_op */
	uint16_t to; /* register of the result */
	uint16_t a;	 /* registers of the operands; TG_REGISTER_NONE: there is none */
	uint16_t b;
	uint16_t c;
	uint16_t only; /* a BOOL: rows where it is not true do not fail; TG_REGISTER_NONE: all may */
	int64_t low;
	int64_t high;
	const void *more;
} tg_instruction;

#define TG_ANY_CHARACTER 256 /* tokens of a pattern other than bytes */
#define TG_ANY_TEXT 257

/* A LIKE pattern: the pieces between the «%», escapes resolved. */
typedef struct tg_pattern
{
	/* with «_»: the whole pattern by tokens, and not by pieces; NULL: without */
	const uint16_t *tokens;
	unsigned token_count;
	bool utf8;			 /* a character may have several bytes */
	bool anchored_left;	 /* the first piece is a prefix */
	bool anchored_right; /* the last piece is a suffix */
	unsigned piece_count;
	const char *const *pieces; /* not empty, except for a single anchored one */
	const uint32_t *piece_bytes;
} tg_pattern;

/* Elements of IN, none of them NULL.  With has_null the answer is NULL where none is equal. */
typedef struct tg_set
{
	unsigned count;
	bool has_null;
	const int64_t *ints; /* ascending; or */
	const tg_string *texts;
} tg_set;

typedef struct tg_program
{
	uint16_t input_count;
	uint16_t constant_count;
	uint16_t register_count; /* all */
	uint16_t instruction_count;
	const uint8_t *types;		/* tg_vector_type of each register */
	const tg_vector *constants; /* each constant; INT with bits */
	const tg_instruction *instructions;
} tg_program;

/* The registers of one task for one program. */
typedef struct tg_registers
{
	tg_vector *vectors;
} tg_registers;

/* Bytes of memory that tg_registers_init needs for a program, 64-byte aligned. */
extern size_t tg_registers_bytes(const tg_program *program);

/*
 * Lays the registers of a program out in that memory, constants filled in.  The vector of an input
 * points to memory for TG_VECTOR_ROWS values and as many bytes of NULLs.  Before each run the
 * caller renews the inputs, fills these, or sets the pointers to where the values lie, and the bits
 * of INTs where it knows them; results have their own memory.
 *
 * An input that is an INT may lie where it is stored in fewer than 8 bytes a value: what compares
 * it with another such one, or with a constant, takes it so, and others widen it first, which
 * changes the input.
 *
 * An input may have codes.  An instruction that cannot fail, and of whose operands all have the
 * same codes, or are constant, is computed once for each value, and its result has these codes,
 * too.  For other instructions an operand is expanded first, which changes it.
 */
extern void tg_registers_init(tg_registers *registers, const tg_program *program, void *memory);

/* An input as tg_registers_init has left it: with its own memory. */
static inline void
tg_vector_renew(tg_vector *vector)
{
	vector->data = vector->own;
	vector->bytes = (uint8_t) tg_vector_width((tg_vector_type) vector->type);
	vector->nulls = (uint8_t *) vector->own + TG_VECTOR_ROWS * (size_t) vector->bytes;
	vector->bits = TG_BITS_UNKNOWN;
	vector->codes = NULL;
}

/*
 * A register with codes gets values and NULLs by row, of the rows at[i], or, where at is NULL, i;
 * others stay as they are.
 */
extern void tg_vector_expand(tg_vector *vector, const uint16_t *at, unsigned count);

/* Computes all instructions for count rows (≤ TG_VECTOR_ROWS).  TG_OK, TG_UNFIT. */
extern tg_status tg_program_run(const tg_program *program, tg_registers *registers, unsigned count) TG_MUST_USE;

/*
 * Whether each instruction that reads an input cannot fail, and reads nothing else but constants:
 * so that codes of the input would serve it.
 */
extern bool tg_program_reads_alone(const tg_program *program, uint16_t input);

/* Whether a run may end with TG_UNFIT. */
extern bool tg_program_may_fail(const tg_program *program);

/* The comparison of y with x for that of x with y, of INTs; others are returned as they are. */
extern tg_op tg_op_mirrored(tg_op op);

/* Bits with |value| < 2^bits; TG_BITS_UNKNOWN for those beyond 63. */
extern unsigned tg_int_bits(int64_t value);

/* Measures the bits of an INT vector, unless they are known; rows that are NULL count. */
extern unsigned tg_vector_measure(tg_vector *vector, unsigned count);

#endif /* TG_PROGRAM_H */
