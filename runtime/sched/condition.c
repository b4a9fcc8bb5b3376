/*
 * condition.c
 *	  Conditions: the place of each, when it is checked, and why no poke is lost.
 *
 *		submit, by a worker			 submit, from elsewhere
 *			   |								|
 *		pending list --16 misses, worker--> arrived --watcher--> on_poke | on_time
 *		of the worker  suspends or ends		(stack)				  (watcher's lists)
 *			   |									|				 |
 *			   +---- check says yes, or the job is cancelled --------+
 *									|
 *							the body is submitted
 *
 * A condition is in one place at a time, and only the owner of that place checks it: a worker its
 * pending list, the watcher its own lists.  This rule, and not a flag, ensures that a body is
 * submitted once, however pokes, intervals and cancellations coincide.  The stack is the only place
 * with several writers: any thread pushes, and the watcher takes the whole stack at once, so there
 * is no ABA.
 *
 * Invariants
 *	1. waiting is at least the number of conditions on the stack and in the
 *	   watcher's lists: raised before the push, lowered by the watcher.
 *	2. A condition is checked when it arrives at the watcher, poked or not.
 *	3. A thread that sets poked from 0, or pushes onto the empty stack, wakes the
 *	   watcher afterwards.  A watcher that is awake keeps that as a permit (park.c).
 *
 * No lost poke (Dekker, by seq_cst fences)
 *	Poker:		change something; fence P; read waiting, 0: nothing to do;
 *				read poked, 1: nothing to do; else set it, and wake.
 *	Watcher:	take poked; take the stack; fence W; run the checks.
 *	- The poker read waiting as 0.  If W were before P, the poker would have seen
 *	  the raise, because that comes before the push and so before the take and W.
 *	  So P is before the W of the condition's arrival, and its first check sees
 *	  the change.
 *	- The poker read poked as 1.  The watcher takes that 1 later, and a W follows.
 *	  If that W were before P, the poker would have read 0, or a 1 set after that
 *	  W.  A later look takes such a 1.  The thread that set it wakes the watcher.
 *	- The poker set poked: invariant 3.
 *	A pending list needs no poke: its worker is awake and checks it every round.
 *
 * Cancelled jobs: tg_job_cancel stores its flag and then pokes; tg_condition_holds reads the flag
 * as part of each check, so the same argument covers it.
 *
 * Pokes may come without end, and each may check many conditions in vain.  After a look without
 * success the watcher takes no poke for as long as the look took, so it uses half of a CPU at most.
 * A poke made meanwhile stays set; further pokes cost no system call.
 *
 * The cost of a check is measured from the end of the check before, with one reading of the clock
 * each.  If the thread was interrupted meanwhile (its involuntary context switches tell), the
 * measurement proves nothing and is not counted.  Nor does one slow check prove anything, as a
 * pause by the hypervisor looks the same: a report takes SLOW_REPORTED slow checks in a row.
 *
 * When the pool stops, the cancellation submits the conditions that belong to jobs, and the jobs
 * end.  The other conditions stay in their lists in the arena, and so does a poke.  A body whose
 * time comes between the closing of the inboxes and the end is queued all the same: it has been
 * accepted.
 *
 * Left out: taking a condition back.  To end its wait, cancel its job; the body then runs.
 */
#include "runtime/sched/condition.h"

#include <inttypes.h>
#include <stddef.h>
#include <sys/resource.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/condition_internal.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/message.h"
#include "runtime/sched/park.h"
#include "runtime/sched/pending.h"
#include "runtime/sched/watcher.h"
#include "runtime/sched/worker.h"

#define SLOW_REPORTED 3 /* slow checks of one condition, in a row, until it is reported */

typedef struct conditions
{
	tg_condition *arrived TG_CACHE_ALIGNED; /* the stack */

	uint32_t waiting TG_CACHE_ALIGNED; /* invariant 1 */
	uint32_t poked;					   /* set by the poker, taken by the watcher */

	/* Fields of the watcher; they lie here because they outlive its thread. */
	tg_condition *on_poke TG_CACHE_ALIGNED; /* those without an interval */
	tg_condition *on_time;					/* those with one */
	uint64_t due_us;						/* the earliest of on_time */
	uint64_t rests_until_us;				/* no poke is taken before this time */
	uint64_t arrivals;						/* any thread reads it, and the counts in meter */
	tg_check_meter meter;
} conditions;

static conditions *shared; /* in the arena; set by tg_conditions_create, inherited by fork */

tg_status
tg_conditions_create(tg_session *session)
{
	shared = tg_alloc_zeroed(session, sizeof(conditions), TG_USE_RUNTIME, TG_ESSENTIAL);
	return shared ? TG_OK : TG_NO_MEMORY;
}

/* --- checks --------------------------------------------------------------------- */

void
tg_check_meter_begin(tg_check_meter *meter)
{
	meter->at_us = tg_clock_us();
}

/* Whether the thread has lost its CPU to another since the last call. */
static bool
was_interrupted(tg_check_meter *meter)
{
	struct rusage usage;
	uint64_t before = meter->interruptions;

	getrusage(RUSAGE_THREAD, &usage);
	meter->interruptions = (uint64_t) usage.ru_nivcsw;
	return meter->interruptions != before;
}

static void
note_slow(tg_condition *condition, tg_check_meter *meter, uint64_t us)
{
	tg_job_report report;

	if (was_interrupted(meter))
		return;
	tg_store_relaxed(&meter->slow, meter->slow + 1);
	if (condition->slow_count == SLOW_REPORTED || ++condition->slow_count < SLOW_REPORTED)
		return;
	if (tg_job_report_of(condition->task.job, &report))
		tg_message_post("a condition of job %" PRIu64 " (%s) has taken %" PRIu64 " us to check, more than %d us",
						report.id, report.kind, us, TG_CHECK_BUDGET_US);
	else
		tg_message_post("a condition has taken %" PRIu64 " us to check, more than %d us", us, TG_CHECK_BUDGET_US);
}

bool
tg_condition_holds(tg_condition *condition, tg_session *session, tg_check_meter *meter)
{
	uint64_t begin_us = meter->at_us;
	bool holds;

	if (condition->task.job && tg_job_is_cancelled(condition->task.job))
		return true;
	holds = condition->check(condition, session);
	tg_assert(!tg_epoch_inside(session));
	tg_store_relaxed(&meter->checks, meter->checks + 1);
	meter->at_us = tg_clock_us();
	if (tg_unlikely(meter->at_us - begin_us > TG_CHECK_BUDGET_US))
		note_slow(condition, meter, meter->at_us - begin_us);
	else if (condition->slow_count < SLOW_REPORTED)
		condition->slow_count = 0;
	return holds;
}

/* --- submitters and pokers -------------------------------------------------------- */

void
tg_condition_init(tg_condition *condition, tg_turn (*run)(tg_task *, tg_worker *),
				  bool (*check)(tg_condition *, tg_session *), uint32_t interval_us, tg_job *job)
{
	*condition = (tg_condition){.check = check, .interval_us = interval_us};
	tg_task_init(&condition->task, run, job);
}

void
tg_condition_hand_over(tg_condition *condition)
{
	tg_condition *first = tg_load_relaxed(&shared->arrived);

	tg_fetch_add_relaxed(&shared->waiting, 1); /* the push releases it */
	tg_failpoint("condition_arrive");
	do
		condition->next = first;
	while (!tg_cas_acq_rel(&shared->arrived, &first, condition));
	tg_failpoint("condition_arrived");
	if (!first)
		tg_watcher_poke();
}

tg_status
tg_condition_submit(tg_session *session, tg_worker *worker, tg_condition *condition)
{
	(void) session;
	tg_assert(!condition->waits);
	if (worker && worker->in_place) /* such a worker makes no rounds */
		worker = NULL;
	if (!worker && !tg_scheduler_is_running())
		return TG_STOPPED;
	condition->waits = true;
	condition->misses = 0;
	if (condition->task.job)
		tg_job_task_added(condition->task.job);
	if (worker)
		tg_pending_add(worker, condition);
	else
		tg_condition_hand_over(condition);
	return TG_OK;
}

void
tg_condition_poke(void)
{
	tg_fence_seq_cst(); /* P */
	if (!shared || tg_load_relaxed(&shared->waiting) == 0 || tg_load_relaxed(&shared->poked) != 0)
		return;
	tg_failpoint("condition_poke");
	if (tg_exchange_acq_rel(&shared->poked, 1) == 0)
		tg_watcher_poke();
}

/* --- the watcher ------------------------------------------------------------------- */

static void
submit_body(tg_session *session, tg_condition *condition)
{
	condition->waits = false;
	tg_fetch_add_relaxed(&shared->waiting, (uint32_t) -1);
	tg_watcher_submit(session, &condition->task);
	tg_check_meter_begin(&shared->meter); /* the submission was not part of a check */
}

/*
 * Checks the conditions of the list that are due, or all of them.  A condition that holds leaves
 * the list.  True if one did.
 */
static bool
look_at(tg_condition **list, tg_session *session, uint64_t now, bool all)
{
	tg_condition **link = list;
	bool found = false;

	for (tg_condition *condition = *list; condition; condition = *link)
	{
		if (all || condition->due_us <= now)
		{
			if (tg_condition_holds(condition, session, &shared->meter))
			{
				*link = condition->next;
				submit_body(session, condition);
				found = true;
				continue;
			}
			condition->due_us = now + condition->interval_us;
		}
		link = &condition->next;
	}
	return found;
}

static void
look_at_arrived(tg_condition *arrived, tg_session *session, uint64_t now)
{
	while (arrived)
	{
		tg_condition *condition = arrived;
		tg_condition **list = condition->interval_us > 0 ? &shared->on_time : &shared->on_poke;

		arrived = condition->next;
		tg_store_relaxed(&shared->arrivals, shared->arrivals + 1);
		if (tg_condition_holds(condition, session, &shared->meter))
		{
			submit_body(session, condition);
			continue;
		}
		condition->due_us = now + condition->interval_us;
		condition->next = *list;
		*list = condition;
	}
}

static void
look_at_listed(tg_session *session, uint64_t now, bool poked)
{
	bool found = poked && look_at(&shared->on_poke, session, now, true);

	found |= look_at(&shared->on_time, session, now, poked);
	if (poked && !found)
		shared->rests_until_us = 2 * shared->meter.at_us - now;
}

static uint64_t
earliest(const tg_condition *condition)
{
	uint64_t due_us = UINT64_MAX;

	for (; condition; condition = condition->next)
	{
		if (condition->due_us < due_us)
			due_us = condition->due_us;
	}
	return due_us;
}

uint64_t
tg_conditions_look(tg_session *session)
{
	tg_condition *arrived = tg_load_relaxed(&shared->arrived);
	bool poked = tg_load_relaxed(&shared->poked) != 0;
	uint64_t now;

	tg_check_meter_begin(&shared->meter);
	now = shared->meter.at_us;
	if (poked && now < shared->rests_until_us)
		poked = false; /* the poke stays set */
	if (poked)
		(void) tg_exchange_acq_rel(&shared->poked, 0);
	if (arrived)
		arrived = tg_exchange_acq_rel(&shared->arrived, NULL);
	if (poked || arrived || now >= shared->due_us)
	{
		tg_fence_seq_cst(); /* W */
		look_at_listed(session, now, poked);
		look_at_arrived(arrived, session, now);
		shared->due_us = earliest(shared->on_time);
	}
	if (tg_load_relaxed(&shared->poked) != 0 && shared->rests_until_us < shared->due_us)
		return shared->rests_until_us;
	return shared->due_us;
}

/* --- views -------------------------------------------------------------------------- */

void
tg_conditions_report(tg_scheduler_report *report)
{
	const tg_scheduler *scheduler = tg_scheduler_shared;

	report->conditions_waiting = tg_load_relaxed(&shared->waiting);
	report->conditions_submitted = tg_load_relaxed(&shared->arrivals);
	report->condition_checks = tg_load_relaxed(&shared->meter.checks);
	report->conditions_slow = tg_load_relaxed(&shared->meter.slow);
	for (uint32_t i = 0; i < scheduler->worker_max; i++)
	{
		const tg_pending *pending = &scheduler->workers[i].pending;

		report->conditions_submitted += tg_load_relaxed(&pending->run);
		report->condition_checks += tg_load_relaxed(&pending->meter.checks);
		report->conditions_slow += tg_load_relaxed(&pending->meter.slow);
	}
}
