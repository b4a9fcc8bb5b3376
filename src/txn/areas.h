/*
 * areas.h
 *	  Areas that transactions announce to write or to read, as users name them.
 *
 * A list, separated by commas, of tables; a table may be followed by a range of
 * its primary key: bounds as arrays of text, [ or ] with the bound, ( or ) without, nothing
 * for an open end.  A bound may name the first columns of the key only.
 *
 *	contract, sales.history [{2024,1},{2025}), "Archive" [{7},)
 */
#ifndef TSURUGI_AREAS_H
#define TSURUGI_AREAS_H

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

#include "runtime/runtime.h"

/* One of the list, as it stands there. */
typedef struct tsurugi_area_name
{
	List *name;		  /* of the table, qualified or not */
	const char *low;  /* array of text; NULL: open, or all of the table */
	const char *high; /* likewise */
	bool is_range;
	bool low_inclusive;
	bool high_inclusive;
} tsurugi_area_name;

/* What the areas are for, and what they ask for. */
typedef enum tsurugi_area_use
{
	TSURUGI_AREA_TO_WRITE, /* INSERT, UPDATE or DELETE on the table */
	TSURUGI_AREA_TO_READ   /* SELECT on a column of it */
} tsurugi_area_use;

/* The names of a list, in the current memory context; raises 22023 for what is no such list. */
extern List *tsurugi_areas_parse(const char *list);

/* One of them, written as it is read; its table as it is found by search_path, with its schema. */
extern char *tsurugi_area_name_text(const tsurugi_area_name *area);

/*
 * Finds the tables by search_path and checks the rights; raises what SQL raises
 * for tables that are not there, are not ours (42809) or not allowed.  A partitioned
 * table stands for its partitions of ours.  Locks the tables for the transaction.
 * *count_out areas in the current memory context.
 */
extern tg_area *tsurugi_areas_resolve(const char *list, tsurugi_area_use use, unsigned *count_out);

#endif /* TSURUGI_AREAS_H */
