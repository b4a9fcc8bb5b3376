/*
 * rules.c
 *	  The rules of transactions on one table, each shown twice: its promise holds, and the promise
 *	  is broken when a failpoint leaves the rule out.
 *
 * A scenario is a fixed schedule.  Another session's steps in the middle of a call are run by the
 * hook of a failpoint, in the same thread; only a session that would spin for ever there has a
 * thread of its own.  Each run has a process of its own, because a broken rule may leave anything
 * behind.
 *
 * The rules of LONG and READ ONLY: kinds_model.c.  Row locks (W7): row_lock.c.  All of them:
 * runtime/txn/README.md.
 */
#include "test/unit/serializable.h"

#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/failpoint.h"

static client a;
static client b;
static client c;

/* --- the hook ------------------------------------------------------------------------------ */

static const char *skipped; /* constant while threads run, as is what follows but for its end */
static const char *place;
static void (*meanwhile)(void);
static pthread_t look_thread;
static bool looks_on; /* the thread is there */
static uint32_t look_is_over;
static uint32_t look_spins;

static bool
at_failpoint(const char *name)
{
	if (skipped != NULL && strcmp(name, skipped) == 0)
		return true;
	if (looks_on && strcmp(name, "spin") == 0)
		tg_store_release(&look_spins, 1);
	if (place != NULL && strcmp(name, place) == 0)
	{
		place = NULL;
		meanwhile();
	}
	return false;
}

/* The first thread that passes this place runs the function. */
static void
arm(const char *name, void (*what)(void))
{
	meanwhile = what;
	place = name;
}

/* Runs the function now, if no thread has passed the place. */
static void
make_up(void)
{
	if (place == NULL)
		return;
	place = NULL;
	meanwhile();
}

/* --- small transactions ---------------------------------------------------------------------- */

/* Sets, or makes, or deletes (ABSENT) a row. */
static void
commit(client *by, int64_t id, int64_t amount)
{
	int64_t old;

	begin(by);
	if (set(by, id, amount, &old) == TG_NOT_FOUND && put(by, id, amount) != TG_OK)
		unit_bail("no row");
	end(by, true);
}

/* Writes another row, so that there is something to validate; does the commit go through? */
static bool
goes_through(client *by)
{
	int64_t old;
	bool valid = set(by, 1, 99, &old) == TG_OK && prepare(by) != 0;

	end(by, valid);
	return valid;
}

static int64_t
get_now(int64_t id)
{
	int64_t amount;

	begin(&c);
	amount = get(&c, id);
	end(&c, true);
	return amount;
}

/* The result of a thread's read, with a snapshot of its own: see look. */
static int64_t seen;

static void *
look_main(void *argument)
{
	seen = get(&b, 2);
	tg_store_release(&look_is_over, 1);
	return argument;
}

/* b reads row 2; returns when it has, or spins. */
static void
look(void)
{
	looks_on = true;
	if (pthread_create(&look_thread, NULL, look_main, NULL) != 0)
		unit_bail("no thread");
	while (!tg_load_acquire(&look_is_over) && !tg_load_acquire(&look_spins))
		sched_yield();
}

static void
begin_and_look(void)
{
	begin(&b);
	look();
}

static void
end_look(void)
{
	pthread_join(look_thread, NULL);
	looks_on = false;
}

/* --- T: the commit ------------------------------------------------------------------ */

/* A reader that starts after C was drawn reads the same later. */
static bool
keep_preparing(void)
{
	int64_t old;
	int64_t first;

	begin(&a);
	(void) !set(&a, 2, 21, &old);
	arm("txn_drawn", begin_and_look);
	end(&a, true);
	end_look();
	first = seen;
	return get(&b, 2) == first && first == 21;
}

/* A reader that started before C was drawn does not see the commit, at any moment. */
static bool
keep_one_store(void)
{
	int64_t old;

	begin(&b);
	begin(&a);
	(void) !set(&a, 2, 21, &old);
	arm("txn_committing", look);
	end(&a, true);
	end_look();
	return seen == 20;
}

/*
 * The descriptor's next transaction does not affect the versions that the previous one has written.
 */
static bool
keep_stamps(void)
{
	commit(&a, 5, 50);
	begin(&a);
	return get_now(5) == 50;
}

static void
end_and_prepare_again(void)
{
	end(&a, true);
	begin(&a);
	(void) !put(&a, 6, 60);
	(void) tg_txn_prepare(a.session, a.txn, a.snapshot.time);
}

/* Nor for a reader that has loaded a reference of the previous transaction. */
static bool
keep_second_look(void)
{
	begin(&a);
	(void) !put(&a, 5, 50);
	(void) tg_txn_prepare(a.session, a.txn, a.snapshot.time);
	begin(&b);
	arm("time_loaded", end_and_prepare_again);
	return get(&b, 5) == 50;
}

/* --- V: seeing ---------------------------------------------------------------------- */

static void
commit_a(void)
{
	end(&a, true);
}

/* A reader waits for a transaction that is PREPARED within its snapshot. */
static bool
keep_waiting_for_outcome(void)
{
	int64_t first;
	int64_t old;

	begin(&a);
	(void) !set(&a, 2, 21, &old);
	(void) tg_txn_prepare(a.session, a.txn, a.snapshot.time);
	begin(&b);
	arm("spin", commit_a);
	first = get(&b, 2);
	make_up();
	return get(&b, 2) == first;
}

static bool
keep_ends(void)
{
	commit(&a, 2, ABSENT);
	return get_now(2) == ABSENT;
}

/* --- W: writing --------------------------------------------------------------------- */

static tg_status
newest(client *by, int64_t id, uint32_t *row_out, tg_version *version_out)
{
	tg_version noted;
	tg_status status;
	int64_t amount;
	tg_wait wait;

	(void) find(by, id, row_out, &amount, &noted);
	tg_epoch_enter(by->session);
	status = tg_txn_newest(&by->writer, &by->snapshot, table, row_out, version_out, &wait);
	tg_epoch_leave(by->session);
	return status;
}

static tg_status
replace(client *by, int64_t id, uint32_t row, tg_version version, int64_t amount)
{
	const tg_value values[2] = {{.word = (uint64_t) id}, {.word = (uint64_t) amount}};
	const bool nulls[2] = {false, false};
	tg_wait wait;

	return tg_txn_update(&by->writer, table, row, version, values, nulls, &wait);
}

/* Of two transactions that replace the same version one is too late. */
static bool
keep_version_lock(void)
{
	tg_version version;
	uint32_t row;

	begin(&a);
	begin(&b);
	return newest(&a, 2, &row, &version) == TG_OK && newest(&b, 2, &row, &version) == TG_OK &&
		   replace(&a, 2, row, version, 21) == TG_OK && replace(&b, 2, row, version, 22) == TG_AGAIN;
}

/* A savepoint: all that was written since is taken back, the last of it first. */
static bool
keep_undo(void)
{
	unsigned number;
	tg_txn_mark mark;
	int64_t old;

	begin(&a);
	tg_txn_savepoint(a.session, a.txn, &mark, &number);
	(void) !set(&a, 2, 21, &old);
	next_command(&a);
	(void) !set(&a, 2, 22, &old);
	(void) !put(&a, 5, 50);
	tg_txn_rollback_to(a.session, a.txn, mark);
	end(&a, true);
	return get_now(2) == 20 && get_now(5) == ABSENT;
}

/*
 * That a key could be inserted, and so was absent, stays read though the insertion is rolled back.
 */
static bool
keep_undone_reads(void)
{
	unsigned number;
	tg_txn_mark mark;

	begin(&a);
	tg_txn_savepoint(a.session, a.txn, &mark, &number);
	(void) !put(&a, 5, 50);
	tg_txn_rollback_to(a.session, a.txn, mark);
	commit(&b, 5, 51);
	return !goes_through(&a);
}

static tg_status status_of_b;

static void
put_b(void)
{
	status_of_b = put(&b, 5, 51);
}

/* Of two transactions that insert the key of a dead row one is too late. */
static bool
keep_head_lock(void)
{
	commit(&a, 5, 50);
	commit(&a, 5, ABSENT);
	begin(&a);
	begin(&b);
	arm("revive_judged", put_b);
	return put(&a, 5, 52) == TG_BUSY && status_of_b == TG_OK;
}

static void
collect(void)
{
	collect_all(c.session);
}

/* An inserter notices that its row has been removed meanwhile. */
static bool
keep_closing(void)
{
	commit(&a, 5, 50);
	commit(&a, 5, ABSENT);
	begin(&a);
	arm("revive_judged", collect);
	(void) !put(&a, 5, 52);
	make_up();
	end(&a, true);
	return get_now(5) == 52;
}

/* Whether a key is taken is not known before its inserter has ended. */
static bool
keep_waiting_for_holder(void)
{
	begin(&a);
	(void) !put(&a, 5, 50);
	begin(&b);
	put_b();
	end(&a, false);
	return status_of_b == TG_BUSY && put(&b, 5, 51) == TG_OK;
}

static void
put_b_meanwhile(void)
{
	begin(&b);
	put_b();
}

/* An aborted transaction holds its writes until they are undone: there is nothing to leave out. */
static void
test_aborted(void)
{
	begin(&a);
	(void) !put(&a, 5, 50);
	arm("txn_aborted", put_b_meanwhile);
	end(&a, false);
	unit_ok(status_of_b == TG_BUSY && put(&b, 5, 51) == TG_OK,
			"W4: an aborted holder is waited for until it is undone");
	end(&b, false);
}

static bool
keep_short(void)
{
	begin(&a);
	(void) !put(&a, 5, 50);
	begin(&b);
	tg_txn_describe(b.txn, TG_TXN_SHORT, TG_SERIALIZABLE, NULL);
	put_b();
	return status_of_b == TG_CONFLICT;
}

/* A version that was committed after the snapshot is not overwritten unnoticed. */
static bool
keep_first_committer(void)
{
	int64_t amount;
	int64_t old;

	begin(&a);
	amount = get(&a, 2);
	commit(&b, 2, 30);
	if (set(&a, 2, amount + 1, &old) != TG_OK)
		return true;
	end(&a, true);
	return get_now(2) == 31;
}

/* b takes row 2 away to another table. */
static void
depart(void)
{
	tg_version version;
	tg_version noted;
	int64_t amount;
	uint32_t row;
	tg_wait wait;

	begin(&b);
	if (find(&b, 2, &row, &amount, &noted) != TG_OK)
		unit_bail("no row");
	tg_epoch_enter(b.session);
	if (tg_txn_newest(&b.writer, &b.snapshot, table, &row, &version, &wait) != TG_OK)
		unit_bail("not the newest");
	tg_epoch_leave(b.session);
	if (tg_txn_depart(&b.writer, table, row, version, &wait) != TG_OK)
		unit_bail("not ended");
	end(&b, true);
}

/*
 * A row that goes on elsewhere: a is told so, though the version that it sees is not the departed
 * one, which no snapshot sees.
 */
static bool
keep_departed(void)
{
	tg_version version;
	tg_version noted;
	tg_status status;
	int64_t amount;
	uint32_t row;
	tg_wait wait;

	begin(&a);
	(void) find(&a, 2, &row, &amount, &noted);
	commit(&b, 2, 30);
	depart();
	collect();
	commit(&b, 2, 40); /* another row with its key */
	tg_epoch_enter(a.session);
	status = tg_txn_newest(&a.writer, &a.snapshot, table, &row, &version, &wait);
	tg_epoch_leave(a.session);
	return status == TG_MOVED;
}

/* A snapshot is extended only if all that was read is the same as of then. */
static bool
keep_extension(void)
{
	int64_t old;

	begin(&a);
	(void) get(&a, 2);
	commit(&b, 2, 30);
	commit(&b, 3, 40);
	return set(&a, 3, 41, &old) != TG_OK;
}

/* --- S: validation ------------------------------------------------------------------ */

static bool
keep_rows(void)
{
	begin(&a);
	(void) get(&a, 2);
	commit(&b, 2, 21);
	return !goes_through(&a);
}

static bool
keep_absent(void)
{
	begin(&a);
	(void) get(&a, 5);
	commit(&b, 5, 50);
	return !goes_through(&a);
}

static void
commit_b(void)
{
	end(&b, true);
}

/* The validation waits for a transaction that has drawn a smaller C and has not ended. */
static bool
keep_waiting_for_smaller(void)
{
	int64_t old;
	bool valid;

	begin(&a);
	(void) get(&a, 2);
	begin(&b);
	(void) !set(&b, 2, 21, &old);
	(void) tg_txn_prepare(b.session, b.txn, b.snapshot.time);
	arm("spin", commit_b);
	valid = goes_through(&a);
	make_up();
	return !valid;
}

static bool
keep_range(void)
{
	int64_t amounts[KEYS];

	begin(&a);
	(void) get_range(&a, 3, 10, 100, amounts);
	commit(&b, 5, 50);
	return !goes_through(&a);
}

static bool
keep_table(void)
{
	int64_t amounts[KEYS];

	begin(&a);
	get_all(&a, amounts);
	commit(&b, 5, 50);
	return !goes_through(&a);
}

/* --- L ------------------------------------------------------------------------------ */

/* A writer in its area does not overtake a LONG that waits for its start. */
static bool
keep_publishing(void)
{
	const tg_area area = {.table = table};
	const tg_long_config config = {.preserve = &area, .preserve_count = 1};
	tg_status overtaken;
	tg_time start;
	tg_wait wait;
	int64_t old;

	begin(&a);
	(void) !put(&a, 5, 50);
	c.txn = tg_txn_begin(c.session, (uint64_t) c.session->id + 1);
	tg_txn_describe(c.txn, TG_TXN_LONG, TG_SERIALIZABLE, NULL);
	if (tg_long_publish(c.session, c.txn, &config) != TG_OK ||
		tg_long_start(c.session, c.txn, &start, &wait) != TG_BUSY)
		return false;
	begin(&b);
	overtaken = set(&b, 2, 21, &old);
	end(&a, true);
	return overtaken != TG_OK && tg_long_start(c.session, c.txn, &start, &wait) == TG_OK;
}

/* --- G: garbage --------------------------------------------------------------------- */

static bool
keep_snapshots(void)
{
	begin(&a);
	commit(&b, 2, 21);
	collect();
	return get(&a, 2) == 20;
}

/* A version that no snapshot can read any more goes, and so do the logs that name it. */
static bool
keep_collecting(void)
{
	tg_arena_report report;

	for (int64_t i = 0; i < 20; i++)
		commit(&a, 2, i);
	collect();
	tg_arena_report_get(&report);
	return report.used_by[TG_USE_LOG] == 0;
}

static void
put_5(void)
{
	commit(&b, 5, 50);
}

/*
 * A version that comes and goes between the snapshot and the end of a validation counts, though no
 * snapshot is in between.  The row comes after the committer has published that it draws a C, and
 * goes before it looks.
 */
static bool
keep_later_times(void)
{
	tg_conflict conflict;
	int64_t old;

	a.snapshot =
		(tg_snapshot){.time = tg_snapshot_publish_from(a.session, &a.entry), .txn = a.session->id, .command = 1};
	if (tg_reads_create(a.session, &a.reads) != TG_OK)
		return false;
	a.txn = tg_txn_begin(a.session, (uint64_t) a.session->id + 1);
	tg_txn_track(a.txn, a.reads);
	a.writer = (tg_writer){.session = a.session, .txn = a.txn, .claim = TG_DATA, .command = 1};
	(void) get(&a, 5);
	(void) !set(&a, 1, 11, &old);
	arm("txn_preparing", put_5);
	(void) tg_txn_prepare(a.session, a.txn, a.snapshot.time);
	commit(&b, 5, ABSENT);
	collect();
	return !validate(&a, &conflict);
}

/* --- all ---------------------------------------------------------------------------- */

static const struct
{
	const char *rule;
	bool (*keeps)(void);
	const char *failpoint;
} rules[] = {
	{"T1: PREPARING is there to see before C is drawn", keep_preparing, "skip_t1"},
	{"T2: COMMITTED(C) is one store", keep_one_store, "skip_t2"},
	{"T3: C is stamped before the descriptor is used again", keep_stamps, "skip_t3"},
	{"T3: resolving a reference loads the word again", keep_second_look, "skip_t3_again"},
	{"V1: PREPARED within the snapshot is waited for", keep_waiting_for_outcome, "prepared_unseen"},
	{"V2: an end that is seen", keep_ends, "skip_v2"},
	{"W1: a version's end is the lock", keep_version_lock, "skip_w1"},
	{"W2: the log is undone", keep_undo, "skip_w2"},
	{"W2: a key that was read stays read", keep_undone_reads, "skip_w2_reads"},
	{"W3: a dead row's head is the lock", keep_head_lock, "skip_w3"},
	{"W3: a row is closed before its entry goes", keep_closing, "skip_w3_close"},
	{"W4: a holder that has not ended is waited for", keep_waiting_for_holder, "skip_w4"},
	{"W4: but not by a SHORT", keep_short, "skip_w4_short"},
	{"W5: a version later than the snapshot", keep_first_committer, "skip_w5"},
	{"W5: a row that goes on elsewhere", keep_departed, "skip_w5_departed"},
	{"W5: an extension validates what was read", keep_extension, "validate_skip"},
	{"S1: rows that were read", keep_rows, "skip_s1"},
	{"S1: keys that were not there", keep_absent, "skip_s1_absent"},
	{"S1: a smaller C without an outcome is waited for", keep_waiting_for_smaller, "skip_s1_wait"},
	{"S2: ranges that were read", keep_range, "validate_ranges"},
	{"S2: tables that were read", keep_table, "skip_s2_table"},
	{"L1 (a): a LONG that waits is on the list", keep_publishing, "skip_l1a"},
	{"G1: the horizon respects snapshots", keep_snapshots, "skip_g1"},
	{"G2: a version that ended before the horizon goes", keep_collecting, "skip_g2"},
	{"G3: a transaction that validates may look at any later time", keep_later_times, "skip_g3"},
};

static void
open_all(void)
{
	start();
	client_open(&a);
	client_open(&b);
	client_open(&c);
	for (int64_t id = 1; id <= 3; id++)
		commit(&a, id, id * 10);
}

typedef enum outcome
{
	KEPT,
	BROKEN,
	DEAD
} outcome;

/* In a process of its own, without the failpoint or with it. */
static outcome
run(unsigned number, bool whole)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		alarm(60); /* a thread may spin for ever */
		open_all();
		skipped = whole ? NULL : rules[number].failpoint;
		tg_failpoint_set(at_failpoint);
		_exit(rules[number].keeps() ? KEPT : BROKEN);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		unit_bail("no process");
	return WIFEXITED(status) && WEXITSTATUS(status) <= BROKEN ? (outcome) WEXITSTATUS(status) : DEAD;
}

int
main(void)
{
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
	{
		unit_ok(run(i, true) == KEPT, "%s", rules[i].rule);
		unit_ok(run(i, false) == BROKEN, "%s: left out, it shows", rules[i].rule);
	}
	open_all();
	tg_failpoint_set(at_failpoint);
	test_aborted();
	tg_failpoint_set(NULL);
	return unit_done();
}
