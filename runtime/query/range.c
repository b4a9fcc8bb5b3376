/*
 * range.c
 *	  Ranges of indexes as a source of rows.
 *
 * A range is read by one task, from one end to the other (range_scan.h); its rows lie anywhere.
 * The columns that the step's expressions load are copied, whether an operator drops the row or
 * not: a range is read because most of its rows are wanted.  The blobs that copies point to stay
 * while the query's snapshot is published.
 */
#include "runtime/base/check.h"
#include "runtime/exec/range_scan.h"
#include "runtime/exec/vectors.h"
#include "runtime/query/query_internal.h"
#include "runtime/sched/job.h"
#include "runtime/table/table.h"

struct tg_range_source
{
	tg_range_scan scan;
	bool more;
	/* the fields that are loaded, of which the i-th is vector i */
	uint16_t field_count;
	uint16_t *fields;
	uint16_t *vector_of; /* by field */
	/* in the table in hand: */
	uint16_t *columns;
	uint8_t *kinds;
	void *memory;
	tg_vectors *vectors;
};

static const tg_plan_step *
step_of(const tg_query_task *task)
{
	return &task->query->plan->steps[task->query->step];
}

/* --- fields --------------------------------------------------------------------------------- */

#define FIELD_NOT_LOADED UINT16_MAX

/* Calls for each expression of the step. */
static void
visit_expressions(const tg_plan_step *step, void (*visit)(const tg_expressions *expressions, void *argument),
				  void *argument)
{
	for (unsigned i = 0; i < step->operator_count; i++)
	{
		visit(step->operators[i].expressions, argument);
		if (step->operators[i].match != NULL)
			visit(step->operators[i].match, argument);
	}
	visit(step->sink.expressions, argument);
	if (step->sink.order != NULL)
		visit(step->sink.order, argument);
}

/* *argument becomes the number of fields that there are, at least. */
static void
count_fields(const tg_expressions *expressions, void *argument)
{
	unsigned *count = argument;

	for (unsigned i = 0; i < expressions->program.input_count; i++)
		if (expressions->inputs[i].source == 0 && expressions->inputs[i].field >= *count)
			*count = expressions->inputs[i].field + 1u;
}

static void
add_fields(const tg_expressions *expressions, void *argument)
{
	tg_range_source *source = argument;

	for (unsigned i = 0; i < expressions->program.input_count; i++)
	{
		uint16_t field = expressions->inputs[i].field;

		if (expressions->inputs[i].source != 0 || source->vector_of[field] != FIELD_NOT_LOADED)
			continue;
		source->vector_of[field] = source->field_count;
		source->fields[source->field_count++] = field;
	}
}

/* --- preparation ------------------------------------------------------------------------------ */

static size_t
line_up(size_t bytes)
{
	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

/* Sets the columns of the vectors, in a table. */
static void
set_columns(tg_range_source *source, const tg_plan_table *table)
{
	const uint8_t *kinds = tg_table_columns(table->table).kinds;

	for (unsigned i = 0; i < source->field_count; i++)
	{
		uint16_t field = source->fields[i];

		source->columns[i] = table->columns != NULL ? table->columns[field] : field;
		source->kinds[i] = kinds[source->columns[i]];
	}
}

static bool
has_ranges(const tg_query *query)
{
	for (unsigned i = 0; i < query->plan->steps[query->step].table_count; i++)
		if (query->sources[i].by_ranges)
			return true;
	return false;
}

tg_status
tg_range_prepare(tg_query_task *task, tg_session *session)
{
	const tg_plan_step *step = step_of(task);
	unsigned fields = 0;
	tg_range_source *source;

	task->range = NULL;
	if (!has_ranges(task->query))
		return TG_OK;
	visit_expressions(step, count_fields, &fields);
	source = tg_task_take(task, session, line_up(sizeof(*source)) + fields * (3 * sizeof(uint16_t) + 1));
	if (source == NULL)
		return TG_NO_MEMORY;
	source->field_count = 0;
	source->fields = (uint16_t *) ((char *) source + line_up(sizeof(*source)));
	source->vector_of = source->fields + fields;
	source->columns = source->vector_of + fields;
	source->kinds = (uint8_t *) (source->columns + fields);
	for (unsigned i = 0; i < fields; i++)
		source->vector_of[i] = FIELD_NOT_LOADED;
	visit_expressions(step, add_fields, source);
	/* all tables store the columns alike */
	set_columns(source, &task->query->sources[0]);
	source->memory = tg_task_take(task, session, tg_vectors_bytes(source->kinds, source->field_count, TG_VECTOR_ROWS));
	if (source->memory == NULL)
		return TG_NO_MEMORY;
	task->range = source;
	return TG_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

void
tg_range_open(tg_query_task *task, const tg_plan_table *table, const tg_plan_range *range)
{
	tg_range_source *source = task->range;

	set_columns(source, table);
	source->vectors =
		tg_vectors_init(source->memory, source->columns, source->kinds, source->field_count, TG_VECTOR_ROWS);
	source->more = true;
	tg_range_scan_init(&source->scan, table->table, range->index, &task->query->snapshot, range->low, range->low_bytes,
					   range->low_inclusive, range->high, range->high_bytes, range->high_inclusive, false);
	source->scan.cursor.sieve = range->sieve;
	task->in_range = true;
	task->morsel_rows = 0;
	task->batch.chunk = NULL;
	task->batch.vectors = source->vectors;
	task->batch.vector_of = source->vector_of;
}

tg_status
tg_range_next(tg_query_task *task, tg_session *session)
{
	tg_range_source *source = task->range;
	unsigned count = 0;

	while (count == 0 && source->more)
	{
		tg_status status = tg_query_look(task->query);

		if (tg_unlikely(status != TG_OK))
			return status;
		count = tg_range_scan_step(session, &source->scan, source->vectors, task->query->batch_max, &source->more);
		if (source->scan.busy)
		{
			source->more = true;
			if (count == 0)
				return TG_BUSY;
		}
	}
	task->batch.count = count;
	task->batch.dense = true;
	task->batch.slots = tg_dense_slots;
	task->morsel_rows += count;
	return TG_OK;
}
