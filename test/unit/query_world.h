/*
 * query_world.h
 *	  For the test of queries: tables that transactions have filled, changed and extended, and views
 *	  of them.
 *
 * A world is what the rows of all tables are at one moment; a view is a world and the snapshot that
 * sees it.  All values of a row follow from its number, so an update gives a row another number.
 */
#ifndef TG_UNIT_QUERY_WORLD_H
#define TG_UNIT_QUERY_WORLD_H

#include "runtime/runtime.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/reclaim/collector.h"
#include "test/unit/random.h"

#define FACTS 9000
#define DIMS 300
#define KEYS 60
#define CHAINED_LOW 12 /* keys in the third table: the even ones in these bounds */
#define CHAINED_HIGH 50
#define CHAINED ((CHAINED_HIGH - CHAINED_LOW) / 2 + 1)
#define COLUMNS 7 /* of facts; dims have the first DIM_COLUMNS */
#define DIM_COLUMNS 3
#define TABLES 3 /* facts, dims, and keys that dims are restricted to */
#define BLOB_HEADER 4

static tg_session *session;
static uint64_t seed = 20261125;

/* --- rows ---------------------------------------------------------------------------- */

enum
{
	ID,
	KEY,
	TEXT,
	FLOAT,
	BOOL,
	NUMERIC,
	ADDED,
	DIM_VALUE = 2
};

static const uint8_t fact_kinds[COLUMNS] = {TG_KIND_8, TG_KIND_4,  TG_KIND_STRING, TG_KIND_8,
											TG_KIND_1, TG_KIND_16, TG_KIND_8};
static const uint8_t fact_types[COLUMNS] = {TG_V_INT, TG_V_INT, TG_V_TEXT, TG_V_FLOAT, TG_V_BOOL, TG_V_INT, TG_V_INT};
static const uint8_t fact_loads[COLUMNS] = {TG_LOAD_INT,  TG_LOAD_INT,	   TG_LOAD_TEXT, TG_LOAD_FLOAT,
											TG_LOAD_BOOL, TG_LOAD_NUMERIC, TG_LOAD_INT};
static const uint8_t dim_kinds[DIM_COLUMNS] = {TG_KIND_4, TG_KIND_STRING, TG_KIND_8};
static const uint8_t dim_types[DIM_COLUMNS] = {TG_V_INT, TG_V_TEXT, TG_V_INT};
static const uint8_t dim_loads[DIM_COLUMNS] = {TG_LOAD_INT, TG_LOAD_TEXT, TG_LOAD_INT};
static const tg_key_spec no_key = {.part_count = 0};

typedef struct row
{
	uint32_t place; /* in the table */
	uint32_t number;
	bool alive;
	bool extended; /* stored since the column ADDED exists */
} row;

typedef struct values
{
	tg_value of[COLUMNS];
	bool nulls[COLUMNS];
	char datum[64];
} values;

typedef struct world
{
	row facts[FACTS];
	row dims[DIMS];
	row keys[CHAINED];
} world;

static tg_table *tables[TABLES];
static tg_index *indexes[TABLES]; /* of the keys */
static world present;

static uint64_t
hash(uint64_t number)
{
	return unit_random(&number);
}

static void
make_text(values *to, unsigned column, uint64_t number)
{
	unsigned bytes = (unsigned) sprintf(to->datum + BLOB_HEADER, "%s%" PRIu64 "%s",
										number % 2 == 0 ? "" : "a rather long ", number, number % 3 == 0 ? "!" : "");

	if (bytes <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&to->of[column].string, to->datum + BLOB_HEADER, bytes);
	else
		tg_string_make_host(&to->of[column].string, to->datum, bytes + BLOB_HEADER, BLOB_HEADER);
}

static void
make_fact(const row *from, values *to)
{
	uint64_t h = hash(from->number);
	double number = h % 97 == 0 ? NAN : h % 31 == 0 ? -0.0 : ((double) (h % 64) - 32) / 8;
	__int128 wide = (int64_t) hash(h) / 4;

	memset(to, 0, sizeof(*to));
	to->of[ID].word = from->number;
	to->of[KEY].word = h % KEYS;
	make_text(to, TEXT, h / 64 % 25);
	memcpy(&to->of[FLOAT].word, &number, sizeof(number));
	to->of[BOOL].word = h >> 20 & 1;
	memcpy(to->of[NUMERIC].bytes, &wide, sizeof(wide));
	to->of[ADDED].word = (uint64_t) from->number * 3;
	to->nulls[KEY] = (h >> 8) % 11 == 0;
	to->nulls[TEXT] = (h >> 9) % 13 == 0;
	to->nulls[FLOAT] = (h >> 10) % 7 == 0;
	to->nulls[BOOL] = (h >> 11) % 5 == 0;
	to->nulls[NUMERIC] = (h >> 12) % 9 == 0;
	to->nulls[ADDED] = !from->extended || (h >> 13) % 8 == 0;
}

static void
make_dim(const row *from, values *to)
{
	uint64_t h = hash(from->number + 1000000u);

	memset(to, 0, sizeof(*to));
	to->of[0].word = h % KEYS;
	make_text(to, 1, h / 64 % 25);
	to->of[DIM_VALUE].word = (h >> 20) % (2 * FACTS);
	to->nulls[0] = (h >> 8) % 10 == 0;
	to->nulls[1] = (h >> 9) % 12 == 0;
	to->nulls[DIM_VALUE] = (h >> 10) % 15 == 0;
}

static void
make_row(unsigned table, const row *from, values *to)
{
	if (table == 0)
		make_fact(from, to);
	else
		make_dim(from, to);
	if (table == 2)
	{
		to->of[0].word = CHAINED_LOW + from->number * 2u;
		to->nulls[0] = false;
	}
}

/* --- transactions ------------------------------------------------------------------------ */

typedef enum change
{
	INSERT,
	UPDATE,
	DELETE
} change;

static tg_writer
begin_writes(unsigned *entry)
{
	(void) tg_snapshot_publish(session, entry);
	return (tg_writer){.session = session, .txn = tg_txn_begin(session, 1), .command = 1, .claim = TG_DATA};
}

static void
write_row(const tg_writer *writer, unsigned table, row *row, change change)
{
	const tg_snapshot snapshot = {.time = tg_load_acquire(tg_clock), .txn = session->id, .command = 2};
	tg_version version;
	values values;
	tg_wait wait;
	tg_status status;

	make_row(table, row, &values);
	if (change == INSERT)
		status = tg_txn_insert(writer, tables[table], NULL, 0, values.of, values.nulls, &row->place, &wait);
	else
	{
		tg_epoch_enter(session);
		status = tg_txn_read(&snapshot, tables[table], row->place, &version, &wait);
		tg_epoch_leave(session);
		tg_check(status == TG_OK);
		if (change == UPDATE)
			status = tg_txn_update(writer, tables[table], row->place, version, values.of, values.nulls, &wait);
		else
			status = tg_txn_delete(writer, tables[table], row->place, version, &wait);
	}
	tg_check(status == TG_OK);
	row->alive = change != DELETE;
}

static void
insert_rows(unsigned table, row *rows, unsigned first, unsigned end, bool extended)
{
	unsigned entry;
	tg_writer writer = begin_writes(&entry);

	for (unsigned i = first; i < end; i++)
	{
		rows[i] = (row){.number = i, .extended = extended};
		write_row(&writer, table, &rows[i], INSERT);
	}
	tg_txn_commit(session, writer.txn);
	tg_snapshot_withdraw(session, entry);
}

/* Facts that are never changed: more than two chunks of them, which settle. */
#define QUIET_FROM (FACTS / 6)
#define QUIET_TO (FACTS / 2)

/* One of some rows is updated, another one deleted; of all tables. */
static void
change_rows(const tg_writer *writer, unsigned shift)
{
	for (unsigned i = shift; i < FACTS; i += 7)
		if (present.facts[i].alive && (i < QUIET_FROM || i >= QUIET_TO))
		{
			present.facts[i].number += FACTS;
			present.facts[i].extended = true;
			write_row(writer, 0, &present.facts[i], i % 3 == 0 ? DELETE : UPDATE);
		}
	for (unsigned i = shift; i < DIMS; i += 5)
		if (present.dims[i].alive)
		{
			present.dims[i].number += DIMS;
			write_row(writer, 1, &present.dims[i], i % 3 == 0 ? DELETE : UPDATE);
		}
}

/* In an order of its own for each table; the second part is for the first keys' sake. */
static void
make_index(unsigned table)
{
	static const uint8_t orders[TABLES] = {0, TG_KEY_DESCENDING, TG_KEY_NULLS_FIRST};
	const uint16_t key = table == 0 ? KEY : 0;
	const tg_index_spec spec = {
		.host = 100 + table,
		.key = {.part_count = 2,
				.part = {{.column = key, .code = TG_KEY_SIGNED, .order = TG_KEY_NULLABLE | orders[table]},
						 {.column = TEXT - (table > 0),
						  .code = TG_KEY_STRING,
						  .header_bytes = BLOB_HEADER,
						  .order = TG_KEY_NULLABLE}}}};

	tg_check(tg_index_create(session, tables[table], &spec, TG_DATA, &indexes[table]) == TG_OK);
}

static void
make_tables(void)
{
	static const uint8_t *const kinds[TABLES] = {fact_kinds, dim_kinds, dim_kinds};
	static const unsigned counts[TABLES] = {COLUMNS - 1, DIM_COLUMNS, DIM_COLUMNS};

	for (unsigned i = 0; i < TABLES; i++)
	{
		tg_table *old;

		tg_check(tg_table_create(session, 1, 2 + i, kinds[i], counts[i], &no_key, TG_DATA, &tables[i]) == TG_OK);
		tg_check(tg_catalog_put(session, 1, 2 + i, tables[i], &old) == TG_OK && old == NULL);
		make_index(i);
	}
	insert_rows(0, present.facts, 0, FACTS / 2, false);
	tg_check(tg_table_layout_add(session, tables[0], fact_kinds, COLUMNS) == TG_OK);
	insert_rows(0, present.facts, FACTS / 2, FACTS, true);
	insert_rows(1, present.dims, 0, DIMS, true);
	insert_rows(2, present.keys, 0, CHAINED, true);
	while (tg_collector_run(session, 1000))
		continue;
}

/* --- views ------------------------------------------------------------------------------ */

typedef struct view
{
	const char *name;
	world world;
	tg_snapshot snapshot;
	unsigned entry;
} view;

#define WORLDS 4

static view views[WORLDS];
static struct
{
	tg_exclusions exclusions;
	tg_time time;
} excluded;
static tg_writer open_writer;

static void
open_view(view *view, const char *name)
{
	view->name = name;
	view->world = present;
	view->snapshot =
		(tg_snapshot){.time = tg_snapshot_publish(session, &view->entry), .txn = session->id, .command = 1};
}

/* The past, the past by exclusion of the last commit, the present, and the own writes. */
static void
open_views(void)
{
	unsigned entry;
	tg_writer writer;

	open_view(&views[0], "in the past");
	/* a reader that excludes a commit keeps what it ends, whenever that began */
	(void) tg_snapshot_publish_from(session, &views[1].entry);
	writer = begin_writes(&entry);
	change_rows(&writer, 1);
	excluded.exclusions.count = 1;
	excluded.exclusions.time[0] = tg_txn_prepare(session, writer.txn, tg_load_acquire(tg_clock));
	tg_txn_commit(session, writer.txn);
	tg_snapshot_withdraw(session, entry);

	open_view(&views[1], "with an exclusion");
	views[1].world = views[0].world;
	views[1].snapshot.excluded = &excluded.exclusions;
	open_view(&views[2], "in the present");

	open_writer = begin_writes(&entry);
	change_rows(&open_writer, 2);
	open_view(&views[3], "with own writes");
	views[3].snapshot.command = 2;
}

#endif /* TG_UNIT_QUERY_WORLD_H */
