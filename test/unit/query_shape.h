/*
 * query_shape.h
 *	  For the test of queries: shapes of plans, chosen by chance, and the plans made of them.
 *
 * A plan reads the facts, which may be joined with the dims up to two times.  Every expression has
 * the same inputs: all columns of the facts, then the fields of each probe that was passed.
 */
#ifndef TG_UNIT_QUERY_SHAPE_H
#define TG_UNIT_QUERY_SHAPE_H

#include "runtime/query/query.h"
#include "test/unit/query_world.h"

#define PROBES 2
#define INPUTS(probes) (COLUMNS + DIM_COLUMNS * (probes))
#define KEYS_MAX 4

typedef struct shape
{
	bool filter; /* key < FILTERED */
	unsigned probe_count;
	struct
	{
		tg_join join;
		bool by_text; /* beside the key */
		bool match;	  /* id < the match's value */
		bool chained; /* only dims whose key is in the third table */
	} probes[PROBES];
	unsigned key_count;
	uint16_t keys[KEYS_MAX]; /* inputs */
	bool wide;				 /* all aggregates many times: a group is larger than the first block */
	bool filter_last;		 /* behind the probes */
} shape;

#define FILTERED 45

static const tg_aggregate aggregates[] = {{TG_COUNT, TG_REGISTER_NONE, TG_REGISTER_NONE},
										  {TG_COUNT, KEY, TG_REGISTER_NONE},
										  {TG_COUNT, TG_REGISTER_NONE, BOOL},
										  {TG_SUM_INT, ID, BOOL},
										  {TG_SUM_INT, NUMERIC, TG_REGISTER_NONE},
										  {TG_SUM_INT, ADDED, TG_REGISTER_NONE},
										  {TG_SUM_FLOAT, FLOAT, TG_REGISTER_NONE},
										  {TG_MIN, ID, BOOL},
										  {TG_MAX, NUMERIC, TG_REGISTER_NONE},
										  {TG_MIN, FLOAT, TG_REGISTER_NONE},
										  {TG_MAX, FLOAT, BOOL},
										  {TG_MIN, TEXT, TG_REGISTER_NONE},
										  {TG_MAX, TEXT, BOOL},
										  {TG_MIN, BOOL, TG_REGISTER_NONE},
										  {TG_MAX, BOOL, TG_REGISTER_NONE},
										  {TG_SUM_INT, COLUMNS + DIM_VALUE, TG_REGISTER_NONE}}; /* with a probe */

#define AGGREGATES ((unsigned) (sizeof(aggregates) / sizeof(aggregates[0])))

#define WIDE 40

static unsigned
aggregate_count(const shape *shape)
{
	return AGGREGATES - (shape->probe_count == 0);
}

static bool
has_fields(const shape *shape, unsigned probe)
{
	return shape->probes[probe].join == TG_JOIN_INNER || shape->probes[probe].join == TG_JOIN_LEFT;
}

static void *
need(tg_query *query, size_t bytes)
{
	void *memory = tg_query_alloc(session, query, bytes);

	tg_check(memory != NULL);
	return memory;
}

/*
 * All columns of the facts, the fields of so many probes, a constant, and a comparison of two
 * registers; its register goes to *condition_out.  A probe without fields has a column in place of
 * them, except the last one if it is the matching one.
 */
static const tg_expressions *
express(tg_query *query, const shape *shape, unsigned probes, bool matching, uint16_t a, uint16_t b,
		uint16_t *condition_out)
{
	tg_expressions *made = need(query, sizeof(*made));
	unsigned inputs = INPUTS(probes);
	tg_input *input = need(query, inputs * sizeof(*input));
	uint8_t *types = need(query, inputs + 2);
	tg_vector *constant = need(query, sizeof(*constant));
	tg_instruction *instruction = need(query, sizeof(*instruction));

	for (unsigned i = 0; i < inputs; i++)
	{
		unsigned probe = i < COLUMNS ? 0 : (i - COLUMNS) / DIM_COLUMNS;
		unsigned field = i < COLUMNS ? i : (i - COLUMNS) % DIM_COLUMNS;
		bool of_fact = i < COLUMNS || !(has_fields(shape, probe) || (matching && probe == probes - 1));

		types[i] = i < COLUMNS ? fact_types[i] : dim_types[field];
		if (i >= COLUMNS && of_fact)
			field = dim_types[field] == TG_V_TEXT ? TEXT : ID;
		input[i] = (tg_input){.source = (uint8_t) (of_fact ? 0 : probe + 1), .field = (uint16_t) field};
		if (of_fact)
			input[i].load = fact_loads[field];
	}
	types[inputs] = TG_V_INT;
	types[inputs + 1] = TG_V_BOOL;
	*constant = (tg_vector){.data = need(query, 8), .type = TG_V_INT, .bits = TG_BITS_UNKNOWN, .constant = true};
	*(int64_t *) constant->data = FILTERED;
	*instruction = (tg_instruction){.op = TG_OP_LT,
									.a = a,
									.b = b == TG_REGISTER_NONE ? (uint16_t) inputs : b,
									.c = TG_REGISTER_NONE,
									.only = TG_REGISTER_NONE,
									.to = (uint16_t) (inputs + 1)};
	*condition_out = instruction->to;
	*made = (tg_expressions){.inputs = input,
							 .program = {.input_count = (uint16_t) inputs,
										 .constant_count = 1,
										 .register_count = (uint16_t) (inputs + 2),
										 .instruction_count = 1,
										 .types = types,
										 .constants = constant,
										 .instructions = instruction}};
	return made;
}

static const tg_expressions *
express_dim(tg_query *query)
{
	tg_expressions *made = need(query, sizeof(*made));
	tg_input *input = need(query, DIM_COLUMNS * sizeof(*input));

	for (unsigned i = 0; i < DIM_COLUMNS; i++)
		input[i] = (tg_input){.load = dim_loads[i], .field = (uint16_t) i};
	*made = (tg_expressions){
		.inputs = input, .program = {.input_count = DIM_COLUMNS, .register_count = DIM_COLUMNS, .types = dim_types}};
	return made;
}

static const tg_plan_table *
plan_table(tg_query *query, unsigned table)
{
	tg_plan_table *made = tg_query_alloc(session, query, sizeof(*made));

	made->table = tables[table];
	return made;
}

static tg_plan_step
plan_build(tg_query *query, unsigned table, unsigned keys, const unsigned *probed)
{
	static const uint16_t fields[DIM_COLUMNS] = {0, 1, 2};
	tg_plan_step step = {.table_count = 1, .tables = plan_table(query, table)};

	if (probed != NULL)
	{
		tg_operator *semi = need(query, sizeof(*semi));

		*semi = (tg_operator){.kind = TG_PROBE,
							  .join = TG_JOIN_SEMI,
							  .build = (uint16_t) *probed,
							  .expressions = express_dim(query),
							  .keys = fields};
		step.operators = semi;
		step.operator_count = step.probe_count = 1;
	}
	step.sink = (tg_sink){.kind = TG_BUILD,
						  .key_count = (uint16_t) keys,
						  .field_count = DIM_COLUMNS,
						  .expressions = express_dim(query),
						  .fields = fields};
	return step;
}

static void
plan_filter(tg_query *query, const shape *shape, unsigned probes, tg_operator *to)
{
	to->kind = TG_FILTER;
	to->expressions = express(query, shape, probes, false, KEY, TG_REGISTER_NONE, &to->condition);
}

static void
plan_probe(tg_query *query, const shape *shape, unsigned probe, unsigned build, tg_operator *to)
{
	static const uint16_t keys[] = {KEY, TEXT};
	uint16_t unused;

	*to = (tg_operator){.kind = TG_PROBE,
						.join = (uint8_t) shape->probes[probe].join,
						.build = (uint16_t) build,
						.keys = keys,
						.expressions = express(query, shape, probe, false, ID, ID, &unused)};
	if (shape->probes[probe].match)
		to->match =
			express(query, shape, probe + 1, true, ID, (uint16_t) (INPUTS(probe) + DIM_VALUE), &to->match_condition);
}

/* The aggregates, again and again if it is wide. */
static tg_sink
plan_group(tg_query *query, const shape *shape)
{
	unsigned count = aggregate_count(shape);
	unsigned times = shape->wide ? WIDE : 1;
	tg_aggregate *all = need(query, count * times * sizeof(*all));
	uint16_t unused;

	for (unsigned i = 0; i < count * times; i++)
		all[i] = aggregates[i % count];
	return (tg_sink){.kind = TG_GROUP,
					 .key_count = (uint16_t) shape->key_count,
					 .aggregate_count = (uint16_t) (count * times),
					 .expressions = express(query, shape, shape->probe_count, false, ID, ID, &unused),
					 .fields = shape->keys,
					 .aggregates = all};
}

static const tg_plan *
make_plan(tg_query *query, const shape *shape)
{
	tg_plan *plan = need(query, sizeof(*plan));
	tg_plan_step *steps = need(query, (2 * PROBES + 1) * sizeof(*steps));
	tg_operator *operators = need(query, (PROBES + 1) * sizeof(*operators));
	tg_plan_step *last;
	unsigned count = 0;
	unsigned operator_count = 0;

	if (shape->filter && !shape->filter_last)
		plan_filter(query, shape, 0, &operators[operator_count++]);
	for (unsigned i = 0; i < shape->probe_count; i++)
	{
		unsigned chain = count;

		if (shape->probes[i].chained)
			steps[count++] = plan_build(query, 2, 1, NULL);
		steps[count++] = plan_build(query, 1, 1 + shape->probes[i].by_text, shape->probes[i].chained ? &chain : NULL);
		plan_probe(query, shape, i, count - 1, &operators[operator_count++]);
	}
	if (shape->filter && shape->filter_last)
		plan_filter(query, shape, shape->probe_count, &operators[operator_count++]);
	last = &steps[count++];
	*last = (tg_plan_step){.table_count = 1,
						   .tables = plan_table(query, 0),
						   .operators = operators,
						   .operator_count = (uint16_t) operator_count,
						   .probe_count = (uint16_t) shape->probe_count,
						   .sink = plan_group(query, shape)};
	*plan = (tg_plan){.step_count = count, .steps = steps};
	return plan;
}

static shape
random_shape(void)
{
	static const uint16_t few[] = {KEY, TEXT, BOOL};
	shape shape = {.filter = unit_below(&seed, 2) == 0, .filter_last = unit_below(&seed, 2) == 0};

	shape.probe_count = unit_below(&seed, PROBES + 1);
	for (unsigned i = 0; i < shape.probe_count; i++)
	{
		shape.probes[i].join = (tg_join) unit_below(&seed, 4);
		shape.probes[i].by_text = unit_below(&seed, 3) == 0;
		shape.probes[i].match = unit_below(&seed, 2) == 0;
		shape.probes[i].chained = unit_below(&seed, 4) == 0;
	}
	shape.key_count = unit_below(&seed, KEYS_MAX);
	/* the first one may have many values */
	for (unsigned i = 0; i < shape.key_count; i++)
		shape.keys[i] = (uint16_t) (i == 0 ? unit_below(&seed, INPUTS(shape.probe_count)) : few[unit_below(&seed, 3)]);
	shape.wide = shape.key_count < 2 && unit_below(&seed, 6) == 0;
	if (shape.wide)
		shape.keys[0] = TEXT;
	return shape;
}

#endif /* TG_UNIT_QUERY_SHAPE_H */
