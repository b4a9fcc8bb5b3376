/*
 * table_scan.h
 *	  The source that reads a whole table.  For scan.c, and for others that read tables.
 */
#ifndef TSURUGI_TABLE_SCAN_H
#define TSURUGI_TABLE_SCAN_H

#include "src/exec/scan.h"

typedef struct tg_chunk_scan tg_chunk_scan; /* scan.h */
typedef struct tg_vectors tg_vectors;		/* vectors.h */

/* Takes its place among the participants of transactions.  Once, where the library is loaded. */
extern void tsurugi_table_scan_init(void);

extern tsurugi_source *tsurugi_table_source_make(tsurugi_scan *scan);

/* For EXPLAIN ANALYZE: whether rows came from tasks of the pool. */
extern bool tsurugi_table_source_by_pool(const tsurugi_source *source);

/*
 * tg_chunk_scan_next for the backend.  It waits if the visibility of a row depends on the outcome
 * of another transaction's commit, so 0 rows are the end.  It checks for interrupts.
 */
extern unsigned tsurugi_read_chunks(tg_chunk_scan *scan, tg_vectors *vectors);

#endif /* TSURUGI_TABLE_SCAN_H */
