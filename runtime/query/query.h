/*
 * query.h
 *	  A query: its steps are run by tasks of the pool, as a job, or in place, by the requester.
 *	  Its result is a set of groups, which the requester reads when the query has ended, or rows, as
 *	  they come, or sorted when it has ended.
 *
 * The requester makes a query, puts the plan into its memory, starts it, and waits until it has
 * ended, or runs it until it has; then it reads the groups, and ends it.  Rows it takes without
 * waiting for the end.  It may end it at any moment.
 *
 * A query that cannot be computed here ends with TG_UNFIT, or, when it needs more memory than its
 * job may have, with TG_NO_MEMORY.  Nothing has been handed out by then, so the host computes it in
 * its own way.  Once rows have been handed out, a query ends early only where it is cancelled or
 * the pool, which runs it, is stopped.
 *
 * Rows that have no room in its memory go to temporary files, if the host says where: those that
 * are sorted, groups, and builds of joins.  The files are removed when the requester ends the
 * query.
 *
 * A query with feeds gets rows of the requester's while it runs, as it asks for them; see below.
 *
 * A query that stores rows does so in the requester's transaction.  Unless they are kept, its end
 * takes them back.
 */
#ifndef TG_QUERY_H
#define TG_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/txn/snapshot.h"

typedef struct tg_plan tg_plan;		  /* plan.h */
typedef struct tg_vectors tg_vectors; /* vectors.h */
typedef struct tg_query tg_query;
typedef struct tg_total tg_total; /* total.h */

#define TG_SPILL_DIRECTORIES_MAX 8
#define TG_SPILL_NAME_BYTES 64
#define TG_SPILL_PATH_BYTES 1024

/* Where rows go that have no room in the query's memory; what it points to is copied. */
typedef struct tg_spill_config
{
	const char *const *directories; /* used in turn; the last part of one is made if it is not there */
	unsigned directory_count;		/* at least 1 */
	const char *name;				/* the n-th file is <directory>/<name>.<n>, which nobody else uses */
	uint64_t bytes_max;				/* of all files together */
	unsigned file_mode;
	unsigned directory_mode;
} tg_spill_config;

typedef struct tg_query_config
{
	tg_snapshot snapshot; /* published by the caller's session from the start to the end */
	unsigned tasks;		  /* of a step, at most; 0: one per worker */
	/*
	 * The requester runs it: the pool need not be there.  Its session has the tables, and stays in
	 * its place from the start to the end; nothing else knows of the query.
	 */
	bool in_place;
	bool (*is_interrupted)(void); /* in place: tg_query_run is to come back soon */
	void *waiter;				  /* for tg_host_wake when it has ended */
	uint64_t owner;				  /* as of a job */
	uint32_t object;
	uint64_t memory_max; /* bytes; 0: no bound */
	/* NULL: it does not spill, but ends with TG_NO_MEMORY */
	const tg_spill_config *spill;
	/*
	 * Stores rows: the requester's writer, which may lend its transaction for the plan's table
	 * (txn/piece.h), and does not write meanwhile.  NULL: it stores none.
	 */
	const tg_writer *writer;
} tg_query_config;

/*
 * Whether a query that is expected to read so many rows, of all steps, is to run in place: handing
 * it to the pool would take longer, or the settings have the session do so much itself, or the pool
 * does not run.
 */
extern bool tg_query_runs_in_place(uint64_t rows);

/*
 * Makes a query; the caller's alone until it is started.  A snapshot with exclusions is copied.
 * TG_NO_MEMORY, TG_FULL.
 */
extern tg_status tg_query_create(tg_session *session, const tg_query_config *config, tg_query **query_out) TG_MUST_USE;

/*
 * Memory for the plan, 64-byte aligned, until the query has ended; zeroed, or not.  NULL: refused.
 * Tasks take theirs in the same way.
 */
extern void *tg_query_alloc(tg_session *session, tg_query *query, size_t bytes);
extern void *tg_query_take(tg_session *session, tg_query *query, size_t bytes);

/*
 * Starts it with a complete plan; it has references on the tables of its own.  TG_STOPPED,
 * TG_FULL, TG_NO_MEMORY: nothing has run, and the caller ends it.
 */
extern tg_status tg_query_start(tg_session *session, tg_query *query, const tg_plan *plan) TG_MUST_USE;

/*
 * Goes on with a query in place, for so many batches at most.  TG_OK: it has ended well; TG_AGAIN:
 * it goes on, after a look at interrupts, or when rows that are there have been taken; else why it
 * has failed, as tg_query_poll.
 */
extern tg_status tg_query_run(tg_session *session, tg_query *query, unsigned batches) TG_MUST_USE;

/*
 * TG_OK: it has ended well, the groups can be read; TG_BUSY: not yet, the waiter will be woken, if
 * it is not the requester that runs it; else why it has failed: TG_UNFIT, TG_NO_MEMORY,
 * TG_CANCELLED; TG_STOPPED: the pool has been stopped meanwhile; TG_IO: its temporary files
 * (tg_query_spill_fault); or for what reason a row cannot be stored by a task (TG_EXISTS: also that
 * another transaction may come to have its key).
 */
extern tg_status tg_query_poll(const tg_query *query) TG_MUST_USE;

/*
 * The next group, in no order, unless the last step sorts groups.  key_nulls and keys have the
 * sink's key_count elements, totals aggregate_count: the caller's, to be filled.  TG_OK;
 * TG_NOT_FOUND: there are no more; TG_IO: as of tg_query_poll.  A query without keys has exactly
 * one group.  Texts point into the tables' blobs.
 */
extern tg_status tg_query_next(tg_query *query, tg_value *keys, bool *key_nulls, tg_total *totals) TG_MUST_USE;

/*
 * The next rows of a query whose last step is a DELIVER, in no order, or a SORT: a vector for each
 * of the sink's fields, the values as they are stored.  They stay until the next call; strings
 * point into the tables' blobs.  TG_OK; TG_BUSY: none yet, the waiter will be woken; TG_NOT_FOUND:
 * there are no more; else why it has failed, as tg_query_poll.
 */
extern tg_status tg_query_rows(tg_session *session, tg_query *query, const tg_vectors **rows_out) TG_MUST_USE;

/* Rows that a query wants of its requester. */
typedef struct tg_feed_call
{
	unsigned step;	 /* whose source they are */
	bool from_start; /* the rows of this feed begin anew, in any order: it reads them once more */
	/*
	 * To be filled with the next rows, from count 0 on; as stored values, kinds up to 8 bytes
	 * sign-extended.  Strings are in memory of tg_query_feed_bytes.
	 */
	tg_vectors *rows;
} tg_feed_call;

/*
 * Whether the query has room for rows of a feed.  Each call that it makes is answered by
 * tg_query_feed_offer, or the query ended, before the next one is asked for.  The waiter is woken
 * when there is room again.  A query with feeds in place goes on (tg_query_run) only for as long as
 * it has rows; it then comes back with TG_AGAIN.
 */
extern bool tg_query_feed_wants(tg_query *query, tg_feed_call *call_out);

/* The rows are complete; is_last: the feed has no more. */
extern void tg_query_feed_offer(tg_session *session, tg_query *query, const tg_feed_call *call, bool is_last);

/* Memory for a string of these rows, aligned to 8, until the query's end.  NULL: refused. */
extern void *tg_query_feed_bytes(tg_session *session, tg_query *query, size_t bytes);

/*
 * The rows that a query has stored become the newest writes of the requester's transaction; once it
 * has ended well.  Returns their number.
 */
extern uint64_t tg_query_keep(tg_session *session, tg_query *query);

/*
 * The requester needs no more: a job that still runs is cancelled, and this waits until no task
 * reads any more, which takes the time of a batch.  Figures can be read afterwards.
 */
extern void tg_query_stop(tg_session *session, tg_query *query);

/* Figures of a step, for EXPLAIN ANALYZE; after the end. */
typedef struct tg_step_report
{
	uint64_t rows_in;		 /* that the snapshot saw in its table, in chunks that were read */
	uint64_t rows_out;		 /* that reached the sink */
	uint64_t rows_kept;		 /* of the build; or groups, or rows handed out, or stored */
	uint64_t elapsed_us;	 /* from its beginning to its end */
	uint64_t spilled;		 /* bytes that it has written to temporary files */
	uint64_t chunks_skipped; /* of its table: it was known that no row would have been left */
	uint64_t keys_looked_up; /* of a build, in an index: no other row of its table was read */
} tg_step_report;

typedef struct tg_query_report
{
	bool in_place;
	unsigned tasks;	 /* that a step could have */
	uint64_t memory; /* bytes */
} tg_query_report;

extern tg_query_report tg_query_report_get(const tg_query *query);
extern tg_step_report tg_query_step_report(const tg_query *query, unsigned step);

/* The bytes of its temporary files, as of now. */
extern uint64_t tg_query_spilled(const tg_query *query);

/*
 * The next temporary file from a number on, which becomes its own, and its bytes; once the query
 * has been stopped.  False: there are no more.
 */
extern bool tg_query_spill_file(const tg_query *query, uint64_t *number_inout, char *path, size_t path_bytes,
								uint64_t *bytes_out);

typedef enum tg_spill_kind
{
	TG_SPILL_NO_FAULT,
	TG_SPILL_LIMIT, /* its files would have more than bytes_max */
	TG_SPILL_MAKE,	/* a file could not be made, or opened for writing, */
	TG_SPILL_OPEN,	/* opened for reading, */
	TG_SPILL_WRITE, /* written, */
	TG_SPILL_READ	/* or read */
} tg_spill_kind;

/* Why a query has ended with TG_IO. */
typedef struct tg_spill_fault
{
	tg_spill_kind kind;
	int error; /* an errno; LIMIT: 0 */
	char path[TG_SPILL_PATH_BYTES];
} tg_spill_fault;

extern void tg_query_spill_fault(const tg_query *query, tg_spill_fault *fault_out);

/*
 * Stops it, and ends the requester's side; at any moment, also after a failure.  What it has read
 * may then be undone or freed.
 */
extern void tg_query_end(tg_session *session, tg_query *query);

#endif /* TG_QUERY_H */
