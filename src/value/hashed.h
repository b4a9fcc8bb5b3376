/*
 * hashed.h
 *	  Indexes that find values by their hashes: USING hash, and what serves equality only.
 */
#ifndef TSURUGI_HASHED_H
#define TSURUGI_HASHED_H

#include "fmgr.h"

#include "src/value/key_column.h"

/* The function that an operator family hashes values of a type by.  InvalidOid: none. */
extern Oid tsurugi_hash_function(Oid family, Oid type);

/* The one for a value that a column with such a family is compared with: that of its type, or else of the column's. */
extern Oid tsurugi_hash_function_of(const tsurugi_key_column *column, Oid type);

/* A hash, as an int8. */
extern Datum tsurugi_hash(FmgrInfo *function, Oid collation, Datum value);
extern Datum tsurugi_hash_canonical(Oid type, Oid collation, Datum value);

#endif /* TSURUGI_HASHED_H */
