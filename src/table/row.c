/*
 * row.c
 *	  One whole row between a slot and the storage.
 */
#include "postgres.h"

#include "src/table/row.h"

#include "runtime/base/check.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/table.h"
#include "runtime/index/long_key.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/value/datum.h"
#include "src/value/key_column.h"
#include "src/table/row_set.h"
#include "src/table/system_columns.h"

void
tsurugi_row_init(tsurugi_row *row, const tsurugi_relation *described)
{
	int count = described->column_count;
	char *memory;

	/* The cells are 16 bytes wide and must be aligned. */
	memory = palloc(count * (sizeof(tg_value) + sizeof(bool) + TSURUGI_SCRATCH_BYTES) + sizeof(tg_value));
	row->described = described;
	row->column_count = count;
	row->hidden = NULL;
	row->values = (tg_value *) TYPEALIGN(sizeof(tg_value), memory);
	row->scratch = (char *) (row->values + count);
	row->nulls = (bool *) (row->scratch + (size_t) count * TSURUGI_SCRATCH_BYTES);
	memset(row->nulls, true, count);
}

void
tsurugi_row_read(tsurugi_row *row, tg_version version)
{
	tg_assert(row->column_count == row->described->column_count);
	for (int i = 0; i < row->described->column_count; i++)
		row->nulls[i] = !tg_version_value(version, i, &row->values[i]);
}

void
tsurugi_row_to_slot(const tsurugi_row *row, uint32_t row_id, TupleTableSlot *slot)
{
	const tsurugi_relation *described = row->described;

	ExecClearTuple(slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		int column = tsurugi_column_of(described, i);
		const tsurugi_codec *codec = &described->codecs[column];

		/* a version from before a column was dropped has a value there */
		slot->tts_isnull[i] = row->nulls[column] || codec->form == TSURUGI_NOTHING;
		slot->tts_values[i] = slot->tts_isnull[i] ? (Datum) 0
												  : tsurugi_datum(codec, &row->values[column],
																  row->scratch + (size_t) i * TSURUGI_SCRATCH_BYTES);
	}
	ExecStoreVirtualTuple(slot);
	tsurugi_row_id_to_tid(row_id, &slot->tts_tid);
	if (unlikely(tsurugi_system_columns_named))
		tsurugi_system_columns_add(slot, described->oid);
}

/* Whether a string of the host's has the same bytes as a stored one. */
static inline bool
is_same_string(const tg_value *value, const tg_value *stored)
{
	return (value->string.word & TG_STRING_HOST) != 0 && tg_string_is_out(&stored->string) &&
		   tg_string_blob_bytes(&value->string) == tg_string_blob_bytes(&stored->string) &&
		   memcmp(value->string.blob, stored->string.blob, tg_string_blob_bytes(&value->string)) == 0;
}

static inline void
share_string(tsurugi_row *row, int column, const tsurugi_row *old)
{
	if (!row->nulls[column] && !old->nulls[column] && row->described->kinds[column] == TG_KIND_STRING &&
		is_same_string(&row->values[column], &old->values[column]))
		row->values[column] = old->values[column];
}

void
tsurugi_row_from_slot(tsurugi_row *row, TupleTableSlot *slot, const tsurugi_row *old)
{
	const tsurugi_relation *described = row->described;

	tg_assert(row->column_count == described->column_count);
	tg_assert(slot->tts_tupleDescriptor->natts == described->attribute_count);
	tg_assert(old == NULL || old->column_count == row->column_count);
	slot_getallattrs(slot);
	for (int i = 0; i < described->attribute_count; i++)
	{
		int column = tsurugi_column_of(described, i);

		tsurugi_row_set(row, column, slot->tts_values[i],
						slot->tts_isnull[i] || described->codecs[column].form == TSURUGI_NOTHING);
		if (old != NULL)
			share_string(row, column, old);
	}
	for (int i = tsurugi_column_of(described, described->attribute_count); i < described->column_count; i++)
		row->nulls[i] = true;
	if (row->hidden != NULL)
		tsurugi_row_compute_hidden(row, slot, old);
}

void
tsurugi_row_compute_hidden(tsurugi_row *row, TupleTableSlot *slot, const tsurugi_row *old)
{
	tg_assert(row->hidden != NULL);
	tsurugi_hidden_compute(row->hidden, slot, row->values, row->nulls);
	for (int i = 0; old != NULL && i < row->described->hidden_count; i++)
		share_string(row, i, old);
}

void
tsurugi_row_own_strings(tsurugi_row *row)
{
	for (int i = 0; i < row->described->column_count; i++)
		if (!row->nulls[i] && row->described->kinds[i] == TG_KIND_STRING && tg_string_is_out(&row->values[i].string))
			row->values[i].string.word |= TG_STRING_HOST;
}

size_t
tsurugi_key_capacity(const tsurugi_relation *described)
{
	size_t bytes = 0;

	for (int i = 0; i < described->key_count; i++)
	{
		tg_kind kind = (tg_kind) described->kinds[described->key[i].part.column];

		if (kind == TG_KIND_STRING)
			return TG_KEY_BYTES_MAX;
		bytes += sizeof(tg_value);
	}
	return bytes;
}

size_t
tsurugi_row_key(const tsurugi_row *row, Relation relation, unsigned char *key)
{
	size_t bytes;

	tg_assert(row->described->key_count > 0);
	tsurugi_check(
		tg_key_encode(tsurugi_session(), row->described->table, row->described->kinds, row->values, key, &bytes),
		relation);
	return bytes;
}

bool
tsurugi_row_same_key(const tsurugi_row *a, const tsurugi_row *b, Relation relation, unsigned char *key_a,
					 unsigned char *key_b, size_t *key_a_bytes_out)
{
	*key_a_bytes_out = tsurugi_row_key(a, relation, key_a);
	return tsurugi_row_key(b, relation, key_b) == *key_a_bytes_out && memcmp(key_a, key_b, *key_a_bytes_out) == 0;
}
