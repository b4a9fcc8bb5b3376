/*
 * loader_store.c
 *	  Rows of a loader's seat: converted, stored, and committed.
 *
 * A row that does not fit ends the load, unless such rows are to be left out: the requester is then
 * told of them once the batch is stored, so of each once.  An insert that is refused has changed
 * nothing, so the batch goes on without it.
 *
 * Rows that fit are stored together (txn/insert_batch.h), some dozens at a time.  Those of which
 * the primary key has an entry already come next, one by one and in the order of the file: so the
 * row for which a load fails is the first that is refused, whatever has been stored behind it.  If
 * a secondary index refuses a row, the statement is rolled back, and its rows are stored one by one
 * for the same reason.
 *
 * In a transaction that is lent, a seat inserts apart (txn/piece.h).  It never waits, and takes
 * nothing back: where it would have to, the load fails, and the requester undoes all.  If the
 * transaction is shared, it may end at any moment (txn/loan.h), and then the load fails, too.
 */
#include "runtime/batch/loader_internal.h"

#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/index/index.h"
#include "runtime/index/long_key.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/table/table.h"
#include "runtime/txn/insert_batch.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"

/* --- rows ------------------------------------------------------------------------------------ */

#define ROWS_AT_ONCE 64		  /* converted; fewer if they have many columns, or long strings: */
#define STRINGS_AT_ONCE 65536 /* bytes; one row may have more */
#define KEYS_AT_ONCE 4096	  /* bytes; likewise */

_Static_assert(TG_FILE_COLUMNS_MAX >= ROWS_AT_ONCE, "one row always has room");
_Static_assert(ROWS_AT_ONCE <= TG_INSERT_BATCH, "they are inserted together");

/* One row, with all of the requester's columns.  Those that files do not have are NULL. */
typedef struct row_in_hand
{
	tg_value values[TG_FILE_COLUMNS_MAX];
	bool nulls[TG_FILE_COLUMNS_MAX];
	unsigned char key[TG_KEY_BYTES_MAX];
} row_in_hand;

/*
 * Rows that are put together: `count` from the batch's row `first` on, column by column, as
 * tg_row_values.
 */
typedef struct rows_in_hand
{
	tg_value values[TG_FILE_COLUMNS_MAX];
	bool nulls[TG_FILE_COLUMNS_MAX];
	uint8_t faults[ROWS_AT_ONCE];
	uint16_t columns[ROWS_AT_ONCE];
	unsigned column_count;
	unsigned rows_max; /* and the pitch */
	unsigned first;
	unsigned count;
	bool is_refused; /* one of them was refused: all are stored by themselves */
	unsigned char keys[KEYS_AT_ONCE + TG_KEY_BYTES_MAX];
	row_in_hand row; /* one that is stored by itself */
} rows_in_hand;

/* Takes out one of them. */
static row_in_hand *
row_of(rows_in_hand *rows, unsigned i)
{
	for (unsigned column = 0; column < rows->column_count; column++)
	{
		rows->row.values[column] = rows->values[column * rows->rows_max + i];
		rows->row.nulls[column] = rows->nulls[column * rows->rows_max + i];
	}
	return &rows->row;
}

static tg_status
fail_status(tg_loader_report *report, tg_status status)
{
	report->status = status;
	return tg_loader_fail(report, TG_LOADER_STATUS);
}

/* How many rows' strings have room together, at least one; it is made.  0: that is too much. */
static unsigned
reserve_strings(tg_loader_seat *seat, unsigned first, unsigned count)
{
	const tg_loader_file *file = &seat->loader->files[seat->seat->file];
	uint64_t sums[ROWS_AT_ONCE] = {0};
	uint64_t bytes;
	unsigned fitting = 1;

	for (unsigned i = 0; i < file->cell_count; i++)
		tg_cell_add_bytes(&file->cells[i], &seat->reader.values[file->cells[i].source], first, count, sums);
	bytes = sums[0];
	while (fitting < count && bytes + sums[fitting] <= STRINGS_AT_ONCE)
		bytes += sums[fitting++];
	return tg_block_reader_reserve(seat, bytes) ? fitting : 0;
}

/* Puts the next rows together, from the batch's row `first` on and before `end`. */
static tg_status
convert_rows(tg_loader_seat *seat, unsigned first, unsigned end, rows_in_hand *rows, tg_loader_report *report)
{
	const tg_loader_file *file = &seat->loader->files[seat->seat->file];
	const tg_cell_rows into = {.values = rows->values,
							   .nulls = rows->nulls,
							   .pitch = rows->rows_max,
							   .faults = rows->faults,
							   .columns = rows->columns};

	rows->first = first;
	rows->count = reserve_strings(seat, first, end - first < rows->rows_max ? end - first : rows->rows_max);
	if (rows->count == 0)
		return fail_status(report, TG_NO_MEMORY);
	memset(rows->faults, TG_CELL_FITS, rows->count);
	for (unsigned i = 0; i < file->cell_count; i++)
		tg_cell_take(&file->cells[i], &seat->reader.values[file->cells[i].source], first, rows->count,
					 &seat->reader.strings, &into);
	return TG_OK;
}

/* TG_BUSY: the seat is to wait. */
static tg_status
judge_refusal(tg_loader_seat *seat, tg_status status, const tg_wait *wait, tg_loader_report *report)
{
	if (status == TG_BUSY && tg_loader_is_lent(seat->loader))
	{
		report->wait = *wait;
		return fail_status(report, TG_BUSY);
	}
	if (status == TG_BUSY && wait->host != seat->loader->config.host)
	{
		seat->wait = *wait;
		seat->wants = TG_SEAT_NEEDS_OTHER;
		return TG_BUSY;
	}
	if (status == TG_BUSY && (seat->loader->config.skips || seat->loader->config.ignores) &&
		!tg_failpoint_refuses("load_leaves_out_at_once"))
	{
		seat->wants = TG_SEAT_NEEDS_SEAT; /* loader.c, 8 */
		return TG_BUSY;
	}
	if (status != TG_BUSY && status != TG_EXISTS)
		return fail_status(report, status);
	report->index = wait->index != NULL ? wait->index->spec.host : 0; /* loader.c, 3 */
	return tg_loader_fail(report, TG_LOADER_DUPLICATE);
}

static tg_status
insert_row(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, const row_in_hand *row,
		   tg_wait *wait_out)
{
	tg_status status;
	uint32_t id;

	if (writer->piece == NULL)
		return tg_txn_insert(writer, table, key, key_bytes, row->values, row->nulls, &id, wait_out);
	tg_epoch_enter(writer->session);
	status = tg_txn_insert_apart(writer, table, key, key_bytes, row->values, row->nulls, wait_out);
	tg_epoch_leave(writer->session);
	return status;
}

static tg_status
store_row(tg_loader_seat *seat, const tg_writer *writer, row_in_hand *row, tg_loader_report *report)
{
	const tg_loader_config *config = &seat->loader->config;
	bool has_key = config->table->key->part_count > 0;
	unsigned round = 0;
	size_t key_bytes = 0;
	tg_status status = TG_OK;
	tg_wait wait;

	if (has_key)
		status = tg_key_encode(writer->session, config->table, config->kinds, row->values, row->key, &key_bytes);
	if (status != TG_OK)
		return fail_status(report, status);
	for (;; tg_spin(&round))
	{
		status = insert_row(writer, config->table, has_key ? row->key : NULL, key_bytes, row, &wait);
		if (status == TG_OK)
			return TG_OK;
		if (status != TG_AGAIN)
			return judge_refusal(seat, status, &wait, report);
	}
}

/* Whether the batch goes on without a row that has failed so. */
static bool
leaves_out(tg_loader_seat *seat, unsigned number, tg_loader_report *report)
{
	const tg_loader_config *config = &seat->loader->config;
	bool is_duplicate = report->failure == TG_LOADER_DUPLICATE;

	if (!is_duplicate && (report->failure != TG_LOADER_VALUE || report->cell == TG_CELL_NO_MEMORY))
		return false;
	if (!(is_duplicate && config->ignores))
	{
		if (!config->skips)
			return false;
		seat->rows[seat->asked] = (tg_loader_row){.row = report->row,
												  .failure = report->failure,
												  .column = report->column,
												  .cell = report->cell,
												  .index = report->index};
		tg_block_locate(seat, number, &seat->rows[seat->asked++]);
	}
	report->failure = TG_LOADER_WELL;
	return true;
}

/* What the requester has made of an odd record. */
static tg_status
take_converted(const tg_loader_seat *seat, const tg_loader_row *odd, row_in_hand *row, tg_loader_report *report)
{
	const tg_loader_file *file = &seat->loader->files[seat->seat->file];

	if (odd->cell != TG_CELL_FITS)
	{
		report->cell = odd->cell;
		report->column = odd->column;
		return tg_loader_fail(report, TG_LOADER_VALUE);
	}
	for (unsigned i = 0; i < file->cell_count; i++)
	{
		const tg_cell *cell = &file->cells[i];

		row->values[cell->column] = odd->values[i];
		row->nulls[cell->column] = odd->nulls[i];
		if (odd->nulls[i] && cell->not_null)
		{
			report->cell = TG_CELL_IS_NULL;
			report->column = cell->column;
			return tg_loader_fail(report, TG_LOADER_VALUE);
		}
	}
	return TG_OK;
}

/* Of the seat's own transaction, or of the one that is lent. */
static tg_writer
writer_of(tg_loader_seat *seat)
{
	const tg_loader_config *config = &seat->loader->config;
	tg_writer writer = {.txn = seat->txn, .command = 1, .claim = TG_DATA, .probes = config->skips || config->ignores};

	if (tg_loader_is_lent(seat->loader))
	{
		writer = seat->loader->writer;
		writer.piece = seat->piece;
		writer.claim = TG_BULK; /* as of a transaction that has claimed much already */
	}
	writer.session = seat->session;
	return writer;
}

/* The batch's row i, of those in hand. */
static tg_status
store_converted(tg_loader_seat *seat, const tg_writer *writer, rows_in_hand *rows, unsigned i, tg_loader_report *report)
{
	if (rows->faults[i - rows->first] == TG_CELL_FITS)
		return store_row(seat, writer, row_of(rows, i - rows->first), report);
	report->cell = (tg_cell_fault) rows->faults[i - rows->first];
	report->column = rows->columns[i - rows->first];
	return tg_loader_fail(report, TG_LOADER_VALUE);
}

/* One whose record is odd, and which is not rejected; no others are in hand. */
static tg_status
store_odd(tg_loader_seat *seat, const tg_writer *writer, const tg_loader_row *odd, rows_in_hand *rows,
		  tg_loader_report *report)
{
	tg_status status;

	memset(rows->row.nulls, true, rows->column_count);
	status = take_converted(seat, odd, &rows->row, report);
	return status == TG_OK ? store_row(seat, writer, &rows->row, report) : status;
}

/* Takes the parts of a row's primary key to their places, for tg_key_encode. */
static void
take_key_parts(const tg_key_spec *key, rows_in_hand *rows, unsigned i)
{
	for (unsigned part = 0; part < key->part_count; part++)
	{
		unsigned column = key->part[part].column;

		rows->row.values[column] = rows->values[column * rows->rows_max + i];
	}
}

/*
 * Encodes the keys of rows in hand, from number `from` on; returns how many rows' keys fit
 * together, 0: that of the first cannot be encoded.
 */
static unsigned
encode_keys(tg_loader_seat *seat, rows_in_hand *rows, unsigned from, unsigned count, tg_insert_key *keys)
{
	const tg_loader_config *config = &seat->loader->config;
	size_t used = 0;
	unsigned done;

	for (done = 0; done < count && used <= KEYS_AT_ONCE; done++)
	{
		size_t bytes;

		take_key_parts(config->table->key, rows, from + done);
		if (tg_key_encode(seat->session, config->table, config->kinds, rows->row.values, rows->keys + used, &bytes) !=
			TG_OK)
			break;
		keys[done] = (tg_insert_key){.bytes = rows->keys + used, .count = (uint32_t) bytes};
		used += bytes;
	}
	return done;
}

static tg_status
insert_batch(const tg_writer *writer, tg_table *table, const tg_insert_batch *batch, tg_insert_result *result)
{
	tg_status status;

	if (writer->piece == NULL)
		return tg_txn_insert_batch(writer, table, batch, result);
	tg_epoch_enter(writer->session);
	status = tg_txn_insert_batch(writer, table, batch, result);
	tg_epoch_leave(writer->session);
	return status;
}

/* The rows in hand from the batch's row i on that have no fault. */
static unsigned
count_faultless(const rows_in_hand *rows, unsigned i)
{
	unsigned end = i - rows->first;

	while (end < rows->count && rows->faults[end] == TG_CELL_FITS)
		end++;
	return end - (i - rows->first);
}

/*
 * Stores rows in hand together, from the batch's row i on.  *done_out of them are stored, but for
 * those of *left_out, whose bits count from row i on; none, if the first has to be stored by
 * itself.  TG_AGAIN: all have to be, after a rollback.
 */
static tg_status
store_together(tg_loader_seat *seat, const tg_writer *writer, rows_in_hand *rows, unsigned i, unsigned *done_out,
			   uint64_t *left_out, tg_loader_report *report)
{
	const tg_loader_config *config = &seat->loader->config;
	tg_insert_key keys[ROWS_AT_ONCE];
	tg_insert_batch batch = {.count = count_faultless(rows, i)};
	tg_insert_result result;
	tg_status status;

	*left_out = 0;
	if (config->table->key->part_count > 0)
	{
		batch.keys = keys;
		batch.count = encode_keys(seat, rows, i - rows->first, batch.count, keys);
	}
	*done_out = batch.count;
	if (batch.count == 0)
		return TG_OK;
	batch.values = (tg_row_values){
		.values = rows->values + (i - rows->first), .nulls = rows->nulls + (i - rows->first), .pitch = rows->rows_max};
	status = insert_batch(writer, config->table, &batch, &result);
	*left_out = result.left;
	if (status == TG_EXISTS || status == TG_BUSY)
		return writer->piece != NULL ? judge_refusal(seat, status, &result.wait, report) : TG_AGAIN;
	if (status != TG_OK)
		return fail_status(report, status);
	seat->stored += batch.count - (unsigned) __builtin_popcountll(*left_out);
	return TG_OK;
}

/* One row by itself: of those in hand, or an odd one. */
static tg_status
store_alone(tg_loader_seat *seat, const tg_writer *writer, rows_in_hand *rows, unsigned i, const tg_loader_row *odd,
			tg_loader_report *report)
{
	tg_status status;

	report->row = seat->reader.rows_before + 1 + i;
	status = odd != NULL ? store_odd(seat, writer, odd, rows, report) : store_converted(seat, writer, rows, i, report);
	if (status == TG_OK)
		seat->stored++;
	else if (status == TG_UNFIT && leaves_out(seat, i, report))
		status = TG_OK;
	return status;
}

/*
 * Stores rows in hand, from the batch's row i on: those that can be stored together, or one.
 * *done_out: how many.
 */
static tg_status
store_in_hand(tg_loader_seat *seat, const tg_writer *writer, rows_in_hand *rows, unsigned i, unsigned *done_out,
			  tg_loader_report *report)
{
	uint64_t left = 1;
	tg_status status = TG_OK;

	*done_out = 0;
	if (!rows->is_refused && rows->faults[i - rows->first] == TG_CELL_FITS)
		status = store_together(seat, writer, rows, i, done_out, &left, report);
	if (*done_out == 0)
	{
		left = 1;
		*done_out = 1;
	}
	for (; left != 0 && status == TG_OK; left &= left - 1)
		status = store_alone(seat, writer, rows, i + (unsigned) __builtin_ctzll(left), NULL, report);
	return status;
}

/* Whether it is to go on. */
static tg_status
judge_load(const tg_loader *loader, tg_loader_report *report)
{
	if (!tg_batch_is_running(&loader->tree))
		return TG_CANCELLED;
	if (loader->config.loan != NULL && tg_loan_is_over(loader->config.loan))
		return fail_status(report, TG_STOPPED);
	return TG_OK;
}

static tg_status
store_rows(tg_loader_seat *seat, rows_in_hand *rows, tg_loader_report *report)
{
	const tg_writer writer = writer_of(seat);
	const uint64_t before = seat->reader.rows_before + 1;
	const tg_loader_row *odd = seat->odd;
	const tg_loader_row *odd_end = odd + seat->odd_count;
	tg_status status = TG_OK;
	unsigned done;

	seat->asked = 0;
	seat->stored = 0;
	rows->first = rows->count = 0;
	for (unsigned i = 0; i < seat->reader.count && status == TG_OK; i += done)
	{
		bool is_odd = odd < odd_end && odd->row == before + i;

		done = 1;
		status = judge_load(seat->loader, report);
		if (status != TG_OK)
			break;
		report->row = before + i;
		if (is_odd && (odd++)->is_rejected)
			continue;
		if (is_odd)
		{
			status = store_alone(seat, &writer, rows, i, odd - 1, report);
			continue;
		}
		if (i - rows->first >= rows->count)
			status = convert_rows(seat, i, odd < odd_end ? (unsigned) (odd->row - before) : seat->reader.count, rows,
								  report);
		if (status == TG_OK)
			status = store_in_hand(seat, &writer, rows, i, &done, report);
	}
	tg_failpoint("load_stored");
	return status;
}

/* --- transactions ---------------------------------------------------------------------------- */

static void
begin_transaction(tg_loader_seat *seat)
{
	seat->txn = tg_txn_begin(seat->session, seat->loader->config.host);
	seat->row_count = 0;
	tg_claims_begin(seat->session);
}

void
tg_seat_abort(tg_loader_seat *seat)
{
	bool had_one = seat->txn != NULL;

	if (had_one)
		tg_txn_abort(seat->session, seat->txn);
	seat->txn = NULL;
	seat->is_ending = false;
	tg_claims_end(seat->session);
	if (had_one)
		tg_loader_note_end(seat->session, seat->loader);
}

void
tg_seat_note_commit(tg_session *session, tg_loader_seat *seat)
{
	seat->txn = NULL;
	tg_loader_note_end(session, seat->loader);
	tg_fetch_add_relaxed(&seat->loader->progress->rows, seat->row_count);
	tg_fetch_add_relaxed(&seat->loader->progress->transactions, 1);
}

/* Bytes of a file's first blocks; those of a row group of Parquet are not told apart. */
static uint64_t
bytes_of_blocks(const tg_loader_file *file, uint32_t count)
{
	if (count == 0 || count == file->block_count)
		return count == 0 ? 0 : file->bytes;
	if (file->csv != NULL)
		return file->csv->blocks[count].offset;
	return file->bytes / file->block_count * count + file->bytes % file->block_count * count / file->block_count;
}

void
tg_seat_note_block(const tg_loader_seat *seat)
{
	tg_loader *loader = seat->loader;
	const tg_loader_file *file = &loader->files[seat->seat->file];
	uint32_t block = seat->seat->block;

	tg_fetch_add_relaxed(&loader->progress->bytes, bytes_of_blocks(file, block + 1) - bytes_of_blocks(file, block));
	tg_fetch_add_relaxed(&loader->progress->blocks, 1);
	if (tg_fetch_add_relaxed(&loader->blocks_done[seat->seat->file], 1) + 1 == file->block_count)
		tg_fetch_add_relaxed(&loader->progress->files, 1);
}

tg_status
tg_seat_commit(tg_loader_seat *seat)
{
	if (seat->txn != NULL && tg_txn_is_logged(seat->txn))
		return TG_AGAIN;
	if (seat->txn != NULL)
	{
		tg_txn_commit(seat->session, seat->txn);
		tg_seat_note_commit(seat->session, seat);
	}
	tg_claims_end(seat->session);
	seat->is_ending = false;
	return TG_OK;
}

/* In the seat's own transaction; nothing of it stays if it fails. */
static tg_status
store_all_or_none(tg_loader_seat *seat, rows_in_hand *rows, tg_loader_report *report)
{
	tg_txn_mark mark;
	unsigned number;
	tg_status status;

	seat->ended_seen = tg_load_acquire(&seat->loader->ended); /* before it looks at any row */
	if (seat->txn == NULL)
		begin_transaction(seat);
	tg_txn_savepoint(seat->session, seat->txn, &mark, &number);
	status = store_rows(seat, rows, report);
	if (status == TG_AGAIN) /* which one is refused, and why? */
	{
		tg_txn_rollback_to(seat->session, seat->txn, mark);
		tg_txn_savepoint(seat->session, seat->txn, &mark, &number);
		rows->is_refused = true;
		status = store_rows(seat, rows, report);
	}
	if (status != TG_OK)
		tg_txn_rollback_to(seat->session, seat->txn, mark);
	return status;
}

/* In the transaction that is lent. */
static tg_status
store_apart(tg_loader_seat *seat, rows_in_hand *rows, tg_loader_report *report)
{
	tg_loan *loan = seat->loader->config.loan;
	tg_status status;

	if (loan != NULL && !tg_loan_enter(loan))
		return fail_status(report, TG_STOPPED);
	status = store_rows(seat, rows, report);
	if (loan != NULL)
		tg_loan_leave(loan);
	return status;
}

tg_status
tg_seat_store(tg_loader_seat *seat, tg_loader_report *report)
{
	tg_loader *loader = seat->loader;
	unsigned columns = loader->config.column_count;
	unsigned fitting = columns > 0 ? TG_FILE_COLUMNS_MAX / columns : ROWS_AT_ONCE;
	rows_in_hand rows;
	tg_status status;

	rows.column_count = columns;
	rows.is_refused = false;
	rows.rows_max = fitting < ROWS_AT_ONCE ? fitting : ROWS_AT_ONCE;
	memset(rows.nulls, true, rows.rows_max * columns);
	status = tg_loader_is_lent(loader) ? store_apart(seat, &rows, report) : store_all_or_none(seat, &rows, report);
	if (status != TG_OK)
		return status;
	seat->row_count += seat->stored;
	if (tg_loader_is_lent(loader))
		tg_fetch_add_relaxed(&loader->progress->rows, seat->stored);
	tg_job_progress(loader->job, seat->reader.count, seat->stored);
	return TG_OK;
}
