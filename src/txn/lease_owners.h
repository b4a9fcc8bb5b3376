/*
 * lease_owners.h
 *	  The roles and databases that transactions of several sessions belong to.
 *
 * A lease outlives the session that has begun its transaction, so PostgreSQL does not end the
 * transaction with the role or the database.
 */
#ifndef TSURUGI_LEASE_OWNERS_H
#define TSURUGI_LEASE_OWNERS_H

#include "nodes/pg_list.h"

/*
 * Defines the settings, and registers with the storages what ends with a database; when the library
 * is loaded.
 */
extern void tsurugi_lease_owners_define(void);

/* The word by which the runtime knows a role whose handles work in a database. */
extern uint64_t tsurugi_lease_word(Oid database, Oid role);

/*
 * The current role begins a transaction.  Raises 53400 if the lease is longer than a superuser
 * allows, 42704 if the role has been dropped.  The role cannot be dropped before the end of the
 * running transaction.  Returns how many transactions the role may have; 0: there is no limit of
 * its own.
 */
extern unsigned tsurugi_lease_check_begin(void);

/* Raises 53400: the current role uses all the places that it may have. */
extern void tsurugi_lease_error_places(void) pg_attribute_noreturn();

/*
 * Raises 42501 unless the current role may end this role's transactions: the rules are those of
 * pg_terminate_backend.
 */
extern void tsurugi_lease_check_may_end(Oid role);

/*
 * Before DROP OWNED of these roles: ends their transactions in this database, unless the command is
 * going to be refused.
 */
extern void tsurugi_lease_end_owned(List *roles);

/* A role is dropped: its transactions end when the running transaction commits. */
extern void tsurugi_lease_drop_role(Oid role);
extern void tsurugi_lease_check_prepare(void); /* PREPARE TRANSACTION: 0A000 if it has any */
extern void tsurugi_lease_pre_commit(void);
extern void tsurugi_lease_end_dropped(bool committed);

/*
 * A database is about to be dropped: raises 55006 if such a transaction runs in it.  Transactions
 * that begin after this end with the database's storages, when it is certain to be dropped and no
 * session is connected to it.
 */
extern void tsurugi_lease_check_database(Oid database);

#endif /* TSURUGI_LEASE_OWNERS_H */
