/*
 * process_command.c
 *	  The built-in commands of every process: timer, send, spawn, job, cancel, lane.
 *
 * Send, spawn and cancel are done at once.  A timer and a job take time, and use an errand that two
 * parties hold: the party that is going to complete the command (the timer's task, the job's end),
 * and the yield, whose cancel is called if the process ends before.  Each party gives its share
 * back once.  A completion that was accepted gives back both shares, as no cancel follows it; so
 * does a cancel that has stopped the timer.  The last share frees the errand, so neither party uses
 * a freed errand.
 *
 * A process' timers are no tasks of its job.  A job's timers run at once when the job is cancelled,
 * and the process would take that for the end of the delay.  The process learns of the cancel by
 * its event; timers that are still outstanding when it ends are cancelled then.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/condition.h"
#include "runtime/sched/park.h"
#include "runtime/app/process_internal.h"

/* --- errands --------------------------------------------------------------------------- */

typedef struct errand
{
	uint32_t shares;
	tg_ticket ticket;
	tg_job *job; /* with a reference; NULL for none */
} errand;

static void
errand_give(tg_session *session, errand *errand, uint32_t shares)
{
	/* the party that frees it sees all that the other party did */
	uint32_t before = tg_fetch_add_acq_rel(&errand->shares, -shares);

	tg_assert(before >= shares);
	if (before > shares)
		return;
	if (errand->job)
		tg_job_release(session, errand->job);
	tg_free(session, errand, TG_USE_JOB);
}

/* The completing party gives back its share. */
static void
errand_complete(tg_session *session, errand *errand, tg_status error, void *data, tg_event_drop drop)
{
	bool accepted = tg_process_complete(session, errand->ticket, error, data, drop) == TG_OK;

	if (!accepted && data && drop)
		drop(session, data);
	errand_give(session, errand, accepted ? 2 : 1);
}

/* NULL: the command has been completed with an error that carries its data. */
static void *
errand_new(const tg_command *command, size_t bytes, void *data, tg_event_drop drop)
{
	errand *errand = tg_alloc_zeroed(command->session, bytes, TG_USE_JOB, TG_DATA);

	if (!errand)
	{
		tg_check(tg_process_complete(command->session, command->ticket, TG_NO_MEMORY, data, drop) == TG_OK);
		return NULL;
	}
	errand->shares = 2;
	errand->ticket = command->ticket;
	tg_command_keep(command, errand);
	return errand;
}

/* --- timer ------------------------------------------------------------------------------- */

typedef struct timer_errand
{
	errand errand; /* first */
	tg_timer timer;
} timer_errand;

static tg_turn
run_timer(tg_task *task, tg_worker *worker)
{
	timer_errand *timer = (timer_errand *) ((char *) task - offsetof(timer_errand, timer.task));

	errand_complete(tg_worker_session(worker), &timer->errand, TG_OK, NULL, NULL);
	return TG_TURN_DONE;
}

static void
timer_run(const tg_command *command)
{
	const tg_timer_command *argument = command->argument;
	timer_errand *timer = errand_new(command, sizeof(*timer), NULL, NULL);
	tg_status status;

	if (!timer)
		return;
	tg_timer_init(&timer->timer, run_timer, NULL);
	status = tg_timer_start(command->session, &timer->timer, tg_clock_us() + argument->delay_us);
	if (status != TG_OK)
		errand_complete(command->session, &timer->errand, status, NULL, NULL);
}

static void
timer_cancel(tg_session *session, void *kept)
{
	timer_errand *timer = kept;

	tg_failpoint("timer_errand_cancel");
	errand_give(session, &timer->errand, tg_timer_cancel(session, &timer->timer) ? 2 : 1);
}

/* --- messages, children, cancels -------------------------------------------------------------- */

/* Refused data goes back to the sender. */
static void
send_run(const tg_command *command)
{
	const tg_send_command *argument = command->argument;
	tg_status status = tg_process_send(command->session, argument->to, argument->tag, argument->data, argument->drop);
	bool refused = status != TG_OK;

	tg_check(tg_process_complete(command->session, command->ticket, status, refused ? argument->data : NULL,
								 refused ? argument->drop : NULL) == TG_OK);
}

/* The parent learns the PID before the child can end, or send. */
static void
spawn_run(const tg_command *command)
{
	tg_process *child;
	tg_status status = tg_process_spawn(command, command->argument, &child);
	tg_pid pid = status == TG_OK ? tg_process_pid(child) : 0;

	tg_check(tg_process_complete(command->session, command->ticket, status, (void *) (uintptr_t) pid, NULL) == TG_OK);
	if (status == TG_OK)
		tg_job_spawn(command->worker, tg_process_job(command->process), &child->task);
}

static void
cancel_run(const tg_command *command)
{
	const tg_pid *pid = command->argument;
	tg_status status = tg_process_cancel(command->session, *pid);

	tg_check(tg_process_complete(command->session, command->ticket, status, NULL, NULL) == TG_OK);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Looked up by the job, since the job's argument is the application's. */
typedef struct job_errand
{
	errand errand; /* first */
	/* the application's, may be NULL */
	void (*complete)(tg_job *job, tg_session *session, tg_status status);
	struct job_errand *next; /* under the mutex */
} job_errand;

static pthread_mutex_t job_errands_mutex = PTHREAD_MUTEX_INITIALIZER;
static job_errand *job_errands; /* no more than there are jobs */

static void
job_errand_add(job_errand *added)
{
	pthread_mutex_lock(&job_errands_mutex);
	added->next = job_errands;
	job_errands = added;
	pthread_mutex_unlock(&job_errands_mutex);
}

static job_errand *
job_errand_remove(const tg_job *job)
{
	job_errand **link = &job_errands;
	job_errand *found;

	pthread_mutex_lock(&job_errands_mutex);
	while (*link && (*link)->errand.job != job)
		link = &(*link)->next;
	found = *link;
	tg_check(found);
	*link = found->next;
	pthread_mutex_unlock(&job_errands_mutex);
	return found;
}

/* tg_job_config.complete */
static void
job_completed(tg_job *job, tg_session *session, tg_status status)
{
	job_errand *ended = job_errand_remove(job);

	if (ended->complete)
		ended->complete(job, session, status);
	errand_complete(session, &ended->errand, status, NULL, NULL);
}

static tg_status
job_begin(const tg_command *command, job_errand *begun)
{
	const tg_job_command *argument = command->argument;
	tg_job_config config = *argument->config;
	tg_job *job;
	tg_status status;

	begun->complete = config.complete;
	config.complete = job_completed;
	config.parent = tg_process_job(command->process);
	status = tg_job_create(command->session, &config, &job);
	if (status != TG_OK)
		return status;
	begun->errand.job = job;
	job_errand_add(begun);
	argument->bootstrap->job = job;
	/* the errand may have ended with it */
	status = tg_job_start(command->session, job, argument->bootstrap);
	if (status != TG_OK)
		(void) job_errand_remove(job);
	return status;
}

static void
job_run(const tg_command *command)
{
	job_errand *begun = errand_new(command, sizeof(*begun), NULL, NULL);
	tg_status status;

	if (!begun)
		return;
	status = job_begin(command, begun);
	if (status != TG_OK)
		errand_complete(command->session, &begun->errand, status, NULL, NULL);
}

/* The process has ended and does not wait for the job any more. */
static void
job_cancel(tg_session *session, void *kept)
{
	job_errand *begun = kept;

	tg_job_cancel(session, begun->errand.job);
	errand_give(session, &begun->errand, 1);
}

/* --- lanes ------------------------------------------------------------------------------------ */

typedef struct lane_errand
{
	errand errand; /* first */
	tg_lane_command command;
	tg_operation operation;
} lane_errand;

static void
run_operation(tg_operation *operation, tg_session *session)
{
	lane_errand *lane = (lane_errand *) ((char *) operation - offsetof(lane_errand, operation));
	tg_status status = lane->command.run(session, lane->command.data);

	errand_complete(session, &lane->errand, status, lane->command.data, lane->command.drop);
}

static void
lane_run(const tg_command *command)
{
	const tg_lane_command *argument = command->argument;
	lane_errand *lane = errand_new(command, sizeof(*lane), argument->data, argument->drop);
	tg_status status;

	if (!lane)
		return;
	lane->command = *argument;
	lane->operation.run = run_operation;
	status = tg_lane_submit(command->session, argument->lane, &lane->operation);
	if (status != TG_OK)
		errand_complete(command->session, &lane->errand, status, argument->data, argument->drop);
}

static void
lane_cancel(tg_session *session, void *kept)
{
	lane_errand *lane = kept;

	errand_give(session, &lane->errand, 1);
}

/* --- all of them ------------------------------------------------------------------------------ */

void
tg_process_commands_register(void)
{
	static const tg_command_handler timer = {
		.name = "timer", .argument_bytes = sizeof(tg_timer_command), .run = timer_run, .cancel = timer_cancel};
	static const tg_command_handler send = {.name = "send", .argument_bytes = sizeof(tg_send_command), .run = send_run};
	static const tg_command_handler spawn = {
		.name = "spawn", .argument_bytes = sizeof(tg_spawn_command), .run = spawn_run};
	static const tg_command_handler job = {
		.name = "job", .argument_bytes = sizeof(tg_job_command), .run = job_run, .cancel = job_cancel};
	static const tg_command_handler lane = {
		.name = "lane", .argument_bytes = sizeof(tg_lane_command), .run = lane_run, .cancel = lane_cancel};
	static const tg_command_handler cancel = {.name = "cancel", .argument_bytes = sizeof(tg_pid), .run = cancel_run};

	tg_command_register(TG_COMMAND_TIMER, &timer);
	tg_command_register(TG_COMMAND_SEND, &send);
	tg_command_register(TG_COMMAND_SPAWN, &spawn);
	tg_command_register(TG_COMMAND_JOB, &job);
	tg_command_register(TG_COMMAND_CANCEL, &cancel);
	tg_command_register(TG_COMMAND_LANE, &lane);
}
