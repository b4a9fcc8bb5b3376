/*
 * durable_world.h
 *	  A model of a server whose tables are durable: what is committed, and its journal.
 *
 * A relation has a storage, which has rows of a few columns, indexes, and hidden values of some
 * rows.  A transaction works on one relation, which no other has open; it has a copy of the
 * storage, and takes its place when it commits.
 */
#ifndef TG_DURABLE_WORLD_H
#define TG_DURABLE_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "runtime/order/kind.h"
#include "runtime/durable/definitions.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/operations.h"
#include "runtime/durable/record.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define RELATIONS 6 /* 0 to 3 in database 1, others in database 2 */
#define CLIENTS 3
#define ROWS 60
#define INDEXES 6
#define COLUMNS 6
#define COLUMNS_FIRST 3
#define FRAMES_MAX 4000
#define TEXT_MAX 3000

static const uint8_t kinds[COLUMNS] = {TG_KIND_8, TG_KIND_4, TG_KIND_STRING, TG_KIND_2, TG_KIND_16, TG_KIND_1};

#define NUMBERS 1200
#define RANKED 100 /* in place of a kind: a string that is a rank */

static const tg_ranking ranking = {.compare = 7, .collation = 8, .type = 9};

/* --- the model -------------------------------------------------------------------------- */

typedef enum index_way
{
	BY_NUMBER, /* of column 1, which may be NULL */
	BY_KEY,	   /* unique, of column 0, descending */
	BY_TEXT,   /* of column 2, of any length */
	BY_HIDDEN, /* of a hidden number, which may be NULL */
	BY_RANK,   /* of the hidden rank of a value in an order of the host's */
	WAYS
} index_way;

typedef struct model_index
{
	uint64_t id; /* 0: none */
	index_way way;
	bool complete;
	bool dropped;
} model_index;

typedef struct model_value
{
	bool null;
	int64_t number; /* which value it is, of any kind */
} model_value;

typedef struct model_row
{
	bool there;
	bool left; /* the transaction has deleted it: it can come back with the same key only */
	model_value values[COLUMNS];
	bool known[INDEXES]; /* hidden values */
	model_value hidden[INDEXES];
} model_row;

typedef struct model_storage
{
	uint64_t id; /* 0: the relation has no storage */
	uint32_t owner;
	unsigned key_column; /* COLUMNS: no primary key */
	unsigned column_count;
	model_index indexes[INDEXES];
	bool ranks[NUMBERS]; /* that are logged, for all that the transaction knows */
	model_row rows[ROWS];
} model_storage;

typedef struct client
{
	bool is_open;
	bool is_ending; /* its WITH is logged, the outcome is to come */
	bool commits;
	uint32_t xid;
	unsigned relation;
	uint64_t first;		/* of its PARTs */
	uint64_t id_before; /* ids of storages and indexes that it makes are above this one */
	bool is_new;		/* its storage has been made by it */
	bool is_logged;		/* and create is in the log */
	bool drops;
	bool defines;		   /* more than ranks */
	model_storage storage; /* as it is for the transaction */
	tg_bytes early;		   /* definitions for its next record */
	tg_bytes late;		   /* for its last one */
	tg_bytes rows;
} client;

typedef struct model_frame
{
	tg_journal_frame frame;
	tg_bytes record;
} model_frame;

static model_storage relations[RELATIONS]; /* what is committed */
static bool is_taken[RELATIONS];		   /* by an open transaction, or one in doubt */
static client clients[CLIENTS];
static model_frame frames[FRAMES_MAX];
static unsigned frame_count;
static uint64_t position; /* of the end of the log */
static uint64_t id_last;
static uint32_t xid_last;
static uint32_t in_doubt[FRAMES_MAX];
static unsigned in_doubt_count;
static uint64_t random_state = 1;

static inline unsigned
below(unsigned limit)
{
	return unit_below(&random_state, limit);
}

static inline uint32_t
database_of(unsigned relation)
{
	return relation < 4 ? 1 : 2;
}

/* The value as a number, or as text: most are short, some only differ at the end. */
static inline unsigned
text_of(int64_t number, char *text)
{
	unsigned bytes = (unsigned) snprintf(text, TEXT_MAX, "%" PRId64, number);
	unsigned fill = number % 7 == 0 ? 2000 : number % 5 == 0 ? 40 : 0;

	if (fill > 0)
	{
		memmove(text + fill, text, bytes);
		memset(text, 'x', fill);
	}
	return bytes + fill;
}

static inline int64_t
word_of(tg_kind kind, int64_t number)
{
	return kind == TG_KIND_1 ? (int8_t) number : kind == TG_KIND_2 ? (int16_t) number : number;
}

/* The host has a number of its own for each. */
static inline uint32_t
host_of_index(const model_index *index)
{
	return 100 + (uint32_t) index->id;
}

static inline void
spec_of(const model_index *index, tg_index_spec *spec)
{
	index_way way = index->way;

	*spec = (tg_index_spec){.host = host_of_index(index), .unique = way == BY_KEY, .key = {.part_count = 1}};
	spec->key.part[0] = (tg_key_part){.code = TG_KEY_SIGNED, .order = TG_KEY_NULLABLE};
	switch (way)
	{
		case BY_NUMBER:
			spec->key.part[0].column = 1;
			break;
		case BY_KEY:
			spec->key.part[0].order = TG_KEY_DESCENDING;
			break;
		case BY_TEXT:
			spec->key.part[0] = (tg_key_part){
				.column = 2, .code = TG_KEY_STRING, .header_bytes = 4, .order = TG_KEY_NULLABLE, .long_above = 1000};
			break;
		default:
			if (way == BY_RANK)
				spec->key.part[0] = (tg_key_part){
					.code = TG_KEY_STRING, .header_bytes = 4, .order = TG_KEY_NULLABLE, .ranking = ranking};
			spec->key.part[0].column = TG_KEY_HIDDEN;
			spec->hidden_count = 1;
			spec->hidden_kinds[0] = way == BY_RANK ? TG_KIND_STRING : TG_KIND_4;
			break;
	}
}

static inline tg_key_spec
key_of(unsigned column)
{
	tg_key_spec key = {.part_count = column < COLUMNS, .host_form = 3, .host_order = UINT32_MAX - column};

	key.part[0] = (tg_key_part){.column = 0, .code = TG_KEY_SIGNED};
	if (column == 2)
		key.part[0] = (tg_key_part){.column = 2, .code = TG_KEY_STRING, .header_bytes = 4, .long_above = 1000};
	return key;
}

/* --- the journal ------------------------------------------------------------------------- */

static inline void
reserve(tg_bytes *bytes, size_t count)
{
	if (tg_bytes_reserve(bytes, count) != TG_OK)
		unit_bail("no memory");
}

static inline tg_bytes *
add_frame(tg_frame_kind kind, uint32_t xid)
{
	model_frame *frame = &frames[frame_count++];

	if (frame_count == FRAMES_MAX)
		unit_bail("too many frames");
	*frame = (model_frame){.frame = {.kind = (uint8_t) kind, .xid = xid}};
	frame->frame.start = position + 8 * (1 + below(5));
	position = frame->frame.end = frame->frame.start + 16 + 8 * below(5);
	return &frame->record;
}

static inline void
add_record(tg_record_kind kind, uint32_t xid, uint64_t first, const tg_bytes *early, const tg_bytes *late,
		   const tg_bytes *rows)
{
	size_t early_count = early != NULL ? early->count : 0;
	size_t late_count = late != NULL ? late->count : 0;
	size_t row_count = rows != NULL ? rows->count : 0;
	tg_bytes *record = add_frame(TG_FRAME_RECORD, xid);

	reserve(record, 32 + early_count + late_count + row_count);
	tg_bytes_put_byte(record, TG_RECORD_FORMAT);
	tg_bytes_put_byte(record, (unsigned char) kind);
	if (kind == TG_RECORD_CLEAN_START)
		return;
	if (kind != TG_RECORD_NOW)
		tg_bytes_put_number(record, first);
	if (kind == TG_RECORD_GIVEN_UP)
		return;
	tg_bytes_put_number(record, early_count + late_count);
	if (early_count > 0)
		tg_bytes_put(record, early->data, early_count);
	if (late_count > 0)
		tg_bytes_put(record, late->data, late_count);
	if (row_count > 0)
		tg_bytes_put(record, rows->data, row_count);
}

static inline void
put_definition(tg_bytes *bytes, tg_definition definition)
{
	if (tg_definition_put(bytes, &definition) != TG_OK)
		unit_bail("no memory");
}

/* Each has its own. */
static inline tg_definition
meaning_of(const model_storage *storage, unsigned column)
{
	return (tg_definition){.kind = TG_DEFINITION_MEANING,
						   .storage = storage->id,
						   .column = column,
						   .meaning = storage->id << 32 | (column + 1)};
}

/* Of column 1 it is not known. */
static inline void
put_meaning(tg_bytes *bytes, const model_storage *storage, unsigned column)
{
	if (column != 1)
		put_definition(bytes, meaning_of(storage, column));
}

static inline void
log_now(tg_definition definition)
{
	tg_bytes bytes = {0};

	put_definition(&bytes, definition);
	add_record(TG_RECORD_NOW, below(2), 0, &bytes, NULL, NULL);
	tg_bytes_free(&bytes);
}

/* --- rows ----------------------------------------------------------------------------------- */

static inline void
make_rank(int64_t number, unsigned char rank[8])
{
	uint64_t digit = __builtin_bswap64((uint64_t) (number + 1000) << 30);

	memcpy(rank, &digit, sizeof(digit));
}

static inline void
put_value(tg_bytes *bytes, unsigned kind, int64_t number)
{
	char text[4 + TEXT_MAX] = "head";
	unsigned count;

	reserve(bytes, sizeof(text) + 20);
	if (kind == TG_KIND_STRING)
	{
		count = text_of(number, text + 4);
		if (count <= TG_STRING_INLINE_MAX)
		{
			tg_bytes_put_number(bytes, (uint64_t) count << 3);
			tg_bytes_put(bytes, text + 4, count);
			return;
		}
		tg_bytes_put_number(bytes, (uint64_t) (count + 4) << 3 | (1 + 4));
		tg_bytes_put(bytes, text, count + 4);
	}
	else if (kind == RANKED)
	{
		unsigned char rank[8];

		make_rank(number, rank);
		tg_bytes_put_number(bytes, sizeof(rank) << 3);
		tg_bytes_put(bytes, rank, sizeof(rank));
	}
	else if (kind == TG_KIND_16)
	{
		int64_t words[2] = {number, -number};

		tg_bytes_put(bytes, words, sizeof(words));
	}
	else
		tg_bytes_put_signed(bytes, word_of((tg_kind) kind, number));
}

/*
 * Before the first row with it: behind the create, or at once, whatever becomes of the transaction.
 */
static inline void
log_rank(client *client, const model_value *cell)
{
	model_storage *storage = &client->storage;
	tg_definition definition = {.kind = TG_DEFINITION_RANK, .storage = storage->id, .ranking = ranking};
	char text[30];
	unsigned char rank[8];

	if (cell->null || storage->ranks[cell->number + 100])
		return;
	storage->ranks[cell->number + 100] = true;
	make_rank(cell->number, rank);
	definition.value = text;
	definition.value_bytes = (uint32_t) snprintf(text, sizeof(text), "value %" PRId64, cell->number);
	definition.rank = rank;
	definition.rank_bytes = sizeof(rank);
	if (client->is_new && !client->is_logged)
		put_definition(&client->early, definition);
	else
		log_now(definition);
}

/* Which indexes' hidden values an operation names: mostly all that there are. */
static inline unsigned
choose_indexes(const model_storage *storage, unsigned *chosen)
{
	unsigned count = 0;

	for (unsigned i = 0; i < INDEXES; i++)
		if (storage->indexes[i].id != 0 && storage->indexes[i].way >= BY_HIDDEN && !storage->indexes[i].dropped &&
			below(5) != 0)
			chosen[count++] = i;
	return count;
}

static inline void
put_table(const model_storage *storage, tg_bytes *bytes, unsigned column_count, const unsigned *chosen, unsigned count)
{
	reserve(bytes, 100);
	tg_bytes_put_byte(bytes, TG_OPERATION_TABLE);
	tg_bytes_put_number(bytes, storage->id);
	tg_bytes_put_number(bytes, column_count);
	tg_bytes_put_number(bytes, count);
	for (unsigned i = 0; i < count; i++)
		tg_bytes_put_number(bytes, storage->indexes[chosen[i]].id);
}

static inline void
put_head(tg_bytes *bytes, tg_operation_kind kind, unsigned row)
{
	reserve(bytes, 100);
	tg_bytes_put_byte(bytes, (unsigned char) kind);
	tg_bytes_put_number(bytes, row);
}

static inline uint8_t
hidden_kind(const model_storage *storage, unsigned index)
{
	return storage->indexes[index].way == BY_RANK ? RANKED : TG_KIND_4;
}

/* The cells of a row: its first columns, then of the indexes chosen. */
static inline unsigned
cells_of(const model_storage *storage, const model_row *row, const unsigned *chosen, unsigned count, model_value *cells,
		 uint8_t *cell_kinds)
{
	unsigned column_count = storage->column_count;

	for (unsigned i = 0; i < column_count; i++)
	{
		cells[i] = row->values[i];
		cell_kinds[i] = kinds[i];
	}
	for (unsigned i = 0; i < count; i++)
	{
		cells[column_count + i] = row->hidden[chosen[i]];
		cell_kinds[column_count + i] = hidden_kind(storage, chosen[i]);
	}
	return column_count + count;
}

static inline void
put_cells(tg_bytes *bytes, unsigned row, const model_value *cells, const uint8_t *cell_kinds, unsigned count,
		  bool hidden)
{
	unsigned char nulls[2] = {0};
	bool any = false;

	for (unsigned i = 0; i < count; i++)
	{
		nulls[i / 8] |= (unsigned char) (cells[i].null << i % 8);
		any |= cells[i].null;
	}
	put_head(bytes,
			 hidden ? (any ? TG_OPERATION_HIDDEN_NULLS : TG_OPERATION_HIDDEN)
					: (any ? TG_OPERATION_INSERT_NULLS : TG_OPERATION_INSERT),
			 row);
	if (any)
		tg_bytes_put(bytes, nulls, (count + 7) / 8);
	for (unsigned i = 0; i < count; i++)
		if (!cells[i].null)
			put_value(bytes, cell_kinds[i], cells[i].number);
}

static inline void
put_insert(const model_storage *storage, tg_bytes *bytes, unsigned row, const unsigned *chosen, unsigned count)
{
	model_value cells[COLUMNS + INDEXES];
	uint8_t cell_kinds[COLUMNS + INDEXES];
	unsigned cell_count = cells_of(storage, &storage->rows[row], chosen, count, cells, cell_kinds);

	put_table(storage, bytes, storage->column_count, chosen, count);
	put_cells(bytes, row, cells, cell_kinds, cell_count, false);
}

static inline void
put_update(const model_storage *storage, tg_bytes *bytes, unsigned row, const model_row *before, const unsigned *chosen,
		   unsigned count)
{
	model_value cells[2][COLUMNS + INDEXES];
	uint8_t cell_kinds[COLUMNS + INDEXES];
	unsigned cell_count = cells_of(storage, &storage->rows[row], chosen, count, cells[0], cell_kinds);
	unsigned behind = 0;

	(void) cells_of(storage, before, chosen, count, cells[1], cell_kinds);
	put_table(storage, bytes, storage->column_count, chosen, count);
	put_head(bytes, TG_OPERATION_UPDATE, row);
	for (unsigned i = 0; i < cell_count; i++)
	{
		bool unknown = i >= storage->column_count && !before->known[chosen[i - storage->column_count]];

		if (!unknown && cells[0][i].null == cells[1][i].null &&
			(cells[0][i].null || cells[0][i].number == cells[1][i].number))
			continue;
		reserve(bytes, 100);
		tg_bytes_put_number(bytes, (uint64_t) (i + 1 - behind) << 1 | cells[0][i].null);
		if (!cells[0][i].null)
			put_value(bytes, cell_kinds[i], cells[0][i].number);
		behind = i + 1;
	}
	reserve(bytes, 1);
	tg_bytes_put_byte(bytes, 0);
}

static inline model_value
any_value(void)
{
	return (model_value){.null = below(5) == 0, .number = (int64_t) below(1000) - 100};
}

/* A key that no row has; texts differ by it, too. */
static inline int64_t
free_key(const model_storage *storage)
{
	for (;;)
	{
		int64_t key = below(1000);
		bool free = true;

		for (unsigned i = 0; i < ROWS; i++)
			free &= !(storage->rows[i].there || storage->rows[i].left) || storage->rows[i].values[0].number != key;
		if (free)
			return key;
	}
}

static inline void
set_hidden(client *client, model_row *row, const unsigned *chosen, unsigned count)
{
	memset(row->known, 0, sizeof(row->known));
	for (unsigned i = 0; i < count; i++)
	{
		row->known[chosen[i]] = true;
		if (below(3) != 0)
			row->hidden[chosen[i]] = any_value();
		if (client->storage.indexes[chosen[i]].way == BY_RANK)
			log_rank(client, &row->hidden[chosen[i]]);
	}
}

static inline void
set_values(model_storage *storage, model_row *row, bool is_new)
{
	for (unsigned i = 1; i < COLUMNS; i++)
		if (i >= storage->column_count)
			row->values[i] = (model_value){.null = true};
		else if (is_new || below(3) == 0)
			row->values[i] = any_value();
	if (is_new && !row->left)
		row->values[0] = (model_value){.number = free_key(storage)};
	if (storage->key_column == 2)
		row->values[2] = row->values[0];
}

static inline void
write_row(client *client)
{
	model_storage *storage = &client->storage;
	unsigned row = below(ROWS);
	model_row before = storage->rows[row];
	model_row *now = &storage->rows[row];
	unsigned chosen[INDEXES];
	unsigned count = choose_indexes(storage, chosen);

	if (now->there && below(3) == 0)
	{
		now->there = false;
		now->left = true;
		put_table(storage, &client->rows, storage->column_count, chosen, count);
		put_head(&client->rows, TG_OPERATION_DELETE, row);
		return;
	}
	if (now->left && storage->key_column == COLUMNS)
		return; /* no key leads to the deleted row */
	set_values(storage, now, !now->there);
	now->left = false;
	set_hidden(client, now, chosen, count);
	if (now->there)
		put_update(storage, &client->rows, row, &before, chosen, count);
	else
	{
		now->there = true;
		put_insert(storage, &client->rows, row, chosen, count);
	}
}

#endif /* TG_DURABLE_WORLD_H */
