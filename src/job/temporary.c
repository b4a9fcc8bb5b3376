/*
 * temporary.c
 *	  Temporary files of jobs, as PostgreSQL has its own: where they lie, what they are called, how
 *	  large they may become, who is told of them.
 *
 * Tasks make and write them; the session names them beforehand.  They lie in pgsql_tmp of the
 * session's temp_tablespaces, in turn from the one that is next, or of the database's tablespace,
 * and are called pgsql_tmp<pid>.<number of the job>.<number of the file>.  PostgreSQL calls its own
 * pgsql_tmp<pid>.<number>, so no two are the same; it removes all that begin so when it starts.
 *
 * PostgreSQL counts its own files and does not tell how large they are.  So the limit holds for its
 * files, and once more for those of the session's jobs.
 */
#include "postgres.h"

#include "src/job/temporary.h"

#include "catalog/pg_tablespace_d.h"
#include "commands/tablespace.h"
#include "common/file_perm.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "utils/guc.h"

static Oid
next_tablespace(void)
{
	Oid next = GetNextTempTableSpace();

	/* InvalidOid: there are none, or the database's own is meant */
	if (!OidIsValid(next))
		next = OidIsValid(MyDatabaseTableSpace) ? MyDatabaseTableSpace : DEFAULTTABLESPACE_OID;
	return next;
}

static unsigned
count_tablespaces(void)
{
	Oid spaces[TG_SPILL_DIRECTORIES_MAX];
	int count = GetTempTablespaces(spaces, TG_SPILL_DIRECTORIES_MAX);

	return count > 0 ? (unsigned) count : 1;
}

const tg_spill_config *
tsurugi_job_temporary_files(uint64 used)
{
	static uint64 last = 0;
	tg_spill_config *config = palloc0(sizeof(tg_spill_config));
	const char **directories = palloc(TG_SPILL_DIRECTORIES_MAX * sizeof(char *));
	uint64 limit = (uint64) temp_file_limit * 1024;

	PrepareTempTablespaces();
	config->directory_count = count_tablespaces();
	for (unsigned i = 0; i < config->directory_count; i++)
	{
		char path[MAXPGPATH];

		TempTablespacePath(path, next_tablespace());
		directories[i] = pstrdup(path);
	}
	config->directories = directories;
	config->name = psprintf("%s%d.%llu", PG_TEMP_FILE_PREFIX, MyProcPid, (unsigned long long) ++last);
	config->bytes_max = temp_file_limit < 0 ? UINT64_MAX : limit > used ? limit - used : 0;
	config->file_mode = pg_file_create_mode;
	config->directory_mode = pg_dir_create_mode;
	return config;
}

void
tsurugi_job_report_files(const tg_query *query)
{
	char path[TG_SPILL_PATH_BYTES];
	uint64 bytes;

	for (uint64 file = 0; tg_query_spill_file(query, &file, path, sizeof(path), &bytes); file++)
	{
		pgstat_report_tempfile(bytes);
		if (log_temp_files >= 0 && bytes / 1024 >= (uint64) log_temp_files)
			ereport(LOG, (errmsg("temporary file: path \"%s\", size %llu", path, (unsigned long long) bytes)));
	}
}

void
tsurugi_job_file_error(const tg_query *query)
{
	tg_spill_fault fault;

	tg_query_spill_fault(query, &fault);
	errno = fault.error;
	switch (fault.kind)
	{
		case TG_SPILL_LIMIT:
			ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
							errmsg("temporary file size exceeds temp_file_limit (%dkB)", temp_file_limit)));
			break;
		case TG_SPILL_MAKE:
			ereport(ERROR,
					(errcode_for_file_access(), errmsg("could not create temporary file \"%s\": %m", fault.path)));
			break;
		case TG_SPILL_OPEN:
			ereport(ERROR, (errcode_for_file_access(), errmsg("could not open temporary file \"%s\": %m", fault.path)));
			break;
		case TG_SPILL_WRITE:
			ereport(ERROR, (errcode_for_file_access(), errmsg("could not write to file \"%s\": %m", fault.path)));
			break;
		case TG_SPILL_READ:
			ereport(ERROR, (errcode_for_file_access(), errmsg("could not read file \"%s\": %m", fault.path)));
			break;
		default:
			elog(ERROR, "temporary files of a job have no fault");
	}
	pg_unreachable();
}
