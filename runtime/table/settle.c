/*
 * settle.c
 *	  How a chunk's version headers come and go.
 *
 * A version is settled if everybody sees it: its begin is a timestamp at or
 * below the horizon, its end NEVER, its older NONE.  A chunk whose allocated
 * slots are all settled needs no headers; NULL in their place says so.
 *
 *	              write (compare-and-swap)
 *	  NULL ---------------------------------> ARRAY <-------------------+
 *	    ^                                       |                       |
 *	    | settle, 2nd step: an epoch has passed |  settle, 1st step     | write; or 2nd step
 *	    | since, all are settled                v                       | finds it unsettled
 *	    +------------------------------- ARRAY | MARK ------------------+
 *
 * Horizon: no snapshot that is or will be published is below it (horizon.c).
 * «Write» is tg_chunk_headers_write: what every change of a header from
 * settled to unsettled starts with, and every allocation of a slot, in the same
 * epoch.  Changes of an unsettled version (stamping, undoing, cutting) go
 * through tg_chunk_headers: they cannot lose the array, by 2.
 *
 * 1. A free slot's begin is NEVER in the array in place, and in an array that was
 *	  taken away if it was free then: it was set so before the slot was given back
 *	  (tg_slot_give), and arrays start so.
 * 2. While an allocated slot is unsettled, the array stays.  The second step
 *	  takes it away only if it found every slot settled after a whole epoch
 *	  under the mark.  A writer that had loaded the array unmarked has left
 *	  since, and what it wrote is seen (its leaving is a release, the
 *	  confirmed epoch an acquire).  A writer that came later met the mark and took
 *	  it back, so the final compare-and-swap, which expects the mark, fails; and
 *	  if the array was marked again meanwhile, settle_epoch is of that marking,
 *	  because one caller does both steps.
 * 3. No ABA within an epoch: for whoever is inside, NULL → array → NULL does not
 *	  happen, nor array → NULL → array → NULL, because the later array would
 *	  have been marked, and confirmed, after he entered.
 * 4. While headers are NULL, no slot is taken (an allocator brings them back
 *	  first) and none is given (it would have to be unsettled first).  So the
 *	  bitmap stands still.
 *
 * (a) A reader that loads NULL judges right.  It came to the slot by a chain or
 * the bitmap («Scans»), so the slot is allocated; and at the moment NULL was
 * stored it was settled at some horizon, which the reader's snapshot is not
 * below.  If the version has been ended since, by a commit within the snapshot, the
 * end was written to an array brought in before; the reader's clock value is
 * later than that commit's, drawn later still, so the load finds that array or
 * what came after it.
 *
 * (b) A writer that loaded the array unmarked may write to it until it leaves
 * its epoch: by 2 the second step comes later and sees what it wrote.
 *
 * (c) Bringing back treats exactly the slots allocated now as settled.  If the
 * compare-and-swap from NULL succeeds, headers were NULL all the time since
 * this writer found them so (3), so the bitmap stood still (4), and what was
 * allocated was settled at the last step (2).  If it fails, somebody else's
 * array is in place and this one has been seen by nobody.  Begin is FIRST
 * afterwards, not what it was: nobody could tell them apart.
 *
 * Scans.  A scan has no chain that vouches for a slot, only the bitmap; it must
 * not judge a slot by NULL that was not there when NULL was stored.  It
 * loads headers, then the bitmap, then, if headers were NULL, headers again.
 * - An array at first: it judges every slot.  One whose bit was seen cleared and
 *	 that was free when the array was taken away (if it was) has begin NEVER in it
 *	 (1), and rightly: who took it did so after the first load, and commits after
 *	 the scan's snapshot.  One that was settled then keeps its version as long as
 *	 the scan is in its epoch (tg_slot_give), and was ended, if at all, after the
 *	 first load as well.
 * - NULL twice: NULL all the time (3), so the bitmap is that of the settled slots (4).
 * - NULL, then an array: the allocator's order is array, header, bit, so whatever
 *	 bit was seen cleared, its header is in this array, and begin NEVER or newer.
 * Headers once, before the bitmap, would miss the array that came between.  Headers once,
 * after it, would find NULL for a slot seen taken: an allocator that had loaded
 * the array unmarked takes it after the mark, the scan enters in the epoch that
 * follows and sees the bit, the allocator drops the slot and leaves, and nothing stands
 * against the second step.
 *
 * Giving headers back is never needed for anything to go on: any failure (no
 * room to note the retirement, somebody writes) leaves the array where it is.
 */
#include "runtime/table/table_internal.h"

#include "runtime/base/failpoint.h"

static inline bool
is_marked(const tg_header *headers)
{
	return ((uintptr_t) headers & TG_HEADERS_MARK) != 0;
}

static inline tg_header *
marked(tg_header *headers)
{
	return (tg_header *) ((uintptr_t) headers | TG_HEADERS_MARK);
}

static inline tg_header *
unmarked(tg_header *headers)
{
	return (tg_header *) ((uintptr_t) headers & ~TG_HEADERS_MARK);
}

/* Slots that are allocated, of one word of the bitmap. */
static inline uint64_t
allocated(const tg_chunk *chunk, unsigned word)
{
	return ~tg_load_acquire(&chunk->free[word]);
}

/* Puts an array in place of NULL, or finds that somebody else has. */
static tg_status
bring_back(tg_session *session, tg_chunk *chunk, tg_claim claim)
{
	tg_status status = tg_book_ask(chunk->table->book, tg_headers_bytes(chunk->capacity), claim);
	tg_header *found = NULL;
	tg_header *headers;

	if (status != TG_OK)
		return status;
	headers = tg_headers_alloc(session, chunk->capacity, claim);
	if (headers == NULL)
		return TG_NO_MEMORY;
	for (unsigned word = 0; word < tg_chunk_bitmap_words(chunk); word++)
	{
		for (uint64_t bits = allocated(chunk, word); bits != 0; bits &= bits - 1)
			headers[word * 64 + (unsigned) __builtin_ctzll(bits)].begin = TG_TIME_FIRST;
	}
	tg_failpoint("settle_bring_back");
	/* The release pairs with the acquire in tg_chunk_headers. */
	if (tg_cas_acq_rel(&chunk->headers, &found, headers))
		tg_table_count(chunk->table, &chunk->table->header_bytes, (int64_t) tg_headers_bytes(chunk->capacity));
	else
		tg_free(session, headers, TG_USE_HEADER);
	return TG_OK;
}

tg_status
tg_chunk_headers_write(tg_session *session, tg_chunk *chunk, tg_claim claim, tg_header **headers_out)
{
	tg_assert(tg_epoch_inside(session));
	for (;;)
	{
		tg_header *headers = tg_load_acquire(&chunk->headers);

		if (tg_likely(headers != NULL && !is_marked(headers)))
		{
			*headers_out = headers;
			return TG_OK;
		}
		if (headers == NULL)
		{
			tg_status status = bring_back(session, chunk, claim);

			if (status != TG_OK)
				return status;
		}
		else
			(void) tg_cas_acq_rel(&chunk->headers, &headers, unmarked(headers));
	}
}

static bool
is_settled(const tg_chunk *chunk, const tg_header *headers, tg_time horizon)
{
	tg_assert(horizon < TG_TIME_NEVER);
	for (unsigned word = 0; word < tg_chunk_bitmap_words(chunk); word++)
	{
		for (uint64_t bits = allocated(chunk, word); bits != 0; bits &= bits - 1)
		{
			const tg_header *header = &headers[word * 64 + (unsigned) __builtin_ctzll(bits)];

			/* References and NEVER are above any horizon. */
			if (tg_load_acquire(&header->begin) > horizon || tg_load_acquire(&header->end) != TG_TIME_NEVER ||
				tg_load_acquire(&header->older) != TG_VERSION_NONE)
				return false;
		}
	}
	return true;
}

/* The first step.  A leased chunk is left alone, because it would get its headers back at once. */
static void
mark(tg_chunk *chunk, tg_header *headers, tg_time horizon)
{
	if (tg_load_relaxed(&chunk->leased) || tg_load_relaxed(&chunk->touched) > horizon ||
		!is_settled(chunk, headers, horizon))
		return;
	if (tg_cas_seq_cst(&chunk->headers, &headers, marked(headers)))
		chunk->settle_epoch = tg_epoch_now();
}

/* The second step: true if headers were taken away. */
static bool
take_away(tg_session *session, tg_chunk *chunk, tg_header *headers, tg_time horizon)
{
	tg_header *expected = marked(headers);

	if (tg_epoch_confirmed() <= chunk->settle_epoch)
		return false;
	if (tg_load_relaxed(&chunk->leased) || !is_settled(chunk, headers, horizon))
	{
		(void) tg_cas_acq_rel(&chunk->headers, &expected, headers);
		return false;
	}
	if (tg_retire_reserve(session, 1) != TG_OK)
		return false;
	tg_failpoint("settle_take_away");
	if (!tg_cas_seq_cst(&chunk->headers, &expected, NULL))
		return false;
	tg_table_count(chunk->table, &chunk->table->header_bytes, -(int64_t) tg_headers_bytes(chunk->capacity));
	tg_retire(session, headers, TG_USE_HEADER);
	return true;
}

bool
tg_chunk_settle(tg_session *session, tg_chunk *chunk, tg_time horizon)
{
	tg_header *headers = tg_load_acquire(&chunk->headers);

	tg_assert(tg_epoch_inside(session));
	if (headers == NULL)
		return false;
	if (is_marked(headers))
		return take_away(session, chunk, unmarked(headers), horizon);
	mark(chunk, headers, horizon);
	return false;
}
