/*
 * horizon.c
 *	  The times that are still read at: one array of entries per session.
 *
 * An entry is 0 (free), a time T (its owner reads at T), or T with the mark FROM (its owner reads
 * at times not before T).  Publishing is
 *
 *	  bound = clock;  entry = FROM | bound;  R = clock;  entry = R
 *
 * (the last store is left out if the entry is to stay FROM), and gathering is
 *
 *	  B = clock;  for every entry: FROM | T: B = min(B, T);  T: T is a point
 *	  H = min(B, points)
 *
 * 1. No snapshot ever reads at a time below a horizon that was computed before.  Five kinds of
 *	  access are sequentially consistent: the store of the bound, both loads of the clock, a
 *	  computation's loads of the entries, and the additions to the clock.  They form one Dekker pair
 *	  and have one order, S.  If the computation loads the entry after the store of the bound in S,
 *	  it sees the bound or a later value: the bound and R give H <= R; 0 means that the reader has
 *	  left.  If it loads the entry before that store, then its load of the clock, which is earlier
 *	  still, precedes the publisher's second load in S, so H <= that clock value <= R.
 * 2. A withdrawal is a release store that pairs with the loads of the entries: all reads under the
 *	  entry happened before the versions are collected.  For the same reason, a thread that computes
 *	  a horizon of C or more sees all that a committer did before it withdrew an entry below its C
 *	  (collector.c, 1).
 * 3. A session uses its entries from the lowest on, so mostly only the first.  When all but the
 *	  last are taken, the last is shared: it keeps the time that its first user published, as a
 *	  lower bound for all its users, until the last of them leaves.  Later users need not publish
 *	  anything: the bound is there already, and the times that they load from the clock are not
 *	  before it.
 * 4. A computation looks only at sessions below seen.  seen grows before the bound is stored, by a
 *	  sequentially consistent access, and is loaded after the clock: a computation that does not see
 *	  it grow is ordered as in 1.
 * 5. A job's entry takes over a time that its caller's session has published, and is stored before
 *	  the session may withdraw its own.  A computation looks at sessions first and at jobs
 *	  afterwards: if it finds the session's entry withdrawn, the acquire of that load makes the
 *	  job's entry visible.  So a job's time must not be published from another job's entry.
 *
 * 6. Raising an entry replaces a time by a later value of the clock, with a release, as a
 *	  withdrawal does.  The entry is never empty in between, so a computation sees one of the two.
 * 7. Garbage is a version that no present or future reader can reach: its end is at or below B,
 *	  and no point lies in [begin, end).  A reader that publishes later reads at B or later (1).
 *	  The owner of a point may hand it on to a job (5), and nothing else.
 * 8. Holding (tg_snapshot_hold) exchanges the entry for FROM | T, then loads the clock, K.  A
 *	  version whose end is drawn later than K stays as long as the entry.  For a gathering that
 *	  found the entry still a point loaded its B before that, so before the exchange in S, and
 *	  B <= K; and one that finds FROM | T has B <= T <= K.
 * 9. When B is gathered, every log with C <= B has been given to the collector: a committer has an
 *	  entry FROM | T with T < C from before it draws C until after it has given its log.  A point
 *	  does not suffice for that; see collector.c.
 *
 * There is no separate fence between the store of the bound and the load of the clock: the exchange
 * that stores the bound is a full fence on the machines that need one, and tools that check
 * orderings understand it.
 *
 * 10. A READ ONLY transaction's snapshot may lie before its lower bound, at the base of a listed
 *	  LONG (L6); and a LONG's own base stands on the list alone.  So the bases of all listed LONGs
 *	  are points, and both the whole computation and the lowering run under the list's latch (G1;
 *	  preserve.c, 3).  If the list is found empty after the scan, no latch is needed: a LONG that is
 *	  published later draws its R_L later, and remembers only LONGs that were published after the
 *	  scan, too; so its base is not below the clock value that the scan began with.
 *
 * 11. The host keeps a time (tg_horizon_keep) for a snapshot that a session is about to publish at
 *	  a time before its own lower bound.  So a computation that does not see the kept time must see
 *	  that entry.  The first kept time is loaded from the clock and stored, K, before
 *	  any C that it is for is drawn, all sequentially consistent.  So a computation that loads the
 *	  clock, then K, and finds nothing kept has B < C; and C - 1 is all that is needed.  The kept
 *	  time is given up, with a release, after the session's entry has been lowered: a computation
 *	  that loads the new value acquires it, and looks at the sessions afterwards.
 *
 * 12. Any session may take over a time from any entry (tg_snapshot_adopt), so a computation may
 *	  look at the new entry too early and at the source too late.  Therefore the session increments
 *	  a count after its store, and a computation during which the count has changed starts again.
 *	  Suppose that a computation loads the same count before and after it.  If it began after the
 *	  increment, it finds the new entry.  Otherwise it ended before the increment, when the source
 *	  still stood.  All of that is sequentially consistent; a source that is found withdrawn was
 *	  withdrawn after the increment, which the last load then sees.
 *
 * Left out: snapshots for some tables only.  A READ COMMITTED statement's plan could prove that it
 * will not look at table B: every relation in it is another one; every function is immutable and
 * the host's own (any other may read B, at this snapshot); no trigger, foreign key or cursor
 * depends on it; no outer statement shares the snapshot.  The gain is one version of each row of B
 * that changes while the statement runs, however often it changes and however long the statement
 * runs, because such a snapshot is a point (7).  The cost is a set of tables with each entry, point
 * and keeper (collector.c, 2), so that the definition of garbage depends on the table; a walk of
 * the plan before each snapshot, where a point SELECT is counted in instructions; and a proof that
 * one overlooked function call invalidates without notice.  The snapshots that hold back everything
 * after them (FROM) belong to transactions, and no plan tells what a transaction reads next.
 */
#include "runtime/reclaim/horizon.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/table/version.h"
#include "runtime/reclaim/preserve.h"

#define SHARED_ENTRY (TG_SNAPSHOTS_PER_SESSION - 1)
#define FROM ((tg_time) 1 << 63) /* stands for every time from there on */

/* Written by the session's owner only; other sessions read the entries and nothing else. */
typedef struct snapshots
{
	tg_time entry[TG_SNAPSHOTS_PER_SESSION]; /* atomic */
	uint32_t taken;							 /* bit i: entry i is taken */
	uint32_t shared_count;					 /* users of the last entry */
} TG_CACHE_ALIGNED snapshots;

_Static_assert(TG_SNAPSHOTS_PER_SESSION < 32, "taken has a bit for each entry");

/* In the arena. */
typedef struct horizon
{
	uint64_t clock TG_CACHE_ALIGNED;	/* atomic; every committer */
	uint32_t seen TG_CACHE_ALIGNED;		/* atomic: highest session id that has published, plus 1 */
	uint32_t session_max;				/* constant */
	tg_time kept TG_CACHE_ALIGNED;		/* atomic: FROM | time the host keeps, or 0 */
	uint64_t adopted;					/* atomic: times taken over so far (12); sessions */
	uint32_t job_hint TG_CACHE_ALIGNED; /* atomic: where a free entry may be; any session */

	/* atomic; an entry is claimed by compare-and-swap from 0 */
	tg_time job[TG_SNAPSHOTS_OF_JOBS] TG_CACHE_ALIGNED;


	snapshots session[];
} horizon;

uint64_t *tg_clock;
static horizon *shared; /* set by tg_horizon_create, inherited */

tg_status
tg_horizon_create(void)
{
	tg_session *session;
	tg_status status;
	unsigned session_max = tg_session_max();

	status = tg_session_open(&session);
	if (status != TG_OK)
		return status;
	shared = tg_alloc_zeroed(session, sizeof(horizon) + session_max * sizeof(snapshots), TG_USE_RUNTIME, TG_ESSENTIAL);
	status = shared == NULL ? TG_NO_MEMORY : tg_preserve_create(session);
	tg_session_close(session);
	if (status != TG_OK)
		return status;
	tg_assert((uintptr_t) shared % TG_CACHE_LINE == 0);
	shared->session_max = session_max;
	tg_clock = &shared->clock;
	tg_store_seq_cst(tg_clock, TG_TIME_FIRST);
	return TG_OK;
}

/* --- sessions ------------------------------------------------------------- */

static void __attribute__((noinline)) seen_grow(uint32_t id)
{
	uint32_t seen = tg_load_seq_cst(&shared->seen);

	while (seen <= id && !tg_cas_seq_cst(&shared->seen, &seen, id + 1))
		;
}

/* Takes an entry and stores a lower bound in it; *shared_out: the entry has to stay a bound. */
static inline unsigned
take_entry(tg_session *session, bool *shared_out)
{
	snapshots *mine = &shared->session[session->id];
	unsigned entry = (unsigned) __builtin_ctz(~mine->taken);

	/*
	 * The load may be relaxed: seen never falls, and the id is below it only
	 * if this session, or one that had its place before it, has grown it.
	 */
	if (tg_unlikely(tg_load_relaxed(&shared->seen) <= session->id))
		seen_grow(session->id);
	*shared_out = tg_unlikely(entry >= SHARED_ENTRY);
	if (*shared_out)
	{
		entry = SHARED_ENTRY;
		if (mine->shared_count++ > 0)
			return entry;
	}
	tg_assert(tg_load_relaxed(&mine->entry[entry]) == 0);
	mine->taken |= 1u << entry;
	(void) tg_exchange_seq_cst(&mine->entry[entry], FROM | tg_load_relaxed(tg_clock));
	tg_failpoint("snapshot_bound");
	return entry;
}

tg_time
tg_snapshot_publish(tg_session *session, unsigned *entry_out)
{
	bool is_shared;
	unsigned entry = take_entry(session, &is_shared);
	tg_time time = tg_load_seq_cst(tg_clock);

	*entry_out = entry;
	if (tg_likely(!is_shared))
		tg_store_release(&shared->session[session->id].entry[entry], time);
	return time;
}

tg_time
tg_snapshot_publish_from(tg_session *session, unsigned *entry_out)
{
	bool is_shared;

	*entry_out = take_entry(session, &is_shared);
	return tg_load_seq_cst(tg_clock);
}

void
tg_snapshot_adopt(tg_session *session, tg_time time, bool from, unsigned *entry_out)
{
	bool is_shared;
	unsigned entry = take_entry(session, &is_shared);
	tg_time *word = &shared->session[session->id].entry[entry];
	tg_time before = tg_load_relaxed(word) & ~FROM;

	tg_assert(time != 0 && !tg_time_is_reference(time) && (is_shared || time <= before));
	tg_store_seq_cst(word, from || is_shared ? FROM | (time < before ? time : before) : time);
	(void) tg_fetch_add_seq_cst(&shared->adopted, 1); /* 12 */
	*entry_out = entry;
}

/* Marks the entries of a time (0: all) with FROM; returns whether there were any. */
static bool
hold_entries(snapshots *mine, tg_time time)
{
	bool found = false;

	for (uint32_t taken = mine->taken; taken != 0; taken &= taken - 1)
	{
		tg_time *entry = &mine->entry[__builtin_ctz(taken)];
		tg_time from = tg_load_relaxed(entry) | FROM;

		if (time != 0 && (from & ~FROM) != time)
			continue;
		(void) tg_exchange_seq_cst(entry, from);
		found = true;
	}
	return found;
}

void
tg_snapshot_hold(tg_session *session, tg_time time)
{
	snapshots *mine = &shared->session[session->id];

	if (!hold_entries(mine, time) && time != 0)
		(void) hold_entries(mine, 0);
	(void) tg_load_seq_cst(tg_clock); /* 8 */
}

void
tg_snapshot_withdraw(tg_session *session, unsigned entry)
{
	snapshots *mine = &shared->session[session->id];

	tg_assert(entry < TG_SNAPSHOTS_PER_SESSION && (mine->taken >> entry & 1) != 0);
	if (tg_unlikely(entry == SHARED_ENTRY) && --mine->shared_count > 0)
		return;
	mine->taken &= ~(1u << entry);
	tg_store_release(&mine->entry[entry], 0);
}

void
tg_snapshot_raise(tg_session *session, unsigned entry, tg_time time)
{
	snapshots *mine = &shared->session[session->id];

	tg_assert(entry < TG_SNAPSHOTS_PER_SESSION && (mine->taken >> entry & 1) != 0);
	if (entry == SHARED_ENTRY)
		return; /* it is the bound of other snapshots, too */
	tg_assert((tg_load_relaxed(&mine->entry[entry]) & ~FROM) <= time);
	tg_store_release(&mine->entry[entry], (tg_load_relaxed(&mine->entry[entry]) & FROM) | time);
}

void
tg_snapshot_lower(tg_session *session, unsigned entry, tg_time time)
{
	snapshots *mine = &shared->session[session->id];

	tg_assert(entry < TG_SNAPSHOTS_PER_SESSION && (mine->taken >> entry & 1) != 0);
	if (time < (tg_load_relaxed(&mine->entry[entry]) & ~FROM))
		tg_store_release(&mine->entry[entry], entry == SHARED_ENTRY ? FROM | time : time);
}

void
tg_snapshot_lower_from(tg_session *session, unsigned entry, tg_time time)
{
	snapshots *mine = &shared->session[session->id];
	tg_time before = tg_load_relaxed(&mine->entry[entry]) & ~FROM;

	tg_assert(entry < TG_SNAPSHOTS_PER_SESSION && (mine->taken >> entry & 1) != 0);
	tg_store_release(&mine->entry[entry], FROM | (time < before ? time : before));
}

void
tg_horizon_keep(tg_time from)
{
	tg_store_seq_cst(&shared->kept, from == 0 ? 0 : FROM | from);
}

void
tg_snapshot_withdraw_all(tg_session *session)
{
	snapshots *mine = &shared->session[session->id];

	for (unsigned i = 0; i < TG_SNAPSHOTS_PER_SESSION; i++)
		tg_store_release(&mine->entry[i], 0);
	mine->taken = 0;
	mine->shared_count = 0;
}

/* --- jobs ----------------------------------------------------------------- */

tg_status
tg_snapshot_publish_job(tg_time time, bool from, unsigned *entry_out)
{
	uint32_t first = tg_load_relaxed(&shared->job_hint);

	tg_assert(time != 0 && !tg_time_is_reference(time));
	for (uint32_t i = 0; i < TG_SNAPSHOTS_OF_JOBS; i++)
	{
		uint32_t entry = (first + i) % TG_SNAPSHOTS_OF_JOBS;
		tg_time free = 0;

		if (tg_load_relaxed(&shared->job[entry]) == 0 &&
			tg_cas_seq_cst(&shared->job[entry], &free, from ? FROM | time : time))
		{
			tg_store_relaxed(&shared->job_hint, entry + 1);
			*entry_out = entry;
			return TG_OK;
		}
	}
	return TG_FULL;
}

void
tg_snapshot_withdraw_job(unsigned entry)
{
	tg_assert(entry < TG_SNAPSHOTS_OF_JOBS && tg_load_relaxed(&shared->job[entry]) != 0);
	tg_store_release(&shared->job[entry], 0);
	tg_store_relaxed(&shared->job_hint, entry);
}

/* --- looking -------------------------------------------------------------- */

static inline tg_time
earlier(tg_time time, tg_time published)
{
	return published != 0 && (published & ~FROM) < time ? published & ~FROM : time;
}

/* 12: whether a time has been taken over since *count was loaded; updates *count. */
static inline bool
has_been_adopted(uint64_t *count)
{
	uint64_t now = tg_load_seq_cst(&shared->adopted);
	bool changed = now != *count && !tg_failpoint_refuses("skip_adopted");

	*count = now;
	return changed;
}

static tg_time
scan_once(bool with_kept)
{
	tg_time time = tg_load_seq_cst(tg_clock);
	uint32_t seen;

	if (with_kept)
		time = earlier(time, tg_load_seq_cst(&shared->kept)); /* 11: before the sessions */
	seen = tg_load_seq_cst(&shared->seen);
	for (uint32_t id = 0; id < seen; id++)
	{
		for (unsigned i = 0; i < TG_SNAPSHOTS_PER_SESSION; i++)
			time = earlier(time, tg_load_seq_cst(&shared->session[id].entry[i]));
	}
	for (unsigned i = 0; i < TG_SNAPSHOTS_OF_JOBS; i++)
		time = earlier(time, tg_load_acquire(&shared->job[i]));
	return time;
}

static tg_time
scan_published(void)
{
	uint64_t adopted = tg_load_seq_cst(&shared->adopted);
	tg_time time;

	do
		time = scan_once(true);
	while (tg_unlikely(has_been_adopted(&adopted)));
	return time;
}

static inline void
lower_bound(tg_readings *readings, tg_time bound)
{
	if (bound < readings->bound)
		readings->bound = bound;
}

/* Sorts a point in, from the end: sessions come in any order, but most points are new, and few. */
static void
add_point(tg_readings *readings, tg_time time)
{
	unsigned place = tg_readings_from(readings, time);

	if (place < readings->count && readings->point[place] == time)
		return;
	if (readings->count == TG_POINTS_MAX)
	{
		/* There is no room for the highest point: it becomes the bound. */
		lower_bound(readings, place == TG_POINTS_MAX ? time : readings->point[TG_POINTS_MAX - 1]);
		if (place == TG_POINTS_MAX)
			return;
		readings->count--;
	}
	memmove(&readings->point[place + 1], &readings->point[place], (readings->count - place) * sizeof(tg_time));
	readings->point[place] = time;
	readings->count++;
}

static inline void
add_entry(tg_readings *readings, tg_time entry)
{
	if (entry == 0)
		return;
	if ((entry & FROM) != 0 && !tg_failpoint_refuses("skip_g3"))
		lower_bound(readings, entry & ~FROM);
	else
		add_point(readings, entry & ~FROM);
}

/* Drops the points at or above the bound, which make no difference. */
static void
finish_readings(tg_readings *readings)
{
	readings->count = tg_readings_from(readings, readings->bound);
	readings->horizon = readings->count > 0 ? readings->point[0] : readings->bound;
}

static void
scan_readings_once(tg_readings *readings, bool locked)
{
	uint32_t seen;

	(void) locked;
	readings->bound = tg_load_seq_cst(tg_clock);
	readings->count = 0;
	add_entry(readings, tg_load_seq_cst(&shared->kept)); /* 11: before the sessions */
	seen = tg_load_seq_cst(&shared->seen);
	for (uint32_t id = 0; id < seen; id++)
	{
		tg_failpoint(locked ? "horizon_locked" : "horizon_session");
		for (unsigned i = 0; i < TG_SNAPSHOTS_PER_SESSION && !tg_failpoint_refuses("skip_g1"); i++)
			add_entry(readings, tg_load_seq_cst(&shared->session[id].entry[i]));
	}
	for (unsigned i = 0; i < TG_SNAPSHOTS_OF_JOBS; i++)
		add_entry(readings, tg_load_acquire(&shared->job[i]));
	finish_readings(readings);
}

static void
scan_readings(tg_readings *readings, bool locked)
{
	uint64_t adopted = tg_load_seq_cst(&shared->adopted);

	do
		scan_readings_once(readings, locked);
	while (tg_unlikely(has_been_adopted(&adopted)));
}

/* L6: the time that a READ ONLY transaction may read at because of a LONG; 0: none. */
static inline tg_time
base_of(const tg_preserve *entry)
{
	return tg_failpoint_refuses("skip_base") ? 0 : entry->base;
}

void
tg_readings_gather(tg_readings *readings)
{
	scan_readings(readings, false);
	tg_failpoint("horizon_scanned");
	if (tg_likely(tg_preserve_is_empty()))
		return;
	/* 10. */
	tg_preserve_lock();
	scan_readings(readings, true);
	tg_preserve_drop(readings->horizon);
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL; entry = entry->next)
		add_entry(readings, base_of(entry));
	finish_readings(readings);
	tg_preserve_unlock();
}

tg_time
tg_horizon_compute(void)
{
	tg_time time = scan_published();

	tg_failpoint("horizon_scanned");
	if (tg_likely(tg_preserve_is_empty()))
		return time;
	/* 10. */
	tg_preserve_lock();
	time = scan_published();
	tg_preserve_drop(time);
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL; entry = entry->next)
		time = earlier(time, base_of(entry));
	tg_preserve_unlock();
	return time;
}

bool
tg_horizon_is_kept_before(tg_time time)
{
	tg_time kept = tg_load_seq_cst(&shared->kept);

	return earlier(time, kept) < time && scan_once(false) >= time;
}

tg_time
tg_snapshot_oldest(unsigned session_id)
{
	tg_time oldest = TG_TIME_NEVER;

	tg_assert(session_id < shared->session_max);
	for (unsigned i = 0; i < TG_SNAPSHOTS_PER_SESSION; i++)
		oldest = earlier(oldest, tg_load_relaxed(&shared->session[session_id].entry[i]));
	return oldest == TG_TIME_NEVER ? 0 : oldest;
}

tg_time
tg_snapshot_oldest_job(void)
{
	tg_time oldest = TG_TIME_NEVER;

	for (unsigned i = 0; i < TG_SNAPSHOTS_OF_JOBS; i++)
		oldest = earlier(oldest, tg_load_relaxed(&shared->job[i]));
	return oldest == TG_TIME_NEVER ? 0 : oldest;
}
