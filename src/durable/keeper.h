/*
 * keeper.h
 *	  What the worker does to keep tables durable: it loads them, opens the log, fills the journal
 *	  and lets checkpoints pass.
 *
 * The worker's main thread calls these.
 */
#ifndef TSURUGI_KEEPER_H
#define TSURUGI_KEEPER_H

#include <stdbool.h>

/* The process is in the ProcArray. */
extern void tsurugi_keeper_begin(void);

/*
 * Does what is due, for some milliseconds; returns in how many milliseconds it is to be called
 * again.  The first calls load the tables, once recovery has ended.
 */
extern int tsurugi_keeper_look(void);

/*
 * Called instead of that when the worker is to end, until it returns true: the log is closed, and
 * the journal has all of it.  In between, the caller sleeps as many milliseconds as in *sleep_ms.
 */
extern bool tsurugi_keeper_end(int *sleep_ms);

/*
 * The process is about to leave in another way, hard.  If there is no postmaster any more, nobody
 * restarts the server: the checkpointer, which would wait for this process for ever, is ended.
 */
extern void tsurugi_keeper_abandon(void);

#endif /* TSURUGI_KEEPER_H */
