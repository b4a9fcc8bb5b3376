/*
 * deque_variant.c
 *	  deque.c with the world's memory for its rings, under a name of its own.
 */
#include "test/explore/deque_variant.h"

#include <stdlib.h>

#include "test/explore/explore.h"

/* A ring's slots are written by the owner of the deque only, which is thread 0. */
static void *
ring_allocate(size_t bytes)
{
	tg_ring *ring = explore_allocate(bytes);

	for (size_t i = 0; i < (bytes - sizeof(tg_ring)) / sizeof(void *); i++)
		EXPLORE_FIELD(&ring->slots[i], 0);
	return ring;
}

#define malloc ring_allocate
#define free explore_free
#include "runtime/sched/deque.c"

const deque_variant DEQUE_VARIANT = {
	.name = DEQUE_VARIANT_NAME,
	.batch = TG_DEQUE_BATCH,
	.capacity_max = TG_DEQUE_CAPACITY_MAX,
	.init = tg_deque_init,
	.push = tg_deque_push,
	.pop = tg_deque_pop,
	.steal = tg_deque_steal,
	.size = tg_deque_size,
};
