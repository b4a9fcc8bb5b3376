/*
 * code.c
 *	  Steps, operators and sinks: which expressions are computed where.
 *
 * Each operator has a program of its own, and so has each sink.  An expression finds a column in
 * the step's table, or in the match of a probe that the row has passed.  There it becomes a field
 * of the build, which is added to the build's sink when it is asked for:
 *
 *	1. The steps, in order: the operators of each, and if it makes groups the keys and arguments of
 *	   aggregates.  The first probe of a build gives it the keys, before any field.
 *	2. The layout, when nothing is asked for any more (lay_out.c).
 *
 * A build may be of several steps, the branches of UNION ALL: its keys and fields are translated
 * for each, and have to come out in the same form.  So have the columns of groups, and of sorts.
 *
 * In a step that reads groups, an expression that is a key or an aggregate of these is a field of
 * them.
 */
#include "postgres.h"

#include "src/job/code_internal.h"

#include "access/attmap.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "runtime/base/check.h"
#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "runtime/query/plan.h"
#include "src/value/codec.h"
#include "src/job/translate.h"

static bool find_column(tsurugi_translation *translation, const Var *var, tsurugi_operand *out);
static bool find_of_group(tsurugi_translation *translation, Node *expr, bool *is_there_out, tsurugi_operand *out);
static bool reads_groups(const tsurugi_job_code *code, int step);

/* Whether rows of what the step reads may be left out, all of them at last. */
static bool
leaves_out_rows(const tsurugi_job_step *step, int operators)
{
	ListCell *cell;

	foreach (cell, step->tables)
		if (((const tsurugi_job_table *) lfirst(cell))->access != NULL)
			return true;
	return operators > 0;
}

Where
tsurugi_job_where(tsurugi_job_code *code, int step, int passed, tsurugi_program *program)
{
	const tsurugi_job_step *at = list_nth(code->job->steps, step);

	return (Where){.translation = {.program = program,
								   .find = find_column,
								   .find_expr = reads_groups(code, step) ? find_of_group : NULL,
								   .root = code->job->root,
								   .init_plans = code->job->init_plans,
								   .node = code->node,
								   .has_unknown = &code->has_unknown,
								   .guarded = leaves_out_rows(at, list_length(at->operators)),
								   .nulls_rows = code->job->nulls_rows},
				   .code = code,
				   .step = step,
				   .passed = passed};
}

static tsurugi_job_step *
step_at(const tsurugi_job_code *code, int number)
{
	return list_nth(code->job->steps, number);
}

static bool
reads_groups(const tsurugi_job_code *code, int step)
{
	return step_at(code, step)->source == TG_FROM_ROWS && step_at(code, step_at(code, step)->from)->sink == TG_GROUP;
}

/* The matches of a row that has passed no probe: itself, if an earlier step has kept it. */
static int
first_matches(const tsurugi_job_step *step)
{
	return tg_source_is_step(step->source);
}

/* --- tables --------------------------------------------------------------------------- */

void
tsurugi_job_describe(tsurugi_job_table *table, Relation of, Relation relation)
{
	table->described = tsurugi_relation_get(relation);
	table->attributes = NULL;
	if (RelationGetRelid(of) == RelationGetRelid(relation))
		return;
	table->attributes = build_attrmap_by_name(RelationGetDescr(relation), RelationGetDescr(of))->attnums;
	table->attribute_count = RelationGetDescr(of)->natts;
}

/* --- columns -------------------------------------------------------------------------- */

static const tsurugi_codec *
codec_of(const tsurugi_job_table *table, AttrNumber attribute)
{
	return &table->described->codecs[tsurugi_job_column_of(table, attribute)];
}

bool
tsurugi_job_stored_alike(const tsurugi_job_step *step, AttrNumber attribute)
{
	ListCell *cell;

	foreach (cell, step->tables)
		if (!tsurugi_codec_same(codec_of(linitial(step->tables), attribute), codec_of(lfirst(cell), attribute)))
			return false;
	return true;
}

/* A column of the step's source, which is stored in that way. */
static bool
column_as_stored(Where *at, const tsurugi_codec *codec, uint16_t field, tsurugi_operand *out)
{
	tg_input input = {.source = 0, .field = field};

	*out = (tsurugi_operand){
		.type = codec->type, .typmod = codec->typmod, .scale = codec->scale, .scaled = TG_REGISTER_NONE};
	if (!tsurugi_vector_of_type(codec->type, &out->vector))
		return false;
	switch ((tsurugi_form) codec->form)
	{
		case TSURUGI_WORD:
			input.load = out->vector == TG_V_BOOL	 ? TG_LOAD_BOOL
						 : out->vector == TG_V_FLOAT ? TG_LOAD_FLOAT
													 : TG_LOAD_INT;
			break;
		case TSURUGI_NUMERIC8:
		case TSURUGI_NUMERIC16:
			input.load = TG_LOAD_NUMERIC;
			break;
		case TSURUGI_VARLENA:
			if (out->vector != TG_V_TEXT && codec->type != NUMERICOID)
				return false;
			if (codec->type == NUMERICOID)
				out->vector = TG_V_DECIMAL; /* each value has a scale */
			input.load = codec->type == NUMERICOID ? TG_LOAD_DECIMAL : TG_LOAD_TEXT;
			break;
		default:
			return false;
	}
	out->place = tsurugi_emit_input(at->translation.program, input, out->vector);
	return true;
}

/* A column of the step's own tables. */
static bool
column_of_table(Where *at, const tsurugi_job_step *step, const Var *var, tsurugi_operand *out)
{
	const tsurugi_job_table *first = linitial(step->tables);
	uint16_t field = first->attributes == NULL ? (uint16_t) tsurugi_job_column_of(first, var->varattno)
											   : (uint16_t) (var->varattno - 1);

	return tsurugi_job_stored_alike(step, var->varattno) &&
		   column_as_stored(at, codec_of(first, var->varattno), field, out);
}

int
tsurugi_job_fed_column(tsurugi_job_code *code, int number, const Var *var)
{
	StepCode *step = &code->steps[number];
	const List *columns = step_at(code, number)->columns;
	int position = 0;

	while (position < list_length(columns) &&
		   !(IsA(list_nth(columns, position), Var) && ((Var *) list_nth(columns, position))->varattno == var->varattno))
		position++;
	if (position == list_length(columns) || get_typlen(var->vartype) == -2)
		return -1;
	var = list_nth(columns, position);
	for (int i = 0; i < step->fed_count; i++)
		if (step->fed[i].position == position)
			return i;
	tg_assert(step->fed_count < list_length(columns));
	if (step->fed == NULL)
		step->fed = palloc0(list_length(columns) * sizeof(tsurugi_fed_column));
	step->fed[step->fed_count].position = position;
	tsurugi_codec_init_type(&step->fed[step->fed_count].codec, var->vartype, var->vartypmod, var->varcollid);
	return step->fed_count++;
}

/* A column of the rows that the session feeds. */
static bool
column_of_feed(Where *at, const Var *var, tsurugi_operand *out)
{
	int field = tsurugi_job_fed_column(at->code, at->step, var);

	return field >= 0 && column_as_stored(at, &at->code->steps[at->step].fed[field].codec, (uint16_t) field, out);
}

const tsurugi_fed_column *
tsurugi_job_fed_columns(const tsurugi_job_code *code, int step, int *count_out)
{
	*count_out = code->steps[step].fed_count;
	return code->steps[step].fed;
}

bool
tsurugi_job_same_form(const tsurugi_operand *a, const tsurugi_operand *b)
{
	return a->vector == b->vector && a->type == b->type && a->typmod == b->typmod && a->scale == b->scale &&
		   (a->scaled == TG_REGISTER_NONE) == (b->scaled == TG_REGISTER_NONE);
}

/* Whether the field is at these places. */
static bool
is_field_at(const StepCode *first, int count, int field, const tsurugi_place *places)
{
	for (int i = 0; i < count; i++)
		if (first[i].fields[field] != places[i])
			return false;
	return true;
}

int
tsurugi_job_field_of(tsurugi_job_code *code, int build, const tsurugi_place *places)
{
	int first = tsurugi_job_first_branch(code->job, build);
	int field_count = code->steps[build].field_count;

	for (int i = 0; i < field_count; i++)
		if (is_field_at(&code->steps[first], build - first + 1, i, places))
			return i;
	if (field_count == FIELDS_MAX)
		return -1;
	for (int i = first; i <= build; i++)
		code->steps[i].fields[code->steps[i].field_count++] = places[i - first];
	return field_count;
}

/* A column that comes from a match, its number from 1. */
static bool
column_of_build(Where *at, int build, int match, const Var *var, tsurugi_operand *out)
{
	int first = tsurugi_job_first_branch(at->code->job, build);
	tsurugi_place places[TG_PLAN_STEPS_MAX];
	int field;

	tg_assert(build < at->step && match > 0);
	for (int i = first; i <= build; i++)
	{
		Where there = tsurugi_job_where(at->code, i, JOB_PASSED_ALL, at->code->steps[i].sink);
		tsurugi_operand here;

		if (!tsurugi_translate(&there.translation, (Node *) var, &here) ||
			(i > first && !tsurugi_job_same_form(out, &here)))
			return false;
		places[i - first] = here.place;
		*out = here;
	}
	/* places are in each other's programs: a scale that is told apart there is not known here */
	if (out->scaled != TG_REGISTER_NONE && first < build)
		return false;
	field = tsurugi_job_field_of(at->code, build, places);
	if (field < 0)
		return false;
	out->place = tsurugi_emit_input(at->translation.program,
									(tg_input){.source = (uint8_t) match, .field = (uint16_t) field}, out->vector);
	return true;
}

/* Whether the rows of a probe's matches go on with the row. */
static bool
has_fields(const tsurugi_job_operator *operator)
{
	return tg_join_hands_pairs(operator->join);
}

/* --- groups as a source --------------------------------------------------------------- */

static tsurugi_place
emit_of_group(Where *at, int field, tg_vector_type vector)
{
	return tsurugi_emit_input(at->translation.program, (tg_input){.source = 1, .field = (uint16_t) field}, vector);
}

/* A sum as an operand.  Where no value had the scale of the others, it is a zero of scale 0. */
static void
sum_of_group(Where *at, const tsurugi_job_column *column, int key_count, tsurugi_operand *out)
{
	tsurugi_program *program = at->translation.program;

	out->type = column->type == FLOAT8OID								? FLOAT8OID
				: column->type == NUMERICOID || column->type == INT8OID ? NUMERICOID
																		: INT8OID;
	out->vector = column->vector;
	out->scale = column->type == NUMERICOID ? column->scale : 0;
	if (column->scaled >= 0)
		out->scaled = tsurugi_emit(program, TG_OP_LT, TG_V_BOOL, tsurugi_emit_integer(program, 0),
								   emit_of_group(at, key_count + column->scaled, TG_V_INT));
}

/* An average: the sum, divided by the number of its rows. */
static bool
average_of_group(Where *at, const StepCode *groups, const tsurugi_job_column *column, tsurugi_operand *out)
{
	static const tsurugi_constant zero = {.vector = TG_V_FLOAT, .known = true};
	tsurugi_program *program = at->translation.program;
	tsurugi_operand count = {.type = NUMERICOID, .typmod = -1, .vector = TG_V_INT, .scaled = TG_REGISTER_NONE};

	sum_of_group(at, column, groups->key_count, out);
	out->place = emit_of_group(at, groups->key_count + column->number, (tg_vector_type) out->vector);
	count.place = emit_of_group(at, groups->key_count + groups->aggregate_count + column->number, TG_V_INT);
	if (out->type == FLOAT8OID)
	{
		/* 0, not -0 */
		out->place = tsurugi_emit_bounded(program, TG_OP_FLOAT_ADD, TG_V_FLOAT, out->place,
										  tsurugi_emit_constant(program, &zero), 0, 0);
		count.place = tsurugi_emit_with(program, TG_OP_TO_FLOAT, count.place, 1, 0, TG_V_FLOAT, NULL);
		out->place = tsurugi_emit_bounded(program, TG_OP_FLOAT_DIVIDE, TG_V_FLOAT, out->place, count.place, 0, 0);
		return true;
	}
	out->type = NUMERICOID;
	if (!tsurugi_both_to_decimal(program, out, &count))
		return false;
	tsurugi_decimals(program, '/', out, &count, out);
	return true;
}

/* A key or an aggregate as an operand. */
static bool
column_of_group(Where *at, const StepCode *groups, const tsurugi_job_column *column, tsurugi_operand *out)
{
	int key_count = groups->key_count;

	*out = (tsurugi_operand){.type = column->type,
							 .typmod = column->typmod,
							 .vector = column->vector,
							 .scale = column->scale,
							 .scaled = TG_REGISTER_NONE};
	switch (column->what)
	{
		case TSURUGI_COLUMN_KEY:
			out->place = emit_of_group(at, column->number, column->vector);
			return true;
		case TSURUGI_COLUMN_COUNT:
			*out = (tsurugi_operand){.type = INT8OID, .typmod = -1, .vector = TG_V_INT, .scaled = TG_REGISTER_NONE};
			break;
		case TSURUGI_COLUMN_SUM:
			sum_of_group(at, column, key_count, out);
			break;
		case TSURUGI_COLUMN_AVERAGE:
			return average_of_group(at, groups, column, out);
		case TSURUGI_COLUMN_COUNTS:
			return false;
		case TSURUGI_COLUMN_EXTREME:
			break;
	}
	out->place = emit_of_group(at, key_count + column->number, out->vector);
	return true;
}

/* *is_there_out: it is one of the groups' keys or aggregates. */
static bool
find_of_group(tsurugi_translation *translation, Node *expr, bool *is_there_out, tsurugi_operand *out)
{
	Where *at = (Where *) translation;
	int from = step_at(at->code, at->step)->from;
	const tsurugi_job_step *groups = step_at(at->code, from);
	const StepCode *code = &at->code->steps[from];
	int number = 0;
	ListCell *cell;

	*is_there_out = true;
	foreach (cell, groups->keys)
		if (equal(lfirst(cell), expr))
			return column_of_group(at, code, &code->columns[foreach_current_index(cell)], out);
	number = list_length(groups->keys);
	foreach (cell, groups->aggregates)
		if (equal(lfirst(cell), expr))
			return column_of_group(at, code, &code->columns[number + foreach_current_index(cell)], out);
	*is_there_out = false;
	return true;
}

/* Whether a row may come without one of the step's source. */
static bool
has_rest(const tsurugi_job_step *step)
{
	ListCell *cell;

	foreach (cell, step->operators)
	{
		const tsurugi_job_operator *operator= lfirst(cell);

		if (operator->probe && tg_join_has_rest(operator->join))
			return true;
	}
	return false;
}

/* A column of the subquery whose groups the step reads; NULL where a row comes without a group. */
static bool
column_of_subquery(Where *at, const tsurugi_job_step *step, const Var *var, tsurugi_operand *out)
{
	tsurugi_program *program = at->translation.program;
	tsurugi_constant nothing = {.known = true, .null = true};
	tsurugi_place presence;

	tg_assert(var->varattno <= list_length(step->outputs));
	if (!tsurugi_translate(&at->translation, list_nth(step->outputs, var->varattno - 1), out))
		return false;
	if (!has_rest(step))
		return true;
	nothing.vector = out->vector;
	presence = tsurugi_emit_input(program, (tg_input){.source = 1, .field = TG_FIELD_PRESENCE}, TG_V_BOOL);
	out->place =
		tsurugi_emit_choose(program, out->vector, presence, out->place, tsurugi_emit_constant(program, &nothing));
	return true;
}

/* A NULL, of whatever scale. */
static bool
is_null(const tsurugi_program *program, const tsurugi_operand *operand)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, operand->place);

	return constant != NULL && constant->known && constant->null;
}

/*
 * A column of UNION ALL in one of its branches, in the form that it has in all of them.  Numerics
 * of one precision and scale have that scale, others each their own.
 */
static bool
column_of_branch(Where *at, const tsurugi_job_step *step, const Var *var, tsurugi_operand *out)
{
	tsurugi_program *program = at->translation.program;
	Oid type = getBaseType(var->vartype);

	if (!tsurugi_translate(&at->translation, list_nth(step->branch, var->varattno - 1), out) || out->type != type)
		return false;
	if (type == BPCHAROID)
		out->typmod = var->vartypmod;
	else
		out->typmod = -1;
	if (type != NUMERICOID)
		return true;
	if (var->vartypmod < (int32) VARHDRSZ)
		return tsurugi_to_decimal(program, out);
	if (out->vector == TG_V_INT && is_null(program, out))
		out->scale = (((var->vartypmod - (int32) VARHDRSZ) & 0x7ff) ^ 1024) - 1024; /* as of numeric.c */
	return true;
}

static bool
find_column(tsurugi_translation *translation, const Var *var, tsurugi_operand *out)
{
	Where *at = (Where *) translation;
	const tsurugi_job_step *step = step_at(at->code, at->step);
	int match = first_matches(step);
	ListCell *cell;

	if (var->varlevelsup != 0 || var->varattno <= 0)
		return false;
	if (step->append != 0 && var->varno == step->append)
		return column_of_branch(at, step, var, out);
	if (step->subquery != 0 && var->varno == step->subquery)
		return column_of_subquery(at, step, var, out);
	if (tg_source_is_step(step->source) && !reads_groups(at->code, at->step) &&
		bms_is_member(var->varno, step_at(at->code, step->from)->relids))
		return column_of_build(at, step->from, match, var, out);
	if (step->source == TG_FROM_TABLES && var->varno == step->relation)
		return column_of_table(at, step, var, out);
	if (step->source == TG_FROM_FEED && var->varno == step->relation)
		return column_of_feed(at, var, out);
	foreach (cell, step->operators)
	{
		const tsurugi_job_operator *operator= lfirst(cell);

		if (!operator->probe)
			continue;
		if (++match > at->passed && match != at->match)
			return false;
		if (!bms_is_member(var->varno, step_at(at->code, operator->build)->relids))
			continue;
		if (!has_fields(operator) && match != at->match)
			return false;
		return column_of_build(at, operator->build, match, var, out);
	}
	return false;
}

/* --- operators ------------------------------------------------------------------------ */

static OperatorCode *
add_operator(StepCode *step, int kind)
{
	OperatorCode *operator= palloc0(sizeof(*operator));

	operator->kind =(uint8_t) kind;
	operator->program = tsurugi_program_make();
	step->operators = lappend(step->operators, operator);
	return operator;
}

static bool
add_filter(tsurugi_job_code *code, int number, int passed, Node *clause, bool first)
{
	OperatorCode *filter = add_operator(&code->steps[number], TG_FILTER);
	Where at = tsurugi_job_where(code, number, passed, filter->program);
	tsurugi_operand condition;

	if (first)
		at.translation.guarded = leaves_out_rows(step_at(code, number), 0);
	if (!tsurugi_translate(&at.translation, clause, &condition) || condition.vector != TG_V_BOOL)
		return false;
	filter->condition = condition.place;
	return true;
}

/* A row as often as an integer says. */
static bool
add_repeat(tsurugi_job_code *code, int number, int passed, Node *times)
{
	OperatorCode *operator= add_operator(&code->steps[number], TG_REPEAT);
	Where at = tsurugi_job_where(code, number, passed, operator->program);
	tsurugi_operand value;

	if (!tsurugi_translate(&at.translation, times, &value) || value.vector != TG_V_INT || value.type != INT8OID)
		return false;
	operator->condition = value.place;
	return true;
}

/* What a pair must fulfil beyond equal keys. */
static bool
add_match(tsurugi_job_code *code, int number, int passed, List *clauses, OperatorCode *operator)
{
	Where at;
	tsurugi_operand condition;
	ListCell *cell;

	operator->match = tsurugi_program_make();
	at = tsurugi_job_where(code, number, passed, operator->match);
	at.match = passed + 1;
	foreach (cell, clauses)
	{
		if (!tsurugi_translate(&at.translation, lfirst(cell), &condition) || condition.vector != TG_V_BOOL)
			return false;
		operator->match_condition = cell == list_head(clauses)
			? condition.place
			: tsurugi_emit(operator->match, TG_OP_AND, TG_V_BOOL, operator->match_condition, condition.place);
	}
	return true;
}

static bool
add_probe(tsurugi_job_code *code, int number, int passed, Relids outer, const tsurugi_job_operator *join)
{
	const StepCode *built = &code->steps[join->build];
	OperatorCode *operator= add_operator(&code->steps[number], TG_PROBE);
	Where probe = tsurugi_job_where(code, number, passed, operator->program);
	List *rest = NIL;
	ListCell *cell;

	operator->join =(uint8_t) join->join;
	operator->build =(uint16_t) join->build;
	foreach (cell, join->clauses)
		if (!tsurugi_job_add_key(&probe, outer, lfirst(cell), operator))
			rest = lappend(rest, lfirst(cell));
	if (operator->key_count == 0 || operator->key_count<built->key_count)
		return false;
	for (int i = tsurugi_job_first_branch(code->job, join->build); i <= join->build; i++)
		code->steps[i].key_count = operator->key_count;
	tg_assert(built->key_count <= built->field_count); /* keys first */
	if (join->join != TG_JOIN_INNER)
		return rest == NIL || add_match(code, number, passed, rest, operator);
	foreach (cell, rest)
		if (!add_filter(code, number, passed + 1, lfirst(cell), false))
			return false;
	return true;
}

static bool
collect_vars(Node *node, List **vars)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		*vars = list_append_unique(*vars, node);
		return false;
	}
	return expression_tree_walker(node, collect_vars, vars);
}

/* Whether two conditions have one column, the same. */
static bool
are_of_one_column(Node *a, Node *b)
{
	List *vars = NIL;

	(void) collect_vars(a, &vars);
	if (list_length(vars) != 1)
		return false;
	(void) collect_vars(b, &vars);
	return list_length(vars) == 1 && tsurugi_has_columns(b);
}

/*
 * The condition of the filter at a place, with those behind it that have the same column: one load
 * and one selection do for all.  *at_inout becomes the place of the last one.
 */
static Node *
conditions_at(const tsurugi_job_step *step, int *at_inout)
{
	Node *condition = linitial(((tsurugi_job_operator *) list_nth(step->operators, *at_inout))->clauses);

	while (*at_inout + 1 < list_length(step->operators))
	{
		const tsurugi_job_operator *next = list_nth(step->operators, *at_inout + 1);

		if (next->probe || next->repeat || !are_of_one_column(condition, linitial(next->clauses)))
			break;
		condition = make_and_qual(condition, linitial(next->clauses));
		(*at_inout)++;
	}
	return condition;
}

static bool
add_operators(tsurugi_job_code *code, int number)
{
	const tsurugi_job_step *step = step_at(code, number);
	Relids passed_relids = !tg_source_is_step(step->source) ? bms_make_singleton(step->relation)
						   : step->subquery != 0			? bms_make_singleton(step->subquery)
															: step_at(code, step->from)->relids;
	int passed = first_matches(step);

	if (step->append != 0)
		passed_relids = bms_add_member(bms_copy(passed_relids), (int) step->append);
	for (int at = 0; at < list_length(step->operators); at++)
	{
		const tsurugi_job_operator *operator= list_nth(step->operators, at);

		if (operator->repeat)
		{
			if (!add_repeat(code, number, passed, linitial(operator->clauses)))
				return false;
			continue;
		}
		if (!operator->probe)
		{
			bool first = at == 0;

			if (!add_filter(code, number, passed, conditions_at(step, &at), first))
				return false;
			continue;
		}
		if (passed - first_matches(step) == TG_PLAN_PROBES_MAX ||
			!add_probe(code, number, passed, passed_relids, operator))
			return false;
		passed++;
		passed_relids = bms_union(passed_relids, step_at(code, operator->build)->relids);
	}
	return true;
}

/* --- order -------------------------------------------------------------------------------- */

bool
tsurugi_job_translate_at_end(tsurugi_job_code *code, int number, tsurugi_program *program, Node *expr,
							 tsurugi_operand *out)
{
	Where at = tsurugi_job_where(code, number, JOB_PASSED_ALL, program);

	return tsurugi_translate(&at.translation, expr, out);
}

/* --- the whole ------------------------------------------------------------------------ */

static bool
programs_fit(const tsurugi_job_code *code)
{
	for (int i = 0; i < code->step_count; i++)
	{
		const StepCode *step = &code->steps[i];
		ListCell *cell;

		if (tsurugi_program_registers(step->sink) > TG_REGISTER_MAX ||
			(step->order != NULL && tsurugi_program_registers(step->order) > TG_REGISTER_MAX))
			return false;
		foreach (cell, step->operators)
		{
			const OperatorCode *operator= lfirst(cell);

			if (tsurugi_program_registers(operator->program) > TG_REGISTER_MAX ||
				(operator->match != NULL && tsurugi_program_registers(operator->match) > TG_REGISTER_MAX))
				return false;
		}
	}
	return true;
}

tsurugi_job_code *
tsurugi_job_translate(const tsurugi_job *job, PlanState *node)
{
	tsurugi_job_code *code = palloc0(sizeof(*code));

	code->job = job;
	code->node = node;
	code->step_count = list_length(job->steps);
	if (code->step_count > TG_PLAN_STEPS_MAX)
		return NULL;
	code->steps = palloc0(code->step_count * sizeof(StepCode));
	for (int i = 0; i < code->step_count; i++)
		code->steps[i].sink = tsurugi_program_make();
	for (int i = 0; i < code->step_count; i++)
		if (!add_operators(code, i) || (step_at(code, i)->sink == TG_GROUP && !tsurugi_job_add_groups(code, i)))
			return NULL;
	if (tsurugi_job_hands_out_rows(job) && !tsurugi_job_add_raw_columns(code))
		return NULL;
	if (tsurugi_job_stores(job) && !tsurugi_job_add_stored_columns(code))
		return NULL;
	if (tsurugi_job_last(job)->sink == TG_SORT && !tsurugi_job_add_order(code))
		return NULL;
	return programs_fit(code) ? code : NULL;
}

bool
tsurugi_job_is_constant(const tsurugi_job_code *code)
{
	return !code->has_unknown;
}

const tsurugi_job_column *
tsurugi_job_columns(const tsurugi_job_code *code)
{
	return code->steps[tsurugi_job_result_number(code->job)].columns;
}

int
tsurugi_job_total_count(const tsurugi_job_code *code)
{
	return code->steps[tsurugi_job_result_number(code->job)].aggregate_count;
}
