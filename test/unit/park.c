/*
 * park.c
 *	  The word of three states: every transition, and sleeps that always end.
 *
 * A sleeper and its wakers, in threads and in two processes, hand a turn to
 * each other; a sleep that misses its notification lasts for ever and fails the
 * test.  Notifications are counted: each PARKED ends by exactly one of them.
 */
#include "runtime/sched/park.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/unit.h"

#define FOREVER_US 20000000

static void
test_transitions(void)
{
	uint32_t word = TG_PARK_RUNNING;

	unit_ok(!tg_park_notify_parked(&word) && word == TG_PARK_RUNNING,
			"a notification for sleepers only leaves RUNNING unchanged");
	unit_ok(tg_park_try(&word) && word == TG_PARK_PARKED, "RUNNING can be parked");
	unit_ok(tg_park_cancel(&word) && word == TG_PARK_RUNNING, "and take it back");
	unit_ok(!tg_park_notify(&word) && word == TG_PARK_NOTIFIED, "a notification of RUNNING wakes no thread, and stays");
	unit_ok(!tg_park_notify(&word) && !tg_park_notify_parked(&word) && word == TG_PARK_NOTIFIED,
			"as does a second one");
	unit_ok(!tg_park_try(&word) && word == TG_PARK_NOTIFIED, "NOTIFIED cannot be parked");
	tg_park_consume(&word);
	unit_ok(word == TG_PARK_RUNNING, "a notification is consumed once");
	unit_ok(tg_park_try(&word) && tg_park_notify(&word) && !tg_park_notify(&word),
			"PARKED is ended by one notification");
	unit_ok(!tg_park_cancel(&word) && word == TG_PARK_RUNNING, "and cancelling the park reports the notification");
	unit_ok(tg_park_try(&word) && tg_park_notify_parked(&word) && !tg_park_notify_parked(&word),
			"likewise for a notification for sleepers only");
	unit_ok(tg_park_sleep(&word, FOREVER_US) && word == TG_PARK_RUNNING, "a sleep after it ends at once");
}

static void
test_timeout(void)
{
	uint32_t word = TG_PARK_RUNNING;
	uint64_t begin = tg_clock_us();
	bool notified;

	(void) tg_park_try(&word);
	notified = tg_park_sleep(&word, 20000);
	unit_ok(!notified && word == TG_PARK_RUNNING, "a sleep ends by itself");
	unit_ok(tg_clock_us() - begin >= 20000, "not before its time");
}

/* --- two that hand a turn to each other ------------------------------------------ */

#define TURNS 30000

typedef struct couple
{
	uint32_t words[2];
	uint32_t turn; /* relaxed: ordered by the words */
	uint32_t late;
} couple;

static void
take_turns(unsigned number, void *argument)
{
	couple *couple = argument;

	for (unsigned i = 0; i < TURNS; i++)
	{
		while (tg_load_relaxed(&couple->turn) % 2 != number)
		{
			if (!tg_park_try(&couple->words[number]))
				tg_park_consume(&couple->words[number]);
			else if (!tg_park_sleep(&couple->words[number], FOREVER_US))
			{
				tg_store_relaxed(&couple->late, 1);
				return;
			}
		}
		for (unsigned pause = i % 50; pause > 0; pause--)
			tg_pause();
		tg_store_relaxed(&couple->turn, tg_load_relaxed(&couple->turn) + 1);
		if (tg_park_notify(&couple->words[1 - number]))
			tg_park_wake(&couple->words[1 - number]);
	}
}

static void
test_couple(void)
{
	couple couple = {0};
	void *memory = mmap(NULL, sizeof(couple), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct couple *shared = memory;
	int status = 1;
	pid_t child;

	unit_threads(2, take_turns, &couple);
	unit_ok(!couple.late && couple.turn == 2 * TURNS, "two threads hand a turn to each other %d times", 2 * TURNS);

	if (memory == MAP_FAILED)
		abort();
	child = fork();
	if (child == 0)
	{
		take_turns(1, shared);
		_exit(0);
	}
	take_turns(0, shared);
	unit_ok(waitpid(child, &status, 0) == child && status == 0 && !shared->late && shared->turn == 2 * TURNS,
			"so do two processes");
	munmap(memory, sizeof(couple));
}

/* --- several notifiers -------------------------------------------------------------- */

#define NOTIFIERS 3
#define PARKS 20000

typedef struct crowd
{
	uint32_t word;
	uint32_t ended;
	uint32_t woke; /* notifications that ended a PARKED */
	uint32_t produced;
	uint32_t parked; /* PARKED that a notification ended; owner only */
	bool missed;
} crowd;

static void
park_and_notify(unsigned number, void *argument)
{
	crowd *crowd = argument;

	if (number == 0)
	{
		for (unsigned i = 0; i < PARKS; i++)
		{
			if (!tg_park_try(&crowd->word))
				tg_park_consume(&crowd->word);
			else if (i % 3 == 0)
				crowd->parked += !tg_park_cancel(&crowd->word);
			else
				crowd->parked += tg_park_sleep(&crowd->word, i % 3 == 1 ? FOREVER_US : 1);
		}
		tg_store_release(&crowd->ended, 1);
		return;
	}
	while (!tg_load_acquire(&crowd->ended))
	{
		if (number == 1 ? tg_park_notify_parked(&crowd->word) : tg_park_notify(&crowd->word))
		{
			tg_fetch_add_relaxed(&crowd->woke, 1);
			tg_park_wake(&crowd->word);
		}
		for (unsigned pause = 20; pause > 0; pause--)
			tg_pause();
	}
}

static void
test_crowd(void)
{
	crowd crowd = {0};

	unit_threads(NOTIFIERS + 1, park_and_notify, &crowd);
	unit_equal(crowd.woke, crowd.parked, "each PARKED is ended by its owner or by one notifier");
}

/* --- fences -------------------------------------------------------------------------- */

#ifdef __SANITIZE_THREAD__
#define ROUNDS 4000 /* it slows the two down so much that they do not meet */
#else
#define ROUNDS 60000
#endif
#define OFFSETS 61 /* delays tried, of each side against those of the other */

typedef struct dekker
{
	uint32_t light TG_CACHE_ALIGNED; /* stored by the thread with the light fence */
	uint32_t heavy TG_CACHE_ALIGNED;
	uint32_t seen[2] TG_CACHE_ALIGNED;
	uint32_t ready TG_CACHE_ALIGNED;
	uint32_t both_missed;
} dekker;

/* Meets the other thread as closely as can be. */
static void
meet(dekker *dekker, uint32_t round)
{
	uint32_t all = 2 * (round + 1);
	unsigned spins = 0;

	tg_fetch_add_acq_rel(&dekker->ready, 1);
	while (tg_load_acquire(&dekker->ready) < all)
	{
		if (++spins > 10000)
			sched_yield();
	}
}

static void
store_and_look(unsigned number, void *argument)
{
	dekker *dekker = argument;

	for (uint32_t i = 0; i < ROUNDS; i++)
	{
		uint32_t offset = number == 0 ? i % OFFSETS : i / OFFSETS % OFFSETS;

		meet(dekker, 2 * i);
		for (volatile uint32_t delay = 0; delay < offset; delay++)
			;
		if (number == 0)
		{
			tg_store_relaxed(&dekker->light, i + 1);
			tg_fence_light();
			dekker->seen[0] = tg_load_relaxed(&dekker->heavy);
		}
		else
		{
			tg_store_relaxed(&dekker->heavy, i + 1);
			tg_fence_heavy();
			dekker->seen[1] = tg_load_relaxed(&dekker->light);
		}
		meet(dekker, 2 * i + 1);
		if (number == 0 && dekker->seen[0] != i + 1 && dekker->seen[1] != i + 1)
			dekker->both_missed++;
	}
}

static void
test_fences(void)
{
	dekker dekker = {0};

	unit_threads(2, store_and_look, &dekker);
	unit_equal(dekker.both_missed, 0, "of two full fences one side sees the other");
	tg_fence_prepare();
	dekker = (struct dekker){0};
	unit_threads(2, store_and_look, &dekker);
	unit_equal(dekker.both_missed, 0, "so it is with a light and a heavy one (light is %s)",
			   tg_fence_light_is_free ? "free" : "full");
}

int
main(void)
{
	test_transitions();
	test_timeout();
	test_couple();
	test_crowd();
	test_fences();
	return unit_done();
}
