/*
 * load_build.h
 *	  Keys and indexes of a table whose rows have been loaded.
 */
#ifndef TG_LOAD_BUILD_H
#define TG_LOAD_BUILD_H

#include "runtime/base/status.h"
#include "runtime/durable/load.h"
#include "runtime/table/table.h"

/*
 * Fills the primary key and all indexes, which have no entries yet.  Ranks stay that are in no key
 * (tg_ranks_drop_unused).  TG_DAMAGED: the rows cannot
 * have been what was committed, *what_out says why; the table is to be dropped.  TG_NO_MEMORY,
 * TG_CANCELLED.  No other session uses the table.  Outside an epoch.
 */
extern tg_status tg_load_build(tg_session *session, tg_table *table, const tg_load_config *config,
							   const char **what_out) TG_MUST_USE;

#endif /* TG_LOAD_BUILD_H */
