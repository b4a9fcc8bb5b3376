/*
 * canonical.c
 *	  Values as bytes that are equal exactly if the values are.
 *
 * The table says whether the order of the bytes (memcmp; a prefix comes first) is also PostgreSQL's
 * order, and names the function that was followed.
 *
 *	type              bytes                                                    in order
 *	numeric           class, weight, digits of base 10000, 0                   yes
 *	name              its characters                                           if its collation's is
 *	bit               bytes, number of bits (bit_cmp)                          yes
 *	inet              family, network, bits of it, address (network_cmp)       yes
 *	timetz            the moment, then the zone (timetz_cmp)                   yes
 *	array             elements, their number, dimensions (array_cmp)           as its elements
 *	range             emptiness, then bounds (range_cmp)                       as its bounds
 *	multirange        its ranges (multirange_cmp)                              as its bounds
 *	composite         columns up to the last that is not NULL (record_cmp):    as its columns
 *	                  values stay as they are when the type gets one more
 *	jsonb             the tokens of its iterator: keys are unique and sorted   if the default
 *	                  in it (compareJsonbContainers)                           collation's is
 *	text under a nondeterministic collation: its sort key                      yes
 *	citext            in lower case                                            if its collation's is
 *	hstore            as stored: pairs are unique and sorted in it             no
 *	tsvector, tsquery what PostgreSQL compares: the size, then lexemes with    no
 *	                  their positions, or operators and operands, but not
 *	                  the latter's weights
 *	key.h's types     as in a key                                              as there
 *
 * Texts, alone or inside other values, have two forms.  Either they stay as they are, which is
 * shorter and faster to make, and ordered under collations like C.  Or they are "sorted": they
 * become sort keys (collation.h), which are ordered under all collations whose order is known; this
 * form is for indexes that give an order (keys.c).
 *
 * The parts of a value are written one after the other so that a value with a smaller part comes
 * first, whatever follows.  A mark says what comes next (the values of marks are in the right
 * order), and no part is a prefix of another: parts of varying length end with 0, and 0 and 1
 * inside them are escaped, as in key.c.  Marks are above 1, because key.c will escape everything
 * once more.
 *
 * The operator class for which a key is made determines how whole values are compared, and the
 * caller has checked it (keys.c); the class with which a range type was made determines how bounds
 * are compared.  Other parts are compared by the default class of their types, whatever that is
 * when PostgreSQL compares.
 *
 * A type of an extension is recognized by the function that compares it; the statements about its
 * values follow from that function.
 *
 * Left out: other types of extensions and users, and types that contain them; and enums whose
 * labels are out of order, where the order matters.  Values of these types have ranks (ranking.h).
 */
#include "postgres.h"

#include "src/value/canonical.h"

#include <sys/socket.h>

#include "access/htup_details.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "tsearch/ts_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/formatting.h"
#include "utils/inet.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/pg_locale.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"
#include "utils/varbit.h"

#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "src/base/library.h"
#include "src/value/codec.h"
#include "src/value/collation.h"
#include "src/value/datum.h"
#include "src/value/enum_order.h"

/* The values that numeric_send writes in the place of the sign. */
#define NUMERIC_SENT_NEGATIVE 0x4000
#define NUMERIC_SENT_NAN 0xC000
#define NUMERIC_SENT_INFINITY 0xD000
#define NUMERIC_SENT_MINUS_INFINITY 0xF000

/* Set in the first word of an hstore, except in those that PostgreSQL 8.4 stored (hstore.h). */
#define HSTORE_NEW_VERSION 0x80000000

/*
 * The mark of what comes next in a value, in order: the end of an array, a part, a NULL, or, in a
 * composite, nothing but NULLs.
 */
enum
{
	MARK_END = 2,
	MARK_VALUE,
	MARK_NULL,
	MARK_REST
};

/* Marks of a range: whether it is empty, and its bounds. */
enum
{
	IS_EMPTY = 2,
	OPEN_BELOW,
	BOUNDED,
	OPEN_ABOVE,
	/* Behind a bound: the range begins or ends exactly there, or just below or above. */
	BOUND_BELOW = 2,
	BOUND_HERE,
	BOUND_ABOVE
};

/* Classes of numbers, in order. */
enum
{
	MINUS_INFINITY,
	NEGATIVE,
	ZERO,
	POSITIVE,
	INFINITY_,
	NOT_A_NUMBER
};

static void append_value(StringInfo bytes, bool sorted, Oid type, Oid collation, Datum value);

/* --- conditions ------------------------------------------------------------------------------ */

/* Whether values are written as in a key. */
static bool
is_plain(const tsurugi_codec *codec, bool *ordered_out)
{
	uint8_t code;

	return tsurugi_key_code(codec, &code, ordered_out);
}

/* PostgreSQL's comparison function for the type's kind (enums, arrays and the like), or none. */
static Oid
comparison_of_kind(Oid type)
{
	switch (get_typtype(type))
	{
		case TYPTYPE_ENUM:
			return F_ENUM_CMP;
		case TYPTYPE_RANGE:
			return F_RANGE_CMP;
		case TYPTYPE_MULTIRANGE:
			return F_MULTIRANGE_CMP;
		case TYPTYPE_COMPOSITE:
			return F_BTRECORDCMP;
		default:
			return OidIsValid(get_element_type(type)) ? F_BTARRAYCMP : InvalidOid;
	}
}

/* Whether this function compares values of the base type as their bytes compare. */
static bool
is_usual(Oid type, Oid comparison)
{
	Oid usual = comparison_of_kind(type);

	if (type < FirstNormalObjectId && comparison >= FirstNormalObjectId)
		return false; /* varchar and the like may get a default class */
	return comparison == (OidIsValid(usual) ? usual : lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc);
}

/* Whether a part that is compared by this function has such bytes. */
static bool
is_possible_by(Oid comparison, Oid type, Oid collation, bool sorted, bool *ordered_inout)
{
	tsurugi_codec codec;
	bool ordered;
	bool is_enum = type_is_enum(type);
	bool is_ordered_enum = is_enum && tsurugi_enum_is_in_order(type);

	if (!is_usual(type, comparison) || (sorted && is_enum && !is_ordered_enum))
		return false;
	tsurugi_codec_init_type(&codec, type, -1, type_is_collatable(type) ? collation : InvalidOid);
	if (!(is_plain(&codec, &ordered) && (ordered || !sorted)) &&
		!tsurugi_canonical_is_possible(type, codec.collation, sorted, &ordered) && !is_plain(&codec, &ordered))
		return false;
	*ordered_inout &= ordered || is_ordered_enum;
	return true;
}

bool
tsurugi_canonical_part_is_possible(Oid type, Oid collation, bool sorted, bool *ordered_inout)
{
	type = getBaseType(type);
	return is_possible_by(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc, type, collation, sorted,
						  ordered_inout);
}

static bool
bounds_are_possible(Oid type, bool sorted, bool *ordered_inout)
{
	const TypeCacheEntry *range = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	Oid bound = range->rngelemtype->type_id;

	return is_possible_by(range->rng_cmp_proc_finfo.fn_oid, getBaseType(bound), range->rng_collation, sorted,
						  ordered_inout);
}

static bool
columns_are_possible(Oid type, bool sorted, bool *ordered_inout)
{
	TupleDesc columns = lookup_rowtype_tupdesc(type, -1);
	bool possible = true;

	for (int i = 0; i < columns->natts; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);

		possible = possible &&
				   (column->attisdropped ||
					tsurugi_canonical_part_is_possible(column->atttypid, column->attcollation, sorted, ordered_inout));
	}
	ReleaseTupleDesc(columns);
	return possible;
}

/* Whether the collation is not deterministic. */
static bool
is_loose(Oid collation)
{
	return OidIsValid(collation) && !lc_collate_is_c(collation) && !get_collation_isdeterministic(collation);
}

/* Whether texts that must be ordered need sort keys; otherwise their bytes have the order. */
static bool
needs_keys(bool sorted, Oid collation)
{
	return sorted && tsurugi_collation_order(collation) == TSURUGI_ORDER_OF_KEYS;
}

static bool
is_compared_by(Oid type, const char *library, const char *function)
{
	return tsurugi_is_of_library(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc, library, function);
}

static bool
is_citext(Oid type)
{
	return is_compared_by(type, "$libdir/citext", "citext_cmp");
}

static bool
is_hstore(Oid type)
{
	return is_compared_by(type, "$libdir/hstore", "hstore_cmp");
}

bool
tsurugi_canonical_is_possible(Oid type, Oid collation, bool sorted, bool *ordered_out)
{
	Oid element;

	check_stack_depth();
	*ordered_out = false;
	switch (type)
	{
		case NUMERICOID:
			*ordered_out = true;
			return true;
		case NAMEOID:
			*ordered_out =
				tsurugi_collation_order(collation) == TSURUGI_ORDER_OF_BYTES || needs_keys(sorted, collation);
			return *ordered_out || !is_loose(collation);
		case BITOID:
		case VARBITOID:
		case INETOID:
		case CIDROID:
		case TIMETZOID:
			*ordered_out = true;
			return true;
		case JSONBOID:
			*ordered_out = tsurugi_collation_order(DEFAULT_COLLATION_OID) == TSURUGI_ORDER_OF_BYTES ||
						   needs_keys(sorted, DEFAULT_COLLATION_OID);
			return true;
		case TSVECTOROID:
		case TSQUERYOID:
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			*ordered_out = is_loose(collation) || needs_keys(sorted, collation);
			return *ordered_out;
		case OIDVECTOROID:
			*ordered_out = true;
			return true;
		default:
			break;
	}
	*ordered_out = true;
	element = get_element_type(type);
	if (OidIsValid(element))
		return tsurugi_canonical_part_is_possible(element, collation, sorted, ordered_out);
	if (type_is_range(type))
		return bounds_are_possible(type, sorted, ordered_out);
	if (type_is_multirange(type))
		return bounds_are_possible(get_multirange_range(type), sorted, ordered_out);
	if (get_typtype(type) == TYPTYPE_COMPOSITE)
		return columns_are_possible(type, sorted, ordered_out);
	*ordered_out = false;
	if (is_citext(type))
	{
		/* The collation decides the order only; equality is that of the lower-case bytes. */
		*ordered_out = tsurugi_collation_order(collation) == TSURUGI_ORDER_OF_BYTES || needs_keys(sorted, collation);
		return !is_loose(collation);
	}
	return is_hstore(type);
}

/* --- making bytes ------------------------------------------------------------------------ */

/*
 * For a negative number all bits except the class are inverted.  The digits end with 0, and each is
 * stored as its value plus one.
 */
static void
append_numeric(StringInfo bytes, Datum value)
{
	const char *sent = VARDATA_ANY(DatumGetByteaPP(DirectFunctionCall1(numeric_send, value)));
	uint16 words[4];
	uint16 mask;
	const char *digits = sent + sizeof(words);

	memcpy(words, sent, sizeof(words));
	for (int i = 0; i < lengthof(words); i++)
		words[i] = pg_ntoh16(words[i]);
	/* number of digits, weight of the first, sign, display scale */
	if (words[2] >= NUMERIC_SENT_NAN || words[0] == 0)
	{
		appendStringInfoCharMacro(bytes, words[2] == NUMERIC_SENT_NAN			   ? NOT_A_NUMBER
										 : words[2] == NUMERIC_SENT_INFINITY	   ? INFINITY_
										 : words[2] == NUMERIC_SENT_MINUS_INFINITY ? MINUS_INFINITY
																				   : ZERO);
		return;
	}
	mask = words[2] == NUMERIC_SENT_NEGATIVE ? 0xffff : 0;
	appendStringInfoCharMacro(bytes, mask != 0 ? NEGATIVE : POSITIVE);
	pq_sendint16(bytes, (words[1] ^ 0x8000) ^ mask);
	for (int i = 0; i < words[0]; i++)
	{
		uint16 digit;

		memcpy(&digit, digits + i * sizeof(digit), sizeof(digit));
		pq_sendint16(bytes, (pg_ntoh16(digit) + 1) ^ mask);
	}
	pq_sendint16(bytes, mask);
}

/* Appends a signed number. */
static void
append_signed_32(StringInfo bytes, int32 number)
{
	pq_sendint32(bytes, (uint32) number ^ (uint32) 1 << 31);
}

/* Appends bytes of any length so that more can follow. */
static void
append_string(StringInfo bytes, const char *data, int length)
{
	for (int i = 0; i < length; i++)
	{
		if ((unsigned char) data[i] > 1)
			appendStringInfoCharMacro(bytes, data[i]);
		else
		{
			appendStringInfoCharMacro(bytes, 1);
			appendStringInfoCharMacro(bytes, data[i] + 1);
		}
	}
	appendStringInfoCharMacro(bytes, 0);
}

/*
 * Appends a part of a value; its type may be a domain.  A part that cannot be a prefix of another
 * value is written as it is.
 */
static void
append_part(StringInfo bytes, bool sorted, Oid type, Oid collation, Datum value)
{
	StringInfoData own;
	tsurugi_codec codec;
	bool ordered;

	type = getBaseType(type);
	tsurugi_codec_init_type(&codec, type, -1, collation);
	if (type == NUMERICOID || (codec.kind != TG_KIND_STRING && is_plain(&codec, &ordered)))
	{
		append_value(bytes, sorted, type, collation, value);
		return;
	}
	initStringInfo(&own);
	append_value(&own, sorted, type, collation, value);
	append_string(bytes, own.data, own.len);
	pfree(own.data);
}

static void
append_marked(StringInfo bytes, bool sorted, Oid type, Oid collation, Datum value, bool null)
{
	appendStringInfoCharMacro(bytes, null ? MARK_NULL : MARK_VALUE);
	if (!null)
		append_part(bytes, sorted, type, collation, value);
}

static void
append_array(StringInfo bytes, bool sorted, Oid element, Oid collation, Datum value)
{
	ArrayType *array = DatumGetArrayTypeP(value);
	Datum *values;
	bool *nulls;
	int count;
	int16 length;
	bool by_value;
	char align;

	get_typlenbyvalalign(element, &length, &by_value, &align);
	deconstruct_array(array, element, length, by_value, align, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
		append_marked(bytes, sorted, element, collation, values[i], nulls[i]);
	appendStringInfoCharMacro(bytes, MARK_END);
	appendStringInfoCharMacro(bytes, ARR_NDIM(array));
	for (int i = 0; i < ARR_NDIM(array); i++)
		append_signed_32(bytes, ARR_DIMS(array)[i]);
	for (int i = 0; i < ARR_NDIM(array); i++)
		append_signed_32(bytes, ARR_LBOUND(array)[i]);
}

/* btoidvectorcmp */
static void
append_oidvector(StringInfo bytes, const oidvector *oids)
{
	append_signed_32(bytes, oids->dim1);
	for (int i = 0; i < oids->dim1; i++)
		pq_sendint32(bytes, oids->values[i]);
}

static void
append_bound(StringInfo bytes, bool sorted, const TypeCacheEntry *range, const RangeBound *bound)
{
	if (bound->infinite)
	{
		appendStringInfoCharMacro(bytes, bound->lower ? OPEN_BELOW : OPEN_ABOVE);
		return;
	}
	appendStringInfoCharMacro(bytes, BOUNDED);
	append_part(bytes, sorted, range->rngelemtype->type_id, range->rng_collation, bound->val);
	appendStringInfoCharMacro(bytes, bound->inclusive ? BOUND_HERE : bound->lower ? BOUND_ABOVE : BOUND_BELOW);
}

static void
append_range(StringInfo bytes, bool sorted, Oid type, Datum value)
{
	TypeCacheEntry *range = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	RangeBound lower;
	RangeBound upper;
	bool empty;

	range_deserialize(range, DatumGetRangeTypeP(value), &lower, &upper, &empty);
	if (empty)
	{
		appendStringInfoCharMacro(bytes, IS_EMPTY);
		return;
	}
	append_bound(bytes, sorted, range, &lower);
	append_bound(bytes, sorted, range, &upper);
}

static void
append_multirange(StringInfo bytes, bool sorted, Oid type, Datum value)
{
	TypeCacheEntry *multirange = lookup_type_cache(type, TYPECACHE_MULTIRANGE_INFO);
	RangeType **ranges;
	int32 count;

	multirange_deserialize(multirange->rngtype, DatumGetMultirangeTypeP(value), &count, &ranges);
	for (int i = 0; i < count; i++)
		append_range(bytes, sorted, multirange->rngtype->type_id, RangeTypePGetDatum(ranges[i]));
}

static void
append_composite(StringInfo bytes, bool sorted, Oid type, Datum value)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(value);
	TupleDesc columns = lookup_rowtype_tupdesc_copy(type, -1);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	Datum *values = palloc(Max(columns->natts, 1) * sizeof(Datum));
	bool *nulls = palloc(Max(columns->natts, 1));
	int count = columns->natts;

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, columns, values, nulls);
	while (count > 0 && (nulls[count - 1] || TupleDescAttr(columns, count - 1)->attisdropped))
		count--;
	for (int i = 0; i < count; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);

		if (!column->attisdropped)
			append_marked(bytes, sorted, column->atttypid, column->attcollation, values[i], nulls[i]);
	}
	appendStringInfoCharMacro(bytes, MARK_REST);
}

static void
append_jsonb_string(StringInfo bytes, bool sorted, const JsonbValue *string)
{
	StringInfoData key;

	if (!needs_keys(sorted, DEFAULT_COLLATION_OID))
	{
		append_string(bytes, string->val.string.val, string->val.string.len);
		return;
	}
	initStringInfo(&key);
	tsurugi_collation_append_key(&key, DEFAULT_COLLATION_OID, string->val.string.val, string->val.string.len);
	append_string(bytes, key.data, key.len);
	pfree(key.data);
}

/*
 * For an array the number of elements comes before the mark whether it stands for a scalar, which
 * is an array of one.  The numbers of the parts' types are in the right order.  The ends of arrays
 * and objects are not written, because they follow from the numbers of elements.
 */
static void
append_jsonb(StringInfo bytes, bool sorted, Datum value)
{
	JsonbIterator *iterator = JsonbIteratorInit(&DatumGetJsonbP(value)->root);
	JsonbIteratorToken token;
	JsonbValue part;

	while ((token = JsonbIteratorNext(&iterator, &part, false)) != WJB_DONE)
	{
		if (token == WJB_END_ARRAY || token == WJB_END_OBJECT)
			continue;
		appendStringInfoCharMacro(bytes, part.type);
		if (part.type == jbvArray)
		{
			pq_sendint32(bytes, part.val.array.nElems);
			appendStringInfoCharMacro(bytes, !part.val.array.rawScalar);
		}
		else if (part.type == jbvObject)
			pq_sendint32(bytes, part.val.object.nPairs);
		else if (part.type == jbvString)
			append_jsonb_string(bytes, sorted, &part);
		else if (part.type == jbvNumeric)
			append_numeric(bytes, NumericGetDatum(part.val.numeric));
		else if (part.type == jbvBool)
			appendStringInfoCharMacro(bytes, part.val.boolean);
	}
}

static void
append_bits(StringInfo bytes, VarBit *bits)
{
	append_string(bytes, (char *) VARBITS(bits), VARBITBYTES(bits));
	append_signed_32(bytes, VARBITLEN(bits));
}

static void
append_inet(StringInfo bytes, inet *address)
{
	int bits = ip_bits(address);

	appendStringInfoCharMacro(bytes, ip_family(address));
	for (int i = 0; i < ip_addrsize(address); i++)
	{
		int of_network = Min(Max(bits - i * 8, 0), 8);

		appendStringInfoCharMacro(bytes, (char) (ip_addr(address)[i] & 0xff00 >> of_network));
	}
	appendStringInfoCharMacro(bytes, bits);
	appendBinaryStringInfo(bytes, (char *) ip_addr(address), ip_addrsize(address));
}

static void
append_timetz(StringInfo bytes, const TimeTzADT *time)
{
	pq_sendint64(bytes, (uint64) (time->time + time->zone * USECS_PER_SEC) ^ (uint64) 1 << 63);
	append_signed_32(bytes, time->zone);
}

static void
append_text(StringInfo bytes, Oid type, Oid collation, Datum value)
{
	const struct varlena *flat = PG_DETOAST_DATUM_PACKED(value);
	int length = VARSIZE_ANY_EXHDR(flat);

	if (type == BPCHAROID)
		length = bpchartruelen(VARDATA_ANY(flat), length);
	tsurugi_collation_append_key(bytes, collation, VARDATA_ANY(flat), length);
}

/* As citext.c does for both sides of a comparison. */
static void
append_citext(StringInfo bytes, bool sorted, Oid collation, Datum value)
{
	const struct varlena *flat = PG_DETOAST_DATUM_PACKED(value);
	const char *lower = str_tolower(VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat), DEFAULT_COLLATION_OID);

	if (needs_keys(sorted, collation))
		tsurugi_collation_append_key(bytes, collation, lower, strlen(lower));
	else
		appendStringInfoString(bytes, lower);
}

static void
append_hstore(StringInfo bytes, Datum value)
{
	const struct varlena *flat = PG_DETOAST_DATUM_PACKED(value);
	uint32 count = 0;

	memcpy(&count, VARDATA_ANY(flat), Min(VARSIZE_ANY_EXHDR(flat), sizeof(count)));
	if ((count & HSTORE_NEW_VERSION) == 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("an hstore in the format of PostgreSQL 8.4 cannot be in an index of a table in memory"),
						errhint("Use value || '' in its place.")));
	appendBinaryStringInfo(bytes, VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat));
}

/* Follows silly_cmp_tsvector; lexemes are sorted. */
static void
append_tsvector(StringInfo bytes, TSVector vector)
{
	pq_sendint32(bytes, VARSIZE(vector));
	for (const WordEntry *entry = ARRPTR(vector); entry < ARRPTR(vector) + vector->size; entry++)
	{
		pq_sendint16(bytes, entry->len << 1 | entry->haspos);
		appendBinaryStringInfo(bytes, STRPTR(vector) + entry->pos, entry->len);
		if (!entry->haspos)
			continue;
		pq_sendint16(bytes, POSDATALEN(vector, entry));
		appendBinaryStringInfo(bytes, (char *) POSDATAPTR(vector, entry),
							   POSDATALEN(vector, entry) * (int) sizeof(WordEntryPos));
	}
}

/* Follows CompareTSQ; the items are those of a tree, each operator before its operands. */
static void
append_tsquery(StringInfo bytes, TSQuery query)
{
	pq_sendint32(bytes, VARSIZE(query));
	for (const QueryItem *item = GETQUERY(query); item < GETQUERY(query) + query->size; item++)
	{
		appendStringInfoCharMacro(bytes, item->type);
		if (item->type == QI_OPR)
		{
			appendStringInfoCharMacro(bytes, item->qoperator.oper);
			if (item->qoperator.oper == OP_PHRASE)
				pq_sendint16(bytes, item->qoperator.distance);
		}
		else
		{
			pq_sendint16(bytes, item->qoperand.length);
			appendBinaryStringInfo(bytes, GETOPERAND(query) + item->qoperand.distance, item->qoperand.length);
		}
	}
}

static void
append_plain(StringInfo bytes, const tsurugi_codec *codec, Datum value)
{
	tg_key_part part = {.header_bytes = codec->header_bytes};
	tg_value stored;
	bool ordered;

	(void) tsurugi_key_code(codec, &part.code, &ordered);
	tsurugi_value(codec, value, &stored);
	if (codec->kind == TG_KIND_STRING)
	{
		const tg_string *string = &stored.string;
		bool out = tg_string_is_out(string);
		const char *data = out ? (const char *) string->blob + codec->header_bytes : string->bytes;
		int length =
			out ? (int) tg_string_blob_bytes(string) - codec->header_bytes : (int) tg_string_inline_bytes(string);

		/* The full length; a blank-padded string without its blanks. */
		while (part.code == TG_KEY_BLANK && length > 0 && data[length - 1] == ' ')
			length--;
		appendBinaryStringInfo(bytes, data, length);
	}
	else
	{
		unsigned char key[sizeof(tg_value)];

		appendBinaryStringInfo(bytes, (char *) key, (int) tg_key_append(key, 0, &part, (tg_kind) codec->kind, &stored));
	}
}

/* The type is a base type. */
static void
append_value(StringInfo bytes, bool sorted, Oid type, Oid collation, Datum value)
{
	tsurugi_codec codec;
	bool ordered;
	Oid element;

	check_stack_depth();
	switch (type)
	{
		case NUMERICOID:
			append_numeric(bytes, value);
			return;
		case NAMEOID:
			if (needs_keys(sorted, collation))
				tsurugi_collation_append_key(bytes, collation, NameStr(*DatumGetName(value)),
											 strlen(NameStr(*DatumGetName(value))));
			else
				appendStringInfoString(bytes, NameStr(*DatumGetName(value)));
			return;
		case BITOID:
		case VARBITOID:
			append_bits(bytes, DatumGetVarBitP(value));
			return;
		case INETOID:
		case CIDROID:
			append_inet(bytes, DatumGetInetPP(value));
			return;
		case TIMETZOID:
			append_timetz(bytes, DatumGetTimeTzADTP(value));
			return;
		case OIDVECTOROID:
			append_oidvector(bytes, (const oidvector *) PG_DETOAST_DATUM(value));
			return;
		case JSONBOID:
			append_jsonb(bytes, sorted, value);
			return;
		case TSVECTOROID:
			append_tsvector(bytes, DatumGetTSVector(value));
			return;
		case TSQUERYOID:
			append_tsquery(bytes, DatumGetTSQuery(value));
			return;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			if (!needs_keys(sorted, collation) && !is_loose(collation))
				break;
			append_text(bytes, type, collation, value);
			return;
		default:
			break;
	}
	element = get_element_type(type);
	if (OidIsValid(element))
	{
		append_array(bytes, sorted, element, collation, value);
		return;
	}
	if (type_is_range(type))
	{
		append_range(bytes, sorted, type, value);
		return;
	}
	if (type_is_multirange(type))
	{
		append_multirange(bytes, sorted, type, value);
		return;
	}
	if (get_typtype(type) == TYPTYPE_COMPOSITE)
	{
		append_composite(bytes, sorted, type, value);
		return;
	}
	tsurugi_codec_init_type(&codec, type, -1, collation);
	if (is_plain(&codec, &ordered))
		append_plain(bytes, &codec, value);
	else if (is_citext(type))
		append_citext(bytes, sorted, collation, value);
	else
		append_hstore(bytes, value);
}

Datum
tsurugi_canonical(Oid type, Oid collation, bool sorted, Datum value)
{
	StringInfoData bytes;

	initStringInfo(&bytes);
	appendStringInfoSpaces(&bytes, VARHDRSZ);
	append_value(&bytes, sorted, type, collation, value);
	SET_VARSIZE(bytes.data, bytes.len);
	return PointerGetDatum(bytes.data);
}
