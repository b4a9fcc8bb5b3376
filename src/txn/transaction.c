/*
 * transaction.c
 *	  PostgreSQL's transactions mapped to the engine's, and waits for others.
 *
 * The engine's transaction begins at the first write and ends in PostgreSQL's commit or abort
 * callback, in its turn among the participants (participants.c).  A subtransaction that writes is a
 * separate part: it has a mark in the write log, a number that its writes carry, and a heavyweight
 * lock on that number, which its resource owner holds.  A wait for a row of the part is a wait for
 * that lock, which ROLLBACK TO releases.  A wait for any other row of the transaction is for
 * the virtual transaction; PostgreSQL sees both waits, and finds deadlocks
 * that lead through them (W6).  If several wait for a row, each waits for its turn first
 * (row_queue.c).
 *
 *	parts   innermost first; only subtransactions that have written
 *	commit of a subtransaction   its part becomes the parent's, or is merged into the parent's own
 *	        part.  In the second case its lock is released, and its waiters continue to wait for the
 *	        whole transaction, as with PostgreSQL's own subtransactions.  So a transaction holds one
 *	        such lock per level of nesting, not one per subtransaction.
 *	abort of a subtransaction    everything written since the mark is undone (M5)
 */
#include "postgres.h"

#include "src/txn/transaction.h"

#include "access/parallel.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "replication/logicalworker.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/tax.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/piece.h"
#include "runtime/txn/prepared.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/others.h"
#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/base/status_error.h"
#include "src/table/quota.h"
#include "src/table/storage.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/ladder.h"
#include "src/txn/logging.h"
#include "src/txn/mixed.h"
#include "src/txn/parallel.h"
#include "src/txn/prepared.h"
#include "src/txn/promotion.h"
#include "src/txn/row_queue.h"
#include "src/txn/shared_load.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/writer.h"

#define COLLECT_AT_LEAST 100 /* entries of write logs, if there is no pool */
/* Number of writes between two looks at the session's debt. */
#define SAFE_POINT_WRITES 64
/* How long to collect before memory is refused. */
#define ROOM_MS_MAX 1000
/* Memory is short for a definition while less than this share of it is left. */
#define ROOM_SHARE 4
/* How long to sweep before a statement adds values. */
#define RANKS_MS_MAX 20

typedef struct Part
{
	struct Part *outer;
	SubTransactionId id;
	unsigned number;
	tg_txn_mark mark;
} Part;

static tg_txn *own_txn; /* NULL: nothing written yet */
static uint64_t own_host;
static Part *parts; /* in TopTransactionContext */
/*
 * It is about to be committed: its C is drawn, or what it has done is about to be logged.  Nothing
 * may be added.
 */
static bool prepared;
/* Several sessions work in own_txn (shared_transaction.c). */
static bool is_shared;

bool tsurugi_owes;
/* Number of writes since the collection's tax was last computed. */
static unsigned writes_noted;
static uint64_t claimed_noted; /* by the session, at that time */
static uint64_t writes_ended;  /* by the transaction that has just ended */

/* --- writing -------------------------------------------------------------------- */

static LOCKTAG
part_lock_tag(uint64_t host, unsigned number)
{
	LOCKTAG tag = {.locktag_field1 = MyDatabaseId,
				   .locktag_field2 = (uint32) (host >> 32),
				   .locktag_field3 = (uint32) host,
				   .locktag_field4 = (uint16) number,
				   .locktag_type = LOCKTAG_USERLOCK,
				   .locktag_lockmethodid = DEFAULT_LOCKMETHOD};

	return tag;
}

/* Takes or releases the lock of a part, for the current subtransaction. */
static void
lock_part(const Part *part, bool take)
{
	LOCKTAG tag = part_lock_tag(own_host, part->number);
	ResourceOwner owner = CurrentResourceOwner;

	if (part->number >= TG_SUBTXN_LAST)
		/* The number stands for many parts: waiters wait for the transaction. */
		return;
	CurrentResourceOwner = CurTransactionResourceOwner;
	if (take)
		(void) LockAcquire(&tag, ExclusiveLock, false, false);
	else
		(void) LockRelease(&tag, ExclusiveLock, false);
	CurrentResourceOwner = owner;
}

static void
begin_transaction(void)
{
	tg_session *session = tsurugi_session();

	if (IsInParallelMode())
		ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_STATE),
						errmsg("cannot change tables of tsurugi_fdw during a parallel operation")));
	tsurugi_settings_follow();
	tsurugi_session_follow_role();
	own_host = (uint64_t) MyBackendId << 32 | MyProc->lxid;
	own_txn = tg_txn_begin_as(session, own_host, tsurugi_kind, tsurugi_kind_isolation(), tsurugi_transaction_label);
	tsurugi_isolation_begin(own_txn);
	writes_noted = 1;
	tg_claims_begin(session);
	claimed_noted = session->claimed;
	tg_tax_begin(session);
}

/* --- the collection of garbage ----------------------------------------------------- */

static void
note_tax(tg_session *session, uint64_t writes, bool is_over)
{
	tg_tax_note(session, writes, is_over);
	tsurugi_owes = tg_tax_due(session) > 0;
}

void
tsurugi_pay(void)
{
	tsurugi_owes = false;
	tg_tax_pay(tsurugi_session(), NULL, NULL);
}

/* Between two writes of a transaction: after some of them, or when one has claimed memory. */
static void
pass_safe_point(tg_session *session)
{
	unsigned writes = writes_noted;

	writes_noted = 0;
	claimed_noted = session->claimed;
	tg_session_answer(session);
	tg_tax_begin(session);
	note_tax(session, writes, false);
	if (tsurugi_owes)
		tsurugi_pay();
}

/* Whether the transaction that is waited for still runs. */
static bool
must_wait(void *argument)
{
	const uint64_t *holder = argument;

	return !tsurugi_host_wait(*holder, false);
}

/* A session that must wait pays first, as long as the wait lasts. */
static void
pay_while_waiting(uint64_t holder)
{
	note_tax(tsurugi_session(), 0, true);
	if (tsurugi_owes)
		tg_tax_pay(tsurugi_session(), must_wait, &holder);
	tsurugi_owes = false;
}

void
tsurugi_transaction_before_values(void)
{
	TimestampTz start;

	if (tg_likely(!tg_collector_ranks_are_due()) || tsurugi_session_holds_ranks())
		return;
	start = GetCurrentTimestamp();
	while (tg_collector_sweep_ranks(tsurugi_session()) &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), RANKS_MS_MAX))
		CHECK_FOR_INTERRUPTS();
}

/* The bytes that must decrease before it makes sense to claim again. */
static uint64
bytes_refused_for(tg_status status, Relation relation)
{
	return status == TG_OVER_QUOTA ? tsurugi_quota_bytes(relation) : tg_arena_committed();
}

static bool
make_room(tg_status status, Relation relation)
{
	tg_session *session = tsurugi_session();
	TimestampTz start = GetCurrentTimestamp();
	uint64 bytes = bytes_refused_for(status, relation);

	tg_assert(!tg_epoch_inside(session));
	while (tg_collector_make_room(session) && !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), ROOM_MS_MAX))
		CHECK_FOR_INTERRUPTS();
	tg_alloc_flush(session);
	return bytes_refused_for(status, relation) < bytes;
}

void
tsurugi_transaction_before_storing(void)
{
	size_t limit = tg_arena_limit();

	while (tg_arena_committed() > limit - limit / ROOM_SHARE && make_room(TG_NO_MEMORY, NULL))
		;
}

void
tsurugi_refused(tg_status status, Relation relation)
{
	if ((status != TG_NO_MEMORY && status != TG_OVER_QUOTA) || !make_room(status, relation))
		tsurugi_error(status, relation);
}

tg_txn *
tsurugi_transaction_open(void)
{
	if (own_txn == NULL)
		begin_transaction();
	return own_txn;
}

void
tsurugi_transaction_give_up(void)
{
	if (own_txn != NULL)
		tg_txn_abort(tsurugi_session(), own_txn);
	own_txn = NULL;
}

void
tsurugi_transaction_join(tg_txn *txn, uint64_t host)
{
	tg_assert(own_txn == NULL);
	own_txn = txn;
	own_host = host;
	is_shared = true;
	writes_noted = 0;
	tg_claims_begin(tsurugi_session());
	claimed_noted = tsurugi_session()->claimed;
	tg_tax_begin(tsurugi_session());
}

int64
tsurugi_row_count(const tg_table *table)
{
	int64 rows = tg_load_relaxed(&table->row_count);

	if (own_txn != NULL && !is_shared)
		rows += tg_txn_rows(own_txn, table);
	return Max(rows, 0);
}

const tg_conflict *
tsurugi_transaction_conflict(void)
{
	return tg_txn_conflict(own_txn);
}

bool
tsurugi_is_prepared(void)
{
	return prepared;
}

/*
 * Actions of another extension in its PRE_COMMIT callback come too late: they would not be
 * validated.
 */
void
tsurugi_check_not_prepared(void)
{
	if (tsurugi_is_prepared())
		ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_STATE),
						errmsg("cannot access tables of tsurugi_fdw in a transaction that is committing")));
}

void
tsurugi_track_transaction(tg_reads *reads)
{
	if (own_txn != NULL)
		tg_txn_track(own_txn, reads);
}

static void
begin_part(SubTransactionId id)
{
	Part *part = MemoryContextAlloc(TopTransactionContext, sizeof(*part));

	part->id = id;
	tg_txn_savepoint(tsurugi_session(), own_txn, &part->mark, &part->number);
	part->outer = parts;
	parts = part;
	lock_part(part, true);
}

void
tsurugi_writer(EState *estate, tg_claim claim, tg_writer *writer_out)
{
	SubTransactionId id = GetCurrentSubTransactionId();

	if (tg_unlikely(prepared))
		tsurugi_check_not_prepared();
	if (own_txn == NULL)
	{
		tsurugi_access();
		tsurugi_check_may_write();
		(void) tsurugi_transaction_open();
	}
	else if (tg_unlikely(++writes_noted >= SAFE_POINT_WRITES || tsurugi_session()->claimed != claimed_noted))
		pass_safe_point(tsurugi_session());
	if (tg_unlikely(is_shared))
		tsurugi_check_may_write();
	if (id != TopSubTransactionId && (parts == NULL || parts->id != id))
		begin_part(id);
	writer_out->session = tsurugi_session();
	writer_out->txn = own_txn;
	/* COPY's executor state has neither a snapshot nor a command. */
	writer_out->command =
		estate != NULL && estate->es_snapshot != NULL ? estate->es_output_cid : GetCurrentCommandId(true);
	writer_out->command += tsurugi_shared_first_command;
	writer_out->subtxn = parts == NULL ? 0 : parts->number;
	writer_out->claim = claim;
	writer_out->hidden = NULL;
	writer_out->probes = false;
	writer_out->piece = NULL;
	writer_out->lender = NULL;
}

bool
tsurugi_lend(EState *estate, tg_table *table, tg_writer *writer_out)
{
	tsurugi_transaction_before_values();
	tsurugi_writer(estate, TG_DATA, writer_out);
	return tg_txn_may_lend(writer_out, table);
}

unsigned
tsurugi_transaction_number(void)
{
	if (tg_unlikely(is_shared))
		return tsurugi_shared_number();
	return tg_unlikely(IsParallelWorker()) ? tsurugi_parallel_number() : tsurugi_session()->id;
}

unsigned
tsurugi_transaction_waiting_number(void)
{
	return tg_unlikely(tsurugi_shared_load_waits()) ? tsurugi_shared_load_number() : tsurugi_transaction_number();
}

bool
tsurugi_has_written(void)
{
	return own_txn != NULL && tg_txn_write_count(own_txn) > 0;
}

bool
tsurugi_transaction_targets(tg_target *targets_out, unsigned *count_out)
{
	*count_out = 0;
	return own_txn == NULL || tg_txn_targets(own_txn, targets_out, count_out);
}

uint32_t
tsurugi_transaction_lock_count(void)
{
	return own_txn != NULL ? tg_txn_lock_count(own_txn) : 0;
}

/* --- waiting --------------------------------------------------------------------- */

typedef struct Waiting
{
	const tg_wait *wait;
	Relation relation;
	tsurugi_purpose purpose;
	uint32_t row;
} Waiting;

static void
describe_wait(void *argument)
{
	const Waiting *waiting = argument;
	const char *name = RelationGetRelationName(waiting->relation);

	switch (waiting->purpose)
	{
		case TSURUGI_TO_INSERT:
			errcontext("while inserting row in relation \"%s\"", name);
			break;
		case TSURUGI_TO_UPDATE:
			errcontext("while updating row in relation \"%s\"", name);
			break;
		case TSURUGI_TO_DELETE:
			errcontext("while deleting row in relation \"%s\"", name);
			break;
		case TSURUGI_TO_LOCK:
			errcontext("while locking row in relation \"%s\"", name);
			break;
	}
}

static void
wait_for_part(const tg_wait *wait)
{
	LOCKTAG tag = part_lock_tag(wait->host, wait->subtxn);

	(void) LockAcquire(&tag, ShareLock, false, false);
	(void) LockRelease(&tag, ShareLock, false);
}

static void
wait_for_transaction(const tg_wait *wait)
{
	if (tg_failpoint_refuses("skip_w6"))
		pg_usleep(1000); /* a wait that PostgreSQL does not know of */
	else
		(void) tsurugi_host_wait(wait->host, true);
}

static void
wait_for_holder(const tg_wait *wait, bool is_part)
{
	void (*wait_out)(const tg_wait *) = is_part ? wait_for_part : wait_for_transaction;

	if (wait->kind == TG_WAIT_PRESERVE)
		tsurugi_wait_for_long(wait);
	else if (!is_part && tg_wait_is_for_shared(wait))
		tsurugi_wait_for_shared(wait);
	else if (tg_unlikely(tsurugi_ladder_holds_locks()))
		tsurugi_ladder_wait(wait, wait_out);
	else
		wait_out(wait);
}

static const char *
describe_waiting(const void *argument)
{
	static const char *const purposes[] = {
		[TSURUGI_TO_UPDATE] = "updated", [TSURUGI_TO_DELETE] = "deleted", [TSURUGI_TO_LOCK] = "locked"};
	const Waiting *waiting = argument;
	const char *table = RelationGetRelationName(waiting->relation);
	const char *other = tsurugi_describe_other(waiting->wait->host);

	if (waiting->row == TG_ROW_MAX)
	{
		const char *index =
			get_rel_name(tsurugi_index_oid(tsurugi_relation_get(waiting->relation), waiting->wait->index));

		return psprintf("A row was to be inserted into foreign table \"%s\"%s once %s had ended.", table,
						index == NULL ? "" : psprintf(", with its key in \"%s\",", index), other);
	}
	return psprintf("%s of foreign table \"%s\" was to be %s once %s had ended.",
					tsurugi_describe_row(waiting->relation, waiting->row), table, purposes[waiting->purpose], other);
}

/*
 * Waits for the turn first, where there are other waiters; the transaction to be waited for after
 * that may have ended by that time.
 */
static void
wait_in_turn(const Waiting *waiting, bool is_part)
{
	const tg_wait *wait = waiting->wait;

	if (wait->queues)
		/*
		 * An UPDATE turns out to change the key only when it writes; a wait that conflicts with
		 * such an UPDATE alone does not queue.
		 */
		tsurugi_queue_enter(waiting->relation, wait,
							waiting->purpose == TSURUGI_TO_UPDATE ? TG_LOCK_NO_KEY_UPDATE : wait->mode);
	else
		tsurugi_queue_leave();
	wait_for_holder(wait, is_part);
}

void
tsurugi_wait(const tg_wait *wait, Relation relation, tsurugi_purpose purpose, uint32_t row)
{
	/*
	 * A part whose lock was free: if it still holds rows, they now belong to the whole transaction.
	 */
	static tg_wait over;
	bool is_part = wait->kind != TG_WAIT_PRESERVE && wait->subtxn != 0 && wait->subtxn < TG_SUBTXN_LAST &&
				   (wait->host != over.host || wait->subtxn != over.subtxn);
	Waiting waiting = {.wait = wait, .relation = relation, .purpose = purpose, .row = row};
	MemoryContext memory = CurrentMemoryContext;
	ErrorContextCallback context = {.callback = describe_wait, .arg = &waiting, .previous = error_context_stack};

	tg_assert(!tg_epoch_inside(tsurugi_session()));
	if (!tg_wait_is_for_shared(wait))
		pay_while_waiting(wait->host);
	error_context_stack = &context;
	tsurugi_shared_limit_wait();
	tg_wait_begin_of(tsurugi_transaction_waiting_number(), wait);
	PG_TRY();
	{
		wait_in_turn(&waiting, is_part);
	}
	PG_CATCH();
	{
		error_context_stack = context.previous;
		tsurugi_rethrow_wait(memory, describe_waiting, &waiting);
	}
	PG_END_TRY();
	if (is_part)
		over = *wait;
	tg_wait_end_of(tsurugi_transaction_waiting_number());
	tsurugi_shared_unlimit_wait();
	error_context_stack = context.previous;
	CHECK_FOR_INTERRUPTS();
}

void
tsurugi_wait_for_outcome(const tg_wait *wait)
{
	tg_assert(!tg_epoch_inside(tsurugi_session()));
	if (tg_wait_is_for_shared(wait))
		tsurugi_wait_for_shared(wait);
	else
		tsurugi_host_wait_for_outcome(wait->host);
	CHECK_FOR_INTERRUPTS();
}

/* --- ends ------------------------------------------------------------------------- */

/*
 * Called before the backend turns to its client, perhaps for long: other sessions may free what
 * this one has retired.  If there is no pool, sessions collect garbage themselves, somewhat more
 * than they have just made.
 */
static void
tidy_up(tg_session *session, uint64_t writes)
{
	if (tg_unlikely(!tg_scheduler_is_running()))
	{
		tg_epoch_advance();
		(void) tg_collector_run(session, (unsigned) Min(2 * writes + COLLECT_AT_LEAST, UINT_MAX));
	}
	tg_claims_end(session);
	if (tg_unlikely(tg_retire_count(session) > 0))
		tg_retire_abandon(session);
	tsurugi_session_go_away();
}

/* M1: everything that can fail; PostgreSQL may still fail after it. */
void
tsurugi_transaction_validate(void)
{
	bool has_written = own_txn != NULL && !is_shared && tg_txn_has_writes(own_txn);

	prepared = has_written || tsurugi_storage_is_changed();
	if (tsurugi_is_serializable() && (has_written || is_shared))
		tsurugi_prepared_learn();
	if (has_written && TransactionIdIsValid(GetTopTransactionIdIfAny()))
		tsurugi_mixed_begin(own_txn, GetTopTransactionId()); /* M2 */
	else if (has_written || is_shared)
		tsurugi_mixed_follow();
	if (tsurugi_is_serializable())
	{
		prepared = true;
		if (!is_shared)
			tsurugi_isolation_prepare(own_txn);
	}
	tg_failpoint("pre_commit");
	if (tg_failpoint_refuses("skip_m1") && own_txn != NULL && !is_shared)
	{
		tg_txn_commit(tsurugi_session(), own_txn);
		own_txn = NULL;
	}
}

/*
 * Whether what the transaction has done can be prepared.  Where changes are replicated (by an apply
 * worker), it would be ended without the statement, and so without LOGGING.
 */
static bool
may_be_prepared(void)
{
	return tsurugi_kind == TG_TXN_ORDINARY && !tsurugi_storage_is_changed() &&
		   !(IsLogicalWorker() && tg_prepared_is_logged(own_txn));
}

/* errdetail. */
static int
describe_refusal(void)
{
	if (tsurugi_kind == TG_TXN_LONG && !tsurugi_is_promoted)
		return 0;
	if (tsurugi_storage_is_changed())
		return errdetail("It has changed their definitions, or truncated one.");
	if (tsurugi_kind == TG_TXN_SHORT)
		return errdetail("It is a short transaction.");
	if (IsLogicalWorker())
		return errdetail("It is one of a logical replication worker.");
	return 0;
}

static void
take_prepared(TransactionId xid)
{
	tsurugi_prepared_take(xid);
	if (!tsurugi_logging_pre_prepare(own_txn))
		return;
	tsurugi_prepared_mark(xid);
	if (tsurugi_is_serializable() && tg_txn_has_writes(own_txn))
		tsurugi_prepared_mark_reads(xid, tsurugi_isolation_held());
}

/* Locks that only the ladder has taken are released. */
static bool
has_to_be_taken(void)
{
	return max_prepared_xacts > 0 && (tg_txn_has_writes(own_txn) || tg_txn_lock_count(own_txn) > 0) &&
		   !tsurugi_ladder_holds_no_others();
}

void
tsurugi_transaction_check_prepare(void)
{
	tsurugi_promotion_check("be prepared");
	if (!is_shared && may_be_prepared())
	{
		prepared = own_txn != NULL || tsurugi_is_serializable();
		if (tsurugi_is_serializable())
			tsurugi_isolation_hold(own_txn);
		if (own_txn != NULL && has_to_be_taken())
			take_prepared(GetTopTransactionId());
	}
	else if (own_txn != NULL || tsurugi_storage_is_changed())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 tsurugi_kind == TG_TXN_LONG && !tsurugi_is_promoted ? errmsg("cannot PREPARE a long transaction")
				 : tsurugi_has_written() || tsurugi_storage_is_changed()
					 ? errmsg("cannot PREPARE a transaction that has changed tables of tsurugi_fdw")
					 : errmsg("cannot PREPARE a transaction that has locked rows of tsurugi_fdw"),
				 describe_refusal()));
}

void
tsurugi_transaction_prepared(void)
{
	bool holds = own_txn != NULL && tg_txn_has_writes(own_txn);

	if (own_txn == NULL || is_shared || !tsurugi_prepared_move(own_txn))
		return;
	own_txn = NULL;
	if (holds)
		(void) tsurugi_isolation_give_reads(); /* the prepared transaction has them */
}

tg_txn *
tsurugi_transaction_to_commit(void)
{
	return is_shared ? NULL : own_txn;
}

bool
tsurugi_transaction_is_open(void)
{
	return own_txn != NULL;
}

void
tsurugi_transaction_end(bool committed)
{
	writes_ended = 0;
	if (is_shared)
		note_tax(tsurugi_session(), writes_noted, true);
	else if (own_txn != NULL)
	{
		writes_ended = tg_txn_write_count(own_txn);
		if (committed)
			tg_txn_commit(tsurugi_session(), own_txn);
		else
			tg_txn_abort(tsurugi_session(), own_txn);
		note_tax(tsurugi_session(), writes_noted, true);
	}
	own_txn = NULL;
	is_shared = false;
	parts = NULL;
	prepared = false;
	tsurugi_queue_end();
}

void
tsurugi_transaction_leave_session(bool committed)
{
	tsurugi_session_let_ranks_go();
	if (tsurugi_own_session == NULL)
		return;
	if (!committed)
		tg_wait_end(tsurugi_own_session); /* an error may have ended a wait */
	tidy_up(tsurugi_own_session, writes_ended);
}

static void
end_part(SubTransactionId parent, bool committed)
{
	Part *part = parts;

	if (!committed)
	{
		/* M5: exactly what the subtransaction wrote or locked */
		if (!tg_failpoint_refuses("skip_m5"))
			tg_txn_rollback_to(tsurugi_session(), own_txn, part->mark);
		parts = part->outer;
	}
	else if (parent == TopSubTransactionId || (part->outer != NULL && part->outer->id == parent))
	{
		lock_part(part, false);
		parts = part->outer;
	}
	else
		/* Its lock passes to the parent's resource owner. */
		part->id = parent;
}

void
tsurugi_transaction_end_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	if (!committed && tsurugi_own_session != NULL)
		tg_wait_end_of(tsurugi_transaction_number()); /* an error may have ended a wait */
	tsurugi_queue_end_part(id);
	if (parts != NULL && parts->id == id)
		end_part(parent, committed);
}
