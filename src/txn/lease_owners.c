/*
 * lease_owners.c
 *	  The roles and databases that transactions of several sessions belong to.
 *
 * Their limits, the right to end them, and their end with the role or the database.
 *
 * 1. The session that begins such a transaction holds a lock on its role, and has seen that the
 *	  role exists.  DROP ROLE waits for that lock, and keeps its own until it has committed.  So no
 *	  new transaction begins after those that the commit ends.
 * 2. A DROP ROLE that is rolled back, perhaps with a subtransaction alone, ends nothing: before the
 *	  commit the catalogs tell which of the roles still exist.
 * 3. DROP OWNED may need the very locks that the role's transactions hold.  So it ends those
 *	  transactions first, and a rollback does not bring them back.  A role that may run it may also
 *	  abort them.
 */
#include "postgres.h"

#include "src/txn/lease_owners.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "runtime/txn/shared.h"
#include "src/base/session.h"
#include "src/table/storage.h"
#include "src/txn/lease_locks.h"
#include "src/txn/shared_transaction.h"

static int lease_max_ms;
static int places_of_role;

static List *dropped; /* roles dropped by the running transaction; in TopTransactionContext */

uint64_t
tsurugi_lease_word(Oid database, Oid role)
{
	return (uint64_t) database << 32 | role;
}

/* --- beginning ---------------------------------------------------------------------------- */

/* Rule 1. */
static void
lock_role(Oid role)
{
	LockSharedObject(AuthIdRelationId, role, 0, AccessShareLock);
	if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role with OID %u has been dropped concurrently", role)));
}

unsigned
tsurugi_lease_check_begin(void)
{
	if (tsurugi_shared_lease_ms > lease_max_ms)
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
						errmsg("tsurugi_fdw.transaction_lease is longer than tsurugi_fdw.transaction_lease_max"),
						errdetail("The lease is %s, its maximum %s.",
								  GetConfigOptionByName("tsurugi_fdw.transaction_lease", NULL, false),
								  GetConfigOptionByName("tsurugi_fdw.transaction_lease_max", NULL, false))));
	lock_role(GetUserId());
	return superuser() ? 0 : (unsigned) places_of_role;
}

void
tsurugi_lease_error_places(void)
{
	ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					errmsg("too many transactions are shared by role \"%s\"", GetUserNameFromId(GetUserId(), false)),
					errdetail("It can have up to %d at a time (tsurugi_fdw.leases_per_role).", places_of_role),
					errhint("End those that are not needed any more: see tsurugi.shared_transactions.")));
	pg_unreachable();
}

void
tsurugi_lease_check_may_end(Oid role)
{
	if (superuser_arg(role) && !superuser())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be a superuser to abort a transaction of a superuser")));
	if (!has_privs_of_role(GetUserId(), role) && !has_privs_of_role(GetUserId(), ROLE_PG_SIGNAL_BACKEND))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be a member of the role whose transaction is being aborted or member of "
							   "pg_signal_backend")));
}

/* --- which ones ----------------------------------------------------------------------------- */

static bool
is_of_database(uint64_t word, uint64_t database)
{
	return word >> 32 == database;
}

static bool
is_of_role(uint64_t word, uint64_t role)
{
	return (uint32_t) word == role;
}

static bool
is_same(uint64_t word, uint64_t other)
{
	return word == other;
}

static unsigned
count(bool (*is_concerned)(uint64_t word, uint64_t argument), uint64_t argument)
{
	unsigned result = 0;

	for (unsigned i = 0; i < TG_SHARED_MAX; i++)
	{
		tg_shared_report report;

		result += tg_shared_report_at(i, &report) && report.owner == 0 && is_concerned(report.role, argument) &&
				  report.state != TG_SHARED_AVAILABLE && report.state != TG_SHARED_STORED &&
				  report.state != TG_SHARED_ABORTED;
	}
	return result;
}

/* A transaction that is just being committed is not ended. */
static void
end(bool (*is_concerned)(uint64_t word, uint64_t argument), uint64_t argument)
{
	if (count(is_concerned, argument) == 0)
		return;
	(void) tg_shared_abandon_leased(tsurugi_session(), TG_SHARED_DROPPED, is_concerned, argument);
	tsurugi_lease_locks_look();
}

/* --- roles --------------------------------------------------------------------------------- */

/* Rule 3. */
void
tsurugi_lease_end_owned(List *roles)
{
	ListCell *cell;

	if (XactReadOnly)
		return;
	foreach (cell, roles)
	{
		Oid role = get_rolespec_oid(lfirst(cell), true);

		if (!OidIsValid(role) || !has_privs_of_role(GetUserId(), role))
			return;
	}
	foreach (cell, roles)
		end(is_same, tsurugi_lease_word(MyDatabaseId, get_rolespec_oid(lfirst(cell), true)));
}

void
tsurugi_lease_drop_role(Oid role)
{
	MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);

	dropped = list_append_unique_oid(dropped, role);
	MemoryContextSwitchTo(caller);
}

/* Rule 2. */
static void
forget_those_still_there(void)
{
	ListCell *cell;

	foreach (cell, dropped)
		if (SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(lfirst_oid(cell))))
			dropped = foreach_delete_current (dropped, cell);
}

void
tsurugi_lease_pre_commit(void)
{
	ListCell *cell;

	forget_those_still_there();
	foreach (cell, dropped)
		if (count(is_of_role, lfirst_oid(cell)) > 0)
			(void) tsurugi_session(); /* this may fail */
}

void
tsurugi_lease_check_prepare(void)
{
	ListCell *cell;

	forget_those_still_there();
	foreach (cell, dropped)
		if (count(is_of_role, lfirst_oid(cell)) > 0)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot PREPARE a transaction that has dropped a role with shared transactions"),
							errhint("Abort them: see tsurugi.shared_transactions.")));
}

void
tsurugi_lease_end_dropped(bool committed)
{
	ListCell *cell;

	if (committed)
		foreach (cell, dropped)
			end(is_of_role, lfirst_oid(cell));
	dropped = NIL;
}

/* --- databases ------------------------------------------------------------------------------ */

void
tsurugi_lease_check_database(Oid database)
{
	unsigned running = count(is_of_database, database);

	if (running > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE), errmsg("database is being accessed by other users"),
				 errdetail_plural("There is %u transaction of tsurugi_fdw using the database that no session owns.",
								  "There are %u transactions of tsurugi_fdw using the database that no session owns.",
								  running, running)));
}

static void
end_database(Oid database)
{
	end(is_of_database, database);
}

/* --- loading -------------------------------------------------------------------------------- */

void
tsurugi_lease_owners_define(void)
{
	DefineCustomIntVariable("tsurugi_fdw.leases_per_role",
							"Transactions of several sessions that a role which is no superuser may have at a time.",
							"Those that have ended, and whose outcome is still known, make room for others.",
							&places_of_role, 16, 1, TG_SHARED_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("tsurugi_fdw.transaction_lease_max",
							"Longest tsurugi_fdw.transaction_lease that a transaction of several sessions can have.",
							NULL, &lease_max_ms, 60 * 60 * 1000, 100, TSURUGI_LEASE_MS_MAX, PGC_SUSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	tsurugi_storage_end_in_database = end_database;
}
