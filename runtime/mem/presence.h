/*
 * presence.h
 *	  Sessions whose owners are away for long, and how their duty is done for them.
 *
 * A session keeps memory to be quick the next time: free objects, chunks and row ids.  It has the
 * duty to give that back when others need memory, at its next safe point.  An owner that sleeps has
 * no safe points: so it announces that it goes away (a backend that turns to its client, a worker
 * that is suspended), and while it is away another session does its duty.  It cannot come back in
 * the middle of that.
 */
#ifndef TG_PRESENCE_H
#define TG_PRESENCE_H

#include <stdbool.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/mem/session.h"

typedef enum tg_presence
{
	TG_PRESENT,
	TG_ASKED, /* present, and asked to do its duty */
	TG_AWAY,  /* since the last look */
	TG_LONG_AWAY,
	TG_VISITED, /* away; another session does its duty */
	TG_DONE		/* away, and it was done */
} tg_presence;

/*
 * Sets the duty of sessions, by a higher room, before children are forked.  Initially:
 * tg_alloc_flush.
 */
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

/* Between the two, the owner uses neither the session nor its data. */
extern void tg_session_go_away(tg_session *session);
extern void tg_session_come_back(tg_session *session);

/* Does its duty, then goes away for long. */
extern void tg_session_rest(tg_session *session);

/* For assertions: whether some thread may use the session's data. */
static inline bool
tg_session_is_in_hand(const tg_session *session)
{
	uint32_t presence = tg_load_relaxed(&session->presence);

	return presence <= TG_ASKED || presence == TG_VISITED;
}

/* --- any session ------------------------------------------------------------------- */

/*
 * Notes the sessions that are away.  True if some have been since the last look: it is time for a
 * round of visits.  By one thread at a time; takes no latch.
 */
extern bool tg_presence_look(void);

/*
 * Does the duties of all sessions that are long away; or (all) of all that are away, and asks the
 * others to do theirs.  Returns how many duties were done.  Outside an epoch.
 */
extern unsigned tg_presence_visit(const tg_session *visitor, bool all);

#endif /* TG_PRESENCE_H */
