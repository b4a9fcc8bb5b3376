/*
 * writer.h
 *	  A write: the transaction and the command that do it, and what it may use.
 */
#ifndef TG_WRITER_H
#define TG_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/mem/claim.h"

/* The writer: session and transaction, with the subtransaction and command of the write. */
struct tg_writer
{
	tg_session *session;
	tg_txn *txn;
	uint32_t command;
	unsigned subtxn;
	tg_claim claim;				 /* TG_DATA; TG_ESSENTIAL for deletes */
	const tg_hidden_row *hidden; /* of the row to be written or looked for; NULL: it has none */

	/*
	 * an insertion that meets a unique key will not be the last action: it probes before it writes
	 */
	bool probes;

	/*
	 * of a task that writes for the transaction: what it has written (piece.h); NULL: the writer is
	 * in the transaction's lane
	 */
	struct tg_piece *piece;

	/* with a piece: the session that has lent the transaction (loan.h); NULL: its own */
	const tg_session *lender;
};

#endif /* TG_WRITER_H */
