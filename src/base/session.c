/*
 * session.c
 *	  This backend's session of the runtime, and the owners of all sessions.
 *
 * The session is opened at its first use, so that backends which never access a foreign table of
 * this wrapper cost nothing.  An on_shmem_exit callback ends it.  This runs after PostgreSQL's own
 * abort, so the transaction has ended by then, whatever the reason for the exit is.  After a crash
 * nothing needs to be given back, because the arena is emptied.
 */
#include "postgres.h"

#include "src/base/session.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/session.h"
#include "runtime/table/version.h"
#include "runtime/index/rank_holders.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/txn.h"
#include "src/base/session_owner.h"
#include "runtime/start.h"
#include "src/base/settings.h"

/* The watcher, the collector, and users that open a session for a moment. */
#define SESSIONS_OF_RUNTIME 8

void (*tsurugi_session_await)(void);
bool (*tsurugi_session_is_refused)(void);
bool (*tsurugi_session_is_served)(void);
bool (*tsurugi_session_catch_up)(struct SnapshotData *host);
struct SnapshotData *tsurugi_session_caught_up;
bool tsurugi_follows;

tg_session *tsurugi_own_session;
Oid tsurugi_session_role;

static tg_session *away_session; /* or this one, while the backend is away */

Oid tsurugi_session_judged_role;
static bool is_privileged;

static bool holds_ranks;
static unsigned rank_holder; /* the session's number at that time */

/* In PostgreSQL's shared memory, by session number.  The owner of the session writes its entry. */
static tsurugi_session_owner *owners;

unsigned
tsurugi_session_max(void)
{
	unsigned workers = tsurugi_worker_count();
	unsigned wanted = MaxBackends + workers + TSURUGI_LOADS_AT_ONCE * 2 * workers + SESSIONS_OF_RUNTIME;

	return Min(wanted, TG_TXN_MAX);
}

Size
tsurugi_session_shared_bytes(void)
{
	return mul_size(tsurugi_session_max(), sizeof(*owners));
}

void
tsurugi_session_shared_create(void)
{
	bool found;

	owners = ShmemInitStruct("tsurugi_fdw sessions", tsurugi_session_shared_bytes(), &found);
	memset(owners, 0, tsurugi_session_shared_bytes());
}

tsurugi_session_owner
tsurugi_session_owner_get(unsigned id)
{
	return owners[id];
}

void
tsurugi_session_describe(int isolation, tg_txn_kind kind, bool read_only, const char *label)
{
	tsurugi_session_owner *owner = &owners[tsurugi_session()->id];

	owner->isolation = isolation;
	owner->kind = kind;
	owner->read_only = read_only;
	strlcpy(owner->label, label, sizeof(owner->label));
}

tg_session *
tsurugi_session_known(void)
{
	return tsurugi_own_session != NULL ? tsurugi_own_session : away_session;
}

void
tsurugi_session_change_role(Oid role)
{
	const tg_session *session = tsurugi_session_known();

	tsurugi_session_role = role;
	if (session != NULL)
		owners[session->id].role = role;
}

static void
end_session(int code, Datum argument)
{
	tg_session *session = tsurugi_session();

	tsurugi_session_let_ranks_go();
	tsurugi_own_session = NULL;
	owners[session->id].process_id = 0;
	tg_runtime_session_end(session);
}

void
tsurugi_session_hold_ranks(void)
{
	if (likely(holds_ranks))
		return;
	rank_holder = tsurugi_session()->id;
	tg_rank_hold(rank_holder);
	holds_ranks = true;
}

bool
tsurugi_session_holds_ranks(void)
{
	return holds_ranks;
}

void
tsurugi_session_let_ranks_go(void)
{
	if (holds_ranks)
		tg_rank_let_go(rank_holder);
	holds_ranks = false;
}

/*
 * Inside an epoch, too, a transaction may keep what it has looked up, as a read.  Without a
 * transaction, the look-ups inside an epoch are the collector's, and nothing would release the
 * hold.
 */
static void
touch_ranks(void)
{
	if (IsTransactionState() || !tg_epoch_inside(tsurugi_session()))
		tsurugi_session_hold_ranks();
}

/* Whether CHECK_FOR_INTERRUPTS would raise an error. */
static bool
is_interrupted(void)
{
	return (QueryCancelPending || ProcDiePending) && INTERRUPTS_CAN_BE_PROCESSED();
}

tg_session *
tsurugi_session_open(void)
{
	tg_session *session = away_session;

	if (session != NULL)
	{
		tg_session_come_back(session);
		away_session = NULL;
		tsurugi_own_session = session;
		return session;
	}
	tsurugi_follows = RecoveryInProgress();
	tsurugi_session_await();
	if (tg_session_open(&session) != TG_OK)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_CONNECTIONS), errmsg("all sessions of tsurugi_fdw are taken"),
						errhint("There are up to %d; use fewer connections.", TG_TXN_MAX)));
	owners[session->id] = (tsurugi_session_owner){.process_id = MyProcPid,
												  .since = tg_load_seq_cst(tg_clock),
												  .database = MyDatabaseId,
												  .role = GetSessionUserId(),
												  .isolation = XACT_READ_COMMITTED};
	tsurugi_session_role = GetSessionUserId();
	tg_claims_privilege(session, is_privileged);
	tsurugi_own_session = session;
	tg_txn_is_interrupted = is_interrupted;
	tg_rank_touch = touch_ranks;
	on_shmem_exit(end_session, (Datum) 0);
	if (tsurugi_follows)
		(void) tsurugi_session_catch_up(NULL);
	return session;
}

tg_session *
tsurugi_session_if_served(void)
{
	return tsurugi_session_known() != NULL || tsurugi_session_is_served() ? tsurugi_session() : NULL;
}

void
tsurugi_session_judge_privilege(void)
{
	tg_session *session = tsurugi_session_known();

	tsurugi_session_judged_role = GetOuterUserId();
	is_privileged = superuser_arg(tsurugi_session_judged_role);
	if (session != NULL)
		tg_claims_privilege(session, is_privileged);
}

void
tsurugi_session_go_away(void)
{
	away_session = tsurugi_own_session;
	tsurugi_own_session = NULL;
	tg_session_go_away(away_session);
}
