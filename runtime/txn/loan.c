/*
 * loan.c
 *	  Shared transactions that several sessions lend to tasks at once.
 *
 *	session A	begin ------------------------------> end: taken, or undone
 *	  tasks		   enter, insert_apart ..., leave
 *	session B	   begin --------------------------------------> end
 *	  tasks				   enter, insert_apart ..., leave
 *	owner														  abort: calls in all loans
 *
 * piece.c says why tasks of one session may insert at once.  What is different if several sessions
 * have tasks in one transaction, of which each ends by itself:
 *
 * 1. While there is a loan, nobody writes in the transaction but tasks of loans, and nobody reads
 *	  what it has written.  The host sees to that by the turn: lenders have it together, and anybody
 *	  else alone (src/txn/shared_load.c).  So no mark is set or rolled back to meanwhile, nothing of
 *	  a piece is changed or deleted before it is taken, and all rows of a loan have one command
 *	  number: any that is above those of earlier turns, and below those of later ones.  A session
 *	  that has the turn alone may lend, too, in the middle of it: then the rows are of the command
 *	  and the subtransaction that it is at, and it ends the loan before it does anything else.
 * 2. A loan is undone by itself: its pieces come to the log only then, and go at once (3), so
 *	  nothing that others have written lies above them.  A row of one loan is live for the tasks of
 *	  another one, as for those of its own, so these get TG_EXISTS, and no two loans write one row:
 *	  to that extent pieces of several loans are like pieces of one (piece.c, 3).  A task that meets
 *	  a row while it is undone finds it as an inserter of another transaction would (txn.c): live;
 *	  or its row closed, or dead, with the key free.  So a lender that is told TG_EXISTS knows no
 *	  more than that the row was there: it may be undone.  To know, it waits until there is no other
 *	  loan.
 * 3. The list of loans, and what is taken from them or undone, is under the lane.  A task never
 *	  enters the lane: W0 was asked for the whole table when the loan began (piece.c, 5), and
 *	  whether the transaction has ended is said by the loan.
 * 4. The transaction is committed by its only user, so there is no loan any more: a lender holds it
 *	  until its loan has ended.  An abort waits for users, too, but for that of an owner that goes
 *	  (shared.c, 5).  That one calls in the loans: it ends them, and takes all pieces into the log
 *	  that it then undoes.  The lenders find that, and have nothing to undo.
 * 5. A lender ends its loan when its tasks have ended.  Whoever calls it in cannot wait for that: a
 *	  task counts itself in, and then looks whether the loan is over; the other one says so, and
 *	  then looks at the count until that is 0.  Between the two steps of either stands a full fence,
 *	  so one of them sees the other: a task that goes on is waited for.  Its leave is a release, and
 *	  the last look at the count an acquire: all that it has written is seen.  It writes a bounded
 *	  number of rows, and then looks again, so the wait is short, and no task needs the lane (3), or
 *	  the host, to go on.
 * 6. W0: a registration stays while the transaction may write the table.  A writer that has to wait
 *	  takes those back of tables that are not in the log, where pieces that are not taken are
 *	  missing.  So nothing is taken back while there is a loan: the wait is not for now (TG_BUSY of
 *	  tg_loan_begin), but for when the lender is alone.
 * 7. R5: what a task meets is noted for the lender, which answers, and not for the session that has
 *	  begun the transaction, which may be gone.
 * 8. At SERIALIZABLE what is undone stays noted as read, unlike in piece.c, 4: the lender may have
 *	  been told that its keys were absent, long before.
 *
 * test/explore/explore_loan.c tries every schedule of tasks, lenders and an owner that goes.
 */
#include "runtime/txn/loan.h"

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/txn/shared_internal.h"

/* One for each task. */
typedef struct lot
{
	tg_piece piece;
} TG_CACHE_ALIGNED lot;

struct tg_loan
{
	/* any thread */
	uint32_t inside TG_CACHE_ALIGNED; /* atomic: tasks that write */
	uint32_t is_over;				  /* atomic */

	/* under the lane */
	tg_loan *next;
	bool is_called_in; /* 4 */

	/* constant */
	const tg_session *lender;
	tg_shared *shared;
	uint32_t command;
	unsigned subtxn;
	unsigned count;

	lot lots[];
};

/* --- tasks ------------------------------------------------------------------------------------ */

void
tg_loan_writer(const tg_loan *loan, tg_writer *writer_out)
{
	*writer_out =
		(tg_writer){.txn = loan->shared->txn, .command = loan->command, .subtxn = loan->subtxn, .lender = loan->lender};
}

tg_piece *
tg_loan_piece(tg_loan *loan, unsigned number)
{
	tg_assert(number < loan->count);
	return &loan->lots[number].piece;
}

/* 5 */
bool
tg_loan_enter(tg_loan *loan)
{
	tg_fetch_add_relaxed(&loan->inside, 1);
	tg_fence_seq_cst();
	if (!tg_loan_is_over(loan))
		return true;
	tg_loan_leave(loan);
	return false;
}

void
tg_loan_leave(tg_loan *loan)
{
	tg_fetch_add_acq_rel(&loan->inside, (uint32_t) -1);
}

bool
tg_loan_is_over(const tg_loan *loan)
{
	return tg_load_relaxed(&loan->is_over) != 0;
}

/* 5 */
static void
wait_for_tasks(tg_loan *loan)
{
	unsigned round = 0;

	tg_store_then_fence(&loan->is_over, 1);
	while (tg_load_acquire(&loan->inside) != 0)
		tg_spin(&round);
}

/* --- sessions --------------------------------------------------------------------------------- */

/* 3 */
static tg_status
judge(tg_session *session, tg_shared *shared, tg_table *table, tg_wait *wait_out)
{
	const tg_writer writer = {.session = session, .txn = shared->txn, .claim = TG_DATA};
	tg_status status = tg_shared_judge(shared, table);

	if (status != TG_OK)
		return status;
	if (shared->kind != TG_TXN_ORDINARY)
		return TG_UNFIT;
	tg_epoch_enter(session);
	status = tg_txn_mind_table(&writer, table, wait_out);
	tg_epoch_leave(session);
	return status;
}

tg_status
tg_loan_begin(tg_session *session, tg_shared *shared, tg_table *table, const tg_writer *within, unsigned piece_count,
			  tg_loan **loan_out, tg_wait *wait_out)
{
	tg_loan *loan = tg_alloc_zeroed(session, sizeof(*loan) + piece_count * sizeof(lot), TG_USE_LOG, TG_DATA);
	tg_status status;
	bool entered;

	if (loan == NULL)
		return TG_NO_MEMORY;
	loan->lender = session;
	loan->shared = shared;
	loan->count = piece_count;
	entered = tg_txn_enter(session, shared->txn);
	status = judge(session, shared, table, wait_out);
	if (status == TG_OK)
	{
		loan->command = within != NULL ? within->command : shared->command;
		loan->subtxn = within != NULL ? within->subtxn : 0;
		loan->next = shared->txn->loans;
		shared->txn->loans = loan;
	}
	tg_txn_leave(session, shared->txn, entered);
	if (status != TG_OK)
		tg_free(session, loan, TG_USE_LOG);
	else
		*loan_out = loan;
	return status;
}

uint64_t
tg_loan_rows(const tg_loan *loan)
{
	uint64_t rows = 0;

	for (unsigned i = 0; i < loan->count; i++)
		rows += loan->lots[i].piece.writes;
	return rows;
}

static void
take(tg_session *session, tg_loan *loan)
{
	for (unsigned i = 0; i < loan->count; i++)
	{
		tg_piece *piece = &loan->lots[i].piece;

		tg_txn_take_pieces(session, loan->shared->txn, &piece, 1);
	}
}

/* 2, 8 */
static void
undo(tg_session *session, tg_loan *loan)
{
	tg_txn *txn = loan->shared->txn;
	tg_txn_mark mark = {.log = tg_write_log_mark(txn->log), .locks = txn->lock_count};

	take(session, loan);
	tg_txn_rollback_to(session, txn, mark);
}

static void
unlink_loan(tg_loan *loan)
{
	tg_loan **link = &loan->shared->txn->loans;

	while (*link != loan)
		link = &(*link)->next;
	*link = loan->next;
}

bool
tg_loan_end(tg_session *session, tg_loan *loan, bool keeps)
{
	tg_shared *shared = loan->shared;
	bool entered;
	bool ended;

	entered = tg_txn_enter(session, shared->txn);
	ended = loan->is_called_in;
	if (!ended)
	{
		unlink_loan(loan);
		if (keeps)
			take(session, loan);
		else
			undo(session, loan);
		if (shared->command <= loan->command)
			shared->command = loan->command + 1; /* 1 */
	}
	tg_txn_leave(session, shared->txn, entered);
	tg_free(session, loan, TG_USE_LOG);
	return !ended;
}

/* 4 */
void
tg_loans_call_in(tg_session *session, tg_txn *txn)
{
	while (txn->loans != NULL)
	{
		tg_loan *loan = txn->loans;

		wait_for_tasks(loan);
		take(session, loan);
		loan->is_called_in = true;
		txn->loans = loan->next;
	}
}
