/*
 * validate.c
 *	  Reading, noting and validating at SERIALIZABLE, one by one: each kind of
 *	  reading beside each kind of change, PREPARED as readers and validators meet
 *	  it, short memory, more rows than are kept one by one, notes of several sessions.
 */
#include "test/unit/serializable.h"

#include "runtime/base/failpoint.h"
#include "runtime/exec/range_scan.h"

/* --- one by one -------------------------------------------------------------------------- */

typedef enum reading
{
	READ_KEY,
	READ_NO_KEY,
	READ_RANGE,
	READ_PART_OF_RANGE,
	READ_TABLE,
	READINGS
} reading;

typedef enum changing
{
	CHANGE_10,
	DELETE_10,
	INSERT_15,
	INSERT_AND_DELETE_15,
	CHANGE_20,
	TAKEN_BACK,
	CHANGINGS
} changing;

static const char *const reading_names[] = {"key 10", "key 15, not there", "range 10 to 18", "range, one row of it",
											"whole table"};
static const char *const changing_names[] = {
	"change of 10", "delete of 10", "insert of 15", "insert and delete of 15", "change of 20", "change taken back"};

/* The pairs that must fail.  If a whole table was read, a row that came and went counts, too. */
static const bool is_conflict[READINGS][CHANGINGS] = {
	[READ_KEY] = {[CHANGE_10] = true, [DELETE_10] = true},
	[READ_NO_KEY] = {[INSERT_15] = true},
	[READ_RANGE] = {[CHANGE_10] = true, [DELETE_10] = true, [INSERT_15] = true},
	[READ_PART_OF_RANGE] = {[CHANGE_10] = true, [DELETE_10] = true},
	[READ_TABLE] =
		{[CHANGE_10] = true, [DELETE_10] = true, [INSERT_15] = true, [INSERT_AND_DELETE_15] = true, [CHANGE_20] = true},
};

static void
read_it(client *c, reading reading)
{
	int64_t amounts[KEYS];

	switch (reading)
	{
		case READ_KEY:
			(void) get(c, 10);
			break;
		case READ_NO_KEY:
			(void) get(c, 15);
			break;
		case READ_RANGE:
			(void) get_range(c, 10, 18, 100, amounts);
			break;
		case READ_PART_OF_RANGE:
			(void) get_range(c, 10, 24, 1, amounts);
			break;
		default:
			get_all(c, amounts);
	}
}

static void
change_it(client *c, changing changing)
{
	int64_t old;
	bool keep = true;

	begin(c);
	switch (changing)
	{
		case CHANGE_10:
			(void) !set(c, 10, 11, &old);
			break;
		case DELETE_10:
			(void) !set(c, 10, ABSENT, &old);
			break;
		case INSERT_AND_DELETE_15:
			(void) !put(c, 15, 1);
			end(c, true);
			begin(c);
			(void) !set(c, 15, ABSENT, &old);
			break;
		case INSERT_15:
			(void) !put(c, 15, 1);
			break;
		case CHANGE_20:
			(void) !set(c, 20, 21, &old);
			break;
		default:
			(void) !set(c, 10, 11, &old);
			keep = false;
	}
	end(c, keep);
}

static void
fill(client *c)
{
	begin(c);
	(void) !put(c, 1, 0);
	(void) !put(c, 10, 10);
	(void) !put(c, 20, 20);
	end(c, true);
}

/*
 * The other transaction changes a row that was read; then this one writes elsewhere.  Whether its
 * commit succeeds, or its extension.
 */
static bool
ends_well(client *a, client *b, changing changing, bool extension)
{
	bool result;
	int64_t old;

	change_it(b, changing);
	if (extension)
		result = extend(a);
	else
	{
		result = set(a, 1, 1, &old) == TG_OK;
		result = prepare(a) != 0 && result;
	}
	end(a, result);
	empty(b);
	return result;
}

static bool
goes_through(client *a, client *b, reading reading, changing changing, bool extension)
{
	fill(b);
	begin(a);
	read_it(a, reading);
	return ends_well(a, b, changing, extension);
}

static void
test_each(client *a, client *b)
{
	for (int reading = 0; reading < READINGS; reading++)
		for (int changing = 0; changing < CHANGINGS; changing++)
		{
			unit_ok(goes_through(a, b, reading, changing, false) == !is_conflict[reading][changing], "%s, %s: %s",
					reading_names[reading], changing_names[changing],
					is_conflict[reading][changing] ? "a conflict" : "none");
			unit_ok(goes_through(a, b, reading, changing, true) == !is_conflict[reading][changing],
					"and for an extension");
		}
}

/* Own writes make no conflict; what was read before they were taken back stays. */
static void
test_own(client *a, client *b)
{
	int64_t amounts[KEYS];
	tg_txn_mark mark;
	unsigned number;
	int64_t old;

	fill(b);
	begin(a);
	get_all(a, amounts);
	(void) get(a, 15);
	(void) get_range(a, 0, KEYS, 100, amounts);
	unit_ok(put(a, 15, 1) == TG_OK && set(a, 10, 5, &old) == TG_OK && set(a, 20, ABSENT, &old) == TG_OK, "writes");
	next_command(a);
	unit_ok(get(a, 10) == 5 && get(a, 15) == 1 && get(a, 20) == ABSENT, "are seen by the next command");
	unit_ok(prepare(a) != 0, "own writes are no conflict");
	end(a, true);

	begin(a);
	unit_ok(set(a, 1, 1, &old) == TG_OK, "a write that stays");
	next_command(a);
	tg_txn_savepoint(a->session, a->txn, &mark, &number);
	a->writer.subtxn = number;
	unit_ok(put(a, 16, 1) == TG_OK, "an insert that does not");
	tg_txn_rollback_to(a->session, a->txn, mark);
	begin(b);
	unit_ok(put(b, 16, 2) == TG_OK, "is done by another");
	end(b, true);
	unit_ok(prepare(a) == 0, "that the key was not there has been told");
	end(a, false);
	empty(b);
}

/* --- PREPARED ------------------------------------------------------------------------------ */

static tg_status
look_up(client *c, int64_t id, tg_wait *wait)
{
	unsigned char key[16];
	tg_version version;
	tg_status status;
	uint32_t row;

	tg_epoch_enter(c->session);
	status = tg_txn_find(&c->snapshot, table, key, key_of(id, key), &row, &version, wait);
	tg_epoch_leave(c->session);
	return status;
}

static void
test_prepared(client *a, client *b, bool commits)
{
	tg_range_scan range = {.table = table};
	tg_chunk_scan chunks;
	tg_conflict conflict;
	unsigned seen = 0;
	tg_status status;
	unsigned count;
	int64_t old;
	tg_wait wait = {.host = 0};

	fill(b);
	begin(a);
	(void) get(a, 1);
	(void) !set(a, 10, ABSENT, &old);
	begin(b);
	(void) get(b, 10);
	(void) !set(b, 20, 7, &old);
	unit_ok(prepare(a) != 0, "one is prepared");

	/* b's C will be larger, and b has read what a deletes. */
	tg_txn_prepare(b->session, b->txn, b->snapshot.time);
	do
		status = tg_validation_step(b->session, b->reads, &conflict, &wait);
	while (status == TG_AGAIN);
	unit_ok(status == TG_BUSY && wait.host == (uint64_t) a->session->id + 1 && wait.subtxn == 0,
			"a validation waits for a smaller C");
	{
		client c;

		client_open(&c);
		begin(&c);
		wait.host = 0;
		unit_ok(look_up(&c, 10, &wait) == TG_BUSY && wait.host == (uint64_t) a->session->id + 1,
				"a later snapshot has to know the outcome");
		unit_ok(look_up(&c, 1, &wait) == TG_OK, "elsewhere it has not");
		tg_btree_cursor_init(&range.cursor, table->index, NULL, 0, true, NULL, 0, true, false);
		range.snapshot = c.snapshot;
		count = tg_range_scan_next(c.session, &range, c.vectors, 100);
		unit_ok(count == 1 && range.busy, "a range scan stops before the row");
		tg_chunk_scan_init(&chunks, table, &c.snapshot, 0, UINT32_MAX);
		seen = tg_chunk_scan_next(c.session, &chunks, c.vectors);
		unit_ok(chunks.busy, "and so does a scan of the table");
		end(a, commits);
		count += tg_range_scan_next(c.session, &range, c.vectors, 100);
		unit_ok(range.busy && count == (commits ? 1u : 2u), "then it goes on, to the next one");
		end(b, validate(b, &conflict));
		unit_ok(look_up(&c, 10, &wait) == (commits ? TG_NOT_FOUND : TG_OK), "the outcome is seen");
		count += tg_range_scan_next(c.session, &range, c.vectors, 100);
		unit_ok(!range.busy && count == (commits ? 2u : 3u), "to the end");
		while ((count = tg_chunk_scan_next(c.session, &chunks, c.vectors)) > 0)
			seen += count;
		unit_ok(seen == (commits ? 2u : 3u), "each row once");
		end(&c, false);
		begin(&c);
		unit_ok(get(&c, 20) == (commits ? 20 : 7), "the second failed if the first did not");
		end(&c, false);
		client_close(&c);
	}
	empty(b);
}

/* The version of key 10 that the snapshot sees, looked at while others change the row. */
static void
test_overtaken(client *a, client *b)
{
	tg_version seen;
	int64_t amount;
	int64_t old;
	uint32_t row;

	fill(b);
	begin(a);
	(void) find(a, 10, &row, &amount, &seen);
	unit_ok(!is_overtaken(a, seen), "a version that stands is not overtaken");
	begin(b);
	(void) !set(b, 10, 11, &old);
	unit_ok(!is_overtaken(a, seen), "nor by a change that is not committed");
	unit_ok(prepare(b) != 0 && !is_overtaken(a, seen), "prepared or not");
	end(b, false);
	unit_ok(!is_overtaken(a, seen), "nor by one that was taken back");
	change_it(b, CHANGE_20);
	change_it(b, CHANGE_10);
	unit_ok(is_overtaken(a, seen), "but by one that was committed");
	unit_equal(get_ahead(a, 20), 20, "and no snapshot can be extended beyond it");
	unit_equal(set(a, 1, 1, &old), TG_OK, "so a write");
	unit_ok(prepare(a) == 0, "is not serialized");
	end(a, false);

	begin(a);
	change_it(b, CHANGE_20);
	unit_equal(get_ahead(a, 20), 21, "one that has read nothing of it goes on with what is there now");
	(void) find(a, 10, &row, &amount, &seen);
	change_it(b, DELETE_10);
	unit_ok(is_overtaken(a, seen), "so does a delete overtake");
	end(a, false);

	change_it(b, CHANGE_10);
	begin(a);
	unit_ok(set(a, 20, 5, &old) == TG_OK, "a row is written");
	next_command(a);
	(void) find(a, 20, &row, &amount, &seen);
	unit_ok(seen == TG_VERSION_NONE && amount == 5, "and read");
	end(a, false);
	empty(b);
}

/* --- short memory ---------------------------------------------------------------------------- */

static const char *refused;

static bool
refuse(const char *name)
{
	return refused != NULL && strcmp(name, refused) == 0;
}

static void
test_short_memory(client *a, client *b)
{
	static const char *const names[] = {"reads_words", "reads_range", "reads_table"};

	for (unsigned i = 0; i < 3; i++)
	{
		refused = names[i];
		tg_failpoint_set(refuse);
		for (int reading = 0; reading < READINGS; reading++)
			for (int changing = 0; changing < CHANGINGS; changing++)
				if (is_conflict[reading][changing] && goes_through(a, b, reading, changing, changing % 2 == 0))
					unit_ok(false, "%s refused: %s, %s was missed", refused, reading_names[reading],
							changing_names[changing]);
		unit_ok(goes_through(a, b, READ_KEY, TAKEN_BACK, true), "%s refused: no commit, no conflict", refused);
		tg_failpoint_set(NULL);
	}
}

static void
test_row_count(client *a, client *b)
{
	static const uint32_t counts[READINGS] = {[READ_KEY] = 1,
											  [READ_NO_KEY] = 1,
											  [READ_RANGE] = UINT32_MAX,
											  [READ_PART_OF_RANGE] = UINT32_MAX,
											  [READ_TABLE] = UINT32_MAX};

	fill(b);
	for (int reading = 0; reading < READINGS; reading++)
	{
		begin(a);
		read_it(a, reading);
		unit_ok(tg_reads_row_count(a->reads) == counts[reading], "%s: the number of rows", reading_names[reading]);
		end(a, true);
	}
	empty(b);
}

/*
 * Everything counts as read, because there was no memory.  A snapshot that excludes commits has not
 * seen them, though they are not after its time.
 */
static void
test_everything_read(client *a)
{
	union
	{
		tg_exclusions exclusions;
		tg_time words[2]; /* the count, one time */
	} excluded = {.exclusions.count = 1};
	tg_conflict conflict;

	excluded.exclusions.time[0] = TG_TIME_FIRST;
	for (unsigned excludes = 0; excludes < 2; excludes++)
	{
		refused = "reads_table";
		tg_failpoint_set(refuse);
		begin(a);
		(void) get(a, 1);
		tg_failpoint_set(NULL);
		tg_validation_begin(a->reads, a->snapshot.time, a->snapshot.time, false);
		tg_validation_exclude(a->reads, excludes ? &excluded.exclusions : NULL, NULL);
		unit_equal(validate(a, &conflict), !excludes, "everything is read, and the snapshot excludes %u commits",
				   excludes);
		end(a, false);
	}
}

/* Live bytes of logs, among them what is noted of reads. */
static size_t
log_bytes(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_LOG];
}

/* More rows than are kept one by one: chunks, and if these are too many, the table. */
static void
test_coarse(client *a, client *b)
{
	const int64_t rows = 150000;
	int64_t old;

	begin(b);
	for (int64_t id = 0; id < rows; id++)
		(void) !put(b, id, 0);
	end(b, true);
	for (int64_t changed = 50000; changed < rows; changed += 50000)
	{
		size_t bytes;

		begin(a);
		bytes = log_bytes();
		for (int64_t id = 0; id <= 70000; id++)
			(void) get(a, id);
		bytes = log_bytes() - bytes;
		begin(b);
		(void) !set(b, changed, 1, &old);
		end(b, true);
		(void) !set(a, 100, 1, &old);
		unit_ok((prepare(a) == 0) == (changed <= 70000), "70000 rows read, and row %d changed", (int) changed);
		unit_ok(bytes < ((size_t) 1 << 20), "in bounded memory: %zu bytes", bytes);
		end(a, false);
	}
	begin(b);
	for (int64_t id = 0; id < rows; id++)
		(void) !set(b, id, ABSENT, &old);
	end(b, true);
	collect_all(b->session);
}

/* --- several sessions ------------------------------------------------------------------------ */

/* Reads in another's transaction, with notes of its own. */
static void
help(client *helper, const client *a)
{
	helper->snapshot = a->snapshot;
	if (tg_reads_create(helper->session, &helper->reads) != TG_OK)
		unit_bail("no read set");
	tg_reads_follow(helper->reads, tg_txn_number(a->txn));
}

/* As goes_through, where another session reads, too. */
static bool
goes_through_with(client *a, client *helper, client *b, reading own, reading others, changing changing)
{
	fill(b);
	begin(a);
	read_it(a, own);
	help(helper, a);
	read_it(helper, others);
	tg_reads_merge(a->session, a->reads, helper->reads);
	return ends_well(a, b, changing, false);
}

static void
test_helped(client *a, client *helper, client *b)
{
	int64_t old;

	for (int own = 0; own < READINGS; own++)
		for (int others = 0; others < READINGS; others++)
			for (int changing = 0; changing < CHANGINGS; changing++)
				unit_ok(goes_through_with(a, helper, b, own, others, changing) ==
							!(is_conflict[own][changing] || is_conflict[others][changing]),
						"%s, and another session %s: %s", reading_names[own], reading_names[others],
						changing_names[changing]);

	fill(b);
	begin(a);
	unit_ok(set(a, 10, 5, &old) == TG_OK, "a row is written");
	next_command(a);
	help(helper, a);
	unit_ok(get(helper, 10) == 5 && tg_reads_is_empty(helper->reads),
			"is seen by another session, and nothing to note");
	tg_reads_merge(a->session, a->reads, helper->reads);
	end(a, false);
	empty(b);
}

static void
read_rows(client *c, int64_t first, int64_t last)
{
	for (int64_t id = first; id <= last; id++)
		(void) get(c, id);
}

/* Each of them has few rows, or many; all together more than are kept one by one. */
static void
test_helped_coarse(client *a, client *helper, client *b)
{
	static const int64_t last_own[] = {40000, 70000, 10};
	const int64_t rows = 150000;
	int64_t old;

	begin(b);
	for (int64_t id = 0; id < rows; id++)
		(void) !put(b, id, 0);
	end(b, true);
	for (int i = 0; i < 3; i++)
		for (int64_t changed = 5; changed < rows; changed += 50000)
		{
			size_t bytes;

			begin(a);
			bytes = log_bytes();
			read_rows(a, 0, last_own[i]);
			help(helper, a);
			read_rows(helper, last_own[i] - 5, 75000);
			tg_reads_merge(a->session, a->reads, helper->reads);
			bytes = log_bytes() - bytes;
			begin(b);
			(void) !set(b, changed, 1, &old);
			end(b, true);
			(void) !set(a, 100, 1, &old);
			unit_ok((prepare(a) == 0) == (changed <= 75000), "up to %d rows read by two, and row %d changed",
					(int) last_own[i], (int) changed);
			unit_ok(bytes < ((size_t) 1 << 20), "in bounded memory: %zu bytes", bytes);
			end(a, false);
		}
	begin(b);
	for (int64_t id = 0; id < rows; id++)
		(void) !set(b, id, ABSENT, &old);
	end(b, true);
	collect_all(b->session);
}

int
main(void)
{
	client a;
	client b;
	client helper;

	start();
	client_open(&a);
	client_open(&b);
	test_each(&a, &b);
	test_own(&a, &b);
	test_prepared(&a, &b, true);
	test_prepared(&a, &b, false);
	test_overtaken(&a, &b);
	test_short_memory(&a, &b);
	test_row_count(&a, &b);
	test_everything_read(&a);
	test_coarse(&a, &b);
	client_open(&helper);
	test_helped(&a, &helper, &b);
	test_helped_coarse(&a, &helper, &b);
	client_close(&helper);
	client_close(&a);
	client_close(&b);
	return unit_done();
}
