/*
 * load_spread.h
 *	  Pieces of a load's work, spread over the threads of the pool.
 */
#ifndef TG_LOAD_SPREAD_H
#define TG_LOAD_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/status.h"
#include "runtime/durable/load.h"

typedef struct tg_load_work
{
	void *context;
	size_t count; /* pieces; they are begun in this order */

	/*
	 * Does a few milliseconds of a piece, with the session of the thread that has it at the moment.
	 * *state_inout is NULL at first, and the piece's own.  TG_AGAIN: there is more; TG_OK: it is
	 * done, or has ended in a way that concerns no other piece; another status ends the work.
	 * Outside an epoch.
	 */
	tg_status (*step)(void *context, size_t piece, tg_session *session, void **state_inout);

	/* Ends a piece that will not be gone on with, and has a state. */
	void (*drop)(void *context, tg_session *session, void *state);
} tg_load_work;

/*
 * Does all pieces; by tasks of the pool, if it runs, while the calling thread asks config->go_on,
 * or by that thread alone.  TG_CANCELLED: go_on has said so; else the first status that has ended
 * the work.  Nothing runs any more on return.
 */
extern tg_status tg_load_spread(tg_session *session, const tg_load_config *config,
								const tg_load_work *work) TG_MUST_USE;

#endif /* TG_LOAD_SPREAD_H */
