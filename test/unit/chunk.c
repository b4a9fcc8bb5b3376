/*
 * chunk.c
 *	  Chunks: layouts and sizes, slots taken and given, chunks listed, freed and
 *	  made again, values and shared blobs.
 */
#include "runtime/table/table_internal.h"

#include <pthread.h>
#include <sched.h>

#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "test/unit/storage_unit.h"

/* --- layout ------------------------------------------------------------------------ */

static void
test_layout(void)
{
	static const unsigned widths[] = {1, 2, 4, 8, 16, 16};
	uint8_t kinds[40];
	unsigned wrong = 0;
	unsigned waste_max = 0;

	for (unsigned round = 0; round < 2000; round++)
	{
		unsigned count = 1 + (unsigned) rand() % 40;
		tg_layout *layout;

		for (unsigned i = 0; i < count; i++)
			kinds[i] = (uint8_t) (rand() % 6);
		if (tg_layout_create(session, kinds, count, TG_DATA, &layout) != TG_OK)
			abort();
		for (unsigned chunks = 0; chunks < 4; chunks++)
		{
			unsigned capacity = tg_chunk_capacity(layout, chunks);
			size_t bytes = tg_chunk_bytes(layout, capacity);
			size_t end = 0;

			for (unsigned i = 0; i < count; i++)
			{
				wrong += (size_t) layout->offsets[i] * capacity % 16 != 0;
				wrong +=
					i > 0 && widths[kinds[i]] > widths[kinds[i - 1]] && layout->offsets[i] > layout->offsets[i - 1];
				end += widths[kinds[i]];
			}
			wrong += end != layout->slot_bytes || capacity % 16 != 0 || capacity == 0 || capacity > TG_SLOT_MAX;
			wrong += bytes > 512 * 1024 && capacity > 16;
			if (chunks == 3 && bytes > 4 * TG_PAGE_BYTES)
			{
				size_t pages = (bytes + TG_PAGE_BYTES - 1) / TG_PAGE_BYTES * TG_PAGE_BYTES;
				unsigned waste = (unsigned) ((pages - bytes) * 1000 / pages);

				if (waste > waste_max)
					waste_max = waste;
			}
		}
		tg_free(session, layout, TG_USE_TABLE);
	}
	unit_equal(wrong, 0, "layouts: columns out of line or out of order, capacities out of bounds");
	unit_ok(waste_max <= 30, "full chunks waste at most 3 per cent of their pages (%u per mille)", waste_max);
}

static void
test_widest(void)
{
	static uint8_t kinds[TG_COLUMN_MAX];
	static tg_value values[TG_COLUMN_MAX];
	static bool nulls[TG_COLUMN_MAX];
	size_t before = used_bytes();
	tg_table *table;
	tg_version version;

	memset(kinds, TG_KIND_16, sizeof(kinds));
	memset(values, 0x55, sizeof(values));
	if (tg_table_create(session, 1, 2, kinds, TG_COLUMN_MAX, NULL, TG_DATA, &table) != TG_OK)
		abort();
	tg_epoch_enter(session);
	unit_ok(tg_slot_take(session, table, TG_DATA, &version) == TG_OK &&
				tg_version_store(session, version, 0, values, nulls, TG_DATA) == TG_OK &&
				memcmp((const tg_value *) tg_chunk_column(tg_version_chunk(version), TG_COLUMN_MAX - 1) +
						   tg_version_slot(version),
					   &values[0], sizeof(tg_value)) == 0,
			"a table of the most and widest columns");
	tg_epoch_leave(session);
	end_table(table);
	unit_equal(used_bytes(), before, "and nothing is left of it");
}

/* --- slots ----------------------------------------------------------------------------------- */

static bool
is_fresh(tg_version version)
{
	const tg_header *header = header_of(version);
	uint64_t present[TG_SLOT_MAX / 64];
	unsigned slot = tg_version_slot(version);

	return tg_chunk_look(tg_version_chunk(version), present) != NULL && (present[slot / 64] >> slot % 64 & 1) != 0 &&
		   header->begin == TG_TIME_NEVER && header->end == TG_TIME_NEVER && header->older == TG_VERSION_NONE &&
		   header->successor == 0;
}

static void
test_slots(void)
{
	enum
	{
		COUNT = 16 + 64 + 256 + 2 * 977
	};
	static tg_version versions[COUNT];
	static const unsigned capacities[] = {16, 64, 256, 992, 992};
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	unsigned wrong = 0;
	tg_version version;
	tg_chunk *chunk;

	tg_epoch_enter(session);
	for (unsigned i = 0; i < COUNT; i++)
	{
		if (tg_slot_take(session, table, TG_DATA, &versions[i]) != TG_OK)
			abort();
		wrong += !is_fresh(versions[i]);
		wrong += i > 0 && tg_version_chunk(versions[i]) == tg_version_chunk(versions[i - 1]) &&
				 tg_version_slot(versions[i]) != tg_version_slot(versions[i - 1]) + 1;
		header_of(versions[i])->end = 5; /* as if used */
		header_of(versions[i])->successor = 5;
		header_of(versions[i])->older = versions[0];
	}
	unit_equal(wrong, 0, "slots are fresh and ascend within a chunk");
	unit_equal(tg_table_chunk_count(table), 5, "chunks");
	for (unsigned i = 0; i < 5; i++)
	{
		chunk = tg_table_chunk(table, i);
		unit_equal(chunk->capacity, capacities[i], "capacity of chunk %u", i);
		unit_equal(chunk->free_count, chunk->capacity == 992 ? 15 : 0, "chunk %u is full, except for a 64th", i);
		unit_equal((uint64_t) tg_alloc_bytes(chunk) - tg_chunk_bytes(chunk->layout, chunk->capacity) < TG_PAGE_BYTES,
				   true, "chunk %u occupies what it should", i);
	}
	unit_ok(table->partial == NULL, "no chunk is listed");

	/* Fewer than another 64th: not listed. */
	chunk = tg_table_chunk(table, 3);
	for (unsigned i = 0; i < 15; i++)
	{
		unit_equal(chunk->listed, TG_UNLISTED, "not listed with %u slots free", i) || (i = 15);
		tg_slot_give(session, versions[16 + 64 + 256 + i * 3]);
	}
	unit_equal(chunk->listed, TG_LISTED, "listed when another 64th is free");
	unit_equal(chunk->free_count, 30, "as its count says");
	wrong = 0;
	for (unsigned i = 0; i < 15; i++)
	{
		if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK)
			abort();
		wrong += !is_fresh(version) || version != versions[16 + 64 + 256 + i * 3];
	}
	unit_equal(wrong, 0, "those slots are taken again, ascending and fresh");
	unit_equal(chunk->leased, 1, "its chunk is leased");
	if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK)
		abort();
	unit_ok(tg_version_chunk(version) != chunk && !chunk->leased && chunk->listed == TG_UNLISTED,
			"of which the last 64th is not taken, nor is it listed");
	tg_epoch_leave(session);
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of the slots");
}

static void
test_reclaim(void)
{
	static tg_version versions[16 + 64 + 256];
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	int64_t chunk_bytes;
	tg_chunk *chunk;
	tg_version version;

	tg_epoch_enter(session);
	for (unsigned i = 0; i < 16 + 64 + 256; i++)
		if (tg_slot_take(session, table, TG_DATA, &versions[i]) != TG_OK)
			abort();
	chunk = tg_table_chunk(table, 1);
	unit_ok(!tg_chunk_reclaim(session, chunk), "a full chunk is not reclaimed");
	for (unsigned i = 0; i < 64; i++)
		tg_slot_give(session, versions[16 + i]);
	chunk_bytes = table->chunk_bytes;
	unit_ok(tg_chunk_reclaim(session, chunk), "an empty one is");
	unit_ok(tg_table_chunk(table, 1) == NULL && table->partial == NULL, "it is neither in the directory nor listed");
	unit_equal((uint64_t) (chunk_bytes - table->chunk_bytes), tg_alloc_bytes(chunk), "its bytes are booked off");
	unit_ok(!tg_chunk_reclaim(session, chunk), "it is reclaimed once");
	for (unsigned i = 0; i < 256; i++)
		tg_slot_give(session, versions[16 + 64 + i]);
	unit_ok(!tg_chunk_reclaim(session, tg_table_chunk(table, 2)), "a leased one is not");
	tg_leases_end(session);
	unit_ok(tg_chunk_reclaim(session, tg_table_chunk(table, 2)), "unless the lease has ended");
	if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK)
		abort();
	unit_equal(tg_version_chunk(version)->index, 1, "the first empty place in the directory is used again");
	unit_equal(table->chunk_count, 3, "and the directory does not grow");
	tg_slot_give(session, version);
	tg_leases_end(session);
	unit_ok(tg_chunk_reclaim(session, tg_table_chunk(table, 1)), "and emptied again");
	for (unsigned i = 0; i < 16; i++)
		tg_slot_give(session, versions[i]);
	unit_ok(!tg_chunk_reclaim(session, tg_table_chunk(table, 0)), "the last chunk stays");
	tg_epoch_leave(session);
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of the chunks");
}

static void
test_layout_add(void)
{
	static const uint8_t more_kinds[] = {TG_KIND_8, TG_KIND_4, TG_KIND_4, TG_KIND_STRING, TG_KIND_STRING, TG_KIND_2};
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	tg_version old = add_version(table, 1, NULL, 1);
	tg_version kept = add_version(table, 1, NULL, 1);
	tg_version new;

	if (tg_table_layout_add(session, table, more_kinds, 6) != TG_OK)
		abort();
	tg_epoch_enter(session);
	if (tg_slot_take(session, table, TG_DATA, &new) != TG_OK)
		abort();
	unit_equal(tg_version_chunk(new)->layout->column_count, 6, "slots are of the newest layout");
	unit_ok(tg_chunk_is_null(tg_version_chunk(old), 5, tg_version_slot(old)), "an older chunk's new columns are NULL");
	tg_epoch_leave(session);
	give_slot(old);
	tg_leases_end(session);
	tg_epoch_enter(session);
	if (tg_slot_take(session, table, TG_DATA, &new) != TG_OK)
		abort();
	unit_equal(tg_version_chunk(new)->layout->column_count, 6, "free ones of the older are not used");
	unit_equal(tg_version_chunk(kept)->listed, TG_UNLISTED, "nor listed");
	tg_epoch_leave(session);
	give_slot(kept);
	tg_epoch_enter(session);
	unit_ok(tg_chunk_reclaim(session, tg_version_chunk(kept)), "but their chunk is reclaimed when it is empty");
	tg_epoch_leave(session);
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of both layouts");
}

/* --- slots near others -------------------------------------------------------------- */

enum
{
	SMALL = 16 + 64 + 256,
	FULL = 992,
	FILLED = 977 /* by inserts */
};

static void
take_slot(tg_table *table, tg_version *version_out)
{
	if (tg_slot_take(session, table, TG_DATA, version_out) != TG_OK)
		abort();
}

static tg_version
take_beside(tg_table *table, tg_version near, tg_version replaced)
{
	tg_version version;

	if (tg_slot_take_near(session, table, near, replaced, TG_DATA, &version) != TG_OK)
		abort();
	return version;
}

static tg_version
take_near(tg_table *table, tg_version near)
{
	return take_beside(table, near, near);
}

/* A table with three small chunks and two of full size, no slot of them free. */
static tg_table *
make_full_table(tg_version versions[SMALL + 2 * FULL])
{
	tg_table *table = make_table(NULL);

	tg_epoch_enter(session);
	for (unsigned i = 0; i < SMALL + FILLED; i++)
		take_slot(table, &versions[i]);
	for (unsigned i = 0; i < FILLED; i++)
		take_slot(table, &versions[SMALL + FULL + i]);
	tg_leases_end(session);
	for (unsigned i = FILLED; i < FULL; i++)
	{
		versions[SMALL + i] = take_near(table, versions[SMALL + i - 1]);
		versions[SMALL + FULL + i] = take_near(table, versions[SMALL + FULL + i - 1]);
	}
	tg_epoch_leave(session);
	return table;
}

static void
test_near(void)
{
	static tg_version versions[SMALL + 2 * FULL];
	size_t before = used_bytes();
	tg_table *table = make_full_table(versions);
	const tg_version *full = versions + SMALL;
	bool at_home = true;

	for (unsigned i = 0; i < FULL; i++)
		at_home = at_home && full[i] == tg_version_make(tg_table_chunk(table, 3), i) &&
				  full[FULL + i] == tg_version_make(tg_table_chunk(table, 4), i);
	unit_ok(at_home, "the slots that inserts leave in a chunk are for versions near others in it");
	tg_epoch_enter(session);
	tg_slot_give(session, full[10]);
	tg_slot_give(session, full[63]);
	tg_slot_give(session, full[200]);
	tg_slot_give(session, full[FULL - 1]);
	tg_slot_give(session, versions[0]);
	unit_ok(take_near(table, full[20]) == full[63], "the next free slot of the same word");
	unit_ok(take_near(table, full[20]) == full[10], "or one before it");
	unit_ok(take_near(table, full[100]) == full[200], "or the next words'");
	unit_ok(take_near(table, full[20]) == full[FULL - 1], "up to the chunk's last slot");
	unit_ok(is_fresh(full[63]) && is_fresh(full[10]), "they are fresh");
	unit_equal(tg_table_chunk(table, 3)->free_count, 0, "and counted");
	unit_ok(tg_version_chunk(take_near(table, full[20])) != tg_version_chunk(full[20]), "then any other chunk's");
	unit_ok(tg_version_chunk(take_near(table, versions[1])) != tg_table_chunk(table, 0),
			"of a small chunk's none is taken so");
	tg_slot_give(session, full[FULL + 5]);
	tg_store_seq_cst(&tg_table_chunk(table, 4)->leased, 1);
	unit_ok(tg_version_chunk(take_near(table, full[FULL])) != tg_version_chunk(full[FULL]), "nor of a leased one's");
	unit_ok(take_beside(table, versions[1], full[FULL]) != full[FULL + 5],
			"whether or not it has the version replaced");
	tg_store_seq_cst(&tg_table_chunk(table, 4)->leased, 0);
	unit_ok(take_beside(table, full[20], full[FULL]) == full[FULL + 5],
			"else, if the neighbour's has none, of that of the version replaced");
	tg_slot_give(session, full[FULL + 5]);
	tg_slot_give(session, full[20]);
	unit_ok(take_beside(table, full[30], full[FULL]) == full[20], "but the neighbour's goes first");
	tg_epoch_leave(session);
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of them");
}

#define NEAR_THREADS 4
#define NEAR_ROUNDS (5000 * EFFORT)

static struct
{
	tg_table *table;
	tg_version near;
	uint32_t owned[FULL]; /* atomic */
	uint32_t twice;		  /* atomic */
} near;

/* Lets others in between seeing that a slot is free and taking it. */
static bool
yield_before_claim(const char *name)
{
	static _Thread_local unsigned claims;

	if (strcmp(name, "slot_claim") == 0 && ++claims % 8 == 0)
		sched_yield();
	return false;
}

/* Takes slots near one, or where its lease is, and gives them back. */
static void *
run_near(void *argument)
{
	bool leases = argument != NULL;
	tg_session *own;

	if (tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned round = 0; round < NEAR_ROUNDS; round++)
	{
		tg_version taken[3];

		tg_epoch_enter(own);
		for (unsigned i = 0; i < 3; i++)
		{
			tg_status status = leases ? tg_slot_take(own, near.table, TG_DATA, &taken[i])
									  : tg_slot_take_near(own, near.table, near.near, near.near, TG_DATA, &taken[i]);

			if (status != TG_OK)
				abort();
			if (tg_version_chunk(taken[i]) == tg_version_chunk(near.near) &&
				tg_exchange_acq_rel(&near.owned[tg_version_slot(taken[i])], 1) != 0)
				tg_fetch_add_relaxed(&near.twice, 1);
		}
		for (unsigned i = 0; i < 3; i++)
		{
			if (tg_version_chunk(taken[i]) == tg_version_chunk(near.near))
				tg_store_release(&near.owned[tg_version_slot(taken[i])], 0);
			tg_slot_give(own, taken[i]);
		}
		tg_epoch_leave(own);
		tg_leases_end(own); /* no session takes a slot near another in a leased chunk */
	}
	tg_session_close(own);
	return NULL;
}

static void
test_near_race(void)
{
	static tg_version versions[SMALL + 2 * FULL];
	size_t before = used_bytes();
	pthread_t threads[NEAR_THREADS];
	const tg_chunk *chunk;

	near.table = make_full_table(versions);
	near.near = versions[SMALL + 100];
	chunk = tg_version_chunk(near.near);
	tg_epoch_enter(session);
	for (unsigned i = 0; i < 70; i++)
		tg_slot_give(session, versions[SMALL + 101 + i]);
	tg_epoch_leave(session);
	tg_failpoint_set(yield_before_claim);
	for (unsigned i = 0; i < NEAR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_near, i == 0 ? &near : NULL) != 0)
			abort();
	for (unsigned i = 0; i < NEAR_THREADS; i++)
		pthread_join(threads[i], NULL);
	tg_failpoint_set(NULL);
	unit_equal(tg_load_relaxed(&near.twice), 0, "no slot is taken twice, near or by lease");
	unit_equal(chunk->free_count, 70, "and as many are free as before");
	unit_ok(!chunk->leased && chunk->listed == TG_LISTED, "in a chunk that is listed");
	end_table(near.table);
	unit_equal(used_bytes(), before, "nothing is left of them");
}

/* --- values ------------------------------------------------------------------------- */

static void
test_values(void)
{
	static const uint8_t kinds[] = {TG_KIND_1, TG_KIND_STRING, TG_KIND_2, TG_KIND_16,
									TG_KIND_4, TG_KIND_STRING, TG_KIND_8};
	enum
	{
		COUNT = 500,
		COLUMNS = sizeof(kinds)
	};
	static tg_value values[COUNT][COLUMNS];
	static bool nulls[COUNT][COLUMNS];
	static char memory[COUNT][COLUMNS][64];
	static tg_version versions[COUNT];
	size_t before = used_bytes();
	unsigned wrong = 0;
	tg_table *table;

	if (tg_table_create(session, 1, 2, kinds, COLUMNS, NULL, TG_DATA, &table) != TG_OK)
		abort();
	/* Twice, so that slots are used again for other NULLs. */
	for (unsigned round = 0; round < 2; round++)
	{
		for (unsigned i = 0; i < COUNT; i++)
		{
			for (unsigned j = 0; j < COLUMNS; j++)
			{
				unsigned bytes = (unsigned) rand() % 60;

				nulls[i][j] = rand() % 4 == 0;
				if (kinds[j] == TG_KIND_STRING)
				{
					memset(memory[i][j], 'a' + rand() % 26, sizeof(memory[i][j]));
					if (bytes <= TG_STRING_INLINE_MAX && rand() % 2)
						tg_string_make_inline(&values[i][j].string, memory[i][j], bytes);
					else
						tg_string_make_host(&values[i][j].string, memory[i][j], bytes + 4, HEADER_BYTES);
				}
				else if (kinds[j] == TG_KIND_16)
					memset(&values[i][j], rand(), 16);
				else
					values[i][j].word = (uint64_t) ((int64_t) (((uint64_t) rand() << 33 ^ (uint64_t) rand())
															   << (64 - (8 << kinds[j]))) >>
													(64 - (8 << kinds[j])));
			}
			tg_epoch_enter(session);
			if (tg_slot_take(session, table, TG_DATA, &versions[i]) != TG_OK ||
				tg_version_store(session, versions[i], i * 3, values[i], nulls[i], TG_DATA) != TG_OK)
				abort();
			tg_epoch_leave(session);
		}
		for (unsigned i = 0; i < COUNT; i++)
		{
			const tg_chunk *chunk = tg_version_chunk(versions[i]);
			unsigned slot = tg_version_slot(versions[i]);

			wrong += tg_version_row(versions[i]) != i * 3;
			for (unsigned j = 0; j < COLUMNS; j++)
			{
				tg_value value;

				wrong += tg_chunk_is_null(chunk, j, slot) != nulls[i][j];
				if (nulls[i][j])
					continue;
				tg_chunk_value(chunk, j, slot, &value);
				if (kinds[j] <= TG_KIND_8)
					wrong += value.word != values[i][j].word;
				else if (kinds[j] == TG_KIND_16 || !tg_string_is_out(&values[i][j].string))
					wrong += memcmp(&value, &values[i][j], 16) != 0;
				else
				{
					uint32_t bytes = tg_string_blob_bytes(&values[i][j].string);

					wrong += value.string.word != (TG_STRING_OUT | bytes) || value.string.blob == memory[i][j] ||
							 memcmp(value.string.prefix, values[i][j].string.prefix, 4) != 0 ||
							 memcmp(value.string.blob, memory[i][j], bytes) != 0;
				}
			}
		}
		for (unsigned i = 0; round == 0 && i < COUNT; i++)
			give_slot(versions[i]);
		if (round == 0)
		{
			tg_leases_end(session);
			unit_equal((uint64_t) table->blob_bytes, 0, "blobs given back are booked off");
		}
	}
	unit_equal(wrong, 0, "values and NULLs come back as they were stored");
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of the values");
}

static void
test_sharing(void)
{
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	tg_version first = add_version(table, 1, NULL, 1);
	tg_version second = add_sharing(table, first, 2);
	tg_version third = add_sharing(table, second, 3);
	tg_arena_report report;
	size_t blobs;

	tg_arena_report_get(&report);
	blobs = report.used_by[TG_USE_BLOB];
	tg_version_blobs_free(session, first, second, TG_VERSION_NONE);
	tg_arena_report_get(&report);
	unit_equal(report.used_by[TG_USE_BLOB], blobs, "a blob that a neighbour shares stays");
	tg_version_blobs_free(session, second, TG_VERSION_NONE, third);
	tg_version_blobs_free(session, third, TG_VERSION_NONE, TG_VERSION_NONE);
	tg_arena_report_get(&report);
	unit_ok(report.used_by[TG_USE_BLOB] < blobs, "and goes with the last one");
	tg_leases_end(session);
	unit_equal((uint64_t) table->blob_bytes, 0, "so the account says");
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of the shared blobs");
}

/* --- blobs that stay with their slots ----------------------------------------------- */

static void *
blob_of(tg_version version)
{
	const tg_string *cell = tg_chunk_cell(tg_version_chunk(version), 3, tg_version_slot(version));

	return tg_string_is_out(cell) ? (void *) cell->blob : NULL;
}

static size_t
blob_bytes(tg_table *table)
{
	tg_arena_report report;

	tg_leases_end(session);
	tg_arena_report_get(&report);
	unit_equal((uint64_t) table->blob_bytes, report.used_by[TG_USE_BLOB], "blobs are booked exactly");
	return report.used_by[TG_USE_BLOB];
}

/* As the collector does with one that was replaced. */
static void
leave_slot(tg_version version, tg_version above, tg_version below)
{
	tg_epoch_enter(session);
	tg_version_blobs_leave(session, version, above, below);
	header_of(version)->begin = TG_TIME_NEVER;
	tg_slot_give(session, version);
	tg_epoch_leave(session);
}

static tg_status
store_text(tg_version version, unsigned char *text, unsigned bytes, bool null)
{
	const bool nulls[4] = {false, false, false, null};
	tg_value values[4] = {{.word = 1}, {.word = 2}, {.word = 3}};
	tg_status status;

	if (bytes <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&values[3].string, text, bytes);
	else
		tg_string_make_host(&values[3].string, text, bytes, HEADER_BYTES);
	tg_epoch_enter(session);
	status = tg_version_store(session, version, 1, values, nulls, TG_DATA);
	tg_epoch_leave(session);
	return status;
}

static tg_version
take_again(tg_table *table, tg_version expected)
{
	tg_version version;

	tg_epoch_enter(session);
	version = take_near(table, expected);
	tg_epoch_leave(session);
	unit_ok(version == expected, "the slot is taken again");
	return version;
}

static bool
refuse_alloc(const char *name)
{
	return strcmp(name, "alloc") == 0;
}

static void
test_spares(void)
{
	static tg_version versions[SMALL + 2 * FULL];
	static unsigned char text[8000];
	size_t before = used_bytes();
	tg_table *table = make_full_table(versions);
	const tg_version *full = versions + SMALL;
	tg_version shared;
	void *blob;
	size_t bytes;

	memset(text, 'a', sizeof(text));
	for (unsigned i = 0; i < 200; i++)
		if (store_text(full[i], text, 80, false) != TG_OK)
			abort();
	bytes = blob_bytes(table);
	blob = blob_of(full[7]);
	leave_slot(full[7], full[8], TG_VERSION_NONE);
	unit_equal(blob_bytes(table), bytes, "the blob of a version that was replaced stays with its slot");
	(void) take_again(table, full[7]);
	tg_failpoint_set(refuse_alloc);
	unit_ok(store_text(full[7], text, 75, false) == TG_OK && blob_of(full[7]) == blob,
			"and is the next version's, without an allocation");
	leave_slot(full[7], full[8], TG_VERSION_NONE);
	(void) take_again(table, full[7]);
	unit_ok(store_text(full[7], text, 200, false) == TG_NO_MEMORY && blob_of(full[7]) == NULL,
			"one that needs more room is refused where there is no memory, and nothing is kept");
	tg_failpoint_set(NULL);
	unit_ok(store_text(full[7], text, 200, false) == TG_OK, "else gets a blob of its own");
	bytes = blob_bytes(table);
	leave_slot(full[7], full[8], TG_VERSION_NONE);
	(void) take_again(table, full[7]);
	unit_ok(store_text(full[7], text, 80, false) == TG_OK && blob_bytes(table) < bytes, "as one that needs less");

	bytes = blob_bytes(table);
	leave_slot(full[7], full[8], TG_VERSION_NONE);
	(void) take_again(table, full[7]);
	unit_ok(store_text(full[7], text, 80, true) == TG_OK && blob_bytes(table) < bytes, "NULL needs none");
	leave_slot(full[9], full[8], TG_VERSION_NONE);
	(void) take_again(table, full[9]);
	unit_ok(store_text(full[9], text, 5, false) == TG_OK && blob_of(full[9]) == NULL, "nor a short one");
	leave_slot(full[7], full[8], TG_VERSION_NONE);
	leave_slot(full[10], full[8], TG_VERSION_NONE);
	(void) take_again(table, full[10]);
	blob = blob_of(full[10]);
	tg_epoch_enter(session);
	tg_version_copy(session, full[10], full[11]);
	tg_epoch_leave(session);
	unit_ok(blob_of(full[10]) == blob && blob != blob_of(full[11]) && memcmp(blob, text, 80) == 0,
			"a copy is written into the slot's own");

	bytes = blob_bytes(table);
	shared = add_sharing(table, full[12], 5);
	unit_ok(blob_of(shared) == blob_of(full[12]), "one that two versions share");
	leave_slot(full[12], shared, TG_VERSION_NONE);
	unit_ok(blob_of(full[12]) == NULL && blob_bytes(table) == bytes, "goes on with the newer one");
	(void) take_again(table, full[7]);
	unit_ok(store_text(full[7], text, 8000, false) == TG_OK, "a large one");
	leave_slot(full[7], full[8], TG_VERSION_NONE);
	unit_ok(blob_of(full[7]) == NULL && blob_bytes(table) == bytes, "does not stay");

	for (unsigned i = 20; i < 200; i++)
		leave_slot(full[i], full[8], TG_VERSION_NONE);
	unit_ok(blob_bytes(table) == bytes, "180 more where few slots are free");
	for (unsigned i = 200; i < FULL; i++)
		leave_slot(full[i], full[8], TG_VERSION_NONE);
	for (unsigned i = 0; i < 20; i++)
		if (i != 7 && i != 12)
			leave_slot(full[i], shared, TG_VERSION_NONE);
	unit_ok(blob_of(full[10]) == NULL, "and none where many are");
	unit_ok(blob_of(full[150]) != NULL, "those that were kept wait");
	tg_epoch_enter(session);
	unit_ok(tg_chunk_reclaim(session, tg_version_chunk(full[0])), "until the chunk goes");
	tg_epoch_leave(session);
	give_slot(shared);
	unit_equal(blob_bytes(table), 0, "then these go, too");
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of them");
}

int
main(void)
{
	start_storage();
	test_layout();
	test_widest();
	test_slots();
	test_reclaim();
	test_layout_add();
	test_near();
	test_near_race();
	test_values();
	test_sharing();
	test_spares();
	return end_storage();
}
