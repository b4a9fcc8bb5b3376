/*
 * packed_file.c
 *	  A file that is read from its beginning, decompressed if its name says that it is compressed.
 */
#include "postgres.h"

#include "src/copy/packed_file.h"

#include <unistd.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "runtime/format/unzip.h"
#include "src/copy/copy.h"

struct tsurugi_packed_file
{
	const char *name;
	int descriptor;
	MemoryContext memory; /* has this */
	tg_unzip unzip;
	const uint8 *at; /* read, and not yet decompressed */
	size_t count;
	bool is_at_end;
	uint8 data[TSURUGI_COPY_BUFFER];
};

static tg_packing
packing_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (dot != NULL && pg_strcasecmp(dot, ".gz") == 0)
		return TG_PACKING_GZIP;
	return dot != NULL && pg_strcasecmp(dot, ".zst") == 0 ? TG_PACKING_ZSTD : TG_PACKING_NONE;
}

bool
tsurugi_file_is_packed(const char *name)
{
	return packing_of(name) != TG_PACKING_NONE;
}

/* With the memory context. */
static void
end_library(void *file)
{
	tg_unzip_end(&((tsurugi_packed_file *) file)->unzip);
}

tsurugi_packed_file *
tsurugi_packed_file_begin(const char *name, int descriptor)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "packed file", ALLOCSET_DEFAULT_SIZES);
	tsurugi_packed_file *file = MemoryContextAllocZero(memory, sizeof(*file));
	MemoryContextCallback *callback = MemoryContextAllocZero(memory, sizeof(*callback));

	file->name = name;
	file->descriptor = descriptor;
	file->memory = memory;
	if (!tsurugi_file_is_packed(name))
		return file;
	if (tg_unzip_begin(&file->unzip, packing_of(name)) != TG_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	callback->func = end_library;
	callback->arg = file;
	MemoryContextRegisterResetCallback(memory, callback);
	return file;
}

static size_t
read_bytes(const tsurugi_packed_file *file, void *into, size_t bytes)
{
	ssize_t count;

	CHECK_FOR_INTERRUPTS();
	do
		count = read(file->descriptor, into, bytes);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read from file \"%s\": %m", file->name)));
	return (size_t) count;
}

static void
fail_packed(const tsurugi_packed_file *file, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT), errmsg("could not decompress file \"%s\": %s", file->name, what)));
}

/* One step; whether the file may have more. */
static bool
decompress(tsurugi_packed_file *file, uint8 **into, size_t *bytes)
{
	size_t had = *bytes;

	if (file->count == 0 && !file->is_at_end)
	{
		file->at = file->data;
		file->count = read_bytes(file, file->data, sizeof(file->data));
		file->is_at_end = file->count == 0;
	}
	if (tg_unzip_step(&file->unzip, &file->at, &file->count, into, bytes) != TG_OK)
		fail_packed(file, "it is damaged, or not compressed as its name says");
	if (!file->is_at_end || *bytes < had)
		return true;
	if (!file->unzip.is_whole)
		fail_packed(file, "it is cut short");
	return false;
}

size_t
tsurugi_packed_file_read(tsurugi_packed_file *file, void *into, size_t bytes)
{
	uint8 *at = into;
	size_t left = bytes;

	if (file->unzip.state == NULL)
		return read_bytes(file, into, bytes);
	while (left == bytes && decompress(file, &at, &left))
		;
	return bytes - left;
}

void
tsurugi_packed_file_end(tsurugi_packed_file *file)
{
	MemoryContextDelete(file->memory);
}
