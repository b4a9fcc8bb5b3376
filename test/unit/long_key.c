/*
 * long_key.c
 *	  Keys of long strings are in the order of the strings, in whatever order these get their ranks,
 *	  beside short strings, and in both directions; a string without rank has none, and a place
 *	  between its neighbours.  Parts of a key share its bytes, so that any values fit.
 */
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/order/value.h"
#include "runtime/index/long_key.h"

#include <string.h>

#include "runtime/btree/btree.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "runtime/table/table.h"
#include "runtime/index/index_spec.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define STRINGS 300
#define BYTES_MAX 5000
#define HEADER_BYTES 4

static tg_session *session;

typedef struct string
{
	unsigned char bytes[HEADER_BYTES + BYTES_MAX];
	size_t length;
	bool ranked;
	tg_value value;
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes;
	unsigned char above[TG_KEY_BYTES_MAX]; /* what has no rank: its place below the next one */
	size_t above_bytes;
} string;

static string strings[STRINGS];

static unsigned
draw(unsigned below)
{
	static uint64_t state;

	return unit_below(&state, below);
}

/*
 * Many strings have a common prefix, up to about the length where a rank replaces the rest, and
 * many share all but the last bytes.
 */
static void
make_string(string *made, unsigned long_above, bool blank)
{
	static const unsigned char letters[] = {0, 1, 2, 'm', 255};
	size_t common = draw(3) == 0 ? long_above - 3 + draw(7) : draw(long_above * 3);

	made->length = 0;
	memset(made->bytes + HEADER_BYTES, draw(8) == 0 ? 'l' : 'm', common);
	made->length = common;
	for (unsigned rest = draw(6); rest > 0; rest--)
		made->bytes[HEADER_BYTES + made->length++] = letters[draw(sizeof(letters))];
	while (blank && draw(2) == 0)
		made->bytes[HEADER_BYTES + made->length++] = ' ';
	if (made->length <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&made->value.string, made->bytes + HEADER_BYTES, (unsigned) made->length);
	else
		tg_string_make_host(&made->value.string, made->bytes, (uint32_t) (HEADER_BYTES + made->length), HEADER_BYTES);
	while (blank && made->length > 0 && made->bytes[HEADER_BYTES + made->length - 1] == ' ')
		made->length--;
}

static int
compare_bytes(const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes)
{
	int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	order = order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
	return (order > 0) - (order < 0);
}

static int
compare_strings(const string *a, const string *b)
{
	return compare_bytes(a->bytes + HEADER_BYTES, a->length, b->bytes + HEADER_BYTES, b->length);
}

static int
compare_keys(const string *a, const string *b)
{
	return compare_bytes(a->key, a->key_bytes, b->key, b->key_bytes);
}

static bool
is_long(const string *of, const tg_key_part *part)
{
	return of->length > part->long_above;
}

static void
check_strings(const char *name, unsigned part_count, uint8_t code, uint8_t order)
{
	static const uint8_t table_kinds[] = {TG_KIND_STRING};
	uint8_t kinds[TG_KEY_COLUMN_MAX];
	tg_key_part parts[TG_KEY_COLUMN_MAX];
	unsigned wrong_order = 0;
	unsigned wrong_place = 0;
	unsigned wrong_rank = 0;
	tg_table *table;

	for (unsigned i = 0; i < part_count; i++)
	{
		kinds[i] = TG_KIND_STRING;
		parts[i] = (tg_key_part){.code = code, .header_bytes = HEADER_BYTES, .order = order};
	}
	tg_key_parts_share(parts, kinds, part_count);
	if (tg_table_create(session, 1, 1, table_kinds, 1, NULL, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	for (unsigned i = 0; i < STRINGS; i++)
	{
		string *made = &strings[i];

		make_string(made, parts[0].long_above, code == TG_KEY_BLANK);
		made->ranked = draw(2) == 0;
		if (made->ranked && tg_key_rank(session, table, &parts[0], TG_KIND_STRING, &made->value) != TG_OK)
			unit_bail("no rank");
	}
	for (unsigned i = 0; i < STRINGS; i++)
	{
		string *made = &strings[i];
		bool is_there;
		bool is_there_too;
		size_t bytes = tg_key_append_of(table, made->key, 0, &parts[0], TG_KIND_STRING, &made->value);

		made->key_bytes =
			tg_key_append_near(table, made->key, 0, &parts[0], TG_KIND_STRING, &made->value, TG_KEY_BELOW, &is_there);
		made->above_bytes = tg_key_append_near(table, made->above, 0, &parts[0], TG_KIND_STRING, &made->value,
											   TG_KEY_ABOVE, &is_there_too);
		wrong_rank += is_there != is_there_too;
		if ((made->ranked || !is_long(made, &parts[0])) && !is_there)
			wrong_rank++;
		made->ranked = is_there;
		wrong_rank += is_there ? bytes != made->key_bytes : bytes != TG_KEY_UNRANKED;
		wrong_rank += made->key_bytes > TG_INDEX_KEY_BYTES_MAX / part_count;
	}
	for (unsigned i = 0; i < STRINGS; i++)
		for (unsigned k = 0; k < STRINGS; k++)
		{
			const string *a = &strings[i];
			const string *b = &strings[k];
			int expected = compare_strings(a, b);
			int found = compare_keys(a, b);

			if ((order & TG_KEY_DESCENDING) != 0)
				found = -found;
			if (a->ranked && b->ranked)
				wrong_order += found != expected;
			/* a key that equals the place is below the string; no key equals the string */
			else if (a->ranked)
			{
				wrong_place += expected < 0 ? found > 0 : found <= 0;
				found = compare_bytes(a->key, a->key_bytes, b->above, b->above_bytes);
				if ((order & TG_KEY_DESCENDING) != 0)
					found = -found;
				wrong_place += expected < 0 ? found >= 0 : found < 0;
			}
		}
	unit_equal(wrong_order, 0, name);
	unit_equal(wrong_place, 0, "a string without rank has its place between the others");
	unit_equal(wrong_rank, 0, "and is not there; all keys have room");
	tg_table_release(session, table);
}

/* Values that no key had room for before: of all columns together. */
static void
check_primary(void)
{
	static const uint8_t kinds[] = {TG_KIND_STRING, TG_KIND_8, TG_KIND_STRING};
	tg_key_spec key = {.part_count = 3};
	unsigned char first[TG_KEY_BYTES_MAX];
	unsigned char second[TG_KEY_BYTES_MAX];
	tg_value values[3];
	size_t first_bytes;
	size_t second_bytes;
	tg_status status = TG_OK;
	tg_table *table;

	for (unsigned i = 0; i < 3; i++)
		key.part[i] = (tg_key_part){.column = (uint16_t) i, .code = i == 1 ? TG_KEY_SIGNED : TG_KEY_STRING};
	tg_key_parts_share(key.part, kinds, 3);
	memset(strings[0].bytes, 0, BYTES_MAX);
	memset(strings[1].bytes, 0, BYTES_MAX);
	strings[1].bytes[BYTES_MAX - 1] = 1;
	tg_string_make_host(&values[0].string, strings[0].bytes, BYTES_MAX, 0);
	values[1].word = 7;
	tg_string_make_host(&values[2].string, strings[1].bytes, BYTES_MAX, 0);
	if (tg_table_create(session, 1, 1, kinds, 3, &key, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	unit_equal(tg_key_encode(session, table, kinds, values, first, &first_bytes), TG_OK, "a key of zeros");
	unit_equal(tg_key_encode(session, table, kinds, values, second, &second_bytes), TG_OK, "once more");
	unit_equal(compare_bytes(first, first_bytes, second, second_bytes), 0, "it is the same");
	values[0] = values[2];
	unit_equal(tg_key_encode(session, table, kinds, values, second, &second_bytes), TG_OK, "another one");
	unit_equal(compare_bytes(first, first_bytes, second, second_bytes), -1, "is behind it");
	tg_arena_limit_set(1);
	for (int32_t number = 2; status == TG_OK; number++)
	{
		memcpy(strings[1].bytes + BYTES_MAX - sizeof(number), &number, sizeof(number));
		status = tg_key_encode(session, table, kinds, values, second, &second_bytes);
	}
	unit_equal(status, TG_NO_MEMORY, "ranks take memory");
	tg_arena_limit_set((size_t) 1 << 30);
	tg_table_release(session, table);
}

int
main(void)
{
	const tg_arena_config config = {
		.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 1 << 30, .session_max = 8};

	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_session_open(&session) != TG_OK)
		unit_bail("no arena");
	check_strings("one string", 1, TG_KEY_STRING, 0);
	check_strings("descending", 1, TG_KEY_STRING, TG_KEY_NULLABLE | TG_KEY_DESCENDING);
	check_strings("without trailing blanks", 1, TG_KEY_BLANK, TG_KEY_NULLABLE);
	check_strings("of three", 3, TG_KEY_STRING, TG_KEY_NULLABLE);
	check_strings("of as many as there can be", TG_KEY_COLUMN_MAX, TG_KEY_STRING, 0);
	check_primary();
	return unit_done();
}
