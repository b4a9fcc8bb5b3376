/*
 * filler.h
 *	  From PostgreSQL's log to the journal: one function that takes a record.
 *
 * One process at a time fills the journal: the startup process in recovery, the worker while the
 * server runs.  What the first one has filled is found by the second in the files.
 */
#ifndef TSURUGI_FILLER_H
#define TSURUGI_FILLER_H

#include "access/xlogdefs.h"
#include "access/xlogreader.h"

#include "runtime/durable/files.h"
#include "runtime/durable/state.h"
#include "runtime/durable/undecided.h"

/* In the data directory, which is where each process works. */
#define TSURUGI_DIRECTORY "pg_tsurugi"
#define TSURUGI_JOURNAL_DIRECTORY TSURUGI_DIRECTORY "/journal"

/* What the files are. */
typedef enum tsurugi_files
{
	TSURUGI_FILES_WHOLE,
	TSURUGI_FILES_COPIED, /* while they were written, so they may be of different times */
	TSURUGI_FILES_DAMAGED /* perhaps; what cannot be read is given up */
} tsurugi_files;

/*
 * Opens the journal to fill it, at the place up to which it is durable; makes the directories where
 * they are missing.  from: where the log is read from; InvalidXLogRecPtr: what it has of ours was
 * taken.  False: the files are damaged, or older than that, or cannot be read or written
 * (tsurugi_filler_report says how); the latter is FATAL in recovery, which could not be continued
 * later.
 */
extern bool tsurugi_filler_open(tsurugi_files files, XLogRecPtr from);

/*
 * Opens the journal behind all that tables have followed, and that the startup process has made
 * durable.  The next record begins a file; nothing of what the journal has is read.  The
 * transactions are those that are undecided there.  False: as above.
 */
extern bool tsurugi_filler_go_on(XLogRecPtr last, XLogRecPtr end, const tg_undecided *undecided);
extern bool tsurugi_filler_is_open(void);

/*
 * The state, and where the last record of the journal ends, as tsurugi_filler_open would find them
 * in whole files; but opens nothing.  False: as above.
 */
extern bool tsurugi_filler_look(XLogRecPtr from, tg_state *state_out, XLogRecPtr *end_out);
extern void tsurugi_filler_close(void);

/*
 * Takes the record that the reader has read: it is added to the journal if it is one of ours, or
 * the outcome of a transaction in doubt, and the journal does not have it.  Records come in the
 * order of the log.  Errors: out of memory.
 */
extern void tsurugi_filler_take(XLogReaderState *record);

/*
 * Writes what was taken to the journal's file, so that readers find it.  unless_less: not if it is
 * less than so many bytes.  False: it could not, and may be tried again.  PANIC: a sync has failed.
 */
extern bool tsurugi_filler_write(size_t unless_less);

/*
 * Writes and makes durable what was taken: all records of ours that begin before a position.
 * clean: the log has no others.  False: it could not, and may be tried again.  PANIC: a sync of the
 * journal has failed.
 */
extern bool tsurugi_filler_sync(XLogRecPtr position, bool clean);

/* Where the last record ends that the journal has. */
extern XLogRecPtr tsurugi_filler_end(void);

/* Behind it no record of the journal changes definitions, nor decides of any. */
extern XLogRecPtr tsurugi_filler_defined(void);

/* D: the position of the last successful tsurugi_filler_sync, in this process or another one. */
extern XLogRecPtr tsurugi_filler_durable(void);

/* The state as it was read or written last. */
extern tg_state tsurugi_filler_state(void);

/* Names another base in the state, durably.  False: it could not. */
extern bool tsurugi_filler_set_base(uint64 number);

/* Removes what the journal has before a position, as far as possible. */
extern void tsurugi_filler_forget(XLogRecPtr position);

/* Bytes of records that this process has added. */
extern uint64 tsurugi_filler_bytes(void);

/* Whether the journal has more than up to D. */
extern bool tsurugi_filler_is_ahead(void);

/* The last error; as a text; and a report of it. */
extern const tg_file_error *tsurugi_filler_error(void);
extern void tsurugi_filler_describe(char *text, size_t bytes);
extern void tsurugi_filler_report(int level);

#endif /* TSURUGI_FILLER_H */
