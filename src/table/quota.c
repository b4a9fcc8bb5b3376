/*
 * quota.c
 *	  Memory quotas of roles and databases, from PostgreSQL's catalogs.
 *
 * A quota is the setting tsurugi_fdw.memory_quota as ALTER ROLE and ALTER DATABASE store it in
 * pg_db_role_setting.  It limits tables, not sessions: bytes count for the owner of a table,
 * whichever role writes to it.  So a value in force in a session has no meaning, and only those two
 * statements may set one.
 *
 *	  ALTER ROLE r SET                     the tables that r owns, in all databases together
 *	  ALTER ROLE ALL SET                   the same of each role that has none of its own
 *	  ALTER DATABASE d SET                 all tables in d together
 *	  ALTER ROLE r IN DATABASE d SET       the tables in d that r owns
 *
 * All quotas that apply to a table must leave room.  -1 and 0 mean no quota.
 *
 * The limits are stored with the accounts in shared memory (runtime/mem/quota.h).  They are set (1)
 * by the backend that makes an account, with the first table of an owner or a database, and (2) at
 * the commit of a transaction that has changed the setting, at once, for all accounts.
 *
 * A transaction that changes the setting holds a lock until its end, and (1) reads under that lock,
 * so that an account which is made meanwhile does not keep the old value.  A transaction that has
 * changed the setting leaves the accounts that it makes unset, since it may be rolled back; they
 * are set by its commit or, after a rollback, by the next backend that opens one.
 *
 * A manual change of a catalog row takes effect with the next restart.
 */
#include "postgres.h"

#include "src/table/quota.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_db_role_setting.h"
#include "catalog/pg_parameter_acl.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "runtime/base/status.h"
#include "runtime/mem/quota.h"
#include "runtime/table/table.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/table/storage.h"

#define SETTING "tsurugi_fdw.memory_quota"
#define KILOBYTE 1024

typedef struct KnownLimit
{
	tg_quota_key key;
	int64 bytes;
} KnownLimit;

static int memory_quota_kb; /* its value in this session does not matter */
static bool is_changed;		/* by this transaction */
/* Of all accounts, as of the commit; in TopTransactionContext. */
static KnownLimit *limits;
static unsigned limit_count;

/* --- the setting --------------------------------------------------------------- */

/* A value for a session, or for all sessions, would have no effect. */
static bool
check_quota(int *new_kb, void **extra, GucSource source)
{
	if (source != PGC_S_FILE && source != PGC_S_ARGV && source != PGC_S_ENV_VAR && source != PGC_S_CLIENT &&
		source != PGC_S_INTERACTIVE && source != PGC_S_SESSION)
		return true;
	if (*new_kb <= 0)
		return true;
	GUC_check_errdetail("A memory quota is of a role or a database, not of a session.");
	GUC_check_errhint("Set it by ALTER ROLE or ALTER DATABASE.");
	return false;
}

/* The quota in an array of settings, in kB; false: it has none. */
static bool
find_quota(Datum settings, int *kb_out)
{
	Datum *texts;
	int count;
	bool found = false;

	deconstruct_array(DatumGetArrayTypeP(settings), TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &count);
	for (int i = 0; i < count && !found; i++)
	{
		char *name;
		char *value;

		ParseLongOption(TextDatumGetCString(texts[i]), &name, &value);
		found = value != NULL && pg_strcasecmp(name, SETTING) == 0 && parse_int(value, kb_out, GUC_UNIT_KB, NULL);
	}
	return found;
}

/* The quota stored for a database and a role, either of which may be 0. */
static bool
read_stored(Relation catalog, Oid database, Oid role, int *kb_out)
{
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;
	bool found = false;

	ScanKeyInit(&keys[0], Anum_pg_db_role_setting_setdatabase, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(database));
	ScanKeyInit(&keys[1], Anum_pg_db_role_setting_setrole, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(role));
	scan = systable_beginscan(catalog, DbRoleSettingDatidRolidIndexId, true, NULL, lengthof(keys), keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool is_null;
		Datum settings = heap_getattr(tuple, Anum_pg_db_role_setting_setconfig, RelationGetDescr(catalog), &is_null);

		found = !is_null && find_quota(settings, kb_out);
	}
	systable_endscan(scan);
	return found;
}

static int64
read_limit(Relation catalog, tg_quota_key key)
{
	int kb;

	if (!read_stored(catalog, key.database, key.owner, &kb) &&
		(OidIsValid(key.database) || !read_stored(catalog, InvalidOid, InvalidOid, &kb)))
		return TG_QUOTA_NONE;
	return kb > 0 ? (int64) kb * KILOBYTE : TG_QUOTA_NONE;
}

/* --- accounts ------------------------------------------------------------------- */

/* (1) */
static void
set_limits(tg_account *account)
{
	Relation catalog;
	tg_quota_key key;

	LockSharedObject(DbRoleSettingRelationId, InvalidOid, 0, AccessShareLock);
	catalog = table_open(DbRoleSettingRelationId, AccessShareLock);
	InvalidateCatalogSnapshot();
	while (tg_account_unset(account, &key))
		tg_quota_set(key, read_limit(catalog, key));
	table_close(catalog, AccessShareLock);
	UnlockSharedObject(DbRoleSettingRelationId, InvalidOid, 0, AccessShareLock);
}

void
tsurugi_quota_settle(tg_account *account)
{
	tg_quota_key key;

	if (!is_changed && tg_account_unset(account, &key))
		set_limits(account);
}

tg_account *
tsurugi_quota_account(Oid owner)
{
	tg_account *account;
	tg_quota_key key;

	tsurugi_check(tg_account_open(tsurugi_session(), MyDatabaseId, owner, &account), NULL);
	if (is_changed || !tg_account_unset(account, &key))
		return account;
	PG_TRY();
	{
		set_limits(account);
	}
	PG_CATCH();
	{
		tg_account_close(tsurugi_session(), account);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return account;
}

/* --- changes --------------------------------------------------------------------- */

static bool
names_quota(const VariableSetStmt *setting)
{
	return setting->kind == VAR_RESET_ALL || (setting->name != NULL && pg_strcasecmp(setting->name, SETTING) == 0);
}

void
tsurugi_quota_note_statement(Node *tree)
{
	const VariableSetStmt *setting = IsA(tree, AlterRoleSetStmt)	   ? ((AlterRoleSetStmt *) tree)->setstmt
									 : IsA(tree, AlterDatabaseSetStmt) ? ((AlterDatabaseSetStmt *) tree)->setstmt
																	   : NULL;

	/* RESET ALL does not reset a setting that the user may not change. */
	if (setting == NULL || !names_quota(setting) || pg_parameter_aclcheck(SETTING, GetUserId(), ACL_SET) != ACLCHECK_OK)
		return;
	LockSharedObject(DbRoleSettingRelationId, InvalidOid, 0, AccessExclusiveLock);
	is_changed = true;
}

tg_quota_report *
tsurugi_quota_reports(unsigned *count_out)
{
	tg_quota_report *reports;

	for (unsigned room = 64;; room *= 2)
	{
		reports = palloc(room * sizeof(*reports));
		*count_out = tg_quota_reports(reports, room);
		if (*count_out <= room)
			return reports;
		pfree(reports);
	}
}

void
tsurugi_quota_check_prepare(void)
{
	if (is_changed)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot PREPARE a transaction that has changed memory quotas of tsurugi_fdw")));
}

/*
 * (2).  A backend that makes an account from now on waits for the lock, and then reads the
 * committed setting.
 */
void
tsurugi_quota_pre_commit(void)
{
	tg_quota_report *reports;
	Relation catalog;
	unsigned count;

	if (!is_changed)
		return;
	reports = tsurugi_quota_reports(&count);
	limits = MemoryContextAlloc(TopTransactionContext, Max(count, 1) * sizeof(*limits));
	catalog = table_open(DbRoleSettingRelationId, AccessShareLock);
	InvalidateCatalogSnapshot();
	for (unsigned i = 0; i < count; i++)
		limits[i] = (KnownLimit){.key = reports[i].key, .bytes = read_limit(catalog, reports[i].key)};
	limit_count = count;
	table_close(catalog, NoLock);
	pfree(reports);
}

void
tsurugi_quota_end(bool committed)
{
	for (unsigned i = 0; committed && i < limit_count; i++)
		tg_quota_set(limits[i].key, limits[i].bytes);
	limit_count = 0;
	limits = NULL;
	is_changed = false;
}

bool
tsurugi_quota_is_changed(void)
{
	return is_changed;
}

/* --- refusal --------------------------------------------------------------------- */

static const char *
whose(tg_quota_key key)
{
	const char *role = OidIsValid(key.owner) ? GetUserNameFromId(key.owner, true) : NULL;
	const char *database = OidIsValid(key.database) ? get_database_name(key.database) : NULL;

	if (role == NULL)
		return psprintf("database \"%s\"", database != NULL ? database : "?");
	return database == NULL ? psprintf("role \"%s\"", role)
							: psprintf("role \"%s\" in database \"%s\"", role, database);
}

/* Reports the quota that leaves the least room to the table; false: the table has none. */
static bool
find_report(Relation relation, tg_quota_report *report_out)
{
	const tg_table *table = relation != NULL ? tsurugi_storage_find(RelationGetRelid(relation)) : NULL;

	return table != NULL && tg_book_report(table->book, report_out);
}

uint64
tsurugi_quota_bytes(Relation relation)
{
	tg_quota_report report;

	return find_report(relation, &report) ? report.bytes : 0;
}

static void
error_quota(Relation relation)
{
	tg_quota_report report;

	if (!find_report(relation, &report))
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory quota for tables of tsurugi_fdw")));
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY),
					errmsg("out of memory quota of %s for tables of tsurugi_fdw", whose(report.key)),
					errdetail("Its tables take %lld kB, and %s allows %lld kB.", (long long) report.bytes / KILOBYTE,
							  SETTING, (long long) report.limit / KILOBYTE),
					errhint("Delete rows, or have the quota raised by %s.",
							OidIsValid(report.key.owner) ? "ALTER ROLE" : "ALTER DATABASE"),
					errtable(relation)));
}

/* --- loading --------------------------------------------------------------------- */

void
tsurugi_quota_define(void)
{
	DefineCustomIntVariable(SETTING, "Most memory that the tables of a role, or in a database, may take.",
							"Set by ALTER ROLE and ALTER DATABASE.  It goes by the owners of tables; -1 is none.",
							&memory_quota_kb, -1, -1, INT_MAX, PGC_SUSET, GUC_UNIT_KB, check_quota, NULL, NULL);
	tsurugi_error_register(TG_OVER_QUOTA, error_quota);
}
