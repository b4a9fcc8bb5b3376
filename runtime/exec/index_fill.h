/*
 * index_fill.h
 *	  Hidden values for the versions that an index finds: before it is built.
 *
 * Only the host can compute them.  So the caller walks the versions that have none yet, one at a time: finds the next one,
 * in an epoch; computes, outside; and stores, in another one (or the one in which the next is found).  When the walk is at its end,
 * every version that somebody sees, or may come to see, has its values, and the index can be built (index_build.h).
 *
 * Who else may write meanwhile: as for the build.
 */
#ifndef TG_INDEX_FILL_H
#define TG_INDEX_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/index/index.h"

typedef struct tg_index_fill
{
	tg_index *index;
	bool exclusive;
	unsigned own; /* the caller's transaction */
	tg_time horizon;
	uint32_t chunk_count;
	uint32_t chunk; /* where the walk is */
	unsigned slot;
	tg_time end; /* of the version found last, if it has one: it is there for old snapshots alone; else 0 */
} tg_index_fill;

extern void tg_index_fill_begin(tg_session *session, tg_index_fill *fill, tg_index *index, bool exclusive);

/* Whether the version found last would be passed by if the host did not keep it (tg_horizon_keep). */
static inline bool
tg_index_fill_is_kept(const tg_index_fill *fill)
{
	return fill->end != 0 && tg_horizon_is_kept_before(fill->end);
}

/* Perhaps nobody needs what has ended any more: looks for it again. */
static inline void
tg_index_fill_renew(tg_index_fill *fill)
{
	fill->horizon = tg_horizon_compute();
}

static inline bool
tg_index_fill_is_over(const tg_index_fill *fill)
{
	return fill->chunk >= fill->chunk_count;
}

/*
 * The next version without values.  NONE: there is none up to the end of a chunk; go on unless it is over.  Inside an epoch,
 * as long as the version is looked at.
 */
extern tg_version tg_index_fill_next(tg_index_fill *fill);

/*
 * Stores the values of the version found last, and goes on to the one behind it; not of one that has gone meanwhile.
 * Inside an epoch.  TG_NO_MEMORY.
 */
extern tg_status tg_index_fill_put(tg_session *session, tg_index_fill *fill, const tg_value *values,
								   const bool *nulls) TG_MUST_USE;

#endif /* TG_INDEX_FILL_H */
