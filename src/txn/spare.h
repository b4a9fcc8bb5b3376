/*
 * spare.h
 *	  Deadlocks do not end a LONG.
 */
#ifndef TSURUGI_SPARE_H
#define TSURUGI_SPARE_H

#include "storage/proc.h"

/* From now on others give up where a circle of PostgreSQL's locks leads through this transaction; may be called again. */
extern void tsurugi_spare_begin(void);

/* deadlock_timeout as it was then; 0: this transaction is none of those. */
extern int tsurugi_spare_timeout;

/* To be called after an error that has not ended the transaction: PostgreSQL disables all timeouts then. */
extern void tsurugi_spare_go_on(void);

/* Before what may wait: that can have been set. */
static inline void
tsurugi_spare_look(void)
{
	if (unlikely(tsurugi_spare_timeout != 0 && tsurugi_spare_timeout != DeadlockTimeout))
		tsurugi_spare_go_on();
}

/* At the transaction's end. */
extern void tsurugi_spare_end(void);

#endif /* TSURUGI_SPARE_H */
