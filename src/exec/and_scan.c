/*
 * and_scan.c
 *	  Scans by one index, of rows that other indexes must have, too.
 *
 *	a = 1 AND b BETWEEN 2 AND 5 AND tags @> '{4}'
 *	└ range ┘     └── set ─────┘     └── set ──┘
 *
 * Before a range of the first index is read, each of the other indexes is read for its own
 * conditions, into a set of row numbers (row_set.h).  The second set is read within the first, and
 * so on.  A row that the first index has and the last set has not is passed over before anything
 * else of the row is read.  All conditions of the other indexes are evaluated on the remaining
 * rows.
 *
 * 1.  Let R be the snapshot at which the range is read.  The sets are read when the range has been
 *	  opened, so after R was published.  A version that R sees was written before that, together
 *	  with its index entries (or by an earlier command, if this transaction wrote it).  It stays,
 *	  with its entries, as long as R does (index.c, I).  A value that has no rank by then is in none
 *	  of these versions.  So each row that R sees in the range, and for which the conditions hold,
 *	  is in all sets, even if other transactions have changed its keys or are changing them.
 * 2.  A set may contain other numbers: of other versions' rows, of rows that share a bit, and
 *	  numbers that have been given to other rows since.  They do no harm, because the conditions are
 *	  evaluated all the same, also when a statement continues with a newer version.
 * 3.  So the result is what the first index alone would give, and that is noted as read at
 *	  SERIALIZABLE.  A transaction that makes a row meet the conditions, or no longer meet them,
 *	  through any column, adds, changes or removes a row of that range.  The other indexes give
 *	  hints only; they are not read in that sense.
 * 4.  R may be extended between two ranges of one scan (isolation.c), because the rows of later
 *	  ranges have not been read yet.  The sets belong to the earlier time then and are read again.
 *
 * A set has as many bits as the planner's estimate asks for, but no more than fit into work_mem.  A
 * set that is too small lets more rows through.
 */
#include "postgres.h"

#include "src/exec/and_scan.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "runtime/base/atomic.h"
#include "runtime/exec/row_set.h"
#include "src/exec/range_scan.h"
#include "src/txn/snapshot.h"

#define BITS_PER_ROW 32 /* of a set; one row in so many passes by mistake */
#define WORDS_MIN 16

typedef struct Other
{
	tsurugi_range_source *range;
	double rows; /* estimated */
	size_t word_count;
	uint64_t *words; /* NULL: never read */
	tg_row_set set;
	uint64_t entries;
} Other;

typedef struct AndSource
{
	tsurugi_source source;
	tsurugi_range_source *first; /* its rows are returned */
	int count;
	tg_time time; /* of the snapshot that the sets belong to; 0: not read */
	Other others[FLEXIBLE_ARRAY_MEMBER];
} AndSource;

/* --- sets ------------------------------------------------------------------------------------ */

static void
make_set(const tsurugi_scan *scan, Other *other)
{
	double rows = (double) tg_load_acquire(&scan->described->table->row_next);
	double bits = Min(other->rows * BITS_PER_ROW, rows);

	if (other->words == NULL)
	{
		other->word_count = pg_nextpower2_size_t(Max((size_t) (bits / 64), WORDS_MIN));
		while (other->word_count * sizeof(uint64_t) > (size_t) work_mem * 1024)
			other->word_count /= 2;
		other->words =
			MemoryContextAllocHuge(scan->node->ss.ps.state->es_query_cxt, other->word_count * sizeof(uint64_t));
	}
	tg_row_set_init(&other->set, other->words, other->word_count);
}

/* Reads all ranges of one of the other indexes. */
static void
read_other(const tsurugi_scan *scan, Other *other, const tg_row_set *within)
{
	make_set(scan, other);
	other->range->source.methods->restart(&other->range->source);
	do
	{
		tg_btree_cursor *cursor = tsurugi_range_open(other->range);
		bool more = cursor != NULL;

		while (more)
		{
			CHECK_FOR_INTERRUPTS();
			tsurugi_snapshot_check();
			more = tg_row_set_read(scan->session, &other->set, within, cursor, &other->entries);
		}
	} while (tsurugi_range_next_turn(other->range));
}

/*
 * The rows that may be in all other indexes at the scan's snapshot.  Reads the sets if necessary.
 */
static const tg_row_set *
rows_of_others(void *argument)
{
	AndSource *and = argument;
	const tsurugi_scan *scan = and->source.scan;
	const tg_row_set *within = NULL;
	bool are_read = and->time == scan->snapshot.time;

	for (int i = 0; i < and->count; i++)
	{
		if (!are_read)
			read_other(scan, &and->others[i], within);
		within = &and->others[i].set;
	}
	and->time = scan->snapshot.time;
	return within;
}

/* --- its life --------------------------------------------------------------------------------- */

static void
and_open(tsurugi_source *source)
{
	AndSource *and = (AndSource *) source;

	and->first->source.methods->open(&and->first->source);
	for (int i = 0; i < and->count; i++)
		and->others[i].range->source.methods->open(&and->others[i].range->source);
}

static bool
and_next(tsurugi_source *source, tsurugi_batch *batch_out)
{
	tsurugi_source *first = &((AndSource *) source)->first->source;

	return first->methods->next(first, batch_out);
}

static void
and_restart(tsurugi_source *source)
{
	AndSource *and = (AndSource *) source;

	and->time = 0;
	and->first->source.methods->restart(&and->first->source);
}

static void
and_end(tsurugi_source *source)
{
	tsurugi_source *first = &((AndSource *) source)->first->source;

	first->methods->end(first);
}

static void
and_forget_reads(tsurugi_source *source)
{
	tsurugi_source *first = &((AndSource *) source)->first->source;

	first->methods->forget_reads(first);
}

tsurugi_source *
tsurugi_and_source_make(tsurugi_scan *scan, const tsurugi_scan_plan *plan, const tsurugi_scan_exprs *exprs)
{
	static const tsurugi_source_methods methods = {
		.open = and_open, .next = and_next, .restart = and_restart, .end = and_end, .forget_reads = and_forget_reads};
	int count = list_length(plan->parts);
	AndSource *and = palloc0(offsetof(AndSource, others) + count * sizeof(Other));

	and->source = (tsurugi_source){.methods = &methods, .scan = scan};
	and->count = count;
	and->first = tsurugi_range_source_make(scan, plan->access, exprs->values);
	and->first->within = rows_of_others;
	and->first->within_argument = and;
	for (int i = 0; i < count; i++)
	{
		const tsurugi_scan_access *access = list_nth(plan->parts, i);
		tsurugi_part_exprs own;

		tsurugi_part_exprs_get(exprs, i, &own);
		and->others[i].range = tsurugi_range_source_make(scan, access, own.values);
		and->others[i].rows = access->rows;
	}
	return &and->source;
}

/* --- for EXPLAIN ANALYZE ---------------------------------------------------------------------- */

uint64_t
tsurugi_and_source_entries(const tsurugi_source *source, int other)
{
	return ((const AndSource *) source)->others[other].entries;
}

uint64_t
tsurugi_and_source_passed_over(const tsurugi_source *source)
{
	return ((const AndSource *) source)->first->passed_over;
}
