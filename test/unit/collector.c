/*
 * collector.c
 *	  After everything has ended and the collector has run, exactly the live
 *	  versions are left: slots, blobs, index entries, row ids, and no log.  Before
 *	  that a snapshot finds all it sees.
 *
 * Scenarios for the rules of prune.c (chains, revived rows, open deletes, undone
 * writes), then the same at random with several transactions at once, then next
 * to threads; sweeps go on all the time.
 */
#include "runtime/reclaim/collector.h"

#include <string.h>

#include "runtime/base/failpoint.h"
#include "test/unit/writers.h"

/* --- scenarios -------------------------------------------------------------- */

static void
test_chains(void)
{
	client *a = &clients[0];
	client *b = &clients[1];

	must_insert(a, 1);
	must_update(a, 1);
	must_update(a, 1);
	commit(a);
	for (unsigned i = 0; i < 20; i++)
	{
		must_update(b, 1);
		if (i % 3 == 0)
			must_update(b, 1);
		commit(b);
		if (i == 10)
			collect(1);
	}
	check_exact(1, "a row updated many times");

	must_insert(a, 2);
	must_delete(a, 2);
	must_insert(a, 2);
	must_update(a, 2);
	must_delete(a, 2);
	must_insert(a, 2);
	commit(a);
	check_exact(2, "inserted, deleted and inserted by one transaction");

	must_delete(a, 1);
	must_delete(a, 2);
	commit(a);
	check_exact(3, "deleted");

	must_insert(a, 3);
	must(change_row(a, 3, CHANGE_MOVE, 4));
	must_update(a, 4);
	commit(a);
	must(change_row(b, 4, CHANGE_MOVE, 3));
	commit(b);
	check_exact(3, "keys changed");
}

/* G2 and G3: what a snapshot sees stays; of what came and went since, nothing. */
static void
test_snapshot(void)
{
	client *a = &clients[0];
	tg_session *reader = clients[5].session;
	unsigned entry;
	tg_time time;
	tg_collector_report before;
	tg_collector_report after;

	for (unsigned way = 0; way < 2; way++)
	{
		bool from = way == 1; /* a reader that stands for all later times, too */

		must_insert(a, 10);
		must_insert(a, 11);
		must_insert(a, 12);
		commit(a);
		collect(100);
		time = from ? tg_snapshot_publish_from(reader, &entry) : tg_snapshot_publish(reader, &entry);
		tg_collector_report_get(&before);
		for (unsigned i = 0; i < 5; i++)
		{
			must_update(a, 10);
			commit(a);
		}
		must_delete(a, 11);
		commit(a);
		must_insert(a, 12 + 1);
		must_update(a, 12 + 1);
		commit(a);
		must_delete(a, 12 + 1);
		commit(a);
		collect(100);
		tg_collector_report_get(&after);
		if (from)
			unit_equal(after.versions_removed, before.versions_removed, "nothing that has ended since goes");
		else
		{
			unit_equal(after.versions_removed - before.versions_removed, 4 + 2,
					   "the versions that came and went since go");
			unit_equal(after.rows_closed - before.rows_closed, 1, "and the row that did");
		}
		unit_ok(look(reader, time, 10) == 1 && look(reader, time, 11) == 1, "the versions that it sees stay");
		tg_snapshot_withdraw(reader, entry);
		collect(100);
		tg_collector_report_get(&after);
		unit_equal(after.versions_removed - before.versions_removed, 8, "withdrawn: all goes");
		unit_equal(after.rows_closed - before.rows_closed, 2, "and the row");
		check_exact(100, "after a snapshot");
		empty();
	}
}

/* Many snapshots over many versions of a row: the versions that they see stay, and the newest. */
static void
test_gaps(void)
{
	client *a = &clients[0];
	tg_session *readers[3] = {clients[3].session, clients[4].session, clients[5].session};
	unsigned entries[3][12];
	tg_time times[3][12];
	unsigned faults = 0;
	tg_collector_report before;
	tg_collector_report after;

	must_insert(a, 1);
	commit(a);
	collect(100);
	tg_collector_report_get(&before);
	for (unsigned i = 0; i < 36; i++)
	{
		times[i % 3][i / 3] = tg_snapshot_publish(readers[i % 3], &entries[i % 3][i / 3]);
		for (unsigned j = 0; j < 3 + i % 2; j++)
		{
			must_update(a, 1);
			commit(a);
		}
		if (i % 4 == 0)
			collect(1 + i % 3);
	}
	collect(100);
	tg_collector_report_get(&after);
	unit_equal(after.versions_removed - before.versions_removed, 36 * 3 + 18 - 36, "only what is seen stays");
	for (unsigned i = 0; i < 36; i++)
	{
		unsigned j = i * 5 % 36; /* in another order */

		for (unsigned k = 0; k < 36; k++)
			faults += times[k % 3][k / 3] != 0 && look(readers[k % 3], times[k % 3][k / 3], 1) != 1;
		tg_snapshot_withdraw(readers[j % 3], entries[j % 3][j / 3]);
		times[j % 3][j / 3] = 0;
		collect(100);
		tg_collector_report_get(&after);
		faults += after.versions_removed - before.versions_removed != 36 * 3 + 18 - 36 + i + 1;
	}
	unit_equal(faults, 0, "each one keeps its version to its end, and no longer");
	check_exact(100, "after gaps");
}

/* A row is deleted, then revived by a transaction that has not ended when the delete is pruned. */
static void
test_open(void)
{
	client *a = &clients[0];
	client *b = &clients[1];
	tg_session *reader = clients[5].session;
	unsigned entry;

	for (unsigned way = 0; way < 6; way++)
	{
		must_insert(a, 20);
		must_update(a, 20);
		commit(a);
		if (way >= 4)
			(void) tg_snapshot_publish(reader, &entry);
		must_delete(a, 20);
		commit(a);
		must_insert(b, 20);
		if (way % 2 == 1)
			must_update(b, 20);
		collect(2);
		unit_equal(logs_waiting(), 1, "the delete waits for the reviving transaction (%u)", way);
		if (way < 2)
			roll_back(b);
		else
		{
			commit(b);
			for (unsigned i = 0; i < 3; i++) /* a chain above it before it is looked at again */
			{
				must_delete(b, 20);
				commit(b);
				must_insert(b, 20);
				if (i == 1)
					must_delete(b, 20), must_insert(b, 20);
				commit(b);
			}
		}
		if (way >= 4)
		{
			collect(1);
			tg_snapshot_withdraw(reader, entry);
		}
		check_exact(3, way < 2 ? "and goes when that was undone" : "and goes when that has committed");
		if (way >= 2)
			must_delete(a, 20);
		commit(a);
	}
	/* A savepoint alone is rolled back; the transaction stays. */
	must_insert(a, 21);
	commit(a);
	must_delete(a, 21);
	commit(a);
	{
		tg_txn_mark mark;

		must_insert(b, 22);
		tg_txn_savepoint(b->session, b->txn, &mark, &b->subtxn);
		must_insert(b, 21);
		must_insert(b, 23);
		must_update(b, 22);
		collect(100);
		unit_equal(logs_waiting(), 1, "open while the savepoint stands");
		tg_txn_rollback_to(b->session, b->txn, mark);
		b->subtxn = 0;
		collect(100);
		unit_equal(logs_waiting(), 0, "rolled back to it: all that was given is done with, the transaction still runs");
		must_update(b, 22);
		commit(b);
	}
	check_exact(100, "a rolled back savepoint");
}

static void
test_undone(void)
{
	client *a = &clients[0];
	client *b = &clients[1];

	must_insert(a, 30);
	must_insert(a, 31);
	commit(a);
	must_update(b, 30);
	must_update(b, 30);
	must_delete(b, 31);
	must_insert(b, 31);
	must_update(b, 31);
	for (uint64_t key = 32; key < 50; key++)
		must_insert(b, key);
	must(change_row(b, 32, CHANGE_MOVE, 60));
	roll_back(b);
	/* The versions that the undone ones stood on go before these are freed. */
	must_update(a, 30);
	must_delete(a, 31);
	commit(a);
	check_exact(4, "undone");
}

/* An unlinked version is not reused while a session is inside that may have met it. */
static void
test_epoch(void)
{
	client *a = &clients[0];
	tg_session *inside = clients[5].session;
	tg_collector_report before;
	tg_collector_report after;

	must_insert(a, 1);
	commit(a);
	collect(100);
	tg_collector_report_get(&before);
	tg_epoch_enter(inside);
	must_update(a, 1);
	commit(a);
	must_insert(a, 2);
	roll_back(a);
	collect(100);
	tg_collector_report_get(&after);
	unit_ok(after.versions_removed == before.versions_removed && after.logs_waiting == 2,
			"nothing is freed while a session is inside");
	tg_epoch_leave(inside);
	collect(100);
	tg_collector_report_get(&after);
	unit_ok(after.versions_removed == before.versions_removed + 2 && after.logs_waiting == 0, "then all is");
}

/* --- a cycle that passes while a participant is held up ------------------------- */

static tg_session *others; /* collects meanwhile */

/* The cycle comes to its end, and the next one waits for an epoch that a session is inside of. */
static bool
pass_a_cycle(const char *name)
{
	if (strcmp(name, "collector_confirmed") != 0)
		return false;
	tg_failpoint_set(NULL);
	while (tg_collector_run(others, 100))
		;
	must_update(&clients[0], 1);
	commit(&clients[0]);
	tg_epoch_enter(clients[5].session);
	while (tg_collector_run(others, 100))
		;
	return false;
}

/*
 * A participant finds that the epoch of a cycle is over, and is suspended before it begins to free.
 * It must not begin to free versions that the next cycle has unlinked.
 */
static void
test_epoch_of_before(void)
{
	client *a = &clients[0];
	tg_session *inside = clients[5].session;
	tg_collector_report before;
	tg_collector_report after;

	others = clients[4].session;
	must_insert(a, 1);
	commit(a);
	collect(100);
	tg_epoch_enter(inside);
	must_update(a, 1);
	commit(a);
	collect(100);
	tg_epoch_leave(inside);
	tg_collector_report_get(&before);
	tg_failpoint_set(pass_a_cycle);
	collect(100);
	tg_failpoint_set(NULL);
	tg_collector_report_get(&after);
	unit_equal(after.versions_removed - before.versions_removed, 1,
			   "versions that the next cycle has unlinked stay while a session is inside");
	tg_epoch_leave(inside);
	collect(100);
	tg_collector_report_get(&after);
	unit_equal(after.versions_removed - before.versions_removed, 2, "then it goes");
}

/* An open delete's condition comes true while its piece is still waiting for an epoch. */
static void
test_open_in_confirm(void)
{
	client *a = &clients[0];
	client *b = &clients[1];
	client *c = &clients[2];
	tg_session *inside = clients[5].session;

	must_insert(a, 1);
	must_insert(a, 2);
	commit(a);
	must_delete(a, 1);
	commit(a);
	must_insert(b, 1);
	collect(100);
	must_delete(a, 2);
	commit(a);
	must_insert(c, 2);
	tg_epoch_enter(inside);
	collect(100);
	roll_back(c);
	collect(100);
	unit_equal(logs_waiting(), 3, "two deletes are open and an undone insert waits");
	tg_epoch_leave(inside);
	collect(100);
	unit_equal(logs_waiting(), 1, "the second delete has not missed that the row is dead again");
	commit(b);
	check_exact(100, "open in confirm");
}

/*
 * The row is no longer being revived, but when the collector checks that, the bound is held back by
 * an entry that publishes an old time late.
 */
static void
test_open_held_back(void)
{
	client *a = &clients[0];
	client *b = &clients[1];
	tg_session *reader = clients[5].session;
	unsigned entry;
	tg_time time;

	must_insert(a, 1);
	commit(a);
	time = tg_snapshot_publish(reader, &entry);
	tg_snapshot_withdraw(reader, entry);
	must_delete(a, 1);
	commit(a);
	must_insert(b, 1);
	collect(100);
	unit_equal(logs_waiting(), 1, "the delete is open");
	roll_back(b);
	must(tg_snapshot_publish_job(time, true, &entry));
	collect(100);
	unit_equal(logs_waiting(), 1, "it is held back");
	tg_snapshot_withdraw_job(entry);
	check_exact(100, "no longer held back");
}

/*
 * Many rows are deleted, a reader keeps them for a while, and meanwhile a transaction begins to
 * revive them all.  Until it has ended, they cost the garbage that is collected beside them a
 * constant share.
 */
static void
test_open_share(void)
{
	client *a = &clients[0];
	client *b = &clients[1];
	tg_session *reader = clients[5].session;
	unsigned worked = 0;
	unsigned entry;

	tg_open_ms_max = 60000;
	for (uint64_t key = 0; key <= 2000; key++)
		must_insert(a, key);
	commit(a);
	collect(1000);
	(void) tg_snapshot_publish(reader, &entry);
	for (uint64_t key = 1; key <= 2000; key++)
		must_delete(a, key);
	commit(a);
	for (uint64_t key = 1; key <= 2000; key++)
		must_insert(b, key);
	tg_snapshot_withdraw(reader, entry);
	collect(1000);
	for (unsigned i = 0; i < 100; i++)
	{
		bool more = true;

		must_update(a, 0);
		commit(a);
		while (more)
			worked += tg_collector_quantum(session, 1000, true, &more);
	}
	unit_ok(worked < 20 * 2000, "2000 open versions beside 100 updates: worked on %u entries", worked);
	tg_open_ms_max = 0;
	commit(b);
	check_exact(1000, "all open ones at once");
	for (uint64_t key = 0; key <= 2000; key++)
		must_delete(a, key);
	commit(a);
}

/* --- at random -------------------------------------------------------------- */

/* One step of one client, which never waits. */
static void
step(client *client, unsigned keys, tg_txn_mark *mark, bool *has_mark)
{
	uint64_t key = dice(client, keys);
	unsigned what = dice(client, 100);
	tg_status status = TG_OK;

	if (what < 30)
		status = insert(client, key);
	else if (what < 60)
		status = change_row(client, key, CHANGE_UPDATE, 0);
	else if (what < 74)
		status = change_row(client, key, CHANGE_DELETE, 0);
	else if (what < 78)
		status = change_row(client, key, CHANGE_MOVE, dice(client, keys));
	else if (what < 82 && client->txn != NULL)
	{
		tg_txn_savepoint(client->session, client->txn, mark, &client->subtxn);
		*has_mark = true;
	}
	else if (what < 86 && client->txn != NULL && *has_mark)
		tg_txn_rollback_to(client->session, client->txn, *mark);
	else if (what < 96)
	{
		commit(client);
		*has_mark = false;
	}
	else
	{
		roll_back(client);
		*has_mark = false;
	}
	if (status == TG_NO_MEMORY || status == TG_TOO_LARGE || status == TG_FULL)
		abort();
}

static void
test_random(void)
{
	tg_txn_mark marks[CLIENTS];
	bool has_mark[CLIENTS] = {false};
	tg_session *reader = clients[5].session;
	unsigned faults = 0;

	for (unsigned round = 0; round < 30; round++)
	{
		unsigned keys = 1 + round % 10 * 5;

		for (unsigned i = 0; i < 40; i++)
		{
			unsigned entry;
			tg_time time = tg_snapshot_publish(reader, &entry);
			int seen[50];

			for (uint64_t key = 0; key < keys; key++)
				seen[key] = look(reader, time, key);
			for (unsigned j = 0; j < 60; j++)
			{
				unsigned who = dice(&clients[5], 5);

				step(&clients[who], keys, &marks[who], &has_mark[who]);
				if (dice(&clients[5], 4) == 0)
					(void) tg_collector_run(session, 1 + dice(&clients[5], 30));
			}
			for (uint64_t key = 0; key < keys; key++)
				faults += look(reader, time, key) != seen[key] || seen[key] == 0;
			tg_snapshot_withdraw(reader, entry);
		}
		for (unsigned i = 0; i < 5; i++)
		{
			if (round % 2 == 0)
				commit(&clients[i]);
			else
				roll_back(&clients[i]);
			has_mark[i] = false;
		}
		if (round % 5 == 4)
			check_exact(1 + round, "at random");
	}
	unit_equal(faults, 0, "a snapshot sees the same versions to its end");
}

/* --- threads ---------------------------------------------------------------- */

#define STEPS 20000
#define COLLECTORS 3 /* at once */

static uint32_t writers; /* atomic: still at it */
static uint32_t wrong;	 /* atomic */

static void
thread_body(unsigned number, void *argument)
{
	client *client = &clients[number < CLIENTS ? number : 0];
	tg_session *own = NULL;
	tg_txn_mark mark;
	bool has_mark = false;

	if (number < CLIENTS - 1)
	{
		for (unsigned i = 0; i < STEPS; i++)
			step(client, 20, &mark, &has_mark);
		commit(client);
		tg_fetch_add_acq_rel(&writers, (uint32_t) -1);
		return;
	}
	if (number >= CLIENTS && tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned round = 0; tg_load_acquire(&writers) > 0; round++)
	{
		if (number >= CLIENTS)
			(void) tg_collector_run(own, round % 7 == 0 ? 1 : 100);
		else
		{
			unsigned entry;
			tg_time time = tg_snapshot_publish(client->session, &entry);
			int first[20];

			for (uint64_t key = 0; key < 20; key++)
				first[key] = look(client->session, time, key);
			for (uint64_t key = 0; key < 20; key++)
			{
				int second = look(client->session, time, key);

				if (first[key] != 0 && second == first[key])
					continue;
				tg_fetch_add_relaxed(&wrong, 1);
				fprintf(stderr, "# key %" PRIu64 " at time %" PRIu64 ": %d, then %d\n", key, time, first[key], second);
			}
			tg_snapshot_withdraw(client->session, entry);
		}
	}
	if (own != NULL)
		tg_session_close(own);
	(void) argument;
}

static void
test_threads(void)
{
	tg_collector_report report;

	writers = CLIENTS - 1;
	unit_threads(CLIENTS + COLLECTORS, thread_body, NULL);
	unit_equal(wrong, 0, "a snapshot sees the same twice, next to writers and collectors");
	check_exact(100, "after threads");
	tg_collector_report_get(&report);
	unit_ok(report.versions_removed > 1000, "%" PRIu64 " versions were removed so far", report.versions_removed);
}

static void
test_alone(void)
{
	test_chains();
	empty();
	test_snapshot();
	test_gaps();
	empty();
	test_open();
	empty();
	test_undone();
	empty();
	test_epoch();
	empty();
	test_epoch_of_before();
	empty();
	test_open_in_confirm();
	empty();
	test_open_held_back();
	empty();
	test_open_share();
	empty();
	test_random();
	empty();
}

int
main(void)
{
	begin();
	tg_sweep_interval_ms = 0; /* one sweep after the other as long as anything changes */
	if (UNIT_ONE_THREAD)
		test_alone();
	test_threads();
	empty();
	end();
	return unit_done();
}
