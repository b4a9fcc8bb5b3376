/*
 * waiter.h
 *	  For tests of consumers: a host's waiter that sleeps on a condition, and notices a missing
 *	  wake-up.
 */
#ifndef TG_UNIT_WAITER_H
#define TG_UNIT_WAITER_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"

#define WAIT_SECONDS 30

typedef struct test_waiter
{
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	bool woken;
	unsigned wake_count;
} test_waiter;

static test_waiter waiter = {.mutex = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER};

/* For tg_host_wake; the waiter's address is its word. */
static void
wake_waiter(void *pointer)
{
	test_waiter *target = pointer;

	pthread_mutex_lock(&target->mutex);
	target->woken = true;
	target->wake_count++;
	pthread_cond_signal(&target->condition);
	pthread_mutex_unlock(&target->mutex);
}

/* False without a wake-up: it was lost. */
static bool
wait_for_wake(void)
{
	struct timespec limit;
	int error = 0;
	bool woken;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += WAIT_SECONDS;
	pthread_mutex_lock(&waiter.mutex);
	while (!waiter.woken && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&waiter.condition, &waiter.mutex, &limit);
	woken = waiter.woken;
	waiter.woken = false;
	pthread_mutex_unlock(&waiter.mutex);
	return woken;
}

/* Waits until it does; gives back meanwhile what the session has retired. */
static inline bool
holds_in_time(tg_session *session, bool (*condition)(void))
{
	for (unsigned i = 0; i < WAIT_SECONDS * 10000; i++)
	{
		if (condition())
			return true;
		tg_retire_poll(session);
		usleep(100);
	}
	return false;
}

#endif /* TG_UNIT_WAITER_H */
