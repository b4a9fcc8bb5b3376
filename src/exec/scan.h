/*
 * scan.h
 *	  A running scan of a foreign table: shared by plain scans and direct
 *	  modifications.
 */
#ifndef TSURUGI_SCAN_H
#define TSURUGI_SCAN_H

#include "lib/ilist.h"
#include "nodes/execnodes.h"

#include "runtime/runtime.h"
#include "src/exec/fdw.h"
#include "src/table/relation.h"

/* One end of a range of keys; the bytes are a key's beginning, none: open. */
typedef struct tsurugi_range_end
{
	unsigned char *key; /* in the scan */
	size_t bytes;
	bool inclusive;
} tsurugi_range_end;

/* A column's part of a key, encoded. */
typedef struct tsurugi_key_bytes
{
	size_t bytes;
	unsigned char *data;
	tsurugi_range_end
		*gap; /* NULL, or of a value without rank: between which two it would get one; data is the first's */
} tsurugi_key_bytes;

/* The value that a column of an index is compared with. */
typedef struct tsurugi_key_value
{
	const tsurugi_key_column *column;
	Oid type;	/* of the value, or of the array's elements; an integer column takes the other integer types too */
	Expr *expr; /* if plain: read without an expression state */
	ExprState *state; /* everything else */
	bool is_array;
	/* an array's elements, sorted and without duplicates, and the one whose turn it is: */
	tsurugi_key_bytes *elements;
	int element_count;
	int turn;
} tsurugi_key_value;

typedef struct tsurugi_sought tsurugi_sought;
typedef struct tsurugi_covers tsurugi_covers;
typedef struct tsurugi_nearest tsurugi_nearest;
typedef struct tsurugi_arms tsurugi_arms;
typedef struct tsurugi_others tsurugi_others;

/* What happened, for EXPLAIN ANALYZE. */
typedef struct tsurugi_scan_figures
{
	bool started;
	bool by_pool;		  /* rows came from tasks of the pool */
	uint64_t batches;	  /* buffers or batches of rows read */
	uint64_t passed_over; /* entries whose rows other indexes do not have */
	uint64_t boxes;		  /* of the nearest rows: read, */
	uint64_t rows;		  /* and in them */
} tsurugi_scan_figures;

typedef struct tsurugi_scan
{
	ForeignScanState *node;
	struct tsurugi_scan *whole; /* itself; of an arm: the scan that it is an arm of */
	tsurugi_arms *arms;			/* ARMS (or_scan.c) */
	tsurugi_others *others;		/* RANGE, of rows that other indexes have, too (and_scan.c); NULL: else */
	MemoryContext memory;		/* the scan's own: it may outlive the execution (prepared.c) */
	const tsurugi_relation *described;
	const tsurugi_index *index; /* KEY, RANGE */
	tg_index *stored;			/* the same, in the storage; NULL: the primary key */
	tg_session *session;
	tg_snapshot snapshot;
	tsurugi_shape shape;
	CmdType direct;	   /* of a direct modification; else CMD_UNKNOWN */
	CmdType locks_for; /* as planned: of an UPDATE or DELETE whose rows may be locked as they are read */
	tsurugi_scan_figures figures;

	/* columns that are read, and where they go in the slot */
	int column_count;
	uint16_t *columns;	 /* the storage's column */
	uint16_t *positions; /* the slot's attribute */
	uint8_t *kinds;
	bool *words;			   /* the stored word is the datum */
	int slot_natts;			   /* attributes of the slot */
	bool wants_ctid;		   /* somebody looks at the row's ctid */
	bool wants_system_columns; /* and at others */
	bool plain;				   /* the node has neither conditions nor a projection */
	char *scratch;			   /* TSURUGI_SCRATCH_BYTES each */

	/* the key */
	int key_value_count;
	tsurugi_key_value *key_values; /* fixed ones, low, high */
	MemoryContext elements;		   /* of the arrays among them; NULL: not computed */
	tsurugi_sought *sought;		   /* RANGE, of an index USING gin (gin_scan.c); NULL: else */
	tsurugi_covers *covers;		   /* RANGE, with conditions on covers (cover_scan.c); NULL: else */
	tsurugi_nearest *nearest;	   /* RANGE, the nearest rows first (nearest.c); NULL: else */
	unsigned char *key;			   /* KEY: the key; RANGE: the low bound */
	unsigned char *key_high;
	size_t key_bytes;		  /* KEY, and RANGE of one row: of all fixed columns; 0: not made yet */
	bool unranked;			  /* when key or range were made, a value had no rank */
	bool has_gap;			  /* so that no row has the key: it would be between these, in the order of the index */
	tsurugi_range_end gap[2]; /* neither is in it */
	tg_row_guess row_guess;	  /* KEY, RANGE */
	/* KEY, and RANGE of one row */
	tg_place_guess place_guess;
	bool learns;		/* KEY, RANGE: the guesses are of use */
	bool all_expected;	/* KEY, and RANGE of one row: they were; nothing else is to be asked for */
	bool row_expected;	/* KEY: row is what the index had for the key, at or after the snapshot's time */
	bool ready;			/* keys are made, the source is open */
	bool done;			/* nothing more will come */
	bool one_row;		/* RANGE: of a whole key of a unique index */
	bool locks;			/* rows are locked before they are handed up (scan_lock.c) */
	bool has_handed_up; /* and one was, or there is none */
	bool looked_up;		/* KEY, RANGE: something was looked for, in this turn */

	/* where rows come from; one of these, or what has them in the arm */
	tg_value *cells; /* KEY, and of the nearest rows: the row's columns */
	bool *cell_nulls;
	tg_range_scan *range; /* RANGE; stays once it is made */
	tg_chunk_scan chunks; /* TABLE, in place */
	tg_scan_job *job;	  /* TABLE, by the pool */
	dlist_node by_pool;	  /* while there is a job: among all scans that have one */
	MemoryContextCallback job_end;
	tg_vectors *own;		   /* memory of RANGE and in-place TABLE; of one row it stays */
	const tg_vectors *vectors; /* the current batch; NULL: one row, which is in cells */
	uint32_t count;			   /* rows of the batch */
	uint32_t position;		   /* of the row after the current one */

	/* the current row */
	uint32_t row;

	/* at SERIALIZABLE, of what was noted as read: what a direct modification may forget */
	tg_read_range *noted_range;
	tg_version noted_version;
	bool noted_table; /* tentatively */
} tsurugi_scan;

/* Whether a key's value is a constant or a parameter of the statement, which are read without an expression state. */
static inline bool
tsurugi_is_plain_value(const Expr *value)
{
	return IsA(value, Const) || (IsA(value, Param) && ((const Param *) value)->paramkind == PARAM_EXTERN);
}

/* Takes its place among the participants of transactions.  Once, where the library is loaded. */
extern void tsurugi_scan_init(void);

/*
 * Makes the scan of a node from its plan, in the current memory context;
 * node->ss is set up.
 */
extern tsurugi_scan *tsurugi_scan_make(ForeignScanState *node);

/* The part of it that an index has: the access says which, and how it is read; values as in the plan. */
extern void tsurugi_scan_init_index(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values);

/* The index in the storage, as it is now; NULL: the primary key, or none. */
static inline tg_index *
tsurugi_scan_stored(const tsurugi_scan *scan)
{
	return scan->index == NULL || scan->index->primary ? NULL : tg_index_find(scan->described->table, scan->index->oid);
}

/* Once per execution, before the first row: what it sees. */
extern void tsurugi_scan_start(tsurugi_scan *scan);

/*
 * scan_expect.c.  Between the start of a look-up and its run PostgreSQL has
 * other things to do, during which cache lines can come.  These three, in this
 * order and with some time between them, ask for the lines that the run will
 * need: the first may come before tsurugi_scan_start, the others come after it.
 * The run goes on with the row that the second has found.
 */
extern void tsurugi_scan_expect_leaf(tsurugi_scan *scan);
extern void tsurugi_scan_expect_row(tsurugi_scan *scan);
extern void tsurugi_scan_expect_cells(tsurugi_scan *scan);

/* The part of the next function that opens the source or gets a batch. */
extern bool tsurugi_scan_next_batch(tsurugi_scan *scan);

/* Steps to the next row that the snapshot sees.  False at the end. */
static inline bool
tsurugi_scan_next(tsurugi_scan *scan)
{
	if (unlikely(scan->position >= scan->count) && !tsurugi_scan_next_batch(scan))
		return false;
	if (scan->vectors != NULL)
		scan->row = scan->vectors->rows[scan->position];
	scan->position++;
	return true;
}

/*
 * Puts the current row's columns into the slot of the node as a virtual
 * tuple; they point into the scan until it steps on.
 */
extern void tsurugi_scan_fill(tsurugi_scan *scan, TupleTableSlot *slot);

/* What the node hands up when there are no more rows.  The scan's slot is cleared, too: by it WHERE CURRENT OF tells whether there is a row. */
static inline TupleTableSlot *
tsurugi_scan_no_row(PlanState *pstate)
{
	TupleTableSlot *slot = ExecClearTuple(((ScanState *) pstate)->ss_ScanTupleSlot);

	return pstate->ps_ProjInfo != NULL ? ExecClearTuple(pstate->ps_ProjInfo->pi_state.resultslot) : slot;
}

/* The node's ExecProcNode: steps, evaluates the plan's conditions, projects. */
extern TupleTableSlot *tsurugi_scan_run(PlanState *pstate);

/* scan_lock.c: whether the scan is to lock its rows, in this transaction; and then its ExecProcNode. */
extern bool tsurugi_scan_locks(const tsurugi_scan *scan);
extern TupleTableSlot *tsurugi_scan_run_locking(PlanState *pstate);

/* Starts over; key values are computed again. */
extern void tsurugi_scan_restart(tsurugi_scan *scan);

/*
 * For nearest.c.  Lets the scan read what its covers want now; the next batch of that, in the order of the index, and false at its end; and
 * the current row, known by its number, into the cells, false if the snapshot does not see it.
 */
extern void tsurugi_scan_again(tsurugi_scan *scan);
extern bool tsurugi_scan_read_batch(tsurugi_scan *scan);
extern bool tsurugi_scan_read_row(tsurugi_scan *scan);

/*
 * For direct modifications and early locks at SERIALIZABLE: nobody has been told what this
 * scan has read, it is going to start over; or it has to stay noted.
 */
extern void tsurugi_scan_forget(tsurugi_scan *scan);
extern void tsurugi_scan_keep(tsurugi_scan *scan);

/*
 * tg_chunk_scan_next for the backend: waits where a row's sight depends on how
 * somebody's commit ends, so 0 rows are the end.  Looks at interrupts.
 */
extern unsigned tsurugi_read_chunks(tg_chunk_scan *scan, tg_vectors *vectors);

/* The same of tg_range_scan_next. */
extern unsigned tsurugi_read_range(tg_range_scan *scan, tg_vectors *vectors, unsigned limit);

/* Gives back what the scan holds outside of its memory context. */
extern void tsurugi_scan_end(tsurugi_scan *scan);

/*
 * For a scan that outlives the execution: it ends, and everything in the
 * execution's memory is forgotten.  The next thing is tsurugi_scan_start.
 */
extern void tsurugi_scan_detach(tsurugi_scan *scan);

#endif /* TSURUGI_SCAN_H */
