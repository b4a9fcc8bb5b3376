/*
 * view.c
 *	  The functions behind the view tsurugi.durability, and the check of the files: of the
 *	  state, of the last base, and of the journal from there on.
 */
#include "postgres.h"

#include <errno.h>

#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/durable/base.h"
#include "runtime/durable/files.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/state.h"
#include "src/base/sql_function.h"
#include "src/base/view_row.h"
#include "src/durable/availability.h"
#include "src/durable/backup.h"
#include "src/durable/base_writer.h"
#include "src/durable/filler.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_durability);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_write_base);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_verify_files);

/* --- tsurugi.durability ----------------------------------------------------------------------- */

static const char *
state_name(const tsurugi_durability *told)
{
	switch (told->stage)
	{
		case TSURUGI_EMPTY:
			return RecoveryInProgress() ? "recovery" : "empty";
		case TSURUGI_LOADING:
			return "loading";
		case TSURUGI_OPEN:
			return "open";
		case TSURUGI_FOLLOWING:
			return "following";
		case TSURUGI_REFUSED:
			return "refused";
	}
	return NULL;
}

static void
add_error(Row *row, const tsurugi_durability *told)
{
	if (told->error_time == 0)
	{
		add_null(row);
		add_null(row);
		return;
	}
	add_text(row, told->error);
	add_datum(row, TimestampTzGetDatum(told->error_time));
}

/* On a standby. */
static void
add_applied(Row *row, const tsurugi_durability *told)
{
	if (told->stage != TSURUGI_FOLLOWING)
	{
		add_null(row);
		add_null(row);
		return;
	}
	add_datum(row, LSNGetDatum(tsurugi_applied_get()));
	add_datum(row, Float8GetDatum(tsurugi_behind_us() / 1000.0));
}

static void
add_phase(Row *row, const tsurugi_durability *told)
{
	if (told->stage != TSURUGI_LOADING)
	{
		add_null(row);
		add_null(row);
		add_null(row);
		return;
	}
	add_text(row, tsurugi_load_phase_name(told->phase));
	add_bigint(row, told->phase_done);
	add_bigint(row, told->phase_total);
}

Datum
tsurugi_fdw_durability(PG_FUNCTION_ARGS)
{
	tsurugi_durability told = tsurugi_durability_get();
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	add_text(&row, state_name(&told));
	add_datum(&row, BoolGetDatum(told.worker_pid != 0));
	add_optional(&row, told.base);
	add_bigint(&row, tg_journal_bytes(TSURUGI_JOURNAL_DIRECTORY, 0));
	add_datum(&row, LSNGetDatum(told.durable));
	add_datum(&row, LSNGetDatum(GetRedoRecPtr()));
	add_applied(&row, &told);
	add_bigint(&row, told.tables_loaded);
	add_bigint(&row, told.rows_loaded);
	add_bigint(&row, told.bytes_loaded);
	add_bigint(&row, told.changes_loaded);
	add_datum(&row, Float8GetDatum(told.load_us / 1000.0));
	add_phase(&row, &told);
	add_bigint(&row, told.checkpoints_held);
	add_datum(&row, Float8GetDatum(told.longest_hold_us / 1000.0));
	add_error(&row, &told);
	put_row(fcinfo, &row);
	return (Datum) 0;
}

Datum
tsurugi_fdw_write_base(PG_FUNCTION_ARGS)
{
	if (RecoveryInProgress() && tsurugi_durability_get().stage != TSURUGI_FOLLOWING)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a base cannot be written during recovery"),
						errdetail("Tables of tsurugi_fdw do not follow the log.")));
	if (tsurugi_backup_is_made())
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("a base cannot be written while a base backup is being made"),
						errdetail("The backup would lack files of the base.")));
	tsurugi_base_request();
	PG_RETURN_INT64((int64) tsurugi_durability_get().base);
}

/* --- tsurugi.verify_files() ------------------------------------------------------------------- */

/*
 * What was found.  Bases that are finished meanwhile take away the files of earlier ones; then all
 * is looked at again.
 */
static List *faults;

static void
note_fault(const tg_file_error *fault)
{
	tg_file_error *copy = palloc(sizeof(*copy));

	*copy = *fault;
	faults = lappend(faults, copy);
}

static void
put_fault(FunctionCallInfo fcinfo, const tg_file_error *fault)
{
	char text[TG_PATH_MAX + 256];
	Row row = {0};

	tg_file_error_describe(fault, text, sizeof(text));
	add_text(&row, fault->path);
	add_bigint(&row, fault->offset);
	add_text(&row, fault->error != 0 ? text : fault->what);
	put_row(fcinfo, &row);
}

static tg_status
note_missing(tg_journal_place place, tg_file_error *fault)
{
	*fault = (tg_file_error){.offset = place.offset, .what = "a frame is missing or damaged"};
	snprintf(fault->path, sizeof(fault->path), "%s/%016llX", TSURUGI_JOURNAL_DIRECTORY,
			 (unsigned long long) place.file);
	return TG_DAMAGED;
}

/*
 * Up to the end, or to the first fault: the frames behind it are found by no reader.  The end may
 * be in the middle of a frame, which is being written, but not before the place that is known to be
 * durable.
 */
static tg_status
read_frames(tg_journal_reader *reader, tg_journal_place durable, tg_file_error *fault)
{
	tg_journal_place place;
	const void *record;
	tg_journal_frame frame;
	tg_status status;

	while ((status = tg_journal_read(reader, &frame, &record, fault)) == TG_OK)
		CHECK_FOR_INTERRUPTS();
	place = tg_journal_read_place(reader);
	if ((status != TG_NOT_FOUND && status != TG_AGAIN) || !tg_journal_place_is_before(place, durable))
		return status;
	return note_missing(place, fault);
}

/* A file that begins behind the durable place may have nothing as yet. */
static tg_status
read_journal(uint64 least, tg_journal_place durable, tg_file_error *fault)
{
	bool has_file = durable.offset > 0;
	uint64 from = has_file ? Min(least, durable.file) : least;
	tg_journal_reader *reader;
	volatile tg_status status =
		tg_journal_read_begin(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), from, &reader, fault);

	if (status == TG_NOT_FOUND && has_file)
		return note_missing((tg_journal_place){.file = durable.file}, fault);
	if (status != TG_OK)
		return status;
	PG_TRY();
	{
		status = read_frames(reader, durable, fault);
	}
	PG_FINALLY();
	{
		tg_journal_read_end(reader);
	}
	PG_END_TRY();
	return status;
}

static tg_status
read_blocks(tg_base_stream *stream, tg_file_error *fault)
{
	const void *data;
	size_t count;
	tg_status status;

	while ((status = tg_base_stream_next(stream, &data, &count, fault)) == TG_OK)
		CHECK_FOR_INTERRUPTS();
	return status;
}

static pg_noinline tg_status
read_stream(tg_base_stream *stream, tg_file_error *fault)
{
	volatile tg_status status = TG_OK;

	PG_TRY();
	{
		status = read_blocks(stream, fault);
	}
	PG_CATCH();
	{
		tg_base_stream_close(stream);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tg_base_stream_close(stream);
	return status;
}

static void
check_memory(tg_status status)
{
	if (status == TG_NO_MEMORY)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
}

/* Each file that has a fault. */
static void
verify_files_of(const tg_base_reader *base)
{
	for (size_t place = 0; place < tg_base_facts_get(base)->file_count; place++)
	{
		tg_file_error fault = {0};
		tg_base_stream *stream;
		tg_status status = tg_base_stream_open(base, place, &stream, &fault);

		if (status == TG_OK)
			status = read_stream(stream, &fault);
		check_memory(status);
		if (status != TG_NOT_FOUND)
			note_fault(&fault);
	}
}

/* Closes the base. */
static pg_noinline void
verify_opened(tg_base_reader *base)
{
	PG_TRY();
	{
		verify_files_of(base);
	}
	PG_CATCH();
	{
		tg_base_close(base);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tg_base_close(base);
}

/* Returns the position from which on the journal is needed. */
static uint64
verify_base(uint64 number)
{
	tg_base_reader *base;
	const tg_base_facts *facts;
	tg_file_error fault = {0};
	uint64 least;
	tg_status status;

	if (number == 0)
		return 0;
	status = tg_base_open(TSURUGI_BASE_DIRECTORY, GetSystemIdentifier(), number, &base, &fault);
	check_memory(status);
	if (status != TG_OK)
	{
		note_fault(&fault);
		return PG_UINT64_MAX;
	}
	facts = tg_base_facts_get(base);
	least = Min(facts->least, facts->begin);
	verify_opened(base);
	return least;
}

/* Returns the number of the base that was looked at. */
static uint64
verify_all(void)
{
	tg_file_error fault = {0};
	tg_state state = {0};
	uint64 least;
	tg_status status = tg_state_read(TSURUGI_DIRECTORY, GetSystemIdentifier(), &state, &fault);

	if (status == TG_DAMAGED || status == TG_IO)
		note_fault(&fault);
	tg_failpoint("verify_files");
	least = verify_base(state.base);
	status = read_journal(least, state.place, &fault);
	check_memory(status);
	if (status == TG_DAMAGED || status == TG_IO)
		note_fault(&fault);
	return state.base;
}

/* Whether there is another base by now. */
static bool
has_passed(uint64 base)
{
	tg_state state = {0};
	tg_file_error ignored;

	return tg_state_read(TSURUGI_DIRECTORY, GetSystemIdentifier(), &state, &ignored) == TG_OK && state.base != base;
}

Datum
tsurugi_fdw_verify_files(PG_FUNCTION_ARGS)
{
	ListCell *cell;
	uint64 base;

	InitMaterializedSRF(fcinfo, 0);
	do
	{
		CHECK_FOR_INTERRUPTS();
		faults = NIL;
		base = verify_all();
	} while (faults != NIL && has_passed(base));
	foreach (cell, faults)
		put_fault(fcinfo, lfirst(cell));
	return (Datum) 0;
}
