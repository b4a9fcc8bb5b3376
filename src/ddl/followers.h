/*
 * followers.h
 *	  Objects that belong or refer to a table and follow it when it becomes another relation.
 */
#ifndef TSURUGI_FOLLOWERS_H
#define TSURUGI_FOLLOWERS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Statements, as text. */
typedef struct tsurugi_followers
{
	/*
	 * First: when the new relation has the name, and the old one still exists; under a fixed search
	 * path.
	 */
	List *replace;
	List *drop; /* second */
	/* Third, when the old relation is gone: ALTER TABLE, for tsurugi_follower_key_add. */
	List *keys;
	List *create; /* fourth */
	List *define; /* fifth; under a fixed search path */

	/*
	 * CHECK constraints that are not valid, so that rows must not be checked by them: quoted names
	 * and, in the same order, definitions, to be executed under a fixed search path.
	 */
	List *unchecked;
	List *checks;
} tsurugi_followers;

/*
 * Raises 2BP01, with a list, if an object cannot follow.  The caller is connected to SPI, also for
 * the next one.
 */
extern void tsurugi_followers_check(Oid relation, const char *name, bool into_memory);

/*
 * Collects the statements, in the current memory context, while the table still has its name.
 * Expressions are written for the fixed search path of query.h.
 */
extern void tsurugi_followers_collect(Oid relation, tsurugi_followers *followers);

/* Does the same for foreign keys that refer to a table of which it is a partition. */
extern void tsurugi_followers_collect_above(Oid partition, tsurugi_followers *followers);

/*
 * Adds a foreign key as it was, valid or not, without a check of the rows (see followers.c).  The
 * transaction has held the moved table's lock against all others since before it collected the key.
 */
extern void tsurugi_follower_key_add(const char *statement);

/*
 * The enabled states of the table's triggers, and of those of foreign keys that refer to it or to a
 * table partitioned with it.  The second restores them when all is made again.  The caller is
 * connected to SPI, under a snapshot that shows the new objects.
 */
extern List *tsurugi_trigger_states_collect(Oid relation);
extern void tsurugi_trigger_states_restore(const List *before, Oid old, Oid fresh);

#endif /* TSURUGI_FOLLOWERS_H */
