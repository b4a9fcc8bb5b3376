/*
 * shared_load.c
 *	  Loads into a shared transaction by its handle, several at once.
 *
 *	a session		load(..., handle => h) -> its tasks insert ------> COMMIT: they are taken
 *	another one		   load(..., handle => h) -> its tasks insert -> an error: they are undone
 *
 * A load by a handle is a part of the session's transaction as any statement is, in what concerns
 * its rollback, and its rows are the shared transaction's.  They are in a loan (txn/loan.h), by
 * which they can be undone by themselves, beside those of other loads, until the session's
 * transaction ends.
 *
 * 1. Turns (shared_transaction.c, 1).  Loads have the turn together, in ShareLock.  Whoever works
 *	  in the shared transaction otherwise has it alone, so it sees a load as a whole, or not at all,
 *	  and meets none of its rows before they are taken.  A load keeps the turn until the end of its
 *	  transaction: until then its rows may be undone.  It reads nothing, so no snapshot and no
 *	  command of its own transaction has to do with the shared one.
 * 2. Its end.  When the session's transaction commits, its loans are taken; that cannot fail.
 *	  After an error, ROLLBACK, or ROLLBACK TO, or when the session goes, those of that part are
 *	  undone, and the shared transaction goes on; no other session has built on them (1).
 * 3. Alone.  A row that a task cannot store at once may be in the way for a while only: it is
 *	  another load's, which may be undone, or another transaction's.  So the load is undone, and
 *	  done once more alone: whatever is in the way then is there to stay, or is waited for.  To be
 *	  alone it waits without the turn, if it has no loan, so that two that do so do not wait for
 *	  each other; the first loads alone, then the second.  If it has loans, of earlier loads of its
 *	  transaction, it keeps the turn, and PostgreSQL finds the deadlock of two such (40P01).
 * 4. Waits for other transactions, as long as it is alone, are waits of the shared one, as those of
 *	  an attached session, with the same limit (shared_transaction.c, 5).  Loads that have the turn
 *	  together wait for nobody but for the turn.
 * 5. It holds the shared transaction as a user from its first load on.  So that is not committed
 *	  meanwhile, and an abort waits; the abort of an owner that goes, or by an administrator, takes
 *	  the loans along, and tasks and COMMIT find that (25P02).
 * 6. Levels.  Insertions need no snapshot; but above READ COMMITTED the shared transaction gets its
 *	  own at its first access, so it does here.  A load is of no kind but an ordinary one: a LONG's
 *	  rows are each asked about, a SHORT's conflicts are noted in the transaction.
 */
#include "postgres.h"

#include "src/txn/shared_load.h"

#include "access/xact.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "runtime/reclaim/horizon.h"
#include "runtime/table/limits.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/wait.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/txn/lease_locks.h"
#include "src/txn/row_queue.h"
#include "src/txn/shared_refusal.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/transaction.h"

/* One that is kept. */
typedef struct Kept
{
	struct Kept *next;
	tg_loan *loan;
	SubTransactionId part;
} Kept;

/* Of the running transaction. */
static tg_shared *into; /* open; NULL: it loads into none */
static tg_shared_report constant;
static bool holds;			   /* is a user */
static LOCKMODE turn = NoLock; /* 1: NoLock, ShareLock or ExclusiveLock */
static bool waits;			   /* 4 */
static tg_loan *running;	   /* that its tasks use; NULL: none */
static SubTransactionId part_of_running;
static Kept *kept; /* newest first, in TopTransactionContext */

/* --- beginning -------------------------------------------------------------------------------- */

static void
check_may_load(Relation relation)
{
	if (constant.kind != TG_TXN_ORDINARY)
		tsurugi_shared_refuse(TSURUGI_SHARED_LOADED_OTHER_KIND, "");
	tsurugi_shared_check_running(into);
	if (!tg_shared_may_write(into, RelationGetRelid(relation)))
		tsurugi_shared_error_table(relation);
}

void
tsurugi_shared_load_open(const text *handle, Relation relation)
{
	tg_shared *opened;

	if (tsurugi_shared_is_open)
		tsurugi_shared_refuse(TSURUGI_SHARED_ALREADY, "");
	(void) tsurugi_session(); /* it may wait, or fail */
	opened = tsurugi_shared_open_handle(handle);
	if (into != NULL)
	{
		tg_shared_close(opened); /* the transaction has it open */
		if (opened != into)
			tsurugi_shared_refuse(TSURUGI_SHARED_LOADS_INTO_ANOTHER, "");
	}
	into = opened;
	tg_shared_report_get(into, &constant);
	check_may_load(relation);
}

static void
take_turn(LOCKMODE mode)
{
	tsurugi_shared_take_turn(constant.txn, mode);
	turn = mode;
}

/* 6 */
static void
draw(void)
{
	unsigned entry;
	tg_time time;

	if (constant.isolation == TG_READ_COMMITTED)
		return;
	tsurugi_check(tg_shared_draw(tsurugi_session(), into, &time, &entry), NULL);
	tg_snapshot_withdraw(tsurugi_session(), entry);
}

tg_status
tsurugi_shared_load_begin(tg_table *table, unsigned tasks, tg_loan **loan_out, tg_wait *wait_out)
{
	tg_status status;

	Assert(running == NULL);
	if (turn == NoLock)
		take_turn(ShareLock);
	if (!holds && tg_shared_hold(into) != TG_OK)
		tsurugi_shared_check_running(into);
	holds = true;
	draw();
	tsurugi_transaction_before_values();
	status = tg_loan_begin(tsurugi_session(), into, table, NULL, tasks, loan_out, wait_out);
	if (status == TG_STOPPED)
		tsurugi_shared_check_running(into);
	if (status == TG_OK)
	{
		running = *loan_out;
		part_of_running = GetCurrentSubTransactionId();
	}
	return status;
}

/* --- ends of loans ---------------------------------------------------------------------------- */

void
tsurugi_shared_load_undo(tg_loan *loan)
{
	Assert(running == loan);
	running = NULL;
	(void) tg_loan_end(tsurugi_session(), loan, false);
}

void
tsurugi_shared_load_keep(tg_loan *loan)
{
	Kept *one = MemoryContextAlloc(TopTransactionContext, sizeof(*one)); /* an error undoes it */

	Assert(running == loan);
	*one = (Kept){.next = kept, .loan = loan, .part = GetCurrentSubTransactionId()};
	kept = one;
	running = NULL;
}

/* Those of a part of the transaction, or all: InvalidSubTransactionId. */
static void
end_loans(SubTransactionId part, bool keeps)
{
	Kept **link = &kept;

	while (*link != NULL)
	{
		Kept *one = *link;

		if (part != InvalidSubTransactionId && one->part != part)
		{
			link = &one->next;
			continue;
		}
		*link = one->next;
		(void) tg_loan_end(tsurugi_session(), one->loan, keeps);
	}
}

/* --- being alone ------------------------------------------------------------------------------ */

bool
tsurugi_shared_load_be_alone(void)
{
	Assert(running == NULL && turn != NoLock);
	if (turn == ExclusiveLock)
		return false;
	if (kept == NULL) /* 3 */
	{
		tsurugi_shared_give_turn(constant.txn, turn);
		turn = NoLock;
	}
	take_turn(ExclusiveLock);
	return true;
}

static void
end_wait(void)
{
	if (waits)
		tg_wait_end_of(constant.txn);
	tsurugi_shared_unlimit_wait();
	waits = false;
}

/* 4 */
void
tsurugi_shared_load_wait(const tg_wait *wait, Relation relation)
{
	Assert(turn == ExclusiveLock && running == NULL);
	waits = true;
	tsurugi_wait(wait, relation, TSURUGI_TO_INSERT, TG_ROW_MAX);
	tsurugi_queue_leave();
	end_wait();
}

bool
tsurugi_shared_load_waits(void)
{
	return waits;
}

unsigned
tsurugi_shared_load_number(void)
{
	return constant.txn;
}

void
tsurugi_shared_load_check_alive(void)
{
	tsurugi_shared_check_running(into);
}

/* --- ends ------------------------------------------------------------------------------------- */

bool
tsurugi_shared_load_is_open(void)
{
	return into != NULL;
}

void
tsurugi_shared_load_check_prepare(void)
{
	if (into != NULL)
		tsurugi_shared_refuse(TSURUGI_SHARED_LOADED_PREPARED, "");
}

void
tsurugi_shared_load_validate(void)
{
	if (kept != NULL)
		tsurugi_shared_check_running(into);
}

static void
undo_running(void)
{
	if (running != NULL)
		tsurugi_shared_load_undo(running);
}

void
tsurugi_shared_load_end(bool committed)
{
	if (into == NULL)
		return;
	end_wait(); /* an error may have interrupted one */
	undo_running();
	end_loans(InvalidSubTransactionId, committed);
	if (holds)
		tg_shared_let_go(tsurugi_session(), into);
	tg_shared_close(into);
	tsurugi_lease_locks_look();
	into = NULL;
	holds = false;
	turn = NoLock; /* PostgreSQL releases it */
}

void
tsurugi_shared_load_end_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	if (into == NULL)
		return;
	if (committed)
	{
		for (Kept *one = kept; one != NULL; one = one->next)
			if (one->part == id)
				one->part = parent;
		return;
	}
	end_wait();
	if (id == part_of_running)
		undo_running(); /* its tasks have been given up before (load_running.c) */
	end_loans(id, false);
}
