/*
 * retire.h
 *	  Memory that other sessions may still see: it is freed when no session can (session.h).
 */
#ifndef TG_RETIRE_H
#define TG_RETIRE_H

#include <stddef.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/use.h"

/*
 * Ensures that the next count calls of tg_retire have room for their entries.  TG_NO_MEMORY
 * otherwise.  To be called before unlinking, so that an unlinked object can always be retired.
 */
extern tg_status tg_retire_reserve(tg_session *session, unsigned count) TG_MUST_USE;

/*
 * Frees an object of the arena once no session can see it any more.  It is unlinked already, and
 * room was reserved.  Session owner; inside an epoch or outside.  Every 64th call polls, and starts
 * a new epoch if no other thread did.
 */
extern void tg_retire(tg_session *session, void *object, tg_use use);

/*
 * Frees those of this session's retirements, and of orphans, that can be freed by now.  Session
 * owner.  Examines every session if any entry is from an epoch that is over; costs next to nothing
 * otherwise.
 */
extern void tg_retire_poll(tg_session *session);

/*
 * Polls; if then no retirement waits, gives up the reserved room: for an owner that is about to
 * sleep.  Session owner.
 */
extern void tg_retire_rest(tg_session *session);

/*
 * Makes this session's retirements orphans, for other sessions to free: for an owner that will be
 * away for long.  Session owner; room reserved before is gone.
 */
extern void tg_retire_abandon(tg_session *session);

/* The number of this session's waiting objects.  Session owner. */
extern size_t tg_retire_count(const tg_session *session);

#endif /* TG_RETIRE_H */
