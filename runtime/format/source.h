/*
 * source.h
 *	  A file that is read here: how to read it, memory for it, and what was found wrong in it.
 *
 * Everything in a file is untrusted.  Each length is compared with what is there before it is used,
 * and all memory comes from the source, which has a limit; so a small file cannot ask for much.
 */
#ifndef TG_SOURCE_H
#define TG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

/* The caller's; every function gets the argument.  One reader has one thread at a time. */
typedef struct tg_file_source
{
	uint64_t bytes; /* of the file */
	/* Exactly so many bytes from an offset on; false: they could not be read. */
	bool (*read)(void *argument, uint64_t offset, void *into, size_t bytes);
	/*
	 * More memory: with the contents of what is there, which is then freed.  NULL: refused, and
	 * nothing is freed.  memory: NULL, or of old_bytes.
	 */
	void *(*resize)(void *argument, void *memory, size_t old_bytes, size_t bytes);
	void (*free)(void *argument, void *memory); /* memory may be NULL */
	void *argument;
	size_t memory_max; /* bytes that a reader may have at a time */
} tg_file_source;

/*
 * What is wrong.  TG_DAMAGED: the bytes are not what the format says; TG_UNFIT: a feature of the
 * format that is not supported; TG_IO: reading failed; TG_NO_MEMORY.
 */
typedef struct tg_file_fault
{
	tg_status status;
	bool checksum;	 /* DAMAGED: a checksum does not fit, so the file has changed since it was made */
	uint64_t offset; /* in the file, of the part that has it */
	char text[160];	 /* a sentence without its first capital letter and full stop */
} tg_file_fault;

/* Notes the fault, unless there was one before, and returns its status. */
extern tg_status tg_file_fault_note(tg_file_fault *fault, tg_status status, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5), cold));

/* Memory that grows. */
typedef struct tg_buffer
{
	void *data;
	size_t room;
} tg_buffer;

/* All memory of a reader. */
typedef struct tg_file_memory
{
	const tg_file_source *source;
	size_t used;
} tg_file_memory;

/* The part of the function below for a buffer that has less room. */
extern bool tg_buffer_grow(tg_file_memory *memory, tg_buffer *buffer, size_t bytes) TG_MUST_USE;

/* Makes room for so many bytes; contents stay.  False: refused, and the buffer is as before. */
static inline bool
tg_buffer_reserve(tg_file_memory *memory, tg_buffer *buffer, size_t bytes)
{
	return bytes <= buffer->room || tg_buffer_grow(memory, buffer, bytes);
}

extern void tg_buffer_free(tg_file_memory *memory, tg_buffer *buffer);

#endif /* TG_SOURCE_H */
