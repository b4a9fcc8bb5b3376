/*
 * arbiter.c
 *	  INSERT ...  ON CONFLICT: the unique index that decides.
 *
 * PostgreSQL tests the arbiters before it inserts.  The storage reports the key that has refused a
 * row, or that belongs to a transaction which has not ended.  If this is not the key of an arbiter,
 * the arbiters are tested then.  So the conflict that the statement provides for takes precedence,
 * and no transaction waits because of another key.
 */
#include "postgres.h"

#include "src/exec/arbiter.h"

#include "commands/trigger.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "src/base/session.h"
#include "src/txn/transaction.h"

/*
 * The first DEFERRABLE arbiter, or NULL.  *before_out: the indexes that PostgreSQL tests before it,
 * which have lower OIDs.
 */
static const tsurugi_index *
first_deferrable(const tsurugi_relation *described, const List *arbiters, List **before_out)
{
	const tsurugi_index *first = NULL;

	*before_out = NIL;
	for (int i = 0; i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];

		if ((arbiters == NIL || list_member_oid(arbiters, index->oid)) && index->deferrable &&
			(first == NULL || index->oid < first->oid))
			first = index;
	}
	for (int i = 0; first != NULL && i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];

		if ((arbiters == NIL || list_member_oid(arbiters, index->oid)) && index->oid < first->oid)
			*before_out = lappend_oid(*before_out, index->oid);
	}
	return first;
}

tg_status
tsurugi_ask_before_deferrable(Relation relation, const tsurugi_row *row, const void *key, size_t key_bytes,
							  tsurugi_exclusions *exclusions, TupleTableSlot *slot, const List *arbiters,
							  tg_wait *holder)
{
	tg_table *table = row->described->table;
	List *before;
	const tsurugi_index *index = first_deferrable(row->described, arbiters, &before);
	tg_status status = TG_OK;
	tg_writer writer;

	if (index == NULL)
		return TG_OK;
	tsurugi_writer(NULL, TG_DATA, &writer);
	writer.hidden = tsurugi_row_hidden(row);
	if (before != NIL)
		status = tg_txn_probe(&writer, table, list_member_oid(before, row->described->key_index) ? key : NULL,
							  key_bytes, NULL, row->values, row->nulls, holder);
	if (status == TG_EXISTS && !list_member_oid(before, tsurugi_index_oid(row->described, holder->index)))
		status = TG_OK;
	if (status == TG_OK && before != NIL && exclusions != NULL)
		status = tsurugi_exclusions_probe(exclusions, slot, TG_ROW_MAX, before, holder);
	if (status == TG_OK)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("ON CONFLICT does not support deferrable unique constraints/exclusion constraints "
							   "as arbiters"),
						errtableconstraint(relation, get_rel_name(index->oid))));
	return status;
}

tg_status
tsurugi_ask_arbiters(const tg_writer *writer, const tsurugi_row *row, List *arbiters, tg_status refusal,
					 tg_wait *holder, bool *is_arbiter_out)
{
	tg_table *table = row->described->table;
	ListCell *cell;

	*is_arbiter_out = false;
	if (refusal == TG_BUSY && holder->kind != TG_WAIT_ROW)
		return refusal; /* another transaction keeps the table */
	if (arbiters == NIL || list_member_oid(arbiters, tsurugi_index_oid(row->described, holder->index)))
	{
		*is_arbiter_out = refusal == TG_EXISTS;
		return refusal;
	}
	foreach (cell, arbiters)
	{
		tg_index *index = tg_index_find(table, lfirst_oid(cell));
		tg_wait found;
		tg_status status;

		if (index == NULL)
			continue; /* the primary key, which refuses first */
		status = tg_txn_probe(writer, table, NULL, 0, index, row->values, row->nulls, &found);
		if (status == TG_OK)
			continue;
		*holder = found;
		*is_arbiter_out = status == TG_EXISTS;
		return status;
	}
	return refusal;
}

Oid
tsurugi_first_refusing(const tsurugi_row *row, const tg_index *refused, uint32_t own)
{
	const tsurugi_relation *described = row->described;
	Oid oid = tsurugi_index_oid(described, refused);
	tg_writer writer;

	tsurugi_writer(NULL, TG_DATA, &writer);
	writer.hidden = tsurugi_row_hidden(row);
	for (int i = 0; i < described->index_count; i++)
	{
		Oid before = described->indexes[i].oid;
		tg_index *index = before < oid ? tg_index_find(described->table, before) : NULL;
		tg_wait holder;

		if (index != NULL && index->spec.unique && !tg_index_is_retired(index) &&
			tg_txn_probe(&writer, described->table, NULL, 0, index, row->values, row->nulls, &holder) == TG_EXISTS &&
			holder.row != own)
			return before;
	}
	return oid;
}

/* The message is that of ExecARUpdateTriggers, which the executor does not call in this case. */
void
tsurugi_check_conflict_capture(const TransitionCaptureState *capture)
{
	if (capture != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot collect transition tuples from child foreign tables")));
}

bool
tsurugi_has_key(const tg_index *index, tg_version version, const tsurugi_row *row)
{
	tg_index_key key;
	bool has;

	if (index == NULL)
		return true;
	if (tg_index_key_of_values(index, row->values, row->nulls, tsurugi_row_hidden(row), &key) != TG_OK || !key.present)
		return false;
	tg_epoch_enter(tsurugi_session());
	has = tg_index_has_key(index, version, key.entry, key.bytes);
	tg_epoch_leave(tsurugi_session());
	return has;
}
