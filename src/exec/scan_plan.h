/*
 * scan_plan.h
 *	  The data in a plan of a scan of a foreign table, or of an INSERT into one.
 *
 *	ForeignScan
 *	  fdw_private	  tsurugi_scan_plan		which way to read, which columns, for which statement
 *		access		  tsurugi_scan_access	of an index, or of the table
 *		parts		  tsurugi_scan_access	each of an arm of an OR, or of a further index
 *	  fdw_exprs		  tsurugi_scan_exprs	the expressions, where PostgreSQL's planner finds them
 *	ModifyTable
 *	  fdwPrivLists	  tsurugi_insert_plan	of each table that rows are inserted into
 *
 * All but the expressions are nodes (ExtensibleNode): PostgreSQL copies them into its plan caches,
 * compares and prints them, and reads them again, as it does with its own.  Expressions are lists
 * inside of a list, which the planner's walkers understand; only scan_plan.c knows their order.
 */
#ifndef TSURUGI_SCAN_PLAN_H
#define TSURUGI_SCAN_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* The way a scan reads its table. */
typedef enum tsurugi_way
{
	TSURUGI_WAY_TABLE, /* the whole table, chunk by chunk */
	TSURUGI_WAY_KEY,   /* one row, by its whole primary key; several, one after the other */
	TSURUGI_WAY_RANGE, /* a range of an index, in order; several, one after the other */
	TSURUGI_WAY_ARMS,  /* keys and ranges of several indexes, for the arms of an OR (or_scan.c) */
	TSURUGI_WAY_PLACE  /* rows by their ctid (fdw_tid.c) */
} tsurugi_way;

/* One end of a range, on the column of the index after those that are fixed. */
typedef enum tsurugi_bound
{
	TSURUGI_BOUND_NONE,
	TSURUGI_BOUND_INCLUSIVE,
	TSURUGI_BOUND_EXCLUSIVE,
	TSURUGI_BOUND_PATH /* high: what is below the path that is the low one, too (path.h) */
} tsurugi_bound;

/*
 * Which part of an index is read, and how.  Leading columns are fixed: compared for equality.  What
 * is said of "the next column" is said of the one after them.
 */
typedef struct tsurugi_shape
{
	tsurugi_way way;
	Oid index;		 /* KEY, RANGE */
	int fixed_count; /* of an index USING gin: conditions */
	uint32_t arrays; /* fixed columns that may have any value of an array: bit by column */
	uint32_t nulls;	 /* fixed columns that are to be NULL */
	/* RANGE, of the next column: */
	tsurugi_bound low;
	tsurugi_bound high;
	int low_more;  /* rows are compared: columns after it that the low bound has values of */
	int high_more; /* the same of the high bound */
	int covers;	   /* conditions on it that are answered by its covers */
	bool nearest;  /* the nearest rows first, by its covers (nearest.c) */
	bool not_null; /* it is not to be NULL */
	bool backward; /* the order is descending */
} tsurugi_shape;

/* How many values it is compared with. */
extern int tsurugi_shape_value_count(const tsurugi_shape *shape);

/* How many of them are what is to be near, and a bound's. */
static inline int
tsurugi_shape_near_count(const tsurugi_shape *shape)
{
	return shape->nearest ? 1 : 0;
}

static inline int
tsurugi_shape_low_count(const tsurugi_shape *shape)
{
	return shape->low == TSURUGI_BOUND_NONE ? 0 : 1 + shape->low_more;
}

static inline int
tsurugi_shape_high_count(const tsurugi_shape *shape)
{
	return shape->high == TSURUGI_BOUND_NONE ? 0 : 1 + shape->high_more;
}

/* The use of one index, or of none. */
typedef struct tsurugi_scan_access
{
	ExtensibleNode node;
	tsurugi_shape shape;
	/* of each condition on keys (USING gin) or covers: */
	List *sought_columns;	/* the column of the index */
	List *sought_operators; /* the operator */
	bool exact;				/* of an arm: the index returns only rows of the arm */
	int rows;				/* of a further index: estimated */
} tsurugi_scan_access;

/* A scan. */
typedef struct tsurugi_scan_plan
{
	ExtensibleNode node;
	tsurugi_scan_access *access;
	List *parts;	 /* ARMS: the arms.  RANGE: other indexes (and_scan.c) */
	List *columns;	 /* attribute numbers that are read, ascending */
	List *set;		 /* direct UPDATE: attribute numbers that are set */
	CmdType direct;	 /* of a direct modification; else CMD_UNKNOWN */
	CmdType locks;	 /* UPDATE or DELETE, if it may lock rows as they are read; else CMD_UNKNOWN */
	bool counts;	 /* a direct modification's rows are the statement's */
	uint32_t number; /* of a plan whose executor state may be kept (prepared.c); else 0 */
} tsurugi_scan_plan;

/* An INSERT. */
typedef struct tsurugi_insert_plan
{
	ExtensibleNode node;
	bool set_is_volatile; /* ON CONFLICT DO UPDATE: computations are observable */
	uint32_t number;	  /* as in tsurugi_scan_plan */
} tsurugi_insert_plan;

/* The expressions of a part. */
typedef struct tsurugi_part_exprs
{
	List *answered; /* of an arm: the conditions for whose rows it stands */
	List *values;	/* as in tsurugi_scan_exprs */
} tsurugi_part_exprs;

/* The expressions of a scan, each where there is one. */
typedef struct tsurugi_scan_exprs
{
	/*
	 * What the access is compared with: values of the fixed columns (an array, where that is what
	 * fixes one; nothing for IS NULL), the low bound, the high bound, each with the values of its
	 * further columns; what covers are compared with; what is to be near.  PLACE: the ctids.
	 */
	List *values;
	Expr *distance;	 /* by which the nearest rows come first */
	List *parts;	 /* of each part a list, for tsurugi_part_exprs_get */
	Expr *condition; /* of a direct modification */
	Expr *recheck;	 /* of it: what the index has answered */
	List *set;		 /* direct UPDATE: the new values */
} tsurugi_scan_exprs;

/* Registers the nodes.  Once, where the library is loaded. */
extern void tsurugi_scan_plan_init(void);

/* New nodes: of this shape, and of a scan by this access. */
extern tsurugi_scan_access *tsurugi_scan_access_make(const tsurugi_shape *shape);
extern tsurugi_scan_plan *tsurugi_scan_plan_make(tsurugi_scan_access *access);
extern tsurugi_insert_plan *tsurugi_insert_plan_make(void);

/* The data in a ForeignScan of this wrapper. */
extern tsurugi_scan_plan *tsurugi_scan_plan_of(const ForeignScan *plan);

/* The number of a plan; 0 also of another wrapper's. */
extern uint32_t tsurugi_plan_number(const ForeignScan *plan);
extern uint32_t tsurugi_insert_plan_number(const List *fdw_private);

/* Whether the plan of a modification says that the set is volatile. */
extern bool tsurugi_conflict_set_is_noted_volatile(const List *fdw_private);

/* To fdw_exprs, and from there. */
extern List *tsurugi_scan_exprs_to_list(const tsurugi_scan_exprs *exprs);
extern void tsurugi_scan_exprs_get(const ForeignScan *plan, tsurugi_scan_exprs *exprs_out);

extern List *tsurugi_part_exprs_to_list(const tsurugi_part_exprs *exprs);
extern void tsurugi_part_exprs_get(const tsurugi_scan_exprs *exprs, int part, tsurugi_part_exprs *exprs_out);

#endif /* TSURUGI_SCAN_PLAN_H */
