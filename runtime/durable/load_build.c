/*
 * load_build.c
 *	  Keys and indexes of a table whose rows have been loaded.
 *
 * 1. Every row is looked at before its keys are made (sound.h).
 * 2. Ranks of long strings are made with the keys (long_key.h).  Those of the host's values were
 *	  loaded.
 * 3. All versions are visible to everybody, and there are no others, so an exclusive build is
 *	  right.
 * 4. Row ids mostly follow the primary keys, as in a table that was filled in their order.  So as
 *	  long as the keys ascend, their tree is made leaf by leaf, and from the first one on that does
 *	  not, they are inserted.  Leaves that are made so count as data; keys that are inserted may go
 *	  past the limit of memory.  Where a load finds no memory, all keys are inserted.
 */
#include "runtime/durable/load_build.h"

#include <string.h>

#include "runtime/order/key_list.h"
#include "runtime/btree/btree_load.h"
#include "runtime/durable/sound.h"
#include "runtime/index/index.h"
#include "runtime/exec/index_build.h"
#include "runtime/index/long_key.h"
#include "runtime/table/companion.h"

#define STEP_CHUNKS 8 /* between two looks whether to go on */

/* --- 1 ------------------------------------------------------------------------------------ */

/* A part of a key, whose column lies in this chunk. */
static bool
part_is_sound(const tg_chunk *chunk, unsigned column, unsigned slot, const tg_key_part *part, bool several)
{
	tg_value value;

	if (tg_chunk_is_null(chunk, column, slot))
		return tg_part_is_sound(NULL, TG_KIND_STRING, part, several);
	tg_chunk_value(chunk, column, slot, &value);
	return tg_part_is_sound(&value, (tg_kind) chunk->layout->kinds[column], part, several);
}

/* Whether the index has an entry of the version. */
static bool
is_in_index(const tg_index *index, const tg_chunk *chunk, const tg_chunk *companion, unsigned slot)
{
	unsigned column = index->spec.predicate;
	const tg_chunk *of = (column & TG_KEY_HIDDEN) != 0 ? companion : chunk;
	tg_value value;

	if (!index->spec.partial)
		return true;
	column &= ~TG_KEY_HIDDEN;
	if (tg_chunk_is_null(of, column, slot))
		return false;
	tg_chunk_value(of, column, slot, &value);
	return value.word != 0;
}

static bool
is_sound_for(const tg_index *index, const tg_chunk *chunk, unsigned slot)
{
	const tg_chunk *companion = index->link.hidden != NULL ? tg_companion_of(&index->link, chunk) : NULL;

	if ((index->link.hidden != NULL && !tg_companion_is_known(companion, slot)) ||
		!is_in_index(index, chunk, companion, slot))
		return true;
	for (unsigned i = 0; i < index->spec.key.part_count; i++)
	{
		const tg_key_part *part = &index->spec.key.part[i];
		bool hidden = (part->column & TG_KEY_HIDDEN) != 0;

		if (!part_is_sound(hidden ? companion : chunk, part->column & ~TG_KEY_HIDDEN, slot, part, index->spec.several))
			return false;
	}
	return true;
}

static bool
is_sound(const tg_table *table, const tg_chunk *chunk, unsigned slot)
{
	for (unsigned i = 0; i < table->key.part_count; i++)
		if (!part_is_sound(chunk, table->key.part[i].column, slot, &table->key.part[i], false))
			return false;
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		if (!is_sound_for(index, chunk, slot))
			return false;
	return true;
}

/* --- the primary key ------------------------------------------------------------------------- */

/* The tree of a table's primary keys while it is made (4). */
typedef struct key_maker
{
	tg_session *session;
	tg_table *table;
	tg_btree_load *load;
	bool ascends;  /* all keys so far have been in order, and are the load's */
	bool is_short; /* of memory for a load */
	const char *what;
	size_t last_bytes;
	unsigned char last[TG_KEY_BYTES_MAX];
} key_maker;

/* What was loaded becomes the tree. */
static tg_status
finish_load(key_maker *maker)
{
	tg_status status;

	maker->ascends = false;
	if (maker->load == NULL)
		return TG_OK;
	status = tg_btree_load_finish(maker->session, maker->load, maker->table->index);
	if (status == TG_OK)
		maker->load = NULL;
	return status;
}

static tg_status
load_key(key_maker *maker, const unsigned char *key, size_t bytes, uint32_t row)
{
	tg_status status = TG_OK;

	if (maker->load == NULL)
		status = tg_btree_load_begin(maker->session, maker->table->book, NULL, 0, &maker->load);
	if (status == TG_OK)
		status = tg_btree_load_add(maker->session, maker->load, key, bytes, row);
	memcpy(maker->last, key, bytes);
	maker->last_bytes = bytes;
	return status;
}

/* TG_NO_MEMORY of a load, which has to be given up. */
static tg_status
put_key(key_maker *maker, const unsigned char *key, size_t bytes, uint32_t row)
{
	tg_status status = TG_OK;

	if (maker->ascends && maker->load != NULL && tg_key_compare(maker->last, maker->last_bytes, key, bytes) >= 0)
		status = finish_load(maker);
	if (status == TG_OK && maker->ascends)
		status = load_key(maker, key, bytes, row);
	else if (status == TG_OK)
		return tg_btree_insert(maker->session, maker->table->index, key, bytes, &row, TG_ESSENTIAL);
	maker->is_short = status == TG_NO_MEMORY || status == TG_OVER_QUOTA;
	return status;
}

static tg_status
add_key(key_maker *maker, const tg_chunk *chunk, unsigned slot)
{
	const tg_table *table = maker->table;
	unsigned char key[TG_KEY_BYTES_MAX];
	tg_value values[TG_COLUMN_MAX];
	size_t bytes;
	tg_status status;

	for (unsigned i = 0; i < table->key.part_count; i++)
	{
		unsigned column = table->key.part[i].column;

		tg_chunk_value(chunk, column, slot, &values[column]);
	}
	status = tg_key_encode(maker->session, maker->table, chunk->layout->kinds, values, key, &bytes);
	if (status == TG_OK)
		status = put_key(maker, key, bytes, tg_version_row(tg_version_make(chunk, slot)));
	if (status != TG_EXISTS && status != TG_TOO_LARGE)
		return status;
	maker->what = status == TG_EXISTS ? "two rows have the same primary key" : "a primary key is too large";
	return TG_DAMAGED;
}

/* Looks at the rows of a chunk, and makes their keys. */
static tg_status
add_chunk(key_maker *maker, const tg_chunk *chunk)
{
	uint64_t present[TG_SLOT_MAX / 64];

	(void) tg_chunk_look(chunk, present);
	for (unsigned slot = 0; slot < chunk->capacity; slot++)
	{
		tg_status status;

		if ((present[slot / 64] >> slot % 64 & 1) == 0)
			continue;
		if (!is_sound(maker->table, chunk, slot))
		{
			maker->what = "a row has values that its keys cannot be made of";
			return TG_DAMAGED;
		}
		status = maker->table->index != NULL ? add_key(maker, chunk, slot) : TG_OK;
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

static tg_status
add_chunks(key_maker *maker, const tg_load_config *config)
{
	uint32_t count = tg_table_chunk_count(maker->table);
	tg_status status = TG_OK;

	for (uint32_t i = 0; i < count && status == TG_OK; i++)
	{
		const tg_chunk *chunk;

		if (i % STEP_CHUNKS == 0 && !config->go_on(config->context, false))
			return TG_CANCELLED;
		tg_epoch_enter(maker->session);
		chunk = tg_table_chunk(maker->table, i);
		if (chunk != NULL)
			status = add_chunk(maker, chunk);
		tg_epoch_leave(maker->session);
	}
	return status;
}

/* With a load or without. */
static tg_status
try_keys(tg_session *session, tg_table *table, const tg_load_config *config, key_maker *maker, bool ascends)
{
	tg_status status;

	*maker = (key_maker){.session = session, .table = table, .ascends = ascends};
	status = add_chunks(maker, config);
	if (status == TG_OK && maker->load != NULL)
	{
		tg_epoch_enter(session);
		status = finish_load(maker);
		tg_epoch_leave(session);
		maker->is_short = status == TG_NO_MEMORY || status == TG_OVER_QUOTA;
	}
	if (maker->load != NULL)
		tg_btree_load_abandon(session, maker->load);
	return status;
}

static tg_status
add_keys(tg_session *session, tg_table *table, const tg_load_config *config, const char **what_out)
{
	key_maker maker;
	tg_status status = try_keys(session, table, config, &maker, true);

	if (maker.is_short)
		status = try_keys(session, table, config, &maker, false);
	*what_out = maker.what;
	return status;
}

/* --- indexes ---------------------------------------------------------------------------------- */

static tg_status
build_index(tg_session *session, tg_index *index, const tg_load_config *config, const char **what_out)
{
	const tg_index_build_config build_config = {
		.index = index, .exclusive = true, .waiter = config->waiter, .claim = TG_ESSENTIAL};
	tg_index_build_report report = {0};
	tg_index_build *build;
	tg_status status = tg_index_build_begin(session, &build_config, &build);

	if (status != TG_OK)
		return status;
	do
	{
		status = tg_index_build_step(session, build, &report);
		if ((status == TG_AGAIN || status == TG_BUSY) && !config->go_on(config->context, status == TG_BUSY))
			status = TG_CANCELLED;
	} while (status == TG_AGAIN || status == TG_BUSY);
	tg_index_build_end(session, build);
	if (status != TG_EXISTS && status != TG_TOO_LARGE)
		return status;
	*what_out = status == TG_EXISTS ? "two rows have the same key of a unique index" : "a key of an index is too large";
	return TG_DAMAGED;
}

tg_status
tg_load_build(tg_session *session, tg_table *table, const tg_load_config *config, const char **what_out)
{
	tg_status status = add_keys(session, table, config, what_out);

	for (tg_index *index = tg_index_first(table); index != NULL && status == TG_OK; index = tg_index_next(index))
		if (!tg_load_relaxed(&index->filling)) /* else it is not complete (roster_table.h) */
			status = build_index(session, index, config, what_out);
	return status;
}
