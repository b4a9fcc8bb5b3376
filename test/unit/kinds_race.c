/*
 * kinds_race.c
 *	  All kinds of transactions in threads, delayed at the failpoints between the
 *	  steps of the protocol, beside a collector: the histories of kinds_history.h, one
 *	  scenario after the other, each judged.  For the memory orders, and for the
 *	  sanitizers.
 */
#include "test/unit/kinds_judge.h"

#include <sched.h>

#include "test/unit/gate.h"

#define WAIT_S 60

static __thread client *own;
static pthread_barrier_t barrier;
static scenario at_hand;
static uint64_t rounds;
static bool is_over;

static void
has_started(client *c)
{
	(void) c; /* others run on */
}

static void
wait_for_end(client *c, const tg_wait *wait)
{
	const tg_txn *holder = &tg_txns->txn[wait->txn];
	uint64_t start_s = tg_clock_us() / 1000000;

	for (unsigned look = 1;; look++)
	{
		if (tg_load_acquire(&holder->host) != wait->host ||
			(tg_load_acquire(&holder->state) & TG_STATE_MASK) == TG_TXN_IDLE)
			return;
		sched_yield();
		if (look % 64 == 0 && tg_wait_closes_circle(c->session, wait))
		{
			(void) fail(c, DEADLOCK);
			return;
		}
		if (tg_clock_us() / 1000000 > start_s + WAIT_S)
			unit_bail("STUCK: somebody waits for ever");
	}
}

static void
wake_client(void *pointer)
{
	tg_store_release(&((client *) pointer)->woken, 1);
}

static void
wait_for_start(client *c)
{
	uint64_t start_s = tg_clock_us() / 1000000;

	while (!tg_load_acquire(&c->woken))
	{
		sched_yield();
		if (tg_clock_us() / 1000000 > start_s + WAIT_S)
			unit_bail("STUCK: a LONG is not woken");
	}
}

static bool
at_failpoint(const char *name)
{
	static const char *const places[] = {
		"w0_registered", "long_published", "long_start",	  "safe_loaded",	"s3",		   "s4",
		"txn_preparing", "txn_drawn",	   "txn_prepared",	  "txn_committed",	"txn_aborted", "validate",
		"newest",		 "snapshot_bound", "operation",		  "read",			"insert",	   "change",
		"end",			 "horizon_locked", "horizon_session", "horizon_scanned"};

	if (own != NULL && strcmp(name, "txn_committed") == 0)
		history_note_commit(own);
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(name, places[i]) == 0)
			gate_stumble();
	return false;
}

static void
run_client(unsigned number, void *argument)
{
	(void) argument;
	for (;;)
	{
		pthread_barrier_wait(&barrier);
		if (is_over)
			return;
		if (number < (unsigned) at_hand.count)
		{
			own = &clients[number];
			run_script(own);
			own = NULL;
		}
		else if (number == CLIENTS)
		{
			for (int i = 0; i < at_hand.collections; i++)
				collect_some();
		}
		pthread_barrier_wait(&barrier);
	}
}

static void
direct(unsigned number, void *argument)
{
	const uint64_t *limits = argument;
	uint64_t seed;

	(void) number;
	for (seed = 1; seed <= limits[0] && tg_clock_us() < limits[1]; seed++)
	{
		int64_t initial[ROWS];

		make_scenario(seed, &at_hand);
		reset_tables(&at_hand, initial);
		for (int i = 0; i < CLIENTS; i++)
			clients[i].script = i < at_hand.count ? &at_hand.scripts[i] : NULL;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		judge(&at_hand, initial);
		if (fault[0] != 0)
		{
			fprintf(stderr, "# seed %" PRIu64 ": %s\n", seed, fault);
			print_scenario(&at_hand);
			break;
		}
	}
	rounds = seed - 1;
	is_over = true;
	pthread_barrier_wait(&barrier);
}

static void
run_thread(unsigned number, void *argument)
{
	if (number == CLIENTS + 1)
		direct(number, argument);
	else
		run_client(number, argument);
}

int
main(int argc, char **argv)
{
	uint64_t limits[2] = {argc > 1 ? strtoull(argv[1], NULL, 10) : 3000,
						  tg_clock_us() + (argc > 2 ? strtoull(argv[2], NULL, 10) : 8) * 1000000};

	start_history();
	pthread_barrier_init(&barrier, NULL, CLIENTS + 2);
	tg_host_wake = wake_client;
	history.wait = wait_for_end;
	history.wait_start = wait_for_start;
	history.started = has_started;
	tg_failpoint_set(at_failpoint);
	unit_threads(CLIENTS + 2, run_thread, limits);
	tg_failpoint_set(NULL);
	unit_ok(fault[0] == 0 && rounds > 0, "%" PRIu64 " histories", rounds);
	return unit_done();
}
