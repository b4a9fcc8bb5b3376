/*
 * ranks.h
 *	  The ranks of a storage's values, as definitions.
 *
 * When a value is logged, and what a load does with it: index/dictionary_log.c.
 */
#ifndef TG_RANKS_H
#define TG_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/order/key.h"

typedef struct tg_bytes tg_bytes;		  /* bytes.h */
typedef struct tg_rank_walk tg_rank_walk; /* dictionary.h */
typedef struct tg_ranked tg_ranked;		  /* dictionary.h */

/*
 * Appends a value with its rank in a dictionary of the table.  TG_NO_MEMORY: nothing was appended.
 */
extern tg_status tg_rank_write(const tg_table *table, tg_ranking way, const tg_ranked *ranked,
							   tg_bytes *bytes) TG_MUST_USE;

/*
 * Appends what a walk meets next, until the buffer has bytes_max bytes or more, or until the end:
 * then *more_out is false.  Outside an epoch.  TG_NO_MEMORY: the value met last is missing.
 */
extern tg_status tg_ranks_write(tg_session *session, tg_rank_walk *walk, size_t bytes_max, tg_bytes *bytes,
								bool *more_out) TG_MUST_USE;

#endif /* TG_RANKS_H */
