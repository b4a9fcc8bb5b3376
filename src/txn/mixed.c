/*
 * mixed.c
 *	  Commits of transactions that wrote foreign and ordinary tables, seen as a whole.
 *
 * Such a transaction, a mixed one, becomes visible twice: in ordinary tables at PostgreSQL's own
 * moment h, in foreign tables when it is COMMITTED(C) in the engine.
 *
 *	PRE_COMMIT				PostgreSQL's commit					COMMIT callback
 *	open: C, PREPARED(C)	record, flush, h: heap rows seen	ended: E = clock, then COMMITTED(C)
 *
 * A statement has PostgreSQL's snapshot H and reads foreign tables at R, which is loaded from the
 * clock after H was taken.  At no isolation level may it see one half alone, or anything that was
 * built on one half (M2).
 *
 * 1. H shows the ordinary half.  Then h was before H, C was drawn before h, and R is loaded after
 *	  H; so C <= R.  The foreign half is visible, or it is PREPARED for some instructions more, and
 *	  the reader waits at the row (V1).
 * 2. H does not show the ordinary half.  If C <= R, the commit is excluded from the snapshot.
 *	  Anything built on it in foreign tables came after COMMITTED(C) and so has a C > E; therefore R
 *	  is lowered to E.  If the commit has not ended when it is examined, anything built on it has a
 *	  C > R anyway.
 * 3. Nothing that H shows is lost by that: E is loaded after h, and h is after H; every commit that
 *	  H shows had drawn its C by then.
 * 4. R is loaded first; then the open and the ended commits are examined, all under one lock.  A
 *	  commit that is not found yet draws a C > R, because C is drawn under the lock.  The lock is
 *	  not taken if H shows everything up to the newest xid of a mixed commit.  That xid is stored
 *	  before C is drawn and loaded after R; all of these accesses are sequentially consistent.
 *
 * Ended commits are kept in a ring, in the order of E.  They are needed by statements that have
 * taken H and not R yet, which takes microseconds, and by SERIALIZABLE, whose snapshot may be
 * extended later with the same H (W5).  An entry has L, the newest xid that had completed when the
 * commit ended.  L grows along the ring, and the xmax of a snapshot taken later is above it.  This
 * tells how far back the ring must be searched for a snapshot.
 *
 * 5. The horizon respects C - 1 of all commits that are open or in the ring (tg_horizon_keep),
 *	  because a reader that excludes C reads the versions before it.  Such a reader then publishes
 *	  itself, under the lock, that it reads from C - 1 on.
 * 6. The horizon respects an entry for KEPT_MS.  A snapshot has this long, and RING commits, to get
 *	  its R; later it fails with 40001 if there was a mixed commit that it does not show.  Each end
 *	  of a transaction tests whether the time is over.  So does the background worker: otherwise, if
 *	  no transaction ended for hours, the horizon would be held back for hours.  An entry stays in
 *	  the ring, to be searched, until a newer xid has completed KEPT_MS ago: snapshots taken since
 *	  then are known to show it.
 * 7. An entry of the ring has the lowest C among its own and those of the commits that were open
 *	  when it ended.  A commit that ended later was either open then or drew its C afterwards.  So
 *	  the value of the oldest entry that is kept is the lowest of all.
 * 8. A transaction that has read the ordinary half of a commit which has not ended here could build
 *	  on it in foreign tables alone, and draw a C below that commit's E.  So a transaction that is
 *	  about to commit foreign rows waits in PRE_COMMIT until the mixed commits that PostgreSQL has
 *	  committed by then have ended, which takes microseconds.  It cannot have seen anything of the
 *	  commits that have not come to their h.
 *
 * A snapshot with exclusions is not a moment in the order of C.  So a SERIALIZABLE transaction with
 * such a snapshot is validated although it wrote nothing (isolation.c), and a scan with it is not
 * handed to the pool, because the exclusions are in this process's memory.
 *
 * An entry leaves the ring by age and number, not by the xmin that each process advertises: so no
 * processes are examined, and one old snapshot holds nothing up.  C is drawn under the lock of the
 * announcement, so that there is no announced commit without a C.
 *
 * test/unit/mixed_model.c models all of this as a program that tries every order of steps, with and
 * without each rule; mixed_follow_model.c models rules 10 to 12.
 *
 * 9. READ ONLY and LONG are not validated, so they need a moment in the order of C (M2a).  They get
 *	  one by a gate (moment.c): a lock that a mixed commit holds in share mode from before it draws
 *	  C until it has ended.
 *
 * 10. On a standby, the worker applies a mixed commit when redo has passed on PostgreSQL's record
 *	  of it, and before or after redo has made the ordinary half visible (durable/follower.c).  It
 *	  announces the commit in the same way.  Both of them take the commits in the order of the log.
 *	  So if H does not show a commit, it shows none of the later ones, and all that it shows has a
 *	  lower C.  Therefore R is C - 1 of the first commit that H does not show; nothing is excluded,
 *	  and E is not needed, nor is L: if H shows the last entry that has left the ring, it shows all
 *	  that have left it.  A snapshot that is taken after the promotion shows all of these commits.
 * 11. A reader waits until everything is applied that had been passed on when it took H.  That wait
 *	  may be long, so rule 6 does not suffice.  While the reader waits, it looks at each new entry
 *	  before that may be forgotten: the horizon and the ring respect what a waiting session has not
 *	  looked at, until it has its R.  If it finds a commit that H does not show, the wait ends,
 *	  because all that H shows has been applied by then.  It does not need what H shows; so what the
 *	  worker waits for is not held up, by these entries, by a session that waits for the worker.
 *	  When the ring is full of such entries, the worker waits.
 * 12. An entry of a standby is as old as its ordinary half: the snapshots that need it were taken
 *	  before that became visible.  So if the worker is far behind, the horizon does not respect the
 *	  entries for KEPT_MS each, which would keep the worker that far behind.
 *
 * Left out.  If another library assigns an xid in a PRE_COMMIT callback after this one, that is not
 * noticed.
 */
#include "postgres.h"

#include "src/txn/mixed.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/sched/park.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

#define RING 16384 /* at least; and more than there are sessions */
#define KEPT_MS 1000

typedef struct Commit
{
	TransactionId xid;
	unsigned session; /* while it is open */
	uint64 host;	  /* its virtual transaction */
	tg_time time;	  /* C */

	/* the rest is for a commit that has ended */
	tg_time bound;	  /* E */
	tg_time lowest;	  /* rule 7 */
	uint64 completed; /* L */
	uint64 ended_us;
} Commit;

/* In PostgreSQL's shared memory.  Guarded by the lock, except for the atomic fields. */
typedef struct Mixed
{
	LWLock lock;
	uint64 newest;	  /* atomic: the highest xid ever of a mixed commit; 0: there was none */
	uint64 due_us;	  /* atomic: when to look for old entries; 0: there are none */
	uint64 under_way; /* atomic: how many are open; for rule 8 */
	uint64 past;	  /* the newest xid that had completed at past_us */
	uint64 past_us;
	uint64 forgotten;		 /* L of the last entry that has left the ring, or 0 */
	uint64 waiting;			 /* atomic, 11: how many sessions wait for the worker */
	TransactionId left_last; /* 10: of the last entry that has left the ring */
	tg_time left;			 /* the highest C of the entries that have left the ring */
	tg_time last;			 /* the highest C of all commits that have ended */
	uint64 ended;			 /* number of commits that have ended, ever */
	uint64 listed;			 /* number of the first commit that is in the ring */
	uint64 kept;			 /* number of the first commit that the horizon respects */
	unsigned ring_size;
	unsigned open_count;
	Commit commits[]; /* the ring, then the open commits in no order */
} Mixed;

static Mixed *mixed;
static Commit *open_commits;

/*
 * 11.  By session: the number of the first entry that it has not looked at, plus 1; 0: it does not
 * wait.  The session writes it under the lock, shared.
 */
static uint64 *looked;
static bool waits; /* this session */

static bool is_open;   /* the current transaction is among them */
static bool is_closed; /* this session has closed the gate */

/* The commits that are found for a snapshot: room for all that there can be. */
static tg_time *found;

static unsigned
ring_size(void)
{
	unsigned sessions = tsurugi_session_max();

	return Max(RING, 2 * sessions);
}

Size
tsurugi_mixed_shared_bytes(void)
{
	Size bytes = add_size(sizeof(Mixed), mul_size(ring_size() + tsurugi_session_max(), sizeof(Commit)));

	return add_size(bytes, mul_size(tsurugi_session_max(), sizeof(*looked)));
}

void
tsurugi_mixed_shared_create(void)
{
	static int tranche; /* child processes inherit its name */
	bool there;

	mixed = ShmemInitStruct("tsurugi_fdw mixed commits", tsurugi_mixed_shared_bytes(), &there);
	memset(mixed, 0, tsurugi_mixed_shared_bytes());
	tranche = tranche != 0 ? tranche : LWLockNewTrancheId();
	LWLockRegisterTranche(tranche, "tsurugi_fdw mixed commits");
	LWLockInitialize(&mixed->lock, tranche);
	mixed->ring_size = ring_size();
	open_commits = mixed->commits + mixed->ring_size;
	looked = (uint64 *) (open_commits + tsurugi_session_max());
}

/* --- the ring ------------------------------------------------------------------------ */

static inline Commit *
ended_commit(uint64 number)
{
	return &mixed->commits[number % mixed->ring_size];
}

/*
 * The newest xid that has completed.  It is read without PostgreSQL's lock: it only grows, and any
 * later value is correct, too.
 */
static inline uint64
newest_completed(void)
{
	return tg_load_acquire((uint64 *) &ShmemVariableCache->latestCompletedXid.value);
}

/* An xid of the present, without wrap-around. */
static inline uint64
full(TransactionId xid)
{
	uint64 near = newest_completed();

	return near + (int32) (xid - (TransactionId) near);
}

static tg_time
lowest_open(tg_time time)
{
	for (unsigned i = 0; i < mixed->open_count; i++)
		time = Min(time, open_commits[i].time);
	return time;
}

static void
forget_oldest(void)
{
	const Commit *oldest = ended_commit(mixed->listed++);

	mixed->forgotten = oldest->completed;
	mixed->left_last = oldest->xid;
	mixed->left = Max(mixed->left, oldest->time);
	mixed->kept = Max(mixed->kept, mixed->listed);
}

/* 11: the number of the first entry that some waiting session has not looked at, or of the next. */
static uint64
first_not_looked_at(void)
{
	uint64 first = mixed->ended;

	if (tg_likely(tg_load_acquire(&mixed->waiting) == 0))
		return first;
	for (unsigned id = 0; id < tsurugi_session_max(); id++)
	{
		uint64 number = tg_load_acquire(&looked[id]);

		if (number != 0)
			first = Min(first, number - 1);
	}
	return first;
}

/* Rule 6. */
static void
forget_old(uint64 now_us)
{
	bool keeps = tg_failpoint_refuses("mixed_keep");
	uint64 end = first_not_looked_at();

	while (mixed->kept < end && !keeps &&
		   (tg_failpoint_refuses("mixed_forget") || now_us >= ended_commit(mixed->kept)->ended_us + KEPT_MS * 1000))
		mixed->kept++;
	if (now_us < mixed->past_us + KEPT_MS * 1000)
		return;
	while (mixed->listed < mixed->kept && ended_commit(mixed->listed)->completed < mixed->past)
		forget_oldest();
	mixed->past = newest_completed();
	mixed->past_us = now_us;
}

/* After every change. */
static void
note_change(uint64 now_us)
{
	tg_time lowest = TG_TIME_NEVER;

	if (mixed->kept < mixed->ended)
		lowest = ended_commit(mixed->kept)->lowest;
	else if (mixed->open_count > 0)
		lowest = lowest_open(TG_TIME_NEVER);
	tg_horizon_keep(lowest == TG_TIME_NEVER ? 0 : lowest - 1);
	tg_store_release(&mixed->under_way, mixed->open_count);
	tg_store_relaxed(&mixed->due_us, mixed->listed < mixed->ended ? now_us + KEPT_MS * 1000 : 0);
}

/* --- the gate ------------------------------------------------------------------------- */

/*
 * A heavyweight lock of PostgreSQL's: its waiters stand in a queue, the deadlock detector sees
 * them, and they can be interrupted.
 */
static LOCKTAG
gate_tag(void)
{
	return (LOCKTAG){.locktag_type = LOCKTAG_USERLOCK, .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
}

static void
lock_gate(LOCKMODE mode)
{
	ResourceOwner owner = CurrentResourceOwner;
	LOCKTAG tag = gate_tag();

	CurrentResourceOwner = TopTransactionResourceOwner;
	(void) LockAcquire(&tag, mode, false, false);
	CurrentResourceOwner = owner;
}

void
tsurugi_mixed_close(void)
{
	if (tg_failpoint_refuses("mixed_no_gate"))
		return;
	lock_gate(ExclusiveLock);
	is_closed = true;
	if (tg_failpoint_refuses("closed_error"))
		tsurugi_error(TG_NO_MEMORY, NULL);
}

void
tsurugi_mixed_open(void)
{
	ResourceOwner owner = CurrentResourceOwner;
	LOCKTAG tag = gate_tag();

	if (!is_closed)
		return;
	is_closed = false;
	CurrentResourceOwner = TopTransactionResourceOwner;
	(void) LockRelease(&tag, ExclusiveLock, false);
	CurrentResourceOwner = owner;
}

/* --- commits ------------------------------------------------------------------------- */

/* Announces a commit, and draws its C: snapshot is what it has read at, if that is validated. */
static void
announce(tg_session *session, tg_txn *txn, TransactionId xid, uint64 host, tg_time snapshot)
{
	uint64 now_us = tg_clock_us();
	Commit *commit;

	LWLockAcquire(&mixed->lock, LW_EXCLUSIVE);
	forget_old(now_us);
	/* Rules 4 and 5: both are visible before C is drawn. */
	if (full(xid) > mixed->newest)
		tg_store_seq_cst(&mixed->newest, full(xid));
	if (mixed->kept == mixed->ended && mixed->open_count == 0)
		tg_horizon_keep(tg_load_seq_cst(tg_clock));
	commit = &open_commits[mixed->open_count++];
	commit->xid = xid;
	commit->session = session->id;
	commit->host = host;
	commit->time = tg_txn_prepare(session, txn, snapshot);
	note_change(now_us);
	LWLockRelease(&mixed->lock);
}

void
tsurugi_mixed_begin(tg_txn *txn, TransactionId xid)
{
	lock_gate(ShareLock); /* until the transaction has ended */
	announce(tsurugi_session(), txn, xid, (uint64) MyBackendId << 32 | MyProc->lxid, tsurugi_snapshot_time());
	is_open = true;
}

bool
tsurugi_mixed_has_begun(void)
{
	return is_open;
}

/* A mixed commit that is committed in ordinary tables, or aborted, and has not ended here. */
static bool
find_half(tg_wait *wait_out)
{
	bool found = false;

	LWLockAcquire(&mixed->lock, LW_SHARED);
	for (unsigned i = 0; i < mixed->open_count && !found; i++)
	{
		found = !TransactionIdIsInProgress(open_commits[i].xid);
		*wait_out = (tg_wait){.host = open_commits[i].host, .kind = TG_WAIT_OUTCOME};
	}
	LWLockRelease(&mixed->lock);
	return found;
}

/*
 * Rule 8.  A transaction that has seen an ordinary half has seen the release of the lock under
 * which the commit was announced.  If no open commit is left here, E was loaded before under_way
 * was stored, so the C that is drawn next is above it.
 */
void
tsurugi_mixed_follow(void)
{
	tg_wait wait;

	while (tg_unlikely(tg_load_acquire(&mixed->under_way) > 0) && !tg_failpoint_refuses("mixed_no_follow") &&
		   find_half(&wait))
		tsurugi_wait_for_outcome(&wait);
}

/* Removes the entry of a session's transaction. */
static Commit
close_entry(unsigned session)
{
	unsigned i = 0;
	Commit own;

	while (open_commits[i].session != session)
		i++;
	own = open_commits[i];
	open_commits[i] = open_commits[--mixed->open_count];
	return own;
}

static void
add_to_ring(Commit own, uint64 completed, uint64 since_us)
{
	if (mixed->ended - mixed->listed == mixed->ring_size)
		forget_oldest();
	own.bound = tg_failpoint_refuses("mixed_no_bound") ? TG_TIME_NEVER : tg_load_seq_cst(tg_clock);
	own.lowest = lowest_open(own.time);
	own.completed = completed;
	own.ended_us = since_us;
	mixed->last = Max(mixed->last, own.time);
	*ended_commit(mixed->ended++) = own;
}

void
tsurugi_mixed_tidy(void)
{
	uint64 due_us = tg_load_relaxed(&mixed->due_us);
	uint64 now_us;

	if (tg_likely(due_us == 0))
		return;
	now_us = tg_clock_us();
	if (now_us < due_us || !LWLockConditionalAcquire(&mixed->lock, LW_EXCLUSIVE))
		return;
	forget_old(now_us);
	note_change(now_us);
	LWLockRelease(&mixed->lock);
}

static void
end_entry(bool committed)
{
	unsigned session = tsurugi_session()->id;
	uint64 now_us = tg_clock_us();

	LWLockAcquire(&mixed->lock, LW_EXCLUSIVE);
	forget_old(now_us);
	if (committed)
		add_to_ring(close_entry(session), newest_completed(), now_us);
	else
		(void) close_entry(session);
	note_change(now_us);
	LWLockRelease(&mixed->lock);
}

void
tsurugi_mixed_end(bool committed)
{
	is_closed = false; /* the lock is released with the transaction */
	tsurugi_mixed_let_go();
	if (tg_likely(!is_open))
	{
		tsurugi_mixed_tidy();
		return;
	}
	end_entry(committed);
	is_open = false;
}

/* The lock is the top transaction's, so the subtransaction's end does not release it. */
void
tsurugi_mixed_end_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	if (!committed)
		tsurugi_mixed_open();
}

/* --- a standby ------------------------------------------------------------------------- */

void
tsurugi_mixed_begin_followed(tg_session *session, tg_txn *txn, TransactionId xid)
{
	announce(session, txn, xid, 0, 0);
}

/* 10, 12. */
void
tsurugi_mixed_end_followed(const tg_session *session, uint64 shown_us)
{
	uint64 now_us = tg_clock_us();

	if (tg_failpoint_refuses("mixed_young") && now_us < shown_us + KEPT_MS * 1000)
		shown_us = UINT64_MAX / 2; /* it never grows old */
	LWLockAcquire(&mixed->lock, LW_EXCLUSIVE);
	add_to_ring(close_entry(session->id), 0, shown_us);
	forget_old(now_us);
	note_change(now_us);
	LWLockRelease(&mixed->lock);
}

void
tsurugi_mixed_forget(void)
{
	uint64 now_us = tg_clock_us();

	LWLockAcquire(&mixed->lock, LW_EXCLUSIVE);
	forget_old(now_us);
	note_change(now_us);
	LWLockRelease(&mixed->lock);
}

bool
tsurugi_mixed_has_room(void)
{
	bool has_room;

	LWLockAcquire(&mixed->lock, LW_SHARED);
	has_room = mixed->ended - mixed->listed < mixed->ring_size || mixed->listed < first_not_looked_at();
	LWLockRelease(&mixed->lock);
	return has_room;
}

/* 11. */
bool
tsurugi_mixed_look(Snapshot host)
{
	unsigned id = tsurugi_session()->id;
	bool found;

	LWLockAcquire(&mixed->lock, LW_SHARED);
	found = mixed->ended > 0 && XidInMVCCSnapshot(ended_commit(mixed->ended - 1)->xid, host);
	if (!found)
	{
		if (!waits)
			(void) tg_fetch_add_acq_rel(&mixed->waiting, 1);
		waits = true;
		tg_store_release(&looked[id], mixed->ended + 1);
	}
	LWLockRelease(&mixed->lock);
	return found;
}

void
tsurugi_mixed_let_go(void)
{
	if (tg_likely(!waits))
		return;
	tg_store_release(&looked[tsurugi_session()->id], 0);
	(void) tg_fetch_add_acq_rel(&mixed->waiting, -1);
	waits = false;
}

/*
 * 10: lowers *time below the first commit that the snapshot does not show.  False: that may have
 * been another one.
 */
static bool
find_first_unseen(Snapshot host, tg_time *time)
{
	for (unsigned i = 0; i < mixed->open_count; i++)
		if (XidInMVCCSnapshot(open_commits[i].xid, host))
			*time = Min(*time, open_commits[i].time - 1);
	for (uint64 number = mixed->ended; number > mixed->listed; number--)
	{
		const Commit *commit = ended_commit(number - 1);

		if (!XidInMVCCSnapshot(commit->xid, host))
			return true;
		if (number <= mixed->kept)
			return false;
		*time = Min(*time, commit->time - 1);
	}
	return mixed->listed == 0 || !XidInMVCCSnapshot(mixed->left_last, host);
}

static bool
match_followed(Snapshot host, unsigned entry, tg_time *time)
{
	tg_time drawn = *time;
	bool known;

	LWLockAcquire(&mixed->lock, LW_SHARED);
	known = find_first_unseen(host, time);
	if (*time < drawn)
		tg_snapshot_lower_from(tsurugi_session(), entry, *time); /* rule 5 */
	LWLockRelease(&mixed->lock);
	return known;
}

/* --- snapshots ------------------------------------------------------------------------ */

/*
 * The snapshot was taken after the end of the commit that has this L, and so after the ends of all
 * commits before it in the ring.
 */
static inline bool
is_later(Snapshot host, uint64 completed)
{
	FullTransactionId next = FullTransactionIdFromU64(completed);

	FullTransactionIdAdvance(&next); /* the xmax of an earlier snapshot may be that */
	return full(host->xmax) > U64FromFullTransactionId(next);
}

static inline bool
is_unseen(const Commit *commit, Snapshot host)
{
	return XidInMVCCSnapshot(commit->xid, host);
}

/*
 * Rule 2: finds the commits that the snapshot does not show, and lowers *bound.  False: there may
 * have been others.
 */
static bool
find_unseen(Snapshot host, unsigned *count_out, tg_time *bound)
{
	unsigned count = 0;
	uint64 number = mixed->ended;

	for (unsigned i = 0; i < mixed->open_count; i++)
	{
		const Commit *commit = &open_commits[i];

		if (commit->session != tsurugi_session()->id && is_unseen(commit, host))
			found[count++] = commit->time;
	}
	*count_out = count;
	for (; number > mixed->listed; number--)
	{
		const Commit *commit = ended_commit(number - 1);

		if (is_later(host, commit->completed))
			return true;
		if (!is_unseen(commit, host))
			continue;
		if (number <= mixed->kept)
			return false;
		found[count++] = commit->time;
		*bound = Min(*bound, commit->bound);
		*count_out = count;
	}
	return mixed->forgotten == 0 || is_later(host, mixed->forgotten);
}

/* Picks those of the found commits that must be excluded. */
static const tg_exclusions *
make_exclusions(unsigned count, tg_time bound, tg_time *lowest_out)
{
	tg_exclusions *excluded;
	unsigned kept = 0;

	*lowest_out = TG_TIME_NEVER;
	for (unsigned i = 0; i < count; i++)
	{
		if (found[i] > bound)
			continue;
		*lowest_out = Min(*lowest_out, found[i]);
		found[kept++] = found[i];
	}
	if (kept == 0)
		return NULL;
	excluded = MemoryContextAlloc(TopTransactionContext, sizeof(tg_exclusions) + kept * sizeof(tg_time));
	excluded->count = kept;
	memcpy(excluded->time, found, kept * sizeof(tg_time));
	return excluded;
}

static bool
match(Snapshot host, unsigned entry, tg_time *time, const tg_exclusions **excluded_out)
{
	tg_time lowest;
	unsigned count;
	bool known;

	if (found == NULL)
		found = MemoryContextAlloc(TopMemoryContext, (tsurugi_session_max() + mixed->ring_size) * sizeof(tg_time));
	LWLockAcquire(&mixed->lock, LW_SHARED);
	known = find_unseen(host, &count, time);
	*excluded_out = make_exclusions(count, *time, &lowest);
	if (*excluded_out != NULL)
		tg_snapshot_lower_from(tsurugi_session(), entry, lowest - 1); /* rule 5 */
	LWLockRelease(&mixed->lock);
	return known;
}

bool
tsurugi_mixed_match(Snapshot host, unsigned entry, tg_time *time, const tg_exclusions **excluded_out)
{
	bool known = true;
	uint64 newest;

	*excluded_out = NULL;
	tg_failpoint("mixed_match");
	if (host == NULL || tg_failpoint_refuses("skip_match"))
		return true;
	newest = tg_load_seq_cst(&mixed->newest);
	if (tg_unlikely(newest != 0 && newest >= full(host->xmin)))
		known = host->takenDuringRecovery ? match_followed(host, entry, time) : match(host, entry, time, excluded_out);
	tsurugi_mixed_let_go();
	return known;
}

/* --- moments ---------------------------------------------------------------------------- */

tg_time
tsurugi_mixed_newest_time(void)
{
	tg_time time;

	LWLockAcquire(&mixed->lock, LW_SHARED);
	time = mixed->last;
	LWLockRelease(&mixed->lock);
	return time;
}

static inline bool
fits(const Commit *commit, Snapshot host, tg_time time)
{
	return is_unseen(commit, host) ? commit->time > time : commit->time <= time;
}

/* The entries that have left the ring do not fit, or it is not known whether they do. */
static inline bool
has_forgotten(Snapshot host, tg_time time)
{
	return mixed->forgotten != 0 && (!is_later(host, mixed->forgotten) || mixed->left > time);
}

tg_time
tsurugi_mixed_misfit(Snapshot host, tg_time time)
{
	tg_time misfit = 0;

	LWLockAcquire(&mixed->lock, LW_SHARED);
	for (unsigned i = 0; i < mixed->open_count && misfit == 0; i++)
		if (!fits(&open_commits[i], host, time))
			misfit = open_commits[i].time;
	for (uint64 number = mixed->listed; number < mixed->ended && misfit == 0; number++)
		if (!fits(ended_commit(number), host, time))
			misfit = ended_commit(number)->time;
	if (misfit == 0 && has_forgotten(host, time))
		misfit = mixed->left;
	LWLockRelease(&mixed->lock);
	return misfit;
}

/* A commit that has not been announced yet will have a C above the clock. */
bool
tsurugi_mixed_latest(Snapshot host, tg_time *time_out)
{
	tg_time highest_seen;
	tg_time lowest_unseen = TG_TIME_NEVER;
	bool known;

	LWLockAcquire(&mixed->lock, LW_SHARED);
	*time_out = tg_load_seq_cst(tg_clock);
	known = mixed->forgotten == 0 || is_later(host, mixed->forgotten);
	highest_seen = mixed->left;
	for (uint64 i = 0; i < mixed->open_count + (mixed->ended - mixed->listed); i++)
	{
		const Commit *commit =
			i < mixed->open_count ? &open_commits[i] : ended_commit(mixed->listed + i - mixed->open_count);

		if (is_unseen(commit, host))
			lowest_unseen = Min(lowest_unseen, commit->time);
		else
			highest_seen = Max(highest_seen, commit->time);
	}
	LWLockRelease(&mixed->lock);
	*time_out = Min(*time_out, lowest_unseen - 1);
	return known && highest_seen <= *time_out;
}
