/*
 * session_owner.h
 *	  The backends that own the runtime's sessions, and what they are doing: for views.
 */
#ifndef TSURUGI_SESSION_OWNER_H
#define TSURUGI_SESSION_OWNER_H

#include "postgres.h"

#include "runtime/base/atomic.h"
#include "runtime/base/names.h"
#include "runtime/txn/level.h"

/*
 * The owner of a session; a process id of 0: there is none, or it is a thread of the
 * worker.  Each is on cache lines of its own, because some are written in every transaction.
 */
typedef struct tsurugi_session_owner
{
	int process_id;
	/* By the clock: commits before it were those of another owner. */
	tg_time since;
	Oid database;
	Oid role;
	/* The running transaction's level: READ COMMITTED unless it has set something else. */
	int isolation;
	tg_txn_kind kind;
	bool read_only;
	char label[TG_TXN_LABEL_BYTES];
} TG_CACHE_ALIGNED tsurugi_session_owner;

/* The owner of a session, by its number. */
extern tsurugi_session_owner tsurugi_session_owner_get(unsigned id);

/* Describes the running transaction of this backend; reset at its end. */
extern void tsurugi_session_describe(int isolation, tg_txn_kind kind, bool read_only, const char *label);

#endif /* TSURUGI_SESSION_OWNER_H */
