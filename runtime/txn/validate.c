/*
 * validate.c
 *	  Whether a transaction's reads still hold (S1, S2), and meet no LONG's preserve (S3, kinds.c).
 *
 * The transaction has read at from (its snapshot R).  The question is asked as of upto: its own C,
 * after C has been drawn; or R', loaded from the clock, if the snapshot is to be extended (W5).  An
 * event is a begin or end of another transaction's version.  It counts if it was committed in
 * (from, upto]:
 *
 *	committed, or PREPARED, at C'	C' <= from: R has seen it.  C' > upto: later.  Between: if
 *									committed, a conflict; if PREPARED, wait for the outcome
 *	PREPARING						spin: its C' will be known soon
 *	ACTIVE							later: upto was drawn before the look, and PREPARING is stored
 *									before C' is drawn (T1)
 *	ABORTED							never
 *
 * The clock grows by one for each C.  So if upto is from, or the own C right behind it, no such C'
 * exists and there is nothing to look at.  An exception are commits excluded from R (M2): they have
 * not been seen, though they are before R.  Commits excluded from R' count as later than R'.
 *
 * Waiting for PREPARED(C') with C' < upto makes no cycle: each transaction waits for smaller C'
 * only.
 *
 * 1. A version (S1): its end is tested.  R has seen it, so it still exists (G2), and any write that
 *	  replaces or deletes the row ends it.
 * 2. A chunk: the ends of all versions in it are tested.
 * 3. A key that was absent: the test starts at the row that the index leads to now, and goes
 *	  through its versions, newest first, passing over own ones, to the first that has begun by
 *	  upto.  If it began within the span, it is a conflict, unless it had ended again by upto.  If
 *	  it began before the span, its end is tested; the older versions had ended.
 *	  If there is no entry, the key has not been inserted: an inserter makes its entry before it
 *	  draws its C'.  The collector may have removed the row meanwhile, which makes no difference.
 * 4. A range (S2): the same test for every entry that is in it now.  A row that was seen keeps its
 *	  entry; one that was inserted has its own.  (The range is read again.  The versions of leaves
 *	  are not compared: that would save the walk if no key came or went, but not the look at each
 *	  row.) An entry of a secondary index concerns those versions of its row that have its key:
 *	  others are passed over, whether they have begun within the span or have been seen.  A row that
 *	  leaves the range ends the version that was in it, whose entry is still there, because a
 *	  snapshot may see the version; a row that enters begins a version, and made its entry before it
 *	  drew its C'.
 * 5. A whole table: begins and ends of all versions are tested, chunk by chunk, including chunks
 *	  that are new.  Every published snapshot sees all versions in chunks without headers
 *	  (settle.c).  A version that has begun and ended within the span may have been collected, and
 *	  then does not count: as of upto it makes no difference.
 * 6. A version that was only copied elsewhere within the span (relocate.c) has not ended, and its
 *	  copy has not begun.  Rules 1 and 2 test the copy's end instead.  Rules 3 and 4 meet the copy
 *	  first, and treat it as one that has begun before.  Rule 5 finds it in its own chunk: it was
 *	  there before the copying was committed, so before upto was drawn.  After an extension only the
 *	  copy is sure to stay, so it replaces the version in the read set; for chunks that cannot be
 *	  done, so the table is noted instead.
 *
 * 7. The host's locks keep definitions unchanged while a session reads, and longer, but not always
 *	  until the transaction ends: they are released by a rollback to a savepoint, and by sessions
 *	  that have worked in a shared transaction.  If an index has been dropped since, later writers
 *	  did not maintain it: then the whole table is tested (5).  If storage is gone, later writers
 *	  wrote elsewhere: that is a conflict.  Both are published before the host's locks are released,
 *	  so before the C' of any later writer.
 *
 * 8. Of a transaction that is going to be prepared, upto has been loaded from the clock (H1).  Its
 *	  own C will be later than that of any transaction that has been prepared before it, or is just
 *	  being prepared, and cannot fail any more.  So an event of such a one counts as within the
 *	  span, although its C is not known, or is after upto (H3).  The set is not changed: others look
 *	  at it meanwhile (hold.c).
 *
 * Own writes are passed over everywhere: a version that the transaction has ended has been locked
 * by it since, so no other transaction could end it.
 */
#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/reads_internal.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/index/entry.h"
#include "runtime/txn/author.h"
#include "runtime/txn/txn_internal.h"

#define STEP_WORDS 512	  /* versions of one step */
#define STEP_ROWS 512	  /* entries of a range */
#define STEP_CHUNKS 4	  /* chunks, of up to 1,024 slots */
#define ROWS_AHEAD 128	  /* row ids taken from the index at once */
#define KEYS_AHEAD 4096	  /* and, of a secondary index, bytes of their entries */
#define OUTCOME_LOOKS 512 /* polls of a PREPARED transaction before the caller is told to wait */

/* The time of an event relative to the span. */
typedef enum moment
{
	BEFORE,
	WITHIN,
	AFTER, /* or never */
	OWN,
	UNKNOWN /* wait */
} moment;

typedef struct validation
{
	uint32_t own; /* the transaction's number */
	tg_time from;
	tg_time upto;
	const tg_exclusions *from_excluded;
	const tg_exclusions *upto_excluded;
	tg_wait *wait_out;
	tg_version *changed_out; /* with TG_CHANGED: the version */
	uint64_t hold;			 /* the transaction is going to hold, by this number; 0: it is not (H3) */
	uint64_t *other_out;	 /* with TG_CHANGED: the host word of a prepared transaction, or 0 */
} validation;

static inline moment
moment_of_time(const validation *v, tg_time time)
{
	if (time <= v->from && tg_likely(!tg_is_excluded(v->from_excluded, time)))
		return BEFORE;
	return time <= v->upto && tg_likely(!tg_is_excluded(v->upto_excluded, time)) ? WITHIN : AFTER;
}

/*
 * Rule 8: an event that comes later, or never, of the transaction to which the word refers.
 * UNKNOWN: the word has another meaning by now.
 */
static moment
moment_to_hold(const validation *v, const tg_time *word)
{
	tg_time reference = tg_load_acquire(word);
	bool again = false;

	if (!tg_time_is_reference(reference))
		return UNKNOWN;
	if (tg_hold_is_before(word, reference, v->hold, &again))
	{
		*v->other_out = tg_load_relaxed(&tg_txn_of_reference(reference)->host);
		return WITHIN;
	}
	return again ? UNKNOWN : AFTER;
}

static moment
moment_of(const validation *v, const tg_time *word)
{
	for (unsigned looks = 0;;)
	{
		tg_time time;
		moment at;

		switch (tg_time_resolve(word, v->own, &time))
		{
			case TG_FATE_AT:
				return moment_of_time(v, time);
			case TG_FATE_OWN:
				return OWN;
			case TG_FATE_OPEN:
				if (tg_likely(v->hold == 0))
					return AFTER;
				at = moment_to_hold(v, word);
				if (at != UNKNOWN)
					return at;
				break;
			case TG_FATE_PREPARED:
				at = moment_of_time(v, time);
				if (at == AFTER && v->hold != 0)
				{
					at = moment_to_hold(v, word);
					if (at == UNKNOWN)
						break;
					return at;
				}
				if (at != WITHIN)
					return at;
				if (tg_failpoint_refuses("skip_s1_wait"))
					return AFTER;
				if (looks < OUTCOME_LOOKS)
					tg_spin(&looks);
				else if (tg_wait_for_outcome(word, v->wait_out))
					return UNKNOWN;
				break;
		}
	}
}

/* TG_OK, TG_CHANGED or TG_BUSY for an event that must not have happened within the span. */
static inline tg_status
judge(const validation *v, const tg_time *word)
{
	moment at = moment_of(v, word);

	return at == WITHIN ? TG_CHANGED : at == UNKNOWN ? TG_BUSY : TG_OK;
}

/* Rules 1 and 6; a copy of the copy cannot be within the span, but nothing depends on that. */
static tg_status
judge_version(const validation *v, tg_version *version_inout)
{
	for (;;)
	{
		tg_version version = *version_inout;
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
		tg_status status;

		*v->changed_out = version;
		if (header == NULL)
			return TG_OK;
		header += tg_version_slot(version);
		status = judge(v, &header->end);
		if (status != TG_CHANGED || !tg_header_has_copy(header) || tg_failpoint_refuses("validate_copied"))
			return status;
		version = tg_version_copy_of(version);
		if (version == TG_VERSION_NONE)
			return status;
		*version_inout = version;
	}
}

/* Rules 2, 5 and 6.  *copied_out: within the span a version was copied elsewhere. */
static tg_status
judge_chunk(const validation *v, const tg_chunk *chunk, bool begins, bool *copied_out)
{
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	if (headers == NULL)
		return TG_OK;
	for (unsigned word = 0; word < tg_chunk_bitmap_words(chunk); word++)
		for (uint64_t bits = present[word]; bits != 0; bits &= bits - 1)
		{
			unsigned slot = word * 64 + (unsigned) __builtin_ctzll(bits);
			tg_status status = TG_OK;

			*v->changed_out = tg_version_make(chunk, slot);
			if (begins)
				status = judge(v, &headers[slot].begin);
			if (tg_unlikely(status == TG_CHANGED) && tg_header_is_copy(&headers[slot]))
				status = TG_OK;
			if (status == TG_OK)
				status = judge(v, &headers[slot].end);
			if (tg_unlikely(status == TG_CHANGED) && tg_header_has_copy(&headers[slot]))
			{
				tg_version copied = tg_version_make(chunk, slot);

				*copied_out = true;
				status = begins ? TG_OK : judge_version(v, &copied);
			}
			if (tg_unlikely(status != TG_OK))
				return status;
		}
	return TG_OK;
}

/*
 * Judges a version that has begun within the span.  TG_NOT_FOUND: it had ended by upto, so the one
 * before decides.
 */
static tg_status
judge_newcomer(const validation *v, const tg_header *header)
{
	switch (moment_of(v, &header->end))
	{
		case BEFORE:
		case WITHIN:
			return TG_NOT_FOUND;
		case UNKNOWN:
			return TG_BUSY;
		default:
			return TG_CHANGED;
	}
}

/* An entry of a secondary index, to tell the versions that it concerns. */
typedef struct entry_of
{
	const tg_index *index;
	const unsigned char *key;
	size_t key_bytes;
} entry_of;

/* Whether an entry concerns a version; NULL: of the primary key, which concerns all versions. */
static inline bool
is_about(const entry_of *entry, tg_version version)
{
	return entry == NULL || tg_index_has_key(entry->index, version, entry->key, entry->key_bytes);
}

/* Rules 3 and 4. */
static tg_status
judge_row(const validation *v, tg_table *table, uint32_t row, const entry_of *entry)
{
	tg_version version = tg_load_acquire(tg_row_head(table, row));

	if (tg_head_is_closed(version))
		return TG_OK;
	while (version != TG_VERSION_NONE)
	{
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
		tg_status status;
		moment begun;

		if (header == NULL)
			return TG_OK; /* settled: every snapshot sees it */
		header += tg_version_slot(version);
		*v->changed_out = version;
		begun = moment_of(v, &header->begin);
		if (begun == WITHIN && tg_header_is_copy(header) && !tg_failpoint_refuses("validate_copy_begins"))
			begun = BEFORE;
		switch (begun)
		{
			case WITHIN:
				status = is_about(entry, version) ? judge_newcomer(v, header) : TG_NOT_FOUND;
				if (status != TG_NOT_FOUND)
					return status;
				version = tg_load_acquire(&header->older);
				break;
			case UNKNOWN:
				return TG_BUSY;
			case BEFORE:
				return is_about(entry, version) ? judge(v, &header->end) : TG_OK;
			case AFTER:
			case OWN:
				version = tg_load_acquire(&header->older);
				break;
		}
	}
	return TG_OK;
}

/* --- steps ------------------------------------------------------------------------- */

static void
go_to_table(tg_reads *reads, tg_read_table *noted)
{
	reads->at_table = noted;
	reads->at_word = 0;
	reads->at_range = noted != NULL ? noted->ranges : NULL;
	reads->at_chunk = 0;
	reads->in_range = false;
}

static tg_status
step_words(const validation *v, tg_session *session, tg_reads *reads)
{
	tg_read_table *noted = reads->at_table;
	uint32_t end = noted->count - reads->at_word > STEP_WORDS ? reads->at_word + STEP_WORDS : noted->count;

	if (tg_failpoint_refuses("skip_s1"))
		return TG_OK;
	for (; reads->at_word < end; reads->at_word++)
	{
		tg_version *word = &noted->words[reads->at_word];
		bool copied = false;
		tg_status status = (*word & TG_READ_CHUNK) != 0 ? judge_chunk(v, tg_version_chunk(*word), false, &copied)
														: judge_version(v, word);

		if (status != TG_OK)
			return status;
		if (tg_unlikely(copied) && !reads->upto_is_own && !reads->holds)
		{
			tg_reads_make_whole(session, noted);
			go_to_table(reads, noted);
			return TG_AGAIN;
		}
	}
	return reads->at_word < noted->count ? TG_AGAIN : TG_OK;
}

/*
 * Prefetches the memory that judge_row reads first, for all rows before the first of them is
 * judged, so that their cache misses overlap.
 */
static void
expect_rows(tg_table *table, const uint32_t *rows, unsigned count)
{
	tg_version heads[ROWS_AHEAD];

	for (unsigned i = 0; i < count; i++)
	{
		heads[i] = tg_load_relaxed(tg_row_head(table, rows[i]));
		__builtin_prefetch(tg_version_chunk(heads[i]));
	}
	for (unsigned i = 0; i < count; i++)
	{
		const tg_header *headers;

		if (tg_head_is_closed(heads[i]) || heads[i] == TG_VERSION_NONE)
			continue;
		headers = tg_chunk_headers(tg_version_chunk(heads[i]));
		if (headers != NULL)
			__builtin_prefetch(&headers[tg_version_slot(heads[i])]);
	}
}

static tg_status
step_key(const validation *v, tg_table *table, const tg_read_range *range)
{
	uint32_t row;

	if (tg_btree_find(tg_load_acquire(&table->index), range->bytes, range->low_bytes, &row) != TG_OK)
		return TG_OK;
	return judge_row(v, table, row, NULL);
}

void
tg_read_range_open(const tg_read_range *range, tg_table *table, tg_btree_cursor *cursor_out)
{
	bool has_low = range->low_bytes != TG_READ_OPEN;
	bool has_high = range->high_bytes != TG_READ_OPEN;
	const unsigned char *high = range->bytes + (has_low ? range->low_bytes : 0);

	tg_btree_cursor_init(cursor_out, tg_index_tree(table, range->index), has_low ? range->bytes : NULL,
						 has_low ? range->low_bytes : 0, range->low_inclusive, has_high ? high : NULL,
						 has_high ? range->high_bytes : 0, range->high_inclusive, false);
}

/* A range with a row that has to be waited for is read from its beginning again. */
static tg_status
step_range(const validation *v, tg_reads *reads, tg_table *table, const tg_read_range *range)
{
	tg_index *index = range->index;
	unsigned char bytes[KEYS_AHEAD];
	uint32_t rows[ROWS_AHEAD];

	if (!reads->in_range)
	{
		tg_read_range_open(range, table, &reads->cursor);
		reads->in_range = true;
	}
	for (unsigned looked = 0; looked < STEP_ROWS;)
	{
		tg_btree_keys keys = {.bytes = bytes, .capacity = sizeof(bytes)};
		unsigned count = tg_btree_cursor_next_keys(&reads->cursor, rows, ROWS_AHEAD, index != NULL ? &keys : NULL);
		const unsigned char *at = bytes;

		if (count == 0)
		{
			reads->in_range = false;
			return TG_OK;
		}
		expect_rows(table, rows, count);
		for (unsigned i = 0; i < count; i++)
		{
			entry_of entry = {.index = index};
			tg_status status;

			if (index != NULL)
				at = tg_index_entry_next(at, &entry.key, &entry.key_bytes);
			status = judge_row(v, table, rows[i], index != NULL ? &entry : NULL);
			if (status == TG_BUSY)
				reads->in_range = false;
			if (status != TG_OK)
				return status;
		}
		looked += count;
	}
	return TG_AGAIN;
}

static tg_status
step_ranges(const validation *v, tg_session *session, tg_reads *reads)
{
	tg_table *table = reads->at_table->table;
	unsigned done = 0;

	for (; reads->at_range != NULL; reads->at_range = reads->at_range->next)
	{
		const tg_read_range *range = reads->at_range;
		tg_status status = TG_OK;

		if (range->forgotten)
			continue;
		if (++done > STEP_ROWS / 8)
			return TG_AGAIN;
		if (tg_unlikely(range->index != NULL && tg_load_acquire(&range->index->unlinked)))
		{
			/* Rule 7 */
			if (reads->holds)
				return TG_CHANGED; /* others look at this set by now */
			tg_reads_make_whole(session, reads->at_table);
			go_to_table(reads, reads->at_table);
			return TG_AGAIN;
		}
		if (range->is_key ? tg_failpoint_refuses("skip_s1_absent") : tg_failpoint_refuses("validate_ranges"))
			continue;
		status = range->is_key && range->index == NULL ? step_key(v, table, range) : step_range(v, reads, table, range);
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

static tg_status
step_chunks(const validation *v, tg_reads *reads)
{
	tg_table *table = reads->at_table->table;
	uint32_t count = tg_table_chunk_count(table);

	if (tg_failpoint_refuses("skip_s2_table"))
		return TG_OK;
	for (unsigned i = 0; i < STEP_CHUNKS && reads->at_chunk < count; i++, reads->at_chunk++)
	{
		const tg_chunk *chunk = tg_table_chunk(table, reads->at_chunk);
		bool copied = false;
		tg_status status = chunk == NULL ? TG_OK : judge_chunk(v, chunk, true, &copied);

		if (status != TG_OK)
			return status;
	}
	return reads->at_chunk < count ? TG_AGAIN : TG_OK;
}

/* Whether no other transaction can have committed in (from, upto]. */
static inline bool
is_span_empty(const tg_reads *reads)
{
	return reads->upto - reads->from <= (reads->upto_is_own ? 1 : 0);
}

void
tg_validation_begin(tg_reads *reads, tg_time from, tg_time upto, bool upto_is_own)
{
	tg_assert(from <= upto);
	reads->from = from;
	reads->upto = upto;
	reads->upto_is_own = upto_is_own;
	reads->holds = false;
	reads->looks = upto_is_own;
	reads->looks_at_one = false;
	reads->look_hold = 0;
	tg_validation_exclude(reads, NULL, NULL);
	go_to_table(reads, is_span_empty(reads) ? NULL : reads->tables);
}

void
tg_validation_begin_to_hold(tg_reads *reads, tg_time from, tg_time upto)
{
	tg_validation_begin(reads, from, upto, false);
	reads->holds = reads->looks = true;
	go_to_table(reads, reads->tables); /* also where the span is empty: rule 8 */
}

void
tg_validation_exclude(tg_reads *reads, const tg_exclusions *from, const tg_exclusions *upto)
{
	reads->from_excluded = from;
	reads->upto_excluded = upto;
	if (from != NULL)
		go_to_table(reads, reads->tables);
}

/*
 * The commit time of a change: the version's begin, if within the span, or else its end; 0:
 * unknown.
 */
static tg_time
time_of_change(const validation *v, tg_version version)
{
	tg_time begun = tg_version_began_at(version);
	tg_time ended = tg_version_ended_at(version);

	if (begun != 0 && moment_of_time(v, begun) == WITHIN)
		return begun;
	return ended != 0 && moment_of_time(v, ended) == WITHIN ? ended : 0;
}

/* The kind of a conflict in the present part of the table at hand. */
static tg_conflict_kind
conflict_kind(const tg_reads *reads)
{
	const tg_read_table *noted = reads->at_table;

	if (noted->whole || noted->tentative > 0)
		return TG_CONFLICT_TABLE;
	if (reads->at_word < noted->count)
		return TG_CONFLICT_ROW;
	return reads->at_range->is_key ? TG_CONFLICT_KEY : TG_CONFLICT_RANGE;
}

static tg_status
step(tg_session *session, tg_reads *reads, tg_conflict *conflict_out, tg_wait *wait_out)
{
	tg_version changed = TG_VERSION_NONE;
	uint64_t other = 0;
	const validation v = {.own = reads->own,
						  .from = reads->from,
						  .upto = reads->upto,
						  .from_excluded = reads->from_excluded,
						  .upto_excluded = reads->upto_excluded,
						  .wait_out = wait_out,
						  .changed_out = &changed,
						  .hold = reads->holds ? reads->hold : 0,
						  .other_out = &other};
	tg_read_table *noted = reads->at_table;
	tg_status status;

	tg_failpoint("validate");
	if (tg_failpoint_refuses("validate_skip"))
		return TG_OK;
	if (tg_unlikely(reads->everything))
	{
		*conflict_out = (tg_conflict){.kind = TG_CONFLICT_UNKNOWN, .row = TG_ROW_MAX};
		return is_span_empty(reads) && reads->from_excluded == NULL && !tg_hold_has_other(reads) ? TG_OK : TG_CHANGED;
	}
	if (noted == NULL)
		return TG_OK;
	if (tg_unlikely(tg_load_acquire(&noted->table->gone) != 0))
	{
		*conflict_out = (tg_conflict){.kind = TG_CONFLICT_STORED_ANEW,
									  .relation = noted->table->relation,
									  .row = TG_ROW_MAX,
									  .time = tg_load_relaxed(&noted->table->gone)};
		return TG_CHANGED;
	}
	tg_epoch_enter(session);
	if (noted->whole || noted->tentative > 0)
		status = step_chunks(&v, reads);
	else
	{
		status = step_words(&v, session, reads);
		if (status == TG_OK)
			status = step_ranges(&v, session, reads);
	}
	if (status == TG_CHANGED)
		*conflict_out = (tg_conflict){.kind = conflict_kind(reads),
									  .relation = noted->table->relation,
									  .row = TG_ROW_MAX,
									  .version = changed,
									  .time = other == 0 ? time_of_change(&v, changed) : 0,
									  .other = other};
	tg_epoch_leave(session);
	if (status != TG_OK)
		return status;
	go_to_table(reads, noted->next);
	return reads->at_table == NULL ? TG_OK : TG_AGAIN;
}

tg_status
tg_validation_step(tg_session *session, tg_reads *reads, tg_conflict *conflict_out, tg_wait *wait_out)
{
	tg_status status;

	if (reads->looks)
	{
		status = tg_hold_look(session, reads, conflict_out, wait_out);
		if (status != TG_OK)
			return status;
	}
	status = step(session, reads, conflict_out, wait_out);
	/* S3; as of R' (W5) it is left to the end. */
	if (status == TG_OK && reads->holds)
		return tg_reads_check_hold(session, reads, reads->upto, conflict_out);
	if (status == TG_OK && reads->upto_is_own)
		status = tg_reads_check_commit(session, reads, reads->upto, conflict_out);
	return status;
}
