/*
 * key_column.h
 *	  A column of an index's key: which values it has, and how they are in the key.
 */
#ifndef TSURUGI_KEY_COLUMN_H
#define TSURUGI_KEY_COLUMN_H

#include "access/attnum.h"

#include "runtime/runtime.h"
#include "src/value/codec.h"

typedef struct tsurugi_key_column
{
	AttrNumber attnum; /* 0: an expression */
	int position;	   /* in the catalogs' index; -1: it has no such column */
	bool is_plain;	   /* the column of the key is the attribute's own */
	bool ordered;	   /* range conditions and ORDER BY may use it (and the columns before it) */
	bool canonical;	   /* the stored column is what tsurugi_canonical makes of the value; or, */
	/* if this is valid, its rank among those that the function has compared (ranking.h) */
	Oid comparison;
	/* it is what tsurugi_cover makes of it: nothing but ranges of covers is looked for (cover.h) */
	bool cover;
	bool hashed; /* it is a hash: of the canonical bytes, or, */
	/* if this is valid, what its functions make of the value; others may have the same (hashed.h) */
	Oid hash_family;
	bool equality; /* its operator class has no other operator than that of equality */
	Oid type;	   /* base type */
	Oid collation;
	/* operator family of its btree operators; of a cover, and of hash and brin, the index's */
	Oid family;
	Oid opcintype;
	tg_key_part part;	  /* for tg_key_append */
	tsurugi_codec codec;  /* of the stored column */
	tsurugi_codec origin; /* of the value */
} tsurugi_key_column;

#endif /* TSURUGI_KEY_COLUMN_H */
