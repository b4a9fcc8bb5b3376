/*
 * definitions.c
 *	  Definitions as bytes, each kind written and read by a pair of functions.
 *
 * Reading ends, whatever the bytes are: each definition takes one byte at least.
 */
#include "runtime/durable/definitions.h"

#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/table.h"
#include "runtime/index/rank.h"
#include "runtime/durable/bytes.h"

/* Numbers of a definition beside those of a key's parts. */
#define NUMBERS_MAX 16
#define PART_NUMBERS 8

/* Flags of an index. */
#define FLAG_UNIQUE 1
#define FLAG_NULLS_NOT_DISTINCT 2
#define FLAG_SEVERAL 4
#define FLAG_PARTIAL 8
#define FLAGS_END 16

#define ORDERS_END (2 * TG_KEY_DESCENDING)

/* A number of the host's. */
static uint32_t
read_oid(tg_reader *reader)
{
	return (uint32_t) tg_reader_number_below(reader, (uint64_t) UINT32_MAX + 1);
}

/* --- bytes with their number ------------------------------------------------------------------ */

static void
put_counted(tg_bytes *bytes, const void *data, uint32_t count)
{
	tg_bytes_put_number(bytes, count);
	tg_bytes_put(bytes, data, count);
}

static const void *
read_counted(tg_reader *reader, uint32_t count_max, uint32_t *count_out)
{
	*count_out = (uint32_t) tg_reader_number_below(reader, (uint64_t) count_max + 1);
	return tg_reader_take(reader, *count_out);
}

/* --- kinds of columns ------------------------------------------------------------------- */

static const uint8_t *
read_kinds(tg_reader *reader, unsigned count_max, uint32_t *count_out)
{
	const uint8_t *kinds = read_counted(reader, count_max, count_out);

	for (uint32_t i = 0; kinds != NULL && i < *count_out; i++)
		if (kinds[i] > TG_KIND_STRING)
			tg_reader_fail(reader);
	return kinds;
}

/* --- keys --------------------------------------------------------------------------------- */

/* Without a comparison, the others mean nothing. */
static void
put_ranking(tg_bytes *bytes, const tg_ranking *ranking)
{
	tg_bytes_put_number(bytes, ranking->compare);
	if (ranking->compare == 0)
		return;
	tg_bytes_put_number(bytes, ranking->collation);
	tg_bytes_put_number(bytes, ranking->type);
}

static void
read_ranking(tg_reader *reader, tg_ranking *ranking)
{
	*ranking = (tg_ranking){.compare = read_oid(reader)};
	if (ranking->compare == 0)
		return;
	ranking->collation = read_oid(reader);
	ranking->type = read_oid(reader);
}

static void
put_key(tg_bytes *bytes, const tg_key_spec *key)
{
	tg_bytes_put_number(bytes, key->part_count);
	tg_bytes_put_number(bytes, (uint64_t) key->host_order << 32 | key->host_form);
	for (unsigned i = 0; i < key->part_count; i++)
	{
		const tg_key_part *part = &key->part[i];

		tg_bytes_put_number(bytes, part->column);
		tg_bytes_put_number(bytes, part->code);
		tg_bytes_put_number(bytes, part->header_bytes);
		tg_bytes_put_number(bytes, part->order);
		tg_bytes_put_number(bytes, part->long_above);
		put_ranking(bytes, &part->ranking);
	}
}

static void
read_key(tg_reader *reader, tg_key_spec *key)
{
	uint64_t host;

	key->part_count = (uint16_t) tg_reader_number_below(reader, TG_KEY_COLUMN_MAX + 1);
	host = tg_reader_number(reader);
	key->host_form = (uint32_t) host;
	key->host_order = (uint32_t) (host >> 32);
	for (unsigned i = 0; i < key->part_count; i++)
	{
		tg_key_part *part = &key->part[i];

		part->column = (uint16_t) tg_reader_number_below(reader, UINT16_MAX + 1);
		part->code = (uint8_t) tg_reader_number_below(reader, TG_KEY_BLANK + 1);
		part->header_bytes = (uint8_t) tg_reader_number_below(reader, UINT8_MAX + 1);
		part->order = (uint8_t) tg_reader_number_below(reader, ORDERS_END);
		part->long_above = (uint16_t) tg_reader_number_below(reader, TG_INDEX_KEY_BYTES_MAX + 1);
		read_ranking(reader, &part->ranking);
	}
}

/* --- indexes ------------------------------------------------------------------------------ */

static void
put_spec(tg_bytes *bytes, const tg_index_spec *spec)
{
	tg_bytes_put_number(bytes, spec->host);
	tg_bytes_put_number(bytes, (spec->unique ? FLAG_UNIQUE : 0) |
								   (spec->nulls_not_distinct ? FLAG_NULLS_NOT_DISTINCT : 0) |
								   (spec->several ? FLAG_SEVERAL : 0) | (spec->partial ? FLAG_PARTIAL : 0));
	tg_bytes_put_number(bytes, spec->predicate);
	put_counted(bytes, spec->hidden_kinds, spec->hidden_count);
	put_key(bytes, &spec->key);
}

static void
read_spec(tg_reader *reader, tg_index_spec *spec)
{
	const uint8_t *hidden_kinds;
	uint32_t hidden_count;
	uint64_t flags;

	spec->host = read_oid(reader);
	flags = tg_reader_number_below(reader, FLAGS_END);
	spec->unique = (flags & FLAG_UNIQUE) != 0;
	spec->nulls_not_distinct = (flags & FLAG_NULLS_NOT_DISTINCT) != 0;
	spec->several = (flags & FLAG_SEVERAL) != 0;
	spec->partial = (flags & FLAG_PARTIAL) != 0;
	spec->predicate = (uint16_t) tg_reader_number_below(reader, UINT16_MAX + 1);
	hidden_kinds = read_kinds(reader, TG_INDEX_HIDDEN_MAX, &hidden_count);
	if (hidden_kinds != NULL)
	{
		spec->hidden_count = (uint8_t) hidden_count;
		memcpy(spec->hidden_kinds, hidden_kinds, hidden_count);
	}
	read_key(reader, &spec->key);
}

/* --- ranks --------------------------------------------------------------------------------- */

static void
put_rank(tg_bytes *bytes, const tg_definition *definition)
{
	put_ranking(bytes, &definition->ranking);
	put_counted(bytes, definition->value, definition->value_bytes);
	put_counted(bytes, definition->rank, definition->rank_bytes);
}

static void
read_rank(tg_reader *reader, tg_definition *definition)
{
	read_ranking(reader, &definition->ranking);
	definition->value = read_counted(reader, TG_STRING_LENGTH, &definition->value_bytes);
	definition->rank = read_counted(reader, TG_RANK_BYTES_MAX, &definition->rank_bytes);
	if (definition->ranking.compare == 0 || definition->rank_bytes == 0)
		tg_reader_fail(reader);
}

/* --- definitions ----------------------------------------------------------------------------- */

/* The bytes that a definition may take. */
static size_t
bytes_max(const tg_definition *definition)
{
	size_t parts = (size_t) definition->key.part_count + definition->spec.key.part_count;

	return 1 + (NUMBERS_MAX + parts * PART_NUMBERS) * TG_NUMBER_BYTES_MAX + definition->column_count +
		   definition->spec.hidden_count + definition->value_bytes + definition->rank_bytes;
}

tg_status
tg_definition_put(tg_bytes *bytes, const tg_definition *definition)
{
	tg_status status = tg_bytes_reserve(bytes, bytes_max(definition));

	if (status != TG_OK)
		return status;
	tg_bytes_put_byte(bytes, (unsigned char) definition->kind);
	if (definition->kind != TG_DEFINITION_DROP && definition->kind != TG_DEFINITION_DROP_DATABASE)
		tg_bytes_put_number(bytes, definition->storage);
	switch (definition->kind)
	{
		case TG_DEFINITION_CREATE:
			tg_bytes_put_number(bytes, definition->database);
			tg_bytes_put_number(bytes, definition->relation);
			tg_bytes_put_number(bytes, definition->owner);
			tg_bytes_put_number(bytes, definition->hidden);
			put_counted(bytes, definition->kinds, definition->column_count);
			put_key(bytes, &definition->key);
			break;
		case TG_DEFINITION_PLACE:
		case TG_DEFINITION_IDS:
			break;
		case TG_DEFINITION_DROP:
			tg_bytes_put_number(bytes, definition->database);
			tg_bytes_put_number(bytes, definition->relation);
			break;
		case TG_DEFINITION_DROP_DATABASE:
			tg_bytes_put_number(bytes, definition->database);
			break;
		case TG_DEFINITION_INDEX:
			tg_bytes_put_number(bytes, definition->index);
			put_spec(bytes, &definition->spec);
			break;
		case TG_DEFINITION_COMPLETE:
		case TG_DEFINITION_UNINDEX:
			tg_bytes_put_number(bytes, definition->index);
			break;
		case TG_DEFINITION_COLUMNS:
			put_counted(bytes, definition->kinds, definition->column_count);
			break;
		case TG_DEFINITION_OWNER:
			tg_bytes_put_number(bytes, definition->owner);
			break;
		case TG_DEFINITION_RANK:
			put_rank(bytes, definition);
			break;
		case TG_DEFINITION_MEANING:
			tg_bytes_put_number(bytes, definition->column);
			tg_bytes_put_number(bytes, definition->meaning);
			break;
	}
	return TG_OK;
}

static void
read_create(tg_reader *reader, tg_definition *definition)
{
	definition->database = read_oid(reader);
	definition->relation = read_oid(reader);
	definition->owner = read_oid(reader);
	definition->hidden = (uint32_t) tg_reader_number_below(reader, TG_COLUMN_MAX + 1);
	definition->kinds = read_kinds(reader, TG_COLUMN_MAX, &definition->column_count);
	read_key(reader, &definition->key);
	if (definition->hidden > definition->column_count)
		tg_reader_fail(reader);
}

bool
tg_definitions_next(tg_reader *reader, tg_definition *definition_out)
{
	tg_definition *definition = definition_out;

	if (tg_reader_is_at_end(reader))
		return false;
	*definition = (tg_definition){.kind = (tg_definition_kind) tg_reader_byte(reader)};
	if (definition->kind != TG_DEFINITION_DROP && definition->kind != TG_DEFINITION_DROP_DATABASE)
		definition->storage = tg_reader_number(reader);
	switch (definition->kind)
	{
		case TG_DEFINITION_CREATE:
			read_create(reader, definition);
			break;
		case TG_DEFINITION_PLACE:
		case TG_DEFINITION_IDS:
			break;
		case TG_DEFINITION_DROP:
			definition->database = read_oid(reader);
			definition->relation = read_oid(reader);
			break;
		case TG_DEFINITION_DROP_DATABASE:
			definition->database = read_oid(reader);
			break;
		case TG_DEFINITION_INDEX:
			definition->index = tg_reader_number(reader);
			read_spec(reader, &definition->spec);
			break;
		case TG_DEFINITION_COMPLETE:
		case TG_DEFINITION_UNINDEX:
			definition->index = tg_reader_number(reader);
			break;
		case TG_DEFINITION_COLUMNS:
			definition->kinds = read_kinds(reader, TG_COLUMN_MAX, &definition->column_count);
			break;
		case TG_DEFINITION_OWNER:
			definition->owner = read_oid(reader);
			break;
		case TG_DEFINITION_RANK:
			read_rank(reader, definition);
			break;
		case TG_DEFINITION_MEANING:
			definition->column = (uint32_t) tg_reader_number_below(reader, TG_COLUMN_MAX);
			definition->meaning = tg_reader_number(reader);
			break;
		default:
			tg_reader_fail(reader);
			break;
	}
	return !reader->damaged;
}
