/*
 * merge.h
 *	  Merging sorted runs, of memory and of temporary files.
 */
#ifndef TG_QUERY_MERGE_H
#define TG_QUERY_MERGE_H

#include "runtime/query/order.h"

/* A sorted run in memory. */
struct tg_sort_run
{
	struct tg_sort_run *next;
	uint32_t count;
	uint32_t capacity;
	tg_entry entries[];
};

/* Rows in order, in the query's temporary files; each has its head in place of a hash. */
typedef struct tg_file_run
{
	struct tg_file_run *next;
	uint64_t at;
	uint64_t count;
} tg_file_run;

typedef struct tg_merge
{
	tg_query *query;
	tg_ordering by;
	struct tg_merge_head *heads; /* a heap: the run whose next row is the first one comes first */
	unsigned count;
	unsigned added; /* runs, also those that have ended */
	unsigned room;
	bool taken; /* the first one's row has been handed out */
} tg_merge;

/* For up to so many runs.  False: refused. */
extern bool tg_merge_begin(tg_merge *merge, tg_session *session, tg_query *query, unsigned runs) TG_MUST_USE;

/* Adds a run, which is not empty; one of a file is read by so many rows at a time. */
extern void tg_merge_add(tg_merge *merge, const tg_sort_run *run);
extern tg_status tg_merge_add_file(tg_merge *merge, tg_session *session, const tg_file_run *run,
								   uint32_t rows) TG_MUST_USE;

/* All runs are there: each has been added, and its first row read. */
extern void tg_merge_start(tg_merge *merge);

/*
 * The next row in order, which stays until the next call; its head is *head_out.  TG_OK;
 * TG_NOT_FOUND: there are no more; TG_IO, TG_CANCELLED.
 */
extern tg_status tg_merge_next(tg_merge *merge, tg_row **row_out, uint64_t *head_out) TG_MUST_USE;

/* Gives its memory back. */
extern void tg_merge_end(tg_merge *merge, tg_session *session);

/*
 * Writes the first so many rows of a merge that was started, which has as many.  The run is the
 * query's.  TG_NO_MEMORY, TG_IO, TG_CANCELLED.
 */
extern tg_status tg_merge_write(tg_merge *merge, tg_session *session, uint64_t rows, tg_file_run **run_out) TG_MUST_USE;

#endif /* TG_QUERY_MERGE_H */
