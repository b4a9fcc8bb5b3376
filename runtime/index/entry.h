/*
 * entry.h
 *	  The keys that versions have in a secondary index, and the index's entries; by index.c.
 */
#ifndef TG_ENTRY_H
#define TG_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/order/key_list.h"
#include "runtime/order/key_spec.h"
#include "runtime/index/index.h"
#include "runtime/index/index_spec.h"

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

#endif /* TG_ENTRY_H */
