/*
 * session_retire.c
 *	  Objects that wait for their epoch.
 *
 * Each session keeps a queue of blocks of {object, use, epoch}, oldest first:
 *
 *	  oldest -> block -> ... -> newest (being filled)      spares (reserved room)
 *
 * 1. Epochs do not fall along the queue, so the entries that can be freed are a prefix.
 * 2. The room consists of the free part of the newest block and the spares.  It shrinks by one with
 *	  each tg_retire and otherwise only grows, until the session is closed or abandons its queue.
 *
 * A poll examines all sessions' epochs once, and only if the oldest entry is older than the global
 * epoch.  tg_retire polls every 64 calls, so each call bears a 64th of that cost.  If the oldest
 * entry is then still of the current epoch, no other thread advances the epoch, and the poll does:
 * so the number of waiting objects is bounded even without a watcher.
 *
 * Orphans: blocks of closed sessions, in one list under a latch.  A block is freed when its last
 * entry may be.  Any session that polls frees them.
 */
#include "runtime/mem/session.h"

#include <string.h>

#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session_internal.h"

#define POLL_EVERY 64
#define SPARES_KEPT 2
#define BLOCK_BYTES 1024
#define USE_BITS 8

typedef struct retire_entry
{
	void *object;
	uint64_t epoch_use; /* epoch << USE_BITS | use */
} retire_entry;

#define BLOCK_ENTRIES ((BLOCK_BYTES - 16) / sizeof(retire_entry))

struct retire_block
{
	retire_block *next;
	uint32_t begin; /* entries before this are freed */
	uint32_t end;	/* entries from this on are unused */
	retire_entry entries[BLOCK_ENTRIES];
};

_Static_assert(sizeof(retire_block) <= BLOCK_BYTES, "a block fills its size class");
_Static_assert(TG_USE_COUNT <= 1 << USE_BITS, "a use fits its bits");

typedef struct orphans_state
{
	tg_latch latch;
	retire_block *first; /* written under the latch, read by any thread */
} TG_CACHE_ALIGNED orphans_state;

static orphans_state *orphans;

size_t
tg_orphans_state_bytes(void)
{
	return sizeof(orphans_state);
}

void
tg_orphans_setup(void *memory)
{
	orphans = memory;
	memset(orphans, 0, sizeof(*orphans));
	tg_latch_init(&orphans->latch, TG_RANK_EPOCH);
}

/* --- blocks --------------------------------------------------------------------- */

static inline uint64_t
entry_epoch(const retire_entry *entry)
{
	return entry->epoch_use >> USE_BITS;
}

static inline size_t
retirement_room(const tg_retirement *retirement)
{
	size_t room = (size_t) retirement->spare_count * BLOCK_ENTRIES;

	if (retirement->newest != NULL)
		room += BLOCK_ENTRIES - retirement->newest->end;
	return room;
}

static void
spare_push(tg_retirement *retirement, retire_block *block)
{
	block->next = retirement->spares;
	block->begin = 0;
	block->end = 0;
	retirement->spares = block;
	retirement->spare_count++;
}

/* Makes a spare the newest block. */
static void
newest_append(tg_retirement *retirement)
{
	retire_block *block = retirement->spares;

	tg_check(block != NULL); /* the caller has reserved room: an object cannot be lost silently */
	retirement->spares = block->next;
	retirement->spare_count--;
	block->next = NULL;
	if (retirement->newest == NULL)
		retirement->oldest = block;
	else
		retirement->newest->next = block;
	retirement->newest = block;
}

/*
 * Removes the oldest block, which is used up: it becomes a spare, or is freed if there are enough.
 */
static void
oldest_remove(tg_session *session)
{
	tg_retirement *retirement = session->retirement;
	retire_block *block = retirement->oldest;

	if (block == retirement->newest)
	{
		block->begin = 0; /* it is filled again */
		block->end = 0;
		return;
	}
	retirement->oldest = block->next;
	if (retirement->spare_count < SPARES_KEPT)
		spare_push(retirement, block);
	else
		tg_free(session, block, TG_USE_RUNTIME);
}

/* Frees a block's entries that are older than the confirmed epoch; returns how many. */
static size_t
block_free(tg_session *session, retire_block *block, uint64_t confirmed)
{
	uint32_t begin = block->begin;

	while (block->begin < block->end && entry_epoch(&block->entries[block->begin]) < confirmed)
	{
		retire_entry *entry = &block->entries[block->begin++];

		tg_free(session, entry->object, (tg_use) (entry->epoch_use & ((1 << USE_BITS) - 1)));
	}
	return block->begin - begin;
}

/* --- orphans ---------------------------------------------------------------------- */

/* Adds a chain of blocks. */
static void
orphans_add(retire_block *first, retire_block *last)
{
	tg_latch_acquire(&orphans->latch);
	last->next = orphans->first;
	tg_store_relaxed(&orphans->first, first);
	tg_latch_release(&orphans->latch);
}

/* Takes the blocks out whose entries all may be freed; frees them without the latch. */
static void
orphans_free(tg_session *session, uint64_t confirmed)
{
	retire_block *ripe = NULL;
	retire_block *first = NULL;

	if (!tg_latch_try(&orphans->latch))
		return; /* another session does it */
	for (retire_block *block = orphans->first, *next; block != NULL; block = next)
	{
		retire_block **list = entry_epoch(&block->entries[block->end - 1]) < confirmed ? &ripe : &first;

		next = block->next;
		block->next = *list;
		*list = block;
	}
	tg_store_relaxed(&orphans->first, first);
	tg_latch_release(&orphans->latch);

	while (ripe != NULL)
	{
		retire_block *block = ripe;

		ripe = block->next;
		(void) block_free(session, block, confirmed);
		tg_free(session, block, TG_USE_RUNTIME);
	}
}

/* --- polling ----------------------------------------------------------------------- */

/* Whether the oldest retirement is from an epoch that is over. */
static bool
oldest_is_over(const tg_retirement *retirement)
{
	const retire_block *block = retirement->oldest;

	return retirement->count > 0 && entry_epoch(&block->entries[block->begin]) < tg_load_relaxed(tg_epoch_global);
}

void
tg_retire_poll(tg_session *session)
{
	tg_retirement *retirement = session->retirement;
	bool orphaned = tg_load_relaxed(&orphans->first) != NULL;
	uint64_t confirmed;

	retirement->polled_ago = 0;
	if (!orphaned && !oldest_is_over(retirement))
		return;
	confirmed = tg_epoch_confirmed();
	while (retirement->count > 0)
	{
		retire_block *block = retirement->oldest;

		retirement->count -= block_free(session, block, confirmed);
		if (block->begin < block->end)
			break;
		oldest_remove(session);
	}
	if (orphaned)
		orphans_free(session, confirmed);
}

/* --- in order of life ---------------------------------------------------------------- */

tg_status
tg_retire_reserve(tg_session *session, unsigned count)
{
	tg_retirement *retirement = session->retirement;

	while (retirement_room(retirement) < count)
	{
		retire_block *block = tg_alloc(session, sizeof(*block), TG_USE_RUNTIME, TG_ESSENTIAL);

		if (block == NULL)
			return TG_NO_MEMORY;
		spare_push(retirement, block);
	}
	return TG_OK;
}

void
tg_retire(tg_session *session, void *object, tg_use use)
{
	tg_retirement *retirement = session->retirement;
	retire_block *block = retirement->newest;

	if (block == NULL || block->end == BLOCK_ENTRIES)
	{
		newest_append(retirement);
		block = retirement->newest;
	}
	block->entries[block->end].object = object;
	block->entries[block->end].epoch_use = tg_epoch_now() << USE_BITS | (uint64_t) use;
	block->end++;
	retirement->count++;

	if (++retirement->polled_ago >= POLL_EVERY)
	{
		if (!oldest_is_over(retirement))
			tg_epoch_advance();
		tg_retire_poll(session);
	}
}

size_t
tg_retire_count(const tg_session *session)
{
	return session->retirement->count;
}

void
tg_retire_abandon(tg_session *session)
{
	tg_retirement *retirement = session->retirement;

	if (retirement->count > 0)
	{
		orphans_add(retirement->oldest, retirement->newest);
		retirement->oldest = NULL;
		retirement->newest = NULL;
		retirement->count = 0;
	}
	retirement->polled_ago = 0;
}

/* The blocks have no entries. */
static void
free_blocks(tg_session *session)
{
	tg_retirement *retirement = session->retirement;

	if (retirement->newest != NULL)
		tg_free(session, retirement->newest, TG_USE_RUNTIME);
	while (retirement->spares != NULL)
	{
		retire_block *block = retirement->spares;

		retirement->spares = block->next;
		tg_free(session, block, TG_USE_RUNTIME);
	}
	memset(retirement, 0, sizeof(*retirement));
}

void
tg_retire_rest(tg_session *session)
{
	tg_retire_poll(session);
	if (session->retirement->count == 0)
		free_blocks(session);
}

void
tg_retirement_depart(tg_session *session)
{
	tg_retire_abandon(session);
	free_blocks(session);
}
