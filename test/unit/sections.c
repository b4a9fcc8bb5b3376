/*
 * sections.c
 *	  Rows as a snapshot has them, written as sections and read, are these rows.
 *
 * A table is changed at random (random_writers.h), and its rows are written with all cells, or with
 * those that are known.  Then the bytes are damaged, in a way that no checksum shows: there is an
 * answer, no crash, and the table can be used.
 *
 *	FUZZ=n		so many damaged sections (2000)
 */
#include "runtime/durable/sections.h"

#include <stdlib.h>

#include "runtime/durable/replay.h"
#include "test/unit/random_writers.h"

static tg_replay *replay;
static tg_bytes block; /* sections of all rows */

/* --- writing and reading ---------------------------------------------------------------------- */

/* Writes all rows in sections of random lengths. */
static void
write_sections(const tg_known_cells *known)
{
	client *client = &clients[0];
	uint32_t done;

	block.count = 0;
	for (uint32_t first = 0; first < source->row_next; first += done)
	{
		tg_snapshot snapshot = {.txn = client->session->id};
		unsigned entry;
		tg_wait wait;

		snapshot.time = tg_snapshot_publish(client->session, &entry);
		tg_epoch_enter(client->session);
		if (tg_section_write(source, &snapshot, first, 1 + roll(client, 100), 1 + roll(client, 20000), known, &block,
							 &done, &wait) != TG_OK)
			unit_bail("no section");
		tg_epoch_leave(client->session);
		tg_snapshot_withdraw(client->session, entry);
	}
}

static void
write_all(void)
{
	const uint64_t indexes[] = {tg_index_first(source)->id, tg_index_next(tg_index_first(source))->id};
	const tg_known_cells all = {.column_count = column_count, .index_count = INDEXES, .indexes = indexes};

	write_sections(&all);
}

static tg_status
read_sections(const tg_bytes *bytes)
{
	const tg_sections_target to = {
		.table = target, .storage = source->incarnation, .end = source->row_next + 100, .shape = find_shape};
	tg_sections *sections;
	tg_status status;

	if (tg_sections_begin(&to, &sections) != TG_OK)
		unit_bail("no memory");
	status = tg_sections_read(sections, clients[0].session, bytes->data, bytes->count);
	tg_sections_end(sections);
	return status;
}

/* --- whole ones ------------------------------------------------------------------------------- */

static void
test_rows(void)
{
	for (unsigned i = 0; i < 6; i++)
	{
		write_some(100, NULL);
		if (i == 2)
			add_columns(source);
		write_all();
		make_target(clients[0].session);
		unit_ok(read_sections(&block) == TG_OK, "sections are read");
		check_same("rows in sections");
		unit_ok(block.count == 0 || read_sections(&block) == TG_DAMAGED, "rows that are there are not read again");
		check_same("which changes nothing");
		drop_table(clients[0].session, target);
	}
}

/* What is newer than the definitions that go with the rows is left out. */
static void
test_known_cells(void)
{
	const uint64_t indexes[] = {999, tg_index_next(tg_index_first(source))->id};
	const tg_known_cells known = {.column_count = 3, .index_count = 2, .indexes = indexes};
	const tg_index *index;
	unsigned faults = 0;
	unsigned hidden = 0;
	unsigned rows = 0;

	make_target(clients[0].session);
	index = tg_index_first(target);
	write_sections(&known);
	faults += read_sections(&block) != TG_OK;
	tg_epoch_enter(clients[0].session);
	for (uint32_t row = 0; row < target->row_next; row++)
	{
		tg_version version = tg_row_newest(target, row);
		const tg_chunk *chunk = tg_version_chunk(version);
		unsigned slot = tg_version_slot(version);

		if (version == TG_VERSION_NONE)
			continue;
		rows++;
		for (unsigned column = 3; column < COLUMNS; column++)
			faults += !tg_chunk_is_null(chunk, column, slot);
		faults += tg_companion_is_known(tg_companion_of(&index->link, chunk), slot);
		hidden += tg_companion_is_known(tg_companion_of(&tg_index_next(index)->link, chunk), slot);
	}
	tg_epoch_leave(clients[0].session);
	unit_ok(faults == 0 && rows == target->row_count && rows > 0 && hidden > 0,
			"%u rows, %u hidden values, and nothing that is not known", rows, hidden);
	drop_table(clients[0].session, target);
}

/* A row whose commit is being decided is for a later section. */
static void
test_busy(void)
{
	client *client = &clients[1];
	const tg_known_cells known = {.column_count = column_count};
	tg_snapshot snapshot = {.txn = clients[0].session->id};
	uint32_t first = 0;
	uint32_t done;
	unsigned entry;
	tg_wait wait;
	tg_status status;

	block.count = 0;
	for (unsigned i = 0; i < 50 || client->txn == NULL || !tg_txn_has_writes(client->txn); i++)
		step(client);
	(void) tg_txn_prepare(client->session, client->txn, 1);
	snapshot.time = tg_snapshot_publish(clients[0].session, &entry);
	tg_epoch_enter(clients[0].session);
	while ((status = tg_section_write(source, &snapshot, first, TG_ROW_MAX, SIZE_MAX, &known, &block, &done, &wait)) ==
			   TG_OK &&
		   done < TG_ROW_MAX)
		first += done;
	unit_ok(status == TG_BUSY, "a row is not written while a commit is being decided");
	tg_epoch_leave(clients[0].session);
	tg_txn_commit(client->session, client->txn);
	client->txn = NULL;
	tg_snapshot_withdraw(clients[0].session, entry);
}

/* --- damaged ones ----------------------------------------------------------------------------- */

static void
damage(tg_bytes *bytes)
{
	client *client = &clients[0];
	unsigned at = roll(client, (unsigned) bytes->count);

	switch (roll(client, 4))
	{
		case 0:
			bytes->count = at;
			break;
		case 1:
			bytes->data[at] ^= (unsigned char) (1 << roll(client, 8));
			break;
		default:
			bytes->data[at] = (unsigned char) roll(client, 256);
			break;
	}
}

/* Whether each row of the target leads to its version, and back, and is counted. */
static bool
target_is_sound(void)
{
	int64_t count = 0;
	bool sound = true;

	tg_epoch_enter(clients[0].session);
	for (uint32_t row = 0; row < target->row_next; row++)
	{
		tg_version version = tg_row_newest(target, row);

		if (version == TG_VERSION_NONE)
			continue;
		count++;
		sound &= tg_version_row(version) == row;
	}
	tg_epoch_leave(clients[0].session);
	return sound && count == target->row_count;
}

static tg_status
write_rows(const tg_snapshot *snapshot, uint32_t first, uint32_t count, tg_bytes *bytes)
{
	tg_wait wait;

	return tg_operations_write_rows(source, snapshot, first, count, bytes, &wait);
}

/* Rows are changed, or added, whatever has been read before. */
static void
replace_row(const tg_bytes *record)
{
	if (tg_replay_record(replay, record->data, record->count, false) != TG_OK)
		unit_bail("a record was not applied");
}

static unsigned
count_differences(void)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(clients[0].session, &entry);
	unsigned faults = 0;

	tg_epoch_enter(clients[0].session);
	for (uint32_t row = 0; row < source->row_next; row++)
	{
		tg_version left = version_of(source, row, time);

		if (left != TG_VERSION_NONE)
			faults += version_faults(left, version_of(target, row, time));
	}
	tg_epoch_leave(clients[0].session);
	tg_snapshot_withdraw(clients[0].session, entry);
	return faults;
}

static void
test_damaged(void)
{
	const char *fuzz = getenv("FUZZ");
	unsigned times = fuzz != NULL ? (unsigned) atoi(fuzz) : 2000;
	tg_bytes copy = {0};
	unsigned answers[2] = {0};
	unsigned faults = 0;

	write_all();
	if (tg_bytes_reserve(&copy, block.count) != TG_OK)
		unit_bail("no memory");
	for (unsigned i = 0; i < times; i++)
	{
		unsigned kept = record_count;
		tg_status status;

		copy.count = 0;
		tg_bytes_put(&copy, block.data, block.count);
		for (unsigned j = 1 + roll(&clients[0], 3); j > 0 && copy.count > 0; j--)
			damage(&copy);
		make_target(clients[0].session);
		status = read_sections(&copy);
		answers[status == TG_OK]++;
		faults += (status != TG_OK && status != TG_DAMAGED) || !target_is_sound();
		if (i % 10 == 0)
		{
			keep_rows(write_rows, replace_row);
			faults += count_differences() > 0;
			for (; record_count > kept; record_count--)
				tg_bytes_free(&records[record_count - 1]);
		}
		drop_table(clients[0].session, target);
	}
	unit_ok(faults == 0 && answers[0] > 0, "%u damaged sections: %u were refused", times, answers[0]);
	tg_bytes_free(&copy);
}

int
main(void)
{
	start_writers();
	fills = true;
	if (tg_replay_begin(clients[0].session, &replay_calls, &replay) != TG_OK)
		unit_bail("no memory");
	test_rows();
	test_known_cells();
	test_busy();
	test_damaged();
	tg_bytes_free(&block);
	tg_replay_end(replay);
	return end_writers();
}
