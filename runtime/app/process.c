/*
 * process.c
 *	  Processes: applications, their life, and one turn of the task that runs Step.
 *
 * A process is a task of a job: the job of the first process, which its descendants join.  One turn
 * takes up to TG_PROCESS_STEP_EVENTS events from the queue, calls Step with them and runs the
 * commands that Step has yielded.  Then it lets the process rest (parks the task), or, if there is
 * more to do, sends the task round again through the global queue. process_state.h has the states.
 *
 * Invariants
 *	1. A turn runs between begin and leave, go or end of the state word, and the
 *	   task's own word lets no two turns overlap.  So Step, Close and the fields
 *	   that process_internal.h gives to the running worker need no lock.
 *	2. A resting process has no event in its queue that would end its rest: when
 *	   Blocked, no completion, exit or cancel; when Idle, no event (leave_turn).
 *	3. Init runs before the process is registered.  Close runs once: after the last
 *	   Step, when no other thread can reach the process any more, or in the thread
 *	   that failed to start it.
 *	4. A process is counted as a task of its job and claimed in the table until
 *	   its end has informed its spawner and closed its state.
 *
 * Cancel.  A job's cancel is passed to all processes that are registered.  A process that is not
 * registered yet sees the job's flag in its first turn (one side: flag, fence, look at the table;
 * the other: add to the table, fence, look at the flag).
 *
 * Shutdown (scheduler.c): jobs are cancelled first, and with them all processes.  Processes that
 * have not ended at the limit are closed without another Step, while workers still run: their next
 * turn is the end.  A Step that runs beyond the limit makes the stop fail.
 *
 * At its end a process is retired, which may need memory.  If there is none, the task, complete,
 * comes again.
 *
 * Left out: loading applications (the code that has linked them registers them); priorities among
 * processes; and a limit on their memory.  A process works in the transaction of its caller, by the
 * lane, or in one of its own (process_txn.h).
 */
#include "runtime/app/process.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/sched/park.h"
#include "runtime/app/process_internal.h"

#define PROCESS_LEVEL 60 /* work level: never in place of a submitter's own work */

_Static_assert(sizeof(uintptr_t) >= sizeof(tg_pid), "a PID is carried as an event's data");

/* main thread only; taken at the start, so that a stop always has one */
static tg_session *stop_session;

/* --- registered applications and handlers ------------------------------------------------ */

static pthread_mutex_t applications_mutex = PTHREAD_MUTEX_INITIALIZER;
static const tg_application *applications[TG_APPLICATION_MAX]; /* under the mutex, as the count */
static unsigned application_count;

/* released here, acquired by the thread that yields */
static const tg_command_handler *handlers[TG_COMMAND_MAX];

tg_status
tg_application_register(const tg_application *application)
{
	unsigned i = 0;

	pthread_mutex_lock(&applications_mutex);
	while (i < application_count && strcmp(applications[i]->name, application->name) != 0)
		i++;
	if (i < TG_APPLICATION_MAX)
	{
		applications[i] = application;
		if (i == application_count)
			application_count++;
	}
	pthread_mutex_unlock(&applications_mutex);
	return i < TG_APPLICATION_MAX ? TG_OK : TG_FULL;
}

static const tg_application *
application_find(const char *name)
{
	const tg_application *found = NULL;

	pthread_mutex_lock(&applications_mutex);
	for (unsigned i = 0; i < application_count && !found; i++)
	{
		if (strcmp(applications[i]->name, name) == 0)
			found = applications[i];
	}
	pthread_mutex_unlock(&applications_mutex);
	return found;
}

static const tg_entry *
entry_find(const tg_application *application, const char *method)
{
	for (unsigned i = 0; i < application->entry_count; i++)
	{
		if (strcmp(application->entries[i].method, method) == 0)
			return &application->entries[i];
	}
	return NULL;
}

void
tg_command_register(unsigned kind, const tg_command_handler *handler)
{
	tg_check(kind < TG_COMMAND_MAX && handler->argument_bytes <= TG_COMMAND_ARGUMENT_BYTES);
	tg_store_release(&handlers[kind], handler);
}

static const tg_command_handler *
find_handler(unsigned kind)
{
	return kind < TG_COMMAND_MAX ? tg_load_acquire(&handlers[kind]) : NULL;
}

/* --- the end ------------------------------------------------------------------------------- */

/* Removes the process from the table, drops its events and closes its state. */
static void
take_apart(tg_session *session, tg_process *process)
{
	tg_process_events_close(session, process);
	tg_process_table_remove(session, process);
	process->entry->close(session, process->state);
}

static void
tell_spawner(tg_session *session, tg_process *process)
{
	tg_ticket ticket = process->exit_ticket;

	if (ticket.pid)
	{
		tg_status told = tg_process_complete(session, ticket, process->exit, (void *) (uintptr_t) process->pid, NULL);

		(void) told; /* the waiting process may have ended before */
	}
	else if (process->exit != TG_OK)
		tg_job_fail(process->task.job, process->exit);
}

/* Ends the last turn.  If there is no memory to note the retirement, the task comes again. */
static tg_turn
retire(tg_session *session, tg_process *process)
{
	if (tg_failpoint_refuses("process_reserve") || tg_retire_reserve(session, 1) != TG_OK)
		return TG_TURN_AGAIN;
	tg_retire(session, process, TG_USE_JOB);
	tg_process_table_unclaim();
	return TG_TURN_DONE;
}

/* Ends the turn, and the process with it. */
static tg_turn
end_turn(tg_session *session, tg_process *process, tg_status exit)
{
	process->exit = exit;
	tg_process_state_go(&process->word, TG_PROCESS_COMPLETE);
	tg_failpoint("process_complete");
	take_apart(session, process);
	tell_spawner(session, process);
	return retire(session, process);
}

/* --- a turn --------------------------------------------------------------------------------- */

static void
run_commands(tg_session *session, tg_worker *worker, tg_process *process)
{
	tg_yield *yield = process->yielded_first;

	process->yielded_first = NULL;
	while (yield)
	{
		/* a yield that is settled and taken out is used again, but not in this turn */
		tg_yield *next = yield->next;
		tg_command command = {.process = process,
							  .worker = worker,
							  .session = session,
							  .argument = yield->argument,
							  .tag = yield->node.event.tag,
							  .ticket = tg_process_yield_ticket(process, yield)};

		tg_failpoint("process_command");
		yield->handler->run(&command);
		yield = next;
	}
}

/* Lets the process rest, or sends its task round again. */
static tg_turn
leave_turn(tg_process *process)
{
	tg_process_state rest;
	bool may_rest = tg_process_state_rest(tg_process_event_counts(process), &rest) && !process->wants_again;

	tg_failpoint("process_leaving");
	if (may_rest && tg_process_state_leave(&process->word, rest))
	{
		tg_failpoint("process_left");
		return TG_TURN_PARK;
	}
	tg_process_state_go(&process->word, TG_PROCESS_READY);
	return TG_TURN_AGAIN;
}

static void
call_step(tg_session *session, tg_process *process, tg_event *events, unsigned count, tg_process_step *step)
{
	*step = (tg_process_step){.process = process, .session = session, .events = events, .event_count = count};
	process->is_started = true;
	tg_store_relaxed(&process->steps, process->steps + 1);
	tg_store_relaxed(&process->events, process->events + count);
	process->entry->step(process->state, step);
	process->wants_again = step->status == TG_STEP_AGAIN;
	tg_process_events_drop(session, events, count);
}

/* The first turn: the job's cancel may have come too early to meet this process. */
static void
learn_cancel(tg_session *session, tg_process *process)
{
	tg_fence_seq_cst(); /* after the table's add; pairs with job_cancelled */
	if (tg_job_is_cancelled(process->task.job))
		tg_process_event_cancel(session, process, false);
}

static tg_turn
run_process(tg_task *task, tg_worker *worker)
{
	tg_process *process = (tg_process *) task;
	tg_session *session = tg_worker_session(worker);
	tg_event events[TG_PROCESS_STEP_EVENTS];
	tg_process_step step;
	unsigned count;
	bool must_close;

	if (tg_process_state_of(tg_load_relaxed(&process->word)) == TG_PROCESS_COMPLETE)
		return retire(session, process);
	tg_process_state_begin(&process->word);
	if (!process->is_started)
		learn_cancel(session, process);
	count = tg_process_events_take(session, process, events, TG_PROCESS_STEP_EVENTS, &must_close);
	tg_failpoint("process_taken");
	if (must_close)
	{
		tg_process_events_drop(session, events, count);
		return end_turn(session, process, TG_CANCELLED);
	}
	/* A message may have been taken by the turn before the one that it woke for. */
	if (count > 0 || process->wants_again || !process->is_started)
	{
		call_step(session, process, events, count, &step);
		run_commands(session, worker, process);
		if (step.status == TG_STEP_COMPLETE)
			return end_turn(session, process, step.error);
	}
	return leave_turn(process);
}

/* --- the beginning ---------------------------------------------------------------------------- */

typedef struct birth
{
	const tg_application *application;
	const char *method;
	const void *input;
	size_t input_bytes;
	void *transaction;
	tg_ticket exit_ticket;
} birth;

/*
 * Makes the process with its state, not registered.  If it fails, the caller gives back the claim.
 */
static tg_status
make(tg_session *session, const birth *birth, tg_job *job, tg_process **process_out)
{
	const tg_entry *entry = birth->application ? entry_find(birth->application, birth->method) : NULL;
	tg_process *process;
	tg_status status;

	if (!entry)
		return TG_NOT_FOUND;
	process = tg_alloc_zeroed(session, sizeof(*process), TG_USE_JOB, TG_DATA);
	if (!process)
		return TG_NO_MEMORY;
	tg_task_init(&process->task, run_process, job);
	process->application = birth->application;
	process->entry = entry;
	process->transaction = birth->transaction;
	process->exit_ticket = birth->exit_ticket;
	process->queue_max = entry->queue_max > 0 ? entry->queue_max : TG_PROCESS_QUEUE_MAX;
	process->word = TG_PROCESS_READY;
	tg_process_events_init(process);
	status = entry->init(session, birth->input, birth->input_bytes, &process->state);
	if (status != TG_OK)
	{
		tg_free(session, process, TG_USE_JOB);
		return status;
	}
	*process_out = process;
	return TG_OK;
}

/*
 * As make, claimed and registered: other threads may send to it, and it runs once its task is
 * submitted.
 */
static tg_status
make_known(tg_session *session, const birth *birth, tg_job *job, tg_process **process_out)
{
	tg_status status = tg_process_table_claim();

	if (status != TG_OK)
		return status;
	status = make(session, birth, job, process_out);
	if (status == TG_OK)
		tg_process_table_add(session, *process_out);
	else
		tg_process_table_unclaim();
	return status;
}

/* The starter's callbacks about the job; the job's argument. */
typedef struct request
{
	void *argument;
	void (*cancelled)(void *argument, tg_session *session);
	void (*complete)(void *argument, tg_session *session, tg_status status);
} request;

static void
cancel_of_job(tg_session *session, tg_process *process, void *job)
{
	if (process->task.job == job)
		tg_process_event_cancel(session, process, false);
}

/* tg_job_config.cancelled */
static void
job_cancelled(tg_job *job, tg_session *session)
{
	const request *request = tg_job_argument(job);

	tg_fence_seq_cst(); /* after the job's flag; pairs with learn_cancel */
	tg_process_table_each(session, cancel_of_job, job);
	if (request->cancelled)
		request->cancelled(request->argument, session);
}

/* tg_job_config.complete */
static void
job_complete(tg_job *job, tg_session *session, tg_status status)
{
	request *request = tg_job_argument(job);

	if (request->complete)
		request->complete(request->argument, session, status);
	tg_free(session, request, TG_USE_JOB);
}

/* Makes the job of a first process, and that process in it.  The caller starts the job. */
static tg_status
make_job(tg_session *session, const tg_process_config *config, tg_job **job_out, tg_process **process_out)
{
	tg_job_config job_config = {.kind = "process",
								.owner = config->owner,
								.level = PROCESS_LEVEL,
								.pool_only = true,
								.complete = job_complete,
								.cancelled = job_cancelled,
								.parent = config->parent,
								.waiter = config->waiter};
	birth birth = {.application = application_find(config->application),
				   .method = config->method,
				   .input = config->input,
				   .input_bytes = config->input_bytes,
				   .transaction = config->transaction};
	request *request = tg_alloc(session, sizeof(*request), TG_USE_JOB, TG_DATA);
	tg_status status;

	if (!request)
		return TG_NO_MEMORY;
	request->argument = config->argument;
	request->cancelled = config->cancelled;
	request->complete = config->complete;
	job_config.argument = request;
	status = tg_job_create(session, &job_config, job_out);
	if (status == TG_OK)
	{
		status = make_known(session, &birth, *job_out, process_out);
		if (status != TG_OK)
			tg_job_release(session, *job_out);
	}
	if (status != TG_OK)
		tg_free(session, request, TG_USE_JOB);
	return status;
}

/* Undoes make_job, because the pool has stopped meanwhile. */
static void
unmake_job(tg_session *session, tg_job *job, tg_process *process)
{
	take_apart(session, process);
	/* there is no pool that would wait for this thread */
	tg_check(tg_process_table_quiesce(UINT64_MAX));
	tg_free(session, process, TG_USE_JOB);
	tg_process_table_unclaim();
	tg_free(session, tg_job_argument(job), TG_USE_JOB);
	tg_job_release(session, job);
}

tg_status
tg_process_start(tg_session *session, const tg_process_config *config, tg_pid *pid_out, tg_job **job_out)
{
	tg_process *process;
	tg_job *job;
	tg_pid pid;
	tg_status status = make_job(session, config, &job, &process);

	if (status != TG_OK)
		return status;
	pid = process->pid;
	tg_failpoint("process_known");
	status = tg_job_start(session, job, &process->task);
	if (status != TG_OK)
	{
		unmake_job(session, job, process);
		return status;
	}
	*pid_out = pid;
	if (job_out)
		*job_out = job;
	else
		tg_job_release(session, job);
	return TG_OK;
}

tg_status
tg_process_spawn(const tg_command *command, const tg_spawn_command *spawn, tg_process **child_out)
{
	tg_process *parent = command->process;
	tg_job *job = parent->task.job;
	birth birth = {.application = spawn->application ? application_find(spawn->application) : parent->application,
				   .method = spawn->method,
				   .input = spawn->input,
				   .input_bytes = spawn->input_bytes,
				   .transaction = parent->transaction};
	tg_yield *watch;
	tg_status status;

	if (tg_job_is_cancelled(job))
		return TG_CANCELLED;
	status = tg_process_yield_take(command->session, parent, TG_YIELD_WATCHING, TG_EVENT_EXIT, command->tag, &watch);
	if (status != TG_OK)
		return status;
	birth.exit_ticket = tg_process_yield_ticket(parent, watch);
	tg_failpoint("process_spawning");
	status = make_known(command->session, &birth, job, child_out);
	if (status != TG_OK)
	{
		tg_process_yield_give(parent, watch);
		return status;
	}
	tg_failpoint("process_spawned");
	return TG_OK;
}

/* --- from outside ----------------------------------------------------------------------------- */

tg_status
tg_process_send(tg_session *session, tg_pid pid, uint64_t tag, void *data, tg_event_drop drop)
{
	tg_event_node *node = tg_alloc(session, sizeof(*node), TG_USE_JOB, TG_DATA);
	tg_process *process;
	tg_status status = TG_NOT_FOUND;

	if (!node)
		return TG_NO_MEMORY;
	node->event = (tg_event){.type = TG_EVENT_MESSAGE, .tag = tag, .data = data, .drop = drop};
	tg_epoch_enter(session);
	process = tg_process_table_find(pid);
	if (process)
		status = tg_process_event_add(session, process, node);
	tg_epoch_leave(session);
	if (status != TG_OK)
		tg_free(session, node, TG_USE_JOB);
	return status;
}

tg_status
tg_process_complete(tg_session *session, tg_ticket ticket, tg_status error, void *data, tg_event_drop drop)
{
	tg_process *process;
	bool done;

	tg_epoch_enter(session);
	process = tg_process_table_find(ticket.pid);
	done = process && tg_process_event_settle(session, process, ticket, error, data, drop);
	tg_epoch_leave(session);
	return done ? TG_OK : TG_NOT_FOUND;
}

tg_status
tg_process_cancel(tg_session *session, tg_pid pid)
{
	tg_process *process;

	tg_epoch_enter(session);
	process = tg_process_table_find(pid);
	if (process)
		tg_process_event_cancel(session, process, false);
	tg_epoch_leave(session);
	return process ? TG_OK : TG_NOT_FOUND;
}

/* --- commands --------------------------------------------------------------------------------- */

tg_status
tg_process_yield(tg_process_step *step, unsigned kind, uint64_t tag, const void *argument, size_t argument_bytes)
{
	tg_process *process = step->process;
	const tg_command_handler *handler = find_handler(kind);
	tg_yield *yield;
	tg_status status;

	if (!handler)
		return TG_NOT_FOUND;
	if (argument_bytes != handler->argument_bytes)
		return TG_TOO_LARGE;
	status = tg_process_yield_take(step->session, process, TG_YIELD_OUTSTANDING, TG_EVENT_COMPLETION, tag, &yield);
	if (status != TG_OK)
		return status;
	yield->handler = handler;
	if (argument_bytes > 0)
		memcpy(yield->argument, argument, argument_bytes);
	if (process->yielded_first)
		process->yielded_last->next = yield;
	else
		process->yielded_first = yield;
	process->yielded_last = yield;
	return TG_OK;
}

void
tg_command_keep(const tg_command *command, void *kept)
{
	tg_yield *yield = (tg_yield *) ((char *) command->argument - offsetof(tg_yield, argument));

	tg_assert(yield->handler->cancel);
	yield->kept = kept;
}

/* --- queries ------------------------------------------------------------------------------- */

tg_pid
tg_process_pid(const tg_process *process)
{
	return process->pid;
}

const tg_application *
tg_process_application(const tg_process *process)
{
	return process->application;
}

void *
tg_process_transaction(const tg_process *process)
{
	return process->transaction;
}

tg_job *
tg_process_job(const tg_process *process)
{
	return process->task.job;
}

static void
fill_report(tg_process *process, tg_process_report *report)
{
	tg_event_counts counts = tg_process_event_counts(process);

	*report = (tg_process_report){.pid = process->pid,
								  .application = process->application->name,
								  .method = process->entry->method,
								  .state = tg_process_state_of(tg_load_acquire(&process->word)),
								  .job = process->task.job,
								  .steps = tg_load_relaxed(&process->steps),
								  .events = tg_load_relaxed(&process->events),
								  .queued = counts.messages + counts.others,
								  .messages = counts.messages,
								  .outstanding = counts.outstanding};
}

tg_status
tg_process_report_get(tg_session *session, tg_pid pid, tg_process_report *report)
{
	tg_process *process;

	tg_epoch_enter(session);
	process = tg_process_table_find(pid);
	if (process)
		fill_report(process, report);
	tg_epoch_leave(session);
	return process ? TG_OK : TG_NOT_FOUND;
}

/* --- around the pool's life ------------------------------------------------------------------- */

static tg_status
processes_start(void)
{
	tg_status status = tg_session_open(&stop_session);

	if (status != TG_OK)
		return status;
	status = tg_process_table_create();
	if (status != TG_OK)
	{
		tg_session_close(stop_session);
		return status;
	}
	tg_process_commands_register();
	return TG_OK;
}

static void
close_one(tg_session *session, tg_process *process, void *argument)
{
	(void) argument;
	tg_process_event_cancel(session, process, true);
}

/*
 * Closes all processes that ignore their cancel, while workers still run, and forgets them.  False:
 * a Step still ran at end_us.
 */
static bool
processes_stop(uint64_t end_us)
{
	struct timespec pause = {.tv_nsec = 1000000};

	tg_process_table_close();
	while (tg_process_count() > 0)
	{
		/*
		 * Repeated, because a process that was claimed before the close may be registered at any
		 * moment.
		 */
		tg_process_table_each(stop_session, close_one, NULL);
		if (tg_process_count() > 0 && tg_clock_us() >= end_us)
			return false;
		nanosleep(&pause, NULL);
	}
	if (!tg_process_table_destroy(end_us))
		return false;
	tg_session_close(stop_session);
	return true;
}

void
tg_processes_register(void)
{
	static const tg_companion processes = {.start = processes_start, .stop = processes_stop};

	tg_scheduler_accompany(&processes);
}
