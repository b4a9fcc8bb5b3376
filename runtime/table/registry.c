/*
 * registry.c
 *	  A hash map of a fixed number of chains, linked through the tables, under one latch.
 *
 * So to enter a table needs no memory, and cannot fail.  Look-ups are rare: a process that replays
 * the log keeps what it has found, and a base looks for each storage once.
 *
 * The map has no reference of its own.  A table leaves it when its last reference has gone, before
 * its memory is freed.  In between a look-up finds a table without references, and must not add
 * one, because its releaser frees it in any case; so references are only added to some that are
 * there.
 */
#include "runtime/table/registry.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/table/table_internal.h"

#define CHAINS 4096 /* a power of two */

/* In the arena. */
typedef struct registry
{
	uint64_t incarnation_last TG_CACHE_ALIGNED; /* atomic, only grows: the last id handed out */
	tg_latch latch TG_CACHE_ALIGNED;			/* TG_RANK_REGISTRY: the chains */
	tg_table *chains[CHAINS];
} registry;

static registry *shared; /* set by tg_registry_create, inherited by children */

tg_status
tg_registry_create(tg_session *session)
{
	shared = tg_alloc_zeroed(session, sizeof(*shared), TG_USE_RUNTIME, TG_DATA);
	if (shared == NULL)
		return TG_NO_MEMORY;
	tg_latch_init(&shared->latch, TG_RANK_REGISTRY);
	return TG_OK;
}

uint64_t
tg_incarnation_next(void)
{
	return tg_fetch_add_relaxed(&shared->incarnation_last, 1) + 1;
}

void
tg_incarnation_start(uint64_t least)
{
	uint64_t last = tg_load_relaxed(&shared->incarnation_last);

	while (last < least && !tg_cas_acq_rel(&shared->incarnation_last, &last, least))
		;
}

/* The chain of an id.  Ids are handed out one by one, so they are spread as they are. */
static tg_table **
chain_of(uint64_t id)
{
	return &shared->chains[id & (CHAINS - 1)];
}

void
tg_registry_enter(tg_table *table)
{
	tg_table **chain = chain_of(table->incarnation);

	tg_latch_acquire(&shared->latch);
	for (const tg_table *other = *chain; other != NULL; other = other->registered_next)
		tg_assert(other->incarnation != table->incarnation);
	table->registered_next = *chain;
	*chain = table;
	tg_latch_release(&shared->latch);
}

void
tg_registry_leave(tg_table *table)
{
	tg_table **link = chain_of(table->incarnation);

	tg_latch_acquire(&shared->latch);
	while (*link != NULL && *link != table)
		link = &(*link)->registered_next;
	if (*link != NULL)
		*link = table->registered_next;
	tg_latch_release(&shared->latch);
}

/* Adds a reference to a table that has some; false: it has none left. */
static bool
retain_live(tg_table *table)
{
	uint32_t references = tg_load_relaxed(&table->references);

	while (references > 0)
	{
		tg_check(references < UINT32_MAX);
		if (tg_cas_acq_rel(&table->references, &references, references + 1))
			return true;
	}
	return false;
}

tg_table *
tg_storage_find(uint64_t id)
{
	tg_table *table;

	tg_latch_acquire(&shared->latch);
	table = *chain_of(id);
	while (table != NULL && table->incarnation != id)
		table = table->registered_next;
	if (table != NULL && !retain_live(table))
		table = NULL;
	tg_latch_release(&shared->latch);
	return table;
}
