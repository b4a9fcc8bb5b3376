/*
 * follow_define.c
 *	  Definitions of the journal, carried out on tables that sessions read.
 *
 * 1. A storage that a transaction creates is nobody's until it is placed.  Its rows are put in
 *	  place, without versions, and its keys are built at the end, as in a load.
 * 2. A snapshot from before a storage was placed must not read it: the rows have no history
 *	  (table.h, stored).
 * 3. An index is made when its definition comes, so that rows which come later have their entries
 *	  and hidden values, and is filled when it is complete.  Old versions of rows have no hidden
 *	  values then, so a snapshot from before must not use it (index.h, since).
 * 4. A storage that is damaged stays in memory, because readers may be in it, but is in no catalog.
 * 5. Each version is sound for each index of its table (sound.h): it is looked at when it is
 *	  written, or gets hidden values (replay_prepared.c, 6), and when an index is added.  So keys
 *	  can be made of it at any time, also by the collector.
 */
#include "runtime/durable/follow_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/durable/definitions.h"
#include "runtime/durable/load_build.h"
#include "runtime/durable/roster_table.h"
#include "runtime/exec/index_build.h"
#include "runtime/index/index.h"
#include "runtime/mem/quota.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/catalog.h"
#include "runtime/table/registry.h"
#include "runtime/table/store.h"
#include "runtime/durable/roster.h"

/* --- ids ------------------------------------------------------------------------------------ */

tg_status
tg_ids_add(tg_ids *ids, uint64_t id)
{
	if (ids->count == ids->capacity)
	{
		size_t capacity = ids->capacity > 0 ? 2 * ids->capacity : 16;
		uint64_t *grown = realloc(ids->id, capacity * sizeof(*grown));

		if (grown == NULL)
			return TG_NO_MEMORY;
		ids->id = grown;
		ids->capacity = capacity;
	}
	ids->id[ids->count++] = id;
	return TG_OK;
}

static bool
has_id(const tg_ids *ids, uint64_t id)
{
	for (size_t i = 0; i < ids->count; i++)
		if (ids->id[i] == id)
			return true;
	return false;
}

static void
remove_id(tg_ids *ids, uint64_t id)
{
	for (size_t i = ids->count; i-- > 0;)
		if (ids->id[i] == id)
			ids->id[i] = ids->id[--ids->count];
}

/* --- tables ---------------------------------------------------------------------------------- */

/* A time that every snapshot which is published later has, or a later one. */
static tg_time
draw_time(void)
{
	return tg_fetch_add_seq_cst(tg_clock, 1) + 1;
}

static tg_table *
find_fresh(const tg_follow *follow, uint64_t storage)
{
	for (size_t i = 0; i < follow->fresh_count; i++)
		if (follow->fresh[i]->incarnation == storage)
			return follow->fresh[i];
	return NULL;
}

/*
 * The table of a storage that is placed, or NULL.  The catalog's reference keeps it: only this
 * thread takes tables out.  One that was dropped may be there still, for readers and the collector:
 * records that are what was once written do not name it, and no others may write to it.
 */
static tg_table *
find_placed(const tg_follow *follow, uint64_t storage)
{
	tg_table *table = has_id(&follow->lost, storage) ? NULL : tg_storage_find(storage);
	bool is_placed;

	if (table == NULL)
		return NULL;
	is_placed = tg_catalog_find(table->database, table->relation) == table;
	tg_table_release(follow->session, table);
	return is_placed ? table : NULL;
}

/* 1. */
static tg_status
make_fresh(tg_follow *follow, const tg_roster_storage *storage, tg_table **table_out)
{
	tg_status status;

	if (follow->fresh_count == follow->fresh_capacity)
	{
		size_t capacity = follow->fresh_capacity > 0 ? 2 * follow->fresh_capacity : 16;
		tg_table **fresh = realloc(follow->fresh, capacity * sizeof(tg_table *));

		if (fresh == NULL)
			return TG_NO_MEMORY;
		follow->fresh = fresh;
		follow->fresh_capacity = capacity;
	}
	status = tg_roster_table_make(follow->session, storage, true, table_out);
	if (status != TG_OK)
		return status;
	tg_store_relaxed(&(*table_out)->fresh, true);
	follow->fresh[follow->fresh_count++] = *table_out;
	return TG_OK;
}

/* The table is not fresh any more; its reference is the caller's. */
static void
leave_fresh(tg_follow *follow, const tg_table *table)
{
	for (size_t i = follow->fresh_count; i-- > 0;)
		if (follow->fresh[i] == table)
			follow->fresh[i] = follow->fresh[--follow->fresh_count];
}

tg_status
tg_follow_table(tg_follow *follow, uint64_t storage, tg_table **table_out)
{
	const tg_roster_storage *of;

	*table_out = find_fresh(follow, storage);
	if (*table_out != NULL)
		return TG_OK;
	*table_out = find_placed(follow, storage);
	if (*table_out != NULL || !has_id(&follow->created, storage))
		return TG_OK;
	of = tg_roster_find(follow->roster, storage);
	if (of == NULL || of->state != TG_STORAGE_PLACED)
		return TG_OK;
	return make_fresh(follow, of, table_out);
}

tg_status
tg_follow_build_fresh(tg_follow *follow)
{
	for (size_t i = follow->fresh_count; i-- > 0;)
	{
		tg_table *table = follow->fresh[i];
		uint64_t storage = table->incarnation;
		const char *what;
		tg_status status;

		if (has_id(&follow->lost, storage)) /* a change did not fit, and nobody has seen it */
		{
			leave_fresh(follow, table);
			tg_roster_table_drop(follow->session, table);
			continue;
		}
		tg_replay_finish(follow->session, table);
		status = tg_load_build(follow->session, table, follow->config->load, &what);
		if (status == TG_DAMAGED)
		{
			leave_fresh(follow, table);
			tg_roster_table_drop(follow->session, table);
			status = tg_follow_note_damage(follow, storage, what);
		}
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

void
tg_follow_drop_fresh(tg_follow *follow)
{
	while (follow->fresh_count > 0)
		tg_roster_table_drop(follow->session, follow->fresh[--follow->fresh_count]);
}

/* 4. */
tg_status
tg_follow_note_damage(tg_follow *follow, uint64_t storage, const char *what)
{
	const tg_roster_storage *of = tg_roster_find(follow->roster, storage);
	tg_load_damage damage = {.storage = storage, .position = follow->frame.start, .what = what};
	tg_table *present;
	tg_status status;

	if (of == NULL || has_id(&follow->lost, storage))
		return TG_OK;
	status = tg_ids_add(&follow->lost, storage);
	if (status != TG_OK)
		return status;
	damage.database = of->database;
	damage.relation = of->relation;
	present = tg_catalog_find(of->database, of->relation);
	if (present != NULL && present->incarnation == storage)
		(void) tg_catalog_take(follow->session, of->database, of->relation);
	follow->config->damaged(follow->config->context, &damage);
	return TG_OK;
}

/* --- at once --------------------------------------------------------------------------------- */

static tg_index *
find_index(const tg_table *table, uint64_t id)
{
	tg_index *index = tg_index_first(table);

	while (index != NULL && index->id != id)
		index = tg_index_next(index);
	return index;
}

/* 3. */
static tg_status
add_index(tg_follow *follow, const tg_definition *definition)
{
	tg_table *table = find_placed(follow, definition->storage);
	tg_status status;

	if (table == NULL || find_index(table, definition->index) != NULL)
		return TG_OK;
	status = tg_load_look(follow->session, table, &definition->spec, follow->config->load); /* 5 */
	if (status == TG_DAMAGED)
		return tg_follow_note_damage(follow, definition->storage, "a row has values that an index cannot be made of");
	if (status != TG_OK)
		return status;
	return tg_roster_table_add_index(follow->session, table, definition->index, &definition->spec);
}

static tg_status
add_columns(tg_follow *follow, const tg_definition *definition)
{
	tg_table *table = find_placed(follow, definition->storage);

	if (table == NULL || definition->column_count <= tg_table_columns(table).count)
		return TG_OK;
	return tg_table_layout_add(follow->session, table, definition->kinds, definition->column_count);
}

static void
set_meaning(tg_follow *follow, const tg_definition *definition)
{
	tg_table *table = find_placed(follow, definition->storage);

	if (table != NULL && definition->column < tg_table_columns(table).count)
		tg_table_set_meaning(table, definition->column, definition->meaning);
}

static tg_status
define(tg_follow *follow, const tg_definition *definition)
{
	switch (definition->kind)
	{
		case TG_DEFINITION_CREATE:
			return has_id(&follow->created, definition->storage) ? TG_OK
																 : tg_ids_add(&follow->created, definition->storage);
		case TG_DEFINITION_INDEX:
			return add_index(follow, definition);
		case TG_DEFINITION_COLUMNS:
			return add_columns(follow, definition);
		case TG_DEFINITION_MEANING:
			set_meaning(follow, definition);
			return TG_OK;
		default:
			return TG_OK;
	}
}

/* --- with the commit ------------------------------------------------------------------------- */

/* 2. */
static tg_status
place(tg_follow *follow, const tg_definition *definition)
{
	tg_table *before;
	tg_table *table;
	tg_status status;

	if (!has_id(&follow->created, definition->storage) || has_id(&follow->lost, definition->storage))
		return TG_OK;
	status = tg_follow_table(follow, definition->storage, &table);
	if (status != TG_OK || table == NULL)
		return status;
	tg_store_relaxed(&table->fresh, false);
	tg_store_relaxed(&table->stored, draw_time());
	status = tg_catalog_put(follow->session, table->database, table->relation, table, &before);
	if (status != TG_OK)
		return status;
	leave_fresh(follow, table);
	remove_id(&follow->created, definition->storage);
	if (before != NULL)
		tg_roster_table_drop(follow->session, before);
	return TG_OK;
}

static tg_status
fill_index(tg_follow *follow, tg_index *index)
{
	const tg_load_config *load = follow->config->load;
	const tg_index_build_config config = {
		.index = index, .waiter = load->waiter, .claim = TG_ESSENTIAL, .goes_on = true};
	tg_index_build_report report = {0};
	tg_index_build *build;
	tg_status status = tg_index_build_begin(follow->session, &config, &build);

	if (status != TG_OK)
		return status;
	do
	{
		status = tg_index_build_step(follow->session, build, &report);
		if ((status == TG_AGAIN || status == TG_BUSY) && !load->go_on(load->context, status == TG_BUSY))
			status = TG_CANCELLED;
	} while (status == TG_AGAIN || status == TG_BUSY);
	tg_index_build_end(follow->session, build);
	return status;
}

static tg_status
complete_index(tg_follow *follow, const tg_definition *definition)
{
	tg_table *table = find_placed(follow, definition->storage);
	tg_index *index = table != NULL ? find_index(table, definition->index) : NULL;
	tg_status status;

	if (index == NULL || tg_load_relaxed(&index->since) != 0)
		return TG_OK;
	tg_index_retire(index, false);
	status = tg_load_relaxed(&index->filling) ? fill_index(follow, index) : TG_OK;
	if (status == TG_EXISTS || status == TG_TOO_LARGE)
		return tg_follow_note_damage(follow, definition->storage, "an index cannot be made of the rows");
	if (status == TG_OK)
		tg_store_release(&index->since, draw_time());
	return status;
}

static void
end_index(tg_follow *follow, const tg_definition *definition)
{
	tg_table *table = find_placed(follow, definition->storage);
	tg_index *index = table != NULL ? find_index(table, definition->index) : NULL;

	if (index == NULL)
		return;
	tg_index_retire(index, true);
	tg_index_drop(follow->session, index);
}

static tg_status
set_owner(tg_follow *follow, const tg_definition *definition)
{
	tg_table *table = find_placed(follow, definition->storage);
	tg_account *account;
	tg_status status;

	if (table == NULL)
		return TG_OK;
	status = tg_account_open(follow->session, table->database, definition->owner, &account);
	if (status == TG_OK)
		tg_account_close(follow->session, tg_book_move(table->book, account));
	return status;
}

static void
drop(tg_follow *follow, uint32_t database, uint32_t relation)
{
	tg_table *table = tg_catalog_take(follow->session, database, relation);

	if (table != NULL)
		tg_roster_table_drop(follow->session, table);
}

static void
drop_database(tg_follow *follow, uint32_t database)
{
	tg_table *table;

	while ((table = tg_catalog_take_any(follow->session, database)) != NULL)
		tg_roster_table_drop(follow->session, table);
}

static tg_status
carry_out(tg_follow *follow, const tg_definition *definition)
{
	switch (definition->kind)
	{
		case TG_DEFINITION_PLACE:
			return place(follow, definition);
		case TG_DEFINITION_COMPLETE:
			return complete_index(follow, definition);
		case TG_DEFINITION_UNINDEX:
			end_index(follow, definition);
			return TG_OK;
		case TG_DEFINITION_OWNER:
			return set_owner(follow, definition);
		case TG_DEFINITION_DROP:
			drop(follow, definition->database, definition->relation);
			return TG_OK;
		case TG_DEFINITION_DROP_DATABASE:
			drop_database(follow, definition->database);
			return TG_OK;
		default:
			return TG_OK;
	}
}

/* --- all of a record ------------------------------------------------------------------------- */

static tg_status
pass_on(tg_follow *follow, const void *data, size_t count, tg_status (*take)(tg_follow *, const tg_definition *))
{
	tg_reader reader = tg_reader_make(data, count);
	tg_definition definition;
	tg_status status = TG_OK;

	while (status == TG_OK && tg_definitions_next(&reader, &definition))
		status = take(follow, &definition);
	return status;
}

tg_status
tg_follow_define(tg_follow *follow, const void *data, size_t count)
{
	return pass_on(follow, data, count, define);
}

tg_status
tg_follow_place(tg_follow *follow, const void *data, size_t count)
{
	return pass_on(follow, data, count, carry_out);
}

/* The other server has ended. */
static void
drop_incomplete(tg_follow *follow, const tg_roster_storage *storage)
{
	for (const tg_roster_index *index = storage->indexes; index != NULL; index = index->next)
	{
		const tg_definition definition = {.storage = storage->id, .index = index->id};

		if (!index->complete)
			end_index(follow, &definition);
	}
}

void
tg_follow_finish(tg_follow *follow)
{
	for (const tg_roster_storage *storage = tg_roster_first(follow->roster); storage != NULL; storage = storage->next)
		if (storage->state == TG_STORAGE_PLACED)
			drop_incomplete(follow, storage);
}
