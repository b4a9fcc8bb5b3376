/*
 * compression.h
 *	  ALTER TABLE ... ALTER COLUMN ... SET COMPRESSION.
 */
#ifndef TSURUGI_COMPRESSION_H
#define TSURUGI_COMPRESSION_H

#include "nodes/parsenodes.h"

/*
 * Writes the command's method for a column of a table in memory into the catalogs, for pg_dump and
 * for tables that are made LIKE this one.  Values in memory are not compressed.
 */
extern void tsurugi_compression_set(Oid relation, const AlterTableCmd *command);

#endif /* TSURUGI_COMPRESSION_H */
