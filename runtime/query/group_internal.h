/*
 * group_internal.h
 *	  What the files about groups share: the states of aggregates, entries of directories.
 */
#ifndef TG_GROUP_INTERNAL_H
#define TG_GROUP_INTERNAL_H

#include "runtime/query/partition.h"

typedef struct sum_state
{
	__int128 total;
	int64_t part;
	uint64_t count;
} sum_state;

typedef struct float_state
{
	double total;
	uint64_t count;
} float_state;

typedef struct extreme_state
{
	tg_value value;
	uint64_t count;
} extreme_state;

static inline const tg_sink *
sink_of(const tg_query *query)
{
	return &query->plan->steps[query->step].sink;
}

static inline const tg_row_layout *
layout_of(const tg_query *query)
{
	return &query->tables[query->step].layout;
}

static inline void *
state_of(const tg_row_layout *layout, tg_row *group, unsigned aggregate)
{
	return tg_row_field(layout, group, layout->field_count + aggregate);
}

static inline uint64_t
entry_of(tg_row *group, uint64_t hash)
{
	return (hash & ~TG_ENTRY_ADDRESS) | (uint64_t) (uintptr_t) group;
}

/* The entry's place; the bits that the tag has decide nothing here. */
static inline uint64_t
place_of(const tg_group_table *table, uint64_t hash)
{
	return hash & (((uint64_t) 1 << table->bits) - 1);
}

static inline uint64_t
next_place(const tg_group_table *table, uint64_t place)
{
	return (place + 1) & (((uint64_t) 1 << table->bits) - 1);
}

static inline bool
has_tag(uint64_t entry, uint64_t hash)
{
	return (entry ^ hash) >> 48 == 0;
}

static inline void
put_entry(tg_group_table *table, tg_row *group)
{
	uint64_t place = place_of(table, group->hash);

	while (table->directory[place] != 0)
		place = next_place(table, place);
	table->directory[place] = entry_of(group, group->hash);
}

/* At least half of the entries are free, with so many groups more.  False: refused. */
extern bool tg_group_make_room(tg_session *session, tg_query *query, tg_group_table *table, uint64_t more) TG_MUST_USE;

/* Forgets the list of a task's groups by their partitions. */
extern void tg_group_refs_forget(tg_query_task *task, tg_session *session);

/* The parts of the sums of a task's groups are added to their totals. */
extern void tg_group_settle(tg_query_task *task);

/*
 * A group comes into a table, in which its memory is already, or into the one with the same keys
 * that is there; its parts are settled.  TG_UNFIT, TG_NO_MEMORY.
 */
extern tg_status tg_group_enter(tg_query *query, tg_session *session, tg_group_table *table, tg_row *group) TG_MUST_USE;

/* A MIN or MAX takes another value. */
extern void tg_extreme_take(tg_vector_type type, bool wants_most, extreme_state *state, const tg_value *value);

/*
 * A table's groups go to a file, by the partitions of a level; it is empty then.  TG_NO_MEMORY,
 * TG_IO, TG_CANCELLED.
 */
extern tg_status tg_groups_write(tg_query *query, tg_session *session, tg_group_table *table, unsigned level,
								 tg_partition_run **runs) TG_MUST_USE;

#endif /* TG_GROUP_INTERNAL_H */
