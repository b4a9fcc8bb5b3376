/*
 * summary.c
 *	  Summaries of settled chunks: how they are made, read and dropped.
 *
 * While a chunk has no headers its slots are neither taken nor given, and values never change
 * (settle.c, 4).  What is measured in such a period is true until it ends.
 *
 *	              make                      known
 *	  NULL ----------------> SUMMARY: ABSENT -----> TAKEN -----> KNOWN		for each column
 *	    ^                       |
 *	    |  settle, 2nd step     |  the headers have come and are to go again
 *	    |  memory is short      |
 *	    +-----------------------+  retired
 *
 * Headers that come back leave the summary where it is, so that the writer that brings them has
 * nothing more to do that could fail.  It is worth nothing from then on, as a reader looks at the
 * headers first, and it is dropped before the headers go again.
 *
 * 1. A session makes a summary, or a column's part of it, only in an epoch in which it has found
 *	  headers NULL before and after it loaded the bitmap; so they were NULL in between, and what it
 *	  measures are the values of that period (settle.c, 3 and 4).  It may write them down when the
 *	  period has ended.  But it leaves before the next one begins: the headers go away only if a
 *	  whole epoch has passed under the mark, which was set after they had come back.
 * 2. The second step of settle.c drops the summary before it stores NULL.  By 1 all sessions that
 *	  measured the period before have left then, and those of the next one find NULL later.  So a
 *	  session that has loaded NULL as headers, and then loads a summary, has one of that period: the
 *	  acquire of the first load pairs with the release of that NULL.  It cannot be one of a later
 *	  period, since none begins while the session is in its epoch.
 * 3. A scan may pass such a chunk over, by a summary that it has loaded after headers were NULL.
 *	  Its snapshot was published before.  A row that it sees was stored by a transaction that drew
 *	  its time before that; or by its own, before the scan began.  The slot was taken before the
 *	  row was stored, when the chunk had headers; as they are gone since, the slot belongs to the
 *	  period, and the summary knows it.  What a writer stores while the scan goes on is later than
 *	  the snapshot, so it does not matter that this writer's headers come a moment later.
 * 4. A row that is moved to empty its chunk (compact.c) takes a slot in another one like any other
 *	  version.  A chunk keeps the layout that it was made with, and with it the columns that the
 *	  summary has room for.  A table that is truncated goes on in other chunks.
 * 5. Chunks are filled without headers where no session reads the table (fill.c); then nobody makes
 *	  a summary of them.  Likewise where a value is changed in place (tg_version_change).
 * 6. A chunk is freed only when its slots have all been given, which an epoch separates from the
 *	  period in which they were settled; so nobody adds a summary to it any more.
 *
 * A summary has room for all columns of the layout: 24 bytes for each, where values take 8 KB.  It
 * is made only if that is at most a 25th of the chunk, so small chunks have none.
 */
#include "runtime/table/summary.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/grant.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/order/kind.h"
#include "runtime/table/table_internal.h"

#define CHUNK_SHARE 25	 /* a summary takes one part in so many of a chunk, at most */
#define MAKING_SHARE 8	 /* none is made when only so small a part of the memory is left, */
#define KEEPING_SHARE 16 /* and those that there are go with so small a part */
#define COLUMN_ABSENT 0u
#define COLUMN_TAKEN 1u /* one session measures it */
#define COLUMN_KNOWN 2u /* with its order and whether there are NULLs */
#define COLUMN_FLOAT 4u
#define COLUMN_HAS_NULL 8u

typedef struct tg_column_summary
{
	int64_t low; /* both written by the session that has taken it, before it is known */
	int64_t high;
	uint32_t state; /* atomic */
} tg_column_summary;

struct tg_summary
{
	tg_column_summary columns[1]; /* as many as the chunk's layout has */
};

static size_t
summary_bytes(const tg_chunk *chunk)
{
	return chunk->layout->column_count * sizeof(tg_column_summary);
}

static uint32_t
known_as(tg_bounds_order order)
{
	return COLUMN_KNOWN | (order == TG_BOUNDS_FLOAT ? COLUMN_FLOAT : 0u);
}

/* --- reading ---------------------------------------------------------------------------- */

bool
tg_summary_get(const tg_chunk *chunk, unsigned column, tg_bounds_order order, tg_bounds *bounds_out)
{
	const tg_summary *summary;
	const tg_column_summary *known;
	uint32_t state;

	/* headers first (2); the acquire pairs with the second step of settle.c */
	if (tg_load_acquire(&chunk->headers) != NULL && !tg_failpoint_refuses("summary_of_unsettled"))
		return false;
	summary = tg_load_acquire(&chunk->summary);
	if (summary == NULL || !tg_chunk_has_column(chunk, column))
		return false;
	known = &summary->columns[column];
	state = tg_load_acquire(&known->state); /* pairs with the release in tg_summary_make */
	if ((state & ~COLUMN_HAS_NULL) != known_as(order))
		return false;
	*bounds_out = (tg_bounds){.low = known->low, .high = known->high, .has_null = (state & COLUMN_HAS_NULL) != 0};
	return true;
}

/* --- making ----------------------------------------------------------------------------- */

static bool
is_left(unsigned share)
{
	size_t limit = tg_arena_limit();
	size_t committed = tg_arena_committed();

	return committed < limit && limit - committed > limit / share;
}

bool
tg_summaries_are_to_go(void)
{
	return !is_left(KEEPING_SHARE);
}

static bool
is_large(const tg_chunk *chunk)
{
	return summary_bytes(chunk) * CHUNK_SHARE <= tg_chunk_bytes(chunk->layout, chunk->capacity) ||
		   tg_failpoint_refuses("summary_any_chunk");
}

/* The chunk's summary, made if there is none; NULL: there can be none now. */
static tg_summary *
find_or_add(tg_session *session, tg_chunk *chunk)
{
	tg_summary *summary = tg_load_acquire(&chunk->summary);
	tg_summary *fresh;

	if (summary != NULL)
		return summary;
	if (!is_large(chunk) || !is_left(MAKING_SHARE) ||
		tg_book_ask(chunk->table->book, summary_bytes(chunk), TG_BULK) != TG_OK)
		return NULL;
	fresh = tg_alloc_zeroed(session, summary_bytes(chunk), TG_USE_CHUNK, TG_BULK);
	if (fresh == NULL)
		return NULL;
	/* the release pairs with the acquires that load it */
	if (!tg_cas_acq_rel(&chunk->summary, &summary, fresh))
	{
		tg_free(session, fresh, TG_USE_CHUNK);
		return summary;
	}
	tg_table_count(chunk->table, &chunk->table->chunk_bytes, (int64_t) summary_bytes(chunk));
	return fresh;
}

/* Extends the bounds by the values of the slots whose bits are set. */
#define MEASURE(type, rank)                                                                                            \
	for (unsigned word = 0; word < words; word++)                                                                      \
		for (uint64_t bits = counted[word]; bits != 0; bits &= bits - 1)                                               \
		{                                                                                                              \
			type value = ((const type *) values)[word * 64 + (unsigned) __builtin_ctzll(bits)];                        \
			int64_t place = rank(value);                                                                               \
                                                                                                                       \
			bounds->low = place < bounds->low ? place : bounds->low;                                                   \
			bounds->high = place > bounds->high ? place : bounds->high;                                                \
		}

static inline int64_t
same(int64_t value)
{
	return value;
}

/* Where a value needs more than 8 bytes the bounds say nothing. */
static void
measure_wide(const __int128 *values, unsigned words, const uint64_t *counted, tg_bounds *bounds)
{
	for (unsigned word = 0; word < words; word++)
		for (uint64_t bits = counted[word]; bits != 0; bits &= bits - 1)
			if (values[word * 64 + (unsigned) __builtin_ctzll(bits)] !=
				(int64_t) values[word * 64 + (unsigned) __builtin_ctzll(bits)])
			{
				bounds->low = INT64_MIN;
				bounds->high = INT64_MAX;
				return;
			}
	MEASURE(__int128, (int64_t));
}

static void
measure(const tg_chunk *chunk, unsigned column, tg_bounds_order order, const uint64_t *present, tg_bounds *bounds)
{
	const void *values = tg_chunk_column(chunk, column);
	unsigned words = tg_chunk_bitmap_words(chunk);
	uint64_t counted[TG_SLOT_MAX / 64];

	*bounds = (tg_bounds){.low = INT64_MAX, .high = INT64_MIN};
	for (unsigned word = 0; word < words; word++)
	{
		uint64_t nulls =
			tg_chunk_may_be_null(chunk, column) ? tg_load_relaxed(&chunk->nulls[column * words + word]) : 0;

		bounds->has_null = bounds->has_null || (present[word] & nulls) != 0;
		counted[word] = present[word] & ~nulls;
	}
	if (order == TG_BOUNDS_FLOAT)
	{
		MEASURE(double, tg_float_rank);
		return;
	}
	switch ((tg_kind) chunk->layout->kinds[column])
	{
		case TG_KIND_1:
			MEASURE(int8_t, same);
			break;
		case TG_KIND_2:
			MEASURE(int16_t, same);
			break;
		case TG_KIND_4:
			MEASURE(int32_t, same);
			break;
		case TG_KIND_8:
			MEASURE(int64_t, same);
			break;
		default:
			tg_assert(chunk->layout->kinds[column] == TG_KIND_16);
			measure_wide(values, words, counted, bounds);
			break;
	}
}

void
tg_summary_make(tg_session *session, tg_chunk *chunk, unsigned column, tg_bounds_order order)
{
	uint32_t state = COLUMN_ABSENT;
	uint64_t present[TG_SLOT_MAX / 64];
	tg_summary *summary;
	tg_column_summary *known;
	tg_bounds bounds;

	tg_assert(tg_epoch_inside(session));
	if (tg_chunk_look(chunk, present) != NULL || !tg_chunk_has_column(chunk, column) ||
		(summary = find_or_add(session, chunk)) == NULL)
		return;
	known = &summary->columns[column];
	if (!tg_cas_acq_rel(&known->state, &state, COLUMN_TAKEN))
		return;
	tg_failpoint("summary_make");
	measure(chunk, column, order, present, &bounds);
	known->low = bounds.low;
	known->high = bounds.high;
	/* pairs with the acquire in tg_summary_get */
	tg_store_release(&known->state, known_as(order) | (bounds.has_null ? COLUMN_HAS_NULL : 0u));
}

/* --- dropping --------------------------------------------------------------------------- */

void
tg_summary_drop(tg_session *session, tg_chunk *chunk)
{
	tg_summary *summary = tg_exchange_acq_rel(&chunk->summary, NULL);

	tg_assert(tg_epoch_inside(session));
	if (summary == NULL)
		return;
	tg_table_count(chunk->table, &chunk->table->chunk_bytes, -(int64_t) summary_bytes(chunk));
	tg_retire(session, summary, TG_USE_CHUNK);
}

void
tg_summary_free(tg_session *session, tg_chunk *chunk)
{
	if (chunk->summary != NULL)
		tg_free(session, chunk->summary, TG_USE_CHUNK);
}
