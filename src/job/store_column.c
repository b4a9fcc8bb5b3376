/*
 * store_column.c
 *	  A job that stores rows: each column of the table from an expression of the select list.
 *
 *	a column of the same stored form	copied as it is stored: any type
 *	an expression that jobs compute		converted, if its values fit the column as they are
 *	NULL								NULL
 *
 * The rewriter has coerced each expression to its column's type and length, and so what jobs do not
 * compute is also any coercion that may fail.  A NULL in a column that is NOT NULL makes the job
 * unfit when it comes, and so does a row for which a CHECK is false.  A CHECK is computed from the
 * select list, of which it has the expressions in place of the table's columns.
 */
#include "postgres.h"

#include "src/job/code_internal.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "runtime/order/kind.h"
#include "runtime/query/plan.h"
#include "runtime/vector/vector.h"
#include "src/value/codec.h"
#include "src/job/translate.h"

static const Node *
without_relabeling(const Node *expr)
{
	while (IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return expr;
}

static bool
is_null(const Node *expr)
{
	return IsA(expr, Const) && ((const Const *) expr)->constisnull;
}

/* Whether values of two types that need no conversion have the same stored bytes. */
static bool
is_stored_alike(const tsurugi_codec *from, const tsurugi_codec *to)
{
	return from->form == to->form && from->kind == to->kind && from->header_bytes == to->header_bytes &&
		   from->inline_allowed == to->inline_allowed && from->typlen == to->typlen && from->scale == to->scale;
}

static tg_store_form
form_of_stored(const tsurugi_codec *codec)
{
	return codec->kind == TG_KIND_STRING ? TG_STORE_TEXT : codec->kind == TG_KIND_16 ? TG_STORE_CELL : TG_STORE_WORD;
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/* How a computed value becomes the column's; false: it may not fit. */
static bool
form_of_computed(tsurugi_program *program, tsurugi_operand *value, int32 typmod, const tsurugi_codec *to,
				 tg_store_form *form_out)
{
	if (to->form == TSURUGI_VARLENA && to->type == NUMERICOID)
	{
		/* without a scale of its own the column has the values as PostgreSQL does */
		*form_out = TG_STORE_DECIMAL;
		return to->typmod < 0 && to->inline_allowed && value->type == NUMERICOID && tsurugi_to_decimal(program, value);
	}
	if (value->scaled != TG_REGISTER_NONE)
		return false;
	switch ((tg_vector_type) value->vector)
	{
		case TG_V_BOOL:
			*form_out = TG_STORE_BOOL;
			return to->form == TSURUGI_WORD && to->type == BOOLOID;
		case TG_V_DECIMAL:
			return false; /* a cast to the column's scale is one of the select list */
		case TG_V_FLOAT:
			*form_out = TG_STORE_WORD;
			return to->form == TSURUGI_WORD && to->type == FLOAT8OID && value->type == FLOAT8OID;
		case TG_V_TEXT:
			*form_out = TG_STORE_TEXT;
			return to->form == TSURUGI_VARLENA && to->inline_allowed && is_text(value->type) && is_text(to->type) &&
				   (to->typmod < 0 || typmod == to->typmod);
		default:
			if (to->form == TSURUGI_WORD)
			{
				*form_out = TG_STORE_WORD;
				return value->type == to->type;
			}
			*form_out = to->form == TSURUGI_NUMERIC16 ? TG_STORE_WIDE : TG_STORE_WORD;
			return (to->form == TSURUGI_NUMERIC8 || to->form == TSURUGI_NUMERIC16) && value->type == NUMERICOID &&
				   value->scale == to->scale && typmod == to->typmod;
	}
}

static bool
add_column(tsurugi_job_code *code, Node *expr, const tsurugi_codec *to, tg_store_column *column)
{
	int number = code->step_count - 1;
	StepCode *last = &code->steps[number];
	const Node *bare = without_relabeling(expr);
	tsurugi_operand value;
	tg_store_form form;
	tsurugi_raw raw;

	if (is_null(bare) || to->form == TSURUGI_NOTHING)
		return is_null(bare); /* its field stays NULL */
	if (IsA(bare, Var) && ((const Var *) bare)->varlevelsup == 0 && ((const Var *) bare)->varattno > 0 &&
		tsurugi_job_find_raw(code, number, last->sink, (const Var *) bare, &raw) && is_stored_alike(raw.codec, to))
	{
		form = form_of_stored(to);
		value.place = raw.place;
	}
	else if (!tsurugi_job_translate_at_end(code, number, last->sink, expr, &value) ||
			 !form_of_computed(last->sink, &value, exprTypmod(expr), to, &form))
		return false;
	column->form = (uint8_t) form;
	column->field = (uint16_t) tsurugi_job_field_of(code, number, &value.place);
	return column->field != (uint16_t) -1;
}

/* What a CHECK is made of. */
typedef struct Check
{
	const List *exprs; /* by attribute */
	bool unfit;
} Check;

static Node *
replace_columns(Node *node, Check *check)
{
	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, replace_columns, check);
	if (((const Var *) node)->varattno > 0)
		return list_nth(check->exprs, ((const Var *) node)->varattno - 1);
	check->unfit = true; /* the row as a whole, or a system column */
	return node;
}

static bool
add_checks(tsurugi_job_code *code, const List *exprs)
{
	int number = code->step_count - 1;
	StepCode *last = &code->steps[number];
	ListCell *cell;

	last->checks = palloc(Max(list_length(code->job->into_checks), 1) * sizeof(tsurugi_place));
	foreach (cell, code->job->into_checks)
	{
		Check check = {.exprs = exprs};
		Node *condition = replace_columns(lfirst(cell), &check);
		tsurugi_operand value;

		if (check.unfit || contain_volatile_functions(condition) ||
			!tsurugi_job_translate_at_end(code, number, last->sink, condition, &value) || value.vector != TG_V_BOOL)
			return false;
		last->checks[last->check_count++] = value.place;
	}
	return true;
}

bool
tsurugi_job_add_stored_columns(tsurugi_job_code *code)
{
	const tsurugi_relation *into = code->job->into->described;
	const List *exprs = tsurugi_job_last(code->job)->keys;
	StepCode *last = &code->steps[code->step_count - 1];
	ListCell *cell;

	if (list_length(exprs) != into->attribute_count)
		return false;
	last->store_columns = palloc0(Max(into->column_count, 1) * sizeof(tg_store_column));
	foreach (cell, exprs)
	{
		int column = tsurugi_column_of(into, foreach_current_index(cell));

		last->store_columns[column].not_null = code->job->into_not_null[foreach_current_index(cell)];
		if (!add_column(code, lfirst(cell), &into->codecs[column], &last->store_columns[column]))
			return false;
	}
	return add_checks(code, exprs);
}
