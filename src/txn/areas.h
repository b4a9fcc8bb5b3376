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

/*
 * What the areas are for, and the rights that they ask for.  A preserve keeps everybody else's
 * writes out, so it asks for what LOCK TABLE asks for in the modes that do so: a right to change or
 * remove any row of the table.
 */
typedef enum tsurugi_area_use
{
	TSURUGI_AREA_TO_PRESERVE, /* UPDATE, DELETE or TRUNCATE on the table */
	TSURUGI_AREA_TO_WRITE,	  /* INSERT, UPDATE or DELETE on the table, or a column of it */
	TSURUGI_AREA_TO_READ	  /* SELECT on the table, or a column of it */
} tsurugi_area_use;

/* The lock that tables are taken with. */
extern LOCKMODE tsurugi_area_lock(tsurugi_area_use use);

/* The names of a list, in the current memory context; raises 22023 for what is no such list. */
extern List *tsurugi_areas_parse(const char *list);

/*
 * Finds the tables by search_path and checks the role's rights; raises what SQL raises
 * for tables that are not there, are not ours (42809) or not allowed.  A partitioned
 * table stands for its partitions of ours.  Locks the tables for the transaction.
 * *count_out areas in the current memory context.
 */
extern tg_area *tsurugi_areas_resolve(const char *list, tsurugi_area_use use, Oid role, unsigned *count_out);

/*
 * The areas as a list, their tables with the schemas in which the role finds them; checks it
 * likewise.
 */
extern char *tsurugi_areas_qualify(List *areas, tsurugi_area_use use, Oid role);

#endif /* TSURUGI_AREAS_H */
