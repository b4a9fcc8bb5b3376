/*
 * index_build_internal.h
 *	  The part that the files behind index_build.h share.
 */
#ifndef TG_INDEX_BUILD_INTERNAL_H
#define TG_INDEX_BUILD_INTERNAL_H

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/index/index.h"
#include "runtime/exec/index_build.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"
#include "runtime/btree/btree_load.h"
#include "runtime/order/key.h"
#include "runtime/index/entry.h"

#define TG_BUILD_EPOCH_ENTRIES 512 /* entries that one epoch looks at */

/* Flags of an entry. */
#define TG_ENTRY_LIVE 1		/* of its row's live version */
#define TG_ENTRY_DISTINCT 2 /* it has a NULL that no other is equal to */

typedef struct tg_run_record
{
	uint64_t word;	/* eight bytes of the entry, big-endian; once the run is sorted, of no use */
	uint32_t at;	/* of the entry's bytes */
	uint16_t bytes; /* of the entry */
	uint16_t flags;
} tg_run_record;

_Static_assert(sizeof(tg_run_record) == 16, "a record is 16 bytes");

typedef struct tg_build_run
{
	struct tg_build_run *next;
	tg_run_record *records;
	unsigned char *bytes;
	uint32_t count;
	uint32_t capacity;
	uint32_t used;
	uint32_t room;
	uint32_t prefix;	  /* bytes that all entries have in common */
	uint32_t position;	  /* RECHECK: of the next record */
	uint32_t dead_count;  /* entries that are of no live version */
	uint32_t entry_bytes; /* of each; 0: they differ */
	uint32_t last_row;	  /* until it is sorted: of the last entry */
	bool rows_grow;		  /* until it is sorted: never is a row's number below that before it */
} tg_build_run;

/* The place in a run that is merged; word is that of its next entry. */
typedef struct tg_merge_place
{
	uint64_t word;
	const tg_build_run *run;
	uint32_t position;
	uint32_t end;
} tg_merge_place;

/* MERGE: the keys from low up to the beginning of the next part. */
typedef struct tg_build_part
{
	const unsigned char *low; /* in a run; NULL: the least keys */
	uint32_t low_bytes;
	uint32_t live_row;	  /* of the last key, a row that has it; or TG_ROW_MAX */
	tg_btree_load *load;  /* NULL: not begun, or joined */
	tg_merge_place *heap; /* runs by their next record, the least first */
	uint32_t heap_count;
	uint32_t last_bytes;
	uint64_t last_word;
	const unsigned char *last; /* the entry loaded last, in a run */
	uint32_t twins[2];		   /* TG_EXISTS */
} tg_build_part;

typedef enum tg_build_phase
{
	TG_BUILD_START,
	TG_BUILD_COLLECT,
	TG_BUILD_MERGE,
	TG_BUILD_RECHECK,
	TG_BUILD_ADD,
	TG_BUILD_VERIFY,
	TG_BUILD_DONE
} tg_build_phase;

typedef struct tg_build_task
{
	tg_task task; /* first */
	tg_index_build *build;
	tg_build_part *part; /* MERGE: in hand */
} tg_build_task;

struct tg_index_build
{
	uint32_t next_chunk; /* atomic: tasks count it up, by morsels */
	uint32_t next_part;	 /* atomic, likewise */
	uint64_t done;		 /* atomic: chunks, and entries that are loaded, for a view of progress */
	uint64_t loaded;

	/* constant once it has begun */
	tg_table *table TG_CACHE_ALIGNED; /* a reference */
	tg_index *index;				  /* a reference; NULL: the primary key */
	bool exclusive;
	void *waiter;
	uint64_t owner;
	uint64_t memory_max; /* of a job; 0: no bound */
	tg_claim claim;		 /* of entries that are added one by one */
	bool goes_on;
	uint32_t stops; /* atomic: goes_on, and the caller has stopped it */
	unsigned own;	/* the caller's transaction */
	uint32_t chunk_count;
	uint32_t morsel_chunks;

	uint32_t references; /* atomic */
	tg_build_run *runs;	 /* atomic: a stack; the caller's once all is collected */

	/* the caller's */
	tg_build_phase phase;
	tg_job *job; /* NULL: in place */
	tg_turn (*run_task)(tg_task *task, tg_worker *worker);
	unsigned task_count;
	unsigned spawned_count; /* tasks that are on their way; first task only */
	tg_build_task *tasks;
	tg_build_part *parts; /* MERGE; each is one task's */
	uint32_t part_count;  /* constant while the tasks run, as is the next one */
	/* bytes that the entries of all runs have in common; the words are behind them */
	uint32_t prefix;
	tg_build_run *rechecked; /* RECHECK: run in hand */
	uint32_t at_chunk;		 /* ADD */
	tg_btree_cursor cursor;	 /* VERIFY */
	bool in_verify;
	bool has_last;		 /* VERIFY: the last key */
	bool last_is_judged; /* its rows have been */
	uint32_t last_bytes;
	unsigned char last[TG_KEY_BYTES_MAX];
	uint64_t to_load;
};

/* --- index_build.c --- */

/* Whether its tasks are to end; of a build that goes on, a user's cancel is not asked. */
static inline bool
tg_build_is_stopped(const tg_index_build *build, const tg_job *job)
{
	return build->goes_on ? tg_load_relaxed(&build->stops) : tg_job_is_cancelled(job);
}

/* What is built, and whether no key may occur twice. */
static inline tg_btree *
tg_build_tree(const tg_index_build *build)
{
	return build->index != NULL ? build->index->tree : build->table->index;
}

static inline bool
tg_build_is_unique(const tg_index_build *build)
{
	return build->index == NULL || build->index->spec.unique;
}

/* The bytes of an entry that the tree gets: a primary key is without the row. */
static inline unsigned
tg_build_tree_bytes(const tg_index_build *build, unsigned entry_bytes)
{
	return build->index != NULL ? entry_bytes : entry_bytes - TG_INDEX_ROW_BYTES;
}

/* All rows have their entries. */
static inline void
tg_build_is_filled(const tg_index_build *build)
{
	if (build->index != NULL)
		tg_store_release(&build->index->filling, false);
}

/* The entries of a version: their keys, one after the other, and their common fields. */
typedef struct tg_found_entries
{
	tg_index_keys keys;
	uint32_t row;
	uint16_t flags;
} tg_found_entries;

/*
 * Finds the entries of a slot's version, if it should have some: TG_OK; TG_NOT_FOUND; TG_TOO_LARGE.
 * Inside an epoch.
 */
extern tg_status tg_build_find_entries(tg_session *session, const tg_index_build *build, const tg_chunk *chunk,
									   const tg_header *headers, unsigned slot, tg_found_entries *found) TG_MUST_USE;

/* Memory is short for runs: changes to ADD, which needs memory for the tree alone.  No job runs. */
extern tg_status tg_build_go_slow(tg_session *session, tg_index_build *build);

/*
 * Starts a job of at most so many tasks, which run run_task.  False: there is no pool, or no room.
 */
extern bool tg_build_start_job(tg_session *session, tg_index_build *build,
							   tg_turn (*run_task)(tg_task *task, tg_worker *worker), uint32_t task_limit);

/* Waits for a job: TG_BUSY, or the status of its end; the job is then released. */
extern tg_status tg_build_wait_job(tg_session *session, tg_index_build *build,
								   tg_index_build_report *report) TG_MUST_USE;

static inline uint32_t
tg_entry_row(const unsigned char *entry, size_t bytes)
{
	const unsigned char *row = entry + bytes - TG_INDEX_ROW_BYTES;

	return (uint32_t) row[0] << 24 | (uint32_t) row[1] << 16 | (uint32_t) row[2] << 8 | row[3];
}

static inline void
tg_build_report_twins(tg_index_build *build, uint32_t a, uint32_t b, tg_index_build_report *report)
{
	report->rows[0] = a;
	report->rows[1] = b;
	report->twin = tg_load_acquire(tg_row_head(build->table, b));
}

/* --- index_run.c --- */

extern void tg_run_free(tg_session *session, tg_build_run *run);

/*
 * Collects the entries of chunks [first, end) into sorted runs, as many as needed.  TG_NO_MEMORY,
 * TG_TOO_LARGE.
 */
extern tg_status tg_run_collect(tg_session *session, tg_index_build *build, uint32_t first, uint32_t end) TG_MUST_USE;

/*
 * An array of entries has so many bytes behind the last one, for code that reads or writes whole
 * words.
 */
#define TG_RUN_SLACK 16

/* The memory that the job uses for it. */
static inline uint64_t
tg_run_memory(const tg_build_run *run)
{
	return (uint64_t) run->capacity * sizeof(tg_run_record) + run->used + TG_RUN_SLACK;
}

/* Eight bytes of an entry from an offset on, big-endian; zeros behind the entry's end. */
static inline uint64_t
tg_run_word(const unsigned char *entry, unsigned bytes, unsigned from)
{
	unsigned left = bytes - from;
	uint64_t word;

	memcpy(&word, entry + from, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	if (tg_likely(left >= sizeof(word)))
		return word;
	return left == 0 ? 0 : word & UINT64_MAX << (64 - 8 * left);
}

static inline const unsigned char *
tg_run_bytes(const tg_build_run *run, const tg_run_record *record)
{
	return run->bytes + record->at;
}

/* --- index_merge.c --- */

extern void tg_build_free_parts(tg_session *session, tg_index_build *build);

/* --- index_merge.c, index_add.c: steps of their phases, as tg_index_build_step --- */

extern tg_status tg_build_step_merge(tg_session *session, tg_index_build *build,
									 tg_index_build_report *report) TG_MUST_USE;
extern tg_status tg_build_step_recheck(tg_session *session, tg_index_build *build) TG_MUST_USE;
extern tg_status tg_build_step_add(tg_session *session, tg_index_build *build) TG_MUST_USE;
extern tg_status tg_build_step_verify(tg_session *session, tg_index_build *build,
									  tg_index_build_report *report) TG_MUST_USE;

#endif /* TG_INDEX_BUILD_INTERNAL_H */
