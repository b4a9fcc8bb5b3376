/*
 * storage.h
 *	  Creation, replacement and end of the tables' storage, with PostgreSQL's transactions.
 *
 * A transaction's changes of storages are undone with it, including its subtransactions; changes
 * that cannot be undone (a DROP) wait for the commit.
 */
#ifndef TSURUGI_STORAGE_H
#define TSURUGI_STORAGE_H

#include "utils/rel.h"

#include "src/table/relation.h"

typedef struct tg_bytes tg_bytes;		  /* bytes.h */
typedef struct tg_write_log tg_write_log; /* write_log.h */

/* The storage of an open, locked relation of this database, or NULL. */
extern tg_table *tsurugi_storage_find(Oid relation);

/* The setting missing_contents. */
extern void tsurugi_storage_define(void);

/*
 * The same; a missing storage is created, empty, by one of the backends that find it missing.  If
 * the relation is an older one, and logged, its contents are elsewhere, or nowhere: then there is
 * an error (55000), or, if the setting permits that, a warning.  The storage is removed with the
 * relation if the relation's creation is rolled back.
 */
extern tg_table *tsurugi_storage_get(Relation relation, const tsurugi_relation *described);

/* The relation may have another owner: its bytes count for that one, unless this is rolled back. */
extern void tsurugi_storage_follow_owner(Relation relation);

/* Whether a storage has the keys and indexes of a description.  It may have more. */
extern bool tsurugi_storage_has_keys(const tg_table *table, const tsurugi_relation *described);

/* Whether the keys that it has were made by the present versions of collations. */
extern bool tsurugi_storage_is_in_order(const tg_table *table, const tsurugi_relation *described);

/*
 * Replaces the storage of a relation, which is exclusively locked, by a new, empty one, with its
 * secondary indexes or without, and returns that.  The caller has checked that the transaction may
 * do so (tsurugi_check_may_replace).  keeps_past: older snapshots will find in it the same rows as
 * before; tsurugi_storage_garbage() then names the log in which the garbage of that is noted
 * (txn/carry.h).
 */
extern tg_table *tsurugi_storage_replace(Relation relation, const tsurugi_relation *described, bool indexed,
										 bool keeps_past);
extern tg_write_log **tsurugi_storage_garbage(Relation relation);

/*
 * Whether the running subtransaction, or a committed one below it, has emptied the table, or stored
 * it anew.
 */
extern bool tsurugi_storage_is_fresh(Oid relation);

/*
 * The first makes a new, empty index of the relation's storage (no other transaction writes:
 * ShareLock; or the index is not valid yet).  replaces: the former storage had the index, too, so
 * that it is made also where memory is short.  The second ends an index that is not in the catalogs
 * any more: from now on it constrains nobody (the relation is exclusively locked).  The end of the
 * transaction decides.
 */
extern tg_index *tsurugi_storage_make_index(Relation relation, tg_table *table, const tsurugi_relation *described,
											const tsurugi_index *described_index, bool replaces);
extern void tsurugi_storage_drop_index(tg_table *table, tg_index *index);

/*
 * An index that an earlier transaction has made is filled, and valid if the running transaction
 * commits.
 */
extern void tsurugi_storage_complete_index(tg_table *table, tg_index *index);

/* At commit the storage of a relation, or all storages of a database, are removed. */
extern void tsurugi_storage_drop(Oid relation);
extern void tsurugi_storage_drop_database(Oid database);

/*
 * Gives the storage those columns of the description that it lacks.  The kinds of the others are
 * the storage's.
 */
extern void tsurugi_storage_extend(Relation relation, tg_table *table, const tsurugi_relation *described);

/* Logs all columns of a storage, which is going to get those of the description. */
extern void tsurugi_storage_log_columns(tg_table *table, const uint8_t *kinds, const tsurugi_relation *described);

/*
 * For logging.c, if there are changes: definitions of the transaction's first record, where
 * make_part, called between two of them, may take what is there; those of its last one; calls the
 * function for each storage whose rows are to be logged (index is NULL), and for each index whose
 * hidden values are.
 */
extern void tsurugi_storage_log_first(tg_bytes *bytes, void (*make_part)(void));
extern void tsurugi_storage_log_last(tg_bytes *bytes);
extern void tsurugi_storage_log_contents(void (*write)(tg_table *table, tg_index *index));

/* The lock of storage_log.c, in PostgreSQL's shared memory. */
extern Size tsurugi_storage_shared_bytes(void);
extern void tsurugi_storage_shared_create(void);

/*
 * For participants.c: whether there is anything to end; the step before the engine's own
 * transaction commits; the ends, after it.
 */
extern bool tsurugi_storage_is_changed(void);
extern void tsurugi_storage_begin_commit(void);
extern void tsurugi_storage_end(bool committed);
extern void tsurugi_storage_end_part(SubTransactionId part, SubTransactionId parent, bool committed);

/*
 * Actions of txn/ at such an end, set when the library is loaded: draws a time of the commit, for
 * storages that replace others (kinds.c); ends the transactions that no session owns in a database,
 * before its storages are removed (lease_owners.c).
 */
extern tg_time (*tsurugi_storage_draw_time)(void);
extern void (*tsurugi_storage_end_in_database)(Oid database);

#endif /* TSURUGI_STORAGE_H */
