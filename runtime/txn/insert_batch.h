/*
 * insert_batch.h
 *	  Rows inserted many at a time, by one call.
 */
#ifndef TG_INSERT_BATCH_H
#define TG_INSERT_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/table/store.h"
#include "runtime/txn/wait.h"

#define TG_INSERT_BATCH 64 /* rows at most */

/* A primary key, encoded. */
typedef struct tg_insert_key
{
	const unsigned char *bytes;
	uint32_t count;
} tg_insert_key;

typedef struct tg_insert_batch
{
	tg_row_values values;
	const tg_insert_key *keys; /* of each row; NULL: the table has no primary key */
	unsigned count;			   /* of rows: 1 to TG_INSERT_BATCH */
} tg_insert_batch;

typedef struct tg_insert_result
{
	uint64_t left; /* bits of the rows that the caller goes on with, the least for the first row */
	tg_wait wait;  /* with TG_EXISTS, TG_BUSY: as of tg_txn_insert */
} tg_insert_result;

/*
 * Inserts the rows, as tg_txn_insert does, or tg_txn_insert_apart if the writer has a piece, but
 * for those of which a look has to be taken by itself: these are left, and nothing of them is
 * there.  The caller goes on with them, in their order.  They are rows whose primary key has an
 * entry, the first of rows of one key excepted; and all rows where a LONG may preserve the table,
 * or the writer probes and the table has secondary indexes.
 *
 * TG_EXISTS, TG_BUSY: a secondary index refuses a row that is not left; a caller that wants to know
 * whether it is the first to be refused inserts the rows one by one.  With these and any other
 * status but TG_OK (TG_NO_MEMORY, TG_OVER_QUOTA, TG_FULL, TG_CANCELLED, TG_CONFLICT) some rows may
 * be inserted: the caller takes them back with its (sub)transaction, or piece.
 *
 * Inside an epoch if the writer has a piece, else outside.
 */
extern tg_status tg_txn_insert_batch(const tg_writer *writer, tg_table *table, const tg_insert_batch *batch,
									 tg_insert_result *result_out) TG_MUST_USE;

#endif /* TG_INSERT_BATCH_H */
