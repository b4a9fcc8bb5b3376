/*
 * system_columns.c
 *	  xmin, xmax, cmin and cmax of rows in memory.
 *
 * PostgreSQL keeps them in the header of a heap tuple.  Here the record of a row's writer is
 * removed some time after the writer has ended.  So they are made on request, for the purposes that
 * they have:
 *
 *	xmin		distinguishes versions of a row, for clients that change a row only if it is still
 *				the one that they have read (UPDATE ... WHERE id = 1 AND xmin = '...' RETURNING
 *				xmin).  It is computed from the row's content: equal contents have equal numbers,
 *				at once and after a restart; different contents have different ones, except for
 *				one in 2^32
 *	xmax		0; not 0 for a row that INSERT ... ON CONFLICT DO UPDATE has found, as in PostgreSQL
 *				(where it shows the row lock): RETURNING xmax = 0 tells which rows were inserted
 *	cmin, cmax	0
 *
 * None of them is the number of a transaction: age() and similar functions give no information
 * about them.
 *
 * A slot can have them if it is one for heap tuples, as PostgreSQL's slots for foreign tables are,
 * and holds one.  Other slots raise PostgreSQL's own error, also for rows that come through a
 * partitioned table, as with ordinary partitions.
 */
#include "postgres.h"

#include "src/table/system_columns.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "common/hashfn.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/memutils.h"

bool tsurugi_system_columns_named;

static bool
is_one(AttrNumber attribute)
{
	return attribute < SelfItemPointerAttributeNumber && attribute > TableOidAttributeNumber;
}

bool
tsurugi_system_columns_are_in(const Bitmapset *attributes)
{
	int member = bms_next_member(attributes, TableOidAttributeNumber - FirstLowInvalidHeapAttributeNumber);
	bool are = member >= 0 && is_one((AttrNumber) (member + FirstLowInvalidHeapAttributeNumber));

	tsurugi_system_columns_named |= are;
	return are;
}

bool
tsurugi_system_columns_are_named(Node *expressions, Index relation)
{
	List *vars =
		pull_var_clause(expressions, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS);
	ListCell *cell;

	foreach (cell, vars)
	{
		const Var *var = lfirst_node(Var, cell);

		if (var->varno == relation && is_one(var->varattno))
			return tsurugi_system_columns_named = true;
	}
	return false;
}

static TransactionId
number_of(TupleTableSlot *slot)
{
	TupleDesc columns = slot->tts_tupleDescriptor;
	uint32 number = 0;

	for (int i = 0; i < columns->natts; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);

		if (!column->attisdropped)
			number = hash_combine(
				number,
				slot->tts_isnull[i] ? 0 : datum_image_hash(slot->tts_values[i], column->attbyval, column->attlen));
	}
	return Max(number, FirstNormalTransactionId);
}

/* The slot's columns may point to its own memory; a tuple is made before that is released. */
static void
add(TupleTableSlot *slot, Oid table, TransactionId xmin, TransactionId xmax)
{
	MemoryContext saved = MemoryContextSwitchTo(slot->tts_mcxt);
	HeapTuple tuple = heap_form_tuple(slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);

	MemoryContextSwitchTo(saved);
	tuple->t_data->t_ctid =
		/* First, because a tuple formed as a composite value has something else there. */
		slot->tts_tid;
	HeapTupleHeaderSetXmin(tuple->t_data, xmin);
	HeapTupleHeaderSetXmax(tuple->t_data, xmax);
	HeapTupleHeaderSetCmin(tuple->t_data, 0);
	tuple->t_self = slot->tts_tid;
	tuple->t_tableOid = table;
	ExecStoreHeapTuple(tuple, slot, true);
	slot_getallattrs(slot);
}

void
tsurugi_system_columns_add(TupleTableSlot *slot, Oid table)
{
	if (TTS_IS_HEAPTUPLE(slot))
		add(slot, table, number_of(slot), InvalidTransactionId);
}

void
tsurugi_system_columns_copy(TupleTableSlot *slot, Oid table, TupleTableSlot *stored, bool replaced)
{
	TransactionId xmin = number_of(stored);

	if (!TTS_IS_HEAPTUPLE(slot))
		return;
	slot_getallattrs(slot);
	add(slot, table, xmin, replaced ? xmin : InvalidTransactionId);
}
