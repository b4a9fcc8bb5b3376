/*
 * roster.h
 *	  The definitions of all storages as of a place in the log.
 *
 * A process that goes through the records applies their definitions to a roster, in order.  It then
 * knows which storages there are, which of them is what a relation means, their columns, keys and
 * indexes; and the layout of every row in the records that follow.
 *
 *		CREATED --place--> PLACED --another is placed, drop--> ENDED
 *		CREATED --drop database, its transaction has aborted, end of what is left over--> ENDED
 *
 * A storage is in the roster from its create on.  It may be named by records after its end has been
 * read: those that come earlier in the log, if a reader goes through it a second time.  So ended
 * storages and indexes stay until they are forgotten (tg_undecided_forget).
 *
 * In the process's memory.  One thread.
 */
#ifndef TG_ROSTER_H
#define TG_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/order/key_spec.h"
#include "runtime/index/index_spec.h"

typedef struct tg_bytes tg_bytes; /* bytes.h */

typedef enum tg_storage_state
{
	TG_STORAGE_CREATED, /* its transaction has not placed it yet, or has aborted */
	TG_STORAGE_PLACED,
	TG_STORAGE_ENDED
} tg_storage_state;

typedef struct tg_roster_index
{
	struct tg_roster_index *next; /* of the same storage, in the order of the log */
	uint64_t id;
	bool complete;
	bool ended;
	tg_index_spec spec;
} tg_roster_index;

/* Constant for all but the roster. */
typedef struct tg_roster_storage
{
	struct tg_roster_storage *next; /* in the order of their creates */
	struct tg_roster_storage *next_by_id;
	struct tg_roster_storage *next_by_relation; /* if PLACED */
	uint64_t id;
	uint32_t database;
	uint32_t relation;
	uint32_t owner;
	uint32_t hidden;
	tg_storage_state state;
	uint64_t creator; /* if CREATED: the first PART of its transaction, 0: not known */
	uint32_t column_count;
	uint8_t *kinds;
	uint64_t *meanings; /* column_count; 0: not known */
	tg_key_spec key;
	tg_roster_index *indexes;
} tg_roster_storage;

typedef struct tg_roster tg_roster;

/* An empty one.  TG_NO_MEMORY. */
extern tg_status tg_roster_create(tg_roster **roster_out) TG_MUST_USE;
extern void tg_roster_free(tg_roster *roster);

/*
 * Applies definitions, of a record or as tg_roster_write wrote them; ranks are passed over.  A
 * storage or an index that is there already is not made again.  Columns, what they mean and an
 * owner of an unknown storage are passed over: its create comes later, and has them.  TG_DAMAGED:
 * the bytes, or what they say of a storage that is not known; what came before has been applied.
 * TG_NO_MEMORY: likewise, and it may be tried again.
 */
extern tg_status tg_roster_apply(tg_roster *roster, const void *data, size_t count) TG_MUST_USE;

/*
 * The storages that these definitions create, which have been applied, are of the transaction with
 * this first PART.  The second one: likewise a storage, if it is there.  The third one: that
 * transaction has been aborted, so they end.
 */
extern void tg_roster_note_creator(tg_roster *roster, const void *data, size_t count, uint64_t first);
extern void tg_roster_set_creator(tg_roster *roster, uint64_t storage, uint64_t first);
extern void tg_roster_end_created(tg_roster *roster, uint64_t first);

/* No transaction is open any more: what is not placed, or not complete, ends. */
extern void tg_roster_end_rest(tg_roster *roster);

/* Forgets the storages that have ended, and, unless it keeps them, the indexes. */
extern void tg_roster_forget(tg_roster *roster, bool keeps_indexes);

/*
 * Appends definitions that make the same roster, but for storages that have ended.  TG_NO_MEMORY.
 */
extern tg_status tg_roster_write(const tg_roster *roster, tg_bytes *bytes) TG_MUST_USE;

/* The storage with this id, also an ended one.  NULL: there is none. */
extern const tg_roster_storage *tg_roster_find(const tg_roster *roster, uint64_t id);

/* The first storage; the others follow by next, ended ones among them. */
extern const tg_roster_storage *tg_roster_first(const tg_roster *roster);

/* The greatest id of a storage or an index that the roster has ever had; 0 without any. */
extern uint64_t tg_roster_id_max(const tg_roster *roster);

/*
 * The kinds of the cells of rows of a storage: its first columns, then the hidden values of these
 * indexes, cell_counts[i] of index i.  Returns how many cells there are, SIZE_MAX: no such storage
 * or index is known, or it has fewer columns, or there are more than cells_max cells.
 */
extern size_t tg_roster_shape(const tg_roster *roster, uint64_t storage, unsigned column_count, const uint64_t *indexes,
							  unsigned index_count, uint8_t *kinds, unsigned *cell_counts, size_t cells_max);

#endif /* TG_ROSTER_H */
