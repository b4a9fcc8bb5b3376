/*
 * follow.c
 *	  Tables that follow a journal end up as a load of all of it, and readers' snapshots stay as
 *	  they were.
 *
 * The model of load.c makes a history.  Its journal is loaded up to some frame, and the rest is
 * followed, a few frames at a time.  In between readers publish snapshots, and remember what they
 * see: they must see the same until they withdraw, which they do when the follower waits for them.
 * In the end the tables must be those of the model.
 *
 * Beside that, bases are written, in steps between those of the follower.  Sometimes it begins
 * anew, from the last base.  In the end a load of the last base, and of the journal from there on,
 * must give the tables of the model, too, with the ranks that the follower does not have.
 *
 * A follower that does not wait for readers calls a change damage that is none.
 *
 * Now and then the follower forgets what has ended; and behind a start of the primary it knows of
 * nothing else than there is.
 *
 *	FUZZ=n		so many journals with damaged records (200)
 */
#include "test/unit/load_unit.h"

#include "runtime/base/failpoint.h"
#include "runtime/durable/follow.h"
#include "runtime/durable/follow_internal.h"
#include "runtime/txn/read.h"
#include "runtime/txn/snapshot.h"

#define READERS 4

typedef struct reader
{
	bool is_open;
	unsigned entry;
	tg_time time;
	uint64_t storage[RELATIONS]; /* 0: not seen */
	uint64_t sum[RELATIONS];
} reader;

static reader readers[READERS];
static tg_session *reader_session;
static unsigned waits;	/* of the follower */
static unsigned checks; /* of tables that a reader has seen */
static unsigned faults;
static unsigned damaged_count; /* tables that damaged records have damaged */

static tg_base *base;		 /* that is being written; NULL: none is */
static uint64_t base_number; /* of the last one that was finished; 0: there is none */
static unsigned bases;
static unsigned loads;		  /* of tables to follow, from a base */
static unsigned knows;		  /* of something that there is no more */
static unsigned left;		  /* storages of transactions that have been aborted */
static unsigned open_creates; /* storages of transactions that are undecided */

/* --- readers ------------------------------------------------------------------------------ */

static uint64_t
mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x9E3779B97F4A7C15);
	return sum ^ sum >> 29;
}

static uint64_t
sum_of_version(tg_version version)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	uint64_t sum = tg_version_row(version);

	for (unsigned column = 0; column < chunk->layout->column_count; column++)
	{
		tg_value value = {0};

		if (!tg_version_value(version, column, &value))
			continue; /* a column that came later is NULL */
		sum = mix(sum, column);
		if (chunk->layout->kinds[column] != TG_KIND_STRING)
			sum = mix(sum, value.word);
		else if (!tg_string_is_out(&value.string))
			sum = mix(sum, tg_string_inline_bytes(&value.string));
		else
			for (size_t i = 0; i < tg_string_blob_bytes(&value.string); i++)
				sum = mix(sum, ((const unsigned char *) value.string.blob)[i]);
	}
	return sum;
}

/* What a snapshot sees of a table. */
static uint64_t
sum_of_table(tg_table *table, tg_time time)
{
	const tg_snapshot snapshot = {.time = time, .reader = reader_session->id};
	uint64_t sum = 0;

	tg_epoch_enter(reader_session);
	for (uint32_t row = 0; row < table->row_next; row++)
	{
		tg_version version;
		tg_wait wait;

		if (tg_txn_read(&snapshot, table, row, &version, &wait) == TG_OK)
			sum += sum_of_version(version);
	}
	tg_epoch_leave(reader_session);
	return sum;
}

static void
open_reader(reader *reader)
{
	*reader = (struct reader){.is_open = true};
	reader->time = tg_snapshot_publish(reader_session, &reader->entry);
	for (unsigned i = 0; i < RELATIONS; i++)
	{
		tg_table *table = tg_catalog_find(database_of(i), 10 + i);

		if (table == NULL || table->stored > reader->time)
			continue;
		reader->storage[i] = table->incarnation;
		reader->sum[i] = sum_of_table(table, reader->time);
	}
}

static void
check_reader(const reader *reader)
{
	for (unsigned i = 0; i < RELATIONS; i++)
	{
		tg_table *table = tg_catalog_find(database_of(i), 10 + i);

		if (table == NULL || table->incarnation != reader->storage[i])
			continue;
		checks++;
		faults += sum_of_table(table, reader->time) != reader->sum[i];
	}
}

static void
close_reader(reader *reader)
{
	if (!reader->is_open)
		return;
	check_reader(reader);
	tg_snapshot_withdraw(reader_session, reader->entry);
	reader->is_open = false;
}

static void
let_readers_move(void)
{
	reader *reader = &readers[below(READERS)];

	if (!reader->is_open)
		open_reader(reader);
	else if (below(4) == 0)
		close_reader(reader);
	else
		check_reader(reader);
}

/* --- the follower's callbacks -------------------------------------------------------------- */

static void
collect(void)
{
	for (unsigned i = 0; i < 10; i++)
	{
		while (tg_collector_run(session, 1000))
			;
		tg_epoch_advance();
		tg_retire_poll(session);
	}
}

/* Who waits long enough gets rid of all readers. */
static tg_status
await(void *context)
{
	static unsigned rounds;

	(void) context;
	waits++;
	close_reader(&readers[rounds++ % READERS]);
	collect();
	return waits > 1000000 ? TG_CANCELLED : TG_OK;
}

static void
prepare(void *context, tg_txn *txn, uint32_t xid)
{
	(void) context;
	(void) xid;
	(void) tg_txn_prepare(session, txn, 0);
}

static void
commit(void *context, uint64_t position)
{
	(void) context;
	(void) position;
}

static void
damaged(void *context, const tg_load_damage *damage)
{
	(void) context;
	fprintf(stderr, "# relation %u, position %" PRIu64 ": %s\n", damage->relation, damage->position, damage->what);
	faults++;
}

static void
note_damaged(void *context, const tg_load_damage *damage)
{
	(void) context;
	(void) damage;
	damaged_count++;
}

/* --- bases ------------------------------------------------------------------------------------ */

static void
begin_base(const tg_follow *follow)
{
	const tg_undecided *undecided = tg_follow_undecided(follow);
	const tg_base_config config = {.directory = "bases",
								   .system = SYSTEM,
								   .number = base_number + 1,
								   .former = base_number,
								   .begin = tg_follow_position(follow),
								   .least = tg_undecided_least(undecided),
								   .roster = undecided->roster,
								   .journal = "journal"};
	tg_file_error error;

	if (tg_base_begin(&config, &base, &error) != TG_OK)
		unit_bail("no base");
}

static void
end_base(void)
{
	if (base != NULL)
		tg_base_end(base, session);
	base = NULL;
}

/* Between two steps of the follower. */
static void
write_base_beside(const tg_follow *follow)
{
	tg_file_error error;
	tg_status status;

	if (base == NULL)
	{
		if (tg_follow_is_between_frames(follow) && below(3) == 0)
			begin_base(follow);
		return;
	}
	status = tg_base_step(base, session, &error);
	if (status == TG_OK && tg_follow_is_between_frames(follow))
	{
		if (tg_base_finish(base, tg_follow_position(follow), &error) != TG_OK)
			unit_bail("a base was not finished");
		base_number++;
		bases++;
		end_base();
	}
	else if (status == TG_DAMAGED || status == TG_IO)
		unit_bail(error.what);
	else if (status != TG_OK && status != TG_AGAIN && status != TG_BUSY)
		end_base();
}

/* --- following ------------------------------------------------------------------------------- */

/* At any time: storages that are not placed, and whose transaction is not undecided. */
static unsigned
count_left(const tg_follow *follow)
{
	const tg_undecided *undecided = tg_follow_undecided(follow);
	unsigned count = 0;
	size_t open = 0;

	for (const tg_roster_storage *storage = tg_roster_first(follow->roster); storage != NULL; storage = storage->next)
	{
		bool is_open = false;

		if (storage->state != TG_STORAGE_CREATED)
			continue;
		for (size_t i = 0; i < undecided->count; i++)
			is_open |= undecided->txns[i].first == storage->creator;
		count += !is_open;
		open += is_open;
	}
	open_creates += (unsigned) open;
	return count + (follow->created.count != open);
}

static void
follow_until(tg_follow *follow, uint64_t end)
{
	while (tg_follow_position(follow) < end)
	{
		tg_status status = tg_follow_step(follow, end, 1 + below(8));

		if (status == TG_NO_MEMORY || status == TG_OVER_QUOTA)
			tg_arena_limit_set(LIMIT_BYTES);
		else if (status != TG_OK)
		{
			const tg_file_error *error;
			const char *problem = tg_follow_problem(follow, &error);

			unit_bail(problem != NULL ? problem : "a step has failed");
		}
		if (tg_follow_is_between_frames(follow))
			left += count_left(follow);
		let_readers_move();
		write_base_beside(follow);
		if (below(10) == 0)
			tg_follow_forget(follow);
		if (below(5) == 0)
			collect();
		if (below(20) == 0)
			tg_arena_limit_set(1);
	}
	tg_arena_limit_set(LIMIT_BYTES);
}

/* As the report of a load. */
static unsigned
compare(const tg_undecided *undecided)
{
	uint32_t xids[FRAMES_MAX];
	tg_load_report report = {.in_doubt = xids, .roster = undecided->roster};

	for (size_t i = 0; i < undecided->count; i++)
		if (undecided->txns[i].with != 0)
			xids[report.in_doubt_count++] = undecided->txns[i].xid;
	return count_faults(&report);
}

/* Behind a start of the primary: definitions that have ended, or were never placed. */
static unsigned
count_ended(const tg_follow *follow)
{
	size_t count = follow->created.count;

	for (const tg_roster_storage *storage = tg_roster_first(follow->roster); storage != NULL; storage = storage->next)
	{
		count += storage->state != TG_STORAGE_PLACED;
		for (const tg_roster_index *index = storage->indexes; index != NULL; index = index->next)
			count += index->ended || !index->complete;
	}
	return (unsigned) count;
}

static void
close_readers(void)
{
	for (unsigned i = 0; i < READERS; i++)
		close_reader(&readers[i]);
	collect();
}

static tg_follow *
begin_following(tg_load_config *config, const tg_follow_config *follow_config, uint64_t until)
{
	tg_load_report report;
	tg_follow *follow;

	config->until = until;
	config->base = base_number;
	loads += base_number > 0;
	if (tg_load(session, config, &report) != TG_OK ||
		tg_follow_begin(session, follow_config, &report, &follow) != TG_OK)
		unit_bail("no load");
	tg_load_report_free(&report);
	return follow;
}

/* Follows to the end, and begins anew now and then. */
static tg_follow *
follow_all(tg_load_config *config, const tg_follow_config *follow_config)
{
	uint64_t end = position_behind(frame_count);
	tg_follow *follow = begin_following(config, follow_config, position_behind(below(frame_count + 1)));

	while (tg_follow_position(follow) < end)
	{
		uint64_t position;

		follow_until(follow, below(2) == 0 ? end : position_behind(below(frame_count + 1)));
		position = tg_follow_position(follow);
		if (position == end)
			break;
		close_readers();
		end_base();
		tg_follow_end(follow);
		(void) drop_tables();
		follow = begin_following(config, follow_config, position);
	}
	close_readers();
	end_base();
	return follow;
}

static void
load_last_base(void)
{
	tg_load_report report;

	(void) drop_tables();
	if (base_number > 0)
		faults += load_from("journal", base_number, false, &report) != TG_OK || report.damage_count > 0 ||
				  count_faults(&report) > 0 || !ids_are_new();
	if (base_number > 0)
		tg_load_report_free(&report);
	(void) drop_tables();
}

static void
run_history(unsigned steps, bool starts)
{
	tg_load_config config = {.journal = "journal", .bases = "bases", .system = SYSTEM, .follows = true, .go_on = go_on};
	const tg_follow_config follow_config = {
		.load = &config, .await = await, .prepare = prepare, .commit = commit, .damaged = damaged};
	tg_load_report report;
	tg_follow *follow;
	const tg_load_with *withs;
	size_t with_count;

	make_history(steps);
	if (starts)
		start_anew();
	base_number = 0;
	write_journal();
	follow = follow_all(&config, &follow_config);
	knows += starts ? count_ended(follow) : 0;
	tg_follow_finish(follow);
	config.follows = false;
	config.base = base_number;
	withs = tg_follow_withs(follow, &with_count);
	faults += tg_load_end_following(session, &config, tg_follow_undecided(follow), withs, with_count, &report) != TG_OK;
	tg_load_report_free(&report);
	faults += compare(tg_follow_undecided(follow)) + !ids_are_new();
	tg_follow_end(follow);
	load_last_base();
}

static void
test_histories(void)
{
	for (unsigned i = 0; i < 60 && faults == 0; i++)
		run_history(20 + below(1500), i % 2 == 0);
	unit_ok(faults == 0 && checks > 0 && waits > 0, "60 histories: %u looks at tables by readers, %u waits for them",
			checks, waits);
	unit_equal(knows, 0, "what has ended is forgotten");
	unit_ok(left == 0 && open_creates > 0, "nothing that aborted transactions have created is left");
	unit_ok(bases > 0 && loads > 0, "%u bases beside that, %u loads of them to go on from", bases, loads);
}

/* Tables that were found damaged are in no catalog. */
static void
drop_lost(const tg_follow *follow)
{
	for (size_t i = 0; i < follow->lost.count; i++)
	{
		tg_table *table = tg_storage_find(follow->lost.id[i]);

		if (table == NULL)
			continue;
		tg_leases_forget(table);
		tg_table_release(session, table);
		tg_table_release(session, table);
	}
}

static tg_status
follow_damaged(const tg_load_config *config, const tg_follow_config *follow_config)
{
	uint64_t end = position_behind(frame_count);
	tg_load_report report;
	tg_follow *follow;
	tg_status status = tg_load(session, config, &report);

	if (status != TG_OK)
	{
		tg_load_report_free(&report);
		return status;
	}
	status = tg_follow_begin(session, follow_config, &report, &follow);
	tg_load_report_free(&report);
	while (status == TG_OK && tg_follow_position(follow) < end)
	{
		status = tg_follow_step(follow, end, 1 + below(8));
		let_readers_move();
		if (below(10) == 0)
			tg_follow_forget(follow);
	}
	close_readers();
	if (status == TG_OK)
		tg_follow_finish(follow);
	drop_lost(follow);
	tg_follow_end(follow);
	return status;
}

/* A transaction makes a table, and its rows do not fit: the next one makes another. */
static void
test_new_tables(void)
{
	const tg_load_config config = {
		.journal = "journal", .bases = "bases", .system = SYSTEM, .follows = true, .go_on = go_on};
	const tg_follow_config follow_config = {
		.load = &config, .await = await, .prepare = prepare, .commit = commit, .damaged = note_damaged};

	make_history(0);
	for (unsigned i = 0; i < 2; i++)
	{
		client *client = &clients[i];

		while (!begin(client))
			;
		put_insert(&client->storage, &client->rows, 3, NULL, 0);
		put_insert(&client->storage, &client->rows, 3, NULL, 0);
		add_record(TG_RECORD_COMMIT, 0, 0, &client->early, &client->late, &client->rows);
	}
	write_journal();
	unit_ok(follow_damaged(&config, &follow_config) == TG_OK && damaged_count == 2,
			"new tables whose rows do not fit are damaged, and no others");
	damaged_count = 0;
	(void) drop_tables();
}

/* A table without a key, with a row whose first column is NULL; returns its storage. */
static const model_storage *
log_table_with_null(client *client)
{
	model_storage *storage = &client->storage;

	while (!begin(client) || storage->key_column != COLUMNS)
		if (client->is_open)
			finish(client, false);
	storage->rows[3].there = true;
	storage->rows[3].values[0].null = true;
	put_insert(storage, &client->rows, 3, NULL, 0);
	add_record(TG_RECORD_COMMIT, 0, 0, &client->early, &client->late, &client->rows);
	return storage;
}

/* An index of a table, whose key is the first column or a hidden value, and must not be NULL. */
static void
log_index(const model_storage *storage, unsigned column, tg_bytes *complete)
{
	tg_definition definition = {.kind = TG_DEFINITION_INDEX, .storage = storage->id, .index = ++id_last};

	definition.spec = (tg_index_spec){.host = 100, .key = {.part_count = 1}};
	definition.spec.key.part[0] = (tg_key_part){.column = (uint16_t) column, .code = TG_KEY_SIGNED};
	definition.spec.hidden_count = column == TG_KEY_HIDDEN;
	definition.spec.hidden_kinds[0] = TG_KIND_4;
	log_now(definition);
	definition.kind = TG_DEFINITION_COMPLETE;
	put_definition(complete, definition);
}

/* An index is made of rows that are there, or gets hidden values, and these do not make keys. */
static void
test_unsound_rows(void)
{
	const tg_load_config config = {
		.journal = "journal", .bases = "bases", .system = SYSTEM, .follows = true, .go_on = go_on};
	const tg_follow_config follow_config = {
		.load = &config, .await = await, .prepare = prepare, .commit = commit, .damaged = note_damaged};
	const unsigned columns[] = {0, TG_KEY_HIDDEN};

	for (unsigned i = 0; i < 2; i++)
	{
		const model_value null = {.null = true};
		const uint8_t kind = TG_KIND_4;
		const model_storage *storage;
		tg_bytes complete = {0};
		tg_bytes rows = {0};

		make_history(0);
		storage = log_table_with_null(&clients[0]);
		log_index(storage, columns[i], &complete);
		if (columns[i] == TG_KEY_HIDDEN)
		{
			model_storage indexed = *storage;
			const unsigned chosen = 0;

			indexed.indexes[0].id = id_last;
			put_table(&indexed, &rows, 0, &chosen, 1);
			put_cells(&rows, 3, &null, &kind, 1, true);
		}
		add_record(TG_RECORD_COMMIT, 0, 0, NULL, &complete, &rows);
		write_journal();
		unit_ok(follow_damaged(&config, &follow_config) == TG_OK && damaged_count == 1,
				"a table is damaged if an index cannot be made of its %s", i == 0 ? "rows" : "hidden values");
		damaged_count = 0;
		(void) drop_tables();
		tg_bytes_free(&complete);
		tg_bytes_free(&rows);
	}
}

/* Nothing is forgotten on the way. */
static void
step_until(tg_follow *follow, uint64_t end)
{
	while (tg_follow_position(follow) < end)
		if (tg_follow_step(follow, end, 1) != TG_OK)
			unit_bail("a step has failed");
}

/* A dropped table is there still, because somebody has it, and a record names it. */
static void
test_dropped_table(void)
{
	tg_load_config config = {.journal = "journal", .bases = "bases", .system = SYSTEM, .follows = true, .go_on = go_on};
	const tg_follow_config follow_config = {
		.load = &config, .await = await, .prepare = prepare, .commit = commit, .damaged = note_damaged};
	const model_storage *storage;
	tg_bytes drop = {0};
	tg_follow *follow;
	tg_table *table;

	make_history(0);
	base_number = 0;
	storage = log_table_with_null(&clients[0]);
	put_definition(&drop, (tg_definition){.kind = TG_DEFINITION_DROP,
										  .database = database_of(clients[0].relation),
										  .relation = 10 + clients[0].relation});
	add_record(TG_RECORD_COMMIT, 0, 0, NULL, &drop, NULL);
	clients[0].rows.count = 0;
	clients[0].storage.rows[4] = clients[0].storage.rows[3];
	put_insert(storage, &clients[0].rows, 4, NULL, 0);
	add_record(TG_RECORD_COMMIT, 0, 0, NULL, NULL, &clients[0].rows);
	write_journal();
	follow = begin_following(&config, &follow_config, 0);
	step_until(follow, position_behind(1));
	table = tg_storage_find(storage->id);
	step_until(follow, position_behind(3));
	unit_ok(table != NULL && table->row_count == 1 && damaged_count == 0, "nobody writes to a table that was dropped");
	tg_leases_forget(table);
	tg_table_release(session, table);
	close_readers();
	end_base();
	tg_follow_end(follow);
	tg_bytes_free(&drop);
}

/* Any records, with the right checksums: an answer, and nothing else happens. */
static void
test_any_records(void)
{
	const char *text = getenv("FUZZ");
	unsigned times = text != NULL ? (unsigned) strtoul(text, NULL, 10) : 200;
	tg_load_config config = {.journal = "journal", .bases = "bases", .system = SYSTEM, .follows = true, .go_on = go_on};
	const tg_follow_config follow_config = {
		.load = &config, .await = await, .prepare = prepare, .commit = commit, .damaged = note_damaged};
	unsigned answers[3] = {0};

	for (unsigned i = 0; i < times; i++)
	{
		tg_status status;

		make_history(100 + below(600));
		for (unsigned j = 1 + below(4); j > 0 && frame_count > 0; j--)
			damage_record(&frames[below(frame_count)].record);
		write_journal();
		config.until = position_behind(below(frame_count + 1));
		waits = 0;
		status = follow_damaged(&config, &follow_config);
		answers[status == TG_OK ? 0 : status == TG_DAMAGED ? 1 : 2]++;
		(void) drop_tables();
	}
	unit_ok(answers[0] > 0 && answers[1] > 0 && answers[2] == 0,
			"of damaged journals %u were followed, with %u damaged tables, %u were damage", answers[0], damaged_count,
			answers[1]);
}

static bool
does_not_wait(const char *name)
{
	return strcmp(name, "follower_no_wait") == 0;
}

static void
test_without_waits(void)
{
	tg_load_config config = {.journal = "journal", .bases = "bases", .system = SYSTEM, .follows = true, .go_on = go_on};
	const tg_follow_config follow_config = {
		.load = &config, .await = await, .prepare = prepare, .commit = commit, .damaged = damaged};

	tg_failpoint_set(does_not_wait);
	for (unsigned i = 0; i < 60 && faults == 0; i++)
	{
		tg_follow *follow;

		make_history(1000);
		base_number = 0;
		write_journal();
		follow = begin_following(&config, &follow_config, position_behind(frame_count / 2));
		follow_until(follow, position_behind(frame_count));
		close_readers();
		end_base();
		tg_follow_end(follow);
		(void) drop_tables();
	}
	tg_failpoint_set(NULL);
	unit_ok(faults > 0, "without the wait for readers, what follows does not fit");
}

int
main(void)
{
	size_t used;

	start_load_unit();
	if (tg_session_open(&reader_session) != TG_OK)
		unit_bail("no session");
	used = used_bytes();
	test_histories();
	test_new_tables();
	test_unsound_rows();
	test_dropped_table();
	test_any_records();
	unit_equal(used_bytes(), used, "nothing is left of the tables");
	test_without_waits(); /* leaves a table that is damaged */
	return unit_done();
}
