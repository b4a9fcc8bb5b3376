/*
 * process_command.c
 *	  Commands of processes: children, timers, jobs, lanes.
 *
 * One process yields thousands of commands in one Step, which foreign threads complete in any
 * order; trees of processes spawn and end; timers, jobs and operations outlive the process that
 * asked for them.  Each part ends with a look at the memory in use.
 */
#include "runtime/app/process.h"

#include "runtime/base/check.h"
#include "runtime/app/process_internal.h"
#include "test/unit/process_unit.h"

/* An application whose processes behave as their Step function says. */
typedef struct actor actor;

struct actor
{
	void (*step)(actor *actor, tg_process_step *step);
	uint32_t completions;
	uint32_t errors; /* what should not be */
	uint32_t closed;
	uint32_t steps;
	uint32_t exits;
	tg_status last_error; /* of the last completion or exit */
	void *data;
	uint32_t seen[4096]; /* completions by tag */
	uint64_t due_us[4096];
};

static tg_status
actor_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	if (input_bytes != sizeof(void *))
		return TG_TOO_LARGE;
	memcpy(state_out, input, sizeof(void *));
	return TG_OK;
}

static void
actor_step(void *state, tg_process_step *step)
{
	actor *actor = state;

	actor->step(actor, step);
	actor->steps++;
}

static void
actor_close(tg_session *session, void *state)
{
	tg_fetch_add_acq_rel(&((actor *) state)->closed, 1);
}

static tg_status spawner_init(tg_session *session, const void *input, size_t input_bytes, void **state_out);
static void spawner_step(void *state, tg_process_step *step);
static void spawner_close(tg_session *session, void *state);

static const tg_entry entries[] = {
	{.method = "actor", .init = actor_init, .step = actor_step, .close = actor_close},
	{.method = "spawner", .init = spawner_init, .step = spawner_step, .close = spawner_close}};
static const tg_application actors = {.name = "actors", .entries = entries, .entry_count = 2};

static actor *
actor_new(void (*step)(actor *, tg_process_step *))
{
	actor *actor = take_zeroed(self, sizeof(*actor));

	actor->step = step;
	return actor;
}

static tg_pid
actor_start(actor *actor, tg_job **job_out)
{
	tg_process_config config = {.application = "actors",
								.method = "actor",
								.input = &actor,
								.input_bytes = sizeof(actor),
								.transaction = &dropped};
	tg_pid pid;

	if (tg_process_start(self, &config, &pid, job_out) != TG_OK)
		abort();
	return pid;
}

static void
yield(tg_process_step *step, unsigned kind, uint64_t tag, const void *argument, size_t bytes)
{
	if (tg_process_yield(step, kind, tag, argument, bytes) != TG_OK)
		abort();
}

/* --- many at once ---------------------------------------------------------------------- */

#define MANY 3000
#define COMMAND_FOREIGN (TG_COMMAND_APPLICATION + 1)

static tg_ticket tickets[MANY];
static uint32_t ticket_count;

static void
foreign_run(const tg_command *command)
{
	tickets[ticket_count] = command->ticket;
	tg_store_release(&ticket_count, ticket_count + 1);
}

static const tg_command_handler foreign = {.name = "foreign", .run = foreign_run};

static void
count_completions(actor *actor, tg_process_step *step)
{
	for (unsigned i = 0; i < step->event_count; i++)
	{
		const tg_event *event = &step->events[i];

		actor->errors += event->type != TG_EVENT_COMPLETION || (uintptr_t) event->data != event->tag ||
						 event->error != (event->tag % 2 ? TG_CHANGED : TG_OK);
		actor->seen[event->tag]++;
		actor->completions++;
	}
}

static void
yield_many(actor *actor, tg_process_step *step)
{
	if (actor->steps == 0)
	{
		for (uint64_t tag = 0; tag < MANY; tag++)
			yield(step, COMMAND_FOREIGN, tag, NULL, 0);
	}
	count_completions(actor, step);
	if (actor->completions == MANY)
		step->status = TG_STEP_COMPLETE;
}

/* Each thread takes every n-th ticket in a mixed order; one of two threads tries each twice. */
static void
complete_foreign(unsigned number, void *argument)
{
	tg_session *session = session_open();
	uint32_t *accepted = argument;

	for (uint32_t i = 0; i < MANY; i++)
	{
		/* 1663 and MANY have no common divisor */
		uint32_t tag = (uint32_t) ((uint64_t) i * 1663 % MANY);

		if (tg_process_complete(session, tickets[tag], tag % 2 ? TG_CHANGED : TG_OK, (void *) (uintptr_t) tag, NULL) ==
			TG_OK)
			tg_fetch_add_relaxed(accepted, 1);
	}
	tg_session_close(session);
}

static void
test_many(void)
{
	size_t bytes = job_bytes();
	actor *actor = actor_new(yield_many);
	uint32_t accepted = 0;
	bool once = true;
	tg_job *job;
	tg_pid pid;

	ticket_count = 0;
	pool_start(2);
	pid = actor_start(actor, &job);
	unit_ok(comes_true(&ticket_count, MANY) && comes_to(self, pid, TG_PROCESS_BLOCKED) &&
				report_of(self, pid).outstanding == MANY,
			"%u commands yielded by one Step are outstanding", MANY);
	unit_threads(3, complete_foreign, &accepted);
	unit_ok(comes_true(&actor->closed, 1) && job_ends(job, TG_OK), "foreign threads complete them all");
	for (unsigned tag = 0; tag < MANY; tag++)
		once = once && actor->seen[tag] == 1;
	unit_ok(once && actor->errors == 0, "each arrives once, with its data or error");
	unit_equal(accepted, MANY, "though three threads tried each");
	tg_free(self, actor, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "many: nothing is left");
}

/* --- timers ----------------------------------------------------------------------------------- */

#define TIMERS 300

static void
yield_timers(actor *actor, tg_process_step *step)
{
	if (actor->steps == 0)
	{
		for (uint64_t tag = 0; tag < TIMERS; tag++)
		{
			tg_timer_command timer = {.delay_us = tag * 7919 % 20000};

			actor->due_us[tag] = tg_clock_us() + timer.delay_us;
			yield(step, TG_COMMAND_TIMER, tag, &timer, sizeof(timer));
		}
	}
	for (unsigned i = 0; i < step->event_count; i++)
	{
		const tg_event *event = &step->events[i];

		actor->errors += event->type != TG_EVENT_COMPLETION || event->error != TG_OK;
		actor->errors += tg_clock_us() < actor->due_us[event->tag];
		actor->errors += actor->seen[event->tag]++ > 0;
		actor->completions++;
	}
	if (actor->completions == TIMERS)
		step->status = TG_STEP_COMPLETE;
}

/* Ends at once, with timers due soon or in an hour. */
static void
leave_timers(actor *actor, tg_process_step *step)
{
	for (uint64_t tag = 0; tag < 20; tag++)
	{
		tg_timer_command timer = {.delay_us = tag % 2 ? UINT64_C(3600000000) : tag * 20};

		yield(step, TG_COMMAND_TIMER, tag, &timer, sizeof(timer));
	}
	step->status = TG_STEP_COMPLETE;
}

static void
test_timers(void)
{
	size_t bytes = job_bytes();
	actor *patient = actor_new(yield_timers);
	actor *short_lived[100];
	tg_scheduler_report report;

	pool_start(2);
	actor_start(patient, NULL);
	unit_ok(comes_true(&patient->closed, 1) && patient->errors == 0, "%u timers complete, once each, none too early",
			TIMERS);
	tg_free(self, patient, TG_USE_JOB);
	for (unsigned i = 0; i < 100; i++)
	{
		short_lived[i] = actor_new(leave_timers);
		actor_start(short_lived[i], NULL);
		if (i % 10 == 0)
			usleep(500);
	}
	unit_ok(all_end(), "processes end with timers due at that moment, and much later");
	tg_scheduler_report_get(&report);
	unit_equal(report.timers_waiting, 0, "none of which is left to wait");
	for (unsigned i = 0; i < 100; i++)
		tg_free(self, short_lived[i], TG_USE_JOB);
	unit_ok(stop_empty(bytes), "timers: nothing is left");
}

/* --- children ----------------------------------------------------------------------- */

#define TREE_WIDTH 4
#define TREE_DEPTH 5

typedef struct tree
{
	uint32_t made;
	uint32_t closed;
	uint32_t errors;
	uint32_t exits;
} tree;

typedef struct spawner_input
{
	tree *tree;
	uint32_t depth;
	uint32_t number;		 /* among its parent's children; leaves of number 2 fail */
	uint32_t *is_closed_out; /* the parent's, NULL for the first of all */
} spawner_input;

typedef struct spawner
{
	spawner_input input;
	spawner_input child_inputs[TREE_WIDTH]; /* read after the Step */
	tg_pid children[TREE_WIDTH];
	uint32_t is_closed[TREE_WIDTH]; /* children write: plain, as the exit event comes after it */
	uint32_t exited;
} spawner;

static tg_status
spawner_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	spawner *spawner = take_zeroed(session, sizeof(*spawner));

	memcpy(&spawner->input, input, input_bytes);
	tg_fetch_add_relaxed(&spawner->input.tree->made, 1);
	*state_out = spawner;
	return TG_OK;
}

static void
spawner_begin(spawner *spawner, tg_process_step *step)
{
	for (uint32_t i = 0; i < TREE_WIDTH; i++)
	{
		spawner_input *child = &spawner->child_inputs[i];
		tg_spawn_command spawn = {.method = "spawner", .input = child, .input_bytes = sizeof(*child)};

		*child = (spawner_input){.tree = spawner->input.tree,
								 .depth = spawner->input.depth - 1,
								 .number = i,
								 .is_closed_out = &spawner->is_closed[i]};
		yield(step, TG_COMMAND_SPAWN, i, &spawn, sizeof(spawn));
	}
}

/* How many things are wrong with the event. */
static uint32_t
spawner_note(spawner *spawner, const tg_event *event)
{
	tg_pid pid = (tg_pid) (uintptr_t) event->data;
	bool fails = spawner->input.depth == 1 && event->tag == 2;

	if (event->tag >= TREE_WIDTH || pid == 0)
		return 1;
	if (event->type == TG_EVENT_COMPLETION)
	{
		uint32_t wrong = event->error != TG_OK || spawner->children[event->tag] != 0;

		spawner->children[event->tag] = pid;
		return wrong;
	}
	spawner->exited++;
	tg_fetch_add_relaxed(&spawner->input.tree->exits, 1);
	return event->type != TG_EVENT_EXIT || spawner->children[event->tag] != pid || !spawner->is_closed[event->tag] ||
		   event->error != (fails ? TG_CHANGED : TG_OK);
}

static void
spawner_step(void *state, tg_process_step *step)
{
	spawner *spawner = state;

	if (step->event_count == 0 && spawner->input.depth > 0)
		spawner_begin(spawner, step);
	for (unsigned i = 0; i < step->event_count; i++)
	{
		if (spawner_note(spawner, &step->events[i]) > 0)
			tg_fetch_add_relaxed(&spawner->input.tree->errors, 1);
	}
	if (spawner->input.depth == 0 || spawner->exited == TREE_WIDTH)
		step->status = TG_STEP_COMPLETE;
	if (spawner->input.depth == 0 && spawner->input.number == 2)
		step->error = TG_CHANGED;
}

static void
spawner_close(tg_session *session, void *state)
{
	spawner *spawner = state;
	tree *tree = spawner->input.tree;

	if (spawner->input.number == 1)
		usleep(200); /* time for a parent that has been told too early to see it */
	if (spawner->input.is_closed_out)
		*spawner->input.is_closed_out = 1;
	tg_free(session, spawner, TG_USE_JOB);
	tg_fetch_add_acq_rel(&tree->closed, 1);
}

static void
test_tree(void)
{
	size_t bytes = job_bytes();
	tree *tree = take_zeroed(self, sizeof(struct tree));
	spawner_input input = {.tree = tree, .depth = TREE_DEPTH};
	tg_process_config config = {
		.application = "actors", .method = "spawner", .input = &input, .input_bytes = sizeof(input)};
	uint32_t expected = 0;
	tg_job *job;
	tg_pid pid;

	for (unsigned depth = 0, level = 1; depth <= TREE_DEPTH; depth++, level *= TREE_WIDTH)
		expected += level;
	pool_start(3);
	if (tg_process_start(self, &config, &pid, &job) != TG_OK)
		abort();
	unit_ok(job_ends(job, TG_OK), "a tree of processes ends, and the job with the last of them");
	unit_ok(tree->made == expected && tree->closed == expected, "%u began, and each was closed once", expected);
	unit_equal(tree->exits, expected - 1, "each end was told to the parent");
	unit_equal(tree->errors, 0, "after the PID and the Close, with the exit status");
	tg_free(self, tree, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "tree: nothing is left");
}

/* Children that cannot be spawned, and commands that cannot be yielded. */
static void
spawn_wrong(actor *actor, tg_process_step *step)
{
	static const int nothing;
	tg_spawn_command unknown = {.method = "nobody"};
	tg_spawn_command bad = {.method = "actor", .input = &nothing, .input_bytes = 1};
	tg_pid nobody = 77;

	if (actor->steps == 0)
	{
		actor->errors += tg_process_yield(step, TG_COMMAND_MAX, 0, NULL, 0) != TG_NOT_FOUND;
		actor->errors += tg_process_yield(step, TG_COMMAND_MAX - 1, 0, NULL, 0) != TG_NOT_FOUND;
		actor->errors += tg_process_yield(step, TG_COMMAND_TIMER, 0, NULL, 0) != TG_TOO_LARGE;
		actor->errors += tg_process_transaction(step->process) != &dropped;
		actor->errors += strcmp(tg_process_application(step->process)->name, "actors") != 0;
		yield(step, TG_COMMAND_SPAWN, TG_NOT_FOUND, &unknown, sizeof(unknown));
		yield(step, TG_COMMAND_SPAWN, TG_TOO_LARGE, &bad, sizeof(bad));
		yield(step, TG_COMMAND_CANCEL, TG_NOT_FOUND, &nobody, sizeof(nobody));
	}
	for (unsigned i = 0; i < step->event_count; i++)
	{
		actor->errors += step->events[i].error != step->events[i].tag || step->events[i].data != NULL;
		actor->completions++;
	}
	if (actor->completions == 3)
		step->status = TG_STEP_COMPLETE;
}

static void
test_wrong(void)
{
	size_t bytes = job_bytes();
	actor *actor = actor_new(spawn_wrong);

	pool_start(1);
	actor_start(actor, NULL);
	unit_ok(comes_true(&actor->closed, 1) && all_end(), "an unknown method, bad input, an unknown PID are errors");
	unit_ok(actor->errors == 0 && actor->completions == 3, "each of its own kind; commands that are none are refused");
	tg_free(self, actor, TG_USE_JOB);
	unit_ok(stop_empty(bytes), "wrong: nothing is left");
}

/* --- jobs --------------------------------------------------------------------------- */

typedef struct work
{
	tg_task bootstrap;
	tg_job_config config;
	uint32_t runs_on; /* until it is cancelled */
	uint32_t turns;
	uint32_t torn_down;
	uint32_t completed;
} work;

static tg_turn
run_work(tg_task *task, tg_worker *worker)
{
	work *work = tg_job_argument(task->job);

	tg_fetch_add_acq_rel(&work->turns, 1);
	if (work->runs_on && !tg_job_is_cancelled(task->job))
		return TG_TURN_AGAIN;
	tg_job_fail(task->job, work->runs_on ? TG_CANCELLED : TG_EXISTS);
	return TG_TURN_DONE;
}

static void
work_teardown(tg_job *job, tg_session *session)
{
	((work *) tg_job_argument(job))->torn_down++;
}

static void
work_complete(tg_job *job, tg_session *session, tg_status status)
{
	work *work = tg_job_argument(job);

	tg_fetch_add_acq_rel(&work->completed, work->torn_down == 1 ? 1 : 100);
}

static work *
work_new(bool runs_on, uint8_t level)
{
	work *work = take_zeroed(self, sizeof(*work));

	work->runs_on = runs_on;
	tg_task_init(&work->bootstrap, run_work, NULL);
	work->config = (tg_job_config){
		.kind = "work", .level = level, .argument = work, .teardown = work_teardown, .complete = work_complete};
	return work;
}

static void
yield_job(actor *actor, tg_process_step *step)
{
	work *work = actor->data;
	tg_job_command job = {.config = &work->config, .bootstrap = &work->bootstrap};

	if (actor->steps == 0)
		yield(step, TG_COMMAND_JOB, 5, &job, sizeof(job));
	for (unsigned i = 0; i < step->event_count; i++)
	{
		actor->errors += step->events[i].type != TG_EVENT_COMPLETION || step->events[i].tag != 5;
		actor->errors += step->events[i].error != TG_EXISTS || work->completed != 1;
		step->status = TG_STEP_COMPLETE;
	}
}

/* Ends while its job runs. */
static void
leave_job(actor *actor, tg_process_step *step)
{
	work *work = actor->data;
	tg_job_command job = {.config = &work->config, .bootstrap = &work->bootstrap};
	tg_timer_command timer = {.delay_us = 2000};

	if (actor->steps == 0)
	{
		yield(step, TG_COMMAND_JOB, 5, &job, sizeof(job));
		yield(step, TG_COMMAND_TIMER, 6, &timer, sizeof(timer));
	}
	for (unsigned i = 0; i < step->event_count; i++)
	{
		actor->errors += step->events[i].tag != 6;
		step->status = TG_STEP_COMPLETE;
	}
}

static void
test_job(uint8_t level)
{
	size_t bytes = job_bytes();
	actor *waiting = actor_new(yield_job);
	actor *leaving = actor_new(leave_job);
	work *ending = work_new(false, level);
	work *endless = work_new(true, level);
	tg_job *job;

	waiting->data = ending;
	leaving->data = endless;
	pool_start(2);
	actor_start(waiting, &job);
	unit_ok(job_ends(job, TG_OK) && waiting->errors == 0 && waiting->closed == 1,
			"a job of level %u is submitted, and its status comes after its end", level);
	unit_ok(ending->completed == 1 && ending->torn_down == 1, "its own callbacks have run, once");
	actor_start(leaving, &job);
	unit_ok(job_ends(job, TG_OK) && leaving->errors == 0 && reaches(&endless->completed, 1),
			"a process may end before its job, and the job is cancelled then");
	unit_ok(endless->turns > 1 && endless->torn_down == 1 && endless->completed == 1, "and ends by itself");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, waiting, TG_USE_JOB);
	tg_free(self, leaving, TG_USE_JOB);
	tg_free(self, ending, TG_USE_JOB);
	tg_free(self, endless, TG_USE_JOB);
	unit_ok(job_bytes() == bytes, "job: nothing is left");
}

/* --- lanes -------------------------------------------------------------------------- */

#define OPERATIONS 200
#define LANE_PROCESSES 3

/* Plain data that a lane serializes. */
typedef struct account
{
	tg_lane lane TG_CACHE_ALIGNED;
	uint64_t sum;
	uint32_t inside;
	uint32_t overlaps;
	uint32_t ran;
} account;

typedef struct transfer
{
	account *account;
	uint32_t number;
} transfer;

static tg_status
run_transfer(tg_session *session, void *data)
{
	transfer *transfer = data;
	account *account = transfer->account;

	if (tg_fetch_add_relaxed(&account->inside, 1) != 0)
		account->overlaps++;
	account->sum += transfer->number;
	tg_fetch_add_relaxed(&account->inside, (uint32_t) -1);
	tg_fetch_add_acq_rel(&account->ran, 1);
	return transfer->number % 2 ? TG_CHANGED : TG_OK;
}

static void
yield_transfers(actor *actor, tg_process_step *step)
{
	for (uint64_t tag = 0; actor->steps == 0 && tag < OPERATIONS; tag++)
	{
		transfer *data = take_zeroed(step->session, sizeof(transfer));
		account *account = actor->data;
		tg_lane_command command = {.lane = &account->lane, .run = run_transfer, .data = data, .drop = drop_counted};

		*data = (transfer){.account = account, .number = (uint32_t) tag};
		yield(step, TG_COMMAND_LANE, tag, &command, sizeof(command));
	}
	for (unsigned i = 0; i < step->event_count; i++)
	{
		const tg_event *event = &step->events[i];
		transfer *data = event->data;

		actor->errors += event->tag != actor->completions || data->number != event->tag;
		actor->errors += event->error != (event->tag % 2 ? TG_CHANGED : TG_OK);
		actor->completions++;
	}
	if (actor->completions == OPERATIONS)
		step->status = TG_STEP_COMPLETE;
}

/* As that, but does not wait for its operations. */
static void
leave_transfers(actor *actor, tg_process_step *step)
{
	yield_transfers(actor, step);
	step->status = TG_STEP_COMPLETE;
}

static void
test_lane(void)
{
	size_t bytes = job_bytes();
	account *account = take_zeroed(self, sizeof(*account));
	actor *waiting[LANE_PROCESSES];
	actor *leaving = actor_new(leave_transfers);
	const uint64_t sum_each = (uint64_t) OPERATIONS * (OPERATIONS - 1) / 2;
	bool right = true;

	dropped = 0;
	tg_lane_init(&account->lane);
	pool_start(3);
	for (unsigned i = 0; i < LANE_PROCESSES; i++)
	{
		waiting[i] = actor_new(yield_transfers);
		waiting[i]->data = account;
		actor_start(waiting[i], NULL);
	}
	leaving->data = account;
	actor_start(leaving, NULL);
	unit_ok(comes_true(&account->ran, (LANE_PROCESSES + 1) * OPERATIONS) && all_end(),
			"operations of several processes run in one lane");
	for (unsigned i = 0; i < LANE_PROCESSES; i++)
	{
		right = right && waiting[i]->errors == 0 && waiting[i]->closed == 1;
		tg_free(self, waiting[i], TG_USE_JOB);
	}
	unit_ok(right, "each completes in order, with what it says and its data");
	unit_ok(reaches(&dropped, (LANE_PROCESSES + 1) * OPERATIONS),
			"data is dropped once, that of a process gone as well");
	unit_ok(account->overlaps == 0 && account->sum == (LANE_PROCESSES + 1) * sum_each, "one at a time");
	tg_free(self, leaving, TG_USE_JOB);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, account, TG_USE_JOB);
	unit_ok(job_bytes() == bytes, "lane: nothing is left");
}

int
main(void)
{
	server_start();
	tg_processes_register();
	puppets_register();
	if (tg_application_register(&actors) != TG_OK)
		abort();
	tg_command_register(COMMAND_FOREIGN, &foreign);
	test_many();
	test_timers();
	test_tree();
	test_wrong();
	test_job(60);
	test_job(10); /* begins in place, within the command */
	test_lane();
	server_end();
	return unit_done();
}
