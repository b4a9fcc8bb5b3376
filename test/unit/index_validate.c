/*
 * index_validate.c
 *	  SERIALIZABLE: ranges of secondary keys are validated (S2).
 *
 * One reads a range of numbers and prepares; before that another one commits a
 * change.  A row that comes into the range, leaves it, or changes within it is a
 * conflict; what happens outside is none, nor is what happens to a row that has
 * only an old entry in the range.
 */
#include "test/unit/indexed.h"

#include "runtime/txn/reads.h"
#include "runtime/txn/reads_internal.h"
#include "runtime/exec/range_scan.h"

static client a; /* reads, and is validated */
static client b; /* changes */
static tg_reads *reads;

static void
begin_tracked(void)
{
	begin(&a);
	if (tg_reads_create(a.session, &reads) != TG_OK)
		unit_bail("no read set");
	tg_txn_track(a.txn, reads);
}

static size_t
number_key(int number, unsigned char *key)
{
	const tg_value value = {.word = (uint64_t) (int64_t) number};

	return tg_key_append(key, 0, &number_part, TG_KIND_4, &value);
}

/* Reads the numbers from 10 to 20, or the first of them. */
static void
read_range(bool backward, unsigned limit)
{
	static tg_range_scan scan;
	unsigned char low[16];
	unsigned char high[16];
	size_t low_bytes = number_key(10, low);
	size_t high_bytes = number_key(20, high);
	tg_read_range *range;

	tg_range_scan_init(&scan, table, indexes[BY_NUMBER], &a.snapshot, low, low_bytes, true, high, high_bytes, true,
					   backward);
	range = tg_reads_add_range(a.session, reads, table, indexes[BY_NUMBER], &scan.cursor);
	while (tg_range_scan_next(a.session, &scan, a.vectors, limit) > 0 && limit > 1)
		;
	tg_reads_end_range(reads, table, range, &scan.cursor);
}

static void
read_absent_text(int text)
{
	tg_value values[COLUMNS] = {{.word = 0}};
	bool nulls[COLUMNS] = {false};
	text_memory memory;
	tg_index_key key;

	make_text(text, &values[2], &memory);
	if (tg_index_key_of_values(indexes[BY_TEXT], values, nulls, NULL, &key) != TG_OK)
		unit_bail("no key");
	tg_reads_add_key(a.session, reads, table, indexes[BY_TEXT], key.entry, key.bytes);
}

/* Writes its own row elsewhere, prepares, ends.  Returns the conflict's kind, or COUNT for none. */
static tg_conflict_kind
finish(void)
{
	tg_conflict conflict = {.kind = TG_CONFLICT_COUNT};
	tg_status status;
	tg_wait wait;

	next_command(&a);
	if (put(&a, 900, NOTHING, NOTHING, false) != TG_OK)
		unit_bail("a row that must be there is not");
	tg_txn_prepare(a.session, a.txn, a.snapshot.time);
	do
		status = tg_validation_step(a.session, reads, &conflict, &wait);
	while (status == TG_AGAIN);
	unit_ok(status == (conflict.kind == TG_CONFLICT_COUNT ? TG_OK : TG_CHANGED), "it ends");
	end(&a, false);
	tg_reads_destroy(a.session, reads);
	return conflict.kind;
}

/* Rows with the numbers 5, 10, 12, 15, 20, 25, and ten times the number as id; 26 was 15 before. */
static void
refill(void)
{
	static const int numbers[] = {5, 10, 12, 15, 20, 25, 13};

	fresh_table(a.session, true);
	begin(&b);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void) !put(&b, numbers[i] * 10, numbers[i], numbers[i], false);
	next_command(&b);
	end(&b, true);
	begin(&b);
	(void) !change(&b, 130, 130, 26, SAME, SAME);
	end(&b, true);
}

typedef struct happening
{
	const char *name;
	int64_t id;
	int number; /* new one; SAME; or DELETED, or ROLLED_BACK for an insertion */
	tg_conflict_kind expected;
} happening;

#define DELETED (-3)
#define ROLLED_BACK (-4)

static const happening happenings[] = {
	{"a row comes into the range", 500, 14, TG_CONFLICT_RANGE},
	{"a row comes beside it", 500, 21, TG_CONFLICT_COUNT},
	{"a row with a NULL comes", 500, NOTHING, TG_CONFLICT_COUNT},
	{"a row enters from outside", 250, 12, TG_CONFLICT_RANGE},
	{"a row leaves", 120, 30, TG_CONFLICT_RANGE},
	{"a row leaves for NULL", 150, NOTHING, TG_CONFLICT_RANGE},
	{"a row moves within", 120, 17, TG_CONFLICT_RANGE},
	{"a row changes otherwise", 120, SAME, TG_CONFLICT_RANGE},
	{"a row outside changes otherwise", 250, SAME, TG_CONFLICT_COUNT},
	{"a row moves outside", 50, 4, TG_CONFLICT_COUNT},
	{"a row that was there before the snapshot moves on", 130, 27, TG_CONFLICT_COUNT},
	{"it comes back", 130, 13, TG_CONFLICT_RANGE},
	{"a row is deleted", 200, DELETED, TG_CONFLICT_RANGE},
	{"a row outside is deleted", 250, DELETED, TG_CONFLICT_COUNT},
	{"a row comes and is rolled back", 500, ROLLED_BACK, TG_CONFLICT_COUNT},
};

static void
happen(const happening *what)
{
	begin(&b);
	if (what->number == DELETED)
		(void) !drop(&b, what->id);
	else if (what->number == ROLLED_BACK)
		(void) !put(&b, what->id, 14, 500, false);
	else if (what->id == 500)
		(void) !put(&b, what->id, what->number, 500, false);
	else
		(void) !change(&b, what->id, what->id, what->number, what->number == SAME ? 600 : SAME, SAME);
	end(&b, what->number != ROLLED_BACK);
}

static void
test_ranges(bool backward)
{
	for (unsigned i = 0; i < sizeof(happenings) / sizeof(happenings[0]); i++)
	{
		refill();
		begin_tracked();
		read_range(backward, 100);
		happen(&happenings[i]);
		collect_all(b.session);
		unit_equal(finish(), happenings[i].expected, "%s", happenings[i].name);
	}
}

/* A cursor that is ended early has not read the entries behind its position. */
static void
test_part(void)
{
	const happening behind = {"", 500, 19, TG_CONFLICT_COUNT};
	const happening before = {"", 500, 11, TG_CONFLICT_COUNT};

	for (unsigned backward = 0; backward < 2; backward++)
	{
		refill();
		begin_tracked();
		read_range(backward != 0, 1);
		happen(backward ? &before : &behind);
		unit_equal(finish(), TG_CONFLICT_COUNT, "a row comes outside the range that was read, %u", backward);
	}
	refill();
	begin_tracked();
	read_range(true, 1);
	happen(&behind);
	/* the position is at an entry of 20; 19 is below */
	unit_equal(finish(), TG_CONFLICT_COUNT, "nor below the last row read");
}

static void
test_own(void)
{
	refill();
	begin_tracked();
	read_range(false, 100);
	(void) !change(&a, 120, 120, 13, SAME, SAME);
	(void) !put(&a, 501, 16, 501, false);
	(void) !drop(&a, 150);
	unit_equal(finish(), TG_CONFLICT_COUNT, "own changes are none");
}

static void
test_keys(void)
{
	const happening it = {"", 500, 14, TG_CONFLICT_COUNT}; /* its text is 500 */
	tg_txn_mark mark;

	refill();
	begin_tracked();
	read_absent_text(500);
	happen(&it);
	unit_equal(finish(), TG_CONFLICT_KEY, "a unique key that was not there comes");
	refill();
	begin_tracked();
	read_absent_text(499);
	happen(&it);
	unit_equal(finish(), TG_CONFLICT_COUNT, "another one comes");

	/* That it could be inserted has told that it was not there. */
	refill();
	begin_tracked();
	tg_txn_savepoint(a.session, a.txn, &mark, &a.writer.subtxn);
	(void) !put(&a, 700, 1, 500, false);
	tg_txn_rollback_to(a.session, a.txn, mark);
	happen(&it);
	unit_equal(finish(), TG_CONFLICT_KEY, "a key that was inserted and taken back comes");
	refill();
	begin_tracked();
	tg_txn_savepoint(a.session, a.txn, &mark, &a.writer.subtxn);
	(void) !change(&a, 120, 120, SAME, 500, SAME);
	tg_txn_rollback_to(a.session, a.txn, mark);
	happen(&it);
	unit_equal(finish(), TG_CONFLICT_KEY, "also of an update");
}

int
main(void)
{
	start(true);
	client_open(&a, 1);
	client_open(&b, 2);
	test_ranges(false);
	test_ranges(true);
	test_part();
	test_own();
	test_keys();
	client_close(&b);
	client_close(&a);
	return unit_done();
}
