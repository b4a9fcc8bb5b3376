/*
 * chunk_values.c
 *	  The values of versions: how they are stored and copied, and what happens to their blobs.
 *
 * 1. When a version that was replaced is freed, its blob stays with its slot, and the next version
 *	  in the slot writes its own string over it, if that has about the same size.  The next version
 *	  is mostly a neighbour's (tg_slot_take_near).  So blobs stay in about the order that they were
 *	  loaded in, and a scan finds those of neighbours on the same pages.  Neither side calls the
 *	  allocator, and freeing need not read cells or blobs.  It is correct wherever freeing the blob
 *	  would be: no other version has it, and an epoch has passed since any session could reach it.
 *	  But the idle memory must be bounded: at most one in SPARE_SHARE of a chunk's slots has such a
 *	  blob; no slot has one in a chunk from which no slots are taken any more; and no such blob is
 *	  large.  Versions that were deleted or undone leave none.  They count as the table's blobs.
 *	  The bitmap's release and acquire pass a blob from the session that gives the slot to the one
 *	  that takes it, or that reclaims the chunk.
 * 2. The cells of a version's neighbours tell whether a blob is shared, but reading them would cost
 *	  cache misses.  Therefore mixed is set in the chunk of a version that shares a blob with its
 *	  older one, before the version is linked.  If it is set neither in a version's chunk nor in the
 *	  chunk of the version above, no cell needs to be read.
 */
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/grant.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/store.h"
#include "runtime/table/table_internal.h"

#include <string.h>

#define BLOB_BYTES_MIN sizeof(void *) /* room for mark_blob (chunk.c) */
#define SPARE_SHARE 4				  /* at most 1/4 of the slots have a blob but no version */
#define SPARE_BYTES_MAX 4096		  /* for larger blobs, copying dominates the cost */

static void
empty_cell(tg_value *cell)
{
	memset(cell, 0, sizeof(*cell));
}

static inline bool
is_host(const tg_string *string)
{
	return (string->word & TG_STRING_HOST) != 0;
}

/* Whether so many bytes may be written over a blob: no more is wasted than by an allocation. */
static inline bool
fits(const tg_string *spare, uint32_t bytes)
{
	size_t there = tg_alloc_bytes(spare->blob);

	return bytes <= there && there - bytes < (there / 16 > 8 ? there / 16 : 8);
}

/* Frees the blob that a cell leads to, if any; no other cell leads to it. */
static inline void
drop_blob(tg_session *session, tg_value *cell, int64_t *bytes_inout)
{
	if (!tg_string_is_out(&cell->string))
		return;
	*bytes_inout -= (int64_t) tg_alloc_bytes(cell->string.blob);
	tg_free(session, (void *) cell->string.blob, TG_USE_BLOB);
	empty_cell(cell);
}

/*
 * A blob in a cell for a string of so many bytes: the cell's own (1) or a new one.  NULL if
 * refused; then the cell is empty.
 */
static void *
take_blob(tg_session *session, tg_value *cell, uint32_t bytes, tg_claim claim, int64_t *bytes_inout)
{
	void *blob;

	if (tg_string_is_out(&cell->string) && fits(&cell->string, bytes))
		return (void *) cell->string.blob;
	drop_blob(session, cell, bytes_inout);
	blob = tg_alloc(session, bytes < BLOB_BYTES_MIN ? BLOB_BYTES_MIN : bytes, TG_USE_BLOB, claim);
	if (blob != NULL)
		*bytes_inout += (int64_t) tg_alloc_bytes(blob);
	return blob;
}

static inline void
note_mixed(tg_chunk *chunk)
{
	if (!tg_load_relaxed(&chunk->mixed))
		tg_store_relaxed(&chunk->mixed, 1); /* before the release of the version's begin */
}

/* Frees the blobs of the first so many strings of a slot that has no version yet. */
static void
drop_strings(tg_session *session, tg_chunk *chunk, unsigned slot, unsigned count, int64_t *bytes_inout)
{
	while (count-- > 0)
		drop_blob(session, tg_chunk_cell_of(chunk, chunk->layout->strings[count], slot), bytes_inout);
}

/* Stores a host's string in the cell of a slot without version; else what is there goes. */
static inline tg_status
copy_string(tg_session *session, tg_chunk *chunk, tg_value *cell, const tg_string *string, bool null, tg_claim claim,
			int64_t *bytes_inout)
{
	uint32_t bytes;
	void *blob;

	if (null || !is_host(string))
	{
		drop_blob(session, cell, bytes_inout);
		if (!null && tg_string_is_out(string))
			note_mixed(chunk);
		return TG_OK;
	}
	bytes = tg_string_blob_bytes(string);
	if (tg_unlikely(bytes >= TG_BLOB_BYTES_UNASKED))
	{
		tg_status status = tg_book_ask(chunk->table->book, bytes, claim);

		if (status != TG_OK)
			return status;
	}
	blob = take_blob(session, cell, bytes, claim, bytes_inout);
	if (blob == NULL)
		return TG_NO_MEMORY;
	if (bytes > SPARE_BYTES_MAX)
		note_mixed(chunk);
	memcpy(blob, string->blob, bytes);
	cell->string = *string;
	cell->string.word = TG_STRING_OUT | bytes;
	cell->string.blob = blob;
	return TG_OK;
}

/* Copies the host's strings into blobs; adds their memory to *bytes_inout.  All or nothing. */
static tg_status
copy_strings(tg_session *session, tg_chunk *chunk, unsigned slot, const tg_value *values, const bool *nulls,
			 tg_claim claim, int64_t *bytes_inout)
{
	const tg_layout *layout = chunk->layout;

	for (unsigned done = 0; done < layout->string_count; done++)
	{
		unsigned column = layout->strings[done];
		tg_status status = copy_string(session, chunk, tg_chunk_cell_of(chunk, column, slot), &values[column].string,
									   nulls[column], claim, bytes_inout);

		if (status == TG_OK)
			continue;
		drop_strings(session, chunk, slot, done, bytes_inout);
		return status;
	}
	return TG_OK;
}

/*
 * Other sessions read bits of the same words meanwhile, and the holder of an earlier lease may
 * write some: so the words are changed atomically, and only where a bit has to change.
 */
static inline void
store_null(tg_chunk *chunk, unsigned column, unsigned slot, bool null)
{
	uint64_t *word = &chunk->nulls[column * tg_chunk_bitmap_words(chunk) + slot / 64];
	uint64_t bit = (uint64_t) 1 << slot % 64;

	if (!tg_chunk_may_be_null(chunk, column))
	{
		if (!null)
			return; /* the column's bitmap is all zero */
		(void) tg_fetch_or_acq_rel(&chunk->null_columns, (uint64_t) 1 << (column < 63 ? column : 63));
	}
	if (((tg_load_relaxed(word) & bit) != 0) == null)
		return;
	if (null)
		(void) tg_fetch_or_acq_rel(word, bit);
	else
		(void) tg_fetch_and_acq_rel(word, ~bit);
}

/* Stores one value that is neither NULL nor to be copied into a blob. */
static inline void
store_value(tg_chunk *chunk, unsigned column, unsigned slot, const tg_value *value)
{
	void *base = chunk->values + (size_t) chunk->layout->offsets[column] * chunk->capacity;

	switch ((tg_kind) chunk->layout->kinds[column])
	{
		case TG_KIND_1:
			((uint8_t *) base)[slot] = (uint8_t) value->word;
			break;
		case TG_KIND_2:
			((uint16_t *) base)[slot] = (uint16_t) value->word;
			break;
		case TG_KIND_4:
			((uint32_t *) base)[slot] = (uint32_t) value->word;
			break;
		case TG_KIND_8:
			((uint64_t *) base)[slot] = value->word;
			break;
		case TG_KIND_16:
			((tg_value *) base)[slot] = *value;
			break;
		case TG_KIND_STRING:
			if (!is_host(&value->string))
				((tg_value *) base)[slot] = *value;
			break;
	}
}

/*
 * Books what blobs of slots just written have taken.  status: of the writing; if it is refused, or
 * has been, the slots have no blobs.
 */
static tg_status
book_blobs(tg_session *session, tg_chunk *chunk, unsigned slot, unsigned count, int64_t bytes, tg_claim claim,
		   tg_status status)
{
	if (bytes == 0 || !tg_blob_bytes_add(session, chunk->table, bytes) || status != TG_OK)
		return status;
	status = tg_book_ask(chunk->table->book, 0, claim);
	if (status == TG_OK)
		return TG_OK;
	bytes = 0;
	for (unsigned i = 0; i < count; i++)
		drop_strings(session, chunk, slot + i, chunk->layout->string_count, &bytes);
	if (bytes != 0)
		(void) tg_blob_bytes_add(session, chunk->table, bytes);
	return status;
}

tg_status
tg_version_store(tg_session *session, tg_version version, uint32_t row, const tg_value *values, const bool *nulls,
				 tg_claim claim)
{
	tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);
	const tg_layout *layout = chunk->layout;

	/* First the steps that can fail. */
	if (layout->string_count > 0)
	{
		int64_t bytes = 0;
		tg_status status = copy_strings(session, chunk, slot, values, nulls, claim, &bytes);

		status = book_blobs(session, chunk, slot, 1, bytes, claim, status);
		if (status != TG_OK)
			return status;
	}
	for (unsigned column = 0; column < layout->column_count; column++)
	{
		store_null(chunk, column, slot, nulls[column]);
		if (!nulls[column])
			store_value(chunk, column, slot, &values[column]);
		else if (layout->kinds[column] == TG_KIND_STRING)
			empty_cell(tg_chunk_cell_of(chunk, column, slot));
	}
	chunk->rows[slot] = row;
	return TG_OK;
}

/* --- several ---------------------------------------------------------------------------------- */

/* As copy_strings.  Of a column that has failed, or comes later, a cell may have a blob (1). */
static tg_status
copy_strings_run(tg_session *session, tg_chunk *chunk, unsigned slot, unsigned count, const tg_row_values *values,
				 unsigned at, tg_claim claim, int64_t *bytes_inout)
{
	const tg_layout *layout = chunk->layout;

	for (unsigned done = 0; done < layout->string_count; done++)
	{
		unsigned column = layout->strings[done];
		size_t first = (size_t) column * values->pitch + at;
		tg_value *cells = tg_chunk_cell_of(chunk, column, slot);

		for (unsigned i = 0; i < count; i++)
		{
			tg_status status = copy_string(session, chunk, &cells[i], &values->values[first + i].string,
										   values->nulls[first + i], claim, bytes_inout);

			if (status == TG_OK)
				continue;
			for (unsigned dropped = 0; dropped < count; dropped++)
				drop_strings(session, chunk, slot + dropped, layout->string_count, bytes_inout);
			return status;
		}
	}
	return TG_OK;
}

static void
store_nulls_run(tg_chunk *chunk, unsigned column, unsigned slot, unsigned count, const bool *nulls)
{
	bool any = false;

	for (unsigned i = 0; i < count; i++)
		any |= nulls[i];
	if (!any && !tg_chunk_may_be_null(chunk, column))
		return;
	for (unsigned i = 0; i < count; i++)
		store_null(chunk, column, slot + i, nulls[i]);
}

/* Values of NULLs are stored as they are: nobody reads them. */
static void
store_values_run(tg_chunk *chunk, unsigned column, unsigned slot, unsigned count, const tg_value *values,
				 const bool *nulls)
{
	void *base = (void *) tg_chunk_cell(chunk, column, slot);

	switch ((tg_kind) chunk->layout->kinds[column])
	{
		case TG_KIND_1:
			for (unsigned i = 0; i < count; i++)
				((uint8_t *) base)[i] = (uint8_t) values[i].word;
			break;
		case TG_KIND_2:
			for (unsigned i = 0; i < count; i++)
				((uint16_t *) base)[i] = (uint16_t) values[i].word;
			break;
		case TG_KIND_4:
			for (unsigned i = 0; i < count; i++)
				((uint32_t *) base)[i] = (uint32_t) values[i].word;
			break;
		case TG_KIND_8:
			for (unsigned i = 0; i < count; i++)
				((uint64_t *) base)[i] = values[i].word;
			break;
		case TG_KIND_16:
			memcpy(base, values, count * sizeof(*values));
			break;
		case TG_KIND_STRING:
			for (unsigned i = 0; i < count; i++)
			{
				if (nulls[i])
					empty_cell(&((tg_value *) base)[i]);
				else if (!is_host(&values[i].string))
					((tg_value *) base)[i] = values[i];
			}
			break;
	}
}

tg_status
tg_version_store_run(tg_session *session, tg_version first, unsigned count, const uint32_t *rows,
					 const tg_row_values *values, unsigned at, tg_claim claim)
{
	tg_chunk *chunk = tg_version_chunk(first);
	unsigned slot = tg_version_slot(first);
	const tg_layout *layout = chunk->layout;

	if (layout->string_count > 0)
	{
		int64_t bytes = 0;
		tg_status status = copy_strings_run(session, chunk, slot, count, values, at, claim, &bytes);

		status = book_blobs(session, chunk, slot, count, bytes, claim, status);
		if (status != TG_OK)
			return status;
	}
	for (unsigned column = 0; column < layout->column_count; column++)
	{
		size_t from = (size_t) column * values->pitch + at;

		store_nulls_run(chunk, column, slot, count, values->nulls + from);
		store_values_run(chunk, column, slot, count, values->values + from, values->nulls + from);
	}
	memcpy(&chunk->rows[slot], rows, count * sizeof(*rows));
	return TG_OK;
}

void
tg_chunk_strings_drop(tg_session *session, tg_chunk *chunk, unsigned column, unsigned slot, unsigned count)
{
	int64_t bytes = 0;

	for (unsigned i = 0; i < count; i++)
	{
		tg_value *cell = tg_chunk_cell_of(chunk, column, slot + i);

		drop_blob(session, cell, &bytes);
		empty_cell(cell);
	}
	if (bytes != 0)
		tg_table_count(chunk->table, &chunk->table->blob_bytes, bytes);
}

tg_status
tg_chunk_strings_store(tg_session *session, tg_chunk *chunk, unsigned column, unsigned slot, unsigned count,
					   const tg_string *strings)
{
	tg_value *cells = tg_chunk_cell_of(chunk, column, slot);
	int64_t booked = 0;
	unsigned done;

	for (done = 0; done < count; done++)
	{
		uint32_t bytes;
		void *blob;

		cells[done].string = strings[done];
		if (!is_host(&strings[done]))
			continue;
		bytes = tg_string_blob_bytes(&strings[done]);
		blob = tg_alloc(session, bytes < BLOB_BYTES_MIN ? BLOB_BYTES_MIN : bytes, TG_USE_BLOB, TG_ESSENTIAL);
		if (blob == NULL)
		{
			empty_cell(&cells[done]);
			break;
		}
		booked += (int64_t) tg_alloc_bytes(blob);
		if (bytes > SPARE_BYTES_MAX)
			note_mixed(chunk);
		memcpy(blob, strings[done].blob, bytes);
		cells[done].string.word = TG_STRING_OUT | bytes;
		cells[done].string.blob = blob;
	}
	if (booked != 0)
		tg_table_count(chunk->table, &chunk->table->blob_bytes, booked);
	if (done == count)
		return TG_OK;
	tg_chunk_strings_drop(session, chunk, column, slot, done);
	return TG_NO_MEMORY;
}

/* Whether the cell of a string has room for the value's blob, so that it may be written over. */
static inline bool
has_room(const tg_value *cell, const tg_value *value)
{
	return tg_string_is_out(&cell->string) && fits(&cell->string, tg_string_blob_bytes(&value->string));
}

/* Stores a host's string into a cell, in place of the cell's own string, if there is one. */
static tg_status
change_string(tg_session *session, tg_chunk *chunk, tg_value *cell, const tg_value *value, tg_claim claim)
{
	uint32_t bytes = tg_string_blob_bytes(&value->string);
	tg_value old = *cell;
	tg_value fresh = {0};
	int64_t booked = 0;
	tg_status status;
	void *blob;

	if (has_room(cell, value))
		blob = (void *) cell->string.blob;
	else
	{
		status = tg_book_ask(chunk->table->book, bytes, claim);
		if (status != TG_OK)
			return status;
		blob = take_blob(session, &fresh, bytes, claim, &booked);
		if (blob == NULL)
			return TG_NO_MEMORY;
		drop_blob(session, &old, &booked);
	}
	if (bytes > SPARE_BYTES_MAX)
		note_mixed(chunk);
	memcpy(blob, value->string.blob, bytes);
	cell->string = value->string;
	cell->string.word = TG_STRING_OUT | bytes;
	cell->string.blob = blob;
	if (booked != 0)
		(void) tg_blob_bytes_add(session, chunk->table, booked);
	return TG_OK;
}

/*
 * The blob for the copy of a string: one that the slot has (1); or a new one, if the string's own
 * lies in a sparse slab and there is memory; or else the string's own.
 */
static void
copy_blob(tg_session *session, tg_chunk *chunk, tg_value *cell, tg_string *string)
{
	uint32_t bytes = tg_string_blob_bytes(string);
	int64_t booked = 0;
	void *blob = NULL;

	if ((tg_string_is_out(&cell->string) && fits(&cell->string, bytes)) || tg_alloc_is_sparse(string->blob))
		blob = take_blob(session, cell, bytes, TG_MAINTENANCE, &booked);
	if (blob != NULL)
	{
		memcpy(blob, string->blob, bytes);
		string->blob = blob;
		if (bytes > SPARE_BYTES_MAX)
			note_mixed(chunk);
	}
	else
	{
		drop_blob(session, cell, &booked);
		note_mixed(chunk);
	}
	if (booked != 0)
		(void) tg_blob_bytes_add(session, chunk->table, booked);
}

/* Empties a cell that is to have no blob. */
static void
drop_cell(tg_session *session, tg_chunk *chunk, tg_value *cell)
{
	int64_t booked = 0;

	drop_blob(session, cell, &booked);
	if (booked != 0)
		(void) tg_blob_bytes_add(session, chunk->table, booked);
	empty_cell(cell);
}

tg_status
tg_version_change(tg_session *session, tg_version version, unsigned column, const tg_value *value, tg_claim claim)
{
	tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);
	tg_status status = TG_OK;

	tg_assert(tg_chunk_has_column(chunk, column));
	if (chunk->layout->kinds[column] == TG_KIND_STRING)
	{
		tg_value *cell = tg_chunk_cell_of(chunk, column, slot);

		if (value != NULL && is_host(&value->string))
			status = change_string(session, chunk, cell, value, claim);
		else
			drop_cell(session, chunk, cell);
		if (status != TG_OK)
			return status;
	}
	store_null(chunk, column, slot, value == NULL);
	if (value != NULL)
		store_value(chunk, column, slot, value);
	return TG_OK;
}

void
tg_version_copy(tg_session *session, tg_version version, tg_version from)
{
	tg_chunk *chunk = tg_version_chunk(version);
	const tg_chunk *from_chunk = tg_version_chunk(from);
	unsigned slot = tg_version_slot(version);
	unsigned from_slot = tg_version_slot(from);
	const tg_layout *layout = chunk->layout;

	tg_assert(from_chunk->layout->column_count <= layout->column_count);
	for (unsigned column = 0; column < layout->column_count; column++)
	{
		bool is_string = layout->kinds[column] == TG_KIND_STRING;
		bool null = tg_chunk_is_null(from_chunk, column, from_slot);
		tg_value value = {0};

		store_null(chunk, column, slot, null);
		if (!null)
			tg_chunk_value(from_chunk, column, from_slot, &value);
		if (is_string && tg_string_is_out(&value.string))
			copy_blob(session, chunk, tg_chunk_cell_of(chunk, column, slot), &value.string);
		else if (is_string)
			drop_cell(session, chunk, tg_chunk_cell_of(chunk, column, slot));
		if (!null)
			store_value(chunk, column, slot, &value);
	}
	chunk->rows[slot] = from_chunk->rows[from_slot];
}

/* Whether a version (or NONE) has this blob in this column. */
static bool
has_blob(tg_version version, unsigned column, const void *blob)
{
	const tg_chunk *chunk;
	const tg_string *string;

	if (version == TG_VERSION_NONE)
		return false;
	chunk = tg_version_chunk(version);
	if (!tg_chunk_has_column(chunk, column))
		return false;
	string = &tg_chunk_cell_of(chunk, column, tg_version_slot(version))->string;
	return tg_string_is_out(string) && string->blob == blob;
}

/*
 * Empties the cells of strings out of line, and frees (keep: leaves) blobs that no neighbour has.
 */
static void
free_blobs(tg_session *session, tg_version version, tg_version neighbour_a, tg_version neighbour_b, bool keep)
{
	tg_chunk *chunk = tg_version_chunk(version);
	const tg_layout *layout = chunk->layout;
	int64_t bytes = 0;

	for (unsigned i = 0; i < layout->string_count; i++)
	{
		unsigned column = layout->strings[i];
		tg_value *cell = tg_chunk_cell_of(chunk, column, tg_version_slot(version));
		const void *blob = cell->string.blob;

		if (!tg_string_is_out(&cell->string))
			continue;
		if ((cell->string.word & TG_STRING_LENT) != 0 || has_blob(neighbour_a, column, blob) ||
			has_blob(neighbour_b, column, blob))
			empty_cell(cell);
		else if (!keep || tg_string_blob_bytes(&cell->string) > SPARE_BYTES_MAX)
			drop_blob(session, cell, &bytes);
	}
	if (bytes != 0)
		tg_table_count(chunk->table, &chunk->table->blob_bytes, bytes);
}

void
tg_version_blobs_free(tg_session *session, tg_version version, tg_version neighbour_a, tg_version neighbour_b)
{
	free_blobs(session, version, neighbour_a, neighbour_b, false);
}

static inline bool
is_mixed(tg_version version)
{
	return version != TG_VERSION_NONE && tg_load_relaxed(&tg_version_chunk(version)->mixed);
}

void
tg_version_blobs_leave(tg_session *session, tg_version version, tg_version above, tg_version below)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	uint32_t listed = tg_load_relaxed(&chunk->listed);
	bool keep = tg_load_relaxed(&chunk->free_count) < chunk->capacity / SPARE_SHARE &&
				(listed == TG_LISTED || listed == TG_UNLISTED) &&
				chunk->layout == tg_load_relaxed(&chunk->table->layout);

	if (!keep || is_mixed(version) || is_mixed(above))
		free_blobs(session, version, above, below, keep);
}

void
tg_chunk_spares_free(tg_session *session, tg_chunk *chunk)
{
	int64_t bytes = 0;

	for (unsigned i = 0; i < chunk->layout->string_count; i++)
		for (unsigned slot = 0; slot < chunk->capacity; slot++)
			drop_blob(session, tg_chunk_cell_of(chunk, chunk->layout->strings[i], slot), &bytes);
	if (bytes != 0)
		tg_table_count(chunk->table, &chunk->table->blob_bytes, bytes);
}
