/*
 * catalog.h
 *	  Storage tables by (database oid, relation oid).
 *
 * The relation's lock in the host decides which transaction may replace or drop a table, and of
 * several that create it the first one succeeds; this map only has to be right under concurrent
 * look-ups.  A generation number grows with every change, so a backend may keep the result of a
 * look-up for as long as the number stays the same.
 */
#ifndef TG_CATALOG_H
#define TG_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

extern uint64_t *tg_catalog_generation; /* atomic; set by tg_catalog_create, inherited */

extern tg_status tg_catalog_create(void) TG_MUST_USE;

/* The table, or NULL.  The map's reference keeps it while the caller holds the relation's lock. */
extern tg_table *tg_catalog_find(uint32_t database, uint32_t relation);

/*
 * Enters a table in place of the present one (NULL: none), and takes over the caller's reference.
 * *old_out gets the table that was there; the map's reference to it is now the caller's.
 * TG_NO_MEMORY.
 */
extern tg_status tg_catalog_put(tg_session *session, uint32_t database, uint32_t relation, tg_table *table,
								tg_table **old_out) TG_MUST_USE;

/*
 * As tg_catalog_put, if no table is there; *present_out is then NULL.  Otherwise *present_out is
 * the present table, which stays, and the new table is still the caller's.
 */
extern tg_status tg_catalog_add(tg_session *session, uint32_t database, uint32_t relation, tg_table *table,
								tg_table **present_out) TG_MUST_USE;

/* Removes the entry; the map's reference is now the caller's.  NULL if there was none. */
extern tg_table *tg_catalog_take(tg_session *session, uint32_t database, uint32_t relation);

/* Removes the entry of any one table of a database; NULL if there is none. */
extern tg_table *tg_catalog_take_any(tg_session *session, uint32_t database);

/*
 * The tables one after the other, for views and sweeps: *position starts at 0;
 * returns a retained table (release it), or NULL at the end.
 */
extern tg_table *tg_catalog_next(uint64_t *position);

/*
 * Walks the tables whose rows have changed much since the host last took statistics of them
 * (tg_table_changes): more than base, and a share of the present rows.  As above, but returns the
 * names alone; false at the end.
 */
extern bool tg_catalog_changed_next(uint64_t *position, double base, double share, uint32_t *database_out,
									uint32_t *relation_out);

/*
 * The host has failed to take statistics of the table: the table counts as much changed, whatever
 * was noted.  Does nothing if there is no such table.
 */
extern void tg_catalog_not_analyzed(uint32_t database, uint32_t relation);

#endif /* TG_CATALOG_H */
