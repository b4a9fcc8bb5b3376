/*
 * moment.c
 *	  LONG, READ ONLY, DEFERRABLE, SHORT and shared transactions among ordinary tables: one moment
 *	  for both kinds of tables (M2, M2a).
 *
 * LONG, READ ONLY and DEFERRABLE transactions are not validated.  So the time at which they read
 * foreign tables must be a moment in the order of C, without exclusions (mixed.c), and PostgreSQL's
 * snapshot must fit it: the snapshot shows the mixed commits up to that time and no others.
 *
 * 1. PostgreSQL's snapshot H is taken first; then R_L or S is drawn.  Meanwhile no mixed commit is
 *	  between the draw of its C and its end (tsurugi_mixed_close).  A mixed commit that ended before
 *	  has a C that is not above the time, and H shows it.  One that begins afterwards has a higher
 *	  C, and H does not show it.
 * 2. A statement's own snapshot is older than that: it was taken when the statement was analysed.
 *	  At READ COMMITTED the next statements have newer ones.  But the executor reads at the snapshot
 *	  that a run is given when it starts.  So the executor's hook gives H to every run that reads
 *	  ordinary tables, with the run's own command number.
 * 3. LONG always takes H.  READ ONLY takes it if its first statement reads ordinary tables;
 *	  otherwise it waits for no transaction and holds back no VACUUM.  If the S of a READ ONLY that
 *	  takes H would be the start of a LONG, and H shows a mixed commit later than that start, READ
 *	  ONLY waits for the LONG as DEFERRABLE does: an H of the past cannot be taken.
 * 4. A run that reads ordinary tables and is not given H must have a snapshot that fits
 *	  (tsurugi_mixed_misfit), or it fails with 40001.  This concerns PostgreSQL's SERIALIZABLE,
 *	  whose conflict detection depends on its own snapshot; REPEATABLE READ, if other runs came
 *	  before the first access to a foreign table; and a READ ONLY transaction that came to ordinary
 *	  tables later.  It also concerns a run that is under way at the first access, if the access is
 *	  made by a function that reads at the run's snapshot.
 * 5. Runs in triggers that read ordinary tables alone do so at their own snapshots, so that foreign
 *	  keys see the present rows.  So do deferred checks, and ALTER TABLE when it checks rows.
 *	  Catalogs and temporary tables do not count as ordinary tables.
 * 6. Workers of a parallel query would read at the active snapshot, which may differ from H.  So a
 *	  plan that is given H runs without workers.
 * 7. H belongs to the top transaction's resource owner and is released in PRE_COMMIT.  Until then
 *	  it holds back VACUUM, as a snapshot of REPEATABLE READ does.
 *
 * 8. PostgreSQL's SERIALIZABLE READ ONLY DEFERRABLE has already waited for its own snapshot,
 *	  perhaps for minutes, when this file is called.  If nothing has been committed in ordinary
 *	  tables since then, and the snapshot fits a time drawn now, these two are the moment.
 *	  Otherwise H is a second safe snapshot (deferrable.c).  It is taken by rule 1, given to every
 *	  run, and found to be safe by a wait after the gate has been opened again.  Nothing that was
 *	  read at the first snapshot has been returned yet, and a transaction with a safe snapshot takes
 *	  no further part in PostgreSQL's conflict detection.
 *
 * 9. SHORT is validated and may have exclusions.  But at READ COMMITTED a statement's own snapshot
 *	  may show mixed commits that are later than R.  So the H that R was matched with is kept and
 *	  given to the runs that read ordinary tables.  As long as there was no such run, an extension
 *	  of R takes a new H: mixed commits do not hinder a SHORT that reads foreign tables only.
 *
 * 10. A transaction that several sessions work in draws R once, while each session has snapshots of
 *	  PostgreSQL's.  If nothing is validated (REPEATABLE READ, LONG, READ ONLY), there is one H for
 *	  all of them.  It is taken with R and lent to each session that joins (shared_moment.c), whose
 *	  runs are given it, except for those of rule 4, whose snapshots must fit.  A plan that uses an
 *	  index created after H was taken may be wrong for H; its run fails with 40001.
 * 11. At SERIALIZABLE, PostgreSQL's conflict detection needs the session's own snapshot; a session
 *	  in a shared SHORT has no other one either.  If R does not fit that snapshot, R is extended
 *	  (isolation.c, 6) to the latest time that does: just below the first mixed commit that the
 *	  snapshot does not show.  This happens again for the snapshot of the next session, or of the
 *	  same session's next transaction.
 * 12. Above READ COMMITTED, reads of ordinary tables that a transaction made before it joined must
 *	  fit, too, even if it made them before the session was attached or the transaction was
 *	  exported.  A fit that is known is not tested again, because the ring of mixed.c forgets.
 * 13. An attached session that began with ordinary tables would read them at a snapshot of its own,
 *	  which is newer than H.  With its first foreign table that snapshot would turn out not to fit,
 *	  and a retry would not help.  So at REPEATABLE READ the session joins before it reads the first
 *	  ordinary table, if there is an H.  A transaction that writes ordinary tables, and has not read
 *	  any before, does not join and remains the session's own.
 */
#include "postgres.h"

#include "src/txn/moment.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "runtime/base/failpoint.h"
#include "src/table/relation.h"
#include "src/txn/deferrable.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/mixed.h"
#include "src/txn/parallel.h"
#include "src/txn/promotion.h"
#include "src/txn/shared_moment.h"
#include "src/txn/snapshot.h"

bool tsurugi_moment_is_deferrable;
static Snapshot held;	 /* H; NULL: none */
static bool is_borrowed; /* lent by another session */
/* H, or PostgreSQL's snapshot of the transaction, is known to fit this time; 0: none */
static tg_time fitting;
static bool wanted;	   /* the statement that is starting reads ordinary tables */
static bool relied_on; /* a statement of the transaction has read them */
static bool suspended;

/*
 * A run under way that began before the first access and reads ordinary tables at its own snapshot.
 * It lies in the run's memory.
 */
typedef struct Early
{
	struct Early *outer;
	Snapshot snapshot;
	MemoryContextCallback callback;
} Early;

static Early *early;

/* The run that is starting. */
static bool is_early;
static bool checks_indexes;

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
	tsurugi_shared_moment_drop();
}

void
tsurugi_moment_end(bool committed)
{
	held = NULL; /* after an error its resource owner releases it */
	early = NULL;
	is_borrowed = false;
	fitting = 0;
	tsurugi_moment_is_deferrable = false;
	wanted = false;
	relied_on = false;
	suspended = false;
	tsurugi_shared_moment_end();
}

Snapshot
tsurugi_moment_of_short(void)
{
	if (ActiveSnapshotSet() && (held == NULL || !relied_on))
	{
		tsurugi_moment_drop();
		/* A copy: the command number of the active one may advance. */
		PushCopiedSnapshot(GetActiveSnapshot());
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

/* Rule 8: called when the time has been drawn. */
static bool
host_is_of_now(void)
{
	Snapshot host = GetTransactionSnapshot();

	return show_the_same(host, GetLatestSnapshot()) && tsurugi_mixed_misfit(host, tsurugi_snapshot_time()) == 0;
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

static bool
reads_ordinary(const PlannedStmt *planned)
{
	ListCell *cell;

	foreach (cell, planned->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind == RTE_RELATION && is_ordinary(entry->relid, entry->relkind))
			return true;
	}
	return false;
}

static bool
reads_ours(const PlannedStmt *planned)
{
	ListCell *cell;

	foreach (cell, planned->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind == RTE_RELATION && entry->relkind == RELKIND_FOREIGN_TABLE && tsurugi_is_ours(entry->relid))
			return true;
	}
	return false;
}

static bool
is_in_trigger(void)
{
	return DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0)) > 0;
}

/* Rules 4 and 10. */
static void
check_fit(Snapshot host)
{
	tg_time time = tsurugi_snapshot_time();
	bool is_one = IsolationUsesXactSnapshot() || held != NULL;
	tg_time misfit;

	if (!(tsurugi_kind_is_known || tsurugi_shared_has_joined()) || time == 0 || tsurugi_snapshot_is_imported())
		return;
	if (tsurugi_is_validated() && !tsurugi_shared_has_joined())
		return; /* matched when it was drawn */
	if (is_one && time == fitting)
		return;
	misfit = tsurugi_mixed_misfit(host, time);
	if (misfit != 0 && !tg_failpoint_refuses("skip_fit") && !tsurugi_isolation_make_fit(host))
		tsurugi_error_moment(misfit);
	if (is_one)
		fitting = tsurugi_snapshot_time();
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

	checks_indexes = is_borrowed;
	push_held(query->snapshot->curcid);
	given = RegisterSnapshot(GetActiveSnapshot());
	PopActiveSnapshot();
	UnregisterSnapshot(query->snapshot);
	query->snapshot = given;
	if (query->plannedstmt->parallelModeNeeded) /* rule 6 */
		tsurugi_parallel_renounce(query);
}

void
tsurugi_moment_note_run(const QueryDesc *query)
{
	if (!relied_on && !tg_failpoint_refuses("skip_early_reads"))
		relied_on = reads_ordinary(query->plannedstmt);
}

/* Rule 13.  A statement that is the whole transaction is not followed by foreign tables. */
static void
join_for_host(bool is_alone)
{
	if (!is_alone && !tsurugi_kind_is_known && IsolationUsesXactSnapshot() &&
		tsurugi_isolation_may_change_host_snapshot() && !relied_on && !IsInParallelMode() && tsurugi_shared_lends() &&
		!tg_failpoint_refuses("skip_join_for_host"))
		tsurugi_access();
}

void
tsurugi_moment_start_run(QueryDesc *query)
{
	bool ordinary;
	bool both;

	is_early = checks_indexes = false;
	if (query->crosscheck_snapshot != InvalidSnapshot || suspended || tsurugi_snapshot_is_fresh())
		return;
	ordinary = reads_ordinary(query->plannedstmt);
	both = ordinary && reads_ours(query->plannedstmt);
	if (is_in_trigger() && !both) /* rule 5 */
		return;
	if (tsurugi_moment_is_deferrable)
	{
		if (tsurugi_shared_has_joined())
			check_fit(held);
		give_held(query);
		return;
	}
	if (both && !tsurugi_kind_is_known &&
		(tsurugi_transaction_type == TG_TXN_LONG || tsurugi_shared_is_open ||
		 query->plannedstmt->resultRelations == NIL))
	{
		wanted = true; /* READ ONLY refuses writes where they happen */
		tsurugi_access();
	}
	if (!ordinary || tg_failpoint_refuses("moment_not_given"))
		return;
	if (query->plannedstmt->resultRelations == NIL)
		join_for_host(!IsTransactionBlock() && query->dest->mydest != DestSPI);
	if (tsurugi_shared_has_joined() && tsurugi_kind == TG_TXN_SHORT && !IsolationUsesXactSnapshot())
		check_fit(tsurugi_moment_of_short());
	relied_on = true;
	tsurugi_promotion_check("use ordinary tables");
	if (held != NULL)
		give_held(query);
	else
	{
		check_fit(query->snapshot);
		is_early = !tsurugi_kind_is_known;
	}
}

bool
tsurugi_moment_start_copy(Oid relation)
{
	if (!OidIsValid(relation) || !is_ordinary(relation, get_rel_relkind(relation)))
		return false;
	join_for_host(!IsTransactionBlock());
	relied_on = relied_on || !tg_failpoint_refuses("skip_early_reads");
	tsurugi_promotion_check("use ordinary tables");
	if (!tsurugi_moment_matters())
		return false;
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

/* --- runs that have started ------------------------------------------------------------------- */

static Relation
index_of(PlanState *state)
{
	switch (nodeTag(state))
	{
		case T_IndexScanState:
			return castNode(IndexScanState, state)->iss_RelationDesc;
		case T_IndexOnlyScanState:
			return castNode(IndexOnlyScanState, state)->ioss_RelationDesc;
		case T_BitmapIndexScanState:
			return castNode(BitmapIndexScanState, state)->biss_RelationDesc;
		default:
			return NULL;
	}
}

/* Rule 10. */
static bool
check_indexes(PlanState *state, void *argument)
{
	Relation index = index_of(state);

	if (index != NULL && index->rd_index->indrelid >= FirstNormalObjectId &&
		XidInMVCCSnapshot(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), held) &&
		!tg_failpoint_refuses("skip_new_index"))
		tsurugi_error_new_index(index);
	return planstate_tree_walker(state, check_indexes, argument);
}

static void
forget_early(void *argument)
{
	Early **link = &early;

	while (*link != NULL && *link != argument)
		link = &(*link)->outer;
	if (*link != NULL) /* otherwise the transaction has ended */
		*link = (*link)->outer;
}

static void
remember_early(QueryDesc *query)
{
	Early *run = MemoryContextAlloc(query->estate->es_query_cxt, sizeof(*run));

	*run = (Early){.outer = early, .snapshot = query->snapshot, .callback = {.func = forget_early, .arg = run}};
	MemoryContextRegisterResetCallback(query->estate->es_query_cxt, &run->callback);
	early = run;
}

void
tsurugi_moment_run_started(QueryDesc *query)
{
	if (is_early)
		remember_early(query);
	if (checks_indexes && query->planstate != NULL)
		(void) check_indexes(query->planstate, NULL);
	is_early = checks_indexes = false;
}

/*
 * A volatile function reads at a snapshot of its own, as a separate statement: it has another
 * active snapshot.
 */
void
tsurugi_moment_check_enclosing(void)
{
	for (const Early *run = early; run != NULL; run = run->outer)
		if (ActiveSnapshotSet() && run->snapshot == GetActiveSnapshot())
			check_fit(run->snapshot);
}

/* --- of transactions that several sessions work in -------------------------------------------- */

void
tsurugi_moment_hold(Snapshot taken)
{
	if (tsurugi_isolation_may_change_host_snapshot())
		held = RegisterSnapshotOnOwner(taken, TopTransactionResourceOwner);
}

void
tsurugi_moment_note_fit(tg_time time)
{
	fitting = time;
}

bool
tsurugi_moment_has_read_ordinary(void)
{
	return relied_on;
}

bool
tsurugi_moment_join(const tg_shared_report *report, bool anothers)
{
	bool is_told = IsolationUsesXactSnapshot() && relied_on; /* also by COPY, which is no run */

	if (anothers && !tsurugi_is_validated() && !is_told && tsurugi_isolation_may_change_host_snapshot())
	{
		if (!tsurugi_shared_moment_borrow(report, &held))
			return false;
		is_borrowed = held != NULL;
	}
	if (is_told)
		check_fit(GetTransactionSnapshot());
	else
		tsurugi_moment_check_enclosing();
	return true;
}
