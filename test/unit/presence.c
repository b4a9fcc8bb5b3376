/*
 * presence.c
 *	  Sessions that are away: what becomes of one step by step; then owners that
 *	  come and go and visitors that do their duties, at once: nothing is lost, and
 *	  ThreadSanitizer sees no two at one cache.
 */
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/mem/presence.h"

#include <sched.h>
#include <stdlib.h>

#include "test/unit/unit.h"

#define MIB ((size_t) 1 << 20)
#define OWNERS 3
#define VISITORS 2
#ifdef __SANITIZE_THREAD__
#define ROUNDS 2000
#else
#define ROUNDS 20000
#endif
#define HELD 64

static tg_session *session; /* the main thread's */

static size_t
committed(void)
{
	tg_arena_trim();
	return tg_arena_committed();
}

static void
test_states(void)
{
	tg_session *other;
	void *objects[HELD];
	size_t before = committed();

	if (tg_session_open(&other) != TG_OK)
		abort();
	for (unsigned i = 0; i < HELD; i++)
		objects[i] = tg_alloc(other, 4000, TG_USE_RUNTIME, TG_DATA);
	for (unsigned i = 0; i < HELD; i++)
		tg_free(other, objects[i], TG_USE_RUNTIME);
	unit_ok(committed() > before, "a session keeps some of what it has freed");
	unit_equal(tg_presence_visit(session, false), 0, "while it is there, so it remains");
	unit_equal(tg_presence_visit(session, true), 0, "but it is asked, if memory is short");
	tg_session_answer(other);
	unit_equal(committed(), before, "at its next safe point it gives all back");

	tg_free(other, tg_alloc(other, 4000, TG_USE_RUNTIME, TG_DATA), TG_USE_RUNTIME);
	tg_session_go_away(other);
	unit_equal(tg_presence_visit(session, false), 0, "it goes away: not for long yet");
	unit_ok(!tg_presence_look(), "nor when one first looks");
	unit_ok(tg_presence_look(), "the second time it is");
	unit_equal(tg_presence_visit(session, false), 1, "another session gives it back");
	unit_equal(committed(), before, "all");
	unit_equal(tg_presence_visit(session, true), 0, "once");
	unit_ok(!tg_presence_look(), "and there is nothing more to look for");
	tg_session_come_back(other);
	tg_free(other, tg_alloc(other, 4000, TG_USE_RUNTIME, TG_DATA), TG_USE_RUNTIME);
	tg_session_go_away(other);
	unit_equal(tg_presence_visit(session, true), 1, "away again: at once, if memory is short");
	tg_session_come_back(other);
	unit_ok(!tg_presence_look() && !tg_presence_look(), "a present session is not visited");
	(void) tg_presence_visit(session, true);
	tg_session_close(other);
	if (tg_session_open(&other) != TG_OK)
		abort();
	unit_equal(other->presence, TG_PRESENT, "the next owner was not asked");
	tg_session_close(other);
	unit_equal(committed(), before, "nothing is left");
}

typedef struct crowd
{
	unsigned owners; /* that have yet to end; atomic */
	unsigned visits; /* atomic */
} crowd;

static void
own(unsigned number)
{
	tg_session *own;
	void *held[HELD] = {NULL};

	if (tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned round = 0; round < ROUNDS; round++)
	{
		for (unsigned i = round % 7; i < HELD; i += 7)
		{
			if (held[i] != NULL)
				tg_free(own, held[i], TG_USE_RUNTIME);
			held[i] = tg_alloc(own, 64 + 16 * ((round + number) % 32), TG_USE_RUNTIME, TG_DATA);
		}
		tg_session_answer(own);
		tg_session_go_away(own);
		if (round % 16 == 0)
			(void) sched_yield();
		tg_session_come_back(own);
	}
	for (unsigned i = 0; i < HELD; i++)
		tg_free(own, held[i], TG_USE_RUNTIME);
	tg_session_close(own);
}

static void
body(unsigned number, void *argument)
{
	crowd *crowd = argument;
	tg_session *visitor;

	if (number < OWNERS)
	{
		own(number);
		tg_fetch_add_relaxed(&crowd->owners, -1u);
		return;
	}
	if (tg_session_open(&visitor) != TG_OK)
		abort();
	while (tg_load_relaxed(&crowd->owners) > 0)
	{
		unsigned visits;

		if (number == OWNERS)
			(void) tg_presence_look();
		visits = tg_presence_visit(visitor, number == OWNERS);
		tg_fetch_add_relaxed(&crowd->visits, visits);
	}
	tg_session_close(visitor);
}

static void
test_crowd(void)
{
	crowd crowd = {.owners = OWNERS};
	size_t before = committed();

	unit_threads(OWNERS + VISITORS, body, &crowd);
	unit_ok(crowd.visits > 0, "%u visits", crowd.visits);
	tg_arena_check();
	unit_equal(committed(), before, "owners and visitors leave nothing");
}

int
main(void)
{
	tg_arena_config config = {.reserve_bytes = 64 * MIB, .limit_bytes = 64 * MIB, .session_max = 16};

	if (tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	test_states();
	test_crowd();
	tg_session_close(session);
	tg_arena_destroy();
	return unit_done();
}
