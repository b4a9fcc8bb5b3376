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
	/* when the new relation has the name, and the old one is still there; under fixed names */
	List *replace;
	List *drop;	  /* then */
	List *keys;	  /* when the old one is gone: ALTER TABLE, for tsurugi_follower_key_add */
	List *create; /* then */
	List *define; /* then; under fixed names */

	/*
	 * CHECK constraints that are not valid, which rows are not to be checked by: quoted names, and
	 * in the same order definitions, to be run under fixed names.
	 */
	List *unchecked;
	List *checks;
} tsurugi_followers;

/* Raises 2BP01 with a list if something cannot go with it.  Connected to SPI, as is the next one. */
extern void tsurugi_followers_check(Oid relation, const char *name, bool into_memory);

/*
 * What is to be run, in the current memory context, while the table has the name that it has now.
 * Expressions are written for names that are fixed as in query.h.
 */
extern void tsurugi_followers_collect(Oid relation, tsurugi_followers *followers);

/* The same of foreign keys that refer to what it is a partition of. */
extern void tsurugi_followers_collect_above(Oid partition, tsurugi_followers *followers);

/*
 * Adds a foreign key as it was, valid or not, without a look at the rows (see followers.c).  The
 * transaction has held the moved table's lock against all others since before it collected the key.
 */
extern void tsurugi_follower_key_add(const char *statement);

/*
 * Which triggers fire, of the table, and of foreign keys that refer to it or to what is partitioned with it.  Then, when all
 * is made again: as they did.  Connected to SPI, under a snapshot that shows it.
 */
extern List *tsurugi_trigger_states_collect(Oid relation);
extern void tsurugi_trigger_states_restore(const List *before, Oid old, Oid fresh);

#endif /* TSURUGI_FOLLOWERS_H */
