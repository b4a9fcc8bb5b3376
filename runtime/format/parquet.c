/*
 * parquet.c
 *	  A Parquet file that is read: its metadata, and batches of rows.
 *
 *	"PAR1" | pages of the row groups ... | metadata | their length, 4 bytes | "PAR1"
 *
 * The metadata are kept as they are.  When a row group's turn comes, the places of its chunks are
 * read from them.  A batch has as many rows as the page of every wanted column still has, at most
 * TG_FILE_BATCH; so what it gives lies in these pages.
 *
 * Memory: the metadata, and of each wanted column a page, as it is in the file and decoded, and a
 * dictionary.  All of it counts against the source's limit.
 */
#include "runtime/format/parquet_internal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/check.h"

#define TAIL 8 /* length and magic */

/* --- metadata --------------------------------------------------------------------------- */

static tg_status
read_groups(tg_parquet *file, tg_thrift *thrift, const tg_thrift_field *field)
{
	tg_thrift_field element;
	uint32_t count = tg_thrift_list(thrift, field, &element);

	if (file->group_count > 0)
		thrift->failed = true;
	if (!tg_buffer_reserve(&file->memory, &file->groups, count * sizeof(tg_group_place)))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "no memory for the row groups of a file");
	for (uint32_t i = 0; i < count && !thrift->failed; i++)
	{
		tg_group_place *group = (tg_group_place *) file->groups.data + i;
		tg_thrift_field inner = {0};

		*group = (tg_group_place){.at = thrift->at};
		if (!tg_thrift_struct(thrift, &element))
			break;
		while (tg_thrift_next(thrift, &inner))
			if (inner.id == 3)
				group->rows = (uint64_t) tg_thrift_integer(thrift, &inner);
			else
				tg_thrift_skip(thrift, &inner);
		if (group->rows > INT64_MAX || file->row_count > INT64_MAX - group->rows)
			thrift->failed = true;
		file->row_count += group->rows;
	}
	file->group_count = count;
	file->group_end = count;
	return TG_OK;
}

static tg_status
read_metadata(tg_parquet *file, size_t bytes, uint64_t offset)
{
	const uint8_t *metadata = file->footer.data;
	tg_thrift thrift = {.at = metadata, .end = metadata + bytes};
	tg_thrift_field field = {0};
	int64_t rows = -1;
	tg_status status = TG_OK;

	while (status == TG_OK && tg_thrift_next(&thrift, &field))
		switch (field.id)
		{
			case 2:
				status = tg_schema_read(file, &thrift, &field);
				break;
			case 3:
				rows = tg_thrift_integer(&thrift, &field);
				break;
			case 4:
				status = read_groups(file, &thrift, &field);
				break;
			case 8:
				status = tg_file_fault_note(&file->fault, TG_UNFIT, offset, "encrypted files are not supported");
				break;
			default:
				tg_thrift_skip(&thrift, &field);
		}
	if (status == TG_OK && (thrift.failed || file->column_count == 0 || rows < 0 || (uint64_t) rows != file->row_count))
		status = tg_file_fault_note(&file->fault, TG_DAMAGED, offset, "the metadata are malformed");
	return status;
}

static tg_status
read_footer(tg_parquet *file)
{
	const tg_file_source *source = file->source;
	uint8_t tail[TAIL];
	uint32_t bytes;
	uint64_t offset;

	if (source->bytes < sizeof(TG_PARQUET_MAGIC) - 1 + TAIL)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, 0, "it is not a Parquet file");
	if (!source->read(source->argument, source->bytes - TAIL, tail, TAIL))
		return tg_file_fault_note(&file->fault, TG_IO, source->bytes - TAIL, "its end could not be read");
	if (memcmp(tail + 4, "PARE", 4) == 0)
		return tg_file_fault_note(&file->fault, TG_UNFIT, source->bytes - 4, "encrypted files are not supported");
	if (memcmp(tail + 4, TG_PARQUET_MAGIC, 4) != 0)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, source->bytes - 4, "it is not a Parquet file");
	bytes = tg_read_u32(tail);
	if (bytes > source->bytes - TAIL - 4)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, source->bytes - TAIL,
								  "its metadata would begin before the file");
	if (bytes > TG_FILE_FOOTER_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, source->bytes - TAIL, "its metadata have more than %d bytes",
								  TG_FILE_FOOTER_MAX);
	offset = source->bytes - TAIL - bytes;
	if (!tg_buffer_reserve(&file->memory, &file->footer, bytes))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, offset, "no memory for the metadata of a file");
	if (bytes > 0 && !source->read(source->argument, offset, file->footer.data, bytes))
		return tg_file_fault_note(&file->fault, TG_IO, offset, "its metadata could not be read");
	return read_metadata(file, bytes, offset);
}

tg_status
tg_parquet_open(const tg_file_source *source, tg_parquet **file_out, tg_file_fault *fault_out)
{
	tg_file_memory memory = {.source = source};
	tg_buffer own = {0};
	tg_parquet *file;
	tg_status status;

	*fault_out = (tg_file_fault){0};
	if (!tg_buffer_reserve(&memory, &own, sizeof(tg_parquet)))
		return tg_file_fault_note(fault_out, TG_NO_MEMORY, 0, "no memory for a file");
	file = own.data;
	*file = (tg_parquet){.source = source, .memory = memory, .own = own};
	status = read_footer(file);
	if (status != TG_OK)
	{
		*fault_out = file->fault;
		tg_parquet_close(file);
		return status;
	}
	*file_out = file;
	return TG_OK;
}

static void
free_reader(tg_parquet *file, tg_chunk_reader *reader)
{
	tg_buffer *const buffers[] = {&reader->dictionary.words,
								  &reader->dictionary.bytes,
								  &reader->dictionary_page,
								  &reader->raw,
								  &reader->page,
								  &reader->joined,
								  &reader->scratch,
								  &reader->definitions,
								  &reader->repetitions,
								  &reader->values.words,
								  &reader->values.bytes,
								  &reader->out_nulls,
								  &reader->out_ends,
								  &reader->out_element_nulls,
								  &reader->out_words,
								  &reader->out_bytes,
								  &reader->out_texts,
								  &reader->out_levels};

	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		tg_buffer_free(&file->memory, buffers[i]);
}

void
tg_parquet_close(tg_parquet *file)
{
	tg_buffer *const buffers[] = {&file->footer, &file->names,	&file->columns, &file->places,
								  &file->wanted, &file->leaves, &file->readers, &file->nodes,
								  &file->parts,	 &file->values, &file->groups};
	tg_buffer own = file->own;
	tg_file_memory memory;

	for (unsigned i = 0; i < file->reader_count; i++)
		free_reader(file, &tg_readers(file)[i]);
	for (unsigned i = 0; i < file->node_count; i++)
	{
		tg_parquet_node *part = (tg_parquet_node *) file->parts.data + i;

		tg_buffer_free(&file->memory, &part->nulls);
		tg_buffer_free(&file->memory, &part->ends);
	}
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		tg_buffer_free(&file->memory, buffers[i]);
	memory = file->memory;
	tg_buffer_free(&memory, &own);
	tg_assert(memory.used == 0);
}

unsigned
tg_parquet_column_count(const tg_parquet *file)
{
	return file->column_count;
}

const tg_file_column *
tg_parquet_column(const tg_parquet *file, unsigned column)
{
	return &tg_columns(file)[column];
}

uint64_t
tg_parquet_row_count(const tg_parquet *file)
{
	return file->row_count;
}

unsigned
tg_parquet_group_count(const tg_parquet *file)
{
	return file->group_count;
}

uint64_t
tg_parquet_group_rows(const tg_parquet *file, unsigned group)
{
	tg_assert(group < file->group_count);
	return ((const tg_group_place *) file->groups.data)[group].rows;
}

void
tg_parquet_want(tg_parquet *file, unsigned column)
{
	tg_assert(tg_columns(file)[column].type != TG_FILE_UNREADABLE);
	((bool *) file->wanted.data)[column] = true;
}

void
tg_parquet_seek(tg_parquet *file, unsigned group)
{
	tg_assert(group < file->group_count);
	file->next_group = group;
	file->group_end = group + 1;
	file->rows_left = 0;
}

/* --- row groups -------------------------------------------------------------------------- */

/* What the metadata say of a chunk. */
typedef struct chunk_place
{
	int physical;
	int codec;
	bool elsewhere;
	bool encrypted;
	int64_t bytes;
	int64_t data;
	int64_t dictionary; /* 0: none */
	uint32_t encodings; /* a bit each */
} chunk_place;

static void
read_chunk_data(tg_thrift *thrift, const tg_thrift_field *of, chunk_place *place)
{
	tg_thrift_field field = {0};
	tg_thrift_field element;
	uint32_t count;

	if (!tg_thrift_struct(thrift, of))
		return;
	while (tg_thrift_next(thrift, &field))
		switch (field.id)
		{
			case 1:
				place->physical = (int) tg_thrift_integer(thrift, &field);
				break;
			case 2:
				count = tg_thrift_list(thrift, &field, &element);
				for (uint32_t i = 0; i < count; i++)
					place->encodings |= 1u << (tg_thrift_integer(thrift, &element) & 31);
				break;
			case 4:
				place->codec = (int) tg_thrift_integer(thrift, &field);
				break;
			case 7:
				place->bytes = tg_thrift_integer(thrift, &field);
				break;
			case 9:
				place->data = tg_thrift_integer(thrift, &field);
				break;
			case 11:
				place->dictionary = tg_thrift_integer(thrift, &field);
				break;
			default:
				tg_thrift_skip(thrift, &field);
		}
}

static chunk_place
read_chunk(tg_thrift *thrift, const tg_thrift_field *of)
{
	chunk_place place = {.physical = -1, .codec = -1};
	tg_thrift_field field = {0};

	if (!tg_thrift_struct(thrift, of))
		return place;
	while (tg_thrift_next(thrift, &field))
	{
		if (field.id == 3)
		{
			read_chunk_data(thrift, &field, &place);
			continue;
		}
		place.elsewhere |= field.id == 1;
		place.encrypted |= field.id == 8 || field.id == 9;
		tg_thrift_skip(thrift, &field);
	}
	return place;
}

/* Where the chunk's pages are; checks what can be checked. */
static tg_status
place_reader(tg_parquet *file, unsigned leaf, const chunk_place *place)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	const char *name = tg_leaves(file)[leaf].value.name;
	int64_t begin = place->dictionary > 0 && place->dictionary < place->data ? place->dictionary : place->data;

	if (place->encrypted || place->elsewhere)
		return tg_file_fault_note(&file->fault, TG_UNFIT, 0, "column \"%s\" is %s, which is not supported", name,
								  place->encrypted ? "encrypted" : "in another file");
	if (place->physical != tg_leaves(file)[leaf].physical || begin < 4 || place->bytes < 0 ||
		(uint64_t) begin > file->source->bytes || (uint64_t) place->bytes > file->source->bytes - (uint64_t) begin)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, 0, "the metadata of column \"%s\" are malformed", name);
	if (tg_codec_name(place->codec) == NULL)
		return tg_file_fault_note(&file->fault, TG_UNFIT, 0,
								  "column \"%s\" is compressed by codec %d, which is not supported", name,
								  place->codec);
	reader->at = (uint64_t) begin;
	reader->end = (uint64_t) begin + (uint64_t) place->bytes;
	reader->codec = (uint8_t) place->codec;
	reader->has_dictionary = false;
	reader->level_count = 0;
	reader->level_at = 0;
	return TG_OK;
}

/* Calls take for each chunk of a row group. */
static tg_status
read_group(tg_parquet *file, unsigned group, void (*take)(void *argument, unsigned chunk, const chunk_place *place),
		   void *argument)
{
	const uint8_t *end = (const uint8_t *) file->footer.data + file->footer.room;
	tg_thrift thrift = {.at = ((tg_group_place *) file->groups.data)[group].at, .end = end};
	tg_thrift_field field = {0};
	tg_thrift_field element;
	uint32_t count = 0;

	while (tg_thrift_next(&thrift, &field) && field.id != 1)
		tg_thrift_skip(&thrift, &field);
	if (field.id == 1)
		count = tg_thrift_list(&thrift, &field, &element);
	if (thrift.failed || count != file->leaf_count)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, 0, "a row group has not the columns of its file");
	for (uint32_t i = 0; i < count && !thrift.failed; i++)
	{
		chunk_place place = read_chunk(&thrift, &element);

		if (!thrift.failed)
			take(argument, i, &place);
	}
	if (thrift.failed)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, 0, "the metadata of a row group are malformed");
	return TG_OK;
}

static void
place_chunk(void *argument, unsigned chunk, const chunk_place *place)
{
	tg_parquet *file = argument;

	if (tg_parquet_wants(file, tg_leaves(file)[chunk].column) && file->fault.status == TG_OK)
		(void) place_reader(file, chunk, place);
}

static tg_status
begin_group(tg_parquet *file)
{
	tg_status status = read_group(file, file->next_group, place_chunk, file);

	if (status != TG_OK || file->fault.status != TG_OK)
		return file->fault.status;
	file->rows_left = ((tg_group_place *) file->groups.data)[file->next_group].rows;
	file->next_group++;
	return TG_OK;
}

/* --- batches ----------------------------------------------------------------------------- */

/* The rows of the next batch: limited by the pages of columns that are flat. */
static tg_status
count_rows(tg_parquet *file, unsigned *count_out)
{
	uint64_t count = file->rows_left < TG_FILE_BATCH ? file->rows_left : TG_FILE_BATCH;

	for (unsigned i = 0; i < file->column_count; i++)
	{
		unsigned leaf = tg_column_places(file)[i].leaf;
		tg_chunk_reader *reader = &tg_readers(file)[leaf];
		bool more = true;
		tg_status status;

		if (!tg_parquet_wants(file, i) || !tg_parquet_is_flat(file, i))
			continue;
		if (reader->level_at == reader->level_count)
		{
			status = tg_page_next(file, leaf, &more);
			if (status != TG_OK)
				return status;
		}
		if (!more)
			return tg_file_fault_note(&file->fault, TG_DAMAGED, reader->end,
									  "column \"%s\" has fewer values than its row group", tg_columns(file)[i].name);
		if (reader->level_count - reader->level_at < count)
			count = reader->level_count - reader->level_at;
	}
	*count_out = (unsigned) count;
	return TG_OK;
}

static tg_status
read_batch(tg_parquet *file, tg_file_values *values, unsigned *count_out)
{
	tg_status status = TG_OK;

	*count_out = 0;
	while (status == TG_OK && file->rows_left == 0 && file->next_group < file->group_end)
		status = begin_group(file);
	if (status != TG_OK || file->rows_left == 0)
		return status;
	status = count_rows(file, count_out);
	for (unsigned i = 0; i < file->column_count && status == TG_OK; i++)
	{
		unsigned leaf = tg_column_places(file)[i].leaf;

		if (!tg_parquet_wants(file, i))
			continue;
		values[i] = (tg_file_values){0};
		if (tg_columns(file)[i].list)
			status = tg_rows_lists(file, leaf, *count_out, &values[i]);
		else if (tg_parquet_is_flat(file, i))
			status = tg_rows_flat(file, leaf, *count_out, &values[i]);
		else
			status = tg_rows_nested(file, i, *count_out, &values[i]);
	}
	file->rows_left -= *count_out;
	return status;
}

tg_status
tg_parquet_read(tg_parquet *file, tg_file_values *values, unsigned *count_out, tg_file_fault *fault_out)
{
	tg_status status = file->fault.status;

	if (status == TG_OK)
		status = read_batch(file, values, count_out);
	*fault_out = file->fault;
	return status;
}

/* --- for people -------------------------------------------------------------------------- */

typedef struct description
{
	unsigned chunk;
	chunk_place place;
} description;

static void
describe_chunk(void *argument, unsigned chunk, const chunk_place *place)
{
	description *description = argument;

	if (chunk == description->chunk)
		description->place = *place;
}

bool
tg_parquet_describe(tg_parquet *file, unsigned column, char *codec, size_t codec_bytes, char *encodings,
					size_t encodings_bytes)
{
	static const char *const names[] = {[TG_ENCODING_PLAIN] = "plain",
										[TG_ENCODING_PLAIN_DICTIONARY] = "plain_dictionary",
										[TG_ENCODING_RLE] = "rle",
										[TG_ENCODING_BIT_PACKED] = "bit_packed",
										[TG_ENCODING_DELTA] = "delta_binary_packed",
										[TG_ENCODING_DELTA_LENGTH] = "delta_length_byte_array",
										[TG_ENCODING_DELTA_BYTES] = "delta_byte_array",
										[TG_ENCODING_DICTIONARY] = "rle_dictionary",
										[TG_ENCODING_SPLIT] = "byte_stream_split"};
	description description = {.chunk = tg_column_places(file)[column].leaf, .place = {.codec = -1}};
	const char *name;
	size_t at = 0;

	if (file->group_count == 0 || file->fault.status != TG_OK || tg_columns(file)[column].type == TG_FILE_UNREADABLE ||
		read_group(file, 0, describe_chunk, &description) != TG_OK)
		return false;
	name = tg_codec_name(description.place.codec);
	snprintf(codec, codec_bytes, "%s", name != NULL ? name : "unknown");
	encodings[0] = 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if ((description.place.encodings >> i & 1) != 0 && names[i] != NULL && at < encodings_bytes)
			at += (size_t) snprintf(encodings + at, encodings_bytes - at, "%s%s", at > 0 ? ", " : "", names[i]);
	return true;
}
