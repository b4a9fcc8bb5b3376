/*
 * lending.h
 *	  Snapshots at which other sessions may read, as long as the lender's transaction runs.
 *
 * A loan is a time of a session's, with its exclusions, in an entry of the horizon that belongs to
 * the loan.  A session that knows its name takes it over into an entry of its own, and does not
 * need the lender any more.
 */
#ifndef TSURUGI_LENDING_H
#define TSURUGI_LENDING_H

#include "datatype/timestamp.h"

#include "runtime/reclaim/horizon.h"

typedef struct tg_reads tg_reads; /* shared.h */

/*
 * It lies in the arena.  It does not change while it is in the list, except for the part that
 * workers write.
 */
typedef struct tsurugi_loan
{
	struct tsurugi_loan *next;
	uint64 host; /* the lender's virtual transaction */
	/*
	 * Its number among the lender's loans: above 0 for exports, below 0 for its parallel workers.
	 */
	int number;
	unsigned entry;
	tg_time time;	   /* R */
	tg_time published; /* the same or earlier: before the exclusions */
	bool from;		   /* for all times from there on */
	TimestampTz taken;

	/* for snapshot_export.c */
	bool is_safe; /* at a safe snapshot, as READ ONLY reads */

	/* for parallel.c */
	/* The transaction whose own changes are visible. */
	unsigned txn;
	bool tracks; /* reads at it are noted */
	/* The notes of workers that have ended; NULL: none.  Guarded by the lock. */
	tg_reads *reads;
	/* By a worker; set under the lock, read when the worker has ended. */
	bool is_used;

	/* The last field: it has as many times as are excluded. */
	tg_exclusions excluded;
} tsurugi_loan;

/* Size of the state in PostgreSQL's shared memory; and its set-up at server start. */
extern Size tsurugi_lending_shared_bytes(void);
extern void tsurugi_lending_shared_create(void);

/*
 * Sets the time, the time to be published for it, and its exclusions (NULL: none); and publishes
 * it, for a session that has already published it.
 */
extern void tsurugi_loan_publish(tsurugi_loan *loan, tg_time time, const tg_exclusions *excluded, bool from);

/* The time that must be published for a time with these exclusions. */
extern tg_time tsurugi_loan_bound(tg_time time, const tg_exclusions *excluded);

/*
 * The first adds a copy to the list, with these exclusions (NULL: none) and its host; NULL: there
 * was no memory, and its entry is withdrawn.  The second removes all of the host's loans with a
 * number between these bounds from the list, withdraws their entries, and frees them.
 */
extern tsurugi_loan *tsurugi_loan_enter(const tsurugi_loan *loan, const tg_exclusions *excluded);
extern void tsurugi_loan_withdraw(uint64 host, int first, int last);

/*
 * Takes a loan over, into *entry_out of this session; copies the loan, and its exclusions (NULL:
 * none) into the transaction's memory.  False: there is no such loan.
 */
extern bool tsurugi_loan_take(uint64 host, int number, tsurugi_loan *copy_out, const tg_exclusions **excluded_out,
							  unsigned *entry_out);

/*
 * The first gives a worker's notes to the loan, or destroys them if the loan is gone; the second
 * takes all notes that the loan was given.
 */
extern void tsurugi_loan_give_reads(uint64 host, int number, tg_reads *reads);
extern tg_reads *tsurugi_loan_take_reads(tsurugi_loan *loan);

/* This process's virtual transaction. */
extern uint64 tsurugi_own_host(void);

#endif /* TSURUGI_LENDING_H */
