/*
 * session.h
 *	  Participants (backends, workers) and their epochs.
 *
 * There is one global epoch.  A session copies it when it enters the library and is quiescent
 * outside.  Memory unlinked in epoch e is reused when the confirmed epoch, the smallest one that a
 * session inside still holds, is above e.  Between enter and leave there is no wait, no host code
 * and no error, so a client that stops reading in mid-scan holds back no epoch.
 */
#ifndef TG_SESSION_H
#define TG_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

/* The part of a session that the inline functions below need; the rest is in session_internal.h. */
struct tg_session
{
	uint64_t epoch;					  /* written by the owner, read by all; 0 = quiescent */
	uint32_t id;					  /* constant: index in the table of sessions */
	uint32_t depth;					  /* owner only: nesting of enter */
	struct tg_cache *cache;			  /* constant: free objects and accounts (arena_internal.h) */
	struct tg_retirement *retirement; /* constant: its retired objects (session_internal.h) */
	struct tg_lane *lane;			  /* owner only: the lane that it works in, or NULL */
	uint64_t claimed;				  /* owner only: bytes taken from beyond its cache */
	uint64_t bulk_from;				  /* owner only: of these; from there on claims are TG_BULK */
	/* owner only: its TG_DATA claims, not TG_BULK, may use the reserved part */
	bool privileged;
	bool open;		   /* written under the table's latch, read by all */
	uint32_t presence; /* atomic: tg_presence (presence.h) */
} TG_CACHE_ALIGNED;

/*
 * Whether the session's TG_DATA claims may use the reserved part (arena.h).  The session's owner
 * only.
 */
static inline void
tg_claims_privilege(tg_session *session, bool privileged)
{
	session->privileged = privileged;
}

extern uint64_t *tg_epoch_global; /* set by tg_arena_create: the global epoch, 1 to begin with */

/* Takes a free session.  TG_FULL if all are taken.  Any thread. */
extern tg_status tg_session_open(tg_session **session_out) TG_MUST_USE;

/*
 * Gives it back: flushes its cache, makes its retirements orphans.  Owner, quiescent.  Cannot fail.
 */
extern void tg_session_close(tg_session *session);

/* The maximal number of sessions; whether the i-th is open. */
extern unsigned tg_session_max(void);
extern bool tg_session_is_open(unsigned id);

/* All sessions ever opened have smaller ids than this. */
extern unsigned tg_session_top(void);
extern tg_session *tg_session_at(unsigned id);

/*
 * Enter: store the epoch, full fence, read the global one again.  The fence makes "store mine, then
 * read pointers" and "unlink, then read sessions' epochs" a Dekker pair: an unlinker either sees
 * this session's epoch, or the session sees the unlinking.  The store releases, so a thread that
 * reads it knows that the session's reads in earlier epochs are complete.  Nests.
 */
static inline void
tg_epoch_enter(tg_session *session)
{
	if (session->depth++ == 0)
	{
		uint64_t epoch = tg_load_acquire(tg_epoch_global);

		for (;;)
		{
			uint64_t again;

			tg_failpoint("epoch_enter");
			tg_store_then_fence(&session->epoch, epoch);
			again = tg_load_acquire(tg_epoch_global);
			if (tg_likely(again == epoch))
				break;
			epoch = again;
		}
	}
}

/*
 * Leave: all reads inside are complete.  The release pairs with the acquire in tg_epoch_confirmed.
 */
static inline void
tg_epoch_leave(tg_session *session)
{
	tg_assert(session->depth > 0);
	if (--session->depth == 0)
		tg_store_release(&session->epoch, 0);
}

static inline bool
tg_epoch_inside(const tg_session *session)
{
	return session->depth > 0;
}

/* The epoch of an unlinking that has just been done: a full fence, then the global epoch. */
extern uint64_t tg_epoch_now(void);

/* Starts a new epoch.  Any thread; usually the watcher's tick. */
extern void tg_epoch_advance(void);

/*
 * The smallest epoch that a session inside holds, or the global one.  No session sees objects any
 * more that were unlinked in an earlier epoch.
 */
extern uint64_t tg_epoch_confirmed(void);

/* For views: the session that has been inside for the most epochs; false: no session is inside. */
extern bool tg_epoch_holder(unsigned *session_id_out, uint64_t *epoch_out);

#endif /* TG_SESSION_H */
