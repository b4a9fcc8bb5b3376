/*
 * process.h
 *	  Native processes: state machines of an application, run by the pool.
 *
 * An application registers entry points.  A process begins with Init, is given events by Step, one
 * call at a time, on whichever worker is free, and ends with Close.  Step never waits: it yields
 * commands, and gets an event with the same tag when a command is done.  Processes know each other
 * by PID and send each other messages.
 *
 * Processes live in the operating system's process that runs the pool.  All functions below are
 * called there, by any thread that has a session; elsewhere they answer as if no pool ran.  A
 * backend starts processes by a job whose bootstrap calls these functions.
 */
#ifndef TG_PROCESS_H
#define TG_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/sched/job.h"
#include "runtime/sched/lane.h"
#include "runtime/sched/scheduler.h"

#define TG_PROCESS_MAX 65536 /* processes at a time */
/* messages that wait for one process, unless its entry says otherwise */
#define TG_PROCESS_QUEUE_MAX 256
#define TG_PROCESS_STEP_EVENTS 32	 /* events of one Step */
#define TG_COMMAND_ARGUMENT_BYTES 64 /* largest argument of a command */
#define TG_APPLICATION_MAX 64
#define TG_COMMAND_MAX 32 /* kinds of commands */

typedef struct tg_process tg_process; /* opaque: process_internal.h */

/*
 * Identifies a process: a number, which is used again, and above it a generation, which is not. 0:
 * none.
 */
typedef uint64_t tg_pid;

#define TG_PID_NUMBER_BITS 20

/* --- events --------------------------------------------------------------------- */

typedef enum tg_event_type
{
	TG_EVENT_MESSAGE,	 /* sent by tg_process_send; tag is the sender's word */
	TG_EVENT_COMPLETION, /* the command yielded with this tag is done, with data or an error */
	/* the process spawned with this tag has ended; data is its PID, error its exit status */
	TG_EVENT_EXIT,
	TG_EVENT_CANCEL /* the process is asked to end; comes once */
} tg_event_type;

/* Frees the data of an event that no process takes.  Any thread. */
typedef void (*tg_event_drop)(tg_session *session, void *data);

/*
 * Data has one owner at a time: it passes on with an accepted message and with a completion.  A
 * Step that keeps the data sets the field to NULL.  The runtime drops the data that a Step leaves,
 * and the data of events that cannot be delivered because the process has ended.
 */
typedef struct tg_event
{
	tg_event_type type;
	tg_status error;
	uint64_t tag;
	void *data;
	tg_event_drop drop; /* NULL: nothing to do */
} tg_event;

/* --- the parts of an application -------------------------------------------------- */

typedef enum tg_process_step_status
{
	TG_STEP_WAIT, /* for events */
	/* more to do: other tasks first, then another Step, with the events of that time */
	TG_STEP_AGAIN,
	TG_STEP_COMPLETE /* the end; commands of this Step are run, outstanding ones are cancelled */
} tg_process_step_status;

/* One call of Step. */
typedef struct tg_process_step
{
	tg_process *process;
	tg_session *session; /* for this call */
	tg_event *events;
	unsigned event_count; /* 0 at the first Step, if nothing has come yet, and after AGAIN */

	/* Written by Step. */
	tg_process_step_status status; /* WAIT to begin with */
	tg_status error;			   /* with COMPLETE: the exit status */
} tg_process_step;

typedef struct tg_entry
{
	const char *method;
	/*
	 * Makes the state from the input.  A failure is returned to the thread that starts the process;
	 * there is then no process, and Close is not called.
	 */
	tg_status (*init)(tg_session *session, const void *input, size_t input_bytes, void **state_out);
	/* Short and without waiting, as every task. */
	void (*step)(void *state, tg_process_step *step);
	/* Called once, after the last Step: frees the resources of the state. */
	void (*close)(tg_session *session, void *state);
	unsigned queue_max; /* messages that wait; 0: TG_PROCESS_QUEUE_MAX */
} tg_entry;

typedef struct tg_application
{
	const char *name;
	const tg_entry *entries;
	unsigned entry_count;
} tg_application;

/*
 * Registers the application for the life of this process; it replaces one of the same name.
 * TG_FULL.
 */
extern tg_status tg_application_register(const tg_application *application) TG_MUST_USE;

/* --- life ------------------------------------------------------------------------- */

typedef struct tg_process_config
{
	const char *application;
	const char *method;
	const void *input; /* Init's; read during the call only */
	size_t input_bytes;
	void *transaction; /* the caller's; children inherit it; NULL: Steps begin their own */
	uint64_t owner;	   /* of the job, as the next two */
	void *waiter;
	tg_job *parent; /* NULL, or the job whose task makes the call */

	/*
	 * Callbacks for objects that the job's processes share, such as a channel. cancelled is called
	 * at most once, after the cancel events, like that of tg_job_config. complete is called once,
	 * when all processes and tasks have ended.  If the start fails, neither is called, except that
	 * cancelled may be under TG_STOPPED.  Both may be NULL.
	 */
	void *argument;
	void (*cancelled)(void *argument, tg_session *session);
	void (*complete)(void *argument, tg_session *session, tg_status status);
} tg_process_config;

/*
 * Starts a process, and with it a job of kind "process" that lasts until the process and all that
 * it spawns have ended.  The job's status is the exit status of this process, and a cancel of the
 * job is a cancel event for all of them.  TG_NOT_FOUND: unknown application or method; the failure
 * of Init; TG_FULL, TG_NO_MEMORY; TG_STOPPED.  After a failure nothing is registered, and a state
 * that Init made is closed. job_out, if not NULL, gets a reference.
 */
extern tg_status tg_process_start(tg_session *session, const tg_process_config *config, tg_pid *pid_out,
								  tg_job **job_out) TG_MUST_USE;

/*
 * Sends a message.  Messages of one sender arrive in order, each once.  TG_FULL: too many messages
 * wait; TG_NOT_FOUND: the process does not exist, or has ended; TG_NO_MEMORY.  After a failure the
 * data is still the sender's.
 */
extern tg_status tg_process_send(tg_session *session, tg_pid pid, uint64_t tag, void *data,
								 tg_event_drop drop) TG_MUST_USE;

/* Asks the process to end, by a cancel event, once.  TG_NOT_FOUND as above. */
extern tg_status tg_process_cancel(tg_session *session, tg_pid pid) TG_MUST_USE;

/* For Step and for handlers. */
extern tg_pid tg_process_pid(const tg_process *process);
extern const tg_application *tg_process_application(const tg_process *process);
extern void *tg_process_transaction(const tg_process *process);
extern tg_job *tg_process_job(const tg_process *process);

/* --- commands ----------------------------------------------------------------------- */

/* Built-in kinds; applications' own follow. */
enum
{
	TG_COMMAND_TIMER, /* tg_timer_command; completes after the delay */
	/* tg_send_command; completes with the status of tg_process_send, refused data as data */
	TG_COMMAND_SEND,
	/* tg_spawn_command; completes with the PID as data; an exit event of the same tag follows */
	TG_COMMAND_SPAWN,
	TG_COMMAND_JOB,	   /* tg_job_command; completes with the job's status once it is done */
	TG_COMMAND_CANCEL, /* a tg_pid; completes with the status of tg_process_cancel */
	/* tg_lane_command; completes with the operation's status and data */
	TG_COMMAND_LANE,
	TG_COMMAND_CHANNEL_ACQUIRE, /* app/process_channel.h, as the next one */
	TG_COMMAND_CHANNEL_STAGE,
	TG_COMMAND_TRANSACTION_BEGIN, /* app/process_txn.h, as the next two */
	TG_COMMAND_TRANSACTION_COMMIT,
	TG_COMMAND_TRANSACTION_ABORT,
	TG_COMMAND_APPLICATION = 16 /* from here on */
};

typedef struct tg_timer_command
{
	uint64_t delay_us;
} tg_timer_command;

typedef struct tg_send_command
{
	tg_pid to;
	uint64_t tag;
	void *data;
	tg_event_drop drop;
} tg_send_command;

/*
 * A further process of the same job.  The memory behind its pointers is read after the Step that
 * yields it.
 */
typedef struct tg_spawn_command
{
	const char *application; /* NULL: the own one */
	const char *method;
	const void *input;
	size_t input_bytes;
} tg_spawn_command;

/*
 * A separate job; its parent is the process' job, whatever config says.  Its memory, too, is read
 * after the Step.
 */
typedef struct tg_job_command
{
	const tg_job_config *config;
	tg_task *bootstrap; /* initialised, except its job */
} tg_job_command;

/*
 * An operation on an object that the lane serializes, such as a transaction.  The data belongs to
 * the operation meanwhile: the operation runs even if the process has ended, and its data is
 * dropped then.  TG_STOPPED, with the data: the pool stops, and the operation has not run.
 */
typedef struct tg_lane_command
{
	tg_lane *lane; /* stays until the operation has run */
	tg_status (*run)(tg_session *session, void *data);
	void *data;
	tg_event_drop drop;
} tg_lane_command;

/*
 * Yields a command.  The commands run after the Step, in order of yielding.  The argument is
 * copied.  The completion can always be delivered.  Several commands may carry the same tag.
 * TG_NOT_FOUND: unknown kind; TG_TOO_LARGE: wrong size of the argument; TG_NO_MEMORY; TG_FULL: too
 * many commands are outstanding.  Step only.
 */
extern tg_status tg_process_yield(tg_process_step *step, unsigned kind, uint64_t tag, const void *argument,
								  size_t argument_bytes) TG_MUST_USE;

/* The right to complete one command, once.  Copied freely. */
typedef struct tg_ticket
{
	tg_pid pid;
	uint32_t index;
	uint32_t generation;
} tg_ticket;

/*
 * Completes a command, with data or an error.  TG_NOT_FOUND: the command was completed before or
 * never existed, or its process has ended; the data is then still the caller's.  Any thread.
 */
extern tg_status tg_process_complete(tg_session *session, tg_ticket ticket, tg_status error, void *data,
									 tg_event_drop drop) TG_MUST_USE;

/* A handler's argument, valid during the call. */
typedef struct tg_command
{
	tg_process *process;
	tg_worker *worker;
	tg_session *session; /* the worker's */
	const void *argument;
	uint64_t tag;
	tg_ticket ticket;
} tg_command;

typedef struct tg_command_handler
{
	const char *name;
	size_t argument_bytes;
	/* Runs shortly, without waiting, and ensures that the ticket is completed, now or later. */
	void (*run)(const tg_command *command);
	/*
	 * The process has ended and left the command unfinished; kept is the argument of
	 * tg_command_keep.  A completion may be under way, and fails.  May be NULL.
	 */
	void (*cancel)(tg_session *session, void *kept);
} tg_command_handler;

/* Registers a kind for the life of this process, before processes use it. */
extern void tg_command_register(unsigned kind, const tg_command_handler *handler);

/* Keeps a value for cancel.  Handlers only, before any other thread can know the ticket. */
extern void tg_command_keep(const tg_command *command, void *kept);

/* --- views -------------------------------------------------------------------------- */

typedef enum tg_process_state
{
	TG_PROCESS_READY,	/* queued */
	TG_PROCESS_RUNNING, /* a worker has it */
	TG_PROCESS_BLOCKED, /* waits for commands it has yielded; messages queue up */
	TG_PROCESS_IDLE,	/* waits for a message */
	TG_PROCESS_COMPLETE
} tg_process_state;

typedef struct tg_process_report
{
	tg_pid pid;
	const char *application;
	const char *method;
	tg_process_state state;
	const tg_job *job; /* to be compared only */
	uint64_t steps;
	uint64_t events;	  /* that its Steps were given */
	unsigned queued;	  /* events that wait */
	unsigned messages;	  /* of them, messages */
	unsigned outstanding; /* commands */
} tg_process_report;

extern tg_status tg_process_report_get(tg_session *session, tg_pid pid, tg_process_report *report) TG_MUST_USE;

extern unsigned tg_process_count(void);

/*
 * Called before the pool starts: processes exist as long as it runs.  Main thread of its process.
 */
extern void tg_processes_register(void);

#endif /* TG_PROCESS_H */
