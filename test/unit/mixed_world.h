/*
 * mixed_world.h
 *	  For mixed_model.c: the state, mixed.c under its lock, the store's visibility, and the final
 *	  checks.
 */
#ifndef TG_UNIT_MIXED_WORLD_H
#define TG_UNIT_MIXED_WORLD_H

#include <string.h>

#include "runtime/base/check.h"
#include "test/unit/states.h"

enum
{
	THREADS = 5,
	ROWS = 2,
	X = 1, /* rows, as bits */
	Y = 2,
	VERSIONS = 4,
	RING = 3,
	FIRST = 1, /* the time that all begins at */
	FROM = 0x80,
	INITIAL = 15, /* the writer of the first versions */
	NEVER = 63
};

typedef enum rule
{
	ALL_RULES,
	MATCH,
	BOUND,
	EXCLUSION,
	HOST_FIRST,
	DRAWN_BEFORE,
	BOUND_AFTER_HOST,
	BOUND_BEFORE_COMMITTED,
	NEWEST_BEFORE_DRAW,
	TIME_BEFORE_LOOK,
	DRAWN_UNDER_LOCK,
	KEPT,
	KEPT_BEFORE_DRAW,
	KEPT_BEFORE_SESSIONS,
	LOWERED,
	LOWERED_UNDER_LOCK,
	LOWEST_OF_OPEN,
	FORGOTTEN_UNKNOWN,
	LISTED_UNTIL_SHOWN,
	LISTED_UNTIL_OLD,
	LATEST_OF_ALL,
	LATE_BY_VIEW,
	VALIDATED_BY_VIEW,
	READS_VALIDATED,
	EXTENSION_MATCHED,
	ENTRY_NOT_RAISED,
	PREPARED_WAITED,
	FOLLOWER_WAITS,
	GATE,
	FIT_ASKED,
	FIT_OF_LEFT,
	ADOPTED_COUNTED,
	ADOPTED_WHILE_THERE,
	ADOPTED_EXCLUSIONS
} rule;

typedef enum level
{
	NONE, /* no statement: what it writes is written already */
	RC,
	RR,
	SER,
	WHOLE,	 /* LONG, READ ONLY: one moment of the order of C, not validated; by the gate */
	FITTED,	 /* and where there is no gate: by asking */
	IMPORTED /* REPEATABLE READ, with the snapshot of the one behind it */
} level;

typedef enum commit_kind
{
	READS_ONLY,
	FOREIGN,
	ORDINARY,
	MIXED
} commit_kind;

typedef struct script
{
	level level;
	uint8_t reads;
	uint8_t writes; /* one row */
	commit_kind kind;
	bool may_fail;	/* PostgreSQL, after PRE_COMMIT */
	uint8_t then;	/* rows read after the write */
	bool is_native; /* it has no ordinary tables, and no PRE_COMMIT */
} script;

typedef struct scenario
{
	const char *name;
	script scripts[THREADS];
	uint8_t collections;
	uint8_t ages; /* looks by another thread, with time over */
	bool is_long;
} scenario;

typedef enum txn_state
{
	ACTIVE,
	PREPARING,
	PREPARED,
	COMMITTED,
	ABORTED
} txn_state;

enum
{
	RUNNING,
	DONE,
	FAILED
};

typedef struct thread
{
	uint8_t at; /* what it does next */
	uint8_t result;
	uint8_t state;
	uint8_t time; /* C */
	uint8_t entries[2];
	/* its snapshot */
	uint8_t shown;
	uint8_t xmin;
	uint8_t xmax;
	uint8_t is_new; /* 0: so old that its time may be up */
	uint8_t read;	/* R */
	uint8_t newest; /* loaded */
	uint16_t excluded;
	uint16_t later_excluded;
	uint8_t later; /* R' */
	uint8_t looked;
	uint8_t found[ROWS]; /* the writer of the version, plus 1 */
	uint8_t place;		 /* the row it is at */
	uint8_t basis;		 /* mixed commits that what it has read comes from */
	uint8_t lowest;
	uint8_t has_written;
} thread;

typedef struct ended
{
	uint8_t txn;
	uint8_t bound;	   /* E */
	uint8_t lowest;	   /* rule 7 */
	uint8_t completed; /* L */
} ended;

typedef struct model
{
	uint8_t clock;
	uint8_t completed; /* transactions */
	uint8_t latest;	   /* the highest xid of them; xids are numbers of threads, plus 1 */
	uint8_t newest;
	uint8_t forgotten;
	uint8_t left; /* the highest C of those that have left the ring */
	uint8_t past; /* latest, at the last look */
	uint8_t ended_count;
	uint8_t listed;
	uint8_t kept;
	uint8_t open; /* transactions */
	uint8_t lock; /* its holder, plus 1 */
	uint8_t gate; /* its shared holders, as bits */
	uint8_t gate_closed;
	uint8_t horizon_kept;
	uint8_t given; /* logs that the collector has */
	uint8_t ages;
	uint8_t count[ROWS];
	uint8_t gone[ROWS];			   /* versions, as bits */
	uint8_t chain[ROWS][VERSIONS]; /* the writers, oldest first */
	uint8_t collector_at;
	uint8_t collections;
	uint8_t collector_bound;
	uint8_t adopted; /* times taken over */
	uint8_t adopted_before;
	uint16_t points;
	ended ring[RING];
	thread threads[THREADS];
} model;

static const scenario *at_hand;
static rule left_out;
static const char *fault;

static inline void
fail(const char *what)
{
	if (fault == NULL)
		fault = what;
}

static inline const script *
script_of(unsigned number)
{
	return &at_hand->scripts[number];
}

static inline bool
takes_part(unsigned number)
{
	return script_of(number)->level != NONE || script_of(number)->kind != READS_ONLY;
}

static inline uint8_t
bit(unsigned number)
{
	return (uint8_t) (1u << number);
}

static inline uint16_t
time_bit(unsigned time)
{
	return (uint16_t) (1u << time);
}

/* --- src/txn/mixed.c, under its lock -------------------------------------------------------- */

static inline bool
is_unseen(const thread *self, unsigned txn)
{
	return (self->shown & bit(txn)) == 0;
}

static inline ended *
ring_place(model *state, unsigned number)
{
	return &state->ring[number % RING];
}

static inline uint8_t
lowest_open(const model *state, uint8_t time)
{
	for (unsigned i = 0; i < THREADS; i++)
		if ((state->open & bit(i)) != 0 && state->threads[i].time < time)
			time = state->threads[i].time;
	return time;
}

static inline void
forget_oldest(model *state)
{
	ended *oldest = ring_place(state, state->listed++);

	state->forgotten = oldest->completed;
	if (state->threads[oldest->txn].time > state->left)
		state->left = state->threads[oldest->txn].time;
	memset(oldest, 0, sizeof(*oldest));
	if (state->kept < state->listed)
		state->kept = state->listed;
}

/* is_over: of the entries, and since the last look at the newest xid. */
static inline void
forget_old(model *state, bool is_over)
{
	uint8_t shown_to_all = left_out == LISTED_UNTIL_SHOWN ? NEVER
						   : left_out == LISTED_UNTIL_OLD ? state->latest
														  : state->past;

	if (!is_over)
		return;
	for (unsigned i = 0; i < THREADS; i++)
	{
		thread *other = &state->threads[i];

		for (unsigned at = state->kept; at < state->ended_count; at++)
			if (is_unseen(other, ring_place(state, at)->txn))
				other->is_new = 0;
		other->is_new -= other->is_new > 0;
	}
	state->kept = state->ended_count;
	while (state->listed < state->kept && ring_place(state, state->listed)->completed < shown_to_all)
		forget_oldest(state);
	state->past = state->latest;
}

static inline void
note_change(model *state)
{
	uint8_t lowest = NEVER;

	if (state->kept < state->ended_count)
		lowest = ring_place(state, state->kept)->lowest;
	else if (state->open != 0)
		lowest = lowest_open(state, NEVER);
	state->horizon_kept = lowest == NEVER || left_out == KEPT ? 0 : (uint8_t) (FROM | (lowest - 1));
}

static inline void
add_to_ring(model *state, unsigned number)
{
	thread *self = &state->threads[number];

	if (state->ended_count - state->listed == RING)
		forget_oldest(state);
	*ring_place(state, state->ended_count++) =
		(ended){.txn = (uint8_t) number,
				.bound = left_out == BOUND_AFTER_HOST ? self->time : state->clock,
				.lowest = left_out == LOWEST_OF_OPEN ? self->time : lowest_open(state, self->time),
				.completed = left_out == LATEST_OF_ALL ? (uint8_t) (number + 1) : state->latest};
}

static inline bool
is_later(const thread *self, uint8_t completed)
{
	return self->xmax > completed + 1;
}

/* find_unseen and make_exclusions, and what follows; false: it is too late. */
static inline bool
match(model *state, unsigned number, uint8_t *time, uint16_t *excluded, uint8_t *lowest)
{
	thread *self = &state->threads[number];
	bool known = left_out == FORGOTTEN_UNKNOWN || state->forgotten == 0 || is_later(self, state->forgotten);
	uint16_t found = 0;

	for (unsigned i = 0; i < THREADS; i++)
		if ((state->open & bit(i)) != 0 && i != number && is_unseen(self, i))
			found |= time_bit(state->threads[i].time);
	for (unsigned at = state->ended_count; at > state->listed; at--)
	{
		const ended *one = ring_place(state, at - 1);

		if (is_later(self, one->completed))
		{
			known = true;
			break;
		}
		if (!is_unseen(self, one->txn))
			continue;
		if (at <= state->kept && left_out != FORGOTTEN_UNKNOWN)
		{
			known = false;
			break;
		}
		found |= time_bit(state->threads[one->txn].time);
		if (one->bound < *time && left_out != BOUND)
			*time = one->bound;
	}
	found &= (uint16_t) (time_bit(*time + 1) - 1);
	*lowest = found != 0 ? (uint8_t) __builtin_ctz(found) : 0;
	*excluded = left_out == EXCLUSION ? 0 : found;
	if (!known && self->is_new)
		fail("a snapshot that is new fails");
	return known;
}

/* tsurugi_mixed_fits */
static inline bool
fits_one(const model *state, const thread *self, unsigned txn)
{
	return is_unseen(self, txn) == (state->threads[txn].time > self->read);
}

static inline bool
fits(model *state, unsigned number)
{
	thread *self = &state->threads[number];
	bool all = state->forgotten == 0 ||
			   (is_later(self, state->forgotten) && (state->left <= self->read || left_out == FIT_OF_LEFT));

	for (unsigned i = 0; i < THREADS; i++)
		if ((state->open & bit(i)) != 0)
			all = all && fits_one(state, self, i);
	for (unsigned at = state->listed; at < state->ended_count; at++)
		all = all && fits_one(state, self, ring_place(state, at)->txn);
	return all || left_out == FIT_ASKED;
}

static inline void
lower_from(thread *self, unsigned entry, uint8_t lowest)
{
	uint8_t before = self->entries[entry] & (FROM - 1);

	if (lowest == 0 || left_out == LOWERED)
		return;
	self->entries[entry] = (uint8_t) (FROM | (lowest - 1 < before ? lowest - 1 : before));
}

static inline uint8_t
time_of(const model *state, unsigned txn)
{
	return txn == INITIAL ? FIRST : state->threads[txn].time;
}

/* --- what the store shows --------------------------------------------------------------- */

static inline bool
covers(uint8_t read, uint16_t excluded, uint8_t time)
{
	return time <= read && (excluded & time_bit(time)) == 0;
}

enum
{
	UNSEEN,
	SEEN,
	BLOCKED
};

static inline int
sees(const model *state, const thread *self, unsigned txn)
{
	const thread *other;

	if (txn == INITIAL)
		return SEEN;
	other = &state->threads[txn];
	switch (other->state)
	{
		case PREPARING:
			return BLOCKED; /* T1: a moment */
		case PREPARED:
			return covers(self->read, self->excluded, other->time) && left_out != PREPARED_WAITED ? BLOCKED : UNSEEN;
		case COMMITTED:
			return covers(self->read, self->excluded, other->time) ? SEEN : UNSEEN;
		default:
			return UNSEEN;
	}
}

static inline void
take_over(const model *state, thread *self, unsigned txn)
{
	if (txn == INITIAL)
		return;
	self->basis |= state->threads[txn].basis;
	if (script_of(txn)->kind == MIXED)
		self->basis |= bit(txn);
}

/* tg_txn_read; false: it has to wait. */
static inline bool
read_row(model *state, thread *self, unsigned row)
{
	for (unsigned at = state->count[row]; at-- > 0;)
	{
		unsigned txn = state->chain[row][at];
		int sight = sees(state, self, txn);

		if (sight == BLOCKED)
			return false;
		if (sight == UNSEEN)
			continue;
		if ((state->gone[row] & bit(at)) != 0)
			break;
		self->found[row] = (uint8_t) (txn + 1);
		take_over(state, self, txn);
		return true;
	}
	fail("a version that a reader needs is gone");
	return true;
}

/* S1: WITHIN is a change, UNKNOWN waits. */
static inline int
row_has_changed(const model *state, const thread *self, unsigned number, unsigned row, uint8_t upto,
				uint16_t upto_excluded)
{
	for (unsigned at = state->count[row]; at-- > 0 && state->chain[row][at] + 1 != self->found[row];)
	{
		unsigned txn = state->chain[row][at];
		const thread *other = &state->threads[txn];
		bool within;

		if (txn == number)
			continue;
		if (other->state == PREPARING)
			return BLOCKED;
		if (other->state != PREPARED && other->state != COMMITTED)
			continue;
		within = covers(upto, upto_excluded, other->time) &&
				 !covers(self->read, left_out == VALIDATED_BY_VIEW ? 0 : self->excluded, other->time);
		if (within)
			return other->state == PREPARED ? BLOCKED : SEEN;
	}
	return UNSEEN;
}

/* --- the judge ----------------------------------------------------------------------------- */

static inline unsigned
place_of(const model *state, unsigned row, unsigned txn)
{
	for (unsigned at = 0; at < state->count[row]; at++)
		if (state->chain[row][at] == txn)
			return at;
	return VERSIONS;
}

/* Whether all reads equal the state at one time in the order of C. */
static inline bool
is_moment(const model *state, const thread *self, unsigned number, uint8_t time)
{
	for (unsigned row = 0; row < ROWS; row++)
	{
		unsigned newest = INITIAL;

		if (self->found[row] == 0)
			continue;
		for (unsigned at = 1; at < state->count[row]; at++)
			if (state->chain[row][at] != number && time_of(state, state->chain[row][at]) <= time)
				newest = state->chain[row][at];
		if (newest + 1 != self->found[row])
			return false;
	}
	return true;
}

static inline void
judge(const model *state)
{
	for (unsigned i = 0; i < THREADS; i++)
	{
		const thread *self = &state->threads[i];
		const script *me = script_of(i);

		if (me->level == NONE || me->is_native)
			continue;
		for (unsigned row = 0; row < ROWS; row++)
		{
			unsigned found;

			if (self->found[row] == 0)
				continue;
			if (me->level == IMPORTED && state->threads[i + 1].found[row] != 0 &&
				state->threads[i + 1].found[row] != self->found[row])
				fail("an importer sees another moment");
			found = place_of(state, row, self->found[row] - 1u);
			if (found == VERSIONS)
				fail("a version of an aborted transaction is seen");
			for (unsigned other = 0; other < THREADS; other++)
			{
				unsigned place = place_of(state, row, other);

				if (script_of(other)->kind != MIXED || other == i || place == VERSIONS)
					continue;
				if ((place <= found) != ((self->shown & bit(other)) != 0))
					fail(place <= found ? "the foreign half is seen alone" : "the ordinary half is seen alone");
			}
		}
		/* At READ COMMITTED a writer goes on with the newest version of its row. */
		if ((self->basis & ~self->shown & ~bit(i)) != 0 && !(me->level == RC && me->writes != 0))
			fail("a change that was built on a commit is seen without it");
		if (self->result == DONE && (me->level == SER || me->level == WHOLE || me->level == FITTED))
		{
			bool validated = me->level == SER && self->time != 0;

			if (!is_moment(state, self, i, validated ? self->time : self->read))
				fail("the versions seen are of no moment in the order of commits");
		}
	}
}

#endif /* TG_UNIT_MIXED_WORLD_H */
