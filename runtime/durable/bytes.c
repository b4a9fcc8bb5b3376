/*
 * bytes.c
 *	  How the buffer of a record grows.
 *
 * It lies in the process's memory, not in the arena: the session that commits assembles a record
 * when the arena may be full, and nothing of it is another process's business.
 */
#include "runtime/durable/bytes.h"

#include <stdlib.h>

#define BYTES_MIN 256

tg_status
tg_bytes_reserve(tg_bytes *bytes, size_t more)
{
	size_t capacity = bytes->capacity < BYTES_MIN ? BYTES_MIN : bytes->capacity;
	unsigned char *data;

	if (bytes->capacity - bytes->count >= more)
		return TG_OK;
	if (more > SIZE_MAX / 2 - bytes->count)
		return TG_NO_MEMORY;
	while (capacity - bytes->count < more)
		capacity *= 2;
	data = realloc(bytes->data, capacity);
	if (data == NULL)
		return TG_NO_MEMORY;
	bytes->data = data;
	bytes->capacity = capacity;
	return TG_OK;
}

void
tg_bytes_free(tg_bytes *bytes)
{
	free(bytes->data);
	*bytes = (tg_bytes){0};
}
