/*
 * deferrable.h
 *	  SERIALIZABLE READ ONLY DEFERRABLE: safe snapshots of ordinary tables, taken on request.
 */
#ifndef TSURUGI_DEFERRABLE_H
#define TSURUGI_DEFERRABLE_H

#include "utils/snapshot.h"

/*
 * PostgreSQL's conflict detection does not concern the transaction any more, because it has its own
 * safe snapshot.
 */
extern bool tsurugi_deferrable_is_free(void);

/*
 * Takes a snapshot that is not yet known to be safe; it is valid until the next call.  Afterwards
 * the transaction either waits until it is known whether the snapshot is safe, which may take long
 * and can be interrupted, or gives the snapshot up.  Either ends the transaction's part in
 * PostgreSQL's conflict detection.
 */
extern Snapshot tsurugi_deferrable_take(void);
extern bool tsurugi_deferrable_wait(void);
extern void tsurugi_deferrable_give_up(void);

#endif /* TSURUGI_DEFERRABLE_H */
