/*
 * moment.c
 *	  LONG, READ ONLY, DEFERRABLE and SHORT among ordinary tables: one moment for both (M2, M2a).
 *
 * These kinds, but for SHORT (9), validate nothing.  So the time that they read foreign tables at has to be a moment in the order of C,
 * without exclusions (mixed.c), that PostgreSQL's snapshot fits: it shows the mixed commits up to that time, and no others.
 *
 * 1. PostgreSQL's snapshot H is taken, then R_L or S drawn, while no mixed commit stands between the draw of its C and its end
 *	  (tsurugi_mixed_close).  Those before have a C that is not above the time, and H shows them; those after, neither.
 * 2. A statement's own snapshot was taken before that, when it was analysed, and at READ COMMITTED the next ones get newer ones.
 *	  But the executor reads at what a run is given when it starts: the hook gives H to every run
 *	  that reads ordinary tables, with the run's own command number.
 * 3. LONG always takes H.  READ ONLY takes it if the statement that it begins with reads ordinary tables; else
 *	  it waits for nobody, and holds back no VACUUM.  One that does, and whose S would be that of a LONG's start, before a mixed
 *	  commit that H shows, waits for that LONG as DEFERRABLE does: there is no H of the past.
 * 4. Where H is not given, a run that reads ordinary tables has to fit (tsurugi_mixed_fits), or ends with 40001: in
 *	  PostgreSQL's SERIALIZABLE, whose detection of conflicts goes by its own snapshot; at REPEATABLE READ if there were other runs before the
 *	  first access to a foreign table; in a READ ONLY that came to ordinary tables later.
 * 5. Triggers read at their own snapshots, so that foreign keys see what is there now; so do deferred checks, and ALTER TABLE,
 *	  which checks rows.  Catalogs do not count, nor do temporary tables.
 * 6. Workers of a parallel query would read at the active snapshot, which may be another one: such a plan runs without any.
 * 7. H belongs to the top transaction's resource owner, and is given back in PRE_COMMIT.  Until then it
 *	  holds back VACUUM, as a snapshot of REPEATABLE READ does.
 *
 * 8. PostgreSQL's SERIALIZABLE READ ONLY DEFERRABLE has waited for its own snapshot, perhaps for minutes, when we hear of it.  If nobody
 *	  has committed in ordinary tables since, and it fits a time drawn now, that is the moment.  Else H is a second safe
 *	  snapshot (deferrable.c), taken by 1, waited for behind the gate, and given to every run: nobody has been told anything from the
 *	  first, and a transaction with a safe snapshot has nothing more to do with PostgreSQL's detection.
 *
 * 9. SHORT is validated, and has exclusions; but at READ COMMITTED a statement's own H may show mixed commits that are later than R.
 *	  So the H that R was made to fit is kept, and given to the runs that read ordinary tables.  As long as there was none, an extension
 *	  takes a new one: who reads foreign tables only is not hindered by mixed commits.
 *
 * Departure from transactions.md, M4: there H and R are taken at BEGIN, and otherwise ordinary tables refused.
 */
#include "postgres.h"

#include "src/moment.h"

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "parser/parsetree.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "src/deferrable.h"
#include "src/errors.h"
#include "src/isolation.h"
#include "src/mixed.h"
#include "src/relation.h"
#include "src/snapshot.h"

bool tsurugi_moment_is_deferrable;
static Snapshot held;  /* H; NULL: none */
static bool wanted;	   /* the statement that is starting reads ordinary tables */
static bool relied_on; /* there was one that does */
static bool suspended;

/* --- taking it -------------------------------------------------------------------------- */

bool
tsurugi_moment_begin(void)
{
	if (!tsurugi_moment_is_deferrable &&
		(!tsurugi_isolation_may_change_host_snapshot() || (tsurugi_transaction_type == TG_TXN_READ_ONLY && !wanted)))
		return false;
	tsurugi_mixed_close();
	held = RegisterSnapshotOnOwner(tsurugi_moment_is_deferrable ? tsurugi_deferrable_take() : GetLatestSnapshot(),
								   TopTransactionResourceOwner);
	return true;
}

void
tsurugi_moment_taken(bool keep)
{
	tsurugi_mixed_open();
	if (!keep)
		tsurugi_moment_drop();
}

void
tsurugi_moment_drop(void)
{
	if (held != NULL)
		UnregisterSnapshotFromOwner(held, TopTransactionResourceOwner);
	held = NULL;
	if (tsurugi_moment_is_deferrable)
		tsurugi_deferrable_give_up();
}

void
tsurugi_moment_end(void)
{
	held = NULL; /* after an error it goes with its owner */
	tsurugi_moment_is_deferrable = false;
	wanted = false;
	relied_on = false;
	suspended = false;
}

Snapshot
tsurugi_moment_of_short(void)
{
	if (ActiveSnapshotSet() && (held == NULL || !relied_on))
	{
		tsurugi_moment_drop();
		PushCopiedSnapshot(GetActiveSnapshot()); /* others may go on with that one's commands */
		held = RegisterSnapshotOnOwner(GetActiveSnapshot(), TopTransactionResourceOwner);
		PopActiveSnapshot();
	}
	return held;
}

static bool
show_the_same(Snapshot one, Snapshot other)
{
	return one->xmax == other->xmax && one->xcnt == other->xcnt &&
		   memcmp(one->xip, other->xip, one->xcnt * sizeof(TransactionId)) == 0;
}

/* Rule 8: after the time has been drawn. */
static bool
host_is_of_now(void)
{
	Snapshot host = GetTransactionSnapshot();

	return show_the_same(host, GetLatestSnapshot()) && tsurugi_mixed_fits(host, tsurugi_snapshot_time());
}

void
tsurugi_moment_draw_deferrable(void)
{
	tsurugi_snapshot_draw_safe(true);
	if (tg_failpoint_refuses("skip_deferrable_moment") || !tsurugi_deferrable_is_free() || host_is_of_now())
		return;
	tsurugi_moment_is_deferrable = true;
	do
	{
		tsurugi_moment_drop();
		tsurugi_snapshot_draw_safe(true);
	} while (!tsurugi_deferrable_wait());
}

/* --- giving it ---------------------------------------------------------------------------- */

static bool
is_ordinary(Oid relation, char kind)
{
	return (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW) && relation >= FirstNormalObjectId &&
		   get_rel_persistence(relation) != RELPERSISTENCE_TEMP;
}

static void
look_at_tables(const PlannedStmt *planned, bool *ordinary_out, bool *ours_out)
{
	ListCell *cell;

	*ordinary_out = *ours_out = false;
	foreach (cell, planned->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind != RTE_RELATION)
			continue;
		*ordinary_out = *ordinary_out || is_ordinary(entry->relid, entry->relkind);
		*ours_out = *ours_out || (entry->relkind == RELKIND_FOREIGN_TABLE && tsurugi_is_ours(entry->relid));
	}
}

/* Rule 5. */
static bool
reads_as_of_now(void)
{
	return suspended || tsurugi_snapshot_is_fresh() ||
		   DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0)) > 0;
}

static void
check_fit(Snapshot host)
{
	if (tsurugi_kind_is_known && tsurugi_kind != TG_TXN_SHORT && !tsurugi_snapshot_is_imported() &&
		!tsurugi_mixed_fits(host, tsurugi_snapshot_time()))
		tsurugi_error_moment();
}

static void
push_held(CommandId command)
{
	PushCopiedSnapshot(held);
	GetActiveSnapshot()->curcid = command;
}

static void
give_held(QueryDesc *query)
{
	Snapshot given;

	push_held(query->snapshot->curcid);
	given = RegisterSnapshot(GetActiveSnapshot());
	PopActiveSnapshot();
	UnregisterSnapshot(query->snapshot);
	query->snapshot = given;
	if (query->plannedstmt->parallelModeNeeded)
	{
		/* Rule 6.  The plan may be a kept one. */
		PlannedStmt *serial = palloc(sizeof(*serial));

		*serial = *query->plannedstmt;
		serial->parallelModeNeeded = false;
		query->plannedstmt = serial;
	}
}

void
tsurugi_moment_start_run(QueryDesc *query)
{
	bool ordinary;
	bool ours;

	if (query->crosscheck_snapshot != InvalidSnapshot || reads_as_of_now())
		return;
	if (tsurugi_moment_is_deferrable)
	{
		give_held(query);
		return;
	}
	look_at_tables(query->plannedstmt, &ordinary, &ours);
	if (ours && ordinary && !tsurugi_kind_is_known &&
		(tsurugi_transaction_type == TG_TXN_LONG || query->plannedstmt->resultRelations == NIL))
	{
		wanted = true; /* what READ ONLY writes is refused where it is written */
		tsurugi_access();
	}
	if (!ordinary || tg_failpoint_refuses("moment_not_given"))
		return;
	relied_on = true;
	if (held != NULL)
		give_held(query);
	else
		check_fit(query->snapshot);
}

bool
tsurugi_moment_start_copy(Oid relation)
{
	if (!OidIsValid(relation) || !is_ordinary(relation, get_rel_relkind(relation)))
		return false;
	relied_on = true;
	if (held == NULL)
	{
		check_fit(GetActiveSnapshot());
		return false;
	}
	push_held(GetCurrentCommandId(false));
	return true;
}

bool
tsurugi_moment_suspend(bool suspend)
{
	bool outer = suspended;

	suspended = suspend;
	return outer;
}
