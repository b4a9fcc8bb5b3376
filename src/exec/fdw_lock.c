/*
 * fdw_lock.c
 *	  Row marks: SELECT ... FOR UPDATE and its like, and rows to be read again.
 *
 * Rows are locked late, in the LockRows node: what a LIMIT or a join drops before is not locked,
 * and a queue read with SKIP LOCKED LIMIT 1 locks one row.  LockRows names a row by its ctid, and
 * gets back the version to be used, which row_follow.c has found and locked:
 *
 *	the one that the snapshot sees	the plan's row stands
 *	a later one						EvalPlanQual evaluates the plan's conditions on it
 *	none							deleted, or locked by others (SKIP LOCKED): the row is skipped
 *
 * At REPEATABLE READ and above a later version, or a deletion, ends the transaction, as for
 * ordinary tables: the executor has been told of the row as it was.  FOR KEY SHARE, by which
 * foreign keys ask, accepts at every level a version that has the keys of the one that the
 * snapshot sees: the plan's row stands.  At SERIALIZABLE the row is in the read set since the scan
 * has handed it up.
 *
 * A table that only takes part in the UPDATE, DELETE or lock of another one is named by ctid, too,
 * and its row is read again, as the snapshot sees it, where a recheck needs it.
 */
#include "postgres.h"

#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/txn/read.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/status_error.h"
#include "src/exec/fdw.h"
#include "src/exec/row_follow.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "src/base/others.h"
#include "src/base/session.h"
#include "src/table/row.h"
#include "src/txn/errors.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

RowMarkType
tsurugiGetForeignRowMarkType(RangeTblEntry *rte, LockClauseStrength strength)
{
	switch (strength)
	{
		case LCS_NONE:
			return ROW_MARK_REFERENCE;
		case LCS_FORKEYSHARE:
			return ROW_MARK_KEYSHARE;
		case LCS_FORSHARE:
			return ROW_MARK_SHARE;
		case LCS_FORNOKEYUPDATE:
			return ROW_MARK_NOKEYEXCLUSIVE;
		case LCS_FORUPDATE:
			return ROW_MARK_EXCLUSIVE;
	}
	elog(ERROR, "unrecognized lock strength %d", (int) strength);
}

/* Kept with the mark for the statement's other rows. */
typedef struct mark_state
{
	tsurugi_row row;
	bool updated; /* the last one was locked in a version that the snapshot does not see */
} mark_state;

static mark_state *
state_of_mark(EState *estate, ExecRowMark *erm)
{
	if (erm->ermExtra == NULL)
	{
		MemoryContext saved = MemoryContextSwitchTo(estate->es_query_cxt);
		mark_state *state = palloc0(sizeof(*state));

		tsurugi_row_init(&state->row, tsurugi_relation_get(erm->relation));
		erm->ermExtra = state;
		MemoryContextSwitchTo(saved);
	}
	return erm->ermExtra;
}

bool
tsurugi_mark_is_updated(const ExecRowMark *erm)
{
	return erm->ermExtra != NULL && ((const mark_state *) erm->ermExtra)->updated;
}

/* The version that the statement has seen (EvalPlanQual, execMain.c).  False: it sees none. */
static bool
read_again(EState *estate, uint32_t row_id, tsurugi_row *row)
{
	tg_session *session = tsurugi_session();
	tg_snapshot snapshot;
	tg_status status;

	tsurugi_snapshot(estate, &snapshot);
	for (;;)
	{
		tg_version version;
		tg_wait wait;

		tg_epoch_enter(session);
		status = tg_txn_read(&snapshot, row->described->table, row_id, &version, &wait);
		if (status == TG_OK)
			tsurugi_row_read(row, version);
		tg_epoch_leave(session);
		if (status != TG_BUSY)
			return status == TG_OK;
		tsurugi_wait_for_outcome(&wait);
	}
}

static tg_lock_mode
mode_of(const ExecRowMark *erm)
{
	switch (erm->markType)
	{
		case ROW_MARK_KEYSHARE:
			return TG_LOCK_KEY_SHARE;
		case ROW_MARK_SHARE:
			return TG_LOCK_SHARE;
		case ROW_MARK_NOKEYEXCLUSIVE:
			return TG_LOCK_NO_KEY_UPDATE;
		default:
			return TG_LOCK_UPDATE;
	}
}

/*
 * Whether a row that has been changed since the snapshot still has the keys that it had then;
 * *version_inout is what the snapshot sees then.
 */
static bool
keeps_keys(const tg_snapshot *snapshot, tg_table *table, uint32_t row, tg_version *version_inout)
{
	tg_version seen;
	tg_wait wait;

	if (tg_txn_read(snapshot, table, row, &seen, &wait) != TG_OK || !tg_version_keeps_keys(table, *version_inout, seen))
		return false;
	*version_inout = seen;
	return true;
}

/* --- rules of row_follow.c ------------------------------------------------------------------- */

typedef struct marked_row
{
	tsurugi_follow follow; /* first: the rules' functions are given it */
	ExecRowMark *erm;
	tsurugi_row *row;
	bool changed; /* the version that was locked is a later one than the snapshot sees */
} marked_row;

/* Also of a SHORT, which locks and waits here. */
static pg_attribute_always_inline tg_status
look_at_marked(tsurugi_follow *follow)
{
	marked_row *marked = (marked_row *) follow;
	tg_table *table = follow->described->table;
	tsurugi_found *found = &follow->found;
	tg_snapshot snapshot;
	tg_writer writer;
	tg_status status;

	tsurugi_snapshot(follow->estate, &snapshot);
	tsurugi_writer(follow->estate, TG_DATA, &writer);
	found->row = follow->target;
	tg_epoch_enter(writer.session);
	status = tg_txn_lock(&writer, &snapshot, table, &found->row, mode_of(marked->erm), &found->version, &found->wait);
	if (status == TG_CHANGED && found->row == follow->target && marked->erm->markType == ROW_MARK_KEYSHARE &&
		keeps_keys(&snapshot, table, found->row, &found->version))
		status = TG_OK;
	if (status == TG_OK || status == TG_CHANGED)
		tsurugi_row_read(marked->row, found->version);
	tg_epoch_leave(writer.session);
	return status;
}

static pg_attribute_always_inline tsurugi_follow_state
take_marked(tsurugi_follow *follow, bool changed)
{
	((marked_row *) follow)->changed = changed;
	return TSURUGI_FOLLOW_DONE;
}

static void
raise_conflict(tsurugi_follow *follow, tg_conflict_kind kind)
{
	tsurugi_error_conflict(follow->relation, kind, follow->target, true);
}

/* As the clause of the statement says.  Errors name the row as the statement has found it. */
static bool
wait_by_policy(tsurugi_follow *follow)
{
	const ExecRowMark *erm = ((marked_row *) follow)->erm;
	const char *name = RelationGetRelationName(follow->relation);

	if (erm->waitPolicy == LockWaitSkip)
		return false;
	if (erm->waitPolicy == LockWaitError)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("could not obtain lock on row in relation \"%s\"", name),
				 errdetail("%s of foreign table \"%s\" is held by %s.",
						   tsurugi_describe_row(follow->relation, follow->target), name,
						   tsurugi_describe_other(follow->found.wait.host))));
	return tsurugi_follow_wait_as_found(follow);
}

static const tsurugi_follow_rules mark_rules = {
	.look = look_at_marked,
	.judge = take_marked,
	.conflict = raise_conflict,
	.wait = wait_by_policy,
	.refused = tsurugi_error,
};

/* Locks the row and reads it; *row_id becomes the newest version's.  False: it is skipped. */
static bool
lock_row(EState *estate, ExecRowMark *erm, uint32_t *row_id, tsurugi_row *row, bool *changed_out)
{
	marked_row marked;

	tsurugi_follow_init(&marked.follow, estate, erm->relation, row->described, TSURUGI_TO_LOCK);
	tsurugi_follow_begin(&marked.follow, *row_id, TSURUGI_FOLLOW_LOCK);
	marked.erm = erm;
	marked.row = row;
	if (tsurugi_follow_row(&marked.follow, &mark_rules) != TSURUGI_FOLLOW_DONE)
		return false;
	*row_id = marked.follow.found.row;
	*changed_out = marked.changed;
	return true;
}

/* --- the callback ---------------------------------------------------------------------------- */

void
tsurugiRefetchForeignRow(EState *estate, ExecRowMark *erm, Datum rowid, TupleTableSlot *slot, bool *updated)
{
	mark_state *state = state_of_mark(estate, erm);
	tsurugi_row *row = &state->row;
	uint32_t row_id = tsurugi_row_id_of_tid((ItemPointer) DatumGetPointer(rowid));

	*updated = false;
	if (erm->strength == LCS_NONE ? !read_again(estate, row_id, row) : !lock_row(estate, erm, &row_id, row, updated))
	{
		ExecClearTuple(slot);
		return;
	}
	state->updated = *updated;
	tsurugi_row_to_slot(row, row_id, slot);
	slot->tts_tableOid = RelationGetRelid(erm->relation);
	ExecMaterializeSlot(slot);
	/* The slot is one for heap tuples, which have their ctid inside. */
	if (TTS_IS_HEAPTUPLE(slot))
		((HeapTupleTableSlot *) slot)->tuple->t_self = slot->tts_tid;
	/* For WHERE CURRENT OF a cursor that locks rows (execCurrentOf). */
	erm->curCtid = slot->tts_tid;
}
