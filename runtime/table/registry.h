/*
 * registry.h
 *	  Ids of storages, and the live storages by id.
 *
 * A storage is a table with contents of its own, not one for hidden values.  Its id is its name in
 * the host's log.  The catalog (catalog.h) says which storage a relation has; the registry has
 * every storage from its creation to its destruction, also those that a transaction has made or
 * taken out of the catalog, and has not ended.
 */
#ifndef TG_REGISTRY_H
#define TG_REGISTRY_H

#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

/* Called by tg_lease_create.  TG_NO_MEMORY. */
extern tg_status tg_registry_create(tg_session *session) TG_MUST_USE;

/* An id that no other table or index has, also of those that were named to tg_incarnation_start. */
extern uint64_t tg_incarnation_next(void);

/* Ids that are handed out from now on are above this one.  Any thread. */
extern void tg_incarnation_start(uint64_t least);

/*
 * The storage with this id, with a reference for the caller, who releases it; NULL: there is none.
 * Any thread.
 */
extern tg_table *tg_storage_find(uint64_t id);

#endif /* TG_REGISTRY_H */
