/*
 * translate.h
 *	  From PostgreSQL's expressions to programs.
 *
 * The same functions serve the planner, which only wants to know whether an expression can be
 * translated, and the start of a job.  The planner does not know the values of parameters and of
 * stable functions; it takes them for values that fit.
 *
 * Every subexpression without columns is evaluated by PostgreSQL, once, and becomes a constant.
 * Each function below returns false if the expression cannot be translated.
 */
#ifndef TSURUGI_JOB_TRANSLATE_H
#define TSURUGI_JOB_TRANSLATE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"

#include "src/job/emit.h"

typedef struct tsurugi_translation tsurugi_translation;

struct tsurugi_translation
{
	tsurugi_program *program;
	/* The column's place: an input of the program. */
	bool (*find)(tsurugi_translation *translation, const Var *var, tsurugi_operand *out);
	/* Likewise of any expression, where *is_there_out; or NULL. */
	bool (*find_expr)(tsurugi_translation *translation, Node *expr, bool *is_there_out, tsurugi_operand *out);
	PlannerInfo *root;			   /* of the query, in the planner; else NULL */
	const List *init_plans;		   /* of SubPlan: those of absorbed subqueries, likewise */
	PlanState *node;			   /* by whose means constants are evaluated; NULL in the planner, */
	bool *has_unknown;			   /* where that is told of what has to be evaluated; or NULL */
	bool guarded;				   /* there may be no row for which the expression is evaluated */
	const tsurugi_operand *tested; /* the value that a CASE tests (CaseTestExpr) */
	bool nulls_rows;			   /* a PlaceHolderVar may be NULL where its expression is not */
};

/* --- translate.c ---------------------------------------------------------------------- */

extern bool tsurugi_translate(tsurugi_translation *translation, Node *expr, tsurugi_operand *out);

/* Whether the value of an expression depends on the row. */
extern bool tsurugi_has_columns(Node *expr);

/*
 * Whether an expression has a value for all rows, which may be computed although no row may get
 * there: behind CASE, AND or OR, or another condition, only what cannot fail.
 */
extern bool tsurugi_is_evaluated_once(const tsurugi_translation *translation, Node *expr);

/* The value of one for which it does not; false: the planner does not know it. */
extern bool tsurugi_evaluate(const tsurugi_translation *translation, Node *expr, Datum *value_out, bool *null_out);

/* Whether a value of the type can be in a register, and in which. */
extern bool tsurugi_vector_of_type(Oid type, uint8_t *vector_out);

/* The base type of an expression. */
extern Oid tsurugi_base_type(const Node *expr);

/* A constant of BOOL. */
extern tsurugi_operand tsurugi_truth(tsurugi_program *program, bool truth);

/* --- raises.c ------------------------------------------------------------------------- */

/*
 * Whether the evaluation of an expression without columns may raise an error; it may be taken for
 * one that does.  Of what has been planned (root NULL) the results of subqueries do not: with those
 * that may, the planner has found no job.  init_plans: of absorbed subqueries.
 */
extern bool tsurugi_may_raise(PlannerInfo *root, const List *init_plans, Node *expr);

/* Whether it may raise one by the value of a parameter, which the planner does not know. */
extern bool tsurugi_may_value_raise(PlannerInfo *root, const List *init_plans, Node *expr);

/* Conditions on a table: where one may so raise an error, in the order of PostgreSQL's executor. */
extern List *tsurugi_in_order(PlannerInfo *root, List *conditions);

/* --- translate_number.c, translate_decimal.c ------------------------------------------ */

/* The value of a numeric as an integer and its display scale. */
extern bool tsurugi_scaled_of_numeric(Datum numeric, int64 *value_out, int *scale_out);

/* A numeric, times 10 to the power of the scale, without its fraction.  False: it is too large. */
extern bool tsurugi_whole_of_numeric(Datum numeric, int scale, bool up, int64 *whole_out);

/* The same value with another scale, not a smaller one. */
extern bool tsurugi_rescale(tsurugi_program *program, tsurugi_operand *operand, int scale);
extern bool tsurugi_rescale_both(tsurugi_program *program, tsurugi_operand *a, tsurugi_operand *b);

/* A numeric without columns that has no room in an INT; false: nor in a DECIMAL. */
extern bool tsurugi_decimal_of_numeric(Datum numeric, tg_decimal *decimal_out);

/* A numeric as a DECIMAL, whatever it was.  False: its scale is too large. */
extern bool tsurugi_to_decimal(tsurugi_program *program, tsurugi_operand *operand);
extern bool tsurugi_both_to_decimal(tsurugi_program *program, tsurugi_operand *a, tsurugi_operand *b);

/* a + b, and so on, of DECIMALs; + - * / % */
extern void tsurugi_decimals(tsurugi_program *program, char sign, const tsurugi_operand *a, const tsurugi_operand *b,
							 tsurugi_operand *out);

/* A numeric with so many digits behind the point, in an INT. */
extern bool tsurugi_round_decimal(tsurugi_program *program, tsurugi_operand *operand, int scale, tg_rounding rounding);

extern void tsurugi_set_number(tsurugi_operand *out, Oid type, tsurugi_place place, int scale);

/* A date that is not infinite; infinite ones are computed with in another way. */
extern tsurugi_place tsurugi_finite_date(tsurugi_program *program, tsurugi_place date);

extern bool tsurugi_translate_arithmetic(tsurugi_translation *translation, const OpExpr *op, const char *name,
										 tsurugi_operand *out);
extern bool tsurugi_translate_number_function(tsurugi_translation *translation, const FuncExpr *function,
											  const char *name, tsurugi_operand *out);

/* --- translate_time.c ----------------------------------------------------------------- */

/* timestamp or date ± an interval without columns; false also if it is no such operator. */
extern bool tsurugi_translate_shift(tsurugi_translation *translation, const OpExpr *op, char sign,
									tsurugi_operand *out);
extern bool tsurugi_translate_time_function(tsurugi_translation *translation, const FuncExpr *function,
											const char *name, tsurugi_operand *out);

/* --- translate_compare.c -------------------------------------------------------------- */

typedef enum tsurugi_comparison
{
	TSURUGI_EQ,
	TSURUGI_NE,
	TSURUGI_LT,
	TSURUGI_LE,
	TSURUGI_GT,
	TSURUGI_GE,
	TSURUGI_NOT_COMPARED
} tsurugi_comparison;

/* By the name of an operator. */
extern tsurugi_comparison tsurugi_comparison_of(const char *name);

/*
 * Whether texts that are equal under the collation have the same bytes.  Not so of no collation
 * (InvalidOid), with which PostgreSQL compares nothing.
 */
extern bool tsurugi_is_deterministic(Oid collation);

/*
 * Brings two values into a form in which their registers can be compared so; false: there is none.
 * The registers of equal values are then equal, too.
 */
extern bool tsurugi_make_comparable(tsurugi_translation *translation, tsurugi_comparison comparison, Oid collation,
									tsurugi_operand *a, tsurugi_operand *b);
extern bool tsurugi_compare(tsurugi_translation *translation, tsurugi_comparison comparison, Oid collation,
							tsurugi_operand *a, tsurugi_operand *b, tsurugi_operand *out);
/*
 * The same of a numeric and one that has no columns, which may have digits behind those of the
 * other.  False: that is not so, or it has to be translated for itself.
 */
extern bool tsurugi_compare_with_numeric(tsurugi_translation *translation, tsurugi_comparison comparison,
										 const tsurugi_operand *a, Node *b, tsurugi_operand *out);
extern bool tsurugi_translate_in(tsurugi_translation *translation, const ScalarArrayOpExpr *in, tsurugi_operand *out);

/* --- translate_text.c ----------------------------------------------------------------- */

/* A text as a bpchar of so many characters; NULL: it is longer. */
extern struct varlena *tsurugi_pad(struct varlena *text, int characters);

extern bool tsurugi_translate_like(tsurugi_translation *translation, const OpExpr *op, bool negated,
								   tsurugi_operand *out);
extern bool tsurugi_translate_text_function(tsurugi_translation *translation, const FuncExpr *function,
											const char *name, tsurugi_operand *out);

#endif /* TSURUGI_JOB_TRANSLATE_H */
