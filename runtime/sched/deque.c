/*
 * deque.c
 *	  The reach-tagged deque: Chase and Lev's, with thefts of more than one.
 *
 * This file also describes the common path of push and pop, which is inline in deque.h.
 *
 * In Chase and Lev's deque ("Dynamic Circular Work-Stealing Deque", 2005; C11
 * orderings by Lê et al., 2013) the owner contends for the last item only.
 * That does not allow thefts of several items: a thief reads the two ends, decides on [t, t + k)
 * and stalls; the owner pops into that range without touching top; the thief's compare-and-swap
 * succeeds, and items run twice.
 *
 * Here top carries a tag.  The owner knows how far any thief that holds the present word of top can
 * reach.  Before the owner pops an item within reach it changes the word ("bump"), so that the
 * compare-and-swap of such a thief fails.
 *
 *		 t                reach          b      bottom_max
 *		 |----- a bump ----|-- a fence ---|..........|
 *		 thieves ->                    <- owner
 *
 * A thief that saw n items claims at most half(n) = min(BATCH, ceil(n / 2)), so
 * reach = t + half(bottom_max - t), where bottom_max is the largest bottom that
 * may have been read together with this word.  A bump lets bottom_max start
 * again from the present bottom; between two bumps without thefts the queue shrinks by a constant
 * factor or grew and came back, so the number of bumps per descent is logarithmic in the depth.
 * The last item is no special case: it is within reach.  Only thefts advance t: thieves add k to
 * the word, the owner adds TAG.  A carry from index to tag does no harm: the word stays unique.
 *
 * The owner's copies: b is bottom; top_seen the last word seen; t_known the
 * newest t known by an acquire (widened to 32 bits relative to b).  A pop
 * needs one range test: index - reach < span says that it lies at or above
 * reach and below bottom_max.  From 2 BATCH - 1 items on reach does not grow
 * with bottom any more, and span is "for ever".
 *
 * Invariants
 *	I1	bottom_max is at least every bottom that a thief holding top_seen can
 *		have read.  Such a thief claims below reach.  Items at or above reach
 *		are the owner's as long as top == top_seen.
 *	I2	bottom_max only grows while top == top_seen.  When top moved, the
 *		largest bottom readable with the new word is b (since the owner's last
 *		fence and load of the old word it only pushed); after a bump it is the
 *		popped index.  There bottom_max starts again.
 *	I3	An index below reach is popped only after a bump, so the slots of a
 *		claimed range do not change while top does not.
 *	I4	t <= bottom, except in the pop of an empty queue, which restores bottom
 *		before it returns.
 *
 * Orderings (each names its partner)
 *	push's release of bottom - the thief's acquire of bottom: slot, ring and
 *		the contents of the task.  And size's acquire: the top that left room.
 *	pop's release of bottom - the same acquire: a thief may read a popped value
 *		of bottom.  The store that restores bottom needs no release: a thief that
 *		has the word before the bump fails, and a thief that has the word after it
 *		finds nothing.
 *	pop's fence between bottom and top - the thief's fence between top and
 *		bottom (Dekker): the owner sees the claim, or the thief the new bottom.
 *		Both are seq_cst: nothing weaker orders a store before a load.  The pop's
 *		is part of tg_store_then_fence, one instruction on x86.
 *	bump's acq_rel - the thief's acquire of top: a thief that reads the bumped
 *		word sees the popped bottom, so this path needs no fence.
 *	the thief's compare-and-swap, release part - the acquire of top by pop and
 *		by push when full: the slots were read before they are used again.  It
 *		is seq_cst as the rules of C11 for fences speak of seq_cst accesses.
 *	ring's release in grow - the thief's acquire of ring, after that of bottom:
 *		the ring holds what bottom promises.
 *
 * test/explore/explore_deque.c tries every schedule of this code in small sizes,
 * and shows for nearly each line above that something goes wrong without it.
 *
 * Growth copies [t_known, b) into twice the room.  Old rings stay until the
 * deque dies (together they are no larger than the present one): a late thief
 * that reads one is right by I3 or fails.  The word repeats after 2^40 bumps
 * within one thief's window, hours at least: not provided for.
 */
#include "runtime/sched/deque.h"

#include <stddef.h>
#include <stdlib.h>

#define TAG (UINT64_C(1) << TG_DEQUE_INDEX_BITS)
#define SPAN_ENDLESS (UINT32_C(1) << 22)

_Static_assert(TG_DEQUE_CAPACITY_MAX <= SPAN_ENDLESS / 4, "indexes must not be ambiguous");

static inline uint32_t
half(uint32_t n)
{
	uint32_t k = (n + 1) / 2;

	return k < TG_DEQUE_BATCH ? k : TG_DEQUE_BATCH;
}

static inline bool
is_before(uint32_t index, uint32_t other)
{
	return (int32_t) (index - other) < 0;
}

static tg_ring *
ring_new(uint32_t capacity, tg_ring *older)
{
	tg_ring *ring = malloc(sizeof(tg_ring) + (size_t) capacity * sizeof(void *));

	if (ring)
	{
		ring->older = older;
		ring->mask = capacity - 1;
	}
	return ring;
}

/*
 * Sets reach for the largest bottom that a thief may read with the present word, with some room to
 * grow (I1).
 */
static void
reach_set(tg_deque *deque, uint32_t bottom, uint32_t t)
{
	uint32_t n = bottom - t;

	if (n >= 2 * TG_DEQUE_BATCH - 1)
	{
		deque->bottom_max = bottom;
		deque->reach = t + TG_DEQUE_BATCH;
		deque->span = SPAN_ENDLESS;
	}
	else
	{
		uint32_t room = n + n / 2;

		deque->bottom_max = t + room;
		deque->reach = t + half(room);
		deque->span = room - half(room);
	}
}

tg_status
tg_deque_init(tg_deque *deque, uint32_t capacity, uint32_t start)
{
	tg_assert(capacity > 0 && (capacity & (capacity - 1)) == 0 && capacity <= TG_DEQUE_CAPACITY_MAX);
	deque->ring_own = ring_new(capacity, NULL);
	if (!deque->ring_own)
		return TG_NO_MEMORY;
	deque->capacity = capacity;
	deque->b = start;
	deque->t_known = start;
	deque->top_seen = start;
	deque->bumps = 0;
	reach_set(deque, start, start);
	tg_store_relaxed(&deque->bottom, start);
	tg_store_relaxed(&deque->top, deque->top_seen);
	tg_store_release(&deque->ring, deque->ring_own);
	return TG_OK;
}

void
tg_deque_destroy(tg_deque *deque)
{
	tg_ring *ring = deque->ring_own;

	while (ring)
	{
		tg_ring *older = ring->older;

		free(ring);
		ring = older;
	}
	deque->ring_own = NULL;
	tg_store_relaxed(&deque->ring, NULL);
}

static bool
grow(tg_deque *deque)
{
	tg_ring *ring;

	if (deque->capacity >= TG_DEQUE_CAPACITY_MAX)
		return false;
	ring = ring_new(deque->capacity * 2, deque->ring_own);
	if (!ring)
		return false;
	for (uint32_t i = deque->t_known; i != deque->b; i++)
		tg_ring_write(ring, i, tg_ring_read(deque->ring_own, i));
	deque->ring_own = ring;
	deque->capacity *= 2;
	tg_store_release(&deque->ring, ring);
	return true;
}

bool
tg_deque_push_full(tg_deque *deque, void *item)
{
	uint32_t b = deque->b;

	deque->t_known = b - (uint32_t) tg_deque_between(b, tg_load_acquire(&deque->top));
	if (b - deque->t_known >= deque->capacity && !grow(deque))
		return false;
	tg_deque_append(deque, item);
	return true;
}

/* Takes the item at index, or nothing, by a bump of top. bottom is index already. */
static void *
pop_bump(tg_deque *deque, uint32_t index)
{
	uint64_t word = tg_fetch_add_acq_rel(&deque->top, TAG);

	deque->bumps++;
	deque->top_seen = word + TAG;
	deque->t_known = deque->b - (uint32_t) tg_deque_between(deque->b, word);
	if (is_before(index, deque->t_known))
	{
		reach_set(deque, deque->b, deque->t_known);
		tg_store_relaxed(&deque->bottom, deque->b);
		return NULL;
	}
	reach_set(deque, index, deque->t_known);
	deque->b = index;
	return tg_ring_read(deque->ring_own, index);
}

/* The word of top is not the one seen last: the reach is set anew from it. */
void *
tg_deque_pop_moved(tg_deque *deque, uint32_t index, uint64_t word)
{
	deque->top_seen = word;
	deque->t_known = deque->b - (uint32_t) tg_deque_between(deque->b, word);
	reach_set(deque, deque->b, deque->t_known);
	if (is_before(index, deque->reach))
		return pop_bump(deque, index);
	deque->b = index;
	return tg_ring_read(deque->ring_own, index);
}

/*
 * The pop of an empty deque, of an item within reach, or of one beyond the bottom that reach was
 * set for.
 */
void *
tg_deque_pop_slow(tg_deque *deque, uint32_t index)
{
	if (deque->b == deque->t_known)
		return NULL;
	if (!is_before(index, deque->reach) && is_before(deque->bottom_max, deque->b))
		reach_set(deque, deque->b, deque->b - (uint32_t) tg_deque_between(deque->b, deque->top_seen));
	if (!is_before(index, deque->reach))
		return tg_deque_pop_fenced(deque, index);
	tg_store_release(&deque->bottom, index);
	return pop_bump(deque, index);
}

int
tg_deque_steal(tg_deque *deque, void **items_out, unsigned item_max)
{
	uint64_t word = tg_load_acquire(&deque->top);
	int32_t n;
	uint32_t k;
	tg_ring *ring;

	tg_fence_seq_cst();
	n = tg_deque_between(tg_load_acquire(&deque->bottom), word);
	if (n <= 0)
		return 0;
	k = half((uint32_t) n);
	if (k > item_max)
		k = item_max;
	ring = tg_load_acquire(&deque->ring);
	for (uint32_t i = 0; i < k; i++)
		items_out[i] = tg_ring_read(ring, (uint32_t) word + i);
	if (!tg_cas_seq_cst(&deque->top, &word, word + k))
		return TG_DEQUE_RACED;
	return (int) k;
}
