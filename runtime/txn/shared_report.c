/*
 * shared_report.c
 *	  Reports on transactions that several sessions work in, for views and holders of a handle.
 */
#include "runtime/txn/shared_internal.h"

#include <string.h>

#include "runtime/sched/park.h"
#include "runtime/txn/ending.h"

/* Under the latch. */
static void
report_get(const tg_shared *shared, tg_shared_report *report)
{
	uint64_t deadline_us = tg_load_relaxed(&shared->deadline_us);
	uint64_t ending = tg_load_acquire(&shared->ending);
	uint64_t now = tg_clock_us();

	*report = (tg_shared_report){.state = (tg_shared_state) tg_load_acquire(&shared->state),
								 .reason = shared->reason,
								 .users = tg_ending_users(ending),
								 .lease_left_us = deadline_us > now ? deadline_us - now : 0,
								 .role = shared->role,
								 .owner = shared->owner,
								 .kind = shared->kind,
								 .isolation = shared->isolation,
								 .txn = tg_txn_number(shared->txn),
								 .host = shared->host,
								 .number = tg_shared_number(shared)};
	memcpy(report->text, shared->text, sizeof(report->text));
	if (report->state == TG_SHARED_RUNNING && (ending & TG_GOING_TO_ABORT) != 0)
		report->state = TG_SHARED_ABORTING;
	if (report->state == TG_SHARED_STORED)
		report->logged = shared->logged;
	if (report->reason == TG_SHARED_CONFLICTED && report->state == TG_SHARED_ABORTED)
		report->conflict = shared->conflict;
}

void
tg_shared_report_get(const tg_shared *shared, tg_shared_report *report)
{
	tg_latch_acquire(&tg_shared_all->latch);
	report_get(shared, report);
	tg_latch_release(&tg_shared_all->latch);
}

bool
tg_shared_report_at(unsigned i, tg_shared_report *report)
{
	bool in_use;

	if (i >= TG_SHARED_MAX)
		return false;
	tg_latch_acquire(&tg_shared_all->latch);
	in_use = tg_shared_all->place[i].in_use;
	if (in_use)
		report_get(&tg_shared_all->place[i], report);
	tg_latch_release(&tg_shared_all->latch);
	return in_use;
}
