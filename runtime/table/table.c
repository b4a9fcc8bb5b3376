/*
 * table.c
 *	  A table from creation to its last reference; its row ids and their heads.
 *
 * Heads lie in segments that never move, so tg_row_head needs no latch:
 *
 *	  rows 0 … 8191: small[0 … 7], of 64, 64, 128, 256 … 4096 heads
 *	  others:        root -> page of 512 segments -> segment of 8192 heads
 *
 * 1. A row id below row_next has its segment: the segment is published (release) before row_next
 *	  passes it, and every session has its row ids, directly or not, from one that has taken them.
 * 2. A row id is in the list of free ones, in one session's lease, or in use; never in two of
 *	  these.
 * 3. The head of a listed one is CLOSED with the next one's id, plus 1, above; of a leased one
 *	  CLOSED or NONE; of one just taken NONE.
 *
 * 4. Free rows are listed by segment.  A segment with free rows is in one list; a segment whose
 *	  rows are all free is in another one, and the sweep gives it back; all small segments count as
 *	  one, which stays.  A segment that was given back is replaced by one shared array in which
 *	  every row is closed, for sessions that still use a row number that they have kept: a guess, a
 *	  statement's ctid, an entry of an index read in an epoch that goes on.  No session stores to a
 *	  head that it has found closed, and every compare-and-swap of a head expects the value that was
 *	  read.  The memory is freed through the epochs, because a session that read the pointer before
 *	  may read closed heads in it.  The numbers stay the table's: it uses those of absent segments
 *	  before fresh ones.
 *
 * The lists and growth are under the table's latch; sessions take row ids by the batch (lease.c),
 * so they take the latch once for some dozens of rows.
 */
#include "runtime/table/table_internal.h"

#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/base/budget.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/grant.h"
#include "runtime/mem/quota.h"
#include "runtime/mem/retire.h"
#include "runtime/table/registry.h"
#include "runtime/table/store.h"

#define ROOT_PAGES (TG_ROW_MAX / TG_SEGMENT_ROWS / TG_SEGMENTS_PER_PAGE + 1)
#define HEAD_NEXT_SHIFT 16 /* of a listed row's head: the next one's id, plus 1 */

#define TRIM_COST 4 /* of giving a segment back, in the sweep's budget */

/* In the image, where children find it, too; never written to: 4. */
static const tg_version closed_segment[TG_SEGMENT_ROWS] = {[0 ... TG_SEGMENT_ROWS - 1] = TG_HEAD_CLOSED};

_Static_assert(sizeof(tg_table) % TG_CACHE_LINE == 0, "so that its parts lie on cache lines of their own");

/* --- life ---------------------------------------------------------------------- */

static void
destroy_rows(tg_session *session, tg_table *table)
{
	for (unsigned i = 0; i < TG_SMALL_SEGMENTS; i++)
	{
		if (table->small[i] != NULL)
			tg_free(session, table->small[i], TG_USE_TABLE);
	}
	if (table->root == NULL)
		return;
	for (unsigned i = 0; i < ROOT_PAGES; i++)
	{
		tg_version **page = table->root[i];

		if (page == NULL)
			continue;
		for (unsigned j = 0; j < TG_SEGMENTS_PER_PAGE; j++)
		{
			if (page[j] != NULL && page[j] != closed_segment)
				tg_free(session, page[j], TG_USE_TABLE);
		}
		tg_free(session, page, TG_USE_TABLE);
	}
	tg_free(session, table->root, TG_USE_TABLE);
}

/* The sum of the figures of a table that has no indexes. */
static int64_t
figures_of(const tg_table *table)
{
	return tg_load_relaxed(&table->table_bytes) + tg_load_relaxed(&table->chunk_bytes) +
		   tg_load_relaxed(&table->header_bytes) + tg_load_relaxed(&table->blob_bytes) +
		   tg_load_relaxed(&table->dictionary_bytes);
}

/* Also for a table that is only partly made.  It is not in the registry. */
static void
destroy(tg_session *session, tg_table *table)
{
	tg_chunks_destroy(session, table);
	destroy_rows(session, table);
	if (table->index != NULL)
		tg_btree_destroy(session, table->index);
	if (table->indexes_destroy != NULL)
		table->indexes_destroy(session, table);
	if (table->dictionaries_destroy != NULL)
		table->dictionaries_destroy(session, table);
	if (table->book != &table->own_book)
		/* the other table may continue without this index */
		tg_book_add(table->book, -figures_of(table));
	tg_book_close(session, &table->own_book);
	while (table->layout != NULL)
	{
		tg_layout *layout = table->layout;

		table->layout = layout->next;
		tg_free(session, layout, TG_USE_TABLE);
	}
	tg_free(session, table, TG_USE_TABLE);
}

/* A table and its key, which have one allocation. */
typedef struct keyed_table
{
	tg_table table; /* first: freed by its address */
	tg_key_spec key;
} keyed_table;

/* whole: the table whose book it shares; NULL: it has its own. */
static tg_status
create(tg_session *session, uint64_t id, uint32_t database, uint32_t relation, const uint8_t *kinds,
	   unsigned column_count, const tg_key_spec *key, tg_claim claim, tg_table *whole, tg_table **table_out)
{
	keyed_table *keyed = tg_alloc_zeroed(session, sizeof(*keyed), TG_USE_TABLE, claim);
	tg_table *table;
	tg_status status;

	if (keyed == NULL)
		return TG_NO_MEMORY;
	table = &keyed->table;
	table->key = &keyed->key;
	table->incarnation = id;
	table->database = database;
	table->relation = relation;
	table->references = 1;
	tg_latch_init(&table->latch, TG_RANK_TABLE);
	tg_book_init(&table->own_book);
	table->book = whole != NULL ? whole->book : &table->own_book;

	status = tg_layout_create(session, kinds, column_count, claim, &table->layout);
	if (status != TG_OK)
		goto fail;
	if (key != NULL && key->part_count > 0)
	{
		tg_assert(key->part_count <= TG_KEY_COLUMN_MAX);
		keyed->key = *key;
		status = tg_btree_create(session, table->book, claim, &table->index);
		if (status != TG_OK)
			goto fail;
	}
	tg_table_count(table, &table->table_bytes, (int64_t) (tg_alloc_bytes(table) + tg_alloc_bytes(table->layout)));
	*table_out = table;
	return TG_OK;

fail:
	destroy(session, table);
	return status;
}

tg_status
tg_table_create(tg_session *session, uint32_t database, uint32_t relation, const uint8_t *kinds, unsigned column_count,
				const tg_key_spec *key, tg_claim claim, tg_table **table_out)
{
	return tg_table_create_as(session, tg_incarnation_next(), database, relation, kinds, column_count, key, claim,
							  table_out);
}

tg_status
tg_table_create_as(tg_session *session, uint64_t id, uint32_t database, uint32_t relation, const uint8_t *kinds,
				   unsigned column_count, const tg_key_spec *key, tg_claim claim, tg_table **table_out)
{
	tg_status status = create(session, id, database, relation, kinds, column_count, key, claim, NULL, table_out);

	if (status != TG_OK)
		return status;
	tg_incarnation_start(id);
	tg_registry_enter(*table_out);
	return TG_OK;
}

tg_status
tg_table_create_hidden(tg_session *session, tg_table *whole, const uint8_t *kinds, unsigned column_count,
					   tg_claim claim, tg_table **table_out)
{
	return create(session, tg_incarnation_next(), whole->database, whole->relation, kinds, column_count, NULL, claim,
				  whole, table_out);
}

void
tg_table_retain(tg_table *table)
{
	uint32_t references = tg_fetch_add_acq_rel(&table->references, 1);

	tg_check(references > 0 && references < UINT32_MAX);
}

void
tg_table_release(tg_session *session, tg_table *table)
{
	/*
	 * The release passes the work done under the reference to the last releaser, which acquires it.
	 */
	uint32_t references = tg_fetch_add_acq_rel(&table->references, -1);

	tg_check(references > 0);
	if (references != 1)
		return;
	tg_registry_leave(table);
	destroy(session, table);
}

tg_status
tg_table_layout_add(tg_session *session, tg_table *table, const uint8_t *kinds, unsigned column_count)
{
	tg_layout *layout;
	tg_status status = tg_layout_create(session, kinds, column_count, TG_ESSENTIAL, &layout);

	if (status != TG_OK)
		return status;
	tg_latch_acquire(&table->latch);
	tg_assert(column_count >= table->layout->column_count);
	for (unsigned i = 0; i < table->layout->column_count; i++)
		tg_assert(kinds[i] == table->layout->kinds[i]);
	memcpy(layout->meanings, table->layout->meanings, table->layout->column_count * sizeof(uint64_t));
	layout->next = table->layout;
	/* Pairs with the acquire in tg_slot_take. */
	tg_store_release(&table->layout, layout);
	tg_latch_release(&table->latch);
	tg_table_count(table, &table->table_bytes, (int64_t) tg_alloc_bytes(layout));
	return TG_OK;
}

void
tg_table_set_meaning(tg_table *table, unsigned column, uint64_t meaning)
{
	tg_latch_acquire(&table->latch); /* no newer layout copies it meanwhile */
	tg_assert(column < table->layout->column_count);
	if (table->layout->meanings[column] == 0)
		tg_store_relaxed(&table->layout->meanings[column], meaning);
	tg_latch_release(&table->latch);
}

/* --- rows ---------------------------------------------------------------------- */

/* A zeroed array on the table's account, or NULL. */
static void *
grow(tg_session *session, tg_table *table, size_t bytes, tg_claim claim)
{
	void *array = tg_alloc_zeroed(session, bytes, TG_USE_TABLE, claim);

	if (array != NULL)
		tg_table_count(table, &table->table_bytes, (int64_t) tg_alloc_bytes(array));
	return array;
}

/*
 * Ensures that the row's segment exists; under the latch.  Parts that were made before a later step
 * failed stay: they are empty and will be used.
 */
static tg_status
ensure_segment(tg_session *session, tg_table *table, uint32_t row, tg_claim claim)
{
	tg_version **place;
	tg_version **page;
	size_t rows = TG_SEGMENT_ROWS;
	tg_version *segment;

	if (row < TG_SEGMENT_ROWS)
	{
		/* As in tg_row_head. */
		unsigned number = row < 64 ? 0 : 26 - (unsigned) __builtin_clz(row);

		place = &table->small[number];
		rows = number == 0 ? 64 : (size_t) 32 << number;
	}
	else
	{
		if (table->root == NULL)
		{
			tg_version ***root = grow(session, table, ROOT_PAGES * sizeof(*root), claim);

			if (root == NULL)
				return TG_NO_MEMORY;
			tg_store_release(&table->root, root);
		}
		page = table->root[row / TG_SEGMENT_ROWS / TG_SEGMENTS_PER_PAGE];
		if (page == NULL)
		{
			page = grow(session, table, TG_SEGMENTS_PER_PAGE * (sizeof(*page) + sizeof(tg_segment_rows)), claim);
			if (page == NULL)
				return TG_NO_MEMORY;
			tg_store_release(&table->root[row / TG_SEGMENT_ROWS / TG_SEGMENTS_PER_PAGE], page);
		}
		place = &page[row / TG_SEGMENT_ROWS % TG_SEGMENTS_PER_PAGE];
	}
	if (*place != NULL)
		return TG_OK;
	segment = grow(session, table, rows * sizeof(*segment), claim);
	if (segment == NULL)
		return TG_NO_MEMORY;
	tg_store_release(place, segment);
	return TG_OK;
}

/* The first row id behind the segment of this one. */
static uint32_t
segment_end(uint32_t row)
{
	if (row < 64)
		return 64;
	if (row < TG_SEGMENT_ROWS)
		return UINT32_C(1) << (32 - __builtin_clz(row));
	return row < TG_ROW_MAX - TG_SEGMENT_ROWS ? (row / TG_SEGMENT_ROWS + 1) * TG_SEGMENT_ROWS : TG_ROW_MAX;
}

static tg_status
take_fresh(tg_session *session, tg_table *table, tg_claim claim, uint32_t rows[TG_ROW_BATCH], unsigned *count_out)
{
	uint32_t first = table->row_next;
	uint32_t count;
	tg_status status;

	if (first >= TG_ROW_MAX)
		return TG_FULL;
	status = tg_book_ask(table->book, 0, claim);
	if (status == TG_OK)
		status = ensure_segment(session, table, first, claim);
	if (status != TG_OK)
		return status;
	count = segment_end(first) - first;
	if (count > TG_ROW_BATCH)
		count = TG_ROW_BATCH;
	for (uint32_t i = 0; i < count; i++)
		rows[i] = first + count - 1 - i;
	tg_store_release(&table->row_next, first + count);
	*count_out = count;
	return TG_OK;
}

/* --- free rows, by segment; under the latch ---------------------------------------- */

/* The pointer to a segment that is not a small one. */
static tg_version **
segment_place(tg_table *table, uint32_t number)
{
	return &table->root[number / TG_SEGMENTS_PER_PAGE][number % TG_SEGMENTS_PER_PAGE];
}

static tg_segment_rows *
segment_rows(tg_table *table, uint32_t number)
{
	if (number == 0)
		return &table->small_rows;
	/* Behind the page's pointers. */
	return (tg_segment_rows *) (table->root[number / TG_SEGMENTS_PER_PAGE] + TG_SEGMENTS_PER_PAGE) +
		   number % TG_SEGMENTS_PER_PAGE;
}

static void
link_segment(tg_table *table, uint32_t *list, uint32_t number)
{
	tg_segment_rows *segment = segment_rows(table, number);

	segment->next = *list;
	segment->previous = 0;
	if (*list != 0)
		segment_rows(table, *list - 1)->previous = number + 1;
	tg_store_relaxed(list, number + 1);
}

static void
unlink_segment(tg_table *table, uint32_t *list, uint32_t number)
{
	const tg_segment_rows *segment = segment_rows(table, number);

	if (segment->previous != 0)
		segment_rows(table, segment->previous - 1)->next = segment->next;
	else
		tg_store_relaxed(list, segment->next);
	if (segment->next != 0)
		segment_rows(table, segment->next - 1)->previous = segment->previous;
}

static void
push_row(tg_segment_rows *segment, tg_version *head, uint32_t row)
{
	/* Relaxed: the latch orders this with pop_rows. */
	tg_store_relaxed(head, (tg_version) segment->first << HEAD_NEXT_SHIFT | TG_HEAD_CLOSED);
	segment->first = row + 1;
	segment->count++;
}

/* Takes rows from the first segment that has free ones.  False: no segment has. */
static bool
pop_rows(tg_table *table, uint32_t rows[TG_ROW_BATCH], unsigned *count_inout)
{
	tg_segment_rows *segment;
	uint32_t number;

	if (table->segments_partial == 0 && table->segments_empty != 0)
	{
		number = table->segments_empty - 1;
		unlink_segment(table, &table->segments_empty, number);
		link_segment(table, &table->segments_partial, number);
	}
	if (table->segments_partial == 0)
		return false;
	number = table->segments_partial - 1;
	segment = segment_rows(table, number);
	while (*count_inout < TG_ROW_BATCH && segment->count > 0)
	{
		uint32_t row = segment->first - 1;

		segment->first = (uint32_t) (tg_load_relaxed(tg_row_head(table, row)) >> HEAD_NEXT_SHIFT);
		segment->count--;
		table->free_row_count--;
		rows[(*count_inout)++] = row;
	}
	if (segment->count == 0)
		unlink_segment(table, &table->segments_partial, number);
	return true;
}

/* Makes a segment again that was given back, with all of its rows free. */
static tg_status
restore_segment(tg_session *session, tg_table *table, tg_claim claim)
{
	uint32_t number = table->segments_absent - 1;
	tg_segment_rows *rows = segment_rows(table, number);
	tg_version *segment = grow(session, table, TG_SEGMENT_ROWS * sizeof(*segment), claim);

	if (segment == NULL)
		return TG_NO_MEMORY;
	unlink_segment(table, &table->segments_absent, number);
	rows->first = 0;
	rows->count = 0;
	/* As with fresh rows, the last of each batch taken is the first in order. */
	for (uint32_t batch = TG_SEGMENT_ROWS; batch > 0; batch -= TG_ROW_BATCH)
		for (uint32_t i = batch - TG_ROW_BATCH; i < batch; i++)
			push_row(rows, segment + i, number * TG_SEGMENT_ROWS + i);
	tg_store_release(segment_place(table, number), segment);
	link_segment(table, &table->segments_partial, number);
	return TG_OK;
}

/* --- taking and giving -------------------------------------------------------------- */

tg_status
tg_rows_take(tg_session *session, tg_table *table, tg_claim claim, uint32_t rows[TG_ROW_BATCH], unsigned *count_out)
{
	tg_status status = TG_OK;
	unsigned count = 0;

	tg_latch_acquire(&table->latch);
	while (count < TG_ROW_BATCH && pop_rows(table, rows, &count))
		;
	if (count == 0 && table->segments_absent != 0)
	{
		status = restore_segment(session, table, claim);
		if (status == TG_OK)
			(void) pop_rows(table, rows, &count);
	}
	else if (count == 0)
		status = take_fresh(session, table, claim, rows, &count);
	tg_latch_release(&table->latch);
	*count_out = count;
	return status;
}

/*
 * The row has no version any more.  Unless it has got one again since it was closed: a row whose
 * insertion was taken back is given once more when its version is freed.
 */
static void
leave_row(tg_table *table, uint32_t row)
{
	tg_version closed = TG_HEAD_CLOSED;

	(void) tg_cas_acq_rel(tg_row_head(table, row), &closed, TG_VERSION_NONE);
}

void
tg_rows_give(tg_table *table, const uint32_t *rows, unsigned count)
{
	tg_latch_acquire(&table->latch);
	for (unsigned i = 0; i < count && table->follows; i++)
		leave_row(table, rows[i]);
	for (unsigned i = 0; i < count && !table->follows; i++)
	{
		uint32_t number = rows[i] / TG_SEGMENT_ROWS;
		tg_segment_rows *segment = segment_rows(table, number);

		tg_assert(rows[i] < table->row_next);
		push_row(segment, tg_row_head(table, rows[i]), rows[i]);
		table->free_row_count++;
		if (segment->count == 1)
			link_segment(table, &table->segments_partial, number);
		if (segment->count == TG_SEGMENT_ROWS && number > 0)
		{
			unlink_segment(table, &table->segments_partial, number);
			link_segment(table, &table->segments_empty, number);
		}
	}
	tg_latch_release(&table->latch);
}

tg_status
tg_row_place(tg_session *session, tg_table *table, uint32_t row, tg_claim claim)
{
	tg_status status = TG_OK;

	tg_assert(row < TG_ROW_MAX && table->free_row_count == 0);
	if (row < tg_load_acquire(&table->row_next)) /* pairs with the release below */
		return TG_OK;
	tg_latch_acquire(&table->latch);
	while (status == TG_OK && table->row_next <= row)
	{
		uint32_t end = segment_end(table->row_next);

		status = tg_book_ask(table->book, 0, claim);
		if (status == TG_OK)
			status = ensure_segment(session, table, table->row_next, claim);
		if (status == TG_OK)
			tg_store_release(&table->row_next, end <= row ? end : row + 1);
	}
	tg_latch_release(&table->latch);
	return status;
}

void
tg_rows_free_rest(tg_table *table)
{
	/* From the last row on, because the rows that are given last are taken first. */
	for (uint32_t row = table->row_next; row-- > 0;)
		if (tg_load_relaxed(tg_row_head(table, row)) == TG_VERSION_NONE)
			tg_rows_give(table, &row, 1);
}

void
tg_rows_follow(tg_table *table)
{
	tg_assert(table->free_row_count == 0);
	table->follows = true;
}

void
tg_rows_follow_no_more(tg_table *table)
{
	tg_latch_acquire(&table->latch);
	table->follows = false;
	tg_latch_release(&table->latch);
	tg_rows_free_rest(table);
}

/* Takes out an empty segment, and puts the closed one in its place; NULL: there is none. */
static tg_version *
take_empty_segment(tg_table *table)
{
	tg_version *segment = NULL;

	tg_latch_acquire(&table->latch);
	if (table->segments_empty != 0)
	{
		uint32_t number = table->segments_empty - 1;

		unlink_segment(table, &table->segments_empty, number);
		link_segment(table, &table->segments_absent, number);
		segment = *segment_place(table, number);
		tg_store_release(segment_place(table, number), (tg_version *) closed_segment);
	}
	tg_latch_release(&table->latch);
	return segment;
}

bool
tg_rows_trim(tg_session *session, tg_table *table, unsigned *budget)
{
	while (*budget > 0 && tg_load_relaxed(&table->segments_empty) != 0)
	{
		tg_version *segment;

		if (tg_retire_reserve(session, 1) != TG_OK)
			return true; /* another sweep may succeed */
		segment = take_empty_segment(table);
		if (segment == NULL)
			return true;
		tg_table_count(table, &table->table_bytes, -(int64_t) tg_alloc_bytes(segment));
		tg_retire(session, segment, TG_USE_TABLE);
		tg_spend(budget, TRIM_COST);
	}
	return *budget > 0;
}

void
tg_row_give(tg_session *session, tg_table *table, uint32_t row)
{
	(void) session;
	tg_rows_give(table, &row, 1);
}
