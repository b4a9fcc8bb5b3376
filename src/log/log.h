/*
 * log.h
 *	  Records of this extension in PostgreSQL's log.
 *
 * Each process that inserts a record says so first: it is LOGGING.  The log is open while the
 * worker fills the journal from it, so that no checkpoint of PostgreSQL's completes before the
 * journal has the records below it.  While the log is closed nobody inserts a record, except for
 * the worker itself.
 *
 *	begin -> record, record ... -> end		(log.c has the rules)
 */
#ifndef TSURUGI_LOG_H
#define TSURUGI_LOG_H

#include "access/rmgr.h"
#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "runtime/durable/record.h"

typedef struct tg_bytes tg_bytes; /* bytes.h */

/* The number of the resource manager, until one is registered for this extension. */
#define TSURUGI_RM_ID RM_EXPERIMENTAL_ID

/* The bits of a record's info that say its kind, for readers that see only the info. */
#define TSURUGI_RECORD_INFO(kind) ((uint8) ((kind) << 4))
#define TSURUGI_RECORD_KIND(info) ((tg_record_kind) ((info) >> 4 & 7))

/* Beside them, in the info of a COMMIT: its session waits until standbys have applied it. */
#define TSURUGI_RECORD_AWAITED ((uint8) 0x80)

/* --- a backend --------------------------------------------------------------------------- */

/*
 * This backend is LOGGING from here on, until tsurugi_log_end; it must not be before.  with_xid:
 * PostgreSQL's commit or abort record decides about what is logged.  Waits while the log is closed;
 * interrupts are served.  57P03 after tsurugi_fdw.load_wait.
 */
extern void tsurugi_log_begin(bool with_xid);

/* The same without a wait, unless it is LOGGING anyway; false: the log is closed. */
extern bool tsurugi_log_begin_if_open(void);

/* It is not, or not any more.  Cannot fail; called at each end of a transaction, too. */
extern void tsurugi_log_end(void);

/* 53100 if the journal is as long as it may become.  Before changes of rows are logged. */
extern void tsurugi_log_check_full(void);

/*
 * R7 of log.c.  Whether this commit of logged changes, if it has no transaction id, should take
 * one: then PostgreSQL's own record of it tells the time.
 */
extern bool tsurugi_log_takes_time(void);

/*
 * 54000 if a record with so many bytes of definitions and rows could be written, but not be read.
 */
extern void tsurugi_log_check_size(size_t bytes);

/*
 * Inserts a record, and returns its end in the log; *start_out (may be NULL): its start.  The
 * backend is LOGGING, and has checked the size.  first_part: where the transaction's first PART
 * starts, 0 without one; NOW has none.  Allocates nothing, and may be called in a critical section;
 * there, as with PostgreSQL's own records, a failure is a PANIC.
 */
extern XLogRecPtr tsurugi_log_insert(tg_record_kind kind, uint64 first_part, const void *definitions,
									 size_t definition_bytes, const void *rows, size_t row_bytes,
									 XLogRecPtr *start_out);

/*
 * Inserts that the transaction with this first PART was aborted before its last record.  The
 * backend is LOGGING.  Allocates nothing.
 */
extern void tsurugi_log_insert_given_up(uint64 first_part);

/*
 * Logs definitions that nothing takes back: begins and ends by itself, unless the backend is
 * LOGGING.  Returns the end of the record.  Errors as tsurugi_log_begin.
 */
extern XLogRecPtr tsurugi_log_now(const tg_bytes *definitions);

/* Likewise, if that needs no wait.  Cannot fail. */
extern void tsurugi_log_now_if_open(const tg_bytes *definitions);

/* --- the worker ---------------------------------------------------------------------------- */

/*
 * Inserts a MARK, or a CLEAN_START with the numbers of the transactions that go on.  Returns its
 * end.
 */
extern XLogRecPtr tsurugi_log_insert_mark(void);
extern XLogRecPtr tsurugi_log_insert_clean_start(const tg_bytes *kept);

/* Opens the log, and wakes the processes that wait for that. */
extern void tsurugi_log_open(void);

/* Closes it.  From when nobody is LOGGING, no record enters the log. */
extern void tsurugi_log_close(void);
extern bool tsurugi_log_is_quiet(void);

/* Notes those that are LOGGING; and whether none of them is any more, in the same way. */
extern void tsurugi_log_note(void);
extern bool tsurugi_log_noted_have_ended(void);

/* Whether changes of rows are refused. */
extern void tsurugi_log_set_full(bool full);

/* Called at every look, while the log is open: lets a commit take an id when it is due. */
extern void tsurugi_log_ask_for_time(void);

/* --- waiting --------------------------------------------------------------------------------- */

/* tsurugi_fdw.load_wait, and whether a wait that began then has lasted as long. */
extern int tsurugi_load_wait_ms;
extern bool tsurugi_load_wait_is_over(TimestampTz since);

/* Defines the setting. */
extern void tsurugi_log_define(void);

/* Size of the state in PostgreSQL's shared memory; and its set-up at server start. */
extern Size tsurugi_log_shared_bytes(void);
extern void tsurugi_log_shared_create(void);

#endif /* TSURUGI_LOG_H */
