/*
 * code_internal.h
 *	  What code.c makes and lay_out.c lays out.
 */
#ifndef TSURUGI_JOB_CODE_INTERNAL_H
#define TSURUGI_JOB_CODE_INTERNAL_H

#include "runtime/query/plan.h"
#include "src/job/code.h"
#include "src/job/translate.h"

#define FIELDS_MAX 128 /* of a build, keys included */

/* As tg_operator; registers are places in its programs. */
typedef struct OperatorCode
{
	uint8_t kind;
	uint8_t join;
	uint16_t build;
	tsurugi_program *program;
	tsurugi_place condition;
	int key_count;
	tsurugi_place keys[TG_PLAN_KEYS_MAX];
	tsurugi_program *match; /* or NULL */
	tsurugi_place match_condition;
} OperatorCode;

typedef struct StepCode
{
	List *operators; /* of OperatorCode */
	tsurugi_program *sink;
	int key_count;
	int field_count; /* keys first */
	tsurugi_place fields[FIELDS_MAX];
	/* FEED: the columns that expressions have, as the feed's; room for all of the child's */
	int fed_count;
	tsurugi_fed_column *fed;
	/* GROUP: */
	tsurugi_job_column *columns;
	int aggregate_count;
	tg_aggregate *aggregates;	 /* registers are places in the sink */
	const Aggref **aggregate_of; /* the expression that each is first of */
	/* SORT: */
	tsurugi_program *order; /* or NULL */
	int sort_key_count;
	tg_sort_key *sort_keys; /* registers are places in `order` */
	uint64_t limit;
	/* STORE: by column of the table's storage */
	tg_store_column *store_columns;
	int check_count;
	tsurugi_place *checks;
} StepCode;

struct tsurugi_job_code
{
	const tsurugi_job *job;
	PlanState *node;
	bool has_unknown; /* a value that is not known without a node */
	int step_count;
	StepCode *steps;
	tsurugi_codec *codecs; /* of each column, if rows are handed out */
};

/* The translation of an expression for a place in a step. */
typedef struct Where
{
	tsurugi_translation translation;
	tsurugi_job_code *code;
	int step;
	int passed; /* matches that the row has */
	int match;	/* the number of the one whose pairs are looked at, from 1; 0: none */
} Where;

#define JOB_PASSED_ALL (TG_PLAN_PROBES_MAX + 1)

/* --- code.c --- */

extern Where tsurugi_job_where(tsurugi_job_code *code, int step, int passed, tsurugi_program *program);

/* Whether all tables of a step store the column in the same way. */
extern bool tsurugi_job_stored_alike(const tsurugi_job_step *step, AttrNumber attribute);

/* Translates an expression of the rows at the end of a step, into a program of its own. */
extern bool tsurugi_job_translate_at_end(tsurugi_job_code *code, int number, tsurugi_program *program, Node *expr,
										 tsurugi_operand *out);

/* The feed's column of a step that reads one, which becomes fed; -1: it cannot be. */
extern int tsurugi_job_fed_column(tsurugi_job_code *code, int number, const Var *var);

/*
 * The field of a build for places in its sinks: one for each step that it is of, the first one's
 * first.  -1: there is no room.
 */
extern int tsurugi_job_field_of(tsurugi_job_code *code, int build, const tsurugi_place *places);

/* Whether values of both are in registers in the same form. */
extern bool tsurugi_job_same_form(const tsurugi_operand *a, const tsurugi_operand *b);

/* --- code_key.c --- */

/*
 * Takes a clause for the next key of a probe and its build, if it is an equality of both sides.
 * outer: whose columns the probe's side may have.
 */
extern bool tsurugi_job_add_key(Where *probe, Relids outer, Node *clause, OperatorCode *operator);

/* --- code_group.c --- */

/* The keys and aggregates of a step that makes groups. */
extern bool tsurugi_job_add_groups(tsurugi_job_code *code, int number);

/* --- raw.c --- */

/* A column as it is stored. */
typedef struct tsurugi_raw
{
	tsurugi_place place;
	uint8_t vector;
	const tsurugi_codec *codec;
} tsurugi_raw;

/* A column of the rows at the end of a step, in a program. */
extern bool tsurugi_job_find_raw(tsurugi_job_code *code, int number, tsurugi_program *program, const Var *var,
								 tsurugi_raw *out);

/* The columns that the last step hands out; after all else.  False: that cannot be. */
extern bool tsurugi_job_add_raw_columns(tsurugi_job_code *code);

/* --- store_column.c --- */

/* What the last step, a STORE, stores.  False: that cannot be. */
extern bool tsurugi_job_add_stored_columns(tsurugi_job_code *code);

/* --- order_key.c --- */

/* What the last step, a SORT, orders its rows by, and its limit.  False: that cannot be. */
extern bool tsurugi_job_add_order(tsurugi_job_code *code);

#endif /* TSURUGI_JOB_CODE_INTERNAL_H */
