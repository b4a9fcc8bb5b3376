/*
 * index_build.h
 *	  Filling an index that has been created on a table with rows.
 *
 * The index is attached already (tg_index_create): what is written from then on
 * has its entries.  The build adds those of every version that was there.
 *
 * Exclusive: nobody else writes to the table until the build has ended (the host's
 * lock), and the index is empty.  Tasks of the pool read the chunks, a part each,
 * and sort what they find; the sorted runs are merged into a tree that is made
 * leaf by leaf.  Else others write meanwhile, and each entry is added on its own:
 * then the host waits, between creating the index and building it, for the end of every
 * transaction that had written to the table before.
 *
 * The caller begins, steps until the build is over, and ends.  It may end at any
 * time: then the index is to be dropped.
 */
#ifndef TG_INDEX_BUILD_H
#define TG_INDEX_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/index/index.h"
#include "runtime/txn/txn.h"

typedef struct tg_index_build tg_index_build;

typedef struct tg_index_build_config
{
	tg_index *index;
	bool exclusive;
	void *waiter;	/* the host's word for tg_host_wake */
	uint64_t owner; /* as of a scan's job */
} tg_index_build_config;

typedef enum tg_index_build_stage
{
	TG_BUILD_READS,	   /* chunks */
	TG_BUILD_LOADS,	   /* entries into the tree; not while others write */
	TG_BUILD_VERIFIES, /* that no key is there twice; only while others write */
} tg_index_build_stage;

/* What a step met. */
typedef struct tg_index_build_report
{
	bool sleep;		  /* TG_BUSY: nothing to wait for but the waiter being woken; else wait says for whom */
	tg_wait wait;	  /* TG_BUSY, if somebody's end decides whether a key is there twice */
	uint32_t rows[2]; /* TG_EXISTS: two rows with the same key of a unique index */
	tg_version
		twin; /* exclusive: the newest version of one of them, for the message; valid while the table is locked */
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
 * A part of the work, some milliseconds.  TG_AGAIN: call again (after a look at
 * interrupts); TG_BUSY: the same after a wait; TG_OK: the index is complete, and if
 * unique, nobody has a key twice; TG_EXISTS: somebody has; TG_TOO_LARGE: a key
 * is; TG_NO_MEMORY.
 */
extern tg_status tg_index_build_step(tg_session *session, tg_index_build *build,
									 tg_index_build_report *report_out) TG_MUST_USE;

/*
 * After TG_EXISTS while others write: a version of one of the rows that the snapshot sees and that has the key, or
 * NONE: then another step tells whether there are still two.  Inside an epoch.
 */
extern tg_version tg_index_build_twin(const tg_index_build *build, const tg_snapshot *snapshot,
									  const tg_index_build_report *report);

/* At any time, also in the middle; cannot fail. */
extern void tg_index_build_end(tg_session *session, tg_index_build *build);

#endif /* TG_INDEX_BUILD_H */
