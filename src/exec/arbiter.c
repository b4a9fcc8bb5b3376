/*
 * arbiter.c
 *	  INSERT ...  ON CONFLICT: the unique index that decides.
 *
 * PostgreSQL tests the arbiters before it inserts.  The storage reports the key that has refused a
 * row, or that belongs to a transaction which has not ended.  If this is not the key of an arbiter,
 * the arbiters are tested then, and the refusal afterwards once more.  So the conflict that the
 * statement provides for takes precedence, though its row may go, or come, between two tests; and
 * no transaction waits because of another key.
 */
#include "postgres.h"

#include "src/exec/arbiter.h"

#include "commands/trigger.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/index/entry.h"
#include "runtime/index/index.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/session.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

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

static bool
is_arbiter(const tsurugi_row *row, const List *arbiters, const tg_index *index)
{
	return arbiters == NIL || list_member_oid(arbiters, tsurugi_index_oid(row->described, index));
}

/*
 * Asks the arbiters but for the primary key, at which ask_again looks first, and EXCLUDE, which was
 * asked before the row was inserted.  TG_OK, or as tg_txn_probe.
 */
static tg_status
ask_each(const tg_writer *writer, const tsurugi_row *row, const List *arbiters, tg_wait *holder)
{
	tg_table *table = row->described->table;
	ListCell *cell;

	foreach (cell, arbiters)
	{
		tg_index *index = tg_index_find(table, lfirst_oid(cell));
		tg_wait found;
		tg_status status;

		if (index == NULL || !index->spec.unique)
			continue;
		status = tg_txn_probe(writer, table, NULL, 0, index, row->values, row->nulls, &found);
		if (status == TG_OK)
			continue;
		*holder = found;
		return status;
	}
	return TG_OK;
}

/*
 * After all arbiters have let the row pass: the refusal of a key that is no arbiter's is valid if
 * it lasts, for then it was in force while they did.  TG_AGAIN: the row that refused is gone, or
 * the key is another row's, which may be in conflict with an arbiter.
 */
static tg_status
ask_again(const tg_writer *writer, const tsurugi_row *row, const void *key, size_t key_bytes, const List *arbiters,
		  tg_wait *holder)
{
	tg_wait found = *holder;
	tg_status status =
		tg_txn_probe(writer, row->described->table, key, key_bytes, holder->index, row->values, row->nulls, &found);
	bool is_same = found.index == holder->index && found.row == holder->row;

	if (tg_failpoint_refuses("skip_ask_again"))
		return TG_EXISTS;
	if (status != TG_OK && status != TG_EXISTS && status != TG_BUSY)
		return status;
	if (status == TG_OK || (!is_same && !is_arbiter(row, arbiters, found.index)))
		return TG_AGAIN;
	*holder = found;
	return status;
}

tg_status
tsurugi_ask_arbiters(const tg_writer *writer, const tsurugi_row *row, const void *key, size_t key_bytes,
					 const List *arbiters, tg_status refusal, tg_wait *holder, bool *is_arbiter_out)
{
	tg_status status = refusal;

	*is_arbiter_out = false;
	if (refusal == TG_BUSY && holder->kind != TG_WAIT_ROW)
		return refusal; /* another transaction keeps the table */
	if (!is_arbiter(row, arbiters, holder->index))
	{
		tg_failpoint("arbiter_refused");
		status = ask_each(writer, row, arbiters, holder);
		if (status == TG_OK)
			status = refusal == TG_BUSY ? refusal : ask_again(writer, row, key, key_bytes, arbiters, holder);
	}
	*is_arbiter_out = status == TG_EXISTS && is_arbiter(row, arbiters, holder->index);
	return status;
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
