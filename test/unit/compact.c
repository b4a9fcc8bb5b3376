/*
 * compact.c
 *	  Sparse chunks are emptied and given back, with what their strings took; what
 *	  cannot be moved yet is moved later; where nothing can be gained nothing is done.
 */
#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/table/cell.h"
#include "test/unit/writers.h"

#define ROWS 20000

static bool
refuse_memory(const char *name)
{
	return strcmp(name, "alloc") == 0;
}

static uint64_t
moved(void)
{
	tg_collector_report report;

	tg_collector_report_get(&report);
	return report.versions_moved;
}

static tg_table_slots
slots(void)
{
	tg_table_slots slots;

	tg_epoch_enter(session);
	tg_table_slots_count(table, &slots);
	tg_epoch_leave(session);
	return slots;
}

static void
sweep(unsigned count, unsigned budget)
{
	for (unsigned i = 0; i < count; i++)
		collect(budget);
}

static size_t
committed(void)
{
	tg_arena_report report;

	for (unsigned i = 0; i < CLIENTS; i++)
		tg_alloc_flush(clients[i].session);
	tg_alloc_flush(session);
	tg_arena_trim();
	tg_arena_report_get(&report);
	return report.committed;
}

/* Texts of one length, so that their memory is that of one class. */
static void
insert_row(client *client, uint64_t key)
{
	tg_writer writer = writer_of(client);
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	tg_value values[COLUMNS] = {{.word = key}};
	const bool nulls[COLUMNS] = {false, false, true};
	char text[101];
	uint32_t row;
	tg_wait wait;

	snprintf(text, sizeof(text), "%08u%092u", (unsigned) key, 0);
	tg_string_make_host(&values[1].string, text, 100, 0);
	must(tg_txn_insert(&writer, table, bytes, key_bytes, values, nulls, &row, &wait));
}

/* Of the live rows' strings, how many lie where others have gone. */
static uint64_t
sparse_strings(void)
{
	uint64_t sparse = 0;

	tg_epoch_enter(session);
	for (uint32_t row = 0; row < table->row_next; row++)
	{
		tg_version version = tg_load_acquire(tg_row_head(table, row));
		tg_value value = {.word = 0};

		if (tg_head_is_closed(version) || version == TG_VERSION_NONE)
			continue;
		tg_chunk_value(tg_version_chunk(version), 1, tg_version_slot(version), &value);
		sparse += tg_alloc_is_sparse(value.string.blob);
	}
	tg_epoch_leave(session);
	return sparse;
}

static void
fill(void)
{
	for (uint64_t key = 0; key < ROWS; key++)
		insert_row(&clients[0], key);
	commit(&clients[0]);
	leases_end();
}

/* Nine of ten rows go, anywhere. */
static void
thin_out(void)
{
	for (uint64_t key = 0; key < ROWS; key++)
		if ((key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % 10 != 0)
			must_delete(&clients[0], key);
	commit(&clients[0]);
}

static void
clear(void)
{
	for (uint64_t key = 0; key < ROWS; key++)
		(void) change_row(&clients[0], key, CHANGE_DELETE, 0);
	commit(&clients[0]);
	sweep(10, 1000);
	check_exact(1000, "cleared");
}

/* All rows that are there, by their keys. */
static bool
is_as_thinned_out(void)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(session, &entry);
	int64_t seen = 0;
	bool right = true;

	for (uint64_t key = 0; key < ROWS; key++)
	{
		int result = look(session, time, key);

		seen += result >= 0;
		right = right && result != 0;
	}
	tg_snapshot_withdraw(session, entry);
	return right && seen == table->row_count;
}

static void
test_thinned_out(unsigned budget)
{
	size_t start = committed();
	size_t full;
	size_t after;
	uint64_t before;

	fill();
	full = committed() - start;
	sweep(4, 1000);
	thin_out();
	before = moved();
	sweep(20, budget);
	unit_ok(is_as_thinned_out(), "budget %u: the rows that were left are there", budget);
	unit_ok(slots().chunks_sparse <= 1 && slots().chunks <= 4, "in %" PRIu64 " chunks", slots().chunks);
	unit_ok(moved() - before <= (uint64_t) table->row_count, "having been moved once, or not");
	unit_equal((uint64_t) table->header_bytes, 0, "and the chunks have settled");
	check_exact(budget, "thinned out");
	after = committed() - start;
	unit_ok(after < full * 2 / 3, "memory has gone back: %zu of %zu KiB are left", after / 1024, full / 1024);
	if (budget > 100) /* else what the collector frees comes in between, in any slab */
		unit_ok(sparse_strings() < (uint64_t) table->row_count / 2, "the strings have moved together, too");
	before = moved();
	sweep(5, 1000);
	unit_equal(moved(), before, "and then it rests");
	clear();
}

/*
 * A snapshot keeps the moved version, a later one sees it elsewhere; versions that a snapshot keeps
 * from being moved are moved later.
 */
static void
test_snapshots(void)
{
	unsigned entries[2];
	tg_time times[2];
	unsigned wrong = 0;

	fill();
	sweep(4, 1000);
	times[0] = tg_snapshot_publish(clients[4].session, &entries[0]);
	thin_out();
	sweep(10, 1000);
	unit_equal(moved() > 0 && slots().chunks_sparse > 2, false, "nothing has gone for the earlier snapshot");
	times[1] = tg_snapshot_publish(clients[5].session, &entries[1]);
	for (uint64_t key = 0; key < ROWS; key += 3)
		wrong += look(clients[4].session, times[0], key) != 1;
	unit_equal(wrong, 0, "and it sees all rows");
	tg_snapshot_withdraw(clients[4].session, entries[0]);
	sweep(10, 1000);
	unit_ok(moved() > 0, "when it has gone, rows are moved before the later one's eyes");
	unit_ok(is_as_thinned_out(), "and the rows are there");
	wrong = 0;
	for (uint64_t key = 0; key < ROWS; key++)
		wrong += look(clients[5].session, times[1], key) == 0;
	unit_equal(wrong, 0, "for it, too");
	tg_snapshot_withdraw(clients[5].session, entries[1]);
	sweep(10, 1000);
	unit_ok(slots().chunks <= 4, "and then chunks go");
	clear();
}

/* A row that another session holds stays, and so does its chunk; the others go. */
static void
test_held(void)
{
	fill();
	thin_out();
	for (uint64_t key = 0; key < ROWS; key += 500)
		(void) change_row(&clients[1], key, CHANGE_DELETE, 0);
	sweep(10, 1000);
	unit_ok(slots().chunks_sparse > 1, "chunks with rows that are being written stay");
	roll_back(&clients[1]);
	sweep(10, 1000);
	unit_ok(slots().chunks <= 4 && is_as_thinned_out(), "and go when these have been left alone");
	clear();
}

static void
test_short_memory(void)
{
	fill();
	thin_out();
	tg_failpoint_set(refuse_memory);
	sweep(10, 1000);
	tg_failpoint_set(NULL);
	unit_ok(is_as_thinned_out(), "without memory nothing is lost");
	must_insert(&clients[0], ROWS + 1);
	must_delete(&clients[0], ROWS + 1);
	commit(&clients[0]);
	leases_end();
	sweep(20, 1000);
	unit_ok(slots().chunks <= 4 && is_as_thinned_out(), "and it is done when there is some");
	clear();
}

/* New versions take the free slots of the chunks that stay. */
static void
test_one_chunk(void)
{
	uint64_t before;

	for (uint64_t key = 0; key < 10; key++)
		must_insert(&clients[0], key);
	commit(&clients[0]);
	for (uint64_t key = 0; key < 7; key++)
		must_delete(&clients[0], key);
	commit(&clients[0]);
	leases_end();
	before = moved();
	sweep(10, 1000);
	unit_equal(moved(), before, "a single chunk stays as it is");
	clear();
}

/* A sweep that has got to its end has made work for a cycle, and says so. */
static void
test_collected(void)
{
	uint64_t before;

	fill();
	sweep(4, 1000);
	thin_out();
	before = moved();
	for (unsigned i = 0; i < 20 && moved() == before; i++)
		collect(100 * ROWS);
	unit_ok(moved() > before, "a sweep has moved versions");
	unit_equal(logs_waiting(), 0,
			   "and the call has collected the old versions, because it repeats while there is more");
	clear();
}

#define MORE_ROWS 30000 /* of keys from 0 on: a few segments of heads */

static unsigned
closed_heads(uint32_t from, uint32_t to)
{
	unsigned closed = 0;

	for (uint32_t row = from; row < to; row++)
		closed += tg_head_is_closed(tg_load_acquire(tg_row_head(table, row)));
	return closed;
}

/* Deletes the rows of a segment, or every so manyth of them. */
static void
delete_segment(uint32_t segment, unsigned step)
{
	for (uint64_t key = 0; key < MORE_ROWS; key++)
	{
		unsigned char bytes[TG_KEY_BYTES_MAX];
		uint32_t row;

		if (tg_btree_find(table->index, bytes, key_of(key, bytes), &row) == TG_OK && row / TG_SEGMENT_ROWS == segment &&
			row % step == 0)
			must_delete(&clients[0], key);
	}
	commit(&clients[0]);
}

/* Successive rows go, and their heads; a session that comes by their numbers finds them closed. */
static void
test_heads(void)
{
	const int64_t segment_bytes = TG_SEGMENT_ROWS * sizeof(tg_version);
	tg_session *reader = clients[5].session;
	const tg_version *held;
	int64_t full;
	uint32_t row_next;
	unsigned missing = 0;

	for (uint64_t key = 0; key < MORE_ROWS; key++)
		insert_row(&clients[0], key);
	commit(&clients[0]);
	leases_end();
	full = tg_load_relaxed(&table->table_bytes);
	row_next = table->row_next;
	delete_segment(1, 2);
	delete_segment(2, 1);
	tg_epoch_enter(reader);
	held = tg_row_head(table, 2 * TG_SEGMENT_ROWS);
	tg_epoch_leave(reader);
	sweep(6, 50);
	unit_equal((uint64_t) (full - tg_load_relaxed(&table->table_bytes)), (uint64_t) segment_bytes,
			   "the segment goes in which all rows are free");
	unit_ok(held != tg_row_head(table, 2 * TG_SEGMENT_ROWS) &&
				closed_heads(2 * TG_SEGMENT_ROWS, 3 * TG_SEGMENT_ROWS) == TG_SEGMENT_ROWS,
			"its rows are closed");
	check_exact(1000, "a segment of heads is gone");

	/* A session has the pointer while the next segment goes. */
	tg_collector_shared->sweep.at_ms = tg_now_ms() + 3600 * 1000; /* no sweep comes by itself */
	delete_segment(1, 1);
	while (logs_waiting() > 0)
		collect(1000);
	tg_epoch_enter(reader);
	held = tg_row_head(table, TG_SEGMENT_ROWS);
	tg_collector_shared->sweep.at_ms = 0;
	sweep(6, 1000);
	unit_ok(held != tg_row_head(table, TG_SEGMENT_ROWS), "the next one goes");
	for (unsigned i = 0; i < TG_SEGMENT_ROWS; i++)
		missing += !tg_head_is_closed(tg_load_acquire(&held[i]));
	unit_equal(missing, 0, "and stays for a session that has met it");
	tg_epoch_leave(reader);
	sweep(6, 1000);
	unit_equal((uint64_t) (full - tg_load_relaxed(&table->table_bytes)), 2 * (uint64_t) segment_bytes, "both are gone");

	for (uint64_t key = 0; key < MORE_ROWS; key++)
		(void) insert(&clients[0], key);
	commit(&clients[0]);
	leases_end();
	unit_ok(table->row_next == row_next && tg_load_relaxed(&table->table_bytes) == full,
			"new rows take their numbers: %u, before %u", table->row_next, row_next);
	check_exact(1000, "segments came back");
	for (uint64_t key = 0; key < MORE_ROWS; key++)
		must_delete(&clients[0], key);
	commit(&clients[0]);
	sweep(6, 1000);
	check_exact(1000, "all rows have gone");
	unit_equal((uint64_t) (full - tg_load_relaxed(&table->table_bytes)), 2 * (uint64_t) segment_bytes,
			   "with all that were handed out to the end");
}

/* Of the live rows, how many are in chunks with the last column, in which they have nothing. */
static int64_t
with_column(unsigned column)
{
	int64_t count = 0;

	tg_epoch_enter(session);
	for (uint32_t row = 0; row < table->row_next; row++)
	{
		tg_version version = tg_load_acquire(tg_row_head(table, row));

		if (!tg_head_is_closed(version) && version != TG_VERSION_NONE)
			count += tg_chunk_has_column(tg_version_chunk(version), column) &&
					 tg_chunk_is_null(tg_version_chunk(version), column, tg_version_slot(version));
	}
	tg_epoch_leave(session);
	return count;
}

/*
 * Rows from before a column was added: there is no chunk yet that they could move to.  The last
 * test, because these rows have fewer columns.
 */
static void
test_older_layout(void)
{
	static const uint8_t more_kinds[COLUMNS + 1] = {TG_KIND_8, TG_KIND_STRING, TG_KIND_STRING, TG_KIND_4};
	uint64_t before;

	fill();
	sweep(4, 1000);
	must(tg_table_layout_add(session, table, more_kinds, COLUMNS + 1));
	before = moved();
	sweep(4, 1000);
	unit_equal(moved(), before, "a column is added: full chunks stay as they are");
	thin_out();
	sweep(20, 100);
	unit_ok(is_as_thinned_out(), "rows from before a column was added are there");
	unit_ok(slots().chunks_sparse <= 1 && slots().chunks <= 4, "in %" PRIu64 " chunks", slots().chunks);
	unit_equal((uint64_t) with_column(COLUMNS), (uint64_t) table->row_count,
			   "of the new layout, with nothing in its column");
	check_exact(1000, "of an older layout");
	before = moved();
	sweep(5, 1000);
	unit_equal(moved(), before, "and then it rests");
	clear();
}

int
main(void)
{
	begin();
	tg_sweep_interval_ms = 0;
	test_thinned_out(1000);
	test_thinned_out(7);
	test_snapshots();
	test_held();
	test_short_memory();
	test_one_chunk();
	test_collected();
	test_heads();
	test_older_layout();
	end();
	return unit_done();
}
