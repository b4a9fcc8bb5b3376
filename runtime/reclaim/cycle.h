/*
 * cycle.h
 *	  The stages of a collection cycle, and who is in them: last one out moves on.
 *
 *	  IDLE --> GATHER --> PRUNE --> PRUNED --> EPOCH --> FREE --> FREED --> CLOSE --> TIDY --> IDLE
 *	           one        many      one        nobody    many     one       many      one
 *
 * A participant joins the present stage, does a quantum of its work, and leaves.
 * Many may be in PRUNE, FREE and CLOSE; their work is a list of pieces of write
 * logs, each taken by one of them, several at a time, who puts back what the quantum ends before.  The
 * stage is over when no piece is left and nobody is in it; who finds that, on leaving,
 * holds the next stage, as the only one, and prepares it.
 *
 * Nothing here waits, and nobody waits for anything here: a participant that
 * finds nothing to take goes.
 */
#ifndef TG_CYCLE_H
#define TG_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/table/write_log.h"

typedef enum tg_stage
{
	TG_STAGE_IDLE,
	TG_STAGE_GATHER,
	TG_STAGE_PRUNE,
	TG_STAGE_PRUNED,
	TG_STAGE_EPOCH,
	TG_STAGE_FREE,
	TG_STAGE_FREED,
	TG_STAGE_CLOSE,
	TG_STAGE_TIDY,
	TG_STAGE_NONE /* not joined */
} tg_stage;

/* In the arena; all zero is IDLE.  Any session. */
typedef struct tg_cycle
{
	uint64_t word TG_CACHE_ALIGNED;		 /* atomic: joins so far << 24 | participants << 8 | stage */
	tg_write_log *work TG_CACHE_ALIGNED; /* atomic: a stack; anybody puts, who holds taking takes */
	uint32_t taking;					 /* atomic */
	uint64_t number;					 /* atomic: cycles begun */
	tg_write_log *done TG_CACHE_ALIGNED; /* atomic: a stack; anybody puts, the only one takes all */
} tg_cycle;

/* The stage that was joined; NONE if there is nothing to be done in it now by one more. */
extern tg_stage tg_cycle_join(tg_cycle *cycle);

/*
 * Leaves a stage that was joined.  Of one for many: the stage that the caller
 * holds now, because it was the last one out; else NONE.
 */
extern tg_stage tg_cycle_leave(tg_cycle *cycle);

/* By the only participant of a stage for one: leaves it, for another stage. */
extern void tg_cycle_move(tg_cycle *cycle, tg_stage next);

/* The word of now, for tg_cycle_start. */
static inline uint64_t
tg_cycle_look(const tg_cycle *cycle)
{
	return tg_load_acquire(&cycle->word);
}

static inline tg_stage
tg_stage_of(uint64_t word)
{
	return (tg_stage) (word & 0xff);
}

static inline tg_stage
tg_cycle_stage(const tg_cycle *cycle)
{
	return tg_stage_of(tg_cycle_look(cycle));
}

/*
 * From the stage of this word, IDLE or EPOCH, which no participant is in, to the next one, GATHER or
 * FREE.  False if anything has happened since the caller looked at the word.
 */
extern bool tg_cycle_start(tg_cycle *cycle, uint64_t word);

/*
 * Pieces of the stage's work, linked by next, or NULL: one, and further ones as long as those before have fewer than
 * so many entries at hand, in the blocks that they are at.
 */
extern tg_write_log *tg_cycle_take(tg_cycle *cycle, uint32_t entries);

/* Puts a piece there for whoever comes next. */
extern void tg_cycle_put(tg_cycle *cycle, tg_write_log *piece);

/* Puts pieces back that were taken, at least one, linked by next as they were. */
extern void tg_cycle_put_back(tg_cycle *cycle, tg_write_log *pieces);

/* Puts a piece aside that this stage is done with. */
extern void tg_cycle_put_done(tg_cycle *cycle, tg_write_log *piece);

/* By the only one: what was put aside is work again. */
extern void tg_cycle_turn_over(tg_cycle *cycle);

#endif /* TG_CYCLE_H */
