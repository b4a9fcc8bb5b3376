/*
 * collation.c
 *	  The order of texts under a collation.
 *
 * PostgreSQL compares texts by the collation's provider, and, if that takes them for equal and
 * the collation is deterministic, by their bytes (varstr_cmp).  So keys are what the provider makes of a text, which
 * ends below all that it has in it, and then the text itself, unless the collation is not deterministic:
 *
 *	ICU    its sort keys, which compare as ucol_strcoll() and ucol_strcollUTF8() do; PostgreSQL 15 itself lives on
 *	       that (varstr_abbrev_convert, hashtext)
 *	libc   not strxfrm(), which PostgreSQL does not trust, but keys made as strcoll() compares, or else
 *	       no order (runtime/storage/collate.c)
 *
 * A locale of the C library that has no rules (C.UTF-8) compares bytes.
 *
 * How a collation is in order does not change while the server runs: so all sessions make the same
 * keys.  Of each collation it is found out once in a session.
 */
#include "postgres.h"

#include "src/value/collation.h"

#include "catalog/pg_collation.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"

#include "runtime/runtime.h"

typedef struct Collation
{
	Oid oid; /* the hash key */
	tsurugi_text_order order;
	bool deterministic;
	pg_locale_t locale;
	tg_collation libc; /* if that is its provider */
} Collation;

static HTAB *collations;

static bool
is_icu(pg_locale_t locale)
{
	return locale != NULL && locale->provider == COLLPROVIDER_ICU;
}

static void
look_at(Collation *collation)
{
	collation->order = TSURUGI_ORDER_OF_BYTES;
	collation->deterministic = true;
	if (lc_collate_is_c(collation->oid))
		return;
	collation->locale = pg_newlocale_from_collation(collation->oid);
	collation->deterministic = get_collation_isdeterministic(collation->oid);
	if (is_icu(collation->locale))
		collation->order = TSURUGI_ORDER_OF_KEYS;
	else if (!tg_collation_open(&collation->libc, collation->locale != NULL ? collation->locale->info.lt : NULL))
		collation->order = TSURUGI_ORDER_UNKNOWN;
	else if (collation->libc.level_count > 0)
		collation->order = TSURUGI_ORDER_OF_KEYS;
}

static const Collation *
find(Oid oid)
{
	Collation *collation;
	bool found;

	if (collations == NULL)
		collations =
			hash_create("tsurugi_fdw collations", 16,
						&(HASHCTL){.keysize = sizeof(Oid), .entrysize = sizeof(Collation)}, HASH_ELEM | HASH_BLOBS);
	collation = hash_search(collations, &oid, HASH_FIND, NULL);
	if (collation == NULL)
	{
		Collation made = {.oid = oid};

		look_at(&made); /* or an error */
		collation = hash_search(collations, &oid, HASH_ENTER, &found);
		*collation = made;
	}
	return collation;
}

tsurugi_text_order
tsurugi_collation_order(Oid oid)
{
	return find(oid)->order;
}

#ifdef USE_ICU

/* With the zero at its end. */
static void
append_icu_key(StringInfo bytes, const UCollator *collator, const char *text, int length)
{
	UChar *characters;
	int32 count = icu_to_uchar(&characters, text, length);
	int32 room = count * 4 + 16; /* as a rule */
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
}

#endif

static void
append_libc_key(StringInfo bytes, const tg_collation *collation, const char *text, int length)
{
	uint64 few[256];
	size_t scratch_bytes = tg_collation_scratch_bytes(length);
	void *scratch = scratch_bytes <= sizeof(few) ? few : palloc_extended(scratch_bytes, MCXT_ALLOC_HUGE);
	tg_collation_walked walked;
	size_t room = tg_collation_walk(collation, text, length, &walked, scratch);

	enlargeStringInfo(bytes, (int) Min(room, MaxAllocSize)); /* or an error */
	bytes->len += (int) tg_collation_key(collation, &walked, (unsigned char *) bytes->data + bytes->len);
	if (scratch != few)
		pfree(scratch);
}

void
tsurugi_collation_append_key(StringInfo bytes, Oid oid, const char *text, int length)
{
	const Collation *collation = find(oid);

	Assert(collation->order == TSURUGI_ORDER_OF_KEYS);
#ifdef USE_ICU
	if (is_icu(collation->locale))
		append_icu_key(bytes, collation->locale->info.icu.ucol, text, length);
	else
#endif
		append_libc_key(bytes, &collation->libc, text, length);
	if (collation->deterministic)
		appendBinaryStringInfo(bytes, text, length);
}
