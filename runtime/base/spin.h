/*
 * spin.h
 *	  Waiting for an event that is a few instructions of another thread away.
 */
#ifndef TG_SPIN_H
#define TG_SPIN_H

#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"

#define TG_SPIN_PAUSES 128

/*
 * One round of a wait: pauses first, then yields the CPU, in case the other thread was preempted.
 */
static inline void
tg_spin(unsigned *round)
{
	tg_failpoint("spin");
	if (++*round <= TG_SPIN_PAUSES)
		tg_pause();
	else
		(void) sched_yield();
}

#endif /* TG_SPIN_H */
