/*
 * shared_start.c
 *	  The start of a LONG or READ ONLY transaction that several sessions are going to work in.
 *
 * It starts as a session's own does, except for its snapshot.  The starting session publishes the
 * snapshot, moves it to a job's entry, and withdraws its own, because the session need not outlive
 * the transaction.  A LONG's entry serves as the one that it would publish itself (L1 c), and goes
 * with the last user (shared.c, 6), which is later than L5 requires.
 *
 * The session that starts it is no user.  No other session has the handle yet, so only the lease
 * check can abort it meanwhile.  That happens in the lane, and is found here, also in the lane.
 */
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/shared_internal.h"

#include "runtime/base/failpoint.h"
#include "runtime/sched/park.h"

/* Moves the snapshot, which the session has published, to a job's entry. */
static tg_status
keep_snapshot(tg_session *session, tg_shared *shared, tg_time time, unsigned entry)
{
	bool keeps = !tg_failpoint_refuses("skip_shared_entry");
	tg_status status = keeps ? tg_snapshot_publish_job(time, false, &shared->snapshot_entry) : TG_OK;

	tg_snapshot_withdraw(session, entry);
	if (status != TG_OK)
		return status;
	shared->snapshot = keeps ? time : 0;
	tg_store_relaxed(&shared->drawn_us, tg_clock_us());
	tg_txn_note_snapshot(shared->txn, time);
	tg_shared_renew(shared);
	tg_store_release(&shared->state, TG_SHARED_RUNNING);
	return TG_OK;
}

static tg_status
start_long(tg_session *session, tg_shared *shared, const tg_long_config *config, tg_wait *wait_out)
{
	tg_txn *txn = shared->txn;
	tg_status status = txn->preserve == NULL ? tg_long_publish(session, txn, config) : TG_OK;
	tg_time time;

	if (status == TG_OK)
		status = tg_long_start(session, txn, &time, wait_out);
	return status == TG_OK ? keep_snapshot(session, shared, time, txn->preserve_entry) : status;
}

static tg_status
start_read_only(tg_session *session, tg_shared *shared, const tg_long_config *config, bool deferrable,
				tg_wait *wait_out)
{
	tg_status status = TG_OK;
	unsigned entry;
	tg_time time;

	if (shared->include == NULL)
		status = tg_areas_create(session, config->include, config->include_count, &shared->include);
	if (shared->exclude == NULL && status == TG_OK)
		status = tg_areas_create(session, config->exclude, config->exclude_count, &shared->exclude);
	if (status == TG_OK)
		status =
			tg_snapshot_publish_safe(session, deferrable, shared->include, shared->exclude, &time, &entry, wait_out);
	return status == TG_OK ? keep_snapshot(session, shared, time, entry) : status;
}

tg_status
tg_shared_start(tg_session *session, tg_shared *shared, const tg_long_config *config, bool deferrable,
				tg_wait *wait_out)
{
	bool entered = tg_txn_enter(session, shared->txn);
	tg_status status = TG_STOPPED;

	if (tg_shared_waits_for_start(shared))
		status = shared->kind == TG_TXN_LONG ? start_long(session, shared, config, wait_out)
											 : start_read_only(session, shared, config, deferrable, wait_out);
	tg_txn_leave(session, shared->txn, entered);
	return status;
}

const tg_areas *
tg_shared_include(const tg_shared *shared)
{
	return shared->include;
}

const tg_areas *
tg_shared_exclude(const tg_shared *shared)
{
	return shared->exclude;
}
