/*
 * others.h
 *	  Descriptions of other transactions for the details of errors.
 */
#ifndef TSURUGI_OTHERS_H
#define TSURUGI_OTHERS_H

#include "utils/palloc.h"

#include "runtime/base/names.h"

/*
 * Describes the transaction with this host word, for example 'process 123 (long transaction "x")'.
 */
extern const char *tsurugi_describe_other(uint64_t host);

/*
 * The same for the transaction that committed at this time; NULL: that was too long ago, or the
 * time is not known (0).
 */
extern const char *tsurugi_describe_author(tg_time time);

/*
 * Called in PG_CATCH around a wait: raises the error again.  If the error reports that the wait was
 * too long, or a deadlock, the line becomes its detail, or a further line of it.  PostgreSQL's lock
 * manager has cleaned up by then, so catalogs can be read.
 */
extern void tsurugi_rethrow_wait(MemoryContext context, const char *(*describe)(const void *), const void *argument)
	pg_attribute_noreturn();

/* Set in the host word of a prepared transaction, whose low half is the xid; in no other one. */
#define TSURUGI_HOST_PREPARED (UINT64CONST(1) << 62)

#endif /* TSURUGI_OTHERS_H */
