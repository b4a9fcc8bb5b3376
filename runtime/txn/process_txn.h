/*
 * process_txn.h
 *	  How a process begins and ends transactions of its own.
 *
 * They are owned by a lease (shared.h).  Begin completes with the transaction, opened, as data; what nobody takes is
 * aborted and closed.  The process works in it by TG_COMMAND_LANE on tg_shared_lane: the operation calls
 * tg_shared_enter.  Commit and abort complete with what tg_shared_commit says, or TG_OK, once that has been done, behind the
 * operations yielded before.  Then the process closes it, which takes no command.
 */
#ifndef TG_PROCESS_TXN_H
#define TG_PROCESS_TXN_H

#include "runtime/sched/process.h"
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
