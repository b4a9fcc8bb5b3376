/*
 * kinds.c
 *	  Tsurugi's kinds of transactions, chosen by settings: SHORT, LONG and READ ONLY.
 *
 * The settings determine the next transaction; they are PostgreSQL's settings, so SET LOCAL, roles
 * and rollback work on them.  A transaction gets its kind from them with its first access to a
 * foreign table of this wrapper, and keeps it; settings that are changed afterwards are for the
 * next one.  If a kind cannot begin because of an error, the transaction stays as it was, and the
 * next access settles the kind.
 *
 * 1. SHORT is SERIALIZABLE (isolation.c) and gets 40001 instead of waiting for rows.
 * 2. LONG: the names of its areas are resolved and rights are checked; the tables are locked until
 *	  the end of the transaction (by the top level's resource owner, so also if the first access is
 *	  in a subtransaction that is rolled back); the preserve is published, and the transaction waits
 *	  for its start (L1).  An error undoes all of that: then the transaction has not begun.  Its
 *	  reads are not noted.  It asks for areas before it reads them (L3).  A LONG that several
 *	  sessions will work in (shared_transaction.c) is started in the same way by the session that
 *	  begins it.  That session is a separate waiter, because it may have a transaction that is in
 *	  the way.
 * 3. READ ONLY reads at a safe snapshot (L6), taken at the first access; DEFERRABLE reads at a
 *	  fresh one, after a wait for the LONGs in its way.  So does PostgreSQL's own SERIALIZABLE READ
 *	  ONLY DEFERRABLE (isolation.c).  A LONG that an ordinary transaction becomes after failures
 *	  (promotion.c) is started in the same way as any other.
 * 4. LONG and READ ONLY read ordinary tables at a snapshot that was taken with R_L or S, or that
 *	  fits it, or not at all (moment.c); so does PostgreSQL's DEFERRABLE.
 *
 * Waits (W6).  A wait for a LONG is a wait for the lock of its virtual transaction, as for rows, so
 * that it is shown in pg_locks, and lock_timeout and cancel work.  PostgreSQL's detector does not
 * see a circle through a LONG that waits for its start on a latch.  So each deadlock_timeout the
 * waiter follows the edges of the engine, and gives up with 40P01 if they lead back to it.  It does
 * so in the handler of a timeout, because PostgreSQL's code is waiting; the handler cancels the
 * wait, and this file then raises the right error.  A LONG's start waits on the latch, because a
 * transaction that is in its way may get out of it without ending (W0).  That takes no longer than
 * a statement's start.  So after two deadlock_timeouts it waits for the end of that transaction by
 * PostgreSQL's lock, and PostgreSQL's detector finds circles through ordinary locks.  The
 * detector's victim may be the LONG.
 */
#include "postgres.h"

#include "src/txn/kinds.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timeout.h"
#include "utils/wait_event.h"

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/author.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "src/base/others.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/table/storage.h"
#include "src/txn/area_settings.h"
#include "src/txn/circle.h"
#include "src/txn/isolation.h"
#include "src/txn/ladder.h"
#include "src/txn/mixed.h"
#include "src/txn/moment.h"
#include "src/txn/parallel.h"
#include "src/txn/prepared.h"
#include "src/txn/promotion.h"
#include "src/txn/row_queue.h"
#include "src/txn/shared_moment.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_export.h"
#include "src/txn/transaction.h"

#define PRIORITY_MAX 100
/* Number of deadlock_timeouts for which a LONG's start waits on its latch. */
#define LATCH_PERIODS 2

int tsurugi_transaction_type;
int tsurugi_transaction_priority;
char *tsurugi_transaction_label;

tg_txn_kind tsurugi_kind;
bool tsurugi_kind_is_known;
bool tsurugi_minds_areas;

/* The areas that a READ ONLY transaction has declared to read. */
static const tg_areas *read_include;
static const tg_areas *read_exclude;
static tg_areas *own_areas[2]; /* the same, unless they are a shared transaction's */

/* --- settings ------------------------------------------------------------------------------ */

/* If a value has several names, the first one is shown. */
static const struct config_enum_entry types[] = {
	{"default", TG_TXN_ORDINARY, false}, {"short", TG_TXN_SHORT, false},
	{"occ", TG_TXN_SHORT, false},		 {"long", TG_TXN_LONG, false},
	{"ltx", TG_TXN_LONG, false},		 {"read_only", TG_TXN_READ_ONLY, false},
	{"rtx", TG_TXN_READ_ONLY, false},	 {NULL, 0, false}};

static bool
check_label(char **label, void **extra, GucSource source)
{
	if (strlen(*label) < TG_TXN_LABEL_BYTES)
		return true;
	GUC_check_errdetail("Labels can have up to %d bytes.", TG_TXN_LABEL_BYTES - 1);
	return false;
}

static void
assign_type(int type, void *extra)
{
	tsurugi_parallel_call_off();
}

tg_isolation
tsurugi_kind_isolation(void)
{
	return tsurugi_is_serializable()	 ? TG_SERIALIZABLE
		   : IsolationUsesXactSnapshot() ? TG_REPEATABLE_READ
										 : TG_READ_COMMITTED;
}

static tg_time
draw_time(void)
{
	return tg_author_draw(tsurugi_session(), tsurugi_kind, tsurugi_kind_isolation(), tsurugi_transaction_label);
}

void
tsurugi_kinds_define(void)
{
	DefineCustomEnumVariable("tsurugi_fdw.transaction_type", "What transactions are to tables of tsurugi_fdw.",
							 "default: what their isolation level says; short (occ), long (ltx), read_only (rtx): "
							 "serializable, Tsurugi's kinds.",
							 &tsurugi_transaction_type, TG_TXN_ORDINARY, types, PGC_USERSET, 0, NULL, assign_type,
							 NULL);
	DefineCustomIntVariable("tsurugi_fdw.transaction_priority",
							"Which of several long transactions that wait for their start goes first: the higher one.",
							NULL, &tsurugi_transaction_priority, 0, -PRIORITY_MAX, PRIORITY_MAX, PGC_USERSET, 0, NULL,
							NULL, NULL);
	DefineCustomStringVariable("tsurugi_fdw.transaction_label", "Name of transactions, for views and errors.", NULL,
							   &tsurugi_transaction_label, "pgsql-transaction", PGC_USERSET, 0, check_label, NULL,
							   NULL);
	tsurugi_area_settings_define();
	tsurugi_promotion_define();
	tsurugi_storage_draw_time = draw_time;
}

const char *
tsurugi_kind_name(tg_txn_kind kind)
{
	const struct config_enum_entry *type = types;

	while (type->val != (int) kind)
		type++;
	return type->name;
}

/* --- waiting for a LONG --------------------------------------------------------- */

static const tg_wait *waited_for; /* set during tsurugi_wait_for_long; otherwise NULL */
static volatile sig_atomic_t closes_circle;

/*
 * In QueryCancelPending: this file asks for the end of the wait, and nobody else has asked for that
 * of the statement.  PostgreSQL tests only whether it is 0, and stores true for such a request.
 */
#define CANCEL_OF_WAIT 2

/* From a signal handler, which another may interrupt: a request that is there is left as it is. */
static void
cancel_wait(void)
{
	sig_atomic_t none = 0;

	if (!tg_cas_acq_rel(&QueryCancelPending, &none, CANCEL_OF_WAIT))
		return;
	closes_circle = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

/*
 * A timeout's handler: it may interrupt PostgreSQL's lock manager, but holds no latch of the
 * engine.
 */
static void
look_for_circle(void)
{
	if (waited_for != NULL && tg_wait_closes_circle_of(tsurugi_transaction_waiting_number(), waited_for))
		cancel_wait();
}

/* The wait is over: if it was to be cancelled, and has ended by itself, the statement goes on. */
static void
stop_looking(TimeoutId timeout)
{
	sig_atomic_t of_wait = CANCEL_OF_WAIT;

	waited_for = NULL;
	disable_timeout(timeout, false);
	(void) tg_cas_acq_rel(&QueryCancelPending, &of_wait, 0);
}

void
tsurugi_error_circle(const tg_wait *wait)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_DEADLOCK_DETECTED), errmsg("deadlock detected"),
			 errdetail("This transaction waits for %s, which waits for it.", tsurugi_describe_other(wait->host))));
}

static const char *
describe_wait(const void *argument)
{
	const tg_wait *wait = argument;

	return psprintf("This transaction has waited for %s to end.", tsurugi_describe_other(wait->host));
}

static void
lock_out(const tg_wait *wait)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		(void) tsurugi_host_wait(wait->host, true);
	}
	PG_CATCH();
	{
		tsurugi_rethrow_wait(context, describe_wait, wait);
	}
	PG_END_TRY();
}

bool
tsurugi_wait_unless_circle(const tg_wait *wait, int period_ms, void (*wait_out)(const tg_wait *))
{
	static TimeoutId timeout = MAX_TIMEOUTS;

	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, look_for_circle);
	if (tg_wait_closes_circle_of(tsurugi_transaction_waiting_number(), wait))
		return false;
	closes_circle = false;
	waited_for = wait;
	PG_TRY();
	{
		enable_timeout_every(timeout, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), period_ms), period_ms);
		wait_out(wait);
		if (tg_failpoint_refuses("circle_late"))
			cancel_wait();
		tg_failpoint("wait_over");
	}
	PG_CATCH();
	{
		stop_looking(timeout);
		if (!closes_circle)
			PG_RE_THROW();
		FlushErrorState();
		return false;
	}
	PG_END_TRY();
	stop_looking(timeout);
	return true;
}

void
tsurugi_wait_for_long(const tg_wait *wait)
{
	unsigned number = tsurugi_transaction_waiting_number();

	tsurugi_queue_leave(); /* row_queue.c, 1 */
	tg_wait_begin_of(number, wait);
	if (tg_wait_is_for_shared(wait))
		tsurugi_wait_for_shared(wait);
	else if (!tsurugi_wait_unless_circle(wait, DeadlockTimeout, lock_out))
		tsurugi_error_circle(wait);
	tg_wait_end_of(number);
	CHECK_FOR_INTERRUPTS();
}

/* --- beginning ------------------------------------------------------------------ */

static void
check_priority(void)
{
	if (tsurugi_transaction_priority != 0 && tsurugi_transaction_type != TG_TXN_LONG)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("only long transactions have priorities"),
						errhint("Reset tsurugi_fdw.transaction_priority, or set tsurugi_fdw.transaction_type to "
								"\"long\".")));
}

void
tsurugi_kind_configure(tg_long_config *config)
{
	*config = (tg_long_config){.priority = tsurugi_transaction_priority, .waiter = MyLatch};
	check_priority();
	if (tsurugi_transaction_type == TG_TXN_LONG || tsurugi_transaction_type == TG_TXN_READ_ONLY)
		tsurugi_area_settings_resolve(config);
}

/* Milliseconds from a moment until now. */
static long
elapsed(TimestampTz since)
{
	return TimestampDifferenceMilliseconds(since, GetCurrentTimestamp());
}

static void
wait_on_latch(TimestampTz began, TimestampTz since, const tg_wait *wait)
{
	long left = LATCH_PERIODS * (long) DeadlockTimeout - elapsed(since);

	if (LockTimeout > 0)
	{
		long waited = elapsed(began);

		if (waited >= LockTimeout)
			ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("canceling statement due to lock timeout"),
							errdetail("%s", describe_wait(wait))));
		left = Min(left, LockTimeout - waited);
	}
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Max(left, 1), PG_WAIT_EXTENSION);
}

/* A LONG's wait for its start. */
typedef struct Start
{
	TimestampTz began;
	TimestampTz since; /* since when the present one has been in the way */
	uint64_t host;	   /* the transaction in the way */
	tsurugi_circle circle;
} Start;

/* The transaction of this number waits until the other one may be out of the way. */
static void
wait_to_start(Start *start, unsigned number, const tg_wait *wait)
{
	/*
	 * A shared transaction holds no lock through which its end could be awaited; and it may be
	 * ended while it waits itself.
	 */
	bool is_shared = tg_wait_is_for_shared(wait) || number != tsurugi_session()->id;

	if (wait->host != start->host || is_shared)
		start->since = GetCurrentTimestamp();
	start->host = wait->host;
	tg_wait_begin_of(number, wait);
	if (is_shared)
		tsurugi_circle_check(&start->circle, wait);
	if (elapsed(start->since) < LATCH_PERIODS * (long) DeadlockTimeout)
		wait_on_latch(start->began, start->since, wait);
	else
		lock_out(wait);
	tg_wait_end_of(number);
}

/* L1 (b) and (c). */
static tg_time
wait_for_start(tg_txn *txn)
{
	tg_session *session = tsurugi_session();
	Start waiting = {.began = GetCurrentTimestamp()};
	tg_wait wait;

	for (bool first = true;; first = false)
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		/*
		 * Each ending transaction wakes this one, and tsurugi_moment_begin makes all mixed commits
		 * wait; so test first.
		 */
		if (first || tg_long_may_start(txn, &wait))
		{
			bool whole = tsurugi_moment_begin();
			tg_time start;
			tg_status status = tg_long_start(session, txn, &start, &wait);

			if (whole)
				tsurugi_moment_taken(status == TG_OK);
			if (status == TG_OK)
				return start;
			if (status != TG_BUSY)
				tsurugi_error(status, NULL);
		}
		wait_to_start(&waiting, session->id, &wait);
	}
}

static void
begin_long(const tg_long_config *config)
{
	tg_session *session = tsurugi_session();

	tsurugi_kind = TG_TXN_LONG;
	PG_TRY();
	{
		tg_txn *txn = tsurugi_transaction_open();

		tsurugi_check(tg_long_publish(session, txn, config), NULL);
		tsurugi_snapshot_adopt(wait_for_start(txn), GetCurrentTimestamp(), TSURUGI_ENTRY_OF_LONG);
	}
	PG_CATCH();
	{
		tsurugi_transaction_give_up();
		tsurugi_moment_drop();
		tsurugi_kind = TG_TXN_ORDINARY;
		PG_RE_THROW();
	}
	PG_END_TRY();
}

static void
begin_configured_long(void)
{
	tg_long_config config;

	tsurugi_kind_configure(&config);
	begin_long(&config);
}

/* An ordinary transaction, or a LONG in its place. */
static void
begin_ordinary(void)
{
	tg_long_config config;

	tsurugi_ladder_wait_for_long();
	if (likely(!tsurugi_promotion_begin(&config)))
		return;
	PG_TRY();
	{
		begin_long(&config);
	}
	PG_CATCH();
	{
		tsurugi_promotion_give_up();
		PG_RE_THROW();
	}
	PG_END_TRY();
	tg_retry_note(TG_RETRY_PROMOTED);
}

void
tsurugi_snapshot_draw_safe(bool deferrable)
{
	tg_session *session = tsurugi_session();

	if (tsurugi_snapshot_is_imported())
		return; /* it is a safe one */
	for (;;)
	{
		tg_status status;
		unsigned entry;
		tg_time time;
		tg_wait wait;
		bool whole = tsurugi_moment_begin();
		bool late;

		status = tg_snapshot_publish_safe(session, deferrable, read_include, read_exclude, &time, &entry, &wait);
		late = whole && status == TG_OK && time < tsurugi_mixed_newest_time() && !tg_failpoint_refuses("moment_late");
		if (whole)
			tsurugi_moment_taken(status == TG_OK && !late);
		if (late)
		{
			/* It is the start of a LONG, earlier than commits that PostgreSQL's snapshot shows. */
			tg_snapshot_withdraw(session, entry);
			deferrable = true;
			continue;
		}
		if (status == TG_OK)
		{
			tsurugi_snapshot_adopt(time, GetCurrentTimestamp(), entry);
			return;
		}
		if (status != TG_BUSY)
			tsurugi_error(status, NULL);
		tsurugi_wait_for_long(&wait);
	}
}

static void
forget_areas(void)
{
	for (int i = 0; i < 2; i++)
	{
		tg_areas_destroy(tsurugi_session(), own_areas[i]);
		own_areas[i] = NULL;
	}
	read_include = read_exclude = NULL;
}

static void
begin_read_only(void)
{
	tg_session *session = tsurugi_session();
	tg_long_config config;

	tsurugi_kind_configure(&config);
	forget_areas(); /* of a beginning that failed */
	tsurugi_check(tg_areas_create(session, config.include, config.include_count, &own_areas[0]), NULL);
	tsurugi_check(tg_areas_create(session, config.exclude, config.exclude_count, &own_areas[1]), NULL);
	read_include = own_areas[0];
	read_exclude = own_areas[1];
	tsurugi_snapshot_draw_safe(XactDeferrable);
	tsurugi_kind = TG_TXN_READ_ONLY;
	tsurugi_kind_keep_read_only();
}

static void
begin_short(void)
{
	tsurugi_kind = TG_TXN_SHORT;
	PG_TRY();
	{
		tsurugi_isolation_draw_short();
	}
	PG_CATCH();
	{
		tsurugi_kind = TG_TXN_ORDINARY;
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* For LONG and READ ONLY. */
static void
mind_areas(void)
{
	if (tsurugi_kind == TG_TXN_LONG || read_include != NULL || read_exclude != NULL)
		tsurugi_minds_areas = true;
}

void
tsurugi_kind_begin(void)
{
	if (unlikely(GetOuterUserId() != tsurugi_session_judged_role))
		tsurugi_session_judge_privilege();
	if (IsParallelWorker())
		return;
	tsurugi_parallel_collect();
	if (tsurugi_kind_is_known)
		return;
	check_priority();
	tsurugi_export_check_kind();
	if (tsurugi_shared_join())
	{
		tsurugi_kind_is_known = true;
		return;
	}
	/* The order of the log is not that of commits, so no moment is a safe one. */
	if (tsurugi_transaction_type != TG_TXN_ORDINARY && RecoveryInProgress())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("transactions of this type are not possible during recovery"),
						errhint("Set tsurugi_fdw.transaction_type to \"default\".")));
	switch ((tg_txn_kind) tsurugi_transaction_type)
	{
		case TG_TXN_ORDINARY:
			begin_ordinary();
			break;
		case TG_TXN_SHORT:
			begin_short();
			break;
		case TG_TXN_LONG:
			begin_configured_long();
			break;
		case TG_TXN_READ_ONLY:
			begin_read_only();
			break;
	}
	tsurugi_kind_is_known = true;
	tsurugi_isolation_enter_kind();
	mind_areas();
	if (tsurugi_kind != TG_TXN_ORDINARY)
		tsurugi_moment_check_enclosing();
}

void
tsurugi_kind_is_used(void)
{
	tsurugi_kind_is_known = true;
}

/* --- shared by several sessions ------------------------------------------------- */

/*
 * The session waits for the start of the shared transaction.  So a circle may lead from the
 * transaction that is in the way through a transaction that the session itself has meanwhile,
 * inside which it starts the shared one.
 */
static void
check_circle(const tg_wait *started, const tg_wait *wait)
{
	uint64_t own = (uint64_t) MyBackendId << 32 | MyProc->lxid;

	if (wait->host == own || tg_wait_closes_circle(tsurugi_session(), started))
		tsurugi_error_circle(started);
}

void
tsurugi_kind_start(tg_shared *opened, const tg_shared_report *report, const tg_long_config *config)
{
	const tg_wait started = {.host = report->host, .txn = report->txn, .kind = TG_WAIT_LONG};
	tg_session *session = tsurugi_session();
	Start waiting = {.began = GetCurrentTimestamp()};

	for (;;)
	{
		tg_status status;
		tg_wait wait;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		tsurugi_shared_moment_begin();
		status = tg_shared_start(session, opened, config, XactDeferrable, &wait);
		tsurugi_shared_moment_taken(status == TG_OK ? opened : NULL);
		if (status == TG_OK)
			return;
		if (status == TG_STOPPED)
			tsurugi_shared_check_begun(opened);
		if (status != TG_BUSY)
			tsurugi_error(status, NULL);
		tg_wait_begin(session, &started);
		check_circle(&started, &wait);
		if (report->kind == TG_TXN_LONG)
			wait_to_start(&waiting, report->txn, &wait);
		else
			tsurugi_wait_for_long(&wait);
		tg_wait_end(session);
	}
}

void
tsurugi_kind_join(tg_txn_kind kind)
{
	tsurugi_kind = kind;
	tsurugi_kind_keep_read_only();
}

void
tsurugi_kind_mind_areas(const tg_shared *joined)
{
	read_include = tg_shared_include(joined);
	read_exclude = tg_shared_exclude(joined);
	mind_areas();
}

/* --- reading and writing -------------------------------------------------------- */

void
tsurugi_check_read(Relation relation, const tg_area *area)
{
	tg_status status;

	switch (tsurugi_kind)
	{
		case TG_TXN_LONG:
			status = tg_long_check_read(tsurugi_session(), tsurugi_transaction_open(), area);
			break;
		case TG_TXN_READ_ONLY:
			status = (read_include != NULL && !tg_areas_cover_area(read_include, area)) ||
							 (read_exclude != NULL && tg_areas_meet_area(read_exclude, area))
						 ? TG_FORBIDDEN
						 : TG_OK;
			break;
		default:
			tsurugi_isolation_check_read(area);
			return;
	}
	if (status == TG_FORBIDDEN)
		ereport(ERROR, (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
						errmsg("table \"%s\" is not among the areas that the transaction has declared to read",
							   RelationGetRelationName(relation)),
						errhint("See tsurugi_fdw.inclusive_read_areas and tsurugi_fdw.exclusive_read_areas."),
						errtable(relation)));
	tsurugi_check(status, relation);
}

/* A transaction that replaces a table's storage may not have accessed any table before. */
static tg_txn_kind
kind_to_be(void)
{
	return tsurugi_kind_is_known ? tsurugi_kind : (tg_txn_kind) tsurugi_transaction_type;
}

void
tsurugi_check_may_write(void)
{
	if (kind_to_be() == TG_TXN_READ_ONLY)
		ereport(ERROR, (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
						errmsg("cannot write to tables of tsurugi_fdw in a read-only transaction"),
						errdetail("The transaction began with tsurugi_fdw.transaction_type \"read_only\".")));
}

void
tsurugi_check_may_replace(Relation relation)
{
	tsurugi_check_may_write();
	tsurugi_shared_check_command("truncate or rewrite tables");
	tsurugi_promotion_check("truncate or rewrite tables");
	if (kind_to_be() == TG_TXN_LONG)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot truncate or rewrite table \"%s\" in a long transaction",
							   RelationGetRelationName(relation)),
						errtable(relation)));
}

void
tsurugi_kind_end(bool committed)
{
	if (own_areas[0] != NULL || own_areas[1] != NULL)
		forget_areas();
	read_include = read_exclude = NULL;
	tsurugi_kind = TG_TXN_ORDINARY;
	tsurugi_kind_is_known = false;
	tsurugi_minds_areas = false;
}
