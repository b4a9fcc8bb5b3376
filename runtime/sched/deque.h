/*
 * deque.h
 *	  A worker's own tasks: its owner works at the bottom, thieves at the top.
 *
 * The owner pushes and pops the youngest item; any number of thieves take the
 * oldest one, or the older half, with one compare-and-swap.  All items can be
 * stolen at all times.  The structure may lie in memory shared with other
 * processes, which may ask for its size; the rings are private to the process
 * of the owner and the thieves.
 */
#ifndef TG_DEQUE_H
#define TG_DEQUE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"

#define TG_DEQUE_BATCH 32				 /* most items of one theft */
#define TG_DEQUE_CAPACITY_MAX (1u << 16) /* a push beyond is refused; must stay well below 2^22 */

typedef struct tg_ring tg_ring; /* deque.c */

typedef struct tg_deque
{
	uint64_t top TG_CACHE_ALIGNED;	  /* low 24 bits index, upper 40 tag; owner and thieves, read-modify-write only */
	uint32_t bottom TG_CACHE_ALIGNED; /* written by the owner, read by all */
	tg_ring *ring;					  /* written by the owner, read by thieves */

	/* The owner's alone; names and rules in deque.c. */
	uint32_t b TG_CACHE_ALIGNED;
	uint32_t t_known;
	uint32_t reach;
	uint32_t span;
	uint32_t bottom_max;
	uint32_t capacity;
	uint64_t top_seen;
	tg_ring *ring_own;
	uint64_t bumps; /* statistics */
} tg_deque;

/*
 * Makes it empty, with room for capacity items (a power of two) to begin with.
 * start is where its counters begin, 0 but in tests.  TG_NO_MEMORY.
 */
extern tg_status tg_deque_init(tg_deque *deque, uint32_t capacity, uint32_t start) TG_MUST_USE;

/* Frees the rings.  Owner, after the last thief. */
extern void tg_deque_destroy(tg_deque *deque);

/* Owner.  False if it is at its largest, or no memory is left to grow: nothing was pushed. */
extern bool tg_deque_push(tg_deque *deque, void *item) TG_MUST_USE;

/* Owner.  The youngest item, NULL if there is none. */
extern void *tg_deque_pop(tg_deque *deque);

#define TG_DEQUE_RACED (-1)

/*
 * Any thread of the owner's process.  Takes the oldest item (item_max = 1) or
 * the older half, at most item_max of it, in order of age.  Returns how many,
 * 0 if there is nothing, TG_DEQUE_RACED if somebody was faster.
 */
extern int tg_deque_steal(tg_deque *deque, void **items_out, unsigned item_max) TG_MUST_USE;

/* A moment's number of items.  Any thread of any process. */
extern unsigned tg_deque_size(const tg_deque *deque);

#endif /* TG_DEQUE_H */
