/*
 * table.c
 *	  A table's rows, what it costs, and that nothing is left of it.
 *
 * Each part notes the live bytes, makes a table, brings it into some state
 * (superseded, cut out and not yet freed, half stored, settled, leased) and
 * releases it: the live bytes must be what they were.
 */
#include "runtime/btree/btree.h"
#include "runtime/table/table.h"

#include <time.h>

#include "runtime/base/failpoint.h"
#include "runtime/index/long_key.h"
#include "runtime/table/expect.h"
#include "runtime/table/table_internal.h"
#include "test/unit/storage_unit.h"

/* --- rows -------------------------------------------------------------------------------- */

static void
test_guess(void)
{
	tg_row_guess guess = {0};
	tg_table *table = make_table(NULL);
	unsigned char key[8] = {0x80};
	uint32_t row;

	for (unsigned i = 0; i < 100; i++)
		if (tg_row_take(session, table, TG_DATA, &row) != TG_OK)
			abort();
	key[7] = 200;
	unit_ok(!tg_row_guess_get(&guess, table, key, sizeof(key), &row), "nothing is guessed at first");
	tg_row_guess_learn(&guess, key, sizeof(key), 7);
	unit_ok(!tg_row_guess_get(&guess, table, key, sizeof(key), &row), "nor after one row");
	key[7] = 203;
	tg_row_guess_learn(&guess, key, sizeof(key), 10);
	key[6] = 1;
	key[7] = 4; /* 260 */
	unit_ok(tg_row_guess_get(&guess, table, key, sizeof(key), &row) && row == 67, "but as soon as ids follow keys");
	key[7] = 94;
	unit_ok(!tg_row_guess_get(&guess, table, key, sizeof(key), &row), "and never a row that there is not");
	key[7] = 4;
	tg_row_guess_learn(&guess, key, sizeof(key), 11);
	unit_ok(!tg_row_guess_get(&guess, table, key, sizeof(key), &row), "nor after a wrong guess");
	end_table(table);
}

static void
test_rows(void)
{
	const unsigned count = 40000;
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	uint8_t *seen = calloc(count + TG_ROW_BATCH, 1);
	unsigned wrong = 0;
	uint32_t row;

	for (unsigned i = 0; i < count; i++)
	{
		if (tg_row_take(session, table, TG_DATA, &row) != TG_OK)
			abort();
		wrong += row != i || seen[row]++ || *tg_row_head(table, row) != TG_VERSION_NONE;
		*tg_row_head(table, row) = (tg_version) (row + 1) << 16; /* stands for a version */
	}
	for (row = 0; row < count; row++)
		wrong += *tg_row_head(table, row) != (tg_version) (row + 1) << 16;
	unit_equal(wrong, 0, "row ids ascend from 0, heads are NONE and lie apart");

	for (row = 0; row < count; row += 2)
		tg_row_give(session, table, row);
	unit_equal(table->free_row_count, count / 2, "those given back are free");
	wrong = 0;
	for (row = 0; row < count; row += 2)
		wrong += !tg_head_is_closed(*tg_row_head(table, row));
	unit_equal(wrong, 0, "and closed");
	memset(seen, 0, count);
	wrong = 0;
	tg_leases_end(session);
	for (unsigned i = 0; i < count / 2; i++)
	{
		if (tg_row_take(session, table, TG_DATA, &row) != TG_OK)
			abort();
		wrong += row % 2 != 0 || row >= count || seen[row]++ || *tg_row_head(table, row) != TG_VERSION_NONE;
	}
	unit_equal(wrong, 0, "free ones are taken first, each once, open again");
	unit_equal(table->free_row_count, 0, "none is free then");
	free(seen);

	tg_leases_end(session);
	if (tg_row_take(session, table, TG_DATA, &row) != TG_OK)
		abort();
	tg_leases_end(session);
	unit_equal(table->free_row_count, TG_ROW_BATCH - 1, "the end of a lease returns what is left of it");
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of the rows");
}

/* Without the rows themselves: the last ids there are. */
static void
test_row_limit(void)
{
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	uint32_t row = 0;
	uint32_t last = 0;
	tg_status status;

	table->row_next = TG_ROW_MAX - 40;
	while ((status = tg_row_take(session, table, TG_DATA, &row)) == TG_OK)
		last = row;
	unit_ok(status == TG_FULL, "row ids come to an end");
	unit_equal(last, TG_ROW_MAX - 1, "at the last one");
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of the last rows");
}

/* --- nothing is left ---------------------------------------------------------------- */

/* The states that a row's versions may be in when its table goes. */
static void
make_state(tg_table *table, unsigned state, uint32_t row)
{
	tg_version first = add_version(table, row, NULL, 1);
	tg_version second;
	tg_version third;

	switch (state)
	{
		case 0: /* a row, settled or not */
			break;
		case 1: /* a chain that shares */
			(void) add_sharing(table, add_sharing(table, first, 2), 3);
			break;
		case 2: /* a chain that does not */
			second = add_version(table, row, NULL, 2);
			header_of(second)->older = first;
			header_of(first)->end = 2;
			break;
		case 3: /* the older one is cut out, its blobs not freed */
			second = add_sharing(table, first, 2);
			header_of(second)->older = TG_VERSION_NONE;
			header_of(first)->begin = TG_TIME_NEVER;
			break;
		case 4: /* two cut out at different times; the middle one's link is gone */
			second = add_sharing(table, first, 2);
			third = add_sharing(table, second, 3);
			header_of(second)->older = TG_VERSION_NONE;
			header_of(third)->older = TG_VERSION_NONE;
			header_of(first)->begin = TG_TIME_NEVER;
			header_of(second)->begin = TG_TIME_NEVER;
			break;
		case 5: /* blobs freed, slot not given */
			second = add_sharing(table, first, 2);
			header_of(second)->older = TG_VERSION_NONE;
			header_of(first)->begin = TG_TIME_NEVER;
			tg_version_blobs_free(session, first, second, TG_VERSION_NONE);
			break;
		case 6: /* given back altogether */
			second = add_sharing(table, first, 2);
			header_of(second)->older = TG_VERSION_NONE;
			header_of(first)->begin = TG_TIME_NEVER;
			tg_version_blobs_free(session, first, second, TG_VERSION_NONE);
			tg_epoch_enter(session);
			tg_slot_give(session, first);
			tg_epoch_leave(session);
			break;
		case 7: /* deleted, the row closed, nothing freed */
			header_of(first)->end = 2;
			header_of(first)->begin = TG_TIME_NEVER;
			break;
		case 8: /* stored, never published */
			(void) add_version(table, row, NULL, TG_TIME_NEVER);
			break;
		case 9: /* a slot taken and nothing stored */
			tg_epoch_enter(session);
			if (tg_slot_take(session, table, TG_DATA, &second) != TG_OK)
				abort();
			tg_epoch_leave(session);
			break;
	}
}

static void
test_nothing_left(void)
{
	size_t before = used_bytes();

	for (unsigned mode = 0; mode < 4; mode++)
	{
		for (unsigned state = 0; state <= 10; state++)
		{
			tg_table *table = make_table(&row_key);
			unsigned settled = 0;
			uint32_t row;

			for (unsigned i = 0; i < 3000; i++)
			{
				if (tg_row_take(session, table, TG_DATA, &row) != TG_OK)
					abort();
				make_state(table, state < 10 ? state : i % 10, row);
			}
			if (mode & 1)
				tg_leases_end(session); /* else it is forgotten */
			if (mode & 2)
				settled = settle_all(table, 3);
			unit_equal(table->blob_bytes < 0, false, "state %u, mode %u: bytes of blobs", state, mode);
			if (mode == 3 && state == 0)
				unit_equal(settled, 6, "chunks of quiet rows are settled");
			end_table(table);
			unit_equal(used_bytes(), before, "nothing is left in state %u, mode %u", state, mode);
		}
	}
}

static unsigned allocations_left;

static bool
refuse_late(const char *name)
{
	return strcmp(name, "alloc") == 0 && allocations_left-- == 0;
}

/* Everything once, with one allocation refused; true if none was. */
static bool
go_through(void)
{
	static const uint8_t kinds[] = {TG_KIND_8, TG_KIND_STRING, TG_KIND_STRING, TG_KIND_STRING, TG_KIND_2};
	static const bool nulls[5];
	unsigned char memory[HEADER_BYTES + TEXT_BYTES];
	bool complete = true;
	tg_value values[5];
	tg_table *table;

	if (tg_table_create(session, 1, 2, kinds, 4, &row_key, TG_DATA, &table) != TG_OK)
		return false;
	make_values(values, 1, memory);
	values[1] = values[2] = values[3];
	for (unsigned i = 0; i < 9000 && complete; i++)
	{
		tg_version version;
		uint32_t row;

		complete = tg_row_take(session, table, TG_DATA, &row) == TG_OK;
		if (i % 128 != 0 || !complete)
			continue;
		tg_epoch_enter(session);
		if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK)
			complete = false;
		else if (tg_version_store(session, version, row, values, nulls, TG_DATA) != TG_OK)
		{
			complete = false;
			tg_slot_give(session, version);
		}
		tg_epoch_leave(session);
	}
	complete = complete && tg_table_layout_add(session, table, kinds, 5) == TG_OK;
	tg_leases_forget(table);
	tg_table_release(session, table);
	return complete;
}

static void
test_refusals(void)
{
	size_t before = used_bytes();
	unsigned left = 0;
	unsigned refused;

	tg_failpoint_set(refuse_late);
	for (refused = 0;; refused++)
	{
		bool complete;

		allocations_left = refused;
		complete = go_through();
		left += used_bytes() != before;
		if (complete)
			break;
	}
	tg_failpoint_set(NULL);
	unit_ok(refused > 200, "an allocation was refused at each of %u places", refused);
	unit_equal(left, 0, "and nothing was left of the table");
}

/* --- figures ------------------------------------------------------------------------ */

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static void
test_budget(void)
{
	const unsigned count = 100000 * EFFORT;
	unsigned char memory[HEADER_BYTES + TEXT_BYTES];
	size_t before = used_bytes();
	tg_table *table = make_table(&row_key);
	tg_arena_report report;
	tg_value values[4];
	double rows_time;
	double slots_time;
	double per_row;
	double start;
	unsigned settled;

	start = seconds();
	for (unsigned i = 0; i < count; i++)
	{
		uint32_t row;

		if (tg_row_take(session, table, TG_DATA, &row) != TG_OK)
			abort();
	}
	rows_time = seconds() - start;
	start = seconds();
	make_values(values, 1, memory);
	for (unsigned i = 0; i < count; i++)
	{
		tg_version version;

		tg_epoch_enter(session);
		values[0].word = i;
		if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK ||
			tg_version_store(session, version, i, values, no_nulls, TG_DATA) != TG_OK)
			abort();
		tg_store_release(&header_of(version)->begin, 1);
		tg_store_release(tg_row_head(table, i), version);
		tg_epoch_leave(session);
	}
	slots_time = seconds() - start;
	start = seconds();
	for (unsigned i = 0; i < count; i++)
	{
		unsigned char key[TG_KEY_BYTES_MAX];
		size_t bytes;
		uint32_t row = i;

		values[0].word = i;
		tg_epoch_enter(session);
		if (tg_key_encode(session, table, row_kinds, values, key, &bytes) != TG_OK ||
			tg_btree_insert(session, table->index, key, bytes, &row, TG_DATA) != TG_OK)
			abort();
		tg_epoch_leave(session);
	}
	printf("# row id %.0f ns, slot and values %.0f ns, index entry %.0f ns\n", rows_time * 1e9 / count,
		   slots_time * 1e9 / count, (seconds() - start) * 1e9 / count);
	tg_leases_end(session);
	settled = settle_all(table, 1);
	drain_retired();
	unit_equal(settled, tg_table_chunk_count(table), "all %u chunks are settled", settled);
	tg_arena_report_get(&report);
	per_row = (double) (used_bytes() - before) / count;
	printf("# bytes per row: heads %.2f, chunks %.2f, headers %.2f, blobs %.2f, index %.2f, all %.2f\n",
		   (double) table->table_bytes / count, (double) table->chunk_bytes / count,
		   (double) table->header_bytes / count, (double) table->blob_bytes / count,
		   (double) report.used_by[TG_USE_INDEX] / count, per_row);
	unit_ok(per_row <= 150, "a row of (bigint, int, int, text of 80) costs %.1f bytes with its index entry", per_row);
	unit_ok((int64_t) (used_bytes() - before) == table->table_bytes + table->chunk_bytes + table->header_bytes +
													 table->blob_bytes + (int64_t) report.used_by[TG_USE_INDEX],
			"the table's accounts say so, too");
	start = seconds();
	end_table(table);
	printf("# release %.0f ns per row\n", (seconds() - start) * 1e9 / count);
	unit_equal(used_bytes(), before, "nothing is left of the large table");
}

/* A thousand partitions of a few rows each. */
static void
test_small_tables(void)
{
	size_t before = used_bytes();
	static tg_table *tables[1000];
	size_t per_table;
	uint32_t row;

	for (unsigned i = 0; i < 1000; i++)
	{
		tables[i] = make_table(&row_key);
		for (unsigned j = 0; j < 4; j++)
		{
			if (tg_row_take(session, tables[i], TG_DATA, &row) != TG_OK)
				abort();
			(void) add_version(tables[i], row, NULL, 1);
		}
	}
	per_table = (used_bytes() - before) / 1000;
	unit_ok(per_table <= 10000, "a table of four rows costs %zu bytes", per_table);
	for (unsigned i = 0; i < 1000; i++)
		end_table(tables[i]);
	unit_equal(used_bytes(), before, "nothing is left of a thousand tables");
}

int
main(void)
{
	start_storage();
	test_guess();
	test_rows();
	test_row_limit();
	test_nothing_left();
	test_refusals();
	test_budget();
	test_small_tables();
	return end_storage();
}
