/*
 * key.c
 *	  Keys: memcmp of the encodings says what the type's comparison says.
 *
 * For each code a set of values, edge cases among them, is compared pair by
 * pair, each pair by an oracle that knows the type and nothing of encodings.
 * No encoding may be the beginning of a different one, so that columns can
 * follow each other.
 */
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"

#include <math.h>
#include <string.h>

#include "runtime/btree/btree.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "runtime/index/long_key.h"
#include "runtime/table/table.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define VALUES_MAX 256
#define HEADER_BYTES 4

typedef struct encoding
{
	size_t bytes;
	unsigned char key[TG_KEY_BYTES_MAX];
} encoding;

static uint64_t random_state;

static uint64_t
next_random(void)
{
	return unit_random(&random_state);
}

static int
compare_encodings(const encoding *a, const encoding *b)
{
	int order = memcmp(a->key, b->key, a->bytes < b->bytes ? a->bytes : b->bytes);

	return order != 0 ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int
sign(int order)
{
	return (order > 0) - (order < 0);
}

typedef int (*oracle)(const tg_value *a, const tg_value *b);

/* Whether it is told of an integer, without encoding it, that it is what a key has, or is not. */
static bool
knows_integer(const tg_key_part *part, tg_kind kind, const tg_value *value, const encoding *own, const encoding *key)
{
	bool told =
		(part->code == TG_KEY_SIGNED || part->code == TG_KEY_UNSIGNED) && (part->order & TG_KEY_DESCENDING) == 0;

	return tg_key_integer_bytes(part, kind, value->word, key->key, key->bytes) ==
			   (told && compare_encodings(own, key) == 0 ? key->bytes : 0) &&
		   tg_key_integer_bytes(part, kind, value->word, key->key, key->bytes - 1) == 0;
}

/* Encodes all values and compares all pairs with the oracle, reversed for a descending part. */
static void
check_part(const char *name, const tg_key_part *part, tg_kind kind, const tg_value *values, unsigned count,
		   oracle compare)
{
	static encoding encodings[VALUES_MAX];
	int direction = (part->order & TG_KEY_DESCENDING) != 0 ? -1 : 1;
	bool nulls_first = (part->order & TG_KEY_NULLS_FIRST) != 0;
	encoding null = {.bytes = 0};
	encoding not_null = {.bytes = 0};
	unsigned wrong = 0;
	unsigned prefixes = 0;
	unsigned mistaken = 0;

	for (unsigned i = 0; i < count; i++)
		encodings[i].bytes = tg_key_append(encodings[i].key, 0, part, kind, &values[i]);
	if ((part->order & TG_KEY_NULLABLE) != 0)
	{
		null.bytes = tg_key_append_null(null.key, 0, part);
		not_null.bytes = tg_key_append_not_null(not_null.key, 0, part);
	}
	for (unsigned i = 0; i < count; i++)
	{
		if (null.bytes > 0)
		{
			wrong += (compare_encodings(&null, &encodings[i]) < 0) != nulls_first;
			prefixes += memcmp(encodings[i].key, not_null.key, not_null.bytes) != 0;
		}
		for (unsigned j = 0; j < count; j++)
		{
			const encoding *a = &encodings[i];
			const encoding *b = &encodings[j];

			wrong += sign(compare_encodings(a, b)) != direction * sign(compare(&values[i], &values[j]));
			prefixes += a->bytes < b->bytes && memcmp(a->key, b->key, a->bytes) == 0;
			mistaken += !knows_integer(part, kind, &values[i], a, b);
		}
	}
	unit_equal(wrong, 0, "%s: pairs in the wrong order, of %u", name, count * count);
	unit_equal(prefixes, 0, "%s: encodings that begin another", name);
	unit_equal(mistaken, 0, "%s: integers not told from others", name);
}

static void
check_order(const char *name, tg_key_code code, tg_kind kind, const tg_value *values, unsigned count, oracle compare)
{
	static const uint8_t orders[] = {0, TG_KEY_DESCENDING, TG_KEY_NULLABLE, TG_KEY_NULLABLE | TG_KEY_DESCENDING,
									 TG_KEY_NULLABLE | TG_KEY_NULLS_FIRST | TG_KEY_DESCENDING};
	tg_key_part part = {.code = (uint8_t) code, .header_bytes = HEADER_BYTES};

	for (unsigned i = 0; i < sizeof(orders); i++)
	{
		part.order = orders[i];
		check_part(name, &part, kind, values, count, compare);
	}
}

/* --- fixed widths ------------------------------------------------------------------ */

static int
compare_signed(const tg_value *a, const tg_value *b)
{
	return ((int64_t) a->word > (int64_t) b->word) - ((int64_t) a->word < (int64_t) b->word);
}

static int
compare_unsigned(const tg_value *a, const tg_value *b)
{
	return (a->word > b->word) - (a->word < b->word);
}

static void
check_integers(tg_kind kind, const char *name_signed, const char *name_unsigned)
{
	unsigned bits = 8u << kind;
	uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	tg_value values[VALUES_MAX];
	unsigned count = 0;

	for (int i = -3; i <= 3; i++)
	{
		values[count++].word = (uint64_t) (int64_t) i;
		values[count++].word = (mask >> 1) + (uint64_t) (int64_t) i; /* around the largest */
		values[count++].word = (uint64_t) (int64_t) i << (bits - 8);
	}
	while (count < VALUES_MAX)
		values[count++].word = next_random();
	for (unsigned i = 0; i < VALUES_MAX; i++)
		/* as stored */
		values[i].word = (uint64_t) ((int64_t) (values[i].word << (64 - bits)) >> (64 - bits));
	check_order(name_signed, TG_KEY_SIGNED, kind, values, VALUES_MAX, compare_signed);
	for (unsigned i = 0; i < VALUES_MAX; i++)
		values[i].word &= mask;
	check_order(name_unsigned, TG_KEY_UNSIGNED, kind, values, VALUES_MAX, compare_unsigned);
}

/* As PostgreSQL's float8_cmp_internal: NaN is equal to NaN and above all else. */
static int
compare_doubles(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return (a > b) - (a < b);
}

static int
compare_float8(const tg_value *a, const tg_value *b)
{
	double x;
	double y;

	memcpy(&x, &a->word, sizeof(x));
	memcpy(&y, &b->word, sizeof(y));
	return compare_doubles(x, y);
}

static int
compare_float4(const tg_value *a, const tg_value *b)
{
	float x;
	float y;

	memcpy(&x, &a->word, sizeof(x));
	memcpy(&y, &b->word, sizeof(y));
	return compare_doubles(x, y);
}

static void
check_floats(void)
{
	const double edges[] = {0.0,  -0.0,	  1,	   -1,	  INFINITY, -INFINITY, NAN,
							-NAN, 5e-324, -5e-324, 1e308, -1e308,	1e-40,	   -1e-40};
	const unsigned edge_count = sizeof(edges) / sizeof(edges[0]);
	tg_value values[VALUES_MAX];

	for (unsigned i = 0; i < VALUES_MAX; i++)
	{
		double value = edges[i % edge_count];

		values[i].word = next_random();
		if (i < edge_count)
			memcpy(&values[i].word, &value, sizeof(value));
	}
	values[edge_count].word = UINT64_C(0x7ff0000000000001); /* a signalling NaN */
	check_order("float8", TG_KEY_FLOAT8, TG_KIND_8, values, VALUES_MAX, compare_float8);

	for (unsigned i = 0; i < VALUES_MAX; i++)
	{
		float value = (float) edges[i % edge_count];
		int32_t bits = (int32_t) next_random();

		if (i < edge_count)
			memcpy(&bits, &value, sizeof(value));
		values[i].word = (uint64_t) (int64_t) bits; /* sign-extended, as stored */
	}
	check_order("float4", TG_KEY_FLOAT4, TG_KIND_4, values, VALUES_MAX, compare_float4);
}

/* --- 16 bytes ------------------------------------------------------------------------- */

static int
compare_bytes16(const tg_value *a, const tg_value *b)
{
	return memcmp(a->bytes, b->bytes, 16);
}

static int
compare_signed16(const tg_value *a, const tg_value *b)
{
	__int128 x;
	__int128 y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

typedef struct interval
{
	int64_t time;
	int32_t days;
	int32_t months;
} interval;

/* As PostgreSQL's interval_cmp_value. */
static __int128
span_of(const tg_value *value)
{
	interval span;
	int64_t days;

	memcpy(&span, value, sizeof(span));
	days = span.months * INT64_C(30) + span.days;
	return span.time + days * (__int128) INT64_C(86400000000);
}

static int
compare_intervals(const tg_value *a, const tg_value *b)
{
	__int128 x = span_of(a);
	__int128 y = span_of(b);

	return (x > y) - (x < y);
}

static void
check_wide(void)
{
	const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, 256, -256};
	const interval spans[] = {{0, 30, 0},
							  {0, 0, 1},
							  {INT64_C(86400000000), 29, 0},
							  {-1, 30, 0},
							  {1, 0, 1},
							  {INT64_MIN, INT32_MIN, INT32_MIN},
							  {INT64_MAX, INT32_MAX, INT32_MAX},
							  {0, -30, 1}};
	tg_value values[VALUES_MAX];

	for (unsigned i = 0; i < VALUES_MAX; i++)
	{
		__int128 number = edges[i % 7];

		if (i < 49)
			number = (__int128) ((unsigned __int128) edges[i / 7] << 64 | (uint64_t) edges[i % 7]);
		else
			number = number * (int64_t) next_random();
		memcpy(&values[i], &number, sizeof(number));
	}
	check_order("numbers of 128 bits", TG_KEY_SIGNED16, TG_KIND_16, values, VALUES_MAX, compare_signed16);
	check_order("16 bytes", TG_KEY_BYTES16, TG_KIND_16, values, VALUES_MAX, compare_bytes16);
	for (unsigned i = 0; i < VALUES_MAX; i++)
	{
		interval span = {(int64_t) next_random() >> next_random() % 60, (int32_t) next_random() % 100,
						 (int32_t) next_random() % 5};

		if (i < sizeof(spans) / sizeof(spans[0]))
			span = spans[i];
		memcpy(&values[i], &span, sizeof(span));
	}
	check_order("intervals", TG_KEY_INTERVAL, TG_KIND_16, values, VALUES_MAX, compare_intervals);
}

/* --- strings ------------------------------------------------------------------------------ */

static void
payload_of(const tg_value *value, const unsigned char **data_out, size_t *bytes_out)
{
	if (tg_string_is_out(&value->string))
	{
		*data_out = (const unsigned char *) value->string.blob + HEADER_BYTES;
		*bytes_out = tg_string_blob_bytes(&value->string) - HEADER_BYTES;
	}
	else
	{
		*data_out = (const unsigned char *) value->string.bytes;
		*bytes_out = tg_string_inline_bytes(&value->string);
	}
}

static int
compare_strings(const tg_value *a, const tg_value *b)
{
	const unsigned char *x;
	const unsigned char *y;
	size_t x_bytes;
	size_t y_bytes;
	int order;

	payload_of(a, &x, &x_bytes);
	payload_of(b, &y, &y_bytes);
	order = memcmp(x, y, x_bytes < y_bytes ? x_bytes : y_bytes);
	return order != 0 ? order : (x_bytes > y_bytes) - (x_bytes < y_bytes);
}

/* As bpcharcmp: trailing blanks do not count. */
static int
compare_blanks(const tg_value *a, const tg_value *b)
{
	const unsigned char *x;
	const unsigned char *y;
	size_t x_bytes;
	size_t y_bytes;
	int order;

	payload_of(a, &x, &x_bytes);
	payload_of(b, &y, &y_bytes);
	while (x_bytes > 0 && x[x_bytes - 1] == ' ')
		x_bytes--;
	while (y_bytes > 0 && y[y_bytes - 1] == ' ')
		y_bytes--;
	order = memcmp(x, y, x_bytes < y_bytes ? x_bytes : y_bytes);
	return order != 0 ? order : (x_bytes > y_bytes) - (x_bytes < y_bytes);
}

/* A string of bytes drawn from few, so that many are alike; long ones in memory of their own. */
static void
make_string(tg_value *value, const char *alphabet, unsigned letters, unsigned bytes_max, unsigned char *memory)
{
	unsigned bytes = (unsigned) (next_random() % (bytes_max + 1));

	memset(memory, 0xee, HEADER_BYTES);
	for (unsigned i = 0; i < bytes; i++)
		memory[HEADER_BYTES + i] = (unsigned char) alphabet[next_random() % letters];
	if (bytes <= TG_STRING_INLINE_MAX && next_random() % 2)
		tg_string_make_inline(&value->string, memory + HEADER_BYTES, bytes);
	else
		tg_string_make_host(&value->string, memory, bytes + HEADER_BYTES, HEADER_BYTES);
}

static void
check_strings(void)
{
	static unsigned char memory[VALUES_MAX][64];
	tg_value values[VALUES_MAX];

	for (unsigned i = 0; i < VALUES_MAX; i++)
		make_string(&values[i], "\0\1\2\xff", 4, i < 160 ? 4 : 40, memory[i]);
	check_order("strings with zero bytes", TG_KEY_STRING, TG_KIND_STRING, values, VALUES_MAX, compare_strings);
	for (unsigned i = 0; i < VALUES_MAX; i++)
		make_string(&values[i], " !\t", 3, i < 160 ? 4 : 40, memory[i]);
	check_order("blanks", TG_KEY_BLANK, TG_KIND_STRING, values, VALUES_MAX, compare_blanks);
	check_order("blanks that count", TG_KEY_STRING, TG_KIND_STRING, values, VALUES_MAX, compare_strings);
}

/* --- several columns, limits, stored versions ------------------------------------------------- */

static const tg_key_spec mixed_spec = {.part_count = 3,
									   .part = {{.column = 2, .code = TG_KEY_BLANK, .header_bytes = HEADER_BYTES},
												{.column = 0, .code = TG_KEY_SIGNED},
												{.column = 1, .code = TG_KEY_STRING, .header_bytes = HEADER_BYTES}}};
static const uint8_t mixed_kinds[] = {TG_KIND_2, TG_KIND_STRING, TG_KIND_STRING};

static void
make_mixed(tg_value values[3], unsigned char memory[2][64])
{
	make_string(&values[2], "a b", 3, 3, memory[0]);
	values[0].word = (uint64_t) (int64_t) ((int) (next_random() % 5) - 2);
	make_string(&values[1], "\0\1x", 3, next_random() % 8 ? 3 : 30, memory[1]);
}

static int
compare_mixed(const tg_value *a, const tg_value *b)
{
	int order = compare_blanks(&a[2], &b[2]);

	if (order == 0)
		order = compare_signed(&a[0], &b[0]);
	return order != 0 ? order : compare_strings(&a[1], &b[1]);
}

static void
check_columns(void)
{
	static unsigned char memory[VALUES_MAX][2][64];
	static tg_value values[VALUES_MAX][3];
	static encoding encodings[VALUES_MAX];
	unsigned wrong = 0;

	for (unsigned i = 0; i < VALUES_MAX; i++)
	{
		make_mixed(values[i], memory[i]);
		encodings[i].bytes = 0;
		for (unsigned k = 0; k < mixed_spec.part_count; k++)
		{
			const tg_key_part *part = &mixed_spec.part[k];

			encodings[i].bytes = tg_key_append(encodings[i].key, encodings[i].bytes, part,
											   (tg_kind) mixed_kinds[part->column], &values[i][part->column]);
		}
	}
	for (unsigned i = 0; i < VALUES_MAX; i++)
	{
		for (unsigned j = 0; j < VALUES_MAX; j++)
			wrong += sign(compare_encodings(&encodings[i], &encodings[j])) != sign(compare_mixed(values[i], values[j]));
	}
	unit_equal(wrong, 0, "keys of three columns: pairs in the wrong order");
}

static void
check_limit(void)
{
	static unsigned char memory[HEADER_BYTES + TG_KEY_BYTES_MAX];
	static unsigned char key[TG_KEY_BYTES_MAX];
	const tg_key_part text = {.code = TG_KEY_STRING, .header_bytes = HEADER_BYTES};
	const tg_key_part number = {.code = TG_KEY_SIGNED};
	const tg_key_part falling = {.code = TG_KEY_STRING, .header_bytes = HEADER_BYTES, .order = TG_KEY_DESCENDING};
	const tg_key_part nullable = {.code = TG_KEY_SIGNED, .order = TG_KEY_NULLABLE};
	tg_value value;

	memset(memory, 'x', sizeof(memory));
	tg_string_make_host(&value.string, memory, HEADER_BYTES + TG_KEY_BYTES_MAX - 1, HEADER_BYTES);
	unit_equal(tg_key_append(key, 0, &text, TG_KIND_STRING, &value), TG_KEY_BYTES_MAX, "the longest text");
	tg_string_make_host(&value.string, memory, HEADER_BYTES + TG_KEY_BYTES_MAX, HEADER_BYTES);
	unit_equal(tg_key_append(key, 0, &text, TG_KIND_STRING, &value), SIZE_MAX, "a longer one");
	memory[HEADER_BYTES] = 0;
	tg_string_make_host(&value.string, memory, HEADER_BYTES + TG_KEY_BYTES_MAX - 2, HEADER_BYTES);
	unit_equal(tg_key_append(key, 0, &text, TG_KIND_STRING, &value), TG_KEY_BYTES_MAX, "a zero byte counts twice");
	tg_string_make_host(&value.string, memory, HEADER_BYTES + TG_KEY_BYTES_MAX - 1, HEADER_BYTES);
	unit_equal(tg_key_append(key, 0, &text, TG_KIND_STRING, &value), SIZE_MAX, "one too many of them");
	unit_equal(tg_key_append(key, TG_KEY_BYTES_MAX - 8, &number, TG_KIND_8, &value), TG_KEY_BYTES_MAX, "a number fits");
	unit_equal(tg_key_append(key, TG_KEY_BYTES_MAX - 7, &number, TG_KIND_8, &value), SIZE_MAX, "a number does not");
	unit_equal(tg_key_append(key, 0, &falling, TG_KIND_STRING, &value), SIZE_MAX, "nor the text, falling,");
	unit_ok(key[0] == (unsigned char) ~1 && key[1] == (unsigned char) ~1 &&
				key[TG_KEY_BYTES_MAX - 1] == (unsigned char) ~'x',
			"of which all that there is room for is written");
	unit_equal(tg_key_append_null(key, TG_KEY_BYTES_MAX, &nullable), SIZE_MAX, "nor a NULL");
}

static void
check_stored(tg_session *session)
{
	static unsigned char memory[2][64];
	const bool nulls[3] = {false};
	unsigned wrong = 0;
	tg_table *table;

	if (tg_table_create(session, 1, 2, mixed_kinds, 3, &mixed_spec, TG_DATA, &table) != TG_OK)
		abort();
	for (unsigned i = 0; i < VALUES_MAX; i++)
	{
		unsigned char expected[TG_KEY_BYTES_MAX];
		unsigned char key[TG_KEY_BYTES_MAX];
		size_t expected_bytes;
		tg_value values[3];
		tg_version version;

		make_mixed(values, memory);
		tg_epoch_enter(session);
		if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK ||
			tg_version_store(session, version, i, values, nulls, TG_DATA) != TG_OK ||
			tg_key_encode(session, table, mixed_kinds, values, expected, &expected_bytes) != TG_OK)
			abort();
		memset(memory, 0, sizeof(memory)); /* the version has its own copy */
		wrong +=
			tg_key_of_version(table->key, version, key) != expected_bytes || memcmp(key, expected, expected_bytes) != 0;
		tg_epoch_leave(session);
	}
	unit_equal(wrong, 0, "keys of stored versions that differ from those of their values");
	tg_leases_end(session);
	tg_table_release(session, table);
}

int
main(void)
{
	const tg_arena_config config = {.reserve_bytes = 1 << 26, .limit_bytes = 1 << 26, .session_max = 2};
	tg_session *session;

	if (tg_arena_create(&config) != TG_OK || tg_lease_create() != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	check_integers(TG_KIND_1, "signed, 1 byte", "unsigned, 1 byte");
	check_integers(TG_KIND_2, "signed, 2 bytes", "unsigned, 2 bytes");
	check_integers(TG_KIND_4, "signed, 4 bytes", "unsigned, 4 bytes");
	check_integers(TG_KIND_8, "signed, 8 bytes", "unsigned, 8 bytes");
	check_floats();
	check_wide();
	check_strings();
	check_columns();
	check_limit();
	check_stored(session);
	tg_session_close(session);
	tg_arena_destroy();
	return unit_done();
}
