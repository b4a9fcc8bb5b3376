/*
 * settle.c
 *	  How a chunk's version headers come and go.
 *
 * A version is settled if every snapshot sees it: its begin is a timestamp at or below the horizon,
 * its end NEVER, its older NONE.  A chunk whose allocated slots are all settled needs no headers; a
 * NULL pointer to them says so.
 *
 *	              write (compare-and-swap)
 *	  NULL ---------------------------------> ARRAY <-------------------+
 *	    ^                                       |                       |
 *	    | settle, 2nd step: an epoch has passed |  settle, 1st step     | write; or 2nd step
 *	    | since, all are settled                v                       | finds it unsettled
 *	    +------------------------------- ARRAY | MARK ------------------+
 *
 * Horizon: no present or future snapshot is below it (horizon.c).  «Write» is
 * tg_chunk_headers_write, which precedes, in the same epoch, every change of a header from settled
 * to unsettled and every allocation of a slot.  Changes of an unsettled version (stamping, undoing,
 * cutting) use tg_chunk_headers: they cannot lose the array, by 2.
 *
 * 1. A free slot's begin is NEVER in the present array.  It is also NEVER in an array that was
 *	  taken away, if the slot was free then: begin was set so before the slot was given back
 *	  (tg_slot_give), and a new array has it so.
 * 2. While an allocated slot is unsettled, the array stays.  The second step takes it away only if
 *	  it found every slot settled after a whole epoch under the mark.  A writer that had loaded the
 *	  array unmarked has left since, and its writes are seen (its leaving is a release, the
 *	  confirmed epoch an acquire).  A writer that came later met the mark and removed it, so the
 *	  final compare-and-swap, which expects the mark, fails.  If the array was marked again
 *	  meanwhile, settle_epoch belongs to that marking, because one caller does both steps.
 * 3. No ABA within an epoch: a session inside an epoch never meets NULL → array → NULL, nor array →
 *	  NULL → array → NULL, because the later array would have been marked, and confirmed, after the
 *	  session entered.
 * 4. While headers are NULL, no slot is taken (an allocator brings them back first) and none is
 *	  given (it would have to be unsettled first).  So the bitmap does not change.
 *
 * (a) A reader that loads NULL judges correctly.  It reached the slot by a chain or by the bitmap
 * («Scans»), so the slot is allocated.  At the moment when NULL was stored the version was settled
 * at some horizon, and the reader's snapshot is not below that.  If a commit within the snapshot
 * has ended the version since, the end was written to an array brought in before.  The reader
 * loaded the clock after that commit drew its time, and the headers later still; so the load finds
 * that array or a later state.
 *
 * (b) A writer that loaded the array unmarked may write to it until it leaves its epoch: by 2 the
 * second step comes later and sees the writes.
 *
 * (c) Bringing back treats exactly the slots allocated now as settled.  If the compare-and-swap
 * from NULL succeeds, headers have been NULL all the time since this writer found them so (3), so
 * the bitmap has not changed (4), and the allocated slots were settled at the last step (2).  If it
 * fails, another session's array is in place, and this one was never visible.  Begin is FIRST
 * afterwards instead of its former value: no reader can tell the two apart.
 *
 * Scans.  A scan reaches slots by the bitmap, without a chain that leads to the slot.  It must not
 * treat a slot as settled that was not allocated when NULL was stored.  It loads headers, then the
 * bitmap, then, if headers were NULL, headers again.
 * - An array at first: it judges every slot by that array.  Suppose that the scan saw a slot's bit
 *	 cleared, and that the slot was free when the array was taken away (if it was).  Then begin is
 *	 NEVER in the array (1), which is correct: the session that took the slot did so after the first
 *	 load, and commits after the scan's snapshot.  A slot that was settled then keeps its version as
 *	 long as the scan is in its epoch (tg_slot_give), and was ended, if at all, after the first
 *	 load, too.
 * - NULL twice: NULL all the time (3), so the bitmap is that of the settled slots (4).
 * - NULL, then an array: the allocator's order is array, header, bit.  So the header of every slot
 *	 whose bit was seen cleared is in this array, with begin NEVER or newer.
 * Loading headers once, before the bitmap, would miss an array that came between.  Loading headers
 * once, after it, could find NULL for a slot that was seen taken: an allocator that had loaded the
 * array unmarked takes the slot after the mark; the scan enters in the following epoch and sees the
 * bit; the allocator drops the slot and leaves; and nothing prevents the second step.
 *
 * No operation depends on giving headers back: any failure (no room to note the retirement, a
 * concurrent write) leaves the array where it is.
 */
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/table/table_internal.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/grant.h"
#include "runtime/mem/retire.h"
#include "runtime/table/store.h"
#include "runtime/table/summary.h"

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

/* The allocated slots in one word of the bitmap. */
static inline uint64_t
allocated(const tg_chunk *chunk, unsigned word)
{
	return ~tg_load_acquire(&chunk->free[word]);
}

/* Puts an array in place of NULL, or finds that another session has. */
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
	if (tg_retire_reserve(session, 1 + TG_SUMMARY_RETIREMENTS) != TG_OK)
		return false;
	tg_failpoint("settle_take_away");
	/* it is of the period before: summary.c, 2 */
	if (!tg_failpoint_refuses("settle_drop_summary"))
		tg_summary_drop(session, chunk);
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
