/*
 * reindex.h
 *	  REINDEX of tables in memory, of their indexes, and of partitioned tables that have some below
 *	  them.
 */
#ifndef TSURUGI_REINDEX_H
#define TSURUGI_REINDEX_H

#include "src/ddl/utility.h"

/* Executes the statement.  False: it concerns nothing in memory, and nothing was done. */
extern bool tsurugi_reindex_run(const tsurugi_utility *utility, const ReindexStmt *written);

#endif /* TSURUGI_REINDEX_H */
