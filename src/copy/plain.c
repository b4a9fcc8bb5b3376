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
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/resowner.h"

#include "runtime/base/failpoint.h"
#include "src/base/session.h"
#include "src/base/subtransaction.h"
#include "src/copy/load_options.h"
#include "src/copy/load.h"
#include "src/copy/packed_file.h"
#include "src/copy/server_file.h"
#include "src/table/relation.h"

#define FILE_BYTES_LEAST 262144 /* that are worth a job of the pool */

/* --- which statements ------------------------------------------------------------------------- */

bool
tsurugi_plain_is_text(const CopyStmt *statement)
{
	return strcmp(tsurugi_copy_format_word(statement), "text") == 0;
}

static bool
has_option(const CopyStmt *statement, const char *name)
{
	ListCell *cell;

	foreach (cell, statement->options)
		if (strcmp(lfirst_node(DefElem, cell)->defname, name) == 0)
			return true;
	return false;
}

static bool
is_for_pool(const CopyStmt *statement)
{
	return statement->is_from && !statement->is_program && statement->whereClause == NULL &&
		   (tsurugi_plain_is_text(statement) || strcmp(tsurugi_copy_format_word(statement), "csv") == 0) &&
		   !tsurugi_load_copies && !XactReadOnly && !IsInParallelMode() &&
		   tsurugi_is_our_table(RangeVarGetRelid(statement->relation, NoLock, true));
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

void
tsurugi_plain_begin_progress(Oid relation, int64 type, int64 bytes)
{
	static const int columns[] = {PROGRESS_COPY_COMMAND, PROGRESS_COPY_TYPE, PROGRESS_COPY_BYTES_TOTAL};
	const int64 values[] = {PROGRESS_COPY_COMMAND_FROM, type, bytes};

	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, relation);
	pgstat_progress_update_multi_param(lengthof(columns), columns, values);
}

bool
tsurugi_plain_try(tsurugi_plain_store *store, void *argument, int64 *rows_out)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	bool tracks = pgstat_track_activities;
	volatile bool stored = false;
	char *volatile message = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		stored = store(argument, rows_out);
		pgstat_track_activities = tracks;
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		pgstat_track_activities = tracks;
		MemoryContextSwitchTo(context);
		if (is_interrupt(geterrcode()))
			tsurugi_subtransaction_raise();
		message = CopyErrorData()->message;
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		stored = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (message != NULL)
		ereport(DEBUG1, (errmsg_internal("the pool gives up a COPY: %s", message)));
	return stored;
}

/* --- files of the server ------------------------------------------------------------------- */

typedef struct ServerFile
{
	const CopyStmt *statement;
	Relation relation;
	int64 bytes;
} ServerFile;

static bool
store_file(void *argument, int64 *rows_out)
{
	const ServerFile *given = argument;
	ParseState *parse = make_parsestate(NULL);
	tsurugi_load load = {.relation = given->relation,
						 .columns = given->statement->attlist,
						 .is_text = tsurugi_plain_is_text(given->statement),
						 .is_plain = true,
						 .shows_progress = pgstat_track_activities};
	tsurugi_load_file *file = palloc0(sizeof(*file));

	file->name = given->statement->filename;
	file->format = TSURUGI_FORMAT_CSV;
	load.files = list_make1(file);
	tsurugi_load_copy_options(parse, given->statement->options, file->format, &load);
	free_parsestate(parse);
	tsurugi_plain_begin_progress(RelationGetRelid(load.relation), PROGRESS_COPY_TYPE_FILE, given->bytes);
	/* a COPY of the header, or of a record that tasks cannot convert, would be shown */
	pgstat_track_activities = false;
	return tsurugi_load_by_pool(&load, rows_out);
}

static bool
copy_file(const CopyStmt *statement, uint64 *rows_out)
{
	ServerFile file = {.statement = statement};
	int64 rows = 0;
	bool stored;

	if (!is_file_for_pool(statement->filename, &file.bytes))
		return false;
	file.relation = table_openrv(statement->relation, RowExclusiveLock);
	stored = tsurugi_plain_try(store_file, &file, &rows);
	pgstat_progress_end_command();
	table_close(file.relation, NoLock);
	*rows_out = (uint64) rows;
	return stored;
}

/* --- the statement ------------------------------------------------------------------------- */

bool
tsurugi_copy_plain(const tsurugi_copy *copy, uint64 *rows_out)
{
	const CopyStmt *statement = copy->statement;

	if (!is_for_pool(statement))
		return false;
	if (statement->filename != NULL)
		return copy_file(statement, rows_out);
	if (whereToSendOutput != DestRemote || has_option(statement, "freeze"))
		return false;
	return tsurugi_plain_from_client(copy, rows_out);
}
