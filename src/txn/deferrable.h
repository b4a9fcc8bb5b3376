/*
 * deferrable.h
 *	  SERIALIZABLE READ ONLY DEFERRABLE: safe snapshots of ordinary tables, taken when we want them.
 */
#ifndef TSURUGI_DEFERRABLE_H
#define TSURUGI_DEFERRABLE_H

#include "utils/snapshot.h"

/* PostgreSQL's detection of conflicts is done with the transaction: so it is once it has its own safe snapshot. */
extern bool tsurugi_deferrable_is_free(void);

/*
 * One that is not known to be safe yet.  Valid until the next call.  Afterwards the transaction waits, which may take long and can be
 * interrupted, until it is known; or gives it up.  Both are the end of it for PostgreSQL's detection.
 */
extern Snapshot tsurugi_deferrable_take(void);
extern bool tsurugi_deferrable_wait(void);
extern void tsurugi_deferrable_give_up(void);

#endif /* TSURUGI_DEFERRABLE_H */
