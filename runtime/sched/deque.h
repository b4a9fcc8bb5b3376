/*
 * deque.h
 *	  A worker's own tasks: the owner works at the bottom, thieves at the top.
 *
 * The owner pushes and pops the youngest item; any number of thieves take the
 * oldest one, or the older half, with one compare-and-swap.  All items can be
 * stolen at all times.  The structure may lie in memory shared with other
 * processes, which may ask for its size; the rings are private to the process
 * of the owner and the thieves.
 *
 * The common path of push and pop is inline. deque.c has the invariants, the orderings and the
 * proof.
 */
#ifndef TG_DEQUE_H
#define TG_DEQUE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

/* Small bounds make small searches: test/explore chooses its own. */
#ifndef TG_DEQUE_BATCH
#define TG_DEQUE_BATCH 32 /* most items of one theft */
#endif
#ifndef TG_DEQUE_CAPACITY_MAX
/* a push beyond that is refused; must stay well below 2^22 */
#define TG_DEQUE_CAPACITY_MAX (1u << 16)
#endif

typedef struct tg_ring
{
	struct tg_ring *older; /* outgrown ones, freed with the deque */
	uint32_t mask;
	void *slots[];
} tg_ring;

typedef struct tg_deque
{
	/*
	 * Low 24 bits: index; upper 40: tag.  The owner and thieves change it by read-modify-write
	 * only.
	 */
	uint64_t top TG_CACHE_ALIGNED;
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
 * Makes the deque empty, with initial room for capacity items (a power of two).  Its counters begin
 * at start, which is 0 except in tests.  TG_NO_MEMORY.
 */
extern tg_status tg_deque_init(tg_deque *deque, uint32_t capacity, uint32_t start) TG_MUST_USE;

/* Frees the rings.  Owner, after the last thief. */
extern void tg_deque_destroy(tg_deque *deque);

#define TG_DEQUE_RACED (-1)

/*
 * Takes the oldest item (item_max = 1) or the older half, at most item_max items, in order of age.
 * Returns their number; 0 if the deque is empty; TG_DEQUE_RACED if another thread was faster.  Any
 * thread of the owner's process.
 */
extern int tg_deque_steal(tg_deque *deque, void **items_out, unsigned item_max) TG_MUST_USE;

/* --- the common path -------------------------------------------------------------- */

/* The rare paths; only the functions below call them. */
extern bool tg_deque_push_full(tg_deque *deque, void *item);
extern void *tg_deque_pop_slow(tg_deque *deque, uint32_t index);
extern void *tg_deque_pop_moved(tg_deque *deque, uint32_t index, uint64_t word);

#define TG_DEQUE_INDEX_BITS 24

/*
 * The number of items between the index in a word of top and bottom.  It is negative in the middle
 * of a pop of an empty deque.
 */
static inline int32_t
tg_deque_between(uint32_t bottom, uint64_t word)
{
	uint32_t shifted = (bottom - (uint32_t) word) << (32 - TG_DEQUE_INDEX_BITS);

	return (int32_t) shifted >> (32 - TG_DEQUE_INDEX_BITS);
}

static inline void *
tg_ring_read(tg_ring *ring, uint32_t index)
{
	return tg_load_relaxed(&ring->slots[index & ring->mask]);
}

static inline void
tg_ring_write(tg_ring *ring, uint32_t index, void *item)
{
	tg_store_relaxed(&ring->slots[index & ring->mask], item);
}

static inline void
tg_deque_check(const tg_deque *deque)
{
	tg_assert((int32_t) (deque->b - deque->t_known) >= 0);
	tg_assert(deque->b - deque->t_known <= deque->capacity);
	tg_assert(tg_load_relaxed(&deque->bottom) == deque->b);
	(void) deque;
}

/* The last part of a push, once there is room. */
static inline void
tg_deque_append(tg_deque *deque, void *item)
{
	uint32_t b = deque->b;

	tg_ring_write(deque->ring_own, b, item);
	deque->b = b + 1;
	tg_store_release(&deque->bottom, b + 1);
}

/* The last part of a pop at or above reach: publishes bottom, then looks at top. */
static inline void *
tg_deque_pop_fenced(tg_deque *deque, uint32_t index)
{
	uint64_t word;

	tg_store_then_fence(&deque->bottom, index);
	word = tg_load_acquire(&deque->top);
	if (tg_unlikely(word != deque->top_seen))
		return tg_deque_pop_moved(deque, index, word);
	deque->b = index;
	return tg_ring_read(deque->ring_own, index);
}

/*
 * Owner only.  False: nothing was pushed, because the deque is at its largest or no memory is left
 * to grow.
 */
static inline bool TG_MUST_USE
tg_deque_push(tg_deque *deque, void *item)
{
	tg_deque_check(deque);
	if (tg_unlikely(deque->b - deque->t_known >= deque->capacity))
		return tg_deque_push_full(deque, item);
	tg_deque_append(deque, item);
	return true;
}

/* Owner only.  Takes the youngest item, NULL if there is none. */
static inline void *
tg_deque_pop(tg_deque *deque)
{
	uint32_t index = deque->b - 1;

	tg_deque_check(deque);
	if (tg_unlikely(index - deque->reach >= deque->span))
		return tg_deque_pop_slow(deque, index);
	return tg_deque_pop_fenced(deque, index);
}

/*
 * The number of items at one moment.  It is never more than the capacity: the owner had seen a top
 * that left room when it pushed up to this bottom.  Any thread of any process.
 */
static inline unsigned
tg_deque_size(const tg_deque *deque)
{
	uint32_t bottom = tg_load_acquire(&deque->bottom);
	int32_t n = tg_deque_between(bottom, tg_load_relaxed(&deque->top));

	return n > 0 ? (unsigned) n : 0;
}

#endif /* TG_DEQUE_H */
