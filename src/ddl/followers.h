/*
 * followers.h
 *	  What belongs to a table, or refers to it, and goes with it where it becomes another relation.
 */
#ifndef TSURUGI_FOLLOWERS_H
#define TSURUGI_FOLLOWERS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Statements, as text. */
typedef struct tsurugi_followers
{
	List *replace; /* when the new relation has the name, and the old one is still there */
	List *drop;	   /* then */
	List *create;  /* when the old one is gone */

	/* CHECK constraints that are not valid, which rows are not to be checked by: quoted names, and in the same order definitions. */
	List *unchecked;
	List *checks;
} tsurugi_followers;

/* Raises 2BP01 with a list if something cannot go with it.  Connected to SPI, as is the next one. */
extern void tsurugi_followers_check(Oid relation, const char *name, bool into_memory);

/* What is to be run, in the current memory context; under the search_path and the name that are in force now. */
extern void tsurugi_followers_collect(Oid relation, tsurugi_followers *followers);

/* The same of foreign keys that refer to what it is a partition of. */
extern void tsurugi_followers_collect_above(Oid partition, tsurugi_followers *followers);

/*
 * Which triggers fire, of the table, and of foreign keys that refer to it or to what is partitioned with it.  Then, when all
 * is made again: as they did.  Connected to SPI, under a snapshot that shows it.
 */
extern List *tsurugi_trigger_states_collect(Oid relation);
extern void tsurugi_trigger_states_restore(const List *before, Oid old, Oid fresh);

#endif /* TSURUGI_FOLLOWERS_H */
