/*
 * reindex.h
 *	  REINDEX of tables in memory, of their indexes, and of partitioned ones that have some below them.
 */
#ifndef TSURUGI_REINDEX_H
#define TSURUGI_REINDEX_H

#include "src/ddl/utility.h"

/* False: it is about nothing of ours; nothing was done. */
extern bool tsurugi_reindex_run(const tsurugi_utility *utility, const ReindexStmt *written);

#endif /* TSURUGI_REINDEX_H */
