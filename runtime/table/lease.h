/*
 * lease.h
 *	  What a session has taken of tables in advance, so that it need not ask for
 *	  every row: a chunk to take slots from, and row ids.
 */
#ifndef TG_LEASE_H
#define TG_LEASE_H

#include "runtime/base/status.h"
#include "runtime/table/table.h"

/* Sets up what sessions lease; once at start, after tg_arena_create.  TG_NO_MEMORY, TG_FULL. */
extern tg_status tg_lease_create(void) TG_MUST_USE;

/* Takes back what a session has leased of all tables.  Its owner, or who clears up after it. */
extern void tg_leases_end(tg_session *session);

/*
 * Takes back what all sessions have leased of one table.  By whoever drops it:
 * no session takes rows or slots of this table meanwhile (relation lock);
 * they may do so of others.
 */
extern void tg_leases_forget(tg_table *table);

#endif /* TG_LEASE_H */
