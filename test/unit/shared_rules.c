/*
 * shared_rules.c
 *	  Rules of shared transactions, each shown twice: its promise holds, and the promise is broken
 *	  when a failpoint leaves the rule out.
 *
 * Everything runs in one thread, so that the scenario fixes the order of events.
 */
#include "test/unit/integer_key.h"
#include "test/unit/unit.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/failpoint.h"
#include "runtime/runtime.h"
#include "runtime/txn/txn_internal.h"

#define LEASE_MS 20

static tg_session *mine;
static tg_session *theirs;
static tg_table *table;
static uint64_t handles;
static const char *bug; /* atomic */

static bool
is_planted(const char *name)
{
	const char *planted = tg_load_acquire(&bug);

	return planted != NULL && strcmp(name, planted) == 0;
}

/* --- working in one ------------------------------------------------------------------------- */

static tg_shared *
begin_kind(tg_txn_kind kind, tg_isolation isolation, uint32_t lease_ms)
{
	const tg_shared_config config = {.handle = {{++handles, 7}},
									 .role = 1,
									 .kind = kind,
									 .isolation = isolation,
									 .label = "rules",
									 .lease_ms = lease_ms};
	tg_shared *shared;

	if (tg_shared_begin(mine, &config) != TG_OK || tg_shared_open(&config.handle, 1, &shared) != TG_OK)
		unit_bail("no transaction");
	return shared;
}

static tg_shared *
begin(tg_isolation isolation, uint32_t lease_ms)
{
	return begin_kind(TG_TXN_ORDINARY, isolation, lease_ms);
}

static tg_status
insert(tg_session *session, tg_txn *txn, int64_t id)
{
	const tg_writer writer = {.session = session, .txn = txn, .command = 1, .claim = TG_DATA};
	const tg_value values[2] = {{.word = (uint64_t) id}, {.word = 1}};
	const bool nulls[2] = {false, false};
	unsigned char key[16];
	uint32_t row;
	tg_wait wait;

	return tg_txn_insert(&writer, table, key, key_of(id, key), values, nulls, &row, &wait);
}

static tg_status
find(tg_session *session, tg_time time, int64_t id, uint32_t *row_out, tg_version *version_out)
{
	const tg_snapshot snapshot = {.time = time, .txn = session->id, .command = 1};
	unsigned char key[16];
	size_t key_bytes = key_of(id, key);
	tg_status status;
	tg_wait wait;

	tg_epoch_enter(session);
	status = tg_txn_find(&snapshot, table, key, key_bytes, row_out, version_out, &wait);
	tg_epoch_leave(session);
	return status;
}

static bool
is_there(int64_t id)
{
	tg_version version;
	unsigned entry;
	tg_time time = tg_snapshot_publish(mine, &entry);
	uint32_t row;
	bool found = find(mine, time, id, &row, &version) == TG_OK;

	tg_snapshot_withdraw(mine, entry);
	return found;
}

/* Another session's transaction, which inserts or deletes a row. */
static void
commit_insert(int64_t id)
{
	tg_txn *txn = tg_txn_begin(theirs, 1);

	if (insert(theirs, txn, id) != TG_OK)
		unit_bail("no row");
	tg_txn_commit(theirs, txn);
}

static void
commit_delete(int64_t id)
{
	tg_txn *txn = tg_txn_begin(theirs, 1);
	const tg_writer writer = {.session = theirs, .txn = txn, .command = 1, .claim = TG_DATA};
	tg_version version;
	unsigned entry;
	tg_time time = tg_snapshot_publish(theirs, &entry);
	uint32_t row;
	tg_wait wait;

	if (find(theirs, time, id, &row, &version) != TG_OK || tg_txn_delete(&writer, table, row, version, &wait) != TG_OK)
		unit_bail("no row to delete");
	tg_snapshot_withdraw(theirs, entry);
	tg_txn_commit(theirs, txn);
}

static void
collect(void)
{
	for (int i = 0; i < 20; i++)
	{
		tg_epoch_advance();
		(void) tg_collector_run(theirs, 1000);
		tg_retire_abandon(mine);
		tg_retire_abandon(theirs);
	}
}

static tg_shared_state
state_of(const tg_shared *shared)
{
	tg_shared_report report;

	tg_shared_report_get(shared, &report);
	return report.state;
}

/* The last user leaves: it is aborted then, and the row that was written in it is not there. */
static bool
ends_aborted(tg_shared *shared, int64_t id)
{
	bool aborted;

	tg_shared_let_go(mine, shared);
	aborted = state_of(shared) == TG_SHARED_ABORTED && !is_there(id);
	tg_shared_close(shared);
	return aborted;
}

/* Whether a later session sees the row, though it is deleted and no other session reads it. */
static bool
is_seen_later(tg_shared *shared, int64_t id)
{
	tg_version version;
	unsigned entry;
	tg_time time;
	uint32_t row;
	bool seen;

	commit_delete(id);
	collect();
	if (tg_shared_draw(theirs, shared, &time, &entry) != TG_OK)
		unit_bail("no snapshot");
	seen = find(theirs, time, id, &row, &version) == TG_OK;
	tg_snapshot_withdraw(theirs, entry);
	return seen;
}

/* --- scenarios: true if the promise is kept ----------------------------------------- */

/* A commit does not take half of what another user is doing. */
static bool
keep_users(int64_t id)
{
	tg_shared *shared = begin(TG_READ_COMMITTED, 60000);
	bool kept;

	kept = tg_shared_hold(shared) == TG_OK && insert(mine, tg_shared_txn(shared), id) == TG_OK;
	kept &= tg_shared_commit(theirs, shared) == TG_STOPPED;
	kept &= insert(mine, tg_shared_txn(shared), id + 1) == TG_OK;
	return ends_aborted(shared, id) && kept;
}

/* An abort is not executed while a session is at work. */
static bool
keep_put_off(int64_t id)
{
	tg_shared *shared = begin(TG_READ_COMMITTED, 60000);
	bool kept = tg_shared_hold(shared) == TG_OK;

	tg_shared_abort(theirs, shared, TG_SHARED_ASKED, NULL);
	kept &= state_of(shared) == TG_SHARED_ABORTING && insert(mine, tg_shared_txn(shared), id) == TG_OK;
	return ends_aborted(shared, id) && kept;
}

/* A lease does not end while a session is at work. */
static bool
keep_lease_of_users(int64_t id)
{
	tg_shared *shared = begin(TG_READ_COMMITTED, LEASE_MS);
	bool kept;

	kept = tg_shared_hold(shared) == TG_OK && insert(mine, tg_shared_txn(shared), id) == TG_OK;
	usleep(2 * LEASE_MS * 1000);
	tg_shared_look_at_leases(theirs);
	tg_shared_let_go(mine, shared);
	kept &= tg_shared_commit(mine, shared) == TG_OK && is_there(id);
	tg_shared_close(shared);
	return kept;
}

/* A session that has the transaction open finds this one, however long ago it has ended. */
static bool
keep_open(int64_t id)
{
	tg_shared *shared = begin(TG_READ_COMMITTED, 0);
	tg_shared_report before;
	tg_shared_report after;

	(void) id;
	tg_shared_report_get(shared, &before);
	tg_shared_abort(mine, shared, TG_SHARED_ASKED, NULL);
	for (int i = 0; i < 2; i++)
	{
		tg_shared *other = begin(TG_READ_COMMITTED, 0);

		tg_shared_abort(mine, other, TG_SHARED_GIVEN_UP, NULL);
		if (other != shared)
			tg_shared_close(other);
	}
	tg_shared_report_get(shared, &after);
	tg_shared_close(shared);
	return after.host == before.host && after.reason == TG_SHARED_ASKED;
}

/* The rows that the snapshot shows stay, also after the session that drew it has gone. */
static bool
keep_shared_entry(int64_t id)
{
	tg_shared *shared = begin(TG_REPEATABLE_READ, 60000);
	unsigned entry;
	tg_time time;
	bool kept;

	commit_insert(id);
	if (tg_shared_draw(mine, shared, &time, &entry) != TG_OK)
		unit_bail("no snapshot");
	tg_snapshot_withdraw(mine, entry); /* the session goes */
	kept = is_seen_later(shared, id);
	tg_shared_abort(mine, shared, TG_SHARED_GIVEN_UP, NULL);
	tg_shared_close(shared);
	return kept;
}

/* So does that of a snapshot which a session had before, and offers. */
static bool
keep_offered_entry(int64_t id)
{
	tg_shared *shared = begin(TG_REPEATABLE_READ, 60000);
	tg_time drawn = 0;
	unsigned entry;
	unsigned other;
	tg_time time;
	bool kept;

	commit_insert(id);
	time = tg_snapshot_publish(mine, &entry);
	commit_insert(id + 500);
	if (tg_shared_draw_at(mine, shared, time, false) != TG_OK ||
		tg_shared_draw_at(mine, shared, tg_load_seq_cst(tg_clock), false) != TG_OK ||
		tg_shared_draw(mine, shared, &drawn, &other) != TG_OK)
		unit_bail("no snapshot");
	tg_snapshot_withdraw(mine, other);
	tg_snapshot_withdraw(mine, entry);
	kept = is_seen_later(shared, id) && drawn == time;
	tg_shared_abort(mine, shared, TG_SHARED_GIVEN_UP, NULL);
	tg_shared_close(shared);
	return kept;
}

/* The read set is there as long as a session may be noting a read in it. */
static bool
keep_reads(int64_t id)
{
	tg_shared *shared = begin(TG_SERIALIZABLE, 60000);
	bool kept = tg_shared_hold(shared) == TG_OK;

	(void) id;
	tg_shared_abandon(theirs, shared, TG_SHARED_GIVEN_UP);
	kept &= state_of(shared) == TG_SHARED_ABORTED && tg_shared_reads(shared) != NULL;
	tg_shared_let_go(mine, shared);
	kept &= tg_shared_reads(shared) == NULL;
	tg_shared_close(shared);
	return kept;
}

/* One that is just being committed is not ended under the session that commits it. */
static bool
keep_committing(int64_t id)
{
	tg_shared *shared = begin(TG_READ_COMMITTED, 60000);
	tg_wait wait;
	bool kept;

	if (insert(mine, tg_shared_txn(shared), id) != TG_OK || tg_shared_prepare(mine, shared) != TG_OK)
		unit_bail("no commit");
	kept = !tg_shared_abandon(theirs, shared, TG_SHARED_TERMINATED) && state_of(shared) == TG_SHARED_COMMITTING;
	if (kept)
	{
		kept = tg_shared_validate(mine, shared, &wait) == TG_OK;
		tg_shared_finish(mine, shared, true);
		kept &= state_of(shared) == TG_SHARED_STORED && is_there(id);
	}
	tg_shared_close(shared);
	return kept;
}

static unsigned wake_count;

static void
count_wake(void *word)
{
	wake_count += word == &wake_count;
}

static tg_wait
wait_for(const tg_shared *shared)
{
	tg_shared_report report;

	tg_shared_report_get(shared, &report);
	return (tg_wait){.host = report.host, .txn = report.txn, .kind = TG_WAIT_OUTCOME};
}

/*
 * A session that waits for a transaction's end is woken by that end, of any kind, and by no other.
 */
static bool
keep_wakes(int64_t id)
{
	void (*before)(void *) = tg_host_wake;
	bool kept = true;

	(void) id;
	tg_host_wake = count_wake;
	for (unsigned way = 0; way < 3; way++)
	{
		tg_shared *shared = begin(TG_READ_COMMITTED, 60000);
		tg_shared *other = begin(TG_READ_COMMITTED, 60000);
		tg_wait wait = wait_for(shared);

		wake_count = 0;
		tg_shared_wait_begin(theirs, &wait, &wake_count);
		tg_shared_abandon(mine, other, TG_SHARED_GIVEN_UP);
		tg_shared_close(other);
		kept &= wake_count == 0;
		if (way == 0)
			kept &= tg_shared_commit(mine, shared) == TG_OK;
		else if (way == 1)
			tg_shared_abort(mine, shared, TG_SHARED_ASKED, NULL);
		else
			tg_shared_abandon(mine, shared, TG_SHARED_GIVEN_UP);
		kept &= wake_count == 1;
		tg_shared_wait_end(theirs);
		tg_shared_close(shared);
	}
	tg_host_wake = before;
	return kept;
}

static tg_status
start(tg_session *session, tg_shared *shared)
{
	const tg_area area = {.table = table};
	const tg_long_config config = {.preserve = &area, .preserve_count = 1, .include = &area, .include_count = 1};
	tg_wait wait;

	return tg_shared_start(session, shared, &config, false, &wait);
}

/* So does the one that is drawn at a start. */
static bool
keep_start(int64_t id)
{
	tg_shared *shared = begin_kind(TG_TXN_READ_ONLY, TG_SERIALIZABLE, 60000);
	bool kept;

	commit_insert(id);
	kept = start(mine, shared) == TG_OK && is_seen_later(shared, id);
	tg_shared_abort(mine, shared, TG_SHARED_GIVEN_UP, NULL);
	tg_shared_close(shared);
	return kept;
}

static void
check(const char *name, bool (*is_kept)(int64_t id), const char *rule)
{
	static int64_t id;

	unit_ok(is_kept(id += 10), "%s", name);
	tg_store_release(&bug, rule);
	unit_ok(!is_kept(id += 10), "not without the rule: %s", rule);
	tg_store_release(&bug, NULL);
}

/* --- what needs no failpoint -------------------------------------------------------- */

/* Parts, in turns of several sessions; one that is ended beneath them. */
static void
test_parts(void)
{
	tg_shared *shared = begin(TG_SERIALIZABLE, 60000);
	tg_txn *txn = tg_shared_txn(shared);
	tg_txn_mark outer;
	tg_txn_mark inner;
	unsigned number;

	unit_ok(tg_shared_hold(shared) == TG_OK && insert(mine, txn, 1001) == TG_OK, "one session writes");
	tg_shared_let_go(mine, shared);
	unit_equal(tg_shared_hold(shared), TG_OK, "another has the turn");
	tg_txn_savepoint(theirs, txn, &outer, &number);
	unit_ok(insert(theirs, txn, 1002) == TG_OK && number == 1, "and writes in a part");
	tg_txn_savepoint(theirs, txn, &inner, &number);
	unit_ok(insert(theirs, txn, 1003) == TG_OK && number == 2, "and in one within");
	tg_txn_rollback_to(theirs, txn, inner);
	unit_equal(insert(theirs, txn, 1004), TG_OK, "and rolls that part back");
	tg_shared_let_go(theirs, shared);
	unit_equal(tg_shared_commit(mine, shared), TG_OK, "a commit");
	unit_ok(is_there(1001) && is_there(1002) && !is_there(1003) && is_there(1004), "of the rest");
	tg_shared_close(shared);

	shared = begin(TG_SERIALIZABLE, 60000);
	txn = tg_shared_txn(shared);
	unit_equal(tg_shared_hold(shared), TG_OK, "a session");
	tg_txn_savepoint(theirs, txn, &outer, &number);
	unit_equal(insert(theirs, txn, 1005), TG_OK, "writes in a part");
	tg_txn_savepoint(theirs, txn, &inner, &number);
	tg_shared_abandon(mine, shared, TG_SHARED_GIVEN_UP);
	unit_equal(insert(theirs, txn, 1006), TG_STOPPED, "the owner has gone");
	tg_txn_rollback_to(theirs, txn, inner);
	tg_txn_savepoint(theirs, txn, &inner, &number);
	tg_txn_rollback_to(theirs, txn, outer);
	tg_shared_let_go(theirs, shared);
	unit_ok(state_of(shared) == TG_SHARED_ABORTED && !is_there(1005), "there is nothing to be taken back");
	tg_shared_close(shared);
}

static void
test_reasons(void)
{
	tg_shared *shared = begin(TG_READ_COMMITTED, 60000);
	tg_shared_report report;
	char text[2 * TG_SHARED_TEXT_BYTES];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	unit_equal(tg_shared_hold(shared), TG_OK, "a session is at work");
	tg_shared_abort(theirs, shared, TG_SHARED_FAILED, text);
	tg_shared_abort(theirs, shared, TG_SHARED_ASKED, "later");
	tg_shared_let_go(mine, shared);
	tg_shared_report_get(shared, &report);
	unit_ok(report.reason == TG_SHARED_FAILED && strlen(report.text) == TG_SHARED_TEXT_BYTES - 1,
			"the first reason is kept, as far as there is room");
	tg_shared_close(shared);

	shared = begin(TG_READ_COMMITTED, 60000);
	unit_equal(tg_shared_commit(mine, shared), TG_OK, "a commit");
	tg_shared_abort(theirs, shared, TG_SHARED_ASKED, NULL);
	tg_shared_report_get(shared, &report);
	unit_ok(report.reason == TG_SHARED_NOT_ABORTED && report.state == TG_SHARED_STORED, "is not aborted afterwards");
	tg_shared_close(shared);
}

static bool
is_odd(uint64_t role, uint64_t argument)
{
	return role % 2 == argument;
}

static void
test_abandon_leased(void)
{
	tg_shared *shared = begin(TG_READ_COMMITTED, 60000);

	unit_equal(insert(mine, tg_shared_txn(shared), 2001), TG_OK, "a row");
	tg_shared_abandon_leased(theirs, TG_SHARED_STOPPED, is_odd, 0);
	unit_equal(state_of(shared), TG_SHARED_RUNNING, "other roles' are abandoned");
	tg_shared_abandon_leased(theirs, TG_SHARED_STOPPED, is_odd, 1);
	unit_ok(state_of(shared) == TG_SHARED_ABORTED && !is_there(2001), "the role's are");
	tg_shared_close(shared);
}

/*
 * A role's places: those of another half of its word count, other roles' do not; one that has ended
 * makes room.
 */
static void
test_places(void)
{
	tg_shared_config config = {.role = (uint64_t) 1 << 32 | 77, .place_max = 2, .label = "places", .lease_ms = 60000};
	tg_shared *shared[3];
	tg_shared_report report;
	tg_handle first;

	config.handle = first = (tg_handle){{++handles, 7}};
	unit_ok(tg_shared_begin(mine, &config) == TG_OK && tg_shared_open(&config.handle, config.role, &shared[0]) == TG_OK,
			"a role has a place");
	config.handle = (tg_handle){{++handles, 7}};
	config.role = (uint64_t) 2 << 32 | 77;
	unit_ok(tg_shared_begin(mine, &config) == TG_OK && tg_shared_open(&config.handle, config.role, &shared[1]) == TG_OK,
			"and another one");
	config.handle = (tg_handle){{++handles, 7}};
	unit_equal(tg_shared_begin(mine, &config), TG_TOO_LARGE, "it has as many as it may");
	config.role = (uint64_t) 1 << 32 | 78;
	unit_ok(tg_shared_begin(mine, &config) == TG_OK && tg_shared_open(&config.handle, config.role, &shared[2]) == TG_OK,
			"another role has one");
	tg_shared_report_get(shared[0], &report);
	for (unsigned i = 0; i < 3; i++)
	{
		unit_ok(tg_shared_abandon(theirs, shared[i], TG_SHARED_TERMINATED), "ended at once");
		tg_shared_close(shared[i]);
	}
	unit_ok(tg_shared_open_number(report.number, &shared[0]) == TG_OK, "the outcome is there by its number");
	tg_shared_close(shared[0]);
	config.handle = (tg_handle){{++handles, 7}};
	config.role = (uint64_t) 2 << 32 | 77;
	unit_ok(tg_shared_begin(mine, &config) == TG_OK && tg_shared_open(&config.handle, config.role, &shared[1]) == TG_OK,
			"the role's next one");
	unit_ok(tg_shared_open(&first, (uint64_t) 1 << 32 | 77, &shared[0]) == TG_NOT_FOUND &&
				tg_shared_open_number(report.number, &shared[0]) == TG_NOT_FOUND,
			"takes the place of the oldest that has ended");
	tg_shared_abort(mine, shared[1], TG_SHARED_ASKED, NULL);
	tg_shared_close(shared[1]);
}

/* --- LONG and READ ONLY ------------------------------------------------------------- */

static unsigned
count_preserved(void)
{
	tg_preserve_report report;

	return tg_preserve_report_get(&report, 1) > 0 && !report.ended;
}

static void
test_long(int64_t id)
{
	tg_shared *shared = begin_kind(TG_TXN_LONG, TG_SERIALIZABLE, LEASE_MS);
	tg_txn *txn = tg_txn_begin(theirs, 1);
	tg_snapshot snapshot;
	tg_writer writer;

	unit_equal(insert(theirs, txn, id), TG_OK, "another transaction writes");
	unit_ok(start(mine, shared) == TG_BUSY && state_of(shared) == TG_SHARED_WAITING, "a LONG waits for its start");
	unit_equal(tg_shared_enter(theirs, shared, TG_DATA, &writer, &snapshot), TG_BUSY, "no session works in it before");
	usleep(2 * LEASE_MS * 1000);
	tg_shared_look_at_leases(theirs);
	unit_equal(state_of(shared), TG_SHARED_WAITING, "its lease does not end meanwhile");
	tg_txn_commit(theirs, txn);
	unit_ok(start(mine, shared) == TG_OK && state_of(shared) == TG_SHARED_RUNNING, "it starts");
	txn = tg_txn_begin(theirs, 1);
	unit_equal(insert(theirs, txn, id + 1), TG_BUSY, "no other transaction writes in its preserve");
	tg_txn_abort(theirs, txn);
	unit_equal(tg_shared_enter(theirs, shared, TG_DATA, &writer, &snapshot), TG_OK, "another session works in it");
	unit_equal(insert(theirs, writer.txn, id + 1), TG_OK, "and writes there");
	tg_shared_leave(theirs, shared);
	unit_ok(tg_shared_commit(mine, shared) == TG_OK && is_there(id + 1), "it is committed");
	unit_equal(count_preserved(), 0, "nothing is preserved any more");
	tg_shared_close(shared);
}

/* Another session stops it, before and after its start; the session at work has it open. */
static void
test_long_stopped(int64_t id)
{
	for (int started = 0; started < 2; started++)
	{
		tg_shared *shared = begin_kind(TG_TXN_LONG, TG_SERIALIZABLE, 60000);
		tg_txn *txn = started ? NULL : tg_txn_begin(theirs, 1);
		const tg_area area = {.table = table};
		tg_writer writer = {.session = mine, .txn = tg_shared_txn(shared), .command = 1};
		const tg_value values[2] = {{.word = 1}, {.word = 1}};
		const bool nulls[2] = {false, false};
		unsigned char key[16];
		tg_wait wait;

		if (!started && insert(theirs, txn, id) != TG_OK)
			unit_bail("no row");
		unit_equal(start(mine, shared), started ? TG_OK : TG_BUSY, started ? "one has started" : "one waits");
		unit_ok(!started || tg_shared_hold(shared) == TG_OK, "a session works in it");
		tg_shared_abandon_leased(theirs, TG_SHARED_STOPPED, NULL, 0);
		unit_ok(start(mine, shared) == TG_STOPPED && state_of(shared) == TG_SHARED_ABORTED, "it is stopped");
		unit_equal(count_preserved(), 0, "and preserves nothing");
		/* the preserve has gone while a session is at work */
		unit_equal(tg_long_check_read(mine, writer.txn, &area), TG_STOPPED, "a reader is told");
		unit_equal(tg_txn_probe(&writer, table, key, key_of(1, key), NULL, values, nulls, &wait), TG_STOPPED,
				   "so is a session that probes");
		unit_equal(insert(mine, writer.txn, id + 1), TG_STOPPED, "and a writer");
		if (started)
			tg_shared_let_go(mine, shared);
		else
			tg_txn_abort(theirs, txn);
		tg_shared_close(shared);
	}
}

static void
test_read_only(int64_t id)
{
	tg_shared *shared = begin_kind(TG_TXN_READ_ONLY, TG_SERIALIZABLE, 60000);

	unit_equal(start(mine, shared), TG_OK, "one that reads only starts at once");
	unit_equal(insert(mine, tg_shared_txn(shared), id), TG_FORBIDDEN, "it writes nothing");
	unit_equal(tg_shared_commit(theirs, shared), TG_OK, "it ends");
	tg_shared_close(shared);
}

/* There is no room for what a start needs. */
static void
test_start_fails(void)
{
	static const struct
	{
		tg_txn_kind kind;
		const char *refused;
		tg_status status;
	} cases[] = {{TG_TXN_LONG, "areas_create", TG_NO_MEMORY},
				 {TG_TXN_LONG, "preserve_full", TG_FULL},
				 {TG_TXN_READ_ONLY, "areas_create", TG_NO_MEMORY}};

	tg_failpoint_set(is_planted);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		tg_shared *shared = begin_kind(cases[i].kind, TG_SERIALIZABLE, 60000);

		tg_store_release(&bug, cases[i].refused);
		unit_equal(start(mine, shared), cases[i].status, "a start that fails: %s", cases[i].refused);
		tg_store_release(&bug, NULL);
		tg_shared_abort(mine, shared, TG_SHARED_GIVEN_UP, NULL);
		unit_ok(state_of(shared) == TG_SHARED_ABORTED && count_preserved() == 0, "nothing is left of it");
		tg_shared_close(shared);
	}
	tg_failpoint_set(NULL);
}

int
main(void)
{
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

	if (tg_runtime_open(2, &mine) != TG_OK || tg_session_open(&theirs) != TG_OK)
		unit_bail("no runtime");
	if (tg_table_create(mine, 1, 2, kinds, 2, &key, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	tg_failpoint_set(is_planted);
	check("a commit beside a user is refused", keep_users, "skip_users");
	check("an abort is put off", keep_put_off, "skip_put_off");
	check("users hold the lease", keep_lease_of_users, "skip_lease_of_users");
	check("a place that is open stays", keep_open, "skip_open");
	check("the snapshot is the transaction's own", keep_shared_entry, "skip_shared_entry");
	check("so is one that was offered", keep_offered_entry, "skip_shared_entry");
	check("so is that of a start", keep_start, "skip_shared_entry");
	check("the read set goes with the last user", keep_reads, "forget_early");
	check("a commit is not aborted under way", keep_committing, "skip_committing");
	check("an end wakes its waiters", keep_wakes, "skip_shared_wake");
	tg_failpoint_set(NULL);
	test_parts();
	test_reasons();
	test_abandon_leased();
	test_places();
	test_long(5000);
	test_long_stopped(5100);
	test_read_only(5200);
	test_start_fails();
	tg_runtime_session_end(theirs);
	unit_ok(tg_runtime_close(mine), "the pool stops");
	return unit_done();
}
