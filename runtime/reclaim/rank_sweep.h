/*
 * rank_sweep.h
 *	  Removes values from a table's dictionaries that no key contains any more.
 *
 * Part of the collector's work, done a quantum at a time; collector.c calls it.
 */
#ifndef TG_RANK_SWEEP_H
#define TG_RANK_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/btree/btree.h"
#include "runtime/index/dictionary.h"
#include "runtime/table/table.h"

typedef enum tg_rank_stage
{
	TG_RANK_REST,
	TG_RANK_HELD,  /* waits for sessions that hold, or are inside an epoch, from before the round */
	TG_RANK_USE,   /* walks all keys */
	TG_RANK_TAKE,  /* unlinks the entries that were not used */
	TG_RANK_CHECK, /* walks all keys again: where TG_DEBUG is on */
	TG_RANK_STAND, /* waits for sessions that may stand on an unlinked entry */
	TG_RANK_FREE
} tg_rank_stage;

/* One session sweeps at a time.  Fields that other sessions read say atomic. */
typedef struct tg_rank_sweep
{
	tg_rank_stage stage; /* atomic */
	uint64_t at_ms;		 /* atomic: when to look again at what it waits for */
	uint64_t position;	 /* in the catalog; 0: its beginning */
	tg_table *table;	 /* retained, except at rest */
	uint64_t generation; /* HELD, STAND; atomic */
	uint64_t epoch;		 /* likewise, not atomic */
	bool hindered;		 /* atomic: HELD lasts because of a build or a LONG */
	bool has_begun;		 /* the walk is at the tree of index (NULL: the primary key's), */
	bool walks;			 /* inside it or else at its end */
	tg_index *index;	 /* retained */
	tg_btree_cursor cursor;
	tg_dictionary *dictionary; /* TAKE, FREE */
	uint64_t freed;			   /* atomic: entries, since start */
	uint64_t sweeps;		   /* atomic: ended, since start */
} tg_rank_sweep;

/*
 * Asks for a sweep if one of this table is worthwhile, perhaps because rows were removed, although
 * no values are added any more.  Outside an epoch.
 */
extern void tg_rank_sweep_look(tg_session *session, const tg_table *table);

/* Whether there is work, or something to look at, now. */
extern bool tg_rank_sweep_is_due(const tg_rank_sweep *sweep);

/*
 * Whether a look at once may help: the sweep does not wait for sessions that hold ranks, a build or
 * a LONG.
 */
extern bool tg_rank_sweep_can_go_on(const tg_rank_sweep *sweep);

/* Begins a sweep or continues it.  True if there is more to do at once.  Outside an epoch. */
extern bool tg_rank_sweep_run(tg_session *session, tg_rank_sweep *sweep, unsigned budget);

/*
 * Removes the values that no key of the table has, after its trees have been built from what was
 * loaded, and before anybody looks into its dictionaries.  No other session uses the table, and no
 * sweep is at it.  If the table follows, sessions may read it by keys without ranks of the host's
 * values; values of other ranks stay.  TG_DAMAGED: a key has a rank that is in no dictionary;
 * nothing was removed.
 */
extern tg_status tg_ranks_drop_unused(tg_session *session, tg_table *table) TG_MUST_USE;

/*
 * Whether every key has its entry, and entries are in order.  No other session may use the table.
 */
extern bool tg_ranks_check(tg_session *session, tg_table *table);

#endif /* TG_RANK_SWEEP_H */
