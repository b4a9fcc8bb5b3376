/*
 * base_writer.h
 *	  The worker writes bases, beside everything else.
 *
 * A base is begun when the journal behind the last one is longer than tsurugi_fdw.journal_size, or
 * when somebody asks for one.  The worker's main thread calls these.
 */
#ifndef TSURUGI_BASE_WRITER_H
#define TSURUGI_BASE_WRITER_H

#include "access/xlogdefs.h"

#define TSURUGI_BASE_DIRECTORY "pg_tsurugi/base"

typedef struct tg_follow tg_follow;		  /* runtime/durable/follow.h */
typedef struct tg_undecided tg_undecided; /* runtime/durable/undecided.h */

/* Defines tsurugi_fdw.journal_size. */
extern void tsurugi_base_define(void);

/* A worker begins. */
extern void tsurugi_base_begin(void);

typedef enum tsurugi_base_need
{
	TSURUGI_BASE_NOTHING, /* nothing is due */
	TSURUGI_BASE_LOOK,	  /* call it again at once */
	TSURUGI_BASE_WAIT,	  /* it waits for others: call it again soon */
	TSURUGI_BASE_MARK	  /* D is to be moved to the end of a new MARK; then call it again */
} tsurugi_base_need;

/*
 * Does some milliseconds of what is due.  position: up to where the log was read, and the journal
 * written; where tables follow, up to where they have, between two frames: then nothing is marked,
 * and the next call has the place that they have by then.
 */
extern tsurugi_base_need tsurugi_base_look(XLogRecPtr position);

/* Gives up a base that is being written. */
extern void tsurugi_base_abandon(void);

/*
 * The same, with the last error of the filler, and fails requests for a base: the journal, or the
 * state, cannot be written.
 */
extern void tsurugi_base_fail(void);

/*
 * On a standby: bases are written of tables that follow from now on, until the next call, which
 * returns the base from which tables and journal are whole.  state_base: the one that the state
 * names; loaded_base: the one that was loaded, the same or, if that is damaged, the one before it.
 */
extern void tsurugi_base_follow(tg_follow *follow, uint64 state_base, uint64 loaded_base);
extern uint64 tsurugi_base_follow_end(void);

/*
 * Tables that have followed are written by sessions from now on.  undecided: as of the end of what
 * they have followed; it and its roster are taken.  first: where the next record starts in the log.
 */
extern void tsurugi_base_go_on(tg_undecided *undecided, XLogRecPtr first);

/* The worker ends in order; another one begins with tables that are open. */
extern void tsurugi_base_hand_over(void);
extern void tsurugi_base_take_over(void);

/* Removes the journal before the last base and the one before that.  Whoever fills the journal. */
extern void tsurugi_base_forget_journal(void);

#endif /* TSURUGI_BASE_WRITER_H */
