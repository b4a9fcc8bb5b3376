/*
 * raw.c
 *	  A job that hands rows out: columns as they are stored, to the node.
 *
 * Nothing is computed in the sink: a column may have any type, and no value can be unfit.  What is
 * an expression above the job is PostgreSQL's.
 */
#include "postgres.h"

#include "runtime/order/kind.h"
#include "src/job/code_internal.h"

#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "runtime/query/plan.h"
#include "src/value/codec.h"

/* Of the step's source, where it is stored by that codec. */
static bool
raw_as_stored(tsurugi_program *program, const tsurugi_codec *codec, uint16_t field, tsurugi_raw *out)
{
	tg_input input = {.source = 0, .field = field};

	out->codec = codec;
	if (out->codec->form == TSURUGI_NOTHING)
		return false;
	out->vector = out->codec->kind >= TG_KIND_16 ? TG_V_TEXT : TG_V_INT;
	input.load = out->codec->kind >= TG_KIND_16 ? TG_LOAD_CELL : TG_LOAD_INT;
	out->place = tsurugi_emit_input(program, input, out->vector);
	return true;
}

static bool
raw_of_table(const tsurugi_job_step *step, tsurugi_program *program, const Var *var, tsurugi_raw *out)
{
	const tsurugi_job_table *first = linitial(step->tables);
	int column = tsurugi_job_column_of(first, var->varattno);

	return tsurugi_job_stored_alike(step, var->varattno) &&
		   raw_as_stored(program, &first->described->codecs[column],
						 first->attributes == NULL ? (uint16_t) column : (uint16_t) (var->varattno - 1), out);
}

static bool
raw_of_feed(tsurugi_job_code *code, int number, tsurugi_program *program, const Var *var, tsurugi_raw *out)
{
	int field = tsurugi_job_fed_column(code, number, var);

	return field >= 0 && raw_as_stored(program, &code->steps[number].fed[field].codec, (uint16_t) field, out);
}

/* A column of all steps that have one sink, stored by all in the same way; places: by step. */
static bool
raw_of_branches(tsurugi_job_code *code, int last, const Var *var, tsurugi_place *places, tsurugi_raw *out)
{
	int first = tsurugi_job_first_branch(code->job, last);

	for (int i = first; i <= last; i++)
	{
		tsurugi_raw raw;

		if (!tsurugi_job_find_raw(code, i, code->steps[i].sink, var, &raw) ||
			(i > first && (raw.vector != out->vector || !tsurugi_codec_same(raw.codec, out->codec))))
			return false;
		places[i - first] = raw.place;
		*out = raw;
	}
	return true;
}

/* Of an earlier step's row, which is the match of that number. */
static bool
raw_of_build(tsurugi_job_code *code, int build, int match, tsurugi_program *program, const Var *var, tsurugi_raw *out)
{
	tsurugi_place places[TG_PLAN_STEPS_MAX];
	int field;

	if (!raw_of_branches(code, build, var, places, out) || (field = tsurugi_job_field_of(code, build, places)) < 0)
		return false;
	out->place =
		tsurugi_emit_input(program, (tg_input){.source = (uint8_t) match, .field = (uint16_t) field}, out->vector);
	return true;
}

/* A column of the rows at the end of a step. */
bool
tsurugi_job_find_raw(tsurugi_job_code *code, int number, tsurugi_program *program, const Var *var, tsurugi_raw *out)
{
	const tsurugi_job_step *step = list_nth(code->job->steps, number);
	int match = tg_source_is_step(step->source);
	ListCell *cell;

	if (step->append != 0 && var->varno == step->append)
	{
		var = list_nth(step->branch, var->varattno - 1);
		if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0)
			return false;
	}
	if (step->source == TG_FROM_TABLES && var->varno == step->relation)
		return raw_of_table(step, program, var, out);
	if (step->source == TG_FROM_FEED && var->varno == step->relation)
		return raw_of_feed(code, number, program, var, out);
	if (tg_source_is_step(step->source))
	{
		const tsurugi_job_step *from = list_nth(code->job->steps, step->from);

		/* columns of groups are not stored ones */
		if (from->sink == TG_BUILD && bms_is_member(var->varno, from->relids))
			return raw_of_build(code, step->from, match, program, var, out);
	}
	foreach (cell, step->operators)
	{
		const tsurugi_job_operator *operator= lfirst(cell);

		if (!operator->probe)
			continue;
		match++;
		if (bms_is_member(var->varno, ((tsurugi_job_step *) list_nth(code->job->steps, operator->build))->relids))
			return tg_join_hands_pairs(operator->join) && raw_of_build(code, operator->build, match, program, var, out);
	}
	return false;
}

bool
tsurugi_job_add_raw_columns(tsurugi_job_code *code)
{
	int last = code->step_count - 1;
	int first = tsurugi_job_first_branch(code->job, last);
	const List *columns = tsurugi_job_last(code->job)->keys;
	ListCell *cell;

	if (list_length(columns) > FIELDS_MAX)
		return false;
	code->codecs = palloc0(Max(list_length(columns), 1) * sizeof(tsurugi_codec));
	foreach (cell, columns)
	{
		const Var *var = lfirst(cell);
		tsurugi_place places[TG_PLAN_STEPS_MAX];
		tsurugi_raw raw;

		if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0 ||
			!raw_of_branches(code, last, var, places, &raw))
			return false;
		code->codecs[foreach_current_index(cell)] = *raw.codec;
		for (int i = first; i <= last; i++)
			code->steps[i].fields[code->steps[i].field_count++] = places[i - first];
	}
	return true;
}

const tsurugi_codec *
tsurugi_job_codecs(const tsurugi_job_code *code)
{
	return code->codecs;
}

/* --- what can be unfit ---------------------------------------------------------------- */

/*
 * Whatever the values are: all inputs can be loaded, and all instructions have results that jobs
 * compute.  group_keys: if the step reads groups, how many keys they have; else -1.
 */
static bool
is_total(const tsurugi_program *program, int group_keys)
{
	const tg_program made = {.instruction_count = program->instruction_count, .instructions = program->instructions};

	for (int i = 0; i < program->input_count; i++)
	{
		const tg_input *input = &program->inputs[i];

		if (input->source == 0 && (input->load == TG_LOAD_NUMERIC || input->load == TG_LOAD_DECIMAL))
			return false; /* NaN, or a wide one */
		if (input->source == 1 && group_keys >= 0 && input->field >= group_keys && input->field != TG_FIELD_PRESENCE)
			return false; /* a sum that has no room */
	}
	return !tg_program_may_fail(&made);
}

/* Whether the last step's feed, if it has one, needs no memory, and has no value that is unfit. */
static bool
is_fed_well(const tsurugi_job_code *code)
{
	const StepCode *last = &code->steps[code->step_count - 1];

	for (int i = 0; i < last->fed_count; i++)
		if (last->fed[i].codec.form != TSURUGI_WORD && last->fed[i].codec.form != TSURUGI_FIXED)
			return false;
	return true;
}

bool
tsurugi_job_streams(const tsurugi_job_code *code)
{
	const tsurugi_job_step *last = tsurugi_job_last(code->job);
	int group_keys = -1;
	ListCell *cell;

	if (last->sink != TG_DELIVER || !is_fed_well(code))
		return false;
	if (tsurugi_job_first_branch(code->job, code->step_count - 1) < code->step_count - 1)
		return false; /* a further branch takes its memory when the first one's rows would be out */
	if (last->source == TG_FROM_ROWS && ((tsurugi_job_step *) list_nth(code->job->steps, last->from))->sink == TG_GROUP)
		group_keys = code->steps[last->from].key_count;
	foreach (cell, code->steps[code->step_count - 1].operators)
	{
		const OperatorCode *operator= lfirst(cell);

		if (!is_total(operator->program, group_keys) ||
			(operator->match != NULL && !is_total(operator->match, group_keys)))
			return false;
	}
	return true;
}
