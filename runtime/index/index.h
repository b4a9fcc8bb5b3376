/*
 * index.h
 *	  Secondary indexes: other orders of a table's rows, unique ones among them.
 *
 * A table has a list of them beside its primary key.  An index holds entries (key, row): the
 * encoding of some columns as they are stored (key.h), followed by the row's number in four bytes.
 * So no two entries are equal, and all entries of a key are those that begin with it.  Expressions
 * and predicates are computed by the host, and the index keeps their values for each version
 * (hidden.h).
 *
 * An index may have several entries for a version («several»): the elements of an array, the words
 * of a text, the parts of a cover.  Then the host makes all keys of the version, and the list of
 * them (key_list.h) is a hidden value, the one part of the index's key.  A version whose list is
 * NULL or empty has no entry.  To make such an index, the host
 *	 - describes it: several, not unique, one part of the key: TG_KEY_STRING, of the hidden
 *	   value that is the list, which is of TG_KIND_STRING; a predicate as any index may have
 *	 - passes the list with each row that is written (tg_hidden_row), and to the fill
 *	   (exec/index_fill.h)
 *	 - reads ranges of keys (exec/scan.h), where a row comes at each entry whose key the
 *	   visible version has.
 * Entries are added and removed by the lists alone: an UPDATE adds keys that the older version does
 * not have; keys that no version of the row has any more are removed.
 *
 * An entry means that some version of the row has that key, but not which.  Readers look for the
 * version that is visible to them, and skip the entry if that version has another key (a stale
 * entry). index.c argues why entries and versions agree; txn/unique.c, why a unique index is
 * unique.
 *
 * The host's lock on the table decides who may create and drop.
 */
#ifndef TG_INDEX_H
#define TG_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/order/key.h"
#include "runtime/order/key_list.h"
#include "runtime/order/value.h"
#include "runtime/table/table.h"
#include "runtime/index/find.h"
#include "runtime/index/index_spec.h"

typedef struct tg_btree tg_btree; /* btree.h */

/* Locks that the writers of a unique key pass one by one; several, so that they seldom meet. */
#define TG_INDEX_STRIPES 16

typedef struct tg_index_stripe
{
	tg_latch latch TG_CACHE_ALIGNED; /* TG_RANK_INDEX */
} tg_index_stripe;

/* All fields are constant unless their comment says otherwise. */
struct tg_index
{
	tg_index_link link;			   /* first: table.h */
	struct tg_index *next_dropped; /* under the table's latch */
	tg_table *table;			   /* not a reference */
	tg_btree *tree;
	tg_index_stripe *stripes; /* of a unique index: TG_INDEX_STRIPES; else NULL */
	uint32_t references;	  /* atomic */
	uint64_t epoch;			  /* in which it was dropped; under the table's latch */
	/* atomic: to be dropped; it allows duplicate keys, its entries are maintained */
	bool retired;
	uint32_t unlinked; /* atomic: dropped, so that writes do not maintain it any more */
	/* atomic: made for a table with rows; a build is to come or runs (exec/index_build.c) */
	uint32_t filling;
	uint64_t id; /* no other index, nor table, has it */
	/* atomic: a snapshot from before that time must not use it; 0: any may */
	tg_time since;
	tg_index_spec spec;
};

/* --- life --------------------------------------------------------------------------- */

/*
 * Makes an empty index in the table's list, behind the others.  Every write that begins from now on
 * maintains it, and so does the collector.  If the table may have rows, the index must be filled
 * (exec/index_build.h) before any reader uses it.  TG_NO_MEMORY, TG_OVER_QUOTA.  The claim is
 * TG_DATA for one more index, and TG_ESSENTIAL for one that takes the place of another one.
 * Outside an epoch.
 */
extern tg_status tg_index_create(tg_session *session, tg_table *table, const tg_index_spec *spec, tg_claim claim,
								 tg_index **index_out) TG_MUST_USE;

/* Likewise, with an id that it has had before, as with tg_table_create_as. */
extern tg_status tg_index_create_as(tg_session *session, uint64_t id, tg_table *table, const tg_index_spec *spec,
									tg_claim claim, tg_index **index_out) TG_MUST_USE;

/*
 * Takes the index out of the list.  Its memory is freed when no thread can be in it any more:
 * usually at once, or else by a later call, by the collector's sweep or with the table.  No reader
 * begins to use it meanwhile.  Outside an epoch; cannot fail.
 */
extern void tg_index_drop(tg_session *session, tg_index *index);

/* Frees the memory that tg_index_drop had to leave, as far as possible by now.  Any session. */
extern void tg_indexes_reap(tg_session *session, tg_table *table);

/* For users that keep the index beyond the host's lock on the table; they keep the table, too. */
extern void tg_index_retain(tg_index *index);
extern void tg_index_release(tg_session *session, tg_index *index);

/* The table's first index, or the next one, or NULL.  Under the host's lock, or in an epoch. */
static inline tg_index *
tg_index_first(const tg_table *table)
{
	return (tg_index *) tg_load_acquire(&table->indexes);
}

static inline tg_index *
tg_index_next(const tg_index *index)
{
	return (tg_index *) tg_load_acquire(&index->link.next);
}

/* Whether one of them is being filled.  Under the host's lock, or in an epoch. */
static inline bool
tg_indexes_are_filling(const tg_table *table)
{
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		if (tg_load_acquire(&index->filling))
			return true;
	return false;
}

/*
 * No build will come or continue: existing rows may have no entries for good, and no reader ever
 * uses the index.  Until it is dropped it is maintained, but an UPDATE that keeps its key adds no
 * entry, and versions are relocated all the same (txn/relocate.c, 7).
 */
static inline void
tg_index_give_up(tg_index *index)
{
	tg_store_release(&index->filling, false);
}

/*
 * Retires an index that is going to be dropped.  A unique index rejects no key from then on, though
 * writers maintain it.  If the drop is taken back the index is unique again, with the rows written
 * meanwhile, provided that no other transaction writes to the table (the host's lock); otherwise
 * the drop is not taken back.
 */
static inline void
tg_index_retire(tg_index *index, bool retired)
{
	tg_store_release(&index->retired, retired);
}

static inline bool
tg_index_is_retired(const tg_index *index)
{
	return tg_load_acquire(&index->retired);
}

/* The tree of an index of a table; NULL stands for its primary key. */
static inline tg_btree *
tg_index_tree(const tg_table *table, const tg_index *index)
{
	return index != NULL ? index->tree : tg_load_acquire(&table->index);
}

/*
 * Entries, nodes, bytes, height: tg_btree_report_get(index->tree, &report).  Bytes of hidden
 * values:
 */
static inline uint64_t
tg_index_hidden_bytes(const tg_index *index)
{
	const tg_table *hidden = index->link.hidden;

	if (hidden == NULL)
		return 0;
	return (uint64_t) (tg_load_relaxed(&hidden->table_bytes) + tg_load_relaxed(&hidden->chunk_bytes) +
					   tg_load_relaxed(&hidden->blob_bytes) + tg_load_relaxed(&hidden->dictionary_bytes));
}

/* --- keys --------------------------------------------------------------------------- */

/* The key of a version, or of values about to be stored, by layout column. */
typedef struct tg_index_key
{
	bool present;	/* the version has an entry: the predicate holds */
	bool distinct;	/* it has a NULL that makes it differ from every key, itself included */
	uint32_t bytes; /* of the key, without the row */
	unsigned char entry[TG_KEY_BYTES_MAX + TG_INDEX_ROW_BYTES]; /* a primary key has all the room of one */
} tg_index_key;

/* The hidden values of an index among those of a row; NULL: the host has none for it. */
static inline const tg_hidden_values *
tg_hidden_of(const tg_hidden_row *row, const tg_index *index)
{
	for (unsigned i = 0; row != NULL && i < row->count; i++)
		if (row->of[i].host == index->spec.host)
			return &row->of[i];
	return NULL;
}

/*
 * The key of values of the table's newest layout, with hidden ones (NULL: there are none).  A key
 * whose hidden values the host has not computed is not present.  TG_TOO_LARGE: more than
 * TG_INDEX_KEY_BYTES_MAX bytes.  TG_NOT_FOUND: a long string has no rank yet (long_key.h), so there
 * is no entry of this key.
 */
extern tg_status tg_index_key_of_values(const tg_index *index, const tg_value *values, const bool *nulls,
										const tg_hidden_row *hidden, tg_index_key *key_out) TG_MUST_USE;

/*
 * The key of a stored version: the caller's own, a visible one, or one in its row's chain.  Inside
 * an epoch.  Not for an index with several.
 */
extern tg_status tg_index_key_of_version(const tg_index *index, tg_version version, tg_index_key *key_out) TG_MUST_USE;

/*
 * All keys of such a version, one after the other.  An index without several has one key, or none.
 */
typedef struct tg_index_keys
{
	tg_index_key key; /* the one in hand */
	uint32_t count;
	uint32_t next;
	bool several;
	tg_key_list list; /* if several; it stays as long as the epoch */
} tg_index_keys;

/*
 * The keys of a version, for a caller that is going to add entries: long strings have their ranks
 * from now on.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_index_keys_open_anew(tg_session *session, const tg_index *index, tg_version version,
										 tg_index_keys *keys_out) TG_MUST_USE;

/* Takes the next one in hand.  False: there is none. */
static inline bool
tg_index_keys_next(tg_index_keys *keys)
{
	tg_key_ref at;

	if (keys->next == keys->count)
		return false;
	if (tg_unlikely(keys->several))
	{
		at = tg_key_list_get(&keys->list, keys->next);
		tg_assert(at.bytes <= TG_INDEX_KEY_BYTES_MAX);
		memcpy(keys->key.entry, at.key, at.bytes);
		keys->key.bytes = at.bytes;
	}
	keys->next++;
	return true;
}

/* The list of a version in an index with several; empty if the version has none.  As above. */
extern void tg_index_list_of_version(const tg_index *index, tg_version version, tg_key_list *list_out);

/* Whether a version has this key. */
extern bool tg_index_has_key(const tg_index *index, tg_version version, const unsigned char *key, size_t key_bytes);

/* Appends the row's number to the key; returns the length of the entry. */
extern size_t tg_index_entry_make(tg_index_key *key, uint32_t row);

/*
 * Reads the result of tg_btree_cursor_next_keys: an entry's key without the row, and the place of
 * the next entry.
 */
static inline const unsigned char *
tg_index_entry_next(const unsigned char *at, const unsigned char **key_out, size_t *key_bytes_out)
{
	uint16_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	*key_out = at + sizeof(bytes);
	*key_bytes_out = bytes - TG_INDEX_ROW_BYTES;
	return at + sizeof(bytes) + bytes;
}

/* The bytes that an entry occupies in that result. */
static inline size_t
tg_index_entry_bytes(const unsigned char *at)
{
	uint16_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return sizeof(bytes) + bytes;
}

/*
 * Whether two versions of a row certainly have the same entry, by their columns alone.  False means
 * unknown.  Inside an epoch.
 */
extern bool tg_index_is_same(const tg_index *index, tg_version a, tg_version b);

/* --- entries ------------------------------------------------------------------------ */

/*
 * Ensures that a version's entry exists.  The version is its row's head already, and a full fence
 * has been passed since (index.c, 2).  Inside an epoch.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_index_entry_add(tg_session *session, tg_index *index, tg_index_key *key, uint32_t row,
									tg_claim claim) TG_MUST_USE;

/*
 * A version has been cut out of its row's chain, or its row was closed.  Those of its entries that
 * no version left in the chain has are removed, from every index of its table.  Its values are
 * still as they were stored. neighbour, or NONE, is a version that is in the chain now and is
 * likely to have the same keys.  Inside the epoch in which the version was cut.  Any session.
 */
extern void tg_indexes_forget(tg_session *session, tg_version gone, tg_version neighbour);

/*
 * An entry was added for a version that another thread may have cut out meanwhile.  The entry is
 * removed again if no version in the row's chain has its key.  Inside the epoch in which the
 * version was in the chain; for builds.
 */
extern void tg_index_entry_recheck(tg_session *session, tg_index *index, tg_index_key *key, uint32_t row);

#endif /* TG_INDEX_H */
