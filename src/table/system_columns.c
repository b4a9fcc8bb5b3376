/*
 * system_columns.c
 *	  xmin, xmax, cmin and cmax of rows in memory.
 *
 * PostgreSQL keeps them in the header of a heap tuple; what names a row's writer here goes when that has ended.  So they are made
 * when somebody asks, for what they are asked for:
 *
 *	xmin		tells versions of a row apart, for those who change a row only if it still is what they have read
 *				(UPDATE ... WHERE id = 1 AND xmin = '...' RETURNING xmin): a number that the row's content gives.  The same
 *				content has the same one, at once and after a restart; another has another one, but for one in 2^32.
 *	xmax		0; of a row that INSERT ... ON CONFLICT DO UPDATE has found there, not 0, as in PostgreSQL (whose row
 *				lock shows): RETURNING xmax = 0 tells what was inserted.
 *	cmin, cmax	0
 *
 * Neither is the number of a transaction: age() and the like say nothing of them.
 *
 * A slot can have them if it is one for heap tuples, as those of PostgreSQL are for foreign tables, and holds one: others
 * raise PostgreSQL's own error, also of rows that come by way of a partitioned table, as with ordinary partitions.
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

/* What its columns point to may be the slot's own: a tuple is made before that goes. */
static void
add(TupleTableSlot *slot, Oid table, TransactionId xmin, TransactionId xmax)
{
	MemoryContext saved = MemoryContextSwitchTo(slot->tts_mcxt);
	HeapTuple tuple = heap_form_tuple(slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);

	MemoryContextSwitchTo(saved);
	tuple->t_data->t_ctid =
		slot->tts_tid; /* first: what it was formed as, a composite value, has something else there */
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
