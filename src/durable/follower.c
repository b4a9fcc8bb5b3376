/*
 * follower.c
 *	  On a hot standby the worker lets the tables follow the log, so that sessions can read them.
 *
 *	startup process		record ──▶ journal, passed_on ──▶ its own redo: visible, locks released
 *	worker							journal ──▶ engine, applied
 *	session				lock, PostgreSQL's snapshot, passed_on; waits for applied; R
 *
 * 1. A session waits until everything is applied that had been passed on when it took its snapshot
 *	  (S1).  So of a commit over both kinds of tables it sees no less in memory than in ordinary
 *	  tables; and no more, because the worker announces these commits (txn/mixed.c, 10 to 12).
 * 2. Redo holds the lock of a definition until it has passed on its commit.  So a session that gets
 *	  the lock next finds the definition applied, after a wait for definitions alone; and the
 *	  worker replaces or drops what nobody uses.
 * 3. Where a row id or a key was given away again while a reader sees its last life (S2), the
 *	  worker waits for that reader, collecting meanwhile, and cancels it after
 *	  max_standby_streaming_delay, as redo does in such a case.  Redo does not wait.
 *	  Before it waits it tells how far it is, so that no session waits for more than it needs.
 *	  A reader for which it waits may itself wait for definitions that are behind in the log, when
 *	  it comes to another table: that is a deadlock, which the reader finds (availability.c).
 * 4. Ranks of values whose order only PostgreSQL knows are not kept: nobody here could tell their
 *	  order.  Plans do not use such keys (exec/fdw_unique.c).  They come at the end, when no reader
 *	  from before is left, if there are such keys, or transactions that may be prepared.
 * 5. Redo may begin long after sessions have come, or never: behind a checkpoint of a server that
 *	  was stopped, PostgreSQL calls recovery.c when it has a next record.  Until then the files are
 *	  as they were left, and the journal's durable part is all of the log below that checkpoint.
 *	  That is what is loaded, and it is where the journal is opened later.
 * 6. If memory runs out, the worker tries again from time to time, however often redo wakes it.
 * 7. If the journal cannot be understood, tables cannot be reached.  Redo and the journal go on in
 *	  both cases.
 * 8. A worker that is to end breaks off what it does, and leaves the stage as it is: neither the
 *	  files nor the tables are at fault.  The arena may have half of a step then, so the next
 *	  worker makes the server start over (keeper.c), unless the server was stopped anyway.
 */
#include "postgres.h"

#include "src/durable/follower.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/procsignal.h"
#include "storage/standby.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/durable/follow.h"
#include "runtime/durable/state.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/start.h"
#include "src/base/session.h"
#include "src/base/session_owner.h"
#include "src/durable/base_writer.h"
#include "src/durable/filler.h"
#include "src/durable/loading.h"
#include "src/log/damage.h"
#include "src/txn/mixed.h"

#define IDLE_MS 200
#define AGAIN_MS 1000	   /* after a lack of memory */
#define COMPLAINT_MS 10000 /* between two reports of it */
#define WAIT_MS 5
#define FRAMES_AT_ONCE 100
#define COLLECT_ROUNDS 20
#define COLLECT_BUDGET 1000

static tg_session *session;
static tg_follow *follow;
static tg_load_config load_config;

static TimestampTz lacked_at;  /* 6: when memory ran out last; 0: it has not, in the last step */
static TimestampTz complained; /* 0: never */

/* A wait for readers, 3. */
static struct
{
	uint64 position; /* of what waits; PG_UINT64_MAX: nothing does */
	TimestampTz since;
	tg_time before; /* readers from before that time are in the way */
} waiting = {.position = PG_UINT64_MAX};

/* --- waiting for readers --------------------------------------------------------------------- */

static void
cancel(unsigned id)
{
	int pid = tsurugi_session_owner_get(id).process_id;
	PGPROC *proc = pid != 0 ? BackendPidGetProc(pid) : NULL;
	VirtualTransactionId of;

	if (proc == NULL)
		return;
	GET_VXID_FROM_PGPROC(of, *proc);
	if (VirtualTransactionIdIsValid(of))
		(void) CancelVirtualTransaction(of, PROCSIG_RECOVERY_CONFLICT_SNAPSHOT);
}

static void
cancel_readers(void)
{
	for (unsigned id = 0; id < tg_session_max(); id++)
	{
		tg_time oldest = tg_snapshot_oldest(id);

		if (oldest != 0 && oldest < waiting.before)
			cancel(id);
	}
}

static void
sleep_a_moment(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, WAIT_MS, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

static void
begin_wait(uint64 position)
{
	if (waiting.position == position)
		return;
	waiting.position = position;
	waiting.since = GetCurrentTimestamp();
	waiting.before = tg_load_seq_cst(tg_clock);
}

/* A moment of it.  TG_CANCELLED: the worker is to end. */
static tg_status
wait_for_readers(uint64 position)
{
	begin_wait(position);
	tsurugi_applied(tg_follow_position(follow));
	tsurugi_readers_awaited(waiting.before);
	tsurugi_waiters_wake();
	tsurugi_mixed_forget();
	for (int i = 0; i < COLLECT_ROUNDS && tg_collector_run(session, COLLECT_BUDGET); i++)
		;
	if (tsurugi_wait_is_too_long(waiting.since))
		cancel_readers();
	sleep_a_moment();
	tg_epoch_advance();
	return ShutdownRequestPending ? TG_CANCELLED : TG_OK;
}

/* --- tg_follow_config ------------------------------------------------------------------------ */

static tg_status
await(void *context)
{
	return wait_for_readers(tg_follow_position(follow));
}

/*
 * Waits until sessions have looked at what is to be forgotten (txn/mixed.c, 11), or for as long as
 * readers may hold up redo.
 */
static void
make_room(void)
{
	TimestampTz since = 0;

	while (!tsurugi_mixed_has_room() && !ShutdownRequestPending && !(since != 0 && tsurugi_wait_is_too_long(since)))
	{
		tg_failpoint("follower_full");
		since = since != 0 ? since : GetCurrentTimestamp();
		tsurugi_waiters_wake();
		sleep_a_moment();
	}
}

static void
prepare(void *context, tg_txn *txn, uint32_t xid)
{
	make_room();
	tsurugi_mixed_begin_followed(session, txn, xid);
	tg_failpoint("follower_prepared");
}

static void
commit(void *context, uint64_t position)
{
	tsurugi_mixed_end_followed(session, tsurugi_shown_us(position));
}

static void
damaged(void *context, const tg_load_damage *found)
{
	tsurugi_damage damage = {.database = found->database,
							 .relation = found->relation,
							 .storage = found->storage,
							 .position = found->position};

	strlcpy(damage.what, found->what, sizeof(damage.what));
	(void) tsurugi_damage_add(&damage);
	ereport(LOG, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("the contents of relation %u in database %u are damaged: %s",
														  found->relation, found->database, found->what)));
}

static const tg_follow_config follow_config = {
	.load = &load_config, .await = await, .prepare = prepare, .commit = commit, .damaged = damaged};

/* --- life ------------------------------------------------------------------------------------ */

bool
tsurugi_follower_may_begin(void)
{
	return RecoveryInProgress() && HotStandbyActive();
}

/* The journal cannot be understood. */
static void
refuse(tsurugi_durability *told)
{
	const tg_file_error *error;
	const char *problem = tg_follow_problem(follow, &error);
	int count = 0;

	if (problem != NULL)
		count = snprintf(told->error, sizeof(told->error), error->what != NULL ? "%s: " : "%s", problem);
	if (problem == NULL || error->what != NULL)
		tg_file_error_describe(error, told->error + count, sizeof(told->error) - (size_t) count);
	told->error_time = GetCurrentTimestamp();
	told->refusal = ERRCODE_DATA_CORRUPTED;
	tsurugi_durability_tell(told);
	ereport(LOG, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("tables of tsurugi_fdw cannot follow the log"),
				  errdetail_internal("%s, behind %X/%X in the log.", told->error,
									 LSN_FORMAT_ARGS(tg_follow_position(follow)))));
	tsurugi_stage_set(TSURUGI_REFUSED);
}

/* 6. */
static void
complain(tsurugi_durability *told)
{
	lacked_at = GetCurrentTimestamp();
	strlcpy(told->error, "There is not enough memory to follow the log.", sizeof(told->error));
	told->error_time = lacked_at;
	tsurugi_durability_tell(told);
	if (complained != 0 && !TimestampDifferenceExceeds(complained, lacked_at, COMPLAINT_MS))
		return;
	complained = lacked_at;
	ereport(LOG, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("tables of tsurugi_fdw cannot follow the log for now"),
				  errdetail("There is not enough memory."), errhint("Raise tsurugi_fdw.memory_max.")));
}

/*
 * 5.  The state, and up to where the journal is to be loaded.  A restartpoint, which moves the redo
 * position, comes after redo has begun.
 */
static bool
look_at_files(tg_state *state_out, XLogRecPtr *until_out)
{
	XLogRecPtr from = GetRedoRecPtr();
	bool has_begun;

	pg_memory_barrier();
	has_begun = tsurugi_redo_has_begun();
	tg_failpoint("follower_looks");
	if (!tsurugi_filler_look(from, state_out, until_out))
		return false;
	if (has_begun)
		*until_out = tsurugi_passed_on_get();
	return true;
}

bool
tsurugi_follower_begin(tsurugi_durability *told)
{
	tg_load_report report = {0};
	tg_state state;
	XLogRecPtr until;
	XLogRecPtr position;
	tg_status status = TG_DAMAGED;

	if (tg_session_open(&session) != TG_OK)
		ereport(FATAL, (errcode(ERRCODE_TOO_MANY_CONNECTIONS), errmsg("all sessions of tsurugi_fdw are taken")));
	tsurugi_stage_set(TSURUGI_LOADING);
	if (look_at_files(&state, &until))
		status = tsurugi_load_to_follow(session, state.base, until, &load_config, told, &report);
	else
	{
		tsurugi_filler_describe(told->error, sizeof(told->error));
		told->error_time = GetCurrentTimestamp();
		told->refusal = ERRCODE_DATA_CORRUPTED;
	}
	tsurugi_durability_tell(told);
	if (status != TG_OK)
	{
		if (status != TG_CANCELLED)
			tsurugi_stage_set(TSURUGI_REFUSED);
		return false;
	}
	tg_failpoint("follower_begins");
	status = tg_follow_begin(session, &follow_config, &report, &follow);
	tg_load_report_free(&report);
	if (follow == NULL)
		ereport(FATAL, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	if (status == TG_CANCELLED)
		return false;
	if (status != TG_OK)
	{
		refuse(told);
		return false;
	}
	position = tg_follow_position(follow);
	tsurugi_applied(Min(until, position));
	told->base = state.base;
	tsurugi_durability_tell(told);
	tsurugi_base_follow(follow, state.base, load_config.base);
	tsurugi_stage_set(TSURUGI_FOLLOWING);
	return true;
}

/* Applies frames up to a position. */
static tg_status
step(XLogRecPtr until)
{
	tg_status status = tg_follow_step(follow, until, FRAMES_AT_ONCE);

	tsurugi_readers_awaited(0);
	tsurugi_applied(tg_follow_position(follow));
	return status;
}

/* 6.  For how many milliseconds no other attempt is made. */
static int
rest_ms(void)
{
	long rested;

	if (lacked_at == 0)
		return 0;
	rested = TimestampDifferenceMilliseconds(lacked_at, GetCurrentTimestamp());
	return rested < AGAIN_MS ? AGAIN_MS - (int) rested : 0;
}

int
tsurugi_follower_look(tsurugi_durability *told)
{
	XLogRecPtr until = tsurugi_passed_on_get();
	int rest = rest_ms();

	if (tg_follow_position(follow) >= until)
		return IDLE_MS;
	if (rest > 0)
		return rest;
	lacked_at = 0;
	switch (step(until))
	{
		case TG_OK:
			return tg_follow_position(follow) < until ? 0 : IDLE_MS;
		case TG_CANCELLED:
			return 0;
		case TG_NO_MEMORY:
		case TG_OVER_QUOTA:
			complain(told);
			return AGAIN_MS;
		default:
			refuse(told);
			return IDLE_MS;
	}
}

/* 4.  Whether no reader from before the end is left, and nothing is left to collect. */
static bool
is_quiet(void)
{
	tg_collector_report report;

	if (!tg_load_needs_quiet(tg_follow_undecided(follow)))
		return true;
	if (wait_for_readers(PG_UINT64_MAX - 1) != TG_OK || tg_horizon_compute() < waiting.before)
		return false;
	tg_collector_report_get(&report);
	return report.logs_waiting == 0;
}

bool
tsurugi_follower_is_between_frames(XLogRecPtr *position_out)
{
	*position_out = tg_follow_position(follow);
	return tg_follow_is_between_frames(follow);
}

uint64
tsurugi_follower_base(void)
{
	return load_config.base;
}

bool
tsurugi_follower_end(tsurugi_durability *told, tg_bytes *going_on, tsurugi_followed *followed_out, int *again_ms_out)
{
	tg_status status;

	*again_ms_out = 0;
	load_config.base = tsurugi_base_follow_end(); /* with the journal from there on, it has all ranks */

	if (tg_follow_position(follow) < tsurugi_passed_on_get())
	{
		*again_ms_out = tsurugi_follower_look(told);
		return false;
	}
	if (!is_quiet())
		return false;
	tg_failpoint("follower_ends");
	tg_follow_finish(follow);
	status = tsurugi_load_end_following(session, &load_config, follow, told, going_on);
	tsurugi_durability_tell(told);
	followed_out->last = tg_follow_last(follow);
	followed_out->end = tg_follow_position(follow);
	if (status == TG_OK)
		tg_follow_leave(follow, &followed_out->undecided);
	else
		tg_follow_end(follow);
	follow = NULL;
	tg_runtime_session_end(session);
	session = NULL;
	if (status != TG_OK && status != TG_CANCELLED)
		tsurugi_stage_set(TSURUGI_REFUSED);
	return status == TG_OK;
}
