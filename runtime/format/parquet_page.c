/*
 * parquet_page.c
 *	  Pages of a chunk: their headers, their levels, and their values, decoded.
 *
 *	version 1	compressed { repetition levels, definition levels, values }
 *	version 2	repetition levels, definition levels, compressed { values }
 */
#include "runtime/format/parquet_internal.h"

#include <string.h>
#include <zlib.h>

#define HEADER_FIRST 256 /* bytes that are read to begin with; statistics make headers longer */
#define HEADER_MAX (256 * 1024)

typedef struct page_header
{
	int type;
	int64_t raw_bytes; /* decompressed */
	int64_t bytes;	   /* in the file */
	bool has_checksum;
	uint32_t checksum;
	int64_t value_count;
	int encoding;
	int definition_encoding;
	int repetition_encoding;
	/* version 2 */
	int64_t definition_bytes;
	int64_t repetition_bytes;
	bool is_compressed;
	uint64_t at; /* of the page, behind the header */
} page_header;

static tg_status
page_fault(tg_parquet *file, unsigned leaf, tg_status status, uint64_t at, const char *what)
{
	return tg_file_fault_note(&file->fault, status, at, "a page of column \"%s\" %s", tg_leaves(file)[leaf].value.name,
							  what);
}

/* --- headers ----------------------------------------------------------------------------- */

static void
read_data_header(tg_thrift *thrift, const tg_thrift_field *of, page_header *header)
{
	tg_thrift_field field = {0};

	if (!tg_thrift_struct(thrift, of))
		return;
	while (tg_thrift_next(thrift, &field))
	{
		if (field.id > 4)
			tg_thrift_skip(thrift, &field);
		else if (field.id == 1)
			header->value_count = tg_thrift_integer(thrift, &field);
		else if (field.id == 2)
			header->encoding = (int) tg_thrift_integer(thrift, &field);
		else if (of->id == 7) /* of a dictionary: whether it is sorted */
			tg_thrift_skip(thrift, &field);
		else if (field.id == 3)
			header->definition_encoding = (int) tg_thrift_integer(thrift, &field);
		else
			header->repetition_encoding = (int) tg_thrift_integer(thrift, &field);
	}
}

static void
read_data_header_v2(tg_thrift *thrift, const tg_thrift_field *of, page_header *header)
{
	tg_thrift_field field = {0};

	if (!tg_thrift_struct(thrift, of))
		return;
	while (tg_thrift_next(thrift, &field))
		switch (field.id)
		{
			case 1:
				header->value_count = tg_thrift_integer(thrift, &field);
				break;
			case 4:
				header->encoding = (int) tg_thrift_integer(thrift, &field);
				break;
			case 5:
				header->definition_bytes = tg_thrift_integer(thrift, &field);
				break;
			case 6:
				header->repetition_bytes = tg_thrift_integer(thrift, &field);
				break;
			case 7:
				header->is_compressed = tg_thrift_bool(thrift, &field);
				break;
			default:
				tg_thrift_skip(thrift, &field);
		}
}

static void
parse_header(tg_thrift *thrift, page_header *header)
{
	tg_thrift_field field = {0};

	*header = (page_header){.type = -1, .raw_bytes = -1, .bytes = -1, .encoding = -1, .is_compressed = true};
	header->definition_encoding = header->repetition_encoding = TG_ENCODING_RLE;
	while (tg_thrift_next(thrift, &field))
		switch (field.id)
		{
			case 1:
				header->type = (int) tg_thrift_integer(thrift, &field);
				break;
			case 2:
				header->raw_bytes = tg_thrift_integer(thrift, &field);
				break;
			case 3:
				header->bytes = tg_thrift_integer(thrift, &field);
				break;
			case 4:
				header->has_checksum = true;
				header->checksum = (uint32_t) tg_thrift_integer(thrift, &field);
				break;
			case 5:
			case 7:
				read_data_header(thrift, &field, header);
				break;
			case 8:
				read_data_header_v2(thrift, &field, header);
				break;
			default:
				tg_thrift_skip(thrift, &field);
		}
}

/* Reads the header at the chunk's place: from a few bytes, or from more if it does not fit. */
static tg_status
read_header(tg_parquet *file, unsigned leaf, tg_chunk_reader *reader, page_header *header)
{
	const tg_file_source *source = file->source;
	uint64_t left = reader->end - reader->at;

	for (size_t bytes = HEADER_FIRST;; bytes = HEADER_MAX)
	{
		tg_thrift thrift;

		if (bytes > left)
			bytes = (size_t) left;
		if (!tg_buffer_reserve(&file->memory, &reader->raw, bytes))
			return page_fault(file, leaf, TG_NO_MEMORY, reader->at, "needs more memory than there is");
		if (!source->read(source->argument, reader->at, reader->raw.data, bytes))
			return page_fault(file, leaf, TG_IO, reader->at, "could not be read");
		thrift = (tg_thrift){.at = reader->raw.data, .end = (uint8_t *) reader->raw.data + bytes};
		parse_header(&thrift, header);
		header->at = reader->at + (uint64_t) (thrift.at - (uint8_t *) reader->raw.data);
		if (!thrift.failed)
			break;
		if (bytes == left || bytes >= HEADER_MAX)
			return page_fault(file, leaf, TG_DAMAGED, reader->at, "has a malformed header");
	}
	if (header->bytes < 0 || header->raw_bytes < 0 || (uint64_t) header->bytes > reader->end - header->at ||
		header->raw_bytes > INT32_MAX || header->value_count < 0)
		return page_fault(file, leaf, TG_DAMAGED, reader->at, "has a malformed header");
	if (header->value_count > TG_PAGE_VALUES_MAX)
		return page_fault(file, leaf, TG_UNFIT, reader->at, "has more values than are supported");
	return TG_OK;
}

/* --- contents ---------------------------------------------------------------------------- */

/* The page as it is in the file. */
static tg_status
read_raw(tg_parquet *file, unsigned leaf, tg_chunk_reader *reader, const page_header *header)
{
	const tg_file_source *source = file->source;
	size_t bytes = (size_t) header->bytes;

	if (!tg_buffer_reserve(&file->memory, &reader->raw, bytes))
		return page_fault(file, leaf, TG_NO_MEMORY, header->at, "needs more memory than there is");
	if (bytes > 0 && !source->read(source->argument, header->at, reader->raw.data, bytes))
		return page_fault(file, leaf, TG_IO, header->at, "could not be read");
	if (header->has_checksum && header->checksum != (uint32_t) crc32(0, reader->raw.data, (uInt) bytes))
	{
		file->fault.checksum = true;
		return page_fault(file, leaf, TG_DAMAGED, header->at, "does not fit its checksum");
	}
	return TG_OK;
}

/* Decompresses the page, but for a part at its beginning that is not compressed. */
static tg_status
decompress(tg_parquet *file, unsigned leaf, tg_chunk_reader *reader, const page_header *header, size_t plain_bytes,
		   tg_buffer *into)
{
	size_t bytes = (size_t) header->bytes;
	size_t raw_bytes = (size_t) header->raw_bytes;
	int codec = header->is_compressed ? reader->codec : TG_CODEC_NONE;

	if (plain_bytes > bytes || plain_bytes > raw_bytes)
		return page_fault(file, leaf, TG_DAMAGED, header->at, "has levels that are longer than it is");
	if (!tg_buffer_reserve(&file->memory, into, raw_bytes + 1))
		return page_fault(file, leaf, TG_NO_MEMORY, header->at, "needs more memory than there is");
	if (plain_bytes > 0)
		memcpy(into->data, reader->raw.data, plain_bytes);
	/* a page of NULLs has no values, and some writers then do not compress them */
	if (bytes == plain_bytes && raw_bytes == plain_bytes)
		return TG_OK;
	if (!tg_codec_decompress(codec, (uint8_t *) reader->raw.data + plain_bytes, bytes - plain_bytes,
							 (uint8_t *) into->data + plain_bytes, raw_bytes - plain_bytes))
		return page_fault(file, leaf, TG_DAMAGED, header->at, "could not be decompressed");
	return TG_OK;
}

static tg_status
read_dictionary(tg_parquet *file, unsigned leaf, tg_chunk_reader *reader, const page_header *header)
{
	tg_bytes_in in;
	tg_status status;

	if (reader->has_dictionary)
		return page_fault(file, leaf, TG_DAMAGED, header->at, "is a second dictionary");
	if (header->encoding != TG_ENCODING_PLAIN && header->encoding != TG_ENCODING_PLAIN_DICTIONARY)
		return page_fault(file, leaf, TG_UNFIT, header->at, "is a dictionary that is not plain");
	status = read_raw(file, leaf, reader, header);
	if (status == TG_OK)
		status = decompress(file, leaf, reader, header, 0, &reader->dictionary_page);
	if (status != TG_OK)
		return status;
	in.at = reader->dictionary_page.data;
	in.end = in.at + header->raw_bytes;
	reader->has_dictionary = true;
	return tg_decode_values(file, reader, &tg_leaves(file)[leaf], TG_ENCODING_PLAIN, &in, (size_t) header->value_count,
							&reader->dictionary);
}

static unsigned
bits_of(unsigned value)
{
	return value == 0 ? 0 : 32 - (unsigned) __builtin_clz(value);
}

/*
 * The levels of one kind; `bytes` of them if it is known, else their length is before them.
 * levels: NULL: all are 0, and nobody looks at them.
 */
static bool
read_levels(tg_parquet *file, tg_bytes_in *in, unsigned level_max, int64_t bytes, size_t count, tg_buffer *levels)
{
	tg_bytes_in cut;

	if (levels != NULL && !tg_buffer_reserve(&file->memory, levels, count))
		return false;
	if (level_max == 0)
	{
		if (levels != NULL && count > 0)
			memset(levels->data, 0, count);
		return bytes <= 0 || tg_bytes_cut(in, (size_t) bytes, &cut);
	}
	if (bytes < 0)
	{
		if (tg_bytes_left(in) < 4)
			return false;
		bytes = tg_read_u32(in->at);
		in->at += 4;
	}
	return tg_bytes_cut(in, (size_t) bytes, &cut) && tg_unpack_levels(&cut, bits_of(level_max), levels->data, count);
}

/* Whether none is above this; *reached_out: how many are this. */
static bool
check_levels(const tg_buffer *levels, uint8_t level_max, size_t count, size_t *reached_out)
{
	const uint8_t *level = levels->data;
	uint8_t greatest = 0;
	size_t reached = 0;

	for (size_t i = 0; i < count; i++)
	{
		greatest = level[i] > greatest ? level[i] : greatest;
		reached += level[i] == level_max;
	}
	*reached_out = reached;
	return greatest <= level_max;
}

/* Reads both kinds of levels: how many values there are. */
static tg_status
take_levels(tg_parquet *file, unsigned leaf, const page_header *header, tg_bytes_in *in, size_t *present_out)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	const tg_leaf *of = &tg_leaves(file)[leaf];
	bool v2 = header->type == TG_PAGE_DATA_V2;
	bool is_flat = tg_parquet_is_flat(file, of->column);
	tg_buffer *definitions = is_flat && of->level_max == 0 ? NULL : &reader->definitions;
	tg_buffer *repetitions = is_flat ? NULL : &reader->repetitions;
	size_t count = (size_t) header->value_count;
	size_t reached;

	if (!v2 && (header->definition_encoding != TG_ENCODING_RLE || header->repetition_encoding != TG_ENCODING_RLE) &&
		of->level_max > 0)
		return page_fault(file, leaf, TG_UNFIT, header->at, "has levels in an encoding that is not supported");
	*present_out = count;
	if (!read_levels(file, in, of->repetition_max, v2 ? header->repetition_bytes : -1, count, repetitions) ||
		!read_levels(file, in, of->level_max, v2 ? header->definition_bytes : -1, count, definitions) ||
		(definitions != NULL && !check_levels(definitions, of->level_max, count, present_out)) ||
		(repetitions != NULL && !check_levels(repetitions, of->repetition_max, count, &reached)))
		return page_fault(file, leaf, TG_DAMAGED, header->at, "has malformed levels");
	reader->level_count = count;
	reader->level_at = 0;
	reader->value_at = 0;
	reader->all_present = *present_out == count;
	return TG_OK;
}

/* The next values of the page: into what the reader has. */
static tg_status
decode(tg_parquet *file, unsigned leaf, int encoding, size_t count)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	const tg_leaf *of = &tg_leaves(file)[leaf];
	tg_status status;

	if (reader->is_indexed)
		status = tg_decode_indexes(file, reader, of->value.is_bytes, count);
	else
		status = tg_decode_values(file, reader, of, encoding, &reader->plain, count, &reader->values);
	if (status == TG_DAMAGED)
		return page_fault(file, leaf, TG_DAMAGED, reader->page_at, "has malformed values");
	return status;
}

tg_status
tg_page_decode(tg_parquet *file, unsigned leaf, size_t count)
{
	tg_readers(file)[leaf].value_at = 0;
	return decode(file, leaf, TG_ENCODING_PLAIN, count);
}

/* Where the page's values are, and how they are to be decoded. */
static tg_status
begin_values(tg_parquet *file, unsigned leaf, tg_chunk_reader *reader, const page_header *header, tg_bytes_in *in)
{
	const tg_leaf *of = &tg_leaves(file)[leaf];

	reader->page_at = header->at;
	reader->plain = *in;
	reader->is_indexed = header->encoding == TG_ENCODING_DICTIONARY || header->encoding == TG_ENCODING_PLAIN_DICTIONARY;
	reader->by_batch =
		tg_parquet_is_flat(file, of->column) && (reader->is_indexed || tg_decodes_in_parts(of, header->encoding));
	if (reader->is_indexed && tg_decode_begin_indexes(reader, in) != TG_OK)
		return page_fault(file, leaf, TG_DAMAGED, header->at, "has malformed values");
	return TG_OK;
}

static tg_status
read_data(tg_parquet *file, unsigned leaf, tg_chunk_reader *reader, const page_header *header)
{
	size_t plain_bytes = 0;
	size_t present = 0;
	tg_bytes_in in;
	tg_status status;

	if (header->type == TG_PAGE_DATA_V2)
	{
		if (header->definition_bytes < 0 || header->repetition_bytes < 0 || header->definition_bytes > header->bytes ||
			header->repetition_bytes > header->bytes)
			return page_fault(file, leaf, TG_DAMAGED, header->at, "has a malformed header");
		plain_bytes = (size_t) (header->definition_bytes + header->repetition_bytes);
	}
	status = read_raw(file, leaf, reader, header);
	if (status == TG_OK)
		status = decompress(file, leaf, reader, header, plain_bytes, &reader->page);
	if (status != TG_OK)
		return status;
	in.at = reader->page.data;
	in.end = in.at + header->raw_bytes;
	status = take_levels(file, leaf, header, &in, &present);
	if (status == TG_OK)
		status = begin_values(file, leaf, reader, header, &in);
	if (status == TG_OK && !reader->by_batch)
		status = decode(file, leaf, header->encoding, present);
	return status;
}

tg_status
tg_page_next(tg_parquet *file, unsigned leaf, bool *more_out)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	page_header header;
	tg_status status = TG_OK;

	*more_out = false;
	while (status == TG_OK && reader->at < reader->end)
	{
		status = read_header(file, leaf, reader, &header);
		if (status != TG_OK)
			break;
		if (header.type == TG_PAGE_DICTIONARY)
			status = read_dictionary(file, leaf, reader, &header);
		else if (header.type == TG_PAGE_DATA || header.type == TG_PAGE_DATA_V2)
			status = read_data(file, leaf, reader, &header);
		reader->at = header.at + (uint64_t) header.bytes;
		if (status == TG_DAMAGED)
			status = page_fault(file, leaf, TG_DAMAGED, header.at, "is malformed");
		if (status == TG_OK && (header.type == TG_PAGE_DATA || header.type == TG_PAGE_DATA_V2) &&
			reader->level_count > 0)
		{
			*more_out = true;
			return TG_OK;
		}
	}
	return status;
}
