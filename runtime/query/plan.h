/*
 * plan.h
 *	  What the job of a query does: steps, their operators, and what these compute.
 *
 * A step is a pipeline: a source of rows, operators that drop or multiply them, and a sink.  The
 * source is a table, or several, of each of which all rows are read, or those in ranges of an
 * index; or the rows that an earlier step has kept; or a feed, rows that the requester offers while
 * the query runs (feed.c).  The sink is an exchange: the rows of a BUILD are put into a hash table,
 * which the probes of later steps look into; those of a GROUP are aggregated; those of a DELIVER
 * are handed out; so are those of a SORT, in order; those of a STORE are inserted into a table.
 *
 *		step 0:  orders   -> filter ----------> build (o_orderkey)
 *		step 1:  lineitem -> filter -> probe 0 -> group by, sums
 *
 * Steps run in their order.  The last one is a GROUP, whose groups are the result, a DELIVER, a
 * SORT, or a STORE.  The groups of an earlier GROUP are the source of a later step.
 *
 * Several steps that follow one another may have the same sink, a BUILD, a GROUP or a SORT: it gets
 * the rows of all of them (append).  What it makes is told by the number of the last one.
 *
 *		step 0:  orders_2024 -> filter -> into the sink of 1
 *		step 1:  orders_2025 -> filter -> group by, sums
 *
 * A semi or anti join may also build the side whose rows it hands out: the other side's rows mark
 * the rows that they match, and a further step reads those with a mark, or those without.
 *
 *		step 0:  orders   -> filter -> build (o_orderkey), with marks
 *		step 1:  lineitem -> filter -> mark 0
 *		step 2:  marked rows of 0 -> group by
 *
 * The probe of a right or full join marks, too, and hands on its pairs.  When the step's source has
 * no more rows, those of the build that have no mark go on behind the probe, in the same step.
 *
 * A row on its way is not copied.  It is a slot of the table's chunk, or a row of an earlier step,
 * and for each probe that it has passed the row that it matched.  An expression loads the values
 * that it needs from these, its inputs: so a column that only a late operator needs is read for the
 * rows that get there.
 *
 * A plan lies in the query's memory (tg_query_alloc), is made by the host, and is constant from the
 * start on.
 */
#ifndef TG_PLAN_H
#define TG_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/vector/program.h"

typedef struct tg_btree_sieve tg_btree_sieve; /* btree.h */

#define TG_PLAN_PROBES_MAX 12 /* of a step */
#define TG_PLAN_STEPS_MAX 32
#define TG_PLAN_KEYS_MAX 32

/*
 * Of keys that are looked up in an index (look_up.c): so many rows of a build at most; nanoseconds
 * of one core for a key, which is encoded, sorted and looked up, and for a row that has it.  The
 * host's planner estimates by the same.
 */
#define TG_LOOK_UPS_MAX 16384
#define TG_LOOK_UP_NS 1500
#define TG_LOOK_UP_NS_ROW 60

/* How an input is loaded; a table's column has the kind that it is stored as. */
typedef enum tg_input_form
{
	TG_LOAD_BOOL,	 /* KIND_1 */
	TG_LOAD_INT,	 /* kinds up to KIND_8 */
	TG_LOAD_NUMERIC, /* KIND_8 or KIND_16; NaN, and what does not fit into 64 bits, is unfit */
	TG_LOAD_FLOAT,	 /* KIND_8 */
	TG_LOAD_DECIMAL, /* STRING: the host's numeric; what is no decimal is unfit */
	TG_LOAD_TEXT,	 /* STRING: inline, or a blob with the host's header of 4 bytes */
	TG_LOAD_CELL	 /* KIND_16, STRING: 16 bytes in a TEXT, which nothing looks at: to be handed out */
} tg_input_form;

typedef struct tg_input
{
	/*
	 * 0: the step's table, or feed.  From 1 on the row's matches: the row of an earlier step that
	 * the step reads, if it does, then those of the step's probes.
	 */
	uint8_t source;
	uint8_t load; /* tg_input_form; of a table or feed alone */
	/*
	 * The table's column (tg_plan_table), the feed's, the build's field, the group's key, or its
	 * aggregate; behind these, how many rows of the group each of the aggregates is of.
	 */
	uint16_t field;
} tg_input;

/* A field of a match, a BOOL: there is one. */
#define TG_FIELD_PRESENCE UINT16_MAX

/* A program with what its inputs are: one for each of program.input_count. */
typedef struct tg_expressions
{
	tg_program program;
	const tg_input *inputs;
} tg_expressions;

typedef enum tg_join
{
	TG_JOIN_INNER,
	TG_JOIN_LEFT,  /* a row without a match stays once; the fields of its match are NULL */
	TG_JOIN_SEMI,  /* a row with a match stays once; the match has no fields */
	TG_JOIN_ANTI,  /* a row without a match stays; a row with a NULL key has none */
	TG_JOIN_MARK,  /* no row stays; all of its matches get a mark; the build is one with marks */
	TG_JOIN_RIGHT, /* a row of the build without a match stays once; the build is one with marks */
	TG_JOIN_FULL,  /* both LEFT and RIGHT */
	/*
	 * Of one key, without a further condition.  All rows stay if the build has got none, and no row
	 * if it has got a NULL; else those without a match whose key is not NULL.
	 */
	TG_JOIN_NOT_IN
} tg_join;

/* Whether the pairs of a probe go on, with the fields of the build's row. */
static inline bool
tg_join_hands_pairs(tg_join join)
{
	return join == TG_JOIN_INNER || join == TG_JOIN_LEFT || join == TG_JOIN_RIGHT || join == TG_JOIN_FULL;
}

/* Whether the rows of the build that have no match go on, behind all others. */
static inline bool
tg_join_has_rest(tg_join join)
{
	return join == TG_JOIN_RIGHT || join == TG_JOIN_FULL;
}

typedef enum tg_operator_kind
{
	TG_FILTER, /* keeps the rows for which the condition is true */
	/* each row goes on as often as an INT says; not at all where it is NULL, or below 1 */
	TG_REPEAT,
	TG_PROBE
} tg_operator_kind;

typedef struct tg_operator
{
	uint8_t kind;	/* tg_operator_kind */
	uint8_t join;	/* PROBE: tg_join */
	uint16_t build; /* PROBE: the step, an earlier one, that fills the hash table */
	/*
	 * FILTER: the condition.  REPEAT: the number.  PROBE: the keys, as many and of the same types
	 * as the build's.
	 */
	const tg_expressions *expressions;
	uint16_t condition;	  /* FILTER, REPEAT: register */
	const uint16_t *keys; /* PROBE: registers */
	/*
	 * PROBE: what a pair must fulfil beyond equal keys, to match; its inputs may be fields of this
	 * probe's match.  NULL: nothing.
	 */
	const tg_expressions *match;
	uint16_t match_condition; /* register */
} tg_operator;

typedef enum tg_function
{
	TG_COUNT,		/* rows; with an argument: rows where it is not NULL */
	TG_SUM_INT,		/* sum, exact, and count of an INT */
	TG_SUM_DECIMAL, /* likewise of a DECIMAL; what needs more than 127 bits is unfit */
	TG_SUM_FLOAT,	/* sum and count of a FLOAT; an infinity that comes of finite values is unfit */
	TG_MIN,			/* of any type; BOOL: and */
	TG_MAX			/* BOOL: or */
} tg_function;

typedef struct tg_aggregate
{
	uint8_t function;  /* tg_function */
	uint16_t argument; /* register; COUNT: or TG_REGISTER_NONE */
	uint16_t filter;   /* register, a BOOL: other rows do not count; TG_REGISTER_NONE: all do */
} tg_aggregate;

/* How the values of a key are ordered; NaN is above all others, zeros of both signs are equal. */
typedef enum tg_order
{
	TG_ORDER_VALUE,	  /* of any type; TEXT byte by byte */
	TG_ORDER_TRIMMED, /* TEXT: byte by byte, without the blanks at its end */
	/* as they are stored */
	TG_ORDER_WIDE,	   /* a cell: an integer of 128 bits */
	TG_ORDER_BYTES,	   /* a cell: 16 bytes, one by one */
	TG_ORDER_INTERVAL, /* a cell: microseconds, then days and months of 4 bytes; months have 30 days */
	TG_ORDER_UNSIGNED, /* INT: its lower 32 bits, without a sign */
	TG_ORDER_FLOAT4	   /* INT: its lower 32 bits, a float */
} tg_order;

typedef struct tg_sort_key
{
	uint16_t value; /* register */
	uint8_t order;	/* tg_order */
	bool descending;
	bool nulls_first; /* also if it is descending */
} tg_sort_key;

typedef enum tg_sink_kind
{
	TG_BUILD,
	TG_GROUP,
	TG_DELIVER,
	TG_SORT,
	TG_STORE,
	TG_NOTHING /* no row gets there: the last operator marks */
} tg_sink_kind;

/* How a column to be stored is made from a field. */
typedef enum tg_store_form
{
	TG_STORE_NULL,	 /* it has no field, and is NULL */
	TG_STORE_BOOL,	 /* BOOL, in KIND_1 */
	TG_STORE_WORD,	 /* INT or FLOAT, in kinds up to KIND_8, where it fits */
	TG_STORE_WIDE,	 /* INT, in KIND_16 as an integer of 128 bits */
	TG_STORE_CELL,	 /* 16 bytes in a TEXT, in KIND_16 */
	TG_STORE_TEXT,	 /* TEXT, in STRING */
	TG_STORE_DECIMAL /* DECIMAL, in STRING as the host's numeric */
} tg_store_form;

typedef struct tg_store_column
{
	uint8_t form;	/* tg_store_form */
	bool not_null;	/* a row where it is NULL is unfit */
	uint16_t field; /* of the sink */
} tg_store_column;

/* A table that gets the rows of a STORE. */
typedef struct tg_store
{
	tg_table *table;
	const uint8_t *kinds; /* of each column, as in the table */
	unsigned column_count;
	const tg_store_column *columns;
	unsigned check_count;
	const uint16_t *checks; /* registers of BOOLs: a row for which one is false is unfit */
} tg_store;

typedef struct tg_sink
{
	uint8_t kind; /* tg_sink_kind */
	/*
	 * BUILD, GROUP, SORT: the rows of the next step go into it, too.  That step's sink is of the
	 * same kind, with the same fields, functions and order: expressions and registers may differ,
	 * their types do not.
	 */
	bool goes_on;
	uint16_t key_count;
	/* of the BUILD: key_count keys, then other fields; DELIVER, SORT: what is handed out; STORE */
	uint16_t field_count;
	/*
	 * DELIVER: rows are handed out before the job has ended.  No operator of the step can be unfit,
	 * by whatever values.
	 */
	bool streams;
	bool marked;			  /* BUILD: its rows can be marked */
	bool keeps_nulls;		  /* BUILD: a row with a NULL key stays, but matches none */
	uint16_t aggregate_count; /* GROUP; as fields of a group they follow the keys */
	const tg_expressions *expressions;
	const uint16_t *fields; /* registers; GROUP: of the keys, where NULLs are equal */
	const tg_aggregate *aggregates;
	/* SORT: what rows are ordered by, which is computed before the fields */
	const tg_expressions *order;
	const tg_sort_key *sort_keys; /* at least one */
	uint16_t sort_key_count;
	bool sorts_groups;	   /* of the source, a GROUP: they are the result, and there are no fields */
	uint64_t limit;		   /* rows that are wanted, at least 1; UINT64_MAX: all */
	const tg_store *store; /* STORE; its columns are made of the fields */
} tg_sink;

/* A range of an index, with ends as of a tg_range_scan. */
typedef struct tg_plan_range
{
	tg_index *index; /* NULL: the primary key */
	const void *low;
	const void *high;
	uint32_t low_bytes;
	uint32_t high_bytes;
	bool low_inclusive;
	bool high_inclusive;
	const tg_btree_sieve *sieve; /* NULL; or which of its keys are wanted (look_up.c) */
} tg_plan_range;

/* A table that a step reads: one, or several of the same columns, as partitions are. */
typedef struct tg_plan_table
{
	tg_table *table;
	const uint16_t *columns; /* of the table, by an input's field; NULL: the field is the column */
	/* The rows in these ranges are read, of which no two have a row in common; else all rows. */
	bool by_ranges;
	uint32_t range_count;
	const tg_plan_range *ranges;
	/*
	 * All rows: also indexes by which some of them may be read instead; NULL: the primary key.
	 * Each has all rows, for snapshots that are not older than itself, and stays until the end.
	 */
	uint16_t index_count;
	tg_index *const *indexes;
} tg_plan_table;

typedef enum tg_source
{
	TG_FROM_TABLES,
	TG_FROM_ROWS, /* all of an earlier step's: of its build, or its groups */
	TG_FROM_MARKED,
	TG_FROM_UNMARKED,
	TG_FROM_FEED
} tg_source;

/* Whether the rows are those of an earlier step. */
static inline bool
tg_source_is_step(tg_source source)
{
	return source == TG_FROM_ROWS || source == TG_FROM_MARKED || source == TG_FROM_UNMARKED;
}

typedef struct tg_plan_step
{
	uint8_t source;		  /* tg_source */
	uint16_t from;		  /* the earlier step, if it is one */
	uint16_t table_count; /* TABLES: at least 1; else 0 */
	const tg_plan_table *tables;
	uint16_t feed_column_count; /* FEED */
	const uint8_t *feed_kinds;	/* tg_kind of each column: as a table has it */
	uint16_t operator_count;
	uint16_t probe_count; /* of the operators */
	const tg_operator *operators;
	tg_sink sink;
} tg_plan_step;

typedef struct tg_plan
{
	unsigned step_count;
	const tg_plan_step *steps;
} tg_plan;

#endif /* TG_PLAN_H */
