/*
 * survey.c
 *	  What is committed as of a place in the log, of definitions, and what is undecided there.
 *
 * 1. The survey begins with the roster of the last base, or with what tables have followed.  From
 *	  there on it reads the journal, frame by frame, and no frame beyond the place that is asked
 *	  for.  It stays for the next base.
 * 2. Where a frame cannot be read, the survey stays as of the frame before, and reads on from there
 *	  in the next call.  It does not begin anew: after a promotion the journal that comes before may
 *	  have faults, while memory has all that it says (base_writer.c, 9).
 * 3. For the same reason a worker that ends leaves it to the next one, in the arena, as long as
 *	  there is no base since the promotion.  A server that starts over reads the files, as ever.
 * 4. The journal is durable up to the position that is asked for, and perhaps further.  Where it
 *	  ends before that, it is damaged.  Behind it, a frame may be half written.
 */
#include "postgres.h"

#include "src/durable/survey.h"

#include "access/xlog.h"
#include "storage/shmem.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/durable/base.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/files.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/roster.h"
#include "runtime/durable/undecided.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/session.h"
#include "runtime/start.h"
#include "src/durable/base_writer.h"
#include "src/durable/filler.h"

#define FRAMES 200 /* in a look */

/* 3.  In PostgreSQL's shared memory; one worker after the other. */
typedef struct handed_over
{
	void *data; /* in the arena: tg_undecided_write; NULL: there is nothing */
	size_t bytes;
	XLogRecPtr from;
	XLogRecPtr former_end;
} handed_over;

static handed_over *shared;

static tg_roster *roster; /* NULL: the survey has not begun */
static tg_undecided undecided;
static XLogRecPtr from; /* frames that start before are in it */
static tg_journal_reader *reader;
static bool has_frame; /* one was read that begins at or behind the place */
static tg_journal_frame next_frame;
static const void *next_record;

Size
tsurugi_survey_shared_bytes(void)
{
	return sizeof(handed_over);
}

void
tsurugi_survey_shared_create(void)
{
	bool there;

	shared = ShmemInitStruct("tsurugi_fdw survey", sizeof(handed_over), &there);
	*shared = (handed_over){0};
}

/* --- the last base ---------------------------------------------------------------------------- */

static void
drop(void)
{
	tg_undecided_end(&undecided);
	tg_roster_free(roster);
	roster = NULL;
}

/* *least_out: from where on the journal is read. */
static tg_status
read_base(uint64 number, uint64 *least_out, tg_file_error *error_out)
{
	tg_base_reader *base;
	const tg_base_facts *facts;
	tg_status status = tg_base_open(TSURUGI_BASE_DIRECTORY, GetSystemIdentifier(), number, &base, error_out);

	if (status != TG_OK)
		return status;
	facts = tg_base_facts_get(base);
	*least_out = Min(facts->least, facts->begin);
	tg_undecided_begin(&undecided, roster, facts->begin);
	status = tg_roster_apply(roster, facts->roster, facts->roster_bytes);
	tg_base_close(base);
	return status;
}

/*
 * What is undecided at the base's place has no record before the base's least one.  So frames
 * before that say nothing that the base does not have.
 */
static tg_status
begin(tg_file_error *error_out)
{
	uint64 number = tsurugi_filler_state().base;
	uint64 least = 0;
	tg_status status = tg_roster_create(&roster);

	if (status != TG_OK)
		return status;
	tg_undecided_begin(&undecided, roster, 0);
	if (number > 0)
		status = read_base(number, &least, error_out);
	if (status != TG_OK)
		drop();
	from = least;
	return status;
}

/* --- the journal ------------------------------------------------------------------------------ */

static void
leave_journal(void)
{
	if (reader != NULL)
		tg_journal_read_end(reader);
	reader = NULL;
	has_frame = false;
}

static tg_status
enter_journal(tg_file_error *error_out)
{
	tg_status status =
		tg_journal_read_begin(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), from, &reader, error_out);

	if (status == TG_OK)
		return TG_OK;
	reader = NULL;
	if (status == TG_NOT_FOUND) /* although it has a CLEAN_START at least */
		return tg_file_fail(error_out, 0, "the journal has no files", TSURUGI_JOURNAL_DIRECTORY, 0);
	return status;
}

/* 4.  Where the journal seems to end.  TG_NOT_FOUND: it does. */
static tg_status
judge_end(tg_file_error *error_out)
{
	tg_journal_place end = tg_journal_read_place(reader);

	if (!tg_journal_place_is_before(end, tsurugi_filler_state().place))
		return TG_NOT_FOUND;
	return tg_file_fail(error_out, 0, "a frame is missing or damaged", TSURUGI_JOURNAL_DIRECTORY, end.offset);
}

/* The next frame below the position.  TG_NOT_FOUND: there is none. */
static tg_status
read_frame(XLogRecPtr until, tg_file_error *error_out)
{
	tg_status status = TG_OK;

	if (!has_frame)
		status = tg_journal_read(reader, &next_frame, &next_record, error_out);
	if (status == TG_AGAIN || status == TG_NOT_FOUND)
		return judge_end(error_out);
	if (status != TG_OK)
		return status;
	has_frame = next_frame.start >= until;
	return has_frame ? TG_NOT_FOUND : TG_OK;
}

static tg_status
take_frame(tg_file_error *error_out)
{
	tg_decision decision;
	tg_status status;

	if (next_frame.start < from)
		return TG_OK;
	status = tg_undecided_frame(&undecided, &next_frame, next_record, &decision);
	if (status == TG_OK)
		from = next_frame.end;
	if (status == TG_DAMAGED)
		return tg_file_fail(error_out, 0, "a record has a fault in its definitions", TSURUGI_JOURNAL_DIRECTORY,
							tg_journal_read_place(reader).offset);
	return status;
}

static tg_status
read_frames(XLogRecPtr until, tg_file_error *error_out)
{
	for (int i = 0; i < FRAMES; i++)
	{
		tg_status status = read_frame(until, error_out);

		if (status == TG_OK)
			status = take_frame(error_out);
		if (status != TG_OK)
			return status == TG_NOT_FOUND ? TG_OK : status;
	}
	return TG_AGAIN;
}

tg_status
tsurugi_survey_look(XLogRecPtr until, tg_file_error *error_out)
{
	tg_status status = roster == NULL ? begin(error_out) : TG_OK;

	if (status == TG_OK && reader == NULL)
		status = enter_journal(error_out);
	if (status == TG_OK)
		status = read_frames(until, error_out);
	if (status != TG_OK && status != TG_AGAIN)
		leave_journal(); /* 2 */
	return status;
}

const tg_undecided *
tsurugi_survey_get(void)
{
	return &undecided;
}

void
tsurugi_survey_forget(void)
{
	tg_undecided_forget(&undecided);
}

/* --- from one to another ---------------------------------------------------------------------- */

void
tsurugi_survey_go_on(tg_undecided *followed, XLogRecPtr first)
{
	tg_assert(roster == NULL && reader == NULL);
	undecided = *followed;
	roster = followed->roster;
	*followed = (tg_undecided){0};
	from = first;
}

static XLogRecPtr
complain(void)
{
	ereport(LOG, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
				  errdetail("For its next base, the worker of tsurugi_fdw reads all that the last one needs.")));
	return InvalidXLogRecPtr;
}

/* The bytes in the arena; NULL: there is no memory. */
static void *
keep(const tg_bytes *bytes)
{
	tg_session *session;
	void *data;

	if (tg_session_open(&session) != TG_OK)
		return NULL;
	data = tg_alloc(session, bytes->count, TG_USE_RUNTIME, TG_ESSENTIAL);
	if (data != NULL)
		memcpy(data, bytes->data, bytes->count);
	tg_runtime_session_end(session);
	return data;
}

/* It is lost if there is no session for that. */
static void
give_back(void *data)
{
	tg_session *session;

	if (tg_session_open(&session) != TG_OK)
		return;
	tg_free(session, data, TG_USE_RUNTIME);
	tg_runtime_session_end(session);
}

void
tsurugi_survey_hand_over(XLogRecPtr former_end)
{
	tg_bytes bytes = {0};

	if (roster == NULL)
		return;
	tg_assert(shared->data == NULL);
	if (tg_undecided_write(&undecided, &bytes) == TG_OK)
		shared->data = keep(&bytes);
	shared->bytes = bytes.count;
	shared->from = from;
	shared->former_end = former_end;
	if (shared->data == NULL)
		(void) complain();
	tg_bytes_free(&bytes);
}

XLogRecPtr
tsurugi_survey_take_over(void)
{
	tg_status status;

	tg_assert(roster == NULL && reader == NULL);
	if (shared->data == NULL)
		return InvalidXLogRecPtr;
	status = tg_undecided_read(shared->data, shared->bytes, &undecided);
	give_back(shared->data);
	shared->data = NULL;
	if (status != TG_OK)
		return complain();
	roster = undecided.roster;
	from = shared->from;
	return shared->former_end;
}
