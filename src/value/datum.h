/*
 * datum.h
 *	  Conversion between datums and stored values, for every type.
 */
#ifndef TSURUGI_DATUM_H
#define TSURUGI_DATUM_H

#include "runtime/base/check.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "src/value/codec.h"

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

#endif /* TSURUGI_DATUM_H */
