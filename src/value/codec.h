/*
 * codec.h
 *	  How values of each type are stored; datum.h converts them.
 *
 * By-value types keep their width.  By-reference types of fixed length up to 16 bytes become 16
 * opaque bytes.  numeric(p,s) becomes a scaled integer of 64 bits (p <= 18) or 128 bits (p <= 38);
 * NaN is its largest value, where PostgreSQL sorts it.  Any other value becomes a string: its flat,
 * detoasted varlena, or the bytes of a longer fixed-length type.
 */
#ifndef TSURUGI_CODEC_H
#define TSURUGI_CODEC_H

#include "access/tupdesc.h"


typedef enum tsurugi_form
{
	TSURUGI_WORD,	   /* by value: the datum itself */
	TSURUGI_FIXED,	   /* by reference, up to 16 bytes: points into the cell */
	TSURUGI_VARLENA,   /* string: inline with a short header, or a blob that is the datum */
	TSURUGI_LONG,	   /* by reference, fixed length above 16 bytes: a blob that is the datum */
	TSURUGI_NUMERIC8,  /* scaled, 64 bits */
	TSURUGI_NUMERIC16, /* scaled, 128 bits */
	TSURUGI_NOTHING	   /* dropped, or stored by the engine alone: always NULL */
} tsurugi_form;

/* Enough scratch memory for any column's datum. */
#define TSURUGI_SCRATCH_BYTES 48

typedef struct tsurugi_codec
{
	uint8_t form;		   /* tsurugi_form */
	uint8_t kind;		   /* tg_kind */
	uint8_t header_bytes;  /* of a blob: 4 for a varlena, otherwise 0 */
	bool inline_allowed;   /* VARLENA: the type's functions accept short headers */
	uint8_t scratch_bytes; /* needed by tsurugi_datum; 0 for all but NUMERIC* */
	char typalign;
	int16 typlen;
	int16 scale; /* NUMERIC* */
	bool typbyval;
	/* Keys made of its values have texts in their collation's order (canonical.h). */
	bool sorted;
	Oid type;	  /* base type, domains looked through */
	int32 typmod; /* of the base type */
	Oid collation;
} tsurugi_codec;

/* The codec of an attribute.  Reads the catalogs. */
extern void tsurugi_codec_init(tsurugi_codec *codec, Form_pg_attribute attribute);

/* The same for values that do not belong to a column. */
extern void tsurugi_codec_init_type(tsurugi_codec *codec, Oid type, int32 typmod, Oid collation);

/* Two codecs store the same way, values of one type; or of any, in the same bytes. */
extern bool tsurugi_codec_same(const tsurugi_codec *a, const tsurugi_codec *b);
extern bool tsurugi_codec_alike(const tsurugi_codec *a, const tsurugi_codec *b);

/*
 * The form of a column in a key: *code_out, and *ordered_out if the memcmp order is that of the
 * type's default btree operators under that collation (otherwise the key serves look-ups by
 * equality only).  False: the stored value cannot be in a key.
 */
extern bool tsurugi_key_code(const tsurugi_codec *codec, uint8_t *code_out, bool *ordered_out);

#endif /* TSURUGI_CODEC_H */
