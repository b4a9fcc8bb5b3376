/*
 * code_group.c
 *	  Keys and aggregates of the steps that make groups, as programs.
 */
#include "postgres.h"

#include "src/job/code_internal.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "runtime/query/plan.h"
#include "runtime/vector/vector.h"
#include "src/job/translate.h"
#include "src/value/collation.h"

/* A key: values of one group have the same register, and the other way round. */
static bool
add_group_key(Where *at, Node *expr, tsurugi_job_column *column)
{
	StepCode *sink = &at->code->steps[at->step];
	tsurugi_operand key;

	if (!tsurugi_translate(&at->translation, expr, &key) || key.vector == TG_V_FLOAT ||
		sink->field_count == TG_PLAN_KEYS_MAX)
		return false;
	if (key.scaled != TG_REGISTER_NONE && !tsurugi_to_decimal(at->translation.program, &key))
		return false;
	if (key.vector == TG_V_TEXT && !tsurugi_is_deterministic(exprCollation(expr)))
		return false;
	if (key.type == BPCHAROID && key.typmod <= (int32) VARHDRSZ)
		return false;
	*column = (tsurugi_job_column){.what = TSURUGI_COLUMN_KEY,
								   .number = sink->field_count,
								   .vector = key.vector,
								   .type = key.type,
								   .typmod = key.typmod,
								   .scale = key.scale,
								   .scaled = -1};
	sink->fields[sink->field_count++] = key.place;
	sink->key_count = sink->field_count;
	return true;
}

/*
 * The number of an aggregate; the same for the same one.  In branches of UNION ALL, where what is
 * the same place in one is not so in another, that is so of what is the same expression.
 */
static int
add_aggregate(Where *at, const Aggref *of, tg_function function, tsurugi_place argument, tsurugi_place filter)
{
	const tsurugi_job_step *step = list_nth(at->code->job->steps, at->step);
	StepCode *code = &at->code->steps[at->step];

	for (int i = 0; i < code->aggregate_count; i++)
		if (code->aggregates[i].function == function && code->aggregates[i].argument == argument &&
			code->aggregates[i].filter == filter &&
			(step->append == 0 ||
			 (equal(code->aggregate_of[i]->args, of->args) && equal(code->aggregate_of[i]->aggfilter, of->aggfilter))))
			return i;
	code->aggregates[code->aggregate_count] =
		(tg_aggregate){.function = (uint8_t) function, .argument = argument, .filter = filter};
	code->aggregate_of[code->aggregate_count] = of;
	return code->aggregate_count++;
}

static tg_function
sum_of_vector(tg_vector_type vector)
{
	return vector == TG_V_FLOAT ? TG_SUM_FLOAT : vector == TG_V_DECIMAL ? TG_SUM_DECIMAL : TG_SUM_INT;
}

/* Sums and averages: rows of a scale of their own are counted. */
static bool
add_sum(Where *at, const Aggref *aggref, const tsurugi_operand *argument, tsurugi_place filter,
		tsurugi_job_column *column)
{
	tsurugi_program *program = at->translation.program;

	if (argument->vector != TG_V_FLOAT && argument->type != NUMERICOID && argument->type != INT2OID &&
		argument->type != INT4OID && argument->type != INT8OID)
		return false;
	column->number =
		add_aggregate(at, aggref, sum_of_vector((tg_vector_type) argument->vector), argument->place, filter);
	if (argument->scaled != TG_REGISTER_NONE)
	{
		tsurugi_place both = filter == TG_REGISTER_NONE
								 ? argument->scaled
								 : tsurugi_emit(program, TG_OP_AND, TG_V_BOOL, filter, argument->scaled);

		column->scaled = add_aggregate(at, aggref, TG_COUNT, argument->place, both);
	}
	return true;
}

static bool
add_extreme(Where *at, const Aggref *aggref, tg_function function, tsurugi_operand *argument, tsurugi_place filter,
			tsurugi_job_column *column)
{
	if (argument->vector == TG_V_TEXT &&
		(argument->type == BPCHAROID || tsurugi_collation_order(aggref->inputcollid) != TSURUGI_ORDER_OF_BYTES))
		return false;
	if (type_is_enum(argument->type) ||
		(argument->scaled != TG_REGISTER_NONE && !tsurugi_to_decimal(at->translation.program, argument)))
		return false;
	column->vector = argument->vector;
	column->scale = argument->scale;
	column->what = TSURUGI_COLUMN_EXTREME;
	column->number = add_aggregate(at, aggref, function, argument->place, filter);
	return true;
}

/* FILTER's register. */
static bool
aggregate_filter(Where *at, const Aggref *aggref, tsurugi_place *filter_out)
{
	tsurugi_operand filter;

	*filter_out = TG_REGISTER_NONE;
	if (aggref->aggfilter == NULL)
		return true;
	if (!tsurugi_translate(&at->translation, (Node *) aggref->aggfilter, &filter) || filter.vector != TG_V_BOOL)
		return false;
	*filter_out = filter.place;
	return true;
}

/*
 * The argument is computed for the rows that FILTER lets through: others do not make it fail.
 */
static bool
aggregate_argument(Where *at, const Aggref *aggref, tsurugi_place filter, tsurugi_operand *out)
{
	tsurugi_program *program = at->translation.program;
	tsurugi_mask *mask = NULL;
	bool done;

	if (list_length(aggref->args) != 1)
		return false;
	if (filter != TG_REGISTER_NONE)
	{
		mask = palloc0(sizeof(*mask));
		mask->condition = filter;
		mask->where = TSURUGI_WHERE_TRUE;
		mask->place = TG_REGISTER_NONE;
	}
	program->mask = mask;
	done = tsurugi_translate(&at->translation, (Node *) linitial_node(TargetEntry, aggref->args)->expr, out);
	program->mask = NULL;
	return done;
}

static bool
is_plain(const Aggref *aggref, bool distinct)
{
	return aggref->aggfnoid < FirstUnpinnedObjectId && aggref->aggkind == AGGKIND_NORMAL && !aggref->aggvariadic &&
		   aggref->aggdirectargs == NIL && aggref->aggorder == NIL && (aggref->aggdistinct == NIL || distinct) &&
		   aggref->agglevelsup == 0 && aggref->aggsplit == AGGSPLIT_SIMPLE;
}

/* The column that the step which it reads has for an aggregate. */
static const tsurugi_job_column *
column_before(const Where *at, const Aggref *aggref)
{
	const List *steps = at->code->job->steps;
	int from = ((const tsurugi_job_step *) list_nth(steps, at->step))->from;
	const tsurugi_job_step *before = list_nth(steps, from);
	ListCell *cell;

	foreach (cell, before->aggregates)
		if (equal(lfirst(cell), aggref))
			return &at->code->steps[from].columns[list_length(before->keys) + foreach_current_index(cell)];
	return NULL;
}

/* An aggregate of all rows, of its values in the groups that the step reads. */
static bool
add_combined(Where *at, const Aggref *aggref, tsurugi_job_column *column)
{
	const tsurugi_job_column *before = column_before(at, aggref);
	const char *name = get_func_name(aggref->aggfnoid);
	tsurugi_operand operand;

	if (before == NULL || !tsurugi_translate(&at->translation, (Node *) aggref, &operand))
		return false;
	*column = *before;
	column->scaled = -1;
	switch (before->what)
	{
		case TSURUGI_COLUMN_COUNT:
			column->what = TSURUGI_COLUMN_COUNTS;
			column->number = add_aggregate(at, aggref, TG_SUM_INT, operand.place, TG_REGISTER_NONE);
			return true;
		case TSURUGI_COLUMN_SUM:
			return add_sum(at, aggref, &operand, TG_REGISTER_NONE, column);
		case TSURUGI_COLUMN_EXTREME:
			return add_extreme(at, aggref, strcmp(name, "max") == 0 || strcmp(name, "bool_or") == 0 ? TG_MAX : TG_MIN,
							   &operand, TG_REGISTER_NONE, column);
		default:
			return false;
	}
}

static bool
add_group_aggregate(Where *at, const Aggref *aggref, tsurugi_job_column *column)
{
	bool distinct = ((const tsurugi_job_step *) list_nth(at->code->job->steps, at->step))->distinct;
	tsurugi_operand argument;
	tsurugi_place filter;
	const char *name;

	*column = (tsurugi_job_column){.what = TSURUGI_COLUMN_COUNT, .typmod = -1, .scaled = -1};
	if (!is_plain(aggref, distinct))
		return false;
	if (distinct && aggref->aggdistinct == NIL)
		return add_combined(at, aggref, column);
	if (!aggregate_filter(at, aggref, &filter))
		return false;
	name = get_func_name(aggref->aggfnoid);
	if (aggref->aggstar)
	{
		column->number = add_aggregate(at, aggref, TG_COUNT, TG_REGISTER_NONE, filter);
		return strcmp(name, "count") == 0;
	}
	if (!aggregate_argument(at, aggref, filter, &argument))
		return false;
	column->vector = argument.vector;
	column->type = argument.type;
	column->typmod = argument.typmod;
	column->scale = argument.scale;
	if (strcmp(name, "count") == 0)
	{
		column->number = add_aggregate(at, aggref, TG_COUNT, argument.place, filter);
		return true;
	}
	column->what = strcmp(name, "sum") == 0 ? TSURUGI_COLUMN_SUM : TSURUGI_COLUMN_AVERAGE;
	if (strcmp(name, "sum") == 0 || strcmp(name, "avg") == 0)
		return add_sum(at, aggref, &argument, filter, column);
	if (strcmp(name, "min") == 0 || strcmp(name, "bool_and") == 0 || strcmp(name, "every") == 0)
		return add_extreme(at, aggref, TG_MIN, &argument, filter, column);
	return (strcmp(name, "max") == 0 || strcmp(name, "bool_or") == 0) &&
		   add_extreme(at, aggref, TG_MAX, &argument, filter, column);
}

/* Whether two branches have their groups in the same form. */
static bool
are_alike(const StepCode *a, const StepCode *b, int column_count)
{
	if (a->key_count != b->key_count || a->aggregate_count != b->aggregate_count)
		return false;
	for (int i = 0; i < column_count; i++)
	{
		const tsurugi_job_column *x = &a->columns[i];
		const tsurugi_job_column *y = &b->columns[i];

		if (x->what != y->what || x->number != y->number || x->vector != y->vector || x->type != y->type ||
			x->typmod != y->typmod || x->scale != y->scale || x->scaled != y->scaled)
			return false;
	}
	for (int i = 0; i < a->aggregate_count; i++)
		if (a->aggregates[i].function != b->aggregates[i].function)
			return false;
	return true;
}

bool
tsurugi_job_add_groups(tsurugi_job_code *code, int number)
{
	const tsurugi_job_step *step = list_nth(code->job->steps, number);
	StepCode *to = &code->steps[number];
	Where at = tsurugi_job_where(code, number, JOB_PASSED_ALL, to->sink);
	int keys = list_length(step->keys);
	int columns = tsurugi_job_column_count(step);
	ListCell *cell;

	to->columns = palloc0(Max(columns, 1) * sizeof(tsurugi_job_column));
	/* each may have one more, which counts */
	to->aggregates = palloc0((2 * list_length(step->aggregates) + 1) * sizeof(tg_aggregate));
	to->aggregate_of = palloc0((2 * list_length(step->aggregates) + 1) * sizeof(Aggref *));
	foreach (cell, step->keys)
		if (!add_group_key(&at, lfirst(cell), &to->columns[foreach_current_index(cell)]))
			return false;
	foreach (cell, step->aggregates)
		if (!add_group_aggregate(&at, lfirst(cell), &to->columns[keys + foreach_current_index(cell)]))
			return false;
	return number == tsurugi_job_first_branch(at.code->job, number) ||
		   are_alike(to, &code->steps[number - 1], tsurugi_job_column_count(step));
}
