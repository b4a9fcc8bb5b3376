/*
 * prepared.c
 *	  Prepared transactions: they outlive the session's transaction, and are waited for by their own
 *	  host word, until any session ends them.
 */
#include "runtime/txn/prepared.h"

#include "runtime/txn/txn_internal.h"
#include "test/unit/writers.h"

#define HOST(i) (UINT64_C(1) << 62 | (i))

static void
prepare(client *client, uint64_t host)
{
	tg_txn *txn;

	must(tg_prepared_take(client->session, host, &txn));
	tg_prepared_move(client->session, client->txn, txn);
	tg_prepared_let_go(txn);
	client->txn = NULL;
}

static void
end_prepared(client *client, uint64_t host, bool commits)
{
	tg_txn *txn;

	must(tg_prepared_hold(host, &txn));
	if (commits)
		tg_txn_commit(client->session, txn);
	else
		tg_txn_abort(client->session, txn);
	tg_prepared_let_go(txn);
}

/* Three rows: one is inserted, one updated, one deleted. */
static void
write_all(client *client)
{
	must_insert(client, 3);
	must(change_row(client, 1, CHANGE_UPDATE, 0));
	must_delete(client, 2);
}

static void
test_ends(void)
{
	client *a = &clients[0];
	client *b = &clients[1];

	for (int commits = 0; commits <= 1; commits++)
	{
		must_insert(a, 1);
		must_insert(a, 2);
		commit(a);
		write_all(a);
		prepare(a, HOST(7));
		unit_equal(change_row(b, 1, CHANGE_UPDATE, 0), TG_BUSY, "an updated row is waited for");
		unit_ok(b->wait.host == HOST(7) && b->wait.subtxn == 0, "by the prepared transaction's word");
		unit_equal(change_row(a, 2, CHANGE_DELETE, 0), TG_BUSY, "by the session that has prepared it, too");
		roll_back(a);
		roll_back(b);
		end_prepared(b, HOST(7), commits);
		unit_equal(change_row(a, 3, CHANGE_DELETE, 0), commits ? TG_OK : TG_NOT_FOUND, "the inserted row");
		unit_equal(change_row(a, 2, CHANGE_DELETE, 0), commits ? TG_NOT_FOUND : TG_OK, "the deleted row");
		must_delete(a, 1);
		commit(a);
	}
}

static void
test_revoked(void)
{
	client *a = &clients[0];
	client *b = &clients[1];
	tg_txn *txn;

	must_insert(a, 1);
	prepare(a, HOST(8));
	must(tg_prepared_hold(HOST(8), &txn));
	unit_equal(tg_prepared_hold(HOST(8), &txn), TG_BUSY, "one session at a time has it in hand");
	(void) tg_txn_prepare(b->session, txn, 0);
	tg_prepared_revoke(b->session, txn);
	tg_prepared_let_go(txn);
	unit_equal(change_row(b, 1, CHANGE_UPDATE, 0), TG_NOT_FOUND, "a commit that has failed shows nothing");
	roll_back(b);
	end_prepared(b, HOST(8), true);
	unit_equal(tg_prepared_hold(HOST(8), &txn), TG_NOT_FOUND, "and may be repeated");
	must_delete(a, 1);
	commit(a);
}

int
main(void)
{
	tg_prepared_set_max(2);
	begin();
	tg_sweep_interval_ms = 0;
	test_ends();
	test_revoked();
	empty();
	end();
	return unit_done();
}
