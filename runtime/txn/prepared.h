/*
 * prepared.h
 *	  Transactions that the host has prepared: they belong to no session until they are ended.
 *
 * A transaction that is prepared moves from its session's descriptor to one of its own, with its
 * writes and locks, and its references name that one from then on.  It stays ACTIVE there, so other
 * transactions do not see its writes, and wait for it by its host word.  Any session may end it:
 *
 *	take -> ... -> move		the session that prepares it; until then it is in hand
 *	hold -> (tg_txn_prepare, and tg_prepared_revoke if the host fails) -> let_go
 *	hold -> tg_txn_commit or tg_txn_abort -> let_go
 */
#ifndef TG_PREPARED_H
#define TG_PREPARED_H

#include <stdbool.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

/* At most so many at a time; set before tg_txn_create. */
extern void tg_prepared_set_max(unsigned count);

/* Whether the transaction has written to a table that is logged, or locked rows of one. */
extern bool tg_prepared_is_logged(const tg_txn *txn);

/*
 * Takes a free descriptor for a transaction with this host word, which is in the caller's hand.
 * TG_FULL: there is none.
 */
extern tg_status tg_prepared_take(tg_session *session, uint64_t host, tg_txn **txn_out) TG_MUST_USE;

/*
 * Moves the session's transaction, which is ACTIVE, into a descriptor that was taken, and ends it
 * there.  Cannot fail.
 */
extern void tg_prepared_move(tg_session *session, tg_txn *from, tg_txn *to);

/*
 * The transaction that was taken with this host word, in the caller's hand.  TG_NOT_FOUND: there is
 * none, or it has ended; TG_BUSY: it is in another session's hand.
 */
extern tg_status tg_prepared_hold(uint64_t host, tg_txn **txn_out) TG_MUST_USE;

/*
 * While it is in hand: transactions that meet it wait for this host word instead; the word that it
 * was taken with: as before.
 */
extern void tg_prepared_name(tg_txn *txn, uint64_t host);

/* After tg_txn_prepare: it is ACTIVE again, and its C is not used. */
extern void tg_prepared_revoke(tg_session *session, tg_txn *txn);

/* It is in nobody's hand any more; if it has ended, or never began, its descriptor is free. */
extern void tg_prepared_let_go(tg_txn *txn);

/*
 * The host words of transactions that are in nobody's hand, one after the other: the next from
 * *at_inout on, which is 0 at first.  False: there are no more.
 */
extern bool tg_prepared_next(unsigned *at_inout, uint64_t *host_out);

#endif /* TG_PREPARED_H */
