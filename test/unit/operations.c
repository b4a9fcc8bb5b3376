/*
 * operations.c
 *	  Rows as a snapshot has them, written as operations and replayed, are these rows.
 *
 * A table is changed at random (random_writers.h), while its rows are written as of a snapshot of
 * all, or of the transaction that changes them.  Also which tables' writes a commit leaves out.
 * What the changes themselves are is shown by replay.c.
 */
#include "runtime/durable/operations.h"

#include "runtime/durable/replay.h"
#include "test/unit/random_writers.h"

static tg_replay *replay;

static void
apply_record(const tg_bytes *record)
{
	if (tg_replay_record(replay, record->data, record->count, true) != TG_OK || misfits > 0)
		unit_bail("a record was not applied");
}

static tg_status
write_rows(const tg_snapshot *snapshot, uint32_t first, uint32_t count, tg_bytes *bytes)
{
	tg_wait wait;

	return tg_operations_write_rows(source, snapshot, first, count, bytes, &wait);
}

static void
test_rows(void)
{
	for (unsigned i = 0; i < 4; i++)
	{
		write_some(100, NULL);
		if (i == 1)
			add_columns(source);
		/* transactions that are open */
		for (unsigned j = 0; j < 20; j++)
			step(&clients[roll(&clients[0], CLIENTS)]);
		make_target(clients[0].session);
		keep_rows(write_rows, apply_record);
		for (unsigned j = 0; j < CLIENTS; j++)
			roll_back(&clients[j]);
		check_same("rows that a snapshot sees");
		drop_table(clients[0].session, target);
	}
}

/* A transaction's own writes are in the rows as it sees them. */
static void
test_own_rows(void)
{
	client *client = &clients[0];
	tg_snapshot snapshot = {.txn = client->session->id};
	tg_bytes bytes = {0};
	unsigned entry;
	tg_wait wait;

	for (unsigned i = 0; i < 20; i++)
		step(client);
	make_target(client->session);
	snapshot.time = tg_snapshot_publish(client->session, &entry);
	snapshot.command = client->writer.command + 1;
	tg_epoch_enter(client->session);
	unit_ok(tg_operations_write_rows(source, &snapshot, 0, source->row_next + 7, &bytes, &wait) == TG_OK,
			"a transaction writes the rows that it sees");
	tg_epoch_leave(client->session);
	tg_snapshot_withdraw(client->session, entry);
	apply_record(&bytes);
	commit(client);
	check_same("its own among them");
	drop_table(client->session, target);
	tg_bytes_free(&bytes);
}

/* Of a row whose commit is under way, nothing can be written yet. */
static void
test_busy(void)
{
	client *client = &clients[1];
	tg_snapshot snapshot = {.txn = clients[0].session->id};
	tg_bytes bytes = {0};
	unsigned entry;
	tg_wait wait;
	tg_status status;

	if (tg_bytes_reserve(&bytes, 1) != TG_OK)
		unit_bail("no memory");
	tg_bytes_put_byte(&bytes, 7);
	while (client->txn == NULL || !tg_txn_has_writes(client->txn))
		step(client);
	(void) tg_txn_prepare(client->session, client->txn, 1);
	snapshot.time = tg_snapshot_publish(clients[0].session, &entry);
	tg_epoch_enter(clients[0].session);
	status = tg_operations_write_rows(source, &snapshot, 0, source->row_next, &bytes, &wait);
	tg_epoch_leave(clients[0].session);
	unit_ok(status == TG_BUSY, "rows are not written while a commit is being decided");
	unit_ok(bytes.count == 1 && bytes.data[0] == 7, "and nothing is added to the bytes");
	tg_txn_commit(client->session, client->txn);
	client->txn = NULL;
	tg_snapshot_withdraw(clients[0].session, entry);
	tg_bytes_free(&bytes);
}

static void
test_left_out(void)
{
	client *client = &clients[0];
	bool *const marks[2] = {&source->unlogged, &source->logged_whole};

	for (unsigned i = 0; i < 2; i++)
	{
		*marks[i] = true;
		while (client->txn == NULL || !tg_txn_has_writes(client->txn))
			step(client);
		commit(client);
		unit_equal(records[record_count - 1].count, 0, "writes to a table %s are not logged",
				   i == 0 ? "without log" : "that is logged whole");
		*marks[i] = false;
	}
}

int
main(void)
{
	start_writers();
	if (tg_replay_begin(clients[0].session, &replay_calls, &replay) != TG_OK)
		unit_bail("no memory");
	test_rows();
	test_own_rows();
	test_busy();
	test_left_out();
	tg_replay_end(replay);
	return end_writers();
}
