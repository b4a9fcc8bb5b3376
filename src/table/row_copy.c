/*
 * row_copy.c
 *	  A private copy of some columns of a version, for computations outside of the epoch.
 *
 * Values lie in the version's chunk and in blobs, which may be freed when the epoch is left and no
 * snapshot sees the version.  Inside the epoch no memory can be allocated, because a failure would
 * raise an error.
 */
#include "postgres.h"

#include "src/table/row_copy.h"

#include "access/sysattr.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/table.h"

#define STRINGS_FIRST 1024

void
tsurugi_row_copy_init(tsurugi_row_copy *copy, const tsurugi_relation *described, const Bitmapset *attributes)
{
	bool whole = bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, attributes);

	tsurugi_row_init(&copy->row, described);
	copy->needed = palloc(Max(described->attribute_count, 1) * sizeof(bool));
	for (int i = 0; i < described->attribute_count; i++)
		copy->needed[i] = described->codecs[tsurugi_column_of(described, i)].form != TSURUGI_NOTHING &&
						  (whole || bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, attributes));
	copy->capacity = STRINGS_FIRST;
	copy->strings = palloc(copy->capacity);
	copy->used = 0;
}

/* Copies a string that is stored out of line, as far as there is room. */
static void
copy_string(tsurugi_row_copy *copy, tg_string *string)
{
	size_t bytes = tg_string_blob_bytes(string);
	char *place = copy->strings + copy->used;

	copy->used += MAXALIGN(bytes);
	if (copy->used > copy->capacity)
		return;
	memcpy(place, string->blob, bytes);
	string->blob = place;
}

bool
tsurugi_row_copy_take(tsurugi_row_copy *copy, tg_version version)
{
	const tsurugi_relation *described = copy->row.described;

	tg_assert(copy->row.column_count == described->column_count);
	copy->used = 0;
	for (int i = 0; i < described->attribute_count; i++)
	{
		int column = tsurugi_column_of(described, i);
		tg_value *value = &copy->row.values[column];

		copy->row.nulls[column] = !copy->needed[i] || !tg_version_value(version, column, value);
		if (copy->row.nulls[column])
			continue;
		if (described->kinds[column] == TG_KIND_STRING && tg_string_is_out(&value->string))
			copy_string(copy, &value->string);
	}
	return copy->used <= copy->capacity;
}

void
tsurugi_row_copy_make_room(tsurugi_row_copy *copy)
{
	if (copy->used <= copy->capacity)
		return;
	pfree(copy->strings);
	copy->capacity = copy->used;
	copy->strings = MemoryContextAllocHuge(GetMemoryChunkContext(copy->needed), copy->capacity);
}
