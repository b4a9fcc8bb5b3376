/*
 * writers.h
 *	  Clients that write one table, for tests of what is left of it.
 *
 * Each client has a session and at most one transaction, begun by its first
 * write.  Each text begins with its row's key, so that a blob freed too early, or
 * freed and used again, is noticed.  check_exact says what must hold after
 * everything has ended and the collector has run.
 */
#ifndef TG_WRITERS_H
#define TG_WRITERS_H

#include <string.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/catalog.h"
#include "runtime/table/cell.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/collector_internal.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "runtime/index/long_key.h"
#include "runtime/txn/read.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define MIB ((size_t) 1 << 20)
#define CLIENTS 6
#define COLUMNS 3

typedef struct client
{
	tg_session *session;
	tg_txn *txn; /* NULL: none */
	uint32_t command;
	unsigned subtxn;
	uint64_t random;
	tg_wait wait; /* of the last TG_BUSY */
} client;

static client clients[CLIENTS];
static tg_session *session; /* the collector's and the checks' */
static tg_table *table;

static const uint8_t kinds[COLUMNS] = {TG_KIND_8, TG_KIND_STRING, TG_KIND_STRING};
static const tg_key_spec key_spec = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

static inline void
begin(void)
{
	tg_arena_config config = {.reserve_bytes = 512 * MIB, .limit_bytes = 256 * MIB, .session_max = 32};
	tg_scheduler_config scheduler = {.worker_max = 4};
	tg_table *old;

	tg_open_ms_max = 0; /* what is open is tried again as soon as it may have been helped */
	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_catalog_create() != TG_OK || tg_collector_create() != TG_OK || tg_txn_create() != TG_OK ||
		tg_scheduler_create(&scheduler) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned i = 0; i < CLIENTS; i++)
	{
		if (tg_session_open(&clients[i].session) != TG_OK)
			abort();
		clients[i].random = i + 1;
	}
	if (tg_table_create(session, 1, 1, kinds, COLUMNS, &key_spec, TG_DATA, &table) != TG_OK ||
		tg_catalog_put(session, 1, 1, table, &old) != TG_OK)
		abort();
}

static inline unsigned
dice(client *client, unsigned sides)
{
	return unit_below(&client->random, sides);
}

/* --- transactions ----------------------------------------------------------- */

static inline tg_writer
writer_of(client *client)
{
	if (client->txn == NULL)
	{
		client->txn = tg_txn_begin(client->session, 1);
		client->command = 0;
		client->subtxn = 0;
	}
	return (tg_writer){.session = client->session,
					   .txn = client->txn,
					   .command = ++client->command,
					   .subtxn = client->subtxn,
					   .claim = TG_ESSENTIAL};
}

static inline void
commit(client *client)
{
	if (client->txn != NULL)
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

static inline size_t
key_of(uint64_t number, unsigned char *key)
{
	tg_value values[COLUMNS] = {{.word = number}};

	return tg_key_append(key, 0, &key_spec.part[0], (tg_kind) kinds[0], &values[0]);
}

typedef struct text
{
	char bytes[300];
} text;

/* A long text that tells its key, or sometimes a short one. */
static inline void
text_make(client *client, uint64_t key, tg_value *value, text *text)
{
	unsigned length = 30 + dice(client, 200);

	snprintf(text->bytes, sizeof(text->bytes), "%08u", (unsigned) key);
	memset(text->bytes + 8, 'x', length - 8);
	if (dice(client, 8) == 0)
		tg_string_make_inline(&value->string, text->bytes, 8);
	else
		tg_string_make_host(&value->string, text->bytes, length, 0);
}

static inline tg_status
insert(client *client, uint64_t key)
{
	tg_writer writer = writer_of(client);
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	tg_value values[COLUMNS] = {{.word = key}};
	bool nulls[COLUMNS] = {false, false, dice(client, 5) == 0};
	text texts[2];
	uint32_t row;

	text_make(client, key, &values[1], &texts[0]);
	text_make(client, key, &values[2], &texts[1]);
	return tg_txn_insert(&writer, table, bytes, key_bytes, values, nulls, &row, &client->wait);
}

typedef enum change
{
	CHANGE_UPDATE,
	CHANGE_DELETE,
	CHANGE_MOVE /* of the key */
} change;

/* The old version's values, in values of a new one. */
static inline void
values_of(tg_version version, tg_value *values, bool *nulls)
{
	for (unsigned column = 0; column < COLUMNS; column++)
	{
		nulls[column] = tg_chunk_is_null(tg_version_chunk(version), column, tg_version_slot(version));
		if (!nulls[column])
			tg_chunk_value(tg_version_chunk(version), column, tg_version_slot(version), &values[column]);
	}
}

static inline tg_status
move(client *client, const tg_writer *writer, uint32_t row, tg_version version, uint64_t key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	tg_value values[COLUMNS] = {{.word = key}};
	bool nulls[COLUMNS] = {false};
	text texts[2];

	text_make(client, key, &values[1], &texts[0]);
	text_make(client, key, &values[2], &texts[1]);
	return tg_txn_move(writer, table, row, version, bytes, key_bytes, values, nulls, &row, &client->wait);
}

static inline tg_status
update(client *client, const tg_writer *writer, uint32_t row, tg_version version)
{
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	text texts[2];
	unsigned changed = dice(client, 4);

	values_of(version, values, nulls);
	for (unsigned i = 0; i < 2; i++)
	{
		if ((changed >> i & 1) != 0)
		{
			nulls[1 + i] = false;
			text_make(client, values[0].word, &values[1 + i], &texts[i]);
		}
	}
	return tg_txn_update(writer, table, row, version, values, nulls, &client->wait);
}

static inline tg_status
change_row(client *client, uint64_t key, change change, uint64_t new_key)
{
	tg_writer writer = writer_of(client);
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	unsigned entry;
	tg_snapshot snapshot = {.txn = client->session->id, .command = writer.command};
	tg_version version;
	uint32_t row;
	tg_status status;

	snapshot.time = tg_snapshot_publish(client->session, &entry);
	tg_epoch_enter(client->session);
	status = tg_txn_find(&snapshot, table, bytes, key_bytes, &row, &version, &client->wait);
	if (status == TG_OK)
		status = tg_txn_newest(&writer, &snapshot, table, &row, &version, &client->wait);
	if (status == TG_CHANGED)
		status = TG_BUSY; /* another transaction's, perhaps under another key by now */
	if (status == TG_OK && change == CHANGE_UPDATE)
		status = update(client, &writer, row, version);
	else if (status == TG_OK && change == CHANGE_DELETE)
		status = tg_txn_delete(&writer, table, row, version, &client->wait);
	else if (status == TG_OK)
		status = move(client, &writer, row, version, new_key);
	tg_epoch_leave(client->session);
	tg_snapshot_withdraw(client->session, entry);
	return status;
}

/* --- checks ----------------------------------------------------------------- */

static inline uint64_t
logs_waiting(void)
{
	tg_collector_report report;

	tg_collector_report_get(&report);
	return report.logs_waiting;
}

static inline void
collect(unsigned budget)
{
	while (tg_collector_run(session, budget))
		;
	tg_retire_poll(session);
}

static inline void
leases_end(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		tg_leases_end(clients[i].session);
}

static inline bool
text_is_of(tg_version version, unsigned column, uint64_t key)
{
	tg_value value;
	char expected[16];

	if (tg_chunk_is_null(tg_version_chunk(version), column, tg_version_slot(version)))
		return true;
	tg_chunk_value(tg_version_chunk(version), column, tg_version_slot(version), &value);
	snprintf(expected, sizeof(expected), "%08u", (unsigned) key);
	return memcmp(tg_string_is_out(&value.string) ? value.string.blob : value.string.bytes, expected, 8) == 0;
}

/* The snapshot's row under a key: -1 nothing, 0 something wrong, 1 the right texts. */
static inline int
look(tg_session *reader, tg_time time, uint64_t key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	tg_snapshot snapshot = {.time = time, .txn = reader->id, .command = 0};
	tg_version version;
	uint32_t row;
	tg_wait wait;
	int result = -1;

	tg_epoch_enter(reader);
	if (tg_txn_find(&snapshot, table, bytes, key_bytes, &row, &version, &wait) == TG_OK)
		result = text_is_of(version, 1, key) && text_is_of(version, 2, key);
	tg_epoch_leave(reader);
	return result;
}

static inline size_t
version_blob_bytes(tg_version version)
{
	size_t bytes = 0;
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];

	values_of(version, values, nulls);
	for (unsigned column = 1; column < COLUMNS; column++)
	{
		if (!nulls[column] && tg_string_is_out(&values[column].string))
			bytes += tg_alloc_bytes(values[column].string.blob);
	}
	return bytes;
}

/* The memory that a free slot has kept for its next version. */
static inline size_t
spare_blob_bytes(const tg_chunk *chunk, unsigned slot)
{
	size_t bytes = 0;

	for (unsigned column = 1; column < COLUMNS; column++)
	{
		const tg_string *cell = tg_chunk_cell(chunk, column, slot);

		if (tg_string_is_out(cell))
			bytes += tg_alloc_bytes(cell->blob);
	}
	return bytes;
}

typedef struct found
{
	uint64_t live;
	size_t blob_bytes;
	unsigned faults;
} found;

static inline void
look_at_slot(tg_version version, tg_time time, found *found)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = tg_key_of_version(&key_spec, version, bytes);
	tg_value key;
	uint32_t row;

	tg_chunk_value(tg_version_chunk(version), 0, tg_version_slot(version), &key);
	found->live++;
	found->blob_bytes += version_blob_bytes(version);
	found->faults += tg_load_relaxed(tg_row_head(table, tg_version_row(version))) != version;
	found->faults += tg_btree_find(table->index, bytes, key_bytes, &row) != TG_OK || row != tg_version_row(version);
	found->faults += look(session, time, key.word) != 1;
}

/* Everything has ended: the collector leaves the live versions and nothing else. */
static inline void
check_exact(unsigned budget, const char *name)
{
	found found = {0};
	tg_btree_report tree;
	tg_arena_report report;
	unsigned entry;
	tg_time time;

	collect(budget);
	leases_end();
	time = tg_snapshot_publish(session, &entry);
	tg_epoch_enter(session);
	for (uint32_t index = 0; index < tg_table_chunk_count(table); index++)
	{
		const tg_chunk *chunk = tg_table_chunk(table, index);

		for (unsigned slot = 0; chunk != NULL && slot < chunk->capacity; slot++)
		{
			if ((chunk->free[slot / 64] >> slot % 64 & 1) == 0)
				look_at_slot(tg_version_make(chunk, slot), time, &found);
			else
				found.blob_bytes += spare_blob_bytes(chunk, slot);
		}
	}
	tg_btree_report_get(table->index, &tree);
	tg_epoch_leave(session);
	tg_snapshot_withdraw(session, entry);
	tg_arena_report_get(&report);

	if (found.faults != 0 || logs_waiting() != 0 || report.used_by[TG_USE_LOG] != 0 ||
		report.used_by[TG_USE_BLOB] != found.blob_bytes || (size_t) table->blob_bytes != found.blob_bytes ||
		tree.entries != found.live || table->row_count != (int64_t) found.live ||
		table->row_next - table->free_row_count != found.live)
		printf("# live %" PRIu64 " faults %u logs %" PRIu64 " log bytes %zu blobs %zu of %zu, %" PRId64
			   "; entries %" PRIu64 " rows %" PRId64 " row ids %u\n",
			   found.live, found.faults, logs_waiting(), report.used_by[TG_USE_LOG], report.used_by[TG_USE_BLOB],
			   found.blob_bytes, table->blob_bytes, tree.entries, table->row_count,
			   table->row_next - table->free_row_count);
	unit_ok(found.faults == 0, "%s: each slot left is a live row's version, found by its key", name);
	unit_ok(logs_waiting() == 0 && report.used_by[TG_USE_LOG] == 0, "%s: no log is left", name);
	unit_ok(report.used_by[TG_USE_BLOB] == found.blob_bytes && (size_t) table->blob_bytes == found.blob_bytes,
			"%s: the blobs are theirs, or wait in free slots", name);
	unit_ok(tree.entries == found.live && table->row_count == (int64_t) found.live, "%s: index and row count agree",
			name);
	unit_ok(table->row_next - table->free_row_count == found.live, "%s: every other row id is free", name);
}

static inline void
must(tg_status status)
{
	if (status != TG_OK)
	{
		printf("# status %d\n", status);
		abort();
	}
}

#define must_insert(client, key) must(insert((client), (key)))
#define must_update(client, key) must(change_row((client), (key), CHANGE_UPDATE, 0))
#define must_delete(client, key) must(change_row((client), (key), CHANGE_DELETE, 0))

/* All rows go. */
static inline void
empty(void)
{
	for (uint64_t key = 0; key < 100; key++)
		(void) change_row(&clients[0], key, CHANGE_DELETE, 0);
	commit(&clients[0]);
	check_exact(1000, "emptied");
	unit_equal(table->row_count, 0, "and no row is left");
}

static inline void
end(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		tg_session_close(clients[i].session);
	tg_session_close(session);
	tg_arena_destroy();
}

#endif /* TG_WRITERS_H */
