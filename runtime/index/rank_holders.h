/*
 * rank_holders.h
 *	  The sessions that use ranks, or stand on an entry of a dictionary, beyond an epoch.
 *
 * An entry of a dictionary may be removed when no key of its table has its rank (rank_sweep.h).
 * But a rank may be on its way into a key, or a transaction may have noted it as read; and a
 * comparison by the host's functions may take long.  So a session that looks into a dictionary
 * holds before it does so, unless it is inside an epoch and keeps no rank beyond the epoch; it lets
 * go when its transaction has ended.  A session holds by its number; transactions that several
 * sessions work in hold by higher numbers (txn/shared.c).
 */
#ifndef TG_RANK_HOLDERS_H
#define TG_RANK_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

extern tg_status tg_rank_holders_create(tg_session *session, unsigned count) TG_MUST_USE;

/*
 * Holds from now on, until let go.  May be repeated.  Called by the user of the number; cannot
 * fail.
 */
extern void tg_rank_hold(unsigned holder);

/*
 * Holds from when the other one holds (from now on, if it does not): the ranks in use by the other
 * are the holder's, too.  Called by the other one, whose number is lower.
 */
extern void tg_rank_hold_with(unsigned holder, unsigned other);

extern void tg_rank_let_go(unsigned holder);

/*
 * A full fence, and a new generation: sessions that hold from a later one see the caller's earlier
 * changes.  The second function tells whether all sessions that hold from an earlier generation
 * have let go.
 */
extern uint64_t tg_rank_generation_begin(void);
extern bool tg_rank_generation_has_come(uint64_t generation);

/* Less than this in a table's dictionaries is not worth a sweep. */
#define TG_RANK_SWEEP_BYTES_MIN (64 << 10)

extern bool tg_rank_memory_is_short(void);

/*
 * Whether many values were added since the last sweep, or a quarter of that while memory is short.
 */
extern bool tg_dictionaries_have_grown(const tg_table *table);

/*
 * A session that has added to a dictionary, or finds that a sweep is worthwhile, asks for one.  The
 * sweep checks whether one is wanted, and clears the request before it looks at the tables.
 */
extern void tg_rank_sweep_want(void);
extern bool tg_rank_sweep_is_wanted(void);
extern void tg_rank_sweep_heed(void);

/*
 * The host's function, or NULL: called before a dictionary is read, so that a caller outside an
 * epoch holds.  Set for a process.
 */
extern void (*tg_rank_touch)(void);

#endif /* TG_RANK_HOLDERS_H */
