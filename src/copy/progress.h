/*
 * progress.h
 *	  Batches that run, loads and dumps, and how far they are: what the view shows.
 */
#ifndef TSURUGI_COPY_PROGRESS_H
#define TSURUGI_COPY_PROGRESS_H

#include "postgres.h"

#include "runtime/batch/progress.h"
#include "runtime/batch/tree.h"
#include "src/copy/load.h"

typedef struct tg_loader tg_loader; /* loader.h */
typedef struct tsurugi_batch tsurugi_batch;

/* In PostgreSQL's shared memory. */
extern Size tsurugi_batches_shared_bytes(void);
extern void tsurugi_batches_shared_create(void);

/*
 * A batch of this process begins; kind: a literal.  One that begins within another, in a trigger of
 * it, is not shown; then, as for one that is, the following functions are about the innermost one.
 */
extern tsurugi_batch *tsurugi_batch_begin(const char *kind, Oid relation);

/* It has ended, whether well or not.  Nothing happens at a second call.  Raises no error. */
extern void tsurugi_batch_end(tsurugi_batch *batch);

/* The same for PG_ENSURE_ERROR_CLEANUP. */
extern void tsurugi_batch_give_up(int code, Datum batch);

/*
 * It has ended well.  A cancel that was meant for it is raised now (57014), so that it does not hit
 * the session's next statement.
 */
extern void tsurugi_batch_succeed(tsurugi_batch *batch);

/* The number of the one that runs, among those of jobs. */
extern uint64 tsurugi_batch_job(void);

/*
 * It begins to run, or to run anew, in this way, a literal.  NIL: what it is going to read or write
 * is not known.
 */
extern void tsurugi_batch_expect(const char *way, const List *load_files);

/* It goes on in this way, a literal, with what it has done. */
extern void tsurugi_batch_goes_on(const char *way);

/* Where it counts what it has done; the second: NULL unless other processes reach it. */
extern tg_batch_progress *tsurugi_batch_progress(void);
extern tg_batch_progress *tsurugi_batch_shared_progress(void);

/*
 * PostgreSQL's COPY begins to read a file, whose rows it counts; NULL: it has ended, with so many
 * rows.
 */
extern void tsurugi_batch_copies(const tsurugi_load_file *file, uint64 rows);

/* Tasks of the pool begin to do it; NULL: they have ended, and the loader is going to end. */
extern void tsurugi_batch_loads(const tg_loader *loader);

/*
 * Shows what has been done so far as that of PostgreSQL's COPY, for pg_stat_progress_copy; nothing
 * else is shown there as long (plain.c).
 */
extern void tsurugi_batch_show_copy(void);

/* It has left out one more row. */
extern void tsurugi_batch_reject(void);

/* It fails, and undoes what it has begun, for this reason. */
extern void tsurugi_batch_abort(const char *reason);

/* One that is running, as the view shows it. */
typedef struct tsurugi_batch_report
{
	uint64 job;
	int process_id;
	Oid database;
	Oid role; /* of its session */
	Oid relation;
	const char *kind;
	const char *way; /* NULL: not known yet */
	bool is_aborting;
	const char *reason; /* why; in the current memory context */
	int64 files;		/* expected, as the following; -1: not known */
	int64 blocks;
	int64 bytes;
	int64 rows;
	int64 rejected;
	tg_batch_progress done;
} tsurugi_batch_report;

/* The i-th of tsurugi_batch_max().  False: there is none. */
extern int tsurugi_batch_max(void);
extern bool tsurugi_batch_report_get(int i, tsurugi_batch_report *report);

/* The same, with the nodes of its tree, as of tg_batch_tree_look; it has some while tasks do it. */
extern bool tsurugi_batch_nodes_get(int i, tsurugi_batch_report *report, tg_batch_node *nodes, unsigned *count_out);

/*
 * Cancels the statement of the batch with this number.  may: raises an error unless the user may
 * cancel what this process does.  False: none of this number runs.
 */
extern bool tsurugi_batch_cancel(uint64 job, void (*may)(int process_id));

#endif /* TSURUGI_COPY_PROGRESS_H */
