/*
 * partition.c
 *	  Rows in temporary files, by partitions of their hashes; and rows of a step that are there.
 *
 * A task writes what it has in memory at once, sorted by partition, so no partition needs a buffer.
 * A partition is then a part of each of these runs.
 *
 * Rows that a step has kept, for later steps or the requester, are in extents, which are read by
 * spans.
 */
#include "runtime/query/partition.h"

#include "runtime/query/spill.h"

#define SPAN_BYTES ((size_t) 64 << 10)

struct tg_extent
{
	tg_extent *next;
	uint64_t at;
	uint64_t count;
};

static tg_status
write_list(tg_spill_writer *writer, const tg_row_layout *layout, tg_row *rows)
{
	tg_status status = TG_OK;

	for (tg_row *row = rows; row != NULL && status == TG_OK; row = row->next)
		status = tg_spill_put(writer, row, layout->bytes);
	return status;
}

tg_status
tg_partitions_write(tg_query *query, const tg_row_layout *layout, tg_row *const *lists, tg_partition_run *run_out)
{
	tg_spill_writer writer;
	uint64_t count = 0;
	tg_status status;

	for (unsigned i = 0; i < TG_PARTITIONS; i++)
	{
		run_out->starts[i] = count;
		for (const tg_row *row = lists[i]; row != NULL; row = row->next)
			count++;
	}
	run_out->starts[TG_PARTITIONS] = count;
	status = tg_spill_reserve(query, count * layout->bytes, &run_out->at);
	if (status != TG_OK)
		return status;
	tg_spill_writer_init(&writer, query, run_out->at);
	for (unsigned i = 0; i < TG_PARTITIONS && status == TG_OK; i++)
		status = write_list(&writer, layout, lists[i]);
	return status == TG_OK ? tg_spill_end(&writer) : status;
}

tg_status
tg_partition_run_add(tg_session *session, tg_query *query, const tg_partition_run *run, tg_partition_run **list)
{
	tg_partition_run *copy = tg_query_take(session, query, sizeof(*copy));

	if (copy == NULL)
		return TG_NO_MEMORY;
	*copy = *run;
	copy->next = *list;
	*list = copy;
	return TG_OK;
}

/* --- spans ---------------------------------------------------------------------------------- */

/* How many rows are read at a time. */
static uint32_t
span_rows(const tg_row_layout *layout)
{
	return (uint32_t) (SPAN_BYTES / layout->bytes);
}

tg_row_block *
tg_span_block(tg_session *session, tg_query *query, const tg_row_layout *layout)
{
	tg_row_block *block =
		tg_query_take(session, query, TG_ROW_BLOCK_HEADER + (size_t) span_rows(layout) * layout->bytes);

	if (block != NULL)
		*block = (tg_row_block){.capacity = span_rows(layout)};
	return block;
}

tg_status
tg_span_read(tg_query *query, const tg_row_layout *layout, uint64_t at, uint32_t count, tg_row_block *block)
{
	tg_status status;

	tg_assert(count <= block->capacity);
	status = tg_spill_read(query, at, tg_row_at(layout, block, 0), (size_t) count * layout->bytes);
	block->count = status == TG_OK ? count : 0;
	/* they are in no list any more */
	for (uint32_t i = 0; i < block->count; i++)
		tg_row_at(layout, block, i)->next = NULL;
	return status;
}

/* --- rows of a step --------------------------------------------------------------------------- */

tg_status
tg_rows_add(tg_session *session, tg_query *query, tg_hash_table *table, uint64_t at, uint64_t count)
{
	tg_extent *extent = tg_query_take(session, query, sizeof(*extent));
	tg_extent *head = tg_load_relaxed(&table->extents);

	if (extent == NULL)
		return TG_NO_MEMORY;
	*extent = (tg_extent){.at = at, .count = count};
	/* read by the last task of the phase, which acquires */
	do
		extent->next = head;
	while (!tg_cas_acq_rel(&table->extents, &head, extent));
	return TG_OK;
}

tg_status
tg_rows_write(tg_session *session, tg_query *query, tg_hash_table *table, tg_row *rows, uint64_t count)
{
	tg_spill_writer writer;
	uint64_t at;
	tg_status status = tg_spill_reserve(query, count * table->layout.bytes, &at);

	if (status != TG_OK)
		return status;
	tg_spill_writer_init(&writer, query, at);
	status = write_list(&writer, &table->layout, rows);
	if (status == TG_OK)
		status = tg_spill_end(&writer);
	return status == TG_OK ? tg_rows_add(session, query, table, at, count) : status;
}

tg_status
tg_rows_written(tg_session *session, tg_query *query, tg_hash_table *table)
{
	uint32_t rows = span_rows(&table->layout);
	uint64_t count = 0;

	for (const tg_extent *extent = table->extents; extent != NULL; extent = extent->next)
		count += (extent->count + rows - 1) / rows;
	table->spans = tg_query_take(session, query, (count + 1) * sizeof(tg_span));
	if (table->spans == NULL || count >= UINT32_MAX)
		return TG_NO_MEMORY;
	for (const tg_extent *extent = table->extents; extent != NULL; extent = extent->next)
		for (uint64_t first = 0; first < extent->count; first += rows)
			table->spans[table->span_count++] =
				(tg_span){.at = extent->at + first * table->layout.bytes,
						  .count = (uint32_t) (extent->count - first < rows ? extent->count - first : rows)};
	return TG_OK;
}
