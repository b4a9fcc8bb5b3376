/*
 * participants.h
 *	  What has part in the end of a transaction: one row each, in one order.
 *
 * A participant keeps something for as long as a transaction or a subtransaction runs, or has work
 * to do at its end.  participants.c has the table of all, with the order of their calls.
 */
#ifndef TSURUGI_PARTICIPANTS_H
#define TSURUGI_PARTICIPANTS_H

#include "access/xact.h"

/*
 * Each callback may be NULL.  PostgreSQL may still fail after pre_commit and validate: then
 * end(false) follows.  From commit on nothing may raise an error.
 */
typedef struct tsurugi_participant
{
	const char *name;

	/* PREPARE TRANSACTION: raises an error where there is something that cannot be prepared. */
	void (*pre_prepare)(void);

	/*
	 * COMMIT: the last time that it may read and write tables, or that it may raise an error over
	 * them.
	 */
	void (*pre_commit)(void);

	/*
	 * COMMIT: nothing is read or written any more.  Commit timestamps are drawn, reads validated.
	 */
	void (*validate)(void);

	/* PostgreSQL has committed or prepared; the store's transaction has not committed yet. */
	void (*commit)(void);

	/* The transaction has ended, also in a parallel worker.  Nothing of it stays. */
	void (*end)(bool committed);

	/* A subtransaction begins; ends: what was done in it becomes its parent's, or is taken back. */
	void (*begin_part)(void);
	void (*end_part)(SubTransactionId id, SubTransactionId parent, bool committed);

	/* Whether there is anything of the running transaction: asserted to be false after each end. */
	bool (*has_state)(void);
} tsurugi_participant;

/*
 * A file of a room above has its place in the table, by name: it fills that when the library is
 * loaded, before the callbacks are registered.
 */
extern void tsurugi_participant_register(const tsurugi_participant *participant);

/* Registers PostgreSQL's callbacks.  Once, where the library is loaded, after all participants. */
extern void tsurugi_participants_init(void);

#endif /* TSURUGI_PARTICIPANTS_H */
