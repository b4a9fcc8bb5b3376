/*
 * distribute.h
 *	  Who hands work to sleepers; for the files of this room.
 */
#ifndef TG_DISTRIBUTE_H
#define TG_DISTRIBUTE_H

#include <stdbool.h>

#include "runtime/sched/worker.h"

/*
 * A worker that has found nothing becomes the distributor, if there is none and
 * one is of use, and returns when it has ceased to be that.  True if there may
 * be work for itself.  Searching before and after.
 */
extern bool tg_distribute(tg_scheduler *scheduler, tg_worker *worker);

/* The main function of the thread that does nothing else.  Returns after tg_distribute_end. */
extern void *tg_distribute_main(void *argument);

/* Before that thread is created, and to let it return. */
extern void tg_distribute_prepare(void);
extern void tg_distribute_end(void);

#endif /* TG_DISTRIBUTE_H */
