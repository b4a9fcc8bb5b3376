/*
 * scan.h
 *	  A running scan of a foreign table: its core, and the sources that its rows come from.
 *
 *	executor <── row in a slot ── core <── batch ── source <── batch ── source ...
 *
 * The core (tsurugi_scan) has what every scan has: the relation, the snapshot that it is read at,
 * the columns that are read and their places in the slot, the batch in hand, counters.  It steps
 * through the batch, puts a row into the slot, evaluates conditions, projects.  Plain scans and
 * direct modifications use it in the same way.
 *
 * A source (tsurugi_source) makes the batches.  It has four steps, of which only next reads rows:
 *
 *	          ┌───────────┐
 *	          ▼           │
 *	open ──▶ next ──▶ restart          at any time: end
 *
 * 1. A source reads the plan once, when it is made.  open begins an execution; the scan's snapshot
 *	  is known then.  restart lets it begin again within the execution, with other values of
 *	  parameters.  end releases everything that it holds outside memory contexts.  If the executor
 *	  state is kept (prepared.c), open follows for the next execution: by then a source has
 *	  forgotten its pointers into the memory of the last execution.
 * 2. A batch belongs to its source, and stays as it is until the next step of the source.  At the
 *	  end next says false, and goes on saying so.
 * 3. A source does not know its caller: the core, or another source, which passes its own steps on
 *	  to it.  So code that makes rows from other sources' rows is a source, too.
 * 4. Before a source reads, it does what the transaction's isolation level needs (scan_level.c); at
 *	  SERIALIZABLE it notes its reads.  It can take the notes back as long as no row has been
 *	  returned.
 *
 * The state of a source begins with tsurugi_source; the rest is known to its file alone:
 *
 *	key_scan.c		a row by its whole primary key; several, one after the other
 *	range_scan.c	a range of an index; several, one after the other
 *	gin_scan.c		ranges that follow from conditions on an index USING gin
 *	cover_scan.c	ranges that follow from conditions on a column with covers
 *	table_scan.c	the whole table, in place or by tasks of the pool
 *	or_scan.c		sources by several indexes, one after the other, for the arms of an OR
 *	and_scan.c		a source by one index, of rows that other indexes have, too
 *	nearest.c		a source with covers, read again and again: the nearest rows first
 *
 * Sources by ranges (range_scan.h) differ in which ranges they read.  What sources share:
 * scan_key.c makes keys and ranges of the plan's values, scan_expect.c asks for memory before it is
 * needed, and scan_level.c.  Of the core, scan.c has its life, scan_run.c the rows; scan_lock.c and
 * scan_retry.c have rows that are locked as they are read; scan_give.c hands out whole batches.
 *
 * Rows are read in place, by the backend itself; a whole table, if it has at least
 * tsurugi_fdw.scan_pool_rows rows, by tasks of the pool, which fill buffers of an output channel.
 * Between two rows the session is quiescent: blobs that a slot points to stay, because the snapshot
 * is published;
 * everything else was copied.
 */
#ifndef TSURUGI_SCAN_H
#define TSURUGI_SCAN_H

#include "nodes/execnodes.h"

#include "runtime/reclaim/preserve.h"
#include "runtime/txn/snapshot.h"
#include "runtime/exec/vectors.h"
#include "src/exec/fdw.h"
#include "src/exec/taker.h"
#include "src/table/relation.h"

typedef struct tsurugi_scan tsurugi_scan;
typedef struct tsurugi_source tsurugi_source;

/* --- sources ------------------------------------------------------------------------------- */

/* Rows that a source has returned; at least one. */
typedef struct tsurugi_batch
{
	const tg_vectors *vectors; /* NULL: one row, which is in the scan's cells */
	tg_vectors *own;		   /* the same, if rows may be dropped (tg_vectors_keep); else NULL */
	uint32_t count;
	uint32_t row; /* the row, if there are no vectors */
} tsurugi_batch;

/* The memory that is prefetched (scan_expect.c). */
typedef enum tsurugi_expected
{
	TSURUGI_EXPECT_LEAF,
	TSURUGI_EXPECT_ROW,
	TSURUGI_EXPECT_CELLS
} tsurugi_expected;

/* Every source has the first four. */
typedef struct tsurugi_source_methods
{
	void (*open)(tsurugi_source *source);
	bool (*next)(tsurugi_source *source, tsurugi_batch *batch_out);
	void (*restart)(tsurugi_source *source);
	void (*end)(tsurugi_source *source);

	/*
	 * The area of the table that it is about to read; for sources that call
	 * tsurugi_source_begin_at_level.
	 */
	tg_area (*area)(const tsurugi_source *source);

	/*
	 * The reads that were noted need not stay noted, or must stay.  NULL: no note can be taken
	 * back.
	 */
	void (*forget_reads)(tsurugi_source *source);
	void (*keep_reads)(tsurugi_source *source);

	/*
	 * For a source that may outlive the plan (prepared.c): it copies its parts of the plan, and
	 * finds out where rows lie.
	 */
	void (*outlive)(tsurugi_source *source);

	/* NULL: it has nothing to prefetch. */
	void (*expect)(tsurugi_source *source, tsurugi_expected what);
} tsurugi_source_methods;

struct tsurugi_source
{
	const tsurugi_source_methods *methods;
	tsurugi_scan *scan;
};

/* --- the core ------------------------------------------------------------------------------ */

struct tsurugi_scan
{
	ForeignScanState *node;
	MemoryContext memory; /* the scan's own: it may outlive the execution (prepared.c) */
	const tsurugi_relation *described;
	tg_session *session;
	tg_snapshot snapshot;
	tsurugi_source *source;

	/* the statement */
	CmdType direct;		/* of a direct modification; else CMD_UNKNOWN */
	CmdType locks_for;	/* as in tsurugi_scan_plan: for which statement rows may be locked */
	bool locks;			/* rows are locked before they are returned (scan_lock.c) */
	bool has_handed_up; /* and one has been returned, or there is none */
	/* For a look-up that locks its row (scan_retry.c): the snapshot could not be extended. */
	bool keeps_snapshot;

	/* the columns that are read, and their places in the slot */
	int column_count;
	uint16_t *columns;	 /* the storage's column */
	uint16_t *positions; /* the slot's attribute */
	uint8_t *kinds;
	bool *words;			   /* the stored word is the datum */
	tg_value *cells;		   /* of a row that is read by itself */
	bool *cell_nulls;		   /* for cells */
	char *scratch;			   /* TSURUGI_SCRATCH_BYTES each */
	int slot_natts;			   /* attributes of the slot */
	bool wants_ctid;		   /* the plan uses the row's ctid */
	bool wants_system_columns; /* the plan uses other system columns */
	bool plain;				   /* the node has neither conditions nor a projection */

	/* rows in hand */
	uint32_t position; /* in the batch: of the row after the current one */
	tsurugi_batch batch;
	uint32_t row; /* the current one */

	tsurugi_recheck recheck;

	/* of a scan that gives its batches (scan_give.c): to whom, and which columns */
	const tsurugi_taker *taker;
	const tsurugi_taken *taken;

	/* for EXPLAIN ANALYZE */
	bool started;	  /* a row has been requested */
	uint64_t batches; /* buffers or batches read from ranges and tables */
};

/*
 * Whether a key's value needs no expression state: it is a constant or a parameter of the
 * statement.
 */
static inline bool
tsurugi_is_plain_value(const Expr *value)
{
	return IsA(value, Const) || (IsA(value, Param) && ((const Param *) value)->paramkind == PARAM_EXTERN);
}

/*
 * Makes the scan of a node from its plan, in the current memory context;
 * node->ss is set up.
 */
extern tsurugi_scan *tsurugi_scan_make(ForeignScanState *node);

/* Lets a scan live longer than its plan, none of whose values may need an expression state. */
extern void tsurugi_scan_outlive(tsurugi_scan *scan);

/* Sets the snapshot; called once per execution, before the first row. */
extern void tsurugi_scan_start(tsurugi_scan *scan);

/*
 * Between the start of a look-up and its run PostgreSQL has other things to do,
 * during which cache lines can come.  This, with LEAF, ROW and CELLS in this
 * order and some time between them, asks for the lines that the run will need:
 * the first may come before tsurugi_scan_start, the others come after it.
 */
static inline void
tsurugi_scan_expect(tsurugi_scan *scan, tsurugi_expected what)
{
	tsurugi_source *source = scan->source;

	if (source->methods->expect != NULL)
		source->methods->expect(source, what);
}

/* The part of tsurugi_scan_next that gets a batch. */
extern bool tsurugi_scan_next_batch(tsurugi_scan *scan);

/* Steps to the next row that the snapshot sees.  False at the end. */
static inline bool
tsurugi_scan_next(tsurugi_scan *scan)
{
	if (unlikely(scan->position >= scan->batch.count) && !tsurugi_scan_next_batch(scan))
		return false;
	if (scan->batch.vectors != NULL)
		scan->row = scan->batch.vectors->rows[scan->position];
	scan->position++;
	return true;
}

/*
 * Puts the current row's columns into the slot of the node as a virtual
 * tuple; they point into the scan until it steps on.
 */
extern void tsurugi_scan_fill(tsurugi_scan *scan, TupleTableSlot *slot);

/*
 * The node's result when there are no more rows.  It clears the scan's slot, too, by which WHERE
 * CURRENT OF tells whether there is a row.
 */
static inline TupleTableSlot *
tsurugi_scan_no_row(PlanState *pstate)
{
	TupleTableSlot *slot = ExecClearTuple(((ScanState *) pstate)->ss_ScanTupleSlot);

	return pstate->ps_ProjInfo != NULL ? ExecClearTuple(pstate->ps_ProjInfo->pi_state.resultslot) : slot;
}

/* The node's ExecProcNode: steps, evaluates the plan's conditions, projects. */
extern TupleTableSlot *tsurugi_scan_run(PlanState *pstate);

/*
 * scan_lock.c: whether the scan must lock its rows in this transaction; and its ExecProcNode in
 * that case.
 */
extern bool tsurugi_scan_locks(const tsurugi_scan *scan);
extern TupleTableSlot *tsurugi_scan_run_locking(PlanState *pstate);

/*
 * scan_retry.c: whether the scan may have to lock its row in this transaction; and its ExecProcNode
 * in that case.
 */
extern bool tsurugi_scan_retries(const tsurugi_scan *scan);
extern TupleTableSlot *tsurugi_scan_run_retrying(PlanState *pstate);

/* Starts the scan again; key values are computed again. */
extern void tsurugi_scan_restart(tsurugi_scan *scan);

/*
 * For direct modifications and early locks at SERIALIZABLE.  The first drops the notes of this
 * scan's reads: no row has been returned, and the scan will start again.  The second keeps them.
 */
extern void tsurugi_scan_forget(tsurugi_scan *scan);
extern void tsurugi_scan_keep(tsurugi_scan *scan);

/*
 * Releases everything that the scan holds outside its memory context, and forgets pointers into the
 * execution's memory.  The next call, if there is one, is tsurugi_scan_start.
 */
extern void tsurugi_scan_end(tsurugi_scan *scan);

#endif /* TSURUGI_SCAN_H */
