/*
 * storage_internal.h
 *	  For storage.c and storage_log.c: the changes of storages that a transaction has made.
 */
#ifndef TSURUGI_STORAGE_INTERNAL_H
#define TSURUGI_STORAGE_INTERNAL_H

#include "runtime/base/atomic.h"
#include "runtime/table/table.h"
#include "src/table/storage.h"

typedef struct tg_account tg_account;	  /* quota.h */
typedef struct tg_write_log tg_write_log; /* write_log.h */

typedef enum tsurugi_storage_change_kind
{
	CHANGE_CREATED,
	CHANGE_REPLACED,
	CHANGE_INDEXED,
	CHANGE_COMPLETED,
	CHANGE_UNINDEXED,
	CHANGE_OWNED,
	CHANGE_DROPPED,
	CHANGE_DATABASE
} tsurugi_storage_change_kind;

typedef struct tsurugi_storage_change
{
	struct tsurugi_storage_change *next;
	tsurugi_storage_change_kind kind;
	SubTransactionId part;
	Oid database;
	Oid relation;
	/*
	 * REPLACED: with the map's reference; INDEXED, COMPLETED, UNINDEXED, OWNED: with a reference of
	 * the change's own.
	 */
	tg_table *old;
	tg_index *index;  /* INDEXED, COMPLETED, UNINDEXED: with a reference */
	tg_account *from; /* OWNED: the former account, with a reference */
	bool was_retired; /* UNINDEXED: its former state */
	bool has_alone;	  /* INDEXED: until the end nobody else writes to the table */
	bool keeps_past;  /* REPLACED */
	tg_write_log *garbage;
} tsurugi_storage_change;

/* Newest first. */
extern tsurugi_storage_change *tsurugi_storage_changes;

/* Whether changes of a storage, or of its rows, are logged one by one. */
static inline bool
tsurugi_storage_is_in_log(const tg_table *table)
{
	return !table->unlogged && !tg_load_relaxed(&table->fresh);
}

/*
 * Puts a new storage of an older relation into the map and into the log, in one step: sessions that
 * find it in the map may log rows of it at once.  False: another session has done so, and the new
 * storage is the caller's still.
 */
extern bool tsurugi_storage_add_logged(Relation relation, tg_table *fresh);

/*
 * Logs an index, incomplete, that is going to be made: other transactions may write to it at once.
 */
extern void tsurugi_storage_log_index(const tg_table *table, uint64_t id, const tg_index_spec *spec);

/* Logs that such an index has been given up, if that can be done at once.  Cannot fail. */
extern void tsurugi_storage_log_given_up(const tg_table *table, const tg_index *index);

#endif /* TSURUGI_STORAGE_INTERNAL_H */
