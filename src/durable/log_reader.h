/*
 * log_reader.h
 *	  Reads PostgreSQL's log while the server runs, as far as it is flushed.
 *
 * The worker only.
 */
#ifndef TSURUGI_LOG_READER_H
#define TSURUGI_LOG_READER_H

#include "access/xlogdefs.h"

/* Begins with the record that starts there. */
extern void tsurugi_log_reader_begin(XLogRecPtr start);
extern void tsurugi_log_reader_end(void);

/*
 * Hands the records that are there to the filler (filler.h), up to some megabytes.  False: there
 * are more.  FATAL: the log cannot be read.
 */
extern bool tsurugi_log_reader_read(void);

/* Where the last record ended that was read. */
extern XLogRecPtr tsurugi_log_reader_position(void);

#endif /* TSURUGI_LOG_READER_H */
