/*
 * index_build.h
 *	  Filling an index that has been created on a table with rows; or the tree of its primary key.
 *
 * The index is attached already (tg_index_create): a version written from then on has its entries.
 * The build adds the entries of every version that existed before.
 *
 * Exclusive build: no other transaction writes to the table until the build has ended (by the
 * host's lock), and the index is empty.  Tasks of the pool read the chunks, a part each, and sort
 * the entries; the sorted runs are merged into a tree that is made leaf by leaf.  In a build that
 * is not exclusive other transactions write meanwhile, and each entry is added on its own.  The
 * host then waits, between creating the index and building it, for the end of every transaction
 * that had written to the table before.
 *
 * The tree of a primary key is filled at a start, when all versions are settled and no other
 * session knows the table: by an exclusive build.
 *
 * The caller begins, steps until the build is over, and ends.  It may end at any time; if it ends
 * early, the index has to be dropped.
 */
#ifndef TG_INDEX_BUILD_H
#define TG_INDEX_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/txn/wait.h"

typedef struct tg_index_build tg_index_build;

typedef struct tg_index_build_config
{
	tg_index *index; /* NULL: the primary key of table, which has one */
	tg_table *table; /* unless index */
	bool exclusive;
	void *waiter;	/* for tg_host_wake */
	uint64_t owner; /* as of a scan's job */
	/* limit of a job's runs, in bytes; beyond it entries are added one by one; 0: none */
	uint64_t memory_max;
	/* TG_ESSENTIAL: the index was there before, and is made anew even beyond the limit */
	tg_claim claim;
	/* only tg_index_build_cancel stops it: it is nobody's statement, and users cannot cancel it */
	bool goes_on;
} tg_index_build_config;

typedef enum tg_index_build_stage
{
	TG_BUILD_READS,	   /* chunks */
	TG_BUILD_LOADS,	   /* entries into the tree; not while others write */
	TG_BUILD_VERIFIES, /* that no key occurs twice; only while other transactions write */
} tg_index_build_stage;

/* The outcome of a step. */
typedef struct tg_index_build_report
{
	/* TG_BUSY: wait until the waiter is woken; if false, wait names the transaction */
	bool sleep;
	tg_wait wait;	  /* TG_BUSY, if a transaction's end decides whether a key occurs twice */
	uint32_t rows[2]; /* TG_EXISTS: two rows with the same key of a unique index */
	/*
	 * exclusive: the newest version of one of them, for the message; valid while the table is
	 * locked
	 */
	tg_version twin;
	tg_index_build_stage stage; /* for a view of progress */
	uint64_t done;				/* chunks */
	uint64_t expected;
	uint64_t loaded; /* entries */
	uint64_t to_load;
} tg_index_build_report;

/* TG_NO_MEMORY.  Outside an epoch, as the rest. */
extern tg_status tg_index_build_begin(tg_session *session, const tg_index_build_config *config,
									  tg_index_build **build_out) TG_MUST_USE;

/*
 * Does a part of the work, some milliseconds.  TG_AGAIN: call again, after a look at interrupts;
 * TG_BUSY: call again after a wait; TG_OK: the index is complete, and, if unique, no key occurs
 * twice; TG_EXISTS: a key occurs twice; TG_TOO_LARGE: a key is too large; TG_NO_MEMORY,
 * TG_OVER_QUOTA.
 */
extern tg_status tg_index_build_step(tg_session *session, tg_index_build *build,
									 tg_index_build_report *report_out) TG_MUST_USE;

/*
 * After TG_EXISTS in a build that is not exclusive: a version of one of the two rows that the
 * snapshot sees and that has the key.  NONE: there is no such version; another step then tells
 * whether there are still two rows.  Inside an epoch.
 */
extern tg_version tg_index_build_twin(const tg_index_build *build, const tg_snapshot *snapshot,
									  const tg_index_build_report *report);

/*
 * Stops the tasks of the pool that have a part of the work.  True: they may still be at it, and
 * have the table; steps are TG_BUSY until they are not, and then end with TG_CANCELLED.
 */
extern bool tg_index_build_cancel(tg_session *session, tg_index_build *build);

/*
 * At any time, also in the middle; cannot fail.  Tasks that were not waited for end a little later.
 */
extern void tg_index_build_end(tg_session *session, tg_index_build *build);

#endif /* TG_INDEX_BUILD_H */
