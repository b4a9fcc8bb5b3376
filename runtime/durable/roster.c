/*
 * roster.c
 *	  Storages in a list, and in two hash maps: by id, and, if placed, by relation.
 *
 * 1. Each storage is in the list and in the map by id.  It is in the map by relation while it is
 *	  PLACED, and of each relation there is one at most.
 * 2. An index or a column that is known stays as it was: definitions of a later place in the log
 *	  may have been applied before (a base is begun from a later roster than some records that are
 *	  read again).
 * 3. What is read may be damaged.  A storage or an index enters only if columns, kinds and keys fit
 *	  together, so that a table can be made of it without a further look.  Its database and owner
 *	  are none that stand for all of them (mem/quota.h).
 *
 * The maps have as many chains as there are storages, at least; they grow by doubling.
 */
#include "runtime/durable/roster.h"

#include <stdlib.h>

#include "runtime/order/kind.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/definitions.h"
#include "runtime/table/table.h"

#define CHAINS_FIRST 64
#define ID_END ((uint64_t) 1 << 62) /* ids come from a counter that begins with 1 */

struct tg_roster
{
	tg_roster_storage *first;
	tg_roster_storage **last; /* where the next one is linked */
	size_t count;
	size_t chain_count; /* of each map; a power of two */
	tg_roster_storage **by_id;
	tg_roster_storage **by_relation;
	uint64_t id_max;
};

/* --- maps --------------------------------------------------------------------------------- */

static size_t
chain_of_id(const tg_roster *roster, uint64_t id)
{
	return id & (roster->chain_count - 1);
}

static size_t
chain_of_relation(const tg_roster *roster, uint32_t database, uint32_t relation)
{
	return (database * UINT32_C(2654435769) ^ relation) & (roster->chain_count - 1);
}

static void
enter_by_id(tg_roster *roster, tg_roster_storage *storage)
{
	tg_roster_storage **chain = &roster->by_id[chain_of_id(roster, storage->id)];

	storage->next_by_id = *chain;
	*chain = storage;
}

static void
enter_by_relation(tg_roster *roster, tg_roster_storage *storage)
{
	tg_roster_storage **chain = &roster->by_relation[chain_of_relation(roster, storage->database, storage->relation)];

	storage->next_by_relation = *chain;
	*chain = storage;
}

static tg_status
grow_maps(tg_roster *roster, size_t chain_count)
{
	tg_roster_storage **by_id = calloc(chain_count, sizeof(*by_id));
	tg_roster_storage **by_relation = calloc(chain_count, sizeof(*by_relation));

	if (by_id == NULL || by_relation == NULL)
	{
		free(by_id);
		free(by_relation);
		return TG_NO_MEMORY;
	}
	free(roster->by_id);
	free(roster->by_relation);
	roster->by_id = by_id;
	roster->by_relation = by_relation;
	roster->chain_count = chain_count;
	for (tg_roster_storage *storage = roster->first; storage != NULL; storage = storage->next)
	{
		enter_by_id(roster, storage);
		if (storage->state == TG_STORAGE_PLACED)
			enter_by_relation(roster, storage);
	}
	return TG_OK;
}

static tg_roster_storage *
find_storage(const tg_roster *roster, uint64_t id)
{
	tg_roster_storage *storage = roster->by_id[chain_of_id(roster, id)];

	while (storage != NULL && storage->id != id)
		storage = storage->next_by_id;
	return storage;
}

static tg_roster_storage *
find_placed(const tg_roster *roster, uint32_t database, uint32_t relation)
{
	tg_roster_storage *storage = roster->by_relation[chain_of_relation(roster, database, relation)];

	while (storage != NULL && (storage->database != database || storage->relation != relation))
		storage = storage->next_by_relation;
	return storage;
}

static tg_roster_index *
find_index(const tg_roster_storage *storage, uint64_t id)
{
	tg_roster_index *index = storage->indexes;

	while (index != NULL && index->id != id)
		index = index->next;
	return index;
}

/* --- what fits together --------------------------------------------------------------------- */

static bool
code_fits(const tg_key_part *part, tg_kind kind)
{
	if (kind != TG_KIND_STRING && (part->ranking.compare != 0 || part->long_above != 0))
		return false;
	switch ((tg_key_code) part->code)
	{
		case TG_KEY_SIGNED:
		case TG_KEY_UNSIGNED:
			return kind <= TG_KIND_8;
		case TG_KEY_FLOAT4:
			return kind == TG_KIND_4;
		case TG_KEY_FLOAT8:
			return kind == TG_KIND_8;
		case TG_KEY_BYTES16:
		case TG_KEY_SIGNED16:
		case TG_KEY_INTERVAL:
			return kind == TG_KIND_16;
		case TG_KEY_STRING:
		case TG_KEY_BLANK:
			return kind == TG_KIND_STRING;
	}
	return false;
}

/* A primary key. */
static bool
key_fits(const tg_definition *create)
{
	for (unsigned i = 0; i < create->key.part_count; i++)
	{
		const tg_key_part *part = &create->key.part[i];

		if (part->column >= create->column_count || part->order != 0 ||
			!code_fits(part, (tg_kind) create->kinds[part->column]))
			return false;
	}
	return true;
}

/* The kind of a column of the storage or a hidden value, as an index numbers them; false: none. */
static bool
kind_of(const tg_roster_storage *storage, const tg_index_spec *spec, unsigned column, tg_kind *kind_out)
{
	if ((column & TG_KEY_HIDDEN) != 0)
	{
		column &= ~TG_KEY_HIDDEN;
		if (column >= spec->hidden_count)
			return false;
		*kind_out = (tg_kind) spec->hidden_kinds[column];
		return true;
	}
	if (column >= storage->column_count)
		return false;
	*kind_out = (tg_kind) storage->kinds[column];
	return true;
}

static bool
index_fits(const tg_roster_storage *storage, const tg_index_spec *spec)
{
	tg_kind kind;

	if (spec->key.part_count == 0)
		return false;
	for (unsigned i = 0; i < spec->key.part_count; i++)
		if (!kind_of(storage, spec, spec->key.part[i].column, &kind) || !code_fits(&spec->key.part[i], kind))
			return false;
	if (spec->several && (spec->unique || spec->key.part_count != 1 || kind != TG_KIND_STRING ||
						  (spec->key.part[0].column & TG_KEY_HIDDEN) == 0))
		return false;
	return !spec->partial || (kind_of(storage, spec, spec->predicate, &kind) && kind == TG_KIND_1);
}

/* --- definitions ------------------------------------------------------------------------------ */

static void
note_id(tg_roster *roster, uint64_t id)
{
	if (id > roster->id_max)
		roster->id_max = id;
}

static void
free_storage(tg_roster_storage *storage)
{
	while (storage->indexes != NULL)
	{
		tg_roster_index *index = storage->indexes;

		storage->indexes = index->next;
		free(index);
	}
	free(storage->kinds);
	free(storage->meanings);
	free(storage);
}

static tg_status
set_kinds(tg_roster_storage *storage, const tg_definition *definition)
{
	size_t count = definition->column_count > 0 ? definition->column_count : 1;
	uint8_t *kinds = realloc(storage->kinds, count);
	uint64_t *meanings;

	if (kinds == NULL)
		return TG_NO_MEMORY;
	storage->kinds = kinds;
	meanings = realloc(storage->meanings, count * sizeof(*meanings));
	if (meanings == NULL)
		return TG_NO_MEMORY;
	storage->meanings = meanings;
	memcpy(kinds, definition->kinds, definition->column_count);
	for (uint32_t i = storage->column_count; i < definition->column_count; i++)
		meanings[i] = 0;
	storage->column_count = definition->column_count;
	return TG_OK;
}

static tg_status
apply_create(tg_roster *roster, const tg_definition *definition)
{
	tg_roster_storage *storage;

	if (definition->storage == 0 || definition->storage >= ID_END || definition->database == 0 ||
		definition->owner == 0 || !key_fits(definition))
		return TG_DAMAGED;
	if (find_storage(roster, definition->storage) != NULL)
		return TG_OK;
	if (roster->count >= roster->chain_count)
	{
		tg_status status = grow_maps(roster, 2 * roster->chain_count);

		if (status != TG_OK)
			return status;
	}
	storage = calloc(1, sizeof(*storage));
	if (storage == NULL)
		return TG_NO_MEMORY;
	if (set_kinds(storage, definition) != TG_OK)
	{
		free_storage(storage);
		return TG_NO_MEMORY;
	}
	storage->id = definition->storage;
	storage->database = definition->database;
	storage->relation = definition->relation;
	storage->owner = definition->owner;
	storage->hidden = definition->hidden;
	storage->key = definition->key;
	*roster->last = storage;
	roster->last = &storage->next;
	roster->count++;
	enter_by_id(roster, storage);
	note_id(roster, storage->id);
	return TG_OK;
}

static void
end_storage(tg_roster *roster, tg_roster_storage *storage)
{
	if (storage->state == TG_STORAGE_PLACED)
	{
		tg_roster_storage **link =
			&roster->by_relation[chain_of_relation(roster, storage->database, storage->relation)];

		while (*link != storage)
			link = &(*link)->next_by_relation;
		*link = storage->next_by_relation;
	}
	storage->state = TG_STORAGE_ENDED;
}

static void
apply_place(tg_roster *roster, tg_roster_storage *storage)
{
	tg_roster_storage *before;

	if (storage->state != TG_STORAGE_CREATED)
		return;
	before = find_placed(roster, storage->database, storage->relation);
	if (before != NULL)
		end_storage(roster, before);
	storage->state = TG_STORAGE_PLACED;
	enter_by_relation(roster, storage);
}

static void
apply_drop(tg_roster *roster, const tg_definition *definition)
{
	tg_roster_storage *storage = find_placed(roster, definition->database, definition->relation);

	if (storage != NULL)
		end_storage(roster, storage);
}

static void
apply_drop_database(tg_roster *roster, uint32_t database)
{
	for (tg_roster_storage *storage = roster->first; storage != NULL; storage = storage->next)
		if (storage->database == database)
			end_storage(roster, storage);
}

static tg_status
apply_index(tg_roster *roster, tg_roster_storage *storage, const tg_definition *definition)
{
	tg_roster_index **link = &storage->indexes;
	tg_roster_index *index;

	if (definition->index == 0 || definition->index >= ID_END || !index_fits(storage, &definition->spec))
		return TG_DAMAGED;
	if (find_index(storage, definition->index) != NULL)
		return TG_OK;
	index = calloc(1, sizeof(*index));
	if (index == NULL)
		return TG_NO_MEMORY;
	index->id = definition->index;
	index->spec = definition->spec;
	while (*link != NULL)
		link = &(*link)->next;
	*link = index;
	note_id(roster, index->id);
	return TG_OK;
}

static tg_status
apply_columns(tg_roster_storage *storage, const tg_definition *definition)
{
	if (definition->column_count <= storage->column_count)
		return TG_OK;
	if (memcmp(storage->kinds, definition->kinds, storage->column_count) != 0)
		return TG_DAMAGED;
	return set_kinds(storage, definition);
}

static tg_status
apply_meaning(tg_roster_storage *storage, const tg_definition *definition)
{
	if (definition->column >= storage->column_count)
		return TG_DAMAGED;
	if (storage->meanings[definition->column] == 0)
		storage->meanings[definition->column] = definition->meaning;
	return TG_OK;
}

/* A definition of a storage that is known. */
static tg_status
apply_to_storage(tg_roster *roster, tg_roster_storage *storage, const tg_definition *definition)
{
	tg_roster_index *index = find_index(storage, definition->index);

	switch (definition->kind)
	{
		case TG_DEFINITION_PLACE:
			apply_place(roster, storage);
			break;
		case TG_DEFINITION_INDEX:
			return apply_index(roster, storage, definition);
		case TG_DEFINITION_COMPLETE:
			if (index == NULL)
				return TG_DAMAGED;
			index->complete = true;
			break;
		case TG_DEFINITION_UNINDEX:
			if (index != NULL)
				index->ended = true;
			break;
		case TG_DEFINITION_COLUMNS:
			return apply_columns(storage, definition);
		case TG_DEFINITION_MEANING:
			return apply_meaning(storage, definition);
		case TG_DEFINITION_OWNER:
			if (definition->owner == 0)
				return TG_DAMAGED;
			storage->owner = definition->owner;
			break;
		default:
			tg_assert(definition->kind == TG_DEFINITION_RANK);
			break;
	}
	return TG_OK;
}

/* Whether a definition of a storage that is not known is damage. */
static bool
has_to_be_known(tg_definition_kind kind)
{
	return kind == TG_DEFINITION_PLACE || kind == TG_DEFINITION_INDEX || kind == TG_DEFINITION_COMPLETE;
}

static tg_status
apply(tg_roster *roster, const tg_definition *definition)
{
	tg_roster_storage *storage;

	switch (definition->kind)
	{
		case TG_DEFINITION_CREATE:
			return apply_create(roster, definition);
		case TG_DEFINITION_DROP:
			apply_drop(roster, definition);
			return TG_OK;
		case TG_DEFINITION_DROP_DATABASE:
			apply_drop_database(roster, definition->database);
			return TG_OK;
		case TG_DEFINITION_IDS:
			if (definition->storage >= ID_END)
				return TG_DAMAGED;
			note_id(roster, definition->storage);
			return TG_OK;
		default:
			storage = find_storage(roster, definition->storage);
			if (storage != NULL)
				return apply_to_storage(roster, storage, definition);
			return has_to_be_known(definition->kind) ? TG_DAMAGED : TG_OK;
	}
}

tg_status
tg_roster_apply(tg_roster *roster, const void *data, size_t count)
{
	tg_reader reader = tg_reader_make(data, count);
	tg_definition definition;

	while (tg_definitions_next(&reader, &definition))
	{
		tg_status status = apply(roster, &definition);

		if (status != TG_OK)
			return status;
	}
	return reader.damaged ? TG_DAMAGED : TG_OK;
}

void
tg_roster_note_creator(tg_roster *roster, const void *data, size_t count, uint64_t first)
{
	tg_reader reader = tg_reader_make(data, count);
	tg_definition definition;

	while (tg_definitions_next(&reader, &definition))
		if (definition.kind == TG_DEFINITION_CREATE)
			tg_roster_set_creator(roster, definition.storage, first);
}

void
tg_roster_set_creator(tg_roster *roster, uint64_t storage, uint64_t first)
{
	tg_roster_storage *found = find_storage(roster, storage);

	if (found != NULL)
		found->creator = first;
}

void
tg_roster_end_created(tg_roster *roster, uint64_t first)
{
	for (tg_roster_storage *storage = roster->first; storage != NULL; storage = storage->next)
		if (storage->state == TG_STORAGE_CREATED && storage->creator == first)
			end_storage(roster, storage);
}

void
tg_roster_end_rest(tg_roster *roster)
{
	for (tg_roster_storage *storage = roster->first; storage != NULL; storage = storage->next)
	{
		if (storage->state == TG_STORAGE_CREATED)
			end_storage(roster, storage);
		for (tg_roster_index *index = storage->indexes; index != NULL; index = index->next)
			if (!index->complete)
				index->ended = true;
	}
}

/* --- life ------------------------------------------------------------------------------------- */

tg_status
tg_roster_create(tg_roster **roster_out)
{
	tg_roster *roster = calloc(1, sizeof(*roster));

	if (roster == NULL)
		return TG_NO_MEMORY;
	roster->last = &roster->first;
	if (grow_maps(roster, CHAINS_FIRST) != TG_OK)
	{
		free(roster);
		return TG_NO_MEMORY;
	}
	*roster_out = roster;
	return TG_OK;
}

void
tg_roster_free(tg_roster *roster)
{
	if (roster == NULL)
		return;
	while (roster->first != NULL)
	{
		tg_roster_storage *storage = roster->first;

		roster->first = storage->next;
		free_storage(storage);
	}
	free(roster->by_id);
	free(roster->by_relation);
	free(roster);
}

static void
forget_storage(tg_roster *roster, tg_roster_storage *storage)
{
	tg_roster_storage **link = &roster->by_id[chain_of_id(roster, storage->id)];

	while (*link != storage)
		link = &(*link)->next_by_id;
	*link = storage->next_by_id;
	free_storage(storage);
	roster->count--;
}

static void
forget_indexes(tg_roster_storage *storage)
{
	for (tg_roster_index **link = &storage->indexes; *link != NULL;)
	{
		tg_roster_index *index = *link;

		if (!index->ended)
		{
			link = &index->next;
			continue;
		}
		*link = index->next;
		free(index);
	}
}

void
tg_roster_forget(tg_roster *roster, bool keeps_indexes)
{
	tg_roster_storage **link = &roster->first;

	while (*link != NULL)
	{
		tg_roster_storage *storage = *link;

		if (storage->state == TG_STORAGE_ENDED)
		{
			*link = storage->next;
			forget_storage(roster, storage);
			continue;
		}
		if (!keeps_indexes)
			forget_indexes(storage);
		link = &storage->next;
	}
	roster->last = link;
}

/* --- as bytes --------------------------------------------------------------------------------- */

static tg_status
write_indexes(const tg_roster_storage *storage, tg_bytes *bytes)
{
	for (const tg_roster_index *index = storage->indexes; index != NULL; index = index->next)
	{
		tg_definition definition = {
			.kind = TG_DEFINITION_INDEX, .storage = storage->id, .index = index->id, .spec = index->spec};
		tg_status status = tg_definition_put(bytes, &definition);

		definition.kind = TG_DEFINITION_COMPLETE;
		if (status == TG_OK && index->complete)
			status = tg_definition_put(bytes, &definition);
		definition.kind = TG_DEFINITION_UNINDEX;
		if (status == TG_OK && index->ended)
			status = tg_definition_put(bytes, &definition);
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

static tg_status
write_meanings(const tg_roster_storage *storage, tg_bytes *bytes)
{
	tg_status status = TG_OK;

	for (uint32_t i = 0; i < storage->column_count && status == TG_OK; i++)
	{
		const tg_definition definition = {
			.kind = TG_DEFINITION_MEANING, .storage = storage->id, .column = i, .meaning = storage->meanings[i]};

		if (definition.meaning != 0)
			status = tg_definition_put(bytes, &definition);
	}
	return status;
}

static tg_status
write_storage(const tg_roster_storage *storage, tg_bytes *bytes)
{
	const tg_definition create = {.kind = TG_DEFINITION_CREATE,
								  .storage = storage->id,
								  .database = storage->database,
								  .relation = storage->relation,
								  .owner = storage->owner,
								  .hidden = storage->hidden,
								  .kinds = storage->kinds,
								  .column_count = storage->column_count,
								  .key = storage->key};
	const tg_definition place = {.kind = TG_DEFINITION_PLACE, .storage = storage->id};
	tg_status status = tg_definition_put(bytes, &create);

	if (status == TG_OK)
		status = write_meanings(storage, bytes);
	if (status == TG_OK)
		status = write_indexes(storage, bytes);
	if (status == TG_OK && storage->state == TG_STORAGE_PLACED)
		status = tg_definition_put(bytes, &place);
	return status;
}

tg_status
tg_roster_write(const tg_roster *roster, tg_bytes *bytes)
{
	const tg_definition ids = {.kind = TG_DEFINITION_IDS, .storage = roster->id_max};
	tg_status status = tg_definition_put(bytes, &ids);

	for (const tg_roster_storage *storage = roster->first; storage != NULL && status == TG_OK; storage = storage->next)
		if (storage->state != TG_STORAGE_ENDED)
			status = write_storage(storage, bytes);
	return status;
}

/* --- looking ---------------------------------------------------------------------------------- */

const tg_roster_storage *
tg_roster_find(const tg_roster *roster, uint64_t id)
{
	return find_storage(roster, id);
}

const tg_roster_storage *
tg_roster_first(const tg_roster *roster)
{
	return roster->first;
}

uint64_t
tg_roster_id_max(const tg_roster *roster)
{
	return roster->id_max;
}

size_t
tg_roster_shape(const tg_roster *roster, uint64_t storage, unsigned column_count, const uint64_t *indexes,
				unsigned index_count, uint8_t *kinds, unsigned *cell_counts, size_t cells_max)
{
	const tg_roster_storage *of = find_storage(roster, storage);
	size_t count = column_count;

	if (of == NULL || column_count > of->column_count || column_count > cells_max)
		return SIZE_MAX;
	memcpy(kinds, of->kinds, column_count);
	for (unsigned i = 0; i < index_count; i++)
	{
		const tg_roster_index *index = find_index(of, indexes[i]);

		if (index == NULL || index->spec.hidden_count > cells_max - count)
			return SIZE_MAX;
		memcpy(kinds + count, index->spec.hidden_kinds, index->spec.hidden_count);
		cell_counts[i] = index->spec.hidden_count;
		count += index->spec.hidden_count;
	}
	return count;
}
