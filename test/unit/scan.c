/*
 * scan.c
 *	  Scans return exactly the rows that their snapshot sees: over chunks, along the index in both
 *	  directions, by tasks of the pool; at rest against an oracle, and while writers insert, update,
 *	  delete, change keys and roll back.
 *
 * The table holds accounts.  Writers only move money, so every snapshot sees the same total; a row
 * that a scan saw twice, half or not at all changes it.  All kinds of scan must moreover see the
 * same rows in one snapshot.  At the end every byte that the test took is back.
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/table/lease.h"
#include "runtime/exec/range_scan.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"
#include "test/unit/waiter.h"

#define WORKERS 3
#define COLUMNS 5
#define ID_MAX 6000	  /* ids are below */
#define ACCOUNTS 4000 /* to begin with: the lower ids */
#define BALANCE 1000
#define TOTAL ((uint64_t) ACCOUNTS * BALANCE)
#define BLOB_HEADER 4

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 5
#elif defined(__SANITIZE_ADDRESS__)
#define ROUNDS 15
#else
#define ROUNDS 60
#endif
#define PATIENCE 100

static tg_session *session; /* of the main thread */
static tg_table *table;

/* --- rows ------------------------------------------------------------------------------ */

/* id, balance, and three columns that follow from the id. */
static const uint8_t kinds[COLUMNS] = {TG_KIND_8, TG_KIND_8, TG_KIND_4, TG_KIND_STRING, TG_KIND_2};
static const uint16_t columns[COLUMNS] = {0, 1, 2, 3, 4};
static const tg_key_spec key_spec = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

static uint64_t
hash(uint64_t number)
{
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

/* The string of an id: of any length up to 40, a blob with the host's header if it is long. */
static unsigned
text_of(uint64_t id, char *text)
{
	unsigned bytes = (unsigned) (hash(id) % 41);

	for (unsigned i = 0; i < bytes; i++)
		text[i] = (char) ('a' + (id + i) % 26);
	return bytes;
}

/* datum: room for a long string, as long as values are used. */
static void
make_values(uint64_t id, uint64_t balance, tg_value *values, bool *nulls, char *datum)
{
	unsigned bytes = text_of(id, datum + BLOB_HEADER);

	memset(values, 0, COLUMNS * sizeof(*values));
	memset(nulls, 0, COLUMNS * sizeof(*nulls));
	memset(datum, 0, BLOB_HEADER);
	values[0].word = id;
	values[1].word = balance;
	values[2].word = (uint64_t) (int64_t) (int32_t) hash(id * 3);
	if (bytes <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&values[3].string, datum + BLOB_HEADER, bytes);
	else
		tg_string_make_host(&values[3].string, datum, bytes + BLOB_HEADER, BLOB_HEADER);
	nulls[4] = id % 3 == 0;
	values[4].word = (uint64_t) (int64_t) (int16_t) hash(id * 7);
}

static bool
text_is_right(uint64_t id, const tg_string *string)
{
	char text[64];
	unsigned bytes = text_of(id, text);

	if (!tg_string_is_out(string))
		return tg_string_inline_bytes(string) == bytes && memcmp(string->bytes, text, bytes) == 0;
	return tg_string_blob_bytes(string) == bytes + BLOB_HEADER &&
		   memcmp((const char *) string->blob + BLOB_HEADER, text, bytes) == 0;
}

static size_t
make_key(uint64_t id, unsigned char *key)
{
	tg_value values[COLUMNS] = {{.word = id}};

	return tg_key_append(key, 0, &key_spec.part[0], (tg_kind) kinds[0], &values[0]);
}

/* --- what a scan saw ------------------------------------------------------------------- */

typedef struct sight
{
	uint64_t count;
	uint64_t total;
	uint64_t mark;	  /* of the rows and their balances, in any order */
	uint64_t last_id; /* ascending or descending: of the range scans */
	bool right;		  /* every row whole, every id once, in order */
	uint8_t seen[ID_MAX];
} sight;

typedef enum sight_order
{
	ANY_ORDER,
	ASCENDING,
	DESCENDING
} sight_order;

static sight *
make_sight(void)
{
	sight *made = calloc(1, sizeof(sight));

	made->right = true;
	return made;
}

static void
look(sight *seen, const tg_vectors *vectors, sight_order order)
{
	for (unsigned i = 0; i < vectors->count; i++)
	{
		uint64_t id = ((uint64_t *) vectors->data[0])[i];
		uint64_t balance = ((uint64_t *) vectors->data[1])[i];
		bool null = vectors->nulls[4][i];

		seen->right = seen->right && id < ID_MAX && !seen->seen[id] && !vectors->nulls[0][i] && !vectors->nulls[1][i] &&
					  ((uint64_t *) vectors->data[2])[i] == (uint64_t) (int64_t) (int32_t) hash(id * 3) &&
					  text_is_right(id, &((tg_value *) vectors->data[3])[i].string) && null == (id % 3 == 0) &&
					  (null || ((uint64_t *) vectors->data[4])[i] == (uint64_t) (int64_t) (int16_t) hash(id * 7));
		if (id < ID_MAX)
			seen->seen[id] = 1;
		if (seen->count > 0 && order != ANY_ORDER)
			seen->right = seen->right && (order == ASCENDING ? id > seen->last_id : id < seen->last_id);
		seen->last_id = id;
		seen->count++;
		seen->total += balance;
		seen->mark += hash(id * 1000003 + balance);
	}
}

static tg_vectors *
make_vectors(unsigned capacity)
{
	void *memory = aligned_alloc(64, (tg_vectors_bytes(kinds, COLUMNS, capacity) + 63) & ~(size_t) 63);

	return tg_vectors_init(memory, columns, kinds, COLUMNS, capacity);
}

static sight *
scan_chunks(tg_session *own, const tg_snapshot *snapshot, unsigned capacity)
{
	tg_vectors *vectors = make_vectors(capacity);
	sight *seen = make_sight();
	tg_chunk_scan scan;

	tg_chunk_scan_init(&scan, table, snapshot, 0, UINT32_MAX);
	while (tg_chunk_scan_next(own, &scan, vectors) > 0)
		look(seen, vectors, ANY_ORDER);
	seen->right = seen->right && tg_chunk_scan_next(own, &scan, vectors) == 0;
	free(vectors);
	return seen;
}

/* [low, high) of ids. */
static sight *
scan_range(tg_session *own, const tg_snapshot *snapshot, uint64_t low, uint64_t high, bool backward, unsigned limit)
{
	tg_vectors *vectors = make_vectors(limit);
	sight *seen = make_sight();
	unsigned char low_key[TG_KEY_BYTES_MAX];
	unsigned char high_key[TG_KEY_BYTES_MAX];
	size_t low_bytes = make_key(low, low_key);
	size_t high_bytes = make_key(high, high_key);
	tg_range_scan scan;

	tg_range_scan_init(&scan, table, NULL, snapshot, low_key, low_bytes, true, high_key, high_bytes, false, backward);
	/* Guesses are right, wrong, or beyond all rows: it makes no difference. */
	if (limit % 2 == 1)
		tg_range_scan_guess(&scan, (uint32_t) (low * limit));
	while (tg_range_scan_next(own, &scan, vectors, limit) > 0)
	{
		look(seen, vectors, backward ? DESCENDING : ASCENDING);
		if (vectors->count < limit)
			break;
	}
	seen->right = seen->right && tg_range_scan_next(own, &scan, vectors, limit) == 0;
	free(vectors);
	return seen;
}

typedef struct job_options
{
	unsigned tasks;
	unsigned buffer_rows;
	unsigned stop_after; /* buffers; 0: to the end */
	unsigned pause_us;	 /* after each buffer */
} job_options;

static tg_status
start_job(const tg_snapshot *snapshot, const job_options *options, tg_scan_job **scan_out)
{
	const tg_scan_job_config config = {.table = table,
									   .snapshot = *snapshot,
									   .columns = columns,
									   .kinds = kinds,
									   .column_count = COLUMNS,
									   .tasks = options->tasks,
									   .buffer_rows = options->buffer_rows,
									   .waiter = &waiter,
									   .owner = 1,
									   .object = 2};

	return tg_scan_job_start(session, &config, scan_out);
}

/*
 * By tasks; this thread is the consumer.  The status goes to *status_out, TG_BUSY: a lost wake-up.
 */
static sight *
scan_by_job(const tg_snapshot *snapshot, const job_options *options, tg_status *status_out)
{
	sight *seen = make_sight();
	const tg_vectors *vectors;
	tg_scan_job *scan;
	unsigned taken = 0;

	*status_out = start_job(snapshot, options, &scan);
	if (*status_out != TG_OK)
		return seen;
	while (options->stop_after == 0 || taken < options->stop_after)
	{
		*status_out = tg_scan_job_next(session, scan, &vectors);
		if (*status_out == TG_BUSY && wait_for_wake())
			continue;
		if (*status_out != TG_OK)
			break;
		look(seen, vectors, ANY_ORDER);
		taken++;
		if (options->pause_us > 0)
			usleep(options->pause_us);
	}
	if (*status_out == TG_NOT_FOUND)
		seen->right = seen->right && tg_scan_job_next(session, scan, &vectors) == TG_NOT_FOUND;
	tg_scan_job_end(session, scan);
	return seen;
}

/* Same rows, each of them right. */
static bool
same_sight(const sight *one, const sight *other)
{
	return one->right && other->right && one->count == other->count && one->mark == other->mark &&
		   one->total == other->total;
}

/* --- writers ---------------------------------------------------------------------------- */

typedef struct test_writer
{
	tg_writer writer;
	tg_snapshot snapshot;
	unsigned entry;
	uint64_t random;
} test_writer;

static unsigned
draw(test_writer *self, unsigned below)
{
	return unit_below(&self->random, below);
}

/* A published snapshot first: the committer needs one until its log is with the collector. */
static void
begin_writing(test_writer *self, tg_session *own)
{
	self->snapshot = (tg_snapshot){.time = tg_snapshot_publish(own, &self->entry), .txn = own->id, .command = 1};
	self->writer = (tg_writer){.session = own, .txn = tg_txn_begin(own, own->id), .command = 1, .claim = TG_DATA};
}

static void
end_writing(test_writer *self, bool commit)
{
	tg_session *own = self->writer.session;

	if (commit)
		tg_txn_commit(own, self->writer.txn);
	else
		tg_txn_abort(own, self->writer.txn);
	tg_snapshot_withdraw(own, self->entry);
}

static tg_status
insert_row(test_writer *self, uint64_t id, uint64_t balance)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = make_key(id, key);
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	char datum[64];
	uint32_t row;
	tg_wait wait;

	make_values(id, balance, values, nulls, datum);
	return tg_txn_insert(&self->writer, table, key, key_bytes, values, nulls, &row, &wait);
}

typedef enum change
{
	CHANGE_ADD,	   /* amount to the balance; fails with TG_TOO_LARGE below 0 */
	CHANGE_DELETE, /* *amount gets the balance */
	CHANGE_ID	   /* amount is the new id */
} change;

/* TG_OK, or anything else: the transaction cannot go on. */
static tg_status
change_row(test_writer *self, uint64_t id, change what, int64_t *amount)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = make_key(id, key);
	tg_session *own = self->writer.session;
	tg_value values[COLUMNS];
	bool nulls[COLUMNS];
	char datum[64];
	tg_version version;
	tg_value balance;
	tg_wait wait;
	uint32_t row;
	tg_status status;

	tg_epoch_enter(own);
	status = tg_btree_find(table->index, key, key_bytes, &row);
	if (status == TG_OK)
		status = tg_txn_newest(&self->writer, &self->snapshot, table, &row, &version, &wait);
	if (status == TG_OK || status == TG_CHANGED)
	{
		tg_value found;

		tg_chunk_value(tg_version_chunk(version), 0, tg_version_slot(version), &found);
		id = found.word; /* its key may have changed */
		tg_chunk_value(tg_version_chunk(version), 1, tg_version_slot(version), &balance);
		switch (what)
		{
			case CHANGE_ADD:
				status = TG_TOO_LARGE;
				if ((int64_t) balance.word + *amount < 0)
					break;
				make_values(id, balance.word + (uint64_t) *amount, values, nulls, datum);
				status = tg_txn_update(&self->writer, table, row, version, values, nulls, &wait);
				break;
			case CHANGE_DELETE:
				*amount = (int64_t) balance.word;
				status = tg_txn_delete(&self->writer, table, row, version, &wait);
				break;
			case CHANGE_ID:
				make_values((uint64_t) *amount, balance.word, values, nulls, datum);
				key_bytes = make_key((uint64_t) *amount, key);
				status = tg_txn_move(&self->writer, table, row, version, key, key_bytes, values, nulls, &row, &wait);
				break;
		}
	}
	tg_epoch_leave(own);
	return status;
}

/* One transaction's worth of a few money movements; false if it has to be rolled back. */
static bool
move_money(test_writer *self)
{
	for (unsigned count = 1 + draw(self, 3); count > 0; count--)
	{
		uint64_t from = draw(self, ID_MAX);
		uint64_t to = draw(self, ID_MAX);
		int64_t amount = draw(self, 100);
		int64_t minus = -amount;

		self->writer.command++;
		self->snapshot.command = self->writer.command;
		switch (draw(self, 5))
		{
			case 0: /* closes an account, opens another */
				if (change_row(self, from, CHANGE_DELETE, &amount) != TG_OK ||
					insert_row(self, to, (uint64_t) amount) != TG_OK)
					return false;
				break;
			case 1: /* the account gets another number */
				amount = (int64_t) to;
				if (change_row(self, from, CHANGE_ID, &amount) != TG_OK)
					return false;
				break;
			case 2: /* opens an account with something of another's */
				if (change_row(self, from, CHANGE_ADD, &minus) != TG_OK ||
					insert_row(self, to, (uint64_t) amount) != TG_OK)
					return false;
				break;
			default:
				if (from == to || change_row(self, from, CHANGE_ADD, &minus) != TG_OK ||
					(self->writer.command++, change_row(self, to, CHANGE_ADD, &amount)) != TG_OK)
					return false;
				break;
		}
	}
	return draw(self, 8) != 0;
}

static bool writers_stop; /* atomic */
static uint64_t commits;  /* atomic */

static void *
write_on(void *argument)
{
	test_writer self = {.random = (uint64_t) (uintptr_t) argument};
	tg_session *own;

	tg_check(tg_session_open(&own) == TG_OK);
	while (!tg_load_acquire(&writers_stop))
	{
		bool commit;

		/*
		 * A machine that starves the collector must not fill the memory; this test is about scans.
		 */
		while (tg_arena_committed() > tg_arena_limit() / 2 && !tg_load_acquire(&writers_stop))
			usleep(200);
		begin_writing(&self, own);
		commit = move_money(&self);
		end_writing(&self, commit);
		if (commit)
			tg_fetch_add_relaxed(&commits, 1);
	}
	tg_runtime_session_end(own);
	return NULL;
}

/* --- checks --------------------------------------------------------------------------- */

static tg_snapshot
take_snapshot(tg_session *own, unsigned *entry)
{
	return (tg_snapshot){.time = tg_snapshot_publish(own, entry), .txn = own->id, .command = 1};
}

static void
fill_table(void)
{
	test_writer self = {.random = 1};

	begin_writing(&self, session);
	for (uint64_t id = 0; id < ACCOUNTS; id++)
		tg_check(insert_row(&self, id * 37 % ACCOUNTS, BALANCE) == TG_OK);
	end_writing(&self, true);
}

static void
check_chunks(const tg_snapshot *snapshot, const sight *expected, const char *when)
{
	const unsigned capacities[] = {1, 7, 100, 1024, 5000};

	for (unsigned i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++)
	{
		sight *seen = scan_chunks(session, snapshot, capacities[i]);

		unit_ok(same_sight(seen, expected), "%s: chunks, %u rows at a time", when, capacities[i]);
		free(seen);
	}
}

static void
check_ranges(const tg_snapshot *snapshot, const sight *expected, const char *when)
{
	const unsigned limits[] = {1, 5, 300, 1024};

	for (unsigned i = 0; i < 2 * sizeof(limits) / sizeof(limits[0]); i++)
	{
		unsigned limit = limits[i / 2];
		bool backward = i % 2 == 1;
		sight *all = scan_range(session, snapshot, 0, ID_MAX, backward, limit);
		sight *part = scan_range(session, snapshot, 1000, 1357, backward, limit);
		uint64_t count = 0;

		for (unsigned id = 1000; id < 1357; id++)
			count += expected->seen[id];
		unit_ok(same_sight(all, expected), "%s: the whole index, %s, %u rows at a time", when,
				backward ? "backward" : "forward", limit);
		unit_ok(part->right && part->count == count && memcmp(part->seen + 1000, expected->seen + 1000, 357) == 0,
				"%s: a range, %s, %u rows at a time", when, backward ? "backward" : "forward", limit);
		free(all);
		free(part);
	}
}

static void
check_jobs(const tg_snapshot *snapshot, const sight *expected, const char *when)
{
	const job_options options[] = {{.tasks = 1},
								   {.tasks = 4, .buffer_rows = 64},
								   {.tasks = 0},
								   {.tasks = 2, .buffer_rows = 1},
								   {.tasks = 3, .buffer_rows = 100, .pause_us = 500}};

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
	{
		tg_status status;
		sight *seen = scan_by_job(snapshot, &options[i], &status);

		unit_ok(status == TG_NOT_FOUND && same_sight(seen, expected), "%s: job of %u tasks, buffers of %u rows%s", when,
				options[i].tasks, options[i].buffer_rows, options[i].pause_us > 0 ? ", slow consumer" : "");
		free(seen);
	}
}

static void
check_all(const tg_snapshot *snapshot, const sight *expected, const char *when)
{
	check_chunks(snapshot, expected, when);
	check_ranges(snapshot, expected, when);
	check_jobs(snapshot, expected, when);
}

/* The oracle's rows of a table that was filled and not changed since. */
static sight *
expect_filled(void)
{
	sight *expected = make_sight();

	for (uint64_t id = 0; id < ACCOUNTS; id++)
	{
		expected->seen[id] = 1;
		expected->count++;
		expected->total += BALANCE;
		expected->mark += hash(id * 1000003 + BALANCE);
	}
	return expected;
}

static bool
no_headers(void)
{
	bool none = true;

	tg_epoch_enter(session);
	for (uint32_t i = 0; i < tg_table_chunk_count(table); i++)
	{
		tg_chunk *chunk = tg_table_chunk(table, i);

		none = none && (chunk == NULL || tg_chunk_headers(chunk) == NULL);
	}
	tg_epoch_leave(session);
	return none;
}

static void
check_at_rest(void)
{
	sight *expected = expect_filled();
	sight *nothing = make_sight();
	tg_snapshot before;
	tg_snapshot after;
	unsigned before_entry;
	unsigned after_entry;

	before = take_snapshot(session, &before_entry);
	check_all(&before, nothing, "empty");
	fill_table();
	check_all(&before, nothing, "filled after the snapshot");
	after = take_snapshot(session, &after_entry);
	check_all(&after, expected, "filled");
	tg_snapshot_withdraw(session, before_entry);
	tg_snapshot_withdraw(session, after_entry);
	tg_leases_end(session); /* or the chunk in use keeps its headers */

	unit_ok(holds_in_time(session, no_headers), "headers go in time");
	after = take_snapshot(session, &after_entry);
	check_all(&after, expected, "settled");
	tg_snapshot_withdraw(session, after_entry);
	free(expected);
	free(nothing);
}

/* Own writes are seen by later commands only, by no other session, and never after a rollback. */
static void
check_own_writes(void)
{
	sight *expected = expect_filled();
	test_writer self = {.random = 5};
	tg_snapshot other;
	unsigned other_entry;
	int64_t none = 0;

	begin_writing(&self, session);
	tg_check(insert_row(&self, ACCOUNTS + 1, 5) == TG_OK);
	tg_check(change_row(&self, 17, CHANGE_DELETE, &none) == TG_OK);
	check_all(&self.snapshot, expected, "own writes, same command");
	other = take_snapshot(session, &other_entry);
	other.txn = UINT32_MAX;
	other.command = UINT32_MAX;
	check_all(&other, expected, "another's writes");
	tg_snapshot_withdraw(session, other_entry);

	self.snapshot.command = 2;
	expected->seen[17] = 0;
	expected->seen[ACCOUNTS + 1] = 1;
	expected->total += 5 - BALANCE;
	expected->mark += hash((ACCOUNTS + 1) * UINT64_C(1000003) + 5) - hash(17 * 1000003 + BALANCE);
	check_all(&self.snapshot, expected, "own writes, next command");
	end_writing(&self, false);
	free(expected);

	expected = expect_filled();
	other = take_snapshot(session, &other_entry);
	check_all(&other, expected, "rolled back");
	tg_snapshot_withdraw(session, other_entry);
	free(expected);
}

/* All kinds of scan on one snapshot while writers write. */
static void
check_under_writers(unsigned writer_count)
{
	pthread_t threads[8];
	unsigned bad_total = 0;
	unsigned bad_rows = 0;
	unsigned different = 0;
	unsigned bad_status = 0;
	uint64_t commits_before = commits;

	tg_store_release(&writers_stop, false);
	for (unsigned i = 0; i < writer_count; i++)
		tg_check(pthread_create(&threads[i], NULL, write_on, (void *) (uintptr_t) (i + 1)) == 0);
	/* a machine with other things to do may take its time to start a writer */
	for (unsigned round = 0;
		 round < ROUNDS || (tg_load_relaxed(&commits) == commits_before && round < PATIENCE * ROUNDS); round++)
	{
		const job_options options = {.tasks = 1 + round % 3, .buffer_rows = round % 2 == 0 ? 0 : 50};
		sight *seen[4];
		tg_snapshot snapshot;
		unsigned entry;
		tg_status status;

		snapshot = take_snapshot(session, &entry);
		seen[0] = scan_chunks(session, &snapshot, 1 + (unsigned) hash(round) % 1500);
		seen[1] = scan_range(session, &snapshot, 0, ID_MAX, false, 1 + (unsigned) hash(round) % 700);
		seen[2] = scan_range(session, &snapshot, 0, ID_MAX, true, 1024);
		seen[3] = scan_by_job(&snapshot, &options, &status);
		for (unsigned i = 0; i < 4; i++)
		{
			bad_total += seen[i]->total != TOTAL;
			bad_rows += !seen[i]->right;
			different += !same_sight(seen[0], seen[i]);
		}
		for (unsigned i = 0; i < 4; i++)
			free(seen[i]);
		bad_status += status != TG_NOT_FOUND;
		tg_snapshot_withdraw(session, entry);
	}
	tg_store_release(&writers_stop, true);
	for (unsigned i = 0; i < writer_count; i++)
		pthread_join(threads[i], NULL);
	unit_equal(bad_total, 0, "%u writers: every scan sees the same total", writer_count);
	unit_equal(bad_rows, 0, "%u writers: every row is whole, comes once and in order", writer_count);
	unit_equal(different, 0, "%u writers: all kinds of scan see the same", writer_count);
	unit_equal(bad_status, 0, "%u writers: every job ends well", writer_count);
	unit_ok(commits > commits_before, "%u writers: they did write (%" PRIu64 " commits)", writer_count,
			commits - commits_before);
}

/* --- nothing is left ------------------------------------------------------------------ */

static tg_arena_report bytes_before;

static bool
bytes_are_back(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	/* Sessions keep what they once needed for themselves: TG_USE_RUNTIME may have grown. */
	report.used_by[TG_USE_RUNTIME] = bytes_before.used_by[TG_USE_RUNTIME];
	return memcmp(report.used_by, bytes_before.used_by, sizeof(report.used_by)) == 0;
}

static bool
garbage_is_gone(void)
{
	tg_collector_report report;

	tg_collector_report_get(&report);
	return report.logs_waiting == 0;
}

static void
check_nothing_is_left(void)
{
	tg_leases_end(session);
	unit_ok(holds_in_time(session, garbage_is_gone), "the collector comes to its end");
	tg_check(tg_catalog_take(session, 1, 2) == table);
	tg_table_release(session, table);
	unit_ok(holds_in_time(session, bytes_are_back), "all memory is back");
}

int
main(void)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 256 << 20, .session_max = 32},
		.worker_max = WORKERS};
	const tg_scheduler_settings settings = {
		.workers = WORKERS, .stealing = true, .worker_suspend_ms = 1000, .watcher_interval_us = 1000, .hang_ms = 5000};
	tg_table *old;

	tg_host_wake = wake_waiter;
	tg_check(tg_runtime_map(&config.arena) == TG_OK);
	tg_check(tg_runtime_create(&config) == TG_OK);
	tg_check(tg_runtime_start(&settings) == TG_OK);
	tg_check(tg_session_open(&session) == TG_OK);
	tg_arena_report_get(&bytes_before);
	tg_check(tg_table_create(session, 1, 2, kinds, COLUMNS, &key_spec, TG_DATA, &table) == TG_OK);
	tg_check(tg_catalog_put(session, 1, 2, table, &old) == TG_OK && old == NULL);

	check_at_rest();
	check_own_writes();
	check_under_writers(1);
	check_under_writers(4);
	check_nothing_is_left();

	tg_runtime_session_end(session);
	unit_ok(tg_runtime_stop(10000), "the pool stops");
	tg_arena_destroy();
	return unit_done();
}
