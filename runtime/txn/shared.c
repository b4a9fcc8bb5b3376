/*
 * shared.c
 *	  Transactions that several sessions work in.
 *
 *	  WAITING (LONG, READ ONLY; its abort is as RUNNING's)
 *	     | tg_shared_start
 *	     v                  commit: the only user
 *	  RUNNING --------------------------------------> COMMITTING --> AVAILABLE --> STORED
 *	     |                                                |			(the host knows up to
 *	     | abort, a commit beside another user,           |			 where its log is
 *	     | the lease is over                              |			 flushed)
 *	     v                                                v not serializable
 *	  ABORTING --(the last user has left)--> ABORTED <----+
 *
 * 1. A session that works in the transaction is a user (ending.h), and changes it in its lane.  The
 *	  lane says which session works now; the word counts those that are at work or about to be.  The
 *	  session that the word tells to end the transaction does so in the lane: in place if the lane
 *	  is free or its own, otherwise as the lane's next operation (the other queued operations find
 *	  that the transaction is ending, and do nothing).
 * 2. A snapshot of the transaction's own is published in a job's entry, because no session is
 *	  certain to outlive it.  A session that works in it publishes another one, for versions that it
 *	  meets and that are newer (tg_snapshot_hold).  The entry stays at the first moment when the
 *	  snapshot is extended: other sessions may have scans that go on at that.
 * 3. One session commits it: C, validation, COMMITTED.  The validation may have to wait for the
 *	  outcome of another transaction, perhaps for as long as the host commits that.  So it is made
 *	  in steps, each in the lane, and the session waits outside.  It stays the only user meanwhile.
 * 4. A place is given away when no session has it open any more, and its outcome has been kept as
 *	  long as the lease or the same role needs the place (shared_place.c).  So an open tg_shared
 *	  keeps its identity.  Nor is a place given away while its lane has work, or is about to get
 *	  some.
 * 5. An owner does not wait until other users leave (tg_shared_abandon), nor does an administrator
 *	  that ends the transaction.  The abort is done in the lane at once, and the user that the word
 *	  tells to do it, later, finds it done.  It is done under the flag of an abort alone: once the
 *	  flag of a commit is set, only the committer ends it.  Until the users leave, they find nothing
 *	  of it: its writes are undone, and no other transaction has its number while they have it open
 *	  (4).  What tasks write for users is called in first (loan.c, 4).
 * 6. The objects that users may use outside the lane until they leave are freed with the last of
 *	  them: the user that is told to end the transaction, or has committed it, gives back the read
 *	  set, declared areas and the snapshot; no other session does.
 * 7. A session that waits for the end sets its waiter, and then looks whether the transaction has
 *	  ended.  The session that ends it sets the state, and then looks for waiters.  There is a full
 *	  fence between the two steps on either side, so one of them sees the other.
 */
#include "runtime/txn/shared_internal.h"

#include <stddef.h>
#include <string.h>

#include "runtime/mem/arena.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/sched/park.h"
#include "runtime/index/rank_holders.h"
#include "runtime/txn/ending.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/shared_operation.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/writer.h"

tg_shareds *tg_shared_all; /* set by tg_shared_create, inherited */

tg_status
tg_shared_create(tg_session *session, unsigned first_txn)
{
	tg_shared_all = tg_alloc_zeroed(session, sizeof(*tg_shared_all) + first_txn * sizeof(tg_shared_waiter),
									TG_USE_RUNTIME, TG_DATA);
	if (tg_shared_all == NULL)
		return TG_NO_MEMORY;
	tg_latch_init(&tg_shared_all->latch, TG_RANK_SHARED);
	tg_shared_all->first_txn = first_txn;
	return TG_OK;
}

bool
tg_wait_is_for_shared(const tg_wait *wait)
{
	return (wait->host & TG_HOST_SHARED) != 0;
}

void
tg_shared_renew(tg_shared *shared)
{
	tg_store_relaxed(&shared->deadline_us, tg_clock_us() + shared->lease_us);
}

/* --- reading one that is open --------------------------------------------------------------- */

tg_lane *
tg_shared_lane(tg_shared *shared)
{
	return &shared->txn->lane;
}

tg_reads *
tg_shared_reads(tg_shared *shared)
{
	return shared->reads;
}

tg_txn *
tg_shared_txn(tg_shared *shared)
{
	return shared->txn;
}

uint32_t
tg_shared_command(const tg_shared *shared)
{
	return shared->command;
}

void
tg_shared_set_command(tg_shared *shared, uint32_t command)
{
	shared->command = command;
}

bool
tg_shared_may_write(const tg_shared *shared, uint32_t relation)
{
	for (unsigned i = 0; i < shared->table_count; i++)
		if (shared->tables[i] == relation)
			return true;
	return shared->table_count == 0;
}

tg_status
tg_shared_judge(const tg_shared *shared, const tg_table *table)
{
	if (tg_shared_has_ended(shared))
		return TG_STOPPED;
	if (table == NULL)
		return TG_OK;
	return shared->kind != TG_TXN_READ_ONLY && tg_shared_may_write(shared, table->relation) ? TG_OK : TG_FORBIDDEN;
}

/* --- waiting for the end ------------------------------------------------------------------ */

void
tg_shared_wait_begin(tg_session *session, const tg_wait *wait, void *waiter)
{
	tg_shared_waiter *mine = &tg_shared_all->waiters[session->id];

	tg_store_relaxed(&mine->waiter, waiter);
	tg_store_then_fence(&mine->host, wait->host);
}

void
tg_shared_wait_end(tg_session *session)
{
	tg_store_relaxed(&tg_shared_all->waiters[session->id].host, 0);
}

/* Rule 7.  The descriptor is idle, and the state is that of an end. */
static void
wake_waiters(const tg_shared *shared)
{
	tg_fence_seq_cst();
	for (unsigned id = 0; id < tg_shared_all->first_txn; id++)
	{
		const tg_shared_waiter *other = &tg_shared_all->waiters[id];

		if (tg_load_acquire(&other->host) == shared->host && !tg_failpoint_refuses("skip_shared_wake"))
			tg_host_wake(tg_load_relaxed(&other->waiter));
	}
}

/* --- ending; in the lane --------------------------------------------------------------------- */

/* Notes the reason of an abort, the first one only.  Under the latch. */
static void
note_reason(tg_shared *shared, tg_shared_reason reason, const char *text)
{
	if (shared->reason != TG_SHARED_NOT_ABORTED)
		return;
	shared->reason = reason;
	if (text != NULL)
		strncpy(shared->text, text, sizeof(shared->text) - 1);
	shared->text[sizeof(shared->text) - 1] = '\0';
}

/* Sets the flag, and the reason if it is the first.  Returns as tg_ending_abort. */
static bool
begin_abort(tg_shared *shared, tg_shared_reason reason, const char *text)
{
	bool told = false;

	tg_latch_acquire(&tg_shared_all->latch);
	if (tg_ending_is_open(tg_load_relaxed(&shared->ending)))
	{
		note_reason(shared, reason, text);
		told = tg_ending_abort(&shared->ending) || tg_failpoint_refuses("skip_put_off");
	}
	tg_latch_release(&tg_shared_all->latch);
	return told;
}

/* Rule 6. */
static void
forget_work(tg_session *session, tg_shared *shared)
{
	if (shared->reads != NULL)
		tg_reads_destroy(session, shared->reads);
	shared->reads = NULL;
	tg_areas_destroy(session, shared->include);
	tg_areas_destroy(session, shared->exclude);
	shared->include = shared->exclude = NULL;
	if (shared->snapshot != 0)
		tg_snapshot_withdraw_job(shared->snapshot_entry);
	shared->snapshot = 0;
	tg_rank_let_go(tg_txn_number(shared->txn));
	if (shared->kind == TG_TXN_LONG)
		tg_long_tidy(session);
}

static void
abort_work(tg_session *session, tg_shared *shared)
{
	if (tg_shared_has_ended(shared))
		return; /* rule 5 */
	tg_store_release(&shared->state, TG_SHARED_ABORTING);
	tg_failpoint("shared_aborting");
	tg_loans_call_in(session, shared->txn); /* if users are there: rule 5 */
	tg_txn_abort(session, shared->txn);
	tg_shared_renew(shared);
	tg_store_release(&shared->state, TG_SHARED_ABORTED);
	wake_waiters(shared);
}

static void
end_work(tg_session *session, tg_shared *shared)
{
	abort_work(session, shared);
	forget_work(session, shared);
}

static void
run_end(tg_operation *operation, tg_session *session)
{
	end_work(session, (tg_shared *) ((char *) operation - offsetof(tg_shared, end)));
}

/* For the session that has been told to abort it.  Rule 1. */
static void
end_by_abort(tg_session *session, tg_shared *shared)
{
	tg_lane *lane = tg_shared_lane(shared);
	unsigned round = 0;

	if (session->lane == lane)
	{
		end_work(session, shared);
		return;
	}
	shared->end.run = run_end;
	while (!tg_lane_enter(session, lane))
	{
		if (tg_lane_submit(session, lane, &shared->end) == TG_OK)
			return;
		/* the pool is stopping: the session in the lane runs the queue, and leaves */
		tg_spin(&round);
	}
	end_work(session, shared);
	tg_lane_leave(session, lane);
}

static void
stop_using(tg_session *session, tg_shared *shared)
{
	if (tg_ending_leave(&shared->ending))
		end_by_abort(session, shared);
}

void
tg_shared_abort(tg_session *session, tg_shared *shared, tg_shared_reason reason, const char *text)
{
	if (begin_abort(shared, reason, text))
		end_by_abort(session, shared);
}

bool
tg_shared_abandon(tg_session *session, tg_shared *shared, tg_shared_reason reason)
{
	bool told = begin_abort(shared, reason, NULL);
	bool entered;

	if ((tg_load_acquire(&shared->ending) & TG_GOING_TO_ABORT) == 0 && !tg_failpoint_refuses("skip_committing"))
		return tg_shared_has_ended(shared);
	entered = tg_txn_enter(session, shared->txn);
	abort_work(session, shared);
	if (told || tg_failpoint_refuses("forget_early"))
		forget_work(session, shared);
	tg_txn_leave(session, shared->txn, entered);
	return true;
}

tg_status
tg_shared_hold(tg_shared *shared)
{
	return tg_ending_use(&shared->ending) ? TG_OK : TG_STOPPED;
}

void
tg_shared_let_go(tg_session *session, tg_shared *shared)
{
	tg_shared_renew(shared);
	stop_using(session, shared);
}

/* --- operations ------------------------------------------------------------------------------ */

/*
 * Takes the lane, then becomes a user; end_turn gives both back in the reverse order.  So a session
 * that commits, in the lane, finds no user that has only just come or is about to go.
 * *entered_out: the session was not in the lane before.
 */
static tg_status
take_turn(tg_session *session, tg_shared *shared, bool *entered_out)
{
	tg_lane *lane = tg_shared_lane(shared);

	*entered_out = session->lane != lane;
	if (*entered_out && !tg_lane_enter(session, lane))
		return TG_BUSY;
	if (tg_shared_waits_for_start(shared))
	{
		if (*entered_out)
			tg_lane_leave(session, lane);
		return TG_BUSY;
	}
	if (tg_ending_use(&shared->ending))
		return TG_OK;
	if (*entered_out)
		tg_lane_leave(session, lane);
	return TG_STOPPED;
}

static void
end_turn(tg_session *session, tg_shared *shared, bool entered)
{
	stop_using(session, shared);
	if (entered)
		tg_lane_leave(session, tg_shared_lane(shared));
}

/* Keeps a snapshot, which the session has published, in a job's entry. */
static tg_status
keep_time(tg_shared *shared, tg_time time, bool from)
{
	tg_status status = tg_snapshot_publish_job(time, from, &shared->snapshot_entry);

	if (status != TG_OK)
		return status;
	shared->snapshot = time;
	tg_store_relaxed(&shared->drawn_us, tg_clock_us());
	return TG_OK;
}

/*
 * Publishes the operation's snapshot, and above READ COMMITTED the transaction's, while the former
 * stands.
 */
static tg_status
publish(tg_session *session, tg_shared *shared, tg_time *time_out)
{
	tg_status status = TG_OK;

	*time_out = tg_shared_tracks(shared) ? tg_snapshot_publish_from(session, &shared->operation_entry)
										 : tg_snapshot_publish(session, &shared->operation_entry);
	if (shared->isolation == TG_READ_COMMITTED)
		return TG_OK;
	if (shared->snapshot == 0 && tg_failpoint_refuses("skip_shared_entry"))
		return TG_OK;
	if (shared->snapshot == 0)
	{
		status = keep_time(shared, *time_out, tg_shared_tracks(shared));
		if (status != TG_OK)
			tg_snapshot_withdraw(session, shared->operation_entry);
	}
	*time_out = shared->snapshot;
	return status;
}

tg_status
tg_shared_enter(tg_session *session, tg_shared *shared, tg_claim claim, tg_writer *writer_out,
				tg_snapshot *snapshot_out)
{
	tg_status status;
	tg_time time;
	bool entered;

	status = take_turn(session, shared, &entered);
	if (status != TG_OK)
		return status;
	tg_failpoint("shared_entered");
	status = publish(session, shared, &time);
	if (status != TG_OK)
	{
		end_turn(session, shared, entered);
		return status;
	}
	shared->entered = entered;
	shared->command++;
	tg_txn_note_snapshot(shared->txn, time);
	*writer_out = (tg_writer){.session = session, .txn = shared->txn, .command = shared->command, .claim = claim};
	*snapshot_out = (tg_snapshot){.time = time, .txn = tg_txn_number(shared->txn), .command = shared->command};
	return TG_OK;
}

tg_status
tg_shared_draw(tg_session *session, tg_shared *shared, tg_time *time_out, unsigned *entry_out)
{
	bool entered = tg_txn_enter(session, shared->txn);
	tg_status status = tg_shared_has_ended(shared) ? TG_STOPPED : publish(session, shared, time_out);

	*entry_out = shared->operation_entry;
	if (status == TG_OK)
		tg_txn_note_snapshot(shared->txn, *time_out);
	tg_txn_leave(session, shared->txn, entered);
	return status;
}

tg_status
tg_shared_draw_at(tg_session *session, tg_shared *shared, tg_time time, bool from)
{
	bool entered = tg_txn_enter(session, shared->txn);
	tg_status status = TG_OK;

	tg_assert(from || !tg_shared_tracks(shared));
	if (tg_shared_has_ended(shared))
		status = TG_STOPPED;
	else if (shared->snapshot == 0 && !tg_failpoint_refuses("skip_shared_entry"))
		status = keep_time(shared, time, from);
	tg_txn_leave(session, shared->txn, entered);
	return status;
}

uint64_t
tg_shared_snapshot_age_us(const tg_shared *shared)
{
	return tg_clock_us() - tg_load_relaxed(&shared->drawn_us);
}

void
tg_shared_set_snapshot(tg_shared *shared, tg_time time)
{
	shared->snapshot = time;
	tg_store_relaxed(&shared->drawn_us, tg_clock_us());
	tg_txn_note_snapshot(shared->txn, time);
}

void
tg_shared_leave(tg_session *session, tg_shared *shared)
{
	bool entered = shared->entered;

	tg_assert(session->lane == tg_shared_lane(shared));
	tg_snapshot_withdraw(session, shared->operation_entry);
	tg_shared_renew(shared);
	end_turn(session, shared, entered);
}

/* The part of the end that can fail, or its next step: S1 to S4. */
static tg_status
validate(tg_session *session, tg_shared *shared, tg_wait *wait_out)
{
	tg_status status;

	if (!tg_shared_tracks(shared))
		return TG_OK;
	if (!tg_txn_has_writes(shared->txn))
		return shared->snapshot == 0
				   ? TG_OK
				   : tg_reads_check_snapshot(session, shared->reads, shared->snapshot, &shared->conflict);
	status = tg_validation_step(session, shared->reads, &shared->conflict, wait_out);
	return status == TG_CHANGED ? TG_CONFLICT : status;
}

/* Aborts a transaction that was going to commit. */
static void
end_unprepared(tg_session *session, tg_shared *shared, tg_shared_reason reason)
{
	tg_latch_acquire(&tg_shared_all->latch);
	note_reason(shared, reason, NULL);
	tg_latch_release(&tg_shared_all->latch);
	end_work(session, shared);
}

/* As tg_ending_commit. */
static bool
begin_commit(tg_shared *shared)
{
	bool alone;

	tg_latch_acquire(&tg_shared_all->latch);
	alone = tg_ending_commit(&shared->ending);
	if (tg_failpoint_refuses("skip_users"))
		alone = true;
	if (!alone)
		/* unless it was going to be aborted already */
		note_reason(shared, TG_SHARED_REFUSED, NULL);
	tg_latch_release(&tg_shared_all->latch);
	return alone;
}

tg_status
tg_shared_prepare(tg_session *session, tg_shared *shared)
{
	tg_status status;
	bool entered;

	status = take_turn(session, shared, &entered);
	if (status != TG_OK)
		return status;
	if (!begin_commit(shared))
	{
		end_turn(session, shared, entered);
		return TG_STOPPED;
	}
	tg_store_release(&shared->state, TG_SHARED_COMMITTING);
	tg_failpoint("shared_committing");
	/* also one that has read nothing: H2 */
	if (tg_shared_tracks(shared) && tg_txn_has_writes(shared->txn))
		tg_txn_prepare(session, shared->txn, shared->snapshot);
	tg_txn_leave(session, shared->txn, entered); /* it stays the only user: no others come */
	return TG_OK;
}

tg_status
tg_shared_validate(tg_session *session, tg_shared *shared, tg_wait *wait_out)
{
	bool entered = tg_txn_enter(session, shared->txn);
	tg_status status = validate(session, shared, wait_out);

	if (status == TG_CONFLICT)
	{
		end_unprepared(session, shared, TG_SHARED_CONFLICTED);
		end_turn(session, shared, entered);
	}
	else
		tg_txn_leave(session, shared->txn, entered);
	return status;
}

void
tg_shared_note_logged(tg_shared *shared, uint64_t position)
{
	shared->logged = position;
}

void
tg_shared_finish(tg_session *session, tg_shared *shared, bool commits)
{
	bool entered = tg_txn_enter(session, shared->txn);

	if (commits)
	{
		tg_txn_commit(session, shared->txn);
		tg_store_release(&shared->state, TG_SHARED_AVAILABLE);
		tg_failpoint("shared_available");
		forget_work(session, shared);
		tg_shared_renew(shared);
		tg_store_release(&shared->state, TG_SHARED_STORED);
		wake_waiters(shared);
	}
	else
		end_unprepared(session, shared, TG_SHARED_GIVEN_UP);
	end_turn(session, shared, entered);
}

tg_status
tg_shared_commit(tg_session *session, tg_shared *shared)
{
	tg_status status = tg_shared_prepare(session, shared);
	unsigned round = 0;
	tg_wait wait;

	if (status != TG_OK)
		return status;
	while ((status = tg_shared_validate(session, shared, &wait)) == TG_AGAIN || status == TG_BUSY)
		if (status == TG_BUSY)
			tg_spin(&round);
	if (status == TG_OK)
		tg_shared_finish(session, shared, true);
	return status;
}

/* --- leases ---------------------------------------------------------------------------------- */

void
tg_shared_look_at_leases(tg_session *session)
{
	uint64_t now = tg_clock_us();

	for (unsigned i = 0; i < TG_SHARED_MAX; i++)
	{
		tg_shared *shared = &tg_shared_all->place[i];
		bool is_over = false;

		tg_latch_acquire(&tg_shared_all->latch);
		/* A session at work holds the lease; so does the session that starts it. */
		if (shared->in_use && tg_load_relaxed(&shared->deadline_us) <= now && !tg_shared_waits_for_start(shared) &&
			(tg_ending_users(tg_load_acquire(&shared->ending)) == 0 || tg_failpoint_refuses("skip_lease_of_users")))
		{
			is_over = tg_ending_abort(&shared->ending);
			if (is_over)
			{
				note_reason(shared, TG_SHARED_EXPIRED, NULL);
				shared->open_count++; /* rule 4 */
			}
			else if (tg_shared_may_go(shared, now))
				shared->in_use = false;
		}
		tg_latch_release(&tg_shared_all->latch);
		if (is_over)
		{
			end_by_abort(session, shared);
			tg_shared_close(shared);
		}
	}
}

bool
tg_shared_abandon_leased(tg_session *session, tg_shared_reason reason,
						 bool (*is_concerned)(uint64_t role, uint64_t argument), uint64_t argument)
{
	bool all = true;

	for (unsigned i = 0; i < TG_SHARED_MAX; i++)
	{
		tg_shared *shared = &tg_shared_all->place[i];
		bool is_leased;

		tg_latch_acquire(&tg_shared_all->latch);
		is_leased = shared->in_use && shared->owner == 0 && !tg_shared_has_ended(shared) &&
					(is_concerned == NULL || is_concerned(shared->role, argument));
		if (is_leased)
			shared->open_count++; /* rule 4 */
		tg_latch_release(&tg_shared_all->latch);
		if (!is_leased)
			continue;
		all &= tg_shared_abandon(session, shared, reason);
		tg_shared_close(shared);
	}
	return all;
}

void
tg_shared_forget(tg_shared *shared)
{
	if (tg_shared_has_ended(shared))
		tg_store_relaxed(&shared->deadline_us, 0);
}
