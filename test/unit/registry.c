/*
 * registry.c
 *	  Storages are found by id from creation to destruction, with a reference; ids that are given
 *	  do not come back; a look-up beside the last release finds a live table or none.
 */
#include "runtime/table/registry.h"

#include "runtime/index/index.h"
#include "test/unit/storage_unit.h"

#define MANY 10000 /* more than there are chains */

static void
test_one(void)
{
	size_t before = used_bytes();
	tg_table *table = make_table(&row_key);
	tg_table *hidden;
	uint64_t id = table->incarnation;

	unit_ok(tg_storage_find(id) == table, "a table is found by its id");
	unit_equal(table->references, 2, "with a reference");
	unit_ok(tg_storage_find(id + 1) == NULL && tg_storage_find(0) == NULL, "under no other id");
	if (tg_table_create_hidden(session, table, row_kinds, 4, TG_DATA, &hidden) != TG_OK)
		abort();
	unit_ok(tg_storage_find(hidden->incarnation) == NULL, "a table of hidden values is not found");
	tg_table_release(session, hidden);
	tg_table_release(session, table);
	unit_ok(tg_storage_find(id) == table, "the look-up's reference keeps the table");
	tg_table_release(session, table);
	unit_equal(table->references, 1, "so does the one of the look-up after that");
	end_table(table);
	unit_ok(tg_storage_find(id) == NULL, "after the last one it is gone");
	unit_equal(used_bytes(), before, "nothing is left of it");
}

static void
test_given_ids(void)
{
	const tg_index_spec spec = {.key = row_key};
	uint64_t id = tg_incarnation_next() + 100;
	tg_index *index;
	tg_table *table;
	tg_table *later;

	if (tg_table_create_as(session, id, 1, 2, row_kinds, 4, &row_key, TG_DATA, &table) != TG_OK)
		abort();
	unit_ok(table->incarnation == id && tg_storage_find(id) == table, "a table has the id that it is given");
	tg_table_release(session, table);
	later = make_table(NULL);
	unit_equal(later->incarnation, id + 1, "and the next one has a later id");
	end_table(later);
	if (tg_index_create_as(session, id + 200, table, &spec, TG_DATA, &index) != TG_OK)
		abort();
	unit_equal(index->id, id + 200, "an index has the id that it is given");
	unit_equal(tg_incarnation_next(), id + 201, "and ids continue above");
	if (tg_table_create_as(session, id + 150, 1, 2, row_kinds, 4, &row_key, TG_DATA, &later) != TG_OK)
		abort();
	unit_equal(tg_incarnation_next(), id + 202, "an id below the last one changes nothing");
	tg_incarnation_start(id + 1000);
	tg_incarnation_start(id + 500);
	unit_equal(tg_incarnation_next(), id + 1001, "nor does a start below the last one");
	end_table(later);
	end_table(table);
}

static void
test_many(void)
{
	static tg_table *tables[MANY];
	uint64_t first = tg_incarnation_next() + 1;
	unsigned found = 0;

	for (unsigned i = 0; i < MANY; i++)
		tables[i] = make_table(NULL);
	/* from the middle of chains, from their ends */
	for (unsigned i = 0; i < MANY; i += 3)
		end_table(tables[i]);
	for (unsigned i = 0; i < MANY; i++)
	{
		tg_table *table = tg_storage_find(first + i);

		found += table == (i % 3 == 0 ? NULL : tables[i]);
		if (table != NULL)
			tg_table_release(session, table);
	}
	unit_equal(found, MANY, "of many, those that stay are found, the others not");
	for (unsigned i = 0; i < MANY; i++)
		if (i % 3 != 0)
			end_table(tables[i]);
}

/* --- beside releases --------------------------------------------------------- */

#define ROUNDS (2000 * EFFORT)

typedef struct beside
{
	uint64_t id;	  /* atomic: of the newest table */
	uint32_t writing; /* atomic */
	uint32_t faults;  /* atomic */
	uint32_t found;	  /* atomic */
} beside;

static void
beside_body(unsigned number, void *argument)
{
	beside *shared = argument;
	tg_session *own;

	if (tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned round = 0; number == 0 && round < ROUNDS; round++)
	{
		tg_table *table;

		if (tg_table_create(own, 1, 2, row_kinds, 4, NULL, TG_DATA, &table) != TG_OK)
			abort();
		tg_store_release(&shared->id, table->incarnation);
		tg_table_release(own, table);
	}
	if (number == 0)
		tg_store_release(&shared->writing, 0);
	while (number > 0 && tg_load_acquire(&shared->writing) != 0)
	{
		uint64_t id = tg_load_acquire(&shared->id);
		tg_table *table = tg_storage_find(id);

		if (table == NULL)
			continue;
		tg_fetch_add_relaxed(&shared->found, 1);
		if (table->incarnation != id || tg_table_columns(table).count != 4)
			tg_fetch_add_relaxed(&shared->faults, 1);
		tg_table_release(own, table);
	}
	tg_session_close(own);
}

static void
test_beside_releases(void)
{
	size_t before = used_bytes();
	beside shared = {.writing = 1};

	unit_threads(3, beside_body, &shared);
	unit_equal(shared.faults, 0, "beside releases, %u look-ups have found live tables", (unsigned) shared.found);
	unit_equal(used_bytes(), before, "each of which was freed once");
}

int
main(void)
{
	start_storage();
	test_one();
	test_given_ids();
	test_many();
	test_beside_releases();
	return end_storage();
}
