/*
 * key_scan.c
 *	  The source of rows by their whole primary key: one row; several, where there are lists of
 *	  values, one after the other.
 */
#include "postgres.h"

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/table/expect.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/read.h"
#include "runtime/txn/reads.h"
#include "runtime/txn/wait.h"
#include "src/exec/scan_internal.h"

#include "miscadmin.h"

#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_watch.h"
#include "src/txn/transaction.h"

typedef struct KeySource
{
	tsurugi_source source;
	tsurugi_keys keys;
	tsurugi_guess guess;
	uint32_t row;	   /* the one that was found */
	bool row_expected; /* it is what the index had for the key, at or after the snapshot's time */
	bool all_expected; /* nothing else is to be asked for */
	bool looked_up;	   /* the key of this turn was */
	bool done;		   /* all have had their turn */
	tg_version noted;  /* at SERIALIZABLE, as read: what a direct modification may forget */
} KeySource;

/* --- the key ------------------------------------------------------------------------------ */

static bool
make_key(tsurugi_source *source)
{
	return tsurugi_keys_make_key(&((KeySource *) source)->keys);
}

static tg_area
area_of(const tsurugi_source *source)
{
	return tsurugi_keys_area(&((const KeySource *) source)->keys);
}

/* --- the row ------------------------------------------------------------------------------ */

/* S1, of the outcome of a look-up.  Inside an epoch. */
static void
note_row(KeySource *by_key, tg_status status, tg_version version)
{
	const tsurugi_scan *scan = by_key->source.scan;

	if (status == TG_NOT_FOUND)
		tg_reads_add_key(scan->session, tsurugi_reads(), scan->described->table, NULL, by_key->keys.key,
						 by_key->keys.key_bytes);
	else if (status == TG_OK && tg_reads_add_version(scan->session, tsurugi_reads(), version))
		by_key->noted = version;
}

/* The row of this turn, into the scan's cells. */
static inline bool
look_up(KeySource *by_key)
{
	tsurugi_scan *scan = by_key->source.scan;
	tg_version version;
	tg_status status;
	tg_wait wait;

	if (by_key->looked_up ||
		(by_key->keys.key_bytes == 0 && !tsurugi_source_make_ranked(&by_key->source, &by_key->keys, make_key)))
		return false;
	by_key->looked_up = true;
	if (unlikely(tsurugi_snapshot_age_limit_ms > 0))
		tsurugi_snapshot_check();
	if (tsurugi_has_one_snapshot())
	{
		tsurugi_source_begin_at_level(&by_key->source);
		by_key->row_expected = false;
	}
again:
	tg_epoch_enter(scan->session);
	if (by_key->row_expected)
		status = tg_txn_read(&scan->snapshot, scan->described->table, by_key->row, &version, &wait);
	else
		status = tg_txn_find(&scan->snapshot, scan->described->table, by_key->keys.key, by_key->keys.key_bytes,
							 &by_key->row, &version, &wait);
	if (tsurugi_tracks)
		note_row(by_key, status, version);
	if (status == TG_OK)
	{
		tsurugi_scan_read_cells(scan, version);
		if (by_key->guess.learns)
			tsurugi_guess_learn(&by_key->guess, &by_key->keys, by_key->row, version);
	}
	tg_epoch_leave(scan->session);
	if (unlikely(status == TG_BUSY))
	{
		tsurugi_wait_for_outcome(&wait);
		goto again;
	}
	return status == TG_OK;
}

static bool
key_next(tsurugi_source *source, tsurugi_batch *batch_out)
{
	KeySource *by_key = (KeySource *) source;

	while (!by_key->done)
	{
		CHECK_FOR_INTERRUPTS();
		if (look_up(by_key))
		{
			*batch_out = (tsurugi_batch){.count = 1, .row = by_key->row};
			return true;
		}
		by_key->looked_up = false;
		by_key->done = !tsurugi_keys_next_turn(&by_key->keys);
	}
	return false;
}

/* --- its life ------------------------------------------------------------------------------- */

/* The primary key is always there. */
static void
key_open(tsurugi_source *source)
{
}

static void
key_restart(tsurugi_source *source)
{
	KeySource *by_key = (KeySource *) source;

	tsurugi_keys_forget_arrays(&by_key->keys);
	by_key->keys.key_bytes = 0;
	by_key->row_expected = false;
	by_key->looked_up = false;
	by_key->done = false;
}

static void
key_end(tsurugi_source *source)
{
	key_restart(source);
	((KeySource *) source)->noted = TG_VERSION_NONE;
}

static void
key_keep_reads(tsurugi_source *source)
{
	((KeySource *) source)->noted = TG_VERSION_NONE;
}

static void
key_forget_reads(tsurugi_source *source)
{
	KeySource *by_key = (KeySource *) source;

	if (by_key->noted != TG_VERSION_NONE)
		tg_reads_forget_version(tsurugi_reads(), by_key->noted);
	by_key->noted = TG_VERSION_NONE;
}

static void
key_outlive(tsurugi_source *source)
{
	KeySource *by_key = (KeySource *) source;

	tsurugi_keys_outlive(&by_key->keys);
	by_key->guess.learns = true;
}

/* --- ahead of time (scan_expect.c) ------------------------------------------------------------ */

static void
expect_leaf(KeySource *by_key)
{
	by_key->row_expected = false;
	by_key->all_expected = by_key->keys.shape.arrays == 0 && tsurugi_keys_make_key(&by_key->keys) &&
						   tsurugi_guess_expect_leaf(by_key->source.scan, &by_key->guess, &by_key->keys, NULL);
}

/*
 * What it finds is what the run would find, as long as the scan's snapshot stays
 * the same.  If that sees a version under the key, now or at the run, the key
 * leads to that row from before the snapshot's time until it is withdrawn: a
 * row somebody may see is neither closed nor given to others.  If it sees none,
 * neither does it see one of another row that has come here meanwhile.
 */
static void
expect_row(KeySource *by_key)
{
	const tsurugi_scan *scan = by_key->source.scan;
	tg_table *table = scan->described->table;

	if (by_key->keys.key_bytes == 0 || by_key->all_expected)
		return;
	tg_epoch_enter(scan->session);
	if (tg_btree_find(tg_load_acquire(&table->index), by_key->keys.key, by_key->keys.key_bytes, &by_key->row) == TG_OK)
	{
		tg_row_expect_head(table, by_key->row);
		by_key->row_expected = true;
	}
	tg_epoch_leave(scan->session);
}

static void
key_expect(tsurugi_source *source, tsurugi_expected what)
{
	KeySource *by_key = (KeySource *) source;

	switch (what)
	{
		case TSURUGI_EXPECT_LEAF:
			expect_leaf(by_key);
			break;
		case TSURUGI_EXPECT_ROW:
			expect_row(by_key);
			break;
		case TSURUGI_EXPECT_CELLS:
			if (by_key->row_expected)
				tsurugi_scan_expect_cells(source->scan, by_key->row);
			break;
	}
}

/* --- making ----------------------------------------------------------------------------------- */

tsurugi_source *
tsurugi_key_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values)
{
	static const tsurugi_source_methods methods = {.open = key_open,
												   .next = key_next,
												   .restart = key_restart,
												   .end = key_end,
												   .area = area_of,
												   .forget_reads = key_forget_reads,
												   .keep_reads = key_keep_reads,
												   .outlive = key_outlive,
												   .expect = key_expect};
	KeySource *by_key = palloc0(sizeof(*by_key));

	by_key->source = (tsurugi_source){.methods = &methods, .scan = scan};
	tsurugi_keys_init(&by_key->keys, scan->described, &scan->node->ss.ps, &access->shape, values);
	return &by_key->source;
}
