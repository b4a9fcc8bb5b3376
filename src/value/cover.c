/*
 * cover.c
 *	  Covers: values with an extent, such as ranges or boxes, as short keys in an ordered tree.
 *
 * A value becomes an interval of 64-bit numbers, which are ordered as its bounds: two bounds may
 * have the same number, but never numbers in the wrong order.  The interval is stored by its size
 * and its low end:
 *
 *	level	1 byte: the least L with high - low < 4^L; 0 to 32
 *	low		8 bytes, big-endian
 *
 * So an interval of level L that has a point in common with [a, b] has its low end in (a - 4^L, b].
 * That is one range of keys for each level, of which at most the first 4^L numbers are searched in
 * vain; and usually the values have only a few levels.  The caller says which levels exist, as far
 * as it knows.  The others are taken together, and are mostly empty.  This is XZ-ordering (Böhm,
 * Klump, Kriegel 1999: an object is stored at the cell of its low end, enlarged by its own size) in
 * one dimension.  Unlike the fork node of a relational interval tree (Kriegel, Pötke, Seidl 2000),
 * one key for each value is enough for both ends, and there is no point, such as midnight of the
 * epoch, at which many short intervals accumulate.
 *
 *	range		its bounds; infinite ones are the first and the last number
 *	multirange	from its first bound to its last
 *	inet, cidr	the addresses of the network; of IPv6 their first 63 bits
 *	point, box, circle, polygon		in two dimensions: plane.c
 *
 * An empty range or multirange has a level of its own, the last one.
 *
 * Left out: bounds whose order is not known here (types without an ordered stored form, texts under
 * other collations than C, a range type with its own operator class).  All such ranges extend from
 * the first number to the last.
 */
#include "postgres.h"

#include "src/value/cover.h"

#include <math.h>
#include <sys/socket.h>

#include "catalog/pg_type_d.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/numeric.h"
#include "utils/pg_locale.h"
#include "utils/rangetypes.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "runtime/base/check.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "src/value/codec.h"
#include "src/value/datum.h"
#include "src/value/plane.h"

#define COVER_BYTES 9
#define LEVEL_MAX 32
#define LEVEL_EMPTY (LEVEL_MAX + 1)

_Static_assert(TSURUGI_COVER_RANGES_MAX >= 2 * (LEVEL_EMPTY + 1), "two ranges of keys for each level");
_Static_assert(LEVEL_EMPTY <= TSURUGI_COVER_LEVEL_MAX, "a bit for each level");

typedef struct Extent
{
	bool empty;
	uint64 low;
	uint64 high;
} Extent;

static const Extent everything = {.low = 0, .high = PG_UINT64_MAX};

/* --- numbers ------------------------------------------------------------------------------- */

static uint64
number_of_integer(int64 value)
{
	return (uint64) value ^ UINT64CONST(1) << 63;
}

/* NaN is the largest number, as in float8_cmp_internal. */
static uint64
number_of_float(double value)
{
	uint64 bits;

	if (isnan(value))
		return PG_UINT64_MAX;
	value += 0.0; /* -0 becomes 0 */
	memcpy(&bits, &value, sizeof(bits));
	return (bits >> 63) != 0 ? ~bits : bits | UINT64CONST(1) << 63;
}

static uint64
number_of_bytes(const void *bytes, size_t length)
{
	uint64 number = 0;

	memcpy(&number, bytes, Min(length, sizeof(number)));
	return pg_ntoh64(number);
}

/* The number of a value of fixed length, from its key. */
static bool
number_of_key(Oid type, Datum value, uint64 *number_out)
{
	unsigned char key[sizeof(tg_value)];
	tg_key_part part = {0};
	tsurugi_codec codec;
	tg_value stored;
	bool ordered;

	tsurugi_codec_init_type(&codec, type, -1, InvalidOid);
	if (codec.kind == TG_KIND_STRING || !tsurugi_key_code(&codec, &part.code, &ordered) || !ordered)
		return false;
	tsurugi_value(&codec, value, &stored);
	memset(key, 0, sizeof(key));
	(void) tg_key_append(key, 0, &part, (tg_kind) codec.kind, &stored);
	*number_out = number_of_bytes(key, sizeof(key));
	return true;
}

/* False: the value has no number. */
static bool
number_of(Oid type, Oid collation, Datum value, uint64 *number_out)
{
	switch (type)
	{
		case INT4OID:
			*number_out = number_of_integer(DatumGetInt32(value));
			return true;
		case DATEOID:
			*number_out = number_of_integer(DatumGetDateADT(value));
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*number_out = number_of_integer(DatumGetInt64(value));
			return true;
		case FLOAT8OID:
			*number_out = number_of_float(DatumGetFloat8(value));
			return true;
		/* Rounded, which preserves the order. */
		case NUMERICOID:
			*number_out = number_of_float(DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value)));
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
		{
			const struct varlena *flat;

			if (OidIsValid(collation) && !lc_collate_is_c(collation))
				return false;
			flat = PG_DETOAST_DATUM_PACKED(value);
			*number_out = number_of_bytes(VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat));
			return true;
		}
		default:
			return number_of_key(type, value, number_out);
	}
}

/* --- intervals ------------------------------------------------------------------------------- */

/* Whether a range's values are in the order that is known here. */
static bool
is_ordered(const TypeCacheEntry *range)
{
	const TypeCacheEntry *element = lookup_type_cache(range->rngelemtype->type_id, TYPECACHE_CMP_PROC);

	return OidIsValid(element->cmp_proc) && element->cmp_proc == range->rng_cmp_proc_finfo.fn_oid;
}

static Extent
extent_of_bounds(const TypeCacheEntry *range, const RangeBound *lower, const RangeBound *upper)
{
	Oid element = getBaseType(range->rngelemtype->type_id);
	Extent extent = everything;

	if (!is_ordered(range))
		return everything;
	if ((!lower->infinite && !number_of(element, range->rng_collation, lower->val, &extent.low)) ||
		(!upper->infinite && !number_of(element, range->rng_collation, upper->val, &extent.high)))
		return everything;
	return extent;
}

static Extent
extent_of_range(Oid type, Datum value)
{
	TypeCacheEntry *range = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	RangeBound lower;
	RangeBound upper;
	bool empty;

	range_deserialize(range, DatumGetRangeTypeP(value), &lower, &upper, &empty);
	if (empty)
		return (Extent){.empty = true};
	return extent_of_bounds(range, &lower, &upper);
}

static Extent
extent_of_multirange(Oid type, Datum value)
{
	TypeCacheEntry *range = lookup_type_cache(type, TYPECACHE_MULTIRANGE_INFO)->rngtype;
	MultirangeType *ranges = DatumGetMultirangeTypeP(value);
	RangeBound lower;
	RangeBound upper;
	RangeBound between;

	if (ranges->rangeCount == 0)
		return (Extent){.empty = true};
	multirange_get_bounds(range, ranges, 0, &lower, &between);
	multirange_get_bounds(range, ranges, ranges->rangeCount - 1, &between, &upper);
	return extent_of_bounds(range, &lower, &upper);
}

/* The range type of a column of ranges or multiranges. */
static const TypeCacheEntry *
range_of(Oid column)
{
	return type_is_multirange(column) ? lookup_type_cache(column, TYPECACHE_MULTIRANGE_INFO)->rngtype
									  : lookup_type_cache(column, TYPECACHE_RANGE_INFO);
}

/* The extent of an element that is compared with a column of ranges. */
static Extent
extent_of_element(Oid column, Datum value)
{
	const RangeBound bound = {.val = value};

	return extent_of_bounds(range_of(column), &bound, &bound);
}

static Extent
extent_of_network(const inet *network)
{
	bool is_old = ip_family(network) == PGSQL_AF_INET;
	unsigned bits = ip_bits(network);
	uint64 address = number_of_bytes(ip_addr(network), is_old ? 4 : 16) >> 1;
	uint64 rest = bits >= 63 ? 0 : PG_UINT64_MAX >> (bits + 1);
	uint64 family = is_old ? 0 : UINT64CONST(1) << 63;

	return (Extent){.low = family | (address & ~rest), .high = family | address | rest};
}

/* The extent of a range, multirange or network. */
static Extent
extent_of(Oid type, Datum value)
{
	if (type == INETOID || type == CIDROID)
		return extent_of_network(DatumGetInetPP(value));
	return type_is_multirange(type) ? extent_of_multirange(type, value) : extent_of_range(type, value);
}

bool
tsurugi_cover_is_possible(Oid type)
{
	return tsurugi_plane_has(type) || type == INETOID || type == CIDROID || type_is_range(type) ||
		   type_is_multirange(type);
}

/* --- keys ----------------------------------------------------------------------- */

static int
level_of(const Extent *extent)
{
	uint64 size = extent->high - extent->low;

	if (extent->empty)
		return LEVEL_EMPTY;
	return size == 0 ? 0 : pg_leftmost_one_pos64(size) / 2 + 1;
}

static void
make_key(unsigned char *key, int level, uint64 low)
{
	memset(key, 0, TSURUGI_COVER_BYTES_MAX);
	key[0] = TSURUGI_COVER_LEVEL(level);
	low = pg_hton64(low);
	memcpy(key + 1, &low, sizeof(low));
}

int
tsurugi_cover_bytes(Oid type)
{
	return tsurugi_plane_has(type) ? TSURUGI_PLANE_BYTES : COVER_BYTES;
}

Datum
tsurugi_cover(Oid type, Datum value)
{
	unsigned char key[TSURUGI_COVER_BYTES_MAX];
	int bytes = tsurugi_cover_bytes(type);
	char *cover = palloc(VARHDRSZ + bytes);

	tg_assert(tsurugi_cover_is_possible(type));
	if (tsurugi_plane_has(type))
		tsurugi_plane_cover(type, value, key);
	else
	{
		Extent extent = extent_of(type, value);

		make_key(key, level_of(&extent), extent.empty ? 0 : extent.low);
	}
	SET_VARSIZE(cover, VARHDRSZ + bytes);
	memcpy(VARDATA(cover), key, bytes);
	return PointerGetDatum(cover);
}

/* --- queries --------------------------------------------------------------------------------- */

/* What an operator requires of the interval of the column's value, its left side. */
typedef enum Placement
{
	UNKNOWN,
	TOUCHES,	   /* they have a point in common */
	CONTAINS,	   /* it contains all of the other one */
	LIES_WITHIN,   /* also if the value is empty */
	IS_SAME,	   /* also if the value is empty */
	BEGINS_BEFORE, /* its low end is not above the other's low end */
	BEGINS_UP_TO,  /* … the other's high end */
	BEGINS_FROM,   /* … not below the other's low end */
	BEGINS_AFTER   /* … the other's high end */
} Placement;

static Placement
placement_of(Oid function)
{
	switch (function)
	{
		case F_RANGE_OVERLAPS:
		case F_RANGE_OVERLAPS_MULTIRANGE:
		case F_MULTIRANGE_OVERLAPS_RANGE:
		case F_MULTIRANGE_OVERLAPS_MULTIRANGE:
		/* If neighbours_touch. */
		case F_RANGE_ADJACENT:
		case F_RANGE_ADJACENT_MULTIRANGE:
		case F_MULTIRANGE_ADJACENT_RANGE:
		case F_MULTIRANGE_ADJACENT_MULTIRANGE:
		case F_NETWORK_EQ:
		case F_NETWORK_OVERLAP:
		case F_NETWORK_SUB:
		case F_NETWORK_SUBEQ:
		case F_NETWORK_SUP:
		case F_NETWORK_SUPEQ:
			return TOUCHES;
		case F_RANGE_CONTAINS:
		case F_RANGE_CONTAINS_ELEM:
		case F_RANGE_CONTAINS_MULTIRANGE:
		case F_MULTIRANGE_CONTAINS_RANGE:
		case F_MULTIRANGE_CONTAINS_ELEM:
		case F_MULTIRANGE_CONTAINS_MULTIRANGE:
			return CONTAINS;
		case F_RANGE_CONTAINED_BY:
		case F_RANGE_CONTAINED_BY_MULTIRANGE:
		case F_MULTIRANGE_CONTAINED_BY_RANGE:
		case F_MULTIRANGE_CONTAINED_BY_MULTIRANGE:
			return LIES_WITHIN;
		case F_RANGE_EQ:
		case F_MULTIRANGE_EQ:
			return IS_SAME;
		case F_RANGE_BEFORE:
		case F_RANGE_BEFORE_MULTIRANGE:
		case F_MULTIRANGE_BEFORE_RANGE:
		case F_MULTIRANGE_BEFORE_MULTIRANGE:
			return BEGINS_BEFORE;
		case F_RANGE_OVERLEFT:
		case F_RANGE_OVERLEFT_MULTIRANGE:
		case F_MULTIRANGE_OVERLEFT_RANGE:
		case F_MULTIRANGE_OVERLEFT_MULTIRANGE:
			return BEGINS_UP_TO;
		case F_RANGE_OVERRIGHT:
		case F_RANGE_OVERRIGHT_MULTIRANGE:
		case F_MULTIRANGE_OVERRIGHT_RANGE:
		case F_MULTIRANGE_OVERRIGHT_MULTIRANGE:
			return BEGINS_FROM;
		case F_RANGE_AFTER:
		case F_RANGE_AFTER_MULTIRANGE:
		case F_MULTIRANGE_AFTER_RANGE:
		case F_MULTIRANGE_AFTER_MULTIRANGE:
			return BEGINS_AFTER;
		default:
			return UNKNOWN;
	}
}

bool
tsurugi_cover_answers(Oid function)
{
	return placement_of(function) != UNKNOWN || tsurugi_plane_answers(function);
}

/*
 * Adjacent ranges share the number of a bound if there are values between any two, or if the
 * canonical form is [low, high), as that of the built-in types.  A user's canonical form may be
 * another: [1,4] -|- [5,9].
 */
static bool
neighbours_touch(Oid function, Oid column)
{
	Oid canonical;

	if (function != F_RANGE_ADJACENT && function != F_RANGE_ADJACENT_MULTIRANGE &&
		function != F_MULTIRANGE_ADJACENT_RANGE && function != F_MULTIRANGE_ADJACENT_MULTIRANGE)
		return true;
	canonical = range_of(column)->rng_canonical_finfo.fn_oid;
	return !OidIsValid(canonical) || canonical == F_INT4RANGE_CANONICAL || canonical == F_INT8RANGE_CANONICAL ||
		   canonical == F_DATERANGE_CANONICAL;
}

/*
 * The interval of the query.  An element that is compared with a column of ranges is a range of one
 * point.
 */
static Extent
extent_asked(Oid column, Oid type, Datum value)
{
	bool is_element =
		(type_is_range(column) || type_is_multirange(column)) && !type_is_range(type) && !type_is_multirange(type);

	return is_element ? extent_of_element(column, value) : extent_of(type, value);
}

/*
 * The low ends of the intervals of a level that may be in this relation to an interval that is not
 * empty.  False: there is none.
 */
static bool
lows_of_level(Placement placement, const Extent *asked, int level, uint64 *low_out, uint64 *high_out)
{
	/* The largest distance from the low end to the high end. */
	uint64 reach = level == 0 ? 0 : PG_UINT64_MAX >> (64 - 2 * level);
	int own = level_of(asked);

	*low_out = 0;
	*high_out = PG_UINT64_MAX;
	switch (placement)
	{
		case TOUCHES:
			*low_out = asked->low - Min(asked->low, reach);
			*high_out = asked->high;
			return true;
		case CONTAINS:
			*low_out = asked->high - Min(asked->high, reach);
			*high_out = asked->low;
			return level >= own && *low_out <= *high_out;
		case LIES_WITHIN:
			*low_out = asked->low;
			*high_out = asked->high;
			return level <= own;
		case IS_SAME:
			*low_out = *high_out = asked->low;
			return level == own;
		case BEGINS_BEFORE:
			*high_out = asked->low;
			return true;
		case BEGINS_UP_TO:
			*high_out = asked->high;
			return true;
		case BEGINS_FROM:
			*low_out = asked->low;
			return true;
		default:
			*low_out = asked->high;
			return true;
	}
}

static void
set_range(tsurugi_cover_range *range, int low_level, uint64 low, int high_level, uint64 high)
{
	make_key(range->low, low_level, low);
	make_key(range->high, high_level, high);
}

/*
 * Whether so many ranges may be the answer to a query: they are in order, and apart from each
 * other.
 */
static bool
are_apart(const tsurugi_cover_range *ranges, int count)
{
	for (int i = 0; i < count; i++)
		if (memcmp(ranges[i].low, ranges[i].high, TSURUGI_COVER_BYTES_MAX) > 0 ||
			(i > 0 && memcmp(ranges[i - 1].high, ranges[i].low, TSURUGI_COVER_BYTES_MAX) >= 0))
			return false;
	return count <= TSURUGI_COVER_RANGES_MAX;
}

int
tsurugi_cover_query(Oid function, Oid type, Oid value_type, Datum value, const tsurugi_cover_levels *levels,
					tsurugi_cover_range *ranges)
{
	Placement placement = placement_of(function);
	Extent asked;
	int count = 0;
	/* The first of several levels without covers: they are one range. */
	int gap = -1;

	value_type = getBaseType(value_type);
	if (tsurugi_plane_has(type))
		return tsurugi_plane_query(function, value_type, value, levels, ranges);
	asked = extent_asked(type, value_type, value);
	if ((asked.empty && placement == CONTAINS) || !neighbours_touch(function, type))
	{
		set_range(&ranges[0], 0, 0, LEVEL_EMPTY, PG_UINT64_MAX);
		return 1;
	}
	for (int level = 0; !asked.empty && level <= LEVEL_MAX; level++)
	{
		uint64 low;
		uint64 high;
		bool wanted = lows_of_level(placement, &asked, level, &low, &high);

		if (wanted && (levels->present >> level & 1) == 0)
		{
			gap = gap < 0 ? level : gap;
			continue;
		}
		if (gap >= 0)
			set_range(&ranges[count++], gap, 0, level - 1, PG_UINT64_MAX);
		gap = -1;
		if (wanted)
			set_range(&ranges[count++], level, low, level, high);
	}
	if (gap >= 0)
		set_range(&ranges[count++], gap, 0, LEVEL_MAX, PG_UINT64_MAX);
	if (placement == LIES_WITHIN || (asked.empty && placement == IS_SAME))
		set_range(&ranges[count++], LEVEL_EMPTY, 0, LEVEL_EMPTY, 0);
	tg_assert(are_apart(ranges, count));
	return count;
}

/* --- sets of ranges ------------------------------------------------------------- */

static const unsigned char *
greater_of(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, TSURUGI_COVER_BYTES_MAX) < 0 ? b : a;
}

static const unsigned char *
lesser_of(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, TSURUGI_COVER_BYTES_MAX) < 0 ? a : b;
}

int
tsurugi_cover_intersect(const tsurugi_cover_range *a, int a_count, const tsurugi_cover_range *b, int b_count,
						tsurugi_cover_range *ranges)
{
	int count = 0;

	for (int i = 0, j = 0; i < a_count && j < b_count;)
	{
		const unsigned char *low = greater_of(a[i].low, b[j].low);
		const unsigned char *high = lesser_of(a[i].high, b[j].high);

		if (memcmp(low, high, TSURUGI_COVER_BYTES_MAX) <= 0)
		{
			memcpy(ranges[count].low, low, TSURUGI_COVER_BYTES_MAX);
			memcpy(ranges[count++].high, high, TSURUGI_COVER_BYTES_MAX);
		}
		if (memcmp(a[i].high, b[j].high, TSURUGI_COVER_BYTES_MAX) < 0)
			i++;
		else
			j++;
	}
	tg_assert(count < a_count + b_count || count == 0);
	tg_assert(are_apart(ranges, count));
	return count;
}
