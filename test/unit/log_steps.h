/*
 * log_steps.h
 *	  For log_model.c: what sessions and the collector do, step by step.
 */
#ifndef TG_UNIT_LOG_STEPS_H
#define TG_UNIT_LOG_STEPS_H

#include "test/unit/log_world.h"

/* --- a session -------------------------------------------------------------------------------- */

static const uint8_t alone_path[] = {PUBLISH, CHECK,	INSERT, OPEN_NOTE,	DRAW,  NOTE_POSITION, NOTE_TIME,
									 COMMIT,  WITHDRAW, FLUSH,	CLOSE_NOTE, REPLY, DONE};
static const uint8_t serializable_path[] = {OPEN_NOTE, DRAW,	 PUBLISH, CHECK,	  INSERT, NOTE_POSITION, NOTE_TIME,
											COMMIT,	   WITHDRAW, FLUSH,	  CLOSE_NOTE, REPLY,  DONE};
static const uint8_t with_path[] = {DRAW,		PUBLISH, CHECK,	   INSERT, HOST_OUTCOME,
									HOST_FLUSH, COMMIT,	 WITHDRAW, REPLY,  DONE};
static const uint8_t prepared_path[] = {PUBLISH, CHECK,		   INSERT,	   HOST_PREPARE, WITHDRAW, DRAW,  PUBLISH,
										CHECK,	 HOST_OUTCOME, HOST_FLUSH, COMMIT,		 WITHDRAW, REPLY, DONE};
static const uint8_t reader_path[] = {READ_TIME, LOOK_AT_BOUNDS, READ_ROW, LOOK_FOR_NOTE, REPLY, DONE};

/* With a rule left out, some steps are elsewhere. */
static const uint8_t late_record_path[] = {PUBLISH,		CHECK,	  OPEN_NOTE, DRAW,		 NOTE_TIME, COMMIT,
										   LATE_INSERT, WITHDRAW, FLUSH,	 CLOSE_NOTE, REPLY,		DONE};
static const uint8_t late_note_path[] = {PUBLISH, CHECK,	INSERT, DRAW,		OPEN_NOTE, NOTE_POSITION, NOTE_TIME,
										 COMMIT,  WITHDRAW, FLUSH,	CLOSE_NOTE, REPLY,	   DONE};
static const uint8_t short_note_path[] = {PUBLISH, CHECK,	 INSERT,	 OPEN_NOTE, DRAW,  NOTE_POSITION, NOTE_TIME,
										  COMMIT,  WITHDRAW, CLOSE_NOTE, FLUSH,		REPLY, DONE};
static const uint8_t short_logging_path[] = {PUBLISH,	CHECK,	INSERT, WITHDRAW,	OPEN_NOTE, DRAW, NOTE_POSITION,
											 NOTE_TIME, COMMIT, FLUSH,	CLOSE_NOTE, REPLY,	   DONE};
static const uint8_t early_withdrawal_path[] = {DRAW,		  PUBLISH,	  CHECK,  INSERT, WITHDRAW,
												HOST_OUTCOME, HOST_FLUSH, COMMIT, REPLY,  DONE};
static const uint8_t prepared_silent_path[] = {PUBLISH,		 CHECK,		 INSERT, HOST_PREPARE, WITHDRAW, DRAW,
											   HOST_OUTCOME, HOST_FLUSH, COMMIT, REPLY,		   DONE};

static inline const uint8_t *
path_of(unsigned number)
{
	switch (script_of(number)->kind)
	{
		case ALONE:
			return left_out == RECORD_FIRST				 ? late_record_path
				   : left_out == NOTE_BEFORE_DRAW		 ? late_note_path
				   : left_out == NOTE_UNTIL_FLUSHED		 ? short_note_path
				   : left_out == LOGGING_UNTIL_COMMITTED ? short_logging_path
														 : alone_path;
		case SERIALIZABLE:
			return serializable_path;
		case WITH:
			return left_out == LOGGING_UNTIL_OUTCOME ? early_withdrawal_path : with_path;
		case PREPARED_FIRST:
			return left_out == PREPARED_LOGS ? prepared_silent_path : prepared_path;
		default:
			return reader_path;
	}
}

/* The step that a session is at: its first ones read what it builds on. */
static inline uint8_t
step_of(const model *state, unsigned number)
{
	const session *self = &state->sessions[number];
	unsigned before = script_of(number)->builds ? LOOK_FOR_NOTE + 1 : 0;

	return self->at < before ? self->at : path_of(number)[self->at - before];
}

/* log.c, R6.  A session that finds the log closed withdraws, and begins again. */
static inline void
check_closed(model *state, session *self)
{
	if (!state->closed)
		return;
	self->word = 0;
	self->at -= 2;
}

static inline bool
publish(model *state, session *self)
{
	if (left_out == LOGGING_FIRST)
		return !state->closed; /* looked at before */
	if (state->closed)
		return false; /* it would withdraw, and wait */
	self->word = self->parts != 0 ? 2 : 1;
	return true;
}

static inline bool
read_row(model *state, unsigned number)
{
	session *self = &state->sessions[number];
	const session *writer = &state->sessions[number - 1];
	bool is_written = script_of(number)->kind != READER;

	if (writer->state == PREPARED && (is_written || writer->time <= self->read))
		return false;
	if (writer->state == COMMITTED && (is_written || writer->time <= self->read))
		self->seen = writer->settled ? SEEN_WITHOUT_TIME : SEEN;
	if (self->seen && is_written)
		self->basis |= (uint8_t) bit(number - 1);
	return true;
}

static inline void
look_for_note(model *state, unsigned number)
{
	session *self = &state->sessions[number];
	const session *writer = &state->sessions[number - 1];

	if (self->seen != SEEN || left_out == NOTE_LOOKED_FOR)
		return;
	if (writer->time > self->flushed_time && writer->is_open && writer->note_time == writer->time)
		self->met = (uint8_t) (writer->note_position + 1);
}

static inline bool
decide_by_host(model *state, unsigned number, unsigned choice)
{
	session *self = &state->sessions[number];

	if (choice == 1 && !script_of(number)->may_fail)
		return false;
	self->outcome = insert(state);
	self->committed = choice == 0;
	return true;
}

static inline void
look_at_bounds(model *state, session *self)
{
	self->flushed_time = self->read;
	for (unsigned i = 0; i < SESSIONS; i++)
		if (state->sessions[i].is_open && state->sessions[i].bound < self->flushed_time)
			self->flushed_time = state->sessions[i].bound;
}

static inline bool
reply(model *state, unsigned number)
{
	session *self = &state->sessions[number];

	if (self->met > state->flushed && left_out != FLUSHED_BEFORE_REPLY)
		flush_to(state, self->met);
	if (self->seen)
		self->told |= (uint8_t) bit(number - 1);
	if (script_of(number)->kind != READER && self->state == COMMITTED)
		self->told |= (uint8_t) bit(number);
	return true;
}

static inline bool
step_session(model *state, unsigned number, unsigned choice)
{
	session *self = &state->sessions[number];
	uint8_t step = step_of(state, number);

	if (choice == 1 && step != HOST_OUTCOME)
		return false;
	self->at++;
	switch (step)
	{
		case READ_TIME:
			self->read = state->clock;
			return true;
		case LOOK_AT_BOUNDS:
			look_at_bounds(state, self);
			return true;
		case READ_ROW:
			return read_row(state, number);
		case LOOK_FOR_NOTE:
			look_for_note(state, number);
			return true;
		case OPEN_NOTE:
			self->is_open = !script_of(number)->is_async;
			self->bound = state->clock;
			return true;
		case DRAW:
			self->time = ++state->clock;
			if (script_of(number)->kind != ALONE)
				self->state = PREPARED;
			return true;
		case PUBLISH:
			return publish(state, self);
		case CHECK:
			if (left_out == LOGGING_FIRST)
				self->word = 1;
			else
				check_closed(state, self);
			return true;
		case INSERT:
		case LATE_INSERT:
			self->record = insert(state);
			return true;
		case NOTE_POSITION:
			self->note_position = self->record;
			return true;
		case NOTE_TIME:
			self->note_time = self->time;
			return true;
		case HOST_PREPARE:
			flush_to(state, state->next);
			self->parts = 1;
			return true;
		case HOST_OUTCOME:
			return decide_by_host(state, number, choice);
		case HOST_FLUSH:
			if (!script_of(number)->is_async)
				flush_to(state, (uint8_t) (self->outcome + 1));
			return true;
		case COMMIT:
			self->state = self->outcome != NO_POSITION && !self->committed ? ABORTED : COMMITTED;
			return true;
		case WITHDRAW:
			self->word = 0;
			return true;
		case FLUSH:
			if (!script_of(number)->is_async)
				flush_to(state, (uint8_t) (self->record + 1));
			return true;
		case CLOSE_NOTE:
			self->is_open = 0;
			return true;
		case REPLY:
			return reply(state, number);
		default:
			return false;
	}
}

/* --- the collector ---------------------------------------------------------------------------- */

/* A header goes when every snapshot sees what it says; an open note keeps one from before C. */
static inline bool
step_collector(model *state, unsigned number)
{
	session *one = &state->sessions[number];

	if (!at_hand->collects || one->settled || one->state != COMMITTED || (one->is_open && left_out != HEADER_KEPT))
		return false;
	for (unsigned i = 0; i < SESSIONS; i++)
		if (state->sessions[i].read != 0 && state->sessions[i].read < one->time &&
			state->sessions[i].at <= LOOK_FOR_NOTE)
			return false;
	one->settled = 1;
	return true;
}

#endif /* TG_UNIT_LOG_STEPS_H */
