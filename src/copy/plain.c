/*
 * plain.c
 *	  COPY t FROM in PostgreSQL's own formats, of tables in memory: by tasks of the pool.
 *
 * Users see what PostgreSQL's COPY shows, whoever has stored the rows.  So the pool only tries: it
 * works in a part of the transaction (a subtransaction), and whatever it fails by, that part is
 * rolled back, and PostgreSQL's COPY reads all of the file.  It waits for other transactions, and
 * raises the first row's error, with the line and the column.  Only what interrupts the statement
 * is raised at once.
 *
 * The pool is not asked for small files, which PostgreSQL's COPY has stored before tasks have
 * begun, nor for what tsurugi.load() would not do as COPY does: a name that is a pattern there, or
 * stands for a compressed file.  It does not judge rights, but is asked only where COPY would have
 * found them, before it changes anything (load_prepare.c).
 */
#include "postgres.h"

#include "src/copy/plain.h"

#include <sys/stat.h>

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/copy.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/resowner.h"

#include "runtime/base/failpoint.h"
#include "src/base/session.h"
#include "src/base/subtransaction.h"
#include "src/copy/load_options.h"
#include "src/copy/load_pool.h"
#include "src/copy/packed_file.h"
#include "src/copy/server_file.h"

#define FILE_BYTES_LEAST 262144 /* that are worth a job of the pool */

/* --- which statements ------------------------------------------------------------------------- */

/* As it is written; options are judged later, where PostgreSQL's COPY does that, after rights. */
static bool
is_csv(const CopyStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->options)
	{
		const DefElem *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "format") == 0)
			return option->arg != NULL && IsA(option->arg, String) && strcmp(strVal(option->arg), "csv") == 0;
	}
	return false;
}

static bool
is_for_pool(const CopyStmt *statement)
{
	return statement->is_from && statement->filename != NULL && !statement->is_program &&
		   statement->whereClause == NULL && is_csv(statement) && !tsurugi_load_copies && !XactReadOnly &&
		   !IsInParallelMode() && tsurugi_is_our_table(RangeVarGetRelid(statement->relation, NoLock, true));
}

static bool
is_file_for_pool(const char *name, int64 *bytes_out)
{
	struct stat status;

	if (tsurugi_file_is_packed(name) || !tsurugi_file_names_any(TSURUGI_FILE_READ) || stat(name, &status) != 0 ||
		!S_ISREG(status.st_mode))
		return false;
	*bytes_out = status.st_size;
	return status.st_size >= FILE_BYTES_LEAST || tg_failpoint_refuses("copy_any_by_pool");
}

/* --- the pool tries --------------------------------------------------------------------------- */

/* What ends the statement, whoever runs it. */
static bool
is_interrupt(int code)
{
	return ERRCODE_TO_CATEGORY(code) == ERRCODE_OPERATOR_INTERVENTION;
}

/*
 * What pg_stat_progress_copy shows of one of PostgreSQL's.  Afterwards nothing is shown but by
 * tsurugi_batch_show_copy: the COPY of the header, or of a record that tasks cannot convert, would.
 */
static void
begin_progress(Oid relation, int64 bytes)
{
	static const int columns[] = {PROGRESS_COPY_COMMAND, PROGRESS_COPY_TYPE, PROGRESS_COPY_BYTES_TOTAL};
	const int64 values[] = {PROGRESS_COPY_COMMAND_FROM, PROGRESS_COPY_TYPE_FILE, bytes};

	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, relation);
	pgstat_progress_update_multi_param(lengthof(columns), columns, values);
	pgstat_track_activities = false;
}

static void
end_progress(bool tracks)
{
	pgstat_track_activities = tracks;
	pgstat_progress_end_command();
}

static bool
store_file(Relation relation, const CopyStmt *statement, int64 bytes, int64 *rows_out)
{
	ParseState *parse = make_parsestate(NULL);
	tsurugi_load load = {
		.relation = relation, .columns = statement->attlist, .shows_progress = pgstat_track_activities};
	tsurugi_load_file *file = palloc0(sizeof(*file));

	file->name = statement->filename;
	file->format = TSURUGI_FORMAT_CSV;
	load.files = list_make1(file);
	tsurugi_load_copy_options(parse, statement->options, file->format, &load);
	begin_progress(RelationGetRelid(relation), bytes);
	free_parsestate(parse);
	return tsurugi_load_by_pool(&load, rows_out);
}

/* False: nothing of it stays. */
static bool
try_file(Relation relation, const CopyStmt *statement, int64 bytes, int64 *rows_out)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	bool tracks = pgstat_track_activities;
	volatile bool stored = false;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		stored = store_file(relation, statement, bytes, rows_out);
		end_progress(tracks);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		end_progress(tracks);
		MemoryContextSwitchTo(context);
		if (is_interrupt(geterrcode()))
			tsurugi_subtransaction_raise();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		stored = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return stored;
}

/* --- the statement ---------------------------------------------------------------------------- */

bool
tsurugi_copy_plain(const tsurugi_copy *copy, uint64 *rows_out)
{
	const CopyStmt *statement = copy->statement;
	int64 bytes;
	int64 rows = 0;
	Relation relation;
	bool stored;

	if (!is_for_pool(statement) || !is_file_for_pool(statement->filename, &bytes))
		return false;
	relation = table_openrv(statement->relation, RowExclusiveLock);
	stored = try_file(relation, statement, bytes, &rows);
	table_close(relation, NoLock);
	*rows_out = (uint64) rows;
	return stored;
}
