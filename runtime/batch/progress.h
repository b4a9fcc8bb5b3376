/*
 * progress.h
 *	  How far a batch is: counters that whoever works for it adds to, and anybody reads.
 */
#ifndef TG_BATCH_PROGRESS_H
#define TG_BATCH_PROGRESS_H

#include <stdint.h>

#include "runtime/base/atomic.h"

/* All atomic and relaxed: they order nothing, and need not fit one another at any moment. */
typedef struct tg_batch_progress
{
	uint64_t files;
	uint64_t blocks;
	uint64_t bytes;
	uint64_t rows; /* in transactions that are committed, or in the requester's */
	uint64_t transactions;
} tg_batch_progress;

static inline void
tg_batch_progress_clear(tg_batch_progress *progress)
{
	tg_store_relaxed(&progress->files, 0);
	tg_store_relaxed(&progress->blocks, 0);
	tg_store_relaxed(&progress->bytes, 0);
	tg_store_relaxed(&progress->rows, 0);
	tg_store_relaxed(&progress->transactions, 0);
}

#endif /* TG_BATCH_PROGRESS_H */
