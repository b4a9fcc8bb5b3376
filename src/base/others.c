/*
 * others.c
 *	  Descriptions of other transactions for the details of errors.
 *
 * A transaction is described by process, kind and label.  One that has ended can be found by the
 * time of its commit for a while (runtime/txn/author.h), and its process is named if that still has
 * the same session.
 */
#include "postgres.h"

#include "src/base/others.h"

#include "storage/proc.h"
#include "storage/sinvaladt.h"

#include "runtime/mem/session.h"
#include "runtime/txn/author.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/base/session_owner.h"
#include "src/base/shown_text.h"

static const char *
describe(int process_id, bool is_shared, tg_txn_kind kind, const char *label)
{
	static const char *const kinds[] = {[TG_TXN_ORDINARY] = "transaction",
										[TG_TXN_SHORT] = "short transaction",
										[TG_TXN_LONG] = "long transaction",
										[TG_TXN_READ_ONLY] = "read-only transaction"};
	const char *what = psprintf("%s%s", is_shared ? "shared " : "", kinds[kind]);

	if (label[0] != '\0')
		what = psprintf("%s \"%s\"", what, tsurugi_shown_text(label));
	if (process_id != 0)
		return label[0] != '\0' || kind != TG_TXN_ORDINARY ? psprintf("process %d (%s)", process_id, what)
														   : psprintf("process %d", process_id);
	return label[0] != '\0' ? what : is_shared ? "a shared transaction" : "another transaction";
}

const char *
tsurugi_describe_other(uint64_t host)
{
	const tg_wait wait = {.host = host};
	bool is_shared = tg_wait_is_for_shared(&wait);
	PGPROC *process = is_shared ? NULL : BackendIdGetProc((BackendId) (host >> 32));
	int process_id = process != NULL ? process->pid : 0;

	if ((host & TSURUGI_HOST_PREPARED) != 0)
		return psprintf("prepared transaction %u", (TransactionId) host);
	for (unsigned number = 0; number < tg_session_max() + TG_SHARED_MAX; number++)
	{
		tg_txn_report report;

		if (tg_txn_report_get(number, &report) && report.host == host)
			return describe(process_id, is_shared, report.kind, report.label);
	}
	return describe(process_id, is_shared, TG_TXN_ORDINARY, "");
}

static char *
add_line(char *text, const char *line)
{
	return text != NULL ? psprintf("%s\n%s", text, line) : NULL;
}

void
tsurugi_rethrow_wait(MemoryContext context, const char *(*describe)(const void *), const void *argument)
{
	int code = geterrcode();
	ErrorData *error;
	const char *line;

	if (code != ERRCODE_LOCK_NOT_AVAILABLE && code != ERRCODE_T_R_DEADLOCK_DETECTED)
		PG_RE_THROW();
	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	line = describe(argument);
	if (code == ERRCODE_LOCK_NOT_AVAILABLE || error->detail == NULL)
		error->detail = pstrdup(line);
	else
		error->detail = add_line(error->detail, line);
	error->detail_log = add_line(error->detail_log, line);
	ReThrowError(error);
}

const char *
tsurugi_describe_author(tg_time time)
{
	tsurugi_session_owner owner;
	tg_author author;

	if (time == 0 || !tg_author_find(time, &author))
		return NULL;
	if (author.txn >= tg_session_max())
		return describe(0, true, author.kind, author.label);
	owner = tsurugi_session_owner_get(author.txn);
	return describe(owner.since < time ? owner.process_id : 0, false, author.kind, author.label);
}
