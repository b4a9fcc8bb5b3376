/*
 * row.h
 *	  One whole row between a slot and the storage, and row ids as ctids.
 */
#ifndef TSURUGI_ROW_H
#define TSURUGI_ROW_H

#include "executor/tuptable.h"
#include "storage/itemptr.h"

#include "src/table/hidden.h"
#include "src/table/relation.h"

/*
 * All columns of one row, as stored.  Datums made from it point into it, so it must not be refilled
 * while a slot that was filled from it is in use.
 */
typedef struct tsurugi_row
{
	const tsurugi_relation *described;
	/* As described when the row was made; a caller that keeps the row compares the revision. */
	int column_count;
	/* For rows that are written, if the relation has hidden values; otherwise NULL. */
	tsurugi_hidden_states *hidden;
	tg_value *values; /* of each column */
	bool *nulls;
	char *scratch; /* TSURUGI_SCRATCH_BYTES each */
} tsurugi_row;

/* Makes it in the current memory context.  Writers set hidden. */
extern void tsurugi_row_init(tsurugi_row *row, const tsurugi_relation *described);

/* Reads every column of a version.  Inside an epoch. */
extern void tsurugi_row_read(tsurugi_row *row, tg_version version);

/* Stores the row as the slot's virtual tuple (cleared before), with its ctid. */
extern void tsurugi_row_to_slot(const tsurugi_row *row, uint32_t row_id, TupleTableSlot *slot);

/*
 * Takes every column from a slot.  If a value equals that of old (may be NULL), old's stored value
 * is taken, so that its blob is shared.  Detoasts into the current context; the slot's datums must
 * stay until the row has been stored.
 */
extern void tsurugi_row_from_slot(tsurugi_row *row, TupleTableSlot *slot, const tsurugi_row *old);

/* The part of it that computes the hidden values; row->hidden is not NULL. */
extern void tsurugi_row_compute_hidden(tsurugi_row *row, TupleTableSlot *slot, const tsurugi_row *old);

/* The hidden values of indexes for a row that has just been filled. */
static inline const tg_hidden_row *
tsurugi_row_hidden(const tsurugi_row *row)
{
	return tsurugi_hidden_row(row->hidden);
}

/*
 * Makes the row's strings its own: for a new row, which shares no blobs with the one that it was
 * made from.
 */
extern void tsurugi_row_own_strings(tsurugi_row *row);

/* Bytes that a buffer for keys of this relation needs. */
extern size_t tsurugi_key_capacity(const tsurugi_relation *described);

/* Writes the row's key to a buffer of that size.  Raises 54000 if it is too long. */
extern size_t tsurugi_row_key(const tsurugi_row *row, Relation relation, unsigned char *key);

/* Whether two rows have the same key values. */
extern bool tsurugi_row_same_key(const tsurugi_row *a, const tsurugi_row *b, Relation relation, unsigned char *key_a,
								 unsigned char *key_b, size_t *key_a_bytes_out);

/* A ctid's block and offset hold a row id: the offset counts from 1. */
#define TSURUGI_ROWS_PER_BLOCK 0x8000

static inline void
tsurugi_row_id_to_tid(uint32_t row, ItemPointer tid)
{
	ItemPointerSet(tid, row / TSURUGI_ROWS_PER_BLOCK, row % TSURUGI_ROWS_PER_BLOCK + 1);
}

static inline uint32_t
tsurugi_row_id_of_tid(const ItemPointerData *tid)
{
	return ItemPointerGetBlockNumberNoCheck(tid) * TSURUGI_ROWS_PER_BLOCK + ItemPointerGetOffsetNumberNoCheck(tid) - 1;
}

/*
 * The ctid that conditions see of a row whose newest version the statement's snapshot does not see
 * (fdw_tid.c).  It leads to the same row id, but no row has it: row ids take the lower bits only.
 */
static inline void
tsurugi_tid_make_other(ItemPointer tid)
{
	ItemPointerSetBlockNumber(tid, ItemPointerGetBlockNumberNoCheck(tid) | (BlockNumber) 1 << 31);
}

#endif /* TSURUGI_ROW_H */
