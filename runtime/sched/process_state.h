/*
 * process_state.h
 *	  The state word of a process: who makes it run, and who lets it rest.
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
 * Who adds something to the queue of events does so under the process' latch,
 * and calls wake then.  Who leaves looks at the queue under the latch, and calls
 * leave then.  Either the latch has the adding first: the leaver sees it.  Or
 * it has the look first: then the adder's wake sees RUNNING or what leave made
 * of it, no older state, and sets WAKE, at which leave fails, or makes the
 * process READY.  So nothing is added to a process that rests and is not woken,
 * whatever the word's own order, which is acq_rel so that a worker sees what
 * the last one wrote.
 *
 * Who brings the word to READY, and nobody else, sees to it that the task is
 * queued: a waker by tg_task_unpark, which also covers the gap between leave
 * and the worker's own parking of the task; the worker by ending its turn with
 * AGAIN.
 */
#ifndef TG_PROCESS_STATE_H
#define TG_PROCESS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/sched/process.h"

#define TG_PROCESS_WAKE 8u /* flag beside RUNNING: look again before leaving */

/* What waits for a process, under its latch. */
typedef struct tg_event_counts
{
	uint32_t messages;
	uint32_t others;	  /* completions, exits, cancel */
	uint32_t outstanding; /* commands yielded */
} tg_event_counts;

/* What a wake may end. */
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

/* Something has been added to the queue.  True: the caller unparks the task.  Any thread. */
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
			default: /* it will be, or has been, looked at */
				return false;
		}
	}
}

/* A worker takes it up. */
static inline void
tg_process_state_begin(uint32_t *word)
{
	uint32_t seen = TG_PROCESS_READY;

	tg_check(tg_process_state_swap(word, &seen, TG_PROCESS_RUNNING));
}

/* How the process may rest with this in its queue.  False: not at all. */
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
