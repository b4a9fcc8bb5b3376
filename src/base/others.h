/*
 * others.h
 *	  What details of errors call other transactions.
 */
#ifndef TSURUGI_OTHERS_H
#define TSURUGI_OTHERS_H

#include "utils/palloc.h"

#include "runtime/runtime.h"

/* 'process 123 (long transaction "x")': whose word for a transaction this is. */
extern const char *tsurugi_describe_other(uint64_t host);

/* The same of the one that committed at this time; NULL: that is too long ago, or the time is not known (0). */
extern const char *tsurugi_describe_author(tg_time time);

/*
 * In PG_CATCH around a wait: goes on with the error.  One that says that the wait was too long, or a deadlock, gets the line as
 * its detail, or as a further one.  PostgreSQL's lock manager has cleaned up after itself then, so catalogs can be read.
 */
extern void tsurugi_rethrow_wait(MemoryContext context, const char *(*describe)(const void *), const void *argument)
	pg_attribute_noreturn();

#endif /* TSURUGI_OTHERS_H */
