/*
 * owner.h
 *	  The door for code that a table's owner has written.
 *
 * Expressions and predicates of indexes, CHECK constraints, generated columns, bounds of
 * partitions, and the functions that these call, run with the rights of the role that has written
 * them wherever a command reads rows by itself: to make an index or a storage, to verify a
 * constraint, to move a table, to describe a key in a message.  Otherwise a superuser's REINDEX
 * would run another role's code with the superuser's rights.  Code that PostgreSQL also evaluates
 * as the current role is not behind the door: expressions of the running INSERT, UPDATE or DELETE,
 * those that an ALTER TABLE itself contains (a column's default, USING), and constraints that are
 * checked later.
 */
#ifndef TSURUGI_OWNER_H
#define TSURUGI_OWNER_H

#include "utils/rel.h"

/* The state that the end restores. */
typedef struct tsurugi_caller
{
	Oid role;
	int context;
	int settings;
} tsurugi_caller;

/*
 * Between begin and end the current role is the relation's owner, in a security-restricted
 * operation, and settings that are SET do not last, as where PostgreSQL makes indexes.  After an
 * error, the end need not be called.
 */
extern void tsurugi_owner_begin(Relation relation, tsurugi_caller *caller_out);
extern void tsurugi_owner_end(const tsurugi_caller *caller);

/*
 * The same for code that another role than the relation's owner has written; ended in the same way.
 */
extern void tsurugi_author_begin(Oid author, tsurugi_caller *caller_out);

/*
 * The author if the current role has the author's rights anyway, otherwise the current role.  For
 * code that roles without rights to the table's definition may cause to run: by search_path they
 * could have functions of their own called as the author.
 */
extern Oid tsurugi_lesser_role(Oid author);

extern Oid tsurugi_owner_of(Oid relation);

#endif /* TSURUGI_OWNER_H */
