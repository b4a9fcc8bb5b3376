/*
 * park.h
 *	  Waiting and waking: the word of three states, and the sleep on it.
 *
 * Workers, the watcher and parked tasks wait by the same word.  The word alone decides which thread
 * sleeps: the thread that changes it from PARKED to NOTIFIED, and no other, does the waking.
 */
#ifndef TG_PARK_H
#define TG_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"

typedef enum tg_park_state
{
	TG_PARK_RUNNING,
	TG_PARK_PARKED,
	TG_PARK_NOTIFIED
} tg_park_state;

/*
 * Changes RUNNING to PARKED.  False if a notification came first: the word stays NOTIFIED.  Owner
 * only.
 */
static inline bool
tg_park_try(uint32_t *word)
{
	uint32_t expected = TG_PARK_RUNNING;

	return tg_cas_acq_rel(word, &expected, (uint32_t) TG_PARK_PARKED);
}

/*
 * Changes the word to RUNNING.  The owner then sees all that the notifiers wrote before.  Owner
 * only, and not while PARKED.
 */
static inline void
tg_park_consume(uint32_t *word)
{
	if (tg_load_relaxed(word) != TG_PARK_RUNNING)
		(void) tg_exchange_acq_rel(word, (uint32_t) TG_PARK_RUNNING);
}

/* Takes PARKED back.  False if a waker was faster; RUNNING either way.  Owner only. */
static inline bool
tg_park_cancel(uint32_t *word)
{
	return tg_exchange_acq_rel(word, (uint32_t) TG_PARK_RUNNING) == TG_PARK_PARKED;
}

/*
 * Changes the word to NOTIFIED.  True if it was PARKED: the caller, and no other thread, does the
 * waking.
 */
static inline bool
tg_park_notify(uint32_t *word)
{
	return tg_exchange_acq_rel(word, (uint32_t) TG_PARK_NOTIFIED) == TG_PARK_PARKED;
}

/* As tg_park_notify, but changes the word only if it is PARKED. */
static inline bool
tg_park_notify_parked(uint32_t *word)
{
	uint32_t expected = TG_PARK_PARKED;

	return tg_load_relaxed(word) == TG_PARK_PARKED && tg_cas_acq_rel(word, &expected, (uint32_t) TG_PARK_NOTIFIED);
}

/*
 * Sleeps while the word is PARKED, at most timeout_us.  True if notified, false after the time-out;
 * RUNNING either way.  Owner only.
 */
extern bool tg_park_sleep(uint32_t *word, uint64_t timeout_us);

/*
 * Wakes the thread that sleeps on the word.  Called after one of the notify functions returned
 * true.  Any process.
 */
extern void tg_park_wake(uint32_t *word);

/*
 * A pair of fences for threads of one process: tg_fence_light() costs next to
 * nothing where the kernel lets tg_fence_heavy() put a full fence into every
 * running thread (membarrier); elsewhere both are full fences.
 */
extern bool tg_fence_light_is_free; /* set by tg_fence_prepare, before the threads start */
extern void tg_fence_prepare(void);
extern void tg_fence_heavy(void);

static inline void
tg_fence_light(void)
{
	if (tg_fence_light_is_free)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	else
		tg_fence_seq_cst();
}

/* Microseconds of the monotonic clock, the same in all processes. */
extern uint64_t tg_clock_us(void);

/* Microseconds for which this thread has had a CPU. */
extern uint64_t tg_thread_us(void);

#endif /* TG_PARK_H */
