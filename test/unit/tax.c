/*
 * tax.c
 *	  The tax that a session owes for its running time, and its payment: nothing without a cycle; a
 *	  share of the time, but never more than a window's; from the bank first, then in quanta; more
 *	  when memory is short or garbage grows.  The pool stands back for writers where CPUs are short.
 *	  And this is enough: writers keep their uncollected garbage within bounds, and go on while a
 *	  thread sleeps in the collection.
 */
#include "runtime/reclaim/tax.h"

#include <string.h>
#include <unistd.h>

#include "runtime/sched/park.h"
#include "test/unit/writers.h"

#define WINDOW_US 10000
#define ROWS 3000
/* their surcharge is more than a quantum, for the smallest measured cost of an entry */
#define WRITES_CHARGED 10000

static void
run_for(unsigned us)
{
	uint64_t end = tg_clock_us() + us;

	while (tg_clock_us() < end)
		tg_pause();
}

/* The session's debt after a run of this time. */
static unsigned
owes_after(tg_session *session, unsigned us, uint64_t writes)
{
	tg_tax_begin(session);
	run_for(us);
	tg_tax_note(session, writes, true);
	return tg_tax_due(session);
}

/* Garbage of so many rows, and a cycle that is open and has only just begun. */
static void
open_cycle(unsigned rows)
{
	collect(1000);
	for (unsigned i = 0; i < rows; i++)
	{
		must_update(&clients[0], i);
		commit(&clients[0]);
	}
	for (unsigned i = 0; i < 10 && !tg_collector_has_work(); i++)
		(void) tg_collector_run(session, 2);
	unit_ok(tg_collector_has_work(), "a cycle is open");
}

static uint64_t
paid_us(void)
{
	tg_tax_report report;

	tg_tax_report_get(&report);
	return report.paid_us;
}

static void
test_debt(void)
{
	tg_session *a = clients[1].session;
	tg_tax_session_report report;
	unsigned owed;

	tg_tax_settings(800, WINDOW_US);
	collect(1000);
	unit_equal(owes_after(a, 1000, 0), 0, "no cycle is open: nothing is owed");
	open_cycle(ROWS);
	owed = owes_after(a, 2000, 0);
	unit_ok(owed >= 400 && owed <= 2000, "a fifth of the time is owed (%u us of 2000 or somewhat more)", owed);
	owed = owes_after(a, 5 * WINDOW_US, 0);
	unit_equal(owed, WINDOW_US / 5, "but not more than one window's part");
	tg_tax_session_report_get(a->id, &report);
	unit_ok(report.target_permille == 800 && report.effective_permille == 800, "memory is not short");
	tg_tax_settings(1000, WINDOW_US);
	tg_tax_forget(a);
	unit_equal(owes_after(a, 2000, 0), 0, "a session that keeps all of its time owes nothing");
	tg_tax_settings(800, WINDOW_US);
}

static bool
never(void *argument)
{
	(void) argument;
	return false;
}

static void
test_payment(void)
{
	tg_session *a = clients[1].session;
	tg_tax_report report;
	uint64_t before;

	open_cycle(ROWS);
	(void) owes_after(a, 2000, 0);
	before = paid_us();
	tg_tax_pay(a, never, NULL);
	unit_ok(paid_us() == before && tg_tax_due(a) > 0, "a session that may not go on pays nothing, and still owes");
	tg_tax_pay(a, NULL, NULL);
	unit_ok(paid_us() > before && tg_tax_due(a) == 0, "it pays in quanta");

	open_cycle(ROWS);
	for (unsigned i = 0; i < 2; i++)
		(void) tg_tax_work(session);
	tg_tax_report_get(&report);
	unit_ok(report.bank_us > 0, "idle time is deposited (%" PRId64 " us)", report.bank_us);
	before = report.withdrawn_us;
	(void) owes_after(a, 1000, 0);
	tg_tax_pay(a, never, NULL);
	tg_tax_report_get(&report);
	unit_ok(report.withdrawn_us > before, "from which debts are paid first");
	collect(1000);
	tg_tax_report_get(&report);
	unit_equal(report.bank_us, 0, "at the end of the cycle the bank is empty");
	(void) tg_tax_work(session);
	tg_tax_report_get(&report);
	unit_equal(report.bank_us, 0, "and nothing is deposited without a cycle");
	(void) owes_after(a, 2000, 0);
	tg_tax_pay(a, NULL, NULL);
	unit_equal(tg_tax_due(a), 0, "with nothing left to do, nothing is owed");
}

static void
test_pace(void)
{
	tg_session *a = clients[1].session;
	tg_tax_report report;
	tg_tax_session_report effective;

	tg_tax_cycle_ended(10000);
	tg_tax_cycle_ended(20000);
	tg_tax_cycle_ended(40000);
	tg_tax_report_get(&report);
	unit_ok(report.surcharge > 0, "garbage grows from cycle to cycle: writes pay for it, too");
	for (unsigned i = 0; i < 20; i++)
		tg_tax_cycle_ended(40000);
	tg_tax_report_get(&report);
	unit_equal(report.surcharge, 0, "no longer, when it does not");

	open_cycle(ROWS);
	tg_tax_settings(1000, WINDOW_US);
	unit_equal(owes_after(a, 0, WRITES_CHARGED), 0, "nor as long as a cycle is open that takes what is given");
	for (unsigned i = 0; i < 3 * 4096; i++)
	{
		must_update(&clients[0], i % ROWS);
		commit(&clients[0]);
	}
	unit_ok(owes_after(a, 0, WRITES_CHARGED) > 0, "it piles up while one is open: they pay at once");
	tg_tax_settings(800, WINDOW_US);
	open_cycle(ROWS);
	tg_arena_limit_set(tg_arena_committed() * 10 / 9);
	tg_tax_forget(a);
	(void) owes_after(a, 1000, 0);
	tg_tax_session_report_get(a->id, &effective);
	unit_ok(effective.effective_permille < 400 && effective.effective_permille > 150,
			"a tenth of the memory is free: of 0.8, %u in a thousand are left", effective.effective_permille);
	tg_arena_limit_set(tg_arena_committed());
	(void) owes_after(a, 1000, 0);
	tg_tax_session_report_get(a->id, &effective);
	unit_equal(effective.effective_permille, 0, "none is: nothing is");
	tg_arena_limit_set(256 * MIB);
}

/* --- threads without a CPU ------------------------------------------------------------ */

#define QUANTA_MAX 1000

static bool sleeps;			/* in the next quantum, once */
static tg_session *writing; /* meanwhile; or NULL */

static bool
sleep_once(const char *name)
{
	if (sleeps && strcmp(name, "collector_prune") == 0)
	{
		sleeps = false;
		usleep(1000);
		if (writing != NULL)
			(void) owes_after(writing, 100, 0);
	}
	return false;
}

/* Works until it was put to sleep in a quantum; whether it goes on with the next one. */
static bool
goes_on(tg_session *writer)
{
	bool more = true;

	sleeps = true;
	writing = writer;
	for (unsigned i = 0; sleeps && i < QUANTA_MAX; i++)
		more = tg_tax_work(session);
	unit_ok(!sleeps, "it was put to sleep");
	return more;
}

/* A cycle with something to prune; garbage has not grown for long. */
static void
open_calm_cycle(void)
{
	open_cycle(ROWS);
	for (unsigned i = 0; i < 20; i++)
		tg_tax_cycle_ended(0);
}

static void
test_standing_back(void)
{
	tg_session *a = clients[1].session;
	tg_tax_report report;
	uint64_t before;

	tg_tax_report_get(&report);
	before = report.stood_back;
	tg_failpoint_set(sleep_once);
	usleep(110000);
	open_calm_cycle();
	unit_ok(goes_on(NULL), "without taxed sessions a suspended thread goes on");
	open_calm_cycle();
	tg_tax_settings(1000, WINDOW_US);
	unit_ok(goes_on(a), "also if a session runs that keeps all of its time");
	open_calm_cycle();
	tg_tax_settings(800, WINDOW_US);
	unit_ok(!goes_on(a), "writers are: it leaves it to them");
	tg_tax_report_get(&report);
	unit_ok(report.stood_back > before, "as the figures say");
	open_calm_cycle();
	tg_arena_limit_set(tg_arena_committed() * 10 / 9);
	unit_ok(goes_on(a), "memory is short: both collect");
	tg_arena_limit_set(256 * MIB);
	open_calm_cycle();
	tg_tax_cycle_ended(10000);
	tg_tax_cycle_ended(20000);
	tg_tax_cycle_ended(40000);
	unit_ok(goes_on(a), "garbage grows: both collect");
	tg_failpoint_set(NULL);
	collect(1000);
}

/* --- only the writers collect --------------------------------------------------------- */

#define PAYERS 2
#ifdef __SANITIZE_THREAD__
#define WRITES 15000 /* of each paying writer */
#else
#define WRITES 50000
#endif
#define UNPAID 5000		  /* and of each that does not pay */
#define WAITING_MAX 20000 /* logs, five times what opens a cycle */

typedef struct crowd
{
	unsigned writers; /* that have yet to end; atomic */
	bool pay;
	unsigned writes; /* of each */
	uint64_t most_waiting[PAYERS];
	uint64_t longest_us[PAYERS]; /* between two cycles' beginnings */
	uint64_t cycles[PAYERS];	 /* seen last, */
	uint64_t since_us[PAYERS];	 /* and when first */
} crowd;

/* The i-th write of a payer, in a transaction of its own, and what it owes for that. */
static void
write_and_pay(crowd *crowd, unsigned number, unsigned i)
{
	client *client = &clients[1 + number];
	tg_collector_report report;
	uint64_t now;

	tg_tax_begin(client->session);
	must_update(client, i % (ROWS / PAYERS) * PAYERS + number);
	commit(client);
	tg_tax_note(client->session, 1, true);
	if (crowd->pay && tg_tax_due(client->session) > 0)
		tg_tax_pay(client->session, NULL, NULL);
	tg_retire_poll(client->session);

	tg_collector_report_get(&report);
	now = tg_clock_us();
	if (report.logs_waiting > crowd->most_waiting[number])
		crowd->most_waiting[number] = report.logs_waiting;
	if (report.cycles == crowd->cycles[number])
		return;
	if (crowd->cycles[number] != 0 && now - crowd->since_us[number] > crowd->longest_us[number])
		crowd->longest_us[number] = now - crowd->since_us[number];
	crowd->cycles[number] = report.cycles;
	crowd->since_us[number] = now;
}

static inline uint64_t
larger(const uint64_t of[PAYERS])
{
	return of[0] > of[1] ? of[0] : of[1];
}

/*
 * The writers take turns, so that none of them is put to sleep while the other one writes: the
 * waiting garbage depends on taxes alone.
 */
static void
test_keeping_pace(void)
{
	crowd paying = {.pay = true, .writes = WRITES};
	crowd idle = {.pay = false, .writes = UNPAID};
	tg_collector_report before;
	tg_collector_report after;
	uint64_t most;

	tg_tax_settings(800, WINDOW_US);
	collect(1000);
	tg_collector_report_get(&before);
	for (unsigned i = 0; i < WRITES * PAYERS; i++)
		write_and_pay(&paying, i % PAYERS, i / PAYERS);
	tg_collector_report_get(&after);
	most = larger(paying.most_waiting);
	printf("# %" PRIu64 " cycles, at most %" PRIu64 " logs waited\n", after.cycles - before.cycles, most);
	unit_ok(after.cycles - before.cycles >= 2, "without idle threads the writers collect, cycle after cycle");
	unit_ok(most <= WAITING_MAX, "so that little waits, however much is written");

	collect(1000);
	for (unsigned i = 0; i < UNPAID * PAYERS; i++)
		write_and_pay(&idle, i % PAYERS, i / PAYERS);
	unit_equal(logs_waiting(), PAYERS * UNPAID, "only they do: without taxes all of it waits");
	collect(1000);
}

/* --- a session sleeps in a quantum, and others write ---------------------------------- */

static crowd *awake; /* writes while a session sleeps; or NULL */
static unsigned ways_given;

static bool
write_meanwhile(const char *name)
{
	crowd *crowd = awake;

	ways_given += strcmp(name, "tax_gives_way") == 0;
	if (crowd == NULL || strcmp(name, "collector_prune") != 0)
		return false;
	awake = NULL;
	for (unsigned i = 0; i < crowd->writes; i++)
		write_and_pay(crowd, 1, i);
	return false;
}

static void
test_held_up(void)
{
	crowd other = {.pay = true, .writes = WRITES};
	uint64_t cycles;
	tg_collector_report report;

	tg_tax_settings(800, WINDOW_US);
	open_calm_cycle();
	awake = &other;
	ways_given = 0;
	tg_collector_report_get(&report);
	cycles = report.cycles;
	tg_failpoint_set(write_meanwhile);
	for (unsigned i = 0; awake != NULL && i < QUANTA_MAX; i++)
		(void) tg_collector_run(session, 100);
	tg_failpoint_set(NULL);
	unit_ok(awake == NULL && larger(other.most_waiting) >= WRITES,
			"while a session sleeps in a quantum another one writes on, and its garbage waits");
	unit_equal(larger(other.cycles), cycles, "for the cycle cannot end");
	unit_ok(ways_given > 0, "it yields to the sleeping session, %u times", ways_given);
	for (unsigned i = 0; i < WRITES && logs_waiting() > WRITES / 2; i++)
		write_and_pay(&other, 1, i);
	unit_ok(logs_waiting() <= WRITES / 2, "when that one is back, it catches up");
	collect(1000);

	/* No session sleeps, garbage does not grow: none yields. */
	ways_given = 0;
	open_calm_cycle();
	tg_failpoint_set(write_meanwhile);
	(void) owes_after(clients[1].session, 2000, 0);
	tg_tax_pay(clients[1].session, NULL, NULL);
	tg_failpoint_set(NULL);
	unit_equal(ways_given, 0, "it does not where garbage does not grow");
	collect(1000);
}

/* --- every CPU is taken ------------------------------------------------------------------ */

#define HOGS_MAX (UNIT_THREADS_MAX - PAYERS)
#define ENDLESS_S 60

static void
crowd_body(unsigned number, void *argument)
{
	crowd *crowd = argument;

	if (number < PAYERS)
	{
		for (unsigned i = 0; i < crowd->writes; i++)
			write_and_pay(crowd, number, i);
		tg_fetch_add_relaxed(&crowd->writers, -1u);
	}
	while (tg_load_relaxed(&crowd->writers) > 0)
		tg_pause();
}

/*
 * How much waits at most also depends on where threads are put to sleep, and for how long; but the
 * others yield and cycles end, because every suspended thread comes back, and no further thread is
 * needed.
 */
static void
test_hogs(void)
{
	unsigned hogs = 2 * (unsigned) sysconf(_SC_NPROCESSORS_ONLN);
	crowd crowd = {.pay = true, .writes = WRITES, .writers = PAYERS};
	tg_collector_report before;
	tg_collector_report after;
	uint64_t longest;

	tg_tax_settings(800, WINDOW_US);
	collect(1000);
	tg_collector_report_get(&before);
	unit_threads(PAYERS + (hogs < HOGS_MAX ? hogs : HOGS_MAX), crowd_body, &crowd);
	tg_collector_report_get(&after);
	longest = larger(crowd.longest_us);
	printf("# %" PRIu64 " cycles, at most %" PRIu64 " logs waited, %" PRIu64 " us from cycle to cycle\n",
		   after.cycles - before.cycles, larger(crowd.most_waiting), longest);
	unit_ok(after.cycles - before.cycles >= 2, "with all CPUs taken and no idle threads, the writers collect");
	unit_ok(larger(crowd.most_waiting) < PAYERS * WRITES / 4 * 3, "so not all of what was written waits");
	unit_ok(longest < ENDLESS_S * 1000000ull, "and each cycle ends");
	collect(1000);
}

int
main(void)
{
	begin();
	for (uint64_t key = 0; key < ROWS; key++)
		must_insert(&clients[0], key);
	commit(&clients[0]);
	if (UNIT_ONE_THREAD)
	{
		test_debt();
		test_payment();
		test_pace();
		test_standing_back();
		test_keeping_pace();
		test_held_up();
	}
	test_hogs();
	check_exact(1000, "at the end");
	end();
	return unit_done();
}
