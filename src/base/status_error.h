/*
 * status_error.h
 *	  What the runtime's results are called in SQL.
 *
 * The one place where a tg_status becomes an ereport.  No runtime lock and no
 * epoch is held by the caller.
 */
#ifndef TSURUGI_STATUS_ERROR_H
#define TSURUGI_STATUS_ERROR_H

#include "utils/rel.h"

#include "runtime/runtime.h"

/*
 * Raises the error of a status: 53200 with a hint for TG_NO_MEMORY, 54000 for
 * TG_TOO_LARGE, 57P03 for TG_STOPPED, 57014 for TG_CANCELLED …  relation may be NULL.
 */
extern void tsurugi_error(tg_status status, Relation relation) pg_attribute_noreturn();

/* Passes TG_OK, raises everything else. */
static inline void
tsurugi_check(tg_status status, Relation relation)
{
	if (tg_unlikely(status != TG_OK))
		tsurugi_error(status, relation);
}

/*
 * A higher room knows more of a status: tsurugi_error calls this first, which raises an error, or
 * returns where the general one is right.  One for each status; where the library is loaded.
 */
typedef void (*tsurugi_error_raiser)(Relation relation);
extern void tsurugi_error_register(tg_status status, tsurugi_error_raiser raise);

#endif /* TSURUGI_STATUS_ERROR_H */
