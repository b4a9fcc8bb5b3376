/*
 * loading.c
 *	  The worker brings the tables back at a start.
 *
 * The runtime loads them (durable/load.h); this file tells it where the files are, serves
 * PostgreSQL meanwhile, and turns what it reports into what sessions are told.
 */
#include "postgres.h"

#include "src/durable/loading.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/files.h"
#include "runtime/durable/follow.h"
#include "runtime/durable/load.h"
#include "runtime/start.h"
#include "src/base/others.h"
#include "src/durable/base_writer.h"
#include "src/durable/filler.h"
#include "src/log/damage.h"
#include "src/txn/prepared.h"

#define SLEEP_MS 10

void
tsurugi_loading_define(void)
{
	DefineCustomBoolVariable(
		"tsurugi_fdw.ignore_damage", "Whether tables whose files are damaged are loaded as far as they can be read.",
		"What cannot be read is lost then.", &tsurugi_ignore_damage, false, PGC_POSTMASTER, 0, NULL, NULL, NULL);
}

static tg_load_progress progress;

/* Between two steps of the load; context: what is told. */
static bool
go_on(void *context, bool sleep)
{
	int events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;
	tsurugi_durability *told = context;

	told->phase = (tg_load_phase) tg_load_relaxed(&progress.phase);
	told->phase_done = (int64) tg_load_relaxed(&progress.done);
	told->phase_total = (int64) tg_load_relaxed(&progress.total);
	tsurugi_durability_tell(told);
	tg_failpoint("load_goes_on");
	(void) WaitLatch(MyLatch, events, sleep ? SLEEP_MS : 0, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	return !ShutdownRequestPending;
}

static void
describe_problem(tg_status status, const tg_load_report *report, char *text, size_t bytes)
{
	const char *what = report->problem != NULL ? report->problem : "they could not be loaded";

	if (status == TG_NO_MEMORY)
		snprintf(text, bytes, "They need more than the %s that tsurugi_fdw.memory_max allows.",
				 GetConfigOptionByName("tsurugi_fdw.memory_max", NULL, false));
	else if (report->problem_position != 0)
		snprintf(text, bytes, "%s, at %X/%X in the log", what, (uint32) (report->problem_position >> 32),
				 (uint32) report->problem_position);
	else if (report->error.what == NULL)
		snprintf(text, bytes, "%s", what);
	else
	{
		int count = snprintf(text, bytes, "%s: ", what);

		tg_file_error_describe(&report->error, text + count, bytes - (size_t) count);
	}
}

/* Those that have it are refused one by one, unless it is ignored.  False: there are too many. */
static bool
list_damages(const tg_load_report *report, bool is_ignored)
{
	for (size_t i = 0; i < report->damage_count; i++)
	{
		const tg_load_damage *found = &report->damages[i];
		tsurugi_damage damage = {.database = found->database,
								 .relation = found->relation,
								 .storage = found->storage,
								 .is_there = is_ignored,
								 .position = found->position};

		strlcpy(damage.what, found->what, sizeof(damage.what));
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED), errmsg("the contents of relation %u in database %u are damaged: %s",
														 found->relation, found->database, found->what)));
		if (!tsurugi_damage_add(&damage))
			return false;
	}
	return true;
}

static tg_status
judge(tg_status status, const tg_load_config *config, const tg_load_report *report, tsurugi_durability *told)
{
	if (report->problem != NULL || (status != TG_OK && status != TG_CANCELLED))
	{
		describe_problem(status, report, told->error, sizeof(told->error));
		told->error_time = GetCurrentTimestamp();
		ereport(LOG,
				(errmsg("tables of tsurugi_fdw are not loaded as they were"), errdetail_internal("%s", told->error)));
	}
	if (status == TG_OK && !list_damages(report, config->ignore_damage))
	{
		snprintf(told->error, sizeof(told->error), "More than %d tables are damaged.", TSURUGI_DAMAGED_MAX);
		status = TG_DAMAGED;
	}
	if (status == TG_OK && report->storages > 0)
		ereport(LOG, (errmsg("tsurugi_fdw has loaded %llu tables with %llu rows in %lld ms",
							 (unsigned long long) report->storages, (unsigned long long) report->rows,
							 (long long) (told->load_us / 1000))));
	told->refusal = status == TG_NO_MEMORY ? ERRCODE_CANNOT_CONNECT_NOW : ERRCODE_DATA_CORRUPTED;
	return status;
}

/* tg_load_config */
static uint64
prepared_host(void *context, uint32 xid)
{
	return tsurugi_prepared_is_open(xid) ? TSURUGI_HOST_PREPARED | xid : 0;
}

static tg_status
note_prepared(const tg_load_report *report, tg_bytes *going_on)
{
	tg_status status = tg_bytes_reserve(going_on, (report->prepared_count + 1) * TG_NUMBER_BYTES_MAX);

	going_on->count = 0;
	for (size_t i = 0; i < report->prepared_count && status == TG_OK; i++)
		tg_bytes_put_number(going_on, report->prepared[i]);
	return status;
}

/* Of the last load, or of one that ends following. */
static void
tell(tsurugi_durability *told, const tg_load_report *report, TimestampTz since)
{
	told->tables_loaded = (int64) report->storages;
	told->rows_loaded = (int64) report->rows;
	told->bytes_loaded = (int64) report->bytes;
	told->changes_loaded = (int64) report->changes;
	told->load_us = GetCurrentTimestamp() - since;
}

static tg_status
load_from(uint64 base, bool needs_whole_base, tsurugi_durability *told, tg_bytes *going_on)
{
	tg_load_config config = {.journal = TSURUGI_JOURNAL_DIRECTORY,
							 .bases = TSURUGI_BASE_DIRECTORY,
							 .base = base,
							 .system = GetSystemIdentifier(),
							 .ignore_damage = tsurugi_ignore_damage && !needs_whole_base,
							 .needs_whole_base = needs_whole_base,
							 .prepared = prepared_host,
							 .go_on = go_on,
							 .context = told,
							 .waiter = MyLatch,
							 .progress = &progress};
	TimestampTz since = GetCurrentTimestamp();
	tg_load_report report = {0};
	tg_session *session;
	tg_status status;

	if (tg_session_open(&session) != TG_OK)
		ereport(FATAL, (errcode(ERRCODE_TOO_MANY_CONNECTIONS), errmsg("all sessions of tsurugi_fdw are taken")));
	status = tg_load(session, &config, &report);
	if (status == TG_OK && note_prepared(&report, going_on) != TG_OK)
		ereport(FATAL, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	tg_runtime_session_end(session);
	tell(told, &report, since);
	status = judge(status, &config, &report, told);
	tg_load_report_free(&report);
	return status;
}

/* Instead of the last base, which is damaged. */
static tg_status
load_former(uint64 base, tsurugi_durability *told, tg_bytes *going_on)
{
	tg_status status = load_from(base, true, told, going_on);

	if (status != TG_OK)
		return status;
	ereport(LOG, (errmsg("tsurugi_fdw has loaded the base before the last one, which is damaged")));
	return tsurugi_filler_set_base(base) ? TG_OK : TG_IO;
}

/*
 * If a file of the last base is damaged, the former one is used, which was kept with its journal
 * (base_writer.c, 4).  If that is damaged, too, what the last one has is loaded.
 */
tg_status
tsurugi_load_tables(tsurugi_durability *told, tg_bytes *going_on)
{
	uint64 base = tsurugi_filler_state().base;
	tg_status status = load_from(base, true, told, going_on);

	if (status == TG_DAMAGED && base > 0)
		status = load_former(base - 1, told, going_on);
	return status == TG_DAMAGED ? load_from(base, false, told, going_on) : status;
}

/* --- to follow ------------------------------------------------------------------------------- */

/*
 * Damage is never ignored here: what a standby lacks its primary has, and a change that does not
 * fit could not be told from a new fault.
 */
static tg_status
load_to_follow(tg_session *session, uint64 base, bool needs_whole_base, tg_load_config *config,
			   tsurugi_durability *told, tg_load_report *report)
{
	TimestampTz since = GetCurrentTimestamp();
	tg_status status;

	config->base = base;
	config->needs_whole_base = needs_whole_base;
	status = tg_load(session, config, report);
	tell(told, report, since);
	status = judge(status, config, report, told);
	if (status != TG_OK)
		tg_load_report_free(report);
	return status;
}

tg_status
tsurugi_load_to_follow(tg_session *session, uint64 base, XLogRecPtr until, tg_load_config *config,
					   tsurugi_durability *told, tg_load_report *report)
{
	tg_status status;

	*config = (tg_load_config){.journal = TSURUGI_JOURNAL_DIRECTORY,
							   .bases = TSURUGI_BASE_DIRECTORY,
							   .system = GetSystemIdentifier(),
							   .follows = true,
							   .until = until,
							   .prepared = prepared_host,
							   .go_on = go_on,
							   .context = told,
							   .waiter = MyLatch,
							   .progress = &progress};
	status = load_to_follow(session, base, true, config, told, report);
	if (status == TG_DAMAGED && base > 0)
		status = load_to_follow(session, base - 1, true, config, told, report);
	return status == TG_DAMAGED ? load_to_follow(session, base, false, config, told, report) : status;
}

static void
tell_lost(const tg_load_report *report)
{
	char text[TG_PATH_MAX + 256];

	tg_file_error_describe(&report->error, text, sizeof(text));
	for (size_t i = 0; i < report->lost_count; i++)
		ereport(LOG, (errcode(ERRCODE_DATA_CORRUPTED),
					  errmsg("what prepared transaction %u has changed cannot be read: %s", report->lost[i], text),
					  errhint("The transaction can only be rolled back.")));
}

tg_status
tsurugi_load_end_following(tg_session *session, tg_load_config *config, const tg_follow *follow,
						   tsurugi_durability *told, tg_bytes *going_on)
{
	size_t count;
	const tg_load_with *withs = tg_follow_withs(follow, &count);
	tg_load_report report = {0};
	tg_status status;

	config->follows = false;
	status = tg_load_end_following(session, config, tg_follow_undecided(follow), withs, count, &report);
	if (status == TG_OK && note_prepared(&report, going_on) != TG_OK)
		ereport(FATAL, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	status = judge(status, config, &report, told);
	tell_lost(&report);
	tg_load_report_free(&report);
	return status;
}
