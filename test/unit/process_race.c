/*
 * process_race.c
 *	  Processes: what happens between two steps of another thread.
 *
 * A failpoint stops a thread where the race is, or lets the test do the other
 * side's step right there; the test then looks at what became of it.  Where it
 * matters a message or completion lost leaves the process at rest for ever,
 * which a bound notices; nothing depends on sleeping.
 */
#include "runtime/app/process.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/app/process_internal.h"
#include "test/unit/process_unit.h"

/*
 * One trap at a time.  The first thread that comes to the place runs the action, with a session
 * that no other thread uses meanwhile.
 */
typedef struct trap
{
	const char *place;
	void (*action)(void);
	uint32_t armed;
	uint32_t sprung; /* the action has been done */
} trap;

static trap the_trap;
static tg_session *trap_session;
static uint32_t refusals;  /* of room for a retirement */
static uint32_t unsettled; /* threads give the CPU away at half of the places */
static uint32_t left;	   /* places "process_left" that are behind their threads */

/* The objects of the actions, and their notes. */
static tg_pid target;
static puppet *doll;
static tg_status status_got[3];
static void *data_sent;

static bool
spring(const char *name)
{
	uint32_t armed = 1;

	if (tg_load_relaxed(&unsettled) && strncmp(name, "process_", 8) == 0)
	{
		static __thread uint32_t random = 1;

		random = random * 1103515245 + 12345;
		if (random >> 16 & 1)
			sched_yield();
	}
	if (strcmp(name, "process_reserve") == 0 && tg_load_relaxed(&refusals) > 0)
	{
		tg_fetch_add_relaxed(&refusals, (uint32_t) -1);
		return true;
	}
	if (tg_load_acquire(&the_trap.armed) != 0 && strcmp(name, tg_load_relaxed(&the_trap.place)) == 0 &&
		tg_cas_acq_rel(&the_trap.armed, &armed, 0))
	{
		tg_load_relaxed (&the_trap.action)();
		tg_store_release(&the_trap.sprung, 1);
	}
	if (strcmp(name, "process_left") == 0)
		tg_fetch_add_acq_rel(&left, 1);
	return false;
}

static void
set_trap(const char *place, void (*action)(void))
{
	tg_store_relaxed(&the_trap.place, place);
	tg_store_relaxed(&the_trap.action, action);
	tg_store_relaxed(&the_trap.sprung, 0);
	tg_store_release(&the_trap.armed, 1);
}

static bool
has_sprung(void)
{
	return comes_true(&the_trap.sprung, 1);
}

/* Starts a process, and waits until it rests and its first turn is past all traps. */
static void
begin(void)
{
	uint32_t before = tg_load_relaxed(&left);

	doll = puppet_new();
	target = puppet_start(doll);
	if (!comes_to(self, target, TG_PROCESS_IDLE) || !reaches(&left, before + 1))
		abort();
}

static bool
end(void)
{
	bool right = tell(target, DO_COMPLETE) == TG_OK && all_end() && doll->close_count == 1 && doll->overlaps == 0;

	tg_free(self, doll, TG_USE_JOB);
	return right;
}

/* --- against leaving Running ---------------------------------------------------------------- */

static void
action_send(void)
{
	status_got[0] = tg_process_send(trap_session, target, DO_NOTHING, NULL, NULL);
}

static void
action_settle(void)
{
	status_got[0] = tg_process_complete(trap_session, doll->holds[0], TG_OK, NULL, NULL);
}

static void
action_cancel(void)
{
	status_got[0] = tg_process_cancel(trap_session, target);
}

static void
test_send_leaving(const char *place, const char *when)
{
	begin();
	set_trap(place, action_send);
	unit_ok(tell(target, DO_NOTHING) == TG_OK && has_sprung() && status_got[0] == TG_OK &&
				noted(doll, 1, TG_EVENT_MESSAGE, DO_NOTHING) && comes_to(self, target, TG_PROCESS_IDLE),
			"a message sent %s arrives", when);
	unit_ok(end(), "and the process goes on");
}

static void
test_settle_leaving(const char *place, const char *when)
{
	begin();
	set_trap(place, action_settle);
	unit_ok(tell(target, DO_HOLD) == TG_OK && has_sprung() && status_got[0] == TG_OK &&
				noted(doll, 1, TG_EVENT_COMPLETION, HOLD_TAG) && comes_to(self, target, TG_PROCESS_IDLE),
			"a completion %s arrives", when);
	unit_ok(end(), "and the process goes on");
}

static void
test_cancel_leaving(const char *place, const char *when)
{
	begin();
	doll->ignores_cancel = true;
	set_trap(place, action_cancel);
	unit_ok(tell(target, DO_HOLD) == TG_OK && has_sprung() && status_got[0] == TG_OK &&
				noted(doll, 1, TG_EVENT_CANCEL, 0) && comes_to(self, target, TG_PROCESS_BLOCKED),
			"a cancel %s arrives", when);
	action_settle();
	unit_ok(comes_to(self, target, TG_PROCESS_IDLE) && doll->note_count == 3 && end(), "and the process goes on");
}

/* A message to a process that is just becoming Blocked is taken along, or waits; it is not lost. */
static void
test_send_blocking(void)
{
	begin();
	set_trap("process_left", action_send);
	unit_ok(tell(target, DO_HOLD) == TG_OK && has_sprung() && status_got[0] == TG_OK, "a message right after Blocked");
	usleep(10000);
	unit_ok(report_of(self, target).state == TG_PROCESS_BLOCKED && doll->note_count == 1, "waits");
	action_settle();
	unit_ok(noted(doll, 1, TG_EVENT_MESSAGE, DO_NOTHING) && noted(doll, 2, TG_EVENT_COMPLETION, HOLD_TAG) && end(),
			"and comes with the completion");
}

#define BEHIND (TG_PROCESS_STEP_EVENTS + 8)

static void
action_send_many(void)
{
	status_got[0] = TG_OK;
	for (unsigned i = 0; i < BEHIND; i++)
	{
		if (tg_process_send(trap_session, target, DO_NOTHING, NULL, NULL) != TG_OK)
			status_got[0] = TG_FULL;
	}
}

/* More messages than a Step takes: a Blocked process leaves the rest alone, another one goes on. */
static void
test_more_than_a_step(void)
{
	doll = puppet_new();
	if (puppet_try("roomy", doll, &target, NULL) != TG_OK || !comes_to(self, target, TG_PROCESS_IDLE))
		abort();
	set_trap("process_taken", action_send_many);
	unit_ok(tell(target, DO_HOLD) == TG_OK && has_sprung() && status_got[0] == TG_OK &&
				reaches(&doll->note_count, 1 + TG_PROCESS_STEP_EVENTS) && comes_to(self, target, TG_PROCESS_BLOCKED) &&
				report_of(self, target).messages == 8 && doll->note_count == 1 + TG_PROCESS_STEP_EVENTS,
			"a Step takes %u events, and a Blocked process leaves the rest", TG_PROCESS_STEP_EVENTS);
	action_settle();
	unit_ok(noted(doll, BEHIND + 1, TG_EVENT_COMPLETION, HOLD_TAG) && comes_to(self, target, TG_PROCESS_IDLE),
			"until a completion comes");
	set_trap("process_taken", action_send_many);
	unit_ok(tell(target, DO_NOTHING) == TG_OK && has_sprung() && status_got[0] == TG_OK &&
				reaches(&doll->note_count, 3 + 2 * BEHIND) && comes_to(self, target, TG_PROCESS_IDLE),
			"one that is not takes all");
	unit_ok(end(), "and goes on");
}

/* --- a sender that is slow to wake -------------------------------------------------- */

/* The event is in the queue; the process takes it, and rests again, before the sender's wake. */
static void
wait_until_taken(void)
{
	if (!reaches(&doll->step_count, 3) || !comes_to(trap_session, target, TG_PROCESS_IDLE))
		abort();
}

/* The other sender, whose wake makes the process take both messages. */
static void
send_second(unsigned number, void *argument)
{
	if (number == 0)
		status_got[1] = tell(target, DO_NOTHING);
	else
	{
		tg_session *session = session_open();

		if (!comes_true(&the_trap.armed, 0) || !reaches(&doll->step_count, 1))
			abort();
		status_got[2] = tg_process_send(session, target, DO_KEEP, NULL, NULL);
		/* Two messages in one Step, or in two. */
		if (!reaches(&doll->note_count, 2))
			abort();
		status_got[0] = tg_process_send(session, target, DO_KEEP, NULL, NULL);
		tg_session_close(session);
	}
}

static void
test_late_wake(void)
{
	begin();
	set_trap("process_sent", wait_until_taken);
	unit_threads(2, send_second, NULL);
	unit_ok(has_sprung() && status_got[0] == TG_OK && status_got[1] == TG_OK && status_got[2] == TG_OK &&
				reaches(&doll->note_count, 3) && comes_to(self, target, TG_PROCESS_IDLE),
			"a message is taken before its sender wakes");
	usleep(10000); /* if the late wake made a Step, it would come now */
	unit_ok(doll->note_count == 3 && doll->empty_count == 1, "the late wake makes no Step without an event");
	unit_ok(end(), "and the process goes on");
}

/* --- against the end ---------------------------------------------------------------- */

static void
action_use_all(void)
{
	data_sent = take_zeroed(trap_session, 16);
	status_got[0] = tg_process_send(trap_session, target, DO_NOTHING, data_sent, drop_counted);
	status_got[1] = tg_process_complete(trap_session, doll->holds[0], TG_OK, NULL, NULL);
	status_got[2] = tg_process_cancel(trap_session, target);
}

static void
test_ending(void)
{
	begin();
	dropped = 0;
	set_trap("process_complete", action_use_all);
	unit_ok(tell(target, DO_HOLD_AND_END) == TG_OK && has_sprung() && all_end(), "a process ends while others use it");
	unit_ok(status_got[0] == TG_OK && status_got[1] == TG_OK && status_got[2] == TG_OK && dropped == 1,
			"messages that come before it closes are taken, and dropped");
	unit_ok(doll->cancel_count == 0 && doll->close_count == 1, "a command completed is not cancelled");
	tg_free(self, doll, TG_USE_JOB);

	begin();
	dropped = 0;
	set_trap("process_closed", action_use_all);
	unit_ok(tell(target, DO_HOLD_AND_END) == TG_OK && has_sprung() && all_end(), "another one");
	unit_ok(status_got[0] == TG_NOT_FOUND && status_got[1] == TG_NOT_FOUND && dropped == 0,
			"messages after that are refused");
	unit_ok(doll->cancel_count == 1 && doll->close_count == 1, "the command is cancelled, once");
	tg_free(self, data_sent, TG_USE_JOB);
	tg_free(self, doll, TG_USE_JOB);
}

static void
wait_until_ended(void)
{
	if (!comes_true(&doll->close_count, 1) || !all_end())
		abort();
}

static tg_session *finder_session;

static void
find_and_wait(unsigned number, void *argument)
{
	if (number == 0)
		status_got[0] = tg_process_send(finder_session, target, DO_NOTHING, NULL, NULL);
	else
	{
		tg_session *session = session_open();

		if (!comes_true(&the_trap.armed, 0))
			abort();
		status_got[1] = tg_process_send(session, target, DO_COMPLETE, NULL, NULL);
		tg_session_close(session);
	}
}

/* A session that has found a process may use it after its end: its memory stays for the epoch. */
static void
test_found(void)
{
	begin();
	finder_session = session_open();
	set_trap("process_found", wait_until_ended);
	unit_threads(2, find_and_wait, NULL);
	unit_ok(has_sprung() && status_got[1] == TG_OK, "a process ends while a sender has just found it");
	unit_ok(status_got[0] == TG_NOT_FOUND, "and the sender learns that there is no such process");
	tg_session_close(finder_session);
	tg_free(self, doll, TG_USE_JOB);
}

/* The end of a process, for lack of memory, takes some more turns. */
static void
test_no_memory(void)
{
	begin();
	tg_store_relaxed(&refusals, 3);
	unit_ok(tell(target, DO_COMPLETE) == TG_OK && comes_true(&refusals, 0) && all_end(),
			"an end without memory to note it comes again");
	unit_ok(doll->close_count == 1 && tell(target, DO_NOTHING) == TG_NOT_FOUND, "but the process is closed once");
	tg_free(self, doll, TG_USE_JOB);
}

/* --- timers, children --------------------------------------------------------------- */

/* One process spawns a child, one ends with a timer outstanding; parent and child share notes. */
typedef struct brief
{
	uint32_t closed;
	uint32_t cancels;
	uint32_t exits;
	uint32_t refused; /* spawns, as cancelled */
	uint32_t wrong;
	struct brief *itself;
} brief;

static tg_status
brief_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	memcpy(state_out, input, sizeof(void *));
	return TG_OK;
}

static void
timed_step(void *state, tg_process_step *step)
{
	/* so that the process ends before it, also on a busy machine */
	tg_timer_command timer = {.delay_us = 100000};

	if (tg_process_yield(step, TG_COMMAND_TIMER, 1, &timer, sizeof(timer)) != TG_OK)
		abort();
	step->status = TG_STEP_COMPLETE;
}

static void
child_step(void *state, tg_process_step *step)
{
	brief *brief = state;

	for (unsigned i = 0; i < step->event_count; i++)
	{
		brief->wrong += step->events[i].type != TG_EVENT_CANCEL;
		tg_fetch_add_acq_rel(&brief->cancels, 1);
		step->status = TG_STEP_COMPLETE;
	}
}

/* Spawns when it is told to, and ends with its child, or if it gets none. */
static void
parent_step(void *state, tg_process_step *step)
{
	brief *brief = state;
	tg_spawn_command spawn = {.method = "child", .input = &brief->itself, .input_bytes = sizeof(brief->itself)};

	for (unsigned i = 0; i < step->event_count; i++)
	{
		const tg_event *event = &step->events[i];

		if (event->type == TG_EVENT_MESSAGE)
		{
			if (tg_process_yield(step, TG_COMMAND_SPAWN, 1, &spawn, sizeof(spawn)) != TG_OK)
				abort();
		}
		else if (event->type == TG_EVENT_CANCEL)
			tg_fetch_add_acq_rel(&brief->cancels, 1);
		else if (event->type == TG_EVENT_EXIT)
			brief->exits++;
		else if (event->error != TG_OK)
		{
			brief->wrong += event->error != TG_CANCELLED;
			brief->refused++;
		}
	}
	if (brief->exits > 0 || brief->refused > 0)
		step->status = TG_STEP_COMPLETE;
}

static void
brief_close(tg_session *session, void *state)
{
	tg_fetch_add_acq_rel(&((brief *) state)->closed, 1);
}

static const tg_entry brief_entries[] = {
	{.method = "timed", .init = brief_init, .step = timed_step, .close = brief_close},
	{.method = "child", .init = brief_init, .step = child_step, .close = brief_close},
	{.method = "parent", .init = brief_init, .step = parent_step, .close = brief_close}};
static const tg_application briefs = {.name = "briefs", .entries = brief_entries, .entry_count = 3};

static tg_status
brief_start(const char *method, brief **brief_out, tg_pid *pid_out, tg_job **job_out)
{
	brief *brief = take_zeroed(self, sizeof(*brief));
	tg_process_config config = {
		.application = "briefs", .method = method, .input = &brief->itself, .input_bytes = sizeof(brief->itself)};

	brief->itself = brief;
	*brief_out = brief;
	return tg_process_start(self, &config, pid_out, job_out);
}

static void
wait_until_fired(void)
{
	uint64_t until = tg_clock_us() + SOON_US;
	tg_scheduler_report report;

	do
	{
		if (tg_clock_us() > until)
			abort();
		sched_yield();
		tg_scheduler_report_get(&report);
	} while (report.timers_waiting > 0);
}

static void
test_timer_fires(void)
{
	brief *brief;
	tg_pid pid;

	set_trap("timer_errand_cancel", wait_until_fired);
	unit_ok(brief_start("timed", &brief, &pid, NULL) == TG_OK && has_sprung() && all_end() && brief->closed == 1,
			"a timer fires while the end of its process is about to cancel it");
	tg_free(self, brief, TG_USE_JOB);
}

static tg_job *job_cancelled;

static void
action_cancel_job(void)
{
	tg_job_cancel(trap_session, job_cancelled);
}

static void
test_spawn_cancelled(const char *place, const char *when, bool is_born)
{
	brief *brief;
	tg_pid pid;

	if (brief_start("parent", &brief, &pid, &job_cancelled) != TG_OK || !comes_to(self, pid, TG_PROCESS_IDLE))
		abort();
	set_trap(place, action_cancel_job);
	unit_ok(tell(pid, 1) == TG_OK && has_sprung() && all_end(), "a job is cancelled %s", when);
	unit_ok(brief->closed == 1u + is_born && brief->cancels == brief->closed && brief->exits == is_born &&
				brief->refused == !is_born && brief->wrong == 0,
			is_born ? "parent and child have been told, once" : "there is no child any more");
	tg_job_release(self, job_cancelled);
	tg_free(self, brief, TG_USE_JOB);
}

/* --- a start while the pool stops --------------------------------------------------- */

static void
wait_until_stopping(void)
{
	uint64_t until = tg_clock_us() + SOON_US;

	while (tg_scheduler_is_running())
	{
		if (tg_clock_us() > until)
			abort();
		sched_yield();
	}
}

static void
start_and_stop(unsigned number, void *argument)
{
	if (number == 0)
	{
		tg_pid pid;

		status_got[0] = puppet_try("puppet", doll, &pid, NULL);
	}
	else
	{
		if (!comes_true(&the_trap.armed, 0))
			abort();
		status_got[1] = pool_stop() ? TG_OK : TG_BUSY;
	}
}

static void
test_start_stopping(void)
{
	doll = puppet_new();
	set_trap("process_known", wait_until_stopping);
	unit_threads(2, start_and_stop, NULL);
	unit_ok(has_sprung() && status_got[0] == TG_STOPPED && status_got[1] == TG_OK,
			"a process that is started while the pool stops is refused");
	unit_ok(doll->init_count == 1 && doll->close_count == 1 && doll->step_count == 0 && tg_process_count() == 0,
			"and its state closed");
	tg_free(self, doll, TG_USE_JOB);
}

static uint32_t stop_has_returned;

static void
wait_for_stop(void)
{
	/* it must not come: too short a time can hide a fault, but never raise a false alarm */
	uint64_t until = tg_clock_us() + 50000;

	while (tg_clock_us() < until && !tg_load_acquire(&stop_has_returned))
		sched_yield();
	status_got[2] = tg_load_acquire(&stop_has_returned) ? TG_BUSY : TG_OK;
}

static void
find_while_stopping(unsigned number, void *argument)
{
	if (number == 0)
		status_got[0] = tell(target, DO_NOTHING);
	else
	{
		if (!comes_true(&the_trap.armed, 0))
			abort();
		status_got[1] = pool_stop() ? TG_OK : TG_BUSY;
		tg_store_release(&stop_has_returned, 1);
	}
}

/* The table stays until the session that looks into it has looked. */
static void
test_find_stopping(void)
{
	set_trap("process_finding", wait_for_stop);
	unit_threads(2, find_while_stopping, NULL);
	unit_ok(has_sprung() && status_got[0] == TG_NOT_FOUND && status_got[1] == TG_OK && status_got[2] == TG_OK,
			"a stop waits for a sender that is looking for its process");
}

/* --- everything at once ------------------------------------------------------------- */

#define MILL_SENDERS 3
#define MILL_MESSAGES 1500 /* of each sender */
#define MILL_EACH 5		   /* messages to one command */
#define MILL_COMMANDS (MILL_SENDERS * MILL_MESSAGES / MILL_EACH)
#define COMMAND_MILL (TG_COMMAND_APPLICATION + 1)

typedef struct mill
{
	tg_pid pid;
	uint32_t last[MILL_SENDERS];
	uint32_t messages;
	uint32_t completions;
	uint32_t cancels;
	uint32_t wrong;
	uint32_t closed;
	uint32_t accepted; /* completions, as counted by the completers */
	uint32_t ticket_count;
	tg_ticket tickets[MILL_COMMANDS];
} mill;

static void
mill_step(void *state, tg_process_step *step)
{
	mill *mill = state;

	for (unsigned i = 0; i < step->event_count; i++)
	{
		const tg_event *event = &step->events[i];

		if (event->type == TG_EVENT_CANCEL)
			mill->cancels++;
		else if (event->type == TG_EVENT_COMPLETION)
			mill->completions++;
		else
		{
			uint32_t sender = (uint32_t) (event->tag >> 32);

			mill->wrong += sender >= MILL_SENDERS || (uint32_t) event->tag != ++mill->last[sender % MILL_SENDERS];
			if (++mill->messages % MILL_EACH == 0 &&
				tg_process_yield(step, COMMAND_MILL, 0, &mill, sizeof(mill)) != TG_OK)
				abort();
		}
	}
	if (mill->messages == MILL_SENDERS * MILL_MESSAGES && mill->completions == MILL_COMMANDS && mill->cancels == 1)
		step->status = TG_STEP_COMPLETE;
}

static void
mill_close(tg_session *session, void *state)
{
	tg_fetch_add_acq_rel(&((mill *) state)->closed, 1);
}

static void
mill_run(const tg_command *command)
{
	mill *mill;

	memcpy(&mill, command->argument, sizeof(mill));
	mill->tickets[mill->ticket_count] = command->ticket;
	tg_store_release(&mill->ticket_count, mill->ticket_count + 1);
}

static const tg_command_handler mill_handler = {.name = "mill", .argument_bytes = sizeof(mill *), .run = mill_run};
static const tg_entry mill_entries[] = {
	{.method = "mill", .init = brief_init, .step = mill_step, .close = mill_close, .queue_max = 16}};
static const tg_application mills = {.name = "mills", .entries = mill_entries, .entry_count = 1};

static void
mill_complete(tg_session *session, mill *mill)
{
	for (uint32_t i = 0; i < MILL_COMMANDS; i++)
	{
		if (!reaches(&mill->ticket_count, i + 1))
			return;
		if (tg_process_complete(session, mill->tickets[i], TG_OK, NULL, NULL) == TG_OK)
			tg_fetch_add_relaxed(&mill->accepted, 1);
	}
}

/* Senders, two completers of everything, and one canceller. */
static void
mill_body(unsigned number, void *argument)
{
	mill *mill = argument;
	tg_session *session = session_open();

	if (number == MILL_SENDERS + 2)
	{
		if (!reaches(&mill->ticket_count, MILL_COMMANDS / 2) || tg_process_cancel(session, mill->pid) != TG_OK)
			abort();
	}
	else if (number >= MILL_SENDERS)
		mill_complete(session, mill);
	else
	{
		for (uint32_t i = 1; i <= MILL_MESSAGES; i++)
		{
			tg_status status;

			while ((status = tg_process_send(session, mill->pid, (uint64_t) number << 32 | i, NULL, NULL)) == TG_FULL)
				sched_yield();
			if (status != TG_OK)
				abort();
		}
	}
	tg_session_close(session);
}

static void
test_mill(void)
{
	mill *mill = take_zeroed(self, sizeof(*mill));
	tg_process_config config = {.application = "mills", .method = "mill", .input = &mill, .input_bytes = sizeof(mill)};

	if (tg_process_start(self, &config, &mill->pid, NULL) != TG_OK)
		abort();
	tg_store_relaxed(&unsettled, 1);
	unit_threads(MILL_SENDERS + 3, mill_body, mill);
	unit_ok(comes_true(&mill->closed, 1) && all_end(), "messages, completions and a cancel at once all arrive");
	tg_store_relaxed(&unsettled, 0);
	unit_ok(mill->wrong == 0 && mill->accepted == MILL_COMMANDS, "each once, messages in order");
	tg_free(self, mill, TG_USE_JOB);
}

int
main(void)
{
	size_t bytes;

	server_start();
	tg_processes_register();
	puppets_register();
	if (tg_application_register(&briefs) != TG_OK || tg_application_register(&mills) != TG_OK)
		abort();
	tg_command_register(COMMAND_MILL, &mill_handler);
	trap_session = session_open();
	tg_failpoint_set(spring);
	bytes = job_bytes();
	pool_start(3);
	test_send_leaving("process_taken", "before Step");
	test_send_leaving("process_leaving", "before the process leaves Running");
	test_send_leaving("process_left", "when it has left Running");
	test_settle_leaving("process_leaving", "before the process leaves Running");
	test_settle_leaving("process_left", "when it is Blocked, but not yet parked");
	test_cancel_leaving("process_leaving", "before the process leaves Running");
	test_cancel_leaving("process_left", "when it is Blocked, but not yet parked");
	test_send_blocking();
	test_more_than_a_step();
	test_late_wake();
	test_ending();
	test_found();
	test_no_memory();
	test_timer_fires();
	test_spawn_cancelled("process_command", "before a process spawns", false);
	test_spawn_cancelled("process_spawning", "before a child is registered", true);
	test_spawn_cancelled("process_spawned", "when a child has been registered", true);
	for (unsigned i = 0; i < 3; i++)
		test_mill();
	test_start_stopping();
	pool_start(1);
	test_find_stopping();
	unit_ok(job_bytes() == bytes, "nothing is left");
	tg_failpoint_set(NULL);
	tg_session_close(trap_session);
	server_end();
	return unit_done();
}
