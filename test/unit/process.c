/*
 * process.c
 *	  Processes: life, states, messages, commands, children, shutdown.
 *
 * Puppets (process_unit.h) are led through all states and note what they are
 * given.  Crowds of threads and processes send numbered messages, which must
 * arrive once and in order.  Each part ends with a look at the memory in use,
 * which must be what it was.  The races are in process_race.c, the protocol of
 * the state word in process_model.c.
 */
#include "runtime/app/process.h"

#include "runtime/base/check.h"
#include "runtime/app/process_internal.h"
#include "test/unit/process_unit.h"

static unsigned
job_count(void)
{
	tg_job_report report;
	unsigned count = 0;

	for (unsigned i = 0; i < TG_JOB_MAX; i++)
		count += tg_job_report_get(i, &report);
	return count;
}

/* --- Init ----------------------------------------------------------------------------- */

static void
test_init(void)
{
	puppet *puppet = puppet_new();
	size_t bytes = job_bytes();
	tg_process_config config = {
		.application = "puppets", .method = "puppet", .input = &puppet, .input_bytes = sizeof(puppet)};
	tg_process_config wrong;
	tg_pid pid = 0;

	unit_ok(tg_process_start(self, &config, &pid, NULL) == TG_STOPPED, "no process without a pool");
	unit_ok(tell(1 << TG_PID_NUMBER_BITS, DO_NOTHING) == TG_NOT_FOUND, "there is no process to send to without a pool");
	unit_ok(puppet->init_count == 0 && job_count() == 0 && pid == 0, "nothing has been made");
	pool_start(2);
	wrong = config;
	wrong.application = "strangers";
	unit_ok(tg_process_start(self, &wrong, &pid, NULL) == TG_NOT_FOUND, "an unknown application is refused");
	wrong = config;
	wrong.method = "marionette";
	unit_ok(tg_process_start(self, &wrong, &pid, NULL) == TG_NOT_FOUND, "an unknown method is refused");
	wrong = config;
	wrong.input_bytes = 3;
	unit_ok(tg_process_start(self, &wrong, &pid, NULL) == TG_TOO_LARGE, "bad input is refused as Init says");
	unit_ok(tg_process_count() == 0 && job_count() == 0 && pid == 0, "and nothing is registered");
	unit_ok(puppet->init_count == 0 && puppet->close_count == 0, "nor closed");
	unit_ok(stop_empty(bytes), "nor left");
	tg_free(self, puppet, TG_USE_JOB);
}

/* --- states ------------------------------------------------------------------------------- */

static void
test_states(void)
{
	size_t bytes = job_bytes();
	puppet *puppet = puppet_new();
	tg_process_report report;
	tg_job *job;
	tg_pid pid;

	pool_start(2);
	unit_ok(puppet_try("puppet", puppet, &pid, &job) == TG_OK && pid != 0, "a process starts");
	unit_ok(comes_to(self, pid, TG_PROCESS_IDLE) && puppet->step_count == 1 && puppet->empty_count == 1,
			"after its first Step, without an event, it is Idle");
	unit_ok(tg_job_state_get(job) == TG_JOB_RUNNING, "its job runs");

	unit_ok(tell(pid, DO_NOTHING) == TG_OK && noted(puppet, 0, TG_EVENT_MESSAGE, DO_NOTHING) &&
				comes_to(self, pid, TG_PROCESS_IDLE),
			"Idle, Ready, Running, Idle: a message is stepped");
	unit_ok(tell(pid, DO_HOLD) == TG_OK && comes_to(self, pid, TG_PROCESS_BLOCKED), "with a command yielded: Blocked");
	report = report_of(self, pid);
	unit_ok(report.outstanding == 1 && report.queued == 0 && report.steps == 3 && report.events == 2 &&
				strcmp(report.application, "puppets") == 0 && strcmp(report.method, "puppet") == 0 && report.job == job,
			"it shows what it waits for");
	unit_ok(tell(pid, DO_NOTHING) == TG_OK && tell(pid, DO_NOTHING) == TG_OK, "a message to a Blocked one is taken");
	usleep(20000);
	report = report_of(self, pid);
	unit_ok(report.state == TG_PROCESS_BLOCKED && report.messages == 2 && report.steps == 3, "but only queued");
	unit_ok(tg_process_complete(self, puppet->holds[0], TG_EXISTS, NULL, NULL) == TG_OK &&
				noted(puppet, 4, TG_EVENT_COMPLETION, HOLD_TAG) && puppet->notes[4].error == TG_EXISTS &&
				puppet->notes[3].tag == DO_NOTHING,
			"a completion makes it run, with what has come before, in order");
	unit_ok(comes_to(self, pid, TG_PROCESS_IDLE) && puppet->step_count == 4, "in one Step; then it is Idle");

	unit_ok(tell(pid, DO_AGAIN) == TG_OK && reaches(&puppet->step_count, 6) && comes_to(self, pid, TG_PROCESS_IDLE) &&
				puppet->step_count == 6 && puppet->empty_count == 2,
			"a Step that wants another gets one");
	unit_ok(tell(pid, DO_FAIL) == TG_OK && comes_true(&puppet->close_count, 1) && all_end(), "Complete closes it");
	unit_ok(tell(pid, DO_NOTHING) == TG_NOT_FOUND, "a message to a Complete one is an error");
	while (tg_job_state_get(job) != TG_JOB_DONE)
		sched_yield();
	unit_ok(tg_job_status(job) == TG_CHANGED, "its job ends with its exit status");
	unit_ok(puppet->close_count == 1 && puppet->init_count == 1 && puppet->overlaps == 0 && !puppet->steps_after_close,
			"Init and Close once, nothing after Close, nothing at once");
	tg_job_release(self, job);
	tg_free(self, puppet, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "states: nothing is left");
}

/* --- the queue's bound ---------------------------------------------------------------------- */

static void
test_full(void)
{
	size_t bytes = job_bytes();
	puppet *puppet = puppet_new();
	unsigned accepted = 0;
	bool refused = true;
	tg_pid pid;

	pool_start(1);
	pid = puppet_start(puppet);
	if (tell(pid, DO_HOLD) != TG_OK || !comes_to(self, pid, TG_PROCESS_BLOCKED))
		abort();
	while (tell(pid, DO_NOTHING) == TG_OK)
		accepted++;
	unit_equal(accepted, puppet_entries[0].queue_max, "the queue takes as many messages as it is declared");
	for (unsigned i = 0; i < 100; i++)
		refused = refused && tell(pid, DO_NOTHING) == TG_FULL;
	unit_ok(refused, "then the sender learns that it is full");
	unit_ok(tg_process_complete(self, puppet->holds[0], TG_OK, NULL, NULL) == TG_OK, "a completion is not refused");
	unit_ok(noted(puppet, accepted + 1, TG_EVENT_COMPLETION, HOLD_TAG) && comes_to(self, pid, TG_PROCESS_IDLE),
			"all of them arrive");
	unit_ok(tell(pid, DO_COMPLETE) == TG_OK && all_end(), "and there is room again");
	unit_equal(puppet->note_count, accepted + 3, "the refused message has not come");
	tg_free(self, puppet, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "full: nothing is left");
}

/* --- PIDs --------------------------------------------------------------------------- */

static void
test_pids(void)
{
	size_t bytes = job_bytes();
	puppet *puppet = puppet_new();
	tg_process *probe = take_zeroed(self, sizeof(tg_process));
	const tg_pid generation = (tg_pid) 1 << TG_PID_NUMBER_BITS;
	uint32_t clashes = 0;
	uint32_t backward = 0;
	tg_pid last;
	tg_pid pid;

	pool_start(1);
	last = pid = puppet_start(puppet);
	unit_ok(tell(pid + generation, DO_COMPLETE) == TG_NOT_FOUND && tell(pid - generation, DO_COMPLETE) == TG_NOT_FOUND,
			"another generation of a number in use names no process");
	unit_ok(tell(0, DO_COMPLETE) == TG_NOT_FOUND && tell(pid + 1, DO_COMPLETE) == TG_NOT_FOUND &&
				tell(UINT64_MAX, DO_COMPLETE) == TG_NOT_FOUND,
			"an unknown PID names no process");
	/* All numbers once, so that those after it meet the one in use. */
	for (tg_pid i = 0; i < generation + 10; i++)
	{
		tg_process_table_add(self, probe);
		clashes += (probe->pid - pid) % generation == 0;
		backward += probe->pid <= last;
		last = probe->pid;
		tg_process_table_remove(self, probe);
	}
	unit_ok(clashes == 0 && backward == 0 && last > pid + generation, "a number in use is passed over");
	unit_ok(tell(pid, DO_COMPLETE) == TG_OK && all_end(), "whose owner is still found");
	unit_ok(tell(last, DO_NOTHING) == TG_NOT_FOUND && tell(pid, DO_NOTHING) == TG_NOT_FOUND,
			"and is not after its end");
	tg_free(self, probe, TG_USE_JOB);
	tg_free(self, puppet, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "pids: nothing is left");
}

/* --- data --------------------------------------------------------------------------- */

static tg_status
send_data(tg_pid pid, uint64_t what, void **data_out)
{
	*data_out = take_zeroed(self, 32);
	return tg_process_send(self, pid, what, *data_out, drop_counted);
}

static void
test_data(void)
{
	size_t bytes = job_bytes();
	puppet *puppet = puppet_new();
	void *data[4];
	tg_pid pid;

	dropped = 0;
	pool_start(2);
	pid = puppet_start(puppet);
	unit_ok(send_data(pid, DO_NOTHING, &data[0]) == TG_OK && reaches(&dropped, 1),
			"data that a Step leaves is dropped");
	unit_ok(send_data(pid, DO_KEEP, &data[0]) == TG_OK && noted(puppet, 1, TG_EVENT_MESSAGE, DO_KEEP) &&
				puppet->notes[1].data == data[0] && comes_to(self, pid, TG_PROCESS_IDLE) && dropped == 1,
			"data that it keeps is not");
	tg_free(self, data[0], TG_USE_JOB);
	if (tell(pid, DO_HOLD) != TG_OK || tell(pid, DO_HOLD) != TG_OK || !reaches(&puppet->hold_count, 2) ||
		!comes_to(self, pid, TG_PROCESS_BLOCKED))
		abort();
	data[0] = take_zeroed(self, 32);
	unit_ok(tg_process_complete(self, puppet->holds[0], TG_OK, data[0], drop_counted) == TG_OK && reaches(&dropped, 2),
			"a completion's likewise");
	unit_ok(comes_to(self, pid, TG_PROCESS_BLOCKED) && send_data(pid, DO_COMPLETE, &data[1]) == TG_OK &&
				send_data(pid, DO_NOTHING, &data[2]) == TG_OK && dropped == 2,
			"two messages wait");
	unit_ok(tg_process_complete(self, puppet->holds[1], TG_OK, NULL, NULL) == TG_OK && all_end() && dropped == 4,
			"its end drops messages without a receiver");
	unit_ok(send_data(pid, DO_NOTHING, &data[3]) == TG_NOT_FOUND && dropped == 4, "refused data stays the sender's");
	tg_free(self, data[3], TG_USE_JOB);
	tg_free(self, puppet, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "data: nothing is left");
}

/* --- tickets ------------------------------------------------------------------------ */

static tg_status
complete(tg_ticket ticket)
{
	return tg_process_complete(self, ticket, TG_OK, NULL, NULL);
}

static void
test_tickets(void)
{
	size_t bytes = job_bytes();
	puppet *puppet = puppet_new();
	tg_ticket ticket;
	tg_ticket other;
	tg_pid pid;

	pool_start(2);
	pid = puppet_start(puppet);
	if (tell(pid, DO_HOLD) != TG_OK || !comes_to(self, pid, TG_PROCESS_BLOCKED))
		abort();
	ticket = puppet->holds[0];
	other = ticket;
	other.generation++;
	unit_ok(complete(other) == TG_NOT_FOUND, "a ticket of another generation is unknown");
	other = ticket;
	other.index++;
	unit_ok(complete(other) == TG_NOT_FOUND, "one of a yield that is free is unknown");
	other.index = 1000000;
	unit_ok(complete(other) == TG_NOT_FOUND, "one that never was is unknown");
	other = ticket;
	other.pid++;
	unit_ok(complete(other) == TG_NOT_FOUND, "one of an unknown process is unknown");
	unit_ok(tell(pid, DO_HOLD) == TG_OK && report_of(self, pid).state == TG_PROCESS_BLOCKED, "none has woken it");
	unit_ok(complete(ticket) == TG_OK && complete(ticket) == TG_NOT_FOUND, "the second completion is detected");
	unit_ok(reaches(&puppet->hold_count, 2) && comes_to(self, pid, TG_PROCESS_BLOCKED), "the yield is used again");
	unit_ok(puppet->holds[1].index == ticket.index && complete(ticket) == TG_NOT_FOUND,
			"a ticket of its earlier use is not good for it");
	unit_equal(puppet->note_count, 3, "the process has seen one completion");
	unit_ok(complete(puppet->holds[1]) == TG_OK && comes_to(self, pid, TG_PROCESS_IDLE), "nor has it harmed");
	unit_ok(tell(pid, DO_HOLD_AND_END) == TG_OK && all_end() && reaches(&puppet->hold_count, 3),
			"a process may end with a command outstanding");
	unit_ok(puppet->cancel_count == 1 && complete(puppet->holds[2]) == TG_NOT_FOUND,
			"the command is cancelled, once; its completion comes too late");
	tg_free(self, puppet, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "tickets: nothing is left");
}

/* --- messages in order -------------------------------------------------------------- */

#define SENDERS 4
#define MESSAGES 4000

typedef struct counter
{
	uint32_t last[SENDERS]; /* Step's: of each sender's numbers */
	uint32_t disorder;
	uint32_t received;
	uint32_t expected;
	tg_pid peer; /* ping-pong: to whom it answers */
	uint32_t closed;
} counter;

static tg_status
counter_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	memcpy(state_out, input, sizeof(void *));
	return TG_OK;
}

static void
counter_step(void *state, tg_process_step *step)
{
	counter *counter = state;

	for (unsigned i = 0; i < step->event_count; i++)
	{
		uint32_t sender = (uint32_t) (step->events[i].tag >> 32);
		uint32_t number = (uint32_t) step->events[i].tag;

		if (sender >= SENDERS || number != counter->last[sender] + 1)
			counter->disorder++;
		else
			counter->last[sender] = number;
		if (++counter->received == counter->expected)
			step->status = TG_STEP_COMPLETE;
	}
}

/* Answers each message with the next number. */
static void
pong_step(void *state, tg_process_step *step)
{
	counter *counter = state;

	for (unsigned i = 0; i < step->event_count; i++)
	{
		tg_event *event = &step->events[i];
		tg_send_command send = {.to = counter->peer, .tag = event->tag + 1};

		if (event->type == TG_EVENT_COMPLETION)
		{
			counter->disorder += event->error != TG_OK;
			continue;
		}
		if (event->tag != counter->last[0] + (counter->received > 0 ? 2 : event->tag))
			counter->disorder++;
		counter->last[0] = (uint32_t) event->tag;
		counter->received++;
		if (event->tag < counter->expected && tg_process_yield(step, TG_COMMAND_SEND, 0, &send, sizeof(send)) != TG_OK)
			abort();
		if (event->tag + 1 >= counter->expected)
			step->status = TG_STEP_COMPLETE;
	}
}

static void
counter_close(tg_session *session, void *state)
{
	tg_fetch_add_acq_rel(&((counter *) state)->closed, 1);
}

static const tg_entry counter_entries[] = {
	{.method = "counter", .init = counter_init, .step = counter_step, .close = counter_close},
	{.method = "pong", .init = counter_init, .step = pong_step, .close = counter_close}};
static const tg_application counters = {.name = "counters", .entries = counter_entries, .entry_count = 2};

static tg_pid
counter_start(const char *method, counter *counter)
{
	tg_process_config config = {
		.application = "counters", .method = method, .input = &counter, .input_bytes = sizeof(counter)};
	tg_pid pid;

	if (tg_process_start(self, &config, &pid, NULL) != TG_OK)
		abort();
	return pid;
}

typedef struct crowd
{
	counter *counter;
	tg_pid pid;
	uint32_t full;
} crowd;

static void
send_numbers(unsigned number, void *argument)
{
	crowd *crowd = argument;
	tg_session *session = session_open();

	for (uint32_t i = 1; i <= MESSAGES; i++)
	{
		tg_status status;

		while ((status = tg_process_send(session, crowd->pid, (uint64_t) number << 32 | i, NULL, NULL)) == TG_FULL)
		{
			tg_fetch_add_relaxed(&crowd->full, 1);
			sched_yield();
		}
		if (status != TG_OK)
			abort();
	}
	tg_session_close(session);
}

static void
test_order(unsigned workers)
{
	size_t bytes = job_bytes();
	counter *counter = take_zeroed(self, sizeof(struct counter));
	crowd crowd = {.counter = counter};

	pool_start(workers);
	counter->expected = SENDERS * MESSAGES;
	crowd.pid = counter_start("counter", counter);
	unit_threads(SENDERS, send_numbers, &crowd);
	unit_ok(comes_true(&counter->closed, 1), "%u senders, %u workers: all arrive (%u times full)", SENDERS, workers,
			crowd.full);
	unit_equal(counter->disorder, 0, "each once, and each sender's in order");
	tg_free(self, counter, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "order: nothing is left");
}

#define ROUNDS 20000

static void
test_ping_pong(void)
{
	size_t bytes = job_bytes();
	counter *one = take_zeroed(self, sizeof(counter));
	counter *two = take_zeroed(self, sizeof(counter));
	tg_pid first;
	tg_pid second;
	uint64_t begin;

	pool_start(2);
	one->expected = two->expected = ROUNDS;
	first = counter_start("pong", one);
	second = counter_start("pong", two);
	if (!comes_to(self, first, TG_PROCESS_IDLE) || !comes_to(self, second, TG_PROCESS_IDLE))
		abort();
	one->peer = second; /* while both are Idle */
	two->peer = first;
	begin = tg_clock_us();
	if (tell(second, 1) != TG_OK)
		abort();
	unit_ok(comes_true(&one->closed, 1) && comes_true(&two->closed, 1), "%u messages go to and fro between two",
			ROUNDS);
	printf("# %.2f us each\n", (double) (tg_clock_us() - begin) / ROUNDS);
	unit_ok(one->disorder == 0 && two->disorder == 0 && one->received + two->received == ROUNDS,
			"each once and in order");
	tg_free(self, one, TG_USE_JOB);
	tg_free(self, two, TG_USE_JOB);
	unit_ok(all_end() && stop_empty(bytes), "ping-pong: nothing is left");
}

int
main(void)
{
	server_start();
	tg_processes_register();
	puppets_register();
	if (tg_application_register(&counters) != TG_OK)
		abort();
	test_init();
	test_states();
	test_full();
	test_pids();
	test_data();
	test_tickets();
	test_order(1);
	test_order(3);
	test_ping_pong();
	server_end();
	return unit_done();
}
