/*
 * process_event.c
 *	  The queue of events of a process, and its yields.
 *
 * There is one list of events in order of arrival, under the process' latch, which is held for a
 * few instructions; the events of one Step are taken out together.  Three things are simpler with a
 * latch than with a lock-free list: the bound on messages is exact, a second completion is
 * recognized, and one flag marks the end.
 *
 * A message comes with its own node.  A completion uses the node of its yield, which was made when
 * the command was yielded, so it needs no memory and is never refused.  The node of the cancel
 * event is part of the process.
 *
 *		FREE --take--> OUTSTANDING --settle--> QUEUED --taken out--> FREE
 *				 \---> WATCHING ------settle---^
 *
 * 1. A ticket names a yield and its generation, which changes with each use.  A second completion,
 *    or one of a command that never was, finds another generation, or a state that must not be
 *    settled.
 * 2. counts.outstanding is the number of yields OUTSTANDING; counts.messages and counts.others are
 *    the numbers of events in the list (check_events).
 * 3. closed is set once, under the latch.  After that no event is added, and no other thread looks
 *    at a yield.  So the blocks of yields can be freed at once, while the process itself waits for
 *    its epoch.
 */
#include "runtime/mem/arena.h"
#include "runtime/app/process_internal.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/claim.h"

void
tg_process_events_init(tg_process *process)
{
	tg_latch_init(&process->latch, TG_RANK_PROCESS);
	process->cancel_node.event = (tg_event){.type = TG_EVENT_CANCEL, .error = TG_CANCELLED};
}

/* --- yields by index --------------------------------------------------------------------- */

static uint32_t
block_size(uint32_t block)
{
	return (uint32_t) TG_YIELD_FIRST << block;
}

/* Index of a block's first yield, and how many there are before it. */
static uint32_t
block_begin(uint32_t block)
{
	return block_size(block) - TG_YIELD_FIRST;
}

static tg_yield *
yield_at(const tg_process *process, uint32_t index)
{
	uint32_t block = 31 - (uint32_t) __builtin_clz(index / TG_YIELD_FIRST + 1);

	return &process->blocks[block][index - block_begin(block)];
}

/* --- under the latch ------------------------------------------------------------------------ */

#ifdef TG_DEBUG

#define CHECK_MAX 64 /* events looked through; a list that is longer is taken on trust */

static void
check_events(const tg_process *process)
{
	tg_event_counts counts = {0};
	const tg_event_node *node = process->first;

	while (node && counts.messages + counts.others < CHECK_MAX)
	{
		if (node->event.type == TG_EVENT_MESSAGE)
			counts.messages++;
		else
			counts.others++;
		tg_assert(node->next || node == process->last);
		node = node->next;
	}
	tg_assert(node || (counts.messages == process->counts.messages && counts.others == process->counts.others));
	tg_assert(process->counts.messages <= process->queue_max);
	tg_assert(process->counts.outstanding <= block_begin(process->block_count));
	tg_assert(!process->closed || !process->first);
}

#else

static inline void
check_events(const tg_process *process)
{
	(void) process;
}

#endif

static void
append(tg_process *process, tg_event_node *node)
{
	node->next = NULL;
	if (process->first)
		process->last->next = node;
	else
		process->first = node;
	process->last = node;
	if (node->event.type == TG_EVENT_MESSAGE)
		process->counts.messages++;
	else
		process->counts.others++;
	check_events(process);
}

static tg_event_node *
take_first(tg_process *process)
{
	tg_event_node *node = process->first;

	if (!node)
		return NULL;
	process->first = node->next;
	if (node->event.type == TG_EVENT_MESSAGE)
		process->counts.messages--;
	else
		process->counts.others--;
	return node;
}

/* The yield that may be settled by this ticket, NULL if there is none. */
static tg_yield *
yield_of(const tg_process *process, tg_ticket ticket)
{
	tg_yield *yield;

	if (process->closed || ticket.index >= block_begin(process->block_count))
		return NULL;
	yield = yield_at(process, ticket.index);
	if (yield->generation != ticket.generation ||
		(yield->state != TG_YIELD_OUTSTANDING && yield->state != TG_YIELD_WATCHING))
		return NULL;
	return yield;
}

static void
wake(tg_session *session, tg_process *process, tg_process_rest rest)
{
	if (tg_process_state_wake(&process->word, rest))
		tg_task_unpark(session, &process->task);
}

/* --- in --------------------------------------------------------------------------------------- */

tg_status
tg_process_event_add(tg_session *session, tg_process *process, tg_event_node *message)
{
	tg_status status = TG_OK;

	tg_latch_acquire(&process->latch);
	if (process->closed)
		status = TG_NOT_FOUND;
	else if (process->counts.messages >= process->queue_max)
		status = TG_FULL;
	else
		append(process, message);
	tg_latch_release(&process->latch);
	if (status != TG_OK)
		return status;
	tg_failpoint("process_sent");
	wake(session, process, TG_WAKE_IDLE);
	return TG_OK;
}

bool
tg_process_event_settle(tg_session *session, tg_process *process, tg_ticket ticket, tg_status error, void *data,
						tg_event_drop drop)
{
	tg_yield *yield;

	tg_latch_acquire(&process->latch);
	yield = yield_of(process, ticket);
	if (yield)
	{
		if (yield->state == TG_YIELD_OUTSTANDING)
			process->counts.outstanding--;
		yield->state = TG_YIELD_QUEUED;
		yield->node.event.error = error;
		yield->node.event.data = data;
		yield->node.event.drop = drop;
		append(process, &yield->node);
	}
	tg_latch_release(&process->latch);
	if (!yield)
		return false;
	tg_failpoint("process_settled");
	wake(session, process, TG_WAKE_ANY);
	return true;
}

void
tg_process_event_cancel(tg_session *session, tg_process *process, bool must_close)
{
	bool changed = false;

	tg_latch_acquire(&process->latch);
	if (!process->closed)
	{
		changed = !process->is_cancelled || (must_close && !process->must_close);
		if (!process->is_cancelled)
		{
			process->is_cancelled = true;
			append(process, &process->cancel_node);
		}
		if (must_close)
			process->must_close = true;
	}
	tg_latch_release(&process->latch);
	if (!changed)
		return;
	tg_failpoint("process_cancelled");
	wake(session, process, TG_WAKE_ANY);
}

/* --- out -------------------------------------------------------------------------------------- */

unsigned
tg_process_events_take(tg_session *session, tg_process *process, tg_event *events, unsigned count_max,
					   bool *must_close_out)
{
	tg_event_node *messages = NULL; /* to be freed without the latch */
	tg_event_node *node;
	unsigned count = 0;

	tg_latch_acquire(&process->latch);
	*must_close_out = process->must_close;
	while (count < count_max && (node = take_first(process)))
	{
		events[count++] = node->event;
		if (node->event.type == TG_EVENT_MESSAGE)
		{
			node->next = messages;
			messages = node;
		}
		else if (node != &process->cancel_node)
			tg_process_yield_give(process, (tg_yield *) node);
	}
	check_events(process);
	tg_latch_release(&process->latch);
	while ((node = messages))
	{
		messages = node->next;
		tg_free(session, node, TG_USE_JOB);
	}
	return count;
}

static void
drop_event(tg_session *session, const tg_event *event)
{
	if (event->data && event->drop)
		event->drop(session, event->data);
}

void
tg_process_events_drop(tg_session *session, tg_event *events, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		drop_event(session, &events[i]);
}

tg_event_counts
tg_process_event_counts(tg_process *process)
{
	tg_event_counts counts;

	tg_latch_acquire(&process->latch);
	counts = process->counts;
	tg_latch_release(&process->latch);
	return counts;
}

/* --- yields ----------------------------------------------------------------------------------- */

static tg_status
add_block(tg_session *session, tg_process *process)
{
	uint32_t block = process->block_count;
	uint32_t size = block_size(block);
	tg_yield *yields;

	if (block == TG_YIELD_BLOCKS)
		return TG_FULL;
	yields = tg_alloc_zeroed(session, size * sizeof(tg_yield), TG_USE_JOB, TG_DATA);
	if (!yields)
		return TG_NO_MEMORY;
	for (uint32_t i = size; i-- > 0;)
	{
		yields[i].index = block_begin(block) + i;
		yields[i].next = process->free_yields;
		process->free_yields = &yields[i];
	}
	tg_latch_acquire(&process->latch);
	process->blocks[block] = yields;
	process->block_count++;
	tg_latch_release(&process->latch);
	return TG_OK;
}

tg_status
tg_process_yield_take(tg_session *session, tg_process *process, tg_yield_state state, tg_event_type type, uint64_t tag,
					  tg_yield **yield_out)
{
	tg_yield *yield;

	if (!process->free_yields)
	{
		tg_status status = add_block(session, process);

		if (status != TG_OK)
			return status;
	}
	yield = process->free_yields;
	process->free_yields = yield->next;
	yield->next = NULL;
	yield->kept = NULL;
	yield->handler = NULL;
	tg_latch_acquire(&process->latch);
	yield->node.event = (tg_event){.type = type, .tag = tag};
	yield->state = state;
	yield->generation++;
	if (state == TG_YIELD_OUTSTANDING)
		process->counts.outstanding++;
	check_events(process);
	tg_latch_release(&process->latch);
	*yield_out = yield;
	return TG_OK;
}

void
tg_process_yield_give(tg_process *process, tg_yield *yield)
{
	yield->state = TG_YIELD_FREE;
	yield->next = process->free_yields;
	process->free_yields = yield;
}

tg_ticket
tg_process_yield_ticket(const tg_process *process, const tg_yield *yield)
{
	return (tg_ticket){.pid = process->pid, .index = yield->index, .generation = yield->generation};
}

/* --- the end ---------------------------------------------------------------------------------- */

static void
drop_queue(tg_session *session, tg_event_node *node)
{
	while (node)
	{
		tg_event_node *next = node->next;

		drop_event(session, &node->event);
		if (node->event.type == TG_EVENT_MESSAGE)
			tg_free(session, node, TG_USE_JOB);
		node = next;
	}
}

void
tg_process_events_close(tg_session *session, tg_process *process)
{
	tg_event_node *queue;

	tg_latch_acquire(&process->latch);
	tg_assert(!process->closed);
	process->closed = true;
	queue = process->first;
	process->first = NULL;
	process->counts = (tg_event_counts){0};
	tg_latch_release(&process->latch);
	tg_failpoint("process_closed");

	drop_queue(session, queue);
	for (uint32_t index = 0; index < block_begin(process->block_count); index++)
	{
		tg_yield *yield = yield_at(process, index);

		if (yield->state == TG_YIELD_OUTSTANDING && yield->kept)
			yield->handler->cancel(session, yield->kept);
	}
	for (uint32_t block = 0; block < process->block_count; block++)
		tg_free(session, process->blocks[block], TG_USE_JOB);
}
