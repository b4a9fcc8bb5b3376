/*
 * follower.h
 *	  On a hot standby the worker lets the tables follow the log, so that sessions can read them.
 *
 * The worker's main thread calls these.
 */
#ifndef TSURUGI_FOLLOWER_H
#define TSURUGI_FOLLOWER_H

#include "runtime/durable/bytes.h"
#include "src/durable/availability.h"

/* Whether it is time to begin: PostgreSQL lets sessions in, and recovery goes on. */
extern bool tsurugi_follower_may_begin(void);

/*
 * Loads the tables, and begins to follow.  False: the tables cannot be reached, and *told says why;
 * or the worker is to end.
 */
extern bool tsurugi_follower_begin(tsurugi_durability *told);

/*
 * Applies what redo has passed on, for some milliseconds; returns in how many milliseconds it is to
 * be called again.
 */
extern int tsurugi_follower_look(tsurugi_durability *told);

/* The base from which the tables came, or that was written of them since. */
extern uint64 tsurugi_follower_base(void);

/*
 * Whether the last look has not ended in the middle of a record: then *position_out is up to where
 * the tables are.
 */
extern bool tsurugi_follower_is_between_frames(XLogRecPtr *position_out);

/* What was known when the tables had followed to the end of the journal. */
typedef struct tsurugi_followed
{
	XLogRecPtr last; /* where the journal's last record starts; 0: it has none */
	XLogRecPtr end;	 /* and where it ends */
	tg_undecided undecided;
} tsurugi_followed;

/*
 * Recovery has ended: applies the rest, and completes the tables.  *going_on: as of
 * tsurugi_load_tables.  False: not yet, but it is to be called again in so many milliseconds; or
 * the tables cannot be reached; or the worker is to end.
 */
extern bool tsurugi_follower_end(tsurugi_durability *told, tg_bytes *going_on, tsurugi_followed *followed_out,
								 int *again_ms_out);

#endif /* TSURUGI_FOLLOWER_H */
