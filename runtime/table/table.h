/*
 * table.h
 *	  One table's storage: row heads, column chunks, the key's index; store.h has what changes it.
 *
 * rows:   row id -> head (newest version), in segments that never move
 * chunks: slots of versions, column by column (PAX), in a directory
 * index:  key -> row id, if the table has a primary key
 *
 * Values never change once written.  A chunk has version headers only while some version in it
 * needs them; without them every snapshot sees every allocated slot.  settle.c argues how the
 * header array comes and goes.
 */
#ifndef TG_TABLE_H
#define TG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/latch.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/book.h"
#include "runtime/table/limits.h"
#include "runtime/table/version.h"

typedef struct tg_btree tg_btree;	  /* btree.h */
typedef struct tg_summary tg_summary; /* summary.c */

#define TG_COLUMN_MAX 1664

/*
 * The layout of the columns of a chunk.  Belongs to its table and lives as long.  A chunk keeps the
 * layout that it was made with; columns added later read as NULL in it.
 */
typedef struct tg_layout
{
	struct tg_layout *next; /* older layouts of the table */
	uint16_t column_count;
	uint16_t string_count;	 /* columns of kind STRING; they come first in strings[] */
	uint16_t full_capacity;	 /* slots of a chunk, once the table has some chunks; */
	uint16_t filled;		 /* inserts use so many of them: chunk.c, 6 */
	uint32_t slot_bytes;	 /* values of one slot, all columns */
	const uint8_t *kinds;	 /* tg_kind by column */
	uint64_t *meanings;		 /* by column, atomic: tg_columns */
	const uint32_t *offsets; /* by column: bytes per slot of the columns stored before it */
	const uint16_t *strings; /* the columns of kind STRING */
} tg_layout;

/*
 * A chunk.  After the struct, in one allocation: values (column by column,
 * widest first), row ids (uint32 each), one null bitmap per column, and the
 * bitmap of free slots.
 */
struct tg_chunk
{
	/* the fields that a point read needs, in one cache line */
	struct tg_header *headers; /* atomic; NULL: all settled; low bit: marked (settle.c) */
	const tg_layout *layout;
	unsigned char *values;
	uint64_t null_columns; /* atomic, only grows: columns that may have NULLs; 63: and above */
	uint64_t *nulls;	   /* atomic; bit slot % 64 of word column * words + slot / 64: NULL */
	uint32_t *rows;		   /* row id by slot */
	tg_table *table;
	uint16_t capacity; /* slots; a multiple of 16 */
	uint16_t leased;   /* atomic, changed under the table's latch: a session allocates from it */
	uint32_t index;	   /* in the table's directory */

	uint64_t *free;			/* atomic words; bit set: slot is free, or past the capacity */
	uint32_t free_count;	/* atomic: slots free */
	uint32_t listed;		/* atomic, changed under the table's latch: tg_listed */
	tg_chunk *next_partial; /* both under the table's latch */
	tg_chunk *previous_partial;
	uint64_t touched;	   /* atomic, only grows: clock value not before the last header change */
	uint64_t settle_epoch; /* the collector's: when headers were marked */
	uint32_t mixed;		   /* atomic, only grows: chunk_values.c, 2; or a blob is large */
	tg_summary *summary;   /* atomic; NULL: none (summary.c) */
} TG_CACHE_ALIGNED;

/* Whether a chunk is in its table's list of chunks with free slots. */
typedef enum tg_listed
{
	TG_UNLISTED,
	TG_LISTED,
	TG_EMPTYING, /* not to be leased: its versions are being moved elsewhere (compact.c) */
	TG_RECLAIMED /* removed from the table for good */
} tg_listed;

#define TG_HEADERS_MARK ((uintptr_t) 1)

/*
 * The headers for reading, or NULL: every snapshot sees every allocated slot.  The acquire pairs
 * with the compare-and-swap that brought the array in: a snapshot that is later than a change sees
 * the array.
 */
static inline tg_header *
tg_chunk_headers(const tg_chunk *chunk)
{
	return (tg_header *) ((uintptr_t) tg_load_acquire(&chunk->headers) & ~TG_HEADERS_MARK);
}

static inline const void *
tg_chunk_column(const tg_chunk *chunk, unsigned column)
{
	return chunk->values + (size_t) chunk->layout->offsets[column] * chunk->capacity;
}

static inline bool
tg_chunk_has_column(const tg_chunk *chunk, unsigned column)
{
	return column < chunk->layout->column_count;
}

static inline unsigned
tg_chunk_bitmap_words(const tg_chunk *chunk)
{
	return (chunk->capacity + 63u) / 64;
}

/*
 * For scans: the allocated slots, and the headers to judge them by, or NULL: every snapshot sees
 * all of them.  Bit slot % 64 of present[slot / 64] is set if the slot is allocated.  Inside an
 * epoch, for a snapshot published before; result and bits belong together until the epoch is left.
 *
 * The bitmap is loaded between two loads of headers, because either order alone is wrong: settle.c,
 * «Scans».
 */
static inline tg_header *
tg_chunk_look(const tg_chunk *chunk, uint64_t present[TG_SLOT_MAX / 64])
{
	tg_header *headers = tg_chunk_headers(chunk);

	for (unsigned word = 0; word < tg_chunk_bitmap_words(chunk); word++)
		present[word] = ~tg_load_acquire(&chunk->free[word]);
	return headers != NULL ? headers : tg_chunk_headers(chunk);
}

/*
 * Whether a column of the chunk has ever held a NULL.  If not, its bitmap need not be read, which
 * saves a cache miss in a point read.  The bit is set before the version that has the NULL begins,
 * so a reader that sees the version sees the bit.
 */
static inline bool
tg_chunk_may_be_null(const tg_chunk *chunk, unsigned column)
{
	return (tg_load_relaxed(&chunk->null_columns) >> (column < 63 ? column : 63) & 1) != 0;
}

static inline bool
tg_chunk_is_null(const tg_chunk *chunk, unsigned column, unsigned slot)
{
	if (!tg_chunk_has_column(chunk, column))
		return true;
	return tg_chunk_may_be_null(chunk, column) &&
		   (tg_load_relaxed(&chunk->nulls[column * tg_chunk_bitmap_words(chunk) + slot / 64]) >> (slot % 64) & 1);
}

#define TG_DIRECTORY_FIRST 8 /* entries of the first segment of the directory of chunks */
#define TG_SMALL_SEGMENTS 8	 /* rows below TG_SEGMENT_ROWS: segments of 64, 64, 128, 256 … */
#define TG_SEGMENT_ROWS 8192
#define TG_SEGMENT_ROWS_MIN 64 /* each begins at a multiple of this */
#define TG_SEGMENTS_PER_PAGE 512

/* The free rows of a segment (of all small ones together); under the table's latch. */
typedef struct tg_segment_rows
{
	uint32_t first; /* row id, plus 1; linked through the heads */
	uint32_t count;
	uint32_t next; /* of a list of segments: number, plus 1 */
	uint32_t previous;
} tg_segment_rows;

/*
 * The part of an index that this room has to know; each index begins with it (index.h).  hidden is
 * a table whose chunks are the companions of this table's chunks (companion.h).
 */
typedef struct tg_index_link
{
	struct tg_index_link *next; /* atomic: of the same table; stays when the index is dropped */
	tg_table *hidden;			/* constant; NULL: the index has no hidden values */
} tg_index_link;

/* A higher room's function that frees its objects for a table that is not used any more. */
typedef void (*tg_table_part_destroy)(tg_session *session, tg_table *table);

struct tg_table
{
	uint64_t incarnation; /* the storage's id: no other table, nor index, has it */
	uint32_t database;
	uint32_t relation;
	uint32_t row_next; /* atomic: row ids handed out so far */
	bool unlogged;	   /* constant: its contents are not logged */
	/* set by its author alone: the author logs its contents at the end, and not its writes */
	bool logged_whole;

	tg_layout *layout;		/* newest; atomic */
	tg_btree *index;		/* NULL: no primary key; atomic */
	const tg_key_spec *key; /* of index; constant; one without parts: no primary key */
	tg_index_link *indexes; /* the secondary ones; atomic, changed under the table's latch */
	tg_index *dropped;		/* those whose memory has to wait; under the table's latch */
	/* Set under the latch with the first index, or dictionary; NULL: there was none. */
	tg_table_part_destroy indexes_destroy;
	tg_table_part_destroy dictionaries_destroy;
	/* the host's; atomic: its creation; an earlier snapshot must not take it for empty */
	uint64_t stored;
	uint32_t hidden; /* the host's: so many columns come before the user's */
	/* the host's; atomic: made by a transaction that has not ended; its create is not logged yet */
	uint32_t fresh;
	struct tg_dictionary *dictionaries; /* atomic, only grows, changed under the table's latch */
	uint32_t rank_round;				/* atomic, the rank sweep's: dictionary.c, 6 */
	uint32_t relocating;				/* atomic: versions are being copied (txn/relocate.c, 7) */
	/* the host's; atomic: the time of the commit that replaced or dropped this storage; 0: none */
	uint64_t gone;
	/*
	 * changed under the latch: rows come with the ids that they have in the log (durable/follow.h),
	 * so a free row has no version, and is in no list
	 */
	bool follows;

	/*
	 * rows: small segments first, then root -> page -> segment; all pointers are atomic, and set
	 * once except by table.c, 4
	 */
	tg_version *small[TG_SMALL_SEGMENTS];
	tg_version ***root;

	/* chunks: directory segment k holds 8 << k pointers; atomic */
	tg_chunk **chunks[29];
	uint32_t chunk_count; /* atomic: directory entries handed out; entries may be NULL again */

	tg_latch latch TG_CACHE_ALIGNED; /* TG_RANK_TABLE: growth, free rows, list of chunks */
	tg_segment_rows small_rows;
	uint32_t segments_partial; /* lists: some rows are free; */
	uint32_t segments_empty;   /* all are (also read without the latch); */
	uint32_t segments_absent;  /* and the segment has been given back */
	uint32_t free_row_count;
	uint32_t free_chunk_index_count; /* directory entries that are NULL and below chunk_count */
	uint32_t free_chunk_index_low;	 /* none of them is below this one */
	tg_chunk *partial;				 /* unleased chunks of the newest layout with free slots */

	/*
	 * on another line than the fields of every look-up: transactions count references of logs and
	 * reads
	 */
	uint32_t references TG_CACHE_ALIGNED; /* atomic; the last one to go frees everything */

	tg_book own_book; /* bytes of the whole table */
	tg_book *book;	  /* constant: own_book; for hidden values, the book of their index's table */

	/* for the planner and the views; atomic */
	int64_t row_count; /* committed rows */
	int64_t blob_bytes;
	int64_t header_bytes;
	int64_t chunk_bytes;
	int64_t table_bytes;	  /* heads, directories, layouts */
	int64_t dictionary_bytes; /* values of ordered keys; counted with the indexes */
	int64_t rank_count;		  /* entries of dictionaries */
	int64_t rank_bytes_kept;  /* dictionary_bytes after the last rank sweep */
	uint64_t rank_removed;	  /* versions removed, of all tables, at the last rank sweep */
	uint64_t replaced_count;  /* replaced and deleted versions that the collector has freed */

	/*
	 * as of the host's last statistics, 0 before: row_count, with the rows that the transaction
	 * taking them was about to add, and replaced_count
	 */
	int64_t analyzed_rows;
	uint64_t analyzed_replaced;

	/*
	 * atomic, only grows: in the host's log, the end of the newest record of its rows or ranks; 0:
	 * it is not known
	 */
	uint64_t logged_at;
	tg_table *registered_next; /* registry.c's */
};

/*
 * The columns of a table: kinds[i] is the tg_kind of column i, and meanings[i] the host's number,
 * to be loaded by atomics, for what its bytes mean; 0: it is not known.  They stay as long as the
 * table.
 */
typedef struct tg_columns
{
	unsigned count;
	const uint8_t *kinds;
	const uint64_t *meanings;
} tg_columns;

static inline tg_columns
tg_table_columns(const tg_table *table)
{
	const tg_layout *layout = tg_load_acquire(&table->layout);

	return (tg_columns){.count = layout->column_count, .kinds = layout->kinds, .meanings = layout->meanings};
}

/* Counts bytes of the table, in one of its figures and in the book. */
static inline void
tg_table_count(tg_table *table, int64_t *figure, int64_t bytes)
{
	tg_fetch_add_relaxed(figure, bytes);
	tg_book_add(table->book, bytes);
}

/* Notes that the host takes statistics of the present rows, so many of them. */
static inline void
tg_table_analyzed(tg_table *table, int64_t rows)
{
	tg_store_relaxed(&table->analyzed_rows, rows);
	tg_store_relaxed(&table->analyzed_replaced, tg_load_relaxed(&table->replaced_count));
}

/* About how many rows were inserted, changed and deleted since the host last took statistics. */
static inline uint64_t
tg_table_changes(const tg_table *table)
{
	int64_t rows = tg_load_relaxed(&table->row_count) - tg_load_relaxed(&table->analyzed_rows);

	return (uint64_t) (rows < 0 ? -rows : rows) + tg_load_relaxed(&table->replaced_count) -
		   tg_load_relaxed(&table->analyzed_replaced);
}

extern void tg_table_retain(tg_table *table);

/*
 * The last reference frees the table; no session reads it any more (relation lock, jobs'
 * references).
 */
extern void tg_table_release(tg_session *session, tg_table *table);

/* --- rows ------------------------------------------------------------------- */

/* The head of a row that was handed out; atomic. */
static inline tg_version *
tg_row_head(tg_table *table, uint32_t row)
{
	tg_version **page;

	if (row < TG_SEGMENT_ROWS)
	{
		unsigned segment = row < 64 ? 0 : 26 - (unsigned) __builtin_clz(row);
		unsigned first = segment == 0 ? 0 : 32u << segment;

		return tg_load_acquire(&table->small[segment]) + (row - first);
	}
	page = tg_load_acquire(&tg_load_acquire(&table->root)[row / TG_SEGMENT_ROWS / TG_SEGMENTS_PER_PAGE]);
	return tg_load_acquire(&page[row / TG_SEGMENT_ROWS % TG_SEGMENTS_PER_PAGE]) + row % TG_SEGMENT_ROWS;
}

/*
 * The newest version of a row; TG_VERSION_NONE: there is none, or the row is closed.  Inside an
 * epoch.
 */
static inline tg_version
tg_row_newest(tg_table *table, uint32_t row)
{
	tg_version head = tg_load_acquire(tg_row_head(table, row));

	return tg_head_is_closed(head) ? TG_VERSION_NONE : head;
}

static inline uint32_t
tg_version_row(tg_version version)
{
	return tg_version_chunk(version)->rows[tg_version_slot(version)];
}

/* --- chunks -------------------------------------------------------------------- */

/* Directory entries so far; a scan that starts now needs no later one. */
static inline uint32_t
tg_table_chunk_count(const tg_table *table)
{
	return tg_load_acquire(&table->chunk_count);
}

/*
 * The segment of a directory entry, of TG_DIRECTORY_FIRST << segment entries, and its place there.
 */
static inline unsigned
tg_directory_segment(uint32_t index)
{
	return 28 - (unsigned) __builtin_clz(index + TG_DIRECTORY_FIRST);
}

static inline uint32_t
tg_directory_place(uint32_t index, unsigned segment)
{
	return index + TG_DIRECTORY_FIRST - ((uint32_t) TG_DIRECTORY_FIRST << segment);
}

/* The chunk at a directory entry, or NULL.  Inside an epoch. */
static inline tg_chunk *
tg_table_chunk(tg_table *table, uint32_t index)
{
	unsigned segment = tg_directory_segment(index);

	return tg_load_acquire(&tg_load_acquire(&table->chunks[segment])[tg_directory_place(index, segment)]);
}

/* Figures of all chunks at this moment; other sessions may be at work.  Inside an epoch. */
typedef struct tg_table_slots
{
	uint64_t chunks;
	uint64_t chunks_sparse; /* of them, with more than half of their slots free */
	uint64_t taken;			/* slots with a version, whatever its state */
	uint64_t free;
} tg_table_slots;

extern void tg_table_slots_count(tg_table *table, tg_table_slots *slots);

#endif /* TG_TABLE_H */
