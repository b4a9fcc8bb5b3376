/*
 * ending.h
 *	  The end of a transaction that several sessions work in: one atomic word.
 *
 * A session that works in the transaction counts as a user meanwhile.  The word holds that count
 * and the way in which the transaction is going to end:
 *
 *						leave					abort: it has no user
 *				   +----------+		   +-----------------------------> the caller aborts it
 *	  use, leave   v		  |		   |
 *	  OPEN (count) -----------+--------+ abort, or commit beside another user
 *		|								   |
 *		| commit: by its only user		   v
 *		v								GOING_TO_ABORT (count) --- the last user to leave aborts it
 *	  GOING_TO_COMMIT: that user commits it, or, if that fails, aborts it
 *
 * 1. Once a flag is set no session becomes a user any more, so the count only falls.
 * 2. Exactly one caller is told to end it.  The flags are set by one compare-and-swap, and never
 *	  both.  The caller that sets GOING_TO_COMMIT is the only user.  The caller that sets
 *	  GOING_TO_ABORT with a count of 0 is told to abort; otherwise the user that brings the count to
 *	  0 is told, and the count reaches 0 once.
 * 3. The session that ends the transaction sees all that the users did: each leaves with a release,
 *	  and the session is told with an acquire.
 *
 * The word is 0 at first.
 */
#ifndef TG_ENDING_H
#define TG_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"

#define TG_GOING_TO_COMMIT ((uint64_t) 1)
#define TG_GOING_TO_ABORT ((uint64_t) 2)
#define TG_ENDING_USER ((uint64_t) 4)

static inline uint64_t
tg_ending_users(uint64_t word)
{
	return word / TG_ENDING_USER;
}

static inline bool
tg_ending_is_open(uint64_t word)
{
	return (word & (TG_GOING_TO_COMMIT | TG_GOING_TO_ABORT)) == 0;
}

/* False: the transaction is going to end, or has ended; the caller does nothing in it. */
static inline bool
tg_ending_use(uint64_t *word)
{
	uint64_t old = tg_load_relaxed(word);

	while (tg_ending_is_open(old))
		if (tg_cas_acq_rel(word, &old, old + TG_ENDING_USER))
			return true;
	return false;
}

/* True: the caller has to abort it now. */
static inline bool
tg_ending_leave(uint64_t *word)
{
	uint64_t old = tg_fetch_add_acq_rel(word, -TG_ENDING_USER);

	tg_assert(tg_ending_users(old) > 0);
	return old == (TG_ENDING_USER | TG_GOING_TO_ABORT);
}

/* By any session, any number of times.  True: the caller has to abort it now. */
static inline bool
tg_ending_abort(uint64_t *word)
{
	uint64_t old = tg_load_relaxed(word);

	while (tg_ending_is_open(old))
		if (tg_cas_acq_rel(word, &old, old | TG_GOING_TO_ABORT))
			return tg_ending_users(old) == 0;
	return false;
}

/*
 * By a user.  True: the caller has to commit it now, then leaves.  False: it is going to be
 * aborted.
 */
static inline bool
tg_ending_commit(uint64_t *word)
{
	uint64_t old = tg_load_relaxed(word);

	while (tg_ending_is_open(old))
	{
		bool alone = tg_ending_users(old) == 1;

		tg_assert(tg_ending_users(old) > 0);
		if (tg_cas_acq_rel(word, &old, old | (alone ? TG_GOING_TO_COMMIT : TG_GOING_TO_ABORT)))
			return alone;
	}
	return false;
}

#endif /* TG_ENDING_H */
