/*
 * session.c
 *	  Sessions can be opened up to their number; an epoch is held by the sessions that are inside
 *	  and by no others; no retired memory is freed while a session that could see it is inside, and
 *	  all of it is freed in the end.
 *
 * The stress tests write a mark into shared memory and take it out after the memory was freed
 * (debug builds fill freed memory, which does the same).  They do not prove the memory orders:
 * session.c argues those.
 */
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/retire.h"
#include "test/unit/unit.h"

#define SESSIONS 12
#define MIB ((size_t) 1 << 20)

static void
arena_begin(void)
{
	tg_arena_config config = {.reserve_bytes = 256 * MIB, .limit_bytes = 256 * MIB, .session_max = SESSIONS};

	if (tg_arena_create(&config) != TG_OK)
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

static size_t
used_now(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used;
}

/* Blobs are not what the library itself allocates, so this counts what is retired here. */
static size_t
blobs_now(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_BLOB];
}

static void
retire_new(tg_session *session, size_t bytes)
{
	void *object = tg_alloc(session, bytes, TG_USE_BLOB, TG_DATA);

	if (object == NULL || tg_retire_reserve(session, 1) != TG_OK)
		abort();
	tg_retire(session, object, TG_USE_BLOB);
}

/* --- the table --------------------------------------------------------------------- */

static void
test_table(void)
{
	tg_session *sessions[SESSIONS];
	tg_session *extra;
	bool ids[SESSIONS] = {false};
	unsigned distinct = 0;

	unit_equal(tg_session_max(), SESSIONS, "there are as many sessions as were asked for");
	for (unsigned i = 0; i < SESSIONS; i++)
	{
		sessions[i] = session_new();
		distinct += !ids[sessions[i]->id];
		ids[sessions[i]->id] = true;
	}
	unit_equal(distinct, SESSIONS, "all of them can be opened");
	unit_ok(tg_session_open(&extra) == TG_FULL, "one more cannot");
	tg_session_close(sessions[5]);
	unit_ok(!tg_session_is_open(sessions[5]->id), "a closed one is not open");
	unit_ok(tg_session_open(&extra) == TG_OK && extra == sessions[5], "and can be opened again");
	unit_ok(tg_session_is_open(extra->id), "then it is");

	unsigned holders = 0;

	for (unsigned i = 0; i < SESSIONS; i++)
	{
		uint64_t epoch = tg_epoch_now();

		tg_epoch_enter(sessions[i]);
		tg_epoch_advance();
		holders += tg_epoch_confirmed() == epoch;
		tg_epoch_leave(sessions[i]);
	}
	unit_equal(holders, SESSIONS, "each of them can hold an epoch");

	for (unsigned i = 0; i < SESSIONS; i++)
	{
		tg_free(sessions[i], tg_alloc(sessions[i], 88, TG_USE_BLOB, TG_DATA), TG_USE_BLOB);
		tg_session_close(sessions[i]);
	}
	unit_equal(used_now(), 0, "closed sessions leave nothing behind");
	tg_arena_trim();
	unit_equal(tg_arena_committed(), 0, "not even in their caches");
}

/* --- epochs ------------------------------------------------------------------------- */

static void
test_epochs(void)
{
	tg_session *idle = session_new();
	tg_session *session = session_new();
	uint64_t epoch = tg_epoch_now();

	tg_epoch_advance();
	unit_equal(tg_epoch_now(), epoch + 1, "an advance starts the next epoch");
	unit_equal(tg_epoch_confirmed(), epoch + 1, "with no session inside it is confirmed at once");

	tg_epoch_enter(session);
	tg_epoch_advance();
	tg_epoch_advance();
	unit_equal(tg_epoch_confirmed(), epoch + 1, "a session inside holds the epoch it entered in");
	tg_epoch_enter(session);
	tg_epoch_leave(session);
	unit_ok(tg_epoch_inside(session), "entering nests");
	unit_equal(tg_epoch_confirmed(), epoch + 1, "and the outer one counts");
	tg_epoch_enter(idle);
	unit_equal(tg_epoch_confirmed(), epoch + 1, "the oldest one inside counts");
	tg_epoch_leave(session);
	unit_ok(!tg_epoch_inside(session), "left, it is quiescent");
	unit_equal(tg_epoch_confirmed(), epoch + 3, "and holds nothing");
	tg_epoch_leave(idle);
	tg_session_close(session);
	tg_session_close(idle);
}

#ifdef TG_FAILPOINTS

static bool
advance_once(const char *name)
{
	static bool done;

	if (!done && strcmp(name, "epoch_enter") == 0)
	{
		done = true;
		tg_epoch_advance();
	}
	return false;
}

/* The epoch moves on between a session's look at it and its store. */
static void
test_enter_late(void)
{
	tg_session *session = session_new();

	tg_failpoint_set(advance_once);
	tg_epoch_enter(session);
	tg_failpoint_set(NULL);
	unit_equal(tg_load_relaxed(&session->epoch), tg_epoch_now(), "a session that was late enters in the current epoch");
	tg_epoch_leave(session);
	tg_session_close(session);
}

#endif

/* --- retirement ------------------------------------------------------------------------ */

static void
test_retire(void)
{
	tg_session *reader = session_new();
	tg_session *session = session_new();

	tg_epoch_enter(reader);
	retire_new(session, 1000);
	unit_equal(tg_retire_count(session), 1, "a retired object waits");
	tg_epoch_advance();
	tg_retire_poll(session);
	unit_ok(blobs_now() > 0, "it is not freed while a session inside may see it");
	tg_epoch_leave(reader);
	tg_retire_poll(session);
	unit_equal(blobs_now(), 0, "it is freed when they have left");

	retire_new(session, 1000);
	tg_retire_poll(session);
	unit_ok(blobs_now() > 0, "nothing is freed in the epoch it was retired in");
	tg_epoch_enter(reader);
	tg_epoch_advance();
	tg_retire_poll(session);
	unit_ok(blobs_now() > 0, "nor while a session that entered in that epoch is inside");
	tg_epoch_enter(session);
	tg_epoch_leave(reader);
	tg_retire_poll(session);
	unit_equal(blobs_now(), 0, "a session that entered later does not matter");
	tg_epoch_leave(session);

	for (unsigned i = 0; i < 3; i++)
	{
		retire_new(session, 100);
		tg_epoch_advance();
	}
	tg_epoch_enter(reader);
	retire_new(session, 100);
	retire_new(session, 100);
	tg_epoch_advance();
	tg_retire_poll(session);
	unit_equal(tg_retire_count(session), 2, "of several the old ones go first");
	tg_epoch_leave(reader);
	tg_retire_poll(session);
	unit_equal(tg_retire_count(session), 0, "then the others");

	tg_session_close(reader);
	tg_session_close(session);
	unit_equal(used_now(), 0, "nothing is left");
}

static void
test_reserve(void)
{
	enum
	{
		OBJECTS = 1000
	};
	static void *objects[OBJECTS];
	tg_session *session = session_new();
	tg_session *reader = session_new();

	for (unsigned i = 0; i < OBJECTS; i++)
		objects[i] = tg_alloc(session, 64, TG_USE_BLOB, TG_DATA);
	unit_ok(tg_retire_reserve(session, OBJECTS) == TG_OK, "room is reserved");
	tg_epoch_enter(reader);
	tg_arena_limit_set(0);
	unit_ok(tg_retire_reserve(session, 1000000) == TG_NO_MEMORY, "more than there is memory for is refused");
	for (unsigned i = 0; i < OBJECTS; i++)
		tg_retire(session, objects[i], TG_USE_BLOB);
	unit_equal(tg_retire_count(session), OBJECTS, "the reserved places are there, with no memory left");
	tg_arena_limit_set(256 * MIB);
	tg_epoch_leave(reader);
	tg_epoch_advance();
	tg_retire_poll(session);
	unit_equal(blobs_now(), 0, "all of it is freed");
	tg_session_close(session);
	tg_session_close(reader);
	unit_equal(used_now(), 0, "with the blocks");
}

static void
test_bound(void)
{
	tg_session *session = session_new();
	size_t most = 0;

	for (unsigned i = 0; i < 20000; i++)
	{
		tg_epoch_enter(session);
		retire_new(session, 64);
		tg_epoch_leave(session);
		if (tg_retire_count(session) > most)
			most = tg_retire_count(session);
	}
	unit_ok(most <= 4 * 64, "the waiting objects are bounded without polls or new epochs: %zu", most);
	tg_epoch_advance();
	tg_retire_poll(session);
	unit_equal(blobs_now(), 0, "and goes at the end");
	tg_session_close(session);
}

static void
test_orphans(void)
{
	tg_session *reader = session_new();
	tg_session *session = session_new();
	tg_session *other = session_new();

	tg_epoch_enter(reader);
	for (unsigned i = 0; i < 500; i++)
		retire_new(session, 100);
	tg_session_close(session);
	tg_epoch_advance();
	tg_retire_poll(other);
	unit_ok(blobs_now() == 500 * 104, "a closed session's retired memory is kept while a reader may see it");
	tg_epoch_leave(reader);
	tg_retire_poll(other);
	unit_equal(blobs_now(), 0, "and freed by another session's poll");

	for (unsigned i = 0; i < 10; i++)
		retire_new(other, 100);
	tg_retire_abandon(other);
	unit_equal(tg_retire_count(other), 0, "a session can abandon what it retired");
	tg_epoch_advance();
	tg_retire_poll(reader);
	unit_equal(blobs_now(), 0, "and another one frees it");
	tg_session_close(other);
	tg_session_close(reader);
	unit_equal(used_now(), 0, "nothing is left");
}

/* --- stress -------------------------------------------------------------------------------- */

#define PLACES 16
#define MARK UINT64_C(0x5eed5eed5eed5eed)

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 30000
#else
#define ROUNDS 200000
#endif

typedef struct marked
{
	uint64_t mark;
	uint64_t copy;
} marked;

/* Shared by threads or processes; in the arena. */
typedef struct stress
{
	marked *places[PLACES]; /* exchanged by writers, read by readers */
	uint64_t writers;		/* still at work */
	uint64_t broken;		/* times a reader saw freed memory */
} stress;

static void
stress_write(stress *shared, unsigned number)
{
	tg_session *session = session_new();
	uint32_t random = number + 1;

	for (unsigned round = 0; round < ROUNDS; round++)
	{
		marked *made = tg_alloc(session, sizeof(*made), TG_USE_BLOB, TG_DATA);
		marked *old;

		random = random * 1664525 + 1013904223;
		if (made == NULL || tg_retire_reserve(session, 1) != TG_OK)
			abort();
		made->mark = MARK;
		made->copy = MARK;
		old = tg_exchange_acq_rel(&shared->places[(random >> 8) % PLACES], made);
		if (old != NULL)
			tg_retire(session, old, TG_USE_BLOB);
		if (round % 4096 == 0) /* some of what it retired become orphans */
		{
			tg_session_close(session);
			session = session_new();
		}
	}
	tg_session_close(session);
	(void) tg_fetch_add_acq_rel(&shared->writers, -1);
}

static void
stress_read(stress *shared, unsigned number)
{
	tg_session *session = session_new();
	uint32_t random = number + 1;

	while (tg_load_acquire(&shared->writers) > 0)
	{
		tg_epoch_enter(session);
		for (unsigned looks = 0; looks < 8; looks++)
		{
			random = random * 1664525 + 1013904223;

			const marked *seen = tg_load_acquire(&shared->places[(random >> 8) % PLACES]);

			if (seen == NULL)
				continue;
			if (random >> 28 == 0)
				(void) sched_yield(); /* now and then the writers get far ahead */
			if (seen->mark != MARK || seen->copy != MARK)
				(void) tg_fetch_add_relaxed(&shared->broken, 1);
		}
		tg_epoch_leave(session);
		if (random >> 26 == 0)
			tg_epoch_advance();
	}
	tg_session_close(session);
}

static void
stress_run(unsigned number, void *argument)
{
	if (number < 2)
		stress_write(argument, number);
	else
		stress_read(argument, number);
}

static stress *
stress_begin(tg_session *session)
{
	stress *shared = tg_alloc_zeroed(session, sizeof(*shared), TG_USE_RUNTIME, TG_DATA);

	shared->writers = 2;
	return shared;
}

static void
stress_end(tg_session *session, stress *shared, const char *name)
{
	unit_equal(shared->broken, 0, "%s: no reader saw freed memory", name);
	for (unsigned place = 0; place < PLACES; place++)
	{
		if (shared->places[place] != NULL)
			tg_free(session, shared->places[place], TG_USE_BLOB);
	}
	tg_free(session, shared, TG_USE_RUNTIME);
	tg_epoch_advance();
	tg_retire_poll(session);
	unit_equal(used_now(), 0, "%s: everything was freed", name);
	tg_arena_check();
}

static void
test_stress_threads(void)
{
	tg_session *session = session_new();
	stress *shared = stress_begin(session);

	unit_threads(5, stress_run, shared);
	stress_end(session, shared, "threads");
	tg_session_close(session);
}

static void
test_stress_processes(void)
{
	tg_session *session = session_new();
	stress *shared = stress_begin(session);
	unsigned sound = 0;

	for (unsigned number = 0; number < 4; number++)
	{
		if (fork() == 0)
		{
			stress_run(number, shared);
			_exit(0);
		}
	}
	for (unsigned number = 0; number < 4; number++)
	{
		int status;

		sound += wait(&status) > 0 && status == 0;
	}
	unit_equal(sound, 4, "processes: all came to their end");
	stress_end(session, shared, "processes");
	tg_session_close(session);
}

int
main(void)
{
	alarm(600);
	arena_begin();
	test_table();
	test_epochs();
#ifdef TG_FAILPOINTS
	test_enter_late();
#endif
	test_retire();
	test_reserve();
	test_bound();
	test_orphans();
	test_stress_threads();
	test_stress_processes();
	tg_arena_destroy();
	return unit_done();
}
