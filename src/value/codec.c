/*
 * codec.c
 *	  Conversion between datums and stored values, for every type.
 *
 * No other file knows the internal layout of numeric.  It is that of the heap's pages (a header
 * with sign, display scale and weight, then digits in base 10000), which binary upgrades keep:
 *
 *	short header, 16 bits: 1 0 sign scale(6) weight-sign weight(6)
 *	long header, 32 bits:  sign(2) scale(14), weight(16)
 *	special:               1 1 ..., NaN being 0xc000
 */
#include "postgres.h"

#include "src/value/codec.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/typcache.h"

#include "runtime/base/check.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/vector/decimal.h"
#include "src/value/collation.h"
#include "src/value/datum.h"

#define NUMERIC_HEADER_SPECIAL 0xc000
#define NUMERIC_HEADER_NAN 0xc000
#define NUMERIC_HEADER_SHORT 0x8000
#define NUMERIC_SHORT_NEGATIVE 0x2000
#define NUMERIC_LONG_NEGATIVE 0x4000
#define NUMERIC_BASE 10000

#define NAN8 INT64_MAX
#define NAN16 ((int128) (((uint128) 1 << 127) - 1))

_Static_assert(VARHDRSZ + TG_DECIMAL_HOST_BYTES <= TSURUGI_SCRATCH_BYTES, "a numeric fits into the scratch memory");

static const int16 power_of_ten[] = {1, 10, 100, 1000, 10000};

static bool
init_numeric(tsurugi_codec *codec)
{
	int precision;
	int scale;

	if (codec->type != NUMERICOID || codec->typmod < (int32) VARHDRSZ)
		return false;
	precision = ((codec->typmod - VARHDRSZ) >> 16) & 0xffff;
	scale = (((codec->typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	if (precision > 38 || scale < 0 || scale > 38)
		return false;
	codec->form = precision <= 18 ? TSURUGI_NUMERIC8 : TSURUGI_NUMERIC16;
	codec->kind = precision <= 18 ? TG_KIND_8 : TG_KIND_16;
	codec->scale = scale;
	codec->scratch_bytes = TSURUGI_SCRATCH_BYTES;
	return true;
}

void
tsurugi_codec_init(tsurugi_codec *codec, Form_pg_attribute attribute)
{
	memset(codec, 0, sizeof(*codec));
	codec->typlen = attribute->attlen;
	codec->typbyval = attribute->attbyval;
	codec->typalign = attribute->attalign;
	codec->typmod = attribute->atttypmod;
	codec->collation = attribute->attcollation;
	codec->form = TSURUGI_NOTHING;
	codec->kind = TG_KIND_1;
	if (attribute->attisdropped)
		return;
	codec->type = getBaseTypeAndTypmod(attribute->atttypid, &codec->typmod);

	if (codec->typbyval)
	{
		codec->form = TSURUGI_WORD;
		codec->kind = codec->typlen == 1   ? TG_KIND_1
					  : codec->typlen == 2 ? TG_KIND_2
					  : codec->typlen == 4 ? TG_KIND_4
										   : TG_KIND_8;
	}
	else if (codec->typlen > 0)
	{
		codec->form = codec->typlen <= 16 ? TSURUGI_FIXED : TSURUGI_LONG;
		codec->kind = codec->typlen <= 16 ? TG_KIND_16 : TG_KIND_STRING;
	}
	else if (codec->typlen != -1)
		elog(ERROR, "column of a type without a stored form: %u", codec->type);
	else if (!init_numeric(codec))
	{
		codec->form = TSURUGI_VARLENA;
		codec->kind = TG_KIND_STRING;
		codec->header_bytes = VARHDRSZ;
		/* The heap gives types of plain storage no short header either. */
		codec->inline_allowed = lookup_type_cache(codec->type, 0)->typstorage != TYPSTORAGE_PLAIN;
	}
}

void
tsurugi_codec_init_type(tsurugi_codec *codec, Oid type, int32 typmod, Oid collation)
{
	FormData_pg_attribute attribute = {.atttypid = type, .atttypmod = typmod, .attcollation = collation};

	get_typlenbyvalalign(type, &attribute.attlen, &attribute.attbyval, &attribute.attalign);
	tsurugi_codec_init(codec, &attribute);
}

bool
tsurugi_codec_same(const tsurugi_codec *a, const tsurugi_codec *b)
{
	return a->form == b->form && a->kind == b->kind && a->typlen == b->typlen && a->scale == b->scale &&
		   a->type == b->type && a->typmod == b->typmod && a->collation == b->collation;
}

bool
tsurugi_codec_alike(const tsurugi_codec *a, const tsurugi_codec *b)
{
	return a->form == b->form && a->kind == b->kind && a->typlen == b->typlen && a->scale == b->scale &&
		   a->header_bytes == b->header_bytes && a->inline_allowed == b->inline_allowed;
}

static void
numeric_does_not_fit(const tsurugi_codec *codec)
{
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("numeric field overflow"),
					errdetail("A value does not fit in a column with precision %d, scale %d.",
							  ((codec->typmod - VARHDRSZ) >> 16) & 0xffff, codec->scale)));
}

static uint16
load_16(const char *bytes)
{
	uint16 word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * The value times 10 to the power of the codec's scale.  The precision was enforced when the datum
 * was made.
 */
static int128
numeric_to_scaled(const tsurugi_codec *codec, const char *bytes, size_t byte_count)
{
	uint16 header = load_16(bytes);
	bool negative;
	int weight;
	int groups;
	int last = -(codec->scale + 3) / 4; /* weight of the last group needed */
	int last_digits = codec->scale == 0 ? 4 : codec->scale - 4 * (-last - 1);
	int128 scaled = 0;

	if ((header & NUMERIC_HEADER_SPECIAL) == NUMERIC_HEADER_SPECIAL)
	{
		if (header != NUMERIC_HEADER_NAN)
			numeric_does_not_fit(codec);
		return codec->form == TSURUGI_NUMERIC8 ? (int128) NAN8 : NAN16;
	}
	if (header & NUMERIC_HEADER_SHORT)
	{
		negative = (header & NUMERIC_SHORT_NEGATIVE) != 0;
		weight = (header & 0x3f) - (header & 0x40);
		bytes += 2;
		groups = (byte_count - 2) / 2;
	}
	else
	{
		negative = (header & NUMERIC_HEADER_SPECIAL) == NUMERIC_LONG_NEGATIVE;
		weight = (int16) load_16(bytes + 2);
		bytes += 4;
		groups = (byte_count - 4) / 2;
	}

	if (groups > 0 && weight - (groups - 1) < last)
		numeric_does_not_fit(codec);
	for (int at = weight; groups > 0 && at >= last; at--)
	{
		int digits = at == last ? last_digits : 4;
		int group = weight - at < groups ? load_16(bytes + 2 * (weight - at)) : 0;

		if (group % power_of_ten[4 - digits] != 0 ||
			__builtin_mul_overflow(scaled, (int128) power_of_ten[digits], &scaled) ||
			__builtin_add_overflow(scaled, (int128) (group / power_of_ten[4 - digits]), &scaled))
			numeric_does_not_fit(codec);
	}
	return negative ? -scaled : scaled;
}

Datum
tsurugi_datum_numeric(const tsurugi_codec *codec, const void *cell, char *scratch)
{
	char *numeric = scratch + VARHDRSZ;
	unsigned bytes = sizeof(uint16);
	bool is_nan;
	int128 scaled;

	tg_assert(codec->form == TSURUGI_NUMERIC8 || codec->form == TSURUGI_NUMERIC16);
	if (codec->form == TSURUGI_NUMERIC8)
	{
		scaled = *(const int64_t *) cell;
		is_nan = scaled == NAN8;
	}
	else
	{
		memcpy(&scaled, cell, sizeof(scaled));
		is_nan = scaled == NAN16;
	}
	if (is_nan)
		*(uint16 *) numeric = NUMERIC_HEADER_NAN;
	else
		bytes = tg_decimal_to_host(scaled, (unsigned) codec->scale, numeric);
	SET_VARSIZE(scratch, VARHDRSZ + bytes);
	return PointerGetDatum(scratch);
}

void
tsurugi_value_by_reference(const tsurugi_codec *codec, Datum datum, tg_value *value_out)
{
	struct varlena *flat;

	switch ((tsurugi_form) codec->form)
	{
		case TSURUGI_FIXED:
			memset(value_out, 0, sizeof(*value_out));
			memcpy(value_out->bytes, DatumGetPointer(datum), codec->typlen);
			break;
		case TSURUGI_LONG:
			tg_string_make_host(&value_out->string, DatumGetPointer(datum), codec->typlen, 0);
			break;
		case TSURUGI_VARLENA:
			flat = PG_DETOAST_DATUM_PACKED(datum);
			if (codec->inline_allowed && VARSIZE_ANY_EXHDR(flat) <= TG_STRING_INLINE_MAX)
				tg_string_make_inline(&value_out->string, VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat));
			else
			{
				flat = PG_DETOAST_DATUM(flat);
				tg_string_make_host(&value_out->string, flat, VARSIZE(flat), VARHDRSZ);
			}
			break;
		case TSURUGI_NUMERIC8:
		case TSURUGI_NUMERIC16:
		{
			int128 scaled;

			flat = PG_DETOAST_DATUM_PACKED(datum);
			scaled = numeric_to_scaled(codec, VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat));
			if (codec->form == TSURUGI_NUMERIC16)
				memcpy(value_out->bytes, &scaled, sizeof(scaled));
			else if (scaled != (int64) scaled)
				numeric_does_not_fit(codec);
			else
				value_out->word = (uint64_t) (int64) scaled;
			break;
		}
		default:
			elog(ERROR, "column without a stored form");
	}
}

/*
 * Strings: bytes determine equality unless the collation is not deterministic, but do not determine
 * the order of a language.
 */
static bool
string_key_code(const tsurugi_codec *codec, bool *ordered_out)
{
	*ordered_out = tsurugi_collation_order(codec->collation) == TSURUGI_ORDER_OF_BYTES;
	return *ordered_out || get_collation_isdeterministic(codec->collation);
}

bool
tsurugi_key_code(const tsurugi_codec *codec, uint8_t *code_out, bool *ordered_out)
{
	*ordered_out = true;
	if (codec->form == TSURUGI_NUMERIC8 || codec->form == TSURUGI_NUMERIC16)
	{
		*code_out = codec->form == TSURUGI_NUMERIC8 ? TG_KEY_SIGNED : TG_KEY_SIGNED16;
		return true;
	}
	switch (codec->type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case MONEYOID:
			*code_out = TG_KEY_SIGNED;
			return true;
		case BOOLOID:
		case CHAROID:
		case OIDOID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGCOLLATIONOID:
		case XID8OID:
		case LSNOID:
			*code_out = TG_KEY_UNSIGNED;
			return true;
		/* Its bytes are in the machine's order. */
		case TIDOID:
			*code_out = TG_KEY_BYTES16;
			*ordered_out = false;
			return true;
		case FLOAT4OID:
			*code_out = TG_KEY_FLOAT4;
			return true;
		case FLOAT8OID:
			*code_out = TG_KEY_FLOAT8;
			return true;
		case UUIDOID:
		case MACADDROID:
		case MACADDR8OID:
			*code_out = TG_KEY_BYTES16;
			return true;
		case INTERVALOID:
			*code_out = TG_KEY_INTERVAL;
			return true;
		case BYTEAOID:
			*code_out = TG_KEY_STRING;
			return true;
		case TEXTOID:
		case VARCHAROID:
			*code_out = TG_KEY_STRING;
			return string_key_code(codec, ordered_out);
		case BPCHAROID:
			*code_out = TG_KEY_BLANK;
			return string_key_code(codec, ordered_out);
		default:
			break;
	}
	if (OidIsValid(codec->type) && type_is_enum(codec->type))
	{
		/*
		 * Whether the labels are in order can change, and is tested elsewhere (enum_order.h); so is
		 * whether values are compared as enums.
		 */
		*code_out = TG_KEY_UNSIGNED;
		*ordered_out = false;
		return true;
	}
	return false;
}
