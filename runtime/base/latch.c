/*
 * latch.c
 *	  A futex mutex with ranks.
 *
 * The word follows mutex 2 of U. Drepper, "Futexes Are Tricky" (2011):
 *
 *	  FREE --acquire--> HELD --a thread must wait--> WAITED
 *	   ^                 |                             |
 *	   +-----release-----+------release, wake one------+
 *
 * 1. A thread that finds FREE and swaps it for HELD or WAITED holds the latch.
 * 2. A thread that sleeps has left WAITED in the word, or the kernel has seen that it is no longer
 *	  there; so a release that meets HELD need not wake any thread.
 * 3. A woken thread cannot know whether others still sleep, so it takes the latch as WAITED: at
 *	  worst there is one wake too many, never one too few.
 *
 * Acquire and release of the word order the accesses to the guarded data.
 *
 * Departure: a short spin first, as long as spins have recently taken to succeed in this thread (as
 * in glibc's adaptive mutex, but per thread: the latch stays 8 bytes and threads that only look at
 * it do not write its line).  The guarded sections are shorter than a futex call.
 */
#include "runtime/base/latch.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"

#define LATCH_FREE 0
#define LATCH_HELD 1
#define LATCH_WAITED 2

#define SPIN_MAX 100

static __thread int spin_mean; /* mean number of spins, recently */

/* --- ranks ---------------------------------------------------------------- */

#ifdef TG_DEBUG

#define HELD_MAX 16

static __thread const tg_latch *held[HELD_MAX]; /* in order of acquisition */
static __thread unsigned held_count;

static void
rank_check(const tg_latch *latch)
{
	for (unsigned i = 0; i < held_count; i++)
		tg_assert(held[i]->rank < latch->rank);
}

static void
rank_push(const tg_latch *latch)
{
	tg_assert(held_count < HELD_MAX);
	held[held_count++] = latch;
}

static void
rank_remove(const tg_latch *latch)
{
	unsigned i = held_count;

	do
	{
		tg_assert(i > 0); /* or this thread does not hold it */
		i--;
	} while (held[i] != latch);
	for (held_count--; i < held_count; i++)
		held[i] = held[i + 1];
}

#else

static inline void
rank_check(const tg_latch *latch)
{
	(void) latch;
}

static inline void
rank_push(const tg_latch *latch)
{
	(void) latch;
}

static inline void
rank_remove(const tg_latch *latch)
{
	(void) latch;
}

#endif

/* --- the word ------------------------------------------------------------- */

/* No FUTEX_PRIVATE_FLAG: waiter and waker may be different processes. */
static void
futex_wait(uint32_t *word, uint32_t value)
{
	/* a signal is as good as a wake */
	(void) syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void
futex_wake_one(uint32_t *word)
{
	(void) syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool
latch_swap_free(tg_latch *latch)
{
	uint32_t expected = LATCH_FREE;

	/* acquire: pairs with the release of the last holder */
	return tg_cas_acq_rel(&latch->word, &expected, LATCH_HELD);
}

static void __attribute__((noinline)) latch_acquire_slow(tg_latch *latch)
{
	int spin_max = spin_mean * 2 + 10;
	int spins;

	if (spin_max > SPIN_MAX)
		spin_max = SPIN_MAX;
	for (spins = 0; spins < spin_max; spins++)
	{
		if (tg_load_relaxed(&latch->word) == LATCH_FREE && latch_swap_free(latch))
		{
			spin_mean += (spins - spin_mean) / 8;
			return;
		}
		tg_pause();
	}
	spin_mean += (spins - spin_mean) / 8;

	while (tg_exchange_acq_rel(&latch->word, LATCH_WAITED) != LATCH_FREE)
		futex_wait(&latch->word, LATCH_WAITED);
}

/* --- in public ------------------------------------------------------------ */

void
tg_latch_init(tg_latch *latch, tg_rank rank)
{
	tg_assert(rank > 0 && rank < TG_RANK_LAST);
	latch->word = LATCH_FREE;
	latch->rank = rank;
}

void
tg_latch_acquire(tg_latch *latch)
{
	rank_check(latch);
	if (tg_unlikely(!latch_swap_free(latch)))
		latch_acquire_slow(latch);
	rank_push(latch);
}

bool
tg_latch_try(tg_latch *latch)
{
	if (tg_load_relaxed(&latch->word) != LATCH_FREE || !latch_swap_free(latch))
		return false;
	rank_push(latch);
	return true;
}

void
tg_latch_release(tg_latch *latch)
{
	uint32_t word;

	rank_remove(latch);
	/* release: pairs with the next holder's acquire */
	word = tg_exchange_acq_rel(&latch->word, LATCH_FREE);
	tg_assert(word != LATCH_FREE);
	if (tg_unlikely(word == LATCH_WAITED))
		futex_wake_one(&latch->word);
}
