/*
 * spill.h
 *	  What a query has no memory for: rows in temporary files.
 */
#ifndef TG_SPILL_H
#define TG_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/query/query_internal.h"


/* Copies where the query may spill to; called once, by its maker.  TG_NO_MEMORY. */
extern tg_status tg_spill_create(tg_session *session, tg_query *query, const tg_spill_config *config) TG_MUST_USE;

/*
 * So many bytes of the files, which nobody else gets; *at_out is where they begin.  They count as
 * the present step's.  TG_IO: the limit does not allow them, which is noted as the query's fault.
 */
extern tg_status tg_spill_reserve(tg_query *query, uint64_t bytes, uint64_t *at_out) TG_MUST_USE;

/*
 * Writes and reads what was reserved.  Any thread of any process, without waiting for others.
 * TG_IO: the fault is noted; TG_CANCELLED.
 */
extern tg_status tg_spill_write(tg_query *query, uint64_t at, const void *data, size_t bytes) TG_MUST_USE;
extern tg_status tg_spill_read(tg_query *query, uint64_t at, void *data, size_t bytes) TG_MUST_USE;

/* Removes the files.  No task is in a turn, and none will write. */
extern void tg_spill_remove(tg_query *query);

/* Rows that are written one behind the other. */
typedef struct tg_spill_writer
{
	tg_query *query;
	uint64_t at;
	size_t used;
	unsigned char bytes[32 << 10];
} tg_spill_writer;

static inline void
tg_spill_writer_init(tg_spill_writer *writer, tg_query *query, uint64_t at)
{
	writer->query = query;
	writer->at = at;
	writer->used = 0;
}

extern tg_status tg_spill_put(tg_spill_writer *writer, const void *row, size_t bytes) TG_MUST_USE;
/* Writes what was put and is not written yet. */
extern tg_status tg_spill_end(tg_spill_writer *writer) TG_MUST_USE;

#endif /* TG_SPILL_H */
