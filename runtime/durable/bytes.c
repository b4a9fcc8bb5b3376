/*
 * bytes.c
 *	  How the buffer of a record grows.
 *
 * A session's own lies in its process's memory, not in the arena: the session that commits
 * assembles a record when the arena may be full.  Where tasks of the pool write a part of a record,
 * the session that inserts it reads their memory (parts.c).
 */
#include "runtime/durable/bytes.h"

#include <stdlib.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/use.h"

#define BYTES_MIN 256

/* More memory with the bytes so far; NULL: there is none. */
static unsigned char *
grow(const tg_bytes *bytes, size_t capacity)
{
	unsigned char *data;

	if (bytes->session == NULL)
		return realloc(bytes->data, capacity);
	data = tg_alloc(bytes->session, capacity, TG_USE_JOB, TG_DATA);
	if (data == NULL || bytes->data == NULL)
		return data;
	memcpy(data, bytes->data, bytes->count);
	tg_free(bytes->session, bytes->data, TG_USE_JOB);
	return data;
}

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
	data = grow(bytes, capacity);
	if (data == NULL)
		return TG_NO_MEMORY;
	bytes->data = data;
	bytes->capacity = capacity;
	return TG_OK;
}

void
tg_bytes_free(tg_bytes *bytes)
{
	if (bytes->session == NULL)
		free(bytes->data);
	else if (bytes->data != NULL)
		tg_free(bytes->session, bytes->data, TG_USE_JOB);
	*bytes = (tg_bytes){.session = bytes->session};
}
