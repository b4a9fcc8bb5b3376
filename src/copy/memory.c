/*
 * memory.c
 *	  Memory for readers and writers of files: of a memory context, without errors.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "utils/memutils.h"

void *
tsurugi_format_resize(void *context, void *memory, size_t old_bytes, size_t bytes)
{
	void *larger = MemoryContextAllocExtended(context, bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (larger != NULL && memory != NULL)
	{
		memcpy(larger, memory, Min(old_bytes, bytes));
		pfree(memory);
	}
	return larger;
}

void
tsurugi_format_free(void *context, void *memory)
{
	if (memory != NULL)
		pfree(memory);
}
