/*
 * log_model.c
 *	  From a commit to the journal and to a base, all interleavings, with a crash at every moment.
 *
 * Sessions commit, read and build on each other; the worker fills the journal, ends, comes back and
 * writes a base; checkpoints of PostgreSQL's complete.  Each step is one access to shared state, in
 * any order (so this shows the protocol, not the memory orders, for which log.c and unflushed.c
 * argue).
 *
 *	session		src/txn/logging.c: LOGGING, CLOSED?, the record, the note, C, COMMITTED, not
 *				LOGGING, flush, answer.  With a transaction id (WITH): C first, the record,
 *				PostgreSQL's outcome and flush, COMMITTED.  SERIALIZABLE: the note and C first.
 *				Prepared: the record, an answer; later PostgreSQL's outcome.
 *	reader		runtime/txn/unflushed.h: R, the least bound, a row, its note, flush, answer
 *	worker		src/durable/keeper.c and base_writer.c, step by step
 *	checkpoint	redo position, wait for either flag, redo position in the control file
 *	collector	takes the header with C from a row that all snapshots see
 *
 * A position is that of a record: it is durable if it is below «flushed». In every state that is
 * reached the server may crash; then PostgreSQL's log from the last checkpoint on, the journal as
 * of the state's D, and the base that the state names have to give exactly the transactions that
 * the log decides. Among them are all that a client was told of, and all that another one of them
 * was built on.
 *
 * All states are visited, for each of some small sets of transactions; with the argument «long» for
 * larger ones, too.  Then the same with each rule left out, which must show.
 */
#include "test/unit/log_steps.h"

#define STATES_BITS_LONG 27 /* a table of 1 GB */

/* --- the worker ------------------------------------------------------------------------------- */

static void
next_transaction(model *state)
{
	state->is_same = 0;
}

static void
move_durable(model *state, uint8_t then)
{
	state->at = MARK;
	state->then = then;
}

static void
read_log(model *state)
{
	for (unsigned i = 0; i < SESSIONS; i++)
	{
		const uint8_t positions[2] = {state->sessions[i].record, state->sessions[i].outcome};

		for (unsigned j = 0; j < 2; j++)
			if (positions[j] >= state->from && positions[j] < state->flushed && positions[j] != NO_POSITION)
				state->journal |= bit(positions[j]);
	}
}

/*
 * base_writer.c, 1.  Those that are LOGGING alone; for the others it is enough that a row waits.
 * The worker waits for all, which is more.
 */
static void
note_logging(model *state)
{
	for (unsigned i = 0; i < SESSIONS; i++)
		state->noted[i] = is_decided_by_host(i) || left_out == LOGGING_AWAITED ? 0 : state->sessions[i].word;
}

static bool
noted_have_ended(const model *state)
{
	for (unsigned i = 0; i < SESSIONS; i++)
		if (state->noted[i] != 0 && state->sessions[i].word == state->noted[i])
			return false;
	return true;
}

/* What is undecided as of P. */
static uint8_t
find_least(const model *state)
{
	uint8_t least = UINT8_MAX;

	for (unsigned i = 0; i < SESSIONS && left_out != UNDECIDED_KEPT; i++)
	{
		const session *one = &state->sessions[i];

		if (is_decided_by_host(i) && one->record != NO_POSITION && one->record < state->begin && one->record < least &&
			(one->outcome == NO_POSITION || one->outcome >= state->begin))
			least = one->record;
	}
	return least;
}

/* By a fresh snapshot. */
static bool
read_rows(model *state)
{
	for (unsigned i = 0; i < SESSIONS; i++)
		if (state->sessions[i].state == PREPARED && left_out != PREPARED_AWAITED)
			return false;
	state->has = 0;
	for (unsigned i = 0; i < SESSIONS; i++)
		if (state->sessions[i].state == COMMITTED)
			state->has |= (uint8_t) bit(i);
	state->least = find_least(state);
	return true;
}

static bool
is_quiet(const model *state)
{
	for (unsigned i = 0; i < SESSIONS; i++)
		if (state->sessions[i].word != 0)
			return left_out == QUIET_AWAITED;
	return true;
}

static bool
compare(model *state, uint8_t passes, uint8_t otherwise)
{
	if (state->redo <= state->durable)
		state->at = passes;
	else
		move_durable(state, otherwise);
	return true;
}

/* choice: what it does next, when it may choose. */
static bool
tick(model *state, unsigned choice)
{
	switch (choice)
	{
		case 0:
			read_log(state);
			state->at = left_out == COMPARED_FIRST ? LET_PASS_EARLY : COMPARE;
			return true;
		case 1:
			if (state->bases == 0)
				return false;
			state->bases--;
			move_durable(state, NOTE_LOGGING);
			return true;
		default:
			if (state->ends == 0)
				return false;
			state->ends--;
			state->at = CLOSE;
			return true;
	}
}

static void
base_counts(model *state)
{
	state->base_begin = state->begin;
	state->base_has = state->has;
	state->base_least = state->least;
}

static bool
write_state(model *state)
{
	state->durable = (uint8_t) (state->mark + 1);
	state->kept = state->journal;
	state->clean = state->makes_clean;
	state->makes_clean = 0;
	state->at = state->then;
	return true;
}

/* The end of a worker, and the next one. */
static bool
step_end(model *state)
{
	switch (state->at)
	{
		case CLOSE:
			state->closed = 1;
			state->at = AWAIT_QUIET;
			if (left_out == SEALED_ANEW)
				state->mark = insert(state);
			return true;
		case AWAIT_QUIET:
			if (!is_quiet(state))
				return false;
			state->makes_clean = 1;
			state->then = REMOVE_GATE;
			state->at = left_out == SEALED_ANEW ? FLUSH_MARK : MARK;
			if (left_out == GATE_UNTIL_SEALED)
				state->flags = 0;
			return true;
		case REMOVE_GATE:
			state->flags = 0;
			state->at = GONE;
			return true;
		case GONE:
			state->journal = state->kept & state->synced;
			state->at = left_out == GATE_BEFORE_OPEN ? OPEN : SET_GATE;
			return true;
		case SET_GATE:
			next_transaction(state);
			state->flags = 1;
			state->from = state->next;
			move_durable(state, left_out == GATE_BEFORE_OPEN ? TICK : OPEN);
			if (left_out == STATE_BEFORE_OPEN)
				state->at = OPEN;
			return true;
		case OPEN:
			state->closed = 0;
			state->at = left_out == GATE_BEFORE_OPEN ? SET_GATE : TICK;
			if (left_out == STATE_BEFORE_OPEN)
				move_durable(state, TICK);
			return true;
		default:
			return false;
	}
}

static bool
step_base(model *state)
{
	switch (state->at)
	{
		case NOTE_LOGGING:
			state->begin = state->durable;
			note_logging(state);
			state->at = AWAIT_LOGGING;
			return true;
		case AWAIT_LOGGING:
			if (!noted_have_ended(state))
				return false;
			state->at = READ_ROWS;
			return true;
		case READ_ROWS:
			if (!read_rows(state))
				return false;
			if (left_out == DURABLE_UP_TO_E)
				state->at = BASE_COUNTS;
			else
				move_durable(state, BASE_COUNTS);
			return true;
		case BASE_COUNTS:
			base_counts(state);
			state->at = TICK;
			return true;
		default:
			return step_end(state);
	}
}

static bool
fail_sync(model *state)
{
	if (state->failures == 0 || (state->then != COMPARE && state->then != TICK))
		return false;
	state->failures--;
	state->at = TICK;
	return true;
}

static bool
step_worker(model *state, unsigned choice)
{
	if (choice > 0 && state->at != TICK && (state->at != SYNC || choice > 1))
		return false;
	switch (state->at)
	{
		case TICK:
			return tick(state, choice);
		case COMPARE:
			return compare(state, LET_PASS, COMPARE);
		case LET_PASS:
			next_transaction(state);
			state->at = TICK;
			return true;
		case LET_PASS_EARLY: /* whatever the comparison will say */
			next_transaction(state);
			state->at = COMPARE_LATE;
			return true;
		case COMPARE_LATE:
			return compare(state, TICK, TICK);
		case MARK:
			state->mark = insert(state);
			state->at = FLUSH_MARK;
			return true;
		case FLUSH_MARK:
			flush_to(state, (uint8_t) (state->mark + 1));
			state->at = READ_LOG;
			return true;
		case READ_LOG:
			read_log(state);
			state->at = left_out == SYNCED_FIRST ? WRITE_STATE : SYNC;
			return true;
		case SYNC:
			if (choice == 1)
				return fail_sync(state);
			state->synced = state->journal;
			state->at = WRITE_STATE;
			return true;
		case WRITE_STATE:
			return write_state(state);
		default:
			return step_base(state);
	}
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static bool
look(model *state, rule flag, uint8_t waits, uint8_t passes)
{
	bool has_flag = state->flags != 0 && left_out != flag;

	state->is_same = has_flag;
	state->checkpoint_at = has_flag ? waits : passes;
	return true;
}

static bool
await(model *state, uint8_t passes)
{
	if (state->is_same && state->flags != 0)
		return false;
	state->is_same = 0;
	state->checkpoint_at = passes;
	return true;
}

static bool
step_checkpoint(model *state)
{
	switch (state->checkpoint_at)
	{
		case SET_REDO:
			if (state->checkpoints == 0)
				return false;
			state->checkpoints--;
			state->redo = state->next;
			state->checkpoint_at = LOOK_FIRST;
			return true;
		case LOOK_FIRST:
			return look(state, FIRST_FLAG, AWAIT_FIRST, LOOK_SECOND);
		case AWAIT_FIRST:
			return await(state, LOOK_SECOND);
		case LOOK_SECOND:
			return look(state, SECOND_FLAG, AWAIT_SECOND, COMPLETE);
		case AWAIT_SECOND:
			return await(state, COMPLETE);
		default:
			flush_to(state, (uint8_t) (insert(state) + 1));
			state->control_redo = state->redo;
			state->checkpoint_at = SET_REDO;
			return true;
	}
}

/* --- the search ------------------------------------------------------------------------------- */

static void
visit(const model *state)
{
	if (fault != NULL || !states_add(state, sizeof(*state)))
		return;
	judge(state);
	for (unsigned i = 0; i < SESSIONS; i++)
	{
		for (unsigned choice = 0; choice < 2 && script_of(i)->kind != NOBODY; choice++)
		{
			model next = *state;

			if (step_session(&next, i, choice))
				visit(&next);
		}
		if (script_of(i)->kind != NOBODY)
		{
			model next = *state;

			if (step_collector(&next, i))
				visit(&next);
		}
	}
	for (unsigned choice = 0; choice < 3; choice++)
	{
		model next = *state;

		if (step_worker(&next, choice))
			visit(&next);
	}
	model next = *state;

	if (step_checkpoint(&next))
		visit(&next);
}

static const scenario scenarios[] = {
	{.name = "a commit, checkpoints", .scripts = {{ALONE}}, .checkpoints = 2},
	{.name = "a commit with an id, checkpoints", .scripts = {{WITH, .may_fail = true}}, .checkpoints = 2},
	{.name = "a prepared transaction, checkpoints", .scripts = {{PREPARED_FIRST, .may_fail = true}}, .checkpoints = 2},
	{.name = "a commit, checkpoints, a sync that fails", .scripts = {{ALONE}}, .checkpoints = 2, .failures = 1},
	{.name = "a commit, a worker that ends, a checkpoint", .scripts = {{ALONE}}, .checkpoints = 1, .ends = 1},
	{.name = "a commit with an id, a worker that ends, a checkpoint",
	 .scripts = {{WITH, .may_fail = true}},
	 .checkpoints = 1,
	 .ends = 1},
	{.name = "a prepared transaction, a worker that ends, a checkpoint",
	 .scripts = {{PREPARED_FIRST, .may_fail = true}},
	 .checkpoints = 1,
	 .ends = 1},
	{.name = "two commits, a worker that ends, a checkpoint",
	 .scripts = {{ALONE}, {SERIALIZABLE}},
	 .checkpoints = 1,
	 .ends = 1},
	{.name = "a commit, a reader", .scripts = {{ALONE}, {READER, .builds = true}}, .collects = true},
	{.name = "a serializable commit, a reader",
	 .scripts = {{SERIALIZABLE}, {READER, .builds = true}},
	 .collects = true},
	{.name = "a commit, one that is built on it, a reader",
	 .scripts = {{ALONE}, {ALONE, .builds = true}, {READER, .builds = true}},
	 .collects = true},
	{.name = "a commit that nobody waits for, one that is built on it",
	 .scripts = {{ALONE, .is_async = true}, {SERIALIZABLE, .builds = true}, {WITH, .builds = true}}},
	{.name = "a commit, a base", .scripts = {{ALONE}}, .bases = 1, .checkpoints = 1},
	{.name = "a serializable commit, a base", .scripts = {{SERIALIZABLE}}, .bases = 1, .checkpoints = 1},
	{.name = "a commit with an id, a base", .scripts = {{WITH, .may_fail = true}}, .bases = 1, .checkpoints = 1},
	{.name = "a prepared transaction, a base",
	 .scripts = {{PREPARED_FIRST, .may_fail = true}},
	 .bases = 1,
	 .checkpoints = 1},
	{.name = "two commits, a base", .scripts = {{ALONE}, {WITH}}, .bases = 1},
	{.name = "two commits, a base, a checkpoint",
	 .scripts = {{ALONE}, {WITH, .builds = true, .may_fail = true}},
	 .bases = 1,
	 .checkpoints = 1,
	 .is_long = true},
	{.name = "a commit, a base, a worker that ends, checkpoints",
	 .scripts = {{ALONE}},
	 .bases = 1,
	 .checkpoints = 2,
	 .ends = 1,
	 .is_long = true},
	{.name = "a prepared transaction, a base, a worker that ends, a checkpoint",
	 .scripts = {{PREPARED_FIRST, .may_fail = true}},
	 .bases = 1,
	 .checkpoints = 1,
	 .ends = 1,
	 .is_long = true},
	{.name = "two commits, a base, a worker that ends",
	 .scripts = {{ALONE}, {WITH, .builds = true}},
	 .bases = 1,
	 .ends = 1,
	 .is_long = true},
	{.name = "commits, two bases",
	 .scripts = {{WITH}, {ALONE, .builds = true}},
	 .bases = 2,
	 .checkpoints = 1,
	 .is_long = true},
	{.name = "a commit, a reader, a worker that ends, a checkpoint",
	 .scripts = {{ALONE}, {READER, .builds = true}},
	 .ends = 1,
	 .checkpoints = 1,
	 .collects = true,
	 .is_long = true},
};

#define SCENARIO_COUNT (sizeof(scenarios) / sizeof(scenarios[0]))

static const struct
{
	rule rule;
	const char *scenario;
	const char *name;
} rules[] = {
	{RECORD_FIRST, "a commit, one that is built on it, a reader", "R1: a record is in the log before COMMITTED"},
	{NOTE_BEFORE_DRAW, "a commit, a reader", "R4: a note is opened before C is drawn"},
	{NOTE_UNTIL_FLUSHED, "a commit, a reader", "R4: it stands until the flush"},
	{HEADER_KEPT, "a commit, a reader", "R4: so does a snapshot from before C"},
	{NOTE_LOOKED_FOR, "a commit, a reader", "R5: a reader looks for the note"},
	{FLUSHED_BEFORE_REPLY, "a commit, a reader", "R5: it has the log flushed before it answers"},
	{LOGGING_FIRST, "a commit, a worker that ends, a checkpoint", "R6: LOGGING, then a look at CLOSED"},
	{LOGGING_UNTIL_COMMITTED, "a commit, a base", "R6: LOGGING until COMMITTED"},
	{LOGGING_UNTIL_OUTCOME, "a commit with an id, a worker that ends, a checkpoint",
	 "R6: LOGGING until PostgreSQL's record"},
	{PREPARED_LOGS, "a prepared transaction, a worker that ends, a checkpoint",
	 "R6: the end of a prepared transaction is LOGGING, too"},
	{QUIET_AWAITED, "a commit, a worker that ends, a checkpoint", "the worker waits until nobody is LOGGING"},
	{FIRST_FLAG, "a commit, checkpoints", "the first flag"},
	{SECOND_FLAG, "a commit, checkpoints", "the second flag"},
	{COMPARED_FIRST, "a commit, checkpoints, a sync that fails",
	 "the redo position is compared before the worker lets a checkpoint pass"},
	{GATE_BEFORE_OPEN, "a commit, a worker that ends, a checkpoint", "the flags are set before the log is opened"},
	{GATE_UNTIL_SEALED, "a commit, a worker that ends, a checkpoint", "they are until the journal has all"},
	{SEALED_ANEW, "a commit, a worker that ends, a checkpoint", "the last MARK comes when nobody is LOGGING"},
	{SYNCED_FIRST, "a commit, checkpoints", "the journal is synced before D moves"},
	{STATE_BEFORE_OPEN, "a commit, a worker that ends, a checkpoint",
	 "the state says that more may come, before it may"},
	{LOGGING_AWAITED, "a commit, a base", "a base waits for those that are LOGGING alone"},
	{PREPARED_AWAITED, "a commit with an id, a base", "a row waits for a commit that is under way"},
	{UNDECIDED_KEPT, "a prepared transaction, a base", "the journal is kept from what is undecided on"},
	{DURABLE_UP_TO_E, "a commit, a base", "a base counts once the journal is durable up to E"},
};

static void
search(const scenario *chosen, rule without)
{
	model state;

	at_hand = chosen;
	left_out = without;
	fault = NULL;
	memset(&state, 0, sizeof(state));
	state.clock = FIRST;
	state.next = state.flushed = state.durable = state.redo = state.control_redo = FIRST;
	state.flags = 1;
	state.checkpoints = chosen->checkpoints;
	state.ends = chosen->ends;
	state.bases = chosen->bases;
	state.failures = chosen->failures;
	states_begin();
	visit(&state);
}

static void
check_rule(rule without, const char *scenario_name, const char *name)
{
	unsigned at = 0;

	while (strcmp(scenarios[at].name, scenario_name) != 0)
		tg_check(++at < SCENARIO_COUNT);
	search(&scenarios[at], without);
	unit_ok(fault != NULL, "without «%s»: %s (%s)", name, fault != NULL ? fault : "nothing shows", scenario_name);
}

int
main(int argc, char **argv)
{
	bool is_long = argc > 1 && strcmp(argv[1], "long") == 0;

	if (is_long)
		states_bits = STATES_BITS_LONG;
	for (unsigned i = 0; i < SCENARIO_COUNT; i++)
	{
		if (scenarios[i].is_long && !is_long)
			continue;
		search(&scenarios[i], ALL_RULES);
		unit_ok(fault == NULL, "%s: right in all of %" PRIu64 " states%s%s", scenarios[i].name, states_count,
				fault != NULL ? ": " : "", fault != NULL ? fault : "");
	}
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		check_rule(rules[i].rule, rules[i].scenario, rules[i].name);
	states_end();
	return unit_done();
}
