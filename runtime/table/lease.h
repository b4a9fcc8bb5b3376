/*
 * lease.h
 *	  The resources of tables that a session has taken in advance, so that it need not ask
 *	  for every row: a chunk to take slots from, and row ids.
 */
#ifndef TG_LEASE_H
#define TG_LEASE_H

#include "runtime/base/names.h"
#include "runtime/base/status.h"

/*
 * Makes the table of the sessions' leases, and the registry of storages (registry.h); once at
 * start, after tg_arena_create.  TG_NO_MEMORY, TG_FULL.
 */
extern tg_status tg_lease_create(void) TG_MUST_USE;

/*
 * Ends all leases of a session, of all tables.  Called by its owner, or by the session that cleans
 * up after it.
 */
extern void tg_leases_end(tg_session *session);

/*
 * Ends the leases that all sessions have of one table.  Called by the session that drops the table:
 * no session takes rows or slots of this table meanwhile (relation lock); sessions may take those
 * of others.
 */
extern void tg_leases_forget(tg_table *table);

#endif /* TG_LEASE_H */
