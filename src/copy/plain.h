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

#endif /* TSURUGI_COPY_PLAIN_H */
