/*
 * kinds.c
 *	  SHORT, LONG and READ ONLY call by call: areas, what each kind is told and when, refusals,
 *	  memory that fails, and what views see.  The rules under concurrency: kinds_model.c,
 *	  kinds_race.c.
 */
#include "test/unit/integer_key.h"
#include "test/unit/unit.h"

#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "runtime/base/failpoint.h"
#include "runtime/runtime.h"
#include "runtime/txn/txn_internal.h"

#define TABLES 12
#define ROWS 6

static tg_session *sessions[4];
static tg_table *tables[TABLES];
static const char *refused;

static bool
refuse(const char *name)
{
	return refused != NULL && strcmp(name, refused) == 0;
}

/* --- what a test does --------------------------------------------------------------------- */

typedef struct client
{
	tg_session *session;
	tg_txn *txn;
	tg_reads *reads;
	tg_snapshot snapshot;
	unsigned entry;
	tg_writer writer;
	tg_wait wait;
} client;

static void
begin(client *c, unsigned number, tg_txn_kind kind, tg_isolation isolation)
{
	*c = (client){.session = sessions[number]};
	c->txn = tg_txn_begin(c->session, 100 + number);
	tg_txn_describe(c->txn, kind, isolation, "a label");
	if (kind == TG_TXN_SHORT || (kind == TG_TXN_ORDINARY && isolation == TG_SERIALIZABLE))
	{
		if (tg_reads_create(c->session, &c->reads) != TG_OK)
			abort();
		tg_txn_track(c->txn, c->reads);
	}
	if (kind != TG_TXN_LONG)
		c->snapshot.time = c->reads != NULL ? tg_snapshot_publish_from(c->session, &c->entry)
											: tg_snapshot_publish(c->session, &c->entry);
	c->snapshot.txn = c->session->id;
	c->snapshot.command = 1;
	c->writer = (tg_writer){.session = c->session, .txn = c->txn, .claim = TG_DATA, .command = 1};
}

static void
end(client *c, bool commit)
{
	if (commit)
		tg_txn_commit(c->session, c->txn);
	else
		tg_txn_abort(c->session, c->txn);
	if (c->reads != NULL)
		tg_reads_destroy(c->session, c->reads);
	if (tg_txn_kind_of(c->txn) != TG_TXN_LONG)
		tg_snapshot_withdraw(c->session, c->entry);
}

/* Keys low to high of a table, both included; the key's bytes live here. */
static tg_area
area_of(tg_table *table, int64_t low, int64_t high)
{
	static unsigned char bytes[16][16];
	static unsigned next;
	unsigned char *from = bytes[next++ % 16];
	unsigned char *to = bytes[next++ % 16];

	return (tg_area){.table = table,
					 .low = from,
					 .low_bytes = (uint32_t) key_of(low, from),
					 .high = to,
					 .high_bytes = (uint32_t) key_of(high, to),
					 .low_inclusive = true,
					 .high_inclusive = true};
}

static tg_status
publish(client *c, const tg_area *area, unsigned count)
{
	return tg_long_publish(c->session, c->txn, &(tg_long_config){.preserve = area, .preserve_count = count});
}

static tg_status
start(client *c)
{
	return tg_long_start(c->session, c->txn, &c->snapshot.time, &c->wait);
}

static void
begin_long(client *c, unsigned number, const tg_area *area, unsigned count)
{
	begin(c, number, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_ok(publish(c, area, count) == TG_OK && start(c) == TG_OK, "a LONG starts");
}

static tg_status
put_value(client *c, tg_table *table, int64_t id, int64_t value)
{
	const tg_value values[2] = {{.word = (uint64_t) id}, {.word = (uint64_t) value}};
	const bool nulls[2] = {false, false};
	unsigned char key[16];
	uint32_t row;

	return tg_txn_insert(&c->writer, table, key, key_of(id, key), values, nulls, &row, &c->wait);
}

static tg_status
put(client *c, tg_table *table, int64_t id)
{
	return put_value(c, table, id, 1);
}

/* UPDATE; to another key if that is not the same. */
static tg_status
change_row(client *c, tg_table *table, int64_t id, int64_t to, int64_t value)
{
	const tg_value values[2] = {{.word = (uint64_t) to}, {.word = (uint64_t) value}};
	const bool nulls[2] = {false, false};
	unsigned char key[16];
	tg_version version;
	tg_status status;
	uint32_t row;

	c->snapshot.command = ++c->writer.command;
	tg_epoch_enter(c->session);
	status = tg_txn_find(&c->snapshot, table, key, key_of(id, key), &row, &version, &c->wait);
	if (status == TG_OK)
		status = tg_txn_newest(&c->writer, &c->snapshot, table, &row, &version, &c->wait);
	tg_epoch_leave(c->session);
	if (status != TG_OK)
		return status;
	if (id == to)
		return tg_txn_update(&c->writer, table, row, version, values, nulls, &c->wait);
	return tg_txn_move(&c->writer, table, row, version, key, key_of(to, key), values, nulls, &row, &c->wait);
}

static tg_status
change(client *c, tg_table *table, int64_t id, int64_t to)
{
	return change_row(c, table, id, to, 2);
}

static tg_status
change_value(client *c, tg_table *table, int64_t id, int64_t value)
{
	return change_row(c, table, id, id, value);
}

/* Reads a key as SERIALIZABLE does. */
static void
note(client *c, tg_table *table, int64_t id)
{
	unsigned char key[16];
	tg_version version;
	uint32_t row;

	tg_epoch_enter(c->session);
	if (tg_txn_find(&c->snapshot, table, key, key_of(id, key), &row, &version, &c->wait) == TG_OK)
		(void) tg_reads_add_version(c->session, c->reads, version);
	tg_epoch_leave(c->session);
}

/* Everybody has gone: nothing is left of any LONG. */
static void
check_empty(const char *when)
{
	tg_arena_report report;

	(void) tg_horizon_compute();
	tg_preserve_tidy(sessions[0]);
	unit_ok(tg_preserve_is_empty(), "%s: the list is empty", when);
	tg_arena_report_get(&report);
	for (int i = 0; i < 3; i++)
	{
		tg_epoch_advance();
		while (tg_collector_run(sessions[0], 10000))
			;
		tg_retire_poll(sessions[0]);
	}
	tg_arena_report_get(&report);
	unit_equal(report.used_by[TG_USE_LOG], 0, "%s: no memory is left behind", when);
}

/* --- areas ----------------------------------------------------------------------------------- */

static tg_areas *
make_areas(const tg_area *area, unsigned count)
{
	tg_areas *areas;

	if (tg_areas_create(sessions[0], area, count, &areas) != TG_OK)
		abort();
	return areas;
}

static bool
meets(const char *low, bool low_inclusive, const char *high, bool high_inclusive, const char *key)
{
	tg_area area = {.table = tables[0],
					.low = low,
					.low_bytes = low != NULL ? (uint32_t) strlen(low) : 0,
					.low_inclusive = low_inclusive,
					.high = high,
					.high_bytes = high != NULL ? (uint32_t) strlen(high) : 0,
					.high_inclusive = high_inclusive};
	tg_areas *areas = make_areas(&area, 1);
	const tg_area one = {.table = tables[0],
						 .low = key,
						 .low_bytes = (uint32_t) strlen(key),
						 .low_inclusive = true,
						 .high = key,
						 .high_bytes = (uint32_t) strlen(key),
						 .high_inclusive = true};
	bool has = tg_areas_has_key(areas, tables[0], key, strlen(key));

	unit_ok(has == tg_areas_meet_area(areas, &one), "a key is in an area if they meet: %s", key);
	tg_areas_destroy(sessions[0], areas);
	return has;
}

static void
test_areas(void)
{
	const tg_area several[] = {area_of(tables[0], 1, 3), area_of(tables[0], 7, 9), {.table = tables[1]}};
	const tg_area inside = area_of(tables[0], 2, 3);
	const tg_area across = area_of(tables[0], 3, 8);
	const tg_area between = area_of(tables[0], 4, 6);
	const tg_area whole = {.table = tables[0]};
	const tg_area other = {.table = tables[1]};
	tg_areas *areas = make_areas(several, 3);
	tg_areas *declared = make_areas(&across, 1);
	tg_areas *apart = make_areas(&between, 1);
	tg_areas *all = make_areas(&whole, 1);

	unit_ok(meets("b", true, "d", true, "b") && meets("b", true, "d", true, "bx") && meets("b", true, "d", true, "dx"),
			"bounds that are included take in what starts with them");
	unit_ok(!meets("b", false, "d", false, "bx") && !meets("b", false, "d", false, "dx") &&
				meets("b", false, "d", false, "c"),
			"others do not");
	unit_ok(meets(NULL, false, "d", true, "a") && meets("b", true, NULL, false, "\xff\xff") &&
				!meets("\xff", false, NULL, true, "\xff\xff") && meets("b", true, "\xff", true, "\xff\xff"),
			"open bounds, and such as nothing is behind");
	unit_ok(tg_areas_meet_area(areas, &across) && !tg_areas_meet_area(areas, &between) &&
				tg_areas_meet_area(areas, &whole) && tg_areas_meet_area(areas, &other),
			"areas meet");
	unit_ok(tg_areas_cover_area(areas, &inside) && !tg_areas_cover_area(areas, &across) &&
				!tg_areas_cover_area(areas, &whole) && tg_areas_cover_area(areas, &other),
			"areas cover");
	unit_ok(tg_areas_meet_declared(areas, NULL, NULL) && tg_areas_meet_declared(areas, declared, NULL) &&
				!tg_areas_meet_declared(areas, apart, NULL) && tg_areas_meet_declared(areas, NULL, all) &&
				!tg_areas_meet_declared(declared, NULL, all),
			"declarations");
	tg_areas_destroy(sessions[0], areas);
	tg_areas_destroy(sessions[0], declared);
	tg_areas_destroy(sessions[0], apart);
	tg_areas_destroy(sessions[0], all);
}

/* --- who is told what ------------------------------------------------------------------------- */

static void
test_writers(void)
{
	const tg_area area = area_of(tables[0], 1, 3);
	const tg_area beside = area_of(tables[0], 4, 5);
	client a;
	client b;
	client c;

	begin_long(&a, 0, &area, 1);
	unit_equal(change(&a, tables[0], 1, 1), TG_OK, "a LONG writes what it preserves");
	unit_equal(change(&a, tables[0], 4, 4), TG_FORBIDDEN, "and nothing else: a row");
	unit_equal(put(&a, tables[1], 77), TG_FORBIDDEN, "a table");
	unit_equal(change(&a, tables[0], 2, 9), TG_FORBIDDEN, "a new key");
	unit_equal(put(&a, tables[0], 3), TG_EXISTS, "a key that is there");

	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&b, tables[0], 4, 4), TG_OK, "others write beside it");
	unit_equal(change(&b, tables[0], 2, 2), TG_BUSY, "READ COMMITTED waits for it");
	unit_ok(b.wait.kind == TG_WAIT_PRESERVE && b.wait.host == 100 && b.wait.txn == a.session->id,
			"and is told for whom");
	unit_equal(change(&b, tables[0], 5, 2), TG_BUSY, "where it moves a row, too");
	unit_equal(put(&b, tables[0], 2), TG_BUSY, "and where it inserts");
	end(&b, false);

	begin(&b, 1, TG_TXN_SHORT, TG_SERIALIZABLE);
	unit_equal(change(&b, tables[0], 2, 2), TG_CONFLICT, "SHORT fails");
	unit_ok(tg_txn_conflict(b.txn)->kind == TG_CONFLICT_PRESERVED_WRITE && tg_txn_conflict(b.txn)->other == 100 &&
				tg_txn_conflict(b.txn)->relation == tables[0]->relation,
			"and is told why");
	end(&b, false);

	begin(&b, 1, TG_TXN_ORDINARY, TG_SERIALIZABLE);
	unit_equal(put(&b, tables[0], 2), TG_BUSY, "SERIALIZABLE that has read nothing waits");
	note(&b, tables[1], 1);
	unit_equal(put(&b, tables[0], 2), TG_CONFLICT, "one that has fails");
	end(&b, false);

	/* On disjoint ranges two LONGs run side by side. */
	begin_long(&c, 2, &beside, 1);
	unit_equal(change(&c, tables[0], 4, 4), TG_OK, "another LONG writes its range");
	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&b, tables[0], 0, 0), TG_OK, "ranges do not bar a table: there is room for others still");
	end(&c, true);
	end(&a, true);
	unit_equal(change(&b, tables[0], 2, 2), TG_OK, "who has waited goes on");
	end(&b, false);
	check_empty("writers");
}

static void
test_whole_table(void)
{
	const tg_area area = {.table = tables[0]};
	client a;
	client b;
	client c;

	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&b, tables[0], 2, 2), TG_OK, "somebody writes");
	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_equal(publish(&a, &area, 1), TG_OK, "a LONG comes later");
	unit_ok(start(&a) == TG_BUSY && a.wait.kind == TG_WAIT_WRITER && a.wait.host == 101 &&
				!tg_long_may_start(a.txn, &a.wait),
			"and waits for the writer");
	begin(&c, 2, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&c, tables[0], 4, 4), TG_BUSY, "a writer that comes later waits for the LONG");
	unit_equal(change(&b, tables[0], 3, 3), TG_OK, "the writer does not");
	end(&b, true);
	unit_ok(tg_long_may_start(a.txn, &a.wait) && start(&a) == TG_OK, "it starts when that one has ended");
	unit_equal(change(&a, tables[0], 2, 2), TG_OK, "and writes the newest version");
	end(&a, false);
	unit_equal(change(&c, tables[0], 4, 4), TG_OK, "an abort lets writers go on");
	end(&c, false);
	check_empty("a whole table");
}

static void
test_readers(void)
{
	const tg_area area = area_of(tables[0], 1, 3);
	const tg_area read = area_of(tables[0], 3, 3);
	const tg_area clear = area_of(tables[0], 4, 4);
	tg_areas *declared = make_areas(&clear, 1);
	tg_conflict conflict;
	unsigned entry;
	tg_time safe;
	tg_time at;
	client a;
	client b;

	begin_long(&a, 0, &area, 1);
	at = a.snapshot.time;
	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	(void) !put(&b, tables[1], 50);
	end(&b, true); /* the clock moves on */

	unit_equal(tg_snapshot_publish_safe(sessions[1], false, NULL, NULL, &safe, &entry, &b.wait), TG_OK, "READ ONLY");
	unit_equal(safe, at, "reads as of the LONG's start");
	unit_equal(tg_horizon_compute(), at, "which is published");
	tg_snapshot_withdraw(sessions[1], entry);
	unit_equal(tg_snapshot_publish_safe(sessions[1], false, declared, NULL, &safe, &entry, &b.wait), TG_OK,
			   "with declared areas that are clear");
	unit_ok(safe > at, "it reads fresh");
	tg_snapshot_withdraw(sessions[1], entry);
	unit_ok(tg_snapshot_publish_safe(sessions[1], true, NULL, NULL, &safe, &entry, &b.wait) == TG_BUSY &&
				b.wait.host == 100,
			"DEFERRABLE waits");

	begin(&b, 1, TG_TXN_ORDINARY, TG_SERIALIZABLE);
	unit_equal(tg_preserve_check_read(&read, b.snapshot.time, true, &b.wait, &conflict), TG_BUSY,
			   "SERIALIZABLE that has read nothing waits");
	unit_ok(tg_preserve_check_read(&read, b.snapshot.time, false, &b.wait, &conflict) == TG_CONFLICT &&
				conflict.kind == TG_CONFLICT_PRESERVED_READ && conflict.other == 100,
			"one that has fails");
	unit_equal(tg_preserve_check_read(&read, at, false, &b.wait, &conflict), TG_OK,
			   "with a snapshot from before the LONG it does not");
	unit_equal(tg_preserve_check_read(&clear, b.snapshot.time, false, &b.wait, &conflict), TG_OK, "nor elsewhere");
	note(&b, tables[0], 4);
	unit_equal(tg_reads_check_snapshot(b.session, b.reads, b.snapshot.time, &conflict), TG_OK, "S4: read beside it");
	note(&b, tables[0], 3);
	unit_equal(tg_reads_check_snapshot(b.session, b.reads, b.snapshot.time, &conflict), TG_CONFLICT, "and in it");
	end(&b, false);
	end(&a, true);
	tg_areas_destroy(sessions[0], declared);
	check_empty("readers");
}

static void
test_declared(void)
{
	const tg_area own = {.table = tables[0]};
	const tg_area include = {.table = tables[1]};
	const tg_area exclude = area_of(tables[1], 3, 4);
	const tg_area read = area_of(tables[1], 1, 2);
	const tg_area apart = {.table = tables[2]};
	client a;
	client b;

	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_equal(tg_long_publish(a.session, a.txn,
							   &(tg_long_config){.preserve = &own,
												 .preserve_count = 1,
												 .include = &include,
												 .include_count = 1,
												 .exclude = &exclude,
												 .exclude_count = 1}),
			   TG_OK, "a LONG declares what it reads");
	unit_equal(start(&a), TG_OK, "and starts");
	unit_equal(tg_long_check_read(a.session, a.txn, &read), TG_OK, "it reads that");
	unit_equal(tg_long_check_read(a.session, a.txn, &own), TG_OK, "and its own");
	unit_equal(tg_long_check_read(a.session, a.txn, &apart), TG_FORBIDDEN, "not what it has not declared");
	unit_equal(tg_long_check_read(a.session, a.txn, &include), TG_FORBIDDEN, "nor what it has excluded");

	begin(&b, 1, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_equal(tg_long_publish(
				   b.session, b.txn,
				   &(tg_long_config){.preserve = &include, .preserve_count = 1, .include = &own, .include_count = 1}),
			   TG_OK, "another will read what the first one writes");
	unit_ok(start(&b) == TG_BUSY && b.wait.kind == TG_WAIT_LONG && b.wait.host == 100, "it waits for that");
	end(&a, true);
	unit_equal(start(&b), TG_OK, "until it has ended");
	end(&b, true);

	begin_long(&a, 0, &own, 1);
	begin_long(&b, 1, &include, 1);
	unit_equal(tg_long_check_read(a.session, a.txn, &include), TG_OK, "L3: what a later LONG preserves may be read");
	unit_equal(tg_long_check_read(b.session, b.txn, &own), TG_CONFLICT, "what an earlier one does may not");
	unit_ok(tg_txn_conflict(b.txn)->kind == TG_CONFLICT_EARLIER_LONG && tg_txn_conflict(b.txn)->other == 100,
			"and why");
	end(&a, false);
	unit_equal(tg_long_check_read(b.session, b.txn, &own), TG_OK, "unless that one has been aborted");
	end(&b, true);
	check_empty("declared areas");
}

static void
test_short(void)
{
	client a;
	client b;

	begin(&a, 0, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&a, tables[0], 1, 1), TG_OK, "a row is held");
	unit_equal(put(&a, tables[0], 60), TG_OK, "a key as well");
	begin(&b, 1, TG_TXN_SHORT, TG_SERIALIZABLE);
	unit_ok(change(&b, tables[0], 1, 1) == TG_CONFLICT && tg_txn_conflict(b.txn)->kind == TG_CONFLICT_TAKEN,
			"W4: SHORT does not wait for it");
	unit_ok(put(&b, tables[0], 60) == TG_CONFLICT && tg_txn_conflict(b.txn)->kind == TG_CONFLICT_TAKEN,
			"nor for a key");
	end(&b, false);
	end(&a, false);
	check_empty("SHORT");
}

/* More tables than a transaction registers for one by one. */
static void
test_many_tables(void)
{
	const tg_area first = {.table = tables[0]};
	const tg_area last = {.table = tables[TABLES - 1]};
	client a;
	client b;
	client c;

	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&b, tables[0], 1, 1), TG_OK, "a writer");
	begin(&c, 2, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_equal(publish(&c, &first, 1), TG_OK, "a LONG of the table that it has written");
	for (int i = 1; i < TABLES - 2; i++)
		(void) !change(&b, tables[i], 1, 1);
	unit_equal(start(&c), TG_BUSY, "waits, also when the writer has seen it and registered for all");
	unit_equal(change(&b, tables[0], 2, 2), TG_OK, "and the writer does not wait for it there");
	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_equal(publish(&a, &last, 1), TG_OK, "a LONG of a further table");
	unit_equal(start(&a), TG_BUSY, "waits: the writer is registered for all");
	unit_equal(change(&b, tables[TABLES - 1], 1, 1), TG_OK, "and may write there");
	end(&b, true);
	unit_equal(start(&a), TG_OK, "it ends, the LONG starts");
	unit_ok(start(&c) == TG_OK && change(&c, tables[0], 1, 1) == TG_OK, "the other one writes what it has left");
	end(&c, true);

	begin(&c, 2, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	for (int i = 0; i < TABLES - 2; i++)
		(void) !change(&c, tables[i], 1, 1);
	unit_equal(change(&c, tables[TABLES - 1], 1, 1), TG_BUSY, "who registers for all later minds all LONGs");
	end(&a, true);
	unit_equal(change(&c, tables[TABLES - 1], 2, 2), TG_OK, "until they have ended");
	end(&c, false);
	check_empty("many tables");
}

static void
test_refused(void)
{
	const tg_area area = {.table = tables[0]};
	client a;
	client b;

	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	refused = "areas_create";
	unit_equal(publish(&a, &area, 1), TG_NO_MEMORY, "no memory for the areas");
	refused = "preserve_full";
	unit_equal(publish(&a, &area, 1), TG_FULL, "no room on the list");
	refused = NULL;
	unit_ok(publish(&a, &area, 1) == TG_OK && start(&a) == TG_OK, "the transaction is as it was");
	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	refused = "see";
	unit_equal(change(&b, tables[0], 1, 1), TG_NO_MEMORY, "no memory to remember a LONG");
	refused = NULL;
	unit_equal(change(&b, tables[0], 1, 1), TG_BUSY, "a writer, likewise");
	end(&a, true);
	unit_equal(change(&b, tables[0], 1, 1), TG_OK, "goes on");
	end(&b, false);
	check_empty("refusals");
}

static void
test_circle(void)
{
	const tg_area both[] = {{.table = tables[0]}, {.table = tables[1]}};
	client a;
	client b;

	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&b, tables[0], 1, 1), TG_OK, "a writer of one table");
	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_ok(publish(&a, both, 2) == TG_OK && start(&a) == TG_BUSY, "a LONG that waits for it");
	tg_wait_begin(a.session, &a.wait);
	unit_ok(!tg_wait_closes_circle(a.session, &a.wait), "no circle so far");
	unit_equal(change(&b, tables[1], 1, 1), TG_BUSY, "the writer waits for the LONG");
	tg_wait_begin(b.session, &b.wait);
	unit_ok(tg_wait_closes_circle(b.session, &b.wait), "a circle: the writer gives up");
	unit_ok(!tg_wait_closes_circle(a.session, &a.wait), "the LONG does not");
	tg_wait_end(b.session);
	end(&b, false);
	unit_equal(start(&a), TG_OK, "it starts");
	tg_wait_end(a.session);
	end(&a, true);
	check_empty("a circle");
}

/* The one waited for is in a row's queue, behind the one that waits for the LONG. */
static void
test_circle_through_queue(void)
{
	const tg_area both[] = {{.table = tables[0]}, {.table = tables[1]}};
	const uint64_t row = 7;
	tg_wait turn = {.kind = TG_WAIT_TURN};
	client a;
	client b;
	client c;
	client d;

	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&b, tables[0], 1, 1), TG_OK, "a writer of one table");
	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_ok(publish(&a, both, 2) == TG_OK && start(&a) == TG_BUSY, "a LONG that waits for it");
	tg_wait_begin(a.session, &a.wait);
	begin(&c, 2, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	begin(&d, 3, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&d, tables[1], 1, 1), TG_BUSY, "another writer waits for the LONG");
	tg_wait_begin(d.session, &d.wait);
	/* b was sent to the queue by one that has ended */
	turn.txn = c.session->id;
	turn.host = 1;
	tg_wait_queue_of(b.session->id, row);
	tg_wait_begin(b.session, &turn);
	unit_ok(!tg_wait_closes_circle(d.session, &d.wait), "no circle so far");
	tg_wait_queue_of(c.session->id, row);
	c.wait = (tg_wait){.kind = TG_WAIT_ROW, .txn = d.session->id, .host = tg_load_relaxed(&d.txn->host)};
	tg_wait_begin(c.session, &c.wait);
	unit_ok(tg_wait_closes_circle(d.session, &d.wait), "a circle through the first of the queue");
	tg_wait_queue_of(c.session->id, row + 1);
	unit_ok(!tg_wait_closes_circle(d.session, &d.wait), "none through the first of another");
	tg_wait_queue_of(c.session->id, row);
	tg_wait_begin(c.session, &turn);
	unit_ok(!tg_wait_closes_circle(d.session, &d.wait), "nor through one that waits for its turn, too");
	tg_wait_queue_of(b.session->id, 0);
	tg_wait_queue_of(c.session->id, 0);
	tg_wait_end(b.session);
	tg_wait_end(c.session);
	tg_wait_end(d.session);
	end(&b, false);
	end(&c, false);
	end(&d, false);
	unit_equal(start(&a), TG_OK, "it starts");
	tg_wait_end(a.session);
	end(&a, true);
	check_empty("a circle through a queue");
}

/*
 * L5: a LONG preserves keys 1 to 3; other transactions take and give back keys of another column,
 * which is unique.
 */
static void
test_unique(void)
{
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};
	const tg_key_spec primary = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};
	const tg_index_spec spec = {
		.host = 5, .unique = true, .key = {.part_count = 1, .part = {{.column = 1, .code = TG_KEY_SIGNED}}}};
	tg_area area;
	tg_table *table;
	tg_index *index;
	client a;
	client b;

	if (tg_table_create(sessions[0], 1, 99, kinds, 2, &primary, TG_DATA, &table) != TG_OK ||
		tg_index_create(sessions[0], table, &spec, TG_DATA, &index) != TG_OK)
		unit_bail("no index");
	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_ok(put_value(&b, table, 1, 10) == TG_OK && put_value(&b, table, 4, 40) == TG_OK &&
				put_value(&b, table, 5, 50) == TG_OK,
			"rows with unique values");
	end(&b, true);
	area = area_of(table, 1, 3);
	begin_long(&a, 0, &area, 1);
	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_ok(change_value(&b, table, 4, 41) == TG_OK && change_value(&b, table, 5, 51) == TG_OK, "others change values");
	unit_equal(put_value(&a, table, 2, 41), TG_BUSY, "one that is about to be taken is waited for");
	end(&b, true);

	unit_equal(put_value(&a, table, 2, 20), TG_OK, "a LONG takes a free value");
	unit_equal(put_value(&a, table, 3, 20), TG_EXISTS, "once");
	unit_equal(put_value(&a, table, 3, 10), TG_EXISTS, "one that is taken it does not");
	unit_equal(change_value(&a, table, 1, 11), TG_OK, "its own it may change");
	unit_equal(put_value(&a, table, 3, 10), TG_OK, "and use again");
	unit_ok(change_value(&a, table, 2, 41) == TG_CONFLICT && tg_txn_conflict(a.txn)->kind == TG_CONFLICT_KEY,
			"one that was taken after its start: it gives up");
	unit_ok(change_value(&a, table, 2, 40) == TG_CONFLICT && tg_txn_conflict(a.txn)->kind == TG_CONFLICT_ROW,
			"one that was given back after its start, likewise");
	refused = "skip_l5_unique";
	unit_equal(change_value(&a, table, 2, 41), TG_EXISTS,
			   "left out, it is told of a duplicate that its start does not show");
	unit_equal(change_value(&a, table, 2, 40), TG_OK, "and makes one there");
	refused = NULL;
	end(&a, true);
	tg_leases_forget(table);
	tg_table_release(sessions[0], table);
	check_empty("unique values");
}

static void
test_reports(void)
{
	const tg_area areas[] = {{.table = tables[3]}, area_of(tables[4], 1, 2)};
	tg_preserve_report reports[4];
	tg_txn_report report;
	client a;

	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_equal(publish(&a, areas, 2), TG_OK, "a LONG is on the list");
	unit_ok(tg_preserve_report_get(reports, 4) == 2 && reports[0].relation == tables[3]->relation &&
				!reports[0].is_range && reports[1].is_range && reports[0].start == 0 && reports[0].host == 100,
			"its areas are seen");
	unit_equal(start(&a), TG_OK, "it starts");
	unit_ok(tg_txn_report_get(a.session->id, &report) && report.kind == TG_TXN_LONG &&
				report.isolation == TG_SERIALIZABLE && strcmp(report.label, "a label") == 0 &&
				report.snapshot == a.snapshot.time && !report.waits,
			"it is seen");
	a.wait = (tg_wait){.kind = TG_WAIT_ROW, .host = 7, .txn = 2};
	tg_wait_begin(a.session, &a.wait);
	unit_ok(tg_txn_report_get(a.session->id, &report) && report.waits && report.wait.host == 7 &&
				report.wait.kind == TG_WAIT_ROW,
			"and what it waits for");
	tg_wait_end(a.session);
	end(&a, true);
	a.txn = tg_txn_begin(a.session, 1);
	unit_ok(tg_txn_report_get(a.session->id, &report) && report.kind == TG_TXN_ORDINARY && report.label[0] == 0,
			"the next one is described anew");
	tg_txn_abort(a.session, a.txn);
	check_empty("reports");
}

/* --- by the pool ------------------------------------------------------------------------------ */

static tg_condition condition;
static const tg_txn *starter;
static sem_t may_start;

static bool
check_start(tg_condition *self, tg_session *session)
{
	tg_wait wait;

	(void) self;
	(void) session;
	return tg_long_may_start(starter, &wait);
}

static tg_turn
tell(tg_task *task, tg_worker *worker)
{
	(void) task;
	(void) worker;
	sem_post(&may_start);
	return TG_TURN_DONE;
}

/* A start that is waited for by a condition, which is looked at only when it is poked. */
static void
test_condition(void)
{
	const tg_scheduler_settings settings = tg_scheduler_settings_default(1);
	const tg_area area = {.table = tables[0]};
	struct timespec limit;
	client a;
	client b;

	if (tg_runtime_start(&settings) != TG_OK)
		unit_bail("no pool");
	sem_init(&may_start, 0, 0);
	begin(&b, 1, TG_TXN_ORDINARY, TG_READ_COMMITTED);
	unit_equal(change(&b, tables[0], 1, 1), TG_OK, "a writer");
	begin(&a, 0, TG_TXN_LONG, TG_SERIALIZABLE);
	unit_ok(publish(&a, &area, 1) == TG_OK && start(&a) == TG_BUSY, "a LONG waits for it");
	starter = a.txn;
	tg_condition_init(&condition, tell, check_start, 0, NULL);
	unit_equal(tg_condition_submit(sessions[0], NULL, &condition), TG_OK, "by a condition");
	end(&b, true);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 30;
	unit_ok(sem_timedwait(&may_start, &limit) == 0, "whose body runs when the writer has ended");
	unit_equal(start(&a), TG_OK, "then it starts");
	end(&a, true);
	unit_ok(tg_runtime_stop(5000), "the pool stops");
	check_empty("a condition");
}

int
main(void)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 256 << 20, .session_max = 8},
		.worker_max = 1,
	};
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};
	client c;

	if (tg_runtime_map(&config.arena) != TG_OK || tg_runtime_create(&config) != TG_OK)
		unit_bail("no runtime");
	for (int i = 0; i < 4; i++)
		if (tg_session_open(&sessions[i]) != TG_OK)
			unit_bail("no session");
	for (int i = 0; i < TABLES; i++)
	{
		if (tg_table_create(sessions[0], 1, 70 + (uint32_t) i, kinds, 2, &key, TG_DATA, &tables[i]) != TG_OK)
			unit_bail("no table");
		begin(&c, 0, TG_TXN_ORDINARY, TG_READ_COMMITTED);
		for (int64_t id = 0; id < ROWS; id++)
			(void) !put(&c, tables[i], id);
		end(&c, true);
	}
	tg_failpoint_set(refuse);
	test_areas();
	test_writers();
	test_whole_table();
	test_readers();
	test_declared();
	test_short();
	test_many_tables();
	test_refused();
	test_unique();
	test_circle();
	test_circle_through_queue();
	test_reports();
	test_condition();
	tg_failpoint_set(NULL);
	return unit_done();
}
