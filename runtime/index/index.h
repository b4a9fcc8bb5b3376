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
 *	 - reads ranges of keys (exec/range_scan.h), where a row comes at each entry whose key the
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

#endif /* TG_INDEX_H */
