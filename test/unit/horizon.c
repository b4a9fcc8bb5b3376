/*
 * horizon.c
 *	  The horizon never passes a time that a reader reads at: with one entry, with more snapshots
 *	  than entries, with jobs that outlive their session's entry, with times that are handed over,
 *	  and while all of them come and go next to a committer and a collector.
 */
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define SESSIONS 16
#define MIB ((size_t) 1 << 20)
#define ROUNDS 20000

static void
begin(void)
{
	tg_arena_config config = {.reserve_bytes = 64 * MIB, .limit_bytes = 64 * MIB, .session_max = SESSIONS};

	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK)
		abort();
}

static tg_session *
session_new(void)
{
	tg_session *session;

	if (tg_session_open(&session) != TG_OK)
		abort();
	return session;
}

static void
tick(void)
{
	(void) tg_fetch_add_seq_cst(tg_clock, 1);
}

static void
test_one(void)
{
	tg_session *session = session_new();
	unsigned entry;
	tg_time time;

	unit_equal(tg_load_relaxed(tg_clock), TG_TIME_FIRST, "the clock starts at its first value");
	unit_equal(tg_horizon_compute(), TG_TIME_FIRST, "without readers the horizon is the clock");
	tick();
	time = tg_snapshot_publish(session, &entry);
	unit_equal(time, TG_TIME_FIRST + 1, "a snapshot is the clock's value");
	tick();
	unit_equal(tg_horizon_compute(), time, "a snapshot holds the horizon");
	unit_equal(tg_snapshot_oldest(session->id), time, "views see it");
	tg_snapshot_withdraw(session, entry);
	unit_equal(tg_horizon_compute(), TG_TIME_FIRST + 2, "withdrawn, it does not");
	unit_equal(tg_snapshot_oldest(session->id), 0, "views see none");
	tg_session_close(session);
}

static void
test_many(void)
{
	tg_session *session = session_new();
	unsigned entry[3 * TG_SNAPSHOTS_PER_SESSION];
	tg_time time[3 * TG_SNAPSHOTS_PER_SESSION];
	unsigned count = 3 * TG_SNAPSHOTS_PER_SESSION;
	bool fresh = true;
	bool held = true;

	for (unsigned i = 0; i < count; i++)
	{
		tick();
		time[i] = tg_snapshot_publish(session, &entry[i]);
		fresh &= time[i] == tg_load_relaxed(tg_clock);
	}
	unit_ok(fresh, "more snapshots than entries, each one is fresh");
	unit_equal(tg_horizon_compute(), time[0], "the oldest holds the horizon");
	for (unsigned i = 0; i + 1 < count; i++)
	{
		tg_snapshot_withdraw(session, entry[i]);
		held &= tg_horizon_compute() <= time[i + 1] &&
				tg_horizon_compute() >= time[i < TG_SNAPSHOTS_PER_SESSION - 1 ? i : 0];
	}
	unit_ok(held, "withdrawn from the oldest on, those that are left hold it");
	unit_equal(tg_horizon_compute(), time[TG_SNAPSHOTS_PER_SESSION - 1],
			   "the shared entry keeps the time of its first user for the last one");
	tg_snapshot_withdraw(session, entry[count - 1]);
	unit_equal(tg_horizon_compute(), tg_load_relaxed(tg_clock), "all withdrawn");

	for (unsigned i = 0; i < count; i++)
		(void) tg_snapshot_publish(session, &entry[i]);
	tick();
	tg_snapshot_withdraw_all(session);
	unit_equal(tg_horizon_compute(), tg_load_relaxed(tg_clock), "a session that has gone holds nothing");
	time[0] = tg_snapshot_publish(session, &entry[0]);
	tick();
	unit_equal(tg_horizon_compute(), time[0], "and its place works again");
	tg_snapshot_withdraw(session, entry[0]);
	tg_session_close(session);
}

/* Readings against G3's definition, for every interval; an entry is a point or all later times. */
static void
test_readings(void)
{
	static tg_readings readings;
	tg_session *sessions[3] = {session_new(), session_new(), session_new()};
	unsigned faults = 0;
	unsigned missed = 0;
	uint64_t random = 1;

	for (unsigned round = 0; round < 200; round++)
	{
		unsigned entry[8];
		tg_time time[8];
		bool from[8];
		tg_time first = tg_load_relaxed(tg_clock);
		tg_time clock;

		for (unsigned i = 0; i < 8; i++)
		{
			for (unsigned ticks = unit_below(&random, 3); ticks > 0; ticks--)
				tick();
			from[i] = unit_below(&random, 8) == 0;
			time[i] = from[i] ? tg_snapshot_publish_from(sessions[i % 3], &entry[i])
							  : tg_snapshot_publish(sessions[i % 3], &entry[i]);
		}
		tick();
		if (round % 4 == 3)
		{
			tg_snapshot_hold(sessions[1], time[4]);
			for (unsigned i = 1; i < 8; i += 3)
				from[i] |= time[i] == time[4];
		}
		clock = tg_load_relaxed(tg_clock);
		tg_readings_gather(&readings);
		for (tg_time begin = first; begin <= clock; begin++)
		{
			for (tg_time end = begin; end <= clock + 1; end++)
			{
				bool is_read = end > clock; /* a reader may come that reads before it */

				for (unsigned i = 0; i < 8; i++)
					is_read |= from[i] ? time[i] < end : begin <= time[i] && time[i] < end;
				faults += tg_readings_miss(&readings, begin, end) == is_read;
				missed += !is_read;
			}
		}
		faults += readings.horizon != tg_horizon_compute();
		for (unsigned i = 0; i < 8; i++)
			tg_snapshot_withdraw(sessions[i % 3], entry[i]);
	}
	unit_equal(faults, 0, "a version is garbage exactly if no reader is within its time (%u are)", missed);
	for (unsigned i = 0; i < 3; i++)
		tg_session_close(sessions[i]);
}

static void
test_jobs(void)
{
	tg_session *session = session_new();
	unsigned jobs[TG_SNAPSHOTS_OF_JOBS];
	unsigned more;
	unsigned entry;
	unsigned taken = 0;
	tg_time time = tg_snapshot_publish(session, &entry);

	while (taken < TG_SNAPSHOTS_OF_JOBS && tg_snapshot_publish_job(time, false, &jobs[taken]) == TG_OK)
		taken++;
	unit_equal(taken, TG_SNAPSHOTS_OF_JOBS, "as many jobs' snapshots as there are entries");
	unit_ok(tg_snapshot_publish_job(time, false, &more) == TG_FULL, "one more is refused");
	tg_snapshot_withdraw(session, entry);
	tick();
	unit_equal(tg_horizon_compute(), time, "a job's entry outlives the session's");
	tg_snapshot_withdraw_job(jobs[77]);
	unit_ok(tg_snapshot_publish_job(time, false, &jobs[77]) == TG_OK, "an entry given back can be had again");
	for (unsigned i = 0; i < taken; i++)
		tg_snapshot_withdraw_job(jobs[i]);
	unit_equal(tg_horizon_compute(), tg_load_relaxed(tg_clock), "all withdrawn");
	tg_session_close(session);
}

/* Between the looks at the heir's entry and the source's the time is handed over. */
static struct
{
	tg_session *heir;
	tg_session *source;
	tg_time time;
	unsigned source_entry;
	unsigned heir_entry;
	unsigned sessions_passed;
	bool skip;
} handed;

static bool
hand_over(const char *name)
{
	if (strcmp(name, "skip_adopted") == 0)
		return handed.skip;
	if (strcmp(name, "horizon_session") != 0 || handed.sessions_passed++ != handed.source->id)
		return false;
	tg_snapshot_adopt(handed.heir, handed.time, false, &handed.heir_entry);
	tg_snapshot_withdraw(handed.source, handed.source_entry);
	return false;
}

static void
test_adopted(void)
{
	static tg_readings readings;

	tg_session *sessions[] = {session_new(), session_new()};
	bool in_order = sessions[0]->id < sessions[1]->id;

	handed.heir = sessions[in_order ? 0 : 1];
	handed.source = sessions[in_order ? 1 : 0];
	for (int i = 0; i < 2; i++)
	{
		handed.skip = i == 1;
		handed.sessions_passed = 0;
		handed.time = tg_snapshot_publish(handed.source, &handed.source_entry);
		tick();
		tg_failpoint_set(hand_over);
		tg_readings_gather(&readings);
		tg_failpoint_set(NULL);
		unit_ok((readings.horizon > handed.time) == handed.skip, handed.skip
																	 ? "without the count of adoptions a time is lost"
																	 : "a time is taken over beside a computation");
		unit_equal(tg_horizon_compute(), handed.time, "it is there");
		tg_snapshot_withdraw(handed.heir, handed.heir_entry);
	}

	handed.time = tg_snapshot_publish_from(handed.source, &handed.source_entry);
	tick();
	tg_snapshot_adopt(handed.heir, handed.time, true, &handed.heir_entry);
	tg_snapshot_withdraw(handed.source, handed.source_entry);
	tick();
	tg_readings_gather(&readings);
	unit_ok(!tg_readings_miss(&readings, handed.time + 1, handed.time + 2),
			"one that stands for all later times goes on to");
	tg_snapshot_withdraw(handed.heir, handed.heir_entry);
	tg_session_close(handed.source);
	tg_session_close(handed.heir);
}

/* The heir's entries are all taken: the last one is shared. */
static void
test_adopted_in_shared(void)
{
	tg_session *heir = session_new();
	tg_session *source = session_new();
	unsigned entries[TG_SNAPSHOTS_PER_SESSION + 1];
	unsigned source_entry;
	unsigned adopted;
	tg_time time = tg_snapshot_publish(source, &source_entry);

	tick();
	for (unsigned i = 0; i < TG_SNAPSHOTS_PER_SESSION + 1; i++)
		(void) tg_snapshot_publish(heir, &entries[i]);
	tg_snapshot_adopt(heir, time, false, &adopted);
	tg_snapshot_withdraw(source, source_entry);
	unit_equal(tg_horizon_compute(), time, "an earlier time in the shared entry");
	for (unsigned i = 0; i < TG_SNAPSHOTS_PER_SESSION + 1; i++)
		tg_snapshot_withdraw(heir, entries[i]);
	unit_equal(tg_horizon_compute(), time, "stays with its last user");
	tg_snapshot_withdraw(heir, adopted);
	unit_equal(tg_horizon_compute(), tg_load_relaxed(tg_clock), "and goes with it");
	tg_session_close(source);
	tg_session_close(heir);
}

/* --- all at once ---------------------------------------------------------- */

typedef struct stress
{
	uint64_t limit;	  /* atomic: the largest horizon computed */
	uint32_t readers; /* atomic: still at it */
	uint32_t faults;  /* atomic */
} stress;

#define READERS 4

static void
check_time(stress *stress, tg_time time)
{
	if (tg_load_acquire(&stress->limit) > time)
		tg_fetch_add_relaxed(&stress->faults, 1);
}

/* A time goes from one session to the other, and back. */
static void
adopt_once(stress *stress, tg_session *session, tg_session *other)
{
	unsigned entry;
	unsigned heir;
	tg_time time = tg_snapshot_publish(session, &entry);

	tg_snapshot_adopt(other, time, false, &heir);
	tg_snapshot_withdraw(session, entry);
	check_time(stress, time);
	tg_snapshot_adopt(session, time, false, &entry);
	tg_snapshot_withdraw(other, heir);
	check_time(stress, time);
	tg_snapshot_withdraw(session, entry);
}

static void
read_once(stress *stress, tg_session *session, unsigned round)
{
	unsigned entry;
	unsigned job;
	unsigned inner;
	tg_time time = tg_snapshot_publish(session, &entry);
	bool has_job = round % 3 == 0 && tg_snapshot_publish_job(time, false, &job) == TG_OK;

	if (round % 5 == 0)
	{
		tg_time second = tg_snapshot_publish(session, &inner);

		if (second < time || tg_load_acquire(&stress->limit) > second)
			tg_fetch_add_relaxed(&stress->faults, 1);
		tg_snapshot_withdraw(session, inner);
	}
	check_time(stress, time);
	tg_snapshot_withdraw(session, entry);
	if (has_job)
	{
		check_time(stress, time);
		tg_snapshot_withdraw_job(job);
	}
}

static void
stress_body(unsigned number, void *argument)
{
	stress *stress = argument;

	if (number < READERS)
	{
		for (unsigned round = 0; round < ROUNDS;)
		{
			tg_session *session = session_new(); /* sessions come and go as well */
			tg_session *other = session_new();

			for (unsigned i = 0; i < 1000; i++, round++)
			{
				read_once(stress, session, round);
				if (round % 7 == 0)
					adopt_once(stress, session, other);
			}
			tg_session_close(other);
			tg_session_close(session);
		}
		tg_fetch_add_acq_rel(&stress->readers, (uint32_t) -1);
		return;
	}
	while (tg_load_acquire(&stress->readers) > 0)
	{
		if (number == READERS)
			tick();
		else
		{
			tg_time horizon = tg_horizon_compute();

			if (horizon > tg_load_relaxed(&stress->limit))
				tg_store_release(&stress->limit, horizon);
		}
	}
}

static void
test_stress(void)
{
	stress stress = {.readers = READERS};

	unit_threads(READERS + 2, stress_body, &stress);
	if (tg_horizon_compute() > stress.limit)
		/* the collecting thread may have had no turn in time */
		stress.limit = tg_horizon_compute();
	unit_equal(stress.faults, 0, "no horizon passed a published time (last one %" PRIu64 ")", stress.limit);
	unit_equal(stress.limit, tg_load_relaxed(tg_clock), "and it came to the clock in the end");
}

int
main(void)
{
	begin();
	test_one();
	test_many();
	test_readings();
	test_jobs();
	test_adopted();
	test_adopted_in_shared();
	test_stress();
	tg_arena_destroy();
	return unit_done();
}
