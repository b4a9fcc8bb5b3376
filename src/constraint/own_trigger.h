/*
 * own_trigger.h
 *	  Functions that only triggers of the extension's own constraints may call.
 */
#ifndef TSURUGI_OWN_TRIGGER_H
#define TSURUGI_OWN_TRIGGER_H

#include "postgres.h"

#include "commands/trigger.h"
#include "fmgr.h"

/*
 * Finds one of these functions, for a trigger.  Raises 42883 if there is no such function in the
 * extension's schema, or it is another library's.
 */
extern Oid tsurugi_own_function(const char *name);

/*
 * The data with which a trigger was called.  Raises 39P01 unless the extension has made the
 * trigger: otherwise the relation need not be a table in memory, nor the constraint one of its own.
 */
extern const TriggerData *tsurugi_own_trigger(FunctionCallInfo fcinfo, const char *function);

/* Raises the same error if the constraint is not one of the relation's. */
extern void tsurugi_error_own_trigger(const char *function) pg_attribute_noreturn();

#endif /* TSURUGI_OWN_TRIGGER_H */
