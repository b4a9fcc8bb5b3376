/*
 * loader.c
 *	  Loads of files by the pool: of several files and blocks at once; of files that have no rows,
 *	  have changed, or are gone; with values that do not fit, and keys twice; that wait for another
 *	  transaction, and that are cancelled at any moment.  In every case what the report says to be
 *	  committed is in the table, and nothing stays.  Rows that are left out on account of another
 *	  seat's row.  In a transaction that is lent, all rows are stored, or none.
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/batch/loader_internal.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define WORKERS 3
#define HOST 77
#define FILES_MAX 6
#define GROUP_ROWS 250
#define NAME_BYTES 64
#define TEXT_BYTES 40

static tg_session *session;
static char directory[] = "/tmp/loader_XXXXXX";
static char names[FILES_MAX][NAME_BYTES];

static const uint8_t kinds[] = {TG_KIND_8, TG_KIND_STRING};
static const tg_key_spec key_spec = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};
static tg_cell cells[] = {{.source = 0,
						   .column = 0,
						   .form = TG_CELL_WORD,
						   .multiply = 1,
						   .divide = 1,
						   .low = 0,
						   .high = 1000000,
						   .not_null = true},
						  {.source = 1, .column = 1, .form = TG_CELL_TEXT, .bytes_max = 1000}};

static const tg_file_column columns[] = {{.name = "id", .type = TG_FILE_INT, .bits = 64, .nullable = true},
										 {.name = "t", .type = TG_FILE_STRING, .nullable = true, .is_bytes = true}};

static tg_table *table;

static void
wake(void *waiter)
{
}

/* --- files ------------------------------------------------------------------------------------ */

static bool
write_file(void *argument, const void *data, size_t bytes)
{
	return write(*(int *) argument, data, bytes) == (ssize_t) bytes;
}

static void *
resize(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	return realloc(memory, bytes);
}

static void
release(void *argument, void *memory)
{
	free(memory);
}

typedef struct file_row
{
	int64_t id;
	const char *text; /* NULL: it is */
} file_row;

static void
put_row(tg_columnar_out *out, tg_columnar_block *block, file_row row)
{
	tg_check(tg_columnar_put_word(out, 0, row.id) == TG_OK);
	tg_check((row.text == NULL ? tg_columnar_put_null(out, 1)
							   : tg_columnar_put_bytes(out, 1, row.text, strlen(row.text))) == TG_OK);
	tg_check(!tg_columnar_put_row(out) || tg_columnar_write(out, block) == TG_OK);
}

/*
 * A file with these rows, or (NULL) with the keys [first, end), of which every fifth text is NULL.
 */
static void
make_file_of(unsigned number, const file_row *rows, int64_t first, int64_t end)
{
	const tg_columnar_options options = {
		.codec = TG_CODEC_NONE, .block_rows = GROUP_ROWS, .block_bytes = 1 << 20, .created_by = "test"};
	int descriptor = open(names[number], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	const tg_file_target target = {
		.write = write_file, .resize = resize, .free = release, .argument = &descriptor, .memory_max = 64 << 20};
	const tg_file_source memory = {.resize = resize, .free = release, .memory_max = 64 << 20};
	tg_columnar_out *out;
	tg_columnar_block *block;
	uint64_t bytes;

	tg_check(descriptor >= 0 && tg_columnar_create(TG_FORMAT_PARQUET, &target, &options, columns, 2, &out) == TG_OK);
	tg_check(tg_columnar_block_create(out, &memory, &block) == TG_OK);
	tg_columnar_fill(out, block);
	for (int64_t id = first; id < end; id++)
	{
		char text[TEXT_BYTES];

		(void) snprintf(text, sizeof(text), "text of %lld", (long long) id);
		put_row(out, block, rows != NULL ? rows[id] : (file_row){id, id % 5 == 0 ? NULL : text});
	}
	tg_check(tg_columnar_write(out, block) == TG_OK);
	tg_check(tg_columnar_finish(out, &bytes) == TG_OK);
	tg_columnar_block_free(block);
	tg_columnar_out_free(out);
	close(descriptor);
}

static void
make_file(unsigned number, int64_t first, int64_t end)
{
	make_file_of(number, NULL, first, end);
}

static tg_loader_file
describe_file(unsigned number, uint64_t rows)
{
	struct stat status = {0};

	(void) stat(names[number], &status);
	return (tg_loader_file){.name = names[number],
							.bytes = (uint64_t) status.st_size,
							.device = (uint64_t) status.st_dev,
							.inode = (uint64_t) status.st_ino,
							.changed_ns = status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec,
							.block_count = (uint32_t) ((rows + GROUP_ROWS - 1) / GROUP_ROWS),
							.cells = cells,
							.cell_count = 2};
}

/* --- the table -------------------------------------------------------------------------------- */

static bool is_logged; /* tables that are made */

static void
make_table(void)
{
	tg_check(tg_table_create(session, 1, 2, kinds, 2, &key_spec, TG_DATA, &table) == TG_OK);
	table->unlogged = !is_logged;
}

/* The rows that are committed. */
static uint64_t
count_rows(void)
{
	return (uint64_t) tg_load_relaxed(&table->row_count);
}

static void
drop_table(void)
{
	tg_leases_forget(table);
	tg_table_release(session, table);
}

/* --- loads ------------------------------------------------------------------------------------ */

static tg_writer lent;			   /* to the loads; its txn is NULL: it is not */
static bool ignores;			   /* as of their configuration */
static tg_batch_progress progress; /* of the last load */

static tg_loader *
make_load(const tg_loader_file *files, unsigned count, unsigned files_at_once, unsigned blocks_at_once)
{
	const tg_loader_config config = {.table = table,
									 .kinds = kinds,
									 .column_count = 2,
									 .file_count = count,
									 .files_at_once = files_at_once,
									 .blocks_at_once = blocks_at_once,
									 .memory_max = 64 << 20,
									 .host = HOST,
									 .ignores = ignores,
									 .writer = lent.txn != NULL ? &lent : NULL,
									 .progress = &progress};
	tg_loader *loader;

	tg_batch_progress_clear(&progress);
	tg_check(tg_loader_create(session, &config, &loader) == TG_OK);
	for (unsigned i = 0; i < count; i++)
		tg_check(tg_loader_add(session, loader, &files[i]) == TG_OK);
	tg_check(tg_loader_start(session, loader) == TG_OK);
	return loader;
}

/* Rows of a transaction that was lent are taken by *rows_out. */
static tg_loader_report
finish_and_keep(tg_loader *loader, uint64_t *rows_out)
{
	tg_loader_report report;

	while (tg_loader_poll(loader) == TG_BUSY)
	{
		tg_loader_need need;

		/* as the requester of a table that is logged */
		if (tg_loader_needs(loader, &need) && need.txn != NULL)
		{
			tg_txn_commit(session, need.txn);
			tg_loader_go_on(session, loader, &need);
		}
		else
			sched_yield();
	}
	tg_loader_report_get(loader, &report);
	if (rows_out != NULL)
		*rows_out = report.failure == TG_LOADER_WELL ? tg_loader_keep(session, loader) : 0;
	tg_loader_end(session, loader);
	return report;
}

static tg_loader_report
finish_load(tg_loader *loader)
{
	return finish_and_keep(loader, NULL);
}

static tg_loader_report
load(const tg_loader_file *files, unsigned count, unsigned files_at_once, unsigned blocks_at_once)
{
	return finish_load(make_load(files, count, files_at_once, blocks_at_once));
}

static void
test_well(void)
{
	static const unsigned rows[] = {1000, 0, 3 * GROUP_ROWS, 1, 700};
	tg_loader_file files[5];
	uint64_t all = 0;
	uint64_t blocks = 0;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < 5; i++)
	{
		make_file(i, 10000 * i, 10000 * i + rows[i]);
		files[i] = describe_file(i, rows[i]);
		all += rows[i];
		blocks += files[i].block_count;
		bytes += files[i].bytes;
	}
	for (unsigned seats = 1; seats <= 9; seats++)
	{
		tg_loader_report report;

		make_table();
		report = load(files, 5, (seats + 2) / 3, (seats - 1) % 3 + 1);
		unit_ok(report.failure == TG_LOADER_WELL && report.rows == all && count_rows() == all,
				"%u seats load 5 files: %llu rows", seats, (unsigned long long) report.rows);
		unit_ok(progress.files == 5 && progress.blocks == blocks && progress.bytes == bytes && progress.rows == all,
				"which are counted, as are files, blocks and bytes");
		drop_table();
	}
}

static void
test_failures(void)
{
	tg_loader_file files[3];
	tg_loader_report report;

	make_table();
	make_file(0, 1000000 - 600, 1000000 + 400);
	files[0] = describe_file(0, 1000);
	report = load(files, 1, 1, 1);
	unit_ok(report.failure == TG_LOADER_VALUE && report.cell == TG_CELL_OUT && report.column == 0 && report.row == 602,
			"a value that does not fit is in row %llu", (unsigned long long) report.row);
	unit_ok(report.rows == 500 && count_rows() == 500, "the groups before are committed");

	make_file(0, 0, 1000);
	files[0] = files[1] = describe_file(0, 1000);
	report = load(files, 2, 2, 2);
	unit_ok(report.failure == TG_LOADER_DUPLICATE && report.index == 0, "keys that come twice");
	unit_equal(count_rows(), 500 + report.rows, "and what is committed by then");

	unlink(names[1]);
	files[1].name = names[1];
	report = load(files + 1, 1, 1, 2);
	unit_ok(report.failure == TG_LOADER_OPEN && report.error_number == ENOENT && report.row == 0,
			"a file that is gone");
	make_file(1, 20000, 20001);
	report = load(files + 1, 1, 2, 2);
	unit_ok(report.failure == TG_LOADER_CHANGED && report.rows == 0, "a file that is another one");
	files[1] = describe_file(1, 1);
	tg_check(truncate(names[1], (off_t) files[1].bytes - 1) == 0);
	report = load(files + 1, 1, 1, 1);
	unit_ok(report.failure == TG_LOADER_CHANGED, "a file that is cut short");
	files[1] = describe_file(1, 1);
	report = load(files + 1, 1, 1, 1);
	unit_ok(report.failure == TG_LOADER_FILE && report.fault.status == TG_DAMAGED, "a damaged file");
	make_file(1, 20000, 20001);
	files[1] = describe_file(1, 1);
	cells[1].seen.type = TG_FILE_INT;
	report = load(files + 1, 1, 1, 1);
	cells[1].seen = tg_file_shape_of(&columns[1]);
	unit_ok(report.failure == TG_LOADER_CHANGED, "a file with a column of another type");
	drop_table();
}

/* --- other transactions ----------------------------------------------------------------------- */

static void
insert_by(const tg_writer *writer, int64_t id)
{
	const tg_value values[] = {{.word = (uint64_t) id}, {.word = 0}};
	const bool nulls[] = {false, true};
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = tg_key_append(key, 0, &key_spec.part[0], TG_KIND_8, &values[0]);
	uint32_t row;
	tg_wait wait;

	tg_check(tg_txn_insert(writer, table, key, key_bytes, values, nulls, &row, &wait) == TG_OK);
}

static tg_txn *
insert_key_as(tg_session *other, uint64_t host, int64_t id)
{
	tg_txn *txn = tg_txn_begin(other, host);
	const tg_writer writer = {.session = other, .txn = txn, .command = 1, .claim = TG_DATA};

	insert_by(&writer, id);
	return txn;
}

static tg_txn *
insert_key(tg_session *other, int64_t id)
{
	return insert_key_as(other, HOST + 1, id);
}

static tg_loader_need
wait_for_seat(const tg_loader *loader)
{
	tg_loader_need need;

	while (!tg_loader_needs(loader, &need))
		sched_yield();
	unit_ok(need.txn == NULL && need.wait.host == HOST + 1, "a seat waits for the other transaction");
	return need;
}

static void
test_waits(void)
{
	tg_loader_file file;
	tg_loader_report report;
	tg_loader *loader;
	tg_session *other;
	tg_loader_need need;
	tg_txn *txn;

	tg_check(tg_session_open(&other) == TG_OK);
	make_table();
	make_file(0, 0, 1000);
	file = describe_file(0, 1000);
	txn = insert_key(other, 300);
	loader = make_load(&file, 1, 1, 2);
	need = wait_for_seat(loader);
	tg_txn_abort(other, txn);
	tg_loader_go_on(session, loader, &need);
	report = finish_load(loader);
	unit_ok(report.failure == TG_LOADER_WELL && count_rows() == 1000, "and stores the row once that has been undone");
	drop_table();

	make_table();
	txn = insert_key(other, 300);
	loader = make_load(&file, 1, 1, 2);
	need = wait_for_seat(loader);
	tg_txn_commit(other, txn);
	tg_loader_go_on(session, loader, &need);
	report = finish_load(loader);
	unit_ok(report.failure == TG_LOADER_DUPLICATE && report.row == 301, "or fails once it has been committed");
	drop_table();

	make_table();
	txn = insert_key(other, 300);
	loader = make_load(&file, 1, 1, 2);
	(void) wait_for_seat(loader);
	unit_ok(!tg_loader_has_failed(loader), "or, as long as it has not failed,");
	tg_loader_cancel(session, loader);
	tg_loader_report_get(loader, &report);
	unit_ok(tg_loader_has_failed(loader) && report.failure == TG_LOADER_CANCELLED, "which says so at once, and");
	unit_ok(!tg_loader_needs(loader, &need), "no more, when the load is cancelled,");
	report = finish_load(loader);
	unit_ok(report.failure == TG_LOADER_CANCELLED, "which then ends");
	tg_txn_abort(other, txn);
	unit_equal(count_rows(), report.rows, "with what is committed by then");
	drop_table();
	tg_session_close(other);
}

#define OWN_KEY 900000

/* The requester's transaction, which has inserted a row. */
static void
lend(void)
{
	lent = (tg_writer){.session = session, .txn = tg_txn_begin(session, HOST), .command = 1, .claim = TG_DATA};
	insert_by(&lent, OWN_KEY);
	tg_check(tg_txn_may_lend(&lent, table));
}

static void
end_lent(bool commits)
{
	if (commits)
		tg_txn_commit(session, lent.txn);
	else
		tg_txn_abort(session, lent.txn);
	lent.txn = NULL;
}

/* Loads that commit as they go, or that store rows in a transaction, which goes on. */
static void
test_cancels(bool lends)
{
	uint64_t random = 20;
	tg_loader_file files[4];
	unsigned ended = 0;
	unsigned wrong = 0;

	for (unsigned i = 0; i < 4; i++)
	{
		make_file(i, 10000 * i, 10000 * i + 1000);
		files[i] = describe_file(i, 1000);
	}
	for (unsigned round = 0; round < UNIT_ROUNDS(60); round++)
	{
		tg_loader_report report;
		tg_loader *loader;

		make_table();
		if (lends)
			lend();
		loader = make_load(files, 4, 1 + round % 3, 1 + round % 2);
		usleep(unit_below(&random, 4000));
		tg_loader_cancel(session, loader);
		report = finish_load(loader); /* which keeps nothing of a transaction that is lent */
		if (lends)
			end_lent(true);
		/* it may also be cancelled when all rows are stored, and its end is not decided */
		wrong += lends ? count_rows() != 1
					   : report.rows != count_rows() || (report.failure == TG_LOADER_WELL && report.rows != 4000);
		ended += report.failure == TG_LOADER_CANCELLED;
		drop_table();
	}
	unit_equal(wrong, 0, "60 loads are cancelled, %u of them before their end: %s", ended,
			   lends ? "no row stays in the transaction" : "their rows are counted");
}

static uint32_t is_stored;
static uint32_t is_cancelled;

static bool
stop_when_stored(const char *name)
{
	if (strcmp(name, "load_stored") != 0)
		return false;
	tg_store_release(&is_stored, 1);
	while (tg_load_acquire(&is_cancelled) == 0)
		sched_yield();
	return false;
}

/* The load aborts when a statement has stored its rows, and its block would go on. */
static void
test_cancel_between(void)
{
	tg_loader_file file;
	tg_loader_report report;
	tg_loader *loader;

	make_table();
	make_file(0, 0, 100);
	file = describe_file(0, 100);
	tg_store_release(&is_stored, 0);
	tg_store_release(&is_cancelled, 0);
	tg_failpoint_set(stop_when_stored);
	loader = make_load(&file, 1, 1, 1);
	while (tg_load_acquire(&is_stored) == 0)
		sched_yield();
	tg_loader_cancel(session, loader);
	tg_store_release(&is_cancelled, 1);
	report = finish_load(loader);
	tg_failpoint_set(NULL);
	unit_ok(report.failure == TG_LOADER_CANCELLED && report.rows == 0 && count_rows() == 0,
			"rows of a statement that was the last one before a cancel are undone");
	drop_table();
}

/* A requester that cannot commit gives up the load, and the transactions that it was to commit. */
static void
test_give_back(void)
{
	tg_loader_file file;
	tg_loader_report report;
	tg_loader_need need;
	tg_loader *loader;

	make_table();
	make_file(0, 0, 1000);
	file = describe_file(0, 1000);
	loader = make_load(&file, 1, 1, 3);
	while (is_logged && !tg_loader_needs(loader, &need))
		sched_yield();
	tg_loader_cancel(session, loader);
	while (tg_loader_poll(loader) == TG_BUSY)
	{
		tg_loader_give_back(session, loader);
		sched_yield();
	}
	tg_loader_report_get(loader, &report);
	tg_loader_end(session, loader);
	unit_ok(!is_logged || report.rows == 0, "transactions that are given back are undone");
	unit_equal(count_rows(), report.rows, "and only others are committed");
	drop_table();
}

/* --- rows that are left out on account of another seat's -------------------------------------- */

static struct
{
	uint32_t stored;	  /* atomic: statements that have stored what they can */
	uint32_t stops;		  /* atomic: the next one stops there */
	uint32_t goes_on;	  /* atomic */
	bool leaves_out_once; /* without the rule that is to be shown */
} seats;

static bool
at_seats(const char *name)
{
	if (strcmp(name, "load_leaves_out_at_once") == 0)
		return seats.leaves_out_once;
	if (strcmp(name, "load_stored") != 0)
		return false;
	(void) tg_fetch_add_acq_rel(&seats.stored, 1);
	if (tg_exchange_acq_rel(&seats.stops, 0) != 0)
		while (tg_load_acquire(&seats.goes_on) == 0)
			sched_yield();
	return false;
}

/* The seat that waits for the transaction of this host. */
static tg_loader_need
wait_for_host(const tg_loader *loader, uint64_t host)
{
	for (;; sched_yield())
		for (unsigned i = 0; i < loader->seat_count; i++)
			if (tg_load_acquire(&loader->seats[i].need) == TG_SEAT_NEEDS_OTHER && loader->seats[i].wait.host == host)
				return (tg_loader_need){.seat = i};
}

static void
wait_for_stored(uint32_t count)
{
	while (tg_load_acquire(&seats.stored) < count)
		sched_yield();
}

/*
 * One seat has stored (1, 'x'), and waits for who has the key 2.  Another one then meets 'x', of
 * which there is a unique index, in its row (3, 'x').  Before the first seat tries again, the other
 * transaction has inserted the key 1.  So (1, 'x') is left out in the end, and (3, 'x') may not be.
 */
static uint64_t
load_beside_seat(bool *has_waited_out)
{
	static const file_row first[] = {{1, "x"}, {2, "y"}};
	static const file_row second[] = {{5, NULL}, {3, "x"}};
	const tg_index_spec spec = {
		.host = 9,
		.unique = true,
		.key = {.part_count = 1, .part = {{.column = 1, .code = TG_KEY_STRING, .order = TG_KEY_NULLABLE}}}};
	tg_loader_file files[2];
	tg_loader_need one, other;
	tg_session *of_one, *of_other;
	tg_writer writer;
	tg_txn *txn;
	tg_loader *loader;
	tg_index *index;
	uint64_t rows;

	tg_check(tg_session_open(&of_one) == TG_OK && tg_session_open(&of_other) == TG_OK);
	make_table();
	tg_check(tg_index_create(session, table, &spec, TG_DATA, &index) == TG_OK);
	make_file_of(0, first, 0, 2);
	make_file_of(1, second, 0, 2);
	files[0] = describe_file(0, 2);
	files[1] = describe_file(1, 2);
	writer = (tg_writer){.session = of_one, .txn = insert_key(of_one, 2), .command = 1, .claim = TG_DATA};
	txn = insert_key_as(of_other, HOST + 2, 5);
	seats.stored = seats.stops = seats.goes_on = 0;
	tg_failpoint_set(at_seats);
	ignores = true;
	loader = make_load(files, 2, 2, 1);
	one = wait_for_host(loader, HOST + 1);
	other = wait_for_host(loader, HOST + 2);
	wait_for_stored(2);

	tg_store_release(&seats.stops, 1);
	tg_loader_go_on(session, loader, &one); /* stops with its row stored */
	wait_for_stored(3);
	tg_txn_abort(of_other, txn);
	tg_loader_go_on(session, loader, &other);
	while (tg_load_acquire(&loader->seats[other.seat].need) != TG_SEAT_NEEDS_SEAT &&
		   tg_load_acquire(&progress.transactions) == 0)
		sched_yield();
	*has_waited_out = tg_load_acquire(&loader->seats[other.seat].need) == TG_SEAT_NEEDS_SEAT;
	tg_store_release(&seats.goes_on, 1);
	one = wait_for_host(loader, HOST + 1);
	insert_by(&writer, 1);
	tg_txn_commit(of_one, writer.txn);
	tg_loader_go_on(session, loader, &one);
	unit_ok(finish_load(loader).failure == TG_LOADER_WELL, "a load leaves out rows of two seats");
	tg_failpoint_set(NULL);
	ignores = false;
	rows = count_rows();
	drop_table();
	tg_session_close(of_one);
	tg_session_close(of_other);
	return rows;
}

static void
test_left_out(void)
{
	bool has_waited;
	uint64_t rows;

	seats.leaves_out_once = false;
	rows = load_beside_seat(&has_waited);
	unit_ok(has_waited, "a seat waits for one whose row it meets");
	unit_equal(rows, 4, "and stores its own, when the other's is left out");
	seats.leaves_out_once = true;
	rows = load_beside_seat(&has_waited);
	unit_ok(!has_waited && rows == 3, "if it did not wait, both would be missing");
}

/* Keys that all files have, by seats that commit often: one of each stays. */
static void
test_crossing(void)
{
	tg_loader_file files[4];
	unsigned wrong = 0;

	ignores = true;
	for (unsigned i = 0; i < 4; i++)
	{
		make_file(i, 200 * i, 200 * i + 1000);
		files[i] = describe_file(i, 1000);
	}
	for (unsigned round = 0; round < 20; round++)
	{
		tg_loader_report report;

		make_table();
		report = load(files, 4, 1 + round % 4, 1 + round / 4 % 3);
		wrong += report.failure != TG_LOADER_WELL || report.rows != 1600 || count_rows() != 1600;
		drop_table();
	}
	ignores = false;
	unit_equal(wrong, 0, "of keys that several files have, one each is stored");
}

/* --- a transaction that is lent --------------------------------------------------------------- */

static void
test_lent(void)
{
	tg_loader_file files[3];

	for (unsigned i = 0; i < 3; i++)
	{
		make_file(i, 10000 * i, 10000 * i + 3 * GROUP_ROWS);
		files[i] = describe_file(i, 3 * GROUP_ROWS);
	}
	for (unsigned round = 0; round < 9; round++)
	{
		tg_loader_report report;
		uint64_t rows;

		make_table();
		lend();
		report = finish_and_keep(make_load(files, 3, 1 + round % 3, 1 + round / 3 % 3), &rows);
		unit_ok(report.failure == TG_LOADER_WELL && rows == 9 * GROUP_ROWS && report.transactions == 0,
				"%u seats store %llu rows in one transaction", (1 + round % 3) * (1 + round / 3 % 3),
				(unsigned long long) rows);
		end_lent(round % 2 == 0);
		unit_equal(count_rows(), round % 2 == 0 ? rows + 1 : 0, "which is %s",
				   round % 2 == 0 ? "committed" : "rolled back");
		drop_table();
	}
}

static void
test_lent_fails(void)
{
	tg_loader_file files[2];
	tg_loader_report report;
	tg_session *other;
	tg_txn *txn;
	uint64_t rows;

	make_table();
	make_file(0, 0, 1000);
	files[0] = files[1] = describe_file(0, 1000);
	lend();
	report = finish_and_keep(make_load(files, 2, 2, 2), &rows);
	unit_ok(report.failure == TG_LOADER_DUPLICATE && report.index == 0, "a key that two seats have in one transaction");
	report = finish_and_keep(make_load(files, 1, 2, 2), &rows);
	unit_equal(rows, 1000, "the rows of the load that has failed are gone");
	end_lent(true);
	unit_equal(count_rows(), 1001, "and others are not");
	drop_table();

	tg_check(tg_session_open(&other) == TG_OK);
	make_table();
	txn = insert_key(other, 700);
	lend();
	report = finish_and_keep(make_load(files, 1, 2, 2), &rows);
	unit_ok(report.failure == TG_LOADER_STATUS && report.status == TG_BUSY, "no seat waits for another transaction");
	tg_txn_abort(other, txn);
	end_lent(true);
	unit_equal(count_rows(), 1, "nor has left anything");
	drop_table();
	tg_session_close(other);
}

/* --- memory ----------------------------------------------------------------------------------- */

static size_t
memory_of_jobs(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB];
}

static void
test_memory(void)
{
	size_t before = memory_of_jobs();

	test_well();
	test_failures();
	test_lent_fails();
	unit_equal(memory_of_jobs(), before, "all loads have given their memory back");
}

int
main(void)
{
	for (unsigned i = 0; i < 2; i++)
		cells[i].seen = tg_file_shape_of(&columns[i]);
	tg_check(mkdtemp(directory) != NULL);
	for (unsigned i = 0; i < FILES_MAX; i++)
		snprintf(names[i], NAME_BYTES, "%s/%u.parquet", directory, i);
	tg_check(tg_runtime_open(WORKERS, &session) == TG_OK);
	tg_host_wake = wake;
	for (int i = 0; i < 2; i++)
	{
		is_logged = i == 1;
		test_well();
		test_failures();
		test_cancels(false);
		test_cancel_between();
		test_give_back();
		test_crossing();
	}
	test_lent();
	test_lent_fails();
	test_cancels(true);
	is_logged = false;
	test_waits();
	test_left_out();
	test_memory();
	tg_check(tg_runtime_close(session));
	for (unsigned i = 0; i < FILES_MAX; i++)
		unlink(names[i]);
	rmdir(directory);
	return unit_done();
}
