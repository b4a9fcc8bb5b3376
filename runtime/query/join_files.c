/*
 * join_files.c
 *	  Builds that have no room in memory: their rows are in files, by partitions of the hashes of
 *	  their keys, and are joined in several passes.
 *
 * The probing side is not written.  Its rows are in memory, in the tables that the step reads, so
 * it is cheaper to read them once more than to write and read them: a pass has some partitions of
 * the build in memory, as many as have room, and the step is filled by all of its source.  A probe
 * ignores rows whose hashes are of other partitions.
 *
 * 1. A row that is probed is of one partition, also if it has a NULL key, and all rows of the build
 *    that it matches are of the same.  So in one pass it finds all of its matches, or has none; and
 *    at the end of a pass, the rows of the build that have no mark have no match.
 * 2. A step that probes several such builds is filled for each combination of passes.  The build
 *    of the last probe changes most seldom.  What a right or full join leaves of its build goes on
 *    when all builds before it are in their last passes: it has met all rows by then (phase.c).
 * 3. Marks that a later step reads are written back when a pass has ended, where the rows came
 *    from.
 * 4. The memory of the largest pass is taken before the first one.  So later passes need none.
 */
#include "runtime/query/partition.h"

#include <string.h>

#include "runtime/query/spill.h"

#define PASS_BYTES_MIN ((uint64_t) 64 << 10)

/* Bits that neither the place in a directory nor the tag is made of. */
static inline unsigned
partition_of(uint64_t hash)
{
	return hash >> 4 & (TG_PARTITIONS - 1);
}

bool
tg_build_is_in_pass(const tg_hash_table *table, uint64_t hash)
{
	unsigned partition = partition_of(hash);

	return partition >= table->passes[table->pass] && partition < table->passes[table->pass + 1];
}

tg_status
tg_build_spill(tg_query_task *task, tg_session *session)
{
	tg_query *query = task->query;
	const tg_row_layout *layout = &query->tables[query->step].layout;
	tg_row *lists[TG_PARTITIONS] = {NULL};
	tg_partition_run run;
	tg_status status;

	for (tg_row_block *block = task->store.first; block != NULL; block = block->next)
		for (uint32_t i = 0; i < block->count; i++)
		{
			tg_row *row = tg_row_at(layout, block, i);
			tg_row **list = &lists[partition_of(row->hash)];

			row->next = *list;
			*list = row;
		}
	status = tg_partitions_write(query, layout, lists, &run);
	tg_rows_forget(session, query, &task->store);
	return status == TG_OK ? tg_partition_run_add(session, query, &run, &task->build_runs) : status;
}

/* --- passes ----------------------------------------------------------------------------------- */

/* Lists all runs as the table's, with what goes to files last; spans are for later steps. */
static tg_status
collect_runs(tg_session *session, tg_query *query, tg_hash_table *table)
{
	tg_status status = TG_OK;
	uint32_t count = 0;

	for (unsigned i = 0; i < query->task_most && status == TG_OK; i++)
	{
		if (query->tasks[i].store.count > 0)
			status = tg_build_spill(&query->tasks[i], session);
		for (const tg_partition_run *run = query->tasks[i].build_runs; run != NULL; run = run->next)
			count++;
	}
	if (status != TG_OK)
		return status;
	table->runs = tg_query_take(session, query, (count + 1) * sizeof(tg_partition_run *));
	table->blocks = tg_query_take(session, query, (count + 1) * sizeof(tg_row_block *));
	if (table->runs == NULL || table->blocks == NULL)
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < query->task_most && status == TG_OK; i++)
	{
		for (tg_partition_run *run = query->tasks[i].build_runs; run != NULL && status == TG_OK; run = run->next)
		{
			table->runs[table->block_count++] = run;
			table->row_count += run->starts[TG_PARTITIONS];
			status = tg_rows_add(session, query, table, run->at, run->starts[TG_PARTITIONS]);
		}
		query->tasks[i].build_runs = NULL;
	}
	return status == TG_OK ? tg_rows_written(session, query, table) : status;
}

static uint64_t
rows_of_partition(const tg_hash_table *table, unsigned partition)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < table->block_count; i++)
		rows += table->runs[i]->starts[partition + 1] - table->runs[i]->starts[partition];
	return rows;
}

/* As many partitions in each pass as have room; *rows_out becomes the rows of the largest. */
static tg_status
choose_passes(tg_query *query, tg_hash_table *table, uint64_t *rows_out)
{
	uint64_t bytes = tg_query_memory_left(query) / 2;
	uint64_t most = (bytes < PASS_BYTES_MIN ? PASS_BYTES_MIN : bytes) / (table->layout.bytes + TG_ROW_FOUND_BY);
	uint64_t rows = 0;

	if (query->keeps_nothing)
		most = table->row_count / 2 + 1;
	*rows_out = 0;
	table->pass_count = 0;
	table->passes[0] = 0;
	for (unsigned i = 0; i < TG_PARTITIONS; i++)
	{
		uint64_t more = rows_of_partition(table, i);

		if (more > most && !query->keeps_nothing)
			return TG_NO_MEMORY; /* a key that very many rows have */
		if (rows > 0 && rows + more > most)
		{
			table->passes[++table->pass_count] = (uint8_t) i;
			rows = 0;
		}
		rows += more;
		if (rows > *rows_out)
			*rows_out = rows;
	}
	table->passes[++table->pass_count] = TG_PARTITIONS;
	return TG_OK;
}

static uint64_t
rows_of_run(const tg_hash_table *table, uint32_t run, unsigned pass)
{
	return table->runs[run]->starts[table->passes[pass + 1]] - table->runs[run]->starts[table->passes[pass]];
}

/* 4.  A block for each run, and the directory. */
static tg_status
take_memory(tg_session *session, tg_query *query, tg_hash_table *table, uint64_t rows)
{
	unsigned bits = 4;

	for (uint32_t i = 0; i < table->block_count; i++)
	{
		uint64_t most = 0;

		for (unsigned pass = 0; pass < table->pass_count; pass++)
			if (rows_of_run(table, i, pass) > most)
				most = rows_of_run(table, i, pass);
		if (most > UINT32_MAX)
			return TG_NO_MEMORY;
		table->blocks[i] = tg_query_take(session, query, TG_ROW_BLOCK_HEADER + most * table->layout.bytes);
		if (table->blocks[i] == NULL)
			return TG_NO_MEMORY;
		*table->blocks[i] = (tg_row_block){.capacity = (uint32_t) most};
	}
	while (bits < 40 && (uint64_t) 1 << bits < rows)
		bits++;
	table->shift = 64 - bits;
	table->directory = tg_query_take(session, query, sizeof(uint64_t) << bits);
	return table->directory == NULL ? TG_NO_MEMORY : TG_OK;
}

tg_status
tg_build_written(tg_session *session, tg_query *query)
{
	tg_hash_table *table = &query->tables[query->step];
	uint64_t rows;
	tg_status status;

	table->in_files = true;
	status = collect_runs(session, query, table);
	if (status == TG_OK)
		status = choose_passes(query, table, &rows);
	return status == TG_OK ? take_memory(session, query, table, rows) : status;
}

void
tg_build_begin_pass(tg_hash_table *table, unsigned pass)
{
	table->pass = (uint8_t) pass;
	memset(table->directory, 0, sizeof(uint64_t) << (64 - table->shift));
}

static uint64_t
place_in_file(const tg_hash_table *table, uint32_t run)
{
	return table->runs[run]->at + table->runs[run]->starts[table->passes[table->pass]] * table->layout.bytes;
}

tg_status
tg_build_load(tg_query *query, tg_hash_table *table, uint32_t run)
{
	return tg_span_read(query, &table->layout, place_in_file(table, run),
						(uint32_t) rows_of_run(table, run, table->pass), table->blocks[run]);
}

tg_status
tg_build_write_back(tg_query *query, tg_hash_table *table)
{
	tg_status status = TG_OK;

	for (uint32_t i = 0; i < table->block_count && status == TG_OK; i++)
		status = tg_spill_write(query, place_in_file(table, i), tg_row_at(&table->layout, table->blocks[i], 0),
								(size_t) table->blocks[i]->count * table->layout.bytes);
	return status;
}
