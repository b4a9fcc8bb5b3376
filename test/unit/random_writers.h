/*
 * random_writers.h
 *	  For tests of what is logged and read again: clients that change a table at random, and a
 *	  second table to put the contents into.
 *
 * Inserts, updates, deletes, changes of keys, savepoints, rollbacks; of every kind of value, NULLs,
 * long and short strings, hidden values of two indexes that are known for some rows only, and
 * columns that are added meanwhile.
 */
#ifndef TG_RANDOM_WRITERS_H
#define TG_RANDOM_WRITERS_H

#include "runtime/durable/operations.h"
#include "runtime/durable/replay.h"
#include "runtime/index/hidden.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/runtime.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/lease.h"
#include "runtime/txn/txn_internal.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define MIB ((size_t) 1 << 20)
#define CLIENTS 2
#define COLUMNS 9
#define COLUMNS_FIRST 7
#define INDEXES 2
#define KEYS 150
#define RECORDS_MAX 20000
#define STRING_BYTES_MAX 3000

static const uint8_t kinds[COLUMNS] = {TG_KIND_8,	   TG_KIND_1,	   TG_KIND_2,	   TG_KIND_4, TG_KIND_16,
									   TG_KIND_STRING, TG_KIND_STRING, TG_KIND_STRING, TG_KIND_8};
static const tg_key_spec key_spec = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};
static const tg_index_spec index_specs[INDEXES] = {
	{.host = 1,
	 .hidden_count = 2,
	 .hidden_kinds = {TG_KIND_STRING, TG_KIND_4},
	 .key = {.part_count = 1,
			 .part = {{.column = TG_KEY_HIDDEN | 1, .code = TG_KEY_SIGNED, .order = TG_KEY_NULLABLE}}}},
	{.host = 2,
	 .hidden_count = 1,
	 .hidden_kinds = {TG_KIND_8},
	 .key = {.part_count = 1, .part = {{.column = TG_KEY_HIDDEN, .code = TG_KEY_SIGNED, .order = TG_KEY_NULLABLE}}}},
};

typedef struct client
{
	tg_session *session;
	tg_txn *txn; /* NULL: none */
	tg_writer writer;
	tg_txn_mark mark;
	bool has_mark;
	uint64_t random;
	/* of the row that is written */
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	char strings[COLUMNS][STRING_BYTES_MAX];
	tg_value hidden_values[INDEXES][2];
	bool hidden_nulls[INDEXES][2];
	char hidden_string[STRING_BYTES_MAX];
	tg_hidden_values of[INDEXES];
	tg_hidden_row hidden;
} client;

static client clients[CLIENTS];
static tg_table *source;
static tg_table *target;
static tg_bytes *records; /* of every commit, in order */
static unsigned record_count;
static bool computes_all;					  /* the hidden values of every row that is written */
static bool fills;							  /* hidden values of rows that are there become known */
static unsigned column_count = COLUMNS_FIRST; /* of the newest layout */

__attribute__((unused)) static unsigned misfits;

/* The contents come from the source; they are put into the target. */
static inline tg_table *
find_table(void *context, uint64_t storage)
{
	(void) context;
	return storage == source->incarnation ? target : NULL;
}

static inline size_t
find_shape(void *context, uint64_t storage, unsigned columns, const uint64_t *ids, unsigned id_count, uint8_t *cells,
		   unsigned *cell_counts)
{
	size_t count = columns;

	(void) context;
	if (storage != source->incarnation || columns > column_count)
		return SIZE_MAX;
	memcpy(cells, kinds, columns);
	for (unsigned i = 0; i < id_count; i++)
	{
		const tg_index *index = tg_index_first(source);

		while (index != NULL && index->id != ids[i])
			index = tg_index_next(index);
		if (index == NULL)
			return SIZE_MAX;
		memcpy(cells + count, index->spec.hidden_kinds, index->spec.hidden_count);
		cell_counts[i] = index->spec.hidden_count;
		count += index->spec.hidden_count;
	}
	return count;
}

static inline void
count_misfit(void *context, uint64_t storage)
{
	(void) context;
	(void) storage;
	misfits++;
}

__attribute__((unused)) static const tg_replay_calls replay_calls = {
	.shape = find_shape, .table = find_table, .misfit = count_misfit};

static inline tg_table *
make_table(tg_session *session, uint32_t relation, unsigned columns)
{
	tg_table *table;

	if (tg_table_create(session, 1, relation, kinds, columns, &key_spec, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	for (unsigned i = 0; i < INDEXES; i++)
	{
		tg_index *index;

		if (tg_index_create(session, table, &index_specs[i], TG_DATA, &index) != TG_OK)
			unit_bail("no index");
	}
	return table;
}

/* The target's indexes have the ids of the source's, as after a start. */
static inline void
make_target(tg_session *session)
{
	tg_index *theirs;

	target = make_table(session, 2, column_count);
	theirs = tg_index_first(target);
	for (const tg_index *index = tg_index_first(source); index != NULL; index = tg_index_next(index))
	{
		theirs->id = index->id;
		theirs = tg_index_next(theirs);
	}
}

/* From now on, rows are written with all columns. */
static inline void
add_columns(tg_table *table)
{
	if (tg_table_layout_add(clients[0].session, table, kinds, COLUMNS) != TG_OK)
		unit_bail("no layout");
	column_count = COLUMNS;
}

static inline void
drop_table(tg_session *session, tg_table *table)
{
	tg_leases_forget(table);
	tg_table_release(session, table);
}

/* --- rows at random ----------------------------------------------------------------------- */

static inline unsigned
roll(client *client, unsigned sides)
{
	return unit_below(&client->random, sides);
}

static inline void
make_string(client *client, tg_string *string, char *room)
{
	unsigned way = roll(client, 10);
	unsigned bytes = way < 5   ? roll(client, TG_STRING_INLINE_MAX + 1)
					 : way < 9 ? 8 + roll(client, 60)
							   : roll(client, 2900) + 8;

	for (unsigned i = 0; i < bytes; i++)
		room[i] = (char) ('a' + roll(client, 26));
	if (way < 5)
		tg_string_make_inline(string, room, bytes);
	else
		tg_string_make_host(string, room, bytes, way % 2 == 0 ? 4 : 0);
}

static inline void
make_value(client *client, tg_kind kind, tg_value *value, char *room)
{
	uint64_t word = unit_random(&client->random) >> roll(client, 64);

	memset(value, 0, sizeof(*value));
	switch (kind)
	{
		case TG_KIND_1:
			value->word = (uint64_t) (int8_t) word;
			break;
		case TG_KIND_2:
			value->word = (uint64_t) (int16_t) word;
			break;
		case TG_KIND_4:
			value->word = (uint64_t) (int32_t) word;
			break;
		case TG_KIND_8:
			value->word = word;
			break;
		case TG_KIND_16:
			memcpy(value->bytes, &word, sizeof(word));
			value->bytes[15] = (unsigned char) word;
			break;
		case TG_KIND_STRING:
			make_string(client, &value->string, room);
			break;
	}
}

/* Values for some columns, for all if the row is new. */
static inline void
make_values(client *client, bool is_new)
{
	for (unsigned column = 1; column < column_count; column++)
	{
		if (!is_new && roll(client, 3) != 0)
			continue;
		client->nulls[column] = roll(client, 6) == 0;
		make_value(client, (tg_kind) kinds[column], &client->values[column], client->strings[column]);
	}
}

static inline void
make_hidden_values(client *client, unsigned index)
{
	for (unsigned i = 0; i < index_specs[index].hidden_count; i++)
	{
		client->hidden_nulls[index][i] = roll(client, 5) == 0;
		make_value(client, (tg_kind) index_specs[index].hidden_kinds[i], &client->hidden_values[index][i],
				   client->hidden_string);
	}
}

/* What the host has computed: of all indexes, of some, or nothing. */
static inline void
make_hidden(client *client)
{
	client->hidden.of = client->of;
	client->hidden.count = 0;
	for (unsigned i = 0; i < INDEXES; i++)
	{
		if (!computes_all && roll(client, 4) == 0)
			continue;
		make_hidden_values(client, i);
		client->of[client->hidden.count++] = (tg_hidden_values){
			.host = index_specs[i].host, .values = client->hidden_values[i], .nulls = client->hidden_nulls[i]};
	}
	client->writer.hidden = &client->hidden;
}

/* --- transactions ---------------------------------------------------------------------------- */

static inline void
begin(client *client)
{
	if (client->txn != NULL)
		return;
	client->txn = tg_txn_begin(client->session, 1);
	client->writer = (tg_writer){.session = client->session, .txn = client->txn, .claim = TG_ESSENTIAL};
	client->has_mark = false;
}

static inline size_t
key_of(uint64_t number, unsigned char *key)
{
	tg_value value = {.word = number};

	return tg_key_append(key, 0, &key_spec.part[0], TG_KIND_8, &value);
}

static inline void
insert(client *client, uint64_t key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	uint32_t row;
	tg_wait wait;

	client->values[0] = (tg_value){.word = key};
	client->nulls[0] = false;
	make_values(client, true);
	(void) !tg_txn_insert(&client->writer, source, bytes, key_of(key, bytes), client->values, client->nulls, &row,
						  &wait);
}

/* Rows with keys that no other writer has, stored one after the other. */
static inline void
insert_run(client *client, unsigned count)
{
	static uint64_t next_key = KEYS;

	begin(client);
	for (unsigned i = 0; i < count; i++)
	{
		client->writer.command++;
		make_hidden(client);
		insert(client, next_key++);
	}
}

/* The values that the version has, those out of line to be shared. */
static inline void
take_values(client *client, tg_version version)
{
	for (unsigned column = 0; column < column_count; column++)
	{
		client->nulls[column] = tg_chunk_is_null(tg_version_chunk(version), column, tg_version_slot(version));
		if (!client->nulls[column])
			tg_chunk_value(tg_version_chunk(version), column, tg_version_slot(version), &client->values[column]);
	}
}

/* A version of another row shares no blobs. */
static inline void
make_values_own(client *client)
{
	for (unsigned column = 0; column < column_count; column++)
		if (kinds[column] == TG_KIND_STRING && !client->nulls[column] &&
			tg_string_is_out(&client->values[column].string))
			client->values[column].string.word |= TG_STRING_HOST;
}

static inline void
change(client *client, uint64_t key, uint64_t new_key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	tg_snapshot snapshot = {.txn = client->session->id, .command = client->writer.command};
	unsigned entry;
	tg_version version;
	uint32_t row;
	tg_wait wait;
	tg_status status;

	snapshot.time = tg_snapshot_publish(client->session, &entry);
	tg_epoch_enter(client->session);
	status = tg_txn_find(&snapshot, source, bytes, key_of(key, bytes), &row, &version, &wait);
	if (status == TG_OK)
		status = tg_txn_newest(&client->writer, &snapshot, source, &row, &version, &wait);
	if (status == TG_OK && new_key == key && roll(client, 3) == 0)
		status = tg_txn_delete(&client->writer, source, row, version, &wait);
	else if (status == TG_OK)
	{
		take_values(client, version);
		make_values(client, false);
		client->values[0].word = new_key;
		if (new_key == key)
			status = tg_txn_update(&client->writer, source, row, version, client->values, client->nulls, &wait);
		else
		{
			make_values_own(client);
			status = tg_txn_move(&client->writer, source, row, version, bytes, key_of(new_key, bytes), client->values,
								 client->nulls, &row, &wait);
		}
	}
	tg_epoch_leave(client->session);
	tg_snapshot_withdraw(client->session, entry);
}

static inline void
step(client *client)
{
	uint64_t key = roll(client, KEYS);
	unsigned what = roll(client, 100);

	begin(client);
	client->writer.command++;
	make_hidden(client);
	if (what < 40)
		insert(client, key);
	else if (what < 90)
		change(client, key, what < 80 ? key : roll(client, KEYS));
	else if (what < 95)
	{
		tg_txn_savepoint(client->session, client->txn, &client->mark, &client->writer.subtxn);
		client->has_mark = true;
	}
	else if (client->has_mark)
		tg_txn_rollback_to(client->session, client->txn, client->mark);
}

/* Writes the operations as a commit does, before any version is stamped, and keeps them. */
static inline void
keep_record(client *client)
{
	tg_bytes record = {0};

	tg_epoch_enter(client->session);
	if (tg_operations_write(client->txn->log, &record, NULL) != TG_OK)
		unit_bail("operations");
	tg_epoch_leave(client->session);
	records[record_count++] = record;
}

static inline void
commit(client *client)
{
	if (client->txn == NULL)
		return;
	keep_record(client);
	tg_txn_commit(client->session, client->txn);
	client->txn = NULL;
}

static inline void
roll_back(client *client)
{
	if (client->txn != NULL)
		tg_txn_abort(client->session, client->txn);
	client->txn = NULL;
}

/* What a snapshot of now sees of a row; NONE: nothing. */
static inline tg_version
version_of(tg_table *table, uint32_t row, tg_time time)
{
	tg_snapshot snapshot = {.time = time, .txn = clients[0].session->id};
	tg_version version;
	tg_wait wait;

	if (row >= table->row_next || tg_txn_read(&snapshot, table, row, &version, &wait) != TG_OK)
		return TG_VERSION_NONE;
	return version;
}

/*
 * What a build does: gives the version of a row that everybody sees the hidden values of an index,
 * if it has none.
 */
static inline void
fill_hidden(client *client)
{
	uint32_t row = roll(client, source->row_next + 1);
	tg_index *index = tg_index_first(source);
	unsigned entry;
	tg_version version;
	tg_time time;

	if (roll(client, 2) == 0)
		index = tg_index_next(index);
	time = tg_snapshot_publish(client->session, &entry);
	tg_epoch_enter(client->session);
	version = version_of(source, row, time);
	if (version != TG_VERSION_NONE &&
		!tg_companion_is_known(tg_companion_of(&index->link, tg_version_chunk(version)), tg_version_slot(version)))
	{
		unsigned number = index->spec.host - 1;

		make_hidden_values(client, number);
		if (tg_hidden_store(client->session, index, version, client->hidden_values[number],
							client->hidden_nulls[number], TG_ESSENTIAL) != TG_OK)
			unit_bail("no memory");
	}
	tg_epoch_leave(client->session);
	tg_snapshot_withdraw(client->session, entry);
}

/* Calls write for parts of the source's rows, of random length, and keeps what it writes. */
static inline void
keep_rows(tg_status (*write)(const tg_snapshot *snapshot, uint32_t first, uint32_t count, tg_bytes *bytes),
		  void (*at_record)(const tg_bytes *record))
{
	client *client = &clients[0];

	for (uint32_t first = 0, count; first < source->row_next; first += count)
	{
		tg_snapshot snapshot = {.txn = client->session->id};
		unsigned entry;

		count = 1 + roll(client, 100);
		snapshot.time = tg_snapshot_publish(client->session, &entry);
		tg_epoch_enter(client->session);
		if (write(&snapshot, first, count, &records[record_count]) != TG_OK)
			unit_bail("rows were not written");
		tg_epoch_leave(client->session);
		tg_snapshot_withdraw(client->session, entry);
		if (at_record != NULL)
			at_record(&records[record_count]);
		record_count++;
	}
}

/*
 * So many transactions of all clients, after each of which at_commit gets its record.  None is open
 * then.
 */
static inline void
write_some(unsigned transactions, void (*at_commit)(const tg_bytes *record))
{
	for (unsigned ended = 0; ended < transactions;)
	{
		client *client = &clients[roll(&clients[0], CLIENTS)];

		step(client);
		if (fills)
			fill_hidden(client);
		if (roll(client, 8) != 0)
			continue;
		ended++;
		if (roll(client, 5) == 0)
			roll_back(client);
		else
		{
			commit(client);
			if (at_commit != NULL)
				at_commit(&records[record_count - 1]);
		}
		(void) tg_collector_run(clients[0].session, 100);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		roll_back(&clients[i]);
}

/* --- comparing ----------------------------------------------------------------------- */

static inline bool
values_differ(tg_kind kind, const tg_value *left, const tg_value *right)
{
	if (kind == TG_KIND_16)
		return memcmp(left, right, sizeof(*left)) != 0;
	if (kind != TG_KIND_STRING)
		return left->word != right->word;
	if (!tg_string_is_out(&left->string) || !tg_string_is_out(&right->string))
		return memcmp(left, right, sizeof(*left)) != 0;
	return tg_string_blob_bytes(&left->string) != tg_string_blob_bytes(&right->string) ||
		   memcmp(left->string.prefix, right->string.prefix, sizeof(left->string.prefix)) != 0 ||
		   memcmp(left->string.blob, right->string.blob, tg_string_blob_bytes(&left->string)) != 0;
}

static inline unsigned
cell_faults(const tg_chunk *left, const tg_chunk *right, unsigned column, unsigned left_slot, unsigned right_slot)
{
	bool null = tg_chunk_is_null(left, column, left_slot);
	tg_value values[2];

	if (null || tg_chunk_is_null(right, column, right_slot))
		return null != tg_chunk_is_null(right, column, right_slot);
	tg_chunk_value(left, column, left_slot, &values[0]);
	tg_chunk_value(right, column, right_slot, &values[1]);
	return values_differ((tg_kind) left->layout->kinds[column], &values[0], &values[1]);
}

static inline unsigned
version_faults(tg_version left, tg_version right)
{
	const tg_chunk *left_chunk = tg_version_chunk(left);
	const tg_chunk *right_chunk = tg_version_chunk(right);
	const tg_index *theirs = tg_index_first(target);
	unsigned slots[2] = {tg_version_slot(left), tg_version_slot(right)};
	unsigned faults = tg_version_row(left) != tg_version_row(right);

	for (unsigned column = 0; column < COLUMNS; column++)
		faults += cell_faults(left_chunk, right_chunk, column, slots[0], slots[1]);
	for (const tg_index *index = tg_index_first(source); index != NULL; index = tg_index_next(index))
	{
		const tg_chunk *companions[2] = {tg_companion_of(&index->link, left_chunk),
										 tg_companion_of(&theirs->link, right_chunk)};
		bool is_known = tg_companion_is_known(companions[0], slots[0]);

		if (is_known != tg_companion_is_known(companions[1], slots[1]))
			faults++;
		else if (is_known)
			for (unsigned i = 0; i < index->spec.hidden_count; i++)
				faults += cell_faults(companions[0], companions[1], i, slots[0], slots[1]);
		theirs = tg_index_next(theirs);
	}
	return faults;
}

/* No transaction is open. */
static inline void
check_same(const char *name)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(clients[0].session, &entry);
	uint32_t rows = source->row_next > target->row_next ? source->row_next : target->row_next;
	unsigned faults = 0;
	int64_t count = 0;

	tg_epoch_enter(clients[0].session);
	for (uint32_t row = 0; row < rows; row++)
	{
		tg_version left = version_of(source, row, time);
		tg_version right = version_of(target, row, time);

		count += left != TG_VERSION_NONE;
		if (left == TG_VERSION_NONE || right == TG_VERSION_NONE)
			faults += left != right;
		else
			faults += version_faults(left, right);
	}
	tg_epoch_leave(clients[0].session);
	tg_snapshot_withdraw(clients[0].session, entry);
	unit_ok(faults == 0 && count == target->row_count, "%s: %" PRId64 " rows are the same", name, count);
}

/* --- the runtime -------------------------------------------------------------------------- */

static inline void
start_writers(void)
{
	tg_arena_config config = {.reserve_bytes = 1024 * MIB, .limit_bytes = 512 * MIB, .session_max = 16};
	tg_scheduler_config scheduler = {.worker_max = 4};

	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_catalog_create() != TG_OK || tg_collector_create() != TG_OK || tg_txn_create() != TG_OK ||
		tg_scheduler_create(&scheduler) != TG_OK)
		unit_bail("no runtime");
	for (unsigned i = 0; i < CLIENTS; i++)
	{
		if (tg_session_open(&clients[i].session) != TG_OK)
			unit_bail("no session");
		clients[i].random = i + 1;
	}
	records = calloc(RECORDS_MAX, sizeof(*records));
	if (records == NULL)
		unit_bail("no memory");
	source = make_table(clients[0].session, 1, column_count);
}

static inline int
end_writers(void)
{
	while (tg_collector_run(clients[0].session, 1000))
		;
	drop_table(clients[0].session, source);
	for (unsigned i = 0; i < record_count; i++)
		tg_bytes_free(&records[i]);
	free(records);
	for (unsigned i = 0; i < CLIENTS; i++)
		tg_session_close(clients[i].session);
	tg_arena_destroy();
	return unit_done();
}

#endif /* TG_RANDOM_WRITERS_H */
