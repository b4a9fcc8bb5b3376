/*
 * load.h
 *	  Brings the tables back at a start, from a base and the journal.
 *
 * The arena has no tables yet, and no session looks for one until the load has ended.  One thread
 * loads; the pool, if it runs, reads parts of the base, applies the journal and builds indexes.
 */
#ifndef TG_LOAD_H
#define TG_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/durable/files.h"
#include "runtime/durable/undecided.h"

typedef struct tg_roster tg_roster; /* roster.h */

typedef enum tg_load_phase
{
	TG_LOAD_DEFINITIONS, /* of the journal; bytes of its files */
	TG_LOAD_BASE,		 /* rows of the base; bytes of its files */
	TG_LOAD_CHANGES,	 /* of the journal; bytes of its records */
	TG_LOAD_KEYS		 /* and indexes; tables */
} tg_load_phase;

/* How far a load is: done of total, in the unit of the phase.  Atomic, each by itself. */
typedef struct tg_load_progress
{
	uint32_t phase;
	uint64_t done;
	uint64_t total;
} tg_load_progress;

typedef struct tg_load_config
{
	/*
	 * Its directory.  The journal was opened before (tg_journal_open), so it is whole and has no
	 * torn end; nobody appends meanwhile.
	 */
	const char *journal;
	const char *bases; /* the directory of bases */
	uint64_t base;	   /* the number of the one to be read; 0: none, the journal is complete */
	uint64_t system;   /* as in the files */

	/*
	 * The tables are to follow the journal from there on (follow.h): it is read up to the record
	 * that ends at until, while more is appended; 0: nothing is read.  No transaction is prepared,
	 * and the host's values have no ranks.
	 */
	bool follows;
	uint64_t until;

	/*
	 * Superuser's wish: what can be read is loaded.  The journal ends for the load where it cannot
	 * be read, records that have a fault are passed over, and so is, in damaged tables, what does
	 * not fit.
	 */
	bool ignore_damage;

	/*
	 * A fault in a file of the base ends the load with TG_DAMAGED: there may be another base that
	 * has none.
	 */
	bool needs_whole_base;

	/*
	 * The host word (txn/prepared.h) of a transaction that is in doubt at the end of the journal;
	 * 0: the host has not prepared it, so it counts for nothing.  NULL: none is prepared.
	 */
	uint64_t (*prepared)(void *context, uint32_t xid);

	/*
	 * Called every few milliseconds, outside an epoch; sleep: there is nothing to do until the
	 * waiter is woken (tg_host_wake), or some milliseconds have passed.  False: the load is to
	 * stop.
	 */
	bool (*go_on)(void *context, bool sleep);
	void *context;
	void *waiter;

	tg_load_progress *progress; /* for go_on to look at; NULL: nobody does */
} tg_load_config;

/* A table that cannot be used: its relation has no storage after the load. */
typedef struct tg_load_damage
{
	uint32_t database;
	uint32_t relation;
	uint64_t storage;
	/* of the record that does not fit, in the host's log; 0: what is wrong showed at the end */
	uint64_t position;
	const char *what; /* a constant text */
} tg_load_damage;

/* In the process's memory: tg_load_report_free. */
typedef struct tg_load_report
{
	uint64_t storages; /* that are there now */
	uint64_t rows;
	uint64_t bytes;	  /* of memory, with indexes */
	uint64_t records; /* of the journal, of all kinds */
	uint64_t changes; /* of rows, applied */
	uint64_t end;	  /* of the last record, in the host's log; or P; 0: there is none */
	uint64_t last;	  /* where the last record starts; 0: there is none */

	/* The host's transactions that have a WITH and no outcome. */
	uint32_t *in_doubt;
	size_t in_doubt_count;
	uint32_t *prepared; /* those of them that are prepared */
	size_t prepared_count;
	uint32_t *lost; /* likewise, but error says why their records cannot be read: they are not restored */
	size_t lost_count;
	uint64_t undecided_least; /* position of the first record of any undecided transaction; or UINT64_MAX */

	tg_load_damage *damages;
	size_t damage_count;

	/* The first fault that concerns no single table: what it is, and where. */
	const char *problem;	   /* NULL: none; a constant text */
	uint64_t problem_position; /* of the record in the host's log; 0: error says more */
	tg_file_error error;

	tg_roster *roster;		/* the definitions as of the end; ended ones are forgotten.  Or NULL */
	tg_undecided undecided; /* if the tables follow: the transactions as of the end, and their roster */
} tg_load_report;

/*
 * Loads.  TG_OK: the tables are in the catalog, but for those in damages, ids start above all
 * that were ever in use, and transactions that the host has prepared wait for their ends, in
 * nobody's hand.  Otherwise there are no tables: TG_DAMAGED, TG_IO: see problem;
 * TG_NO_MEMORY: the arena's limit, or the process's memory; TG_CANCELLED: go_on has said so.  The
 * report is valid in any case.  Claims are TG_ESSENTIAL.  Outside an epoch.
 */
extern tg_status tg_load(tg_session *session, const tg_load_config *config, tg_load_report *report_out) TG_MUST_USE;

/* The WITH of a transaction that is undecided, in memory. */
typedef struct tg_load_with
{
	uint64_t position;
	tg_bytes record;
} tg_load_with;

/*
 * Whether the following call needs the collector to have removed all that was deleted: ranks are to
 * be restored, or transactions.
 */
extern bool tg_load_needs_quiet(const tg_undecided *undecided);

/*
 * For tables that have followed, and that nobody reads by ranks of the host's values: gives these
 * values their ranks, restores the transactions that the host has prepared, and ends following.
 * Nobody but the session has written, and the collector has removed all that was deleted, if that
 * is needed.  The journal is not appended to.  withs: of all transactions that are undecided.
 *
 * Base and journal are read for ranks, and the journal for transactions with PARTs.  If ranks
 * cannot be read, tables with such keys are damages, and in the catalog no more; but they stay in
 * memory, because readers may be in them.  Transactions whose PARTs cannot be read are lost.
 * Otherwise results are as above.
 */
extern tg_status tg_load_end_following(tg_session *session, const tg_load_config *config, const tg_undecided *undecided,
									   const tg_load_with *withs, size_t with_count,
									   tg_load_report *report_out) TG_MUST_USE;

extern void tg_load_report_free(tg_load_report *report);

#endif /* TG_LOAD_H */
