/*
 * load_failure.c
 *	  Why a load by the pool has failed: as an error, as a message, and whether the session can do
 *	  better.
 */
#include "postgres.h"

#include "src/copy/load_running.h"

#include "miscadmin.h"
#include "utils/rel.h"

#include "src/base/status_error.h"
#include "src/copy/copy.h"
#include "src/copy/load_pool.h"

/* --- errors ---------------------------------------------------------------------------------- */

typedef struct Failure
{
	const tsurugi_load *load;
	const tg_loader_report *report;
	bool is_lent;
} Failure;

static void
describe_failure(void *argument)
{
	const Failure *failure = argument;
	const tg_loader_report *report = failure->report;
	const char *table = RelationGetRelationName(failure->load->relation);
	const tsurugi_load_file *file = list_nth(failure->load->files, (int) report->file);

	char *committed = failure->is_lent ? "" : psprintf("; " UINT64_FORMAT " rows are committed", report->rows);

	if (report->failure == TG_LOADER_CANCELLED)
		errcontext("load of %s%s", table, committed);
	else if (report->row > 0)
		errcontext("load of %s, file \"%s\", row " UINT64_FORMAT "%s", table, file->name, report->row, committed);
	else
		errcontext("load of %s, file \"%s\"%s", table, file->name, committed);
}

/* Why the load has failed, as an error. */
static void
raise_failure(const tsurugi_load *load, const tg_loader_report *report)
{
	const tsurugi_load_file *file = list_nth(load->files, (int) report->file);
	tsurugi_file named = {.name = file->name, .format = file->format};
	const tg_loader_row row = {
		.failure = report->failure, .cell = report->cell, .index = report->index, .column = report->column};

	switch (report->failure)
	{
		case TG_LOADER_WELL:
			return;
		case TG_LOADER_CANCELLED:
			tsurugi_error(TG_CANCELLED, load->relation);
			break;
		case TG_LOADER_STATUS:
			tsurugi_error(report->status, load->relation);
			break;
		case TG_LOADER_OPEN:
			errno = report->error_number;
			ereport(ERROR,
					(errcode_for_file_access(), errmsg("could not open file \"%s\" for reading: %m", file->name)));
			break;
		case TG_LOADER_CHANGED:
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
							errmsg("file \"%s\" has been changed since the load began", file->name)));
			break;
		case TG_LOADER_FILE:
			tsurugi_file_fail(&named, &report->fault);
			break;
		case TG_LOADER_VALUE:
		case TG_LOADER_DUPLICATE:
			tsurugi_load_raise_row(load->relation, &row);
		case TG_LOADER_ODD:
			Assert(false); /* is a row's alone */
	}
}

void
tsurugi_load_check_report(const tsurugi_load *load, const tg_loader_report *report, bool is_lent)
{
	Failure failure = {load, report, is_lent};
	ErrorContextCallback context = {.callback = describe_failure, .arg = &failure, .previous = error_context_stack};

	error_context_stack = &context;
	raise_failure(load, report);
	error_context_stack = context.previous;
}

char *
tsurugi_load_failure_message(const tsurugi_load *load, const tg_loader_report *report)
{
	MemoryContext before = CurrentMemoryContext;
	char *volatile message = NULL;

	tg_assert(report->failure != TG_LOADER_WELL && InterruptHoldoffCount == 0);
	/* an interrupt does not become the error that is caught: it stays pending */
	HOLD_INTERRUPTS();
	PG_TRY();
	{
		raise_failure(load, report);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(before);
		message = CopyErrorData()->message;
		FlushErrorState();
	}
	PG_END_TRY();
	tg_assert(InterruptHoldoffCount == 0); /* an error takes that back */
	return message;
}

/* --- what the session does then --------------------------------------------------------------- */

bool
tsurugi_load_is_for_session(const tg_loader_report *report)
{
	switch (report->failure)
	{
		case TG_LOADER_STATUS:
		case TG_LOADER_VALUE:
		case TG_LOADER_DUPLICATE:
			return true;
		case TG_LOADER_FILE:
			return report->fault.status == TG_NO_MEMORY;
		case TG_LOADER_OPEN:
			return report->error_number == EMFILE || report->error_number == ENFILE;
		default:
			return false;
	}
}

const char *
tsurugi_load_reason_for_session(const tsurugi_load *load, const tg_loader_report *report)
{
	if (report->failure == TG_LOADER_STATUS && report->status == TG_UNFIT)
		return "the transaction cannot be lent to tasks";
	if (report->failure == TG_LOADER_STATUS && report->status == TG_BUSY)
		return "a row has to wait for another transaction";
	return tsurugi_load_failure_message(load, report);
}
