/*
 * lending.h
 *	  Snapshots that other sessions may read by, as long as the lender's transaction runs.
 *
 * A loan is a time of a session's, with what is excluded from it, in an entry of the horizon that is the loan's own.  Who knows
 * its name takes it over, into an entry of its own, and then needs the lender no more.
 */
#ifndef TSURUGI_LENDING_H
#define TSURUGI_LENDING_H

#include "datatype/timestamp.h"

#include "runtime/runtime.h"

/* In the arena.  Does not change while it is in the list, but for the part that workers write. */
typedef struct tsurugi_loan
{
	struct tsurugi_loan *next;
	uint64 host; /* the lender's virtual transaction */
	int number;	 /* among its loans: above 0 what it exports, below 0 what it lends to its parallel workers */
	unsigned entry;
	tg_time time;	   /* R */
	tg_time published; /* that, or earlier: before what is excluded */
	bool from;		   /* for all times from there on */
	TimestampTz taken;

	/* snapshot_export.c */
	bool is_safe; /* as READ ONLY reads */

	/* parallel.c */
	unsigned txn;	 /* whose own changes are seen */
	bool tracks;	 /* what is read by it is noted, */
	tg_reads *reads; /* here, by workers that have ended; NULL: nothing.  Under the lock */
	bool is_used;	 /* by a worker; set under the lock, looked at when it has ended */

	tg_exclusions excluded; /* the last one: it has as many times as it has */
} tsurugi_loan;

/* Bytes of PostgreSQL's shared memory, and their making, at server start. */
extern Size tsurugi_lending_shared_bytes(void);
extern void tsurugi_lending_shared_create(void);

/* Sets the time, what is to be published for it, and its exclusions (NULL: none); and publishes it, for one who has published it. */
extern void tsurugi_loan_publish(tsurugi_loan *loan, tg_time time, const tg_exclusions *excluded, bool from);

/* What has to be published for a time. */
extern tg_time tsurugi_loan_bound(tg_time time, const tg_exclusions *excluded);

/*
 * Enters a copy of it in the list, with these exclusions (NULL: none), and its host; NULL: no memory, and its entry is withdrawn.
 * withdraw: takes all of the host's loans with a number within these bounds from the list; their entries, and they, are freed.
 */
extern tsurugi_loan *tsurugi_loan_enter(const tsurugi_loan *loan, const tg_exclusions *excluded);
extern void tsurugi_loan_withdraw(uint64 host, int first, int last);

/*
 * Takes a loan over, in *entry_out of this session; what it says is copied, its exclusions (NULL: none) into the transaction's memory.
 * False: there is no such loan.
 */
extern bool tsurugi_loan_take(uint64 host, int number, tsurugi_loan *copy_out, const tg_exclusions **excluded_out,
							  unsigned *entry_out);

/* A worker's notes, which are the loan's from now on, or are gone if there is none any more; and all that have been given to it. */
extern void tsurugi_loan_give_reads(uint64 host, int number, tg_reads *reads);
extern tg_reads *tsurugi_loan_take_reads(tsurugi_loan *loan);

/* This process' virtual transaction. */
extern uint64 tsurugi_own_host(void);

#endif /* TSURUGI_LENDING_H */
