/*
 * prepared.c
 *	  PREPARE TRANSACTION: transactions that wait, without a session, for COMMIT PREPARED.
 *
 *	PRE_PREPARE			at SERIALIZABLE, what was read is held (H1); a descriptor is taken; what was
 *						done is logged
 *	PREPARE				the transaction moves there; its host word names the xid
 *	COMMIT PREPARED		announced as a mixed commit (M2): C, PREPARED(C); PostgreSQL's part;
 *						COMMITTED, or ACTIVE again if that part has failed
 *	ROLLBACK PREPARED	PostgreSQL's part; ABORTED
 *
 * 1. Other sessions wait for the xid, as PostgreSQL's do; while a session ends the transaction, for
 *	  that session's virtual transaction.
 * 2. One session at a time has it in hand.  A session that fails or exits meanwhile ends it by the
 *	  outcome of its xid, if that has one, in its own end.  Before, a statement takes a lock of the
 *	  identifier: no other statement ends what has that identifier, so this is one transaction
 *	  until PostgreSQL's part has ended it.
 * 3. PostgreSQL's part can come without the statement (an apply worker's).  So a session that has
 *	  waited, and the worker, end what they find to be decided, and in nobody's hand.
 * 4. What has been done to logged tables, and the row locks there, is in the log (logging.c), and a
 *	  load restores it.  That of unlogged tables is gone after a start, as their rows are.
 * 5. A transaction that is in the log is marked as such by a lock of PostgreSQL's on its host word,
 *	  which goes on with it through starts.  So COMMIT PREPARED can tell it from others before the
 *	  tables are loaded: it waits for them then, and others do not.
 *	  H6: of one at SERIALIZABLE, further such locks name the tables that it has read: after a start
 *	  it holds these as a whole (hold.c, 7).
 * 6. The record that ends such a transaction is one that the journal needs.  So the session is
 *	  LOGGING from before PostgreSQL's part until it has ended the transaction (R6, log.c): the
 *	  worker fills the journal, and a base is not begun between the two.
 * 7. A promotion may not be able to read what such a transaction has done (load_following.c).  Then
 *	  it is in no descriptor, although its xid is open, and can only be rolled back: COMMIT PREPARED
 *	  would commit its other part alone.  With ignore_damage it may do that.
 * 8. Where the tables are refused until the next start, ROLLBACK PREPARED is PostgreSQL's alone, so
 *	  that its locks can be released: that start finds the xid aborted, and drops what it has done.
 */
#include "postgres.h"

#include "src/txn/prepared.h"

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/txn/hold.h"
#include "runtime/txn/prepared.h"
#include "runtime/txn/reads.h"
#include "runtime/txn/txn.h"
#include "runtime/start.h"
#include "src/base/others.h"
#include "src/base/query.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/log/damage.h"
#include "src/log/log.h"
#include "src/txn/mixed.h"

#define LOOK_US 1000
#define READ_FIELD 0xffff /* read_tag */
#define READ_ALL PG_UINT32_MAX

/* In this session's hand. */
static tg_txn *in_hand;
static TransactionId hand_xid;
static bool is_taken;	/* by PREPARE, which has not come yet */
static bool is_logging; /* by COMMIT or ROLLBACK PREPARED */

bool
tsurugi_prepared_is_in_hand(void)
{
	return in_hand != NULL;
}

static void
let_go(void)
{
	tg_prepared_let_go(in_hand);
	in_hand = NULL;
	is_taken = false;
}

/* --- PREPARE TRANSACTION ----------------------------------------------------------------- */

void
tsurugi_prepared_take(TransactionId xid)
{
	if (tg_prepared_take(tsurugi_session(), TSURUGI_HOST_PREPARED | xid, &in_hand) != TG_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("maximum number of prepared transactions reached"),
						errhint("Increase max_prepared_transactions (currently %d).", max_prepared_xacts)));
	hand_xid = xid;
	is_taken = true;
}

/* 5. */
static LOCKTAG
mark_tag(TransactionId xid)
{
	uint64 host = TSURUGI_HOST_PREPARED | xid;

	return (LOCKTAG){.locktag_field1 = MyDatabaseId,
					 .locktag_field2 = (uint32) (host >> 32),
					 .locktag_field3 = (uint32) host,
					 .locktag_type = LOCKTAG_USERLOCK,
					 .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
}

void
tsurugi_prepared_mark(TransactionId xid)
{
	LOCKTAG tag = mark_tag(xid);

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/*
 * The fourth field distinguishes the lock from those of parts of transactions (transaction.c), of
 * which it would be one too many.  relation 0: it is SERIALIZABLE, READ_ALL: it has read any table.
 */
static LOCKTAG
read_tag(TransactionId xid, Oid relation)
{
	return (LOCKTAG){.locktag_field1 = MyDatabaseId,
					 .locktag_field2 = relation,
					 .locktag_field3 = xid,
					 .locktag_field4 = READ_FIELD,
					 .locktag_type = LOCKTAG_USERLOCK,
					 .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
}

static void
mark_read(TransactionId xid, Oid relation)
{
	LOCKTAG tag = read_tag(xid, relation);

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

void
tsurugi_prepared_mark_reads(TransactionId xid, const tg_reads *reads)
{
	const void *at = NULL;
	uint32_t relation;

	if (tg_failpoint_refuses("skip_h6"))
		return;
	mark_read(xid, 0);
	if (tg_reads_is_everything(reads))
		mark_read(xid, READ_ALL);
	while (tg_reads_next_relation(reads, &at, &relation))
		mark_read(xid, relation);
}

typedef struct Reads
{
	Oid database;
	bool is_serializable;
	bool all;
	unsigned count;
	uint32_t *relations;
} Reads;

/* What the marks of a transaction say. */
static Reads
find_reads(TransactionId xid)
{
	const LockData *locks = GetLockStatusData();
	Reads reads = {.relations = palloc((locks->nelements + 1) * sizeof(uint32_t))};

	for (int i = 0; i < locks->nelements; i++)
	{
		const LOCKTAG *tag = &locks->locks[i].locktag;

		if (tag->locktag_type != LOCKTAG_USERLOCK || tag->locktag_field4 != READ_FIELD || tag->locktag_field3 != xid)
			continue;
		reads.is_serializable = true;
		reads.database = tag->locktag_field1;
		if (tag->locktag_field2 == READ_ALL)
			reads.all = true;
		else if (tag->locktag_field2 != 0)
			reads.relations[reads.count++] = tag->locktag_field2;
	}
	return reads;
}

static void
learn(tg_txn *txn, TransactionId xid)
{
	Reads reads;
	tg_status status;

	if (!tg_hold_is_unknown(txn))
		return;
	reads = find_reads(xid);
	if (!reads.is_serializable)
	{
		tg_hold_restore_none(txn);
		return;
	}
	status = tg_hold_restore(tsurugi_session(), txn, reads.database, reads.relations, reads.count, reads.all);
	if (status != TG_OK)
		tsurugi_error(status, NULL);
}

/* What is in another session's hand is waited for: it learns, too, or ends it. */
void
tsurugi_prepared_learn(void)
{
	while (tg_hold_any_unknown())
	{
		unsigned at = 0;
		uint64_t host;

		while (tg_prepared_next(&at, &host))
		{
			if (tg_prepared_hold(host, &in_hand) != TG_OK)
				continue;
			hand_xid = (TransactionId) host; /* after an error it is let go as others are (2) */
			learn(in_hand, hand_xid);
			let_go();
		}
		CHECK_FOR_INTERRUPTS();
		if (tg_hold_any_unknown())
			pg_usleep(LOOK_US);
	}
}

static bool
is_marked(TransactionId xid)
{
	LOCKTAG tag = mark_tag(xid);

	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, ShareLock, false);
	return false;
}

bool
tsurugi_prepared_move(tg_txn *txn)
{
	if (!is_taken)
		return false;
	tg_prepared_move(tsurugi_session(), txn, in_hand);
	let_go();
	return true;
}

/* --- the end ------------------------------------------------------------------------------- */

static void
finish(tg_session *session, tg_txn *txn, bool committed)
{
	if (committed)
	{
		if (!tg_txn_is_prepared(txn) && tg_txn_has_writes(txn))
			(void) tg_txn_prepare(session, txn, 0); /* 3 */
		while (tg_txn_is_prepared(txn) && !tg_hold_may_end(txn))
			pg_usleep(1);
		tg_txn_commit(session, txn);
	}
	else
		tg_txn_abort(session, txn);
}

static void
end_logging(void)
{
	if (is_logging)
		tsurugi_log_end();
	is_logging = false;
}

/* 2. */
static void
finish_own(void)
{
	bool announced = tsurugi_mixed_has_begun();
	bool has_ended = !TransactionIdIsInProgress(hand_xid); /* before its outcome is looked up */
	bool committed = has_ended && TransactionIdDidCommit(hand_xid);

	if (announced)
		tsurugi_mixed_end(committed);
	if (has_ended)
		finish(tsurugi_session(), in_hand, committed);
	else
	{
		if (announced)
			tg_prepared_revoke(tsurugi_session(), in_hand);
		tg_prepared_name(in_hand, TSURUGI_HOST_PREPARED | hand_xid);
	}
	let_go();
}

void
tsurugi_prepared_end(bool committed)
{
	if (tg_likely(in_hand == NULL && !is_logging))
		return;
	if (is_taken)
		let_go();
	else if (in_hand != NULL)
		finish_own();
	end_logging();
}

static void
refuse_busy(const char *gid)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("prepared transaction with identifier \"%s\" is busy", gid)));
}

/*
 * 2.  Until the statement's transaction has ended.  The fourth field distinguishes the lock from
 * others whose second field has the top bit (shared_transaction.c).
 */
static void
lock_gid(const char *gid)
{
	uint64 hash = hash_bytes_extended((const unsigned char *) gid, (int) strlen(gid), 0);
	LOCKTAG tag = {.locktag_field1 = MyDatabaseId,
				   .locktag_field2 = (uint32) 1 << 31 | (uint32) (hash >> 32),
				   .locktag_field3 = (uint32) hash,
				   .locktag_field4 = 1,
				   .locktag_type = LOCKTAG_USERLOCK,
				   .locktag_lockmethodid = DEFAULT_LOCKMETHOD};

	if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		refuse_busy(gid);
}

/*
 * As LockGXact (twophase.c).  Before the identifier is locked, so that a role that may not end the
 * transaction keeps nobody from it.
 */
static void
check_owner(const char *gid)
{
	Oid type = TEXTOID;
	Datum value = CStringGetTextDatum(gid);
	Oid owner = GetUserId();
	bool is_null;

	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	tsurugi_query_catalogs("SELECT ownerid FROM pg_prepared_xact() WHERE gid = $1", 1, &type, &value);
	if (SPI_processed > 0)
		owner = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	SPI_finish();
	PopActiveSnapshot();
	if (GetUserId() != owner && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied to finish prepared transaction"),
				 errhint("Must be superuser or the user that prepared the transaction.")));
}

/*
 * The xid of a prepared transaction; invalid: it is another database's, and PostgreSQL refuses it.
 * Raises 42704 if there is none: PostgreSQL's part might find one that was prepared meanwhile.
 */
static TransactionId
find_xid(const char *gid)
{
	Oid types[2] = {TEXTOID, OIDOID};
	Datum values[2] = {CStringGetTextDatum(gid), ObjectIdGetDatum(MyDatabaseId)};
	TransactionId xid = InvalidTransactionId;
	bool is_null;

	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	tsurugi_query_catalogs("SELECT transaction, dbid = $2 FROM pg_prepared_xact() WHERE gid = $1", 2, types, values);
	tg_failpoint("prepared_found");
	if (SPI_processed == 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("prepared transaction with identifier \"%s\" does not exist", gid)));
	if (DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &is_null)))
		xid = DatumGetTransactionId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	SPI_finish();
	PopActiveSnapshot();
	return xid;
}

/* 1. */
static void
hold(const char *gid, TransactionId xid)
{
	tg_status status = tg_prepared_hold(TSURUGI_HOST_PREPARED | xid, &in_hand);

	if (status == TG_BUSY)
		refuse_busy(gid);
	if (status != TG_OK)
		return;
	hand_xid = xid;
	(void) tsurugi_session(); /* nothing may fail behind PostgreSQL's part */
	tg_prepared_name(in_hand, (uint64) MyBackendId << 32 | MyProc->lxid);
}

/* 7.  Its outcome is not due: the statement's lock keeps others from it (2). */
static void
refuse_lost(const char *gid)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
					errmsg("prepared transaction with identifier \"%s\" cannot be committed", gid),
					errdetail("Its changes of tables of tsurugi_fdw could not be read when the server was promoted."),
					errhint("Use ROLLBACK PREPARED.")));
}

/* 8. */
static bool
is_without_tables(const TransactionStmt *statement)
{
	return statement->kind == TRANS_STMT_ROLLBACK_PREPARED && tsurugi_session_is_refused();
}

void
tsurugi_prepared_end_by(const TransactionStmt *statement, void (*run)(const void *), const void *argument)
{
	if (!IsTransactionBlock() && max_prepared_xacts > 0)
	{
		TransactionId xid;
		bool is_logged;

		check_owner(statement->gid);
		lock_gid(statement->gid);
		xid = find_xid(statement->gid);
		is_logged = TransactionIdIsValid(xid) && is_marked(xid) && !is_without_tables(statement);
		if (is_logged)
			(void) tsurugi_session(); /* the tables are loaded then */
		tsurugi_prepared_learn();
		if (TransactionIdIsValid(xid) && !tg_failpoint_refuses("skip_prepared_hold"))
			hold(statement->gid, xid);
		if (in_hand == NULL && is_logged && statement->kind == TRANS_STMT_COMMIT_PREPARED && !tsurugi_ignore_damage &&
			TransactionIdIsInProgress(xid) && !tg_failpoint_refuses("skip_prepared_hold"))
			refuse_lost(statement->gid);
		if (in_hand != NULL && statement->kind == TRANS_STMT_COMMIT_PREPARED && tg_txn_has_writes(in_hand))
		{
			tsurugi_mixed_begin(in_hand, xid);
			while (!tg_hold_may_end(in_hand)) /* H4 */
			{
				CHECK_FOR_INTERRUPTS();
				pg_usleep(LOOK_US);
			}
		}
		if (is_logged)
		{
			tsurugi_log_begin(true); /* 6 */
			is_logging = true;
		}
		tg_failpoint("prepared_held");
	}
	run(argument);
	tg_failpoint("prepared_decided");
	if (in_hand != NULL)
		finish_own();
	end_logging();
}

/* --- others' ---------------------------------------------------------------------------------- */

/* 3.  Whether it has ended, here, too. */
static bool
finish_decided(tg_session *session, TransactionId xid)
{
	tg_txn *txn;
	tg_status status;

	if (TransactionIdIsInProgress(xid))
		return false;
	status = tg_prepared_hold(TSURUGI_HOST_PREPARED | xid, &txn);
	if (status == TG_OK)
	{
		finish(session, txn, TransactionIdDidCommit(xid));
		tg_prepared_let_go(txn);
	}
	return status != TG_BUSY;
}

/*
 * PostgreSQL takes an xid before RecentXmin for one that has ended, and a process that never takes
 * a snapshot has none that means anything.
 */
bool
tsurugi_prepared_is_open(TransactionId xid)
{
	RecentXmin = GetOldestActiveTransactionId();
	return TransactionIdIsInProgress(xid);
}

void
tsurugi_prepared_finish_all(void)
{
	tg_session *session;
	unsigned at = 0;
	uint64_t host;

	while (tg_prepared_next(&at, &host))
	{
		if (tsurugi_prepared_is_open((TransactionId) host) || tg_session_open(&session) != TG_OK)
			continue;
		(void) finish_decided(session, (TransactionId) host);
		tg_runtime_session_end(session);
	}
}

static bool
is_prepared(uint64_t host)
{
	return (host & TSURUGI_HOST_PREPARED) != 0;
}

static VirtualTransactionId
backend_of(uint64_t host)
{
	return (VirtualTransactionId){.backendId = (BackendId) (host >> 32),
								  .localTransactionId = (LocalTransactionId) host};
}

bool
tsurugi_host_wait(uint64_t host, bool wait)
{
	TransactionId xid = (TransactionId) host;

	if (tg_likely(!is_prepared(host)))
		return VirtualXactLock(backend_of(host), wait);
	if (wait)
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
	if (finish_decided(tsurugi_session(), xid))
		return true;
	if (wait)
		pg_usleep(LOOK_US); /* a session has it in hand */
	return false;
}

void
tsurugi_host_wait_for_outcome(uint64_t host)
{
	if (tg_likely(!is_prepared(host)))
		(void) VirtualXactLock(backend_of(host), true);
	else if (!finish_decided(tsurugi_session(), (TransactionId) host))
		pg_usleep(LOOK_US);
}
