/*
 * hold.h
 *	  What transactions at SERIALIZABLE have read that are prepared for a second phase.
 *
 * The host may commit such a transaction at any later time, and it cannot fail any more.  So its
 * reads are validated when it is prepared, and from then on it holds them: other transactions at
 * SERIALIZABLE that have changed what it has read fail instead (H1 to H6).
 *
 *	publish -> validate -> tg_validation_step ... -> is_valid	the session that prepares it
 *	-> tg_prepared_move -> ... -> tg_txn_prepare -> may_end -> tg_txn_commit
 */
#ifndef TG_HOLD_H
#define TG_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

/*
 * The reads of a transaction (tg_txn_track), which has written, are held from now on, until it has
 * ended.  Nothing may be read or written in it any more.
 */
extern void tg_hold_publish(tg_session *session, tg_txn *txn);

/*
 * Begins their validation, from the transaction's snapshot on: to be continued by
 * tg_validation_exclude and tg_validation_step.
 */
extern void tg_hold_validate(tg_txn *txn, tg_time snapshot);

/* Once it has gone well: false: it is to be repeated. */
extern bool tg_hold_is_valid(const tg_txn *txn);

/*
 * For a prepared transaction with a C: false: call again before it commits, because another one,
 * with a smaller C, has yet to look at what is held.  That takes CPU time, but no wait.
 */
extern bool tg_hold_may_end(const tg_txn *txn);

/* --- after a start of the server ------------------------------------------------------- */

/* The transaction, which a load has taken (prepared.h), may hold: the host says later what. */
extern void tg_hold_note_unknown(tg_txn *txn);

/* Whether there are such.  The host asks before a C is drawn, or reads are published, and says. */
extern bool tg_hold_any_unknown(void);
extern bool tg_hold_is_unknown(const tg_txn *txn);

/*
 * What the transaction, which is in the caller's hand, holds: these tables as a whole, or, with
 * all, every table.  TG_NO_MEMORY: it is as unknown as before.  The second one: it holds nothing.
 */
extern tg_status tg_hold_restore(tg_session *session, tg_txn *txn, uint32_t database, const uint32_t *relations,
								 unsigned count, bool all) TG_MUST_USE;
extern void tg_hold_restore_none(tg_txn *txn);

#endif /* TG_HOLD_H */
