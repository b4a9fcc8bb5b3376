/*
 * catalog.h
 *	  Storage tables by (database oid, relation oid).
 *
 * The relation's lock in the host decides who may replace or drop, and of several who create
 * a table the first one has; this map only has to be right under concurrent look-ups.  A generation
 * number grows with every change, so that a backend may remember what it found
 * for as long as the number stays.
 */
#ifndef TG_CATALOG_H
#define TG_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/table/table.h"

extern uint64_t *tg_catalog_generation; /* atomic; set by tg_catalog_create, inherited */

extern tg_status tg_catalog_create(void) TG_MUST_USE;

/* The table, or NULL.  The map's reference keeps it while the caller holds the relation's lock. */
extern tg_table *tg_catalog_find(uint32_t database, uint32_t relation);

/*
 * Puts a table in place of what is there (NULL: nothing), taking over the
 * caller's reference; *old_out gets what was there, with the map's reference
 * now the caller's.  TG_NO_MEMORY.
 */
extern tg_status tg_catalog_put(tg_session *session, uint32_t database, uint32_t relation, tg_table *table,
								tg_table **old_out) TG_MUST_USE;

/*
 * The same where nothing is there.  Else *present_out, otherwise NULL, is what is there, which stays, and the table stays the
 * caller's.
 */
extern tg_status tg_catalog_add(tg_session *session, uint32_t database, uint32_t relation, tg_table *table,
								tg_table **present_out) TG_MUST_USE;

/* Takes the entry out; the map's reference is now the caller's.  NULL if there was none. */
extern tg_table *tg_catalog_take(tg_session *session, uint32_t database, uint32_t relation);

/* Takes out any one table of a database, or NULL. */
extern tg_table *tg_catalog_take_any(tg_session *session, uint32_t database);

/*
 * The tables one after the other, for views and sweeps: *position starts at 0;
 * returns a retained table (release it), or NULL at the end.
 */
extern tg_table *tg_catalog_next(uint64_t *position);

/*
 * The tables whose rows have changed much since the host last took statistics of them (tg_table_changes): more than base, and a
 * share of the rows there are.  As above, but for the names alone; false at the end.
 */
extern bool tg_catalog_changed_next(uint64_t *position, double base, double share, uint32_t *database_out,
									uint32_t *relation_out);

/* Statistics of the table have not come to be, whatever was noted: it has changed much.  Nothing if there is no such table. */
extern void tg_catalog_not_analyzed(uint32_t database, uint32_t relation);

#endif /* TG_CATALOG_H */
