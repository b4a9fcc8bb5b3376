/*
 * row_walk.c
 *	  A walk over a storage's visible rows, for callers that read all of them.
 */
#include "postgres.h"

#include "src/ddl/row_walk.h"

#include "utils/memutils.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "runtime/exec/range_scan.h"
#include "runtime/exec/scan.h"
#include "runtime/exec/vectors.h"
#include "src/value/codec.h"
#include "src/value/datum.h"
#include "src/exec/range_scan.h"
#include "src/exec/table_scan.h"
#include "src/txn/snapshot.h"

tsurugi_row_walk *
tsurugi_row_walk_open(tg_table *table, int attribute_count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	const tg_columns stored = tg_table_columns(table);
	const uint8_t *kinds = stored.kinds + table->hidden;
	tsurugi_row_walk *walk = palloc0(sizeof(*walk));
	uint16_t *columns;
	tg_snapshot snapshot;
	char *memory;

	walk->context = context;
	walk->column_count = Min((int) (stored.count - table->hidden), attribute_count);
	columns = palloc(Max(walk->column_count, 1) * sizeof(*columns));
	for (int i = 0; i < walk->column_count; i++)
		columns[i] = table->hidden + i;
	memory = palloc(tg_vectors_bytes(kinds, walk->column_count, TG_SLOT_MAX) + TG_CACHE_LINE);
	walk->vectors =
		tg_vectors_init((void *) TYPEALIGN(TG_CACHE_LINE, memory), columns, kinds, walk->column_count, TG_SLOT_MAX);
	tsurugi_snapshot_take(context, &snapshot);
	tg_chunk_scan_init(&walk->scan, table, &snapshot, 0, tg_table_chunk_count(table));
	MemoryContextSwitchTo(caller);
	return walk;
}

void
tsurugi_row_walk_order(tsurugi_row_walk *walk, tg_index *index)
{
	tg_assert(walk->vectors->count == 0);
	if (index != NULL && index->spec.several)
		return;
	walk->range = MemoryContextAlloc(walk->context, sizeof(*walk->range));
	tg_range_scan_init(walk->range, walk->scan.table, index, &walk->scan.snapshot, NULL, 0, true, NULL, 0, true, false);
}

bool
tsurugi_row_walk_next(tsurugi_row_walk *walk)
{
	if (++walk->at < walk->vectors->count)
		return true;
	walk->at = 0;
	if (walk->range != NULL)
		return tsurugi_read_range(walk->range, walk->vectors, TG_SLOT_MAX) > 0;
	return tsurugi_read_chunks(&walk->scan, walk->vectors) > 0;
}

void
tsurugi_row_walk_close(tsurugi_row_walk *walk)
{
	MemoryContextDelete(walk->context);
}

void
tsurugi_row_walk_to_slot(const tsurugi_row_walk *walk, const tsurugi_relation *described, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		const tsurugi_codec *codec = &described->codecs[tsurugi_column_of(described, i)];

		slot->tts_isnull[i] = codec->form == TSURUGI_NOTHING || tsurugi_row_walk_is_null(walk, i);
		slot->tts_values[i] = slot->tts_isnull[i]
								  ? (Datum) 0
								  : tsurugi_datum(codec, tsurugi_row_walk_cell(walk, i),
												  codec->scratch_bytes > 0 ? palloc(codec->scratch_bytes) : NULL);
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = described->oid;
}
