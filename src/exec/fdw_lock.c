/*
 * fdw_lock.c
 *	  Row marks: SELECT ... FOR UPDATE and its like, and rows to be read again.
 *
 * Rows are locked late, in the LockRows node: what a LIMIT or a join drops
 * before is not locked, and a queue read with SKIP LOCKED LIMIT 1 locks one row.
 * LockRows names a row by its ctid, and gets back the version to be used:
 *
 *	the one that the snapshot sees	the plan's row stands
 *	a later one						EvalPlanQual evaluates the plan's conditions on it (READ COMMITTED)
 *	none							deleted, or locked by others (SKIP LOCKED): the row is passed over
 *
 * At REPEATABLE READ and above a later version, or a deletion, ends the
 * transaction, as for ordinary tables: the executor has been told of the row as it was.  FOR KEY
 * SHARE, by which foreign keys ask, minds at no level a version that has the keys of the one that
 * the snapshot sees: the plan's row stands.  At SERIALIZABLE the row is in the read set since the
 * scan has handed it up.
 *
 * A table that only takes part in somebody else's UPDATE, DELETE or lock is
 * named by ctid, too, and read again, as the snapshot sees it, where a recheck needs it.
 */
#include "postgres.h"

#include "src/base/status_error.h"
#include "src/exec/fdw.h"

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

/* Room for a row, kept with the mark for the statement's other rows. */
static tsurugi_row *
row_of_mark(EState *estate, ExecRowMark *erm)
{
	if (erm->ermExtra == NULL)
	{
		MemoryContext saved = MemoryContextSwitchTo(estate->es_query_cxt);

		erm->ermExtra = palloc(sizeof(tsurugi_row));
		tsurugi_row_init(erm->ermExtra, tsurugi_relation_get(erm->relation));
		MemoryContextSwitchTo(saved);
	}
	return erm->ermExtra;
}

/* The same version that the statement has seen (EvalPlanQual, execMain.c). */
static tg_status
read_again(EState *estate, ExecRowMark *erm, uint32_t row_id, tsurugi_row *row)
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
			return status;
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

/* Whether a row that has been changed since the snapshot was so beside its keys only; *version_inout is what the snapshot sees then. */
static bool
is_changed_beside_keys(const tg_snapshot *snapshot, tg_table *table, uint32_t row, tg_version *version_inout)
{
	tg_version seen;
	tg_wait wait;

	if (tg_txn_read(snapshot, table, row, &seen, &wait) != TG_OK || !tg_version_keeps_keys(table, *version_inout, seen))
		return false;
	*version_inout = seen;
	return true;
}

/* Locks the row and reads it.  TG_OK, TG_CHANGED; everything else: it is to be passed over. */
static tg_status
lock_row(EState *estate, ExecRowMark *erm, uint32_t *row_id, tsurugi_row *row)
{
	const uint32_t first = *row_id;

	for (;;)
	{
		tg_snapshot snapshot;
		tg_version version;
		tg_writer writer;
		tg_status status;
		tg_wait wait;

		tsurugi_snapshot(estate, &snapshot);
		tsurugi_writer(estate, TG_DATA, &writer);
		*row_id = first;
		tg_epoch_enter(writer.session);
		status = tg_txn_lock(&writer, &snapshot, row->described->table, row_id, mode_of(erm), &version, &wait);
		if (status == TG_CHANGED && *row_id == first && erm->markType == ROW_MARK_KEYSHARE &&
			is_changed_beside_keys(&snapshot, row->described->table, first, &version))
			status = TG_OK;
		if (status == TG_OK || status == TG_CHANGED)
			tsurugi_row_read(row, version);
		tg_epoch_leave(writer.session);
		switch (status)
		{
			case TG_BUSY:
				if (erm->waitPolicy == LockWaitSkip)
					return status;
				if (erm->waitPolicy == LockWaitError)
					ereport(ERROR,
							(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
							 errmsg("could not obtain lock on row in relation \"%s\"",
									RelationGetRelationName(erm->relation)),
							 errdetail("%s of foreign table \"%s\" is held by %s.",
									   tsurugi_describe_row(erm->relation, first),
									   RelationGetRelationName(erm->relation), tsurugi_describe_other(wait.host))));
				tsurugi_wait(&wait, erm->relation, TSURUGI_TO_LOCK, first);
				break;
			case TG_CHANGED:
			case TG_NOT_FOUND:
			case TG_MOVED:
				if (tsurugi_has_one_snapshot())
					tsurugi_error_conflict(erm->relation, tsurugi_conflict_of(status), first, true);
				if (status == TG_MOVED)
					tsurugi_error_moved(erm->relation, first);
				return status;
			case TG_OK:
			case TG_SELF:
				return status;
			default:
				tsurugi_error(status, erm->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

void
tsurugiRefetchForeignRow(EState *estate, ExecRowMark *erm, Datum rowid, TupleTableSlot *slot, bool *updated)
{
	tsurugi_row *row = row_of_mark(estate, erm);
	uint32_t row_id = tsurugi_row_id_of_tid((ItemPointer) DatumGetPointer(rowid));
	tg_status status =
		erm->strength == LCS_NONE ? read_again(estate, erm, row_id, row) : lock_row(estate, erm, &row_id, row);

	*updated = status == TG_CHANGED;
	if (status != TG_OK && status != TG_CHANGED)
	{
		ExecClearTuple(slot);
		return;
	}
	tsurugi_row_to_slot(row, row_id, slot);
	slot->tts_tableOid = RelationGetRelid(erm->relation);
	ExecMaterializeSlot(slot);
	/* The slot is one for heap tuples, which have their ctid inside. */
	if (TTS_IS_HEAPTUPLE(slot))
		((HeapTupleTableSlot *) slot)->tuple->t_self = slot->tts_tid;
	/* For WHERE CURRENT OF a cursor that locks rows (execCurrentOf). */
	erm->curCtid = slot->tts_tid;
}
