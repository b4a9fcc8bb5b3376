/*
 * availability.h
 *	  Whether tables can be reached, and what is shown of how they are kept durable.
 *
 *	EMPTY -> LOADING -> OPEN		the worker, once in the life of PostgreSQL's shared memory
 *					 -> REFUSED
 *					 -> FOLLOWING -> OPEN, REFUSED		on a hot standby, until it is promoted
 */
#ifndef TSURUGI_AVAILABILITY_H
#define TSURUGI_AVAILABILITY_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "runtime/base/names.h"
#include "runtime/durable/load.h"

typedef enum tsurugi_stage
{
	TSURUGI_EMPTY,
	TSURUGI_LOADING,
	TSURUGI_OPEN,
	TSURUGI_FOLLOWING,
	TSURUGI_REFUSED /* not to be opened before the next start */
} tsurugi_stage;

/* What the worker tells.  It writes these under the lock; others get a copy. */
typedef struct tsurugi_durability
{
	tsurugi_stage stage;
	int worker_pid; /* 0: it does not run */
	XLogRecPtr durable;
	uint64 base;
	/* by the load */
	int64 tables_loaded;
	int64 rows_loaded;
	int64 bytes_loaded;
	int64 changes_loaded;
	int64 load_us;
	/* while tables are LOADING (runtime/durable/load.h) */
	tg_load_phase phase;
	int64 phase_done;
	int64 phase_total;
	int64 checkpoints_held;
	int64 longest_hold_us;
	int refusal;			/* SQLSTATE, if tables are REFUSED */
	char error[512];		/* the last one, of a base among them */
	TimestampTz error_time; /* 0: there was none */
} tsurugi_durability;

/* When the library is loaded; size of the state in shared memory; its set-up at server start. */
extern void tsurugi_availability_init(void);
extern Size tsurugi_availability_shared_bytes(void);
extern void tsurugi_availability_shared_create(void);

/* What the load does in a phase, as the view says it. */
extern const char *tsurugi_load_phase_name(tg_load_phase phase);

/* A copy of what the worker has told last. */
extern tsurugi_durability tsurugi_durability_get(void);

/* The worker begins, and ends. */
extern void tsurugi_availability_worker_begin(void);
extern void tsurugi_availability_worker_end(void);

/*
 * Another stage; wakes the processes that wait for it.  If the startup process has refused tables
 * while the worker was at work, they stay so.
 */
extern void tsurugi_stage_set(tsurugi_stage stage);

/* Tells the rest: the fields of *told but stage and worker_pid. */
extern void tsurugi_durability_tell(const tsurugi_durability *told);

/* Tells an error that is not the worker's last one only, of now. */
extern void tsurugi_durability_tell_error(const char *text);

/* --- a standby -------------------------------------------------------------------------------- */

/*
 * Redo has passed on everything of the log up to there, in the journal, and all that changes
 * definitions is below the other position; wakes the worker.  The startup process.
 */
extern void tsurugi_passed_on(XLogRecPtr position, XLogRecPtr defined);
extern XLogRecPtr tsurugi_passed_on_get(void);

/*
 * Redo begins: the journal is open, and what it has is passed on.  PostgreSQL says so when there is
 * a record to replay; a hot standby may be open by then.
 */
extern void tsurugi_redo_begins(void);
extern bool tsurugi_redo_has_begun(void);

/* The worker has applied everything up to there; wakes sessions. */
extern void tsurugi_applied(XLogRecPtr position);
extern XLogRecPtr tsurugi_applied_get(void);

/*
 * Whether a wait since then has lasted longer than a reader may hold up redo: the worker and the
 * sessions do not wait longer for each other.
 */
extern bool tsurugi_wait_is_too_long(TimestampTz since);

/* The worker waits for readers from before a time; 0: it does not. */
extern void tsurugi_readers_awaited(tg_time before);

/* The same sessions, if they are to look at something else. */
extern void tsurugi_waiters_wake(void);

/*
 * A time (tg_clock_us) by which the record that ends at this position in the journal had been
 * replayed, because redo had passed on one behind it; or now.
 */
extern uint64 tsurugi_shown_us(XLogRecPtr position);

/* How long ago redo has passed on what is not applied yet, about; 0: all is. */
extern uint64 tsurugi_behind_us(void);

/* --- requests for a base ---------------------------------------------------------------------- */

/*
 * Asks for a base, and waits until it is there.  Errors: why it could not be written; 57P03 after
 * load_wait without a worker.
 */
extern void tsurugi_base_request(void);

/*
 * The worker: the numbers of the last request, and of the last one that is served, by this worker
 * or one before it; and that all up to one are served by a base, or failed, with an errno (0: files
 * have a fault) and a text, which the view has, too; number: the newest base.
 */
extern uint64 tsurugi_base_wanted(void);
extern uint64 tsurugi_base_served(void);
extern void tsurugi_base_tell(uint64 served, uint64 number);
extern void tsurugi_base_tell_failure(uint64 served, uint64 number, int error, const char *text);

/*
 * On a standby: the worker has finished the files of a base, and the state is to name it; which one
 * that is, or 0; the startup process has done so (0).
 */
extern void tsurugi_base_offer(uint64 number);
extern uint64 tsurugi_base_offered(void);

#endif /* TSURUGI_AVAILABILITY_H */
