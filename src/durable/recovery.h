/*
 * recovery.h
 *	  The startup process fills the journal from the records that it replays.
 *
 * All but the first are called by PostgreSQL for this extension's resource manager.
 */
#ifndef TSURUGI_RECOVERY_H
#define TSURUGI_RECOVERY_H

#include "access/xlogreader.h"

/* When the library is loaded: sees the records of transactions and checkpoints, too. */
extern void tsurugi_recovery_init(void);

extern void tsurugi_recovery_startup(void);
extern void tsurugi_recovery_redo(XLogReaderState *record);
extern void tsurugi_recovery_cleanup(void);

#endif /* TSURUGI_RECOVERY_H */
