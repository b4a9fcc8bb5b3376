/*
 * rank_holders.h
 *	  Who has ranks in hand, or stands on an entry of a dictionary, beyond an epoch.
 *
 * An entry of a dictionary may go when no key of its table has its rank (rank_sweep.h).  But a rank may be on its way into a
 * key, or be what a transaction has noted that it has read; and who compares values by the host's functions takes
 * his time.  So whoever looks into a dictionary says so before, unless he is inside an epoch and keeps no rank
 * beyond it, and is done when his transaction has ended.  A session, by its number; transactions that
 * several sessions work in, by numbers above (txn/shared.c).
 */
#ifndef TG_RANK_HOLDERS_H
#define TG_RANK_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"

extern tg_status tg_rank_holders_create(tg_session *session, unsigned count) TG_MUST_USE;

/* From now on, until let go.  Any number of times.  By whoever has the number; cannot fail. */
extern void tg_rank_hold(unsigned holder);

/* The same from when the other one holds, if he does: what he has got in hand is the holder's, too.  By the other one, whose number is lower. */
extern void tg_rank_hold_with(unsigned holder, unsigned other);

extern void tg_rank_let_go(unsigned holder);

/*
 * A full fence, and a new generation: who holds from later on sees what the caller has done before.  Tells
 * whether all who hold from earlier have let go.
 */
extern uint64_t tg_rank_generation_begin(void);
extern bool tg_rank_generation_has_come(uint64_t generation);

/*
 * The host's, or NULL: called before a dictionary is looked into, to hold for who is not inside an epoch.  Set for a process.
 */
extern void (*tg_rank_touch)(void);

#endif /* TG_RANK_HOLDERS_H */
