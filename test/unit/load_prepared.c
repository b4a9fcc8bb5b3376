/*
 * load_prepared.c
 *	  A load restores the transactions that the host has prepared.
 *
 * On top of a history (durable_steps.h) transactions write rows and lock others, and are prepared;
 * others then write the same tables, and servers start anew.  After a load nobody sees what is
 * prepared, its locks are held, and each of both ends leaves the tables that the model has.  Loads
 * are done by one thread, and by a pool.
 *
 *	FUZZ=n		so many damaged journals (300)
 */
#include "test/unit/load_unit.h"

#include <errno.h>
#include <limits.h>

#include "runtime/base/failpoint.h"
#include "runtime/durable/follow.h"
#include "runtime/reclaim/rank_sweep.h"
#include "runtime/txn/prepared.h"
#include "runtime/txn/read.h"
#include "runtime/txn/row_lock.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn_internal.h"
#include "runtime/txn/writer.h"

#define PREPARED_MAX 3
#define NO_KEY (-1) /* all bits */
#define HOST(xid) (UINT64_C(1) << 62 | (xid))

/*
 * Rows are divided: those of odd numbers are the prepared transaction's to write, and every second
 * of the others to lock; the rest is for those that come later.
 */
typedef struct prepared
{
	client client;
	model_storage before; /* as of its start */
	unsigned locked;	  /* a row; ROWS: none */
	int64_t keys[ROWS];	  /* of rows that it has deleted, or NO_KEY */
} prepared;

static prepared all[PREPARED_MAX];
static unsigned prepared_count;
static bool are_prepared;
static bool is_quiet; /* about problems */
static bool misfits;  /* what is prepared has deleted a row that there is not */

/* tg_load_config */
static uint64_t
host_of(void *context, uint32_t xid)
{
	(void) context;
	for (unsigned i = 0; i < prepared_count && are_prepared; i++)
		if (all[i].client.xid == xid)
			return HOST(xid);
	return 0;
}

/* --- histories -------------------------------------------------------------------------------- */

/* A new key; one that was deleted would be its former row's. */
static int64_t
key_for(const model_storage *storage, bool odd, const int64_t *deleted)
{
	for (;;)
	{
		int64_t key = free_key(storage);
		bool new = (key % 2 != 0) == odd &&key != 0;

		for (unsigned i = 0; i < ROWS; i++)
			new &= deleted[i] != key;
		if (new)
			return key;
	}
}

/* Inserts, updates or deletes a row; keys: of rows that cannot be inserted under another one. */
static void
change_row(client *client, unsigned row, int64_t *keys)
{
	model_storage *storage = &client->storage;
	model_row before = storage->rows[row];
	model_row *now = &storage->rows[row];
	unsigned chosen[INDEXES];
	unsigned count = choose_indexes(storage, chosen);

	if (!now->there && keys[row] != NO_KEY && storage->key_column == COLUMNS)
		return;
	if (now->there && below(3) == 0)
	{
		now->there = false;
		keys[row] = now->values[0].number;
		put_table(storage, &client->rows, storage->column_count, chosen, count);
		put_head(&client->rows, TG_OPERATION_DELETE, row);
		return;
	}
	set_values(storage, now, !now->there);
	if (!now->there)
		now->values[0].number = keys[row] != NO_KEY ? keys[row] : key_for(storage, row % 2 != 0, keys);
	if (storage->key_column == 2)
		now->values[2] = now->values[0];
	set_hidden(client, now, chosen, count);
	if (now->there)
		put_update(storage, &client->rows, row, &before, chosen, count);
	else
		put_insert(storage, &client->rows, row, chosen, count);
	now->there = true;
}

static void
open_client(client *client, unsigned relation, uint32_t xid)
{
	client->relation = relation;
	client->xid = xid;
	client->first = 0;
	client->is_new = client->is_logged = client->drops = false;
	client->storage = relations[relation];
	client->early.count = client->late.count = client->rows.count = 0;
}

static void
put_lock(prepared *of)
{
	model_storage *storage = &of->client.storage;

	of->locked = 2 + 4 * below(ROWS / 4);
	if (!storage->rows[of->locked].there)
		of->locked = ROWS;
	else
	{
		put_table(storage, &of->client.rows, 0, NULL, 0);
		put_head(&of->client.rows, TG_OPERATION_LOCK, of->locked);
		tg_bytes_put_byte(&of->client.rows, TG_LOCK_NO_KEY_UPDATE);
	}
}

static void
prepare(unsigned relation)
{
	prepared *of = &all[prepared_count++];
	client *client = &of->client;
	unsigned steps = 1 + below(40);

	memset(of->keys, 0xff, sizeof(of->keys));
	of->before = relations[relation];
	open_client(client, relation, ++xid_last);
	for (unsigned i = 0; i < steps; i++)
	{
		change_row(client, 1 + 2 * below(ROWS / 2), of->keys);
		if (below(10) == 0)
			log_part(client);
	}
	put_lock(of);
	if (misfits)
	{
		put_table(&client->storage, &client->rows, 0, NULL, 0);
		put_head(&client->rows, TG_OPERATION_DELETE, ROWS);
	}
	add_record(TG_RECORD_WITH, client->xid, client->first, NULL, NULL, &client->rows);
}

/* A transaction of another client, and what it does to the rows is what the model has. */
static void
write_others(prepared *of)
{
	static client other;
	int64_t keys[ROWS];

	memset(keys, 0xff, sizeof(keys));
	open_client(&other, of->client.relation, 0);
	for (unsigned i = 0; i < 20; i++)
		change_row(&other, 4 * below(ROWS / 4), keys);
	add_record(TG_RECORD_COMMIT, 0, 0, NULL, NULL, &other.rows);
	for (unsigned row = 0; row < ROWS; row += 4)
		of->client.storage.rows[row] = other.storage.rows[row];
	relations[of->client.relation] = other.storage;
}

static void
start_with_prepared(void)
{
	tg_bytes *record;

	start_anew();
	record = &frames[frame_count - 1].record;
	reserve(record, 100);
	tg_bytes_put_number(record, 7); /* not ours */
	for (unsigned i = 0; i < prepared_count; i++)
		tg_bytes_put_number(record, all[i].client.xid);
}

/* Each index with hidden values has a number of the host's to itself, by which writers name it. */
static bool
is_fit(const model_storage *storage)
{
	unsigned counts[WAYS] = {0};

	for (unsigned i = 0; i < INDEXES; i++)
		if (storage->indexes[i].id != 0 && !storage->indexes[i].dropped)
			counts[storage->indexes[i].way]++;
	return storage->id != 0 && counts[BY_HIDDEN] < 2 && counts[BY_RANK] < 2;
}

static void
make_prepared_history(void)
{
	make_history(200 + below(800));
	start_anew();
	prepared_count = 0;
	are_prepared = true;
	for (unsigned i = 0; i < RELATIONS && prepared_count < PREPARED_MAX; i++)
		if (is_fit(&relations[i]))
			prepare(i);
	if (below(2) == 0)
		start_with_prepared();
	for (unsigned i = 0; i < prepared_count; i++)
		write_others(&all[i]);
	if (below(2) == 0)
		start_with_prepared();
}

/* --- after a load ----------------------------------------------------------------------------- */

static tg_status
load_prepared(bool ignore_damage, tg_load_report *report)
{
	const tg_load_config config = {.journal = "journal",
								   .bases = "bases",
								   .system = SYSTEM,
								   .ignore_damage = ignore_damage,
								   .go_on = go_on,
								   .prepared = host_of};
	tg_status status;

	write_journal();
	status = tg_load(session, &config, report);
	if (report->problem != NULL && !is_quiet)
		fprintf(stderr, "# %s at %" PRIu64 "\n", report->problem, report->problem_position);
	return status;
}

static tg_table *
table_of_relation(unsigned relation)
{
	return tg_catalog_find(database_of(relation), 10 + relation);
}

/* A snapshot sees the rows of before, which those of others are among. */
static unsigned
count_seen(const prepared *of)
{
	tg_table *table = table_of_relation(of->client.relation);
	const model_storage *committed = &relations[of->client.relation];
	tg_snapshot snapshot = {.txn = session->id};
	unsigned faults = 0;
	unsigned entry;

	snapshot.time = tg_snapshot_publish(session, &entry);
	tg_epoch_enter(session);
	for (unsigned row = 0; row < ROWS; row++)
	{
		tg_version version = TG_VERSION_NONE;
		tg_wait wait;
		bool there = row < table->row_next && tg_txn_read(&snapshot, table, row, &version, &wait) == TG_OK;

		faults += there != committed->rows[row].there;
		for (unsigned i = 0; there && i < committed->column_count; i++)
			faults += !cell_is(tg_version_chunk(version), i, tg_version_slot(version), &committed->rows[row].values[i],
							   kinds[i]);
	}
	tg_epoch_leave(session);
	tg_snapshot_withdraw(session, entry);
	return faults;
}

/* What another transaction gets that wants the row. */
static tg_status
try_row(tg_table *table, uint32_t row, tg_lock_mode mode, uint64_t *host_out)
{
	tg_txn *txn = tg_txn_begin(session, 1);
	tg_writer writer = {.session = session, .txn = txn, .claim = TG_DATA};
	tg_version version;
	tg_wait wait = {0};
	tg_status status;

	tg_epoch_enter(session);
	status = tg_txn_lock(&writer, NULL, table, &row, mode, &version, &wait);
	tg_epoch_leave(session);
	tg_txn_abort(session, txn);
	*host_out = wait.host;
	return status;
}

static unsigned
count_held(const prepared *of)
{
	tg_table *table = table_of_relation(of->client.relation);
	unsigned faults = 0;
	uint64_t host;

	if (of->locked < ROWS)
	{
		faults += try_row(table, of->locked, TG_LOCK_SHARE, &host) != TG_BUSY || host != HOST(of->client.xid);
		faults += try_row(table, of->locked, TG_LOCK_KEY_SHARE, &host) != TG_CHANGED;
	}
	for (unsigned row = 1; row < ROWS; row += 2)
		if (of->keys[row] != NO_KEY && of->before.rows[row].there)
			faults += try_row(table, row, TG_LOCK_UPDATE, &host) != TG_BUSY || host != HOST(of->client.xid);
	return faults;
}

/* False: nothing of it was restored. */
static bool
end_prepared(const prepared *of, bool commits)
{
	tg_txn *txn;

	if (tg_prepared_hold(HOST(of->client.xid), &txn) != TG_OK)
		return false;
	if (commits)
		tg_txn_commit(session, txn);
	else
		tg_txn_abort(session, txn);
	tg_prepared_let_go(txn);
	if (commits)
		relations[of->client.relation] = of->client.storage;
	return true;
}

static unsigned
count_different(void)
{
	unsigned faults = 0;

	(void) used_bytes();
	for (unsigned i = 0; i < RELATIONS; i++)
	{
		tg_table *table = table_of_relation(i);

		if (table != NULL && tg_ranks_drop_unused(session, table) != TG_OK)
			faults++;
		faults += !table_is(i);
	}
	return faults;
}

static void
test_ends(void)
{
	unsigned seen = 0;
	unsigned held = 0;
	unsigned different = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < UNIT_ROUNDS(60); i++)
	{
		tg_load_report report;

		make_prepared_history();
		if (load_prepared(false, &report) != TG_OK || report.prepared_count != prepared_count ||
			report.damage_count > 0)
			unit_bail("no load");
		for (unsigned j = 0; j < prepared_count; j++)
		{
			seen += count_seen(&all[j]);
			held += count_held(&all[j]);
		}
		for (unsigned j = 0; j < prepared_count; j++)
			held += !end_prepared(&all[j], below(2) == 0);
		different += count_different();
		count += prepared_count;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(seen == 0, "nobody sees what %u prepared transactions have written", count);
	unit_ok(held == 0, "they hold their locks");
	unit_ok(different == 0, "both ends leave what the model has");
}

/* An outcome that comes after a start decides; and a start ends those that it does not name. */
static void
test_decided(void)
{
	unsigned faults = 0;

	for (unsigned i = 0; i < UNIT_ROUNDS(40); i++)
	{
		tg_load_report report;

		make_prepared_history();
		start_with_prepared();
		for (unsigned j = 0; j < prepared_count; j++)
		{
			bool commits = below(2) == 0;

			(void) add_frame(commits ? TG_FRAME_COMMITTED : TG_FRAME_ABORTED, all[j].client.xid);
			if (commits)
				relations[all[j].client.relation] = all[j].client.storage;
		}
		faults += load_prepared(false, &report) != TG_OK || report.prepared_count != 0 || count_faults(&report) != 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0, "an outcome after a start counts");
	for (unsigned i = 0; i < 10; i++)
	{
		tg_load_report report;

		make_prepared_history();
		start_anew();
		faults += load_prepared(false, &report) != TG_OK || report.prepared_count != 0 || count_faults(&report) != 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0, "a start ends those that it does not name");
}

/* A load that is stopped leaves nothing behind, and can be done again. */
static void
test_stopped(void)
{
	unsigned stopped = 0;
	unsigned left = 0;

	make_prepared_history();
	for (looks_left = 1;; looks_left = stopped + 1)
	{
		tg_load_report report;
		tg_status status = load_prepared(false, &report);
		tg_txn *txn;

		tg_load_report_free(&report);
		if (status == TG_OK)
			break;
		if (status != TG_CANCELLED || tg_prepared_hold(HOST(all[0].client.xid), &txn) != TG_NOT_FOUND)
			unit_bail("the load has not been stopped");
		stopped++;
	}
	looks_left = 0;
	for (unsigned i = 0; i < prepared_count; i++)
		left += !end_prepared(&all[i], true);
	unit_ok(stopped > 0 && left == 0 && count_different() == 0, "a load is done again after it was stopped %u times",
			stopped);
	(void) drop_tables();
}

/* A transaction that cannot be restored keeps all tables closed, unless damage is to be ignored. */
static void
test_misfit(void)
{
	tg_load_report report;
	unsigned left = 0;
	tg_txn *txn;

	misfits = is_quiet = true;
	make_prepared_history();
	unit_ok(load_prepared(false, &report) == TG_DAMAGED && report.problem != NULL,
			"a prepared transaction that cannot be restored ends the load");
	tg_load_report_free(&report);
	for (unsigned i = 0; i < prepared_count; i++)
		left += tg_prepared_hold(HOST(all[i].client.xid), &txn) != TG_NOT_FOUND;
	unit_ok(prepared_count > 0 && left == 0, "and none is left prepared");
	if (load_prepared(true, &report) != TG_OK)
		unit_bail("damage is not ignored");
	for (unsigned i = 0; i < prepared_count; i++)
		left += !end_prepared(&all[i], i % 2 == 0);
	unit_ok(left == 0 && count_different() == 0, "unless damage is to be ignored: then what fits is restored");
	tg_load_report_free(&report);
	(void) drop_tables();
	misfits = is_quiet = false;
}

static unsigned failing;   /* so many reads of the journal */
static unsigned will_fail; /* of those for what is prepared */

static bool
fail_to_read(const char *name)
{
	if (strcmp(name, "prepared_check") == 0)
		failing = will_fail;
	if (failing == 0 || strcmp(name, "journal_read") != 0)
		return false;
	failing--;
	return true;
}

static unsigned
parts(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < prepared_count; i++)
		count += all[i].client.first != 0;
	return count;
}

/* Tables that have followed go on, with what is prepared, after so many errors. */
static void
end_following(unsigned errors, tg_load_report *report)
{
	tg_load_config config = {.journal = "journal",
							 .bases = "bases",
							 .system = SYSTEM,
							 .follows = true,
							 .until = position_behind(frame_count),
							 .go_on = go_on,
							 .prepared = host_of};
	const tg_follow_config follow_config = {.load = &config};
	const tg_load_with *withs;
	size_t with_count;
	tg_follow *follow;

	write_journal();
	if (tg_load(session, &config, report) != TG_OK ||
		tg_follow_begin(session, &follow_config, report, &follow) != TG_OK)
		unit_bail("no load");
	tg_load_report_free(report);
	tg_follow_finish(follow);
	config.follows = false;
	withs = tg_follow_withs(follow, &with_count);
	failing = 0;
	will_fail = errors;
	tg_failpoint_set(fail_to_read);
	if (tg_load_end_following(session, &config, tg_follow_undecided(follow), withs, with_count, report) != TG_OK)
		unit_bail("the end of following has failed");
	tg_failpoint_set(NULL);
	tg_follow_end(follow);
}

/* At a promotion: errors that go away lose nothing; those that stay lose what cannot be read. */
static void
test_errors(void)
{
	static const unsigned errors[] = {0, 20, UINT_MAX};
	unsigned left = 0;
	unsigned told = 0;
	unsigned different = 0;

	for (unsigned i = 0; i < 15; i++)
	{
		unsigned lost;
		tg_load_report report;

		do
			make_prepared_history();
		while (parts() == 0);
		lost = errors[i % 3] == UINT_MAX ? parts() : 0;
		end_following(errors[i % 3], &report);
		left += report.prepared_count != prepared_count - lost || report.lost_count != lost;
		told += report.problem != NULL || (lost > 0 && report.error.error != EIO);
		for (unsigned j = 0; j < prepared_count; j++)
			left += end_prepared(&all[j], true) != (lost == 0 || all[j].client.first == 0);
		different += count_different();
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_equal(left, 0, "what was prepared goes on after a promotion, unless it cannot be read at all");
	unit_equal(told, 0, "which is told, and is no problem of the tables");
	unit_equal(different, 0, "both leave what the model has");
}

/* Any records, with the right checksums: an answer, and those that are restored can be ended. */
static void
test_any_records(void)
{
	const char *text = getenv("FUZZ");
	unsigned times = text != NULL ? (unsigned) strtoul(text, NULL, 10) : 300;
	unsigned loaded = 0;
	unsigned refused = 0;

	is_quiet = true;
	for (unsigned i = 0; i < times; i++)
	{
		tg_load_report report;
		tg_status status;

		make_prepared_history();
		for (unsigned j = 1 + below(3); j > 0; j--)
			damage_record(&frames[frame_count - 1 - below(frame_count < 20 ? frame_count : 20)].record);
		status = load_prepared(below(2) == 0, &report);
		for (size_t j = 0; status == TG_OK && j < report.prepared_count; j++)
			for (unsigned k = 0; k < prepared_count; k++)
				while (all[k].client.xid == report.prepared[j] && end_prepared(&all[k], below(2) == 0))
					;
		loaded += status == TG_OK;
		refused += status != TG_OK;
		tg_load_report_free(&report);
		(void) used_bytes(); /* collects */
		(void) drop_tables();
	}
	is_quiet = false;
	unit_ok(loaded > 0 && refused > 0, "of damaged journals %u were loaded, %u were not", loaded, refused);
}

static void
test_alone(void)
{
	test_ends();
	test_decided();
	test_stopped();
	test_misfit();
	test_errors();
	test_any_records();
}

static void
test_pool(void)
{
	start_pool();
	test_ends();
	test_decided();
	test_stopped();
	stop_pool();
}

int
main(void)
{
	size_t used;

	tg_prepared_set_max(PREPARED_MAX);
	start_load_unit();
	used = used_bytes();
	if (UNIT_ONE_THREAD)
		test_alone();
	unit_equal(used_bytes(), used, "nothing is left of the tables");
	start_pool();
	used = used_bytes();
	stop_pool();
	test_pool();
	unit_equal(used_bytes(), used, "nor of those that a pool has loaded");
	return unit_done();
}
