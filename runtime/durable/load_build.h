/*
 * load_build.h
 *	  Keys and indexes of a table whose rows have been loaded.
 */
#ifndef TG_LOAD_BUILD_H
#define TG_LOAD_BUILD_H

#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/load.h"
#include "runtime/table/table.h"

/*
 * Fills the primary key and all indexes, which have no entries yet.  Ranks stay that are in no key
 * (tg_ranks_drop_unused).  TG_DAMAGED: the rows cannot have been what was committed, *what_out says
 * why; the table is to be dropped.  TG_NO_MEMORY, TG_CANCELLED.  No other session uses the table.
 * Outside an epoch.
 */
extern tg_status tg_load_build(tg_session *session, tg_table *table, const tg_load_config *config,
							   const char **what_out) TG_MUST_USE;

/*
 * Whether the keys of an index that is to be made can be made of all versions of a table.
 * TG_DAMAGED: not of all; TG_CANCELLED.  No other session writes.  Outside an epoch.
 */
extern tg_status tg_load_look(tg_session *session, tg_table *table, const tg_index_spec *spec,
							  const tg_load_config *config) TG_MUST_USE;

/* Tests make it less: rows that a task takes at once, at least. */
extern uint32_t tg_load_piece_rows;

/*
 * Of load_build.c: fills the tree of a table's primary keys, if they ascend with the row ids.
 * TG_EXISTS, TG_NO_MEMORY, TG_OVER_QUOTA: the tree is empty, and is to be filled in another way;
 * TG_TOO_LARGE; TG_CANCELLED.
 */
extern tg_status tg_load_ascending(tg_session *session, tg_table *table, const tg_load_config *config) TG_MUST_USE;

#endif /* TG_LOAD_BUILD_H */
