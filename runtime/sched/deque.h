/*
 * deque.h
 *	  A worker's own tasks: its owner works at the bottom, thieves at the top.
 *
 * The owner pushes and pops the youngest item; any number of thieves take the
 * oldest one, or the older half, with one compare-and-swap.  All items can be
 * stolen at all times.  The structure may lie in memory shared with other
 * processes, which may ask for its size; the rings are private to the process
 * of the owner and the thieves.
 *
 * The common path of push and pop is inline; why it is right is in deque.c,
 * which has the invariants and the orderings.
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
#define TG_DEQUE_CAPACITY_MAX (1u << 16) /* a push beyond is refused; must stay well below 2^22 */
#endif

typedef struct tg_ring
{
	struct tg_ring *older; /* outgrown ones, freed with the deque */
	uint32_t mask;
	void *slots[];
} tg_ring;

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

#define TG_DEQUE_RACED (-1)

/*
 * Any thread of the owner's process.  Takes the oldest item (item_max = 1) or
 * the older half, at most item_max of it, in order of age.  Returns how many,
 * 0 if there is nothing, TG_DEQUE_RACED if somebody was faster.
 */
extern int tg_deque_steal(tg_deque *deque, void **items_out, unsigned item_max) TG_MUST_USE;

/* --- the common path -------------------------------------------------------------- */

/* What lies off it; called by the functions below only. */
extern bool tg_deque_push_full(tg_deque *deque, void *item);
extern void *tg_deque_pop_slow(tg_deque *deque, uint32_t index);
extern void *tg_deque_pop_moved(tg_deque *deque, uint32_t index, uint64_t word);

#define TG_DEQUE_INDEX_BITS 24

/* Items between the index in a word of top and bottom; negative in the middle of a pop of an empty queue. */
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

/* The end of a push for which there is room. */
static inline void
tg_deque_append(tg_deque *deque, void *item)
{
	uint32_t b = deque->b;

	tg_ring_write(deque->ring_own, b, item);
	deque->b = b + 1;
	tg_store_release(&deque->bottom, b + 1);
}

/* The end of a pop at or above reach: publishes bottom, then looks at top. */
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

/* Owner.  False if it is at its largest, or no memory is left to grow: nothing was pushed. */
static inline bool TG_MUST_USE
tg_deque_push(tg_deque *deque, void *item)
{
	tg_deque_check(deque);
	if (tg_unlikely(deque->b - deque->t_known >= deque->capacity))
		return tg_deque_push_full(deque, item);
	tg_deque_append(deque, item);
	return true;
}

/* Owner.  The youngest item, NULL if there is none. */
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
 * A moment's number of items, never more than there can be: who pushed up to
 * this bottom had seen a top that left room.  Any thread of any process.
 */
static inline unsigned
tg_deque_size(const tg_deque *deque)
{
	uint32_t bottom = tg_load_acquire(&deque->bottom);
	int32_t n = tg_deque_between(bottom, tg_load_relaxed(&deque->top));

	return n > 0 ? (unsigned) n : 0;
}

#endif /* TG_DEQUE_H */
