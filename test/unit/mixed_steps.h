/*
 * mixed_steps.h
 *	  For mixed_model.c: what transactions and the collector do, step by step.
 */
#ifndef TG_UNIT_MIXED_STEPS_H
#define TG_UNIT_MIXED_STEPS_H

#include "test/unit/mixed_world.h"

/* --- a transaction -------------------------------------------------------------------------- */

enum
{
	HOST,
	TIME_EARLY,
	BOUND_STORE,
	TIME,
	POINT,
	LOOK,
	LOOKED,
	LOWER_LATE,
	READ,
	WRITE,
	LATER_TIME, /* W5 */
	LATER_MATCH,
	LATER_VALIDATE,
	GATE_CLOSE,
	GATE_HOST,
	GATE_OPEN,
	FIT_BOUND,
	FIT_TIME,
	FIT_HOST,
	FIT,
	IMPORT,
	IMPORTING,
	PRE_COMMIT,
	LOCK,
	KEEP,
	PREPARE,
	DRAW,
	STORE_PREPARED,
	UNLOCK,
	VALIDATE,
	HOST_MOMENT,
	END,
	LATE_DRAW,
	STORE_COMMITTED,
	END_LATE,
	GIVE,
	ABORT,
	UNDO
};

static inline bool
is_tracked(const script *me)
{
	return me->level == SER;
}

static inline void
give_up(model *state, unsigned number)
{
	thread *self = &state->threads[number];

	self->at = script_of(number)->writes != 0 || (state->open & bit(number)) != 0 ? ABORT : UNDO;
}

static inline void
take_host_snapshot(model *state, thread *self)
{
	self->shown = state->completed;
	self->xmax = (uint8_t) (state->latest + 1);
	for (unsigned i = 0; i < THREADS; i++)
		if ((state->completed & bit(i)) != 0 && state->threads[i].result != FAILED)
			take_over(state, self, i);
	for (self->xmin = 1; self->xmin < self->xmax && (state->completed & bit(self->xmin - 1u)) != 0;)
		self->xmin++;
	self->is_new = 2;
}

/* After the newest xid was loaded: the lock is not taken where it is below xmin. */
static inline bool
fast(const thread *self)
{
	return self->newest == 0 || self->newest < self->xmin;
}

static inline void
after_statement(unsigned number, thread *self)
{
	const script *me = script_of(number);

	self->place = 0;
	self->at = me->kind == READS_ONLY && !is_tracked(me) ? GIVE : PRE_COMMIT;
	if (me->kind == READS_ONLY && is_tracked(me))
		self->at = VALIDATE;
}

static inline void
next_row(model *state, unsigned number)
{
	thread *self = &state->threads[number];
	const script *me = script_of(number);

	while (self->place < ROWS && ((self->has_written ? me->then : me->reads) & bit(self->place)) == 0)
		self->place++;
	if (self->place < ROWS)
		self->at = READ;
	else if (me->writes != 0 && me->level != NONE && !self->has_written)
		self->at = WRITE;
	else
		after_statement(number, self);
}

/* tg_txn_newest and the write. */
static inline bool
write_row(model *state, unsigned number)
{
	thread *self = &state->threads[number];
	const script *me = script_of(number);
	unsigned row = (unsigned) __builtin_ctz(me->writes);
	unsigned newest = state->chain[row][state->count[row] - 1];
	bool seen = newest == INITIAL;

	if (newest != INITIAL)
	{
		const thread *other = &state->threads[newest];

		if (other->state != COMMITTED)
			return false; /* W4: an aborted one is undone first */
		seen = covers(self->read, left_out == LATE_BY_VIEW ? 0 : self->excluded, other->time);
	}
	if (!seen && me->level != RC)
	{
		/* W5 */
		if (me->level == SER || (me->level == RR && me->reads == 0))
			self->at = LATER_TIME;
		else
			give_up(state, number);
		return true;
	}
	if (me->level != RC && self->found[row] != 0 && self->found[row] != newest + 1)
		fail("an update is lost");
	take_over(state, self, newest);
	if (me->level != RC)
		self->found[row] = (uint8_t) (newest + 1);
	tg_check(state->count[row] < VERSIONS);
	state->chain[row][state->count[row]++] = (uint8_t) number;
	self->has_written = 1;
	self->place = 0;
	next_row(state, number);
	return true;
}

static inline bool
step_later(model *state, unsigned number)
{
	thread *self = &state->threads[number];
	const script *me = script_of(number);
	unsigned entry = me->level == RR ? 1 : 0;
	uint8_t lowest;

	switch (self->at)
	{
		case LATER_TIME: /* tsurugi_snapshot_find_later, or publish_transaction_time */
			if (me->level == RR)
				self->entries[1] = FROM | state->clock;
			self->later = state->clock;
			self->at = LATER_MATCH;
			return true;
		case LATER_MATCH:
			if (state->lock != 0)
				return false;
			self->newest = state->newest;
			self->later_excluded = 0;
			if (left_out == EXTENSION_MATCHED)
				self->later_excluded = self->excluded;
			else if (!fast(self))
			{
				if (!match(state, number, &self->later, &self->later_excluded, &lowest))
				{
					give_up(state, number);
					return true;
				}
				lower_from(self, entry, lowest);
			}
			if (self->later <= self->read)
				give_up(state, number);
			else
			{
				self->at = LATER_VALIDATE;
				self->place = 0;
			}
			return true;
		default: /* tg_validation_step, then tsurugi_snapshot_extend */
			while (self->place < ROWS && self->found[self->place] == 0)
				self->place++;
			if (self->place < ROWS)
			{
				int changed = row_has_changed(state, self, number, self->place, self->later, self->later_excluded);

				if (changed == BLOCKED)
					return false;
				if (changed == SEEN)
					give_up(state, number);
				self->place++;
				return true;
			}
			self->read = self->later;
			self->excluded = self->later_excluded;
			if (me->level == RR)
			{
				self->entries[0] = self->entries[1];
				self->entries[1] = 0;
			}
			else if (self->excluded == 0 || left_out == ENTRY_NOT_RAISED)
				self->entries[0] = FROM | self->read;
			self->later = 0;
			self->later_excluded = 0;
			self->at = WRITE;
			return true;
	}
}

static inline bool
step_statement(model *state, unsigned number)
{
	thread *self = &state->threads[number];
	const script *me = script_of(number);

	switch (self->at)
	{
		case TIME_EARLY:
			self->read = state->clock;
			self->entries[0] = FROM | state->clock;
			self->at = HOST;
			return true;
		case HOST:
			if (!me->is_native)
				take_host_snapshot(state, self);
			self->at = left_out == HOST_FIRST ? LOOK : BOUND_STORE;
			return true;
		case BOUND_STORE:
			self->entries[0] = FROM | state->clock;
			self->at = left_out == TIME_BEFORE_LOOK ? LOOK : TIME;
			return true;
		case TIME:
			self->read = state->clock;
			self->at = me->level == SER ? LOOK : POINT;
			if (left_out == TIME_BEFORE_LOOK)
				next_row(state, number);
			return true;
		case POINT:
			self->entries[0] = self->read;
			self->at = LOOK;
			return true;
		case LOOK:
			self->newest = state->newest;
			if (left_out == TIME_BEFORE_LOOK)
				self->read = state->clock;
			self->at = LOOKED;
			if (left_out == MATCH || me->is_native || fast(self))
				self->at = left_out == TIME_BEFORE_LOOK ? TIME : READ;
			if (self->at == READ)
				next_row(state, number);
			return true;
		case LOOKED: /* the lock is shared: what it covers stays as it is */
			if (state->lock != 0)
				return false;
			if (!match(state, number, &self->read, &self->excluded, &self->lowest))
			{
				give_up(state, number);
				return true;
			}
			if (left_out == LOWERED_UNDER_LOCK && self->lowest != 0)
			{
				self->at = LOWER_LATE;
				return true;
			}
			lower_from(self, 0, self->lowest);
			if (left_out == TIME_BEFORE_LOOK)
				self->at = TIME;
			else
				next_row(state, number);
			return true;
		case LOWER_LATE:
			lower_from(self, 0, self->lowest);
			next_row(state, number);
			return true;
		case READ:
			if (!read_row(state, self, self->place))
				return false;
			self->place++;
			next_row(state, number);
			return true;
		default:
			return write_row(state, number);
	}
}

/*
 * moment.c: PostgreSQL's snapshot and the time while no mixed commit is under way; or the time,
 * later a snapshot, and whether it fits.
 */
static inline bool
step_gate(model *state, unsigned number)
{
	thread *self = &state->threads[number];

	switch (self->at)
	{
		case GATE_CLOSE:
			if (state->gate_closed != 0 || (state->gate != 0 && left_out != GATE))
				return false;
			state->gate_closed = 1;
			self->at = GATE_HOST;
			return true;
		case GATE_HOST:
			take_host_snapshot(state, self);
			self->entries[0] = FROM | state->clock;
			self->at = GATE_OPEN;
			return true;
		case GATE_OPEN:
			self->read = state->clock;
			self->entries[0] = self->read;
			state->gate_closed = 0;
			next_row(state, number);
			return true;
		case FIT_BOUND:
			self->entries[0] = FROM | state->clock;
			self->at = FIT_TIME;
			return true;
		case FIT_TIME:
			self->read = state->clock;
			self->entries[0] = self->read;
			self->at = FIT_HOST;
			return true;
		case FIT_HOST:
			take_host_snapshot(state, self);
			self->at = FIT;
			return true;
		default:
			if (state->lock != 0)
				return false;
			if (fits(state, number))
				next_row(state, number);
			else
				give_up(state, number);
			return true;
	}
}

/*
 * snapshot_export.c: PostgreSQL's snapshot, R, exclusions and the entry are the exporter's, which
 * is the thread behind this one.
 */
static inline bool
step_import(model *state, unsigned number)
{
	thread *self = &state->threads[number];
	const thread *source = &state->threads[number + 1];

	if (self->at == IMPORT)
	{
		if (source->result == RUNNING && (source->at < READ || source->at > WRITE))
			return false;
		self->at = IMPORTING;
		if (source->result != RUNNING)
			give_up(state, number); /* it has gone */
		self->shown = source->shown;
		self->xmin = source->xmin;
		self->xmax = source->xmax;
		for (unsigned i = 0; i < THREADS; i++)
			if ((self->shown & bit(i)) != 0 && state->threads[i].result != FAILED)
				take_over(state, self, i);
		self->read = source->read;
		self->excluded = left_out == ADOPTED_EXCLUSIONS ? 0 : source->excluded;
		self->lowest = source->entries[0];
		return true;
	}
	if (self->entries[0] == 0)
	{
		self->entries[0] = self->lowest;
		return true;
	}
	state->adopted++;
	next_row(state, number);
	return true;
}

/*
 * The exporter does not end before the import has adopted its time: the list's lock ensures that.
 */
static inline bool
is_imported(const model *state, unsigned number)
{
	return number > 0 && script_of(number - 1)->level == IMPORTED && state->threads[number - 1].at == IMPORTING &&
		   left_out != ADOPTED_WHILE_THERE;
}

/* Does a mixed commit stand between PostgreSQL's moment and its end here? */
static inline bool
half_is_there(const model *state)
{
	return (state->open & state->completed) != 0 && left_out != FOLLOWER_WAITS;
}

static inline void
end_mixed(model *state, unsigned number)
{
	state->open &= (uint8_t) ~bit(number);
	add_to_ring(state, number);
	note_change(state);
}

static inline void
complete(model *state, unsigned number)
{
	state->completed |= bit(number);
	if (number + 1 > state->latest)
		state->latest = (uint8_t) (number + 1);
}

/* choice: time is over; or PostgreSQL fails. */
static inline bool
step_commit(model *state, unsigned number, unsigned choice)
{
	thread *self = &state->threads[number];
	const script *me = script_of(number);
	bool time_matters = state->listed < state->ended_count;

	if (choice != 0 && self->at != LOCK && self->at != HOST_MOMENT && self->at != END)
		return false;
	switch (self->at)
	{
		case PRE_COMMIT:
			if (me->kind == FOREIGN && !me->is_native && half_is_there(state))
				return false;
			if (me->kind == MIXED)
			{
				if (state->gate_closed != 0 && left_out != GATE)
					return false;
				state->gate |= bit(number);
			}
			self->at = me->kind == MIXED	  ? (left_out == DRAWN_UNDER_LOCK ? PREPARE : LOCK)
					   : me->kind == ORDINARY ? HOST_MOMENT
											  : PREPARE;
			return true;
		case LOCK:
			if (state->lock != 0 || (choice != 0 && !time_matters))
				return false;
			state->lock = (uint8_t) (number + 1);
			forget_old(state, choice != 0);
			if (number + 1 > state->newest && left_out != NEWEST_BEFORE_DRAW)
				state->newest = (uint8_t) (number + 1);
			self->at =
				state->kept == state->ended_count && state->open == 0 && left_out != KEPT_BEFORE_DRAW ? KEEP : PREPARE;
			if (left_out == DRAWN_UNDER_LOCK)
			{
				state->open |= bit(number);
				self->at = UNLOCK;
			}
			return true;
		case KEEP:
			if (left_out != KEPT)
				state->horizon_kept = FROM | state->clock;
			self->at = PREPARE;
			return true;
		case PREPARE:
			self->entries[1] = FROM | state->clock;
			self->state = PREPARING;
			self->at = DRAW;
			if (me->kind == MIXED && left_out != DRAWN_UNDER_LOCK)
			{
				state->open |= bit(number);
				self->time = NEVER; /* not yet; no thread looks without the lock */
			}
			if (me->kind == MIXED && left_out == DRAWN_BEFORE)
			{
				self->state = ACTIVE;
				self->at = UNLOCK;
			}
			return true;
		case DRAW:
			self->time = ++state->clock;
			tg_check(self->time < 15);
			self->at = me->kind == MIXED || is_tracked(me) ? STORE_PREPARED : STORE_COMMITTED;
			return true;
		case STORE_PREPARED:
			self->state = PREPARED;
			self->at = me->kind == MIXED ? (left_out == DRAWN_UNDER_LOCK ? LOCK : UNLOCK) : VALIDATE;
			return true;
		case UNLOCK:
			if (number + 1 > state->newest)
				state->newest = (uint8_t) (number + 1);
			note_change(state);
			state->lock = 0;
			self->at = is_tracked(me) ? VALIDATE : HOST_MOMENT;
			return true;
		/* isolation.c: as of C; without writes, only if its snapshot is no moment */
		case VALIDATE:
			if (me->kind == READS_ONLY && (self->excluded == 0 || left_out == READS_VALIDATED))
			{
				self->at = GIVE;
				return true;
			}
			if (self->time == 0)
			{
				self->time = ++state->clock;
				tg_check(self->time < 15);
				return true;
			}
			while (self->place < ROWS && self->found[self->place] == 0)
				self->place++;
			if (self->place < ROWS)
			{
				int changed = row_has_changed(state, self, number, self->place, self->time, 0);

				if (changed == BLOCKED)
					return false;
				if (changed == SEEN)
					give_up(state, number);
				self->place++;
				return true;
			}
			self->at = me->kind == MIXED ? HOST_MOMENT : me->kind == FOREIGN ? STORE_COMMITTED : GIVE;
			return true;
		case HOST_MOMENT:
			if (choice != 0)
			{
				if (!me->may_fail)
					return false;
				give_up(state, number);
				return true;
			}
			complete(state, number);
			self->at = me->kind == ORDINARY					? GIVE
					   : left_out == DRAWN_BEFORE			? LATE_DRAW
					   : left_out == BOUND_BEFORE_COMMITTED ? STORE_COMMITTED
															: END;
			return true;
		case LATE_DRAW:
			self->time = ++state->clock;
			self->at = END;
			return true;
		case END:
			if (state->lock != 0 || (choice != 0 && !time_matters))
				return false;
			forget_old(state, choice != 0);
			end_mixed(state, number);
			self->at = STORE_COMMITTED;
			return true;
		case STORE_COMMITTED:
			self->state = COMMITTED;
			self->at = left_out == BOUND_BEFORE_COMMITTED && me->kind == MIXED ? END_LATE : GIVE;
			return true;
		case END_LATE:
			if (state->lock != 0)
				return false;
			end_mixed(state, number);
			self->at = GIVE;
			return true;
		case GIVE: /* and all entries are withdrawn */
			if (is_imported(state, number))
				return false;
			if (me->writes != 0)
				state->given |= bit(number);
			self->result = DONE;
			break;
		case ABORT:
			if (state->lock != 0)
				return false;
			if ((state->open & bit(number)) != 0)
			{
				state->open &= (uint8_t) ~bit(number);
				note_change(state);
			}
			self->state = ABORTED;
			self->at = UNDO;
			return true;
		default: /* UNDO */
			for (unsigned row = 0; row < ROWS; row++)
				if (state->chain[row][state->count[row] - 1] == number)
					state->chain[row][--state->count[row]] = 0;
			if (me->kind == MIXED || me->kind == ORDINARY)
				complete(state, number);
			self->state = ABORTED;
			self->result = FAILED;
			break;
	}
	/* It has ended: no thread looks at the rest. */
	state->gate &= (uint8_t) ~bit(number);
	memset(self->entries, 0, sizeof(self->entries));
	self->newest = self->lowest = self->place = self->at = self->has_written = 0;
	return true;
}

static inline bool
step_thread(model *state, unsigned number, unsigned choice)
{
	thread *self = &state->threads[number];

	if (self->result != RUNNING || !takes_part(number))
		return false;
	if (self->at >= PRE_COMMIT)
		return step_commit(state, number, choice);
	if (choice != 0)
		return false;
	if (self->at >= IMPORT)
		return step_import(state, number);
	if (self->at >= GATE_CLOSE)
		return step_gate(state, number);
	return self->at >= LATER_TIME ? step_later(state, number) : step_statement(state, number);
}

/* --- the collector, and time --------------------------------------------------------------- */

enum
{
	GATHER_CLOCK,
	GATHER_KEPT,
	GATHER_SESSIONS,
	GATHER_LATE = GATHER_SESSIONS + THREADS,
	COLLECT
};

static inline void
add_entry(model *state, uint8_t entry)
{
	if (entry == 0)
		return;
	if ((entry & FROM) == 0)
		state->points |= time_bit(entry);
	else if ((entry & (FROM - 1)) < state->collector_bound)
		state->collector_bound = entry & (FROM - 1);
}

static inline void
collect(model *state)
{
	for (unsigned row = 0; row < ROWS; row++)
	{
		for (unsigned at = 0; at + 1 < state->count[row]; at++)
		{
			unsigned next = state->chain[row][at + 1];
			uint8_t begin = time_of(state, state->chain[row][at]);
			uint8_t end = time_of(state, next);

			if ((state->given & bit(next)) == 0 || end > state->collector_bound)
				continue;
			if ((state->points & (time_bit(end) - time_bit(begin))) == 0)
				state->gone[row] |= bit(at);
		}
	}
}

static inline bool
step_collector(model *state)
{
	if (state->collections == at_hand->collections)
		return false;
	switch (state->collector_at)
	{
		case GATHER_CLOCK:
			state->adopted_before = state->adopted;
			state->collector_bound = state->clock;
			break;
		case GATHER_KEPT:
			if (left_out != KEPT_BEFORE_SESSIONS)
				add_entry(state, state->horizon_kept);
			break;
		case GATHER_LATE:
			if (left_out == KEPT_BEFORE_SESSIONS)
				add_entry(state, state->horizon_kept);
			break;
		case COLLECT:
			if (state->adopted == state->adopted_before || left_out == ADOPTED_COUNTED)
			{
				collect(state);
				state->collections++;
			}
			state->collector_at = state->collector_bound = 0;
			state->points = 0;
			return true;
		default:
			for (unsigned i = 0; i < 2; i++)
				add_entry(state, state->threads[state->collector_at - GATHER_SESSIONS].entries[i]);
			break;
	}
	state->collector_at++;
	return true;
}

/* tsurugi_mixed_tidy */
static inline bool
step_age(model *state)
{
	if (state->ages == at_hand->ages || state->lock != 0 || state->listed == state->ended_count)
		return false;
	state->ages++;
	forget_old(state, true);
	note_change(state);
	return true;
}

#endif /* TG_UNIT_MIXED_STEPS_H */
