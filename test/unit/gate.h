/*
 * gate.h
 *	  For tests of races: stops a thread at a failpoint, or all threads now and
 *	  then at any of them.
 */
#ifndef TG_UNIT_GATE_H
#define TG_UNIT_GATE_H

#include <string.h>

#include "runtime/base/failpoint.h"
#include "test/unit/pool.h"

static const char *gate_name; /* the failpoint whose next passer waits; NULL for none */
static uint32_t gate_reached;
static uint32_t gate_open;

static inline void
gate_wait(const char *name)
{
	const char *armed = tg_load_acquire(&gate_name);

	if (!armed || strcmp(name, armed) != 0 || !tg_cas_acq_rel(&gate_name, &armed, NULL))
		return;
	tg_store_release(&gate_reached, 1);
	while (!tg_load_acquire(&gate_open))
		usleep(20);
}

/* The first thread that passes this place waits there; see gate_is_reached and gate_release. */
static inline void
gate_arm(const char *name)
{
	tg_store_relaxed(&gate_reached, 0);
	tg_store_relaxed(&gate_open, 0);
	tg_store_release(&gate_name, name);
}

static inline bool
gate_is_reached(void)
{
	return comes_true(&gate_reached, 1);
}

static inline void
gate_release(void)
{
	tg_store_release(&gate_name, NULL);
	tg_store_release(&gate_open, 1);
}

static __thread uint32_t gate_random;

/* At one place of 8: gives the CPU away, or a little more. */
static inline void
gate_stumble(void)
{
	if (gate_random == 0)
		gate_random = (uint32_t) (uintptr_t) &gate_random | 1;
	gate_random ^= gate_random << 13;
	gate_random ^= gate_random >> 17;
	gate_random ^= gate_random << 5;
	if (gate_random % 64 == 0)
		usleep(gate_random / 64 % 300);
	else if (gate_random % 8 == 0)
		sched_yield();
}

#endif /* TG_UNIT_GATE_H */
