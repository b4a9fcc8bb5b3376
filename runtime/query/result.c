/*
 * result.c
 *	  What the requester reads of a query that has ended: its groups, and its figures.
 */
#include "runtime/query/partition.h"

/* --- groups --------------------------------------------------------------------------------- */

/* Of groups in files. */
static tg_status
next_written(tg_query *query, tg_row **group_out)
{
	const tg_hash_table *table = &query->tables[query->step];
	tg_row_block *block = query->result_block;

	if (query->result_row == block->count)
	{
		const tg_span *span = &table->spans[query->result_span];
		tg_status status;

		if (query->result_span == table->span_count)
			return TG_NOT_FOUND;
		status = tg_span_read(query, &table->layout, span->at, span->count, block);
		if (status != TG_OK)
			return status;
		query->result_span++;
		query->result_row = 0;
	}
	*group_out = tg_row_at(&table->layout, block, query->result_row++);
	return TG_OK;
}

/* Of groups in memory: they are in the stores of their tasks. */
static tg_status
next_kept(tg_query *query, tg_row **group_out)
{
	const tg_row_layout *layout = &query->tables[query->step].layout;
	tg_row_block *block = query->result_block;

	while (true)
	{
		if (block == NULL && query->result_task == query->task_most)
			return TG_NOT_FOUND;
		if (block == NULL || query->result_row == block->count)
		{
			block = block == NULL ? query->tasks[query->result_task++].groups.store.first : block->next;
			query->result_block = block;
			query->result_row = 0;
			continue;
		}
		*group_out = tg_row_at(layout, block, query->result_row++);
		if (!tg_group_is_merged(*group_out))
			return TG_OK;
	}
}

static tg_status
next_group(tg_query *query, tg_row **group_out)
{
	return query->tables[query->step].in_files ? next_written(query, group_out) : next_kept(query, group_out);
}

tg_status
tg_query_next(tg_query *query, tg_value *keys, bool *key_nulls, tg_total *totals)
{
	bool sorted = query->plan->steps[query->step].sink.kind == TG_SORT;
	unsigned step = sorted ? query->plan->steps[query->step].from : query->step;
	tg_row *group;
	tg_status status = sorted ? tg_sort_next_group(query, &group) : next_group(query, &group);

	if (status == TG_OK)
		tg_group_read(query, step, group, keys, key_nulls, totals);
	return status;
}

/* --- figures ---------------------------------------------------------------------------------- */

tg_query_report
tg_query_report_get(const tg_query *query)
{
	return (tg_query_report){
		.in_place = query->job == NULL, .tasks = query->task_limit, .memory = tg_load_relaxed(&query->memory_bytes)};
}

tg_step_report
tg_query_step_report(const tg_query *query, unsigned step)
{
	return query->reports[step];
}
