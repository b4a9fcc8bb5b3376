/*
 * spare.c
 *	  Deadlocks do not end a LONG (W6).
 *
 * PostgreSQL's detector looks once, deadlock_timeout after a wait has begun, and who has looked and found a circle gives up.  So the
 * last one to wait does, mostly, and that may be a LONG: hours of work, for a statement that could be repeated.  Its own look
 * is therefore put off, and the others are asked to look again:
 *
 *	tick	each half of deadlock_timeout, in a LONG: the handler of a timeout.  While it waits for a lock it
 *			1. takes its own look away, which is due later than the next tick, so that it never happens by itself;
 *			2. if somebody has begun to wait since the last time asks all others that wait for locks, but for LONGs, to look again;
 *			3. else, once nobody has, for a tick and RESPONSE_MS: looks itself.  So it does after having asked ASKS_MAX times.
 *
 * Asked are they by the signal that a standby's startup process has for that (PROCSIG_RECOVERY_CONFLICT_STARTUP_DEADLOCK):
 * outside recovery all it does is to let a process that sleeps for a lock look for deadlocks (CheckDeadLockAlert).
 * Who finds one gives up in PostgreSQL's own way, and what is asked of those who are in none costs them the look; where
 * log_lock_waits is on, one more line in the log that they wait still; and whoever waits for an autovacuum that nobody needs cancels it
 * that much earlier.
 *
 * 1. A circle with somebody else than LONGs in it is ended by one of those.  The last of its members has begun to wait; all
 *	  wait from then on.  At the next tick of a LONG in it that wait is newer than what was asked for last, so the others
 *	  are asked, and one finds it.  A LONG looks only if that has been so for RESPONSE_MS without anybody new.
 * 2. A circle of LONGs alone is found by one of them: 3 is reached in each, as soon as nobody begins to wait
 *	  who still does at the next tick; or after ASKS_MAX of them, where waits come and go all the time, and RESPONSE_MS.
 *	  Then, in the time since it has asked last, somebody may have closed another circle through the same LONG: only so, or by
 *	  not coming to look within RESPONSE_MS, can an ordinary transaction survive it.
 *
 * Not covered: deadlock_timeout that a statement sets shorter by set_config() while it runs, and then waits itself; parallel workers,
 * which look when they like, for locks that their leader does not have; and who asks for a lock on an object that he has locked already, and that somebody ahead in its queue waits for who has,
 * too (both upgrade), gets the error without any wait.
 *
 * The handler reads what other processes write without locks, as statistics do: a wait that it misses it sees at the next tick.
 */
#include "postgres.h"

#include "src/txn/spare.h"

#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "runtime/runtime.h"
#include "src/base/session.h"

#define RESPONSE_MS 500 /* for those asked to look */
#define ASKS_MAX 20		/* one after the other, until the LONG looks at any rate */

static TimeoutId timeout = MAX_TIMEOUTS;
int tsurugi_spare_timeout;

/* Of the present wait. */
static TimestampTz own_wait; /* when it began */
static TimestampTz asked;	 /* the others, last; 0: not yet */
static unsigned asks;		 /* since the LONG has looked */
static bool looked;			 /* since it has asked */

static TimestampTz
wait_of(PGPROC *process)
{
	return process->waitStatus == PROC_WAIT_STATUS_WAITING ? (TimestampTz) pg_atomic_read_u64(&process->waitStart) : 0;
}

/* Its own, or that of the transaction which it works for as a parallel worker. */
static bool
is_of_long(PGPROC *process)
{
	const PGPROC *leader = process->lockGroupLeader;

	return tsurugi_session_is_spared(leader != NULL ? leader->pid : process->pid);
}

static TimestampTz
newest_wait(void)
{
	TimestampTz newest = 0;

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
		newest = Max(newest, wait_of(&ProcGlobal->allProcs[i]));
	return newest;
}

static void
ask_others(void)
{
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		PGPROC *process = &ProcGlobal->allProcs[i];

		if (process->pid != 0 && process != MyProc && wait_of(process) != 0 && !is_of_long(process))
			(void) SendProcSignal(process->pid, PROCSIG_RECOVERY_CONFLICT_STARTUP_DEADLOCK, process->backendId);
	}
}

/* A timeout's handler. */
static void
tick(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (tsurugi_spare_timeout == 0 || !IsWaitingForLock())
		return;
	disable_timeout(DEADLOCK_TIMEOUT, false);
	if (wait_of(MyProc) != own_wait)
	{
		own_wait = wait_of(MyProc);
		asked = 0;
		asks = 0;
	}
	if (asks < ASKS_MAX && newest_wait() >= asked)
	{
		ask_others();
		asked = now;
		asks++;
		looked = false;
	}
	else if (!looked && TimestampDifferenceExceeds(asked, now, RESPONSE_MS))
	{
		CheckDeadLockAlert();
		looked = true;
		asks = 0;
	}
}

void
tsurugi_spare_begin(void)
{
	int period = Max(DeadlockTimeout / 2, 1);

	if (tg_failpoint_refuses("skip_spare"))
		return;
	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, tick);
	tsurugi_session_spare(true);
	tsurugi_spare_timeout = DeadlockTimeout;
	enable_timeout_every(timeout, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), period), period);
}

void
tsurugi_spare_go_on(void)
{
	if (tsurugi_spare_timeout != 0)
		tsurugi_spare_begin();
}

void
tsurugi_spare_end(void)
{
	if (tsurugi_spare_timeout == 0)
		return;
	tsurugi_spare_timeout = 0;
	disable_timeout(timeout, false);
	tsurugi_session_spare(false);
}
