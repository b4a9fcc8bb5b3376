/*
 * collector.c
 *	  From the logs of transactions that have ended to free memory.
 *
 * A log's pieces go through these queues, all but the inbox the runner's own:
 *
 *	  give --> inbox --+--committed--> waiting --horizon >= C--> prune --> confirm --epoch--> free
 *					   |			   in order of C			   | ^		   ^			  |
 *					   |									  open | | retry   |		 open |
 *					   |										   v |		   |			  v
 *					   |										 open <----------------------+
 *					   +--undone-------------------------------------------> confirm
 *
 * prune.c says what pruning and freeing an entry are, and who owns what.
 *
 * 1. When the horizon computed is H, every log with C <= H has been given.  A
 *	  committer has a snapshot R < C published from before it draws C until after
 *	  it has given its log.  H >= C was computed by somebody who read a clock value
 *	  of C or more, hence, by horizon.c 1 and 2, found that entry withdrawn and sees
 *	  the log given.  The inbox is emptied after the horizon was computed.  So logs are
 *	  pruned in the order of C, and nobody stamps a version that is garbage.
 * 2. Epochs ascend along confirm, for they are noted when a piece is put there.
 *	  The first one's is the one to look at.
 * 3. A piece whose DELETEs could not all be pruned is freed but for these, cut to
 *	  them, and waits in open.  It is tried again only if something has come since
 *	  that may have helped: a log with other things than inserts was taken, or a
 *	  REVIVE was pruned (and a piece that comes from confirm may have missed both).  And
 *	  only if an eighth as many entries were worked on as are open, or a second has
 *	  passed: so it costs a constant share.
 * 4. One runner at a time: whoever swaps running.  It allocates nothing, so a
 *	  short memory does not stop it.
 *
 * When nothing is given, nothing waits, and the clock stands still, the
 * watcher's check reads a few words and the task stays parked.
 *
 * Left out: gaps between snapshots (G3), tax (runtime.md), merging sparse chunks,
 * and skipping the garbage of dropped tables.
 */
#include "runtime/storage/collector.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/sched/scheduler.h"
#include "runtime/storage/collector_internal.h"
#include "runtime/storage/horizon.h"

#define TURN_BUDGET 512			/* entries of one turn of the task: some 50 µs */
#define CHECK_INTERVAL_US 10000 /* of the watcher's check */
#define WAIT_MS_MIN 10			/* look again at the horizon, which had not moved: at first, */
#define WAIT_MS_MAX 1000		/* and at last */
#define OPEN_SHARE 8			/* of open entries, to be worked on before these are tried again */
#define OPEN_MS_MAX 1000		/* but no longer than this after something may have helped them */
#define NEVER_MS UINT64_MAX

typedef struct queue
{
	tg_write_log *first;
	tg_write_log *last;
} queue;

/* In the arena. */
typedef struct collector
{
	tg_write_log *inbox TG_CACHE_ALIGNED; /* atomic: a stack; any session pushes, the runner takes all */
	uint64_t pieces;					  /* atomic: given and not yet freed */

	uint32_t running TG_CACHE_ALIGNED; /* atomic: somebody is the runner */

	/* the runner's; atomic where others look */
	tg_time horizon;		  /* atomic */
	queue waiting;			  /* committed, ascending by ended */
	queue confirm;			  /* unlinked, ascending by epoch */
	queue open;				  /* have open entries only */
	queue retry;			  /* the same, to be tried again now */
	uint64_t open_count;	  /* entries of these two */
	uint64_t worked;		  /* entries worked on since they were tried */
	bool open_stale;		  /* something has happened that may help them */
	uint64_t open_ms;		  /* since when */
	tg_log_block *keep_block; /* while the first of confirm is freed: */
	uint32_t keep_entry;	  /* its open entries before this place are kept */
	unsigned wait_ms;
	uint64_t wake_ms; /* atomic: when to run though nothing was given; NEVER_MS */
	tg_prune_counts counts;
	tg_sweep sweep;

	/* the watcher's */
	bool submitted TG_CACHE_ALIGNED;
	tg_task task;
} collector;

static collector *shared; /* set by tg_collector_create, inherited */

tg_status
tg_collector_create(void)
{
	tg_session *session;
	tg_status status;

	status = tg_session_open(&session);
	if (status != TG_OK)
		return status;
	shared = tg_alloc_zeroed(session, sizeof(collector), TG_USE_RUNTIME, TG_ESSENTIAL);
	tg_session_close(session);
	if (shared == NULL)
		return TG_NO_MEMORY;
	shared->wait_ms = WAIT_MS_MIN;
	shared->wake_ms = NEVER_MS;
	tg_arena_root_set(TG_ROOT_COLLECTOR, shared);
	return TG_OK;
}

/* --- queues --------------------------------------------------------------- */

/* Puts a piece behind another, or first (NULL). */
static void
queue_insert(queue *queue, tg_write_log *after, tg_write_log *piece)
{
	piece->previous = after;
	piece->next = after != NULL ? after->next : queue->first;
	*(after != NULL ? &after->next : &queue->first) = piece;
	*(piece->next != NULL ? &piece->next->previous : &queue->last) = piece;
}

static void
queue_append(queue *queue, tg_write_log *piece)
{
	queue_insert(queue, queue->last, piece);
}

static tg_write_log *
queue_take(queue *queue)
{
	tg_write_log *piece = queue->first;

	queue->first = piece->next;
	*(piece->next != NULL ? &piece->next->previous : &queue->last) = NULL;
	return piece;
}

/* --- giving --------------------------------------------------------------- */

void
tg_collector_give(tg_write_log *log)
{
	tg_write_log *oldest = log;
	uint64_t count = 1;

	if (log == NULL)
		return;
	/* The committer's snapshot is still published: see 1. */
	tg_assert(log->ended == 0 || log->ended > tg_load_relaxed(&shared->horizon));
	for (; oldest->below != NULL; oldest = oldest->below, count++)
	{
		oldest->next = oldest->below;
		oldest->below->ended = log->ended;
	}
	tg_fetch_add_relaxed(&shared->pieces, count);
	oldest->next = tg_load_relaxed(&shared->inbox);
	while (!tg_cas_acq_rel(&shared->inbox, &oldest->next, log))
		; /* the release pairs with the exchange in take_inbox */
}

static void
destroy_piece(tg_session *session, tg_write_log *piece)
{
	tg_write_log_destroy(session, piece);
	tg_fetch_add_relaxed(&shared->pieces, (uint64_t) -1);
}

static void
piece_rewind(tg_write_log *piece)
{
	piece->at_block = &piece->first;
	piece->at_entry = 0;
}

static void
help_open(void)
{
	if (!shared->open_stale)
		shared->open_ms = tg_now_ms();
	shared->open_stale = true;
}

/* What is unlinked now is free for use when the epoch that is noted is over.  So epochs ascend along the queue. */
static void
await_epoch(tg_write_log *piece)
{
	piece_rewind(piece);
	piece->epoch = tg_epoch_now();
	queue_append(&shared->confirm, piece);
}

static void
sort_in(tg_session *session, tg_write_log *piece)
{
	tg_write_log *after = shared->waiting.last;

	piece->below = NULL;
	shared->worked++;
	if (!piece->lasting)
		help_open();
	if (piece->ended == 0)
	{
		piece->garbage = 1; /* or none: it does not matter which */
		await_epoch(piece);
		return;
	}
	if (piece->lasting)
	{
		destroy_piece(session, piece);
		return;
	}
	/* Logs come nearly in order, and of one transaction the older piece first. */
	while (after != NULL && after->ended > piece->ended)
		after = after->previous;
	piece_rewind(piece);
	queue_insert(&shared->waiting, after, piece);
}

static void
take_inbox(tg_session *session)
{
	tg_write_log *newest;
	tg_write_log *oldest = NULL;

	if (tg_load_relaxed(&shared->inbox) == NULL)
		return;
	newest = tg_exchange_acq_rel(&shared->inbox, NULL);
	while (newest != NULL)
	{
		tg_write_log *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	while (oldest != NULL)
	{
		tg_write_log *next = oldest->next;

		sort_in(session, oldest);
		oldest = next;
	}
}

/* --- the two passes over a piece ------------------------------------------ */

static tg_log_entry *
next_entry(tg_write_log *piece)
{
	while (piece->at_entry == piece->at_block->count)
	{
		if (piece->at_block->next == NULL)
			return NULL;
		piece->at_block = piece->at_block->next;
		piece->at_entry = 0;
	}
	return &piece->at_block->entry[piece->at_entry++];
}

/* Prunes entries of a piece; returns what is left of the budget, and if that is not 0 it got to the end. */
static unsigned
prune_piece(tg_session *session, tg_write_log *piece, unsigned budget)
{
	tg_epoch_enter(session);
	while (budget > 0)
	{
		tg_log_entry *entry = next_entry(piece);
		unsigned cost;

		if (entry == NULL)
			break;
		cost = entry->kind == TG_WRITE_DELETE ? TG_ROW_COST : 1;
		if (tg_prune_entry(session, entry, &shared->counts))
			help_open();
		if (entry->kind == TG_WRITE_DELETE)
			piece->open++;
		else if (entry->kind != TG_GARBAGE_NONE)
			piece->garbage++;
		shared->worked++;
		budget -= cost < budget ? cost : budget;
	}
	tg_epoch_leave(session);
	return budget;
}

/* Sends a piece that has been pruned, or freed, on its way. */
static void
send_on(tg_session *session, tg_write_log *piece)
{
	if (piece->garbage > 0 || (piece->open > 0 && !piece->cut))
		await_epoch(piece);
	else if (piece->open > 0)
	{
		shared->open_count += piece->open;
		queue_append(&shared->open, piece);
	}
	else
		destroy_piece(session, piece);
}

/* An open entry stays, in front of those that are not needed any more. */
static void
keep(const tg_log_entry *entry)
{
	if (shared->keep_entry == shared->keep_block->capacity)
	{
		shared->keep_block = shared->keep_block->next;
		shared->keep_entry = 0;
	}
	shared->keep_block->entry[shared->keep_entry++] = *entry;
}

/* Leaves a piece with nothing but the entries that were kept. */
static void
cut_to_kept(tg_session *session, tg_write_log *piece)
{
	tg_log_block *block = shared->keep_block->next;

	shared->keep_block->next = NULL;
	shared->keep_block->count = shared->keep_entry;
	piece->last = shared->keep_block;
	piece->garbage = 0;
	piece->cut = true;
	while (block != NULL)
	{
		tg_log_block *next = block->next;

		tg_free(session, block, TG_USE_LOG);
		block = next;
	}
}

/* Frees entries of a piece whose epoch is over; result as of prune_piece. */
static unsigned
free_piece(tg_session *session, tg_write_log *piece, unsigned budget)
{
	if (piece->at_block == &piece->first && piece->at_entry == 0)
	{
		shared->keep_block = &piece->first;
		shared->keep_entry = 0;
	}
	tg_epoch_enter(session);
	while (budget > 0)
	{
		const tg_log_entry *entry = next_entry(piece);
		unsigned cost;

		if (entry == NULL)
			break;
		if (piece->ended == 0)
			cost = tg_free_undone(session, entry, &shared->counts);
		else
		{
			cost = tg_free_pruned(session, entry, &shared->counts);
			if (entry->kind == TG_WRITE_DELETE)
				keep(entry);
		}
		shared->worked++;
		budget -= cost < budget ? cost : budget;
	}
	tg_epoch_leave(session);
	return budget;
}

/* --- running -------------------------------------------------------------- */

static bool
is_confirmed(uint64_t epoch)
{
	if (tg_load_acquire(tg_epoch_global) == epoch)
		tg_epoch_advance();
	return tg_epoch_confirmed() > epoch;
}

static unsigned
free_confirmed(tg_session *session, unsigned budget)
{
	tg_write_log *piece;

	while (budget > 0 && (piece = shared->confirm.first) != NULL && is_confirmed(piece->epoch))
	{
		budget = free_piece(session, piece, budget);
		shared->sweep.dirty = true;
		if (budget == 0)
			break;
		budget--;
		(void) queue_take(&shared->confirm);
		cut_to_kept(session, piece);
		if (piece->open > 0)
			help_open(); /* what happened while it was not in open, it has missed */
		send_on(session, piece);
	}
	return budget;
}

static unsigned
prune_waiting(tg_session *session, unsigned budget)
{
	tg_write_log *piece;

	while (budget > 0 && (piece = shared->waiting.first) != NULL && piece->ended <= shared->horizon)
	{
		shared->wait_ms = WAIT_MS_MIN;
		budget = prune_piece(session, piece, budget);
		if (budget == 0)
			break;
		budget--;
		send_on(session, queue_take(&shared->waiting));
	}
	return budget;
}

static bool
open_is_due(void)
{
	return shared->open_stale &&
		   (shared->worked >= shared->open_count / OPEN_SHARE || tg_now_ms() >= shared->open_ms + OPEN_MS_MAX);
}

static unsigned
prune_open(tg_session *session, unsigned budget)
{
	if (shared->retry.first == NULL && shared->open.first != NULL && open_is_due())
	{
		shared->retry = shared->open;
		shared->open = (queue){NULL, NULL};
		shared->open_stale = false;
		shared->open_count = 0;
		shared->worked = 0;
		for (tg_write_log *piece = shared->retry.first; piece != NULL; piece = piece->next)
		{
			piece_rewind(piece);
			piece->open = 0;
		}
	}
	while (budget > 0 && shared->retry.first != NULL)
	{
		budget = prune_piece(session, shared->retry.first, budget);
		if (budget == 0)
			break;
		budget--;
		send_on(session, queue_take(&shared->retry));
	}
	return budget;
}

/* Sets when to look again though nothing has been given. */
static void
set_alarm(void)
{
	uint64_t now = tg_now_ms();
	uint64_t wake = NEVER_MS;

	if (shared->open.first != NULL && shared->open_stale)
		wake = now + OPEN_MS_MAX;
	if (tg_sweep_is_unfinished(&shared->sweep) && tg_load_relaxed(&shared->sweep.at_ms) < wake)
		wake = tg_load_relaxed(&shared->sweep.at_ms);
	if (shared->confirm.first != NULL)
		wake = now + WAIT_MS_MIN;
	else if (shared->waiting.first != NULL)
	{
		wake = now + shared->wait_ms < wake ? now + shared->wait_ms : wake;
		shared->wait_ms = shared->wait_ms * 2 < WAIT_MS_MAX ? shared->wait_ms * 2 : WAIT_MS_MAX;
	}
	tg_store_relaxed(&shared->wake_ms, wake);
}

static bool
run(tg_session *session, unsigned budget)
{
	if (shared->waiting.first != NULL || tg_load_relaxed(&shared->inbox) != NULL)
	{
		/* In this order: 1. */
		tg_store_relaxed(&shared->horizon, tg_horizon_compute());
		take_inbox(session);
	}
	for (;;)
	{
		unsigned before = budget;

		budget = free_confirmed(session, budget);
		budget = prune_waiting(session, budget);
		budget = prune_open(session, budget);
		if (budget == 0)
			return true;
		if (budget == before)
			break;
	}
	tg_retire_poll(session);
	return tg_sweep_is_due(&shared->sweep) && tg_sweep_run(session, &shared->sweep, budget);
}

bool
tg_collector_run(tg_session *session, unsigned budget)
{
	bool more;

	tg_assert(!tg_epoch_inside(session));
	/* The acquire pairs with the release below: the runner before is done with the queues. */
	if (tg_load_relaxed(&shared->running) != 0 || tg_exchange_acq_rel(&shared->running, 1) != 0)
		return false;
	more = run(session, budget);
	set_alarm();
	tg_store_release(&shared->running, 0);
	return more;
}

/* --- the pool ------------------------------------------------------------- */

static tg_turn
run_turn(tg_task *task, tg_worker *worker)
{
	(void) task;
	return tg_collector_run(tg_worker_session(worker), TURN_BUDGET) ? TG_TURN_AGAIN : TG_TURN_PARK;
}

/* An unparking too many, or one that comes while the task is at work, does no harm. */
static void
check(tg_session *session)
{
	uint64_t now = tg_now_ms();
	bool clock_moved = tg_load_relaxed(tg_clock) != tg_load_relaxed(&shared->sweep.clock);

	if (tg_load_relaxed(&shared->inbox) == NULL && now < tg_load_relaxed(&shared->wake_ms) &&
		!(clock_moved && now >= tg_load_relaxed(&shared->sweep.at_ms)))
		return;
	if (shared->submitted)
		tg_task_unpark(session, &shared->task);
	else
		shared->submitted = tg_task_submit(session, NULL, &shared->task) == TG_OK;
}

void
tg_collector_attach(void)
{
	shared->submitted = false;
	tg_task_init(&shared->task, run_turn, NULL);
	tg_watcher_add(check, CHECK_INTERVAL_US);
}

void
tg_collector_report_get(tg_collector_report *report)
{
	*report = (tg_collector_report){
		.logs_waiting = tg_load_relaxed(&shared->pieces),
		.versions_removed = tg_load_relaxed(&shared->counts.versions_removed),
		.rows_closed = tg_load_relaxed(&shared->counts.rows_closed),
		.chunks_settled = tg_load_relaxed(&shared->sweep.chunks_settled),
		.chunks_freed = tg_load_relaxed(&shared->sweep.chunks_freed),
		.horizon = tg_load_relaxed(&shared->horizon),
	};
}
