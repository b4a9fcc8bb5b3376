/*
 * availability.c
 *	  Whether tables can be reached, and what is shown of how they are kept durable.
 *
 * A session is opened at the first use of a table (base/session.h), and waits there until the
 * contents are loaded.  So connections, and statements on ordinary tables, do not wait.
 */
#include "postgres.h"

#include "src/durable/availability.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "storage/standby.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/sched/park.h"
#include "src/base/session.h"
#include "src/log/log.h"
#include "src/txn/mixed.h"
#include "src/txn/snapshot.h"

#define LOOK_MS 1000 /* a waiter that nobody wakes looks so often */
#define PASSES 32	 /* of redo, that are remembered, with this time between them at least */
#define PASSES_MS 100

/* By then redo had passed on everything up to there. */
typedef struct pass
{
	uint64 us;
	uint64 position;
} pass;

/* In PostgreSQL's shared memory. */
typedef struct availability
{
	slock_t lock;
	ConditionVariable changed;
	/* guarded by the lock */
	tsurugi_durability told;
	uint64 bases_wanted;
	uint64 bases_served;
	char base_error[512]; /* of the last one that failed */
	int base_errno;		  /* its errno, or 0 */
	uint64 base_failed;	  /* the request up to which that was, 0: none */
	/*
	 * Those that the worker has not reached, with a time between two of them, which grows with how
	 * far it is behind; the last one is replaced until it is older than that.
	 */
	pass passes[PASSES];
	unsigned pass_count;
	uint64 pass_gap_us;
	int wait_event; /* a tranche of locks, for its name; constant */
	/* atomic */
	uint32 redo_has_begun; /* the startup process writes it, and the next two */
	uint64 passed_on;	   /* by redo */
	uint64 defined;		   /* likewise, as far as there are changes of definitions */
	uint64 applied;		   /* the worker writes it */
	uint64 readers_before; /* the worker waits for readers from before that time, or 0 */
	uint64 base_offered;   /* the worker writes its number, the startup process 0; 0: none */
	uint32 worker_proc;	   /* its number in the ProcArray, plus 1; 0: there was none */
} availability;

StaticAssertDecl(sizeof(((availability *) NULL)->base_error) == sizeof(((tsurugi_durability *) NULL)->error),
				 "one text is copied to both");

static availability *shared;

Size
tsurugi_availability_shared_bytes(void)
{
	return sizeof(availability);
}

void
tsurugi_availability_shared_create(void)
{
	bool there;

	shared = ShmemInitStruct("tsurugi_fdw availability", sizeof(availability), &there);
	memset(shared, 0, sizeof(*shared));
	SpinLockInit(&shared->lock);
	ConditionVariableInit(&shared->changed);
	/* PostgreSQL 15 has no other way to name what an extension's session waits for. */
	shared->wait_event = LWLockNewTrancheId();
	LWLockRegisterTranche(shared->wait_event, "tsurugi_fdw_follower");
}

const char *
tsurugi_load_phase_name(tg_load_phase phase)
{
	switch (phase)
	{
		case TG_LOAD_DEFINITIONS:
			return "definitions";
		case TG_LOAD_BASE:
			return "base";
		case TG_LOAD_CHANGES:
			return "changes";
		case TG_LOAD_KEYS:
			return "keys";
	}
	return NULL;
}

tsurugi_durability
tsurugi_durability_get(void)
{
	tsurugi_durability copy;

	SpinLockAcquire(&shared->lock);
	copy = shared->told;
	SpinLockRelease(&shared->lock);
	return copy;
}

/* --- the worker ----------------------------------------------------------------------------- */

static void
set_worker(int pid)
{
	SpinLockAcquire(&shared->lock);
	shared->told.worker_pid = pid;
	SpinLockRelease(&shared->lock);
}

void
tsurugi_availability_worker_begin(void)
{
	tg_store_release(&shared->worker_proc, (uint32) MyProc->pgprocno + 1);
	set_worker(MyProcPid);
}

void
tsurugi_availability_worker_end(void)
{
	set_worker(0);
}

/* As in the head of availability.h.  A worker finds the stage that the last one has left. */
static bool
may_follow(tsurugi_stage before, tsurugi_stage next)
{
	if (before == TSURUGI_REFUSED)
		return true; /* and stays */
	switch (next)
	{
		case TSURUGI_EMPTY:
			return false;
		case TSURUGI_LOADING:
			return before == TSURUGI_EMPTY;
		case TSURUGI_FOLLOWING:
			return before == TSURUGI_LOADING;
		case TSURUGI_OPEN:
			return before == TSURUGI_LOADING || before == TSURUGI_FOLLOWING;
		case TSURUGI_REFUSED:
			return true;
	}
	return false;
}

void
tsurugi_stage_set(tsurugi_stage stage)
{
	tg_assert(may_follow(tsurugi_durability_get().stage, stage));
	SpinLockAcquire(&shared->lock);
	if (shared->told.stage != TSURUGI_REFUSED)
		shared->told.stage = stage;
	SpinLockRelease(&shared->lock);
	ConditionVariableBroadcast(&shared->changed);
}

void
tsurugi_durability_tell(const tsurugi_durability *told)
{
	tsurugi_durability next = *told;

	SpinLockAcquire(&shared->lock);
	next.stage = shared->told.stage;
	next.worker_pid = shared->told.worker_pid;
	if (next.error_time < shared->told.error_time) /* another one's */
	{
		next.error_time = shared->told.error_time;
		memcpy(next.error, shared->told.error, sizeof(next.error));
	}
	shared->told = next;
	SpinLockRelease(&shared->lock);
}

void
tsurugi_durability_tell_error(const char *text)
{
	char copy[sizeof(shared->told.error)] = "";
	TimestampTz time = GetCurrentTimestamp();

	strlcpy(copy, text, sizeof(copy));
	SpinLockAcquire(&shared->lock);
	memcpy(shared->told.error, copy, sizeof(copy));
	shared->told.error_time = time;
	SpinLockRelease(&shared->lock);
}

/* --- a session ------------------------------------------------------------------------------- */

static void
refuse(const tsurugi_durability *told)
{
	if (told->stage == TSURUGI_REFUSED)
		ereport(ERROR, (errcode(told->refusal), errmsg("tables of tsurugi_fdw are not available"),
						errdetail("%s", told->error)));
	if (told->worker_pid == 0)
		ereport(ERROR,
				(errcode(ERRCODE_CANNOT_CONNECT_NOW), errmsg("tables of tsurugi_fdw are not available yet"),
				 IsUnderPostmaster ? errdetail("The tsurugi_fdw worker is not running; the wait ended after %d ms.",
											   tsurugi_load_wait_ms)
								   : errdetail("The tsurugi_fdw worker does not run in single-user mode."),
				 IsUnderPostmaster ? errhint("It needs one of max_worker_processes.") : 0));
	ereport(ERROR, (errcode(ERRCODE_CANNOT_CONNECT_NOW), errmsg("tables of tsurugi_fdw are not available yet"),
					told->stage == TSURUGI_LOADING
						? errdetail("They are being loaded (%s: %lld of %lld); the wait ended after %d ms.",
									tsurugi_load_phase_name(told->phase), (long long) told->phase_done,
									(long long) told->phase_total, tsurugi_load_wait_ms)
						: errdetail("They are to be loaded; the wait ended after %d ms.", tsurugi_load_wait_ms),
					errhint("Try again later, or raise tsurugi_fdw.load_wait.")));
}

/* Whether a wait for the worker, which does not run in single-user mode, is over. */
static bool
is_in_vain(TimestampTz since)
{
	return !IsUnderPostmaster || tsurugi_load_wait_is_over(since);
}

/* The worker itself does not wait. */
static bool
is_available(const tsurugi_durability *told)
{
	return told->stage == TSURUGI_OPEN || told->worker_pid == MyProcPid ||
		   (told->stage == TSURUGI_FOLLOWING && RecoveryInProgress());
}

static void
await_tables(void)
{
	tsurugi_durability told = tsurugi_durability_get();
	TimestampTz since = GetCurrentTimestamp();

	if (is_available(&told))
		return;
	ConditionVariablePrepareToSleep(&shared->changed);
	while (told = tsurugi_durability_get(), !is_available(&told))
	{
		if (told.stage == TSURUGI_REFUSED || is_in_vain(since))
			refuse(&told);
		(void) ConditionVariableTimedSleep(&shared->changed, LOOK_MS, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
}

static bool
are_refused(void)
{
	return tsurugi_durability_get().stage == TSURUGI_REFUSED;
}

static bool
are_served(void)
{
	return tsurugi_durability_get().stage == TSURUGI_OPEN;
}

/* --- a standby -------------------------------------------------------------------------------- */

static void
forget_passes(XLogRecPtr applied)
{
	unsigned gone = 0;

	while (gone < shared->pass_count && shared->passes[gone].position <= applied)
		gone++;
	shared->pass_count -= gone;
	memmove(shared->passes, shared->passes + gone, shared->pass_count * sizeof(pass));
	if (shared->pass_count == 0)
		shared->pass_gap_us = PASSES_MS * 1000;
}

/* Keeps every other one. */
static void
thin_passes(void)
{
	for (unsigned i = 0; i < PASSES / 2; i++)
		shared->passes[i] = shared->passes[2 * i];
	shared->pass_count = PASSES / 2;
	shared->pass_gap_us *= 2;
}

static void
remember_pass(XLogRecPtr position)
{
	uint64 now_us = tg_clock_us();
	XLogRecPtr applied = tsurugi_applied_get();
	unsigned count;

	SpinLockAcquire(&shared->lock);
	forget_passes(applied);
	if (shared->pass_count == PASSES)
		thin_passes();
	count = shared->pass_count;
	if (count < 2 || now_us >= shared->passes[count - 2].us + shared->pass_gap_us)
		shared->pass_count = ++count;
	shared->passes[count - 1] = (pass){.us = now_us, .position = position};
	SpinLockRelease(&shared->lock);
}

uint64
tsurugi_shown_us(XLogRecPtr position)
{
	uint64 shown_us = tg_clock_us();

	SpinLockAcquire(&shared->lock);
	for (unsigned i = shared->pass_count; i > 0 && shared->passes[i - 1].position > position; i--)
		shown_us = shared->passes[i - 1].us;
	SpinLockRelease(&shared->lock);
	return shown_us;
}

uint64
tsurugi_behind_us(void)
{
	XLogRecPtr applied = tsurugi_applied_get();
	uint64 shown_us;

	if (applied >= tsurugi_passed_on_get())
		return 0;
	shown_us = tsurugi_shown_us(applied);
	return tg_clock_us() - shown_us;
}

void
tsurugi_passed_on(XLogRecPtr position, XLogRecPtr defined)
{
	uint32 proc = tg_load_acquire(&shared->worker_proc);

	tg_assert(defined <= position && position >= tsurugi_passed_on_get());
	remember_pass(position);
	tg_store_seq_cst(&shared->defined, defined);
	tg_store_seq_cst(&shared->passed_on, position);
	if (proc != 0)
		SetLatch(&ProcGlobal->allProcs[proc - 1].procLatch);
}

void
tsurugi_redo_begins(void)
{
	tg_store_release(&shared->redo_has_begun, 1); /* pairs with the acquire below: with what was passed on */
}

bool
tsurugi_redo_has_begun(void)
{
	return tg_load_acquire(&shared->redo_has_begun) != 0;
}

XLogRecPtr
tsurugi_passed_on_get(void)
{
	return tg_load_seq_cst(&shared->passed_on);
}

void
tsurugi_applied(XLogRecPtr position)
{
	if (tg_load_relaxed(&shared->applied) == position)
		return;
	tg_store_seq_cst(&shared->applied, position);
	ConditionVariableBroadcast(&shared->changed);
}

void
tsurugi_waiters_wake(void)
{
	ConditionVariableBroadcast(&shared->changed);
}

XLogRecPtr
tsurugi_applied_get(void)
{
	return tg_load_seq_cst(&shared->applied);
}

bool
tsurugi_wait_is_too_long(TimestampTz since)
{
	return max_standby_streaming_delay >= 0 &&
		   TimestampDifferenceExceeds(since, GetCurrentTimestamp(), max_standby_streaming_delay);
}

void
tsurugi_readers_awaited(tg_time before)
{
	tg_store_release(&shared->readers_before, before);
}

/* Whether the worker waits for this session's snapshot. */
static bool
is_awaited(void)
{
	const tg_session *session = tsurugi_session_known();
	tg_time oldest = session != NULL ? tg_snapshot_oldest(session->id) : 0;

	return oldest != 0 && oldest < tg_load_acquire(&shared->readers_before);
}

/* Each of the two waits for the other: *since is when that was found. */
static void
check_deadlock(TimestampTz *since)
{
	if (!is_awaited())
		*since = 0;
	else if (*since == 0)
		*since = GetCurrentTimestamp();
	else if (TimestampDifferenceExceeds(*since, GetCurrentTimestamp(), DeadlockTimeout))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_DEADLOCK_DETECTED), errmsg("deadlock detected"),
				 errdetail("The transaction waits for changes from the primary, and these wait for its snapshot, "
						   "which shows rows whose place others take.")));
}

/* Until that is applied, or so much that the snapshot can be read at. */
static void
await_applied(XLogRecPtr position, Snapshot host)
{
	TimestampTz since = GetCurrentTimestamp();
	TimestampTz deadlocked = 0;

	if (host == NULL)
		tsurugi_mixed_let_go();
	ConditionVariablePrepareToSleep(&shared->changed);
	while (tsurugi_applied_get() < position && (host == NULL || !tsurugi_mixed_look(host)))
	{
		tsurugi_durability told = tsurugi_durability_get();

		if (told.stage == TSURUGI_REFUSED)
			refuse(&told);
		if (tsurugi_wait_is_too_long(since))
			ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
							errmsg("changes of tables of tsurugi_fdw have not been applied in time"),
							errdetail("The wait for what had been received ended after max_standby_streaming_delay.")));
		check_deadlock(&deadlocked);
		(void) ConditionVariableTimedSleep(&shared->changed, LOOK_MS, PG_WAIT_LWLOCK | (uint32) shared->wait_event);
	}
	ConditionVariableCancelSleep();
}

/*
 * What redo passes on it makes visible afterwards.  So if PostgreSQL's snapshot was taken before,
 * or its lock, everything that they show is up to the position that is loaded here.  A session that
 * has a lock waits for definitions alone: at REPEATABLE READ it may have a snapshot for which the
 * worker waits.
 */
static bool
catch_up(Snapshot host)
{
	XLogRecPtr position = host != NULL ? tsurugi_passed_on_get() : tg_load_seq_cst(&shared->defined);

	if (!RecoveryInProgress())
	{
		await_tables();
		tsurugi_follows = false;
		return true;
	}
	if (IsParallelWorker() || tsurugi_applied_get() >= position)
		return true;
	/* PostgreSQL's snapshot of the transaction does not grow old meanwhile. */
	if (host == NULL && IsolationUsesXactSnapshot() && FirstSnapshotSet)
		tsurugi_snapshot_draw();
	await_applied(position, host);
	return tsurugi_applied_get() >= position;
}

/* --- requests for a base ---------------------------------------------------------------------- */

uint64
tsurugi_base_wanted(void)
{
	uint64 wanted;

	SpinLockAcquire(&shared->lock);
	wanted = shared->bases_wanted;
	SpinLockRelease(&shared->lock);
	return wanted;
}

uint64
tsurugi_base_served(void)
{
	uint64 served;

	SpinLockAcquire(&shared->lock);
	served = shared->bases_served;
	SpinLockRelease(&shared->lock);
	return served;
}

/* Under the lock. */
static void
note_served(uint64 served, uint64 number)
{
	tg_assert(served >= shared->bases_served && served <= shared->bases_wanted);
	shared->bases_served = served;
	shared->told.base = number;
}

void
tsurugi_base_tell(uint64 served, uint64 number)
{
	SpinLockAcquire(&shared->lock);
	note_served(served, number);
	SpinLockRelease(&shared->lock);
	ConditionVariableBroadcast(&shared->changed);
}

void
tsurugi_base_tell_failure(uint64 served, uint64 number, int error, const char *text)
{
	char copy[sizeof(shared->base_error)] = "";
	TimestampTz time = GetCurrentTimestamp();

	strlcpy(copy, text, sizeof(copy));
	SpinLockAcquire(&shared->lock);
	note_served(served, number);
	shared->base_failed = served;
	shared->base_errno = error;
	memcpy(shared->base_error, copy, sizeof(copy));
	memcpy(shared->told.error, copy, sizeof(copy));
	shared->told.error_time = time;
	SpinLockRelease(&shared->lock);
	ConditionVariableBroadcast(&shared->changed);
}

void
tsurugi_base_offer(uint64 number)
{
	tg_store_release(&shared->base_offered, number); /* pairs with the acquire below: its files are there */
}

uint64
tsurugi_base_offered(void)
{
	return tg_load_acquire(&shared->base_offered);
}

/* How a request has ended. */
typedef struct base_outcome
{
	bool failed;
	int error; /* its errno, or 0 */
	char text[sizeof(((availability *) NULL)->base_error)];
} base_outcome;

/* Whether a request is served. */
static bool
is_served(uint64 request, base_outcome *outcome)
{
	bool served;

	SpinLockAcquire(&shared->lock);
	served = shared->bases_served >= request;
	outcome->failed = served && shared->base_failed >= request;
	outcome->error = shared->base_errno;
	memcpy(outcome->text, shared->base_error, sizeof(outcome->text));
	SpinLockRelease(&shared->lock);
	return served;
}

void
tsurugi_base_request(void)
{
	TimestampTz since = GetCurrentTimestamp();
	base_outcome outcome;
	uint64 request;

	SpinLockAcquire(&shared->lock);
	request = ++shared->bases_wanted;
	SpinLockRelease(&shared->lock);
	ConditionVariablePrepareToSleep(&shared->changed);
	while (!is_served(request, &outcome))
	{
		tsurugi_durability told = tsurugi_durability_get();

		if (told.stage == TSURUGI_REFUSED || (told.worker_pid == 0 && is_in_vain(since)))
			refuse(&told);
		(void) ConditionVariableTimedSleep(&shared->changed, LOOK_MS, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	if (!outcome.failed)
		return;
	errno = outcome.error;
	ereport(ERROR, (outcome.error != 0 ? errcode_for_file_access() : errcode(ERRCODE_IO_ERROR),
					errmsg("could not write a base"), errdetail_internal("%s", outcome.text)));
}

void
tsurugi_availability_init(void)
{
	tsurugi_session_await = await_tables;
	tsurugi_session_is_served = are_served;
	tsurugi_session_is_refused = are_refused;
	tsurugi_session_catch_up = catch_up;
}
