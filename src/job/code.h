/*
 * code.h
 *	  A job's steps as programs: from the expressions of tsurugi_job to a tg_plan.
 */
#ifndef TSURUGI_JOB_CODE_H
#define TSURUGI_JOB_CODE_H

#include "postgres.h"

#include "src/job/emit.h"
#include "src/job/job.h"
#include "src/value/codec.h"

typedef struct tg_plan tg_plan; /* plan.h */

/* What is made of a group's keys and totals: a column that the node hands out. */
typedef struct tsurugi_job_column
{
	enum
	{
		TSURUGI_COLUMN_KEY,
		TSURUGI_COLUMN_COUNT,
		TSURUGI_COLUMN_COUNTS, /* their sum */
		TSURUGI_COLUMN_SUM,
		TSURUGI_COLUMN_AVERAGE,
		TSURUGI_COLUMN_EXTREME /* MIN, MAX, and, or */
	} what;
	int number;		/* of the key, or of the aggregate */
	uint8_t vector; /* of the key, or of the aggregate's argument: its register, */
	Oid type;		/* base type, */
	int32 typmod;	/* length: bpchar, */
	int scale;		/* and scale: numeric */
	int scaled;		/* the aggregate that counts the values of that scale; -1: all have it */
} tsurugi_job_column;

/* A column that the session feeds. */
typedef struct tsurugi_fed_column
{
	int position; /* in the rows of the child plan */
	tsurugi_codec codec;
} tsurugi_fed_column;

typedef struct tsurugi_job_code tsurugi_job_code;

/*
 * Translates all expressions of a job whose tables are described, in the current memory context.
 * node: by whose means constants are evaluated; NULL in the planner, which only wants to know.
 * NULL: it cannot be done.
 */
extern tsurugi_job_code *tsurugi_job_translate(const tsurugi_job *job, PlanState *node);

/*
 * Of a translation without a node: whether it would be the same with one, as all values that have
 * gone into it are constants.
 */
extern bool tsurugi_job_is_constant(const tsurugi_job_code *code);

/* The columns: keys, then aggregates. */
extern const tsurugi_job_column *tsurugi_job_columns(const tsurugi_job_code *code);
extern int tsurugi_job_total_count(const tsurugi_job_code *code);

/* Of a job that hands rows out: how each column is stored. */
extern const tsurugi_codec *tsurugi_job_codecs(const tsurugi_job_code *code);

/* The columns that a step with a feed wants, in their order. */
extern const tsurugi_fed_column *tsurugi_job_fed_columns(const tsurugi_job_code *code, int step, int *count_out);

/* Whether it can hand them out before it has ended: nothing that it then computes can be unfit. */
extern bool tsurugi_job_streams(const tsurugi_job_code *code);

/* Lays the plan out in the query's memory.  False: that is refused. */
extern bool tsurugi_job_finish(const tsurugi_job_code *code, tsurugi_query_memory *memory, tg_plan *plan_out);

#endif /* TSURUGI_JOB_CODE_H */
