/*
 * snapshot_export.c
 *	  Snapshots that are handed from session to session: pg_export_snapshot(), SET TRANSACTION SNAPSHOT.
 *
 * PostgreSQL writes an exported snapshot to a file, named by the exporter's virtual transaction and a number, and whoever
 * knows the name may read by it as long as the exporter runs.  Here each of them gets a record with the time R that belongs to it
 * (M4), which is found by the same name.
 *
 *	exporter	PostgreSQL's snapshot H, file		R, published; record		client gets the name .......... end: record, entry
 *	importer														SET TRANSACTION SNAPSHOT: H, R adopted, reads
 *
 * 1. R is the transaction's, where all its statements have one.  At READ COMMITTED it is drawn when the run that exported has ended,
 *	  so after H was taken, and matched with H (mixed.c), which is read from the file: the function may have run deep within
 *	  others, by a snapshot that nobody else knows.
 * 2. The client gets the name when the run has ended, so nobody knows it before there is a record.  Left out: a function that hands the
 *	  name on by itself while it runs, and exports of logical decoding: who imports those draws a time of its own, as before.
 * 3. (M3) A record's time is published by the exporter, in an entry of its own, which does not move when the transaction's does; the
 *	  importer adopts it (horizon.c, 12) under the lock that the record is taken away under.  So the horizon is never without one
 *	  of the two; after that the exporter may go.
 * 4. If PostgreSQL has imported H, the exporter had not come to its end by then, so a record that is not found was
 *	  never there, unless the exporter has ended since: then this fails as PostgreSQL does.
 * 5. From then on exporter and importers stay at R: it is neither drawn again nor extended (W5), and who would need that gets 40001.
 * 6. What is not shown by H, and excluded at R, goes with the record: the ring may have forgotten it (mixed.c, 6).
 * 7. SERIALIZABLE and SHORT need an entry that stands for all times from R on, which only those publish that are of these levels; PostgreSQL
 *	  has the same rule.  READ ONLY imports a safe snapshot, or nothing; LONG reads at its own start.
 *	  What LONG or READ ONLY export has to fit H (moment.c, 4).
 */
#include "postgres.h"

#include "src/txn/snapshot_export.h"

#include <unistd.h>

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "storage/fd.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/sinvaladt.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "src/base/session.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/mixed.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot.h"

/* In the arena.  Does not change while it is in the list. */
typedef struct Export
{
	struct Export *next;
	uint64 host; /* the exporter's virtual transaction */
	int number;	 /* among its exports */
	unsigned entry;
	tg_time time;	   /* R */
	tg_time published; /* that, or earlier; rule 6 */
	bool from;		   /* for all times from there on */
	bool is_safe;	   /* as READ ONLY reads */
	TimestampTz taken;
	tg_exclusions excluded;
} Export;

/* In PostgreSQL's shared memory. */
typedef struct Exports
{
	LWLock lock;
	Export *first; /* under the lock */
} Exports;

static Exports *exports;

bool tsurugi_export_is_noted;
static int own_count;	/* exports of the running transaction that have been looked at */
static uint64 own_host; /* it, if there are any */
static ExecutorRun_hook_type previous_executor_run;

/* What the running transaction has imported. */
static bool imported_from;
static bool imported_safe;

Size
tsurugi_export_shared_bytes(void)
{
	return sizeof(Exports);
}

void
tsurugi_export_shared_create(void)
{
	static int tranche; /* the children inherit its name */
	bool there;

	exports = ShmemInitStruct("tsurugi_fdw exported snapshots", sizeof(Exports), &there);
	exports->first = NULL;
	tranche = tranche != 0 ? tranche : LWLockNewTrancheId();
	LWLockRegisterTranche(tranche, "tsurugi_fdw exported snapshots");
	LWLockInitialize(&exports->lock, tranche);
}

/* --- PostgreSQL's files ---------------------------------------------------------------------- */

static void
make_path(char path[MAXPGPATH], int number)
{
	snprintf(path, MAXPGPATH, "pg_snapshots/%08X-%08X-%d", MyProc->backendId, MyProc->lxid, number);
}

/* The snapshot in a file, as far as XidInMVCCSnapshot asks; in the current memory context. */
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

/* --- exporting ----------------------------------------------------------------------------------- */

static tg_time
published_with(tg_time time, const tg_exclusions *excluded)
{
	for (unsigned i = 0; excluded != NULL && i < excluded->count; i++)
		time = Min(time, excluded->time[i] - 1);
	return time;
}

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

/* Rule 1: the time, its exclusions, and an entry, which is withdrawn with the export. */
static const tg_exclusions *
find_time(Export *export)
{
	const tg_exclusions *excluded;
	Snapshot host;

	if (tsurugi_has_one_snapshot())
	{
		check_fit(export->number);
		export->time = tsurugi_snapshot_time();
		excluded = tsurugi_snapshot_excluded();
		export->taken = tsurugi_snapshot_taken();
		export->from = tsurugi_is_validated() || excluded != NULL;
		export->published = published_with(export->time, excluded);
		tg_snapshot_adopt(tsurugi_session(), export->published, export->from, &export->entry);
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
	export->published = published_with(export->time, excluded);
	return excluded;
}

/* Enters the record in the list.  The entry is withdrawn if there is no memory for it. */
static void
enter_export(const Export *export, const tg_exclusions *excluded)
{
	unsigned count = excluded != NULL && !tg_failpoint_refuses("export_no_exclusions") ? excluded->count : 0;
	Export *made = tg_alloc(tsurugi_session(), sizeof(*made) + count * sizeof(tg_time), TG_USE_RUNTIME, TG_DATA);

	if (made == NULL)
	{
		tg_snapshot_withdraw(tsurugi_session(), export->entry);
		tsurugi_error(TG_NO_MEMORY, NULL);
	}
	*made = *export;
	made->excluded.count = count;
	if (count > 0)
		memcpy(made->excluded.time, excluded->time, count * sizeof(tg_time));
	LWLockAcquire(&exports->lock, LW_EXCLUSIVE);
	made->next = exports->first;
	exports->first = made;
	LWLockRelease(&exports->lock);
}

static void
add_export(int number)
{
	Export export = {.number = number};
	const tg_exclusions *excluded;

	own_host = export.host = (uint64) MyProc->backendId << 32 | MyProc->lxid;
	tsurugi_shared_check_command("export a snapshot");
	tsurugi_access();
	export.is_safe = tsurugi_kind == TG_TXN_READ_ONLY
						 ? !tsurugi_minds_areas
						 : tsurugi_kind == TG_TXN_ORDINARY && IsolationIsSerializable() && !tsurugi_tracks;
	excluded = find_time(&export);
	enter_export(&export, excluded);
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

/* The hook is for backends that export: others' runs are not slowed down by it. */
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

/* Rule 3: the record goes first. */
static void
withdraw_all(void)
{
	tg_session *session = tsurugi_session();
	Export *own = NULL;

	LWLockAcquire(&exports->lock, LW_EXCLUSIVE);
	for (Export **link = &exports->first; *link != NULL;)
	{
		Export *export = *link;

		if (export->host != own_host)
		{
			link = &export->next;
			continue;
		}
		*link = export->next;
		export->next = own;
		own = export;
	}
	LWLockRelease(&exports->lock);
	while (own != NULL)
	{
		Export *export = own;

		own = export->next;
		tg_snapshot_withdraw(session, export->entry);
		tg_free(session, export, TG_USE_RUNTIME);
	}
}

void
tsurugi_export_end(void)
{
	if (own_count > 0)
		withdraw_all();
	own_count = 0;
	tsurugi_export_is_noted = false;
}

/* --- importing ------------------------------------------------------------------------------------- */

/* Under the lock. */
static const Export *
find_export(uint64 host, int number)
{
	const Export *export = exports->first;

	while (export != NULL && (export->host != host || export->number != number))
		export = export->next;
	return export;
}

static void
adopt(const Export *export)
{
	tg_exclusions *excluded = NULL;
	unsigned entry;

	if (export->excluded.count > 0)
	{
		size_t bytes = sizeof(tg_exclusions) + export->excluded.count * sizeof(tg_time);

		excluded = MemoryContextAlloc(TopTransactionContext, bytes);
		memcpy(excluded, &export->excluded, bytes);
	}
	tg_snapshot_adopt(tsurugi_session(), export->published, export->from, &entry);
	tsurugi_snapshot_import(export->time, excluded, export->taken, entry);
	imported_from = export->from;
	imported_safe = export->is_safe;
}

static bool
is_running(uint64 host)
{
	const PGPROC *process = BackendIdGetProc((BackendId) (host >> 32));

	return process != NULL && process->lxid == (LocalTransactionId) host;
}

static void
import(uint64 host, int number)
{
	const Export *export;

	(void) tsurugi_session(); /* not under the lock */
	LWLockAcquire(&exports->lock, LW_SHARED);
	export = find_export(host, number);
	if (export != NULL)
		adopt(export);
	LWLockRelease(&exports->lock);
	if (export == NULL && !is_running(host))
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

/* Rule 7. */
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

void
tsurugi_export_check_kind(void)
{
	if (!tsurugi_snapshot_is_imported())
		return;
	tsurugi_shared_check_command("use an imported snapshot");
	if (!may_use((tg_txn_kind) tsurugi_transaction_type))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot read foreign tables at the imported snapshot in this kind of transaction"),
						errdetail("The transaction that exported it was of another kind."),
						errhint("Reset tsurugi_fdw.transaction_type, or set it where the snapshot is exported; a long "
								"transaction imports none.")));
}
