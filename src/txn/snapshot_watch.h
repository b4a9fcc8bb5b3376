/*
 * snapshot_watch.h
 *	  Old snapshots that keep garbage: told in the log, shown in views, ended.
 */
#ifndef TSURUGI_SNAPSHOT_WATCH_H
#define TSURUGI_SNAPSHOT_WATCH_H

#include "postgres.h"

#include "datatype/timestamp.h"

#include "runtime/runtime.h"

/* Defines its settings, at load. */
extern void tsurugi_snapshot_watch_init(void);

/* By the worker's main thread, about twice a second: a line in the log for each new snapshot that holds too much. */
extern void tsurugi_snapshot_watch(void);

/* Who reads at the oldest time: a process, or 0, several sessions that work in one transaction; and that time.  False: nobody. */
extern bool tsurugi_snapshot_oldest(int *process_out, tg_time *time_out);

extern int tsurugi_snapshot_age_limit_ms;

/* The slow half of tsurugi_snapshot_check_age. */
extern void tsurugi_snapshot_check_age_of(TimestampTz taken);

/*
 * Raises 72000 if a snapshot taken then is older than snapshot_age_limit, and in the
 * way: this session's oldest one keeps garbage.  Where nothing is held.
 */
static inline void
tsurugi_snapshot_check_age(TimestampTz taken)
{
	if (tg_unlikely(tsurugi_snapshot_age_limit_ms > 0))
		tsurugi_snapshot_check_age_of(taken);
}

#endif /* TSURUGI_SNAPSHOT_WATCH_H */
