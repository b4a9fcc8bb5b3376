/*
 * memory.c
 *	  Memory of a query: taken by any of its tasks, on the job's account, and freed all at once.
 *
 * A query in place keeps the account by itself: its bytes are bounded in the same way.
 */
#include "runtime/query/query_internal.h"

#include <string.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/job.h"

#define MEMORY_HEADER TG_CACHE_LINE

#define SURE_BYTES ((uint64_t) 2 << 20) /* of a query, whatever else there is */
#define DATA_SHARE 8					/* the last eighth of the memory is for rows alone */

/* A query can be computed in another way; a row that finds no room fails its transaction. */
static bool
leaves_room(const tg_query *query, size_t bytes)
{
	size_t limit = tg_arena_limit();

	return tg_load_relaxed(&query->memory_bytes) + bytes <= SURE_BYTES ||
		   tg_arena_committed() + bytes <= limit - limit / DATA_SHARE;
}

tg_status
tg_query_account(tg_query *query, size_t bytes)
{
	uint64_t most = query->config.memory_max;

	if (!leaves_room(query, bytes))
		return TG_NO_MEMORY;
	if (query->job != NULL ? tg_job_memory_take(query->job, bytes) != TG_OK
						   : most != 0 && query->memory_bytes + bytes > most)
		return TG_NO_MEMORY;
	tg_fetch_add_relaxed(&query->memory_bytes, bytes);
	return TG_OK;
}

void *
tg_query_take(tg_session *session, tg_query *query, size_t bytes)
{
	tg_query_memory *memory;
	tg_query_memory *head;

	bytes = (bytes + MEMORY_HEADER + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
	if (tg_query_account(query, bytes) != TG_OK)
		return NULL;
	memory = tg_alloc(session, bytes, TG_USE_JOB, TG_DATA);
	if (memory == NULL)
		return NULL;
	head = tg_load_relaxed(&query->memory);
	do
		memory->next = head;
	while (!tg_cas_acq_rel(&query->memory, &head, memory));
	return (unsigned char *) memory + MEMORY_HEADER;
}

void *
tg_query_alloc(tg_session *session, tg_query *query, size_t bytes)
{
	void *memory = tg_query_take(session, query, bytes);

	if (memory != NULL)
		memset(memory, 0, bytes);
	return memory;
}

void
tg_query_memory_free(tg_session *session, tg_query *query)
{
	tg_query_memory *next;

	for (tg_query_memory *memory = tg_load_relaxed(&query->memory); memory != NULL; memory = next)
	{
		next = memory->next;
		tg_free(session, memory, TG_USE_JOB);
	}
}
