/*
 * memory.c
 *	  Memory of a query: taken by any of its tasks, on the job's account.  What has not been given
 *	  back by then is freed at its end, all at once.
 *
 * A query in place keeps the account by itself: its bytes are bounded in the same way.  It is one
 * thread's, and takes the first pieces from one block, which has all that a short query needs.
 * Such a piece is not used again when it is given back.
 */
#include "runtime/query/query_internal.h"

#include <string.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/job.h"

#define MEMORY_HEADER TG_CACHE_LINE
#define BLOCK_BYTES ((size_t) 128 << 10) /* in place */

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

static void
stop_counting(tg_query *query, size_t bytes)
{
	tg_fetch_add_relaxed(&query->memory_bytes, (uint64_t) 0 - bytes);
	if (query->job != NULL)
		tg_job_memory_give(query->job, bytes);
}

uint64_t
tg_query_memory_left(const tg_query *query)
{
	uint64_t used = tg_load_relaxed(&query->memory_bytes);
	uint64_t room = tg_arena_limit() - tg_arena_limit() / DATA_SHARE;
	uint64_t committed = tg_arena_committed();
	uint64_t left = committed < room ? room - committed : 0;

	if (used < SURE_BYTES && left < SURE_BYTES - used)
		left = SURE_BYTES - used;
	if (query->config.memory_max > 0 && query->config.memory_max < used + left)
		left = query->config.memory_max > used ? query->config.memory_max - used : 0;
	return left;
}

static tg_query_memory *
memory_of(void *taken)
{
	return (tg_query_memory *) ((unsigned char *) taken - MEMORY_HEADER);
}

static void *
take_apart(tg_session *session, tg_query *query, size_t bytes)
{
	tg_query_memory *memory;

	if (tg_query_account(query, bytes) != TG_OK)
		return NULL;
	memory = tg_alloc(session, bytes, TG_USE_JOB, TG_DATA);
	if (memory == NULL)
	{
		stop_counting(query, bytes);
		return NULL;
	}
	memory->bytes = bytes;
	memory->cut = false;
	memory->before = NULL;
	tg_latch_acquire(&query->memory_latch);
	memory->next = query->memory;
	if (memory->next != NULL)
		memory->next->before = memory;
	query->memory = memory;
	tg_latch_release(&query->memory_latch);
	return (unsigned char *) memory + MEMORY_HEADER;
}

/* The next piece of the first block; NULL: there is no room in it. */
static void *
cut(tg_session *session, tg_query *query, size_t bytes)
{
	tg_query_memory *memory;

	if (!query->has_block)
	{
		query->has_block = true;
		query->block = take_apart(session, query, BLOCK_BYTES);
		query->block_left = query->block == NULL ? 0 : BLOCK_BYTES - MEMORY_HEADER;
	}
	if (bytes > query->block_left)
		return NULL;
	memory = (tg_query_memory *) query->block;
	query->block += bytes;
	query->block_left -= bytes;
	memory->cut = true;
	return (unsigned char *) memory + MEMORY_HEADER;
}

void *
tg_query_take(tg_session *session, tg_query *query, size_t bytes)
{
	void *piece = NULL;

	bytes = (bytes + MEMORY_HEADER + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
	if (query->job == NULL)
		piece = cut(session, query, bytes);
	return piece != NULL ? piece : take_apart(session, query, bytes);
}

void
tg_query_give(tg_session *session, tg_query *query, void *taken)
{
	tg_query_memory *memory = memory_of(taken);

	if (memory->cut)
		return;
	tg_latch_acquire(&query->memory_latch);
	if (memory->before != NULL)
		memory->before->next = memory->next;
	else
		query->memory = memory->next;
	if (memory->next != NULL)
		memory->next->before = memory->before;
	tg_latch_release(&query->memory_latch);
	stop_counting(query, memory->bytes);
	tg_free(session, memory, TG_USE_JOB);
}

void *
tg_task_take(tg_query_task *task, tg_session *session, size_t bytes)
{
	void *taken = tg_query_take(session, task->query, bytes);

	if (taken != NULL)
	{
		memory_of(taken)->next_of_task = task->prepared;
		task->prepared = memory_of(taken);
	}
	return taken;
}

void
tg_task_give(tg_query_task *task, tg_session *session)
{
	tg_query_memory *next;

	for (tg_query_memory *memory = task->prepared; memory != NULL; memory = next)
	{
		next = memory->next_of_task;
		tg_query_give(session, task->query, (unsigned char *) memory + MEMORY_HEADER);
	}
	task->prepared = NULL;
	task->prepared_for = 0;
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

	for (tg_query_memory *memory = query->memory; memory != NULL; memory = next)
	{
		next = memory->next;
		tg_free(session, memory, TG_USE_JOB);
	}
}
