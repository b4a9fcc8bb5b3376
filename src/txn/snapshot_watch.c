/*
 * snapshot_watch.c
 *	  Old snapshots that keep garbage: reported in the log, shown in views, ended.
 *
 * A snapshot keeps, of each row that has changed since, the one version that it sees.  The
 * collector knows, by the snapshot's time, how many versions that are.  The worker looks at this
 * number now and then and reports it in the log, once for each snapshot.  A reader ends itself: if
 * snapshot_age_limit is set, it tests the age of its snapshot before each batch of rows and at the
 * start of each statement.  So a session that is idle in a transaction is ended by its next
 * statement; idle_in_transaction_session_timeout is for sessions that do not come back.
 */
#include "postgres.h"

#include "src/txn/snapshot_watch.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "runtime/mem/session.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/horizon.h"
#include "src/base/session.h"
#include "src/base/session_owner.h"
#include "src/txn/snapshot.h"

#define TOLD_MAX 64 /* reported snapshots that are still there */

int tsurugi_snapshot_age_limit_ms;
static int held_versions_warning;

void
tsurugi_snapshot_watch_init(void)
{
	DefineCustomIntVariable("tsurugi_fdw.held_versions_warning",
							"Row versions kept for one snapshot from which on the log tells of it, once.",
							"0 is never.", &held_versions_warning, 1000000, 0, INT_MAX, PGC_SIGHUP, 0, NULL, NULL,
							NULL);
	DefineCustomIntVariable("tsurugi_fdw.snapshot_age_limit",
							"Age from which on a snapshot that keeps garbage may not be read with any more.",
							"Its statement fails with \"snapshot too old\".  0 is no limit.",
							&tsurugi_snapshot_age_limit_ms, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
}

/*
 * The oldest time of a session or, with the id behind all of them, of the snapshots that belong to
 * no session.
 */
static tg_time
oldest_of(unsigned id)
{
	return id < tg_session_max() ? tg_snapshot_oldest(id) : tg_snapshot_oldest_job();
}

static int
process_of(unsigned id)
{
	return id < tg_session_max() ? tsurugi_session_owner_get(id).process_id : 0;
}

bool
tsurugi_snapshot_oldest(int *process_out, tg_time *time_out)
{
	*time_out = 0;
	for (unsigned id = 0; id <= tg_session_max(); id++)
	{
		tg_time time = oldest_of(id);

		if (time == 0 || (*time_out != 0 && time >= *time_out))
			continue;
		*time_out = time;
		*process_out = process_of(id);
	}
	return *time_out != 0;
}

/* --- the log ------------------------------------------------------------------- */

/* Used by the worker's main thread only. */
static struct
{
	unsigned session;
	tg_time time;
} told[TOLD_MAX];
static unsigned told_count;

/*
 * Forgets the reported snapshots that are gone.  Returns whether this one was reported: a job's
 * snapshot may be its session's, too.
 */
static bool
was_told(unsigned session, tg_time time)
{
	unsigned left = 0;
	bool found = false;

	for (unsigned i = 0; i < told_count; i++)
	{
		if (oldest_of(told[i].session) != told[i].time)
			continue;
		told[left++] = told[i];
		found = found || (told[i].time == time && (told[i].session == session || session == tg_session_max()));
	}
	told_count = left;
	return found;
}

void
tsurugi_snapshot_watch(void)
{
	if (held_versions_warning == 0)
		return;
	for (unsigned id = 0; id <= tg_session_max(); id++)
	{
		tg_time time = oldest_of(id);
		uint64_t held = time != 0 ? tg_collector_held_for(time) : 0;

		if (held < (uint64_t) held_versions_warning || was_told(id, time) || told_count == TOLD_MAX)
			continue;
		told[told_count].session = id;
		told[told_count++].time = time;
		if (id == tg_session_max())
			ereport(
				LOG,
				(errmsg(
					 "a snapshot of a transaction of several sessions keeps %llu row versions of tsurugi_fdw from being collected",
					 (unsigned long long) held),
				 errhint("See tsurugi.shared_transactions.")));
		else if (process_of(id) != 0)
			ereport(LOG, (errmsg("a snapshot of process %d keeps %llu row versions of tsurugi_fdw from being collected",
								 process_of(id), (unsigned long long) held),
						  errhint("End its transaction, or set tsurugi_fdw.snapshot_age_limit.")));
	}
}

/* --- the limit -------------------------------------------------------------------- */

void
tsurugi_snapshot_check_age_of(TimestampTz taken)
{
	tg_time oldest;

	if (taken == 0 || !TimestampDifferenceExceeds(taken, GetCurrentTimestamp(), tsurugi_snapshot_age_limit_ms))
		return;
	oldest = tg_snapshot_oldest(tsurugi_session()->id);
	/* The snapshot of a shared transaction is not among this session's. */
	if (tsurugi_snapshot_time() != 0 && tsurugi_snapshot_time() < oldest)
		oldest = tsurugi_snapshot_time();
	if (oldest == 0 || tg_collector_held_for(oldest) == 0)
		return;
	ereport(ERROR, (errcode(ERRCODE_SNAPSHOT_TOO_OLD), errmsg("snapshot too old"),
					errdetail("It keeps row versions that have been replaced, for longer than the limit of %d ms.",
							  tsurugi_snapshot_age_limit_ms),
					errhint("See tsurugi_fdw.snapshot_age_limit.")));
}
