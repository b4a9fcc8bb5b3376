/*
 * isolation.c
 *	  The additions of REPEATABLE READ and SERIALIZABLE to a snapshot for each statement.
 *
 * Both
 * 1. R is drawn as soon as the transaction has PostgreSQL's own snapshot, whether or not a foreign
 *	  table is named (M4).  PostgreSQL takes that snapshot before the first statement is analysed
 *	  or, if it is not analysed, before it is executed.  This file is called when the analysis is
 *	  over, or when the utility statement or the executor starts, whichever comes first.  A commit
 *	  in between is visible in foreign tables and not in ordinary ones, if it changed one kind only
 *	  (mixed.c).  Stock PostgreSQL has no hook in between, and does not let a transaction take its
 *	  snapshot again.  The time cannot be found afterwards either: each commit in ordinary tables
 *	  would have to record a time, and has no hook at the moment when it becomes visible.  A time
 *	  from PRE_COMMIT is too early (commits in foreign tables from before this transaction began
 *	  would be missing), one from the commit's callback too late.  Each half is a snapshot; what is
 *	  lost is their order relative to commits in one kind that have waited for commits in the other.
 *	  A transaction in a database without the wrapper draws nothing, because there are no tables of
 *	  the wrapper.
 *
 * REPEATABLE READ
 * 2. First committer wins: if a row to be written was committed after R, the transaction ends with
 *	  40001, in PostgreSQL's words.
 * 3. W5: as long as nothing that was read at R has been returned, R may be drawn again.  That is so
 *	  while the first run is the only one, has written nothing, and has opened no scan but the one
 *	  that looks for the row to write, which starts over.  So a single statement that changes a hot
 *	  row by key waits and continues, as at READ COMMITTED.  Values that the conditions of such a
 *	  scan have computed are computed again.
 *
 * SERIALIZABLE
 * 4. Everything that scans return to the executor, and that an insertion learns about a key, is
 *	  noted in a read set before it is returned: versions found by key, keys not found, ranges,
 *	  whole tables.  A scan by the pool's tasks is noted by the backend that starts it, as the whole
 *	  table.  Reads of a subtransaction stay noted when it is rolled back.  A definition that reads
 *	  rows, and a foreign key's check that finds its row, return nothing to the transaction, so
 *	  their reads are not noted.  A check that finds none raises an error, which can be caught.
 *	  Nothing is noted before the first access, which settles the kind: a LONG never has notes.
 * 5. PRE_COMMIT draws C and validates as of it (S1, S2, S3); later actions, of PostgreSQL or of
 *	  other extensions, may still fail and abort.  A transaction that wrote no foreign table has
 *	  nothing to validate, because its snapshot is a moment in the order of commits, unless that
 *	  moment lies within a LONG that preserves what was read (S4).  So a transaction that is READ
 *	  ONLY from its first statement on notes nothing if there is no LONG when its snapshot has been
 *	  drawn: later ones begin later.  If the snapshot excludes commits (mixed.c), it is not such a
 *	  moment, and the transaction is validated as of a C like one that wrote.  DEFERRABLE waits for
 *	  the LONGs that prevent a fresh snapshot, and notes nothing.
 * 6. W5: the snapshot is extended to a later moment R', as of which the noted reads are validated.
 *	  Open scans continue at R: nothing that they have noted has changed up to R', so it is the same
 *	  at both moments.  But versions that have moved between the two (relocate.c) are others at R',
 *	  and those that a scan at R needs are garbage there: so where a scan may be open, the session
 *	  goes on publishing R.  If another session joins with its own snapshot
 *	  of PostgreSQL's, R is extended so that it fits that snapshot (moment.c, 11).
 * 7. L2: before an area is read, it is tested whether a LONG preserves it; reading it would then
 *	  end in 40001 at the commit.  If nothing has been returned yet, the transaction waits for that
 *	  LONG and takes a new snapshot.
 * 8. Tsurugi's SHORT (kinds.c) is SERIALIZABLE, whatever PostgreSQL's level is.
 * 9. M3: PostgreSQL finds cycles among ordinary tables, this file finds those among foreign ones,
 *	  and those that lead through both are not found.  So a SERIALIZABLE transaction that wrote rows
 *	  of both is refused, unless tsurugi_fdw.serializable_mixed permits it.  It wrote ordinary rows
 *	  if a statement or COPY had such a table as its target and an xid has been assigned.  Temporary
 *	  tables are private and do not count.
 * 10. H1: PRE_PREPARE draws no C, for the second phase may come at any time.  It validates the
 *	  reads as of now, and has them held (hold.c).
 *
 * Departures.  Rows are locked early (W5) by fdw_direct.c and scan_lock.c.  In joins whose target
 * is not one row named by its key, the row has been returned before it is locked, and a row that
 * has changed ends the transaction, as with ordinary tables.  A statement of several rows starts
 * over only before its first write.
 */
#include "postgres.h"

#include "src/txn/isolation.h"

#include "access/parallel.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/table/limits.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/hold.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/reads.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/session.h"
#include "src/base/session_owner.h"
#include "src/base/status_error.h"
#include "src/table/relation.h"
#include "src/txn/errors.h"
#include "src/txn/kinds.h"
#include "src/txn/ladder.h"
#include "src/txn/logging.h"
#include "src/txn/mixed.h"
#include "src/txn/moment.h"
#include "src/txn/parallel.h"
#include "src/txn/prepared.h"
#include "src/txn/promotion.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_export.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

int tsurugi_serializable_mixed;
bool tsurugi_tracks;

static ExecutorStart_hook_type previous_executor_start;
static post_parse_analyze_hook_type previous_post_parse_analyze;

/* State of the current transaction. */
static uint64 run_count;
static bool begun; /* the fields below are of this transaction */
static bool used;  /* something read at R has been returned */
/* SERIALIZABLE: a statement had ordinary tables as its target. */
static bool aims_at_ordinary;
static bool notes_reads; /* it is SERIALIZABLE, or SHORT, and may write */
/* Of the notes, for runs that return nothing to the transaction. */
static int suspensions;
static tg_reads *reads; /* NULL: there are no notes */
/* The reads are those of a transaction that several sessions work in. */
static bool reads_are_shared;

const char *
tsurugi_isolation_name(int isolation)
{
	switch (isolation)
	{
		case XACT_SERIALIZABLE:
			return "serializable";
		case XACT_REPEATABLE_READ:
			return "repeatable read";
		default:
			return "read committed";
	}
}

/* --- beginning ---------------------------------------------------------------------- */

static void
follow_notes(void)
{
	tsurugi_tracks = notes_reads && suspensions == 0;
}

static void
set_tracking(bool tracks)
{
	notes_reads = tracks;
	follow_notes();
	tsurugi_minds_areas = tracks;
}

void
tsurugi_isolation_suspend_notes(void)
{
	suspensions++;
	follow_notes();
}

void
tsurugi_isolation_resume_notes(void)
{
	suspensions--;
	follow_notes();
}

bool
tsurugi_isolation_has_tables(void)
{
	return OidIsValid(get_foreign_data_wrapper_oid("tsurugi_fdw", true));
}

/*
 * READ ONLY cannot be turned off once there is a snapshot, except for a subtransaction's, which
 * ends with it.
 */
static void
begin_level(void)
{
	bool read_only = XactReadOnly && GetCurrentTransactionNestLevel() == 1;
	bool safe = IsolationIsSerializable() && read_only && XactDeferrable && !tsurugi_snapshot_is_imported();

	if (begun)
		return;
	if (tsurugi_isolation_has_tables())
	{
		if (safe)
			tsurugi_moment_draw_deferrable();
		else
			tsurugi_snapshot_draw();
		tsurugi_session_describe(XactIsoLevel, TG_TXN_ORDINARY, XactReadOnly, tsurugi_transaction_label);
	}
	begun = true;
	/* Rule 5: after the snapshot has been drawn. */
	set_tracking(IsolationIsSerializable() &&
				 !(safe || (read_only && tg_preserve_is_empty() && tsurugi_snapshot_excluded() == NULL)));
}

void
tsurugi_isolation_draw_short(void)
{
	/*
	 * A snapshot that REPEATABLE READ has drawn is not suitable: it was not drawn to be validated.
	 */
	if (tsurugi_snapshot_time() != 0 && !IsolationIsSerializable() && !tsurugi_snapshot_is_imported())
		tsurugi_snapshot_redraw();
	else
		tsurugi_snapshot_draw();
}

void
tsurugi_isolation_enter_kind(void)
{
	if (tsurugi_kind == TG_TXN_ORDINARY)
		return;
	tg_assert(reads == NULL); /* no reads yet, or none that are noted */
	begun = true;
	set_tracking(tsurugi_kind == TG_TXN_SHORT);
	tsurugi_session_describe(XACT_SERIALIZABLE, tsurugi_kind, XactReadOnly, tsurugi_transaction_label);
}

bool
tsurugi_isolation_may_change_host_snapshot(void)
{
	return !IsolationUsesXactSnapshot() || (!IsolationIsSerializable() && run_count <= 1);
}

static bool
is_ordinary(Oid relation)
{
	char kind = get_rel_relkind(relation);

	if (kind == RELKIND_PARTITIONED_TABLE)
	{
		List *partitions = find_all_inheritors(relation, NoLock, NULL);
		ListCell *cell;

		foreach (cell, partitions)
			if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_RELATION)
				return true;
		return false;
	}
	return kind == RELKIND_RELATION && get_rel_persistence(relation) != RELPERSISTENCE_TEMP;
}

/* The kind may not be known yet. */
static bool
may_be_serializable(void)
{
	return tsurugi_is_serializable() || tsurugi_transaction_type != TG_TXN_ORDINARY;
}

static bool
minds_ordinary(void)
{
	return may_be_serializable() || tsurugi_shared_is_open;
}

static void
note_targets(const PlannedStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->resultRelations)
		if (is_ordinary(rt_fetch(lfirst_int(cell), statement->rtable)->relid))
			aims_at_ordinary = true;
	if (aims_at_ordinary)
		tsurugi_promotion_check("use ordinary tables");
}

void
tsurugi_isolation_note_copy(Oid relation)
{
	if (!minds_ordinary() || !is_ordinary(relation))
		return;
	aims_at_ordinary = true;
	tsurugi_promotion_check("use ordinary tables");
}

/*
 * Rule 1.  If a statement that is analysed or executed needs a snapshot, it has an active one; at
 * these levels PostgreSQL's snapshot of the transaction has then been taken.
 */
void
tsurugi_isolation_begin_statement(void)
{
	tsurugi_kind_keep_read_only();
	if (!IsolationUsesXactSnapshot() || begun || !ActiveSnapshotSet() || IsParallelWorker() ||
		tg_failpoint_refuses("skip_m4_first"))
		return;
	tg_failpoint("before_time");
	begin_level();
}

static void
statement_is_analysed(ParseState *state, Query *query, JumbleState *jumble)
{
	if (previous_post_parse_analyze != NULL)
		previous_post_parse_analyze(state, query, jumble);
	tsurugi_isolation_begin_statement();
}

static void
start_run(QueryDesc *query, int eflags)
{
	bool matters = false;

	tsurugi_kind_keep_read_only();
	if (!begun)
		tg_failpoint("before_time");
	if (tg_unlikely(IsParallelWorker()))
		eflags = tsurugi_parallel_follow(query, eflags);
	else if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
	{
		tsurugi_ladder_go_on();
		if (IsolationUsesXactSnapshot() || may_be_serializable())
		{
			run_count++;
			if (IsolationUsesXactSnapshot() && !tg_failpoint_refuses("skip_m4_first"))
				begin_level();
		}
		if (tg_unlikely(tsurugi_export_is_noted))
			tsurugi_export_look();
		if (!aims_at_ordinary && query->plannedstmt->resultRelations != NIL && minds_ordinary())
			note_targets(query->plannedstmt);
		matters = tsurugi_moment_matters();
		if (tg_unlikely(matters))
			tsurugi_moment_start_run(query);
		else if (IsolationUsesXactSnapshot())
			tsurugi_moment_note_run(query);
	}
	if (previous_executor_start != NULL)
		previous_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (tg_unlikely(matters))
		tsurugi_moment_run_started(query);
	if ((query->plannedstmt->invalItems != NIL || tg_unlikely(IsParallelWorker())) &&
		(eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
	{
		/* It calls users' functions, or a worker works for it. */
		if (!IsolationUsesXactSnapshot())
			tsurugi_snapshot_note_run(query->estate);
		if (query->plannedstmt->parallelModeNeeded)
			tsurugi_parallel_lead(query);
	}
}

static bool
reads_tables(const PlannedStmt *plan)
{
	ListCell *cell;

	foreach (cell, plan->rtable)
	{
		const RangeTblEntry *entry = lfirst(cell);

		if (entry->rtekind == RTE_RELATION && entry->relkind == RELKIND_FOREIGN_TABLE && tsurugi_is_ours(entry->relid))
			return true;
	}
	return false;
}

static void
catch_up_and_start(QueryDesc *query, int eflags)
{
	tg_snapshot snapshot;
	TimestampTz taken;

	if (tsurugi_snapshot_time() == 0 && tsurugi_session_catch_up(query->snapshot))
		tsurugi_session_caught_up = query->snapshot;
	start_run(query, eflags);
	if (!IsolationUsesXactSnapshot() && !tsurugi_snapshot_lend(query->estate, &snapshot, &taken))
		tsurugi_error_too_late();
}

/* snapshot.c, 7. */
static void
start_run_of_standby(QueryDesc *query, int eflags)
{
	Snapshot outer = tsurugi_session_caught_up;

	tsurugi_session_caught_up = NULL;
	PG_TRY();
	{
		catch_up_and_start(query, eflags);
	}
	PG_CATCH();
	{
		tsurugi_session_caught_up = outer;
		PG_RE_THROW();
	}
	PG_END_TRY();
	tsurugi_session_caught_up = outer;
	tsurugi_mixed_let_go();
}

static void
executor_start(QueryDesc *query, int eflags)
{
	if (tg_unlikely(tsurugi_follows) && !IsParallelWorker() && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 &&
		query->snapshot != InvalidSnapshot && reads_tables(query->plannedstmt))
		start_run_of_standby(query, eflags);
	else
		start_run(query, eflags);
}

void
tsurugi_isolation_init(void)
{
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	previous_post_parse_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = statement_is_analysed;
}

void
tsurugi_isolation_join(tg_reads *shared)
{
	begun = true;
	used = true;
	reads = shared;
	reads_are_shared = true;
	set_tracking(tsurugi_is_validated() && !tg_failpoint_refuses("skip_shared_reads"));
	tsurugi_session_describe(tsurugi_is_serializable() ? XACT_SERIALIZABLE : XactIsoLevel, tsurugi_kind, XactReadOnly,
							 tsurugi_transaction_label);
}

static void
make_reads(void)
{
	if (tg_likely(reads != NULL))
		return;
	tsurugi_check(tg_reads_create(tsurugi_session(), &reads), NULL);
	tg_reads_follow(reads, tsurugi_transaction_number());
	tsurugi_track_transaction(reads);
}

void
tsurugi_isolation_prepare_notes(void)
{
	if (tsurugi_tracks)
		make_reads();
}

tg_reads *
tsurugi_reads(void)
{
	tg_assert(tsurugi_tracks && reads != NULL);
	return reads;
}

void
tsurugi_isolation_follow(bool tracks)
{
	begun = true;
	set_tracking(tracks);
	tsurugi_session_describe(XactIsoLevel, TG_TXN_ORDINARY, XactReadOnly, tsurugi_transaction_label);
}

tg_reads *
tsurugi_isolation_give_reads(void)
{
	tg_reads *given = reads;

	reads = NULL;
	return given;
}

void
tsurugi_isolation_take_reads(tg_reads *taken)
{
	if (reads != NULL)
		tg_reads_merge(tsurugi_session(), reads, taken);
	else
	{
		reads = taken;
		tsurugi_track_transaction(reads);
	}
}

void
tsurugi_isolation_begin(tg_txn *txn)
{
	if (tsurugi_kind == TG_TXN_ORDINARY && IsolationUsesXactSnapshot())
	{
		begin_level();
		tsurugi_snapshot_draw();
	}
	/*
	 * Also while notes are suspended.  Not for a LONG: if it fails to start, the transaction
	 * continues at its level.
	 */
	if (notes_reads && tsurugi_is_validated())
	{
		make_reads();
		tg_txn_track(txn, reads);
	}
}

void
tsurugi_snapshot_is_used(void)
{
	used = true;
}

/* --- conflicts ---------------------------------------------------------------------- */

/* Steps a validation that has begun until its end. */
static bool
validate(tg_conflict *conflict)
{
	for (;;)
	{
		tg_wait wait;

		switch (tg_validation_step(tsurugi_session(), reads, conflict, &wait))
		{
			case TG_OK:
				return true;
			case TG_CHANGED:
				return false;
			case TG_BUSY:
				tsurugi_wait_for_outcome(&wait);
				break;
			default:
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

uint32_t
tsurugi_isolation_row_count(void)
{
	return reads == NULL ? 0 : tg_reads_row_count(reads);
}

void
tsurugi_isolation_check_read(const tg_area *area)
{
	for (;;)
	{
		bool told = used || run_count > 1 || tsurugi_has_written() || (reads != NULL && !tg_reads_is_empty(reads)) ||
					tsurugi_snapshot_is_fixed();
		tg_conflict conflict;
		tg_status status;
		tg_wait wait;

		status = tg_preserve_check_read(area, tsurugi_snapshot_time(), tsurugi_kind != TG_TXN_SHORT && !told, &wait,
										&conflict);
		if (status == TG_OK)
			return;
		if (status != TG_BUSY)
			tsurugi_error_validation(&conflict);
		tsurugi_wait_for_long(&wait);
		if (!tsurugi_snapshot_redraw())
			tsurugi_error_too_late();
	}
}

/* False: *conflict_out. */
static bool
try_to_extend(tg_time later, const tg_exclusions *excluded, tg_conflict *conflict_out)
{
	tsurugi_parallel_collect();
	if (reads != NULL)
	{
		tg_validation_begin(reads, tsurugi_snapshot_time(), later, false);
		tg_validation_exclude(reads, tsurugi_snapshot_excluded(), excluded);
		if (!validate(conflict_out))
			return false;
	}
	tsurugi_parallel_call_off();
	tsurugi_snapshot_extend(later, excluded, used || run_count > 1);
	tsurugi_shared_note_extended(later);
	return true;
}

/* written: the row that the transaction is about to write, if there is one. */
static bool
extend_to(tg_time later, const tg_exclusions *excluded, tsurugi_beaten_by written)
{
	tg_conflict conflict;

	if (!try_to_extend(later, excluded, &conflict))
		tsurugi_error_validation_to_write(&conflict, written);
	return true;
}

/*
 * If several sessions work in the transaction, each has its own snapshot of PostgreSQL's.  The
 * later time then fits the snapshot of this session, if that has been read at, and has no
 * exclusions: they would hold for this session only.
 */
static bool
find_later(tg_time *later_out, const tg_exclusions **excluded_out)
{
	if (!reads_are_shared)
		return tsurugi_snapshot_find_later(later_out, excluded_out);
	*excluded_out = NULL;
	*later_out = tg_load_seq_cst(tg_clock);
	return (!tsurugi_moment_has_read_ordinary() || tg_failpoint_refuses("skip_fit") ||
			tsurugi_mixed_latest(tsurugi_snapshot_host(), later_out)) &&
		   *later_out > tsurugi_snapshot_time();
}

static bool
extend_snapshot(tsurugi_beaten_by written)
{
	const tg_exclusions *excluded;
	tg_time later;

	return find_later(&later, &excluded) && extend_to(later, excluded, written);
}

bool
tsurugi_extend_snapshot(void)
{
	const tg_exclusions *excluded;
	tg_conflict conflict;
	tg_time later;

	return tsurugi_is_validated() && !tsurugi_snapshot_is_fixed() && find_later(&later, &excluded) &&
		   try_to_extend(later, excluded, &conflict);
}

bool
tsurugi_isolation_make_fit(Snapshot host)
{
	tg_time later;

	return tsurugi_is_validated() && reads_are_shared && tsurugi_mixed_latest(host, &later) &&
		   later > tsurugi_snapshot_time() && extend_to(later, NULL, TSURUGI_NO_ROW);
}

void
tsurugi_renew_snapshot(Relation relation, tg_conflict_kind kind, uint32_t row, bool may_start_over)
{
	bool renewed = false;

	may_start_over = may_start_over && !tsurugi_snapshot_is_fixed();
	if (may_start_over && tsurugi_is_validated())
		renewed = extend_snapshot(
			(tsurugi_beaten_by){.relation = RelationGetRelid(relation), .row = row, .mode = TG_LOCK_NO_KEY_UPDATE});
	else if (may_start_over && tsurugi_kind == TG_TXN_ORDINARY && !used && run_count <= 1 && !tsurugi_has_written())
		renewed = tsurugi_snapshot_redraw();
	if (!renewed)
		tsurugi_error_conflict(relation, kind, row, false);
}

/* --- the end ------------------------------------------------------------------------ */

bool
tsurugi_isolation_wrote_ordinary(void)
{
	return aims_at_ordinary && TransactionIdIsValid(GetTopTransactionIdIfAny());
}

void
tsurugi_isolation_check_mixed(void)
{
	if (tsurugi_serializable_mixed == TSURUGI_MIXED_STRICT && tsurugi_isolation_wrote_ordinary() &&
		!tg_failpoint_refuses("skip_m3"))
		tsurugi_error_mixed();
}

/*
 * S4.  A snapshot with exclusions is not a moment; then the reads are validated as of a C, as for a
 * transaction that has written.
 */
static void
check_reads(void)
{
	tg_time time = tsurugi_snapshot_time();
	tg_conflict conflict;

	if (tg_likely(tsurugi_snapshot_excluded() == NULL || tg_failpoint_refuses("mixed_reads")))
	{
		if (tg_reads_check_snapshot(tsurugi_session(), reads, time, &conflict) != TG_OK)
			tsurugi_error_validation(&conflict);
		return;
	}
	tg_validation_begin(reads, time, tg_fetch_add_seq_cst(tg_clock, 1) + 1, true);
	tg_validation_exclude(reads, tsurugi_snapshot_excluded(), NULL);
	if (!validate(&conflict))
		tsurugi_error_validation(&conflict);
}

void
tsurugi_isolation_prepare(tg_txn *txn)
{
	tg_conflict conflict;

	if (txn == NULL || !tg_txn_has_writes(txn))
	{
		if (reads != NULL && !tg_reads_is_empty(reads))
			check_reads();
		return;
	}
	tsurugi_isolation_check_mixed();
	/* One that has read nothing has still to look at what prepared transactions have read (H2). */
	if (reads == NULL || (tg_reads_is_empty(reads) && max_prepared_xacts == 0))
		return;
	if (!tsurugi_mixed_has_begun())
	{
		tsurugi_logging_before_draw(txn);
		(void) tg_txn_prepare(tsurugi_session(), txn, tsurugi_snapshot_time());
	}
	tg_validation_exclude(reads, tsurugi_snapshot_excluded(), NULL);
	if (!validate(&conflict))
		tsurugi_error_validation(&conflict);
}

/*
 * H1.  A C is not drawn before the second phase.  What is published is withdrawn when the
 * transaction aborts.
 */
void
tsurugi_isolation_hold(tg_txn *txn)
{
	tg_conflict conflict;

	if (txn == NULL || !tg_txn_has_writes(txn))
	{
		if (reads != NULL && !tg_reads_is_empty(reads))
			check_reads();
		return;
	}
	tsurugi_isolation_check_mixed();
	make_reads();
	tsurugi_prepared_learn();
	tg_hold_publish(tsurugi_session(), txn);
	do
	{
		tg_hold_validate(txn, tsurugi_snapshot_time());
		tg_validation_exclude(reads, tsurugi_snapshot_excluded(), NULL);
		if (!validate(&conflict))
			tsurugi_error_validation(&conflict);
	} while (!tg_hold_is_valid(txn));
}

const tg_reads *
tsurugi_isolation_held(void)
{
	return reads;
}

bool
tsurugi_isolation_has_notes(void)
{
	return reads != NULL;
}

void
tsurugi_isolation_end(bool committed)
{
	if (reads != NULL && !reads_are_shared)
		tg_reads_destroy(tsurugi_session(), reads);
	if (begun && tsurugi_own_session != NULL)
		tsurugi_session_describe(XACT_READ_COMMITTED, TG_TXN_ORDINARY, false, "");
	reads = NULL;
	reads_are_shared = false;
	run_count = 0;
	begun = false;
	used = false;
	aims_at_ordinary = false;
	notes_reads = false;
	tsurugi_tracks = false;
}
