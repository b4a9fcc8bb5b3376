/*
 * status_error.h
 *	  The errors of the runtime's results.
 *
 * No other file turns a tg_status into an ereport.  The caller holds no runtime lock and no epoch.
 */
#ifndef TSURUGI_STATUS_ERROR_H
#define TSURUGI_STATUS_ERROR_H

#include "utils/rel.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"

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
 * A higher room can define the error of a status more exactly: tsurugi_error calls this function
 * first, which raises an error, or returns if the general one is right.  One for each status;
 * registered when the library is loaded.
 */
typedef void (*tsurugi_error_raiser)(Relation relation);
extern void tsurugi_error_register(tg_status status, tsurugi_error_raiser raise);

#endif /* TSURUGI_STATUS_ERROR_H */
