/*
 * and_scan.c
 *	  Scans by one index, of rows that others have to have, too.
 *
 *	a = 1 AND b BETWEEN 2 AND 5 AND tags @> '{4}'
 *	└ range ┘     └── set ─────┘     └── set ──┘
 *
 * Before a range of the first index is read, what each of the others has for its conditions is read into a set of row numbers (row_set.h), the
 * second one's within the first's, and so on.  What the first index has and the last set has not is passed over before
 * anything of the row is looked at.  All conditions of the others are evaluated on what is left.
 *
 * 1. Let R be the snapshot that the range is read by.  The sets are read when the range has been opened, so after R was published.  A version
 *	  that R sees was written, its entries with it, before that (by an earlier command, if by this transaction), and stays, with its entries, as
 *	  long as R (index.c, I); a value that has no rank then is in none of them.  So each row that R sees in the range, and for which
 *	  the conditions hold, is in all sets, whoever changes its keys meanwhile, or has changed them.
 * 2. What else is in a set (rows of other versions, rows that share a bit, numbers that another row has got since) does no harm,
 *	  as the conditions are evaluated all the same, also by who goes on with a newer version.
 * 3. So the answer is what it would be by the first index alone.  That is what is noted as read at SERIALIZABLE: who makes a row one that is
 *	  wanted, or one that is not, by whichever column, adds, changes or removes a row of that range.  The others are hints, and not read in that sense.
 * 4. R may be extended between two ranges of one scan (isolation.c), as rows of later ones are not read yet.  The sets are those of
 *	  the time before, and read anew.
 *
 * A set has as many bits as the planner's estimate asks for, and no more than work_mem has place for: then it lets more rows through.
 */
#include "postgres.h"

#include "src/exec/and_scan.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "src/exec/range_scan.h"
#include "src/txn/snapshot.h"

#define BITS_PER_ROW 32 /* of a set: one row in so many is let through by mistake */
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
	tsurugi_range_source *first; /* its rows are handed up */
	int count;
	tg_time time; /* the sets are of this snapshot's; 0: not read */
	Other others[FLEXIBLE_ARRAY_MEMBER];
} AndSource;

/* --- sets ------------------------------------------------------------------------------------ */

static void
make_set(const tsurugi_scan *scan, Other *other)
{
	double bits = Min(other->rows * BITS_PER_ROW, tg_load_acquire(&scan->described->table->row_next));

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

/* All ranges of one. */
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

/* The rows that may be in all of the others, as of the scan's snapshot; read where they have not been. */
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

/* --- its life ---------------------------------------------------------------------------------- */

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

/* --- for EXPLAIN ANALYZE ----------------------------------------------------------------------- */

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
