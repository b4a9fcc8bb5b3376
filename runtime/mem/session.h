/*
 * session.h
 *	  Participants (backends, workers) and the epochs they agree by.
 *
 * One global epoch.  A session copies it when it enters the library and is
 * quiescent outside.  Memory unlinked in epoch e is reused when the confirmed
 * epoch, the smallest one that a session inside still holds, is above e.
 * Nothing that waits, no host code and no error stands between enter and
 * leave, so a client that stops reading in mid-scan holds back no epoch.
 */
#ifndef TG_SESSION_H
#define TG_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/arena.h"

/* The part of a session that the inline functions below need; the rest is in session_internal.h. */
struct tg_session
{
	uint64_t epoch;					  /* written by the owner, read by all; 0 = quiescent */
	uint32_t id;					  /* constant: index in the table of sessions */
	uint32_t depth;					  /* owner only: nesting of enter */
	struct tg_cache *cache;			  /* constant: its free objects and accounts (arena_internal.h) */
	struct tg_retirement *retirement; /* constant: what it retired (session_internal.h) */
	struct tg_lane *lane;			  /* owner only: the lane that it works in, or NULL (sched/lane.h) */
	uint64_t claimed;				  /* owner only: bytes, all that its allocations took from beyond its cache */
	uint64_t bulk_from;				  /* owner only: of these; from there on its claims are TG_BULK */
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

/* Gives it back: caches are flushed, retirements go to the orphans.  Owner, quiescent.  Cannot fail. */
extern void tg_session_close(tg_session *session);

/* Number of sessions there can be, and the i-th (open or not). */
extern unsigned tg_session_max(void);
extern bool tg_session_is_open(unsigned id);

/* Those ever opened are below. */
extern unsigned tg_session_top(void);
extern tg_session *tg_session_at(unsigned id);

/*
 * Enter: store the epoch, full fence, read the global one again.  The fence
 * makes "store mine, then read pointers" and "unlink, then read sessions'
 * epochs" a Dekker pair: an unlinker either sees this session's epoch, or the
 * session sees the unlinking.  The store releases, so who reads it knows that
 * what the session read in earlier epochs is done.  Nests.
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

/* Leave: what was read before is done.  The release pairs with the acquire in tg_epoch_confirmed. */
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

/* The epoch in which something just unlinked was unlinked: a full fence, then the global epoch. */
extern uint64_t tg_epoch_now(void);

/* Starts a new epoch.  Any thread; usually the watcher's tick. */
extern void tg_epoch_advance(void);

/* The smallest epoch a session inside holds, or the global one.  Nothing unlinked before it is seen any more. */
extern uint64_t tg_epoch_confirmed(void);

/* For views: the session that has been inside for the longest time, as epochs count; false: nobody is inside. */
extern bool tg_epoch_holder(unsigned *session_id_out, uint64_t *epoch_out);

/*
 * Makes sure that the next count calls of tg_retire have room to be noted.
 * TG_NO_MEMORY otherwise.  Called before something is unlinked, so that what
 * is unlinked can always be retired.
 */
extern tg_status tg_retire_reserve(tg_session *session, unsigned count) TG_MUST_USE;

/*
 * Frees an object of the arena once nobody can see it any more.  It is
 * unlinked already, and room was reserved.  Session owner; inside an epoch or
 * outside.  Every 64th call polls, and starts a new epoch if nobody else did.
 */
extern void tg_retire(tg_session *session, void *object, tg_use use);

/*
 * Frees what can be freed by now of this session's retirements, and of orphans.
 * Session owner.  Costs a look at every session if anything is pending from an
 * epoch that is over, next to nothing otherwise.
 */
extern void tg_retire_poll(tg_session *session);

/*
 * Polls; if then nothing waits, gives up the room that was reserved: for an owner
 * that is about to sleep.  Session owner.
 */
extern void tg_retire_rest(tg_session *session);

/*
 * Makes this session's retirements orphans, for others to free: for an owner
 * that will be away for long.  Session owner; room reserved before is gone.
 */
extern void tg_retire_abandon(tg_session *session);

/* Objects of this session that wait.  Session owner. */
extern size_t tg_retire_count(const tg_session *session);

#endif /* TG_SESSION_H */
