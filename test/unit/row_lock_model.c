/*
 * row_lock_model.c
 *	  The protocol of runtime/txn/row_lock.h, all its interleavings.
 *
 * There are one row, which is the key of a foreign key, and up to four transactions.  Each of their
 * steps is one access to shared data, and steps come in any order, one after another:
 *
 *	child	inserts a row that refers to this one: locks it KEY SHARE; commits, or rolls back
 *	sharer	locks it SHARE, for a while
 *	updater	replaces it under its key; commits, or rolls back
 *	deleter	deletes it, then looks for children that have committed; commits, or rolls back
 *	holder	locks it UPDATE, deletes it, takes that back (a savepoint), holds it on
 *	upgrader	locks it SHARE, then UPDATE, for a while
 *
 * How a reference is resolved, stamped and reused is argued elsewhere: a commit is one step here,
 * and version slots are not used again.  A transaction that has to wait takes a place in the queue,
 * waits until no transaction ahead of it there conflicts with it and the holder of the row has
 * ended, and starts over.  All states are visited.  Faults: two transactions that hold conflicting
 * locks, a child without its row, a mark that is left when no lock is held, a state that no
 * transaction can leave, a transaction that has waited and gets the row before another that has
 * waited longer.  Then the same is run with each rule left out in turn, and a fault must show.
 */
#include <string.h>

#include "runtime/base/check.h"
#include "test/unit/states.h"

enum
{
	THREADS = 4,
	RUNS = 2,
	VERSIONS = 1 + THREADS * RUNS /* each run's own */
};

/* Of begin: 0 not there.  Of end: 0 not ended. */
enum
{
	NEVER = 0,
	LOCKED = 1,
	PAST = 2,		/* a commit */
	REFERENCE = 16, /* plus the number of the thread */
	KEEPS_KEY = 64
};

typedef enum kind
{
	NOBODY,
	CHILD,
	SHARER,
	UPDATER,
	DELETER,
	HOLDER,
	UPGRADER
} kind;

typedef enum mode
{
	NO_MODE,
	KEY_SHARE,
	SHARE,
	NO_KEY_UPDATE,
	UPDATE
} mode;

typedef enum rule
{
	ALL_RULES,
	NO_MARK,		   /* left out: a locker makes end LOCKED (1) */
	ENTRY_AFTERWARDS,  /* a locker adds its entry in the same section (2) */
	NO_CONFLICT,	   /* a writer looks for entries */
	NOT_HANDED_ON,	   /* the new version is LOCKED as well (3) */
	HEAD_AFTERWARDS,   /* it becomes the head before the latch is left (3) */
	ANY_WRITER_PASSES, /* only a writer that keeps the key lets a KEY SHARE lock pass (4) */
	UNDO_LOOKS_FIRST,  /* undo looks at end after it has swung the head back (5) */
	LOOKED_ONCE,	   /* a locker looks at the head again (5) */
	UNDO_UNLOCKED,	   /* undo gives the older version LOCKED (5) */
	DELETE_UNLOCKED,   /* so does that of a DELETE (6) */
	UNMARK_AFTERWARDS, /* the last one takes the mark back under the latch (2) */
	NO_UNMARK,
	NO_TURNS,	 /* one waits for those ahead in the queue (7) */
	QUEUE_ALWAYS /* a transaction does not queue if it has a lock (8) */
} rule;

typedef struct thread
{
	uint8_t at;	   /* the thread's next step */
	uint8_t runs;  /* that are over */
	uint8_t head;  /* that it found */
	uint8_t made;  /* version, if updater */
	uint8_t holds; /* mode, for the check of what may be held at once */
	uint8_t back;  /* holder: it has taken its DELETE back; upgrader: it goes for UPDATE */
	uint8_t waits; /* for this thread, plus 1, */
	uint8_t until; /* as long as it has ended so many runs */
} thread;

typedef struct model
{
	uint8_t head;
	uint8_t begin[VERSIONS];
	uint8_t end[VERSIONS];
	uint8_t older[VERSIONS]; /* plus 1 */
	uint8_t latch;			 /* thread, plus 1 */
	uint8_t entry[THREADS];	 /* mode */
	uint8_t children;		 /* committed */
	uint8_t queue[THREADS];	 /* threads, plus 1, in the order in which they came */
	thread threads[THREADS];
} model;

typedef struct scenario
{
	uint8_t kinds[THREADS];
	uint8_t runs[THREADS];
} scenario;

static const scenario scenarios[] = {
	{{UPGRADER, SHARER, DELETER}, {1, 1, 1}},
	{{UPGRADER, UPDATER, UPDATER}, {1, 1, 1}},
	{{CHILD, CHILD, UPDATER, DELETER}, {1, 1, 1, 1}},
	{{CHILD, UPDATER, DELETER}, {2, 2, 1}},
	{{CHILD, SHARER, UPDATER}, {2, 1, 2}},
	{{HOLDER, CHILD, UPDATER, SHARER}, {1, 1, 1, 1}},
	{{CHILD, UPDATER, UPDATER, DELETER}, {1, 1, 1, 1}},
};

static const scenario *played;
static rule left_out;
static const char *fault;

static uint64_t states_seen; /* of all scenarios */

static void
fail(const char *what)
{
	if (fault == NULL)
		fault = what;
}

/* --- what several do ---------------------------------------------------------------- */

static bool
stands_against(mode a, mode b)
{
	static const uint8_t weakest_against[] = {[NO_MODE] = UPDATE + 1,
											  [KEY_SHARE] = UPDATE,
											  [SHARE] = NO_KEY_UPDATE,
											  [NO_KEY_UPDATE] = SHARE,
											  [UPDATE] = KEY_SHARE};

	return b != NO_MODE && b >= weakest_against[a];
}

static bool
has_entries(const model *state)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (state->entry[i] != NO_MODE)
			return true;
	return false;
}

static bool
is_open(uint8_t end)
{
	return end == NEVER || end == LOCKED;
}

enum
{
	OUTSIDE,
	BEGIN_FOUND,
	BELOW,

	/* locking */
	ENTER,
	LOOK_AT_HEAD,
	MARK,
	LOOK_AGAIN,
	TAKE_BACK,
	ADD_ENTRY,
	LEAVE,
	ADD_ENTRY_LATE,
	LEAVE_FOR_NOTHING,
	HOLD,

	/* releasing */
	RELEASE,
	REMOVE_ENTRY,
	UNMARK,
	RELEASED,
	UNMARK_LATE,

	/* writing */
	TAKE,
	SET_HEAD,
	PASS,
	PASS_HAND_ON,
	PASS_TAKE,
	PASS_HEAD,
	PASS_LEAVE,
	PASS_HEAD_LATE,
	WRITTEN,
	CHECKED, /* deleter: no child was there */

	/* undoing */
	UNDO,
	UNDO_LOOK,
	UNDO_OPEN,
	UNDO_HEAD_LATE,
	UNDO_ENTER,
	UNDO_REOPEN,
	UNDO_BEGIN
};

static void
end_run(thread *self)
{
	uint8_t runs = self->runs + 1;

	memset(self, 0, sizeof(*self));
	self->runs = runs;
}

static mode
mode_of(const model *state, unsigned number)
{
	static const uint8_t modes[] = {
		[CHILD] = KEY_SHARE, [SHARER] = SHARE, [UPDATER] = NO_KEY_UPDATE, [DELETER] = UPDATE, [HOLDER] = UPDATE};

	if (played->kinds[number] == UPGRADER)
		return state->threads[number].back ? UPDATE : SHARE;
	return modes[played->kinds[number]];
}

/* The thread whose entry conflicts with the mode that this thread wants; THREADS: none does. */
static unsigned
entry_against(const model *state, unsigned self)
{
	unsigned i = 0;

	while (i < THREADS && (i == self || !stands_against(state->entry[i], mode_of(state, self))))
		i++;
	return i;
}

static bool
is_writer(unsigned number)
{
	return played->kinds[number] == UPDATER || played->kinds[number] == DELETER;
}

static bool
enter_latch(model *state, unsigned number, uint8_t next)
{
	if (state->latch != 0)
		return false;
	state->latch = (uint8_t) (number + 1);
	state->threads[number].at = next;
	return true;
}

static void
leave_latch(model *state, thread *self, uint8_t next)
{
	state->latch = 0;
	self->at = next;
}

/* --- the queue ------------------------------------------------------------------------ */

static bool
is_queued(const model *state, unsigned number)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (state->queue[i] == number + 1)
			return true;
	return false;
}

/* A transaction ahead of it in the queue conflicts with it. */
static bool
is_behind(const model *state, unsigned number)
{
	for (unsigned i = 0; i < THREADS && state->queue[i] != number + 1; i++)
		if (stands_against(mode_of(state, state->queue[i] - 1), mode_of(state, number)))
			return true;
	return false;
}

static void
leave_queue(model *state, unsigned number)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < THREADS; i++)
		if (state->queue[i] != number + 1)
			state->queue[kept++] = state->queue[i];
	while (kept < THREADS)
		state->queue[kept++] = 0;
}

/* He has the row, or wants it no more. */
static void
has_got(model *state, unsigned number)
{
	if (is_queued(state, number) && is_behind(state, number))
		fail("one who has waited less gets the row first");
	leave_queue(state, number);
}

/* The row is held: tg_row_lock_queue, and the host's part of queueing. */
static void
wait_for(model *state, unsigned number, unsigned holder)
{
	thread *self = &state->threads[number];
	unsigned last = 0;

	self->waits = (uint8_t) (holder + 1);
	self->until = state->threads[holder].runs;
	if (is_queued(state, number) || (state->entry[number] != NO_MODE && left_out != QUEUE_ALWAYS))
		return;
	while (state->queue[last] != 0)
		last++;
	state->queue[last] = (uint8_t) (number + 1);
}

/* A transaction that waits tries again. */
static bool
may_try(const model *state, unsigned number)
{
	const thread *self = &state->threads[number];

	if (self->waits == 0)
		return true;
	if (is_queued(state, number) && left_out != NO_TURNS && is_behind(state, number))
		return false;
	return state->threads[self->waits - 1].runs != self->until;
}

/* --- what one does -------------------------------------------------------------------- */

/* tg_txn_newest_for: the head; then its begin; then its end. */
static void
find(model *state, unsigned number, thread *self)
{
	uint8_t found;

	switch (self->at)
	{
		case OUTSIDE:
			self->head = state->head;
			self->waits = self->until = 0;
			self->at = BEGIN_FOUND;
			break;
		case BEGIN_FOUND:
			found = state->begin[self->head];
			if (found == PAST)
				self->at = BELOW;
			else if (found != NEVER && mode_of(state, number) == KEY_SHARE && state->older[self->head] != 0)
				self->at = BELOW;
			else
			{
				self->at = OUTSIDE;
				if (found >= REFERENCE)
					wait_for(state, number, found % KEEPS_KEY - REFERENCE);
			}
			break;
		default:
			found = state->end[self->head];
			if (is_open(found))
				self->at = is_writer(number) ? TAKE : ENTER;
			else if (found == PAST && state->head == self->head)
			{
				leave_queue(state, number);
				end_run(self); /* deleted */
			}
			else
			{
				self->at = OUTSIDE;
				if (found >= REFERENCE && (mode_of(state, number) != KEY_SHARE || found < KEEPS_KEY))
					wait_for(state, number, found % KEEPS_KEY - REFERENCE);
			}
			/* KEY SHARE waits for a DELETE, not for a writer about to change the head */
			if (left_out == ANY_WRITER_PASSES && mode_of(state, number) == KEY_SHARE && found >= REFERENCE)
				self->at = ADD_ENTRY_LATE;
			break;
	}
}

/* mark and lock_row (row_lock.c). */
static bool
lock_row(model *state, unsigned number, thread *self)
{
	switch (self->at)
	{
		case ENTER:
			return enter_latch(state, number, LOOK_AT_HEAD);
		case LOOK_AT_HEAD:
			self->at = state->head != self->head ? LEAVE_FOR_NOTHING : left_out == NO_MARK ? ADD_ENTRY : MARK;
			return true;
		case MARK:
			if (state->end[self->head] == NEVER)
			{
				state->end[self->head] = LOCKED;
				self->at = left_out == LOOKED_ONCE ? ADD_ENTRY : LOOK_AGAIN;
			}
			else
				self->at = state->end[self->head] == LOCKED ? ADD_ENTRY : LEAVE_FOR_NOTHING;
			return true;
		case LOOK_AGAIN:
			self->at = state->head == self->head ? ADD_ENTRY : TAKE_BACK;
			return true;
		case TAKE_BACK:
			state->end[self->head] = NEVER;
			self->at = LEAVE_FOR_NOTHING;
			return true;
		case ADD_ENTRY:
			if (left_out == ENTRY_AFTERWARDS)
				leave_latch(state, self, ADD_ENTRY_LATE);
			else if (entry_against(state, number) < THREADS)
			{
				wait_for(state, number, entry_against(state, number));
				self->at = LEAVE_FOR_NOTHING;
			}
			else
			{
				state->entry[number] = mode_of(state, number);
				self->at = LEAVE;
			}
			return true;
		case LEAVE:
			leave_latch(state, self, HOLD);
			self->holds = mode_of(state, number);
			has_got(state, number);
			return true;
		case ADD_ENTRY_LATE:
			self->at = entry_against(state, number) < THREADS ? OUTSIDE : HOLD;
			if (self->at == HOLD)
				self->holds = state->entry[number] = mode_of(state, number);
			return true;
		default: /* LEAVE_FOR_NOTHING */
			leave_latch(state, self, OUTSIDE);
			return true;
	}
}

static bool
release(model *state, unsigned number, thread *self)
{
	switch (self->at)
	{
		case RELEASE:
			self->holds = NO_MODE;
			return enter_latch(state, number, REMOVE_ENTRY);
		case REMOVE_ENTRY:
			state->entry[number] = NO_MODE;
			self->head = state->head;
			self->at = has_entries(state) || left_out == NO_UNMARK ? RELEASED : UNMARK;
			if (self->at == UNMARK && left_out == UNMARK_AFTERWARDS)
				leave_latch(state, self, UNMARK_LATE);
			return true;
		case UNMARK:
		case UNMARK_LATE:
			if (state->end[self->head] == LOCKED)
				state->end[self->head] = NEVER;
			if (self->at == UNMARK)
				self->at = RELEASED;
			else
				end_run(self);
			return true;
		default: /* RELEASED */
			state->latch = 0;
			end_run(self);
			return true;
	}
}

static uint8_t
reference_of(unsigned number)
{
	return (uint8_t) (REFERENCE + number + (played->kinds[number] == UPDATER ? KEEPS_KEY : 0));
}

static void
has_written(model *state, unsigned number, thread *self)
{
	self->at = WRITTEN;
	self->holds = mode_of(state, number);
	has_got(state, number);
}

static bool
write_row(model *state, unsigned number, thread *self)
{
	bool updates = played->kinds[number] == UPDATER;
	uint8_t *end = &state->end[self->head];

	switch (self->at)
	{
		case TAKE:
			if (*end != NEVER && *end != LOCKED)
			{
				self->at = OUTSIDE;
				return true;
			}
			if (updates)
			{
				self->made = (uint8_t) (1 + number * RUNS + self->runs);
				state->begin[self->made] = (uint8_t) (REFERENCE + number);
				state->older[self->made] = self->head + 1;
			}
			if (*end == LOCKED)
				self->at = PASS;
			else
			{
				*end = reference_of(number);
				has_written(state, number, self);
				if (updates)
					self->at = SET_HEAD;
			}
			return true;
		case SET_HEAD:
		case PASS_HEAD_LATE:
			state->head = self->made;
			has_written(state, number, self);
			return true;
		case PASS:
			if (!enter_latch(state, number, PASS_HAND_ON))
				return false;
			if (*end != LOCKED || (left_out != NO_CONFLICT && entry_against(state, number) < THREADS))
			{
				if (*end == LOCKED)
					wait_for(state, number, entry_against(state, number));
				if (updates)
				{
					state->begin[self->made] = NEVER;
					state->older[self->made] = 0;
				}
				leave_latch(state, self, OUTSIDE);
			}
			return true;
		case PASS_HAND_ON:
			if (updates && left_out != NOT_HANDED_ON)
				state->end[self->made] = LOCKED;
			self->at = PASS_TAKE;
			return true;
		case PASS_TAKE:
			*end = reference_of(number);
			self->at = !updates || left_out == HEAD_AFTERWARDS ? PASS_LEAVE : PASS_HEAD;
			return true;
		case PASS_HEAD:
			state->head = self->made;
			self->at = PASS_LEAVE;
			return true;
		default: /* PASS_LEAVE */
			state->latch = 0;
			has_written(state, number, self);
			if (updates && left_out == HEAD_AFTERWARDS)
				self->at = PASS_HEAD_LATE;
			return true;
	}
}

static bool
undo(model *state, unsigned number, thread *self)
{
	bool updates = played->kinds[number] == UPDATER;
	uint8_t *end = &state->end[self->head];

	self->holds = played->kinds[number] == HOLDER ? UPDATE : NO_MODE;
	switch (self->at)
	{
		case UNDO:
			if (!updates)
			{
				/* Only its own entries can be there. */
				if (state->entry[number] != NO_MODE && left_out != DELETE_UNLOCKED)
				{
					self->at = UNDO_ENTER;
					return true;
				}
				*end = NEVER;
				self->at = UNDO_BEGIN;
				return true;
			}
			if (left_out == UNDO_LOOKS_FIRST)
				self->at = state->end[self->made] == NEVER ? UNDO_HEAD_LATE : UNDO_ENTER;
			else
			{
				state->head = self->head;
				self->at = UNDO_LOOK;
			}
			return true;
		case UNDO_HEAD_LATE:
			state->head = self->head;
			self->at = UNDO_OPEN;
			return true;
		case UNDO_LOOK:
			self->at = state->end[self->made] == NEVER || left_out == UNDO_UNLOCKED ? UNDO_OPEN : UNDO_ENTER;
			return true;
		case UNDO_OPEN:
			*end = NEVER;
			self->at = UNDO_BEGIN;
			return true;
		case UNDO_ENTER:
			return enter_latch(state, number, UNDO_REOPEN);
		case UNDO_REOPEN:
			if (updates)
				state->head = self->head;
			*end = has_entries(state) ? LOCKED : NEVER;
			leave_latch(state, self, UNDO_BEGIN);
			return true;
		default: /* UNDO_BEGIN */
			if (updates)
				state->begin[self->made] = NEVER;
			if (played->kinds[number] == HOLDER)
				self->at = HOLD;
			else
				end_run(self);
			return true;
	}
}

static void
commit(model *state, unsigned number, thread *self)
{
	state->end[self->head] = PAST;
	if (played->kinds[number] == UPDATER)
		state->begin[self->made] = PAST;
	end_run(self);
}

/* Each returns whether it could step; choice is 0 or 1. */
static bool
step(model *state, unsigned number, unsigned choice)
{
	thread *self = &state->threads[number];
	kind kind = played->kinds[number];

	if (kind == NOBODY || (self->at == OUTSIDE && self->runs == played->runs[number]))
		return false;
	if (choice != 0 && self->at != HOLD && self->at != WRITTEN)
		return false;
	if (self->at == OUTSIDE && !may_try(state, number))
		return false;
	if (self->at <= BELOW)
		find(state, number, self);
	else if (self->at <= LEAVE_FOR_NOTHING)
		return lock_row(state, number, self);
	else if (self->at == HOLD)
	{
		if (kind == HOLDER && !self->back)
		{
			if (choice != 0)
				return false;
			/* Its own lock: the holder passes, and takes it back. */
			self->back = 1;
			self->head = state->head;
			state->end[self->head] = reference_of(number);
			self->at = UNDO;
			return true;
		}
		if (kind == UPGRADER && !self->back)
		{
			if (choice != 0)
				return false;
			self->back = 1;
			self->at = OUTSIDE;
			return true;
		}
		if (kind == CHILD && choice == 0)
			state->children++;
		self->at = RELEASE;
	}
	else if (self->at <= UNMARK_LATE)
		return release(state, number, self);
	else if (self->at < WRITTEN)
		return write_row(state, number, self);
	else if (self->at == WRITTEN)
	{
		if (choice != 0)
			self->at = UNDO;
		else if (kind == DELETER)
			self->at = state->children > 0 ? UNDO : CHECKED;
		else
			commit(state, number, self);
	}
	else if (self->at == CHECKED)
		commit(state, number, self);
	else
		return undo(state, number, self);
	return true;
}

/* --- all states --------------------------------------------------------------------- */

static void
check_state(const model *state)
{
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned j = 0; j < i; j++)
			if (stands_against(state->threads[i].holds, state->threads[j].holds))
				fail("two hold what stands against each other");
	if (state->children > 0 && state->end[state->head] == PAST && state->begin[state->head] == PAST)
		fail("a child has no parent");
}

static void
check_end(const model *state)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (state->threads[i].at != OUTSIDE || state->threads[i].runs != played->runs[i])
			fail("somebody cannot go on");
	for (unsigned i = 0; i < THREADS; i++)
		if (state->queue[i] != 0)
			fail("a place in the queue is left");
	if (state->begin[state->head] != PAST)
		fail("the head is none of a commit");
	if (state->end[state->head] != PAST && state->end[state->head] != NEVER)
		fail("a mark is left");
}

static void
explore(const model *state, unsigned depth)
{
	bool stepped = false;

	tg_check(depth < 4000);
	if (fault != NULL || !states_add(state, sizeof(*state)))
		return;
	states_seen++;
	check_state(state);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned choice = 0; choice < 2; choice++)
		{
			model next = *state;

			if (!step(&next, i, choice))
				continue;
			stepped = true;
			explore(&next, depth + 1);
			if (fault != NULL)
				return;
		}
	if (!stepped)
		check_end(state);
}

static void
explore_all(void)
{
	model start = {.begin = {PAST}};

	fault = NULL;
	states_seen = 0;
	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(*scenarios) && fault == NULL; i++)
	{
		states_begin();
		played = &scenarios[i];
		explore(&start, 0);
	}
}

int
main(void)
{
	static const struct
	{
		rule rule;
		const char *name;
	} rules[] = {
		{NO_MARK, "a lock without a mark"},
		{ENTRY_AFTERWARDS, "the entry after the latch"},
		{NO_CONFLICT, "a writer who does not look for entries"},
		{NOT_HANDED_ON, "a new version without the mark"},
		{HEAD_AFTERWARDS, "the new head after the latch"},
		{ANY_WRITER_PASSES, "KEY SHARE beside any writer"},
		{UNDO_LOOKS_FIRST, "undo that looks before it swings the head"},
		{LOOKED_ONCE, "a locker who looks at the head once"},
		{UNDO_UNLOCKED, "an undone update without the mark"},
		{DELETE_UNLOCKED, "an undone delete without the mark"},
		{UNMARK_AFTERWARDS, "the mark taken back after the latch"},
		{NO_UNMARK, "the mark left where it is"},
		{NO_TURNS, "waiters who try as they like"},
		{QUEUE_ALWAYS, "one with a lock in the queue"},
	};

	explore_all();
	unit_ok(fault == NULL, "with all rules nothing goes wrong in %" PRIu64 " states%s%s", states_seen,
			fault == NULL ? "" : ": ", fault == NULL ? "" : fault);
	for (unsigned i = 0; i < sizeof(rules) / sizeof(*rules); i++)
	{
		left_out = rules[i].rule;
		explore_all();
		unit_ok(fault != NULL, "%s shows: %s", rules[i].name, fault == NULL ? "nothing" : fault);
	}
	states_end();
	return unit_done();
}
