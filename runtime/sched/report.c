/*
 * report.c
 *	  Reports for the host's views: states and counters of the pool.
 *
 * Each counter has one writer, which is its worker or the thread that holds its queue's latch.  The
 * writer uses plain relaxed stores on a cache line that it writes anyway; a reader adds the
 * counters up.  The numbers of one report are therefore not of one moment.
 */
#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/watcher.h"
#include "runtime/sched/worker.h"

unsigned
tg_worker_count(void)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	return scheduler ? tg_load_relaxed(&scheduler->worker_count) : 0;
}

static uint64_t
job_id(const tg_worker *worker)
{
	tg_job_report report;

	if (tg_load_relaxed(&worker->state) != TG_WORKER_RUNNING)
		return 0;
	return tg_job_report_of(tg_load_relaxed(&worker->job), &report) ? report.id : 0;
}

void
tg_worker_report_get(unsigned number, tg_worker_report *report)
{
	const tg_scheduler *scheduler = tg_scheduler_shared;
	const tg_worker *worker = &scheduler->workers[number];

	tg_assert(number < scheduler->worker_max);
	*report = (tg_worker_report){.state = (tg_worker_state) tg_load_relaxed(&worker->state),
								 .distributing = tg_load_relaxed(&scheduler->distributor) == worker->id + 1,
								 .core = tg_load_relaxed(&worker->core),
								 .socket = tg_load_relaxed(&worker->socket),
								 .tasks_run = tg_load_relaxed(&worker->tasks_run),
								 .sticky_run = tg_load_relaxed(&worker->sticky_run),
								 .tasks_stolen = tg_load_relaxed(&worker->tasks_stolen),
								 .steals = tg_load_relaxed(&worker->steals),
								 .steal_misses = tg_load_relaxed(&worker->steal_misses),
								 .distributed = tg_load_relaxed(&worker->distributed),
								 .suspensions = tg_load_relaxed(&worker->suspensions),
								 .wakeups = tg_load_relaxed(&worker->wakeups),
								 .yields = tg_load_relaxed(&worker->yields),
								 .parks = tg_load_relaxed(&worker->parks),
								 .deque_count = tg_deque_size(&worker->deque),
								 .inbox_count = tg_queue_count(&worker->inbox),
								 .sticky_count = tg_queue_count(&worker->sticky),
								 .pending_count = tg_load_relaxed(&worker->pending.count),
								 .job_id = job_id(worker)};
	tg_watcher_report_worker(worker, report);
}

void
tg_scheduler_report_get(tg_scheduler_report *report)
{
	const tg_scheduler *scheduler = tg_scheduler_shared;

	*report = (tg_scheduler_report){.phase = (tg_phase) tg_load_acquire(&scheduler->phase),
									.workers = tg_load_relaxed(&scheduler->worker_count),
									.searching = tg_load_relaxed(&scheduler->searching),
									.sleeping = tg_load_relaxed(&scheduler->sleeping),
									.distributing = tg_load_relaxed(&scheduler->distributor) != TG_DISTRIBUTOR_NONE,
									.distributions = tg_load_relaxed(&scheduler->distributions),
									.distribution_naps = tg_load_relaxed(&scheduler->distribution_naps),
									.distributed = tg_load_relaxed(&scheduler->distributed),
									.global_count = tg_queue_count(&scheduler->global),
									.global_taken = tg_load_relaxed(&scheduler->global.taken),
									.global_transfers = tg_load_relaxed(&scheduler->global.takes)};
	for (uint32_t i = 0; i < scheduler->worker_max; i++) /* some may have stopped */
	{
		const tg_worker *worker = &scheduler->workers[i];

		report->overflows += tg_load_relaxed(&worker->overflows);
		report->submitted += tg_load_relaxed(&worker->inbox.accepted) + tg_load_relaxed(&worker->sticky.accepted);
		report->submitted_urgent += tg_load_relaxed(&worker->inbox.urgent);
	}
	tg_watcher_report(report);
}
