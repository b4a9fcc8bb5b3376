/*
 * collector.c
 *	  From the logs of transactions that have ended to free memory, in cycles.
 *
 * The stages of a cycle (cycle.h); their work is cut into quanta, and any session may take part:
 *
 *	GATHER	gathers the readings, then the logs that have been given, in the order of C.  The
 *			cycle's work is the logs up to the readings' bound, the entries whose keepers have
 *			gone, and rolled-back logs
 *	PRUNE	unlinks garbage versions (prune.c)
 *	PRUNED	notes the epoch;  EPOCH waits until it is over
 *	FREE	frees blobs and slots of replaced versions and of rolled-back logs;
 *	CLOSE	then dead versions and row ids: prune.c, 9
 *	TIDY	files the entries that have to stay
 *
 * A log's piece goes
 *
 *	  give --> inbox --GATHER--> waiting --C <= bound--> work --PRUNE, FREE, CLOSE--> freed
 *						  |								  ^			   |
 *						  +--------- rolled back ---------+			   | kept entries
 *														  |			   v
 *			   keeper gone, or perhaps helped, or stray --+-- keepers, open, strays
 *
 * 1. When the bound gathered is B, every log with C <= B has been given (horizon.c, 9), and every
 *	  version with an end at or below B is stamped.  The inbox is emptied after that.
 * 2. An entry that is kept for a reader (G3) is filed under its keeper, the lowest point within its
 *	  version's lifetime.  New points are published only above the bound, so the version stays as
 *	  long as its keeper is published, and the entry is at hand again as soon as it is not: prune.c,
 *	  8.  If an entry cannot be filed (no memory for it, too many keepers), the whole piece is a
 *	  stray, and is tried in each cycle.
 * 3. A dead version that waits for another transaction (open) is tried again if a log has come
 *	  since that may have helped: one with other entries than inserts.  A second condition bounds
 *	  the cost by a constant share of the work: since the last try, at least an eighth as many other
 *	  entries were worked on as are open, or a second has passed.
 * 4. PRUNE, FREE and CLOSE allocate nothing, so a shortage of memory does not stop them.
 * 5. A row is pruned by one participant at a time, the one that has taken its row guard.  A
 *	  participant that finds the guard taken puts the piece back and leaves.
 * 6. Participants are in an epoch within a quantum, never between two; but EPOCH begins when all
 *	  participants have left PRUNE.
 *
 * The work of PRUNE, FREE and CLOSE is in collector_pieces.c, filing in collector_file.c.  Sweeps
 * (sweep.c; rank_sweep.c for the values in dictionaries) are run beside the cycle, by participants
 * that find nothing to join.
 *
 * When nothing is given, nothing waits, and the clock stands still, the watcher's check reads a few
 * words and the tasks stay parked.
 *
 * Left out: skipping the garbage of dropped tables.  Also left out: pruning by the sessions that
 * walk a chain.  It is never free: look-ups and scans begin at the newest version, so most meet no
 * garbage; a session that does walk would have to take the row's guard and write to lines that
 * readers share; and it would use other readings than the cycle, whose entries would then not own
 * exactly the versions that are unlinked (prune.c, 8).  The length of a chain is bounded by the
 * writes within one cycle.
 *
 * Departures from most collectors of this kind:
 *
 * - A log is given when its transaction ends.  No session keeps logs and none has to be asked for
 *	 them, so the cycle needs no round of confirmations.  The caches and leases that sessions keep
 *	 are given back when asked for, or by other sessions on behalf of those that are away
 *	 (mem/presence.h): of all of these before memory is refused, otherwise of those that have been
 *	 away for a second or more.
 * - The collector's threads are those of the pool, and its quanta are tasks.  Each task is
 *	 submitted again to the queue that a worker looks at last, so workers collect when they have
 *	 nothing else to do; but a pool that is always busy goes on collecting, one round in 61.
 * - No ticket takes a quantum from a participant that the system has suspended in it.  Another
 *	 participant could redo the quantum only if the half-done one had no effect yet, so all of
 *	 pruning and freeing would have to be done twice, by compare-and-swap.  All participants run at
 *	 normal priority, so they come back; meanwhile they delay the end of a stage, but no session
 *	 waits for that: work continues into the next cycle's inbox.  A thread of the pool that notices
 *	 that it was suspended yields to the sessions (tax.c, 6).
 */
#include "runtime/reclaim/collector.h"

#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/sched/scheduler.h"
#include "runtime/reclaim/collector_internal.h"
#include "runtime/index/rank_holders.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/lease.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/reclaim/tax.h"

#define GIVEN_MAX 4096			/* pieces given; from there on sessions open cycles, too */
#define CHECK_INTERVAL_US 10000 /* of the watcher's check */
#define WAIT_MS_MIN 10			/* between looks at the readings that work waits for: at first, */
#define WAIT_MS_MAX 1000		/* and at last */
#define NEVER_MS UINT64_MAX
#define ROOM_BUDGET 4096
#define LOOK_MS 1000 /* between looks at the sessions that are away */

tg_collector *tg_collector_shared;
unsigned tg_open_ms_max = 1000;

/* A session's duty: gives back the memory that it has taken in advance. */
static void
give_back(tg_session *session)
{
	tg_leases_end(session);
	tg_alloc_flush(session);
}

tg_status
tg_collector_create(void)
{
	tg_session *session;
	tg_status status;

	status = tg_session_open(&session);
	if (status != TG_OK)
		return status;
	tg_collector_shared = tg_alloc_zeroed(session, sizeof(tg_collector), TG_USE_RUNTIME, TG_ESSENTIAL);
	tg_session_close(session);
	if (tg_collector_shared == NULL)
		return TG_NO_MEMORY;
	tg_collector_shared->wait_ms = WAIT_MS_MIN;
	tg_collector_shared->wake_ms = NEVER_MS;
	tg_duty_set(give_back);
	return tg_tax_create();
}

/* --- giving --------------------------------------------------------------- */

static void
push(tg_write_log **stack, tg_write_log *first, tg_write_log *last)
{
	tg_write_log *top = tg_load_relaxed(stack);

	do
		tg_store_relaxed(&last->next, top);
	/* the release pairs with the exchange in take_inbox */
	while (!tg_cas_acq_rel(stack, &top, first));
}

void
tg_collector_give(tg_write_log *log)
{
	tg_write_log *oldest = log;
	uint64_t count = 1;

	if (log == NULL)
		return;
	for (; oldest->below != NULL; oldest = oldest->below, count++)
	{
		oldest->next = oldest->below;
		oldest->below->ended = log->ended;
	}
	tg_fetch_add_relaxed(&tg_collector_shared->given, count);
	push(&tg_collector_shared->inbox, log, oldest);
}

/* --- gathering ------------------------------------------------------------ */

static void
take_inbox(void)
{
	tg_write_log *newest = tg_exchange_acq_rel(&tg_collector_shared->inbox, NULL);

	while (newest != NULL)
	{
		tg_write_log *next = tg_load_relaxed(&newest->next);

		newest->next = tg_collector_shared->incoming;
		tg_collector_shared->incoming = newest;
		newest = next;
	}
}

/* The number of entries of a piece. */
static uint32_t
count_entries(const tg_write_log *piece, unsigned *budget)
{
	uint32_t count = 0;

	for (const tg_log_block *block = &piece->first; block != NULL; block = block->next)
	{
		count += block->count;
		tg_spend(budget, 1);
	}
	return count;
}

/* Logs come nearly in order of C; the older piece of a transaction comes first. */
static void
sort_in(tg_session *session, tg_write_log *piece, unsigned *budget)
{
	tg_write_log *after = tg_collector_shared->waiting_last;

	piece->below = NULL;
	if (!piece->lasting)
		tg_store_relaxed(&tg_collector_shared->helped, true);
	if (piece->ended == 0)
	{
		tg_put_to_work(piece);
		return;
	}
	if (piece->lasting)
	{
		tg_piece_destroy(session, piece);
		return;
	}
	if (piece->ended > tg_collector_shared->readings.bound)
	{
		piece->kept = count_entries(piece, budget);
		tg_fetch_add_relaxed(&tg_collector_shared->held_back, piece->kept);
	}
	while (after != NULL && after->ended > piece->ended)
		after = after->previous;
	piece->previous = after;
	piece->next = after != NULL ? after->next : tg_collector_shared->waiting;
	*(after != NULL ? &after->next : &tg_collector_shared->waiting) = piece;
	*(piece->next != NULL ? &piece->next->previous : &tg_collector_shared->waiting_last) = piece;
}

/* Removes the waiting pieces up to this one (NULL: none); returns the first that remains. */
static tg_write_log *
waiting_after(tg_write_log *due)
{
	tg_write_log *first = due != NULL ? due->next : tg_collector_shared->waiting;

	if (first != NULL)
		first->previous = NULL;
	else
		tg_collector_shared->waiting_last = NULL;
	return first;
}

/* True once all is gathered. */
static bool
gather(tg_session *session, unsigned *budget)
{
	if (!tg_collector_shared->gathering)
	{
		tg_collector_shared->gathering = true;
		tg_store_relaxed(&tg_collector_shared->progress, false);
		tg_store_relaxed(&tg_collector_shared->cycle_worked, 0);
		tg_store_release(&tg_collector_shared->given_before, tg_load_relaxed(&tg_collector_shared->given));
		tg_store_relaxed(&tg_collector_shared->freed, false);
		tg_readings_gather(&tg_collector_shared->readings); /* first: 1 */
		tg_store_relaxed(&tg_collector_shared->horizon, tg_collector_shared->readings.horizon);
		tg_store_relaxed(&tg_collector_shared->bound, tg_collector_shared->readings.bound);
		tg_failpoint("collector_gathered");
		take_inbox();
		tg_filed_call();
	}
	while (*budget > 0 && tg_collector_shared->incoming != NULL)
	{
		tg_write_log *piece = tg_collector_shared->incoming;

		tg_collector_shared->incoming = piece->next;
		tg_store_relaxed(&tg_collector_shared->progress, true);
		sort_in(session, piece, budget);
		tg_spend(budget, 1);
	}
	/* From the oldest on: any number of pieces beyond the due ones may wait for readers. */
	while (*budget > 0 && !tg_collector_shared->has_due)
	{
		tg_write_log *due = tg_collector_shared->due;
		tg_write_log *next = due != NULL ? due->next : tg_collector_shared->waiting;

		if (next != NULL && next->ended <= tg_collector_shared->readings.bound)
		{
			tg_fetch_add_relaxed(&tg_collector_shared->held_back, -(uint64_t) next->kept);
			tg_collector_shared->due = next;
			tg_spend(budget, 1);
		}
		else
		{
			tg_collector_shared->waiting = waiting_after(due);
			tg_collector_shared->has_due = true;
		}
	}
	/* The newest first, so that the oldest is on top: older versions go before newer ones. */
	while (*budget > 0 && tg_collector_shared->due != NULL)
	{
		tg_write_log *piece = tg_collector_shared->due;

		tg_collector_shared->due = piece->previous;
		tg_put_to_work(piece);
		tg_spend(budget, 1);
	}
	if (*budget == 0)
		return false;
	tg_collector_shared->gathering = false;
	tg_collector_shared->has_due = false;
	return true;
}

/* --- the alarm ------------------------------------------------------------- */

/* Sets the time at which to look again although nothing has been given. */
static void
set_alarm(void)
{
	uint64_t now = tg_now_ms();
	uint64_t wake = NEVER_MS;

	if (tg_load_relaxed(&tg_collector_shared->progress))
		tg_collector_shared->wait_ms = WAIT_MS_MIN;
	if (tg_collector_shared->open != NULL && tg_load_relaxed(&tg_collector_shared->helped))
		wake = now + tg_open_ms_max;
	if (!tg_preserve_is_empty() && now + WAIT_MS_MAX < wake)
		wake = now + WAIT_MS_MAX; /* ended LONGs leave the list when a horizon is computed */
	if (tg_collector_shared->waiting != NULL || tg_collector_shared->strays != NULL ||
		tg_collector_shared->keeper_count > 0)
	{
		wake = now + tg_collector_shared->wait_ms < wake ? now + tg_collector_shared->wait_ms : wake;
		tg_collector_shared->wait_ms =
			tg_collector_shared->wait_ms * 2 < WAIT_MS_MAX ? tg_collector_shared->wait_ms * 2 : WAIT_MS_MAX;
	}
	tg_store_relaxed(&tg_collector_shared->wake_ms, wake);
}

/* --- a cycle -------------------------------------------------------------- */

/* Moves the cycle to the next stage for many, or to TIDY if there is no work for it. */
static tg_stage
go_on(tg_stage next)
{
	if (tg_load_relaxed(&tg_collector_shared->cycle.work) == NULL)
		next = TG_STAGE_TIDY;
	tg_cycle_move(&tg_collector_shared->cycle, next);
	return next;
}

/* Prepares the stage that the last participant to leave a stage holds. */
static void
prepare(tg_stage stage)
{
	switch (stage)
	{
		case TG_STAGE_PRUNED:
			tg_failpoint("collector_pruned");
			tg_cycle_turn_over(&tg_collector_shared->cycle);
			tg_store_relaxed(&tg_collector_shared->epoch, tg_epoch_now());
			tg_store_relaxed(&tg_collector_shared->epoch_ms, tg_now_ms());
			(void) go_on(TG_STAGE_EPOCH);
			break;
		case TG_STAGE_FREED:
			tg_failpoint("collector_freed");
			tg_cycle_turn_over(&tg_collector_shared->cycle);
			(void) go_on(TG_STAGE_CLOSE);
			break;
		case TG_STAGE_TIDY:
			/* for the next participant */
			tg_cycle_move(&tg_collector_shared->cycle, TG_STAGE_TIDY);
			break;
		default:
			tg_assert(stage == TG_STAGE_NONE);
			break;
	}
}

/*
 * Does some of the work of the stage that was joined, and leaves it.  False: another participant
 * has the rest of the work.
 */
static bool
participate(tg_session *session, tg_stage stage, unsigned *budget)
{
	bool is_free = true;

	switch (stage)
	{
		case TG_STAGE_GATHER:
			if (gather(session, budget))
			{
				(void) go_on(TG_STAGE_PRUNE);
				return true;
			}
			break;
		case TG_STAGE_PRUNE:
			is_free = tg_pieces_prune(session, budget);
			break;
		case TG_STAGE_FREE:
		case TG_STAGE_CLOSE:
			tg_pieces_free(session, stage == TG_STAGE_FREE, budget);
			break;
		default:
			tg_assert(stage == TG_STAGE_TIDY);
			if (tg_filed_tidy(session, budget))
			{
				if (tg_load_relaxed(&tg_collector_shared->freed))
					tg_store_relaxed(&tg_collector_shared->sweep.dirty, true);
				set_alarm();
				tg_tax_cycle_ended(tg_load_relaxed(&tg_collector_shared->cycle_worked));
				tg_cycle_move(&tg_collector_shared->cycle, TG_STAGE_IDLE);
				return true;
			}
			break;
	}
	prepare(tg_cycle_leave(&tg_collector_shared->cycle));
	return is_free;
}

/*
 * Moves from the EPOCH of this word to FREE.  False: the epoch is not over, or the cycle has gone
 * on: cycle.c, 5.
 */
static bool
start_free(uint64_t word)
{
	uint64_t epoch = tg_load_relaxed(&tg_collector_shared->epoch);

	if (tg_load_acquire(tg_epoch_global) == epoch)
		tg_epoch_advance();
	if (tg_epoch_confirmed() <= epoch)
		return false;
	tg_failpoint("collector_confirmed");
	return tg_cycle_start(&tg_collector_shared->cycle, word);
}

/* Whether logs have been given, or filed entries may have become free. */
static bool
has_cause(void)
{
	return tg_load_relaxed(&tg_collector_shared->inbox) != NULL ||
		   tg_now_ms() >= tg_load_relaxed(&tg_collector_shared->wake_ms);
}

/*
 * Works on the cycle while it has work for one more participant.  If it may, it opens a cycle, and
 * further ones while they lead to something.  False: another participant has the next work.
 */
static bool
run(tg_session *session, bool may_open, unsigned *budget)
{
	bool has_opened = false;

	while (*budget > 0)
	{
		tg_stage stage = tg_cycle_join(&tg_collector_shared->cycle);
		uint64_t word;

		if (stage != TG_STAGE_NONE)
		{
			unsigned before = *budget;

			if (!participate(session, stage, budget))
				return false;
			if (*budget == before && tg_cycle_stage(&tg_collector_shared->cycle) == stage)
				return true; /* other participants have all the work */
			continue;
		}
		word = tg_cycle_look(&tg_collector_shared->cycle);
		stage = tg_stage_of(word);
		if (stage == TG_STAGE_IDLE && may_open &&
			(!has_opened || tg_load_relaxed(&tg_collector_shared->inbox) != NULL ||
			 tg_load_relaxed(&tg_collector_shared->progress)))
		{
			has_opened = true;
			(void) tg_cycle_start(&tg_collector_shared->cycle, word);
		}
		else if (stage != TG_STAGE_EPOCH || (!start_free(word) && tg_cycle_look(&tg_collector_shared->cycle) == word))
			break;
	}
	return true;
}

/*
 * Runs the sweeps.  True if one is not at its end.  *has_given_out: it has moved versions, so that
 * a cycle has work now.
 */
static bool
sweep(tg_session *session, unsigned budget, bool *has_given_out)
{
	bool more = false;
	uint64_t moved;

	*has_given_out = false;
	if (tg_load_relaxed(&tg_collector_shared->sweeping) != 0 ||
		tg_exchange_acq_rel(&tg_collector_shared->sweeping, 1) != 0)
		return false;
	moved = tg_collector_shared->sweep.versions_moved;
	if (tg_sweep_is_due(&tg_collector_shared->sweep))
		more = tg_sweep_run(session, &tg_collector_shared->sweep, budget);
	*has_given_out = tg_collector_shared->sweep.versions_moved != moved;
	tg_store_relaxed(&tg_collector_shared->sweep.unfinished, tg_sweep_is_unfinished(&tg_collector_shared->sweep));
	if (tg_rank_sweep_is_due(&tg_collector_shared->rank_sweep))
		more |= tg_rank_sweep_run(session, &tg_collector_shared->rank_sweep, budget);
	tg_store_release(&tg_collector_shared->sweeping, 0);
	return more;
}

/*
 * Sessions that have been away for long keep no memory.  Sweeps leave leased chunks alone, so those
 * of such a session are due for a sweep afterwards.
 */
static void
visit(tg_session *session)
{
	tg_session_answer(session);
	if (tg_load_relaxed(&tg_collector_shared->visits_due) &&
		tg_exchange_acq_rel(&tg_collector_shared->visits_due, 0) != 0 && tg_presence_visit(session, false) > 0)
		tg_store_relaxed(&tg_collector_shared->sweep.dirty, true);
}

unsigned
tg_collector_quantum(tg_session *session, unsigned budget, bool may_open, bool *more_out)
{
	unsigned left = budget;
	bool is_free;

	tg_assert(!tg_epoch_inside(session));
	is_free = run(session, may_open, &left);
	*more_out = left == 0 || !is_free;
	if (!*more_out)
	{
		tg_retire_poll(session);
		tg_preserve_tidy(session);
		visit(session);
		if (sweep(session, left, more_out))
		{
			*more_out = true;
			left = 0;
		}
	}
	return budget - left;
}

bool
tg_collector_run(tg_session *session, unsigned budget)
{
	bool more;

	(void) tg_collector_quantum(session, budget, true, &more);
	return more;
}

bool
tg_collector_is_open(void)
{
	return tg_cycle_stage(&tg_collector_shared->cycle) != TG_STAGE_IDLE;
}

uint64_t
tg_collector_given(void)
{
	/* first: it is not more than given */
	uint64_t before = tg_load_acquire(&tg_collector_shared->given_before);

	return tg_load_relaxed(&tg_collector_shared->given) - before;
}

bool
tg_collector_has_work(void)
{
	uint64_t word = tg_cycle_look(&tg_collector_shared->cycle);
	tg_stage stage = tg_stage_of(word);

	if (tg_unlikely(tg_collector_given() > GIVEN_MAX))
	{
		if (stage == TG_STAGE_IDLE)
			(void) tg_cycle_start(&tg_collector_shared->cycle, word);
		else if (stage == TG_STAGE_EPOCH)
		{
			(void) start_free(word);
			return true;
		}
	}
	return stage != TG_STAGE_IDLE && stage != TG_STAGE_EPOCH;
}

void
tg_collector_rows_came(void)
{
	/* Release pairs with the acquire in tg_sweep_is_due: that sweep finds the tables. */
	tg_store_release(&tg_collector_shared->sweep.dirty, true);
}

bool
tg_collector_make_room(tg_session *session)
{
	uint64_t removed = tg_load_relaxed(&tg_collector_shared->counts.versions_removed);
	uint64_t freed = tg_load_relaxed(&tg_collector_shared->sweep.chunks_freed);
	uint64_t ranks_freed = tg_load_relaxed(&tg_collector_shared->rank_sweep.freed);
	unsigned done;
	bool visited;
	bool more;

	tg_store_relaxed(&tg_collector_shared->sweep.at_ms, 0);
	tg_store_relaxed(&tg_collector_shared->rank_sweep.at_ms, 0);
	/* so open entries are tried again: 3 */
	tg_store_relaxed(&tg_collector_shared->worked, INT64_MAX / 2);
	visited = tg_presence_visit(session, true) > 0;
	done = tg_collector_quantum(session, ROOM_BUDGET, true, &more);
	if ((!more || done == 0) && tg_cycle_stage(&tg_collector_shared->cycle) != TG_STAGE_IDLE)
		sched_yield(); /* another participant is at work, or inside an epoch */
	return visited || more || tg_cycle_stage(&tg_collector_shared->cycle) != TG_STAGE_IDLE ||
		   tg_load_relaxed(&tg_collector_shared->counts.versions_removed) != removed ||
		   tg_load_relaxed(&tg_collector_shared->sweep.chunks_freed) != freed ||
		   tg_load_relaxed(&tg_collector_shared->rank_sweep.freed) != ranks_freed;
}

bool
tg_collector_ranks_are_due(void)
{
	return tg_rank_sweep_is_due(&tg_collector_shared->rank_sweep) && tg_rank_memory_is_short();
}

bool
tg_collector_sweep_ranks(tg_session *session)
{
	bool more;

	tg_store_relaxed(&tg_collector_shared->rank_sweep.at_ms, 0);
	if (tg_collector_quantum(session, ROOM_BUDGET, true, &more) == 0)
		sched_yield(); /* somebody else is at it, or inside an epoch */
	return tg_rank_sweep_can_go_on(&tg_collector_shared->rank_sweep) && tg_rank_memory_is_short();
}

/* --- the pool ------------------------------------------------------------- */

static void
wake_task(tg_session *session, unsigned number)
{
	if (tg_collector_shared->submitted[number])
		tg_task_unpark(session, &tg_collector_shared->tasks[number]);
	else
		tg_collector_shared->submitted[number] =
			tg_task_submit(session, NULL, &tg_collector_shared->tasks[number]) == TG_OK;
}

/*
 * One quantum; then other tasks of the pool have their turn.  The task of the next number joins if
 * there is enough work for it, too; only this task wakes it.
 */
static tg_turn
run_turn(tg_task *task, tg_worker *worker)
{
	unsigned number = (unsigned) (task - tg_collector_shared->tasks);
	tg_session *session = tg_worker_session(worker);

	if (!tg_tax_work(session))
		return TG_TURN_PARK;
	if (number + 1 < TG_COLLECTOR_TASKS && tg_load_relaxed(&tg_collector_shared->cycle.work) != NULL)
		wake_task(session, number + 1);
	return TG_TURN_AGAIN;
}

static uint64_t look_ms; /* the watcher's own: time of its next look at sessions that are away */

/* A superfluous unparking, or one that comes while the task is at work, does no harm. */
static void
check(tg_session *session)
{
	uint64_t now = tg_now_ms();
	bool clock_moved = tg_load_relaxed(tg_clock) != tg_load_relaxed(&tg_collector_shared->sweep.clock);
	bool is_sweeping = clock_moved || tg_load_relaxed(&tg_collector_shared->sweep.unfinished) ||
					   tg_load_relaxed(&tg_collector_shared->sweep.dirty);

	if (tg_failpoint_refuses("collector_pool"))
		return; /* sessions collect, or nothing does */
	if (now >= look_ms)
	{
		look_ms = now + LOOK_MS;
		if (tg_presence_look())
			tg_store_relaxed(&tg_collector_shared->visits_due, 1);
	}
	if (tg_cycle_stage(&tg_collector_shared->cycle) != TG_STAGE_IDLE || has_cause() ||
		tg_load_relaxed(&tg_collector_shared->visits_due) || tg_rank_sweep_is_due(&tg_collector_shared->rank_sweep) ||
		(is_sweeping && now >= tg_load_relaxed(&tg_collector_shared->sweep.at_ms)))
		wake_task(session, 0);
}

void
tg_collector_attach(void)
{
	for (unsigned i = 0; i < TG_COLLECTOR_TASKS; i++)
	{
		tg_collector_shared->submitted[i] = false;
		tg_task_init(&tg_collector_shared->tasks[i], run_turn, NULL);
	}
	tg_watcher_add(check, CHECK_INTERVAL_US);
}

void
tg_collector_report_get(tg_collector_report *report)
{
	static const char *const stage_names[] = {"idle", "gather", "prune", "prune", "epoch",
											  "free", "free",	"close", "tidy"};
	tg_stage stage = tg_cycle_stage(&tg_collector_shared->cycle);
	/* first: never more than given */
	uint64_t freed_pieces = tg_load_acquire(&tg_collector_shared->freed_pieces);

	*report = (tg_collector_report){
		.logs_waiting = tg_load_relaxed(&tg_collector_shared->given) - freed_pieces,
		.versions_held = tg_collector_held_for(TG_TIME_NEVER),
		.versions_removed = tg_load_relaxed(&tg_collector_shared->counts.versions_removed),
		.rows_closed = tg_load_relaxed(&tg_collector_shared->counts.rows_closed),
		.chunks_settled = tg_load_relaxed(&tg_collector_shared->sweep.chunks_settled),
		.chunks_freed = tg_load_relaxed(&tg_collector_shared->sweep.chunks_freed),
		.versions_moved = tg_load_relaxed(&tg_collector_shared->sweep.versions_moved),
		.cycles = tg_load_relaxed(&tg_collector_shared->cycle.number),
		.stage = stage_names[stage],
		.epoch_waits_ms = stage == TG_STAGE_EPOCH ? tg_now_ms() - tg_load_relaxed(&tg_collector_shared->epoch_ms) : 0,
		.horizon = tg_load_relaxed(&tg_collector_shared->horizon),
	};
}
