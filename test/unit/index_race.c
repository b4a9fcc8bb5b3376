/*
 * index_race.c
 *	  Secondary indexes under threads, and met in the middle of a step.
 *
 * Threads write, roll back and wait for each other, one collects, and a reader
 * compares each index with the table, of one snapshot.  Afterwards each index
 * must have exactly one entry per row, and no key twice.
 *
 * Threads meet rarely in a window of nanoseconds.  So a remover of an entry is
 * also stopped between finding it and locking its leaf, and a writer finds the
 * entry there meanwhile.
 */
#include "test/unit/indexed.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TRANSACTIONS 1500
#else
#define TRANSACTIONS 8000
#endif

#define WRITERS 3
#define IDS_SHARED 16

typedef struct race
{
	unsigned writing; /* atomic: writers at work */
	unsigned wrong;	  /* atomic */
	unsigned written; /* atomic */
	unsigned looks;	  /* atomic */
	unsigned taken;	  /* atomic */
} race;

/* --- threads ------------------------------------------------------------------------ */

/* A transaction of some statements; at a holder it gives up, or now and then tries again. */
static void
run_transaction(client *c, race *run)
{
	unsigned statements = 1 + dice(c, 4);
	tg_txn_mark mark = {TG_LOG_MARK_START, 0};
	bool commit = dice(c, 4) != 0;

	begin(c);
	for (unsigned i = 0; i < statements; i++)
	{
		tg_status status;

		next_statement(c);
		if (dice(c, 6) == 0)
			tg_txn_savepoint(c->session, c->txn, &mark, &c->writer.subtxn);
		status = write_something(c, IDS_SHARED);
		if (status == TG_OK)
			tg_fetch_add_relaxed(&run->written, 1);
		else if (status == TG_EXISTS)
			tg_fetch_add_relaxed(&run->taken, 1);
		else if (status == TG_BUSY && dice(c, 2) == 0)
		{
			commit = false;
			break;
		}
		if (dice(c, 12) == 0)
			tg_txn_rollback_to(c->session, c->txn, mark);
	}
	end(c, commit);
}

static void
run_writer(race *run, unsigned number)
{
	client c;

	client_open(&c, number + 10);
	for (unsigned i = 0; i < TRANSACTIONS; i++)
		run_transaction(&c, run);
	client_close(&c);
	(void) tg_fetch_add_acq_rel(&run->writing, -1);
}

static void
run_reader(race *run)
{
	client c;

	client_open(&c, 100);
	while (tg_load_acquire(&run->writing) > 0)
	{
		begin(&c);
		for (unsigned i = 0; i < 6; i++)
		{
			if (!index_is_right(&c, i % INDEXES))
				tg_fetch_add_relaxed(&run->wrong, 1);
			tg_fetch_add_relaxed(&run->looks, 1);
		}
		end(&c, false);
	}
	client_close(&c);
}

static void
run_collector(race *run)
{
	client c;

	client_open(&c, 200);
	while (tg_load_acquire(&run->writing) > 0)
	{
		(void) tg_collector_run(c.session, 100);
		tg_epoch_advance();
	}
	client_close(&c);
}

static void
run_thread(unsigned number, void *argument)
{
	if (number < WRITERS)
		run_writer(argument, number);
	else if (number == WRITERS)
		run_reader(argument);
	else
		run_collector(argument);
}

static void
test_threads(client *c)
{
	race run = {.writing = WRITERS};

	tg_sweep_interval_ms = 0;
	unit_threads(WRITERS + 2, run_thread, &run);
	unit_equal(run.wrong, 0, "in %u looks each index showed what the table did", run.looks);
	unit_ok(run.written > TRANSACTIONS && run.taken > 0, "%u rows written, %u keys taken", run.written, run.taken);
	check_exact(c, "threads");
}

/* --- met in the middle -------------------------------------------------------------- */

/* --- keys that may be given twice for a while ------------------------------------------------ */

#define SHARED_NUMBER 500

static unsigned deferred_committed; /* atomic */
static unsigned deferred_refused;	/* atomic */
static unsigned deferred_wrong;		/* atomic: commits after which two rows had the number */

static unsigned
count_shared(client *c)
{
	static __thread seen_rows seen;
	unsigned found = 0;

	begin(c);
	read_table(c, &seen);
	end(c, false);
	for (unsigned i = 0; i < seen.count; i++)
		found += seen.rows[i].number == SHARED_NUMBER;
	return found;
}

/* As a host does it for a deferred key: checks, and checks again before the commit unless alone. */
static void
write_shared(unsigned number, void *argument)
{
	int64_t id = 2 + (int64_t) number;
	client c;

	(void) argument;
	client_open(&c, number);
	for (int i = 0; i < TRANSACTIONS / 4; i++)
	{
		bool alone;

		begin(&c);
		if (put(&c, id, SHARED_NUMBER, NOTHING, false) != TG_OK)
			unit_bail("an id of its own is taken");
		alone = recheck(&c, SHARED_NUMBER, false) == TG_OK;
		if (dice(&c, 2) == 0)
			sched_yield();
		if (!alone && recheck(&c, SHARED_NUMBER, true) != TG_OK)
		{
			tg_fetch_add_relaxed(&deferred_refused, 1);
			end(&c, false);
			continue;
		}
		end(&c, true);
		tg_fetch_add_relaxed(&deferred_committed, 1);
		sched_yield();
		if (count_shared(&c) > 1)
			tg_fetch_add_relaxed(&deferred_wrong, 1);
		begin(&c);
		if (drop(&c, id) != TG_OK)
			unit_bail("a row of its own is gone");
		end(&c, true);
	}
	client_close(&c);
}

static void
test_deferred(client *c)
{
	fresh_table(c->session, true);
	unit_threads(WRITERS, write_shared, NULL);
	unit_equal(deferred_wrong, 0, "no two rows kept the same number");
	unit_ok(deferred_committed > 0, "%u commits, %u had to give up", deferred_committed, deferred_refused);
	check_exact(c, "deferred");
}

#ifdef TG_FAILPOINTS

static struct
{
	const char *point;
	unsigned passes; /* until it happens */
	void (*act)(client *c);
	client *actor;
	bool happened;
} meeting;

static bool
meet(const char *name)
{
	if (meeting.happened || strcmp(name, meeting.point) != 0 || meeting.passes-- > 0)
		return false;
	meeting.happened = true;
	meeting.act(meeting.actor);
	return false;
}

static void
arrange(const char *point, unsigned passes, client *actor, void (*act)(client *c))
{
	meeting.point = point;
	meeting.passes = passes;
	meeting.actor = actor;
	meeting.act = act;
	meeting.happened = false;
	tg_failpoint_set(meet);
}

static bool
has_met(void)
{
	tg_failpoint_set(NULL);
	return meeting.happened;
}

static void
write_back(client *c)
{
	begin(c);
	(void) !change(c, 1, 1, 10, 10, 1);
	end(c, true);
}

static void
insert_again(client *c)
{
	begin(c);
	(void) !put(c, 1, 11, 11, true);
	end(c, true);
}

/* A table with one row. */
static void
fresh_row(client *c)
{
	fresh_table(c->session, true);
	begin(c);
	(void) !put(c, 1, 10, 10, true);
	end(c, true);
}

/* The collector takes the old version's entries away; just then the row gets its old keys again. */
static void
test_meet_collector(client *a, client *b)
{
	for (unsigned passes = 0; passes < 3; passes++)
	{
		fresh_row(a);
		begin(a);
		(void) !change(a, 1, 1, 11, 11, 1);
		end(a, true);
		arrange("btree_lock", passes, b, write_back);
		collect_all(a->session);
		unit_ok(has_met(), "an entry that is about to be removed, %u, is found and used", passes);
		check_exact(a, "met the collector");
	}
}

/* One transaction undoes the revival of a row; just then another revives it with the same keys. */
static void
test_meet_undo(client *a, client *b)
{
	for (unsigned passes = 0; passes < 3; passes++)
	{
		fresh_row(a);
		begin(a);
		(void) !drop(a, 1);
		end(a, true);
		begin(a);
		(void) !put(a, 1, 11, 11, true);
		arrange("btree_lock", passes, b, insert_again);
		end(a, false);
		unit_ok(has_met(), "an entry that is being undone, %u, is found and used", passes);
		check_exact(a, "after meeting an undo");
	}
}

/* While one has been judged to have a key to himself, another one waits at the latch. */
static unsigned twins_written; /* atomic */

static void
write_twin(unsigned number, void *argument)
{
	client c;

	(void) argument;
	client_open(&c, number);
	for (int i = 0; i < 300; i++)
	{
		begin(&c);
		if (put(&c, 2 + (int64_t) number, NOTHING, 7, false) == TG_OK)
			tg_fetch_add_relaxed(&twins_written, 1);
		sched_yield();
		end(&c, false);
	}
	begin(&c);
	(void) !put(&c, 2 + (int64_t) number, NOTHING, 7, false);
	end(&c, true);
	client_close(&c);
}

static bool
wait_when_judged(const char *name)
{
	if (strcmp(name, "unique_judged") == 0)
		sched_yield();
	return false;
}

static void
test_twins(client *a)
{
	fresh_table(a->session, true);
	tg_failpoint_set(wait_when_judged);
	unit_threads(WRITERS, write_twin, NULL);
	tg_failpoint_set(NULL);
	unit_ok(twins_written > 0, "%u times another transaction had the key", twins_written);
	check_exact(a, "twins");
}

#endif

int
main(void)
{
	client a;
	client b;

	start(true);
	client_open(&a, 1);
	client_open(&b, 2);
	for (unsigned way = 0; way < 2; way++)
	{
		hides = several = way != 0;
		fresh_table(a.session, true);
		test_threads(&a);
		several = false;
		test_deferred(&a);
#ifdef TG_FAILPOINTS
		test_meet_collector(&a, &b);
		test_meet_undo(&a, &b);
		test_twins(&a);
#endif
	}
	client_close(&b);
	client_close(&a);
	return unit_done();
}
