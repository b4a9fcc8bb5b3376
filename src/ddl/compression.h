/*
 * compression.h
 *	  ALTER TABLE ... ALTER COLUMN ... SET COMPRESSION.
 */
#ifndef TSURUGI_COMPRESSION_H
#define TSURUGI_COMPRESSION_H

#include "nodes/parsenodes.h"

/*
 * Writes into the catalogs what one command says of a column of a table of ours, for pg_dump and for whoever
 * makes another table like this one.  Values in memory are not compressed.
 */
extern void tsurugi_compression_set(Oid relation, const AlterTableCmd *command);

#endif /* TSURUGI_COMPRESSION_H */
