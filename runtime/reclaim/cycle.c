/*
 * cycle.c
 *	  Stage and participants in one word; two stacks of pieces.
 *
 * 1. The stage changes only by a compare-and-swap that expects one participant, the one that does
 *	  it, or none (IDLE and EPOCH).  So a stage stays while any participant is in it, and a
 *	  participant that has left it can no longer change it.
 * 2. A participant that leaves a stage for many as the last one, having found the work empty, moves
 *	  the stage on in the same compare-and-swap.  Only participants put work, and none has joined
 *	  since: the word counts joins, because a session that joins, puts a piece back and leaves would
 *	  otherwise restore the word.  So the work is empty.  If the work was not empty, the stage
 *	  stays, perhaps without participants, and the next one to join continues it.
 * 3. A stage for many without participants may be joined even if its work is empty: the participant
 *	  leaves it, and thereby moves it on, at once.
 * 4. Every change of the word acquires and releases: the work of one stage happened before the work
 *	  of the next.
 * 5. A session that starts FREE has found before that an epoch is over.  It must be the epoch of
 *	  this cycle, although a whole cycle may have passed since.  So the caller loads the word first,
 *	  and the compare-and-swap expects that word: every cycle has joins, so its word is another one.
 *	  The number of the epoch is stored before the move to EPOCH releases the word; loaded after the
 *	  word was acquired, it is that of this cycle, or a later one's, and then the word has changed.
 * 6. taking is a try-lock, held over two loads and a compare-and-swap.  Because no other
 *	  participant takes pieces meanwhile, the top piece that was read, and those below it, cannot
 *	  have been taken and put again: there is no ABA.  A participant that finds it held takes
 *	  nothing.
 *
 * test/explore/explore_cycle.c tries every schedule of a few participants on this code.
 */
#include "runtime/reclaim/cycle.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/table/write_log.h"

#define STAGE_MASK ((uint64_t) 0xff) /* as tg_stage_of has it */
#define PARTICIPANT ((uint64_t) 1 << 8)
#define PARTICIPANTS ((uint64_t) 0xffff << 8)
#define JOIN ((uint64_t) 1 << 24)

static inline bool
is_for_many(tg_stage stage)
{
	return stage == TG_STAGE_PRUNE || stage == TG_STAGE_FREE || stage == TG_STAGE_CLOSE;
}

tg_stage
tg_cycle_join(tg_cycle *cycle)
{
	uint64_t word = tg_load_acquire(&cycle->word);

	for (;;)
	{
		tg_stage stage = tg_stage_of(word);
		bool is_empty = (word & PARTICIPANTS) == 0;

		if (stage == TG_STAGE_IDLE || stage == TG_STAGE_EPOCH)
			return TG_STAGE_NONE;
		if (!is_empty && (!is_for_many(stage) || tg_load_relaxed(&cycle->work) == NULL))
			return TG_STAGE_NONE;
		if (tg_cas_acq_rel(&cycle->word, &word, word + PARTICIPANT + JOIN))
			return stage;
	}
}

tg_stage
tg_cycle_leave(tg_cycle *cycle)
{
	uint64_t word = tg_load_acquire(&cycle->word);

	for (;;)
	{
		bool is_last = (word & PARTICIPANTS) == PARTICIPANT && is_for_many(tg_stage_of(word)) &&
					   tg_load_acquire(&cycle->work) == NULL;

		tg_assert((word & PARTICIPANTS) != 0);
		if (tg_cas_acq_rel(&cycle->word, &word, is_last ? word + 1 : word - PARTICIPANT))
			return is_last ? (tg_stage) (tg_stage_of(word) + 1) : TG_STAGE_NONE;
	}
}

void
tg_cycle_move(tg_cycle *cycle, tg_stage next)
{
	uint64_t word = tg_load_relaxed(&cycle->word);
	bool moved;

	tg_assert((word & PARTICIPANTS) == PARTICIPANT && !is_for_many(tg_stage_of(word)));
	moved = tg_cas_acq_rel(&cycle->word, &word, (word & ~(STAGE_MASK | PARTICIPANTS)) | next);
	tg_check(moved); /* nothing joins a stage for one */
}

bool
tg_cycle_start(tg_cycle *cycle, uint64_t word)
{
	tg_stage from = tg_stage_of(word);

	tg_assert((from == TG_STAGE_IDLE || from == TG_STAGE_EPOCH) && (word & PARTICIPANTS) == 0);
	if (!tg_cas_acq_rel(&cycle->word, &word, word + 1))
		return false;
	if (from == TG_STAGE_IDLE)
		tg_fetch_add_relaxed(&cycle->number, 1);
	return true;
}

/* --- pieces --------------------------------------------------------------- */

static void
push(tg_write_log **stack, tg_write_log *first, tg_write_log *last)
{
	tg_write_log *top = tg_load_relaxed(stack);

	do
		tg_store_relaxed(&last->next, top);
	/* the release pairs with the acquires in tg_cycle_take and tg_cycle_turn_over */
	while (!tg_cas_acq_rel(stack, &top, first));
}

static inline uint32_t
entries_at_hand(const tg_write_log *piece)
{
	return piece->at_block != NULL ? piece->at_block->count - piece->at_entry : 0;
}

/* The last piece to be taken together with this one, the first: see tg_cycle_take. */
static tg_write_log *
last_of(tg_write_log *piece, uint32_t entries)
{
	uint32_t at_hand = entries_at_hand(piece);
	tg_write_log *next;

	while (at_hand < entries && (next = tg_load_relaxed(&piece->next)) != NULL)
	{
		piece = next;
		at_hand += entries_at_hand(piece);
	}
	return piece;
}

tg_write_log *
tg_cycle_take(tg_cycle *cycle, uint32_t entries)
{
	tg_write_log *first;
	tg_write_log *last = NULL;

	if (tg_load_relaxed(&cycle->taking) != 0 || tg_exchange_acq_rel(&cycle->taking, 1) != 0)
		return NULL;
	first = tg_load_acquire(&cycle->work);
	tg_failpoint("cycle_take");
	do
	{
		if (first == NULL)
			break;
		last = last_of(first, entries);
	} while (!tg_cas_acq_rel(&cycle->work, &first, tg_load_relaxed(&last->next)));
	tg_store_release(&cycle->taking, 0);
	if (first != NULL)
		tg_store_relaxed(&last->next, NULL);
	return first;
}

void
tg_cycle_put(tg_cycle *cycle, tg_write_log *piece)
{
	push(&cycle->work, piece, piece);
}

void
tg_cycle_put_back(tg_cycle *cycle, tg_write_log *pieces)
{
	push(&cycle->work, pieces, last_of(pieces, UINT32_MAX));
}

void
tg_cycle_put_done(tg_cycle *cycle, tg_write_log *piece)
{
	push(&cycle->done, piece, piece);
}

void
tg_cycle_turn_over(tg_cycle *cycle)
{
	tg_assert(tg_load_relaxed(&cycle->work) == NULL);
	tg_store_release(&cycle->work, tg_exchange_acq_rel(&cycle->done, NULL));
}
