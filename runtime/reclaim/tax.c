/*
 * tax.c
 *	  Debts, the bank, and the surcharge.
 *
 * After D. Bacon, P. Cheng, V. T. Rajan, «A real-time garbage collector with low overhead and
 * consistent utilization» (2003), and J. Auerbach et al., «Tax-and-spend: democratic scheduling for
 * real-time garbage collection» (2008).
 *
 *	  runs --note--> debt --pay--> bank (work that others have done)
 *							  \--> quanta (the rest)
 *
 * 1. Debt grows by running time × (1 - utilization in force) while a cycle has work, and is paid at
 *	  points where the session holds nothing.  Apart from the surcharge (4) it is never more than
 *	  one window's tax: a session is released from the debt that it could not pay in time, and the
 *	  surcharge ensures that the garbage is collected nevertheless.
 * 2. A session pays in whole quanta, so it works at most one quantum longer than it owes; a debt
 *	  below one quantum is carried over.  The debt is examined when a transaction ends, every 64
 *	  writes, and when an allocation went beyond the session's cache; the debt of a commit is paid
 *	  when the session's next statement begins.
 * 3. Work that is done while no cycle is open is not deposited, and the bank is emptied when a
 *	  cycle ends.  So the bank never holds more than the work done on the present cycle, and a quiet
 *	  night does not excuse a busy morning.
 * 4. The bound on memory takes precedence.  The utilization in force falls from the session's
 *	  target to 0 while free memory falls from 30 % of the limit to none.  If a cycle had noticeably
 *	  more work than the one before, garbage grows: then each write also pays for a number of
 *	  versions (the surcharge).  The number rises with each such cycle, and falls with each other
 *	  one.  Within a cycle it rises with the pieces given since the cycle began, because a cycle
 *	  that only taxed sessions work on may be long, and the next one would be as long again.
 * 5. The number of entries in a quantum is measured: it follows from the mean cost of an entry,
 *	  over quanta that used up their budget.  That cost, and the deposits, are the thread's own
 *	  processor time, because a thread that was suspended in a quantum has done no more work for it.
 *	  Debts and payments are elapsed time, because that is what the session's client waits for; and
 *	  so is the price of an entry in a surcharge.
 * 6. A thread of the pool that is suspended in a quantum delays its stage, and shows that there is
 *	  no CPU to spare.  If writers are being taxed at that time, it yields until the watcher looks
 *	  again: they are on a CPU already, and each gives as much as its setting says, whereas the pool
 *	  would take time from all sessions alike.  It does not yield while memory is short, or while
 *	  garbage grows for several cycles (4): then both collect.  Without writers, or if their targets
 *	  are 100 %, the pool goes on.
 * 7. A session that is suspended in a quantum, or anywhere in an epoch, delays the cycle while the
 *	  others go on writing.  So while garbage grows (4), a session that owes and finds no work pays
 *	  by giving its CPU away.  Perhaps the CPU goes to the suspended session; if not, the writers at
 *	  least outrun the collection more slowly.
 *
 * 8. A session that adds values to dictionaries holds until its transaction has ended
 *	  (rank_sweep.c).  If it is refused memory and waits for a sweep, that sweep may have to wait
 *	  for the session itself.  Therefore a session whose statement is about to add values, and which
 *	  does not hold yet, sweeps first if a sweep is due and memory is short.  It does so until that
 *	  sweep has ended or waits for others, or for as long as the host allows.  The rest of the sweep
 *	  is done before the session's next transaction.
 *
 * A session's account is written by its owner only; views read it.
 *
 * Only a session that writes owes: a reader makes no garbage, and no work of its own would free the
 * versions that it keeps.  The surcharge is on rows written, not on bytes allocated: the cost of
 * collecting a version does not depend on its size.  The bank needs no cap of its own (3).
 */
#include "runtime/reclaim/tax.h"

#include <sched.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/park.h"
#include "runtime/reclaim/collector.h"

#define ENTRY_NS_FIRST 150
#define ENTRY_NS_MIN 10
#define ENTRY_NS_MAX 20000
#define MEASURE_SHARE 8	   /* a new measurement has the weight 1 / 8 */
#define VERSION_ENTRIES 7  /* cost of a replaced version through all stages, if alone in its log */
#define SURCHARGE_STEP 500 /* in a thousand versions for a write */
#define SURCHARGE_MAX 4000
#define LOST_US 100		  /* without a CPU in a quantum: the thread was suspended */
#define TAXED_MS 100	  /* after a note, for which writers count as being taxed */
#define GROWTH_LEAST 4096 /* entries: a cycle with fewer is small, whatever the last one was */
#define EAGER_QUANTA 32
#define FREE_SHARE_PERMILLE 300 /* of the limit: with less memory free the target falls */

/* In the arena. */
typedef struct account
{
	uint64_t since_us; /* owner's: runs since then; 0: does not run */
	uint64_t debt_ns;  /* the rest is atomic, for views; a write's surcharge is below 1 us */
	uint64_t ran_us;
	uint64_t paid_us;
	uint64_t withdrawn_us;
	uint32_t target;
	uint32_t effective;
	uint64_t recent_ran_us; /* decaying */
	uint64_t recent_paid_us;
} TG_CACHE_ALIGNED account;

typedef struct tax
{
	int64_t bank_us TG_CACHE_ALIGNED; /* atomic; any session */
	uint64_t deposited_us TG_CACHE_ALIGNED;
	uint64_t withdrawn_us;
	uint64_t paid_us;
	uint64_t pool_cpu_us;
	uint64_t sessions_cpu_us;
	uint64_t quanta;
	uint64_t quanta_long;
	uint64_t stood_back;
	uint64_t taxed_ms TG_CACHE_ALIGNED; /* atomic; any session: when a session that owes last ran */
	uint32_t entry_ns TG_CACHE_ALIGNED; /* atomic; any session that measures */
	uint32_t price_ns;					/* likewise */
	uint32_t surcharge;					/* atomic; the session that ends a cycle */
	uint64_t worked;					/* atomic: in the cycle before; likewise */
	account accounts[];
} tax;

static tax *shared; /* set by tg_tax_create, inherited */

/* Settings of the process's own session. */
static unsigned target_permille = 1000;
static unsigned window_us = 10000;

tg_status
tg_tax_create(void)
{
	unsigned session_max = tg_session_max();
	tg_session *session;
	tg_status status;

	status = tg_session_open(&session);
	if (status != TG_OK)
		return status;
	shared = tg_alloc_zeroed(session, sizeof(tax) + session_max * sizeof(account), TG_USE_RUNTIME, TG_ESSENTIAL);
	tg_session_close(session);
	if (shared == NULL)
		return TG_NO_MEMORY;
	shared->entry_ns = ENTRY_NS_FIRST;
	shared->price_ns = ENTRY_NS_FIRST;
	return TG_OK;
}

void
tg_tax_settings(unsigned utilization_permille, unsigned window)
{
	tg_assert(utilization_permille <= 1000);
	target_permille = utilization_permille;
	window_us = window;
}

/* For tests: every session collects at every opportunity, an entry at a time. */
static inline bool
is_eager(void)
{
	return tg_failpoint_refuses("collector_eager");
}

/* --- debts ---------------------------------------------------------------- */

/* 4: the part of any target that is in force, in a thousand. */
static unsigned
memory_permille(void)
{
	size_t limit = tg_arena_limit();
	size_t used = tg_arena_committed();
	size_t free = used < limit ? limit - used : 0;
	size_t wanted = limit / 1000 * FREE_SHARE_PERMILLE;

	return free >= wanted ? 1000 : (unsigned) (1000 * (free / 1024) / (wanted / 1024 + 1));
}

void
tg_tax_begin(tg_session *session)
{
	account *account = &shared->accounts[session->id];

	if (account->since_us == 0 && tg_collector_has_work())
		account->since_us = tg_clock_us();
}

/* 4: versions that a write pays for, in a thousand. */
static inline unsigned
surcharge_in_force(void)
{
	unsigned surcharge = tg_load_relaxed(&shared->surcharge);
	uint64_t steps = tg_collector_given() / GROWTH_LEAST;

	return steps < (SURCHARGE_MAX - surcharge) / SURCHARGE_STEP ? surcharge + (unsigned) steps * SURCHARGE_STEP
																: SURCHARGE_MAX;
}

/* Stores only a changed time: other sessions read it far more often than it changes. */
static inline void
note_taxed(uint64_t now_ms)
{
	if (tg_load_relaxed(&shared->taxed_ms) < now_ms)
		tg_store_relaxed(&shared->taxed_ms, now_ms);
}

void
tg_tax_note(tg_session *session, uint64_t writes, bool is_over)
{
	account *account = &shared->accounts[session->id];
	unsigned surcharge = surcharge_in_force();
	unsigned effective;
	uint64_t now;
	uint64_t ran;
	uint64_t debt;

	if (account->since_us == 0)
		return;
	now = tg_clock_us();
	ran = now - account->since_us;
	if (ran > window_us)
		ran = window_us;
	account->since_us = is_over ? 0 : now;
	effective = target_permille * memory_permille() / 1000;
	if (effective < 1000)
		note_taxed(now / 1000);
	debt = account->debt_ns + ran * (1000 - effective);
	if (debt > (uint64_t) window_us * (1000 - effective))
		debt = (uint64_t) window_us * (1000 - effective);
	if (tg_unlikely(surcharge > 0))
		debt += writes * surcharge * VERSION_ENTRIES * tg_load_relaxed(&shared->price_ns) / 1000;
	tg_store_relaxed(&account->debt_ns, debt);
	tg_store_relaxed(&account->ran_us, account->ran_us + ran);
	tg_store_relaxed(&account->target, target_permille);
	tg_store_relaxed(&account->effective, effective);
	tg_store_relaxed(&account->recent_ran_us, account->recent_ran_us + ran);
	if (account->recent_ran_us > 16 * (uint64_t) window_us)
	{
		tg_store_relaxed(&account->recent_ran_us, account->recent_ran_us / 2);
		tg_store_relaxed(&account->recent_paid_us, account->recent_paid_us / 2);
	}
}

unsigned
tg_tax_due(const tg_session *session)
{
	uint64_t debt = shared->accounts[session->id].debt_ns / 1000;

	if (is_eager())
		return TG_QUANTUM_US;
	return debt < TG_QUANTUM_US ? 0 : (unsigned) (debt < UINT32_MAX ? debt : UINT32_MAX);
}

void
tg_tax_forget(tg_session *session)
{
	memset(&shared->accounts[session->id], 0, sizeof(account));
}

/* --- the bank --------------------------------------------------------------- */

static void
deposit(uint64_t us)
{
	tg_fetch_add_relaxed(&shared->deposited_us, us);
	tg_fetch_add_relaxed(&shared->bank_us, (int64_t) us);
}

static uint64_t
withdraw(uint64_t us)
{
	int64_t balance = tg_load_relaxed(&shared->bank_us);
	int64_t taken;

	do
	{
		taken = balance < (int64_t) us ? balance : (int64_t) us;
		if (taken <= 0)
			return 0;
	} while (!tg_cas_acq_rel(&shared->bank_us, &balance, balance - taken));
	tg_fetch_add_relaxed(&shared->withdrawn_us, (uint64_t) taken);
	return (uint64_t) taken;
}

/* --- quanta ----------------------------------------------------------------- */

/* Adds a measurement, the time that so many entries took, to a mean. */
static void
measure(uint32_t *mean_ns, uint64_t us, unsigned entries)
{
	uint64_t measured = (us * 1000 + 500) / entries;
	uint64_t mean = (tg_load_relaxed(mean_ns) * (uint64_t) (MEASURE_SHARE - 1) + measured) / MEASURE_SHARE;

	if (mean < ENTRY_NS_MIN)
		mean = ENTRY_NS_MIN;
	tg_store_relaxed(mean_ns, (uint32_t) (mean < ENTRY_NS_MAX ? mean : ENTRY_NS_MAX));
}

/*
 * Does a quantum.  Returns the elapsed microseconds, at least 1; 0 if there was nothing to do, or
 * another session has the work.  *thread_us_out: this thread's processor time.  *more_out: there is
 * more to do.
 */
static uint64_t
do_quantum(tg_session *session, bool may_open, uint64_t *thread_us_out, bool *more_out)
{
	unsigned entry_ns = tg_load_relaxed(&shared->entry_ns);
	unsigned budget = is_eager() ? 1 : TG_QUANTUM_US * 1000 / entry_ns + 1;
	uint64_t began = tg_clock_us();
	uint64_t thread_began = tg_thread_us();
	unsigned done = tg_collector_quantum(session, budget, may_open, more_out);
	uint64_t thread_took;
	uint64_t took;

	*thread_us_out = 0;
	if (done == 0)
		return 0;
	thread_took = tg_thread_us() - thread_began;
	took = tg_clock_us() - began;
	tg_fetch_add_relaxed(&shared->quanta, 1);
	if (thread_took > 2 * TG_QUANTUM_US)
		tg_fetch_add_relaxed(&shared->quanta_long, 1);
	*thread_us_out = thread_took;
	if (done >= budget)
	{
		measure(&shared->entry_ns, thread_took, done);
		measure(&shared->price_ns, took, done);
	}
	return took > 0 ? took : 1;
}

/* 4: whether garbage has grown for several cycles, or grows in this one. */
static bool
is_growing(void)
{
	return surcharge_in_force() > SURCHARGE_STEP;
}

/* 7: returns the elapsed microseconds, at least 1; 0 if garbage does not grow. */
static uint64_t
give_way(void)
{
	uint64_t began = tg_clock_us();
	uint64_t took;

	if (!is_growing() || !tg_collector_is_open())
		return 0;
	tg_failpoint("tax_gives_way");
	(void) sched_yield();
	took = tg_clock_us() - began;
	return took > 0 ? took : 1;
}

void
tg_tax_pay(tg_session *session, bool (*go_on)(void *argument), void *argument)
{
	account *account = &shared->accounts[session->id];
	uint64_t debt = account->debt_ns / 1000;
	uint64_t taken = withdraw(debt);
	uint64_t paid = 0;
	uint64_t thread_us;
	uint64_t thread_us_sum = 0;
	bool more = true;

	debt -= taken;
	for (unsigned i = 0; i < EAGER_QUANTA && is_eager(); i++)
		(void) do_quantum(session, true, &thread_us, &more);
	while (debt >= TG_QUANTUM_US && more && (go_on == NULL || go_on(argument)))
	{
		uint64_t us = do_quantum(session, false, &thread_us, &more);

		thread_us_sum += thread_us;
		if (!more || us == 0)
		{
			uint64_t given_us = give_way();

			us += given_us;
			more = given_us > 0;
		}
		debt -= us < debt ? us : debt;
		paid += us;
	}
	if (!more)
		debt = 0; /* nothing left to pay for */
	tg_fetch_add_relaxed(&shared->paid_us, paid);
	tg_fetch_add_relaxed(&shared->sessions_cpu_us, thread_us_sum);
	tg_store_relaxed(&account->debt_ns, debt * 1000);
	tg_store_relaxed(&account->withdrawn_us, account->withdrawn_us + taken);
	tg_store_relaxed(&account->paid_us, account->paid_us + paid);
	tg_store_relaxed(&account->recent_paid_us, account->recent_paid_us + paid);
}

/* 6: whether the sessions' payments suffice. */
static bool
others_pay(void)
{
	return tg_clock_us() / 1000 < tg_load_relaxed(&shared->taxed_ms) + TAXED_MS && !is_growing() &&
		   memory_permille() == 1000;
}

bool
tg_tax_work(tg_session *session)
{
	bool more;
	uint64_t thread_us;
	uint64_t us = do_quantum(session, true, &thread_us, &more);

	if (us == 0)
		return false;
	tg_fetch_add_relaxed(&shared->pool_cpu_us, thread_us);
	if (tg_collector_is_open())
		deposit(thread_us > 0 ? thread_us : 1);
	if (more && us > thread_us + LOST_US && others_pay())
	{
		tg_fetch_add_relaxed(&shared->stood_back, 1);
		return false;
	}
	return more;
}

void
tg_tax_cycle_ended(uint64_t worked)
{
	uint32_t surcharge = shared->surcharge;
	bool has_grown = worked > GROWTH_LEAST && worked > shared->worked + shared->worked / 4;

	if (has_grown && surcharge < SURCHARGE_MAX)
		surcharge += SURCHARGE_STEP;
	else if (!has_grown && surcharge > 0)
		surcharge -= SURCHARGE_STEP / 2;
	tg_store_relaxed(&shared->surcharge, surcharge);
	tg_store_relaxed(&shared->worked, worked);
	tg_store_relaxed(&shared->bank_us, 0);
}

/* --- figures ------------------------------------------------------------------ */

void
tg_tax_report_get(tg_tax_report *report)
{
	*report = (tg_tax_report){.bank_us = tg_load_relaxed(&shared->bank_us),
							  .deposited_us = tg_load_relaxed(&shared->deposited_us),
							  .withdrawn_us = tg_load_relaxed(&shared->withdrawn_us),
							  .paid_us = tg_load_relaxed(&shared->paid_us),
							  .pool_cpu_us = tg_load_relaxed(&shared->pool_cpu_us),
							  .sessions_cpu_us = tg_load_relaxed(&shared->sessions_cpu_us),
							  .quanta = tg_load_relaxed(&shared->quanta),
							  .quanta_long = tg_load_relaxed(&shared->quanta_long),
							  .stood_back = tg_load_relaxed(&shared->stood_back),
							  .entry_ns = tg_load_relaxed(&shared->entry_ns),
							  .surcharge = surcharge_in_force()};
}

void
tg_tax_session_report_get(unsigned session_id, tg_tax_session_report *report)
{
	const account *account = &shared->accounts[session_id];
	uint64_t ran = tg_load_relaxed(&account->recent_ran_us);
	uint64_t paid = tg_load_relaxed(&account->recent_paid_us);

	*report =
		(tg_tax_session_report){.target_permille = tg_load_relaxed(&account->target),
								.effective_permille = tg_load_relaxed(&account->effective),
								.achieved_permille = ran + paid > 0 ? (unsigned) (1000 * ran / (ran + paid)) : 1000,
								.ran_us = tg_load_relaxed(&account->ran_us),
								.paid_us = tg_load_relaxed(&account->paid_us),
								.withdrawn_us = tg_load_relaxed(&account->withdrawn_us),
								.debt_us = tg_load_relaxed(&account->debt_ns) / 1000};
}
