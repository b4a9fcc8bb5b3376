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
 * One of these functions, for a trigger.  Raises 42883 if it is not in the extension's schema, or
 * somebody else's is.
 */
extern Oid tsurugi_own_function(const char *name);

/*
 * What a trigger was called with.  Raises 39P01 if somebody else than the extension has made it, or
 * has called the function: then the relation need not be a table in memory, nor the constraint one
 * of its.
 */
extern const TriggerData *tsurugi_own_trigger(FunctionCallInfo fcinfo, const char *function);

/* The same error, where the constraint is not one of the relation's. */
extern void tsurugi_error_own_trigger(const char *function) pg_attribute_noreturn();

#endif /* TSURUGI_OWN_TRIGGER_H */
