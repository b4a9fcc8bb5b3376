/*
 * range_scan.c
 *	  The source of rows by ranges of an index.
 *
 * Where there are lists of values, or several ranges that rows may be in, each has its turn, one
 * after the other.  Which ranges these are follows from the plan's values (scan_key.c); sources of
 * other kinds have methods of their own for that (gin_scan.c, cover_scan.c).
 */
#include "postgres.h"

#include "src/exec/range_scan.h"

#include "miscadmin.h"

#include "runtime/mem/session.h"
#include "runtime/table/expect.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/reads.h"
#include "runtime/exec/range_scan.h"
#include "src/base/session.h"
#include "src/exec/cover_scan.h"
#include "src/exec/gin_scan.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_watch.h"
#include "src/txn/transaction.h"

#define RANGE_ROWS_FIRST 16 /* rows of a range's first batch: LIMIT 1 is common */
#define RANGE_ROWS 128		/* of the later ones */

_Static_assert(RANGE_ROWS <= TG_RANGE_ROWS_AHEAD, "a batch is one that can be filtered");

/* --- where rows lie (scan_expect.c) -------------------------------------------------------- */

/*
 * Of a range that begins at a key: in tables that were filled in the order of the index, its rows
 * need not wait for the leaf.
 */
static void
expect_range(tsurugi_range_source *range)
{
	const tg_btree_cursor *cursor = &range->range->cursor;
	uint32_t row;

	if (cursor->low != NULL && !cursor->backward &&
		tg_row_guess_get(&range->guess.row, range->source.scan->described->table, cursor->low, cursor->low_bytes, &row))
		tg_range_scan_guess(range->range, row);
}

/* Of one row, whose newest version was most likely what has been read. */
static void
learn_one(tsurugi_range_source *range)
{
	const tsurugi_scan *scan = range->source.scan;
	uint32_t row = range->own->rows[0];
	tg_version newest;

	tg_epoch_enter(scan->session);
	newest = tg_row_newest(scan->described->table, row);
	if (newest != TG_VERSION_NONE)
		tsurugi_guess_learn(&range->guess, &range->keys, row, newest);
	tg_epoch_leave(scan->session);
}

/* After the first batch: where its rows lay. */
static void
learn(tsurugi_range_source *range)
{
	const tg_btree_cursor *cursor = &range->range->cursor;

	if (range->own->count == 0)
		return;
	if (range->keys.one_row)
		learn_one(range);
	else if (cursor->low != NULL && !cursor->backward)
		tg_row_guess_learn(&range->guess.row, cursor->low, cursor->low_bytes, range->own->rows[0]);
}

/* --- opening -------------------------------------------------------------------------------- */

tg_btree_cursor *
tsurugi_range_open(tsurugi_range_source *range)
{
	tsurugi_scan *scan = range->source.scan;
	tsurugi_range_end first;
	tsurugi_range_end last;

	if (!range->methods->make(range, &first, &last))
		return NULL;
	if (range->range == NULL)
		range->range = MemoryContextAlloc(scan->memory, sizeof(tg_range_scan));
	tg_range_scan_init(range->range, scan->described->table, range->keys.stored, &scan->snapshot,
					   first.bytes > 0 ? first.key : NULL, first.bytes, first.inclusive,
					   last.bytes > 0 ? last.key : NULL, last.bytes, last.inclusive, range->keys.shape.backward);
	if (range->methods->prepare != NULL)
		range->methods->prepare(range);
	if (range->guess.learns && !range->keys.one_row)
		expect_range(range);
	range->is_first = true;
	return &range->range->cursor;
}

static bool
open_range(tsurugi_source *source)
{
	return tsurugi_range_open((tsurugi_range_source *) source) != NULL;
}

static void
make_vectors(tsurugi_range_source *range)
{
	tsurugi_scan *scan = range->source.scan;
	MemoryContext context = range->keys.one_row ? scan->memory : scan->node->ss.ps.state->es_query_cxt;

	if (range->own == NULL)
		range->own = tsurugi_scan_make_vectors(scan, context, range->keys.one_row ? 1 : RANGE_ROWS);
}

/* The range of this turn, with what levels and notes ask. */
static bool
open_turn(tsurugi_range_source *range)
{
	tsurugi_scan *scan = range->source.scan;
	bool one_snapshot = tsurugi_has_one_snapshot();

	range->ready = true;
	if (!tsurugi_source_make_ranked(&range->source, &range->keys, open_range))
		return false;
	if (one_snapshot)
	{
		tsurugi_source_begin_at_level(&range->source);
		range->range->snapshot = scan->snapshot;
	}
	if (tsurugi_tracks) /* S2 */
		range->noted = tg_reads_add_range(scan->session, tsurugi_reads(), scan->described->table, range->keys.stored,
										  &range->range->cursor);
	if (range->within != NULL)
		range->range->within = range->within(range->within_argument);
	make_vectors(range);
	return true;
}

/* By another index than the primary key's all of the table. */
static tg_area
range_area(const tsurugi_source *source)
{
	const tsurugi_range_source *range = (const tsurugi_range_source *) source;
	tg_area area = {.table = source->scan->described->table};

	if (range->keys.stored != NULL)
		return area;
	if (range->keys.has_gap)
		return tsurugi_keys_area(&range->keys);
	area.low = range->range->cursor.low;
	area.low_bytes = range->range->cursor.low_bytes;
	area.low_inclusive = range->range->cursor.low_inclusive;
	area.high = range->range->cursor.high;
	area.high_bytes = range->range->cursor.high_bytes;
	area.high_inclusive = range->range->cursor.high_inclusive;
	return area;
}

/* --- reading -------------------------------------------------------------------------------- */

unsigned
tsurugi_read_range(tg_range_scan *scan, tg_vectors *vectors, unsigned limit)
{
	for (;;)
	{
		unsigned count;
		bool more;

		CHECK_FOR_INTERRUPTS();
		tsurugi_snapshot_check();
		count = tg_range_scan_step(tsurugi_session(), scan, vectors, limit, &more);
		if (likely(count > 0 || (!scan->busy && !more)))
			return count;
		if (scan->busy)
			tsurugi_wait_for_outcome(&scan->wait);
	}
}

/* The next batch of the range; after a first one that is small. */
static unsigned
read_range(tsurugi_range_source *range)
{
	bool is_first = range->is_first;
	unsigned limit = range->keys.one_row ? 1 : is_first ? RANGE_ROWS_FIRST : RANGE_ROWS;
	unsigned count;

	range->source.scan->batches++;
	if (range->keys.one_row && !is_first)
		return 0;
	range->is_first = false;
	do
		count = tsurugi_read_range(range->range, range->own, limit);
	while (range->methods->filter != NULL && count > 0 && (count = range->methods->filter(range, count)) == 0);
	if (range->guess.learns && is_first)
		learn(range);
	range->passed_over += range->range->passed_over;
	range->range->passed_over = 0;
	return count;
}

bool
tsurugi_range_next_turn(tsurugi_range_source *range)
{
	range->ready = false;
	return range->methods->next_turn(range);
}

static bool
range_next(tsurugi_source *source, tsurugi_batch *batch_out)
{
	tsurugi_range_source *range = (tsurugi_range_source *) source;

	while (!range->done)
	{
		CHECK_FOR_INTERRUPTS();
		if ((range->ready || open_turn(range)) && read_range(range) > 0)
		{
			*batch_out = (tsurugi_batch){.vectors = range->own, .own = range->own, .count = range->own->count};
			return true;
		}
		range->done = !tsurugi_range_next_turn(range);
	}
	return false;
}

/* --- its life ------------------------------------------------------------------------------- */

static void
range_open(tsurugi_source *source)
{
	tsurugi_range_source *range = (tsurugi_range_source *) source;

	range->keys.stored = tsurugi_keys_stored(&range->keys);
	if (tg_unlikely(tsurugi_follows))
		tsurugi_keys_check_index(&range->keys, &source->scan->snapshot);
}

/* A range that was not read to its end counts as far as it was read. */
static void
end_note(tsurugi_range_source *range)
{
	if (range->noted != NULL && tsurugi_tracks)
		tg_reads_end_range(tsurugi_reads(), range->source.scan->described->table, range->noted, &range->range->cursor);
	range->noted = NULL;
}

void
tsurugi_range_again(tsurugi_range_source *range)
{
	range->ready = false;
	range->done = false;
	range->keys.key_bytes = 0;
}

static void
range_restart(tsurugi_source *source)
{
	tsurugi_range_source *range = (tsurugi_range_source *) source;

	end_note(range);
	tsurugi_keys_forget_arrays(&range->keys);
	if (range->methods->forget != NULL)
		range->methods->forget(range);
	tsurugi_range_again(range);
}

static void
range_end(tsurugi_source *source)
{
	tsurugi_range_source *range = (tsurugi_range_source *) source;

	range_restart(source);
	if (!range->keys.one_row)
		range->own = NULL;
}

static void
range_keep_reads(tsurugi_source *source)
{
	((tsurugi_range_source *) source)->noted = NULL;
}

static void
range_forget_reads(tsurugi_source *source)
{
	tsurugi_range_source *range = (tsurugi_range_source *) source;

	if (range->noted != NULL)
		tg_reads_forget_range(tsurugi_reads(), source->scan->described->table, range->noted);
	range->noted = NULL;
}

static void
range_outlive(tsurugi_source *source)
{
	tsurugi_range_source *range = (tsurugi_range_source *) source;

	tsurugi_keys_outlive(&range->keys);
	range->guess.learns = true;
}

/* Of one row: its leaf.  The storage itself asks for rows and cells of a range. */
static void
range_expect(tsurugi_source *source, tsurugi_expected what)
{
	tsurugi_range_source *range = (tsurugi_range_source *) source;

	if (what == TSURUGI_EXPECT_LEAF && range->keys.one_row && range->keys.shape.arrays == 0 &&
		tsurugi_keys_make_key(&range->keys))
		(void) tsurugi_guess_expect_leaf(source->scan, &range->guess, &range->keys, tsurugi_keys_stored(&range->keys));
}

/* --- making ----------------------------------------------------------------------------------- */

void
tsurugi_range_source_init(tsurugi_range_source *range, const tsurugi_range_methods *methods, tsurugi_scan *scan,
						  const tsurugi_scan_access *access, const List *values)
{
	static const tsurugi_source_methods source_methods = {.open = range_open,
														  .next = range_next,
														  .restart = range_restart,
														  .end = range_end,
														  .area = range_area,
														  .forget_reads = range_forget_reads,
														  .keep_reads = range_keep_reads,
														  .outlive = range_outlive,
														  .expect = range_expect};

	range->source = (tsurugi_source){.methods = &source_methods, .scan = scan};
	range->methods = methods;
	tsurugi_keys_init(&range->keys, scan->described, &scan->node->ss.ps, &access->shape, values);
}

/* --- the plain kind --------------------------------------------------------------------------- */

static bool
make_by_values(tsurugi_range_source *range, tsurugi_range_end *first, tsurugi_range_end *last)
{
	return tsurugi_keys_make_range(&range->keys, first, last);
}

static bool
next_values(tsurugi_range_source *range)
{
	return tsurugi_keys_next_turn(&range->keys);
}

static tsurugi_range_source *
make_plain(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values)
{
	static const tsurugi_range_methods methods = {.make = make_by_values, .next_turn = next_values};
	tsurugi_range_source *range = palloc0(sizeof(*range));

	tsurugi_range_source_init(range, &methods, scan, access, values);
	return range;
}

tsurugi_range_source *
tsurugi_range_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values)
{
	if (access->shape.covers > 0 || access->shape.nearest)
		return tsurugi_cover_source_make(scan, access, values);
	if (access->sought_columns != NIL)
		return tsurugi_gin_source_make(scan, access, values);
	return make_plain(scan, access, values);
}
