/*
 * distribute.h
 *	  The distributor, which hands work to sleeping workers; for the files of this room.
 */
#ifndef TG_DISTRIBUTE_H
#define TG_DISTRIBUTE_H

#include <stdbool.h>

#include "runtime/sched/worker.h"

/*
 * A worker that has found nothing calls this.  It becomes the distributor if there is none and one
 * is of use, and returns when it has given up that office.  True if there may be work for the
 * worker itself.  The worker counts as searching before and after.
 */
extern bool tg_distribute(tg_scheduler *scheduler, tg_worker *worker);

/* The main function of the distributor thread.  Returns after tg_distribute_end. */
extern void *tg_distribute_main(void *argument);

/* Called before that thread is created, and to let it return. */
extern void tg_distribute_prepare(void);
extern void tg_distribute_end(void);

#endif /* TG_DISTRIBUTE_H */
