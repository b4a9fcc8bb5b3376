/*
 * latch.h
 *	  A small mutex in shared memory, for sections of a few instructions.
 *
 * Works between processes (a futex, without the private flag).  It is held only where neither an
 * error nor an interrupt can end the section, so only a crash can leave one held, and a crash
 * empties the arena.  In debug builds the ranks of the latches that a thread holds must strictly
 * grow; a mere try may break that, because it cannot wait.
 */
#ifndef TG_LATCH_H
#define TG_LATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Order of acquisition: a thread takes only a higher rank than it holds. */
typedef enum tg_rank
{
	TG_RANK_CATALOG = 1, /* storage tables by oid */
	TG_RANK_INDEX,		 /* keys of a unique index */
	TG_RANK_SHARED,		 /* transactions that a lease owns */
	TG_RANK_PRESERVE,	 /* the LONG transactions */
	TG_RANK_HOLD,		 /* what prepared transactions have read */
	TG_RANK_TABLE,		 /* a table's lists of chunks and rows */
	TG_RANK_ROW_LOCK,	 /* a part of the row locks */
	TG_RANK_COLLECTOR,	 /* garbage queues */
	TG_RANK_JOB,		 /* registry of jobs */
	TG_RANK_QUERY,		 /* the memory of a query */
	TG_RANK_CHANNEL,	 /* an output channel */
	TG_RANK_LANE,		 /* a lane's queue */
	TG_RANK_PROCESS,	 /* a native process' queue of events */
	TG_RANK_TIMER,		 /* the heap of timers */
	TG_RANK_SCHEDULER,	 /* workers' activation and distribution */
	TG_RANK_INBOX,		 /* a worker's inbox, the global queue */
	TG_RANK_SESSION,	 /* the table of sessions */
	TG_RANK_EPOCH,		 /* orphaned retirements */
	TG_RANK_REGISTRY,	 /* storage tables by id */
	TG_RANK_QUOTA,		 /* accounts of tables' bytes */
	TG_RANK_CLASS,		 /* one size class */
	TG_RANK_PAGES,		 /* the arena's pages */
	TG_RANK_LAST
} tg_rank;

typedef struct tg_latch
{
	uint32_t word; /* 0 free, 1 held, 2 held and waited for */
	uint32_t rank; /* tg_rank */
} tg_latch;

extern void tg_latch_init(tg_latch *latch, tg_rank rank);

/* Take and give back.  Any thread of any process; not recursive. */
extern void tg_latch_acquire(tg_latch *latch);
extern bool tg_latch_try(tg_latch *latch) __attribute__((warn_unused_result));
extern void tg_latch_release(tg_latch *latch);

#endif /* TG_LATCH_H */
