/*
 * query_internal.h
 *	  What the files of this room share: the state of a query and of its tasks, batches of rows,
 *	  rows of hash tables.
 */
#ifndef TG_QUERY_INTERNAL_H
#define TG_QUERY_INTERNAL_H

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "runtime/query/plan.h"
#include "runtime/query/query.h"
#include "runtime/query/total.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/summary.h"
#include "runtime/txn/piece.h"
#include "runtime/txn/writer.h"

#define TG_QUERY_TASK_MAX 64

/* --- rows of hash tables ------------------------------------------------------------------ */

/*
 * A row of a build, or a group.  Behind it lie a byte a field (1: NULL), a byte for the mark if
 * rows have one, then the fields, then the states of a group's aggregates.  A field takes 8 bytes,
 * a text or a decimal 16.
 */
typedef struct tg_row
{
	/*
	 * build: the chain of its directory entry; group: of all of its table; itself: the group has
	 * been merged into another one; of a SORT of groups: the group
	 */
	struct tg_row *next;
	uint64_t hash;
} tg_row;

typedef struct tg_row_layout
{
	bool marked;
	uint16_t field_count;
	uint16_t bytes; /* of a row, a multiple of 16 */
	const uint8_t *types;
	const uint16_t *offsets; /* of each field, then of each state */
} tg_row_layout;

static inline void
tg_group_set_merged(tg_row *group)
{
	group->next = group;
}

static inline bool
tg_group_is_merged(const tg_row *group)
{
	return group->next == group;
}

static inline uint8_t *
tg_row_nulls(tg_row *row)
{
	return (uint8_t *) (row + 1);
}

/* Atomic while tasks mark rows: 1, once it is marked. */
static inline uint8_t *
tg_row_mark(const tg_row_layout *layout, tg_row *row)
{
	return tg_row_nulls(row) + layout->field_count;
}

static inline void *
tg_row_field(const tg_row_layout *layout, tg_row *row, unsigned field)
{
	return (unsigned char *) row + layout->offsets[field];
}

/* Rows as they come, of one task. */
typedef struct tg_row_block
{
	struct tg_row_block *next;
	uint32_t count;
	uint32_t capacity;
} tg_row_block;

typedef struct tg_row_store
{
	tg_row_block *first;
	tg_row_block *last;
	uint64_t count;
} tg_row_store;

#define TG_ROW_BLOCK_HEADER 64

static inline tg_row *
tg_row_at(const tg_row_layout *layout, tg_row_block *block, uint32_t index)
{
	return (tg_row *) ((unsigned char *) block + TG_ROW_BLOCK_HEADER + (size_t) index * layout->bytes);
}

/*
 * Entries of a directory: the address of a row, which has 48 bits, and in the upper 16 a tag of the
 * hashes behind it.
 */
#define TG_ENTRY_ADDRESS (((uint64_t) 1 << 48) - 1)

static inline tg_row *
tg_entry_row_of(uint64_t entry)
{
	return (tg_row *) (uintptr_t) (entry & TG_ENTRY_ADDRESS);
}

/* --- batches -------------------------------------------------------------------------------- */

/* Rows on their way through a step; see plan.h. */
typedef struct tg_batch
{
	unsigned count;
	bool dense;				 /* slots are 0, 1, 2, ... */
	const tg_chunk *chunk;	 /* NULL: there are vectors, or the rows are of an earlier step */
	const uint16_t *columns; /* of its table (tg_plan_table) */
	/* Rows of a range, whose columns have been copied: slots are places in these; or NULL. */
	const tg_vectors *vectors;
	const uint16_t *vector_of; /* the vector of an input's field */
	const uint16_t *slots;	   /* in the following, or those of all dense batches */
	uint16_t *own_slots;
	/*
	 * The rows of the earlier step, if they are of one; then by probe: the row that each matched,
	 * NULL: none; as many arrays as were passed.
	 */
	tg_row **matches[1 + TG_PLAN_PROBES_MAX];
} tg_batch;

/* The registers of a task for some expressions. */
typedef struct tg_evaluation
{
	const tg_expressions *expressions;
	tg_registers registers;
	bool inputs_as_stored; /* integers may stay so (program.h): nothing but the program reads them */
	unsigned step;		   /* that the expressions belong to */
	bool had_codes;		   /* in its last run */
	/* By bits, of the first inputs: those that may have codes (codes.c), */
	uint64_t coded_inputs;
	uint8_t *code_room; /* and TG_VECTOR_ROWS of these for each of them */
} tg_evaluation;

/* --- state ------------------------------------------------------------------------------------ */

typedef struct tg_extent tg_extent; /* partition.c */

/* Rows in a file that are read at a time. */
typedef struct tg_span
{
	uint64_t at;
	uint32_t count;
} tg_span;

#define TG_PARTITIONS 64
#define TG_KEYS_BOUNDED 4 /* of a build: the first so many may be */

/* A build's hash table, or the rows of groups, complete when the step has ended. */
typedef struct tg_hash_table
{
	tg_row_layout layout;
	uint64_t *directory; /* atomic entries, while it is linked */
	unsigned shift;		 /* of a hash: 64 less the bits of the directory's index */
	uint64_t row_count;
	uint8_t has_dropped;  /* atomic while it is filled: a row, for its NULL key */
	uint8_t keys_bounded; /* a bit each, of a build that is complete (bound.c): */
	tg_bounds key_bounds[TG_KEYS_BOUNDED];
	tg_row_block **blocks; /* of all tasks, for linking and for steps that read them */
	uint32_t block_count;
	/* A build: in files; the blocks have the rows of a pass (join_files.c). */
	struct tg_partition_run **runs;	   /* of each block */
	uint8_t passes[TG_PARTITIONS + 1]; /* the first partition of each, and behind the last one */
	uint8_t pass_count;
	uint8_t pass;	 /* in hand, */
	bool is_to_load; /* as soon as it is */
	/* In files: rows of groups, or of a build, as later steps and the requester read them. */
	bool in_files;		/* set between two phases */
	tg_extent *extents; /* atomic: a stack */
	tg_span *spans;		/* of the extents, when all are there */
	uint32_t span_count;
} tg_hash_table;

/* Groups of one task, or of a partition. */
typedef struct tg_group_table
{
	uint64_t *directory; /* open addressing; NULL: no group yet */
	unsigned bits;
	uint64_t count;
	tg_row *first; /* all groups */
	tg_row_store store;
} tg_group_table;

/* A group, in a list of those of a partition. */
typedef struct tg_group_ref
{
	uint64_t hash;
	tg_row *group;
} tg_group_ref;

/* A task's state at one operator. */
typedef struct tg_operator_state
{
	tg_evaluation evaluation;
	tg_evaluation match;
	uint64_t rows_in; /* since the filters' last sorting; of the operator that has this one's place now */
	tg_batch out;	  /* PROBE, REPEAT */
	uint64_t *hashes; /* PROBE */
	uint16_t *active; /* PROBE: rows that are looked up, */
	tg_row **found;	  /* where they are in their chains, */
	uint8_t *equal;	  /* and whether the keys are equal there */
	uint16_t *pairs;  /* PROBE: the rows of the pairs found */
	uint8_t *matched; /* PROBE: whether a row has a match */
	unsigned pair_count;
	unsigned active_count;
	tg_batch *in;		 /* PROBE, REPEAT: whose rows it looks up, or NULL */
	unsigned repeated;	 /* REPEAT: the row in hand, */
	uint64_t times_done; /* and how often it has gone on */
} tg_operator_state;

typedef struct tg_range_source tg_range_source; /* range.c */
typedef struct tg_feed tg_feed;					/* feed.c */
typedef struct tg_clusters tg_clusters;			/* cluster.c */

/* What the rows of a table must fulfil to pass the step's first filters (skip.c). */
typedef struct tg_demand
{
	uint16_t field; /* of the table, as an input's */
	uint8_t order;	/* tg_bounds_order */
	bool null;		/* it is NULL; else its value is in [low, high], and not NULL */
	int64_t low;
	int64_t high;
} tg_demand;

#define TG_DEMANDS_MAX 16

typedef struct tg_demands
{
	unsigned count;
	tg_demand demands[TG_DEMANDS_MAX]; /* each of which a row has to fulfil */
} tg_demands;

/* What a task of a query has, in one phase after the other. */
typedef struct tg_query_task
{
	tg_query *query;
	unsigned number;
	unsigned prepared_for;			  /* the step that the following was made for, plus 1, */
	struct tg_query_memory *prepared; /* and its memory */
	uint32_t morsel;				  /* in hand; UINT32_MAX: none, */
	uint32_t tries;					  /* and how often it was busy */
	tg_batch batch;
	struct tg_task *turn; /* as which it runs */
	/* of the morsel in hand: */
	bool in_morsel;		 /* its rows are on their way */
	uint32_t stretch_at; /* of a stretch of chunks, the one in hand; not 0: the stretch goes on (cluster.c) */
	uint32_t chunk_at;	 /* so many of a chunk's rows have got to the first operator, */
	bool chunk_is_dense; /* and whether their slots are 0, 1, 2, ... */
	bool in_range;		 /* it is a range, */
	tg_row_block *block; /* or a block; NULL: neither, a chunk */
	uint32_t block_at;
	uint64_t morsel_rows;
	const tg_plan_table *chunk_of; /* the table, if it is a chunk */
	bool is_needless;			   /* which is passed over; */
	uint64_t passed_before;		   /* else the rows that had passed the movable filters before it */
	tg_range_source *range;		   /* of a step that has ranges */
	tg_vectors *fed;			   /* of a step that has a feed: the buffer in hand, or NULL */
	bool waits_for_feed;		   /* it has no rows yet: the task is parked, or the requester asked */
	tg_operator_state *operators;  /* behind them one whose rows_in are the sink's */
	uint16_t *order;			   /* by place: the number of the operator there (step.c, 1) */
	unsigned movable_count;		   /* at the first so many places */
	uint32_t morsels_done;
	tg_demands demands; /* of those filters, and of the following, if the source are tables */
	/*
	 * What rows of a chunk must fulfil to find anything in the builds that are probed (bound.c);
	 * asked behind so many movable filters.  Rows since the filters' last sorting:
	 */
	tg_demands bounds;
	unsigned bounds_place;
	bool bounds_rest; /* they are not asked for now */
	uint64_t bounds_in;
	uint64_t bounds_out;
	unsigned bounds_of;	   /* the step that the following are of, plus 1 */
	uint8_t keys_measured; /* BUILD: a bit for each key whose bounds are wanted, */
	tg_bounds key_bounds[TG_KEYS_BOUNDED];
	tg_evaluation sink;
	uint64_t *hashes;
	tg_row **rows;		 /* of the sink, by row of the batch */
	unsigned rows_known; /* GROUP without keys: so many of them are there */
	uint8_t *flags;
	tg_row_store store;					 /* BUILD, SORT */
	tg_group_table groups;				 /* GROUP, */
	struct tg_partition_run *group_runs; /* also in files */
	struct tg_partition_run *build_runs; /* BUILD: what of the store is in files */
	tg_row_block *span_block;			 /* of a source in files: what is read of it */
	uint64_t *headroom;					 /* GROUP, by aggregate: how far the partial sums may have come */
	const tg_clusters *clusters;		 /* GROUP: its groups are those of the stretch in hand, or NULL; */
	tg_group_table shared_groups;		 /* those of stretches before, which others may have, too, */
	tg_row *groups_aside;				 /* and those that are complete */
	uint64_t aside_count;
	tg_evaluation *having;		   /* by which complete groups are dropped */
	tg_evaluation order_keys;	   /* SORT */
	struct tg_sort_run *run;	   /* SORT: what it fills, or NULL, */
	struct tg_sort_run *runs;	   /* and what is sorted, */
	struct tg_file_run *file_runs; /* also in files */
	void *sort_memory;
	uint32_t sort_room;		  /* entries that it has room for */
	tg_row *spare_rows;		  /* GROUP, SORT: of its store, to be used again */
	tg_vectors *buffer;		  /* DELIVER: the channel's, or NULL, */
	unsigned evaluated_count; /* the rows of a batch that are on their way into it, */
	unsigned sent_count;	  /* and how many of them are there */
	uint64_t rows_in;
	uint64_t rows_out;
	uint64_t chunks_skipped;
	tg_piece piece;	  /* STORE: what it has inserted, */
	tg_value *values; /* and the row that it inserts */
	bool *value_nulls;
	tg_group_ref *refs; /* MERGE: its groups by partition, each of which begins at: */
	uint64_t ref_starts[TG_PARTITIONS + 1];
} TG_CACHE_ALIGNED tg_query_task;

typedef enum tg_query_phase
{
	TG_QUERY_FILL,	/* the step's pipeline */
	TG_QUERY_LOAD,	/* the rows of a build, of a pass, from files */
	TG_QUERY_LINK,	/* the rows of a build, into its directory */
	TG_QUERY_SPLIT, /* groups of each task, by partition */
	TG_QUERY_MERGE, /* the groups of a partition */
	TG_QUERY_RUNS	/* sorted runs in files, into fewer */
} tg_query_phase;

/* Memory of the query, in a list. */
typedef struct tg_query_memory
{
	struct tg_query_memory *next;
	struct tg_query_memory *before;
	struct tg_query_memory *next_of_task; /* that was taken for the same step of a task */
	size_t bytes;
	bool cut; /* from a block: in no list, not counted */
} tg_query_memory;

typedef struct tg_delivery tg_delivery; /* deliver.c */
typedef struct tg_sort_run tg_sort_run; /* sort.c */
typedef struct tg_sorted tg_sorted;
typedef struct tg_spill tg_spill; /* spill.c */

struct tg_query
{
	uint32_t next_morsel;				  /* atomic: tasks count it up */
	uint32_t open_tasks TG_CACHE_ALIGNED; /* atomic: of the phase; the last one begins the next */
	tg_latch memory_latch;
	tg_query_memory *memory; /* under the latch */
	uint64_t memory_bytes;	 /* atomic */
	uint32_t references;	 /* atomic: the requester's, the job's */
	uint32_t inside;		 /* atomic: tasks in a turn (query.c, 2) */

	/* constant from the start on */
	tg_query_config config TG_CACHE_ALIGNED;
	tg_snapshot snapshot;
	tg_writer writer; /* STORE: its session is the requester's */
	const tg_plan *plan;
	tg_job *job;		/* NULL: it runs in place */
	tg_spill *spill;	/* NULL: it does not spill */
	bool keeps_nothing; /* for tests: all rows that can spill do, */
	int8_t look_ups;	/* and keys are looked up wherever they can be: 1; nowhere: -1; 0: where it pays, */
	bool groups_early;	/* and groups are looked for that few chunks have (cluster.c), */
	bool hashes_few;	/* and hashes have 3 bits */
	uint16_t batch_max; /* rows of a batch: TG_VECTOR_ROWS; for tests few */
	bool started;
	unsigned horizon_entry;
	unsigned task_limit;
	tg_query_task *tasks;
	tg_hash_table *tables; /* by step; of the last GROUP the layout alone */
	tg_feed **feeds;	   /* by step; NULL: it has none */

	/* of the phase: written by the last task of the one before */
	unsigned step;
	tg_query_phase phase;
	unsigned rest;				 /* FILL: the operator whose build's rows without a match are the source, plus 1 */
	struct phase_task *reserved; /* for the step's phases; NULL: each takes its own (phase.c) */
	uint32_t morsel_count;
	const tg_plan_table *sources; /* the step's tables, as it reads them */
	uint32_t *first_morsels;	  /* FILL: the first morsel of each of these */
	tg_clusters *clusters;		  /* GROUP: of a table whose stretches have groups alone, or NULL */
	unsigned task_count;
	unsigned task_most; /* of the phases that fill the sink */
	uint64_t phase_started_us;
	unsigned linked;   /* LOAD, LINK: the build */
	unsigned loading;  /* the operator whose build that is, plus 1; 0: none, it is the step's own */
	bool fills_again;  /* FILL: the source has been read before */
	uint64_t rows_max; /* bytes of rows that a task keeps in memory; beyond them they spill */
	tg_step_report *reports;

	/* in place: */
	bool has_block;		  /* of memory, which is tried once, */
	unsigned char *block; /* what is left of it, */
	size_t block_left;	  /* and its bytes */
	bool goes_on;		  /* there is a phase to be run */
	tg_status status;	  /* why it has failed */

	/* the requester's: what is left of the memory for strings of its rows */
	unsigned char *feed_bytes;
	size_t feed_bytes_left;

	/* the result */
	tg_delivery *delivery; /* DELIVER */
	tg_sorted *sorted;	   /* SORT */
	/* of groups: */
	tg_row_block *result_block; /* those in hand, */
	uint32_t result_row;		/* the next of them, */
	unsigned result_task;		/* the next task whose groups are in memory, */
	uint32_t result_span;		/* and the next span of those in files */
};

/* --- memory.c --- */

/* What a task needs for the present step, until tg_task_give; as tg_query_take. */
extern void *tg_task_take(tg_query_task *task, tg_session *session, size_t bytes);
extern void tg_task_give(tg_query_task *task, tg_session *session);

/* Frees what was taken; it need not be given back before the query's end. */
extern void tg_query_give(tg_session *session, tg_query *query, void *taken);

/* How many bytes more it could take, as of now, if nobody else took any. */
extern uint64_t tg_query_memory_left(const tg_query *query);

/* Counts bytes as memory of the query, which somebody else has.  TG_NO_MEMORY. */
extern tg_status tg_query_account(tg_query *query, size_t bytes) TG_MUST_USE;

/* Frees all of it: the last use of the query but for itself. */
extern void tg_query_memory_free(tg_session *session, tg_query *query);

/* --- phase.c --- */

/* The task that begins the first phase of a job.  NULL: refused. */
extern tg_task *tg_phases_bootstrap(tg_session *session, tg_query *query);
/* The same of a query in place. */
extern void tg_phases_begin(tg_session *session, tg_query *query);
/* Leaves the phase in hand, so that its figures are there. */
extern void tg_phases_stop(tg_session *session, tg_query *query);

/*
 * Whether what takes long may go on.  TG_CANCELLED: the job was cancelled; TG_AGAIN: in place, the
 * requester is interrupted, and the same call is to be made again.
 */
static inline tg_status
tg_query_look(const tg_query *query)
{
	if (query->job != NULL)
		return tg_job_is_cancelled(query->job) ? TG_CANCELLED : TG_OK;
	return query->config.is_interrupted() ? TG_AGAIN : TG_OK;
}

/* --- load.c --- */

extern size_t tg_evaluation_bytes(const tg_expressions *expressions);
extern void tg_evaluation_init(tg_evaluation *evaluation, const tg_expressions *expressions, unsigned step,
							   bool inputs_as_stored, void *memory);

/* Loads the inputs and runs the program.  Inside an epoch.  TG_OK, TG_UNFIT. */
extern tg_status tg_evaluate(const tg_query *query, tg_evaluation *evaluation, const tg_batch *batch) TG_MUST_USE;

/* About the cycles that it takes to load the inputs and run the program, for a row. */
extern unsigned tg_evaluation_cost(const tg_evaluation *evaluation);

static inline tg_vector *
tg_evaluated(const tg_evaluation *evaluation, unsigned index)
{
	return &evaluation->registers.vectors[index];
}

/* Of a dense batch. */
extern const uint16_t tg_dense_slots[TG_VECTOR_ROWS];

/*
 * The rows for which a BOOL is true, by their places, ascending; returns their number.  selected
 * has room for TG_VECTOR_ROWS.
 */
extern unsigned tg_select_true(const tg_vector *condition, unsigned count, uint16_t *selected);

/* Keeps these rows of a batch, ascending, in place.  match_count: the matches that it has. */
extern void tg_batch_keep(tg_batch *batch, const uint16_t *kept, unsigned kept_count, unsigned match_count);

/* --- row.c --- */

/*
 * Lays rows out; false: refused, also if they would be longer than 64 KB.  state_bytes: of the
 * states behind the fields.
 */
extern bool tg_row_layout_init(tg_session *session, tg_query *query, tg_row_layout *layout, const tg_sink *sink,
							   const uint8_t *state_bytes, unsigned state_count);

/*
 * Lists the blocks of the stores of all tasks as the table's, whose tasks then have empty ones.
 * False: refused.
 */
extern bool tg_rows_collect(tg_session *session, tg_query *query, tg_hash_table *table);

/* How many bytes of rows, and of what finds them, a task may keep in the step that begins. */
extern uint64_t tg_rows_max(const tg_query *query);

#define TG_ROW_FOUND_BY 32 /* bytes for each row that is kept, beside it: of a directory, of runs */

/* Whether a task's rows, with so many more, stay within that; otherwise it spills those it has. */
static inline bool
tg_rows_fit(const tg_query *query, const tg_row_store *store, const tg_row_layout *layout, unsigned more)
{
	return store->count == 0 || (store->count + more) * (layout->bytes + TG_ROW_FOUND_BY) <= query->rows_max;
}

/* The store is empty again; its memory is given back. */
extern void tg_rows_forget(tg_session *session, tg_query *query, tg_row_store *store);

/* A new row of a store; NULL: refused. */
extern tg_row *tg_row_add(tg_session *session, tg_query *query, tg_row_store *store, const tg_row_layout *layout);

/* Stores a field of many rows: rows[i] gets the vector's value at[i]; at may be NULL: value i. */
extern void tg_rows_store(const tg_row_layout *layout, unsigned field, const tg_vector *vector, const uint16_t *at,
						  tg_row *const *rows, unsigned count);

/* Runs of rows with equal keys, in a batch. */
typedef struct tg_runs
{
	unsigned count;
	uint16_t begins[TG_VECTOR_ROWS];  /* by run: its first row */
	uint16_t numbers[TG_VECTOR_ROWS]; /* by row: its run */
} tg_runs;

/* The keys of a batch's rows: so many of the fields that were evaluated. */
typedef struct tg_keys
{
	const tg_evaluation *evaluation;
	const uint16_t *fields;
	unsigned count;
	bool hashes_few; /* as the query's */
} tg_keys;

/* Those that the present step builds a table by, or groups. */
extern tg_keys tg_sink_keys(const tg_query_task *task);

/*
 * The runs of a batch that has rows.  Values are compared as they lie: runs that follow each other
 * may have equal keys, too.
 */
extern void tg_find_runs(const tg_keys *keys, unsigned count, tg_runs *runs);

/*
 * The hashes of the keys of row at[i]; at may be NULL: row i.  *nulls_out: for each hash a byte, of
 * whether a key is NULL, or NULL if none is; flags is memory for it.
 */
extern void tg_hash_keys(const tg_keys *keys, const uint16_t *at, unsigned count, uint64_t *hashes, uint8_t *flags,
						 const uint8_t **nulls_out);

/*
 * Clears equal[i] where the row rows[i] does not have the keys of row at[i] of the batch; at may be
 * NULL: row i.  NULLs are equal.
 */
extern void tg_compare_keys(const tg_row_layout *layout, const tg_keys *keys, const uint16_t *at, tg_row *const *rows,
							unsigned count, uint8_t *equal);

/* Whether two rows have the same keys. */
extern bool tg_rows_equal(const tg_row_layout *layout, unsigned key_count, tg_row *a, tg_row *b);

/* --- step.c --- */

/* Makes what the task needs for the present step.  TG_NO_MEMORY. */
extern tg_status tg_step_prepare(tg_query_task *task, tg_session *session) TG_MUST_USE;

/*
 * The morsels of the step: chunks, stretches of them, or ranges of all its tables; blocks of rows,
 * or of a rest; of a feed, as many as it has tasks.
 */
extern uint32_t tg_step_morsels(tg_query *query);

/* Of a table: its chunks, or its ranges. */
extern uint32_t tg_table_morsels(const tg_plan_table *table);

/*
 * Takes the next batch of a morsel through the step's pipeline; in_morsel tells whether there may
 * be another one.  TG_OK; TG_BUSY: if evaluated_count is not 0, the task is parked; else which rows
 * come next is not decided yet, and the same call is to be made again; TG_AGAIN, TG_CANCELLED
 * (tg_query_look); TG_UNFIT, TG_NO_MEMORY.
 */
extern tg_status tg_step_take(tg_query_task *task, tg_session *session, uint32_t morsel) TG_MUST_USE;

/*
 * The next operator of the present step, from a number on, whose build's rows without a match go
 * on; or the number of all operators.
 */
extern unsigned tg_step_next_rest(const tg_query *query, unsigned from);

/* The matches that a row has in front of an operator of the present step. */
extern unsigned tg_step_matches(const tg_query *query, unsigned at);

/* The step that the rows of a match of a step are of, by the number of the match. */
extern unsigned tg_step_of_match(const tg_query *query, unsigned step, unsigned match);

/*
 * The next batch of the morsel behind so many operators, not empty; NULL: there is none.  It is the
 * caller's to change until it pulls again.  Inside an epoch.
 */
extern tg_status tg_pull(tg_query_task *task, tg_session *session, unsigned at, tg_batch **batch_out) TG_MUST_USE;

/* --- codes.c --- */

/* The inputs of a filter that may have codes, */
extern uint64_t tg_codes_of_filter(const tg_expressions *expressions);
/* and those of a GROUP. */
extern uint64_t tg_codes_of_groups(const tg_sink *sink);
/* Makes the codes known that such inputs could have in this batch.  Inside an epoch. */
extern void tg_codes_want(tg_session *session, const tg_evaluation *evaluation, const tg_batch *batch);
/* Loads one of them as codes; until the epoch is left.  False: it has none. */
extern bool tg_codes_load(tg_evaluation *evaluation, unsigned number, const tg_batch *batch);
/* What has codes gets values: the registers that aggregates read, */
extern void tg_codes_expand_aggregates(const tg_evaluation *evaluation, const tg_sink *sink, unsigned count);
/* or all registers, which may be read after the epoch then. */
extern void tg_codes_expand_all(const tg_evaluation *evaluation, unsigned count);
/*
 * Rows with the same codes of all keys, as if they were runs.  The keys' values are there for the
 * first row of each.  False: not all keys have codes; all of them have values then.
 */
extern bool tg_codes_classes(const tg_keys *keys, unsigned count, tg_runs *classes);

/* --- skip.c --- */

/* The demands of a step's movable filters, the first so many operators; and then others. */
extern void tg_demands_find(const tg_plan_step *step, unsigned movable_count, const tg_demands *others,
							tg_demands *demands);

/* Whether it is known that no row of the chunk fulfils the demands.  Inside an epoch. */
extern bool tg_chunk_is_needless(const tg_plan_table *table, const tg_chunk *chunk, const tg_demands *demands);

/* No row of the chunk does: it may be known the next time.  Inside an epoch. */
extern void tg_chunk_was_needless(tg_session *session, const tg_plan_table *table, const tg_chunk *chunk,
								  const tg_demands *demands);

/* --- bound.c --- */

/* The task begins a step: which keys of its build it measures. */
extern void tg_bounds_begin(tg_query_task *task);
/* So many rows for the build, whose fields are evaluated. */
extern void tg_bounds_measure(tg_query_task *task, unsigned count);
/* When all rows are there: the bounds of the build. */
extern void tg_bounds_collect(tg_query *query);
/*
 * The next probe of a step, from an operator on, without whose keys a row of its tables is dropped,
 * and nothing that may fail is computed for it before; the number of operators: there is none.
 */
extern unsigned tg_bounds_next(const tg_plan_step *step, unsigned from);
/* The column of the tables that a key of a probe is; NULL: it is none, or has no bounds. */
extern const tg_input *tg_bounds_column(const tg_operator *operator, unsigned key);
/* What the builds that the present step probes demand of its tables' rows. */
extern void tg_bounds_find(const tg_query *query, tg_demands *bounds);
/* Keeps the rows of a chunk that fulfil them, in a batch without matches. */
extern void tg_bounds_keep(const tg_demands *bounds, tg_batch *batch);

/* --- look_up.c --- */

/* The present step begins: which of its tables are read by keys of a build, as query->sources. */
extern void tg_look_ups_begin(tg_session *session, tg_query *query);

/* --- range.c --- */

/* Makes what a task needs for the ranges of the present step.  TG_NO_MEMORY. */
extern tg_status tg_range_prepare(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* Begins a range of a table, as the morsel in hand. */
extern void tg_range_open(tg_query_task *task, const tg_plan_table *table, const tg_plan_range *range);
/*
 * Its next rows as the task's batch; none at its end.  TG_OK; TG_BUSY: which row is next is not
 * decided yet; TG_CANCELLED.
 */
extern tg_status tg_range_next(tg_query_task *task, tg_session *session) TG_MUST_USE;

/* --- feed.c --- */

/* The feeds of all steps; once, before the start.  TG_NO_MEMORY. */
extern tg_status tg_feeds_create(tg_session *session, tg_query *query) TG_MUST_USE;
/*
 * The next rows as the task's batch; none at the feed's end.  TG_OK; TG_BUSY: there are none yet,
 * the task is parked (waits_for_feed); TG_CANCELLED.
 */
extern tg_status tg_feed_next(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* The present step is to read its feed once more, if it has one, which has been read to its end. */
extern void tg_feed_rewind(tg_query *query);
/* No more rows are wanted; parked tasks run again.  Any thread. */
extern void tg_feeds_stop(tg_query *query, tg_session *session);

/* --- join.c --- */

extern tg_status tg_build_take(tg_query_task *task, tg_session *session, tg_batch *batch) TG_MUST_USE;
/* When all rows are there: the directory, empty. */
extern tg_status tg_build_finish(tg_session *session, tg_query *query) TG_MUST_USE;
extern void tg_build_link(tg_query *query, uint32_t block);

extern size_t tg_probe_bytes(const tg_operator *operator, unsigned matches_before);
extern void tg_probe_init(tg_operator_state *state, const tg_operator *operator, unsigned step, unsigned matches_before,
						  void *memory);
/* As tg_pull, for the operator of this number. */
extern tg_status tg_probe(tg_query_task *task, tg_session *session, unsigned at, tg_batch **batch_out) TG_MUST_USE;

/* --- join_files.c --- */

/* The rows that a task has for the build go to a file.  TG_NO_MEMORY, TG_IO, TG_CANCELLED. */
extern tg_status tg_build_spill(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* When all rows are there, and some in files: all go there.  TG_NO_MEMORY, TG_IO, TG_CANCELLED. */
extern tg_status tg_build_written(tg_session *session, tg_query *query) TG_MUST_USE;
/* The rows of a pass are to be loaded, a run each, and linked. */
extern void tg_build_begin_pass(tg_hash_table *table, unsigned pass);
extern tg_status tg_build_load(tg_query *query, tg_hash_table *table, uint32_t run) TG_MUST_USE;
/* They have got marks, which are to stay. */
extern tg_status tg_build_write_back(tg_query *query, tg_hash_table *table) TG_MUST_USE;
/* Whether rows with this hash are of the pass in hand. */
extern bool tg_build_is_in_pass(const tg_hash_table *table, uint64_t hash);

/* --- group.c --- */

extern bool tg_group_layout_init(tg_session *session, tg_query *query, tg_row_layout *layout, const tg_sink *sink);
extern tg_status tg_group_take(tg_query_task *task, tg_session *session, tg_batch *batch) TG_MUST_USE;
/* One without keys has a group before there is a row, unless it has one of a step before. */
extern tg_status tg_group_begin(tg_query_task *task, tg_session *session) TG_MUST_USE;
/*
 * A task has no more rows: the partial sums of its groups are added up; of one that has groups in
 * files, all go there.  TG_NO_MEMORY, TG_IO, TG_CANCELLED.
 */
extern tg_status tg_group_end(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* Lists the groups of a task by their partitions.  TG_NO_MEMORY. */
extern tg_status tg_group_split(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* Merges the groups of a partition, of all tasks. */
extern tg_status tg_group_merge(tg_query *query, tg_session *session, unsigned partition) TG_MUST_USE;
/* The groups, merged, become rows for later steps.  TG_NO_MEMORY. */
extern tg_status tg_group_keep(tg_session *session, tg_query *query) TG_MUST_USE;
/* Groups in files are all merged, and can be read.  TG_NO_MEMORY. */
extern tg_status tg_group_written(tg_session *session, tg_query *query) TG_MUST_USE;
/*
 * The value of an aggregate of groups that an earlier step has kept; from the number of aggregates
 * on, the number of its rows.  TG_OK, TG_UNFIT.
 */
extern tg_status tg_group_load(const tg_query *query, unsigned step, unsigned aggregate, tg_row *const *groups,
							   unsigned count, tg_vector *vector) TG_MUST_USE;
/* The keys and totals of a group that the step has made. */
extern void tg_group_read(const tg_query *query, unsigned step, tg_row *group, tg_value *keys, bool *key_nulls,
						  tg_total *totals);

/* --- deliver.c --- */

/* The channel of a plan's last step; called once, before the start.  TG_NO_MEMORY. */
extern tg_status tg_delivery_create(tg_session *session, tg_query *query) TG_MUST_USE;
/* Parked tasks run again, by the thread that cancels the job.  Nothing, if there is no channel. */
extern void tg_delivery_stop(tg_query *query, tg_session *session);
/* There are no more tasks. */
extern void tg_delivery_finish(tg_query *query, tg_session *session, tg_status status);
/* The requester leaves. */
extern void tg_delivery_close(tg_query *query, tg_session *session);

/*
 * Copies the rows that were evaluated, from the first one on that has not been sent.  TG_OK;
 * TG_BUSY: there is no buffer, the task is parked; TG_NO_MEMORY, TG_CANCELLED.
 */
extern tg_status tg_deliver(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* A task has no more rows. */
extern void tg_deliver_end(tg_query_task *task, tg_session *session, bool well);

/* --- sort.c --- */

/* For the rows of a plan's last step; called once, before the start.  TG_NO_MEMORY. */
extern tg_status tg_sort_create(tg_session *session, tg_query *query) TG_MUST_USE;
/* When the step begins.  TG_NO_MEMORY: its rows would be too long. */
extern tg_status tg_sort_begin(tg_query *query) TG_MUST_USE;
/*
 * Takes the rows of a batch, before anything of the sink is computed.  TG_UNFIT, TG_NO_MEMORY,
 * TG_IO, TG_CANCELLED.
 */
extern tg_status tg_sort_take(tg_query_task *task, tg_session *session, tg_batch *batch) TG_MUST_USE;
/* A task has no more rows: they are sorted.  TG_NO_MEMORY, TG_IO, TG_CANCELLED. */
extern tg_status tg_sort_end(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* No task has more rows: the runs in files are listed.  TG_NO_MEMORY. */
extern tg_status tg_sort_collect(tg_session *session, tg_query *query) TG_MUST_USE;
/*
 * Whether they are too many to be merged by the requester.  Then tasks merge so many groups of
 * them, each into one run.  TG_NO_MEMORY, TG_IO, TG_CANCELLED.
 */
extern bool tg_sort_has_many_files(tg_query *query);
extern uint32_t tg_sort_merge_count(const tg_query *query);
extern tg_status tg_sort_merge(tg_query *query, tg_session *session, uint32_t number) TG_MUST_USE;
/* All groups are merged: their runs are listed. */
extern void tg_sort_merged(tg_query *query);
/* The requester can take rows.  TG_NO_MEMORY, TG_IO, TG_CANCELLED. */
extern tg_status tg_sort_finish(tg_session *session, tg_query *query) TG_MUST_USE;
/* The next group in order, until the next call.  TG_NOT_FOUND: there are no more; TG_IO. */
extern tg_status tg_sort_next_group(tg_query *query, tg_row **group_out) TG_MUST_USE;
/* As tg_query_rows. */
extern tg_status tg_sort_next_rows(tg_query *query, const tg_vectors **rows_out) TG_MUST_USE;

#endif /* TG_QUERY_INTERNAL_H */
