/*
 * key_column.h
 *	  A column of an index's key: its values, and their form in the key.
 */
#ifndef TSURUGI_KEY_COLUMN_H
#define TSURUGI_KEY_COLUMN_H

#include "access/attnum.h"

#include "runtime/order/key_spec.h"
#include "src/value/codec.h"

typedef struct tsurugi_key_column
{
	AttrNumber attnum; /* 0: an expression */
	int position;	   /* in the catalogs' index; -1: not in it */
	/* The key has the attribute itself. */
	bool is_plain;
	/* Range conditions and ORDER BY may use it (and the columns before it). */
	bool ordered;
	/* The stored column is the tsurugi_canonical of the value, unless comparison is valid. */
	bool canonical;
	/* Valid: the stored column is the value's rank among those that it has compared (ranking.h). */
	Oid comparison;
	/*
	 * The stored column is the tsurugi_cover of the value: only ranges of covers are searched for
	 * (cover.h).
	 */
	bool cover;
	/* It is a hash: of the canonical bytes, unless hash_family is valid. */
	bool hashed;
	/* Valid: the hash is by its function; other values may have the same one (hashed.h). */
	Oid hash_family;
	/* Equality is the only operator of its operator class. */
	bool equality;
	Oid type; /* base type */
	Oid collation;
	/*
	 * The operator family of its btree operators; for a cover, and for hash and brin, the index's
	 * family.
	 */
	Oid family;
	Oid opcintype;
	tg_key_part part;	  /* for tg_key_append */
	tsurugi_codec codec;  /* of the stored column */
	tsurugi_codec origin; /* of the value */
} tsurugi_key_column;

#endif /* TSURUGI_KEY_COLUMN_H */
