/*
 * process_unit.h
 *	  For the tests of processes: puppets, and looking at them.
 *
 * A puppet does what the tags of its messages say and notes all events it is
 * given.  Its command "hold" is completed by the test, whenever it likes, by
 * the ticket that it finds in the puppet.
 */
#ifndef TG_UNIT_PROCESS_UNIT_H
#define TG_UNIT_PROCESS_UNIT_H

#include <string.h>

#include "runtime/mem/retire.h"
#include "runtime/app/process.h"
#include "test/unit/pool.h"

#define NOTES_MAX 64
#define HOLDS_MAX 16
#define HOLD_TAG 1000 /* of the first hold; the next one has 1001 */

/* Tags of messages. */
enum
{
	DO_NOTHING = 1,
	DO_HOLD, /* yields a command that the test completes */
	DO_COMPLETE,
	DO_FAIL,		/* completes with TG_CHANGED */
	DO_KEEP,		/* takes the data */
	DO_AGAIN,		/* asks for another Step */
	DO_HOLD_AND_END /* yields a command and completes */
};

enum
{
	COMMAND_HOLD = TG_COMMAND_APPLICATION
};

typedef struct puppet
{
	/* Written by Step, Init and Close; read by the test after it has seen a count. */
	tg_event notes[NOTES_MAX];
	uint32_t note_count;
	uint32_t step_count;
	uint32_t empty_count; /* Steps without an event */
	uint32_t init_count;
	uint32_t close_count;
	uint32_t cancel_count; /* commands cancelled by the end */
	tg_ticket holds[HOLDS_MAX];
	uint32_t hold_count;
	uint32_t ignores_cancel; /* the test's */
	uint32_t inside;		 /* Step or Close is at work: never two */
	uint32_t overlaps;
	uint32_t steps_after_close;
} puppet;

static uint32_t dropped; /* data that the runtime has dropped */

static inline void
drop_counted(tg_session *session, void *data)
{
	tg_free(session, data, TG_USE_JOB);
	tg_fetch_add_acq_rel(&dropped, 1);
}

static inline tg_status
puppet_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	puppet *puppet;

	if (input_bytes != sizeof(puppet))
		return TG_TOO_LARGE;
	memcpy(&puppet, input, sizeof(puppet));
	puppet->init_count++;
	*state_out = puppet;
	return TG_OK;
}

static inline void
puppet_hold(puppet *puppet, tg_process_step *step)
{
	if (tg_process_yield(step, COMMAND_HOLD, HOLD_TAG + puppet->hold_count, &puppet, sizeof(puppet)) != TG_OK)
		abort();
}

static inline void
puppet_obey(puppet *puppet, tg_process_step *step, tg_event *event)
{
	switch (event->tag)
	{
		case DO_HOLD:
			puppet_hold(puppet, step);
			break;
		case DO_HOLD_AND_END:
			puppet_hold(puppet, step);
			step->status = TG_STEP_COMPLETE;
			break;
		case DO_FAIL:
			step->error = TG_CHANGED;
			step->status = TG_STEP_COMPLETE;
			break;
		case DO_COMPLETE:
			step->status = TG_STEP_COMPLETE;
			break;
		case DO_KEEP:
			event->data = NULL;
			break;
		case DO_AGAIN:
			step->status = TG_STEP_AGAIN;
			break;
		default:
			break;
	}
}

static inline void
puppet_step(void *state, tg_process_step *step)
{
	puppet *puppet = state;

	if (tg_fetch_add_acq_rel(&puppet->inside, 1) != 0)
		puppet->overlaps++;
	puppet->steps_after_close += puppet->close_count;
	puppet->empty_count += step->event_count == 0;
	for (unsigned i = 0; i < step->event_count; i++)
	{
		tg_event *event = &step->events[i];

		if (puppet->note_count < NOTES_MAX)
			puppet->notes[puppet->note_count] = *event;
		if (event->type == TG_EVENT_MESSAGE)
			puppet_obey(puppet, step, event);
		else if (event->type == TG_EVENT_CANCEL && !tg_load_relaxed(&puppet->ignores_cancel))
		{
			step->status = TG_STEP_COMPLETE;
			step->error = TG_CANCELLED;
		}
		tg_store_release(&puppet->note_count, puppet->note_count + 1);
	}
	tg_fetch_add_acq_rel(&puppet->inside, (uint32_t) -1);
	tg_store_release(&puppet->step_count, puppet->step_count + 1);
}

static inline void
puppet_close(tg_session *session, void *state)
{
	puppet *puppet = state;

	if (tg_fetch_add_acq_rel(&puppet->inside, 1) != 0)
		puppet->overlaps++;
	tg_fetch_add_acq_rel(&puppet->inside, (uint32_t) -1);
	tg_fetch_add_acq_rel(&puppet->close_count, 1);
}

static inline void
hold_run(const tg_command *command)
{
	puppet *puppet;

	memcpy(&puppet, command->argument, sizeof(puppet));
	puppet->holds[puppet->hold_count % HOLDS_MAX] = command->ticket;
	tg_command_keep(command, puppet);
	tg_store_release(&puppet->hold_count, puppet->hold_count + 1);
}

static inline void
hold_cancel(tg_session *session, void *kept)
{
	puppet *puppet = kept;

	puppet->cancel_count++;
}

static const tg_entry puppet_entries[] = {
	{.method = "puppet", .init = puppet_init, .step = puppet_step, .close = puppet_close, .queue_max = 8},
	{.method = "roomy", .init = puppet_init, .step = puppet_step, .close = puppet_close}};
static const tg_application puppets = {.name = "puppets", .entries = puppet_entries, .entry_count = 2};
static const tg_command_handler hold = {
	.name = "hold", .argument_bytes = sizeof(puppet *), .run = hold_run, .cancel = hold_cancel};

static inline void
puppets_register(void)
{
	if (tg_application_register(&puppets) != TG_OK)
		abort();
	tg_command_register(COMMAND_HOLD, &hold);
}

static inline puppet *
puppet_new(void)
{
	return take_zeroed(self, sizeof(puppet));
}

static inline tg_status
puppet_try(const char *method, puppet *puppet, tg_pid *pid_out, tg_job **job_out)
{
	tg_process_config config = {
		.application = "puppets", .method = method, .input = &puppet, .input_bytes = sizeof(puppet)};

	return tg_process_start(self, &config, pid_out, job_out);
}

static inline tg_pid
puppet_start(puppet *puppet)
{
	tg_pid pid;

	if (puppet_try("puppet", puppet, &pid, NULL) != TG_OK)
		abort();
	return pid;
}

/* --- looking ---------------------------------------------------------------------- */

static inline tg_process_report
report_of(tg_session *session, tg_pid pid)
{
	tg_process_report report = {.state = TG_PROCESS_COMPLETE};

	if (tg_process_report_get(session, pid, &report) != TG_OK)
		report.state = TG_PROCESS_COMPLETE;
	return report;
}

/* Waits until the process rests like this, its task parked or about to be. */
static inline bool
comes_to(tg_session *session, tg_pid pid, tg_process_state state)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (report_of(session, pid).state != state)
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

static inline bool
reaches(const uint32_t *word, uint32_t value)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (tg_load_acquire(word) < value)
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

/* Waits until all processes have ended. */
static inline bool
all_end(void)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (tg_process_count() > 0)
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

static inline tg_status
tell(tg_pid pid, uint64_t what)
{
	return tg_process_send(self, pid, what, NULL, NULL);
}

static inline bool
noted(const puppet *puppet, uint32_t i, tg_event_type type, uint64_t tag)
{
	return reaches(&puppet->note_count, i + 1) && puppet->notes[i].type == type && puppet->notes[i].tag == tag;
}

/* The memory in use for jobs and processes, once retired memory has gone. */
static inline size_t
job_bytes(void)
{
	tg_arena_report report;

	for (unsigned i = 0; i < 3; i++)
	{
		tg_epoch_advance();
		tg_retire_poll(self);
	}
	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB];
}

/* Stops the pool and says whether everything has gone. */
static inline bool
stop_empty(size_t bytes_before)
{
	return pool_stop() && tg_process_count() == 0 && job_bytes() == bytes_before;
}

/* Waits for the job's end, and gives its reference back. */
static inline bool
job_ends(tg_job *job, tg_status status)
{
	uint64_t end = tg_clock_us() + SOON_US;
	bool right;

	while (tg_job_state_get(job) != TG_JOB_DONE)
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	right = tg_job_status(job) == status;
	tg_job_release(self, job);
	return right;
}

#endif /* TG_UNIT_PROCESS_UNIT_H */
