/*
 * process_state.h
 *	  The state word of a process: the transitions that make it run and rest.
 *
 *				  begin (worker)				  leave, nothing outstanding
 *		READY --------------------> RUNNING -----------------------------> IDLE
 *		 ^ ^ ^						 |	| |									 |
 *		 | | |	leave, WAKE is set	 |	| |  leave, commands outstanding	 |
 *		 | | +-----------------------+	| +-------------> BLOCKED			 |
 *		 | |							|					 |				 |
 *		 | +------- wake, by a completion or a cancel -------+				 |
 *		 +--------- wake, by these or a message -------------|---------------+
 *										|
 *										+-- end --> COMPLETE
 *
 * The flag WAKE stands beside RUNNING only.
 *
 * A thread that adds an event to the queue does so under the process' latch, and then calls wake.
 * A worker that leaves looks at the queue under the latch, and then calls leave.  If the latch
 * orders the adding first, the worker sees the event.  If it orders the look first, the adder's
 * wake sees RUNNING or a state that leave made of it, no older one.  It then sets WAKE, at which
 * leave fails, or makes the process READY.  So no event is added to a process that rests and is not
 * woken.  This does not depend on the word's own order, which is acq_rel so that a worker sees all
 * that the last worker wrote.
 *
 * The thread that changes the word to READY, and no other, ensures that the task is queued: a waker
 * by tg_task_unpark, which also covers the gap between leave and the worker's own parking of the
 * task; the worker by ending its turn with AGAIN.
 */
#ifndef TG_PROCESS_STATE_H
#define TG_PROCESS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/app/process.h"

#define TG_PROCESS_WAKE 8u /* flag beside RUNNING: look again before leaving */

/* The events that wait for a process, under its latch. */
typedef struct tg_event_counts
{
	uint32_t messages;
	uint32_t others;	  /* completions, exits, cancel */
	uint32_t outstanding; /* commands yielded */
} tg_event_counts;

/* The kind of rest that a wake may end. */
typedef enum tg_process_rest
{
	TG_WAKE_IDLE, /* a message */
	TG_WAKE_ANY	  /* a completion, an exit, a cancel */
} tg_process_rest;

static inline tg_process_state
tg_process_state_of(uint32_t word)
{
	return (tg_process_state) (word & ~TG_PROCESS_WAKE);
}

/* The arrows of the diagram. */
static inline bool
tg_process_state_may(uint32_t from, uint32_t to)
{
	switch (from)
	{
		case TG_PROCESS_READY:
			return to == TG_PROCESS_RUNNING;
		case TG_PROCESS_RUNNING:
			return to == (TG_PROCESS_RUNNING | TG_PROCESS_WAKE) || to == TG_PROCESS_READY || to == TG_PROCESS_BLOCKED ||
				   to == TG_PROCESS_IDLE || to == TG_PROCESS_COMPLETE;
		case TG_PROCESS_RUNNING | TG_PROCESS_WAKE:
			return to == TG_PROCESS_READY || to == TG_PROCESS_COMPLETE;
		case TG_PROCESS_BLOCKED:
		case TG_PROCESS_IDLE:
			return to == TG_PROCESS_READY;
		default:
			return false;
	}
}

static inline bool
tg_process_state_swap(uint32_t *word, uint32_t *from, uint32_t to)
{
	tg_assert(tg_process_state_may(*from, to));
	return tg_cas_acq_rel(word, from, to);
}

/* An event has been added to the queue.  True: the caller unparks the task.  Any thread. */
static inline bool
tg_process_state_wake(uint32_t *word, tg_process_rest rest)
{
	uint32_t seen = tg_load_acquire(word);

	for (;;)
	{
		switch (seen)
		{
			case TG_PROCESS_RUNNING:
				if (tg_process_state_swap(word, &seen, TG_PROCESS_RUNNING | TG_PROCESS_WAKE))
					return false;
				break;
			case TG_PROCESS_BLOCKED:
				if (rest == TG_WAKE_IDLE)
					return false;
				/* FALLTHROUGH */
			case TG_PROCESS_IDLE:
				if (tg_process_state_swap(word, &seen, TG_PROCESS_READY))
					return true;
				break;
			default: /* a worker will look at the queue, or has done so */
				return false;
		}
	}
}

/* A worker begins a turn. */
static inline void
tg_process_state_begin(uint32_t *word)
{
	uint32_t seen = TG_PROCESS_READY;

	tg_check(tg_process_state_swap(word, &seen, TG_PROCESS_RUNNING));
}

/* How the process may rest with these events in its queue.  False: it must not rest. */
static inline bool
tg_process_state_rest(tg_event_counts counts, tg_process_state *rest_out)
{
	*rest_out = counts.outstanding > 0 ? TG_PROCESS_BLOCKED : TG_PROCESS_IDLE;
	return counts.others == 0 && (counts.messages == 0 || counts.outstanding > 0);
}

/* The worker lets it rest.  False if WAKE is set: it stays RUNNING. */
static inline bool
tg_process_state_leave(uint32_t *word, tg_process_state rest)
{
	uint32_t seen = TG_PROCESS_RUNNING;

	return tg_process_state_swap(word, &seen, rest);
}

/* The worker goes on to READY or COMPLETE, whether or not WAKE is set. */
static inline void
tg_process_state_go(uint32_t *word, tg_process_state next)
{
	uint32_t seen = tg_load_relaxed(word);

	while (!tg_process_state_swap(word, &seen, next))
		;
}

#endif /* TG_PROCESS_STATE_H */
