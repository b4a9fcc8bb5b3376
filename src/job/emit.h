/*
 * emit.h
 *	  Programs of the engine under construction.
 *
 * Registers of a program are numbered when it is finished: inputs, constants, results.  Until then
 * a register is a place, which says its class and its number there.
 */
#ifndef TSURUGI_JOB_EMIT_H
#define TSURUGI_JOB_EMIT_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "runtime/vector/decimal.h"
#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "runtime/query/plan.h"

typedef struct tg_query tg_query; /* query.h */

typedef uint16_t tsurugi_place; /* or TG_REGISTER_NONE */

/* An expression in a register, and what PostgreSQL knows of it. */
typedef struct tsurugi_operand
{
	tsurugi_place place;
	uint8_t vector; /* tg_vector_type */
	Oid type;		/* base type */
	int32 typmod;	/* bpchar: of the column; -1: unknown length */
	/* numeric in an INT: the register has the value times 10 to this power */
	int scale;
	/*
	 * numeric in an INT: a BOOL; where it is not true, the value is a zero of scale 0.
	 * TG_REGISTER_NONE: all have the scale above.
	 */
	tsurugi_place scaled;
} tsurugi_operand;

typedef struct tsurugi_constant
{
	uint8_t vector;
	bool known; /* not in the planner, where values of parameters are not known */
	bool null;
	union
	{
		bool truth;
		int64 integer;
		double real;
		tg_decimal decimal;
		struct varlena *text; /* with a header of 4 bytes */
	};
} tsurugi_constant;

/* Rows whose value counts: those of a branch of a CASE, or of a later operand of AND or OR. */
typedef struct tsurugi_mask
{
	struct tsurugi_mask *outer;
	tsurugi_place condition;
	enum
	{
		TSURUGI_WHERE_TRUE,
		TSURUGI_WHERE_NOT_TRUE,
		TSURUGI_WHERE_NOT_FALSE
	} where;
	tsurugi_place place; /* a BOOL, once it has been needed */
} tsurugi_mask;

typedef struct tsurugi_program
{
	int input_count;
	int input_room;
	tg_input *inputs;
	uint8_t *input_types;
	int constant_count;
	int constant_room;
	tsurugi_constant *constants;
	int instruction_count;
	int instruction_room;
	tg_instruction *instructions; /* registers are places */
	uint8_t *result_types;
	tsurugi_mask *mask; /* NULL: all rows count */
	List *computed;		/* what is in a register already (translate.c) */
} tsurugi_program;

extern tsurugi_program *tsurugi_program_make(void);

/* The place of an input; the same for the same one. */
extern tsurugi_place tsurugi_emit_input(tsurugi_program *program, tg_input input, tg_vector_type type);

/* A constant; and an integer. */
extern tsurugi_place tsurugi_emit_constant(tsurugi_program *program, const tsurugi_constant *constant);
extern tsurugi_place tsurugi_emit_integer(tsurugi_program *program, int64 value);

/* The constant at a place; NULL: there is none, but an input or a result. */
extern const tsurugi_constant *tsurugi_constant_at(const tsurugi_program *program, tsurugi_place place);

/*
 * An instruction: the place of its result.  One with bounds may fail; rows that the program's mask
 * leaves out do not make it fail.
 */
extern tsurugi_place tsurugi_emit(tsurugi_program *program, tg_op op, tg_vector_type type, tsurugi_place a,
								  tsurugi_place b);
extern tsurugi_place tsurugi_emit_bounded(tsurugi_program *program, tg_op op, tg_vector_type type, tsurugi_place a,
										  tsurugi_place b, int64 low, int64 high);
extern tsurugi_place tsurugi_emit_with(tsurugi_program *program, tg_op op, tsurugi_place a, int64 low, int64 high,
									   tg_vector_type type, const void *more);
/* TO_DECIMAL of an INT of that scale. */
extern tsurugi_place tsurugi_emit_converted(tsurugi_program *program, tsurugi_place a, tsurugi_place scaled, int scale);
extern tsurugi_place tsurugi_emit_choose(tsurugi_program *program, tg_vector_type type, tsurugi_place condition,
										 tsurugi_place then, tsurugi_place otherwise);

/* The registers that a program has by now. */
extern int tsurugi_program_registers(const tsurugi_program *program);

/* Memory that lives as long as the query, zeroed, 16-byte aligned; NULL: refused. */
typedef struct tsurugi_query_memory
{
	tg_session *session;
	tg_query *query;
	char *next; /* of the block that small pieces are taken from */
	size_t left;
	char *zeroed; /* up to here */
	bool refused;
} tsurugi_query_memory;

extern void *tsurugi_query_take(tsurugi_query_memory *memory, size_t bytes);

/* The program in the query's memory; false: refused.  And the number of a place's register. */
extern bool tsurugi_program_finish(const tsurugi_program *program, tsurugi_query_memory *memory,
								   tg_expressions *expressions_out);
extern uint16_t tsurugi_register_of(const tsurugi_program *program, tsurugi_place place);

#endif /* TSURUGI_JOB_EMIT_H */
