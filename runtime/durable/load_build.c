/*
 * load_build.c
 *	  Keys and indexes of a table whose rows have been loaded.
 *
 * 1. Every row is looked at before its keys are made (sound.h).
 * 2. Ranks of long strings are made with the keys (long_key.h).  Those of the host's values were
 *	  loaded.
 * 3. All versions are visible to everybody, and there are no others, so an exclusive build is
 *	  right.
 * 4. Before an index is made beside readers, all versions are looked at that may get, or lose, an
 *	  entry of it: the older ones, too.  A snapshot is published meanwhile: so a version that is
 *	  copied to another chunk (txn/relocate.c) stays where it was, and is not missed.  The caller is
 *	  the only session that writes.
 */
#include "runtime/durable/load_build.h"

#include <string.h>

#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/order/key_list.h"
#include "runtime/table/cell.h"
#include "runtime/durable/load_spread.h"
#include "runtime/durable/sound.h"
#include "runtime/index/index.h"
#include "runtime/exec/index_build.h"
#include "runtime/index/long_key.h"
#include "runtime/table/companion.h"

#define PIECE_CHUNKS 16 /* that a task looks at at once */

/* --- 1 ------------------------------------------------------------------------------------ */

typedef struct look
{
	tg_table *table;
	const tg_index_spec *spec; /* an index that is to be made; NULL: all that there is */
} look;

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
is_in_index(const tg_index_spec *spec, const tg_chunk *chunk, const tg_chunk *companion, unsigned slot)
{
	unsigned column = spec->predicate;
	const tg_chunk *of = (column & TG_KEY_HIDDEN) != 0 ? companion : chunk;
	tg_value value;

	if (!spec->partial)
		return true;
	column &= ~TG_KEY_HIDDEN;
	if (tg_chunk_is_null(of, column, slot))
		return false;
	tg_chunk_value(of, column, slot, &value);
	return value.word != 0;
}

/* The companion has the hidden values, if there are any. */
static bool
is_sound_for(const tg_index_spec *spec, const tg_chunk *chunk, const tg_chunk *companion, unsigned slot)
{
	if ((spec->hidden_count > 0 && !tg_companion_is_known(companion, slot)) ||
		!is_in_index(spec, chunk, companion, slot))
		return true;
	for (unsigned i = 0; i < spec->key.part_count; i++)
	{
		const tg_key_part *part = &spec->key.part[i];
		bool hidden = (part->column & TG_KEY_HIDDEN) != 0;

		if (!part_is_sound(hidden ? companion : chunk, part->column & ~TG_KEY_HIDDEN, slot, part, spec->several))
			return false;
	}
	return true;
}

static bool
is_sound(const look *look, const tg_chunk *chunk, unsigned slot)
{
	const tg_table *table = look->table;

	if (look->spec != NULL)
		return is_sound_for(look->spec, chunk, NULL, slot);
	for (unsigned i = 0; i < table->key->part_count; i++)
		if (!part_is_sound(chunk, table->key->part[i].column, slot, &table->key->part[i], false))
			return false;
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
	{
		const tg_chunk *companion = index->link.hidden != NULL ? tg_companion_of(&index->link, chunk) : NULL;

		if (!is_sound_for(&index->spec, chunk, companion, slot))
			return false;
	}
	return true;
}

/* Whether a value of a part of the key may be one that no key can be made of. */
static bool
key_needs_look(const tg_key_spec *key, const tg_chunk *chunk)
{
	for (unsigned i = 0; i < key->part_count; i++)
	{
		unsigned column = key->part[i].column;

		if (!tg_chunk_has_column(chunk, column) || chunk->layout->kinds[column] == TG_KIND_STRING ||
			(tg_chunk_may_be_null(chunk, column) && (key->part[i].order & TG_KEY_NULLABLE) == 0))
			return true;
	}
	return false;
}

static bool
index_needs_look(const tg_index_spec *spec, const tg_chunk *chunk)
{
	return spec->hidden_count > 0 || spec->several || key_needs_look(&spec->key, chunk);
}

/* Whether versions have to be looked at one by one. */
static bool
needs_look(const look *look, const tg_chunk *chunk)
{
	if (look->spec != NULL)
		return index_needs_look(look->spec, chunk);
	if (key_needs_look(look->table->key, chunk))
		return true;
	for (const tg_index *index = tg_index_first(look->table); index != NULL; index = tg_index_next(index))
		if (index_needs_look(&index->spec, chunk))
			return true;
	return false;
}

/* Whether a slot that is allocated has a version, which may have an entry. */
static bool
has_version(const tg_header *headers, unsigned slot)
{
	tg_time begin = headers != NULL ? tg_load_acquire(&headers[slot].begin) : TG_TIME_FIRST;

	return tg_time_is_reference(begin) || begin < TG_TIME_UNLINKED;
}

/* Whether every version of a chunk is sound. */
static bool
chunk_is_sound(const look *look, const tg_chunk *chunk)
{
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers;

	if (!needs_look(look, chunk))
		return true;
	headers = tg_chunk_look(chunk, present);
	for (unsigned slot = 0; slot < chunk->capacity; slot++)
		if ((present[slot / 64] >> slot % 64 & 1) != 0 && has_version(headers, slot) && !is_sound(look, chunk, slot))
			return false;
	return true;
}

/* Of tg_load_work: looks at some chunks. */
static tg_status
look_at_chunks(void *context, size_t piece, tg_session *session, void **state_inout)
{
	const look *look = context;
	uint32_t count = tg_table_chunk_count(look->table);
	bool sound = true;

	(void) state_inout;
	tg_epoch_enter(session);
	for (uint32_t i = (uint32_t) piece * PIECE_CHUNKS; i < count && i < (piece + 1) * PIECE_CHUNKS && sound; i++)
	{
		const tg_chunk *chunk = tg_table_chunk(look->table, i);

		sound = chunk == NULL || chunk_is_sound(look, chunk);
	}
	tg_epoch_leave(session);
	return sound ? TG_OK : TG_DAMAGED;
}

static tg_status
look_at_all(tg_session *session, look *look, const tg_load_config *config)
{
	const tg_load_work work = {.context = look,
							   .count = (tg_table_chunk_count(look->table) + PIECE_CHUNKS - 1) / PIECE_CHUNKS,
							   .step = look_at_chunks};

	return tg_load_spread(session, config, &work);
}

/* 4. */
tg_status
tg_load_look(tg_session *session, tg_table *table, const tg_index_spec *spec, const tg_load_config *config)
{
	look look = {.table = table, .spec = spec};
	unsigned entry;
	tg_status status;

	if (spec->hidden_count > 0)
		return TG_OK; /* none are known yet */
	(void) tg_snapshot_publish(session, &entry);
	status = look_at_all(session, &look, config);
	tg_snapshot_withdraw(session, entry);
	return status;
}

/* --- trees ------------------------------------------------------------------------------------ */

/*
 * Does all of it.  A build that is stopped has no tasks any more on return: the table may be
 * dropped then, and made again.
 */
static tg_status
step_to_end(tg_session *session, tg_index_build *build, const tg_load_config *config)
{
	bool goes_on = true;

	for (;;)
	{
		tg_index_build_report report = {0};
		tg_status status = tg_index_build_step(session, build, &report);

		if (status != TG_AGAIN && status != TG_BUSY)
			return status;
		if (!config->go_on(config->context, status == TG_BUSY))
			goes_on = false;
		if (!goes_on && !tg_index_build_cancel(session, build))
			return TG_CANCELLED;
	}
}

/* Builds an index; NULL: the primary key. */
static tg_status
build_tree(tg_session *session, tg_table *table, tg_index *index, const tg_load_config *config, const char **what_out)
{
	const tg_index_build_config build_config = {.index = index,
												.table = table,
												.exclusive = true,
												.waiter = config->waiter,
												.claim = TG_ESSENTIAL,
												.goes_on = true};
	tg_index_build *build;
	tg_status status = tg_index_build_begin(session, &build_config, &build);

	if (status != TG_OK)
		return status;
	status = step_to_end(session, build, config);
	tg_index_build_end(session, build);
	if (status != TG_EXISTS && status != TG_TOO_LARGE)
		return status;
	if (index == NULL)
		*what_out = status == TG_EXISTS ? "two rows have the same primary key" : "a primary key is too large";
	else
		*what_out =
			status == TG_EXISTS ? "two rows have the same key of a unique index" : "a key of an index is too large";
	return TG_DAMAGED;
}

/* In the order of the rows, if that is the keys'; else they are sorted. */
static tg_status
build_primary(tg_session *session, tg_table *table, const tg_load_config *config, const char **what_out)
{
	tg_status status = tg_load_ascending(session, table, config);

	if (status == TG_OK || status == TG_CANCELLED)
		return status;
	return build_tree(session, table, NULL, config, what_out);
}

tg_status
tg_load_build(tg_session *session, tg_table *table, const tg_load_config *config, const char **what_out)
{
	tg_index *index = tg_index_first(table);
	look all = {.table = table};
	tg_status status = table->index != NULL || index != NULL ? look_at_all(session, &all, config) : TG_OK;

	*what_out = "a row has values that its keys cannot be made of";
	if (status == TG_OK && table->index != NULL)
		status = build_primary(session, table, config, what_out);
	for (; index != NULL && status == TG_OK; index = tg_index_next(index))
		if (!tg_load_relaxed(&index->filling)) /* else it is not complete (roster_table.h) */
			status = build_tree(session, table, index, config, what_out);
	return status;
}
