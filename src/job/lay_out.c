/*
 * lay_out.c
 *	  The steps of a translated job as a tg_plan, in the query's memory.
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/index/index.h"
#include "runtime/query/plan.h"
#include "src/job/code_internal.h"

/* Places of a program as registers. */
static const uint16_t *
registers_of(const tsurugi_program *program, const tsurugi_place *places, int count, tsurugi_query_memory *memory)
{
	uint16_t *registers = tsurugi_query_take(memory, Max(count, 1) * sizeof(uint16_t));

	for (int i = 0; registers != NULL && i < count; i++)
		registers[i] = tsurugi_register_of(program, places[i]);
	return registers;
}

static const tg_expressions *
expressions_of(const tsurugi_program *program, tsurugi_query_memory *memory)
{
	tg_expressions *expressions = tsurugi_query_take(memory, sizeof(tg_expressions));

	return expressions != NULL && tsurugi_program_finish(program, memory, expressions) ? expressions : NULL;
}

static void
lay_out_operator(const OperatorCode *from, tsurugi_query_memory *memory, tg_operator *to)
{
	*to = (tg_operator){.kind = from->kind, .join = from->join, .build = from->build};
	to->expressions = expressions_of(from->program, memory);
	if (from->kind != TG_PROBE)
		to->condition = tsurugi_register_of(from->program, from->condition);
	else
		to->keys = registers_of(from->program, from->keys, from->key_count, memory);
	if (from->match != NULL)
	{
		to->match = expressions_of(from->match, memory);
		to->match_condition = tsurugi_register_of(from->match, from->match_condition);
	}
}

static const tg_aggregate *
lay_out_aggregates(const StepCode *code, tsurugi_query_memory *memory)
{
	tg_aggregate *aggregates = tsurugi_query_take(memory, Max(code->aggregate_count, 1) * sizeof(tg_aggregate));

	for (int i = 0; aggregates != NULL && i < code->aggregate_count; i++)
	{
		aggregates[i] = code->aggregates[i];
		aggregates[i].argument = tsurugi_register_of(code->sink, aggregates[i].argument);
		aggregates[i].filter = tsurugi_register_of(code->sink, aggregates[i].filter);
	}
	return aggregates;
}

static void
lay_out_order(const StepCode *code, const tsurugi_job_step *step, tsurugi_query_memory *memory, tg_sink *to)
{
	tg_sort_key *keys = tsurugi_query_take(memory, code->sort_key_count * sizeof(tg_sort_key));

	for (int i = 0; keys != NULL && i < code->sort_key_count; i++)
	{
		keys[i] = code->sort_keys[i];
		keys[i].value = tsurugi_register_of(code->order, keys[i].value);
	}
	to->order = expressions_of(code->order, memory);
	to->sort_keys = keys;
	to->sort_key_count = (uint16_t) code->sort_key_count;
	to->sorts_groups = step->sorts_groups;
	to->limit = code->limit;
}

static const tg_store *
lay_out_store(const StepCode *code, const tsurugi_relation *described, tsurugi_query_memory *memory)
{
	size_t count = described->column_count;
	tg_store *store = tsurugi_query_take(memory, sizeof(tg_store));
	tg_store_column *columns = tsurugi_query_take(memory, count * sizeof(tg_store_column));
	uint8_t *kinds = tsurugi_query_take(memory, count);

	if (store == NULL || columns == NULL || kinds == NULL)
		return NULL;
	memcpy(columns, code->store_columns, count * sizeof(tg_store_column));
	memcpy(kinds, described->kinds, count);
	*store = (tg_store){.table = described->table,
						.kinds = kinds,
						.column_count = (unsigned) count,
						.columns = columns,
						.check_count = (unsigned) code->check_count,
						.checks = registers_of(code->sink, code->checks, code->check_count, memory)};
	return store;
}

static void
lay_out_sink(const tsurugi_job_code *code, int number, tsurugi_query_memory *memory, tg_sink *to)
{
	const StepCode *from = &code->steps[number];
	const tsurugi_job_step *step = list_nth(code->job->steps, number);

	*to = (tg_sink){.kind = (uint8_t) step->sink,
					.streams = step->sink == TG_DELIVER && tsurugi_job_streams(code),
					.goes_on = step->goes_on,
					.marked = step->marked,
					.keeps_nulls = step->keeps_nulls,
					.key_count = (uint16_t) from->key_count,
					.field_count = (uint16_t) from->field_count,
					.expressions = expressions_of(from->sink, memory),
					.fields = registers_of(from->sink, from->fields, from->field_count, memory)};
	if (step->sink == TG_GROUP)
	{
		to->aggregate_count = (uint16_t) from->aggregate_count;
		to->aggregates = lay_out_aggregates(from, memory);
	}
	if (step->sink == TG_SORT)
		lay_out_order(from, step, memory, to);
	if (step->sink == TG_STORE)
		to->store = lay_out_store(from, code->job->into->described, memory);
}

static const void *
copy_key(const void *key, uint32_t bytes, tsurugi_query_memory *memory)
{
	void *copy = bytes == 0 ? NULL : tsurugi_query_take(memory, bytes);

	return copy == NULL ? NULL : memcpy(copy, key, bytes);
}

static void
lay_out_ranges(const tsurugi_job_table *from, tsurugi_query_memory *memory, tg_plan_table *to)
{
	tg_plan_range *ranges = tsurugi_query_take(memory, Max(list_length(from->spans), 1) * sizeof(tg_plan_range));
	ListCell *cell;

	to->by_ranges = true;
	to->ranges = ranges;
	foreach (cell, from->spans)
	{
		const tsurugi_job_span *span = lfirst(cell);
		tg_plan_range *range;

		if (ranges == NULL || span->is_gap)
			continue;
		range = &ranges[to->range_count++];
		*range = span->range;
		range->low = copy_key(range->low, range->low_bytes, memory);
		range->high = copy_key(range->high, range->high_bytes, memory);
	}
}

/* The indexes by which rows with certain keys may be found. */
static void
lay_out_indexes(const tsurugi_relation *described, tsurugi_query_memory *memory, tg_plan_table *to)
{
	tg_index **indexes = tsurugi_query_take(memory, Max(described->index_count, 1) * sizeof(tg_index *));

	to->indexes = indexes;
	for (int i = 0; indexes != NULL && i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];
		tg_index *stored = index->primary ? NULL : tg_index_find(described->table, index->oid);

		if (index->valid && index->gin == NULL && (index->primary || stored != NULL))
			indexes[to->index_count++] = stored;
	}
}

static const tg_plan_table *
lay_out_tables(const tsurugi_job_step *step, tsurugi_query_memory *memory)
{
	tg_plan_table *tables = tsurugi_query_take(memory, Max(list_length(step->tables), 1) * sizeof(tg_plan_table));
	ListCell *cell;

	foreach (cell, step->tables)
	{
		const tsurugi_job_table *from = lfirst(cell);
		uint16_t *columns =
			from->attributes == NULL ? NULL : tsurugi_query_take(memory, from->attribute_count * sizeof(uint16_t));

		if (tables == NULL || (from->attributes != NULL && columns == NULL))
			return NULL;
		for (int i = 0; columns != NULL && i < from->attribute_count; i++)
			if (from->attributes[i] != 0) /* not dropped */
				columns[i] = (uint16_t) tsurugi_job_column_of(from, i + 1);
		tables[foreach_current_index(cell)] = (tg_plan_table){.table = from->described->table, .columns = columns};
		if (from->access != NULL)
			lay_out_ranges(from, memory, &tables[foreach_current_index(cell)]);
		else
			lay_out_indexes(from->described, memory, &tables[foreach_current_index(cell)]);
	}
	return tables;
}

static const uint8_t *
lay_out_fed_columns(const StepCode *from, tsurugi_query_memory *memory)
{
	uint8_t *kinds = tsurugi_query_take(memory, Max(from->fed_count, 1));

	for (int i = 0; kinds != NULL && i < from->fed_count; i++)
		kinds[i] = from->fed[i].codec.kind;
	return kinds;
}

static void
lay_out_step(const tsurugi_job_code *code, int number, tsurugi_query_memory *memory, tg_plan_step *to)
{
	const StepCode *from = &code->steps[number];
	const tsurugi_job_step *step = list_nth(code->job->steps, number);
	int count = list_length(from->operators);
	tg_operator *operators = tsurugi_query_take(memory, Max(count, 1) * sizeof(tg_operator));

	tg_assert(from->key_count <= from->field_count && step->from <= number);
	to->source = (uint8_t) step->source;
	to->from = (uint16_t) step->from;
	to->table_count = (uint16_t) list_length(step->tables);
	to->tables = lay_out_tables(step, memory);
	to->feed_column_count = (uint16_t) from->fed_count;
	to->feed_kinds = lay_out_fed_columns(from, memory);
	to->operators = operators;
	for (int i = 0; operators != NULL && i < count; i++)
	{
		lay_out_operator(list_nth(from->operators, i), memory, &operators[i]);
		to->operator_count++;
		to->probe_count += operators[i].kind == TG_PROBE;
	}
	lay_out_sink(code, number, memory, &to->sink);
}

bool
tsurugi_job_finish(const tsurugi_job_code *code, tsurugi_query_memory *memory, tg_plan *plan_out)
{
	tg_plan_step *steps = tsurugi_query_take(memory, code->step_count * sizeof(tg_plan_step));

	for (int i = 0; steps != NULL && i < code->step_count; i++)
		lay_out_step(code, i, memory, &steps[i]);
	*plan_out = (tg_plan){.step_count = (unsigned) code->step_count, .steps = steps};
	return !memory->refused;
}
