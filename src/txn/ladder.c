/*
 * ladder.c
 *	  Serializable transactions that failed with 40001 and are tried again.
 *
 * Validation is optimistic: a transaction that reads rows which short transactions change all the
 * time may fail however often it is tried.  So the session remembers the causes for which its tries
 * have failed, and does more for each next try, at the expense of the transactions that compete
 * with it.
 *
 *	failed		the next try
 *	once		locks the row that was changed before it returns it (scan_retry.c)
 *	twice		is a LONG, which no other transaction's commit makes fail (promotion.c); not after a
 *				small try, for which the locks are enough
 *
 * 1. A try is a transaction at SERIALIZABLE that is none of Tsurugi's kinds, is not READ ONLY, has
 *	  accessed a table of ours and works in it alone.  It has failed if it ends by an error of 40001
 *	  that this extension has raised.  Failures are counted one after the other, until a try that
 *	  has written tables of ours commits.  Anything else that the session does in between, or any
 *	  other end of a try (an error, ROLLBACK, a cancel), changes nothing.  An error that is caught,
 *	  so that the transaction runs another statement, does not count either.  Nor does a failure
 *	  because of an area that a LONG preserves: the next try waits for the end of that LONG before
 *	  it reads anything, and then takes its snapshot (P5).  If it counted, a promoted transaction
 *	  would make others be promoted, and these still others; if it did not wait, it would fail at
 *	  the same place, again and again.
 * 2. P1.  A row that was changed by another transaction is remembered, by its number in its
 *	  table. A look-up by a whole key that finds it, or any other read of a place where it may
 *	  lie, locks it, as SELECT FOR NO KEY UPDATE would, or, if the failed try had only read it,
 *	  as FOR SHARE. The read waits if it has to, and then sees the row as it is, at an extended
 *	  snapshot (W5).  So tries that only read a row do not exclude each other.  If one of them
 *	  fails again because it was to write the row, the stronger lock is remembered.  The role
 *	  that the session acts as needs UPDATE on the table, or on a column of it, as for FOR
 *	  UPDATE.  A row is forgotten when a transaction has locked but not written it and commits,
 *	  after QUIET_LOCKS commits in a row in which no other transaction was in its way, or if
 *	  other rows need the place.
 * 3. P2.  Such a lock is taken earlier than the transaction's own writes would take it, so it could
 *	  make cycles of waits that did not exist without it.  A transaction that has written, or holds
 *	  other locks, does not wait for it.  While a transaction holds one, each wait of its own for a
 *	  row looks for cycles, at once and then twice in each deadlock_timeout, and so before
 *	  PostgreSQL's detector in the other sessions does; it gives way by failing with 40001.  It
 *	  would fail without the lock, too: the transactions in the cycle end before it does, and one of
 *	  them changes a row that it has read.  (A cycle that leads through locks of PostgreSQL's own is
 *	  found by PostgreSQL.)
 * 4. A remembered row is only a hint.  Its number may belong to another row by now: then that row
 *	  is locked, once, for nothing.
 */
#include "postgres.h"

#include "src/txn/ladder.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/txn/own.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/moment.h"
#include "src/txn/promotion.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

#define QUIET_LOCKS 16 /* commits after which a row that no other transaction wants is forgotten */

typedef struct Row
{
	Oid relation;
	uint32_t row;
	tg_lock_mode mode;
	unsigned quiet; /* commits in a row in which it was locked without contention */

	/* of the running transaction */
	tg_table *table;	   /* it was locked there; NULL: it was not */
	SubTransactionId part; /* in this part of it */
	bool is_counted;	   /* among locks_held */
	bool is_read;		   /* by a read that locks it if it can */
	bool contended;
} Row;

bool tsurugi_ladder_has_rows;

/* The last one remembered or locked is the first. */
static Row rows[TSURUGI_LADDER_ROWS_MAX];
static int row_count;

/* Of the running transaction. */
static bool failed;			/* with 40001, and the error has not been caught */
static Row beaten_by;		/* relation invalid: no row */
static uint64_t failed_by;	/* the LONG that preserved an area which the last try wanted; 0: none */
static uint32_t locks_held; /* row locks that it holds by P1, at most */

/* Rule 1, but for the access. */
bool
tsurugi_ladder_is_try(void)
{
	return IsolationIsSerializable() && !XactReadOnly && (tsurugi_kind == TG_TXN_ORDINARY || tsurugi_is_promoted) &&
		   tsurugi_transaction_type == TG_TXN_ORDINARY && !tsurugi_shared_is_open && !IsInParallelMode() &&
		   !IsParallelWorker();
}

/* --- remembering rows ---------------------------------------------------------------------- */

static void
forget_row(int i)
{
	row_count--;
	memmove(&rows[i], &rows[i + 1], (row_count - i) * sizeof(Row));
	tsurugi_ladder_has_rows = row_count > 0;
}

static int
find_row(Oid relation, uint32_t row)
{
	for (int i = 0; i < row_count; i++)
		if (rows[i].row == row && rows[i].relation == relation)
			return i;
	return -1;
}

/* Puts the row first, and drops the last one if there is no other place. */
static void
remember_row(Row row)
{
	int i = find_row(row.relation, row.row);

	if (i >= 0)
		row.mode = Max(row.mode, rows[i].mode);
	else
		i = row_count < TSURUGI_LADDER_ROWS_MAX ? row_count++ : TSURUGI_LADDER_ROWS_MAX - 1;
	memmove(&rows[1], &rows[0], i * sizeof(Row));
	rows[0] = row;
	tsurugi_ladder_has_rows = true;
}

/* Whether the running transaction has written it, before it ends. */
static bool
is_written(const Row *row)
{
	tg_session *session = tsurugi_session();
	bool written;

	tg_epoch_enter(session);
	written = tg_row_is_by(row->table, row->row, tsurugi_transaction_number());
	tg_epoch_leave(session);
	return written;
}

/* Rule 2: the transaction that may have locked some of them has committed, or has failed. */
static void
settle_rows(bool committed)
{
	for (int i = row_count - 1; i >= 0; i--)
	{
		Row *row = &rows[i];
		const bool was_locked = row->table != NULL;

		if (was_locked && committed)
		{
			row->quiet = row->contended ? 0 : row->quiet + 1;
			if (row->quiet == QUIET_LOCKS || !is_written(row))
			{
				forget_row(i);
				continue;
			}
		}
		row->table = NULL;
		row->is_counted = row->is_read = row->contended = false;
	}
}

/* --- locking them --------------------------------------------------------------------------- */

static bool
may_lock(Oid relation)
{
	return !tg_failpoint_refuses("skip_p1") &&
		   (pg_class_aclcheck(relation, GetOuterUserId(), ACL_UPDATE) == ACLCHECK_OK ||
			pg_attribute_aclcheck_all(relation, GetOuterUserId(), ACL_UPDATE, ACLMASK_ANY) == ACLCHECK_OK);
}

bool
tsurugi_ladder_locks_rows_of(Oid relation)
{
	bool any = false;

	if (!tsurugi_tracks || !tsurugi_ladder_is_try())
		return false;
	for (int i = 0; i < row_count && !any; i++)
		any = rows[i].relation == relation;
	return any && may_lock(relation);
}

bool
tsurugi_ladder_has_locked(Oid relation)
{
	for (int i = 0; i < row_count; i++)
		if (rows[i].relation == relation && rows[i].table != NULL)
			return true;
	return false;
}

bool
tsurugi_ladder_remembers(Oid relation, uint32_t row, tg_lock_mode *mode_out)
{
	int i = find_row(relation, row);

	if (i < 0)
		return false;
	rows[i].is_read = true;
	*mode_out = rows[i].mode;
	return true;
}

int
tsurugi_ladder_rows_of(Oid relation, uint32_t rows_out[TSURUGI_LADDER_ROWS_MAX])
{
	int count = 0;

	for (int i = 0; i < row_count; i++)
		if (rows[i].relation == relation && rows[i].table == NULL)
			rows_out[count++] = rows[i].row;
	return count;
}

void
tsurugi_ladder_note_locked(Oid relation, tg_table *table, uint32_t row, bool contended, uint32_t locks_before)
{
	int i = find_row(relation, row);
	Row locked;

	tg_assert(i >= 0);
	locked = rows[i];
	if (tsurugi_transaction_lock_count() > locks_before)
	{
		locks_held++;
		locked.is_counted = true;
		tg_retry_note(TG_RETRY_LOCKED);
	}
	locked.table = table;
	locked.part = GetCurrentSubTransactionId();
	locked.contended |= contended;
	remember_row(locked);
}

bool
tsurugi_ladder_may_wait(void)
{
	return !TransactionIdIsValid(GetTopTransactionIdIfAny()) && !tsurugi_has_written() &&
		   tsurugi_transaction_lock_count() <= locks_held;
}

bool
tsurugi_ladder_holds_no_others(void)
{
	return locks_held > 0 && !tsurugi_has_written() && tsurugi_transaction_lock_count() <= locks_held;
}

bool
tsurugi_ladder_holds_locks(void)
{
	return locks_held > 0;
}

/* Rule 3. */
void
tsurugi_ladder_wait(const tg_wait *wait, void (*wait_out)(const tg_wait *))
{
	if (tg_failpoint_refuses("skip_p2"))
		wait_out(wait);
	else if (!tsurugi_wait_unless_circle(wait, Max(DeadlockTimeout / 2, 1), wait_out))
	{
		tg_retry_note(TG_RETRY_YIELDED);
		tsurugi_error_yielded(wait);
	}
}

/* --- failures ------------------------------------------------------------------------------- */

/*
 * Whether the next try may lock the row.  It will not if this one has read it, although it was
 * remembered, in a way that locks nothing.
 */
static bool
lock_helps(tsurugi_beaten_by by)
{
	int i = find_row(by.relation, by.row);

	return OidIsValid(by.relation) && may_lock(by.relation) && (i < 0 || rows[i].is_read);
}

const char *
tsurugi_ladder_note_failure(tsurugi_beaten_by by, Oid wanted)
{
	static const char *const usual = "The transaction might succeed if retried.";
	const char *promotion;

	if (!tsurugi_ladder_is_try())
		return usual;
	failed = true;
	beaten_by = (Row){.relation = by.relation, .row = by.row, .mode = by.mode};
	promotion = tsurugi_promotion_note_failure(wanted, lock_helps(by) &&
														   tsurugi_isolation_row_count() <= TSURUGI_LADDER_ROWS_MAX);
	if (promotion != NULL)
		return psprintf("%s %s", usual, promotion);
	if (!OidIsValid(beaten_by.relation))
		return usual;
	return psprintf("%s The next serializable transaction of this session locks the row when it reads it.", usual);
}

const char *
tsurugi_ladder_note_long(uint64_t host)
{
	if (!tsurugi_ladder_is_try())
		return "The transaction might succeed if retried.";
	failed_by = host;
	return "The transaction might succeed if retried. The next serializable transaction of this session waits for the "
		   "end of that one.";
}

/* Whether it still runs. */
static bool
find_long(uint64_t host, tg_wait *wait_out)
{
	for (unsigned number = 0; number < tg_session_max() + TG_SHARED_MAX; number++)
	{
		tg_txn_report report;

		if (!tg_txn_report_get(number, &report) || report.host != host || report.kind != TG_TXN_LONG)
			continue;
		*wait_out = (tg_wait){.host = host, .txn = number, .kind = TG_WAIT_PRESERVE};
		return true;
	}
	return false;
}

void
tsurugi_ladder_wait_for_long(void)
{
	uint64_t host = failed_by;
	tg_wait wait;

	if (likely(host == 0) || !tsurugi_ladder_is_try())
		return;
	failed_by = 0;
	if (tsurugi_moment_has_read_ordinary() || tsurugi_snapshot_is_fixed() || tsurugi_snapshot_is_imported() ||
		tg_failpoint_refuses("skip_p5") || !find_long(host, &wait))
		return;
	tsurugi_wait_for_long(&wait);
	if (!tsurugi_snapshot_redraw())
		tsurugi_error_too_late();
}

void
tsurugi_ladder_go_on(void)
{
	failed = false;
}

void
tsurugi_ladder_forget(void)
{
	row_count = 0;
	tsurugi_ladder_has_rows = false;
	failed_by = 0;
	tsurugi_promotion_succeeded();
}

void
tsurugi_ladder_end(bool committed)
{
	if (row_count > 0)
		settle_rows(committed);
	if (failed && !committed)
	{
		if (OidIsValid(beaten_by.relation))
			remember_row(beaten_by);
		tsurugi_promotion_failed();
	}
	else if (committed && (tsurugi_is_promoted || (tsurugi_ladder_is_try() && tsurugi_has_written())))
		tsurugi_promotion_succeeded();
	tsurugi_promotion_end(committed);
	failed = false;
	locks_held = 0;
}

void
tsurugi_ladder_end_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	for (int i = 0; i < row_count; i++)
	{
		Row *row = &rows[i];

		if (row->table == NULL || row->part != id)
			continue;
		if (committed)
		{
			row->part = parent;
			continue;
		}
		/* Its lock is gone, and perhaps the table, which the part may have made. */
		locks_held -= row->is_counted;
		row->table = NULL;
		row->is_counted = false;
	}
}
