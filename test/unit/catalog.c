/*
 * catalog.c
 *	  What is put can be found, replaced and taken, through growth; the generation
 *	  tells every change; walks see each entry that stays exactly once; look-ups
 *	  next to changes find the old table or the new one.
 */
#include "runtime/base/atomic.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/catalog.h"

#include <string.h>

#include "runtime/table/table.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "test/unit/unit.h"

#define MIB ((size_t) 1 << 20)
#define MANY 1000

static tg_session *session;

static void
begin(void)
{
	tg_arena_config config = {.reserve_bytes = 256 * MIB, .limit_bytes = 256 * MIB, .session_max = 16};

	if (tg_arena_create(&config) != TG_OK || tg_horizon_create() != TG_OK || tg_lease_create() != TG_OK ||
		tg_catalog_create() != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
}

static size_t
used_now(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_TABLE];
}

static tg_table *
table_new(uint32_t database, uint32_t relation)
{
	uint8_t kind = TG_KIND_8;
	tg_table *table;

	if (tg_table_create(session, database, relation, &kind, 1, NULL, TG_DATA, &table) != TG_OK)
		abort();
	return table;
}

static void
test_one(void)
{
	tg_table *table = table_new(1, 2);
	tg_table *other = table_new(1, 2);
	tg_table *old;
	uint64_t generation = *tg_catalog_generation;

	unit_ok(tg_catalog_find(1, 2) == NULL, "nothing is there at first");
	unit_ok(tg_catalog_put(session, 1, 2, table, &old) == TG_OK && old == NULL, "put");
	unit_ok(*tg_catalog_generation > generation, "the generation grows");
	unit_ok(tg_catalog_find(1, 2) == table, "found");
	unit_ok(tg_catalog_find(2, 2) == NULL && tg_catalog_find(1, 1) == NULL, "under its own numbers only");
	generation = *tg_catalog_generation;
	unit_ok(tg_catalog_put(session, 1, 2, other, &old) == TG_OK && old == table,
			"replaced: the old one is the caller's");
	unit_ok(*tg_catalog_generation > generation, "the generation grows");
	generation = *tg_catalog_generation;
	unit_ok(tg_catalog_add(session, 1, 2, table, &old) == TG_OK && old == other && tg_catalog_find(1, 2) == other &&
				*tg_catalog_generation == generation,
			"a table that is added gives way to the one that is there");
	unit_ok(tg_catalog_take(session, 1, 2) == other, "taken");
	unit_ok(*tg_catalog_generation > generation, "the generation grows");
	unit_ok(tg_catalog_find(1, 2) == NULL && tg_catalog_take(session, 1, 2) == NULL, "and gone");
	unit_ok(tg_catalog_add(session, 1, 2, table, &old) == TG_OK && old == NULL && tg_catalog_find(1, 2) == table,
			"and stays where nothing is");
	unit_ok(tg_catalog_take(session, 1, 2) == table, "and can be taken");
	tg_table_release(session, table);
	tg_table_release(session, other);
}

/* The relations that have changed much, as the digits of a number. */
static unsigned
changed_much(double base, double share)
{
	uint64_t position = 0;
	uint32_t database;
	uint32_t relation;
	unsigned digits = 0;

	while (tg_catalog_changed_next(&position, base, share, &database, &relation))
		digits = digits * 10 + (database == 1 ? relation : 9);
	return digits;
}

static void
test_changed(void)
{
	tg_table *tables[4];
	tg_table *old;

	for (uint32_t i = 1; i <= 3; i++)
		if (tg_catalog_put(session, 1, i, tables[i] = table_new(1, i), &old) != TG_OK)
			abort();
	unit_equal(changed_much(0, 0), 0, "nothing has changed at first");
	tables[1]->row_count = 100;
	tables[2]->row_count = 1000;
	unit_equal(changed_much(50, 0.1), 12, "rows have come to two tables");
	unit_equal(changed_much(100, 0), 2, "more than a number of them to one");
	unit_equal(changed_much(50, 0.95), 0, "and more than that and most of the rows to none");
	tg_table_analyzed(tables[1], tables[1]->row_count);
	tg_table_analyzed(tables[2], tables[2]->row_count);
	unit_equal(changed_much(0, 0), 0, "nothing has changed since they were analyzed");
	tables[1]->row_count = 49;
	tables[2]->replaced_count = 51;
	unit_equal(changed_much(50, 0), 12, "rows have gone, and others been changed");
	tables[2]->row_count = 2000;
	unit_equal(changed_much(1050, 0), 2, "inserted and changed rows add up");
	tg_table_analyzed(tables[2], tables[2]->row_count);
	tg_table_analyzed(tables[3], tables[3]->row_count);
	tg_catalog_not_analyzed(1, 3);
	tg_catalog_not_analyzed(2, 3);
	unit_equal(changed_much(50, 0), 13, "statistics that have not come to be count for nothing");
	for (uint32_t i = 1; i <= 3; i++)
		tg_table_release(session, tg_catalog_take(session, 1, i));
	unit_equal(changed_much(0, 0), 0, "all taken");
}

static unsigned
walk(bool *once)
{
	uint64_t position = 0;
	unsigned count = 0;
	unsigned char seen[MANY] = {0};
	tg_table *table;

	*once = true;
	while ((table = tg_catalog_next(&position)) != NULL)
	{
		*once &= seen[table->relation]++ == 0;
		count++;
		tg_table_release(session, table);
	}
	return count;
}

static void
test_many(void)
{
	size_t before = used_now();
	tg_table *old;
	unsigned found = 0;
	bool once;

	for (uint32_t i = 0; i < MANY; i++)
	{
		if (tg_catalog_put(session, i % 3, i, table_new(i % 3, i), &old) != TG_OK || old != NULL)
			abort();
	}
	for (uint32_t i = 0; i < MANY; i++)
		found += tg_catalog_find(i % 3, i) != NULL && tg_catalog_find(i % 3, i)->relation == i;
	unit_equal(found, MANY, "many are found after growth");
	unit_equal(walk(&once), MANY, "a walk sees all");
	unit_ok(once, "each once");
	found = 0;
	while ((old = tg_catalog_take_any(session, 1)) != NULL)
	{
		found += old->database == 1;
		tg_table_release(session, old);
	}
	unit_equal(found, (MANY + 1) / 3, "a database's tables are taken one by one");
	unit_ok(tg_catalog_find(0, 0) != NULL && tg_catalog_find(2, 2) != NULL, "and those of others stay");
	for (uint32_t i = 0; i < MANY; i++)
	{
		if ((old = tg_catalog_take(session, i % 3, i)) != NULL)
			tg_table_release(session, old);
	}
	unit_equal(walk(&once), 0, "all taken");
	for (uint32_t i = 0; i < MANY; i++)
	{
		if (tg_catalog_put(session, 7, i, table_new(7, i), &old) != TG_OK)
			abort();
	}
	unit_equal(walk(&once), MANY, "places are used again");
	while ((old = tg_catalog_take_any(session, 7)) != NULL)
		tg_table_release(session, old);
	unit_ok(used_now() - before <= MANY * 100, "only the map is left");
}

/* --- next to changes ------------------------------------------------------ */

#define RELATIONS 200
#define ROUNDS 2000

static uint32_t writing;

static void
change_body(unsigned number, void *argument)
{
	tg_session *own;
	unsigned *faults = argument;

	if (tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned round = 0; number == 0 && round < ROUNDS; round++)
	{
		uint32_t relation = round % RELATIONS;
		uint8_t kind = TG_KIND_8;
		tg_table *table;
		tg_table *old;

		/*
		 * Relations 0 … RELATIONS - 1 stay, with changing tables; others come and go: the map
		 * grows.
		 */
		if (tg_table_create(own, 1, relation, &kind, 1, NULL, TG_DATA, &table) != TG_OK ||
			tg_catalog_put(own, 1, relation, table, &old) != TG_OK)
			abort();
		if (old != NULL)
			tg_table_release(own, old);
		if (tg_table_create(own, 2, round, &kind, 1, NULL, TG_DATA, &table) != TG_OK ||
			tg_catalog_put(own, 2, round, table, &old) != TG_OK)
			abort();
	}
	if (number == 0)
		tg_store_release(&writing, 0);
	while (number > 0 && tg_load_acquire(&writing) != 0)
	{
		uint64_t position = 0;
		unsigned count = 0;
		tg_table *table;

		while ((table = tg_catalog_next(&position)) != NULL)
		{
			count += table->database == 1;
			tg_table_release(own, table);
		}
		for (uint32_t relation = 0; relation < RELATIONS; relation++)
		{
			if (tg_catalog_find(1, relation) == NULL)
				tg_fetch_add_relaxed(faults, 1);
		}
		if (count != RELATIONS)
			tg_fetch_add_relaxed(faults, 1);
	}
	tg_session_close(own);
}

static void
test_changes(void)
{
	unsigned faults = 0;
	tg_table *old;

	for (uint32_t i = 0; i < RELATIONS; i++)
	{
		if (tg_catalog_put(session, 1, i, table_new(1, i), &old) != TG_OK)
			abort();
	}
	writing = 1;
	unit_threads(3, change_body, &faults);
	unit_equal(faults, 0, "a table that stays is found, and walked over once, next to changes and growth");
	while ((old = tg_catalog_take_any(session, 1)) != NULL || (old = tg_catalog_take_any(session, 2)) != NULL)
		tg_table_release(session, old);
}

int
main(void)
{
	begin();
	test_one();
	test_changed();
	test_many();
	test_changes();
	tg_session_close(session);
	tg_arena_destroy();
	return unit_done();
}
