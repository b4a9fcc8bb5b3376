/*
 * areas.h
 *	  Areas that transactions declare to write or to read, in the users' notation.
 *
 * A list of tables, separated by commas.  A table may be followed by a range of its primary key:
 * bounds as arrays of text, [ or ] if the bound is included, ( or ) if it is not, nothing for an
 * open end.  A bound may consist of the first columns of the key only.
 *
 *	contract, sales.history [{2024,1},{2025}), "Archive" [{7},)
 */
#ifndef TSURUGI_AREAS_H
#define TSURUGI_AREAS_H

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

typedef struct tg_area tg_area; /* preserve.h */

/* An element of the list, as it is written. */
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
 * The uses of areas, and the rights that they require.  A preserve keeps other transactions' writes
 * out, so it requires the rights that LOCK TABLE requires for modes that do so: a right to change
 * or remove any row of the table.
 */
typedef enum tsurugi_area_use
{
	TSURUGI_AREA_TO_PRESERVE, /* UPDATE, DELETE or TRUNCATE on the table */
	TSURUGI_AREA_TO_WRITE,	  /* INSERT, UPDATE or DELETE on the table, or a column of it */
	TSURUGI_AREA_TO_READ	  /* SELECT on the table, or a column of it */
} tsurugi_area_use;

/* Whether a role has the rights that the use of a table needs. */
extern bool tsurugi_area_is_allowed(Oid relation, tsurugi_area_use use, Oid role);

/* The mode in which the tables are locked. */
extern LOCKMODE tsurugi_area_lock(tsurugi_area_use use);

/* The elements of a list, in the current memory context; raises 22023 for an invalid list. */
extern List *tsurugi_areas_parse(const char *list);

/*
 * Finds the tables by search_path and checks the role's rights.  Raises the usual errors for tables
 * that do not exist or are not permitted, and 42809 for tables that are not in memory.  A
 * partitioned table stands for its partitions in memory.  Locks the tables for the transaction.
 * Returns *count_out areas in the current memory context.
 */
extern tg_area *tsurugi_areas_resolve(const char *list, tsurugi_area_use use, Oid role, unsigned *count_out);

/*
 * The areas as a list, with the schemas in which the role finds the tables; makes the same checks.
 */
extern char *tsurugi_areas_qualify(List *areas, tsurugi_area_use use, Oid role);

#endif /* TSURUGI_AREAS_H */
