/*
 * session.h
 *	  This backend's session of the runtime.
 */
#ifndef TSURUGI_SESSION_H
#define TSURUGI_SESSION_H

#include "runtime/runtime.h"

/* NULL until the first use, and while the backend is away: when it has nothing to do for the session. */
extern tg_session *tsurugi_own_session;

/* The slow half of tsurugi_session. */
extern tg_session *tsurugi_session_open(void);

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
	bool is_spared; /* by deadlocks (spare.h) */
} TG_CACHE_ALIGNED tsurugi_session_owner;

/*
 * Who has looked into a dictionary holds (index/rank_holders.h) until the end of the transaction: by itself, but for one in whose
 * place others look.  Let go: at that end.
 */
extern void tsurugi_session_hold_ranks(void);
extern void tsurugi_session_let_ranks_go(void);

/* The number of sessions, for all processes and threads there can be.  After PostgreSQL knows its own number. */
extern unsigned tsurugi_session_max(void);

/* The owner of a session, by its number. */
extern tsurugi_session_owner tsurugi_session_owner_get(unsigned id);

/* Says what the running transaction of this backend is; to be taken back at its end. */
extern void tsurugi_session_describe(int isolation, tg_txn_kind kind, bool read_only, const char *label);

/* Says whether deadlocks are to spare this backend; asks whether they are to spare a process, without locks. */
extern void tsurugi_session_spare(bool spare);
extern bool tsurugi_session_is_spared(int process_id);

/* Bytes of PostgreSQL's shared memory for the owners, and their making, at server start. */
extern Size tsurugi_session_shared_bytes(void);
extern void tsurugi_session_shared_create(void);

#endif /* TSURUGI_SESSION_H */
