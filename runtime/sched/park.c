/*
 * park.c
 *	  Waiting and waking: sleeps on futexes, and fences.
 *
 *				  try (owner)						notify
 *		RUNNING --------------> PARKED ------------------------> NOTIFIED
 *		   |  ^					  |		this notifier wakes		  |	 ^
 *		   |  |    cancel, time-out (owner)						  |	 |
 *		   |  +-------------------+								  |	 |
 *		   |  +---------------- consume (owner) ------------------+	 |
 *		   +------------------------ notify -------------------------+
 *
 * 1. Only its owner brings a word to PARKED or RUNNING, only others bring it
 *	  to NOTIFIED.
 * 2. Each PARKED ends by exactly one exchange, the owner's or one notifier's:
 *	  so a parked task is submitted again exactly once, and a sleeper is woken
 *	  by one thread.
 * 3. A notification that meets RUNNING stays in the word as a permit: the next
 *	  try fails.
 *
 * For a task, RUNNING covers queued too: a task that is made to run again
 * stays NOTIFIED until its run begins and consumes it there.  Further
 * notifications meanwhile are exchanges on the same word, so the run, whose
 * consume is an exchange as well, sees what each notifier wrote before.
 *
 * Orderings: all exchanges are acq_rel; a notifier's release pairs with the acquire of consume,
 * cancel and sleep.  This file does not decide whether there is something to wait for: that is the
 * callers' Dekker pair (wake.c).
 *
 * The futex is shared (no FUTEX_PRIVATE_FLAG), as backends wake workers.
 */
#include "runtime/sched/park.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/check.h"

bool tg_fence_light_is_free = false;

static uint64_t
read_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

uint64_t
tg_clock_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t
tg_thread_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}

bool
tg_park_sleep(uint32_t *word, uint64_t timeout_us)
{
	uint64_t end = tg_clock_us() + timeout_us;

	while (tg_load_acquire(word) == TG_PARK_PARKED)
	{
		uint64_t now = tg_clock_us();
		struct timespec rest;

		if (now >= end)
			return !tg_park_cancel(word);
		rest.tv_sec = (time_t) ((end - now) / 1000000);
		rest.tv_nsec = (long) ((end - now) % 1000000) * 1000;
		(void) syscall(SYS_futex, word, FUTEX_WAIT, (uint32_t) TG_PARK_PARKED, &rest, NULL, 0);
	}
	tg_park_consume(word);
	return true;
}

void
tg_park_wake(uint32_t *word)
{
	(void) syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void
tg_fence_prepare(void)
{
	tg_fence_light_is_free = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void
tg_fence_heavy(void)
{
	tg_fence_seq_cst();
	if (tg_fence_light_is_free)
		tg_check(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
}
