/*
 * base_ranks.h
 *	  The ranks of the host's values that the journal has, for a base of tables that follow it.
 *
 * In the process's memory.  One thread at a time.
 */
#ifndef TG_BASE_RANKS_H
#define TG_BASE_RANKS_H

#include "runtime/durable/base_internal.h"

typedef struct tg_base_ranks tg_base_ranks;

/*
 * To read the journal from the former base's least position up to begin.  former: as of the call.
 * The directory's name and the manifest stay.  TG_NO_MEMORY.
 */
extern tg_status tg_base_ranks_begin(const char *journal, uint64_t system, const tg_manifest *former, uint64_t begin,
									 tg_base_ranks **ranks_out) TG_MUST_USE;
extern void tg_base_ranks_end(tg_base_ranks *ranks);

/* Reads some milliseconds long.  TG_AGAIN: there is more; TG_DAMAGED, TG_IO, TG_NO_MEMORY. */
extern tg_status tg_base_ranks_step(tg_base_ranks *ranks, tg_file_error *error_out) TG_MUST_USE;

/*
 * All was read: the ranks of a storage, as definitions in the order of the log; they are the
 * caller's, once.
 */
extern tg_bytes tg_base_ranks_take(tg_base_ranks *ranks, uint64_t storage);

#endif /* TG_BASE_RANKS_H */
