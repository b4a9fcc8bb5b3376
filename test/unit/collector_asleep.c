/*
 * collector_asleep.c
 *	  The system may suspend a collecting thread anywhere, for any time, and other sessions do not
 *	  wait for it.
 *
 * At each failpoint of the collection in turn, the thread that has come there does the work of
 * other sessions: they write the same rows and others, delete, insert, commit and roll back, read
 * by old snapshots and new ones, pay taxes, collect, make room.  All of it runs in that one thread:
 * if the sleeper held a latch or anything else that others wait for, the test would not end (or
 * would fail an assertion); the same if a session had to wait for an epoch.  When the sleeper goes
 * on, its cycle ends, and nothing is left but the live rows.
 *
 * Not among the places: those where the thread has locked a node of an index, or where a copy has
 * taken its row (txn/relocate.c, 2), as any writer does for some instructions.
 */
#include <string.h>
#include <unistd.h>

#include "runtime/mem/presence.h"
#include "runtime/reclaim/tax.h"
#include "test/unit/writers.h"

#define KEYS 3000 /* chunks of it get sparse */
#define ROUNDS_MAX 50
#define STUCK_S 60

static tg_session *others_session; /* collects, and makes room */
static tg_session *idle;		   /* is away */
static const char *place;		   /* the failpoint; NULL: a thread has been there */
static unsigned waits;			   /* of the others for a row */
static unsigned wrong;			   /* texts */

static void
try_to(client *client, uint64_t key, change what)
{
	waits += change_row(client, key, what, 0) == TG_BUSY;
}

static void
read_all(void)
{
	unsigned entry;
	tg_time time = tg_snapshot_publish(clients[5].session, &entry);

	for (uint64_t key = 0; key < KEYS; key++)
		wrong += look(clients[5].session, time, key) == 0;
	tg_snapshot_withdraw(clients[5].session, entry);
}

static void
do_others_work(void)
{
	client *a = &clients[1];
	client *b = &clients[2];
	bool more;

	for (uint64_t key = 0; key < KEYS; key += 7)
	{
		tg_tax_begin(a->session);
		try_to(a, key, key % 3 == 0 ? CHANGE_DELETE : CHANGE_UPDATE);
		commit(a);
		tg_tax_note(a->session, 64, true);
		if (tg_tax_due(a->session) > 0)
			tg_tax_pay(a->session, NULL, NULL);
		waits += insert(b, KEYS + key) == TG_BUSY;
		try_to(b, key + 1, CHANGE_UPDATE);
		if (key % 2 == 0)
			commit(b);
		else
			roll_back(b);
	}
	read_all();
	for (unsigned i = 0; i < 10; i++)
	{
		(void) tg_collector_quantum(others_session, 100, true, &more);
		(void) tg_collector_make_room(others_session);
		tg_retire_poll(others_session);
	}
}

static bool
sleep_at(const char *name)
{
	if (place == NULL || strcmp(name, place) != 0)
		return false;
	place = NULL;
	do_others_work();
	return false;
}

/* Garbage for every stage: kept versions, undone writes, rows that go, sparse and quiet chunks. */
static void
collect_everything(void)
{
	client *a = &clients[0];
	unsigned entry;

	for (uint64_t key = 0; key < KEYS; key++)
		if (change_row(a, key, CHANGE_UPDATE, 0) != TG_OK)
			must_insert(a, key);
	commit(a);
	(void) tg_snapshot_publish(clients[4].session, &entry);
	for (uint64_t key = 0; key < KEYS; key++)
		if (key % 16 != 0)
			must_delete(a, key);
	commit(a);
	for (uint64_t key = KEYS; key < KEYS + 100; key++)
		(void) insert(a, key);
	roll_back(a);
	collect(100);
	tg_snapshot_withdraw(clients[4].session, entry);
	leases_end();
	collect(100);
	for (unsigned i = 0; i < 4; i++)
	{
		tg_epoch_advance();
		collect(100);
	}
	tg_session_go_away(idle);
	(void) tg_presence_visit(session, true);
	tg_session_come_back(idle);
	tg_session_answer(session);
}

int
main(void)
{
	static const char *const places[] = {
		"collector_gathered", "horizon_session",  "horizon_scanned", "cycle_take",		  "collector_prune",
		"collector_pruned",	  "collector_free",	  "collector_freed", "collector_tidy",	  "collector_sweep",
		"relocate_looks",	  "settle_take_away", "presence_visit",	 "relocate_committed"};

	begin();
	tg_sweep_interval_ms = 0;
	tg_tax_settings(500, 10000);
	must(tg_session_open(&others_session));
	must(tg_session_open(&idle));
	tg_failpoint_set(sleep_at);
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++)
	{
		alarm(STUCK_S);
		waits = 0;
		wrong = 0;
		place = places[i];
		for (unsigned round = 0; place != NULL && round < ROUNDS_MAX; round++)
			collect_everything();
		unit_ok(place == NULL && waits == 0 && wrong == 0,
				"asleep at %s: others do not wait (%u), and see what is right", places[i], waits);
		check_exact(1000, places[i]);
	}
	tg_failpoint_set(NULL);
	tg_session_close(others_session);
	tg_session_close(idle);
	end();
	return unit_done();
}
