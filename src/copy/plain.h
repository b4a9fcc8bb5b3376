/*
 * plain.h
 *	  COPY t FROM in PostgreSQL's own formats, of tables in memory: by tasks of the pool.
 */
#ifndef TSURUGI_COPY_PLAIN_H
#define TSURUGI_COPY_PLAIN_H

#include "postgres.h"

#include "nodes/nodes.h"

#include "src/copy/copy.h"

/*
 * Stores the rows of such a statement.  False: nothing has happened that PostgreSQL's COPY does not
 * do, too, and the statement is left to that.
 */
extern bool tsurugi_copy_plain(const tsurugi_copy *copy, uint64 *rows_out);

/* --- plain_client.c -------------------------------------------------------------------- */

/* The same of what the client sends. */
extern bool tsurugi_plain_from_client(const tsurugi_copy *copy, uint64 *rows_out);

/* --- plain.c, for it ------------------------------------------------------------------- */

/* Whether the statement is of COPY's text format; otherwise of CSV. */
extern bool tsurugi_plain_is_text(const CopyStmt *statement);

typedef bool tsurugi_plain_store(void *argument, int64 *rows_out);

/*
 * Has the pool store rows, in a part of the transaction.  False: nothing of it stays.  The function
 * may let PostgreSQL's functions not show anything (pgstat_track_activities).
 */
extern bool tsurugi_plain_try(tsurugi_plain_store *store, void *argument, int64 *rows_out);

/* pg_stat_progress_copy shows a COPY of so many bytes, 0 if that is not known. */
extern void tsurugi_plain_begin_progress(Oid relation, int64 type, int64 bytes);

#endif /* TSURUGI_COPY_PLAIN_H */
