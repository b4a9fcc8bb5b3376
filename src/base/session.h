/*
 * session.h
 *	  This backend's session of the runtime.
 */
#ifndef TSURUGI_SESSION_H
#define TSURUGI_SESSION_H

#include "postgres.h"

#include "miscadmin.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"

/*
 * NULL until the first use, and while the backend is away: when it has nothing to do for the
 * session.
 */
extern tg_session *tsurugi_own_session;

/* The session, also while it is away; NULL: this process has none. */
extern tg_session *tsurugi_session_known(void);

/*
 * Waits until tables can be reached; set by durable/availability.c.  Raises an error when the wait
 * has lasted too long (57P03), or if they never can (XX001).
 */
extern void (*tsurugi_session_await)(void);

/* Whether they never can before the next start; set likewise. */
extern bool (*tsurugi_session_is_refused)(void);

/*
 * Whether the tables follow the log of another server (durable/follower.h), or did so when the
 * session last looked.  Then, before it takes a snapshot, it waits until everything is applied that
 * redo had passed on before; and before it learns which storage a relation has, until definitions
 * are.  host: the snapshot of PostgreSQL's that it is to take a time for (tsurugi_mixed_look);
 * NULL: it waits for definitions.  False: it has waited for less, which suffices for that snapshot.
 * 40001: the wait has lasted too long.  The call ends that state when the server has been promoted.
 */
struct SnapshotData;
extern bool tsurugi_follows;
extern bool (*tsurugi_session_catch_up)(struct SnapshotData *host);

/*
 * The session has waited for what this snapshot shows, and the relations that were locked before;
 * NULL: for none.
 */
extern struct SnapshotData *tsurugi_session_caught_up;

/* The slow half of tsurugi_session. */
extern tg_session *tsurugi_session_open(void);

/* Whether they can be reached, and no other server's log is followed; set likewise. */
extern bool (*tsurugi_session_is_served)(void);

/*
 * The session for work that can do without: if this process has none, it is opened only if nothing
 * is to be waited for.  NULL: there is none.
 */
extern tg_session *tsurugi_session_if_served(void);

/*
 * From now on the session is privileged exactly if the role that it works as is a superuser: then
 * new data may use the part that tsurugi_fdw.memory_reserved keeps.  Functions that run as their
 * owner do not count.  Called in a transaction.
 */
extern void tsurugi_session_judge_privilege(void);
extern Oid tsurugi_session_judged_role; /* the role at that time */

/* Until the next use, other sessions may take back what this session keeps (mem/presence.h). */
extern void tsurugi_session_go_away(void);

/*
 * The session: it is opened at its first use, resumed if the backend was away, and ended when the
 * backend exits, after PostgreSQL's own abort.  Before it is opened, the tables are waited for.
 * Raises an error if the tables are not available (tsurugi_session_await), or if all sessions are
 * taken (53300).
 */
static inline tg_session *
tsurugi_session(void)
{
	if (tg_likely(tsurugi_own_session != NULL))
		return tsurugi_own_session;
	return tsurugi_session_open();
}

/*
 * A transaction that has looked into a dictionary holds it (index/rank_holders.h) until its end.
 * It does so by itself, unless others look on its behalf.  The second function is called at that
 * end.
 */
extern void tsurugi_session_hold_ranks(void);
extern bool tsurugi_session_holds_ranks(void);
extern void tsurugi_session_let_ranks_go(void);

/* Loads by the pool, of all backends; each may have twice as many sessions as there are workers. */
#define TSURUGI_LOADS_AT_ONCE 4

/*
 * The number of sessions, for all processes and threads that can exist.  Called when PostgreSQL
 * knows its own number.
 */
extern unsigned tsurugi_session_max(void);

/*
 * SET SESSION AUTHORIZATION changes the session's role: statements and transactions follow it, and
 * so do the views of sessions.  If it is rolled back, the session is shown with the old role until
 * its next statement.
 */
extern Oid tsurugi_session_role;
extern void tsurugi_session_change_role(Oid role);

static inline void
tsurugi_session_follow_role(void)
{
	if (tg_unlikely(tsurugi_session_role != GetSessionUserId()))
		tsurugi_session_change_role(GetSessionUserId());
}

/* Size of the owners in PostgreSQL's shared memory; and their set-up at server start. */
extern Size tsurugi_session_shared_bytes(void);
extern void tsurugi_session_shared_create(void);

#endif /* TSURUGI_SESSION_H */
