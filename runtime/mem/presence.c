/*
 * presence.c
 *	  One word of a session tells who may do its duty: the owner, or one visitor.
 *
 *	            go away              look                 visit
 *	  PRESENT ----------> AWAY --------------> LONG_AWAY --------> VISITED
 *	   |  ^  ^              |  \___________________|___________________^ |
 *	   |  |  |              |   (visits of all)    |                     | done
 *	   |  |  +--------------+----------------------+------------ DONE <--+
 *	   |  |                       come back                       ^
 *	   |  | does its duty                                         |
 *	   v  |                                                       |
 *	  ASKED, PRESENT -------------- rest: does its duty ----------+
 *
 * 1. The session's data are used by its owner while PRESENT or ASKED, by its visitor while VISITED,
 *	  and by no thread in the other states.  For only the owner leaves the first two states, and
 *	  only the visitor, which made it, leaves VISITED.  The others are left by a compare-and-swap of
 *	  the state that was seen, so owner and visitor, or two visitors, do not both succeed.
 * 2. Going away and ending a visit release; coming back and a visit acquire.  So the next user of
 *	  the session's data sees all changes made before.
 * 3. A duty is short, and waits for nothing but latches; so an owner that comes back in the middle
 *	  of a visit spins.  That happens at most once per absence, after which DONE says that there is
 *	  nothing more to do; and unless memory is short, only sessions that were away for two looks are
 *	  visited.
 * 4. ASKED may be overwritten by going away: then the next visit of all sessions finds this one
 *	  away.
 *
 * A session that is not open is PRESENT: its last owner has given everything back, and it is not
 * asked.
 *
 * test/explore/explore_presence.c tries every schedule of an owner and visitors.
 */
#include "runtime/mem/presence.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"

/* A variable of each process, with the same value in all. */
static void (*session_duty)(tg_session *session) = tg_alloc_flush;

void
tg_duty_set(void (*duty)(tg_session *session))
{
	session_duty = duty;
}

void
tg_session_do_duty(tg_session *session)
{
	tg_store_relaxed(&session->presence, TG_PRESENT);
	session_duty(session);
}

void
tg_session_go_away(tg_session *session)
{
	tg_assert(!tg_epoch_inside(session));
	tg_session_answer(session);
	tg_store_release(&session->presence, TG_AWAY);
}

void
tg_session_rest(tg_session *session)
{
	tg_assert(!tg_epoch_inside(session));
	session_duty(session);
	tg_store_release(&session->presence, TG_DONE);
}

void
tg_session_come_back(tg_session *session)
{
	uint32_t presence = tg_load_relaxed(&session->presence);
	unsigned round = 0;

	for (;;)
	{
		tg_assert(presence >= TG_AWAY);
		if (presence == TG_VISITED)
		{
			tg_spin(&round);
			presence = tg_load_relaxed(&session->presence);
		}
		else if (tg_cas_acq_rel(&session->presence, &presence, TG_PRESENT))
			return;
	}
}

bool
tg_presence_look(void)
{
	unsigned top = tg_session_top();
	bool due = false;

	for (unsigned id = 0; id < top; id++)
	{
		tg_session *session = tg_session_at(id);
		uint32_t presence = tg_load_relaxed(&session->presence);

		if (presence == TG_LONG_AWAY)
			due = true;
		else if (presence == TG_AWAY)
			(void) tg_cas_acq_rel(&session->presence, &presence, TG_LONG_AWAY);
	}
	return due;
}

/* True if the duty was done. */
static bool
visit(tg_session *session, bool all)
{
	uint32_t presence = tg_load_relaxed(&session->presence);

	if (presence == TG_PRESENT && all)
		(void) tg_cas_acq_rel(&session->presence, &presence, TG_ASKED);
	if (presence != TG_LONG_AWAY && !(all && presence == TG_AWAY))
		return false;
	if (!tg_cas_acq_rel(&session->presence, &presence, TG_VISITED))
		return false;
	tg_failpoint("presence_visit");
	session_duty(session);
	tg_store_release(&session->presence, TG_DONE);
	return true;
}

unsigned
tg_presence_visit(const tg_session *visitor, bool all)
{
	unsigned top = tg_session_top();
	unsigned visits = 0;

	tg_assert(!tg_epoch_inside(visitor));
	for (unsigned id = 0; id < top; id++)
	{
		if (id != visitor->id && tg_session_is_open(id))
			visits += visit(tg_session_at(id), all);
	}
	return visits;
}
