/*
 * long_key.c
 *	  Keys of a table that may have strings of any length.
 *
 * A string of more than long_above bytes (L) is encoded as another one: its first L bytes, and
 * behind them its rank in a dictionary (dictionary.h) of the table's long strings, whose order is
 * that of bytes.
 *
 * 1. Order.  If the first L bytes of two strings differ, or one string is shorter than L, these
 *    bytes decide, and they are unchanged.  A string of exactly L bytes ends where a long one with
 *    the same beginning continues, so it is below the long one, as it should be.  Two long strings
 *    with the same beginning are in the order of their ranks, which is their own.
 * 2. Equality: ranks are equal where the strings are.  So unique keys need nothing else.
 * 3. A string gets its rank before the first entry with it is made, by the thread that makes the
 *    entry, and keeps it as long as there is such an entry (rank_sweep.h).  So the key of a stored
 *    version that has an entry can always be made, by the collector, too, and a string without rank
 *    is in no key.
 * 4. A search for a string without rank uses two places.  One is just above the greatest long
 *    string below it with the same beginning, or, if there is none, the beginning itself.  The
 *    other is just below the least long string above it with the same beginning, or above all that
 *    there could be.  If the string gets a rank while the searching transaction holds, its keys are
 *    between these two places (dictionary.h).  A transaction that notes its reads therefore notes
 *    these two.  A row that gets there later is not visible to its
 *    snapshot, provided that it searched after it had taken the snapshot.
 *
 * All strings of a table's keys are in one dictionary.  The parts of different keys may have
 * different L, because a rank does not depend on it.  Here the strings of one key share the
 * available bytes.
 */
#include "runtime/index/long_key.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/btree/btree.h"
#include "runtime/index/dictionary.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/table.h"
#include "runtime/index/index_spec.h"

/* of bytes of a rank; as many may be escaped; only few strings have longer ranks */
#define RANK_ROOM 32

/* The dictionary of strings in the order of their bytes. */
static const tg_ranking by_bytes = {0};

typedef struct text
{
	const unsigned char *data;
	size_t bytes;
} text;

void
tg_key_parts_share(tg_key_part *parts, const uint8_t *kinds, unsigned part_count)
{
	size_t rest = TG_INDEX_KEY_BYTES_MAX;
	unsigned strings = 0;

	for (unsigned i = 0; i < part_count; i++)
	{
		strings += kinds[i] == TG_KIND_STRING;
		/* a mark, a terminator */
		rest -= kinds[i] == TG_KIND_STRING ? 2 + 2 * RANK_ROOM : 1 + sizeof(tg_value);
	}
	/* each byte may be escaped */
	for (unsigned i = 0; i < part_count; i++)
		parts[i].long_above = kinds[i] == TG_KIND_STRING ? (uint16_t) (rest / strings / 2) : 0;
}

_Static_assert(TG_KEY_COLUMN_MAX *(2 + 2 * RANK_ROOM + 2) < TG_INDEX_KEY_BYTES_MAX, "each string has a beginning");

/* The string's bytes, as they are compared. */
static text
text_of(const tg_key_part *part, const tg_value *value)
{
	const tg_string *string = &value->string;
	text of = {.data = (const unsigned char *) string->bytes};

	if (tg_string_is_out(string))
	{
		of.data = (const unsigned char *) string->blob + part->header_bytes;
		of.bytes = tg_string_blob_bytes(string) - part->header_bytes;
	}
	else
		of.bytes = tg_string_inline_bytes(string);
	while (part->code == TG_KEY_BLANK && of.bytes > 0 && of.data[of.bytes - 1] == ' ')
		of.bytes--;
	return of;
}

/* Whether it is a long string. */
static inline bool
is_long(const tg_key_part *part, tg_kind kind, const tg_value *value, text *text_out)
{
	const tg_string *string = &value->string;

	if (part->long_above == 0 || kind != TG_KIND_STRING)
		return false;
	/* most are not by their stored length, the host's header included */
	if (tg_likely((tg_string_is_out(string) ? tg_string_blob_bytes(string) : tg_string_inline_bytes(string)) <=
				  part->long_above))
		return false;
	*text_out = text_of(part, value);
	return text_out->bytes > part->long_above;
}

static int
compare(void *argument, const void *value, size_t bytes)
{
	const text *sought = argument;

	return tg_key_compare(sought->data, sought->bytes, value, bytes);
}

/* Appends the beginning and a rank, of any length. */
static size_t
append_short(unsigned char *key, size_t at, const tg_key_part *part, const text *of, const tg_ranked *ranked)
{
	const tg_key_part whole = {.code = TG_KEY_STRING, .order = part->order};
	unsigned char bytes[TG_INDEX_KEY_BYTES_MAX + TG_RANK_BYTES_MAX];
	tg_value value;

	tg_assert(part->long_above <= TG_INDEX_KEY_BYTES_MAX);
	memcpy(bytes, of->data, part->long_above);
	memcpy(bytes + part->long_above, ranked->rank, ranked->rank_bytes);
	tg_string_make_host(&value.string, bytes, part->long_above + ranked->rank_bytes, 0);
	return tg_key_append(key, at, &whole, TG_KIND_STRING, &value);
}

tg_status
tg_key_rank(tg_session *session, tg_table *table, const tg_key_part *part, tg_kind kind, const tg_value *value)
{
	tg_dictionary *dictionary;
	tg_ranked ranked;
	tg_status status;
	text of;

	if (tg_likely(!is_long(part, kind, value, &of)))
		return TG_OK;
	status = tg_dictionary_get(session, table, by_bytes, &dictionary);
	if (status != TG_OK)
		return status;
	return tg_dictionary_add(session, dictionary, compare, &of, of.data, of.bytes, &ranked);
}

tg_dictionary *
tg_key_dictionary(const tg_table *table)
{
	return tg_dictionary_find(table, by_bytes);
}

static bool
has_beginning(const tg_key_part *part, const text *of, const tg_ranked *ranked)
{
	return ranked->value_bytes > part->long_above && memcmp(ranked->value, of->data, part->long_above) == 0;
}

/*
 * Finds the string's rank (true), or the neighbour on that side with the same beginning; if there
 * is none, a rank on that side of all ranks.
 */
static bool
look(const tg_table *table, const tg_key_part *part, text *of, tg_key_side side, tg_ranked *ranked_out)
{
	tg_ranked above;
	tg_ranked beyond_below;
	tg_ranked beyond_above;
	bool is_there = tg_dictionary_look(tg_key_dictionary(table), compare, of, ranked_out, &above);

	if (is_there)
		return true;
	(void) tg_dictionary_look(NULL, compare, of, &beyond_below, &beyond_above);
	if (side == TG_KEY_ABOVE)
		*ranked_out = has_beginning(part, of, &above) ? above : beyond_above;
	else if (!has_beginning(part, of, ranked_out))
		*ranked_out = beyond_below;
	return false;
}

size_t
tg_key_append_of(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind,
				 const tg_value *value)
{
	tg_ranked ranked;
	text of;

	if (tg_likely(!is_long(part, kind, value, &of)))
		return tg_key_append(key, at, part, kind, value);
	if (!look(table, part, &of, TG_KEY_BELOW, &ranked))
		return TG_KEY_UNRANKED;
	return append_short(key, at, part, &of, &ranked);
}

size_t
tg_key_append_near(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind,
				   const tg_value *value, tg_key_side side, bool *is_there)
{
	tg_ranked ranked;
	size_t end;
	text of;

	*is_there = true;
	if (tg_likely(!is_long(part, kind, value, &of)))
		end = tg_key_append(key, at, part, kind, value);
	else
	{
		*is_there = look(table, part, &of, side, &ranked);
		end = append_short(key, at, part, &of, &ranked);
	}
	if (end != SIZE_MAX)
		return end;
	*is_there = false;
	return TG_KEY_BYTES_MAX;
}

tg_status
tg_key_encode(tg_session *session, tg_table *table, const uint8_t *kinds, const tg_value *values, unsigned char *key,
			  size_t *key_bytes_out)
{
	size_t at = 0;

	for (unsigned i = 0; i < table->key->part_count; i++)
	{
		const tg_key_part *part = &table->key->part[i];
		tg_kind kind = (tg_kind) kinds[part->column];
		size_t end = tg_key_append_of(table, key, at, part, kind, &values[part->column]);

		if (tg_unlikely(end == TG_KEY_UNRANKED))
		{
			tg_status status = tg_key_rank(session, table, part, kind, &values[part->column]);

			if (status != TG_OK)
				return status;
			end = tg_key_append_of(table, key, at, part, kind, &values[part->column]);
		}
		if (end == SIZE_MAX)
			return TG_TOO_LARGE;
		at = end;
	}
	*key_bytes_out = at;
	return TG_OK;
}

size_t
tg_key_of_version(const tg_key_spec *spec, tg_version version, unsigned char *key)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);
	size_t at = 0;

	for (unsigned i = 0; i < spec->part_count; i++)
	{
		const tg_key_part *part = &spec->part[i];
		tg_value value;

		tg_assert(!tg_chunk_is_null(chunk, part->column, slot));
		tg_chunk_value(chunk, part->column, slot, &value);
		at = tg_key_append_of(chunk->table, key, at, part, chunk->layout->kinds[part->column], &value);
		if (tg_unlikely(at == TG_KEY_UNRANKED))
			return at;
		tg_check(at <= TG_KEY_BYTES_MAX);
	}
	return at;
}
