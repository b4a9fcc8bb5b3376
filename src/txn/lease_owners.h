/*
 * lease_owners.h
 *	  The roles and databases that transactions of several sessions belong to.
 *
 * A lease outlives the session that has begun it, so nothing of PostgreSQL's ends it with its role
 * or its database.
 */
#ifndef TSURUGI_LEASE_OWNERS_H
#define TSURUGI_LEASE_OWNERS_H

#include "nodes/pg_list.h"

#include "runtime/runtime.h"

/*
 * Makes the settings known to the server, and to storages what ends with a database; when the
 * library is loaded.
 */
extern void tsurugi_lease_owners_define(void);

/* What the runtime knows a role by, whose handles work in a database. */
extern uint64_t tsurugi_lease_word(Oid database, Oid role);

/*
 * The current role begins one: raises 53400 for a longer lease than a superuser allows, 42704 for a
 * role that has been dropped.  The role is not dropped before the end of the running transaction.
 * Returns how many it may have; 0: as many as there are.
 */
extern unsigned tsurugi_lease_check_begin(void);

/* Raises 53400: the current role has all of those places. */
extern void tsurugi_lease_error_places(void) pg_attribute_noreturn();

/*
 * Raises 42501 unless the current role may end those of this role: the rules are those of
 * pg_terminate_backend.
 */
extern void tsurugi_lease_check_may_end(Oid role);

/*
 * Before DROP OWNED of these roles: ends theirs in this database, unless it is going to be refused.
 */
extern void tsurugi_lease_end_owned(List *roles);

/* A role is dropped: those that it has end when the running transaction commits. */
extern void tsurugi_lease_drop_role(Oid role);
extern void tsurugi_lease_check_prepare(void); /* PREPARE TRANSACTION: raises 0A000 if it has one */
extern void tsurugi_lease_pre_commit(void);
extern void tsurugi_lease_end_dropped(bool committed);

/*
 * A database is going to be dropped: raises 55006 if one runs in it.  Those that begin after this
 * end with its storages, when it is dropped for certain and nobody is connected to it.
 */
extern void tsurugi_lease_check_database(Oid database);

#endif /* TSURUGI_LEASE_OWNERS_H */
