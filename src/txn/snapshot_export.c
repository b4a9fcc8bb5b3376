/*
 * snapshot_export.c
 *	  Snapshots that one session hands to another: pg_export_snapshot(), SET TRANSACTION SNAPSHOT.
 *
 * PostgreSQL writes an exported snapshot to a file, named by the exporter's virtual transaction and
 * a number.  Any session that knows the name may read at it as long as the exporter runs.  Here
 * each exported snapshot gets a loan (lending.c) of the time R that belongs to it (M4); the loan is
 * found by the same name.
 *
 *	exporter	PostgreSQL's snapshot H, file	R, published; loan	name to client; end: entry, loan
 *	importer							SET TRANSACTION SNAPSHOT: H, R adopted, reads
 *
 * 1. If all statements of the transaction read at one R, R is that one.  At READ COMMITTED, R is
 *	  drawn when the run that exported has ended, so after H was taken.  It is matched with H
 *	  (mixed.c), which is read from the file: the function may have run deep within others, at a
 *	  snapshot that only PostgreSQL knows.
 * 2. The client gets the name when the run has ended, so no session knows it before the loan
 *	  exists.  Left out: a function that passes the name on by itself while it runs, and exports of
 *	  logical decoding.  A session that imports one of these draws a time of its own.
 * 3. If PostgreSQL has imported H, the exporter was still running then.  So a loan that is not
 *	  found never existed, unless the exporter has ended since; in that case the import fails as
 *	  PostgreSQL's does.
 * 4. From then on exporter and importers stay at R: it is neither drawn again nor extended (W5).  A
 *	  transaction that would need that gets 40001.
 * 5. SERIALIZABLE and SHORT need an entry that stands for all times from R on, and only
 *	  transactions of these levels publish one; PostgreSQL has the same rule.  READ ONLY imports a
 *	  safe snapshot, or nothing; LONG reads at its own start.  The R that LONG or READ ONLY exports
 *	  must fit H (moment.c, 4).
 */
#include "postgres.h"

#include "src/txn/snapshot_export.h"

#include <unistd.h>

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "storage/sinvaladt.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/reclaim/horizon.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/lending.h"
#include "src/txn/mixed.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/promotion.h"
#include "src/txn/snapshot.h"

bool tsurugi_export_is_noted;
static int own_count;	/* exports of the running transaction that have a loan */
static uint64 own_host; /* the running transaction, if it has exports */
static ExecutorRun_hook_type previous_executor_run;

/* The running transaction has imported an entry for all times from R on; a safe snapshot. */
static bool imported_from;
static bool imported_safe;

/* --- PostgreSQL's files ---------------------------------------------------------------------- */

static void
make_path(char path[MAXPGPATH], int number)
{
	snprintf(path, MAXPGPATH, "pg_snapshots/%08X-%08X-%d", MyProc->backendId, MyProc->lxid, number);
}

/*
 * The snapshot in a file, with the fields that XidInMVCCSnapshot needs; in the current memory
 * context.
 */
static Snapshot
read_file(int number)
{
	SnapshotData *host = palloc0(sizeof(SnapshotData));
	char path[MAXPGPATH];
	char line[64];
	FILE *file;

	make_path(path, number);
	file = AllocateFile(path, PG_BINARY_R);
	if (file == NULL)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\" for reading: %m", path)));
	host->snapshot_type = SNAPSHOT_MVCC;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		unsigned value;

		if (sscanf(line, "xmin:%u", &value) == 1)
			host->xmin = value;
		else if (sscanf(line, "xmax:%u", &value) == 1)
			host->xmax = value;
		else if (sscanf(line, "xcnt:%u", &value) == 1)
			host->xip = palloc((value + 1) * sizeof(TransactionId));
		else if (sscanf(line, "xip:%u", &value) == 1)
			host->xip[host->xcnt++] = value;
		else if (sscanf(line, "sof:%u", &value) == 1)
			host->suboverflowed = value != 0;
		else if (sscanf(line, "sxcnt:%u", &value) == 1)
			host->subxip = palloc((value + 1) * sizeof(TransactionId));
		else if (sscanf(line, "sxp:%u", &value) == 1)
			host->subxip[host->subxcnt++] = value;
	}
	if (FreeFile(file) != 0 || !TransactionIdIsNormal(host->xmax))
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read file \"%s\": %m", path)));
	return host;
}

static bool
is_exported(int number)
{
	char path[MAXPGPATH];

	make_path(path, number);
	return access(path, F_OK) == 0;
}

/* --- exporting ------------------------------------------------------------------ */

static void
check_fit(int number)
{
	tg_time misfit;

	if (IsolationUsesXactSnapshot() && (tsurugi_kind == TG_TXN_ORDINARY || tsurugi_kind == TG_TXN_SHORT))
		return; /* matched when it was drawn */
	misfit = tsurugi_mixed_misfit(read_file(number), tsurugi_snapshot_time());
	if (misfit != 0)
		tsurugi_error_moment(misfit);
}

/* Rule 1: finds the time, its exclusions, and an entry, which is withdrawn with the export. */
static const tg_exclusions *
find_time(tsurugi_loan *export)
{
	const tg_exclusions *excluded;
	Snapshot host;

	if (tsurugi_has_one_snapshot())
	{
		tsurugi_promotion_check("export their snapshots");
		check_fit(export->number);
		excluded = tsurugi_snapshot_excluded();
		export->taken = tsurugi_snapshot_taken();
		tsurugi_loan_publish(export, tsurugi_snapshot_time(), excluded, tsurugi_is_validated());
		tsurugi_snapshot_fix();
		return excluded;
	}
	host = read_file(export->number);
	export->time = tg_snapshot_publish(tsurugi_session(), &export->entry);
	if (!tsurugi_mixed_match(host, export->entry, &export->time, &excluded))
	{
		tg_snapshot_withdraw(tsurugi_session(), export->entry);
		tsurugi_error_too_late();
	}
	export->taken = GetCurrentStatementStartTimestamp();
	export->from = excluded != NULL;
	export->published = tsurugi_loan_bound(export->time, excluded);
	return excluded;
}

static void
add_export(int number)
{
	tsurugi_loan export = {.number = number};
	const tg_exclusions *excluded;

	own_host = tsurugi_own_host();
	tsurugi_shared_check_command("export a snapshot");
	tsurugi_access();
	export.is_safe = tsurugi_kind == TG_TXN_READ_ONLY
						 ? !tsurugi_minds_areas
						 : tsurugi_kind == TG_TXN_ORDINARY && IsolationIsSerializable() && !tsurugi_tracks;
	excluded = find_time(&export);
	if (tsurugi_loan_enter(&export, excluded) == NULL)
		tsurugi_error(TG_NO_MEMORY, NULL);
	own_count = number;
}

void
tsurugi_export_look(void)
{
	if (!XactHasExportedSnapshots() || !tsurugi_isolation_has_tables())
		return;
	while (is_exported(own_count + 1) && !tg_failpoint_refuses("skip_export"))
		add_export(own_count + 1);
}

static void
executor_run(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	if (previous_executor_run != NULL)
		previous_executor_run(query, direction, count, once);
	else
		standard_ExecutorRun(query, direction, count, once);
	if (tsurugi_export_is_noted)
		tsurugi_export_look();
}

/*
 * The hook is registered only in backends that export, so that it does not slow down others' runs.
 */
void
tsurugi_export_note_function(Oid function)
{
	static bool hooked;

	if (function != F_PG_EXPORT_SNAPSHOT)
		return;
	tsurugi_export_is_noted = true;
	if (hooked)
		return;
	previous_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
	hooked = true;
}

void
tsurugi_export_end(bool committed)
{
	if (own_count > 0)
		tsurugi_loan_withdraw(own_host, 1, own_count);
	own_count = 0;
	tsurugi_export_is_noted = false;
}

/* --- importing ------------------------------------------------------------------ */

static bool
is_running(uint64 host)
{
	const PGPROC *process = BackendIdGetProc((BackendId) (host >> 32));

	return process != NULL && process->lxid == (LocalTransactionId) host;
}

static void
import(uint64 host, int number)
{
	const tg_exclusions *excluded;
	tsurugi_loan export;
	unsigned entry;

	if (tsurugi_loan_take(host, number, &export, &excluded, &entry))
	{
		tsurugi_snapshot_import(export.time, excluded, export.taken, entry);
		imported_from = export.from;
		imported_safe = export.is_safe;
	}
	else if (!is_running(host))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("could not import the requested snapshot"),
				 errdetail("The source transaction is not running anymore.")));
}

void
tsurugi_export_import(const VariableSetStmt *statement)
{
	unsigned backend;
	unsigned transaction;
	int number;

	if (statement->kind != VAR_SET_MULTI || strcmp(statement->name, "TRANSACTION SNAPSHOT") != 0 ||
		!tsurugi_isolation_has_tables() || tg_failpoint_refuses("skip_import") ||
		sscanf(strVal(&linitial_node(A_Const, statement->args)->val), "%8X-%8X-%d", &backend, &transaction, &number) !=
			3)
		return;
	tsurugi_shared_check_command("import a snapshot");
	tg_failpoint("import");
	import((uint64) backend << 32 | transaction, number);
}

/* Rule 5. */
static bool
may_use(tg_txn_kind kind)
{
	switch (kind)
	{
		case TG_TXN_ORDINARY:
			return imported_from || XactReadOnly || !IsolationIsSerializable();
		case TG_TXN_SHORT:
			return imported_from;
		case TG_TXN_READ_ONLY:
			return imported_safe;
		case TG_TXN_LONG:
			break;
	}
	return false;
}

bool
tsurugi_export_may_be_used(void)
{
	return !tsurugi_snapshot_is_imported() || may_use((tg_txn_kind) tsurugi_transaction_type);
}

void
tsurugi_export_check_kind(void)
{
	if (!tsurugi_snapshot_is_imported())
		return;
	tsurugi_shared_check_command("use an imported snapshot");
	if (!tsurugi_export_may_be_used())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot read foreign tables at the imported snapshot in this kind of transaction"),
						errdetail("The transaction that exported it was of another kind."),
						errhint("Reset tsurugi_fdw.transaction_type, or set it where the snapshot is exported; a long "
								"transaction imports none.")));
}
