/*
 * collector.c
 *	  From the logs of transactions that have ended to free memory, in cycles.
 *
 * What a cycle does in its stages (cycle.h), cut into quanta; whoever has time joins:
 *
 *	GATHER	who reads at which times (readings); then the logs that have been given, into
 *			the order of C, and those up to the readings' bound are the cycle's work,
 *			with the entries whose keepers have gone, and rolled-back logs
 *	PRUNE	unlinks what is garbage (prune.c)
 *	PRUNED	notes the epoch;  EPOCH waits until it is over
 *	FREE	blobs and slots of replaced versions, and what was rolled back;
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
 * 1. When the bound gathered is B, every log with C <= B has been given (horizon.c, 9),
 *	  and every version with an end at or below B is stamped.  The inbox is emptied after that.
 * 2. An entry that is kept for somebody who reads (G3) is filed under the lowest
 *	  point within its version's time, its keeper.  Points are published afresh only above
 *	  the bound, so as long as its keeper is published the version stays, and when it is not
 *	  the entry is at hand again: prune.c, 8.  Where that is not possible (no
 *	  memory to file it, too many keepers) the whole piece is a stray, and comes up each cycle.
 * 3. A dead version that waits for another transaction (open) is tried again if something
 *	  has come since that may have helped: a log with other things than inserts.  And
 *	  only if an eighth as many entries were worked on as are open, or a second has passed: so it
 *	  costs a constant share.
 * 4. Nothing in PRUNE, FREE and CLOSE allocates, so a short memory does not stop them.
 * 5. A row is pruned by one participant at a time: by whoever gets its part of the row
 *	  guards.  Who does not puts the piece back and leaves.
 * 6. Participants are in an epoch within a quantum, never between two; but EPOCH begins when
 *	  all have left PRUNE.
 *
 * Sweeps (sweep.c) go on beside, by whoever finds nothing to join.
 *
 * When nothing is given, nothing waits, and the clock stands still, the
 * watcher's check reads a few words and the tasks stay parked.
 *
 * Left out: skipping the garbage of dropped tables.  Departures from runtime.md: a log is
 * given when its transaction ends, so no session has to be asked for it, and none keeps one;
 * and no ticket takes a quantum from a participant that was put to sleep in it, because all participants
 * run at normal priority: they come back.
 */
#include "runtime/storage/collector.h"

#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/scheduler.h"
#include "runtime/storage/collector_internal.h"
#include "runtime/storage/cycle.h"
#include "runtime/storage/horizon.h"
#include "runtime/storage/preserve.h"
#include "runtime/storage/tax.h"

#define TASKS 8					/* that may be at it in the pool */
#define GIVEN_MAX 4096			/* pieces of logs: more than that, and sessions open cycles themselves */
#define CHECK_INTERVAL_US 10000 /* of the watcher's check */
#define WAIT_MS_MIN 10			/* look again at who reads, if something waits for that: at first, */
#define WAIT_MS_MAX 1000		/* and at last */
#define OPEN_SHARE 8			/* of open entries, to be worked on before these are tried again */
#define OPEN_MS_MAX 1000		/* but no longer than this after something may have helped them */
#define NEVER_MS UINT64_MAX
#define KEEPERS_MAX 64
#define FILED_ENTRIES_MAX 4096 /* of a piece with filed entries: one participant's at a time */
#define ROW_GUARDS 1024
#define ROOM_BUDGET 4096
#define GUARD_COST 16 /* of finding a row guarded: the quantum had better end */

typedef struct keeper
{
	tg_time point;		 /* atomic */
	uint64_t count;		 /* atomic: entries */
	tg_write_log *filed; /* a stack of pieces */
} keeper;

/* In the arena. */
typedef struct collector
{
	tg_cycle cycle;

	tg_write_log *inbox TG_CACHE_ALIGNED; /* atomic: a stack; any session pushes, GATHER takes all */
	uint64_t pieces;					  /* atomic: given and not yet freed */
	uint64_t given;						  /* atomic: since a cycle last looked, about */

	tg_write_log *kept TG_CACHE_ALIGNED; /* atomic: a stack; of FREE and CLOSE for TIDY */
	bool helped;						 /* atomic: something has happened that may help open entries */
	uint64_t worked;					 /* atomic: entries worked on since these were tried */
	uint64_t cycle_worked;				 /* atomic: in this cycle */
	bool progress;						 /* atomic: in this cycle something was not there for nothing */
	bool freed;							 /* atomic: in this cycle slots were given back */

	/* of the only one in GATHER, PRUNED and TIDY; readings is constant in between */
	tg_readings readings TG_CACHE_ALIGNED;
	bool gathering;			/* the readings are this cycle's */
	tg_write_log *incoming; /* taken from the inbox, oldest first */
	tg_write_log *waiting;	/* committed, ascending by ended */
	tg_write_log *waiting_last;
	bool has_due;
	tg_write_log *due; /* taken out of these for this cycle: the last one, then by previous */
	tg_write_log *strays;
	tg_write_log *open;	  /* a stack of pieces with filed entries */
	uint64_t open_count;  /* entries of these */
	uint64_t helped_ms;	  /* since when; 0: not */
	tg_write_log *filing; /* TIDY has got so far */
	keeper keepers[KEEPERS_MAX];
	unsigned keeper_count; /* atomic */
	uint64_t epoch;		   /* atomic: in which the cycle's garbage was unlinked */
	uint64_t epoch_ms;	   /* atomic: when */
	unsigned wait_ms;
	uint64_t wake_ms; /* atomic: when to run though nothing was given; NEVER_MS */
	tg_time horizon;  /* atomic, for views */

	uint32_t sweeping TG_CACHE_ALIGNED; /* atomic: somebody sweeps */
	tg_sweep sweep;

	tg_prune_counts counts TG_CACHE_ALIGNED;
	uint32_t row_guards[ROW_GUARDS] TG_CACHE_ALIGNED; /* atomic: by hash of table and row */

	/* the first's are the watcher's, each other one's those of the task before */
	tg_task tasks[TASKS] TG_CACHE_ALIGNED;
	bool submitted[TASKS];
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
	return tg_tax_create();
}

/* --- giving --------------------------------------------------------------- */

static void
push(tg_write_log **stack, tg_write_log *first, tg_write_log *last)
{
	tg_write_log *top = tg_load_relaxed(stack);

	do
		tg_store_relaxed(&last->next, top);
	while (!tg_cas_acq_rel(stack, &top, first)); /* the release pairs with the exchange of whoever takes all */
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
	tg_fetch_add_relaxed(&shared->pieces, count);
	tg_fetch_add_relaxed(&shared->given, count);
	push(&shared->inbox, log, oldest);
}

static void
destroy_piece(tg_session *session, tg_write_log *piece)
{
	piece->below = NULL;
	tg_write_log_destroy(session, piece);
	tg_fetch_add_relaxed(&shared->pieces, (uint64_t) -1);
}

static void
piece_rewind(tg_write_log *piece)
{
	piece->at_block = &piece->first;
	piece->at_entry = 0;
}

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

static inline void
spend(unsigned *budget, unsigned cost)
{
	*budget -= cost < *budget ? cost : *budget;
}

/* --- gathering ------------------------------------------------------------ */

static void
put_to_work(tg_write_log *piece)
{
	piece->below = NULL;
	piece->garbage = 0;
	piece->rows = 0;
	piece->kept = 0;
	piece_rewind(piece);
	tg_cycle_put(&shared->cycle, piece);
}

static void
put_all_to_work(tg_write_log **filed)
{
	while (*filed != NULL)
	{
		tg_write_log *piece = *filed;

		*filed = piece->below;
		put_to_work(piece);
	}
}

/* Views read both meanwhile. */
static void
move_keeper(keeper *to, const keeper *from)
{
	tg_store_relaxed(&to->point, from->point);
	tg_store_relaxed(&to->count, from->count);
	to->filed = from->filed;
}

/* What has been filed and may go now. */
static void
call_filed(void)
{
	unsigned left = 0;
	bool is_helped = tg_load_relaxed(&shared->helped);

	for (unsigned i = 0; i < shared->keeper_count; i++)
	{
		keeper *keeper = &shared->keepers[i];
		unsigned place = tg_readings_from(&shared->readings, keeper->point);

		if (place < shared->readings.count && shared->readings.point[place] == keeper->point)
			move_keeper(&shared->keepers[left++], keeper);
		else
			put_all_to_work(&keeper->filed);
	}
	tg_store_relaxed(&shared->keeper_count, left);
	put_all_to_work(&shared->strays);

	if (is_helped && shared->helped_ms == 0)
		shared->helped_ms = tg_now_ms();
	if (is_helped && shared->open != NULL &&
		(tg_load_relaxed(&shared->worked) >= shared->open_count / OPEN_SHARE ||
		 tg_now_ms() >= shared->helped_ms + OPEN_MS_MAX))
	{
		tg_store_relaxed(&shared->helped, false);
		tg_store_relaxed(&shared->worked, 0);
		shared->helped_ms = 0;
		shared->open_count = 0;
		put_all_to_work(&shared->open);
	}
}

static void
take_inbox(void)
{
	tg_write_log *newest = tg_exchange_acq_rel(&shared->inbox, NULL);

	while (newest != NULL)
	{
		tg_write_log *next = tg_load_relaxed(&newest->next);

		newest->next = shared->incoming;
		shared->incoming = newest;
		newest = next;
	}
}

/* Logs come nearly in order of C, and of one transaction the older piece first. */
static void
sort_in(tg_session *session, tg_write_log *piece)
{
	tg_write_log *after = shared->waiting_last;

	piece->below = NULL;
	if (!piece->lasting)
		tg_store_relaxed(&shared->helped, true);
	if (piece->ended == 0)
	{
		put_to_work(piece);
		return;
	}
	if (piece->lasting)
	{
		destroy_piece(session, piece);
		return;
	}
	while (after != NULL && after->ended > piece->ended)
		after = after->previous;
	piece->previous = after;
	piece->next = after != NULL ? after->next : shared->waiting;
	*(after != NULL ? &after->next : &shared->waiting) = piece;
	*(piece->next != NULL ? &piece->next->previous : &shared->waiting_last) = piece;
}

/* Takes all up to a piece (or none) out of those that wait; what is the first then. */
static tg_write_log *
waiting_after(tg_write_log *due)
{
	tg_write_log *first = due != NULL ? due->next : shared->waiting;

	if (first != NULL)
		first->previous = NULL;
	else
		shared->waiting_last = NULL;
	return first;
}

/* True when done. */
static bool
gather(tg_session *session, unsigned *budget)
{
	if (!shared->gathering)
	{
		shared->gathering = true;
		tg_store_relaxed(&shared->progress, false);
		tg_store_relaxed(&shared->cycle_worked, 0);
		tg_store_relaxed(&shared->given, 0);
		tg_store_relaxed(&shared->freed, false);
		tg_readings_gather(&shared->readings); /* first: 1 */
		tg_store_relaxed(&shared->horizon, shared->readings.horizon);
		tg_failpoint("collector_gathered");
		take_inbox();
		call_filed();
	}
	while (*budget > 0 && shared->incoming != NULL)
	{
		tg_write_log *piece = shared->incoming;

		shared->incoming = piece->next;
		tg_store_relaxed(&shared->progress, true);
		sort_in(session, piece);
		spend(budget, 1);
	}
	/* The newest first, so that the oldest is on top: what is below goes before what is above. */
	if (*budget > 0 && !shared->has_due)
	{
		shared->due = shared->waiting_last;
		while (shared->due != NULL && shared->due->ended > shared->readings.bound)
			shared->due = shared->due->previous;
		shared->waiting = waiting_after(shared->due);
		shared->has_due = true;
	}
	while (*budget > 0 && shared->due != NULL)
	{
		tg_write_log *piece = shared->due;

		shared->due = piece->previous;
		put_to_work(piece);
		spend(budget, 1);
	}
	if (*budget == 0)
		return false;
	shared->gathering = false;
	shared->has_due = false;
	return true;
}

/* --- pruning -------------------------------------------------------------- */

static uint32_t *
row_guard(const tg_log_entry *entry)
{
	uint64_t hash = (uint64_t) (uintptr_t) tg_version_chunk(entry->version)->table * 0x9e3779b97f4a7c15 + entry->count;

	return &shared->row_guards[(hash ^ hash >> 32) % ROW_GUARDS];
}

/* False if somebody else prunes the row, or one beside it. */
static bool
prune_guarded(tg_session *session, tg_log_entry *entry)
{
	uint32_t *guard = row_guard(entry);

	if (tg_load_relaxed(guard) != 0 || tg_exchange_acq_rel(guard, 1) != 0)
		return false;
	tg_failpoint("collector_prune");
	tg_prune_entry(session, entry, &shared->readings, &shared->counts);
	tg_store_release(guard, 0);
	return true;
}

static void
count_pruned(tg_write_log *piece, const tg_log_entry *entry)
{
	switch (entry->kind)
	{
		case TG_GARBAGE_NONE:
			break;
		case TG_GARBAGE_DEAD:
		case TG_GARBAGE_ROW:
			tg_store_relaxed(&shared->helped, true); /* what is above it */
			piece->rows++;
			piece->garbage++;
			break;
		case TG_GARBAGE_RUN:
			piece->garbage++;
			break;
		default:
			piece->kept++;
			break;
	}
}

/* Prunes entries of a piece; true if it got to the end. */
static bool
prune_piece(tg_session *session, tg_write_log *piece, unsigned *budget)
{
	tg_log_entry *entry;

	if (piece->ended == 0)
	{
		piece->garbage = 1; /* or none: it does not matter which */
		return true;
	}
	while (*budget > 0 && (entry = next_entry(piece)) != NULL)
	{
		unsigned cost = entry->kind == TG_WRITE_UPDATE ? 1 : TG_ROW_COST;

		switch (entry->kind)
		{
			case TG_WRITE_REVIVE:
				tg_store_relaxed(&shared->helped, true);
				entry->kind = TG_GARBAGE_NONE;
				break;
			case TG_WRITE_INSERT:
				entry->kind = TG_GARBAGE_NONE;
				break;
			case TG_GARBAGE_NONE:
				break;
			case TG_WRITE_UNDONE_ROW:
			case TG_WRITE_UNDONE_VERSION:
				entry->kind = entry->kind == TG_WRITE_UNDONE_ROW ? TG_GARBAGE_ROW : TG_GARBAGE_DEAD;
				count_pruned(piece, entry);
				break;
			default:
				if (!prune_guarded(session, entry))
				{
					piece->at_entry--;
					spend(budget, GUARD_COST);
					return false;
				}
				count_pruned(piece, entry);
				break;
		}
		spend(budget, cost);
	}
	return *budget > 0;
}

static void
prune(tg_session *session, unsigned *budget)
{
	tg_write_log *piece;

	while (*budget > 0 && (piece = tg_cycle_take(&shared->cycle)) != NULL)
	{
		unsigned before = *budget;
		bool is_done;

		tg_epoch_enter(session);
		is_done = prune_piece(session, piece, budget);
		tg_epoch_leave(session);
		tg_fetch_add_relaxed(&shared->worked, before - *budget);
		tg_fetch_add_relaxed(&shared->cycle_worked, before - *budget);
		if (!is_done)
		{
			tg_cycle_put(&shared->cycle, piece);
			return;
		}
		spend(budget, 1);
		if (piece->garbage > 0)
			tg_store_relaxed(&shared->progress, true);
		piece_rewind(piece);
		if (piece->garbage > 0 || piece->kept > 0)
			tg_cycle_put_done(&shared->cycle, piece);
		else
			destroy_piece(session, piece);
	}
}

/* --- freeing -------------------------------------------------------------- */

/* Frees entries of a piece; true if it got to the end. */
static bool
free_piece(tg_session *session, tg_write_log *piece, bool runs, unsigned *budget)
{
	tg_log_entry *entry;

	if (piece->garbage == 0)
		return true;
	while (*budget > 0 && (entry = next_entry(piece)) != NULL)
		spend(budget, piece->ended == 0 ? tg_free_undone(session, entry, &shared->counts)
										: tg_free_pruned(session, entry, runs, &shared->counts));
	return *budget > 0;
}

/* FREE and CLOSE. */
static void
free_all(tg_session *session, bool runs, unsigned *budget)
{
	tg_write_log *piece;

	while (*budget > 0 && (piece = tg_cycle_take(&shared->cycle)) != NULL)
	{
		unsigned before = *budget;
		bool is_done;

		tg_epoch_enter(session);
		is_done = free_piece(session, piece, runs, budget);
		tg_epoch_leave(session);
		tg_fetch_add_relaxed(&shared->cycle_worked, before - *budget);
		tg_store_relaxed(&shared->freed, true);
		if (!is_done)
		{
			tg_cycle_put(&shared->cycle, piece);
			return;
		}
		spend(budget, 1);
		piece_rewind(piece);
		if (runs && piece->rows > 0)
			tg_cycle_put_done(&shared->cycle, piece);
		else if (piece->kept > 0)
		{
			piece->garbage = 0;
			push(&shared->kept, piece, piece);
		}
		else
			destroy_piece(session, piece);
	}
}

/* --- filing --------------------------------------------------------------- */

/* Where the entry is to be filed, or NULL. */
static tg_write_log **
file_for(const tg_log_entry *entry)
{
	unsigned number;
	tg_time point;

	if (entry->kind == TG_GARBAGE_OPEN)
	{
		shared->open_count++;
		return &shared->open;
	}
	point = tg_prune_keeper(entry, &shared->readings);
	if (point == 0)
		return NULL;
	for (number = 0; number < shared->keeper_count && shared->keepers[number].point != point; number++)
		;
	if (number == KEEPERS_MAX)
		return NULL;
	if (number == shared->keeper_count)
	{
		move_keeper(&shared->keepers[number], &(keeper){.point = point});
		tg_store_relaxed(&shared->keeper_count, number + 1);
	}
	tg_store_relaxed(&shared->keepers[number].count, shared->keepers[number].count + 1);
	return &shared->keepers[number].filed;
}

static bool
file_entry(tg_session *session, tg_log_entry *entry)
{
	tg_write_log **file = file_for(entry);
	tg_write_log *top;

	if (file == NULL)
		return false;
	top = *file;
	if (tg_write_log_carry(session, file, tg_version_chunk(entry->version)->table, entry) != TG_OK)
		return false;
	if (*file != top)
	{
		(*file)->ended = TG_TIME_FIRST;
		tg_fetch_add_relaxed(&shared->pieces, 1);
	}
	if (++(*file)->kept >= FILED_ENTRIES_MAX)
		(*file)->sealed = true;
	entry->kind = TG_GARBAGE_NONE;
	return true;
}

/* True when done. */
static bool
tidy(tg_session *session, unsigned *budget)
{
	if (shared->filing == NULL)
		shared->filing = tg_exchange_acq_rel(&shared->kept, NULL);
	while (shared->filing != NULL)
	{
		tg_write_log *piece = shared->filing;
		bool is_stray = false;
		tg_log_entry *entry;

		while (*budget > 0 && (entry = next_entry(piece)) != NULL)
		{
			if (entry->kind == TG_WRITE_UPDATE || entry->kind == TG_WRITE_DELETE || entry->kind == TG_GARBAGE_OPEN)
				is_stray |= !file_entry(session, entry);
			spend(budget, 1);
		}
		piece->garbage |= is_stray; /* over several quanta */
		if (*budget == 0)
			return false;
		spend(budget, 1);
		shared->filing = tg_load_relaxed(&piece->next);
		if (piece->garbage != 0)
		{
			piece->below = shared->strays;
			shared->strays = piece;
		}
		else
			destroy_piece(session, piece);
	}
	return true;
}

/* Sets when to look again though nothing has been given. */
static void
set_alarm(void)
{
	uint64_t now = tg_now_ms();
	uint64_t wake = NEVER_MS;

	if (tg_load_relaxed(&shared->progress))
		shared->wait_ms = WAIT_MS_MIN;
	if (shared->open != NULL && tg_load_relaxed(&shared->helped))
		wake = now + OPEN_MS_MAX;
	if (!tg_preserve_is_empty() && now + WAIT_MS_MAX < wake)
		wake = now + WAIT_MS_MAX; /* entries of LONGs that have ended leave when a horizon is computed */
	if (shared->waiting != NULL || shared->strays != NULL || shared->keeper_count > 0)
	{
		wake = now + shared->wait_ms < wake ? now + shared->wait_ms : wake;
		shared->wait_ms = shared->wait_ms * 2 < WAIT_MS_MAX ? shared->wait_ms * 2 : WAIT_MS_MAX;
	}
	tg_store_relaxed(&shared->wake_ms, wake);
}

/* --- a cycle -------------------------------------------------------------- */

/* To the stage's next one for many, or to the end if there is nothing for it. */
static tg_stage
go_on(tg_stage next)
{
	if (tg_load_relaxed(&shared->cycle.work) == NULL)
		next = TG_STAGE_TIDY;
	tg_cycle_move(&shared->cycle, next);
	return next;
}

/* What the last one out of a stage does. */
static void
prepare(tg_stage stage)
{
	switch (stage)
	{
		case TG_STAGE_PRUNED:
			tg_failpoint("collector_pruned");
			tg_cycle_turn_over(&shared->cycle);
			tg_store_relaxed(&shared->epoch, tg_epoch_now());
			tg_store_relaxed(&shared->epoch_ms, tg_now_ms());
			(void) go_on(TG_STAGE_EPOCH);
			break;
		case TG_STAGE_FREED:
			tg_failpoint("collector_freed");
			tg_cycle_turn_over(&shared->cycle);
			(void) go_on(TG_STAGE_CLOSE);
			break;
		case TG_STAGE_TIDY:
			tg_cycle_move(&shared->cycle, TG_STAGE_TIDY); /* for whoever comes next */
			break;
		default:
			tg_assert(stage == TG_STAGE_NONE);
			break;
	}
}

/* Does some of the work of the stage that was joined, and leaves it. */
static void
participate(tg_session *session, tg_stage stage, unsigned *budget)
{
	switch (stage)
	{
		case TG_STAGE_GATHER:
			if (gather(session, budget))
			{
				(void) go_on(TG_STAGE_PRUNE);
				return;
			}
			break;
		case TG_STAGE_PRUNE:
			prune(session, budget);
			break;
		case TG_STAGE_FREE:
		case TG_STAGE_CLOSE:
			free_all(session, stage == TG_STAGE_FREE, budget);
			break;
		default:
			tg_assert(stage == TG_STAGE_TIDY);
			if (tidy(session, budget))
			{
				if (tg_load_relaxed(&shared->freed))
					tg_store_relaxed(&shared->sweep.dirty, true);
				set_alarm();
				tg_tax_cycle_ended(tg_load_relaxed(&shared->cycle_worked));
				tg_cycle_move(&shared->cycle, TG_STAGE_IDLE);
				return;
			}
			break;
	}
	prepare(tg_cycle_leave(&shared->cycle));
}

static bool
is_confirmed(uint64_t epoch)
{
	if (tg_load_acquire(tg_epoch_global) == epoch)
		tg_epoch_advance();
	return tg_epoch_confirmed() > epoch;
}

/* Something has been given, or is filed and may have become free. */
static bool
has_cause(void)
{
	return tg_load_relaxed(&shared->inbox) != NULL || tg_now_ms() >= tg_load_relaxed(&shared->wake_ms);
}

/*
 * Works on the cycle while there is something for one more to do.  If it may, it
 * opens one, and further ones while they lead to something.
 */
static void
run(tg_session *session, bool may_open, unsigned *budget)
{
	bool has_opened = false;

	while (*budget > 0)
	{
		tg_stage stage = tg_cycle_join(&shared->cycle);

		if (stage != TG_STAGE_NONE)
		{
			unsigned before = *budget;

			participate(session, stage, budget);
			if (*budget == before && tg_cycle_stage(&shared->cycle) == stage)
				return; /* others have it all */
			continue;
		}
		stage = tg_cycle_stage(&shared->cycle);
		if (stage == TG_STAGE_IDLE && may_open &&
			(!has_opened || tg_load_relaxed(&shared->inbox) != NULL || tg_load_relaxed(&shared->progress)))
		{
			has_opened = true;
			(void) tg_cycle_start(&shared->cycle, TG_STAGE_IDLE);
		}
		else if (stage == TG_STAGE_EPOCH && is_confirmed(tg_load_relaxed(&shared->epoch)))
			(void) tg_cycle_start(&shared->cycle, TG_STAGE_EPOCH);
		else
			return;
	}
}

static bool
sweep(tg_session *session, unsigned budget)
{
	bool more = false;

	if (tg_load_relaxed(&shared->sweeping) != 0 || tg_exchange_acq_rel(&shared->sweeping, 1) != 0)
		return false;
	if (tg_sweep_is_due(&shared->sweep))
		more = tg_sweep_run(session, &shared->sweep, budget);
	tg_store_relaxed(&shared->sweep.unfinished, tg_sweep_is_unfinished(&shared->sweep));
	tg_store_release(&shared->sweeping, 0);
	return more;
}

unsigned
tg_collector_quantum(tg_session *session, unsigned budget, bool may_open, bool *more_out)
{
	unsigned left = budget;

	tg_assert(!tg_epoch_inside(session));
	run(session, may_open, &left);
	*more_out = left == 0;
	if (left > 0)
	{
		tg_retire_poll(session);
		tg_preserve_tidy(session);
		if (sweep(session, left))
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
tg_collector_has_work(void)
{
	tg_stage stage = tg_cycle_stage(&shared->cycle);

	if (tg_unlikely(tg_load_relaxed(&shared->given) > GIVEN_MAX))
	{
		if (stage == TG_STAGE_IDLE)
			(void) tg_cycle_start(&shared->cycle, TG_STAGE_IDLE);
		else if (stage == TG_STAGE_EPOCH && is_confirmed(tg_load_relaxed(&shared->epoch)))
			(void) tg_cycle_start(&shared->cycle, TG_STAGE_EPOCH);
	}
	return stage != TG_STAGE_IDLE && stage != TG_STAGE_EPOCH;
}

bool
tg_collector_make_room(tg_session *session)
{
	uint64_t removed = tg_load_relaxed(&shared->counts.versions_removed);
	uint64_t freed = tg_load_relaxed(&shared->sweep.chunks_freed);
	bool more;

	tg_store_relaxed(&shared->sweep.at_ms, 0);
	(void) tg_collector_quantum(session, ROOM_BUDGET, true, &more);
	if (!more && tg_cycle_stage(&shared->cycle) != TG_STAGE_IDLE)
		sched_yield(); /* somebody else is at it, or inside an epoch */
	return more || tg_cycle_stage(&shared->cycle) != TG_STAGE_IDLE ||
		   tg_load_relaxed(&shared->counts.versions_removed) != removed ||
		   tg_load_relaxed(&shared->sweep.chunks_freed) != freed;
}

/* --- the pool ------------------------------------------------------------- */

static void
wake_task(tg_session *session, unsigned number)
{
	if (shared->submitted[number])
		tg_task_unpark(session, &shared->tasks[number]);
	else
		shared->submitted[number] = tg_task_submit(session, NULL, &shared->tasks[number]) == TG_OK;
}

/*
 * One quantum; then other tasks of the pool have their turn.  The task of the
 * next number joins if there is enough for it, too; only this one wakes it.
 */
static tg_turn
run_turn(tg_task *task, tg_worker *worker)
{
	unsigned number = (unsigned) (task - shared->tasks);
	tg_session *session = tg_worker_session(worker);

	if (!tg_tax_work(session))
		return TG_TURN_PARK;
	if (number + 1 < TASKS && tg_load_relaxed(&shared->cycle.work) != NULL)
		wake_task(session, number + 1);
	return TG_TURN_AGAIN;
}

/* An unparking too many, or one that comes while the task is at work, does no harm. */
static void
check(tg_session *session)
{
	uint64_t now = tg_now_ms();
	bool clock_moved = tg_load_relaxed(tg_clock) != tg_load_relaxed(&shared->sweep.clock);
	bool is_sweeping = clock_moved || tg_load_relaxed(&shared->sweep.unfinished);

	if (tg_failpoint_refuses("collector_pool"))
		return; /* sessions collect, or nobody */
	if (tg_cycle_stage(&shared->cycle) != TG_STAGE_IDLE || has_cause() ||
		(is_sweeping && now >= tg_load_relaxed(&shared->sweep.at_ms)))
		wake_task(session, 0);
}

void
tg_collector_attach(void)
{
	for (unsigned i = 0; i < TASKS; i++)
	{
		shared->submitted[i] = false;
		tg_task_init(&shared->tasks[i], run_turn, NULL);
	}
	tg_watcher_add(check, CHECK_INTERVAL_US);
}

uint64_t
tg_collector_held_for(tg_time time)
{
	unsigned count = tg_load_relaxed(&shared->keeper_count);
	uint64_t held = 0;

	for (unsigned i = 0; i < count; i++)
	{
		if (time == TG_TIME_NEVER || tg_load_relaxed(&shared->keepers[i].point) == time)
			held += tg_load_relaxed(&shared->keepers[i].count);
	}
	return held;
}

void
tg_collector_report_get(tg_collector_report *report)
{
	static const char *const stage_names[] = {"idle", "gather", "prune", "prune", "epoch",
											  "free", "free",	"close", "tidy"};
	tg_stage stage = tg_cycle_stage(&shared->cycle);

	*report = (tg_collector_report){
		.logs_waiting = tg_load_relaxed(&shared->pieces),
		.versions_held = tg_collector_held_for(TG_TIME_NEVER),
		.versions_removed = tg_load_relaxed(&shared->counts.versions_removed),
		.rows_closed = tg_load_relaxed(&shared->counts.rows_closed),
		.chunks_settled = tg_load_relaxed(&shared->sweep.chunks_settled),
		.chunks_freed = tg_load_relaxed(&shared->sweep.chunks_freed),
		.cycles = tg_load_relaxed(&shared->cycle.number),
		.stage = stage_names[stage],
		.epoch_waits_ms = stage == TG_STAGE_EPOCH ? tg_now_ms() - tg_load_relaxed(&shared->epoch_ms) : 0,
		.horizon = tg_load_relaxed(&shared->horizon),
	};
}
