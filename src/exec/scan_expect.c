/*
 * scan_expect.c
 *	  A look-up asks for the memory that it will need.
 *
 *	  key --> inner nodes --> leaf --> row's head --> chunk, cells
 *
 * Nearly every look-up finds the last four outside of the processor's caches, and
 * their addresses outside of its translation buffers.  Each follows from the one
 * before, so they are asked for in steps, and between two steps PostgreSQL does
 * what has to be done anyway.  Some can be guessed before they are known, and are
 * asked for earlier: the slots in the leaf (btree.c), the place of a cell in its chunk
 * (expect.h), or, in tables that were filled in the order of their keys, all of it at once (below).  Then
 * nothing is looked up before the run.  A wrong guess costs a few lines of the caches.
 */
#include "postgres.h"

#include "src/exec/scan_internal.h"

#include "src/exec/scan_key.h"

#define CELLS_EXPECTED 8 /* cells that are fetched into the cache ahead of time */

static inline unsigned
expected_count(const tsurugi_scan *scan)
{
	return Min(scan->column_count, CELLS_EXPECTED);
}

/*
 * Rows that came in the order of their keys (tg_row_guess) lie in it, too.  While that is so neither
 * the row's head nor the values need wait for what tells where they are.  Whether the values could
 * be asked for.
 */
static bool
expect_guessed(const tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;
	uint32_t row;

	if (!tg_row_guess_get(&scan->row_guess, table, scan->key, scan->key_bytes, &row))
		return false;
	tg_row_expect_head(table, row);
	return tg_place_expect(&scan->place_guess, table, row, scan->columns, expected_count(scan));
}

void
tsurugi_scan_expect_leaf(tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;

	scan->row_expected = false;
	scan->all_expected = false;
	if (!(scan->shape.way == TSURUGI_WAY_KEY || scan->one_row) || scan->shape.arrays != 0 ||
		!tsurugi_scan_make_key(scan))
		return;
	tg_epoch_enter(scan->session);
	scan->all_expected = expect_guessed(scan);
	tg_btree_expect(tg_index_tree(table, tsurugi_scan_stored(scan)), scan->key, scan->key_bytes);
	tg_epoch_leave(scan->session);
}

void
tsurugi_scan_learn(tsurugi_scan *scan, tg_version version)
{
	tg_row_guess_learn(&scan->row_guess, scan->key, scan->key_bytes, scan->row);
	tg_place_guess_learn(&scan->place_guess, scan->row, version);
}

/*
 * What it finds is what the run would find, as long as the scan's snapshot stays
 * the same.  If that sees a version under the key, now or at the run, the key
 * leads to that row from before the snapshot's time until it is withdrawn: a
 * row somebody may see is neither closed nor given to others.  If it sees none,
 * neither does it see one of another row that has come here meanwhile.
 */
void
tsurugi_scan_expect_row(tsurugi_scan *scan)
{
	tg_table *table = scan->described->table;

	if (scan->key_bytes == 0 || scan->all_expected || scan->one_row)
		return;
	tg_epoch_enter(scan->session);
	if (tg_btree_find(tg_load_acquire(&table->index), scan->key, scan->key_bytes, &scan->row) == TG_OK)
	{
		tg_row_expect_head(table, scan->row);
		scan->row_expected = true;
	}
	tg_epoch_leave(scan->session);
}

void
tsurugi_scan_expect_cells(tsurugi_scan *scan)
{
	if (!scan->row_expected)
		return;
	tg_epoch_enter(scan->session);
	tg_row_expect(scan->described->table, scan->row, scan->columns, expected_count(scan));
	tg_epoch_leave(scan->session);
}

/* --- ranges ------------------------------------------------------------------------------ */

void
tsurugi_scan_expect_range(tsurugi_scan *scan)
{
	const tg_btree_cursor *cursor = &scan->range->cursor;
	uint32_t row;

	if (cursor->low != NULL && !cursor->backward &&
		tg_row_guess_get(&scan->row_guess, scan->described->table, cursor->low, cursor->low_bytes, &row))
		tg_range_scan_guess(scan->range, row);
}

/* Of one row, whose newest version was most likely what has been read. */
static void
learn_one(tsurugi_scan *scan)
{
	tg_version newest;

	scan->row = scan->own->rows[0];
	tg_epoch_enter(scan->session);
	newest = tg_row_newest(scan->described->table, scan->row);
	if (newest != TG_VERSION_NONE)
		tsurugi_scan_learn(scan, newest);
	tg_epoch_leave(scan->session);
}

void
tsurugi_scan_learn_range(tsurugi_scan *scan)
{
	const tg_btree_cursor *cursor = &scan->range->cursor;

	if (scan->own->count == 0)
		return;
	if (scan->one_row)
		learn_one(scan);
	else if (cursor->low != NULL && !cursor->backward)
		tg_row_guess_learn(&scan->row_guess, cursor->low, cursor->low_bytes, scan->own->rows[0]);
}
