/*
 * collation.c
 *	  The order of texts under a collation.
 *
 * PostgreSQL compares texts by the collation's provider and, if they are equal there and the
 * collation is deterministic, by their bytes (varstr_cmp).  So a key is the provider's key of the
 * text, followed by a terminator below all bytes in it.  Then, unless the collation is not
 * deterministic, the text itself follows.  It is written as its differences from the text that the
 * provider's key predicts, which takes a few bytes (runtime/order/foretold.h):
 *
 *	ICU		its sort keys, which compare as ucol_strcoll() and ucol_strcollUTF8() do; PostgreSQL 15
 *			relies on that, too (varstr_abbrev_convert, hashtext).
 *			In the order from which most of them are tailored, ASCII's letters, digits and signs
 *			begin with one or two bytes each on the first level.  These bytes are asked for, and
 *			predict the characters when they are met again
 *	libc	not strxfrm(), which PostgreSQL does not trust, but keys that compare as strcoll() does,
 *			or no order at all (runtime/order/collate.c)
 *
 * A locale of the C library without rules (C.UTF-8) compares bytes.
 *
 * The order of a collation does not change while the server runs, so all sessions make the same
 * keys.  It may with another version of its provider, at a start; so storages keep numbers of the
 * versions by which their keys were made (key_order.h).  A session examines each collation once.
 */
#include "postgres.h"

#include "src/value/collation.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "runtime/order/collate.h"
#include "runtime/order/foretold.h"

#define LEAD_COUNT 8

/* A guess which ASCII characters the bytes of ICU's keys stand for. */
typedef struct Letters
{
	char of_byte[256];
	/* The first of two bytes: 1 to LEAD_COUNT, its place below; otherwise 0. */
	uint8 lead[256];
	uint8 lead_count;
	char of_second[LEAD_COUNT][256];
} Letters;

typedef struct Collation
{
	Oid oid; /* the hash key */
	uint32 version;
	tsurugi_text_order order;
	bool deterministic;
	pg_locale_t locale;
	union
	{
		tg_collation libc; /* by provider */
		Letters icu;
	};
} Collation;

static HTAB *collations;

static bool
is_icu(pg_locale_t locale)
{
	return locale != NULL && locale->provider == COLLPROVIDER_ICU;
}

#ifdef USE_ICU

static void
learn_letter(Letters *letters, const UCollator *collator, char letter)
{
	UChar character = (UChar) letter;
	uint8_t key[16] = {0};
	int32 bytes = ucol_getSortKey(collator, &character, 1, key, lengthof(key) - 1);
	uint8 *lead = &letters->lead[key[0]];

	if (bytes <= 2 || key[0] <= 1)
		return;
	if (key[1] == 1 && letters->of_byte[key[0]] == 0)
		letters->of_byte[key[0]] = letter;
	if (key[1] <= 1 || key[2] != 1)
		return;
	if (*lead == 0 && letters->lead_count < LEAD_COUNT)
		*lead = ++letters->lead_count;
	if (*lead > 0)
		letters->of_second[*lead - 1][key[1]] = letter;
}

/* Backwards, so that small letters win. */
static void
learn_letters(Letters *letters, const UCollator *collator)
{
	for (char letter = 0x7e; letter >= 0x20; letter--)
		learn_letter(letters, collator, letter);
}

/* Predicts the text from the first level of the key. */
static int
expect(const Letters *letters, const uint8_t *key, char *expected)
{
	int count = 0;

	for (; *key > 1; key++)
	{
		uint8 lead = letters->lead[*key];
		char letter = lead > 0 ? letters->of_second[lead - 1][key[1]] : letters->of_byte[*key];

		key += lead > 0 && key[1] > 1;
		if (letter != 0)
			expected[count++] = letter;
	}
	return count;
}

#endif

/* The database's collation. */
static char *
default_version(void)
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	char provider;
	Datum locale;
	bool null;
	char *version;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	locale = SysCacheGetAttr(DATABASEOID, tuple,
							 provider == COLLPROVIDER_ICU ? Anum_pg_database_daticulocale : Anum_pg_database_datcollate,
							 &null);
	version = null ? NULL : get_collation_actual_version(provider, TextDatumGetCString(locale));
	ReleaseSysCache(tuple);
	return version;
}

static char *
version_of(Oid oid)
{
	HeapTuple tuple;
	char provider;
	Datum locale;
	bool null;
	char *version;

	if (oid == DEFAULT_COLLATION_OID)
		return default_version();
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", oid);
	provider = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	locale = SysCacheGetAttr(
		COLLOID, tuple, provider == COLLPROVIDER_ICU ? Anum_pg_collation_colliculocale : Anum_pg_collation_collcollate,
		&null);
	version = null ? NULL : get_collation_actual_version(provider, TextDatumGetCString(locale));
	ReleaseSysCache(tuple);
	return version;
}

static uint32
number_version(Oid oid)
{
	char *version = version_of(oid);

	/* not 0, which says that there is none */
	return version == NULL ? 0 : hash_bytes((const unsigned char *) version, (int) strlen(version)) | 1;
}

static void
look_at(Collation *collation)
{
	if (!OidIsValid(collation->oid))
	{
		collation->order = TSURUGI_ORDER_UNKNOWN;
		return;
	}
	collation->order = TSURUGI_ORDER_OF_BYTES;
	collation->deterministic = true;
	if (lc_collate_is_c(collation->oid))
		return;
	collation->version = number_version(collation->oid);
	collation->locale = pg_newlocale_from_collation(collation->oid);
	collation->deterministic = get_collation_isdeterministic(collation->oid);
	if (is_icu(collation->locale))
	{
		collation->order = TSURUGI_ORDER_OF_KEYS;
#ifdef USE_ICU
		learn_letters(&collation->icu, collation->locale->info.icu.ucol);
#endif
	}
	else if (!tg_collation_open(&collation->libc, collation->locale != NULL ? collation->locale->info.lt : NULL))
		collation->order = TSURUGI_ORDER_UNKNOWN;
	else if (collation->libc.level_count > 0)
		collation->order = TSURUGI_ORDER_OF_KEYS;
}

static const Collation *
find(Oid oid)
{
	static Collation *latest;
	Collation *collation;
	bool found;

	if (latest != NULL && latest->oid == oid)
		return latest;
	if (collations == NULL)
		collations =
			hash_create("tsurugi_fdw collations", 16,
						&(HASHCTL){.keysize = sizeof(Oid), .entrysize = sizeof(Collation)}, HASH_ELEM | HASH_BLOBS);
	collation = hash_search(collations, &oid, HASH_FIND, NULL);
	if (collation == NULL)
	{
		Collation made = {.oid = oid};

		look_at(&made); /* this may raise an error */
		collation = hash_search(collations, &oid, HASH_ENTER, &found);
		*collation = made;
	}
	latest = collation;
	return collation;
}

tsurugi_text_order
tsurugi_collation_order(Oid oid)
{
	return find(oid)->order;
}

uint32
tsurugi_collation_version(Oid oid)
{
	return find(oid)->version;
}

#ifdef USE_ICU

/* Appends the text behind its key, which begins at that position. */
static void
append_icu_text(StringInfo bytes, const Collation *collation, int at, const char *text, int length)
{
	int key_bytes = bytes->len - at;
	char few[256];
	char *expected = key_bytes <= (int) sizeof(few) ? few : palloc(key_bytes);
	int count = expect(&collation->icu, (uint8_t *) bytes->data + at, expected);
	size_t room;

	room = tg_foretold_room(length);
	enlargeStringInfo(bytes, (int) Min(room, MaxAllocSize));
	bytes->len = (char *) tg_foretold_put((unsigned char *) bytes->data + bytes->len, text, length, expected, count) -
				 bytes->data;
	if (expected != few)
		pfree(expected);
}

/* Appends the key with its terminating zero. */
static void
append_icu_key(StringInfo bytes, const Collation *collation, const char *text, int length)
{
	const UCollator *collator = collation->locale->info.icu.ucol;
	UChar *characters;
	int32 count = icu_to_uchar(&characters, text, length);
	int32 room = count * 4 + 16; /* usually enough */
	int32 key_bytes;

	enlargeStringInfo(bytes, room);
	key_bytes = ucol_getSortKey(collator, characters, count, (uint8_t *) bytes->data + bytes->len, room);
	if (key_bytes > room)
	{
		enlargeStringInfo(bytes, key_bytes);
		(void) ucol_getSortKey(collator, characters, count, (uint8_t *) bytes->data + bytes->len, key_bytes);
	}
	bytes->len += key_bytes;
	pfree(characters);
	if (collation->deterministic)
		append_icu_text(bytes, collation, bytes->len - key_bytes, text, length);
}

#endif

static void
append_libc_key(StringInfo bytes, const Collation *of, const char *text, int length)
{
	const tg_collation *collation = &of->libc;
	uint64 few[256];
	size_t scratch_bytes = tg_collation_scratch_bytes(length);
	void *scratch = scratch_bytes <= sizeof(few) ? few : palloc_extended(scratch_bytes, MCXT_ALLOC_HUGE);
	tg_collation_walked walked;
	size_t room = tg_collation_walk(collation, text, length, &walked, scratch);

	enlargeStringInfo(bytes, (int) Min(room, MaxAllocSize)); /* may raise an error */
	bytes->len += (int) tg_collation_key(collation, &walked, (unsigned char *) bytes->data + bytes->len);
	if (of->deterministic)
		bytes->len += (int) tg_collation_string(&walked, text, length, (unsigned char *) bytes->data + bytes->len);
	if (scratch != few)
		pfree(scratch);
}

void
tsurugi_collation_append_key(StringInfo bytes, Oid oid, const char *text, int length)
{
	const Collation *collation = find(oid);

	tg_assert(collation->order == TSURUGI_ORDER_OF_KEYS);
#ifdef USE_ICU
	if (is_icu(collation->locale))
		append_icu_key(bytes, collation, text, length);
	else
#endif
		append_libc_key(bytes, collation, text, length);
}
