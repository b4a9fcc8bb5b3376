/*
 * base_read.c
 *	  Reads bases.
 *
 * 1. Whatever the bytes are, reading ends and nothing beyond them is read: lengths are compared
 *	  with what the file has, before memory is asked for.
 * 2. A block is handed out when its CRC is right; but only the end of the file, where the
 *	  manifest's check has to agree, says that no block is missing, or another base's.  So a reader
 *	  that takes a block's contents before has to be ready to drop them.
 */
#include "runtime/durable/base_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/durable/crc32c.h"

#define FILE_BYTES_MIN 6 /* of a file, in a manifest */

static const char *const kind_names[] = {[TG_BASE_ROWS] = "part", [TG_BASE_RANKS] = "rank"};

/* --- names ------------------------------------------------------------------------------------ */

void
tg_manifest_name(uint64_t number, char name[TG_BASE_NAME_MAX])
{
	snprintf(name, TG_BASE_NAME_MAX, "manifest.%" PRIx64, number);
}

void
tg_base_file_name(const tg_base_file *file, char name[TG_BASE_NAME_MAX])
{
	snprintf(name, TG_BASE_NAME_MAX, "%s.%" PRIx64 ".%x.%" PRIx64, kind_names[file->kind], file->storage, file->part,
			 file->number);
}

bool
tg_base_is_name(const char *name)
{
	tg_base_file file = {0};
	char again[TG_BASE_NAME_MAX];

	if (sscanf(name, "manifest.%" SCNx64, &file.number) == 1)
	{
		tg_manifest_name(file.number, again);
		return strcmp(name, again) == 0;
	}
	if (sscanf(name, "part.%" SCNx64 ".%x.%" SCNx64, &file.storage, &file.part, &file.number) != 3)
	{
		file.kind = TG_BASE_RANKS;
		if (sscanf(name, "rank.%" SCNx64 ".%x.%" SCNx64, &file.storage, &file.part, &file.number) != 3)
			return false;
	}
	tg_base_file_name(&file, again);
	return strcmp(name, again) == 0;
}

void
tg_manifest_path(const char *directory, uint64_t number, char path[TG_PATH_MAX])
{
	char name[TG_BASE_NAME_MAX];

	tg_manifest_name(number, name);
	snprintf(path, TG_PATH_MAX, "%s/%s", directory, name);
}

void
tg_base_file_path(const char *directory, const tg_base_file *file, char path[TG_PATH_MAX])
{
	char name[TG_BASE_NAME_MAX];

	tg_base_file_name(file, name);
	snprintf(path, TG_PATH_MAX, "%s/%s", directory, name);
}

/* --- the manifest ----------------------------------------------------------------------------- */

void
tg_manifest_free(tg_manifest *manifest)
{
	tg_bytes_free(&manifest->roster);
	free(manifest->files);
	*manifest = (tg_manifest){0};
}

tg_status
tg_manifest_reserve(tg_manifest *manifest, size_t more)
{
	size_t count = manifest->facts.file_count + more;
	tg_base_file *files;

	if (count <= manifest->capacity)
		return TG_OK;
	if (count < 2 * manifest->capacity)
		count = 2 * manifest->capacity;
	files = realloc(manifest->files, count * sizeof(*files));
	if (files == NULL)
		return TG_NO_MEMORY;
	manifest->files = files;
	manifest->capacity = count;
	return TG_OK;
}

void
tg_manifest_add(tg_manifest *manifest, const tg_base_file *file)
{
	tg_assert(manifest->facts.file_count < manifest->capacity);
	manifest->files[manifest->facts.file_count++] = *file;
}

static tg_status
read_files(tg_reader *reader, tg_manifest *manifest)
{
	uint64_t count = tg_reader_number_below(reader, (uint64_t) (reader->end - reader->at) / FILE_BYTES_MIN + 1);
	tg_status status = tg_manifest_reserve(manifest, (size_t) count);

	for (uint64_t i = 0; i < count && status == TG_OK && !reader->damaged; i++)
	{
		tg_base_file file = {.kind = (tg_base_kind) tg_reader_number_below(reader, TG_BASE_RANKS + 1)};

		file.storage = tg_reader_number(reader);
		file.part = (uint32_t) tg_reader_number_below(reader, UINT32_MAX);
		file.number = tg_reader_number(reader);
		file.bytes = tg_reader_number(reader);
		file.check = (uint32_t) tg_reader_number_below(reader, (uint64_t) UINT32_MAX + 1);
		tg_manifest_add(manifest, &file);
	}
	return status;
}

/* What is behind the header.  TG_DAMAGED: it is no manifest, although its CRC is right. */
static tg_status
read_contents(tg_reader *reader, tg_manifest *manifest)
{
	tg_base_facts *facts = &manifest->facts;
	const unsigned char *roster;
	tg_status status;

	facts->begin = tg_reader_number(reader);
	facts->end = tg_reader_number(reader);
	facts->least = tg_reader_number(reader);
	facts->memory = tg_reader_number(reader);
	facts->roster_bytes = (size_t) tg_reader_number(reader);
	roster = tg_reader_take(reader, facts->roster_bytes);
	if (roster == NULL)
		return TG_DAMAGED;
	status = tg_bytes_reserve(&manifest->roster, facts->roster_bytes);
	if (status != TG_OK)
		return status;
	tg_bytes_put(&manifest->roster, roster, facts->roster_bytes);
	facts->roster = manifest->roster.data;
	status = read_files(reader, manifest);
	if (status != TG_OK)
		return status;
	return reader->damaged || reader->at != reader->end ? TG_DAMAGED : TG_OK;
}

/* What is wrong with the header, given the whole file; NULL: nothing. */
static const char *
manifest_fault(const tg_bytes *bytes, uint64_t system, uint64_t number)
{
	tg_manifest_header header;
	uint32_t crc;

	if (bytes->count < sizeof(header))
		return "the manifest is not whole";
	memcpy(&header, bytes->data, sizeof(header));
	if (header.magic != TG_MANIFEST_MAGIC)
		return "the file is no manifest of this format";
	crc = tg_crc32c(0, &header, offsetof(tg_manifest_header, crc));
	if (header.bytes != bytes->count - sizeof(header) ||
		tg_crc32c(crc, bytes->data + sizeof(header), bytes->count - sizeof(header)) != header.crc)
		return "the manifest is damaged";
	if (header.system != system)
		return "the manifest is another server's";
	return header.number != number ? "the manifest has another one's name" : NULL;
}

/* All bytes of an open file. */
static tg_status
read_whole(int file, const char *path, tg_bytes *bytes, tg_file_error *error_out)
{
	uint64_t size;
	tg_status status;
	int error = tg_files->size(file, &size);

	if (error != 0)
		return tg_file_fail(error_out, error, "size", path, 0);
	status = tg_bytes_reserve(bytes, (size_t) size);
	if (status != TG_OK)
		return status;
	bytes->count = (size_t) size;
	error = tg_files->read(file, 0, bytes->data, &bytes->count);
	return error != 0 ? tg_file_fail(error_out, error, "read", path, 0) : TG_OK;
}

tg_status
tg_manifest_read(const char *directory, uint64_t system, uint64_t number, tg_manifest *manifest,
				 tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	tg_bytes bytes = {0};
	const char *fault;
	tg_status status;
	int file;
	int error;

	tg_manifest_path(directory, number, path);
	error = tg_files->open(path, false, &file);
	if (error != 0)
	{
		status = tg_file_fail(error_out, error, "open", path, 0);
		return error == ENOENT ? TG_NOT_FOUND : status;
	}
	status = read_whole(file, path, &bytes, error_out);
	(void) tg_files->close(file);
	fault = status == TG_OK ? manifest_fault(&bytes, system, number) : NULL;
	if (status == TG_OK && fault == NULL)
	{
		tg_reader reader =
			tg_reader_make(bytes.data + sizeof(tg_manifest_header), bytes.count - sizeof(tg_manifest_header));

		manifest->facts.number = number;
		status = read_contents(&reader, manifest);
		fault = status == TG_DAMAGED ? "the manifest has a fault" : NULL;
	}
	if (fault != NULL)
		status = tg_file_fail(error_out, 0, fault, path, 0);
	if (status != TG_OK)
		tg_manifest_free(manifest);
	tg_bytes_free(&bytes);
	return status;
}

/* --- readers ---------------------------------------------------------------------------------- */

struct tg_base_reader
{
	char directory[TG_PATH_MAX - TG_BASE_NAME_MAX];
	uint64_t system;
	tg_manifest manifest;
};

tg_status
tg_base_open(const char *directory, uint64_t system, uint64_t number, tg_base_reader **reader_out,
			 tg_file_error *error_out)
{
	tg_base_reader *reader;
	tg_status status;

	if (strlen(directory) >= sizeof(reader->directory))
		return TG_TOO_LARGE;
	reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return TG_NO_MEMORY;
	strcpy(reader->directory, directory);
	reader->system = system;
	status = tg_manifest_read(directory, system, number, &reader->manifest, error_out);
	if (status != TG_OK)
		free(reader);
	else
		*reader_out = reader;
	return status;
}

void
tg_base_close(tg_base_reader *reader)
{
	tg_manifest_free(&reader->manifest);
	free(reader);
}

const tg_base_facts *
tg_base_facts_get(const tg_base_reader *reader)
{
	return &reader->manifest.facts;
}

const tg_base_file *
tg_base_file_get(const tg_base_reader *reader, size_t place)
{
	tg_assert(place < reader->manifest.facts.file_count);
	return &reader->manifest.files[place];
}

/* --- streams ---------------------------------------------------------------------------------- */

struct tg_base_stream
{
	char path[TG_PATH_MAX];
	const tg_base_file *about;
	int file;
	uint64_t offset;
	uint64_t start; /* of the last block */
	uint32_t check; /* of what was read */
	tg_bytes block;
};

static tg_status
stream_fail(const tg_base_stream *stream, int error, const char *what, tg_file_error *error_out)
{
	return tg_file_fail(error_out, error, what, stream->path, stream->offset);
}

/* So many bytes, which the file has. */
static tg_status
read_bytes(tg_base_stream *stream, void *data, size_t count, tg_file_error *error_out)
{
	size_t done = count;
	int error = tg_files->read(stream->file, stream->offset, data, &done);

	if (error != 0)
		return stream_fail(stream, error, "read", error_out);
	if (done != count)
		return stream_fail(stream, 0, "the file is too short", error_out);
	stream->offset += count;
	return TG_OK;
}

static void
check_with(tg_base_stream *stream, uint32_t crc)
{
	stream->check = tg_crc32c(stream->check, &crc, sizeof(crc));
}

static tg_status
read_header(tg_base_stream *stream, uint64_t system, tg_file_error *error_out)
{
	const tg_base_file *about = stream->about;
	tg_part_header header;
	uint64_t size;
	tg_status status;
	int error = tg_files->size(stream->file, &size);

	if (error != 0)
		return stream_fail(stream, error, "size", error_out);
	if (size != about->bytes || size < sizeof(header))
		return stream_fail(stream, 0, "the file does not have its length", error_out);
	status = read_bytes(stream, &header, sizeof(header), error_out);
	if (status != TG_OK)
		return status;
	stream->offset = 0;
	if (header.magic != TG_PART_MAGIC)
		return stream_fail(stream, 0, "the file is no part of a base of this format", error_out);
	if (tg_crc32c(0, &header, offsetof(tg_part_header, crc)) != header.crc)
		return stream_fail(stream, 0, "the file's header is damaged", error_out);
	if (header.system != system || header.storage != about->storage || header.number != about->number ||
		header.part != about->part || header.kind != about->kind)
		return stream_fail(stream, 0, "the file has another one's name", error_out);
	stream->offset = sizeof(header);
	check_with(stream, header.crc);
	return TG_OK;
}

tg_status
tg_base_stream_open(const tg_base_reader *reader, size_t place, tg_base_stream **stream_out, tg_file_error *error_out)
{
	tg_base_stream *stream = calloc(1, sizeof(*stream));
	tg_status status;
	int error;

	if (stream == NULL)
		return TG_NO_MEMORY;
	stream->about = tg_base_file_get(reader, place);
	tg_base_file_path(reader->directory, stream->about, stream->path);
	error = tg_files->open(stream->path, false, &stream->file);
	if (error != 0)
	{
		status = stream_fail(stream, error == ENOENT ? 0 : error, error == ENOENT ? "the file is missing" : "open",
							 error_out);
		free(stream);
		return status;
	}
	status = read_header(stream, reader->system, error_out);
	if (status != TG_OK)
		tg_base_stream_close(stream);
	else
		*stream_out = stream;
	return status;
}

void
tg_base_stream_close(tg_base_stream *stream)
{
	(void) tg_files->close(stream->file);
	tg_bytes_free(&stream->block);
	free(stream);
}

tg_status
tg_base_stream_next(tg_base_stream *stream, const void **data_out, size_t *count_out, tg_file_error *error_out)
{
	uint64_t start = stream->offset;
	uint64_t left = stream->about->bytes - start;
	tg_block_header header;
	tg_status status;

	if (left == 0 && stream->check == stream->about->check)
		return TG_NOT_FOUND;
	if (left == 0)
		return stream_fail(stream, 0, "the file is not as its base has it", error_out);
	if (left < sizeof(header))
		return stream_fail(stream, 0, "a block is not whole", error_out);
	status = read_bytes(stream, &header, sizeof(header), error_out);
	if (status == TG_OK && header.bytes > left - sizeof(header))
	{
		stream->offset = start;
		return stream_fail(stream, 0, "a block's header is damaged", error_out);
	}
	stream->block.count = 0;
	if (status == TG_OK)
		status = tg_bytes_reserve(&stream->block, (size_t) header.bytes);
	if (status == TG_OK)
		status = read_bytes(stream, stream->block.data, (size_t) header.bytes, error_out);
	if (status != TG_OK)
	{
		stream->offset = start;
		return status;
	}
	if (tg_crc32c(tg_crc32c(0, &header, offsetof(tg_block_header, crc)), stream->block.data, (size_t) header.bytes) !=
		header.crc)
	{
		stream->offset = start;
		return stream_fail(stream, 0, "a block is damaged", error_out);
	}
	check_with(stream, header.crc);
	stream->start = start;
	*data_out = stream->block.data;
	*count_out = (size_t) header.bytes;
	return TG_OK;
}

void
tg_base_stream_describe(const tg_base_stream *stream, const char *what, tg_file_error *error_out)
{
	(void) !tg_file_fail(error_out, 0, what, stream->path, stream->start);
}
