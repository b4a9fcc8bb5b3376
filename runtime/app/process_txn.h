/*
 * process_txn.h
 *	  Commands by which a process begins and ends transactions of its own.
 *
 * A lease owns such a transaction (txn/shared.h).  Begin completes with the opened transaction as
 * data; a transaction that no process takes is aborted and closed.  The process works in the
 * transaction by TG_COMMAND_LANE on tg_shared_lane: the operation calls tg_shared_enter.  Commit
 * and abort run behind the operations yielded before, and then complete with the status of
 * tg_shared_commit, or TG_OK.  After that the process closes the transaction, which takes no
 * command.
 */
#ifndef TG_PROCESS_TXN_H
#define TG_PROCESS_TXN_H

#include "runtime/app/process.h"
#include "runtime/txn/shared.h"

/* TG_COMMAND_TRANSACTION_BEGIN: a tg_shared_config; its label is read after the Step. */

/* TG_COMMAND_TRANSACTION_COMMIT, TG_COMMAND_TRANSACTION_ABORT */
typedef struct tg_transaction_command
{
	tg_shared *transaction;
} tg_transaction_command;

/* Makes the three kinds known. */
extern void tg_process_txn_register(void);

#endif /* TG_PROCESS_TXN_H */
