/*
 * base_job.h
 *	  The steps of a base, done by a task of the pool.
 *
 * The thread that begins a base and ends it has other things to do that must not wait for a disk.
 * So tasks do the steps, in stints of some ten milliseconds, beside it.  Where sessions have no CPU
 * to spare, the base rests between stints.
 */
#ifndef TG_BASE_JOB_H
#define TG_BASE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/base.h"
#include "runtime/mem/session.h"

typedef struct tg_base_job tg_base_job;

/*
 * For a base that has been begun.  waiter: for tg_host_wake, when a stint has ended.  TG_NO_MEMORY.
 */
extern tg_status tg_base_job_create(tg_base *base, tg_session *session, void *waiter,
									tg_base_job **job_out) TG_MUST_USE;

/*
 * As tg_base_step, but a stint, which ends early when it has written so many bytes.  TG_BUSY also
 * while a task is at it, or the base rests, which it does not if the caller hurries.  Where no task
 * can be, because the pool does not run, the calling thread does one step.  One thread at a time.
 */
extern tg_status tg_base_job_step(tg_base_job *job, tg_session *session, uint64_t bytes_max, bool hurries,
								  tg_file_error *error_out) TG_MUST_USE;

typedef struct tg_stint_cost
{
	uint64_t cpu_us; /* of its threads */
	uint64_t losses; /* times that they lost their CPU to another thread */
} tg_stint_cost;

/*
 * In how many microseconds from the stint's beginning the next one may begin, on so many CPUs; it
 * may have taken longer itself.
 */
extern uint64_t tg_stint_end_us(const tg_stint_cost *cost, unsigned cpus);

/* At any time.  Waits for the task, if one is at it: a step, or the sync of a file. */
extern void tg_base_job_end(tg_base_job *job, tg_session *session);

#endif /* TG_BASE_JOB_H */
