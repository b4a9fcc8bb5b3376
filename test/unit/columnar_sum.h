/*
 * columnar_sum.h
 *	  For tests of files of columns: a sum over values that have been read, each byte of them, in
 *	  their order.
 */
#ifndef TG_COLUMNAR_SUM_H
#define TG_COLUMNAR_SUM_H

#include <string.h>

#include "runtime/format/columns.h"

static inline void
sum_add(uint64_t *sum, uint64_t word)
{
	*sum = (*sum ^ word) * 0x9E3779B97F4A7C15;
	*sum ^= *sum >> 29;
}

static inline void
sum_value(uint64_t *sum, const tg_file_column *column, const tg_file_values *values, uint32_t i)
{
	if (values->nulls != NULL && values->nulls[i] != 0)
	{
		sum_add(sum, 1);
		return;
	}
	if (!column->is_bytes)
	{
		sum_add(sum, (uint64_t) values->words[i]);
		return;
	}
	sum_add(sum, values->bytes[i].count);
	for (size_t b = 0; b < values->bytes[i].count; b++)
		sum_add(sum, values->bytes[i].data[b]);
}

static inline void
sum_node(uint64_t *sum, const tg_file_node *nodes, unsigned number, const tg_file_values *values, uint32_t i)
{
	const tg_file_node *node = &nodes[number];
	const tg_file_values *own = &values[number];
	uint32_t first = own->ends != NULL && i > 0 ? own->ends[i - 1] : 0;

	if (node->kind == TG_NESTED_VALUE)
		sum_value(sum, &node->column, own, i);
	else if (own->nulls != NULL && own->nulls[i] != 0)
		sum_add(sum, 1);
	else if (node->kind == TG_NESTED_STRUCT)
		for (unsigned child = number + 1; child < node->end; child = nodes[child].end)
			sum_node(sum, nodes, child, values, i);
	else
	{
		sum_add(sum, own->ends[i] - first);
		for (uint32_t element = first; element < own->ends[i]; element++)
			sum_node(sum, nodes, number + 1, values, element);
	}
}

static inline void
sum_row(uint64_t *sum, const tg_file_column *column, const tg_file_values *values, uint32_t row)
{
	const tg_file_values elements = {.nulls = values->element_nulls, .words = values->words, .bytes = values->bytes};
	uint32_t first = column->list && row > 0 ? values->ends[row - 1] : 0;

	if (column->type == TG_FILE_NESTED)
		sum_node(sum, column->nodes, 0, values->nodes, row);
	else if (!column->list)
		sum_value(sum, column, values, row);
	else if (values->nulls != NULL && values->nulls[row] != 0)
		sum_add(sum, 1);
	else
	{
		sum_add(sum, values->ends[row] - first);
		for (uint32_t i = first; i < values->ends[row]; i++)
			sum_value(sum, column, &elements, i);
	}
}

#endif /* TG_COLUMNAR_SUM_H */
