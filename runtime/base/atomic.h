/*
 * atomic.h
 *	  Atomic accesses with their memory order in the name.
 *
 * They work on plain integers and pointers, in memory shared between processes as well as between
 * threads (all are lock-free on the machines on which PostgreSQL's own 64-bit atomics are
 * lock-free).  A field that is accessed by these is accessed by nothing else, except for
 * initialisation before it is published.
 */
#ifndef TG_ATOMIC_H
#define TG_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef TG_ATOMIC_BACKEND /* a test's own memory, under the same names */
#include TG_ATOMIC_BACKEND

#else

#define tg_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define tg_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define tg_load_seq_cst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)

#define tg_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define tg_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define tg_store_seq_cst(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

/*
 * Strong compare-and-swap; on failure *expected gets the value found (relaxed or acquire, as
 * named).
 */
#define tg_cas_acq_rel(p, expected, desired)                                                                           \
	__atomic_compare_exchange_n((p), (expected), (desired), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define tg_cas_seq_cst(p, expected, desired)                                                                           \
	__atomic_compare_exchange_n((p), (expected), (desired), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

#define tg_exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define tg_exchange_seq_cst(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

#define tg_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define tg_fetch_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define tg_fetch_add_seq_cst(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define tg_fetch_or_acq_rel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define tg_fetch_and_acq_rel(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)

#define tg_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define tg_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define tg_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/*
 * Stores, and then lets no later access pass: one half of a Dekker pair, whose other half stores,
 * fences and loads likewise.  It is a release store, too.  C11 gives a seq_cst exchange no such
 * strength (an ARM exchange lets later loads pass its store), but on x86 it is a full fence and
 * costs half of store and fence.
 */
#if defined(__x86_64__) || defined(__i386__)
#define tg_store_then_fence(p, v) ((void) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#else
#define tg_store_then_fence(p, v)                                                                                      \
	(__atomic_store_n((p), (v), __ATOMIC_RELEASE), __atomic_thread_fence(__ATOMIC_SEQ_CST))
#endif

#endif /* TG_ATOMIC_BACKEND */

/* gcc's thread sanitizer executes fences but does not follow them: disabled here, for all uses. */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/* A hint inside a spin loop. */
static inline void
tg_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield" ::: "memory");
#endif
}

/* Fields with different writers are this far apart (two lines: adjacent-line prefetch). */
#define TG_CACHE_LINE 64
#define TG_CACHE_ALIGNED __attribute__((aligned(TG_CACHE_LINE)))

#endif /* TG_ATOMIC_H */
