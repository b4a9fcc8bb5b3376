/*
 * arrow_values.c
 *	  Values of Arrow's arrays, as all readers of files give them.
 *
 * An array has a bit for each value that says whether it is there, and what follows from its
 * layout.  What lies under a NULL may be anything, and is not looked at.
 */
#include "runtime/format/arrow_internal.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/number.h"
#include "runtime/format/pack.h"
#include "runtime/format/unpack.h"

#define VIEW_BYTES 16
#define VIEW_INLINE 12 /* bytes that a view has itself */
#define INTERVAL_BYTES 16
#define NS_PER_MS 1000000
#define DAY_MS 86400000

void
tg_arrow_values_free(tg_arrow *file, tg_arrow_values *values)
{
	tg_buffer_free(&file->memory, &values->nulls);
	tg_buffer_free(&file->memory, &values->words);
	tg_buffer_free(&file->memory, &values->bytes);
	tg_buffer_free(&file->memory, &values->texts);
}

static bool
reserve(tg_arrow *file, tg_buffer *buffer, uint64_t count, size_t width)
{
	if (count < file->source->memory_max / width && tg_buffer_reserve(&file->memory, buffer, (count + 1) * width))
		return true;
	(void) tg_arrow_no_memory(file);
	return false;
}

/* --- bits ------------------------------------------------------------------------------- */

static unsigned
bit_at(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* The bytes that so many bits lie in, of which the first one has the bit `from`. */
static const uint8_t *
read_bits(tg_arrow *file, tg_arrow_buffer *buffer, uint64_t from, uint64_t count)
{
	return tg_arrow_bytes(file, buffer, from / 8, (from % 8 + count + 7) / 8);
}

/* 1: NULL. */
static bool
decode_nulls(tg_arrow *file, tg_arrow_array *array, uint64_t from, uint64_t count, tg_buffer *nulls)
{
	const uint8_t *bits;

	if (!array->has_nulls)
		return true;
	bits = read_bits(file, &array->validity, from, count);
	if (bits == NULL || !reserve(file, nulls, count, 1))
		return false;
	for (uint64_t i = 0; i < count; i++)
		((uint8_t *) nulls->data)[i] = (uint8_t) !bit_at(bits, from % 8 + i);
	return true;
}

static bool
is_null(const tg_arrow_values *values, uint64_t i)
{
	return values->has_nulls && ((const uint8_t *) values->nulls.data)[i] != 0;
}

/* --- words ------------------------------------------------------------------------------ */

static bool
decode_bits(tg_arrow *file, tg_arrow_array *array, uint64_t from, uint64_t count, tg_arrow_values *out)
{
	const uint8_t *bits = read_bits(file, &array->first, from, count);

	if (bits == NULL || !reserve(file, &out->words, count, sizeof(int64_t)))
		return false;
	for (uint64_t i = 0; i < count; i++)
		((int64_t *) out->words.data)[i] = bit_at(bits, from % 8 + i);
	return true;
}

static int64_t
signed_at(const uint8_t *at, uint32_t width)
{
	switch (width)
	{
		case 1:
			return (int8_t) at[0];
		case 2:
			return (int16_t) (at[0] | at[1] << 8);
		case 4:
			return (int32_t) tg_read_u32(at);
		default:
			return (int64_t) tg_read_u64(at);
	}
}

static int64_t
unsigned_at(const uint8_t *at, uint32_t width)
{
	uint64_t value = (uint64_t) signed_at(at, width);

	return (int64_t) (width < 8 ? value & (((uint64_t) 1 << 8 * width) - 1) : value);
}

static int64_t
real_at(const uint8_t *at, uint32_t width)
{
	if (width == 2)
		return tg_word_of_half(at[0] | (unsigned) at[1] << 8);
	return width == 4 ? tg_word_of_float(tg_read_u32(at)) : (int64_t) tg_read_u64(at);
}

/* Whether the bytes from the ninth on say nothing but the sign. */
static bool
is_word(const uint8_t *at, uint32_t width)
{
	uint8_t sign = at[width - 1] >= 0x80 ? UINT8_MAX : 0;

	for (uint32_t i = 8; i < width; i++)
		if (at[i] != sign)
			return false;
	return width <= 8 || ((at[7] >= 0x80) == (sign != 0));
}

static int64_t
days_of(int64_t ms)
{
	int64_t days = ms / DAY_MS - (ms % DAY_MS < 0);

	/* these are infinite in other files, and days here, out of range as they are */
	return days >= INT32_MAX ? days + 1 : days <= -INT32_MAX ? days - 2 : days;
}

/* A loop for each width, which is a constant in it. */
static void
widen(const tg_arrow_layout *layout, const uint8_t *at, uint64_t count, int64_t *words)
{
	if (layout->form == TG_ARROW_SIGNED && layout->width == 4)
		for (uint64_t i = 0; i < count; i++)
			words[i] = signed_at(at + i * 4, 4);
	else if (layout->form == TG_ARROW_SIGNED && layout->width == 8)
		memcpy(words, at, count * sizeof(int64_t));
	else if (layout->form == TG_ARROW_SIGNED)
		for (uint64_t i = 0; i < count; i++)
			words[i] = signed_at(at + i * layout->width, layout->width);
	else if (layout->form == TG_ARROW_UNSIGNED)
		for (uint64_t i = 0; i < count; i++)
			words[i] = unsigned_at(at + i * layout->width, layout->width);
	else if (layout->form == TG_ARROW_REAL)
		for (uint64_t i = 0; i < count; i++)
			words[i] = real_at(at + i * layout->width, layout->width);
	else
		for (uint64_t i = 0; i < count; i++)
			words[i] = days_of(signed_at(at + i * layout->width, layout->width));
}

/* Values of a buffer that have so many bytes each. */
static const uint8_t *
read_fixed(tg_arrow *file, tg_arrow_buffer *buffer, uint32_t width, uint64_t from, uint64_t count)
{
	if (width > 0 && from + count > UINT64_MAX / width)
	{
		(void) tg_arrow_damaged(file, buffer->offset, "a buffer that is shorter than its values");
		return NULL;
	}
	return tg_arrow_bytes(file, buffer, from * width, count * width);
}

static bool
decode_words(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from, uint64_t count,
			 tg_arrow_values *out)
{
	const uint8_t *at = read_fixed(file, &array->first, layout->width, from, count);

	if (at == NULL || !reserve(file, &out->words, count, sizeof(int64_t)))
		return false;
	widen(layout, at, count, out->words.data);
	return true;
}

static bool
decode_wide(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from, uint64_t count,
			tg_arrow_values *out)
{
	const uint8_t *at = read_fixed(file, &array->first, layout->width, from, count);

	if (at == NULL || !reserve(file, &out->words, count, sizeof(int64_t)))
		return false;
	for (uint64_t i = 0; i < count; i++, at += layout->width)
	{
		((int64_t *) out->words.data)[i] = signed_at(at, layout->width < 8 ? layout->width : 8);
		if (!is_word(at, layout->width) && !is_null(out, i))
		{
			(void) tg_arrow_damaged(file, array->first.offset, "a decimal of more digits than its type");
			return false;
		}
	}
	return true;
}

/* --- bytes ------------------------------------------------------------------------------ */

static void
put_bytes(tg_arrow_values *out, uint64_t i, const uint8_t *data, size_t count)
{
	((tg_file_bytes *) out->bytes.data)[i] = (tg_file_bytes){data, count};
}

/* Values of so many bytes each, in the array's buffer. */
static bool
decode_fixed(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from, uint64_t count,
			 tg_arrow_values *out)
{
	const uint8_t *at = read_fixed(file, &array->first, layout->width, from, count);

	if (at == NULL || !reserve(file, &out->bytes, count, sizeof(tg_file_bytes)))
		return false;
	for (uint64_t i = 0; i < count; i++)
		put_bytes(out, i, at + i * layout->width, layout->width);
	return true;
}

/* Writes an interval: months, days, ns. */
static bool
convert_interval(const tg_arrow_layout *layout, const uint8_t *at, uint8_t *into)
{
	int64_t months = 0;
	int64_t days = 0;
	int64_t ns = 0;
	bool fits = true;

	if (layout->form == TG_ARROW_MONTHS)
		months = signed_at(at, 4);
	else if (layout->form == TG_ARROW_DAYS_MS)
	{
		days = signed_at(at, 4);
		ns = signed_at(at + 4, 4) * NS_PER_MS;
	}
	else
	{
		int64_t unit = 1;

		for (unsigned digits = layout->digits; digits < 9; digits++)
			unit *= 10;
		fits = !__builtin_mul_overflow(signed_at(at, 8), unit, &ns);
	}
	tg_write_u32(into, (uint32_t) months);
	tg_write_u32(into + 4, (uint32_t) days);
	tg_write_u64(into + 8, (uint64_t) ns);
	return fits;
}

/* Values that are written anew: decimals with their bytes in the other order, and intervals. */
static bool
decode_converted(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from, uint64_t count,
				 tg_arrow_values *out)
{
	const uint8_t *at = read_fixed(file, &array->first, layout->width, from, count);
	uint32_t width = layout->form == TG_ARROW_WIDE_BYTES ? layout->width : INTERVAL_BYTES;
	uint8_t *into;

	if (at == NULL || !reserve(file, &out->bytes, count, sizeof(tg_file_bytes)) ||
		!reserve(file, &out->texts, count, width))
		return false;
	into = out->texts.data;
	for (uint64_t i = 0; i < count; i++, at += layout->width, into += width)
	{
		put_bytes(out, i, into, width);
		if (layout->form == TG_ARROW_WIDE_BYTES)
			for (uint32_t b = 0; b < width; b++)
				into[b] = at[width - 1 - b];
		else if (!convert_interval(layout, at, into) && !is_null(out, i))
		{
			(void) tg_arrow_damaged(file, array->first.offset, "a duration that is out of range");
			return false;
		}
	}
	return true;
}

/* An offset, of 4 or 8 bytes; a negative one is too large for whatever it is in. */
static uint64_t
offset_at(const uint8_t *offsets, uint32_t width, uint64_t i)
{
	return (uint64_t) signed_at(offsets + i * width, width);
}

/* The offsets of so many values, and the one behind; NULL: they are not in order. */
static const uint8_t *
read_offsets(tg_arrow *file, tg_arrow_buffer *buffer, uint32_t width, uint64_t from, uint64_t count)
{
	const uint8_t *offsets = read_fixed(file, buffer, width, from, count + 1);

	for (uint64_t i = 0; offsets != NULL && i <= count; i++)
		if (offset_at(offsets, width, i) > INT64_MAX ||
			(i > 0 && offset_at(offsets, width, i) < offset_at(offsets, width, i - 1)))
		{
			(void) tg_arrow_damaged(file, buffer->offset, "offsets that are not in order");
			return NULL;
		}
	return offsets;
}

static bool
decode_offsets(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from, uint64_t count,
			   tg_arrow_values *out)
{
	uint32_t width = layout->width;
	const uint8_t *offsets;
	const uint8_t *data;
	uint64_t first;

	if (!reserve(file, &out->bytes, count, sizeof(tg_file_bytes)))
		return false;
	if (count == 0)
		return true; /* an array without values need not have offsets */
	offsets = read_offsets(file, &array->first, width, from, count);
	if (offsets == NULL)
		return false;
	first = offset_at(offsets, width, 0);
	data = tg_arrow_bytes(file, &array->second, first, offset_at(offsets, width, count) - first);
	if (data == NULL)
		return false;
	for (uint64_t i = 0; i < count; i++)
	{
		uint64_t begin = offset_at(offsets, width, i);

		put_bytes(out, i, data + (begin - first), (size_t) (offset_at(offsets, width, i + 1) - begin));
	}
	return true;
}

/* What a view is of; NULL: the fault. */
static const uint8_t *
read_view(tg_arrow *file, tg_arrow_array *array, const uint8_t *view)
{
	uint32_t count = tg_read_u32(view);
	uint32_t part = tg_read_u32(view + 8);
	uint32_t offset = tg_read_u32(view + 12);

	if (count <= VIEW_INLINE)
		return view + 4;
	if (count > INT32_MAX || part >= array->part_count)
	{
		(void) tg_arrow_damaged(file, array->first.offset, "a view of no buffer");
		return NULL;
	}
	return tg_arrow_bytes(file, (tg_arrow_buffer *) array->parts.data + part, offset, count);
}

/* Copies what the views are of, which may lie anywhere. */
static bool
decode_views(tg_arrow *file, tg_arrow_array *array, uint64_t from, uint64_t count, tg_arrow_values *out)
{
	const uint8_t *view = read_fixed(file, &array->first, VIEW_BYTES, from, count);
	tg_file_bytes *bytes;
	size_t used = 0;

	if (view == NULL || !reserve(file, &out->bytes, count, sizeof(tg_file_bytes)))
		return false;
	bytes = out->bytes.data;
	for (uint64_t i = 0; i < count; i++, view += VIEW_BYTES)
	{
		size_t size = is_null(out, i) ? 0 : tg_read_u32(view);
		const uint8_t *data = size == 0 ? view : read_view(file, array, view);

		if (data == NULL || !reserve(file, &out->texts, used + size, 1))
			return false;
		memcpy((uint8_t *) out->texts.data + used, data, size);
		bytes[i] = (tg_file_bytes){(const uint8_t *) (uintptr_t) used, size};
		used += size;
	}
	for (uint64_t i = 0; i < count; i++)
		bytes[i].data = (const uint8_t *) out->texts.data + (uintptr_t) bytes[i].data;
	return true;
}

/* --- arrays ----------------------------------------------------------------------------- */

static bool
decode_nothing(tg_arrow *file, uint64_t count, tg_arrow_values *out)
{
	out->has_nulls = true;
	if (!reserve(file, &out->nulls, count, 1))
		return false;
	memset(out->nulls.data, 1, count);
	return true;
}

static bool
decode(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from, uint64_t count,
	   tg_arrow_values *out)
{
	if (layout->form != TG_ARROW_NOTHING && !decode_nulls(file, array, from, count, &out->nulls))
		return false;
	switch ((tg_arrow_form) layout->form)
	{
		case TG_ARROW_NOTHING:
			return decode_nothing(file, count, out);
		case TG_ARROW_BITS:
			return decode_bits(file, array, from, count, out);
		case TG_ARROW_SIGNED:
		case TG_ARROW_UNSIGNED:
		case TG_ARROW_REAL:
		case TG_ARROW_DAYS:
			return decode_words(file, layout, array, from, count, out);
		case TG_ARROW_WIDE:
			return decode_wide(file, layout, array, from, count, out);
		case TG_ARROW_FIXED:
			return decode_fixed(file, layout, array, from, count, out);
		case TG_ARROW_WIDE_BYTES:
		case TG_ARROW_MONTHS:
		case TG_ARROW_DAYS_MS:
		case TG_ARROW_DURATION_OF:
			return decode_converted(file, layout, array, from, count, out);
		case TG_ARROW_OFFSETS:
			return decode_offsets(file, layout, array, from, count, out);
		case TG_ARROW_VIEWS:
			return decode_views(file, array, from, count, out);
	}
	tg_check(false);
	return false;
}

tg_status
tg_arrow_decode(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from, uint64_t count,
				tg_arrow_values *out)
{
	if (from > array->length || count > array->length - from)
		return tg_arrow_damaged(file, array->first.offset, "an array that is shorter than its rows");
	if (count > UINT32_MAX)
		return tg_arrow_no_memory(file);
	out->has_nulls = array->has_nulls && layout->form != TG_ARROW_NOTHING;
	return decode(file, layout, array, from, count, out) ? TG_OK : file->fault.status;
}

/* Indexes become what they stand for. */
static tg_status
look_up(tg_arrow *file, tg_arrow_leaf *leaf, uint64_t count)
{
	const tg_arrow_dictionary *dictionary = &leaf->dictionary;
	bool is_bytes = tg_arrow_has_bytes(&dictionary->layout);
	tg_arrow_values *values = &leaf->values;
	int64_t *words = values->words.data;
	const tg_file_bytes *bytes = dictionary->values.bytes.data;
	uint8_t *nulls;

	if (!reserve(file, &values->nulls, count, 1) ||
		(is_bytes && !reserve(file, &values->bytes, count, sizeof(tg_file_bytes))))
		return file->fault.status;
	nulls = values->nulls.data;
	if (!values->has_nulls)
		memset(nulls, 0, count);
	for (uint64_t i = 0; i < count; i++)
	{
		uint64_t index = (uint64_t) words[i];

		if (nulls[i] == 0 && index >= dictionary->count)
			return tg_arrow_damaged(file, leaf->array.first.offset, "an index that its dictionary has not");
		nulls[i] |= nulls[i] == 0 ? ((const uint8_t *) dictionary->values.nulls.data)[index] : 0;
		if (is_bytes)
			put_bytes(values, i, (const uint8_t *) "", 0);
		else
			words[i] = nulls[i] != 0 ? 0 : ((const int64_t *) dictionary->values.words.data)[index];
		if (is_bytes && nulls[i] == 0 && bytes[index].count > 0)
			put_bytes(values, i, (const uint8_t *) dictionary->values.texts.data + (uintptr_t) bytes[index].data,
					  bytes[index].count);
	}
	values->has_nulls = true;
	return TG_OK;
}

static tg_status
decode_leaf(tg_arrow *file, tg_arrow_leaf *leaf, uint64_t from, uint64_t count)
{
	tg_status status = tg_arrow_decode(file, &leaf->layout, &leaf->array, from, count, &leaf->values);

	return status == TG_OK && leaf->has_dictionary ? look_up(file, leaf, count) : status;
}

/* --- lists ------------------------------------------------------------------------------ */

/* Where the elements of so many lists end, which are of one size. */
static bool
count_ends(tg_arrow *file, const tg_arrow_leaf *leaf, uint64_t from, uint64_t count, uint64_t *first_out)
{
	uint32_t *ends = leaf->ends.data;

	if (leaf->list_size > 0 && (count > UINT32_MAX / leaf->list_size || from > UINT64_MAX / leaf->list_size))
	{
		(void) tg_arrow_no_memory(file);
		return false;
	}
	*first_out = from * leaf->list_size;
	for (uint32_t i = 0; i < count; i++)
		ends[i] = (i + 1) * leaf->list_size;
	return true;
}

/* Where the elements of so many lists end, from one on, counted from *first_out. */
static bool
read_ends(tg_arrow *file, tg_arrow_leaf *leaf, uint64_t from, uint64_t count, uint64_t *first_out)
{
	uint32_t width = leaf->list == TG_ARROW_LARGE_LIST ? 8 : 4;
	const uint8_t *offsets;
	uint32_t *ends;

	*first_out = 0;
	if (!reserve(file, &leaf->ends, count, sizeof(uint32_t)))
		return false;
	if (count == 0)
		return true; /* an array without lists need not have offsets */
	if (leaf->list == TG_ARROW_FIXED_LIST)
		return count_ends(file, leaf, from, count, first_out);
	offsets = read_offsets(file, &leaf->lists.first, width, from, count);
	if (offsets == NULL)
		return false;
	*first_out = offset_at(offsets, width, 0);
	if (offset_at(offsets, width, count) - *first_out > UINT32_MAX)
	{
		(void) tg_arrow_no_memory(file);
		return false;
	}
	ends = leaf->ends.data;
	for (uint64_t i = 0; i < count; i++)
		ends[i] = (uint32_t) (offset_at(offsets, width, i + 1) - *first_out);
	return true;
}

/* Leaves out the elements of rows that are NULL, which may have some. */
static void
pack_elements(tg_arrow_leaf *leaf, unsigned count, bool is_bytes)
{
	const uint8_t *nulls = leaf->nulls.data;
	uint32_t *ends = leaf->ends.data;
	uint32_t begin = 0;
	uint32_t kept = 0;

	for (unsigned row = 0; row < count; row++)
	{
		uint32_t end = ends[row];

		for (uint32_t i = begin; i < end && nulls[row] == 0; i++, kept++)
		{
			if (leaf->values.has_nulls)
				((uint8_t *) leaf->values.nulls.data)[kept] = ((uint8_t *) leaf->values.nulls.data)[i];
			if (is_bytes)
				((tg_file_bytes *) leaf->values.bytes.data)[kept] = ((tg_file_bytes *) leaf->values.bytes.data)[i];
			else if (leaf->layout.form != TG_ARROW_NOTHING)
				((int64_t *) leaf->values.words.data)[kept] = ((int64_t *) leaf->values.words.data)[i];
		}
		begin = end;
		ends[row] = kept;
	}
}

static tg_status
read_lists(tg_arrow *file, tg_arrow_leaf *leaf, unsigned count, bool is_bytes)
{
	uint64_t first = 0;
	tg_status status;

	if (!decode_nulls(file, &leaf->lists, file->row, count, &leaf->nulls) ||
		!read_ends(file, leaf, file->row, count, &first))
		return file->fault.status;
	status = decode_leaf(file, leaf, first, ((const uint32_t *) leaf->ends.data)[count - 1]);
	if (status == TG_OK && leaf->lists.has_nulls)
		pack_elements(leaf, count, is_bytes);
	return status;
}

/* --- nested columns --------------------------------------------------------------------- */

/*
 * Values of a node of the column in hand, and of those in it.  Recursive: nodes are nested at most
 * TG_FILE_NESTING_MAX deep.
 */
static tg_status
read_node(tg_arrow *file, unsigned node, uint64_t from, uint64_t count)
{
	unsigned base = tg_arrow_leaves(file)[file->column].node;
	const tg_file_node *of = tg_arrow_nodes(file) + base;
	tg_arrow_leaf *leaf = tg_arrow_node_leaves(file) + base + node;
	tg_file_values *values = (tg_file_values *) file->node_values.data + base + node;
	bool is_list = of[node].kind != TG_NESTED_STRUCT;
	tg_status status = TG_OK;

	if (of[node].kind == TG_NESTED_VALUE)
	{
		status = decode_leaf(file, leaf, from, count);
		*values = (tg_file_values){.nulls = leaf->values.has_nulls ? leaf->values.nulls.data : NULL,
								   .words = of[node].column.is_bytes ? NULL : leaf->values.words.data,
								   .bytes = of[node].column.is_bytes ? leaf->values.bytes.data : NULL};
		return status;
	}
	if (from > leaf->lists.length || count > leaf->lists.length - from)
		return tg_arrow_damaged(file, leaf->lists.validity.offset, "an array that is shorter than its rows");
	if (count > UINT32_MAX)
		return tg_arrow_no_memory(file);
	if (!decode_nulls(file, &leaf->lists, from, count, &leaf->nulls) ||
		(is_list && !read_ends(file, leaf, from, count, &from)))
		return file->fault.status;
	*values = (tg_file_values){.nulls = leaf->lists.has_nulls ? leaf->nulls.data : NULL,
							   .ends = is_list ? leaf->ends.data : NULL};
	if (is_list)
		count = count > 0 ? values->ends[count - 1] : 0;
	for (unsigned child = node + 1; child < of[node].end && status == TG_OK; child = of[child].end)
		status = read_node(file, child, from, count);
	return status;
}

/* --- rows ------------------------------------------------------------------------------- */

tg_status
tg_arrow_rows(tg_arrow *file, unsigned count, tg_file_values *values)
{
	const tg_file_column *column = &tg_arrow_columns(file)[file->column];
	tg_arrow_leaf *leaf = &tg_arrow_leaves(file)[file->column];
	const uint8_t *nulls;
	tg_status status;

	if (column->type == TG_FILE_NESTED)
	{
		*values = (tg_file_values){.nodes = (const tg_file_values *) file->node_values.data + leaf->node};
		return read_node(file, 0, file->row, count);
	}
	status = column->list ? read_lists(file, leaf, count, column->is_bytes) : decode_leaf(file, leaf, file->row, count);
	if (status != TG_OK)
		return status;
	nulls = leaf->values.has_nulls ? leaf->values.nulls.data : NULL;
	*values = (tg_file_values){.nulls = column->list ? (leaf->lists.has_nulls ? leaf->nulls.data : NULL) : nulls,
							   .ends = column->list ? leaf->ends.data : NULL,
							   .element_nulls = column->list ? nulls : NULL,
							   .words = column->is_bytes ? NULL : leaf->values.words.data,
							   .bytes = column->is_bytes ? leaf->values.bytes.data : NULL};
	return TG_OK;
}
