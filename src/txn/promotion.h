/*
 * promotion.h
 *	  Serializable transactions that become LONG because earlier tries have failed.
 */
#ifndef TSURUGI_PROMOTION_H
#define TSURUGI_PROMOTION_H

#include "utils/rel.h"

#include "runtime/runtime.h"

/* After so many failures in a row; 0: never.  A setting. */
extern int tsurugi_promote_after;

/* Makes the setting known to the server; when the library is loaded. */
extern void tsurugi_promotion_define(void);

/* The running transaction is a LONG though the settings do not say so.  Read-only for everybody but promotion.c. */
extern bool tsurugi_is_promoted;

/* --- the beginning ------------------------------------------------------------------------- */

/*
 * At the first access of a try (ladder.c, 1): whether it is to be a LONG.  If so, *config_out says
 * what it preserves, and these tables stay locked until the transaction ends.
 */
extern bool tsurugi_promotion_begin(tg_long_config *config_out);

/* It has not started, because of an error: the next try is an ordinary one. */
extern void tsurugi_promotion_give_up(void);

/* --- what a promoted transaction may not do -------------------------------------------------- */

/* P4.  Raises 40001: a promoted transaction would do what a LONG refuses; the next try is an ordinary one. */
extern void tsurugi_promotion_refuse(const char *what) pg_attribute_noreturn();

static inline void
tsurugi_promotion_check(const char *what)
{
	if (unlikely(tsurugi_is_promoted && !tg_failpoint_refuses("skip_p4")))
		tsurugi_promotion_refuse(what);
}

/* Raises 40001: it writes a table that it has not preserved; the next try preserves that, too. */
extern void tsurugi_promotion_error_beyond(Relation relation) pg_attribute_noreturn();

/* --- for ladder.c ------------------------------------------------------------------------------ */

/*
 * A try is about to fail.  Notes what it has written; wanted: one table more, or invalid.  Returns what
 * the hint says of the next try, if that is to be a LONG; else NULL.
 */
extern const char *tsurugi_promotion_note_failure(Oid wanted);

/* The try has failed, as announced; or has got through. */
extern void tsurugi_promotion_failed(void);
extern void tsurugi_promotion_succeeded(void);

/* A try, or what is to be one, has ended, in whatever way. */
extern void tsurugi_promotion_end(bool committed);

#endif /* TSURUGI_PROMOTION_H */
