/*
 * shared_transaction.c
 *	  Several sessions in one transaction.
 *
 *	owner      BEGIN; export_transaction(t) ............................ COMMIT
 *	attached       attach_transaction(handle); COPY t ...; COPY t ...; detach_transaction()
 *	attached       attach_transaction(handle); BEGIN; INSERT ...; COMMIT; detach_transaction()
 *
 * The store's transaction is one of the runtime's shared ones (runtime/txn/shared.h), from the export on.  Each
 * PostgreSQL transaction of an attached session that accesses a table of ours, and the owner's, joins
 * it: takes the turn, then holds it as a user.
 *
 * 1. One at a time: the turn is a lock of PostgreSQL's, held from the first access until the end of the
 *	  PostgreSQL transaction.  So what a statement sees of the shared transaction does not change while it runs, its
 *	  number of a command is higher than all those before, and waits for the turn are in pg_locks, and deadlocks
 *	  that lead through them are found.  The owner's first access is the last word: it keeps the turn until it ends.
 * 2. Tables.  PostgreSQL protects a table that has changes which are not committed by a lock that ends with the
 *	  transaction.  Attached sessions' end too early for that; so the owner takes those locks, at the export, and
 *	  nothing else can be written, or locked, in the shared transaction.  No definition can be changed in it.
 * 3. Only the owner ends it: by its own COMMIT or ROLLBACK.  A commit beside a session that has joined is
 *	  refused, and aborts it.  An attached session whose transaction aborts, or which goes, dooms it: its
 *	  changes cannot be taken back alone.  So does the end of the lease.  The owner's COMMIT is 25P02 then.
 * 4. The owner's abort does not wait for the others (tg_shared_abandon), so its table locks go when what
 *	  they protected has been taken back.  Who has joined gets 25P02 from the next thing it does, at the latest from its COMMIT.
 * 5. Waits.  For rows of a shared transaction nobody can wait by a lock of PostgreSQL's, because it has work
 *	  by sessions that have gone on to other things: it is looked at from time to time.
 *
 * Left out: other levels than READ COMMITTED, Tsurugi's kinds, and transactions that only a lease owns.
 */
#include "postgres.h"

#include "src/shared_transaction.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "src/areas.h"
#include "src/errors.h"
#include "src/kinds.h"
#include "src/mixed.h"
#include "src/session.h"
#include "src/transaction.h"

#define LEASE_MS_MAX (24 * 60 * 60 * 1000)
#define LOOK_MS 10 /* between two looks at a shared transaction that is waited for */

PG_FUNCTION_INFO_V1(tsurugi_fdw_export_transaction);
PG_FUNCTION_INFO_V1(tsurugi_fdw_attach_transaction);
PG_FUNCTION_INFO_V1(tsurugi_fdw_detach_transaction);
PG_FUNCTION_INFO_V1(tsurugi_fdw_renew_transaction);
PG_FUNCTION_INFO_V1(tsurugi_fdw_transaction_status);
PG_FUNCTION_INFO_V1(tsurugi_fdw_transaction_error);

extern PGDLLEXPORT Datum tsurugi_fdw_export_transaction(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum tsurugi_fdw_attach_transaction(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum tsurugi_fdw_detach_transaction(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum tsurugi_fdw_renew_transaction(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum tsurugi_fdw_transaction_status(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum tsurugi_fdw_transaction_error(PG_FUNCTION_ARGS);

uint32 tsurugi_shared_first_command;

static int lease_ms;

static tg_shared *shared; /* open; NULL: the session takes part in none */
static unsigned number;	  /* its */
static bool is_owner;

/* Of the running transaction. */
static bool joined;	  /* has the turn, and is a user */
static bool prepared; /* the owner's: it is going to commit */

static int lock_timeout = -1; /* that was set before a limited wait */

void
tsurugi_shared_define(void)
{
	DefineCustomIntVariable("tsurugi_fdw.transaction_lease",
							"Time without any activity after which an exported transaction is aborted.",
							"Also how long its outcome can be asked for, and how long anybody waits in it, or for it.",
							&lease_ms, 60000, 100, LEASE_MS_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}

/* --- errors ------------------------------------------------------------------------------- */

static const char *
describe_abort(const tg_shared_report *report)
{
	return report->expired ? "Nothing was done in it for the time of tsurugi_fdw.transaction_lease."
						   : "Its owner rolled it back, or a session that worked in it failed or went away.";
}

static void error_ended(void) pg_attribute_noreturn();

static void
error_ended(void)
{
	tg_shared_report report;

	tg_shared_report_get(shared, &report);
	ereport(
		ERROR,
		(errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
		 report.state == TG_SHARED_STORED ? errmsg("the shared transaction has been committed")
										  : errmsg("the shared transaction is aborted"),
		 report.state == TG_SHARED_STORED ? 0 : errdetail("%s", describe_abort(&report)),
		 is_owner ? 0 : errhint("Call tsurugi.detach_transaction() to work in transactions of the session again.")));
	pg_unreachable();
}

void
tsurugi_shared_check_command(const char *what)
{
	if (shared != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot %s in a transaction that several sessions work in", what)));
}

void
tsurugi_error_shared_savepoint(void)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot change tables of tsurugi_fdw in a subtransaction of a transaction that several "
						   "sessions work in")));
	pg_unreachable();
}

void
tsurugi_shared_check_table(Relation relation)
{
	if (joined)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						relation != NULL ? errmsg("foreign table \"%s\" was not exported with the shared transaction",
												  RelationGetRelationName(relation))
										 : errmsg("foreign table was not exported with the shared transaction"),
						errhint("Name all tables that are going to be changed, or locked by foreign keys, in "
								"tsurugi.export_transaction()."),
						relation != NULL ? errtable(relation) : 0));
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
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot PREPARE a transaction that several sessions work in")));
}

/* --- waiting ------------------------------------------------------------------------------ */

/* No longer than this does anybody wait in it, or for it. */
static int
wait_ms_max(void)
{
	return LockTimeout > 0 ? Min(LockTimeout, lease_ms) : lease_ms;
}

void
tsurugi_shared_limit_wait(void)
{
	if (!joined)
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

void
tsurugi_wait_for_shared(const tg_wait *wait)
{
	TimestampTz start = GetCurrentTimestamp();
	tg_txn_report report;

	while (tg_txn_report_get(wait->txn, &report) && report.host == wait->host)
	{
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), wait_ms_max()))
			ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("canceling statement due to lock timeout"),
							errdetail("A transaction that several sessions work in has not ended.")));
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* --- joining ------------------------------------------------------------------------------- */

/* Rule 1.  Of the whole transaction, wherever in it the first access is. */
static void
take_turn(void)
{
	/* A host's word has the number of a backend here (transaction.c), so the top bit tells them apart. */
	const LOCKTAG tag = {.locktag_field1 = MyDatabaseId,
						 .locktag_field2 = (uint32) 1 << 31,
						 .locktag_field3 = number,
						 .locktag_type = LOCKTAG_USERLOCK,
						 .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
	ResourceOwner owner = CurrentResourceOwner;
	int before = LockTimeout;

	CurrentResourceOwner = TopTransactionResourceOwner;
	LockTimeout = wait_ms_max();
	PG_TRY();
	{
		(void) LockAcquire(&tag, ExclusiveLock, false, false);
	}
	PG_FINALLY();
	{
		LockTimeout = before;
		CurrentResourceOwner = owner;
	}
	PG_END_TRY();
}

static void
check_level(void)
{
	if (XactIsoLevel != XACT_READ_COMMITTED && XactIsoLevel != XACT_READ_UNCOMMITTED)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("only transactions at READ COMMITTED can be shared by several sessions")));
	if (tsurugi_transaction_type != TG_TXN_ORDINARY)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("transactions of Tsurugi's kinds cannot be shared by several sessions"),
						errhint("Reset tsurugi_fdw.transaction_type.")));
}

bool
tsurugi_shared_join(void)
{
	if (shared == NULL)
		return false;
	check_level();
	if (IsInParallelMode())
		ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_STATE),
						errmsg("cannot begin to work in a shared transaction during a parallel operation")));
	take_turn();
	if (tg_shared_hold(shared) != TG_OK)
		error_ended();
	joined = true;
	tsurugi_shared_first_command = tg_shared_command(shared);
	tsurugi_transaction_join(tg_shared_txn(shared));
	return true;
}

unsigned
tsurugi_shared_number(void)
{
	return number;
}

/* Gives the turn back: it ends with PostgreSQL's transaction, which is about to. */
static void
leave(void)
{
	if (!joined)
		return;
	tg_shared_set_command(shared, tsurugi_shared_first_command + GetCurrentCommandId(false) + 1);
	tg_shared_let_go(tsurugi_session(), shared);
	joined = false;
}

/* --- ends ------------------------------------------------------------------------------------ */

static void
take_part(tg_shared *opened, bool owns)
{
	tg_shared_report report;

	tg_shared_report_get(opened, &report);
	shared = opened;
	number = report.txn;
	is_owner = owns;
}

static void
part(void)
{
	tg_shared_close(shared);
	shared = NULL;
	is_owner = false;
}

/* The backend exits, after PostgreSQL's own abort, before its session ends. */
static void
at_exit(int code, Datum argument)
{
	if (shared == NULL)
		return;
	tg_shared_abort(tsurugi_session(), shared);
	part();
}

static void
register_exit(void)
{
	static bool registered;

	(void) tsurugi_session(); /* it is to end later */
	if (!registered)
		on_shmem_exit(at_exit, (Datum) 0);
	registered = true;
}

static void
pre_commit_owner(void)
{
	tg_txn *txn = tg_shared_txn(shared);
	tg_shared_report report;
	tg_status status;

	leave();
	while ((status = tg_shared_prepare(tsurugi_session(), shared)) == TG_BUSY)
		CHECK_FOR_INTERRUPTS();
	if (status == TG_OK)
	{
		prepared = true;
		if (tg_txn_has_writes(txn) && TransactionIdIsValid(GetTopTransactionIdIfAny()))
			tsurugi_mixed_begin(txn);
		return;
	}
	tg_shared_report_get(shared, &report);
	if (report.users == 0)
		error_ended();
	ereport(ERROR, (errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION), errmsg("the shared transaction is aborted"),
					errdetail("Another session is at work in it, or was when it failed.")));
}

void
tsurugi_shared_pre_commit(void)
{
	tg_shared_report report;

	if (shared == NULL)
		return;
	if (is_owner)
	{
		pre_commit_owner();
		return;
	}
	tg_shared_report_get(shared, &report);
	if (joined && report.state != TG_SHARED_RUNNING)
		error_ended();
}

static void
end_owned(bool committed)
{
	tg_session *session = tsurugi_session();

	if (prepared)
		tg_shared_finish(session, shared, committed);
	else
		tg_shared_abandon(session, shared);
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
			tg_shared_abort(tsurugi_session(), shared);
		leave();
	}
	tsurugi_shared_first_command = 0;
}

/* --- functions --------------------------------------------------------------------------------- */

/* What makes a handle work: the same role, and its tables are those of this database. */
static uint64_t
role_word(void)
{
	return (uint64_t) MyDatabaseId << 32 | GetUserId();
}

static tg_handle
parse_handle(const text *value)
{
	const char *digits = text_to_cstring(value);
	tg_handle handle;

	if (strlen(digits) != 2 * sizeof(handle) || strspn(digits, "0123456789abcdef") != 2 * sizeof(handle))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid handle of a transaction")));
	(void) hex_decode(digits, 2 * sizeof(handle), (char *) &handle);
	return handle;
}

static tg_shared *
open_shared(const text *value)
{
	tg_handle handle = parse_handle(value);
	tg_shared *opened;

	if (tg_shared_open(&handle, role_word(), &opened) != TG_OK)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no transaction of this handle"),
						errdetail("A handle works for the role that made it, in the same database, and for the time of "
								  "tsurugi_fdw.transaction_lease after the end of its transaction.")));
	return opened;
}

/* The names as a list of areas, which are whole tables. */
static char *
list_tables(ArrayType *array)
{
	StringInfoData list;
	Datum *names;
	bool *nulls;
	int count;
	ListCell *cell;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	initStringInfo(&list);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("names of tables must not be null")));
		appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ", TextDatumGetCString(names[i]));
	}
	if (count == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("no tables to be shared were named")));
	foreach (cell, tsurugi_areas_parse(list.data))
		if (((tsurugi_area_name *) lfirst(cell))->is_range)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("transactions are exported with whole tables, not with ranges of keys")));
	return list.data;
}

static void
check_may_take_part(const char *function)
{
	if (IsInParallelMode())
		ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_STATE),
						errmsg("cannot call %s during a parallel operation", function)));
	if (shared != NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						is_owner ? errmsg("the transaction has been exported already")
								 : errmsg("the session is attached to a transaction already")));
	if (tsurugi_kind_is_known)
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("%s must be called before any access to tables of tsurugi_fdw", function)));
}

Datum
tsurugi_fdw_export_transaction(PG_FUNCTION_ARGS)
{
	tg_shared_config config = {
		.role = role_word(), .label = tsurugi_transaction_label, .lease_ms = (uint32_t) lease_ms};
	char digits[2 * sizeof(tg_handle) + 1] = "";
	tg_shared *opened;
	uint32_t *tables;
	tg_area *areas;
	tg_status status;

	check_may_take_part("export_transaction()");
	check_level();
	PreventCommandIfReadOnly("export_transaction()");
	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot export a transaction from within a subtransaction")));
	if (!IsTransactionBlock())
		ereport(ERROR, (errcode(ERRCODE_NO_ACTIVE_SQL_TRANSACTION),
						errmsg("%s can only be used in transaction blocks", "export_transaction()")));
	register_exit();
	areas = tsurugi_areas_resolve(list_tables(PG_GETARG_ARRAYTYPE_P(0)), TSURUGI_AREA_TO_WRITE, &config.table_count);
	if (config.table_count == 0 || config.table_count > TG_SHARED_TABLES_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("a transaction can be exported with 1 to %d tables", TG_SHARED_TABLES_MAX)));
	tables = palloc(config.table_count * sizeof(*tables));
	for (unsigned i = 0; i < config.table_count; i++)
		tables[i] = areas[i].table->relation;
	config.tables = tables;
	if (!pg_strong_random(&config.handle, sizeof(config.handle)))
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
	status = tg_shared_begin(tsurugi_session(), &config);
	if (status == TG_FULL)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many transactions have been exported"),
						errdetail("There can be up to %d, those that have ended included for the time of their "
								  "tsurugi_fdw.transaction_lease.",
								  TG_SHARED_MAX)));
	tsurugi_check(status, NULL);
	tsurugi_check(tg_shared_open(&config.handle, config.role, &opened), NULL);
	take_part(opened, true);
	hex_encode((const char *) &config.handle, sizeof(config.handle), digits);
	PG_RETURN_TEXT_P(cstring_to_text(digits));
}

Datum
tsurugi_fdw_attach_transaction(PG_FUNCTION_ARGS)
{
	tg_shared_report report;
	tg_shared *opened;

	check_may_take_part("attach_transaction()");
	check_level();
	register_exit();
	opened = open_shared(PG_GETARG_TEXT_PP(0));
	tg_shared_report_get(opened, &report);
	if (report.state != TG_SHARED_RUNNING)
	{
		tg_shared_close(opened);
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the transaction has ended, or is about to")));
	}
	take_part(opened, false);
	PG_RETURN_VOID();
}

Datum
tsurugi_fdw_detach_transaction(PG_FUNCTION_ARGS)
{
	if (shared == NULL)
		PG_RETURN_BOOL(false);
	if (is_owner)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the transaction's own session cannot be detached from it")));
	if (joined)
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("cannot detach in a transaction that has worked in the shared one"),
						errhint("Commit it first.")));
	part();
	PG_RETURN_BOOL(true);
}

Datum
tsurugi_fdw_renew_transaction(PG_FUNCTION_ARGS)
{
	tg_shared *opened = open_shared(PG_GETARG_TEXT_PP(0));
	tg_shared_report report;

	tg_shared_report_get(opened, &report);
	if (report.state == TG_SHARED_RUNNING)
		tg_shared_renew(opened);
	tg_shared_close(opened);
	PG_RETURN_BOOL(report.state == TG_SHARED_RUNNING);
}

Datum
tsurugi_fdw_transaction_status(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {
		[TG_SHARED_RUNNING] = "running", [TG_SHARED_COMMITTING] = "committing", [TG_SHARED_AVAILABLE] = "available",
		[TG_SHARED_STORED] = "stored",	 [TG_SHARED_ABORTING] = "aborting",		[TG_SHARED_ABORTED] = "aborted"};
	tg_shared *opened = open_shared(PG_GETARG_TEXT_PP(0));
	tg_shared_report report;

	tg_shared_report_get(opened, &report);
	tg_shared_close(opened);
	PG_RETURN_TEXT_P(cstring_to_text(names[report.state]));
}

Datum
tsurugi_fdw_transaction_error(PG_FUNCTION_ARGS)
{
	tg_shared *opened = open_shared(PG_GETARG_TEXT_PP(0));
	tg_shared_report report;

	tg_shared_report_get(opened, &report);
	tg_shared_close(opened);
	if (report.state != TG_SHARED_ABORTING && report.state != TG_SHARED_ABORTED)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(describe_abort(&report)));
}
