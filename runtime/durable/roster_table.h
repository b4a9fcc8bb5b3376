/*
 * roster_table.h
 *	  Makes the table that a roster describes.
 */
#ifndef TG_ROSTER_TABLE_H
#define TG_ROSTER_TABLE_H

#include <stdbool.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/durable/roster.h"
#include "runtime/table/table.h"

/*
 * An empty table with its columns, its key, and the indexes that are complete; its bytes count for
 * its owner.  It is in no catalog.  follows: its rows will have the ids that they have in the log
 * (tg_rows_follow), and indexes may become complete later.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_roster_table_make(tg_session *session, const tg_roster_storage *storage, bool follows,
									  tg_table **table_out) TG_MUST_USE;

/*
 * Adds an index that is not complete, to a table that follows: it has the entries of what is
 * written from now on, and denies no key. It is marked as being filled.  TG_NO_MEMORY,
 * TG_OVER_QUOTA.
 */
extern tg_status tg_roster_table_add_index(tg_session *session, tg_table *table, uint64_t id,
										   const tg_index_spec *spec) TG_MUST_USE;

/* Drops a table that has no entry in the catalog any more: its leases, and a reference. */
extern void tg_roster_table_drop(tg_session *session, tg_table *table);

#endif /* TG_ROSTER_TABLE_H */
