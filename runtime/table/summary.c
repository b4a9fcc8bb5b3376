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
 * 7. Codes of a column are memory of their own.  The session that drops the summary marks its
 *	  columns of strings as dropped.  A session that was making codes meanwhile finds that mark when
 *	  it publishes them, and frees them; so none stay in a summary that nobody finds.
 * 8. A value in the list of codes is a cell of some slot, with the blob of that slot.  A session
 *	  that reads the list has a snapshot that sees all slots of the period: none of them has ended,
 *	  and what ends later ends after the snapshot.  So the blob stays as long as the snapshot does.
 *
 * A summary has room for all columns of the layout: 24 bytes for each, where values take 8 KB.
 * Codes take a byte for each slot, and 17 for each value of the list.  Both are made only if the
 * whole summary is then at most a 25th of the chunk, so small chunks have none.
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
#define COLUMN_CODED 16u   /* its codes are known */
#define COLUMN_UNCODED 32u /* it has too many values */
#define COLUMN_DROPPED 64u

typedef struct tg_column_summary
{
	/* written by the session that has taken it, before it is known: */
	union
	{
		int64_t low;
		tg_codes *codes; /* of a column of strings */
	};
	int64_t high;
	uint32_t state; /* atomic */
} tg_column_summary;

struct tg_summary
{
	uint32_t coded_count;		 /* atomic: columns that have codes, or are getting some, */
	uint32_t code_bytes;		 /* atomic: and what these take */
	tg_column_summary columns[]; /* as many as the chunk's layout has */
};

static size_t
summary_bytes(const tg_chunk *chunk)
{
	return sizeof(tg_summary) + chunk->layout->column_count * sizeof(tg_column_summary);
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
may_take(const tg_chunk *chunk, size_t bytes)
{
	return is_left(MAKING_SHARE) && tg_book_ask(chunk->table->book, bytes, TG_BULK) == TG_OK;
}

/* Whether a summary of so many bytes is small beside the chunk. */
static bool
is_small(const tg_chunk *chunk, size_t bytes)
{
	return bytes * CHUNK_SHARE <= tg_chunk_bytes(chunk->layout, chunk->capacity) ||
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
	if (!is_small(chunk, summary_bytes(chunk)) || !may_take(chunk, summary_bytes(chunk)))
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

/* --- codes ------------------------------------------------------------------------------ */

const tg_codes *
tg_codes_get(const tg_chunk *chunk, unsigned column)
{
	const tg_summary *summary;

	/* as in tg_summary_get */
	if (tg_load_acquire(&chunk->headers) != NULL && !tg_failpoint_refuses("summary_of_unsettled"))
		return NULL;
	summary = tg_load_acquire(&chunk->summary);
	if (summary == NULL || !tg_chunk_has_column(chunk, column))
		return NULL;
	/* pairs with the release in publish_codes */
	return tg_load_acquire(&summary->columns[column].state) == COLUMN_CODED ? summary->columns[column].codes : NULL;
}

#define CODED_BYTES_MAX 256 /* of a value: longer ones would have to be compared */
#define PLACE_BITS 8

/* The values found so far, and where they are by their hashes. */
typedef struct coding
{
	unsigned count;
	uint8_t places[1u << PLACE_BITS]; /* a value's number, plus 1; 0: none */
	tg_string values[TG_CODES_MAX];
	uint8_t slots[TG_SLOT_MAX];
} coding;

static inline void
words_of(const tg_string *cell, uint64_t words[2])
{
	memcpy(words, cell, sizeof(*cell));
}

/* Of equal cells the same: of one that is out of line by its length, and how it begins and ends. */
static unsigned
place_of(const tg_string *cell)
{
	uint64_t words[2];

	words_of(cell, words);
	if (tg_string_is_out(cell))
	{
		words[0] &= ~(uint64_t) TG_STRING_LENT;
		memcpy(&words[1], (const char *) cell->blob + tg_string_blob_bytes(cell) - sizeof(words[1]), sizeof(words[1]));
	}
	return (unsigned) (((words[0] ^ words[1] * UINT64_C(0xd6e8feb86659fd93)) * UINT64_C(0x9e3779b97f4a7c15)) >>
					   (64 - PLACE_BITS));
}

/* An inline cell has zeros behind its end, so its words are equal where its bytes are. */
static bool
is_same(const tg_string *a, const tg_string *b)
{
	uint64_t a_words[2];
	uint64_t b_words[2];

	words_of(a, a_words);
	words_of(b, b_words);
	if (a_words[0] == b_words[0] && a_words[1] == b_words[1])
		return true;
	return tg_string_is_out(a) && tg_string_is_out(b) && tg_string_blob_bytes(a) == tg_string_blob_bytes(b) &&
		   memcmp(a->blob, b->blob, tg_string_blob_bytes(a)) == 0;
}

/* False: there are too many values, or this one is too long. */
static bool
code_cell(coding *coding, const tg_string *cell, unsigned values_max, uint8_t *code_out)
{
	unsigned place;

	if (tg_string_is_out(cell) &&
		(tg_string_blob_bytes(cell) > CODED_BYTES_MAX || tg_string_blob_bytes(cell) < sizeof(uint64_t)))
		return false;
	for (place = place_of(cell); coding->places[place] != 0; place = (place + 1) % (1u << PLACE_BITS))
	{
		unsigned code = coding->places[place] - 1u;

		if (is_same(&coding->values[code], cell))
		{
			*code_out = (uint8_t) code;
			return true;
		}
	}
	if (coding->count == values_max)
		return false;
	coding->values[coding->count] = *cell;
	*code_out = (uint8_t) coding->count++;
	coding->places[place] = (uint8_t) coding->count;
	return true;
}

/* False: there are too many values. */
static bool
code_column(const tg_chunk *chunk, unsigned column, const uint64_t *present, coding *coding, bool *has_null_out)
{
	const tg_string *cells = tg_chunk_column(chunk, column);
	unsigned words = tg_chunk_bitmap_words(chunk);
	bool may_be_null = tg_chunk_may_be_null(chunk, column);
	unsigned values_max = may_be_null ? TG_CODES_MAX - 1 : TG_CODES_MAX;
	uint64_t nulls[TG_SLOT_MAX / 64];

	coding->count = 0;
	memset(coding->places, 0, sizeof(coding->places));
	memset(coding->slots, 0, chunk->capacity);
	*has_null_out = false;
	for (unsigned word = 0; word < words; word++)
	{
		nulls[word] = may_be_null ? present[word] & tg_load_relaxed(&chunk->nulls[column * words + word]) : 0;
		*has_null_out = *has_null_out || nulls[word] != 0;
		for (uint64_t bits = present[word] & ~nulls[word]; bits != 0; bits &= bits - 1)
		{
			unsigned slot = word * 64 + (unsigned) __builtin_ctzll(bits);

			if (!code_cell(coding, &cells[slot], values_max, &coding->slots[slot]))
				return false;
		}
	}
	if (!*has_null_out)
		return true;
	tg_string_make_inline(&coding->values[coding->count], "", 0);
	for (unsigned word = 0; word < words; word++)
		for (uint64_t bits = nulls[word]; bits != 0; bits &= bits - 1)
			coding->slots[word * 64 + (unsigned) __builtin_ctzll(bits)] = (uint8_t) coding->count;
	coding->count++;
	return true;
}

static size_t
codes_bytes(const tg_chunk *chunk, unsigned count)
{
	return sizeof(tg_codes) + count * (sizeof(tg_string) + 1) + chunk->capacity;
}

/*
 * Room for the codes of one more column: that of the whole summary is bounded.  False: there is
 * none, which a later try would not change.
 */
static bool
claim_room(const tg_chunk *chunk, tg_summary *summary, size_t bytes)
{
	if (tg_fetch_add_relaxed(&summary->coded_count, 1) < TG_SUMMARY_CODED_MAX)
	{
		uint32_t before = tg_fetch_add_relaxed(&summary->code_bytes, (uint32_t) bytes);

		if (is_small(chunk, summary_bytes(chunk) + before + bytes))
			return true;
		(void) tg_fetch_add_relaxed(&summary->code_bytes, -(uint32_t) bytes);
	}
	(void) tg_fetch_add_relaxed(&summary->coded_count, -1u);
	return false;
}

static void
return_room(tg_summary *summary, size_t bytes)
{
	(void) tg_fetch_add_relaxed(&summary->code_bytes, -(uint32_t) bytes);
	(void) tg_fetch_add_relaxed(&summary->coded_count, -1u);
}

/* The codes in memory of their own; NULL: refused. */
static tg_codes *
keep_codes(tg_session *session, const tg_chunk *chunk, const coding *coding, bool has_null)
{
	size_t bytes = codes_bytes(chunk, coding->count);
	tg_codes *codes;
	uint8_t *nulls;

	if (!may_take(chunk, bytes))
		return NULL;
	codes = tg_alloc_zeroed(session, bytes, TG_USE_CHUNK, TG_BULK);
	if (codes == NULL)
		return NULL;
	nulls = (uint8_t *) (codes->values + coding->count);
	codes->count = (uint16_t) coding->count;
	codes->has_null = has_null;
	codes->nulls = nulls;
	codes->slots = nulls + coding->count;
	memcpy(codes->values, coding->values, coding->count * sizeof(tg_string));
	if (has_null)
		nulls[coding->count - 1] = 1;
	memcpy(nulls + coding->count, coding->slots, chunk->capacity);
	return codes;
}

/* Unless the summary has been dropped since. */
static void
publish_codes(tg_session *session, tg_chunk *chunk, tg_column_summary *known, tg_codes *codes)
{
	uint32_t state = COLUMN_TAKEN;
	size_t bytes = codes_bytes(chunk, codes->count);

	known->codes = codes;
	/* pairs with the acquire in tg_codes_get, and with drop_codes */
	if (tg_cas_acq_rel(&known->state, &state, COLUMN_CODED))
		tg_table_count(chunk->table, &chunk->table->chunk_bytes, (int64_t) bytes);
	else
		tg_free(session, codes, TG_USE_CHUNK);
}

/* Gives a column back that was taken, as what it is from now on, if the summary is still there. */
static void
leave_column(tg_column_summary *known, uint32_t as)
{
	uint32_t state = COLUMN_TAKEN;

	(void) tg_cas_acq_rel(&known->state, &state, as);
}

void
tg_codes_make(tg_session *session, tg_chunk *chunk, unsigned column)
{
	uint32_t state = COLUMN_ABSENT;
	uint64_t present[TG_SLOT_MAX / 64];
	tg_summary *summary;
	tg_column_summary *known;
	tg_codes *codes;
	coding coding;
	bool has_null;

	tg_assert(tg_epoch_inside(session) && chunk->layout->kinds[column] == TG_KIND_STRING);
	summary = tg_load_acquire(&chunk->summary);
	if (summary != NULL && tg_load_relaxed(&summary->columns[column].state) != COLUMN_ABSENT)
		return; /* as a rule */
	if (tg_chunk_look(chunk, present) != NULL || (summary = find_or_add(session, chunk)) == NULL)
		return;
	known = &summary->columns[column];
	/* where there is no memory nothing is coded in vain, scan by scan */
	if (!may_take(chunk, codes_bytes(chunk, 1)) || !tg_cas_acq_rel(&known->state, &state, COLUMN_TAKEN))
		return;
	tg_failpoint("summary_make");
	if (!code_column(chunk, column, present, &coding, &has_null) ||
		!claim_room(chunk, summary, codes_bytes(chunk, coding.count)))
	{
		leave_column(known, COLUMN_UNCODED);
		return;
	}
	codes = keep_codes(session, chunk, &coding, has_null);
	if (codes != NULL)
		publish_codes(session, chunk, known, codes);
	else
	{
		return_room(summary, codes_bytes(chunk, coding.count));
		leave_column(known, COLUMN_ABSENT); /* there may be memory another time */
	}
}

/* --- dropping --------------------------------------------------------------------------- */

/*
 * The codes of a column, which gets no others; NULL: it has none.  A session that is making some
 * learns that the summary is gone, and frees them itself.
 */
static tg_codes *
drop_codes(const tg_chunk *chunk, tg_summary *summary, unsigned column)
{
	tg_column_summary *known = &summary->columns[column];

	if (chunk->layout->kinds[column] != TG_KIND_STRING ||
		tg_exchange_acq_rel(&known->state, COLUMN_DROPPED) != COLUMN_CODED)
		return NULL;
	return known->codes;
}

void
tg_summary_drop(tg_session *session, tg_chunk *chunk)
{
	tg_summary *summary = tg_exchange_acq_rel(&chunk->summary, NULL);
	size_t bytes = summary_bytes(chunk);

	tg_assert(tg_epoch_inside(session));
	if (summary == NULL)
		return;
	for (unsigned column = 0; column < chunk->layout->column_count; column++)
	{
		tg_codes *codes = drop_codes(chunk, summary, column);

		if (codes == NULL)
			continue;
		bytes += codes_bytes(chunk, codes->count);
		tg_retire(session, codes, TG_USE_CHUNK);
	}
	tg_table_count(chunk->table, &chunk->table->chunk_bytes, -(int64_t) bytes);
	tg_retire(session, summary, TG_USE_CHUNK);
}

void
tg_summary_free(tg_session *session, tg_chunk *chunk)
{
	tg_codes *codes;

	if (chunk->summary == NULL)
		return;
	for (unsigned column = 0; column < chunk->layout->column_count; column++)
		if ((codes = drop_codes(chunk, chunk->summary, column)) != NULL)
			tg_free(session, codes, TG_USE_CHUNK);
	tg_free(session, chunk->summary, TG_USE_CHUNK);
}
