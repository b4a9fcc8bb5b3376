/*
 * presence.h
 *	  Sessions whose owners are away for long, and what is done in their place.
 *
 * A session keeps things to be quick the next time: free objects, chunks and row
 * ids.  That is its duty to give back when others need them, at its next safe point.
 * An owner that sleeps has none: so it says when it goes (a backend that
 * turns to its client, a worker that is suspended), and while it is away somebody else does its duty.  It cannot
 * come back meanwhile.
 */
#ifndef TG_PRESENCE_H
#define TG_PRESENCE_H

#include <stdbool.h>

#include "runtime/base/atomic.h"
#include "runtime/mem/session.h"

typedef enum tg_presence
{
	TG_PRESENT,
	TG_ASKED, /* present, and asked to do its duty */
	TG_AWAY,  /* since the last look */
	TG_LONG_AWAY,
	TG_VISITED, /* away; somebody does its duty */
	TG_DONE		/* away, and it was done */
} tg_presence;

/* What a session's duty is: set by the room that knows, before children are forked; else to give back free objects. */
extern void tg_duty_set(void (*duty)(tg_session *session));

/* --- the owner, outside an epoch ---------------------------------------------- */

extern void tg_session_do_duty(tg_session *session);

/* At a safe point: does its duty if it has been asked to. */
static inline void
tg_session_answer(tg_session *session)
{
	if (tg_unlikely(tg_load_relaxed(&session->presence) == TG_ASKED))
		tg_session_do_duty(session);
}

/* It will not touch what is the session's, or use it for anything, until it comes back. */
extern void tg_session_go_away(tg_session *session);
extern void tg_session_come_back(tg_session *session);

/* Goes away, for long: does its duty before. */
extern void tg_session_rest(tg_session *session);

/* For assertions: somebody may use what is the session's. */
static inline bool
tg_session_is_in_hand(const tg_session *session)
{
	uint32_t presence = tg_load_relaxed(&session->presence);

	return presence <= TG_ASKED || presence == TG_VISITED;
}

/* --- anybody ---------------------------------------------------------------------- */

/*
 * Looks who is away.  True if somebody has been since the last look: it is time for
 * a round of visits.  One at a time looks; takes no latch.
 */
extern bool tg_presence_look(void);

/*
 * Does the duties of all who are long away; or (all) of all who are away, and asks
 * who is not.  How many duties were done.  Outside an epoch.
 */
extern unsigned tg_presence_visit(const tg_session *visitor, bool all);

#endif /* TG_PRESENCE_H */
