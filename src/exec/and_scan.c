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

#include "src/exec/scan_internal.h"
#include "src/txn/snapshot.h"

#define BITS_PER_ROW 32 /* of a set: one row in so many is let through by mistake */
#define WORDS_MIN 16

typedef struct Other
{
	tsurugi_scan *scan;
	double rows; /* estimated */
	size_t word_count;
	uint64_t *words; /* NULL: never read */
	tg_row_set set;
	uint64_t entries;
} Other;

struct tsurugi_others
{
	int count;
	tg_time time; /* the sets are of this snapshot's; 0: not read */
	Other others[FLEXIBLE_ARRAY_MEMBER];
};

static tsurugi_scan *
make_other(const tsurugi_scan *whole, const tsurugi_scan_access *access, const List *values)
{
	tsurugi_scan *scan = palloc(sizeof(tsurugi_scan));

	*scan = *whole;
	tsurugi_scan_init_index(scan, access, values);
	return scan;
}

void
tsurugi_others_init(tsurugi_scan *scan, const List *parts, const tsurugi_scan_exprs *exprs)
{
	int count = list_length(parts);
	tsurugi_others *others = palloc0(offsetof(tsurugi_others, others) + count * sizeof(Other));

	for (int i = 0; i < count; i++)
	{
		const tsurugi_scan_access *access = list_nth(parts, i);
		tsurugi_part_exprs own;

		tsurugi_part_exprs_get(exprs, i, &own);
		others->others[i].scan = make_other(scan, access, own.values);
		others->others[i].rows = access->rows;
	}
	others->count = count;
	scan->others = others;
}

void
tsurugi_others_start(tsurugi_scan *scan)
{
	for (int i = 0; i < scan->others->count; i++)
		tsurugi_scan_start(scan->others->others[i].scan);
}

/* --- sets ------------------------------------------------------------------------------------ */

static void
make_set(tsurugi_scan *scan, Other *other)
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
read_other(tsurugi_scan *scan, Other *other, const tg_row_set *within)
{
	make_set(scan, other);
	tsurugi_scan_restart(other->scan);
	do
	{
		bool more = tsurugi_scan_open_range(other->scan);

		while (more)
		{
			CHECK_FOR_INTERRUPTS();
			tsurugi_snapshot_check();
			more = tg_row_set_read(scan->session, &other->set, within, &other->scan->range->cursor, &other->entries);
		}
	} while (tsurugi_scan_next_source(other->scan));
}

const tg_row_set *
tsurugi_others_rows(tsurugi_scan *scan)
{
	tsurugi_others *others = scan->others;
	const tg_row_set *within = NULL;
	bool are_read = others->time == scan->snapshot.time;

	for (int i = 0; i < others->count; i++)
	{
		if (!are_read)
			read_other(scan, &others->others[i], within);
		within = &others->others[i].set;
	}
	others->time = scan->snapshot.time;
	return within;
}

void
tsurugi_others_forget(tsurugi_scan *scan)
{
	scan->others->time = 0;
}

uint64_t
tsurugi_others_entries(const tsurugi_scan *scan, int other)
{
	return scan->others->others[other].entries;
}
