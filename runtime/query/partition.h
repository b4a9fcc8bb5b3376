/*
 * partition.h
 *	  Rows in temporary files, by partitions of their hashes; and rows of a step that are there.
 */
#ifndef TG_QUERY_PARTITION_H
#define TG_QUERY_PARTITION_H

#include "runtime/query/query_internal.h"

/* Rows that a task has written at a time: one partition after the other. */
typedef struct tg_partition_run
{
	struct tg_partition_run *next;
	uint64_t at;
	uint64_t starts[TG_PARTITIONS + 1]; /* in rows */
} tg_partition_run;

/*
 * Writes the rows of lists, by partition; run_out is the caller's, its next is not set.  TG_IO,
 * TG_CANCELLED.
 */
extern tg_status tg_partitions_write(tg_query *query, const tg_row_layout *layout, tg_row *const *lists,
									 tg_partition_run *run_out) TG_MUST_USE;

/* Puts a copy of the run into a list.  TG_NO_MEMORY. */
extern tg_status tg_partition_run_add(tg_session *session, tg_query *query, const tg_partition_run *run,
									  tg_partition_run **list) TG_MUST_USE;

/* A block with room for so many rows, empty, as tg_query_take.  NULL: refused. */
extern tg_row_block *tg_span_block(tg_session *session, tg_query *query, const tg_row_layout *layout);

/* Reads rows, as many as the block has room for at most.  TG_IO, TG_CANCELLED. */
extern tg_status tg_span_read(tg_query *query, const tg_row_layout *layout, uint64_t at, uint32_t count,
							  tg_row_block *block) TG_MUST_USE;

/*
 * Writes the rows of a list, as some of those that a step has kept.  By several tasks.
 * TG_NO_MEMORY, TG_IO, TG_CANCELLED.
 */
extern tg_status tg_rows_write(tg_session *session, tg_query *query, tg_hash_table *table, tg_row *rows,
							   uint64_t count) TG_MUST_USE;

/* Counts so many rows that are written among those. */
extern tg_status tg_rows_add(tg_session *session, tg_query *query, tg_hash_table *table, uint64_t at,
							 uint64_t count) TG_MUST_USE;

/* All rows of the step are written: they are cut into spans.  TG_NO_MEMORY. */
extern tg_status tg_rows_written(tg_session *session, tg_query *query, tg_hash_table *table) TG_MUST_USE;

#endif /* TG_QUERY_PARTITION_H */
