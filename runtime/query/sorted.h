/*
 * sorted.h
 *	  The rows of a SORT: what its tasks share, and what its requester reads.
 */
#ifndef TG_QUERY_SORTED_H
#define TG_QUERY_SORTED_H

#include "runtime/query/merge.h"

struct tg_sorted
{
	tg_merge merge;		/* the requester's */
	uint64_t rows_left; /* that are wanted */
	tg_vectors *buffer; /* the requester's; NULL: the rows are groups */
	size_t group_at;	/* where a row has its group itself; 0: its next is the group */
	uint64_t bound;		/* atomic: heads above it are not wanted (sort.c, 1) */
	/* runs in files, of all tasks, and how many of them are merged at a time */
	tg_file_run **files;
	uint32_t file_count;
	uint32_t merged_count;
	uint32_t buffer_rows;
};

#endif /* TG_QUERY_SORTED_H */
