/*
 * response.h
 *	  What a COMMIT waits for before it answers: tsurugi_fdw.commit_response.
 */
#ifndef TSURUGI_RESPONSE_H
#define TSURUGI_RESPONSE_H

/*
 * Gives synchronous_commit the value that the setting asks for, until the transaction ends.  Before
 * PostgreSQL commits one that has changed logged tables.  May raise errors.
 */
extern void tsurugi_response_for_transaction(void);

/*
 * The same, between these two calls; the second one cannot fail, and is not needed after an error.
 * Takes what the first one has returned.
 */
extern int tsurugi_response_begin(void);
extern void tsurugi_response_end(int level);

/* Defines the setting. */
extern void tsurugi_response_define(void);

#endif /* TSURUGI_RESPONSE_H */
