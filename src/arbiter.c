/*
 * arbiter.c
 *	  INSERT ... ON CONFLICT: which unique index decides.
 *
 * PostgreSQL asks the arbiters before it inserts; the storage says which key has
 * refused a row.  If that is no arbiter's, the arbiters are asked then, so that the
 * conflict that has been provided for is the one that counts.
 */
#include "postgres.h"

#include "src/arbiter.h"

#include "catalog/partition.h"
#include "commands/trigger.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

/* As ExecCheckIndexConstraints has it. */
void
tsurugi_check_arbiters(Relation relation, const List *arbiters)
{
	const tsurugi_relation *described = tsurugi_relation_get(relation);

	for (int i = 0; i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];

		if (index->deferrable && (arbiters == NIL || list_member_oid(arbiters, index->oid)))
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("ON CONFLICT does not support deferrable unique constraints/exclusion constraints "
								   "as arbiters"),
							errtableconstraint(relation, get_rel_name(index->oid))));
	}
}

void
tsurugi_check_routed_arbiters(Relation relation, const List *above)
{
	List *arbiters = NIL;
	ListCell *cell;

	foreach (cell, RelationGetIndexList(relation))
	{
		List *ancestors = get_rel_relispartition(lfirst_oid(cell)) ? get_partition_ancestors(lfirst_oid(cell)) : NIL;

		if (list_length(list_difference_oid(ancestors, above)) < list_length(ancestors))
			arbiters = lappend_oid(arbiters, lfirst_oid(cell));
	}
	if (arbiters != NIL || above == NIL)
		tsurugi_check_arbiters(relation, arbiters);
}

tg_status
tsurugi_ask_arbiters(const tg_writer *writer, const tsurugi_row *row, List *arbiters, tg_wait *holder,
					 bool *is_arbiter_out)
{
	tg_table *table = row->described->table;
	ListCell *cell;

	*is_arbiter_out = arbiters == NIL || list_member_oid(arbiters, tsurugi_index_oid(row->described, holder->index));
	if (*is_arbiter_out)
		return TG_EXISTS;
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
	return TG_EXISTS;
}

/* In the words of ExecARUpdateTriggers, which the executor does not call then. */
void
tsurugi_check_conflict_capture(const TransitionCaptureState *capture)
{
	if (capture != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot collect transition tuples from child foreign tables")));
}

bool
tsurugi_has_same_key(const tg_index *index, const tsurugi_row *a, const tsurugi_row *b)
{
	tg_index_key key_a;
	tg_index_key key_b;

	if (index == NULL)
		return true;
	return tg_index_key_of_values(index, a->values, a->nulls, &key_a) == TG_OK &&
		   tg_index_key_of_values(index, b->values, b->nulls, &key_b) == TG_OK && key_a.present &&
		   key_a.bytes == key_b.bytes && memcmp(key_a.entry, key_b.entry, key_a.bytes) == 0;
}
