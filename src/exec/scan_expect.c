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
 * (expect.h), or, in tables that were filled in the order of their keys, all of it at once
 * (below).  Then nothing is looked up before the run.  A wrong guess costs a few lines of the
 * caches.
 */
#include "postgres.h"

#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/table/expect.h"
#include "runtime/index/index.h"
#include "src/exec/scan_internal.h"

#define CELLS_EXPECTED 8 /* cells that are fetched into the cache ahead of time */

static inline unsigned
expected_count(const tsurugi_scan *scan)
{
	return Min(scan->column_count, CELLS_EXPECTED);
}

/*
 * Rows that came in the order of their keys (tg_row_guess) lie in it, too.  While that is so
 * neither the row's head nor the values need wait for what tells where they are.  Whether the
 * values could be asked for.
 */
static bool
expect_guessed(const tsurugi_scan *scan, const tsurugi_guess *guess, const tsurugi_keys *keys)
{
	tg_table *table = scan->described->table;
	uint32_t row;

	if (!tg_row_guess_get(&guess->row, table, keys->key, keys->key_bytes, &row))
		return false;
	tg_row_expect_head(table, row);
	return tg_place_expect(&guess->place, table, row, scan->columns, expected_count(scan));
}

bool
tsurugi_guess_expect_leaf(const tsurugi_scan *scan, const tsurugi_guess *guess, const tsurugi_keys *keys,
						  tg_index *stored)
{
	bool all_expected;

	tg_epoch_enter(scan->session);
	all_expected = expect_guessed(scan, guess, keys);
	tg_btree_expect(tg_index_tree(scan->described->table, stored), keys->key, keys->key_bytes);
	tg_epoch_leave(scan->session);
	return all_expected;
}

void
tsurugi_scan_expect_cells(const tsurugi_scan *scan, uint32_t row)
{
	tg_epoch_enter(scan->session);
	tg_row_expect(scan->described->table, row, scan->columns, expected_count(scan));
	tg_epoch_leave(scan->session);
}

void
tsurugi_guess_learn(tsurugi_guess *guess, const tsurugi_keys *keys, uint32_t row, tg_version version)
{
	tg_row_guess_learn(&guess->row, keys->key, keys->key_bytes, row);
	tg_place_guess_learn(&guess->place, row, version);
}
