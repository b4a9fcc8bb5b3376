/*
 * quota.c
 *	  Books and accounts: a table grows up to the limit of its owner, of its database and of both,
 *	  and no further; what another table has ahead, or has given back, is found before a refusal;
 *	  bytes move with a table and go with it; tables that grow at the same time stay together below
 *	  the limit, but for what is being taken at that moment.
 */
#include "runtime/mem/quota.h"

#include <string.h>

#include "runtime/mem/grant.h"
#include "runtime/btree/btree.h"
#include "runtime/table/table_internal.h"
#include "test/unit/storage_unit.h"

#define MIB ((int64_t) 1 << 20)
#define KIB ((int64_t) 1 << 10)
#define PIECE (64 * KIB)

static const tg_quota_key alice = {0, 10}, database = {1, 0}, alice_there = {1, 10}, bob = {0, 11};

static void
begin(void)
{
	tg_arena_config config = {.reserve_bytes = LIMIT_BYTES, .limit_bytes = LIMIT_BYTES, .session_max = 16};

	if (tg_arena_create(&config) != TG_OK || tg_lease_create() != TG_OK || tg_quota_create() != TG_OK ||
		tg_session_open(&session) != TG_OK)
		abort();
}

static void
put_on(tg_book *book, uint32_t in_database, uint32_t owner)
{
	tg_account *account;
	tg_account *old;

	if (tg_account_open(session, in_database, owner, &account) != TG_OK)
		abort();
	old = tg_book_move(book, account);
	if (old != NULL)
		tg_account_close(session, old);
}

/* Takes a piece as a table does; false: refused. */
static bool
take(tg_book *book, int64_t bytes)
{
	if (tg_book_ask(book, (size_t) bytes, TG_DATA) != TG_OK)
		return false;
	tg_book_add(book, bytes);
	return true;
}

/* Takes pieces until it is refused; the book's bytes then. */
static int64_t
fill(tg_book *book)
{
	while (take(book, PIECE))
		;
	return tg_load_relaxed(&book->bytes);
}

static tg_quota_report
report_get(tg_quota_key key)
{
	tg_quota_report reports[16];
	unsigned count = tg_quota_reports(reports, 16);

	for (unsigned i = 0; i < count; i++)
		if (memcmp(&reports[i].key, &key, sizeof(key)) == 0)
			return reports[i];
	return (tg_quota_report){.limit = -1};
}

static void
test_limits(void)
{
	tg_book a, b, c;
	tg_quota_report report;

	tg_book_init(&a);
	tg_book_init(&b);
	tg_book_init(&c);
	unit_ok(take(&a, 1000 * MIB), "a book on no account has no bound");
	tg_book_add(&a, -1000 * MIB);
	put_on(&a, 1, 10);
	put_on(&b, 2, 10);
	put_on(&c, 1, 11);
	unit_ok(take(&a, 1000 * MIB), "nor has one whose account has no limit");
	tg_book_add(&a, -1000 * MIB);

	tg_quota_set(alice, 10 * MIB);
	unit_equal(fill(&a), 10 * MIB, "a table grows up to its owner's limit");
	unit_ok(!take(&b, PIECE), "then another one of that owner, in another database, gets nothing");
	unit_ok(take(&c, 10 * MIB), "one of another owner does");
	unit_ok(tg_book_ask(&a, PIECE, TG_ESSENTIAL) == TG_OK && tg_book_ask(&a, PIECE, TG_MAINTENANCE) == TG_OK,
			"a DELETE and the collection are not refused");
	report = report_get(alice);
	unit_ok(report.bytes == 10 * MIB && report.limit == 10 * MIB && report.refused == 2,
			"all of that is in the report");
	unit_ok(tg_book_report(&a, &report) && memcmp(&report.key, &alice, sizeof(alice)) == 0,
			"the limit that refuses is named");
	unit_ok(!tg_book_report(&c, &report), "where there is none, none is");

	tg_book_add(&a, -4 * MIB);
	unit_equal(fill(&b), 4 * MIB, "memory that one table gives back goes to the other one");
	tg_book_add(&b, -4 * MIB);
	unit_ok(take(&b, PIECE), "a table that takes little");
	unit_equal(fill(&a), 10 * MIB - PIECE, "keeps from others no more than that");

	tg_quota_set(alice, 5 * MIB);
	unit_ok(!take(&a, 1), "a limit below what is in use refuses all");
	tg_book_add(&a, -6 * MIB);
	unit_equal(fill(&a), 5 * MIB - PIECE, "until there is less");
	tg_quota_set(alice, TG_QUOTA_NONE);
	unit_ok(take(&a, 100 * MIB), "without a limit it has no bound again");
	tg_book_add(&a, -100 * MIB);

	tg_quota_set(database, 20 * MIB);
	unit_equal(fill(&a) + tg_load_relaxed(&c.bytes), 20 * MIB,
			   "a database's limit is on the tables of all owners there");
	unit_ok(take(&b, 30 * MIB), "and on no other database's");
	tg_quota_set(alice_there, 8 * MIB);
	unit_ok(tg_book_report(&a, &report) && memcmp(&report.key, &alice_there, sizeof(alice)) == 0,
			"of several limits the one that leaves least is named");
	tg_book_add(&a, -8 * MIB);
	unit_equal(fill(&a), 8 * MIB, "an owner's limit in a database is on the tables there");

	tg_quota_set(bob, 12 * MIB);
	put_on(&a, 1, 11);
	unit_ok(report_get(bob).bytes == 18 * MIB && report_get(alice).bytes == 30 * MIB + PIECE &&
				report_get(database).bytes == 18 * MIB,
			"bytes go with a table to its new owner");
	unit_ok(!take(&c, 1) && !take(&a, 1), "and that owner gets no more then");
	unit_ok(report_get(alice_there).limit == -1, "an account without tables is gone");

	tg_book_close(session, &a);
	unit_ok(report_get(bob).bytes == 10 * MIB && take(&c, MIB), "bytes go with the table");
	tg_book_close(session, &b);
	tg_book_close(session, &c);
	unit_equal(tg_quota_reports(NULL, 0), 0, "no account is left");
}

static void
test_settings(void)
{
	tg_account *account;
	tg_account *same;
	tg_quota_key key;
	unsigned asked = 0;

	if (tg_account_open(session, 1, 10, &account) != TG_OK || tg_account_open(session, 1, 10, &same) != TG_OK)
		abort();
	unit_ok(account == same && tg_account_owner(account) == 10, "there is one account of an owner in a database");
	while (tg_account_unset(account, &key) && asked++ < 10)
		tg_quota_set(key, TG_QUOTA_NONE);
	unit_equal(asked, 3, "each of its limits is asked for once");
	tg_account_close(session, account);
	unit_ok(!tg_account_unset(same, &key), "and not again while the account is open");
	tg_account_close(session, same);
	unit_equal(tg_quota_reports(NULL, 0), 0, "then it is gone");
}

/* A table: its chunks, headers, strings and nodes are on the book, and refused. */
static void
test_table(void)
{
	tg_table *table = make_table(&row_key);
	char text[TEXT_BYTES + HEADER_BYTES] = {0};
	tg_status status = TG_OK;
	int64_t most = 0;
	unsigned rows;

	put_on(table->book, 1, 10);
	unit_ok(report_get(alice).bytes > (int64_t) sizeof(tg_table), "a table is on the account of its owner");
	tg_quota_set(alice, 4 * MIB);
	for (rows = 0; status == TG_OK && rows < 1000000; rows++)
	{
		tg_value values[4] = {{.word = rows}};
		tg_version version;
		uint32_t row;
		unsigned char key[8];

		tg_string_make_host(&values[3].string, text, sizeof(text), HEADER_BYTES);
		for (unsigned i = 0; i < 8; i++)
			key[i] = (unsigned char) ((uint64_t) rows >> (56 - 8 * i));
		tg_epoch_enter(session);
		status = tg_row_take(session, table, TG_DATA, &row);
		if (status == TG_OK)
			status = tg_btree_insert(session, table->index, key, 8, &row, TG_DATA);
		if (status == TG_OK)
			status = tg_slot_take(session, table, TG_DATA, &version);
		if (status == TG_OK)
			status = tg_version_store(session, version, row, values, no_nulls, TG_DATA);
		tg_epoch_leave(session);
		if (tg_load_relaxed(&table->book->bytes) > most)
			most = tg_load_relaxed(&table->book->bytes);
	}
	tg_leases_end(session);
	unit_ok(status == TG_OVER_QUOTA, "after %u rows the quota is used up", rows);
	unit_ok(most <= 4 * MIB + TG_BLOB_BYTES_UNASKED, "it is exceeded by no more than the long values of one session");
	unit_ok(report_get(alice).bytes > 4 * MIB - TG_QUOTA_GRANT, "and it is used");
	unit_ok(report_get(alice).bytes <= (int64_t) used_bytes(), "all of that is there");
	tg_leases_forget(table);
	tg_table_release(session, table);
	drain_retired();
	unit_equal(tg_quota_reports(NULL, 0), 0, "no account is left of a table that is gone");
}

/* --- several at once -------------------------------------------------------------- */

#define GROWERS 4
#define ROUNDS (20000 * EFFORT)

static tg_book books[GROWERS];
static int64_t most_seen; /* atomic */

static void
grow_and_shrink(tg_book *book)
{
	int64_t own = 0;

	for (unsigned round = 0; round < ROUNDS; round++)
	{
		if (round % 32 != 0 && take(book, PIECE))
			own += PIECE;
		else if (round % 32 == 0)
		{
			tg_book_add(book, -own);
			own = 0;
		}
		if (round % 32 == 31)
		{
			int64_t sum = report_get(alice).bytes;
			int64_t most = tg_load_relaxed(&most_seen);

			while (sum > most && !tg_cas_acq_rel(&most_seen, &most, sum))
				;
		}
	}
	tg_book_add(book, -own);
}

static void
change_settings(void)
{
	for (unsigned round = 0; round < ROUNDS / 16; round++)
	{
		tg_quota_set(database, round % 2 == 0 ? MIB : TG_QUOTA_NONE);
		if (round % 8 == 0)
			tg_quota_set(alice, MIB);
	}
}

static void
work(unsigned number, void *argument)
{
	if (number < GROWERS)
		grow_and_shrink(&books[number]);
	else
		change_settings();
}

static void
test_together(void)
{
	int64_t left = 0;

	for (unsigned i = 0; i < GROWERS; i++)
	{
		tg_book_init(&books[i]);
		put_on(&books[i], 1, 10);
	}
	tg_quota_set(alice, MIB);
	unit_threads(GROWERS + 1, work, NULL);
	unit_ok(most_seen <= MIB + GROWERS * PIECE, "together they exceed the limit by no more than a piece each");
	unit_ok(most_seen > MIB / 2, "and they come near it");
	tg_quota_set(alice, MIB);
	unit_equal(fill(&books[0]), MIB, "afterwards all of it is to be had");
	for (unsigned i = 0; i < GROWERS; i++)
	{
		left += books[i].bytes;
		tg_book_close(session, &books[i]);
	}
	unit_equal(left, MIB, "and nothing has been lost");
	unit_equal(tg_quota_reports(NULL, 0), 0, "no account is left");
}

int
main(void)
{
	begin();
	test_limits();
	test_settings();
	test_table();
	test_together();
	tg_session_close(session);
	tg_arena_check();
	return unit_done();
}
