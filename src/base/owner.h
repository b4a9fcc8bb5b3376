/*
 * owner.h
 *	  Code that a table's owner has put into it runs as the owner.
 */
#ifndef TSURUGI_OWNER_H
#define TSURUGI_OWNER_H

#include "utils/rel.h"

/* Who is to come back. */
typedef struct tsurugi_caller
{
	Oid role;
	int context;
	int settings;
} tsurugi_caller;

/*
 * Between the two the current role is the relation's owner, in a security-restricted
 * operation, and what is SET does not last: as PostgreSQL makes indexes, lest a
 * superuser's REINDEX run what somebody else has written with his rights.  An
 * error needs no end.
 */
extern void tsurugi_owner_begin(Relation relation, tsurugi_caller *caller_out);
extern void tsurugi_owner_end(const tsurugi_caller *caller);

#endif /* TSURUGI_OWNER_H */
