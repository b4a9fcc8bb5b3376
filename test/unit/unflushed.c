/*
 * unflushed.c
 *	  Notes of commits that are not flushed yet (R4, R5): whoever is shown something of such a
 *	  commit remembers its position, however it is shown, and nobody else does.
 *
 * A position is a number here, and "flushed" is that the committer says so.  Each rule is shown
 * twice: it holds, and it is broken when a failpoint leaves it out.  Then threads change rows, read
 * and collect at random; each row has its commit's position as its amount.
 */
#include "test/unit/serializable.h"

#include "runtime/base/failpoint.h"
#include "test/unit/random.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define COMMITS 1000
#else
#define COMMITS 2000
#endif

#define WRITERS 3
#define READERS 2
#define HOT 4	   /* rows, from 0 on */
#define BEFORE 100 /* amounts up to here are from before the random part */

static client a; /* commits, and is slow to flush */
static client b; /* is shown it, or not */
static uint64_t position;
static bool prepares; /* as at SERIALIZABLE */

/* --- the hook ------------------------------------------------------------------------------ */

static const char *skipped;
static const char *place;

static bool
at_failpoint(const char *name)
{
	if (skipped != NULL && strcmp(name, skipped) == 0)
		return true;
	if (place != NULL && strcmp(name, place) == 0)
	{
		place = NULL;
		begin(&b);
		tg_snapshot_set_reader(&b.snapshot, b.session->id);
	}
	return false;
}

/* --- steps --------------------------------------------------------------------------------- */

static void
begin_reading(client *c)
{
	begin(c);
	tg_snapshot_set_reader(&c->snapshot, c->session->id);
}

/* Changes row 1, or deletes it (ABSENT); the commit stands without its flush. */
static void
commit_unflushed(int64_t amount)
{
	int64_t old;

	begin(&a);
	if (set(&a, 1, amount, &old) != TG_OK)
		unit_bail("no row");
	tg_txn_open_note(a.session, a.txn);
	if (prepares && prepare(&a) == 0)
		unit_bail("not valid");
	tg_unflushed_log(a.session, ++position);
	end(&a, true);
}

static bool
has_met(const client *c)
{
	return tg_unflushed_met(c->session) == position;
}

/* --- scenarios ------------------------------------------------------------------------------- */

static void
read_key(void)
{
	(void) get(&b, 1);
}

static void
read_other_key(void)
{
	(void) get(&b, 2);
}

static void
read_all(void)
{
	int64_t amounts[KEYS];

	get_all(&b, amounts);
}

static void
read_range(void)
{
	int64_t amounts[KEYS];

	(void) get_range(&b, 0, KEYS, 100, amounts);
}

static void
insert_key(void)
{
	(void) !put(&b, 1, 7);
}

/* At a snapshot that is not the client's. */
static void
write_key(void)
{
	int64_t old;

	b.snapshot.flushed = b.snapshot.time;
	(void) !set(&b, 1, 7, &old);
}

/* Whether what b does then has met the commit of this amount. */
static bool
meets(int64_t amount, void (*what)(void))
{
	bool met;

	commit_unflushed(amount);
	begin_reading(&b);
	what();
	met = has_met(&b);
	end(&b, false);
	tg_unflushed_close(a.session);
	return met;
}

static void
make_row(void)
{
	begin(&a);
	(void) !put(&a, 1, 10);
	end(&a, true);
}

static bool
change_is_met(void)
{
	return meets(20, read_key) & meets(20, read_range) & meets(20, read_all);
}

/* No version tells of it afterwards, unless the horizon is held back. */
static bool
delete_is_met(void)
{
	bool met = meets(ABSENT, read_key);

	make_row();
	met &= meets(ABSENT, read_all);
	make_row();
	return met;
}

static void
collect_and_read(void)
{
	end(&b, false); /* whose snapshot keeps what it sees */
	collect_all(b.session);
	begin_reading(&b);
	read_key();
}

static bool
collected_is_met(void)
{
	bool met = meets(ABSENT, collect_and_read);

	make_row();
	return met;
}

static bool
write_is_met(void)
{
	return meets(20, write_key) & meets(30, insert_key);
}

static bool
insertion_is_met(void)
{
	bool met = meets(ABSENT, insert_key);

	make_row();
	return met;
}

/* b's snapshot is taken between the draw of C and COMMITTED. */
static bool
early_is_met(void)
{
	bool met;

	place = "txn_drawn";
	commit_unflushed(40);
	while (get(&b, 1) != 40)
		unit_bail("the snapshot is from before C");
	met = has_met(&b);
	end(&b, false);
	tg_unflushed_close(a.session);
	return met;
}

static const struct
{
	const char *name;
	bool (*holds)(void);
	const char *failpoint;
} scenarios[] = {
	{"R5: a change that is read", change_is_met, "skip_r5"},
	{"R5: a row that is gone", delete_is_met, "skip_r5"},
	{"R5: a row that is about to be written", write_is_met, "skip_r5_write"},
	{"R5: a key that is free again", insertion_is_met, "skip_r5_write"},
	{"R4: a snapshot from between C and COMMITTED", early_is_met, "skip_r4"},
	{"R4: a row that is gone stays in memory", collected_is_met, "skip_r4_entry"},
};

static void
test_scenarios(void)
{
	for (unsigned i = 0; i < 2 * sizeof(scenarios) / sizeof(scenarios[0]); i++)
	{
		prepares = i % 2 == 1;
		skipped = NULL;
		unit_ok(scenarios[i / 2].holds(), "%s%s", scenarios[i / 2].name, prepares ? ", prepared" : "");
		skipped = scenarios[i / 2].failpoint;
		unit_ok(!scenarios[i / 2].holds(), "%s: left out, it shows", scenarios[i / 2].name);
	}
	skipped = NULL;
	prepares = false;
}

static void
test_strangers(void)
{
	unit_ok(!meets(50, read_other_key), "a row beside it needs no flush");
	begin_reading(&b);
	commit_unflushed(60);
	unit_ok(get(&b, 1) == 50 && get(&b, 2) == -2 && !has_met(&b), "nor does a snapshot from before");
	end(&b, false);
	tg_unflushed_close(a.session);
	begin_reading(&b);
	unit_ok(get(&b, 1) == 60 && !has_met(&b), "nor what has been flushed");
	end(&b, false);
	unit_ok(!tg_unflushed_any(), "no note is left");
}

/* A session that waits, prepared, ends a transaction that the host has decided. */
static void
test_other_commit(void)
{
	int64_t old;

	begin(&b);
	begin(&a);
	if (set(&b, 2, 70, &old) != TG_OK || set(&a, 1, 70, &old) != TG_OK)
		unit_bail("no row");
	tg_txn_open_note(a.session, a.txn);
	if (prepare(&a) == 0)
		unit_bail("not valid");
	tg_txn_commit(a.session, b.txn);
	tg_reads_destroy(b.session, b.reads);
	tg_snapshot_withdraw(b.session, b.entry);
	tg_unflushed_log(a.session, ++position);
	end(&a, true);
	begin_reading(&b);
	unit_ok(get(&b, 2) == 70 && !has_met(&b), "the note is not about another transaction's commit");
	unit_ok(get(&b, 1) == 70 && has_met(&b), "but about the session's own");
	end(&b, false);
	tg_unflushed_close(a.session);
	unit_equal(tg_snapshot_oldest(a.session->id), 0, "no snapshot is left");
}

/* --- at random --------------------------------------------------------------------------- */

static client users[WRITERS + READERS];
static uint64_t log_end = BEFORE;
static uint8_t flushed[BEFORE + WRITERS * COMMITS + 1];
static uint64_t shown_early; /* rows of commits that were not flushed */
static uint64_t faults;
static uint32_t writing = WRITERS;

static void
write_one(client *c, uint64_t *random)
{
	uint64_t own = tg_fetch_add_relaxed(&log_end, 1) + 1;
	int64_t old;

	begin(c);
	if (set(c, (int64_t) unit_below(random, HOT), (int64_t) own, &old) != TG_OK)
	{
		end(c, false);
		return;
	}
	tg_txn_open_note(c->session, c->txn);
	if (unit_below(random, 2) == 0 && prepare(c) == 0)
	{
		end(c, false);
		tg_unflushed_close(c->session);
		return;
	}
	tg_unflushed_log(c->session, own);
	end(c, true);
	if (unit_below(random, 4) == 0)
		sched_yield();
	tg_store_release(&flushed[own], 1);
	tg_unflushed_close(c->session);
}

static void
check_shown(const client *c, int64_t amount)
{
	if (amount <= BEFORE || tg_load_acquire(&flushed[amount]))
		return;
	tg_fetch_add_relaxed(&shown_early, 1);
	/* it may have been flushed between the look and the check */
	if (tg_unflushed_met(c->session) < (uint64_t) amount && !tg_load_acquire(&flushed[amount]))
		tg_fetch_add_relaxed(&faults, 1);
}

static void
read_some(client *c, uint64_t *random)
{
	int64_t amounts[KEYS];

	begin_reading(c);
	if (unit_below(random, 2) == 0)
		get_all(c, amounts);
	else
		for (int64_t id = 0; id < KEYS; id++)
			amounts[id] = id < HOT ? get(c, id) : ABSENT;
	for (int64_t id = 0; id < HOT; id++)
		check_shown(c, amounts[id]);
	end(c, false);
}

static void
collect_some(client *c)
{
	tg_epoch_advance();
	(void) tg_collector_run(c->session, 1000);
	tg_retire_poll(c->session);
}

static void
work(unsigned number, void *argument)
{
	client *c = &users[number];
	uint64_t random = number + 1;

	if (number < WRITERS)
	{
		for (unsigned i = 0; i < COMMITS; i++)
			write_one(c, &random);
		tg_fetch_add_acq_rel(&writing, -1);
	}
	else
		while (tg_load_acquire(&writing) > 0)
		{
			read_some(c, &random);
			if (number == WRITERS)
				collect_some(c);
		}
}

static void
test_random(void)
{
	for (unsigned i = 0; i < WRITERS + READERS; i++)
		client_open(&users[i]);
	unit_threads(WRITERS + READERS, work, NULL);
	printf("# %" PRIu64 " rows were shown before they were flushed\n", shown_early);
	unit_equal(faults, 0, "each of them was met");
	unit_ok(!tg_unflushed_any(), "no note is left");
	for (unsigned i = 0; i < WRITERS + READERS; i++)
		client_close(&users[i]);
}

int
main(void)
{
	start();
	client_open(&a);
	client_open(&b);
	begin(&a);
	for (int64_t id = 0; id < HOT; id++)
		(void) !put(&a, id, 0 - id);
	end(&a, true);
	tg_failpoint_set(at_failpoint);
	test_scenarios();
	test_strangers();
	test_other_commit();
	tg_failpoint_set(NULL);
	test_random();
	client_close(&a);
	client_close(&b);
	return unit_done();
}
