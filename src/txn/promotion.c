/*
 * promotion.c
 *	  Serializable transactions that become LONG because earlier tries have failed.
 *
 * 1. P3.  When tsurugi_fdw.promote_after tries in a row have failed (ladder.c, 1), the next one is
 *	  started as a LONG with priority 0.  It preserves the tables that the failed ones have written,
 *	  as wholes: those in which they have written or locked rows, or were about to.  A table in
 *	  which rows were only locked by P1 does not count.  A LONG is not validated, so no transaction
 *	  makes it fail by changing the rows that it reads; its reads are as of its start, and writers
 *	  of the tables that it preserves wait.
 * 2. P4.  A LONG may do less than an ordinary transaction.  Where a promoted one does something
 *	  that a LONG refuses, it fails with 40001, as any try may, and not with the LONG's own error:
 *	  - it writes a table beyond those: the next try preserves that one, too;
 *	  - it reads an area that an earlier LONG preserves: likewise, so that its start waits for that
 *		LONG;
 *	  - it uses ordinary tables (their snapshot was taken before its start), truncates or rewrites a
 *		table, exports its snapshot, or is to be prepared: the next try is an ordinary one, and so
 *		are all until one has got through.
 *	  The next tries are ordinary ones, too, if a failed try has used ordinary tables or has written
 *	  more than TG_TXN_TABLES_MAX tables, or none, if a promoted one could not be started, or if
 *	  PROMOTIONS_MAX promoted ones have failed.  If one of the tables is gone, the work that failed
 *	  is not the work that is tried now, and counting begins anew.
 * 3. A promoted transaction makes others wait.  So the role that the session acts as (SET ROLE, but
 *	  no SECURITY DEFINER function) needs the rights that write_preserve asks for, on all of the
 *	  tables (areas.h); else the try is an ordinary one.  The setting is reserved to superusers and
 *	  to roles that were granted SET on it: so ALTER ROLE ... SET keeps a role from it for good.
 * 4. A LONG preserves whole tables, which is too much for a small try.  A try is small if another
 *	  transaction has changed a row that the next one may lock, and if it has read no more rows than
 *	  a session remembers, each by its key.  After each failure the next try locks one row more, so
 *	  that, when as many tries have failed, there is no row left by which it could fail.  After a
 *	  small try the next one is promoted only if more than that have failed, which P2 can cause.
 *	  A try that fails by a row which was remembered, and which it has read otherwise than by a
 *	  look-up of its whole key (together with others, by IN), is not small.
 * 5. At READ COMMITTED and REPEATABLE READ, in SHORT, LONG, READ ONLY and shared transactions, with
 *	  imported or exported snapshots and in parallel mode, no transaction is promoted.  Nor is one
 *	  that has used ordinary tables or replaced a table's storage before its first access.
 */
#include "postgres.h"

#include "src/txn/promotion.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "runtime/base/failpoint.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/txn.h"
#include "src/table/relation.h"
#include "src/table/storage.h"
#include "src/txn/areas.h"
#include "src/txn/isolation.h"
#include "src/txn/ladder.h"
#include "src/txn/moment.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_export.h"
#include "src/txn/transaction.h"

#define PROMOTIONS_MAX 5							 /* promoted tries, one after the other, that may fail */
#define SMALL_FAILURES (TSURUGI_LADDER_ROWS_MAX + 1) /* rule 4 */

typedef struct Tables
{
	Oid list[TG_TXN_TABLES_MAX];
	int count;
	bool too_many;
} Tables;

static int promote_after;
bool tsurugi_is_promoted;

/* Since a try got through. */
static unsigned failures;
static unsigned promotions; /* that failed */
static bool stays_ordinary; /* rule 2 */
static Tables written;		/* by the tries that failed */
static bool was_small;		/* the last one of them (rule 4) */

/* For the running transaction: the values that these take if it fails. */
static Tables writing;
static bool is_small;

void
tsurugi_promotion_define(void)
{
	DefineCustomIntVariable("tsurugi_fdw.promote_after",
							"How many failures of a serializable transaction in a row make the next try a long one.",
							"0: never.  It preserves the tables that the failed ones have written.", &promote_after, 2,
							0, 1000, PGC_SUSET, 0, NULL, NULL, NULL);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void
add_table(Tables *tables, Oid relation)
{
	for (int i = 0; i < tables->count; i++)
		if (tables->list[i] == relation)
			return;
	if (tables->count == TG_TXN_TABLES_MAX)
		tables->too_many = true;
	else
		tables->list[tables->count++] = relation;
}

static void
add_targets(Tables *tables)
{
	tg_target targets[TG_TXN_TABLES_MAX];
	unsigned count;

	if (!tsurugi_transaction_targets(targets, &count))
		tables->too_many = true;
	for (unsigned i = 0; i < count; i++)
		if (targets[i].is_written || !tsurugi_ladder_has_locked(targets[i].relation))
			add_table(tables, targets[i].relation);
}

/* Rule 3. */
static bool
may_preserve(const Tables *tables)
{
	for (int i = 0; i < tables->count; i++)
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(tables->list[i])) &&
			!tsurugi_area_is_allowed(tables->list[i], TSURUGI_AREA_TO_PRESERVE, GetOuterUserId()))
			return false;
	return true;
}

/* Locks the tables until the transaction ends.  False: one of them is gone. */
static bool
lock_tables(const Tables *tables)
{
	ResourceOwner owner = CurrentResourceOwner;
	bool there = true;

	CurrentResourceOwner = TopTransactionResourceOwner;
	for (int i = 0; i < tables->count && there; i++)
	{
		LockRelationOid(tables->list[i], tsurugi_area_lock(TSURUGI_AREA_TO_PRESERVE));
		there = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(tables->list[i])) && tsurugi_is_ours(tables->list[i]);
	}
	CurrentResourceOwner = owner;
	return there;
}

/* --- the beginning --------------------------------------------------------------------------- */

/* Whether the next try is to be promoted after so many failures, as far as is known by now. */
static bool
is_due(unsigned after, const Tables *tables, bool after_small)
{
	unsigned enough = (unsigned) Max(promote_after, after_small ? SMALL_FAILURES : 1);

	return promote_after > 0 && after >= enough && !stays_ordinary && tables->count > 0 && !tables->too_many &&
		   may_preserve(tables) && !tg_failpoint_refuses("skip_p3");
}

bool
tsurugi_promotion_begin(tg_long_config *config_out)
{
	tg_area *areas;

	if (likely(failures == 0) || !tsurugi_ladder_is_try() || tsurugi_moment_has_read_ordinary() ||
		tsurugi_isolation_wrote_ordinary() || tsurugi_storage_is_changed() || tsurugi_snapshot_is_fixed() ||
		tsurugi_snapshot_is_imported() || tsurugi_export_is_noted || !is_due(failures, &written, was_small))
		return false;
	if (!lock_tables(&written))
	{
		tsurugi_promotion_succeeded(); /* rule 2 */
		return false;
	}
	if (!may_preserve(&written)) /* before the locks were there */
		return false;
	areas = palloc0(Max(written.count, 1) * sizeof(*areas));
	for (int i = 0; i < written.count; i++)
	{
		Relation relation = RelationIdGetRelation(written.list[i]);

		areas[i].table = tsurugi_relation_get(relation)->table;
		RelationClose(relation);
	}
	*config_out = (tg_long_config){
		.preserve = areas, .preserve_count = (unsigned) written.count, .waiter = MyLatch, .promoted_after = failures};
	tsurugi_is_promoted = true;
	return true;
}

void
tsurugi_promotion_give_up(void)
{
	tsurugi_is_promoted = false;
	stays_ordinary = true;
}

/* --- what a promoted transaction may not do --------------------------------------------------- */

void
tsurugi_promotion_refuse(const char *what)
{
	(void) tsurugi_ladder_note_failure(TSURUGI_NO_ROW, InvalidOid);
	stays_ordinary = true;
	tg_conflict_note(TG_CONFLICT_UNKNOWN);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("could not serialize access in a promoted transaction"),
			 errdetail("It was started as a long one, because earlier tries had failed, and long transactions "
					   "cannot %s.",
					   what),
			 errhint("The transaction might succeed if retried. The next serializable transaction of this "
					 "session is an ordinary one.")));
	pg_unreachable();
}

void
tsurugi_promotion_error_beyond(Relation relation)
{
	const char *hint = tsurugi_ladder_note_failure(TSURUGI_NO_ROW, RelationGetRelid(relation));

	tg_conflict_note(TG_CONFLICT_UNKNOWN);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("could not serialize access in a promoted transaction"),
			 errdetail("It was started as a long one, because earlier tries had failed, and writes table "
					   "\"%s\", which those had not written.",
					   RelationGetRelationName(relation)),
			 errhint("%s", hint), errtable(relation)));
	pg_unreachable();
}

/* --- failures --------------------------------------------------------------------------------- */

/* "public.a, b": those that there are. */
static char *
names_of(const Tables *tables)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < tables->count; i++)
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(tables->list[i])))
			appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ",
							 DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(tables->list[i]))));
	return names.data;
}

const char *
tsurugi_promotion_note_failure(Oid wanted, bool small)
{
	is_small = small;
	writing = written;
	add_targets(&writing);
	if (OidIsValid(wanted))
		add_table(&writing, wanted);
	if (tsurugi_moment_has_read_ordinary() || tsurugi_isolation_wrote_ordinary() ||
		!is_due(failures + 1, &writing, small) || (tsurugi_is_promoted && promotions + 1 >= PROMOTIONS_MAX))
		return NULL;
	return psprintf("The next serializable transaction of this session is a long one, which preserves: %s.",
					names_of(&writing));
}

void
tsurugi_promotion_failed(void)
{
	failures++;
	written = writing;
	was_small = is_small;
	if (tsurugi_is_promoted)
		promotions++;
	stays_ordinary |=
		promotions >= PROMOTIONS_MAX || tsurugi_moment_has_read_ordinary() || tsurugi_isolation_wrote_ordinary();
}

void
tsurugi_promotion_succeeded(void)
{
	failures = promotions = 0;
	stays_ordinary = false;
	written = (Tables){.count = 0};
}

void
tsurugi_promotion_end(bool committed)
{
	if (tsurugi_is_promoted && committed)
		tg_retry_note(TG_RETRY_COMMITTED);
	tsurugi_is_promoted = false;
}
