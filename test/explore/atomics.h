/*
 * atomics.h
 *	  The names of runtime/base/atomic.h, for code that is explored.
 *
 * Each access calls the explorer with its kind, its order and its place in the
 * source.  tg_store_then_fence is what it stands for, a store and a fence.
 */
#ifndef TG_EXPLORE_ATOMICS_H
#define TG_EXPLORE_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum explore_kind
{
	EXPLORE_LOAD,
	EXPLORE_STORE,
	EXPLORE_CAS,
	EXPLORE_EXCHANGE,
	EXPLORE_ADD,
	EXPLORE_OR,
	EXPLORE_AND,
	EXPLORE_FENCE,
	EXPLORE_WAIT, /* a load that waits for another value than the given one */
	EXPLORE_TAKE  /* a compare-and-swap that waits until it can be */
} explore_kind;

typedef enum explore_order
{
	EXPLORE_RELAXED,
	EXPLORE_ACQUIRE,
	EXPLORE_RELEASE,
	EXPLORE_ACQ_REL,
	EXPLORE_SEQ_CST,
	EXPLORE_EVERYWHERE /* a fence: seq_cst, in every thread */
} explore_order;

struct explore_plant;

/* A place in the source. */
typedef struct explore_site
{
	const char *text;
	const char *function;
	unsigned run; /* the exploration that plant is of */
	const struct explore_plant *plant;
} explore_site;

/* Returns what was read. */
extern uint64_t explore_atomic(explore_site *site, explore_kind kind, explore_order order, const volatile void *address,
							   unsigned bytes, uint64_t value);
/* True if swapped, else *expected is what was read. */
extern bool explore_cas(explore_site *site, explore_order order, explore_order failure, const volatile void *address,
						unsigned bytes, uint64_t *expected, uint64_t desired);

#define EXPLORE_SITE(source)                                                                                           \
	({                                                                                                                 \
		static explore_site site_ = {.text = source};                                                                  \
		site_.function = __func__;                                                                                     \
		&site_;                                                                                                        \
	})
#define EXPLORE_READ(source, kind, order, p, v)                                                                        \
	({                                                                                                                 \
		(__typeof__(*(p))) (uintptr_t) explore_atomic(EXPLORE_SITE(source), (kind), (order), (p), sizeof(*(p)),        \
													  (uint64_t) (v));                                                 \
	})
#define EXPLORE_WRITE(source, order, p, v)                                                                             \
	((void) explore_atomic(EXPLORE_SITE(source), EXPLORE_STORE, (order), (p), sizeof(*(p)), (uint64_t) (v)))
#define EXPLORE_SWAP(source, order, failure, p, expected, desired)                                                     \
	({                                                                                                                 \
		uint64_t expected_ = (uint64_t) * (expected);                                                                  \
		bool swapped_ = explore_cas(EXPLORE_SITE(source), (order), (failure), (p), sizeof(*(p)), &expected_,           \
									(uint64_t) (desired));                                                             \
		*(expected) = (__typeof__(*(expected))) (uintptr_t) expected_;                                                 \
		swapped_;                                                                                                      \
	})
#define EXPLORE_BARRIER(source, order) ((void) explore_atomic(EXPLORE_SITE(source), EXPLORE_FENCE, (order), NULL, 0, 0))

#define tg_load_relaxed(p) EXPLORE_READ("tg_load_relaxed(" #p ")", EXPLORE_LOAD, EXPLORE_RELAXED, p, 0)
#define tg_load_acquire(p) EXPLORE_READ("tg_load_acquire(" #p ")", EXPLORE_LOAD, EXPLORE_ACQUIRE, p, 0)
#define tg_load_seq_cst(p) EXPLORE_READ("tg_load_seq_cst(" #p ")", EXPLORE_LOAD, EXPLORE_SEQ_CST, p, 0)

#define tg_store_relaxed(p, v) EXPLORE_WRITE("tg_store_relaxed(" #p ")", EXPLORE_RELAXED, p, v)
#define tg_store_release(p, v) EXPLORE_WRITE("tg_store_release(" #p ")", EXPLORE_RELEASE, p, v)
#define tg_store_seq_cst(p, v) EXPLORE_WRITE("tg_store_seq_cst(" #p ")", EXPLORE_SEQ_CST, p, v)

#define tg_cas_acq_rel(p, expected, desired)                                                                           \
	EXPLORE_SWAP("tg_cas_acq_rel(" #p ")", EXPLORE_ACQ_REL, EXPLORE_ACQUIRE, p, expected, desired)
#define tg_cas_seq_cst(p, expected, desired)                                                                           \
	EXPLORE_SWAP("tg_cas_seq_cst(" #p ")", EXPLORE_SEQ_CST, EXPLORE_RELAXED, p, expected, desired)

#define tg_exchange_acq_rel(p, v) EXPLORE_READ("tg_exchange_acq_rel(" #p ")", EXPLORE_EXCHANGE, EXPLORE_ACQ_REL, p, v)
#define tg_exchange_seq_cst(p, v) EXPLORE_READ("tg_exchange_seq_cst(" #p ")", EXPLORE_EXCHANGE, EXPLORE_SEQ_CST, p, v)

#define tg_fetch_add_relaxed(p, v) EXPLORE_READ("tg_fetch_add_relaxed(" #p ")", EXPLORE_ADD, EXPLORE_RELAXED, p, v)
#define tg_fetch_add_acq_rel(p, v) EXPLORE_READ("tg_fetch_add_acq_rel(" #p ")", EXPLORE_ADD, EXPLORE_ACQ_REL, p, v)
#define tg_fetch_add_seq_cst(p, v) EXPLORE_READ("tg_fetch_add_seq_cst(" #p ")", EXPLORE_ADD, EXPLORE_SEQ_CST, p, v)
#define tg_fetch_or_acq_rel(p, v) EXPLORE_READ("tg_fetch_or_acq_rel(" #p ")", EXPLORE_OR, EXPLORE_ACQ_REL, p, v)
#define tg_fetch_and_acq_rel(p, v) EXPLORE_READ("tg_fetch_and_acq_rel(" #p ")", EXPLORE_AND, EXPLORE_ACQ_REL, p, v)

#define tg_fence_acquire() EXPLORE_BARRIER("tg_fence_acquire()", EXPLORE_ACQUIRE)
#define tg_fence_release() EXPLORE_BARRIER("tg_fence_release()", EXPLORE_RELEASE)
#define tg_fence_seq_cst() EXPLORE_BARRIER("tg_fence_seq_cst()", EXPLORE_SEQ_CST)

#define tg_store_then_fence(p, v)                                                                                      \
	(EXPLORE_WRITE("store of tg_store_then_fence(" #p ")", EXPLORE_RELEASE, p, v),                                     \
	 EXPLORE_BARRIER("fence of tg_store_then_fence(" #p ")", EXPLORE_SEQ_CST))

#endif /* TG_EXPLORE_ATOMICS_H */
