/*
 * order.h
 *	  The order of rows that are sorted: their heads, comparing them, sorting entries.
 */
#ifndef TG_QUERY_ORDER_H
#define TG_QUERY_ORDER_H

#include "runtime/query/query_internal.h"

/*
 * A row to be sorted.  Its head stands for its first key: of two rows, the one that comes first
 * does not have the larger head.  So different heads decide, and equal ones say nothing.
 */
typedef struct tg_entry
{
	uint64_t head;
	tg_row *row;
} tg_entry;

/* How rows are compared. */
typedef struct tg_ordering
{
	const tg_sink *sink;
	const tg_row_layout *layout;
} tg_ordering;

/* Of the present step, a SORT. */
static inline tg_ordering
tg_sort_ordering(const tg_query *query)
{
	return (tg_ordering){.sink = &query->plan->steps[query->step].sink, .layout = &query->tables[query->step].layout};
}

/* By all keys: below, at or above 0. */
extern int tg_order_compare(const tg_ordering *by, tg_row *a, tg_row *b);

/* Whether a comes before b; false if they are equal. */
static inline bool
tg_order_is_before(const tg_ordering *by, const tg_entry *a, const tg_entry *b)
{
	return a->head != b->head ? a->head < b->head : tg_order_compare(by, a->row, b->row) < 0;
}

/* The heads of values of the first key. */
extern void tg_order_heads(const tg_sort_key *by, const tg_vector *key, unsigned count, uint64_t *heads);

/* spare has room for as many entries. */
extern void tg_order_sort(const tg_ordering *by, tg_entry *entries, tg_entry *spare, unsigned count);

#endif /* TG_QUERY_ORDER_H */
