/*
 * codec.h
 *	  Conversion between datums and stored values, for every type.
 *
 * By-value types keep their width.  By-reference types of fixed length up to 16 bytes become 16
 * opaque bytes.  numeric(p,s) becomes a scaled integer of 64 bits (p <= 18) or 128 bits (p <= 38);
 * NaN is its largest value, where PostgreSQL sorts it.  Any other value becomes a string: its flat,
 * detoasted varlena, or the bytes of a longer fixed-length type.
 */
#ifndef TSURUGI_CODEC_H
#define TSURUGI_CODEC_H

#include "access/tupdesc.h"

#include "runtime/base/check.h"
#include "runtime/order/value.h"

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

/* The parts of the two functions below for values that are not by value. */
extern void tsurugi_value_by_reference(const tsurugi_codec *codec, Datum datum, tg_value *value_out);
extern Datum tsurugi_datum_numeric(const tsurugi_codec *codec, const void *cell, char *scratch);

/*
 * Makes the value of a datum that is not NULL.  A long string refers to the datum's memory
 * (detoasted into the current context if necessary), which must stay until the value has been
 * stored.
 */
static inline void
tsurugi_value(const tsurugi_codec *codec, Datum datum, tg_value *value_out)
{
	if (tg_likely(codec->form == TSURUGI_WORD))
	{
		switch ((tg_kind) codec->kind)
		{
			case TG_KIND_1:
				value_out->word = (uint64_t) (int64_t) (int8_t) datum;
				break;
			case TG_KIND_2:
				value_out->word = (uint64_t) (int64_t) (int16_t) datum;
				break;
			case TG_KIND_4:
				value_out->word = (uint64_t) (int64_t) (int32_t) datum;
				break;
			default:
				value_out->word = datum;
				break;
		}
	}
	else
		tsurugi_value_by_reference(codec, datum, value_out);
}

/*
 * Makes the datum of a value that is not NULL.  cell is 8 bytes (kinds up to 8) or a tg_value; the
 * datum may point into it, or to its blob, or into scratch (codec->scratch_bytes, aligned to 8; one
 * for each datum that must stay).
 */
static inline Datum
tsurugi_datum(const tsurugi_codec *codec, const void *cell, char *scratch)
{
	switch ((tsurugi_form) codec->form)
	{
		case TSURUGI_WORD:
			return *(const uint64_t *) cell;
		case TSURUGI_FIXED:
			return PointerGetDatum(cell);
		case TSURUGI_VARLENA:
			if (!tg_string_is_out((const tg_string *) cell))
				return PointerGetDatum((const char *) cell + 3);
			/* FALLTHROUGH */
		case TSURUGI_LONG:
			return PointerGetDatum(((const tg_string *) cell)->blob);
		default:
			return tsurugi_datum_numeric(codec, cell, scratch);
	}
}

/*
 * The form of a column in a key: *code_out, and *ordered_out if the memcmp order is that of the
 * type's default btree operators under that collation (otherwise the key serves look-ups by
 * equality only).  False: the stored value cannot be in a key.
 */
extern bool tsurugi_key_code(const tsurugi_codec *codec, uint8_t *code_out, bool *ordered_out);

#endif /* TSURUGI_CODEC_H */
