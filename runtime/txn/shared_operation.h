/*
 * shared_operation.h
 *	  The operations of a shared transaction that is owned by a lease (shared.h).
 */
#ifndef TG_SHARED_OPERATION_H
#define TG_SHARED_OPERATION_H

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"

typedef struct tg_reads tg_reads;	/* reads.h */
typedef struct tg_shared tg_shared; /* shared.h */

/*
 * Begins an operation: a command of the transaction, with the snapshot that it reads at.
 * TG_STOPPED: the transaction is going to end, or has ended.  TG_BUSY: another session's operation
 * is running (try again, or let the lane run this one), or the transaction has not started.
 */
extern tg_status tg_shared_enter(tg_session *session, tg_shared *shared, tg_claim claim, tg_writer *writer_out,
								 tg_snapshot *snapshot_out) TG_MUST_USE;

/* The read set at SERIALIZABLE and SHORT; NULL at other levels.  Inside an operation. */
extern tg_reads *tg_shared_reads(tg_shared *shared);

/* Ends the operation; renews the lease. */
extern void tg_shared_leave(tg_session *session, tg_shared *shared);

#endif /* TG_SHARED_OPERATION_H */
