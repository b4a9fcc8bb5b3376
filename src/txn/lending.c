/*
 * lending.c
 *	  Snapshots at which other sessions may read, as long as the lender's transaction runs.
 *
 *	lender		R, published; loan in the list ................ loan removed; entry withdrawn
 *	borrower		finds the loan, adopts R in its own entry; reads ......
 *
 * 1. (M3) The lender publishes a loan's time in an entry that does not move when the transaction's
 *	  entry does.  The borrower adopts it (horizon.c, 12) under the lock under which the loan is
 *	  removed.  So the horizon always has one of the two entries; after the adoption the lender may
 *	  go.
 * 2. The exclusions at R are part of the loan, because the ring of mixed commits may have forgotten
 *	  them (mixed.c, 6).
 */
#include "postgres.h"

#include "src/txn/lending.h"

#include "access/xact.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/reads.h"
#include "src/base/session.h"

/* In PostgreSQL's shared memory. */
typedef struct Loans
{
	LWLock lock;
	tsurugi_loan *first; /* guarded by the lock */
} Loans;

static Loans *loans;

Size
tsurugi_lending_shared_bytes(void)
{
	return sizeof(Loans);
}

void
tsurugi_lending_shared_create(void)
{
	static int tranche; /* child processes inherit its name */
	bool there;

	loans = ShmemInitStruct("tsurugi_fdw lent snapshots", sizeof(Loans), &there);
	loans->first = NULL;
	tranche = tranche != 0 ? tranche : LWLockNewTrancheId();
	LWLockRegisterTranche(tranche, "tsurugi_fdw lent snapshots");
	LWLockInitialize(&loans->lock, tranche);
}

uint64
tsurugi_own_host(void)
{
	return (uint64) MyProc->backendId << 32 | MyProc->lxid;
}

/* --- lending ----------------------------------------------------------------------------- */

tg_time
tsurugi_loan_bound(tg_time time, const tg_exclusions *excluded)
{
	for (unsigned i = 0; excluded != NULL && i < excluded->count; i++)
		time = Min(time, excluded->time[i] - 1);
	return time;
}

void
tsurugi_loan_publish(tsurugi_loan *loan, tg_time time, const tg_exclusions *excluded, bool from)
{
	loan->time = time;
	loan->from = from || excluded != NULL;
	loan->published = tsurugi_loan_bound(time, excluded);
	tg_snapshot_adopt(tsurugi_session(), loan->published, loan->from, &loan->entry);
}

tsurugi_loan *
tsurugi_loan_enter(const tsurugi_loan *loan, const tg_exclusions *excluded)
{
	unsigned count = excluded != NULL && !tg_failpoint_refuses("export_no_exclusions") ? excluded->count : 0;
	tsurugi_loan *made = tg_alloc(tsurugi_session(), sizeof(*made) + count * sizeof(tg_time), TG_USE_RUNTIME, TG_DATA);

	if (made == NULL)
	{
		tg_snapshot_withdraw(tsurugi_session(), loan->entry);
		return NULL;
	}
	*made = *loan;
	made->host = tsurugi_own_host();
	made->excluded.count = count;
	if (count > 0)
		memcpy(made->excluded.time, excluded->time, count * sizeof(tg_time));
	LWLockAcquire(&loans->lock, LW_EXCLUSIVE);
	made->next = loans->first;
	loans->first = made;
	LWLockRelease(&loans->lock);
	return made;
}

/* Rule 1: the loans are removed before their entries. */
void
tsurugi_loan_withdraw(uint64 host, int first, int last)
{
	tg_session *session = tsurugi_session();
	tsurugi_loan *own = NULL;

	LWLockAcquire(&loans->lock, LW_EXCLUSIVE);
	for (tsurugi_loan **link = &loans->first; *link != NULL;)
	{
		tsurugi_loan *loan = *link;

		if (loan->host != host || loan->number < first || loan->number > last)
		{
			link = &loan->next;
			continue;
		}
		*link = loan->next;
		loan->next = own;
		own = loan;
	}
	LWLockRelease(&loans->lock);
	while (own != NULL)
	{
		tsurugi_loan *loan = own;

		own = loan->next;
		if (loan->reads != NULL)
			tg_reads_destroy(session, loan->reads);
		tg_snapshot_withdraw(session, loan->entry);
		tg_free(session, loan, TG_USE_RUNTIME);
	}
}

/* --- borrowing --------------------------------------------------------------------------- */

/* The caller holds the lock. */
static tsurugi_loan *
find_loan(uint64 host, int number)
{
	tsurugi_loan *loan = loans->first;

	while (loan != NULL && (loan->host != host || loan->number != number))
		loan = loan->next;
	return loan;
}

static const tg_exclusions *
copy_exclusions(const tg_exclusions *excluded)
{
	size_t bytes = sizeof(tg_exclusions) + excluded->count * sizeof(tg_time);

	return excluded->count == 0 ? NULL : memcpy(MemoryContextAlloc(TopTransactionContext, bytes), excluded, bytes);
}

bool
tsurugi_loan_take(uint64 host, int number, tsurugi_loan *copy_out, const tg_exclusions **excluded_out,
				  unsigned *entry_out)
{
	tg_session *session = tsurugi_session(); /* not under the lock */
	tsurugi_loan *loan;

	LWLockAcquire(&loans->lock, LW_EXCLUSIVE);
	loan = find_loan(host, number);
	if (loan != NULL)
	{
		*excluded_out = copy_exclusions(&loan->excluded);
		tg_snapshot_adopt(session, loan->published, loan->from, entry_out);
		loan->is_used = true;
		*copy_out = *loan;
	}
	LWLockRelease(&loans->lock);
	return loan != NULL;
}

/* --- notes of reads ------------------------------------------------------------------------ */

void
tsurugi_loan_give_reads(uint64 host, int number, tg_reads *reads)
{
	tg_session *session = tsurugi_session();
	tsurugi_loan *loan;

	LWLockAcquire(&loans->lock, LW_EXCLUSIVE);
	loan = find_loan(host, number);
	if (loan == NULL)
		tg_reads_destroy(session, reads);
	else if (loan->reads == NULL)
		loan->reads = reads;
	else
		tg_reads_merge(session, loan->reads, reads);
	LWLockRelease(&loans->lock);
}

tg_reads *
tsurugi_loan_take_reads(tsurugi_loan *loan)
{
	tg_reads *reads;

	LWLockAcquire(&loans->lock, LW_EXCLUSIVE);
	reads = loan->reads;
	loan->reads = NULL;
	LWLockRelease(&loans->lock);
	return reads;
}
