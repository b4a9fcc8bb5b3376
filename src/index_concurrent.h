/*
 * index_concurrent.h
 *	  CREATE INDEX CONCURRENTLY.
 */
#ifndef TSURUGI_INDEX_CONCURRENT_H
#define TSURUGI_INDEX_CONCURRENT_H

#include "nodes/parsenodes.h"

/*
 * Makes an index on plain columns while others write, in several transactions: the caller's ends, and he is left
 * in the last one, without a snapshot.  Outside a transaction block.  *statement is scribbled on, text is
 * where it was written.  InvalidOid: IF NOT EXISTS, and there is one.
 */
extern Oid tsurugi_index_create_concurrently(IndexStmt *statement, const char *text);

#endif /* TSURUGI_INDEX_CONCURRENT_H */
