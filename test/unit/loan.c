/*
 * loan.c
 *	  A shared transaction that several sessions lend to tasks at once.  Each key is inserted once.
 *	  A loan is kept, or undone by itself, whatever others have written meanwhile.  The transaction
 *	  is committed, or aborted by the last one that works in it, or abandoned by an owner that does
 *	  not wait for them, while tasks write; other transactions write the same keys all the time.
 *	  Afterwards every row is there that was kept, and nothing else.
 */
#include "test/unit/apart.h"
#include "test/unit/writers.h"

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/index/index.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/shared.h"

#include <sched.h>

#define LENDERS 2
#define TASKS 2 /* of each */
#define OTHER (&clients[LENDERS * TASKS])
#define OWNER (&clients[LENDERS * TASKS + 1])
#define KEYS 60
#define ROLE 10
#define ROUNDS UNIT_ROUNDS(400)

_Static_assert(CLIENTS == LENDERS * TASKS + 2, "each has a session");

typedef enum outcome
{
	COMMITTED,
	ABORTED,   /* by whoever leaves last */
	ABANDONED, /* by the owner, at any moment */
	OUTCOMES
} outcome;

typedef struct task
{
	pthread_t thread;
	client *client;
	tg_loan *loan;
	tg_piece *piece;
	bool inserted[KEYS];
	bool was_over;
	unsigned faults;
} task;

typedef struct lender
{
	pthread_t thread;
	tg_session *session;
	uint64_t random;
	task tasks[TASKS];
	bool kept[KEYS];
	bool is_out; /* it was told that the transaction has ended */
	unsigned faults;
} lender;

static lender lenders[LENDERS];
static tg_shared *shared;
static uint64_t handles;
static bool before[KEYS];
static uint32_t running; /* atomic: lenders */

/* --- tasks ------------------------------------------------------------------------------------ */

static void
insert_some(const tg_writer *writer, task *task, unsigned first)
{
	unsigned keys[8];
	uint64_t left = 0;

	for (unsigned i = 0; i < 8; i++)
		keys[i] = (first + i * 3) % KEYS;
	tg_epoch_enter(writer->session);
	task->faults += insert_batch(writer, task->client, keys, 8, &left) != TG_OK;
	tg_epoch_leave(writer->session);
	for (unsigned i = 0; i < 8; i++)
		if ((left >> i & 1) == 0)
		{
			task->faults += task->inserted[keys[i]];
			task->inserted[keys[i]] = true;
		}
}

static void
insert_one(const tg_writer *writer, task *task, unsigned key)
{
	tg_status status = insert_apart(writer, task->client, key);

	task->faults += status == TG_OK ? task->inserted[key] : status != TG_EXISTS && status != TG_BUSY;
	task->inserted[key] |= status == TG_OK;
}

static void *
run_task(void *argument)
{
	task *task = argument;
	tg_writer writer;

	tg_loan_writer(task->loan, &writer);
	writer.session = task->client->session;
	writer.claim = TG_ESSENTIAL;
	writer.piece = task->piece;
	for (unsigned turn = 0; turn < 8 && !task->was_over; turn++)
	{
		if (!tg_loan_enter(task->loan))
		{
			task->was_over = true;
			break;
		}
		for (unsigned i = 0; i == 0 || (i < 3 && !tg_loan_is_over(task->loan)); i++)
		{
			if (dice(task->client, 3) == 0)
				insert_some(&writer, task, dice(task->client, KEYS));
			else
				insert_one(&writer, task, dice(task->client, KEYS));
		}
		tg_loan_leave(task->loan);
	}
	return NULL;
}

/* --- lenders ---------------------------------------------------------------------------------- */

/* False: it has ended. */
static bool
lend(lender *lender)
{
	bool keeps = unit_below(&lender->random, 3) != 0;
	tg_status status;
	tg_loan *loan;
	tg_wait wait;
	bool ended;

	status = tg_loan_begin(lender->session, shared, table, NULL, TASKS, &loan, &wait);
	lender->faults += status != TG_OK && status != TG_STOPPED;
	if (status != TG_OK)
		return false;
	for (unsigned i = 0; i < TASKS; i++)
	{
		task *task = &lender->tasks[i];

		memset(task->inserted, false, sizeof(task->inserted));
		task->loan = loan;
		task->piece = tg_loan_piece(loan, i);
		task->was_over = false;
		if (pthread_create(&task->thread, NULL, run_task, task) != 0)
			abort();
	}
	for (unsigned i = 0; i < TASKS; i++)
		pthread_join(lender->tasks[i].thread, NULL);
	ended = !tg_loan_end(lender->session, loan, keeps);
	for (unsigned i = 0; i < TASKS && keeps && !ended; i++)
		for (unsigned key = 0; key < KEYS; key++)
			lender->kept[key] |= lender->tasks[i].inserted[key];
	return !ended;
}

static void *
run_lender(void *argument)
{
	lender *lender = argument;

	if (tg_shared_hold(shared) == TG_OK)
	{
		for (unsigned loans = 1 + unit_below(&lender->random, 3); loans > 0 && !lender->is_out; loans--)
			lender->is_out = !lend(lender);
		tg_shared_let_go(lender->session, shared);
	}
	tg_fetch_add_acq_rel(&running, (uint32_t) -1);
	return NULL;
}

/* --- others ----------------------------------------------------------------------------------- */

/* Another transaction, which never commits. */
static void *
run_other(void *argument)
{
	while (tg_load_acquire(&running) != 0)
	{
		uint64_t key = dice(OTHER, KEYS);

		if (dice(OTHER, 2) == 0)
			(void) insert(OTHER, key);
		else
			(void) change_row(OTHER, key, CHANGE_DELETE, 0);
		if (dice(OTHER, 4) == 0)
			roll_back(OTHER);
	}
	roll_back(OTHER);
	return NULL;
}

static unsigned
check_rows(const bool *expected)
{
	unsigned faults = 0;
	unsigned entry;
	tg_time time = tg_snapshot_publish(session, &entry);

	for (unsigned key = 0; key < KEYS; key++)
		faults += look(session, time, key) != (expected[key] ? 1 : -1);
	tg_snapshot_withdraw(session, entry);
	return faults;
}

static tg_shared *
begin_one(tg_txn_kind kind)
{
	const tg_shared_config config = {
		.handle = {{++handles, 7}}, .role = ROLE, .isolation = TG_READ_COMMITTED, .kind = kind, .lease_ms = 60000};
	tg_shared *begun;

	if (tg_shared_begin(OWNER->session, &config) != TG_OK || tg_shared_open(&config.handle, ROLE, &begun) != TG_OK)
		abort();
	return begun;
}

static unsigned
number_of(const tg_shared *of)
{
	tg_shared_report report;

	tg_shared_report_get(of, &report);
	return report.txn;
}

static void
forget_one(tg_shared *ended)
{
	tg_shared_forget(ended);
	tg_shared_close(ended);
}

/* In a turn of its own, the owner deletes some rows, which tasks may revive. */
static void
delete_some(bool *expected)
{
	OWNER->txn = tg_shared_txn(shared);
	OWNER->command = tg_shared_command(shared);
	OWNER->subtxn = 0;
	for (unsigned key = 0; key < KEYS; key++)
		if (before[key] && dice(OWNER, 2) == 0 && change_row(OWNER, key, CHANGE_DELETE, 0) == TG_OK)
			expected[key] = false;
	tg_shared_set_command(shared, OWNER->command + 1);
	OWNER->txn = NULL;
}

/* What the lenders have kept is added to what is expected; counts keys that were kept twice. */
static unsigned
add_kept(bool *expected)
{
	unsigned faults = 0;

	for (unsigned i = 0; i < LENDERS; i++)
		for (unsigned key = 0; key < KEYS; key++)
		{
			faults += lenders[i].kept[key] && expected[key];
			expected[key] |= lenders[i].kept[key];
		}
	return faults;
}

static unsigned
end_round(outcome outcome, const bool *expected)
{
	bool commits = outcome == COMMITTED;

	if (commits && tg_shared_commit(OWNER->session, shared) != TG_OK)
		return 1;
	if (outcome == ABORTED)
		tg_shared_abort(OWNER->session, shared, TG_SHARED_ASKED, NULL);
	if (commits)
		memcpy(before, expected, sizeof(before));
	return 0;
}

static unsigned
run_round(outcome outcome)
{
	bool expected[KEYS];
	pthread_t other;
	unsigned faults = 0;

	shared = begin_one(TG_TXN_ORDINARY);
	memcpy(expected, before, sizeof(expected));
	delete_some(expected);
	tg_store_release(&running, LENDERS);
	for (unsigned i = 0; i < LENDERS; i++)
	{
		memset(lenders[i].kept, false, sizeof(lenders[i].kept));
		lenders[i].is_out = false;
		if (pthread_create(&lenders[i].thread, NULL, run_lender, &lenders[i]) != 0)
			abort();
	}
	if (pthread_create(&other, NULL, run_other, NULL) != 0)
		abort();
	for (unsigned i = dice(OWNER, 2000); outcome == ABANDONED && i > 0; i--)
		if (i % 64 == 0)
			(void) sched_yield();
	if (outcome == ABANDONED)
	{
		faults += !tg_shared_abandon(OWNER->session, shared, TG_SHARED_GIVEN_UP);
		faults += check_rows(before);
	}
	for (unsigned i = 0; i < LENDERS; i++)
		pthread_join(lenders[i].thread, NULL);
	pthread_join(other, NULL);
	for (unsigned i = 0; i < LENDERS; i++)
	{
		faults += lenders[i].faults + (lenders[i].is_out && outcome != ABANDONED);
		for (unsigned j = 0; j < TASKS; j++)
			faults += lenders[i].tasks[j].faults;
	}
	if (outcome != ABANDONED)
		faults += add_kept(expected);
	faults += end_round(outcome, expected);
	forget_one(shared);
	return faults + check_rows(before);
}

static void
test_rounds(const char *how)
{
	unsigned faults = 0;

	for (unsigned round = 0; round < ROUNDS; round++)
		faults += run_round((outcome) (round % OUTCOMES));
	unit_equal(faults, 0, "%swhat was kept is there as the transaction ends, and nothing else", how);
	check_exact(1000, how);
}

/* Empty, on a text; the table has no rows. */
static void
add_index(void)
{
	const tg_index_spec spec = {
		.host = 5, .key = {.part_count = 1, .part = {{.column = 1, .code = TG_KEY_STRING, .order = TG_KEY_NULLABLE}}}};
	tg_index *index;

	empty();
	memset(before, false, sizeof(before));
	if (tg_index_create(session, table, &spec, TG_DATA, &index) != TG_OK)
		abort();
}

/* --- one by one ------------------------------------------------------------------------------- */

static tg_status
try_to_lend(tg_shared *from, tg_loan **loan)
{
	tg_wait wait;

	return tg_loan_begin(lenders[0].session, from, table, NULL, 1, loan, &wait);
}

static tg_status
insert_in(tg_loan *loan, client *client, unsigned key)
{
	tg_writer writer;
	tg_status status;

	tg_loan_writer(loan, &writer);
	writer.session = client->session;
	writer.claim = TG_ESSENTIAL;
	writer.piece = tg_loan_piece(loan, 0);
	if (!tg_loan_enter(loan))
		return TG_STOPPED;
	status = insert_apart(&writer, client, key);
	tg_loan_leave(loan);
	return status;
}

static void
test_kinds(void)
{
	tg_shared *of_kind = begin_one(TG_TXN_SHORT);
	tg_loan *loan;

	unit_equal(tg_shared_hold(of_kind), TG_OK, "a SHORT");
	unit_equal(try_to_lend(of_kind, &loan), TG_UNFIT, "is not lent");
	tg_shared_let_go(lenders[0].session, of_kind);
	tg_shared_abort(OWNER->session, of_kind, TG_SHARED_ASKED, NULL);
	forget_one(of_kind);
}

/* Loans of two sessions, of which one is undone between the other's rows. */
static void
test_two(void)
{
	tg_loan *one;
	tg_loan *two;

	shared = begin_one(TG_TXN_ORDINARY);
	must(tg_shared_hold(shared));
	must(tg_shared_hold(shared));
	unit_equal(try_to_lend(shared, &one), TG_OK, "one lends");
	unit_equal(try_to_lend(shared, &two), TG_OK, "and another one");
	unit_equal(insert_in(one, &clients[0], 1), TG_OK, "one inserts");
	unit_equal(insert_in(two, &clients[1], 2), TG_OK, "the other one, too");
	unit_equal(insert_in(two, &clients[1], 1), TG_EXISTS, "but not the same key");
	unit_ok(tg_loan_end(lenders[0].session, one, false), "the first one's is undone");
	unit_equal(insert_in(two, &clients[1], 1), TG_OK, "its key is free");
	unit_equal(tg_loan_rows(two), 2, "the other one has its rows");
	unit_equal(tg_shared_command(shared), 1, "the next turn has a later command");
	unit_ok(tg_loan_end(lenders[1].session, two, true), "and keeps them");
	tg_shared_let_go(lenders[0].session, shared);
	tg_shared_let_go(lenders[1].session, shared);
	must(tg_shared_commit(OWNER->session, shared));
	forget_one(shared);
	before[1] = before[2] = true;
	unit_equal(check_rows(before), 0, "they are there");
}

/* A session that has the turn alone lends at its own command. */
static void
test_within(void)
{
	const tg_writer within = {.session = lenders[0].session, .command = 5};
	tg_writer writer;
	tg_loan *loan;
	tg_wait wait;

	shared = begin_one(TG_TXN_ORDINARY);
	must(tg_shared_hold(shared));
	must(tg_loan_begin(lenders[0].session, shared, table, &within, 1, &loan, &wait));
	tg_loan_writer(loan, &writer);
	unit_equal(writer.command, 5, "rows are of the command that lends");
	unit_ok(tg_loan_end(lenders[0].session, loan, true), "it ends");
	unit_equal(tg_shared_command(shared), 6, "and what follows is later");
	tg_shared_let_go(lenders[0].session, shared);
	tg_shared_abort(OWNER->session, shared, TG_SHARED_ASKED, NULL);
	forget_one(shared);
}

static tg_txn *
begin_long(client *client, tg_table *preserved)
{
	const tg_area area = {.table = preserved};

	client->txn = tg_txn_begin_as(client->session, 9, TG_TXN_LONG, TG_SERIALIZABLE, NULL);
	must(tg_long_publish(client->session, client->txn, &(tg_long_config){.preserve = &area, .preserve_count = 1}));
	return client->txn;
}

/* What a loan rests on is not taken back as the transaction meets a LONG elsewhere (W0). */
static void
test_registration(void)
{
	client *client = &clients[0];
	tg_table *second;
	tg_time time;
	tg_loan *loan;
	tg_loan *refused;
	tg_wait wait;

	must(tg_table_create(session, 1, 2, kinds, COLUMNS, &key_spec, TG_DATA, &second));
	shared = begin_one(TG_TXN_ORDINARY);
	must(tg_shared_hold(shared));
	must(tg_loan_begin(lenders[0].session, shared, second, NULL, 1, &loan, &wait));
	must(tg_long_start(client->session, begin_long(client, table), &time, &wait));
	unit_equal(try_to_lend(shared, &refused), TG_BUSY, "not before the end of a LONG that preserves the table");
	unit_equal(tg_long_start(OTHER->session, begin_long(OTHER, second), &time, &wait), TG_BUSY,
			   "a LONG that preserves the table of a loan waits");
	unit_ok(wait.txn == number_of(shared), "for the transaction");
	unit_ok(tg_loan_end(lenders[0].session, loan, true), "whose loan ends");
	unit_equal(try_to_lend(shared, &refused), TG_BUSY, "when there is none, it takes back what it has not written");
	unit_equal(tg_long_start(OTHER->session, OTHER->txn, &time, &wait), TG_OK, "and the LONG starts");
	roll_back(client);
	roll_back(OTHER);
	tg_shared_let_go(lenders[0].session, shared);
	tg_shared_abort(OWNER->session, shared, TG_SHARED_ASKED, NULL);
	forget_one(shared);
	tg_table_release(session, second);
}

int
main(void)
{
	begin();
	for (unsigned i = 0; i < LENDERS; i++)
	{
		if (tg_session_open(&lenders[i].session) != TG_OK)
			abort();
		lenders[i].random = 100 + i;
		for (unsigned j = 0; j < TASKS; j++)
			lenders[i].tasks[j].client = &clients[i * TASKS + j];
	}
	test_kinds();
	test_two();
	test_within();
	test_registration();
	test_rounds("");
	add_index();
	test_rounds("with another index, ");
	empty();
	for (unsigned i = 0; i < LENDERS; i++)
		tg_session_close(lenders[i].session);
	end();
	return unit_done();
}
