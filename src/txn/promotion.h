/*
 * promotion.h
 *	  Serializable transactions that become LONG because earlier tries have failed.
 */
#ifndef TSURUGI_PROMOTION_H
#define TSURUGI_PROMOTION_H

#include "utils/rel.h"

#include "runtime/base/failpoint.h"

typedef struct tg_long_config tg_long_config; /* kinds.h */

/* A setting: the number of failures in a row after which a try is promoted; 0: never. */

/* Defines the setting, when the library is loaded. */
extern void tsurugi_promotion_define(void);

/*
 * The running transaction is a LONG though the settings do not say so.  Only promotion.c writes it.
 */
extern bool tsurugi_is_promoted;

/* --- the beginning ------------------------------------------------------------------------- */

/*
 * Called at the first access of a try (ladder.c, 1): whether it is to be a LONG.  If so,
 * *config_out says what it preserves, and these tables stay locked until the transaction ends.
 */
extern bool tsurugi_promotion_begin(tg_long_config *config_out);

/* The LONG has not started, because of an error: the next try is an ordinary one. */
extern void tsurugi_promotion_give_up(void);

/* --- what a promoted transaction may not do -------------------------------------------------- */

/*
 * P4.  Raises 40001: a promoted transaction would do something that a LONG refuses; the next try is
 * an ordinary one.
 */
extern void tsurugi_promotion_refuse(const char *what) pg_attribute_noreturn();

static inline void
tsurugi_promotion_check(const char *what)
{
	if (unlikely(tsurugi_is_promoted && !tg_failpoint_refuses("skip_p4")))
		tsurugi_promotion_refuse(what);
}

/*
 * Raises 40001: the transaction writes a table that it has not preserved; the next try preserves
 * that one, too.
 */
extern void tsurugi_promotion_error_beyond(Relation relation) pg_attribute_noreturn();

/* --- for ladder.c ----------------------------------------------------------------------------- */

/*
 * A try is about to fail.  Notes the tables that it has written; wanted: one more table, or
 * invalid; is_small: the next try is to get through by its locks.  If the next try is to be a LONG,
 * returns what the hint says of it; else NULL.
 */
extern const char *tsurugi_promotion_note_failure(Oid wanted, bool is_small);

/* The try has failed, as announced; or it has got through. */
extern void tsurugi_promotion_failed(void);
extern void tsurugi_promotion_succeeded(void);

/* A try, or a transaction that is to be one, has ended, in whatever way. */
extern void tsurugi_promotion_end(bool committed);

#endif /* TSURUGI_PROMOTION_H */
