/*
 * horizon.h
 *	  The commit clock, published snapshots, and what nobody needs any more.
 *
 * Publishing a snapshot: store a lower bound, fence, load the clock, publish.  A session has a
 * bounded array of entries; when it is full, further snapshots share one entry that keeps the
 * smallest as a lower bound.  A job owns entries of its own.
 *
 * What is published is either a point, one time that somebody reads at, or
 * stands for every time from there on: a lower bound, the snapshot of a
 * transaction that validates as of a later time, a committer.
 */
#ifndef TG_HORIZON_H
#define TG_HORIZON_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/table/version.h"

#define TG_SNAPSHOTS_PER_SESSION 16
#define TG_SNAPSHOTS_OF_JOBS 256

/* Commits that a snapshot does not see though they are not after its time (M2). */
typedef struct tg_exclusions
{
	unsigned count;
	tg_time time[];
} tg_exclusions;

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

extern uint64_t *tg_clock; /* the commit clock; set by tg_horizon_create and inherited by children */

extern tg_status tg_horizon_create(void) TG_MUST_USE;

/* Publishes and returns a fresh snapshot time; *entry_out names it for the release.  Owner of the session. */
extern tg_time tg_snapshot_publish(tg_session *session, unsigned *entry_out);
extern void tg_snapshot_withdraw(tg_session *session, unsigned entry);

/*
 * The same for who needs more than what was there at that time: all that has
 * ended since, too.  SERIALIZABLE, until it has been validated; a committer, until the
 * collector has its log.
 */
extern tg_time tg_snapshot_publish_from(tg_session *session, unsigned *entry_out);

/*
 * Makes the session's entries of this time (0, or if there are none: all its
 * entries) stand for every later time, too: what is looked at afterwards, and has not
 * ended, stays as long as they.  For one who goes on with a version newer than its snapshot.
 */
extern void tg_snapshot_hold(tg_session *session, tg_time time);

/*
 * Replaces a published time by a later one, loaded from the clock, in one store:
 * for a reader whose next reads are all at the later one.  What the entry stands
 * for stays: a point, or all from there on.  Owner of the session.
 */
extern void tg_snapshot_raise(tg_session *session, unsigned entry, tg_time time);

/*
 * Replaces a published time by an earlier one that no horizon can have passed: the base of a LONG on the preserve list, under
 * whose latch the caller is (L6).  Owner of the session.
 */
extern void tg_snapshot_lower(tg_session *session, unsigned entry, tg_time time);

/*
 * Makes it stand for all from an earlier time on that the host still keeps (tg_horizon_keep), for as long as this call takes.
 * Owner of the session.
 */
extern void tg_snapshot_lower_from(tg_session *session, unsigned entry, tg_time time);

/*
 * Publishes a time that others have published, whoever they are; one of them has to until this returns.  from: to stand for all
 * later times, too, as theirs does.  Owner of the session.
 */
extern void tg_snapshot_adopt(tg_session *session, tg_time time, bool from, unsigned *entry_out);

/*
 * What the host needs beside all snapshots: everything from this time on; 0: nothing.  The first one is loaded
 * from the clock; later ones are not before it.  One caller at a time.
 */
extern void tg_horizon_keep(tg_time from);

/*
 * Publishes a time that is published already, by the caller's session, for a
 * job that may outlive it; from: to stand for all later times, too, as the session's does.  TG_FULL.
 */
extern tg_status tg_snapshot_publish_job(tg_time time, bool from, unsigned *entry_out) TG_MUST_USE;

/* As tg_snapshot_raise.  Whoever has the entry. */
extern void tg_snapshot_raise_job(unsigned entry, tg_time time);
extern void tg_snapshot_withdraw_job(unsigned entry);

/*
 * G1: every published snapshot and lower bound is at least this, and always will be.  Drops those LONGs from the
 * preserve list that have been over for everybody.
 */
extern tg_time tg_horizon_compute(void);

/* Whether it is before a time for nothing but what the host keeps, as far as can be told. */
extern bool tg_horizon_is_kept_before(tg_time time);

/*
 * G3: all the times that are read at, as of one moment.  Of points, the lowest
 * so many; those above are within «from bound on».
 */
#define TG_POINTS_MAX 1024

typedef struct tg_readings
{
	tg_time horizon; /* as of tg_horizon_compute */
	tg_time bound;	 /* from here on everything may be read */
	unsigned count;
	tg_time point[TG_POINTS_MAX]; /* ascending, below the bound */
} tg_readings;

extern void tg_readings_gather(tg_readings *readings);

/* The place of the first point that is not before a time; count if there is none. */
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

/* G2 and G3: whether nobody can see a version that was there from begin to before end, both timestamps. */
static inline bool
tg_readings_miss(const tg_readings *readings, tg_time begin, tg_time end)
{
	unsigned place;

	if (end > readings->bound)
		return false;
	place = tg_readings_from(readings, begin);
	return place == readings->count || readings->point[place] >= end;
}

/* A session that has gone: withdraws all it had. */
extern void tg_snapshot_withdraw_all(tg_session *session);

/* The i-th session's oldest published snapshot, or 0: for views. */
extern tg_time tg_snapshot_oldest(unsigned session_id);

/* The same of those that are published for no session: of jobs, and of transactions that several sessions work in. */
extern tg_time tg_snapshot_oldest_job(void);

#endif /* TG_HORIZON_H */
