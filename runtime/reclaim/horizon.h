/*
 * horizon.h
 *	  The commit clock, published snapshots, and the horizon that follows from them.
 *
 * To publish a snapshot, a session stores a lower bound, loads the clock with full ordering, and
 * publishes the value.  A session has a bounded array of entries; when it is full, further
 * snapshots share one entry that keeps the smallest as a lower bound.  A job owns entries of its
 * own.
 *
 * An entry is either a point, one time that its owner reads at, or it stands for every time from
 * there on: a lower bound, the snapshot of a transaction that validates as of a later time, or the
 * entry of a committer.
 * transaction that validates as of a later time, a committer.
 */
#ifndef TG_HORIZON_H
#define TG_HORIZON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

#define TG_SNAPSHOTS_PER_SESSION 16
#define TG_SNAPSHOTS_OF_JOBS 256

/* Commits that a snapshot does not see, although they are not after its time (M2). */
struct tg_exclusions
{
	unsigned count;
	tg_time time[];
};

static inline bool
tg_is_excluded(const tg_exclusions *excluded, tg_time time)
{
	if (tg_likely(excluded == NULL))
		return false;
	for (unsigned i = 0; i < excluded->count; i++)
		if (excluded->time[i] == time)
			return true;
	return false;
}

/* The commit clock; set by tg_horizon_create and inherited by children. */
extern uint64_t *tg_clock;

extern tg_status tg_horizon_create(void) TG_MUST_USE;

/*
 * Publishes and returns a fresh snapshot time; *entry_out is the entry to withdraw later.  Owner of
 * the session.
 */
extern tg_time tg_snapshot_publish(tg_session *session, unsigned *entry_out);
extern void tg_snapshot_withdraw(tg_session *session, unsigned entry);

/*
 * As tg_snapshot_publish, but the entry stands for every later time, too: it keeps all versions
 * that end after it.  For SERIALIZABLE transactions, until they have been validated, and for
 * committers, until the collector has their logs.
 */
extern tg_time tg_snapshot_publish_from(tg_session *session, unsigned *entry_out);

/*
 * Makes the session's entries of this time (or all its entries, if time is 0 or no entry has it)
 * stand for every later time, too.  A version that the session looks at afterwards, and that has
 * not ended, stays as long as these entries.  For a transaction that continues with a version newer
 * than its snapshot.
 */
extern void tg_snapshot_hold(tg_session *session, tg_time time);

/*
 * Replaces a published time by a later one, loaded from the clock, in one store: for a reader whose
 * next reads are all at the later time.  The kind of the entry, a point or all times from there on,
 * does not change.  Owner of the session.
 */
extern void tg_snapshot_raise(tg_session *session, unsigned entry, tg_time time);

/*
 * Replaces a published time by an earlier one that no horizon can have passed: the base of a LONG
 * on the preserve list (L6).  The caller holds the latch of the list.  Owner of the session.
 */
extern void tg_snapshot_lower(tg_session *session, unsigned entry, tg_time time);

/*
 * Makes an entry stand for every time from an earlier one on.  The host must keep that earlier time
 * (tg_horizon_keep) until this call returns.  Owner of the session.
 */
extern void tg_snapshot_lower_from(tg_session *session, unsigned entry, tg_time time);

/*
 * Publishes a time that another session or job has published and keeps published until this call
 * returns.  from: the entry is to stand for all later times, too, as the other one does.  Owner of
 * the session.
 */
extern void tg_snapshot_adopt(tg_session *session, tg_time time, bool from, unsigned *entry_out);

/*
 * Sets the time from which on the host needs everything, beside all snapshots; 0: nothing.  The
 * first such time is loaded from the clock; later ones are not before it.  One caller at a time.
 */
extern void tg_horizon_keep(tg_time from);

/*
 * Publishes a time that the caller's session has published already, for a job that may outlive the
 * session's entry.  from: the entry is to stand for all later times, too, as the session's does.
 * TG_FULL.
 */
extern tg_status tg_snapshot_publish_job(tg_time time, bool from, unsigned *entry_out) TG_MUST_USE;

extern void tg_snapshot_withdraw_job(unsigned entry);

/*
 * G1: every published snapshot and lower bound is at least the result, and always will be.  Also
 * drops those LONGs from the preserve list that ended before all of them.
 */
extern tg_time tg_horizon_compute(void);

/* Whether what the host keeps is the only reason why the horizon is before this time; a guess. */
extern bool tg_horizon_is_kept_before(tg_time time);

/*
 * G3: all times that snapshots read at, as of one moment.  Only the lowest TG_POINTS_MAX points are
 * listed; the bound covers those above.
 */
#define TG_POINTS_MAX 1024

typedef struct tg_readings
{
	tg_time horizon; /* as of tg_horizon_compute */
	tg_time bound;	 /* any time from here on may be read */
	unsigned count;
	tg_time point[TG_POINTS_MAX]; /* ascending, below the bound */
} tg_readings;

extern void tg_readings_gather(tg_readings *readings);

/* The place of the first point at or after a time; count if there is none. */
static inline unsigned
tg_readings_from(const tg_readings *readings, tg_time time)
{
	unsigned low = 0;

	for (unsigned high = readings->count; low < high;)
	{
		unsigned middle = (low + high) / 2;

		if (readings->point[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* G2 and G3: whether no reader can see a version that lives in [begin, end), both timestamps. */
static inline bool
tg_readings_miss(const tg_readings *readings, tg_time begin, tg_time end)
{
	unsigned place;

	if (end > readings->bound)
		return false;
	place = tg_readings_from(readings, begin);
	return place == readings->count || readings->point[place] >= end;
}

/* Withdraws all entries of a session that has gone. */
extern void tg_snapshot_withdraw_all(tg_session *session);

/* The i-th session's oldest published snapshot, or 0: for views. */
extern tg_time tg_snapshot_oldest(unsigned session_id);

/* The oldest snapshot of a job or of a transaction that several sessions work in, or 0. */
extern tg_time tg_snapshot_oldest_job(void);

#endif /* TG_HORIZON_H */
