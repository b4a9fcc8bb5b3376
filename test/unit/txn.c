/*
 * txn.c
 *	  Transactions on one table: the rows that each snapshot sees, waits between transactions, the
 *	  state after a rollback; and concurrent transfers keep their sum.
 */
#include "test/unit/collecting.h"
#include "test/unit/integer_key.h"
#include "test/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/table/lease.h"

#define ACCOUNTS 64
#define BALANCE 1000

static tg_table *table;

static void
start(void)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 4 << 30, .limit_bytes = (size_t) 1 << 30, .session_max = 64},
		.worker_max = 2,
	};
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8, TG_KIND_STRING};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};
	tg_session *session;

	if (tg_runtime_map(&config.arena) != TG_OK || tg_runtime_create(&config) != TG_OK ||
		tg_session_open(&session) != TG_OK || tg_table_create(session, 1, 1, kinds, 3, &key, TG_DATA, &table) != TG_OK)
		unit_bail("no runtime");
	tg_runtime_session_end(session);
}

/* One participant: its session, and a transaction while there is one. */
typedef struct client
{
	tg_session *session;
	tg_txn *txn;
	tg_writer writer;
	tg_snapshot snapshot;
	unsigned entry;
	uint32_t command;
} client;

static void
client_open(client *c)
{
	memset(c, 0, sizeof(*c));
	if (tg_session_open(&c->session) != TG_OK)
		unit_bail("no session");
}

static void
client_close(client *c)
{
	tg_runtime_session_end(c->session);
}

static void
client_begin(client *c)
{
	c->txn = tg_txn_begin(c->session, (uint64_t) c->session->id + 1);
	c->command = 0;
	c->writer = (tg_writer){.session = c->session, .txn = c->txn, .claim = TG_DATA};
}

/* A new statement: a fresh snapshot, the next command. */
static void
statement(client *c)
{
	c->snapshot.time = tg_snapshot_publish(c->session, &c->entry);
	c->snapshot.txn = c->session->id;
	c->snapshot.command = c->writer.command = ++c->command;
}

static void
statement_end(client *c)
{
	tg_snapshot_withdraw(c->session, c->entry);
}

static void
fill(tg_value *values, bool *nulls, int64_t id, int64_t balance, const char *text)
{
	memset(nulls, 0, 3);
	values[0].word = (uint64_t) id;
	values[1].word = (uint64_t) balance;
	if (strlen(text) <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(&values[2].string, text, (unsigned) strlen(text));
	else
		tg_string_make_host(&values[2].string, text, (uint32_t) strlen(text), 0);
}

static tg_status
put(client *c, int64_t id, int64_t balance, const char *text, tg_wait *wait)
{
	unsigned char key[16];
	tg_value values[3];
	bool nulls[3];
	uint32_t row;

	fill(values, nulls, id, balance, text);
	return tg_txn_insert(&c->writer, table, key, key_of(id, key), values, nulls, &row, wait);
}

/* The balance that the client's snapshot sees, or -1. */
static int64_t
get(client *c, int64_t id)
{
	unsigned char key[16];
	int64_t balance = -1;
	tg_version version;
	tg_value value;
	tg_wait wait;
	uint32_t row;

	tg_epoch_enter(c->session);
	if (tg_txn_find(&c->snapshot, table, key, key_of(id, key), &row, &version, &wait) == TG_OK)
	{
		tg_chunk_value(tg_version_chunk(version), 1, tg_version_slot(version), &value);
		balance = (int64_t) value.word;
	}
	tg_epoch_leave(c->session);
	return balance;
}

/* The newest version of the row that the client's snapshot sees, with its values. */
static tg_status
newest_of(client *c, int64_t id, uint32_t *row, tg_version *version, tg_value *values, tg_wait *wait)
{
	unsigned char key[16];
	tg_status status;

	tg_epoch_enter(c->session);
	status = tg_txn_find(&c->snapshot, table, key, key_of(id, key), row, version, wait);
	if (status == TG_OK)
		status = tg_txn_newest(&c->writer, &c->snapshot, table, row, version, wait);
	if (status == TG_OK || status == TG_CHANGED)
		for (unsigned i = 0; i < 3; i++)
			tg_chunk_value(tg_version_chunk(*version), i, tg_version_slot(*version), &values[i]);
	tg_epoch_leave(c->session);
	return status;
}

/* Adds to a balance; delete_it: deletes the row instead; new_id: changes the key. */
static tg_status
change(client *c, int64_t id, int64_t amount, bool delete_it, int64_t new_id, tg_wait *wait)
{
	unsigned char key[16];
	tg_value values[3];
	bool nulls[3] = {false, false, false};
	tg_version version;
	uint32_t row;
	tg_status status = newest_of(c, id, &row, &version, values, wait);

	if (status != TG_OK && status != TG_CHANGED)
		return status;
	if (delete_it)
		return tg_txn_delete(&c->writer, table, row, version, wait);
	values[1].word += (uint64_t) amount;
	if (new_id == id)
		return tg_txn_update(&c->writer, table, row, version, values, nulls, wait);
	values[0].word = (uint64_t) new_id;
	fill(values, nulls, new_id, (int64_t) values[1].word, "moved");
	return tg_txn_move(&c->writer, table, row, version, key, key_of(new_id, key), values, nulls, &row, wait);
}

static tg_status
add(client *c, int64_t id, int64_t amount, tg_wait *wait)
{
	return change(c, id, amount, false, id, wait);
}

static void
test_visibility(void)
{
	static const char long_text[] = "a text that does not fit into sixteen bytes";
	client a;
	client b;
	client c;
	tg_wait wait;

	client_open(&a);
	client_open(&b);
	client_open(&c);
	client_begin(&a);
	statement(&a);
	unit_ok(put(&a, 1, 10, long_text, &wait) == TG_OK, "insert");
	unit_ok(get(&a, 1) == -1, "a command does not see what it writes itself");
	statement_end(&a);
	statement(&a);
	unit_ok(get(&a, 1) == 10, "the next command does");
	statement(&b);
	unit_ok(get(&b, 1) == -1, "others do not see it before commit");
	client_begin(&b);
	unit_ok(put(&b, 1, 11, "b", &wait) == TG_BUSY && wait.host == (uint64_t) a.session->id + 1 && wait.subtxn == 0,
			"a second insert of the key has to wait for the first");
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);
	unit_ok(get(&b, 1) == -1, "an older snapshot does not see a later commit");
	unit_ok(put(&b, 1, 11, "b", &wait) == TG_EXISTS, "the key is taken now");
	unit_ok(add(&b, 1, 5, &wait) == TG_NOT_FOUND, "a version that the snapshot does not see is not found by key");
	statement_end(&b);
	statement(&b);
	unit_ok(get(&b, 1) == 10, "a new snapshot sees it");
	unit_ok(add(&b, 1, 5, &wait) == TG_OK, "update");
	unit_ok(add(&b, 1, 5, &wait) == TG_SELF, "a command does not update a row twice");

	client_begin(&c);
	statement(&c);
	unit_ok(add(&c, 1, 1, &wait) == TG_BUSY && wait.host == (uint64_t) b.session->id + 1,
			"an update has to wait for the one before it");
	statement_end(&b);
	tg_txn_commit(b.session, b.txn);
	unit_ok(get(&c, 1) == 10, "the snapshot stays as it was");
	unit_ok(add(&c, 1, 1, &wait) == TG_OK, "the update goes on with the newest version");
	statement_end(&c);
	statement(&c);
	unit_ok(get(&c, 1) == 16, "and nothing was lost");
	statement_end(&c);
	tg_txn_abort(c.session, c.txn);
	statement(&c);
	unit_ok(get(&c, 1) == 15, "rollback takes it back");
	statement_end(&c);

	client_begin(&a);
	statement(&a);
	unit_ok(change(&a, 1, 0, true, 1, &wait) == TG_OK, "delete");
	statement(&b);
	unit_ok(get(&b, 1) == 15, "others see the row until the commit");
	statement_end(&a);
	statement(&a);
	unit_ok(put(&a, 1, 70, "again", &wait) == TG_OK, "the deleter may insert the key again");
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);
	unit_ok(get(&b, 1) == 15, "an old snapshot sees the row before its death");
	statement_end(&b);
	statement(&b);
	unit_ok(get(&b, 1) == 70, "a new one the row after it");
	statement_end(&b);

	client_begin(&a);
	statement(&a);
	unit_ok(change(&a, 1, 1, false, 2, &wait) == TG_OK, "update of the key");
	statement_end(&a);
	client_begin(&b);
	statement(&b);
	unit_ok(get(&b, 1) == 70 && get(&b, 2) == -1, "not visible before the commit");
	unit_ok(add(&b, 1, 1, &wait) == TG_BUSY, "the row is taken");
	tg_txn_commit(a.session, a.txn);
	unit_ok(add(&b, 1, 1, &wait) == TG_OK, "a waiting update follows the row to its new key");
	statement_end(&b);
	tg_txn_commit(b.session, b.txn);
	statement(&b);
	unit_ok(get(&b, 1) == -1 && get(&b, 2) == 72, "and changed it there");
	statement_end(&b);

	/*
	 * the same where both keys are used again: 2 moves to 3, which was deleted, and a new 2 comes
	 */
	client_begin(&a);
	statement(&a);
	unit_ok(put(&a, 3, 33, "three", &wait) == TG_OK, "insert");
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);
	client_begin(&b);
	client_begin(&c);
	statement(&b); /* sees 2 and 3 */
	statement(&c);
	client_begin(&a);
	statement(&a);
	unit_ok(change(&a, 3, 0, true, 3, &wait) == TG_OK, "delete");
	statement_end(&a);
	statement(&a);
	unit_ok(change(&a, 2, 1, false, 3, &wait) == TG_OK, "a row moves to the key");
	statement_end(&a);
	statement(&a);
	unit_ok(put(&a, 2, 500, "two", &wait) == TG_OK, "a new one comes for its own");
	statement_end(&a);
	unit_ok(add(&b, 2, 1, &wait) == TG_BUSY, "the row that was there is taken");
	tg_txn_commit(a.session, a.txn);
	unit_ok(add(&b, 2, 1, &wait) == TG_OK, "a waiting update follows it");
	unit_ok(add(&b, 3, 1, &wait) == TG_NOT_FOUND, "the row that was deleted is not taken for the one with its key");
	statement_end(&b);
	statement(&b);
	unit_ok(get(&b, 2) == 500 && get(&b, 3) == 74, "both rows are right");
	unit_ok(change(&b, 3, 0, true, 3, &wait) == TG_OK && put(&b, 3, 9, "three", &wait) == TG_OK,
			"deleted and inserted again");
	statement_end(&b);
	tg_txn_commit(b.session, b.txn);
	unit_ok(add(&c, 2, 1, &wait) == TG_NOT_FOUND, "also by another, where it was moved to");
	statement_end(&c);
	tg_txn_abort(c.session, c.txn);

	client_begin(&a);
	statement(&a);
	(void) !change(&a, 3, 0, true, 3, &wait);
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);

	client_begin(&a);
	statement(&a);
	(void) !change(&a, 2, 0, true, 2, &wait);
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);
	collect_all(a.session);
	unit_ok(tg_load_relaxed(&table->row_count) == 0, "the count of rows is exact");
	client_close(&a);
	client_close(&b);
	client_close(&c);
}

/* The row goes on in another table. */
static tg_status
depart(client *c, int64_t id, tg_wait *wait)
{
	tg_value values[3];
	tg_version version;
	uint32_t row;
	tg_status status = newest_of(c, id, &row, &version, values, wait);

	if (status != TG_OK && status != TG_CHANGED)
		return status;
	return tg_txn_depart(&c->writer, table, row, version, wait);
}

static void
test_departure(void)
{
	unsigned char key[16];
	tg_version version;
	tg_status status;
	uint32_t row;
	client a;
	client b;
	tg_wait wait;

	client_open(&a);
	client_open(&b);
	client_begin(&a);
	statement(&a);
	(void) !put(&a, 1, 10, "one", &wait);
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);

	client_begin(&a);
	client_begin(&b);
	statement(&a);
	statement(&b);
	unit_ok(depart(&a, 1, &wait) == TG_OK, "a row departs");
	unit_ok(add(&b, 1, 1, &wait) == TG_BUSY, "others wait for how that ends");
	statement_end(&a);
	tg_txn_abort(a.session, a.txn);
	unit_ok(add(&b, 1, 1, &wait) == TG_OK, "rollback brings it back");
	statement_end(&b);
	statement(&b);
	unit_ok(change(&b, 1, 0, true, 1, &wait) == TG_OK, "a deletion afterwards");
	client_begin(&a);
	statement(&a);
	statement_end(&b);
	tg_txn_commit(b.session, b.txn);
	unit_ok(add(&a, 1, 1, &wait) == TG_NOT_FOUND, "is a deletion");
	statement_end(&a);

	statement(&a);
	unit_ok(put(&a, 1, 10, "one", &wait) == TG_OK, "the key again");
	statement_end(&a);
	statement(&a);
	unit_ok(depart(&a, 1, &wait) == TG_OK, "departs in the transaction that has made it");
	client_begin(&b);
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);

	client_begin(&a);
	statement(&a);
	(void) !put(&a, 2, 20, "two", &wait);
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);
	statement(&b);
	client_begin(&a);
	statement(&a);
	unit_ok(depart(&a, 2, &wait) == TG_OK, "departs");
	statement_end(&a);
	tg_txn_commit(a.session, a.txn);
	unit_ok(add(&b, 2, 1, &wait) == TG_MOVED, "a transaction that wants to write it is told");
	tg_epoch_enter(b.session);
	status = tg_txn_find(&b.snapshot, table, key, key_of(2, key), &row, &version, &wait);
	if (status == TG_OK)
		status = tg_txn_lock(&b.writer, &b.snapshot, table, &row, TG_LOCK_KEY_SHARE, &version, &wait);
	tg_epoch_leave(b.session);
	unit_ok(status == TG_MOVED, "or to lock it");
	unit_ok(put(&b, 2, 21, "two", &wait) == TG_OK, "its key is free");
	unit_ok(add(&b, 2, 1, &wait) == TG_MOVED, "and another row's");
	statement_end(&b);
	tg_txn_abort(b.session, b.txn);
	collect_all(a.session);
	unit_ok(tg_load_relaxed(&table->row_count) == 0, "nothing is left");
	client_close(&a);
	client_close(&b);
}

static void
test_savepoints(void)
{
	client a;
	client b;
	tg_wait wait;
	tg_txn_mark mark;
	tg_txn_mark inner;
	unsigned number;
	unsigned inner_number;

	client_open(&a);
	client_open(&b);
	client_begin(&a);
	statement(&a);
	(void) !put(&a, 1, 1, "one", &wait);
	statement_end(&a);
	tg_txn_savepoint(a.session, a.txn, &mark, &number);
	a.writer.subtxn = number;
	statement(&a);
	(void) !add(&a, 1, 10, &wait);
	(void) !put(&a, 2, 2, "two", &wait);
	statement_end(&a);
	tg_txn_savepoint(a.session, a.txn, &inner, &inner_number);
	a.writer.subtxn = inner_number;
	statement(&a);
	(void) !change(&a, 1, 0, true, 1, &wait);
	(void) !put(&a, 3, 3, "three", &wait);
	statement_end(&a);
	client_begin(&b);
	statement(&b);
	unit_ok(put(&b, 3, 4, "b", &wait) == TG_BUSY && wait.subtxn == inner_number,
			"a waiter is told which subtransaction holds the key");
	tg_txn_rollback_to(a.session, a.txn, inner);
	unit_ok(put(&b, 3, 4, "b", &wait) == TG_OK, "rolling back to a savepoint frees what was written since");
	statement_end(&b);
	tg_txn_abort(b.session, b.txn);
	statement(&a);
	unit_ok(get(&a, 1) == 11 && get(&a, 2) == 2 && get(&a, 3) == -1, "and only that");
	statement_end(&a);
	tg_txn_rollback_to(a.session, a.txn, mark);
	statement(&a);
	unit_ok(get(&a, 1) == 1 && get(&a, 2) == -1, "an outer savepoint as well");
	statement_end(&a);
	tg_txn_abort(a.session, a.txn);
	statement(&a);
	unit_ok(get(&a, 1) == -1, "and everything");
	statement_end(&a);
	unit_ok(tg_load_relaxed(&table->row_count) == 0, "nothing is counted");
	collect_all(a.session);
	client_close(&a);
	client_close(&b);
}

/* --- concurrency ------------------------------------------------------------------------ */

static int transfers_done;
static int sums_wrong;
static int sums_taken;
static int stop_readers;

static void
transfer_thread(unsigned number)
{
	unsigned seed = number + 1;
	client c;

	client_open(&c);
	for (int i = 0; i < 3000; i++)
	{
		int64_t from = rand_r(&seed) % ACCOUNTS;
		int64_t to = rand_r(&seed) % ACCOUNTS;
		tg_txn_mark mark;
		unsigned subtxn;
		tg_wait wait;
		tg_status status;

		if (from == to)
			continue;
		client_begin(&c);
		statement(&c);
		/* A transaction that would have to wait gives up instead: no deadlocks here. */
		status = add(&c, from, -1, &wait);
		statement_end(&c);
		if (status == TG_OK)
		{
			statement(&c);
			tg_txn_savepoint(c.session, c.txn, &mark, &subtxn);
			status = add(&c, to, 1, &wait);
			if (status == TG_OK && i % 7 == 0)
			{
				tg_txn_rollback_to(c.session, c.txn, mark);
				c.writer.command = ++c.command;
				c.snapshot.command = c.command;
				status = add(&c, to, 1, &wait);
			}
			statement_end(&c);
		}
		if (status == TG_OK && i % 5 != 0)
		{
			tg_txn_commit(c.session, c.txn);
			__atomic_fetch_add(&transfers_done, 1, __ATOMIC_RELAXED);
		}
		else
			tg_txn_abort(c.session, c.txn);
		if (i % 16 == 0)
			tg_epoch_advance();
	}
	client_close(&c);
}

static void
reader_thread(void)
{
	client c;

	client_open(&c);
	do
	{
		int64_t sum = 0;

		statement(&c);
		for (int64_t id = 0; id < ACCOUNTS; id++)
			sum += get(&c, id);
		statement_end(&c);
		if (sum != ACCOUNTS * BALANCE)
			__atomic_fetch_add(&sums_wrong, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sums_taken, 1, __ATOMIC_RELAXED);
	} while (!__atomic_load_n(&stop_readers, __ATOMIC_RELAXED));
	client_close(&c);
}

static void
collector_thread(void)
{
	client c;

	client_open(&c);
	while (!__atomic_load_n(&stop_readers, __ATOMIC_RELAXED))
	{
		tg_epoch_advance();
		(void) tg_collector_run(c.session, 64);
		tg_retire_poll(c.session);
	}
	client_close(&c);
}

#define WRITERS 3

static void
stress_thread(unsigned number, void *argument)
{
	(void) argument;
	if (number < WRITERS)
	{
		static int writers_left = WRITERS;

		transfer_thread(number);
		if (__atomic_sub_fetch(&writers_left, 1, __ATOMIC_ACQ_REL) == 0)
			__atomic_store_n(&stop_readers, 1, __ATOMIC_RELAXED);
	}
	else if (number == WRITERS)
		reader_thread();
	else
		collector_thread();
}

static void
test_transfers(void)
{
	tg_arena_report before;
	tg_arena_report after;
	int64_t sum = 0;
	client c;
	tg_wait wait;

	client_open(&c);
	tg_arena_report_get(&before);
	client_begin(&c);
	statement(&c);
	for (int64_t id = 0; id < ACCOUNTS; id++)
		if (put(&c, id, BALANCE, "an account with a text of some length", &wait) != TG_OK)
			unit_bail("no account");
	statement_end(&c);
	tg_txn_commit(c.session, c.txn);

	unit_threads(WRITERS + 2, stress_thread, NULL);
	unit_ok(transfers_done > 0 && sums_taken > 0, "transfers and readers ran (%d, %d)", transfers_done, sums_taken);
	unit_ok(sums_wrong == 0, "every snapshot sees the same sum (%d wrong)", sums_wrong);
	statement(&c);
	for (int64_t id = 0; id < ACCOUNTS; id++)
		sum += get(&c, id);
	statement_end(&c);
	unit_ok(sum == ACCOUNTS * BALANCE, "and so it is at the end");

	collect_all(c.session);
	tg_arena_report_get(&after);
	unit_ok(after.used_by[TG_USE_BLOB] - before.used_by[TG_USE_BLOB] == ACCOUNTS * 40,
			"one blob per account is left: %zu bytes more", after.used_by[TG_USE_BLOB] - before.used_by[TG_USE_BLOB]);
	unit_ok(after.used_by[TG_USE_LOG] == before.used_by[TG_USE_LOG], "no write log is left");

	tg_leases_end(c.session);
	tg_leases_forget(table);
	tg_table_release(c.session, table);
	tg_retire_poll(c.session);
	client_close(&c);
}

int
main(void)
{
	start();
	test_visibility();
	test_departure();
	test_savepoints();
	test_transfers();
	tg_arena_destroy();
	return unit_done();
}
