/*
 * hold.c
 *	  What prepared transactions at SERIALIZABLE have read: each rule shown twice, and what is held.
 *
 * As in rules.c, a rule is shown by a fixed schedule, and by the same one with a failpoint that
 * leaves the rule out.
 */
#include "test/unit/hold.h"

/* --- the rules ---------------------------------------------------------------------------- */

static bool b_went;

static void
commit_b(void)
{
	b_went = commit_now(&b);
}

/* Of two with a write skew one fails, though the other draws its C while this one validates. */
static bool
keep_order(void)
{
	begin(&a);
	(void) get(&a, 2);
	write_row(&a, 1, 11);
	begin(&b);
	(void) get(&b, 1);
	write_row(&b, 2, 21);
	arm("validate", commit_b);
	return !(prepare_first(&a, HOST(1)) && b_went);
}

static bool
keep_reads(void)
{
	prepare_reader(&a);
	return !can_change(&b, 2) && can_change(&b, 3);
}

/* It has read what another has written that is prepared, and has not seen it. */
static bool
keep_writes(void)
{
	prepare_reader(&a);
	begin(&b);
	(void) get(&b, 1);
	write_row(&b, 3, 31);
	return !prepare_first(&b, HOST(2));
}

static void
commit_first(void)
{
	end_second(&c, HOST(1), true);
}

/* The same where that one commits while this one validates. */
static bool
keep_validating(void)
{
	prepare_reader(&a);
	begin(&b);
	(void) get(&b, 1);
	write_row(&b, 3, 31);
	arm("validate", commit_first);
	return !prepare_first(&b, HOST(2));
}

/* A committer with a smaller C looks late. */
static bool
keep_holding(void)
{
	tg_conflict conflict;
	bool ends_early;
	tg_txn *first;
	bool valid;

	prepare_reader(&a);
	begin(&b);
	write_row(&b, 2, 21);
	(void) tg_txn_prepare(b.session, b.txn, b.snapshot.time);
	first = in_hand(HOST(1));
	(void) tg_txn_prepare(c.session, first, 0);
	ends_early = tg_hold_may_end(first);
	if (ends_early)
		tg_txn_commit(c.session, first);
	valid = validate(&b, &conflict);
	if (!ends_early && !tg_hold_may_end(first))
		unit_bail("it never ends");
	return !valid;
}

static tg_status
start_long(client *by, tg_time *time_out)
{
	const tg_area area = {.table = table};
	tg_status status;
	tg_wait wait;

	by->txn = tg_txn_begin_as(by->session, (uint64_t) by->session->id + 1, TG_TXN_LONG, TG_SERIALIZABLE, NULL);
	status = tg_long_publish(by->session, by->txn, &(tg_long_config){.preserve = &area, .preserve_count = 1});
	return status == TG_OK ? tg_long_start(by->session, by->txn, time_out, &wait) : status;
}

static void
put_other(client *by, int64_t id)
{
	const tg_value values[2] = {{.word = (uint64_t) id}, {.word = 1}};
	const bool nulls[2] = {false, false};
	unsigned char key[16];
	uint32_t row;
	tg_wait wait;

	if (tg_txn_insert(&by->writer, other, key, key_of(id, key), values, nulls, &row, &wait) != TG_OK)
		unit_bail("no row");
}

/* A LONG waits for the end of a prepared transaction that has only read what it preserves. */
static bool
keep_long_waiting(void)
{
	tg_time time;

	begin(&a);
	(void) get(&a, 2);
	put_other(&a, 1);
	if (!prepare_first(&a, HOST(1)))
		unit_bail("not prepared");
	return start_long(&b, &time) == TG_BUSY;
}

static const struct
{
	const char *rule;
	bool (*keeps)(void);
	const char *failpoint;
} rules[] = {
	{"H1: what is read is held before it is validated", keep_order, "skip_h1"},
	{"H2: a change of what is held fails", keep_reads, "skip_h2"},
	{"H3: what a prepared transaction has written counts as changed", keep_writes, "skip_h3"},
	{"H3: also if it commits meanwhile", keep_validating, "skip_h3_again"},
	{"H4: a hold stays until those with a smaller C have looked", keep_holding, "skip_h4"},
	{"H5: a LONG waits for what is prepared", keep_long_waiting, "skip_h5"},
};

/* --- what is held ----------------------------------------------------------------------------- */

typedef enum reading
{
	READ_ROW,
	READ_ABSENT,
	READ_RANGE,
	READ_TABLE,
	READ_NO_MEMORY,
	READ_KINDS
} reading;

static void
read_it(client *by, reading how)
{
	int64_t amounts[KEYS];

	switch (how)
	{
		case READ_ROW:
		case READ_NO_MEMORY:
			(void) get(by, 2);
			break;
		case READ_ABSENT:
			(void) get(by, 9);
			break;
		case READ_RANGE:
			(void) get_range(by, 2, 10, KEYS, amounts);
			break;
		default:
			get_all(by, amounts);
	}
}

/* Which of the rows 2, 3, 9 (absent), 15 a transaction cannot change, as bits. */
static unsigned
held_rows(client *by)
{
	static const int64_t ids[] = {2, 3, 9, 15};
	unsigned held = 0;

	for (unsigned i = 0; i < 4; i++)
		held |= can_change(by, ids[i]) ? 0 : 1U << i;
	return held;
}

static void
test_kinds(void)
{
	static const unsigned expected[READ_KINDS] = {1, 4, 7, 15, 15};
	static const char *const names[READ_KINDS] = {"a row", "an absent key", "a range", "a table", "without memory"};

	for (reading how = 0; how < READ_KINDS; how++)
		for (int commits = 0; commits <= 1; commits++)
		{
			begin(&a);
			read_it(&a, how);
			write_row(&a, 1, 12);
			skipped = how == READ_NO_MEMORY ? "hold_rows" : NULL;
			unit_ok(prepare_first(&a, HOST(1)), "%s: it is prepared", names[how]);
			skipped = NULL;
			unit_equal(held_rows(&b), expected[how], "%s: what is held", names[how]);
			begin(&c);
			write_row(&c, 2, 22);
			end(&c, true);
			unit_equal(held_rows(&b), expected[how], "%s: and still is after a change at another level", names[how]);
			collect_all(b.session);
			end_second(&b, HOST(1), commits);
			unit_equal(held_rows(&b), 0, "%s: and free after the end", names[how]);
			begin(&c);
			write_row(&c, 9, ABSENT);
			end(&c, true);
		}
}

static unsigned looks;

static void
look_again(void)
{
	if (looks++ == 0)
		arm("hold_look", look_again);
	else
		end_second(&c, HOST(1), false);
}

/* 2.  A committer that comes later than the holder waits for its outcome. */
static void
test_outcome(void)
{
	tg_conflict conflict;
	tg_txn *first;
	tg_wait wait;
	tg_time time;

	for (int revoked = 0; revoked <= 1; revoked++)
	{
		prepare_reader(&a);
		begin(&b);
		write_row(&b, 2, 21);
		first = in_hand(HOST(1));
		(void) tg_txn_prepare(c.session, first, 0);
		(void) tg_txn_prepare(b.session, b.txn, b.snapshot.time);
		unit_equal(tg_validation_step(b.session, b.reads, &conflict, &wait), TG_BUSY, "it waits for the outcome");
		unit_ok(wait.host == HOST(1) && tg_hold_may_end(first), "of the holder, which does not wait for it");
		if (revoked)
			tg_prepared_revoke(c.session, first);
		else
			tg_txn_commit(c.session, first);
		tg_prepared_let_go(first);
		unit_equal(validate(&b, &conflict), !revoked, revoked ? "it fails if that goes on" : "it goes on behind it");
		end(&b, !revoked);
		if (revoked)
			end_second(&c, HOST(1), false);
	}
	/* the LONG was there before */
	unit_equal(start_long(&b, &time), TG_OK, "a LONG starts");
	begin(&a);
	(void) get(&a, 2);
	put_other(&a, 1);
	unit_ok(!prepare_first(&a, HOST(1)), "what it preserves cannot be held");
	tg_txn_abort(b.session, b.txn);
	looks = 0;
	prepare_reader(&a);
	begin(&b);
	write_row(&b, 3, 33);
	arm("hold_look", look_again);
	unit_ok(commit_now(&b) && looks == 2, "a hold may go between two steps of a look");
}

/* A transaction that a load has restored. */
static void
test_restored(void)
{
	const uint32_t relations[] = {table->relation};
	tg_txn *txn;

	for (int all = 0; all <= 1; all++)
	{
		begin(&a);
		write_row(&a, 1, 13);
		if (tg_prepared_take(a.session, HOST(3), &txn) != TG_OK)
			unit_bail("no descriptor");
		tg_hold_note_unknown(txn);
		tg_prepared_move(a.session, a.txn, txn);
		tg_reads_destroy(a.session, a.reads);
		tg_snapshot_withdraw(a.session, a.entry);
		unit_ok(tg_hold_any_unknown() && tg_hold_is_unknown(txn), "it is not known what it holds");
		if (tg_hold_restore(a.session, txn, table->database, relations, all ? 0 : 1, all) != TG_OK)
			unit_bail("no memory");
		tg_prepared_let_go(txn);
		unit_ok(!tg_hold_any_unknown(), "and then it is");
		unit_ok(!can_change(&b, 3), "%s", all ? "everything is held" : "the table is held");
		begin(&b);
		put_other(&b, 2 + all);
		unit_equal(commit_now(&b), !all, "another table");
		end_second(&b, HOST(3), all);
		unit_ok(can_change(&b, 3), "until the end");
	}
}

int
main(void)
{
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
	{
		unit_ok(run(rules[i].keeps, NULL) == KEPT, "%s", rules[i].rule);
		unit_ok(run(rules[i].keeps, rules[i].failpoint) == BROKEN, "%s: left out, it shows", rules[i].rule);
	}
	open_all();
	tg_failpoint_set(at_failpoint);
	test_kinds();
	test_outcome();
	test_restored();
	tg_failpoint_set(NULL);
	return unit_done();
}
