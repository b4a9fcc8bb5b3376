/*
 * storage.h
 *	  Creation, replacement and end of the tables' storage, with PostgreSQL's transactions.
 *
 * What a transaction did to storages is taken back with it, subtransactions
 * included; what cannot be taken back (a DROP) waits for the commit.
 */
#ifndef TSURUGI_STORAGE_H
#define TSURUGI_STORAGE_H

#include "utils/rel.h"

#include "runtime/runtime.h"

/* The storage of an open, locked relation of this database, or NULL. */
extern tg_table *tsurugi_storage_find(Oid relation);

/*
 * The same; created empty if it is not there, by one backend if several
 * find it missing, and with a warning if it should be: its contents went with
 * a restart of the server.  Goes with the relation's creation if that is
 * rolled back.
 */
extern tg_table *tsurugi_storage_get(Relation relation, const uint8_t *kinds, int column_count, const tg_key_spec *key);

/* A new storage of nobody's, one reference; relation is for the message of an error. */
extern tg_table *tsurugi_storage_make(Relation relation, const uint8_t *kinds, int column_count,
									  const tg_key_spec *key);

/* Puts it in the place of the relation's, which is exclusively locked.  Takes the reference over. */
extern void tsurugi_storage_replace(Relation relation, tg_table *fresh);

/* At commit: the storage of a relation, or of all of a database, goes. */
extern void tsurugi_storage_drop(Oid relation);
extern void tsurugi_storage_drop_database(Oid database);

/* FdwRoutine: fresh, empty storages. */
extern void tsurugiExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_sequences);

/* For transaction.c: ends, after the store's own transaction; whether there is anything to end. */
extern bool tsurugi_storage_is_changed(void);
extern void tsurugi_storage_end(bool committed);
extern void tsurugi_storage_end_part(SubTransactionId part, SubTransactionId parent, bool committed);

#endif /* TSURUGI_STORAGE_H */
