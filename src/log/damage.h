/*
 * damage.h
 *	  Tables that could not be loaded at the start.
 *
 * Such a relation has no storage, unless damage is to be ignored.  It must not be taken for an
 * empty one.
 */
#ifndef TSURUGI_DAMAGE_H
#define TSURUGI_DAMAGE_H

#include "postgres.h"

#define TSURUGI_DAMAGED_MAX 256 /* relations; if there are more, no table can be reached */

/* tsurugi_fdw.ignore_damage */
extern bool tsurugi_ignore_damage;

typedef struct tsurugi_damage
{
	Oid database;
	Oid relation;
	uint64 storage;
	uint64 position; /* of the record that does not fit, in the log; 0: unknown */
	bool is_there;	 /* as far as it could be read, as it was told to be */
	char what[80];
} tsurugi_damage;

/* Size of the list in PostgreSQL's shared memory; and its set-up at server start. */
extern Size tsurugi_damage_shared_bytes(void);
extern void tsurugi_damage_shared_create(void);

/* Adds a relation, before tables can be reached.  False: there is no room.  The worker. */
extern bool tsurugi_damage_add(const tsurugi_damage *damage);

/*
 * Whether there is any whose storage is missed.  is_placed tells whether a storage still is a
 * relation's: it may have been dropped, or emptied, since.  The worker.
 */
extern bool tsurugi_damage_is_missed(bool (*is_placed)(uint64 storage));

/*
 * Raises XX001 if a relation of this database could not be loaded.  Called where it turns out to
 * have no storage, except to drop it, or to give it a new one in place of all its contents.
 */
extern void tsurugi_damage_check(Oid relation);

#endif /* TSURUGI_DAMAGE_H */
