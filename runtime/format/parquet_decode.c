/*
 * parquet_decode.c
 *	  Values of a page, from each of Parquet's encodings.
 *
 * Values are decoded into words, or into the places of their bytes: those that a batch needs, if
 * the encoding lets them be taken one after the other, or else all of a page, which takes many
 * times as much memory as it has bytes.  Bytes lie in the page, but for DELTA_BYTE_ARRAY, whose
 * values are put together in a buffer, and for BYTE_STREAM_SPLIT, whose bytes are.  A function
 * returns TG_DAMAGED without a note: the caller knows which page it is.
 */
#include "runtime/format/parquet_internal.h"

#include <string.h>

#include "runtime/format/number.h"

#define INT96_BYTES 12
#define JULIAN_EPOCH 2440588 /* the Julian day of 1970-01-01 */
#define DAY_US 86400000000

static tg_status
no_memory(tg_parquet *file)
{
	return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "the values of a page need more memory than there is");
}

static bool
reserve_words(tg_parquet *file, tg_decoded *out, size_t count)
{
	return tg_buffer_reserve(&file->memory, &out->words, (count + 1) * sizeof(int64_t));
}

static bool
reserve_bytes(tg_parquet *file, tg_decoded *out, size_t count)
{
	return tg_buffer_reserve(&file->memory, &out->bytes, (count + 1) * sizeof(tg_file_bytes));
}

/* --- words ------------------------------------------------------------------------------- */

/* {nanoseconds of the day, Julian day}, to microseconds since 1970; too far away: the last ones. */
static int64_t
word_of_int96(const uint8_t *at)
{
	__int128 us = (__int128) ((int64_t) tg_read_u32(at + 8) - JULIAN_EPOCH) * DAY_US + (int64_t) tg_read_u64(at) / 1000;

	if (us > INT64_MAX)
		return INT64_MAX;
	return us < INT64_MIN ? INT64_MIN : (int64_t) us;
}

/* One of 32 bits, as a column's word. */
static int64_t
word_of_int32(const tg_file_column *column, uint32_t value)
{
	return column->type == TG_FILE_UINT ? (int64_t) value : (int32_t) value;
}

/* The bytes of a value that is stored with a fixed width; 0: it is not. */
static uint32_t
width_of(const tg_leaf *leaf)
{
	static const uint32_t widths[TG_PHYSICAL_COUNT] = {[TG_PHYSICAL_INT32] = 4,
													   [TG_PHYSICAL_INT64] = 8,
													   [TG_PHYSICAL_INT96] = INT96_BYTES,
													   [TG_PHYSICAL_FLOAT] = 4,
													   [TG_PHYSICAL_DOUBLE] = 8};

	return leaf->physical == TG_PHYSICAL_FIXED ? leaf->width : widths[leaf->physical];
}

static int64_t
word_at(const tg_file_column *column, const tg_leaf *leaf, const uint8_t *at)
{
	switch (leaf->physical)
	{
		case TG_PHYSICAL_INT32:
			return word_of_int32(column, tg_read_u32(at));
		case TG_PHYSICAL_INT96:
			return word_of_int96(at);
		case TG_PHYSICAL_FLOAT:
			return tg_word_of_float(tg_read_u32(at));
		case TG_PHYSICAL_FIXED: /* binary16 */
			return tg_word_of_half(at[0] | (unsigned) at[1] << 8);
		default:
			return (int64_t) tg_read_u64(at);
	}
}

/* Values of a fixed width, one after the other. */
static tg_status
decode_fixed(const tg_file_column *column, const tg_leaf *leaf, tg_bytes_in *in, size_t count, tg_decoded *out)
{
	uint32_t width = width_of(leaf);
	int64_t *words = out->words.data;
	tg_file_bytes *bytes = out->bytes.data;
	tg_bytes_in all;

	if (!tg_bytes_cut(in, count * width, &all))
		return TG_DAMAGED;
	for (size_t i = 0; i < count; i++, all.at += width)
		if (column->is_bytes)
			bytes[i] = (tg_file_bytes){all.at, width};
		else
			words[i] = word_at(column, leaf, all.at);
	return TG_OK;
}

static tg_status
decode_plain_bools(tg_bytes_in *in, size_t count, tg_decoded *out)
{
	int64_t *words = out->words.data;
	tg_bytes_in all;

	if (!tg_bytes_cut(in, (count + 7) / 8, &all))
		return TG_DAMAGED;
	for (size_t i = 0; i < count; i++)
		words[i] = all.at[i / 8] >> i % 8 & 1;
	return TG_OK;
}

/* RLE, with its length before it. */
static tg_status
decode_run_bools(tg_parquet *file, tg_chunk_reader *reader, tg_bytes_in *in, size_t count, tg_decoded *out)
{
	int64_t *words = out->words.data;
	const uint32_t *values;
	uint32_t length;
	tg_bytes_in cut;

	if (tg_bytes_left(in) < 4)
		return TG_DAMAGED;
	length = tg_read_u32(in->at);
	in->at += 4;
	if (!tg_bytes_cut(in, length, &cut))
		return TG_DAMAGED;
	if (!tg_buffer_reserve(&file->memory, &reader->scratch, (count + 1) * sizeof(uint32_t)))
		return no_memory(file);
	if (!tg_unpack_runs(&cut, 1, reader->scratch.data, count))
		return TG_DAMAGED;
	values = reader->scratch.data;
	for (size_t i = 0; i < count; i++)
		words[i] = values[i];
	return TG_OK;
}

static tg_status
decode_deltas(const tg_file_column *column, const tg_leaf *leaf, tg_bytes_in *in, size_t count, tg_decoded *out)
{
	int64_t *words = out->words.data;

	if (!tg_unpack_deltas(in, words, count))
		return TG_DAMAGED;
	if (leaf->physical == TG_PHYSICAL_INT32)
		for (size_t i = 0; i < count; i++)
			words[i] = word_of_int32(column, (uint32_t) words[i]);
	return TG_OK;
}

/* The first byte of each value, then the second of each, ... */
static tg_status
decode_split(tg_parquet *file, tg_chunk_reader *reader, const tg_file_column *column, const tg_leaf *leaf,
			 tg_bytes_in *in, size_t count, tg_decoded *out)
{
	uint32_t width = width_of(leaf);
	tg_bytes_in all;
	tg_bytes_in joined;
	uint8_t *into;

	if (!tg_bytes_cut(in, count * width, &all))
		return TG_DAMAGED;
	if (!tg_buffer_reserve(&file->memory, &reader->joined, count * width + 1))
		return no_memory(file);
	into = reader->joined.data;
	for (uint32_t b = 0; b < width; b++)
		for (size_t i = 0; i < count; i++)
			into[i * width + b] = all.at[b * count + i];
	joined = (tg_bytes_in){into, into + count * width};
	return decode_fixed(column, leaf, &joined, count, out);
}

/* --- bytes of any length ----------------------------------------------------------------- */

static tg_status
decode_plain_bytes(tg_bytes_in *in, size_t count, tg_decoded *out)
{
	tg_file_bytes *bytes = out->bytes.data;

	for (size_t i = 0; i < count; i++)
	{
		tg_bytes_in value;
		uint32_t length;

		if (tg_bytes_left(in) < 4)
			return TG_DAMAGED;
		length = tg_read_u32(in->at);
		in->at += 4;
		if (!tg_bytes_cut(in, length, &value))
			return TG_DAMAGED;
		bytes[i] = (tg_file_bytes){value.at, length};
	}
	return TG_OK;
}

/* Lengths, then the bytes.  Lengths are in the words of out. */
static tg_status
decode_lengths(tg_parquet *file, tg_bytes_in *in, size_t count, tg_decoded *out)
{
	const int64_t *lengths;
	tg_file_bytes *bytes = out->bytes.data;
	tg_bytes_in value;

	if (!reserve_words(file, out, count))
		return no_memory(file);
	if (!tg_unpack_deltas(in, out->words.data, count))
		return TG_DAMAGED;
	lengths = out->words.data;
	for (size_t i = 0; i < count; i++)
	{
		if (lengths[i] < 0 || !tg_bytes_cut(in, (size_t) lengths[i], &value))
			return TG_DAMAGED;
		bytes[i] = (tg_file_bytes){value.at, (size_t) lengths[i]};
	}
	return TG_OK;
}

/* Joins each value's prefix, of so many bytes of the one before, with the rest of it. */
static tg_status
join_prefixes(tg_parquet *file, tg_chunk_reader *reader, const int64_t *prefixes, size_t count, tg_decoded *out)
{
	tg_file_bytes *bytes = out->bytes.data;
	size_t total = 0;
	size_t before = 0;
	uint8_t *into;
	const uint8_t *last = NULL;

	for (size_t i = 0; i < count; i++)
	{
		if (prefixes[i] < 0 || (uint64_t) prefixes[i] > before)
			return TG_DAMAGED;
		before = (size_t) prefixes[i] + bytes[i].count;
		total += before;
		if (total > file->source->memory_max)
			return no_memory(file);
	}
	if (!tg_buffer_reserve(&file->memory, &reader->joined, total + 1))
		return no_memory(file);
	into = reader->joined.data;
	for (size_t i = 0; i < count; i++)
	{
		size_t prefix = (size_t) prefixes[i];
		size_t length = prefix + bytes[i].count;

		if (prefix > 0)
			memcpy(into, last, prefix);
		if (bytes[i].count > 0)
			memcpy(into + prefix, bytes[i].data, bytes[i].count);
		bytes[i] = (tg_file_bytes){into, length};
		last = into;
		into += length;
	}
	return TG_OK;
}

static tg_status
decode_delta_bytes(tg_parquet *file, tg_chunk_reader *reader, const tg_leaf *leaf, tg_bytes_in *in, size_t count,
				   tg_decoded *out)
{
	const tg_file_bytes *bytes = out->bytes.data;
	tg_status status;

	if (!tg_buffer_reserve(&file->memory, &reader->scratch, (count + 1) * sizeof(int64_t)))
		return no_memory(file);
	if (!tg_unpack_deltas(in, reader->scratch.data, count))
		return TG_DAMAGED;
	status = decode_lengths(file, in, count, out);
	if (status == TG_OK)
		status = join_prefixes(file, reader, reader->scratch.data, count, out);
	if (status == TG_OK && leaf->physical == TG_PHYSICAL_FIXED)
		for (size_t i = 0; i < count; i++)
			if (bytes[i].count != leaf->width)
				return TG_DAMAGED;
	return status;
}

/* --- any --------------------------------------------------------------------------------- */

static bool
is_integer(const tg_leaf *leaf)
{
	return leaf->physical == TG_PHYSICAL_INT32 || leaf->physical == TG_PHYSICAL_INT64;
}

tg_status
tg_decode_values(tg_parquet *file, tg_chunk_reader *reader, const tg_leaf *leaf, int encoding, tg_bytes_in *in,
				 size_t count, tg_decoded *out)
{
	const tg_file_column *column = &leaf->value;
	bool variable = leaf->physical == TG_PHYSICAL_BYTE_ARRAY;
	bool boolean = leaf->physical == TG_PHYSICAL_BOOLEAN;

	if (count > TG_PAGE_VALUES_MAX)
		return TG_DAMAGED;
	if (column->is_bytes ? !reserve_bytes(file, out, count) : !reserve_words(file, out, count))
		return no_memory(file);
	out->count = count;
	if (count == 0)
		return TG_OK;
	switch (encoding)
	{
		case TG_ENCODING_PLAIN:
			if (boolean)
				return decode_plain_bools(in, count, out);
			return variable ? decode_plain_bytes(in, count, out) : decode_fixed(column, leaf, in, count, out);
		case TG_ENCODING_RLE:
			if (boolean)
				return decode_run_bools(file, reader, in, count, out);
			break;
		case TG_ENCODING_DELTA:
			if (is_integer(leaf))
				return decode_deltas(column, leaf, in, count, out);
			break;
		case TG_ENCODING_DELTA_LENGTH:
			if (variable)
				return decode_lengths(file, in, count, out);
			break;
		case TG_ENCODING_DELTA_BYTES:
			if (column->is_bytes)
				return decode_delta_bytes(file, reader, leaf, in, count, out);
			break;
		case TG_ENCODING_SPLIT:
			if (width_of(leaf) > 0)
				return decode_split(file, reader, column, leaf, in, count, out);
			break;
		default:
			break;
	}
	return tg_file_fault_note(&file->fault, TG_UNFIT, 0,
							  "column \"%s\" has encoding %d, which is not supported for its type", column->name,
							  encoding);
}

bool
tg_decodes_in_parts(const tg_leaf *leaf, int encoding)
{
	return encoding == TG_ENCODING_PLAIN && leaf->physical != TG_PHYSICAL_BOOLEAN;
}

tg_status
tg_decode_begin_indexes(tg_chunk_reader *reader, tg_bytes_in *in)
{
	reader->indexes = (tg_runs){0};
	if (!reader->has_dictionary)
		return TG_DAMAGED;
	if (tg_bytes_left(in) == 0) /* right, if all are NULL */
		return TG_OK;
	if (*in->at > 32)
		return TG_DAMAGED;
	reader->indexes = (tg_runs){.in = {in->at + 1, in->end}, .bits = *in->at};
	return TG_OK;
}

tg_status
tg_decode_indexes(tg_parquet *file, tg_chunk_reader *reader, bool is_bytes, size_t count)
{
	const tg_decoded *dictionary = &reader->dictionary;
	tg_decoded *out = &reader->values;
	const uint32_t *indexes;

	if (is_bytes ? !reserve_bytes(file, out, count) : !reserve_words(file, out, count))
		return no_memory(file);
	out->count = count;
	if (count == 0)
		return TG_OK;
	if (!tg_buffer_reserve(&file->memory, &reader->joined, count * sizeof(uint32_t)))
		return no_memory(file);
	if (!tg_runs_read(&reader->indexes, reader->joined.data, count))
		return TG_DAMAGED;
	indexes = reader->joined.data;
	for (size_t i = 0; i < count; i++)
	{
		if (indexes[i] >= dictionary->count)
			return TG_DAMAGED;
		if (is_bytes)
			((tg_file_bytes *) out->bytes.data)[i] = ((const tg_file_bytes *) dictionary->bytes.data)[indexes[i]];
		else
			((int64_t *) out->words.data)[i] = ((const int64_t *) dictionary->words.data)[indexes[i]];
	}
	return TG_OK;
}
