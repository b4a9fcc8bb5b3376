/*
 * write_log.c
 *	  Stack of pieces, each a list of blocks and a set of tables.
 *
 *	   *log -> piece 3 --below--> piece 2 (sealed) --below--> piece 1 (sealed)
 *				|						|
 *				first -> block -> last	first ...
 *
 * A mark seals the newest piece, if it has any entry, and is the number of pieces at that time; the
 * next reservation puts a new piece on top.  So a subtransaction that writes nothing costs nothing,
 * and one that is rolled back takes its pieces with it.
 *
 * 1. Numbers grow by one from the bottom, and writes after a mark m lie in pieces with numbers
 *    above m.
 * 2. Only the newest piece is not sealed.  At most its last block is empty, and the first one,
 *    which is too small for writes that are noted together: a reservation adds the block before it
 *    is known whether the write will merge with the entry before.
 * 3. The places of a piece's tables form a hash table by address, probed linearly; at the smallest
 *    size it may be full, so a probe ends after as many steps as there are places.
 * 4. Undoing changes no entry: the collector needs them afterwards.  Its progress is in at_block
 *    and at_entry (entries before that place are left).
 *
 * Left out: merging of blocks of sealed pieces; a piece of a subtransaction with a single write
 * costs 256 bytes.
 */
#include "runtime/table/write_log.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/order/value.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"

#define PIECE_BYTES (sizeof(tg_write_log) + TG_LOG_BLOCK_ENTRIES_MIN * sizeof(tg_log_entry))

_Static_assert(offsetof(tg_write_log, table_count) == TG_CACHE_LINE,
			   "what the collector looks at first is a cache line");
_Static_assert(PIECE_BYTES <= 256, "a piece should fit the size class of 256 bytes");
_Static_assert(sizeof(tg_log_entry) == 16, "an entry is 16 bytes");
_Static_assert(sizeof(tg_log_block) + TG_LOG_BLOCK_ENTRIES_MAX * sizeof(tg_log_entry) <= 4096,
			   "a block is at most a page");

static inline void
check_piece(const tg_write_log *piece)
{
	tg_assert(piece->number == (piece->below != NULL ? piece->below->number + 1 : 1));
	tg_assert(piece->below == NULL || piece->below->sealed);
	tg_assert(piece->last->next == NULL);
	tg_assert(piece->last->count > 0 || piece->last->previous == NULL || piece->last->previous->count > 0 ||
			  piece->last->previous == &piece->first);
	tg_assert(piece->table_count <= piece->table_capacity);
}

/* --- writing -------------------------------------------------------------- */

static tg_status
piece_push(tg_session *session, tg_write_log **log, tg_claim claim)
{
	tg_write_log *piece = tg_alloc_zeroed(session, PIECE_BYTES, TG_USE_LOG, claim);

	if (piece == NULL)
		return TG_NO_MEMORY;
	piece->below = *log;
	piece->number = *log != NULL ? (*log)->number + 1 : 1;
	piece->lasting = true;
	piece->first.capacity = TG_LOG_BLOCK_ENTRIES_MIN;
	piece->last = &piece->first;
	piece->tables = piece->tables_first;
	piece->table_capacity = TG_LOG_TABLES_MIN;
	check_piece(piece);
	*log = piece;
	return TG_OK;
}

/* An empty block that is too small for what is to come (2). */
static void
drop_empty(tg_session *session, tg_write_log *piece)
{
	tg_log_block *block = piece->last;

	if (block->count > 0 || block == &piece->first)
		return;
	piece->last = block->previous;
	piece->last->next = NULL;
	tg_free(session, block, TG_USE_LOG);
}

/* entries: for so many, at least. */
static tg_status
block_add(tg_session *session, tg_write_log *piece, unsigned entries, tg_claim claim)
{
	uint32_t capacity = piece->last->capacity * 2 + 2;
	tg_log_block *block;

	if (capacity < entries)
		capacity = entries;
	if (capacity > TG_LOG_BLOCK_ENTRIES_MAX)
		capacity = TG_LOG_BLOCK_ENTRIES_MAX;
	drop_empty(session, piece);
	block = tg_alloc(session, sizeof(tg_log_block) + capacity * sizeof(tg_log_entry), TG_USE_LOG, claim);
	if (block == NULL)
		return TG_NO_MEMORY;
	block->next = NULL;
	block->previous = piece->last;
	block->count = 0;
	block->capacity = capacity;
	piece->last->next = block;
	piece->last = block;
	return TG_OK;
}

/*
 * The table's place among capacity places, or the empty place where it would be entered; capacity
 * if there is neither.
 */
static uint32_t
table_place(const tg_log_table *tables, uint32_t capacity, const tg_table *table)
{
	uint32_t place = (uint32_t) (((uintptr_t) table >> 6) * 0x9e3779b97f4a7c15 >> 32);

	for (uint32_t i = 0; i < capacity; i++, place++)
	{
		const tg_table *there = tables[place & (capacity - 1)].table;

		if (there == table || there == NULL)
			return place & (capacity - 1);
	}
	return capacity;
}

static tg_status
tables_grow(tg_session *session, tg_write_log *piece, tg_claim claim)
{
	uint32_t capacity = piece->table_capacity * 4;
	tg_log_table *tables = tg_alloc_zeroed(session, capacity * sizeof(tg_log_table), TG_USE_LOG, claim);

	if (tables == NULL)
		return TG_NO_MEMORY;
	for (uint32_t i = 0; i < piece->table_capacity; i++)
	{
		if (piece->tables[i].table != NULL)
			tables[table_place(tables, capacity, piece->tables[i].table)] = piece->tables[i];
	}
	if (piece->tables != piece->tables_first)
		tg_free(session, piece->tables, TG_USE_LOG);
	piece->tables = tables;
	piece->table_capacity = capacity;
	return TG_OK;
}

static tg_status
table_add(tg_session *session, tg_write_log *piece, tg_table *table, tg_claim claim)
{
	uint32_t place = table_place(piece->tables, piece->table_capacity, table);

	if (place == piece->table_capacity || piece->tables[place].table == NULL)
	{
		bool full = piece->table_capacity == TG_LOG_TABLES_MIN ? piece->table_count == TG_LOG_TABLES_MIN
															   : piece->table_count >= piece->table_capacity / 4 * 3;

		if (full)
		{
			tg_status status = tables_grow(session, piece, claim);

			if (status != TG_OK)
				return status;
			place = table_place(piece->tables, piece->table_capacity, table);
		}
		tg_table_retain(table);
		piece->tables[place].table = table;
		piece->table_count++;
	}
	piece->table_recent = place;
	return TG_OK;
}

static tg_status
reserve(tg_session *session, tg_write_log **log, tg_table *table, unsigned entries, tg_claim claim)
{
	tg_write_log *piece = *log;
	tg_status status;

	if (piece == NULL || piece->sealed)
	{
		status = piece_push(session, log, claim);
		if (status != TG_OK)
			return status;
		piece = *log;
	}
	if (piece->last->capacity - piece->last->count < entries)
	{
		status = block_add(session, piece, entries, claim);
		if (status != TG_OK)
			return status;
	}
	if (piece->tables[piece->table_recent].table == table)
		return TG_OK;
	return table_add(session, piece, table, claim);
}

tg_status
tg_write_log_reserve(tg_session *session, tg_write_log **log, tg_table *table, tg_claim claim)
{
	return reserve(session, log, table, 1, claim);
}

tg_status
tg_write_log_reserve_several(tg_session *session, tg_write_log **log, tg_table *table, unsigned entries, tg_claim claim)
{
	tg_assert(entries > 0 && entries <= TG_LOG_BLOCK_ENTRIES_MAX);
	return reserve(session, log, table, entries, claim);
}

/* The newest entry, or NULL. */
static tg_log_entry *
piece_newest(tg_write_log *piece)
{
	tg_log_block *block = piece->last;

	if (block->count == 0 && block->previous != NULL)
		block = block->previous;
	return block->count == 0 ? NULL : &block->entry[block->count - 1];
}

void
tg_write_log_append(tg_write_log *log, tg_table *table, tg_write kind, tg_version version, int rows)
{
	tg_log_entry *newest = piece_newest(log);

	tg_assert(!log->sealed);
	tg_assert(log->tables[log->table_recent].table == table);
	tg_assert(log->last->count < log->last->capacity);
	log->tables[log->table_recent].rows += rows;
	if (kind != TG_WRITE_INSERT)
		log->lasting = false;
	else if (newest != NULL && newest->kind == TG_WRITE_INSERT && newest->version + newest->count == version)
	{
		newest->count++; /* a word of the next chunk is further away than any count */
		return;
	}
	log->last->entry[log->last->count++] = (tg_log_entry){.version = version, .count = 1, .kind = (uint16_t) kind};
	check_piece(log);
}

void
tg_write_log_append_run(tg_write_log *log, tg_table *table, tg_version first, unsigned count)
{
	tg_log_entry *newest;

	tg_write_log_append(log, table, TG_WRITE_INSERT, first, (int) count);
	newest = piece_newest(log);
	newest->count += count - 1; /* the first one is counted */
}

tg_log_entry
tg_write_log_take_back(tg_write_log *log, int rows)
{
	tg_log_entry *newest = piece_newest(log);
	tg_log_entry taken = *newest;
	uint16_t kind = newest->kind == TG_WRITE_INSERT ? TG_WRITE_UNDONE_ROW : TG_WRITE_UNDONE_VERSION;

	tg_assert(!log->sealed && newest->kind <= TG_WRITE_UPDATE);
	log->tables[log->table_recent].rows -= rows;
	log->lasting = false;
	taken.version += taken.count - 1;
	if (taken.count == 1)
		newest->kind = kind;
	else
	{
		newest->count--;
		tg_assert(log->last->count < log->last->capacity);
		log->last->entry[log->last->count++] = (tg_log_entry){.version = taken.version, .count = 1, .kind = kind};
	}
	taken.count = 1;
	check_piece(log);
	return taken;
}

tg_status
tg_write_log_carry(tg_session *session, tg_write_log **log, tg_table *table, const tg_log_entry *entry)
{
	tg_status status = tg_write_log_reserve(session, log, table, TG_ESSENTIAL);

	if (status != TG_OK)
		return status;
	(*log)->lasting = false;
	(*log)->last->entry[(*log)->last->count++] = *entry;
	return TG_OK;
}

void
tg_write_log_push(tg_write_log **log, tg_write_log *piece)
{
	tg_assert(piece->below == NULL && piece->number == 1 && !piece->sealed);
	if (*log != NULL)
	{
		(*log)->sealed = true;
		piece->below = *log;
		piece->number = (*log)->number + 1;
	}
	*log = piece;
	check_piece(piece);
}

/* --- marks and undoing ---------------------------------------------------- */

tg_log_mark
tg_write_log_mark(tg_write_log *log)
{
	if (log == NULL)
		return TG_LOG_MARK_START;
	if (piece_newest(log) == NULL)
		return log->number - 1;
	log->sealed = true;
	return log->number;
}

bool
tg_write_log_pop(tg_write_log **log, tg_log_mark mark, tg_write_log **undone, tg_log_entry *entry_out)
{
	tg_write_log *piece;

	while ((piece = *log) != NULL && piece->number > mark)
	{
		if (piece->at_block == NULL)
		{
			piece->sealed = true;
			piece->at_block = piece->last;
			piece->at_entry = piece->last->count;
		}
		if (piece->at_entry == 0 && piece->at_block->previous != NULL)
		{
			piece->at_block = piece->at_block->previous;
			piece->at_entry = piece->at_block->count;
		}
		if (piece->at_entry > 0)
		{
			*entry_out = piece->at_block->entry[--piece->at_entry];
			return true;
		}
		*log = piece->below;
		piece->below = *undone;
		*undone = piece;
	}
	return false;
}

void
tg_version_strip(tg_version version, tg_version neighbour)
{
	tg_chunk *chunk = tg_version_chunk(version);
	const tg_chunk *other = tg_version_chunk(neighbour);
	unsigned slot = tg_version_slot(version);
	unsigned other_slot = tg_version_slot(neighbour);

	for (unsigned i = 0; i < chunk->layout->string_count; i++)
	{
		unsigned column = chunk->layout->strings[i];
		tg_string *cell;
		const tg_string *other_cell;

		if (tg_chunk_is_null(chunk, column, slot) || tg_chunk_is_null(other, column, other_slot))
			continue;
		cell = (tg_string *) (chunk->values + (size_t) chunk->layout->offsets[column] * chunk->capacity) + slot;
		other_cell = (const tg_string *) tg_chunk_column(other, column) + other_slot;
		if (tg_string_is_out(cell) && tg_string_is_out(other_cell) && cell->blob == other_cell->blob)
			tg_store_relaxed(&cell->word, cell->word | TG_STRING_LENT);
	}
}

/* --- reading, ending ------------------------------------------------------ */

tg_log_cursor
tg_write_log_begin(tg_write_log *log)
{
	return (tg_log_cursor){.piece = log, .block = log != NULL ? &log->first : NULL, .entry = 0};
}

tg_log_entry *
tg_write_log_next(tg_log_cursor *cursor)
{
	while (cursor->piece != NULL)
	{
		if (cursor->entry < cursor->block->count)
			return &cursor->block->entry[cursor->entry++];
		cursor->entry = 0;
		cursor->block = cursor->block->next;
		if (cursor->block == NULL)
		{
			cursor->piece = cursor->piece->below;
			cursor->block = cursor->piece != NULL ? &cursor->piece->first : NULL;
		}
	}
	return NULL;
}

void
tg_write_log_count_rows(const tg_write_log *log)
{
	for (; log != NULL; log = log->below)
	{
		for (uint32_t i = 0; i < log->table_capacity; i++)
		{
			if (log->tables[i].rows != 0)
				(void) tg_fetch_add_relaxed(&log->tables[i].table->row_count, log->tables[i].rows);
		}
	}
}

/* The place of a table that the piece wrote to, or NULL. */
static const tg_log_table *
piece_table(const tg_write_log *piece, const tg_table *table)
{
	uint32_t place = table_place(piece->tables, piece->table_capacity, table);

	return place < piece->table_capacity && piece->tables[place].table == table ? &piece->tables[place] : NULL;
}

int64_t
tg_write_log_rows(const tg_write_log *log, const tg_table *table)
{
	int64_t rows = 0;

	for (; log != NULL; log = log->below)
	{
		const tg_log_table *place = piece_table(log, table);

		rows += place != NULL ? place->rows : 0;
	}
	return rows;
}

bool
tg_write_log_has_table(const tg_write_log *log, const tg_table *table)
{
	for (; log != NULL; log = log->below)
	{
		if (piece_table(log, table) != NULL)
			return true;
	}
	return false;
}

const tg_table *
tg_write_log_find_table(const tg_write_log *log, uint32_t database, uint32_t relation)
{
	for (; log != NULL; log = log->below)
	{
		for (uint32_t i = 0; i < log->table_capacity; i++)
		{
			const tg_table *table = log->tables[i].table;

			if (table != NULL && table->relation == relation && table->database == database)
				return table;
		}
	}
	return NULL;
}

bool
tg_write_log_is_logged(const tg_write_log *log)
{
	for (; log != NULL; log = log->below)
	{
		for (uint32_t i = 0; i < log->table_capacity; i++)
		{
			const tg_table *table = log->tables[i].table;

			if (table != NULL && !table->unlogged)
				return true;
		}
	}
	return false;
}

void
tg_table_note_logged(tg_table *table, uint64_t position)
{
	uint64_t noted = tg_load_relaxed(&table->logged_at);

	while (noted < position && !tg_cas_acq_rel(&table->logged_at, &noted, position))
		;
}

void
tg_write_log_note(const tg_write_log *log, uint64_t position)
{
	for (; log != NULL; log = log->below)
	{
		for (uint32_t i = 0; i < log->table_capacity; i++)
			if (log->tables[i].table != NULL)
				tg_table_note_logged(log->tables[i].table, position);
	}
}

bool
tg_write_log_is_lasting(const tg_write_log *log)
{
	for (; log != NULL; log = log->below)
	{
		if (!log->lasting)
			return false;
	}
	return true;
}

static void
piece_free(tg_session *session, tg_write_log *piece)
{
	tg_log_block *block = piece->first.next;

	for (uint32_t i = 0; i < piece->table_capacity; i++)
	{
		if (piece->tables[i].table != NULL)
			tg_table_release(session, piece->tables[i].table);
	}
	if (piece->tables != piece->tables_first)
		tg_free(session, piece->tables, TG_USE_LOG);
	while (block != NULL)
	{
		tg_log_block *next = block->next;

		tg_free(session, block, TG_USE_LOG);
		block = next;
	}
	tg_free(session, piece, TG_USE_LOG);
}

void
tg_write_log_destroy(tg_session *session, tg_write_log *log)
{
	while (log != NULL)
	{
		tg_write_log *below = log->below;

		piece_free(session, log);
		log = below;
	}
}
