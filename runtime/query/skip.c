/*
 * skip.c
 *	  Chunks that a step passes over, because no row in them can pass its first filters, or find
 *	  anything in the builds that it probes.
 *
 * A filter is a program.  Where its condition is a comparison of a column with a constant, one of a
 * list of constants, IS NULL or IS NOT NULL, or several of these joined by AND, it is a demand on
 * the column: values in an interval, or NULLs.  Floats are demanded by their ranks.  Whatever else
 * the condition is demands nothing.
 *
 *		day >= $1 AND day < $2			day in [$1, $2 - 1]
 *		id IN (7, 3, 9)					id in [3, 9]
 *
 * 1. Demands are those of the step's movable filters (step.c, 1), and of the builds that it probes
 *	  (bound.c).  They cannot fail, and any of them may be the first that a row meets.  So a row
 *	  that one of them drops need not be looked at by the others, nor by anything behind them; a
 *	  chunk is left out if all of its rows are such.
 * 2. Whether that is so is known by the chunk's summary, which is true while the chunk is settled.
 *	  In a chunk with rows that this transaction, or another one that has not ended, has written
 *	  there are headers.
 * 3. A summary is made where it would have helped: in a chunk whose rows these have all dropped.
 *	  So tables in no order that a query asks for get none.  Columns are measured in the order of
 *	  the demands, until the chunk is known to have been needless.
 * 4. What a transaction is said to have read is the whole table (X8 is the host's), so leaving
 *	  chunks out changes nothing there.
 */
#include "runtime/query/query_internal.h"

#include "runtime/table/summary.h"
#include "runtime/table/table.h"

/* --- demands ------------------------------------------------------------------------------ */

static bool
is_input(const tg_expressions *expressions, uint16_t number)
{
	return number < expressions->program.input_count && expressions->inputs[number].source == 0;
}

/* The constant in a register that is not NULL; or NULL. */
static const tg_vector *
constant_of(const tg_program *program, uint16_t number)
{
	const tg_vector *constant;

	if (number < program->input_count || number >= program->input_count + program->constant_count)
		return NULL;
	constant = &program->constants[number - program->input_count];
	return constant->nulls != NULL && constant->nulls[0] != 0 ? NULL : constant;
}

static void
add_demand(const tg_expressions *expressions, uint16_t input, tg_demand demand, tg_demands *demands)
{
	switch ((tg_input_form) expressions->inputs[input].load)
	{
		case TG_LOAD_INT:
		case TG_LOAD_NUMERIC:
			demand.order = TG_BOUNDS_INT;
			break;
		case TG_LOAD_FLOAT:
			demand.order = TG_BOUNDS_FLOAT;
			break;
		default:
			return;
	}
	demand.field = expressions->inputs[input].field;
	if (demands->count < TG_DEMANDS_MAX)
		demands->demands[demands->count++] = demand;
}

/* As EQ to GE of integers. */
static tg_op
comparison_of(tg_op op)
{
	return op >= TG_OP_FLOAT_EQ ? (tg_op) (op - TG_OP_FLOAT_EQ + TG_OP_EQ) : op;
}

/* Where no value fulfils the condition, the interval is one that some might. */
static void
add_comparison(const tg_expressions *expressions, const tg_instruction *at, tg_demands *demands)
{
	tg_op op = comparison_of((tg_op) at->op);
	tg_demand demand = {.low = INT64_MIN, .high = INT64_MAX};
	uint16_t input = at->a;
	const tg_vector *constant = constant_of(&expressions->program, at->b);
	int64_t bound;

	if (constant == NULL)
	{
		op = tg_op_mirrored(op);
		input = at->b;
		constant = constant_of(&expressions->program, at->a);
	}
	if (constant == NULL || !is_input(expressions, input))
		return;
	bound = constant->type == TG_V_FLOAT ? tg_float_rank(*(const double *) constant->data)
										 : *(const int64_t *) constant->data;
	if (op == TG_OP_EQ || op == TG_OP_GE)
		demand.low = bound;
	else if (op == TG_OP_GT)
		demand.low = bound < INT64_MAX ? bound + 1 : bound;
	if (op == TG_OP_EQ || op == TG_OP_LE)
		demand.high = bound;
	else if (op == TG_OP_LT)
		demand.high = bound > INT64_MIN ? bound - 1 : bound;
	if (op != TG_OP_NE)
		add_demand(expressions, input, demand, demands);
}

/* The instruction that writes a register; NULL: it is an input or a constant. */
static const tg_instruction *
instruction_of(const tg_program *program, uint16_t number)
{
	unsigned first = (unsigned) program->input_count + program->constant_count;

	return number < first ? NULL : &program->instructions[number - first];
}

static bool
is_null_test(const tg_expressions *expressions, const tg_instruction *at)
{
	return at != NULL && at->op == TG_OP_IS_NULL && is_input(expressions, at->a);
}

/* Operands have lower numbers than results, and conditions are small: the recursion ends soon. */
static void
add_demands(const tg_expressions *expressions, uint16_t condition, tg_demands *demands)
{
	const tg_program *program = &expressions->program;
	const tg_instruction *at = instruction_of(program, condition);
	const tg_set *set;

	if (at == NULL || demands->count == TG_DEMANDS_MAX)
		return;
	switch ((tg_op) at->op)
	{
		case TG_OP_AND:
			add_demands(expressions, at->a, demands);
			add_demands(expressions, at->b, demands);
			break;
		case TG_OP_EQ:
		case TG_OP_LT:
		case TG_OP_LE:
		case TG_OP_GT:
		case TG_OP_GE:
		case TG_OP_FLOAT_EQ:
		case TG_OP_FLOAT_LT:
		case TG_OP_FLOAT_LE:
		case TG_OP_FLOAT_GT:
		case TG_OP_FLOAT_GE:
			add_comparison(expressions, at, demands);
			break;
		case TG_OP_IN:
			set = at->more;
			if (set->count > 0 && is_input(expressions, at->a))
				add_demand(expressions, at->a, (tg_demand){.low = set->ints[0], .high = set->ints[set->count - 1]},
						   demands);
			break;
		case TG_OP_IS_NULL:
			if (is_null_test(expressions, at))
				add_demand(expressions, at->a, (tg_demand){.null = true}, demands);
			break;
		case TG_OP_NOT:
			at = instruction_of(program, at->a);
			if (is_null_test(expressions, at))
				add_demand(expressions, at->a, (tg_demand){.low = INT64_MIN, .high = INT64_MAX}, demands);
			break;
		default:
			break;
	}
}

void
tg_demands_find(const tg_plan_step *step, unsigned movable_count, const tg_demands *others, tg_demands *demands)
{
	demands->count = 0;
	for (unsigned i = 0; i < movable_count; i++)
		add_demands(step->operators[i].expressions, step->operators[i].condition, demands);
	for (unsigned i = 0; i < others->count && demands->count < TG_DEMANDS_MAX; i++)
		demands->demands[demands->count++] = others->demands[i];
}

/* --- chunks ------------------------------------------------------------------------------- */

static unsigned
column_of(const tg_plan_table *table, const tg_demand *demand)
{
	return table->columns != NULL ? table->columns[demand->field] : demand->field;
}

/* Whether the chunk is known to have no row with such a value. */
static bool
has_none(const tg_plan_table *table, const tg_chunk *chunk, const tg_demand *demand)
{
	tg_bounds bounds;

	if (demand->low > demand->high)
		return true;
	if (!tg_summary_get(chunk, column_of(table, demand), (tg_bounds_order) demand->order, &bounds))
		return false;
	if (demand->null)
		return !bounds.has_null;
	return bounds.low > bounds.high || bounds.high < demand->low || bounds.low > demand->high;
}

bool
tg_chunk_is_needless(const tg_plan_table *table, const tg_chunk *chunk, const tg_demands *demands)
{
	for (unsigned i = 0; i < demands->count; i++)
		if (has_none(table, chunk, &demands->demands[i]))
			return true;
	return false;
}

void
tg_chunk_was_needless(tg_session *session, const tg_plan_table *table, const tg_chunk *chunk, const tg_demands *demands)
{
	tg_chunk *own = tg_table_chunk(table->table, chunk->index); /* the same, to be written to */

	for (unsigned i = 0; i < demands->count; i++)
	{
		const tg_demand *demand = &demands->demands[i];

		tg_summary_make(session, own, column_of(table, demand), (tg_bounds_order) demand->order);
		if (has_none(table, chunk, demand))
			return;
	}
}
