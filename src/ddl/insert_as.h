/*
 * insert_as.h
 *	  An INSERT that a command runs by itself, with the rights of the role that has written the
 *	  table's expressions.
 */
#ifndef TSURUGI_INSERT_AS_H
#define TSURUGI_INSERT_AS_H

#include "utils/snapshot.h"

/*
 * Runs one INSERT ... SELECT with a snapshot.  Names are looked up as the current role, the rest is
 * done behind the door (owner.h) as the author of what the tables evaluate.  reader: the role that
 * is asked for its rights to the tables; InvalidOid: none is.
 */
extern void tsurugi_insert_as(Oid author, Oid reader, const char *text, Snapshot snapshot);

#endif /* TSURUGI_INSERT_AS_H */
