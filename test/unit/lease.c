/*
 * lease.c
 *	  Leases of sessions come back, however they end, and no two sessions ever have the same row id
 *	  or slot.
 */
#include "runtime/table/lease.h"

#include <sched.h>

#include "runtime/base/failpoint.h"
#include "runtime/table/table_internal.h"
#include "test/unit/storage_unit.h"

#define THREADS 4

/* --- leases ------------------------------------------------------------------------- */

static void
test_eviction(void)
{
	tg_table *tables[12];
	size_t before = used_bytes();
	unsigned leased = 0;
	unsigned listed = 0;
	uint32_t row;

	for (unsigned i = 0; i < 12; i++)
	{
		tables[i] = make_table(NULL);
		(void) add_version(tables[i], 1, NULL, 1);
		if (tg_row_take(session, tables[i], TG_DATA, &row) != TG_OK)
			abort();
		(void) add_version(tables[0], 1, NULL, 1); /* the one that is used all the time */
	}
	for (unsigned i = 0; i < 12; i++)
	{
		const tg_chunk *chunk = tg_table_chunk(tables[i], 0);

		leased += chunk->leased;
		listed += chunk->listed == TG_LISTED && tables[i]->partial == chunk &&
				  tables[i]->free_row_count == TG_ROW_BATCH - 1 && tables[i]->blob_bytes > 0;
	}
	unit_equal(leased, 8, "a session leases of so many tables");
	unit_equal(listed, 4, "the others have got back chunk, rows and account");
	unit_equal(tg_table_chunk(tables[0], 0)->leased, 1, "the one used last and before is kept");
	for (unsigned i = 0; i < 12; i++)
		end_table(tables[i]);
	unit_equal(used_bytes(), before, "nothing is left of a dozen tables");
}

/* Threads write to tables and drop them; only the common table has several writers at a time. */
enum
{
	FORGET_TABLES = 24
};

typedef struct forget_test
{
	pthread_mutex_t mutex[FORGET_TABLES]; /* the relation locks */
	tg_table *table[FORGET_TABLES];
	tg_table *common;
	unsigned wrong;
} forget_test;

static void
forget_body(unsigned number, void *argument)
{
	forget_test *test = argument;
	tg_session *own;
	unsigned random = number;

	if (tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned round = 0; round < 4000 * EFFORT; round++)
	{
		unsigned index = (unsigned) rand_r(&random) % FORGET_TABLES;
		tg_version version;
		uint32_t row;

		pthread_mutex_lock(&test->mutex[index]);
		if (test->table[index] == NULL &&
			tg_table_create(own, 1, 2, row_kinds, 4, NULL, TG_DATA, &test->table[index]) != TG_OK)
			abort();
		tg_epoch_enter(own);
		if (tg_slot_take(own, test->table[index], TG_DATA, &version) != TG_OK ||
			tg_row_take(own, test->table[index], TG_DATA, &row) != TG_OK)
			abort();
		if (tg_version_chunk(version)->table != test->table[index] || row > 100000)
			tg_fetch_add_relaxed(&test->wrong, 1);
		tg_epoch_leave(own);
		if (rand_r(&random) % 8 == 0)
		{
			tg_leases_forget(test->table[index]);
			tg_table_release(own, test->table[index]);
			test->table[index] = NULL;
		}
		pthread_mutex_unlock(&test->mutex[index]);
	}
	tg_leases_end(own);
	tg_session_close(own);
}

/* Lets others run while a lease is claimed and not yet ended. */
static bool
yield_at_end(const char *name)
{
	if (strcmp(name, "lease_end") == 0)
		(void) sched_yield();
	return false;
}

static void
test_forget(void)
{
	static forget_test test;
	size_t before = used_bytes();

	for (unsigned i = 0; i < FORGET_TABLES; i++)
		pthread_mutex_init(&test.mutex[i], NULL);
	tg_failpoint_set(yield_at_end);
	unit_threads(THREADS, forget_body, &test);
	tg_failpoint_set(NULL);
	unit_equal(test.wrong, 0, "tables dropped under the feet of other tables' leases");
	for (unsigned i = 0; i < FORGET_TABLES; i++)
	{
		if (test.table[i] == NULL)
			continue;
		unit_equal(test.table[i]->free_row_count <= test.table[i]->row_next, true, "table %u's rows", i);
		tg_table_release(session, test.table[i]);
	}
	drain_retired();
	unit_equal(used_bytes(), before, "nothing is left of tables dropped by others");
}

/* --- several sessions in one table -------------------------------------------------- */

enum
{
	HELD_MAX = 400
};

typedef struct shared_test
{
	tg_table *table;
	uint8_t row_taken[1 << 20];
	unsigned wrong;
	unsigned reclaimed;
} shared_test;

static void
shared_body(unsigned number, void *argument)
{
	shared_test *test = argument;
	tg_version held[HELD_MAX];
	uint32_t rows[HELD_MAX];
	unsigned count = 0;
	unsigned random = number + 1;
	unsigned target = HELD_MAX;
	tg_session *own;

	if (tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned round = 0; round < 40000 * EFFORT; round++)
	{
		tg_epoch_enter(own);
		if (count < target)
		{
			unsigned char memory[HEADER_BYTES + TEXT_BYTES];
			tg_value values[4];

			make_values(values, number, memory);
			values[0].word = round;
			if (tg_row_take(own, test->table, TG_DATA, &rows[count]) != TG_OK ||
				tg_slot_take(own, test->table, TG_DATA, &held[count]) != TG_OK ||
				tg_version_store(own, held[count], rows[count], values, no_nulls, TG_DATA) != TG_OK)
				abort();
			if (__atomic_fetch_add(&test->row_taken[rows[count]], 1, __ATOMIC_RELAXED) != 0 ||
				tg_load_relaxed(tg_row_head(test->table, rows[count])) != TG_VERSION_NONE)
				tg_fetch_add_relaxed(&test->wrong, 1);
			tg_store_release(tg_row_head(test->table, rows[count]), held[count]);
			count++;
		}
		else
		{
			unsigned i = (unsigned) rand_r(&random) % count;
			tg_chunk *chunk = tg_version_chunk(held[i]);
			unsigned slot = tg_version_slot(held[i]);
			tg_value value = {.word = 0};

			/* No other session has had this slot since. */
			tg_chunk_value(chunk, 3, slot, &value);
			if (((const char *) value.string.blob)[7] != 'a' + (char) number || chunk->rows[slot] != rows[i])
				tg_fetch_add_relaxed(&test->wrong, 1);
			tg_version_blobs_free(own, held[i], TG_VERSION_NONE, TG_VERSION_NONE);
			tg_slot_give(own, held[i]);
			tg_fetch_add_relaxed(&test->row_taken[rows[i]], -1);
			tg_row_give(own, test->table, rows[i]);
			held[i] = held[--count];
			rows[i] = rows[count];
			if (count == 0)
				target = HELD_MAX;
			else if (count < target)
				target = rand_r(&random) % 200 == 0 ? HELD_MAX : 0;
			if (rand_r(&random) % 8 == 0 && tg_chunk_reclaim(own, chunk))
				tg_fetch_add_relaxed(&test->reclaimed, 1);
		}
		tg_epoch_leave(own);
		if (rand_r(&random) % 1024 == 0)
			tg_leases_end(own);
	}
	tg_epoch_enter(own);
	while (count-- > 0)
	{
		tg_fetch_add_relaxed(&test->row_taken[rows[count]], -1);
		tg_version_blobs_free(own, held[count], TG_VERSION_NONE, TG_VERSION_NONE);
		tg_slot_give(own, held[count]);
		tg_row_give(own, test->table, rows[count]);
	}
	tg_epoch_leave(own);
	tg_leases_end(own);
	tg_session_close(own);
}

static void
test_shared(void)
{
	static shared_test test;
	size_t before = used_bytes();
	unsigned wrong = 0;
	tg_chunk *chunk;

	test.table = make_table(NULL);
	unit_threads(THREADS, shared_body, &test);
	unit_equal(test.wrong, 0, "rows and slots that two had at once");
	unit_ok(test.reclaimed > 0, "chunks were reclaimed meanwhile (%u)", test.reclaimed);
	unit_equal(test.table->free_row_count, test.table->row_next, "all row ids are back");
	for (uint32_t i = 0; i < test.table->chunk_count; i++)
	{
		chunk = tg_table_chunk(test.table, i);
		wrong += chunk != NULL && (chunk->free_count != chunk->capacity || chunk->leased || chunk->listed != TG_LISTED);
	}
	unit_equal(wrong, 0, "all chunks are free and listed");
	unit_equal((uint64_t) test.table->blob_bytes, 0, "no blobs are booked");
	end_table(test.table);
	unit_equal(used_bytes(), before, "nothing is left of the shared table");
}

int
main(void)
{
	start_storage();
	test_eviction();
	test_forget();
	test_shared();
	return end_storage();
}
