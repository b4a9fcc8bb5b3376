/*
 * columnar_file.h
 *	  For tests of files of columns: a file in memory, and memory that is counted.
 */
#ifndef TG_COLUMNAR_FILE_H
#define TG_COLUMNAR_FILE_H

#include <string.h>

#include "runtime/format/columnar_out.h"
#include "test/unit/unit.h"

#ifndef MEMORY_MAX
#define MEMORY_MAX (64 << 20)
#endif

static size_t used;

typedef struct piece
{
	size_t bytes;
	uint8_t data[];
} piece;

static inline void *
resize(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	piece *larger = malloc(sizeof(piece) + bytes);

	if (larger == NULL)
		return NULL;
	used += bytes;
	/* the old memory is given back only after the new has been filled */
	if (used > (size_t) MEMORY_MAX + old_bytes)
		unit_bail("a reader has more memory than its limit");
	larger->bytes = bytes;
	memset(larger->data, 0xA5, bytes);
	if (memory != NULL)
	{
		piece *old = (piece *) ((uint8_t *) memory - sizeof(piece));

		memcpy(larger->data, memory, old_bytes);
		used -= old->bytes;
		free(old);
	}
	return larger->data;
}

static inline void
release(void *argument, void *memory)
{
	piece *old = (piece *) ((uint8_t *) memory - sizeof(piece));

	used -= old->bytes;
	free(old);
}

typedef struct contents
{
	uint8_t *data;
	size_t count;
	size_t room;
} contents;

static inline bool
append(void *argument, const void *data, size_t bytes)
{
	contents *file = argument;

	if (file->count + bytes > file->room)
	{
		file->room = 2 * (file->count + bytes);
		file->data = realloc(file->data, file->room);
		if (file->data == NULL)
			unit_bail("no memory");
	}
	memcpy(file->data + file->count, data, bytes);
	file->count += bytes;
	return true;
}

/* The reader knows how long the file is. */
static inline bool
read_at(void *argument, uint64_t offset, void *into, size_t bytes)
{
	const contents *file = argument;

	if (offset > file->count || bytes > file->count - offset)
		unit_bail("a reader reads beyond the file");
	memcpy(into, file->data + offset, bytes);
	return true;
}

static inline tg_file_source
source_of(contents *file)
{
	return (tg_file_source){.bytes = file->count,
							.read = read_at,
							.resize = resize,
							.free = release,
							.argument = file,
							.memory_max = MEMORY_MAX};
}

#endif /* TG_COLUMNAR_FILE_H */
