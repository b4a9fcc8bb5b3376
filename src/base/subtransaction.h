/*
 * subtransaction.h
 *	  Errors that a subtransaction has caught, and cannot handle.
 */
#ifndef TSURUGI_SUBTRANSACTION_H
#define TSURUGI_SUBTRANSACTION_H

/*
 * Rolls back the subtransaction that BeginInternalSubTransaction has begun, and raises the present
 * error again, behind its end.  PG_RE_THROW would leave the subtransaction to PostgreSQL, which
 * keeps one that has failed open until the client rolls it back; but a client that has begun no
 * transaction block cannot.
 *
 * Called in PG_CATCH, in a memory context that outlives the subtransaction.
 */
extern void tsurugi_subtransaction_raise(void) pg_attribute_noreturn();

#endif /* TSURUGI_SUBTRANSACTION_H */
