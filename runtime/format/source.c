/*
 * source.c
 *	  Memory of a reader, and notes of faults.
 */
#include "runtime/format/source.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/check.h"

tg_status
tg_file_fault_note(tg_file_fault *fault, tg_status status, uint64_t offset, const char *format, ...)
{
	va_list arguments;

	tg_assert(status != TG_OK);
	if (fault->status != TG_OK)
		return fault->status;
	fault->status = status;
	fault->offset = offset;
	va_start(arguments, format);
	vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	return status;
}

bool
tg_buffer_grow(tg_file_memory *memory, tg_buffer *buffer, size_t bytes)
{
	const tg_file_source *source = memory->source;
	size_t room = buffer->room < 256 ? 256 : buffer->room;
	void *data;

	if (bytes > source->memory_max || memory->used - buffer->room > source->memory_max - bytes)
		return false;
	while (room < bytes && room <= SIZE_MAX / 2)
		room *= 2;
	/* the last step does not go beyond the limit */
	if (room > source->memory_max - (memory->used - buffer->room))
		room = bytes;
	data = source->resize(source->argument, buffer->data, buffer->room, room);
	if (data == NULL)
		return false;
	memory->used += room - buffer->room;
	buffer->data = data;
	buffer->room = room;
	return true;
}

void
tg_buffer_free(tg_file_memory *memory, tg_buffer *buffer)
{
	if (buffer->data == NULL)
		return;
	memory->source->free(memory->source->argument, buffer->data);
	memory->used -= buffer->room;
	*buffer = (tg_buffer){0};
}
