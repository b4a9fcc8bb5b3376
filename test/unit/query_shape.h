/*
 * query_shape.h
 *	  For the test of queries: shapes of plans, chosen by chance, and the plans made of them.
 *
 * A plan reads the facts, which may be joined with the dims up to two times.  Every expression has
 * the same inputs: all columns of the facts, then the fields of each probe that was passed.  The
 * rows of either may be fed by the requester instead.
 *
 * One semi or anti join may be done by marks: the rows of the facts that have got there are built,
 * with all inputs as fields, the dims mark them, and a further step goes on with them.
 *
 * The facts, or the dims of all builds, may be read by two steps with one sink, a part of the rows
 * by each.
 *
 * The rows may be grouped twice: by the keys and one input more, then these groups by the keys.  If
 * that input is what rows are filtered by last, the groups are filtered instead.
 */
#ifndef TG_UNIT_QUERY_SHAPE_H
#define TG_UNIT_QUERY_SHAPE_H

#include "runtime/query/query.h"
#include "test/unit/query_world.h"

#define PROBES 2
#define INPUTS(probes) (COLUMNS + DIM_COLUMNS * (probes))
#define KEYS_MAX 4

/* What becomes of the rows. */
typedef enum result
{
	GROUPS,
	KEPT,	 /* the keys are handed out, in the end, */
	STREAMS, /* or as they come, */
	SORTED	 /* or in their order */
} result;

static uint64_t fed_seed = 20261128; /* of what is fed, and of how many rows at a time */
static uint64_t parts_seed = 20261129;

#define FED_FACTS 1u
#define FED_DIMS 2u

typedef struct shape
{
	result result;
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
	int marked;				 /* the probe that is done by marks, -1: none */
	int twice;				 /* the input more, -1: none; not with wide */
	unsigned fed;			 /* FED_FACTS, FED_DIMS */
	bool dims_in_parts;
	bool facts_in_parts; /* if that can be */
	/* SORTED, by key: */
	bool descending[KEYS_MAX];
	bool nulls_first[KEYS_MAX];
	uint64_t limit;
} shape;

static bool
is_behind_marks(const shape *shape, unsigned probes)
{
	return shape->marked >= 0 && probes > (unsigned) shape->marked;
}

static unsigned
keys_of_probe(const shape *shape, unsigned probe)
{
	return 1 + shape->probes[probe].by_text;
}

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

static bool
is_wide_sum(const tg_aggregate *aggregate)
{
	return aggregate->function == TG_SUM_INT && aggregate->argument == NUMERIC;
}

static unsigned
aggregate_count(const shape *shape)
{
	return AGGREGATES - (shape->probe_count == 0);
}

static bool
has_fields(const shape *shape, unsigned probe)
{
	return tg_join_hands_pairs(shape->probes[probe].join);
}

static void *
need(tg_query *query, size_t bytes)
{
	void *memory = tg_query_alloc(session, query, bytes);

	tg_check(memory != NULL);
	return memory;
}

/* The rows that marks were put on are match 1, with the keys and all inputs of before as fields. */
static void
place_behind_marks(const shape *shape, unsigned index, bool of_fact, tg_input *input)
{
	unsigned marked = (unsigned) shape->marked;
	unsigned before = INPUTS(marked);

	if (index < before)
		*input = (tg_input){.source = 1, .field = (uint16_t) (keys_of_probe(shape, marked) + index)};
	else if (of_fact)
		*input = (tg_input){.source = 1, .field = (uint16_t) (keys_of_probe(shape, marked) + input->field)};
	else
		input->source = (uint8_t) (input->source - marked);
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
		if (is_behind_marks(shape, probes))
			place_behind_marks(shape, i, of_fact, &input[i]);
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

/*
 * A filter that keeps the rows of one part: those for which a comparison, the last instruction, is
 * true, or those for which it is not.
 */
static void
plan_part(tg_query *query, const tg_expressions *compared, uint16_t condition, bool second, tg_operator *to)
{
	tg_expressions *made = need(query, sizeof(*made));
	unsigned registers = compared->program.register_count;
	unsigned count = compared->program.instruction_count;
	tg_instruction *instructions = need(query, (count + 2) * sizeof(*instructions));
	uint8_t *types = need(query, registers + 2);

	*made = *compared;
	memcpy(instructions, compared->program.instructions, count * sizeof(*instructions));
	memcpy(types, compared->program.types, registers);
	for (unsigned i = 0; i < 2; i++)
	{
		types[registers + i] = TG_V_BOOL;
		instructions[count + i] = (tg_instruction){.op = i == 0 ? TG_OP_IS_TRUE : TG_OP_NOT,
												   .a = (uint16_t) (i == 0 ? condition : registers),
												   .b = TG_REGISTER_NONE,
												   .c = TG_REGISTER_NONE,
												   .only = TG_REGISTER_NONE,
												   .to = (uint16_t) (registers + i)};
	}
	made->program.types = types;
	made->program.instructions = instructions;
	made->program.instruction_count = (uint16_t) (count + 2);
	made->program.register_count = (uint16_t) (registers + 2);
	*to = (tg_operator){
		.kind = TG_FILTER, .expressions = made, .condition = (uint16_t) (second ? registers + 1 : registers)};
}

/* Of the dims: whether the key is less than the value. */
static const tg_expressions *
express_dim_part(tg_query *query, uint16_t *condition_out)
{
	const tg_expressions *plain = express_dim(query);
	tg_expressions *made = need(query, sizeof(*made));
	uint8_t *types = need(query, DIM_COLUMNS + 1);
	tg_instruction *instruction = need(query, sizeof(*instruction));

	*made = *plain;
	memcpy(types, dim_types, DIM_COLUMNS);
	types[DIM_COLUMNS] = TG_V_BOOL;
	*instruction = (tg_instruction){
		.op = TG_OP_LT, .a = DIM_VALUE, .b = 0, .c = TG_REGISTER_NONE, .only = TG_REGISTER_NONE, .to = DIM_COLUMNS};
	*condition_out = DIM_COLUMNS;
	made->program.types = types;
	made->program.instructions = instruction;
	made->program.instruction_count = 1;
	made->program.register_count = DIM_COLUMNS + 1;
	return made;
}

static const tg_plan_table *
plan_table(tg_query *query, unsigned table)
{
	tg_plan_table *made = tg_query_alloc(session, query, sizeof(*made));

	made->table = tables[table];
	made->index_count = 1;
	made->indexes = &indexes[table];
	return made;
}

/* A step that reads a table, or its rows from the requester. */
static tg_plan_step
plan_source(tg_query *query, unsigned table, bool fed)
{
	if (!fed)
		return (tg_plan_step){.table_count = 1, .tables = plan_table(query, table)};
	return (tg_plan_step){.source = TG_FROM_FEED,
						  .feed_column_count = table == 0 ? COLUMNS : DIM_COLUMNS,
						  .feed_kinds = table == 0 ? fact_kinds : dim_kinds};
}

static tg_plan_step
plan_build(tg_query *query, unsigned table, unsigned keys, const unsigned *probed, bool has_rest, bool fed)
{
	static const uint16_t fields[DIM_COLUMNS] = {0, 1, 2};
	tg_plan_step step = plan_source(query, table, fed);

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
						  .marked = has_rest,
						  .keeps_nulls = has_rest,
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

/* Keys first, which registers they are also fields of. */
static tg_sink
plan_marked(tg_query *query, const shape *shape)
{
	unsigned probe = (unsigned) shape->marked;
	unsigned keys = keys_of_probe(shape, probe);
	uint16_t *fields = need(query, (keys + INPUTS(probe)) * sizeof(*fields));
	uint16_t unused;

	fields[0] = KEY;
	fields[keys - 1] = keys > 1 ? TEXT : KEY;
	for (unsigned i = 0; i < INPUTS(probe); i++)
		fields[keys + i] = (uint16_t) i;
	return (tg_sink){.kind = TG_BUILD,
					 .key_count = (uint16_t) keys,
					 .field_count = (uint16_t) (keys + INPUTS(probe)),
					 .marked = true,
					 .keeps_nulls = shape->probes[probe].join == TG_JOIN_ANTI,
					 .expressions = express(query, shape, probe, false, ID, ID, &unused),
					 .fields = fields};
}

/* The dim's columns, the id of the fact of the pair, and whether it is less than the value. */
static const tg_expressions *
express_mark(tg_query *query, const shape *shape, uint16_t *condition_out)
{
	tg_expressions *made = need(query, sizeof(*made));
	tg_input *input = need(query, (DIM_COLUMNS + 1) * sizeof(*input));
	uint8_t *types = need(query, DIM_COLUMNS + 2);
	tg_instruction *instruction = need(query, sizeof(*instruction));

	for (unsigned i = 0; i < DIM_COLUMNS; i++)
		input[i] = (tg_input){.load = dim_loads[i], .field = (uint16_t) i};
	memcpy(types, dim_types, DIM_COLUMNS);
	input[DIM_COLUMNS] = (tg_input){.source = (uint8_t) (1 + shape->probes[shape->marked].chained),
									.field = (uint16_t) (keys_of_probe(shape, (unsigned) shape->marked) + ID)};
	types[DIM_COLUMNS] = TG_V_INT;
	types[DIM_COLUMNS + 1] = TG_V_BOOL;
	*instruction = (tg_instruction){.op = TG_OP_LT,
									.a = DIM_COLUMNS,
									.b = DIM_VALUE,
									.c = TG_REGISTER_NONE,
									.only = TG_REGISTER_NONE,
									.to = DIM_COLUMNS + 1};
	*condition_out = instruction->to;
	*made = (tg_expressions){.inputs = input,
							 .program = {.input_count = DIM_COLUMNS + 1,
										 .register_count = DIM_COLUMNS + 2,
										 .instruction_count = 1,
										 .types = types,
										 .instructions = instruction}};
	return made;
}

/* The step that reads the dims and marks. */
static tg_plan_step
plan_mark(tg_query *query, const shape *shape, unsigned build, const unsigned *probed)
{
	static const uint16_t keys[] = {0, 1};
	tg_plan_step step = plan_build(query, 1, 1, probed, false, shape->fed & FED_DIMS);
	tg_operator *operators = need(query, 2 * sizeof(*operators));
	tg_operator *to = &operators[step.operator_count];

	if (probed != NULL)
		operators[0] = step.operators[0];
	*to = (tg_operator){.kind = TG_PROBE,
						.join = TG_JOIN_MARK,
						.build = (uint16_t) build,
						.keys = keys,
						.expressions = express_dim(query)};
	if (shape->probes[shape->marked].match)
		to->match = express_mark(query, shape, &to->match_condition);
	step.operators = operators;
	step.operator_count++;
	step.probe_count++;
	step.sink = (tg_sink){.kind = TG_NOTHING, .expressions = express_dim(query)};
	return step;
}

/* Groups of the groups: counts are added up, the rest is taken by its own function once more. */
static tg_plan_step
plan_again(tg_query *query, const shape *shape, unsigned from)
{
	unsigned count = aggregate_count(shape);
	unsigned keys = shape->key_count;
	tg_expressions *made = need(query, sizeof(*made));
	tg_input *input = need(query, (keys + count) * sizeof(*input));
	uint8_t *types = need(query, keys + count);
	tg_aggregate *all = need(query, count * sizeof(*all));
	uint16_t *fields = need(query, (keys + 1) * sizeof(*fields));

	for (unsigned i = 0; i < keys + count; i++)
	{
		const tg_aggregate *aggregate = &aggregates[i < keys ? 0 : i - keys];
		unsigned of = i < keys ? shape->keys[i] : aggregate->argument;

		/* the keys of the groups have one more, the last */
		input[i] = (tg_input){.source = 1, .field = (uint16_t) (i < keys ? i : i + 1)};
		types[i] = i >= keys && aggregate->function == TG_COUNT ? TG_V_INT
				   : of < COLUMNS								? fact_types[of]
																: dim_types[(of - COLUMNS) % DIM_COLUMNS];
		if (i < keys)
			fields[i] = (uint16_t) i;
		else
			all[i - keys] =
				(tg_aggregate){.function = aggregate->function == TG_COUNT ? TG_SUM_INT : aggregate->function,
							   .argument = (uint16_t) i,
							   .filter = TG_REGISTER_NONE};
	}
	*made = (tg_expressions){.inputs = input,
							 .program = {.input_count = (uint16_t) (keys + count),
										 .register_count = (uint16_t) (keys + count),
										 .types = types}};
	return (tg_plan_step){.source = TG_FROM_ROWS,
						  .from = (uint16_t) from,
						  .sink = {.kind = TG_GROUP,
								   .key_count = (uint16_t) keys,
								   .aggregate_count = (uint16_t) count,
								   .expressions = made,
								   .fields = fields,
								   .aggregates = all}};
}

/*
 * The aggregates, again and again if it is wide.  If they are to be taken twice, the sum that does
 * not fit into 64 bits is left out.
 */
static tg_sink
plan_group(tg_query *query, const shape *shape)
{
	unsigned count = aggregate_count(shape);
	unsigned times = shape->wide ? WIDE : 1;
	unsigned keys = shape->key_count + (shape->twice >= 0);
	tg_aggregate *all = need(query, count * times * sizeof(*all));
	uint16_t *fields = need(query, (keys + 1) * sizeof(*fields));
	uint16_t unused;

	for (unsigned i = 0; i < count * times; i++)
	{
		all[i] = aggregates[i % count];
		if (shape->twice >= 0 && is_wide_sum(&all[i]))
			all[i].argument = ID;
	}
	memcpy(fields, shape->keys, shape->key_count * sizeof(*fields));
	if (shape->twice >= 0)
		fields[keys - 1] = (uint16_t) shape->twice;
	return (tg_sink){.kind = TG_GROUP,
					 .key_count = (uint16_t) keys,
					 .aggregate_count = (uint16_t) (count * times),
					 .expressions = express(query, shape, shape->probe_count, false, ID, ID, &unused),
					 .fields = fields,
					 .aggregates = all};
}

/* Whether the filter behind the probes is one of groups, whose last key it compares. */
static bool
filters_groups(const shape *shape)
{
	return shape->filter && shape->filter_last && shape->twice == KEY;
}

static void
plan_filter_of_groups(tg_query *query, const shape *shape, tg_operator *to)
{
	const tg_expressions *of_rows =
		express(query, shape, shape->probe_count, false, 0, TG_REGISTER_NONE, &to->condition);
	tg_expressions *made = need(query, sizeof(*made));
	tg_input *input = need(query, sizeof(*input));
	tg_instruction *instruction = need(query, sizeof(*instruction));
	uint8_t *types = need(query, 3);

	*input = (tg_input){.source = 1, .field = (uint16_t) shape->key_count};
	types[0] = types[1] = TG_V_INT;
	types[2] = TG_V_BOOL;
	*instruction = of_rows->program.instructions[0];
	instruction->a = 0;
	instruction->b = 1;
	instruction->to = 2;
	*made = *of_rows;
	made->inputs = input;
	made->program.input_count = 1;
	made->program.register_count = 3;
	made->program.types = types;
	made->program.instructions = instruction;
	*to = (tg_operator){.kind = TG_FILTER, .expressions = made, .condition = 2};
}

/* A plan under construction: the step that goes on, and those before it. */
typedef struct making
{
	tg_query *query;
	const shape *shape;
	tg_plan_step *steps;
	unsigned count;
	tg_plan_step step;
	tg_operator *operators;
} making;

static tg_operator *
next_operator(making *making, bool probe)
{
	making->step.probe_count += probe;
	return &making->operators[making->step.operator_count++];
}

static void
end_step(making *making, tg_sink sink)
{
	making->step.operators = making->operators;
	making->step.sink = sink;
	making->steps[making->count++] = making->step;
	making->step = (tg_plan_step){.source = TG_FROM_TABLES};
	making->operators = need(making->query, (PROBES + 1) * sizeof(tg_operator));
}

/* The build of a probe, of all dims or in two parts. */
static void
make_build(making *making, unsigned probe, const unsigned *chain)
{
	const shape *shape = making->shape;

	for (unsigned part = shape->dims_in_parts ? 0 : 1; part < 2; part++)
	{
		tg_plan_step *step = &making->steps[making->count++];
		tg_operator *operators = need(making->query, 2 * sizeof(*operators));
		const tg_expressions *compared;
		uint16_t condition;

		*step = plan_build(making->query, 1, keys_of_probe(shape, probe), chain,
						   tg_join_has_rest(shape->probes[probe].join), shape->fed & FED_DIMS);
		if (!shape->dims_in_parts)
			break;
		compared = express_dim_part(making->query, &condition);
		plan_part(making->query, compared, condition, part == 1, &operators[0]);
		if (step->operator_count > 0)
			operators[1] = step->operators[0];
		step->operators = operators;
		step->operator_count++;
		step->sink.goes_on = part == 0;
	}
}

static void
make_probe(making *making, unsigned probe)
{
	const shape *shape = making->shape;
	unsigned build = making->count;
	unsigned chain;

	if (shape->marked == (int) probe)
		end_step(making, plan_marked(making->query, shape));
	chain = making->count;
	if (shape->probes[probe].chained)
		making->steps[making->count++] = plan_build(making->query, 2, 1, NULL, false, false);
	if (shape->marked == (int) probe)
	{
		making->steps[making->count++] =
			plan_mark(making->query, shape, build, shape->probes[probe].chained ? &chain : NULL);
		making->step.source = shape->probes[probe].join == TG_JOIN_SEMI ? TG_FROM_MARKED : TG_FROM_UNMARKED;
		making->step.from = (uint16_t) build;
		return;
	}
	make_build(making, probe, shape->probes[probe].chained ? &chain : NULL);
	plan_probe(making->query, shape, probe, making->count - 1, next_operator(making, true));
}

/* The keys alone; a numeric as it is stored. */
static tg_sink
plan_deliver(tg_query *query, const shape *shape)
{
	uint16_t unused;
	const tg_expressions *made = express(query, shape, shape->probe_count, false, ID, ID, &unused);
	tg_input *inputs = need(query, INPUTS(PROBES) * sizeof(*inputs));
	uint8_t *types = need(query, INPUTS(PROBES) + 2);
	tg_expressions *raw = need(query, sizeof(*raw));

	*raw = *made;
	memcpy(inputs, made->inputs, made->program.input_count * sizeof(*inputs));
	memcpy(types, made->program.types, made->program.register_count);
	if (inputs[NUMERIC].source == 0)
	{
		inputs[NUMERIC].load = TG_LOAD_CELL;
		types[NUMERIC] = TG_V_TEXT;
	}
	raw->inputs = inputs;
	raw->program.types = types;
	return (tg_sink){.kind = TG_DELIVER,
					 .streams = shape->result == STREAMS,
					 .field_count = (uint16_t) shape->key_count,
					 .expressions = raw,
					 .fields = shape->keys};
}

/* The same in the order of the keys, at least one. */
static tg_sink
plan_sort(tg_query *query, const shape *shape)
{
	tg_sink sink = plan_deliver(query, shape);
	tg_sort_key *keys = need(query, shape->key_count * sizeof(*keys));

	for (unsigned i = 0; i < shape->key_count; i++)
		keys[i] =
			(tg_sort_key){.value = shape->keys[i],
						  .order = shape->keys[i] == NUMERIC && sink.expressions->program.types[NUMERIC] == TG_V_TEXT
									   ? TG_ORDER_WIDE
									   : TG_ORDER_VALUE,
						  .descending = shape->descending[i],
						  .nulls_first = shape->nulls_first[i]};
	sink.kind = TG_SORT;
	sink.order = sink.expressions;
	sink.sort_keys = keys;
	sink.sort_key_count = (uint16_t) shape->key_count;
	sink.limit = shape->limit;
	return sink;
}

static tg_sink
plan_last(tg_query *query, const shape *shape)
{
	return shape->result == GROUPS	 ? plan_group(query, shape)
		   : shape->result == SORTED ? plan_sort(query, shape)
									 : plan_deliver(query, shape);
}

/* Whether two steps can read the facts, and all that follows is done by both. */
static bool
reads_facts_in_parts(const shape *shape)
{
	for (unsigned i = 0; i < shape->probe_count; i++)
		if (tg_join_has_rest(shape->probes[i].join))
			return false;
	return shape->facts_in_parts && shape->marked < 0 && (shape->result == GROUPS || shape->result == SORTED);
}

/* The last step, as two: the first operator of each keeps a part of the facts. */
static void
end_in_parts(making *making, tg_sink sink)
{
	const tg_plan_step step = making->step;
	const tg_operator *operators = making->operators;

	for (unsigned part = 0; part < 2; part++)
	{
		uint16_t condition;
		const tg_expressions *compared = express(making->query, making->shape, 0, false, ID, ADDED, &condition);

		making->step = step;
		making->operators = need(making->query, (step.operator_count + 1u) * sizeof(tg_operator));
		plan_part(making->query, compared, condition, part == 1, &making->operators[0]);
		memcpy(making->operators + 1, operators, step.operator_count * sizeof(tg_operator));
		making->step.operator_count++;
		sink.goes_on = part == 0;
		end_step(making, sink);
	}
}

static const tg_plan *
make_plan(tg_query *query, const shape *shape)
{
	tg_plan *plan = need(query, sizeof(*plan));
	making making = {.query = query,
					 .shape = shape,
					 .steps = need(query, (4 * PROBES + 3) * sizeof(tg_plan_step)),
					 .operators = need(query, (PROBES + 1) * sizeof(tg_operator)),
					 .step = plan_source(query, 0, shape->fed & FED_FACTS)};

	if (shape->filter && !shape->filter_last)
		plan_filter(query, shape, 0, next_operator(&making, false));
	for (unsigned i = 0; i < shape->probe_count; i++)
		make_probe(&making, i);
	if (shape->filter && shape->filter_last && !filters_groups(shape))
		plan_filter(query, shape, shape->probe_count, next_operator(&making, false));
	if (reads_facts_in_parts(shape))
		end_in_parts(&making, plan_last(query, shape));
	else
		end_step(&making, plan_last(query, shape));
	if (shape->twice >= 0)
	{
		making.steps[making.count] = plan_again(query, shape, making.count - 1);
		if (filters_groups(shape))
		{
			tg_operator *filter = need(query, sizeof(*filter));

			plan_filter_of_groups(query, shape, filter);
			making.steps[making.count].operators = filter;
			making.steps[making.count].operator_count = 1;
		}
		making.count++;
	}
	*plan = (tg_plan){.step_count = making.count, .steps = making.steps};
	return plan;
}

/* One of the semi and anti joins, or none. */
static int
random_marked(const shape *shape)
{
	unsigned probe = shape->probe_count == 0 ? 0 : unit_below(&seed, shape->probe_count);
	bool fits = shape->probe_count > 0 &&
				(shape->probes[probe].join == TG_JOIN_SEMI || shape->probes[probe].join == TG_JOIN_ANTI);

	return fits && unit_below(&seed, 3) > 0 ? (int) probe : -1;
}

static shape
random_shape(void)
{
	static const uint16_t few[] = {KEY, TEXT, BOOL};
	shape shape = {.filter = unit_below(&seed, 2) == 0, .filter_last = unit_below(&seed, 2) == 0};

	shape.probe_count = unit_below(&seed, PROBES + 1);
	for (unsigned i = 0; i < shape.probe_count; i++)
	{
		static const tg_join joins[] = {TG_JOIN_INNER, TG_JOIN_LEFT, TG_JOIN_RIGHT, TG_JOIN_FULL,
										TG_JOIN_SEMI,  TG_JOIN_ANTI, TG_JOIN_NOT_IN};
		tg_join join = joins[unit_below(&seed, sizeof(joins) / sizeof(joins[0]))];

		shape.probes[i].join = join;
		shape.probes[i].by_text = join != TG_JOIN_NOT_IN && unit_below(&seed, 3) == 0;
		shape.probes[i].match = join != TG_JOIN_NOT_IN && unit_below(&seed, 2) == 0;
		shape.probes[i].chained = unit_below(&seed, 4) == 0;
	}
	shape.key_count = unit_below(&seed, KEYS_MAX);
	/* the first one may have many values */
	for (unsigned i = 0; i < shape.key_count; i++)
		shape.keys[i] = (uint16_t) (i == 0 ? unit_below(&seed, INPUTS(shape.probe_count)) : few[unit_below(&seed, 3)]);
	shape.wide = shape.key_count < 2 && unit_below(&seed, 6) == 0;
	if (shape.wide)
		shape.keys[0] = TEXT;
	shape.marked = random_marked(&shape);
	shape.twice = !shape.wide && unit_below(&seed, 3) == 0 ? (int) unit_below(&seed, COLUMNS) : -1;
	if (shape.filter && shape.filter_last && shape.twice >= 0)
		shape.twice = KEY;
	/* by a column that ascends in the table, groups may be complete before the last row is read */
	if (filters_groups(&shape) && shape.key_count > 0)
		shape.keys[0] = ID;
	shape.fed = unit_below(&fed_seed, 2) == 0 ? unit_below(&fed_seed, 4) : 0;
	shape.dims_in_parts = unit_below(&parts_seed, 3) == 0;
	shape.facts_in_parts = unit_below(&parts_seed, 3) == 0;
	return shape;
}

#endif /* TG_UNIT_QUERY_SHAPE_H */
