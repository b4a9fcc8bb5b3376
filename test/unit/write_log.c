/*
 * write_log.c
 *	  Entries come back as they were noted: forward for stamps, backward for undo,
 *	  down to any mark; inserts merge, but not across a mark; undone pieces keep their
 *	  entries; tables are counted per piece and released with it; refused memory
 *	  leaves a log as it was; everything is freed.
 */
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/table/write_log.h"

#include <string.h>

#include "runtime/reclaim/horizon.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "test/unit/unit.h"

#define MIB ((size_t) 1 << 20)
#define TABLES 40

static tg_session *session;
static tg_table *tables[TABLES];

static void
begin(void)
{
	tg_arena_config config = {.reserve_bytes = 256 * MIB, .limit_bytes = 128 * MIB, .session_max = 4};
	uint8_t kinds[] = {TG_KIND_8, TG_KIND_STRING, TG_KIND_STRING};

	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned i = 0; i < TABLES; i++)
	{
		if (tg_table_create(session, 1, i, kinds, 3, NULL, TG_DATA, &tables[i]) != TG_OK)
			abort();
	}
}

static size_t
log_bytes(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_LOG];
}

static void
write_one(tg_write_log **log, unsigned table, tg_write kind, tg_version version, int rows)
{
	if (tg_write_log_reserve(session, log, tables[table], TG_DATA) != TG_OK)
		abort();
	tg_write_log_append(*log, tables[table], kind, version, rows);
}

/* Versions that are never looked at. */
static tg_version
version_of(unsigned chunk, unsigned slot)
{
	return (tg_version) (0x100000 + chunk * 0x1000) << 16 | slot;
}

static unsigned
count_entries(tg_write_log *log)
{
	tg_log_cursor cursor = tg_write_log_begin(log);
	unsigned count = 0;

	while (tg_write_log_next(&cursor) != NULL)
		count++;
	return count;
}

static void
test_merge(void)
{
	tg_write_log *log = NULL;
	tg_log_cursor cursor = tg_write_log_begin(NULL);
	const tg_log_entry *entry;

	unit_ok(tg_write_log_next(&cursor) == NULL, "no log has no entries");
	for (unsigned i = 0; i < 1024; i++)
		write_one(&log, 0, TG_WRITE_INSERT, version_of(1, i), 1);
	write_one(&log, 0, TG_WRITE_INSERT, version_of(2, 0), 1);
	write_one(&log, 0, TG_WRITE_UPDATE, version_of(2, 1), 0);
	write_one(&log, 0, TG_WRITE_INSERT, version_of(2, 2), 1);
	unit_equal(count_entries(log), 4, "neighbouring inserts share an entry");
	cursor = tg_write_log_begin(log);
	entry = tg_write_log_next(&cursor);
	unit_ok(entry->version == version_of(1, 0) && entry->count == 1024 && entry->kind == TG_WRITE_INSERT,
			"with the first version and their number");
	unit_ok(!tg_write_log_is_lasting(log), "an update makes garbage");
	unit_equal(tg_write_log_rows(log, tables[0]), 1026, "rows are counted");
	tg_write_log_destroy(session, log);

	log = NULL;
	write_one(&log, 0, TG_WRITE_INSERT, version_of(1, 0), 1);
	unit_ok(tg_write_log_is_lasting(log), "inserts alone do not");
	tg_write_log_destroy(session, log);
	unit_equal(log_bytes(), 0, "all is freed");
}

static void
test_marks(void)
{
	tg_write_log *log = NULL;
	tg_write_log *undone = NULL;
	tg_log_mark start = tg_write_log_mark(log);
	tg_log_mark mark;
	tg_log_mark same;
	tg_log_entry entry;

	write_one(&log, 0, TG_WRITE_INSERT, version_of(1, 0), 1);
	write_one(&log, 0, TG_WRITE_INSERT, version_of(1, 1), 1);
	mark = tg_write_log_mark(log);
	same = tg_write_log_mark(log);
	unit_equal(mark, same, "two marks at one place are one");
	unit_ok(!tg_write_log_pop(&log, mark, &undone, &entry) && undone == NULL, "nothing after it, nothing to undo");
	write_one(&log, 0, TG_WRITE_INSERT, version_of(1, 2), 1);
	write_one(&log, 1, TG_WRITE_DELETE, version_of(3, 5), -1);
	unit_equal(count_entries(log), 3, "inserts do not merge across a mark");
	unit_equal(tg_write_log_rows(log, tables[0]), 3, "rows of one table");
	unit_ok(tg_write_log_rows(log, tables[1]) == -1, "and of the other");

	unit_ok(tg_write_log_pop(&log, mark, &undone, &entry) && entry.kind == TG_WRITE_DELETE &&
				entry.version == version_of(3, 5),
			"the newest comes back first");
	unit_ok(tg_write_log_pop(&log, mark, &undone, &entry) && entry.version == version_of(1, 2) && entry.count == 1,
			"then the one before");
	unit_ok(!tg_write_log_pop(&log, mark, &undone, &entry), "and no more");
	unit_ok(undone != NULL && count_entries(undone) == 2, "undone pieces keep their entries");
	unit_equal(undone->ended, 0, "and has not been committed");
	unit_equal(tg_write_log_rows(log, tables[0]), 2, "rows undone do not count");
	unit_ok(!tg_write_log_has_table(log, tables[1]), "nor a table written after the mark only");
	tg_write_log_destroy(session, undone);

	undone = NULL;
	write_one(&log, 0, TG_WRITE_UPDATE, version_of(1, 7), 0);
	unit_ok(tg_write_log_pop(&log, mark, &undone, &entry) && entry.version == version_of(1, 7),
			"a mark can be used again");
	unit_ok(!tg_write_log_pop(&log, mark, &undone, &entry), "and again only what is after it");
	unit_ok(tg_write_log_pop(&log, start, &undone, &entry) && entry.version == version_of(1, 0) && entry.count == 2,
			"inserts before it come as one");
	unit_ok(!tg_write_log_pop(&log, start, &undone, &entry) && log == NULL, "down to nothing");
	tg_write_log_destroy(session, undone);
	unit_equal(log_bytes(), 0, "all is freed");
}

/* A log against an array: marks, releases and rollbacks at random. */
#define WRITES_MAX 20000
#define DEPTH 12

static struct
{
	tg_version version;
	unsigned table;
} model[WRITES_MAX];

static bool
same_as_model(tg_write_log *log, unsigned count)
{
	tg_log_cursor cursor = tg_write_log_begin(log);
	const tg_log_entry *entry;
	static unsigned char seen[WRITES_MAX];
	unsigned total = 0;
	int64_t rows[TABLES] = {0};

	memset(seen, 0, sizeof(seen));
	while ((entry = tg_write_log_next(&cursor)) != NULL)
	{
		for (unsigned i = 0; i < entry->count; i++, total++)
		{
			unsigned number =
				(unsigned) (((entry->version + i) >> 28) - 0x100) * 1024 + (unsigned) ((entry->version + i) & 1023);

			if (number >= count || seen[number]++ != 0)
				return false;
		}
	}
	for (unsigned i = 0; i < count; i++)
		rows[model[i].table]++;
	for (unsigned i = 0; i < TABLES; i++)
	{
		if (tg_write_log_rows(log, tables[i]) != rows[i] || tg_write_log_has_table(log, tables[i]) != (rows[i] > 0))
			return false;
	}
	return total == count;
}

static void
test_random(void)
{
	tg_write_log *log = NULL;
	struct
	{
		tg_log_mark mark;
		unsigned count;
	} marks[DEPTH];
	unsigned depth = 0;
	unsigned count = 0;
	unsigned faults = 0;
	unsigned checks = 0;

	srandom(1);
	for (unsigned step = 0; step < 100000 && count < WRITES_MAX; step++)
	{
		unsigned dice = (unsigned) random() % 1000;

		if (dice < 8 && depth < DEPTH)
		{
			marks[depth].mark = tg_write_log_mark(log);
			marks[depth++].count = count;
		}
		else if (dice < 10 && depth > 0)
			depth--;
		else if (dice < 14 && depth > 0)
		{
			unsigned to = depth - 1 - (unsigned) random() % (depth < 3 ? depth : 3);
			tg_write_log *undone = NULL;
			tg_log_entry entry;

			while (tg_write_log_pop(&log, marks[to].mark, &undone, &entry))
			{
				for (unsigned i = entry.count; i-- > 0;)
					faults += count == 0 || model[--count].version != entry.version + i;
			}
			faults += count != marks[to].count;
			depth = to + 1; /* the mark stays */
			tg_write_log_destroy(session, undone);
		}
		else
		{
			/*
			 * Numbered by chunk and slot, so that they can be told apart: 1 << 28 is 0x1000 << 16.
			 */
			model[count].version = version_of(count / 1024, count % 1024);
			model[count].table = dice < 900 ? 0 : dice % TABLES;
			write_one(&log, model[count].table, dice % 4 == 0 ? TG_WRITE_UPDATE : TG_WRITE_INSERT, model[count].version,
					  1);
			count++;
		}
		if (step % 500 == 0)
		{
			faults += !same_as_model(log, count);
			checks++;
		}
	}
	unit_equal(faults, 0, "marks, releases and rollbacks at random (%u checks, %u writes at last)", checks, count);
	tg_write_log_count_rows(log);
	tg_write_log_destroy(session, log);
	unit_equal(log_bytes(), 0, "all is freed");
	{
		uint64_t rows = 0;
		unsigned references = 0;

		for (unsigned i = 0; i < TABLES; i++)
		{
			rows += (uint64_t) tables[i]->row_count;
			references += tables[i]->references;
		}
		unit_equal(rows, count, "rows were booked at their tables");
		unit_equal(references, TABLES, "and every reference was given back");
	}
}

static void
test_memory(void)
{
	tg_write_log *log = NULL;
	tg_arena_report report;
	tg_log_entry entry;
	tg_write_log *undone = NULL;
	unsigned count = 0;
	unsigned popped = 0;

	tg_arena_report_get(&report);
	tg_arena_limit_set(report.committed + 64 * 1024);
	while (tg_write_log_reserve(session, &log, tables[count % TABLES], TG_DATA) == TG_OK)
	{
		tg_write_log_append(log, tables[count % TABLES], TG_WRITE_DELETE, version_of(count / 1024, count % 1024), -1);
		count++;
		if (count % 100 == 0)
			(void) tg_write_log_mark(log);
	}
	unit_ok(count > 100 && count_entries(log) == count, "a reservation was refused after %u, nothing was lost", count);
	while (tg_write_log_pop(&log, TG_LOG_MARK_START, &undone, &entry))
		popped++;
	unit_equal(popped, count, "all of it can be undone without memory");
	tg_write_log_destroy(session, undone);
	tg_arena_limit_set(128 * MIB);
	unit_equal(log_bytes(), 0, "all is freed");
}

/* --- stripping ------------------------------------------------------------ */

static tg_version
store(const tg_value values[3], const bool nulls[3])
{
	tg_version version;

	if (tg_slot_take(session, tables[0], TG_DATA, &version) != TG_OK ||
		tg_version_store(session, version, 0, values, nulls, TG_DATA) != TG_OK)
		abort();
	return version;
}

static tg_string
cell(tg_version version, unsigned column)
{
	tg_value value;

	tg_chunk_value(tg_version_chunk(version), column, tg_version_slot(version), &value);
	return value.string;
}

static void
test_strip(void)
{
	static const char text[] = "a text that is too long to lie in a cell";
	tg_value values[3] = {{.word = 1}};
	bool nulls[3] = {false};
	size_t before;
	tg_arena_report report;
	tg_version old;
	tg_version new;

	tg_epoch_enter(session);
	tg_arena_report_get(&report);
	before = report.used_by[TG_USE_BLOB];
	tg_string_make_host(&values[1].string, text, sizeof(text), 0);
	tg_string_make_host(&values[2].string, text, sizeof(text), 0);
	old = store(values, nulls);
	values[2].string = cell(old, 2);
	new = store(values, nulls);
	unit_ok(cell(old, 2).blob == cell(new, 2).blob && cell(old, 1).blob != cell(new, 1).blob,
			"one blob is shared, one was copied");
	tg_version_strip(old, new);
	unit_ok((cell(old, 2).word & TG_STRING_LENT) != 0 && cell(old, 2).blob == cell(new, 2).blob,
			"stripped of the shared one, whose value stays");
	unit_ok((cell(old, 1).word & TG_STRING_LENT) == 0, "not of its own");
	tg_version_blobs_free(session, old, TG_VERSION_NONE, TG_VERSION_NONE);
	unit_ok(memcmp(cell(new, 2).blob, text, sizeof(text)) == 0, "the shared one is still there");
	nulls[1] = true;
	nulls[2] = true;
	tg_version_strip(new, store(values, nulls));
	unit_ok((cell(new, 2).word & TG_STRING_LENT) == 0, "nothing is shared with a null");
	tg_version_blobs_free(session, new, TG_VERSION_NONE, TG_VERSION_NONE);
	tg_epoch_leave(session);
	tg_arena_report_get(&report);
	unit_equal(report.used_by[TG_USE_BLOB], before, "each blob was freed once");
}

int
main(void)
{
	begin();
	test_merge();
	test_marks();
	test_random();
	test_memory();
	test_strip();
	tg_leases_end(session);
	for (unsigned i = 0; i < TABLES; i++)
		tg_table_release(session, tables[i]);
	tg_session_close(session);
	tg_arena_destroy();
	return unit_done();
}
