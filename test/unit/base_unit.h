/*
 * base_unit.h
 *	  For tests of bases: tables of which bases are written to files in memory, and read into
 *	  others.
 *
 * One table is changed at random (random_writers.h), others seldom.
 */
#ifndef TG_BASE_UNIT_H
#define TG_BASE_UNIT_H

#include "runtime/durable/base.h"
#include "runtime/durable/sections.h"
#include "runtime/durable/definitions.h"
#include "runtime/durable/replay.h"
#include "runtime/table/registry.h"
#include "test/unit/memory_files.h"
#include "test/unit/random_writers.h"

#define SYSTEM 77
#define DIRECTORY "b"
#define IDLE 3
#define IDLE_ROWS 300
#define RECORD_BYTES 10 /* of each record, as positions have it */

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define EFFORT 1
#else
#define EFFORT 5
#endif

static tg_table *idle[IDLE];		/* tables that seldom change */
static tg_table *idle_target[IDLE]; /* read from a base */
static uint64_t idle_id[IDLE];
static tg_roster *read_roster; /* of the base that is read; NULL: records are */
static tg_replay *replay;
static uint64_t finished; /* the last base that was; 0: none */
static tg_file_error error;
static unsigned defined_indexes = INDEXES; /* of the source, in bases that write_base writes */
static bool completes;					   /* they are complete */

/* --- positions: each record has RECORD_BYTES -------------------------------------------------- */

static uint64_t
position_of(unsigned record)
{
	return 1000 + (uint64_t) record * RECORD_BYTES;
}

static uint64_t
position_now(void)
{
	return position_of(record_count);
}

/* A record of a table was added. */
static inline void
note(tg_table *table)
{
	tg_store_release(&table->logged_at, position_now());
}

/* --- the table that changes all the time ------------------------------------------------------ */

static inline void
end_some(client *client)
{
	if (roll(client, 8) != 0 || client->txn == NULL)
		return;
	if (roll(client, 5) == 0)
		roll_back(client);
	else
	{
		commit(client);
		note(source);
	}
	(void) tg_collector_run(clients[0].session, 100);
}

static inline void
change_source(unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
	{
		client *client = &clients[roll(&clients[0], CLIENTS)];

		step(client);
		end_some(client);
	}
}

/* --- the tables that seldom change ------------------------------------------------------------ */

static inline void
insert_words(tg_table *table, uint64_t word, unsigned count)
{
	tg_session *session = clients[0].session;
	tg_txn *txn = tg_txn_begin(session, 1);
	tg_writer writer = {.session = session, .txn = txn, .claim = TG_DATA};
	tg_value value = {.word = word};
	bool null = false;

	for (unsigned i = 0; i < count; i++, value.word++)
	{
		uint32_t row;
		tg_wait wait;

		if (tg_txn_insert(&writer, table, NULL, 0, &value, &null, &row, &wait) != TG_OK)
			unit_bail("no row");
	}
	tg_txn_commit(session, txn);
}

/* With a record. */
static inline void
write_idle(unsigned number, unsigned count)
{
	insert_words(idle[number], 1000 + number, count);
	records[record_count++] = (tg_bytes){0};
	note(idle[number]);
}

static inline tg_table *
make_idle(tg_session *session)
{
	const uint8_t kind = TG_KIND_8;
	tg_table *table;

	if (tg_table_create(session, 1, 10, &kind, 1, NULL, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	return table;
}

/* How many values differ. */
static inline unsigned
idle_faults(unsigned number)
{
	tg_table *tables[2] = {idle[number], idle_target[number]};
	tg_time time = tg_load_acquire(tg_clock);
	unsigned faults = 0;

	tg_epoch_enter(clients[0].session);
	for (uint32_t row = 0; row < tables[0]->row_next || row < tables[1]->row_next; row++)
	{
		tg_version versions[2] = {version_of(tables[0], row, time), version_of(tables[1], row, time)};

		if ((versions[0] == TG_VERSION_NONE) != (versions[1] == TG_VERSION_NONE))
			faults++;
		else if (versions[0] != TG_VERSION_NONE)
			faults += cell_faults(tg_version_chunk(versions[0]), tg_version_chunk(versions[1]), 0,
								  tg_version_slot(versions[0]), tg_version_slot(versions[1]));
	}
	tg_epoch_leave(clients[0].session);
	return faults;
}

/* --- definitions ------------------------------------------------------------------------------ */

static inline void
define(tg_roster *roster, const tg_definition *definition)
{
	tg_bytes bytes = {0};

	if (tg_definition_put(&bytes, definition) != TG_OK || tg_roster_apply(roster, bytes.data, bytes.count) != TG_OK)
		unit_bail("a definition was not applied");
	tg_bytes_free(&bytes);
}

static inline void
define_storage(tg_roster *roster, uint64_t id, uint32_t relation, const uint8_t *column_kinds, unsigned columns,
			   bool is_placed)
{
	define(roster, &(tg_definition){.kind = TG_DEFINITION_CREATE,
									.database = 1,
									.relation = relation,
									.owner = 1,
									.storage = id,
									.kinds = column_kinds,
									.column_count = columns});
	if (is_placed)
		define(roster, &(tg_definition){.kind = TG_DEFINITION_PLACE, .storage = id});
}

/* The definitions as of now, with so many columns and indexes of the source. */
static inline tg_roster *
make_roster(unsigned columns, unsigned index_count)
{
	const uint8_t kind = TG_KIND_8;
	const tg_index *index = tg_index_first(source);
	tg_roster *roster;

	if (tg_roster_create(&roster) != TG_OK)
		unit_bail("no memory");
	define_storage(roster, source->incarnation, 1, kinds, columns, true);
	for (unsigned i = 0; i < index_count; i++, index = tg_index_next(index))
	{
		define(roster, &(tg_definition){.kind = TG_DEFINITION_INDEX,
										.storage = source->incarnation,
										.index = index->id,
										.spec = index->spec});
		if (completes)
			define(roster, &(tg_definition){
							   .kind = TG_DEFINITION_COMPLETE, .storage = source->incarnation, .index = index->id});
	}
	for (unsigned i = 0; i < IDLE; i++)
		define_storage(roster, idle_id[i], 10 + i, &kind, 1, true);
	return roster;
}

/* --- reading a base --------------------------------------------------------------------------- */

static inline size_t
shape_of(void *context, uint64_t storage, unsigned columns, const uint64_t *ids, unsigned id_count, uint8_t *cells,
		 unsigned *cell_counts)
{
	if (read_roster == NULL)
		return find_shape(context, storage, columns, ids, id_count, cells, cell_counts);
	return tg_roster_shape(read_roster, storage, columns, ids, id_count, cells, cell_counts, TG_CELLS_MAX);
}

static inline tg_table *
table_of(void *context, uint64_t storage)
{
	for (unsigned i = 0; i < IDLE; i++)
		if (storage == idle_id[i])
			return idle_target[i];
	return find_table(context, storage);
}

static const tg_replay_calls base_calls = {.shape = shape_of, .table = table_of, .misfit = count_misfit};

static inline void
make_targets(void)
{
	make_target(clients[0].session);
	for (unsigned i = 0; i < IDLE; i++)
		idle_target[i] = make_idle(clients[0].session);
}

static inline void
drop_targets(void)
{
	drop_table(clients[0].session, target);
	for (unsigned i = 0; i < IDLE; i++)
		drop_table(clients[0].session, idle_target[i]);
}

static inline void
apply_ranks(const void *data, size_t count)
{
	tg_reader reader = tg_reader_make(data, count);
	tg_definition rank;

	while (tg_definitions_next(&reader, &rank))
		if (rank.kind != TG_DEFINITION_RANK || table_of(NULL, rank.storage) == NULL ||
			tg_dictionary_restore(clients[0].session, table_of(NULL, rank.storage), rank.ranking, rank.value,
								  rank.value_bytes, rank.rank, rank.rank_bytes) != TG_OK)
			unit_bail("a rank was not restored");
	if (reader.damaged)
		unit_bail("ranks are damaged");
}

/* Where the rows of a file come to. */
static inline tg_sections *
sections_of(const tg_base_file *file)
{
	tg_sections_target to = {.table = table_of(NULL, file->storage),
							 .storage = file->storage,
							 .first = file->part * tg_base_part_rows,
							 .end = (file->part + 1) * tg_base_part_rows,
							 .shape = shape_of};
	tg_sections *sections;

	if (to.table == NULL || tg_sections_begin(&to, &sections) != TG_OK)
		unit_bail("no sections");
	return sections;
}

/* Applies a file; other results than TG_OK as the stream has them. */
static inline tg_status
apply_file(const tg_base_reader *reader, size_t place)
{
	const tg_base_file *file = tg_base_file_get(reader, place);
	tg_sections *sections = file->kind == TG_BASE_ROWS ? sections_of(file) : NULL;
	tg_base_stream *stream = NULL;
	const void *data;
	size_t count;
	tg_status status = tg_base_stream_open(reader, place, &stream, &error);

	while (status == TG_OK && (status = tg_base_stream_next(stream, &data, &count, &error)) == TG_OK)
		if (sections == NULL)
			apply_ranks(data, count);
		else if (tg_sections_read(sections, clients[0].session, data, count) != TG_OK)
			unit_bail("a block was not applied");
	if (stream != NULL)
		tg_base_stream_close(stream);
	if (sections != NULL)
		tg_sections_end(sections);
	return status == TG_NOT_FOUND ? TG_OK : status;
}

/* Reads a base into the targets, if it can be read. */
static inline tg_status
apply_base(uint64_t number, tg_base_facts *facts_out)
{
	tg_base_reader *reader;
	const tg_base_facts *facts;
	tg_status status = tg_base_open(DIRECTORY, SYSTEM, number, &reader, &error);

	if (status != TG_OK)
		return status;
	facts = tg_base_facts_get(reader);
	*facts_out = *facts;
	if (tg_roster_create(&read_roster) != TG_OK ||
		tg_roster_apply(read_roster, facts->roster, facts->roster_bytes) != TG_OK)
		unit_bail("no roster");
	for (size_t i = 0; i < facts->file_count && status == TG_OK; i++)
		status = apply_file(reader, i);
	tg_roster_free(read_roster);
	read_roster = NULL;
	tg_base_close(reader);
	return status;
}

/* Whether all that a base has can be read, and applied. */
static inline bool
read_whole(uint64_t number)
{
	tg_base_facts facts;
	bool result;

	make_targets();
	result = apply_base(number, &facts) == TG_OK;
	drop_targets();
	return result;
}

/*
 * Reads a base, and replays the records from P on, and one more, whose transaction was undecided at
 * P.  No transaction is open.
 */
static inline void
check_base(const char *name, uint64_t number, unsigned undecided)
{
	tg_base_facts facts = {0};
	unsigned faults = 0;

	make_targets();
	misfits = 0;
	if (!unit_ok(apply_base(number, &facts) == TG_OK, "%s: the base is read", name))
	{
		fprintf(stderr, "# %s: %s, %" PRIu64 ", errno %d\n", error.path, error.what, error.offset, error.error);
		drop_targets();
		return;
	}
	for (unsigned i = 0; i < record_count; i++)
		if ((position_of(i) >= facts.begin || i == undecided) && records[i].count > 0)
			faults +=
				tg_replay_record(replay, records[i].data, records[i].count, position_of(i + 1) > facts.end) != TG_OK;
	unit_ok(faults == 0 && misfits == 0, "%s: the records fit", name);
	check_same(name);
	for (unsigned i = 0; i < IDLE; i++)
		faults += idle[i] != NULL ? idle_faults(i) : 0;
	unit_equal(faults, 0, "%s: so are the tables that seldom change", name);
	drop_targets();
}

/* --- writing a base --------------------------------------------------------------------------- */

static inline int
remove_nothing(const char *path)
{
	(void) path;
	return EIO;
}

/* The process is gone: nothing that it does reaches the files. */
static inline void
end_as_killed(tg_base *base)
{
	tg_file_calls dead = memory_calls;

	dead.remove = remove_nothing;
	tg_files = &dead;
	tg_base_end(base, clients[0].session);
	tg_files = &memory_calls;
}

static inline tg_base *
begin_base(uint64_t number, uint64_t former, uint64_t least, const tg_roster *roster)
{
	const tg_base_config config = {.directory = DIRECTORY,
								   .system = SYSTEM,
								   .number = number,
								   .former = former,
								   .begin = position_now(),
								   .least = least,
								   .roster = roster};
	tg_base *base;

	if (tg_base_begin(&config, &base, &error) != TG_OK)
		unit_bail("no base");
	return base;
}

/* Goes on to the end of all steps; then finishes, or not. */
static inline tg_status
complete(tg_base *base, bool finishes)
{
	tg_status status;

	do
		status = tg_base_step(base, clients[0].session, &error);
	while (status == TG_AGAIN || status == TG_BUSY);
	if (status == TG_OK && finishes)
		status = tg_base_finish(base, position_now(), &error);
	return status;
}

/* A base of what there is, while nothing changes. */
static inline uint64_t
write_base(uint64_t former, uint64_t least)
{
	tg_roster *roster = make_roster(column_count, defined_indexes);
	tg_base *base = begin_base(finished + 1, former, least, roster);

	tg_roster_free(roster);
	if (complete(base, true) != TG_OK)
		unit_bail("a base was not written");
	tg_base_end(base, clients[0].session);
	return ++finished;
}

/* The newest base that a part of a storage was written for, in a base; 0: there are none. */
static inline uint64_t
files_of(uint64_t number, uint64_t storage)
{
	tg_base_reader *reader;
	uint64_t result = 0;

	if (tg_base_open(DIRECTORY, SYSTEM, number, &reader, &error) != TG_OK)
		unit_bail("no base");
	for (size_t i = 0; i < tg_base_facts_get(reader)->file_count; i++)
	{
		const tg_base_file *file = tg_base_file_get(reader, i);

		if (file->storage == storage && (result == 0 || result < file->number))
			result = file->number;
	}
	tg_base_close(reader);
	return result;
}

/* --- the runtime -------------------------------------------------------------------------- */

static inline void
start_bases(void)
{
	tg_files = &memory_calls;
	tg_base_part_rows = 160;
	tg_base_block_bytes = 300;
	tg_base_step_rows = 20;
	start_writers();
	if (tg_replay_begin(clients[0].session, &base_calls, &replay) != TG_OK)
		unit_bail("no memory");
	for (unsigned i = 0; i < IDLE; i++)
	{
		idle[i] = make_idle(clients[0].session);
		idle_id[i] = idle[i]->incarnation;
		write_idle(i, IDLE_ROWS);
	}
}

static inline int
end_bases(void)
{
	tg_replay_end(replay);
	for (unsigned i = 0; i < IDLE; i++)
		if (idle[i] != NULL)
			drop_table(clients[0].session, idle[i]);
	forget_all();
	return end_writers();
}

#endif /* TG_BASE_UNIT_H */
