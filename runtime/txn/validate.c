/*
 * validate.c
 *	  Whether what a transaction has read is still so (S1, S2), and nobody else's (S3, kinds.c).
 *
 * Read at from (its snapshot R), asked as of upto: the own C, after C has been
 * drawn; or R', loaded from the clock, where the snapshot is to be extended (W5).
 * An event, that is a begin or end of somebody else's version, counts if it was
 * committed in (from, upto]:
 *
 *	committed, or PREPARED, at C'	C' <= from: R has seen it.  C' > upto: later.  Between: committed,
 *									it is a conflict; PREPARED, its outcome is waited for
 *	PREPARING						spin: its C' is about to be known
 *	ACTIVE							later: upto was drawn before the look, and PREPARING comes before C' (T1)
 *	ABORTED							never
 *
 * The clock grows by one for each C, so if upto is from, or the own C right behind it, there is no such C' and
 * nothing to look at.
 * What is excluded from R (M2) has not been seen, though it is before R, so then there is; what is excluded from R' is later than that.
 *
 * Waiting for PREPARED(C') with C' < upto cannot go round in a circle: whoever
 * is waited for waits for smaller ones only.
 *
 * 1. A version (S1): its end.  It was seen, so it is there still (G2), and whatever
 *	  replaces or deletes the row ends it.
 * 2. A chunk: the ends of all versions in it.
 * 3. A key that was not there: the versions of the row that the index leads to now,
 *	  newest first, own ones passed over: the first that has begun by upto.  Within
 *	  the span it is a conflict, unless it was over again by upto.  Before it, its end
 *	  is asked; older ones were over.
 *	  No entry: nobody has inserted the key, for an inserter makes its entry before
 *	  it draws its C'.  That the collector may have removed the row meanwhile
 *	  makes no difference.
 * 4. A range (S2): the same of every entry in it now.  A row that was seen keeps its
 *	  entry; one that was inserted has got its own.  (The range is read again; the
 *	  versions of leaves are not compared: that would spare the walk where no key
 *	  came or went, but not the look at each row.)
 *	  Of a secondary index an entry is about those versions of its row that have its
 *	  key: others are passed over, whether they have begun within the span or have been
 *	  seen.  A row that leaves the range ends the version it was there with, whose entry is
 *	  still there, since somebody may see it; one that enters begins a version, and had made
 *	  its entry before it drew its C'.
 * 5. A whole table: begins and ends of all versions, chunk by chunk, those chunks
 *	  included that have come since.  Chunks without headers hold nothing that
 *	  any published snapshot does not see (settle.c).  What has begun and ended within the span may have been
 *	  collected, and then does not count: as of upto it makes no difference.
 * 6. A version that has only been copied elsewhere within the span (relocate.c) has neither
 *	  ended, nor has the copy begun.  Rules 1 and 2 ask for the copy's end instead; rules 3 and 4 meet the copy
 *	  first, and take it for one that has begun before; rule 5 finds it in its own chunk: it was there before
 *	  the copying was committed, so before upto was drawn.  After an extension only the copy is sure to stay, so
 *	  it takes the place of the version in the read set; of chunks that cannot be done, the table is noted instead.
 *
 * 7. The host's locks keep definitions as they are while somebody reads, and longer, but not always until the
 *	  transaction ends: a rollback to a savepoint gives them back, and so do sessions that have worked in a shared
 *	  transaction.  An index that has been dropped since was not maintained by those who have written
 *	  since: then the table is asked as a whole (5).  Storage that has gone is not what others have written to since: that is a conflict.
 *	  Both are said before the host's locks are given back, so before the C' of whoever writes after that.
 *
 * What the transaction itself wrote is passed over everywhere: a version that it
 * has ended has been locked by it since, and nobody else could.
 */
#include "runtime/txn/reads_internal.h"

#include "runtime/base/failpoint.h"
#include "runtime/txn/author.h"
#include "runtime/txn/txn_internal.h"

#define STEP_WORDS 512	  /* versions of one step */
#define STEP_ROWS 512	  /* entries of a range */
#define STEP_CHUNKS 4	  /* chunks, of up to 1,024 slots */
#define ROWS_AHEAD 128	  /* row ids taken from the index at once */
#define KEYS_AHEAD 4096	  /* and, of a secondary index, bytes of their entries */
#define OUTCOME_LOOKS 512 /* at a PREPARED one before the caller is told to wait */

/* When an event took place. */
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
	tg_version *changed_out; /* with TG_CHANGED: which */
} validation;

static inline moment
moment_of_time(const validation *v, tg_time time)
{
	if (time <= v->from && tg_likely(!tg_is_excluded(v->from_excluded, time)))
		return BEFORE;
	return time <= v->upto && tg_likely(!tg_is_excluded(v->upto_excluded, time)) ? WITHIN : AFTER;
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
				return AFTER;
			case TG_FATE_PREPARED:
				at = moment_of_time(v, time);
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

/* Rules 1 and 6; the copy's copy cannot be within the span, but that need not be known here. */
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

/* What a version says that has begun within the span.  TG_NOT_FOUND: it was over again by upto, ask the one before. */
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

/* An entry of a secondary index: which versions it is about. */
typedef struct entry_of
{
	const tg_index *index;
	const unsigned char *key;
	size_t key_bytes;
} entry_of;

/* Whether an entry is about a version; NULL: of the primary key, and so about all. */
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
			return TG_OK; /* settled: R has seen it */
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
		if (tg_unlikely(copied) && !reads->upto_is_own)
		{
			tg_reads_make_whole(session, noted);
			go_to_table(reads, noted);
			return TG_AGAIN;
		}
	}
	return reads->at_word < noted->count ? TG_AGAIN : TG_OK;
}

/*
 * Asks for what judge_row is going to look at first, of all rows before the first of them is judged: their misses
 * overlap.
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

/* A range that has to wait is read from its beginning again. */
static tg_status
step_range(const validation *v, tg_reads *reads, tg_table *table, const tg_read_range *range)
{
	tg_index *index = range->index;
	unsigned char bytes[KEYS_AHEAD];
	uint32_t rows[ROWS_AHEAD];

	if (!reads->in_range)
	{
		bool has_low = range->low_bytes != TG_READ_OPEN;
		bool has_high = range->high_bytes != TG_READ_OPEN;
		const unsigned char *high = range->bytes + (has_low ? range->low_bytes : 0);

		tg_btree_cursor_init(&reads->cursor, tg_index_tree(table, index), has_low ? range->bytes : NULL,
							 has_low ? range->low_bytes : 0, range->low_inclusive, has_high ? high : NULL,
							 has_high ? range->high_bytes : 0, range->high_inclusive, false);
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

/* Whether anybody else can have committed in (from, upto]. */
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
	tg_validation_exclude(reads, NULL, NULL);
	go_to_table(reads, is_span_empty(reads) ? NULL : reads->tables);
}

void
tg_validation_exclude(tg_reads *reads, const tg_exclusions *from, const tg_exclusions *upto)
{
	reads->from_excluded = from;
	reads->upto_excluded = upto;
	if (from != NULL)
		go_to_table(reads, reads->tables);
}

/* When what makes a version a conflict was committed: it began within the span, or else it ended then; 0: unknown. */
static tg_time
time_of_change(const validation *v, tg_version version)
{
	tg_time begun = tg_version_began_at(version);
	tg_time ended = tg_version_ended_at(version);

	if (begun != 0 && moment_of_time(v, begun) == WITHIN)
		return begun;
	return ended != 0 && moment_of_time(v, ended) == WITHIN ? ended : 0;
}

/* What a conflict in the part of a table in hand is about. */
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
	const validation v = {.own = reads->own,
						  .from = reads->from,
						  .upto = reads->upto,
						  .from_excluded = reads->from_excluded,
						  .upto_excluded = reads->upto_excluded,
						  .wait_out = wait_out,
						  .changed_out = &changed};
	tg_read_table *noted = reads->at_table;
	tg_status status;

	tg_failpoint("validate");
	if (tg_failpoint_refuses("validate_skip"))
		return TG_OK;
	if (tg_unlikely(reads->everything))
	{
		*conflict_out = (tg_conflict){.kind = TG_CONFLICT_UNKNOWN, .row = TG_ROW_MAX};
		return is_span_empty(reads) ? TG_OK : TG_CHANGED;
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
									  .time = time_of_change(&v, changed)};
	tg_epoch_leave(session);
	if (status != TG_OK)
		return status;
	go_to_table(reads, noted->next);
	return reads->at_table == NULL ? TG_OK : TG_AGAIN;
}

tg_status
tg_validation_step(tg_session *session, tg_reads *reads, tg_conflict *conflict_out, tg_wait *wait_out)
{
	tg_status status = step(session, reads, conflict_out, wait_out);

	/* S3; as of R' (W5) it is left to the end. */
	if (status == TG_OK && reads->upto_is_own)
		status = tg_reads_check_commit(session, reads, reads->upto, conflict_out);
	return status;
}
