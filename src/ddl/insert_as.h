/*
 * insert_as.h
 *	  An INSERT that a command executes by itself, with the rights of the role that has written the
 *	  table's expressions.
 */
#ifndef TSURUGI_INSERT_AS_H
#define TSURUGI_INSERT_AS_H

#include "utils/snapshot.h"

/*
 * Executes one INSERT ... SELECT with a snapshot.  Names are looked up as the current role.  The
 * rest runs behind the door (owner.h) as the author of the expressions that the tables evaluate.
 * reader: the role whose rights to the tables are checked; InvalidOid: none.
 */
extern void tsurugi_insert_as(Oid author, Oid reader, const char *text, Snapshot snapshot);

#endif /* TSURUGI_INSERT_AS_H */
