/*
 * latch.c
 *	  The latch keeps others out, between threads and between processes, loses
 *	  no wake-up (or this test would not end), and knows ranks.
 */
#include "runtime/base/latch.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "test/unit/unit.h"

#define THREADS 4
#define PROCESSES 3
#define ROUNDS 50000

/* The latch guards two plain words that are equal whenever it is free. */
typedef struct guarded
{
	tg_latch latch;
	uint64_t first;
	uint64_t second;
	uint64_t torn; /* times they were found different */
} guarded;

static void
guarded_count(unsigned number, void *argument)
{
	guarded *place = argument;

	for (unsigned round = 0; round < ROUNDS; round++)
	{
		if (round % 8 == number % 8 && !tg_latch_try(&place->latch))
			tg_latch_acquire(&place->latch);
		else if (round % 8 != number % 8)
			tg_latch_acquire(&place->latch);
		if (place->first != place->second)
			place->torn++;
		place->first++;
		if (round % 1024 == 0)
			(void) sched_yield(); /* let the others run into it */
		place->second++;
		tg_latch_release(&place->latch);
	}
}

static void
test_threads(void)
{
	static guarded place;

	tg_latch_init(&place.latch, TG_RANK_CLASS);
	unit_threads(THREADS, guarded_count, &place);
	unit_equal(place.first, (uint64_t) THREADS * ROUNDS, "threads: every section counted");
	unit_equal(place.torn, 0, "threads: no section saw another's half");
	unit_equal(place.latch.word, 0, "threads: free at the end");
}

static void
test_processes(void)
{
	guarded *place = mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned sound = 0;

	tg_latch_init(&place->latch, TG_RANK_CLASS);
	for (unsigned number = 0; number < PROCESSES; number++)
	{
		if (fork() == 0)
		{
			guarded_count(number, place);
			_exit(0);
		}
	}
	for (unsigned number = 0; number < PROCESSES; number++)
	{
		int status;

		sound += wait(&status) > 0 && status == 0;
	}
	unit_equal(sound, PROCESSES, "processes: all came to their end");
	unit_equal(place->first, (uint64_t) PROCESSES * ROUNDS, "processes: every section counted");
	unit_equal(place->torn, 0, "processes: no section saw another's half");
	munmap(place, sizeof(*place));
}

/* The first thread holds the latch until the second one sleeps on it. */
static void
sleep_and_wake(unsigned number, void *argument)
{
	static bool held;
	tg_latch *latch = argument;

	if (number == 0)
	{
		tg_latch_acquire(latch);
		tg_store_release(&held, true);
		while (tg_load_acquire(&latch->word) != 2)
			(void) sched_yield();
		tg_latch_release(latch);
	}
	else
	{
		while (!tg_load_acquire(&held))
			(void) sched_yield();
		unit_ok(!tg_latch_try(latch), "a try fails while another thread holds it");
		tg_latch_acquire(latch);
		tg_latch_release(latch);
	}
}

static void
test_wake(void)
{
	tg_latch latch;

	tg_latch_init(&latch, TG_RANK_CLASS);
	unit_threads(2, sleep_and_wake, &latch);
	unit_ok(tg_latch_try(&latch), "a sleeper is woken, and the latch is free after it");
	tg_latch_release(&latch);
}

#ifdef TG_DEBUG

/* Whether a process that does this is aborted. */
static bool
aborts(void (*deed)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
	{
		(void) !freopen("/dev/null", "w", stderr);
		signal(SIGABRT, SIG_DFL);
		deed();
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static tg_latch low;
static tg_latch high;

static void
take_downwards(void)
{
	tg_latch_acquire(&high);
	tg_latch_acquire(&low);
}

static void
take_equal(void)
{
	static tg_latch other;

	tg_latch_init(&other, TG_RANK_SESSION);
	tg_latch_acquire(&low);
	tg_latch_acquire(&other);
}

static void
take_upwards(void)
{
	tg_latch_acquire(&low);
	tg_latch_acquire(&high);
	tg_latch_release(&low); /* in any order */
	tg_latch_release(&high);
	tg_latch_acquire(&low);
	tg_latch_release(&low);
}

static void
try_downwards(void)
{
	tg_latch_acquire(&high);
	if (tg_latch_try(&low))
		tg_latch_release(&low);
	tg_latch_release(&high);
}

static void
release_unheld(void)
{
	tg_latch_acquire(&low);
	tg_latch_release(&high);
}

static void
test_ranks(void)
{
	tg_latch_init(&low, TG_RANK_SESSION);
	tg_latch_init(&high, TG_RANK_PAGES);
	unit_ok(aborts(take_downwards), "a lower rank after a higher one aborts");
	unit_ok(aborts(take_equal), "the same rank twice aborts");
	unit_ok(!aborts(take_upwards), "a higher rank after a lower one does not");
	unit_ok(!aborts(try_downwards), "a try may go downwards");
	unit_ok(aborts(release_unheld), "release of a latch that the thread does not hold aborts");
}

#endif

int
main(void)
{
	alarm(300);
	test_threads();
	test_processes();
	test_wake();
#ifdef TG_DEBUG
	test_ranks();
#endif
	return unit_done();
}
