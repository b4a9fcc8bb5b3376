/*
 * lease.c
 *	  The resources of tables that a session has taken in advance: a chunk to allocate slots from,
 *	  and row ids.
 *
 * A session keeps leases of up to LEASE_MAX tables; the one not used for longest makes room for
 * another.  So inserts take the table's latch once for some dozens of row ids and once for a chunk.
 *
 * The array is its owner's, with one exception: a session that drops a table takes its leases back
 * (tg_leases_forget), while the owners may go on with other tables.  The two sides synchronize on
 * the table word of an entry:
 *
 *	  table --(compare-and-swap)--> table | CLAIMED --(store)--> NULL
 *
 * 1. The session that swaps a table for its claimed word, owner or dropper, ends the lease: it
 *	  gives chunk and row ids back and stores NULL, after which the owner may fill the entry again.
 *	  So a lease is ended once, whichever session comes first.
 * 2. The owner uses an entry without a claim only to take rows and slots of the table that it is
 *	  called for and to store into them, and no session drops a table that others write to (relation
 *	  lock).  Of entries for other tables it reads only the table word: unequal, claimed or not.
 *	  Giving back, which the collector also does for dropped tables, touches no lease.
 * 3. An owner that looks for a victim passes over claimed entries and those that it cannot claim;
 *	  the dropper holds each for a moment only.
 * 4. A dropper that meets a claimed entry of its table waits for NULL: the owner is evicting the
 *	  lease, in a few instructions, and still uses the table, which must not be freed before.
 *
 * Ordering: the dropper reads what the owner wrote to the entry before it released the relation
 * lock; the owner reads what the dropper left after it has loaded the NULL (acquire, release).
 */
#include "runtime/table/lease.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/session.h"
#include "runtime/table/cell.h"
#include "runtime/table/registry.h"
#include "runtime/table/store.h"
#include "runtime/table/table_internal.h"

#define LEASE_MAX 8
#define CLAIMED ((uintptr_t) 1)
#define BLOB_BYTES_PENDING_MAX TG_BLOB_BYTES_UNASKED
#define COLUMNS_AHEAD 4 /* columns whose cells are prefetched before they are written */

typedef struct tg_lease
{
	tg_table *table; /* atomic; NULL: nothing leased.  The other fields follow the rules above */
	tg_chunk *chunk; /* or NULL */
	uint32_t cursor; /* slots before it are not looked at again */
	uint32_t row_count;
	uint64_t used;		/* tick of the last use */
	int64_t blob_bytes; /* not yet added to the table's figure */
	uint32_t rows[TG_ROW_BATCH];
} tg_lease;

typedef struct session_leases
{
	uint64_t tick; /* counts changes of table; the owner's, as the rest */
	uint32_t last; /* entry used last */
	tg_lease lease[LEASE_MAX];
} TG_CACHE_ALIGNED session_leases;

static session_leases *all; /* by session; set by tg_lease_create, inherited by children */

tg_status
tg_lease_create(void)
{
	tg_session *session;
	tg_status status = tg_session_open(&session);

	if (status != TG_OK)
		return status;
	all = tg_alloc_zeroed(session, tg_session_max() * sizeof(session_leases), TG_USE_RUNTIME, TG_DATA);
	status = all != NULL ? tg_registry_create(session) : TG_NO_MEMORY;
	tg_session_close(session);
	return status;
}

/* --- entries ------------------------------------------------------------------- */

static bool
claim_lease(tg_lease *lease, tg_table *table)
{
	return tg_cas_acq_rel(&lease->table, &table, (tg_table *) ((uintptr_t) table | CLAIMED));
}

/* Gives back the leased resources; the caller has claimed the lease. */
static void
end_lease(tg_lease *lease, tg_table *table)
{
	tg_failpoint("lease_end");
	if (lease->chunk != NULL)
		tg_chunk_lease_end(lease->chunk);
	if (lease->row_count > 0)
		tg_rows_give(table, lease->rows, lease->row_count);
	if (lease->blob_bytes != 0)
		tg_table_count(table, &table->blob_bytes, lease->blob_bytes);
	lease->chunk = NULL;
	lease->row_count = 0;
	lease->blob_bytes = 0;
	tg_store_release(&lease->table, NULL);
}

/* The session's lease of the table, or NULL. */
static inline tg_lease *
find_lease(tg_session *session, tg_table *table)
{
	session_leases *leases = &all[session->id];
	tg_lease *lease = &leases->lease[leases->last];

	if (tg_likely(tg_load_acquire(&lease->table) == table))
		return lease;
	for (uint32_t i = 0; i < LEASE_MAX; i++)
	{
		lease = &leases->lease[i];
		if (tg_load_acquire(&lease->table) == table)
		{
			leases->last = i;
			lease->used = ++leases->tick;
			return lease;
		}
	}
	return NULL;
}

/* A free entry, or the one not used for longest, or NULL if all are claimed at this moment. */
static tg_lease *
find_place(session_leases *leases)
{
	tg_lease *oldest = NULL;

	for (uint32_t i = 0; i < LEASE_MAX; i++)
	{
		tg_lease *lease = &leases->lease[i];
		tg_table *table = tg_load_acquire(&lease->table);

		if (table == NULL)
			return lease;
		if (((uintptr_t) table & CLAIMED) == 0 && (oldest == NULL || lease->used < oldest->used))
			oldest = lease;
	}
	return oldest;
}

/* The session's lease of the table, an empty one if there was none. */
static tg_lease *
open_lease(tg_session *session, tg_table *table)
{
	session_leases *leases = &all[session->id];
	tg_lease *lease = find_lease(session, table);
	unsigned round = 0;

	tg_assert(tg_session_is_in_hand(session));
	while (lease == NULL)
	{
		tg_table *victim;

		lease = find_place(leases);
		if (lease != NULL && (victim = tg_load_acquire(&lease->table)) != NULL)
		{
			if (((uintptr_t) victim & CLAIMED) == 0 && claim_lease(lease, victim))
				end_lease(lease, victim);
			else
				lease = NULL;
		}
		if (lease == NULL)
		{
			tg_spin(&round);
			continue;
		}
		lease->cursor = 0;
		lease->used = ++leases->tick;
		leases->last = (uint32_t) (lease - leases->lease);
		tg_store_release(&lease->table, table);
	}
	return lease;
}

void
tg_leases_end(tg_session *session)
{
	session_leases *leases = &all[session->id];

	for (uint32_t i = 0; i < LEASE_MAX; i++)
	{
		tg_lease *lease = &leases->lease[i];
		tg_table *table;
		unsigned round = 0;

		while ((table = tg_load_acquire(&lease->table)) != NULL)
		{
			if (((uintptr_t) table & CLAIMED) == 0 && claim_lease(lease, table))
				end_lease(lease, table);
			else
				tg_spin(&round);
		}
	}
}

void
tg_leases_forget(tg_table *table)
{
	tg_table *claimed = (tg_table *) ((uintptr_t) table | CLAIMED);

	for (unsigned id = 0; id < tg_session_max(); id++)
	{
		for (uint32_t i = 0; i < LEASE_MAX; i++)
		{
			tg_lease *lease = &all[id].lease[i];
			unsigned round = 0;

			if (tg_load_acquire(&lease->table) == table && claim_lease(lease, table))
				end_lease(lease, table);
			while (tg_load_acquire(&lease->table) == claimed)
				tg_spin(&round);
		}
	}
}

/* --- taking ---------------------------------------------------------------------- */

tg_status
tg_row_take(tg_session *session, tg_table *table, tg_claim claim, uint32_t *row_out)
{
	tg_lease *lease = open_lease(session, table);
	tg_version *head;

	if (lease->row_count == 0)
	{
		tg_status status = tg_rows_take(session, table, claim, lease->rows, &lease->row_count);

		if (status != TG_OK)
			return status;
	}
	*row_out = lease->rows[--lease->row_count];
	head = tg_row_head(table, *row_out);
	if (tg_load_relaxed(head) != TG_VERSION_NONE)
		tg_store_release(head, TG_VERSION_NONE);
	return TG_OK;
}

tg_status
tg_row_take_several(tg_session *session, tg_table *table, tg_claim claim, unsigned count, uint32_t *rows_out)
{
	for (unsigned done = 0; done < count; done++)
	{
		tg_status status = tg_row_take(session, table, claim, &rows_out[done]);

		if (status == TG_OK)
			continue;
		while (done > 0)
			tg_row_give(session, table, rows_out[--done]);
		return status;
	}
	return TG_OK;
}

bool
tg_blob_bytes_add(tg_session *session, tg_table *table, int64_t bytes)
{
	tg_lease *lease = find_lease(session, table);

	if (lease != NULL)
	{
		lease->blob_bytes += bytes;
		if (lease->blob_bytes < BLOB_BYTES_PENDING_MAX && lease->blob_bytes > -BLOB_BYTES_PENDING_MAX)
			return false;
		bytes = lease->blob_bytes;
		lease->blob_bytes = 0;
	}
	tg_table_count(table, &table->blob_bytes, bytes);
	return bytes > 0;
}

bool
tg_chunk_find_slot(const tg_chunk *chunk, uint32_t cursor, unsigned *slot_out)
{
	while (cursor < chunk->capacity && tg_load_relaxed(&chunk->free_count) > tg_chunk_room(chunk))
	{
		uint64_t bits = tg_load_relaxed(&chunk->free[cursor / 64]) & ~UINT64_C(0) << cursor % 64;

		if (bits != 0)
		{
			*slot_out = (cursor & ~63u) + (unsigned) __builtin_ctzll(bits);
			return *slot_out < chunk->capacity;
		}
		cursor = (cursor & ~63u) + 64;
	}
	return false;
}

/* Ensures that the lease has a chunk of the newest layout with a free slot, and finds the slot. */
static tg_status
find_chunk(tg_session *session, tg_table *table, tg_lease *lease, tg_claim claim, unsigned *slot_out)
{
	for (;;)
	{
		tg_chunk *chunk = lease->chunk;
		tg_status status;

		if (chunk != NULL)
		{
			if (chunk->layout == tg_load_acquire(&table->layout))
			{
				if (tg_chunk_find_slot(chunk, lease->cursor, slot_out))
					return TG_OK;
				/* Other sessions gave slots back behind the cursor: a second round, if it pays. */
				lease->cursor = 0;
				if (tg_load_relaxed(&chunk->free_count) >= chunk->capacity / 4u &&
					tg_chunk_find_slot(chunk, 0, slot_out))
					return TG_OK;
			}
			lease->chunk = NULL;
			tg_chunk_lease_end(chunk);
		}
		status = tg_chunk_lease(session, table, claim, &lease->chunk);
		if (status != TG_OK)
			return status;
		lease->cursor = 0;
	}
}

/*
 * Prefetches all memory of a slot that is going to be written, at once: the atomic operations
 * between the writes would otherwise wait for each miss.
 */
static inline void
expect_slot(const tg_chunk *chunk, const tg_header *headers, unsigned slot)
{
	unsigned columns = chunk->layout->column_count < COLUMNS_AHEAD ? chunk->layout->column_count : COLUMNS_AHEAD;

	__builtin_prefetch(&headers[slot], 1);
	__builtin_prefetch(&chunk->rows[slot], 1);
	for (unsigned column = 0; column < columns; column++)
		__builtin_prefetch(tg_chunk_cell(chunk, column, slot), 1);
}

/*
 * Takes a slot that was seen free; false if another session has.  The headers come first, then the
 * bit: a scan that finds the bit cleared finds the headers, too (settle.c, «Scans»).  The session
 * that gave the slot has written the slot's own header.
 */
static inline tg_status
claim_slot(tg_session *session, tg_chunk *chunk, unsigned slot, tg_claim claim, bool *claimed_out)
{
	uint64_t bit = (uint64_t) 1 << slot % 64;
	tg_header *headers;
	tg_status status = tg_chunk_headers_write(session, chunk, claim, &headers);

	if (status != TG_OK)
		return status;
	expect_slot(chunk, headers, slot);
	tg_failpoint("slot_claim");
	/* The acquire pairs with the release in tg_slot_give. */
	*claimed_out = (tg_fetch_and_acq_rel(&chunk->free[slot / 64], ~bit) & bit) != 0;
	if (!*claimed_out)
		return TG_OK;
	(void) tg_fetch_add_relaxed(&chunk->free_count, -1);
	tg_assert(tg_load_relaxed(&headers[slot].begin) == TG_TIME_NEVER &&
			  tg_load_relaxed(&headers[slot].end) == TG_TIME_NEVER &&
			  tg_load_relaxed(&headers[slot].older) == TG_VERSION_NONE && tg_load_relaxed(&headers[slot].life) == 0);
	return TG_OK;
}

tg_status
tg_slot_take(tg_session *session, tg_table *table, tg_claim claim, tg_version *version_out)
{
	tg_lease *lease = open_lease(session, table);
	bool claimed = false;

	tg_assert(tg_epoch_inside(session));
	while (!claimed)
	{
		unsigned slot;
		tg_status status = find_chunk(session, table, lease, claim, &slot);

		if (status == TG_OK)
			status = claim_slot(session, lease->chunk, slot, claim, &claimed);
		if (status != TG_OK)
			return status;
		lease->cursor = slot + 1;
		*version_out = tg_version_make(lease->chunk, slot);
	}
	return TG_OK;
}

/*
 * The bits of a word from this one on, so many at most as far as they are set one after the other.
 */
static uint64_t
bits_in_a_row(uint64_t word, unsigned first, unsigned most)
{
	uint64_t ends = ~(word >> first);
	unsigned count = ends == 0 ? 64 : (unsigned) __builtin_ctzll(ends);

	if (count > most)
		count = most;
	return (count >= 64 ? UINT64_MAX : ((uint64_t) 1 << count) - 1) << first;
}

/*
 * Takes the slots of a word that are free one after the other, from this one on; returns their
 * number.  Those behind one that another session has taken in between are left free: no other
 * session has seen them taken but as one that finds no free slot there.
 */
static unsigned
claim_bits(tg_chunk *chunk, unsigned slot, unsigned most)
{
	uint64_t *word = &chunk->free[slot / 64];
	uint64_t wanted = bits_in_a_row(tg_load_relaxed(word), slot % 64, most);
	uint64_t got = tg_fetch_and_acq_rel(word, ~wanted) & wanted;
	uint64_t kept = bits_in_a_row(got, slot % 64, 64) & got;

	if (got != kept)
		(void) tg_fetch_or_acq_rel(word, got & ~kept);
	(void) tg_fetch_add_relaxed(&chunk->free_count, -__builtin_popcountll(kept));
	return (unsigned) __builtin_popcountll(kept);
}

/* Slots of the chunk from this one on that inserts may use; the chunk may have fewer free. */
static unsigned
slots_left(const tg_chunk *chunk, unsigned slot)
{
	unsigned free = tg_load_relaxed(&chunk->free_count);
	unsigned room = tg_chunk_room(chunk);
	unsigned available = free > room ? free - room : 0;

	return available < chunk->capacity - slot ? available : chunk->capacity - slot;
}

tg_status
tg_slot_take_run(tg_session *session, tg_table *table, tg_claim claim, unsigned wanted, tg_version *first_out,
				 unsigned *count_out)
{
	tg_lease *lease = open_lease(session, table);
	unsigned count = 0;
	unsigned slot;

	tg_assert(tg_epoch_inside(session) && wanted > 0);
	while (count == 0)
	{
		tg_status status = find_chunk(session, table, lease, claim, &slot);
		tg_header *headers;

		if (status == TG_OK)
			status = tg_chunk_headers_write(session, lease->chunk, claim, &headers); /* claim_slot */
		if (status != TG_OK)
			return status;
		tg_failpoint("slot_claim");
		while (count < wanted)
		{
			unsigned at = slot + count;
			unsigned left = slots_left(lease->chunk, at);
			unsigned most = 64 - at % 64;
			unsigned got;

			most = most < left ? most : left;
			most = most < wanted - count ? most : wanted - count;
			got = most > 0 ? claim_bits(lease->chunk, at, most) : 0;
			count += got;
			if (got < most || most == 0)
				break;
		}
		lease->cursor = slot + (count > 0 ? count : 1);
	}
	*first_out = tg_version_make(lease->chunk, slot);
	*count_out = count;
	return TG_OK;
}

tg_status
tg_chunk_take_slot(tg_session *session, tg_chunk *chunk, unsigned slot, tg_claim claim, tg_version *version_out)
{
	bool claimed;
	tg_status status = claim_slot(session, chunk, slot, claim, &claimed);

	if (status == TG_OK)
		*version_out = claimed ? tg_version_make(chunk, slot) : TG_VERSION_NONE;
	return status;
}

/*
 * The first free slot at or after this one, cyclically by words of the bitmap; false if there is
 * none.
 */
static bool
find_slot_near(const tg_chunk *chunk, unsigned near, unsigned *slot_out)
{
	unsigned words = tg_chunk_bitmap_words(chunk);

	for (unsigned i = 0; i < words; i++)
	{
		unsigned word = (near / 64 + i) % words;
		uint64_t bits = tg_load_relaxed(&chunk->free[word]);

		if (word == words - 1 && chunk->capacity % 64 != 0)
			bits &= ((uint64_t) 1 << chunk->capacity % 64) - 1;
		if (bits == 0)
			continue;
		if (bits >> near % 64 != 0)
			bits = bits >> near % 64 << near % 64;
		*slot_out = word * 64 + (unsigned) __builtin_ctzll(bits);
		return true;
	}
	return false;
}

/*
 * Takes a slot near a version, if its chunk has one available; else *version_out is
 * TG_VERSION_NONE.
 */
static tg_status
take_near(tg_session *session, tg_table *table, tg_version near, tg_claim claim, tg_version *version_out)
{
	tg_chunk *chunk = tg_version_chunk(near);
	uint32_t listed = tg_load_relaxed(&chunk->listed);
	unsigned slot;

	*version_out = TG_VERSION_NONE;
	if (chunk->capacity != chunk->layout->full_capacity || chunk->layout != tg_load_acquire(&table->layout) ||
		tg_load_relaxed(&chunk->free_count) == 0 || tg_load_relaxed(&chunk->leased) ||
		(listed != TG_LISTED && listed != TG_UNLISTED) || !find_slot_near(chunk, tg_version_slot(near), &slot))
		return TG_OK;
	return tg_chunk_take_slot(session, chunk, slot, claim, version_out);
}

tg_status
tg_slot_take_near(tg_session *session, tg_table *table, tg_version near, tg_version replaced, tg_claim claim,
				  tg_version *version_out)
{
	tg_status status = take_near(session, table, near, claim, version_out);

	if (status == TG_OK && *version_out == TG_VERSION_NONE && tg_version_chunk(near) != tg_version_chunk(replaced))
		status = take_near(session, table, replaced, claim, version_out);
	if (status != TG_OK || *version_out != TG_VERSION_NONE)
		return status;
	return tg_slot_take(session, table, claim, version_out);
}
