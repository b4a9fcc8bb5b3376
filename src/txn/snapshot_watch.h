/*
 * snapshot_watch.h
 *	  Old snapshots that keep garbage: reported in the log, shown in views, ended.
 */
#ifndef TSURUGI_SNAPSHOT_WATCH_H
#define TSURUGI_SNAPSHOT_WATCH_H

#include "postgres.h"

#include "datatype/timestamp.h"

#include "runtime/base/check.h"
#include "runtime/base/names.h"

/* Defines its settings, when the library is loaded. */
extern void tsurugi_snapshot_watch_init(void);

/*
 * Called by the worker's main thread, about twice a second: writes a line to the log for each new
 * snapshot that holds too much.
 */
extern void tsurugi_snapshot_watch(void);

/*
 * The oldest time that is read at, and its reader: a process, or 0 for the sessions of a shared
 * transaction.  False: there is none.
 */
extern bool tsurugi_snapshot_oldest(int *process_out, tg_time *time_out);

extern int tsurugi_snapshot_age_limit_ms;

/* The slow half of tsurugi_snapshot_check_age. */
extern void tsurugi_snapshot_check_age_of(TimestampTz taken);

/*
 * Raises 72000 if a snapshot taken then is older than snapshot_age_limit and this session's oldest
 * snapshot keeps garbage.  The caller holds no latch and no epoch.
 */
static inline void
tsurugi_snapshot_check_age(TimestampTz taken)
{
	if (tg_unlikely(tsurugi_snapshot_age_limit_ms > 0))
		tsurugi_snapshot_check_age_of(taken);
}

#endif /* TSURUGI_SNAPSHOT_WATCH_H */
