/*
 * spare.h
 *	  Deadlocks do not end a LONG.
 */
#ifndef TSURUGI_SPARE_H
#define TSURUGI_SPARE_H

/* From now on others give up where a circle of PostgreSQL's locks leads through this transaction; may be called again. */
extern void tsurugi_spare_begin(void);

/* To be called after an error that has not ended the transaction: PostgreSQL disables all timeouts then. */
extern void tsurugi_spare_go_on(void);

/* At the transaction's end. */
extern void tsurugi_spare_end(void);

#endif /* TSURUGI_SPARE_H */
