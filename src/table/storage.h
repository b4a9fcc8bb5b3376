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

#include "src/table/relation.h"

/* The storage of an open, locked relation of this database, or NULL. */
extern tg_table *tsurugi_storage_find(Oid relation);

/*
 * The same; created empty if it is not there, by one backend if several
 * find it missing, and with a warning if it should be: its contents went with
 * a restart of the server.  Goes with the relation's creation if that is
 * rolled back.
 */
extern tg_table *tsurugi_storage_get(Relation relation, const tsurugi_relation *described);

/* The relation may have another owner: its bytes count for that one, until a rollback. */
extern void tsurugi_storage_follow_owner(Relation relation);

/* Whether a storage has the keys and indexes of a description.  It may have more. */
extern bool tsurugi_storage_has_keys(const tg_table *table, const tsurugi_relation *described);

/*
 * Puts a new, empty storage in the place of the relation's, which is exclusively locked, and
 * returns it: with its secondary indexes, or without.  The caller has asked whether the transaction
 * may do that (tsurugi_check_may_replace).  keeps_past: older snapshots are going to find in it
 * what they would have found before; tsurugi_storage_garbage() then names the log in which the
 * garbage of that is noted (txn/carry.h).
 */
extern tg_table *tsurugi_storage_replace(Relation relation, const tsurugi_relation *described, bool indexed,
										 bool keeps_past);
extern tg_write_log **tsurugi_storage_garbage(Relation relation);

/* Whether the running subtransaction, or one of its that have ended well, has emptied the table, or stored it anew. */
extern bool tsurugi_storage_is_fresh(Oid relation);

/*
 * A new, empty index of the relation's storage (nobody else writes: ShareLock; or it is not valid yet); and
 * the end of one that the catalogs have no more: from now on it keeps nobody from
 * anything (the relation is exclusively locked).  The end of the transaction decides.  The claim is
 * TG_ESSENTIAL for an index that the storage before this one had.
 */
extern tg_index *tsurugi_storage_make_index(Relation relation, tg_table *table, const tsurugi_index *described,
											tg_claim claim);
extern void tsurugi_storage_drop_index(tg_table *table, tg_index *index);

/* At commit: the storage of a relation, or of all of a database, goes. */
extern void tsurugi_storage_drop(Oid relation);
extern void tsurugi_storage_drop_database(Oid database);

/*
 * For participants.c: what comes before the store's own transaction commits; ends, after it;
 * whether there is anything to end.
 */
extern bool tsurugi_storage_is_changed(void);
extern void tsurugi_storage_begin_commit(void);
extern void tsurugi_storage_end(bool committed);
extern void tsurugi_storage_end_part(SubTransactionId part, SubTransactionId parent, bool committed);

/*
 * What txn/ does at such an end, set where the library is loaded: draws a time of the commit, for
 * what takes another storage's place (kinds.c); ends the transactions that no session owns in a
 * database, before its storages go (lease_owners.c).
 */
extern tg_time (*tsurugi_storage_draw_time)(void);
extern void (*tsurugi_storage_end_in_database)(Oid database);

#endif /* TSURUGI_STORAGE_H */
