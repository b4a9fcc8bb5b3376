/*
 * load_unit.h
 *	  For tests of loads: the journal of a model (durable_world.h) is written to files in memory and
 *	  loaded, and the tables are compared with the model's.
 *
 *	SEED=n		another history
 */
#ifndef TG_LOAD_UNIT_H
#define TG_LOAD_UNIT_H

#include <unistd.h>

#include "runtime/mem/arena.h"
#include "runtime/mem/quota.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/index/dictionary.h"
#include "runtime/durable/base.h"
#include "runtime/durable/load.h"
#include "runtime/durable/replay.h"
#include "runtime/durable/undecided.h"

#include "runtime/index/hidden.h"
#include "runtime/index/index.h"
#include "runtime/index/long_key.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/txn.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/catalog.h"
#include "runtime/table/cell.h"
#include "runtime/table/lease.h"
#include "runtime/table/registry.h"
#include "runtime/index/entry.h"
#include "runtime/durable/roster.h"
#include "test/unit/durable_steps.h"
#include "test/unit/memory_files.h"
#include "test/unit/unit.h"

#define MIB ((size_t) 1 << 20)
#define SYSTEM 4711

static tg_session *session;

/* --- loading ---------------------------------------------------------------------------------- */

/* The first frames. */
static inline void
write_frames(const char *directory, unsigned count)
{
	tg_journal *journal;
	tg_file_error error;
	uint64_t last;

	if (tg_journal_open(directory, SYSTEM, (tg_journal_place){0}, &journal, &last, &error) != TG_OK)
		unit_bail("no journal");
	for (unsigned i = 0; i < count; i++)
	{
		tg_journal_frame frame = frames[i].frame;

		frame.bytes = (uint32_t) frames[i].record.count;
		if (tg_journal_append(journal, &frame, frames[i].record.data, NULL, 0) != TG_OK)
			unit_bail("no frame");
		if (i % 3 == 0 && tg_journal_write(journal, &error) != TG_OK)
			unit_bail("no write");
	}
	if (tg_journal_sync(journal, &error) != TG_OK)
		unit_bail("no sync");
	tg_journal_close(journal);
}

static inline void
write_journal(void)
{
	forget_all();
	write_frames("journal", frame_count);
}

#define LIMIT_BYTES (256 * MIB)

static unsigned looks_left; /* 0: without bound */

static inline bool
go_on(void *context, bool sleep)
{
	(void) context;
	if (sleep)
		usleep(100);
	return looks_left == 0 || --looks_left > 0;
}

static inline tg_status
load_from(const char *journal, uint64_t base, bool ignore_damage, tg_load_report *report)
{
	const tg_load_config config = {.journal = journal,
								   .bases = "bases",
								   .base = base,
								   .system = SYSTEM,
								   .ignore_damage = ignore_damage,
								   .go_on = go_on};

	return tg_load(session, &config, report);
}

static inline tg_status
load(bool ignore_damage, tg_load_report *report)
{
	return load_from("journal", 0, ignore_damage, report);
}

/* A damaged journal may have named any database. */
static inline unsigned
drop_tables(void)
{
	unsigned count = 0;
	uint64_t at = 0;
	tg_table *table;

	while ((table = tg_catalog_next(&at)) != NULL)
	{
		tg_check(tg_catalog_take(session, table->database, table->relation) == table);
		tg_leases_forget(table);
		tg_table_release(session, table);
		tg_table_release(session, table);
		count++;
	}
	return count;
}

/* Live bytes that belong to tables. */
static inline size_t
used_bytes(void)
{
	tg_arena_report report;

	while (tg_collector_run(session, 1000))
		;
	tg_epoch_advance();
	tg_retire_poll(session);
	tg_arena_report_get(&report);
	return report.used_by[TG_USE_TABLE] + report.used_by[TG_USE_CHUNK] + report.used_by[TG_USE_HEADER] +
		   report.used_by[TG_USE_BLOB] + report.used_by[TG_USE_INDEX];
}

/* --- writing a base ----------------------------------------------------------------- */

/* A server that has not started anew has the ranks of all transactions, also of those undecided. */
static inline void
restore_ranks(const tg_bytes *bytes)
{
	tg_record record;
	tg_reader reader;
	tg_definition definition;

	if (bytes->count == 0 || tg_record_read(bytes->data, bytes->count, &record) != TG_OK)
		return;
	reader = tg_reader_make(record.definitions, record.definition_bytes);
	while (tg_definitions_next(&reader, &definition))
	{
		tg_table *table = definition.kind == TG_DEFINITION_RANK ? tg_storage_find(definition.storage) : NULL;

		if (table == NULL)
			continue;
		if (tg_dictionary_restore(session, table, definition.ranking, definition.value, definition.value_bytes,
								  definition.rank, definition.rank_bytes) != TG_OK)
			unit_bail("no rank");
		tg_table_release(session, table);
	}
}

/* The position behind so many frames. */
static inline uint64_t
position_behind(unsigned count)
{
	return count > 0 ? frames[count - 1].frame.end : 0;
}

/* Of the present tables. */
static inline void
write_base_of(const tg_base_config *config, uint64_t end)
{
	tg_file_error error;
	tg_base *base;
	tg_status status;

	if (tg_base_begin(config, &base, &error) != TG_OK)
		unit_bail("no base");
	while ((status = tg_base_step(base, session, &error)) == TG_AGAIN)
		;
	if (status != TG_OK || tg_base_finish(base, end, &error) != TG_OK)
		unit_bail("no base");
	tg_base_end(base, session);
}

/*
 * Rows as of the end of some frames, definitions as of the end of fewer.  The journal is read from
 * the first undecided transaction on, so its earlier files may go.
 */
static inline void
write_base(unsigned begin, unsigned end)
{
	tg_base_config config = {.directory = "bases", .system = SYSTEM, .number = 1};
	tg_load_report report;
	tg_undecided undecided;
	tg_decision decision;
	tg_roster *roster;

	write_frames("journal", end);
	if (tg_roster_create(&roster) != TG_OK || load(false, &report) != TG_OK)
		unit_bail("no load");
	tg_undecided_begin(&undecided, roster, 0);
	for (unsigned i = 0; i < begin; i++)
	{
		tg_journal_frame frame = frames[i].frame;

		frame.bytes = (uint32_t) frames[i].record.count;
		if (tg_undecided_frame(&undecided, &frame, frames[i].record.data, &decision) != TG_OK)
			unit_bail("no roster");
	}
	for (unsigned i = 0; i < end; i++)
		restore_ranks(&frames[i].record);
	tg_undecided_forget(&undecided);
	config.roster = roster;
	config.begin = position_behind(begin);
	config.least = tg_undecided_least(&undecided);
	write_base_of(&config, position_behind(end));
	tg_undecided_end(&undecided);
	tg_roster_free(roster);
	tg_load_report_free(&report);
	(void) drop_tables();
}

/* --- comparing -------------------------------------------------------------------------------- */

static inline bool
cell_is(const tg_chunk *chunk, unsigned column, unsigned slot, const model_value *expected, unsigned kind)
{
	char text[TEXT_MAX];
	tg_value value;

	if (tg_chunk_is_null(chunk, column, slot))
		return expected->null;
	if (expected->null)
		return false;
	tg_chunk_value(chunk, column, slot, &value);
	switch (kind)
	{
		case TG_KIND_STRING:
		{
			unsigned count = text_of(expected->number, text);

			if (!tg_string_is_out(&value.string))
				return tg_string_inline_bytes(&value.string) == count && memcmp(value.string.bytes, text, count) == 0;
			return tg_string_blob_bytes(&value.string) == count + 4 &&
				   memcmp((const char *) value.string.blob + 4, text, count) == 0;
		}
		case RANKED:
			make_rank(expected->number, (unsigned char *) text);
			return !tg_string_is_out(&value.string) && tg_string_inline_bytes(&value.string) == 8 &&
				   memcmp(value.string.bytes, text, 8) == 0;
		case TG_KIND_16:
		{
			int64_t words[2] = {expected->number, -expected->number};

			return memcmp(value.bytes, words, sizeof(words)) == 0;
		}
		default:
			return (int64_t) value.word == word_of((tg_kind) kind, expected->number);
	}
}

static const tg_index *
index_with_id(const tg_table *table, uint64_t id)
{
	const tg_index *index = tg_index_first(table);

	while (index != NULL && index->id != id)
		index = tg_index_next(index);
	return index;
}

/* Whether the version has its entries: in the primary key, and in each index. */
static inline bool
has_entries(tg_table *table, const model_storage *storage, tg_version version, uint64_t *entries)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	uint32_t row = tg_version_row(version);
	uint32_t found;

	if (storage->key_column < COLUMNS)
	{
		size_t bytes = tg_key_of_version(table->key, version, key);

		if (tg_btree_find(table->index, key, bytes, &found) != TG_OK || found != row)
			return false;
	}
	for (unsigned i = 0; i < INDEXES; i++)
	{
		const tg_index *index = index_with_id(table, storage->indexes[i].id);
		tg_index_key own;
		size_t bytes;

		if (index == NULL)
			continue;
		if (tg_index_key_of_version(index, version, &own) != TG_OK)
			return false;
		if (!own.present)
			continue;
		bytes = tg_index_entry_make(&own, row);
		if (tg_btree_find(index->tree, own.entry, bytes, &found) != TG_OK)
			return false;
		entries[i]++;
	}
	return true;
}

static inline bool
row_is(tg_table *table, const model_storage *storage, unsigned number, uint64_t *entries)
{
	const model_row *row = &storage->rows[number];
	tg_version version = number < table->row_next ? tg_row_newest(table, number) : TG_VERSION_NONE;
	const tg_chunk *chunk;
	unsigned slot;

	if (!row->there || version == TG_VERSION_NONE)
		return !row->there && version == TG_VERSION_NONE;
	chunk = tg_version_chunk(version);
	slot = tg_version_slot(version);
	for (unsigned i = 0; i < storage->column_count; i++)
		if (!cell_is(chunk, i, slot, &row->values[i], kinds[i]))
			return false;
	for (unsigned i = 0; i < INDEXES; i++)
	{
		const tg_index *index = index_with_id(table, storage->indexes[i].id);
		const tg_chunk *companion;

		if (index == NULL || storage->indexes[i].way < BY_HIDDEN)
			continue;
		companion = tg_companion_of(&index->link, chunk);
		if (tg_companion_is_known(companion, slot) != row->known[i] ||
			(row->known[i] && !cell_is(companion, 0, slot, &row->hidden[i], hidden_kind(storage, i))))
			return false;
	}
	return has_entries(table, storage, version, entries);
}

static inline bool
meanings_are(tg_table *table, const model_storage *storage)
{
	const tg_columns columns = tg_table_columns(table);

	for (unsigned i = 0; i < storage->column_count; i++)
		if (tg_load_relaxed(&columns.meanings[i]) != (i != 1 ? meaning_of(storage, i).meaning : 0))
			return false;
	return storage->key_column == COLUMNS || table->key->host_order == key_of(storage->key_column).host_order;
}

static inline bool
indexes_are(tg_table *table, const model_storage *storage, const uint64_t *entries)
{
	unsigned expected = 0;
	unsigned there = 0;

	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		there++;
	for (unsigned i = 0; i < INDEXES; i++)
	{
		const model_index *index = &storage->indexes[i];
		const tg_index *made = index_with_id(table, index->id);
		tg_btree_report report;

		if (index->id == 0 || !index->complete || index->dropped)
			continue;
		expected++;
		if (made == NULL || made->spec.host != host_of_index(index) || made->filling)
			return false;
		tg_btree_report_get(made->tree, &report);
		if (report.entries != entries[i])
			return false;
	}
	return there == expected;
}

/* The dictionary has the ranks that are in keys, with their values, and no others. */
static inline bool
ranks_are(tg_table *table, const model_storage *storage)
{
	bool used[NUMBERS] = {false};
	unsigned expected = 0;
	unsigned there = 0;
	unsigned right = 0;
	tg_rank_walk walk;
	tg_ranking way;
	tg_ranked ranked;

	for (unsigned i = 0; i < INDEXES; i++)
	{
		const model_index *index = &storage->indexes[i];

		for (unsigned row = 0; row < ROWS && index->way == BY_RANK && index->complete && !index->dropped; row++)
		{
			const model_row *of = &storage->rows[row];

			if (of->there && of->known[i] && !of->hidden[i].null)
				used[of->hidden[i].number + 100] = true;
		}
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		expected += used[i];
	tg_rank_walk_begin(&walk, table);
	tg_rank_walk_resume(session, &walk);
	while (tg_rank_walk_next(&walk, &way, &ranked))
	{
		unsigned char rank[8];
		char text[30] = "";
		int64_t number;

		memcpy(text, ranked.value, ranked.value_bytes < sizeof(text) ? ranked.value_bytes : sizeof(text) - 1);
		number = strtoll(text + strlen("value "), NULL, 10);
		make_rank(number, rank);
		there++;
		right += ranked.is_logged && ranked.rank_bytes == 8 && memcmp(ranked.rank, rank, 8) == 0 && used[number + 100];
	}
	tg_rank_walk_pause(session, &walk);
	return there == expected && right == expected;
}

static inline bool
table_is(unsigned relation)
{
	const model_storage *storage = &relations[relation];
	tg_table *table = tg_catalog_find(database_of(relation), 10 + relation);
	uint64_t entries[INDEXES] = {0};
	tg_btree_report report = {0};
	int64_t count = 0;
	bool same = true;

	if (storage->id == 0 || table == NULL)
		return storage->id == 0 && table == NULL;
	if (table->incarnation != storage->id || table->hidden != 1 ||
		tg_table_columns(table).count != storage->column_count ||
		tg_account_owner(tg_book_account(table->book)) != storage->owner)
		return false;
	tg_epoch_enter(session);
	for (unsigned row = 0; row < ROWS; row++)
	{
		same &= row_is(table, storage, row, entries);
		count += storage->rows[row].there;
	}
	same &= meanings_are(table, storage) && indexes_are(table, storage, entries) && table->row_count == count &&
			table->row_next <= ROWS && table->free_row_count == table->row_next - (uint32_t) count;
	if (table->index != NULL)
		tg_btree_report_get(table->index, &report);
	tg_epoch_leave(session);
	return same && ranks_are(table, storage) && (table->index != NULL) == (storage->key_column < COLUMNS) &&
		   report.entries == (table->index != NULL ? (uint64_t) count : 0);
}

/* The roster, written and read again, even twice, says the same. */
static inline bool
roster_is_same(const tg_roster *roster)
{
	tg_bytes bytes[2] = {{0}};
	tg_roster *other;
	bool same;

	if (tg_roster_create(&other) != TG_OK || tg_roster_write(roster, &bytes[0]) != TG_OK ||
		tg_roster_apply(other, bytes[0].data, bytes[0].count) != TG_OK ||
		tg_roster_apply(other, bytes[0].data, bytes[0].count) != TG_OK || tg_roster_write(other, &bytes[1]) != TG_OK)
		unit_bail("no roster");
	same = bytes[0].count == bytes[1].count && memcmp(bytes[0].data, bytes[1].data, bytes[0].count) == 0;
	tg_bytes_free(&bytes[0]);
	tg_bytes_free(&bytes[1]);
	tg_roster_free(other);
	return same;
}

/* Ids that are handed out now are above those of everything that is there. */
static inline bool
ids_are_new(void)
{
	uint64_t next = tg_incarnation_next();

	for (unsigned i = 0; i < RELATIONS; i++)
	{
		if (relations[i].id >= next)
			return false;
		for (unsigned j = 0; j < INDEXES && relations[i].id != 0; j++)
			if (relations[i].indexes[j].id >= next)
				return false;
	}
	return true;
}

/* Nothing is left of transactions that were open when the server crashed. */
static inline bool
all_are_placed(const tg_roster *roster)
{
	for (const tg_roster_storage *storage = tg_roster_first(roster); storage != NULL; storage = storage->next)
		if (storage->state != TG_STORAGE_PLACED)
			return false;
	return true;
}

/* The storage that a relation has, or NULL. */
static inline const tg_roster_storage *
find_placed(const tg_roster *roster, uint32_t database, uint32_t relation)
{
	const tg_roster_storage *storage = tg_roster_first(roster);

	while (storage != NULL &&
		   (storage->state != TG_STORAGE_PLACED || storage->database != database || storage->relation != relation))
		storage = storage->next;
	return storage;
}

static inline unsigned
count_faults(const tg_load_report *report)
{
	unsigned faults = 0;

	for (unsigned i = 0; i < RELATIONS; i++)
	{
		const tg_roster_storage *placed = find_placed(report->roster, database_of(i), 10 + i);

		if (!table_is(i))
		{
			faults++;
			fprintf(stderr, "# relation %u, storage %" PRIu64 "\n", i, relations[i].id);
		}
		faults += (placed != NULL ? placed->id : 0) != relations[i].id;
	}
	if (report->in_doubt_count != in_doubt_count)
		return faults + 1;
	for (unsigned i = 0; i < in_doubt_count; i++)
	{
		unsigned j = 0;

		while (j < in_doubt_count && report->in_doubt[j] != in_doubt[i])
			j++;
		faults += j == in_doubt_count;
	}
	return faults + !roster_is_same(report->roster);
}

/* One to three faults. */
static inline void
damage_record(tg_bytes *record)
{
	for (unsigned times = 1 + below(3); times > 0 && record->count > 0; times--)
	{
		size_t at = below((unsigned) record->count);

		switch (below(4))
		{
			case 0:
				record->data[at] ^= (unsigned char) (1 << below(8));
				break;
			case 1:
				record->data[at] = (unsigned char) below(256);
				break;
			case 2:
				record->count = at;
				break;
			default:
				memmove(record->data + at, record->data + at + 1, record->count - at - 1);
				record->count--;
				break;
		}
	}
}

static inline void
start_load_unit(void)
{
	tg_arena_config config = {.reserve_bytes = 1024 * MIB, .limit_bytes = LIMIT_BYTES, .session_max = 16};
	tg_scheduler_config scheduler = {.worker_max = 4};
	const char *seed = getenv("SEED");

	if (seed != NULL)
		random_state = strtoull(seed, NULL, 10);
	tg_files = &memory_calls;
	tg_journal_file_bytes = 500;
	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_quota_create() != TG_OK || tg_catalog_create() != TG_OK || tg_collector_create() != TG_OK ||
		tg_txn_create() != TG_OK || tg_scheduler_create(&scheduler) != TG_OK || tg_session_open(&session) != TG_OK)
		unit_bail("no runtime");
}

/* From now on loads are done by a pool of three workers, who have a share of the rows each. */
static inline void
start_pool(void)
{
	const tg_scheduler_settings settings = tg_scheduler_settings_default(3);

	tg_replay_run_rows = 1;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		unit_bail("no pool");
}

static inline void
stop_pool(void)
{
	if (!tg_scheduler_stop(10000))
		unit_bail("the pool does not stop");
}

#endif /* TG_LOAD_UNIT_H */
