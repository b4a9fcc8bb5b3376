/*
 * durable_steps.h
 *	  What happens on the model of a server (durable_world.h): definitions, transactions, crashes.
 */
#ifndef TG_DURABLE_STEPS_H
#define TG_DURABLE_STEPS_H

#include "test/unit/durable_world.h"

/* --- definitions ------------------------------------------------------------------------------ */

static inline void
create(client *client, bool with_rows)
{
	model_storage *storage = &client->storage;
	model_storage before = *storage;
	unsigned ways[3] = {0, 2, COLUMNS};

	client->is_new = client->defines = true;
	client->is_logged = false;
	memset(storage, 0, sizeof(*storage));
	storage->id = ++id_last;
	storage->owner = 1 + below(3);
	storage->column_count = before.id != 0 ? before.column_count : COLUMNS_FIRST;
	storage->key_column = before.id != 0 ? before.key_column : ways[below(3)];
	put_definition(&client->early, (tg_definition){.kind = TG_DEFINITION_CREATE,
												   .storage = storage->id,
												   .database = database_of(client->relation),
												   .relation = 10 + client->relation,
												   .owner = storage->owner,
												   .hidden = 1,
												   .kinds = kinds,
												   .column_count = storage->column_count,
												   .key = key_of(storage->key_column)});
	for (unsigned i = 0; i < storage->column_count; i++)
		put_meaning(&client->early, storage, i);
	for (unsigned i = 0; i < ROWS && with_rows; i++)
	{
		if (!before.rows[i].there)
			continue;
		storage->rows[i] = before.rows[i];
		memset(storage->rows[i].known, 0, sizeof(storage->rows[i].known));
		put_insert(storage, &client->rows, i, NULL, 0);
	}
	put_definition(&client->late, (tg_definition){.kind = TG_DEFINITION_PLACE, .storage = storage->id});
}

static inline void
log_part(client *client)
{
	uint64_t first = client->first;

	if (client->early.count == 0 && client->rows.count == 0)
		return;
	add_record(TG_RECORD_PART, client->xid, first, &client->early, NULL, &client->rows);
	if (first == 0)
		client->first = frames[frame_count - 1].frame.start;
	client->is_logged = true;
	client->early.count = client->rows.count = 0;
}

/* Hidden values of the rows that are there: of some before, of others now. */
static inline void
fill_index(client *client, unsigned index)
{
	model_storage *storage = &client->storage;

	for (unsigned i = 0; i < ROWS; i++)
	{
		model_row *row = &storage->rows[i];
		model_value cell = any_value();
		const uint8_t kind = hidden_kind(storage, index);

		if (!row->there)
			continue;
		if (kind == RANKED)
			log_rank(client, &cell);
		put_table(storage, &client->rows, 0, &index, 1);
		put_cells(&client->rows, i, &cell, &kind, 1, true);
		if (!row->known[index])
			row->hidden[index] = cell;
		row->known[index] = true;
	}
}

/* As a NOW, if the storage is known; else with the create. */
static inline void
make_index(client *client)
{
	model_storage *storage = &client->storage;
	tg_definition definition = {.kind = TG_DEFINITION_INDEX, .storage = storage->id};
	unsigned i;

	for (i = 0; i < INDEXES && storage->indexes[i].id != 0; i++)
		;
	if (i == INDEXES)
		return;
	client->defines = true;
	storage->indexes[i] = (model_index){.id = ++id_last, .way = (index_way) below(WAYS)};
	definition.index = id_last;
	spec_of(&storage->indexes[i], &definition.spec);
	if (client->is_new && !client->is_logged)
		put_definition(&client->early, definition);
	else
	{
		log_now(definition);
		if (!client->is_new)
			relations[client->relation].indexes[i] = storage->indexes[i];
	}
	if (below(4) == 0)
		return; /* not yet, perhaps never */
	storage->indexes[i].complete = true;
	if (storage->indexes[i].way >= BY_HIDDEN)
		fill_index(client, i);
	put_definition(&client->late,
				   (tg_definition){.kind = TG_DEFINITION_COMPLETE, .storage = storage->id, .index = definition.index});
}

static inline void
drop_index(client *client)
{
	model_index *index = &client->storage.indexes[below(INDEXES)];

	if (index->id == 0 || index->dropped)
		return;
	index->dropped = true;
	client->defines = true;
	put_definition(&client->late,
				   (tg_definition){.kind = TG_DEFINITION_UNINDEX, .storage = client->storage.id, .index = index->id});
}

/* In any case, whatever becomes of the transaction. */
static inline void
add_column(client *client)
{
	model_storage *storage = &client->storage;

	if (storage->column_count == COLUMNS || (client->is_new && !client->is_logged))
		return;
	storage->column_count++;
	if (!client->is_new)
		relations[client->relation].column_count++;
	log_now((tg_definition){
		.kind = TG_DEFINITION_COLUMNS, .storage = storage->id, .kinds = kinds, .column_count = storage->column_count});
	log_now(meaning_of(storage, storage->column_count - 1));
}

static inline void
set_owner(client *client)
{
	client->storage.owner = 1 + below(3);
	client->defines = true;
	put_definition(
		&client->late,
		(tg_definition){.kind = TG_DEFINITION_OWNER, .storage = client->storage.id, .owner = client->storage.owner});
}

/* --- transactions ----------------------------------------------------------------------------- */

static inline bool
begin(client *client)
{
	unsigned relation = below(RELATIONS);

	if (is_taken[relation])
		return false;
	is_taken[relation] = true;
	client->is_open = true;
	client->xid = below(3) != 0 ? ++xid_last : 0;
	client->relation = relation;
	client->first = 0;
	client->id_before = id_last;
	client->is_new = client->is_logged = client->drops = client->defines = false;
	client->storage = relations[relation];
	for (unsigned i = 0; i < ROWS; i++)
		client->storage.rows[i].left = false;
	client->early.count = client->late.count = client->rows.count = 0;
	if (client->storage.id == 0)
		create(client, false);
	return true;
}

static inline void
step(client *client)
{
	unsigned what = below(1000);

	if (client->drops)
		return;
	if (what < 800)
		write_row(client);
	else if (what < 880)
		log_part(client);
	else if (what < 920)
		make_index(client);
	else if (what < 935)
		drop_index(client);
	else if (what < 955)
		add_column(client);
	else if (what < 985)
		set_owner(client);
	else if (!client->is_new && what < 995)
		create(client, below(2) == 0);
	else if (!client->is_new && client->first == 0)
	{
		client->drops = client->defines = true;
		client->early.count = client->late.count = client->rows.count = 0;
		client->storage.id = 0;
		put_definition(&client->late, (tg_definition){.kind = TG_DEFINITION_DROP,
													  .database = database_of(client->relation),
													  .relation = 10 + client->relation});
	}
}

/* Of indexes that it has made, where the log is told. */
static inline void
give_up_indexes(client *client)
{
	model_storage *storage = &relations[client->relation];

	for (unsigned i = 0; i < INDEXES && storage->id != 0; i++)
	{
		model_index *index = &storage->indexes[i];

		if (index->id <= client->id_before || below(4) == 0)
			continue;
		index->dropped = true;
		log_now((tg_definition){.kind = TG_DEFINITION_UNINDEX, .storage = storage->id, .index = index->id});
	}
}

static inline void
finish(client *client, bool commits)
{
	client->is_open = false;
	is_taken[client->relation] = false;
	if (commits)
		relations[client->relation] = client->storage;
	else
		give_up_indexes(client);
}

static inline void
end(client *client)
{
	unsigned outcome = below(20);

	if (outcome == 0)
	{
		/* before its last record */
		if (client->first != 0 && below(4) > 0)
			add_record(TG_RECORD_GIVEN_UP, client->xid, client->first, NULL, NULL, NULL);
		finish(client, false);
		if (client->xid != 0)
			(void) add_frame(TG_FRAME_ABORTED, client->xid);
		return;
	}
	add_record(client->xid != 0 ? TG_RECORD_WITH : TG_RECORD_COMMIT, client->xid, client->first, &client->early,
			   &client->late, &client->rows);
	client->commits = outcome > 3;
	client->is_ending = client->xid != 0;
	if (!client->is_ending)
		finish(client, true);
}

/* After its WITH. */
static inline void
decide(client *client)
{
	client->is_ending = false;
	if (below(30) == 0)
	{
		in_doubt[in_doubt_count++] = client->xid; /* its relation remains taken */
		client->is_open = false;
		return;
	}
	(void) add_frame(client->commits ? TG_FRAME_COMMITTED : TG_FRAME_ABORTED, client->xid);
	finish(client, client->commits);
}

static inline void
drop_incomplete(model_storage *storage)
{
	for (unsigned i = 0; i < INDEXES; i++)
		storage->indexes[i].dropped |= !storage->indexes[i].complete;
}

/* The server has crashed, and starts: nobody is in a transaction any more. */
static inline void
start_anew(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		clients[i].is_open = clients[i].is_ending = false;
	memset(is_taken, 0, sizeof(is_taken));
	in_doubt_count = 0;
	for (unsigned i = 0; i < RELATIONS; i++)
		drop_incomplete(&relations[i]);
	add_record(TG_RECORD_CLEAN_START, 0, 0, NULL, NULL, NULL);
}

/* But for some that were prepared: without definitions. */
static inline void
start_with_some(void)
{
	bool goes_on[CLIENTS];
	tg_bytes *start;

	for (unsigned i = 0; i < CLIENTS; i++)
		goes_on[i] = clients[i].is_open && clients[i].is_ending && !clients[i].defines && below(4) > 0;
	start_anew();
	start = &frames[frame_count - 1].record;
	for (unsigned i = 0; i < CLIENTS; i++)
	{
		client *client = &clients[i];

		if (!goes_on[i])
			continue;
		client->is_open = client->is_ending = true;
		is_taken[client->relation] = true;
		drop_incomplete(&client->storage);
		reserve(start, TG_NUMBER_BYTES_MAX);
		tg_bytes_put_number(start, client->xid);
	}
}

static inline void
drop_database(void)
{
	tg_bytes bytes = {0};

	for (unsigned i = 4; i < RELATIONS; i++)
		if (is_taken[i])
			return;
	for (unsigned i = 4; i < RELATIONS; i++)
		relations[i].id = 0;
	put_definition(&bytes, (tg_definition){.kind = TG_DEFINITION_DROP_DATABASE, .database = 2});
	add_record(TG_RECORD_COMMIT, 0, 0, &bytes, NULL, NULL);
	tg_bytes_free(&bytes);
}

static inline void
make_history(unsigned steps)
{
	for (unsigned i = 0; i < frame_count; i++)
		tg_bytes_free(&frames[i].record);
	frame_count = 0;
	memset(relations, 0, sizeof(relations));
	memset(is_taken, 0, sizeof(is_taken));
	in_doubt_count = 0;
	for (unsigned i = 0; i < CLIENTS; i++)
		clients[i].is_open = clients[i].is_ending = false;
	for (unsigned i = 0; i < steps && frame_count < FRAMES_MAX - 20; i++)
	{
		client *client = &clients[below(CLIENTS)];

		if (below(400) == 0)
			start_with_some();
		if (below(400) == 0)
			drop_database();
		if (!client->is_open && !begin(client))
			continue;
		if (client->is_ending)
		{
			if (below(4) == 0)
				decide(client);
			continue;
		}
		step(client);
		if (below(10) == 0)
			end(client);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		if (clients[i].is_open && clients[i].is_ending)
			in_doubt[in_doubt_count++] = clients[i].xid;
}

#endif /* TG_DURABLE_STEPS_H */
