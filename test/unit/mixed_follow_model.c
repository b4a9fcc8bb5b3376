/*
 * mixed_follow_model.c
 *	  Readers of a standby beside the worker that follows: rules 10 to 12 of src/txn/mixed.c, all
 *	  interleavings.
 *
 * The log has commits in an order in which all take them: of both kinds of tables, or of tables in
 * memory alone.  Each changes the same row in memory, so what a reader finds there is how far it
 * sees the log.  Each step is one access to shared state; a section under the lock of mixed.c is
 * one step.
 *
 *	redo		passes a record on (tsurugi_passed_on), then its own redo shows the ordinary half
 *	worker		follow.c's commit: make_room, announce (forget_old, tg_horizon_keep, C, PREPARED),
 *				tsurugi_mixed_end_followed (ring), COMMITTED; then tsurugi_applied
 *	reader		PostgreSQL's snapshot, passed_on, the wait (applied, tsurugi_mixed_look),
 *				tg_snapshot_publish (bound, clock, point), match_followed, the row
 *	collector	tg_readings_gather entry by entry, then the versions that nobody needs
 *	time		a tick: KEPT_MS have passed since all that was shown before
 *
 * At the end each reader has seen, of the row, what its snapshot shows of commits of both kinds,
 * and all that had been passed on when it took the snapshot.  While it runs, the version that it
 * needs is there; a reader that comes to its wait before KEPT_MS are over gets its time, however
 * long it waits, and so does one that need not wait, if it matches by then; and some thread can go
 * on.
 *
 * Then the same with each rule left out, which must show.
 */
#include <string.h>

#include "runtime/base/check.h"
#include "test/unit/states.h"

enum
{
	COMMITS = 4,
	READERS = 2,
	RING = 2,
	FROM = 0x80,
	FIRST = 1,
	UNKNOWN = 63
};

typedef enum rule
{
	ALL_RULES,
	PASSED_FIRST,
	HOST_FIRST,
	WAITS,
	ANNOUNCED,
	OPEN_SEEN,
	ENDED_SEEN,
	LOOKED,
	LOOKED_UNTIL_TIME,
	ROOM,
	LEFT_KNOWN,
	FORGOTTEN_KNOWN,
	KEPT,
	KEPT_BEFORE_DRAW,
	LOWERED,
	SHOWN_SINCE
} rule;

typedef struct scenario
{
	const char *name;
	const char *log; /* a commit each: 'b' of both kinds, 'm' of memory alone */
	uint8_t readers;
	uint8_t ticks;
	uint8_t collections;
} scenario;

enum
{
	HOST,
	POSITION,
	LOOK,
	BOUND,
	TIME,
	POINT,
	MATCH,
	READ,
	END
};

typedef struct reader
{
	uint8_t at;
	uint8_t shown; /* commits that its snapshot shows: so many of the log */
	uint8_t position;
	uint8_t passed; /* on, when it took the snapshot */
	uint8_t entry;
	uint8_t read;	/* R */
	uint8_t looked; /* entries that it has looked at, plus 1; 0: it does not wait */
	uint8_t taken;	/* tick */
	uint8_t has_waited;
	uint8_t in_time; /* it came to its wait before KEPT_MS were over */
	uint8_t place;	 /* END: what it saw; UNKNOWN: it failed */
} reader;

enum
{
	TAKE,
	DRAW,
	KEEP,
	ANNOUNCE,
	ENTER,
	COMMIT,
	APPLIED
};

typedef struct model
{
	uint8_t clock;
	uint8_t tick;
	uint8_t passed_on;
	uint8_t shown; /* ordinary halves: so many of the log */
	uint8_t applied;
	uint8_t worker_at;
	uint8_t open;	   /* the commit that is announced, plus 1 */
	uint8_t prepared;  /* has drawn C, and is not COMMITTED; plus 1 */
	uint8_t committed; /* so many */
	uint8_t horizon_kept;
	uint8_t listed;
	uint8_t kept;
	uint8_t ended;
	uint8_t left_last;		   /* the last commit that has left the ring, plus 1 */
	uint8_t overwritten;	   /* the last one that had to, plus 1 */
	uint8_t ring[RING];		   /* commits */
	uint8_t time[COMMITS];	   /* C */
	uint8_t shown_at[COMMITS]; /* tick, plus 1 */
	uint8_t gone;			   /* versions, as bits; version 0 is the first */
	uint8_t collector_at;
	uint8_t collector_bound;
	uint8_t collections;
	uint16_t points;
	reader readers[READERS];
} model;

static const scenario *at_hand;
static rule left_out;
static const char *fault;

static void
fail(const char *what)
{
	if (fault == NULL)
		fault = what;
}

static unsigned
log_count(void)
{
	return (unsigned) strlen(at_hand->log);
}

static bool
is_both(unsigned commit)
{
	return at_hand->log[commit] == 'b';
}

static bool
is_unseen(const reader *self, unsigned commit)
{
	return commit >= self->shown;
}

/* --- mixed.c, under its lock ---------------------------------------------------------------- */

static uint8_t
first_not_looked_at(const model *state)
{
	uint8_t first = state->ended;

	for (unsigned i = 0; i < READERS; i++)
		if (state->readers[i].looked != 0 && state->readers[i].looked - 1 < first && left_out != LOOKED)
			first = state->readers[i].looked - 1;
	return first;
}

static void
forget_oldest(model *state)
{
	uint8_t *oldest = &state->ring[state->listed++ % RING];

	state->left_last = *oldest + 1;
	*oldest = 0;
	if (state->kept < state->listed)
		state->kept = state->listed;
}

/* Old: its ordinary half was shown KEPT_MS ago. */
static bool
is_old(const model *state, unsigned commit)
{
	if (left_out == SHOWN_SINCE)
		return true;
	return state->shown_at[commit] != 0 && state->tick >= state->shown_at[commit];
}

/* is_round: KEPT_MS have passed since entries left the ring. */
static void
forget_old(model *state, bool is_round)
{
	uint8_t end = first_not_looked_at(state);

	while (state->kept < end && is_old(state, state->ring[state->kept % RING]))
		state->kept++;
	while (is_round && state->listed < state->kept)
		forget_oldest(state);
}

static void
note_change(model *state)
{
	uint8_t lowest = 0;

	if (state->kept < state->ended)
		lowest = state->time[state->ring[state->kept % RING]];
	else if (state->open != 0)
		lowest = state->time[state->open - 1];
	state->horizon_kept = lowest == 0 || left_out == KEPT ? 0 : (uint8_t) (FROM | (lowest - 1));
}

static bool
has_room(const model *state)
{
	return state->ended - state->listed < RING || state->listed < first_not_looked_at(state) || left_out == ROOM;
}

/* tsurugi_mixed_look: the wait is over; else the reader has looked. */
static bool
look(const model *state, reader *self)
{
	if (state->ended > 0 && is_unseen(self, state->ring[(state->ended - 1) % RING]))
		return true;
	self->looked = state->ended + 1;
	self->has_waited = 1;
	return false;
}

/* find_first_unseen; false: it is not known. */
static bool
find_first_unseen(const model *state, const reader *self, uint8_t *time)
{
	if (state->open != 0 && is_unseen(self, state->open - 1u) && left_out != OPEN_SEEN &&
		state->time[state->open - 1] - 1 < *time)
		*time = state->time[state->open - 1] - 1;
	for (unsigned number = state->ended; number > state->listed && left_out != ENDED_SEEN; number--)
	{
		unsigned commit = state->ring[(number - 1) % RING];

		if (!is_unseen(self, commit))
			return true;
		if (number <= state->kept && left_out != FORGOTTEN_KNOWN)
			return false;
		if (state->time[commit] - 1 < *time)
			*time = state->time[commit] - 1;
	}
	return state->left_last == 0 || !is_unseen(self, state->left_last - 1u) || left_out == LEFT_KNOWN;
}

/* --- redo ----------------------------------------------------------------------------------- */

static bool
step_redo(model *state)
{
	bool passes_first = left_out != PASSED_FIRST;
	uint8_t *first = passes_first ? &state->passed_on : &state->shown;
	uint8_t *second = passes_first ? &state->shown : &state->passed_on;

	if (*second < *first)
		++*second;
	else if (*first < log_count())
		++*first;
	else
		return false;
	if (state->shown > 0 && state->shown_at[state->shown - 1] == 0)
		state->shown_at[state->shown - 1] = state->tick + 1;
	return true;
}

/* --- the worker ----------------------------------------------------------------------------- */

static void
draw(model *state)
{
	state->time[state->applied] = ++state->clock;
	state->prepared = state->applied + 1;
}

static bool
step_worker(model *state)
{
	switch (state->worker_at)
	{
		case TAKE:
			if (state->applied >= state->passed_on)
				return false;
			if (!is_both(state->applied) || left_out == ANNOUNCED)
			{
				state->worker_at = DRAW;
				return true;
			}
			if (!has_room(state))
				return false;
			forget_old(state, false);
			state->worker_at = state->kept == state->ended && left_out != KEPT_BEFORE_DRAW ? KEEP : ANNOUNCE;
			return true;
		case DRAW: /* T1 keeps readers from what is between C and COMMITTED */
			draw(state);
			state->worker_at = COMMIT;
			return true;
		case KEEP:
			if (left_out != KEPT)
				state->horizon_kept = FROM | state->clock;
			state->worker_at = ANNOUNCE;
			return true;
		case ANNOUNCE:
			draw(state);
			state->open = state->applied + 1;
			if (left_out != KEPT_BEFORE_DRAW)
				note_change(state);
			state->worker_at = ENTER;
			return true;
		case ENTER:
			if (state->ended - state->listed == RING)
			{
				forget_oldest(state);
				state->overwritten = state->left_last;
			}
			state->ring[state->ended++ % RING] = state->applied;
			state->open = 0;
			forget_old(state, false);
			note_change(state);
			state->worker_at = COMMIT;
			return true;
		case COMMIT:
			state->committed = state->prepared;
			state->prepared = 0;
			state->worker_at = APPLIED;
			return true;
		default:
			state->applied++;
			state->worker_at = TAKE;
			return true;
	}
}

/* Since its snapshot neither KEPT_MS have passed nor too many commits. */
static bool
is_in_time(const model *state, const reader *self)
{
	return self->taken == state->tick && (state->overwritten == 0 || !is_unseen(self, state->overwritten - 1u));
}

/* --- a reader ------------------------------------------------------------------------------- */

static void
end(reader *self, unsigned place)
{
	*self = (reader){.at = END, .shown = self->shown, .passed = self->passed, .place = (uint8_t) place};
}

/* tg_txn_read: the newest version that R covers. */
static void
read_row(const model *state, reader *self)
{
	unsigned at = state->committed;

	while (at > 0 && state->time[at - 1] > self->read)
		at--;
	if ((state->gone >> at & 1) != 0)
		fail("the version that a reader needs is gone");
	end(self, at);
}

static void
match(const model *state, reader *self)
{
	bool known = find_first_unseen(state, self, &self->read);

	if (left_out != LOWERED && self->read < (self->entry & (FROM - 1)))
		self->entry = FROM | self->read;
	self->looked = 0;
	self->at = READ;
	if (known)
	{
		*self = (reader){
			.at = READ, .shown = self->shown, .passed = self->passed, .entry = self->entry, .read = self->read};
		return;
	}
	if (self->has_waited ? self->in_time : is_in_time(state, self))
		fail("a reader that came in time fails");
	end(self, UNKNOWN);
}

static bool
step_reader(model *state, reader *self)
{
	switch (self->at)
	{
		case HOST:
			self->shown = state->shown;
			self->passed = state->passed_on;
			self->taken = state->tick;
			self->at = left_out == HOST_FIRST ? LOOK : POSITION;
			return true;
		case POSITION:
			self->position = state->passed_on;
			self->at = left_out == HOST_FIRST ? HOST : LOOK;
			return true;
		case LOOK: /* a look that changes nothing is none */
		{
			uint8_t looked = self->looked;

			if (looked == 0)
				self->in_time = is_in_time(state, self);
			if (state->applied >= self->position || left_out == WAITS || look(state, self))
			{
				if (left_out == LOOKED_UNTIL_TIME)
					self->looked = 0;
				self->at = BOUND;
				return true;
			}
			return self->looked != looked;
		}
		case BOUND:
			self->entry = FROM | state->clock;
			self->at = TIME;
			return true;
		case TIME:
			self->read = state->clock;
			self->at = POINT;
			return true;
		case POINT:
			self->entry = self->read;
			self->at = MATCH;
			return true;
		case MATCH:
			match(state, self);
			return true;
		case READ:
			if (state->prepared != 0 && state->time[state->prepared - 1] <= self->read)
				return false;
			read_row(state, self);
			return true;
		default:
			return false;
	}
}

/* --- the collector, and time ---------------------------------------------------------------- */

static void
add_entry(model *state, uint8_t entry)
{
	if (entry == 0)
		return;
	if ((entry & FROM) == 0)
		state->points |= (uint16_t) (1u << entry);
	else if ((entry & (FROM - 1)) < state->collector_bound)
		state->collector_bound = entry & (FROM - 1);
}

/* A version that was replaced goes, unless a point lies between its time and its end. */
static void
collect(model *state)
{
	for (unsigned at = 0; at < state->committed; at++)
	{
		unsigned begin = at == 0 ? FIRST : state->time[at - 1];
		unsigned end = state->time[at];

		if (end <= state->collector_bound && (state->points & ((1u << end) - (1u << begin))) == 0)
			state->gone |= (uint8_t) (1u << at);
	}
}

static bool
step_collector(model *state)
{
	if (state->collections == at_hand->collections)
		return false;
	if (state->collector_at == 0)
		state->collector_bound = state->clock;
	else if (state->collector_at == 1)
		add_entry(state, state->horizon_kept);
	else if (state->collector_at < 2 + READERS)
		add_entry(state, state->readers[state->collector_at - 2].entry);
	else
	{
		collect(state);
		state->collections++;
		state->collector_at = state->collector_bound = 0;
		state->points = 0;
		return true;
	}
	state->collector_at++;
	return true;
}

/* tsurugi_mixed_forget, too. */
static bool
step_tick(model *state)
{
	if (state->tick == at_hand->ticks)
		return false;
	state->tick++;
	forget_old(state, true);
	note_change(state);
	return true;
}

/* --- the search ----------------------------------------------------------------------------- */

static void
judge(const model *state)
{
	for (unsigned i = 0; i < at_hand->readers; i++)
	{
		const reader *self = &state->readers[i];

		if (self->place == UNKNOWN)
			continue;
		for (unsigned commit = 0; commit < log_count(); commit++)
		{
			bool sees = commit < self->place;

			if (is_both(commit) && sees != !is_unseen(self, commit))
				fail(sees ? "the half in memory is seen alone" : "the ordinary half is seen alone");
			if (!is_both(commit) && !sees && commit < self->passed)
				fail("a commit from before a snapshot is not seen");
		}
	}
}

static bool
has_ended(const model *state)
{
	for (unsigned i = 0; i < at_hand->readers; i++)
		if (state->readers[i].at != END)
			return false;
	return true;
}

static bool
step(model *state, unsigned thread)
{
	if (thread == 0)
		return step_redo(state);
	return thread == 1 ? step_worker(state) : step_reader(state, &state->readers[thread - 2]);
}

static void
visit(const model *state)
{
	bool stands = true;

	if (fault != NULL || !states_add(state, sizeof(*state)))
		return;
	if (has_ended(state))
	{
		judge(state);
		return;
	}
	for (unsigned thread = 0; thread < 2u + at_hand->readers; thread++)
	{
		model next = *state;

		if (!step(&next, thread))
			continue;
		stands = false;
		visit(&next);
	}
	for (unsigned i = 0; i < 2; i++)
	{
		model next = *state;

		if (!(i == 0 ? step_collector(&next) : step_tick(&next)))
			continue;
		stands &= i == 0; /* time lets the worker go on */
		visit(&next);
	}
	if (stands)
		fail("no thread can continue");
}

static const scenario scenarios[] = {
	{.name = "commits of both kinds, a reader, a collector", .log = "bb", .readers = 1, .ticks = 1, .collections = 1},
	{.name = "all kinds, a reader, a collector", .log = "bmb", .readers = 1, .ticks = 1, .collections = 1},
	{.name = "a commit of memory, two readers", .log = "mb", .readers = 2},
	{.name = "more commits than have room, a reader", .log = "bbbb", .readers = 1, .ticks = 1},
	{.name = "more commits than have room, a reader, a collector",
	 .log = "bbb",
	 .readers = 1,
	 .ticks = 1,
	 .collections = 1},
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
	for (unsigned i = 0; i < READERS; i++)
		state.readers[i].at = without == HOST_FIRST ? POSITION : HOST;
	states_begin();
	visit(&state);
}

static const struct
{
	rule rule;
	const char *name;
} rules[] = {
	{PASSED_FIRST, "redo passes a commit on before it shows it"},
	{HOST_FIRST, "the position is loaded after PostgreSQL's snapshot was taken"},
	{WAITS, "a reader waits for what was passed on"},
	{ANNOUNCED, "the worker announces commits of both kinds"},
	{OPEN_SEEN, "R is below the C of an open commit that is not shown"},
	{ENDED_SEEN, "and of one that has ended"},
	{LOOKED, "what a waiting reader has not looked at is kept"},
	{LOOKED_UNTIL_TIME, "until it has its time"},
	{ROOM, "the worker waits where the ring is full of that"},
	{LEFT_KNOWN, "what has left the ring is known to be shown, or is not known"},
	{FORGOTTEN_KNOWN, "a forgotten commit is not known to be shown"},
	{KEPT, "the horizon respects C - 1"},
	{KEPT_BEFORE_DRAW, "it does so before C is drawn"},
	{LOWERED, "a lowered R is published"},
	{SHOWN_SINCE, "an entry is as old as its ordinary half"},
};

int
main(void)
{
	unsigned count = sizeof(scenarios) / sizeof(scenarios[0]);

	for (unsigned i = 0; i < count; i++)
	{
		search(&scenarios[i], ALL_RULES);
		unit_ok(fault == NULL, "%s: right in all of %" PRIu64 " states%s%s", scenarios[i].name, states_count,
				fault != NULL ? ": " : "", fault != NULL ? fault : "");
	}
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
	{
		const char *found = NULL;
		unsigned at = 0;

		for (; at < count && found == NULL; at++)
		{
			search(&scenarios[at], rules[i].rule);
			found = fault;
		}
		unit_ok(found != NULL, "without «%s»: %s (%s)", rules[i].name, found != NULL ? found : "nothing shows",
				scenarios[at - 1].name);
	}
	states_end();
	return unit_done();
}
