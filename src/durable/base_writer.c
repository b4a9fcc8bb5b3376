/*
 * base_writer.c
 *	  The worker writes bases, beside everything else.
 *
 *	IDLE --due--> GATHERING --nobody LOGGING from before P--> SURVEYING --the roster is as of P-->
 *	WRITING --all parts are written--> ENDING --the journal is durable up to E--> IDLE
 *
 *	on a standby: IDLE --due--> WRITING --> ENDING --it is offered--> OFFERED --it counts--> IDLE
 *
 * 1. P is the end of a MARK.  Backends that are LOGGING when P is known may have inserted a record
 *	  below P, and not yet have drawn the time of their commit, or not yet noted the record in the
 *	  tables that it names (logged_at).  So each of them is waited for, once.
 * 2. What is committed as of P is found in the journal: the survey (survey.c) reads it, from the
 *	  former base on, as far as P, and no frame beyond.
 * 3. E is the end of a MARK that is inserted when all rows were read, so it is above every record
 *	  that a row in the base may come from.  The base counts from when the state names it, which is
 *	  after its files and the journal up to E are durable.
 * 4. The former base is kept, with the journal that it needs: against damage, and for base backups
 *	  that are being made.  No base is begun while there is one (backup.c).  So it lacks files of
 *	  one base at most, and has all of the base before it.
 * 5. While a table's contents are damaged, no base is written: it would lack them, and the files
 *	  that may still have them would go.  Once the table was dropped, or emptied, nothing is
 *	  missed.  What was loaded in spite of damage is what there is from then on, and bases have it.
 * 6. The journal cannot be cut while no base is written (4, 5, errors).  Beyond a most, changes of
 *	  rows are refused, before the disk is full, which would be a PANIC.  A base is begun at half of
 *	  that, and from three quarters on it does not rest (7).
 * 7. Rows are written by tasks of the pool (runtime/durable/base_job.h), files synced by them, too.
 *	  Where sessions have no CPU to spare, the base rests between them.
 *	  Meanwhile the worker's own thread reads the log and lets checkpoints pass.  It writes the
 *	  manifest, which is small.
 * 8. On a standby the tables follow the journal, by the worker's own thread.  Between two frames P
 *	  and E are the place up to which they have: nobody else changes rows, each transaction has
 *	  noted its record by then (follow.c, 4), and roster and transactions are as of there.  The
 *	  state is written by the startup process, at restartpoints among others.  So the base is
 *	  offered to it.  Before its next record, which lies above E, it makes the journal durable, and
 *	  then names the base (recovery.c, 6).
 * 9. After a promotion the survey goes on with what the tables have followed, and from there.  The
 *	  journal before that is only inspected: memory has what it says, but a start would need it.  If
 *	  it has a fault, that is told, and a base is written, of all that memory has.  A transaction
 *	  that was prepared before needs its records in the journal; once it has ended, another base is
 *	  written.  A worker that is terminated before leaves to the next one how far the survey is.
 *
 * Whatever fails is given up, reported once, and tried again later.  So is a base while the journal
 * cannot be written: it could not count, and the session that has asked for it is told.
 */
#include "postgres.h"

#include "src/durable/base_writer.h"

#include <errno.h>
#include <limits.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/durable/base.h"
#include "runtime/durable/base_job.h"
#include "runtime/durable/files.h"
#include "runtime/durable/follow.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/roster.h"
#include "runtime/durable/undecided.h"
#include "runtime/start.h"
#include "src/durable/availability.h"
#include "src/durable/backup.h"
#include "src/durable/filler.h"
#include "src/durable/survey.h"
#include "src/log/damage.h"
#include "src/log/log.h"
#include "src/txn/prepared.h"

#define RETRY_MS 60000
#define MEASURE_MS 1000	   /* between two looks at the files of the journal */
#define INSPECT_FRAMES 200 /* in a look */
#define STINTS 20		   /* in a second, where base_rate bounds them */
#define MEGABYTE ((uint64) 1024 * 1024)

typedef enum stage
{
	IDLE,
	BEGINNING, /* the caller makes P */
	GATHERING,
	SURVEYING,
	WRITING,
	ENDING, /* the caller makes E */
	OFFERED /* 8 */
} stage;

static int journal_size_mb;
static int journal_max_mb; /* 0: there is none */
static int base_rate_kb;   /* in a second; 0: there is no limit */

static stage now = IDLE;
static XLogRecPtr begin_position; /* P */
static uint64 serving;			  /* the request that the base will have served, or the last one has */
static tg_base *base;
static tg_base_job *job;	/* 7 */
static tg_session *session; /* while one is written */
static tg_file_error last_error;
static TimestampTz begun_at;  /* the writing of its rows */
static TimestampTz failed_at; /* 0: the last one did not fail */

/* 8.  NULL: the tables do not follow. */
static tg_follow *followed;
static uint64 current; /* the base that the state names */
static uint64 loaded;  /* the one from which tables and journal are whole: the same, or the one before it */
static uint64 offered;

/* The journal behind the last base: from before this process, and what it has added since. */
static bool is_measured;
static uint64 measured_from;
static TimestampTz measured_at; /* on a standby; 0: not since the last base */
static uint64 rest_bytes;
static uint64 bytes_at_base;
static uint64 bytes_at_begin; /* of the base that is being written */

/* 9.  What the journal has before a position. */
static struct
{
	XLogRecPtr end;		 /* that position; InvalidXLogRecPtr: nothing is known to be there */
	bool is_uninspected; /* as yet, or in part */
	bool has_fault;		 /* it was told */
	bool is_needed;		 /* by a base that was written since */
	tg_journal_reader *reader;
} former;

void
tsurugi_base_define(void)
{
	DefineCustomIntVariable("tsurugi_fdw.journal_size", "Length of the journal from which on a base is written.",
							"A start reads the last base, and the journal from there on.", &journal_size_mb, 1024, 1,
							INT_MAX, PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("tsurugi_fdw.journal_max",
							"Length of the journal from which on changes of logged rows are refused.",
							"It becomes longer than journal_size while no base can be written.  0 is no limit.",
							&journal_max_mb, 0, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("tsurugi_fdw.base_rate", "Most that is written of a base in a second.", "0 is no limit.",
							&base_rate_kb, 0, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
}

/* Nobody waits for what other workers have served. */
void
tsurugi_base_begin(void)
{
	serving = tsurugi_base_served();
}

/* --- standbys --------------------------------------------------------------------------------- */

void
tsurugi_base_follow(tg_follow *follow, uint64 state_base, uint64 loaded_base)
{
	tg_assert(now == IDLE);
	followed = follow;
	current = state_base;
	loaded = loaded_base;
	is_measured = false;
	bytes_at_base = 0;
}

static uint64
current_base(void)
{
	return followed != NULL ? current : tsurugi_filler_state().base;
}

/* --- errors ----------------------------------------------------------------------------------- */

static void
end_base(void)
{
	if (job != NULL)
		tg_base_job_end(job, session);
	if (base != NULL)
		tg_base_end(base, session);
	if (session != NULL)
		tg_runtime_session_end(session);
	job = NULL;
	base = NULL;
	session = NULL;
	now = IDLE;
}

void
tsurugi_base_abandon(void)
{
	end_base();
}

static void
give_up(tg_status status)
{
	char text[TG_PATH_MAX + 256];
	int error = status == TG_NO_MEMORY ? ENOMEM : status == TG_IO ? last_error.error : 0;

	if (status == TG_NO_MEMORY)
		snprintf(text, sizeof(text), "out of memory");
	else if (status == TG_TOO_LARGE)
		snprintf(text, sizeof(text), "a row is too large");
	else
		tg_file_error_describe(&last_error, text, sizeof(text));
	ereport(LOG, (errmsg("tsurugi_fdw could not write a base: %s", text)));
	failed_at = GetCurrentTimestamp();
	end_base();
	tsurugi_base_tell_failure(serving, current_base(), error, text);
}

void
tsurugi_base_fail(void)
{
	uint64 wanted = tsurugi_base_wanted();

	if (now == IDLE && wanted <= serving)
		return;
	serving = wanted;
	last_error = *tsurugi_filler_error();
	give_up(TG_IO);
}

/* --- whether one is due ----------------------------------------------------------------------- */

/* P and the first position in the journal that a base needs.  False: it cannot be read. */
static bool
base_needs(uint64 number, uint64 *begin_out, uint64 *least_out)
{
	tg_base_reader *base;
	const tg_base_facts *facts;

	*begin_out = *least_out = 0;
	if (number == 0)
		return true;
	if (tg_base_open(TSURUGI_BASE_DIRECTORY, GetSystemIdentifier(), number, &base, &last_error) != TG_OK)
		return false;
	facts = tg_base_facts_get(base);
	*begin_out = facts->begin;
	*least_out = Min(facts->least, facts->begin);
	tg_base_close(base);
	return true;
}

/* Whole files, for once: it may be some megabytes too much. */
static void
measure_rest(void)
{
	uint64 least;

	is_measured = true;
	(void) base_needs(current_base(), &measured_from, &least);
	rest_bytes = followed != NULL ? 0 : tg_journal_bytes(TSURUGI_JOURNAL_DIRECTORY, measured_from);
}

/*
 * What the journal has got since some time: in this process's life, or, on a standby, where another
 * one fills it, in all files that are not before the last base.
 */
static uint64
added_bytes(void)
{
	static uint64 bytes;
	TimestampTz time;

	if (followed == NULL)
		return tsurugi_filler_bytes();
	time = GetCurrentTimestamp();
	if (TimestampDifferenceExceeds(measured_at, time, MEASURE_MS))
	{
		bytes = tg_journal_bytes(TSURUGI_JOURNAL_DIRECTORY, measured_from);
		measured_at = time;
	}
	return bytes;
}

static bool
journal_is_longer(uint64 bytes)
{
	uint64 added;

	if (!is_measured)
		measure_rest();
	added = added_bytes();
	return added >= bytes_at_base && rest_bytes + added - bytes_at_base > bytes;
}

/* 6.  Half of the most, at least, is left for the time that a base takes. */
static bool
journal_is_long(void)
{
	return journal_is_longer(journal_size_mb * MEGABYTE) ||
		   (journal_max_mb > 0 && journal_is_longer(journal_max_mb * MEGABYTE / 2));
}

/* 9.  The last base needs it, because of a transaction that still goes on; so would another one. */
static bool
former_stays_needed(void)
{
	const tg_undecided *of = tsurugi_survey_get();

	for (size_t i = 0; i < of->count && former.is_needed; i++)
	{
		const tg_undecided_txn *txn = &of->txns[i];

		if ((txn->first != 0 ? txn->first : txn->with) < former.end && TransactionIdIsValid(txn->xid) &&
			tsurugi_prepared_is_open(txn->xid))
			return true;
	}
	return false;
}

static bool
is_wanted(void)
{
	if (tsurugi_base_wanted() > serving)
		return true;
	if (failed_at != 0 && !TimestampDifferenceExceeds(failed_at, GetCurrentTimestamp(), RETRY_MS) &&
		!tg_failpoint_refuses("base_again_at_once"))
		return false;
	return (former.has_fault && !former_stays_needed()) || journal_is_long();
}

static bool
is_due(void)
{
	static bool is_held; /* and it has been told */

	if (!is_wanted())
		return false;
	if (tsurugi_backup_is_made()) /* 4 */
	{
		if (!is_held)
			ereport(LOG, (errmsg("tsurugi_fdw writes no base until the base backup has ended")));
		is_held = true;
		return false;
	}
	is_held = false;
	serving = tsurugi_base_wanted();
	return true;
}

/* --- what was followed ------------------------------------------------------------------------ */

static void
end_inspection(void)
{
	if (former.reader != NULL)
		tg_journal_read_end(former.reader);
	former.reader = NULL;
	former.is_uninspected = false;
}

static tg_status
begin_inspection(void)
{
	uint64 begin;
	uint64 least;

	if (!base_needs(current_base(), &begin, &least))
		return TG_DAMAGED;
	return tg_journal_read_begin(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), least, &former.reader, &last_error);
}

/* TG_AGAIN: there is more. */
static tg_status
inspect_some(void)
{
	tg_journal_frame frame;
	const void *record;
	tg_status status = former.reader != NULL ? TG_OK : begin_inspection();

	for (int i = 0; i < INSPECT_FRAMES && status == TG_OK; i++)
	{
		status = tg_journal_read(former.reader, &frame, &record, &last_error);
		if (status == TG_OK && frame.start >= former.end)
			return TG_OK;
		if (status == TG_AGAIN) /* no whole frame, although the first one of this life follows */
			status = TG_DAMAGED;
	}
	return status == TG_OK ? TG_AGAIN : status;
}

/* 9.  Some milliseconds of it. */
static void
inspect(void)
{
	char text[TG_PATH_MAX + 256];
	tg_status status = inspect_some();

	if (status == TG_AGAIN)
		return;
	end_inspection();
	if (status == TG_OK || status == TG_NOT_FOUND)
		return;
	if (status == TG_NO_MEMORY)
		last_error = (tg_file_error){.what = "out of memory", .path = TSURUGI_JOURNAL_DIRECTORY};
	former.has_fault = true;
	tg_file_error_describe(&last_error, text, sizeof(text));
	tsurugi_durability_tell_error(text);
	ereport(LOG, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("the journal of tsurugi_fdw is damaged: %s", text),
				  errdetail(
					  "Memory has what was followed of it.  A start cannot load the tables until a base is written.")));
}

static void
expect_former(XLogRecPtr end)
{
	tg_assert(followed == NULL);
	former.end = end;
	former.is_uninspected = end != InvalidXLogRecPtr;
}

void
tsurugi_base_go_on(tg_undecided *of, XLogRecPtr first)
{
	tsurugi_survey_go_on(of, first);
	expect_former(first);
}

/* What the files have is enough for the next worker, unless they may have a fault. */
void
tsurugi_base_hand_over(void)
{
	if (former.end != InvalidXLogRecPtr)
		tsurugi_survey_hand_over(former.end);
}

void
tsurugi_base_take_over(void)
{
	expect_former(tsurugi_survey_take_over());
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Files of bases that were not finished. */
static void
remove_rest(void)
{
	uint64 last = current_base();
	uint64 kept[2] = {last, last - 1};
	tg_file_error ignored;
	tg_status status = TG_DAMAGED;

	if (last > 1)
		status = tg_base_forget(TSURUGI_BASE_DIRECTORY, GetSystemIdentifier(), kept, 2, &ignored);
	if (status != TG_OK)
		(void) !tg_base_forget(TSURUGI_BASE_DIRECTORY, GetSystemIdentifier(), kept, last > 0 ? 1 : 0, &ignored);
}

/* As of P. */
static const tg_undecided *
surveyed(void)
{
	return followed != NULL ? tg_follow_undecided(followed) : tsurugi_survey_get();
}

static bool
is_placed(uint64 storage)
{
	const tg_roster_storage *found = tg_roster_find(surveyed()->roster, storage);

	return found != NULL && found->state == TG_STORAGE_PLACED;
}

/* 5.  The roster is as of P. */
static tg_status
refuse_damaged(void)
{
	if (!tsurugi_damage_is_missed(is_placed))
		return TG_OK;
	last_error = (tg_file_error){.what = "contents of tables are damaged, and files that have them are kept",
								 .path = TSURUGI_BASE_DIRECTORY};
	return TG_DAMAGED;
}

static tg_status
begin_base(void)
{
	const tg_undecided *of = surveyed();
	tg_base_config config = {.directory = TSURUGI_BASE_DIRECTORY,
							 .system = GetSystemIdentifier(),
							 .number = current_base() + 1,
							 .former = followed != NULL ? loaded : current_base(),
							 .begin = begin_position,
							 .least = tg_undecided_least(of),
							 .roster = of->roster,
							 .journal = followed != NULL ? TSURUGI_JOURNAL_DIRECTORY : NULL};
	tg_status status;

	tg_assert(base == NULL && job == NULL && session == NULL);
	remove_rest();
	begun_at = GetCurrentTimestamp();
	if (tg_session_open(&session) != TG_OK)
	{
		session = NULL;
		return TG_NO_MEMORY;
	}
	status = tg_base_begin(&config, &base, &last_error);
	return status == TG_OK ? tg_base_job_create(base, session, MyLatch, &job) : status;
}

/* 4. */
void
tsurugi_base_forget_journal(void)
{
	uint64 number = tsurugi_filler_state().base;
	uint64 begin;
	uint64 least;
	uint64 former_least;

	if (number > 1 && base_needs(number, &begin, &least) && base_needs(number - 1, &begin, &former_least))
		tsurugi_filler_forget(Min(least, former_least));
}

/* 9.  Whether the base does without what the journal has of before the promotion. */
static void
look_at_former(uint64 number)
{
	uint64 begin;
	uint64 least;

	if (former.end == InvalidXLogRecPtr || !base_needs(number, &begin, &least))
		return;
	former.is_needed = least < former.end;
	if (former.is_needed)
		return;
	end_inspection();
	if (former.has_fault)
		ereport(LOG, (errmsg("tsurugi_fdw has written a base that does not need the damaged part of the journal")));
	former.has_fault = false;
	former.end = InvalidXLogRecPtr;
}

/* The state names it. */
static void
settle(uint64 number)
{
	remove_rest();
	look_at_former(number);
	failed_at = former.has_fault ? GetCurrentTimestamp() : 0;
	is_measured = true;
	measured_from = begin_position;
	measured_at = 0;
	rest_bytes = 0;
	bytes_at_base = bytes_at_begin;
	if (followed != NULL)
		tg_follow_forget(followed);
	tsurugi_base_tell(serving, number);
}

/* 3. */
static tg_status
finish(XLogRecPtr end)
{
	uint64 number = current_base() + 1;
	tg_status status;

	tg_assert((followed != NULL ? end >= begin_position : end > begin_position) && base != NULL && job != NULL);
	status = tg_base_finish(base, end, &last_error);

	if (status != TG_OK)
		return status;
	end_base();
	tg_failpoint("base_finished");
	if (followed != NULL)
	{
		offered = number;
		tsurugi_base_offer(number);
		now = OFFERED;
		return TG_OK;
	}
	if (!tsurugi_filler_set_base(number))
	{
		last_error = *tsurugi_filler_error();
		return TG_IO;
	}
	tg_failpoint("base_counts");
	tsurugi_survey_forget();
	tsurugi_base_forget_journal();
	settle(number);
	return TG_OK;
}

static tsurugi_base_need
go_to(stage next)
{
	now = next;
	return TSURUGI_BASE_LOOK;
}

/* 8. */
static tsurugi_base_need
see_offered(void)
{
	if (tsurugi_base_offered() != 0)
		return TSURUGI_BASE_NOTHING;
	current = loaded = offered;
	settle(offered);
	return go_to(IDLE);
}

/* --- looks ------------------------------------------------------------------------------------ */

/* Whether more has been written than base_rate allows. */
static bool
is_too_fast(void)
{
	double seconds = (GetCurrentTimestamp() - begun_at) / 1e6;

	return base_rate_kb > 0 && tg_base_bytes(base) > seconds * base_rate_kb * 1024;
}

/* 6. */
static bool
is_pressed(void)
{
	return journal_max_mb > 0 && journal_is_longer(journal_max_mb * MEGABYTE / 4 * 3);
}

static tsurugi_base_need
try_write(void)
{
	tg_status status;

	if (is_too_fast())
		return TSURUGI_BASE_WAIT;
	status = tg_base_job_step(job, session, base_rate_kb > 0 ? base_rate_kb * UINT64_C(1024) / STINTS : UINT64_MAX,
							  is_pressed(), &last_error);
	if (status == TG_OK)
	{
		now = ENDING;
		return TSURUGI_BASE_MARK;
	}
	if (status == TG_BUSY)
		return TSURUGI_BASE_WAIT;
	if (status != TG_AGAIN)
		give_up(status);
	return TSURUGI_BASE_LOOK;
}

/* 2, 8. */
static tsurugi_base_need
try_survey(void)
{
	tg_status status = followed == NULL ? tsurugi_survey_look(begin_position, &last_error) : TG_OK;

	if (status == TG_AGAIN)
		return TSURUGI_BASE_LOOK;
	if (status == TG_OK)
		status = refuse_damaged();
	if (status == TG_OK)
		status = begin_base();
	if (status == TG_OK)
		return go_to(WRITING);
	give_up(status);
	return TSURUGI_BASE_LOOK;
}

tsurugi_base_need
tsurugi_base_look(XLogRecPtr position)
{
	tg_status status;

	if (followed == NULL)
		tsurugi_log_set_full(journal_max_mb > 0 && journal_is_longer(journal_max_mb * MEGABYTE)); /* 6 */
	switch (now)
	{
		case IDLE:
			if (!is_due())
			{
				if (!former.is_uninspected)
					return TSURUGI_BASE_NOTHING;
				inspect();
				return TSURUGI_BASE_LOOK;
			}
			now = BEGINNING;
			return TSURUGI_BASE_MARK;
		case BEGINNING:
			tg_assert(position >= begin_position);
			begin_position = position;
			if (followed != NULL)
			{
				bytes_at_begin = tg_journal_bytes(TSURUGI_JOURNAL_DIRECTORY, begin_position);
				return try_survey();
			}
			bytes_at_begin = tsurugi_filler_bytes();
			tsurugi_log_note(); /* 1 */
			return go_to(GATHERING);
		case GATHERING:
			return tsurugi_log_noted_have_ended() ? go_to(SURVEYING) : TSURUGI_BASE_WAIT;
		case SURVEYING:
			return try_survey();
		case WRITING:
			return try_write();
		case ENDING:
			status = finish(position);
			if (status != TG_OK)
				give_up(status);
			return TSURUGI_BASE_LOOK;
		case OFFERED:
			return see_offered();
	}
	return TSURUGI_BASE_NOTHING;
}

uint64
tsurugi_base_follow_end(void)
{
	if (now == OFFERED)
		(void) see_offered();
	tsurugi_base_abandon();
	serving = tsurugi_base_served(); /* the primary writes the base that somebody waits for */
	followed = NULL;
	is_measured = false;
	bytes_at_base = 0;
	return loaded;
}
