/*
 * availability.c
 *	  Whether tables can be reached, and what is shown of how they are kept durable.
 *
 * A session is opened at the first use of a table (base/session.h), and waits there until the
 * contents are loaded.  So connections, and statements on ordinary tables, do not wait.
 */
#include "postgres.h"

#include "src/durable/availability.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "src/base/session.h"
#include "src/log/log.h"

#define LOOK_MS 1000 /* a waiter that nobody wakes looks so often */

/* In PostgreSQL's shared memory. */
typedef struct availability
{
	slock_t lock;
	ConditionVariable changed;
	tsurugi_durability told; /* guarded by the lock */
} availability;

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
	set_worker(MyProcPid);
}

void
tsurugi_availability_worker_end(void)
{
	set_worker(0);
}

void
tsurugi_stage_set(tsurugi_stage stage)
{
	SpinLockAcquire(&shared->lock);
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
	shared->told = next;
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
				 errdetail("The tsurugi_fdw worker is not running; the wait ended after %d ms.", tsurugi_load_wait_ms),
				 errhint("It needs one of max_worker_processes.")));
	ereport(ERROR, (errcode(ERRCODE_CANNOT_CONNECT_NOW), errmsg("tables of tsurugi_fdw are not available yet"),
					errdetail("They are being loaded; the wait ended after %d ms.", tsurugi_load_wait_ms),
					errhint("Try again later, or raise tsurugi_fdw.load_wait.")));
}

/* The worker itself does not wait.  In single-user mode there is none. */
static bool
is_available(const tsurugi_durability *told)
{
	return told->stage == TSURUGI_OPEN || told->worker_pid == MyProcPid;
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
		if (told.stage == TSURUGI_REFUSED || !IsUnderPostmaster || tsurugi_load_wait_is_over(since))
			refuse(&told);
		(void) ConditionVariableTimedSleep(&shared->changed, LOOK_MS, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
}

void
tsurugi_availability_init(void)
{
	tsurugi_session_await = await_tables;
}
