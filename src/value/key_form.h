/*
 * key_form.h
 *	  How values of a type are in a key, by what is looked for: an order, or equality alone.
 */
#ifndef TSURUGI_KEY_FORM_H
#define TSURUGI_KEY_FORM_H

#include "src/value/key_column.h"

typedef struct tsurugi_key_form
{
	uint8_t code;
	bool ordered;
	bool canonical;
	bool sorted;	/* canonical, texts in it by their sort keys */
	Oid comparison; /* canonical, and a rank by this function */
	bool cover;
	bool hashed; /* of the canonical bytes, or by this family's function */
	Oid hash_family;
	Oid hash;
} tsurugi_key_form;

/*
 * By an operator class of B-trees: its family, and the type that it is for.  sorted: who looks for something may want ranges, or an
 * order, for which texts are worth being longer.
 */
extern void tsurugi_key_form_by_order(const tsurugi_codec *codec, Oid family, Oid input, bool sorted,
									  tsurugi_key_form *form);

/*
 * By one of hash.  Nothing but equality is looked for: by the column itself, if it is short and equal where its bytes in a key are; else
 * by a hash.  Where we know canonical bytes it is theirs, for those of composite types stay when the type gets one more column.
 */
extern void tsurugi_key_form_by_equality(const tsurugi_codec *codec, Oid family, Oid input, tsurugi_key_form *form);

/* Of the bytes that values are made into. */
extern void tsurugi_key_form_codec(tsurugi_codec *codec);

/* What is made of a value is in a key; stored is what it is made into. */
extern void tsurugi_key_form_set(tsurugi_key_column *column, const tsurugi_codec *origin, const tsurugi_codec *stored,
								 const tsurugi_key_form *form);

/* How values that an index makes for itself are in its keys, under their type's default order.  False: they cannot be. */
extern bool tsurugi_key_describe_value(Oid type, Oid collation, tsurugi_key_column *column);

#endif /* TSURUGI_KEY_FORM_H */
