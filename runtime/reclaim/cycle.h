/*
 * cycle.h
 *	  The stages of a collection cycle and their participants; the last one to leave moves it on.
 *
 *	  IDLE --> GATHER --> PRUNE --> PRUNED --> EPOCH --> FREE --> FREED --> CLOSE --> TIDY --> IDLE
 *	           one        many      one        none      many     one       many      one
 *
 * A participant joins the present stage, does a quantum of its work, and leaves.  PRUNE, FREE and
 * CLOSE admit many participants.  Their work is a list of pieces of write logs; a participant takes
 * several pieces at a time, and puts back those that its quantum does not reach.  Such a stage is
 * over when no piece is left and no participant is in it; the participant that finds this on
 * leaving holds the next stage, as the only one, and prepares it.
 *
 * Nothing here waits: a participant that finds nothing to take leaves.
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
	uint64_t word TG_CACHE_ALIGNED;		 /* atomic: joins << 24 | participants << 8 | stage */
	tg_write_log *work TG_CACHE_ALIGNED; /* atomic: a stack; the holder of taking takes */
	uint32_t taking;					 /* atomic */
	uint64_t number;					 /* atomic: cycles begun */
	tg_write_log *done TG_CACHE_ALIGNED; /* atomic: a stack; the only one takes all */
} tg_cycle;

/* Joins the present stage and returns it; NONE if it has no work for one more participant now. */
extern tg_stage tg_cycle_join(tg_cycle *cycle);

/*
 * Leaves a stage that was joined.  The result, for a stage for many: the stage that the caller
 * holds now, as the last one to leave; otherwise NONE.
 */
extern tg_stage tg_cycle_leave(tg_cycle *cycle);

/* By the only participant of a stage for one: leaves it for another stage. */
extern void tg_cycle_move(tg_cycle *cycle, tg_stage next);

/* The present word, for tg_cycle_start. */
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
 * Moves from the stage of this word, IDLE or EPOCH, which have no participants, to the next one,
 * GATHER or FREE.  False if anything has happened since the caller loaded the word.
 */
extern bool tg_cycle_start(tg_cycle *cycle, uint64_t word);

/*
 * Takes pieces of the stage's work, linked by next, or NULL: one piece, and further ones as long as
 * those before have together fewer than so many entries left in their present blocks.
 */
extern tg_write_log *tg_cycle_take(tg_cycle *cycle, uint32_t entries);

/* Puts a piece to the work. */
extern void tg_cycle_put(tg_cycle *cycle, tg_write_log *piece);

/* Puts taken pieces back, at least one, still linked by next. */
extern void tg_cycle_put_back(tg_cycle *cycle, tg_write_log *pieces);

/* Puts a piece aside that this stage has finished. */
extern void tg_cycle_put_done(tg_cycle *cycle, tg_write_log *piece);

/* By the only participant: makes all that was put aside work again. */
extern void tg_cycle_turn_over(tg_cycle *cycle);

#endif /* TG_CYCLE_H */
