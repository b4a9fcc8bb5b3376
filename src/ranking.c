/*
 * ranking.c
 *	  Keys of types that only their own function can compare, and of long values.
 *
 * Of most types we know bytes that are equal, or in order, where the values are (canonical.h).  Of all others, whatever
 * extension or user they come from, we know what CREATE INDEX knows: the operator class, whose support function
 * compares two values.  So each table has a dictionary of such values, which gives
 * them ranks, and keys are made of those: equality and order are exactly the operator class'.
 *
 * The canonical bytes of a value may be longer than a key can be.  Of those beyond SHORT_BYTES a key has the beginning, and
 * their rank in another dictionary of the table, whose order is that of bytes.  Two such values whose beginnings
 * differ are in order by these, others by their ranks; and one that ends where
 * the beginning of the other does is before it, being the beginning of what is in its place, too.
 *
 * What is in a dictionary stays for as long as the table's storage, also the values of rows that were deleted
 * or rolled back: TRUNCATE, VACUUM FULL and CLUSTER, which store the table anew, leave them behind.
 */
#include "postgres.h"

#include "src/ranking.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "src/canonical.h"
#include "src/errors.h"
#include "src/session.h"

/* Three columns fit a key, with ranks of some digits, also if key.c has to escape all of them. */
#define SHORT_BYTES 400

typedef struct Sought
{
	FmgrInfo compare;
	const tsurugi_codec *codec;
	Datum value;
} Sought;

/* A value as it is kept: by value, or the bytes that the datum points to. */
static const void *
bytes_of(const tsurugi_codec *codec, const Datum *value, size_t *bytes_out)
{
	*bytes_out = codec->typbyval	 ? sizeof(Datum)
				 : codec->typlen > 0 ? (size_t) codec->typlen
									 : VARSIZE(DatumGetPointer(*value));
	return codec->typbyval ? (const void *) value : DatumGetPointer(*value);
}

static int
compare(void *argument, const void *value, size_t bytes)
{
	Sought *sought = argument;
	Datum other = sought->codec->typbyval ? *(const Datum *) value : PointerGetDatum(value);

	CHECK_FOR_INTERRUPTS();
	return DatumGetInt32(FunctionCall2Coll(&sought->compare, sought->codec->collation, sought->value, other));
}

static void
init_sought(Sought *sought, const tsurugi_codec *codec, Oid comparison, Datum value)
{
	fmgr_info(comparison, &sought->compare);
	sought->codec = codec;
	sought->value = codec->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM(value)) : value;
}

static tg_ranking
ranking_of(const tsurugi_codec *codec, Oid comparison)
{
	return (tg_ranking){.compare = comparison, .collation = codec->collation, .type = codec->type};
}

static Datum
make_bytea(const tg_ranked *ranked)
{
	return PointerGetDatum(cstring_to_text_with_len(ranked->rank, (int) ranked->rank_bytes));
}

/* Finds what is sought, or adds these bytes. */
static void
add(tg_table *table, tg_ranking ranking, tg_ranked_compare compare_with, void *sought, const void *bytes,
	size_t byte_count, tg_ranked *ranked_out)
{
	tg_dictionary *dictionary;
	tg_status status = tg_dictionary_get(tsurugi_session(), table, ranking, &dictionary);

	if (status == TG_OK)
		status = tg_dictionary_add(tsurugi_session(), dictionary, compare_with, sought, bytes, byte_count, ranked_out);
	if (status == TG_TOO_LARGE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many values of a key came in between two others"),
				 errhint("CLUSTER the table by an index of them.")));
	if (status != TG_OK)
		tsurugi_error(status, NULL);
}

static Datum
rank_add(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value)
{
	const void *bytes;
	size_t byte_count;
	tg_ranked ranked;
	Sought sought;

	init_sought(&sought, codec, comparison, value);
	bytes = bytes_of(codec, &sought.value, &byte_count);
	add(table, ranking_of(codec, comparison), compare, &sought, bytes, byte_count, &ranked);
	return make_bytea(&ranked);
}

static bool
rank_look(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value, Datum *rank_out)
{
	const tg_dictionary *dictionary = tg_dictionary_find(table, ranking_of(codec, comparison));
	tg_ranked ranked;
	Sought sought;
	bool is_there;

	*rank_out = 0;
	if (dictionary == NULL)
		return false;
	init_sought(&sought, codec, comparison, value);
	is_there = tg_dictionary_look(dictionary, compare, &sought, &ranked);
	if (ranked.rank_bytes > 0)
		*rank_out = make_bytea(&ranked);
	return is_there;
}

/* --- long ones ---------------------------------------------------------------------------------- */

static const tg_ranking by_bytes = {0};

static int
compare_bytes(void *argument, const void *value, size_t bytes)
{
	const struct varlena *sought = argument;
	size_t sought_bytes = VARSIZE_ANY_EXHDR(sought);
	int order = memcmp(VARDATA_ANY(sought), value, Min(sought_bytes, bytes));

	return order != 0 ? order : (sought_bytes > bytes) - (sought_bytes < bytes);
}

/* The beginning, and a rank. */
static Datum
make_short(const struct varlena *bytes, const tg_ranked *ranked)
{
	bytea *made = palloc(VARHDRSZ + SHORT_BYTES + ranked->rank_bytes);

	SET_VARSIZE(made, VARHDRSZ + SHORT_BYTES + ranked->rank_bytes);
	memcpy(VARDATA(made), VARDATA_ANY(bytes), SHORT_BYTES);
	memcpy(VARDATA(made) + SHORT_BYTES, ranked->rank, ranked->rank_bytes);
	return PointerGetDatum(made);
}

static Datum
shorten_add(tg_table *table, Datum bytes)
{
	struct varlena *whole = (struct varlena *) DatumGetPointer(bytes);
	tg_ranked ranked;

	if (VARSIZE_ANY_EXHDR(whole) <= SHORT_BYTES)
		return bytes;
	add(table, by_bytes, compare_bytes, whole, VARDATA_ANY(whole), VARSIZE_ANY_EXHDR(whole), &ranked);
	return make_short(whole, &ranked);
}

static bool
shorten_look(tg_table *table, Datum bytes, Datum *short_out)
{
	struct varlena *whole = (struct varlena *) DatumGetPointer(bytes);
	const tg_dictionary *dictionary;
	tg_ranked ranked = {.rank_bytes = 0};
	bool is_there = false;

	*short_out = bytes;
	if (VARSIZE_ANY_EXHDR(whole) <= SHORT_BYTES)
		return true;
	dictionary = tg_dictionary_find(table, by_bytes);
	if (dictionary != NULL)
		is_there = tg_dictionary_look(dictionary, compare_bytes, whole, &ranked);
	/* one with another beginning says nothing: then no long one with this beginning is below */
	if (!is_there && ranked.rank_bytes > 0 && memcmp(ranked.value, VARDATA_ANY(whole), SHORT_BYTES) != 0)
		ranked.rank_bytes = 0;
	*short_out = make_short(whole, &ranked);
	return is_there;
}

/* --- either --------------------------------------------------------------------------------------- */

Datum
tsurugi_key_bytes(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value)
{
	return OidIsValid(comparison)
			   ? rank_add(table, codec, comparison, value)
			   : shorten_add(table, tsurugi_canonical(codec->type, codec->collation, codec->sorted, value));
}

bool
tsurugi_key_bytes_look(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value, Datum *bytes_out)
{
	return OidIsValid(comparison)
			   ? rank_look(table, codec, comparison, value, bytes_out)
			   : shorten_look(table, tsurugi_canonical(codec->type, codec->collation, codec->sorted, value), bytes_out);
}
