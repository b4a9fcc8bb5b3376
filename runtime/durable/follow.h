/*
 * follow.h
 *	  Tables follow the journal while another process appends to it and sessions read them.
 *
 * After a load (load.h, follows), each transaction that the journal decides is applied as a whole,
 * in the journal's order, as a transaction of the engine: a reader sees all of it from its commit
 * timestamp on, or nothing.  The session that follows is the only one that writes.
 *
 * The host keeps sessions off a table while the transaction that replaces or drops it is decided,
 * and until that is applied; and off an index until it is complete.
 *
 * One thread.  In the process's memory.
 */
#ifndef TG_FOLLOW_H
#define TG_FOLLOW_H

#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/durable/load.h"
#include "runtime/durable/undecided.h"
#include "runtime/txn/txn.h"

typedef struct tg_follow tg_follow; /* opaque: see follow_internal.h */

typedef struct tg_follow_config
{
	const tg_load_config *load; /* of the load that came before: journal, system, go_on, waiter */
	void *context;

	/*
	 * What was deleted is in the way as long as a reader sees it: collects, or waits for a moment.
	 * Outside an epoch.  Any result but TG_OK ends the step.
	 */
	tg_status (*await)(void *context);

	/*
	 * Around the commit of a transaction that the host's one with this number belongs to.  The
	 * first one calls tg_txn_prepare, outside an epoch, and may wait before that.  The second one
	 * gets the place in the journal where it is decided.  Cannot fail.
	 */
	void (*prepare)(void *context, tg_txn *txn, uint32_t xid);
	void (*commit)(void *context, uint64_t position);

	/* What the journal says does not fit the table, which is not to be used any more. */
	void (*damaged)(void *context, const tg_load_damage *damage);
} tg_follow_config;

/*
 * Begins behind what the load has read; takes roster and transactions out of its report.  The
 * config stays.  TG_NO_MEMORY; TG_DAMAGED, TG_IO: tg_follow_problem says more.  *follow_out is
 * valid in any case, NULL: there is no memory.
 */
extern tg_status tg_follow_begin(tg_session *session, const tg_follow_config *config, tg_load_report *report,
								 tg_follow **follow_out) TG_MUST_USE;
extern void tg_follow_end(tg_follow *follow);

/* Ends, between two frames.  The undecided transactions, and the roster, are the caller's. */
extern void tg_follow_leave(tg_follow *follow, tg_undecided *undecided_out);

/*
 * Applies what the journal has up to the record that ends at until, and has been written; but no
 * more than frames_max frames.  Any result but TG_OK may be followed by another call, which goes on
 * where this one has ended: TG_NO_MEMORY, TG_OVER_QUOTA; TG_CANCELLED (go_on), or what await
 * returned; TG_DAMAGED, TG_IO: tg_follow_problem says more, and another call is of no use.  Outside
 * an epoch.
 */
extern tg_status tg_follow_step(tg_follow *follow, uint64_t until, unsigned frames_max) TG_MUST_USE;

/* Where the last frame that was applied ends, and where it starts; 0: there was none. */
extern uint64_t tg_follow_position(const tg_follow *follow);
extern uint64_t tg_follow_last(const tg_follow *follow);

/*
 * Whether the tables, the roster and the transactions that are undecided are as of that position:
 * not if the last step has ended in the middle of a frame.
 */
extern bool tg_follow_is_between_frames(const tg_follow *follow);

extern const char *tg_follow_problem(const tg_follow *follow, const tg_file_error **error_out);

/* The transactions that are undecided, and the roster. */
extern const tg_undecided *tg_follow_undecided(const tg_follow *follow);

/* Their WITHs. */
extern const tg_load_with *tg_follow_withs(const tg_follow *follow, size_t *count_out);

/*
 * Forgets definitions that have ended, and that no record names any more.  In the middle of a frame
 * it does nothing.
 */
extern void tg_follow_forget(tg_follow *follow);

/*
 * The journal has ended, and the other server, too: indexes that are not complete are dropped.
 * Then tg_load_end_following.
 */
extern void tg_follow_finish(tg_follow *follow);

#endif /* TG_FOLLOW_H */
