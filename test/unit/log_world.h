/*
 * log_world.h
 *	  For log_model.c: the model's state, the rules that may be left out, and what a crash leaves.
 */
#ifndef TG_UNIT_LOG_WORLD_H
#define TG_UNIT_LOG_WORLD_H

#include <inttypes.h>

#include "runtime/base/check.h"
#include "test/unit/states.h"

#define SESSIONS 3
#define NO_POSITION 0
#define FIRST 1

typedef enum rule
{
	ALL_RULES,
	RECORD_FIRST,
	NOTE_BEFORE_DRAW,
	NOTE_UNTIL_FLUSHED,
	HEADER_KEPT,
	NOTE_LOOKED_FOR,
	FLUSHED_BEFORE_REPLY,
	LOGGING_FIRST,
	LOGGING_UNTIL_COMMITTED,
	LOGGING_UNTIL_OUTCOME,
	PREPARED_LOGS,
	QUIET_AWAITED,
	FIRST_FLAG,
	SECOND_FLAG,
	COMPARED_FIRST,
	GATE_BEFORE_OPEN,
	GATE_UNTIL_SEALED,
	SEALED_ANEW,
	SYNCED_FIRST,
	STATE_BEFORE_OPEN,
	LOGGING_AWAITED,
	PREPARED_AWAITED,
	UNDECIDED_KEPT,
	DURABLE_UP_TO_E
} rule;

typedef enum kind
{
	NOBODY,
	ALONE,
	SERIALIZABLE,
	WITH,
	PREPARED_FIRST,
	READER
} kind;

typedef struct script
{
	kind kind;
	bool builds; /* on the row of the session before it, if that has committed */
	bool may_fail;
	bool is_async; /* synchronous_commit = off */
} script;

typedef struct scenario
{
	const char *name;
	script scripts[SESSIONS];
	uint8_t checkpoints;
	uint8_t ends; /* of the worker */
	uint8_t bases;
	uint8_t failures; /* of a sync for a checkpoint; it is tried again */
	bool collects;
	bool is_long;
} scenario;

typedef enum txn_state
{
	ACTIVE,
	PREPARED,
	COMMITTED,
	ABORTED
} txn_state;

/* What a session does next. */
enum
{
	READ_TIME,
	LOOK_AT_BOUNDS,
	READ_ROW,
	LOOK_FOR_NOTE,
	OPEN_NOTE,
	DRAW,
	PUBLISH,
	CHECK,
	INSERT,
	NOTE_POSITION,
	NOTE_TIME,
	HOST_PREPARE,
	HOST_OUTCOME,
	HOST_FLUSH,
	COMMIT,
	WITHDRAW,
	FLUSH,
	CLOSE_NOTE,
	LATE_INSERT,
	REPLY,
	DONE
};

enum
{
	SEEN = 1,
	SEEN_WITHOUT_TIME /* its row has no header any more */
};

typedef struct session
{
	uint8_t at;
	uint8_t state;
	uint8_t time;		  /* C */
	uint8_t record;		  /* its position */
	uint8_t outcome;	  /* PostgreSQL's, its position */
	uint8_t committed;	  /* the outcome */
	uint8_t word;		  /* LOGGING: 0, or a number that changes from one time to the next */
	uint8_t parts;		  /* 1: it is prepared, and its client knows */
	uint8_t told;		  /* sessions whose commits a client was told of by this one */
	uint8_t basis;		  /* sessions whose commits it has built on */
	uint8_t read;		  /* R */
	uint8_t flushed_time; /* what is at most this was flushed when it was looked at */
	uint8_t met;		  /* a position */
	uint8_t seen;		  /* whether it has seen the commit of the session before it */
	/* its note */
	uint8_t is_open;
	uint8_t bound;
	uint8_t note_time;
	uint8_t note_position;
	uint8_t settled; /* its row has no header any more */
} session;

/* What the worker does next. */
enum
{
	TICK,
	COMPARE,
	LET_PASS,
	LET_PASS_EARLY,
	COMPARE_LATE,
	MARK,
	FLUSH_MARK,
	READ_LOG,
	SYNC,
	WRITE_STATE,
	NOTE_LOGGING,
	AWAIT_LOGGING,
	READ_ROWS,
	BASE_COUNTS,
	CLOSE,
	AWAIT_QUIET,
	REMOVE_GATE,
	GONE,
	SET_GATE,
	OPEN,
	END
};

/* And a checkpoint. */
enum
{
	SET_REDO,
	LOOK_FIRST,
	AWAIT_FIRST,
	LOOK_SECOND,
	AWAIT_SECOND,
	COMPLETE
};

typedef struct model
{
	session sessions[SESSIONS];
	uint8_t clock;
	uint8_t next;	 /* position of the next record */
	uint8_t flushed; /* the first position that is not durable */
	uint8_t closed;
	/* the worker */
	uint8_t at;
	uint8_t then; /* after D has moved */
	uint8_t mark;
	uint8_t from; /* where it has begun to read */
	uint8_t flags;
	uint8_t ends;
	uint8_t makes_clean;
	/* files */
	uint8_t durable; /* D: all below it was taken */
	uint8_t clean;
	uint32_t journal; /* positions */
	uint32_t synced;
	uint32_t kept; /* as of the state */
	/* a base */
	uint8_t bases;
	uint8_t begin; /* P */
	uint8_t least;
	uint8_t has; /* sessions whose commits it has */
	uint8_t noted[SESSIONS];
	uint8_t base_begin; /* of the one that counts; 0: there is none */
	uint8_t base_has;
	uint8_t base_least;
	/* checkpoints */
	uint8_t checkpoint_at;
	uint8_t checkpoints;
	uint8_t redo;
	uint8_t control_redo;
	uint8_t is_same; /* the worker's virtual transaction, since it was noted */
	uint8_t failures;
} model;

_Static_assert(sizeof(model) % 4 == 0, "states are compared as bytes");

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

static inline uint32_t
bit(unsigned position)
{
	return (uint32_t) 1 << position;
}

static inline uint8_t
insert(model *state)
{
	tg_check(state->next < 31);
	return state->next++;
}

static inline void
flush_to(model *state, uint8_t end)
{
	if (state->flushed < end)
		state->flushed = end;
}

/* --- a crash ---------------------------------------------------------------------------------- */

/* Positions that a start finds, in the journal or in PostgreSQL's log. */
static inline uint32_t
recovered(const model *state)
{
	uint32_t log = (bit(state->flushed) - 1) & ~(bit(state->control_redo) - 1);

	return (state->kept & state->synced) | log;
}

static inline bool
has(uint32_t positions, uint8_t position)
{
	return position != NO_POSITION && (positions & bit(position)) != 0;
}

static inline bool
is_decided_by_host(unsigned number)
{
	return script_of(number)->kind == WITH || script_of(number)->kind == PREPARED_FIRST;
}

/* Whether the positions decide a transaction to have committed. */
static inline bool
has_committed(const model *state, unsigned number, uint32_t positions)
{
	const session *one = &state->sessions[number];

	return has(positions, one->record) &&
		   (!is_decided_by_host(number) || (one->committed && has(positions, one->outcome)));
}

static inline void
judge_session(const model *state, unsigned number, uint32_t log, uint32_t found)
{
	const session *one = &state->sessions[number];
	bool is_there = has_committed(state, number, log);
	bool in_base = state->base_begin != 0 && (state->base_has & bit(number)) != 0;

	if ((has_committed(state, number, found) || in_base) != is_there)
		fail(is_there ? "a commit is lost" : "a commit is there that the log has not");
	if (one->parts && one->outcome == NO_POSITION && !has(found, one->record))
		fail("a prepared transaction is lost");
	for (unsigned other = 0; other < SESSIONS; other++)
	{
		bool other_is_there = has_committed(state, other, log);

		if ((one->told & bit(other)) != 0 && !other_is_there && !script_of(other)->is_async)
			fail("what a client was told is lost");
		if (is_there && (one->basis & bit(other)) != 0 && !other_is_there)
			fail("a commit is lost, and not what was built on it");
	}
}

static inline void
judge(const model *state)
{
	uint32_t log = bit(state->flushed) - 1;
	uint32_t found = recovered(state);

	if (state->base_begin != 0)
	{
		uint8_t from = state->base_least < state->base_begin ? state->base_least : state->base_begin;

		found &= ~(bit(from) - 1);
	}
	for (unsigned i = 0; i < SESSIONS; i++)
		if (script_of(i)->kind != NOBODY)
			judge_session(state, i, log, found);
	for (unsigned i = 0; i < SESSIONS && state->clean; i++)
		if (state->sessions[i].record >= state->durable || state->sessions[i].outcome >= state->durable)
			fail("the state says that the log has no more, and it has");
}

#endif /* TG_UNIT_LOG_WORLD_H */
