/*
 * hashed.c
 *	  Indexes that find values by their hashes.
 *
 * The storage has the hash, as a number of 64 bits, instead of the value, in an ordinary tree.  So
 * an entry is short, whatever the value, and concurrent reads and writes work as with other
 * indexes.  A SERIALIZABLE transaction that looks for a value notes all values that have its hash.
 * The condition itself is evaluated on the rows that are found.
 *
 * Hashes are those of the operator class, as in PostgreSQL's access method.  So values of different
 * types that are equal by the operator family have the same hash.  They also have 32 bits, because
 * extended functions are optional, and those of arrays and the like fail if the type of a part has
 * none.  Short types, such as integers, need no hashes: keys.c.
 */
#include "postgres.h"

#include "src/value/hashed.h"

#include "access/hash.h"
#include "common/hashfn.h"
#include "utils/lsyscache.h"

#include "src/value/canonical.h"
#include "src/value/key_column.h"

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
