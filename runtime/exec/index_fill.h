/*
 * index_fill.h
 *	  Hidden values for the versions that an index finds, before it is built.
 *
 * Only the host can compute these values.  So the caller walks the versions that have none yet, one
 * at a time.  It finds the next version inside an epoch, computes outside, and stores inside
 * another epoch (or the one in which it finds the next version).  At the end of the walk, every
 * version that a snapshot sees, or may come to see, has its values, and the index can be built
 * (index_build.h).
 *
 * Other transactions may write meanwhile under the same rules as for the build.
 */
#ifndef TG_INDEX_FILL_H
#define TG_INDEX_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/order/value.h"
#include "runtime/reclaim/horizon.h"

typedef struct tg_index_fill
{
	tg_index *index;
	bool exclusive;
	unsigned own; /* the caller's transaction */
	tg_time horizon;
	uint32_t chunk_count;
	uint32_t chunk; /* where the walk is */
	unsigned slot;
	tg_time end; /* end of the version found last, if only old snapshots see that version; else 0 */
} tg_index_fill;

extern void tg_index_fill_begin(tg_session *session, tg_index_fill *fill, tg_index *index, bool exclusive);

/* Whether the version found last would be skipped if the host did not keep it (tg_horizon_keep). */
static inline bool
tg_index_fill_is_kept(const tg_index_fill *fill)
{
	return fill->end != 0 && tg_horizon_is_kept_before(fill->end);
}

/* Looks again for the present horizon: versions that have ended may not be needed any more. */
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
 * The next version without values.  NONE: the chunk has no more; call again unless the walk is
 * over.  The caller stays inside the epoch for as long as it looks at the version.
 */
extern tg_version tg_index_fill_next(tg_index_fill *fill);

/*
 * Stores the values of the version found last, unless it has been removed meanwhile, and goes on to
 * the next one.  Inside an epoch.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_index_fill_put(tg_session *session, tg_index_fill *fill, const tg_value *values,
								   const bool *nulls) TG_MUST_USE;

#endif /* TG_INDEX_FILL_H */
