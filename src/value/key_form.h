/*
 * key_form.h
 *	  The form of a type's values in a key, for an order or for equality alone.
 */
#ifndef TSURUGI_KEY_FORM_H
#define TSURUGI_KEY_FORM_H

#include "src/value/key_column.h"

typedef struct tsurugi_key_form
{
	uint8_t code;
	bool ordered;
	bool canonical;
	/* Canonical, with texts as their sort keys. */
	bool sorted;
	/* If valid, the canonical form has a rank by this function. */
	Oid comparison;
	bool cover;
	/* A hash: that of the canonical bytes, or by the function of hash_family. */
	bool hashed;
	Oid hash_family;
	Oid hash;
} tsurugi_key_form;

/*
 * The form for an operator class of B-trees, given by its family and the type that it is for.
 * sorted: queries may need ranges, or an order, which justifies longer texts.
 */
extern void tsurugi_key_form_by_order(const tsurugi_codec *codec, Oid family, Oid input, bool sorted,
									  tsurugi_key_form *form);

/*
 * The form for an operator class of hash.  Queries need equality alone: the key has the column
 * itself if it is short, and equal exactly if its bytes in a key are; otherwise a hash.  If
 * canonical bytes are known, the hash is made of these, because those of composite types do not
 * change when the type gets one more column.
 */
extern void tsurugi_key_form_by_equality(const tsurugi_codec *codec, Oid family, Oid input, tsurugi_key_form *form);

/* The codec of the bytes that values are converted to. */
extern void tsurugi_key_form_codec(tsurugi_codec *codec);

/*
 * Sets the form of a column whose converted value is in a key; stored is the codec of the converted
 * value.
 */
extern void tsurugi_key_form_set(tsurugi_key_column *column, const tsurugi_codec *origin, const tsurugi_codec *stored,
								 const tsurugi_key_form *form);

/*
 * The form of values that an index makes for itself, under their type's default order.  False: they
 * cannot be in keys.
 */
extern bool tsurugi_key_describe_value(Oid type, Oid collation, tsurugi_key_column *column);

#endif /* TSURUGI_KEY_FORM_H */
