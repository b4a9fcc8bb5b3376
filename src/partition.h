/*
 * partition.h
 *	  Rows that are there when a partition comes to be one.
 */
#ifndef TSURUGI_PARTITION_H
#define TSURUGI_PARTITION_H

#include "postgres.h"

/* The table has been attached: raises 23514 if one of its rows, or of those below it, does not belong there. */
extern void tsurugi_partition_verify(Oid table);

/*
 * The parent has one more partition: raises 23514 if a row of its default
 * partition belongs to that one.  attached: it was a table before, so the error
 * is PostgreSQL's for ATTACH.
 */
extern void tsurugi_partition_verify_default(Oid parent, bool attached);

#endif /* TSURUGI_PARTITION_H */
