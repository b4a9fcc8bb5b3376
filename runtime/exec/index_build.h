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
#include "runtime/storage/index.h"
#include "runtime/txn/txn.h"

typedef struct tg_index_build tg_index_build;

typedef struct tg_index_build_config
{
	tg_index *index;
	bool exclusive;
	void *waiter;	/* the host's word for tg_host_wake */
	uint64_t owner; /* as of a scan's job */
} tg_index_build_config;

/* What a step met. */
typedef struct tg_index_build_report
{
	bool sleep;		  /* TG_BUSY: nothing to wait for but the waiter being woken; else wait says for whom */
	tg_wait wait;	  /* TG_BUSY, if somebody's end decides whether a key is there twice */
	uint32_t rows[2]; /* TG_EXISTS: two rows with the same key of a unique index */
	tg_version twin;  /* the newest version of one of them, for the message; valid while the table is locked */
	uint64_t done;	  /* chunks, for a view of progress */
	uint64_t expected;
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

/* At any time, also in the middle; cannot fail. */
extern void tg_index_build_end(tg_session *session, tg_index_build *build);

#endif /* TG_INDEX_BUILD_H */
