/*
 * session.h
 *	  This backend's session of the runtime.
 */
#ifndef TSURUGI_SESSION_H
#define TSURUGI_SESSION_H

#include "postgres.h"

#include "miscadmin.h"

#include "runtime/runtime.h"

/* NULL until the first use, and while the backend is away: when it has nothing to do for the session. */
extern tg_session *tsurugi_own_session;

/* The slow half of tsurugi_session. */
extern tg_session *tsurugi_session_open(void);

/*
 * From now on the session is privileged exactly if the role that it works as is a superuser: then
 * new data may use what tsurugi_fdw.memory_reserved keeps.  Functions that run as their owner do
 * not count.  In a transaction.
 */
extern void tsurugi_session_judge_privilege(void);
extern Oid tsurugi_session_judged_role; /* as of then */

/* Until the next use others may take back what the session keeps (mem/presence.h). */
extern void tsurugi_session_go_away(void);

/*
 * The session, opened at first use, come back to, and ended when the backend exits, after
 * PostgreSQL's own abort.  Raises an error during recovery (0A000), or if all
 * sessions are taken (53300).
 */
static inline tg_session *
tsurugi_session(void)
{
	if (tg_likely(tsurugi_own_session != NULL))
		return tsurugi_own_session;
	return tsurugi_session_open();
}

/*
 * Who a session belongs to, for views; a process id of 0: nobody, or a thread of the worker.
 * Each on cache lines of its own, because some write theirs in every transaction.
 */
typedef struct tsurugi_session_owner
{
	int process_id;
	tg_time since; /* by the clock: what has committed before was another owner's */
	Oid database;
	Oid role;
	/* of the running transaction; as at READ COMMITTED where nobody has said otherwise */
	int isolation;
	tg_txn_kind kind;
	bool read_only;
	char label[TG_TXN_LABEL_BYTES];
} TG_CACHE_ALIGNED tsurugi_session_owner;

/*
 * Who has looked into a dictionary holds (index/rank_holders.h) until the end of the transaction:
 * by itself, but for one in whose place others look.  Let go: at that end.
 */
extern void tsurugi_session_hold_ranks(void);
extern void tsurugi_session_let_ranks_go(void);

/* The number of sessions, for all processes and threads there can be.  After PostgreSQL knows its own number. */
extern unsigned tsurugi_session_max(void);

/*
 * SET SESSION AUTHORIZATION makes another role the session's: to be followed by statements and
 * transactions, and before sessions are shown.  After a rollback of it the session is shown as the
 * old role's until its next statement.
 */
extern Oid tsurugi_session_role;
extern void tsurugi_session_change_role(Oid role);

static inline void
tsurugi_session_follow_role(void)
{
	if (tg_unlikely(tsurugi_session_role != GetSessionUserId()))
		tsurugi_session_change_role(GetSessionUserId());
}

/* The owner of a session, by its number. */
extern tsurugi_session_owner tsurugi_session_owner_get(unsigned id);

/* Says what the running transaction of this backend is; to be taken back at its end. */
extern void tsurugi_session_describe(int isolation, tg_txn_kind kind, bool read_only, const char *label);


/* Bytes of PostgreSQL's shared memory for the owners, and their making, at server start. */
extern Size tsurugi_session_shared_bytes(void);
extern void tsurugi_session_shared_create(void);

#endif /* TSURUGI_SESSION_H */
