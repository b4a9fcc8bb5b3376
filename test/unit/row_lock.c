/*
 * row_lock.c
 *	  Row locks: which transaction waits for which, what a lock outlives, what is left of it; then
 *	  clients at random, which must never hold conflicting locks.
 */
#include "runtime/txn/row_lock.h"

#include "runtime/txn/txn_internal.h"
#include "test/unit/gate.h"
#include "test/unit/writers.h"

static const char *const mode_names[] = {"KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"};

static bool
stands_against(tg_lock_mode a, tg_lock_mode b)
{
	return a + b >= TG_LOCK_UPDATE;
}

/*
 * TG_OK also for a row that has changed since the snapshot; *shown: the version that the lock is
 * good for.
 */
static tg_status
lock_version(client *client, uint64_t key, tg_lock_mode mode, tg_version *shown)
{
	tg_writer writer = writer_of(client);
	tg_snapshot snapshot = {.txn = client->session->id, .command = writer.command};
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	tg_status status;
	unsigned entry;
	uint32_t row;

	snapshot.time = tg_snapshot_publish(client->session, &entry);
	tg_epoch_enter(client->session);
	status = tg_txn_find(&snapshot, table, bytes, key_bytes, &row, shown, &client->wait);
	if (status == TG_OK)
		status = tg_txn_lock(&writer, &snapshot, table, &row, mode, shown, &client->wait);
	tg_epoch_leave(client->session);
	tg_snapshot_withdraw(client->session, entry);
	return status == TG_CHANGED ? TG_OK : status;
}

static tg_status
lock(client *client, uint64_t key, tg_lock_mode mode)
{
	tg_version shown;

	return lock_version(client, key, mode, &shown);
}

#define must_lock(client, key, mode) must(lock((client), (key), (mode)))

static size_t
lock_bytes(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_LOCK];
}

static bool
is_marked(uint64_t key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	size_t key_bytes = key_of(key, bytes);
	bool marked = false;
	uint32_t row;

	tg_epoch_enter(session);
	if (tg_btree_find(table->index, bytes, key_bytes, &row) == TG_OK)
	{
		tg_version head = tg_load_acquire(tg_row_head(table, row));
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(head));

		marked = headers != NULL && headers[tg_version_slot(head)].end == TG_TIME_LOCKED;
	}
	tg_epoch_leave(session);
	return marked;
}

/* --- who waits for whom --------------------------------------------------------- */

static void
test_modes(void)
{
	client *a = &clients[0];
	client *b = &clients[1];

	must_insert(a, 1);
	commit(a);
	for (tg_lock_mode held = TG_LOCK_KEY_SHARE; held <= TG_LOCK_UPDATE; held++)
	{
		for (tg_lock_mode wanted = TG_LOCK_KEY_SHARE; wanted <= TG_LOCK_UPDATE; wanted++)
		{
			must_lock(a, 1, held);
			unit_equal(lock(b, 1, wanted), stands_against(held, wanted) ? TG_BUSY : TG_OK, "%s while %s is held",
					   mode_names[wanted], mode_names[held]);
			commit(a);
			unit_equal(lock(b, 1, wanted), TG_OK, "and when it is not any more");
			roll_back(b);
		}
		must_lock(a, 1, held);
		unit_equal(change_row(b, 1, CHANGE_UPDATE, 0), stands_against(held, TG_LOCK_NO_KEY_UPDATE) ? TG_BUSY : TG_OK,
				   "an update while %s is held", mode_names[held]);
		roll_back(b);
		unit_equal(change_row(b, 1, CHANGE_DELETE, 0), TG_BUSY, "a delete");
		unit_equal(change_row(b, 1, CHANGE_MOVE, 2), TG_BUSY, "an update of the key");
		roll_back(b);
		unit_equal(change_row(a, 1, CHANGE_UPDATE, 0), TG_OK, "the own lock does not stand against an update");
		unit_equal(change_row(a, 1, CHANGE_MOVE, 2), TG_OK, "nor against one of the key");
		unit_equal(change_row(a, 2, CHANGE_DELETE, 0), TG_OK, "nor a delete");
		unit_equal(lock(b, 1, TG_LOCK_KEY_SHARE), TG_BUSY, "which others wait for");
		roll_back(b);
		roll_back(a);
		unit_ok(!is_marked(1) && lock_bytes() == 0, "nothing is left of it");
	}
	must_lock(a, 1, TG_LOCK_KEY_SHARE);
	must_lock(a, 1, TG_LOCK_SHARE);
	must_lock(a, 1, TG_LOCK_KEY_SHARE);
	unit_equal(a->txn->lock_count, 2, "what is covered by a lock takes no other");
	must_lock(b, 1, TG_LOCK_SHARE);
	unit_equal(lock(a, 1, TG_LOCK_UPDATE), TG_BUSY, "two sharers: neither can go up");
	commit(b);
	unit_equal(lock(a, 1, TG_LOCK_UPDATE), TG_OK, "until the other has gone");
	commit(a);
	must_delete(a, 1);
	unit_equal(lock(b, 1, TG_LOCK_KEY_SHARE), TG_BUSY, "KEY SHARE waits for a delete");
	commit(a);
	unit_equal(lock(b, 1, TG_LOCK_KEY_SHARE), TG_NOT_FOUND, "and finds nothing");
	commit(b);
	check_exact(1000, "modes");
}

/* --- who queues ------------------------------------------------------------------------ */

static void
queues(const client *waiter, tg_status status, tg_lock_mode mode, const char *what)
{
	unit_equal(status, TG_BUSY, "%s waits", what);
	unit_ok(waiter->wait.queues && waiter->wait.mode == mode, "in the row's queue, for %s", mode_names[mode]);
}

static void
queues_not(const client *waiter, tg_status status, const char *what)
{
	unit_equal(status, TG_BUSY, "%s waits", what);
	unit_ok(!waiter->wait.queues, "outside the queue");
}

static bool
queue_always(const char *name)
{
	return strcmp(name, "row_lock_queue_always") == 0;
}

static void
test_queues(void)
{
	client *a = &clients[0];
	client *b = &clients[1];
	uint32_t row;

	must_insert(a, 1);
	queues(b, insert(b, 1), TG_LOCK_UPDATE, "an insertion of the key");
	row = b->wait.row;
	commit(a);
	roll_back(b);

	must_lock(a, 1, TG_LOCK_UPDATE);
	queues(b, lock(b, 1, TG_LOCK_SHARE), TG_LOCK_SHARE, "a lock");
	unit_equal(b->wait.row, row, "of this row");
	queues(b, change_row(b, 1, CHANGE_UPDATE, 0), TG_LOCK_NO_KEY_UPDATE, "an update");
	queues(b, change_row(b, 1, CHANGE_DELETE, 0), TG_LOCK_UPDATE, "a delete");
	queues(b, change_row(b, 1, CHANGE_MOVE, 2), TG_LOCK_UPDATE, "an update of the key");
	roll_back(b);
	commit(a);
	must_update(a, 1);
	queues(b, lock(b, 1, TG_LOCK_NO_KEY_UPDATE), TG_LOCK_NO_KEY_UPDATE, "behind an update, a lock");
	queues(b, change_row(b, 1, CHANGE_UPDATE, 0), TG_LOCK_UPDATE, "and whatever is to be written");
	must_insert(b, 2);
	queues(a, insert(a, 2), TG_LOCK_UPDATE, "an insertion, of one who has a part in another row,");
	roll_back(b);
	commit(a);

	/* transactions that have a part in the row */
	must_lock(b, 1, TG_LOCK_KEY_SHARE);
	must_lock(a, 1, TG_LOCK_SHARE);
	queues_not(b, lock(b, 1, TG_LOCK_UPDATE), "a transaction with a weaker lock");
	queues_not(b, change_row(b, 1, CHANGE_UPDATE, 0), "for an update too");
	commit(a);
	must_update(a, 1);
	queues_not(b, lock(b, 1, TG_LOCK_SHARE), "behind an update too");
	tg_failpoint_set(queue_always);
	queues(b, lock(b, 1, TG_LOCK_SHARE), TG_LOCK_SHARE,
		   "left out, it shows: the first of the queue may wait for it. It");
	tg_failpoint_set(NULL);
	queues_not(a, change_row(a, 1, CHANGE_DELETE, 0),
			   "a transaction that has written the row, behind a lock that it let pass,");
	roll_back(b);
	must_delete(a, 1);
	commit(a);
	check_exact(1000, "queues");
}

/* --- what a lock outlives ---------------------------------------------------------- */

static void
test_updates(void)
{
	client *child = &clients[0];
	client *updater = &clients[1];
	client *other = &clients[2];

	must_insert(updater, 1);
	commit(updater);
	for (unsigned way = 0; way < 8; way++)
	{
		bool before = (way & 1) != 0;
		bool commits = (way & 2) != 0;
		bool twice = (way & 4) != 0;
		tg_version shown;
		tg_version again;

		must(lock_version(other, 1, TG_LOCK_KEY_SHARE, &again));
		roll_back(other);
		if (before)
			must_lock(child, 1, TG_LOCK_KEY_SHARE);
		must_update(updater, 1);
		if (twice)
			must_update(updater, 1);
		must(lock_version(child, 1, TG_LOCK_KEY_SHARE, &shown));
		unit_ok(shown == again, "KEY SHARE passes an update (%u) and is shown the version before", way);
		unit_equal(lock(other, 1, TG_LOCK_SHARE), TG_BUSY, "SHARE does not");
		if (commits)
			commit(updater);
		else
			roll_back(updater);
		unit_ok(is_marked(1), "the row is marked after the update's end");
		unit_equal(change_row(other, 1, CHANGE_DELETE, 0), TG_BUSY, "and a delete waits");
		commit(child);
		unit_ok(!is_marked(1), "until the lock goes");
		unit_equal(change_row(other, 1, CHANGE_DELETE, 0), TG_OK, "then it does not");
		roll_back(other);
	}
	must_delete(updater, 1);
	commit(updater);

	must_insert(updater, 1);
	must_update(updater, 1);
	unit_equal(lock(child, 1, TG_LOCK_KEY_SHARE), TG_NOT_FOUND, "a row that is not there yet is not locked");
	commit(updater);
	must_update(updater, 1);
	must_delete(updater, 1);
	unit_equal(lock(child, 1, TG_LOCK_KEY_SHARE), TG_BUSY, "nor one that was updated and then deleted");
	must_insert(updater, 1);
	unit_equal(lock(child, 1, TG_LOCK_KEY_SHARE), TG_BUSY, "nor its next life");
	commit(updater);
	roll_back(child);
	must_delete(updater, 1);
	commit(updater);
	check_exact(1000, "updates");
}

static void
test_savepoints(void)
{
	client *a = &clients[0];
	client *b = &clients[1];
	tg_txn_mark mark;

	must_insert(a, 1);
	must_insert(a, 2);
	commit(a);
	must_lock(a, 1, TG_LOCK_KEY_SHARE);
	tg_txn_savepoint(a->session, a->txn, &mark, &a->subtxn);
	must_lock(a, 1, TG_LOCK_UPDATE);
	must_lock(a, 2, TG_LOCK_SHARE);
	must_update(a, 2);
	must_delete(a, 1);
	tg_txn_rollback_to(a->session, a->txn, mark);
	a->subtxn = 0;
	unit_equal(change_row(b, 2, CHANGE_DELETE, 0), TG_OK, "a rollback to a savepoint releases what was locked since");
	unit_equal(change_row(b, 1, CHANGE_UPDATE, 0), TG_OK, "and makes a lock as weak as it was");
	roll_back(b);
	unit_equal(change_row(b, 1, CHANGE_DELETE, 0), TG_BUSY, "but leaves it, although the row was deleted meanwhile");
	commit(a);
	unit_equal(change_row(b, 1, CHANGE_DELETE, 0), TG_OK, "until the end");
	must_delete(b, 2);
	commit(b);
	unit_ok(lock_bytes() == 0, "nothing is left");
	check_exact(1000, "savepoints");
}

/* Sweeps until there is nothing left to do. */
static void
settle(void)
{
	for (unsigned i = 0; i < 10; i++)
	{
		tg_epoch_advance();
		collect(1000000);
	}
}

static void
test_many(void)
{
	client *a = &clients[0];
	const unsigned count = 20000;
	unsigned marked = 0;
	int64_t settled;

	for (unsigned i = 0; i < count; i++)
		must_insert(a, 1000 + i);
	commit(a);
	leases_end();
	settle();
	settled = table->header_bytes;
	for (unsigned i = 0; i < count; i++)
		must_lock(a, 1000 + i, TG_LOCK_SHARE);
	unit_ok(table->header_bytes > settled, "locks bring headers back");
	unit_ok(lock_bytes() >= count * 40 && lock_bytes() <= count * 80, "%u locks take %zu bytes", count, lock_bytes());
	commit(a);
	unit_equal(lock_bytes(), 0, "and then none");
	for (unsigned i = 0; i < count; i++)
		marked += is_marked(1000 + i);
	unit_equal(marked, 0, "no row is marked");
	settle();
	unit_ok(table->header_bytes <= settled, "and the headers go again, without any other commit");
	for (unsigned i = 0; i < count; i++)
		must_delete(a, 1000 + i);
	commit(a);
	check_exact(100000, "many");
}

/* --- races ------------------------------------------------------------------------- */

static bool
stop(const char *name)
{
	gate_wait(name);
	return false;
}

static bool
stop_without_looking_again(const char *name)
{
	gate_wait(name);
	return strcmp(name, "row_lock_undone") == 0;
}

/*
 * A locker has seen the head, the update that made that head is undone, and the locker goes on
 * (row_lock.h, 5).
 */
static void
lock_while_undone(unsigned number, void *argument)
{
	if (number == 0)
	{
		*(tg_status *) argument = lock(&clients[0], 1, TG_LOCK_KEY_SHARE);
		return;
	}
	if (!gate_is_reached())
		unit_bail("nobody came");
	roll_back(&clients[1]);
	gate_release();
}

static void
test_undone(tg_failpoint_hook hook, tg_status expected)
{
	tg_status status;

	must_update(&clients[1], 1);
	tg_failpoint_set(hook);
	gate_arm("row_lock_mark");
	unit_threads(2, lock_while_undone, &status);
	tg_failpoint_set(NULL);
	unit_equal(status, TG_OK, "a lock while an update is undone is granted");
	unit_equal(change_row(&clients[2], 1, CHANGE_DELETE, 0), expected,
			   expected == TG_BUSY ? "and a delete waits for it" : "which a locker who looks once does not achieve");
	roll_back(&clients[2]);
	commit(&clients[0]);
}

static void
test_races(void)
{
	client *a = &clients[0];

	must_insert(a, 1);
	commit(a);
	test_undone(stop, TG_BUSY);
	test_undone(stop_without_looking_again, TG_OK);
	must_delete(a, 1);
	commit(a);
	check_exact(1000, "races");
}

/* --- at random ------------------------------------------------------------------------ */

#define KEYS 4

static uint32_t held[KEYS][CLIENTS]; /* mode + 1, of each client that holds a lock or has written */
static uint32_t faults;
static uint32_t granted[4];

/* Of two transactions the later one sees the other. */
static void
note_held(client *self, uint64_t key, tg_lock_mode mode)
{
	unsigned number = (unsigned) (self - clients);

	if (held[key][number] < mode + 1)
		tg_store_seq_cst(&held[key][number], mode + 1);
	tg_fetch_add_relaxed(&granted[mode], 1);
	for (unsigned i = 0; i < CLIENTS; i++)
	{
		uint32_t other = tg_load_seq_cst(&held[key][i]);

		if (i != number && other != 0 && stands_against(other - 1, mode))
			tg_fetch_add_relaxed(&faults, 1);
	}
}

static void
end_transaction(client *self)
{
	unsigned number = (unsigned) (self - clients);

	for (unsigned key = 0; key < KEYS; key++)
		tg_store_seq_cst(&held[key][number], 0);
	if (dice(self, 3) == 0)
		roll_back(self);
	else
		commit(self);
}

static void
work(unsigned number, void *argument)
{
	client *self = &clients[number];
	unsigned rounds = *(unsigned *) argument;

	for (unsigned round = 0; round < rounds; round++)
	{
		uint64_t key = dice(self, KEYS);
		tg_lock_mode mode = dice(self, 4);
		tg_status status;

		switch (dice(self, 6))
		{
			case 0:
				if (change_row(self, key, CHANGE_UPDATE, 0) == TG_OK)
					note_held(self, key, TG_LOCK_NO_KEY_UPDATE);
				break;
			case 1:
				if (change_row(self, key, CHANGE_DELETE, 0) == TG_OK)
					note_held(self, key, TG_LOCK_UPDATE);
				break;
			case 2:
				status = insert(self, key);
				if (status == TG_OK)
					note_held(self, key, TG_LOCK_UPDATE);
				break;
			case 3:
				end_transaction(self);
				break;
			default:
				if (lock(self, key, mode) == TG_OK)
					note_held(self, key, mode);
				break;
		}
	}
	end_transaction(self);
}

static bool
stumble(const char *name)
{
	gate_stumble();
	return false;
}

static bool
stumble_without_conflicts(const char *name)
{
	gate_stumble();
	return strcmp(name, "row_lock_conflict") == 0;
}

static bool
stumble_without_handing_on(const char *name)
{
	gate_stumble();
	return strcmp(name, "row_lock_handed_on") == 0;
}

static void
test_random(void)
{
	unsigned enough = 4000; /* for what is planted */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	unsigned rounds = enough;
#else
	unsigned rounds = 3 * enough;
#endif

	tg_failpoint_set(stumble);
	unit_threads(CLIENTS, work, &rounds);
	tg_failpoint_set(NULL);
	unit_equal(faults, 0, "nobody holds what stands against what another holds");
	unit_ok(granted[0] > 0 && granted[1] > 0 && granted[2] > 0 && granted[3] > 0, "granted: %u %u %u %u", granted[0],
			granted[1], granted[2], granted[3]);
	unit_equal(lock_bytes(), 0, "no lock is left");
	for (unsigned key = 0; key < KEYS; key++)
		unit_ok(!is_marked(key), "no mark is left on row %u", key);
	check_exact(1000, "random");

	/* The check can fail. */
	tg_failpoint_set(stumble_without_conflicts);
	unit_threads(CLIENTS, work, &enough);
	unit_ok(faults > 0, "without the look at the entries it shows (%u)", faults);
	faults = 0;
	tg_failpoint_set(stumble_without_handing_on);
	unit_threads(CLIENTS, work, &enough);
	unit_ok(faults > 0, "without the mark on new versions it shows (%u)", faults);
	tg_failpoint_set(NULL);
}

int
main(void)
{
	begin();
	tg_sweep_interval_ms = 0;
	test_modes();
	test_queues();
	test_updates();
	test_savepoints();
	test_many();
	test_races();
	test_random();
	empty();
	end();
	return unit_done();
}
