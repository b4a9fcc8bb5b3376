/*
 * hashed.c
 *	  Indexes that find values by their hashes.
 *
 * The storage has the hash, as a number of 64 bits, in the place of the value, in a tree as any other's: so an entry is short, whatever
 * the value, and what is written and read concurrently is as with other indexes.  At SERIALIZABLE who looks for a value notes
 * all that have its hash.  Rows that are found are looked at by the condition itself.
 *
 * Hashes are those of the operator class, as PostgreSQL's access method has them: so values of different types that the
 * operator family says are equal have the same one.  They have 32 bits, too: extended functions are optional, and those of arrays
 * and the like fail where a part's type has none.  Short types, such as integers, need none: keys.c.
 */
#include "postgres.h"

#include "src/value/hashed.h"

#include "access/hash.h"
#include "common/hashfn.h"
#include "utils/lsyscache.h"

#include "src/value/canonical.h"

Oid
tsurugi_hash_function(Oid family, Oid type)
{
	return get_opfamily_proc(family, type, type, HASHSTANDARD_PROC);
}

Oid
tsurugi_hash_function_of(const tsurugi_key_column *column, Oid type)
{
	Oid function = tsurugi_hash_function(column->hash_family, type);

	return OidIsValid(function) ? function : tsurugi_hash_function(column->hash_family, column->opcintype);
}

Datum
tsurugi_hash(FmgrInfo *function, Oid collation, Datum value)
{
	return Int64GetDatum(DatumGetUInt32(FunctionCall1Coll(function, collation, value)));
}

Datum
tsurugi_hash_canonical(Oid type, Oid collation, Datum value)
{
	const struct varlena *bytes =
		(const struct varlena *) DatumGetPointer(tsurugi_canonical(type, collation, false, value));

	return hash_any_extended((const unsigned char *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), 0);
}
