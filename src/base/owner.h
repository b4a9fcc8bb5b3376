/*
 * owner.h
 *	  The door for code that a table's owner has written.
 *
 * Expressions and predicates of indexes, CHECK constraints, generated columns, bounds of partitions
 * and whatever functions these call run with the rights of the role that has written them wherever
 * a command looks at rows by itself: to make an index or a storage, to verify a constraint, to move
 * a table, to describe a key in a message.  Otherwise a superuser's REINDEX would run what another
 * role has written with the superuser's rights.  Not behind the door is what PostgreSQL evaluates
 * as the current role, too: expressions of the running INSERT, UPDATE or DELETE, those that an
 * ALTER TABLE itself says (a column's default, USING), and constraints that are checked later.
 */
#ifndef TSURUGI_OWNER_H
#define TSURUGI_OWNER_H

#include "utils/rel.h"

/* What the end brings back. */
typedef struct tsurugi_caller
{
	Oid role;
	int context;
	int settings;
} tsurugi_caller;

/*
 * Between begin and end the current role is the relation's owner, in a security-restricted
 * operation, and what is SET does not last, as where PostgreSQL makes indexes.  An error needs no
 * end.
 */
extern void tsurugi_owner_begin(Relation relation, tsurugi_caller *caller_out);
extern void tsurugi_owner_end(const tsurugi_caller *caller);

/* The same for what another role than the relation's owner has written; ended in the same way. */
extern void tsurugi_author_begin(Oid author, tsurugi_caller *caller_out);

/*
 * The author, if the current role has its rights anyway, else the current role.  For what roles may
 * cause that have no rights to the table's definition: by search_path they could have functions of
 * theirs called as the author.
 */
extern Oid tsurugi_lesser_role(Oid author);

extern Oid tsurugi_owner_of(Oid relation);

#endif /* TSURUGI_OWNER_H */
