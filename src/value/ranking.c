/*
 * ranking.c
 *	  Keys of types that only their own function can compare.
 *
 * For most types bytes are known that are equal, or ordered, exactly as the values are
 * (canonical.h).  Of all other types, from whatever extension or user, the code knows what CREATE
 * INDEX knows: the operator class, whose support function compares two values.  So each table has a
 * dictionary of such values, which gives them ranks, and keys are made of these: equality and order
 * are exactly the operator class'.
 *
 * Canonical bytes may be of any length; index/long_key.h determines which part of them a key has.
 *
 * Values that are no longer in any key are removed (reclaim/rank_sweep.h), except for those that a
 * transaction has looked up.  From its first look-up in a dictionary, of such values or of long
 * strings, a backend holds what it sees there until the transaction ends (session.h).  So a rank
 * belongs to the same value for as long as a transaction may know it.
 *
 * Rows contain ranks, so value and rank are in PostgreSQL's log before the first row with the rank
 * is (index/dictionary_log.c).  A storage whose creation is not logged yet, or that its transaction
 * logs as a whole, has its ranks logged with that.
 */
#include "postgres.h"

#include "src/value/ranking.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/order/key.h"
#include "runtime/table/table.h"
#include "runtime/table/write_log.h"
#include "runtime/index/dictionary.h"
#include "runtime/index/long_key.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/ranks.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/log/log.h"
#include "src/value/canonical.h"

typedef struct Sought
{
	FmgrInfo compare;
	const tsurugi_codec *codec;
	Datum value;
} Sought;

/* A value in its stored form: by value, or the bytes that the datum points to. */
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

tg_ranking
tsurugi_ranking(const tsurugi_codec *codec, Oid comparison)
{
	return (tg_ranking){.compare = comparison, .collation = codec->collation, .type = codec->type};
}

static Datum
make_bytea(const tg_ranked *ranked)
{
	return PointerGetDatum(cstring_to_text_with_len(ranked->rank, (int) ranked->rank_bytes));
}

/* The caller holds. */
static void
log_rank(tg_table *table, tg_ranking way, const tg_ranked *ranked)
{
	static tg_bytes definition; /* kept, because values often come in great numbers */
	tg_status status;

	if (ranked->is_logged || table->unlogged || table->logged_whole || tg_load_acquire(&table->fresh) != 0)
		return;
	definition.count = 0;
	status = tg_rank_write(table, way, ranked, &definition);
	if (status != TG_OK)
		tsurugi_error(status, NULL);
	tsurugi_log_begin(false);
	PG_TRY();
	{
		/* while LOGGING: a base that begins now waits until the table has the note */
		tg_table_note_logged(table, tsurugi_log_now(&definition));
	}
	PG_FINALLY();
	{
		tsurugi_log_end();
	}
	PG_END_TRY();
	tg_rank_mark_logged(ranked);
}

/* Finds the value, or adds it; it is going to be in a row. */
static Datum
rank_add(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value)
{
	tg_ranking way = tsurugi_ranking(codec, comparison);
	const void *bytes;
	size_t byte_count;
	tg_dictionary *dictionary;
	tg_ranked ranked;
	tg_status status;
	Sought sought;

	init_sought(&sought, codec, comparison, value);
	bytes = bytes_of(codec, &sought.value, &byte_count);
	status = tg_dictionary_get(tsurugi_session(), table, way, &dictionary);
	if (status == TG_OK)
		status = tg_dictionary_add(tsurugi_session(), dictionary, compare, &sought, bytes, byte_count, &ranked);
	if (status == TG_TOO_LARGE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many values of a key came in between two others"),
				 errhint("CLUSTER the table by an index of them.")));
	if (status != TG_OK)
		tsurugi_error(status, NULL);
	log_rank(table, way, &ranked);
	return make_bytea(&ranked);
}

static bool
rank_look(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value, tg_key_side side, Datum *rank_out)
{
	tg_ranked ranked;
	tg_ranked above;
	Sought sought;
	bool is_there;

	(void) tsurugi_session(); /* so that it holds the dictionary */
	init_sought(&sought, codec, comparison, value);
	is_there = tg_dictionary_look(tg_dictionary_find(table, tsurugi_ranking(codec, comparison)), compare, &sought,
								  &ranked, &above);
	*rank_out = make_bytea(!is_there && side == TG_KEY_ABOVE ? &above : &ranked);
	return is_there;
}

/* --- either --------------------------------------------------------------------- */

Datum
tsurugi_key_bytes(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value)
{
	return OidIsValid(comparison) ? rank_add(table, codec, comparison, value)
								  : tsurugi_canonical(codec->type, codec->collation, codec->sorted, value);
}

bool
tsurugi_key_bytes_look(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value, tg_key_side side,
					   Datum *bytes_out)
{
	if (OidIsValid(comparison))
		return rank_look(table, codec, comparison, value, side, bytes_out);
	*bytes_out = tsurugi_canonical(codec->type, codec->collation, codec->sorted, value);
	return true;
}
