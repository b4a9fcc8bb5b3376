/*
 * hashed.h
 *	  Indexes that find values by their hashes: USING hash, and others that serve equality only.
 */
#ifndef TSURUGI_HASHED_H
#define TSURUGI_HASHED_H

#include "fmgr.h"

typedef struct tsurugi_key_column tsurugi_key_column; /* key_column.h */

/* The hash function of an operator family for values of a type; InvalidOid: none. */
extern Oid tsurugi_hash_function(Oid family, Oid type);

/*
 * The function for a value that is compared with a column of such a family: that of the value's
 * type or, if there is none, of the column's.
 */
extern Oid tsurugi_hash_function_of(const tsurugi_key_column *column, Oid type);

/* A hash, as an int8. */
extern Datum tsurugi_hash(FmgrInfo *function, Oid collation, Datum value);
extern Datum tsurugi_hash_canonical(Oid type, Oid collation, Datum value);

#endif /* TSURUGI_HASHED_H */
