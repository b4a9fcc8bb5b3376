/*
 * shared_transaction.c
 *	  Several sessions in one transaction.
 *
 *	owner      BEGIN; export_transaction(t) ............................ COMMIT
 *	attached       attach_transaction(handle); COPY t ...; COPY t ...; detach_transaction()
 *	attached       attach_transaction(handle); BEGIN; INSERT ...; COMMIT; detach_transaction()
 *
 * The engine's transaction is one of the runtime's shared ones (runtime/txn/shared.h), from the
 * export on.  Each PostgreSQL transaction that accesses a foreign table, be it an attached
 * session's or the owner's, joins it: it takes the turn, then holds the shared transaction as a
 * user.
 *
 * 1. One at a time.  The turn is a lock of PostgreSQL's, held from the first access until the end
 *	  of the PostgreSQL transaction.  So the shared transaction as a statement sees it does not
 *	  change while the statement runs.  A statement's command number is higher than all earlier
 *	  ones, by which its own and other sessions' earlier writes are told from later ones, as within
 *	  one session.  The end of the write log belongs to the session; so subtransactions are parts as
 *	  in any transaction and are rolled back separately.  Waits for the turn are shown in pg_locks,
 *	  and deadlocks that lead through them are found.  When the owner has made its first access it
 *	  keeps the turn until it ends.  Loads by the handle have it together (shared_load.c).
 * 2. Tables.  PostgreSQL protects a table that has uncommitted changes by a lock, which ends with
 *	  the transaction.  The transactions of attached sessions end too early for that.  So the owner
 *	  takes those locks at the export, and no other table can be written, or locked, in the shared
 *	  transaction.  No definition can be changed in it.
 * 3. Only the owner ends it, by its own COMMIT or ROLLBACK.  A commit while another session has
 *	  joined is refused, and aborts it.  If an attached session's transaction aborts, or the session
 *	  ends, the shared transaction is doomed, because those changes cannot be undone separately.  An
 *	  expired lease dooms it, too.  The owner's COMMIT then fails with 25P02.
 * 4. The owner's abort does not wait for the other sessions (tg_shared_abandon), so its table locks
 *	  are released when the changes that they protected have been undone.  A session that has joined
 *	  gets 25P02 from its next action, at the latest from its COMMIT.
 * 5. Waits.  Nobody can wait for rows of a shared transaction by a lock of PostgreSQL's, because
 *	  some of the work in it is from sessions that have gone on to other things.  So the end of the
 *	  shared transaction wakes the waiters, and circles that lead through such waits are looked for
 *	  (circle.c).  Only a part that is not merged yet has its lock, as in any transaction
 *	  (transaction.c).
 * 6. Levels.  A shared transaction has one isolation level, or kind.  Above READ COMMITTED it has
 *	  one snapshot and one read set.  All sessions' reads go to that set; it is validated when the
 *	  transaction ends and, when the snapshot is extended, by the session that has the turn.  So a
 *	  session that joins runs at the same level, which for ordinary tables is PostgreSQL's own.  The
 *	  snapshot at which it reads ordinary tables is one that goes with R, or R is one that goes with
 *	  that snapshot (moment.c, 10 to 12).  Rules that depend on nothing having been returned to the
 *	  transaction yet (isolation.c, 3) do not apply to sessions that share one.  A LONG or READ ONLY
 *	  transaction starts, and waits for its start, where it is exported or begun; a session that
 *	  joins it sees R_L, or the safe snapshot, and observes its areas.
 * 7. M1, M3.  The owner's ordinary tables are the other half of a mixed transaction, as always.  An
 *	  attached session's would be committed earlier, or alone.  So a transaction that has joined and
 *	  wrote ordinary rows is refused at its end.
 */
#include "postgres.h"

#include "src/txn/shared_transaction.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/shared_operation.h"
#include "runtime/txn/txn.h"
#include "src/base/others.h"
#include "src/base/session.h"
#include "src/base/shown_text.h"
#include "src/base/status_error.h"
#include "src/txn/circle.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/lease_locks.h"
#include "src/txn/logging.h"
#include "src/txn/mixed.h"
#include "src/txn/moment.h"
#include "src/txn/parallel.h"
#include "src/txn/shared_load.h"
#include "src/txn/shared_refusal.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

int tsurugi_shared_lease_ms;
uint32 tsurugi_shared_first_command;
bool tsurugi_shared_is_open;

static tg_shared *shared;		  /* open; NULL: the session takes part in none */
static tg_shared_report constant; /* the constant part of its report */
static bool is_owner;

/* Of the running transaction. */
static bool joined;							  /* has the turn and is a user */
static bool prepared;						  /* the owner's transaction is going to commit */
static char last_error[TG_SHARED_TEXT_BYTES]; /* "" if there was none */

static int lock_timeout = -1; /* its value before a limited wait */

static emit_log_hook_type previous_emit_log;

/* Remembers the error that makes the transaction fail: the other sessions are told of it. */
static void
note_error(ErrorData *error)
{
	if (shared != NULL && error->elevel >= ERROR && error->message != NULL)
	{
		int length = snprintf(last_error, sizeof(last_error), "%s: ", unpack_sql_state(error->sqlerrcode));

		tsurugi_copy_clipped(last_error + length, error->message, sizeof(last_error) - length);
	}
	if (previous_emit_log != NULL)
		previous_emit_log(error);
}

void
tsurugi_shared_define(void)
{
	DefineCustomIntVariable(
		"tsurugi_fdw.transaction_lease",
		"Time without any activity after which a transaction that several sessions work in is aborted.",
		"Also how long its outcome can be asked for, and how long anybody waits in it, or for it.",
		&tsurugi_shared_lease_ms, 60000, 100, TSURUGI_LEASE_MS_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	previous_emit_log = emit_log_hook;
	emit_log_hook = note_error;
}

/* --- errors ------------------------------------------------------------------------------- */

const char *
tsurugi_shared_describe_abort(const tg_shared_report *report)
{
	switch (report->reason)
	{
		case TG_SHARED_EXPIRED:
			return "Nothing was done in it for the time of tsurugi_fdw.transaction_lease.";
		case TG_SHARED_GIVEN_UP:
			return "Its owner rolled it back, or failed.";
		case TG_SHARED_ASKED:
			return "It was aborted by its handle.";
		case TG_SHARED_TERMINATED:
			return "It was aborted by its id, by its role or an administrator.";
		case TG_SHARED_DROPPED:
			return "Its role or database was dropped, or DROP OWNED was run for its role.";
		case TG_SHARED_REFUSED:
			return "It was to be committed while another session was at work in it.";
		case TG_SHARED_CONFLICTED:
			return "It could not be serialized.";
		case TG_SHARED_STOPPED:
			return "The worker of tsurugi_fdw was stopped.";
		case TG_SHARED_FAILED:
		case TG_SHARED_NOT_ABORTED:
			break;
	}
	if (report->text[0] == '\0')
		return "A session that worked in it rolled back, or went away.";
	return psprintf("A session that worked in it failed with %s", tsurugi_shown_text(report->text));
}

static void error_ended_as(const tg_shared_report *report, const char *hint) pg_attribute_noreturn();

static void
error_ended_as(const tg_shared_report *report, const char *hint)
{
	bool committed = report->state == TG_SHARED_AVAILABLE || report->state == TG_SHARED_STORED;

	ereport(ERROR, (errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
					committed ? errmsg("the shared transaction has been committed")
							  : errmsg("the shared transaction is aborted"),
					committed ? 0 : errdetail("%s", tsurugi_shared_describe_abort(report)),
					hint != NULL ? errhint("%s", hint) : 0));
	pg_unreachable();
}

void
tsurugi_shared_check_begun(const tg_shared *begun)
{
	tg_shared_report report;

	tg_shared_report_get(begun, &report);
	if (report.reason == TG_SHARED_TERMINATED || report.reason == TG_SHARED_DROPPED)
		error_ended_as(&report, NULL);
}

void
tsurugi_shared_check_running(const tg_shared *opened)
{
	tg_shared_report report;

	tg_shared_report_get(opened, &report);
	if (report.state != TG_SHARED_RUNNING)
		error_ended_as(&report, NULL);
}

static void
error_ended(void)
{
	tg_shared_report report;

	tg_shared_report_get(shared, &report);
	error_ended_as(&report, is_owner ? NULL
									 : "Call tsurugi.detach_transaction() to work in transactions of the "
									   "session again.");
}

void
tsurugi_shared_check_command(const char *what)
{
	if (shared != NULL)
		tsurugi_shared_refuse(TSURUGI_SHARED_COMMAND, what);
}

void
tsurugi_shared_error_table(Relation relation)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					relation != NULL ? errmsg("foreign table \"%s\" is not one of the shared transaction's",
											  RelationGetRelationName(relation))
									 : errmsg("foreign table is not one of the shared transaction's"),
					errhint("Name all tables that are going to be changed, or locked by foreign keys, where the "
							"transaction is exported or begun."),
					relation != NULL ? errtable(relation) : 0));
	pg_unreachable();
}

void
tsurugi_shared_check_table(Relation relation)
{
	if (joined && (relation == NULL || !tg_shared_may_write(shared, RelationGetRelid(relation))))
		tsurugi_shared_error_table(relation);
}

void
tsurugi_shared_check_alive(void)
{
	if (joined)
		error_ended();
}

void
tsurugi_shared_check_prepare(void)
{
	if (shared != NULL)
		tsurugi_shared_refuse(TSURUGI_SHARED_PREPARED, "");
}

/* --- waiting ------------------------------------------------------------------------------ */

/* The longest wait in a shared transaction, or for one. */
static int
wait_ms_max(void)
{
	return LockTimeout > 0 ? Min(LockTimeout, tsurugi_shared_lease_ms) : tsurugi_shared_lease_ms;
}

void
tsurugi_shared_limit_wait(void)
{
	if (!joined && !tsurugi_shared_load_waits())
		return;
	lock_timeout = LockTimeout;
	LockTimeout = wait_ms_max();
}

void
tsurugi_shared_unlimit_wait(void)
{
	if (lock_timeout >= 0)
		LockTimeout = lock_timeout;
	lock_timeout = -1;
}

static void error_waited(const tg_wait *wait) pg_attribute_noreturn();

static void
error_waited(const tg_wait *wait)
{
	ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("canceling statement due to lock timeout"),
					errdetail("This transaction has waited for %s to end.", tsurugi_describe_other(wait->host))));
	pg_unreachable();
}

/* What is left of the longest wait; 0 or less: nothing. */
static long
wait_ms_left(TimestampTz since)
{
	return wait_ms_max() - TimestampDifferenceMilliseconds(since, GetCurrentTimestamp());
}

static bool
is_not_over(const tg_wait *wait)
{
	tg_txn_report report;

	return tg_txn_report_get(wait->txn, &report) && report.host == wait->host;
}

void
tsurugi_wait_for_shared(const tg_wait *wait)
{
	TimestampTz start = GetCurrentTimestamp();
	tsurugi_circle circle = {0};

	tg_shared_wait_begin(tsurugi_session(), wait, MyLatch);
	PG_TRY();
	{
		while (is_not_over(wait))
		{
			long left = wait_ms_left(start);
			long due;

			tsurugi_circle_check(&circle, wait);
			if (left <= 0)
				error_waited(wait);
			due = tsurugi_circle_due_ms(&circle);
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(left, due),
							 PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	PG_FINALLY();
	{
		tg_shared_wait_end(tsurugi_session());
	}
	PG_END_TRY();
}

/* The lease limits the wait of one that is being committed, too.  since: when that began. */
static void
wait_for_outcome(const tg_wait *wait, TimestampTz since)
{
	int before = LockTimeout;
	long left = wait_ms_left(since);

	if (left <= 0)
		error_waited(wait);
	LockTimeout = (int) left;
	PG_TRY();
	{
		tsurugi_wait_for_outcome(wait);
	}
	PG_FINALLY();
	{
		LockTimeout = before;
	}
	PG_END_TRY();
}

/* --- joining ------------------------------------------------------------------------------- */

LOCKTAG
tsurugi_shared_turn(unsigned txn)
{
	/*
	 * The host word of a transaction has a backend's number in this field (transaction.c), so the
	 * top bit distinguishes the two.
	 */
	return (LOCKTAG){.locktag_field1 = MyDatabaseId,
					 .locktag_field2 = (uint32) 1 << 31,
					 .locktag_field3 = txn,
					 .locktag_type = LOCKTAG_USERLOCK,
					 .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
}

/*
 * Rule 1.  The turn is held by the top transaction, even if the first access is in a
 * subtransaction.
 */
void
tsurugi_shared_take_turn(unsigned txn, LOCKMODE mode)
{
	const LOCKTAG tag = tsurugi_shared_turn(txn);
	ResourceOwner owner = CurrentResourceOwner;
	int before = LockTimeout;

	if (tg_failpoint_refuses("skip_turn"))
		return;
	CurrentResourceOwner = TopTransactionResourceOwner;
	LockTimeout = wait_ms_max();
	PG_TRY();
	{
		(void) LockAcquire(&tag, mode, false, false);
	}
	PG_FINALLY();
	{
		LockTimeout = before;
		CurrentResourceOwner = owner;
	}
	PG_END_TRY();
}

void
tsurugi_shared_give_turn(unsigned txn, LOCKMODE mode)
{
	const LOCKTAG tag = tsurugi_shared_turn(txn);
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	(void) LockRelease(&tag, mode, false);
	CurrentResourceOwner = owner;
}

static int
level_of(const tg_shared_report *report)
{
	static const int levels[] = {[TG_READ_COMMITTED] = XACT_READ_COMMITTED,
								 [TG_REPEATABLE_READ] = XACT_REPEATABLE_READ,
								 [TG_SERIALIZABLE] = XACT_SERIALIZABLE};

	return levels[report->isolation];
}

const char *
tsurugi_shared_isolation_name(const tg_shared_report *report)
{
	return tsurugi_isolation_name(level_of(report));
}

/* Rule 6. */
static void
check_level(void)
{
	if (tsurugi_transaction_type != TG_TXN_ORDINARY && tsurugi_transaction_type != constant.kind)
		tsurugi_shared_refuse(TSURUGI_SHARED_OTHER_KIND, "");
	if (constant.kind == TG_TXN_ORDINARY &&
		level_of(&constant) != (XactIsoLevel == XACT_READ_UNCOMMITTED ? XACT_READ_COMMITTED : XactIsoLevel))
		tsurugi_shared_refuse(TSURUGI_SHARED_OTHER_LEVEL, tsurugi_shared_isolation_name(&constant));
}

/*
 * The time that was matched with PostgreSQL's snapshot of the session's transaction, without
 * exclusions; 0: there is none.  It becomes the shared transaction's time, unless that already has
 * another one.
 */
static tg_time
offer_time(void)
{
	const tg_exclusions *excluded = tsurugi_snapshot_excluded();
	tg_time time = tsurugi_snapshot_time();

	if (time == 0 || constant.kind != TG_TXN_ORDINARY || (IsolationIsSerializable() && XactReadOnly && XactDeferrable))
		return 0;
	for (unsigned i = 0; excluded != NULL && i < excluded->count; i++)
		time = Min(time, excluded->time[i] - 1); /* reads from there on are published */
	if (excluded != NULL && tsurugi_mixed_misfit(GetTransactionSnapshot(), time) != 0)
		return 0;
	tsurugi_check(
		tg_shared_draw_at(tsurugi_session(), shared, time, constant.isolation == TG_SERIALIZABLE || excluded != NULL),
		NULL);
	return time;
}

bool
tsurugi_shared_export(void)
{
	tg_time offered = offer_time();

	tsurugi_moment_note_fit(offered);
	return offered != 0;
}

bool
tsurugi_shared_join(void)
{
	if (shared == NULL)
		return false;
	if (!joined)
	{
		check_level();
		if (IsInParallelMode())
			tsurugi_shared_refuse(TSURUGI_SHARED_JOINED_IN_PARALLEL, "");
		tsurugi_shared_take_turn(constant.txn, ExclusiveLock);
		if (tg_shared_hold(shared) != TG_OK)
			error_ended();
		joined = true;
		tsurugi_shared_first_command = tg_shared_command(shared);
		tsurugi_transaction_join(tg_shared_txn(shared), constant.host);
	}
	tsurugi_kind_join(constant.kind);
	if (constant.isolation != TG_READ_COMMITTED)
	{
		tg_time offered = offer_time();
		unsigned entry;
		tg_time time;

		tsurugi_check(tg_shared_draw(tsurugi_session(), shared, &time, &entry), NULL);
		tsurugi_snapshot_adopt(time, GetCurrentTimestamp() - (TimestampTz) tg_shared_snapshot_age_us(shared), entry);
		tsurugi_isolation_join(tg_shared_reads(shared));
		tsurugi_kind_mind_areas(shared);
		if (time == offered)
			tsurugi_moment_note_fit(time);
		if (!tsurugi_moment_join(&constant, !is_owner))
			error_ended();
	}
	return true;
}

tg_status
tsurugi_shared_lend(const tg_writer *writer, tg_table *table, unsigned tasks, tg_loan **loan_out)
{
	tg_wait wait;

	Assert(joined);
	return tg_loan_begin(tsurugi_session(), shared, table, writer, tasks, loan_out, &wait);
}

void
tsurugi_shared_note_extended(tg_time later)
{
	if (joined)
		tg_shared_set_snapshot(shared, later);
}

unsigned
tsurugi_shared_number(void)
{
	return constant.txn;
}

bool
tsurugi_shared_has_joined(void)
{
	return joined;
}

bool
tsurugi_shared_lends(void)
{
	return shared != NULL && !is_owner &&
		   (constant.kind == TG_TXN_LONG || constant.kind == TG_TXN_READ_ONLY ||
			(constant.kind == TG_TXN_ORDINARY && constant.isolation == TG_REPEATABLE_READ));
}

/*
 * Gives up the use of the shared transaction.  The turn itself is released when PostgreSQL's
 * transaction ends, which is about to happen.
 */
static void
leave(void)
{
	if (!joined)
		return;
	tg_wait_end_of(constant.txn); /* an error may have interrupted a wait */
	tg_shared_set_command(shared, tsurugi_shared_first_command + GetCurrentCommandId(false) + 1);
	tg_shared_let_go(tsurugi_session(), shared);
	joined = false;
}

/* --- ends ------------------------------------------------------------------------------------ */

static bool
is_running(void)
{
	tg_shared_report report;

	tg_shared_report_get(shared, &report);
	return report.state == TG_SHARED_RUNNING;
}

static void
part(void)
{
	tg_shared_close(shared);
	shared = NULL;
	tsurugi_shared_is_open = false;
	is_owner = false;
}

/* Called when the backend exits: after PostgreSQL's own abort, before the engine's session ends. */
static void
at_exit(int code, Datum argument)
{
	if (shared == NULL)
		return;
	tg_shared_abort(tsurugi_session(), shared, TG_SHARED_FAILED, last_error[0] != '\0' ? last_error : NULL);
	part();
	tsurugi_lease_locks_look();
}

void
tsurugi_shared_register_exit(void)
{
	static bool registered;

	(void) tsurugi_session(); /* so that the session ends after this */
	if (!registered)
		on_shmem_exit(at_exit, (Datum) 0);
	registered = true;
}

void
tsurugi_shared_take_part(tg_shared *opened, bool owns)
{
	tg_shared_report_get(opened, &constant);
	shared = opened;
	tsurugi_shared_is_open = true;
	tsurugi_parallel_call_off();
	is_owner = owns;
	last_error[0] = '\0';
}

bool
tsurugi_shared_detach(void)
{
	if (shared == NULL)
		return false;
	if (is_owner)
		tsurugi_shared_refuse(TSURUGI_SHARED_DETACHED_BY_OWNER, "");
	if (joined)
		tsurugi_shared_refuse(TSURUGI_SHARED_DETACHED_TOO_EARLY, "");
	part();
	return true;
}

/* An error, or the end of the backend, has interrupted its validation. */
static void
finish_unvalidated(int code, Datum opened)
{
	tg_shared_finish(tsurugi_session(), (tg_shared *) DatumGetPointer(opened), false);
}

static tg_status
validate(tg_shared *opened)
{
	TimestampTz start = GetCurrentTimestamp();
	volatile tg_status status = TG_AGAIN;

	PG_ENSURE_ERROR_CLEANUP(finish_unvalidated, PointerGetDatum(opened));
	{
		for (;;)
		{
			tg_wait wait;

			status = tg_shared_validate(tsurugi_session(), opened, &wait);
			if (status == TG_BUSY)
				wait_for_outcome(&wait, start);
			else if (status != TG_AGAIN)
				break;
			CHECK_FOR_INTERRUPTS();
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(finish_unvalidated, PointerGetDatum(opened));
	return status;
}

void
tsurugi_shared_commit(tg_shared *opened)
{
	tg_session *session = tsurugi_session();
	tg_shared_report report;
	tg_status status;

	while ((status = tg_shared_prepare(session, opened)) == TG_BUSY)
		CHECK_FOR_INTERRUPTS();
	if (status == TG_OK)
		status = validate(opened);
	if (status == TG_OK)
		return;
	tg_shared_report_get(opened, &report);
	if (report.reason == TG_SHARED_CONFLICTED && status == TG_CONFLICT)
		tsurugi_error_validation(&report.conflict);
	error_ended_as(&report, NULL);
}

static void
validate_owner(void)
{
	tg_txn *txn = tg_shared_txn(shared);
	bool is_serializable = constant.isolation == TG_SERIALIZABLE;
	bool is_long = constant.kind == TG_TXN_LONG;

	leave();
	/*
	 * M3.  Where the validation draws C, it is not drawn again, whether mixed writes are allowed or
	 * not.
	 */
	if (is_long && tg_txn_has_writes(txn))
		tsurugi_isolation_check_mixed();
	else if (is_serializable && !is_long && tsurugi_isolation_wrote_ordinary())
		tsurugi_error_mixed();
	tsurugi_shared_commit(shared);
	prepared = true;
	if ((!is_serializable || is_long) && tg_txn_has_writes(txn) && TransactionIdIsValid(GetTopTransactionIdIfAny()))
		tsurugi_mixed_begin(txn, GetTopTransactionId());
}

void
tsurugi_shared_validate(void)
{
	if (shared == NULL)
		return;
	if (is_owner)
	{
		validate_owner();
		return;
	}
	if (joined && !is_running())
		error_ended();
	if (joined && tsurugi_isolation_wrote_ordinary() && !tg_failpoint_refuses("skip_shared_ordinary"))
		tsurugi_shared_refuse(TSURUGI_SHARED_ORDINARY_WRITES, "");
}

tg_txn *
tsurugi_shared_to_commit(void)
{
	return prepared ? tg_shared_txn(shared) : NULL;
}

static void
end_owned(bool committed)
{
	tg_session *session = tsurugi_session();

	if (prepared)
	{
		if (committed)
			tg_shared_note_logged(shared, tsurugi_logging_position());
		tg_shared_finish(session, shared, committed);
	}
	else
		(void) tg_shared_abandon(session, shared, TG_SHARED_GIVEN_UP);
	prepared = false;
	leave();
	part();
}

void
tsurugi_shared_end(bool committed)
{
	tsurugi_shared_unlimit_wait();
	if (shared == NULL)
		return;
	if (is_owner)
		end_owned(committed);
	else
	{
		if (!committed)
			tg_shared_abort(tsurugi_session(), shared, TG_SHARED_FAILED, last_error[0] != '\0' ? last_error : NULL);
		leave();
		if (!is_running())
			tsurugi_lease_locks_look();
	}
	last_error[0] = '\0';
	tsurugi_shared_first_command = 0;
}

void
tsurugi_shared_end_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	if (!committed)
		tsurugi_shared_unlimit_wait();
}
