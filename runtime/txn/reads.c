/*
 * reads.c
 *	  Noting the reads of a SERIALIZABLE transaction, in bounded memory.
 *
 * 1. A read stays noted until the transaction ends, even if its savepoint is rolled back (W2),
 *	  unless it is forgotten because no client has been told of it.
 * 2. The notes may become coarser, but never incomplete.  A table's words are versions, 8 bytes
 *	  each.  When there are TG_READ_WORDS_MAX of them, they are sorted and duplicates removed.  If
 *	  more than half remain, each becomes its chunk; if more than half remain then, too, the table
 *	  is noted as a whole.  Ranges beyond TG_READ_RANGE_BYTES_MAX, or a refused allocation, make the
 *	  table whole at once.  So a transaction takes at most about 1.5 MB per table.  If not even a
 *	  table can be noted, everything counts as read.
 * 3. A whole table needs no details.  A tentative one does, because it may be forgotten, so words
 *	  and ranges are still noted beside it.
 * 4. The words name versions that the snapshot sees.  The snapshot stays published, or is replaced
 *	  by a later one as of which they have been found unchanged; so they and their chunks stay (G2)
 *	  until the transaction ends.  (If a version has been copied by then, validation replaces it by
 *	  the copy: validate.c, 6.)
 *
 * Left out: merging of ranges that overlap.
 */
#include "runtime/txn/reads_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/mem/arena.h"
#include "runtime/btree/btree.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/session.h"

#define WORDS_FIRST 30		 /* capacity to begin with: 240 bytes */
#define RANGE_BYTES_SPARE 32 /* for the end of a range that has none */

/* --- life ------------------------------------------------------------------------- */

tg_status
tg_reads_create(tg_session *session, tg_reads **reads_out)
{
	tg_reads *reads = tg_alloc(session, sizeof(*reads), TG_USE_LOG, TG_ESSENTIAL);

	if (reads == NULL)
		return TG_NO_MEMORY;
	reads->own = session->id;
	reads->tables = NULL;
	reads->recent = NULL;
	reads->everything = false;
	reads->hold = 0;
	*reads_out = reads;
	return TG_OK;
}

void
tg_reads_follow(tg_reads *reads, unsigned txn)
{
	reads->own = txn;
}

/* Frees the details, which a table noted as a whole does not need. */
static void
free_details(tg_session *session, tg_read_table *noted)
{
	tg_read_range *range = noted->ranges;

	if (noted->words != NULL)
		tg_free(session, noted->words, TG_USE_LOG);
	while (range != NULL)
	{
		tg_read_range *next = range->next;

		if (range->index != NULL)
			tg_index_release(session, range->index);
		tg_free(session, range, TG_USE_LOG);
		range = next;
	}
	noted->words = NULL;
	noted->count = noted->capacity = noted->merged = 0;
	noted->ranges = NULL;
	noted->range_bytes = 0;
}

void
tg_reads_destroy(tg_session *session, tg_reads *reads)
{
	tg_read_table *noted = reads->tables;

	while (noted != NULL)
	{
		tg_read_table *next = noted->next;

		free_details(session, noted);
		if (noted->rows != NULL)
			tg_free(session, noted->rows, TG_USE_LOG);
		if (noted->table != NULL)
			tg_table_release(session, noted->table);
		tg_free(session, noted, TG_USE_LOG);
		noted = next;
	}
	tg_free(session, reads, TG_USE_LOG);
}

/* --- tables ------------------------------------------------------------------------ */

/* The notes of a table, or NULL. */
static tg_read_table *
find_table(tg_reads *reads, const tg_table *table)
{
	tg_read_table *noted = reads->recent;

	if (tg_likely(noted != NULL && noted->table == table))
		return noted;
	for (noted = reads->tables; noted != NULL; noted = noted->next)
	{
		if (noted->table == table)
		{
			reads->recent = noted;
			return noted;
		}
	}
	return NULL;
}

/* The notes of a table; NULL if nothing need be noted, because everything counts as read. */
static tg_read_table *
take_table(tg_session *session, tg_reads *reads, tg_table *table)
{
	tg_read_table *noted;

	if (tg_unlikely(reads->everything))
		return NULL;
	noted = find_table(reads, table);
	if (noted != NULL)
		return noted;
	noted =
		tg_failpoint_refuses("reads_table") ? NULL : tg_alloc_zeroed(session, sizeof(*noted), TG_USE_LOG, TG_ESSENTIAL);
	if (noted == NULL)
	{
		reads->everything = true;
		return NULL;
	}
	tg_table_retain(table);
	noted->table = table;
	noted->database = table->database;
	noted->relation = table->relation;
	noted->next = reads->tables;
	reads->tables = reads->recent = noted;
	return noted;
}

void
tg_reads_make_whole(tg_session *session, tg_read_table *noted)
{
	free_details(session, noted);
	noted->whole = true;
}

void
tg_reads_add_table(tg_session *session, tg_reads *reads, tg_table *table, bool tentative)
{
	tg_read_table *noted = take_table(session, reads, table);

	if (noted == NULL || noted->whole)
		return;
	if (tentative)
		noted->tentative++;
	else
		tg_reads_make_whole(session, noted);
}

void
tg_reads_forget_table(tg_reads *reads, tg_table *table)
{
	tg_read_table *noted = find_table(reads, table);

	if (noted != NULL && noted->tentative > 0)
		noted->tentative--;
}

/* --- versions and chunks ------------------------------------------------------------ */

static int
compare_words(const void *a, const void *b)
{
	tg_version left = *(const tg_version *) a;
	tg_version right = *(const tg_version *) b;

	return left < right ? -1 : left > right;
}

static void
sort_words(tg_read_table *noted)
{
	uint32_t kept = 0;

	qsort(noted->words, noted->count, sizeof(tg_version), compare_words);
	for (uint32_t i = 0; i < noted->count; i++)
		if (kept == 0 || noted->words[kept - 1] != noted->words[i])
			noted->words[kept++] = noted->words[i];
	noted->count = noted->merged = kept;
}

static tg_version
chunk_word(tg_version version)
{
	return tg_version_make(tg_version_chunk(version), 0) | TG_READ_CHUNK;
}

static void
make_chunks(tg_read_table *noted)
{
	noted->by_chunk = true;
	for (uint32_t i = 0; i < noted->count; i++)
		noted->words[i] = chunk_word(noted->words[i]);
	sort_words(noted);
}

/* Rule 2. */
static void
make_coarser(tg_session *session, tg_read_table *noted)
{
	sort_words(noted);
	if (noted->count <= noted->capacity / 2)
		return;
	if (!noted->by_chunk)
	{
		make_chunks(noted);
		if (noted->count <= noted->capacity / 2)
			return;
	}
	tg_reads_make_whole(session, noted);
}

/* Makes room for a word, or makes the table coarser. */
static void
grow_words(tg_session *session, tg_read_table *noted)
{
	uint32_t capacity = noted->capacity == 0 ? WORDS_FIRST : noted->capacity * 2;
	tg_version *words;

	if (capacity > TG_READ_WORDS_MAX || tg_failpoint_refuses("reads_words"))
		words = NULL;
	else
		words = tg_alloc(session, capacity * sizeof(tg_version), TG_USE_LOG, TG_DATA);
	if (words == NULL)
	{
		if (noted->capacity == 0)
			tg_reads_make_whole(session, noted);
		else
			make_coarser(session, noted);
		return;
	}
	if (noted->words != NULL)
	{
		memcpy(words, noted->words, noted->count * sizeof(tg_version));
		tg_free(session, noted->words, TG_USE_LOG);
	}
	noted->words = words;
	noted->capacity = capacity;
}

/* Whether the transaction itself has written the version.  Inside an epoch. */
static bool
is_own(const tg_reads *reads, tg_version version)
{
	const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));
	tg_time begin;

	if (headers == NULL)
		return false;
	begin = tg_load_relaxed(&headers[tg_version_slot(version)].begin);
	return tg_time_is_reference(begin) && tg_reference_txn(begin) == reads->own;
}

/* Adds a version or its chunk, of a table not noted as a whole; returns whether it was new. */
static bool
add_word(tg_session *session, tg_read_table *noted, tg_version version)
{
	if (noted->by_chunk)
		version = chunk_word(version);
	if (noted->count > 0 && noted->words[noted->count - 1] == version)
		return false;
	if (noted->count == noted->capacity)
	{
		grow_words(session, noted);
		if (noted->whole)
			return false;
		if (noted->by_chunk)
			version = chunk_word(version);
	}
	noted->words[noted->count++] = version;
	return true;
}

bool
tg_reads_add_version(tg_session *session, tg_reads *reads, tg_version version)
{
	tg_read_table *noted;

	/* No other transaction can change it; if it is undone, its predecessor was noted when read. */
	if (is_own(reads, version))
		return false;
	noted = take_table(session, reads, tg_version_chunk(version)->table);
	return noted != NULL && !noted->whole && add_word(session, noted, version);
}

void
tg_reads_forget_version(tg_reads *reads, tg_version version)
{
	tg_read_table *noted = find_table(reads, tg_version_chunk(version)->table);

	if (noted != NULL && noted->count > noted->merged && noted->words[noted->count - 1] == version)
		noted->count--;
}

/* --- ranges and keys ------------------------------------------------------------------ */

/* A new range with room for these bytes, linked in; NULL: the table, or everything, is noted. */
static tg_read_range *
add_range(tg_session *session, tg_reads *reads, tg_table *table, tg_index *index, size_t capacity)
{
	tg_read_table *noted = take_table(session, reads, table);
	size_t bytes = sizeof(tg_read_range) + capacity;
	tg_read_range *range = NULL;

	if (noted == NULL || noted->whole)
		return NULL;
	if (noted->range_bytes + bytes <= TG_READ_RANGE_BYTES_MAX && !tg_failpoint_refuses("reads_range"))
		range = tg_alloc(session, bytes, TG_USE_LOG, TG_DATA);
	if (range == NULL)
	{
		tg_reads_make_whole(session, noted);
		return NULL;
	}
	noted->range_bytes += bytes;
	if (index != NULL)
		tg_index_retain(index);
	range->index = index;
	range->capacity = (uint32_t) capacity;
	range->forgotten = false;
	range->next = noted->ranges;
	noted->ranges = range;
	return range;
}

void
tg_reads_add_key(tg_session *session, tg_reads *reads, tg_table *table, tg_index *index, const void *key,
				 size_t key_bytes)
{
	tg_read_range *range = add_range(session, reads, table, index, index != NULL ? 2 * key_bytes : key_bytes);

	if (range == NULL)
		return;
	range->is_key = true;
	range->low_bytes = (uint32_t) key_bytes;
	memcpy(range->bytes, key, key_bytes);
	if (index == NULL)
		return;
	range->low_inclusive = range->high_inclusive = true;
	range->high_bytes = (uint32_t) key_bytes;
	memcpy(range->bytes + key_bytes, key, key_bytes);
}

tg_read_range *
tg_reads_add_range(tg_session *session, tg_reads *reads, tg_table *table, tg_index *index,
				   const tg_btree_cursor *cursor)
{
	size_t low = cursor->low != NULL ? cursor->low_bytes : 0;
	size_t high = cursor->high != NULL ? cursor->high_bytes : 0;
	tg_read_range *range = add_range(session, reads, table, index, low + high + RANGE_BYTES_SPARE);

	if (range == NULL)
		return NULL;
	range->is_key = false;
	range->low_inclusive = cursor->low_inclusive;
	range->high_inclusive = cursor->high_inclusive;
	range->low_bytes = cursor->low != NULL ? cursor->low_bytes : TG_READ_OPEN;
	range->high_bytes = cursor->high != NULL ? cursor->high_bytes : TG_READ_OPEN;
	if (low > 0)
		memcpy(range->bytes, cursor->low, low);
	if (high > 0)
		memcpy(range->bytes + low, cursor->high, high);
	return range;
}

/* Whether a range that was added still exists: a whole table has freed its ranges. */
static bool
is_there(tg_reads *reads, const tg_table *table, const tg_read_range *range)
{
	const tg_read_table *noted = find_table(reads, table);

	return range != NULL && noted != NULL && !noted->whole;
}

void
tg_reads_forget_range(tg_reads *reads, tg_table *table, tg_read_range *range)
{
	if (is_there(reads, table, range))
		range->forgotten = true;
}

/*
 * The position is the last key returned, or the end of a leaf that was read.  As a bound it
 * includes itself and all keys that start with it, which is more than was read, but safe.
 */
void
tg_reads_end_range(tg_reads *reads, tg_table *table, tg_read_range *range, const tg_btree_cursor *cursor)
{
	uint32_t low;

	if (cursor->done || !is_there(reads, table, range))
		return;
	if (!cursor->started)
	{
		range->forgotten = true; /* nothing was read */
		return;
	}
	low = range->low_bytes == TG_READ_OPEN ? 0 : range->low_bytes;
	if (cursor->backward)
	{
		uint32_t high = range->high_bytes == TG_READ_OPEN ? 0 : range->high_bytes;

		if (cursor->position_bytes + high > range->capacity)
			return;
		memmove(range->bytes + cursor->position_bytes, range->bytes + low, high);
		memcpy(range->bytes, cursor->position, cursor->position_bytes);
		range->low_bytes = cursor->position_bytes;
		range->low_inclusive = true;
	}
	else
	{
		if (low + cursor->position_bytes > range->capacity)
			return;
		memcpy(range->bytes + low, cursor->position, cursor->position_bytes);
		range->high_bytes = cursor->position_bytes;
		range->high_inclusive = true;
	}
}

/* --- sets of several sessions ---------------------------------------------------------- */

/* Adds the notes that another set has of the same table; its ranges move. */
static void
merge_table(tg_session *session, tg_read_table *noted, tg_read_table *others)
{
	tg_read_range **last = &others->ranges;

	if (others->whole || others->tentative > 0 || noted->range_bytes + others->range_bytes > TG_READ_RANGE_BYTES_MAX)
		tg_reads_make_whole(session, noted);
	if (others->by_chunk && !noted->by_chunk)
		make_chunks(noted);
	for (uint32_t i = 0; i < others->count && !noted->whole; i++)
		(void) add_word(session, noted, others->words[i]);
	if (noted->whole)
		return;
	while (*last != NULL)
		last = &(*last)->next;
	*last = noted->ranges;
	noted->ranges = others->ranges;
	noted->range_bytes += others->range_bytes;
	others->ranges = NULL;
}

void
tg_reads_merge(tg_session *session, tg_reads *reads, tg_reads *others)
{
	tg_read_table *left = NULL;

	reads->everything = reads->everything || others->everything;
	for (tg_read_table *noted = others->tables, *next; noted != NULL; noted = next)
	{
		tg_read_table *same = find_table(reads, noted->table);
		tg_read_table **list = same == NULL ? &reads->tables : &left;

		if (same != NULL)
			merge_table(session, same, noted);
		next = noted->next;
		noted->next = *list;
		*list = noted;
	}
	others->tables = left;
	tg_reads_destroy(session, others);
}

/* --- figures ----------------------------------------------------------------------------- */

bool
tg_reads_is_empty(const tg_reads *reads)
{
	return reads->tables == NULL && !reads->everything;
}

bool
tg_reads_next_relation(const tg_reads *reads, const void **at_inout, uint32_t *relation_out)
{
	const tg_read_table *noted = *at_inout;

	noted = noted == NULL ? reads->tables : noted->next;
	if (noted == NULL)
		return false;
	*at_inout = noted;
	*relation_out = noted->relation;
	return true;
}

bool
tg_reads_is_everything(const tg_reads *reads)
{
	return reads->everything;
}

static bool
has_ranges(const tg_read_table *noted, uint32_t *keys_out)
{
	*keys_out = 0;
	for (const tg_read_range *range = noted->ranges; range != NULL; range = range->next)
	{
		if (!range->is_key && !range->forgotten)
			return true;
		*keys_out += !range->forgotten;
	}
	return false;
}

uint32_t
tg_reads_row_count(const tg_reads *reads)
{
	uint32_t count = 0;

	if (reads->everything)
		return UINT32_MAX;
	for (const tg_read_table *noted = reads->tables; noted != NULL; noted = noted->next)
	{
		uint32_t keys;

		if (noted->whole || noted->by_chunk || noted->tentative > 0 || has_ranges(noted, &keys))
			return UINT32_MAX;
		count += noted->count + keys;
	}
	return count;
}
